"""How the rows of a source are read, decided once from its first rows."""

from __future__ import annotations

import logging
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from ctxmetrics._internal.near_names import suggest
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.files.cell_values import (
    are_comma_ids,
    are_decimals,
    are_sources,
    find_fault,
    is_id_number,
    is_text,
    split_ids,
)
from ctxmetrics.evaluation.files.formats import (
    ALL_SCHEMAS,
    FORMATS,
    NOT_RETRIEVED,
    SEARCHES,
    find_store_answers,
    has_marks,
    texts_beside_ids,
    unwrap_inner_list,
)
from ctxmetrics.evaluation.files.headers import (
    find_numbered_columns,
    find_plain_field,
    foreign_keys,
    strip_header,
)
from ctxmetrics.evaluation.files.hit_order import Order
from ctxmetrics.evaluation.files.passage_lists import (
    COMPARED,
    Record,
    explain_refusal,
    find_data_header,
    find_joined_lists,
    list_texts,
    to_record,
)
from ctxmetrics.evaluation.files.row_plan import Plan
from ctxmetrics.evaluation.files.row_reading import Reading, list_paths, without_paths
from ctxmetrics.evaluation.files.services import find_reply
from ctxmetrics.evaluation.files.several_runs import (
    RetrievalRow,
    explain_setting,
    find_setting,
    to_retrieval,
)
from ctxmetrics.samples.cells import is_list_text, list_in, read_cells
from ctxmetrics.samples.documents import (
    are_messages,
    as_list,
    is_missing,
    join_parts,
    leaves,
    look_up,
    text_of,
    whole_number,
)
from ctxmetrics.samples.field_names import (
    fields_meant,
    find_misspelt,
    is_ambiguous,
    normalized_key,
    suggest_field,
)
from ctxmetrics.samples.schema import (
    FIELDS,
    LISTS,
    OPTIONS,
    RETRIEVED,
    TEXTS,
    TEXTS_OF,
    first_keys,
    first_value,
    join_first,
)
from ctxmetrics.samples.systems import SCHEMAS

# The value of the option ``schema`` with which the schema is recognised from the rows.
AUTO = "auto"
# How many of the first rows decide how all rows of a stream are read.
LOOKAHEAD_ROWS = 100
# Names that mean a field only beside other names of the same system.
_NEVER_ALONE = frozenset({"value", "context"})
# Names that are too general to be a second column for a field.
_GENERAL_NAMES = frozenset({"data", "prompt"})
# Names of a question.
_QUESTION_NAMES = re.compile(
    "question|quer(?:y|ies)|prompt|input_?record|user_?input|instruction|histor", re.IGNORECASE
)
# Names of lists of the parts of an answer.
_ANSWER_NAMES = re.compile(
    r"(?:response|output|repl(?:y|ies)|completion|message|content|parts|summary|generations?)(?:\[\w*\])?$",
    re.IGNORECASE,
)
# Fields in which each row has what was retrieved for its question.
_PER_QUESTION_FIELDS = frozenset({*RETRIEVED, "searches"})
# Fields that say what was retrieved.
_RETRIEVED_FIELDS = frozenset({*RETRIEVED, "stages", "searches"})
# How many levels deep lists of texts are looked for in a row.
_DEPTH = 5
# The names of texts in all schemas.
TEXT_NAMES: frozenset[str] = frozenset(
    key for schema in SCHEMAS.values() for name in TEXTS - {"id"} for key in schema.flat_keys[name]
)
# Every key of every schema; and by the letters of a key alone, the first such key.
_ALL_KEYS: tuple[str, ...] = tuple(
    key for schema in SCHEMAS.values() for key in sorted(schema.known_keys)
)
_KEYS_BY_LETTERS: Mapping[str, str] = {normalized_key(key): key for key in reversed(_ALL_KEYS)}


def _known_key(name: str) -> str | None:
    """Find the key of a schema that a header stands for, with other case or separators or in another language."""
    for header in (name, strip_header(name)):
        letters = normalized_key(header)
        key = _KEYS_BY_LETTERS.get(letters) or foreign_keys().get(letters)
        if key is not None:
            return key
    return None


