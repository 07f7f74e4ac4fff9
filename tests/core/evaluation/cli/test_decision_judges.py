"""Decision models on the command line: judging, doctor, estimate and check-judge."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    DecisionAPI,
    DecisionJudge,
    check_model,
    estimate,
    evaluate,
)
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.agreement.agree import agree
from ctxmetrics.evaluation.agreement.card import read_card, write_card
from ctxmetrics.evaluation.agreement.check_judge import check_judge
from ctxmetrics.evaluation.cli._run import build_judge
from ctxmetrics.judges.llm.judge import LLMJudge, forget
from ctxmetrics.samples.sample import Sample
from support.command import run_command
from support.decisions import DecisionServer, honest
from support.rows import read_rows

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = [
    (
        "The tower stands in Paris.",
        ["The tower stands in Paris, on the left bank.", "Bananas are yellow."],
    ),
    ("It was painted blue in 1950.", ["Bananas are yellow.", "In 1950 it was painted blue."]),
]


@pytest.fixture(autouse=True)
def _fresh() -> None:
    forget()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "samples.jsonl"
    rows = [{"reference": reference, "retrieved_contexts": contexts} for reference, contexts in TEXTS]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def judge_on(server: DecisionServer, wire: Any = "systemone", **options: Any) -> DecisionJudge:
    return DecisionJudge(DecisionAPI("m", wire=wire, base_url=server.url), **options)


class TestNames:
    @pytest.mark.parametrize(
        ("name", "identity"),
        [
            ("typesafe/jev-1.13.0", "systemone/jev-1.13.0@api.typesafe.ai/v1"),
            ("openrouter-decisions/x/laya", "systemone/x/laya@openrouter.ai/api/v1"),
            ("openai-decisions/gpt-6-luna", "openai/gpt-6-luna@api.openai.com/v1"),
        ],
    )
    def test_providers(self, name: str, identity: str, monkeypatch: pytest.MonkeyPatch) -> None:
        for key in ("TYPESAFE_API_KEY", "OPENROUTER_API_KEY", "OPENAI_API_KEY"):
            monkeypatch.setenv(key, "sk-0123abcd-xyz999")
        judge = build_judge(name, None)
        assert isinstance(judge, DecisionJudge)
        assert judge.model.identity == identity

    def test_server_of_ones_own(self) -> None:
        judge = build_judge("systemone/laya", "http://127.0.0.1:9/v1", 5000)
        assert isinstance(judge, DecisionJudge)
        assert judge.model.identity == "systemone/laya@127.0.0.1:9/v1"
        assert judge.max_characters == 5000

    def test_chat_model_stays_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for key in ("OPENROUTER_API_KEY", "OPENAI_API_KEY"):
            monkeypatch.setenv(key, "sk-0123abcd-xyz999")
        assert isinstance(build_judge("openai/gpt-6-luna", None), LLMJudge)
        assert isinstance(build_judge("openrouter/jev-latest", "http://127.0.0.1:9/v1"), LLMJudge)

    def test_missing_key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("TYPESAFE_API_KEY", raising=False)
        with pytest.raises(ParameterError, match="TYPESAFE_API_KEY"):
            build_judge("typesafe/jev-latest", None)

    def test_unknown_provider(self) -> None:
        with pytest.raises(ParameterError, match="Did you mean typesafe/x"):
            build_judge("typsafe/x", None)


class TestScore:
    def test_rows_and_report(self, file: Path, tmp_path: Path) -> None:
        out, page = tmp_path / "rows.jsonl", tmp_path / "page.html"
        with DecisionServer() as server:
            options = ["--judge", "systemone/m", "--base-url", server.url, "--out", str(out)]
            done = run_command("score", str(file), *options, "--report", str(page))
        assert done.returncode == 0, done.stderr
        assert "no quote of the model" in done.stdout + done.stderr
        assert "no quote of the model" in page.read_text(encoding="utf-8")
        rows = read_rows(out)
        recalls = [row for row in rows if row.get("metric") == "context_recall"]
        assert [row["value"] for row in recalls] == [1.0, 1.0]


class TestDoctor:
    @pytest.mark.parametrize("wire", ["systemone", "openai"])
    def test_good_server(self, wire: Any) -> None:
        with DecisionServer() as server:
            check = check_model(judge_on(server, wire))
        assert check.ok
        assert [item.name for item in check.findings] == [
            *("answer", "verdicts", "order", "questions", "usage")
        ]
        assert len(server.requests) == 3
        assert "128 in one request" in str(check)

    def test_order_that_matters_is_said(self) -> None:
        def leak(asked: Any, body: dict[str, Any]) -> dict[str, Any]:
            for place, answer in enumerate(body["answers"].values()):
                answer["noul"] = max(0.0, answer["noul"] - 0.1 * place)
            return body

        with DecisionServer(change=leak) as server:
            check = check_model(judge_on(server))
        (order,) = [item for item in check.findings if item.name == "order"]
        assert order.cause == "order"
        assert "apart" in order.told

    def test_company_that_matters_is_said(self) -> None:
        def leak(asked: Any, body: dict[str, Any]) -> dict[str, Any]:
            for answer in body["answers"].values():
                answer["noul"] *= 1 / len(asked.questions)
            return body

        with DecisionServer(change=leak) as server:
            check = check_model(judge_on(server, max_questions=4))
        assert "ok" in str(check)

    def test_fewer_questions_are_split(self) -> None:
        def change(asked: Any, body: dict[str, Any]) -> Any:
            detail = {"detail": {"error_type": "too_many_questions", "message": "too many questions"}}
            return body if len(asked.questions) <= 64 else (400, detail)

        with DecisionServer(change=change) as server:
            check = check_model(judge_on(server))
        assert "64 in one request" in str(check)
        assert check.ok

    @pytest.mark.parametrize(
        ("status", "cause"), [(401, "key"), (404, "path"), (422, "refused_request")]
    )
    def test_failures(self, status: int, cause: str) -> None:
        with DecisionServer(change=lambda *_: (status, {"detail": "no"})) as server:
            check = check_model(judge_on(server))
        assert not check.ok
        assert [item.cause for item in check.findings] == [cause]

    def test_command(self, file: Path) -> None:
        with DecisionServer() as server:
            done = run_command("doctor", str(file), "--judge", "systemone/m", "--base-url", server.url)
        assert done.returncode == 0, done.stderr
        assert "order: asked in another order" in done.stdout
        assert "2 samples: 7 calls" in done.stdout


@pytest.mark.parametrize("layout", ["context", "sample"])
def test_estimate_counts_what_a_run_sends(layout: Any) -> None:
    samples = [Sample(reference=reference, retrieved_contexts=texts) for reference, texts in TEXTS]
    metrics = [ContextRecall(), ContextPrecision()]
    with DecisionServer() as server:
        judge = judge_on(server, layout=layout)
        costs = estimate(samples, metrics, judge=judge)
        assert not server.requests
        usage = evaluate(samples, metrics, judge=judge, progress=False).usage
    assert costs.calls == usage.calls == len(server.requests)
    assert costs.prompt_tokens == pytest.approx(usage.prompt_tokens, rel=0.1)


def test_check_judge_and_controls() -> None:
    with DecisionServer(answer=honest) as server:
        judge = judge_on(server, layout="sample")
        report = check_judge(judge, samples=6, repetitions=1)
        assert report.judge == judge.name
        samples = [Sample(reference=text, retrieved_contexts=contexts) for text, contexts in TEXTS]
        results = evaluate(samples, [ContextRecall()], judge=judge, controls=4, progress=False)
    assert results.controls is not None


def test_agree_proposes_a_bar(tmp_path: Path) -> None:
    # Of each three samples the model gives .9, .6 and .1; people say yes to the first alone.
    def answer(state: str, question: str) -> float:
        return next(p for word, p in (("first", 0.9), ("second", 0.6), ("third", 0.1)) if word in state)

    samples = [
        Sample(
            reference=f"Walls are old, number {number}.",
            retrieved_contexts=[f"The {word} text is old, number {number}."],
            labels={"unit_supported": [word == "first"]},
        )
        for number in range(20)
        for word in ("first", "second", "third")
    ]
    with DecisionServer(answer=answer) as server:
        report = agree(samples, judge=judge_on(server), progress=False)
    (bar,) = report.bars
    assert 0.6 < bar.bar <= 0.9
    assert bar.gain == pytest.approx(0.25)
    assert f"take bar={bar.bar:.2f}" in str(report)
    write_card(tmp_path / "card.json", report)
    (metric,) = read_card(tmp_path / "card.json").metrics
    assert metric.figures["bar"] == bar.bar
