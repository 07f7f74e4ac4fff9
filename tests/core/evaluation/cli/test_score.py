"""The command line: usage and formats in this process; faults, signals, pipes and terminals in a process of its own."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from typer.main import get_command

from ctxmetrics import Results, __version__
from ctxmetrics.evaluation.cli import app
from ctxmetrics.evaluation.cli._options import Help, Pace, with_options
from ctxmetrics.evaluation.rows.row_writer import OutFile
from ctxmetrics.evaluation.runs.options import DEFAULTS
from support import FakeOpenAIServer, Fault, answer_from
from support.command import run_command as ctxmetrics
from support.command import run_process as in_own_process
from support.deadlines import LONGEST_PROCESS
from support.rows import complete_rows, read_rows

if TYPE_CHECKING:
    from collections.abc import Callable

HANDBOOK = Path(__file__).parents[4] / "examples" / "handbook.jsonl"
README = Path(__file__).parents[4] / "README.md"
OLD_ROW = '{"sample_id": "old"}\n'
GOOD = {
    "id": "a",
    "reference": "Paris is the capital of France.",
    "retrieved_contexts": ["Paris is the capital of France."],
}


def refused(
    *arguments: object, run_with: Callable[..., subprocess.CompletedProcess[str]] = ctxmetrics
) -> str:
    """Run a command that must be refused; return its one line."""
    run = run_with(*arguments)
    assert run.returncode == 2, run
    assert run.stdout == ""
    assert "Traceback" not in run.stderr
    assert run.stderr.count("\n") == 1
    return run.stderr


def written(folder: Path, name: str, *lines: Any) -> Path:
    file = folder / name
    file.write_text(
        "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines),
        encoding="utf-8",
    )
    return file


def test_every_metric_whose_fields_the_file_has(tmp_path: Path) -> None:
    out = tmp_path / "scores.jsonl"
    run = ctxmetrics("score", HANDBOOK, "--out", out)
    assert run.returncode == 0, run.stderr
    rows = read_rows(out)
    samples = HANDBOOK.read_text(encoding="utf-8").count("\n")
    assert len(rows) == 7 * samples
    assert set(rows[0]) == {
        "sample_id", "sample", "metric", "value", "reason_code", "message", "threshold", "passed", "band", "verdicts", "signals",
        "doubtful", "context_lengths", "metadata", "usage", "provenance",
    }  # fmt: skip
    assert f"{samples} of {samples}" in run.stdout
    assert (run.stdout + run.stderr).count("Embedded lexical judge") == 1
    assert [row["sample_id"] for row in rows[::7]] == [
        json.loads(line)["id"] for line in HANDBOOK.open(encoding="utf-8")
    ]


@pytest.mark.slow
def test_json_and_csv_give_the_same_numbers_as_json_lines(tmp_path: Path) -> None:
    samples = [json.loads(line) for line in HANDBOOK.open(encoding="utf-8")]
    (tmp_path / "h.json").write_text(json.dumps(samples), encoding="utf-8")
    with (tmp_path / "h.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(samples[0]))
        writer.writeheader()
        for sample in samples:
            writer.writerow(
                {
                    key: value if isinstance(value, str) else json.dumps(value)
                    for key, value in sample.items()
                }
            )
    tables = [
        ctxmetrics("score", file).stdout for file in (HANDBOOK, tmp_path / "h.json", tmp_path / "h.csv")
    ]
    table, *others = (table.partition("\ndata ")[0] for table in tables)
    assert [table, table] == others
    assert table.count("\n") > 7


def test_a_metric_with_parameters_and_a_gate(tmp_path: Path) -> None:
    file = written(
        tmp_path, "s.jsonl", {**GOOD, "retrieved_contexts": ["Lyon.", *GOOD["retrieved_contexts"]]}
    )
    name = "context_recall(top_k=1)"
    assert ctxmetrics("score", file, "--metric", name, "--fail-under", f"{name}=0.0").returncode == 0
    run = ctxmetrics("score", file, "--metric", name, "--fail-under", f"{name}=0.5")
    assert run.returncode == 1
    assert f"gate: {name} is 0.0000, below 0.5" in run.stderr


def test_a_gate_on_a_metric_without_a_value_fails(tmp_path: Path) -> None:
    file = written(tmp_path, "s.jsonl", {"retrieved_context_ids": ["a"], "reference_context_ids": []})
    run = ctxmetrics("score", file, "--fail-under", "id_based_context_recall=0.0")
    assert run.returncode == 1
    assert "without a value" in run.stderr
    assert "no_reference 1" in run.stdout


@pytest.mark.slow
def test_a_gate_on_a_part_of_the_samples_fails(tmp_path: Path) -> None:
    file = written(tmp_path, "s.jsonl", GOOD, {**GOOD, "id": "b", "reference": "Lyon is a city."})
    with FakeOpenAIServer(answer_from()) as server:
        gate = (
            "--fail-under",
            "context_recall=0.0",
            "--max-calls",
            1,
            "--max-concurrency",
            1,
            "--metric",
            "context_recall",
        )
        run = ctxmetrics(
            "score",
            file,
            "--judge",
            "openai/m",
            "--base-url",
            server.base_url,
            *gate,
            OPENAI_API_KEY="sk-x",
        )
    assert run.returncode == 3, run  # the run stopped early, which comes before the gate
    assert "gate: context_recall has 1 of 2 samples not judged" in run.stderr
    assert (
        "ctxmetrics: stopped early: max_calls=1 is used up. 1 of 2 judged, 1 failed, 0 left."
        in run.stderr
    )


def test_the_lowest_scores_can_be_explained(tmp_path: Path) -> None:
    file = written(tmp_path, "s.jsonl", GOOD, {**GOOD, "id": "b", "retrieved_contexts": ["Lyon."]})
    run = ctxmetrics("score", file, "--metric", "context_recall", "--show", 1)
    assert "\nb: " in run.stdout or "\nb\n" in run.stdout
    assert "✗ s1 Paris is the capital of France." in run.stdout
    assert "\n        0 of 3 words found; missing words: " in run.stdout
    assert "stated nowhere" not in run.stdout, "nobody read"


@pytest.mark.slow
def test_the_first_command_of_the_readme_fits_one_screen() -> None:
    command = next(
        line
        for line in README.read_text(encoding="utf-8").splitlines()
        if "ctxmetrics score examples/" in line
    )
    arguments = command.partition("bin/ctxmetrics ")[2].split()
    assert arguments == ["score", "examples/handbook.jsonl", "--show", "1"]
    run = in_own_process(*arguments, cwd=README.parent)
    lines = (run.stdout + run.stderr).splitlines()
    assert run.returncode == 0
    assert len(lines) <= 41
    assert max(map(len, lines)) <= 80
    assert " ".join(map(str.strip, lines)).count("Embedded lexical judge") == 1
    questions = {
        row["id"]: row["user_input"] for row in map(json.loads, HANDBOOK.open(encoding="utf-8"))
    }
    shown = {line.partition(":")[0]: line for line in lines if line.partition(":")[0] in questions}
    assert len(shown) >= 3
    assert all(questions[name][:60] in line for name, line in shown.items())
    assert any("nothing was retrieved" in line for line in lines)
    assert any("words found; missing words" in line for line in lines)


def test_a_context_that_stands_too_low_is_named(tmp_path: Path) -> None:
    row = {**GOOD, "retrieved_contexts": ["Lyon.", "Nice.", *GOOD["retrieved_contexts"]]}
    run = ctxmetrics("score", written(tmp_path, "s.jsonl", row), "-m", "context_precision", "--show", 1)
    assert "ranked low: c3 below c1, c2" in run.stdout


def test_a_schema_translates_field_names(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        "s.jsonl",
        {"input": "q", "expected_output": "A red fox.", "retrieval_context": ["A red fox."]},
    )
    run = ctxmetrics("score", file, "--schema", "deepeval", "--convention", "deepeval")
    assert run.returncode == 0, run.stderr
    assert "context_recall(convention=deepeval): pass mark 0.5" in run.stdout


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([{"retrieved_contexts": ["x"]}], "no metric fits"),
        (
            [{**GOOD, "retrieved_contexts": 5}],
            "Sample 'a': field 'retrieved_contexts' must be a list",
        ),
        (
            [{"reference": "x", "retrieved_contexts": [{"a": 1}]}],
            "line 1: field 'retrieved_contexts', item 1 must be a string",
        ),
        ([{"refrence": "x", "retrieved_contexts": ["x"]}], "unknown field 'refrence'"),
        ([{**GOOD, "context": []}], "schema="),
        ([], "the file is empty"),
        ([*[GOOD] * 6, '{"reference": '], "line 7: not valid JSON"),
        ([GOOD, "[1]"], "line 2: a sample must be a JSON object"),
        ([{**GOOD, "retrieved_contexts": ["x" * 52_428_800]}], "item 1 is 52,428,800 characters long"),
        (
            [{**GOOD, "retrieved_context_ids": ["a", 1.5]}],
            "item 2 must be a string or an integer, not float",
        ),
    ],
    ids=[
        "no field",
        "a number",
        "wrong type",
        "unknown key",
        "ambiguous",
        "empty",
        "line 7",
        "no object",
        "50 MB",
        "float id",
    ],
)
def test_bad_input_is_one_line_with_place_field_and_fix(
    tmp_path: Path, lines: list[Any], expected: str
) -> None:
    assert expected in refused("score", written(tmp_path, "bad.jsonl", *lines))


def test_a_field_that_no_sample_has(tmp_path: Path) -> None:
    line = refused("score", written(tmp_path, "s.jsonl", GOOD), "--metric", "non_llm_context_recall")
    assert "No sample has reference_contexts, which non_llm_context_recall needs" in line


@pytest.mark.slow
def test_bad_usage(tmp_path: Path) -> None:
    file = written(tmp_path, "s.jsonl", GOOD)
    assert "cannot be read: No such file" in refused("score", tmp_path / "none.jsonl")
    assert "end in .jsonl, .json, .csv, .tsv, .parquet or .xlsx" in refused(
        "score", written(tmp_path, "s.txt", GOOD)
    )
    assert "Did you mean 'context_recall'?" in refused("score", file, "--metric", "context_recal")
    assert "no parameter 'topk'. Did you mean 'top_k'? It takes: convention" in refused(
        "score", file, "--metric", "context_recall(topk=1)"
    )
    assert "top_k=-1 must be a whole number" in refused(
        "score", file, "--metric", "context_recall(top_k=-1)"
    )
    assert "convention='rags' is unknown" in refused("score", file, "--convention", "rags")
    assert "schema='rags' is unknown" in refused("score", file, "--schema", "rags")
    assert "--judge 'gpt' is unknown" in refused("score", file, "--judge", "gpt")
    assert "'x': no metric is named so. There are: context_recall" in refused(
        "score", file, "--fail-under", "x=1"
    )
    assert "must be NAME=VALUE" in refused("score", file, "--fail-under", "context_recall")
    assert "unit='sentence'" in refused("score", file, "--convention", "axion")
    assert "needs --out FILE or --cache DIR" in refused("score", file, "--resume")
    assert "cannot be written" in refused(
        "score", file, "--metric", "context_recall", "--out", tmp_path / "no" / "o.jsonl"
    )
    assert re.search(
        "No such option:? '?--nope", refused("score", file, "--nope")
    )  # click's words differ
    assert "there is no cache" in refused("cache", "info", tmp_path)
    assert "OPENAI_API_KEY" in refused("score", file, "--judge", "openai/gpt-x")


@pytest.mark.slow
def test_broken_json_names_the_line(tmp_path: Path) -> None:
    assert "line 3: not valid JSON" in refused("score", written(tmp_path, "s.json", "[", "{}", "nope]"))
    assert "the top level must be a list" in refused("score", written(tmp_path, "t.json", "{}"))


def test_csv_errors_name_line_and_field(tmp_path: Path) -> None:
    ragged = written(tmp_path, "r.csv", "reference,retrieved_contexts", '"A.","[""A.""]",x')
    assert "line 2: the row has not as many cells as the header" in refused("score", ragged)
    bare = written(tmp_path, "b.csv", "reference,retrieved_contexts", "A.,[A.]")
    assert "line 2: field 'retrieved_contexts' must be a JSON list" in refused("score", bare)


@pytest.mark.slow
def test_output_into_a_closed_pipe_is_no_traceback() -> None:
    command = f'"{sys.executable}" -m ctxmetrics score "{HANDBOOK}" --show 30 | head -n 1'
    run = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert "Traceback" not in run.stderr


# --- an output is no input ---


def data(folder: Path) -> Path:
    return written(folder, "data.jsonl", GOOD, {**GOOD, "id": "b", "retrieved_contexts": ["Lyon."]})


@pytest.mark.parametrize("option", ["--out", "--report"])
@pytest.mark.parametrize("metric", [(), ("-m", "context_recall")], ids=["all", "streamed"])
@pytest.mark.parametrize("name", ["same", "relative", "symlink", "hardlink", "symlinked folder"])
def test_an_output_that_is_the_input_is_refused(
    tmp_path: Path, option: str, metric: tuple[str, ...], name: str
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    file = data(folder)
    before = file.read_bytes()
    (tmp_path / "soft.jsonl").symlink_to(file)
    (tmp_path / "hard.jsonl").hardlink_to(file)
    (tmp_path / "also").symlink_to(folder, target_is_directory=True)
    output = {
        "same": file,
        "relative": Path("folder", "..", "folder", "data.jsonl"),
        "symlink": tmp_path / "soft.jsonl",
        "hardlink": tmp_path / "hard.jsonl",
        "symlinked folder": tmp_path / "also" / "data.jsonl",
    }[name]
    run = ctxmetrics("score", file, option, output, *metric, cwd=tmp_path)
    assert run.returncode == 2, run
    assert f"{option} {output} and FILE {file} are the same file" in run.stderr
    assert run.stderr.count("\n") == 1
    assert file.read_bytes() == before


def test_outputs_that_coincide_are_refused_before_reading(tmp_path: Path) -> None:
    missing = tmp_path / "missing.jsonl"
    out = tmp_path / "out.jsonl"
    assert "--out" in refused("score", missing, "--out", out, "--report", out)
    name_during_run = "is named out.jsonl.part while the run goes on"
    assert name_during_run in refused("score", missing, "--out", out, "--report", f"{out}.part")
    part = written(tmp_path, "out.jsonl.part", GOOD)
    part.rename(tmp_path / "x.jsonl")
    (tmp_path / "out.jsonl.part").symlink_to(tmp_path / "x.jsonl")
    assert name_during_run in refused("score", tmp_path / "x.jsonl", "--out", out)
    folder = tmp_path / "cache"
    folder.mkdir()
    (folder / "verdicts.sqlite3").touch()
    assert "are the same file" in refused(
        "score", missing, "--out", folder / "verdicts.sqlite3", "--cache", folder
    )
    assert "No such file or directory. Choose" in refused(
        "score", missing, "--out", tmp_path / "no" / "o"
    )
    assert "Is a directory. Choose" in refused("score", missing, "--report", tmp_path)
    other = written(tmp_path, "other.jsonl", GOOD)
    assert "it holds data that no run wrote" in refused("score", missing, "--report", other)
    assert json.loads(other.read_text()) == GOOD


@pytest.mark.parametrize("metric", [(), ("-m", "context_recall")], ids=["all", "streamed"])
def test_with_an_error_what_was_there_stays(tmp_path: Path, metric: tuple[str, ...]) -> None:
    out, report = tmp_path / "out.jsonl", tmp_path / "r.html"
    assert (
        ctxmetrics("score", data(tmp_path), "--out", out, "--report", report, *metric).returncode == 0
    )
    before = out.read_bytes(), report.read_bytes()
    bad = written(tmp_path, "bad.jsonl", GOOD, "{")
    assert "line 2: not valid JSON" in refused("score", bad, "--out", out, "--report", report, *metric)
    assert (out.read_bytes(), report.read_bytes()) == before
    assert "line 2: not valid JSON" in refused("score", bad, "--out", out, *metric)
    assert out.read_bytes() == before[0]


@pytest.mark.slow
def test_a_second_process_is_kept_away_from_out(tmp_path: Path) -> None:
    file, out = data(tmp_path), tmp_path / "out.jsonl"
    assert ctxmetrics("score", file, "--out", out).returncode == 0
    before = out.read_bytes()
    with contextlib.closing(OutFile(out)):  # this process is the first one
        assert "out.jsonl: another run is writing it" in refused(
            "score", file, "--out", out, run_with=in_own_process
        )
        assert out.read_bytes() == before
    assert ctxmetrics("score", file, "--out", out).returncode == 0
    assert out.read_bytes() == before
    assert not (tmp_path / "out.jsonl.part").exists()


def started(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "ctxmetrics", *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **KEY}
    )


KEY = {"OPENAI_API_KEY": "sk-not-a-real-key"}


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there is no kill -9, and Ctrl-C is for a whole console")
@pytest.mark.parametrize(
    ("number", "report"),
    [
        (signal.SIGKILL, True),
        (signal.SIGTERM, True),
        (signal.SIGKILL, False),
        (signal.SIGINT, True),
        (signal.SIGHUP, False),
        (signal.SIGINT, False),
    ],
)
def test_a_run_that_was_stopped_is_resumed(
    tmp_path: Path, number: signal.Signals, report: bool
) -> None:
    samples = [
        {**GOOD, "id": str(i), "reference": f"Paris has {i} bridges. It is big."} for i in range(12)
    ]
    file, out, part = (
        written(tmp_path, "d.jsonl", *samples),
        tmp_path / "o.jsonl",
        tmp_path / "o.jsonl.part",
    )
    out.write_text(OLD_ROW)
    pages = ("--report", tmp_path / "r.html") if report else ()
    # On a busy machine the signal may arrive a second after the third line.
    with FakeOpenAIServer(answer_from(), latency=0.3) as server:
        options = (
            "score", file, "-m", "context_recall", "--out", out, "--judge", "openai/m", "--base-url",
            server.base_url, "--max-concurrency", 1, *pages,
        )  # fmt: skip
        first = started(*options)
        while not part.exists() or part.read_text().count("\n") < 3:
            assert first.poll() is None
            time.sleep(0.01)
        first.send_signal(number)
        _, errors = first.communicate(timeout=LONGEST_PROCESS)
        assert first.returncode == (-9 if number == signal.SIGKILL else 128 + number)
        assert out.read_text() == OLD_ROW
        *whole, _ = part.read_text().split("\n")  # a kill may cut the last line off
        left = complete_rows(whole)
        judged = [row for row in left if row["value"] is not None]
        assert [row["sample_id"] for row in judged] == [str(i) for i in range(len(judged))]
        if number != signal.SIGKILL:
            assert "with --resume" in errors
        second = ctxmetrics(*options, "--resume", **KEY)
        assert server.count <= len(samples) + 2
    assert second.returncode == 0, second
    rows = read_rows(out)
    assert [row["sample_id"] for row in rows] == [str(i) for i in range(12)]
    assert rows[: len(judged)] == judged or report
    assert [row["value"] for row in rows] == [row["value"] for row in judged] + [
        row["value"] for row in rows[len(judged) :]
    ]
    assert not part.exists()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux" or os.getuid() != 0, reason="only root makes a namespace")
def test_process_1_of_a_container_ends_at_sigterm(tmp_path: Path) -> None:
    """The system ignores a signal to process 1 that has no handler."""
    samples = [{**GOOD, "id": str(i), "reference": f"Paris has {i} bridges."} for i in range(60)]
    file = written(tmp_path, "d.jsonl", *samples)
    with FakeOpenAIServer(answer_from(), latency=0.5) as server:
        command = [
            *(
                "unshare",
                "--fork",
                "--pid",
                "--kill-child",
                sys.executable,
                "-m",
                "ctxmetrics",
                "score",
                file,
            ),
            *("-m", "context_recall", "--judge", "openai/m", "--base-url", server.base_url),
            *("--max-concurrency", "1"),
        ]
        with subprocess.Popen(
            [*map(str, command)], stderr=subprocess.PIPE, text=True, env={**os.environ, **KEY}
        ) as outer:
            while server.count < 2:
                assert outer.poll() is None
                time.sleep(0.01)
            children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()
            os.kill(int(children[0]), signal.SIGTERM)
            _, errors = outer.communicate(timeout=LONGEST_PROCESS)
    assert outer.returncode == 143
    assert re.search(r"interrupted: \d+ of 60 judged, \d+ left\.", errors)
    assert server.count < 60


@pytest.mark.slow
def test_resume_takes_over_only_rows_that_fit(tmp_path: Path) -> None:
    samples = [{**GOOD, "id": str(i)} for i in range(5)]
    file, out, part = (
        written(tmp_path, "d.jsonl", *samples),
        tmp_path / "o.jsonl",
        tmp_path / "o.jsonl.part",
    )
    options = ("-m", "context_recall", "--out", out, "--resume")
    assert ctxmetrics("score", file, *options[:-1]).returncode == 0
    rows = read_rows(out)
    for row in rows:
        row["message"] = "old"  # what is taken over can be told from what is computed

    def messages(changed: dict[str, Any], *extra: object, tail: str = "") -> list[str | None]:
        part.write_text(
            "".join(json.dumps(row) + "\n" for row in (*rows[:2], {**rows[2], **changed})) + tail
        )
        assert ctxmetrics("score", file, *options, *extra).returncode == 0
        return [row["message"] for row in read_rows(out)]

    assert messages({}) == ["old", "old", "old", None, None]
    assert messages({}, tail='{"sample_id": "3", "metr') == ["old", "old", "old", None, None]
    assert messages({"sample": {**rows[2]["sample"], "content_hash": "0"}}) == [
        "old",
        "old",
        None,
        None,
        None,
    ]
    assert messages({"reason_code": "not_judged"}) == ["old", "old", None, None, None]
    assert messages({"provenance": {**rows[2]["provenance"], "judge": "x"}}) == [
        "old",
        "old",
        None,
        None,
        None,
    ]
    assert messages({"value": 0.25}) == ["old", "old", None, None, None]  # not what its verdicts give
    assert messages({}, "-m", "context_precision")[::2] == [None] * 5
    part.write_text("".join(json.dumps(row) + "\n" for row in (*rows, *rows)))  # more rows than samples
    assert ctxmetrics("score", file, *options).returncode == 0
    assert len(read_rows(out)) == 5


def test_one_is_told_in_the_singular(tmp_path: Path) -> None:
    """Each command that counts something, over one of it; its answer is one, too."""
    file = written(tmp_path, "one.jsonl", {**GOOD, "user_input": "Which city is the capital?"})
    cache, out = tmp_path / "cache", tmp_path / "out.jsonl"
    with FakeOpenAIServer(answer_from()) as server:
        judge = ("--judge", "openai/m", "--base-url", server.base_url, "--max-concurrency", "1")
        told = [
            ctxmetrics(*arguments, **KEY).stdout
            for arguments in (
                ("inspect", file),
                ("estimate", file, *judge),
                ("score", file, *judge, "--cache", cache, "--out", out),
                ("compare", out, out),
                ("cache", "info", cache),
                ("cache", "clear", cache),
            )
        ]
    shown = "\n".join(told)
    for words in (
        "1 sample,",
        "1 sample: 1 call,",
        "1 request at a time",
        "1 sample in both runs",
        "1 judgement,",
        "1 judgement deleted",
    ):
        assert words in shown, shown
    assert not re.findall(r"\b1 [a-z]+s\b", shown)


# --- exit status ---


def dead_address() -> str:
    with FakeOpenAIServer(answer_from()) as server:
        return server.base_url


@pytest.mark.parametrize(
    ("provider", "variable"), [("gemini", "GEMINI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY"), ("openai", "OPENAI_API_KEY")]
)  # fmt: skip
def test_a_wrong_key_is_named_by_its_own_variable(tmp_path: Path, provider: str, variable: str) -> None:
    file = written(tmp_path, "d.jsonl", GOOD)
    with FakeOpenAIServer(answer_from(), api_key="right") as server:
        address = ("--judge", f"{provider}/m", "--base-url", server.base_url)
        run = ctxmetrics("score", file, "-m", "context_recall", *address, **{variable: "sk-wrong"})
    assert (run.returncode, re.findall(r"\w+_API_KEY", run.stderr)) == (3, [variable]), run.stderr


def test_an_error_of_a_command_points_to_its_own_help(tmp_path: Path) -> None:
    for command in (["score"], ["score", "--nope"], ["cache", "info"], ["compare", "a.jsonl"]):
        told = ctxmetrics(*command).stderr
        name = " ".join(word for word in command if not word.startswith("-") and "." not in word)
        assert told.rstrip().endswith(f" {name} --help"), told
    assert ctxmetrics("nope").stderr.rstrip().endswith("ctxmetrics --help")


def test_labels_that_are_missing_are_named(tmp_path: Path) -> None:
    file, gone = written(tmp_path, "d.jsonl", GOOD), tmp_path / "gone.jsonl"
    run = ctxmetrics("agree", file, "--labels", gone)
    assert (run.returncode, f"{gone}: there is no such file" in run.stderr) == (2, True), run.stderr


def test_estimate_needs_no_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run does, and says so before anything is sent."""
    monkeypatch.setitem(sys.modules, "openai", None)
    file = written(tmp_path, "d.jsonl", {**GOOD, "user_input": "Asked nowhere else?"})
    judge = ("--judge", "openai/m", "--base-url", "http://127.0.0.1:9/v1")
    run = ctxmetrics("estimate", file, *judge, **KEY)
    assert (run.returncode, "1 sample: 1 call, " in run.stdout) == (0, True), run
    run = ctxmetrics("score", file, *judge, **KEY)
    assert run.returncode == 2
    assert "openai is not installed. Install it with: " in run.stderr


