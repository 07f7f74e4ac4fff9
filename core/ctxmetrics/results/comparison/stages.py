"""Two runs compared stage by stage: recall of each, and what a stage of the second run lost that the first run's kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxmetrics._internal.frozen import Plain
from ctxmetrics.presentation.wording import TEXT, clean, plural
from ctxmetrics.results.comparison.joining import Pair
from ctxmetrics.results.report.stages import (
    Lost,
    locate_loss,
    mean_known,
    read_sizes,
    read_staged_units,
    summarize_stages,
)
from ctxmetrics.results.rows_file import text_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedStage(Plain):
    """A stage of two runs.

    Attributes:
        name: Its name.
        samples: How many samples have it in both runs, else in the one that has it.
        before: Mean recall of the first run on these samples, from 0 to 1; None where it has no such stage.
        after: That of the second.
        pools: How many samples have a stage before it in both runs, from which it selects.
        different: In how many of these the stage before handed on other contexts in the other run.
        lost: Units that the stage before supports in both runs, this stage in the first run, and not in the second; stage,
            context and rank are those of the second.
    """

    name: str
    samples: int
    before: float | None
    after: float | None
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
        return [
            ("stage", "first", "second", "samples"),
            *(
                (
                    clean(stage.name, TEXT),
                    *(
                        "-" if value is None else f"{value:.3f}"
                        for value in (stage.before, stage.after)
                    ),
                    str(stage.samples),
                )
                for stage in self.stages
            ),
        ]


def compared_stages(pairs: Sequence[Pair], names: Sequence[str]) -> ComparedStages | None:
    """Compare the stages of two runs; None where no sample has a value with stages in both.

    Args:
        pairs: The samples, each as a row of both runs.
        names: The metrics of both; the first one with stages is compared.
    """
    staged_in_both = (
        (
            name,
            [
                pair
                for pair in pairs
                if all(read_sizes(row) and read_staged_units(row, name) for row in pair)
            ],
        )
        for name in names
    )
    metric, staged = next((found for found in staged_in_both if found[1]), ("", []))
    recalls = [
        [{stage.name: stage.recall for stage in summarize_stages([row], metric).stages} for row in pair]
        for pair in staged
    ]
    found = dict.fromkeys(name for pair in recalls for run in pair for name in run)
    stages = tuple(_stage(name, metric, staged, recalls) for name in found)
    return ComparedStages(metric, stages) if stages else None


def _stage(
    name: str,
    metric: str,
    pairs: Sequence[Pair],
    recalls: Sequence[Sequence[Mapping[str, float | None]]],
) -> ComparedStage:
    """Return the figures of a stage; ``recalls`` has for each pair the recall of each stage in both runs."""
    values = [[run.get(name) for run in pair] for pair in recalls]
    both = [each for each in values if None not in each]
    before, after = (mean_known([each[run] for each in both or values]) for run in (0, 1))
    selected = [found for pair in pairs if (found := _selected(pair, metric, name))]
    return ComparedStage(
        name=name,
        samples=len(both) or sum(each != [None, None] for each in values),
        before=before,
        after=after,
        pools=len(selected),
        different=sum(first["hash"] != second["hash"] for first, second, _ in selected),
        lost=tuple(unit for *_, lost in selected for unit in lost),
    )


def _selected(pair: Pair, metric: str, name: str) -> tuple[Any, Any, list[Lost]] | None:
    """Return what both runs had before a stage, and what it lost in the second; None where a run has none before it."""
    runs = [read_staged_units(row, metric) for row in pair]
    names = [[stage["name"] for stage in units[0].details["stages"]] for units in runs]
    if any(name not in each[1:] for each in names):
        return None
    place, own = (each.index(name) - 1 for each in names)
    kept = {
        text_hash(unit.text)
        for unit in runs[0]
        if unit.weight and all(stage["value"] for stage in unit.details["stages"][place : place + 2])
    }
    lost = []
    for unit in runs[1]:
        before, after = unit.details["stages"][own : own + 2]
        if before["value"] and after["value"] is False and text_hash(unit.text) in kept:
            lost.append(locate_loss(pair[0].name, unit, own))
    return read_sizes(pair[0])[names[0][place]], read_sizes(pair[1])[names[1][own]], lost
