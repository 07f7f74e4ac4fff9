"""What a name means in any of the systems: for messages about a name that is no field."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable
from functools import cache

from ctxmetrics._internal.data_files import read_words
from ctxmetrics.reading.schema import FIELDS, OPTIONS
from ctxmetrics.reading.systems import SCHEMAS

# Names that people use and no schema has, by the field that they mean.
_USUAL = read_words("reading", "keys.json", "usual")
# How alike two names are at least, from 0 to 1, where one is taken for the other misspelt.
_ALIKE = 0.75


def letters_of(name: str) -> str:
    """Return a name without case and separators."""
    return re.sub(r"[\W_]", "", name.lower())


@cache
def _meanings() -> dict[str, tuple[str, ...]]:
    """Return the fields that a name means, by its letters; our own names and those of usual fields come first."""
    meanings: dict[str, dict[str, None]] = {letters_of(field): {field: None} for field in FIELDS}
    for schema in SCHEMAS.values():
        for field in FIELDS:
            for key in schema.flat_keys[field]:
                meanings.setdefault(letters_of(key), {})[field] = None
    for field, names in _USUAL.items():
        for name in names:
            meanings.setdefault(letters_of(name), {})[field] = None
    return {name: tuple(fields) for name, fields in meanings.items()}


def fields_meant(name: str) -> tuple[str, ...]:
    """Return the fields that a name means in some system."""
    return _meanings().get(letters_of(name), ())


def suggest_field(name: str) -> str:
    """Return a sentence that says which field a name means, or is close to; empty where none is."""
    fields = fields_meant(name)
    if not fields:
        near = difflib.get_close_matches(letters_of(name), _meanings(), n=1, cutoff=_ALIKE)
        fields = _meanings()[near[0]] if near else ()
    return f" Did you mean {' or '.join(map(repr, fields))}?" if fields else ""


def written_elsewhere(keys: Iterable[str], known: Collection[str]) -> dict[str, str]:
    """Return the keys that name a field in another system only, each with that field."""
    fields: dict[str, str] = {}
    for key in keys:
        meant = fields_meant(str(key))
        if key not in known and meant and meant[0] in OPTIONS:
            fields[str(key)] = meant[0]
    return fields
