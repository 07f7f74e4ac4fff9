"""What a file holds is shown before it is scored, and a field that could be read from two columns is not read."""

from __future__ import annotations

import io
import json
import re
import shlex
import sys
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import evaluate, read_samples
from ctxmetrics.errors import AmbiguousFieldError, SampleError
from ctxmetrics.evaluation.cli import main
from ctxmetrics.metrics.catalog import METRICS
from support.command import run_command
from support.exports import ANSWER, CONTEXTS, QUESTION, RAGAS_V1, REFERENCE

if TYPE_CHECKING:
    from pathlib import Path

OTHER = ["Another text about the pump.", "A second one about it."]


def written(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "s.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_each_field_is_shown_with_its_column_and_first_value(tmp_path: Path) -> None:
    path = written(tmp_path, {**RAGAS_V1, "team": "x"}, *[{**RAGAS_V1, "question": "Who?"}] * 2)
    done = run_command("inspect", path)
    assert done.returncode == 0, done.stderr
    for name, column, value in (
        ("user_input", "question", f"'{QUESTION[:40]}"),
        ("response", "answer", f"'{ANSWER}'"),
        ("retrieved_contexts", "contexts", f"2 items, the first: '{CONTEXTS[0]}'"),
        ("reference", "ground_truth", "'The pump is"),
    ):
        assert re.search(rf"^  {name} +{column} +{re.escape(value)}", done.stdout, re.MULTILINE), (
            done.stdout
        )
    assert "carried along as metadata: team\n" in done.stdout
    assert "3 samples, 2 distinct\n" in done.stdout
    assert (
        "metrics that can run: context_recall, context_precision, context_utilization\n" in done.stdout
    )
    assert done.stdout.endswith(f"score it with: ctxmetrics score {path}\n")
    assert read_samples(path).reading.mapping["reference"] == "ground_truth"
    assert not done.stderr


def test_what_no_metric_can_use_is_said(tmp_path: Path) -> None:
    done = run_command("inspect", written(tmp_path, {"question": "q", "answer": "a"}))
    assert done.returncode == 0
    assert "no metric can run. No column that is left holds a list of texts" in done.stdout
    assert "no metric can use: user_input, response" in done.stdout
    assert "score it with" not in done.stdout


def test_both_files_are_shown(tmp_path: Path) -> None:
    path = written(tmp_path, {"id": 1, "contexts": CONTEXTS})
    gold = tmp_path / "gold.json"
    gold.write_text(
        json.dumps([{"id": 1, "expected_output": REFERENCE}, {"id": 2, "expected_output": "B."}])
    )
    done = run_command("inspect", path, "--references", gold)
    assert re.search(r"^  reference +expected_output", done.stdout, re.MULTILINE)
    assert (
        "1 of the references without a partner (they count as questions with nothing retrieved): '2'"
        in done.stderr
    )
    assert f"score it with: ctxmetrics score {path} --references {gold}\n" in done.stdout


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    done = run_command("inspect", written(tmp_path, {**RAGAS_V1, "contexts": 7}))
    assert (done.returncode, "line 1: field 'retrieved_contexts' must be" in done.stderr) == (2, True)


# By the field: two columns that may both be it, with different values.
TWICE = {
    "retrieved_contexts": {"contexts": CONTEXTS, "retrieved_documents": OTHER},
    "response": {"answer": ANSWER, "actual_output": "Nobody knows."},
    "reference": {"ground_truth": REFERENCE, "expected_output": "Nobody knows."},
    "user_input": {"question": QUESTION, "query": "pump guarantee"},
    "retrieved_context_ids": {"retrieved_context_ids": ["a"], "retrieved_ids": ["b"]},
}


@pytest.mark.parametrize("field", TWICE)
def test_a_field_that_two_columns_may_hold_is_not_read(field: str, tmp_path: Path) -> None:
    path = written(tmp_path, {**RAGAS_V1, **TWICE[field]})
    for command in ("score", "estimate"):
        done = run_command(command, path)
        assert done.returncode == 2, done.stdout
        assert f"ctxmetrics inspect {path} shows all columns." in done.stderr
    row = json.loads(path.read_text())
    with pytest.raises(SampleError, match="--map"):
        evaluate([row], [kind() for kind in METRICS.values()], progress=False)
    shown = run_command("inspect", path)
    assert shown.returncode == 0
    offered = re.findall(r"^score it with: ctxmetrics (.*)$", shown.stdout, re.MULTILINE)
    read = []
    for line in offered:
        done = run_command(*shlex.split(line))
        assert done.returncode == 0, done.stderr
        column, _, name = shlex.split(line)[-1].rpartition("=")
        assert name == field
        (sample,) = read_samples(path, columns={column: name})
        value = getattr(sample, field)
        assert value == (tuple(row[column]) if isinstance(row[column], list) else row[column])
        read.append(column)
    assert sorted(read) == sorted(TWICE[field])


@pytest.mark.parametrize(
    "more",
    [
        {"retrieved_documents": CONTEXTS},  # the same
        {"expected_output": REFERENCE},
        {"retrieved_documents": ["d1", "d2"]},  # ids
        {"data": "a", "prompt": f"Answer: {QUESTION}"},
    ],
)
def test_columns_that_cannot_be_meant_leave_no_doubt(more: dict[str, Any], tmp_path: Path) -> None:
    (sample,) = read_samples(written(tmp_path, {**RAGAS_V1, **more}))
    assert (sample.retrieved_contexts, sample.reference) == (tuple(CONTEXTS), REFERENCE)


def test_a_column_that_may_be_two_fields_is_shown(tmp_path: Path) -> None:
    row = {"input": QUESTION, "expected_output": REFERENCE, "context": CONTEXTS}
    path = written(tmp_path, row)
    with pytest.raises(AmbiguousFieldError, match=f"ctxmetrics inspect {path}"):
        list(read_samples(path))
    shown = run_command("inspect", path)
    assert f"score it with: ctxmetrics score {path} --map context=retrieved_contexts\n" in shown.stdout
    assert (
        "it may also be: --map context=reference_contexts\n" in shown.stdout
    )  # nothing is retrieved then


class Terminal(io.StringIO):
    """A terminal on which something is typed, or that shows something."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("typed", "expected"), [("2", "retrieved_documents=retrieved_contexts"), ("0", None)]
)
def test_a_terminal_is_asked(
    typed: str, expected: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, {**RAGAS_V1, **TWICE["retrieved_contexts"]})
    screen = Terminal()
    monkeypatch.setattr(sys, "argv", ["ctxmetrics", "inspect", str(path)])
    monkeypatch.setattr(sys, "stdin", Terminal(f"{typed}\n" * 3))
    monkeypatch.setattr(sys, "stdout", screen)
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code, screen.getvalue()
    assert (
        f"2: retrieved_documents=retrieved_contexts  2 items, the first: '{OTHER[0]}'"
        in screen.getvalue()
    )
    last = screen.getvalue().splitlines()[-1]
    option = expected or "contexts=metadata"
    assert last.startswith(f"score it with: ctxmetrics score {path} --map {option}")


# --- traces ---


def span(name: str, parent: str | None, kind: str, **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "trace_id": "t",
        "parent_run_id": parent,
        "run_type": kind,
        "start_time": name,
        **more,
    }


def found(*texts: str) -> dict[str, Any]:
    return {
        "outputs": {"documents": [{"page_content": text} for text in texts]},
        "inputs": {"query": "rewritten"},
    }


def test_outermost_retrievers_count_and_are_joined_in_order(
    tmp_path: Path,
) -> None:
    path = written(
        tmp_path,
        span("d", "b", "retriever", **found("Inner.")),
        span("c", "a", "retriever", **found("Third.")),
        span("b", "a", "retriever", **found("First.", "Second.")),
        span("a", None, "chain", inputs={"question": QUESTION, "k": 2}, outputs={"answer": ANSWER}),
        span("z", None, "llm", inputs={"question": "Who?"}, outputs={"answer": "B."}, trace_id="other"),
    )  # fmt: skip
    one, other = read_samples(path)
    assert (one.user_input, one.response) == (QUESTION, ANSWER)
    assert one.retrieved_contexts == ("First.", "Second.", "Third.")
    assert one.metadata["inputs"] == {"question": QUESTION, "k": 2}
    assert (other.user_input, other.response, other.retrieved_contexts) == ("Who?", "B.", None)


def test_spans_in_a_circle_end(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        span("a", "b", "retriever", **found("One.")),
        span("b", "a", "chain", inputs={"question": "q"}),
    )
    (sample,) = read_samples(path)
    assert sample.retrieved_contexts == ("One.",)


def test_what_a_retriever_gives_out_is_no_answer(tmp_path: Path) -> None:
    (sample,) = read_samples(written(tmp_path, span("a", None, "retriever", **found("One."))))
    assert (sample.user_input, sample.response, sample.retrieved_contexts) == (
        "rewritten",
        None,
        ("One.",),
    )


def test_a_retriever_that_hides_what_it_found_found_not_nothing(tmp_path: Path) -> None:
    hidden = span("a", None, "retriever", inputs={"query": "q"}, outputs={"hidden": True})
    (sample,) = read_samples(written(tmp_path, hidden))
    assert sample.retrieved_contexts is None
    (sample,) = read_samples(written(tmp_path, span("a", None, "retriever", **found())))
    assert sample.retrieved_contexts == ()


def test_a_file_of_one_span_is_one_sample(tmp_path: Path) -> None:
    """Its events are no samples, although they are a list of objects."""
    attributes = {
        "openinference.span.kind": "RETRIEVER",
        "input.value": QUESTION,
        "retrieval.documents.0.document.content": CONTEXTS[0],
    }
    one = {"context": {"trace_id": "t", "span_id": "s"}, "attributes": attributes}
    path = tmp_path / "span.json"
    path.write_text(json.dumps({**one, "events": [{"name": "found", "input": "x"}]}), encoding="utf-8")
    (sample,) = read_samples(path)
    assert (sample.user_input, sample.retrieved_contexts) == (QUESTION, (CONTEXTS[0],))


def test_inspect_prints_the_mapping_by_hand(tmp_path: Path) -> None:
    rows = [
        {
            "inputs": {"question": f"Why {number}?"},
            "outputs": {"answer": "So.", "documents": [{"page_content": "a b", "id": "d1"}]},
            "reference": {"answer": f"It is {number}."},
        }
        for number in range(3)
    ]
    path = written(tmp_path, *rows)
    shown = run_command("inspect", path).stdout
    line = next(line for line in shown.splitlines() if line.startswith("the same by hand: "))
    options = shlex.split(line.removeprefix("the same by hand: "))
    assert options[:4] == ["--schema", "ragas", "--convention", "default"]
    columns = dict(option.split("=") for option in options[5::2])
    assert columns["inputs.question"] == "user_input"
    assert [*read_samples(path, "ragas", columns)] == [*read_samples(path)]
    metric = ("--metric", "context_precision")
    by_hand = run_command("score", path, *options, *metric).stdout
    assert "convention=ragas" not in by_hand
    assert by_hand.splitlines()[:3] == run_command("score", path, *metric).stdout.splitlines()[:3]


def test_inspect_prints_no_mapping_where_none_is_needed(tmp_path: Path) -> None:
    row = {"user_input": "Why?", "reference": "So.", "retrieved_contexts": ["a b"]}
    assert "by hand" not in run_command("inspect", written(tmp_path, row)).stdout


def test_a_refusal_names_the_list_and_a_command_that_runs(tmp_path: Path) -> None:
    row = {
        "q": "Why?",
        "reference": "So it is.",
        "hits": {"found": [{"body": {"de": "So it is now."}}]},
    }
    path = written(tmp_path, row, {**row, "q": "How?"})
    out = ("--out", tmp_path / "out.jsonl")
    refused = run_command("score", path, "--metric", "context_recall", *out)
    text = " ".join((refused.stdout + refused.stderr).split())
    assert refused.returncode
    assert f"ctxmetrics inspect {path} shows the columns" in text
    option = shlex.split(text.partition("If that is what was retrieved: --map ")[2])[0].rstrip(".")
    assert run_command("inspect", path).returncode == 0
    assert not run_command(
        "score", path, "--metric", "context_recall", "--map", option, *out
    ).returncode
