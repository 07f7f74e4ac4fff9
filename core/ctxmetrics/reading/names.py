"""What a name means in any of the systems, how close it is to another, and the errors about a name that is no field."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Callable, Collection, Iterable
from functools import cache
from typing import Any

from ctxmetrics._internal.data_files import read_words
from ctxmetrics.errors import AmbiguousFieldError, UnknownFieldError
from ctxmetrics.reading.schema import FIELDS, OPTIONS, TEXTS_OF, Schema
from ctxmetrics.reading.systems import SCHEMAS

# Names that people use and no schema has, by the field that they mean.
_USUAL = read_words("reading", "keys.json", "usual")
# How alike two names are at least, from 0 to 1, where one is taken for the other misspelt.
_ALIKE = 0.75
# The length of a name, and in how many letters a name of at least this length may differ from a field's
# and still count as close.
_CLOSE = ((8, 2), (5, 1))


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


def map_options(mappings: Iterable[str]) -> list[str]:
    """Return the options of the command line for ``COLUMN=FIELD``."""
    return [f"--map {shlex.quote(mapping)}" for mapping in mappings]


def find_misspelt(key: str, schema: Schema, absent: frozenset[str]) -> tuple[str, str] | None:
    """Return the absent field that a key is close to, and the name of it that is closest."""
    closest: tuple[int, str, str] | None = None
    for field in OPTIONS:
        for name in schema.flat_keys[field]:
            distance = _measure_distance(key, name)
            is_id = letters_of(key) == f"{letters_of(name).removesuffix('s')}id"  # such as response_id
            if distance is not None and not is_id and (closest is None or distance < closest[0]):
                closest = (distance, field, name)
    if closest is None or closest[1] not in absent:
        return None
    return closest[1:]


def check_keys(
    keys: Iterable[str], known: Collection[str], original: Callable[[str], str] = str
) -> None:
    """Refuse keys that no field has, as `Sample` does.

    Args:
        keys: The keys.
        known: Those that may be there.
        original: Returns a key as the row writes it.

    Raises:
        AmbiguousFieldError: The key is ``context``.
        UnknownFieldError: Any other unknown key.
    """
    for key in keys:
        if key in known:
            continue
        if key == "page_content":
            raise UnknownFieldError(
                "'page_content' makes this a document, not a sample. A sample holds its documents in the "
                "list 'retrieved_contexts', beside 'user_input' and 'reference'."
            )
        if key == "context":
            raise _ambiguous_error(original(key))
        raise UnknownFieldError(
            f"unknown field '{str(key)[:80]}' (schema 'ragas').{suggest_field(str(key))}",
            "Anything of your own belongs into 'metadata'.",
        )


def _ambiguous_error(column: str) -> AmbiguousFieldError:
    names = [*sorted(TEXTS_OF.values()), "metadata"]
    options = ", ".join(map_options(f"{column}={name}" for name in names))
    return AmbiguousFieldError(
        "means the retrieved text in some systems and the ideal one in others.",
        "Name the system with schema= (for example 'aegis' or 'deepeval'), or write 'retrieved_contexts' or "
        f"'reference_contexts'; on the command line one of: {options}",
    ).inside(field=column)


def is_ambiguous(context: Any, absent: Collection[str]) -> bool:
    """Whether what stands under ``context`` may be either of two fields; that of a trace's span is an object."""
    return not hasattr(context, "items") and any(name in absent for name in TEXTS_OF.values())


def _measure_distance(key: str, name: str) -> int | None:
    """Return in how many letters a key differs from a field's name, case, separators and plural aside; None: in many."""
    from rapidfuzz.distance import Levenshtein

    mine, theirs = letters_of(key), letters_of(name)
    if mine.removesuffix("s") == theirs.removesuffix("s"):
        return 0
    shorter = min(len(mine), len(theirs))
    most = next((most for length, most in _CLOSE if shorter >= length), 0)
    distance = Levenshtein.distance(mine, theirs, score_cutoff=most)
    return distance if distance <= most else None
