"""The tables and sentences of a comparison of retrievers, for the terminal, Markdown and the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from ctxmetrics.evaluation.comparison.difference_sentences import build_clauses
from ctxmetrics.evaluation.comparison.difference_table import format_difference, format_ends
from ctxmetrics.evaluation.comparison.differences import Difference
from ctxmetrics.evaluation.pages.charts import Chart, Line, draw_over_k, list_over_k
from ctxmetrics.evaluation.pages.tables import Bar, Cell, Column, Table
from ctxmetrics.evaluation.retrievers.comparison import QuestionAcross, RetrieverFigures, Setting
from ctxmetrics.evaluation.retrievers.nothing import ReturnedNothing
from ctxmetrics.evaluation.rows.metric_summary import MetricSummary
from ctxmetrics.scores.wording import clean, format_number, format_p, plural

# The maximum number of questions in the terminal. JSON and the page hold more.
MAX_QUESTIONS_SHOWN = 10
# The maximum number of characters of a text in a line.
_MAX_TEXT_CHARACTERS = 80


def heading(comparison: RetrieverFigures) -> str:
    """Describe in one line what was compared."""
    first_setting = next(iter(comparison.settings))
    text = f"{plural(comparison.questions, 'question')}, the first {comparison.k} contexts"
    if len(comparison.settings) > 1:
        text += f"; differences are those to {clean(first_setting, _MAX_TEXT_CHARACTERS)}"
    return text


def build_means(comparison: RetrieverFigures) -> Table:
    """Build the table of the means: for each metric all settings."""
    rows: list[_MeansRow] = []
    for metric in comparison.metrics:
        for setting in comparison.settings:
            summary = _get_summary(comparison, metric, setting)
            difference = comparison.difference(setting, metric)
            rows.append(_MeansRow(metric, setting, summary, difference))
    columns: list[Column[_MeansRow]] = [
        Column("metric", lambda row: row.metric),
        Column("setting", lambda row: clean(row.setting, _MAX_TEXT_CHARACTERS)),
        Column("mean", lambda row: _format_mean(row.summary), bar=_draw_mean),
        Column("95 % interval", lambda row: _format_interval(row.summary)),
        Column("to the first", lambda row: _describe(format_difference, row.difference)),
        Column("95 % interval", lambda row: _describe(format_ends, row.difference)),
        Column("verdict by Holm's p", lambda row: _describe(_describe_verdict, row.difference)),
    ]
    return Table.build(columns, rows)


class _MeansRow(NamedTuple):
    """A row of the table of means.

    Attributes:
        metric: The name of the metric.
        setting: The name of the setting.
        summary: The mean of the setting, with its interval.
        difference: The difference to the first setting; None for the first, and if the two cannot be compared.
    """

    metric: str
    setting: str
    summary: MetricSummary
    difference: Difference | None


def _draw_mean(row: _MeansRow) -> Bar:
    """Return the bar that shows a row's mean on the page."""
    return Bar(row.summary.share, row.summary.interval_shares)


def _get_summary(comparison: RetrieverFigures, metric: str, setting: str) -> MetricSummary:
    """Return the summary of a metric in a setting."""
    return comparison.settings[setting].results.summary()[metric]


def _format_mean(item: MetricSummary) -> str:
    """Write the mean of a metric."""
    return "-" if item.mean is None else format_number(item.mean, item.convention)


def _format_interval(item: MetricSummary) -> str:
    """Write the interval of the mean of a metric."""
    if item.interval is None:
        return "-"
    ends = [format_number(end, item.convention, percent=False) for end in item.interval]
    return " to ".join(ends)


def _describe(describe: Callable[[Difference], str], item: Difference | None) -> str:
    """Describe a difference to the first setting. The result is empty for the first setting itself."""
    return "" if item is None else describe(item)


def _describe_verdict(item: Difference) -> str:
    """Describe the verdict about a difference, with the p value that decides."""
    if item.p_adjusted is None:
        return f"p {format_p(item.p)}"
    return f"{item.verdict} ({format_p(item.p_adjusted)})"


