"""The evaluator as an object: parameters, files, copies, and importing it."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator
from pydantic_evals import Case, Dataset

import ctxmetrics_pydantic_evals
from ctxmetrics import ContextRecall, LexicalJudge, ScriptedJudge
from ctxmetrics.errors import ParameterError, install_command
from ctxmetrics.metrics.catalog import ALL_METRICS
from ctxmetrics.samples.schema import KeyParams
from ctxmetrics_pydantic_evals import (
    EVALUATORS,
    ContextPrecisionEvaluator,
    ContextRecallEvaluator,
    IDBasedContextPrecisionEvaluator,
    IDBasedContextRecallEvaluator,
    NonLLMContextRecallEvaluator,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

AnyDataset = Dataset[Any, Any, Any]


def dataset(*evaluators: Any) -> AnyDataset:
    case = Case(name="a", inputs="?", expected_output="Paris is big.")
    return AnyDataset(name="test", cases=[case], evaluators=list(evaluators))


# ---- parameters ----


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: ContextRecallEvaluator(treshold=0.5),
            "has no parameter 'treshold'. Did you mean 'threshold'",
        ),
        (lambda: ContextRecallEvaluator(min_similarity=0.5), "has no parameter 'min_similarity'"),
        (lambda: ContextRecallEvaluator(context_key="x"), "Did you mean 'contexts_key'"),
        (lambda: ContextRecallEvaluator(retriever="x"), "has no parameter 'retriever'"),
        (lambda: ContextRecallEvaluator(key="x"), "has no parameter 'key'"),
        (
            lambda: ContextRecallEvaluator(contexts_key=3),
            "contexts_key=3 must be a string or a function",
        ),
        (lambda: ContextRecallEvaluator(threshold=2), "threshold=2 must be a number from 0 to 1"),
        (lambda: ContextRecallEvaluator(judge=3), "judge=int is no judge"),
        (lambda: IDBasedContextRecallEvaluator(judge=LexicalJudge()), "has no parameter 'judge'"),
    ],
)
def test_misuse_raises_at_once(make: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make()


@pytest.mark.parametrize("place", ["expected_output", "metadata"])
def test_facts_of_a_case_are_counted(place: str) -> None:
    """Beside what else is expected, or in the case's metadata."""
    facts: dict[str, Any] = {place: {"expected_facts": ["Paris is big.", "Rome is old."]}}
    case = Case(name="a", inputs="?", **facts)
    dataset = AnyDataset(
        name="test", cases=[case], evaluators=[ContextRecallEvaluator(unit="fact", judge="lexical")]
    )
    report = dataset.evaluate_sync(lambda _: {"documents": ["Paris is big."]}, progress=False)
    assert report.cases[0].scores["context_recall(unit=fact)"].value == 0.5


def test_every_metric_has_its_class() -> None:
    for metric in ALL_METRICS.values():
        evaluator = getattr(ctxmetrics_pydantic_evals, f"{metric.__name__}Evaluator")()
        assert type(evaluator) in EVALUATORS
        assert evaluator.metric == metric()
        assert evaluator.get_default_evaluation_name() == metric.base_name
        assert f"ctxmetrics.{metric.__name__}" in (type(evaluator).__doc__ or "")
    assert len(EVALUATORS) == len(ALL_METRICS)


@pytest.mark.parametrize("cls", EVALUATORS, ids=lambda cls: cls.__name__)
def test_fields_are_those_of_the_core_and_the_keys(cls: Any) -> None:
    core = {item.name: item.default for item in fields(cls.core_class)}
    own = {item.name: item.default for item in fields(cls)}
    keys = KeyParams.__optional_keys__ - {"retriever"}
    assert own == {**core, **dict.fromkeys((*keys, "evaluation_name"))}


def test_an_attribute_that_is_changed_counts() -> None:
    """Evaluators of pydantic-evals are dataclasses that may be changed."""
    evaluator = ContextRecallEvaluator()
    evaluator.top_k = 2
    evaluator.evaluation_name = None
    assert evaluator.metric == ContextRecall(top_k=2)
    assert evaluator.get_default_evaluation_name() == "context_recall(top_k=2)"
    assert replace(evaluator, threshold=0.5) == ContextRecallEvaluator(top_k=2, threshold=0.5)


def test_equality_hash_and_repr() -> None:
    evaluator = ContextRecallEvaluator(top_k=3, contexts_key="found")
    assert evaluator == ContextRecallEvaluator(top_k=3, contexts_key="found")
    assert len({evaluator, ContextRecallEvaluator(top_k=3, contexts_key="found")}) == 1
    others = [
        ContextRecallEvaluator(top_k=3),
        ContextPrecisionEvaluator(top_k=3, contexts_key="found"),
        "x",
    ]
    assert all(evaluator != other for other in others)
    assert repr(evaluator) == "ContextRecallEvaluator(top_k=3, contexts_key='found')"


def pickled(evaluator: Any) -> Any:
    return pickle.loads(pickle.dumps(evaluator))  # noqa: S301 - our own


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_copies_keep_everything(copied: Any) -> None:
    evaluator = IDBasedContextPrecisionEvaluator(
        top_k=1, formula="average_precision", retrieved_ids_key="found"
    )
    assert copied(evaluator) == evaluator
    assert copied(evaluator).metric == evaluator.metric


# ---- files ----

