"""Options that stand in a file: the same run as by options, and a clear error for each wrong file."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from ctxmetrics import Config, Results
from ctxmetrics.errors import InputFileError
from ctxmetrics.testing import assert_not_worse
from support.cases import each_case
from support.command import run_command

ROWS = [
    {
        "id": "a",
        "user_input": "What does the pump do?",
        "reference": "The pump moves water. It stops at noon.",
        "retrieved_contexts": ["The pump moves water."],
    },
    {
        "id": "b",
        "user_input": "Who built the mill?",
        "reference": "Ada built the mill.",
        "retrieved_contexts": ["Ada built the mill."],
    },
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    lines = [json.dumps(row) for row in ROWS]
    (tmp_path / "samples.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(text, path="ctxmetrics.toml"):
    Path(path).write_text(text, encoding="utf-8")


def rows_of(path):
    rows = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    return [(row["sample_id"], row["metric"], row["value"]) for row in rows if "metric" in row]


WHOLE = """
file = "samples.jsonl"
metric = ["context_recall(top_k=1)", "context_precision"]
judge = "lexical:min_coverage=.5"
out = "results.jsonl"
keep-texts = true
max_concurrency = 3
fail-under = { context_precision = 0.5 }
"""
BY_OPTIONS = (
    *("samples.jsonl", "-m", "context_recall(top_k=1)", "-m", "context_precision"),
    *("--judge", "lexical:min_coverage=.5", "--out", "by_options.jsonl", "--keep-texts"),
)


def test_a_file_gives_what_its_options_give(folder):
    write(WHOLE)
    done = run_command("score")
    assert done.returncode == 0, done.stderr
    assert "options from ctxmetrics.toml\n" in done.stderr
    Path("ctxmetrics.toml").unlink()
    assert run_command("score", *BY_OPTIONS).returncode == 0
    assert rows_of("results.jsonl") == rows_of("by_options.jsonl")
    assert [value for _, _, value in rows_of("results.jsonl")] == [0.5, 1.0, 1.0, 1.0]


def test_python_reads_the_same(folder):
    write(WHOLE)
    results = Config.load().evaluate(progress=False)
    assert [[score.value for score in row.values()] for row in results] == [[0.5, 1.0], [1.0, 1.0]]
    assert results.source == "samples.jsonl"


def test_an_option_on_the_command_line_wins(folder):
    write(WHOLE)
    done = run_command("score", "-m", "context_recall", "--out", "other.jsonl")
    assert done.returncode == 2  # the gate of the file is about another metric
    assert "--fail-under" in done.stderr
    write(WHOLE.replace("fail-under", "# "))
    assert run_command("score", "-m", "context_recall", "--out", "other.jsonl").returncode == 0
    assert {metric for _, metric, _ in rows_of("other.jsonl")} == {"context_recall"}
    assert not Path("results.jsonl").exists()


def test_paths_are_relative_to_the_file(folder, monkeypatch):
    write(WHOLE)
    below = folder / "src" / "deep"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert run_command("score").returncode == 0
    assert (folder / "results.jsonl").is_file()
    assert not list(below.iterdir())


def test_pyproject_is_read_and_the_nearer_file_wins(folder):
    write("[tool.ctxmetrics]\nfile = 'samples.jsonl'\nmetric = 'context_recall'\n", "pyproject.toml")
    done = run_command("score")
    assert done.returncode == 0, done.stderr
    assert "options from pyproject.toml" in done.stderr
    write(WHOLE)
    assert "options from ctxmetrics.toml" in run_command("score").stderr
    done = run_command("score", "--config", "pyproject.toml")
    assert "options from pyproject.toml" in done.stderr
    assert "context_precision" not in done.stdout


def test_a_broken_file_of_others_is_not_looked_at(folder):
    write("[tool.x\n", "pyproject.toml")
    assert run_command("score", "samples.jsonl").returncode == 0


def test_a_named_file_wins_over_a_broken_one(folder):
    write("nonsense = 1\n")
    write(WHOLE, "good.toml")
    assert run_command("score").returncode == 2
    assert run_command("score", "--config", "good.toml").returncode == 0
    # These score no file of one's own.
    assert run_command("demo", "--report", "demo.html").returncode == 0


def test_commands_that_read_samples_share_the_options(folder):
    write("file = 'samples.jsonl'\nmap = { user_input = 'metadata' }\nout = 'results.jsonl'\n")
    assert run_command("inspect").stdout.endswith("--map user_input=metadata\n")
    assert "2 samples: 2 calls" in run_command("estimate", "--judge", "openai/m").stdout
    before = Path("samples.jsonl").read_text(encoding="utf-8")
    done = run_command("spans", "samples.jsonl", "--sources", ".")
    assert json.loads(done.stdout.splitlines()[0])["id"] == "a"  # `out` is that of score alone
    assert Path("samples.jsonl").read_text(encoding="utf-8") == before


COMPARING = """
file = "samples.jsonl"
metric = "context_recall"
out = "results.jsonl"
write-baseline = "baseline.jsonl"

