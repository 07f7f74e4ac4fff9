"""One sample as a page shows it: its scores, the matrix, and the contexts in pieces, the evidence marked."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ctxmetrics.attribution import Attribution
from ctxmetrics.samples import Sample
from ctxmetrics.scores import Score
from ctxmetrics.verdicts import Verdict

# Characters of one context that are shown.
_LONGEST_CONTEXT = 20_000


def sample_view(sample: Sample | None, scores: Mapping[str, Score]) -> dict[str, Any]:
    """Return the data that `pages/sample.html` shows.

    Args:
        sample: The sample; None where the run did not keep it.
        scores: Its scores by metric.
    """
    units = next((score for score in scores.values() if score.attribution and score.verdicts), None)
    rated = [score for score in scores.values() if score.counted[0] == "context"]
    attribution = units.attribution if units else None
    contexts = (sample.retrieved_contexts if sample else None) or ()
    return {
        "units": units,
        "sample": sample,
        "rated": rated,
        "matrix": attribution.cells if attribution and contexts else (),
        "contexts": [
            _context(text, index, scores, rated, attribution) for index, text in enumerate(contexts)
        ],
        "others": [score for score in scores.values() if score is not units and score not in rated],
    }


def _context(
    text: str,
    index: int,
    scores: Mapping[str, Score],
    rated: Sequence[Score],
    attribution: Attribution | None,
) -> dict[str, Any]:
    told = [
        (score.counted[1], verdict)
        for score in rated
        for verdict in score.verdicts
        if verdict.id == f"c{index + 1}"
    ]
    tags = [_state(verdict, word) for word, verdict in told]
    if attribution:
        tags += ["redundant"] if index in (attribution.redundant or ()) else []
        tags += ["unused"] if index in (attribution.unused or ()) else []
        keyed = [(unit, f"s{number}") for number, unit in enumerate(attribution.units, 1)]
    else:  # the evidence of other metrics is marked, and tied to nothing
        keyed = [(verdict, "") for score in scores.values() for verdict in score.verdicts]
    return {
        "tags": list(dict.fromkeys(tags)),
        "reasons": [verdict.reason for _, verdict in told if verdict.reason],
        "pieces": list(pieces_of(text[:_LONGEST_CONTEXT], index, keyed)),
        "cut": len(text) > _LONGEST_CONTEXT,
    }


def _state(verdict: Verdict, word: str) -> str:
    return "not judged" if verdict.value is None else word if verdict.value else f"not {word}"


def pieces_of(
    text: str, context: int, keyed: Sequence[tuple[Verdict, str]]
) -> Iterator[dict[str, Any]]:
    """Yield the pieces of a context, and the evidence behind each.

    ``before`` is text that no verdict rests on, ``marked`` text that verdicts rest on; ``units`` are the units it belongs to:
    ``s1``, ``s2`` .. by their place; ``first`` those of them whose first evidence in this context this is, ``ends`` those
    whose evidence ends here.

    Args:
        text: The context.
        context: Its index.
        keyed: Verdicts and their keys; the evidence of one without a key is marked alone.
    """
    spans = [
        (span.start, min(span.end, len(text)), key)
        for verdict, key in keyed
        for span in verdict.evidence
        if span.context == context and span.start < min(span.end, len(text))
    ]
    edges = sorted({edge for start, end, _ in spans for edge in (start, end)})
    position, named = 0, set[str]()
    for start, end in itertools.pairwise(edges):
        inside = dict.fromkeys(key for low, high, key in spans if low <= start and end <= high)
        if inside:
            keys = [key for key in inside if key]
            first = [key for key in keys if key not in named]
            named.update(first)
            yield {
                "before": text[position:start],
                "marked": text[start:end],
                "units": keys,
                "first": first,
                "ends": dict.fromkeys(key for _, high, key in spans if high == end and key),
            }
            position = end
    yield {"before": text[position:], "marked": "", "units": (), "first": (), "ends": ()}
