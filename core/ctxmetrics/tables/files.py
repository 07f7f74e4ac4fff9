"""Parquet files of any length: read, scored and written batch by batch.

The scores of each batch are a file of their own in ``OUT.part`` until the run is done, so that a run that was killed
loses one batch at most. Then they are joined to one file. Batches begin at the same rows in every run of a file, so that
a run that was resumed writes the same file.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxmetrics._runtime.run import Run
from ctxmetrics._version import __version__
from ctxmetrics.errors import InputFileError, OutputFileError, ParameterError, missing_extra
from ctxmetrics.evaluation.columns import REASON
from ctxmetrics.evaluation.engine import INTERRUPTED
from ctxmetrics.evaluation.progress import counting_progress
from ctxmetrics.evaluation.results import Results
from ctxmetrics.evaluation.sources import check_id, check_present
from ctxmetrics.evaluation.writer import open_locked
from ctxmetrics.fields import AUTO, PEEKED, Reading, recognise
from ctxmetrics.files.arrow_rows import parquet_rows
from ctxmetrics.metrics.judged import JudgedMetric
from ctxmetrics.samples import Sample
from ctxmetrics.tables.batches import BatchScorer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ctxmetrics.evaluation.progress import Progress
    from ctxmetrics.metrics.base import Metric

ENDING = ".parquet"
_ROWS = 1 << 16
# What a run of a folder is about; it is locked while a run goes on.
_ABOUT = "run.json"
_WROTE = b"ctxmetrics"


def column_names(file: Path) -> list[str]:
    """Return the names of a Parquet file's columns.

    Raises:
        MissingExtraError: pyarrow is not installed.
        InputFileError: The file cannot be read.
    """
    names: list[str] = _opened(file).schema_arrow.names
    return names


def reading_of(file: Path, schema: str = AUTO, columns: Mapping[str, str] | None = None) -> Reading:
    """Decide how the rows of a Parquet file are read, by the first of them; see `recognise`.

    Raises:
        MissingExtraError: pyarrow is not installed.
        InputFileError: The file cannot be read.
    """
    return recognise([row for _, row in islice(parquet_rows(file), PEEKED)], schema, columns)


def score_parquet(
    file: Path,
    out: Path,
    metrics: Sequence[Metric],
    *,
    schema: str | Reading = AUTO,
    keep_texts: bool = False,
    resume: bool = False,
    progress: bool | Callable[[Progress], None] | None = None,
) -> Results:
    """Score a Parquet file with metrics that ask no judge, in memory for one batch.

    Args:
        file: The samples, one a row.
        out: Gets one row a sample, in order: its ``id`` where it has one, and the columns of `BatchScorer`.
        metrics: The metrics.
        schema: Whose words the columns are (`ctxmetrics.fields.SCHEMAS`), or how the rows are read.
        keep_texts: ``out`` holds all columns of the file.
        resume: Take over the batches that a run of the same file, metrics and options left in ``OUT.part``.
        progress: As for `ctxmetrics.evaluate`.

    Returns:
        The values and reason codes.

    Raises:
        MissingExtraError: pyarrow is not installed.
        ParameterError: A metric asks a judge.
        InputFileError: The file cannot be read, or another run writes ``out``.
        OutputFileError: Writing failed.
        SampleError: A row is malformed, or has the id of another.
        MissingFieldError: No row has a field that a metric needs.
    """
    _check_no_judge(metrics, out)
    reading = schema if isinstance(schema, Reading) else reading_of(file, schema)
    source = _opened(file)
    scorer = BatchScorer(metrics=metrics, schema=reading, options={"progress": False})
    names = source.schema_arrow.names
    ids = reading.column_of("id", names)
    read = names if keep_texts else _needed(reading, scorer.metrics, names)
    kept = names if keep_texts else [name for name in names if name == ids]
    results = Results({metric.name: metric.rules.scale for metric in scorer.metrics}, keep=False)
    folder = Path(os.path.realpath(out) + ".part")
    parts: list[Path] = []
    present: set[str] = set()
    with ExitStack() as stack:
        _claim(stack, folder, out, _about(file, scorer, reading, keep_texts=keep_texts), resume=resume)
        advance = stack.enter_context(counting_progress(progress, source.metadata.num_rows, Run()))
        try:
            for number, batch in enumerate(_batches(source, read)):
                parts.append(folder / f"{number:08}{ENDING}")
                table, fields = _scored(parts[-1], scorer, batch, number * _ROWS + 1, kept)
                _add_scores(results, scorer.metrics, table)
                present |= fields
                advance(failed=False, samples=len(batch))
        except KeyboardInterrupt:
            results.stopped = INTERRUPTED
            return results
        _check_whole(file, scorer.metrics, parts, present, ids)
        _join(parts, out)
    return results


def _check_no_judge(metrics: Sequence[Metric], out: Path) -> None:
    """Raise if a metric asks a judge.

    Raises:
        ParameterError: Names those that do.
    """
    if judged := [metric.name for metric in metrics if isinstance(metric, JudgedMetric)]:
        raise ParameterError(
            f"{out}: Parquet holds the values of metrics that ask no judge. Write --out FILE.jsonl for "
            f"{', '.join(judged)}."
        )


def _about(file: Path, scorer: BatchScorer, reading: Reading, *, keep_texts: bool) -> str:
    """Return what a run is about, as text: a run with another text cannot take over its batches."""
    stat = file.stat()
    about = {
        "library": __version__,
        "file": [str(file.resolve()), stat.st_size, stat.st_mtime_ns],
        "metrics": [repr(metric) for metric in scorer.metrics],
        "options": [reading.name, sorted(reading.columns.items()), keep_texts, _ROWS],
    }
    return json.dumps(about)


def _scored(
    part: Path, scorer: BatchScorer, batch: Any, first_row: int, kept: Sequence[str]
) -> tuple[Any, frozenset[str]]:
    """Return what `_read` returns of a batch; it is scored where an earlier run did not.

    Args:
        part: The file of its scores.
        scorer: Scores it.
        batch: Its rows.
        first_row: The number of the first one, for error messages.
        kept: The columns that are written with the scores.
    """
    if not part.exists():
        table, present = scorer.score_and_look(batch, first_row)
        _write(part, table.select([*kept, *scorer.columns]), sorted(present))
    return _read(part)


def _add_scores(results: Results, metrics: Sequence[Metric], table: Any) -> None:
    """Append the scores of a batch to the results."""
    for metric in metrics:
        reasons = table[metric.name + REASON].combine_chunks().dictionary_encode()
        codes = reasons.indices.fill_null(-1).to_numpy() + 1
        names = [None, *reasons.dictionary.to_pylist()]
        results.add_values(metric, table[metric.name].to_numpy(), codes, names)


def _opened(file: Path) -> Any:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise missing_extra("pyarrow", "parquet") from None
    try:
        return parquet.ParquetFile(file)
    except ArrowException as error:
        raise InputFileError(f"{file}: is no Parquet file: {error}. Convert it.") from None
    except OSError as error:
        raise InputFileError(
            f"{file}: cannot be read: {error.strerror or error}. Check the path."
        ) from None


def _needed(reading: Reading, metrics: Sequence[Metric], names: Sequence[str]) -> list[str]:
    """Return the columns that may hold a field that the metrics read."""
    fields = {"id", "labels", *(name for metric in metrics for name in (*metric.requires, *metric.uses))}
    fields |= (
        {"retrieved_contexts", "reference_contexts"} if fields & {"retrieved_context_ids"} else set()
    )
    schema = reading.schema
    keys = {key.partition(".")[0] for name in fields for key in schema.flat_keys[name]}
    keys |= {schema.places[name].side for name in fields if name in schema.places}
    keys |= {column for column, meant in reading.columns.items() if meant in fields}
    return [name for name in names if reading.renamed.get(name, name) in keys]


def _batches(source: Any, columns: Sequence[str]) -> Iterator[Any]:
    """Yield tables of so many rows, the last one of fewer."""
    import pyarrow as pa

    waiting: list[Any] = []
    for batch in source.iter_batches(batch_size=_ROWS, columns=list(columns)):
        waiting.append(batch)
        if sum(map(len, waiting)) >= _ROWS:
            table = pa.Table.from_batches(waiting)
            yield table.slice(0, _ROWS)
            waiting = table.slice(_ROWS).to_batches()
    if waiting:
        yield pa.Table.from_batches(waiting)


def _claim(stack: ExitStack, folder: Path, out: Path, about: str, *, resume: bool) -> None:
    """Make the folder ready for this run alone; what another run than the same left there is dropped.

    Raises:
        InputFileError: Another run has it.
        OutputFileError: It cannot be made.
    """
    try:
        folder.mkdir(exist_ok=True)
        lock = open_locked(folder / _ABOUT)
        stack.callback(os.close, lock)
        known = os.read(lock, len(about.encode()) + 1) == about.encode()
        if not (resume and known):
            for part in folder.glob(f"*{ENDING}*"):
                part.unlink()
        os.ftruncate(lock, 0)
        os.write(lock, about.encode())
    except BlockingIOError:
        raise InputFileError(
            f"{out}: another run is writing it. Wait for its end, or choose another file."
        ) from None
    except OSError as error:
        raise _problem(out, error) from None


def _problem(out: Path, error: OSError) -> OutputFileError:
    return OutputFileError(
        f"{out}: cannot be written: {error.strerror or error}. Make room, or choose another file."
    )


def _write(part: Path, table: Any, present: Sequence[str]) -> None:
    """Write the scores of a batch, whole or not at all."""
    from pyarrow import parquet

    new = part.with_suffix(".new")
    marked = table.replace_schema_metadata({_WROTE: json.dumps(present).encode()})
    try:
        parquet.write_table(marked, new)
        new.replace(part)
    except OSError as error:
        with suppress(OSError):
            new.unlink()
        raise _problem(part, error) from None


def _read(part: Path, columns: Sequence[str] | None = None) -> tuple[Any, frozenset[str]]:
    """Return the scores of a batch, and the fields that some row of it has."""
    from pyarrow import parquet

    table = parquet.read_table(part, columns=columns)
    return table, frozenset(json.loads(table.schema.metadata[_WROTE]))


def _check_whole(
    file: Path, metrics: Sequence[Metric], parts: Sequence[Path], present: set[str], ids: str | None
) -> None:
    """Check what no batch alone shows.

    Args:
        file: The file.
        metrics: The metrics.
        parts: The scores of its batches.
        present: The fields that some row has.
        ids: The column of the ids, where there is one.

    Raises:
        InputFileError: The file has no rows.
        MissingFieldError: No row has a field that a metric needs.
        SampleError: Two rows have one id.
    """
    if not parts:
        raise InputFileError(f"{file}: the file is empty. It should hold one sample a row.")
    for metric in metrics:
        check_present(metric, present)
    if ids is not None:
        _check_ids(parts, ids)


def _check_ids(parts: Sequence[Path], name: str) -> None:
    """Check that no two rows have one id.

    Raises:
        SampleError: Two have.
    """
    import pyarrow as pa

    found = pa.chunked_array([chunk for part in parts for chunk in _read(part, [name])[0][name].chunks])
    filled = found.drop_null()
    if len(filled) == len(filled.unique()):
        return
    places: dict[str, int] = {}
    for row, value in enumerate(found.to_pylist(), 1):
        if value is not None:
            check_id(Sample(id=value), row, places)


def _join(parts: Sequence[Path], out: Path) -> None:
    """Write one file of the scores of all batches, whole or not at all, and remove the folder of the batches."""
    from pyarrow import parquet

    place = Path(os.path.realpath(out))
    new = parts[0].with_name("joined.new")
    try:
        schema = parquet.read_schema(parts[0]).with_metadata({_WROTE: __version__.encode()})
        with parquet.ParquetWriter(new, schema) as writer:
            for part in parts:
                writer.write_table(_read(part)[0].replace_schema_metadata(schema.metadata))
        new.replace(place)
    except OSError as error:
        raise _problem(out, error) from None
    shutil.rmtree(new.parent, ignore_errors=True)
