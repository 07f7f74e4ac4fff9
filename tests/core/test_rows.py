"""Results as lines of JSON, and back."""

from __future__ import annotations

import hashlib
import json

import pytest
from typer.testing import CliRunner

from ctxmetrics import ContextPrecision, ContextRecall, IDBasedContextRecall, Results, Sample, evaluate
from ctxmetrics.cli import app
from ctxmetrics.errors import InputFileError
from ctxmetrics.metrics.named import metric_named

SAMPLES = [
    Sample(
        id=f"n{number}",
        user_input="Where is it?",
        response="There.",
        reference="Paris is the capital of France. The tower is 330 metres tall.",
        retrieved_contexts=["Berlin is a city.", "Paris is the capital of France.\u2028"][
            : number or None
        ],
        labels={"unit_supported": [True, False]},
        metadata={"topic": "cities", "nested": {"a": [1, None]}},
    )
    for number in range(3)
]
METRICS = [ContextRecall(threshold=0.5), ContextPrecision(), ContextRecall(top_k=1, convention="aegis")]


@pytest.fixture(scope="module")
def results() -> Results:
    return evaluate(SAMPLES, METRICS, progress=False)


def digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


@pytest.mark.parametrize("keep_texts", [False, True])
def test_what_was_written_is_read_and_written_alike(results, tmp_path, keep_texts):
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    results.to_jsonl(one, keep_texts=keep_texts)
    read = Results.from_jsonl(one)
    read.to_jsonl(other)
    assert one.read_bytes() == other.read_bytes()
    assert read.metrics == results.metrics
    assert str(read.summary()) == str(results.summary())
    assert [[score.pretty() for score in row.values()] for row in read] == [
        [score.pretty() for score in row.values()] for row in results
    ]


def test_a_row_holds_the_question_and_hashes_and_no_text(results, tmp_path):
    results.to_jsonl(tmp_path / "a.jsonl")
    line = json.loads((tmp_path / "a.jsonl").read_text().splitlines()[-1])
    sample = SAMPLES[2]
    assert line["sample"]["user_input"] == sample.user_input
    assert line["sample"]["hash"] == digest([sample.user_input, sample.reference])
    assert line["sample"]["context_hashes"] == [digest(text) for text in sample.retrieved_contexts]
    assert {"response", "reference", "retrieved_contexts"}.isdisjoint(line["sample"])
    row = Results.from_jsonl(tmp_path / "a.jsonl")[2]
    assert row.sample == Sample(
        id="n2", user_input=sample.user_input, labels=sample.labels, metadata=sample.metadata
    )


def test_all_fields_are_there_where_they_were_asked_for(results, tmp_path):
    results.to_jsonl(tmp_path / "a.jsonl", keep_texts=True)
    assert [row.sample for row in Results.from_jsonl(tmp_path / "a.jsonl")] == SAMPLES
    evaluate(SAMPLES, METRICS, progress=False, out=tmp_path / "b.jsonl", keep_texts=True)
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(sample.to_dict()) + "\n" for sample in SAMPLES))
    run = CliRunner().invoke(
        app, ["score", str(data), "--out", str(tmp_path / "c.jsonl"), "--keep-texts"]
    )
    assert run.exit_code == 0, run.output
    assert [row.sample for row in Results.from_jsonl(tmp_path / "c.jsonl")] == SAMPLES


def test_samples_without_an_id_and_with_equal_texts_stay_apart(tmp_path):
    same = [Sample(retrieved_context_ids=["a"], reference_context_ids=["a"])] * 3
    evaluate(same, [IDBasedContextRecall()], progress=False).to_jsonl(tmp_path / "a.jsonl")
    read = Results.from_jsonl(tmp_path / "a.jsonl")
    assert [row.index for row in read] == [0, 1, 2]


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda lines: [], "holds no results"),
        (lambda lines: ['{"user_input": "x"}'], "line 1: this is no line of results"),
        (lambda lines: [*lines[:2], lines[2][:40]], "line 3: the line is cut off"),
        (lambda lines: [lines[0].replace('"value": true', '"value": "yes"')], "line 1: this is no line"),
        (
            lambda lines: [*lines[:3], *lines[4:]],
            r"line 5: the sample has context_precision, .*those before it",
        ),
        (lambda lines: lines[:-1], "line 8: the sample has"),
        (
            lambda lines: [lines[0].replace('"user_input"', '"question_"')],
            "line 1: the sample .* cannot be read",
        ),
    ],
)
def test_what_is_no_results_is_refused_with_its_line(results, tmp_path, edit, told):
    file = tmp_path / "a.jsonl"
    results.to_jsonl(file)
    before = file.read_text().splitlines()
    lines = edit(before)
    assert lines != before
    file.write_text("\n".join(lines))
    with pytest.raises(InputFileError, match=told):
        Results.from_jsonl(file)
    with pytest.raises(InputFileError, match="cannot be read"):
        Results.from_jsonl(tmp_path / "absent.jsonl")


@pytest.mark.parametrize("metric", [*METRICS, ContextPrecision(formula="share", strict=True)])
def test_a_metric_is_found_by_its_name(metric):
    from dataclasses import replace

    assert metric_named(metric.name, metric.convention) == replace(metric, threshold=None)
    assert metric_named("mine") is None
    assert metric_named("context_recall(top_k=x)") is None
