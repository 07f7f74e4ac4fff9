"""What each system calls the fields of a sample, and where it keeps them: ``systems.json`` is the table.

`fields_meant` says what a name means in any of the systems, `suggest_field` also which field's name it is close to.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any

from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.display import to_plain_name
from ctxmetrics.errors import AmbiguousFieldError, UnknownFieldError
from ctxmetrics.samples.documents import ID_KEYS
from ctxmetrics.samples.field_keys import FIELDS, OPTIONS, TEXTS_OF
from ctxmetrics.samples.schema import Place, Schema

_TABLE: Mapping[str, Any] = read_data("samples", "systems.json")
# The names of the fields in a system whose records have a side for question, answer and what was expected.
_NAMES_IN_SIDES: Mapping[str, Sequence[str]] = _TABLE["usual"]
# The fields that stand in the side of the answer.
_FIELDS_OF_ANSWER = ("response", "retrieved_contexts", "retrieved_context_ids", "stages", "searches")
# For each field, names that people use for it and that no schema has.
_OTHER_NAMES: Mapping[str, Sequence[str]] = read_data("samples", "keys.json")["usual"]
# Names of answers that are not the expected answer: incorrect_answers, rejected_answer, user_answer. Some are spelled almost like
# the name of a field.
NAMES_OF_OTHER_ANSWERS = re.compile(
    r"incorrect|wrong|false|reject|negative|distract|fake|(?:bad|neg|user|student)[\W_]?answers?$",
    re.IGNORECASE,
)
# Pairs: a name of at least so many letters may differ from the name of a field in so many letters, and still be close to it.
_MAX_DIFFERENCES_BY_LENGTH = ((8, 2), (5, 1))
# The maximum number of options of the command line that a message offers.
_MAX_OPTIONS_OFFERED = 4


def _read_schema(data: Mapping[str, Any]) -> Schema:
    """Read a system of the table as a schema."""
    words = {"reference_facts": _NAMES_IN_SIDES["reference_facts"], **data.get("fields", {})}
    has_sides = "sides" in data
    question_side = ""
    answer_side = ""
    expected_side = ""
    if has_sides:
        question_side, answer_side, expected_side = data["sides"]
        words = {**_NAMES_IN_SIDES, **words}
    sides = {"user_input": question_side, **dict.fromkeys(_FIELDS_OF_ANSWER, answer_side)}
    return Schema(
        places={
            field: Place(sides.get(field, expected_side), tuple(keys)) for field, keys in words.items()
        },
        single_string=has_sides or data.get("single_string", False),
        separator=data.get("separator"),
        joined={field: f"[{name} 1]" for field, name in data.get("joined", {}).items()},
        carried=frozenset(data.get("carried", ())),
        id_keys=(*data.get("id_keys", ()), *ID_KEYS),
    )


# Every schema by name. The schema of this library is ``ragas``.
SCHEMAS: Mapping[str, Schema] = MappingProxyType(
    {name: _read_schema(data) for name, data in _TABLE["systems"].items()}
)


# Returns a name without case and separators.
normalized_key: Callable[[str], str] = lru_cache(maxsize=4096)(to_plain_name)


@cache
def _meanings() -> dict[str, tuple[str, ...]]:
    """Return the fields of each name, by the letters of the name; a field's own name comes first."""
    meanings: dict[str, dict[str, None]] = {normalized_key(field): {field: None} for field in FIELDS}
    for schema in SCHEMAS.values():
        for field in FIELDS:
            for key in schema.flat_keys[field]:
                meanings.setdefault(normalized_key(key), {})[field] = None
    for field, names in _OTHER_NAMES.items():
        for name in names:
            meanings.setdefault(normalized_key(name), {})[field] = None
    return {name: tuple(fields) for name, fields in meanings.items()}


def fields_meant(name: str) -> tuple[str, ...]:
    """Return the fields that a name means in some system."""
    return _meanings().get(normalized_key(name), ())


def suggest_field(name: str) -> str:
    """Suggest the field that a name means or is close to, in a sentence; empty if there is no such field."""
    fields = fields_meant(name)
    if not fields and not NAMES_OF_OTHER_ANSWERS.search(name):
        from ctxmetrics._internal.near_names import find_near

        near = find_near(name, _meanings())
        fields = _meanings()[near] if near is not None else ()
    return f" Did you mean {' or '.join(map(repr, fields))}?" if fields else ""


