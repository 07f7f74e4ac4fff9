"""One run as it is shown: plain data that the page and the notebook print, worst samples first; and as text."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from ctxmetrics._frozen import EMPTY
from ctxmetrics._wording import clean, is_expected, mark_of, plural, say, why_missed, why_of
from ctxmetrics.pages import macro, render
from ctxmetrics.report.sample import sample_view
from ctxmetrics.report.stages import Stages, mean_of
from ctxmetrics.report.view import (
    NAME,
    WIDTH,
    Row,
    Summary,
    bar,
    cells_of,
    folded,
    shown_alike,
    spent,
)
from ctxmetrics.scores import NOT_FINAL, Score
from ctxmetrics.verdicts import DOUBTFUL, Verdict

# Verdicts of one score that are shown as text.
_MOST = 5


@dataclass(frozen=True, slots=True)
class Report:
    """A run as it is shown.

    Attributes:
        summary: The means, and where they come from.
        rows: The rows, worst first; none of a run that kept none.
        curves: By the names of metrics that count units: k, mean recall and mean support precision of the first k.
        stages: What each stage of the retrieval held; None where no sample has stages.
    """

    summary: Summary
    rows: tuple[Row, ...]
    curves: Mapping[str, tuple[tuple[int, float, float], ...]] = EMPTY
    stages: Stages | None = None

    @property
    def language(self) -> str:
        """ISO 639 code of the language of the report."""
        return self.summary.language

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What was scored, when, by whom, and what it cost: pairs of a name and a text."""
        language, summary = self.language, self.summary
        samples = max((item.samples for item in summary.values()), default=0)
        when = "" if summary.started is None else f"{summary.started:%Y-%m-%d %H:%M %Z}"
        counted = plural(samples, "sample", language=language)
        judges = [
            *summary.each("judge"),
            *(f"{say('answered as', language)} {name}" for name in summary.each("served_model")),
            *(f"{say('prompt', language)} {name}" for name in summary.each("prompt")),
        ]
        found = [
            ("data", ", ".join(filter(None, (summary.source, counted, when)))),
            ("judge", ", ".join(judges)),
            ("cost", spent(summary.usage, language)),
            ("convention", ", ".join(name for name in summary.each("convention") if name != "default")),
            ("library", ", ".join(summary.each("library"))),
        ]
        return [(say(name, language), text) for name, text in found if text]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a page says about the judge and the labels below the facts."""
        controls = self.summary.controls
        return (
            *self.summary.counts,
            *self.summary.warnings,
            *self.summary.notes,
            *(
                f"{name}: {text}"
                for name, item in self.summary.items()
                if (text := shown_alike(item, self.language))
            ),
            *([controls.shown(self.language)] if controls else []),
        )

    def lowest(self, number: int) -> list[tuple[Row, tuple[Score, ...]]]:
        """Return the samples that are among so many of the lowest of a metric, each with the scores that are."""
        chosen: dict[int, list[Score]] = {}
        for place in range(len(self.summary)):
            scores = [row.scores[place] for row in self.rows]
            ranks = [rank_of([score], row.index) for score, row in zip(scores, self.rows, strict=True)]
            for index in sorted(range(len(ranks)), key=ranks.__getitem__)[:number]:
                chosen.setdefault(index, []).append(scores[index])
        return [(self.rows[index], tuple(chosen[index])) for index in sorted(chosen)]


def is_missed(verdict: Verdict, score: Score) -> bool:
    """Return whether a person should look at a verdict that counts: missed, not judged, or doubtful."""
    return verdict.weight > 0 and (
        verdict.value is None
        or verdict.code in DOUBTFUL
        or (is_expected(score.counted) and not verdict.value)
    )


def rank_of(scores: Sequence[Score], index: int) -> tuple[bool, bool, float, int]:
    """Return the key that sorts the worst first: what failed, then low shares, then what has no value."""
    share = mean_of([score.share for score in scores])
    return (
        not any(score.reason_code in NOT_FINAL for score in scores),
        share is None,
        share or 0.0,
        index,
    )


def render_text(report: Report, *, lowest: int = 0, color: bool = False, width: int = WIDTH) -> str:
    """Return the table, who judged and what, and so many of the lowest scores of each metric.

    Args:
        report: The report.
        lowest: How many scores of each metric are explained.
        color: Colour the marks with ANSI escapes.
        width: Characters of a line of what is explained.
    """
    lines = [str(report.summary), ""]  # which says what was spent
    facts = [fact for fact in report.facts if fact[0] != say("cost", report.language)]
    room = max((len(name) for name, _ in facts), default=0)
    for name, text in facts:
        lines += folded(clean(text, 4 * WIDTH), f"{name:<{room}}  ", "")
    lines += [line for label in report.summary.warnings for line in folded(clean(label, 4 * WIDTH))]
    shown = report.lowest(lowest) if lowest > 0 else []
    if shown:
        lines += ["", f"{say('lowest scores of each metric', report.language)}:"]
    for number, (row, scores) in enumerate(shown):
        question = f": {row.sample.user_input}" if row.sample and row.sample.user_input else ""
        lines += [*([""] if number else []), clean(f"{row.called(report.language)}{question}", width)]
        for score in scores:
            lines += [*_score(score, width), *_missed_in(score, report.language, width, color=color)]
    return "\n".join(lines)


def _missed_in(score: Score, language: str, width: int, *, color: bool) -> Iterator[str]:
    missed = [verdict for verdict in score.verdicts if is_missed(verdict, score)]
    for verdict in missed[:_MOST]:
        named = verdict.text == verdict.id
        text = clean(verdict.id if named else f"{verdict.id} {verdict.text}", width - 6)
        why = "; ".join(
            filter(
                None, (why_missed(verdict, score.counted, score.language), why_of(verdict, language))
            )
        )
        if named and len(text) + len(why) <= width - 9:
            yield f"    {mark_of(verdict, color=color)} {text}: {why}"
        else:
            yield f"    {mark_of(verdict, color=color)} {text}"
            yield f"        {clean(why, width - 8)}"
    if len(missed) > _MOST:
        yield f"    +{len(missed) - _MOST} {say('more', language)}"


def _score(score: Score, width: int) -> Iterator[str]:
    """Yield the name, the value, a bar and the reason; what does not fit in the line follows on further lines."""
    name, *why = (
        score.metric,
        *filter(None, (score.count, score.explanation, score.band)),
    )
    if len(name) > NAME:
        yield from folded(name, "  ")
        name = ""
    line = f"  {name:<{NAME}}  {score.formatted_value:<6}  {bar(score.share)}"
    if why and len(line) + 2 + len(why[0]) <= width:
        line = f"{line}  {why.pop(0)}"
    yield line.rstrip()
    if score.passed is not None:
        state = say("passed" if score.passed else "failed", score.language)
        yield f"    {say('pass mark', score.language)} {score.threshold:g}: {state}"
    yield from (f"    {clean(text, width - 4)}" for text in why)


# --- as a page ---

# A page whose samples take more bytes keeps the texts of the worst ones only, so that they take no more than these.
MOST_BYTES = 20_000_000
KEPT_BYTES = 14_000_000
# How many of the worst samples are elements of the page from the beginning; the script makes the others
# when they are shown.
_AT_ONCE = 200
_IN_NOTEBOOK = 20
# Characters of a question.
_QUESTION = 20_000
# The picture of a curve: its size, its place, and the height of a text.
_WIDTH, _HEIGHT, _LEFT, _TOP, _TEXT_HEIGHT = 480, 150, 40, 12, 16


def render_html(report: Report, *, title: str = "ctxmetrics") -> str:
    """Return the page.

    Args:
        report: The run as it is shown.
        title: Heading of the page.
    """
    samples, kept = _samples(report)
    return render(
        "report.html",
        title=title,
        language=report.language,
        report=report,
        cells_of=cells_of,
        lines_of=curve_shape,
        samples=samples,
        kept=kept,
        at_once=_AT_ONCE,
    )


def notebook_html(report: Report) -> str:
    """Return the view of a notebook: the means and the worst samples."""
    detail, prefix = macro("sample.html", "sample_of"), f"n{crc32(str(report.summary).encode()):x}-"
    samples = [
        (
            _line(report, row),
            detail(sample_view(row.sample, row), f"{prefix}{row.index}", report.language),
        )
        for row in report.rows[:_IN_NOTEBOOK]
    ]
    return render(
        "notebook.html",
        report=report,
        cells_of=cells_of,
        samples=samples,
        more=len(report.rows) - len(samples),
    )


def _samples(report: Report) -> tuple[list[Any], int]:
    """Return the samples of the page, and of how many, the worst, it keeps the texts."""
    head_of, detail, whole = (
        macro("line.html", "head_of"),
        macro("sample.html", "sample_of"),
        macro("line.html", "whole"),
    )
    heads = [
        head_of(
            row,
            "|".join("" if score.share is None else f"{score.share:.6g}" for score in row.scores),
            _flags(row),
            _line(report, row),
            report.language,
        )
        for row in report.rows
    ]
    details: list[str] = []
    sizes = [sum(len(head.encode()) for head in heads)]
    for row in report.rows:
        details.append(detail(sample_view(row.sample, row), f"n{row.index}", report.language))
        sizes.append(sizes[-1] + len(details[-1].encode()))
        if sizes[-1] > MOST_BYTES:
            break
    kept = bisect(sizes[1:], KEPT_BYTES) if sizes[-1] > MOST_BYTES else len(heads)
    details[kept:] = [macro("line.html", "absent")(report.language)] * (len(heads) - kept)
    return list(map(whole, heads, details)), kept


def _line(report: Report, row: Row) -> Any:
    question = (row.sample.user_input if row.sample else None) or ""
    return macro("line.html", "line_of")(row, row.called(report.language), question[:_QUESTION])


def _flags(row: Row) -> str:
    """Return the words by which the page's filter finds a sample."""
    kinds = {
        "missed": (mean_of([score.share for score in row.scores]) or 0) < 1
        or any(is_missed(verdict, score) for score in row.scores for verdict in score.verdicts),
        "failed": any(score.reason_code in NOT_FINAL for score in row.scores),
        "doubtful": any(score.doubtful for score in row.scores),
        "below": any(score.passed is False for score in row.scores),
    }
    return " ".join(name for name, holds in kinds.items() if holds)


