"""Runs in batches that are killed at their steps and started again, beside the ordinary run of the same samples."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from ctxmetrics import Batch
from ctxmetrics.evaluation.batching import provider, rounds
from ctxmetrics.evaluation.batching.journal import Journal
from ctxmetrics.models.openai import client
from support.batch_runs import LONG_REPLY, Form, faulty_reply, make_samples, run, values_of
from support.server import FakeOpenAIServer

if TYPE_CHECKING:
    from pathlib import Path

# Every place that writes is killed at its first two passes, then at one in so many.
_ONE_IN = 20
# A run that is killed at each start would never end: it fails after so many.
_MOST_STARTS = 500


class Killed(BaseException):
    """What ends a run as a kill does: no code of the run catches it."""


@dataclass
class Killer:
    """Ends a run where it writes its journal, in turn before that is on the disk and after.

    Attributes:
        passes: How often each place in the code wrote.
        kills: How often the run was ended there.
    """

    passes: Counter[str] = field(default_factory=Counter)
    kills: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def installed(self) -> Any:
        """Kill the runs of the block."""
        killer = self
        writing = Journal.writing

        @contextmanager
        def write(journal: Journal) -> Any:
            when, place = killer.decide()
            with writing(journal):
                yield
                if when == "before":
                    killer.kill(f"before {place}")
            if when == "after":
                killer.kill(f"after {place}")

        with patch.object(Journal, "writing", write):
            yield

    def decide(self) -> tuple[str | None, str]:
        """Say when the run ends at what is about to be written, None where it goes on; and the place in the code."""
        frame: Any = sys._getframe(3)  # behind this function, `write` and the context manager
        places = []
        for _ in range(2):
            places.append(f"{frame.f_code.co_name}:{frame.f_lineno}")
            frame = frame.f_back
        place = " < ".join(places)
        self.passes[place] += 1
        number = self.passes[place]
        if number > 2 and number % _ONE_IN:
            return None, place
        return "before" if number % 2 else "after", place

    def kill(self, place: str) -> None:
        """End the run."""
        self.kills[place] += 1
        raise Killed


@dataclass
class KilledRun:
    """What a run did that was killed at its steps.

    Attributes:
        equal: Whether its values are those of the ordinary run.
        starts: How often it was started.
        kills: How often it was ended, by place.
        requests: Requests that were answered in batches.
        paid_twice: Those that were answered more than once.
        online: Requests that were sent by themselves.
        batches: Batches that were made.
        left: Input files that are still at the provider.
        hit: How many requests each fault of single ones hit.
        differences: The samples whose values differ.
    """

    equal: bool
    starts: int
    kills: Counter[str]
    requests: int
    paid_twice: int
    online: int
    batches: int
    left: int
    hit: Counter[str]
    differences: list[int]


def run_and_kill(form: Form, number: int, folder: Path) -> KilledRun:
    """Score samples in batches with every fault at a tenth, killed at every step, and compare with the ordinary run.

    A tenth of the batches of the first round end in each of the ways in which a whole batch can. The line that a provider refuses
    is left out: its request is not asked again, so that its sample has no value.
    """
    ways = [fault for fault in form.batch_faults if fault != "bad_line"]
    most = max(1, number // 20)
    batches = form.fake(share=0.1, batch_faults=[*ways, None, None, None] * 2)
    samples = make_samples(number)
    killer = Killer()
    batch = Batch(poll=0.001, folder=folder, max_requests=most)
    starts = 0
    small = LONG_REPLY // 2
    with (
        patch.object(rounds, "get_batch_terms", lambda _: (form.name, 0.5)),
        patch.object(client, "MOST_BYTES", small),
        patch.object(provider, "MOST_BYTES", small),
        patch.object(provider, "_MAX_LINE_BYTES", small + small // 2),
        FakeOpenAIServer(faulty_reply, batches=batches) as server,
    ):
        ordinary = values_of(run(server, samples))
        sent = server.count
        results = None
        while results is None and starts < _MOST_STARTS:
            starts += 1
            with killer.installed():
                try:
                    results = run(server, samples, batch=batch)
                except Killed:
                    continue
        assert results is not None
        assert results.stopped is None, results.stopped
        values = values_of(results)
        return KilledRun(
            equal=values == ordinary,
            starts=starts,
            kills=killer.kills,
            requests=sum(count > 0 for count in batches.answered.values()),
            paid_twice=sum(count > 1 for count in batches.answered.values()),
            online=server.count - sent,
            batches=batches.made,
            left=sum(name.startswith("ctxmetrics") for name, _ in batches.files.values()),
            hit=batches.hit,
            differences=[
                n for n, pair in enumerate(zip(values, ordinary, strict=True)) if pair[0] != pair[1]
            ],
        )
