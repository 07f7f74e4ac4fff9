"""Joins two files: one holds the retrieved items, the other the expected items."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

from ctxmetrics.errors import InputFileError, SampleError
from ctxmetrics.evaluation.files.passage_lists import LIST_FIELDS
from ctxmetrics.evaluation.files.ranking_tables import QUERY_IDS
from ctxmetrics.samples.documents import look_up, whole_number
from ctxmetrics.samples.field_keys import RETRIEVED
from ctxmetrics.samples.schema import join_first
from ctxmetrics.samples.systems import normalized_key

# The fields that are taken from the file of references.
_EXPECTED_FIELDS = ("reference", *(name for name in LIST_FIELDS if name not in RETRIEVED))
# The fields that hold the retrieved items.
_RETRIEVED_FIELDS = (*RETRIEVED, "stages", "searches")
# If the file of references has none of these fields, its columns of responses or retrieved items hold the expected items.
_EXPECTED_UNDER_OTHER_NAMES = {
    "response": "reference",
    **{name: name.replace("retrieved", "reference") for name in RETRIEVED},
}
# The value of `on` with which the rows of both files are joined by their order.
_BY_ORDER = "order"
# The maximum number of rows of each file that are compared to propose a column that joins them.
_MAX_COMPARED_ROWS = 1000
# The treatment of a question of the references that the run does not answer.
Missing = Literal["zero", "drop"]


class Partners:
    """The expected items of each sample. They are found by a key: the field of ``on``, else the id, else the question.

    Args:
        rows: The fields of the references' rows, each with its place.
        on: A field, or a column or path that is in the metadata of both sides; None: see above. ``"order"``, if no row
            has such a column: the number of the row.
        missing: The treatment of a reference without a partner: see `references_without_row`.
    """

    def __init__(
        self,
        rows: Iterable[tuple[Mapping[str, Any], str]],
        on: str | None = None,
        missing: Missing = "zero",
    ) -> None:
        self._missing = missing
        self._keys = (on,) if on else ("id", "user_input")
        # The references by their key, a field's name and its text; each with its place.
        self._rows: dict[tuple[str, str], list[tuple[Mapping[str, Any], str]]] = {}
        # The references without a partner so far: by the place of each, its name and the row.
        self._unused: dict[str, tuple[str, Mapping[str, Any]]] = {}
        # The fields in which the samples have the retrieved items, each with its empty value.
        self._empty_retrieved_fields: dict[str, Any] = {}
        # The joined samples for which nothing was retrieved, each with its place.
        self._nothing_retrieved: list[tuple[dict[str, Any], str]] = []
        # The names of the samples without a partner.
        self._without_partner: list[str] = []
        # How many joined samples have each id.
        self._id_counts: Counter[str] = Counter()
        # The number of rows so far.
        self._row_count = 0
        # The texts of each column of the first rows, of the references and of the samples.
        self._reference_texts: defaultdict[str, list[str]] = defaultdict(list)
        self._sample_texts: defaultdict[str, set[str]] = defaultdict(set)
        for number, (row, where) in enumerate(rows, 1):
            keys = list(self._list_keys(row, number))
            if number <= _MAX_COMPARED_ROWS:
                for column, text in _list_texts(row):
                    self._reference_texts[column].append(text)
            self._unused[where] = (_name_row(keys, where), row)
            for key in keys:
                self._rows.setdefault(key, []).append((row, where))

    def join(self, values: Mapping[str, Any], where: str) -> dict[str, Any] | None:
        """Return the fields of a sample with what is expected of it.

        Return None if the sample is yielded after all rows, by `references_without_row`.

        Raises:
            InputFileError: Two rows of the references have the sample's key, or a row has the key and another question.
            SampleError: The row and its row of the references have expected items, and they differ.
        """
        self._row_count += 1
        keys = list(self._list_keys(values, self._row_count))
        matching_key = next((key for key in keys if key in self._rows), None)
        if matching_key is None:
            if self._row_count <= _MAX_COMPARED_ROWS:
                for column, text in _list_texts(values):
                    self._sample_texts[column].add(text)
            self._without_partner.append(_name_row(keys, where))
            return dict(values)
        partner, place = _get_single_row(self._rows[matching_key], where)
        self._unused.pop(place, None)
        self._note_retrieved(values)
        if self._keys[0] == "id":
            _check_questions(values, partner, place)
        expected = _read_expected(partner)
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
        if all(values.get(name) is None for name in _RETRIEVED_FIELDS):
            self._nothing_retrieved.append((fields, where))
            return None
        return fields

    def references_without_row(self) -> Iterator[tuple[dict[str, Any], str]]:
        """Yield the fields of each reference for which nothing was retrieved, with the place of the reference.

        For such a reference no row has the same key, or the row lacks every field of the retrieved items. With ``missing="drop"``
        these fields are left out, so that no metric has a value. Else they are empty, so that nothing was found.

        Raises:
            InputFileError: Two references have the same key.
        """
        retrieved = {} if self._missing == "drop" else self._empty_retrieved_fields
        for place, (_, partner) in self._unused.items():
            # The first key is the best one, such as an id before the text of a question: no two rows may have it.
            first_key = next(self._list_keys(partner), None)
            if first_key is not None:
                _get_single_row(self._rows[first_key], place)
            values: dict[str, Any] = {}
            for name in ("user_input", "labels", "metadata"):
                if partner.get(name):
                    values[name] = partner[name]
            values["id"] = self._distinct_id(partner.get("id"))
            yield {**values, **_read_expected(partner), **retrieved}, place
        for values, where in self._nothing_retrieved:
            yield {**values, **retrieved}, where

    def notes(self) -> Iterator[str]:
        """Return notes about samples and references without a partner.

        Raises:
            InputFileError: No sample has a partner, or two files that are joined by order have different numbers of rows.
        """
        if not self._id_counts:
            raise InputFileError(
                f"no sample has a partner among the references: samples {join_first(map(repr, self._without_partner))}; references "
                f"{join_first(repr(name) for name, _ in self._unused.values())}. {self._propose_columns()}"
            )
        joined_by_order = self._keys == (_BY_ORDER,)
        if joined_by_order and (self._without_partner or self._unused):
            joined_count = self._row_count - len(self._without_partner)
            reference_count = joined_count + len(self._unused)
            raise InputFileError(
                f"--on order: {self._row_count} rows and {reference_count} references. Both files "
                "must have the same questions in the same order."
            )
        if self._without_partner:
            yield f"{len(self._without_partner)} without a partner among the references: {join_first(map(repr, self._without_partner))}"
        if self._unused:
            names = join_first(repr(name) for name, _ in self._unused.values())
            outcome = "they count as questions with nothing retrieved"
            if self._missing == "drop":
                outcome = "left out"
            yield f"{len(self._unused)} of the references without a partner ({outcome}): {names}"

    def _propose_columns(self) -> str:
        """Propose the columns that join the files: each text stands once in the references, and at least one text stands in both files."""
        options: list[str] = []
        for column, texts in self._reference_texts.items():
            is_unique = len({*texts}) == len(texts)
            if is_unique and not self._sample_texts[column].isdisjoint(texts):
                options.append(f"--on {shlex.quote(column)}")
        if not options:
            return "No column of both files has equal values."
        return f"Write {join_first(options, mark=' or ')}, which both files have."

    def _note_retrieved(self, values: Mapping[str, Any]) -> None:
        """Remember the fields in which the samples have the retrieved items."""
        for name in RETRIEVED:
            if values.get(name) is not None:
                self._empty_retrieved_fields[name] = []
        if values.get("searches"):
            self._empty_retrieved_fields |= {name: [] for name in RETRIEVED}
        stages = values.get("stages")
        if isinstance(stages, Mapping) and "stages" not in self._empty_retrieved_fields:
            self._empty_retrieved_fields["stages"] = {
                name: {"contexts": [], "ids": []} for name in stages
            }

    def _distinct_id(self, id_: Any) -> Any:
        """Return an id. From its second sample on, add a number."""
        name = str(id_)
        self._id_counts[name] += 1
        if id_ is None or self._id_counts[name] == 1:
            return id_
        return f"{name} ({self._id_counts[name]})"

    def _list_keys(self, values: Mapping[str, Any], number: int = 0) -> Iterator[tuple[str, str]]:
        """Yield the possible keys of a row for joining: pairs of a field's name and its text."""
        has_order = look_up(values.get("metadata"), _BY_ORDER) is not None
        if self._keys == (_BY_ORDER,) and not has_order:
            yield _BY_ORDER, str(number)  # its place in the file
        for key in self._keys:
            candidates = [look_up(values, key), look_up(values.get("metadata"), key)]
            if key == "id" and candidates == [None, None]:
                candidates = [_find_query_id(values)]
            for value in map(whole_number, candidates):
                if isinstance(value, (str, int)) and _fold_text(value):
                    yield key, _fold_text(value)


