"""A model that answers with the replies of batches, and writes down the requests that are still open."""

from __future__ import annotations

import asyncio
import json
import math
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import lru_cache
from tempfile import TemporaryFile
from typing import IO, ClassVar

from pydantic import BaseModel
from pydantic_core import to_json

from ctxmetrics.errors import JudgeError, OutputFileError
from ctxmetrics.evaluation.batching.batch import Batch, waits_for
from ctxmetrics.evaluation.batching.journal import Intent, Journal, RequestOutcome
from ctxmetrics.evaluation.batching.provider import BatchProvider, build_completion, keep_failure
from ctxmetrics.models.base import Prompt, ReplayingModel, Reply
from ctxmetrics.models.openai.capabilities import Capabilities, capabilities_of, response_format
from ctxmetrics.models.openai.model import request_body
from ctxmetrics.models.openai.server_answers import read_answer
from ctxmetrics.models.runtime.failures import CONTENT_CODES, SIZE_CODES
from ctxmetrics.models.runtime.memo import digest_key
from ctxmetrics.models.runtime.run import current_run
from ctxmetrics.verdicts import CHARACTERS_A_TOKEN, PENDING, Usage


@dataclass(eq=False, slots=True, kw_only=True)
class BatchModel(ReplayingModel):
    """Answers with the stored replies. Any other request is added to a batch, and its sample is pending.

    The very first request is sent alone. It shows what the server accepts, before many requests are paid for.

    Args:
        provider: The batches of a model.
        journal: The journal of the run: its batches and replies.
        batch: The options of the batches: how large they may be.

    Attributes:
        drafts: The batches to submit, each with the temporary file of its requests.
        held_back: The number of requests that wait until the cost of other requests is known.
        problem: Why the journal or a batch could not be read or written, or None. From then on, each request is pending.
    """

    times_requests: ClassVar[bool] = True

    provider: BatchProvider
    journal: Journal
    batch: Batch
    drafts: list[tuple[Intent, IO[bytes]]] = field(init=False, default_factory=list)
    held_back: int = field(init=False, default=0)
    problem: str | None = field(init=False, default=None)
    _capabilities: Capabilities = field(init=False)
    _first_request_lock: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)
    # The estimated tokens of all requests that are submitted, or will be, and are not yet answered.
    _open_tokens: int = field(init=False)

    def __post_init__(self) -> None:
        self._open_tokens = sum(intent.tokens for intent in self.journal.unfinished)
        model = self.provider.model
        self._capabilities = capabilities_of(str(model.base_url), model.model)
        if "server" in self.journal.facts:  # an earlier process asked the server
            self._capabilities.restore(self.journal.facts["server"])

    @property
    def identity(self) -> str:
        """The identity of the model: through a batch, its replies are the same."""
        return self.provider.model.identity

    @property
    def most_queued(self) -> float:
        """The maximum number of submitted tokens without an answer. It is infinite if no limit is known."""
        limit_of_caller: float = math.inf
        if self.batch.max_queued_tokens is not None:
            limit_of_caller = self.batch.max_queued_tokens
        limit_of_provider: float = self.journal.facts.get("queue", math.inf)
        return min(limit_of_caller, limit_of_provider)

    async def generate(self, prompt: Prompt, schema: type[BaseModel]) -> Reply:
        """Send a single request outside of a batch."""
        return await self.provider.model.generate(prompt, schema)

    async def recall(
        self, prompt: Prompt, schema: type[BaseModel], ask: Callable[[], Awaitable[Reply]]
    ) -> Reply:
        """Answer with the reply in the journal. Only the very first request is sent.

        Raises:
            JudgeError: The request failed when it was sent; or its reply has not arrived yet (``pending``).
            BudgetExceededError: ``max_calls`` or ``max_tokens`` is used up.
        """
        key = digest_key(
            (
                self.identity,
                prompt.step,
                _schema_text(schema),
                prompt.system,
                prompt.user,
                str(prompt.vote),
                str(prompt.attempt),
            )
        )
        if self.problem is None:
            try:
                reply = await self._recall_or_add(key, prompt, schema, ask)
            except (OSError, OutputFileError, sqlite3.Error) as error:
                self.problem = f"{self.journal.folder}: the batches cannot be written there: {error}"
            else:
                if reply is not None:
                    return reply
        waiting = waits_for.get()
        if waiting is not None:
            waiting.append(key)
        raise JudgeError("the batch with this request is not answered yet", reason_code=PENDING)

    async def _recall_or_add(
        self, key: str, prompt: Prompt, schema: type[BaseModel], ask: Callable[[], Awaitable[Reply]]
    ) -> Reply | None:
        """Return the reply in the journal, or that of the very first request. Add any other request to a batch, and return None."""
        async with self._first_request_lock:
            outcome = self.journal.get(key)
            # What the server accepts is not known yet.
            is_first_request = "server" not in self.journal.facts
            if outcome is None and is_first_request:
                return await self._ask_first(key, ask)
        if outcome is not None and not outcome.again:
            return _replay(outcome, prompt)
        # Another metric of the sample may have sent the same request.
        if not self.journal.is_waiting(key):
            self._add_to_batch(key, prompt, schema)
        return None

    async def _ask_first(self, key: str, ask: Callable[[], Awaitable[Reply]]) -> Reply:
        """Send the very first request alone, and keep its reply or its failure."""
        try:
            reply = await ask()
        except JudgeError as problem:
            if problem.reason_code in CONTENT_CODES | SIZE_CODES:  # the server has answered
                self._keep_first(key, keep_failure(problem), problem.lost)
            raise
        usage = reply.usage
        body = build_completion(
            str(reply.content), "stop", reply.served_model, usage.prompt_tokens, usage.completion_tokens
        )
        self._keep_first(key, RequestOutcome(json.dumps(body)), usage)
        return reply

    def _keep_first(self, key: str, outcome: RequestOutcome, paid: Usage) -> None:
        """Keep the outcome of the first request, and the settings that the server refused."""
        with self.journal.writing():
            self.journal.put(key, outcome)
            self.journal.add_paid("online", paid)
            self.journal.set_fact("server", self._capabilities.to_dict())

    def _add_to_batch(self, key: str, prompt: Prompt, schema: type[BaseModel]) -> None:
        """Add a request to the next batch, unless the requests that are not yet answered may use up the budget.

        Raises:
            BudgetExceededError: The budget is used up.
        """
        tokens = len(prompt.text) // CHARACTERS_A_TOKEN + prompt.reply_tokens
        run = current_run()
        paid_tokens = run.usage.total_tokens
        if run.max_tokens is not None and self._open_tokens:
            expected_tokens = paid_tokens + self._open_tokens + tokens
            if paid_tokens < run.max_tokens < expected_tokens:
                self.held_back += 1
                return
        run.take_call()
        model = self.provider.model
        body = request_body(model, prompt, schema, self._capabilities)
        line = self.provider.build_line(key, {**body, **(model.extra or {})})
        content = to_json(line) + b"\n"
        if not self.drafts or self._is_full(len(content), tokens):
            file = TemporaryFile(dir=self.journal.folder)  # noqa: SIM115 - it is closed once it is submitted
            self.drafts.append((Intent(), file))
        intent, lines = self.drafts[-1]
        lines.write(content)
        intent.requests += 1
        intent.tokens += tokens
        self.journal.add_draft(key, intent)
        self._open_tokens += tokens

    def _is_full(self, size: int, tokens: int) -> bool:
        """Tell whether the last batch has no room for a request."""
        intent, lines = self.drafts[-1]
        max_requests = self.batch.max_requests or self.provider.max_requests
        max_bytes = self.batch.max_bytes or self.provider.max_bytes
        has_all_requests = intent.requests >= max_requests
        would_have_too_many_bytes = lines.tell() + size > max_bytes
        would_have_too_many_tokens = intent.tokens + tokens > self.most_queued
        return has_all_requests or would_have_too_many_bytes or would_have_too_many_tokens


def _replay(outcome: RequestOutcome, prompt: Prompt) -> Reply:
    """Return a reply that has arrived.

    Raises:
        JudgeError: The request failed, or its reply is no answer.
    """
    if outcome.body is None:
        raise JudgeError(outcome.message, reason_code=outcome.code)
    try:
        return read_answer(outcome.body, prompt)
    except JudgeError as problem:
        problem.retryable = False
        problem.lost = problem.usage
        raise


@lru_cache(maxsize=256)
def _schema_text(schema: type[BaseModel]) -> str:
    """Return the schema of a reply as text, for the key of a request."""
    return json.dumps(response_format(schema), sort_keys=True)
