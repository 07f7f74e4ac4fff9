"""A report as text: at most 80 characters a line."""

from __future__ import annotations

from collections.abc import Iterator

from ctxmetrics._wording import clean, mark_of, say, why_of
from ctxmetrics.report.report import Missed, Report, ShownSample, ShownScore
from ctxmetrics.report.view import NAME, WIDTH, aligned, bar, folded

# Verdicts of one score that are shown.
_MOST = 5


def render_text(report: Report, *, lowest: int = 0, color: bool = False) -> str:
    """Return the table, who judged and what, and so many of the lowest scores of each metric.

    Args:
        report: The report.
        lowest: How many scores of each metric are explained.
        color: Colour the marks with ANSI escapes.
    """
    lines = [str(report.summary), ""]  # which says what was spent
    facts = [fact for fact in report.facts if fact[0] != say("cost", report.language)]
    for name, (_, text) in zip(aligned([(name,) for name, _ in facts]), facts, strict=True):
        width = max(len(known) for known, _ in facts)
        lines += folded(clean(text, 4 * WIDTH), f"{name:<{width}}  ", " " * (width + 2))
    for label in report.summary.origin.labels:
        lines += folded(clean(label, 4 * WIDTH))
    shown = report.lowest(lowest) if lowest > 0 else []
    if shown:
        lines += ["", f"{say('lowest scores of each metric', report.language)}:"]
    for number, (sample, scores) in enumerate(shown):
        lines += [
            *([""] if number else []),
            *_sample(sample, scores, color=color, language=report.language),
        ]
    return "\n".join(lines)


def _sample(
    sample: ShownSample, scores: tuple[ShownScore, ...], *, color: bool, language: str
) -> Iterator[str]:
    question = f": {sample.question}" if sample.question else ""
    yield clean(f"{sample.name}{question}", WIDTH)
    for item in scores:
        yield from _score(item)
        for missed in item.missed[:_MOST]:
            yield from _missed(missed, color=color, language=language)
        if len(item.missed) > _MOST:
            yield f"    +{len(item.missed) - _MOST} {say('more', language)}"


def _score(item: ShownScore) -> Iterator[str]:
    """Yield the name, the value, a bar and why; what does not fit in the line follows on lines of its own."""
    name, *why = (
        item.score.metric,
        *filter(None, (item.score.count, item.score.explanation, item.score.band)),
    )
    if len(name) > NAME:
        yield from folded(name, "  ")
        name = ""
    line = f"  {name:<{NAME}}  {item.score.formatted_value:<6}  {bar(item.share)}"
    if why and len(line) + 2 + len(why[0]) <= WIDTH:
        line = f"{line}  {why.pop(0)}"
    yield line.rstrip()
    if item.score.passed is not None:
        state = say("passed" if item.score.passed else "failed", item.score.language)
        yield f"    {say('pass mark', item.score.language)} {item.score.threshold:g}: {state}"
    for text in why:
        yield f"    {clean(text, WIDTH - 4)}"


def _missed(missed: Missed, *, color: bool, language: str) -> Iterator[str]:
    verdict = missed.verdict
    named = verdict.text == verdict.id
    text = clean(verdict.id if named else f"{verdict.id} {verdict.text}", WIDTH - 6)
    why = "; ".join(filter(None, (missed.why, why_of(verdict, language))))
    if named and len(text) + len(why) <= WIDTH - 9:
        yield f"    {mark_of(verdict, color=color)} {text}: {why}"
    else:
        yield f"    {mark_of(verdict, color=color)} {text}"
        yield f"        {clean(why, WIDTH - 8)}"
