"""The scorers through Inspect's own `eval` and its command ``inspect score``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import ContextRecall, ScriptedJudge
from ctxmetrics.errors import ParameterError
from ctxmetrics.metrics.catalog import ALL_METRICS
from support.later import later

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog

pytestmark = pytest.mark.slow  # importing Inspect takes seconds

inspect_ai = later("inspect_ai")
ctxmetrics_inspect = later("ctxmetrics_inspect")
ADAPTER = Path(__file__).parents[3] / "adapters" / "ctxmetrics_inspect"
PUMP = "The pump is red. It hums."


@pytest.fixture(autouse=True)
def inspect_is_installed() -> None:
    pytest.importorskip("inspect_ai", reason="the inspect extra is not installed")


def evaluated(rows: list[Any], scorer: Any, folder: Path, solving: Any = ()) -> EvalLog:
    task = inspect_ai.Task(rows, solver=list(solving), scorer=scorer)
    (log,) = inspect_ai.eval(task, model=None, display="none", log_dir=str(folder))
    assert log.status == "success", log.error
    return log


def scores(log: EvalLog, name: str) -> list[Any]:
    return [row.scores[name] for row in log.samples or () if row.scores]


def means(log: EvalLog) -> dict[str, Any]:
    assert log.results is not None
    return {
        item.name: (item.metrics["mean"].value, item.scored_samples, item.unscored_samples)
        for item in log.results.scores
    }


def test_there_is_a_scorer_for_every_metric() -> None:
    from ctxmetrics_inspect import __all__ as names

    assert set(ALL_METRICS) <= set(names)


def test_contexts_of_the_metadata_and_a_sample_without_any(tmp_path: Path) -> None:
    rows = [
        inspect_ai.dataset.Sample(
            id=1, input="Which colour?", target=PUMP, metadata={"contexts": ["The pump is red."]}
        ),
        inspect_ai.dataset.Sample(id=2, input="Which colour?", target=PUMP),
    ]
    log = evaluated(
        rows,
        [ctxmetrics_inspect.context_recall(threshold=0.5), ctxmetrics_inspect.context_precision()],
        tmp_path,
    )
    first, second = scores(log, "context_recall")
    assert first.value == 0.5  # one of two sentences
    assert 's1 yes: "The pump is red."' in first.explanation
    assert (first.metadata["passed"], first.metadata["verdicts"]) == (True, {"s1": True, "s2": False})
    assert second.reason == "missing_field"
    assert "contexts_key=" in second.explanation
    assert means(log) == {"context_recall": (0.5, 1, 1), "context_precision": (1.0, 1, 1)}


def retrieving() -> Any:
    async def solve(state: Any, generate: Any) -> Any:
        del generate
        state.store.set("found", [{"text": "The pump is red."}])
        state.store.set("retrieved_context_ids", ["d1"])
        return state

    def retrieve() -> Any:
        return solve

    return inspect_ai.solver.solver(retrieve)()


def test_what_the_solver_stored_comes_before_the_metadata(tmp_path: Path) -> None:
    row = inspect_ai.dataset.Sample(
        id=1,
        input="Which colour?",
        target=PUMP,
        metadata={"retrieved_context_ids": ["x"], "reference_context_ids": ["d1", "d2"]},
    )
    scorers = [
        ctxmetrics_inspect.context_recall(contexts_key="found"),
        ctxmetrics_inspect.id_based_context_recall(),
    ]
    log = evaluated([row], scorers, tmp_path, [retrieving()])
    assert means(log) == {"context_recall": (0.5, 1, 0), "id_based_context_recall": (0.5, 1, 0)}


def test_the_question_is_the_last_message_of_the_user(tmp_path: Path) -> None:
    """Also in `results`; a conversation without such a message costs no other sample its score."""
    model = inspect_ai.model
    ids = {"retrieved_context_ids": ["d1"], "reference_context_ids": ["d1"]}
    asked = [
        model.ChatMessageUser(content="Which colour?"),
        model.ChatMessageAssistant(content="Of the pump?"),
    ]
    conversations = [asked, asked[1:], []]
    rows = [
        inspect_ai.dataset.Sample(id=number, input=messages, target=PUMP, metadata=ids)
        for number, messages in enumerate(conversations)
    ]
    log = evaluated(rows, ctxmetrics_inspect.id_based_context_recall(), tmp_path)
    results = ctxmetrics_inspect.results(log)
    assert [row.sample.user_input for row in results] == ["Which colour?", "", ""]
    assert [row["id_based_context_recall"].value for row in results] == [1.0, 1.0, 1.0]


def failing() -> Any:
    async def solve(state: Any, generate: Any) -> Any:
        del generate
        if state.sample_id == 2:
            raise RuntimeError("no index")
        return state

    def fail() -> Any:
        return solve

    return inspect_ai.solver.solver(fail)()


def test_results_say_why_a_sample_failed(tmp_path: Path) -> None:
    ids = {"retrieved_context_ids": ["d1"], "reference_context_ids": ["d1"]}
    rows = [
        inspect_ai.dataset.Sample(id=number, input="q", target=PUMP, metadata=ids) for number in (1, 2)
    ]
    task = inspect_ai.Task(
        rows, solver=[failing()], scorer=ctxmetrics_inspect.id_based_context_recall()
    )
    (log,) = inspect_ai.eval(
        task, model=None, display="none", log_dir=str(tmp_path), fail_on_error=False
    )
    first, second = (row["id_based_context_recall"] for row in ctxmetrics_inspect.results(log))
    assert first.value == 1.0
    assert (second.value, second.message) == (None, "the sample failed: RuntimeError('no index')")


def test_a_judge_is_given_as_an_object(tmp_path: Path) -> None:
    reply = {
        "code": "$code",
        "sentences": {"s1": {"evidence": [], "missing": "all", "supported": False}},
        "useful": {"c1": {"useful": False}},
    }
    row = inspect_ai.dataset.Sample(
        id=1, input="q", target="It hums.", metadata={"contexts": ["It hums."]}
    )
    log = evaluated(
        [row], ctxmetrics_inspect.context_recall(judge=ScriptedJudge({"joint": [reply]})), tmp_path
    )
    assert means(log) == {"context_recall": (0.0, 1, 0)}  # the embedded judge says 1.0


def test_misuse_is_named_before_anything_runs() -> None:
    with pytest.raises(ParameterError, match="thresold"):
        ctxmetrics_inspect.context_recall(thresold=0.5)
    with pytest.raises(ParameterError, match="id_based_context_recall has no parameter 'judge'"):
        ctxmetrics_inspect.id_based_context_recall(judge=ScriptedJudge({}))
    with pytest.raises(ParameterError, match=r"judge 'opnai/m' is unknown\. Did you mean openai/m"):
        ctxmetrics_inspect.metric_scorer(ContextRecall(), judge="opnai/m")


def test_a_log_that_was_made_before_is_scored_by_the_command(tmp_path: Path) -> None:
    """As installed: Inspect puts the package's name before a scorer's where the package is in site-packages."""
    installed = tmp_path / "site-packages"
    shutil.copytree(ADAPTER, installed / ADAPTER.name)
    row = inspect_ai.dataset.Sample(
        id=1, input="Which colour?", target=PUMP, metadata={"contexts": ["The pump is red."]}
    )
    log = evaluated([row], None, tmp_path / "logs")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "inspect_ai", "score", log.location),
            *("--scorer", "ctxmetrics_inspect/context_recall", "--action", "append", "--overwrite"),
            *("-S", "threshold=0.4"),
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(installed)},
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert means(inspect_ai.log.read_eval_log(log.location)) == {"context_recall": (0.5, 1, 0)}
