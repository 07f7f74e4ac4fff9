"""The stages of the retrieval over all samples, and each unit that was lost at one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from operator import attrgetter
from statistics import fmean
from typing import Any

from ctxmetrics._internal.call_text import parse_call
from ctxmetrics._internal.frozen import EMPTY, Plain
from ctxmetrics._internal.text_table import wrap
from ctxmetrics.evaluation.pages.phrases import say
from ctxmetrics.evaluation.pages.tables import Bar, Column, Table
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.rows.sample_record import build_record
from ctxmetrics.samples.stages import Stage, describe_stages, with_stage_history
from ctxmetrics.scores.attribution import Attribution
from ctxmetrics.scores.wording import TEXT, clean
from ctxmetrics.verdicts import CHARACTERS_A_TOKEN, Evidence, Verdict

# The metric whose stages are read from the ids of the sample.
ID_RECALL_METRIC = "id_based_context_recall"
# The cause of a unit that no stage held.
NEVER_FOUND = "never found"


@dataclass(frozen=True, slots=True)
class StageMeans(Plain):
    """One stage over the samples that have it.

    Attributes:
        name: The name of the stage.
        samples: The number of samples that have this stage and a value.
        recall: Mean recall of the contexts of the stage, from 0 to 1. A later stage that only selects contexts cannot have more.
            None if every sample has a unit that was not judged.
        precision: Mean share of the contexts of the stage that support a unit. The share is 0 if there is no context.
            None with ``accumulate``.
        contexts: Mean number of distinct contexts.
        tokens: Mean size in tokens: the number of characters, divided by 4. None if a sample has ids without texts.
    """

    name: str
    samples: int
    recall: float | None
    precision: float | None
    contexts: float | None
    tokens: float | None


@dataclass(frozen=True, slots=True)
class LostUnit(Plain):
    """A unit that the last stage does not support.

    Attributes:
        sample: The sample's id, else its number.
        unit: The id of the unit.
        text: The text of the unit.
        stage: The name of the last stage that supported the unit; None if no stage did.
        dropped_by: The name of the stage after ``stage``.
        context: The context that supported the unit: its id, else ``c`` and its rank.
        rank: The rank of this context in ``stage``, from 1.
    """

    sample: str
    unit: str
    text: str
    stage: str | None = None
    dropped_by: str | None = None
    context: str | None = None
    rank: int | None = None

    @property
    def cause(self) -> str:
        """``never found``, or by which stage it was dropped."""
        return NEVER_FOUND if self.dropped_by is None else f"dropped by {self.dropped_by}"

    def __str__(self) -> str:
        source = "" if self.stage is None else f"{self.context} of {self.stage} (rank {self.rank}), "
        return clean(f"{self.sample}, {self.unit}: {source}{self.cause}: {self.text}", TEXT)


@dataclass(frozen=True, slots=True)
class Stages(Plain):
    """What each stage of the retrieval held, and where units were lost.

    Attributes:
        metric: The recall that was asked for.
        accumulate: Whether each stage counts with all stages before it.
        stages: The means of each stage.
        units: The number of judged units.
        lost: The units that the last stage does not support, in the order of the rows.
        found_later: By the name of a stage, the number of units that it is the first to support. The first stage is left out.
    """

    metric: str
    accumulate: bool
    stages: tuple[StageMeans, ...]
    units: int
    lost: tuple[LostUnit, ...]
    found_later: Mapping[str, int]

    @property
    def causes(self) -> dict[str, int]:
        """The number of units that were never found, and the numbers of units that each stage dropped."""
        counts = Counter(lost_unit.cause for lost_unit in self.lost)
        order = [NEVER_FOUND, *(f"dropped by {stage.name}" for stage in self.stages)]
        return {cause: counts[cause] for cause in order if counts[cause]}

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain JSON-ready data."""
        return {**Plain.to_dict(self), "causes": self.causes}

    def build_table(self, language: str = "en") -> Table:
        """Build the table of the stages in a language."""
        columns: list[Column[StageMeans]] = [
            Column(say("stage", language), lambda stage: clean(stage.name, TEXT)),
            Column(
                say("recall", language), attrgetter("recall"), ".3f", lambda stage: Bar(stage.recall)
            ),
            Column(
                say("support precision", language),
                attrgetter("precision"),
                ".3f",
                lambda stage: Bar(stage.precision),
            ),
            Column(say("contexts", language), attrgetter("contexts"), ",.1f"),
            Column(say("tokens", language), attrgetter("tokens"), ",.1f"),
        ]
        return Table.build(columns, self.stages)

    def __str__(self) -> str:
        lines = [f"{self.metric} by stage:", *self.build_table().list_lines()]
        if self.lost:
            lines += wrap(f"of {len(self.lost)} missed of {self.units}: {_format_counts(self.causes)}")
        if self.found_later:
            lines += wrap(f"found only later: {_format_counts(self.found_later)}")
        return "\n".join(lines)


