"""Results as lines of JSON, and back."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from typer.testing import CliRunner

import ctxmetrics
from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    IDBasedContextPrecision,
    IDBasedContextRecall,
    IDBasedNDCG,
    Results,
    Sample,
    compare,
    evaluate,
)
from ctxmetrics.errors import InputFileError
from ctxmetrics.evaluation.cli import app
from ctxmetrics.evaluation.rows.json_lines import json_line
from ctxmetrics.evaluation.rows.line_forms import declare
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.rows.row_lines import to_lines
from ctxmetrics.evaluation.rows.score_reading import check_types
from ctxmetrics.evaluation.runs.history import read_history, read_run
from ctxmetrics.metrics.catalog import find_metric
from support.cases import each_case
from support.later import later
from support.rows import read_rows

pyarrow = later("pyarrow")

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
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


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
    line = read_rows(tmp_path / "a.jsonl")[-1]
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
        (
            lambda lines: ['{"baseline_id": 0, "run": {}}', '["q1", 1, "abc", [0.5]]'],
            "line 1: .* a baseline of an earlier commit: write it again",
        ),
        (lambda lines: [*lines[:2], lines[2][:40]], "line 3: the line is cut off"),
        (
            lambda lines: [lines[0].replace('"value": true', '"value": "yes"')],
            "line 1: this is no line",
        ),
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
    before = [json.dumps(row) for row in read_rows(file)]  # as earlier versions wrote them
    lines = edit(before)
    assert lines != before
    file.write_text("\n".join(lines))
    with pytest.raises(InputFileError, match=told):
        Results.from_jsonl(file)
    with pytest.raises(InputFileError, match="cannot be read"):
        Results.from_jsonl(tmp_path / "absent.jsonl")


def nan_in(field):
    return lambda text: text.replace(b'"verdicts"', f'"{field}":NaN,"verdicts"'.encode(), 1)


# What happens to a file on its way, and what is said about it; None: it is read as if nothing had happened.
DAMAGES = [
    (lambda text: b"\xef\xbb\xbf" + text, None),
    (lambda text: text.replace(b"\n", b"\r\n"), None),
    (lambda text: text.replace(b"\n", b"\n\n") + b" \n", None),
    (gzip.compress, None),
    (lambda text: pyarrow.compress(text, codec="zstd", asbytes=True), None),
    (lambda text: text + text, "line 12: .* run: another run begins here"),
    (
        lambda text: text.replace(b'"provenance_id":2', b'"provenance_id":1'),
        "line 4: .* provenance_id: 1 has another meaning above",
    ),
    (lambda text: text.decode().encode("utf-16"), "line 1: .* it is not UTF-8 at byte 1"),
    (lambda text: text.replace(b"Ghent", b"Gh\xe9nt"), r"line 3: .* it is not UTF-8 at byte \d+"),
    (lambda text: text.replace(b"}\n", b"},\n"), r"line 1: .* it is no JSON at character \d+"),
    (lambda text: b"<<<<<<< HEAD\n" + text, "line 1: .* it is no JSON at character 1"),
    (lambda text: b"[" + text.replace(b"\n", b",")[:-1] + b"]", "line 1: .* it is no object"),
    (
        lambda text: re.sub(rb'"value":[\d.]+', b'"value":null', text, count=1),
        "line 3: .* reason_code: there is none, and no value",
    ),
    (nan_in("threshold"), "line 3: .* threshold: Input should be a finite number"),
    (nan_in("signals"), "line 3: .* a field is NaN"),
    (
        lambda text: text.replace(b'"provenance_id":1', b'"provenance_id":' + b"9" * 5000, 1),
        r"line \d: .* it has a number of more than 4300 digits",
    ),
    (lambda text: b"<html>" + text, r"a\.jsonl: is a page of HTML"),
    (lambda text: b"version https://git-lfs.github.com/spec/v1\n", "is a pointer of Git LFS"),
]


@each_case(("damage", "problem"), DAMAGES)
def test_a_damaged_file_is_read_or_its_line_is_named(tmp_path, damage, problem):
    file = tmp_path / "a.jsonl"
    results = evaluate(
        [replace(RANKED, id=id_) for id_ in "abcd"],
        [ContextRecall(), ContextPrecision()],
        progress=False,
    )
    results.to_jsonl(file)
    undamaged = Results.from_jsonl(file)
    file.write_bytes(damage(file.read_bytes()))
    if problem is None:
        assert Results.from_jsonl(file).start == undamaged.start == results.start
        assert Results.from_jsonl(file).summary() == undamaged.summary()
        return
    with pytest.raises(InputFileError, match=problem):
        Results.from_jsonl(file)


@pytest.mark.parametrize("name", ["a.csv", "a.verdicts.csv", "a.xlsx"])
def test_a_table_of_results_is_called_so(results, tmp_path, name):
    if name.endswith(".xlsx"):
        pytest.importorskip("openpyxl")
        results.to_excel(tmp_path / name)
    else:
        results.to_csv(tmp_path / "a.csv")
    with pytest.raises(InputFileError, match=rf"{name} is a table, no lines of results"):
        Results.from_jsonl(tmp_path / name)


RANKED = Sample(
    id="r",
    user_input="Where?",
    reference="The mill is in Ghent. It is red.",
    retrieved_contexts=[
        "Tea is sold.",
        "The mill is in Ghent.",
        "Rain fell.",
        "The mill is red. It is in Ghent.",
    ],
    retrieved_context_ids=["a", "b", "a", "c"],
)


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        (ContextRecall(), 1.0),
        (ContextRecall(convention="aegis"), 100.0),
        (ContextRecall(top_k=1), 0.0),
        (ContextPrecision(), (1 / 2 + 2 / 4) / 2),
        (ContextPrecision(formula="share"), 0.5),
        (ContextPrecision(convention="ragas"), (1 / 2 + 2 / 4) / (2 + 1e-10)),
        (ContextPrecision(strict=True), 0.0),
    ],
)
def test_a_value_that_contradicts_its_verdicts_is_refused(tmp_path, metric, value):
    file, changed = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    (row,) = evaluate([RANKED], [metric], progress=False)
    assert row.scores[0].value == pytest.approx(value, abs=1e-12)
    Results.to_jsonl(evaluate([RANKED], [metric], progress=False), file)
    assert Results.from_jsonl(file)[0].scores[0].value == row.scores[0].value
    (line,) = read_rows(file)
    scale = 100 if value == 100 else 1
    for lie in (value / 2 or scale / 2, value * 0.9 or scale / 4):
        changed.write_text(json.dumps({**line, "value": lie}) + "\n")
        with pytest.raises(InputFileError, match=r"line 1: .* value: .* is not what the verdicts give"):
            compare(file, changed)
    line["verdicts"][0]["value"] = None
    changed.write_text(json.dumps(line) + "\n")
    with pytest.raises(InputFileError, match="a verdict is missing, so there is no value"):
        compare(file, changed)


def test_values_whose_sum_is_not_in_the_row_are_read(tmp_path):
    sample = replace(
        RANKED,
        reference_facts=[
            {"text": "The mill is in Ghent.", "importance": "vital"},
            {"text": "It is blue.", "importance": "okay"},
        ],
    )
    metrics = [ContextRecall(unit="fact", convention="trec"), ContextPrecision(group="source")]
    results = evaluate([sample], metrics, progress=False)
    results.to_jsonl(tmp_path / "a.jsonl")
    read = Results.from_jsonl(tmp_path / "a.jsonl")
    assert [score.value for score in read[0].scores] == [score.value for score in results[0].scores]


@pytest.mark.parametrize("metric", [*METRICS, ContextPrecision(formula="share", strict=True)])
def test_a_metric_is_found_by_its_name(metric):
    assert find_metric(metric.name, metric.convention) == replace(metric, threshold=None)
    assert find_metric("mine") is None
    assert find_metric("context_recall(top_k=x)") is None


def edited(line: dict, path: str, value: object) -> dict:
    """The line with another value at a path such as ``verdicts.0.id``."""
    *parents, last = path.split(".")
    found = line
    for name in parents:
        found = found[int(name) if isinstance(found, list) else name]
    found[int(last) if isinstance(found, list) else last] = value
    return line


DEEP = json.loads("[" * 150 + "]" * 150)
HOSTILE = [
    *(("value", value) for value in (1.7, -0.1, "1", True, [1], 10**400)),
    *(("threshold", value) for value in (1.5, "0.5", False)),
    *(("metric", value) for value in (None, 7, ["context_recall"], {})),
    *(("sample_id", value) for value in (7, ["n2"], {"id": "n2"})),
    *(("sample", value) for value in ("text", [1], True)),
    *(("sample.context_hashes", value) for value in ("abc", [7], {"a": 1})),
    *(
        ("sample.retrieved_contexts", value)
        for value in ("abc", [7], ["Other text.", "Still other text."])
    ),
    *(("sample.metadata", value) for value in ("topic", [1])),
    *(("verdicts", value) for value in ({}, "s1", [1], [None], [[]], DEEP)),
    *(("verdicts.0", value) for value in ({}, {"id": "s1"}, "s1", None)),
    *(("verdicts.0.id", value) for value in ("s2", "s9", "", "c1", 1, None)),
    *(("verdicts.0.value", value) for value in ("yes", 1, 0, "true", [True])),
    *(("verdicts.0.text", value) for value in (None, 7, ["a"])),
    *(("verdicts.0.code", value) for value in (7, ["weak_evidence"])),
    *(("verdicts.0.details", value) for value in ("missing", [1], 7)),
    *(("verdicts.0.evidence", value) for value in (None, "quote", {}, [1], [{}])),
    *(("verdicts.0.evidence.0.context", value) for value in (2, -1, 10**30, "1", 1.5, None)),
    *(("verdicts.0.evidence.0.start", value) for value in (5, -3, 10**30, "0", None)),
    *(("verdicts.0.evidence.0.end", value) for value in (3, 10**6, "31", None)),
    *(("verdicts.0.evidence.0.quote", value) for value in ("Paris", "", 7, None)),
    *(("verdicts.0.evidence.0.whole", value) for value in ("yes", 1, None)),
    *(("metadata", {"tie_range": value}) for value in (5, "ab", [1], [0, "1"])),
    *(("usage", value) for value in ([], {"calls": -1}, {"calls": "1"}, None)),
    *(("context_lengths", value) for value in ("abc", [1.5], [-1], [17], {"a": 1})),
    *(("provenance", value) for value in ([], None, "lexical")),
    *(("provenance.convention", value) for value in ("unheard", None, 7)),
    *(("provenance.warnings", value) for value in ("text", [7], None)),
    *(("provenance.judge", value) for value in (7, ["lexical"])),
]


@pytest.mark.slow
@each_case(("path", "value"), HOSTILE)
def test_a_line_is_checked_like_a_reply(results, tmp_path, path, value):
    """A value off its scale, a wrong id, a span outside its text, a wrong type or shape: no number, but the line."""
    file, good = tmp_path / "a.jsonl", tmp_path / "good.jsonl"
    results.to_jsonl(good, keep_texts=True)
    lines = read_rows(good)
    lines[6] = edited(lines[6], path, value)
    if path.startswith("sample."):  # which all lines of a sample say
        lines[7]["sample"] = lines[8]["sample"] = lines[6]["sample"]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for read in (
        Results.from_jsonl,
        lambda file: compare(good, file),
        lambda file: compare(file, good),
    ):
        with pytest.raises(InputFileError, match=r"a\.jsonl, line [79]: "):
            read(file)


@pytest.mark.parametrize(
    "text",
    ["null", "7", "[]", '"text"', "{", "NaN", '{"value": NaN}', "[" * 100_000, '{"a":' * 100_000],
)
def test_a_line_that_is_no_object_is_refused(tmp_path, text):
    (tmp_path / "a.jsonl").write_text(text + "\n")
    with pytest.raises(InputFileError, match=r"a\.jsonl, line 1: this is no line of results"):
        Results.from_jsonl(tmp_path / "a.jsonl")


@pytest.mark.slow
def test_value_off_the_scale_is_named_with_file_and_line(results, tmp_path):
    good, file = tmp_path / "good.jsonl", tmp_path / "a.jsonl"
    results.to_jsonl(good)
    file.write_text(good.read_text().replace('"value":0.5', '"value":1.7'))
    done = subprocess.run(
        [sys.executable, "-m", "ctxmetrics", "compare", good, file],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert re.search(r"a\.jsonl, line \d: this is no line of results: value: 1.7", done.stderr)


def test_a_value_at_the_top_of_another_scale_is_read(tmp_path):
    """100 is a value under aegis, and no value under the default."""
    evaluate(SAMPLES[2:], [ContextRecall(convention="aegis")], progress=False).to_jsonl(
        tmp_path / "a.jsonl"
    )
    text = (tmp_path / "a.jsonl").read_text().replace('"value":50.0', '"value":100')
    text = text.replace('"value":false', '"value":true')
    (tmp_path / "a.jsonl").write_text(text)
    assert Results.from_jsonl(tmp_path / "a.jsonl")[0].scores[0].value == 100
    (tmp_path / "a.jsonl").write_text(text.replace('"convention":"aegis"', '"convention":"default"'))
    with pytest.raises(InputFileError, match=r"line 3: .* value: 100 is no number from 0 to 1"):
        Results.from_jsonl(tmp_path / "a.jsonl")


IDS = st.lists(st.text(max_size=6), max_size=6)


@pytest.mark.slow
@given(retrieved=IDS, reference=IDS, k=st.sampled_from([None, 0, 2]))
def test_lines_of_ids_are_those_of_their_verdicts(retrieved, reference, k):
    sample = Sample(id="a", retrieved_context_ids=retrieved, reference_context_ids=reference)
    for kind in (IDBasedContextRecall, IDBasedContextPrecision, IDBasedNDCG):
        score = kind(top_k=k).score(sample)
        line = list(to_lines(Row(0, sample, "a", (score,)), {}))[-1]
        expected = [{"id": item.id, "value": item.value} for item in score.verdicts]
        assert line.get("verdicts", []) == expected


@pytest.mark.parametrize(
    "rest",
    [{"reason": "own"}, {"code": "uncertain"}, {"details": {"weight": 2.0}}, {"text": "the text"}],
)
def test_verdicts_with_more_than_an_id_keep_it(tmp_path, rest):
    class Marked(IDBasedContextRecall):
        def build_verdicts(self, hits, retrieved, reference):
            return [
                replace(item, **rest) for item in super().build_verdicts(hits, retrieved, reference)
            ]

    sample = Sample(retrieved_context_ids=["a"], reference_context_ids=["a"])
    evaluate([sample], [Marked()]).to_jsonl(tmp_path / "x.jsonl")
    (row,) = read_rows(tmp_path / "x.jsonl")
    (verdict,) = row["verdicts"]
    assert {name: verdict[name] for name in rest} == rest
    assert row.get("doubtful", {}) == ({"uncertain": 1} if "code" in rest else {})
    assert Marked().score(sample).doubtful == row.get("doubtful", {})


# A field that is not there today, the class it is added to, and a value that is not its default.
NEW_FIELDS = [
    ("Provenance", "seed: int | None = None", -1),
    ("Provenance", "temperature: float = 0.0", 0.5),
    ("Provenance", "evidence: tuple[tuple[str, int], ...] = ()", (("a", 1),)),
    ("Provenance", "kind: Literal['a', 'b'] = 'a'", "b"),
    ("Verdict", "margin: float | None = None", 0.25),
    ("Verdict", "votes: Mapping[str, int] = EMPTY", {"yes": 2}),
    ("Verdict", "rivals: list[str] = field(default_factory=list)", ["c1"]),
    ("Evidence", "page: int = 0", 3),
    ("Usage", "seconds: float = 0.0", 1.5),
    ("Score", "attempts: int = 1", 2),
    ("Score", "first: Verdict | None = None", None),
    ("Score", "sides: tuple[str, str] = ('a', 'b')", ("b", "a")),
    ("Score", "either: int | str = 0", "many"),
]
# Writes scores with a value in each new field, reads them, and reads a file that was written without these fields.
READ_BACK = """
import json, sys
from dataclasses import replace
from pathlib import Path
from ctxmetrics import ContextRecall, Results, Sample
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.rows.row_lines import to_lines

