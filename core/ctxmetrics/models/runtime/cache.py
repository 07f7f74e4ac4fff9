"""Stores finished judgements in an SQLite file, so that no judgement is paid twice.

A key is a hash of the model's identity and parameters, the prompt's text and version, the reply schema and the exact texts. A
value is a checked judgement, with a checksum of key and judgement before it. Only complete, valid judgements are stored. Several
processes may share a cache. If a process is killed (``kill -9``), the cache stays valid, and the same run can be started again.
Only the owner of the file can read it.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import stat
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from ctxmetrics._internal.display import replace_invisible
from ctxmetrics._internal.secrets import safe_text
from ctxmetrics.errors import InputFileError, ParameterError

T = TypeVar("T")

FILE_NAME = "verdicts.sqlite3"
# Bytes of the file above which the oldest judgements are dropped.
MAX_BYTES = 2 * 1024**3
# The smallest limit that a user may set.
_MIN_BYTES_LIMIT = 1024**2
# Seconds to wait while another process writes.
_BUSY_SECONDS = 10.0
# Seconds for which a cache that failed is not used.
_REST_SECONDS = 10.0
# The version of the table; SQLite keeps it in the file as ``user_version``.
_VERSION = 2
# The table of judgements. A newer judgement has a higher number.
_CREATE_VERDICTS = "CREATE TABLE IF NOT EXISTS verdicts (number INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, value TEXT NOT NULL)"
# Write a judgement.
_INSERT_VERDICT = "INSERT INTO verdicts (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
# The table of claims: which process asks for a judgement now, and until when (seconds since 1970) its claim holds.
_CREATE_CLAIMS = "CREATE TABLE IF NOT EXISTS claims (key TEXT PRIMARY KEY, process INTEGER NOT NULL, until REAL NOT NULL)"
# Seconds for which a claim holds at most.
_CLAIM_SECONDS = 600.0
# Seconds after which the claim of another process is checked for the second time. Each pause is twice the last one.
_FIRST_PAUSE_SECONDS = 0.02
# The longest pause between two checks.
_MAX_PAUSE_SECONDS = 0.5
# Drop the oldest quarter of the judgements.
_DROP_OLDEST = (
    "DELETE FROM verdicts WHERE number <= (SELECT number FROM verdicts ORDER BY number LIMIT 1 "
    "OFFSET (SELECT COUNT(*) / 4 FROM verdicts))"
)

_log = logging.getLogger("ctxmetrics")


def with_checksum(key: str, text: str) -> str:
    """Return a value to store: the text, with a checksum of key and text before it."""
    digest = hashlib.sha256(f"{key}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"{digest} {text}"


class Store(Protocol):
    """The methods of a cache. A key is a hash of the content; a value is a text, and `get` returns it unchanged."""

    def get(self, key: str) -> str | None:
        """Return a value or None."""

    def put(self, key: str, value: str) -> None:
        """Keep a value."""


class RunCache:
    """The cache of one run. Each value has a checksum of its key and itself. An error of the store does not stop the run.

    Args:
        store: The store; it may be the user's own.
        stores: Whether new values are written to the store; else they stay in memory.
    """

    def __init__(self, store: Store, *, stores: bool) -> None:
        self._store = store
        # Another store of the user may have no claims.
        self._claims = store if stores and isinstance(store, VerdictCache) else None
        self._values_in_memory: dict[str, str] = {}
        self._put = store.put if stores else self._values_in_memory.__setitem__
        self._warned = False

    def get(self, key: str) -> str | None:
        """Return the text under a key; None if there is no text, or if its checksum does not fit."""
        with self._log_errors():
            value: object = self._values_in_memory.get(key)
            if value is None:
                value = self._store.get(key)
            if value is None:
                return None
            if not isinstance(value, str):
                raise TypeError(f"get returned {type(value).__name__}, not a str or None")
            _, _, text = value.partition(" ")
            return text if value == with_checksum(key, text) else None
        return None

    def put(self, key: str, text: str) -> None:
        """Keep a text."""
        with self._log_errors():
            self._put(key, with_checksum(key, text))

    async def ask_once(
        self, key: str, look_up: Callable[[], T | None], ask: Callable[[], Awaitable[T]]
    ) -> T:
        """Ask for a judgement that is not in the cache; wait while another process asks for it.

        Processes that share a cache and score the same samples pay for each judgement once.

        Args:
            key: The key of the judgement.
            look_up: Returns the judgement in the cache, or None.
            ask: Asks for the judgement, and writes it to the cache.
        """
        import asyncio

        pause = _FIRST_PAUSE_SECONDS
        while self._claims is not None and not self._claims.claim(key):
            await asyncio.sleep(pause)
            pause = min(2 * pause, _MAX_PAUSE_SECONDS)
        try:
            # Another process may have asked meanwhile, and written the judgement.
            judgement = look_up()
            return await ask() if judgement is None else judgement
        finally:
            if self._claims is not None:
                self._claims.release(key)

    @contextmanager
    def _log_errors(self) -> Iterator[None]:
        """Catch the errors of the store, and log the first one."""
        try:
            yield
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's store may raise anything
            if not self._warned:
                self._warned = True
                _log.warning(
                    "cache=%s: %s: %s; the run goes on, but a judgement that cannot be read or kept is asked for again",
                    type(self._store).__name__,
                    type(error).__name__,
                    safe_text(error),
                )


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """The content of a cache.

    Attributes:
        path: The file of the cache.
        entries: The number of judgements.
        size: The number of bytes on disk.
    """

    path: Path
    entries: int
    size: int


class VerdictCache:
    """A cache of judgements in a directory that only its owner can read.

    A new directory gets the mode 0700, and its files get 0600. In an existing directory, the modes of the files are corrected. The
    mode of the directory itself is corrected only if it holds nothing but the cache and belongs to the user of the process.

    A file that is no readable database, or has a table of another version, is renamed with a warning, and a new file is made. If
    the file cannot be read or written (such as on a full disk), there is one warning, and the run goes on without the cache; the
    file is tried again every ten seconds. One object may be used from several threads, and after a fork.

    Args:
        directory: The directory of the cache, on a local disk; it is made if it does not exist.
        max_bytes: The size at which the oldest quarter of the judgements is dropped.

    Raises:
        InputFileError: The directory cannot be made, or nothing can be written there.
        ParameterError: ``directory`` is no path, or ``max_bytes`` is too small.
    """

    def __init__(self, directory: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> None:
        if not isinstance(max_bytes, int) or max_bytes < _MIN_BYTES_LIMIT:
            raise ParameterError(
                f"VerdictCache: max_bytes={max_bytes!r} must be a whole number from {_MIN_BYTES_LIMIT}."
            )
        is_path = isinstance(directory, (str, os.PathLike))
        if not is_path or not isinstance(os.fspath(directory), str):
            raise ParameterError(f"VerdictCache: directory={type(directory).__name__} must be a path.")
        if not str(directory):
            raise ParameterError("cache='' names no directory. Write '.' for the current one.")
        self.path: Path = Path(directory) / FILE_NAME
        self._max_bytes = max_bytes
        self._connection: sqlite3.Connection | None = None
        # The number of bytes written since the last check of the file's size. It starts so high that the first write causes a
        # check, because many runs are short.
        self._unchecked_bytes = max_bytes
        self._rests_until = 0.0
        self._warned = False
        try:
            _make_folder(self.path.parent)
        except (OSError, ValueError) as error:  # ValueError: a NUL or a lone surrogate in the path
            raise self._unusable(getattr(error, "strerror", None) or str(error)) from None
        if not os.access(self.path if self.path.exists() else self.path.parent, os.W_OK):
            raise self._unusable("it cannot be written")
        with _lock:
            _caches.add(self)
        # Open the file now, so that a broken file is renamed before the run.
        self._run(lambda connection: connection.execute("SELECT 1 FROM verdicts LIMIT 1").fetchone())

    def get(self, key: str) -> str | None:
        """Return a value or None."""
        query = "SELECT value FROM verdicts WHERE key = ?"
        row = self._run(lambda connection: connection.execute(query, (key,)).fetchone())
        if not row:
            return None
        value = row[0]
        return value if isinstance(value, str) else None  # another type: not written by this library

    def put(self, key: str, value: str) -> None:
        """Keep a value, instead of an earlier value under the same key."""
        # JSON escapes may hold half characters, which cannot be stored.
        value = value.encode("utf-8", "backslashreplace").decode()
        self._run(lambda connection: connection.execute(_INSERT_VERDICT, (key, value)))
        self._unchecked_bytes += len(value)
        if self._unchecked_bytes > self._max_bytes // 64:
            self._unchecked_bytes = 0
            self._run(self._shrink)

    def claim(self, key: str) -> bool:
        """Claim a judgement for this process, which asks for it next; False if another process holds the claim.

        A process that has ended holds no claim, and no claim holds longer than ten minutes.
        """

        def take(connection: sqlite3.Connection) -> bool:
            """Take the claim of a judgement in one transaction; False if another running process holds it."""
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                query = "SELECT process FROM claims WHERE key = ? AND until BETWEEN ? AND ?"
                now = time.time()
                row = connection.execute(query, (key, now, now + _CLAIM_SECONDS)).fetchone()
                if row is not None:
                    (process_id,) = row
                    if process_id != os.getpid() and _is_running(process_id):
                        return False
                claim = (key, os.getpid(), now + _CLAIM_SECONDS)
                connection.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", claim)
            return True

        # If the database failed, `_run` returns None. Nothing can be claimed then, and every process asks.
        return self._run(take) is not False

    def release(self, key: str) -> None:
        """Take back the claim of this process."""
        command = "DELETE FROM claims WHERE key = ? AND process = ?"
        self._run(lambda connection: connection.execute(command, (key, os.getpid())))

    def info(self) -> CacheInfo:
        """Return the path, the number of judgements and the size."""
        query = "SELECT COUNT(*) FROM verdicts"
        entries = self._run(lambda connection: int(connection.execute(query).fetchone()[0]))
        write_ahead_log = Path(f"{self.path}-wal")
        files = [file for file in (self.path, write_ahead_log) if file.exists()]
        size = sum(file.stat().st_size for file in files)
        return CacheInfo(self.path, entries or 0, size)

    def clear(self) -> None:
        """Delete every judgement, also in the files that were renamed. Files of another program stay.

        Raises:
            InputFileError: The judgements could not be deleted.
        """
        commands = "DELETE FROM verdicts; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)"
        if self._run(lambda connection: connection.executescript(commands)) is None:
            raise InputFileError(f"{self.path}: it could not be emptied; the log says why.")
        for old_file in self.path.parent.glob(f"{FILE_NAME}.other-*[0-9]"):
            if _holds_judgements(old_file):
                for ending in ("", "-wal", "-shm"):
                    Path(f"{old_file}{ending}").unlink(missing_ok=True)
        for corrupt_file in self.path.parent.glob(f"{FILE_NAME}.corrupt-*"):
            corrupt_file.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with _lock:
            self._close()

    def _unusable(self, reason: str) -> InputFileError:
        """Build the error of a directory in which no cache can be kept."""
        folder = replace_invisible(str(self.path.parent))
        return InputFileError(
            f"{folder}: no cache can be kept there: {reason}. Choose another directory."
        )

    def _close(self) -> None:
        """Close the connection, if one is open; the caller holds the lock."""
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        """Return the open connection; open the file if it is closed."""
        if self._connection is None:
            with suppress(OSError):  # SQLite's own message is better
                if not self.path.exists():
                    # Only for a new file: closing an open file would end the locks that another cache of this process has on it.
                    os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
                # The files that SQLite and earlier versions put beside the database are also for its owner alone.
                for file in self.path.parent.glob(f"{FILE_NAME}*"):
                    if stat.S_IMODE(file.stat().st_mode) & 0o077:
                        file.chmod(0o600)
            connection = sqlite3.connect(
                self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                _prepare(connection)
            except BaseException:
                connection.close()
                raise
            # Bytes that are no UTF-8, which another program may have written, must not raise.
            connection.text_factory = lambda data: data.decode(errors="replace")
            self._connection = connection
        return self._connection

    def _run(self, action: Callable[[sqlite3.Connection], T]) -> T | None:
        """Run one action on the database; return None if the database fails."""
        with _lock:
            if time.monotonic() < self._rests_until:
                return None
            try:
                try:
                    return action(self._open())
                except sqlite3.Error as error:
                    can_try_again = _is_broken(error) and self._replace_broken_file(error)
                    if not can_try_again:
                        raise
                    return action(self._open())
            except sqlite3.Error as error:
                self._rests_until = time.monotonic() + _REST_SECONDS
                if not self._warned:
                    self._warned = True
                    _log.warning("%s: %s; the run goes on, judgements are not kept", self.path, error)
        return None

    def _replace_broken_file(self, error: sqlite3.Error) -> bool:
        """Rename a file that cannot be read, unless another process has done so. Return whether a new file can be used."""
        self._close()
        try:
            self._open().execute("SELECT COUNT(*) FROM verdicts").fetchone()
        except sqlite3.Error as second_error:
            self._close()
            if not _is_broken(second_error):
                return False
        else:
            return True
        is_other_version = isinstance(error, _OtherVersionError)
        word = "other" if is_other_version else "corrupt"
        number = 1
        new_path = Path(f"{self.path}.{word}-{number}")
        while new_path.exists():
            number += 1
            new_path = Path(f"{self.path}.{word}-{number}")
        try:
            # The write-ahead log is renamed first: SQLite would read it into the new file.
            for ending in ("-wal", "-shm"):
                with suppress(FileNotFoundError):
                    Path(f"{self.path}{ending}").replace(f"{new_path}{ending}")
            self.path.replace(new_path)
        except OSError:
            return False
        _log.warning(
            "%s %s; it was set aside as %s and a new one begun",
            self.path,
            str(error) if is_other_version else f"cannot be read ({error})",
            new_path.name,
        )
        return True

    def _shrink(self, connection: sqlite3.Connection) -> None:
        """Drop the oldest judgements if the file is too large."""
        sizes = {
            name: connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "page_size", "freelist_count")
        }
        used_pages = sizes["page_count"] - sizes["freelist_count"]
        if used_pages * sizes["page_size"] > self._max_bytes:
            connection.execute(_DROP_OLDEST)


@contextmanager
def open_store(cache: str | os.PathLike[str] | Store) -> Iterator[Store]:
    """Open the cache of a run. The cache at a path is closed at the end; a store is used unchanged.

    Raises:
        InputFileError: As `VerdictCache` raises.
        ParameterError: ``cache`` is neither a path nor a store.
    """
    if isinstance(cache, (str, os.PathLike)):
        cache_at_path = VerdictCache(cache)
        try:
            yield cache_at_path
        finally:
            cache_at_path.close()
    elif callable(getattr(cache, "get", None)) and callable(getattr(cache, "put", None)):
        yield cache
    else:
        raise ParameterError(
            f"cache={type(cache).__name__} must be a directory, a VerdictCache, or an object with get and put."
        )


class _OtherVersionError(sqlite3.DatabaseError):
    """The file is a valid database, but its table has another version."""


def _make_folder(folder: Path) -> None:
    """Make a folder that only its owner can enter.

    The mode of an existing folder is corrected if the folder holds nothing but a cache.

    Raises:
        OSError: The folder cannot be made.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    mode = stat.S_IMODE(folder.stat().st_mode)
    if os.name == "nt" or not mode & 0o077:
        return
    with suppress(OSError):
        if all(item.name.startswith(FILE_NAME) for item in folder.iterdir()):
            folder.chmod(0o700)
            return
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        _log.warning(
            "%s: every user of this machine may write there, and replace the cache. Choose another directory.",
            folder,
        )