NOTHING_RETRIEVED = {**GOOD, "id": "n", "retrieved_contexts": []}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "count"),
    [
        ("dead server", 30),
        ("wrong key", 2),
        ("dead server", 2),
        ("wrong key", 30),
        ("unusable", 2),
    ],
)
def test_a_run_without_any_verdict_exits_3(tmp_path: Path, fault: str, count: int) -> None:
    samples = [{**GOOD, "id": str(i), "reference": f"Paris has {i} bridges."} for i in range(count)]
    file, out = written(tmp_path, "d.jsonl", NOTHING_RETRIEVED, *samples), tmp_path / "out.jsonl"
    out.write_text(OLD_ROW)
    faults = [Fault("refusal_text")] if fault == "unusable" else []
    words = {
        "dead server": (
            "Connection error",
            "Check that the server runs, and its address in --base-url.",
        ),
        "wrong key": ("Incorrect API key provided", "Check the key in OPENAI_API_KEY"),
        "unusable": (
            "invalid_reply: no reply could be read as a verdict",
            "Try another model in --judge",
        ),
    }[fault]
    key = "right" if fault == "wrong key" else None
    with FakeOpenAIServer(answer_from(), faults=faults, api_key=key) as server:
        address = dead_address() if fault == "dead server" else server.base_url
        run = in_own_process(
            "score", file, "-m", "context_recall", "--judge", "openai/m", "--base-url", address,
            "--out", out, "--fail-under", "context_recall=0.5", "--timeout", 5, **KEY,
        )  # fmt: skip
    assert run.returncode == 3, run
    (line,) = [line for line in run.stderr.splitlines() if line.startswith("ctxmetrics: ")]
    assert words[0].lower() in line.lower()
    assert words[1].lower() in line.lower()
    assert address in line
    assert KEY["OPENAI_API_KEY"] not in run.stdout + run.stderr
    assert words[0].lower() not in run.stderr.lower().replace(line.lower(), "")  # it is said once
    assert f"0.0000  1 of {count + 1} judged" in run.stdout
    assert out.read_text() == OLD_ROW


