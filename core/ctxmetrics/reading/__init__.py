"""Where the fields of a sample stand: in a file's row, in a table's row, in a framework's record.

What a system calls the fields is data: a `Schema` (`SCHEMAS`, in ``systems``). Records of frameworks are read by `Schema.read`
(``schema``), rows of files and tables by a `Reading` (``rows``), which ``recognition`` decides; both look at the same places.
The one rule for the text and the id of a document is in ``documents``; lists that a file holds as text are read in
``cells``. A `RowFile` gives the rows of a file of any kind (``row_file``): text, Arrow, or a request to Aegis.
"""

from ctxmetrics.reading.aegis import SCALE, Payload
from ctxmetrics.reading.csv_rows import Header
from ctxmetrics.reading.documents import (
    ID_KEYS,
    SPAN_MARK,
    TEXT_KEYS,
    as_list,
    ids_of,
    in_spans,
    is_document,
    labels_are_spans,
    own_id,
    relevant,
    span_of,
    text_of,
    write_span,
)
from ctxmetrics.reading.formats import TIES
from ctxmetrics.reading.joining import Missing
from ctxmetrics.reading.json_rows import line_rows
from ctxmetrics.reading.names import check_keys
from ctxmetrics.reading.recognition import AUTO, PEEKED, reading_alone, recognise
from ctxmetrics.reading.retrievals import Retrieval, retrieval_of, retrieval_of_tool
from ctxmetrics.reading.row_file import RowFile
from ctxmetrics.reading.rows import Reading
from ctxmetrics.reading.schema import FIELDS, OPTIONS, TEXTS_OF, KeyParams, Place, Schema, some_of
from ctxmetrics.reading.systems import SCHEMAS
from ctxmetrics.reading.unanswerable import LABEL, phrase_kind

__all__ = [
    "AUTO", "FIELDS", "ID_KEYS", "LABEL", "OPTIONS", "PEEKED", "SCALE", "SCHEMAS", "SPAN_MARK", "TEXTS_OF",
    "TEXT_KEYS", "TIES", "Header", "KeyParams", "Missing", "Payload", "Place", "Reading", "Retrieval", "RowFile",
    "Schema", "as_list", "check_keys", "ids_of", "in_spans", "is_document", "labels_are_spans", "line_rows", "own_id",
    "phrase_kind", "reading_alone", "recognise", "relevant", "retrieval_of", "retrieval_of_tool", "some_of", "span_of", "text_of",
    "write_span",
]  # fmt: skip
