"""What Ragas tests of its own metrics, asked of ours: average precision, columns, validation, order, both kinds of API."""

from __future__ import annotations

import ast
import asyncio
import importlib
import inspect
import math
import random
from fractions import Fraction
from typing import Any

import pytest

from ctxmetrics import ScriptedJudge
from support.cases import each_case
from support.later import later
from support.trees import parse

context_precision = later("ragas.metrics._context_precision")
datasets = later("datasets")
ours = later("ctxmetrics_ragas")
ragas = later("ragas")
string = later("ragas.metrics._string")


# ---- average precision ----


def _precision(evaluate: Any, verdicts: list[int], convention: str = "default") -> float:
    contexts = [f"That is context {number}." for number in range(len(verdicts))]
    rated = {
        f"c{number}": {"quote": contexts[number - 1], "useful": bool(verdict)}
        for number, verdict in enumerate(verdicts, 1)
    }
    judge = ScriptedJudge({"usefulness": [{"code": "$code", "useful": rated}]}, joint=False)
    metric = ours.ContextPrecision(judge=judge, convention=convention, name="it")
    rows = [{"user_input": "What?", "reference": "That.", "retrieved_contexts": contexts}]
    return evaluate(rows, [metric])["it"][0]


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([1, 0, 1], (1 / 1 + 2 / 3) / 2),
        ([1, 1, 0, 1], (1 + 1 + 3 / 4) / 3),
        ([1, 0, 0], 1.0),
        ([0, 1, 0], 0.5),
        ([0, 0, 1], 1 / 3),
        ([1, 1, 1], 1.0),
        ([0, 0, 0], 0.0),
        ([1, 1, 0], 1.0),
        ([0, 1, 1], (1 / 2 + 2 / 3) / 2),
        ([1], 1.0),
        ([0], 0.0),
    ],
)
def test_average_precision(evaluate: Any, verdicts: list[int], expected: float) -> None:
    assert _precision(evaluate, verdicts) == expected


def test_average_precision_rewards_order(evaluate: Any) -> None:
    orders = [[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 1, 0], [0, 1, 0, 1], [0, 0, 1, 1]]
    values = [_precision(evaluate, verdicts) for verdicts in orders]
    assert values == sorted(values, reverse=True)
    assert len(set(values)) == len(values)


@pytest.mark.parametrize("seed", [42, 123, 999])
def test_average_precision_of_random_lists(evaluate: Any, seed: int) -> None:
    """Against exact fractions, and under Ragas' convention against Ragas' own method."""
    source = random.Random(seed)
    theirs = context_precision.LLMContextPrecisionWithReference()
    for _ in range(5):
        verdicts = [source.randint(0, 1) for _ in range(source.randint(1, 10))]
        hits = [rank for rank, verdict in enumerate(verdicts, 1) if verdict]
        exact = sum(Fraction(sum(verdicts[:rank]), rank) for rank in hits) / max(1, len(hits))
        assert _precision(evaluate, verdicts) == pytest.approx(float(exact), abs=1e-12)
        given = [context_precision.Verification(reason="", verdict=verdict) for verdict in verdicts]
        assert _precision(evaluate, verdicts, "ragas") == theirs._calculate_average_precision(given)


# ---- string similarity ----

PAIRS = [
    ("The capital of France is Paris.", "Paris is the capital of France."),
    ("Hello World", "Hello World!"),
    ("kitten", "sitting"),
    ("", ""),
    ("", "text"),
    ("same", "same"),
    ("UPPER", "upper"),
    ("Москва", "Масква"),
    ("東京都", "京都"),
]


@each_case("measure", ["levenshtein", "hamming", "jaro", "jaro_winkler"])
@each_case(("retrieved", "reference"), PAIRS)
def test_string_similarity_is_that_of_ragas(measure: str, retrieved: str, reference: str) -> None:
    sample = ragas.SingleTurnSample(reference=retrieved, response=reference)
    theirs = asyncio.run(
        string.NonLLMStringSimilarity(
            distance_measure=string.DistanceMeasure(measure)
        )._single_turn_ascore(sample, [])
    )
    metric = ours.NonLLMContextRecall(similarity=measure, min_similarity=0.0)
    (verdict,) = metric.score(
        retrieved_contexts=[retrieved], reference_contexts=[reference]
    ).details.verdicts
    assert verdict.details["similarity"] == theirs


