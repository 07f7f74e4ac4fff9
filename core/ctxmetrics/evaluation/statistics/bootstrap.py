"""Draws from a fixed seed: of samples, or of shares by counts; and the interval of a figure over the draws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BOOTSTRAP_DRAWS = 2_000
RANDOM_SEED = 0
# The number of draws that are in memory at a time.
_DRAWS_IN_MEMORY = 100
_INTERVAL_QUANTILES = (0.025, 0.975)


def draw_samples(times: Sequence[int], draws: int = BOOTSTRAP_DRAWS) -> Iterator[NDArray[np.int64]]:
    """Draw samples with replacement, as many as there are, from a fixed seed.

    Args:
        times: For each distinct sample how often it is there.
        draws: The number of draws; a multiple of 100.

    Yields:
        A hundred draws: one row each, with how often it has each distinct sample.

    Source: B. Efron, Annals of Statistics 7 (1979) 1.
    """
    import numpy as np

    source = np.random.default_rng(RANDOM_SEED)
    sample_count = sum(times)
    shares = np.array(times) / sample_count
    for _ in range(draws // _DRAWS_IN_MEMORY):
        yield source.multinomial(sample_count, shares, size=_DRAWS_IN_MEMORY)


def draw_shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Draw the shares of kinds from the posterior of how often each kind was counted, from a fixed seed.

    The prior is Jeffreys': a Dirichlet distribution with 0.5 added to each count, so that the share of one kind among two
    has a Beta posterior.

    Args:
        counts: How often each kind was counted.

    Returns:
        One row for each draw: the share of each kind.

    Source: L. D. Brown, T. T. Cai, A. DasGupta, Statistical Science 16 (2001) 101.
    """
    import numpy as np

    return np.random.default_rng(RANDOM_SEED).dirichlet(counts + 0.5, size=BOOTSTRAP_DRAWS)


def percentile_interval(values: Any, *, whole: bool = False) -> tuple[float, float]:
    """Return the middle 95 % of the values of all draws.

    Args:
        values: One value for each draw; NaN if it is not defined for the draw.
        whole: Whether an end must be one of the values, as for whole numbers. Else it may lie between two.

    Source: percentile interval, B. Efron and R. Tibshirani, An Introduction to the Bootstrap (1993), chapter 13.
    """
    import numpy as np

    if whole:
        ends = np.nanquantile(values, _INTERVAL_QUANTILES, method="inverted_cdf")
    else:
        ends = np.nanquantile(values, _INTERVAL_QUANTILES)
    low, high = ends.tolist()
    return low, high
