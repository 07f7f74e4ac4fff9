"""The rows of a file of any kind, one at a time: JSON Lines, JSON, CSV, TSV, Parquet and folders of Hugging Face datasets.

Every error names the file, the place and the fix.
"""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Generic, TypeVar, get_args

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.errors import CtxMetricsError, InputFileError, SampleError
from ctxmetrics.formulas.checks import check_choice
from ctxmetrics.reading.aegis import Payload, read_payload
from ctxmetrics.reading.arrow_rows import arrow_rows
from ctxmetrics.reading.cells import read_cells
from ctxmetrics.reading.csv_rows import Header, cell_rows
from ctxmetrics.reading.documents import look_up
from ctxmetrics.reading.excel_rows import sheet_rows
from ctxmetrics.reading.formats import within
from ctxmetrics.reading.joining import Missing, Partners
from ctxmetrics.reading.json_rows import line_rows, read_json, rows_in
from ctxmetrics.reading.rankings import beir_rows, is_ranking, query_rows, ranking_rows, rankings_in
from ctxmetrics.reading.recognition import AUTO, PEEKED, recognise
from ctxmetrics.reading.rows import Reading
from ctxmetrics.reading.schema import TEXTS, some_of
from ctxmetrics.reading.shapes import group_rows
from ctxmetrics.reading.text_files import check_encoding, get_ending
from ctxmetrics.reading.traces import is_trace, trace_rows

_LINES = (".jsonl", ".ndjson")
# Endings of files that are no TREC runs or qrels.
_NEVER_RANKINGS = {*_LINES, ".csv", ".json", ".parquet", ".xlsx"}
# What a line of --out, also of earlier versions, or of a baseline has, and no sample.
_OF_RESULTS = [{*names.split()} for names in read_data("reading", "keys.json")["results"]]
T = TypeVar("T")


