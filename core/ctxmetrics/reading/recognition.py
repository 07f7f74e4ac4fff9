"""How the rows of a source are read, decided once from its first rows."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, NamedTuple

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.errors import ParameterError
from ctxmetrics.reading.cells import is_list_text, list_in, read_cells
from ctxmetrics.reading.documents import are_messages, is_missing, leaves, look_up, text_of
from ctxmetrics.reading.formats import FORMATS, KNOWN, SEARCHES, answers_in, matches, texts_beside_ids
from ctxmetrics.reading.names import find_misspelt, is_ambiguous, letters_of
from ctxmetrics.reading.rows import Reading, paths_in, rest_of
from ctxmetrics.reading.schema import (
    FIELDS,
    LISTS,
    OPTIONS,
    TEXTS,
    TEXTS_OF,
    first_value,
    heads_of,
    nearest,
    some_of,
)
from ctxmetrics.reading.shapes import (
    COMPARED,
    RETRIEVED,
    Record,
    header_in,
    joined_by,
    refusal_of,
    texts_in,
    to_record,
)
from ctxmetrics.reading.systems import SCHEMAS
from ctxmetrics.reading.values import find_fault

# The name of the schema that is recognised from the rows.
AUTO = "auto"
# How many rows of a stream are looked at before the first one is read.
PEEKED = 100
# Names that mean a field only beside other names of the same system.
_NEVER_ALONE = frozenset({"value", "context"})
# Names that are too general to be a second column for a field.
_VAGUE = frozenset({"data", "prompt"})
# Names of what is expected, or was made to mislead: it was not retrieved.
_NOT_RETRIEVED = re.compile(read_data("reading", "keys.json")["not_retrieved"], re.IGNORECASE)
# How many levels deep lists of texts are looked for in a row.
_DEPTH = 5
# The names of texts in all schemas.
TEXT_NAMES: frozenset[str] = frozenset(
    key for schema in SCHEMAS.values() for name in TEXTS - {"id"} for key in schema.flat_keys[name]
)
# Every key of every schema; and by the letters of a key alone, the first such key.
_KEYS: tuple[str, ...] = tuple(key for schema in SCHEMAS.values() for key in sorted(schema.known_keys))
_BY_LETTERS: Mapping[str, str] = {letters_of(key): key for key in reversed(_KEYS)}


@cache
def _foreign_headers() -> Mapping[str, str]:
    """Return the keys of a schema by the letters of their names in other languages."""
    names: dict[str, str] = {}
    for key, words in read_data("reading", "headers.json").items():
        names |= {letters_of(word): key for word in words.split() if key != "note"}
    return names


def _known_key(name: str) -> str | None:
    """Return the key of a schema that a header stands for, written otherwise or in another language."""
    letters = letters_of(name)
    return _BY_LETTERS.get(letters) or _foreign_headers().get(letters)


def reading_alone(row: Mapping[str, Any], schema: str = "ragas") -> Reading:
    """Return how one row is read by itself.

    Args:
        row: The row.
        schema: Whose words the keys are: one of `SCHEMAS`, or ``"auto"``. Our own names are understood in each.

    Raises:
        ParameterError: No such schema.
    """
    if schema == AUTO:
        return recognise([row], written=False)
    return _reading_named(schema)


@lru_cache(maxsize=32)
def _reading_named(schema: str) -> Reading:
    """Return a reading that remembers how it read the rows before."""
    return Reading(name=schema)


def recognise(
    rows: Iterable[Mapping[str, Any]],
    schema: str = AUTO,
    columns: Mapping[str, str] | None = None,
    *,
    written: bool = True,
    single: bool = False,
    source: object = None,
    grouped: bool = False,
    headed: bool = False,
    split: str | None = None,
) -> Reading:
    """Decide how rows are read, and log what was decided.

    With ``"auto"``, the schema that finds the most fields in the rows is taken, the first of `SCHEMAS` where several do.
    Names count without case and separators then, and a column that this schema does not know is taken for the field
    that it is in every other schema that knows it.

    Args:
        rows: The rows, or the first of them.
        schema: One of `SCHEMAS`, or ``"auto"``.
        columns: Which column or path holds which field, where no schema is right.
        written: Whether lists and objects may stand as text, as files have them.
        single: Whether one text may stand for a list of one, if every row has it so.
        source: What the log calls the rows, such as their file; None logs nothing.
        grouped: Whether rows of one question become one sample.
        headed: Whether the names of the columns are names, although they look like data.
        split: What separates the passages of a retrieved text.

    Raises:
        ParameterError: There is no such schema, field or column.
        SampleError: A key stands twice in one object that is JSON in a text.
    """
    mapped = dict(columns or {})
    mappings = [row for row in rows if hasattr(row, "items")]
    merged = _merged(mappings)
    name = "ragas" if schema == AUTO else schema
    reading = Reading(name=name, columns=mapped, written=written, split=split)
    _check_columns(mapped, merged)
    if schema == AUTO and merged:
        reading = _fitting(replace(reading, renamed=_renamed(merged, mapped)), merged)
    _, opened = reading.opened(merged)
    reading = _with_places(reading, opened, mappings, single=single)
    column = _header_of_data(merged)
    if column is not None and not headed:
        no_header = (
            f"the first line is no header, it looks like data ({column[:60]!r}). Write --no-header or --names A,B (in Python "
            "header=False or header=[..]); if it is one, --header (header=True)."
        )
        return replace(reading, refusal=no_header)
    if not grouped and not reading.unsure and reading.mapping.keys() & RETRIEVED:
        records = [_record(reading, row) for row in mappings[:PEEKED]]
        refusal = refusal_of(records, reading.mapping)
        joined = None if split else joined_by(texts_in(retrieved) for *_, retrieved in records)
        reading = replace(reading, refusal=refusal, joined=joined)
    if source:
        for note in _notes(reading, opened):
            logging.getLogger("ctxmetrics").warning("%s: %s", source, note)
    return reading


def _with_places(
    reading: Reading, opened: Mapping[str, Any], rows: list[Mapping[str, Any]], *, single: bool
) -> Reading:
    """Return the reading with where each field stands in the first rows, and with what is no field."""
    spots = reading.every_spot(opened)
    places = _first_spots(spots)
    mapping: dict[str, str] = {}
    for name, (path, _) in places.items():
        head = path.partition(".")[0]
        # A side that is a text is the field itself.
        column = reading.original(head if isinstance(opened.get(head), str) else path)
        if column:
            mapping[name] = column
    single_texts: set[str] = set()
    if single:
        for name in LISTS & places.keys():
            value = places[name][1]
            if isinstance(value, str) and not is_list_text(value):
                single_texts.add(name)
    names = ("user_input", "response", "reference", *LISTS)
    return replace(
        reading,
        absent=frozenset(FIELDS) - places.keys() if opened else None,
        single=frozenset(single_texts),
        mapping=mapping,
        others=tuple(reading.others_in(rest_of(opened, paths_in(spots)))),
        usable=frozenset(name for name in names if _has_usable(reading, rows, name)),
        unread=_unread(reading, opened, places),
    )


def _first_spots(spots: Mapping[str, list[tuple[str, Any]]]) -> dict[str, tuple[str, Any]]:
    """Return where each field stands first, and what stands there."""
    return {name: places[0] for name, places in spots.items() if places}


def _unread(
    reading: Reading, opened: Mapping[str, Any], places: Mapping[str, tuple[str, Any]]
) -> tuple[str, ...]:
    """Return the paths of lists of passages that are no field."""
    read = set(reading.columns)
    for name in OPTIONS:
        if name in places:
            read.add(places[name][0])
    paths: list[str] = []
    for path, value in leaves(rest_of(opened, read), _DEPTH):
        if _NOT_RETRIEVED.search(path):
            continue
        if _are_passages(value):
            paths.append(path)
        elif SEARCHES.search(path):
            paths += _texts_within(path, value)
    return tuple(paths)


def _texts_within(path: str, value: Any) -> list[str]:
    """Return the paths of passages in the items of a list: objects that are no documents, or rows of a database."""
    items = list_in(value) or [None]
    first = items[0]
    if isinstance(first, list):
        cells = [(f"[{place}]", cell) for place, cell in enumerate(first)]
    elif hasattr(first, "items") and not are_messages(items):
        cells = [(f".{key}", cell) for key, cell in leaves(first, _DEPTH)]
    else:
        return []
    texts = [key for key, cell in cells if _is_passage(cell)]
    return [f"{path}[]{key}" for key in texts if not _NOT_RETRIEVED.search(key)]


def _header_of_data(row: Mapping[str, Any]) -> str | None:
    """Return a name of a column that looks like data, where no schema knows any of them."""
    if any(_known_key(str(key)) for key in row):
        return None
    return header_in(row)


def _has_usable(reading: Reading, rows: list[Mapping[str, Any]], name: str) -> bool:
    """Whether one of the first rows has a value that a field can use."""
    for row in rows[:PEEKED]:
        _, opened = reading.opened(row)
        if any(not find_fault(value, name) and value for _, value in reading.spots(opened, name)):
            return True
    return False


def _record(reading: Reading, row: Mapping[str, Any]) -> Record:
    """Return what is compared of a row."""
    _, opened = reading.opened(row)
    return to_record(first_value(reading.spots(opened, name)) for name in COMPARED)


def _merged(rows: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one row with the first value of each key; lists come before texts, and objects are merged.

    Under the name of a text, a list comes first only where more rows have one than a text.
    """
    kinds = Counter(
        (str(key), isinstance(row[key], str)) for row in rows for key in row if key in TEXT_NAMES
    )
    texts = {key for key, is_text in kinds if is_text and kinds[key, True] >= kinds[key, False]}
    merged: dict[str, Any] = {}
    for row in rows:
        for name, value in row.items():
            key = str(name)
            before: Any = merged.get(key)
            if hasattr(before, "items") and hasattr(value, "items"):
                held = {inner: item for inner, item in before.items() if not _is_empty(item)}
                merged[key] = {**value, **held}
            elif _replaces(value, before, prefers_text=key in texts):
                merged[key] = value
    return merged