# ---- columns and validation ----


def test_metric_receives_only_required_and_optional_columns(row: dict[str, Any]) -> None:
    metric = ours.ContextRecall()
    assert metric.get_required_columns()["SINGLE_TURN"] == {"reference", "retrieved_contexts"}
    with_optional = {"reference", "retrieved_contexts", "user_input"}
    assert metric.get_required_columns(with_optional=True)["SINGLE_TURN"] == with_optional
    shown = metric._only_required_columns_single_turn(ragas.SingleTurnSample(**row)).to_dict()
    assert set(shown) == with_optional
    without = ragas.SingleTurnSample(reference="a", retrieved_contexts=["b"], response="c")
    assert set(metric._only_required_columns_single_turn(without).to_dict()) == {
        "reference",
        "retrieved_contexts",
    }


@pytest.mark.parametrize(
    ("columns", "metric", "valid"),
    [
        ({"reference": "a", "retrieved_contexts": ["b"]}, "ContextRecall", True),
        ({"response": "a", "retrieved_contexts": ["b"]}, "ContextUtilization", True),
        ({"response": "a", "retrieved_contexts": ["b"]}, "ContextPrecision", False),
        ({"reference": "a"}, "ContextRecall", False),
        ({"retrieved_contexts": ["a"], "reference_contexts": ["b"]}, "NonLLMContextRecall", True),
        ({"retrieved_contexts": ["a"]}, "NonLLMContextPrecision", False),
        (
            {"retrieved_context_ids": ["a"], "reference_context_ids": [1]},
            "IDBasedContextRecall",
            True,
        ),
        ({"retrieved_context_ids": ["a"]}, "IDBasedContextPrecision", False),
    ],
)
def test_validation_of_columns(columns: dict[str, Any], metric: str, valid: bool) -> None:
    dataset = ragas.EvaluationDataset.from_list([columns])
    ragas.validation.validate_supported_metrics(dataset, [getattr(ours, metric)()])
    if valid:
        ragas.validation.validate_required_columns(dataset, [getattr(ours, metric)()])
    else:
        with pytest.raises(ValueError, match="requires the following additional columns"):
            ragas.validation.validate_required_columns(dataset, [getattr(ours, metric)()])


def test_remapped_columns() -> None:
    table = datasets.Dataset.from_list([{"truth": "It is red.", "chunks": ["It is red."], "other": 1}])
    renamed = ragas.validation.remap_column_names(
        table, {"reference": "truth", "retrieved_contexts": "chunks"}
    )
    (found,) = [
        ours.ContextRecall().score(**{k: row[k] for k in ("reference", "retrieved_contexts")})
        for row in renamed
    ]
    assert found.value == 1.0


# ---- the executor ----


def test_executor_keeps_the_order_of_our_scores() -> None:
    """Whatever is slow: each result stands where it was submitted."""

    def slow(one: str, other: str) -> float:
        return 1.0 if one == other else 0.0

    class Sleepy:
        name, warnings = "sleepy", ()

        async def attribute(self, request: Any) -> Any:
            await asyncio.sleep(int(request.user_input) / 100)
            return await ScriptedJudge({"joint": [YES]}).attribute(request)

        rate = attribute

    metric, executor = ours.ContextRecall(judge=Sleepy()), ragas.executor.Executor(show_progress=False)
    for number in (5, 1, 3, 0):
        reference = "It is red." if number % 2 else "It is red. It is blue."
        sample = ragas.SingleTurnSample(
            user_input=str(number), reference=reference, retrieved_contexts=["It is red."]
        )
        executor.submit(metric.single_turn_ascore, sample)
    strings = ours.NonLLMContextRecall(similarity=slow)
    executor.submit(
        strings.single_turn_ascore,
        ragas.SingleTurnSample(retrieved_contexts=["a"], reference_contexts=["a", "b"]),
    )
    values = executor.results()
    assert values[:3] == [1.0, 1.0, 1.0]
    assert math.isnan(values[3])  # the script says nothing about the second sentence
    assert values[4] == 0.5


