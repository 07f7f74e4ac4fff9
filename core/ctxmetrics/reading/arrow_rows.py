"""Rows of Parquet files, and of folders that Hugging Face's ``datasets`` saved; pyarrow reads them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import date, time
from pathlib import Path
from typing import Any

from ctxmetrics.errors import InputFileError, importing
from ctxmetrics.reading.cells import find_doubled

# The most rows of Parquet in memory at a time.
_BATCH = 256


def arrow_rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Return each row of a Parquet file, or of a folder that ``Dataset.save_to_disk`` wrote or that has Parquet files.

    Each comes with its place.

    Raises:
        InputFileError: There is no such file, there are several splits, or one cannot be read.
        MissingExtraError: pyarrow is not installed.
    """
    with importing("pyarrow"):
        import pyarrow as pa
    number = 0
    for file in _dataset_files(path) if path.is_dir() else [path]:
        try:
            for batch in _batches(file):
                name = find_doubled(batch.schema.names)
                if name:
                    raise InputFileError(f"{file}: two columns are named {name!r}. Rename one.")
                for row in _read_batch(batch):
                    number += 1
                    yield f"row {number}", {key: row[key] for key in row if row[key] is not None}
        except OSError as error:
            raise InputFileError(
                f"{file}: cannot be read: {error.strerror or error}. Check the path."
            ) from None
        except UnicodeDecodeError:
            raise InputFileError(
                f"{file}, after row {number}: a text is not UTF-8. Write its column as binary, or decode it first."
            ) from None
        except pa.ArrowException as error:
            kind = "Parquet" if file.suffix.lower() == ".parquet" else "Arrow"
            problem = str(error).rstrip(".")
            raise InputFileError(f"{file}: is no {kind} file: {problem}.") from None


def _batches(file: Path) -> Iterator[Any]:
    with importing("pyarrow"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    with ExitStack() as stack:
        if file.suffix.lower() == ".parquet":
            parquet = stack.enter_context(pq.ParquetFile(file))
            yield from parquet.iter_batches(batch_size=_BATCH)
        else:
            memory = stack.enter_context(pa.memory_map(str(file)))
            yield from stack.enter_context(pa.ipc.open_stream(memory))


def _read_batch(batch: Any) -> list[dict[str, Any]]:
    """Return the rows of a batch as plain JSON data; NaN is no value."""
    text = json.dumps(batch.to_pylist(), default=_text_of_value)
    rows: list[dict[str, Any]] = json.loads(
        text, parse_constant=lambda name: None if name == "NaN" else float(name)
    )
    return rows


def _dataset_files(folder: Path) -> list[Path]:
    """Return the files with the rows of a folder, in order.

    Of a ``DatasetDict`` with one split it is that split; a folder of shards of one name holds them all.
    """
    if (folder / "state.json").is_file():
        return _shards(folder, folder / "state.json")
    splits = sorted((file.parent for file in folder.glob("*/state.json")), reverse=True)
    if len(splits) == 1:
        return _dataset_files(splits[0])
    files = sorted(path for path in folder.rglob("*.parquet") if path.is_file())
    shards = {path.with_name(path.name.partition("-000")[0]) for path in files}
    if len(shards) == 1:
        return files
    if splits:
        names = ", ".join(split.name for split in splits)
        problem = f"a dataset with the splits {names}. Name one: {splits[-1]}."
    elif files:
        problem = f"several Parquet files. Name one: {files[-1]}."
    else:
        problem = "no dataset that Hugging Face's save_to_disk wrote, and no Parquet file. Name a file."
    raise InputFileError(f"{folder}: {problem}")


def _shards(folder: Path, file: Path) -> list[Path]:
    """Return the files that ``save_to_disk`` lists as those of a dataset; what they are called is untrusted."""
    try:
        state = json.loads(file.read_text(encoding="utf-8"))
        names = [item["filename"] for item in state["_data_files"]]
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        names = []
    if not names or not all(isinstance(name, str) for name in names):
        raise InputFileError(f"{file}: damaged: it names no _data_files. Save the dataset again.")
    for name in names:
        if (folder / name).parent != folder or ".." in name or "\0" in name:
            raise InputFileError(f"{folder}: it names a file outside of itself: {name[:80]!r}.")
    return [folder / name for name in names]


def _text_of_value(value: Any) -> str:
    """Return a value that JSON cannot hold as a text."""
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return value.isoformat() if isinstance(value, (date, time)) else str(value)
