"""Files that one process alone appends lines to."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path

_log = logging.getLogger("ctxmetrics")
# The position of the byte that is locked on Windows. It is after the end of any file, so that the file stays readable.
_LOCKED_BYTE = 2**62
# The flag that opens a file as bytes. Without it, Windows writes two bytes at the end of each line.
BINARY_FLAG: int = getattr(os, "O_BINARY", 0)


def open_locked(path: Path) -> int:
    """Open a file that no other run has open.

    Raises:
        BlockingIOError: Another run has locked the file.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | BINARY_FLAG | getattr(os, "O_NOFOLLOW", 0)
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
        BlockingIOError: Another process has the lock.
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


def append(file: int, *lines: bytes, sync: bool = False) -> None:
    """Append lines to an open file in one write. If the write fails, the written part is removed.

    Args:
        file: The file.
        *lines: The lines.
        sync: Wait until the disk has them.

    Raises:
        OSError: The file cannot be written.
    """
    data = memoryview(b"".join(lines))
    written = 0
    try:
        while written < len(data):
            written += os.write(file, data[written:])
        if sync:
            os.fsync(file)
    except OSError:
        with suppress(OSError):  # a device or a pipe
            os.ftruncate(file, os.fstat(file).st_size - written)
        raise