def _replaces(value: Any, before: Any, *, prefers_text: bool) -> bool:
    """Whether a value tells more about its column than the one before."""
    if is_missing(value) or (isinstance(value, list) and isinstance(before, list) and before):
        return False
    if _is_empty(before):
        return True
    is_text = isinstance(value, str)
    if is_text != isinstance(before, str) and is_text == prefers_text:
        return True
    return is_list_text(value) and not is_list_text(before)


def _is_empty(value: Any) -> bool:
    return is_missing(value) or (isinstance(value, list) and not value)


def _renamed(row: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, str]:
    """Return the keys that are written otherwise than a schema writes them, such as ``Ground Truth``.

    A column that the caller maps keeps its name, and one of a format that the row has.
    """
    heads = heads_of(columns)
    for schema in FORMATS.values():
        if matches(schema, row):
            heads |= schema.known_keys
    keys: dict[str, str] = {}
    for key in row:
        if "." in key or key in _KEYS or key in heads:
            continue
        name = _known_key(key)
        if name is not None and name not in row:
            keys.setdefault(name, key)  # of several keys, the first
    return {key: name for name, key in keys.items()}


class _Fit(NamedTuple):
    """How a schema fits the first rows.

    Attributes:
        score: How many fields it finds, whether the rows have its marks, and how few columns it leaves; the highest
            fits best.
        reading: The reading with the schema.
        paths: Where it finds the fields that metrics look at.
        rest: What it leaves.
    """

    score: tuple[int, bool, int]
    reading: Reading
    paths: dict[str, str]
    rest: dict[str, Any]


