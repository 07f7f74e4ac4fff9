"""The rows of a file of any kind, one at a time: JSON Lines, JSON, CSV, TSV, Parquet and folders of Hugging Face datasets.

Every error names the file, the place and the fix.
"""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Generic, TypeVar, get_args

from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.forks import cached_property
from ctxmetrics.errors import CtxMetricsError, InputFileError, ParameterError, SampleError
from ctxmetrics.evaluation.files.aegis import Payload, read_payload
from ctxmetrics.evaluation.files.arrow_rows import arrow_rows
from ctxmetrics.evaluation.files.column_proposals import find_expected_answer
from ctxmetrics.evaluation.files.csv_rows import Header, cell_rows
from ctxmetrics.evaluation.files.excel_rows import sheet_rows
from ctxmetrics.evaluation.files.field_locations import parse_cells
from ctxmetrics.evaluation.files.first_rows import LOOKAHEAD_ROWS
from ctxmetrics.evaluation.files.formats import expand_rows, holds_samples
from ctxmetrics.evaluation.files.header_keys import count_known
from ctxmetrics.evaluation.files.hit_order import Order
from ctxmetrics.evaluation.files.joining import Missing, Partners
from ctxmetrics.evaluation.files.json_rows import line_rows, read_json, rows_in
from ctxmetrics.evaluation.files.passage_lists import group_rows
from ctxmetrics.evaluation.files.ranking_tables import join_documents_of_queries
from ctxmetrics.evaluation.files.rankings import (
    beir_rows,
    is_ranking,
    iterate_queries,
    ranking_rows,
    rankings_in,
    run_rows,
    run_with_qrels_rows,
)
from ctxmetrics.evaluation.files.recognition import AUTO, recognise
from ctxmetrics.evaluation.files.row_decisions import Reading
from ctxmetrics.evaluation.files.row_plan import Plan
from ctxmetrics.evaluation.files.several_runs import (
    RepeatedQuestions,
    SettingCheck,
    find_value,
    keep_rows,
    name_value,
    name_wanted,
)
from ctxmetrics.evaluation.files.text_files import check_encoding, get_ending, open_text
from ctxmetrics.evaluation.files.traces import is_trace, trace_rows
from ctxmetrics.formulas.checks import check_choice
from ctxmetrics.samples.cells import list_in, read_cells
from ctxmetrics.samples.documents import look_up
from ctxmetrics.samples.field_keys import TEXTS, TEXTS_OF
from ctxmetrics.samples.schema import join_first
from ctxmetrics.samples.systems import join_options

_JSON_LINES_ENDINGS = (".jsonl", ".ndjson")
# The endings of files that are never TREC runs or qrels.
_NEVER_RANKING_ENDINGS = {*_JSON_LINES_ENDINGS, ".csv", ".json", ".parquet", ".xlsx"}
# The endings of tables whose first row may hold the names of the columns.
_TABLE_ENDINGS = (".csv", ".tsv", ".xlsx")
# The keys of a line of results (--out, of this and of earlier versions) or of a baseline. No sample has all of them.
_RESULT_KEYS = [{*names} for names in read_data("samples", "keys.json")["results"]]
# What is built from a row, such as a sample.
T = TypeVar("T")


