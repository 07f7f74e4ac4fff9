"""Rows of text files: JSON Lines, JSON, CSV and TSV, whatever their encoding says, also compressed by gzip."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from ctxmetrics.errors import CtxMetricsError, InputFileError, SampleError
from ctxmetrics.fields.cells import doubled, object_of
from ctxmetrics.fields.documents import text_of
from ctxmetrics.fields.recognition import PEEKED, TEXT_NAMES, recognise
from ctxmetrics.fields.schema import OPTIONS

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LARGEST_CELL = 64 * 1024 * 1024
_DELIMITERS = ",;\t|"
# So deep in an export a list of rows is looked for.
_DEPTH = 3
# A sample has so many fields at least that a metric looks at.
_FEWEST = 2


def ending_of(file: Path) -> str:
    """Return the ending that says what is in a file, without that of a compression."""
    plain = file.with_suffix("") if file.suffix.lower() == ".gz" else file
    return plain.suffix.lower()


@contextmanager
def opened(file: Path) -> Iterator[TextIO]:
    """Open a text file: UTF-8, or UTF-16 where it begins with a byte order mark.

    Raises:
        InputFileError: It cannot be read, decompressed or decoded.
    """
    try:
        with gzip.open(file, "rb") if file.suffix.lower() == ".gz" else file.open("rb") as stream:
            encoding = "utf-16" if stream.peek(2)[:2] in _UTF16 else "utf-8-sig"
            with io.TextIOWrapper(stream, encoding=encoding, newline="") as text:
                yield text
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputFileError(f"{file}: cannot be decompressed: {error}. Compress it again.") from None
    except OSError as error:
        raise InputFileError(f"{file}: cannot be read: {error.strerror}. Check the path.") from None
    except UnicodeDecodeError as error:
        raise InputFileError(f"{file}: not UTF-8 at byte {error.start}. Save it as UTF-8.") from None


# --- CSV and TSV ---


def cell_rows(file: Path) -> Iterator[tuple[str, Any]]:
    """Return each row of a CSV or TSV file with its place; empty cells are left out.

    Cells hold text; lists and objects in them are read with the fields. The delimiter is the one that splits the header
    into the most columns: spreadsheets write ``;`` where the comma is the decimal sign.

    Raises:
        InputFileError: It is not valid, two columns have one name, or a row has not as many cells as the header.
    """
    csv.field_size_limit(_LARGEST_CELL)
    with opened(file) as text:
        header = text.readline()
        marks = "\t" if ending_of(file) == ".tsv" else _DELIMITERS
        heads = {mark: next(csv.reader([header], delimiter=mark), []) for mark in marks}
        delimiter = max(heads, key=lambda mark: len(heads[mark]))
        # As pandas calls the index that it wrote.
        names = [name or f"Unnamed: {number}" for number, name in enumerate(heads[delimiter])]
        if name := doubled(names):
            raise InputFileError(f"{file}, line 1: two columns are named {name!r}. Rename one of them.")
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


# --- JSON ---


def line_rows(file: Path) -> Iterator[tuple[str, Any]]:
    """Return each line of a file of JSON Lines and what it holds."""
    with opened(file) as text:
        for number, line in enumerate(text, 1):
            if line.strip():
                yield f"line {number}", _parsed(line, file, f"line {number}")


def read_records(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Yield what each line of a JSON Lines file holds.

    Raises:
        InputFileError: The file cannot be read, or a line is no JSON.
    """
    return (content for _, content in line_rows(Path(path)))


def content_of(file: Path) -> Any:
    """Return what a JSON file holds; an empty one holds no samples."""
    with opened(file) as text:
        content = text.read()
    return _parsed(content, file, None) if content.strip() else []


def rows_in(data: Any, file: Path) -> tuple[list[Any], str]:
    """Find the rows in what a JSON file holds: a list, one sample, columns, or a list somewhere in an export.

    Returns:
        The rows, and where they were found, if that is not the top level.

    Raises:
        InputFileError: There are none.
    """
    if isinstance(data, list):
        return data, ""
    if isinstance(data, dict):
        if (rows := _of_columns(data)) is not None:
            return rows, ""
        if _fields_in([data]) >= _FEWEST:
            return [data], ""
        found = [(path, rows) for path, rows in _lists(data, "", _DEPTH) if rows]
        if found:
            path, rows = max(found, key=lambda item: (_fields_in(item[1]), len(item[1])))
            one = all(isinstance(text_of(row), str) for row in rows) and _fields_in(rows) < _FEWEST
            return ([data], "") if one else (rows, path)  # documents are no samples
    raise InputFileError(f"{file}: the top level must be a list of samples. Write [{{..}}, {{..}}].")


def _of_columns(data: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the rows of a table that was written by columns, as pandas and Hugging Face do; None where it is none."""
    names, cells = data.get("columns"), data.get("data")
    if (
        isinstance(names, list)
        and isinstance(cells, list)
        and all(isinstance(row, list) for row in cells)
    ):
        return [dict(zip(map(str, names), row, strict=False)) for row in cells]
    values = list(data.values())
    if not any(key in TEXT_NAMES for key in data):
        return None
    if all(isinstance(value, dict) and value.keys() == values[0].keys() for value in values):
        return [{key: value[number] for key, value in data.items()} for number in values[0]]
    if all(isinstance(value, list) and len(value) == len(values[0]) for value in values):
        return [dict(zip(data, row, strict=True)) for row in zip(*values, strict=True)]
    return None


def _lists(data: dict[str, Any], path: str, depth: int) -> Iterator[tuple[str, list[Any]]]:
    """Return each list of objects in an export, with its path."""
    for key, value in data.items():
        here = f"{path}.{key}" if path else key
        if isinstance(value, list) and all(isinstance(item, dict) for item in value):
            yield here, value
        elif isinstance(value, dict) and depth > 1:
            yield from _lists(value, here, depth - 1)


def _fields_in(rows: list[Any]) -> int:
    """Return how many fields of a sample the rows have."""
    try:
        absent = recognise(rows[:PEEKED]).absent
    except CtxMetricsError:  # a column that may be two fields is told where the rows are read
        return _FEWEST
    return 0 if absent is None else len(OPTIONS.keys() - absent)


def _parsed(text: str, file: Path, where: str | None) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=object_of)
    except RecursionError:
        problem = "nested too deeply. Write a flat object"
    except SampleError as error:
        problem = str(error).rstrip(".")
    except json.JSONDecodeError as error:
        where = where or f"line {error.lineno}"
        problem = f"not valid JSON: {error.msg} (column {error.colno})"
    except ValueError as error:
        problem = f"not valid JSON: {error}"
    raise InputFileError(f"{file}, {where or 'the file'}: {problem}.")


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON; write null")
