"""How the rows of one set of keys are read is decided once: a plan says what each key becomes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ctxmetrics.reading.schema import LISTS
from ctxmetrics.reading.unanswerable import is_column

# How many sets of keys, with the types of their values, are remembered.
MOST_PLANS = 64
# Types of values that are taken as they are.
_ATOMS = frozenset({str, int, float, bool, type(None)})
# How many objects may stand in each other: stages of contexts and ids, in a row.
_DEPTH = 3
# How printed documents and nodes begin, and objects and lists that a file holds as text.
_PRINTED = re.compile("page_content=|Node ID:")
WRITTEN = re.compile(r"\s*(?:[\[{(]|array|np\.|numpy)")


class Plan(NamedTuple):
    """How a row is read whose keys and types are those of a row before it: each value is a field, or is carried along.

    What a document holds decides how it is read, so each one is looked into.

    Attributes:
        fields: Each field and its key.
        carried: The keys of what becomes metadata.
        others: The names that no schema knows.
        has_documents: Whether a list holds documents.
    """

    fields: Sequence[tuple[str, str]]
    carried: Sequence[str]
    others: list[str]
    has_documents: bool


_Spots = Mapping[str, list[tuple[str, Any]]]


def build_plan(
    row: Mapping[str, Any], raw: Mapping[str, Any], spots: _Spots, others: list[str], holders: set[str]
) -> Plan | None:
    """Build the plan of a row that was read; None where a field stands in an object, in several keys or is no list.

    Args:
        row: The row.
        raw: The row under the schema's keys.
        spots: Where each field stands.
        others: The names that no schema knows.
        holders: The schema's keys of lists in which a field may stand.
    """
    if len(raw) != len(row):
        return None
    keys = dict(zip(raw, row, strict=True))
    fields = []
    for name, places in spots.items():
        for path, value in places:
            if path not in keys or len(places) > 1 or not isinstance(value, _kind_of(name)):
                return None
            if value != row[keys[path]]:  # several columns are one field
                return None
            fields.append((name, keys[path]))
    read = {key for _, key in fields}
    carried = [key for key in row if key not in read and row[key] is not None]
    if any(is_column(str(key)) or isinstance(row[key], dict) for key in carried):
        return None
    documents = {
        name for name, value in raw.items() if type(value) is list and dict in map(type, value)
    }
    return None if documents & holders else Plan(fields, carried, others, bool(documents))


def _kind_of(name: str) -> type | tuple[type, ...]:
    """Return the type of a plain value of a field."""
    if name in LISTS:
        return list
    if name in ("labels", "metadata", "stages"):
        return dict
    return (str, int) if name == "id" else str


def describe_row(row: Mapping[str, Any], *, written: bool) -> tuple[Any, ...] | None:
    """Describe a row by its keys and the types of plain values; None where a value may hold something else.

    Args:
        row: The row.
        written: Whether lists and objects may stand in texts.
    """
    if written and any(type(value) is str and WRITTEN.match(value) for value in row.values()):
        return None
    kinds: list[Any] = []
    return tuple(kinds) if _describe(row, kinds, _DEPTH) else None


def _describe(value: Any, kinds: list[Any], depth: int) -> bool:
    """Add the type of a value, and the keys and types of what it holds; return False where an item may hold something else."""
    kind = type(value)
    if kind in _ATOMS:
        kinds += (kind, not value)
        return True
    if kind is dict and depth:
        kinds += (kind, len(value), *value)
        return all(_describe(item, kinds, depth - 1) for item in value.values())
    if kind is not list:
        return False
    types = frozenset(map(type, value))
    kinds += (kind, types)
    if types == {dict}:  # documents, where they are a column
        return depth == _DEPTH - 1
    texts = value if types <= {str} else [item for item in value if type(item) is str]
    return types <= _ATOMS and not any(map(_PRINTED.match, texts))