def test_earlier_report_stays_if_no_verdict_was_reached(tmp_path: Path) -> None:
    file, report = written(tmp_path, "d.jsonl", GOOD), tmp_path / "r.html"
    options = ("score", file, "-m", "context_recall", "--report", report)
    judged = ("--judge", "openai/m", "--base-url", dead_address(), "--timeout", 5)
    assert ctxmetrics(*options, *judged, **KEY).returncode == 3
    assert "not judged" in report.read_text()
    assert ctxmetrics(*options).returncode == 0
    before = report.read_bytes()
    run = ctxmetrics(*options, *judged, **KEY)
    assert run.returncode == 3, run
    assert "did not replace it" in run.stderr
    assert report.read_bytes() == before


@pytest.mark.slow
def test_samples_without_verdict_fail_only_with_a_gate(tmp_path: Path) -> None:
    samples = [{**GOOD, "id": str(i), "reference": f"Paris has {i} bridges."} for i in range(4)]
    file = written(tmp_path, "d.jsonl", *samples)
    faults = [Fault("refusal_text", contains="has 2 bridges")]
    with FakeOpenAIServer(answer_from(), faults=faults) as server:
        options = (
            "score",
            file,
            "-m",
            "context_recall",
            "--judge",
            "openai/m",
            "--base-url",
            server.base_url,
        )
        run = ctxmetrics(*options, **KEY)
        assert run.returncode == 0, run
        assert "3 of 4 judged" in run.stdout
        assert "invalid_reply 1" in run.stderr
        assert ctxmetrics(*options, "--fail-under", "context_recall=0", **KEY).returncode == 1
        assert ctxmetrics(*options, "--report", tmp_path / "r.html", **KEY).returncode == 0
    assert "3 of 4 judged" in (tmp_path / "r.html").read_text()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_result_that_cannot_be_written_exits_3(tmp_path: Path) -> None:
    file = data(tmp_path)
    run = in_own_process("score", file, "--out", "/dev/full", "--fail-under", "context_recall=1")
    assert run.returncode == 3, run
    assert "/dev/full cannot be written: No space left on device" in run.stderr
    run = in_own_process("score", file, "--report", "/dev/full")
    assert run.returncode == 3, run
    assert "No space left on device" in run.stderr
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "ctxmetrics", "score", str(file)]
        run = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert run.returncode == 3, run
    assert "stdout cannot be written: No space left on device" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there are no limits of a file's size")
