"""`ctxmetrics parity`, as people run it: all frameworks at once, nothing sent, nothing left behind."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ctxmetrics import ContextRecall, IDBasedContextPrecision, IDBasedContextRecall, Sample
from ctxmetrics.adapting.runners import Runner, isolated_process
from ctxmetrics.evaluation.frameworks.parity import CORE, compare, find_installed_runners
from support.deadlines import LONGEST_PROCESS

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
HANDBOOK = ROOT / "examples" / "handbook.jsonl"

UPLOADING = {
    "CONFIDENT_API_KEY": "confident_us_nobody",
    "LANGCHAIN_TRACING_V2": "true",
    "LANGSMITH_API_KEY": "lsv2_nobody",
    "LANGSMITH_TRACING": "true",
    "MLFLOW_TRACKING_URI": "http://mlflow.example",
    "OPENAI_API_KEY": "sk-nobody",
}
"""What people have in their environment, and with which frameworks upload."""
BROKEN = """
import sys
import ctxmetrics_ragas.metrics
from ctxmetrics.evaluation.cli import main
from ctxmetrics.evaluation.frameworks import parity

ctxmetrics_ragas.metrics._to_ragas_number = lambda score: 0.25
# The runners that are broken, and one that is not: another test runs the others.
runners, _ = parity.find_installed_runners()
chosen = [item for item in runners if item.name.startswith(("core", "ragas", "langchain.lcel"))]
parity.find_installed_runners = lambda: (chosen, {})
sys.argv = ["ctxmetrics", "parity", sys.argv[1], "--metric", "id_based_context_recall"]
main()
"""


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run Python in an empty folder; the guard of all tests notes what leaves."""
    here = tmp_path / "here"
    here.mkdir()
    quieting = re.compile("TELEMETRY|TRACK|TRACING|DEEPEVAL_|COVERAGE|PYTEST|^CI$")
    environment = {name: value for name, value in os.environ.items() if not quieting.search(name)}
    environment |= UPLOADING
    environment.pop("PYTHONPATH", None)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=here,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=LONGEST_PROCESS,
            check=False,
        )
        left = [path.name for path in here.iterdir()]
        assert left == [], f"written to the working directory: {left}"
        return done

    return run


def write_part(folder: Path, part: slice) -> Path:
    """Write a part of the handbook's samples to a file."""
    lines = HANDBOOK.read_text(encoding="utf-8").splitlines(keepends=True)
    file = folder / "part.jsonl"
    file.write_text("".join(lines[part]), encoding="utf-8")
    return file


@pytest.fixture
def few(tmp_path: Path) -> Path:
    return write_part(tmp_path, slice(3))


@pytest.mark.slow
def test_seven_metrics_in_every_runner_on_the_handbook(
    run: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """A third of its samples."""
    runners, absent = find_installed_runners()
    done = run("-m", "ctxmetrics", "parity", str(write_part(tmp_path, slice(None, None, 3))))
    assert done.returncode == 0, done.stdout + done.stderr
    head, *rows = done.stdout.splitlines()
    assert head.split() == ["runner", "metrics", "values", "differ"]
    assert [row.split() for row in rows[: len(runners) - 1]] == [
        [runner.name, "7", str(12 * 7), "equal"] for runner in runners[1:]
    ]
    assert max(map(len, rows)) <= 80
    assert rows[len(runners) - 1 :] == [
        *(f"{name}: not run: {why}" for name, why in absent.items()),
        f"0 differences in {12 * 7 * (len(runners) - 1)} comparisons",
    ]


@pytest.mark.slow
def test_broken_adapter_is_detected_and_difference_printed(
    run: Callable[..., subprocess.CompletedProcess[str]], few: Path
) -> None:
    pytest.importorskip("ragas", reason="the ragas extra is not installed")
    done = run("-c", BROKEN, str(few))
    assert done.returncode == 1, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    cells = {line.split()[0]: line.split()[-1] for line in lines[1:] if line.split()[1:3] == ["1", "3"]}
    broken = ["ragas.evaluate", "ragas.collections"]
    assert cells == {"ragas.evaluate": "3", "ragas.collections": "3", "langchain.lcel": "equal"}
    for name in broken:
        assert f"{name}: id_based_context_recall, sample hb-01: 0.25 where the core has 1.0" in lines
    assert lines[-1] == f"6 differences in {3 * len(cells)} comparisons"


# --- the comparison itself ---

SAMPLES = [
    Sample(id="one", retrieved_context_ids=["a"], reference_context_ids=["a", "b"]),
    Sample(id="two", retrieved_context_ids=["a"], reference_context_ids=[]),
    Sample(id="three", user_input="no ids"),
]


def test_samples_without_fields_are_skipped_undefined_is_equal() -> None:
    found = compare(SAMPLES, [IDBasedContextRecall()], runners=[CORE, Runner("other", CORE.score)])
    assert (found.compared, found.differences) == (2, ())


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([0.5, 0.0], ["sample two: 0.0 where the core has None"]),
        ([0.5, float("nan")], ["sample two: nan where the core has None"]),
        ([0.5 + 2**-53, None], ["sample one: 0.5000000000000001 where the core has 0.5"]),
        (
            [None, 0.5],
            ["sample one: None where the core has 0.5", "sample two: 0.5 where the core has None"],
        ),
        ([0.5], ["sample two: 'no value came back' where the core has None"]),
    ],
)
def test_every_difference_is_shown(values: list[float | None], shown: list[str]) -> None:
    found = compare(
        SAMPLES, [IDBasedContextRecall()], runners=[CORE, Runner("other", lambda *_: values)]
    )
    lines = [f"other: id_based_context_recall, {line}" for line in shown]
    assert [line for line in str(found).splitlines() if line.startswith("other:")] == lines


