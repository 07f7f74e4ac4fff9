"""One HTML file: the means, then every sample, the worst first, with its evidence marked in the retrieved text.

The page loads nothing; its policy forbids it. One script sorts, filters and searches; the page can be read without it.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from typing import Any
from zlib import crc32

from ctxmetrics.pages.render import macro, render
from ctxmetrics.report.report import Report, is_missed, share_of
from ctxmetrics.report.view import Row, cells_of, sample_view
from ctxmetrics.scores import NOT_FINAL

# A page whose samples take more bytes keeps the texts of the worst ones only, so that they take no more than these.
MOST_BYTES = 20_000_000
KEPT_BYTES = 14_000_000
# So many of the worst samples are elements from the beginning; the script makes elements of the others when they are shown.
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
    from markupsafe import Markup

    opening, detail = macro("line.html", "opening"), macro("sample.html", "sample_of")
    shares = [[score.share for score in row.values()] for row in report.rows]
    values = ["|".join("" if share is None else f"{share:.6g}" for share in own) for own in shares]
    heads = [
        opening(row, its, _flags(row), _line(report, row), report.language)
        for row, its in zip(report.rows, values, strict=True)
    ]
    details: list[str] = []
    sizes = [sum(len(head.encode()) for head in heads)]
    for row in report.rows:
        details.append(detail(sample_view(row.sample, row), f"n{row.index}", report.language))
        sizes.append(sizes[-1] + len(details[-1].encode()))
        if sizes[-1] > MOST_BYTES:
            break
    kept = bisect(sizes[1:], KEPT_BYTES) if sizes[-1] > MOST_BYTES else len(heads)
    absent = macro("line.html", "absent")(report.language)
    details[kept:] = [absent] * (len(heads) - kept)
    end = Markup("</div></details>")
    return [head + text + end for head, text in zip(heads, details, strict=True)], kept


def _line(report: Report, row: Row) -> Any:
    question = (row.sample.user_input if row.sample else None) or ""
    return macro("line.html", "line_of")(row, report.name_of(row), question[:_QUESTION], report.language)


def _flags(row: Row) -> str:
    """Return what the page's filter finds a sample by."""
    scores = tuple(row.values())
    kinds = {
        "missed": (share_of(row) or 0) < 1
        or any(is_missed(verdict, score) for score in scores for verdict in score.verdicts),
        "failed": any(score.reason_code in NOT_FINAL for score in scores),
        "doubtful": any(score.doubtful for score in scores),
        "below": any(score.passed is False for score in scores),
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
