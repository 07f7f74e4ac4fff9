"""Several chunks of one source: DeepEval's own contextual precision and the convention ``deepeval`` give one number."""

from __future__ import annotations

from typing import Any

import pytest

from ctxmetrics import ScriptedJudge
from support.later import later

deepeval = later("deepeval")
ours = later("ctxmetrics_deepeval")


# What was retrieved: a source (None: a text by itself) and whether the text helps; and the score, by hand.
CASES = [
    pytest.param([("a", 0), ("a", 1)], 1.0, id="one source, its second chunk helps"),
    pytest.param([("a", 1), ("a", 0)], 1.0, id="one source, its first chunk helps"),
    pytest.param([("a", 0), ("a", 0)], 0.0, id="one source, no chunk helps"),
    pytest.param([("a", 0), ("b", 1), ("a", 1)], 1.0, id="a source around another"),
    pytest.param([("a", 0), ("b", 1), ("a", 0)], 1 / 2, id="the source in between helps alone"),
    pytest.param([("a", 1), ("b", 0), ("c", 1)], (1 + 2 / 3) / 2, id="three sources"),
    pytest.param([("a", 0), ("b", 0), ("b", 1), ("c", 1)], (1 / 2 + 2 / 3) / 2, id="the second of three has two"),
    pytest.param([("a", 1), ("a", 1), ("a", 1)], 1.0, id="three chunks of one source help"),
    pytest.param([(None, 0), ("a", 0), ("a", 1)], 1 / 2, id="a text by itself, then a source"),
    pytest.param([("a", 0), (None, 1), ("a", 0)], 1 / 2, id="a text by itself within a source"),
    pytest.param([(None, 0), (None, 1)], 1 / 2, id="texts by themselves are no source"),
    pytest.param([(None, 1), ("a", 0), (None, 0), ("a", 1)], 1.0, id="texts and a source mixed"),
    pytest.param([("b", 0), ("a", 0), ("b", 0), ("a", 1)], 1 / 2, id="sources that alternate"),
    pytest.param([("a", 1)], 1.0, id="one chunk"),
]  # fmt: skip
REFERENCE = "The bag holds 20 litres."


def retrieved(items: list[tuple[str | None, int]]) -> list[Any]:
    texts = [
        f"{REFERENCE} Copy {n}." if good else f"Shop {n} is closed."
        for n, (_, good) in enumerate(items)
    ]
    return [
        text if source is None else deepeval.test_case.RetrievedContextData(context=text, source=source)
        for text, (source, _) in zip(texts, items, strict=True)
    ]


def case_of(items: list[tuple[str | None, int]], **more: Any) -> deepeval.test_case.LLMTestCase:
    return deepeval.test_case.LLMTestCase(
        input="q", expected_output=REFERENCE, retrieval_context=retrieved(items), **more
    )


def of_deepeval(test_case: deepeval.test_case.LLMTestCase) -> float:
    class Answering(deepeval.models.DeepEvalBaseLLM):
        """Says yes to each of DeepEval's own nodes that holds a text that helps."""

        def __init__(self, nodes: list[str]) -> None:
            self.nodes = nodes
            super().__init__("scripted")

        def load_model(self) -> None:
            return None

        def get_model_name(self) -> str:
            return "scripted"

        def generate(self, prompt: str, schema: Any = None) -> Any:
            assert all(node in prompt or repr(node)[1:-1] in prompt for node in self.nodes)
            verdicts = [
                {"verdict": "yes" if REFERENCE in node else "no", "reason": ""} for node in self.nodes
            ]
            return schema(verdicts=verdicts)

        async def a_generate(self, prompt: str, schema: Any = None) -> Any:
            return self.generate(prompt, schema)

    metric = deepeval.metrics.ContextualPrecisionMetric(
        model=Answering([]), include_reason=False, async_mode=False
    )
    metric.model.nodes = metric._group_retrieval_contexts(test_case.retrieval_context)
    return metric.measure(test_case, _show_indicator=False)


def judge_of(items: list[tuple[str | None, int]]) -> ScriptedJudge:
    rated = {
        f"c{n}": {"quote": REFERENCE if good else "", "useful": bool(good)}
        for n, (_, good) in enumerate(items, 1)
    }
    found = next((n for n, (_, good) in enumerate(items, 1) if good), None)
    evidence = [{"context": f"c{found}", "quote": REFERENCE, "whole": True}] if found else []
    missing = {} if found else {"missing": "all of it"}
    sentence = {"evidence": evidence, **missing, "supported": found is not None}
    reply = {"code": "$code", "sentences": {"s1": sentence}, "useful": rated}
    return ScriptedJudge({"joint": [reply]})


@pytest.mark.parametrize(("items", "score"), CASES)
def test_the_convention_gives_deepevals_own_number(
    items: list[tuple[str | None, int]], score: float
) -> None:
    test_case = case_of(items)
    metric = ours.ContextPrecisionMetric(judge=judge_of(items), convention="deepeval")
    assert metric.measure(test_case) == score
    assert of_deepeval(test_case) == pytest.approx(score, abs=1e-12)


def test_the_other_conventions_count_each_chunk_unless_asked() -> None:
    items: list[tuple[str | None, int]] = [("a", 0), ("a", 1)]
    judge = judge_of(items)
    assert ours.ContextPrecisionMetric(judge=judge).measure(case_of(items)) == 0.5
    assert ours.ContextPrecisionMetric(judge=judge, group="source").measure(case_of(items)) == 1.0
    assert (
        ours.ContextPrecisionMetric(judge=judge, convention="deepeval", group="context").measure(
            case_of(items)
        )
        == 0.5
    )


def test_strings_and_responses_have_sources_beside_metadata_ids() -> None:
    items: list[tuple[str | None, int]] = [("a", 0), ("a", 1)]
    given = case_of(items, context=[f"{REFERENCE} Copy 1."])
    assert (
        ours.NonLLMContextPrecisionMetric(convention="deepeval", min_similarity=0.9).measure(given)
        == 1.0
    )
    assert ours.NonLLMContextPrecisionMetric(min_similarity=0.9).measure(given) == 0.5
    answered = case_of(items, actual_output=REFERENCE)
    useful = {"c1": {"useful": False}, "c2": {"quote": REFERENCE, "useful": True}}
    judge = ScriptedJudge({"usefulness": [{"code": "$code", "useful": useful}]})
    assert ours.ContextUtilizationMetric(judge=judge, group="source").measure(answered) == 1.0
    ids = {"retrieved_context_ids": ["d1", "d2"], "reference_context_ids": ["d2", "d3"]}
    assert ours.IDBasedContextRecallMetric().measure(case_of(items, metadata=ids)) == 0.5
