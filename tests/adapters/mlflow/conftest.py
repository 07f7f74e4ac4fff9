"""MLflow's real runner over a store of the tests' own."""

from __future__ import annotations

import os
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import ScriptedJudge
from ctxmetrics.adapting.runners import isolated_process
from support.later import later

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

mlflow = later("mlflow")

os.environ.update(
    {
        "MLFLOW_GENAI_EVAL_MAX_WORKERS": "2",  # with SQLite, ten wait for each other's connections
        "MLFLOW_GENAI_EVAL_PREDICT_RATE_LIMIT": "0",
        "MLFLOW_GENAI_EVAL_SKIP_TRACE_VALIDATION": "true",
    }
)

REFERENCE = "The Eiffel Tower stands in Paris. It was finished in 1889."
CONTEXTS = ["Bananas are yellow.", "The Eiffel Tower stands in Paris, France."]
"""By hand: recall 1 of 2; the useful context stands second, so average precision is 1/2."""
REPLY = {
    "code": "$code",
    "sentences": {
        "s1": {
            "supported": True,
            "evidence": [{"context": "c2", "quote": "The Eiffel Tower stands in Paris", "whole": True}],
        },
        "s2": {"supported": False, "missing": "no context gives the year"},
    },
    "useful": {"c1": {"useful": False}, "c2": {"useful": True}},
}


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("mlflow")
    uri = f"sqlite:///{folder}/mlflow.db"
    before = mlflow.get_tracking_uri()
    with isolated_process({"MLFLOW_TRACKING_URI": None}, folder):  # where it puts its artifacts
        mlflow.set_tracking_uri(uri)
        mlflow.search_experiments()
        mlflow.set_tracking_uri(before)
    return uri


@pytest.fixture(autouse=True)
def own_store(store: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store)
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(store)
    yield
    mlflow.set_tracking_uri(before)


@pytest.fixture
def row() -> Callable[..., dict[str, Any]]:
    def row(**changes: Any) -> dict[str, Any]:
        whole = {
            "inputs": {"question": "Where is it?"},
            "outputs": {"answer": "In Paris.", "documents": CONTEXTS},
            "expectations": {"expected_response": REFERENCE},
        }
        return {**whole, **changes}

    return row


@pytest.fixture
def run() -> Callable[..., Any]:
    """Run `mlflow.genai.evaluate`; returns its result and, a row each, the feedback by name."""

    def run(data: Any, scorers: list[Any], **options: Any) -> tuple[Any, list[dict[str, Any]]]:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            found = mlflow.genai.evaluate(data=data, scorers=scorers, **options)
        rows = [
            {item["assessment_name"]: item for item in assessments if "feedback" in item}
            for assessments in found.result_df["assessments"]
        ]
        return found, rows

    return run


@pytest.fixture
def judge() -> ScriptedJudge:
    return ScriptedJudge({"joint": [REPLY]})
