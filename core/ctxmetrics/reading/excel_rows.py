"""Rows of Excel's .xlsx files; openpyxl reads them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing
from datetime import date, time
from pathlib import Path
from typing import Any

from ctxmetrics.errors import CtxMetricsError, InputFileError, importing
from ctxmetrics.reading.csv_rows import Header, make_row, name_columns, read_gaps


def sheet_rows(file: Path, header: Header = None) -> Iterator[tuple[str, Any]]:
    """Return each row of the first sheet with data, with its place; a cell is the text that it would be in CSV.

    Args:
        file: The file.
        header: As for `ctxmetrics.reading.csv_rows.cell_rows`.

    Raises:
        InputFileError: It cannot be read, or two columns have one name and differ.
        MissingExtraError: openpyxl is not installed.
    """
    with importing("openpyxl"):
        import openpyxl
    try:
        with closing(openpyxl.load_workbook(file, read_only=True, data_only=True)) as book:
            yield from _rows(book, file, header)
    except CtxMetricsError:
        raise
    except OSError as error:
        raise InputFileError(
            f"{file}: cannot be read: {error.strerror or error}. Check the path."
        ) from None
    except Exception as error:  # noqa: BLE001 - openpyxl raises whatever the archive or its XML lets it run into
        raise InputFileError(f"{file}: is no .xlsx file: {error}. Save it as .xlsx or CSV.") from None


def _rows(book: Any, file: Path, header: Header) -> Iterator[tuple[str, Any]]:
    sheets = [sheet for sheet in book.worksheets if any(map(any, sheet.iter_rows(values_only=True)))]
    if len(sheets) > 1:
        others = ", ".join(repr(sheet.title) for sheet in sheets[1:])
        logging.getLogger("ctxmetrics").warning(
            "%s: the sheet %r is read; not read: %s", file, sheets[0].title, others
        )
    names: list[str] = []
    for sheet in sheets[:1]:
        for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
            cells = [_text(value) for value in row]
            if not any(cells) or _until_last(cells) == names:
                continue
            if not names:
                names = name_columns(_until_last(cells), header)
                if header is None or header is True:
                    continue
            width = max(len(names), len(_until_last(cells)))
            cells = [*cells, *[""] * len(names)][:width]
            where = f"row {number}"
            yield where, read_gaps(make_row(names, cells, file, where))


def _until_last(cells: list[str]) -> list[str]:
    """Return the cells up to the last one with a text."""
    last = max(number for number, cell in enumerate(cells) if cell)
    return cells[: last + 1]


def _text(value: Any) -> str:
    """Return the text of a cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, (date, time)):
        return value.isoformat()
    return str(value).replace("_x000D_", "\r")  # as Excel writes a carriage return
