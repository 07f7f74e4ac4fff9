"""How the rows of a source are read, decided once from its first rows."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ctxmetrics.errors import ParameterError
from ctxmetrics.reading.cells import is_list_text, list_in, object_in
from ctxmetrics.reading.documents import are_messages, leaves, look_up, text_of
from ctxmetrics.reading.rows import Reading, is_ambiguous, letters_of, rest_of
from ctxmetrics.reading.schema import FIELDS, LISTS, OPTIONS, TEXTS, TEXTS_OF, nearest, some_of
from ctxmetrics.reading.shapes import header_in, joined_by, refusal_of, texts_in
from ctxmetrics.reading.systems import SCHEMAS

# The name of the schema that is recognised from the rows.
AUTO = "auto"
# How many rows of a stream are looked at before the first one is read.
PEEKED = 100
# Names that mean a field only beside other names of the same system.
_NEVER_ALONE = frozenset({"value", "context"})
# Names that are too general to be a second column for a field.
_VAGUE = frozenset({"data", "prompt"})
# Names of what is expected, or was made to mislead: it was not retrieved.
_NOT_RETRIEVED = re.compile(
    r"gold|reference|expected|evidence|relevant|positive|answer|alias|ground.?truth|negative|distractor|hard"
    r"|(?:^|[\W_])(?:gt|pos|neg)(?:[\W_]|$)",
    re.IGNORECASE,
)
# How many levels deep lists of texts are looked for in a row.
_DEPTH = 5
# The names of texts in all schemas.
TEXT_NAMES: frozenset[str] = frozenset(
    key for schema in SCHEMAS.values() for name in TEXTS - {"id"} for key in schema.flat_keys[name]
)
# Every key of every schema; and by the letters of a key alone, the first such key.
_KEYS: tuple[str, ...] = tuple(key for schema in SCHEMAS.values() for key in sorted(schema.known_keys))
_BY_LETTERS: Mapping[str, str] = {letters_of(key): key for key in reversed(_KEYS)}


def reading_alone(row: Mapping[str, Any], schema: str = "ragas") -> Reading:
    """Return how one row is read by itself.

    Args:
        row: The row.
        schema: Whose words the keys are: one of `SCHEMAS`, or ``"auto"``. Our own names are understood in each.

    Raises:
        ParameterError: No such schema.
    """
    return recognise([row], written=False) if schema == AUTO else Reading(name=schema)


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
    given = dict(columns or {})
    mappings = [row for row in rows if hasattr(row, "items")]
    merged = _merged(mappings)
    reading = Reading(name="ragas" if schema == AUTO else schema, columns=given, written=written)
    _check_columns(given, merged)
    if schema == AUTO and merged:
        reading = _fitting(replace(reading, renamed=_renamed(merged, given)), merged)
    _, opened = reading.opened(merged)
    spots = {name: reading.spots(opened, name) for name in FIELDS}
    found = {name: places[0] for name, places in spots.items() if places}
    mapping = {
        name: reading.original(
            head if isinstance(opened.get(head := path.partition(".")[0]), str) else path
        )
        for name, (path, _) in found.items()  # a side that is a text is the field itself
    }
    unread = rest_of(opened, {*given, *(found[name][0] for name in OPTIONS if name in found)})
    reading = replace(
        reading,
        absent=frozenset(FIELDS) - found.keys() if merged else None,
        single=frozenset(
            name
            for name in LISTS & found.keys()
            if single and isinstance(found[name][1], str) and not is_list_text(found[name][1])
        ),
        mapping={name: path for name, path in mapping.items() if path},
        others=tuple(
            reading.others_in(
                rest_of(opened, {path for places in spots.values() for path, _ in places})
            )
        ),
        split=split,
        texts=frozenset(
            name
            for name in ("user_input", "response", "reference")
            if _has_text(reading, mappings, name)
        ),
        unread=tuple(
            path
            for path, value in leaves(unread, _DEPTH)
            if _are_passages(value) and not _NOT_RETRIEVED.search(path)
        ),
    )
    is_known = headed or any(letters_of(str(key)) in _BY_LETTERS for key in merged)
    if not is_known and (data := header_in(merged)) is not None:
        no_header = (
            f"the first line is no header, it looks like data ({data[:60]!r}). Write --no-header or --names A,B (in Python "
            "header=False or header=[..]); if it is one, --header (header=True)."
        )
        return replace(reading, refusal=no_header)
    if not grouped and "retrieved_contexts" in reading.mapping and not reading.unsure:
        records = [_record(reading, row) for row in mappings[:PEEKED]]
        reading = replace(
            reading,
            refusal=refusal_of(records, reading.mapping),
            joined=None if split else joined_by(map(texts_in, records)),
        )
    for note in _notes(reading, opened, found) if source else ():
        logging.getLogger("ctxmetrics").warning("%s: %s", source, note)
    return reading


def _has_text(reading: Reading, rows: list[Mapping[str, Any]], name: str) -> bool:
    """Whether one of the first rows has a text in a field."""
    values = (
        value for row in rows[:PEEKED] for _, value in reading.spots(reading.opened(row)[1], name)
    )
    return any(isinstance(value, str) for value in values)


def _record(reading: Reading, row: Mapping[str, Any]) -> tuple[str, str, Any]:
    """Return question and reference of a row as texts, and what was retrieved."""
    _, opened = reading.opened(row)
    question, reference, retrieved = (
        next((value for _, value in reading.spots(opened, name)), None)
        for name in ("user_input", "reference", "retrieved_contexts")
    )
    return str(question or ""), str(reference or ""), retrieved


def _merged(rows: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one row with the first value of each key; lists come before texts, and objects are merged.

    Under the name of a text, a list comes first only where more rows have one than a text.
    """
    kinds = Counter(
        (str(key), isinstance(value, str))
        for row in rows
        for key, value in row.items()
        if key in TEXT_NAMES
    )
    texts = {key for key, is_text in kinds if is_text and kinds[key, True] >= kinds[key, False]}
    merged: dict[str, Any] = {}
    for row in rows:
        for name, value in row.items():
            key = str(name)
            before: Any = merged.get(key)
            if hasattr(before, "items") and hasattr(value, "items"):
                merged[key] = {
                    **value,
                    **{inner: held for inner, held in before.items() if held is not None},
                }
            elif value is not None and (
                before is None
                or (
                    isinstance(before, str) != isinstance(value, str)
                    and isinstance(value, str) == (key in texts)
                )
                or (is_list_text(value) and not is_list_text(before))
            ):
                merged[key] = value
    return merged