class RowFile(Iterator[T], Generic[T]):
    """Reads the rows of a file one at a time and makes something of each; see `ctxmetrics.read_samples`.

    Args:
        make: Makes something of the fields of a row (`Reading.row`) and of its place.
        path: The file.
        schema: Whose words the keys are, or ``"auto"``.
        columns: Which column or path holds which field, where no schema is right.
        references: The file of what is expected, which is joined; see `ctxmetrics.reading.joining.Partners`.
        on: The key that both files have.
        missing: ``"zero"``: a reference without a partner is a sample with nothing retrieved. ``"drop"``: one without a
            value.
        group_by: A field or column: the rows with one value of it are one sample.
        split: What separates the passages of a retrieved text.
        header: Whether a table has a header, or the names of its columns; see `ctxmetrics.reading.csv_rows.cell_rows`.
        encoding: The encoding of a text file; see `ctxmetrics.reading.text_files.open_text`.
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
        encoding: str | None = None,
        expected: bool = False,
    ) -> None:
        self.path: Path = Path(path)
        self._make = make
        self._schema = schema
        self._columns = dict(columns or {})
        self.references: RowFile[Any] | None = None
        if references is not None:
            self.references = RowFile(
                lambda *placed: placed,
                references,
                AUTO,
                {column: name for column, name in self._columns.items() if name != "metadata"},
                encoding=encoding,
                expected=True,
            )
        check_choice("missing", missing, get_args(Missing))
        self._on = on
        self._group_by, self._split, self._header = group_by, split, header
        check_encoding(encoding)
        self._encoding = encoding
        self._missing: Missing = missing
        self._expected = expected
        self._first: list[dict[str, Any]] = []
        self._named: set[str] = set()
        self._place = "the first row"
        self._raw: Mapping[str, Any] = {}
        self._rows = self._placed()
        self._items = self._read()

    def __next__(self) -> T:
        with self._naming_place():
            return next(self._items)

    @contextmanager
    def _naming_place(self) -> Iterator[None]:
        """Name the place of whatever is raised in the block, for no file may end in a traceback."""
        try:
            yield
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
        data = read_json(self.path, self._encoding)
        if not isinstance(data, dict) or "evaluations" not in data:
            return None
        return read_payload(data, self.path)

    @cached_property
    def reading(self) -> Reading:
        """How the rows are read, decided from the first of them.

        Raises:
            InputFileError: The file cannot be read, or is empty.
            ParameterError: There is no such schema, field or column.
        """
        with self._naming_place():
            return self._decide()

    def _decide(self) -> Reading:
        """Decide how the rows are read; see `reading`."""
        first = list(islice(self._rows, PEEKED))
        if any(is_trace(row) for _, row in first):
            self._rows = trace_rows(chain(first, self._rows))
            first = list(islice(self._rows, PEEKED))
        if not first:
            raise InputFileError(f"{self.path}: the file is empty. It should hold one sample a line.")
        self._rows = chain(first, self._rows)
        rows = self._first = [fields for _, fields in first if isinstance(fields, dict)]
        if any(row.keys() >= names for row in rows for names in _OF_RESULTS):
            raise InputFileError(
                f"{self.path}: these are results, as --out writes them. Give the file of the samples that were scored."
            )
        try:
            reading = recognise(
                rows,
                self._schema,
                self._own_columns(rows),
                single=True,
                source=self.path,
                grouped=self._group_by is not None,
                split=self._split,
                headed=self._header is not None,
            )
        except CtxMetricsError as error:
            raise error.at(str(self.path)) from None
        self._named.update(reading.others)
        return reading

    def _own_columns(self, rows: list[dict[str, Any]]) -> dict[str, str]:
        """Return which of the mapped columns are looked for in this file, where there are two."""
        if self._expected:
            elsewhere: Mapping[str, str] = self._columns
        elif self.references is not None:
            elsewhere = self.references.reading.columns
        else:
            return dict(self._columns)
        columns: dict[str, str] = {}
        for column, name in self._columns.items():
            is_here = any(look_up(row, column) is not None for row in rows)
            if is_here or column not in elsewhere:
                columns[column] = name
        return columns

    def first_value(self, path: str) -> Any:
        """Return the first value at a path of the first rows, or None."""
        for row in self._first:
            _, opened = self.reading.opened(row)
            value = look_up({**opened, **read_cells(row)}, path)
            if value is not None:
                return value
        return None

    def _read(self) -> Iterator[T]:
        reading = self.reading
        partners = None
        if self.references is not None:
            partners = Partners(self.references, self._on, self._missing)
        rows = self._read_fields(reading)
        if self._group_by is not None:
            rows = group_rows(rows, self._group_by, reading.mapping)
        for values, where in rows:
            try:
                fields = values if partners is None else partners.join(values, where)
                if fields is None:  # it comes at the end
                    continue
                item = self._make(fields, where)
            except CtxMetricsError as error:
                raise _explain(error.at(where), reading, self._raw) from None
            yield item
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
                raise _explain(error.at(where), reading, fields) from None
            new = [name for name in others if name not in self._named]
            if new:
                self._named.update(new)
                self._tell(f"no field, carried along as metadata: {some_of(new)}")
            yield values, where

    def _placed(self) -> Iterator[tuple[str, Any]]:
        """Yield the rows with their places."""
        yield from within(self._open())

    def _open(self) -> Iterator[tuple[str, Any]]:
        """Open the file with the reader of its kind."""
        ending = get_ending(self.path)
        if self.path.is_dir():
            is_beir = (self.path / "qrels").is_dir() or (self.path / "queries.jsonl").is_file()
            return beir_rows(self.path) if is_beir else arrow_rows(self.path)
        if ending not in _NEVER_RANKINGS and is_ranking(self.path):
            return ranking_rows(self.path)
        if ending in (".csv", ".tsv"):
            return cell_rows(self.path, self._header, self._encoding)
        readers: Mapping[str, Callable[[], Iterator[tuple[str, Any]]]] = {
            ".json": self._json_rows,
            ".parquet": partial(arrow_rows, self.path),
            ".xlsx": partial(sheet_rows, self.path, self._header),
            **dict.fromkeys(_LINES, partial(line_rows, self.path, self._encoding)),
        }
        if ending in readers:
            return readers[ending]()
        raise InputFileError(
            f"{self.path}: files end in .jsonl, .json, .csv, .tsv, .parquet or .xlsx, all but the last two also in .gz; a TREC run "
            "and qrels may end in anything. Rename or convert it."
        )

    def _json_rows(self) -> Iterator[tuple[str, Any]]:
        if self.payload is not None:
            return iter(self.payload.rows)
        data = read_json(self.path, self._encoding)
        rankings = rankings_in(data)
        if rankings:
            return query_rows(rankings, expected=self._expected)
        rows, path = ([data], "") if is_trace(data) else rows_in(data, self.path)
        if path:
            self._tell(f"the samples are those in '{path}'")
        return ((f"sample {number}", item) for number, item in enumerate(rows, 1))

    def _tell(self, note: str) -> None:
        logging.getLogger("ctxmetrics").warning("%s: %s", self.path, note)


def _explain(error: CtxMetricsError, reading: Reading, row: Mapping[str, Any]) -> CtxMetricsError:
    """Add to an error the path of its field, where another may be meant."""
    if not isinstance(error, SampleError) or not error.wrong_kind or error.field is None:
        return error
    path = reading.mapping.get(error.field)
    if path is None:
        return error
    inner = _fitting_key(reading, row, path, error.field) if error.is_whole_field else ""
    if path == error.field and not inner:
        return error
    option = f"{path}.{inner}={error.field}" if inner else f"COLUMN={error.field}"
    error.fix = (
        f"{error.fix} It was read from '{path}'; name another column or path, such as --map "
        f"{shlex.quote(option)}."
    ).lstrip()
    return error


def _fitting_key(reading: Reading, row: Mapping[str, Any], path: str, field: str) -> str:
    """Return the key of the object at a path that may hold the field: ``KEY`` where several do, empty where none does."""
    _, opened = reading.opened(row)
    holder = look_up(opened, path)
    if not hasattr(holder, "items"):
        return ""
    kind = str if field in TEXTS else list
    fits = [key for key, value in holder.items() if isinstance(value, kind)]
    if len(fits) > 1:
        return "KEY"
    return fits[0] if fits else ""
