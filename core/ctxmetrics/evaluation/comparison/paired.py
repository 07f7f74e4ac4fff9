"""The values of two runs on the samples that both have, and their figures: means, differences, causes, corrections."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TypeAlias

from ctxmetrics._internal.display import replace_invisible
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.comparison.changed_units import compare_verdicts, has_same_contexts
from ctxmetrics.evaluation.comparison.differences import Causes, CorrectedDifference, Difference
from ctxmetrics.evaluation.comparison.pairing import RowPair
from ctxmetrics.evaluation.rows.gold_answers import PeopleGold, counts_gold, score_by_people
from ctxmetrics.evaluation.rows.people_answers import label_of, labels_in, people_value, weight_in
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.statistics.corrected_means import weighted_mean
from ctxmetrics.evaluation.statistics.label_decisions import choose_p, find_detectable_loss
from ctxmetrics.evaluation.statistics.labelled import labelled_difference
from ctxmetrics.evaluation.statistics.paired import ROUNDING_ERROR, limit_to_scale, paired_mean
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.catalog import find_metric
from ctxmetrics.scores.conventions import get_convention
from ctxmetrics.scores.score import Score

# A sample in both runs, and its gold by people.
AuditedPair: TypeAlias = tuple[RowPair, PeopleGold]


@dataclass(slots=True)
class PairedColumn:
    """One metric in two runs: an item for each sample that both have.

    Attributes:
        before: The values of the first run.
        after: The values of the second.
        passed: Whether the pass mark is reached, in the first and in the second run.
        verdicts: For each sample: whether both runs have the same contexts; if so, how many verdicts both have, and how many
            of these differ. None if there is no judge, or if the contexts are not known.
        first: The scores of the first sample with a value in both runs.
    """

    before: list[float | None] = field(default_factory=list)
    after: list[float | None] = field(default_factory=list)
    passed: tuple[list[bool | None], list[bool | None]] = field(default_factory=lambda: ([], []))
    verdicts: list[tuple[bool, int, int] | None] = field(default_factory=list)
    first: tuple[Score, Score] | None = None

    def add(self, before: Score, after: Score, is_same_retrieval: bool | None) -> None:
        """Add the scores of a sample.

        Args:
            before: The score in the first run.
            after: The score in the second run.
            is_same_retrieval: Whether both runs retrieved the same contexts; None if it is not known.
        """
        self.before.append(before.value)
        self.after.append(after.value)
        passed_before, passed_after = self.passed
        passed_before.append(before.passed)
        passed_after.append(after.passed)
        # Whether the retrieval is the same, the number of compared verdicts, and how many of them differ.
        verdicts: tuple[bool, int, int] | None = None
        if is_same_retrieval:
            verdicts = (is_same_retrieval, *compare_verdicts(before.verdicts, after.verdicts))
        elif is_same_retrieval is not None:
            verdicts = (is_same_retrieval, 0, 0)
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
        lost: The number of samples with a value in the first run only.
    """

    positions: list[int]
    before: list[float]
    after: list[float]
    clusters: list[str] | None
    lost: int = 0

    @property
    def differences(self) -> list[float]:
        """The value in the second run minus the value in the first run, for each sample."""
        return [after - before for before, after in zip(self.before, self.after, strict=True)]


