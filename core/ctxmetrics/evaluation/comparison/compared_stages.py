"""Compares two runs stage by stage: the recall of each stage, and the units that a stage loses in the second run only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from ctxmetrics._internal.frozen import Plain
from ctxmetrics.evaluation.comparison.pairing import RowPair
from ctxmetrics.evaluation.pages.tables import Bar, Column, Table, format_interval
from ctxmetrics.evaluation.report.stage_means import (
    LostUnit,
    locate_loss,
    mean_known,
    read_stage_sizes,
    read_staged_units,
    summarize_stages,
)
from ctxmetrics.evaluation.rows.baseline import text_hash
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.statistics.paired import paired_mean
from ctxmetrics.scores.wording import TEXT, clean, plural
from ctxmetrics.verdicts import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedStage(Plain):
    """A stage of two runs.

    Attributes:
        name: The name of the stage.
        samples: The number of samples that have the stage in both runs; if only one run has the stage, in this run.
        before: Mean recall of the first run on these samples, from 0 to 1; None if the run has no such stage.
        after: Mean recall of the second run on these samples; None if the run has no such stage.
        interval: 95 % interval of the difference, second minus first (`ctxmetrics.evaluation.statistics.paired.paired_mean`).
        pools: The number of samples with an earlier stage in both runs from whose contexts this stage selects.
        different: The number of these samples for which the stage before handed on different contexts in the two runs.
        lost: The units that are lost at this stage in the second run alone: the contexts before it support them in both runs, the
            contexts after it in the first run only. They have the stage, context and rank of the second run.
    """

    name: str
    samples: int
    before: float | None
    after: float | None
    interval: tuple[float, float] | None
    pools: int
    different: int
    lost: tuple[LostUnit, ...]

    @property
    def description(self) -> str:
        """Describe the lost units. If there is an earlier stage, also say whether both runs could select from the same contexts."""
        differ = f"the pools differ in {self.different} of {plural(self.pools, 'sample')}"
        pool = differ if self.different else "from the same contexts"
        return f"{clean(self.name, TEXT)}: lost by the second run, kept by the first, {pool}: {len(self.lost)}"


@dataclass(frozen=True, slots=True)
class ComparedStages(Plain):
    """The stages of two runs.

    Attributes:
        metric: The recall that was compared.
        stages: The stages of either run.
    """

    metric: str
    stages: tuple[ComparedStage, ...]

    @property
    def table(self) -> Table:
        """The table of the stages."""
        return Table.build(_STAGE_COLUMNS, self.stages)


# The columns of the table of stages.
_STAGE_COLUMNS: Sequence[Column[ComparedStage]] = (
    Column("stage", lambda stage: clean(stage.name, TEXT)),
    Column("first", attrgetter("before"), ".3f", lambda stage: Bar(stage.before)),
    Column("second", attrgetter("after"), ".3f", lambda stage: Bar(stage.after)),
    Column("95 % interval", lambda stage: format_interval(stage.interval, "+z.3f")),
    Column("samples", attrgetter("samples")),
)


def compare_stages(
    pairs: Sequence[RowPair], names: Sequence[str], clusters: Sequence[str] | None = None
) -> ComparedStages | None:
    """Compare the stages of two runs. Return None if no sample has a value with stages in both.

    Args:
        pairs: The samples, each as a row of both runs.
        names: The metrics that both runs have; the first one with stages is compared.
        clusters: The cluster of each sample.
    """
    for metric in names:
        pairs_with_stages: list[RowPair] = []
        clusters_with_stages: list[object] = []
        for pair, cluster in zip(pairs, clusters or range(len(pairs)), strict=True):
            before, after = pair
            if _has_stages(before, metric) and _has_stages(after, metric):
                pairs_with_stages.append(pair)
                clusters_with_stages.append(cluster)
        if pairs_with_stages:
            return _compare_staged(metric, pairs_with_stages, clusters_with_stages)
    return None


def _has_stages(row: Row, metric: str) -> bool:
    """Tell whether a row holds the verdicts of each stage by a metric."""
    return bool(read_stage_sizes(row) and read_staged_units(row, metric))


def _compare_staged(
    metric: str, pairs: Sequence[RowPair], clusters: Sequence[object]
) -> ComparedStages | None:
    """Compare every stage of samples that have stages in both runs. Return None if there is no stage."""
    recalls = [(_read_recalls(before, metric), _read_recalls(after, metric)) for before, after in pairs]
    names: dict[str, None] = {}  # of the stages, in the order in which they appear
    for recalls_before, recalls_after in recalls:
        names |= dict.fromkeys([*recalls_before, *recalls_after])
    stages = tuple(_compare_stage(name, metric, pairs, recalls, clusters) for name in names)
    return ComparedStages(metric, stages) if stages else None


def _read_recalls(row: Row, metric: str) -> dict[str, float | None]:
    """Read the recall of each stage of a row, by the name of the stage."""
    return {stage.name: stage.recall for stage in summarize_stages([row], metric).stages}


def _compare_stage(
    name: str,
    metric: str,
    pairs: Sequence[RowPair],
    recalls: Sequence[tuple[Mapping[str, float | None], Mapping[str, float | None]]],
    clusters: Sequence[object],
) -> ComparedStage:
    """Return the figures of a stage. ``recalls`` has for each pair the recall of each stage in both runs."""
    recall_pairs = [(before.get(name), after.get(name)) for before, after in recalls]
    in_both_runs = [pair for pair in recall_pairs if None not in pair]
    differences: list[float] = []
    difference_clusters: list[object] = []
    for (first_recall, second_recall), cluster in zip(recall_pairs, clusters, strict=True):
        if first_recall is not None and second_recall is not None:
            differences.append(second_recall - first_recall)
            difference_clusters.append(cluster)
    # How often the stage selected from the contexts of a stage before it, in both runs.
    pool_count = 0
    different_count = 0
    lost_units: list[LostUnit] = []
    for pair in pairs:
        selection = _compare_selection(pair, metric, name)
        if selection is not None:
            pool_count += 1
            if selection.different:
                different_count += 1
            lost_units += selection.lost
    in_any_run = [pair for pair in recall_pairs if pair != (None, None)]
    shown_pairs = in_both_runs or in_any_run
    return ComparedStage(
        name=name,
        samples=len(shown_pairs),
        before=mean_known([before for before, _ in shown_pairs]),
        after=mean_known([after for _, after in shown_pairs]),
        interval=paired_mean(differences, difference_clusters).interval if differences else None,
        pools=pool_count,
        different=different_count,
        lost=tuple(lost_units),
    )


class _StageSelection(NamedTuple):
    """How a stage selected from the contexts of the stage before it, in the two runs of one sample.

    Attributes:
        different: Whether the stage had other contexts to select from in the other run.
        lost: The units that the stage kept in the first run and lost in the second.
    """

    different: bool
    lost: list[LostUnit]


def _compare_selection(pair: RowPair, metric: str, name: str) -> _StageSelection | None:
    """Compare the contexts of both runs before a stage, and find the units that the stage lost in the second run.

    Return None if there is no earlier stage.
    """
    first_row, second_row = pair
    units = read_staged_units(first_row, metric)
    other_units = read_staged_units(second_row, metric)
    names = _list_stages(units[0])
    other_names = _list_stages(other_units[0])
    if name not in names[1:] or name not in other_names[1:]:
        return None
    position = names.index(name) - 1
    other_position = other_names.index(name) - 1
    kept_texts = {text_hash(unit.text) for unit in units if unit.weight and _stays(unit, position)}
    lost_units = []
    for unit in other_units:
        before, after = unit.details["stages"][other_position : other_position + 2]
        if before["value"] and after["value"] is False and text_hash(unit.text) in kept_texts:
            lost_units.append(locate_loss(first_row.name, unit, other_position))
    pool = read_stage_sizes(first_row)[names[position]]
    other_pool = read_stage_sizes(second_row)[other_names[other_position]]
    return _StageSelection(pool["hash"] != other_pool["hash"], lost_units)


def _list_stages(unit: Verdict) -> list[str]:
    """List the names of the stages about which a unit has verdicts."""
    return [stage["name"] for stage in unit.details["stages"]]


def _stays(unit: Verdict, position: int) -> bool:
    """Tell whether a stage and the next one support a unit."""
    return all(stage["value"] for stage in unit.details["stages"][position : position + 2])
