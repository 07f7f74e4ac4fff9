"""Grades that stand with the expected ids themselves: ``d3:2, d9:1`` in a cell, ``{"d3": 2, "d9": 1}``, ``[["d3", 2]]``.

In a text, the number after an id may also be a part of it: a page, or a chunk. The retrieved ids show which.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

from ctxmetrics.samples.documents import is_missing

# The field whose items may have grades.
GRADED_FIELD = "reference_context_ids"
# The highest grade that a text may hold.
_MAX_GRADE = 10
# A grade. Where a cell of its column is empty, pandas writes 2.0.
_GRADE = r"(?P<grade>\d{1,2})(?:\.0+)?"
# An id, which may have blanks in it.
_ID = r"(?P<id>\S(?:.*\S)?)"
_ID_AND_GRADE = (
    re.compile(rf"\S+\s+(?:0|Q0)\s+(?P<id>\S+)\s+{_GRADE}"),  # a line of qrels: q1 0 d3 2
    re.compile(rf"{_ID}\s*[:=/^]\s*{_GRADE}"),  # d3:2, d3=2, d3/2, d3^2
    re.compile(rf"{_ID}\s*[(\[]{_GRADE}[)\]]"),  # d3 (2), d3[2]
    re.compile(rf"{_GRADE}\s*[:=]\s*{_ID}"),  # 2:d3
)
# The separators between ids in a cell.
_ID_SEPARATOR = re.compile(r"\s*[,;|\n]\s*")


def read_graded_ids(value: Any) -> list[dict[str, Any]] | None:
    """Read ids with grades in their texts as objects with an id and a grade. Return None if an item is anything else.

    Args:
        value: The text of a cell, or a list of texts.
    """
    items = _ID_SEPARATOR.split(value.strip(" \t\r\n,;|")) if isinstance(value, str) else value
    if not isinstance(items, list) or not items:
        return None
    for pattern in _ID_AND_GRADE:
        graded = _read_items(items, pattern)
        if graded is not None:
            return graded
    return None


def _read_items(items: Sequence[Any], pattern: re.Pattern[str]) -> list[dict[str, Any]] | None:
    """Read items of one form as objects with an id and a grade. Return None if an item is anything else."""
    graded: list[dict[str, Any]] = []
    for item in items:
        match = pattern.fullmatch(item.strip()) if isinstance(item, str) else None
        if match is None or int(match["grade"]) > _MAX_GRADE:
            return None
        graded.append({"id": match["id"], "relevance": int(match["grade"])})
    return graded


def drop_grade(text: str) -> str:
    """Return the id of a text that is an id with a grade. Return any other text as it is."""
    graded = read_graded_ids([text])
    return text if graded is None else str(graded[0]["id"])


def are_graded(values: Iterable[Any], retrieved: Collection[str]) -> bool:
    """Tell whether a grade follows each expected id in its text: the ids before the grades were retrieved, and no whole text was.

    Args:
        values: The cells or lists of expected ids, without empty ones.
        retrieved: The retrieved ids.
    """
    ids: set[str] = set()
    for value in values:
        graded = read_graded_ids(value)
        if graded is None:
            return False
        texts = _ID_SEPARATOR.split(value) if isinstance(value, str) else value
        if any(text.strip() in retrieved for text in texts):
            return False
        ids.update(item["id"] for item in graded)
    return not ids.isdisjoint(retrieved)


def holds_numbers_by_id(value: Any) -> bool:
    """Tell whether an object holds a number for each of its keys, as qrels have grades by ids. A table may fill gaps with None."""
    if not isinstance(value, Mapping):
        return False
    numbers = [number for number in value.values() if not is_missing(number)]
    return bool(numbers) and all(map(_is_number, numbers))


def list_graded(value: Any) -> Any:
    """Return grades by id, or pairs of an id and a grade, as a list of objects. Return anything else as it is."""
    if holds_numbers_by_id(value):
        pairs = [(id_, number) for id_, number in value.items() if not is_missing(number)]
    elif isinstance(value, (list, tuple)) and value and all(map(is_graded_pair, value)):
        pairs = [tuple(pair) for pair in value]
    else:
        return value
    return [{"id": id_, "relevance": grade} for id_, grade in pairs]


def is_graded_pair(item: Any) -> bool:
    """Tell whether an item is a pair of an id and a number."""
    is_pair = isinstance(item, (list, tuple)) and len(item) == 2  # noqa: PLR2004 - a pair
    return is_pair and isinstance(item[0], str) and _is_number(item[1])


def _is_number(value: Any) -> bool:
    """Tell whether a value is a number, and no truth value."""
    return isinstance(value, Real) and not isinstance(value, bool)
