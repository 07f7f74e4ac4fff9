"""The summary of one metric over a run: mean, interval, and what is missing or doubtful."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxmetrics._internal.frozen import fields_to_json_data
from ctxmetrics.scores.conventions import get_convention
from ctxmetrics.scores.score import NOT_FINAL

# The note that a judge gives nearly the same answer to all questions needs this minimum number of verdicts, or of contexts whose
# evidence is counted, and more than this share of equal verdicts.
_MIN_VERDICTS_FOR_NOTE = 60
_MIN_CONTEXTS_FOR_NOTE = 20
_MAX_EQUAL_SHARE = 0.95
# The figures as plain data: the figures before `alike`, and the figures after it.
_FIGURES = (
    "metric", "samples", "distinct", "scored", "mean", "partial", "interval", "not_judged", "undefined", "missing",
    "causes", "verdicts", "doubtful", "doubtful_share",
)  # fmt: skip
_PASS_FIGURES = ("threshold", "passed", "pass_rate", "tie_range")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSummary:
    """One metric over all samples.

    Attributes:
        metric: The name of the metric.
        samples: The number of rows of the run.
        scored: The number of rows with a value.
        mean: Mean of the values, or None if there is none. Rows without a value do not count: see
            ``missing``.
        interval: 95 % interval of the mean, samples as units, or None below two values.
        missing: Why rows have no value, by reason code.
        causes: Why verdicts are missing, by verdict code.
        verdicts: The number of verdicts, missing verdicts included.
        doubtful: How many verdicts are weak, unverified, contradicted, uncertain or near the bar, by verdict code.
        passed: How many reach the pass mark, or None if there is none.
        threshold: The pass mark, or None.
        convention: Name of the convention.
        contradictions: The first ones that the embedded judge found against a yes, in words.
        answers: How many verdicts of a judge are a yes, and how many a no; zeros without a judge.
        unnamed: How many contexts are called useful although no unit's evidence names them.
        distinct: The number of different samples. The interval counts each different sample once.
        judged: Whether a judge gave the verdicts.
        tied: In how many rows the order of ids with equal scores moves the value.
        tie_range: The lowest and the highest mean by that order, or None.
    """

    metric: str
    samples: int
    scored: int
    mean: float | None
    interval: tuple[float, float] | None
    missing: Mapping[str, int]
    causes: Mapping[str, int]
    verdicts: int
    doubtful: Mapping[str, int]
    passed: int | None
    threshold: float | None
    convention: str
    contradictions: Sequence[str]
    answers: tuple[int, int]
    distinct: int
    judged: bool
    unnamed: int = 0
    tied: int = 0
    tie_range: tuple[float, float] | None = None

    @property
    def scale(self) -> float:
        """The largest value: 1, or 100 under ``aegis``."""
        return get_convention(self.convention).scale

    @property
    def share(self) -> float | None:
        """The mean as a share of the scale, from 0 to 1; None if there is none."""
        return None if self.mean is None else self.mean / self.scale

    @property
    def interval_shares(self) -> tuple[float, float] | None:
        """The ends of the interval as shares of the scale; None if there is none."""
        if self.interval is None:
            return None
        low, high = self.interval
        return low / self.scale, high / self.scale

    @property
    def partial(self) -> bool:
        """Whether the mean is only of a part of the samples, because other samples could not be judged."""
        return self.mean is not None and self.not_judged > 0

    @property
    def not_judged(self) -> int:
        """Rows that failed: a verdict is missing, the metric failed, or the run was stopped."""
        return sum(number for code, number in self.missing.items() if code in NOT_FINAL)

    @property
    def undefined(self) -> int:
        """Rows without a value for a reason in the sample itself."""
        return sum(self.missing.values()) - self.not_judged

    @property
    def doubtful_share(self) -> float | None:
        """Doubtful verdicts / verdicts, or None if there is no verdict."""
        return sum(self.doubtful.values()) / self.verdicts if self.verdicts else None

    @property
    def alike(self) -> str | None:
        """``yes`` or ``no`` if more than 95 % of the verdicts are this; else None.

        At least 60 verdicts are needed. 20 are enough if no unit's evidence names most of the contexts that are called useful.
        """
        yes_count, no_count = self.answers
        verdict_count = yes_count + no_count
        most_are_unnamed = self.unnamed > yes_count / 2
        min_verdicts = _MIN_CONTEXTS_FOR_NOTE if most_are_unnamed else _MIN_VERDICTS_FOR_NOTE
        if verdict_count < min_verdicts:
            return None
        if yes_count > _MAX_EQUAL_SHARE * verdict_count:
            return "yes"
        if no_count > _MAX_EQUAL_SHARE * verdict_count:
            return "no"
        return None

    @property
    def pass_rate(self) -> float | None:
        """Passed / scored, or None if there is no pass mark or a value."""
        return self.passed / self.scored if self.passed is not None and self.scored else None

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain JSON-ready data."""
        return {
            **fields_to_json_data(self, _FIGURES),
            "answers_alike": self.alike,
            **fields_to_json_data(self, _PASS_FIGURES),
        }
