"""The searches of each question: what each found, what it added, and what none of them found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from ctxmetrics._internal.frozen import Plain, to_json_data
from ctxmetrics._internal.text_table import wrap
from ctxmetrics.evaluation.pages.tables import Column, Table, format_value
from ctxmetrics.evaluation.report import stage_means
from ctxmetrics.evaluation.report.stage_means import LostUnit, StageMeans, mean_known
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.samples.stages import TOGETHER
from ctxmetrics.scores.wording import plural
from ctxmetrics.verdicts import Verdict

# The maximum number of samples that the text names.
_MAX_NAMED_SAMPLES = 5


@dataclass(frozen=True, slots=True)
class SearchMeans(Plain):
    """The means of the first, second .. search of each sample, over the samples that have so many searches.

    Attributes:
        number: The number of the search in its sample, from 1.
        samples: The number of samples that have this search and a value.
        recall: Mean recall of the search's contexts alone, from 0 to 1. None if a unit of each sample was not judged.
        recall_after: Mean recall after this search, over all samples. A sample with fewer searches counts with all its searches.
        added: Mean number of units that this search supports first.
        precision: Mean share of the search's contexts on which a supported unit rests; 0 without a context.
        contexts: Mean number of distinct contexts.
    """

    number: int
    samples: int
    recall: float | None
    recall_after: float | None
    added: float | None
    precision: float | None
    contexts: float | None


@dataclass(frozen=True, slots=True)
class SampleSearches(Plain):
    """The searches of one sample.

    Attributes:
        sample: The sample's id, else its number.
        queries: The text of each search; None if it is not known.
        recalls: The recall of each search alone.
        recalls_after: The recall after each search.
        precisions: The share of the contexts of each search on which a supported unit rests.
        added: For each search the ids of the units that it is the first to support.
        complete_after: The number of searches after which every unit was supported; None if that was never so.
    """

    sample: str
    queries: tuple[str | None, ...]
    recalls: tuple[float | None, ...]
    recalls_after: tuple[float | None, ...]
    precisions: tuple[float | None, ...]
    added: tuple[tuple[str, ...], ...]
    complete_after: int | None


@dataclass(frozen=True, slots=True)
class Searches(Plain):
    """The results of the searches of all questions.

    Attributes:
        metric: The recall that was asked for.
        searches: The means of all first searches, of all second searches, and so on.
        samples: The searches of each sample with a value.
        recall: Mean recall of all searches together.
        units: The number of judged units.
        lost: The units that no search found, in the order of the rows.
    """

    metric: str
    searches: tuple[SearchMeans, ...]
    samples: tuple[SampleSearches, ...]
    recall: float | None
    units: int
    lost: tuple[LostUnit, ...]

    @property
    def idle(self) -> tuple[tuple[str, int], ...]:
        """The searches that added nothing: the sample, and the number of the search."""
        searches: list[tuple[str, int]] = []
        for sample in self.samples:
            for number, new_units in enumerate(sample.added, 1):
                if not new_units:
                    searches.append((sample.sample, number))
        return tuple(searches)

    @property
    def complete_after(self) -> dict[int | None, int]:
        """The number of samples that had every unit after one search, after two searches, and so on. None: samples that never had all."""
        counts = Counter(sample.complete_after for sample in self.samples)
        # None comes last.
        return dict(sorted(counts.items(), key=lambda item: (item[0] is None, item[0])))

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain JSON-ready data."""
        return {**Plain.to_dict(self), "complete_after": to_json_data(self.complete_after)}

    def __str__(self) -> str:
        table = Table.build(_COLUMNS, self.searches)
        lines = [f"{self.metric} by search:", *table.list_lines()]
        lines += wrap(f"all searches together: {format_value(self.recall, '.3f')}")
        counts = []
        for number, samples in self.complete_after.items():
            when = "never" if number is None else f"after {number}"
            counts.append(f"{when} in {plural(samples, 'sample')}")
        lines += wrap(f"everything was there: {', '.join(counts)}")
        total = sum(len(sample.added) for sample in self.samples)
        idle = [f"{sample} ({search})" for sample, search in self.idle]
        names = f": {', '.join(idle[:_MAX_NAMED_SAMPLES])}" if idle else ""
        if len(idle) > _MAX_NAMED_SAMPLES:
            names += " .."
        lines += wrap(f"added nothing: {len(idle)} of {total} searches{names}")
        if self.lost:
            lines += wrap(f"no search found {len(self.lost)} of {plural(self.units, 'unit')}")
        return "\n".join(lines)