SAVED = [
    ContextRecallEvaluator(),
    ContextRecallEvaluator(top_k=3),
    ContextRecallEvaluator(convention="ragas"),  # the first field alone: no positional argument
    ContextPrecisionEvaluator(threshold=0.5, strict=True, relevance="supports", unit="sentence", language="en", evaluation_name="mine"),
    NonLLMContextRecallEvaluator(min_similarity=0.8, similarity="jaro"),
    IDBasedContextPrecisionEvaluator(formula="average_precision", id_key="source", retrieved_ids_key="found.ids"),
    ContextRecallEvaluator(judge="lexical"),
    ContextRecallEvaluator(judge="openai:gpt-4o-mini"),
]  # fmt: skip


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_a_data_set_s_file_gives_the_evaluators_back(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"test.{ending}"
    dataset(*SAVED).to_file(file, custom_evaluator_types=EVALUATORS)
    loaded = AnyDataset.from_file(file, custom_evaluator_types=EVALUATORS)
    assert loaded.evaluators == SAVED
    assert [evaluator.get_default_evaluation_name() for evaluator in loaded.evaluators[:3]] == [
        "context_recall", "context_recall(top_k=3)", "context_recall(convention=ragas)"
    ]  # fmt: skip


def test_the_file_s_schema_knows_every_parameter(tmp_path: Path) -> None:
    """pydantic-evals reads annotations and signature of each class by itself; inherited ones it does not see."""
    file = tmp_path / "test.json"
    dataset(*SAVED).to_file(file, custom_evaluator_types=EVALUATORS)
    validator = Draft202012Validator(
        json.loads((tmp_path / "test_schema.json").read_text(encoding="utf-8"))
    )
    data = json.loads(file.read_text(encoding="utf-8"))
    assert list(validator.iter_errors(data)) == []
    data["evaluators"] = [{"ContextRecallEvaluator": {"treshold": 0.5}}]
    assert list(validator.iter_errors(data)) != []
    for cls in EVALUATORS:
        data["evaluators"] = [{cls.__name__: {item.name: item.default for item in fields(cls)}}]
        assert list(validator.iter_errors(data)) == []


def test_a_wrong_parameter_in_a_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "test.json"
    dataset(ContextRecallEvaluator(top_k=3)).to_file(file)
    file.write_text(file.read_text(encoding="utf-8").replace("top_k", "topk"), encoding="utf-8")
    with pytest.raises(Exception) as raised:  # an ExceptionGroup
        AnyDataset.from_file(file, custom_evaluator_types=EVALUATORS)
    (error,) = raised.value.exceptions
    assert "has no parameter 'topk'. Did you mean 'top_k'?" in str(error)


def test_unserialisable_judge_is_never_replaced_silently(tmp_path: Path) -> None:
    file = tmp_path / "test.json"
    judge = ScriptedJudge({"joint": [{}]}, name="recorded")
    dataset(ContextRecallEvaluator(judge=judge)).to_file(file, custom_evaluator_types=EVALUATORS)
    loaded = AnyDataset.from_file(file, custom_evaluator_types=EVALUATORS)
    (found,) = loaded.evaluate_sync(lambda _: ["Paris is big."], progress=False).cases
    assert found.scores == {}
    (failure,) = found.evaluator_failures
    assert failure.error_message.startswith(
        "ParameterError: judge='recorded' cannot be had from pydantic-ai ("
    )
    assert failure.error_message.endswith("give it again where the evaluator is built.")


def test_functions_stop_no_evaluation(tmp_path: Path) -> None:
    """pydantic-evals writes every evaluator as data for each result, outside of what it catches."""

    def found(record: Any) -> list[str]:
        return ["Paris is big."]

    evaluators = [
        ContextRecallEvaluator(contexts_key=found, judge=LexicalJudge()),
        NonLLMContextRecallEvaluator(
            similarity=lambda a, b: 1.0, contexts_key=found, reference_contexts_key=found
        ),
    ]
    (case,) = dataset(*evaluators).evaluate_sync(lambda _: "x", progress=False).cases
    assert {name: result.value for name, result in case.scores.items()} == {
        "context_recall": 1.0,
        "non_llm_context_recall(similarity=<lambda>)": 1.0,
    }
    arguments = evaluators[0].as_spec().arguments
    assert arguments["judge"] == "lexical"
    assert arguments["contexts_key"].endswith("found")
    json.dumps(dataset(*evaluators).model_dump(mode="json"))


# ---- import ----


IMPORT = """
try:
    import ctxmetrics_pydantic_evals
except ImportError as error:
    print(type(error).__name__, error)
"""
MESSAGE = (
    "MissingExtraError pydantic-evals 1.32 or newer is not installed. "
    f"Install it with: {install_command('pydantic-evals')}\n"
)


@pytest.mark.slow
@pytest.mark.parametrize("package", ["pydantic_evals", "pydantic_ai"])
def test_without_it_the_error_names_the_install_command(
    package: str, python: Callable[..., str]
) -> None:
    assert python(f"import sys; sys.modules[{package!r}] = None" + IMPORT) == MESSAGE


@pytest.mark.slow
def test_no_other_framework_is_loaded(python: Callable[..., str]) -> None:
    code = """
import sys
import pydantic_evals
before = set(sys.modules)
import ctxmetrics_pydantic_evals
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(sorted(loaded & {"ragas", "deepeval", "langchain", "langchain_core", "langsmith", "mlflow", "openai"}))
"""
    assert python(code) == "[]\n"
