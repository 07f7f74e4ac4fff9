"""A comparison as text for a terminal, and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from ctxmetrics._wording import clean
from ctxmetrics.comparison.view import ChangedUnit, Difference, Findings
from ctxmetrics.report.view import aligned

HEADER = (
    "metric",
    "first",
    "second",
    "difference",
    "95 % interval",
    "p (Holm)",
    "better",
    "worse",
    "equal",
)
# How many units and samples are shown of each kind; JSON and the page hold all.
SHOWN = 10
# With fewer samples that changed, the spread of the differences is not known well.
FEW = 5
# The most characters of a text that a line shows.
TEXT = 80
# What Markdown acts on; an underscore inside a word does nothing.
_MARKDOWN = re.compile(r"[\\`*{}\[\]()#|~@]|\b_|_\b|:(?=//)|(?<=www)\.")


def plain_text(found: Findings) -> str:
    """Return the tables, what they say in a sentence a metric, and what was lost and won."""
    lines = [heading(found), "", *aligned([HEADER, *map(cells, found.metrics)]), ""]
    lines += ["\n    ".join(clauses(item)) for item in found.metrics]
    lines += found.notes
    for group, items in found.groups.items():
        lines += ["", f"{clean(group, TEXT)}:", *aligned([HEADER, *map(cells, items)])]
    for title, units in unit_lists(found):
        lines += ["", f"{title}: {len(units)}"]
        for unit in units[:SHOWN]:
            lines.append(f"  {clean(unit.sample_id, TEXT)} {unit.id}: {clean(unit.text, TEXT)}")
            lines += [f"      {line}" for line in unit_lines(unit)]
        lines += (
            [f"  and {len(units) - SHOWN} more: --format json lists all"] if len(units) > SHOWN else []
        )
    if found.worst:
        lines += ["", "Samples that fell most:"]
        lines += [f"  {worst_line(found, place)}" for place in range(min(SHOWN, len(found.worst)))]
    return "\n".join(lines)


def markdown(found: Findings) -> str:
    """Return the same as Markdown; texts of samples are escaped."""
    lines = [heading(found), "", *_table(found.metrics), ""]
    lines += [f"- {escaped(text)}" for text in (*map(conclusion, found.metrics), *found.notes)]
    for group, items in found.groups.items():
        lines += ["", f"**{escaped(clean(group, TEXT))}**", "", *_table(items)]
    for title, units in unit_lists(found):
        lines += ["", f"**{title}: {len(units)}**", ""]
        for unit in units[:SHOWN]:
            lines.append(
                f"- {escaped(f'{clean(unit.sample_id, TEXT)} {unit.id}: {clean(unit.text, TEXT)}')}"
            )
            lines += [f"  - {escaped(line)}" for line in unit_lines(unit)]
        lines += [f"- and {len(units) - SHOWN} more"] if len(units) > SHOWN else []
    if found.worst:
        lines += ["", "**Samples that fell most**", ""]
        lines += [
            f"- {escaped(worst_line(found, place))}" for place in range(min(SHOWN, len(found.worst)))
        ]
    return "\n".join(lines) + "\n"


def heading(found: Findings) -> str:
    """Return what was compared, in a line."""
    text = f"{found.samples} samples in both runs"
    if found.only_before or found.only_after:
        text += (
            f", {len(found.only_before)} in the first only, {len(found.only_after)} in the second only"
        )
    if found.clusters is not None:
        text += f", in {found.clusters} clusters"
    return f"{text}; differences are second minus first"


def cells(item: Difference) -> tuple[str, ...]:
    """Return a metric's row of the table."""
    interval = (
        "-"
        if item.interval is None
        else " to ".join(number(end, item, sign="+") for end in item.interval)
    )
    return (
        item.name,
        number(item.before, item),
        number(item.after, item),
        number(item.difference, item, sign="+"),
        interval,
        f"{item.p_adjusted:.4f}" if item.p_adjusted >= 0.0001 else "<0.0001",  # noqa: PLR2004 - four digits are shown
        *map(str, (item.better, item.worse, item.equal)),
    )


def conclusion(item: Difference) -> str:
    """Return what a metric's figures say, in a sentence."""
    return f"{'; '.join(clauses(item))}."


def clauses(item: Difference) -> list[str]:
    """Return what a metric's figures say, in parts."""
    fallen = f" by {number(abs(item.difference), item)}"
    shown = item.verdict != "no difference shown"
    parts = [f"{item.name}: {item.verdict}{fallen if shown else ''}"]
    if not shown and item.detectable:
        least = number(item.detectable, item)
        parts.append(f"a true difference of {least} is found in 4 of 5 such comparisons")
    changed = item.better + item.worse
    if 0 < changed < FEW:
        parts.append(f"{changed} changed: changes this rare need more samples than the interval says")
    if item.unpaired:
        parts.append(f"{item.unpaired} samples have no value in one of the runs")
    if item.corrected is not None:
        low, high = (number(end, item, sign="+") for end in item.corrected.interval)
        mean = number(item.corrected.difference, item, sign="+")
        parts.append(
            f"corrected by {item.corrected.labelled} samples with labels in both runs: {mean} ({low} to {high})"
        )
    return parts


def unit_lists(found: Findings) -> tuple[tuple[str, Sequence[ChangedUnit]], ...]:
    """Return the lost and the won units, each with a title."""
    return ("Lost, supported by the first run only", found.lost), (
        "Won, supported by the second run only",
        found.won,
    )


def unit_lines(unit: ChangedUnit) -> Iterator[str]:
    """Yield the question of a unit, and what supported it."""
    if unit.user_input:
        yield f"question: {clean(unit.user_input, TEXT)}"
    for held in unit.contexts:
        state = {True: ", retrieved by both runs", False: ", retrieved by this run only", None: ""}
        yield f'context {held.rank}{state[held.retrieved_by_both]}: "{clean(held.quote, TEXT)}"'


def worst_line(found: Findings, place: int) -> str:
    """Return one of the samples that fell, in a line."""
    item = found.worst[place]
    metric = found[item.metric]
    question = "" if item.user_input is None else f": {clean(item.user_input, TEXT)}"
    values = f"{number(item.before, metric)} to {number(item.after, metric)}"
    return f"{clean(item.sample_id, TEXT)}, {item.metric} {values}{question}"


def number(value: float, item: Difference, *, sign: str = "") -> str:
    """Return a value of a metric as it is shown."""
    return f"{value:{sign}.{3 if item.scale <= 1 else 1}f}"


def _table(items: Sequence[Difference]) -> list[str]:
    rows = [HEADER, ("---",) * len(HEADER), *(tuple(map(escaped, cells(item))) for item in items)]
    return [f"| {' | '.join(row)} |" for row in rows]


def escaped(text: str) -> str:
    """Escape what Markdown and HTML act on; one line stays one line."""
    return _MARKDOWN.sub(lambda match: f"&#{ord(match[0])};", escape(text, quote=False))
