"""One sample as a page shows it: its scores, the matrix, and the contexts in pieces, the evidence marked."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ctxmetrics.samples.sample import Sample
from ctxmetrics.scores.attribution import Attribution
from ctxmetrics.scores.score import Score
from ctxmetrics.verdicts import Verdict

# The maximum number of shown characters of a context.
_MAX_CONTEXT_CHARACTERS = 20_000


def build_sample_view(sample: Sample | None, scores: Mapping[str, Score]) -> dict[str, Any]:
    """Build the data that `pages/sample.html` shows.

    Args:
        sample: The sample; None if the run did not keep it.
        scores: The sample's scores by metric.
    """
    units = next((score for score in scores.values() if score.attribution and score.verdicts), None)
    rated = [score for score in scores.values() if score.counted[0] == "context"]
    attribution = units.attribution if units else None
    contexts = (sample.retrieved_contexts if sample else None) or ()
    evidence = _key_evidence(scores, attribution)
    return {
        "units": units,
        "sample": sample,
        "rated": rated,
        "matrix": attribution.cells if attribution and contexts else (),
        "contexts": [
            _build_context(text, index, rated, attribution, evidence)
            for index, text in enumerate(contexts)
        ],
        "others": [score for score in scores.values() if score is not units and score not in rated],
    }


def _key_evidence(
    scores: Mapping[str, Score], attribution: Attribution | None
) -> list[tuple[Verdict, str]]:
    """Pair each verdict whose evidence is marked with the key of its unit: ``s1``, ``s2`` and so on."""
    if attribution:
        return [(unit, f"s{number}") for number, unit in enumerate(attribution.units, 1)]
    # The evidence of other metrics is marked without a key: it belongs to no unit.
    return [(verdict, "") for score in scores.values() for verdict in score.verdicts]


def _build_context(
    text: str,
    index: int,
    rated: Sequence[Score],
    attribution: Attribution | None,
    evidence: Sequence[tuple[Verdict, str]],
) -> dict[str, Any]:
    """Build the data of one context for the page.

    Args:
        text: The text of the context.
        index: The index of the context.
        rated: The scores that have a verdict about each context.
        attribution: The attribution of the units to the contexts; None if there is none.
        evidence: The verdicts with the keys of their units.
    """
    tags = []
    reasons = []
    for score in rated:
        for verdict in score.verdicts:
            if verdict.id != f"c{index + 1}":
                continue
            _, word_for_yes = score.counted  # such as "context" and "useful"
            tags.append(_name_state(verdict, word_for_yes))
            if verdict.reason:
                reasons.append(verdict.reason)
    if attribution and index in (attribution.redundant or ()):
        tags.append("redundant")
    if attribution and index in (attribution.unused or ()):
        tags.append("unused")
    overlaps = attribution.overlaps if attribution else None
    overlap = overlaps[index] if overlaps and index < len(overlaps) else 0.0
    return {
        "tags": list(dict.fromkeys(tags)),
        "reasons": reasons,
        "overlap": overlap,
        "pieces": list(_split_context(text[:_MAX_CONTEXT_CHARACTERS], index, evidence)),
        "cut": len(text) > _MAX_CONTEXT_CHARACTERS,
    }


def _name_state(verdict: Verdict, word: str) -> str:
    if verdict.value is None:
        return "not judged"
    return word if verdict.value else f"not {word}"


def _split_context(
    text: str, context: int, evidence: Sequence[tuple[Verdict, str]]
) -> Iterator[dict[str, Any]]:
    """Yield the pieces of a context, and the verdicts whose evidence each piece is.

    ``before`` is text that no verdict rests on, ``marked`` text that verdicts rest on; ``units`` are the units it belongs to:
    ``s1``, ``s2`` .. by their place; ``first`` those of them whose first evidence in this context this is, ``ends`` those
    whose evidence ends here.

    Args:
        text: The context.
        context: The index of the context.
        evidence: Verdicts and their keys; the evidence of one without a key is marked alone.
    """
    spans = _find_spans(text, context, evidence)
    edges = {start for start, _, _ in spans} | {end for _, end, _ in spans}
    position = 0
    linked: set[str] = set()  # units whose first evidence is behind
    for start, end in itertools.pairwise(sorted(edges)):
        inside = dict.fromkeys(key for low, high, key in spans if low <= start and end <= high)
        if not inside:
            continue
        keys = [key for key in inside if key]
        yield {
            "before": text[position:start],
            "marked": text[start:end],
            "units": keys,
            "first": [key for key in keys if key not in linked],
            "ends": dict.fromkeys(key for _, high, key in spans if high == end and key),
        }
        linked.update(keys)
        position = end
    yield {"before": text[position:], "marked": "", "units": (), "first": (), "ends": ()}


def _find_spans(
    text: str, context: int, evidence: Sequence[tuple[Verdict, str]]
) -> list[tuple[int, int, str]]:
    """Return start, end and key of each piece of evidence in the shown text of a context."""
    spans = []
    for verdict, key in evidence:
        for span in verdict.evidence:
            end = min(span.end, len(text))
            if span.context == context and span.start < end:
                spans.append((span.start, end, key))
    return spans
