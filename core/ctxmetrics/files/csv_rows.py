"""Rows of CSV and TSV. Cells hold text; lists and objects in them are read with the fields."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

from ctxmetrics.errors import InputFileError
from ctxmetrics.files.texts import ending_of, opened

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LARGEST_CELL = 64 * 1024 * 1024
_DELIMITERS = (",", ";", "\t", "|")


def cell_rows(file: Path) -> Iterator[tuple[str, Any]]:
    """Return each row with its place; empty cells are left out.

    The delimiter is the one that splits the header into the most columns: spreadsheets write ``;`` where the comma is
    the decimal sign.

    Raises:
        InputFileError: It is not valid, or a row has not as many cells as the header.
    """
    csv.field_size_limit(_LARGEST_CELL)
    with opened(file) as text:
        header = text.readline()
        delimiter = (
            "\t" if ending_of(file) == ".tsv" else max(_DELIMITERS, key=lambda mark: _width(header, mark))
        )
        names = [
            name or f"Unnamed: {number}"  # as pandas calls the index that it wrote
            for number, name in enumerate(next(csv.reader([header], delimiter=delimiter), []))
        ]
        reader = csv.DictReader(text, names, delimiter=delimiter, strict=True)
        try:
            for row in reader:
                where = f"line {reader.line_num + 1}"
                if None in row or None in row.values():
                    raise InputFileError(
                        f"{file}, {where}: the row has not as many cells as the header. Quote cells with commas."
                    )
                yield where, {key: value for key, value in row.items() if value != ""}
        except csv.Error as error:
            raise InputFileError(f"{file}, line {reader.line_num + 1}: not valid CSV: {error}.") from None


def _width(header: str, delimiter: str) -> int:
    return len(next(csv.reader([header], delimiter=delimiter), []))
