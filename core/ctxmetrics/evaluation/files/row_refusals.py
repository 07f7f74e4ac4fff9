"""Explains from the first rows of a source why its rows are no samples, and finds texts that hold several passages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ctxmetrics.evaluation.files.field_locations import find_locations
from ctxmetrics.evaluation.files.first_rows import ParsedRows
from ctxmetrics.evaluation.files.header_keys import count_known
from ctxmetrics.evaluation.files.passage_lists import (
    COMPARED_FIELDS,
    ComparedRow,
    explain_refusal,
    find_data_header,
    find_joined_lists,
    list_texts,
    to_compared_row,
)
from ctxmetrics.evaluation.files.row_decisions import Reading
from ctxmetrics.evaluation.files.several_runs import (
    RetrievalRow,
    explain_setting,
    find_setting,
    to_retrieval,
)
from ctxmetrics.samples.documents import look_up
from ctxmetrics.samples.field_keys import RETRIEVED
from ctxmetrics.samples.schema import first_value


def explain_missing_header(row: Mapping[str, Any]) -> str | None:
    """Explain that the names of the columns look like data, if no schema knows any of them. Return None otherwise."""
    column = None if count_known(map(str, row)) else find_data_header(row)
    if column is None:
        return None
    return (
        f"the first line is no header, it looks like data ({column[:60]!r}). Write --no-header or --names A,B (in Python "
        "header=False or header=[..]); if it is one, --header (header=True)."
    )


def explain_row_refusal(
    reading: Reading,
    rows: Sequence[Mapping[str, Any]],
    records: Sequence[ComparedRow],
    *,
    several: bool,
) -> str | None:
    """Explain why rows are no samples, with the option that reads them. Return None if nothing is wrong.

    Args:
        reading: How the rows are read.
        rows: The first rows.
        records: The compared values of these rows.
        several: Whether a question may have several retrievals.
    """
    column = reading.schema.passages_of
    if column and any(column in row for row in rows):
        return f"each row is a passage and no sample. Write --group-by {column} (in Python group_by=): the rows of one search are a sample."
    refusal = None if several else _explain_setting(reading, rows, records)
    if reading.mapping.keys() & RETRIEVED:
        refusal = refusal or explain_refusal(records, reading.mapping)
    return refusal


def find_joined(
    reading: Reading, parsed_rows: ParsedRows, records: Iterable[ComparedRow]
) -> dict[str, str]:
    """Find the separator of the passages for each list that has one text with several passages in nearly every row.

    Args:
        reading: How the rows are read.
        parsed_rows: The first rows with parsed cells.
        records: The compared values of these rows.
    """
    if reading.split:
        return {}
    # For each row, the retrieved texts and the expected texts.
    lists: list[tuple[list[Any], list[Any]]] = []
    for (_, row), record in zip(parsed_rows, records, strict=True):
        retrieved = record.retrieved
        if retrieved is None:
            retrieved = _texts_of_searches(reading, row)
        lists.append((list_texts(retrieved), list_texts(record.expected)))
    separators = find_joined_lists(lists)
    for field in reading.schema.joined:  # the schema says where these are split
        separators.pop(field, None)
    return separators


def read_records(reading: Reading, parsed_rows: ParsedRows) -> list[ComparedRow]:
    """Read the values by which each row is compared with the other rows of its question."""
    return [
        to_compared_row(first_value(find_locations(reading, row, name)) for name in COMPARED_FIELDS)
        for _, row in parsed_rows
    ]


def _texts_of_searches(reading: Reading, parsed_row: Mapping[str, Any]) -> list[Any]:
    """Return the texts that the searches of a row found."""
    searches = first_value(find_locations(reading, parsed_row, "searches"))
    texts: list[Any] = []
    if not isinstance(searches, list):
        return texts
    for search in searches:
        if hasattr(search, "items"):
            texts += list_texts(search.get("contexts"))
    return texts


def _explain_setting(
    reading: Reading, rows: Sequence[Mapping[str, Any]], records: Sequence[ComparedRow]
) -> str | None:
    """Explain which column makes the rows several retrievals of one question. Return None if no column does."""
    id_column = reading.mapping.get("id", "id")
    names = [
        record.question or look_up(row, id_column) for record, row in zip(records, rows, strict=True)
    ]
    if len({*map(str, names)}) == len(names):
        return None
    carried = {column for column, field in reading.columns.items() if field == "metadata"}
    retrievals: list[RetrievalRow] = []
    for name, record, row in zip(names, records, rows, strict=True):
        columns = {column: look_up(row, column) for column in reading.unknown_names}
        metadata = row.get("metadata")
        if isinstance(metadata, Mapping):
            columns.update(metadata)
        items = list_texts(record.retrieved)
        retrieval = to_retrieval(name, items, columns, carried, reference=record.answers)
        if retrieval is not None:
            retrievals.append(retrieval)
    setting = find_setting(retrievals)
    return None if setting is None else explain_setting(*setting)