def count_known(names: Iterable[str]) -> int:
    """Count the names that are headers in some system, in plain words or in another language."""
    return sum(1 for name in names if _known_key(name) or find_plain_field(name, ""))


def plan_single_row(row: Mapping[str, Any], schema: str = "ragas", order: Order | None = None) -> Plan:
    """Decide how a single row is read.

    Args:
        row: The row.
        schema: The system whose names the keys are: one of `SCHEMAS`, or ``"auto"``. Our own names are understood in each.
        order: What decides the order of what was retrieved.

    Raises:
        ParameterError: No such schema.
    """
    if schema == AUTO:
        return recognise([row], parses_texts=False, order=order)
    plan = _plan_schema(schema, order)
    columns = _texts_under_ids(plan.reading, row) if hasattr(row, "items") else {}
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

    With ``"auto"``, the schema that finds the most fields in the rows is taken, the first of `SCHEMAS` where several do.
    Names count without case and separators then, and a column that this schema does not know is taken for the field
    that it is in every other schema that knows it.

    Args:
        rows: The rows, or the first of them.
        schema: One of `SCHEMAS`, or ``"auto"``.
        columns: Which column or path holds which field, where no schema is right.
        parses_texts: Whether lists and objects may stand as text, as files have them.
        single: Whether one text may stand for a list of one, if every row has it so.
        source: What the log calls the rows, such as their file; None logs nothing.
        grouped: Whether rows of one question become one sample.
        headed: Whether the names of the columns are names, although they look like data.
        split: What separates the passages of a retrieved text.
        order: What decides the order of what was retrieved.
        several: Whether a question may have several retrievals.

    Raises:
        ParameterError: There is no such schema, field or column.
        SampleError: A key stands twice in one object that is JSON in a text.
    """
    mapped = dict(columns or {})
    objects = [row for row in rows if hasattr(row, "items")]
    merged_row = _merge_rows(objects)
    name = "ragas" if schema == AUTO else schema
    reading = Reading(name=name, columns=mapped, parses_texts=parses_texts, split=split, order=order)
    _check_columns(mapped, merged_row)
    if schema == AUTO and merged_row:
        reading = replace(reading, renamed=_find_renamed_keys(merged_row, mapped))
        reading = _choose_schema(reading, merged_row)
    _, parsed_row = reading.parse_cells(merged_row)
    reading = replace(reading, columns={**_texts_under_ids(reading, parsed_row), **reading.columns})
    first_rows = objects[:LOOKAHEAD_ROWS]
    parsed_rows = _ParsedRows(reading, first_rows)
    reading = _add_locations(reading, parsed_row, parsed_rows, single=single)
    data_column = _find_data_column(merged_row)
    if data_column is not None and not headed:
        no_header = (
            f"the first line is no header, it looks like data ({data_column[:60]!r}). Write --no-header or --names A,B (in Python "
            "header=False or header=[..]); if it is one, --header (header=True)."
        )
        return Plan(replace(reading, refusal=no_header))
    if not grouped and not reading.unsure and reading.mapping.keys() & _PER_QUESTION_FIELDS:
        reading = _check_passages(reading, first_rows, parsed_rows, several=several)
    if source:
        for note in _describe_reading(reading, parsed_row):
            logging.getLogger("ctxmetrics").warning("%s: %s", source, note)
    return Plan(reading)


def _check_passages(
    reading: Reading, rows: Sequence[Mapping[str, Any]], parsed_rows: _ParsedRows, *, several: bool
) -> Reading:
    """Return the reading with why the rows are no samples, and with the lists that hold several passages in one text.

    Args:
        reading: The reading so far.
        rows: The first rows.
        parsed_rows: The same rows with parsed cells.
        several: Whether a question may have several retrievals.
    """
    records = [_read_record(reading, row) for _, row in parsed_rows]
    refusal = None if several else _explain_setting(reading, rows, records)
    if reading.mapping.keys() & RETRIEVED:
        refusal = refusal or explain_refusal(records, reading.mapping)
    lists: list[tuple[list[Any], list[Any]]] = []
    for (_, row), record in zip(parsed_rows, records, strict=True):
        retrieved = record.retrieved
        if retrieved is None:
            retrieved = _texts_of_searches(reading, row)
        lists.append((list_texts(retrieved), list_texts(record.expected)))
    joined = {} if reading.split else find_joined_lists(lists)
    for field in reading.schema.joined:  # the schema says where these are split
        joined.pop(field, None)
    return replace(reading, refusal=refusal, joined=joined)


class _ParsedRows:
    """The first rows as `Reading.parse_cells` returns them; each is parsed once, when it is looked at."""

    def __init__(self, reading: Reading, rows: Sequence[Mapping[str, Any]]) -> None:
        self._reading = reading
        self._rows = rows
        self._parsed: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def __iter__(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        for place, row in enumerate(self._rows):
            if place == len(self._parsed):
                self._parsed.append(self._reading.parse_cells(row))
            yield self._parsed[place]


def _add_locations(
    reading: Reading, parsed_row: Mapping[str, Any], rows: _ParsedRows, *, single: bool
) -> Reading:
    """Return the reading with the location of each field in the first rows, and with what is no field.

    Args:
        reading: The reading.
        parsed_row: The first row.
        rows: The first rows.
        single: Whether one text may stand for a list of one, if every row has it so.
    """
    locations = reading.find_all_locations(parsed_row)
    first_locations = _first_locations(locations)
    mapping: dict[str, str] = {}
    for name, (path, _) in first_locations.items():
        head = path.partition(".")[0]
        # Where the schema expects an object and the cell is a text, the cell is the field.
        column = reading.original(head if isinstance(parsed_row.get(head), str) else path)
        if column:
            mapping[name] = column
    single_texts: set[str] = set()
    if single:
        for name in LISTS & first_locations.keys():
            value = first_locations[name][1]
            is_single_text = isinstance(value, str) and not is_list_text(value)
            is_single_id = name in TEXTS_OF and is_id_number(value)
            if is_single_text or is_single_id:
                single_texts.add(name)
    names = ("user_input", "response", "reference", *LISTS)
    paths = [first_locations[name][0] for name in TEXTS_OF if name in first_locations]
    cells = _list_id_cells(paths, rows) if reading.parses_texts else []
    ids: list[str] = []
    for cell in cells:
        ids += [id_.strip() for id_ in split_ids(cell) or [cell]]
    for _, row in rows if paths else ():
        for path in paths:
            items = list_in(look_up(row, path)) or ()
            ids += [item.strip() for item in items if isinstance(item, str)]
    return replace(
        reading,
        comma_ids=are_comma_ids(cells),
        decimal_ids=are_decimals(ids),
        absent=frozenset(FIELDS) - first_locations.keys() if parsed_row else None,
        single=frozenset(single_texts),
        mapping=mapping,
        unknown_names=tuple(
            reading.list_unknown_names(without_paths(parsed_row, list_paths(locations)))
        ),
        usable=frozenset(name for name in names if _has_usable(reading, rows, name)),
        literal=frozenset({"reference"} if _has_literal(reading, rows, "reference") else ()),
        unread=_find_unread_passages(reading, parsed_row, first_locations),
    )


def _list_id_cells(paths: Sequence[str], rows: _ParsedRows) -> list[str]:
    """List, as texts, the cells of ids in the first rows that hold no list: a number is converted to a text."""
    cells: list[str] = []
    for _, parsed_row in rows if paths else ():
        for path in paths:
            value = look_up(parsed_row, path)
            if is_id_number(value):
                cells.append(str(whole_number(value)))
            elif isinstance(value, str) and value.strip() and not is_list_text(value):
                cells.append(value)
    return cells


def _first_locations(locations: Mapping[str, list[tuple[str, Any]]]) -> dict[str, tuple[str, Any]]:
    """Return the first location of each field that has one."""
    return {name: items[0] for name, items in locations.items() if items}


def _find_unread_passages(
    reading: Reading, parsed_row: Mapping[str, Any], first_locations: Mapping[str, tuple[str, Any]]
) -> tuple[str, ...]:
    """Return the paths of lists of passages that are read as no field, and may be what was retrieved."""
    read_paths = set(reading.columns)
    for name in OPTIONS:
        if name in first_locations:
            read_paths.add(first_locations[name][0])
    paths: list[str] = []
    for path, value in leaves(without_paths(parsed_row, read_paths), _DEPTH):
        if _are_passages(value):
            paths.append(path)
        else:
            paths += _find_inner_passages(path, value)
    texts_of_row = {
        value
        for name, (_, value) in first_locations.items()
        if name in TEXTS and isinstance(value, str)
    }
    return tuple(
        path for path in paths if _may_be_retrieved(path, look_up(parsed_row, path), texts_of_row)
    )


def _find_inner_passages(path: str, value: Any) -> list[str]:
    """Return the paths of passages in the items of a list: in objects that are no documents, or in rows of a database."""
    items = list_in(value) or [None]
    first_item = items[0]
    if isinstance(first_item, list):
        cells = [(f"[{place}]", cell) for place, cell in enumerate(first_item)]
    elif hasattr(first_item, "items") and not are_messages(items):
        cells = [(f".{key}", cell) for key, cell in leaves(first_item, _DEPTH)]
    else:
        return []
    paths: list[str] = []
    for key, cell in cells:
        if SEARCHES.search(path) and _is_passage(cell):
            paths.append(f"{path}[]{key}")
        elif hasattr(first_item, "items") and _are_passages(cell):
            paths.append(f"{path}[]{key}[]")
    return paths


def _may_be_retrieved(path: str, value: Any, texts_of_row: set[str]) -> bool:
    """Whether the value at a path may be what was retrieved: no question, no answer, and nothing that is expected.

    Args:
        path: The path.
        value: The value.
        texts_of_row: The question, the answers and the reference of the row.
    """
    if NOT_RETRIEVED.search(path) or _QUESTION_NAMES.search(path):
        return False
    if _ANSWER_NAMES.search(path) and join_parts(value) is not None:
        return False
    texts = set(map(text_of, as_list(value) or ()))
    return not texts <= texts_of_row


def _find_data_column(row: Mapping[str, Any]) -> str | None:
    """Return the name of a column that looks like data, if no schema knows any of the names."""
    return None if count_known(map(str, row)) else find_data_header(row)


def _has_usable(reading: Reading, rows: _ParsedRows, name: str) -> bool:
    """Whether one of the first rows has a value that a field can use."""
    for _, parsed_row in rows:
        for _, value in reading.find_locations(parsed_row, name):
            if value and not find_fault(value, name):
                return True
    return False


def _has_literal(reading: Reading, rows: _ParsedRows, name: str) -> bool:
    """Whether a field of one of the first rows is a text that holds no list."""
    for raw_row, parsed_row in rows:
        for path, value in reading.find_locations(parsed_row, name):
            if isinstance(raw_row.get(path), str) and is_text(raw_row[path], value, name):
                return True
            if isinstance(value, str):
                return True
    return False


def _read_record(reading: Reading, parsed_row: Mapping[str, Any]) -> Record:
    """Read the values by which a row is compared with the other rows of its question."""
    return to_record(first_value(reading.find_locations(parsed_row, name)) for name in COMPARED)


def _texts_of_searches(reading: Reading, parsed_row: Mapping[str, Any]) -> list[Any]:
    """Return the texts that the searches of a row found."""
    searches = first_value(reading.find_locations(parsed_row, "searches"))
    texts: list[Any] = []
    for search in searches if isinstance(searches, list) else ():
        if hasattr(search, "items"):
            texts += list_texts(search.get("contexts"))
    return texts


def _explain_setting(
    reading: Reading, rows: Sequence[Mapping[str, Any]], records: Sequence[Record]
) -> str | None:
    """Explain which column makes the rows several retrievals of one question; None if no column does."""
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


def _merge_rows(rows: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge rows into one with the first value of each key; a list is preferred to a text, and objects are merged.

    Under a name that means a text, a list is preferred only if more rows have a list there than a text.
    """
    text_counts: Counter[str] = Counter()
    other_counts: Counter[str] = Counter()
    for row in rows:
        for key, value in row.items():
            if key in TEXT_NAMES:
                counts = text_counts if isinstance(value, str) else other_counts
                counts[str(key)] += 1
    text_keys = {key for key in text_counts if text_counts[key] >= other_counts[key]}
    merged: dict[str, Any] = {}
    for row in rows:
        for name, value in row.items():
            key = str(name)
            before: Any = merged.get(key)
            if hasattr(before, "items") and hasattr(value, "items"):
                merged[key] = _merge_objects(before, value)
            elif _tells_more(value, before, prefers_text=key in text_keys):
                merged[key] = value
    return merged


