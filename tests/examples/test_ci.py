"""The recipes for CI, run as they are: each command of the workflow, and the pytest file."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from support.later import WITHOUT_CLIENTS, skip_without

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "examples" / "ci"
ARTEFACT = "https://example.org/runs/1/artifacts/2"
SAMPLES = [json.loads(line) for line in (ROOT / "examples" / "handbook.jsonl").open(encoding="utf-8")]


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a baseline."""
    origin = tmp_path_factory.mktemp("baseline")
    (origin / "examples").mkdir()
    (origin / "baseline").mkdir()
    shutil.copy(ROOT / "examples" / "handbook.jsonl", origin / "examples")
    command = (
        "ctxmetrics score examples/handbook.jsonl --metric context_recall --metric context_precision"
    )
    assert run(origin, f"{command} --write-baseline baseline/scores.jsonl").returncode == 0
    (origin / "summary.md").unlink()
    return origin


@pytest.fixture
def repository(baseline: Path, tmp_path: Path) -> Path:
    """A repository with a baseline, as a change of it is cloned."""
    return shutil.copytree(baseline, tmp_path / "origin")


def clone(origin: Path) -> Path:
    """Commit what the repository holds, and clone it."""
    place = origin.parent / "clone"
    for command in (
        "git init -q",
        "git add -A",
        "git -c user.name=a -c user.email=a@example.org commit -q -m change",
        f"git clone -q . {place}",
    ):
        assert run(origin, command).returncode == 0
    return place


