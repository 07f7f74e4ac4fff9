"""The mark of the embedded judge's verdicts, which stands beside every figure about it.

A change that moves a verdict changes the mark, and a test then asks for the figures to be written again; a change of a
comment changes nothing.
"""

from __future__ import annotations

import hashlib
import json

from ctxmetrics.evaluation.runs.controls import labelled_samples
from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.lexical import LexicalJudge
from ctxmetrics.text.sentences import split_sentences


def fingerprint() -> str:
    """Return a hash of the verdicts on the labelled samples that ship with the library: value, code, score, contexts."""
    judge, lines = LexicalJudge(), []
    for labelled in labelled_samples():
        sample = labelled.sample
        request = JudgeRequest(
            units=split_sentences(sample.reference),
            contexts=tuple(sample.retrieved_contexts),
            answer=sample.reference,
            language=labelled.language,
        )
        for verdict in (*judge.support(request), *judge.usefulness(request)):
            measured = verdict.details.get("score", verdict.details.get("share"))
            spans = [(span.context, span.start, span.end, span.whole) for span in verdict.evidence]
            lines.append(
                [sample.id, verdict.id, verdict.value, verdict.code, round(measured, 9), spans]
            )
    return hashlib.sha256(json.dumps(lines).encode()).hexdigest()[:12]
