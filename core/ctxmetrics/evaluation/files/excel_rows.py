"""Rows of Excel's .xlsx files; openpyxl reads them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing
from datetime import date, datetime, time
from itertools import chain, islice
from pathlib import Path
from typing import Any

from ctxmetrics._internal.near_names import suggest, suggest_file
from ctxmetrics.errors import CtxMetricsError, InputFileError, ParameterError, importing
from ctxmetrics.evaluation.files.csv_rows import (
    MAX_TITLE_ROWS,
    MIN_KNOWN_NAMES,
    Header,
    drop_title,
    make_row,
    name_columns,
    read_gaps,
)
from ctxmetrics.evaluation.files.header_keys import count_known
from ctxmetrics.samples.schema import join_first


def sheet_rows(
    file: Path, header: Header = None, sheet: str | None = None
) -> Iterator[tuple[str, Any]]:
    """Yield each row of a sheet with its place. A cell is given as the text that it would be in CSV.

    Args:
        file: The file.
        header: As for `ctxmetrics.evaluation.files.csv_rows.cell_rows`.
        sheet: The name of the sheet. None: the first whose header has names that are known, else the first with data.

    Raises:
        ParameterError: No sheet has the name.
        InputFileError: The file cannot be read, or two columns have one name and differ.
        MissingExtraError: openpyxl is not installed.
    """
    with importing("openpyxl"):
        import openpyxl
    try:
        with closing(openpyxl.load_workbook(file, read_only=True, data_only=True)) as book:
            yield from _read_rows(book, file, header, sheet)
    except CtxMetricsError:
        raise
    except OSError as error:
        raise InputFileError(
            f"{file}: cannot be read: {error.strerror or error}.{suggest_file(file)}"
        ) from None
    except Exception as error:  # noqa: BLE001 - openpyxl raises whatever the archive or its XML lets it run into
        raise InputFileError(f"{file}: is no .xlsx file: {error}. Save it as .xlsx or CSV.") from None


def _read_rows(book: Any, file: Path, header: Header, name: str | None) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a sheet, with their places."""
    sheets = [sheet for sheet in book.worksheets if _has_value(sheet)]
    if not sheets:
        return
    sheet = _find_sheet(sheets, file, header, name)
    rows = _list_filled_rows(sheet, file, header)
    first_row = next(rows)
    _, first_cells = first_row
    names = name_columns(first_cells, header)
    is_header = header is None or header is True
    samples = rows if is_header else chain([first_row], rows)
    for number, cells in samples:
        if cells == names:  # the header, repeated
            continue
        width = max(len(names), len(cells))
        filled = [*cells] + [""] * (width - len(cells))
        where = f"row {number}"
        yield where, read_gaps(make_row(names, filled, file, where))


def _has_value(sheet: Any) -> bool:
    """Tell whether a cell of a sheet has a value."""
    return any(any(cells) for cells in sheet.iter_rows(values_only=True))


def _find_sheet(sheets: list[Any], file: Path, header: Header, name: str | None) -> Any:
    """Return the sheet with a name. Without a name, return the first sheet whose header has known names, else the first sheet.

    Raises:
        ParameterError: No sheet has the name.
    """
    titles = [sheet.title for sheet in sheets]
    if name is not None:
        if name not in titles:
            raise ParameterError(
                f"--sheet {name!r}: {file} has no such sheet with data.{suggest(name, titles)} There is: "
                f"{join_first(titles)}."
            )
        return sheets[titles.index(name)]
    fitting_sheets = sheets
    if header is None:
        fitting_sheets = [sheet for sheet in sheets if _has_header(sheet)]
    (chosen_sheet, *_) = fitting_sheets or sheets
    other_titles = ", ".join(repr(title) for title in titles if title != chosen_sheet.title)
    if other_titles:
        logging.getLogger("ctxmetrics").warning(
            "%s: the sheet %r is read; not read: %s (--sheet NAME, in Python sheet=)",
            file,
            chosen_sheet.title,
            other_titles,
        )
    return chosen_sheet


def _has_header(sheet: Any) -> bool:
    """Tell whether one of the first rows of a sheet has names that are known."""
    return any(
        count_known(cells) >= MIN_KNOWN_NAMES
        for _, cells in islice(_filled_rows(sheet), MAX_TITLE_ROWS)
    )


def _list_filled_rows(sheet: Any, file: Path, header: Header) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each row that is not empty, from the header on."""
    rows = _filled_rows(sheet)
    # Pairs of a row's number and its cells. The first row may be a title above the header.
    first_rows = [*islice(rows, 1)]
    if header is None and first_rows and not count_known(first_rows[0][1]):
        first_rows = drop_title([*first_rows, *islice(rows, MAX_TITLE_ROWS)], file)
    yield from chain(first_rows, rows)


def _filled_rows(sheet: Any) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each row that is not empty, up to the last cell with a text."""
    for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
        cells = [_write_cell(value) for value in row]
        if any(cells):
            yield number, _until_last(cells)


def _until_last(cells: list[str]) -> list[str]:
    """Return the cells up to the last one with a text."""
    last_index = max(number for number, cell in enumerate(cells) if cell)
    return cells[: last_index + 1]


def _write_cell(value: Any) -> str:
    """Return the text of a cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime) and value.time() == time():  # a cell with a date alone
        return value.date().isoformat()
    if isinstance(value, (date, time)):
        return value.isoformat()
    return str(value).replace("_x000D_", "\r")  # as Excel writes a carriage return
