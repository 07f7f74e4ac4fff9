"""What a gate can show on so many samples, before the run is paid for."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from ctxmetrics import IDBasedContextRecall, Sample, evaluate
from ctxmetrics.evaluation.runs.power import describe_gate, find_losses, find_margins, read_values
from ctxmetrics.evaluation.statistics.paired import paired_mean
from ctxmetrics.metrics.ids import IDBasedHitRate
from support.command import run_command

METRIC = IDBasedContextRecall()


def score(values, metric=METRIC):
    """Make results of recalls that are 0, 0.25, 0.5, 0.75 or 1."""
    samples = [
        Sample(
            id=f"q{number}",
            retrieved_context_ids=[f"{n}" for n in range(round(4 * value))] or ["x"],
            reference_context_ids=["0", "1", "2", "3"],
        )
        for number, value in enumerate(values)
    ]
    return evaluate(samples, [metric], progress=False)


NAME = "id_based_context_recall"
VALUES = [0.25, 0.5, 0.75, 1.0] * 9


def lose(source, whole, loss, samples):
    """Draw paired differences of recalls like `VALUES`, with a mean loss: of whole samples, or of single ids."""
    kept = source.choice([1, 2, 3, 4], samples)
    if whole:
        return np.where(source.random(samples) < loss / 0.625, -kept, 0) / 4
    return -source.binomial(kept, loss / 0.625) / 4


@pytest.mark.slow
@pytest.mark.parametrize("margin", [0.0, 0.05])
def test_loss_gate_finds_what_is_said_in_four_of_five(margin):
    losses = find_losses(read_values(score(VALUES), NAME), margin)
    assert losses.by_parts < losses.by_samples
    source = np.random.default_rng(5)
    for whole, loss in ((False, losses.by_parts), (True, losses.by_samples)):
        red = 0
        for _ in range(2000):
            mean = paired_mean(lose(source, whole, loss, 36).tolist())
            red += mean.p <= 0.05 and mean.interval[1] < -margin
        assert red / 2000 == pytest.approx(0.8, abs=0.035)


def test_pass_margin_is_reached_in_four_of_five():
    """Values of 0 and 1 by halves, of which 30 % change, up as often as down."""
    margin = find_margins(read_values(score([0.0, 1.0] * 40), NAME), 0.3).by_samples
    source = np.random.default_rng(6)
    passed = 0
    for _ in range(2000):
        changes = source.choice([-1.0, 1.0, 0.0], 80, p=[0.15, 0.15, 0.7])
        passed += paired_mean(changes.tolist()).interval[0] >= -margin
    assert passed / 2000 == pytest.approx(0.8, abs=0.04)


@pytest.mark.parametrize(
    ("metric", "hits", "expected"),
    [
        (IDBasedContextRecall(), 3, (0.75, 3, 1)),
        (IDBasedContextRecall(), 0, (0.0, 1, 4)),
        (IDBasedContextRecall(convention="deepeval"), 3, (0.75, 3, 1)),
        (IDBasedContextRecall(strict=True), 3, (0.0, 1, 1)),
        (IDBasedContextRecall(strict=True), 4, (1.0, 1, 1)),
        (IDBasedHitRate(), 3, (1.0, 1, 1)),
    ],
)
def test_value_has_as_many_parts_as_verdicts_change_it(metric, hits, expected):
    results = score([hits / 4, 0.5], metric)
    first = read_values(results, metric.name).samples[0]
    assert (first.value, first.to_lose, first.to_win) == expected


def test_parts_of_deep_pools_are_counted_in_linear_time(monkeypatch):
    """Of 2,000 verdicts each changes the value by as much: a part of them is enough."""
    ids = [f"d{number}" for number in range(2_000)]
    sample = Sample(retrieved_context_ids=ids[:1_200], reference_context_ids=ids)
    results = evaluate([sample], [IDBasedContextRecall()], progress=False)
    calls = []
    to_value = IDBasedContextRecall.to_value

    def count_call(self, hits):
        calls.append(len(hits))
        return to_value(self, hits)

    monkeypatch.setattr(IDBasedContextRecall, "to_value", count_call)
    (parts,) = read_values(results, "id_based_context_recall").samples
    assert (parts.to_lose, parts.to_win) == (1_200, 800)
    assert len(calls) < 200


@pytest.mark.parametrize(
    ("values", "gate", "can_fail"),
    [
        (VALUES, ("--max-drop", 0.5), True),  # the mean is 0.625, its interval 0.53 to 0.72
        (VALUES, ("--max-drop", 0.55), False),
        (VALUES, ("--not-worse", 0.7), True),
        (VALUES, ("--not-worse", 0.75), False),
        (VALUES[:8], ("--max-drop", 0.3), True),
        ([0.25] + [0.0] * 7, ("--max-drop", 0.02), False),
        ([0.0] * 8, ("--not-worse", 0.0), False),
    ],
)
def test_a_gate_that_cannot_fail_passes_where_all_is_lost(tmp_path: Path, values, gate, can_fail):
    option, margin = gate
    before, after = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    score(values).to_jsonl(before)
    score([0.0] * len(values)).to_jsonl(after)
    done = run_command("compare", before, after, option, f"{NAME}={margin}")
    assert done.returncode == can_fail, done.stderr
    text = describe_gate(score(values), option, NAME, margin)
    assert ("cannot fail with" in text) is not can_fail


@pytest.mark.slow
def test_estimate_describes_the_gates_of_options_and_of_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [row.sample.to_dict() for row in score(VALUES)]
    Path("s.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    Path("ctxmetrics.toml").write_text(
        f'file = "s.jsonl"\nfail-under = {{ {NAME} = 0.5 }}\n[compare]\nmax-drop = {{ {NAME} = 0.02 }}\n',
        encoding="utf-8",
    )
    done = run_command("estimate", "--not-worse", f"{NAME}=0.05", "--not-worse", f"{NAME}=0.8")
    assert done.returncode == 0, done.stderr
    gate = f"--max-drop {NAME}=0.02: a true difference of "
    found = re.search(rf"{re.escape(gate)}(\S+) to (\S+) is found in 4 of 5 comparisons", done.stdout)
    low, high = map(float, found.groups())
    assert f"of 36 samples: {low:g} if single reference ids are lost, {high:g} if whole" in done.stdout
    # Student's test alone: (2.030 + 0.852) * sqrt(loss / 4) / 6 + .02 for single ids, of which each takes .25.
    assert low == pytest.approx(0.08, abs=0.01)
    assert f"--not-worse {NAME}=0.05: without a true difference 4 of 5 comparisons" in done.stdout
    assert "of 36 samples, of which 20 % change, pass from a margin of 0.261" in done.stdout
    assert f"--not-worse {NAME}=0.8: cannot fail with 36 samples" in done.stdout
    assert f"--fail-under {NAME}=0.5: the mean of 36 samples is known to +- 0.0" in done.stdout
    assert "36 samples: 0 calls" in done.stdout
    done = run_command("estimate", "--fail-under", f"{NAME}=0")
    assert f"--fail-under {NAME}=0: cannot fail\n" in done.stdout
    done = run_command("estimate", "--changed", "0.1")
    assert f"--max-drop {NAME}=0.02: 36 samples show no larger loss in 4 of 5" in done.stdout
    done = run_command("estimate", "--max-drop", "context_recall=0.1")
    assert (done.returncode, "no metric is named so" in done.stderr) == (2, True)
