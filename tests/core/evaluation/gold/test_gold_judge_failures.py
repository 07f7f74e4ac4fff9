"""`check_gold` with a judge that fails: it says so, and nothing is written that would rest on its silence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxmetrics import Batch, LLMJudge, OpenAIModel, check_gold
from ctxmetrics.errors import ParameterError
from support.answers import answer_from
from support.batches import FakeBatches
from support.command import run_command as ctxmetrics
from support.server import FakeOpenAIServer


def make_samples(count: int) -> list[dict[str, object]]:
    return [
        {
            "id": f"q{number}",
            "user_input": f"Beside which shelf stands pump {number}?",
            "reference": f"Pump {number} stands beside shelf {number + 100}.",
            "reference_contexts": [f"The oven {number} stands in hall {number}."],
        }
        for number in range(count)
    ]


def make_judge(server: FakeOpenAIServer) -> LLMJudge:
    return LLMJudge(OpenAIModel("fake-judge", base_url=server.base_url, api_key="sk-wrong"))


FAILURES = [(3, "which did not answer"), (40, "0 of 40 judged, 40 failed, 0 left")]


@pytest.mark.parametrize(("count", "failure"), FAILURES)
def test_judge_without_an_answer_is_noted(tmp_path: Path, count: int, failure: str) -> None:
    audit = tmp_path / "audit.jsonl"
    with FakeOpenAIServer(answer_from(), api_key="right") as server:
        report = check_gold(make_samples(count), judge=make_judge(server), audit=audit, progress=False)
    assert not report.is_complete
    assert any("client_error" in note and f"of {count}" in note for note in report.notes)
    assert any(f"{audit} is not written" in note for note in report.notes)
    assert not [*tmp_path.iterdir()]
    heading = str(report).splitlines()[0]
    assert "judge: llm:openai/fake-judge@" in heading
    assert heading.endswith(f", {failure}")


def test_run_that_stops_early_says_how_far_it_came() -> None:
    with FakeOpenAIServer(answer_from()) as server:
        judge = LLMJudge(OpenAIModel("fake-judge", base_url=server.base_url, api_key="sk-test"))
        report = check_gold(make_samples(20), judge=judge, max_calls=3, progress=False)
    assert not report.is_complete
    assert any("max_calls" in note and "of 20 judged" in note for note in report.notes)
    assert "results" not in report.to_dict()


@pytest.mark.parametrize("count", [3, 40])
def test_command_ends_with_3_and_says_why(tmp_path: Path, count: int) -> None:
    file = tmp_path / "samples.jsonl"
    rows = (json.dumps(sample) for sample in make_samples(count))
    file.write_text("\n".join(rows), encoding="utf-8")
    audit = tmp_path / "audit.jsonl"
    with FakeOpenAIServer(answer_from(), api_key="right") as server:
        run = ctxmetrics(
            "check-gold", file, "--judge", "openai/m", "--base-url", server.base_url, "--audit", audit,
            OPENAI_API_KEY="sk-wrong",
        )  # fmt: skip
    assert run.returncode == 3, run
    (line,) = [line for line in run.stderr.splitlines() if line.startswith("ctxmetrics: ")]
    assert "Check the key in OPENAI_API_KEY" in line
    assert "\nnote: " in run.stderr
    assert "Next: ctxmetrics label" not in run.stderr
    assert not audit.exists()


@pytest.mark.slow
def test_batches_that_are_open_are_refused(tmp_path: Path) -> None:
    batches = FakeBatches()
    batches.rounds = 1
    with FakeOpenAIServer(answer_from(), batches=batches) as server:
        judge = LLMJudge(OpenAIModel("fake-judge", base_url=server.base_url, api_key="sk-test"))
        with pytest.raises(ParameterError, match=r"check_gold: .*Call it again later"):
            check_gold(
                make_samples(2),
                judge=judge,
                batch=Batch(mode="submit", folder=tmp_path / "run.batch"),
                progress=False,
            )
