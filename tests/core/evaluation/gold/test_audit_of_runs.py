"""An audit of the gold beside the means of a run, and beside the difference of two runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxmetrics import (
    ContextRecall,
    IDBasedContextRecall,
    IDBasedNDCG,
    NonLLMContextRecall,
    Results,
    check_gold,
    compare,
    evaluate,
    read_samples,
)
from ctxmetrics.errors import InputFileError, ParameterError
from ctxmetrics.evaluation.statistics.corrected_means import corrected_mean
from ctxmetrics.evaluation.statistics.labelled import labelled_difference
from support.command import run_command as ctxmetrics
from support.gold_audits import label

NUMBERS = range(20)
CORPUS = {
    f"{kind}-{number}": f"The {kind} number {number} of hall {number} stands beside shelf {number + 100}."
    for number in NUMBERS
    for kind in ("pump", "oven")
}
RECALL = "id_based_context_recall"


def make_samples(gold: str, *, retrieved: str = "pump", wrong: int = 0) -> list[dict[str, Any]]:
    """Questions about pumps; the gold of the first ``wrong`` ones is the other kind than ``gold``."""
    other = "oven" if gold == "pump" else "pump"
    return [
        {
            "id": f"q{number}",
            "user_input": f"Beside which shelf stands pump number {number}?",
            "reference": f"The pump number {number} stands beside shelf {number + 100}.",
            "reference_context_ids": [f"{other if number < wrong else gold}-{number}"],
            "retrieved_context_ids": [f"{retrieved}-{number}"],
            "retrieved_contexts": [CORPUS[f"{retrieved}-{number}"]],
        }
        for number in NUMBERS
    ]


def is_pump(_: Any, text: str) -> bool:
    return "The pump" in text


def draw_audit(folder: Path, samples: list[dict[str, Any]], n: int, seed: int = 0) -> Path:
    """Draw an audit of n random questions, and label each pump useful."""
    audit = folder / "audit.jsonl"
    check_gold(samples, corpus=CORPUS, audit=audit, sample=n, seed=seed, progress=False)
    label(audit, is_pump)
    return audit


def read_random(audit: Path) -> set[str]:
    return {*json.loads(Path(f"{audit}.key.json").read_text(encoding="utf-8"))["random"]}


def test_means_of_a_run_are_corrected_by_the_audit(tmp_path: Path) -> None:
    samples = make_samples("pump", wrong=4)
    audit = draw_audit(tmp_path, samples, 20)
    results = evaluate(samples, [IDBasedContextRecall(), ContextRecall()], progress=False)
    found = results.apply_audit(audit)
    assert (found.audited, found.wrong, found.emptied) == (20, 4, 0)
    # 16 of 20 pumps are gold; by people all 20 are.
    (item,) = found.means
    assert (item.metric, item.samples, item.audited, item.mean) == (RECALL, 20, 20, 0.8)
    assert item.corrected == 1.0
    # Wilson, 4 of 20: .0807 to .4160 (Newcombe 1998, method 3).
    assert found.interval == pytest.approx((0.0807, 0.4160), abs=5e-4)
    assert results.summary().to_dict()["audit"]["means"][0]["corrected"] == 1.0
    line = f"{RECALL}: 0.800 by the gold, 1.000 ("
    assert line in str(results.summary())
    assert "the gold of 4 of 20 random questions was overturned" in results.report().notes[-2]
    page = tmp_path / "page.html"
    results.to_html(page)
    assert line in page.read_text(encoding="utf-8")


def test_only_the_random_part_corrects_a_mean(tmp_path: Path) -> None:
    samples = make_samples("pump", wrong=4)
    audit = draw_audit(tmp_path, samples, 8)
    random = read_random(audit)
    wrong = sum(1 for number in range(4) if f"q{number}" in random)
    assert 0 < wrong < 4
    results = evaluate(samples, [IDBasedContextRecall()], progress=False)
    found = results.apply_audit(audit)
    assert (found.audited, found.wrong) == (8, wrong)
    gold = [float(number >= 4) for number in NUMBERS if f"q{number}" in random]
    others = [float(number >= 4) for number in NUMBERS if f"q{number}" not in random]
    mean, interval = corrected_mean([1.0] * 8, gold, others, unseen=0.8)
    assert (found.means[0].corrected, found.means[0].interval) == (mean, interval)


def test_order_of_the_samples_does_not_matter_to_an_audit(tmp_path: Path) -> None:
    samples = make_samples("pump", wrong=4)
    audit = draw_audit(tmp_path, samples, 8)
    by_order = [
        evaluate(rows, [IDBasedContextRecall()], progress=False).apply_audit(audit)
        for rows in (samples, samples[::-1])
    ]
    assert by_order[0] == by_order[1]


def test_grades_of_changed_ids_go_with_them(tmp_path: Path) -> None:
    samples = make_samples("pump", wrong=4)
    for number, sample in enumerate(samples):
        sample["labels"] = {"relevance": {sample["reference_context_ids"][0]: 3, f"far-{number}": 0}}
    audit = draw_audit(tmp_path, samples, 20)
    (item,) = evaluate(samples, [IDBasedNDCG()], progress=False).apply_audit(audit).means
    assert (item.mean, item.corrected) == (0.8, 1.0)
    file = tmp_path / "new.jsonl"
    labels = tmp_path / "audit.jsonl.labels.jsonl"
    check_gold(samples, corpus=CORPUS, audit=audit, labels=labels, corrected=file, progress=False)
    assert next(iter(read_samples(file))).labels["relevance"] == {"far-0": 0}


def test_question_without_gold_left_is_left_out(tmp_path: Path) -> None:
    samples = make_samples("pump", retrieved="oven", wrong=0)
    for sample in samples[:3]:
        sample["reference_context_ids"] = [f"oven-{sample['id'][1:]}"]
        sample["reference"] = "It is beside the first shelf of the hall with ovens."
    audit = tmp_path / "audit.jsonl"
    check_gold(samples, audit=audit, sample=20, progress=False)
    label(audit, is_pump)
    found = evaluate(samples, [IDBasedContextRecall()], progress=False).apply_audit(audit)
    assert found.emptied == 3
    assert found.means[0].audited == 17


def test_texts_are_corrected_where_the_rows_hold_them(tmp_path: Path) -> None:
    samples = make_samples("pump", wrong=4)
    for sample in samples:
        sample["reference_contexts"] = [CORPUS[sample.pop("reference_context_ids")[0]]]
        del sample["retrieved_context_ids"]
    audit = draw_audit(tmp_path, samples, 20)
    results = evaluate(samples, [NonLLMContextRecall(min_similarity=0.99)], progress=False)
    (item,) = results.apply_audit(audit).means
    assert (item.mean, item.corrected) == (0.8, 1.0)
    file = tmp_path / "results.jsonl"
    results.to_jsonl(file)
    with pytest.raises(ParameterError, match="keep_texts"):
        Results.from_jsonl(file).apply_audit(audit)


def test_decision_survives_an_audit_that_finds_no_error(tmp_path: Path) -> None:
    audit = draw_audit(tmp_path, make_samples("pump"), 20)
    metrics = [IDBasedContextRecall()]
    ovens = evaluate(make_samples("pump", retrieved="oven"), metrics, progress=False)
    pumps = evaluate(make_samples("pump"), metrics, progress=False)
    item = compare(ovens, pumps, audit=audit)[RECALL]
    assert item.corrected is not None
    assert (item.corrected.labelled, item.corrected.difference) == (20, 1.0)
    assert (item.verdict, item.survives) == ("better", True)
    text = " ".join(str(compare(ovens, pumps, audit=audit)).split())
    assert "the decision survives the audit" in text


def test_audit_of_too_few_changes_leaves_no_decision(tmp_path: Path) -> None:
    audit = draw_audit(tmp_path, make_samples("pump"), 20)
    metrics = [IDBasedContextRecall()]
    six_ovens = [*make_samples("pump", retrieved="oven")[:6], *make_samples("pump")[6:]]
    before = evaluate(six_ovens, metrics, progress=False)
    comparison = compare(before, evaluate(make_samples("pump"), metrics, progress=False), audit=audit)
    item = comparison[RECALL]
    assert item.p < 0.05
    assert (item.verdict, item.survives) == ("few changed", None)
    assert "survives" not in str(comparison)


def test_decision_by_wrong_gold_does_not_survive(tmp_path: Path) -> None:
    samples = make_samples("oven", wrong=2)
    audit = draw_audit(tmp_path, samples, 12)
    metrics = [IDBasedContextRecall()]
    pumps = evaluate(samples, metrics, progress=False)
    ovens = evaluate(make_samples("oven", retrieved="oven", wrong=2), metrics, progress=False)
    files = [tmp_path / "pumps.jsonl", tmp_path / "ovens.jsonl"]
    for results, file in zip((pumps, ovens), files, strict=True):
        results.to_jsonl(file)  # ids stand in the file: the audit needs no texts
    item = compare(*files, audit=audit)[RECALL]
    # 18 of 20 questions have an oven as gold, which the second run finds: +.9 - .1.
    assert item.difference == pytest.approx(0.8)
    random = read_random(audit)
    wrong = [number for number in NUMBERS if f"q{number}" in random]
    gold = [-1.0 if number < 2 else 1.0 for number in wrong]
    others = [-1.0 if number < 2 else 1.0 for number in NUMBERS if f"q{number}" not in random]
    expected = labelled_difference([-1.0] * 12, gold, others)
    assert item.corrected is not None
    assert item.corrected.difference == expected.difference
    assert item.corrected.interval == expected.interval
    assert item.survives is False
    assert (item.decides, item.verdict) == ("labels", "worse")
    done = ctxmetrics("compare", *files, "--audit", audit, "--format", "json")
    assert done.returncode == 0, done.stderr
    (metric,) = json.loads(done.stdout)["metrics"]
    assert (metric["survives"], metric["corrected"]["by_audit"]) == (False, True)
    page = tmp_path / "page.html"
    gate = ("--max-drop", f"{RECALL}=0.1")
    gated = ctxmetrics("compare", *files, "--audit", audit, "--report", page, *gate)
    assert gated.returncode == 1, gated.stderr
    for text in (gated.stdout, page.read_text(encoding="utf-8")):
        assert "the decision does not survive the audit" in " ".join(text.split())


def test_command_scores_with_an_audit(tmp_path: Path) -> None:
    samples = make_samples("pump", wrong=4)
    audit = draw_audit(tmp_path, samples, 20)
    file = tmp_path / "samples.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in samples), encoding="utf-8")
    done = ctxmetrics("score", file, "--metric", RECALL, "--audit", audit)
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert f"{RECALL}: 0.800 by the gold, 1.000 (" in text
    judged = ctxmetrics("score", file, "--metric", "context_recall", "--audit", audit)
    assert judged.returncode == 2
    assert "no metric counts gold passages" in judged.stderr


def test_audit_that_corrects_nothing_is_refused(tmp_path: Path) -> None:
    samples = make_samples("pump")
    audit = draw_audit(tmp_path, samples, 20)
    others = [{**sample, "user_input": "Where is it?"} for sample in samples]
    with pytest.raises(InputFileError, match="is another one in the results"):
        evaluate(others, [IDBasedContextRecall()], progress=False).apply_audit(audit)
    judged = evaluate(samples, [ContextRecall()], progress=False)
    with pytest.raises(ParameterError, match="no mean can be corrected"):
        judged.apply_audit(audit)
    with pytest.raises(ParameterError, match="corrects no difference"):
        compare(judged, judged, audit=audit)
    Path(f"{audit}.key.json").unlink()
    with pytest.raises(InputFileError, match=r"key\.json: cannot be read"):
        judged.apply_audit(audit)
