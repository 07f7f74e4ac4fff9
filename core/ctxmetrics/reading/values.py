"""What the value of a field stands for: numbers for texts, documents that were printed, texts that were joined."""

from __future__ import annotations

import json
import re
from numbers import Real
from typing import Any

from ctxmetrics.errors import SampleError
from ctxmetrics.reading.documents import ids_of, is_missing, text_of
from ctxmetrics.reading.pictures import in_value
from ctxmetrics.reading.schema import LISTS, TEXTS, TEXTS_OF

# Lists of texts, or of documents with a text.
_LISTS_OF_TEXTS = LISTS - TEXTS_OF.keys()
# How LangChain prints a document.
_PRINTED_DOCUMENT = re.compile(
    r"page_content='((?:(?!page_content=).)*)'(?: metadata=\{.*\})?", re.DOTALL
)
# How LlamaIndex prints a node: it leaves out the text after a number of characters.
_PRINTED_NODE = re.compile(r"Node ID: \S+\nText: ")


def is_text(cell: Any, value: Any, name: str) -> bool:
    """Whether a cell is taken as the text that it is, not as the value that is written in it."""
    if name not in TEXTS or not isinstance(cell, str):
        return False
    is_list_of_texts = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return name != "reference" or not is_list_of_texts  # a list of references is no text


def number_as_meant(value: Any, name: str) -> Any:
    """Return a number or a truth value in the place of a text as a text, and a whole number in that of an id as an integer.

    A table writes whole numbers with a point where its column has a gap.
    """
    if name in _LISTS_OF_TEXTS and isinstance(value, (list, tuple)):
        return [number_as_meant(item, "reference") for item in value]
    if name in TEXTS_OF and isinstance(value, (list, tuple)) and float in map(type, value):
        return [number_as_meant(item, "id") for item in value]
    if name == "id" and isinstance(value, float) and value.is_integer():
        return int(value)
    if name == "id" or name not in TEXTS:
        return value
    if isinstance(value, bool):
        return json.dumps(value)
    return str(value) if isinstance(value, Real) and not is_missing(value) else value


def find_fault(value: Any, name: str) -> str:
    """Say why a value is not usable for a field: no text, or no list of texts, documents or ids. Empty for a usable one."""
    kind = type(value).__name__
    if name in TEXTS:
        return "" if isinstance(value, str) else f"is a {kind}, and no text"
    if not isinstance(value, (list, tuple)):
        return f"is a {kind}, and no list"
    if set(map(type, value)) <= {str}:  # as nearly always
        return ""
    for number, item in enumerate(value, 1):
        if not _is_usable(item, name):
            return f"has an item {number} that is a {type(item).__name__} without a text or an id"
    return ""


def _is_usable(item: Any, name: str) -> bool:
    if name in TEXTS_OF:
        return ids_of([item]) is not None or (
            isinstance(item, (str, int)) and not isinstance(item, bool)
        )
    return isinstance(text_of(item), str) or bool(in_value(item))


def check_pieces(pieces: list[str], separator: str, name: str) -> None:
    """Refuse to split a text at a separator that seems to be a part of it."""
    for number, piece in enumerate(pieces, 1):
        # A piece is taken for a text where it has three words or a script without spaces, and no space at its ends.
        has_words = len(piece.split()) > 2 or (not piece.isascii() and len(piece) > 5)  # noqa: PLR2004 - see above
        if not has_words or piece != piece.strip(" \t"):
            raise SampleError(
                f"is one text with '{separator}' in it. Split there, it has {len(pieces)} pieces, and piece {number} "
                f"({piece[:40]!r}) is no text by itself: '{separator}' seems to be a part of the texts.",
                'Export JSON, which keeps lists: for DeepEval dataset.save_as("json", ..).',
            ).inside(field=name)


def unprinted(item: Any, name: str, number: int) -> Any:
    """Return the text of a document that LangChain printed, and anything else as it is.

    Raises:
        SampleError: It is a node that LlamaIndex printed.
    """
    if not isinstance(item, str):
        return item
    if _PRINTED_NODE.match(item):
        error = SampleError(
            "is a node that was printed, and may be cut off.", "Write node.to_dict() of each."
        )
        raise error.inside(item=number).inside(field=name)
    printed = _PRINTED_DOCUMENT.fullmatch(item)
    return printed[1] if printed else item