# The columns of the table of searches.
_COLUMNS: Sequence[Column[SearchMeans]] = (
    Column("search", attrgetter("number")),
    Column("samples", attrgetter("samples")),
    Column("recall", attrgetter("recall"), ".3f"),
    Column("after it", attrgetter("recall_after"), ".3f"),
    Column("added", attrgetter("added"), ".1f"),
    Column("precision", attrgetter("precision"), ".3f"),
    Column("contexts", attrgetter("contexts"), ",.1f"),
)


def has_searches(row: Row) -> bool:
    """Tell whether a row is of a sample with searches."""
    size_by_stage = stage_means.read_stage_sizes(row)
    # Beside the stage of all searches, there is a stage for each search.
    return TOGETHER in size_by_stage and len(size_by_stage) > 1


def summarize_searches(rows: Iterable[Row], metric: str) -> Searches:
    """Summarize the searches of rows that have searches: see `Results.searches`."""
    samples: list[SampleSearches] = []
    searches_of_samples: list[list[StageMeans]] = []
    recalls: list[float | None] = []
    lost_units: list[LostUnit] = []
    judged_count = 0
    for row in rows:
        units = stage_means.read_staged_units(row, metric)
        # One mean for each search, and a last mean for all searches together.
        means_alone = [*stage_means.measure_stages(row, metric, units, "value")]
        if not means_alone:
            continue
        means_so_far = [*stage_means.measure_stages(row, metric, units, "so_far")]
        samples.append(_summarize_sample(row, units, means_alone[:-1], means_so_far[:-1]))
        searches_of_samples.append(means_alone[:-1])
        recalls.append(means_alone[-1].recall)
        for unit in units:
            if not unit.weight:
                continue
            if unit.value is not None:
                judged_count += 1
            if unit.value is False:
                lost_units.append(LostUnit(row.name, unit.id, unit.text))
    most_searches = max(map(len, searches_of_samples), default=0)
    means = [_average_searches(index, samples, searches_of_samples) for index in range(most_searches)]
    return Searches(
        metric=metric,
        searches=tuple(means),
        samples=tuple(samples),
        recall=mean_known(recalls),
        units=judged_count,
        lost=tuple(lost_units),
    )


def _summarize_sample(
    row: Row, units: Sequence[Verdict], alone: Sequence[StageMeans], after: Sequence[StageMeans]
) -> SampleSearches:
    """Summarize the searches of one sample.

    Args:
        row: The row of the sample.
        units: The verdicts about the units.
        alone: The figures of each search alone.
        after: The means of each search together with all searches before it.
    """
    new_units: list[list[str]] = [[] for _ in alone]
    for unit in units:
        values_after = [stage["so_far"] for stage in unit.details["stages"]]
        first_index = values_after.index(True) if True in values_after else None
        # The stage after the stages of the searches has all searches together.
        if first_index is not None and first_index < len(new_units):
            new_units[first_index].append(unit.id)
    recalls_after = [stage.recall for stage in after]
    queries = [search.query for search in row.fields.searches or ()] or [None] * len(alone)
    return SampleSearches(
        sample=row.name,
        queries=tuple(queries),
        recalls=tuple(stage.recall for stage in alone),
        recalls_after=tuple(recalls_after),
        precisions=tuple(stage.precision for stage in alone),
        added=tuple(map(tuple, new_units)),
        complete_after=recalls_after.index(1.0) + 1 if 1.0 in recalls_after else None,
    )


def _average_searches(
    index: int,
    samples: Sequence[SampleSearches],
    searches_of_samples: Sequence[Sequence[StageMeans]],
) -> SearchMeans:
    """Return the means of the searches at one index, over the samples that have a search at this index.

    The recall after it is over all samples.
    """
    searches = [means[index] for means in searches_of_samples if len(means) > index]
    new_units = [len(sample.added[index]) for sample in samples if len(sample.added) > index]
    recalls_after = []
    for sample in samples:
        # A sample with fewer searches counts with its last search.
        last_index = min(index, len(sample.recalls_after) - 1)
        recalls_after.append(sample.recalls_after[last_index])
    return SearchMeans(
        number=index + 1,
        samples=len(searches),
        recall=mean_known([search.recall for search in searches]),
        recall_after=mean_known(recalls_after),
        added=mean_known(new_units),
        precision=mean_known([search.precision for search in searches]),
        contexts=mean_known([search.contexts for search in searches]),
    )
