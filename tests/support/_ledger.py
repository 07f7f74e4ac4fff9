"""What the fake server saw."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from support.chat import ChatRequest
    from support.faults import Fault, FaultPlan


@dataclass(slots=True)
class Ticket:
    """A request under way: its record, and whether it still counts as open."""

    request: ChatRequest
    fault: Fault | None
    generation: int
    is_open: bool = True


class Ledger:
    """Requests, counts and fault hits; the server's thread writes, any thread reads or resets."""

    def __init__(self, plan: FaultPlan) -> None:
        self._lock = threading.Lock()
        self._plan = plan
        self._requests: list[ChatRequest] = []
        self._errors: list[BaseException] = []
        self._generation = 0
        self._in_flight = 0
        self.max_in_flight = 0
        self.connections = 0

    def open(self, request: ChatRequest, key: str | None) -> Ticket:
        """Record a request and pick its fault; without a key for sticky faults none is picked."""
        with self._lock:
            index = len(self._requests)
            fault = None if key is None else self._plan.choose(index, request.text, key)
            request = replace(request, index=index, fault=fault.kind if fault else None)
            self._requests.append(request)
            self._in_flight += 1
            self.max_in_flight = max(self.max_in_flight, self._in_flight)
            return Ticket(request, fault, self._generation)

    def close(self, ticket: Ticket, *, fault: str | None, status: int | None) -> None:
        """Complete the record of a request; only the first call counts."""
        with self._lock:
            if not ticket.is_open:
                return
            ticket.is_open = False
            self._in_flight -= 1
            if ticket.generation == self._generation:
                done = replace(ticket.request, finished=time.monotonic(), fault=fault, status=status)
                self._requests[done.index] = done

    def count_connection(self) -> None:
        """Count a TCP connection."""
        with self._lock:
            self.connections += 1

    def note_error(self, error: BaseException) -> None:
        """Keep what the responder raised."""
        with self._lock:
            self._errors.append(error)

    def requests(self) -> list[ChatRequest]:
        """Give a copy of the records in order of arrival."""
        with self._lock:
            return list(self._requests)

    def errors(self) -> list[BaseException]:
        """Give a copy of what the responder raised."""
        with self._lock:
            return list(self._errors)

    def reset(self) -> None:
        """Start a new record; requests under way will not be in it."""
        with self._lock:
            self._requests.clear()
            self._errors.clear()
            self._plan.reset()
            self._generation += 1
            self.max_in_flight = self._in_flight
            self.connections = 0
