"""A batch is submitted once, or the run says why not; what a provider says is masked."""

from __future__ import annotations

import threading

import pytest

from ctxmetrics import Batch, ContextRecall, LLMJudge, Reply, evaluate
from ctxmetrics.models.openai.providers import get_batch_terms
from support import FakeOpenAIServer, answer_from
from support.batch_runs import make_samples, run, values_of
from support.batches import FakeBatches


def test_a_batch_that_may_have_been_made_is_looked_for(tmp_path):
    batches = FakeBatches(batch_faults=("accepted",))
    with FakeOpenAIServer(answer_from(), batches=batches) as server:
        ordinary = values_of(run(server, make_samples(4)))
        batch = Batch(poll=0.01, folder=tmp_path / "run.batch")
        first = run(server, make_samples(4), batch=batch)
        assert "could not be submitted" in str(first.stopped)
        second = run(server, make_samples(4), batch=batch)
    assert values_of(second) == ordinary
    assert len(batches.batches) == 1
    assert set(batches.answered.values()) == {1}


def test_a_server_without_room_is_asked_again(tmp_path):
    batches = FakeBatches(batch_faults=("busy", "busy"))
    with FakeOpenAIServer(answer_from(), batches=batches) as server:
        results = run(server, make_samples(4), batch=Batch(poll=0.01, folder=tmp_path / "run.batch"))
    assert results.stopped is None
    assert len(batches.batches) == 1


def test_a_batch_that_was_refused_is_not_waited_for(tmp_path):
    batches = FakeBatches(batch_faults=("refused",))
    with FakeOpenAIServer(answer_from(), batches=batches) as server:
        batch = Batch(poll=0.01, folder=tmp_path / "run.batch")
        results = run(server, make_samples(4), batch=batch)
        assert results.batches is not None
        assert not results.batches.is_open
        assert "0123456789" not in str(results.stopped)
        assert run(server, make_samples(4), batch=batch).stopped is None


@pytest.mark.parametrize("fault", ["failed", "bad_line"])
def test_notes_hold_no_key_and_no_control_character(fault, tmp_path, monkeypatch):
    monkeypatch.setattr("support.batches.REFUSAL", "refused: sk-test-0123456789 \x1b[31m")
    batches = FakeBatches(batch_faults=(fault,))
    with FakeOpenAIServer(answer_from(), batches=batches) as server:
        results = run(server, make_samples(4), batch=Batch(poll=0.01, folder=tmp_path / "run.batch"))
    text = str(results.summary())
    assert "refused: " in text
    assert "0123456789" not in text
    assert "\x1b" not in text
    assert "labels: " not in text


def test_a_second_run_waits_for_the_first(tmp_path, caplog):
    batches = FakeBatches(rounds=40)
    found = {}
    with FakeOpenAIServer(answer_from(), batches=batches) as server:

        def go(name):
            batch = Batch(poll=0.05, folder=tmp_path / "run.batch")
            found[name] = run(server, make_samples(4), batch=batch)

        threads = [threading.Thread(target=go, args=(name,)) for name in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert values_of(found["a"]) == values_of(found["b"])
    assert len(batches.batches) == 1
    assert "another process is at work on these batches" in caplog.text


def test_a_model_with_an_attribute_recall_is_asked_as_any():
    class Model:
        identity = "own"
        recall = 0.5

        async def generate(self, prompt, schema):
            return Reply(content="{}")

    results = evaluate(make_samples(1), [ContextRecall(judge=LLMJudge(Model()))], progress=False)
    assert "not callable" not in str(results[0]["context_recall"].message)


@pytest.mark.parametrize(
    ("address", "terms"),
    [
        ("https://api.openai.com/v1", ("openai", 0.5)),
        ("https://api.groq.com/openai/v1", ("openai", 0.5)),
        ("https://own.openai.azure.com/openai/v1", ("openai", 0.5)),
        ("https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1", (None, None)),
        ("https://api.anthropic.com/v1", ("anthropic", 0.5)),
        ("http://localhost:8000/v1", ("openai", None)),
        ("https://llm.example.com/v1", ("openai", None)),
    ],
)
def test_terms_of_batches_are_those_of_the_server(address, terms):
    assert get_batch_terms(address) == terms
