"""What is computed from labels: corrected means (of all samples, by system), and a bar for the embedded judge."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ctxmetrics._internal.display import visible
from ctxmetrics._internal.frozen import Plain
from ctxmetrics.agreement.figures import Agreement
from ctxmetrics.results.labels.means import corrected_mean, weighted_mean
from ctxmetrics.scores import Score
from ctxmetrics.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Correction(Plain):
    """A metric's mean, corrected by the samples that people labelled.

    Attributes:
        metric: The metric's name; ``reference_supported``: the share of references that are supported.
        samples: Samples with a score by the judge.
        labelled: Those of them that have one by people, too.
        judge_mean: Mean of the judge's scores over all of them.
        people_mean: Mean of people's scores over the labelled ones, by the weights of these where they have any.
        mean: The corrected mean; see `ctxmetrics.results.labels.means.corrected_mean`.
        interval: Its 95 % interval.
        judge_labelled: Mean of the judge's scores over the labelled ones, weighted as people's.
    """

    metric: str
    samples: int
    labelled: int
    judge_mean: float
    people_mean: float
    mean: float
    interval: tuple[float, float]
    judge_labelled: float

    @property
    def conclusion(self) -> str:
        """How wide the corrected mean's interval is, and how many more labels halve it (it falls with their square root)."""
        half = (self.interval[1] - self.interval[0]) / 2
        text = f"its corrected mean is known to +-{half:.2g}"
        more = 3 * self.labelled
        if more > self.samples - self.labelled:
            return text
        return f"{text}; labels of {more} more samples give about +-{half / 2:.2g}"


def correct_mean(
    name: str,
    rows: Iterable[tuple[float | None, float | None, float, str | None]],
    *,
    scale: float = 1.0,
    apart: bool = False,
) -> Correction | None:
    """Correct a mean by people's labels; None if they give fewer than two scores, or those of one group only.

    Args:
        name: The metric, or the label.
        rows: Of each sample the judge's score and people's, None where there is none, how many samples it stands for, and
            the cluster that it belongs to; None: it is one by itself.
        scale: The highest score.
        apart: Whether the samples without labels are those of another run, whose mean is wanted; at
            least two.
    """
    people: list[float] = []
    judge: list[float] = []
    weights: list[float] = []
    others: list[float] = []
    groups: list[str | None] = []
    other_groups: list[str | None] = []
    for value, label_value, weight, group in rows:
        if value is not None and label_value is not None:
            people.append(label_value)
            judge.append(value)
            weights.append(weight)
            groups.append(group)
        elif value is not None:
            others.append(value)
            other_groups.append(group)
    if min(len(people), len(others) if apart else 2) < 2:  # noqa: PLR2004 - a variance needs two
        return None
    clusters = None if None in groups else [*groups, *other_groups]
    if clusters and len(set(groups)) < 2:  # noqa: PLR2004 - so do clusters
        return None
    mean, interval = corrected_mean(
        people, judge, others, weights=weights, clusters=clusters, scale=scale, apart=apart
    )
    run = others if apart else [*judge, *others]
    return Correction(
        metric=name,
        samples=len(run),
        labelled=len(people),
        judge_mean=math.fsum(run) / len(run),
        people_mean=weighted_mean(weights, people),
        mean=mean,
        interval=interval,
        judge_labelled=weighted_mean(weights, judge),
    )


# --- by system ---

_LONGEST = 24


@dataclass(frozen=True, slots=True)
class SystemFigures(Plain):
    """One metric of one system.

    Attributes:
        metric: The metric's name, as in `Correction`.
        system: The system's name.
        samples: Its samples with a score by the judge.
        judge_mean: Mean of these scores; None without one.
        agreement: The judge and people on its labelled samples.
        correction: Its mean, corrected by its labelled samples; None where these are fewer than two.
    """

    metric: str
    system: str
    samples: int
    judge_mean: float | None
    agreement: Agreement
    correction: Correction | None


@dataclass(frozen=True, slots=True)
class Ranking(Plain):
    """Whether a judge ranks systems as people do: both means are those of each system's labelled samples.

    Attributes:
        metric: The metric's name.
        systems: How many systems have two labelled samples or more.
        kendall: Kendall's tau-b of the means by the judge and by people; None where all means of one are equal.
        spearman: Spearman's rank correlation of the same.
        lowest: Where the judge's mean is lowest beside people's: system, and judge less people.
        highest: Where it is highest.
    """

    metric: str
    systems: int
    kendall: float | None
    spearman: float | None
    lowest: tuple[str, float]
    highest: tuple[str, float]

    @property
    def conclusion(self) -> str:
        """What the figures say, in a sentence."""
        (low_name, low), (high_name, high) = self.lowest, self.highest
        return (
            f"{self.systems} systems ranked by the judge and by people: Kendall's tau {_format_rank(self.kendall)}, "
            f"Spearman's rho {_format_rank(self.spearman)}; the judge is off by {low:+.2f} "
            f"({visible(low_name)[:_LONGEST]}) to {high:+.2f} ({visible(high_name)[:_LONGEST]}): a difference between "
            f"systems below {high - low:.2f} may be the judge's"
        )


