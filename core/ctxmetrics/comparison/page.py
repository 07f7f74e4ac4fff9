"""A comparison as one page to read; see `ctxmetrics._markup` for what such a page may hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ctxmetrics._markup import bar, document, isolated, shown
from ctxmetrics._wording import clean
from ctxmetrics.comparison.text import HEADER, TEXT, cells, conclusion, heading, unit_lists, worst_line
from ctxmetrics.comparison.view import ChangedUnit, Difference, Findings, Held

_COLOURS = {"better": "yes", "worse": "no"}


def page(found: Findings, title: str) -> str:
    """Return the page."""
    return "".join(document(title, _body(found)))


def _body(found: Findings) -> Iterator[str]:
    yield f"<p>{shown(heading(found))}</p>"
    yield from _table(found.metrics)
    yield "<ul>"
    for item in found.metrics:
        yield f'<li class="{_COLOURS.get(item.verdict, "")}">{shown(conclusion(item))}</li>'
    yield "".join(f"<li>{shown(note)}</li>" for note in found.notes) + "</ul>"
    for group, items in found.groups.items():
        yield f"<h2>{isolated(clean(group, TEXT))}</h2>"
        yield from _table(items)
    for (name, units), colour in zip(unit_lists(found), ("no", "yes"), strict=True):
        yield f'<h2 class="{colour}">{shown(name)}: {len(units)}</h2>'
        for unit in units:
            yield from _unit(unit, lost=colour == "no")
    yield "<h2>Samples that fell most</h2><ul>" if found.worst else ""
    yield "".join(f"<li>{isolated(worst_line(found, place))}</li>" for place in range(len(found.worst)))
    yield "</ul>" if found.worst else ""


def _table(items: Sequence[Difference]) -> Iterator[str]:
    yield '<table class="means"><thead><tr>' + "".join(
        f'<th scope="col">{shown(name)}</th>' for name in HEADER
    )
    yield "</tr></thead><tbody>"
    for item in items:
        name, before, after, *rest = map(shown, cells(item))
        bars = [
            f"{text} {bar(value / item.scale)}"
            for text, value in ((before, item.before), (after, item.after))
        ]
        pairs = zip(HEADER[1:], (*bars, *rest), strict=True)
        yield f'<tr><th scope="row">{name}</th>'
        yield "".join(f'<td data-name="{shown(head)}">{cell}</td>' for head, cell in pairs) + "</tr>"
    yield "</tbody></table>"


def _unit(unit: ChangedUnit, *, lost: bool) -> Iterator[str]:
    """Yield a unit with both runs side by side: what supported it in the one, and what the other did with that."""
    yield f"<details open><summary><b>{isolated(unit.sample_id)}</b> {shown(unit.id)}: {isolated(unit.text)}</summary>"
    if unit.user_input:
        yield f'<p><span class="small">question</span><br>{isolated(unit.user_input)}</p>'
    has = "".join(['<h4 class="yes">✓ supported</h4>', *map(_context, unit.contexts)])
    lacks = "".join(['<h4 class="no">✗ not supported</h4>', *map(_state, unit.contexts)])
    first, second = (has, lacks) if lost else (lacks, has)
    yield f'<div class="pair"><section><h3>first run</h3>{first}</section>'
    yield f"<section><h3>second run</h3>{second}</section></div></details>"


def _state(held: Held) -> str:
    states = {
        True: "was retrieved",
        False: "was not retrieved",
        None: "may have been retrieved: the run kept no hashes",
    }
    return f'<p class="small">The context beside {states[held.retrieved_by_both]}.</p>'


def _context(held: Held) -> str:
    states = {True: "retrieved by both runs", False: "retrieved by this run only", None: ""}
    head = f'<span class="small">context {held.rank} {states[held.retrieved_by_both]}</span>'
    text = isolated(held.quote)
    if held.text is not None and held.quote in held.text:
        before, _, after = held.text.partition(held.quote)
        text = f"<bdi>{shown(before)}<mark>{shown(held.quote)}</mark>{shown(after)}</bdi>"
    return f'<div class="context">{head} {text}</div>'
