"""Audits of gold that are labelled, as a person does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from ctxmetrics import Sample, read_samples
from support.command import run_command as ctxmetrics

Decision = Callable[[Sample, str], bool]


def label(audit: Path, decide: Decision) -> Path:
    """Label all passages of an audit, as a person does."""
    samples = {sample.id: sample for sample in read_samples(audit)}
    labels = Path(f"{audit}.labels.jsonl")
    begun = ctxmetrics(
        "label", audit, "--n", 400, "--ask", "context_useful", "--terminal", "--labels", labels
    )
    assert begun.returncode == 0, begun.stderr
    drawn = json.loads(labels.read_text(encoding="utf-8").splitlines()[0])["drawn"]
    with labels.open("a", encoding="utf-8") as file:
        for item in drawn:
            sample = samples[item["sample_id"]]
            for place, text in enumerate(sample.retrieved_contexts or (), 1):
                line = {
                    "sample_id": item["sample_id"],
                    "hash": item["hash"],
                    "label": "context_useful",
                    "item": f"c{place}",
                    "text": "",
                    "answer": "yes" if decide(sample, text) else "no",
                    "contexts": [],
                    "annotator": "Ada",
                    "weight": item["weight"],
                    "verdict_shown": False,
                }
                file.write(f"{json.dumps(line)}\n")
    return labels
