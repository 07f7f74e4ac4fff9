"""The mock server of `jevcompat` with each of its faults, and its suite against the fake server of the tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    DecisionAPI,
    DecisionJudge,
    Sample,
    check_model,
    evaluate,
    forget,
)
from support.decisions import DecisionServer

mock = pytest.importorskip("jevcompat.mock")
runner = pytest.importorskip("jevcompat.runner")

SAMPLES = [
    Sample(
        id=f"tower {number}",
        user_input="Where is the tower?",
        reference=f"The tower stands in Paris. It was painted blue in {number}.",
        retrieved_contexts=[
            f"The tower stands in Paris, on the left bank since {number}.",
            f"Bananas of {number} are yellow.",
        ],
    )
    for number in range(1950, 1955)
]
METRICS = [ContextRecall(), ContextPrecision()]
# Faults after which nothing is judged, with the code of the verdicts. All others but the leaks change nothing.
NO_VERDICT = {
    "wrong-route": "client_error",
    "xssi-200": "server_error",
    "auth-rejects-header": "client_error",
    "first-question-only": "missing_id",
    "noul-range": "invalid_reply",
    "boolean-type": "invalid_reply",
}
# Faults by which an answer depends on the place, the id or the number of its questions. In the layout "context" a run asks
# its first request again in another order, under other ids and with one question fewer. In the layout "sample" it repeats
# one question of each request, which may hide a leak in some; the last leak is seen by `doctor` alone.
LEAKS = ("order-leaks", "id-leaks", "batch-leaks")


def scores_of(url: str, layout: Any, samples: list[Sample] = SAMPLES) -> list[Any]:
    forget()
    judge = DecisionJudge(DecisionAPI("mock", wire="systemone", base_url=url), layout=layout)
    results = evaluate(samples, METRICS, judge=judge, progress=False, max_retries=0)
    return [row[metric.name] for row in results for metric in METRICS]


def outcome(url: str, layout: Any) -> list[tuple[float | None, set[str | None]]]:
    return [(one.value, {item.code for item in one.verdicts}) for one in scores_of(url, layout)]


@pytest.fixture(scope="module")
def clean() -> dict[str, list[Any]]:
    values = {}
    for layout in ("context", "sample"):
        with mock.Running() as server:
            values[layout] = outcome(server.url, layout)
    assert all(value is not None for own in values.values() for value, _ in own)
    return values


def test_there_are_47_faults() -> None:
    assert len(mock.FAULTS) == 47
    assert {*NO_VERDICT, *LEAKS} < set(mock.FAULTS)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["context", "sample"])
@pytest.mark.parametrize("fault", sorted(set(mock.FAULTS) - set(LEAKS)))
def test_fault(fault: str, layout: Any, clean: dict[str, list[Any]]) -> None:
    with mock.Running(mock.MockConfig(faults=frozenset({fault}))) as server:
        scores = outcome(server.url, layout)
    if fault not in NO_VERDICT:
        assert scores == clean[layout]
        return
    codes = {NO_VERDICT[fault], "judge_down"}
    for (value, own), (expected, _) in zip(scores, clean[layout], strict=True):
        assert (value is None and not codes.isdisjoint(own)) or value == expected
    assert any(value is None for value, _ in scores)


@pytest.mark.parametrize("fault", LEAKS)
def test_leak_flags_every_changed_value(fault: str, clean: dict[str, list[Any]]) -> None:
    changed = list_changed("context", fault, clean)
    assert changed
    assert all(codes == {"contradicted"} for codes in changed)


@pytest.mark.parametrize("fault", LEAKS)
def test_leak_under_sample(fault: str, clean: dict[str, list[Any]]) -> None:
    """The page says which leak this layout does not show."""
    changed = list_changed("sample", fault, clean)
    assert changed
    assert any("contradicted" in codes for codes in changed) == (fault != "batch-leaks")


def list_changed(layout: str, fault: str, clean: dict[str, list[Any]]) -> list[set[str | None]]:
    """List the codes of each value that a fault changes."""
    with mock.Running(mock.MockConfig(faults=frozenset({fault}))) as server:
        scores = outcome(server.url, layout)
    pairs = zip(scores, clean[layout], strict=True)
    return [codes for (value, codes), (expected, _) in pairs if value != expected]


@pytest.mark.parametrize("fault", LEAKS)
def test_doctor_sees_every_leak(fault: str) -> None:
    with mock.Running(mock.MockConfig(faults=frozenset({fault}))) as server:
        check = check_model(DecisionJudge(DecisionAPI("mock", wire="systemone", base_url=server.url)))
    assert "order" in {item.cause for item in check.findings}


@pytest.mark.parametrize("fault", LEAKS)
def test_leak_under_context_does_not_depend_on_k(fault: str) -> None:
    values = []
    with mock.Running(mock.MockConfig(faults=frozenset({fault}))) as server:
        judge = DecisionJudge(
            DecisionAPI("mock", wire="systemone", base_url=server.url), together=False
        )
        for contexts in (SAMPLES[0].retrieved_contexts, SAMPLES[0].retrieved_contexts[:1]):  # type: ignore[index]  # they are there
            forget()
            sample = replace(SAMPLES[0], retrieved_contexts=contexts)
            score = ContextRecall(judge=judge).score(sample)
            values.append([item.details["probabilities"][0] for item in score.verdicts])
    assert values[0] == values[1]


@pytest.mark.parametrize("key", [None, "sk-0123abcd-xyz999"])
def test_fake_server_passes_the_suite(key: str | None) -> None:
    with DecisionServer(key=key) as server:
        report = runner.run(server.url, key=key, sdk=True)
    failed = [
        result.id for result in report.results if result.level == "MUST" and result.status == "fail"
    ]
    assert failed == []
    assert report.verdict == "conformant"
    assert report.count("MUST", "pass") == 32


def test_fake_server_is_parsed_by_openai() -> None:
    # instructor keeps jiter below the version that this openai needs.
    openai = pytest.importorskip("openai", minversion="3.57", reason="the first openai with decisions")
    with DecisionServer() as server:
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="x")
        question = {"type": "predicate", "name": "s1", "instructions": 'Is it there: "red"'}
        reply = client.decisions.create(model="m", input="red", questions=[question])
    assert (reply.answers[0].name, reply.answers[0].type) == ("s1", "predicate")
    assert reply.usage.output_tokens == 0