def _renamed(row: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, str]:
    """Return the keys that are written otherwise than a schema writes them, such as ``Ground Truth``.

    A column that the caller maps keeps its name.
    """
    kept = {*_KEYS, *(column.partition(".")[0] for column in columns)}
    meant = {  # of several keys, the first
        _BY_LETTERS[letters_of(key)]: key
        for key in reversed([*row])
        if "." not in key and key not in kept and letters_of(key) in _BY_LETTERS
    }
    return {key: name for name, key in meant.items() if name not in row}


def _fitting(reading: Reading, row: Mapping[str, Any]) -> Reading:
    """Return the reading with the schema that finds the most fields, and with the columns that others know."""
    fits: list[tuple[tuple[int, int], Reading, dict[str, str], dict[str, Any]]] = []
    _, opened = reading.opened(row)
    heads = {key.partition(".")[0] for key in opened}
    for name in SCHEMAS:
        tried = replace(reading, name=name)
        places = {meant: found[0] for meant in FIELDS if (found := tried.spots(opened, meant))}
        spots = {
            meant: path
            for meant, (path, value) in places.items()
            if meant in OPTIONS
            and not hasattr(value, "items")
            and (isinstance(value, str) or meant not in TEXTS - {"reference"})
        }
        sides, words = tried.schema.sides, [path for meant, path in spots.items() if path != meant]
        # The schema has sides and the rows have none, or the only name that fits has another meaning in
        # other systems.
        if (sides and sides.isdisjoint(heads)) or words == ["context"]:
            continue
        # A second column for a field counts as one that is not read.
        rest = rest_of(opened, {path for path, _ in places.values()})
        fits.append(((len(spots), -len(rest)), tried, spots, rest))
    best = max(score for score, *_ in fits)
    (_, fitting, spots, rest), *others = [fit for fit in fits if fit[0] == best]
    fields_of = {path: meant for meant, path in spots.items()}
    unsure = [
        tuple(f"{reading.original(path)}={name}" for name in (fields_of[path], meant))
        for _, _, differing, _ in others
        for meant, path in differing.items()
        if fields_of.get(path, meant) != meant
    ]
    more = dict(fitting.columns)
    taken = {**spots, **{meant: column for column, meant in more.items()}}
    for key in (key for key in rest if key not in {*more, *_NEVER_ALONE}):
        meanings = {
            meant
            for schema in SCHEMAS.values()
            for meant in OPTIONS
            if _BY_LETTERS.get(letters_of(key), key) in schema.flat_keys[meant] and not schema.sides
        }
        if len(meanings) == 1 and not meanings <= taken.keys():
            more[key] = next(iter(meanings))
            taken[more[key]] = key
        elif key not in _VAGUE:
            unsure += [
                tuple(f"{reading.original(column)}={meant}" for column in (taken[meant], key))
                for meant in meanings & taken.keys() - {*fitting.columns.values()}
                if _is_another(meant, rest[key], look_up(opened, taken[meant]))
            ]
    return replace(fitting, columns=more, unsure=tuple(unsure))


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
        if row and look_up({key: object_in(value) for key, value in row.items()}, column) is None:
            raise ParameterError(
                f"--map {column}={name}: no row has {column!r}.{nearest(column, row)} There is: {some_of(row)}."
            )


def _notes(
    reading: Reading, opened: Mapping[str, Any], found: Mapping[str, tuple[str, Any]]
) -> Iterable[str]:
    """Say what was decided, and which columns are in the metadata."""
    if read := [
        f"{path} -> {name}"
        for name, path in reading.mapping.items()
        if name in OPTIONS and found[name][0] != name
    ]:
        yield f"columns read (schema {reading.name}): {', '.join(read)}"
    for name in sorted(reading.single):
        text, separator = found[name][1], reading.schema.separator
        how = f"split at '{separator}'" if separator and separator in text else "read as a list of one"
        yield f"every row has one text as {name} ({reading.mapping[name]}): it is {how}"
    absent = reading.absent or frozenset()
    if others := [
        name
        for name in reading.others
        if not reading.misspelt(name, absent)  # an error of its rows, as is the next
        and not (name == "context" and is_ambiguous(opened[name], absent))
    ]:
        yield f"no field, carried along as metadata: {some_of(others)}"


def _are_passages(value: Any) -> bool:
    """Whether a value is a list of documents, or of texts of more than a word."""
    items = value if isinstance(value, tuple) else list_in(value) or ()
    return (
        bool(items)
        and not are_messages(items)
        and all(
            isinstance(text := text_of(item), str) and (" " in text.strip() or not text.isascii())
            for item in items
        )
    )
