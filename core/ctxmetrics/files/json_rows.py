"""Rows of JSON Lines and of JSON: a list, one sample, columns, or a list somewhere in an export."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ctxmetrics.errors import CtxMetricsError, InputFileError
from ctxmetrics.fields import OPTIONS, PEEKED, recognise
from ctxmetrics.fields.recognition import TEXT_NAMES
from ctxmetrics.files.texts import opened

# So deep in an export a list of rows is looked for.
_DEPTH = 3
# A sample has so many fields at least that a metric looks at.
_FEWEST = 2


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
    """Find the rows in what a JSON file holds.

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
            return rows, path
    raise InputFileError(f"{file}: the top level must be a list of samples. Write [{{..}}, {{..}}].")


def _of_columns(data: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the rows of a table that was written by columns, as pandas and Hugging Face do; None where it is none."""
    values = list(data.values())
    if set(data) >= {"columns", "data"} and all(isinstance(row, list) for row in data["data"]):
        return [dict(zip(data["columns"], row, strict=False)) for row in data["data"]]
    if values and all(isinstance(value, dict) and value.keys() == values[0].keys() for value in values):
        return [{key: value[number] for key, value in data.items()} for number in values[0]]
    lists = all(isinstance(value, list) and len(value) == len(values[0]) for value in values)
    if values and lists and any(key in TEXT_NAMES for key in data):
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
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        problem = "nested too deeply. Write a flat object"
    except json.JSONDecodeError as error:
        where = where or f"line {error.lineno}"
        problem = f"not valid JSON: {error.msg} (column {error.colno})"
    except ValueError as error:
        problem = f"not valid JSON: {error}"
    raise InputFileError(f"{file}, {where or 'the file'}: {problem}.")


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON; write null")
