"""Test cases with pictures, through DeepEval's real runner: a placeholder is no text to score."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import ScriptedJudge
from support import FakeOpenAIServer
from support.later import later

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

deepeval = later("deepeval")
ours = later("ctxmetrics_deepeval")


PIXEL = base64.b64encode(b"\x89PNG not a real one").decode()


def _picture() -> deepeval.test_case.MLLMImage:
    return deepeval.test_case.MLLMImage(dataBase64=PIXEL, mimeType="image/png")


def _with(field: str) -> dict[str, Any]:
    picture = _picture()
    return {
        "question": {"input": f"What is this? {picture}"},
        "answer": {"actual_output": f"It is this: {picture}"},
        "expected answer": {"expected_output": f"The Eiffel Tower stands in Paris. {picture}"},
        "retrieved": {"retrieval_context": ["Bananas are yellow.", f"{picture}"]},
        "retrieved with its source": {
            "retrieval_context": [
                deepeval.test_case.RetrievedContextData(context=f"See {picture}", source="a.pdf")
            ]
        },
        "pdf": {
            "retrieval_context": [
                str(deepeval.test_case.MLLMImage(dataBase64=PIXEL, mimeType="application/pdf"))
            ]
        },
        "ideal": {"context": [f"{picture}"]},
        "remote": {
            "retrieval_context": [
                str(deepeval.test_case.MLLMImage(url="https://example.org/tower.png"))
            ]
        },
        "lost from the registry": {"retrieval_context": [f"[DEEPEVAL:IMAGE:{'0af3' * 8}]"]},
        "by address": {"retrieval_context": ["[DEEPEVAL:IMAGE:https://example.org/tower.png]"]},
    }[field]


READ_BY_RECALL = [
    "question", "expected answer", "retrieved", "retrieved with its source", "pdf", "remote",
    "lost from the registry", "by address",
]  # fmt: skip


@pytest.mark.parametrize("field", READ_BY_RECALL)
def test_case_with_a_picture_is_not_scored_on_its_placeholder(
    run: Callable[..., list[Any]], make_case: Callable[..., deepeval.test_case.LLMTestCase], field: str
) -> None:
    case = make_case(**_with(field))
    assert case.multimodal
    pictured, plain = run(
        [case, make_case()], [ours.ContextRecallMetric(), ours.ContextPrecisionMetric()]
    )
    for data in pictured.metrics_data:
        assert data.score is None
        assert data.success is False
        assert data.error.startswith("not_text: field '")
    assert [data.score for data in plain.metrics_data] == [0.5, 1.0]


def test_the_same_picture_as_reference_and_context_was_recall_1(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    """As it was reported: word for word the same placeholder, so 1.0."""
    picture = _picture()
    case = make_case(expected_output=f"{picture}", retrieval_context=[f"{picture}"])
    metric = ours.ContextRecallMetric()
    assert metric.measure(case) is None
    assert metric.result.reason_code == "not_text"
    assert metric.result.verdicts == ()
    assert "field 'expected_output' holds a picture" in metric.result.message
    with pytest.raises(AssertionError, match="not_text: field"):
        deepeval.assert_test(case, [ours.ContextRecallMetric()])
    with pytest.raises(AssertionError, match="not_text: field"):
        deepeval.assert_test(case, [ours.ContextRecallMetric()], run_async=False)


def test_no_judge_is_asked_about_a_picture(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    def answer(prompt: Any) -> str:
        raise AssertionError(f"asked: {prompt}")

    metric = ours.ContextRecallMetric(judge=ScriptedJudge(answer))
    assert metric.measure(make_case(**_with("retrieved"))) is None
    assert metric.result.reason_code == "not_text"
    assert metric.result.usage.calls == 0


def test_picture_file_in_a_chunk_is_opened_by_deepeval_only(
    make_case: Callable[..., deepeval.test_case.LLMTestCase], tmp_path: Path
) -> None:
    """What docs/security.md says about the two: DeepEval's own metric sends the file's content to the judge."""
    secret = tmp_path / "secret.png"
    secret.write_bytes(b"do not send this")
    content = base64.b64encode(secret.read_bytes()).decode()
    case = make_case(retrieval_context=[f"The valve [DEEPEVAL:IMAGE:{secret}] is closed."])
    with FakeOpenAIServer(lambda _: '{"verdicts": [{"verdict": "yes", "reason": "r"}]}') as server:
        # Its name before DeepEval 4 was GPTModel.
        kind = getattr(deepeval.models, "OpenAIModel", None) or deepeval.models.GPTModel
        llm = kind(model="gpt-4o", api_key="sk-test-0123456789", base_url=server.base_url)
        deepeval.metrics.ContextualRecallMetric(
            model=llm, include_reason=False, async_mode=False
        ).measure(case, _show_indicator=False)
        assert content in str(server.requests[0].messages)
        server.reset()
        metric = ours.ContextRecallMetric(model=llm)
        assert metric.measure(case) is None
        assert metric.error.startswith("not_text: ")
        assert server.count == 0


@pytest.mark.parametrize(
    ("kind", "field"),
    [("ContextUtilizationMetric", "answer"), ("NonLLMContextRecallMetric", "ideal")],
)
def test_every_metric_that_reads_texts_refuses_them(
    make_case: Callable[..., deepeval.test_case.LLMTestCase], kind: str, field: str
) -> None:
    metric = getattr(ours, kind)()
    assert metric.measure(make_case(**_with(field))) is None
    assert metric.error.startswith("not_text: ")


@pytest.mark.parametrize("field", ["answer", "ideal"])
def test_picture_in_an_unused_field_changes_nothing(
    make_case: Callable[..., deepeval.test_case.LLMTestCase], field: str
) -> None:
    assert ours.ContextRecallMetric().measure(make_case(**_with(field))) == 0.5


def test_metrics_by_id_score_test_cases_with_pictures(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    """Two of three reference ids were retrieved; no text is read."""
    case = make_case(**_with("retrieved"), input=f"{_picture()}")
    assert ours.IDBasedContextRecallMetric().measure(case) == 2 / 3