def _format_counts(counts: Mapping[str, int]) -> str:
    """Write counts in one line: ``2 never found, 1 dropped by rerank``."""
    return ", ".join(f"{number} {clean(name, TEXT)}" for name, number in counts.items())


def read_stage_sizes(row: Row) -> Mapping[str, Any]:
    """Return the sizes of the stages of a row's sample: see `ctxmetrics.samples.stages.describe_stages`.

    The result is empty if the sample has no stages.
    """
    if row.record is not None:
        return row.record.get("stage_sizes") or EMPTY
    return describe_stages(row.sample.stages) if row.sample and row.sample.stages else EMPTY


def find_staged_metric(rows: Sequence[Row], names: Iterable[str]) -> str | None:
    """Return the first metric whose units have stages in at least one row. Return None if there is no such metric."""
    rows_with_stages = [row for row in rows if read_stage_sizes(row)]
    for name in names:
        if any(read_staged_units(row, name) for row in rows_with_stages):
            return name
    return None


def read_staged_units(row: Row, metric: str) -> Sequence[Verdict]:
    """Return the verdicts of a row about units. Their details say which contexts of each stage support the unit.

    The format of the details is that of `ctxmetrics.samples.stages.with_stage_history`. Verdicts about ids are built from the
    ids of the sample. The result is empty if the sample has no stages.
    """
    base_name, _ = parse_call(metric)
    if base_name == ID_RECALL_METRIC:
        return _judge_ids(row, metric)
    return [verdict for verdict in row[metric].verdicts if "stages" in verdict.details]


def _judge_ids(row: Row, metric: str) -> Sequence[Verdict]:
    """Return a verdict about each expected id, with the stages that held it."""
    stages: dict[str, Stage] = {}
    pool: dict[str, None] = {}  # the distinct ids of all stages
    if row[metric].value is not None:
        for name, size in _read_judged_sizes(row, metric).items():
            if size["ids"] is not None:
                stages[name] = Stage(ids=tuple(size["ids"]))
                pool |= dict.fromkeys(size["ids"])
    pool_ids = list(pool)
    verdicts = []
    expected_ids = getattr(row.sample, "reference_context_ids", None) or ()
    for id_ in dict.fromkeys(filter(None, expected_ids)):
        evidence = (Evidence(pool_ids.index(id_), 0, 0, ""),) if id_ in pool else ()
        verdicts.append(Verdict(id=id_, value=bool(evidence), text=id_, evidence=evidence))
    return with_stage_history(stages, (), verdicts)


def _read_judged_sizes(row: Row, metric: str) -> dict[str, Any]:
    """Read the sizes of the stages. If the metric judges only the first k contexts, the last stage has only these."""
    size_by_stage = dict(read_stage_sizes(row))
    _, parameters = parse_call(metric)
    k = parameters.get("top_k")
    if k is None or not size_by_stage:
        return size_by_stage
    *_, last_stage = size_by_stage
    ids = size_by_stage[last_stage]["ids"]
    hashes = (build_record(row) or {}).get("context_hashes") or ()
    # The length of each of the first k contexts, by id and hash. A repeated context counts once.
    first_contexts = [*zip_longest(ids or (), hashes)][:k]
    context_lengths = (row[metric].context_lengths or ())[: len(first_contexts)]
    lengths = dict(zip_longest(first_contexts, context_lengths, fillvalue=0))
    size_by_stage[last_stage] = {
        "contexts": len(lengths),
        "characters": sum(lengths.values()),
        "ids": None if ids is None else ids[:k],
    }
    return size_by_stage


def summarize_stages(rows: Iterable[Row], metric: str, *, accumulate: bool = False) -> Stages:
    """Summarize what each stage held in the samples of a run, and list the units that were lost.

    Args:
        rows: The rows of the run.
        metric: The name of the metric whose units are followed.
        accumulate: Whether each stage counts together with all stages before it.
    """
    value_key = "so_far" if accumulate else "value"
    stages_by_name: dict[str, list[StageMeans]] = {}
    lost_units: list[LostUnit] = []
    # For each stage, by name: the number of units that this stage supports first.
    first_found_counts: Counter[str] = Counter()
    judged_count = 0
    for row in rows:
        units = read_staged_units(row, metric)
        for stage in measure_stages(row, metric, units, value_key):
            stages_by_name.setdefault(stage.name, []).append(stage)
        for unit in units:
            if not unit.weight:
                continue
            stages = unit.details["stages"]
            supporting = [index for index, stage in enumerate(stages) if stage[value_key]]
            last_value = stages[-1][value_key]
            if last_value is not None:
                judged_count += 1
            if last_value is False:
                last_supporting = supporting[-1] if supporting else None
                lost_units.append(locate_loss(row.name, unit, last_supporting))
            if supporting and supporting[0] > 0:
                first_supporting = stages[supporting[0]]
                first_found_counts[first_supporting["name"]] += 1
    return Stages(
        metric=metric,
        accumulate=accumulate,
        stages=tuple(_average_stage(name, stages) for name, stages in stages_by_name.items()),
        units=judged_count,
        lost=tuple(lost_units),
        found_later={
            name: first_found_counts[name] for name in stages_by_name if first_found_counts[name]
        },
    )


