"""The runs of one evaluation over time: the mean of each metric, and where something else than the retriever changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxmetrics._internal.frozen import EMPTY, Plain
from ctxmetrics.errors import InputFileError
from ctxmetrics.evaluation.comparison.view import escape_markdown, format_table
from ctxmetrics.evaluation.pages import render
from ctxmetrics.evaluation.rows.baseline import shorten_question
from ctxmetrics.evaluation.rows.index_notes import IndexSketch, index_notes
from ctxmetrics.evaluation.rows.metric_summary import MetricSummary
from ctxmetrics.evaluation.rows.provenances import SHORT, Origin, find_origin
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.rows.values_file import read_values
from ctxmetrics.evaluation.runs.results import Results
from ctxmetrics.scores.wording import TEXT, clean, plural

_HEADER = ("run", "started", "samples", "mean", "95 % interval", "not comparable with the run before")
# What must be equal for two runs to be points of one line, and how it is called.
_ORIGIN = {"judges": "judge", "models": "model", "prompts": "prompt", "splitters": "splitter"}
# The edges of the drawing, in units of its own: the first and the last run, then the shares 1 and 0.
_LEFT = 40
_RIGHT = 620
_TOP = 20
_BOTTOM = 140


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

    def html(
        self, *, title: str = "ctxmetrics: history of runs", links: Mapping[str, str] = EMPTY
    ) -> str:
        """Return one page with a line a metric; it loads nothing.

        Args:
            title: Heading of the page.
            links: By the name of a run, the address of its comparison with the one before.
        """
        return render("history.html", history=self, title=title, language="en", links=links)

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

    def list_addresses(self, metric: str, links: Mapping[str, str]) -> list[str | None]:
        """List the addresses of the runs of `list_rows`, by their whole names; None for a run without one."""
        return [links.get(run.origin.name) for run in self.runs if metric in run.metrics]

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


def read_run(path: str | os.PathLike[str]) -> tuple[Results, Origin]:
    """Read the values of a file of results, or a baseline, and where they come from.

    Raises:
        InputFileError: It holds no results.
    """
    rows = list(read_values(path))
    results = Results.from_rows(rows, path)
    provenances = {score.provenance for row in rows for score in row.scores}
    return results, find_origin(results, provenances, len(rows))


def read_history(paths: Iterable[str | os.PathLike[str]]) -> History:
    """Read several files of results, or baselines, as the history of one evaluation.

    Args:
        paths: The files in the order of time.

    Raises:
        InputFileError: There is none, or one holds no results.
    """
    runs: list[RunPoint] = []
    before = _RunSamples(())
    for path in paths:
        results, origin = read_run(path)
        samples = _RunSamples([*results])
        changes: tuple[str, ...] = ()
        if runs:
            changes = (*_compare_origins(runs[-1].origin, origin), *_list_changes(before, samples))
        runs.append(RunPoint(origin=origin, metrics=dict(results.summary()), changes=changes))
        before = samples
    if not runs:
        raise InputFileError("history: no results. Give files that --out or --write-baseline wrote.")
    return History(tuple(runs))


def _compare_origins(before: Origin, after: Origin) -> Iterable[str]:
    """Yield what differs between the judges of two runs."""
    for name, word in _ORIGIN.items():
        values = getattr(before, name), getattr(after, name)
        if values[0] != values[1]:
            yield f"{word}: {', '.join(values[0])} -> {', '.join(values[1])}"


class _RunSamples:
    """What the samples of a run are recognised by.

    Args:
        rows: The rows of the run.

    Attributes:
        keys: The short hashes of questions and references.
        index: What the samples say about the index.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        records = [row.record for row in rows if row.record and "hash" in row.record]
        self.keys: set[Any] = {shorten_question(record) for record in records}
        self.index: IndexSketch = IndexSketch(rows)


def _list_changes(before: _RunSamples, after: _RunSamples) -> Iterable[str]:
    """Yield which samples differ between two runs, and whether the index does."""
    if before.keys != after.keys:
        new = plural(len(after.keys - before.keys), "new sample")
        yield f"{new}, {len(before.keys - after.keys)} gone"
    notes, _ = index_notes(before.index, after.index)
    yield from notes