YES = {
    "code": "$code",
    "sentences": {
        "s1": {
            "supported": True,
            "evidence": [{"context": "c1", "quote": "It is red", "whole": True}],
        }
    },
    "useful": {"c1": {"useful": True}},
}


# ---- legacy and collections, one against the other ----

SAMPLES = [
    {
        "user_input": "What is the capital of France?",
        "reference": "Paris is the capital of France. It lies on the Seine.",
        "response": "Paris.",
        "retrieved_contexts": ["Paris is the capital of France.", "Berlin is in Germany."],
    },
    {
        "user_input": "Who wrote Faust?",
        "reference": "Goethe wrote Faust.",
        "response": "Goethe.",
        "retrieved_contexts": ["Weather is mild.", "Goethe wrote Faust in Weimar."],
    },
    {
        "user_input": "What?",
        "reference": "Nothing of it.",
        "response": "No.",
        "retrieved_contexts": ["Something else."],
    },
    {"user_input": "", "reference": "", "response": "", "retrieved_contexts": ["Something."]},
    {"user_input": "Empty?", "reference": "Yes.", "response": "Yes.", "retrieved_contexts": []},
    {
        "user_input": "Long?",
        "reference": "Yes. " * 50,
        "response": "Yes.",
        "retrieved_contexts": ["Yes. " * 500],
    },
]


@pytest.mark.parametrize("name", ["ContextRecall", "ContextPrecision", "ContextUtilization"])
def test_legacy_and_collections_agree(name: str) -> None:
    """Ragas' two implementations of each have drifted apart; here one object serves both."""
    metric = getattr(ours, name)()
    for sample in SAMPLES:
        legacy = asyncio.run(metric.single_turn_ascore(ragas.SingleTurnSample(**sample)))
        modern = asyncio.run(metric.ascore(**sample)).value
        assert legacy == modern or (math.isnan(legacy) and math.isnan(modern))


# ---- what Ragas' modules do with a metric: the adapter asks which module calls, as long as there is no other way ----


def _attributes(module: Any, *owners: str) -> set[str]:
    """Return what a module reads, calls and sets of the objects with these names: ``set llm``, ``init(run_config)``."""
    found = set()
    tree = parse(inspect.getsource(module))
    calls = {
        id(node.func): ", ".join(map(ast.unparse, [*node.args, *node.keywords]))
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or ast.unparse(node.value) not in owners:
            continue
        if isinstance(node.ctx, ast.Store):
            found.add(f"set {node.attr}")
        elif id(node) in calls:
            found.add(f"{node.attr}({calls[id(node)]})")
        else:
            found.add(node.attr)
    return found


def test_ragas_own_check_reads_required_columns_only() -> None:
    """If this fails, the check may have a way of its own to optional columns: `RagasMetric.required_columns`."""
    check = ragas.validation.validate_required_columns
    assert check.__module__ == "ragas.validation"  # the name by which the adapter knows it
    assert [*inspect.signature(check).parameters] == ["ds", "metrics"]
    assert _attributes(check, "m") == {"required_columns", "name"}


def test_ragas_lends_its_llm_by_the_attribute_only() -> None:
    """If this fails, `evaluate()` may say by itself that an LLM is lent: `_FrameworkJudgedMetric.__setattr__`."""
    run = importlib.import_module("ragas.evaluation")
    assert _attributes(run, "metric") == {
        "init(run_config)",
        "llm",
        "set llm",
        "embeddings",
        "set embeddings",
        "answer_similarity",
        "name",
        "single_turn_ascore",
        "multi_turn_ascore",
    }
    assert _attributes(run, "t.cast(MetricWithLLM, metrics[i])") == {"set llm"}
