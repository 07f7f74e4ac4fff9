"""The journal of a run's batches, and the replies that came: two SQLite files in one folder.

The journal holds ids, statuses and hashes. A batch is written to the journal before it is submitted, and its results are written
all together or not at all: so a process that is killed at any point pays for no batch twice. The replies stand in a file of their
own, which can be deleted. A lock keeps a second process away.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ctxmetrics.errors import InputFileError, OutputFileError
from ctxmetrics.verdicts import Usage

JOURNAL_FILE = "journal.sqlite3"
_REPLIES_FILE = "replies.sqlite3"
_FORMAT_VERSION = 1
# The longest message of a failure that is kept.
_MAX_MESSAGE_CHARACTERS = 1000


@dataclass(slots=True)
class Intent:
    """A batch, from its first request until its input is deleted at the provider.

    Attributes:
        name: The name of the batch at the provider, if the provider stores a name.
        requests: The number of its requests.
        tokens: The estimated tokens of its requests and replies.
        made: The time just before the batch was submitted, in seconds since 1970.
        file: The id of its input file at the provider, if there is such a file.
        batch: The id of the batch at the provider; None until it is submitted.
        expires: The latest time at which the batch ends, in seconds since 1970; None if it is not known.
        ended: The status with which the batch ended; None until it has ended.
        deleted: Whether its input is deleted at the provider.
    """

    name: str = field(default_factory=lambda: f"ctxmetrics-{secrets.token_hex(16)}")
    requests: int = 0
    tokens: int = 0
    made: float = 0.0
    file: str | None = None
    batch: str | None = None
    expires: float | None = None
    ended: str | None = None
    deleted: bool = False


class RequestOutcome(NamedTuple):
    """The outcome of a request: the body of its answer, or its failure.

    Attributes:
        body: A chat completion as JSON text; None if the request failed.
        code: The verdict code of the failure.
        message: A description of the outcome.
        again: Whether the request must be sent once more.
        paid: The cost of the request. It is empty if the outcome was read from the journal, which holds only the sum of all costs.
    """

    body: str | None = None
    code: str = ""
    message: str = ""
    again: bool = False
    paid: Usage = Usage()


# Values are JSON. A request stands in `drafts` until its batch is planned; then in `requests` until it is answered.
_CREATE_TABLES = """
BEGIN EXCLUSIVE;
CREATE TABLE IF NOT EXISTS facts (name PRIMARY KEY, value);
CREATE TABLE IF NOT EXISTS batches (name PRIMARY KEY, value);
CREATE TABLE IF NOT EXISTS requests (key PRIMARY KEY, batch, line) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS requests_of_batch ON requests (batch);
CREATE TABLE IF NOT EXISTS answers.replies (key PRIMARY KEY, value);
CREATE TEMP TABLE drafts (key PRIMARY KEY, batch, line) WITHOUT ROWID;
CREATE TEMP VIEW waiting AS SELECT key FROM requests UNION ALL SELECT key FROM drafts;
COMMIT;
"""


@dataclass(slots=True)
class Journal:
    """The journal and the replies of one run, open for this process alone.

    Args:
        folder: The folder of both files. It is created.
        model: The identity of the model.

    Attributes:
        intents: The batches that were planned, in order.
        facts: Other known facts: the settings that the ``server`` accepts, the tokens that its ``queue`` holds, and the cost so far.

    Raises:
        BlockingIOError: Another process has the journal open.
        InputFileError: The journal cannot be opened, or it belongs to another model.
    """

    folder: Path
    model: str
    intents: list[Intent] = field(init=False)
    facts: dict[str, Any] = field(init=False)
    _database: sqlite3.Connection = field(init=False)

    def __post_init__(self) -> None:
        try:
            self._open()
        except BaseException as error:
            self.close()
            if getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
                raise BlockingIOError from None
            if not isinstance(error, (OSError, sqlite3.Error)):
                raise
            raise InputFileError(
                f"{self.folder}: the batches cannot be written there: {error}. Choose another folder."
            ) from None

    def _open(self) -> None:
        """Open both files, and read their data."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in (JOURNAL_FILE, _REPLIES_FILE):
            (self.folder / name).touch(mode=0o600)
        self._database = sqlite3.connect(
            self.folder / JOURNAL_FILE, timeout=0, isolation_level=None, check_same_thread=False
        )
        # The lock is taken with the first transaction, and given back when the process ends.
        self._execute("PRAGMA locking_mode = EXCLUSIVE")
        self._execute("ATTACH ? AS answers", str(self.folder / _REPLIES_FILE))
        self._database.executescript(_CREATE_TABLES)
        facts = self._execute("SELECT name, value FROM facts")
        self.facts = {name: json.loads(value) for name, value in facts}
        owner = [_FORMAT_VERSION, self.model]
        if self.facts.get("owner", owner) != owner:
            raise InputFileError(
                f"{self.folder} holds the batches of another model or version: {self.facts['owner']}, not {owner}. Choose another "
                "--out, or delete that folder if its batches are not needed."
            )
        with self.writing():
            self.set_fact("owner", owner)
        batches = self._execute("SELECT value FROM batches")
        intents = [Intent(*json.loads(value)) for (value,) in batches]
        self.intents = sorted(intents, key=lambda intent: intent.made)

    def close(self) -> None:
        """Close both files, and release the lock."""
        with suppress(AttributeError):  # it was not opened
            self._database.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write all changes of the block, or none of them. A block inside another block is a part of it.

        Raises:
            OutputFileError: The journal cannot be written.
        """
        if self._database.in_transaction:
            yield
            return
        try:
            with self._database:
                self._execute("BEGIN")
                yield
        except sqlite3.Error as error:
            raise OutputFileError(f"{self.folder} cannot be written: {error}") from None

    @property
    def unfinished(self) -> list[Intent]:
        """The batches that have not ended."""
        return [intent for intent in self.intents if intent.ended is None]

    def add_draft(self, key: str, intent: Intent) -> None:
        """Note the request that was last added to a batch that is not planned yet. The note is lost when the process ends."""
        self._execute("INSERT INTO drafts VALUES (?, ?, ?)", key, intent.name, intent.requests)

    def drop_drafts(self) -> None:
        """Forget the requests of batches that were not planned."""
        self._execute("DELETE FROM drafts")

    def plan(self, intent: Intent) -> None:
        """Write that a batch is about to be submitted, with its requests."""
        intent.made = time.time()
        with self.writing():
            self._set("batches", intent.name, astuple(intent))
            self._execute("INSERT INTO requests SELECT * FROM drafts WHERE batch = ?", intent.name)
        self.intents.append(intent)

    def note(self, intent: Intent, **news: Any) -> None:
        """Write changes of a batch: fields of `Intent`. A batch that has ended has no open request."""
        for name, value in news.items():
            setattr(intent, name, value)
        with self.writing():
            self._set("batches", intent.name, astuple(intent))
            if intent.ended is not None:
                self._execute("DELETE FROM requests WHERE batch = ?", intent.name)

    def _set(self, table: str, key: str, value: object) -> None:
        """Write a value as JSON under a key of a table."""
        statement = f"INSERT OR REPLACE INTO {table} VALUES (?, ?)"  # noqa: S608 - a name of this file
        self._execute(statement, key, json.dumps(value))

    def _execute(self, statement: str, *values: object) -> sqlite3.Cursor:
        """Execute a statement with values for its question marks."""
        return self._database.execute(statement, values)

    def set_fact(self, name: str, value: object) -> None:
        """Write the known facts. Call it within `writing`."""
        self._set("facts", name, value)
        self.facts[name] = value

    def get_paid(self, how: str) -> Usage:
        """Return the cost so far, of ``batched`` or ``online`` requests."""
        return Usage(**self.facts.get(how, {}))

    def add_paid(self, how: str, usage: Usage) -> None:
        """Write the cost so far. Call it within `writing`."""
        self.set_fact(how, (self.get_paid(how) + usage).to_dict())

    def is_waiting(self, key: str) -> bool:
        """Tell whether a request is in a batch that has not ended, or that will be submitted."""
        rows = self._execute("SELECT 1 FROM waiting WHERE key = ?", key)
        return rows.fetchone() is not None

    def read_open(self, intent: Intent) -> Iterator[tuple[str, int]]:
        """Read the requests of a batch that are not answered, with the numbers of their lines, from 1."""
        return self._execute("SELECT key, line FROM requests WHERE batch = ?", intent.name)

    def take(self, key: str, intent: Intent) -> bool:
        """Remove a request from the open requests of a batch. Return whether it was open. Call it within `writing`."""
        rows = self._execute("DELETE FROM requests WHERE key = ? AND batch = ?", key, intent.name)
        return rows.rowcount == 1

    def get(self, key: str) -> RequestOutcome | None:
        """Return the reply to a request, or how it failed. Return None if nothing is known."""
        row = self._execute("SELECT value FROM answers.replies WHERE key = ?", key).fetchone()
        if row is None:
            return None
        (value,) = row
        return RequestOutcome(*json.loads(value))

    def put(self, key: str, outcome: RequestOutcome) -> None:
        """Keep a reply or a failure. A request that failed before is not asked again. Call it within `writing`."""
        again = outcome.again and self.get(key) is None
        message = outcome.message[:_MAX_MESSAGE_CHARACTERS]
        self._set("answers.replies", key, [outcome.body, outcome.code, message, again])

    def drop_replies(self) -> None:
        """Delete the replies."""
        self._execute("DETACH answers")
        (self.folder / _REPLIES_FILE).unlink()