def test_a_full_disk_after_some_rows_exits_3_and_keeps_the_rows(tmp_path: Path) -> None:
    samples = [{**GOOD, "id": str(i)} for i in range(200)]
    file, out = written(tmp_path, "d.jsonl", *samples), tmp_path / "out.jsonl"
    limited = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000)); "
    code = limited + "from ctxmetrics.evaluation.cli import main; main()"
    command = [
        sys.executable,
        "-c",
        code,
        "score",
        str(file),
        "-m",
        "context_recall",
        "--out",
        str(out),
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 3, run
    assert (
        f"out.jsonl cannot be written: File too large; the rows before are in {out}.part" in run.stderr
    )
    assert "--resume" in run.stderr
    assert not out.exists()
    rows = read_rows(Path(f"{out}.part"))
    assert [row["sample_id"] for row in rows] == [str(i) for i in range(len(rows))]
    assert 2 < len(rows) < 200
    assert ctxmetrics("score", file, "-m", "context_recall", "--out", out, "--resume").returncode == 0
    assert len(read_rows(out)) == 200


@pytest.mark.slow
def test_a_closed_pipe_does_not_change_the_exit_status(tmp_path: Path) -> None:
    name = "ctxmetrics"
    command = (
        f'"{sys.executable}" -m {name} score "{data(tmp_path)}" --show 50 --fail-under context_recall=1'
    )
    run = subprocess.run(
        ["bash", "-c", f"{command} | true; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1, run
    assert "Traceback" not in run.stderr
    assert "BrokenPipe" not in run.stderr


# --- a request to Aegis ---


def payload(**changes: Any) -> dict[str, Any]:
    """In the shape of Aegis' page on ctx_recall."""
    evaluation = {
        "metrics": ["ctx_recall"],
        "threshold": 80,
        "model_slug": "some-model",
        "data": [
            {
                "context": ["The lamp weighs two kilograms.", "It is sold in green."],
                "golden_answer": "The lamp weighs two kilograms. It is sold in green. It needs four screws.",
            }
        ],
    }
    return {
        "threshold": 10,
        "model_slug": "some-model",
        "is_blocking": True,
        "data_collection_id": None,
        "evaluations": [{**evaluation, **changes.pop("inner", {})}],
        **changes,
    }


def aegis(folder: Path, content: dict[str, Any], *options: object) -> subprocess.CompletedProcess[str]:
    file = folder / "payload.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    return ctxmetrics("score", file, "--schema", "aegis", *options)


def test_the_payload_of_aegis_runs(tmp_path: Path) -> None:
    run = aegis(tmp_path, payload())
    assert run.returncode == 1, run  # two of three sentences: 66.7, the inner threshold counts
    assert re.search(r"context_recall\(convention=aegis\)  66\.6667 .* 0 of 1", run.stdout)
    assert "pass mark 80" in run.stdout
    assert "gate: context_recall(convention=aegis) is 66.6667, below 80" in run.stderr
    assert "these are not used: model_slug='some-model', data_collection_id=None" in run.stderr
    assert "write --judge openai/some-model" in run.stderr
    assert aegis(tmp_path, payload(inner={"threshold": 66})).returncode == 0
    assert aegis(tmp_path, payload(inner={"threshold": None}, threshold=66)).returncode == 1
    assert aegis(tmp_path, payload(is_blocking=False)).returncode == 0


def test_what_a_payload_says_wrongly_is_named(tmp_path: Path) -> None:
    for content, expected in (
        (payload(inner={"metrics": ["ans_corr"]}), "evaluation 1: the metric 'ans_corr' is not here."),
        (
            payload(inner={"is_blockin": True}),
            "evaluation 1: unknown field 'is_blockin'. Did you mean 'is_blocking'?",
        ),
        (payload(inner={"threshold": 180}), '"threshold" must be a number from 0 to 100'),
        (payload(inner={"data": []}), '"data" must be a list of samples'),
        (payload(evaluations=[]), '"evaluations" must be a list'),
        (
            payload(
                evaluations=[*payload()["evaluations"], *payload(inner={"threshold": 1})["evaluations"]]
            ),
            "differ",
        ),
        (
            payload(inner={"data": [{"golden_answers": "x"}]}),
            "evaluation 1, sample 1: unknown field 'golden_answers'",
        ),
    ):
        run = aegis(tmp_path, content)
        assert run.returncode == 2, run
        assert expected in run.stderr


def test_a_payload_and_options(tmp_path: Path) -> None:
    chosen = aegis(tmp_path, payload(), "--metric", "context_precision")
    assert chosen.returncode == 0, chosen
    assert "metrics, threshold and is_blocking (--metric is given)" in chosen.stderr
    other = aegis(tmp_path, payload(), "--convention", "default")
    assert other.returncode == 1
    assert "gate: context_recall is 0.6667, below 0.8" in other.stderr


def test_a_schema_implies_its_convention(tmp_path: Path) -> None:
    row = {"context": ["A red fox."], "golden_answer": "A red fox. It sleeps."}
    file = written(tmp_path, "s.jsonl", row)
    run = ctxmetrics("score", file, "--schema", "aegis", "--fail-under", "context_recall=50")
    assert run.returncode == 0, run
    assert "50.0000" in run.stdout
    assert "pass mark 80" in run.stdout
    run = ctxmetrics("score", file, "--schema", "aegis", "--convention", "default")
    assert re.search(r"context_recall +0\.5000", run.stdout)
    assert "convention=ragas" not in ctxmetrics("score", HANDBOOK).stdout


# --- names and small things ---


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("llm_context_recall", "'context_recall' with --judge openai/MODEL?"),
        ("LLMContextRecall", "'context_recall' with --judge openai/MODEL?"),
        ("llm_context_precision_with_reference", "'context_precision' with --judge openai/MODEL?"),
        ("LLMContextPrecisionWithoutReference", "'context_utilization' with --judge openai/MODEL?"),
        ("context_precision_with_reference", "'context_precision' with --judge openai/MODEL?"),
        ("contextual_recall", "'context_recall' with --judge openai/MODEL and --convention deepeval?"),
        (
            "ContextualPrecisionMetric",
            "'context_precision' with --judge openai/MODEL and --convention deepeval?",
        ),
        ("NonLLMContextPrecisionWithReference", "'non_llm_context_precision'?"),
        ("ctx_recall", "'context_recall' with --convention aegis?"),
        ("non_llm_context_recal", "'non_llm_context_recall'?"),
    ],
)
def test_other_names_of_metrics_name_ours(tmp_path: Path, typed: str, expected: str) -> None:
    line = refused("score", written(tmp_path, "s.jsonl", GOOD), "-m", typed)
    assert f"Did you mean {expected}" in line


def test_a_gate_off_the_scale_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path, "s.jsonl", GOOD)
    line = refused("score", file, "--fail-under", "context_recall=80")
    assert "context_recall is a number from 0 to 1. Write context_recall=0.8." in line
    assert "from 0 to 1" in refused("score", file, "--fail-under", "context_recall=-1")
    run = ctxmetrics("score", file, "--convention", "aegis", "--fail-under", "context_recall=0.8")
    assert run.returncode == 0
    assert "from 0 to 100; 0.8 is nearly 0 there" in run.stderr