def _find_query_id(values: Mapping[str, Any]) -> Any:
    """Find the id of the question of a row that has no id, under its usual names, such as ``query_id``."""
    for key, value in (values.get("metadata") or {}).items():
        if normalized_key(str(key)) in QUERY_IDS:
            return value
    return None


def _name_row(keys: Sequence[tuple[str, str]], where: str) -> str:
    """Name a row by its first key. A row without a key is named by its place in the file."""
    if not keys:
        return where
    _, text = keys[0]
    return text


def _list_texts(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the possible keys for joining rows: the id, the question, and each column with a text or a whole number."""
    columns = {"id": values.get("id"), "user_input": values.get("user_input")}
    metadata = values.get("metadata") or {}
    for column, value in chain(columns.items(), metadata.items()):
        if isinstance(value, (str, int, float)):
            text = _fold_text(whole_number(value))
            if text:
                yield column, text


def _get_single_row(
    rows: Sequence[tuple[Mapping[str, Any], str]], where: str
) -> tuple[Mapping[str, Any], str]:
    """Return the row of the references that has a key.

    Raises:
        InputFileError: Several rows have it.
    """
    if len(rows) > 1:
        (_, first_place), (_, second_place) = rows[:2]
        raise InputFileError(
            f"two references have its key: {first_place} and {second_place}. Remove one, or make one row of them."
        ).at(where)
    return rows[0]


def _check_questions(values: Mapping[str, Any], partner: Mapping[str, Any], place: str) -> None:
    """Refuse a partner that has the same id and another question."""
    question = values.get("user_input")
    expected = partner.get("user_input")
    if question and expected and _fold_text(question) != _fold_text(expected):
        raise InputFileError(
            f"its id is that of {place}, and the questions differ. If the ids are not of one source, write "
            "--on user_input."
        )


def _read_expected(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the expected items of a row of the references."""
    expected = {name: row[name] for name in _EXPECTED_FIELDS if row.get(name) is not None}
    if not expected:
        for name, field in _EXPECTED_UNDER_OTHER_NAMES.items():
            if row.get(name) is not None:
                expected[field] = row[name]
    return expected


def _fold_text(key: object) -> str:
    """Return a key without repeated white space, in small letters."""
    return " ".join(str(key).split()).casefold()