class RowFile(Iterator[T], Generic[T]):
    """Read a file one row at a time and build an item, such as a sample, from each row; see `ctxmetrics.read_samples`.

    Args:
        build: Builds the item from the fields of a row (`Plan.apply`) and the place of the row.
        path: The file.
        schema: The name of the system whose keys the rows have, or ``"auto"``.
        columns: The field of each column or path, for names that no schema has.
        references: A file with the references, which is joined; see `ctxmetrics.evaluation.files.joining.Partners`.
        on: The key that both files have.
        missing: The treatment of a reference without a partner. ``"zero"``: it is a sample with nothing retrieved. ``"drop"``: it is
            a sample without a value.
        group_by: A field or column: the rows with the same value there are one sample.
        split: The separator of the passages in a retrieved text.
        order: The source of the order of the retrieved items; see `ctxmetrics.evaluation.files.hit_order`.
        only: A value for each of some columns: rows with another value are left out.
        by: A column. If it differs within a question, the rows with each of its values are a run of their own.
        header: Whether a table has a header, or the names of its columns; see `ctxmetrics.evaluation.files.csv_rows.cell_rows`.
        encoding: The encoding of a text file; see `ctxmetrics.evaluation.files.text_files.open_text`.
        sheet: The name of a sheet; see `ctxmetrics.evaluation.files.excel_rows.sheet_rows`.
        logs: Whether what was decided is logged.
        only_references: Whether the file holds references only. Then columns that the caller maps may stand in the other file.
    """

    def __init__(
        self,
        build: Callable[[dict[str, Any], str], T],
        path: str | os.PathLike[str],
        schema: str = AUTO,
        columns: Mapping[str, str] | None = None,
        *,
        references: str | os.PathLike[str] | None = None,
        on: str | None = None,
        missing: Missing = "zero",
        group_by: str | None = None,
        split: str | None = None,
        order: Order | None = None,
        only: Mapping[str, Any] | None = None,
        by: str | None = None,
        header: Header = None,
        encoding: str | None = None,
        sheet: str | None = None,
        only_references: bool = False,
        logs: bool = True,
    ) -> None:
        if columns is not None and not isinstance(columns, Mapping):
            raise ParameterError(
                "columns must map columns to fields, such as columns={'question': 'user_input'}."
            )
        if references is None and (on is not None or missing == "drop"):
            option = "--missing drop" if on is None else f"--on {on}"
            raise ParameterError(
                f"{option} is about two files. Give the second one: --references FILE (in Python references=)."
            )
        if sheet is not None and get_ending(Path(path)) != ".xlsx":
            raise ParameterError(f"--sheet {sheet}: {path} is no .xlsx file. Leave --sheet out.")
        if header is not None and get_ending(Path(path)) not in _TABLE_ENDINGS:
            raise ParameterError(
                f"--header and --names are about .csv, .tsv and .xlsx files, and {path} is none (in Python header=). Leave them out."
            )
        # `_read_by` opens the file again with the same options, once for each value.
        self._options: dict[str, Any] = {
            "path": path,
            "schema": schema,
            "columns": columns,
            "references": references,
            "on": on,
            "missing": missing,
            "group_by": group_by,
            "split": split,
            "order": order,
            "header": header,
            "encoding": encoding,
            "sheet": sheet,
        }
        self._wanted_values = {column: name_wanted(value) for column, value in (only or {}).items()}
        # A column of the metadata has its name without the prefix here.
        self._run_column = None if by is None else by.removeprefix("metadata.")
        self._logs = logs
        self.path: Path = Path(path)
        self._build = build
        self._schema = schema
        self._columns = dict(columns or {})
        self.references: RowFile[Any] | None = None
        if references is not None:
            self.references = RowFile(
                _pair_with_place,
                references,
                AUTO,
                {column: name for column, name in self._columns.items() if name != "metadata"},
                encoding=encoding,
                only_references=True,
            )
        check_choice("missing", missing, get_args(Missing))
        self._on = on
        self._group_by = group_by
        self._split = split
        self._order: Order | None = order
        # What puts the lists of a row in order: the option, unless the reader of the file has put them in order.
        self._list_order: Order | None = order
        self._header = header
        check_encoding(encoding)
        self._encoding = encoding
        self._sheet = sheet
        self._missing: Missing = missing
        self._only_references = only_references
        self._first_rows: list[dict[str, Any]] = []
        self._is_trace = False
        self._logged_names: set[str] = set()
        self._current_place = "the first row"
        self._current_row: Mapping[str, Any] = {}
        self._rows = self._open_rows()
        self._items = self._read() if self._run_column is None else self._read_by(self._run_column)

    def __next__(self) -> T:
        try:
            return next(self._items)
        except (CtxMetricsError, StopIteration):
            raise
        except Exception as error:
            raise self._add_place(error) from error

    def _add_place(self, error: Exception) -> InputFileError:
        """Turn an unexpected error into one with the place, so that no file ends in a traceback."""
        return InputFileError(
            f"{self.path}, {self._current_place}: cannot be read: {type(error).__name__}: {error}. Write plain fields."
        )

    @cached_property
    def payload(self) -> Payload | None:
        """The options of the file beside its samples, if it is a request to Aegis; else None.

        Raises:
            InputFileError: The file cannot be read, or asks for something that the library does not have.
        """
        if self._schema != "aegis" or self.path.suffix.lower() != ".json":
            return None
        data = read_json(self.path, self._encoding)
        if not isinstance(data, dict) or "evaluations" not in data:
            return None
        return read_payload(data, self.path)

    @property
    def reading(self) -> Reading:
        """The decisions about the rows. It raises the errors of `plan`."""
        return self.plan.reading

    @cached_property
    def plan(self) -> Plan:
        """How the rows are read, decided from the first rows.

        Raises:
            InputFileError: The file cannot be read, or is empty.
            ParameterError: There is no such schema, field or column.
        """
        try:
            return self._decide()
        except CtxMetricsError:
            raise
        except Exception as error:
            raise self._add_place(error) from error

    def _decide(self) -> Plan:
        """Decide how the rows are read; see `plan`."""
        placed_rows = list(islice(self._rows, LOOKAHEAD_ROWS))
        if any(is_trace(row) for _, row in placed_rows):
            self._is_trace = True
            self._rows = trace_rows(chain(placed_rows, self._rows))
            placed_rows = list(islice(self._rows, LOOKAHEAD_ROWS))
            self._list_order = self._order or "given"  # a retriever returns its documents in order
        if not placed_rows:
            raise InputFileError(f"{self.path}: the file is empty. It should hold one sample a line.")
        self._rows = chain(placed_rows, self._rows)
        rows = [row for _, row in placed_rows if isinstance(row, dict)]
        self._first_rows = rows
        if any(row.keys() >= names for row in rows for names in _RESULT_KEYS):
            raise InputFileError(
                f"{self.path}: these are results, as --out writes them. Give the file of the samples that were scored."
            )
        try:
            source = self.path if self._logs else None
            plan = self._recognise(rows, self._schema, self._select_columns(rows), source=source)
        except CtxMetricsError as error:
            raise error.at(str(self.path)) from None
        self._logged_names.update(plan.reading.unknown_names)
        return plan

    def _recognise(
        self,
        rows: list[dict[str, Any]],
        schema: str,
        columns: Mapping[str, str],
        *,
        source: Path | None = None,
    ) -> Plan:
        """Decide how rows are read with the options of the file; see `recognise`."""
        return recognise(
            rows,
            schema,
            columns,
            single=True,
            source=source,
            grouped=self._group_by is not None,
            split=self._split,
            order=self._list_order,
            several=self._run_column is not None or self._only_references,
            headed=self._header is not None,
        )

    def _select_columns(self, rows: list[dict[str, Any]]) -> dict[str, str]:
        """Return the mapped columns of this file. With a file of references, columns that only the other file has are left out."""
        if self._only_references:
            columns_of_other_file: Mapping[str, str] = self._columns
        elif self.references is not None:
            columns_of_other_file = self.references.reading.columns
        else:
            return dict(self._columns)
        columns: dict[str, str] = {}
        for column, name in self._columns.items():
            is_in_rows = any(look_up(row, column) is not None for row in rows)
            if is_in_rows or column not in columns_of_other_file:
                columns[column] = name
        return columns

    def count(self) -> int | None:
        """Count the samples of the file. Lines of JSON are counted without parsing them.

        Return None in two cases:

        - the number is not known without reading: options choose or join rows, or a row holds several samples;
        - the file cannot be read twice.

        Raises:
            InputFileError: As reading raises.
        """
        selecting_options = (self._group_by, self._run_column, self.references, self._wanted_values)
        if any(selecting_options) or self._is_trace or not self.path.is_file():
            return None
        if any(map(holds_samples, self._first_rows)):
            return None
        if get_ending(self.path) not in _JSON_LINES_ENDINGS:
            return sum(1 for _ in expand_rows(self._open()))
        with open_text(self.path, self._encoding) as text:
            return sum(1 for line in text if line.strip())

    def list_columns(self) -> dict[str, str] | None:
        """List the columns to map so that the first rows give the same samples without recognition. Return None if no mapping does."""
        reading = self.reading
        columns = {reading.original(column): name for column, name in reading.columns.items()}
        for name, path in reading.mapping.items():
            if path != name and name not in columns.values():
                columns[path] = name
        rows = self._first_rows
        try:
            plan = self._recognise(rows, "ragas", columns)
            for row in rows:
                fields, _ = plan.apply(row)
                recognised_fields, _ = self.plan.apply(row)
                if fields != recognised_fields:
                    return None
        except CtxMetricsError:
            return None
        return columns

    def list_plans(self) -> list[Plan]:
        """List how the rows are read: the plan of this file, and that of the references."""
        return [self.plan] if self.references is None else [self.plan, self.references.plan]

    def first_value(self, path: str) -> Any:
        """Return the first value at a path of the first rows, or None."""
        for row in self._first_rows:
            # The schema parses the cells whose names it knows. Cells with JSON are read whatever their name is, and come first here.
            _, parsed_row = parse_cells(self.reading, row)
            value = look_up({**parsed_row, **read_cells(row)}, path)
            if value is not None:
                return value
        return None

    def _read(self) -> Iterator[T]:
        """Yield an item for each row, or for each group of rows. Then yield one for each reference without an answer."""
        plan = self.plan
        partners = None
        if self.references is not None:
            partners = Partners(self.references, self._on, self._missing)
        rows = self._read_fields(plan)
        if self._group_by is not None:
            no_settings = _carried_columns(plan.reading)
            rows = group_rows(rows, self._group_by, plan.reading.mapping, self._list_order, no_settings)
        elif not self._only_references:
            rows = self._check_settings(rows, plan.reading)
        for values, where in rows:
            try:
                fields = values if partners is None else partners.join(values, where)
                if fields is None:  # `partners.references_without_row` yields it at the end
                    continue
                item = self._build(fields, where)
            except CtxMetricsError as error:
                raise self._explain_columns(error.at(where), self._current_row) from None
            yield item
        if partners is None:
            return
        for note in partners.notes():
            self._log_note(note)
        for values, where in partners.references_without_row():
            self._current_place = where
            yield self._build(values, where)

    def _read_by(self, by: str) -> Iterator[T]:
        """Read the rows of each value of a column separately, if the column differs within a question. Otherwise read them as `_read` does."""
        # The values of the column: for each question, and all values in the order of the rows.
        values_by_question: dict[str, set[str]] = {}
        values: dict[str, None] = {}
        lacks_value = False  # whether a row has no value there
        # The rows of one run may be readable although all rows together are refused.
        plan = replace(self.plan, refusal=None)
        for fields, _ in self._read_fields(plan):
            cell = find_value(self._current_row, by)
            if cell is None:
                lacks_value = True
            value = name_value(cell)
            question = find_value(self._current_row, self._group_by) if self._group_by else None
            if question is None:
                question = fields.get("user_input", fields.get("id"))
            values_by_question.setdefault(str(question), set()).add(value)
            values[value] = None
        if all(len(question_values) == 1 for question_values in values_by_question.values()):
            self._rows = self._open_rows()
            yield from self._read()
            return
        if lacks_value:
            raise ParameterError(f"{self.path}: by={by}: some rows have no value there.")
        for value in values:
            build = partial(self._build_of_run, by, value)
            yield from RowFile(
                build, only={**self._wanted_values, by: value}, logs=False, **self._options
            )

    def _build_of_run(self, by: str, value: str, fields: dict[str, Any], where: str) -> T:
        """Build an item of one run. Its id and its metadata name the run."""
        metadata = {**(fields.get("metadata") or {}), by: value}
        id_ = fields.get("id")
        name = None if id_ is None else f"{id_} ({value})"
        return self._build({**fields, "id": name, "metadata": metadata}, where)

    def _check_settings(
        self, rows: Iterable[tuple[dict[str, Any], str]], reading: Reading
    ) -> Iterator[tuple[dict[str, Any], str]]:
        """Yield the rows. Refuse a row that is a second retrieval of an earlier question."""
        setting_check = SettingCheck(_carried_columns(reading))
        questions = RepeatedQuestions()
        for values, where in rows:
            try:
                setting_check.check(values)
            except SampleError as error:
                raise error.at(where) from None
            questions.add(values)
            yield values, where
        note = questions.describe()
        if note:
            self._log_note(note)

    def _read_fields(self, plan: Plan) -> Iterator[tuple[dict[str, Any], str]]:
        """Yield the fields of each row with its place."""
        for place, fields in self._rows:
            self._current_place = place
            if not isinstance(fields, dict):
                raise InputFileError(
                    f"{self.path}, {place}: a sample must be a JSON object of its fields."
                )
            self._current_row = fields
            where = f"{self.path}, {place}"
            try:
                values, unknown_names = plan.apply(fields, where)
            except CtxMetricsError as error:
                raise self._explain_columns(error.at(where), fields) from None
            new_names = [name for name in unknown_names if name not in self._logged_names]
            if new_names:
                self._logged_names.update(new_names)
                self._log_note(f"no field, carried along as metadata: {join_first(new_names)}")
            yield values, where

    def _explain_columns(self, error: CtxMetricsError, row: Mapping[str, Any]) -> CtxMetricsError:
        """Add to the error of a field from which path it was read, how to name another path, and how to see all columns."""
        if not isinstance(error, SampleError):
            return error
        path = self.reading.mapping.get(error.field or "")
        options: list[str] = []
        if path is not None and error.wrong_kind:
            options = _find_options(self.reading, row, path, error)
            if path != error.field or options:
                error.fix = f"{error.fix} It was read from '{path}'".lstrip()
                error.fix += "" if options else "."
                error.about_columns = not options
        if options:
            error.fix += f"; name another column or path, such as {join_options(options)}."
        if error.about_columns:
            command = f"ctxmetrics inspect {shlex.quote(str(self.path))} shows all columns."
            error.fix = f"{error.fix} {command}".lstrip()
        return error

    def _open_rows(self) -> Iterator[tuple[str, Any]]:
        """Open the file and yield its rows with their places. With ``only``, yield only rows with its values."""
        rows = expand_rows(self._open())
        if self._wanted_values:
            rows = keep_rows(rows, self._wanted_values)
        if self._only_references or self.references is not None:
            rows = join_documents_of_queries(
                rows,
                self.path,
                are_expected=self._only_references,
                several=self._run_column is not None,
            )
        yield from rows

    def _open(self) -> Iterator[tuple[str, Any]]:
        """Open the file with the reader of its kind."""
        ending = get_ending(self.path)
        if self.path.is_dir():
            is_beir = (self.path / "qrels").is_dir() or (self.path / "queries.jsonl").is_file()
            return beir_rows(self.path) if is_beir else arrow_rows(self.path)
        is_run = self.references is not None
        if ending not in _NEVER_RANKING_ENDINGS and is_ranking(self.path, is_run=is_run):
            self._list_order = "given"
            return ranking_rows(self.path, is_run=is_run, order=self._order)
        if ending in (".csv", ".tsv"):
            return cell_rows(self.path, self._header, self._encoding)
        readers: Mapping[str, Callable[[], Iterator[tuple[str, Any]]]] = {
            ".json": self._json_rows,
            ".parquet": partial(arrow_rows, self.path),
            ".xlsx": partial(sheet_rows, self.path, self._header, self._sheet),
            **dict.fromkeys(_JSON_LINES_ENDINGS, partial(line_rows, self.path, self._encoding)),
        }
        if ending in readers:
            return readers[ending]()
        raise InputFileError(
            f"{self.path}: files end in .jsonl, .json, .csv, .tsv, .parquet or .xlsx, all but the last two also in .gz; a TREC run "
            "and qrels may end in anything. Rename or convert it."
        )

    def _json_rows(self) -> Iterator[tuple[str, Any]]:
        """Yield the rows of a JSON file: a request to Aegis, rankings by query, a trace, or samples."""
        if self.payload is not None:
            return iter(self.payload.rows)
        data = read_json(self.path, self._encoding)
        joined_rows = run_with_qrels_rows(data, self.path, self._order)
        if joined_rows is not None:
            self._list_order = "given"
            return joined_rows
        # A table by columns holds lists too. Beside a second file, and without a known name, lists are rankings.
        is_one_of_two_files = self._only_references or self.references is not None
        rankings = rankings_in(
            data,
            self.path,
            are_expected=self._only_references,
            may_be_lists=is_one_of_two_files and not count_known(map(str, data)),
        )
        if rankings is not None and self._only_references:
            return iterate_queries(rankings, are_expected=True)
        if rankings is not None:
            self._list_order = "given"
            return run_rows(rankings, self._order)
        if is_trace(data):
            rows = [data]
            path = ""
        else:
            rows, path = rows_in(data, self.path)
        if path:
            self._log_note(f"the samples are those in '{path}'")
        return ((f"sample {number}", item) for number, item in enumerate(rows, 1))

    def _log_note(self, note: str) -> None:
        """Log a note about the file."""
        logging.getLogger("ctxmetrics").warning("%s: %s", self.path, note)


