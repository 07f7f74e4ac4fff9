"""Rows of CSV and TSV files."""

from __future__ import annotations

import csv
import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.errors import InputFileError
from ctxmetrics.evaluation.files.header_keys import count_known
from ctxmetrics.evaluation.files.text_files import get_ending, open_text
from ctxmetrics.samples.cells import find_doubled

# How many rows may stand above a header, such as a title.
MAX_TITLE_ROWS = 10
# How many known names show that a row is a header.
MIN_KNOWN_NAMES = 2
# The maximum number of characters of a cell.
_MAX_CELL_CHARACTERS = 64 * 1024 * 1024
# The possible separators of the cells of a row. The first one is chosen if several fit.
_DELIMITERS = ",;\t|"
# The characters of a line without a text.
_CHARACTERS_WITHOUT_TEXT = f'\ufeff{_DELIMITERS}" \r\n'
# Whether a table has a header. A sequence gives the names of the columns instead of a header. None: find out.
Header = bool | Sequence[str] | None
# The first line of a file that says what separates its cells.
_DELIMITER_LINE = re.compile(r"\ufeff?sep=(.)\r?\n", re.IGNORECASE)
# A cell that a spreadsheet would run as a formula, with the apostrophe before it that prevents this: '=1+2.
ESCAPED_CELL = re.compile(r"'+[=+\-@\t\r]")
# Cells without a value, as pandas, spreadsheets and databases write them.
_EMPTY_CELL_TEXTS = frozenset({"", *read_data("samples", "keys.json")["cells"]["gaps"]})


def cell_rows(
    file: Path, header: Header = None, encoding: str | None = None
) -> Iterator[tuple[str, Any]]:
    """Yield each row of a CSV or TSV file with its place. Empty cells are left out.

    Cells hold text; lists and objects in them are read with the fields. The delimiter is the one that splits the header
    into the most columns: spreadsheets write ``;`` where the comma is the decimal sign.

    Args:
        file: The file.
        header: None or True: the first row is the header. False: the file has no header, and its columns are called
            ``column 1``, ``column 2`` and so on. A list of names: the file has no header, and its columns have these names.
        encoding: As for `ctxmetrics.evaluation.files.text_files.open_text`.

    Raises:
        InputFileError: The file is invalid, two columns have one name, or a row has more or fewer cells than the header.
    """
    csv.field_size_limit(_MAX_CELL_CHARACTERS)
    with open_text(file, encoding) as text:
        start = _read_start(text)
        usual_delimiters = "\t" if get_ending(file) == ".tsv" else _DELIMITERS
        delimiter = _find_delimiter(start.line, start.delimiter or usual_delimiters)
        reader = csv.reader(chain([start.line], text), delimiter=delimiter, strict=True)
        # Each row with the number of its line in the file; of a row of several lines, the last one.
        numbered_rows = ((reader.line_num + start.lines_before, cells) for cells in reader)
        try:
            first_rows = _read_first_rows(numbered_rows, header, file)
            _, first_cells = first_rows[0] if first_rows else (0, [])
            names = name_columns(first_cells, header)
            has_header = header is None or header is True
            if has_header:
                first_rows = first_rows[1:]
            for line, cells in chain(first_rows, numbered_rows):
                is_header_again = cells == names  # tables were put one below the other
                if not any(cells) or is_header_again:
                    continue
                place = f"line {line}"
                yield place, read_gaps(make_row(names, cells, file, place))
        except csv.Error as error:
            raise InputFileError(
                f"{file}, line {reader.line_num + start.lines_before}: not valid CSV: {error}."
            ) from None


def _read_first_rows(
    numbered_rows: Iterator[tuple[int, list[str]]], header: Header, file: Path
) -> list[tuple[int, list[str]]]:
    """Read the first row with its line. If it may be a title above the header, read more rows and drop the title.

    The result is empty if the file has no row.
    """
    first_rows = [*islice(numbered_rows, 1)]
    if header is not None or not first_rows:
        return first_rows
    _, first_cells = first_rows[0]
    if count_known(first_cells):
        return first_rows
    return drop_title([*first_rows, *islice(numbered_rows, MAX_TITLE_ROWS)], file)


class _Start(NamedTuple):
    """The beginning of a file.

    Attributes:
        line: The first line that holds a text; empty if there is none.
        delimiter: The delimiter that a line ``sep=;`` before it names, or None.
        lines_before: The number of lines before it.
    """

    line: str
    delimiter: str | None
    lines_before: int


def _read_start(text: Iterable[str]) -> _Start:
    """Read a file up to the first line that holds a text."""
    delimiter = None
    for number, line in enumerate(text):
        delimiter_line = _DELIMITER_LINE.fullmatch(line)
        if delimiter_line:
            delimiter = delimiter_line[1]
        elif line.strip(_CHARACTERS_WITHOUT_TEXT):
            return _Start(line, delimiter, number)
    return _Start("", delimiter, 0)


def read_gaps(row: dict[str, str]) -> dict[str, str]:
    """Return a row without the cells that are gaps, and texts without the apostrophe that keeps them from being formulas."""
    values: dict[str, str] = {}
    for name, cell in row.items():
        if cell not in _EMPTY_CELL_TEXTS:
            values[name] = cell[1:] if ESCAPED_CELL.match(cell) else cell
    return values


def _find_delimiter(line: str, delimiters: str) -> str:
    """Return the delimiter that splits a line into the most cells, the first of several."""

    def count_cells(delimiter: str) -> int:
        """Count the cells of the line."""
        return len(next(csv.reader([line], delimiter=delimiter), []))

    return max(delimiters, key=count_cells)


def drop_title(rows: list[tuple[int, list[str]]], file: Path) -> list[tuple[int, list[str]]]:
    """Return the first rows from the header on: the first row, or a later one if only that has names that are known.

    Args:
        rows: The number and the cells of each row.
        file: The file, for the note.
    """
    for index, (number, cells) in enumerate(rows):
        if count_known(cells) >= MIN_KNOWN_NAMES:
            if index:
                logging.getLogger("ctxmetrics").warning(
                    "%s: row %d is the header; not read: the rows above it", file, number
                )
            return rows[index:]
    return rows


def name_columns(cells: list[str], header: Header) -> list[str]:
    """Return the names of the columns.

    Args:
        cells: The cells of the first line.
        header: As for `cell_rows`.
    """
    if header is False:
        return [f"column {number}" for number in range(1, len(cells) + 1)]
    if header is None or header is True:
        # The name that pandas gives to an index without a name.
        return [cell or f"Unnamed: {number}" for number, cell in enumerate(cells)]
    return [*header]


def make_row(names: list[str], cells: list[str], file: Path, where: str) -> dict[str, str]:
    """Make a row of the names of the columns and the cells.

    Raises:
        InputFileError: There are more or fewer cells, or two columns of one name differ.
    """
    row = dict(zip(names, cells, strict=False))
    if len(cells) != len(names):
        raise InputFileError(
            f"{file}, {where}: the row has not as many cells as the header. Quote cells with commas."
        )
    if len(row) < len(names) and [row[name] for name in names] != cells:
        raise InputFileError(
            f"{file}, line 1: two columns are named {find_doubled(names)!r}, and differ in {where}. Rename one, or write "
            "--no-header (in Python header=False) if line 1 is no header."
        )
    return row
