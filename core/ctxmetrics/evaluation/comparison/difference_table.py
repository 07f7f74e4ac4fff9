"""The table of the differences between two runs, and how their numbers are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from operator import attrgetter

from ctxmetrics.evaluation.comparison.differences import Difference
from ctxmetrics.evaluation.pages.tables import Bar, Column, Table, format_interval
from ctxmetrics.scores.wording import clean, format_p

# The maximum number of characters of a text in a line.
MAX_TEXT_CHARACTERS = 80


def build_named_table(title: str, differences_by_name: Mapping[str, Sequence[Difference]]) -> Table:
    """Build one table of several runs, or of several groups of samples.

    The rows of one metric stand together, one row for each run or group.

    Args:
        title: The title of the column of names.
        differences_by_name: For the name of each run or group, a difference for each metric.
    """
    # For each metric: the names of runs or groups, each with its difference.
    rows_by_metric: dict[str, list[tuple[str, Difference]]] = {}
    for name, differences in differences_by_name.items():
        shown_name = clean(name, MAX_TEXT_CHARACTERS)
        for difference in differences:
            rows_by_metric.setdefault(difference.name, []).append((shown_name, difference))
    rows = list(chain.from_iterable(rows_by_metric.values()))
    table = build_table([difference for _, difference in rows])
    return table.with_names(title, [name for name, _ in rows])


def build_table(items: Sequence[Difference]) -> Table:
    """Build a table of differences, with the column of the verdicts by adjusted p values if a row has one."""
    has_adjusted_p = any(
        item.p_adjusted is not None and item.p_adjusted > item.basis.p for item in items
    )
    columns = _DIFFERENCE_COLUMNS
    if has_adjusted_p:
        columns = (*_DIFFERENCE_COLUMNS, _DECISION_COLUMN)
    return Table.build(columns, items)


def _describe_decision(item: Difference) -> str:
    """Describe the verdict about a metric, and the p value that decides."""
    return "-" if item.p_adjusted is None else f"{item.verdict} ({format_p(item.p_adjusted)})"


def format_number(value: float, item: Difference, *, sign: str = "") -> str:
    """Format a value of a metric with the decimals of its scale."""
    return format(value, get_number_format(item, sign))


def format_difference(item: Difference) -> str:
    """Write the difference of a metric."""
    return format_number(item.difference, item, sign="+")


def format_ends(item: Difference) -> str:
    """Write the interval of the difference of a metric."""
    return format_interval(item.interval, get_number_format(item, "+"))


def get_number_format(item: Difference, sign: str = "") -> str:
    """Return the format of the values of a metric: three decimals up to the scale 1, else one. ``z``: 0 is never written as -0."""
    return f"{sign}z.3f" if item.scale <= 1 else f"{sign}z.1f"


# The columns of the table of differences. The interval and the p value of a row are not adjusted for the other rows.
_DIFFERENCE_COLUMNS: Sequence[Column[Difference]] = (
    Column("metric", attrgetter("name")),
    Column(
        "first",
        lambda item: format_number(item.before, item),
        bar=lambda item: Bar(item.before / item.scale),
    ),
    Column(
        "second",
        lambda item: format_number(item.after, item),
        bar=lambda item: Bar(item.after / item.scale),
    ),
    Column("difference", format_difference),
    Column("95 % interval", format_ends),
    Column("p", lambda item: format_p(item.p)),
    Column("better", attrgetter("better")),
    Column("worse", attrgetter("worse")),
    Column("equal", attrgetter("equal")),
)
# The last column, if p values are adjusted.
_DECISION_COLUMN: Column[Difference] = Column("verdict by Holm's p", _describe_decision)