[compare]
first = "baseline.jsonl"
second = "results.jsonl"
not-worse = { context_recall = 0.02 }
"""


def test_compare_alone_is_the_gate(folder):
    write(COMPARING)
    assert run_command("score").returncode == 0
    assert run_command("compare").returncode == 0
    write(COMPARING.replace("write-baseline", "# "))
    rows = [{**row, "retrieved_contexts": ["Nothing of it."]} for row in ROWS]
    write("\n".join(map(json.dumps, rows)), "samples.jsonl")
    assert run_command("score").returncode == 0
    done = run_command("compare")
    assert done.returncode == 1
    assert "gate:" in done.stderr


def test_the_gate_of_pytest_reads_it(folder):
    write(COMPARING)
    config = Config.load()
    config.evaluate(progress=False).to_baseline(config.baseline)
    same = config.evaluate(progress=False)
    assert assert_not_worse(same, config.baseline, margin=config.margin)
    rows = [{**row, "retrieved_contexts": ["Nothing of it."]} for row in ROWS]
    write("\n".join(map(json.dumps, rows)), "samples.jsonl")
    worse = config.evaluate(progress=False)
    with pytest.raises(AssertionError, match="context_recall"):
        assert_not_worse(worse, config.baseline, margin=config.margin)


@pytest.mark.parametrize("name", ["samples.jsonl", "one.csv"])
def test_init_writes_what_score_alone_runs(folder, name):
    write("q,gold,ctx\nWho?,Ada did it.,Ada did it.\n", "one.csv")
    mapping = ["--map", "gold=reference", "--map", "ctx=retrieved_contexts", "--map", "q=user_input"]
    options = mapping if name == "one.csv" else []
    done = run_command("init", name, *options)
    assert done.returncode == 0, done.stderr
    done = run_command("score")
    assert done.returncode == 0, done.stderr
    assert Path("report.html").is_file()
    assert len(Results.from_jsonl("results.jsonl")) == (1 if options else 2)
    done = run_command("init", name, *options)
    assert done.returncode == 2
    assert "ctxmetrics.toml is there already" in done.stderr


def test_init_writes_how_the_file_is_read(folder):
    nested = {"id": "a", "inputs": {"question": "Who?"}, "outputs": {"documents": ["Ada did it."]}}
    write(json.dumps({**nested, "reference_outputs": {"answer": "Ada did it."}}), "nested.jsonl")
    assert run_command("init", "nested.jsonl", "--out", "nested.toml").returncode == 0
    options = tomllib.loads(Path("nested.toml").read_text(encoding="utf-8"))
    assert options["map"] == [
        "inputs.question=user_input",
        "reference_outputs.answer=reference",
        "outputs.documents=retrieved_contexts",
    ]
    done = run_command("inspect", "--config", "nested.toml", "nested.jsonl")
    assert "nested.jsonl (schema ragas)" in done.stdout  # nothing was recognised
    assert run_command("score", "--config", "nested.toml").returncode == 0
    assert run_command("score", "nested.jsonl", "--out", "recognised.jsonl").returncode == 0
    assert rows_of("results.jsonl") == rows_of("recognised.jsonl")


def test_init_leaves_the_schema_that_was_named(folder):
    write(
        json.dumps({"input": "Who?", "expected_output": "Ada.", "retrieval_context": ["Ada."]}),
        "d.jsonl",
    )
    assert run_command("init", "d.jsonl", "--schema", "deepeval").returncode == 0
    options = tomllib.loads(Path("ctxmetrics.toml").read_text(encoding="utf-8"))
    assert options["schema"] == "deepeval"
    assert "map" not in options


def test_init_in_another_folder_names_the_file_from_there(folder):
    Path("ci").mkdir()
    assert run_command("init", "samples.jsonl", "--out", "ci/ctxmetrics.toml").returncode == 0
    assert 'file = "../samples.jsonl"' in Path("ci/ctxmetrics.toml").read_text(encoding="utf-8")
    assert run_command("score", "--config", "ci/ctxmetrics.toml").returncode == 0
    assert Path("ci/results.jsonl").is_file()


def test_the_file_of_the_docs_runs(folder):
    page = (Path(__file__).parents[4] / "docs" / "cli.md").read_text(encoding="utf-8")
    text = page.partition("```toml\n")[2].partition("```")[0]
    code = page.partition("```python config\n")[2].partition("```")[0]
    write(text.replace("openai/gpt-4o-mini", "lexical"))
    rows = [{"question": row["user_input"], **row} for row in ROWS]
    for row in rows:
        del row["user_input"]
    write("\n".join(map(json.dumps, rows)), "samples.jsonl")
    assert run_command("score", "--write-baseline", "baseline.jsonl").returncode == 1  # the gate: .75
    config = Config.load()
    assert config.commands["score"]["fail_under"] == ["context_recall=0.8"]
    config.evaluate().to_baseline(config.baseline)
    exec(code, {})  # noqa: S102 - the block of the page; its gate passes
    config.evaluate(out="results.jsonl")
    assert run_command("compare").returncode == 0
    assert config.margin == {"context_recall": 0.02}


# A wrong file, and what the message says. Each begins with the path.
WRONG = {
    "metrics = ['context_recall']": "metrics is unknown. Did you mean 'metric'?",
    "fail_undr = {}": "fail_undr is unknown. Did you mean 'fail-under'?",
    "judgee = 'lexical'": "judgee is unknown. Did you mean 'judge'?",
    "max-concurency = 2": "max-concurency is unknown. Did you mean 'max-concurrency'?",
    "basline = 'x'": "basline is unknown.",
    "zzz = 1": "zzz is unknown. Keys are the options of ctxmetrics score.",
    "Judge = 'lexical'": "Judge is unknown. Did you mean 'judge'?",
    "api_key = 'x'": "api_key: a key has no place in a file that is committed.",
    "openai_api_key = 'x'": "openai_api_key: a key has no place",
    "token = 'x'": "token: a key has no place",
    "password = 'x'": "password: a key has no place",
    "judge = 'openai/sk-0123456789abcdef'": "judge holds a key.",
    "base-url = 'http://h/?api_key=abcdef0123456789'": "base-url holds a key.",
    "metric = ['sk-0123456789abcdef']": "metric holds a key.",
    "judge = {api_key = 'sk-0123456789abcdef'}": "judge holds a key.",
    "judge = ['openai/sk-0123456789abcdef']": "judge holds a key.",
    "fail-under = {sk-0123456789abcdef = [1]}": "fail-under holds a key.",
    "metric = 3": "metric = 3: should be a valid array.",
    "metric = [3]": "metric = [3]: should be a valid string.",
    "metric = { a = { top_k = 3 } }": "should be a valid array.",
    "judge = 3": "judge = 3: should be a valid string.",
    "judge = ['lexical']": "should be a valid string.",
    "file = 3": "file = 3: should be a valid string.",
    "file = true": "file = True: should be a valid string.",
    "file = ['a.jsonl', 'b.jsonl']": "should be a valid string.",
    "timeout = 'long'": "timeout = long: should be a valid number.",
    "timeout = true": "timeout = True: should be a valid number.",
    "max-concurrency = 2.5": "max-concurrency = 2.5: should be a valid integer.",
    "max-concurrency = '2'": "max-concurrency = 2: should be a valid integer.",
    "keep-texts = 'yes'": "keep-texts = yes: should be a valid boolean.",
    "keep-texts = 1": "keep-texts = 1: should be a valid boolean.",
    "show = [1]": "show = [1]: should be a valid integer.",
    "missing = 'skip'": "missing = skip: should be 'zero' or 'drop'.",
    "out = 2026-01-01": "out = 2026-01-01: no text, number or list of them.",
    "timeout = nan": "timeout = nan: no text, number or list of them.",
    "max-tokens = 1\nmax_tokens = 2": "max_tokens is there twice. Remove one.",
    "compare = 3": "compare is a command. Write a table: [compare].",
    "[compare]\nfrist = 'a'": "frist is unknown. Did you mean 'first'?",
    "[compare]\nzzz = 'a'": "zzz is unknown. Keys are the options of ctxmetrics compare.",
    "[compare]\nmax-drop = 0.1": "max-drop = 0.1: should be a valid array.",
    "[score]\nfile = 'a'": "score is unknown.",
    "[demo]\nreport = 'a'": "demo is unknown.",
    "file = ": "is no TOML file: Invalid value (at",
    "file = 'a'\nfile = 'b'": "is no TOML file: Cannot overwrite a value",
    "file 'a'": "is no TOML file:",
}


@pytest.mark.slow
@each_case("text", WRONG)
def test_a_wrong_file_has_a_clear_error(folder, text):
    write(text)
    with pytest.raises(InputFileError, match=re.escape(WRONG[text])) as error:
        Config.load()
    assert str(error.value).startswith("ctxmetrics.toml")
    done = run_command("score", "samples.jsonl")
    assert done.returncode == 2
    assert done.stderr.startswith("ctxmetrics: ctxmetrics.toml")
    assert len(done.stderr.splitlines()) == 1


def test_files_that_cannot_be_read_have_clear_errors(folder):
    with pytest.raises(InputFileError, match=r"no ctxmetrics\.toml is here or above"):
        Config.load()
    with pytest.raises(InputFileError, match="No such file"):
        Config.load("none.toml")
    with pytest.raises(InputFileError, match="directory"):
        Config.load(".")
    Path("ctxmetrics.toml").write_bytes(b"file = '\xff\xfe'")
    with pytest.raises(InputFileError, match="is no TOML file: 'utf-8' codec"):
        Config.load()
    write("[tool]\nctxmetrics = 3", "pyproject.toml")
    with pytest.raises(InputFileError, match="must be a table"):
        Config.load("pyproject.toml")
    write("metric = 'context_recall'")
    with pytest.raises(InputFileError, match=r"no samples\. Write file = "):
        Config.load().evaluate()


def test_pairs_of_paths_are_relative_to_the_file(folder):
    assert run_command("score", "samples.jsonl", "--out", "a.jsonl", "--keep-texts").returncode == 0
    assert run_command("score", "samples.jsonl", "--out", "b.jsonl", "--keep-texts").returncode == 0
    (folder / "options").mkdir()
    write('[label]\ncompare = ["../a.jsonl", "../b.jsonl"]\n', "options/x.toml")
    assert Config.load("options/x.toml").commands["label"]["compare"] == (
        Path("options/../a.jsonl"),
        Path("options/../b.jsonl"),
    )


def test_a_project_file_without_tables_has_no_options(folder):
    write("tool = 3  # [tool.ctxmetrics]\n", "pyproject.toml")
    run = run_command("score", "samples.jsonl", "-m", "context_recall")
    assert run.returncode == 0, run.stderr


def test_a_project_file_that_cannot_be_read_has_no_options(folder, monkeypatch):
    write("[tool.ctxmetrics]\nshow = 1\n", "pyproject.toml")

    def refuse(path, *arguments, **options):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(InputFileError, match=r"no ctxmetrics\.toml is here or above"):
        Config.load()


def test_without_a_current_folder_there_are_no_options(folder, monkeypatch):
    def refuse():
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(Path, "cwd", refuse)
    with pytest.raises(InputFileError, match=r"no ctxmetrics\.toml is here or above"):
        Config.load()


def test_a_batch_of_the_command_is_none_in_python(folder):
    write('file = "samples.jsonl"\nmetric = "context_recall"\nbatch = "submit"\n')
    assert Config.load().evaluate(progress=False)[1]["context_recall"].value == 1.0
