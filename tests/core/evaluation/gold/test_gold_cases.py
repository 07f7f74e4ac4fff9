"""Gold as people write it, in several languages: each case of ``gold_cases.json`` has the findings that are given there, and no other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxmetrics import check_gold

CASES: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("gold_cases.json").read_text(encoding="utf-8")
)
# Passages of other subjects.
OTHERS = {
    "pump-2": "Its motor is guaranteed for three years after the purchase.",
    "oven-1": "The oven heats to 300 degrees within fifteen minutes of switching on.",
    "oven-2": "Clean the oven door with vinegar and a soft cloth every month.",
    "bike-1": "The bicycle has eight gears and two brakes made of steel.",
}
PUMP = "The garden pump weighs 12 kilograms and has a handle of oak."
QUESTIONS = [
    "How heavy is the pump?",
    "Who sells the oven?",
    "Where is the bicycle?",
    "What does the door cost?",
]


def make_sample(case: dict[str, Any]) -> dict[str, Any]:
    sample = {
        "id": "q1",
        "user_input": case.get("question", "How heavy is the garden pump?"),
        "reference": case.get("reference", "The garden pump weighs 12 kilograms."),
    }
    if "gold_text" in case:
        return {**sample, "reference_contexts": [case["gold_text"]]}
    return {**sample, "reference_context_ids": [case.get("gold_id", "pump-1")]}


def make_samples(case: dict[str, Any], ids: list[str]) -> list[dict[str, Any]]:
    """Make one sample, or several with the same reference."""
    if "rows" not in case:
        return [make_sample(case)]
    rows = range(case["rows"])
    return [
        {
            "id": f"q{row}",
            "user_input": QUESTIONS[row],
            "reference": case["reference"],
            "reference_context_ids": [ids[row]],
        }
        for row in rows
    ]


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_case_has_its_findings_and_no_other(case: dict[str, Any]) -> None:
    corpus = {case.get("passage_id", "pump-1"): case.get("passage", PUMP), **OTHERS}
    if "other" in case:
        corpus[case.get("other_id", "other")] = case["other"]
    samples = make_samples(case, [*corpus])
    report = check_gold(samples, corpus=corpus, progress=False)
    assert sorted({finding.code for finding in report.findings}) == case["codes"]