def _read_values(
    column: PairedColumn, positions: Iterable[int], clusters: Sequence[str] | None
) -> _Values:
    """Read the values of a metric at some positions. Only samples with a value in both runs count."""
    values = _Values([], [], [], None if clusters is None else [])
    for position in positions:
        before = column.before[position]
        after = column.after[position]
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
        primary: The metrics that get a verdict.
        labelled: The samples that have labels, by their position.
        audited: The samples of the random part of an audit, by their position, with their gold by people.
        clusters: The cluster of each sample; None without clusters.
        by_file: Whether the labels come from files of labels, and not from the rows.
    """

    columns: Mapping[str, PairedColumn]
    primary: Collection[str]
    labelled: Mapping[int, RowPair]
    audited: Mapping[int, AuditedPair]
    clusters: Sequence[str] | None
    by_file: bool = field(kw_only=True)

    def compare(self, positions: Sequence[int]) -> tuple[Difference, ...]:
        """Return the figures of the metrics that have a value in both runs.

        The caller adjusts the p values of primary metrics for the number of metrics.
        """
        differences = []
        for name in self.columns:
            difference = self._compare_metric(name, positions)
            if difference is not None and name in self.primary:
                deciding_p = choose_p(difference.difference, difference.p, difference.corrected)
                difference = replace(difference, p_adjusted=deciding_p)
            if difference is not None:
                differences.append(difference)
        return tuple(differences)

    def _compare_metric(self, name: str, positions: Sequence[int]) -> Difference | None:
        """Return the figures of one metric. Return None if no sample has a value in both runs."""
        column = self.columns[name]
        values = _read_values(column, positions, self.clusters)
        sample_count = len(values.positions)
        if column.first is None or not sample_count:
            return None
        scale = _find_scale(name, column.first)
        differences = values.differences
        mean = paired_mean(differences, values.clusters, scale=scale)
        better = len([item for item in differences if item > ROUNDING_ERROR])
        worse = len([item for item in differences if item < -ROUNDING_ERROR])
        corrected = self._correct(name, values, column.first[0].provenance.convention, scale)
        detectable = find_detectable_loss(mean, corrected)
        if detectable is not None and detectable > scale:  # no difference is so large
            detectable = None
        return Difference(
            name=name,
            samples=sample_count,
            unpaired=len(positions) - sample_count,
            values_lost=values.lost,
            before=math.fsum(values.before) / sample_count,
            after=math.fsum(values.after) / sample_count,
            difference=mean.mean,
            interval=_limit(mean.interval, scale),
            p=mean.p,
            p_adjusted=None,
            better=better,
            worse=worse,
            equal=sample_count - better - worse,
            detectable=detectable,
            corrected=corrected,
            scale=scale,
            causes=_count_causes(column, values),
            passed=_count_passed(column, values),
        )

    def _correct(
        self, name: str, values: _Values, convention: str, scale: float
    ) -> CorrectedDifference | None:
        """Return the difference corrected by labels. Return None if fewer than two samples have their own in both runs."""
        metric = find_metric(name, convention)
        if metric is None:
            return None
        differences = values.differences
        by_audit = bool(self.audited) and counts_gold(metric)
        if by_audit:
            people_values = self._score_audited(metric, values)
            weights = [1.0] * len(people_values)
        else:
            people_values, weights = self._score_labelled(metric, name, values)
        unlabelled = [index for index in range(len(differences)) if index not in people_values]
        order = [*people_values, *unlabelled]  # the labelled samples come first
        clusters = None
        if values.clusters is not None:
            clusters = [values.clusters[index] for index in order]
        labelled_clusters = set((clusters or order)[: len(people_values)])
        if len(labelled_clusters) < 2:  # noqa: PLR2004 - a variance needs two
            return None
        difference = labelled_difference(
            [*people_values.values()],
            [differences[index] for index in people_values],
            [differences[index] for index in unlabelled],
            weights=weights,
            clusters=clusters,
            scale=scale,
        )
        figures = asdict(difference)
        for interval_name in ("interval", "decision_interval"):
            figures[interval_name] = _limit(figures[interval_name], scale)
        return CorrectedDifference(
            people=weighted_mean(weights, [*people_values.values()]), by_audit=by_audit, **figures
        )

    def _score_labelled(
        self, metric: Metric, name: str, values: _Values
    ) -> tuple[dict[int, float], list[float]]:
        """Compute the differences by people's labels, by the index of the sample. Also return the weights of these samples."""
        label = label_of(metric)
        if label is None:
            return {}, []
        # The rows with labels, by the index of the sample in the values.
        pairs: dict[int, RowPair] = {}
        for index, position in enumerate(values.positions):
            if position in self.labelled:
                pairs[index] = self.labelled[position]
        # If both runs have the same labels although the judge sees differences, these labels were made from the contexts of one run
        # only. They say nothing about the other run.
        are_of_one_run = not self.by_file and _shares_labels(pairs.values(), label)
        if are_of_one_run and any(values.differences):
            return {}, []
        people_values: dict[int, float] = {}
        labelled_once = 0
        for index, pair in pairs.items():
            before, after = (_read_people_value(row, metric, name, label) for row in pair)
            if before is not None and after is not None:
                people_values[index] = after - before
            elif before is not None or after is not None:
                labelled_once += 1
        # If a file is about one run only, the samples with labels in both runs are those with the same texts in both. They are no
        # random part: nothing can change in them.
        if labelled_once and all(has_same_contexts(*pairs[index]) for index in people_values):
            return {}, []
        return people_values, [_read_weight(*pairs[index]) for index in people_values]

    def _score_audited(self, metric: Metric, values: _Values) -> dict[int, float]:
        """Compute the differences by the gold that people wrote in an audit, by the index of the sample."""
        people_values: dict[int, float] = {}
        for index, position in enumerate(values.positions):
            if position not in self.audited:
                continue
            pair, gold = self.audited[position]
            before, after = (score_by_people(metric, row, gold) for row in pair)
            if before is not None and after is not None:
                people_values[index] = after - before
        return people_values


