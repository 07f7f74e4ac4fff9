"""The list that stands in the text of a cell: as JSON, or as ids and texts with something between them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ctxmetrics.errors import SampleError
from ctxmetrics.evaluation.files.cell_values import (
    check_pieces,
    have_scores,
    is_grouped,
    is_id_number,
    split_at_rare,
    split_ids,
    without_point,
)
from ctxmetrics.evaluation.files.graded_ids import (
    GRADED_FIELD,
    holds_numbers_by_id,
    list_graded,
    read_graded_ids,
)
from ctxmetrics.evaluation.files.row_decisions import Reading
from ctxmetrics.samples.cells import is_list_text, list_in, object_in
from ctxmetrics.samples.documents import ID_KEYS, is_missing, text_of, whole_number
from ctxmetrics.samples.field_keys import TEXTS_OF
from ctxmetrics.samples.unanswerable import phrase_kind


def read_list(reading: Reading, cell: Any, name: str) -> Any:
    """Read the list of a field: of a text, of a number that is an id, or of ids with grades. Any other value stays as it is.

    Raises:
        SampleError: As `parse_list` raises.
    """
    if name == GRADED_FIELD:
        graded = read_graded_ids(cell) if reading.ids_have_grades else None
        cell = list_graded(cell) if graded is None else graded
    elif reading.schema.has_runs and holds_numbers_by_id(cell):  # the scores by the ids
        scores = [(id_, score) for id_, score in cell.items() if not is_missing(score)]
        cell = [{"id": id_, "score": score} for id_, score in scores]
    if reading.parses_texts and name in TEXTS_OF and is_id_number(cell):
        cell = str(whole_number(cell))
    if reading.parses_texts and isinstance(cell, str):
        cell = parse_list(reading, cell, name)
    if name in TEXTS_OF.values() and isinstance(cell, list):
        cell = _read_objects(cell)
    if reading.ids_read_as_floats and name in TEXTS_OF:
        if name == GRADED_FIELD:  # a text may have held the grades by ids
            cell = list_graded(cell)
        if isinstance(cell, list):
            cell = [_drop_point(item) for item in cell]
    return cell


def _drop_point(item: Any) -> Any:
    """Return an id, or an object with an id, without the ``.0`` at the end of this id. Return anything else as it is."""
    if isinstance(item, str):
        return without_point(item)
    if isinstance(item, Mapping):
        ids = {key: item[key] for key in ID_KEYS if isinstance(item.get(key), str)}
        return {**item, **{key: without_point(id_) for key, id_ in ids.items()}}
    return item


def _read_objects(items: list[Any]) -> list[Any]:
    """Return documents that are objects as text, such as ``'{"text": ..}'``, as objects. Any other list is returned as it is."""
    if not all(isinstance(item, str) and item.lstrip()[:1] == "{" for item in items):
        return items
    try:
        documents = [object_in(item) for item in items]
    except SampleError:  # a key stands twice: it is some text
        return items
    have_texts = all(
        hasattr(document, "items") and isinstance(text_of(document), str) for document in documents
    )
    return documents if have_texts else items


def parse_list(reading: Reading, text: str, name: str) -> Any:
    """Read the list that a text holds. A text without a list is returned as it is, and a `Sample` refuses it.

    A text with the schema's separator is split there.

    Raises:
        SampleError: The separator seems to be a part of the texts, or the text is a list that cannot be read.
    """
    items = list_in(text)
    if items is not None:
        return items
    if name in TEXTS_OF and phrase_kind(text) == "mark":  # such as "none" or "-"
        return []
    is_list = is_list_text(text)
    separator = reading.schema.separator
    if not is_list and separator and separator in text:
        pieces = text.split(separator)
        if name in TEXTS_OF.values():
            check_pieces(pieces, separator, name)
        return pieces
    ids = _parse_ids(reading, text, name) if name in TEXTS_OF and not is_list else None
    if ids is not None:
        return ids
    if is_list or (name in TEXTS_OF and re.search(r"[,;|\s]", text.strip())):
        problem = 'must be a JSON list in its cell, such as ["first", "second"].'
        raise SampleError(problem, wrong_kind=True).inside(field=name)
    return [text] if name in reading.single_text_fields else text


def _parse_ids(reading: Reading, text: str, name: str) -> list[str] | None:
    """Return the ids of a cell. Return None if it holds no or one id, and the field has lists.

    Raises:
        SampleError: The text may be one number, or several ids.
    """
    ids = split_ids(text)
    if ids is None and reading.id_separator is not None:
        ids = split_at_rare(text, reading.id_separator)
    if ids is not None and have_scores(ids):
        raise SampleError(
            f"holds ids with scores, such as {ids[0][:40]!r}.",
            'Write a JSON list: [{"id": "d4", "score": 0.87}, ..].',
        ).inside(field=name)
    if ids is not None and is_grouped(text):  # such as 1,234
        digits = text.replace(",", "").strip()
        if reading.comma_separates_ids is None:
            raise SampleError(
                f"holds {text[:40]!r}, which may be one number or {len(ids)} ids.",
                f'Write a JSON list: ["{digits[:40]}"] or {json.dumps(ids[:4])}.',
            ).inside(field=name)
        if not reading.comma_separates_ids:
            ids = [digits]
    has_separator = re.search(r"[,;|\s]", text.strip()) is not None
    if ids is None and name in reading.single_text_fields and not has_separator:
        ids = [text]
    if ids is not None and reading.ids_read_as_floats:
        ids = [without_point(id_) for id_ in ids]
    return ids
