"""The recipes for CI, run as they are: each command of the workflow, and the pytest file."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "examples" / "ci"
SAMPLES = [json.loads(line) for line in (ROOT / "examples" / "handbook.jsonl").open(encoding="utf-8")]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a baseline."""
    (tmp_path / "baseline").mkdir()
    (tmp_path / "examples").mkdir()
    shutil.copy(ROOT / "examples" / "handbook.jsonl", tmp_path / "examples")
    command = (
        "ctxmetrics score examples/handbook.jsonl --metric context_recall --metric context_precision"
    )
    assert run(tmp_path, f"{command} --out baseline/scores.jsonl").returncode == 0
    (tmp_path / "summary.md").unlink()
    return tmp_path


def run(place: Path, command: str) -> subprocess.CompletedProcess[str]:
    line = command.replace("ctxmetrics ", f'"{sys.executable}" -m ctxmetrics ', 1)
    environment = {**os.environ, "GITHUB_STEP_SUMMARY": str(place / "summary.md")}
    return subprocess.run(
        line, shell=True, cwd=place, env=environment, capture_output=True, text=True, check=False
    )


def steps() -> dict[str, str]:
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load((RECIPES / "retrieval.yml").read_text(encoding="utf-8"))
    return {
        step["name"]: step["run"] for step in workflow["jobs"]["retrieval"]["steps"] if "run" in step
    }


def retrieve(place: Path, *, fewer: bool) -> None:
    """Write what a retriever returned: the handbook's contexts, or only the first of each."""
    worse = [
        {
            **sample,
            "retrieved_contexts": sample["retrieved_contexts"][:1],
            "labels": {},
            "retrieved_context_ids": None,
        }
        for sample in SAMPLES
    ]
    lines = [json.dumps(sample) for sample in (worse if fewer else SAMPLES)]
    (place / "samples.jsonl").write_text("\n".join(lines), encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "schema"),
    [("retrieval.yml", "github-workflows"), ("retrieval.gitlab-ci.yml", "gitlab-ci")],
)
def test_each_recipe_is_what_its_system_reads(file, schema):
    pytest.importorskip("check_jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    done = subprocess.run([*command, str(RECIPES / file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_the_job_of_gitlab_passes_and_fails(repository):
    yaml = pytest.importorskip("yaml")
    job = yaml.safe_load((RECIPES / "retrieval.gitlab-ci.yml").read_text(encoding="utf-8"))["retrieval"]
    copy, score, compare = job["script"]
    for command in (copy, score, compare, *job["after_script"]):
        done = run(repository, command)
        assert done.returncode == 0, done.stderr
    assert "| context_recall |" in (repository / "comparison.md").read_text(encoding="utf-8")
    for path in job["artifacts"]["paths"]:
        assert (repository / path).is_file()
    retrieve(repository, fewer=True)
    assert run(repository, score).returncode == 1
    assert run(repository, compare).returncode == 1
    failures = {
        file.name: ET.parse(file).getroot()[0].get("failures")  # noqa: S314 - the commands above wrote it
        for file in repository.glob("*.xml")
    }
    assert failures == {"score.xml": "1", "compare.xml": "2"}  # both gates of the comparison


@pytest.mark.slow
def test_the_workflow_passes_where_nothing_changed(repository):
    found = steps()
    assert list(found) == ["Install", "Retrieve", "Score", "Compare with the baseline"]
    assert found["Install"] == "pip install ."
    for name in list(found)[1:]:
        done = run(repository, found[name])
        assert done.returncode == 0, done.stderr
    for file in ("score.xml", "compare.xml"):
        assert ET.parse(repository / file).getroot()[0].get("failures") == "0"  # noqa: S314 - ours
    assert (repository / "comparison.html").is_file()
    assert (repository / "summary.md").read_text(encoding="utf-8").count("### ctxmetrics") == 2


@pytest.mark.slow
def test_the_workflow_fails_where_retrieval_became_worse(repository):
    found = steps()
    retrieve(repository, fewer=True)
    assert run(repository, found["Score"]).returncode == 1
    done = run(repository, found["Compare with the baseline"])
    assert done.returncode == 1
    assert "gate: context_recall fell by" in done.stderr
    assert "Lost, supported by the first run only" in done.stdout
    text = (repository / "summary.md").read_text(encoding="utf-8")
    assert "- failed: context_recall fell by" in text


@pytest.mark.slow
def test_the_pytest_file_writes_a_baseline_passes_and_fails(repository):
    shutil.copy(RECIPES / "test_retrieval.py", repository)
    shutil.rmtree(repository / "baseline")
    retrieve(repository, fewer=False)
    command = f'"{sys.executable}" -m pytest -q -p no:deepeval -p no:langsmith_plugin test_retrieval.py'
    assert "1 skipped" in run(repository, command).stdout
    assert "1 passed" in run(repository, command).stdout
    retrieve(repository, fewer=True)
    done = run(repository, command)
    assert done.returncode == 1
    assert "context_recall may have fallen by more than 0.05" in done.stdout


@pytest.mark.slow
def test_the_deepeval_file_passes_and_fails(repository):
    pytest.importorskip("deepeval")
    shutil.copy(RECIPES.parent / "test_deepeval.py", repository)
    good = [sample for sample in SAMPLES if sample["id"] in {"hb-01", "hb-02"}]
    (repository / "samples.jsonl").write_text("\n".join(map(json.dumps, good)), encoding="utf-8")
    command = f'"{sys.executable}" -m pytest -q -p no:deepeval -p no:langsmith_plugin test_deepeval.py'
    assert "2 passed" in run(repository, command).stdout
    worse = [{**good[0], "retrieved_contexts": ["Something else."], "retrieved_context_ids": ["x"]}]
    (repository / "samples.jsonl").write_text(json.dumps(worse[0]), encoding="utf-8")
    done = run(repository, command)
    assert done.returncode == 1
    assert "context_recall (score: 0.0" in done.stdout
