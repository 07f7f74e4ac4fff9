"""The stages of the retrieval over all samples, and each unit that was lost at one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from statistics import fmean
from typing import Any

from ctxmetrics._internal.frozen import EMPTY, Plain
from ctxmetrics.attribution import Attribution
from ctxmetrics.metrics import parsed
from ctxmetrics.presentation.wording import TEXT, clean
from ctxmetrics.results.rows_file import record_of
from ctxmetrics.results.summary import Row, aligned, folded
from ctxmetrics.stages import Stage, recorded, sizes_of
from ctxmetrics.verdicts import CHARACTERS_A_TOKEN, Evidence, Verdict

IDS = "id_based_context_recall"
"""The metric whose stages are read from the ids of the sample."""
NOTHING = "never found"


@dataclass(frozen=True, slots=True)
class StageMeans(Plain):
    """One stage over the samples that have it.

    Attributes:
        name: Its name.
        samples: How many samples with a value have this stage.
        recall: Mean recall of its contexts, from 0 to 1; no later stage that only selects can have more. None where a
            unit of each sample was not judged.
        precision: Mean share of its contexts on which a supported unit rests, 0 without a context; None with ``accumulate``.
        contexts: Mean number of distinct contexts.
        tokens: Mean size, characters / 4; None where some sample has ids alone.
    """

    name: str
    samples: int
    recall: float | None
    precision: float | None
    contexts: float | None
    tokens: float | None


@dataclass(frozen=True, slots=True)
class Lost(Plain):
    """A unit that the last stage does not support.

    Attributes:
        sample: The sample's id, else its number.
        unit: The id of the unit.
        text: Its text.
        stage: The last stage that held it; None where no stage did.
        dropped_by: The stage after that one.
        context: The context that held it: its id, else ``c`` and its rank.
        rank: The rank of that context in the stage, from 1.
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
        return NOTHING if self.dropped_by is None else f"dropped by {self.dropped_by}"

    def __str__(self) -> str:
        held = "" if self.stage is None else f"{self.context} of {self.stage} (rank {self.rank}), "
        return clean(f"{self.sample}, {self.unit}: {held}{self.cause}: {self.text}", TEXT)


@dataclass(frozen=True, slots=True)
class Stages(Plain):
    """What each stage of the retrieval held, and where units were lost.

    Attributes:
        metric: The recall that was asked for.
        accumulate: Whether each stage counts with all stages before it.
        stages: The means of each stage.
        units: How many units were judged in all.
        lost: Those that the last stage does not support, in the order of the rows.
        found_later: By stage, how many units it is the first to support, the first stage not counted.
    """

    metric: str
    accumulate: bool
    stages: tuple[StageMeans, ...]
    units: int
    lost: tuple[Lost, ...]
    found_later: Mapping[str, int]

    @property
    def causes(self) -> dict[str, int]:
        """How many units were never found, and how many each stage dropped."""
        found = Counter(lost.cause for lost in self.lost)
        order = [NOTHING, *(f"dropped by {stage.name}" for stage in self.stages)]
        return {cause: found[cause] for cause in order if found[cause]}

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain JSON-ready data."""
        return {**Plain.to_dict(self), "causes": self.causes}

    def __str__(self) -> str:
        rows = [
            (
                clean(stage.name, TEXT),
                *("-" if mean is None else f"{mean:.3f}" for mean in (stage.recall, stage.precision)),
                *("-" if mean is None else f"{mean:,.1f}" for mean in (stage.contexts, stage.tokens)),
            )
            for stage in self.stages
        ]
        told = (
            f"of {len(self.lost)} missed of {self.units}: {_counts(self.causes)}" if self.lost else "",
            f"found only later: {_counts(self.found_later)}" if self.found_later else "",
        )
        return "\n".join(
            [
                f"{self.metric} by stage:",
                *aligned([("stage", "recall", "precision", "contexts", "tokens"), *rows]),
                *(line for text in filter(None, told) for line in folded(text)),
            ]
        )


def _counts(found: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {clean(name, TEXT)}" for name, number in found.items())


def sizes_in(row: Row) -> Mapping[str, Any]:
    """Return what is known of each stage of a row's sample, as `ctxmetrics.stages.sizes_of` gives it; empty without stages."""
    if row.record is not None:
        return row.record.get("stage_sizes") or EMPTY
    return sizes_of(row.sample.stages) if row.sample and row.sample.stages else EMPTY


def staged_metric(rows: Sequence[Row], names: Iterable[str]) -> str | None:
    """Return the first metric whose units have stages in some row; None where there is none."""
    return next(
        (name for name in names if any(staged_units(row, name) for row in rows if sizes_in(row))),
        None,
    )


