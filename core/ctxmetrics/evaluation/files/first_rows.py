"""The first rows of a source: parsed once each, and merged into one row with the values that tell most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ctxmetrics.evaluation.files.field_locations import parse_cells
from ctxmetrics.evaluation.files.header_keys import TEXT_NAMES
from ctxmetrics.evaluation.files.row_decisions import Reading
from ctxmetrics.samples.cells import is_list_text
from ctxmetrics.samples.documents import is_missing

# How many of the first rows decide how all rows of a stream are read.
LOOKAHEAD_ROWS = 100


class ParsedRows:
    """The first rows as `parse_cells` returns them. Each is parsed once, when it is looked at."""

    def __init__(self, reading: Reading, rows: Sequence[Mapping[str, Any]]) -> None:
        self._reading = reading
        self._rows = rows
        # The rows that were parsed so far: for each row, the pair that `parse_cells` returns.
        self._parsed: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def __iter__(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        for index, row in enumerate(self._rows):
            if index == len(self._parsed):
                self._parsed.append(parse_cells(self._reading, row))
            yield self._parsed[index]


def merge_rows(rows: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge rows into one with the first value of each key. A list is preferred to a text, and objects are merged.

    Under a name that means a text, a list is preferred only if more rows have a list there than a text.
    """
    text_counts_by_key: Counter[str] = Counter()
    other_counts_by_key: Counter[str] = Counter()
    for row in rows:
        for key, value in row.items():
            if key in TEXT_NAMES:
                counts = text_counts_by_key if isinstance(value, str) else other_counts_by_key
                counts[str(key)] += 1
    text_keys = {
        key for key in text_counts_by_key if text_counts_by_key[key] >= other_counts_by_key[key]
    }
    merged_row: dict[str, Any] = {}
    for row in rows:
        for name, value in row.items():
            key = str(name)
            value_so_far: Any = merged_row.get(key)
            if hasattr(value_so_far, "items") and hasattr(value, "items"):
                merged_row[key] = _merge_objects(value_so_far, value)
            elif _tells_more(value, value_so_far, prefers_text=key in text_keys):
                merged_row[key] = value
    return merged_row


def _merge_objects(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two objects. The values of the second fill keys that are empty in the first."""
    merged = dict(second)
    for key, value in first.items():
        other: Any = second.get(key)
        if hasattr(value, "items") and hasattr(other, "items"):
            merged[key] = _merge_objects(value, other)
        elif not _is_empty(value):
            merged[key] = value
    return merged


def _tells_more(value: Any, before: Any, *, prefers_text: bool) -> bool:
    """Tell whether a value tells more about its column than the value before."""
    if is_missing(value):
        return False
    if isinstance(value, list) and isinstance(before, list) and before:
        return False
    if _is_empty(before):
        return True
    value_is_text = isinstance(value, str)
    if value_is_text != isinstance(before, str) and value_is_text == prefers_text:
        return True
    return is_list_text(value) and not is_list_text(before)


def _is_empty(value: Any) -> bool:
    """Tell whether a value is missing, or an empty list."""
    return is_missing(value) or (isinstance(value, list) and not value)
