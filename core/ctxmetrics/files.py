"""Samples from files: JSON Lines, JSON and CSV. Every error names the file, the line and the fix."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxmetrics.aegis_payload import read_payload
from ctxmetrics.errors import InputFileError
from ctxmetrics.fields import SCHEMAS, list_keys
from ctxmetrics.samples import Sample

if TYPE_CHECKING:
    import os
    from typing import TextIO

    from ctxmetrics.aegis_payload import Payload

_ENDINGS = (".jsonl", ".ndjson", ".json", ".csv")
_LARGEST_CELL = 64 * 1024 * 1024


class SampleFile(Iterator[Sample]):
    """The samples of a file, one at a time; see `read_samples`.

    Attributes:
        path: The file.
        schema: Whose words the keys are.
    """

    def __init__(self, path: str | os.PathLike[str], schema: str) -> None:
        self.path: Path = Path(path)
        self.schema = schema
        self._samples = self._read()

    def __next__(self) -> Sample:
        return next(self._samples)

    @property
    def payload(self) -> Payload | None:
        """What the file asks for beside its samples, where it is a request to Aegis; else None.

        Raises:
            InputFileError: The file cannot be read, or asks for something that is not here.
        """
        if self.schema != "aegis" or self.path.suffix.lower() != ".json":
            return None
        data = _content(self.path)
        is_payload = isinstance(data, dict) and "evaluations" in data
        return read_payload(data, self.path) if is_payload else None

    def _read(self) -> Iterator[Sample]:
        ending, number = self.path.suffix.lower(), 0
        if ending not in _ENDINGS:
            raise InputFileError(f"{self.path}: files end in .jsonl, .json or .csv. Rename or convert it.")
        if ending == ".csv":
            rows = _csv(self.path, self.schema)
        else:
            rows = _json(self.path, self.payload) if ending == ".json" else _lines(self.path)
        for number, (where, fields) in enumerate(rows, 1):  # noqa: B007 - how many there were
            if not isinstance(fields, dict):
                raise InputFileError(f"{self.path}, {where}: a sample must be a JSON object of its fields.")
            yield Sample.from_dict(fields, self.schema, where=f"{self.path}, {where}")
        if not number:
            raise InputFileError(f"{self.path}: the file is empty. It should hold one sample a line.")


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


def read_records(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Yield what each line of a JSON Lines file holds.

    Raises:
        InputFileError: The file cannot be read, or a line is no JSON.
    """
    return (content for _, content in _lines(Path(path)))


@contextmanager
def _opened(file: Path) -> Iterator[TextIO]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            yield text
    except OSError as error:
        raise InputFileError(f"{file}: cannot be read: {error.strerror}. Check the path.") from None
    except UnicodeDecodeError as error:
        raise InputFileError(f"{file}: not UTF-8 at byte {error.start}. Save it as UTF-8.") from None


def _lines(file: Path) -> Iterator[tuple[str, Any]]:
    with _opened(file) as text:
        for number, line in enumerate(text, 1):
            if line.strip():
                yield f"line {number}", _parsed(line, file, f"line {number}")


def _content(file: Path) -> Any:
    """Return what a JSON file holds; an empty one holds no samples."""
    with _opened(file) as text:
        content = text.read()
    return _parsed(content, file, None) if content.strip() else []


def _json(file: Path, payload: Payload | None) -> Iterator[tuple[str, Any]]:
    if payload is not None:
        return iter(payload.rows)
    data = _content(file)
    if isinstance(data, dict) and isinstance(data.get("samples"), list):
        data = data["samples"]
    if not isinstance(data, list):
        raise InputFileError(f"{file}: the top level must be a list of samples. Write [{{..}}, {{..}}].")
    return ((f"sample {number}", item) for number, item in enumerate(data, 1))


def _csv(file: Path, schema: str) -> Iterator[tuple[str, Any]]:
    csv.field_size_limit(_LARGEST_CELL)
    lists = list_keys(SCHEMAS[schema]) if schema in SCHEMAS else frozenset()
    problem = ""
    with _opened(file) as text:
        reader = csv.DictReader(text, strict=True)
        try:
            for row in reader:
                where = f"line {reader.line_num}"
                if None in row or None in row.values():
                    raise InputFileError(
                        f"{file}, {where}: the row has not as many cells as the header. Quote cells with commas."
                    )
                cells = {key: value for key, value in row.items() if value != ""}
                for key in lists & cells.keys():
                    problem = f"{file}, {where}: field '{key}' must be a JSON list in its cell"
                    cells[key] = json.loads(cells[key])
                yield where, cells
        except json.JSONDecodeError:
            raise InputFileError(f'{problem}, such as ["first", "second"].') from None
        except csv.Error as error:
            raise InputFileError(f"{file}, line {reader.line_num}: not valid CSV: {error}.") from None


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
