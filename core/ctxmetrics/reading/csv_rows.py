"""Rows of CSV and TSV files."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from ctxmetrics.errors import InputFileError
from ctxmetrics.reading.cells import find_doubled
from ctxmetrics.reading.text_files import get_ending, open_text

_LARGEST_CELL = 64 * 1024 * 1024
_DELIMITERS = ",;\t|"
# Whether a table has a header; names: those of its columns, in its place; None: it seems to have one.
Header = bool | Sequence[str] | None
# Cells without a value, as pandas and databases write them.
_GAPS = frozenset({"", "nan", "NaN", "None", "null", "NULL", "<NA>"})


def cell_rows(file: Path, header: Header = None) -> Iterator[tuple[str, Any]]:
    """Return each row of a CSV or TSV file with its place; empty cells are left out.

    Cells hold text; lists and objects in them are read with the fields. The delimiter is the one that splits the header
    into the most columns: spreadsheets write ``;`` where the comma is the decimal sign.

    Args:
        file: The file.
        header: False: it has no header, and the columns are ``column 1``, ``column 2`` ..; names: these.

    Raises:
        InputFileError: It is not valid, two columns have one name, or a row has not as many cells as the header.
    """
    csv.field_size_limit(_LARGEST_CELL)
    with open_text(file) as text:
        first = text.readline()
        delimiter, cells = _split_header(first, _delimiters(file))
        has_header = header is None or header is True
        names = _names(cells, header)
        lines = text if has_header else chain([first], text)
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        try:
            for cells in filter(None, reader):
                where = f"line {reader.line_num + has_header}"
                row = _row(names, cells, file, where)
                yield where, {name: cell for name, cell in row.items() if cell not in _GAPS}
        except csv.Error as error:
            raise InputFileError(
                f"{file}, line {reader.line_num + 1}: not valid CSV: {error}."
            ) from None


def _delimiters(file: Path) -> str:
    return "\t" if get_ending(file) == ".tsv" else _DELIMITERS


def _split_header(line: str, delimiters: str) -> tuple[str, list[str]]:
    """Return the delimiter that splits a line into the most cells, and these cells."""
    best = delimiters[0]
    most: list[str] = []
    for delimiter in delimiters:
        cells = next(csv.reader([line], delimiter=delimiter), [])
        if len(cells) > len(most):
            best, most = delimiter, cells
    return best, most


def _names(cells: list[str], header: Header) -> list[str]:
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


def _row(names: list[str], cells: list[str], file: Path, where: str) -> dict[str, str]:
    row = dict(zip(names, cells, strict=False))
    if len(cells) != len(names):
        raise InputFileError(
            f"{file}, {where}: the row has not as many cells as the header. Quote cells with commas."
        )
    if len(row) < len(names) and [row[name] for name in names] != cells:
        raise InputFileError(
            f"{file}, line 1: two columns are named {find_doubled(names)!r}, and differ in {where}. Rename one."
        )
    return row
