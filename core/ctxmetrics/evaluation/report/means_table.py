"""The table of the means: its columns, for the page and the terminal, and the notes below it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

from ctxmetrics._internal.text_table import WIDTH, bar_fits, draw_bar, wrap
from ctxmetrics.evaluation.pages.phrases import say
from ctxmetrics.evaluation.pages.tables import Bar, Cell, Column, Table
from ctxmetrics.evaluation.rows.metric_summary import MetricSummary
from ctxmetrics.scores.wording import TEXT, clean, describe_doubts, format_number, join_counts, plural

# The maximum number of characters of a metric's name in its row. A longer name gets a separate line.
NAME_WIDTH = 26


def _mean_text(item: MetricSummary, _: str) -> str:
    """Write the mean."""
    return "-" if item.mean is None else format_number(item.mean, item.convention)


def _interval_text(item: MetricSummary, language: str) -> str:
    """Write the 95 % interval of the mean."""
    if item.interval is None:
        return "-"
    low, high = (format_number(end, item.convention, percent=False) for end in item.interval)
    return f"{low} {say('to', language)} {high}"


def _scored_text(item: MetricSummary, language: str) -> str:
    """Write the number of scored samples, of all samples. If some could not be judged, write how many were judged."""
    of_word = say("of", language)
    if item.partial:
        return f"{item.scored} {of_word} {item.scored + item.not_judged} {say('judged', language)}"
    return f"{item.scored} {of_word} {item.samples}"


def _missing_text(item: MetricSummary, language: str) -> str:
    """Write for each reason how many samples have no value."""
    return join_counts(item.missing) or say("none", language)


def _doubtful_text(item: MetricSummary, language: str) -> str:
    """Count the doubtful verdicts, by their codes."""
    if not item.doubtful:
        return "0"
    doubtful = sum(item.doubtful.values())
    return f"{doubtful} {say('of', language)} {item.verdicts}: {join_counts(item.doubtful)}"


def _passed_text(item: MetricSummary, language: str) -> str:
    """Count the samples that reach the pass mark."""
    return "-" if item.passed is None else f"{item.passed} {say('of', language)} {item.scored}"


def _passed_with_mark(item: MetricSummary, language: str) -> str:
    """Count the samples that reach the pass mark, and name the mark."""
    text = _passed_text(item, language)
    return text if item.passed is None else f"{text} (>= {item.threshold:g})"


def _build_column(
    title: str,
    write: Callable[[MetricSummary, str], str],
    language: str,
    bar: Callable[[MetricSummary], Bar] | None = None,
) -> Column[MetricSummary]:
    """Build a column in a language."""
    return Column(say(title, language), lambda item: write(item, language), bar=bar)


def _build_bar(item: MetricSummary) -> Bar:
    """Build the bar of a mean."""
    return Bar(item.share, item.interval_shares)


def build_page_table(items: Iterable[MetricSummary], language: str) -> Table:
    """Build the table of the means for a page."""
    columns = [
        Column(say("metric", language), attrgetter("metric")),
        _build_column("mean", _mean_text, language, _build_bar),
        _build_column("95 % interval", _interval_text, language),
        _build_column("scored", _scored_text, language),
        _build_column("without a value", _missing_text, language),
        _build_column("doubtful", _doubtful_text, language),
        _build_column("passed", _passed_with_mark, language),
    ]
    return Table.build(columns, items)


def _list_text_columns(items: Sequence[MetricSummary], language: str) -> list[Column[MetricSummary]]:
    """List the columns of the table as text. The column of the pass mark is there if a metric has one."""
    columns = [
        Column(say("metric", language), attrgetter("metric")),
        _build_column("mean", _mean_text, language),
        _build_column("scored", _scored_text, language),
        _build_column("95 % interval", _interval_text, language),
    ]
    if any(item.passed is not None for item in items):
        columns.append(_build_column("passed", _passed_text, language))
    return columns


def build_page_groups(groups: Mapping[str, Mapping[str, MetricSummary]], language: str) -> Table:
    """Build the table of groups of samples for a page: for each metric the means of all groups."""
    names, items = _list_grouped(groups)
    return build_page_table(items, language).with_names(say("group", language), names)


def format_means(items: Sequence[MetricSummary], language: str) -> list[str]:
    """Format the table of the means. Long names get separate lines, and bars are added if there is room."""
    table = Table.build(_list_text_columns(items, language), items)
    lines = table.list_lines()
    if max(map(len, lines)) > WIDTH:
        rows = [(_without_long_name(row[0]), *row[1:]) for row in table.rows]
        lines = replace(table, rows=tuple(rows)).list_lines()
    title_line, *row_lines = _add_bars(lines, items)
    # A title stands above the metrics without a judge, if all of them follow the judged ones.
    first_without_judge = next((index for index, item in enumerate(items) if not item.judged), 0)
    if any(item.judged for item in items[first_without_judge:]):
        first_without_judge = 0
    formatted = [title_line]
    for index, line in enumerate(row_lines):
        if index > 0 and index == first_without_judge:
            formatted.append(f"{say('without a judge, by strings and ids', language)}:")
        name = items[index].metric
        if not line.startswith(name):
            formatted += wrap(name)
        formatted.append(line)
    return formatted


def format_groups(groups: Mapping[str, Mapping[str, MetricSummary]], language: str) -> str:
    """Format one table of groups of samples: for each metric the means of all groups."""
    names, items = _list_grouped(groups)
    table = Table.build(_list_text_columns(items, language), items)
    return str(table.with_names(say("group", language), names))


def _list_grouped(
    groups: Mapping[str, Mapping[str, MetricSummary]],
) -> tuple[list[str], list[MetricSummary]]:
    """List the groups once for each metric: the names of the groups, and their means."""
    names: list[str] = []
    items: list[MetricSummary] = []
    for metric in next(iter(groups.values()), {}):
        for group, summary in groups.items():
            names.append(clean(group, TEXT))
            items.append(summary[metric])
    return names, items


def _without_long_name(cell: Cell) -> Cell:
    """Empty the cell of a name that is too long for its column."""
    return Cell("") if len(cell.text) > NAME_WIDTH else cell


def _add_bars(lines: list[str], items: Sequence[MetricSummary]) -> list[str]:
    """Add a bar to each line of a metric, if there is room."""
    width = max(map(len, lines))
    if not bar_fits(width):
        return lines
    header, *rows = lines
    with_bars = [
        f"{row:<{width}}  {draw_bar(item.share)}".rstrip()
        for row, item in zip(rows, items, strict=True)
    ]
    return [header, *with_bars]


def describe_metric(item: MetricSummary, language: str) -> Iterator[str]:
    """Yield notes that a reader of the mean must know."""
    if item.missing:
        text = f"{say('without a value', language)}: {join_counts(item.missing)}"
        if item.causes:
            text += f"; {say('verdicts missing', language)}: {join_counts(item.causes)}"
        yield text
    if item.doubtful:
        yield f"{describe_doubts(item.doubtful, language)} ({count_doubtful(item, language)})"
    yield from item.contradictions
    if item.alike:
        yield describe_equal_values(item, language)
    if item.tie_range is not None:
        low, high = item.tie_range
        text = say("rows with equal scores, whose order may move the mean", language)
        yield f"{text}: {item.tied} ({low:.4f} - {high:.4f})"
    if item.passed is not None:
        yield f"{say('pass mark', language)} {item.threshold:g}"


def count_doubtful(item: MetricSummary, language: str) -> str:
    """Describe how many of the verdicts are doubtful: ``2 of 9 verdicts``."""
    verdicts = plural(item.verdicts, "verdict", language=language)
    return f"{sum(item.doubtful.values())} {say('of', language)} {verdicts}"


def describe_equal_values(item: MetricSummary, language: str) -> str:
    """Describe a judge that answers nearly every question alike. The result is empty if it does not."""
    if item.alike is None:
        return ""
    counts = (
        f"{max(item.answers)} {say('of', language)} {sum(item.answers)} {say('verdicts', language)}"
    )
    return f"{say('the judge answers alike', language)}: {say(item.alike, language)}, {counts}"
