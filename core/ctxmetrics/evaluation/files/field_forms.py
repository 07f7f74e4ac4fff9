"""Finds the form of each field in the first rows: its place, one text or a list, ids with grades, usable or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ctxmetrics.evaluation.files.cell_values import (
    are_comma_ids,
    are_decimals,
    find_fault,
    find_rare_separator,
    is_id_number,
    is_text,
    split_ids,
    without_point,
)
from ctxmetrics.evaluation.files.field_locations import (
    Location,
    find_all_locations,
    find_locations,
    get_first_locations,
    list_paths,
    without_paths,
)
from ctxmetrics.evaluation.files.first_rows import ParsedRows
from ctxmetrics.evaluation.files.graded_ids import (
    GRADED_FIELD,
    are_graded,
    drop_grade,
    read_graded_ids,
)
from ctxmetrics.evaluation.files.row_decisions import Reading
from ctxmetrics.evaluation.files.row_names import list_unknown_names
from ctxmetrics.samples.cells import is_list_text, list_in
from ctxmetrics.samples.documents import ids_of, look_up, whole_number
from ctxmetrics.samples.field_keys import FIELDS, LISTS, RETRIEVED, TEXTS_OF
from ctxmetrics.samples.schema import first_value


def add_forms(
    reading: Reading, parsed_row: Mapping[str, Any], rows: ParsedRows, *, single: bool
) -> Reading:
    """Add to a reading: the place and the form of each field in the first rows, and the names that no schema knows.

    Args:
        reading: The reading.
        parsed_row: The first row.
        rows: The first rows.
        single: Whether a list field may be read from a text, as a list of one, if every row has one text there.
    """
    locations = find_all_locations(reading, parsed_row)
    first_locations = get_first_locations(locations)
    id_paths = [first_locations[name][0] for name in TEXTS_OF if name in first_locations]
    id_cells = _list_id_cells(id_paths, rows) if reading.parses_texts else []
    graded_ids = _find_graded_ids(reading, first_locations, rows)
    ids = _list_ids(id_paths, id_cells, rows)
    if graded_ids:
        ids = [*map(drop_grade, ids), *graded_ids]
    unread_row = without_paths(parsed_row, list_paths(locations))
    names = ("user_input", "response", "reference", *LISTS)
    usable_names = [name for name in names if _has_usable_value(reading, rows, name)]
    has_text_cell = _has_text_cell(reading, rows, "reference")
    return replace(
        reading,
        comma_separates_ids=are_comma_ids(id_cells),
        ids_read_as_floats=are_decimals(ids),
        id_separator=find_rare_separator(id_cells) if id_cells else None,
        ids_have_grades=bool(graded_ids),
        absent=frozenset(FIELDS) - first_locations.keys() if parsed_row else None,
        single_text_fields=_find_single_texts(first_locations) if single else frozenset(),
        mapping=_map_columns(reading, parsed_row, first_locations),
        unknown_names=tuple(list_unknown_names(reading, unread_row)),
        fields_with_usable_values=frozenset(usable_names),
        fields_with_text_cells=frozenset(("reference",)) if has_text_cell else frozenset(),
    )


def _map_columns(
    reading: Reading, parsed_row: Mapping[str, Any], first_locations: Mapping[str, Location]
) -> dict[str, str]:
    """Map each field to the column of the file in which it stands."""
    mapping: dict[str, str] = {}
    for name, (path, _) in first_locations.items():
        head = path.partition(".")[0]
        # If the schema expects an object and the cell is a text, the cell itself is the value of the field.
        column = reading.original(head if isinstance(parsed_row.get(head), str) else path)
        if column:
            mapping[name] = column
    return mapping


def _find_single_texts(first_locations: Mapping[str, Location]) -> frozenset[str]:
    """Find the list fields that hold one text, or one id."""
    names: set[str] = set()
    for name in LISTS & first_locations.keys():
        _, value = first_locations[name]
        is_single_text = isinstance(value, str) and not is_list_text(value)
        is_single_id = name in TEXTS_OF and is_id_number(value)
        if is_single_text or is_single_id:
            names.add(name)
    return frozenset(names)


def _list_ids(id_paths: Sequence[str], id_cells: Sequence[str], rows: ParsedRows) -> list[str]:
    """List the ids that the first rows have as text: in cells with several ids, and in lists."""
    ids: list[str] = []
    for cell in id_cells:
        ids += [id_.strip() for id_ in split_ids(cell) or [cell]]
    for _, row in rows:
        for path in id_paths:
            items = list_in(look_up(row, path)) or ()
            ids += [item.strip() for item in items if isinstance(item, str)]
    return ids


def _list_id_cells(paths: Sequence[str], rows: ParsedRows) -> list[str]:
    """List the cells of ids in the first rows, without cells that hold a list. A number is converted to a text."""
    cells: list[str] = []
    if not paths:
        return cells
    for _, parsed_row in rows:
        for path in paths:
            value = look_up(parsed_row, path)
            if is_id_number(value):
                cells.append(str(whole_number(value)))
            elif isinstance(value, str) and value.strip() and not is_list_text(value):
                cells.append(value)
    return cells


def _find_graded_ids(
    reading: Reading, first_locations: Mapping[str, tuple[str, Any]], rows: ParsedRows
) -> list[str]:
    """Find the expected ids of the first rows if a grade follows each of them in its text; see `are_graded`. Otherwise return no id."""
    if GRADED_FIELD not in first_locations:
        return []
    path, _ = first_locations[GRADED_FIELD]
    values: list[Any] = []
    graded_ids: list[str] = []
    for _, row in rows:
        value = look_up(row, path)
        if not (isinstance(value, (str, list)) and value):
            continue
        graded = read_graded_ids(value)
        if graded is None:  # the usual case
            return []
        values.append(value)
        graded_ids += [item["id"] for item in graded]
    if not values:
        return []
    retrieved_ids: set[str] = set()
    for _, row in rows:
        for name in RETRIEVED:
            cell = first_value(find_locations(reading, row, name))
            items = list_in(cell) or []
            if isinstance(cell, str):
                items = split_ids(cell) or [cell]
            ids = items if name in TEXTS_OF else ids_of(items, reading.schema.id_keys) or []
            retrieved_ids.update(str(id_).strip() for id_ in ids)
    # Pandas writes the same number in both ways: 3 in one column, 3.0 in another.
    numbers = [id_ for id_ in map(without_point, retrieved_ids) if id_.isdecimal()]
    for number in numbers:
        retrieved_ids |= {number, f"{number}.0"}
    return graded_ids if are_graded(values, retrieved_ids) else []


def _has_usable_value(reading: Reading, rows: ParsedRows, name: str) -> bool:
    """Tell whether one of the first rows has a value that a field can use."""
    for _, parsed_row in rows:
        for _, value in find_locations(reading, parsed_row, name):
            if value and not find_fault(value, name):
                return True
    return False


def _has_text_cell(reading: Reading, rows: ParsedRows, name: str) -> bool:
    """Tell whether a field of one of the first rows is a text that holds no list."""
    for raw_row, parsed_row in rows:
        for path, value in find_locations(reading, parsed_row, name):
            if isinstance(raw_row.get(path), str) and is_text(raw_row[path], value, name):
                return True
            if isinstance(value, str):
                return True
    return False
