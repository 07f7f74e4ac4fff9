"""Files of results: what a run says once stands once, under any compression."""

from __future__ import annotations

import gzip
import json
import random
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    IDBasedContextPrecision,
    IDBasedContextRecall,
    LexicalJudge,
    NonLLMContextPrecision,
    NonLLMContextRecall,
    Results,
    Sample,
    ScriptedJudge,
    compare,
    evaluate,
)
from ctxmetrics.errors import InputFileError, MissingExtraError, ParameterError
from ctxmetrics.evaluation.files.text_files import compress
from ctxmetrics.evaluation.runs.engine import Evaluation
from ctxmetrics.evaluation.runs.evaluate import run_in_caller
from ctxmetrics.evaluation.runs.history import read_history
from support.command import run_command
from support.rows import read_rows

FACTS = ("The pump stands outside.", "It needs 30 cm of room.", "Its fan is quiet at night.")
ENDINGS = ("", ".gz", ".zst")


def samples(count: int, *, seed: int = 7) -> list[Sample]:
    draw = random.Random(seed)
    return [
        Sample(
            id=f"q{number:05}",
            user_input=f"What about pump {number}?",
            reference=" ".join(FACTS),
            reference_contexts=draw.sample(FACTS, 2),
            retrieved_contexts=[f"Page {number}. {fact}" for fact in draw.sample(FACTS, 2)] * 2,
        )
        for number in range(count)
    ]


def id_samples(count: int) -> list[Sample]:
    draw = random.Random(7)
    return [
        Sample(
            id=f"q{number}",
            retrieved_context_ids=[f"d{draw.randrange(1000)}" for _ in range(10)],
            reference_context_ids=[f"d{draw.randrange(1000)}" for _ in range(3)],
        )
        for number in range(count)
    ]


def count_bytes(path: Path) -> float:
    """Bytes a row, with the lines that several rows share."""
    return path.stat().st_size / len(read_rows(path))


