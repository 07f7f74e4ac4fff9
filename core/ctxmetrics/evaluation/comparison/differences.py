"""The figures of one metric in two runs: the difference, its correction by people's labels, and the causes of the changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from ctxmetrics._internal.frozen import Plain
from ctxmetrics.evaluation.statistics.label_decisions import do_labels_decide
from ctxmetrics.evaluation.statistics.labelled import LabelledDifference
from ctxmetrics.evaluation.statistics.paired import MIN_CHANGED_SAMPLES, SIGNIFICANCE_LEVEL


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedDifference(LabelledDifference, Plain):
    """A difference of means, corrected by the samples that people labelled in both runs (PPI++).

    Attributes:
        people: Mean difference by people's labels alone.
        by_audit: Whether people labelled the gold, in the random part of an audit.
    """

    people: float
    by_audit: bool = False

    @property
    def names(self) -> tuple[str, str]:
        """Two phrases for a sentence: the subject that is corrected, and the reason that decides against it."""
        if self.by_audit:
            return "the gold", "the audit speaks"
        return "the judge", "the labels speak"


# The fields that earlier pickles do not have, the newest first. Pickles of public objects stay readable.
_LATER_FIELDS = ("size_error", "size_correction", "decision_interval")


def _set_values(corrected: CorrectedDifference, state: Sequence[Any]) -> None:
    """Take the values of a pickle, in the order of the fields.

    The first pickles have one interval, which is printed and decides. They, and some later pickles, do not split ``correction`` by the
    samples that changed by both the judge and people.
    """
    names = [item.name for item in fields(corrected)]
    missing_names = _LATER_FIELDS[: len(names) - len(state)]
    held_names = [name for name in names if name not in missing_names]
    values = {"size_correction": 0.0, "size_error": 0.0, **dict(zip(held_names, state, strict=True))}
    values.setdefault("decision_interval", values["interval"])
    for name, value in values.items():
        object.__setattr__(corrected, name, value)


# Set behind the class: before Python 3.11.4 `dataclass` replaces a `__setstate__` that a frozen class with slots defines.
CorrectedDifference.__setstate__ = _set_values  # type: ignore[attr-defined]  # `pickle` calls it, mypy knows no such method


@dataclass(frozen=True, slots=True)
class Causes(Plain):
    """The causes of changes between two runs: the retrieved texts, or the judge. Only samples with hashes in both runs count.

    Attributes:
        other_contexts: Changed samples for which the runs retrieved different texts, or the same texts in another order.
        same_contexts: Changed samples for which the runs retrieved the same texts: the judge changed.
        verdicts: Pairs of verdicts, one of each run, about the same unit or context on equal requests.
        different: The pairs whose verdicts differ. Their share is the judge's instability.
    """

    other_contexts: int
    same_contexts: int
    verdicts: int
    different: int

    @property
    def instability(self) -> float | None:
        """Share of verdicts that differ on equal requests; None if there is none."""
        return self.different / self.verdicts if self.verdicts else None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain JSON-ready data."""
        return {**Plain.to_dict(self), "instability": self.instability}


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference(Plain):
    """One metric in both runs, on the samples that have a value in both. Differences are second minus first.

    Attributes:
        name: The metric's name.
        samples: How many samples have a value in both runs.
        unpaired: How many samples have no value in at least one run.
        values_lost: How many samples have a value in the first run and none in the second.
        before: Mean of the first run on the samples with both values.
        after: Mean of the second run on these samples.
        difference: ``after - before``.
        interval: The 95 % interval of the difference (`ctxmetrics.evaluation.statistics.paired.paired_mean`), inside the scale. None
            below two samples or clusters, and if no sample changed.
        p: p value of "no difference", from the distribution of the interval.
        p_adjusted: The p value of `basis`, adjusted for the number of primary metrics by Holm's method; None for a secondary
            metric.
        better: Samples with a higher value in the second run.
        worse: Samples with a lower value in the second run.
        equal: Samples without a difference.
        detectable: The smallest true difference that 80 % of such comparisons show. Labels count if there are some. None as
            ``interval``, if few samples changed by the same amount, and if such comparisons do not even show a difference of the
            whole scale.
        corrected: The difference corrected by people's labels; None unless at least two samples have labels in both runs.
        scale: The metric's highest value.
        passed: How many samples reach the pass mark in the first run and in the second run; None if there is no pass mark.
        causes: Whether the contexts or the judge changed; None if no judge answered, or no hashes are known.
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
    p_adjusted: float | None
    better: int
    worse: int
    equal: int
    detectable: float | None
    corrected: CorrectedDifference | None = None
    scale: float = 1.0
    causes: Causes | None = None
    passed: tuple[int, int] | None = None

    @property
    def basis(self) -> Difference | CorrectedDifference:
        """The difference that decides the verdict: the judge's, unless the labels contradict it or show more."""
        labels = self.corrected
        if labels is not None and do_labels_decide(self.difference, self.p, labels):
            return labels
        return self

    @property
    def decides(self) -> str:
        """Who decides about the verdict: ``judge`` or ``labels``."""
        return "judge" if self.basis is self else "labels"

    @property
    def survives(self) -> bool | None:
        """Whether an audit of the gold leaves the decision as it is.

        None if there is no audit, or if the gold decides nothing: it shows no difference, or too few samples changed.
        """
        if self.corrected is None or not self.corrected.by_audit or not find_direction(self):
            return None
        if self.changed < MIN_CHANGED_SAMPLES:
            return None
        return find_direction(self.basis) == find_direction(self)

    @property
    def changed(self) -> int:
        """The number of samples with a difference."""
        return self.better + self.worse

    @property
    def has_few_changes(self) -> bool:
        """Whether too few samples changed to call a run better or worse."""
        labels = self.corrected
        if labels is not None and self.basis is labels and not labels.complete:
            return False  # the p value of labels counts the changes that it rests on
        return self.basis.changed < MIN_CHANGED_SAMPLES

    @property
    def is_shown(self) -> bool:
        """Whether the metric is primary and its adjusted p value at most 0.05."""
        return self.p_adjusted is not None and self.p_adjusted <= SIGNIFICANCE_LEVEL

    @property
    def verdict(self) -> str | None:
        """``better``, ``worse``, ``no difference shown`` or ``few changed``; None for a secondary metric.

        The adjusted p value is compared with 0.05. Few changed: fewer than ten samples have a difference.
        """
        if self.p_adjusted is None:
            return None
        if self.has_few_changes:
            return "few changed"
        if not self.is_shown:
            return "no difference shown"
        return "better" if self.basis.difference > 0 else "worse"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain JSON-ready data."""
        properties = {"verdict": self.verdict, "decides": self.decides, "survives": self.survives}
        return {**Plain.to_dict(self), **properties}


def find_direction(item: Difference | CorrectedDifference) -> int:
    """Return 1 if a difference is shown to be above 0, -1 below, 0 if none is shown."""
    if item.p > SIGNIFICANCE_LEVEL or not item.difference:
        return 0
    return 1 if item.difference > 0 else -1