def _prepare(connection: sqlite3.Connection) -> None:
    """Prepare a new connection; try again while another process prepares one, because SQLite does not wait for it here.

    Raises:
        _OtherVersionError: The table is not of this version.
    """
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            _make_table(connection)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


def _make_table(connection: sqlite3.Connection) -> None:
    """Make the table and store its version in one transaction, so that no process sees only one of them."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        # The second value of each row of `table_info` is the name of a column.
        columns = [row[1] for row in connection.execute("PRAGMA table_info(verdicts)")]
        if not columns and version in (0, _VERSION):
            connection.execute(_CREATE_VERDICTS)
            connection.execute(f"PRAGMA user_version = {_VERSION}")
        elif columns != ["number", "key", "value"] or version != _VERSION:
            raise _OtherVersionError(f"holds a table of another version ({version}, not {_VERSION})")
        connection.execute(_CREATE_CLAIMS)


def _holds_judgements(file: Path) -> bool:
    """Whether a file is the cache of another version of this library."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(file)) as connection:
        columns = {row[1] for row in connection.execute("PRAGMA table_info(verdicts)")}
        return {"key", "value"} <= columns
    return False


def _is_running(process_id: object) -> bool:
    """Tell whether a process of this machine is running. On Windows this cannot be asked with a signal: the result is always True.

    The number comes from the file, and another program may have written anything there.
    """
    # To `os.kill`, 0 and negative numbers are groups of processes.
    if not isinstance(process_id, int) or process_id <= 0:
        return False
    if os.name == "nt":
        return True
    try:
        os.kill(process_id, 0)  # signal 0 only asks: it ends no process
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # the process runs, and belongs to another user
        return True
    return True


def _is_broken(error: sqlite3.Error) -> bool:
    """Whether an error means that the file is no database, is broken, or has another version.

    Locks, full disks and missing rights are `OperationalError`.
    """
    return type(error) in (sqlite3.DatabaseError, _OtherVersionError)


# A forked child must not use the SQLite connections of its parent. So all caches of a process share a lock, and are closed before
# a fork. Their next use opens them again.
_caches: weakref.WeakSet[VerdictCache] = weakref.WeakSet()
_lock = threading.Lock()


def _before_fork() -> None:
    """Close all caches before a fork; the lock is held until the fork is done."""
    _lock.acquire()
    for cache in list(_caches):
        cache._close()  # noqa: SLF001 - this module's own


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_lock.release, after_in_child=_lock.release
    )
