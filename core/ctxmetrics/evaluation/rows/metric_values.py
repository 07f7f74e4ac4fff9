"""The values of one metric over a run, stored compactly, so that a run of any length can keep them."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ctxmetrics.evaluation.rows.metric_summary import MetricSummary
from ctxmetrics.evaluation.statistics.intervals import mean_interval
from ctxmetrics.scores.score import FAILURES, Provenance, Score, count_doubts, get_deferred
from ctxmetrics.scores.wording import TEXT, clean, describe_contradiction
from ctxmetrics.verdicts import Verdict

# The ending of the name of the column that says why a value is missing.
REASON_COLUMN_ENDING = ".reason_code"
# The maximum number of remembered provenances: a server may give another model name in each reply.
_MAX_PROVENANCES = 16
_MAX_CONTRADICTIONS = 2


@dataclass(slots=True)
class MetricValues:
    """The values of one metric, one for each row.

    Attributes:
        metric: The name of the metric.
        scale: The highest score of the metric.
        values: The value of each row; NaN for a row without a value.
        codes: The reason code of each row without a value; None for a row with a value.
        causes: The number of missing verdicts by verdict code.
        words: The message of the first missing verdict or failed row, by code.
        convention: Name of the convention.
        failed: Rows that failed.
        answered: Whether some verdict is a yes or a no.
        verdicts: The number of verdicts.
        doubts: The number of doubtful verdicts by their code.
        doubtful: The number of doubtful verdicts of each row.
        contradictions: Descriptions of the first contradictions that the embedded judge found.
        answers: The number of positive (True) and of negative (False) verdicts of a judge.
        unnamed: The number of contexts that are called useful although the evidence of no unit names them.
        threshold: The pass mark.
        provenances: The provenances of the scores, each once.
        tie_ranges: For each value that depends on the order of equal scores: how much lower and how much higher it may be.
        last_summary: The summary that was computed last.
    """

    metric: str
    scale: float = 1.0
    values: array[float] = field(default_factory=lambda: array("d"))
    codes: list[str | None] = field(default_factory=list)
    causes: Counter[str] = field(default_factory=Counter)
    words: dict[str, str] = field(default_factory=dict)
    convention: str = "default"
    failed: int = 0
    answered: bool = False
    verdicts: int = 0
    doubts: Counter[str] = field(default_factory=Counter)
    doubtful: array[int] = field(default_factory=lambda: array("I"))
    contradictions: list[str] = field(default_factory=list)
    answers: Counter[bool | None] = field(default_factory=Counter)
    unnamed: int = 0
    threshold: float | None = None
    provenances: dict[Provenance, None] = field(default_factory=dict)
    tie_ranges: list[tuple[float, float]] = field(default_factory=list)
    last_summary: MetricSummary | None = None

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        """Take the values of a pickle, by the names of the fields.

        Users keep pickles of results. In earlier ones the field ``answers`` has the name "said".
        """
        _, values = state
        for name, value in values.items():
            setattr(self, "answers" if name == "said" else name, value)

    def add(self, score: Score) -> None:
        """Append a row's score."""
        tie_range = score.metadata.get("tie_range")
        self.add_value(score.value, score.reason_code, score.threshold, score.provenance, tie_range)
        if score.reason_code in ("metric_error", "retriever_error"):
            self.words.setdefault(score.reason_code, score.message or "")
        deferred = get_deferred(score)
        if deferred is None:
            self.add_verdicts(score.verdicts, score.provenance, score.sample_id)
        else:  # not of a judge: each verdict is positive or negative, and none is doubtful
            self.answered = self.answered or len(deferred) > 0
            self.verdicts += len(deferred)
            self.doubtful.append(0)

    def add_value(
        self,
        value: float | None,
        reason_code: str | None,
        threshold: float | None,
        provenance: Provenance,
        tie_range: Sequence[float] | None,
    ) -> None:
        """Append a row's value. The verdicts behind it are added by `add_verdicts`.

        Args:
            value: The value; None if there is none.
            reason_code: Why there is no value.
            threshold: The pass mark.
            provenance: The provenance of the value.
            tie_range: The lowest and the highest possible value, if the order of equal scores decides it.
        """
        if len(self.provenances) < _MAX_PROVENANCES:
            self.provenances[provenance] = None
        self.values.append(math.nan if value is None else value)
        self.codes.append(reason_code)
        self.convention = provenance.convention
        if reason_code in FAILURES:
            self.failed += 1
        if tie_range and value is not None:
            self.tie_ranges.append((value - tie_range[0], tie_range[1] - value))
        if threshold is not None:
            self.threshold = threshold

    def add_verdicts(
        self, verdicts: Sequence[Verdict], provenance: Provenance, sample_id: str | None
    ) -> None:
        """Count the verdicts of a row: the missing verdicts, the verdicts of a judge, and the doubtful verdicts."""
        values = [verdict.value for verdict in verdicts]
        missing_count = values.count(None)
        if missing_count:
            self._add_causes(verdicts)
        self.answered = self.answered or missing_count < len(values)
        self.verdicts += len(values)
        if provenance.judge:
            positive_count = values.count(True)
            self.answers[True] += positive_count
            self.answers[False] += len(values) - missing_count - positive_count
            self.unnamed += len([verdict for verdict in verdicts if "unnamed" in verdict.details])
        doubts = count_doubts(verdicts)
        if doubts:
            self.doubts.update(doubts)
        self.doubtful.append(sum(doubts.values()))
        if "uncertain" in doubts and len(self.contradictions) < _MAX_CONTRADICTIONS:
            self._add_contradictions(verdicts, sample_id)

    def _add_causes(self, verdicts: Sequence[Verdict]) -> None:
        """Count why verdicts are missing."""
        for verdict in verdicts:
            if verdict.value is None:
                code = verdict.code or "not judged"
                self.causes[code] += 1
                self.words.setdefault(code, verdict.reason or "")

    def _add_contradictions(self, verdicts: Sequence[Verdict], sample_id: str | None) -> None:
        """Add a sentence for each verdict of a sample that its evidence contradicts."""
        name = clean(sample_id or f"row {len(self.values)}", TEXT)
        for verdict in verdicts:
            text = describe_contradiction(verdict)
            if text:
                self.contradictions.append(f"{text} ({name}, {verdict.id})")

    def score(self, index: int, sample_id: str | None) -> Score:
        """Rebuild the score of a row from the data that is kept: value and reason code."""
        value = self.values[index]
        return Score(
            metric=self.metric,
            value=None if math.isnan(value) else value,
            reason_code=self.codes[index],
            threshold=self.threshold,
            provenance=Provenance(convention=self.convention),
            sample_id=sample_id,
        )

    def summary(self, samples: Sequence[int]) -> MetricSummary:
        """Summarize the values of all rows.

        Args:
            samples: The number of the sample of each row. Rows of one sample have the same number: they count once in the
                interval, with the mean of their values.
        """
        if self.last_summary is not None and self.last_summary.samples == len(self.values):
            return self.last_summary
        numbers = array("d", (value for value in self.values if not math.isnan(value)))
        distinct_count = len(set(samples))
        values: Sequence[float] = numbers
        times = None
        if distinct_count < len(samples):
            groups = self._group_values(samples)
            values = [math.fsum(group) / len(group) for group in groups]
            times = [len(group) for group in groups]
        passed_count = None
        if self.threshold is not None:
            passed_count = len([value for value in numbers if value >= self.threshold])
        missing_by_code: Counter[str] = Counter()
        for value, code in zip(self.values, self.codes, strict=True):
            if code and math.isnan(value):
                missing_by_code[code] += 1
        self.last_summary = MetricSummary(
            metric=self.metric,
            samples=len(self.values),
            scored=len(numbers),
            mean=math.fsum(numbers) / len(numbers) if numbers else None,
            interval=mean_interval(values, scale=self.scale, times=times),
            distinct=distinct_count,
            judged=any(item.judge for item in self.provenances),
            missing=dict(missing_by_code),
            causes=dict(self.causes),
            verdicts=self.verdicts,
            doubtful=dict(self.doubts),
            contradictions=tuple(self.contradictions[:_MAX_CONTRADICTIONS]),
            answers=(self.answers[True], self.answers[False]),
            unnamed=self.unnamed,
            passed=passed_count,
            threshold=self.threshold,
            convention=self.convention,
            tied=len(self.tie_ranges),
            tie_range=self._tie_range(numbers),
        )
        return self.last_summary

    def _tie_range(self, values: Sequence[float]) -> tuple[float, float] | None:
        """Return the lowest and the highest possible mean. They differ if the order of equal scores decides values.

        Return None if no value depends on the order of equal scores.
        """
        if not self.tie_ranges:
            return None
        total = math.fsum(values)
        margin_below = math.fsum(below for below, _ in self.tie_ranges)
        margin_above = math.fsum(above for _, above in self.tie_ranges)
        return (total - margin_below) / len(values), (total + margin_above) / len(values)

    def _group_values(self, sample_numbers: Sequence[int]) -> list[list[float]]:
        """Group by sample the values that are not NaN, in the order of the rows."""
        values_by_sample: dict[int, list[float]] = {}
        for sample_number, value in zip(sample_numbers, self.values, strict=True):
            if not math.isnan(value):
                values_by_sample.setdefault(sample_number, []).append(value)
        return list(values_by_sample.values())
