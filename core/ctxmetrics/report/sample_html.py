"""One sample as HTML: its scores, its sentences, the matrix of sentences and contexts, the contexts with evidence marked."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

from ctxmetrics._markup import isolated, shown, unit_key, verdict_list
from ctxmetrics._wording import say
from ctxmetrics.attribution import Attribution
from ctxmetrics.samples import Sample
from ctxmetrics.scores import Score
from ctxmetrics.verdicts import Verdict

# Characters of one context, and cells of one matrix, that are shown.
_LONGEST_CONTEXT = 20_000
_MOST_CELLS = 2_000
_SYMBOLS = {"whole": ("w", "●"), "part": ("p", "◐"), "none": ("", "·")}


def sample_html(
    sample: Sample | None, scores: Mapping[str, Score], prefix: str, language: str
) -> Iterator[str]:
    """Yield the pieces.

    Args:
        sample: The sample; None where the run did not keep it.
        scores: Its scores by metric.
        prefix: Of the ids of the page's elements.
        language: Of the words.
    """
    units = next((score for score in scores.values() if score.attribution and score.verdicts), None)
    at_contexts = [score for score in scores.values() if score.counted[0] == "context"]
    if units is not None:
        linked = prefix if sample is not None and sample.retrieved_contexts else None
        yield units.html_heading()
        yield from verdict_list(units.verdicts, units.counted, language, linked)
    for name in ("reference", "response"):
        text = getattr(sample, name, None)
        if text and not (name == "reference" and units and units.counted[0] == "sentence"):
            yield f'<p><span class="small">{say(name, language)}</span><br>{isolated(text)}</p>'
    yield from (score.html_heading() for score in at_contexts)
    attribution = units.attribution if units else None
    if sample is not None and sample.retrieved_contexts:
        if attribution is not None:
            yield from _matrix(attribution, prefix, language)
        yield from _contexts(sample.retrieved_contexts, scores, attribution, prefix, language)
    for score in scores.values():
        if score is not units and score not in at_contexts:
            yield score.html_heading()
            yield from verdict_list(score.verdicts, score.counted, language) if score.verdicts else ()


def _matrix(attribution: Attribution, prefix: str, language: str) -> Iterator[str]:
    """Yield the units x contexts as a picture: each cell that says something links to its evidence."""
    columns = range(1, len(attribution.context_lengths) + 1)
    if not columns or len(columns) * len(attribution.units) > _MOST_CELLS:
        return
    name = f"{say('which context states which sentence', language)}: ● {say('whole', language)}, ◐ {say('part', language)}"
    yield f'<h4>{name}</h4><div class="wide" tabindex="0" role="region" aria-label="{escape(name)}">'
    yield '<table class="matrix"><thead><tr><td></td>'
    yield "".join(
        f'<th scope="col"><a href="#{prefix}-c{column}">c{column}</a></th>' for column in columns
    )
    yield "</tr></thead><tbody>"
    for number, cells in enumerate(attribution.cells, 1):
        unit = unit_key(number)
        yield f'<tr><th scope="row"><a href="#{prefix}-{unit}">{unit}</a></th>'
        for column, cell in enumerate(cells, 1):
            kind, symbol = _SYMBOLS[cell]
            if kind:
                label = f"c{column}: {unit}, {say(cell, language)}"
                link = f'<a href="#{prefix}-c{column}-{unit}" aria-label="{label}">{symbol}</a>'
                yield f'<td class="{kind}" data-u="{unit}">{link}</td>'
            else:
                yield f"<td>{symbol}</td>"
        yield "</tr>"
    yield "</tbody></table></div>"


def _contexts(
    contexts: Sequence[str],
    scores: Mapping[str, Score],
    attribution: Attribution | None,
    prefix: str,
    language: str,
) -> Iterator[str]:
    worth = dict.fromkeys((attribution and attribution.redundant) or (), "redundant")
    worth |= dict.fromkeys((attribution and attribution.unused) or (), "unused")
    rated = [score for score in scores.values() if score.counted[0] == "context"]
    units = attribution.units if attribution else ()
    # Without sentences, the evidence of other metrics is marked, and tied to nothing.
    others = () if units else tuple(verdict for score in scores.values() for verdict in score.verdicts)
    for index, text in enumerate(contexts):
        told = [
            (score, verdict)
            for score in rated
            for verdict in score.verdicts
            if verdict.id == f"c{index + 1}"
        ]
        words = [_state(verdict, score.counted[1]) for score, verdict in told] + [worth.get(index, "")]
        tag = ", ".join(say(word, language) for word in dict.fromkeys(filter(None, words)))
        yield f'<section class="context" id="{prefix}-c{index + 1}"><h4>c{index + 1}'
        yield f'<span class="tag">{tag}</span></h4>' if tag else "</h4>"
        for _, verdict in told:
            yield f'<p class="small">{isolated(verdict.reason)}</p>' if verdict.reason else ""
        yield f'<p class="text"><bdi>{_marked(text[:_LONGEST_CONTEXT], index, units, others, f"{prefix}-c{index + 1}")}</bdi></p>'
        if len(text) > _LONGEST_CONTEXT:
            yield f'<p class="small">({say("cut here", language)})</p>'
        yield "</section>"


def _state(verdict: Verdict, word: str) -> str:
    return "not judged" if verdict.value is None else word if verdict.value else f"not {word}"


def _marked(
    text: str, context: int, units: Sequence[Verdict], others: Sequence[Verdict], place: str
) -> str:
    """Escape a text and mark its evidence; each piece names the units it belongs to and links to them at its end."""
    of_units = [(unit, unit_key(number)) for number, unit in enumerate(units, 1)]
    spans = _spans(of_units, context, len(text)) or _spans(
        ((one, "") for one in others), context, len(text)
    )
    edges = sorted({edge for start, end, _ in spans for edge in (start, end)})
    pieces, position, named = [], 0, set[str]()
    for start, end in itertools.pairwise(edges):
        keys = list(dict.fromkeys(key for low, high, key in spans if low <= start and end <= high))
        if not keys:
            continue
        new = [key for key in keys if key and key not in named]
        named.update(new)
        anchors = "".join(f'<span id="{place}-{key}"></span>' for key in new)
        told = f' data-u="{" ".join(keys)}"' if keys != [""] else ""
        ends = dict.fromkeys(key for _, high, key in spans if high == end and key)
        links = "".join(
            f'<a class="u" href="#{place.rpartition("-")[0]}-{key}">{key}</a>' for key in ends
        )
        pieces += [
            shown(text[position:start]),
            f"{anchors}<mark{told}>{shown(text[start:end])}</mark>{links}",
        ]
        position = end
    return "".join([*pieces, shown(text[position:])])


def _spans(
    verdicts: Iterable[tuple[Verdict, str]], context: int, length: int
) -> list[tuple[int, int, str]]:
    found = [
        (span.start, min(span.end, length), key)
        for verdict, key in verdicts
        for span in verdict.evidence
        if span.context == context
    ]
    return [span for span in found if span[0] < span[1]]