def _pair_with_place(fields: dict[str, Any], place: str) -> tuple[dict[str, Any], str]:
    """Pair the fields of a row of references with the place of the row."""
    return fields, place


def _carried_columns(reading: Reading) -> set[str]:
    """Return the columns that the caller maps to the metadata. Such a column does not say to which retrieval a row belongs."""
    return {column for column, name in reading.columns.items() if name == "metadata"}


def _find_options(reading: Reading, row: Mapping[str, Any], path: str, error: SampleError) -> list[str]:
    """Find what may be meant in place of the value at a path, each as ``PATH=FIELD``."""
    _, parsed_row = parse_cells(reading, row)
    value = look_up(parsed_row, path)
    if error.is_whole_field and error.field in TEXTS and list_in(value):
        paths_by_field = find_expected_answer(path, value)
        return [f"{answer}={field}" for field, answers in paths_by_field.items() for answer in answers]
    paths: list[str] = []
    if error.is_whole_field:
        paths = _find_paths_of_kind(value, path, str(error.field))
    elif error.item is not None and error.field in TEXTS_OF.values():
        paths = _find_texts_of_items(value, path)
    return [f"{option_path}={error.field}" for option_path in paths]


def _find_paths_of_kind(holder: Any, path: str, field: str) -> list[str]:
    """Find the paths of the values that may be the field in the object at a path."""
    if not hasattr(holder, "items"):
        return []
    kind = str if field in TEXTS else list
    return [f"{path}.{key}" for key, value in holder.items() if isinstance(value, kind)]


def _find_texts_of_items(documents: Any, path: str) -> list[str]:
    """Find the paths of the texts in the first object of a list."""
    items = list_in(documents) or [None]
    if not hasattr(items[0], "items"):
        return []
    texts = {key: value for key, value in items[0].items() if isinstance(value, str)}
    longest_first = sorted(texts, key=lambda key: len(texts[key]), reverse=True)
    return [f"{path}[].{key}" for key in longest_first]
