"""The table of the means: its columns, for the page and the terminal, and the notes below it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ctxmetrics._internal.frozen import EMPTY, FrozenDict
from ctxmetrics._internal.text_table import WIDTH, align_rows, bar_fits, draw_bar, wrap
from ctxmetrics.evaluation.pages.phrases import say
from ctxmetrics.evaluation.rows.metric_summary import MetricSummary
from ctxmetrics.scores.wording import TEXT, clean, describe_doubts, format_number, join_counts, plural

# The most characters of a metric's name in its row; a longer name has a line of its own.
NAME_WIDTH = 26

_CellText = Callable[[MetricSummary, str], str]


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
    """Count the scored samples: of all, or of those that could be judged where some could not."""
    of = say("of", language)
    if item.partial:
        return f"{item.scored} {of} {item.scored + item.not_judged} {say('judged', language)}"
    return f"{item.scored} {of} {item.samples}"


def _missing_text(item: MetricSummary, language: str) -> str:
    """Write why how many samples have no value."""
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


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One column of the table of means.

    Attributes:
        name: Its title in English.
        text: The text of a metric's cell on the page.
        titles: Its title in other languages, by language; without one, `say` translates the name.
        terminal_place: Its place in the terminal, from the left; None on the page only.
        terminal_text: The text of a cell in the terminal, where that is another one.
    """

    name: str
    text: _CellText
    titles: Mapping[str, str] = EMPTY
    terminal_place: int | None = None
    terminal_text: _CellText | None = None

    def title(self, language: str) -> str:
        """Return the title in a language."""
        return self.titles.get(language) or say(self.name, language)


_PASSED = TableColumn("passed", _passed_with_mark, terminal_place=4, terminal_text=_passed_text)
# The columns after the metric's name, in the order of the page.
COLUMNS = (
    TableColumn("mean", _mean_text, FrozenDict(ru="среднее"), terminal_place=1),
    TableColumn("95 % interval", _interval_text, FrozenDict(ru="95 % интервал"), terminal_place=3),
    TableColumn("scored", _scored_text, FrozenDict(ru="со значением"), terminal_place=2),
    TableColumn("without a value", _missing_text),
    TableColumn("doubtful", _doubtful_text),
    _PASSED,
)


def format_means(items: Sequence[MetricSummary], language: str) -> list[str]:
    """Format the table of the means: long names stand on lines of their own, bars where there is room."""
    columns = _select_terminal_columns(items)
    header = [say("metric", language), *(column.title(language) for column in columns)]
    rows = [_build_metric_row(item, columns, language) for item in items]
    lines = align_rows([header, *rows])
    if max(map(len, lines)) > WIDTH:
        lines = align_rows([header, *map(_without_long_name, rows)])
    header_line, *row_lines = _add_bars(lines, items)
    # The place of the first metric without a judge, if judged metrics stand before it and none after it.
    title_place = next((place for place, item in enumerate(items) if not item.judged), 0)
    if any(item.judged for item in items[title_place:]):
        title_place = 0
    table = [header_line]
    for place, line in enumerate(row_lines):
        if place > 0 and place == title_place:
            table.append(f"{say('without a judge, by strings and ids', language)}:")
        name = rows[place][0]
        if not line.startswith(name):
            table += wrap(name)
        table.append(line)
    return table


def format_groups(groups: Mapping[str, Mapping[str, MetricSummary]], language: str) -> str:
    """Format one table of groups of samples: for each metric the means of all groups."""
    labels: list[tuple[str, str]] = []
    for metric in next(iter(groups.values()), {}):
        labels += [(group, metric) for group in groups]
    items = [groups[group][metric] for group, metric in labels]
    columns = _select_terminal_columns(items)
    titles = [column.title(language) for column in columns]
    rows = [[say("group", language), say("metric", language), *titles]]
    for (group, _), item in zip(labels, items, strict=True):
        rows.append([clean(group, TEXT), *_build_metric_row(item, columns, language)])
    return "\n".join(align_rows(rows))


def _select_terminal_columns(items: Sequence[MetricSummary]) -> list[TableColumn]:
    """Return the columns of the terminal in their order; that of the pass mark where a metric has one."""
    columns = {column.terminal_place: column for column in COLUMNS if column.terminal_place is not None}
    if all(item.passed is None for item in items):
        columns = {place: column for place, column in columns.items() if column is not _PASSED}
    return [columns[place] for place in sorted(columns)]


def _build_metric_row(item: MetricSummary, columns: Sequence[TableColumn], language: str) -> list[str]:
    """Build the row of a metric: its name, then the text of each column."""
    cells = [item.metric]
    for column in columns:
        text = column.terminal_text or column.text
        cells.append(text(item, language))
    return cells


def _without_long_name(row: Sequence[str]) -> Sequence[str]:
    """Empty the cell of a name that is too long for its column."""
    return ["", *row[1:]] if len(row[0]) > NAME_WIDTH else row


def _add_bars(lines: list[str], items: Sequence[MetricSummary]) -> list[str]:
    """Add a bar to each line of a metric, where there is room."""
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
    """Yield what a reader of the mean must know beside it."""
    if item.missing:
        text = f"{say('without a value', language)}: {join_counts(item.missing)}"
        if item.causes:
            text += f"; {say('verdicts missing', language)}: {join_counts(item.causes)}"
        yield text
    if item.doubtful:
        yield f"{describe_doubts(item.doubtful, language)} ({count_doubtful(item, language)})"
    yield from item.contradictions
    if item.alike:
        yield describe_alike(item, language)
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


def describe_alike(item: MetricSummary, language: str) -> str:
    """Describe a judge that answers nearly every question alike; empty if it does not."""
    if item.alike is None:
        return ""
    counts = f"{max(item.said)} {say('of', language)} {sum(item.said)} {say('verdicts', language)}"
    return f"{say('the judge answers alike', language)}: {say(item.alike, language)}, {counts}"
