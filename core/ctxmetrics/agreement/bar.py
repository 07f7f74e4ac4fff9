"""A bar for the embedded judge from people's labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ctxmetrics._frozen import Plain
from ctxmetrics.scores import Score

_BARS = np.arange(0.3, 0.951, 0.01)
_FOLDS, _DRAWS = 10, 1_000


@dataclass(frozen=True, slots=True)
class Bar(Plain):
    """A bar (``LexicalJudge.min_coverage``) that fits people's labels.

    Attributes:
        label: The kind of label.
        labels: How many labels there are.
        bar: The bar with the highest balanced accuracy on all of them; the middle of equals.
        gain: Balanced accuracy gained over the run's own verdicts on labels left out: a tenth of the samples at a time, with
            the bar that is best on the others.
        interval: Its 95 % interval: a bootstrap over samples.
    """

    label: str
    labels: int
    bar: float
    gain: float
    interval: tuple[float, float]

    @property
    def conclusion(self) -> str:
        """Whether the bar is to be preferred, in words."""
        low, high = self.interval
        text = f"bar {self.bar:.2f}: {self.gain:+.3f} balanced accuracy on labels left out ({low:+.3f} to {high:+.3f})"
        if low > 0:
            return f"{text}; take LexicalJudge(min_coverage={self.bar:.2f})"
        if self.gain <= 0:
            return f"{text}; it gains nothing: keep the bar"
        return f"{text}; {self.labels} labels are too few to prefer it: keep the bar"


def bar_of(
    label: str, scores: Sequence[Score], said: Sequence[tuple[bool | None, ...] | None]
) -> Bar | None:
    """Propose a bar from labels of support: one a sentence, or one for all of a reference.

    Args:
        label: The kind of label.
        scores: The judge's scores.
        said: People's labels on each sample.

    Returns:
        The bar; None where the judge is another one, or labels of one kind only or of fewer than two samples are there.
    """
    rows = [
        (place, *row)
        for place, (score, labels) in enumerate(zip(scores, said, strict=True))
        for row in _rows(score, labels or ())
    ]
    if not rows:
        return None
    _, groups = np.unique([place for place, *_ in rows], return_inverse=True)
    measured, judge, human = (np.array(column) for column in zip(*(row[1:] for row in rows), strict=True))
    if human.all() or not human.any() or groups.max() < 1:
        return None
    says = measured[:, None] >= _BARS - 1e-9
    folds = groups % min(_FOLDS, groups.max() + 1)
    left_out = np.empty_like(judge)
    for fold in range(folds.max() + 1):
        inside = folds == fold
        best = _best(says[~inside], human[~inside])
        left_out[inside] = says[inside, best]
    right = np.stack([left_out == human, judge == human], axis=1)
    drawn = np.random.default_rng(0).multinomial(
        groups.max() + 1, np.full(groups.max() + 1, 1 / (groups.max() + 1)), _DRAWS
    )
    gains = _gains(right, human, drawn[:, groups].astype(np.float64))
    low, high = np.nanquantile(gains, (0.025, 0.975))
    (gain,) = _gains(right, human, np.ones((1, len(human))))
    return Bar(
        label,
        len(rows),
        round(float(_BARS[_best(says, human)]), 2),
        float(gain),
        (float(low), float(high)),
    )


def _rows(score: Score, labels: Sequence[bool | None]) -> list[tuple[float, bool, bool]]:
    """Return what was measured, the judge's verdict and people's: of each sentence, or of the reference's weakest one."""
    verdicts = score.verdicts
    if any("smallest_k" not in verdict.details or verdict.value is None for verdict in verdicts):
        return []
    found = [(float(verdict.details["score"]), bool(verdict.value)) for verdict in verdicts]
    if found and len(labels) == 1 != len(found):
        found = [(min(score for score, _ in found), all(value for _, value in found))]
    pairs = zip(found, labels, strict=False)
    return [(*measured, said) for measured, said in pairs if said is not None]


def _best(says: NDArray[np.bool_], human: NDArray[np.bool_]) -> int:
    """Return the place of the best bar; the middle of equals."""
    sensitivity = says[human].mean(axis=0) if human.any() else np.zeros(len(_BARS))
    specificity = (~says[~human]).mean(axis=0) if not human.all() else np.zeros(len(_BARS))
    balanced = sensitivity + specificity
    best = np.flatnonzero(balanced >= balanced.max() - 1e-12)
    return int(best[len(best) // 2])


def _gains(
    right: NDArray[np.bool_], human: NDArray[np.bool_], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the gain in balanced accuracy of the first column over the second, for each row of weights."""
    with np.errstate(invalid="ignore"):  # a draw without a yes or without a no: no number
        yes = weights[:, human] @ right[human] / weights[:, human].sum(axis=1, keepdims=True)
        no = weights[:, ~human] @ right[~human] / weights[:, ~human].sum(axis=1, keepdims=True)
    balanced = (yes + no) / 2
    return np.asarray(balanced[:, 0] - balanced[:, 1], np.float64)
