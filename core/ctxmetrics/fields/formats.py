"""Rows of files by their format.

Text files are JSON Lines, JSON, CSV and TSV, in UTF-8 or UTF-16, also compressed by gzip. Parquet
files, and folders that Hugging Face's ``datasets`` saved, are read with pyarrow. A request to Aegis
holds samples, and what it asks of a run.
"""

from __future__ import annotations

import codecs
import csv
import difflib
import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import date, time
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from ctxmetrics.errors import CtxMetricsError, InputFileError, SampleError, importing
from ctxmetrics.fields.cells import doubled, object_of
from ctxmetrics.fields.documents import leaves, text_of
from ctxmetrics.fields.recognition import PEEKED, TEXT_NAMES, recognise
from ctxmetrics.fields.schema import OPTIONS

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LARGEST_CELL = 64 * 1024 * 1024
_DELIMITERS = ",;\t|"
# Whether a table has a header; names: those of its columns, in its place; None: it seems to have one.
Header = bool | Sequence[str] | None
# Cells without a value, as pandas and databases write them.
_GAPS = frozenset({"", "nan", "NaN", "None", "null", "NULL", "<NA>"})
# How many levels deep a list of rows is looked for in an export.
_DEPTH = 3
# The most rows of Parquet in memory at a time.
_BATCH = 256
# Aegis' names of metrics, and ours.
_METRICS: Mapping[str, str] = {"ctx_recall": "context_recall", "ctx_rank_prec": "context_precision"}
# The scale of its thresholds.
SCALE = 100.0
# The settings of a request that are read.
_READ = ("evaluations", "metrics", "threshold", "data", "is_blocking")
# The fewest fields of a sample that a metric looks at.
_FEWEST = 2


def ending_of(file: Path) -> str:
    """Return the ending that says what is in a file, without that of a compression."""
    return (file.with_suffix("") if file.suffix.lower() == ".gz" else file).suffix.lower()


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


def cell_rows(file: Path, header: Header = None) -> Iterator[tuple[str, Any]]:
    """Return each row of a CSV or TSV file with its place; empty cells are left out.

    Cells hold text; lists and objects in them are read with the fields. The delimiter is the one that splits the header
    into the most columns: spreadsheets write ``;`` where the comma is the decimal sign.

    Args:
        file: The file.
        header: False: it has no header, and the columns are ``column 1``, ``column 2`` ..; names: these.

    Raises:
        InputFileError: It is not valid, two columns have one name, or a row has not as many cells as the header.
    """
    csv.field_size_limit(_LARGEST_CELL)
    with opened(file) as text:
        first = text.readline()
        heads = {
            mark: next(csv.reader([first], delimiter=mark), [])
            for mark in ("\t" if ending_of(file) == ".tsv" else _DELIMITERS)
        }
        delimiter = max(heads, key=lambda mark: len(heads[mark]))
        # The name that pandas gives to an index without a name.
        names = [name or f"Unnamed: {number}" for number, name in enumerate(heads[delimiter])]
        headless = header is False or not isinstance(header, (bool, type(None)))
        if header is False:
            names = [f"column {number}" for number in range(1, len(names) + 1)]
        elif header is not None and header is not True:
            names = [*header]
        reader = csv.reader(chain([first] if headless else [], text), delimiter=delimiter, strict=True)
        try:
            for cells in filter(None, reader):
                where = f"line {reader.line_num + (not headless)}"
                row = dict(zip(names, cells, strict=False))
                if len(cells) != len(names):
                    raise InputFileError(
                        f"{file}, {where}: the row has not as many cells as the header. Quote cells with commas."
                    )
                if len(row) < len(names) and [row[name] for name in names] != cells:
                    raise InputFileError(
                        f"{file}, line 1: two columns are named {doubled(names)!r}, and differ in {where}. Rename one."
                    )
                yield where, {key: value for key, value in row.items() if value not in _GAPS}
        except csv.Error as error:
            raise InputFileError(
                f"{file}, line {reader.line_num + 1}: not valid CSV: {error}."
            ) from None


# --- JSON ---