def test_failing_runner_differs_everywhere_and_others_still_run() -> None:
    runners = [CORE, Runner("bad", lambda *_: 1 / 0), Runner("good", CORE.score)]
    found = compare(SAMPLES, [IDBasedContextRecall()], runners=runners)
    assert {(item.runner, item.value) for item in found.differences} == {
        ("bad", "ZeroDivisionError: division by zero")
    }
    assert [line.split() for line in str(found).splitlines()[1:3]] == [
        ["bad", "1", "2", "2"],
        ["good", "1", "2", "equal"],
    ]
    assert found.numbers().splitlines()[1].split() == [
        "id_based_context_recall", "one", "0.5", "1", "of", "2", "runners",
    ]  # fmt: skip


def test_metrics_with_equal_samples_run_together() -> None:
    asked: list[tuple[list[str], int]] = []

    def score_all(metrics, samples):
        asked.append(([metric.base_name for metric in metrics], len(samples)))
        return [CORE.score(metric, samples) for metric in metrics]

    metrics = [IDBasedContextRecall(), ContextRecall(), IDBasedContextPrecision()]
    samples = [*SAMPLES, Sample(reference="It is red.", retrieved_contexts=["It is red."])]
    found = compare(samples, metrics, runners=[CORE, Runner("all", CORE.score, score_all)])
    assert asked == [
        (["id_based_context_recall", "id_based_context_precision"], 2),
        (["context_recall"], 1),
    ]
    assert (found.compared, found.differences) == (5, ())


def test_a_failure_of_all_differs_in_each() -> None:
    found = compare(
        SAMPLES, [IDBasedContextRecall()], runners=[CORE, Runner("bad", CORE.score, lambda *_: 1 / 0)]
    )
    assert (len(found.differences), found.compared) == (2, 2)


# --- what runners are run in ---


def test_aside_gives_everything_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CTX_GIVEN", "before")
    monkeypatch.delenv("CTX_NEW", raising=False)

    def work() -> None:
        with isolated_process({"CTX_GIVEN": None, "CTX_NEW": "now"}):
            print("out")
            print("err", file=sys.stderr)
            assert ("CTX_GIVEN" in os.environ, os.environ["CTX_NEW"]) == (False, "now")
            Path("left.txt").write_text("behind", encoding="utf-8")
            raise KeyError("a runner fails")

    with pytest.raises(KeyError):
        work()
    assert (os.environ["CTX_GIVEN"], "CTX_NEW" in os.environ) == ("before", False)
    assert (Path.cwd(), list(tmp_path.iterdir())) == (tmp_path, [])
    assert capsys.readouterr() == ("", "")
    with isolated_process({}, tmp_path, silent=False):
        print("heard")
    assert capsys.readouterr().out == "heard\n"


def test_folder_that_a_framework_still_writes_to_costs_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refused = []

    def not_empty(path: str, **place: int) -> None:
        refused.append(path)
        raise OSError(errno.ENOTEMPTY, "Directory not empty", path)

    with isolated_process({}):
        folder = Path.cwd()
        Path("traces").mkdir()
        monkeypatch.setattr(os, "rmdir", not_empty)
    monkeypatch.undo()
    assert "traces" in refused
    shutil.rmtree(folder)


def test_a_missing_framework_is_said_and_the_others_run(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace

    from ctxmetrics.errors import install_command, missing_extra
    from ctxmetrics.evaluation.frameworks import parity as runners

    def load() -> None:
        raise missing_extra("ragas")

    entries = [
        SimpleNamespace(name="ragas", load=load),
        SimpleNamespace(name="own", load=lambda: [Runner("own", CORE.score)]),
    ]
    monkeypatch.setattr(runners, "entry_points", lambda group: entries)
    found, absent = find_installed_runners()
    assert [runner.name for runner in found] == ["core", "own"]
    assert absent == {"ragas": f"ragas is not installed. Install it with: {install_command('ragas')}"}
    assert "ragas: not run: ragas is not installed." in str(compare(SAMPLES, [IDBasedContextRecall()]))


@pytest.mark.slow
def test_judged_metrics_keep_their_judge_in_every_runner() -> None:
    """A runner that took a judge of its own would give other numbers than the one that was given."""
    from ctxmetrics import ScriptedJudge

    reply = {
        "code": "$code",
        "sentences": {"s1": {"supported": False, "missing": "r"}},
        "useful": {"c1": {"useful": False}},
    }
    judge = ScriptedJudge({"joint": [json.dumps(reply)]})
    sample = Sample(
        user_input="q", reference="Paris is in France.", retrieved_contexts=["Paris is in France."]
    )
    assert ContextRecall().score(sample).value == 1.0
    found = compare([sample], [ContextRecall(judge=judge)])
    assert found.differences == ()
    assert CORE.score(ContextRecall(judge=judge), [sample]) == [0.0]
