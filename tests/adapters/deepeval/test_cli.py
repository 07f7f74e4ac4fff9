"""``deepeval test run`` in a process of its own, as people start it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.deadlines import LONGEST_PROCESS
from support.later import WITHOUT_CLIENTS

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow  # each run imports deepeval in several processes

REPOSITORY = Path(__file__).parents[3]
IMPORTS = """
import json
from pathlib import Path

import pytest
from ctxmetrics_deepeval import *
from deepeval import assert_test
from deepeval.test_case import LLMTestCase
"""


@pytest.fixture
def deepeval(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run ``deepeval test run`` on a file with this text."""

    def run(text: str, *options: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "test_it.py").write_text(IMPORTS + text, encoding="utf-8")
        environment = {
            name: value for name, value in os.environ.items() if name != "DEEPEVAL_FILE_SYSTEM"
        }
        environment["PYTHONPATH"] = os.pathsep.join(
            str(REPOSITORY / part) for part in ("core", "adapters")
        )
        environment["COLUMNS"] = "200"
        environment.update(WITHOUT_CLIENTS)
        environment["DEEPEVAL_RESULTS_FOLDER"] = "runs"
        return subprocess.run(
            [sys.executable, "-m", "deepeval.cli.main", "test", "run", "test_it.py", *options],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=LONGEST_PROCESS,
            check=False,
        )

    return run


def outcome(run: subprocess.CompletedProcess[str]) -> str:
    plain = re.sub(r"\x1b\[[0-9;]*m", "", run.stdout)
    found = re.search(r"(\d+ (?:failed|passed).*?)(?:, \d+ warnings?)? in [\d.]+s", plain)
    assert found, run.stdout[-3000:] + run.stderr[-3000:]
    return found[1]


def test_run_with_processes_and_repeats(
    deepeval: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    """``-n 2 -r 2``: every case twice, in two processes; what fails fails the command, in words of ours."""
    run = deepeval(
        """
def case(retrieved):
    return LLMTestCase(
        input="q", actual_output="a", expected_output="The pump is primed.",
        retrieval_context=["The pump is primed [/INST]."], context=["The pump is primed [/INST]."],
        metadata={"retrieved_context_ids": retrieved, "reference_context_ids": ["a", "b"]},
    )

@pytest.mark.parametrize("retrieved", [["a", "b"], ["b", "x"]])
def test_passes(retrieved):
    metrics = [ContextRecallMetric(), NonLLMContextPrecisionMetric(), IDBasedContextRecallMetric()]
    assert_test(case(retrieved), metrics)

def test_fails():
    assert_test(case(["x"]), [IDBasedContextRecallMetric(), ContextPrecisionMetric()])
""",
        "-n",
        "2",
        "-r",
        "2",
    )
    assert outcome(run) == "2 failed, 4 passed"
    assert run.returncode == 1
    assert (
        "id_based_context_recall (score: 0.0, threshold: 0.5, strict: False, error: None" in run.stdout
    )
    assert "0 of 2 reference ids retrieved." in run.stdout
    assert "MarkupError" not in run.stdout + run.stderr


CACHED = """
from ctxmetrics import LexicalJudge
from ctxmetrics.judges.base import Judgement
from ctxmetrics.verdicts import Verdict
from ctxmetrics_deepeval import wrapper

SETTINGS = json.loads(Path("settings.json").read_text())
measured = []
read = wrapper._TestCaseWrapper.read

def counting(self, test_case):
    measured.append(f"{test_case.input} {self.metric.name}")
    return read(self, test_case)

wrapper._TestCaseWrapper.read = counting

class ForeignJudge:
    name, warnings = "foreign", ()
    async def attribute(self, request):
        return Judgement(verdicts=[Verdict(id=id_, value=SETTINGS["says"]) for id_ in request.unit_ids])
    async def rate(self, request): ...

@pytest.mark.parametrize("run_async", [True, False], ids=["async", "sync"])
def test_one(run_async):
    case = LLMTestCase(
        input="async" if run_async else "sync", actual_output="a", expected_output="The pump is primed. The pump hums.",
        retrieval_context=["The pump is primed."], context=["The pump is primed."], metadata=SETTINGS["metadata"],
    )
    metrics = [
        ContextRecallMetric(threshold=0.0, judge=LexicalJudge(**SETTINGS["judge"])),
        ContextRecallMetric(threshold=0.0, judge=ForeignJudge(), top_k=9),
        IDBasedContextRecallMetric(threshold=0.0),
        NonLLMContextRecallMetric(threshold=0.0),
    ]
    assert_test(case, metrics, run_async=run_async)

def test_last():
    Path("measured.json").write_text(json.dumps(measured))
"""


def test_cache_never_answers_for_other_ids_or_configurations(
    deepeval: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """``-c``: the cache's key holds no metadata, and it compares no parameter that it does not know."""
    first = {
        "metadata": {"retrieved_context_ids": ["a"], "reference_context_ids": ["a", "b"]},
        "judge": {},
        "says": True,
    }
    other_ids = {
        **first,
        "metadata": {"retrieved_context_ids": ["x"], "reference_context_ids": ["a", "b"]},
    }
    other_judge = {**other_ids, "judge": {"min_coverage": 0.4}, "says": False}
    values, measured = [], []
    for settings in (first, other_ids, other_judge):
        (tmp_path / "settings.json").write_text(json.dumps(settings))
        assert outcome(deepeval(CACHED, "-c")) == "3 passed"
        (saved,) = (tmp_path / "runs").glob("*.json")
        latest = json.loads(saved.read_text(encoding="utf-8"))
        saved.unlink()
        cases = [case for case in latest["testCases"] if case["metricsData"]]
        values.append([{data["name"]: data["score"] for data in case["metricsData"]} for case in cases])
        measured.append(sorted(json.loads((tmp_path / "measured.json").read_text())))
    names = [
        "context_recall",
        "context_recall(top_k=9)",
        "id_based_context_recall",
        "non_llm_context_recall",
    ]
    for run, expected in zip(
        values, ([0.5, 1.0, 0.5, 1.0], [0.5, 1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]), strict=True
    ):
        assert run == [dict(zip(names, expected, strict=True))] * 2
    every = [f"{mode} {name}" for mode in ("async", "sync") for name in names]
    assert measured[0] == every
    assert measured[1] == [
        name for name in every if not name.endswith("context_recall") or "_context" in name
    ]
    assert measured[2] == every