def build_calls(comparison: RetrieverFigures) -> Table:
    """Build the table of the calls."""
    columns: list[Column[Setting]] = [
        Column("setting", lambda setting: clean(setting.name, _MAX_TEXT_CHARACTERS)),
        Column("calls", attrgetter("calls.calls")),
        Column("seconds", lambda setting: setting.calls.median_seconds, ".3f"),
        Column("95 % below", lambda setting: setting.calls.slow_seconds, ".3f"),
        Column("errors", attrgetter("calls.errors")),
        Column("nothing", attrgetter("calls.empty")),
        Column(f"under {comparison.k}", attrgetter("calls.fewer")),
        Column("repeats", attrgetter("calls.repeated")),
        Column("contexts", attrgetter("calls.contexts"), ".1f"),
        Column("tokens", attrgetter("calls.tokens"), ".0f"),
    ]
    return Table.build(columns, comparison.settings.values())


def build_nothing(comparison: RetrieverFigures) -> Table | None:
    """Build the table of the questions without an answer. Return None if there are no such questions."""
    items = comparison.nothing()
    if not items:
        return None
    table = Table.build(_NOTHING_COLUMNS, items.values())
    return table.with_names("setting", [clean(name, _MAX_TEXT_CHARACTERS) for name in items])


def _useless_text(item: ReturnedNothing) -> str:
    """Count the questions for which nothing useful was returned."""
    if item.useless is None:
        return "-"
    text = f"{item.useless} of {item.questions}"
    return f"{text}, {item.unjudged} not judged" if item.unjudged else text


def _describe_threshold(item: ReturnedNothing) -> str:
    """Describe the threshold that keeps most of the recall."""
    if item.threshold is None:
        return "-"
    threshold = f"{item.threshold.threshold:.4g}"
    return f"at most {threshold}" if item.lower_is_better else threshold


def _count_empty(item: ReturnedNothing) -> str:
    """Count the questions for which nothing is left above the threshold."""
    return "-" if item.threshold is None else f"{item.threshold.empty} of {item.questions}"


def _get_recall(item: ReturnedNothing) -> float | None:
    """Return the recall above the threshold."""
    return None if item.threshold is None else item.threshold.recall


# The columns of the table of questions without an answer, after the name of the setting.
_NOTHING_COLUMNS: Sequence[Column[ReturnedNothing]] = (
    Column("nothing returned", lambda item: f"{item.empty} of {item.questions}"),
    Column("or nothing useful", _useless_text),
    Column("recall of the others", attrgetter("recall"), ".4f"),
    Column("threshold", _describe_threshold),
    Column("recall there", _get_recall, ".4f"),
    Column("nothing there", _count_empty),
)


def draw_nothing(comparison: RetrieverFigures) -> Chart | None:
    """Draw recall against the share of empty results over the threshold, a line a setting. Return None if there is no threshold."""
    lines: list[Line] = []
    for name, item in comparison.nothing().items():
        points = tuple((point.empty / item.questions, point.recall) for point in item.points)
        if len(points) > 1:
            lines.append(Line(points, name))
    if not lines:
        return None
    shares = (0.0, 0.5, 1.0)
    return Chart(
        title="recall of the questions with an answer, against the share of the others that come back empty, "
        "over the threshold",
        lines=tuple(lines),
        numbers=tuple((share, f"{share:g}") for share in shares),
    )


def draw_curves(comparison: RetrieverFigures) -> Iterator[tuple[Chart, Table]]:
    """Yield for each metric recall over k, a line a setting, and its numbers."""
    for metric, curves in comparison.curves().items():
        lines: dict[str, list[float]] = {}
        for name, points in curves.items():
            lines[name] = [point.recall or 0.0 for point in points]
        yield draw_over_k(f"{metric}: recall over k", lines), list_over_k(lines)


def list_sentences(comparison: RetrieverFigures) -> list[str]:
    """List the sentences about the figures."""
    sentences: list[str] = []
    runs = {} if comparison.comparisons is None else comparison.comparisons.runs
    for name, run in runs.items():
        primary = [item for item in run.metrics if item.verdict is not None]
        sentences += [
            f"{clean(name, _MAX_TEXT_CHARACTERS)}: {'; '.join(build_clauses(item))}" for item in primary
        ]
    sentences += _describe_floor(comparison)
    for ceiling in comparison.ceilings:
        first_setting = next(iter(comparison.settings))
        convention = _get_summary(comparison, ceiling.metric, first_setting).convention
        text = f"{ceiling.metric}: the best setting of each question reaches {format_number(ceiling.best, convention)}"
        if ceiling.together is not None:
            text += (
                f", the contexts of all settings together {format_number(ceiling.together, convention)}"
            )
        sentences.append(f"{text} ({plural(ceiling.questions, 'question')})")
    sentences += _describe_pools(comparison)
    for setting in comparison.settings.values():
        if setting.calls.unsorted:
            count = f"{setting.calls.unsorted} of {setting.calls.calls}"
            sentences.append(
                f"{clean(setting.name, _MAX_TEXT_CHARACTERS)}: in {count} calls the scores say another order; that of the list counts"
            )
        sentences += [
            f"{clean(setting.name, _MAX_TEXT_CHARACTERS)} failed, question {clean(question_name, _MAX_TEXT_CHARACTERS)}: {clean(error, 2 * _MAX_TEXT_CHARACTERS)}"
            for question_name, error in setting.calls.first_errors
        ]
    sentences += comparison.notes
    for name, run in runs.items():
        sentences += [f"{clean(name, _MAX_TEXT_CHARACTERS)}: {note}" for note in run.notes]
    if comparison.controls:
        sentences.append(comparison.controls.describe())
    if comparison.stopped:
        sentences.append(f"stopped early: {comparison.stopped}")
    return sentences