def run(place: Path, command: str) -> subprocess.CompletedProcess[str]:
    line = re.sub("^ctxmetrics ", f'"{sys.executable}" -m ctxmetrics ', command, flags=re.MULTILINE)
    environment = {
        **os.environ,
        "GITHUB_STEP_SUMMARY": str(place / "summary.md"),
        # The plugins that are installed here take pytest four times as long to start as the rest of it.
        "PYTEST_ADDOPTS": "",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        **WITHOUT_CLIENTS,
    }
    return subprocess.run(
        ["bash", "-e", "-c", line],
        cwd=place, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


class Job:
    """The steps of the workflow, run as GitHub runs them: each under its condition."""

    def __init__(self, place: Path) -> None:
        yaml = pytest.importorskip("yaml")
        workflow = yaml.safe_load((RECIPES / "retrieval.yml").read_text(encoding="utf-8"))
        self.place = place
        self.failed = False
        self.outcomes: dict[str, str] = {}
        ids: dict[str, str] = {}
        for step in workflow["jobs"]["retrieval"]["steps"]:
            outcome = "skipped"
            if self._holds(step.get("if", "success()"), ids):
                outcome = "success" if self._run(step) else "failure"
            self.failed = self.failed or outcome == "failure"
            self.outcomes[step.get("name", step.get("uses"))] = outcome
            if "id" in step:
                ids[step["id"]] = outcome

    def _holds(self, condition: str, ids: dict[str, str]) -> bool:
        """Evaluate the part of GitHub's language that the workflow needs."""
        values = {"always()": True, "success()": not self.failed, "failure()": self.failed}
        for id_, outcome in ids.items():
            for name in ("success", "failure", "skipped"):
                values[f"steps.{id_}.outcome == '{name}'"] = outcome == name
        either = [part.strip() for part in condition.split("||")]
        return any(all(values[part.strip()] for part in both.split("&&")) for both in either)

    def _run(self, step: dict[str, Any]) -> bool:
        if step.get("uses", "").startswith("actions/upload-artifact"):
            kept = self.place / "artefact"
            kept.mkdir()
            for pattern in step["with"]["path"].split():
                for file in self.place.glob(pattern):
                    shutil.copy(file, kept)
            return True
        if "run" not in step or step["name"] == "Install":
            return True
        command = step["run"].replace("${{ steps.keep.outputs.artifact-url }}", ARTEFACT)
        return run(self.place, command).returncode == 0


def change(origin: Path, kind: str) -> None:
    """Let the retriever return other contexts: with noise above them, or only the first."""
    rows: list[dict[str, Any]] = []
    for sample in SAMPLES:
        contexts = sample["retrieved_contexts"]
        if kind == "noise":
            contexts = ["Nothing about it.", "Something else.", "Another text.", *contexts]
        elif kind == "fewer":
            contexts = contexts[:1]
        changed = {"retrieved_contexts": contexts, "labels": {}, "retrieved_context_ids": None}
        rows.append(sample if kind == "same" else {**sample, **changed})
    lines = [json.dumps(row) for row in rows]
    (origin / "examples" / "handbook.jsonl").write_text("\n".join(lines), encoding="utf-8")


def count_failures(place: Path) -> dict[str, str | None]:
    return {
        file.name: ET.parse(file).getroot()[0].get("failures")  # noqa: S314 - the commands wrote it
        for file in place.glob("*.xml")
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "schema"),
    [("retrieval.yml", "github-workflows"), ("retrieval.gitlab-ci.yml", "gitlab-ci")],
)
def test_each_recipe_is_what_its_system_reads(file, schema):
    pytest.importorskip("check_jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    done = subprocess.run([*command, str(RECIPES / file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


# What the retriever returns, and what becomes of the steps.
PATHS = {
    "green": ("same", {"Score": "success", "Compare with the baseline": "success"}),
    "red in compare": ("noise", {"Score": "success", "Compare with the baseline": "failure"}),
    "red in both": ("fewer", {"Score": "failure", "Compare with the baseline": "failure"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
def test_the_workflow_runs_each_step_under_its_condition(repository, path):
    kind, outcomes = PATHS[path]
    change(repository, kind)
    place = clone(repository)
    job = Job(place)
    assert outcomes.items() <= job.outcomes.items()
    assert job.failed is ("failure" in outcomes.values())
    assert {name: job.outcomes[name] for name in ("Keep the reports", "Link the page")} == {
        "Keep the reports": "success",
        "Link the page": "success",
    }
    red = {"score.xml": outcomes["Score"], "compare.xml": outcomes["Compare with the baseline"]}
    failures = count_failures(place / "artefact")
    assert {name: count != "0" for name, count in failures.items()} == {
        name: outcome == "failure" for name, outcome in red.items()
    }
    page = (place / "artefact" / "comparison.html").read_text(encoding="utf-8")
    summary = (place / "summary.md").read_text(encoding="utf-8")
    assert f"[The comparison, sample by sample]({ARTEFACT})" in summary
    assert ("- failed: context_" in summary) is job.failed
    assert bool(re.search("context_[a-z]+ (?:fell by|may have fallen)", page)) is job.failed
    if kind == "fewer":  # the page has what was retrieved in place of what was lost
        assert SAMPLES[0]["retrieved_contexts"][0][:40] in unescape(page)
    for file in (repository / "baseline").iterdir():
        assert not any(sample["user_input"] in file.read_text("utf-8") for sample in SAMPLES)


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
def test_the_job_of_gitlab_makes_the_page_and_ends_as_its_gates(repository, path):
    yaml = pytest.importorskip("yaml")
    kind, outcomes = PATHS[path]
    change(repository, kind)
    place = clone(repository)
    job = yaml.safe_load((RECIPES / "retrieval.gitlab-ci.yml").read_text(encoding="utf-8"))["retrieval"]
    # One shell runs all lines, and ends at the first that fails.
    done = run(place, "\n".join(job["script"]))
    assert done.returncode == int("failure" in outcomes.values()), done.stderr
    for command in job["after_script"]:
        assert run(place, command).returncode == 0
    for kept in job["artifacts"]["paths"]:
        assert (place / kept).is_file()
    assert "| context_recall |" in (place / "comparison.md").read_text(encoding="utf-8")
    assert ("failure" in outcomes.values()) is (count_failures(place)["compare.xml"] != "0")
    assert (outcomes["Score"] == "failure") is (count_failures(place)["score.xml"] != "0")


def test_a_step_before_that_fails_ends_the_comparison():
    job = Job.__new__(Job)
    job.failed = True
    assert not job._holds("success() || steps.score.outcome == 'failure'", {"score": "skipped"})
    assert job._holds("success() || steps.score.outcome == 'failure'", {"score": "failure"})


@pytest.mark.slow
def test_the_pytest_file_writes_a_baseline_passes_and_fails(repository):
    shutil.copy(RECIPES / "test_retrieval.py", repository)
    shutil.rmtree(repository / "baseline")
    shutil.copy(repository / "examples" / "handbook.jsonl", repository / "samples.jsonl")
    command = f'"{sys.executable}" -m pytest -q test_retrieval.py'
    assert "1 skipped" in run(repository, command).stdout
    assert "1 passed" in run(repository, command).stdout
    change(repository, "fewer")
    shutil.copy(repository / "examples" / "handbook.jsonl", repository / "samples.jsonl")
    done = run(repository, command)
    assert done.returncode == 1
    assert "context_recall fell by" in done.stdout


@pytest.mark.slow
def test_the_deepeval_file_passes_and_fails(repository):
    skip_without("deepeval")
    shutil.copy(RECIPES.parent / "test_deepeval.py", repository)
    good = [sample for sample in SAMPLES if sample["id"] in {"hb-01", "hb-02"}]
    contexts = {"retrieved_contexts": ["Something else."], "retrieved_context_ids": ["x"]}
    worse = {**good[0], "id": "worse", **contexts}
    lines = map(json.dumps, [*good, worse])
    (repository / "samples.jsonl").write_text("\n".join(lines), encoding="utf-8")
    done = run(repository, f'"{sys.executable}" -m pytest -q test_deepeval.py')
    assert done.returncode == 1
    assert "1 failed, 2 passed" in done.stdout
    assert "context_recall (score: 0.0" in done.stdout
