"""The rows of a file of any kind, one at a time: JSON Lines, JSON, CSV, TSV, Parquet and folders of Hugging Face datasets.

Every error names the file, the place and the fix.
"""

from __future__ import annotations

import logging
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any, Generic, TypeVar, get_args

from ctxmetrics._checks import check_choice
from ctxmetrics.errors import CtxMetricsError, InputFileError
from ctxmetrics.fields.cells import object_in
from ctxmetrics.fields.documents import look_up
from ctxmetrics.fields.formats import (
    Header,
    Payload,
    arrow_rows,
    cell_rows,
    content_of,
    ending_of,
    line_rows,
    read_payload,
    rows_in,
)
from ctxmetrics.fields.joining import Missing, Partners
from ctxmetrics.fields.rankings import beir_rows, is_ranking, ranking_rows, rankings_in, rows_of
from ctxmetrics.fields.recognition import AUTO, PEEKED, recognise
from ctxmetrics.fields.rows import Reading
from ctxmetrics.fields.schema import TEXTS, some_of
from ctxmetrics.fields.shapes import group_rows
from ctxmetrics.fields.traces import is_trace, trace_rows

_READERS: Mapping[str, Callable[[Path], Iterator[tuple[str, Any]]]] = {
    ".parquet": arrow_rows,
    ".csv": cell_rows,
    ".tsv": cell_rows,
    ".jsonl": line_rows,
    ".ndjson": line_rows,
}
# Endings of files that are no TREC runs or qrels.
_NEVER_RANKINGS = {*_READERS, ".json"} - {".tsv"}
# What a line of --out has, and no sample.
_OF_RESULTS = {"sample_id", "sample", "metric", "verdicts", "provenance"}
T = TypeVar("T")