def find_fields_of_other_systems(keys: Iterable[str], allowed: Collection[str]) -> dict[str, str]:
    """Map keys that are names of fields in another system to these fields.

    Args:
        keys: The keys of a row.
        allowed: The keys of the row's own system; they are left out.
    """
    fields: dict[str, str] = {}
    for key in keys:
        if key in allowed:
            continue
        meanings = fields_meant(str(key))
        if meanings and meanings[0] in OPTIONS:
            fields[str(key)] = meanings[0]
    return fields


def map_options(mappings: Iterable[str]) -> list[str]:
    """Return the options of the command line for ``COLUMN=FIELD``."""
    return [f"--map {shlex.quote(mapping)}" for mapping in mappings]


def join_options(mappings: Iterable[str]) -> str:
    """Join the first options of the command line with "or": the user chooses one of them."""
    return " or ".join(map_options(mappings)[:_MAX_OPTIONS_OFFERED])


def find_misspelt(key: str, schema: Schema, absent: frozenset[str]) -> tuple[str, str] | None:
    """Find the absent field that a key is closest to; None if the closest field is not absent.

    Returns:
        The field, and its name in the schema that is closest to the key.
    """
    closest: tuple[str, str] | None = None
    smallest_distance: int | None = None
    for field in OPTIONS:
        for name in schema.flat_keys[field]:
            name_of_id = f"{normalized_key(name).removesuffix('s')}id"  # such as response_id
            if normalized_key(key) == name_of_id:
                continue
            distance = _measure_distance(key, name)
            if distance is None:
                continue
            if smallest_distance is None or distance < smallest_distance:
                smallest_distance = distance
                closest = (field, name)
    if closest is None:
        return None
    closest_field, _ = closest
    return closest if closest_field in absent else None


def check_keys(
    keys: Iterable[str], allowed: Collection[str], to_column: Callable[[str], str] = str
) -> None:
    """Check that all keys are allowed.

    Args:
        keys: The keys.
        allowed: The keys that are the names of fields.
        to_column: Converts a key to the name of its column in the row.

    Raises:
        AmbiguousFieldError: A key is ``context``, which is not allowed.
        UnknownFieldError: Another key is not allowed.
    """
    for key in keys:
        if key in allowed:
            continue
        if key == "page_content":
            raise UnknownFieldError(
                "'page_content' makes this a document, not a sample. A sample holds its documents in the "
                "list 'retrieved_contexts', beside 'user_input' and 'reference'."
            )
        if key == "context":
            raise _ambiguous_error(to_column(key))
        raise UnknownFieldError(
            f"unknown field '{str(key)[:80]}' (schema 'ragas').{suggest_field(str(key))}",
            "Anything of your own belongs into 'metadata'.",
        )


def _ambiguous_error(column: str) -> AmbiguousFieldError:
    """Build the error of a column that means different things in different systems."""
    names = [*sorted(TEXTS_OF.values()), "metadata"]
    options = ", ".join(map_options(f"{column}={name}" for name in names))
    return AmbiguousFieldError(
        "means the retrieved text in some systems and the ideal one in others.",
        "Name the system with schema= (for example 'aegis' or 'deepeval'), or write 'retrieved_contexts' or "
        f"'reference_contexts'; on the command line one of: {options}",
    ).inside(field=column)


def is_ambiguous(context: Any, absent: Collection[str]) -> bool:
    """Tell whether the value under ``context`` may be retrieved or expected contexts. In the span of a trace, it is an object."""
    return not hasattr(context, "items") and any(name in absent for name in TEXTS_OF.values())


def _measure_distance(key: str, name: str) -> int | None:
    """Count the letters in which a key differs from the name of a field; None if there are too many.

    Case, separators and a plural "s" are ignored.
    """
    from rapidfuzz.distance import Levenshtein

    key_letters = normalized_key(key)
    name_letters = normalized_key(name)
    if key_letters.removesuffix("s") == name_letters.removesuffix("s"):
        return 0
    shorter_length = min(len(key_letters), len(name_letters))
    largest_distance = 0
    for least_length, distance_of_length in _MAX_DIFFERENCES_BY_LENGTH:
        if shorter_length >= least_length:
            largest_distance = distance_of_length
            break
    distance = Levenshtein.distance(key_letters, name_letters, score_cutoff=largest_distance)
    return distance if distance <= largest_distance else None
