"""A run in batches that is killed at any step goes on where it was: nothing is lost, and each request is paid once."""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from pathlib import Path

import pytest

from ctxmetrics import Batch
from ctxmetrics.evaluation.batching.journal import Journal
from support import FakeOpenAIServer, answer_from
from support.batch_runs import Form, make_samples, run, values_of
from support.killed_batches import Killed, run_and_kill


def kill_at(patch: pytest.MonkeyPatch, step: int, *, after: bool) -> None:
    """End the run at what it writes for the n-th time, before that is on the disk or after."""
    numbers = itertools.count()
    writing = Journal.writing

    @contextmanager
    def write(self):
        number = next(numbers)
        with writing(self):
            yield
            if number == step and not after:
                raise Killed
        if number == step:
            raise Killed

    patch.setattr(Journal, "writing", write)


# What a run of two rounds writes: it begins, is answered once, and plans, uploads, creates, collects, deletes twice.
BEGINS = 0
ASKS_ONE = 1
PLANS = 2
UPLOADS = 3
CREATES = 4
COLLECTS = 5
STEPS = range(12)


def count_paid_twice(form: Form, folder: Path, step: int, *, after: bool) -> int:
    """Kill a run at a step, run it again, check its values, and return how many requests were paid twice."""
    batches = form.fake(batch_faults=("cancelled",))
    samples = make_samples(5)
    with FakeOpenAIServer(answer_from(), batches=batches) as server:
        ordinary = values_of(run(server, samples))
        online = server.count
        with pytest.MonkeyPatch.context() as patch:
            kill_at(patch, step, after=after)
            with pytest.raises(Killed):
                run(server, samples, batch=Batch(poll=0.01, folder=folder))
        results = run(server, samples, batch=Batch(poll=0.01, folder=folder))
        assert values_of(results) == ordinary
        assert results.stopped is None
        assert set(batches.answered.values()) == {1}
        assert not [name for name, _ in batches.files.values() if name.startswith("ctxmetrics")]
        return server.count - online - 1


@pytest.mark.slow
@pytest.mark.parametrize("step", [UPLOADS, CREATES, COLLECTS])
def test_a_kill_between_two_steps_pays_nothing_twice(form, step, tmp_path):
    assert count_paid_twice(form, tmp_path / "run.batch", step, after=False) == 0


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_every_step_pays_nothing_twice(form, step, after, tmp_path):
    twice = count_paid_twice(form, tmp_path / "run.batch", step, after=after)
    # The one request that is sent by itself is asked again where its answer was not written.
    assert twice == (1 if step == ASKS_ONE and not after else 0)


@pytest.mark.slow
def test_faults_and_kills_together_change_no_value(form, tmp_path):
    killed = run_and_kill(form, 100, tmp_path / "run.batch")
    assert killed.differences == []
    assert killed.equal
    assert killed.kills.total() == killed.starts - 1
    assert killed.kills.total() >= 18
    assert set(killed.hit) == {*form.item_faults}
    assert killed.paid_twice == 0
    # The kill before its answer was written makes the first request the one that is sent again.
    assert killed.online == 2
    assert killed.left == 0