def _limit(interval: tuple[float, float] | None, scale: float) -> tuple[float, float] | None:
    """Limit an interval of a difference to the scale, if there is one."""
    return None if interval is None else limit_to_scale(interval, scale)


def _count_passed(column: PairedColumn, values: _Values) -> tuple[int, int] | None:
    """Count the samples that reach the pass mark in each run. Return None if there is none."""
    before, after = ([passed[position] for position in values.positions] for passed in column.passed)
    if before[0] is None or after[0] is None:
        return None
    return before.count(True), after.count(True)


def _find_scale(name: str, scores: tuple[Score, Score]) -> float:
    """Return the highest value of a metric.

    Raises:
        ParameterError: The scale differs between the runs.
    """
    before, after = (get_convention(score.provenance.convention).scale for score in scores)
    if before != after:
        scales = sorted([before, after])
        raise ParameterError(f"compare: {name} has different scales in the runs: {scales}.")
    return before


def _count_causes(column: PairedColumn, values: _Values) -> Causes | None:
    """Count changes with other contexts, and changes of verdicts on the same contexts.

    Return None if there is no judge, or if a run kept no hashes.
    """
    changed_with_same_contexts = 0
    changed_with_other_contexts = 0
    compared_verdicts = 0
    different_verdicts = 0
    has_judge = False
    for position, difference in zip(values.positions, values.differences, strict=True):
        verdicts = column.verdicts[position]
        if verdicts is None:
            continue
        has_judge = True
        has_same_contexts, verdict_count, different_count = verdicts
        has_changed = abs(difference) > ROUNDING_ERROR
        if has_changed and has_same_contexts:
            changed_with_same_contexts += 1
        elif has_changed:
            changed_with_other_contexts += 1
        compared_verdicts += verdict_count
        different_verdicts += different_count
    if not has_judge:
        return None
    return Causes(
        other_contexts=changed_with_other_contexts,
        same_contexts=changed_with_same_contexts,
        verdicts=compared_verdicts,
        different=different_verdicts,
    )


def _read_people_value(row: Row, metric: Metric, name: str, label: str) -> float | None:
    """Return the value of a metric by people's labels. Return None if the row has too few labels."""
    return people_value(metric, row[name], labels_in(row.fields.labels, label))


def _shares_labels(pairs: Iterable[RowPair], label: str) -> bool:
    """Tell whether each sample has the same labels in both runs."""
    return all(
        before.fields.labels.get(label) == after.fields.labels.get(label) for before, after in pairs
    )


def _read_weight(before: Row, after: Row) -> float:
    """Return how many samples a pair stands for. It is 1 if the samples were drawn equally often.

    Raises:
        ParameterError: The weight is no number above 0, or the labels of the runs were drawn in two ways.
    """
    weights = {
        weight_in(row.fields.labels, f"sample {replace_invisible(row.name)!r}")
        for row in (before, after)
    }
    if len(weights) > 1:
        low, high = sorted(weights)
        raise ParameterError(
            f"compare: the labels of sample {replace_invisible(before.name)!r} have the weights {low:g} and {high:g}. "
            "Draw both files alike: `ctxmetrics label` with the same --n, --seed and --by."
        )
    (weight,) = weights
    return weight
