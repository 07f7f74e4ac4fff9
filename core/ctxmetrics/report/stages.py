"""Where a run lost what it needed: the stages of the retrieval over all samples, and each unit that was lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from ctxmetrics._frozen import FrozenDict, Plain
from ctxmetrics._wording import TEXT, clean
from ctxmetrics.attribution import Attribution
from ctxmetrics.report.rows import record_of
from ctxmetrics.report.view import Row, aligned, folded
from ctxmetrics.verdicts import Evidence, Verdict

IDS = "id_based_context_recall"
"""The metric whose stages are read from the ids of the sample."""
NOTHING = "never found"
# Characters for one token, where tokens are not counted.
_CHARACTERS = 4


@dataclass(frozen=True, slots=True)
class StageMeans(Plain):
    """One stage over the samples that have it.

    Attributes:
        name: Its name.
        samples: How many samples with a value have it.
        recall: Mean recall of its contexts, from 0 to 1; no later stage that only selects can have more. None where a
            unit of each sample was not judged.
        precision: Mean share of its contexts on which a supported unit rests; None without a context, and with ``accumulate``.
        contexts: Mean number of distinct contexts.
        tokens: Mean size, characters / 4; None of ids alone.
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
        rows: list[Sequence[str]] = [("stage", "recall", "precision", "contexts", "tokens")]
        for stage in self.stages:
            numbers = (stage.recall, stage.precision)
            sizes = (stage.contexts, stage.tokens)
            rows.append(
                (
                    clean(stage.name, TEXT),
                    *("-" if value is None else f"{value:.3f}" for value in numbers),
                    *("-" if value is None else f"{value:,.1f}" for value in sizes),
                )
            )
        told = (
            [f"of {len(self.lost)} missed of {self.units}: {_counts(self.causes)}"] if self.lost else []
        )
        told += [f"found only later: {_counts(self.found_later)}"] if self.found_later else []
        return "\n".join(
            [
                f"{self.metric} by stage:",
                *aligned(rows),
                *(line for text in told for line in folded(text)),
            ]
        )