def curve_shape(points: Sequence[tuple[int, float, float]]) -> dict[str, Any]:
    """Return where the lines and the words of a curve stand in its picture."""
    step = _WIDTH / max(len(points) - 1, 1)

    def at(value: float) -> float:
        return _TOP + _HEIGHT * (1 - value)

    places = [(_LEFT + place * step, *point) for place, point in enumerate(points)]
    few = len(points) <= 12  # noqa: PLR2004 - as many as can be read
    kinds = {1: ("recall", "recall"), 2: ("precision", "support precision")}
    upper, lower = sorted((at(points[-1][column]), column) for column in kinds)
    apart = max(0.0, (_TEXT_HEIGHT - (lower[0] - upper[0])) / 2)
    return {
        "axes": [(value, at(value)) for value in (0, 0.5, 1)],
        "ticks": [
            (k, x)
            for place, (x, k, *_) in enumerate(places)
            if few or place % 5 == 4 or place == 0  # noqa: PLR2004 - every fifth has a label
        ],
        "lines": [
            (kind, " ".join(f"{x:.1f},{at(values[column]):.1f}" for x, *values in places))
            for column, (kind, _) in kinds.items()
        ],
        "words": [
            (*kinds[column], y + 4 + nudge) for (y, column), nudge in ((upper, -apart), (lower, apart))
        ],
    }
