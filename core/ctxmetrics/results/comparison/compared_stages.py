"""Two runs compared stage by stage: recall of each, and what a stage of the second run lost that the first run's kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from ctxmetrics._internal.frozen import Plain
from ctxmetrics.presentation.wording import TEXT, clean, plural
from ctxmetrics.results.baseline import text_hash
from ctxmetrics.results.comparison.pairing import Pair
from ctxmetrics.results.labels.means import paired_mean
from ctxmetrics.results.report.stage_means import (
    Lost,
    format_mean,
    locate_loss,
    mean_known,
    read_sizes,
    read_staged_units,
    summarize_stages,
)
from ctxmetrics.results.row import Row
from ctxmetrics.verdicts import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedStage(Plain):
    """A stage of two runs.

    Attributes:
        name: Its name.
        samples: How many samples have it in both runs, else in the one that has it.
        before: Mean recall of the first run on these samples, from 0 to 1; None where it has no such stage.
        after: That of the second.
        interval: 95 % interval of the difference, second minus first (`ctxmetrics.results.labels.means.paired_mean`).
        pools: How many samples have a stage before it in both runs, from which it selects.
        different: In how many of these the stage before handed on other contexts in the other run.
        lost: Units that the stage before supports in both runs, this stage in the first run, and not in the second; stage,
            context and rank are those of the second.
    """

    name: str
    samples: int
    before: float | None
    after: float | None
    interval: tuple[float, float] | None
    pools: int
    different: int
    lost: tuple[Lost, ...]

    @property
    def said(self) -> str:
        """What was lost, and whether both runs had the same to select from, where there is a stage before."""
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
    def table(self) -> list[tuple[str, ...]]:
        """The rows of a table, its head first."""
        rows: list[tuple[str, ...]] = [("stage", "first", "second", "95 % interval", "samples")]
        for stage in self.stages:
            before, after = format_mean(stage.before, ".3f"), format_mean(stage.after, ".3f")
            interval = "-"
            if stage.interval is not None:
                interval = " to ".join(f"{end:+.3f}" for end in stage.interval)
            rows.append((clean(stage.name, TEXT), before, after, interval, str(stage.samples)))
        return rows


def compare_stages(
    pairs: Sequence[Pair], names: Sequence[str], clusters: Sequence[str] | None = None
) -> ComparedStages | None:
    """Compare the stages of two runs; None if no sample has a value with stages in both.

    Args:
        pairs: The samples, each as a row of both runs.
        names: The metrics of both; the first one with stages is compared.
        clusters: The cluster of each sample.
    """
    for metric in names:
        staged = []
        for pair, cluster in zip(pairs, clusters or range(len(pairs)), strict=True):
            if _has_stages(pair[0], metric) and _has_stages(pair[1], metric):
                staged.append((pair, cluster))
        if staged:
            return _compare_staged(metric, *zip(*staged, strict=True))
    return None


def _has_stages(row: Row, metric: str) -> bool:
    return bool(read_sizes(row) and read_staged_units(row, metric))


def _compare_staged(
    metric: str, pairs: Sequence[Pair], clusters: Sequence[object]
) -> ComparedStages | None:
    recalls = [(_read_recalls(before, metric), _read_recalls(after, metric)) for before, after in pairs]
    names = dict.fromkeys(chain.from_iterable(chain.from_iterable(recalls)))
    stages = tuple(_compare_stage(name, metric, pairs, recalls, clusters) for name in names)
    return ComparedStages(metric, stages) if stages else None


def _read_recalls(row: Row, metric: str) -> dict[str, float | None]:
    return {stage.name: stage.recall for stage in summarize_stages([row], metric).stages}


def _compare_stage(
    name: str,
    metric: str,
    pairs: Sequence[Pair],
    recalls: Sequence[tuple[Mapping[str, float | None], Mapping[str, float | None]]],
    clusters: Sequence[object],
) -> ComparedStage:
    """Return the figures of a stage; ``recalls`` has for each pair the recall of each stage in both runs."""
    values = [(before.get(name), after.get(name)) for before, after in recalls]
    both = [recall for recall in values if None not in recall]
    differences, places = [], []
    for (first, second), place in zip(values, clusters, strict=True):
        if first is not None and second is not None:
            differences.append(second - first)
            places.append(place)
    befores, afters = zip(*(both or values), strict=True)
    pools = different = 0
    lost: list[Lost] = []
    for pair in pairs:
        selection = _compare_selection(pair, metric, name)
        if selection is not None:
            pools += 1
            different += selection.different
            lost += selection.lost
    return ComparedStage(
        name=name,
        samples=len(both) or sum(recall != (None, None) for recall in values),
        before=mean_known(befores),
        after=mean_known(afters),
        interval=paired_mean(differences, places).interval if differences else None,
        pools=pools,
        different=different,
        lost=tuple(lost),
    )


class _Selection(NamedTuple):
    """What a stage of one sample selected from: whether the runs had other contexts there, and what the second lost."""

    different: bool
    lost: list[Lost]


def _compare_selection(pair: Pair, metric: str, name: str) -> _Selection | None:
    """Compare what both runs had before a stage, and find what it lost in the second; None if nothing is before it."""
    units, other_units = read_staged_units(pair[0], metric), read_staged_units(pair[1], metric)
    names, other_names = _list_stages(units[0]), _list_stages(other_units[0])
    if name not in names[1:] or name not in other_names[1:]:
        return None
    position, other_position = names.index(name) - 1, other_names.index(name) - 1
    kept_texts = {text_hash(unit.text) for unit in units if unit.weight and _stays(unit, position)}
    lost = []
    for unit in other_units:
        before, after = unit.details["stages"][other_position : other_position + 2]
        if before["value"] and after["value"] is False and text_hash(unit.text) in kept_texts:
            lost.append(locate_loss(pair[0].name, unit, other_position))
    pool, other_pool = (
        read_sizes(pair[0])[names[position]],
        read_sizes(pair[1])[other_names[other_position]],
    )
    return _Selection(pool["hash"] != other_pool["hash"], lost)


def _list_stages(unit: Verdict) -> list[str]:
    return [stage["name"] for stage in unit.details["stages"]]


def _stays(unit: Verdict, position: int) -> bool:
    """Tell whether a stage and the next one support a unit."""
    return all(stage["value"] for stage in unit.details["stages"][position : position + 2])
