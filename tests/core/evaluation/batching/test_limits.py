"""The limits of a `Batch` hold, and what a run in batches cannot do is refused before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from ctxmetrics import Batch, ContextPrecision, ContextRecall, LLMJudge, OpenAIModel, evaluate
from ctxmetrics.errors import ParameterError
from support import FakeOpenAIServer, answer_from
from support._http import HttpRequest, HttpResponse
from support.batch_runs import make_samples, run, values_of
from support.batches import FakeBatches

# One request a sample; the first is sent by itself.
SAMPLES = 9


@dataclass
class WatchedBatches(FakeBatches):
    """Batches that write down how large each one was, and how many were open at once."""

    requests: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    most_open: int = 0

    def answer(self, http: HttpRequest) -> HttpResponse | None:
        known = set(self.batches)
        response = super().answer(http)
        for id_ in set(self.batches) - known:
            content = self.files[self.batches[id_]["input_file_id"]][1]
            self.requests.append(content.count(b"\n"))
            self.sizes.append(len(content))
        is_open = [batch["status"] == "validating" for batch in self.batches.values()]
        self.most_open = max(self.most_open, sum(is_open))
        return response


def run_with(folder: Any, **limits: Any) -> WatchedBatches:
    """Score samples in batches, check that their values are those of an ordinary run, and return the batches."""
    batches = WatchedBatches()
    samples = make_samples(SAMPLES)
    with FakeOpenAIServer(answer_from(), batches=batches) as server:
        ordinary = values_of(run(server, samples))
        results = run(server, samples, batch=Batch(poll=0.01, folder=folder, **limits))
    assert results.stopped is None
    assert values_of(results) == ordinary
    assert set(batches.answered.values()) == {1}
    return batches


def test_without_limits_all_requests_are_one_batch(tmp_path):
    assert run_with(tmp_path / "run.batch").requests == [8]


def test_max_requests_is_the_most_of_one_batch(tmp_path):
    assert run_with(tmp_path / "run.batch", max_requests=3).requests == [3, 3, 2]


@pytest.mark.slow
def test_max_bytes_is_the_most_of_one_batch(tmp_path):
    (whole,) = run_with(tmp_path / "whole.batch").sizes
    most = whole // 3
    sizes = run_with(tmp_path / "run.batch", max_bytes=most).sizes
    assert len(sizes) in (3, 4)
    assert max(sizes) <= most
    assert sum(sizes) == whole


@pytest.mark.slow
def test_max_queued_tokens_submits_one_after_the_other(tmp_path):
    batches = run_with(tmp_path / "run.batch", max_queued_tokens=1)
    assert batches.requests == [1] * 8
    assert batches.most_open == 1


def test_submit_says_what_waits_for_room(tmp_path):
    batches = WatchedBatches(rounds=1)
    batch = Batch(mode="submit", poll=0.01, folder=tmp_path / "run.batch", max_queued_tokens=1)
    with FakeOpenAIServer(answer_from(), batches=batches) as server:
        results = run(server, make_samples(SAMPLES), batch=batch)
    assert results.batches is not None
    assert results.batches.held_back == 7
    assert "7 requests more when the provider's queue has room" in results.batches.waiting
    assert {row["context_recall"].reason_code for row in results} == {None, "pending"}


def test_max_calls_holds_over_all_batches_and_starts(tmp_path):
    batches = FakeBatches()
    with FakeOpenAIServer(answer_from(), batches=batches) as server:
        for _ in range(2):
            batch = Batch(poll=0.01, folder=tmp_path / "run.batch")
            results = run(server, make_samples(SAMPLES), batch=batch, max_calls=4)
            assert results.stopped == "max_calls=4 is used up"
            assert sum(row["context_recall"].value is not None for row in results) == 4
            assert results.usage.calls == 4
        assert server.count == 1
    assert sum(batches.answered.values()) == 3


@pytest.fixture
def silent():
    """A server that is not to be asked."""
    with FakeOpenAIServer(answer_from(), batches=FakeBatches()) as server:
        yield server
        assert server.count == 0


def test_an_iterator_is_refused_where_batches_are_waited_for(silent, tmp_path):
    with pytest.raises(ParameterError, match="an iterator can be read once"):
        run(silent, iter(make_samples(3)), batch=Batch(poll=0.01, folder=tmp_path / "run.batch"))


def test_an_iterator_is_taken_where_batches_are_submitted(tmp_path):
    batches = FakeBatches()
    batch = Batch(mode="submit", poll=0.01, folder=tmp_path / "run.batch")
    with FakeOpenAIServer(answer_from(), batches=batches) as server:
        first = run(server, iter(make_samples(3)), batch=batch)
        assert sum(row["context_recall"].reason_code == "pending" for row in first) == 2
        again = run(server, iter(make_samples(3)), batch=batch)
    assert [row["context_recall"].reason_code for row in again] == [None] * 3


def test_telemetry_is_refused_in_a_run_in_batches(silent, tmp_path):
    provider = pytest.importorskip("opentelemetry.sdk._logs").LoggerProvider()
    with pytest.raises(ParameterError, match=r"sends no events. Leave telemetry"):
        run(
            silent,
            make_samples(3),
            batch=Batch(poll=0.01, folder=tmp_path / "run.batch"),
            telemetry=provider,
        )


def test_a_batch_without_a_place_for_its_journal_is_refused(silent):
    with pytest.raises(ParameterError, match=r"give out=FILE .* Or give Batch\(folder=..\)"):
        run(silent, make_samples(3), batch=Batch())


def test_metrics_of_two_models_are_refused(silent, tmp_path):
    models = [
        OpenAIModel(name, base_url=silent.base_url, api_key="sk-test-0123456789") for name in ("a", "b")
    ]
    metrics = [ContextRecall(judge=LLMJudge(models[0])), ContextPrecision(judge=LLMJudge(models[1]))]
    with pytest.raises(ParameterError, match="give the metrics one model for all"):
        evaluate(make_samples(3), metrics, batch=Batch(folder=tmp_path / "run.batch"), progress=False)
