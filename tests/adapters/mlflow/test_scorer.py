"""The scorer as an object, and importing it."""

from __future__ import annotations

import asyncio
import copy
import pickle
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import ContextRecall, IDBasedContextRecall, LexicalJudge
from ctxmetrics.errors import ParameterError, install_command
from ctxmetrics.metrics.catalog import ALL_METRICS
from support.later import later

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow  # importing MLflow takes seconds

scorers = later("ctxmetrics_mlflow")
ROW: dict[str, Any] = {
    "outputs": {"retrieved_context_ids": ["a", "x"]},
    "expectations": {"reference_context_ids": ["a", "b"]},
}


def test_it_is_called_anywhere() -> None:
    scorer = scorers.IDBasedContextRecallScorer()

    async def inside_a_loop() -> Any:
        return scorer(**ROW)

    assert scorer(**ROW).value == scorer.run(**ROW).value == asyncio.run(inside_a_loop()).value == 0.5


def test_lack_of_data_raises_nothing() -> None:
    feedback = scorers.ContextRecallScorer()(inputs={"question": "q"})
    assert (feedback.value, feedback.error.error_code) == (None, "missing_field")
    feedback = scorers.ContextRecallScorer()(
        outputs={"documents": [3]}, expectations={"reference": "A b."}
    )
    assert (feedback.value, feedback.error.error_code) == (None, "metric_error")
    assert "item 1 must be a string, not int" in feedback.error.error_message


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: scorers.ContextRecallScorer(treshold=0.5),
            "no parameter 'treshold'. Did you mean 'threshold'?",
        ),
        (lambda: scorers.ContextRecallScorer(min_similarity=0.5), "no parameter 'min_similarity'"),
        (lambda: scorers.ContextRecallScorer(context_key="x"), "Did you mean 'contexts_key'?"),
        (
            lambda: scorers.ContextRecallScorer(contexts_key=3),
            "contexts_key=3 must be a string or a function",
        ),
        (lambda: scorers.ContextRecallScorer(threshold=2), "threshold=2 must be a number from 0 to 1"),
        (lambda: scorers.ContextRecallScorer(judge="gpt"), "Did you mean openai/gpt?"),
        (lambda: scorers.IDBasedContextRecallScorer(judge=LexicalJudge()), "no parameter 'judge'"),
        (
            lambda: scorers.MetricScorer(ContextRecall(), context_key="x"),
            "Did you mean 'contexts_key'?",
        ),
    ],
)
def test_misuse_raises_at_once(make: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message.replace("?", r"\?").replace("(", r"\(")):
        make()


def test_every_metric_has_its_class() -> None:
    import ctxmetrics_mlflow

    for metric in ALL_METRICS.values():
        scorer = getattr(ctxmetrics_mlflow, f"{metric.__name__}Scorer")()
        assert isinstance(scorer.metric, metric)
        assert scorer.name == metric.base_name
        assert f"ctxmetrics.{metric.__name__}" in (type(scorer).__doc__ or "")
    assert set(ctxmetrics_mlflow.__all__) == {
        "MetricScorer",
        "results",
        *(f"{m.__name__}Scorer" for m in ALL_METRICS.values()),
    }


def test_equality_and_hash_are_those_of_metric_name_and_keys() -> None:
    scorer = scorers.ContextRecallScorer(top_k=3, contexts_key="found")
    assert scorer == scorers.ContextRecallScorer(top_k=3, contexts_key="found")
    assert len({scorer, scorers.ContextRecallScorer(top_k=3, contexts_key="found")}) == 1
    others = [
        scorers.ContextRecallScorer(top_k=3), scorers.ContextRecallScorer(top_k=2, contexts_key="found"),
        scorers.ContextRecallScorer(top_k=3, contexts_key="found", name="x"), scorers.ContextPrecisionScorer(top_k=3, contexts_key="found"),
        "context_recall",
    ]  # fmt: skip
    assert all(scorer != other for other in others)


def pickled(scorer: Any) -> Any:
    return pickle.loads(pickle.dumps(scorer))  # noqa: S301 - our own


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_copies_keep_everything(copied: Any) -> None:
    scorer = scorers.IDBasedContextRecallScorer(
        top_k=1, threshold=0.25, name="mine", retrieved_ids_key="outputs.found"
    )
    other = copied(scorer)
    assert (other, other.name, other.metric) == (
        scorer,
        "mine",
        IDBasedContextRecall(top_k=1, threshold=0.25),
    )
    row = {"outputs": {"found": ["x", "a"]}, "expectations": ROW["expectations"]}
    assert other(**row).value == 0.0


def test_the_pass_mark_is_what_mlflow_may_ask() -> None:
    assert scorers.ContextRecallScorer().pass_if is None
    passes = scorers.ContextRecallScorer(convention="aegis").pass_if
    assert (passes(80.0), passes(79.9), passes(None)) == (True, False, False)
    assert scorers.NonLLMContextRecallScorer(strict=True).pass_if(0.99) is False


IMPORT = """
try:
    import ctxmetrics_mlflow
except ImportError as error:
    print(type(error).__name__, error)
"""
MESSAGE = f"MissingExtraError mlflow 3.9 or newer is not installed. Install it with: {install_command('mlflow')}\n"


def test_without_mlflow_the_error_names_the_install_command(python: Callable[..., str]) -> None:
    assert python("import sys; sys.modules['mlflow'] = None" + IMPORT) == MESSAGE


def test_an_old_mlflow_is_told_from_a_new_one(tmp_path: Path, python: Callable[..., str]) -> None:
    (tmp_path / "mlflow").mkdir()
    (tmp_path / "mlflow" / "__init__.py").touch()
    (tmp_path / "mlflow" / "entities.py").write_text("class Feedback: ...")
    assert python(IMPORT, tmp_path) == MESSAGE


def test_no_other_framework_is_loaded(python: Callable[..., str]) -> None:
    code = """
import sys
import mlflow, mlflow.genai
before = set(sys.modules)
import ctxmetrics_mlflow
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(sorted(loaded & {"ragas", "deepeval", "langchain", "langchain_core", "langsmith", "pydantic_evals"}))
"""
    assert python(code).splitlines()[-1] == "[]"
