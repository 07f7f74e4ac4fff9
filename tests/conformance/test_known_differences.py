"""Where Ragas' and DeepEval's own metrics give another number on a golden case, by running them.

Each case a framework can express goes through its own metric, its judge replaced by one that answers the case's
verdicts. What differs must be exactly what ``tests/golden/known_differences`` lists, with the value it lists.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ctxmetrics.testing.golden import TOLERANCE, Case, load_cases

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")
os.environ.setdefault("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")

GOLDEN = Path(__file__).parents[1] / "golden"
CASES = load_cases(GOLDEN / "v1")
JUDGED = {"context_recall", "context_precision", "context_utilization"}

Native = tuple[
    "float | str", "bool | None"
]  # the value, and whether it passed where the framework says so


def listed(framework: str) -> dict:
    return json.loads((GOLDEN / "known_differences" / f"{framework}.json").read_text(encoding="utf-8"))


def needs_version(framework: str, distribution: str) -> None:
    about, installed = listed(framework)["version"], version(distribution)
    if about != installed:
        pytest.skip(f"the list is about {distribution} {about}, installed is {installed}")


def run_all(
    framework: str, can_express: Callable[[Case], bool], native: Callable[[Case, Sequence], Native]
) -> None:
    known = {entry["case"]: entry for entry in listed(framework)["differences"]}
    found, compared = {}, 0
    for case in CASES:
        entry = known.get(case.id, {})
        verdicts = entry.get("verdicts", case.expected.get("verdicts", []))
        answerable = bool(verdicts) and None not in verdicts and "malformed" not in case.tags
        if case.error or case.is_refused_by(framework) or not can_express(case):
            continue
        if case.metric in JUDGED and not answerable and "verdicts" not in entry:
            continue  # what the framework's judge would say to it is listed by hand, or not compared
        value, passed = native(case, verdicts)
        compared += 1
        if not equal(value, case.score):
            found[case.id] = value
        elif passed is not None and case.expected.get("passed") is not None:
            assert passed is case.expected["passed"], case.id
    print(f"{framework}: {compared} cases compared, {len(found)} differ")
    assert compared > 50
    assert sorted(found) == sorted(known)
    for name, value in found.items():
        assert equal(value, known[name]["native"]), (
            f"{name}: {value!r}, listed {known[name]['native']!r}"
        )


def equal(value: float | str, expected: float | str | None) -> bool:
    if isinstance(value, str) or expected is None or isinstance(expected, str):
        return value == ("nan" if expected is None else expected)
    return abs(value - expected) <= TOLERANCE


def test_ragas():
    pytest.importorskip("ragas", reason="the ragas extra is not installed")
    needs_version("ragas", "ragas")
    from langchain_core.outputs import Generation, LLMResult
    from ragas import SingleTurnSample
    from ragas.llms.base import BaseRagasLLM
    from ragas.metrics import (
        DistanceMeasure,
        IDBasedContextPrecision,
        IDBasedContextRecall,
        LLMContextPrecisionWithoutReference,
        LLMContextPrecisionWithReference,
        LLMContextRecall,
        NonLLMContextPrecisionWithReference,
        NonLLMContextRecall,
        NonLLMStringSimilarity,
    )

    class Scripted(BaseRagasLLM):
        """Answers the next reply."""

        def __init__(self, replies: list) -> None:
            super().__init__()
            self.replies = iter(replies)

        def generate_text(self, *args, **kwargs) -> LLMResult:
            return LLMResult(generations=[[Generation(text=json.dumps(next(self.replies)))]])

        async def agenerate_text(self, *args, **kwargs) -> LLMResult:
            return self.generate_text()

        def is_finished(self, response: LLMResult) -> bool:
            return True

    def metric(case: Case, verdicts: Sequence):
        if case.metric == "context_recall":
            lines = [
                {"statement": "-", "reason": "-", "attributed": int(verdict)} for verdict in verdicts
            ]
            return LLMContextRecall(llm=Scripted([{"classifications": lines}]))
        if case.metric in JUDGED:
            llm = Scripted([{"reason": "-", "verdict": int(verdict)} for verdict in verdicts])
            with_reference = case.metric == "context_precision"
            return (
                LLMContextPrecisionWithReference
                if with_reference
                else LLMContextPrecisionWithoutReference
            )(llm=llm)
        if case.metric.startswith("id_"):
            return (
                IDBasedContextRecall() if case.metric.endswith("recall") else IDBasedContextPrecision()
            )
        measure = DistanceMeasure(case.params.get("similarity", "levenshtein"))
        cut = case.params.get("min_similarity", 0.5)
        if case.metric.endswith("recall"):
            recall = NonLLMContextRecall(threshold=cut)
            recall.distance_measure = measure
            return recall
        return NonLLMContextPrecisionWithReference(
            threshold=cut, distance_measure=NonLLMStringSimilarity(distance_measure=measure)
        )

    def native(case: Case, verdicts: Sequence) -> Native:
        judged = {"user_input": "", "reference": "", "response": ""} if case.metric in JUDGED else {}
        sample = SingleTurnSample(**{**judged, **case.sample})
        try:
            value = asyncio.run(metric(case, verdicts)._single_turn_ascore(sample, callbacks=None))
        except ValueError:  # evaluate() makes NaN of it
            value = math.nan
        return ("nan" if math.isnan(value) else float(value)), None

    def can_express(case: Case) -> bool:
        of_ragas = case.params.get("convention", "ragas") == "ragas" and not case.metric.startswith(
            "span_"
        )
        plain = case.sample.keys().isdisjoint({"references", "stages", "searches"})
        plain = plain and "ragas.evaluate" not in case.refused_by
        return of_ragas and plain and set(case.params) <= {"convention", "min_similarity", "similarity"}

    run_all("ragas", can_express, native)


def test_deepeval():
    pytest.importorskip("deepeval", reason="the deepeval extra is not installed")
    needs_version("deepeval", "deepeval")
    from deepeval.metrics import ContextualPrecisionMetric, ContextualRecallMetric
    from deepeval.models import DeepEvalBaseLLM
    from deepeval.test_case import LLMTestCase

    class Scripted(DeepEvalBaseLLM):
        """Answers one list of verdicts."""

        def __init__(self, verdicts: Sequence) -> None:
            self.verdicts = [
                {"verdict": "yes" if verdict else "no", "reason": "-"} for verdict in verdicts
            ]
            super().__init__("scripted")

        def load_model(self):
            return self

        def get_model_name(self) -> str:
            return "scripted"

        def generate(self, prompt, schema=None):
            return schema(verdicts=self.verdicts)

        async def a_generate(self, prompt, schema=None):
            return self.generate(prompt, schema)

    def native(case: Case, verdicts: Sequence) -> Native:
        cls = ContextualRecallMetric if case.metric.endswith("recall") else ContextualPrecisionMetric
        metric = cls(
            model=Scripted(verdicts),
            include_reason=False,
            async_mode=False,
            threshold=case.params.get("threshold", 0.5),
            strict_mode=case.params.get("strict", False),
        )
        metric.measure(
            LLMTestCase(
                input=case.sample.get("user_input", ""),
                actual_output="",
                expected_output=case.sample["reference"],
                retrieval_context=case.sample["retrieved_contexts"],
            ),
            _show_indicator=False,
        )
        under_deepeval = case.params.get("convention") == "deepeval"
        return float(metric.score), metric.is_successful() if under_deepeval else None

    def can_express(case: Case) -> bool:
        # Contexts of one source are compared with DeepEval's own metric in tests/adapters/deepeval.
        texts_alone = "reference" in case.sample and {"sources", "stages", "searches"}.isdisjoint(
            case.tags
        )
        mine = case.metric in {"context_recall", "context_precision"} and texts_alone
        name = case.params.get("convention", "default")
        return mine and (
            (name == "deepeval" and set(case.params) <= {"convention", "threshold", "strict"})
            or not case.params
        )

    run_all("deepeval", can_express, native)


def test_langchain_has_no_metric_of_this_kind():
    evaluation = pytest.importorskip(
        "langchain_classic.evaluation", reason="langchain-classic is not installed"
    )
    needs_version("langchain", "langchain-classic")
    names = {kind.value for kind in evaluation.EvaluatorType}
    assert not {name for name in names if "recall" in name or "precision" in name}
    assert listed("langchain")["differences"] == []
