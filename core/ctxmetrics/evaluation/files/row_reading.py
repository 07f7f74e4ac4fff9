"""The careful reader: it finds the fields of each row anew, and reads them.

What no schema knows is carried along as metadata. A name that is close to a field that no row has is an error: it is more likely
misspelt. `ctxmetrics.evaluation.files.row_plan` reads usual rows faster, with the same result.
"""

from __future__ import annotations

import logging
import shlex
from collections.abc import Mapping
from typing import Any

from ctxmetrics.errors import SampleError
from ctxmetrics.evaluation.files.cell_values import convert_number, find_fault, is_text
from ctxmetrics.evaluation.files.field_locations import (
    Location,
    find_all_locations,
    find_list_contexts,
    list_paths,
    parse_cells,
    without_paths,
)
from ctxmetrics.evaluation.files.list_values import read_lists
from ctxmetrics.evaluation.files.row_decisions import Reading
from ctxmetrics.evaluation.files.row_names import check_names, check_system, list_unknown_names
from ctxmetrics.samples.documents import as_list, is_missing
from ctxmetrics.samples.field_keys import OPTIONS, TEXTS_OF, UNUSABLE
from ctxmetrics.samples.schema import first_value
from ctxmetrics.samples.systems import map_options
from ctxmetrics.samples.unanswerable import LABEL, has_mark


def read_row(
    reading: Reading, row: Mapping[str, Any], where: str | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Read the fields of a row. The rest of the row becomes metadata.

    Args:
        reading: How the rows are read.
        row: The row.
        where: The name of the sample in error messages while it has no id, such as ``"line 7"``.

    Returns:
        The arguments of a `Sample`, and the names that no schema has.

    Raises:
        UnknownFieldError: A key looks like a misspelt field, which no row has; the message names the field.
        AmbiguousFieldError: A key means different things in different systems.
        SampleError: Two keys name the same field and differ, or a value cannot be what its field needs.
    """
    if not hasattr(row, "items"):
        raise SampleError(f"{where or 'Sample'} must be a mapping of fields, not {type(row).__name__}.")
    raw_row, parsed_row = parse_cells(reading, row)
    locations = find_all_locations(reading, parsed_row)
    id_ = first_value(locations["id"])
    try:
        values, unknown_names = _read_parsed(reading, raw_row, parsed_row, locations)
    except SampleError as error:
        name_sample(error, id_, where)
        raise
    drop_unusable(reading, values, id_, where)
    return values, unknown_names


def name_sample(error: SampleError, id_: Any, where: str | None) -> None:
    """Name the sample of an error by its id, else by its place."""
    if id_ is None:
        error.place = where or "Sample"
    else:
        error.sample = str(id_)[:80]


def _read_parsed(
    reading: Reading,
    raw_row: Mapping[str, Any],
    parsed_row: Mapping[str, Any],
    locations: Mapping[str, list[Location]],
) -> tuple[dict[str, Any], list[str]]:
    """Read a row whose cells were parsed; see `read_row`."""
    check_names(reading, raw_row, parsed_row, locations)
    has_no_field = not any(locations[name] for name in OPTIONS)
    if reading.absent is None and has_no_field:
        check_system(reading, raw_row)
    values = _read_values(reading, raw_row, locations)
    order_notes = read_lists(reading, values, find_list_contexts(reading, parsed_row, locations))
    if isinstance(values.get("reference"), list):
        values["reference"] = _get_single_answer(reading, values["reference"])
    unread = without_paths(parsed_row, list_paths(locations))
    if reading.parses_texts:
        for key in ("labels", "metadata"):
            if key in values and not hasattr(values[key], "items"):
                unread[key] = values.pop(key)
    unknown_names = list_unknown_names(reading, unread)
    unread |= order_notes
    labels = values.get("labels") or {}
    is_marked = has_mark(unread)  # a column such as "is_impossible" says so
    has_no_answer = is_marked or _has_unanswerable_id(reading, values)
    if has_no_answer and hasattr(labels, "items"):
        values["labels"] = {LABEL: True, **labels}
    metadata = values.get("metadata") or {}
    if unread and hasattr(metadata, "items"):  # else the `Sample` refuses the metadata
        values["metadata"] = {**metadata, **unread}
    return values, unknown_names


def _has_unanswerable_id(reading: Reading, values: Mapping[str, Any]) -> bool:
    """Tell whether the id says that the question has no answer, in a system whose ids do so."""
    ending = reading.schema.unanswerable_ids
    return bool(ending) and str(values.get("id")).endswith(ending)


def _get_single_answer(reading: Reading, answers: list[Any]) -> Any:
    """Return the single answer of a list of equal answers in the place of the reference.

    Raises:
        SampleError: The answers differ, and every row has such a list.
    """
    if len({*map(str, answers)}) == 1:
        return answers[0]
    if "reference" in reading.fields_with_usable_values:
        return answers
    column = reading.mapping.get("reference", "reference")
    acceptable, needed = map_options([f"{column}=references", f"{column}=reference_facts"])
    raise SampleError(
        f"holds {len(answers)} answers.",
        f"Give one, or several acceptable ones as 'references', such as with {acceptable}. Parts that are all needed "
        f"are facts: {needed}.",
    ).inside(field="reference")


def _read_values(
    reading: Reading, raw_row: Mapping[str, Any], locations: Mapping[str, list[Location]]
) -> dict[str, Any]:
    """Read the value of every field of a row.

    Raises:
        SampleError: Two columns hold one field, and differ.
    """
    is_one_of_several_rows = reading.absent is not None
    values: dict[str, Any] = {}
    for name, field_locations in locations.items():
        for path, parsed_value in field_locations:
            value = as_list(parsed_value)
            if is_text(
                raw_row.get(path),
                parsed_value,
                name,
                has_text_cells=name in reading.fields_with_text_cells,
            ):
                value = raw_row[path]
            if is_one_of_several_rows and is_missing(value):
                continue
            if is_one_of_several_rows or name == "id" or name in TEXTS_OF:
                value = convert_number(value, name)
            value_before = values.setdefault(name, value)
            if value_before is not value and value_before != value:  # NaN is not equal to itself
                first_path, _ = field_locations[0]
                raise SampleError(
                    f"both '{first_path}' and '{path}' are given for '{name}'.",
                    f"Keep one of them, such as with --map {shlex.quote(path)}=metadata.",
                    about_columns=True,
                )
    return values


def drop_unusable(reading: Reading, values: dict[str, Any], id_: Any, where: str | None) -> None:
    """Move the unusable values of a row to its metadata, and log them, if other rows have usable ones.

    No number comes from an unusable value, and it costs its own sample only: the sample lacks the field, and each of its scores has a
    note. If no row has a usable value, the column is no such field: then the `Sample` refuses the value, and the rows are not read.
    """
    sample_name = (where or "Sample") if id_ is None else f"Sample {str(id_)[:80]!r}"
    unusable_names: list[str] = []
    for name in [name for name in values if name in reading.fields_with_usable_values]:
        fault = find_fault(values[name], name)
        if fault:
            value = values.pop(name)
            unusable_names.append(name)
            metadata = values.get("metadata") or {}
            if hasattr(metadata, "items"):  # else the `Sample` refuses the metadata
                values["metadata"] = {name: value, **metadata, UNUSABLE: ", ".join(unusable_names)}
            logging.getLogger("ctxmetrics").warning(
                "%s: field '%s' %s, unlike in other rows: the sample has no %s",
                sample_name,
                name,
                fault,
                name,
            )
