"""The evaluator as an object: parameters, files, copies, and importing it."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import ContextRecall, LexicalJudge, ScriptedJudge
from ctxmetrics.errors import ParameterError, install_command
from ctxmetrics.metrics.catalog import ALL_METRICS
from ctxmetrics.samples.field_keys import KeyParams
from support.later import later

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

jsonschema = later("jsonschema")
ours = later("ctxmetrics_pydantic_evals")
pydantic_evals = later("pydantic_evals")


def dataset(*evaluators: Any) -> pydantic_evals.Dataset[Any, Any, Any]:
    case = pydantic_evals.Case(name="a", inputs="?", expected_output="Paris is big.")
    return pydantic_evals.Dataset(name="test", cases=[case], evaluators=list(evaluators))


# ---- parameters ----


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: ours.ContextRecallEvaluator(treshold=0.5),
            "has no parameter 'treshold'. Did you mean 'threshold'",
        ),
        (lambda: ours.ContextRecallEvaluator(min_similarity=0.5), "has no parameter 'min_similarity'"),
        (lambda: ours.ContextRecallEvaluator(context_key="x"), "Did you mean 'contexts_key'"),
        (lambda: ours.ContextRecallEvaluator(retriever="x"), "has no parameter 'retriever'"),
        (lambda: ours.ContextRecallEvaluator(key="x"), "has no parameter 'key'"),
        (
            lambda: ours.ContextRecallEvaluator(contexts_key=3),
            "contexts_key=3 must be a string or a function",
        ),
        (lambda: ours.ContextRecallEvaluator(threshold=2), "threshold=2 must be a number from 0 to 1"),
        (lambda: ours.ContextRecallEvaluator(judge=3), "judge=int is no judge"),
        (lambda: ours.IDBasedContextRecallEvaluator(judge=LexicalJudge()), "has no parameter 'judge'"),
    ],
)
def test_misuse_raises_at_once(make: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make()


@pytest.mark.parametrize("place", ["expected_output", "metadata"])
def test_facts_of_a_case_are_counted(place: str) -> None:
    """Beside what else is expected, or in the case's metadata."""
    facts: dict[str, Any] = {place: {"expected_facts": ["Paris is big.", "Rome is old."]}}
    case = pydantic_evals.Case(name="a", inputs="?", **facts)
    dataset = pydantic_evals.Dataset[Any, Any, Any](
        name="test",
        cases=[case],
        evaluators=[ours.ContextRecallEvaluator(unit="fact", judge="lexical")],
    )
    report = dataset.evaluate_sync(lambda _: {"documents": ["Paris is big."]}, progress=False)
    assert report.cases[0].scores["context_recall(unit=fact)"].value == 0.5


def test_every_metric_has_its_class() -> None:
    for metric in ALL_METRICS.values():
        evaluator = getattr(ours, f"{metric.__name__}Evaluator")()
        assert type(evaluator) in ours.EVALUATORS
        assert evaluator.metric == metric()
        assert evaluator.get_default_evaluation_name() == metric.base_name
        assert f"ctxmetrics.{metric.__name__}" in (type(evaluator).__doc__ or "")
    assert len(ours.EVALUATORS) == len(ALL_METRICS)


def test_fields_are_those_of_the_core_and_the_keys() -> None:
    keys = KeyParams.__optional_keys__ - {"retriever"}
    for evaluator in ours.EVALUATORS:
        core = {item.name: item.default for item in fields(evaluator.core_class)}
        own = {item.name: item.default for item in fields(evaluator)}
        assert own == {**core, **dict.fromkeys((*keys, "evaluation_name"))}, evaluator


def test_an_attribute_that_is_changed_counts() -> None:
    """Evaluators of pydantic-evals are dataclasses that may be changed."""
    evaluator = ours.ContextRecallEvaluator()
    evaluator.top_k = 2
    evaluator.evaluation_name = None
    assert evaluator.metric == ContextRecall(top_k=2)
    assert evaluator.get_default_evaluation_name() == "context_recall(top_k=2)"
    assert replace(evaluator, threshold=0.5) == ours.ContextRecallEvaluator(top_k=2, threshold=0.5)


def test_equality_hash_and_repr() -> None:
    evaluator = ours.ContextRecallEvaluator(top_k=3, contexts_key="found")
    assert evaluator == ours.ContextRecallEvaluator(top_k=3, contexts_key="found")
    assert len({evaluator, ours.ContextRecallEvaluator(top_k=3, contexts_key="found")}) == 1
    others = [
        ours.ContextRecallEvaluator(top_k=3),
        ours.ContextPrecisionEvaluator(top_k=3, contexts_key="found"),
        "x",
    ]
    assert all(evaluator != other for other in others)
    assert repr(evaluator) == "ContextRecallEvaluator(top_k=3, contexts_key='found')"


