"""Results as tables for other programs: CSV, Excel and Parquet. One row a sample; the verdicts stand in a second table.

Texts are untrusted: what a spreadsheet would run as a formula begins with an apostrophe, which `read_samples` removes.
"""

from __future__ import annotations

import csv
import io
import json
import logging
import os
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from ctxmetrics import __version__
from ctxmetrics.errors import ParameterError, importing
from ctxmetrics.evaluation.files.csv_rows import ESCAPED_CELL
from ctxmetrics.evaluation.files.text_files import get_ending
from ctxmetrics.evaluation.rows.metric_values import REASON_COLUMN_ENDING
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.rows.sample_record import build_record
from ctxmetrics.samples.field_keys import FIELDS
from ctxmetrics.scores.score import Score

# The endings of files that are no tables: their lines are JSON.
_JSON_LINES_ENDINGS = (".jsonl", ".ndjson", "")
# The package that writes a table, by the ending of its file.
_PACKAGE_OF_ENDING = {".csv": None, ".xlsx": "openpyxl", ".parquet": "pyarrow"}
# The name of the writer in a Parquet file of this library.
_WRITER_NAME = "ctxmetrics"
_SHEET_TITLES = ("samples", "verdicts")
# Stands after the name of a metric, in the column with the count of its doubtful verdicts.
_DOUBTFUL_COLUMN_ENDING = ".doubtful"
_VERDICT_COLUMNS = (
    "sample_id",
    "metric",
    "verdict",
    "text",
    "value",
    "code",
    "reason",
    "contexts",
    "quotes",
)
# How the value of a verdict is written.
_VERDICT_WORDS = {True: "yes", False: "no", None: None}
# The limits of a sheet of Excel: characters in a cell, and rows.
_MAX_CELL_CHARACTERS = 32_767
_MAX_SHEET_ROWS = 1_048_576
# How Excel writes a carriage return.
_EXCEL_RETURN = "_x000D_"
_BOM = "\ufeff"  # without it, Excel reads CSV in the encoding of the system
_INSPECTED_END_BYTES = 65_536

TableRows = list[dict[str, Any]]


def is_table(path: str | os.PathLike[str]) -> bool:
    """Tell whether a file of results is a table, by its ending."""
    return Path(path).suffix.lower() in _PACKAGE_OF_ENDING


def check_ending(path: str | os.PathLike[str]) -> None:
    """Refuse a file of results that cannot be written.

    Raises:
        ParameterError: Its ending names another kind of file.
        MissingExtraError: A package is needed, and not installed.
    """
    ending = Path(path).suffix.lower()
    if get_ending(Path(path)) not in _JSON_LINES_ENDINGS and ending not in _PACKAGE_OF_ENDING:
        raise ParameterError(
            f"{path}: results are not written as {ending}. Write a file that ends in .jsonl, .jsonl.gz, .jsonl.zst, "
            ".csv, .xlsx or .parquet."
        )
    package = {**_PACKAGE_OF_ENDING, ".zst": "pyarrow"}.get(ending)
    if package:
        with importing(package):
            __import__(package)


def verdicts_beside(path: str | os.PathLike[str]) -> Path | None:
    """Name the file of the verdicts beside a table. Return None if the verdicts stand in the table."""
    file_path = Path(path)
    if not is_table(file_path) or file_path.suffix.lower() == ".xlsx":
        return None
    return file_path.with_name(f"{file_path.stem}.verdicts{file_path.suffix}")


def is_own(file_path: Path) -> bool:
    """Tell whether a table was written by this library.

    An Excel file is recognised by the titles of its sheets, a CSV file by its header, and a Parquet file by the name of its writer,
    which stands near its end.
    """
    ending = file_path.suffix.lower()
    try:
        if ending == ".xlsx":
            with zipfile.ZipFile(file_path) as book:
                names = book.read("xl/workbook.xml")
                return all(f'name="{title}"'.encode() in names for title in _SHEET_TITLES)
        with file_path.open("rb") as file:
            if ending == ".csv":
                header = file.readline().decode("utf-8-sig")
                return _DOUBTFUL_COLUMN_ENDING in header or header.startswith(
                    ",".join(_VERDICT_COLUMNS)
                )
            file.seek(-min(_INSPECTED_END_BYTES, file_path.stat().st_size), os.SEEK_END)
            return ending == ".parquet" and _WRITER_NAME.encode() in file.read()
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return False


def build_tables(
    path: str | os.PathLike[str], rows: Iterable[Row], *, keep_texts: bool
) -> dict[Path, bytes]:
    """Build the files of a table of results.

    Args:
        path: The file. Its ending decides the format.
        rows: The rows.
        keep_texts: Write all fields of the samples.

    Returns:
        The content of each file.
    """
    samples: TableRows = []
    verdicts: TableRows = []
    for row in rows:
        samples.append(_build_sample_row(row, keep_texts=keep_texts))
        for score in row.scores:
            verdicts += _list_verdict_rows(row, score)
    names = _list_columns(samples)
    file_path = Path(path)
    verdicts_path = verdicts_beside(path)
    if verdicts_path is None:
        tables = [(names, samples), (_VERDICT_COLUMNS, verdicts)]
        return {file_path: _write_excel(dict(zip(_SHEET_TITLES, tables, strict=True)))}
    write = _write_csv if file_path.suffix.lower() == ".csv" else _write_parquet
    return {file_path: write(names, samples), verdicts_path: write(_VERDICT_COLUMNS, verdicts)}


