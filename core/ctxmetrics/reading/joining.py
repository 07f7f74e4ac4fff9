"""Joins two files: one holds what was retrieved, the other what is expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from ctxmetrics.errors import InputFileError, SampleError
from ctxmetrics.reading.documents import look_up
from ctxmetrics.reading.schema import some_of
from ctxmetrics.reading.shapes import LISTED, RETRIEVED

# The fields that are taken from the references' file, and those with what was retrieved.
_EXPECTED = ("reference", *LISTED[:-2])
_RETRIEVED = (*RETRIEVED, "stages", "searches")
# Other names of the columns of that file, where it has none of the above: all columns of that file are
# about what is expected.
_MEANT = {
    "response": "reference",
    **{name: name.replace("retrieved", "reference") for name in RETRIEVED},
}
# What `on` is where the rows of both files are joined by their order.
_ORDER = "order"
# What becomes of a question of the references that the run does not answer.
Missing = Literal["zero", "drop"]


class Partners:
    """What is expected of each sample, found by a key: what ``on`` names, else the id, else the text of the question.

    Args:
        rows: The fields of the references' rows, each with its place.
        on: A field, or a column or path that is in the metadata of both sides; None: see above. ``"order"``, where no row
            has such a column: the number of the row.
        missing: What becomes of a reference without a partner; see `unanswered`.
    """

    def __init__(
        self,
        rows: Iterable[tuple[Mapping[str, Any], str]],
        on: str | None = None,
        missing: Missing = "zero",
    ) -> None:
        self._missing = missing
        self._keys = (on,) if on else ("id", "user_input")
        self._rows: dict[tuple[str, str], list[tuple[Mapping[str, Any], str]]] = {}
        self._left: dict[str, tuple[str, Mapping[str, Any]]] = {}
        # The fields in which the samples have what was retrieved, each with the value of nothing.
        self._retrieved: dict[str, Any] = {}
        self._empty: list[tuple[dict[str, Any], str]] = []
        self._alone: list[str] = []
        self._ids: Counter[str] = Counter()  # of what was joined
        self._count = 0  # of the rows that were joined so far
        for number, (row, where) in enumerate(rows, 1):
            names = [*self._names(row, number)]
            self._left[where] = (names[0][1] if names else where, row)
            for name in names:
                self._rows.setdefault(name, []).append((row, where))

    def join(self, values: Mapping[str, Any], where: str) -> dict[str, Any] | None:
        """Return the fields of a sample with what is expected of it; None where it comes at the end (`unanswered`).

        Raises:
            InputFileError: Two rows of the references have its key, or one has it with another question.
            SampleError: Both sides say what is expected, and differ.
        """
        self._count += 1
        names = [*self._names(values, self._count)]
        matches = next((self._rows[name] for name in names if name in self._rows), [])
        if not matches:
            self._alone.append(names[0][1] if names else where)
            return dict(values)
        partner, place = _only(matches, where)
        self._left.pop(place, None)
        self._note_retrieved(values)
        if self._keys[0] == "id":
            _check_questions(values, partner, place)
        expected = _expected(partner)
        for name, value in expected.items():
            if values.get(name, value) != value:
                raise SampleError(
                    f"differs from that of {place}.",
                    f"Keep one of them, such as with --map {name}=metadata.",
                ).inside(field=name)
        fields = {"user_input": partner.get("user_input"), "id": partner.get("id"), **values}
        fields["id"] = self._distinct_id(fields["id"])  # a reference may have several partners
        fields |= expected
        for name in ("labels", "metadata"):
            if partner.get(name):
                fields[name] = {**partner[name], **(values.get(name) or {})}
        if all(values.get(name) is None for name in _RETRIEVED):
            self._empty.append((fields, where))
            return None
        return fields

    def unanswered(self) -> Iterator[tuple[dict[str, Any], str]]:
        """Yield the fields of each reference without an answer, with its place: nothing was retrieved for it.

        It has no partner, or one that lacks every field of what was retrieved. With ``missing="drop"`` they lack what was retrieved, so that no metric has a value.

        Raises:
            InputFileError: Two of them have one key.
        """
        retrieved = {} if self._missing == "drop" else self._retrieved
        for place, (_, partner) in self._left.items():
            for name in [*self._names(partner)][:1]:
                _only(self._rows[name], place)
            carried = ("user_input", "labels", "metadata")
            values: dict[str, Any] = {name: partner[name] for name in carried if partner.get(name)}
            values["id"] = self._distinct_id(partner.get("id"))
            yield {**values, **_expected(partner), **retrieved}, place
        for values, where in self._empty:
            yield {**values, **retrieved}, where

    def notes(self) -> Iterator[str]:
        """Return notes about samples and references without a partner.

        Raises:
            InputFileError: Nothing has one, or files that are joined by order have not as many rows.
        """
        if not self._ids:
            raise InputFileError(
                f"no sample has a partner among the references: samples {some_of(map(repr, self._alone))}; references "
                f"{some_of(repr(name) for name, _ in self._left.values())}. Write --on COLUMN, a column of both files."
            )
        if self._keys == (_ORDER,) and (self._alone or self._left):
            raise InputFileError(
                f"--on order: {self._count} rows and {self._count - len(self._alone) + len(self._left)} references. Both files "
                "must have the same questions in the same order."
            )
        if self._alone:
            yield f"{len(self._alone)} without a partner among the references: {some_of(map(repr, self._alone))}"
        if self._left:
            names = some_of(repr(name) for name, _ in self._left.values())
            outcome = "they count as questions with nothing retrieved"
            if self._missing == "drop":
                outcome = "left out"
            yield f"{len(self._left)} of the references without a partner ({outcome}): {names}"

    def _note_retrieved(self, values: Mapping[str, Any]) -> None:
        """Note in which fields the samples have what was retrieved."""
        for name in _RETRIEVED[:2]:
            if values.get(name) is not None:
                self._retrieved[name] = []
        if values.get("searches"):
            self._retrieved |= {name: [] for name in _RETRIEVED[:2]}
        stages = values.get("stages")
        if isinstance(stages, Mapping) and "stages" not in self._retrieved:
            self._retrieved["stages"] = {name: {"contexts": [], "ids": []} for name in stages}

    def _distinct_id(self, id_: Any) -> Any:
        """Return an id, with a number behind it from its second sample on."""
        name = str(id_)
        self._ids[name] += 1
        if id_ is None or self._ids[name] == 1:
            return id_
        return f"{name} ({self._ids[name]})"

    def _names(self, values: Mapping[str, Any], number: int = 0) -> Iterator[tuple[str, str]]:
        """Yield the keys of a row, each with its kind."""
        if self._keys == (_ORDER,) and look_up(values.get("metadata"), _ORDER) is None:
            yield _ORDER, str(number)
        for key in self._keys:
            for value in (look_up(values, key), look_up(values.get("metadata"), key)):
                if isinstance(value, (str, int)) and _plain(value):
                    yield key, _plain(value)


def _only(rows: Sequence[tuple[Mapping[str, Any], str]], where: str) -> tuple[Mapping[str, Any], str]:
    """Return the one row of the references that has a key."""
    first, *more = rows
    if more:
        raise InputFileError(
            f"two references have its key: {first[1]} and {more[0][1]}. Remove one, or write --on COLUMN."
        ).at(where)
    return first


def _check_questions(values: Mapping[str, Any], partner: Mapping[str, Any], place: str) -> None:
    """Refuse a partner of one id with another question."""
    question, expected = values.get("user_input"), partner.get("user_input")
    if question and expected and _plain(question) != _plain(expected):
        raise InputFileError(
            f"its id is that of {place}, and the questions differ. If the ids are not of one source, write "
            "--on user_input."
        )


def _expected(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a row of the references says is expected."""
    expected = {name: row[name] for name in _EXPECTED if row.get(name) is not None}
    if expected:
        return expected
    return {field: row[name] for name, field in _MEANT.items() if row.get(name) is not None}


def _plain(key: object) -> str:
    return " ".join(str(key).split()).casefold()