def pickled(evaluator: Any) -> Any:
    return pickle.loads(pickle.dumps(evaluator))  # noqa: S301 - our own


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_copies_keep_everything(copied: Any) -> None:
    evaluator = ours.IDBasedContextPrecisionEvaluator(
        top_k=1, formula="average_precision", retrieved_ids_key="found"
    )
    assert copied(evaluator) == evaluator
    assert copied(evaluator).metric == evaluator.metric


# ---- files ----


@pytest.fixture
def saved() -> list[Any]:
    return [
        ours.ContextRecallEvaluator(),
        ours.ContextRecallEvaluator(top_k=3),
        ours.ContextRecallEvaluator(convention="ragas"),  # the first field alone: no positional argument
        ours.ContextPrecisionEvaluator(threshold=0.5, strict=True, relevance="supports", unit="sentence", language="en", evaluation_name="mine"),
        ours.NonLLMContextRecallEvaluator(min_similarity=0.8, similarity="jaro"),
        ours.IDBasedContextPrecisionEvaluator(formula="average_precision", id_key="source", retrieved_ids_key="found.ids"),
        ours.ContextRecallEvaluator(judge="lexical"),
        ours.ContextRecallEvaluator(judge="openai:gpt-4o-mini"),
    ]  # fmt: skip


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_a_data_set_s_file_gives_the_evaluators_back(
    tmp_path: Path, ending: str, saved: list[Any]
) -> None:
    file = tmp_path / f"test.{ending}"
    dataset(*saved).to_file(file, custom_evaluator_types=ours.EVALUATORS)
    loaded = pydantic_evals.Dataset[Any, Any, Any].from_file(
        file, custom_evaluator_types=ours.EVALUATORS
    )
    assert loaded.evaluators == saved
    assert [evaluator.get_default_evaluation_name() for evaluator in loaded.evaluators[:3]] == [
        "context_recall", "context_recall(top_k=3)", "context_recall(convention=ragas)"
    ]  # fmt: skip


def test_the_file_s_schema_knows_every_parameter(tmp_path: Path, saved: list[Any]) -> None:
    """pydantic-evals reads annotations and signature of each class by itself; inherited ones it does not see."""
    file = tmp_path / "test.json"
    dataset(*saved).to_file(file, custom_evaluator_types=ours.EVALUATORS)
    validator = jsonschema.Draft202012Validator(
        json.loads((tmp_path / "test_schema.json").read_text(encoding="utf-8"))
    )
    data = json.loads(file.read_text(encoding="utf-8"))
    assert list(validator.iter_errors(data)) == []
    data["evaluators"] = [{"ContextRecallEvaluator": {"treshold": 0.5}}]
    assert list(validator.iter_errors(data)) != []
    for cls in ours.EVALUATORS:
        data["evaluators"] = [{cls.__name__: {item.name: item.default for item in fields(cls)}}]
        assert list(validator.iter_errors(data)) == []


def test_a_wrong_parameter_in_a_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "test.json"
    dataset(ours.ContextRecallEvaluator(top_k=3)).to_file(file)
    file.write_text(file.read_text(encoding="utf-8").replace("top_k", "topk"), encoding="utf-8")
    with pytest.raises(Exception) as raised:  # an ExceptionGroup
        pydantic_evals.Dataset[Any, Any, Any].from_file(file, custom_evaluator_types=ours.EVALUATORS)
    (error,) = raised.value.exceptions
    assert "has no parameter 'topk'. Did you mean 'top_k'?" in str(error)


def test_unserialisable_judge_is_never_replaced_silently(tmp_path: Path) -> None:
    file = tmp_path / "test.json"
    judge = ScriptedJudge({"joint": [{}]}, name="recorded")
    dataset(ours.ContextRecallEvaluator(judge=judge)).to_file(
        file, custom_evaluator_types=ours.EVALUATORS
    )
    loaded = pydantic_evals.Dataset[Any, Any, Any].from_file(
        file, custom_evaluator_types=ours.EVALUATORS
    )
    (found,) = loaded.evaluate_sync(lambda _: ["Paris is big."], progress=False).cases
    assert found.scores == {}
    (failure,) = found.evaluator_failures
    assert failure.error_message.startswith(
        "ParameterError: pydantic-ai cannot make judge='recorded' ("
    )
    assert failure.error_message.endswith("give that judge again when the evaluator is built.")


def test_functions_stop_no_evaluation(tmp_path: Path) -> None:
    """pydantic-evals writes every evaluator as data for each result, outside of what it catches."""

    def found(record: Any) -> list[str]:
        return ["Paris is big."]

    evaluators = [
        ours.ContextRecallEvaluator(contexts_key=found, judge=LexicalJudge()),
        ours.NonLLMContextRecallEvaluator(
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