@pytest.mark.slow
def test_the_version() -> None:
    run = in_own_process("--version")
    assert (run.returncode, run.stdout) == (0, f"ctxmetrics {__version__}\n")


@pytest.mark.parametrize("command", [(), ("cache",)])
def test_without_a_command_the_help_is_shown(command: tuple[str, ...]) -> None:
    run = ctxmetrics(*command)
    assert run.returncode == 2
    assert run.stdout == ""
    assert "Usage:" in run.stderr
    assert "--help" in run.stderr


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there are no pseudo-terminals")
@pytest.mark.parametrize(("no_color", "expected"), [("", True), ("1", False)])
def test_no_color_is_respected(tmp_path: Path, no_color: str, expected: bool) -> None:
    import pty

    master, terminal = pty.openpty()
    command = [sys.executable, "-m", "ctxmetrics", "score", str(data(tmp_path)), "--show", "1"]
    env = {**os.environ, "TERM": "xterm", "NO_COLOR": no_color, "FORCE_COLOR": ""}
    process = subprocess.Popen(command, stdout=terminal, stderr=subprocess.DEVNULL, env=env)
    os.close(terminal)
    shown = b""
    with contextlib.suppress(OSError):  # the end of a terminal, on Linux
        while piece := os.read(master, 65536):
            shown += piece
    assert process.wait(300) == 0
    os.close(master)
    assert (b"\x1b[" in shown) is expected
    assert "✗".encode() in shown


