"""Rows of Parquet files, and of folders that Hugging Face's ``datasets`` saved; pyarrow reads them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from datetime import date, time
from pathlib import Path
from typing import Any

from ctxmetrics._internal.near_names import suggest_file
from ctxmetrics.errors import InputFileError, importing
from ctxmetrics.samples.cells import find_doubled

# The maximum number of rows of Parquet in memory at a time.
_ROWS_PER_BATCH = 256


def arrow_rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield each row of a Parquet file with its place, or each row of a folder.

    A folder holds Parquet files, or a dataset that ``Dataset.save_to_disk`` wrote.

    Raises:
        InputFileError: A file does not exist or cannot be read, or there are several splits.
        MissingExtraError: pyarrow is not installed.
    """
    with importing("pyarrow"):
        import pyarrow as pa
    number = 0
    files = _list_dataset_files(path) if path.is_dir() else [path]
    for file in files:
        try:
            for batch in _iterate_batches(file):
                name = find_doubled(batch.schema.names)
                if name:
                    raise InputFileError(f"{file}: two columns are named {name!r}. Rename one.")
                for row in _read_batch(batch, file):
                    number += 1
                    cells = {name: cell for name, cell in row.items() if cell is not None}
                    yield f"row {number}", cells
        except OSError as error:
            raise InputFileError(
                f"{file}: cannot be read: {error.strerror or error}.{suggest_file(file)}"
            ) from None
        except UnicodeDecodeError:
            raise InputFileError(
                f"{file}, after row {number}: a text is not UTF-8. Write its column as binary, or decode it first."
            ) from None
        except pa.ArrowException as error:
            kind = "Parquet" if file.suffix.lower() == ".parquet" else "Arrow"
            problem = str(error).rstrip(".")
            raise InputFileError(f"{file}: is no {kind} file: {problem}.") from None


def _iterate_batches(file: Path) -> Iterator[Any]:
    """Yield the batches of rows of a Parquet or an Arrow file."""
    with importing("pyarrow"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    with ExitStack() as stack:
        if file.suffix.lower() == ".parquet":
            parquet = stack.enter_context(pq.ParquetFile(file))
            yield from parquet.iter_batches(batch_size=_ROWS_PER_BATCH)
        else:
            memory = stack.enter_context(pa.memory_map(str(file)))
            yield from stack.enter_context(pa.ipc.open_stream(memory))


def _read_batch(batch: Any, file: Path) -> list[dict[str, Any]]:
    """Convert the rows of a batch to plain JSON data; NaN becomes None.

    Raises:
        InputFileError: Python cannot hold a value.
    """
    try:
        values = batch.to_pylist()
    except (OverflowError, ValueError) as error:
        if isinstance(error, UnicodeDecodeError):
            raise
        readers = [column.to_pylist for column in batch.columns]
        columns = zip(batch.schema.names, readers, strict=True)
        raise InputFileError(f"{file}: {explain_unreadable(columns, error)}") from None
    text = json.dumps(values, default=_to_text)
    rows: list[dict[str, Any]] = json.loads(
        text, parse_constant=lambda name: None if name == "NaN" else float(name)
    )
    return rows


def is_unreadable(error: BaseException) -> bool:
    """Tell whether an error of a table says that Python cannot hold a value. That of Polars is no ``Exception``."""
    return isinstance(error, (OverflowError, ValueError)) or type(error).__name__ == "PanicException"


def explain_unreadable(
    columns: Iterable[tuple[str, Callable[[], object]]], error: BaseException
) -> str:
    """Explain which column holds a value that Python cannot hold, such as a date after the year 9999.

    Args:
        columns: The name of each column, and the function that converts its cells to objects of Python.
        error: The error that all columns together raised.

    Returns:
        The explanation and what to do. It names the first column that raises alone; no column if none does.
    """
    for name, read_cells in columns:
        try:
            read_cells()
        except BaseException as column_error:  # the error of Polars is no Exception
            if not is_unreadable(column_error):
                raise
            return f"column {name!r} cannot be read: {error}. Leave it out, or write it as text."
    return f"a column cannot be read: {error}. Leave it out, or write it as text."


def _list_dataset_files(folder: Path) -> list[Path]:
    """List the files with the rows of a folder, in order.

    A ``DatasetDict`` with one split has the files of this split. Several Parquet files must be shards with one name.

    Raises:
        InputFileError: The folder holds no dataset, several splits, or Parquet files with several names.
    """
    if (folder / "state.json").is_file():
        return _list_shards(folder, folder / "state.json")
    splits = sorted((file.parent for file in folder.glob("*/state.json")), reverse=True)
    if len(splits) == 1:
        return _list_dataset_files(splits[0])
    files = sorted(path for path in folder.rglob("*.parquet") if path.is_file())
    # "train-00000-of-00002.parquet" -> "train"
    shared_names = {path.with_name(path.name.partition("-000")[0]) for path in files}
    if len(shared_names) == 1:
        return files
    if splits:
        names = ", ".join(split.name for split in splits)
        problem = f"a dataset with the splits {names}. Name one: {splits[-1]}."
    elif files:
        problem = f"several Parquet files. Name one: {files[-1]}."
    else:
        problem = "no dataset that Hugging Face's save_to_disk wrote, and no Parquet file. Name a file."
    raise InputFileError(f"{folder}: {problem}")


def _list_shards(folder: Path, file: Path) -> list[Path]:
    """List the files of a dataset, as ``save_to_disk`` noted them. Their names are not trusted.

    Raises:
        InputFileError: There are no names, or a file is outside of the folder.
    """
    try:
        dataset_state = json.loads(file.read_text(encoding="utf-8"))
        names = [item["filename"] for item in dataset_state["_data_files"]]
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        names = []
    if not names or not all(isinstance(name, str) for name in names):
        raise InputFileError(f"{file}: damaged: it names no _data_files. Save the dataset again.")
    for name in names:
        if (folder / name).parent != folder or ".." in name or "\0" in name:
            raise InputFileError(f"{folder}: it names a file outside of itself: {name[:80]!r}.")
    return [folder / name for name in names]


def _to_text(value: Any) -> str:
    """Convert a value that JSON cannot hold to a text."""
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return value.isoformat() if isinstance(value, (date, time)) else str(value)