def _merge_objects(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two objects: the values of the first, and those of the second for keys that are empty in the first."""
    merged = dict(second)
    for key, value in first.items():
        other: Any = second.get(key)
        if hasattr(value, "items") and hasattr(other, "items"):
            merged[key] = _merge_objects(value, other)
        elif not _is_empty(value):
            merged[key] = value
    return merged


def _tells_more(value: Any, before: Any, *, prefers_text: bool) -> bool:
    """Whether a value tells more about its column than the value before."""
    if is_missing(value):
        return False
    if isinstance(value, list) and isinstance(before, list) and before:
        return False
    if _is_empty(before):
        return True
    value_is_text = isinstance(value, str)
    if value_is_text != isinstance(before, str) and value_is_text == prefers_text:
        return True
    return is_list_text(value) and not is_list_text(before)


def _is_empty(value: Any) -> bool:
    """Whether a value is missing, or an empty list."""
    return is_missing(value) or (isinstance(value, list) and not value)


def _find_renamed_keys(row: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, str]:
    """Return the schema's key for each column whose name is written in another way, such as ``Ground Truth``.

    A column that the caller maps keeps its name. So does a column of a known format, if the row has the marks of the format.
    """
    kept_names = first_keys(columns)
    for schema in FORMATS.values():
        if has_marks(schema, row):
            kept_names |= schema.known_keys
    columns_by_key: dict[str, str] = {}
    for column in row:
        if "." in column or column in _ALL_KEYS or column in kept_names:
            continue
        key = _known_key(column)
        if key is not None and key not in row:
            columns_by_key.setdefault(key, column)  # the first of several columns
    return {column: key for key, column in columns_by_key.items()}


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


def _choose_schema(reading: Reading, row: Mapping[str, Any]) -> Reading:
    """Return the reading with the schema that fits best, and with the columns that other schemas know."""
    _, parsed_row = reading.parse_cells(row)
    fits: list[_SchemaFit] = []
    for name in ALL_SCHEMAS:
        fit = _try_schema(replace(reading, name=name), parsed_row)
        if fit is not None:
            fits.append(fit)
    highest_score = max(fit.score for fit in fits)
    best_fit, *equal_fits = [fit for fit in fits if fit.score == highest_score]
    fields = {path: field for field, path in best_fit.paths.items()}
    unsure: list[tuple[str, ...]] = []
    for fit in equal_fits:
        for field, path in fit.paths.items():
            has_other_meaning = fields.get(path, field) != field
            is_messages = path == best_fit.paths.get(
                "searches"
            )  # several fields are read from messages
            if has_other_meaning and not is_messages:
                column = reading.original(path)
                unsure.append((f"{column}={fields[path]}", f"{column}={field}"))
    columns = _add_columns(best_fit, parsed_row, unsure)
    if not _RETRIEVED_FIELDS.intersection({*best_fit.paths, *columns.values()}):
        columns |= find_numbered_columns(best_fit.rest, columns)
    if not unsure:
        answer_columns = _find_answer_columns(best_fit, columns, parsed_row)
        mapped = best_fit.reading.columns
        columns = {
            column: field
            for column, field in columns.items()
            if column in mapped or field not in answer_columns.values()
        }
        columns |= answer_columns
    return replace(best_fit.reading, columns=columns, unsure=tuple(unsure))


def _find_answer_columns(
    fit: _SchemaFit, columns: Mapping[str, str], parsed_row: Mapping[str, Any]
) -> dict[str, str]:
    """Find the columns with the answer of a store or search engine, if no other column holds what was retrieved."""
    paths = {**fit.paths, **{field: column for column, field in columns.items()}}
    if paths.keys() & {"retrieved_context_ids", "stages", "searches"}:
        return {}
    path = paths.pop("retrieved_contexts", None)
    if path is not None and (path in fit.reading.columns or _path_holds_texts(parsed_row, path)):
        return texts_beside_ids(parsed_row, path)
    reply = find_reply(parsed_row)
    if reply:
        return {path: field for path, field in reply.items() if field not in paths}
    if path is not None:
        return {}
    rest = without_paths(parsed_row, {*paths.values(), *columns})
    answers = find_store_answers(rest, _DEPTH)
    answers = {path: field for path, field in answers.items() if not NOT_RETRIEVED.search(path)}
    fields = [*answers.values()]
    return answers if len(fields) == len({*fields}) else {}


def _path_holds_texts(row: Mapping[str, Any], path: str) -> bool:
    """Whether texts or documents stand at a path."""
    value = look_up(row, path)
    return isinstance(value, str) or not find_fault(unwrap_inner_list(value), "retrieved_contexts")


def _try_schema(reading: Reading, parsed_row: Mapping[str, Any]) -> _SchemaFit | None:
    """Measure how well the schema of a reading fits the first rows; None if it does not fit."""
    if not has_marks(reading.schema, parsed_row):
        return None
    places = _first_locations(reading.find_all_locations(parsed_row))
    paths: dict[str, str] = {}
    for name, (path, value) in places.items():
        if name in OPTIONS and _may_hold(name, value):
            paths[name] = path
    sides = reading.schema.sides
    if sides and sides.isdisjoint(first_keys(parsed_row)):
        return None
    names_of_schema = [path for name, path in paths.items() if path != name]
    if names_of_schema == ["context"]:  # this name has another meaning in other systems
        return None
    # A second column for a field counts as a column that is not read.
    rest = without_paths(parsed_row, {path for path, _ in places.values()})
    return _SchemaFit((len(paths), bool(reading.schema.marks), -len(rest)), reading, paths, rest)


def _may_hold(field: str, value: Any) -> bool:
    """Whether a value may be a field's: an object is no text and no list, and of the texts only a reference may be a list."""
    may_be_list = field not in TEXTS or field == "reference"
    return isinstance(value, str) or (may_be_list and not hasattr(value, "items"))


def _add_columns(
    fit: _SchemaFit, parsed_row: Mapping[str, Any], unsure: list[tuple[str, ...]]
) -> dict[str, str]:
    """Return the columns of a reading, and the columns that its schema does not read and other schemas know.

    Args:
        fit: The schema that fits best.
        parsed_row: The first rows as one.
        unsure: A list to which the columns are appended of which two may hold one field.
    """
    mapped = fit.reading.columns
    columns = dict(mapped)
    taken = {**fit.paths, **{field: column for column, field in mapped.items()}}
    for key, value in fit.rest.items():
        if key in mapped or key in _NEVER_ALONE or are_sources(value):
            continue
        fields = _fields_called(key)
        for ids, texts in TEXTS_OF.items():
            if {ids, texts} <= fields:
                fields -= {ids if _hold_texts(value, parsed_row) else texts}
        plain = find_plain_field(fit.reading.original(key), value)
        if plain is not None and not fields:
            fields = {plain}
        # An object under the name of a text is an answer of a store; under that of a list, an error says what is wrong.
        free = [
            field for field in fields - taken.keys() if field not in TEXTS or _may_hold(field, value)
        ]
        if len(fields) == len(free) == 1:
            columns[key] = free[0]
            taken[free[0]] = key
        elif key not in _GENERAL_NAMES:
            for field in sorted(fields & taken.keys()):
                is_mapped = field in mapped.values()
                read_value = look_up(parsed_row, taken[field])
                if not is_mapped and _is_second_value(field, value, read_value):
                    original = fit.reading.original
                    unsure.append((f"{original(taken[field])}={field}", f"{original(key)}={field}"))
    return columns


def _texts_under_ids(reading: Reading, row: Mapping[str, Any]) -> dict[str, str]:
    """Find columns with a name of ids that hold texts, and whose name means texts in other systems: ``retrieved_documents``."""
    columns: dict[str, str] = {}
    for ids, texts in TEXTS_OF.items():
        for key in reading.schema.flat_keys[ids]:
            value = row.get(key) if key != ids and key not in reading.columns else None
            if value and texts in fields_meant(key) and _hold_texts(value, row):
                columns[key] = texts
    return columns


def _hold_texts(value: Any, row: Mapping[str, Any]) -> bool:
    """Whether values under a name of ids are texts: documents with a text, or strings of several words.

    If the expected ids are strings of several words too, these are ids.
    """
    items = list_in(value) or ([value] if isinstance(value, str) else [])
    if not items or not all(isinstance(text_of(item), str) for item in items):
        return False
    if not any(isinstance(item, str) for item in items):
        return True  # documents
    if not all(map(_is_passage, items)):
        return False
    expected = [
        list_in(value) or ()
        for key, value in row.items()
        if "reference_context_ids" in fields_meant(str(key))
    ]
    return not any(isinstance(item, str) and _is_passage(item) for ids in expected for item in ids)


def _fields_called(key: str) -> set[str]:
    """Return the fields that have this name in any schema without sides."""
    name = _KEYS_BY_LETTERS.get(normalized_key(key), key)
    fields: set[str] = set()
    for schema in SCHEMAS.values():
        if not schema.sides:
            fields.update(field for field in OPTIONS if name in schema.flat_keys[field])
    return fields


def _is_second_value(field: str, value: Any, read_value: Any) -> bool:
    """Whether a value may be a field's, and differs from the value that is read for the field."""
    if value == read_value:
        return False
    if isinstance(value, str) or isinstance(read_value, str):
        return isinstance(value, str) and isinstance(read_value, str)
    return isinstance(value, list) and _are_passages(value) == (field not in TEXTS_OF)


def _check_columns(columns: Mapping[str, str], row: Mapping[str, Any]) -> None:
    """Check the mapping of the caller; one error names all faults.

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


def _describe_reading(reading: Reading, parsed_row: Mapping[str, Any]) -> Iterable[str]:
    """Yield notes on what was decided, and on which columns become metadata."""
    first_locations = _first_locations(reading.find_all_locations(parsed_row))
    read_columns: list[str] = []
    for name, path in reading.mapping.items():
        columns = [
            reading.original(column) for column, field in reading.columns.items() if field == name
        ]
        if name in OPTIONS and first_locations[name][0] != name:
            read_columns.append(f"{', '.join(columns) or path} -> {name}")
    if read_columns:
        yield f"columns read (schema {reading.name}): {', '.join(read_columns)}"
    for name in sorted(reading.single):
        text = first_locations[name][1]
        separator = reading.schema.separator
        treatment = "read as a list of one"
        if name in TEXTS_OF:
            treatment += ", and several ids in a cell as a list"
        if separator and separator in text:
            treatment = f"split at '{separator}'"
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


def _describe_objects(
    reading: Reading, first_locations: Mapping[str, tuple[str, Any]]
) -> Iterable[str]:
    """Yield notes on objects in the place of a text, with the option that names one of their keys."""
    for name in sorted(TEXTS & first_locations.keys()):
        path, value = first_locations[name]
        if hasattr(value, "items"):
            option = shlex.quote(f"{reading.original(path)}.KEY={name}")
            yield f"an object stands in the place of {name}: if one of its keys is meant, write --map {option}"


def _are_passages(value: Any) -> bool:
    """Whether a value is a list of documents, or of texts of more than a word."""
    items = value if isinstance(value, tuple) else list_in(value) or ()
    return bool(items) and not are_messages(items) and all(_is_passage(item) for item in items)


def _is_passage(item: Any) -> bool:
    """Whether an item has a text of several words, or a text in another script."""
    text = text_of(item)
    return isinstance(text, str) and (" " in text.strip() or not text.isascii())
