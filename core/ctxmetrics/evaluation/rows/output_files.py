"""Files that are written whole: beside their place first, then renamed, so that a failure keeps what was there before."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from threading import get_native_id
from typing import Any

from ctxmetrics.errors import OutputFileError
from ctxmetrics.evaluation.files.text_files import compress, open_bytes
from ctxmetrics.evaluation.rows.json_lines import ENCODING, json_line
from ctxmetrics.evaluation.rows.outcome import Outcome
from ctxmetrics.evaluation.rows.output_paths import (
    PART_ENDING,
    check_table_packages,
    check_writable,
    find_target,
)
from ctxmetrics.evaluation.rows.provenances import read_start
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.rows.table_files import build_tables, check_ending, is_table


def write_whole(path: str | os.PathLike[str], pieces: Iterable[str | bytes]) -> None:
    """Write a file, compressed as its name says. If that fails, the old file stays.

    Raises:
        InputFileError: The path cannot be a file.
        OutputFileError: Writing failed.
    """
    target = find_target(path)
    check_writable(path, target)
    new_path = Path(path)
    if target is not None:
        # Another process or thread may write the same file.
        new_path = target.with_name(f"{target.name}.{os.getpid()}.{get_native_id()}{PART_ENDING}")
    try:
        with new_path.open("wb") as file:
            file.writelines(compress(map(_encode, pieces), Path(path)))
            file.flush()
            if target is not None:
                copy_mode(target, file.fileno())
                os.fsync(file.fileno())
        if target is not None:
            new_path.replace(target)
    except OSError as error:
        if target is not None:
            with suppress(OSError):
                new_path.unlink()
        raise OutputFileError(
            f"{path}: cannot be written: {error.strerror or error}; what was there is unchanged. "
            "Make room, or choose another file."
        ) from None


def _encode(piece: str | bytes) -> bytes:
    return piece if isinstance(piece, bytes) else piece.encode(*ENCODING)


def copy_mode(target: Path, file: int) -> None:
    """Give a new file the mode of the file that it will replace."""
    with suppress(OSError, AttributeError):
        os.fchmod(file, stat.S_IMODE(target.stat().st_mode))


def write_tables(path: str | os.PathLike[str], rows: Iterable[Row], *, keep_texts: bool) -> None:
    """Write results as a table, and their verdicts into it or beside it; see `ctxmetrics.evaluation.rows.table_files`.

    Raises:
        InputFileError: A path cannot be a file.
        MissingExtraError: A package is needed, and not installed.
        OutputFileError: Writing failed.
        ParameterError: The ending is that of another kind of file.
    """
    check_ending(path)
    check_table_packages(path)
    for file_path, content in build_tables(path, rows, keep_texts=keep_texts).items():
        write_whole(file_path, [content])


def write_gates(path: str | os.PathLike[str], outcomes: Iterable[Outcome]) -> None:
    """Write the outcomes of gates into the first line of a file of results. Tables, devices and pipes are not changed.

    A new outcome replaces the earlier outcomes of a comparison with the same run; one without a comparison replaces the earlier ones
    without a comparison. All other outcomes stay.

    Raises:
        InputFileError: There is no such file.
        OutputFileError: Writing failed.
    """
    new_outcomes = tuple(outcomes)
    if not new_outcomes or is_table(path) or find_target(path) is None:
        return
    start = read_start(path)
    replaced_runs = {outcome.against for outcome in new_outcomes}
    gates = [gate for gate in start.get("gates", ()) if gate.get("against") not in replaced_runs]
    for outcome in new_outcomes:
        gate = {name: value for name, value in outcome.to_dict().items() if value is not None}
        del gate["samples"]
        gates.append({**gate, "passed": outcome.passed})
    write_start(path, {"gates": gates})


def write_start(path: str | os.PathLike[str], facts: Mapping[str, Any]) -> None:
    """Write facts about the run into the first line of a file of results, beside those that it holds already.

    Raises:
        InputFileError: There is no such file.
        OutputFileError: Writing failed.
    """
    start = read_start(path)
    first_line = json_line({"provenance_id": 0, "run": {**start, **facts}})
    write_whole(path, chain([first_line], _read_after_run(path, has_run=bool(start))))


def _read_after_run(path: str | os.PathLike[str], *, has_run: bool) -> Iterator[bytes]:
    """Yield the lines of a file of results without the one about the run."""
    with open_bytes(Path(path)) as lines:
        if has_run:
            next(lines)
        yield from lines
