"""Notes about the decisions on a source, for its log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ctxmetrics.evaluation.files.field_locations import find_all_locations, get_first_locations
from ctxmetrics.evaluation.files.row_decisions import Reading
from ctxmetrics.samples.field_keys import OPTIONS, TEXTS, TEXTS_OF
from ctxmetrics.samples.schema import join_first
from ctxmetrics.samples.systems import find_misspelt, is_ambiguous, join_options


def describe_reading(reading: Reading, parsed_row: Mapping[str, Any]) -> Iterable[str]:
    """Yield notes on the decisions about fields, and on the columns that become metadata."""
    first_locations = get_first_locations(find_all_locations(reading, parsed_row))
    read_columns: list[str] = []
    for name, path in reading.mapping.items():
        columns = [
            reading.original(column) for column, field in reading.columns.items() if field == name
        ]
        location, _ = first_locations[name]
        if name in OPTIONS and location != name:
            read_columns.append(f"{', '.join(columns) or path} -> {name}")
    if read_columns:
        yield f"columns read (schema {reading.name}): {', '.join(read_columns)}"
    for name in sorted(reading.single_text_fields):
        treatment = _describe_treatment(reading, name, first_locations[name][1])
        yield f"every row has one text as {name} ({reading.mapping[name]}): it is {treatment}"
    yield from _describe_objects(reading, first_locations)
    absent = reading.absent or frozenset()
    metadata_columns: list[str] = []
    for name in reading.unknown_names:
        # Reading a row with one of these names raises an error, which says more than a note.
        is_unclear = name == "context" and is_ambiguous(parsed_row[name], absent)
        if not is_unclear and not find_misspelt(name, reading.schema, absent):
            metadata_columns.append(reading.original(name))
    if metadata_columns:
        yield f"no field, carried along as metadata: {join_first(metadata_columns)}"


def _describe_treatment(reading: Reading, field: str, text: Any) -> str:
    """Describe how a single text or id is read that stands in the place of a list."""
    separator = reading.schema.separator
    if separator and separator in str(text):
        return f"split at '{separator}'"
    is_id_field = field in TEXTS_OF
    if is_id_field:
        return "read as a list of one, and several ids in a cell as a list"
    is_text_field = field in TEXTS_OF.values()
    if is_text_field and reading.split is None:
        return "read as a list of one; if it holds several passages, write --split with what separates them"
    return "read as a list of one"


def _describe_objects(
    reading: Reading, first_locations: Mapping[str, tuple[str, Any]]
) -> Iterable[str]:
    """Yield a note on each object that stands in the place of a text, with the options that choose one of its keys."""
    for name in sorted(TEXTS & first_locations.keys()):
        path, value = first_locations[name]
        if hasattr(value, "items"):
            column = reading.original(path)
            keys = [key for key, text in value.items() if isinstance(text, str)]
            options = join_options(f"{column}.{key}={name}" for key in keys)
            advice = f": if one of its keys is meant, write {options}" if keys else ""
            yield f"an object stands in the place of {name}{advice}"
