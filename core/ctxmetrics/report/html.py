"""One HTML file: the summary, then every sample with its verdicts and the evidence marked in the retrieved text.

The page holds no script and loads nothing; its content security policy forbids both. Every text of a sample, a judge
or a reply is escaped, shows every character as itself, and keeps its direction to itself: none of it is markup here.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from ctxmetrics._wording import doubt, doubts_of, listed, say
from ctxmetrics.report.markup import document
from ctxmetrics.report.markup import isolated as _text
from ctxmetrics.report.markup import shown as _shown
from ctxmetrics.report.view import shown_doubt, shown_interval, shown_mean, shown_scored

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ctxmetrics.report.view import Row, Summary
    from ctxmetrics.scores import Score
    from ctxmetrics.verdicts import Verdict

_MARKS = {True: ("✓", "yes"), False: ("✗", "no"), None: ("?", "open")}
_LONGEST_CONTEXT = 20_000


def render_html(rows: Iterable[Row], summary: Summary, *, title: str = "ctxmetrics") -> str:
    """Return the page.

    Args:
        rows: The rows of a run that kept them.
        summary: What the run's `Results.summary` returns.
        title: Heading of the page.
    """
    return "".join(document(title, _body(list(rows), summary), language=summary.language))


def _body(rows: Sequence[Row], summary: Summary) -> Iterator[str]:
    yield from _summary(rows, summary)
    for row in rows:
        yield from _row(row, summary.language)


def _summary(rows: Sequence[Row], summary: Summary) -> Iterator[str]:
    language = summary.language
    names = ("metric", "mean", "95 % interval", "scored", "without a value", "doubtful", "passed")
    yield "<table><tr>" + "".join(f"<th>{say(name, language)}</th>" for name in names) + "</tr>"
    of = say("of", language)
    for item in summary.values():
        cells = (
            item.metric,
            shown_mean(item),
            shown_interval(item, language),
            shown_scored(item, language),
            listed(item.missing) or say("none", language),
            " ".join(filter(None, (shown_doubt(item, language), listed(item.doubtful)))),
            "-" if item.passed is None else f"{item.passed} {of} {item.scored}",
        )
        yield "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
    yield "</table>"
    if summary.stopped:
        heading = say("stopped early", language).capitalize()
        yield f'<p class="no">{heading}: {_text(summary.stopped)}</p>'
    warnings = dict.fromkeys(
        text for row in rows for score in row.values() for text in score.provenance.warnings
    )
    for text in warnings:
        yield f'<p class="small">{escape(text)}</p>'


def _row(row: Row, language: str) -> Iterator[str]:
    values = " · ".join(f"{escape(name)} {escape(score.formatted_value)}" for name, score in row.items())
    label = row.sample_id if row.sample_id is not None else f"{say('sample', language)} {row.index + 1}"
    yield f'<details><summary><b>{_text(label)}</b> <span class="small">{values}</span></summary>'
    if row.sample is not None:
        for name in ("user_input", "reference", "response"):
            text = getattr(row.sample, name)
            if text:
                yield f'<p><span class="small">{say(name, language)}</span><br>{_text(text)}</p>'
    for score in row.values():
        yield from _score(score)
    if row.sample is not None:
        yield from _contexts(row, row.sample.retrieved_contexts or (), language)
    yield "</details>"


def _score(score: Score) -> Iterator[str]:
    language = score.language
    state = {True: f", {say('passed', language)}", False: f", {say('failed', language)}", None: ""}[
        score.passed
    ]
    band = f" – {escape(score.band)}" if score.band else ""
    yield f"<h3>{escape(score.metric)}: {escape(score.formatted_value)}{state}{band}</h3>"
    if score.message:
        yield f'<p class="open">{_text(score.message)}</p>'
    if score.count:
        doubts = f"; {doubts_of(score.doubtful, language)}" if score.doubtful else ""
        yield f"<p>{escape(score.count + doubts)}</p><ul>"
        for verdict in score.verdicts:
            yield _verdict(verdict, language)
        yield "</ul>"


def _verdict(verdict: Verdict, language: str) -> str:
    mark, kind = _MARKS[verdict.value]
    text = verdict.text if len(verdict.text) <= 200 else f"{verdict.text[:199]}…"  # noqa: PLR2004 - one glance
    parts = [f'<li><span class="{kind}">{mark} {_text(verdict.id)}</span> {_text(text)}']
    why = "; ".join(filter(None, (verdict.code, verdict.reason)))
    if why:
        parts.append(f'<br><span class="small">{_text(why)}</span>')
    where = ", ".join(dict.fromkeys(f"c{span.context + 1}" for span in verdict.evidence))
    if where:
        named = f"{say('evidence in' if verdict.value else 'stated in part in', language)} {where}"
        parts.append(f'<br><span class="small">{named}{escape(doubt(verdict, language))}</span>')
    return "".join(parts) + "</li>"


def _contexts(row: Row, contexts: Sequence[str], language: str) -> Iterator[str]:
    evidence = [span for score in row.values() for verdict in score.verdicts for span in verdict.evidence]
    matrix = next((score.attribution for score in row.values() if score.attribution), None)
    worth = dict.fromkeys((matrix and matrix.redundant) or (), "redundant")
    worth |= dict.fromkeys((matrix and matrix.unused) or (), "unused")
    for index, text in enumerate(contexts):
        spans = sorted(
            {
                (span.start, span.end)
                for span in evidence
                if span.context == index and span.end - span.start < len(text)
            }
        )
        label = f"c{index + 1} {say(worth.get(index, ''), language)}".rstrip()
        yield f'<div class="context"><span class="small">{label}</span> <bdi>{_marked(text[:_LONGEST_CONTEXT], spans)}</bdi>'
        cut = (
            f' <span class="small">({say("cut here", language)})</span>'
            if len(text) > _LONGEST_CONTEXT
            else ""
        )
        yield f"{cut}</div>"


def _marked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Escape a text and mark its spans; overlapping ones become one."""
    pieces, position = [], 0
    for start, end in spans:
        start, end = max(start, position), min(end, len(text))  # noqa: PLW2901 - cut to what is not marked yet
        if start < end:
            pieces += [_shown(text[position:start]), "<mark>", _shown(text[start:end]), "</mark>"]
            position = end
    return "".join([*pieces, _shown(text[position:])])
