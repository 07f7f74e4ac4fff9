"""Samples whose contexts are those of the stages of a retrieval, for tests of reports and comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ctxmetrics import ContextRecall, LexicalJudge, Results, Sample, evaluate
from ctxmetrics.judges.base import Judge

HEIGHT, YEAR, CITY = "It is 330 metres tall.", "It was built in 1889.", "It stands in Paris."
TEXT, OTHER = f"{HEIGHT} {YEAR} {CITY}", "Bananas are yellow."
SEARCH = [OTHER, HEIGHT, YEAR, CITY]


def row(number: int, **stages: list[str]) -> dict[str, Any]:
    """Return a sample as data, with the contexts of each stage."""
    given = stages or {"search": SEARCH, "rerank": [CITY, OTHER], "prompt": [OTHER]}
    return {"id": f"q{number}", "user_input": f"Question {number}?", "reference": TEXT, "stages": given}


def run(rows: Iterable[Mapping[str, Any]], judge: Judge | None = None) -> Results:
    """Compute the recall of samples that are data."""
    samples = [Sample(**one) for one in rows]
    return evaluate(samples, [ContextRecall()], judge=judge or LexicalJudge(), progress=False)
