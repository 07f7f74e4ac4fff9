"""Answers with more units than one question has."""

from __future__ import annotations

import pytest

from ctxmetrics import ContextRecall, Sample, evaluate
from ctxmetrics.errors import SampleError

SENTENCES = [f"Pump {number} is red." for number in range(10_001)]
CONTEXTS = ("Pump 1 is red.",)


def test_too_many_sentences_are_named():
    sample = Sample(id="a", reference=" ".join(SENTENCES), retrieved_contexts=CONTEXTS)
    message = "Sample 'a': field 'reference' holds 10,001 sentences; 10,000 is the most"
    with pytest.raises(SampleError, match=message):
        ContextRecall().score(sample)
    score = evaluate([sample], [ContextRecall()], progress=False)[0]["context_recall"]
    assert (score.value, score.reason_code) == (None, "metric_error")
    assert message in score.message


def test_too_many_facts_are_named():
    sample = Sample(id="a", reference_facts=SENTENCES, retrieved_contexts=CONTEXTS)
    with pytest.raises(SampleError, match="field 'reference_facts' holds 10,001 facts"):
        ContextRecall(unit="fact").score(sample)