def _describe_floor(comparison: RetrieverFigures) -> Iterator[str]:
    """Yield how far each setting is above BM25, and the means of chance."""
    floor = comparison.floor
    if floor is None:
        return
    runs = {} if floor.comparisons is None else floor.comparisons.runs
    for name, run in runs.items():
        for item in run.metrics:
            if item.verdict is None:
                continue
            interval = "no question changed"
            if item.interval is not None:
                interval = format_ends(item)
            difference = format_difference(item)
            yield f"{clean(name, _MAX_TEXT_CHARACTERS)} against {floor.setting}: {item.name} {difference} ({interval})"
    for metric, mean in floor.random.items():
        yield f"random: {metric} {mean:.4f} (closed form, {floor.chunks} chunks)"
    yield f"{floor.setting}: {floor.about}"


def _describe_pools(comparison: RetrieverFigures) -> Iterator[str]:
    """Yield how many requests the pools saved, and the share of contexts that settings have in common."""
    pools = comparison.pools
    usage = comparison.usage
    spent = ""
    if usage.calls:
        spent = f": {plural(usage.calls, 'request')}, {usage.total_tokens} tokens"
    if pools is None:
        if spent:
            yield f"each setting was judged alone{spent}"
        return
    text = (
        f"judged together: {plural(pools.questions, 'pool')} of {pools.settings} settings, "
        f"{plural(pools.alone, 'set')} of contexts alone as well{spent}; "
        f"judged apart, {plural(pools.apart, 'set')} of contexts would be asked about"
    )
    if pools.shared is not None:
        text += f"; {100 * pools.shared:.0f} % of a setting's contexts are in another one, with one verdict for all"
    yield text


def describe_loss(question: QuestionAcross) -> Iterator[str]:
    """Yield a line for each unit that a setting lost: who has it, at which rank, and who has not."""
    for unit in question.units:
        if not unit.lost_by:
            continue
        lost_by = ", ".join(unit.lost_by)
        held_by = ", ".join(
            f"{name} (rank {rank})" for name, rank in unit.ranks.items() if rank is not None
        )
        text = "" if unit.text == unit.id else f": {clean(unit.text, _MAX_TEXT_CHARACTERS)}"
        yield f"{unit.id} lost by {lost_by}; held by {held_by}{text}"


def format_text(text: str | None) -> str:
    """Shorten a text for a line."""
    return clean(text or "", _MAX_TEXT_CHARACTERS)


def format_value(value: float | None, row: Any, metric: str) -> str:
    """Return a value of a question as it is shown."""
    if value is None:
        return row[metric].reason_code or "-"
    return format_number(value, row[metric].provenance.convention)


def build_units(question: QuestionAcross) -> Table:
    """Build the table of a question: which setting has which unit, at which rank."""
    rows: list[tuple[Cell, ...]] = []
    for unit in question.units:
        name = unit.id if unit.text == unit.id else f"{unit.id} {unit.text}"
        cells = (_build_rank_cell(unit.ranks, setting) for setting in question.values)
        rows.append((Cell(name), *cells))
    return Table(("unit", *question.values), tuple(rows))


def _build_rank_cell(ranks: Mapping[str, int | None], setting: str) -> Cell:
    """Build the cell that says at which rank a setting has a unit."""
    if setting not in ranks:
        return Cell("not scored")
    rank = ranks[setting]
    if rank is None:
        return Cell("✗", kind="no")
    return Cell(f"✓ rank {rank}", kind="yes")
