"""Every end of a batch, and of a request in one, has its state: what may help is asked once more, nothing is a zero."""

from __future__ import annotations

import itertools
import sqlite3
from collections import Counter

import pytest

from ctxmetrics import Batch
from ctxmetrics.evaluation.batching import batch_model
from ctxmetrics.evaluation.batching.journal import Journal
from ctxmetrics.evaluation.batching.provider import OpenAIBatches
from support import FakeOpenAIServer, answer_from
from support.batch_runs import ANTHROPIC, OPENAI, faulty_reply, make_samples, run, values_of


@pytest.mark.slow
def test_faults_change_no_value(form, tmp_path):
    batches = form.fake(share=0.1)
    samples = make_samples(100)
    with FakeOpenAIServer(faulty_reply, batches=batches) as server:
        ordinary = run(server, samples)
        sent = server.count
        results = run(server, samples, batch=Batch(poll=0.01, folder=tmp_path / "run.batch"))
        online = server.count - sent
    assert results.stopped is None
    assert values_of(results) == values_of(ordinary)
    assert set(batches.hit) == {*form.item_faults}
    assert online == 1
    paid = Counter(batches.answered.values())
    assert set(paid) <= {0, 1}


@pytest.mark.slow
@pytest.mark.parametrize("fault", sorted({*OPENAI.batch_faults, *ANTHROPIC.batch_faults}))
def test_a_batch_that_ends_badly_is_asked_once_more(form, fault, tmp_path):
    if fault not in form.batch_faults:
        pytest.skip("that provider has no such end")
    batches = form.fake(batch_faults=(fault,))
    samples = make_samples(12)
    with FakeOpenAIServer(answer_from(), batches=batches) as server:
        ordinary = run(server, samples)
        results = run(server, samples, batch=Batch(poll=0.01, folder=tmp_path / "run.batch"))
    assert results.batches is not None
    if fault == "bad_line":  # the provider says which line is wrong: that one is not asked again
        missing = [row for row in results if row["context_recall"].value is None]
        assert len(missing) == 1
        assert missing[0]["context_recall"].reason_code == "not_judged"
        assert "the batch was refused" in str(missing[0]["context_recall"].message)
    else:
        assert values_of(results) == values_of(ordinary)
    assert any("batch_0" in note for note in results.batches.notes), results.batches.notes


def test_a_request_that_fails_twice_is_said(form, tmp_path):
    batches = form.fake(batch_faults=("errors_only",) * 2)
    with FakeOpenAIServer(answer_from(), batches=batches) as server:
        results = run(server, make_samples(4), batch=Batch(poll=0.01, folder=tmp_path / "run.batch"))
    codes = {verdict.code for row in results for verdict in row["context_recall"].verdicts}
    assert codes == {None, "server_error"}
    assert batches.made == 2
    assert results.stopped is None


class FullDisk:
    """A temporary file on a full disk."""

    def __init__(self, **_: object) -> None:
        self.closed = False

    def write(self, _: bytes) -> int:
        raise OSError(28, "No space left on device")

    def tell(self) -> int:
        return 0

    def close(self) -> None:
        self.closed = True


def raise_disk_error(*_: object) -> None:
    raise sqlite3.OperationalError("disk I/O error")


@pytest.mark.parametrize("step", ["draft", "journal", "reply"])
def test_a_full_disk_stops_the_run_without_a_batch(step, monkeypatch, tmp_path):
    if step == "draft":
        monkeypatch.setattr(batch_model, "TemporaryFile", FullDisk)
    else:
        name = {"journal": "add_draft", "reply": "get"}[step]
        monkeypatch.setattr(Journal, name, raise_disk_error)
    batches = OPENAI.fake()
    with FakeOpenAIServer(answer_from(), batches=batches) as server:
        results = run(server, make_samples(4), batch=Batch(poll=0.01, folder=tmp_path / "run.batch"))
    assert f"{tmp_path / 'run.batch'}: the batches cannot be written there" in str(results.stopped)
    assert batches.made == 0
    assert {row["context_recall"].reason_code for row in results} <= {None, "pending"}


@pytest.mark.parametrize(("failures", "is_whole"), [(3, True), (99, False)])
def test_a_lost_connection_does_not_end_the_wait_at_once(failures, is_whole, monkeypatch, tmp_path):
    looks = itertools.count()
    read_state = OpenAIBatches.fetch_state

    def fetch_state(self, intent):
        if next(looks) < failures:
            raise ConnectionError("no route to host")
        return read_state(self, intent)

    monkeypatch.setattr(OpenAIBatches, "fetch_state", fetch_state)
    with FakeOpenAIServer(answer_from(), batches=OPENAI.fake()) as server:
        results = run(server, make_samples(3), batch=Batch(poll=0.01, folder=tmp_path / "run.batch"))
    assert (results.stopped is None) is is_whole
    values = [row["context_recall"].value for row in results]
    assert values == ([0.5, 1.0, 1.0] if is_whole else [0.5, None, None])
