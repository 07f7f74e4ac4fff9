"""Files that results are written to: no output replaces an input, and a failure loses nothing that was there.

Rows of a run go to ``OUT.part``, in input order and a sample's rows in one go, so that it is valid after a kill. At the
end it is renamed to ``OUT``. Everything else is written to a file beside its place and renamed.
"""

from __future__ import annotations

import errno
import json
import logging
import math
import os
import re
import stat
from contextlib import suppress
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxmetrics._version import __version__
from ctxmetrics.errors import InputFileError, OutputFileError
from ctxmetrics.report.rows import content_hash, to_rows
from ctxmetrics.scores import NOT_FINAL, Provenance, Score
from ctxmetrics.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from typing_extensions import Self

    from ctxmetrics.metrics.base import Metric
    from ctxmetrics.report.view import Row
    from ctxmetrics.samples import Sample

PART = ".part"
"""What the name of a file ends in while its run goes on."""

ENCODING = ("utf-8", "backslashreplace")
"""Half characters, which no UTF-8 can hold, become JSON escapes."""
# Bytes of a file that say whether this library wrote it.
_START = 1024
_LOCKED_BYTE = 2**62
"""What is locked on Windows: a byte that no file reaches, so that the file can be read meanwhile."""
_FULL = frozenset({errno.ENOSPC, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC)})
_BINARY = getattr(os, "O_BINARY", 0)
_UNSEEN = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What JSON allows raw, and terminals or readers of lines act on."""


def json_line(data: Mapping[str, Any]) -> str:
    """Write one row; what a user's judge or metric put there and JSON cannot hold becomes text, NaN null."""
    try:
        line = json.dumps(data, ensure_ascii=False, allow_nan=False, default=_plain)
    except ValueError:
        line = json.dumps(_without_nan(data), ensure_ascii=False, default=_plain)
    return _UNSEEN.sub(lambda match: f"\\u{ord(match.group()):04x}", line) + "\n"


def _plain(value: object) -> object:
    as_list = getattr(value, "tolist", None)  # numpy's scalars and arrays
    return _without_nan(as_list()) if callable(as_list) else str(value)


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def check_outputs(outputs: Mapping[str, Any], inputs: Mapping[str, Any]) -> None:
    """Refuse outputs that are one of the inputs, or each other, under whatever name or link; nothing is read.

    Args:
        outputs: Paths of files by the option that named them; None where it was not given.
        inputs: The same, of what is read.

    Raises:
        InputFileError: Two are one file, or an output cannot be written.
    """
    written = {name: Path(path) for name, path in outputs.items() if path is not None}
    read = {name: Path(path) for name, path in inputs.items() if path is not None}
    touched = {
        **{name: (path,) for name, path in read.items()},
        **{name: _touched(written[name]) for name in written},
    }
    for mine, other in [*combinations(written, 2), *product(written, read)]:
        if any(_same_file(*pair) for pair in product(touched[mine], touched[other])):
            raise InputFileError(
                f"{mine} {written[mine]} and {other} {touched[other][0]} are the same file, which would be lost. "
                f"Choose another file for {mine}."
            )
    for path in written.values():
        _check_writable(path)


def _touched(path: Path) -> tuple[Path, ...]:
    """Return the files that writing to a path changes."""
    return (path,) if _is_stream(path) else (path, _part(path))


def _place(path: Path) -> Path:
    """Return where a file stands that a path names, through all links."""
    return Path(os.path.realpath(path))


def _part(path: Path) -> Path:
    place = _place(path)
    return place.with_name(place.name + PART)


def _same_file(one: Path, other: Path) -> bool:
    if _is_stream(one) or _is_stream(other):
        return False
    with suppress(OSError):
        return one.samefile(other)
    return os.path.normcase(_place(one)) == os.path.normcase(_place(other))


def _is_stream(path: Path) -> bool:
    """Whether it is a device or a pipe: nothing can be renamed there, and nothing is lost."""
    if path.absolute().parts[1:2] == ("dev",):
        return True
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _check_writable(path: Path) -> None:
    if _is_stream(path):
        return
    place = _place(path)
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
        with place.open("rb") as file:
            start = file.read(_START)
    except OSError:
        return True
    page = start.startswith(b"<") and b"ctxmetrics" in start
    return page or not start or start.startswith(b'{"sample_id"')


def write_whole(path: str | os.PathLike[str], pieces: Iterable[str]) -> None:
    """Write a file, or leave what was there.

    Raises:
        InputFileError: The path is no place for a file.
        OutputFileError: Writing failed.
    """
    name = Path(path)
    _check_writable(name)
    stream = _is_stream(name)
    place = _place(name)
    target = name if stream else place.with_name(f"{place.name}.{os.getpid()}{PART}")
    try:
        with target.open("wb") as file:
            if not stream:
                _like(file.fileno(), place)
            file.writelines(piece.encode(*ENCODING) for piece in pieces)
            file.flush()
            if not stream:
                os.fsync(file.fileno())
        if not stream:
            target.replace(place)
    except OSError as error:
        if not stream:
            with suppress(OSError):
                target.unlink()
        raise OutputFileError(
            f"{name}: cannot be written: {error.strerror or error}; what was there is unchanged. "
            "Make room, or choose another file."
        ) from None


