"""The names in a row: names that no schema knows, and names that are refused because they seem to be misspelt."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from ctxmetrics.errors import UnknownFieldError
from ctxmetrics.evaluation.files.cell_values import TEXT_KEYS_OF_FIELDS, are_texts
from ctxmetrics.evaluation.files.field_locations import Location
from ctxmetrics.evaluation.files.row_decisions import Reading
from ctxmetrics.samples.documents import look_up
from ctxmetrics.samples.field_keys import FIELDS
from ctxmetrics.samples.schema import first_keys
from ctxmetrics.samples.systems import (
    check_keys,
    find_fields_of_other_systems,
    find_misspelt,
    is_ambiguous,
    map_options,
)
from ctxmetrics.samples.unanswerable import is_answerability_name


def check_names(
    reading: Reading,
    row: Mapping[str, Any],
    parsed_row: Mapping[str, Any],
    locations: Mapping[str, list[Location]],
) -> None:
    """Refuse a name that is close to the name of an absent field. Refuse a ``context`` that has two possible meanings."""
    known_keys = reading.schema.known_keys | first_keys(reading.columns)
    absent_fields = reading.absent
    if absent_fields is None:
        absent_fields = frozenset(name for name in FIELDS if not locations[name])
    for key in row:
        if key in known_keys or key.partition(".")[0] in reading.schema.keys_of_several_fields:
            continue
        if key == "page_content" or (key == "context" and is_ambiguous(parsed_row[key], absent_fields)):
            check_keys([key], (), reading.original)  # it raises
        match = find_misspelt(str(key), reading.schema, absent_fields)
        if match:
            field_name, close_key = match
            mappings = [
                _find_mapping(str(other)[:80], field_name, parsed_row[other])
                for other in row
                if find_misspelt(str(other), reading.schema, absent_fields) == match
            ]
            raise _misspelt_error(reading, str(key)[:80], close_key, [*filter(None, mappings)])


def _find_mapping(key: str, field_name: str, value: Any) -> str | None:
    """Find the mapping ``PATH=FIELD`` that reads the value of a key as a field. Return None if there is none."""
    if field_name not in {"response", "reference", "references"}:
        return f"{key}={field_name}"
    names = TEXT_KEYS_OF_FIELDS["reference"]
    if are_texts(value):  # several acceptable answers: a list is no text
        return f"{key}=references"
    if isinstance(value, list):
        inner = [name for name in names if are_texts([look_up(item, name) for item in value])]
        return f"{key}[].{inner[0]}=references" if inner else None
    if hasattr(value, "items"):
        mappings = [f"{key}.{name}={field_name}" for name in names if isinstance(value.get(name), str)]
        mappings += [f"{key}.{name}=references" for name in names if are_texts(value.get(name))]
        return mappings[0] if mappings else None
    return f"{key}={field_name}"


def check_system(reading: Reading, row: Mapping[str, Any]) -> None:
    """Refuse a row that has names of another system's fields and no field of its own system."""
    fields_of_other_systems = find_fields_of_other_systems(row, reading.schema.known_keys)
    if fields_of_other_systems:
        names = ", ".join(f"'{key[:80]}' is '{name}'" for key, name in fields_of_other_systems.items())
        raise UnknownFieldError(
            f"no key is a field of the schema '{reading.name}', and some are another system's: {names}.",
            "Write schema='auto', the name of the system, or our names.",
        )


def _misspelt_error(
    reading: Reading, key: str, close_key: str, mappings: list[str]
) -> UnknownFieldError:
    """Build the error of a misspelt key.

    Args:
        reading: How the row is read.
        key: The misspelt key.
        close_key: The known key that is close to it.
        mappings: The mappings, as ``PATH=FIELD``, of all keys that are misspelt in the same way.
    """
    map_advice = " ".join(map_options(mappings))
    if map_advice:
        map_advice += ", or "
    return UnknownFieldError(
        f"unknown field '{key}' (schema '{reading.name}').",
        f"Did you mean '{close_key}'? Rename it; on the command line write {map_advice}--map "
        f"{shlex.quote(f'{key}=metadata')} to carry it along.",
    )


def list_unknown_names(reading: Reading, rest: Mapping[str, Any]) -> list[str]:
    """List the names in the rest of a row that no schema has, in the order of the row. A nested name is given as its path."""
    names: list[str] = []
    for key, value in rest.items():
        if key in reading.schema.keys_of_several_fields and hasattr(value, "items"):
            names.extend(f"{key}.{inner}" for inner in value)
        else:
            names.append(key)
    known_keys = reading.schema.carried.union(reading.columns)
    return [name for name in names if name not in known_keys and not is_answerability_name(name)]
