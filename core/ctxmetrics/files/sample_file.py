"""The samples of a file of any kind, one at a time."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

from ctxmetrics.aegis_payload import Payload, read_payload
from ctxmetrics.errors import AmbiguousFieldError, InputFileError, ParameterError
from ctxmetrics.fields import AUTO, PEEKED, Reading, recognise
from ctxmetrics.files.arrow_rows import dataset_files, parquet_rows, stream_rows
from ctxmetrics.files.csv_rows import cell_rows
from ctxmetrics.files.json_rows import content_of, line_rows, rows_in
from ctxmetrics.files.texts import ending_of
from ctxmetrics.samples import Sample

_LINES, _CELLS = (".jsonl", ".ndjson"), (".csv", ".tsv")


class SampleFile(Iterator[Sample]):
    """The samples of a file, one at a time; see `read_samples`.

    Attributes:
        path: The file.
        schema: Whose words the keys are, or ``"auto"``.
    """

    def __init__(
        self, path: str | os.PathLike[str], schema: str = AUTO, columns: Mapping[str, str] | None = None
    ) -> None:
        self.path: Path = Path(path)
        self.schema = schema
        self._columns = dict(columns or {})
        self._named: set[str] = set()
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
        data = content_of(self.path)
        is_payload = isinstance(data, dict) and "evaluations" in data
        return read_payload(data, self.path) if is_payload else None

    def _read(self) -> Iterator[Sample]:
        rows = self._rows()
        first = list(islice(rows, PEEKED))
        if not first:
            raise InputFileError(f"{self.path}: the file is empty. It should hold one sample a line.")
        reading = self._reading([fields for _, fields in first])
        for where, fields in chain(first, rows):
            if not isinstance(fields, dict):
                raise InputFileError(
                    f"{self.path}, {where}: a sample must be a JSON object of its fields."
                )
            sample = Sample.read(fields, reading, where=f"{self.path}, {where}")
            self._name(reading.others(fields))
            yield sample

    def _rows(self) -> Iterator[tuple[str, Any]]:
        """Return the rows with their places."""
        ending = ending_of(self.path)
        if self.path.is_dir():
            return stream_rows(dataset_files(self.path))
        if ending == ".parquet":
            return parquet_rows(self.path)
        if ending in _CELLS:
            return cell_rows(self.path)
        if ending in _LINES:
            return line_rows(self.path)
        if ending != ".json":
            raise InputFileError(
                f"{self.path}: files end in .jsonl, .json or .csv, .tsv or .parquet, all but the last also in .gz. "
                "Rename or convert it."
            )
        if (payload := self.payload) is not None:
            return iter(payload.rows)
        rows, found = rows_in(content_of(self.path), self.path)
        if found:
            self._tell(f"the samples are those in '{found}'")
        return ((f"sample {number}", item) for number, item in enumerate(rows, 1))

    def _reading(self, rows: list[Any]) -> Reading:
        """Decide how the rows are read, and say so."""
        try:
            reading = recognise(rows, self.schema, self._columns, single=True)
        except (AmbiguousFieldError, ParameterError) as error:
            raise type(error)(f"{self.path}: {error}") from None
        for note in reading.notes:
            self._tell(note)
        for row in rows:
            if isinstance(row, dict):
                self._named.update(reading.others(row))
        return reading

    def _name(self, others: list[str]) -> None:
        """Name the columns that are in no row before."""
        new = [name for name in others if name not in self._named]
        if new:
            self._named.update(new)
            self._tell(
                f"no field, carried along as metadata: {', '.join(name[:60] for name in new[:10])}"
            )

    def _tell(self, note: str) -> None:
        logging.getLogger("ctxmetrics").warning("%s: %s", self.path, note)


def read_samples(
    path: str | os.PathLike[str], schema: str = AUTO, columns: Mapping[str, str] | None = None
) -> SampleFile:
    """Return the samples of a file, as an iterator.

    JSON Lines, CSV, TSV and Parquet are read as they are needed. JSON may hold a list, one sample, a table by columns, or
    an export with a list of rows in it. Where a file has a list as text (as JSON, or as pandas writes it), the list is
    read; where every row has one text in its place, that is a list of one. What was decided, and which columns are no
    field and went into the metadata, is logged once as a warning.

    Args:
        path: A ``.jsonl``, ``.json``, ``.csv`` or ``.tsv`` file, also with ``.gz`` behind; a ``.parquet`` file; or a
            folder that ``save_to_disk`` of Hugging Face's ``datasets`` wrote (pyarrow reads these two).
        schema: Whose words the keys are (`ctxmetrics.fields.SCHEMAS`); ``"auto"`` finds out. With ``"aegis"``, a
            request to Aegis with its ``evaluations`` is read too.
        columns: Which column, or path such as ``vars.question``, holds which field, where no schema is right.

    Raises:
        InputFileError: The file is missing, empty, of an unknown kind or not what its ending promises.
        MissingExtraError: pyarrow is needed, and not installed.
        ParameterError: There is no such schema, field or column.
        SampleError: A sample is malformed; the message names the line.
    """
    return SampleFile(path, schema, columns)
