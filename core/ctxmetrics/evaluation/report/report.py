"""One run as it is shown: plain data that the page and the notebook print, worst samples first; and as text."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from ctxmetrics._internal.frozen import EMPTY
from ctxmetrics._internal.text_table import WIDTH, draw_bar, wrap
from ctxmetrics.evaluation.pages import get_macro, render
from ctxmetrics.evaluation.pages.charts import Chart, draw_over_k, list_over_k
from ctxmetrics.evaluation.pages.phrases import say
from ctxmetrics.evaluation.pages.tables import Table
from ctxmetrics.evaluation.report.means_table import (
    NAME_WIDTH,
    build_page_groups,
    build_page_table,
    describe_equal_values,
)
from ctxmetrics.evaluation.report.stage_means import Stages, mean_known
from ctxmetrics.evaluation.report.summary import Summary
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.rows.sample_view import build_sample_view
from ctxmetrics.scores import wording
from ctxmetrics.scores.score import NOT_FINAL, Score
from ctxmetrics.scores.wording import clean
from ctxmetrics.verdicts import DOUBTFUL, Verdict

# The maximum number of verdicts of one score that are shown as text.
_MAX_VERDICTS_AS_TEXT = 5
# How many bars a histogram has.
_BAR_COUNT = 10
# The maximum number of characters of a fact or a warning.
_MAX_FACT_CHARACTERS = 4 * WIDTH


@dataclass(frozen=True, slots=True)
class Report:
    """A run as it is shown.

    Attributes:
        summary: The means, and where they come from.
        rows: The rows, worst first; none of a run that kept none.
        curves: By the names of metrics that count units: k, mean recall and mean support precision of the first k.
        stages: The figures of each stage of the retrieval; None if no sample has stages.
        groups: The means of groups of samples, by their names, if they were asked for.
    """

    summary: Summary
    rows: tuple[Row, ...]
    curves: Mapping[str, tuple[tuple[int, float, float], ...]] = EMPTY
    stages: Stages | None = None
    groups: Mapping[str, Summary] = EMPTY

    @property
    def language(self) -> str:
        """ISO 639 code of the language of the report."""
        return self.summary.language

    @property
    def facts(self) -> list[tuple[str, str]]:
        """The facts of the run as pairs of a name and a text: the samples, the time, the judge and the cost."""
        summary = self.summary
        facts = [
            ("data", ", ".join(self._describe_data())),
            ("judge", ", ".join(self._describe_judges())),
            ("cost", wording.describe_usage(summary.usage, self.language)),
            ("convention", ", ".join(name for name in summary.each("convention") if name != "default")),
            ("library", ", ".join(summary.each("library"))),
        ]
        return [(say(name, self.language), text) for name, text in facts if text]

    def _describe_data(self) -> Iterator[str]:
        """Yield what was scored: the file, the number of samples, the time."""
        summary = self.summary
        if summary.source:
            yield summary.source
        samples = max((item.samples for item in summary.values()), default=0)
        yield wording.plural(samples, "sample", language=self.language)
        if summary.started:
            yield summary.started

    def _describe_judges(self) -> Iterator[str]:
        """Yield who judged: the judge, the model that answered, the prompt."""
        yield from self.summary.each("judge")
        for name in self.summary.each("served_model"):
            yield f"{say('answered as', self.language)} {name}"
        for name in self.summary.each("prompt"):
            yield f"{say('prompt', self.language)} {name}"

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes about the judge and the labels, which a page shows below the facts about the run."""
        summary = self.summary
        notes = [*summary.counts, *summary.warnings, *summary.notes]
        for name, item in summary.items():
            equal_values = describe_equal_values(item, self.language)
            if equal_values:
                notes.append(f"{name}: {equal_values}")
        if summary.controls:
            notes.append(summary.controls.describe(self.language))
        if summary.audit:
            notes += summary.audit.list_lines()
        return tuple(notes)

    @property
    def histograms(self) -> dict[str, list[int]]:
        """By metric, how many samples have a score in each tenth of its scale. The last tenth holds the highest score too."""
        counts = {name: [0] * _BAR_COUNT for name in self.summary}
        for row in self.rows:
            for name, score in row.items():
                if score.share is not None:
                    bar = min(int(score.share * _BAR_COUNT), _BAR_COUNT - 1)
                    counts[name][bar] += 1
        return counts

    def lowest(self, number: int) -> list[tuple[Row, tuple[Score, ...]]]:
        """Return the samples with the lowest scores of each metric, each with these scores. ``number`` is their number by metric."""
        lowest: dict[int, list[Score]] = {}
        for metric_index in range(len(self.summary)):
            sort_keys = [rank_scores([row.scores[metric_index]], row.index) for row in self.rows]
            order = sorted(range(len(self.rows)), key=sort_keys.__getitem__)
            for index in order[:number]:
                lowest.setdefault(index, []).append(self.rows[index].scores[metric_index])
        return [(self.rows[index], tuple(lowest[index])) for index in sorted(lowest)]


