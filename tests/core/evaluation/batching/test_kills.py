"""A run in batches that is killed at any step goes on where it was: nothing is lost, and each request is paid once."""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from pathlib import Path

import pytest

from ctxmetrics import Batch
from ctxmetrics.evaluation.batching import rounds
from ctxmetrics.evaluation.batching.journal import Journal
from ctxmetrics.evaluation.batching.provider import AnthropicBatches, OpenAIBatches
from support import FakeOpenAIServer, answer_from
from support.batch_runs import ANTHROPIC, OPENAI, Form, make_samples, run, values_of
from support.batches import answer_json
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
STEPS = range(12)
ASKS_ONE = 1


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
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_every_step_pays_nothing_twice(form, step, after, tmp_path):
    twice = count_paid_twice(form, tmp_path / "run.batch", step, after=after)
    # The one request that is sent by itself is asked again where its answer was not written.
    assert twice == (1 if step == ASKS_ONE and not after else 0)


@pytest.mark.slow
def test_faults_and_kills_together_change_no_value(form, tmp_path):
    killed = run_and_kill(form, 60, tmp_path / "run.batch")
    assert killed.differences == []
    assert killed.equal
    assert killed.kills.total() == killed.starts - 1
    assert killed.kills.total() >= 18
    assert set(killed.hit) == {*form.item_faults}
    assert killed.paid_twice == 0
    # The kill before its answer was written makes the first request the one that is sent again.
    assert killed.online == 2
    assert killed.left == 0


def run_and_kill_at_create(
    server: FakeOpenAIServer, provider: type, folder: Path, *, after: bool
) -> None:
    """End a run just before its batch is made, or just after, before its id is written."""
    create = provider.create

    def create_and_kill(self, intent, lines):
        if after:
            create(self, intent, lines)
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(provider, "create", create_and_kill)
        with pytest.raises(Killed):
            run(server, make_samples(3), batch=Batch(poll=0.01, folder=folder))


def test_a_batch_of_somebody_else_is_not_deleted(tmp_path, monkeypatch):
    anthropic = pytest.importorskip("anthropic", reason="the anthropic extra is not installed")
    monkeypatch.setattr(rounds, "get_batch_terms", lambda address: ("anthropic", 0.5))
    batches = ANTHROPIC.fake()
    with FakeOpenAIServer(answer_from(), batches=batches) as server:
        run_and_kill_at_create(server, AnthropicBatches, tmp_path / "run.batch", after=False)
        client = anthropic.Anthropic(
            base_url=server.base_url.removesuffix("/v1"), api_key="sk-test-0123456789"
        )
        params = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
        requests = [{"custom_id": f"theirs-{number}", "params": params} for number in range(2)]
        theirs = client.messages.batches.create(requests=requests).id
        monkeypatch.setattr(
            batches, "_answer_request", lambda item, fault: [_answer_or_cancel(batches, item, fault)]
        )
        results = run(server, make_samples(3), batch=Batch(poll=0.01, folder=tmp_path / "run.batch"))
    assert [row["context_recall"].value for row in results] == [0.5, 1.0, 1.0]
    assert theirs not in batches.deleted
    assert len(batches.deleted) == 1


def _answer_or_cancel(batches, item, fault):
    """Answer a request of the run, and cancel any other."""
    if item["custom_id"].startswith("theirs"):
        return {"custom_id": item["custom_id"], "result": {"type": "canceled"}}
    (row,) = type(batches)._answer_request(batches, item, fault)
    return row


def test_a_batch_behind_older_ones_is_found_again(tmp_path, monkeypatch):
    batches = OPENAI.fake()
    answer = batches.answer

    def answer_oldest_first(http):
        if http.method == "GET" and http.path.partition("?")[0] == "/v1/batches":
            (batch,) = batches.batches.values()
            old = {**batch, "id": "old", "created_at": 1, "metadata": {}, "input_file_id": "old"}
            return answer_json({"object": "list", "has_more": False, "data": [old, batch]})
        return answer(http)

    monkeypatch.setattr(batches, "answer", answer_oldest_first)
    with FakeOpenAIServer(answer_from(), batches=batches) as server:
        run_and_kill_at_create(server, OpenAIBatches, tmp_path / "run.batch", after=True)
        results = run(server, make_samples(3), batch=Batch(poll=0.01, folder=tmp_path / "run.batch"))
    assert [row["context_recall"].value for row in results] == [0.5, 1.0, 1.0]
    assert batches.made == 1
