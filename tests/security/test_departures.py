"""What leaves a run, and to whom: each row of the table on the page Security, in a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import uuid
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ctxmetrics import ContextRecall, Sample, ScriptedJudge, evaluate
from support.deadlines import LONGEST_PROCESS
from support.departures import GUARD, Recorder
from support.later import WITHOUT_CLIENTS, skip_without
from support.wire import WireServer

skip_without("cryptography")


ROOT = Path(__file__).parents[2]
RUNS = Path(__file__).with_name("runs")
PAGE = ROOT / "docs" / "security.md"
ROWS = tomllib.loads(Path(__file__).with_name("departures.toml").read_text(encoding="utf-8"))["row"]
WORDS = {"none": "kingfisher", "model": "osprey", "framework": "peregrine"}
"""The words of `runs/marked.py`."""

NEEDED = {
    "langsmith_evaluate": ["langsmith", "langchain_openai"],
    "lcel": ["langchain_core", "langchain_openai"],
    "openinference_langchain": ["openinference.instrumentation.langchain", "langchain_openai"],
    "own_spans": ["opentelemetry.exporter.otlp.proto.http"],
    "ragas_evaluate": ["ragas", "langchain_openai"],
    "deepeval_evaluate": ["deepeval"],
    "mlflow_evaluate": ["mlflow"],
    "pydantic_evals_evaluate": ["pydantic_evals", "pydantic_ai", "openai"],
    "inspect_eval": ["inspect_ai"],
}
LANGSMITH = {
    "id": str(uuid.UUID(int=1)),
    "tenant_id": str(uuid.UUID(int=2)),
    "name": "birds",
    "start_time": "2026-01-01T00:00:00",
    "created_at": "2026-01-01T00:00:00",
    "reference_dataset_id": str(uuid.UUID(int=3)),
    "data_type": "kv",
}
EXPERIMENT = {"experiment_id": "0", "name": "Default", "lifecycle_stage": "active"}
INFO = {"run_id": "a" * 32, "experiment_id": "0", "status": "RUNNING", "lifecycle_stage": "active"}
REPLIES = {
    r"GET /(sessions|datasets)\?": [LANGSMITH],
    r" /(sessions|datasets)": LANGSMITH,
    "/v1/test-run": {"success": True, "data": {"id": "1"}},
    "/mlflow/experiments/": {"experiment": EXPERIMENT},
    "/mlflow/runs/": {"run": {"info": INFO, "data": {}}},
}
# What a process needs of the machine: no variable that another test or a framework has set reaches a run.
_NEEDED_VARIABLES = (
    *("PATH", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "SYSTEMROOT"),
    # Of the tests: else each framework is compiled again, and each client reads all certificates.
    *("PYTHONPYCACHEPREFIX", "SSL_CERT_FILE"),
)


def run(folder: Path, recorder: Recorder, *command: str, **environment: str) -> str:
    """Run Python in a folder, without the variables of the other tests; return what it prints."""
    inherited = {name: os.environ[name] for name in _NEEDED_VARIABLES if name in os.environ}
    folders = (GUARD, ROOT / "core", ROOT / "adapters", RUNS)
    with WireServer() as server:
        done = subprocess.run(
            [sys.executable, *command],
            cwd=folder,
            env={
                **inherited,
                "HOME": str(folder),
                # LiteLLM is in the environment of these tests, and asks for a list of models; one row says so.
                "LITELLM_LOCAL_MODEL_COST_MAP": "True",
                **WITHOUT_CLIENTS,
                "JUDGE_URL": f"{server.url}/v1",
                "CTXMETRICS_TEST_RECORDER": str(recorder.port),
                "PYTHONPATH": os.pathsep.join(map(str, folders)),
                "PYTHONIOENCODING": "utf-8",
                **environment,
            },
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=LONGEST_PROCESS,
            check=False,
        )
    printed = done.stdout[-1000:] + done.stderr[-3000:]
    assert done.returncode == 0, printed
    print(printed)  # pytest shows it where the test fails
    return done.stdout


def departures(recorder: Recorder) -> dict[str, set[str]]:
    """Return the words that arrived, by host."""
    hosts: dict[str, set[str]] = {}
    for request in recorder.requests:
        words = {word for word in WORDS.values() if request.holds(word)}
        hosts[request.host] = hosts.get(request.host, set()) | words
    return hosts


def is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package that holds it
        return False


def parameters() -> list[Any]:
    rows = []
    for row in ROWS:
        marks = () if row.get("quick") else pytest.mark.slow
        name = re.sub(r"[^\w=]+", "-", f"{row['run']} {row['setting']}").strip("-").lower()
        rows.append(pytest.param(row, id=name[:90], marks=marks))
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("row", parameters())
def test_row_gets_what_the_page_says(row: dict[str, Any], tmp_path: Path) -> None:
    modules = [*NEEDED.get(row["script"], ())]
    if "logfire" in row.get("arguments", ()):
        modules.append("logfire")
    if "LITELLM_LOCAL_MODEL_COST_MAP" in row.get("environment", {}):
        modules.append("litellm")
    if absent := [name for name in modules if not is_installed(name)]:
        pytest.skip(f"not installed: {', '.join(absent)}")
    with Recorder(REPLIES) as recorder:
        script = str(RUNS / f"{row['script']}.py")
        run(tmp_path, recorder, script, *row.get("arguments", ()), **row.get("environment", {}))
    arrived = departures(recorder)
    texts = {host: "texts" if words else "no text" for host, words in arrived.items()}
    assert texts == row.get("gets", {})
    for host, words in arrived.items():
        if texts[host] == "texts":
            # With a judge of one's own and without: the page has one cell for both.
            assert {WORDS["none"], WORDS["model"]} <= words


# ---- files that stay ----


@pytest.mark.slow
def test_command_sends_nothing_and_files_hold_what_is_said(tmp_path: Path) -> None:
    """`--keep-texts`, baselines and the cache: which words of the texts stand in which file."""
    samples = tmp_path / "samples.jsonl"
    sample = {
        "user_input": "Where does the kingfisher nest?",
        "reference": "It nests like the osprey.",
        "retrieved_contexts": ["Nothing but the peregrine."],
    }
    samples.write_text(json.dumps(sample) + "\n", encoding="utf-8")
    score = ("-m", "ctxmetrics", "score", str(samples), "--metric", "context_recall")
    with Recorder() as recorder:
        run(tmp_path, recorder, *score, "--out", "out.jsonl", "--write-baseline", "baseline.jsonl")
        run(tmp_path, recorder, *score, "--out", "kept.jsonl", "--keep-texts")
        assert recorder.requests == []
    words = {}
    for name in ("out.jsonl", "kept.jsonl", "baseline.jsonl"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        words[name] = {word for word in WORDS.values() if word in text}
    assert words["kept.jsonl"] == set(WORDS.values())
    assert words["baseline.jsonl"] == set()
    assert "peregrine" not in words["out.jsonl"]


EVIDENCE = {"context": "c1", "quote": "The peregrine says: it nests in a tunnel", "whole": True}
VERDICTS = {
    "yes": {"evidence": [EVIDENCE], "supported": True},
    "no": {"evidence": [], "missing": "like the osprey", "supported": False},
}


@pytest.mark.parametrize(
    ("verdict", "unit", "words"),
    [("yes", "sentence", set()), ("no", "sentence", {"osprey"}), ("yes", "claim", {"osprey"})],
)
def test_cache_holds_no_texts_but_what_the_judge_wrote(
    verdict: str, unit: Any, words: set[str], tmp_path: Path
) -> None:
    """A quote is kept as a position; what is missing, and claims, are kept in the judge's words."""
    useful = {"c1": {"useful": True, "quote": "The peregrine says"}}
    reply = {"code": "$code", "sentences": {"s1": VERDICTS[verdict]}, "useful": useful}
    claims = {"code": "$code", "claims": ["The osprey nests."]}
    sample = Sample(
        user_input="Where does the kingfisher nest?",
        reference="It nests in a tunnel, like the osprey.",
        retrieved_contexts=["The peregrine says: it nests in a tunnel."],
    )
    evaluate(
        [sample],
        [ContextRecall(unit=unit)],
        judge=ScriptedJudge({"joint": [reply], "claims": [claims]}),
        cache=tmp_path / "cache",
        progress=False,
    )
    files = [file.read_bytes() for file in (tmp_path / "cache").iterdir()]
    assert any(b"verdicts" in data for data in files)
    texts = {"kingfisher", "osprey", "peregrine", "tunnel"}
    assert {word for word in texts if any(word.encode() in data for data in files)} == words


def test_ragas_results_have_no_upload() -> None:
    """Ragas had `result.upload()` before 0.3.9: a version that has it again needs a row of the table."""
    schema = pytest.importorskip("ragas.dataset_schema")
    assert not hasattr(schema.EvaluationResult, "upload")


# ---- the page ----


def write_table() -> str:
    """Write the rows as the page shows them."""
    lines = ["| run | setting | gets what |", "|---|---|---|"]
    for row in ROWS:
        hosts = []
        for host, content in row.get("gets", {}).items():
            shown = "**texts**" if content == "texts" else row["says"]
            name = "your collector" if host == "collector.example" else f"`{host}`"
            name = "the tracking server" if host == "tracking.example" else name
            hosts.append(f"{name}: {shown}")
        lines.append(f"| {row['run']} | {row['setting']} | {'; '.join(hosts) or 'nothing'} |")
    return "\n".join(lines)


def test_page_has_the_rows() -> None:
    page = PAGE.read_text(encoding="utf-8")
    table = page.partition("<!-- departures:begin -->\n")[2].partition("\n<!-- departures:end -->")[0]
    assert table.strip() == write_table()
