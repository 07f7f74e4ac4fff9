"""The tables and sentences of a comparison of retrievers, for the terminal, Markdown and the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ctxmetrics.evaluation.comparison.view import clauses, format_table, number
from ctxmetrics.evaluation.retrievers.comparison import QuestionAcross, RetrieverFigures, Setting
from ctxmetrics.evaluation.retrievers.nothing import ReturnedNothing
from ctxmetrics.evaluation.rows.metric_summary import MetricSummary
from ctxmetrics.scores.wording import clean, format_number, format_p, plural

# How many questions are shown in the terminal; JSON and the page hold more.
MOST = 10
# The most characters of a text in a line.
_LONGEST = 80
_MEANS = (
    "metric",
    "setting",
    "mean",
    "95 % interval",
    "to the first",
    "95 % interval",
    "verdict by Holm's p",
)
_CALLS = (
    "setting",
    "calls",
    "seconds",
    "95 % below",
    "errors",
    "nothing",
    "repeats",
    "contexts",
    "tokens",
)
_NOTHING = (
    "setting", "nothing returned", "or nothing useful", "recall of the others", "threshold", "recall there", "nothing there",
)  # fmt: skip
# The edges of the picture of curves, in units of its own.
_LEFT = 40
_RIGHT = 520
_TOP = 10
_BOTTOM = 160
# Lines of text of the names beside the curves.
_LINE = 14


def heading(comparison: RetrieverFigures) -> str:
    """Return what was compared, in a line."""
    first = next(iter(comparison.settings))
    text = f"{plural(comparison.questions, 'question')}, the first {comparison.k} contexts"
    if len(comparison.settings) > 1:
        text += f"; differences are those to {clean(first, _LONGEST)}"
    return text


def list_means(comparison: RetrieverFigures) -> list[tuple[str, ...]]:
    """Return the table of the means, its head first: for each metric all settings."""
    rows: list[tuple[str, ...]] = [_MEANS]
    for metric in comparison.metrics:
        for name, setting in comparison.settings.items():
            item = setting.results.summary()[metric]
            mean = "-" if item.mean is None else format_number(item.mean, item.convention)
            interval = "-"
            if item.interval is not None:
                interval = " to ".join(
                    format_number(end, item.convention, percent=False) for end in item.interval
                )
            cells = (metric, clean(name, _LONGEST), mean, interval)
            rows.append((*cells, *_difference_cells(comparison, name, metric)))
    return rows


def _difference_cells(comparison: RetrieverFigures, setting: str, metric: str) -> tuple[str, str, str]:
    """Return the cells of a setting's difference to the first: difference, interval, verdict."""
    item = comparison.difference(setting, metric)
    if item is None:
        return "", "", ""
    interval = "-"
    if item.interval is not None:
        interval = " to ".join(number(end, item, sign="+") for end in item.interval)
    verdict = f"p {format_p(item.p)}"
    if item.p_adjusted is not None:
        verdict = f"{item.verdict} ({format_p(item.p_adjusted)})"
    return number(item.difference, item, sign="+"), interval, verdict


def list_calls(comparison: RetrieverFigures) -> list[tuple[str, ...]]:
    """Return the table of the calls, its head first."""
    fewer = f"under {comparison.k}"
    rows: list[tuple[str, ...]] = [(*_CALLS[:6], fewer, *_CALLS[6:])]
    rows += [_call_cells(setting) for setting in comparison.settings.values()]
    return rows


def _call_cells(setting: Setting) -> tuple[str, ...]:
    """Return the cells of a setting's calls."""
    calls = setting.calls
    return (
        clean(setting.name, _LONGEST),
        str(calls.calls),
        _figure(calls.median_seconds, ".3f"),
        _figure(calls.slow_seconds, ".3f"),
        str(calls.errors),
        str(calls.empty),
        str(calls.fewer),
        str(calls.repeated),
        _figure(calls.contexts, ".1f"),
        _figure(calls.tokens, ".0f"),
    )


def _figure(value: float | None, form: str) -> str:
    """Write a figure; ``-`` if there is none."""
    return "-" if value is None else format(value, form)


def list_nothing(comparison: RetrieverFigures) -> list[tuple[str, ...]]:
    """Return the table of the questions without an answer, its head first; only the head without such questions."""
    rows: list[tuple[str, ...]] = [_NOTHING]
    for name, item in comparison.nothing().items():
        point = item.threshold
        cells = ("-", "-", "-")
        if point is not None:
            share = f"{point.empty} of {item.questions}"
            threshold = f"{point.threshold:.4g}"
            if item.lower_is_better:
                threshold = f"at most {threshold}"
            cells = (threshold, _figure(point.recall, ".4f"), share)
        rows.append(
            (
                clean(name, _LONGEST),
                f"{item.empty} of {item.questions}",
                _useless_text(item),
                _figure(item.recall, ".4f"),
                *cells,
            )
        )
    return rows


def _useless_text(item: ReturnedNothing) -> str:
    """Count the questions for which nothing useful was returned."""
    if item.useless is None:
        return "-"
    text = f"{item.useless} of {item.questions}"
    return f"{text}, {item.unjudged} not judged" if item.unjudged else text


