"""Headers of columns as people write them: in plain words, with numbers, in other languages; ``headers.json`` lists the words."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.evaluation.files.cell_values import find_fault
from ctxmetrics.evaluation.files.formats import NOT_RETRIEVED
from ctxmetrics.samples.cells import is_list_text, list_in
from ctxmetrics.samples.documents import look_up
from ctxmetrics.samples.field_names import normalized_key
from ctxmetrics.samples.schema import TEXTS

_DATA: Mapping[str, Any] = read_data("evaluation.files", "headers.json")
_CANDIDATES: Sequence[str] = _DATA["candidates"]
# The header of one of several passages, and its number: Chunk 1, context_2, Passage #3, doc4, Chunk (5).
_NUMBERED = re.compile(r"(?P<name>.*?[^\W\d_])[\W_]*(?P<number>\d{1,3})\W*", re.DOTALL)
# The fewest numbered columns that are passages.
_FEWEST = 2
# The most characters of the header of a numbered column.
_LONGEST = 80


@cache
def foreign_keys() -> Mapping[str, str]:
    """Return the keys of a schema by the letters of their names in other languages."""
    names: dict[str, str] = {}
    for key, words in _DATA["headers"].items():
        names |= {normalized_key(word): key for word in words}
    return names


@cache
def _fields_by_letters() -> Mapping[str, str]:
    """Return the field of each header in plain words, by the letters of the header."""
    fields: dict[str, str] = {}
    for field, words in _DATA["plain"].items():
        fields |= {normalized_key(word): field for word in words}
    return fields


@cache
def _letters_of_passages() -> frozenset[str]:
    """Return the letters of what stands before the number of a passage."""
    names = [normalized_key(name) for name in _DATA["passages"]]
    words = [normalized_key(word) for word in _DATA["before"]]
    return frozenset([*names, *(word + name for word in words for name in names), *words])


def find_plain_field(header: str, value: Any) -> str | None:
    """Return the field that a header in plain words means, where a value may be the field's; else None."""
    field = _fields_by_letters().get(normalized_key(header))
    if field is None or isinstance(value, str):
        return field
    items = list_in(value)
    if items is not None and any(
        look_up(item, key) is not None for item in items for key in _CANDIDATES
    ):
        return None  # what a set offers, and no retriever returned
    if field in TEXTS:
        return None if hasattr(value, "items") else field
    return None if find_fault(items, field) else field


def find_numbered_columns(row: Mapping[str, Any], columns: Collection[str]) -> dict[str, str]:
    """Return the columns of single passages, such as ``Chunk 1`` to ``Chunk 4``, in the order of their numbers, with their field.

    Args:
        row: The first rows as one.
        columns: The columns that are a field already.
    """
    numbers: dict[str, dict[int, str]] = {}
    for column, value in row.items():
        match = _NUMBERED.fullmatch(column) if len(column) <= _LONGEST else None
        if match is None or column in columns or not isinstance(value, str) or is_list_text(value):
            continue
        if NOT_RETRIEVED.search(column):
            continue
        name = normalized_key(match["name"])
        if name in _letters_of_passages() and int(match["number"]) not in numbers.get(name, ()):
            numbers.setdefault(name, {})[int(match["number"])] = column
    runs: list[dict[int, str]] = []
    for run in numbers.values():
        is_prose = any(" " in row[column] or not row[column].isascii() for column in run.values())
        if is_prose and len(run) >= _FEWEST:
            runs.append(run)
    if len(runs) != 1:  # nothing says which of two was retrieved
        return {}
    return {runs[0][number]: "retrieved_contexts" for number in sorted(runs[0])}
