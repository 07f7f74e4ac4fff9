"""Detect that a model is down, and stop the requests to this model."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from ctxmetrics.errors import JudgeError, RequestError
from ctxmetrics.models.runtime.failures import CONTENT_CODES, SIZE_CODES, UnreadError, UnsentError

if TYPE_CHECKING:
    import asyncio

# After this many failed judgements in a row, the model counts as down.
MAX_FAILURES = 10
# This many time-outs count as one failed judgement. With more, it would take too long to notice that a model is down.
TIMEOUTS_OF_A_JUDGEMENT = 2
# This many unreadable replies in a row count as one failed judgement: a server may have to load its model first.
UNREAD_OF_A_JUDGEMENT = 3
# Seconds for which requests that are refused for overload are repeated, since most limits are limits per minute. A model that
# accepts no request for so long counts as down.
OVERLOAD_PATIENCE = 60.0
# After this many seconds, a model that was down is asked again. Within one run it is not asked again.
COOL_DOWN = 10.0


@dataclass(eq=False, slots=True)
class Breaker:
    """Counts failures. If the model is down, the breaker opens: then no request is sent.

    The breaker opens after the failed requests of `max_failures` judgements in a row. Some failures count less or later:

    - A refusal for overload: the breaker opens only if, for `OVERLOAD_PATIENCE`, requests that are alone in flight are refused
      and no reply comes.
    - A time-out of requests that are in flight together: it counts once a request that is alone is not answered either. A
      reply in between sets the count to 0.
    - Replies without usable content: they count within a run only, by judgements in a row.

    Args:
        max_failures: The number of failed judgements in a row after which the breaker opens.
        cool_down: Seconds after which one request tries whether the model answers again. None: never, because the
            breaker serves one run.
        attempts: The largest number of attempts for one request.

    Attributes:
        message: The reason why no request is sent, or None.
    """

    max_failures: int
    cool_down: float | None
    attempts: int
    message: str | None = field(init=False, default=None)
    # The number of judgements in a row without usable content.
    _without_content: int = field(init=False, default=0)
    # The number of failures in a row. A failure that is only a part of a failed judgement counts as a fraction.
    _failed: Fraction = field(init=False, default=Fraction())
    _timed_out: int = field(init=False, default=0)
    _unread_replies: int = field(init=False, default=0)
    _refused: int = field(init=False, default=0)
    _refused_since: float = field(init=False, default=0.0)
    _opened: float = field(init=False, default=0.0)
    _trial: asyncio.Future[None] | None = field(init=False, default=None)
    _was_sent: bool = field(init=False, default=False)
    # The messages of requests that could not be sent, by the kinds of `UnsentError`.
    _unsent_errors: dict[str, str] = field(init=False, default_factory=dict)

    def check(self) -> None:
        """Check that the model is not down.

        Raises:
            JudgeError: The model is down; the reason code is ``judge_down``.
        """
        if self.message is not None:
            raise JudgeError(self.message, reason_code="judge_down")

    async def admit(self) -> asyncio.Future[None] | None:
        """Wait until a request may be sent to a model that is down.

        After the cool-down one request is sent as a trial; the other requests of its event loop wait
        for its end.

        Returns:
            For the trial, the future to resolve at the end of the request; None for the other requests.

        Raises:
            JudgeError: The model is down; the reason code is ``judge_down``.
        """
        import asyncio

        loop = asyncio.get_running_loop()
        trial = self._trial
        is_trial_under_way = trial is not None and not trial.done() and trial.get_loop().is_running()
        if trial is None or not is_trial_under_way:
            is_cooled_down = (
                self.cool_down is not None and time.monotonic() - self._opened > self.cool_down
            )
            if not is_cooled_down:
                self.check()
            self._trial = loop.create_future()
            return self._trial
        if trial.get_loop() is loop:
            await asyncio.wait((trial,))
        self.check()
        return None

    def answered(self) -> None:
        """Note a request that brought a reply of any content."""
        self._unread_replies = 0
        self._reset_failures()

    def _reset_failures(self) -> None:
        """Count failures from 0 again, since the server replied."""
        self._was_sent = True
        self._failed = Fraction()
        self._refused = 0
        self._timed_out = 0
        # Without a cool-down an open breaker stays open for the run, and its message says why.
        if self.cool_down is not None:
            self.message = None

    def note_end(self, error: JudgeError) -> None:
        """Note whether a request that failed was sent at all."""
        if isinstance(error, UnsentError):
            self._unsent_errors[error.kind] = f"{error}{error.where}"
        else:
            self._was_sent = True

    def unsent_error(self, name: str) -> RequestError | None:
        """Return the error to raise if no request was sent and all failed with one kind of error; else None.

        Args:
            name: The name of the model.
        """
        if self._was_sent or len(self._unsent_errors) != 1:
            return None
        (error,) = self._unsent_errors.values()
        return RequestError(
            f"{name}: no request could be built, so no sample can be judged; each failed with {error}. "
            "Check the model object and the versions of its packages."
        )

    def failed(self, error: JudgeError) -> None:
        """Note a request that brought no reply, or a reply without an answer."""
        if error.reason_code in CONTENT_CODES or error.reason_code in SIZE_CODES:
            self.answered()
            return
        if isinstance(error, UnreadError):
            self._unread_replies += 1
            self._reset_failures()
            self._open_at(Fraction(self._unread_replies, UNREAD_OF_A_JUDGEMENT), error)
            return
        # A request that may be sent again fails as a whole only after all its attempts.
        self._failed += Fraction(1, max(1, self.attempts)) if error.retryable else 1
        self._open_at(self._failed, error)

    def timed_out(self, error: JudgeError, *, alone: bool) -> None:
        """Note a request that was not answered in time, and whether it was the only one in flight."""
        self._timed_out += 1
        if alone:  # now the earlier time-outs of simultaneous requests count, too
            timeouts_of_a_judgement = max(1, min(TIMEOUTS_OF_A_JUDGEMENT, self.attempts))
            self._failed += Fraction(self._timed_out, timeouts_of_a_judgement)
            self._timed_out = 0
            self._open_at(self._failed, error)

    def refused_alone(self, error: JudgeError) -> None:
        """Note a request that was refused for overload although it was the only one in flight."""
        now = time.monotonic()
        if not self._refused:
            self._refused_since = now
        self._refused += 1
        if now - self._refused_since >= OVERLOAD_PATIENCE:
            self._open_at(self._refused, error)

    def note_usable(self) -> None:
        """Note a judgement that brought a verdict."""
        self._without_content = 0
        self._failed = Fraction()
        self.message = None

    def note_unusable(self, code: str) -> None:
        """Note a judgement whose replies had no usable content. Such a judgement counts only within a run."""
        if self.cool_down is None:
            self._without_content += 1
            self._open_at(self._without_content, JudgeError("no usable reply", reason_code=code))

    def _open_at(self, count: Fraction | int, error: JudgeError) -> None:
        """Open the breaker if the count of failures has reached the limit."""
        if count < self.max_failures:
            return
        self._opened = time.monotonic()
        if self.message is None:
            until = "any more" if self.cool_down is None else f"for {self.cool_down:g} s"
            self.message = f"The judge failed again and again and is not asked {until}; last: {error.reason_code}: {error}"
            logging.getLogger("ctxmetrics").warning(self.message)
