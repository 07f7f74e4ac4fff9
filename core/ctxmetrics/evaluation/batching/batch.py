"""The options of a run in batches, and what a run says about them."""

from __future__ import annotations

import os
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from ctxmetrics.formulas.checks import check_choice, check_number
from ctxmetrics.scores.wording import plural
from ctxmetrics.verdicts import Usage

if TYPE_CHECKING:
    from ctxmetrics.evaluation.batching.journal import Intent

BATCH_MODES = ("submit", "wait")
# The requests that a sample waits for in this run. Each missing reply is added to the list.
waits_for: ContextVar[list[str] | None] = ContextVar("ctxmetrics_waits_for", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Send the requests of a run as batches: ``evaluate(samples, metrics, judge=.., batch=Batch(), out="run.jsonl")``.

    The same call again goes on where the last one stopped, also after a kill: it collects what the provider has answered, and
    submits what is open. A sample is ``pending`` until every reply to it is there.

    Attributes:
        mode: ``"wait"`` returns when nothing is open; ``"submit"`` returns once the requests are submitted.
        folder: The folder of the journal and the replies; None: ``OUT.batch`` beside ``out``.
        max_requests: The maximum number of requests of one batch; None: the limit of the provider.
        max_bytes: The maximum number of bytes of one batch; None: the limit of the provider.
        max_queued_tokens: The most tokens that are submitted and not answered; the rest is submitted later. None: no limit,
            until the provider refuses a batch for it.
        poll: Seconds between two looks at the batches.

    Raises:
        ParameterError: A number is out of range, or a word is unknown.
    """

    mode: Literal["submit", "wait"] = "wait"
    folder: str | os.PathLike[str] | None = None
    max_requests: int | None = None
    max_bytes: int | None = None
    max_queued_tokens: int | None = None
    poll: float = 60.0

    def __post_init__(self) -> None:
        check_choice("Batch: mode", self.mode, BATCH_MODES)
        for name in ("max_requests", "max_bytes", "max_queued_tokens"):
            check_number(f"Batch: {name}", getattr(self, name), 1, whole=True, optional=True)
        check_number("Batch: poll", self.poll, 0.001)


@dataclass(slots=True, kw_only=True)
class BatchReport:
    """The outcome of the batches of a run.

    Attributes:
        batched: The usage that was paid at the price of batches.
        online: The usage that was paid at the ordinary price: the first request, which shows what the server accepts.
        price: The price of a batch as a share of the ordinary price; None if the provider does not state it.
        unfinished: The batches that are not answered yet.
        held_back: Requests that wait for room in the provider's queue.
        notes: One line for each batch that failed.
    """

    batched: Usage
    online: Usage
    price: float | None = None
    unfinished: list[Intent] = field(default_factory=list)
    held_back: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        """Whether a reply is still to come, or a request still to be submitted."""
        return bool(self.unfinished) or self.held_back > 0

    @property
    def paid(self) -> str:
        """The usage at each price, in one line."""
        price = "the server's price of batches"
        if self.price is not None:
            price = f"{self.price:g} of the ordinary price"
        batched = f"paid so far in batches: {_describe(self.batched)}, at {price}"
        return f"{batched}; one by one: {_describe(self.online)}, at the ordinary price"

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of a summary."""
        return (self.paid, *self.notes)

    @property
    def waiting(self) -> str:
        """The open batches, in one line."""
        batch_count = len(self.unfinished)
        batches = "1 batch" if batch_count == 1 else f"{batch_count} batches"
        request_count = sum(intent.requests for intent in self.unfinished)
        text = f"{plural(request_count, 'request')} in {batches} without an answer yet"
        expiry_times = [intent.expires for intent in self.unfinished if intent.expires is not None]
        if expiry_times:
            last_expiry = datetime.fromtimestamp(max(expiry_times), UTC)
            text += f", until {last_expiry:%Y-%m-%d %H:%M} UTC at the latest"
        if self.held_back:
            text += f"; {plural(self.held_back, 'request')} more when the provider's queue has room"
        return text


def _describe(usage: Usage) -> str:
    """Describe the requests and tokens that were paid."""
    requests = plural(usage.calls, "request")
    return f"{requests} with {usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens"