def is_missed(verdict: Verdict, score: Score) -> bool:
    """Return whether a person should look at a verdict that counts: missed, not judged, or doubtful."""
    if verdict.weight <= 0:
        return False
    if verdict.value is None or verdict.code in DOUBTFUL:
        return True
    return not verdict.value and wording.is_expected(score.counted)


def has_failed(scores: Sequence[Score]) -> bool:
    """Return whether a score of a sample failed."""
    return any(score.reason_code in NOT_FINAL for score in scores)


def rank_scores(scores: Sequence[Score], index: int) -> tuple[bool, bool, float, int]:
    """Return a key that sorts the worst rows first: failed rows, then low shares, then rows without a value."""
    share = mean_known([score.share for score in scores])
    return not has_failed(scores), share is None, share or 0.0, index


def render_text(report: Report, *, lowest: int = 0, color: bool = False, width: int = WIDTH) -> str:
    """Return the table, the facts of the run, and some of the lowest scores of each metric.

    Args:
        report: The report.
        lowest: How many scores of each metric are explained.
        color: Colour the marks with ANSI escapes.
        width: The number of characters of a line of an explanation.
    """
    lines = [str(report.summary), ""]
    # The summary states the cost, so the fact about it is left out.
    name_of_cost = say("cost", report.language)
    facts = [(name, text) for name, text in report.facts if name != name_of_cost]
    room = max((len(name) for name, _ in facts), default=0)
    for name, text in facts:
        lines += wrap(clean(text, _MAX_FACT_CHARACTERS), f"{name:<{room}}  ", "")
    for warning in report.summary.warnings:
        lines += wrap(clean(warning, _MAX_FACT_CHARACTERS))
    if lowest > 0:
        lines += _explain_lowest(report, lowest, width, color=color)
    return "\n".join(lines)


def _explain_lowest(report: Report, number: int, width: int, *, color: bool) -> Iterator[str]:
    """Yield some of the lowest scores of each metric with the units that they miss. A blank line comes before each sample."""
    language = report.language
    for index, (row, scores) in enumerate(report.lowest(number)):
        yield ""
        if index == 0:
            yield f"{say('lowest scores of each metric', language)}:"
        name = row.called(language)
        if row.fields.user_input:
            name = f"{name}: {row.fields.user_input}"
        yield clean(name, width)
        for score in scores:
            yield from _format_score(score, width)
            yield from _format_missed(score, language, width, color=color)


def _format_missed(score: Score, language: str, width: int, *, color: bool) -> Iterator[str]:
    """Yield the verdicts to look at, each with the reason. A short reason stands in the line of the verdict, a long one in the next line."""
    missed = [verdict for verdict in score.verdicts if is_missed(verdict, score)]
    # Four blanks, a mark and a blank stand before a name.
    name_width = width - 6
    for verdict in missed[:_MAX_VERDICTS_AS_TEXT]:
        has_text = verdict.text != verdict.id
        name = clean(f"{verdict.id} {verdict.text}" if has_text else verdict.id, name_width)
        mark = wording.format_mark(verdict, color=color)
        reasons = [
            wording.explain_miss(verdict, score.counted, score.language),
            wording.explain_verdict(verdict, language),
        ]
        reason = "; ".join(filter(None, reasons))
        fits = len(f"{name}: {reason}") < name_width
        if fits and not has_text:
            yield f"    {mark} {name}: {reason}"
        else:
            yield f"    {mark} {name}"
            yield f"        {clean(reason, width - 8)}"
    if len(missed) > _MAX_VERDICTS_AS_TEXT:
        yield f"    +{len(missed) - _MAX_VERDICTS_AS_TEXT} {say('more', language)}"


def _format_score(score: Score, width: int) -> Iterator[str]:
    """Yield the name, the value, a bar and the reason. Text that does not fit in the line follows on further lines."""
    name = score.metric
    reasons = [text for text in (score.count, score.explanation, score.band) if text]
    if len(name) > NAME_WIDTH:
        yield from wrap(name, "  ")
        name = ""
    line = f"  {name:<{NAME_WIDTH}}  {score.formatted_value:<6}  {draw_bar(score.share)}"
    if reasons and len(line) + 2 + len(reasons[0]) <= width:
        line = f"{line}  {reasons.pop(0)}"
    yield line.rstrip()
    for text in filter(None, (score.mark, *reasons)):
        yield f"    {clean(text, width - 4)}"


# --- as a page ---

# The maximum number of bytes of the samples of a page. If they need more, only the worst ones keep their texts ..
MAX_PAGE_BYTES = 18_000_000
# .. so that all together need no more than this.
MAX_KEPT_BYTES = 14_000_000
# The maximum number of bytes of the lines of all samples. If they need more, the page has the worst and some of the others.
MAX_LINES_BYTES = 8_000_000
# The number of lines from which the size of all lines is estimated.
_MEASURED_LINE_COUNT = 100
# How many of the worst samples are elements of the page from the beginning; the script makes the others
# when they are shown.
_SAMPLES_PER_BLOCK = 200
# How many of the worst samples a notebook shows.
_NOTEBOOK_SAMPLE_COUNT = 20
# The maximum number of characters of a question.
_MAX_QUESTION_CHARACTERS = 20_000


