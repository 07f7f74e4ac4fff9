"""What labels buy for a gate, before a person labels."""

from __future__ import annotations

import json
import re

import pytest

from ctxmetrics import IDBasedContextRecall, Sample, evaluate
from ctxmetrics.evaluation.runs.labelled_power import LabelledGate, describe_labels
from ctxmetrics.evaluation.runs.power import RunValues, read_values
from ctxmetrics.evaluation.statistics.label_draw import share_out_labels
from ctxmetrics.evaluation.statistics.power import ChangeModel, ValueParts
from support.command import run_command

WHOLE = ChangeModel([ValueParts(1.0)] * 100, 1.0)
NAME = "id_based_context_recall"


def gate(option: str, margin: float, labels: int, samples: int = 100) -> LabelledGate:
    return LabelledGate(option, margin, samples, labels, 1.0)


@pytest.mark.slow
def test_judge_that_sees_all_is_not_slowed_by_labels(monkeypatch):
    monkeypatch.setattr("ctxmetrics.evaluation.runs.labelled_power._SEEN_SHARE", 1.0)
    monkeypatch.setattr("ctxmetrics.evaluation.runs.labelled_power._INVENTED_SHARE", 0.0)
    changes = WHOLE.lose_samples(0.1)
    for labels in (2, 24, 25, 50, 100):
        without, labelled = gate("--max-drop", 0.02, labels).simulate(changes, "good")
        assert labelled == without > 0.7


def test_labels_overrule_an_invented_loss():
    changes = WHOLE.lose_samples(0.12)
    shares = [
        gate("--max-drop", 0.02, labels).simulate(changes, "inventing") for labels in (10, 25, 50)
    ]
    assert {without for without, _ in shares} == {shares[0][0]}
    assert shares[0][0] > 0.9
    assert shares[0][1] < 0.3
    assert max(labelled for _, labelled in shares[1:]) <= 0.02


@pytest.mark.slow
def test_labels_find_a_loss_that_the_judge_does_not_see():
    """No loss is among k labels of n samples of which a tenth lost all with the probability .9**k; then the gate passes."""
    for labels in (20, 40):
        without, labelled = gate("--not-worse", 0.05, labels, 1000).simulate(
            WHOLE.lose_samples(0.1), "blind"
        )
        assert without == 1.0
        assert labelled >= 0.9**labels - 0.03
        assert labelled <= 0.9**labels + 0.3
    _, many = gate("--not-worse", 0.05, 80).simulate(WHOLE.lose_samples(0.1), "blind")
    assert many < 0.1


def test_same_gate_has_the_same_figures_again():
    changes = WHOLE.lose_samples(0.1)
    assert gate("--max-drop", 0.02, 20).simulate(changes, "good") == gate(
        "--max-drop", 0.02, 20
    ).simulate(changes, "good")


@pytest.mark.parametrize(
    ("labels", "changed", "unchanged", "expected"),
    [
        (40, 30, 270, (14, 26)),
        (40, 200, 100, (27, 13)),
        (40, 5, 295, (5, 35)),
        (40, 0, 300, (0, 40)),
        (40, 300, 0, (40, 0)),
        (40, 10, 10, (10, 10)),
        (10, 99, 1, (9, 1)),
        (1, 99, 1, (1, 0)),
        (5, 0, 0, (0, 0)),
    ],
)
def test_labels_are_shared_out_by_what_changed(labels, changed, unchanged, expected):
    assert share_out_labels(labels, changed, unchanged) == expected


def test_half_of_the_labels_are_for_changes_of_several_metrics():
    assert share_out_labels(25, 90, 210, metrics=3) == (13, 12)
    assert share_out_labels(25, 5, 295, metrics=3) == (5, 20)


def test_more_labels_than_samples_are_all_of_them():
    run = RunValues("m", 1.0, tuple([ValueParts(1.0)] * 30), "part")
    assert describe_labels(run, "--max-drop", 0.02, 80).startswith("30 labels by label --compare: ")
    few = RunValues("m", 1.0, tuple([ValueParts(1.0)] * 4), "part")
    assert "no loss, with labels or without" in describe_labels(few, "--max-drop", 0.02, 4)


@pytest.mark.slow
def test_estimate_says_what_labels_buy(tmp_path):
    samples = [
        Sample(id=f"q{n}", retrieved_context_ids=["a"], reference_context_ids=["a"]) for n in range(100)
    ]
    results = evaluate(samples, [IDBasedContextRecall()], progress=False)
    file = tmp_path / "a.jsonl"
    results.to_jsonl(file)
    bars = ("--max-drop", f"{NAME}=0.02", "--not-worse", f"{NAME}=0.05", "--fail-under", f"{NAME}=0.5")
    done = run_command("estimate", file, *bars, "--labels", 40, "--labels", 20, "--labels", 40)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split(maxsplit=1)[0] for line in lines] == [
        "--fail-under",
        "--max-drop",
        "20",
        "40",
        "--not-worse",
        "20",
        "40",
    ]
    without = re.findall(r"in \d+ % \((\d+) % without\)$", lines[3])
    # A loss that is found in 4 of 5 comparisons, if the judge invents it.
    assert 75 <= int(without[0]) <= 85
    assert "that the judge does not see, " in lines[6]
    assert lines[6].endswith("(100 % without)")
    alone = run_command("estimate", file, "--labels", 40)
    assert (alone.returncode, "Give --max-drop" in alone.stderr) == (2, True)
    assert run_command("estimate", file, *bars, "--labels", 1).returncode == 2
    values = read_values(results, NAME)
    assert json.dumps(values.values) == json.dumps([1.0] * 100)