def line_rows(file: Path) -> Iterator[tuple[str, Any]]:
    """Return each line of a file of JSON Lines and what it holds.

    Raises:
        InputFileError: The file cannot be read, or a line is no JSON.
    """
    with opened(file) as text:
        for number, line in enumerate(text, 1):
            if line.strip():
                yield f"line {number}", _parsed(line, file, f"line {number}")


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
        if (rows := _of_columns(data, file)) is not None:
            return rows, ""
        if _fields_in([data]) >= _FEWEST:
            return [data], ""
        if found := [
            (path, value)
            for path, value in leaves(data, _DEPTH)
            if isinstance(value, list) and value and all(isinstance(item, dict) for item in value)
        ]:
            path, rows = max(found, key=lambda item: (_fields_in(item[1]), len(item[1])))
            one = all(isinstance(text_of(row), str) for row in rows) and not _fields_in(rows)
            return ([data], "") if one else (rows, path)  # documents are no samples
    raise InputFileError(f"{file}: the top level must be a list of samples. Write [{{..}}, {{..}}].")


def _of_columns(data: dict[str, Any], file: Path) -> list[dict[str, Any]] | None:
    """Return the rows of a table that was written by columns, as pandas and Hugging Face do; None where it is none.

    Raises:
        InputFileError: A row has not as many cells as there are columns.
    """
    names, cells = data.get("columns"), data.get("data")
    if (
        isinstance(names, list)
        and isinstance(cells, list)
        and all(isinstance(row, list) for row in cells)
    ):
        for number, row in enumerate(cells, 1):
            _check(
                len(row) == len(names),
                f"{file}, sample {number}: the row has not as many cells as 'columns'. Write null for a gap.",
            )
        return [dict(zip(map(str, names), row, strict=True)) for row in cells]
    if not any(key in TEXT_NAMES for key in data):
        return None
    columns = [dict(enumerate(value)) if isinstance(value, list) else value for value in data.values()]
    if all(isinstance(column, dict) and column.keys() == columns[0].keys() for column in columns):
        return [
            {key: column[number] for key, column in zip(data, columns, strict=True)}
            for number in columns[0]
        ]
    return None


def _fields_in(rows: list[Any]) -> int:
    """Return how many fields of a sample the rows have."""
    try:
        absent = recognise(rows[:PEEKED]).absent
    except CtxMetricsError:  # what is wrong with a row is told where the rows are read
        return _FEWEST
    return 0 if absent is None else len(OPTIONS.keys() - absent)


def _parsed(text: str, file: Path, where: str | None) -> Any:
    try:
        return json.loads(text, parse_constant=_no_value, object_pairs_hook=object_of)
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


def _no_value(name: str) -> None:
    """Read NaN and infinities, which are no JSON and which pandas writes for a gap, as no value."""


# --- Parquet and Arrow ---


