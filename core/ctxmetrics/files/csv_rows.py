"""Rows of CSV and TSV. Cells hold text; lists and objects in them are read with the fields."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ctxmetrics.errors import InputFileError
from ctxmetrics.files.texts import ending_of, opened

_LARGEST_CELL = 64 * 1024 * 1024
_DELIMITERS = ",;\t|"


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
        marks = "\t" if ending_of(file) == ".tsv" else _DELIMITERS
        heads = {mark: next(csv.reader([header], delimiter=mark), []) for mark in marks}
        delimiter = max(heads, key=lambda mark: len(heads[mark]))
        # As pandas calls the index that it wrote.
        names = [name or f"Unnamed: {number}" for number, name in enumerate(heads[delimiter])]
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
