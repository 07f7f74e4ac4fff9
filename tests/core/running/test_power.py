"""What a gate can show on so many samples, before the run is paid for."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import stdev

import pytest

from ctxmetrics import IDBasedContextRecall, Sample, evaluate
from ctxmetrics.running.estimate import samples_for
from ctxmetrics.running.power import describe_gate, find_smallest_difference
from support.command import run_command


def score(values):
    """Make results of recalls that are 0, 0.25, 0.5, 0.75 or 1."""
    samples = [
        Sample(
            id=f"q{number}",
            retrieved_context_ids=[f"{n}" for n in range(round(4 * value))] or ["x"],
            reference_context_ids=["0", "1", "2", "3"],
        )
        for number, value in enumerate(values)
    ]
    return evaluate(samples, [IDBasedContextRecall()], progress=False)


NAME = "id_based_context_recall"
VALUES = [0.25, 0.5, 0.75, 1.0] * 9


def test_the_smallest_difference_is_that_of_statsmodels():
    power = pytest.importorskip("statsmodels.stats.power")
    effect = power.TTestPower().solve_power(nobs=36, alpha=0.05, power=0.8)
    expected = effect * 2**0.5 * stdev(VALUES)  # two runs that spread alike
    assert find_smallest_difference(VALUES) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("changed", [1.0, 0.5, 0.3])
def test_it_is_what_so_many_samples_are_needed_for(changed):
    smallest = find_smallest_difference(VALUES, changed)
    needed = [
        samples_for(score(VALUES), share * smallest, changed=changed)[0].samples
        for share in (1.001, 0.98)
    ]
    assert needed[0] <= 36 < needed[1]
    # Fewer than ten samples that change, or so few that their number alone says nothing.
    assert find_smallest_difference(VALUES, 0.27) is None
    assert find_smallest_difference(VALUES[:9]) is None


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
    # t(0.975) + t(0.8) = 2.030 + 0.852 with 35 degrees of freedom; 2.882 * 0.28347 * sqrt(2 / 36) = 0.1926.
    assert (
        f"--max-drop {NAME}=0.02: a true difference of 0.213 is found in 4 of 5 comparisons"
        in done.stdout
    )
    assert f"--not-worse {NAME}=0.05: without a true difference 4 of 5 comparisons" in done.stdout
    assert "pass from a margin of 0.193" in done.stdout
    assert f"--not-worse {NAME}=0.8: cannot fail with 36 samples" in done.stdout
    assert f"--fail-under {NAME}=0.5: the mean of 36 samples is known to +- 0.0" in done.stdout
    assert "36 samples: 0 calls" in done.stdout
    done = run_command("estimate", "--fail-under", f"{NAME}=0")
    assert f"--fail-under {NAME}=0: cannot fail\n" in done.stdout
    done = run_command("estimate", "--changed", "0.1")
    assert f"--max-drop {NAME}=0.02: 36 samples, too few to show a difference" in done.stdout
    done = run_command("estimate", "--max-drop", "context_recall=0.1")
    assert (done.returncode, "no metric is named so" in done.stderr) == (2, True)
