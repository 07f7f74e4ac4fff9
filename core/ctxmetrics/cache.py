"""Finished judgements on disk, so that nothing is paid twice: SQLite, content-addressed.

A key is a hash of the model's identity and parameters, the prompt's text and version, the reply schema and the exact
texts; a value is a checked judgement. Only complete, validated ones are kept. Several processes may share a cache,
and it survives ``kill -9`` at any moment: an interrupted run is resumed by running it again.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxmetrics.errors import InputFileError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ctxmetrics.judges.run import Store

FILE_NAME = "verdicts.sqlite3"
MAX_BYTES = 2 * 1024**3
"""Size at which the oldest judgements are dropped."""
_CHECK_EVERY = 256
_BUSY_SECONDS = 30.0

_log = logging.getLogger("ctxmetrics")


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """What a cache holds.

    Attributes:
        path: Its file.
        entries: Judgements in it.
        size: Bytes on disk.
    """

    path: Path
    entries: int
    size: int


class VerdictCache:
    """A cache of judgements in a directory.

    A file that is not a readable database is set aside under another name, with a warning, and a new one begun. When
    nothing can be written any more (a full disk), a warning says so once and the run goes on without writing.

    Args:
        directory: Where the cache lives; made if need be.
        max_bytes: Size at which the oldest judgements are dropped.

    Raises:
        InputFileError: The directory cannot be made or written.
        ParameterError: ``max_bytes`` is too small.
    """

    def __init__(self, directory: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> None:
        if max_bytes < 1024**2:
            raise ParameterError(f"VerdictCache: max_bytes={max_bytes} must be at least {1024**2}.")
        self.path = Path(directory) / FILE_NAME
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._puts = 0
        self._read_only = False
        self._pid = os.getpid()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputFileError(f"{directory}: no cache can be kept there: {error.strerror}. Choose another directory.") from None
        self._connection: sqlite3.Connection | None = None
        self._guarded(lambda connection: connection.execute("SELECT 1 FROM verdicts LIMIT 1").fetchone())

    def get(self, key: str) -> str | None:
        """Return a value or None."""
        row = self._guarded(lambda c: c.execute("SELECT value FROM verdicts WHERE key = ?", (key,)).fetchone())
        return row[0] if row and isinstance(row[0], str) else None

    def put(self, key: str, value: str) -> None:
        """Keep a value. A value that is there stays: equal keys mean equal questions."""
        if self._read_only:
            return
        self._guarded(lambda c: c.execute("INSERT OR IGNORE INTO verdicts (key, value) VALUES (?, ?)", (key, value)))
        self._puts += 1
        if self._puts % _CHECK_EVERY == 0:
            self._guarded(self._shrink)

    def info(self) -> CacheInfo:
        """Count what is in it."""
        row = self._guarded(lambda c: c.execute("SELECT COUNT(*) FROM verdicts").fetchone())
        files = (self.path.with_name(self.path.name + ending) for ending in ("", "-wal"))
        return CacheInfo(self.path, row[0] if row else 0, sum(file.stat().st_size for file in files if file.exists()))

    def clear(self) -> None:
        """Delete every judgement."""
        self._guarded(lambda c: c.execute("DELETE FROM verdicts"))
        self._guarded(lambda c: c.execute("VACUUM"))

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._connection is not None and self._pid == os.getpid():
            self._connection.close()
        self._connection = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None or self._pid != os.getpid():  # a connection does not survive a fork
            self._pid = os.getpid()
            connection = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS verdicts (number INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, value TEXT NOT NULL)"
            )
            self._connection = connection
        return self._connection

    def _guarded(self, action: Callable[[sqlite3.Connection], Any]) -> Any:
        """Run one action; a cache that fails may cost a request, never a result."""
        with self._lock:
            for again in (True, False):
                try:
                    return action(self._open())
                except sqlite3.OperationalError as error:
                    self._warn_once(str(error))
                    return None
                except sqlite3.DatabaseError as error:
                    self._close()
                    if not again:
                        self._warn_once(str(error))
                        return None
                    self._set_aside(str(error))
        return None

    def _warn_once(self, problem: str) -> None:
        if not self._read_only:
            self._read_only = True
            _log.warning("%s: %s; judgements are not kept from here on", self.path, problem)

    def _set_aside(self, problem: str) -> None:
        number = 1
        while (aside := self.path.with_name(f"{self.path.name}.corrupt-{number}")).exists():
            number += 1
        for ending in ("-wal", "-shm"):
            self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
        try:
            self.path.replace(aside)
        except OSError as error:
            self._warn_once(str(error))
            return
        _log.warning("%s cannot be read (%s); it was set aside as %s and a new one begun", self.path, problem, aside.name)

    def _shrink(self, connection: sqlite3.Connection) -> None:
        pages, size, free = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size", "freelist_count")
        )
        if (pages - free) * size <= self._max_bytes:
            return
        connection.execute(
            "DELETE FROM verdicts WHERE number <= (SELECT number FROM verdicts ORDER BY number LIMIT 1 "
            "OFFSET (SELECT COUNT(*) / 4 FROM verdicts))"
        )


@contextmanager
def opened(cache: str | os.PathLike[str] | Store) -> Iterator[Store]:
    """Give the cache of a run: a path is opened and closed again, a store is taken as it is."""
    if isinstance(cache, (str, os.PathLike)):
        own = VerdictCache(cache)
        try:
            yield own
        finally:
            own.close()
    else:
        yield cache
