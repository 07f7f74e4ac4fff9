"""Files that results are written to. No output replaces an input, and a failure keeps what was there before.

Rows of a run go to ``OUT.part``, in input order, those of samples that are finished together in one go, so that a kill costs
these at most: the last line may be cut off then, and a run that is resumed drops it. At the end the file is renamed to
``OUT``. Everything else is written to a file beside its place and renamed.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import chain, combinations, product
from pathlib import Path
from threading import get_native_id
from typing import IO, Any

from ctxmetrics._internal.frozen import EMPTY
from ctxmetrics._internal.version import __version__
from ctxmetrics.errors import InputFileError, OutputFileError
from ctxmetrics.evaluation.files.text_files import DAMAGED, compress, get_ending, open_bytes
from ctxmetrics.evaluation.rows.outcome import Outcome
from ctxmetrics.evaluation.rows.provenances import read_start
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.rows.row_lines import to_lines
from ctxmetrics.evaluation.rows.rows_file import Line, LineReader, read_rows
from ctxmetrics.evaluation.rows.sample_record import content_hash
from ctxmetrics.evaluation.rows.table_files import (
    build_tables,
    check_ending,
    is_own,
    is_table,
    verdicts_beside,
)
from ctxmetrics.metrics.base import Metric
from ctxmetrics.samples.sample import Sample
from ctxmetrics.scores.score import NOT_FINAL, Provenance, Score
from ctxmetrics.verdicts import Usage

_log = logging.getLogger("ctxmetrics")
# What the name of a file ends in while its run goes on.
PART = ".part"
# Lone surrogates, which UTF-8 cannot hold, become JSON escapes.
ENCODING = ("utf-8", "backslashreplace")
# How many bytes of a file are read to see whether this library wrote it, and how its rows begin.
_START = 1024
_LINES = (b'{"provenance_id"', b'{"sample_id"')
# How a page, a card, and what the view remembers of a folder begin.
_OTHER_OUTPUTS = (b"<", b'{\n "ctxmetrics_card"', b'{"ctxmetrics_view"')
# The byte that is locked on Windows: behind the end of any file, so that the file can be read
# meanwhile.
_LOCKED_BYTE = 2**62
# The lines that are written at once, at most.
_MOST_LINES = 256
_FULL = frozenset({errno.ENOSPC, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC)})
_BINARY = getattr(os, "O_BINARY", 0)
# Characters that JSON allows as they are, and that terminals or readers of lines interpret.
_UNSEEN = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def json_line(data: Mapping[str, Any]) -> bytes:
    """Write one line of JSON in UTF-8, without blanks between its parts.

    What a user's judge or metric put there and JSON cannot hold becomes text, NaN null; half a character of two becomes a JSON
    escape, and so do characters that terminals or readers of lines interpret.
    """
    try:
        line = _get_encoder()(data, inf_nan_mode="null", fallback=_plain)
    except ValueError:  # half a character, which UTF-8 cannot hold
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=_plain)
        text = json.dumps(
            json.loads(text, parse_constant=lambda _: None), ensure_ascii=False, separators=(",", ":")
        )
        line = text.encode(*ENCODING)
    if not line.isascii() or b"\x7f" in line:
        text = line.decode()
        line = _UNSEEN.sub(lambda match: f"\\u{ord(match.group()):04x}", text).encode()
    return line + b"\n"


@cache
def _get_encoder() -> Callable[..., bytes]:
    from pydantic_core import to_json

    return to_json


def _plain(value: object) -> object:
    as_list = getattr(value, "tolist", None)  # numpy's scalars and arrays
    return as_list() if callable(as_list) else str(value)


def check_outputs(outputs: Mapping[str, Any], inputs: Mapping[str, Any]) -> None:
    """Refuse outputs that are one of the inputs, or each other, under whatever name or link; nothing is read.

    Args:
        outputs: Paths of files by the option that named them; None where it was not given.
        inputs: The same, of what is read.

    Raises:
        InputFileError: Two are one file, or an output cannot be written.
    """
    outputs = dict(outputs)
    for name, path in [*outputs.items()]:
        if path is not None:
            outputs[f"the verdicts of {name}"] = verdicts_beside(path)
    targets = {name: _target(path) for name, path in outputs.items() if path is not None}
    written = {name: (place, _part(place)) for name, place in targets.items() if place is not None}
    read = {name: (Path(path),) for name, path in inputs.items() if path is not None}
    pairs = [*combinations(written.items(), 2), *product(written.items(), read.items())]
    for (name, places), (other, other_places) in pairs:
        if any(_same_file(*pair) for pair in product(places, other_places)):
            raise InputFileError(
                f"{name} {outputs[name]} and {other} {outputs.get(other) or inputs[other]} are the same file, which "
                f"would be lost. Choose another file for {name}."
            )
    for name, place in targets.items():
        _check_writable(outputs[name], place)


def _target(path: str | os.PathLike[str]) -> Path | None:
    """Return the file that a path names, through all links; None for a device or a pipe, where nothing is lost."""
    place = Path(os.path.realpath(path))
    mode = place.stat().st_mode if place.exists() else stat.S_IFREG
    in_dev = Path(path).absolute().parts[1:2] == ("dev",)
    return None if in_dev or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) else place


def _part(place: Path) -> Path:
    return place.with_name(place.name + PART)


def _same_file(one: Path, other: Path) -> bool:
    with suppress(OSError):
        return one.samefile(other)
    return os.path.normcase(one) == os.path.normcase(os.path.realpath(other))


def _check_writable(path: str | os.PathLike[str], place: Path | None) -> None:
    """Raise where a file cannot be written, or holds what this library did not write."""
    if place is None:
        return
    if place.is_dir():
        problem = os.strerror(errno.EISDIR)
    elif not place.parent.is_dir():
        problem = os.strerror(errno.ENOENT)
    elif not os.access(place if place.exists() else place.parent, os.W_OK):
        problem = os.strerror(errno.EACCES)
    elif not _is_output(place):
        problem = "it holds data that no run wrote"
    else:
        return
    raise InputFileError(f"{path}: cannot be written: {problem}. Choose another file.")


def _is_output(place: Path) -> bool:
    """Whether a file is empty or missing, or was written by this library; any other may be the samples themselves."""
    try:
        with open_bytes(place) as file:
            start = file.read(_START)
    except (FileNotFoundError, PermissionError):  # what cannot be read is refused when it is written
        return True
    except (OSError, *DAMAGED):  # it is not compressed as its name says
        return False
    if is_table(place) and is_own(place):
        return True
    # A file that was cut in its first line, or is empty, begins as the line does.
    if any(line.startswith(start[: len(line)]) for line in _LINES):
        return True
    return start.startswith(_OTHER_OUTPUTS) and b"ctxmetrics" in start


def write_tables(path: str | os.PathLike[str], rows: Iterable[Row], *, keep_texts: bool) -> None:
    """Write results as a table, and their verdicts into it or beside it; see `ctxmetrics.evaluation.rows.table_files`.

    Raises:
        InputFileError: A path is no place for a file.
        MissingExtraError: A package is needed, and not installed.
        OutputFileError: Writing failed.
        ParameterError: The ending is that of another kind of file.
    """
    check_ending(path)
    _check_table(path)
    for place, content in build_tables(path, rows, keep_texts=keep_texts).items():
        write_whole(place, [content])


def _check_table(path: str | os.PathLike[str]) -> None:
    """Raise where a file of results, or that of its verdicts, cannot be written."""
    for name in (path, verdicts_beside(path)):
        if name is not None:
            _check_writable(name, _target(name))


def make_folder(path: Path, option: str = "") -> None:
    """Make a folder, and those above it, unless it is there.

    Args:
        path: The folder.
        option: The option that names it, for the message.

    Raises:
        InputFileError: It cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        name = f"{option} {path}".strip()
        raise InputFileError(f"{name}: is no directory: {error.strerror or error}.") from None