def _format_rank(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def rank_systems(figures: Sequence[SystemFigures]) -> Ranking | None:
    """Compare the ranks that the judge and people give to systems; None below two systems with labels."""
    corrections = {item.system: item.correction for item in figures if item.correction is not None}
    if len(corrections) < 2:  # noqa: PLR2004 - one system has no rank
        return None
    judge = [item.judge_labelled for item in corrections.values()]
    people = [item.people_mean for item in corrections.values()]
    errors = sorted(
        (item.judge_labelled - item.people_mean, name) for name, item in corrections.items()
    )
    (low, low_name), (high, high_name) = errors[0], errors[-1]
    lowest, highest = (low_name, low), (high_name, high)
    kendall = kendall_tau(judge, people)
    spearman = spearman_rho(judge, people)
    return Ranking(figures[0].metric, len(corrections), kendall, spearman, lowest, highest)


def kendall_tau(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Kendall's tau-b: 1 where both give the same order, -1 where they give the opposite one.

    Formula: ``(agreeing - opposite) / sqrt(a * b)`` over all pairs, a and b the pairs that differ in the one and in the
    other. None where all values of one are equal.

    Source: M. G. Kendall, Biometrika 33 (1945) 239.

    >>> kendall_tau([1, 2, 3, 4], [1, 2, 4, 3])
    0.6666666666666666
    """
    return _correlation(_signs(one), _signs(other))


def spearman_rho(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's rank correlation, equal values with their mean rank; None where all values of one are equal.

    Source: C. Spearman, American Journal of Psychology 15 (1904) 72.

    >>> round(spearman_rho([1, 2, 3, 4], [1, 2, 4, 3]), 9)
    0.8
    """
    return _correlation(_ranks(one), _ranks(other))


def _signs(values: Sequence[float]) -> NDArray[np.float64]:
    """Return which of two values is the higher one, for all pairs."""
    return np.asarray(np.sign(np.subtract.outer(np.asarray(values), np.asarray(values))), np.float64)


def _ranks(values: Sequence[float]) -> NDArray[np.float64]:
    """Return the ranks of values, less their mean."""
    _, places, often = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(often) - (often - 1) / 2)[places.ravel()]
    return np.asarray(ranks - ranks.mean())


def _correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float | None:
    """Return ``sum(one * other) / sqrt(sum(one**2) * sum(other**2))``; None where one is all zeros."""
    size = float((one**2).sum() * (other**2).sum()) ** 0.5
    return float((one * other).sum()) / size if size else None


# --- a bar for the embedded judge, and for judges that give probabilities ---

# Bars that are tried: of the embedded judge, and of probabilities.
_COVERAGES = np.arange(0.3, 0.951, 0.01)
_PROBABILITIES = np.arange(0.05, 0.991, 0.01)
_FOLDS, _DRAWS = 10, 1_000
_Flags = NDArray[np.bool_]
_Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bar(Plain):
    """A bar (``min_coverage`` of `LexicalJudge`, ``bar`` of judges that give probabilities) that fits people's labels.

    Attributes:
        label: The kind of label.
        labels: How many labels there are.
        bar: The bar with the highest balanced accuracy on all of them; the middle of equals.
        gain: Balanced accuracy gained over the run's own verdicts on labels left out: a tenth of the samples at a time, with
            the bar that is best on the others.
        interval: Its 95 % interval: a bootstrap over samples.
        parameter: The judge's parameter: ``min_coverage`` or ``bar``.
    """

    label: str
    labels: int
    bar: float
    gain: float
    interval: tuple[float, float]
    parameter: str = "min_coverage"

    @property
    def conclusion(self) -> str:
        """Whether the bar is to be preferred, in words."""
        low, high = self.interval
        text = f"bar {self.bar:.2f}: {self.gain:+.3f} balanced accuracy on labels left out ({low:+.3f} to {high:+.3f})"
        if low > 0:
            advice = f"{self.parameter}={self.bar:.2f}"
            return f"{text}; take {f'LexicalJudge({advice})' if self.parameter == 'min_coverage' else advice}"
        if self.gain <= 0:
            return f"{text}; it gains nothing: keep the bar"
        return f"{text}; {self.labels} labels are too few to prefer it: keep the bar"


def propose_bar(
    label: str, scores: Sequence[Score | None], people: Sequence[tuple[bool | None, ...] | None]
) -> Bar | None:
    """Propose a bar from labels: one a sentence, one for all of a reference, or one a context.

    Args:
        label: The kind of label.
        scores: The judge's scores.
        people: People's labels on each sample.

    Returns:
        The bar; None if the judge measures nothing, or labels of one kind only or of fewer than two samples are there.
    """
    positions: list[int] = []
    rows: list[tuple[float, bool, bool]] = []
    measure = "score"
    for position, (score, labels) in enumerate(zip(scores, people, strict=True)):
        if score is not None and labels is not None:
            if any("probability" in verdict.details for verdict in score.verdicts):
                measure = "probability"
            own = _rows(score.verdicts, labels, measure)
            rows += own
            positions += [position] * len(own)
    if not rows:
        return None
    _, groups = np.unique(positions, return_inverse=True)
    measured, judge, human = (np.array(column) for column in zip(*rows, strict=True))
    if human.all() or not human.any() or groups.max() < 1:
        return None
    bars = _COVERAGES if measure == "score" else _PROBABILITIES
    answers = measured[:, None] >= bars - 1e-9
    left_out = _predict_left_out(answers, human, groups)
    right = np.stack([left_out == human, judge == human], axis=1)
    (gain,) = _gains(right, human, np.ones((1, len(human))))
    bar = round(float(bars[_best(answers, human)]), 2)
    interval = _bootstrap_gain(right, human, groups)
    parameter = "min_coverage" if measure == "score" else "bar"
    return Bar(label, len(rows), bar, float(gain), interval, parameter)


def _predict_left_out(answers: _Flags, human: _Flags, groups: NDArray[np.intp]) -> _Flags:
    """Return the answers on each tenth of the samples, by the bar that is best on the others."""
    folds = groups % min(_FOLDS, groups.max() + 1)
    left_out = np.empty_like(human)
    for fold in range(folds.max() + 1):
        inside = folds == fold
        left_out[inside] = answers[inside, _best(answers[~inside], human[~inside])]
    return left_out


def _bootstrap_gain(right: _Flags, human: _Flags, groups: NDArray[np.intp]) -> tuple[float, float]:
    """Return the 95 % interval of the gain, by a bootstrap over samples."""
    size = groups.max() + 1
    draws = np.random.default_rng(0).multinomial(size, np.full(size, 1 / size), _DRAWS)
    gains = _gains(right, human, draws[:, groups].astype(np.float64))
    low, high = np.nanquantile(gains, (0.025, 0.975))
    return float(low), float(high)


def _rows(
    verdicts: Sequence[Verdict], labels: Sequence[bool | None], measure: str
) -> list[tuple[float, bool, bool]]:
    """Return what was measured, the judge's verdict and people's: of each verdict, or of the reference's lowest sentence."""
    if any(measure not in verdict.details or verdict.value is None for verdict in verdicts):
        return []
    coverages = [float(verdict.details[measure]) for verdict in verdicts]
    values = [bool(verdict.value) for verdict in verdicts]
    if verdicts and len(labels) == 1 != len(verdicts):
        coverages, values = [min(coverages)], [all(values)]
    rows = []
    for coverage, value, label in zip(coverages, values, labels, strict=False):
        if label is not None:
            rows.append((coverage, value, label))
    return rows


def _best(answers: _Flags, human: _Flags) -> int:
    """Return the place of the best bar; the middle of equals."""
    balanced = np.zeros(answers.shape[1])
    if human.any():
        balanced = balanced + answers[human].mean(axis=0)
    if not human.all():
        balanced = balanced + (~answers[~human]).mean(axis=0)
    best = np.flatnonzero(balanced >= balanced.max() - 1e-12)
    return int(best[len(best) // 2])


def _gains(right: _Flags, human: _Flags, weights: _Numbers) -> _Numbers:
    """Return the gain in balanced accuracy of the first column over the second, for each row of weights."""
    with np.errstate(invalid="ignore"):  # a draw without a yes or without a no: no number
        yes = weights[:, human] @ right[human] / weights[:, human].sum(axis=1, keepdims=True)
        no = weights[:, ~human] @ right[~human] / weights[:, ~human].sum(axis=1, keepdims=True)
    balanced = (yes + no) / 2
    return np.asarray(balanced[:, 0] - balanced[:, 1], np.float64)