old, new, values = Path(sys.argv[1]), Path(sys.argv[2]), eval(sys.argv[3])
Results.from_jsonl(old)
sample = Sample(id="a", reference="Tea is sold.", retrieved_contexts=["Tea is sold."])
score = ContextRecall().score(sample)
(verdict,) = score.verdicts
(span,) = verdict.evidence
span = replace(span, **values["Evidence"])
values["Score"]["first"] = verdict
verdict = replace(verdict, evidence=(span,), **values["Verdict"])
score = replace(
    score,
    verdicts=(verdict,),
    provenance=replace(score.provenance, **values["Provenance"]),
    usage=replace(score.usage, **values["Usage"]),
    **values["Score"],
)
lines = [json.dumps(line) + "\\n" for line in to_lines(Row(0, sample, "a", (score,)), {})]
new.write_text("".join(lines))
(read,) = Results.from_jsonl(new)[0].scores
assert read == score, (read, score)
assert read.verdicts == score.verdicts, (read.verdicts, score.verdicts)
assert hash(read.provenance) == hash(score.provenance)
print("read back")
"""


@pytest.mark.slow
def test_a_new_field_of_provenance_is_read_back(results, tmp_path):
    """The type of a field decides how it is read, so that a field which a later version adds needs no more code."""
    values = {name: {} for name, _, _ in NEW_FIELDS}
    for name, field, value in NEW_FIELDS:
        values[name][field.partition(":")[0]] = value
    package = tmp_path / "ctxmetrics"
    shutil.copytree(
        Path(ctxmetrics.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    for file in (package / "verdicts.py", package / "scores" / "score.py"):
        text = file.read_text()
        for name, field, _ in reversed(NEW_FIELDS):
            # Behind the lines of the class's fields.
            fields = rf'(\nclass {name}\b[\s\S]*?\n    """\n\n(?:    \w.*\n)+)'
            text = re.sub(fields, rf"\1    {field}\n", text, count=1)
        file.write_text(text)
    old = tmp_path / "old.jsonl"
    results.to_jsonl(old)
    done = subprocess.run(
        [sys.executable, "-c", READ_BACK, old, tmp_path / "new.jsonl", repr(values)],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "read back\n", done.stderr


@pytest.mark.parametrize("value", ["7", 7.5, [7], True])
def test_a_new_field_of_another_type_is_refused(value):
    @dataclass(frozen=True)
    class Seeded:
        seed: int | None = None

    form = TypeAdapter(declare(Seeded))
    assert check_types(form, {"seed": 7}) == {"seed": 7}
    with pytest.raises(InputFileError, match="seed"):
        check_types(form, {"seed": value})


def test_a_run_with_stages_and_all_texts_is_read(tmp_path):
    stages = {"search": ["Rain fell.", "Tea is sold."], "rerank": ["Tea is sold."]}
    sample = Sample(id="a", reference="Tea is sold.", stages=stages)
    results = evaluate([sample], [ContextRecall()], progress=False)
    results.to_jsonl(tmp_path / "a.jsonl", keep_texts=True)
    assert Results.from_jsonl(tmp_path / "a.jsonl")[0].sample == sample


@pytest.mark.parametrize(
    ("name", "value"),
    [("contexts", 10**30), ("contexts", 10**9), ("characters", 10**400)],
    ids=["no index", "no memory", "no float"],
)
@pytest.mark.parametrize("read", [Results.from_jsonl, lambda file: compare(file, file)])
def test_a_stage_of_impossible_size_is_refused(tmp_path, name, value, read):
    """Such a number would be a list of as many items, or is larger than any float."""
    stages = {"search": ["Rain fell.", "Tea is sold."], "rerank": ["Tea is sold."]}
    sample = Sample(id="a", reference="Tea is sold.", stages=stages)
    file = tmp_path / "a.jsonl"
    evaluate([sample], [ContextRecall()], progress=False).to_jsonl(file)
    lines = read_rows(file)
    lines[0]["sample"]["stage_sizes"]["search"][name] = value
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(InputFileError, match=f"line 1: .*stage_sizes.search.{name}: "):
        read(file)


def test_names_of_a_file_reach_no_terminal_unseen(results, tmp_path):
    """A name or code may hold a command to a terminal, or turn the direction of the line."""
    path = tmp_path / "out.jsonl"
    results.to_jsonl(path)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        if "metric" in line:
            line["metric"] += "\x1b[31m\u202e\n"
            line.pop("verdicts", None)
            line |= {"value": None, "reason_code": "\x1b[31m"}
        elif "run" not in line:
            line["warnings"] = ["\x1b[31m"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    read = Results.from_jsonl(path)
    history = read_history([path])
    shown = [str(read.summary()), str(history), history.markdown(), read[0].scores[0].pretty()]
    assert not [text for text in shown if "\x1b" in text or "\u202e" in text]
    assert read.metrics[0].endswith("\ufffd[31m\ufffd\ufffd")


@pytest.mark.parametrize("read", [Results.from_jsonl, read_run])
def test_a_sample_without_its_hash_is_named(results, tmp_path, read):
    path = tmp_path / "out.jsonl"
    results.to_jsonl(path)
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub('"hash":"[0-9a-f]+"', '"hash":null', text, count=1), encoding="utf-8")
    with pytest.raises(InputFileError, match=r"line 3: this is no line of results: sample\.hash"):
        read(path)


def test_repeated_contexts_are_counted_alike_in_files(tmp_path):
    """By their texts: one text under two ids is a repeat, two texts under one id are none."""
    samples = [
        Sample(
            id=ids,
            reference="It is red.",
            retrieved_contexts=texts,
            retrieved_context_ids=[*ids],
        )
        for ids, texts in (("ab", ["It is red."] * 2), ("cc", ["It is red.", "It is blue."]))
    ]
    results = evaluate(samples, [ContextRecall()], progress=False)
    results.to_jsonl(tmp_path / "out.jsonl")
    notes = [note for note in results.summary().notes if note.startswith("repeated")]
    assert notes == ["repeated contexts: 1, in 1 sample; notes of the scores say what counts"]
    again = Results.from_jsonl(tmp_path / "out.jsonl")
    assert [note for note in again.summary().notes if note.startswith("repeated")] == notes


class NotListable:
    def tolist(self):
        raise RuntimeError("not here")

    def __str__(self):
        return "an object"


@pytest.mark.parametrize("key_text", ["", "\ud800"])
@pytest.mark.parametrize(
    ("value", "written"),
    [
        (NotListable(), "an object"),
        (np.ndarray, "<class 'numpy.ndarray'>"),
        (np.longdouble(1.5), "1.5"),
        (np.array([np.longdouble(2)]), ["2.0"]),
        (np.float32(1.5), 1.5),
        (np.array([1, 2]), [1, 2]),
    ],
)
def test_an_object_of_the_user_costs_no_line(value, written, key_text):
    assert json.loads(json_line({"value": value, "text": key_text}))["value"] == written


@pytest.mark.parametrize("text", ["a", "\ud800"])
def test_an_integer_that_python_cannot_read_is_text(text: str, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    ids = {"retrieved_context_ids": ["a"], "reference_context_ids": ["a"]}
    sample = Sample(**ids, metadata={"n": {"x": [10**4300, -5]}, "text": "7" * 4301})
    evaluate([sample], [IDBasedContextRecall()], progress=False).to_jsonl(path, keep_texts=True)
    (row,) = Results.from_jsonl(path)
    assert row["id_based_context_recall"].value == 1.0
    assert row.sample.metadata == {"n": {"x": [hex(10**4300), -5]}, "text": "7" * 4301}
    assert json.loads(json_line({"x": 10**4300, "text": text}))["x"] == hex(10**4300)
    # A text of many digits is no long integer, also beside half a character.
    assert json.loads(json_line({"half": "\ud800", "digits": "7" * 4301}))["digits"] == "7" * 4301


def test_a_mock_costs_no_line():
    line = json_line({"value": MagicMock(name="judge"), "text": "\ud800"})
    assert json.loads(line)["value"].startswith("<MagicMock name='judge'")


def write_id_results(path: Path, **changes: object) -> Path:
    """Write results of two samples, with other fields in the first line about a metric."""
    samples = [
        Sample(id=id_, retrieved_context_ids=["a", "b"], reference_context_ids=["a"]) for id_ in "xy"
    ]
    evaluate(samples, [IDBasedContextPrecision()], progress=False).to_jsonl(path)
    lines = read_rows(path)
    scored = next(line for line in lines if "metric" in line)
    scored |= changes
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("read", [Results.from_jsonl, read_run])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"value": 0.9}, "value: 0.9 is not what the verdicts give, 0.5"),
        ({"reason_code": "judge_error"}, "reason_code: it stands beside a value"),
        ({"sample_id": "y"}, "the sample 'y' has results above, too"),
    ],
)
def test_a_line_that_contradicts_itself_or_others(tmp_path, read, changes, message):
    file = write_id_results(tmp_path / "a.jsonl")
    assert Results.from_jsonl(file).summary()["id_based_context_precision"].mean == 0.5
    with pytest.raises(InputFileError, match=re.escape(message)):
        read(write_id_results(file, **changes))
