"""The string variants at every cut."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ctxmetrics import NonLLMContextPrecision, NonLLMContextRecall, Sample, evaluate
from ctxmetrics.agreement.sweep import CUTS, sweep
from ctxmetrics.cli import app
from ctxmetrics.errors import MissingFieldError
from ctxmetrics.files import read_samples

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook.jsonl"
SAMPLES = list(read_samples(HANDBOOK))


def test_each_step_is_what_the_metrics_give_at_its_cut():
    found = sweep(SAMPLES)
    assert CUTS == (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
    for step in (found.steps[0], found.steps[7], found.steps[-1]):
        cut = step.min_similarity
        metrics = [NonLLMContextRecall(min_similarity=cut), NonLLMContextPrecision(min_similarity=cut)]
        summary = evaluate(SAMPLES, metrics, progress=False).summary()
        assert [step.recall, step.precision] == [item.mean for item in summary.values()]


def test_the_agreement_is_counted_by_hand():
    """Similarities 1.0 and 0.5; people find both useful, then only the first."""
    contexts = ["abcdefgh", "abcdxxxx"]
    samples = [
        Sample(
            retrieved_contexts=contexts,
            reference_contexts=["abcdefgh"],
            labels={"context_useful": [True, n < 3]},
        )
        for n in range(4)
    ]
    found = sweep(samples)
    low, high = found.steps[4].agreement, found.steps[5].agreement  # 0.50 and 0.55
    assert (low.both, low.judge_only, low.people_only, low.neither) == (7, 1, 0, 0)
    assert (high.both, high.judge_only, high.people_only, high.neither) == (4, 0, 3, 1)
    assert found.best.min_similarity == 0.55  # at 0.50 everything is a yes: kappa 0
    assert found.best.agreement.kappa == pytest.approx(0.25)


def test_the_command(tmp_path):
    text = CliRunner().invoke(app, ["sweep", str(HANDBOOK)])
    assert text.exit_code == 0, text.output
    assert "36 samples, 36 with context_useful labels" in text.stdout
    assert max(map(len, text.stdout.splitlines()[:-1])) <= 100
    data = json.loads(CliRunner().invoke(app, ["sweep", str(HANDBOOK), "--format", "json"]).stdout)
    assert [step["min_similarity"] for step in data["steps"]] == list(CUTS)
    assert data["best"] == 0.35
    assert CliRunner().invoke(app, ["sweep", str(HANDBOOK), "--format", "xml"]).exit_code != 0


def test_without_labels_there_is_no_agreement():
    found = sweep([replace(item, labels={}) for item in SAMPLES[:5]])
    assert (found.labelled, found.best, found.steps[0].agreement) == (0, None, None)
    assert "kappa" not in str(found)
    with pytest.raises(MissingFieldError):
        sweep([Sample(reference="x", retrieved_contexts=["y"])])
