"""The runs of one evaluation over time: the mean of each metric, and where something else than the retriever changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxmetrics._internal.frozen import EMPTY, Plain
from ctxmetrics.errors import InputFileError, ParameterError
from ctxmetrics.evaluation.pages import render
from ctxmetrics.evaluation.pages.charts import Chart, Line
from ctxmetrics.evaluation.pages.tables import Column, Table, escape_markdown, format_interval
from ctxmetrics.evaluation.rows.baseline import shorten_question
from ctxmetrics.evaluation.rows.index_notes import IndexSketch, index_notes
from ctxmetrics.evaluation.rows.metric_summary import MetricSummary
from ctxmetrics.evaluation.rows.provenances import SHOWN_COMMIT_LENGTH, Origin, find_origin
from ctxmetrics.evaluation.rows.values_file import FileValues, read_values
from ctxmetrics.scores.wording import TEXT, clean, plural

# The parts of the origin that must be equal for two runs to be points of one line, with their names.
_ORIGIN_NAMES = {"judges": "judge", "models": "model", "prompts": "prompt", "splitters": "splitter"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPoint(Plain):
    """One run of a history.

    Attributes:
        origin: The file and the judge of the run, the time when it began, and the commit.
        metrics: The summary of each metric by its name.
        changes: Differences from the run before that forbid to compare the means: judge, prompt, splitter, samples
            or index.
    """

    origin: Origin
    metrics: Mapping[str, MetricSummary]
    changes: tuple[str, ...]


@dataclass(frozen=True, slots=True, repr=False)
class History(Plain):
    """Several runs in their order. As a string, it is a table for each metric.

    Attributes:
        runs: The runs.
    """

    runs: tuple[RunPoint, ...]

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of all metrics of the runs."""
        names: dict[str, None] = {}  # each once, in order
        for run in self.runs:
            names |= dict.fromkeys(run.metrics)
        return tuple(names)

    def __str__(self) -> str:
        return "\n\n".join(f"{name}\n{self.build_table(name)}" for name in self.metrics)

    __repr__ = __str__

    def markdown(self) -> str:
        """Return the tables as Markdown."""
        tables = [
            f"**{escape_markdown(name)}**\n\n{self.build_table(name).markdown()}\n"
            for name in self.metrics
        ]
        return "\n".join(tables)

    def html(
        self, *, title: str = "ctxmetrics: history of runs", links: Mapping[str, str] = EMPTY
    ) -> str:
        """Return one page with a chart and a table for each metric. It loads nothing.

        Args:
            title: Heading of the page.
            links: By the name of a run, the address of its comparison with the one before.
        """
        parts = [(self.draw(name), self.build_table(name, links)) for name in self.metrics]
        return render("history.html", parts=parts, title=title, language="en")

    def build_table(self, metric: str, links: Mapping[str, str] = EMPTY) -> Table:
        """Build the table of a metric: a row for each run that has it.

        Args:
            metric: The metric's name.
            links: By the name of a run, the address of its page.
        """
        columns: list[Column[RunPoint]] = [
            Column(
                "run",
                lambda run: clean(run.origin.name, TEXT),
                address=lambda run: links.get(run.origin.name),
            ),
            Column("started", _describe_start),
            Column(
                "samples", lambda run: f"{run.metrics[metric].scored} of {run.metrics[metric].samples}"
            ),
            Column("mean", lambda run: run.metrics[metric].mean, ".4f"),
            Column("95 % interval", lambda run: format_interval(run.metrics[metric].interval, ".4f")),
            Column(
                "not comparable with the run before", lambda run: clean("; ".join(run.changes), TEXT)
            ),
        ]
        return Table.build(columns, [run for run in self.runs if metric in run.metrics])

    def draw(self, metric: str) -> Chart:
        """Draw a metric over the runs. A run that cannot be compared with the one before begins another line."""
        step = 1 / max(1, len(self.runs) - 1)
        lines: list[list[tuple[float, float]]] = [[]]
        intervals: list[tuple[float, float, float]] = []
        for index, run in enumerate(self.runs):
            x = index * step
            summary = run.metrics.get(metric)
            share = None if summary is None else summary.share
            if run.changes or share is None:
                lines.append([])
            if share is not None:
                lines[-1].append((x, share))
            if summary is not None and summary.interval_shares is not None:
                low, high = summary.interval_shares
                intervals.append((x, low, high))
        return Chart(
            title=metric,
            summary=f"{plural(len(self.runs), 'run')}, from 0 to 1",
            lines=tuple(Line(tuple(points), marked=True) for points in lines if points),
            intervals=tuple(intervals),
        )


def _describe_start(run: RunPoint) -> str:
    """Describe when a run began, and on which commit and branch."""
    origin = run.origin
    short_commit = (origin.commit or "")[:SHOWN_COMMIT_LENGTH]
    texts = [text for text in (origin.started, short_commit, origin.branch) if text]
    return clean(" ".join(texts), TEXT)


def read_run(path: str | os.PathLike[str]) -> tuple[FileValues, Origin]:
    """Read the values of a file of results, or a baseline, and where they come from.

    Raises:
        InputFileError: The file holds no results.
    """
    file_values = read_values(path)
    provenances = {provenance for origins in file_values.origins.values() for provenance, _ in origins}
    return file_values, find_origin(file_values, provenances, len(file_values.samples))


def read_history(paths: Iterable[str | os.PathLike[str]]) -> History:
    """Read several files of results, or baselines, as the history of one evaluation.

    Args:
        paths: The files in the order of time.

    Raises:
        InputFileError: There is no file, or a file holds no results.
        ParameterError: A single path is given.
    """
    if isinstance(paths, (str, os.PathLike)):
        raise ParameterError(
            f"history: paths must be a list. Write [{str(paths)!r}] for a single file."
        )
    runs: list[RunPoint] = []
    before = _RunSamples(())
    for path in paths:
        file_values, origin = read_run(path)
        samples = _RunSamples(file_values.records)
        changes: tuple[str, ...] = ()
        if runs:
            changes = (*_compare_origins(runs[-1].origin, origin), *_list_changes(before, samples))
        runs.append(RunPoint(origin=origin, metrics=file_values.summarize(), changes=changes))
        before = samples
    if not runs:
        raise InputFileError("history: no results. Give files that --out or --write-baseline wrote.")
    return History(tuple(runs))


def _compare_origins(before: Origin, after: Origin) -> Iterable[str]:
    """Yield the differences between the judges of two runs."""
    for name, word in _ORIGIN_NAMES.items():
        values_before = getattr(before, name)
        values_after = getattr(after, name)
        if values_before != values_after:
            yield f"{word}: {', '.join(values_before)} -> {', '.join(values_after)}"


class _RunSamples:
    """The keys of the samples of a run.

    Args:
        records: The facts about the samples of the run.

    Attributes:
        keys: The short hashes of questions and references.
        index: The facts about the retrieval index.
    """

    def __init__(self, records: Sequence[Mapping[str, Any]]) -> None:
        self.keys: set[str] = {shorten_question(record) for record in records}
        self.index: IndexSketch = IndexSketch()
        for record in records:
            self.index.add(record)


def _list_changes(before: _RunSamples, after: _RunSamples) -> Iterable[str]:
    """Yield which samples differ between two runs, and whether the index does."""
    if before.keys != after.keys:
        new_samples = plural(len(after.keys - before.keys), "new sample")
        yield f"{new_samples}, {len(before.keys - after.keys)} gone"
    notes, _ = index_notes(before.index, after.index)
    yield from notes
