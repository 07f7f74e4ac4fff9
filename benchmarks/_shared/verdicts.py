"""The mark of the embedded judge's verdicts, which stands beside every figure about it.

A change that moves a verdict changes the mark, and a test then asks for the figures to be written again; a change of a
comment changes nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from ctxmetrics.evaluation.runs.controls import labelled_samples
from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.lexical import LexicalJudge
from ctxmetrics.text.sentences import split_sentences

CASES = Path(__file__).resolve().parents[1] / "data" / "fingerprint.json"


def fingerprint() -> str:
    """Return a hash of the verdicts: value, code, score, contexts and what contradicts.

    They are about the labelled samples that ship with the library, and about cases that these do not have.
    """
    judge, lines = LexicalJudge(), []
    for name, request in _list_requests():
        for verdict in (*judge.support(request), *judge.usefulness(request)):
            measured = verdict.details.get("score", verdict.details.get("share"))
            spans = [(span.context, span.start, span.end, span.whole) for span in verdict.evidence]
            contradicted = verdict.details.get("contradiction")
            kind = contradicted["kind"] if contradicted else None
            lines.append(
                [name, verdict.id, verdict.value, verdict.code, kind, round(measured, 9), spans]
            )
    return hashlib.sha256(json.dumps(lines).encode()).hexdigest()[:12]


def _list_requests() -> Iterator[tuple[str, JudgeRequest]]:
    """Yield what is judged, each with its name."""
    for labelled in labelled_samples():
        sample = labelled.sample
        yield (
            sample.id,
            JudgeRequest(
                units=split_sentences(sample.reference),
                contexts=tuple(sample.retrieved_contexts),
                answer=sample.reference,
                language=labelled.language,
            ),
        )
    cases = json.loads(CASES.read_text(encoding="utf-8"))["cases"]
    for number, (language, sentence, context) in enumerate(cases):
        request = JudgeRequest(
            units=(sentence,), contexts=(context,), answer=sentence, language=language
        )
        yield f"case-{number}", request
