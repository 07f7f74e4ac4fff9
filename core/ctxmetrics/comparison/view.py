"""The plain data of a comparison: differences of means, units that were lost and won, samples that fell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ctxmetrics._frozen import Plain

# A difference counts as shown when its adjusted p value is not higher.
_LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Corrected(Plain):
    """A difference of means, corrected by the samples that people labelled in both runs (PPI++).

    Attributes:
        labelled: How many these are.
        people: Mean difference by people's labels alone.
        difference: The corrected difference.
        interval: Its 95 % interval.
    """

    labelled: int
    people: float
    difference: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference(Plain):
    """One metric in both runs, on the samples that have a value in both. Differences are second minus first.

    Attributes:
        name: The metric's name.
        samples: How many samples have a value in both runs.
        unpaired: How many have none in at least one.
        values_lost: How many have one in the first run and none in the second.
        before: Mean of the first run on these samples.
        after: Mean of the second.
        difference: ``after - before``.
        interval: Its 95 % interval (`ctxmetrics.comparison.paired.paired_mean`); None below two samples or clusters.
        p: P value of the sign-flip test.
        p_adjusted: The same, adjusted for the number of tests by Holm's method.
        better: Samples with a higher value in the second run.
        worse: Samples with a lower one.
        equal: Samples without a difference.
        detectable: The smallest true difference that a test at 5 % finds in 80 % of such comparisons.
        corrected: The difference corrected by people's labels, where two samples or more have them in both runs.
        scale: The metric's highest value.
    """

    name: str
    samples: int
    unpaired: int
    values_lost: int
    before: float
    after: float
    difference: float
    interval: tuple[float, float] | None
    p: float
    p_adjusted: float
    better: int
    worse: int
    equal: int
    detectable: float | None
    corrected: Corrected | None = None
    scale: float = 1.0

    @property
    def verdict(self) -> str:
        """``better``, ``worse`` or ``no difference shown``: the adjusted p value against 0.05."""
        if self.p_adjusted > _LEVEL:
            return "no difference shown"
        return "better" if self.difference > 0 else "worse"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain JSON-ready data."""
        return {**Plain.to_dict(self), "verdict": self.verdict}


@dataclass(frozen=True, slots=True)
class Held(Plain):
    """A context that supported a unit.

    Attributes:
        rank: Its rank in the run that supported the unit, from 1.
        quote: The words that support it.
        hash: The context's hash, where it is known.
        text: The whole context, where the run kept the texts.
        retrieved_by_both: Whether the other run retrieved it too; None where that is not known.
    """

    rank: int
    quote: str
    hash: str | None
    text: str | None
    retrieved_by_both: bool | None


@dataclass(frozen=True, slots=True)
class ChangedUnit(Plain):
    """A unit of a reference that one run supports and the other does not.

    Attributes:
        sample_id: The sample's id, or its number.
        id: The unit's id: ``s1``, ``s2`` ..
        text: The unit.
        user_input: The question.
        metrics: The metrics that count it.
        contexts: What supported it in the run that has it.
    """

    sample_id: str
    id: str
    text: str
    user_input: str | None
    metrics: tuple[str, ...]
    contexts: tuple[Held, ...]


@dataclass(frozen=True, slots=True)
class Worse(Plain):
    """A sample whose score became lower.

    Attributes:
        metric: The metric's name.
        sample_id: The sample's id, or its number.
        user_input: The question.
        before: The value in the first run.
        after: The value in the second.
    """

    metric: str
    sample_id: str
    user_input: str | None
    before: float
    after: float


@dataclass(frozen=True, slots=True, repr=False)
class Findings:
    """What a comparison of two runs on the same samples found.

    Attributes:
        samples: How many samples are in both runs.
        only_before: Names of those that only the first run has.
        only_after: Names of those that only the second run has.
        metrics: One a metric that both have.
        groups: The same by group of samples, where groups were asked for.
        lost: Units that only the first run supports.
        won: Units that only the second run supports.
        worst: Samples whose score fell most, ten a metric at most.
        notes: What a reader must know: what differs with permission, which metrics only one run has.
        clusters: How many clusters of samples there are, where clusters were asked for.
    """

    samples: int
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    metrics: tuple[Difference, ...]
    groups: Mapping[str, tuple[Difference, ...]]
    lost: tuple[ChangedUnit, ...]
    won: tuple[ChangedUnit, ...]
    worst: tuple[Worse, ...]
    notes: tuple[str, ...]
    clusters: int | None = None

    def __getitem__(self, metric: str) -> Difference:
        for item in self.metrics:
            if item.name == metric:
                return item
        raise KeyError(
            f"{metric!r}; this comparison has: {', '.join(item.name for item in self.metrics)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON-ready data."""
        return {
            "samples": self.samples,
            "only_before": list(self.only_before),
            "only_after": list(self.only_after),
            "clusters": self.clusters,
            "metrics": [item.to_dict() for item in self.metrics],
            "groups": {name: [item.to_dict() for item in items] for name, items in self.groups.items()},
            "lost": [item.to_dict() for item in self.lost],
            "won": [item.to_dict() for item in self.won],
            "worst": [item.to_dict() for item in self.worst],
            "notes": list(self.notes),
        }
