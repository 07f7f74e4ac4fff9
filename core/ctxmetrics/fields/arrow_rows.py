"""Rows of Parquet files, and of folders that Hugging Face's ``datasets`` saved; both are read with pyarrow."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import Any

from ctxmetrics.errors import InputFileError, missing_extra

_BATCH = 256


def arrow_rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Return each row of a Parquet file, or of a folder that ``Dataset.save_to_disk`` wrote or that has Parquet files.

    Each comes with its place.

    Raises:
        InputFileError: There is no such file, there are several splits, or one cannot be read.
        MissingExtraError: pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise missing_extra("pyarrow") from None
    number = 0
    for file in _dataset_files(path) if path.is_dir() else [path]:
        try:
            with ExitStack() as stack:
                if file.suffix.lower() == ".parquet":
                    batches = stack.enter_context(pq.ParquetFile(file)).iter_batches(batch_size=_BATCH)
                else:
                    batches = stack.enter_context(
                        pa.ipc.open_stream(stack.enter_context(pa.memory_map(str(file))))
                    )
                for batch in batches:
                    for number, row in enumerate(batch.to_pylist(), number + 1):  # noqa: B020 - goes on counting
                        yield (
                            f"row {number}",
                            {
                                key: found
                                for key, value in row.items()
                                if (found := _plain(value)) is not None
                            },
                        )
        except OSError as error:
            raise InputFileError(
                f"{file}: cannot be read: {error.strerror or error}. Check the path."
            ) from None
        except pa.ArrowException as error:
            kind = "Parquet" if file.suffix.lower() == ".parquet" else "Arrow"
            raise InputFileError(f"{file}: is no {kind} file: {str(error).rstrip('.')}.") from None


def _dataset_files(folder: Path) -> list[Path]:
    """Return the files with the rows of a folder, in order.

    Of a ``DatasetDict`` with one split it is that split; a folder of shards of one name holds them all.
    """
    if (folder / "state.json").is_file():
        return [_inside(folder, item) for item in _names_in(folder / "state.json", "_data_files")]
    if (folder / "dataset_dict.json").is_file():
        splits = _names_in(folder / "dataset_dict.json", "splits")
        if len(splits) == 1:
            return _dataset_files(_inside(folder, splits[0]))
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


def _names_in(file: Path, key: str) -> list[str]:
    """Return the names that a file of ``save_to_disk`` lists under a key: texts, or objects with a ``filename``."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))[key]
        names = [item if isinstance(item, str) else item["filename"] for item in found]
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        names = []
    if not names or not all(isinstance(name, str) for name in names):
        raise InputFileError(f"{file}: damaged: it names no {key}. Save the dataset again.")
    return names


def _inside(folder: Path, name: str) -> Path:
    """Return a file of a folder; what the folder's own files name is untrusted."""
    path = folder / name
    if path.parent != folder or ".." in name or "\0" in name:
        raise InputFileError(f"{folder}: it names a file outside of itself: {name[:80]!r}.")
    return path


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