def _counts(found: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {clean(name, TEXT)}" for name, number in found.items())


@dataclass(frozen=True, slots=True)
class StagedUnit:
    """One unit of a sample, and what each stage held of it, in order.

    Attributes:
        verdict: The verdict about the last stage.
        stages: For each stage ``name``, ``value`` and ``contexts``, as `ctxmetrics.stages.recorded` writes them.
    """

    verdict: Verdict
    stages: Sequence[Mapping[str, Any]]

    def accumulated(self) -> StagedUnit:
        """Return the same where each stage counts with all before it.

        A unit is supported where a stage so far supports it or, where parts of it stand in several stages, where all
        contexts with a part of it have come, and the judge said yes about all together.
        """
        every = {number for stage in self.stages for _, number, *_ in stage["contexts"]}
        found: dict[int, Any] = {}
        values: list[bool | None] = []
        told = []
        for stage in self.stages:
            for context in stage["contexts"]:
                found.setdefault(context[1], context)
            values.append(stage["value"])
            together = (
                self.verdict.details.get("all_stages") is True and every and every == found.keys()
            )
            value = True if together or True in values else None if None in values else False
            told.append({"name": stage["name"], "value": value, "contexts": [*found.values()]})
        return StagedUnit(self.verdict, told)

    def at(self, place: int) -> Verdict:
        """Return the verdict about one stage; its evidence are the numbers of contexts in the pool, without their text."""
        stage, details = self.stages[place], self.verdict.details
        weighed = {name: details[name] for name in ("weight", "partial") if name in details}
        evidence = (Evidence(number, 0, 0, "", whole) for _, number, whole, _ in stage["contexts"])
        return Verdict(
            id=self.verdict.id,
            value=stage["value"],
            evidence=tuple(evidence),
            details=FrozenDict(weighed),
        )

    def lost(self, sample: str) -> Lost | None:
        """Return where the unit was lost; None where the last stage supports it, or it was not judged."""
        values = [stage["value"] for stage in self.stages]
        if values[-1] is not False:
            return None
        if True not in values:
            return Lost(sample, self.verdict.id, self.verdict.text)
        place = len(values) - 1 - values[::-1].index(True)
        contexts = sorted(
            self.stages[place]["contexts"], key=lambda context: (not context[2], context[0])
        )
        rank, _, _, id_ = contexts[0] if contexts else (None, None, None, None)
        named = id_ if id_ is not None or rank is None else f"c{rank}"
        stage, after = (self.stages[number]["name"] for number in (place, place + 1))
        return Lost(sample, self.verdict.id, self.verdict.text, stage, after, named, rank)


def staged_units(row: Row, metric: str) -> list[StagedUnit]:
    """Return the units of a row with what each stage held; empty where the sample has no stages."""
    if not metric.startswith(IDS):
        found = row[metric].verdicts
        return [
            StagedUnit(verdict, verdict.details["stages"])
            for verdict in found
            if "stages" in verdict.details
        ]
    record = record_of(row) or {}
    sizes = record.get("stage_sizes") or {}
    values = {verdict.id: verdict.value for verdict in row[metric].verdicts}
    units = []
    for number, id_ in enumerate(dict.fromkeys(record.get("reference_context_ids") or ())):
        stages = []
        for name, size in sizes.items():
            ids = size["ids"] or ()
            contexts = [[ids.index(id_) + 1, number, True, id_]] if id_ in ids else []
            stages.append({"name": name, "value": bool(contexts), "contexts": contexts})
        if stages:
            stages[-1]["value"] = values.get(id_, stages[-1]["value"])  # with top_k it is cut
            units.append(StagedUnit(Verdict(id=id_, value=stages[-1]["value"], text=id_), stages))
    return units


def stages_of(rows: Iterable[Row], metric: str, *, accumulate: bool = False) -> Stages:
    """Return what each stage held over the rows of a run, and where units were lost; see `Results.stages`."""
    means: dict[str, list[StageMeans]] = {}
    lost: list[Lost] = []
    later: Counter[str] = Counter()
    counted = 0
    for row in rows:
        units = staged_units(row, metric)
        if accumulate:
            units = [unit.accumulated() for unit in units]
        for stage in _means_of(row, metric, units, accumulate=accumulate):
            means.setdefault(stage.name, []).append(stage)
        counted += sum(unit.verdict.value is not None for unit in units)
        lost += [found for unit in units if (found := unit.lost(row.name))]
        firsts = [[stage["name"] for stage in unit.stages if stage["value"]][:1] for unit in units]
        later.update(name for names in firsts for name in names if name != units[0].stages[0]["name"])
    stages = tuple(
        StageMeans(
            name,
            len(found),
            *(
                _mean([getattr(one, field) for one in found])
                for field in ("recall", "precision", "contexts", "tokens")
            ),
        )
        for name, found in means.items()
    )
    found_later = {name: later[name] for name in means if later[name]}
    return Stages(metric, accumulate, stages, counted, tuple(lost), found_later)


def _means_of(
    row: Row, metric: str, units: Sequence[StagedUnit], *, accumulate: bool
) -> Iterator[StageMeans]:
    """Yield the judged stages of one sample; none where it has no value."""
    score, sizes = row[metric], (record_of(row) or {}).get("stage_sizes") or {}
    names = [stage["name"] for stage in units[0].stages] if units else [*sizes]
    numbers = {context[1] for unit in units for stage in unit.stages for context in stage["contexts"]}
    for place, name in enumerate(names if score.share is not None else ()):
        contexts, characters = sizes[name]["contexts"], sizes[name]["characters"]
        if name == names[-1] and score.context_lengths is not None:  # with top_k it is cut
            contexts = min(contexts, len(score.context_lengths))
            characters = min(characters, sum(score.context_lengths))
        held = Attribution(
            tuple(unit.at(place) for unit in units), (0,) * (1 + max(numbers, default=0))
        )
        used = {number for rests in held.rests_on() for number in rests}
        precision = len(used) / contexts if contexts and units and not accumulate else None
        tokens = characters / _CHARACTERS if characters or not contexts else None
        yield StageMeans(name, 1, held.recall() if units else score.share, precision, contexts, tokens)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
