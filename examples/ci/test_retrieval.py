"""A regression test of retrieval for pytest: `pytest test_retrieval.py` fails when retrieval became worse.

The first run writes the baseline, which holds no text of your data; commit that file. Delete it to accept what changed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxmetrics import ContextPrecision, ContextRecall, evaluate, read_samples
from ctxmetrics.testing import assert_not_worse

SAMPLES = Path("samples.jsonl")  # what your retriever returned for each question
BASELINE = Path("baseline/scores.jsonl")


def test_retrieval_is_not_worse_than_the_baseline():
    results = evaluate(read_samples(SAMPLES), [ContextRecall(), ContextPrecision()], progress=False)
    if not BASELINE.exists():
        BASELINE.parent.mkdir(exist_ok=True)
        results.to_baseline(BASELINE)
        pytest.skip(f"{BASELINE} is written; commit it")
    assert_not_worse(results, BASELINE, margin=0.05)
