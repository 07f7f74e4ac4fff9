"""How often a comparison finds a true difference, by simulation with the test of `paired_mean`.

The result depends mainly on the size of a single change: a lost document takes the whole value of a sample, and a lost sentence
takes a part of it. So both are simulated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ctxmetrics.evaluation.statistics.intervals import (
    binomial,
    sign_p,
    student_quantile,
    upper_limit_of_share,
)
from ctxmetrics.evaluation.statistics.paired import (
    MIN_CHANGED_SAMPLES,
    ROUNDING_ERROR,
    SIGNIFICANCE_LEVEL,
    TEST_POWER,
    samples_needed,
)

_Numbers = NDArray[np.float64]

_RANDOM_SEED = 1
_SIMULATION_COUNT = 8_000
# A little more than 4 in 5, so that errors of the simulation and of the run's values do not lead below 4 in 5.
_TARGET_POWER = TEST_POWER + 0.015
# The number of steps of the scale. Sizes of changes within one step count as equal.
_SCALE_STEPS = 64
# Steps of a search that halves an interval.
_BISECTION_STEPS = 30


@dataclass(frozen=True, slots=True)
class ValueParts:
    """The parts that one sample can lose and win.

    Attributes:
        value: The value of the sample.
        to_lose: Of how many equal parts the value consists, such as supported sentences; at least 1.
        to_win: Of how many parts the rest of the scale consists; at least 1.
    """

    value: float
    to_lose: int = 1
    to_win: int = 1


@dataclass(frozen=True, slots=True)
class ChangeDistribution:
    """How the values of samples change between two runs.

    Attributes:
        sizes: The sizes of changes, each once; losses are below 0.
        shares: The share of samples with each.
    """

    sizes: _Numbers
    shares: _Numbers

    @property
    def changed(self) -> float:
        """The share of samples that change."""
        return float(self.shares.sum())

    @property
    def mean(self) -> float:
        """The true mean difference."""
        return float(self.sizes @ self.shares)

    @property
    def deviation(self) -> float:
        """The standard deviation of the differences."""
        return math.sqrt(max(float(self.sizes**2 @ self.shares) - self.mean**2, 0.0))


class ChangeModel:
    """Builds the changes that give a certain mean loss, from the parts that the samples of a run can lose and win.

    Args:
        samples: The parts that each sample can lose and win; at least one sample.
        scale: The highest value.
    """

    def __init__(self, samples: Sequence[ValueParts], scale: float) -> None:
        self._scale = scale
        self._size = len(samples)
        self._losses = [(item.value, item.to_lose) for item in samples if item.value > 0]
        self._wins = [(scale - item.value, item.to_win) for item in samples if item.value < scale]

    def find_largest_loss(self, changed: float | None = None) -> float:
        """Compute the largest mean loss: each sample that may change loses its whole value.

        Args:
            changed: The largest share of samples that may change; None: all samples may.
        """
        if not self._losses:
            return 0.0
        share = len(self._losses) / self._size
        if changed is not None:
            share = min(share, changed)
        return share * _mean_size(self._losses, 1.0)

    def build(self, loss: float, changed: float | None, *, whole: bool) -> ChangeDistribution:
        """Build the changes of a mean loss.

        Args:
            loss: The mean loss, at most `find_largest_loss`; above 0 if ``changed`` is None.
            changed: The share of samples that change, in both directions; None: no sample wins.
            whole: Whether whole samples change, or single parts of them.
        """
        if changed is not None:
            return self.change(loss, changed, whole=whole)
        return self.lose_samples(loss) if whole else self.lose_parts(loss)

    def lose_parts(self, loss: float) -> ChangeDistribution:
        """Build the changes if each part of a value is lost independently, with the same probability.

        Args:
            loss: The mean loss, above 0 and at most `find_largest_loss`.
        """
        rate = min(loss / self.find_largest_loss(), 1.0)
        sums = _ChangeSums(self._scale)
        for amount, parts in self._losses:
            for lost_parts, probability in enumerate(_binomial(parts, rate)):
                sums.add(-amount * lost_parts / parts, probability / self._size)
        return sums.build()

    def lose_samples(self, loss: float) -> ChangeDistribution:
        """Build the changes if a sample loses its whole value or nothing. It has the argument of `lose_parts`."""
        return self._build_mixed(
            loss / self.find_largest_loss() * len(self._losses) / self._size, 0.0, 1.0
        )

    def change(self, loss: float, changed: float, *, whole: bool) -> ChangeDistribution:
        """Build the changes if a given share of samples changes, and some of these win.

        Args:
            loss: The mean loss, at least 0 and at most ``find_largest_loss(changed)``.
            changed: The share of samples that change. It is smaller if fewer samples can change.
            whole: Whether a sample that changes loses or wins all parts. Otherwise it loses or wins one part, and each
                further part (such as another sentence) with the lowest probability that makes the loss possible.
        """
        further_rate = 1.0 if whole else self._find_further_rate(loss, changed)
        losing, winning = self._find_shares(loss, changed, further_rate)
        # Rounding may leave a share just below 0.
        return self._build_mixed(losing, max(winning, 0.0), further_rate)

    def _find_further_rate(self, loss: float, changed: float) -> float:
        """Find the lowest probability of further parts that makes the loss possible."""

        def is_enough(further_rate: float) -> bool:
            _, winning = self._find_shares(loss, changed, further_rate)
            return winning >= 0

        return 0.0 if is_enough(0.0) else find_first(is_enough, 0.0, 1.0, halvings=_BISECTION_STEPS)

    def _find_shares(self, loss: float, changed: float, further_rate: float) -> tuple[float, float]:
        """Return the share of samples that lose, and the share that win.

        Two equations give both shares::

            losing + winning = changed
            losing * loss_size - winning * win_size = loss

        The share that wins is negative if the changes are too small: then even a loss of all changed samples is less than
        the loss that is asked for.

        Args:
            loss: The mean loss.
            changed: The share of samples that change.
            further_rate: The probability that a further part of such a sample changes, which makes changes larger.
        """
        loss_size = _mean_size(self._losses, further_rate)
        win_size = _mean_size(self._wins, further_rate)
        if not loss_size:
            return 0.0, 0.0
        winning = (changed * loss_size - loss) / (loss_size + win_size)
        # No more samples can win than are below the highest value ..
        winning = min(winning, len(self._wins) / self._size)
        # .. and no more can lose than are above 0.
        largest_loss = len(self._losses) / self._size * loss_size
        if loss + winning * win_size > largest_loss:
            winning = (largest_loss - loss) / (win_size or loss_size)
        losing = (loss + winning * win_size) / loss_size
        return losing, winning

    def _build_mixed(self, losing: float, winning: float, further_rate: float) -> ChangeDistribution:
        """Build a mixture of losses and wins.

        Args:
            losing: The share of samples that lose.
            winning: The share of samples that win.
            further_rate: The probability that a further part of such a sample changes.
        """
        sums = _ChangeSums(self._scale)
        for share, amounts, sign in ((losing, self._losses, -1), (winning, self._wins, 1)):
            for amount, parts in amounts:
                for further_parts, probability in enumerate(_binomial(parts - 1, further_rate)):
                    size = sign * amount * (1 + further_parts) / parts
                    sums.add(size, share * probability / len(amounts))
        return sums.build()


class _ChangeSums:
    """Collects sizes of changes with their probabilities. Sizes that are nearly equal are replaced by their mean."""

    def __init__(self, scale: float) -> None:
        self._step = scale / _SCALE_STEPS
        # By the number of a step of the scale: the sum of the sizes, weighted by their shares; and the sum of the shares.
        self._sums: dict[int, float] = {}
        self._shares: dict[int, float] = {}

    def add(self, size: float, share: float) -> None:
        """Add a size. Sizes of 0 and shares of 0 are left out."""
        if not size or not share:
            return
        # At least 1, so that a change is never counted as none.
        step = math.ceil(abs(size) / self._step)
        if size < 0:
            step = -step
        self._sums[step] = self._sums.get(step, 0.0) + size * share
        self._shares[step] = self._shares.get(step, 0.0) + share

    def build(self) -> ChangeDistribution:
        """Return the changes."""
        shares = np.array(list(self._shares.values()))
        sums = np.array(list(self._sums.values()))
        return ChangeDistribution(sums / shares, shares)


def _binomial(count: int, rate: float) -> list[float]:
    """Return the probability of each number of hits, from none to all."""
    return [binomial(hits, count, rate) for hits in range(count + 1)]


def _mean_size(amounts: Sequence[tuple[float, int]], further_rate: float) -> float:
    """Return the mean size of a change that takes one part, and each further one with a probability."""
    if not amounts:
        return 0.0
    sizes = (amount * (1 + further_rate * (parts - 1)) / parts for amount, parts in amounts)
    return math.fsum(sizes) / len(amounts)


def find_first(holds: Callable[[float], bool], low: float, high: float, *, halvings: int) -> float:
    """Find the lowest number between two from which on something holds, by halving. Return the upper number if it holds nowhere."""
    for _ in range(halvings):
        middle = (low + high) / 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high


@dataclass(frozen=True, slots=True)
class SimulatedComparisons:
    """Many comparisons with the same true changes: the figures of `paired_mean`, an item for each.

    Attributes:
        mean: The mean difference.
        low: The lower end of the interval; 0 if nothing changed.
        high: The upper end.
        shown: Whether the p value is at most 0.05.
    """

    mean: _Numbers
    low: _Numbers
    high: _Numbers
    shown: NDArray[np.bool_]


def simulate(
    changes: ChangeDistribution,
    samples: int,
    *,
    scale: float = 1.0,
    draws: int = _SIMULATION_COUNT,
    seed: int = _RANDOM_SEED,
) -> SimulatedComparisons:
    """Simulate comparisons.

    Args:
        changes: The true sizes of changes, and the share of samples with each.
        samples: How many samples a comparison has, two at least.
        scale: The largest possible difference.
        draws: How many comparisons to simulate.
        seed: The seed of the random numbers.
    """
    source = np.random.default_rng(seed)
    unchanged = max(1 - changes.changed, 0.0)
    shares = np.append(changes.shares, unchanged)
    counts = source.multinomial(samples, shares / shares.sum(), size=draws)[:, :-1]
    return compare_counts(counts, changes.sizes, samples, scale=scale)


def compare_counts(
    counts: NDArray[np.int64], sizes: _Numbers, samples: int, *, scale: float = 1.0
) -> SimulatedComparisons:
    """Compute the figures of `paired_mean` for many comparisons, from how often each has a change of each size.

    Args:
        counts: A row for each comparison, a column for each size.
        sizes: The differences that one sample may have, other than 0; losses are negative.
        samples: How many samples each comparison has.
        scale: The largest possible difference.
    """
    mean = counts @ sizes / samples
    squares = counts @ sizes**2
    error = np.sqrt(np.maximum(squares - samples * mean**2, 0.0) / (samples - 1) / samples)
    error[error < ROUNDING_ERROR] = 0.0
    half_width = student_quantile(1 - SIGNIFICANCE_LEVEL / 2, samples - 1) * error
    low = mean - half_width
    high = mean + half_width
    better = counts[:, sizes > 0].sum(axis=1)
    worse = counts[:, sizes < 0].sum(axis=1)
    changed = better + worse
    is_shown = (np.abs(mean) >= half_width) & (changed > 0)
    # As `widen_for_unseen_changes`, for all comparisons with the same counts at once.
    # The comparisons by their numbers of better and worse samples.
    rows_by_counts: dict[tuple[int, int], list[int]] = {}
    for row in np.flatnonzero(changed < MIN_CHANGED_SAMPLES).tolist():
        rows_by_counts.setdefault((int(better[row]), int(worse[row])), []).append(row)
    for (better_count, worse_count), row_list in rows_by_counts.items():
        rows = np.array(row_list)
        is_shown[rows] &= sign_p(better_count, worse_count) <= SIGNIFICANCE_LEVEL
        lowest = -scale * upper_limit_of_share(worse_count, samples, SIGNIFICANCE_LEVEL / 2)
        highest = scale * upper_limit_of_share(better_count, samples, SIGNIFICANCE_LEVEL / 2)
        # If the sign test shows a difference, the limit between the mean and 0 stays as it is.
        rows_to_lower = rows[~is_shown[rows] | (mean[rows] <= 0)]
        rows_to_raise = rows[~is_shown[rows] | (mean[rows] >= 0)]
        low[rows_to_lower] = np.minimum(low[rows_to_lower], lowest)
        high[rows_to_raise] = np.maximum(high[rows_to_raise], highest)
    low[changed == 0] = 0.0
    high[changed == 0] = 0.0
    return SimulatedComparisons(mean, low, high, is_shown)


def find_sample_count(changes: ChangeDistribution, *, scale: float = 1.0) -> int:
    """Find how many samples a comparison needs to find these changes in 4 of 5 cases. The count is exact to 1 %.

    Args:
        changes: The true changes; their mean is not 0.
        scale: The largest possible difference.
    """

    def suffices(samples: int) -> bool:
        """Tell whether so many samples find the difference often enough."""
        return float(simulate(changes, samples, scale=scale).shown.mean()) >= _TARGET_POWER

    high = samples_needed(abs(changes.mean), changes.deviation)
    while not suffices(high):
        high *= 2
    low = high // 2
    while low > 1 and suffices(low):
        high = low
        low //= 2
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        if suffices(middle):
            high = middle
        else:
            low = middle
    return high