def test_russian_output_is_russian(tmp_path: Path) -> None:
    text = "Эйфелева башня построена в 1889 году. Её высота 330 метров. Она зелёная."
    row = {"reference": text, "retrieved_contexts": ["Эйфелева башня построена в 1889 году."]}
    page = tmp_path / "r.html"
    file = written(tmp_path, "s.jsonl", row)
    run = ctxmetrics(
        "score",
        file,
        "-m",
        "context_recall(threshold=0.5)",
        "--convention",
        "ru",
        "--show",
        1,
        "--report",
        page,
    )
    assert run.returncode == 0, run
    assert "0.33 (33%)" in run.stdout
    assert "подтверждено предложений: 1 из 3" in run.stdout
    assert "порог 0.5: не пройден" in run.stdout
    assert run.stdout.startswith("метрика ")
    assert not re.search("supported|sentence|mean|scored|passed|failed|interval", run.stdout)
    html = page.read_text(encoding="utf-8")
    assert '<html lang="ru">' in html
    assert "среднее</th>" in html
    assert "0.33 (33%), не пройден" in html
    assert "подтверждено предложений: 1 из 3" in html


def test_estimate_makes_no_cache(tmp_path: Path) -> None:
    run = ctxmetrics("estimate", data(tmp_path), "--cache", tmp_path / "cache")
    assert run.returncode == 0, run
    assert not (tmp_path / "cache").exists()


@pytest.mark.slow
def test_agree_with_a_dead_judge_exits_3(tmp_path: Path) -> None:
    labelled = {**GOOD, "labels": {"unit_supported": [True]}}
    file = written(tmp_path, "s.jsonl", labelled)
    run = ctxmetrics("agree", file, "--judge", "openai/m", "--base-url", dead_address(), **KEY)
    assert run.returncode == 3, run
    assert "no verdict at all for context_recall: connection_error" in run.stderr


def test_facts_of_a_file_are_counted_where_there_is_no_reference(tmp_path: Path) -> None:
    row = {
        "inputs": {"question": "q"},
        "outputs": {"answer": "a", "documents": ["Paris is big."]},
        "expectations": {"expected_facts": ["Rome is old.", "Paris is big."]},
    }
    scored = ctxmetrics("score", written(tmp_path, "rows.jsonl", row), "--schema", "mlflow")
    assert scored.returncode == 0, scored
    assert re.search(r"context_recall\(unit=fact\) +0\.5000", scored.stdout)
    assert re.search(r"context_precision\(unit=fact\) +1\.0000", scored.stdout)
    row["expectations"]["expected_response"] = "Paris is big."
    file = written(tmp_path, "rows.jsonl", row)
    scored = ctxmetrics("score", file, "--schema", "mlflow")
    assert (scored.returncode, "context_recall       1.0000" in scored.stdout) == (0, True), scored
    assert "note: reference_facts are counted where they are asked for" in scored.stderr
    scored = ctxmetrics("score", file, "--schema", "mlflow", "-m", "context_recall(unit=fact)")
    assert "context_recall(unit=fact)  0.5000" in scored.stdout
    cell = json.dumps(["Rome is old.", "Paris is big."]).replace('"', '""')
    text = f'reference_facts,retrieved_contexts\n"{cell}","[""Paris is big.""]"\n'
    (tmp_path / "rows.csv").write_text(text, encoding="utf-8")
    scored = ctxmetrics("score", tmp_path / "rows.csv", "-m", "context_recall(unit=fact)")
    assert "context_recall(unit=fact)  0.5000" in scored.stdout


def test_two_samples_of_one_id_in_a_file(tmp_path: Path) -> None:
    file = written(tmp_path, "twice.jsonl", GOOD, {**GOOD, "id": "b"}, GOOD)
    run = ctxmetrics("score", file)
    assert run.returncode in (2, 3), run
    assert "Samples 1 and 3 have the same id 'a'" in run.stderr


@pytest.mark.slow
def test_demo_prints_scores_of_the_example_and_writes_report(tmp_path):
    demo = ctxmetrics("demo", cwd=tmp_path)
    assert demo.returncode == 0, demo.stderr
    scored = ctxmetrics("score", HANDBOOK, "--show", 1)
    source_of_data = r"(?ms)^data .*?(?=^judge )"  # a long path stands in several lines
    assert re.sub(source_of_data, "", demo.stdout) == re.sub(source_of_data, "", scored.stdout)
    assert "the report: ctxmetrics-demo.html" in demo.stderr
    assert "hb-01" in (tmp_path / "ctxmetrics-demo.html").read_text(encoding="utf-8")