def _fitting(reading: Reading, row: Mapping[str, Any]) -> Reading:
    """Return the reading with the schema that finds the most fields, and with the columns that others know."""
    _, opened = reading.opened(row)
    fits: list[_Fit] = []
    for name in KNOWN:
        fit = _fit(replace(reading, name=name), opened)
        if fit is not None:
            fits.append(fit)
    best = max(fit.score for fit in fits)
    fitting, *others = [fit for fit in fits if fit.score == best]
    fields = {path: field for field, path in fitting.paths.items()}
    unsure: list[tuple[str, ...]] = []
    for other in others:
        for field, path in other.paths.items():
            # Of messages, several fields are read.
            if fields.get(path, field) != field and path != fitting.paths.get("searches"):
                column = reading.original(path)
                unsure.append((f"{column}={fields[path]}", f"{column}={field}"))
    columns = _add_columns(fitting, opened, unsure)
    if not unsure:
        columns |= _answers(fitting, columns, opened)
    return replace(fitting.reading, columns=columns, unsure=tuple(unsure))


def _answers(fitting: _Fit, columns: Mapping[str, str], opened: Mapping[str, Any]) -> dict[str, str]:
    """Return the columns of the one answer of a store or search engine, where nothing else holds what was retrieved."""
    paths = {**fitting.paths, **{field: column for column, field in columns.items()}}
    if paths.keys() & {"retrieved_context_ids", "stages", "searches"}:
        return {}
    if "retrieved_contexts" in paths:
        return texts_beside_ids(opened, paths["retrieved_contexts"])
    rest = rest_of(opened, {*paths.values(), *columns})
    answers = answers_in(rest, _DEPTH)
    for path in [*filter(_NOT_RETRIEVED.search, answers)]:
        del answers[path]
    fields = [*answers.values()]
    return answers if len(fields) == len({*fields}) else {}


def _fit(reading: Reading, opened: Mapping[str, Any]) -> _Fit | None:
    """Return how the schema of a reading fits the first rows; None where it does not."""
    if not matches(reading.schema, opened):
        return None
    places = _first_spots(reading.every_spot(opened))
    paths: dict[str, str] = {}
    for name, (path, value) in places.items():
        if name in OPTIONS and _may_hold(name, value):
            paths[name] = path
    sides = reading.schema.sides
    words = [path for name, path in paths.items() if path != name]
    # The schema has sides and the rows have none, or the only name that fits has another meaning in other systems.
    if sides and sides.isdisjoint(heads_of(opened)):
        return None
    if words == ["context"]:
        return None
    # A second column for a field counts as one that is not read.
    rest = rest_of(opened, {path for path, _ in places.values()})
    return _Fit((len(paths), bool(reading.schema.marks), -len(rest)), reading, paths, rest)