def staged_units(row: Row, metric: str) -> Sequence[Verdict]:
    """Return the verdicts of a row about units, whose details say what each stage held; empty without stages.

    `ctxmetrics.stages.recorded` says how. Those about ids are made of the ids of the sample.
    """
    if not metric.startswith(IDS):
        return [verdict for verdict in row[metric].verdicts if "stages" in verdict.details]
    stages = {
        name: Stage(ids=tuple(size["ids"]))
        for name, size in _judged_sizes(row, metric).items()
        if size["ids"] is not None and row[metric].value is not None
    }
    pool = [*dict.fromkeys(id_ for stage in stages.values() for id_ in stage.ids or ())]
    verdicts = []
    for id_ in dict.fromkeys(getattr(row.sample, "reference_context_ids", None) or ()):
        evidence = (Evidence(pool.index(id_), 0, 0, ""),) if id_ in pool else ()
        verdicts.append(Verdict(id=id_, value=bool(evidence), text=id_, evidence=evidence))
    return recorded(stages, (), verdicts)


def _judged_sizes(row: Row, metric: str) -> dict[str, Any]:
    """Return what is known of each stage, as `sizes_in`; of the last one of the first k contexts, where the metric cuts it."""
    sizes, k = dict(sizes_in(row)), parsed(metric)[1].get("top_k")
    for name in [*sizes][-1:] if k is not None else ():
        ids, hashes = sizes[name]["ids"], (record_of(row) or {}).get("context_hashes") or ()
        first = [*zip_longest(ids or (), hashes)][:k]
        held = dict(zip_longest(first, row[metric].context_lengths or (), fillvalue=0))
        sizes[name] = {
            "contexts": len(held), "characters": sum(held.values()), "ids": ids and ids[:k],
        }  # fmt: skip
    return sizes


def stages_of(rows: Iterable[Row], metric: str, *, accumulate: bool = False) -> Stages:
    """Return what each stage held over the rows of a run, and where units were lost; see `Results.stages`."""
    value = "so_far" if accumulate else "value"
    means: dict[str, list[StageMeans]] = {}
    lost: list[Lost] = []
    later: Counter[str] = Counter()
    counted = 0
    for row in rows:
        units = staged_units(row, metric)
        for stage in _means_of(row, metric, units, value):
            means.setdefault(stage.name, []).append(stage)
        for unit in filter(lambda unit: unit.weight, units):
            stages = unit.details["stages"]
            held = [place for place, stage in enumerate(stages) if stage[value]]
            counted += stages[-1][value] is not None
            if stages[-1][value] is False:
                lost.append(lost_after(row.name, unit, held[-1] if held else None))
            if held and held[0]:
                later[stages[held[0]]["name"]] += 1
    totals = tuple(
        StageMeans(
            name,
            len(found),
            mean_of([stage.recall for stage in found]),
            mean_of([stage.precision for stage in found]),
            mean_of([stage.contexts for stage in found]),
            None if None in (tokens := [stage.tokens for stage in found]) else mean_of(tokens),
        )
        for name, found in means.items()
    )
    return Stages(
        metric=metric,
        accumulate=accumulate,
        stages=totals,
        units=counted,
        lost=tuple(lost),
        found_later={name: later[name] for name in means if later[name]},
    )


def lost_after(sample: str, unit: Verdict, place: int | None) -> Lost:
    """Return where a unit was lost that a stage at this place was the last to hold; None: no stage held it."""
    if place is None:
        return Lost(sample, unit.id, unit.text)
    stage, after = unit.details["stages"][place : place + 2]
    # A context that states the whole unit comes first; a yes without evidence names no context.
    rank, *_, id_ = min(
        stage["contexts"],
        key=lambda context: (not context[2], context[0]),
        default=(None, None),
    )
    named = f"c{rank}" if id_ is None and rank is not None else id_
    return Lost(sample, unit.id, unit.text, stage["name"], after["name"], named, rank)


def _means_of(row: Row, metric: str, units: Sequence[Verdict], value: str) -> Iterator[StageMeans]:
    """Yield the judged stages of one sample; none where it has no value."""
    score, sizes = row[metric], _judged_sizes(row, metric)
    records = [unit.details["stages"] for unit in units]
    names = [stage["name"] for stage in records[0]] if records else [*sizes]
    for place, name in enumerate(names if score.share is not None else ()):
        contexts, characters = sizes[name]["contexts"], sizes[name]["characters"]
        verdicts = []
        for unit, stages in zip(units, records, strict=True):
            counting = stages[: place + 1] if value == "so_far" else [stages[place]]
            spans = [
                Evidence(each[1], 0, 0, "", each[2]) for stage in counting for each in stage["contexts"]
            ]
            verdicts.append(replace(unit, value=stages[place][value], evidence=tuple(spans)))
        # The pool has at most as many contexts as all stages together; their texts are not needed here.
        held = Attribution(tuple(verdicts), (0,) * sum(size["contexts"] for size in sizes.values()))
        used = {number for rests in held.rests_on() for number in rests}
        precision = len(used) / max(contexts, 1) if value == "value" else None
        tokens = characters / CHARACTERS_A_TOKEN if characters or not contexts else None
        yield StageMeans(name, 1, held.recall() if units else score.share, precision, contexts, tokens)


def mean_of(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values that are known; None without one."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