def render_html(
    report: Report, *, title: str = "ctxmetrics", gates: Sequence[tuple[str, str | None]] = ()
) -> str:
    """Return the page.

    Args:
        report: The run as it is shown.
        title: Heading of the page.
        gates: Each gate as it was written, and why it failed or None.
    """
    samples, complete = _render_samples(report)
    return render(
        "report.html",
        title=title,
        language=report.language,
        report=report,
        means=build_page_table(report.summary.values(), report.language),
        groups=build_page_groups(report.groups, report.language),
        curves=_draw_curves(report),
        samples=samples,
        complete=complete,
        total=len(report.rows),
        at_once=_SAMPLES_PER_BLOCK,
        gates=gates,
    )


def render_notebook(report: Report) -> str:
    """Return the view of a notebook: the means and the worst samples."""
    render_sample = get_macro("sample.html", "sample_of")
    prefix = f"n{crc32(str(report.summary).encode()):x}-"
    samples = []
    for row in report.rows[:_NOTEBOOK_SAMPLE_COUNT]:
        view = build_sample_view(row.sample, row)
        detail = render_sample(view, f"{prefix}{row.index}", report.language)
        samples.append((_render_line(report, row), detail))
    return render(
        "notebook.html",
        report=report,
        means=build_page_table(report.summary.values(), report.language),
        samples=samples,
        more=len(report.rows) - len(samples),
    )


def _render_samples(report: Report) -> tuple[list[Any], int]:
    """Render the samples of the page. Also return how many of them, the worst ones, keep their texts."""
    render_sample = get_macro("sample.html", "sample_of")
    rows = _choose_rows(report)
    heads = [_render_head(report, row) for row in rows]
    page_bytes = sum(len(head.encode()) for head in heads)
    details: list[str] = []
    # The size of the page up to each sample's details.
    sizes_so_far: list[int] = []
    for row in rows:
        view = build_sample_view(row.sample, row)
        detail = render_sample(view, f"n{row.index}", report.language)
        details.append(detail)
        page_bytes += len(detail.encode())
        sizes_so_far.append(page_bytes)
        if page_bytes > MAX_PAGE_BYTES:
            break
    complete_count = len(heads)
    if page_bytes > MAX_PAGE_BYTES:
        complete_count = bisect(sizes_so_far, MAX_KEPT_BYTES)  # as many as fit into a smaller page
    absent = get_macro("line.html", "absent")(report.language)
    details[complete_count:] = [absent] * (len(heads) - complete_count)
    return list(map(get_macro("line.html", "whole"), heads, details)), complete_count


def _choose_rows(report: Report) -> Sequence[Row]:
    """Choose the rows that the page has room for: the worst, and of the others one at equal distances."""
    if len(report.rows) <= _MEASURED_LINE_COUNT:
        return report.rows
    measured_rows = report.rows[:: len(report.rows) // _MEASURED_LINE_COUNT + 1]
    measured_bytes = sum(len(_render_head(report, row).encode()) for row in measured_rows)
    max_rows = MAX_LINES_BYTES * len(measured_rows) // measured_bytes
    if len(report.rows) <= max_rows:
        return report.rows
    worst_rows = report.rows[: max_rows // 2]
    other_rows = report.rows[max_rows // 2 :]
    step = math.ceil(2 * len(other_rows) / max_rows)
    return [*worst_rows, *other_rows[::step]]


def _render_head(report: Report, row: Row) -> Any:
    """Render the head of a sample's element, with the values by which the script of the page sorts and filters."""
    shares = ["" if score.share is None else f"{score.share:.6g}" for score in row.scores]
    values = "|".join(shares)
    flags = " ".join(_list_flags(row))
    render_head = get_macro("line.html", "head_of")
    return render_head(row, values, flags, _render_line(report, row), report.language)


def _render_line(report: Report, row: Row) -> Any:
    """Render the line of a sample: its name and its question."""
    question = (row.fields.user_input or "")[:_MAX_QUESTION_CHARACTERS]
    return get_macro("line.html", "line_of")(row, row.called(report.language), question)


def _list_flags(row: Row) -> Iterator[str]:
    """Yield the words by which the page's filter finds a sample."""
    mean_share = mean_known([score.share for score in row.scores])
    if mean_share is None or mean_share < 1 or _misses_something(row):
        yield "missed"
    if has_failed(row.scores):
        yield "failed"
    if any(score.doubtful for score in row.scores):
        yield "doubtful"
    if any(score.passed is False for score in row.scores):
        yield "below"


def _misses_something(row: Row) -> bool:
    """Tell whether a score of a row has a verdict that a person should look at."""
    return any(is_missed(verdict, score) for score in row.scores for verdict in score.verdicts)


def _draw_curves(report: Report) -> Iterator[tuple[Chart, Table]]:
    """Yield the curve of each metric, and its numbers."""
    language = report.language
    for metric, points in report.curves.items():
        if len(points) > 1:
            lines = {
                say("recall", language): [recall for _, recall, _ in points],
                say("support precision", language): [precision for _, _, precision in points],
            }
            title = f"{metric}: {say('what the first k contexts give', language)}"
            yield draw_over_k(title, lines), list_over_k(lines)