def _may_hold(field: str, value: Any) -> bool:
    """Whether a value may be that of a field: an object is no text and no list, and only a reference is a list at times."""
    may_be_list = field not in TEXTS or field == "reference"
    return isinstance(value, str) or (may_be_list and not hasattr(value, "items"))


def _add_columns(
    fitting: _Fit, opened: Mapping[str, Any], unsure: list[tuple[str, ...]]
) -> dict[str, str]:
    """Return the columns of a reading with those that its schema leaves and others know.

    Args:
        fitting: The schema that fits best.
        opened: The first rows as one.
        unsure: Takes the columns of which two may hold one field.
    """
    mapped = fitting.reading.columns
    columns = dict(mapped)
    taken = {**fitting.paths, **{field: column for column, field in mapped.items()}}
    for key, value in fitting.rest.items():
        if key in mapped or key in _NEVER_ALONE:
            continue
        fields = _fields_called(key)
        # An object under the name of a text is an answer of a store; under that of a list, an error says what is wrong.
        free = [
            field for field in fields - taken.keys() if field not in TEXTS or _may_hold(field, value)
        ]
        if len(fields) == len(free) == 1:
            columns[key] = free[0]
            taken[free[0]] = key
        elif key not in _VAGUE:
            for field in sorted(fields & taken.keys()):
                is_mapped = field in mapped.values()
                if not is_mapped and _is_another(field, value, look_up(opened, taken[field])):
                    original = fitting.reading.original
                    unsure.append((f"{original(taken[field])}={field}", f"{original(key)}={field}"))
    return columns


def _fields_called(key: str) -> set[str]:
    """Return the fields that are called so in a schema without sides."""
    name = _BY_LETTERS.get(letters_of(key), key)
    fields: set[str] = set()
    for schema in SCHEMAS.values():
        if not schema.sides:
            fields.update(field for field in OPTIONS if name in schema.flat_keys[field])
    return fields


def _is_another(meant: str, value: Any, read: Any) -> bool:
    """Whether a value may be a field's, and differs from the one that is read."""
    if value == read or isinstance(value, str) or isinstance(read, str):
        return value != read and isinstance(value, str) == isinstance(read, str)
    return isinstance(value, list) and _are_passages(value) == (meant not in TEXTS_OF)


def _check_columns(columns: Mapping[str, str], row: Mapping[str, Any]) -> None:
    """Refuse the name of a field that does not exist, and a column that no row has."""
    for column, name in columns.items():
        if name not in FIELDS:
            raise ParameterError(
                f"--map {column}={name}: there is no field {name!r}.{nearest(name, FIELDS)} Choose from: "
                f"{', '.join(FIELDS)}."
            )
        if row and look_up(read_cells(row), column) is None:
            raise ParameterError(
                f"--map {column}={name}: no row has {column!r}.{nearest(column, row)} There is: {some_of(row)}."
            )


def _notes(reading: Reading, opened: Mapping[str, Any]) -> Iterable[str]:
    """Say what was decided, and which columns are in the metadata."""
    places = _first_spots(reading.every_spot(opened))
    read: list[str] = []
    for name, path in reading.mapping.items():
        if name in OPTIONS and places[name][0] != name:
            read.append(f"{path} -> {name}")
    if read:
        yield f"columns read (schema {reading.name}): {', '.join(read)}"
    for name in sorted(reading.single):
        text, separator = places[name][1], reading.schema.separator
        how = "read as a list of one"
        if separator and separator in text:
            how = f"split at '{separator}'"
        yield f"every row has one text as {name} ({reading.mapping[name]}): it is {how}"
    absent = reading.absent or frozenset()
    others: list[str] = []
    for name in reading.others:  # an error of its rows is no note
        is_unclear = name == "context" and is_ambiguous(opened[name], absent)
        if not is_unclear and not find_misspelt(name, reading.schema, absent):
            others.append(name)
    if others:
        yield f"no field, carried along as metadata: {some_of(others)}"


def _are_passages(value: Any) -> bool:
    """Whether a value is a list of documents, or of texts of more than a word."""
    items = value if isinstance(value, tuple) else list_in(value) or ()
    return bool(items) and not are_messages(items) and all(_is_passage(item) for item in items)


def _is_passage(item: Any) -> bool:
    text = text_of(item)
    return isinstance(text, str) and (" " in text.strip() or not text.isascii())