def _average_stage(name: str, stages: Sequence[StageMeans]) -> StageMeans:
    """Return the means of one stage over the samples that have it."""
    tokens = [stage.tokens for stage in stages]
    return StageMeans(
        name=name,
        samples=len(stages),
        recall=mean_known([stage.recall for stage in stages]),
        precision=mean_known([stage.precision for stage in stages]),
        contexts=mean_known([stage.contexts for stage in stages]),
        tokens=None if None in tokens else mean_known(tokens),
    )


def locate_loss(sample: str, unit: Verdict, stage_index: int | None) -> LostUnit:
    """Return where a unit was lost.

    Args:
        sample: The name of the sample.
        unit: The verdict about the unit.
        stage_index: The index of the last stage that supported the unit; None if no stage did.
    """
    if stage_index is None:
        return LostUnit(sample, unit.id, unit.text)
    stage, next_stage = unit.details["stages"][stage_index : stage_index + 2]
    id_ = None
    rank = None
    if stage["contexts"]:  # a supported unit without evidence has none
        rank, _, _, id_ = min(stage["contexts"], key=_order_contexts)
        if id_ is None:
            id_ = f"c{rank}"
    return LostUnit(sample, unit.id, unit.text, stage["name"], next_stage["name"], id_, rank)


def _order_contexts(context: Sequence[Any]) -> tuple[bool, int]:
    """Return a key that sorts the contexts of a stage. Contexts that state the whole unit come first, then the rank decides."""
    rank, _, is_whole, _ = context
    return not is_whole, rank


def measure_stages(
    row: Row, metric: str, units: Sequence[Verdict], value_key: str
) -> Iterator[StageMeans]:
    """Yield the figures of the judged stages of one sample. A sample without a value has no figures.

    Args:
        row: The row of the sample.
        metric: The name of the metric.
        units: The verdicts about the units, whose details say what each stage held.
        value_key: ``"value"``: each stage counts alone. ``"so_far"``: it counts with all stages before it.
    """
    score = row[metric]
    size_by_stage = _read_judged_sizes(row, metric)
    if score.share is None:
        return
    names = [stage["name"] for stage in units[0].details["stages"]] if units else [*size_by_stage]
    # The length of each context is not needed here. The pool of all stages has at most this number of contexts.
    most_in_pool = sum(size["contexts"] for size in size_by_stage.values())
    lengths = (0,) * most_in_pool
    for index, name in enumerate(names):
        context_count = size_by_stage[name]["contexts"]
        characters = size_by_stage[name]["characters"]
        verdicts = tuple(_judge_stage(unit, index, value_key) for unit in units)
        attribution = Attribution(verdicts, lengths)
        recall = attribution.recall() if units else score.share
        precision = None
        if value_key == "value":  # precision is of one stage alone
            used_contexts = set(chain.from_iterable(attribution.rests_on()))
            precision = len(used_contexts) / max(context_count, 1)
        # Contexts without texts have no known size.
        is_size_known = characters > 0 or context_count == 0
        tokens = characters / CHARACTERS_A_TOKEN if is_size_known else None
        yield StageMeans(name, 1, recall, precision, context_count, tokens)


def _judge_stage(unit: Verdict, stage_index: int, value_key: str) -> Verdict:
    """Return the verdict about a unit at one stage. With ``so_far``, all stages before it count too."""
    stages = unit.details["stages"]
    counted_stages = stages[: stage_index + 1] if value_key == "so_far" else [stages[stage_index]]
    evidence = []
    for stage in counted_stages:
        for _, index_in_pool, is_whole, _ in stage["contexts"]:
            # The quotes of stages are not kept.
            evidence.append(Evidence(index_in_pool, 0, 0, "", is_whole))
    return replace(unit, value=stages[stage_index][value_key], evidence=tuple(evidence))


def mean_known(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values that are not None. Return None if all values are None."""
    numbers = [value for value in values if value is not None]
    return fmean(numbers) if numbers else None