def write_whole(path: str | os.PathLike[str], pieces: Iterable[str | bytes]) -> None:
    """Write a file, compressed as its name says, or leave what was there.

    Raises:
        InputFileError: The path is no place for a file.
        OutputFileError: Writing failed.
    """
    place = _target(path)
    _check_writable(path, place)
    new = Path(path)
    if place is not None:
        # Another process or thread may write the same file.
        new = place.with_name(f"{place.name}.{os.getpid()}.{get_native_id()}{PART}")
    try:
        with new.open("wb") as file:
            file.writelines(compress(map(_encode, pieces), Path(path)))
            file.flush()
            if place is not None:
                _copy_mode(place, file.fileno())
                os.fsync(file.fileno())
        if place is not None:
            new.replace(place)
    except OSError as error:
        if place is not None:
            with suppress(OSError):
                new.unlink()
        raise OutputFileError(
            f"{path}: cannot be written: {error.strerror or error}; what was there is unchanged. "
            "Make room, or choose another file."
        ) from None


def write_gates(path: str | os.PathLike[str], outcomes: Iterable[Outcome]) -> None:
    """Write what became of gates into the first line of a file of results; a table, a device or a pipe is left alone.

    Outcomes that the file has already stay, unless they are about a comparison with the same run, or, like these, about none.

    Raises:
        InputFileError: There is no such file.
        OutputFileError: Writing failed.
    """
    new = tuple(outcomes)
    if not new or is_table(path) or _target(path) is None:
        return
    start = read_start(path)
    replaced = {outcome.against for outcome in new}
    gates = [gate for gate in start.get("gates", ()) if gate.get("against") not in replaced]
    for outcome in new:
        gate = {name: value for name, value in outcome.to_dict().items() if value is not None}
        del gate["samples"]
        gates.append({**gate, "passed": outcome.passed})
    first = json_line({"provenance_id": 0, "run": {**start, "gates": gates}})
    write_whole(path, chain([first], _read_after_run(path, has_run=bool(start))))


