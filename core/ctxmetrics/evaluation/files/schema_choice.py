"""Chooses the schema that fits the first rows best, and finds the fields of the columns that this schema does not know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from ctxmetrics.evaluation.files.cell_values import are_sources, find_fault
from ctxmetrics.evaluation.files.field_locations import (
    find_all_locations,
    get_first_locations,
    parse_cells,
    without_paths,
)
from ctxmetrics.evaluation.files.formats import (
    ALL_SCHEMAS,
    NAMES_OF_NOT_RETRIEVED,
    find_store_answers,
    has_marks,
    texts_beside_ids,
    unwrap_inner_list,
)
from ctxmetrics.evaluation.files.graded_ids import GRADED_FIELD, holds_numbers_by_id
from ctxmetrics.evaluation.files.header_keys import find_fields_by_name
from ctxmetrics.evaluation.files.headers import find_numbered_columns, find_plain_field
from ctxmetrics.evaluation.files.row_decisions import Reading
from ctxmetrics.evaluation.files.services import find_reply
from ctxmetrics.evaluation.files.unread_lists import are_passages, is_passage
from ctxmetrics.samples.cells import list_in
from ctxmetrics.samples.documents import look_up, text_of
from ctxmetrics.samples.field_keys import OPTIONS, RETRIEVED, TEXTS, TEXTS_OF
from ctxmetrics.samples.schema import first_keys
from ctxmetrics.samples.systems import fields_meant

# The schema with the names of the fields themselves.
_OWN_SCHEMA = "ragas"
# Names that mean a field only beside other names of the same system.
_NAMES_NEVER_ALONE = frozenset({"value", "context"})
# Names that are too general to be a second column for a field.
_GENERAL_NAMES = frozenset({"data", "prompt"})
# The fields that hold the retrieved items.
_RETRIEVED_FIELDS = frozenset({*RETRIEVED, "stages", "searches"})
# The maximum depth at which lists of texts are searched in a row.
_MAX_DEPTH = 5


class _SchemaFit(NamedTuple):
    """How well a schema fits the first rows.

    Attributes:
        score: The number of fields that it finds, whether the rows have its marks, and minus the number of columns that it
            does not read. The highest score fits best.
        reading: The reading with the schema.
        paths: The path of each field that a metric can use.
        rest: The columns that it does not read.
    """

    score: tuple[int, bool, int]
    reading: Reading
    paths: dict[str, str]
    rest: dict[str, Any]


# For each field that two columns may hold, the possible ``COLUMN=FIELD``.
Unsure = tuple[tuple[str, ...], ...]


def choose_schema(reading: Reading, row: Mapping[str, Any]) -> tuple[Reading, Unsure]:
    """Choose the schema that fits best, and find the columns that other schemas know.

    Returns:
        The reading with both, and what two columns may hold.
    """
    _, parsed_row = parse_cells(reading, row)
    fits = _list_fits(reading, parsed_row)
    highest_score = max(fit.score for fit in fits)
    best_fit, *equal_fits = [fit for fit in fits if fit.score == highest_score]
    fields = {path: field for field, path in best_fit.paths.items()}
    # The options among which the user must choose: ``COLUMN=FIELD`` for each possible field.
    unsure: list[tuple[str, ...]] = []
    for fit in equal_fits:
        for field, path in fit.paths.items():
            has_other_meaning = fields.get(path, field) != field
            # Several fields are read from messages.
            is_messages = path == best_fit.paths.get("searches")
            if has_other_meaning and not is_messages:
                column = reading.original(path)
                unsure.append((f"{column}={fields[path]}", f"{column}={field}"))
    columns = _add_columns(best_fit, parsed_row, unsure)
    if not _RETRIEVED_FIELDS.intersection({*best_fit.paths, *columns.values()}):
        columns |= find_numbered_columns(
            best_fit.rest,
            columns,
            has_expected_ids=GRADED_FIELD in best_fit.paths or GRADED_FIELD in columns.values(),
        )
    if not unsure:
        answer_columns = _find_answer_columns(best_fit, columns, parsed_row)
        for column, field in list(columns.items()):
            is_mapped_by_user = column in best_fit.reading.columns
            if field in answer_columns.values() and not is_mapped_by_user:
                del columns[column]
        columns |= answer_columns
    return replace(best_fit.reading, columns=columns), tuple(unsure)


def _list_fits(reading: Reading, parsed_row: Mapping[str, Any]) -> list[_SchemaFit]:
    """List how well each schema fits that may fit the first rows better than our own."""
    row_keys = first_keys(parsed_row)
    fits: list[_SchemaFit] = []
    for name, schema in ALL_SCHEMAS.items():
        # Our own schema reads each row. Another schema is tried if the row has a key that only that schema has.
        if name != _OWN_SCHEMA and schema.distinct_keys.isdisjoint(row_keys):
            continue
        fit = _try_schema(replace(reading, name=name), parsed_row)
        if fit is not None:
            fits.append(fit)
    return fits


def _find_answer_columns(
    fit: _SchemaFit, columns: Mapping[str, str], parsed_row: Mapping[str, Any]
) -> dict[str, str]:
    """Find the columns with the answer of a store or search engine, if no other column holds the retrieved items."""
    paths = {**fit.paths, **{field: column for column, field in columns.items()}}
    if paths.keys() & {"retrieved_context_ids", "stages", "searches"}:
        return {}
    path = paths.pop("retrieved_contexts", None)
    if path is not None and (path in fit.reading.columns or _path_holds_texts(parsed_row, path)):
        return texts_beside_ids(parsed_row, path)
    reply = find_reply(parsed_row)
    # The schema may read the same texts as what is expected: the gold contexts of a test set.
    is_expected = paths.get("reference_contexts") in reply
    if reply and not is_expected:
        return {path: field for path, field in reply.items() if field not in paths}
    if path is not None:
        return {}
    other_columns = without_paths(parsed_row, {*paths.values(), *columns})
    field_by_path: dict[str, str] = {}
    for path_of_answer, field in find_store_answers(other_columns, _MAX_DEPTH).items():
        if NAMES_OF_NOT_RETRIEVED.search(path_of_answer):
            continue
        if field in field_by_path.values():  # two paths hold this field: which one counts is not known
            return {}
        field_by_path[path_of_answer] = field
    return field_by_path


def _path_holds_texts(row: Mapping[str, Any], path: str) -> bool:
    """Tell whether the value at a path is a text, or a list of texts or documents."""
    value = look_up(row, path)
    return isinstance(value, str) or not find_fault(unwrap_inner_list(value), "retrieved_contexts")


def _try_schema(reading: Reading, parsed_row: Mapping[str, Any]) -> _SchemaFit | None:
    """Measure how well the schema of a reading fits the first rows. Return None if it does not fit."""
    if not has_marks(reading.schema, parsed_row):
        return None
    first_locations = get_first_locations(find_all_locations(reading, parsed_row))
    paths: dict[str, str] = {}
    for name, (path, value) in first_locations.items():
        if name in OPTIONS and _may_hold(name, value):
            paths[name] = path
    sides = reading.schema.sides
    if sides and sides.isdisjoint(first_keys(parsed_row)):
        return None
    names_of_schema = [path for name, path in paths.items() if path != name]
    if names_of_schema == ["context"]:  # this name has another meaning in other systems
        return None
    # A second column for a field counts as a column that is not read.
    rest = without_paths(parsed_row, {path for path, _ in first_locations.values()})
    return _SchemaFit((len(paths), bool(reading.schema.marks), -len(rest)), reading, paths, rest)


def _may_hold(field: str, value: Any) -> bool:
    """Tell whether a field may hold a value.

    An object is possible only if it holds grades by id. A list is possible unless the field is a single text. The reference
    is a single text that may also be a list.
    """
    is_object = hasattr(value, "items")
    if field == GRADED_FIELD and holds_numbers_by_id(value):
        return True
    may_be_list = field not in TEXTS or field == "reference"
    return isinstance(value, str) or (may_be_list and not is_object)


def _add_columns(
    fit: _SchemaFit, parsed_row: Mapping[str, Any], ambiguous_columns: list[tuple[str, ...]]
) -> dict[str, str]:
    """Return the mapped columns of a reading and their fields, with further columns whose names other schemas know.

    Args:
        fit: The schema that fits best.
        parsed_row: The first rows as one.
        ambiguous_columns: A list to append to: pairs of ``COLUMN=FIELD``, for two columns that may hold the same field.
    """
    mapped = fit.reading.columns
    columns = dict(mapped)
    path_by_field = {**fit.paths, **{field: column for column, field in mapped.items()}}
    for key, value in fit.rest.items():
        if key in mapped or key in _NAMES_NEVER_ALONE:
            continue
        fields = _find_meanings(fit.reading.original(key), key, value, parsed_row)
        # The fields that are not found yet. An object under the name of a text, such as {"response": {"hits": ..}}, is the
        # answer of a store, and not this text. For an object under the name of a list, a later check raises an error that says
        # what is wrong.
        free_fields = [
            field
            for field in fields - path_by_field.keys()
            if field not in TEXTS or _may_hold(field, value)
        ]
        has_one_meaning = len(fields) == 1
        if has_one_meaning and free_fields:
            (field,) = free_fields
            columns[key] = field
            path_by_field[field] = key
        elif key not in _GENERAL_NAMES:
            for field in sorted(fields & path_by_field.keys()):
                is_mapped = field in mapped.values()
                read_value = look_up(parsed_row, path_by_field[field])
                if not is_mapped and _is_second_value(field, value, read_value):
                    # The two --map options of which the user must choose one.
                    read_column = fit.reading.original(path_by_field[field])
                    second_column = fit.reading.original(key)
                    ambiguous_columns.append((f"{read_column}={field}", f"{second_column}={field}"))
    return columns


def _find_meanings(column: str, key: str, value: Any, parsed_row: Mapping[str, Any]) -> frozenset[str]:
    """Find the fields that a column may hold: by its key in any schema, else by the plain words of its header.

    A list of objects without texts holds the sources of an answer, and no field. A column of ids may hold such a list.
    """
    fields = find_fields_by_name(key)
    for ids, texts in TEXTS_OF.items():
        if {ids, texts} <= fields:
            wrong_field = ids if _hold_texts(value, parsed_row) else texts
            fields -= {wrong_field}
    plain = find_plain_field(column, value)
    if plain is not None and not fields:
        fields = frozenset({plain})
    may_hold_ids = fields <= TEXTS_OF.keys()
    if are_sources(value) and not may_hold_ids:
        return frozenset()
    return fields


def texts_under_ids(reading: Reading, row: Mapping[str, Any]) -> dict[str, str]:
    """Find columns that hold texts although the schema reads their name as a name of ids.

    In other systems such a name means texts: ``retrieved_documents``.
    """
    columns: dict[str, str] = {}
    for ids, texts in TEXTS_OF.items():
        for key in reading.schema.flat_keys[ids]:
            if key == ids or key in reading.columns:
                continue
            value = row.get(key)
            if value and texts in fields_meant(key) and _hold_texts(value, row):
                columns[key] = texts
    return columns


def _hold_texts(value: Any, row: Mapping[str, Any]) -> bool:
    """Tell whether the values under a name of ids are texts: documents with a text, or strings of several words.

    Strings of several words are ids if the expected ids are such strings too.
    """
    items = _list_items(value)
    if not items or not all(isinstance(text_of(item), str) for item in items):
        return False
    if not any(isinstance(item, str) for item in items):
        return True  # documents
    if not all(map(is_passage, items)):
        return False
    expected_ids: list[Any] = []
    for key, cell in row.items():
        if "reference_context_ids" in fields_meant(str(key)):
            expected_ids += _list_items(cell)
    return not any(isinstance(id_, str) and is_passage(id_) for id_ in expected_ids)


def _list_items(value: Any) -> list[Any]:
    """Return the items of a list. A text without a list is the only item; any other value has no items."""
    return list_in(value) or ([value] if isinstance(value, str) else [])


def _is_second_value(field: str, value: Any, read_value: Any) -> bool:
    """Tell whether a field may hold a value that differs from the value that is read for the field."""
    if value == read_value:
        return False
    if isinstance(value, str) or isinstance(read_value, str):
        return isinstance(value, str) and isinstance(read_value, str)
    return isinstance(value, list) and are_passages(value) == (field not in TEXTS_OF)