def arrow_rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Return each row of a Parquet file, or of a folder that ``Dataset.save_to_disk`` wrote or that has Parquet files.

    Each comes with its place.

    Raises:
        InputFileError: There is no such file, there are several splits, or one cannot be read.
        MissingExtraError: pyarrow is not installed.
    """
    with importing("pyarrow"):
        import pyarrow as pa
        import pyarrow.parquet as pq
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
                    if name := doubled(batch.schema.names):
                        raise InputFileError(f"{file}: two columns are named {name!r}. Rename one.")
                    rows = json.loads(
                        json.dumps(batch.to_pylist(), default=_plain),
                        parse_constant=lambda name: None if name == "NaN" else float(name),
                    )
                    for number, row in enumerate(rows, number + 1):  # noqa: B020 - goes on counting
                        yield f"row {number}", {key: row[key] for key in row if row[key] is not None}
        except OSError as error:
            raise InputFileError(
                f"{file}: cannot be read: {error.strerror or error}. Check the path."
            ) from None
        except pa.ArrowException as error:
            raise InputFileError(
                f"{file}: is no {'Parquet' if file.suffix.lower() == '.parquet' else 'Arrow'} file: "
                f"{str(error).rstrip('.')}."
            ) from None


def _dataset_files(folder: Path) -> list[Path]:
    """Return the files with the rows of a folder, in order.

    Of a ``DatasetDict`` with one split it is that split; a folder of shards of one name holds them all.
    """
    if (folder / "state.json").is_file():
        return _shards(folder, folder / "state.json")
    splits = sorted((file.parent for file in folder.glob("*/state.json")), reverse=True)
    found = sorted(path for path in folder.rglob("*.parquet") if path.is_file())
    names = {path.with_name(path.name.partition("-000")[0]) for path in found}
    if len(splits) == 1:
        return _dataset_files(splits[0])
    if len(names) == 1:
        return found
    several = (
        f"a dataset with the splits {', '.join(split.name for split in splits)}"
        if splits
        else "several Parquet files" * bool(found)
    )
    raise InputFileError(
        f"{folder}: {several}. Name one: {[*found, *splits][-1]}."
        if several
        else f"{folder}: no dataset that Hugging Face's save_to_disk wrote, and no Parquet file. Name a file."
    )


def _shards(folder: Path, file: Path) -> list[Path]:
    """Return the files that ``save_to_disk`` lists as those of a dataset; what they are called is untrusted."""
    try:
        names = [
            item["filename"] for item in json.loads(file.read_text(encoding="utf-8"))["_data_files"]
        ]
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        names = []
    _check(
        names and all(isinstance(name, str) for name in names),
        f"{file}: damaged: it names no _data_files. Save the dataset again.",
    )
    for name in names:
        _check(
            (folder / name).parent == folder and ".." not in name and "\0" not in name,
            f"{folder}: it names a file outside of itself: {name[:80]!r}.",
        )
    return [folder / name for name in names]


def _plain(value: Any) -> str:
    """Return a value that JSON cannot hold as a text."""
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return value.isoformat() if isinstance(value, (date, time)) else str(value)


# --- requests to Aegis ---


@dataclass(frozen=True, slots=True)
class Payload:
    """What a request to Aegis holds, in the shape of its page on ``ctx_recall``.

    Attributes:
        rows: The samples' fields in Aegis' words, each with its place in the file.
        metrics: Our names of the metrics it asks for.
        threshold: The pass mark on the scale 0 to 100, or None.
        blocking: Whether a mean below the pass mark is a failure.
        unused: Settings that mean nothing here, with their values.
    """

    rows: tuple[tuple[str, Any], ...]
    metrics: tuple[str, ...]
    threshold: float | None
    blocking: bool
    unused: Mapping[str, Any]


def read_payload(data: Mapping[str, Any], file: Path) -> Payload:
    """Read a request. What an evaluation says itself has priority over what is said for all.

    Raises:
        InputFileError: Something is malformed, unknown, or differs between the evaluations; the message says where.
    """
    evaluations = _filled(data, "evaluations", 'objects with "metrics" and "data"', f"{file}")
    unused = _unused(data, f"{file}")
    settings: set[tuple[tuple[str, ...], float | None, bool]] = set()
    rows: list[tuple[str, Any]] = []
    for number, item in enumerate(evaluations, 1):
        where = f"{file}, evaluation {number}"
        _check(isinstance(item, dict), f"{where}: an evaluation must be a JSON object.")
        unused |= _unused(item, where)
        settings.add(_settings({**data, **item}, where))
        rows += [
            (f"evaluation {number}, sample {index}", sample)
            for index, sample in enumerate(_filled(item, "data", "samples", where), 1)
        ]
    _check(
        len(settings) == 1,
        f"{file}: the evaluations differ in metrics, threshold or is_blocking. Write each into a file of its own.",
    )
    return Payload(tuple(rows), *settings.pop(), unused)


def _settings(item: Mapping[str, Any], where: str) -> tuple[tuple[str, ...], float | None, bool]:
    names = _filled(item, "metrics", 'names, such as ["ctx_recall"]', where)
    threshold, blocking = item.get("threshold"), item.get("is_blocking", False)
    for name in map(str, names):
        _check(
            name in _METRICS,
            f"{where}: the metric {name[:80]!r} is not here. Choose from: {', '.join(_METRICS)}.",
        )
    _check(
        threshold is None or (type(threshold) in (int, float) and 0 <= threshold <= SCALE),
        f'{where}: "threshold" must be a number from 0 to {SCALE:g}.',
    )
    _check(isinstance(blocking, bool), f'{where}: "is_blocking" must be true or false.')
    return tuple(dict.fromkeys(_METRICS[name] for name in names)), threshold, blocking


def _unused(item: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the settings that mean nothing here.

    Raises:
        InputFileError: A key looks like one that is read, misspelt.
    """
    unused = {key: value for key, value in item.items() if key not in _READ}
    for key in unused:
        near = difflib.get_close_matches(
            key, [name for name in _READ if name not in item], n=1, cutoff=0.75
        )
        _check(not near, f"{where}: unknown field {key[:80]!r}. Did you mean {''.join(near)!r}?")
    return unused


def _filled(item: Mapping[str, Any], key: str, of: str, where: str) -> list[Any]:
    """Return the list under a key; it must not be empty."""
    found: Any = item.get(key)
    _check(isinstance(found, list) and found, f'{where}: "{key}" must be a list of {of}.')
    return list(found)


def _check(right: object, message: str) -> None:
    """Raise `InputFileError` with a message unless something is right."""
    if not right:
        raise InputFileError(message)
