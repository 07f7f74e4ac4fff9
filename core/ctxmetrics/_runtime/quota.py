"""What the requests of a run may take in any minute."""

from __future__ import annotations

import asyncio
import time
from collections import deque

MINUTE = 60.0


class Quota:
    """Bounds the requests and the tokens of any 60 seconds, in one event loop.

    Args:
        requests: Requests at most; None: no bound.
        tokens: Tokens at most: those of the prompt as estimated, then all that were used. What is received for the
            requests in flight comes on top. A prompt that is longer than the bound is sent when nothing else was.
    """

    def __init__(self, requests: int | None = None, tokens: int | None = None) -> None:
        self._most_requests, self._most_tokens = requests, tokens
        # The last minute: when, requests and tokens; and the sums of both.
        self._recent: deque[tuple[float, int, int]] = deque()
        self._requests = self._tokens = 0
        self._turn = asyncio.Lock()

    async def enter(self, tokens: int) -> None:
        """Wait until one more request may be sent, in the order in which they ask.

        Args:
            tokens: Tokens of the prompt, as estimated.
        """
        async with self._turn:
            while (seconds := self._wait(tokens)) > 0:  # noqa: ASYNC110 - nothing but time is waited for
                await asyncio.sleep(seconds)
            self.count(tokens, requests=1)

    def count(self, tokens: int, requests: int = 0) -> None:
        """Count what was sent now, and tokens beyond the estimate; fewer than estimated are below 0."""
        self._recent.append((time.monotonic(), requests, tokens))
        self._requests += requests
        self._tokens += tokens

    def _wait(self, tokens: int) -> float:
        """Return in how many seconds a request may be sent, as far as that is known."""
        now = time.monotonic()
        while self._recent and self._recent[0][0] <= now - MINUTE:
            _, requests, used = self._recent.popleft()
            self._requests -= requests
            self._tokens -= used
        full = self._most_requests is not None and self._requests >= self._most_requests
        used_up = (
            self._most_tokens is not None
            and self._tokens > 0
            and self._tokens + tokens > self._most_tokens
        )
        return self._recent[0][0] + MINUTE - now if full or used_up else 0.0
