"""The effect of an audit of the gold on the means of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from ctxmetrics._internal.frozen import Plain
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.rows.gold_answers import (
    GoldAnswers,
    PeopleGold,
    counts_gold,
    score_by_people,
)
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.statistics.intervals import wilson
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.catalog import find_metric
from ctxmetrics.scores.conventions import get_convention


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedMetric(Plain):
    """The mean of a metric by the gold as it is, and by the audit.

    Attributes:
        metric: The metric's name.
        samples: The number of samples with a value.
        audited: The number of samples in the random part of the audit that also have a value by people's gold.
        mean: The mean of all samples by the gold as it is.
        corrected: The mean of all samples, corrected by the values by people's gold.
        interval: The 95 % interval of ``corrected``; see `ctxmetrics.evaluation.statistics.corrected_means.audited_mean`.
        scale: The metric's highest value.
    """

    metric: str
    samples: int
    audited: int
    mean: float
    corrected: float
    interval: tuple[float, float]
    scale: float

    def __str__(self) -> str:
        digits = 3 if self.scale <= 1 else 1
        numbers = [f"{value:.{digits}f}" for value in (self.mean, self.corrected, *self.interval)]
        mean, corrected, low, high = numbers
        return f"{self.metric}: {mean} by the gold, {corrected} ({low} to {high}) by the audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAudit(Plain):
    """The means of a run, corrected by an audit of the gold.

    Attributes:
        audited: The number of audited samples: samples of the run in the random part of the audit, with an answer about each
            passage.
        wrong: The number of audited samples whose gold people changed.
        interval: The 95 % interval (Wilson) of the share of wrong gold among all questions that can be labelled.
        emptied: The number of audited samples whose gold people rejected completely. They are left out of the means.
        means: The means of the metrics that count gold passages.
    """

    audited: int
    wrong: int
    interval: tuple[float, float]
    emptied: int
    means: tuple[AuditedMetric, ...]

    def list_lines(self) -> Iterator[str]:
        """Yield the lines about the audit: the share of wrong gold, then one line for each metric."""
        low, high = self.interval
        yield (
            f"audit: the gold of {self.wrong} of {self.audited} random questions was overturned: {low:.3f} to {high:.3f} of "
            "the questions that can be labelled"
        )
        if self.emptied:
            yield f"audit: {self.emptied} of them have no gold left, and are left out of the means"
        yield from map(str, self.means)


def audit_run(rows: Sequence[Row], answers: GoldAnswers) -> RunAudit:
    """Correct the means of a run by the random part of an audit.

    Args:
        rows: The rows of the run.
        answers: The answers of people.

    Raises:
        InputFileError: The audit asks other questions under the same names.
        ParameterError: No metric has scores by people's gold for at least two samples of the random part.
    """
    golds: dict[int, PeopleGold] = {}
    for index, row in enumerate(rows):
        gold = answers.correct_row(row) if row.name in answers.random else None
        if gold is not None:
            golds[index] = gold
    means: list[AuditedMetric] = []
    names = list(rows[0]) if rows else []
    for name in names:
        convention = rows[0][name].provenance.convention
        metric = find_metric(name, convention)
        if metric is None or not counts_gold(metric):
            continue
        audited = _audit_metric(metric, rows, golds, get_convention(convention).scale)
        if audited is not None:
            means.append(audited)
    if not means:
        raise ParameterError(
            f"audit {answers.path}: no mean can be corrected. That needs a metric that counts gold passages or ids, and two "
            "questions of the random part of the audit with an answer about each passage. Results of metrics over texts need "
            "keep_texts=True (--keep-texts)."
        )
    wrong_count = sum(1 for gold in golds.values() if gold.is_changed)
    return RunAudit(
        audited=len(golds),
        wrong=wrong_count,
        interval=wilson(wrong_count / len(golds), len(golds)),
        emptied=sum(1 for gold in golds.values() if not gold.passages),
        means=tuple(means),
    )


def _audit_metric(
    metric: Metric, rows: Sequence[Row], golds: dict[int, PeopleGold], scale: float
) -> AuditedMetric | None:
    """Correct the mean of a metric. Return None if fewer than two samples have a value by people's gold."""
    # Imported here, because it loads numpy.
    from ctxmetrics.evaluation.statistics.corrected_means import MIN_AUDITED, audited_mean

    values: list[float] = []
    # The values of the audited rows: with the gold that people corrected, and with the gold of the file.
    values_by_people: list[float] = []
    values_by_gold: list[float] = []
    unaudited_values: list[float] = []
    for index, row in enumerate(rows):
        value = row[metric.name].value
        if value is None:
            continue
        values.append(value)
        if index not in golds:
            unaudited_values.append(value)
            continue
        value_by_people = score_by_people(metric, row, golds[index])
        if value_by_people is not None:
            values_by_people.append(value_by_people)
            values_by_gold.append(value)
    if len(values_by_people) < MIN_AUDITED:
        return None
    mean, interval = audited_mean(values_by_people, values_by_gold, unaudited_values, scale=scale)
    return AuditedMetric(
        metric=metric.name,
        samples=len(values),
        audited=len(values_by_people),
        mean=fmean(values),
        corrected=mean,
        interval=interval,
        scale=scale,
    )
