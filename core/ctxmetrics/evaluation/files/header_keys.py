"""Which key of a schema the header of a column stands for, whatever its case, its separators and its language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from ctxmetrics.evaluation.files.formats import FORMATS, has_marks
from ctxmetrics.evaluation.files.headers import find_plain_field, foreign_keys, strip_header
from ctxmetrics.samples.field_keys import OPTIONS, TEXTS
from ctxmetrics.samples.schema import first_keys
from ctxmetrics.samples.systems import SCHEMAS, normalized_key

# Every key of every schema; and the first key of each spelling by its letters alone: "ground_truth" by "groundtruth".
_ALL_KEYS: tuple[str, ...] = tuple(
    key for schema in SCHEMAS.values() for key in sorted(schema.known_keys)
)
_KEYS_BY_LETTERS: Mapping[str, str] = {normalized_key(key): key for key in reversed(_ALL_KEYS)}
_ALL_KEY_SET = frozenset(_ALL_KEYS)
# The names of texts in all schemas.
TEXT_NAMES: frozenset[str] = frozenset(
    key for schema in SCHEMAS.values() for name in TEXTS - {"id"} for key in schema.flat_keys[name]
)


def _known_key(name: str) -> str | None:
    """Find the key of a schema that a header stands for, with other case or separators or in another language."""
    for header in (name, strip_header(name)):
        letters = normalized_key(header)
        key = _KEYS_BY_LETTERS.get(letters) or foreign_keys().get(letters)
        if key is not None:
            return key
    return None


def count_known(names: Iterable[str]) -> int:
    """Count the names that are headers in some system, in plain words or in another language."""
    return sum(1 for name in names if _known_key(name) or find_plain_field(name, ""))


def find_renamed_keys(row: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, str]:
    """Return the schema's key for each column whose name is written in another way, such as ``Ground Truth``.

    A column that the caller maps keeps its name. So does a column of a known format, if the row has the marks of the format.
    """
    kept_names = first_keys(columns)
    for schema in FORMATS.values():
        if has_marks(schema, row):
            kept_names |= schema.known_keys
    columns_by_key: dict[str, str] = {}
    for column in row:
        if "." in column or column in _ALL_KEY_SET or column in kept_names:
            continue
        key = _known_key(column)
        if key is not None and key not in row:
            columns_by_key.setdefault(key, column)  # the first of several columns
    return {column: key for key, column in columns_by_key.items()}


@lru_cache(maxsize=4096)
def find_fields_by_name(key: str) -> frozenset[str]:
    """Return the fields that this name means in the schemas without sides, whose records hold the fields themselves."""
    name = _KEYS_BY_LETTERS.get(normalized_key(key), key)
    fields: set[str] = set()
    for schema in SCHEMAS.values():
        if not schema.sides:
            fields.update(field for field in OPTIONS if name in schema.flat_keys[field])
    return frozenset(fields)