def test_command_line_has_the_defaults_of_run_options() -> None:
    """What a command takes beside its own options is an option of `evaluate`, with its default."""
    group = get_command(app)
    given = {
        (command, option.name): option.default
        for command in ("score", "agree", "estimate", "check-judge")
        for option in group.commands[command].params
        if option.name in DEFAULTS
    }
    assert {name for command, name in given if command == "score"} == {
        "max_concurrency", "cache", "timeout", "max_calls", "max_tokens", "out", "keep_texts",
        "max_retries", "requests_per_minute", "tokens_per_minute", "one_context", "drop_self", "batch", "tags",
    }  # fmt: skip
    assert given == {place: DEFAULTS[place[1]] for place in given}


def test_group_options_replace_its_parameter_in_place() -> None:
    given: list[object] = []

    def command(pace: Pace, number: Annotated[int, Help("How many.")] = 1) -> None:
        given.extend((pace, number))

    shown = with_options(command)
    assert list(signature(shown).parameters) == [
        "number", "max_concurrency", "timeout", "max_retries", "requests_per_minute", "tokens_per_minute"
    ]  # fmt: skip
    limits = {"max_retries": 1, "requests_per_minute": 9, "tokens_per_minute": None}
    shown(max_concurrency=3, timeout=2.0, number=4, **limits)
    assert given == [Pace(max_concurrency=3, timeout=2.0, **limits), 4]


LIMITS = {"max_concurrency", "timeout", "max_retries", "requests_per_minute", "tokens_per_minute"}


def test_every_command_that_asks_a_judge_takes_the_same_limits() -> None:
    commands = get_command(app).commands.values()
    options = {command.name: {option.name for option in command.params} for command in commands}
    asking = {name for name, names in options.items() if "judge" in names}
    assert asking == {"score", "run", "agree", "estimate", "doctor", "check-judge", "check-gold"}
    assert all(LIMITS | {"max_characters"} <= options[name] for name in asking)


@pytest.mark.slow
def test_max_characters_splits_what_is_sent() -> None:
    key = {"OPENAI_API_KEY": "sk-fake-key-of-nobody"}
    limits = ("--max-retries", 0, "--requests-per-minute", 1000, "--tokens-per-minute", 10**7)
    with FakeOpenAIServer(answer_from()) as server:
        judge = ("--judge", "openai/x", "--base-url", server.base_url)
        ctxmetrics("score", HANDBOOK, "-m", "context_recall", *judge, *limits, **key)
        whole = server.count
        ctxmetrics("score", HANDBOOK, "-m", "context_recall", *judge, "--max-characters", 1000, **key)
        assert server.count - whole > whole > 0
    refused = ctxmetrics("score", HANDBOOK, "--max-characters", 1000)
    assert (refused.returncode, "asks no language model" in refused.stderr) == (2, True)


def test_shared_options_have_equal_help_and_default() -> None:
    seen: dict[str, tuple[object, ...]] = {}
    for command in get_command(app).commands.values():
        for option in command.params:
            if option.name in {"schema", "columns", "base_url", "max_concurrency", "timeout", "cache"}:
                shape = (option.help, tuple(option.opts), option.default, option.multiple)
                assert seen.setdefault(option.name, shape) == shape
    assert len(seen) == 6


def test_every_option_has_help() -> None:
    for command in get_command(app).commands.values():
        if command.name != "cache":
            # An older typer does not hand the help of an argument to a newer click.
            options = [item for item in command.params if item.param_type_name == "option"]
            assert all(option.help for option in options), command.name


def test_a_misspelt_key_of_an_options_help_is_an_error() -> None:
    with pytest.raises(TypeError, match="lowst"):
        Help("How many.", lowst=0)  # type: ignore[call-arg]


def test_help_lists_options_in_groups_and_arguments_first() -> None:
    shown = ctxmetrics("score", "--help").stdout
    titles = re.findall(r"^(\S.*):$", shown, re.MULTILINE)
    assert titles == [
        "Arguments",
        "Options",
        "What is written beside the text that is printed, and kept for a later run",
        "The pace of a run, and the most that it may cost",
        "A file of samples, and how it is read",
        "The metrics to compute",
        "Who judges, and how it asks its model",
        "What must hold of a run, else the exit status is 1",
        "Options of every command",
    ]
    gates = shown.partition(titles[7])[2].partition("Options of every")[0]
    assert re.findall(r"--[a-z-]+ (?:TEXT|NUMBER|PATH)|--require-calibration", gates) == [
        "--fail-under TEXT", "--min-pass-rate TEXT", "--controls NUMBER", "--min-controls NUMBER",
        "--max-doubtful NUMBER", "--calibration PATH", "--require-calibration", "--max-age TEXT",
        "--junit PATH",
    ]  # fmt: skip


def test_plain_score_names_next_step_and_leads_with_judged() -> None:
    run = ctxmetrics("score", HANDBOOK)
    names = [line.split()[0] for line in run.stdout.splitlines()[1:9]]
    assert names[:2] == ["context_recall", "context_precision"]
    assert names.index("without") == 3  # the heading above what strings and ids say
    assert {name.partition("_")[0] for name in names[4:]} == {"non", "id"}
    assert "--show 3" in run.stderr
    assert "--report" in run.stderr
    assert "--show 3" not in ctxmetrics("score", HANDBOOK, "--show", "1").stderr


def test_samples_that_are_repeated_do_not_narrow_an_interval(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in HANDBOOK.read_text(encoding="utf-8").splitlines()[:6]]
    copies = [{**row, "id": f"{row['id']}-{turn}"} for turn in range(10) for row in rows]
    metric = ("--metric", "id_based_context_recall")
    once = ctxmetrics("score", written(tmp_path, "once.jsonl", *rows), *metric)
    often = ctxmetrics("score", written(tmp_path, "often.jsonl", *copies), *metric)
    intervals = [re.search(r"\d\.\d{4} to \d\.\d{4}", run.stdout) for run in (once, often)]
    assert intervals[0]
    assert intervals[1]
    assert intervals[0][0] == intervals[1][0]
    assert "60 samples, 6 distinct" in often.stdout
    assert "distinct" not in once.stdout


@pytest.mark.slow
def test_what_is_explained_uses_the_width_of_the_terminal(tmp_path: Path) -> None:
    import pty

    question = "Where is the pump, " * 6 + "and why?"
    row = {**GOOD, "user_input": question, "retrieved_contexts": ["Lyon."]}
    file = written(tmp_path, "s.jsonl", row)
    master, terminal = pty.openpty()
    command = [sys.executable, "-m", "ctxmetrics", "score", str(file), "--show", "1"]
    process = subprocess.Popen(
        command, stdout=terminal, stderr=subprocess.DEVNULL, env={**os.environ, "COLUMNS": "150"}
    )
    os.close(terminal)
    shown = b""
    with contextlib.suppress(OSError):  # the end of a terminal, on Linux
        while piece := os.read(master, 65536):
            shown += piece
    assert process.wait(300) == 0
    os.close(master)
    assert question in shown.decode()
    assert question not in ctxmetrics("score", file, "--show", "1").stdout


