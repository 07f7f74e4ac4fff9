"""One HTML file: the means, then every sample, the worst first, with its evidence marked in the retrieved text.

The page loads nothing; its policy forbids it. One script sorts, filters and searches; the page can be read without it.
Every text of a sample, a judge or a reply is escaped, shows every character as itself, and keeps its direction to
itself: none of it is markup here.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from html import escape
from zlib import crc32

from ctxmetrics._markup import bar, document, fragment, isolated
from ctxmetrics._wording import listed, say
from ctxmetrics.report.report import Report, ShownSample
from ctxmetrics.report.sample_html import sample_html
from ctxmetrics.report.view import shown_doubt, shown_interval, shown_mean, shown_scored

# A page whose samples take more bytes keeps the texts of the worst ones only, so that they take no more than these.
MOST_BYTES = 20_000_000
KEPT_BYTES = 14_000_000
# So many of the worst samples are elements from the beginning; the script makes elements of the others when they are shown.
_AT_ONCE = 200
_IN_NOTEBOOK = 20
# Characters of a question.
_QUESTION = 20_000
# In the picture of the curve.
_TEXT_HEIGHT = 16


def render_html(report: Report, *, title: str = "ctxmetrics") -> str:
    """Return the page.

    Args:
        report: The run as it is shown.
        title: Heading of the page.
    """
    return "".join(document(title, _body(report), language=report.language))


def notebook_html(report: Report) -> str:
    """Return the view of a notebook: the means and the worst samples."""
    language, samples = report.language, report.samples[:_IN_NOTEBOOK]
    prefix = f"n{crc32(str(report.summary).encode()):x}-"
    body = [*_means(report), *_facts(report)]
    for sample in samples:
        detail = sample_html(sample.row.sample, sample.row, f"{prefix}{sample.row.index}", language)
        body += [f'<details class="s">{_line(sample)}<div class="body">', *detail, "</div></details>"]
    if len(report.samples) > len(samples):
        more = len(report.samples) - len(samples)
        body.append(f'<p class="small">+{more} {say("more", language)}</p>')
    return fragment(body)


def _body(report: Report) -> Iterator[str]:
    yield from _facts(report)
    yield from _means(report)
    yield from _curves(report)
    yield from _samples(report)


def _facts(report: Report) -> Iterator[str]:
    yield (
        "<dl>"
        + "".join(f"<dt>{escape(name)}</dt><dd>{isolated(text)}</dd>" for name, text in report.facts)
        + "</dl>"
    )
    for text in report.summary.origin.labels:
        yield f'<p class="small note">{isolated(text)}</p>'
    if report.summary.stopped:
        heading = say("stopped early", report.language).capitalize()
        yield f'<p class="no">{heading}: {isolated(report.summary.stopped)}</p>'


def _means(report: Report) -> Iterator[str]:
    language = report.language
    names = ("metric", "mean", "", "95 % interval", "scored", "without a value", "doubtful", "passed")
    words = [say(name, language) if name else "" for name in names]
    yield '<table class="means"><thead><tr>' + "".join(
        f'<th scope="col">{word}</th>' if word else "<td></td>" for word in words
    )
    yield "</tr></thead><tbody>"
    of = say("of", language)
    for item in report.summary.values():
        interval = (
            None
            if item.interval is None
            else (item.interval[0] / item.scale, item.interval[1] / item.scale)
        )
        passed = (
            "-" if item.passed is None else f"{item.passed} {of} {item.scored} (>= {item.threshold:g})"
        )
        cells = (
            escape(shown_mean(item)),
            bar(item.share, interval),
            escape(shown_interval(item, language)),
            escape(shown_scored(item, language)),
            escape(listed(item.missing) or say("none", language)),
            escape(" ".join(filter(None, (shown_doubt(item, language), listed(item.doubtful))))),
            escape(passed),
        )
        yield f'<tr><th scope="row">{escape(item.metric)}</th>'
        yield (
            "".join(
                f'<td data-name="{word}">{cell}</td>' for word, cell in zip(words[1:], cells, strict=True)
            )
            + "</tr>"
        )
    yield "</tbody></table>"


# --- the curve over k ---


def _curves(report: Report) -> Iterator[str]:
    language = report.language
    for metric, points in report.curves.items():
        if len(points) < 2:  # noqa: PLR2004 - one point is no curve
            continue
        name = f"{escape(metric)}: {say('what the first k contexts give', language)}"
        yield f"<h2>{name}</h2><figure>"
        yield from _curve_svg(points, name, language)
        yield f"<details><summary>{say('numbers', language)}</summary><table><thead><tr>"
        yield "".join(
            f'<th scope="col">{say(word, language)}</th>' for word in ("k", "recall", "support precision")
        )
        yield "</tr></thead><tbody>"
        for k, recall, precision in points:
            yield f'<tr><th scope="row">{k}</th><td>{recall:.4f}</td><td>{precision:.4f}</td></tr>'
        yield "</tbody></table></details></figure>"


def _curve_svg(points: Sequence[tuple[int, float, float]], name: str, language: str) -> Iterator[str]:
    width, height, left, top = 480, 150, 40, 12
    step = width / max(len(points) - 1, 1)

    def at(place: int, value: float) -> tuple[float, float]:
        return left + place * step, top + height * (1 - value)

    last = points[-1]
    yield f'<svg class="curve" viewBox="0 0 640 200" role="img" aria-label="{name}; k = {last[0]}: {last[1]:.2f}, {last[2]:.2f}">'
    for value in (0, 0.5, 1):
        _, y = at(0, value)
        yield f'<line class="axis" x1="{left}" x2="{left + width}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>'
    for place, (k, *_) in enumerate(points):
        if len(points) <= 12 or place % 5 == 4 or place == 0:  # noqa: PLR2004 - as many as can be read
            yield f'<text x="{left + place * step:.1f}" y="{top + height + 18}" text-anchor="middle">{k}</text>'
    for kind, column in (("recall", 1), ("precision", 2)):
        line = " ".join(
            "{:.1f},{:.1f}".format(*at(place, point[column])) for place, point in enumerate(points)
        )
        yield f'<polyline class="{kind}" points="{line}"/>'
    upper, lower = sorted((at(0, last[column])[1], column) for column in (1, 2))
    apart = max(0.0, (_TEXT_HEIGHT - (lower[0] - upper[0])) / 2)
    for (y, column), nudge in ((upper, -apart), (lower, apart)):
        kind, word = (("recall", "recall"), ("precision", "support precision"))[column - 1]
        yield f'<text class="{kind}" x="{left + width + 8}" y="{y + 4 + nudge:.1f}">{say(word, language)}</text>'
    yield "</svg>"


# --- the samples ---


def _samples(report: Report) -> Iterator[str]:
    if not report.samples:
        return
    language = report.language
    yield f"<h2>{say('samples', language).capitalize()}: {say('worst first', language)}</h2>"
    yield _tools(report)
    heads = [
        f'{_opening(sample)}{_line(sample)}<div class="body">{_link(sample, language)}'
        for sample in report.samples
    ]
    details, kept = _details(report, sum(len(head.encode()) for head in heads))
    if kept < len(heads):
        yield f'<p class="note">{say("texts are kept of the worst samples only", language)}: {kept} '
        yield f"{say('of', language)} {len(heads)}.</p>"
    details[kept:] = [f"<p>{say('its texts are not kept in this page', language)}</p>"] * (
        len(heads) - kept
    )
    samples = [f"{head}{detail}</div></details>" for head, detail in zip(heads, details, strict=True)]
    yield '<div id="samples">'
    yield from samples[:_AT_ONCE]
    # What is in <noscript> is text to a browser that runs scripts, and elements to any other.
    yield from ("<noscript>", *samples[_AT_ONCE:], "</noscript>") if len(samples) > _AT_ONCE else ()
    yield "</div>"


def _details(report: Report, size: int) -> tuple[list[str], int]:
    """Return what the page has of each sample beside its head, and of how many samples, the worst, it keeps that.

    Args:
        report: The report.
        size: The bytes of the heads.
    """
    details, sizes = [], []
    for sample in report.samples:
        prefix = f"n{sample.row.index}"
        details.append("".join(sample_html(sample.row.sample, sample.row, prefix, report.language)))
        size += len(details[-1].encode())
        sizes.append(size)
        if size > MOST_BYTES:
            return details, bisect(sizes, KEPT_BYTES)
    return details, len(details)


def _opening(sample: ShownSample) -> str:
    values = "|".join("" if item.share is None else f"{item.share:.6g}" for item in sample.scores)
    kinds = {
        "missed": any(item.missed for item in sample.scores) or (sample.share or 0) < 1,
        "failed": any(item.failed for item in sample.scores),
        "doubtful": any(item.score.doubtful for item in sample.scores),
        "below": any(item.score.passed is False for item in sample.scores),
    }
    flags = " ".join(name for name, holds in kinds.items() if holds)
    return f'<details class="s" id="n{sample.row.index}" data-v="{values}" data-f="{flags}">'


def _line(sample: ShownSample) -> str:
    question = (sample.question or "")[:_QUESTION]
    chips = "".join(
        f'<span class="v{"" if item.share is None else f" b{round(20 * min(max(item.share, 0), 1))}"}">'
        f"{escape(item.score.metric)} <b>{escape(item.score.formatted_value)}</b></span>"
        for item in sample.scores
    )
    return (
        f'<summary><span class="name">{isolated(sample.name)}</span> <span class="q">{isolated(question)}</span>'
        f'<span class="values">{chips}</span></summary>'
    )


def _link(sample: ShownSample, language: str) -> str:
    return (
        f'<p class="small"><a href="#n{sample.row.index}">{say("link to this sample", language)}</a></p>'
    )


def _tools(report: Report) -> str:
    language = report.language
    orders = [("worst", say("worst first", language)), ("file", say("as in the file", language))]
    orders += [(str(place), escape(name)) for place, name in enumerate(report.summary)]
    kinds = [
        ("", "all"),
        ("missed", "something missed"),
        ("failed", "not judged"),
        ("doubtful", "doubtful"),
    ]
    kinds += [("below", "below the pass mark")]
    sorts = "".join(f'<option value="{value}">{word}</option>' for value, word in orders)
    filters = "".join(f'<option value="{value}">{say(word, language)}</option>' for value, word in kinds)
    count = len(report.samples)
    text = f"{say('of', language)} {count} {say('samples', language)}"
    return (
        '<form id="tools" hidden>'
        f'<label>{say("search", language)}<input id="search" type="search"></label>'
        f'<label>{say("order", language)}<select id="sort">{sorts}</select></label>'
        f'<label>{say("show", language)}<select id="filter">{filters}</select></label>'
        f'<button id="open" type="button">{say("open or close all", language)}</button>'
        f'<output id="shown" data-text="{{n}} {text}" for="search filter">{count} {text}</output></form>'
    )
