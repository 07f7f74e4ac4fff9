"""Decides how the rows of a source are read, once, from its first rows."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ctxmetrics._internal.near_names import suggest
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.files.column_proposals import find_candidates
from ctxmetrics.evaluation.files.field_forms import add_forms
from ctxmetrics.evaluation.files.field_locations import parse_cells
from ctxmetrics.evaluation.files.first_rows import LOOKAHEAD_ROWS, ParsedRows, merge_rows
from ctxmetrics.evaluation.files.header_keys import find_renamed_keys
from ctxmetrics.evaluation.files.hit_order import Order
from ctxmetrics.evaluation.files.plan_notes import describe_reading
from ctxmetrics.evaluation.files.row_decisions import Reading
from ctxmetrics.evaluation.files.row_plan import Plan
from ctxmetrics.evaluation.files.row_refusals import (
    explain_missing_header,
    explain_row_refusal,
    find_joined,
    read_records,
)
from ctxmetrics.evaluation.files.schema_choice import Unsure, choose_schema, texts_under_ids
from ctxmetrics.samples.cells import read_cells
from ctxmetrics.samples.documents import look_up
from ctxmetrics.samples.field_keys import FIELDS, RETRIEVED
from ctxmetrics.samples.schema import join_first
from ctxmetrics.samples.systems import suggest_field

# The value of the option ``schema`` with which the schema is recognised from the rows.
AUTO = "auto"
# Fields in which each row has what was retrieved for its question.
_PER_QUESTION_FIELDS = frozenset({*RETRIEVED, "searches"})


def plan_single_row(row: Mapping[str, Any], schema: str = "ragas", order: Order | None = None) -> Plan:
    """Decide how a single row is read.

    Args:
        row: The row.
        schema: The system whose names the keys are: one of `SCHEMAS`, or ``"auto"``. Our own names are understood in each.
        order: The source of the order of the retrieved items.

    Raises:
        ParameterError: No such schema.
    """
    if schema == AUTO:
        return recognise([row], parses_texts=False, order=order)
    plan = _plan_schema(schema, order)
    columns = texts_under_ids(plan.reading, row) if hasattr(row, "items") else {}
    return _plan_schema(schema, order, tuple(columns.items())) if columns else plan


@lru_cache(maxsize=32)
def _plan_schema(schema: str, order: Order | None, columns: tuple[tuple[str, str], ...] = ()) -> Plan:
    """Return the plan of a schema, the same object for the same arguments: it remembers the keys of the rows so far."""
    return Plan(Reading(name=schema, order=order, columns=dict(columns)))


def recognise(
    rows: Iterable[Mapping[str, Any]],
    schema: str = AUTO,
    columns: Mapping[str, str] | None = None,
    *,
    parses_texts: bool = True,
    single: bool = False,
    source: object = None,
    grouped: bool = False,
    headed: bool = False,
    split: str | None = None,
    order: Order | None = None,
    several: bool = False,
) -> Plan:
    """Decide how rows are read, and log what was decided.

    With ``"auto"``, the schema that finds the most fields in the rows is chosen; of several, the first of `SCHEMAS`. Then names
    count without case and separators. A column that this schema does not know gets the field that all other schemas with this
    name give it.

    Args:
        rows: The rows, or the first of them.
        schema: One of `SCHEMAS`, or ``"auto"``.
        columns: Which column or path holds which field, if no schema is right.
        parses_texts: Whether lists and objects may stand as text, as files have them.
        single: Whether one text may stand for a list of one, if every row has it so.
        source: The name of the rows in the log, such as their file; None: nothing is logged.
        grouped: Whether rows of one question become one sample.
        headed: Whether the names of the columns are names, although they look like data.
        split: What separates the passages of a retrieved text.
        order: The source of the order of the retrieved items.
        several: Whether a question may have several retrievals.

    Raises:
        ParameterError: There is no such schema, field or column.
        SampleError: A key stands twice in one object that is JSON in a text.
    """
    mapped_columns = dict(columns or {})
    objects = [row for row in rows if hasattr(row, "items")]
    merged_row = merge_rows(objects)
    name = "ragas" if schema == AUTO else schema
    reading = Reading(
        name=name, columns=mapped_columns, parses_texts=parses_texts, split=split, order=order
    )
    _check_columns(mapped_columns, merged_row)
    unsure: Unsure = ()
    if schema == AUTO and merged_row:
        reading = replace(reading, renamed=find_renamed_keys(merged_row, mapped_columns))
        reading, unsure = choose_schema(reading, merged_row)
    _, parsed_row = parse_cells(reading, merged_row)
    # Columns that hold texts under a name of ids, unless the caller maps them.
    columns_of_texts = texts_under_ids(reading, parsed_row)
    reading = replace(reading, columns={**columns_of_texts, **reading.columns})
    first_rows = objects[:LOOKAHEAD_ROWS]
    parsed_rows = ParsedRows(reading, first_rows)
    reading = add_forms(reading, parsed_row, parsed_rows, single=single)
    candidates = find_candidates(reading, parsed_row)
    no_header = None if headed else explain_missing_header(merged_row)
    if no_header is not None:
        return Plan(reading, refusal=no_header, unsure=unsure, candidates=candidates)
    refusal = None
    separators: Mapping[str, str] = {}
    if not grouped and not unsure and reading.mapping.keys() & _PER_QUESTION_FIELDS:
        records = read_records(reading, parsed_rows)
        refusal = explain_row_refusal(reading, first_rows, records, several=several)
        separators = find_joined(reading, parsed_rows, records)
    if source:
        for note in describe_reading(reading, parsed_row):
            logging.getLogger("ctxmetrics").warning("%s: %s", source, note)
    return Plan(reading, refusal, unsure, separators, candidates)


def _check_columns(columns: Mapping[str, str], row: Mapping[str, Any]) -> None:
    """Check the mapping of the caller. One error names all faults.

    Raises:
        ParameterError: A field does not exist, or no row has a column.
    """
    problems = []
    for column, name in columns.items():
        if name not in FIELDS and column in FIELDS and name in row:
            problems.append(
                f"--map {column}={name}: the column stands before the field. Write --map {name}={column} (in Python "
                f"columns={{{name!r}: {column!r}}})."
            )
            continue
        if name not in FIELDS:
            problems.append(
                f"--map {column}={name}: there is no field {name!r}.{suggest_field(name)} Choose from: "
                f"{', '.join(FIELDS)}."
            )
        if row and look_up(read_cells(row), column) is None:
            problems.append(
                f"--map {column}={name}: no row has {column!r}.{suggest(column, row)} There is: {join_first(row)}."
            )
    if problems:
        raise ParameterError(" ".join(problems))
