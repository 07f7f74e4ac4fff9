"""The values of two runs on the samples that both have, and their figures: means, differences, causes, corrections."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ctxmetrics._internal.display import visible
from ctxmetrics.conventions import get_convention
from ctxmetrics.errors import ParameterError
from ctxmetrics.metrics import metric_named
from ctxmetrics.metrics.base import Metric
from ctxmetrics.results.comparison.changes import compare_verdicts
from ctxmetrics.results.comparison.pairing import Pair
from ctxmetrics.results.comparison.view import Causes, Corrected, Difference
from ctxmetrics.results.labels.answers import label_of, labels_in, people_value, weight_in
from ctxmetrics.results.labels.means import (
    EQUAL,
    LEVEL,
    corrected_difference,
    paired_mean,
    weighted_mean,
)
from ctxmetrics.results.row import Row
from ctxmetrics.scores import Score


@dataclass(slots=True)
class Column:
    """One metric in two runs: an item for each sample that both have.

    Attributes:
        before: The values of the first run.
        after: The values of the second.
        passed: Whether the pass mark is reached, in the first and in the second run.
        verdicts: Whether a judge was asked about the same contexts, on how many things there are verdicts of both runs then,
            and how many of these differ; None without a judge, or where the contexts are not known.
        first: The scores of the first sample with a value in both runs.
    """

    before: list[float | None] = field(default_factory=list)
    after: list[float | None] = field(default_factory=list)
    passed: tuple[list[bool | None], list[bool | None]] = field(default_factory=lambda: ([], []))
    verdicts: list[tuple[bool, int, int] | None] = field(default_factory=list)
    first: tuple[Score, Score] | None = None

    def add(self, before: Score, after: Score, same: bool | None) -> None:
        """Add the scores of a sample; ``same`` tells whether both runs retrieved the same."""
        self.before.append(before.value)
        self.after.append(after.value)
        self.passed[0].append(before.passed)
        self.passed[1].append(after.passed)
        verdicts: tuple[bool, int, int] | None = None
        if same:
            verdicts = (same, *compare_verdicts(before.verdicts, after.verdicts))
        elif same is not None:
            verdicts = (same, 0, 0)
        self.verdicts.append(None if before.provenance.judge is None else verdicts)
        if self.first is None and None not in (before.value, after.value):
            self.first = before, after


@dataclass(slots=True)
class _Values:
    """The values of one metric, on the samples that have a value in both runs.

    Attributes:
        positions: These samples.
        before: The values of the first run.
        after: The values of the second run.
        clusters: The cluster of each sample; None without clusters.
        lost: How many samples have a value in the first run only.
    """

    positions: list[int]
    before: list[float]
    after: list[float]
    clusters: list[str] | None
    lost: int = 0

    @property
    def differences(self) -> list[float]:
        return [after - before for before, after in zip(self.before, self.after, strict=True)]


def _read_values(column: Column, positions: Iterable[int], clusters: Sequence[str] | None) -> _Values:
    values = _Values([], [], [], None if clusters is None else [])
    for position in positions:
        before, after = column.before[position], column.after[position]
        if before is not None and after is None:
            values.lost += 1
        if before is None or after is None:
            continue
        values.positions.append(position)
        values.before.append(before)
        values.after.append(after)
        if clusters is not None and values.clusters is not None:
            values.clusters.append(clusters[position])
    return values


@dataclass(frozen=True, slots=True)
class PairedTest:
    """The metrics that are compared, on the samples that both runs have.

    Attributes:
        columns: The metrics.
        primary: Those that get a verdict.
        labelled: The samples that have labels, by their position.
        clusters: The cluster of each sample; None without clusters.
        by_file: Whether the labels come from files.
    """

    columns: Mapping[str, Column]
    primary: Collection[str]
    labelled: Mapping[int, Pair]
    clusters: Sequence[str] | None
    by_file: bool = field(kw_only=True)

    def compare(self, positions: Sequence[int]) -> tuple[Difference, ...]:
        """Return the figures of the metrics that have a value in both runs, p values not adjusted yet."""
        differences = []
        for name in self.columns:
            difference = self._compare_metric(name, positions)
            if difference is not None and name in self.primary:
                difference = replace(difference, p_adjusted=difference.basis.p)
            if difference is not None:
                differences.append(difference)
        return tuple(differences)

    def _compare_metric(self, name: str, positions: Sequence[int]) -> Difference | None:
        column = self.columns[name]
        values = _read_values(column, positions, self.clusters)
        size = len(values.positions)
        if column.first is None or not size:
            return None
        scale = _find_scale(name, column.first)
        differences = values.differences
        mean = paired_mean(differences, values.clusters, scale=scale)
        better = sum(item > EQUAL for item in differences)
        worse = sum(item < -EQUAL for item in differences)
        return Difference(
            name=name,
            samples=size,
            unpaired=len(positions) - size,
            values_lost=values.lost,
            before=math.fsum(values.before) / size,
            after=math.fsum(values.after) / size,
            difference=mean.mean,
            interval=mean.interval,
            p=mean.p,
            p_adjusted=None,
            better=better,
            worse=worse,
            equal=size - better - worse,
            detectable=mean.detectable,
            corrected=self._correct(name, values, column.first[0].provenance.convention, scale),
            scale=scale,
            causes=_count_causes(column, values),
            passed=_count_passed(column, values),
        )

    def _correct(self, name: str, values: _Values, convention: str, scale: float) -> Corrected | None:
        """Return the difference corrected by labels; None if fewer than two samples have their own in both runs."""
        metric = metric_named(name, convention)
        label = label_of(metric)
        if metric is None or label is None:
            return None
        differences = values.differences
        pairs: dict[int, Pair] = {}
        for place, position in enumerate(values.positions):
            if position in self.labelled:
                pairs[place] = self.labelled[position]
        # One set of labels is about the contexts of one run.
        if not self.by_file and any(differences) and _shares_labels(pairs.values(), label):
            return None
        people: dict[int, float] = {}
        for place, pair in pairs.items():
            before, after = (_read_people_value(row, metric, name, label) for row in pair)
            if before is not None and after is not None:
                people[place] = after - before
        unlabelled = [place for place in range(len(differences)) if place not in people]
        order = [*people, *unlabelled]
        clusters = None
        if values.clusters is not None:
            clusters = [values.clusters[place] for place in order]
        if len(set((clusters or order)[: len(people)])) < 2:  # noqa: PLR2004 - a variance needs two
            return None
        weights = [_read_weight(*pairs[place]) for place in people]
        mean = corrected_difference(
            [*people.values()],
            [differences[place] for place in people],
            [differences[place] for place in unlabelled],
            weights=weights,
            clusters=clusters,
            scale=scale,
        )
        half = mean.half(1 - LEVEL)
        return Corrected(
            labelled=len(people),
            people=weighted_mean(weights, [*people.values()]),
            difference=mean.mean,
            interval=(max(mean.mean - half, -scale), min(mean.mean + half, scale)),
            p=mean.p,
            size=mean.size,
        )


def _count_passed(column: Column, values: _Values) -> tuple[int, int] | None:
    """Count the samples that reach the pass mark in each run; None without one."""
    before, after = ([passed[position] for position in values.positions] for passed in column.passed)
    if before[0] is None or after[0] is None:
        return None
    return before.count(True), after.count(True)


def _find_scale(name: str, scores: tuple[Score, Score]) -> float:
    """Return the highest value of a metric.

    Raises:
        ParameterError: It differs between the runs.
    """
    before, after = (get_convention(score.provenance.convention).scale for score in scores)
    if before != after:
        scales = sorted([before, after])
        raise ParameterError(f"compare: {name} has different scales in the runs: {scales}.")
    return before


def _count_causes(column: Column, values: _Values) -> Causes | None:
    """Count changes of the contexts and of the judge; None without a judge or without hashes."""
    counts: Counter[str] = Counter()
    known = False
    for position, difference in zip(values.positions, values.differences, strict=True):
        verdicts = column.verdicts[position]
        if verdicts is None:
            continue
        known = True
        same, both, different = verdicts
        counts["same" if same else "other"] += abs(difference) > EQUAL
        counts["verdicts"] += both
        counts["different"] += different
    if not known:
        return None
    return Causes(counts["other"], counts["same"], counts["verdicts"], counts["different"])


def _read_people_value(row: Row, metric: Metric, name: str, label: str) -> float | None:
    return people_value(metric, row[name], labels_in(row.fields.labels, label))


def _shares_labels(pairs: Iterable[Pair], label: str) -> bool:
    """Tell whether each sample has the same labels in both runs."""
    return all(
        before.fields.labels.get(label) == after.fields.labels.get(label) for before, after in pairs
    )


def _read_weight(before: Row, after: Row) -> float:
    """Return how many samples a pair stands for; 1 if the samples were drawn equally often.

    Raises:
        ParameterError: It is no number above 0, or the runs' labels were drawn in two ways.
    """
    weights = {
        weight_in(row.fields.labels, f"sample {visible(row.name)!r}") for row in (before, after)
    } - {1.0}
    if len(weights) > 1:
        low, high = sorted(weights)
        raise ParameterError(
            f"compare: the labels of sample {visible(before.name)!r} have the weights {low:g} and {high:g}. "
            "Draw both files alike: `ctxmetrics label` with the same --n, --seed and --by."
        )
    return max(weights, default=1.0)