def _build_sample_row(row: Row, *, keep_texts: bool) -> dict[str, Any]:
    """Build the row of a sample: its fields, then the value of each metric."""
    record = build_record(row, keep_texts=keep_texts) or {}
    values: dict[str, Any] = {"id": row.sample_id}
    for name in FIELDS[1:]:
        value = record.get(name)
        if value not in (None, {}):
            values[name] = value
    for score in row.scores:
        values[score.metric] = score.value
        values[score.metric + _DOUBTFUL_COLUMN_ENDING] = sum(score.doubtful.values())
        if score.reason_code:
            values[score.metric + REASON_COLUMN_ENDING] = score.reason_code
    return values


def _list_columns(table: TableRows) -> tuple[str, ...]:
    """Return the names of the columns: the fields of the samples, then each metric."""
    names = dict.fromkeys(chain.from_iterable(table))
    fields = [name for name in FIELDS if name in names]
    return (*fields, *(name for name in names if name not in fields))


def _list_verdict_rows(row: Row, score: Score) -> Iterable[dict[str, Any]]:
    """Yield a row for each verdict of a score."""
    for verdict in score.verdicts:
        contexts = [span.context + 1 for span in verdict.evidence]
        cells = (
            row.name, score.metric, verdict.id, verdict.text, _VERDICT_WORDS[verdict.value], verdict.code, verdict.reason,
            contexts, [span.quote for span in verdict.evidence],
        )  # fmt: skip
        yield dict(zip(_VERDICT_COLUMNS, cells, strict=True))


def _to_cell(value: Any) -> Any:
    """Return a value as a cell: numbers as they are, lists and objects as JSON, no text that is a formula."""
    if value is None or isinstance(value, (int, float)):
        return value
    text = _to_utf8(value if isinstance(value, str) else _to_json(value))
    return f"'{text}" if ESCAPED_CELL.match(f"'{text}") else text


def _to_utf8(text: str) -> str:
    """Return a text that UTF-8 can hold: half a character becomes its escape."""
    return text.encode("utf-8", "backslashreplace").decode()


def _holds_object(value: Any) -> bool:
    """Tell whether a value is an object or a list with an object, such as a fact with a weight."""
    items = value if isinstance(value, list) else [value]
    return any(isinstance(item, dict) for item in items)


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _write_csv(names: Sequence[str], table: TableRows) -> bytes:
    """Write a table as CSV."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(names)
    for row in table:
        writer.writerow([_to_cell(row.get(name)) for name in names])
    return (_BOM + text.getvalue()).encode()


def _write_excel(tables: Mapping[str, tuple[Sequence[str], TableRows]]) -> bytes:
    """Write tables as the sheets of an Excel file."""
    from openpyxl import Workbook
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE as ILLEGAL

    book = Workbook(write_only=True)
    cut = 0
    for title, (names, table) in tables.items():
        sheet = book.create_sheet(title)
        sheet.append([*names])
        for row in table[: _MAX_SHEET_ROWS - 1]:
            cells = [_to_cell(row.get(name)) for name in names]
            for index, cell in enumerate(cells):
                if not isinstance(cell, str):
                    continue
                # A carriage return as Excel writes it: XML would make a line feed of it.
                text = ILLEGAL.sub("\ufffd", cell).replace("\r", _EXCEL_RETURN)
                if len(text) > _MAX_CELL_CHARACTERS:  # openpyxl would cut it without a word
                    cut += 1
                    text = _cut_text(text, _MAX_CELL_CHARACTERS - 1) + "…"
                cells[index] = text
            sheet.append(cells)
        cut += max(len(table) - _MAX_SHEET_ROWS + 1, 0)
    if cut:
        logging.getLogger("ctxmetrics").warning(
            "%d cells or rows are more than a sheet of Excel holds (%d characters, %d rows), and were cut. Write .csv or "
            ".parquet for all.", cut, _MAX_CELL_CHARACTERS, _MAX_SHEET_ROWS,
        )  # fmt: skip
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _cut_text(text: str, size: int) -> str:
    """Cut a text for a sheet. Do not cut through the code of a carriage return."""
    text = text[:size]
    if not text.endswith(_EXCEL_RETURN):
        for length in range(len(_EXCEL_RETURN) - 1, 0, -1):
            if text.endswith(_EXCEL_RETURN[:length]):
                return text[:-length]
    return text


def _write_parquet(names: Sequence[str], table: TableRows) -> bytes:
    """Write a table as Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, Any] = {}
    for name in names:
        values = [row.get(name) for row in table]
        if any(map(_holds_object, values)):
            values = [_to_json(value) if value else None for value in values]
        column = pa.array([_to_utf8(value) if isinstance(value, str) else value for value in values])
        if pa.types.is_null(column.type):  # no row has a value
            is_text = name in FIELDS or name in _VERDICT_COLUMNS
            column = column.cast(pa.string() if is_text else pa.float64())
        columns[name] = column
    data = pa.table(columns).replace_schema_metadata({_WRITER_NAME: __version__})
    file = io.BytesIO()
    pq.write_table(data, file)
    return file.getvalue()