class RowFile(Iterator[T], Generic[T]):
    """Reads the rows of a file one at a time and makes something of each; see `ctxmetrics.read_samples`.

    Args:
        make: Makes something of the fields of a row (`Reading.row`) and of its place.
        path: The file.
        schema: Whose words the keys are, or ``"auto"``.
        columns: Which column or path holds which field, where no schema is right.
        references: The file of what is expected, which is joined; see `ctxmetrics.fields.joining.Partners`.
        on: The key that both files have.
        missing: ``"zero"``: a reference without a partner is a sample with nothing retrieved. ``"drop"``: one without a
            value.
        group_by: A field or column: the rows with one value of it are one sample.
        split: What separates the passages of a retrieved text.
        header: Whether a table has a header, or the names of its columns; see `ctxmetrics.fields.formats.cell_rows`.
        expected: Whether the file holds only what is expected. It may then lack columns that a caller
            maps.
    """

    def __init__(
        self,
        make: Callable[[dict[str, Any], str], T],
        path: str | os.PathLike[str],
        schema: str = AUTO,
        columns: Mapping[str, str] | None = None,
        *,
        references: str | os.PathLike[str] | None = None,
        on: str | None = None,
        missing: Missing = "zero",
        group_by: str | None = None,
        split: str | None = None,
        header: Header = None,
        expected: bool = False,
    ) -> None:
        self.path: Path = Path(path)
        self._make = make
        self._schema = schema
        self._columns = dict(columns or {})
        self.references: RowFile[Any] | None = (
            None
            if references is None
            else RowFile(
                lambda *placed: placed,
                references,
                AUTO,
                {column: name for column, name in self._columns.items() if name != "metadata"},
                expected=True,
            )
        )
        check_choice("missing", missing, get_args(Missing))
        self._on = on
        self._group_by, self._split, self._header = group_by, split, header
        self._missing: Missing = missing
        self._expected = expected
        self._first: list[dict[str, Any]] = []
        self._named: set[str] = set()
        self._place = "the first row"
        self._raw: Mapping[str, Any] = {}
        self._rows = self._placed()
        self._made = self._read()

    def __next__(self) -> T:
        try:
            return next(self._made)
        except (CtxMetricsError, StopIteration):
            raise
        except Exception as error:
            raise InputFileError(
                f"{self.path}, {self._place}: cannot be read: {type(error).__name__}: {error}. Write plain fields."
            ) from error

    @cached_property
    def payload(self) -> Payload | None:
        """What the file asks for beside its samples, where it is a request to Aegis; else None.

        Raises:
            InputFileError: The file cannot be read, or asks for something that is not here.
        """
        if self._schema != "aegis" or self.path.suffix.lower() != ".json":
            return None
        data = content_of(self.path)
        return (
            read_payload(data, self.path) if isinstance(data, dict) and "evaluations" in data else None
        )

    @cached_property
    def reading(self) -> Reading:
        """How the rows are read, decided from the first of them.

        Raises:
            InputFileError: The file cannot be read, or is empty.
            ParameterError: There is no such schema, field or column.
        """
        first = list(islice(self._rows, PEEKED))
        if any(is_trace(row) for _, row in first):
            self._rows = trace_rows(chain(first, self._rows))
            first = list(islice(self._rows, PEEKED))
        if not first:
            raise InputFileError(f"{self.path}: the file is empty. It should hold one sample a line.")
        self._rows = chain(first, self._rows)
        rows = self._first = [fields for _, fields in first if isinstance(fields, dict)]
        if any(row.keys() >= _OF_RESULTS for row in rows):
            raise InputFileError(
                f"{self.path}: these are results, as --out writes them. Give the file of the samples that were scored."
            )
        elsewhere = (
            self._columns
            if self._expected
            else self.references.reading.columns
            if self.references
            else ()
        )
        columns = {
            column: name
            for column, name in self._columns.items()
            if column not in elsewhere or any(look_up(row, column) is not None for row in rows)
        }
        try:
            reading = recognise(
                rows,
                self._schema,
                columns,
                single=True,
                source=self.path,
                grouped=self._group_by is not None,
                split=self._split,
                headed=self._header is not None,
            )
        except CtxMetricsError as error:
            raise type(error)(f"{self.path}: {error}") from None
        self._named.update(reading.others)
        return reading

    def first_value(self, path: str) -> Any:
        """Return the first value at a path of the first rows, or None."""
        rows = (
            {**self.reading.opened(row)[1], **{key: object_in(value) for key, value in row.items()}}
            for row in self._first
        )
        return next((found for row in rows if (found := look_up(row, path)) is not None), None)

    def _read(self) -> Iterator[T]:
        reading = self.reading
        partners = (
            None if self.references is None else Partners(self.references, self._on, self._missing)
        )
        rows = self._read_fields(reading)
        if self._group_by is not None:
            rows = group_rows(rows, self._group_by, reading.mapping)
        for values, where in rows:
            try:
                joined = values if partners is None else partners.join(values, where)
                made = [] if joined is None else [self._make(joined, where)]
            except CtxMetricsError as error:
                raise type(error)(_explained(str(error), where, reading, self._raw)) from None
            yield from made
        if partners is None:
            return
        for note in partners.notes():
            self._tell(note)
        for values, where in partners.unanswered():
            self._place = where
            yield self._make(values, where)

    def _read_fields(self, reading: Reading) -> Iterator[tuple[dict[str, Any], str]]:
        """Yield the fields of each row with its place."""
        for place, fields in self._rows:
            self._place = place
            if not isinstance(fields, dict):
                raise InputFileError(
                    f"{self.path}, {place}: a sample must be a JSON object of its fields."
                )
            self._raw, where = fields, f"{self.path}, {place}"
            try:
                values, others = reading.row(fields, where)
            except CtxMetricsError as error:
                raise type(error)(_explained(str(error), where, reading, fields)) from None
            if new := [name for name in others if name not in self._named]:
                self._named.update(new)
                self._tell(f"no field, carried along as metadata: {some_of(new)}")
            yield values, where

    def _placed(self) -> Iterator[tuple[str, Any]]:
        """Yield the rows with their places."""
        ending = ending_of(self.path)
        if self.path.is_dir():
            is_beir = (self.path / "qrels").is_dir() or (self.path / "queries.jsonl").is_file()
            yield from beir_rows(self.path) if is_beir else arrow_rows(self.path)
        elif ending not in _NEVER_RANKINGS and is_ranking(self.path):
            yield from ranking_rows(self.path)
        elif ending in _READERS:
            is_table = _READERS[ending] is cell_rows
            yield from cell_rows(self.path, self._header) if is_table else _READERS[ending](self.path)
        elif ending != ".json":
            raise InputFileError(
                f"{self.path}: files end in .jsonl, .json or .csv, .tsv or .parquet, all but the last also in .gz; a TREC run and "
                "qrels may end in anything. Rename or convert it."
            )
        elif self.payload is not None:
            yield from self.payload.rows
        else:
            data = content_of(self.path)
            if rankings := rankings_in(data):
                yield from rows_of(rankings, expected=self._expected)
                return
            rows, found = ([data], "") if is_trace(data) else rows_in(data, self.path)
            if found:
                self._tell(f"the samples are those in '{found}'")
            yield from ((f"sample {number}", item) for number, item in enumerate(rows, 1))

    def _tell(self, note: str) -> None:
        logging.getLogger("ctxmetrics").warning("%s: %s", self.path, note)


def _explained(problem: str, where: str, reading: Reading, row: Mapping[str, Any]) -> str:
    """Return the message of an error with the row's place; with the path of its field, where another may be meant."""
    placed = problem if problem.startswith(where) else f"{where}: {problem.removeprefix('Sample: ')}"
    field = re.search(r"field '(\w+)'(.*) must be", problem)
    path = reading.mapping.get(field[1]) if field else None
    # The field itself is wrong, not one of its items.
    held: Any = look_up(reading.opened(row)[1], path) if field and path and not field[2] else None
    fits = [
        key
        for key, one in (held.items() if hasattr(held, "items") else ())
        if isinstance(one, str if field and field[1] in TEXTS else list)
    ]
    inner = fits[0] if len(fits) == 1 else "KEY" if fits else ""
    if field is None or path is None or (path == field[1] and not inner):
        return placed
    option = shlex.quote(f"{path}.{inner}={field[1]}" if inner else f"COLUMN={field[1]}")
    return f"{placed} It was read from '{path}'; name another column or path, such as --map {option}."
