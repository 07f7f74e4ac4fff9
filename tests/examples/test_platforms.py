"""The evaluators for promptfoo, Phoenix and Langfuse, run by these programs: the core's value for each line of the handbook."""

from __future__ import annotations

import ast
import json
import os
import shutil
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    IDBasedContextPrecision,
    IDBasedContextRecall,
    LexicalJudge,
    evaluate,
)
from ctxmetrics.evaluation.files.sample_file import read_samples
from examples.test_scripts import EXAMPLES, ROOT, SAMPLES, printed_by, table
from support.later import skip_without
from support.loopback import LoopbackServer
from support.promptfoo import NotInstalledError, install, run_promptfoo
from support.trees import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctxmetrics import Metric

HANDBOOK = EXAMPLES / "handbook.jsonl"
FILES = ("promptfoo_assert.py", "phoenix_evaluator.py", "langfuse_evaluator.py")
MOST_STATEMENTS = 30


def of_the_core(*metrics: Metric) -> dict[str, list[float | None]]:
    rows = list(evaluate(read_samples(HANDBOOK), list(metrics), judge=LexicalJudge(), progress=False))
    return {metric.name: [row[metric.name].value for row in rows] for metric in metrics}


# A line without a reference.
UNLABELLED = {"user_input": "Which?", "retrieved_contexts": ["A chunk."]}
THREE = (ContextRecall(), ContextPrecision(), IDBasedContextRecall())


@pytest.mark.parametrize("file", FILES)
def test_it_is_short(file: str) -> None:
    nodes = ast.walk(parse((EXAMPLES / file).read_text(encoding="utf-8")))
    assert sum(isinstance(node, ast.stmt) for node in nodes) <= MOST_STATEMENTS


# --- Phoenix ---


@pytest.mark.slow
def test_phoenix_evaluates_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("phoenix.evals")
    import pandas as pd
    from phoenix.evals import evaluate_dataframe

    monkeypatch.syspath_prepend(str(EXAMPLES))
    import phoenix_evaluator as example

    rows = [*SAMPLES, UNLABELLED]
    given = pd.DataFrame(dict.fromkeys(("input", "output", "expected"), rows))
    evaluators = [example.evaluator_of(metric) for metric in example.METRICS]
    found = evaluate_dataframe(dataframe=given, evaluators=evaluators, hide_tqdm_bar=True)
    for name, values in of_the_core(*THREE).items():
        *scores, last = found[f"{name}_score"]
        assert [score["score"] for score in scores] == values
        assert all(score["explanation"] and score["kind"] == "code" for score in scores)
        if name == "context_recall":
            assert (last.get("score"), last["label"]) == (None, "missing_field")


@pytest.mark.slow
def test_the_phoenix_script_prints_the_means_of_the_core(tmp_path: Path) -> None:
    skip_without("phoenix")
    assert table(printed_by("phoenix_evaluator.py", tmp_path)) == means()


def means() -> dict[str, tuple[str, str]]:
    summary = evaluate(
        read_samples(HANDBOOK), list(THREE), judge=LexicalJudge(), progress=False
    ).summary()
    return {name: (f"{item.mean:.4f}", "36 of 36") for name, item in summary.items()}


# --- Langfuse ---