@pytest.mark.parametrize("reference", [True, False], ids=["with a reference", "without"])
def test_a_metric_that_doubles_the_requests_is_chosen_by_name(
    tmp_path: Path, reference: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(*next(iter(KEY.items())))
    row = {**GOOD, "response": "It is Paris, the capital.", "user_input": "Which city?"}
    if not reference:
        del row["reference"]
    file = written(tmp_path, "s.jsonl", row)
    with FakeOpenAIServer(answer_from()) as server:
        options = ("score", file, "--judge", "openai/m", "--base-url", server.base_url)
        alone = ctxmetrics(*options)
        assert server.count == 1
        assert ("context_utilization is left out" in alone.stderr) == reference
        assert ("context_utilization  " in alone.stdout) != reference
        both = ctxmetrics(*options, "-m", "context_utilization")
    assert "context_utilization" in both.stdout
    assert "is left out" not in both.stderr
    assert "is left out" not in ctxmetrics("score", file).stderr, "the embedded judge asks nobody"


def test_only_scores_again_what_failed(tmp_path: Path) -> None:
    file = data(tmp_path)
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    first = tmp_path / "first.jsonl"
    marked = ("-m", "context_recall(threshold=0.9)")
    assert ctxmetrics("score", file, *marked, "--out", first).returncode == 0
    below = [row["sample_id"] for row in read_rows(first) if not row["passed"]]
    assert 0 < len(below) < len(rows)
    again = tmp_path / "again.jsonl"
    run = ctxmetrics("score", file, *marked, "--only", f"{first}.failed", "--out", again)
    assert run.returncode == 0, run.stderr
    assert f"{len(below)} of {len(rows)} samples" in run.stderr
    assert [row["sample_id"] for row in read_rows(again)] == below
    results = Results.from_jsonl(first)
    assert [row.sample_id for row in results.failed()] == below
    high = results.filter(lambda row: row.scores[0].value == 1)
    assert len(high) + len(below) == len(rows)
    assert high.summary()["context_recall"].mean == 1.0
    high.to_jsonl(tmp_path / "high.jsonl")
    run = ctxmetrics("score", file, *marked, "--only", tmp_path / "high.jsonl.failed")
    assert run.returncode == 2
    assert "no sample of the file failed there" in run.stderr


def test_score_looks_for_no_list_mark_in_a_context(tmp_path: Path) -> None:
    row = {"reference": "Step 1. Press the button.", "retrieved_contexts": ["Press the button."]}
    samples = tmp_path / "samples.jsonl"
    samples.write_text(json.dumps(row) + "\n", encoding="utf-8")
    run = ctxmetrics("score", samples, "--metric", "context_recall", "--out", tmp_path / "out.jsonl")
    assert run.returncode == 0, run.stderr
    (line,) = Results.from_jsonl(tmp_path / "out.jsonl")
    assert line["context_recall"].value == 1.0


@pytest.mark.slow
def test_stdout_of_another_encoding_gets_escapes(tmp_path: Path) -> None:
    row = {**GOOD, "user_input": "Где столица?"}
    file = written(tmp_path, "data.jsonl", row)
    run = in_own_process("score", file, "--show", "1", PYTHONIOENCODING="cp1252")
    assert run.returncode == 0, run.stderr
    assert "\\u0413\\u0434\\u0435" in run.stdout
    assert "1.0000" in run.stdout


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX closes the stream")
def test_a_closed_stdout_is_no_error(tmp_path: Path) -> None:
    file = written(tmp_path, "data.jsonl", GOOD)
    command = (
        f"{sys.executable} -m ctxmetrics score {file} -m context_recall --out {tmp_path}/out.jsonl >&-"
    )
    run = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "Traceback" not in run.stderr
    assert Results.from_jsonl(tmp_path / "out.jsonl")[0]["context_recall"].value == 1.0


@pytest.mark.parametrize(
    ("words", "note"),
    [
        (("score", "FILE", "--title", "x"), "without --report, --title changes nothing"),
        (("score", "FILE", "--keep-texts"), "without --out or --otel, --keep-texts changes nothing"),
        (("score", "FILE", "--tag", "x"), "without --out or --write-baseline, --tag changes nothing"),
        (("compare", "RUN", "RUN", "--title", "x"), "without --report, --title changes nothing"),
        (("compare", "RUN", "RUN", "--keep-gates"), "without --max-drop or --not-worse, --keep-gates"),
        (("history", "RUN", "--title", "x"), "without --report, --title changes nothing"),
        (("check-gold", "FILE", "--seed", "3"), "without --audit, --seed changes nothing"),
        (("doctor", "--map", "a=user_input"), "without FILE, --map changes nothing"),
        (("estimate", "FILE", "--changed", ".2"), "without --detect or --max-drop or --not-worse"),
        (
            ("estimate", "RUN", "--detect", ".1", "-m", "mrr"),
            "all of its metrics count, and --metric changes nothing",
        ),
    ],
)
def test_an_option_without_effect_is_noted(tmp_path: Path, words: tuple[str, ...], note: str) -> None:
    lost = {**GOOD, "id": "b", "retrieved_contexts": ["Snow is white."]}
    file = written(tmp_path, "data.jsonl", GOOD, lost)
    results = tmp_path / "run.jsonl"
    assert ctxmetrics("score", file, "-m", "context_recall", "--out", results).returncode == 0
    paths = {"FILE": file, "RUN": results}
    run = ctxmetrics(*(paths.get(word, word) for word in words))
    assert run.returncode == 0, run.stderr
    assert f"note: {note}" in run.stderr or note in run.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--out", "-"), "--out -: this is no name of a file. For stdout write /dev/stdout."),
        (("--report", "-"), "--report -: this is no name of a file."),
        (("--no-header",), "--header and --names are about .csv, .tsv and .xlsx files"),
        (("--names", "id,question"), "--header and --names are about .csv, .tsv and .xlsx files"),
        # What follows is of the versions of typer and pydantic.
        (("--show", "-1"), "ctxmetrics: Invalid value for '--show': "),
    ],
)
def test_options_that_do_not_fit_are_refused(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    assert says in refused("score", written(tmp_path, "data.jsonl", GOOD), *words)


def test_json_is_what_the_option_is_called() -> None:
    assert "No such option: --json. Did you mean --format json?" in refused(
        "compare", "a", "b", "--json"
    )


def test_a_page_has_the_ending_of_a_page(tmp_path: Path) -> None:
    file = written(tmp_path, "data.jsonl", GOOD)
    results = tmp_path / "run.jsonl"
    assert ctxmetrics("score", file, "--out", results).returncode == 0
    for words in (("compare", results, results), ("history", results), ("check-gold", file)):
        run = ctxmetrics(*words, "--report", tmp_path / "page.txt")
        assert run.returncode == 2
        assert "the report is a page. Write --report FILE.html." in run.stderr


def test_a_history_of_a_folder_takes_its_runs(tmp_path: Path) -> None:
    samples = written(tmp_path, "data.jsonl", GOOD)
    folder = tmp_path / "results"
    folder.mkdir()
    for name in ("b.jsonl", "a.jsonl"):
        run = ctxmetrics(
            "score",
            samples,
            "-m",
            "context_recall",
            "--out",
            folder / name,
            "--cache",
            folder / f"{name}.cache",
        )
        assert run.returncode == 0, run.stderr
    (folder / "samples.jsonl").write_bytes(samples.read_bytes())
    (folder / "c.jsonl.part").write_bytes((folder / "a.jsonl").read_bytes()[:40])
    history = ctxmetrics("history", folder, "--format", "json")
    assert history.returncode == 0, history.stderr
    names = [Path(run["origin"]["name"]).name for run in json.loads(history.stdout)["runs"]]
    assert names == ["a.jsonl", "b.jsonl"]
    assert history.stderr.count("note: left out: ") == 1
    assert "samples.jsonl holds samples, not results" in history.stderr