def draw_nothing(comparison: RetrieverFigures) -> dict[str, Any]:
    """Return the lines of recall against the share of empty results over the threshold, one a setting."""
    lines: list[tuple[str, str, float]] = []
    free = 0.0
    for name, item in comparison.nothing().items():
        places = [
            (_LEFT + (_RIGHT - _LEFT) * point.empty / item.questions, _find_y(point.recall))
            for point in item.points
        ]
        if len(places) > 1:
            y = max(places[0][1] + 4, free)
            free = y + _LINE
            lines.append((name, " ".join(f"{x:.1f},{y:.1f}" for x, y in places), y))
    return {
        "lines": lines,
        "axes": [(value, _find_y(value)) for value in (0.0, 0.5, 1.0)],
        "ticks": [(f"{share:g}", _LEFT + share * (_RIGHT - _LEFT)) for share in (0, 0.5, 1)],
        "height": max(_BOTTOM + 30, free + _LINE),
    }


def written(table: Sequence[tuple[str, ...]], *, markdown: bool) -> str:
    """Return a table as text or Markdown."""
    return format_table(table, markdown=markdown)


def get_item(comparison: RetrieverFigures, setting: str, metric: str) -> MetricSummary:
    """Return the summary of a metric in a setting."""
    return comparison.settings[setting].results.summary()[metric]


def list_sentences(comparison: RetrieverFigures) -> list[str]:
    """Return what the figures say, a sentence each."""
    sentences: list[str] = []
    runs = {} if comparison.comparisons is None else comparison.comparisons.runs
    for name, run in runs.items():
        primary = [item for item in run.metrics if item.verdict is not None]
        sentences += [f"{clean(name, _LONGEST)}: {'; '.join(clauses(item))}" for item in primary]
    sentences += _describe_floor(comparison)
    for ceiling in comparison.ceilings:
        convention = get_item(comparison, next(iter(comparison.settings)), ceiling.metric).convention
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
                f"{clean(setting.name, _LONGEST)}: in {count} calls the scores say another order; that of the list counts"
            )
        sentences += [
            f"{clean(setting.name, _LONGEST)} failed, question {clean(who, _LONGEST)}: {clean(error, 2 * _LONGEST)}"
            for who, error in setting.calls.first_errors
        ]
    sentences += comparison.notes
    for name, run in runs.items():
        sentences += [f"{clean(name, _LONGEST)}: {note}" for note in run.notes]
    if comparison.controls:
        sentences.append(comparison.controls.describe())
    if comparison.stopped:
        sentences.append(f"stopped early: {comparison.stopped}")
    return sentences


def _describe_floor(comparison: RetrieverFigures) -> Iterator[str]:
    """Yield how far each setting is above BM25, and what chance would have."""
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
                interval = " to ".join(number(end, item, sign="+") for end in item.interval)
            difference = number(item.difference, item, sign="+")
            yield f"{clean(name, _LONGEST)} against {floor.setting}: {item.name} {difference} ({interval})"
    for metric, mean in floor.random.items():
        yield f"random: {metric} {mean:.4f} (closed form, {floor.chunks} chunks)"
    yield f"{floor.setting}: {floor.about}"


def _describe_pools(comparison: RetrieverFigures) -> Iterator[str]:
    """Yield how many requests the pools spared, and what the settings have in common."""
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
        f"{pools.alone} {'set' if pools.alone == 1 else 'sets'} of contexts alone as well{spent}; "
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
        held = [f"{name} (rank {rank})" for name, rank in unit.ranks.items() if rank is not None]
        text = "" if unit.text == unit.id else f": {clean(unit.text, _LONGEST)}"
        yield f"{unit.id} lost by {', '.join(unit.lost_by)}; held by {', '.join(held)}{text}"


def shown(text: str | None) -> str:
    """Return a text as a line shows it."""
    return clean(text or "", _LONGEST)


def format_value(value: float | None, row: Any, metric: str) -> str:
    """Return a value of a question as it is shown."""
    if value is None:
        return row[metric].reason_code or "-"
    return format_number(value, row[metric].provenance.convention)


def draw_curves(lines: dict[str, list[Any]]) -> dict[str, Any]:
    """Return the lines of recall over k, one a setting, with the places of their names."""
    most = max(len(points) for points in lines.values())
    width = (_RIGHT - _LEFT) / max(1, most - 1)
    drawn = []
    ends: list[tuple[float, str]] = []
    for name, points in lines.items():
        places = [
            (_LEFT + place * width, _find_y(point.recall or 0.0)) for place, point in enumerate(points)
        ]
        drawn.append((name, " ".join(f"{x:.1f},{y:.1f}" for x, y in places)))
        ends.append((places[-1][1], name))
    words: dict[str, float] = {}
    free = 0.0
    for y, name in sorted(ends):
        words[name] = max(y + 4, free)
        free = words[name] + _LINE
    return {
        "lines": [(name, line, words[name]) for name, line in drawn],
        "axes": [(value, _find_y(value)) for value in (0.0, 0.5, 1.0)],
        "ticks": [(place + 1, _LEFT + place * width) for place in range(most)],
        "height": max(_BOTTOM + 30, free + _LINE),
    }


def _find_y(share: float) -> float:
    """Return the height of a share in a picture."""
    return _TOP + (1 - share) * (_BOTTOM - _TOP)