def _like(file: int, place: Path) -> None:
    """Give a new file the mode of the one that it will replace."""
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

    Raises:
        InputFileError: The file cannot be opened, or another run writes it.
        OutputFileError: The disk is full.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, resume: bool = False, keep_texts: bool = False
    ) -> None:
        self._path, self._keep_texts = Path(path), keep_texts
        self.part = None if _is_stream(self._path) else _part(self._path)
        _check_writable(self._path)
        self._broken = self.finished = False
        self._known: Any = None
        try:
            if self.part is None:
                self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | _BINARY)
                return
            self._file = _open_locked(self.part)
            _like(self._file, self._path)
            if resume:
                self._known = self.part.open("rb")
            else:
                os.ftruncate(self._file, 0)
        except BlockingIOError:
            raise InputFileError(
                f"{self._path}: another run is writing it. Wait for its end, or choose another file."
            ) from None
        except OSError as error:
            kind = OutputFileError if error.errno in _FULL else InputFileError
            raise kind(
                f"{self._path}: cannot be written: {error.strerror}. Choose another file for out."
            ) from None

    def known(self, sample: Sample | None, metrics: Sequence[Metric]) -> list[Score] | None:
        """Return the next sample's scores from the file that is resumed, or None where they must be computed.

        From the first sample on whose rows are missing, failed, or belong to another sample, judge or parameter, nothing
        is taken over, and what the file holds from there on is dropped.

        Args:
            sample: The sample; None after the last.
            metrics: The metrics of the run.
        """
        if self._known is None:
            return None
        begin = self._known.tell()
        if sample is not None:
            lines = [self._known.readline() for _ in metrics]
            content = content_hash(sample)
            scores = [
                _score(line, sample, content, metric) for line, metric in zip(lines, metrics, strict=True)
            ]
            found = [score for score in scores if score is not None]
            if len(found) == len(metrics):
                return found
        self._known.close()
        self._known = None
        os.ftruncate(self._file, begin)
        return None

    def write(self, row: Row) -> str | None:
        """Append the row's lines in one go.

        Returns:
            None; or, when the file cannot be written any more, what is wrong. A half-written line is taken back.
        """
        if self._broken:
            return None
        data = "".join(map(json_line, to_rows(row, keep_texts=self._keep_texts))).encode(*ENCODING)
        try:
            if self.part is None:
                _write_all(self._file, data)
                return None
            size = os.fstat(self._file).st_size
            try:
                _write_all(self._file, data)
            except OSError:
                os.ftruncate(self._file, size)
                raise
        except OSError as error:
            return self._failed(error)
        return None

    def finish(self) -> str | None:
        """Rename the file to what it was asked to be.

        Returns:
            None, or what is wrong.
        """
        if self._broken or self.part is None:
            self.finished = not self._broken
            return None
        try:
            os.fsync(self._file)
            if os.name == "nt":  # an open file cannot be renamed there
                self._close()
            self.part.replace(_place(self._path))
        except OSError as error:
            return self._failed(error)
        self.finished = True
        return None

    def _failed(self, error: OSError) -> str:
        self._broken = True
        where = "" if self.part is None else f"; the rows before are in {self.part}"
        return f"{self._path} cannot be written: {error.strerror or error}{where}"

    def _close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._known is not None:
            self._known.close()
        if (
            self.part is not None
            and not self.finished
            and self._file >= 0
            and not os.fstat(self._file).st_size
        ):
            with suppress(OSError):
                self.part.unlink()
        self._close()


def _write_all(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


def _score(line: bytes, sample: Sample, content: str, metric: Metric) -> Score | None:
    """Return the score that a row holds, if this run would compute the same."""
    expected = _provenance(metric)
    try:
        row: Any = json.loads(line) if line.endswith(b"\n") else None
        if (
            row["metric"] != metric.name
            or row["sample_id"] != sample.id
            or row["sample"]["content_hash"] != content
            or row["threshold"] != metric.pass_mark
            or row["reason_code"] in NOT_FINAL
            or any(row["provenance"][name] != value for name, value in expected.items())
        ):
            return None
        return Score(
            metric=metric.name,
            value=row["value"],
            reason_code=row["reason_code"],
            threshold=row["threshold"],
            sample_id=row["sample_id"],
            verdicts=tuple(Verdict(id=item["id"], value=item["value"]) for item in row["verdicts"]),
            provenance=Provenance(**expected),
            counted=metric.counted,
        )
    except (ValueError, KeyError, TypeError):
        return None


def _provenance(metric: Metric) -> dict[str, Any]:
    """Return what the scores of a metric say about their origin, as far as it is known before they are computed."""
    judge = getattr(metric, "judge", None)
    return {
        "judge": None if judge is None else judge.name,
        "formula": metric.formula_label,
        "convention": metric.convention,
        "library": f"ctxmetrics {__version__}",
    }


def _open_locked(path: Path) -> int:
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
        logging.getLogger("ctxmetrics").warning(
            "No lock is possible here: %s; start no second run.", error.strerror
        )
