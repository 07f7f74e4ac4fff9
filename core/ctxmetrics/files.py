"""Samples from files: JSON Lines, JSON and CSV. Every error names the file, the line and the fix."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxmetrics.aegis_payload import is_payload, read_payload
from ctxmetrics.errors import InputFileError
from ctxmetrics.fields import SCHEMAS, list_keys
from ctxmetrics.samples import Sample

if TYPE_CHECKING:
    import os

    from ctxmetrics.aegis_payload import Payload

_ENDINGS = {".jsonl": "lines", ".ndjson": "lines", ".json": "json", ".csv": "csv"}
_LARGEST_CELL = 64 * 1024 * 1024


class SampleFile(Iterator[Sample]):
    """The samples of a file, one at a time; see `read_samples`.

    Attributes:
        path: The file.
        schema: Whose words the keys are.
    """

    def __init__(self, path: str | os.PathLike[str], schema: str) -> None:
        self.path = Path(path)
        self.schema = schema
        self._samples: Iterator[Sample] | None = None
        self._data: Any = None

    def __next__(self) -> Sample:
        if self._samples is None:
            self._samples = self._read()
        return next(self._samples)

    @property
    def payload(self) -> Payload | None:
        """What the file asks for beside its samples, where it is a request to Aegis; else None.

        Raises:
            InputFileError: The file cannot be read, or asks for something that is not here.
        """
        if self.schema != "aegis" or self.path.suffix.lower() != ".json":
            return None
        if self._data is None:
            self._data = _content(self.path)
        return read_payload(self._data, self.path) if is_payload(self._data) else None

    def _read(self) -> Iterator[Sample]:
        file, schema = self.path, self.schema
        kind = _ENDINGS.get(file.suffix.lower())
        if kind is None:
            raise InputFileError(f"{file}: files end in .jsonl, .json or .csv. Rename or convert it.")
        found = False
        for where, fields in self._rows(kind):
            found = True
            yield Sample.from_dict(fields, schema, where=f"{file}, {where}")
        if not found:
            raise InputFileError(f"{file}: the file is empty. It should hold one sample a line.")

    def _rows(self, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
        if kind == "lines":
            return _lines(self.path)
        if kind == "csv":
            return _csv(self.path, self.schema)
        payload = self.payload
        if payload is not None:
            return iter(payload.rows)
        data, self._data = self._data, None
        return _listed(_content(self.path) if data is None else data, self.path)


def read_samples(path: str | os.PathLike[str], schema: str = "ragas") -> SampleFile:
    """Return the samples of a file, as an iterator.

    JSON Lines and CSV are read as they are needed. In CSV, a list is a JSON array in its cell. With the schema
    ``"aegis"``, a request to Aegis with its ``evaluations`` is read too.

    Args:
        path: A ``.jsonl``, ``.json`` or ``.csv`` file.
        schema: Whose words the keys are (`ctxmetrics.fields.SCHEMAS`).

    Raises:
        InputFileError: The file is missing, empty, of an unknown kind or not what its ending promises.
        SampleError: A sample is malformed; the message names the line.
    """
    return SampleFile(path, schema)


def _text_file(file: Path) -> Any:
    try:
        return file.open(encoding="utf-8-sig", newline="")
    except OSError as error:
        raise InputFileError(f"{file}: cannot be read: {error.strerror}. Check the path.") from None


def _lines(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    with _text_file(file) as text:
        try:
            for number, line in enumerate(text, 1):
                if line.strip():
                    yield (
                        f"line {number}",
                        _object(_parsed(line, file, f"line {number}"), file, f"line {number}"),
                    )
        except UnicodeDecodeError as error:
            raise InputFileError(f"{file}: not UTF-8 at byte {error.start}. Save it as UTF-8.") from None


def _content(file: Path) -> Any:
    """Return what a JSON file holds; an empty one holds no samples."""
    with _text_file(file) as text:
        try:
            content = text.read()
        except UnicodeDecodeError as error:
            raise InputFileError(f"{file}: not UTF-8 at byte {error.start}. Save it as UTF-8.") from None
    return _parsed(content, file, None) if content.strip() else []


def _listed(data: Any, file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(data, dict) and isinstance(data.get("samples"), list):
        data = data["samples"]
    if not isinstance(data, list):
        raise InputFileError(f"{file}: the top level must be a list of samples. Write [{{..}}, {{..}}].")
    for number, item in enumerate(data, 1):
        yield f"sample {number}", _object(item, file, f"sample {number}")


def _csv(file: Path, schema: str) -> Iterator[tuple[str, dict[str, Any]]]:
    csv.field_size_limit(_LARGEST_CELL)
    lists = list_keys(SCHEMAS[schema]) if schema in SCHEMAS else frozenset()
    with _text_file(file) as text:
        reader = csv.DictReader(text, strict=True)
        try:
            for row in reader:
                where = f"line {reader.line_num}"
                if None in row or None in row.values():
                    raise InputFileError(
                        f"{file}, {where}: the row has not as many cells as the header. Quote cells with commas."
                    )
                yield (
                    where,
                    {key: _cell(value, key, lists, file, where) for key, value in row.items() if value != ""},
                )
        except csv.Error as error:
            raise InputFileError(f"{file}, line {reader.line_num}: not valid CSV: {error}.") from None
        except UnicodeDecodeError as error:
            raise InputFileError(f"{file}: not UTF-8 at byte {error.start}. Save it as UTF-8.") from None


def _cell(value: str, key: str, lists: frozenset[str], file: Path, where: str) -> Any:
    if key not in lists:
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise InputFileError(
            f'{file}, {where}: field \'{key}\' must be a JSON list in its cell, such as ["first", "second"].'
        ) from None


def _parsed(text: str, file: Path, where: str | None) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise InputFileError(
            f"{file}, {where or 'line 1'}: nested too deeply. Write a flat object."
        ) from None
    except json.JSONDecodeError as error:
        place = where or f"line {error.lineno}"
        raise InputFileError(
            f"{file}, {place}: not valid JSON: {error.msg} (column {error.colno})."
        ) from None
    except ValueError as error:
        raise InputFileError(f"{file}, {where or 'the file'}: not valid JSON: {error}.") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON; write null")


def _object(data: Any, file: Path, where: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise InputFileError(f"{file}, {where}: a sample must be a JSON object of its fields.")
    return data