def write_in_full(results: Results, path: Path) -> None:
    """Write rows that say everything."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in results.to_dicts()))


def test_rows_hold_no_null_and_one_provenance(tmp_path):
    results = evaluate(samples(20), [ContextRecall(), ContextPrecision()], progress=False)
    results.to_jsonl(tmp_path / "out.jsonl")
    lines = [*map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())]
    assert [line["provenance_id"] for line in lines if "metric" not in line] == [0, 1, 2]
    for line in lines:
        assert None not in line.values()
        assert "usage" not in line
    assert ["sample" in line for line in lines if "metric" in line] == [True, False] * 20
    assert read_rows(tmp_path / "out.jsonl") == [*results.to_dicts()]
    assert [*Results.from_jsonl(tmp_path / "out.jsonl").to_dicts()] == [*results.to_dicts()]


def test_rows_of_ids_take_at_most_500_bytes(tmp_path):
    metrics = [IDBasedContextRecall(), IDBasedContextPrecision()]
    evaluate(id_samples(300), metrics, progress=False).to_jsonl(tmp_path / "out.jsonl")
    assert count_bytes(tmp_path / "out.jsonl") <= 500


@pytest.mark.parametrize(
    "metrics",
    [[NonLLMContextRecall(), NonLLMContextPrecision()], [ContextRecall(), ContextPrecision()]],
    ids=["strings", "embedded"],
)
def test_rows_take_two_thirds_of_full_rows(tmp_path, metrics):
    results = evaluate(samples(100), metrics, progress=False)
    results.to_jsonl(tmp_path / "out.jsonl")
    write_in_full(results, tmp_path / "full.jsonl")
    assert count_bytes(tmp_path / "out.jsonl") * 3 <= count_bytes(tmp_path / "full.jsonl") * 2


@pytest.mark.parametrize(
    "metrics",
    [
        [ContextRecall(), ContextPrecision()],
        [NonLLMContextRecall(), NonLLMContextPrecision()],
        [IDBasedContextRecall(), IDBasedContextPrecision()],
        [ContextRecall()],
    ],
    ids=["embedded", "strings", "ids", "one"],
)
def test_baselines_take_at_most_550_bytes_a_metric(tmp_path, metrics):
    data = id_samples(300) if "ids" in metrics[0].requires[0] else samples(300)
    results = evaluate(data, metrics, progress=False)
    results.to_baseline(tmp_path / "base.jsonl")
    assert (tmp_path / "base.jsonl").stat().st_size <= 550 * 300 * len(metrics)
    read = Results.from_jsonl(tmp_path / "base.jsonl")
    for row, before in zip(read, results, strict=True):
        assert row.sample_id == before.sample_id
        for name in read.metrics:
            assert row[name].value == before[name].value
            values = [verdict.value for verdict in before[name].verdicts]
            assert [verdict.value for verdict in row[name].verdicts] == values


def test_a_baseline_of_grouped_contexts_is_read(tmp_path):
    """Two chunks of one source count as one, which the verdicts of a baseline do not say."""
    sample = Sample(
        id="a",
        reference=" ".join(FACTS),
        retrieved_contexts=["Birds sing.", FACTS[0], FACTS[1]],
        retrieved_context_ids=["x#1", "y", "y"],
    )
    results = evaluate([sample], [ContextPrecision(group="source")], progress=False)
    results.to_baseline(tmp_path / "base.jsonl")
    (row,) = Results.from_jsonl(tmp_path / "base.jsonl")
    assert row["context_precision(group=source)"].value == results[0].scores[0].value == 0.5


@pytest.mark.parametrize("metric", [ContextRecall(), IDBasedContextRecall()])
@pytest.mark.parametrize("read", [Results.from_jsonl, lambda path: read_history([path])])
def test_a_false_value_in_a_baseline_is_refused(tmp_path, metric, read):
    """The verdicts of a baseline say what the value is, except that of contexts, which may count once."""
    sample = Sample(
        id="a",
        reference=" ".join(FACTS[:2]),
        retrieved_contexts=[FACTS[0], "Birds sing."],
        retrieved_context_ids=["x", "y"],
        reference_context_ids=["x", "z"],
    )
    file = tmp_path / "base.jsonl"
    evaluate([sample], [metric], progress=False).to_baseline(file)
    read(file)
    text = file.read_text(encoding="utf-8")
    assert text.count('"value":0.5') == 1
    file.write_text(text.replace('"value":0.5', '"value":1.0'), encoding="utf-8")
    with pytest.raises(InputFileError, match=r"value: 1\.0 is not what the verdicts give, 0\.5"):
        read(file)


def test_baselines_keep_codes_and_missing_values(tmp_path):
    judge = ScriptedJudge(lambda prompt: "no verdict today")
    results = evaluate(samples(3), [ContextRecall(judge=judge)], progress=False)
    results.to_baseline(tmp_path / "base.jsonl")
    (row, *_) = Results.from_jsonl(tmp_path / "base.jsonl")
    assert row["context_recall"].reason_code == "not_judged"
    assert [verdict.code for verdict in row["context_recall"].verdicts] == [
        verdict.code for verdict in results[0]["context_recall"].verdicts
    ]


@pytest.mark.parametrize(
    "edit",
    [
        lambda line: {**line, "sample_id": 7},
        lambda line: {**line, "provenance_id": 9},
        lambda line: {**line, "provenance_id": [1]},
        lambda line: {**line, "sample": 7},
        lambda line: {**line, "sample": {**line["sample"], "hash": 7}},
        lambda line: {**line, "value": 1.5},
        lambda line: {**line, "value": True},
        lambda line: {**line, "verdicts": "+-"},
        lambda line: {**line, "verdicts": [{**line["verdicts"][0], "evidence": [{"context": 9}]}]},
        lambda line: {**line, "verdicts": [{"id": "s1"}]},
        lambda line: [],
        lambda line: {},
    ],
)
def test_a_damaged_line_of_a_baseline_is_named(tmp_path, edit):
    path = tmp_path / "base.jsonl"
    evaluate(samples(3), [ContextRecall(), ContextPrecision()], progress=False).to_baseline(path)
    lines = path.read_text().splitlines()
    lines[2] = json.dumps(edit(json.loads(lines[2])))
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputFileError, match=r"base\.jsonl, line 3: this is no line of results"):
        Results.from_jsonl(path)


@pytest.mark.parametrize(
    "text", ["sha256:", "sha256:ab", "sha256:abcd", "sha256:zz zz zz", "sha256:" + "f" * 32]
)
def test_a_unit_may_look_like_a_hash(tmp_path, text):
    facts = [Sample(id="a", reference_facts=[text, FACTS[0]], retrieved_contexts=[FACTS[0]])]
    better = [replace(facts[0], retrieved_contexts=[f"{text} {FACTS[0]}"])]
    runs = [evaluate(side, [ContextRecall(unit="fact")], progress=False) for side in (better, facts)]
    runs[0].to_baseline(tmp_path / "base.jsonl")
    whole, bare = runs[0].compare(runs[1]), compare(tmp_path / "base.jsonl", runs[1])
    assert bare.metrics == whole.metrics
    assert [unit.id for unit in bare.lost] == [unit.id for unit in whole.lost]


def test_hashes_of_a_file_may_be_anything(tmp_path):
    results = evaluate(samples(2), [ContextRecall()], progress=False)
    rows = [*results.to_dicts()]
    for row in rows:
        row["sample"] = {**row["sample"], "hash": "ü", "context_hashes": ["", "x", "y", "z"]}
    (tmp_path / "out.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    results.to_baseline(tmp_path / "base.jsonl")
    with pytest.raises(ParameterError, match="the runs differ in question"):
        compare(tmp_path / "base.jsonl", tmp_path / "out.jsonl")


@pytest.mark.parametrize("number", [None, 2, [1], "x"])
def test_a_row_without_its_provenance_is_refused(tmp_path, number):
    path = tmp_path / "out.jsonl"
    evaluate(samples(2), [ContextRecall()], progress=False).to_jsonl(path)
    lines = [*map(json.loads, path.read_text().splitlines())]
    lines[2]["provenance_id"] = number
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(InputFileError, match=r"line 3: .* provenance_id: no line before it has"):
        Results.from_jsonl(path)


@pytest.mark.parametrize("ending", ENDINGS)
def test_files_are_what_they_are_called(tmp_path, ending):
    data = samples(6)
    metrics = [ContextRecall(), ContextPrecision()]
    out, written, base = (tmp_path / f"{name}.jsonl{ending}" for name in ("out", "written", "base"))
    evaluate(data, metrics, out=out, progress=False)
    results = evaluate(data, metrics, progress=False)
    results.to_jsonl(written)
    results.to_baseline(base)
    starts = {"": b"{", ".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd"}
    for path in (out, written, base):
        assert path.read_bytes().startswith(starts[ending])
        assert compare(path, results).samples == 6
        assert len(Results.from_jsonl(path)) == 6
    assert out.read_bytes() == written.read_bytes()
    assert not (tmp_path / f"out.jsonl{ending}.part").exists()
    evaluate(data, metrics, out=out, progress=False)  # our own file may be replaced
    (tmp_path / f"other{ending}").write_bytes(gzip.compress(b"data of somebody"))
    with pytest.raises(InputFileError, match="it holds data that no run wrote"):
        results.to_jsonl(tmp_path / f"other{ending}")


def test_plain_lines_under_a_compressed_name_are_read(tmp_path):
    results = evaluate(samples(2), [ContextRecall()], progress=False)
    write_in_full(results, tmp_path / "old.jsonl.gz")
    assert len(Results.from_jsonl(tmp_path / "old.jsonl.gz")) == 2
    results.to_jsonl(tmp_path / "old.jsonl.gz")
    assert (tmp_path / "old.jsonl.gz").read_bytes().startswith(b"\x1f\x8b")


@pytest.mark.parametrize("ending", ENDINGS[1:])
def test_a_damaged_compressed_file_is_named(tmp_path, ending):
    path = tmp_path / f"out.jsonl{ending}"
    evaluate(samples(40), [ContextRecall()], progress=False).to_jsonl(path)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(InputFileError, match=r"out\.jsonl\.\w+: cannot be (decompressed|read)"):
        Results.from_jsonl(path)


@pytest.mark.parametrize("ending", ENDINGS[1:])
def test_a_compressed_file_is_read_up_to_a_limit(tmp_path, monkeypatch, ending):
    """A few of its bytes can stand for gigabytes of one line."""
    monkeypatch.setattr("ctxmetrics.evaluation.files.text_files._FREE_BYTES", 1000)
    path = tmp_path / f"out.jsonl{ending}"
    path.write_bytes(b"".join(compress([b" " * 20_000_000], path)))
    with pytest.raises(InputFileError, match="becomes more than 200 times as large"):
        Results.from_jsonl(path)


def test_samples_in_zst_are_read(tmp_path):
    import pyarrow as pa

    file = tmp_path / "data.jsonl.zst"
    lines = "".join(json.dumps(sample.to_dict()) + "\n" for sample in samples(3))
    file.write_bytes(pa.Codec("zstd").compress(lines.encode(), asbytes=True))
    done = run_command("score", file, "--metric", "context_recall", "--out", tmp_path / "out.jsonl.zst")
    assert done.returncode == 0, done.stderr
    assert len(Results.from_jsonl(tmp_path / "out.jsonl.zst")) == 3


@dataclass(frozen=True, kw_only=True)
class ChangingJudge(LexicalJudge):
    """A judge of which another model answers from the fifth sample on."""

    async def attribute(self, request):
        model = "first" if request.contexts[0] < "Page 4" else "second"
        return replace(await super().attribute(request), served_model=model)


@pytest.mark.slow
def test_cut_files_resume_to_the_same_bytes(tmp_path):
    """Another model answers from the fifth sample on, so that a provenance stands in the middle of the file."""
    data = samples(8)
    judge = ChangingJudge()
    metrics = [ContextRecall(threshold=0.5, judge=judge), ContextPrecision(judge=judge)]
    whole, part, out = tmp_path / "whole.jsonl", tmp_path / "out.jsonl.part", tmp_path / "out.jsonl"
    evaluate(data, metrics, out=whole, progress=False)
    content = whole.read_bytes()
    begins = [line[:18] for line in content.splitlines()]
    assert [begins.index(f'{{"provenance_id":{n}'.encode()) for n in (0, 1, 2, 3)] == [0, 1, 3, 11]
    draw = random.Random(5)
    for cut in [0, 1, len(content), *draw.choices(range(len(content)), k=60)]:
        part.write_bytes(content[:cut])
        run_in_caller(Evaluation(data, metrics, out=out, resume=True, progress=False))
        assert out.read_bytes() == content, cut


@pytest.mark.parametrize("ending", ENDINGS[1:])
def test_a_compressed_file_is_resumed(tmp_path, ending):
    data, metrics = samples(8), [ContextRecall(), ContextPrecision()]
    out = tmp_path / f"out.jsonl{ending}"
    evaluate(data, metrics, out=out, progress=False)
    content = out.read_bytes()
    evaluate(data, metrics, out=tmp_path / "plain.jsonl", progress=False)
    plain = (tmp_path / "plain.jsonl").read_bytes()
    (tmp_path / f"out.jsonl{ending}.part").write_bytes(plain[: len(plain) // 2])
    run_in_caller(Evaluation(data, metrics, out=out, resume=True, progress=False))
    assert out.read_bytes() == content


def test_zst_without_pyarrow_is_refused_before_the_run(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    judge = ScriptedJudge(pytest.fail)
    with pytest.raises(MissingExtraError, match="pyarrow is not installed"):
        evaluate(samples(1), [ContextRecall(judge=judge)], out=tmp_path / "out.jsonl.zst")


def test_a_file_of_full_rows_is_resumed(tmp_path):
    data = samples(8)
    metrics = [ContextRecall(), ContextPrecision()]
    part, out = tmp_path / "out.jsonl.part", tmp_path / "out.jsonl"
    results = evaluate(data, metrics, progress=False)
    write_in_full(results, part)
    full = part.read_bytes().splitlines(keepends=True)
    part.write_bytes(b"".join(full[:6]) + full[6][:40])
    run_in_caller(Evaluation(data, metrics, out=out, resume=True, progress=False))
    assert out.read_bytes().splitlines(keepends=True)[:6] == full[:6]
    assert [*Results.from_jsonl(out).to_dicts()] == [*results.to_dicts()]
