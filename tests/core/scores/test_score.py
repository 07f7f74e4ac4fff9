"""A score as plain data."""

from __future__ import annotations

from dataclasses import fields

from ctxmetrics import IDBasedHitRate, Sample, Score

SAMPLE = Sample(id="q1", retrieved_context_ids=["a"], reference_context_ids=["a"])


def test_every_field_of_a_score_is_written() -> None:
    """`counted` follows from the metric, and `contexts` are the sample's."""
    data = IDBasedHitRate(threshold=0.5).score(SAMPLE).to_dict()
    names = {item.name for item in fields(Score)}
    assert data.keys() == names - {"counted", "contexts"} | {"passed", "doubtful"}
    assert (data["sample_id"], data["value"], data["passed"], data["doubtful"]) == ("q1", 1.0, True, {})
