"""Rows of Parquet files, and of folders that Hugging Face's ``datasets`` saved; both are read with pyarrow."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import Any

from ctxmetrics.errors import InputFileError, missing_extra

_BATCH = 256


def parquet_rows(file: Path) -> Iterator[tuple[str, Any]]:
    """Return each row of a Parquet file with its place.

    Raises:
        InputFileError: It cannot be read.
        MissingExtraError: pyarrow is not installed.
    """
    arrow = _arrow()
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file) as table:
            yield from _rows(table.iter_batches(batch_size=_BATCH))
    except OSError as error:
        raise InputFileError(
            f"{file}: cannot be read: {error.strerror or error}. Check the path."
        ) from None
    except arrow.ArrowException as error:
        raise InputFileError(f"{file}: is no Parquet file: {str(error).rstrip('.')}.") from None


def dataset_files(folder: Path) -> list[Path]:
    """Return the files with the rows of a folder that ``Dataset.save_to_disk`` wrote, in order.

    Of a ``DatasetDict`` with one split it is that split; a folder of shards of one name holds them all.

    Raises:
        InputFileError: There is none, or there are several splits; the message names them.
    """
    if (folder / "state.json").is_file():
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        return [_inside(folder, item["filename"]) for item in state["_data_files"]]
    if (folder / "dataset_dict.json").is_file():
        splits = json.loads((folder / "dataset_dict.json").read_text(encoding="utf-8"))["splits"]
        if len(splits) == 1:
            return dataset_files(_inside(folder, splits[0]))
        raise InputFileError(
            f"{folder}: a dataset with the splits {', '.join(splits)}. Name one: {folder / splits[-1]}."
        )
    found = sorted(path for path in folder.rglob("*.parquet") if path.is_file())
    names = {path.with_name(path.name.partition("-000")[0]) for path in found}
    if len(names) == 1:
        return found
    if found:
        raise InputFileError(f"{folder}: several Parquet files. Name one: {found[-1]}.")
    raise InputFileError(
        f"{folder}: no dataset that Hugging Face's save_to_disk wrote, and no Parquet file. Name a file."
    )


def stream_rows(files: Iterable[Path]) -> Iterator[tuple[str, Any]]:
    """Return each row of a dataset's files with its place.

    Raises:
        InputFileError: One cannot be read.
        MissingExtraError: pyarrow is not installed.
    """
    arrow = _arrow()
    number = 0
    for file in files:
        rows = parquet_rows(file) if file.suffix == ".parquet" else _stream(file, arrow)
        for number, (_, row) in enumerate(rows, number + 1):  # noqa: B020 - goes on counting
            yield f"row {number}", row


def _stream(file: Path, arrow: Any) -> Iterator[tuple[str, Any]]:
    try:
        with arrow.memory_map(str(file)) as source, arrow.ipc.open_stream(source) as batches:
            yield from _rows(batches)
    except OSError as error:
        raise InputFileError(
            f"{file}: cannot be read: {error.strerror or error}. Check the path."
        ) from None
    except arrow.ArrowException as error:
        raise InputFileError(f"{file}: not valid Arrow: {str(error).rstrip('.')}.") from None


def _inside(folder: Path, name: str) -> Path:
    """Return a file of a folder; what the folder's own files name is untrusted."""
    path = folder / name
    if path.parent != folder or ".." in name:
        raise InputFileError(f"{folder}: it names a file outside of itself: {name[:80]!r}.")
    return path


def _arrow() -> Any:
    try:
        import pyarrow as pa
    except ImportError:
        raise missing_extra("pyarrow", "tables") from None
    return pa


def _rows(batches: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    number = 0
    for batch in batches:
        for row in batch.to_pylist():
            number += 1
            yield (
                f"row {number}",
                {key: found for key, value in row.items() if (found := _plain(value)) is not None},
            )


def _plain(value: Any) -> Any:
    """Return a cell as JSON-ready data; an empty one, or NaN, is None."""
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return str(value) if isinstance(value, Decimal) else value