def _read_after_run(path: str | os.PathLike[str], *, has_run: bool) -> Iterator[bytes]:
    """Yield the lines of a file of results without the one about the run."""
    with open_bytes(Path(path)) as lines:
        if has_run:
            next(lines)
        yield from lines


def _encode(piece: str | bytes) -> bytes:
    return piece if isinstance(piece, bytes) else piece.encode(*ENCODING)


def _copy_mode(place: Path, file: int) -> None:
    """Set the mode of a new file to that of the file that it will replace."""
    with suppress(OSError, AttributeError):
        os.fchmod(file, stat.S_IMODE(place.stat().st_mode))


class OutFile:
    """Writes the rows of a run as they are finished.

    Rows go to ``PATH.part``; `finish` renames it to ``PATH``. Until then ``PATH`` is as it was. A run that is killed or
    stopped leaves ``PATH.part``. A lock on that file keeps other runs away, and ends with the process. A device or a
    pipe is written to directly.

    Args:
        path: The file.
        resume: Keep the rows that are in ``PATH.part`` already, as far as `known` accepts them.
        keep_texts: Write all fields of the samples.
        start: What is known of the run.

    Attributes:
        part: Where the rows are meanwhile; None for a device or a pipe.

    Raises:
        InputFileError: The file cannot be opened, or another run writes it.
        OutputFileError: The disk is full.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        resume: bool = False,
        keep_texts: bool = False,
        start: Mapping[str, Any] = EMPTY,
    ) -> None:
        self._path = path
        self._keep_texts = keep_texts
        self._start = start
        self._place = _target(path)
        self.part: Path | None = None if self._place is None else _part(self._place)
        self._earlier: IO[bytes] | None = None
        self._reader: LineReader
        self._provenances: dict[Provenance, int] = {}
        # Those of rows that were added and are not written yet.
        self._lines: list[bytes] = []
        self._is_broken = False
        _check_table(path)
        if self._place is not None:
            check_ending(path)
        _check_writable(f"{path}{PART}", self.part)
        try:
            if self._place is None or self.part is None:
                self._file = os.open(path, os.O_WRONLY | os.O_APPEND | _BINARY)
                return
            self._file = open_locked(self.part)
            _copy_mode(self._place, self._file)
            if resume:
                self._earlier = self.part.open("rb")
                self._reader = LineReader()
            else:
                os.ftruncate(self._file, 0)
        except BlockingIOError:
            raise InputFileError(
                f"{path}: another run is writing it. Wait for its end, or choose another file."
            ) from None
        except OSError as error:
            kind = OutputFileError if error.errno in _FULL else InputFileError
            raise kind(
                f"{path}: cannot be written: {error.strerror}. Choose another file for out."
            ) from None

    def known(self, sample: Sample | None, metrics: Sequence[Metric]) -> list[Score] | None:
        """Return the next sample's scores from the file that is resumed, or None where they must be computed.

        Rows are taken over up to the first sample whose rows are missing, failed, or belong to another
        sample, judge or parameter. The rest of the file is dropped.

        Args:
            sample: The sample; None after the last.
            metrics: The metrics of the run.
        """
        if self._earlier is None:
            return None
        begin = self._earlier.tell()
        scores = None
        if sample is not None:
            scores = self._read_scores(self._earlier, sample, metrics)
        if scores is None:
            self._earlier.close()
            self._earlier = None
            os.ftruncate(self._file, begin)
        return scores

    def _read_scores(
        self, rows: IO[bytes], sample: Sample, metrics: Sequence[Metric]
    ) -> list[Score] | None:
        """Read a sample's next rows, as an earlier run left them: those that this run would write itself.

        Args:
            rows: The file, one row on each line.
            sample: The sample.
            metrics: The metrics of the run, in the order of the rows.

        Returns:
            One score for each metric; None unless this run would compute the same.
        """
        from ctxmetrics.prompts import is_outdated  # prompts load pydantic, which most runs do not need

        content = content_hash(sample)
        scores = []
        numbers = {}
        for metric in metrics:
            try:
                line = self._read_line(rows)
            except ValueError:
                return None
            if line is None or (line.record or EMPTY).get("content_hash") != content:
                return None
            score = line.score
            if not _is_same_run(score, sample, metric):
                return None
            prompt = score.provenance.prompt or ""
            if is_outdated(prompt):
                _log.warning(
                    "The file that is resumed was judged with the prompt %s: that is asked again.",
                    prompt,
                )
                return None
            if line.provenance_id is not None:
                numbers[score.provenance] = line.provenance_id
            scores.append(replace(score, usage=Usage()))  # this run pays nothing for it
        # Those of rows that are dropped are written again.
        self._provenances.update(numbers)
        return scores

    def _read_line(self, lines: IO[bytes]) -> Line | None:
        """Read the next line of a sample that is whole, with what stands in the lines before it; None at the end."""
        for text in lines:
            if not text.endswith(b"\n"):
                return None
            line = self._reader.read(text)
            if line is not None:
                return line
        return None

    def add(self, row: Row) -> None:
        """Add a row; `flush` writes its lines. None is added to a file that could not be written."""
        if not self._is_broken:
            lines = to_lines(row, self._provenances, self._start, keep_texts=self._keep_texts)
            self._lines.extend(map(json_line, lines))

    @property
    def is_full(self) -> bool:
        """Whether as many lines wait as are written at once."""
        return len(self._lines) >= _MOST_LINES

    def flush(self) -> None:
        """Append the lines of all rows that were added, in one write. A half-written line is removed.

        Raises:
            OutputFileError: The file cannot be written any more.
        """
        lines = self._lines
        self._lines = []
        if not lines:
            return
        try:
            append(self._file, *lines)
        except OSError as error:
            self._is_broken = True
            raise self._problem(error) from None

    def finish(self) -> None:
        """Rename the file to ``PATH``; a table is made of it.

        Raises:
            OutputFileError: It cannot be renamed, or the table cannot be written.
        """
        if self._place is None or self.part is None:
            return
        try:
            os.fsync(self._file)
            if os.name == "nt":  # an open file cannot be renamed there
                self._close()
            if is_table(self._place):
                # Its rows have the texts that they are to have.
                rows = read_rows(self.part) if self.part.stat().st_size else ()
                write_tables(self._place, rows, keep_texts=False)
                self.part.unlink()
            elif self._place.suffix.lower() == get_ending(self._place):
                self.part.replace(self._place)
            else:
                with self.part.open("rb") as lines:
                    write_whole(self._place, lines)
                self.part.unlink()
        except OSError as error:
            raise self._problem(error) from None
        self._close()

    def _problem(self, error: OSError) -> OutputFileError:
        where = "" if self.part is None else f"; the rows before are in {self.part}"
        return OutputFileError(f"{self._path} cannot be written: {error.strerror or error}{where}")

    def close(self) -> None:
        """Close the file and its lock. An empty ``PATH.part`` is removed."""
        if self._earlier is not None:
            self._earlier.close()
        if self.part is not None and self._file >= 0 and not os.fstat(self._file).st_size:
            with suppress(OSError):
                self.part.unlink()
        self._close()

    def _close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _is_same_run(score: Score, sample: Sample, metric: Metric) -> bool:
    """Return whether a score of a file is final, of this sample and metric, by the same judge and parameters."""
    if (score.metric, score.sample_id, score.threshold) != (metric.name, sample.id, metric.pass_mark):
        return False
    origin = score.provenance
    judge = getattr(getattr(metric, "judge", None), "name", None)
    expected = (judge, metric.formula_name, metric.convention, f"ctxmetrics {__version__}")
    known = (origin.judge, origin.formula, origin.convention, origin.library)
    return score.reason_code not in NOT_FINAL and known == expected


def append(file: int, *lines: bytes, sync: bool = False) -> None:
    """Append lines to an open file in one write. Where it fails, the part that was written is removed.

    Args:
        file: The file.
        *lines: The lines.
        sync: Wait until the disk has them.

    Raises:
        OSError: It cannot be written.
    """
    data = memoryview(b"".join(lines))
    rest = data
    try:
        while rest:
            rest = rest[os.write(file, rest) :]
        if sync:
            os.fsync(file)
    except OSError:
        with suppress(OSError):  # a device or a pipe
            os.ftruncate(file, os.fstat(file).st_size - len(data) + len(rest))
        raise


def open_locked(path: Path) -> int:
    """Open a file that no other run has open.

    Raises:
        BlockingIOError: Another run has.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | _BINARY | getattr(os, "O_NOFOLLOW", 0)
    while True:
        file = os.open(path, flags, 0o644)
        try:
            _lock(file)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file), path.stat()):
                    return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)  # the other run renamed it between the opening and the lock


def _lock(file: int) -> None:
    """Take the lock, which the system gives back when the process ends.

    Raises:
        BlockingIOError: It is taken.
    """
    try:
        import fcntl
    except ImportError:
        import msvcrt

        try:
            os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]  # Windows only
        except OSError as error:
            raise BlockingIOError from error
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError as error:  # a file system without locks
        _log.warning("No lock is possible here: %s; start no second run.", error.strerror)
