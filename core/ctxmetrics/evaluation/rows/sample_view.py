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
    # The first score with verdicts about units: the page shows which contexts state these.
    unit_score: Score | None = None
    # The scores with a verdict about each context.
    context_scores: list[Score] = []
    for score in scores.values():
        if unit_score is None and score.attribution and score.verdicts:
            unit_score = score
        counted_noun, _ = score.counted
        if counted_noun == "context":
            context_scores.append(score)
    other_scores = [
        score for score in scores.values() if score is not unit_score and score not in context_scores
    ]
    attribution = None if unit_score is None else unit_score.attribution
    retrieved_contexts = () if sample is None else sample.retrieved_contexts or ()
    evidence = _key_evidence(scores, attribution)
    contexts: list[dict[str, Any]] = []
    for index, text in enumerate(retrieved_contexts):
        contexts.append(_build_context(text, index, context_scores, attribution, evidence))
    return {
        "unit_score": unit_score,
        "sample": sample,
        "context_scores": context_scores,
        "matrix": attribution.cells if attribution and contexts else (),
        "contexts": contexts,
        "other_scores": other_scores,
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
    context_scores: Sequence[Score],
    attribution: Attribution | None,
    evidence: Sequence[tuple[Verdict, str]],
) -> dict[str, Any]:
    """Build the data of one context for the page.

    Args:
        text: The text of the context.
        index: The index of the context.
        context_scores: The scores that have a verdict about each context.
        attribution: The attribution of the units to the contexts; None if there is none.
        evidence: The verdicts with the keys of their units.
    """
    tags = []
    reasons = []
    for score in context_scores:
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
    """Name the verdict about a context by the word for a yes, such as "useful": useful, not useful, not judged."""
    if verdict.value is None:
        return "not judged"
    return word if verdict.value else f"not {word}"


def _split_context(
    text: str, context: int, evidence: Sequence[tuple[Verdict, str]]
) -> Iterator[dict[str, Any]]:
    """Yield the pieces of a context. Each is a text without evidence, and the evidence after it.

    The keys of a piece:

    - ``before``: the text without evidence;
    - ``marked``: the evidence, which belongs to the same units from its first character to its last;
    - ``units``: the keys of these units, such as ``s1``; empty for evidence of a verdict without a key;
    - ``first``: the units that have no evidence in the pieces before;
    - ``ends``: the units whose evidence ends with this piece.

    Args:
        text: The context.
        context: The index of the context.
        evidence: The verdicts with the keys of their units.
    """
    spans = _find_spans(text, context, evidence)
    edges: set[int] = set()
    for span_start, span_end, _ in spans:
        edges.update((span_start, span_end))
    position = 0  # the end of the last piece
    earlier_units: set[str] = set()
    for start, end in itertools.pairwise(sorted(edges)):
        # A piece lies inside a span or outside of it: a span that begins or ends within a piece would have cut it.
        keys_around = [
            key for span_start, span_end, key in spans if span_start <= start and end <= span_end
        ]
        if not keys_around:
            continue
        units = [*dict.fromkeys(filter(None, keys_around))]
        ending_units = [key for _, span_end, key in spans if span_end == end and key]
        yield {
            "before": text[position:start],
            "marked": text[start:end],
            "units": units,
            "first": [unit for unit in units if unit not in earlier_units],
            "ends": dict.fromkeys(ending_units),
        }
        earlier_units.update(units)
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