@contextmanager
def collecting() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server on the loopback that takes whatever is sent, and keeps the scores."""
    scores: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.path == "/api/public/scores":
                scores.extend(json.loads(body))
            self.answer(b"{}")

        def do_GET(self) -> None:
            self.answer(b'{"data": []}')

        def answer(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = LoopbackServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", scores
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.slow
def test_langfuse_sends_the_scores_of_an_experiment(monkeypatch: pytest.MonkeyPatch) -> None:
    langfuse = pytest.importorskip("langfuse")
    from opentelemetry.sdk.trace import TracerProvider

    monkeypatch.syspath_prepend(str(EXAMPLES))
    import langfuse_evaluator as example

    rows = [*SAMPLES, UNLABELLED]
    with collecting() as (url, sent):
        # A provider of its own: the process's would send the spans of later tests to a server that is gone.
        provider = TracerProvider()
        client = langfuse.Langfuse(
            public_key="pk",
            secret_key="sk",  # noqa: S106 - no secret
            base_url=url,
            tracer_provider=provider,
        )
        done = client.run_experiment(
            name="handbook",
            data=[{"input": row, "expected_output": row} for row in rows],
            task=lambda *, item, **_: item["input"],
            evaluators=[example.evaluator_of(metric) for metric in example.METRICS],
        )
        client.flush()
        client.shutdown()
        provider.shutdown()
    order = [item.trace_id for item in done.item_results]
    assert len(order) == len(rows)
    for name, values in of_the_core(*THREE).items():
        found = {score["traceId"]: score["value"] for score in sent if score["name"] == name}
        assert [found[trace] for trace in order[:-1]] == values
    (reason,) = [score for score in sent if score["name"] == "context_recall reason"]
    assert (reason["value"], reason["traceId"]) == ("missing_field", order[-1])


@pytest.mark.slow
def test_langfuse_script_prints_core_means_and_sends_nothing(tmp_path: Path) -> None:
    skip_without("langfuse")
    assert table(printed_by("langfuse_evaluator.py", tmp_path)) == means()


# --- promptfoo ---


@pytest.fixture(scope="module")
def promptfoo() -> Path:
    """The program; npm takes minutes to install it where `.ci/run` did not."""
    try:
        return install()
    except NotInstalledError as error:
        pytest.skip(str(error))  # promptfoo comes from npm's registry, which not every machine reaches


def documented_config() -> str:
    text = ast.get_docstring(parse((EXAMPLES / FILES[0]).read_text(encoding="utf-8"))) or ""
    return "\n".join(line[4:] for line in text.splitlines() if line.startswith("    "))


@pytest.mark.slow
def test_promptfoo_runs_the_assertion_as_its_file_says(promptfoo: Path, tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    shutil.copy(EXAMPLES / FILES[0], tmp_path)
    names = (
        "response",
        "reference",
        "retrieved_contexts",
        "retrieved_context_ids",
        "reference_context_ids",
    )
    lines = range(0, len(SAMPLES), 12)  # promptfoo starts a Python for each assertion
    samples = [{name: SAMPLES[line][name] for name in names} for line in lines]
    samples.append({"response": "No label.", "retrieved_contexts": ["A chunk."]})
    config = yaml.safe_load(documented_config())
    config["tests"] = [{"vars": sample} for sample in samples]
    (tmp_path / "promptfooconfig.yaml").write_text(json.dumps(config), encoding="utf-8")
    done = run_promptfoo(
        promptfoo,
        tmp_path,
        "-j",
        "2",
        timeout=540,
        PROMPTFOO_PYTHON=sys.executable,
        PYTHONPATH=os.pathsep.join((str(ROOT / "core"), str(ROOT / "adapters"))),
    )
    assert (tmp_path / "out.json").exists(), done.stdout[-2000:] + done.stderr[-2000:]
    results = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["results"]["results"]
    found = [
        result["gradingResult"] for result in sorted(results, key=lambda result: result["testIdx"])
    ]
    *found, without = found
    core = of_the_core(ContextRecall(threshold=0.5), ContextPrecision(), IDBasedContextRecall())
    for name, values in core.items():
        scores = [grading["namedScores"][name] for grading in found]
        assert scores == [values[line] for line in lines]
    recalls = [grading["componentResults"][0] for grading in found]
    handbook = list(read_samples(HANDBOOK))
    chosen = [handbook[line] for line in lines]
    rows = evaluate(chosen, [ContextRecall()], judge=LexicalJudge(), progress=False)
    for recall, row in zip(recalls, rows, strict=True):
        sentences = [(verdict.text, verdict.value) for verdict in row["context_recall"].verdicts]
        assert [(part["reason"], part["pass"]) for part in recall["componentResults"]] == sentences
        assert recall["pass"] == (row["context_recall"].value >= 0.5)
    assert "context_recall" not in without["namedScores"]
    assert "no reference" in without["componentResults"][0]["reason"]


def test_promptfoo_file_knows_the_documented_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without promptfoo: what it calls, with what it gives, for each line of the handbook."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from promptfoo_assert import get_assert

    for name, values in of_the_core(*THREE, IDBasedContextPrecision()).items():
        contexts = [{"config": {"metric": name}, "vars": sample} for sample in SAMPLES]
        assert [get_assert("", context)["score"] for context in contexts] == values
    with pytest.raises(ValueError, match="thresold"):
        get_assert("", {"config": {"metric": "context_recall", "thresold": 1}, "vars": SAMPLES[3]})
