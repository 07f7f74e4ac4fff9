"""The runs of one evaluation over time: the mean of each metric, and where something else than the retriever changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxmetrics._internal.frozen import Plain
from ctxmetrics.errors import InputFileError
from ctxmetrics.presentation.pages import render
from ctxmetrics.presentation.wording import TEXT, clean, plural
from ctxmetrics.results.baseline import shorten_question
from ctxmetrics.results.comparison.view import escape_markdown, format_table
from ctxmetrics.results.label_notes import Index, index_notes
from ctxmetrics.results.metric_summary import MetricSummary
from ctxmetrics.results.origin import SHORT, Origin, find_origin
from ctxmetrics.results.results import Results
from ctxmetrics.results.row import Row
from ctxmetrics.results.values_file import read_values

_HEADER = ("run", "started", "samples", "mean", "95 % interval", "not comparable with the run before")
# What must be equal for two runs to be points of one line, and how it is called.
_ORIGIN = {"judges": "judge", "models": "model", "prompts": "prompt", "splitters": "splitter"}
# The drawing, in units of its own: where points begin and end from left to right, and from 1 to 0.
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 620, 20, 140


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPoint(Plain):
    """One run of a history.

    Attributes:
        origin: The file, the judge, when and on which commit it began.
        metrics: The summary of each metric by its name.
        changes: What differs from the run before, so that the means cannot be compared: judge, prompt, splitter, samples
            or index.
    """

    origin: Origin
    metrics: Mapping[str, MetricSummary]
    changes: tuple[str, ...]


@dataclass(frozen=True, slots=True, repr=False)
class History(Plain):
    """Several runs in their order; as a string, a table a metric.

    Attributes:
        runs: The runs.
    """

    runs: tuple[RunPoint, ...]

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of all metrics of the runs."""
        return tuple(dict.fromkeys(name for run in self.runs for name in run.metrics))

    def __str__(self) -> str:
        tables = [f"{name}\n{format_table(self.list_rows(name))}" for name in self.metrics]
        return "\n\n".join(tables)

    __repr__ = __str__

    def markdown(self) -> str:
        """Return the tables as Markdown."""
        tables = [
            f"**{escape_markdown(name)}**\n\n{format_table(self.list_rows(name), markdown=True)}\n"
            for name in self.metrics
        ]
        return "\n".join(tables)

    def html(self, *, title: str = "ctxmetrics: history of runs") -> str:
        """Return one page with a line a metric; it loads nothing."""
        return render("history.html", history=self, title=title, language="en")

    def list_rows(self, metric: str) -> list[tuple[str, ...]]:
        """Return the table of a metric, its head first."""
        rows: list[tuple[str, ...]] = [_HEADER]
        for run in self.runs:
            item = run.metrics.get(metric)
            if item is None:
                continue
            mean = "-" if item.mean is None else f"{item.mean:.4f}"
            interval = " to ".join(f"{end:.4f}" for end in item.interval or ()) or "-"
            origin = run.origin
            start = filter(None, (origin.started, (origin.commit or "")[:SHORT], origin.branch))
            scored = f"{item.scored} of {item.samples}"
            cells = (origin.name, " ".join(start), scored, mean, interval, "; ".join(run.changes))
            rows.append(tuple(clean(cell, TEXT) for cell in cells))
        return rows

    def draw(self, metric: str) -> list[list[tuple[float, float]]]:
        """Return the points of a metric as lines: where a run cannot be compared with the one before, another line begins."""
        lines: list[list[tuple[float, float]]] = [[]]
        for number, run in enumerate(self.runs):
            item = run.metrics.get(metric)
            share = None if item is None else item.share
            if run.changes or share is None:
                lines.append([])
            if share is not None:
                lines[-1].append((self._find_x(number), _find_y(share)))
        return [line for line in lines if line]

    def draw_intervals(self, metric: str) -> list[tuple[float, float, float]]:
        """Return the interval of each run: its place from left to right, its lower and its upper end."""
        intervals = []
        for number, run in enumerate(self.runs):
            item = run.metrics.get(metric)
            ends = None if item is None else item.interval_shares
            if ends is not None:
                low, high = ends
                intervals.append((self._find_x(number), _find_y(low), _find_y(high)))
        return intervals

    def _find_x(self, number: int) -> float:
        return _LEFT + number * (_RIGHT - _LEFT) / max(1, len(self.runs) - 1)


def _find_y(share: float) -> float:
    return _TOP + (1 - share) * (_BOTTOM - _TOP)


def read_history(paths: Iterable[str | os.PathLike[str]]) -> History:
    """Read several files of results, or baselines, as the history of one evaluation.

    Args:
        paths: The files in the order of time.

    Raises:
        InputFileError: There is none, or one holds no results.
    """
    runs: list[RunPoint] = []
    before: Sequence[Row] = ()
    for path in paths:
        rows = list(read_values(path))
        results = Results.from_rows(rows, path)
        provenances = {score.provenance for row in rows for score in row.scores}
        origin = find_origin(results, provenances, len(rows))
        changes: tuple[str, ...] = ()
        if runs:
            changes = (*_compare_origins(runs[-1].origin, origin), *_list_changes(before, rows))
        runs.append(RunPoint(origin=origin, metrics=dict(results.summary()), changes=changes))
        before = rows
    if not runs:
        raise InputFileError("history: no results. Give files that --out or --write-baseline wrote.")
    return History(tuple(runs))


def _compare_origins(before: Origin, after: Origin) -> Iterable[str]:
    """Yield what differs between the judges of two runs."""
    for name, word in _ORIGIN.items():
        values = getattr(before, name), getattr(after, name)
        if values[0] != values[1]:
            yield f"{word}: {', '.join(values[0])} -> {', '.join(values[1])}"


def _list_changes(before: Sequence[Row], after: Sequence[Row]) -> Iterable[str]:
    """Yield which samples differ between two runs, and whether the index does."""
    old, new = _key_rows(before), _key_rows(after)
    if old != new:
        yield f"{plural(len(new - old), 'new sample')}, {len(old - new)} gone"
    notes, _ = index_notes(Index(before), Index(after))
    yield from notes


def _key_rows(rows: Iterable[Row]) -> set[Any]:
    return {shorten_question(row.record) for row in rows if row.record and "hash" in row.record}
