"""Shares of verdicts that are yes."""

from __future__ import annotations

from collections.abc import Sequence

from ctxmetrics.errors import ParameterError

_BOOLEAN = frozenset({bool})


def share(verdicts: Sequence[bool]) -> float | None:
    """Share of verdicts that are yes.

    ``yes / total``, in 0..1. Context recall is the share over the units of the reference, plain (unranked)
    precision the share over the retrieved contexts.

    Args:
        verdicts: One verdict per unit or context; the order does not matter.

    Returns:
        The share, or ``None`` for an empty list.

    Raises:
        ParameterError: A verdict is not true or false.

    Source:
        Context recall of Ragas (Es et al. 2024, arXiv:2309.15217) and DeepEval; context precision of RAGChecker
        (Ru et al. 2024, arXiv:2408.08067).

    >>> share([True, True, False, True])
    0.75
    >>> print(share([]))
    None
    """
    checked = checked_verdicts(verdicts, "verdicts")
    return checked.count(True) / len(checked) if checked else None


def checked_verdicts(values: Sequence[bool], name: str) -> list[bool]:
    """Check that every value is a verdict; what equals a boolean, such as 0 and 1, becomes one."""
    if _BOOLEAN.issuperset(map(type, values)):  # as nearly always
        return [*values]
    wrong = [
        index for index, value in enumerate(values) if value not in (True, False)
    ]  # a tuple: no hash is needed
    if wrong:
        raise ParameterError(f"{name}[{wrong[0]}] is {values[wrong[0]]!r}: a verdict is True or False")
    return [*map(bool, values)]


def ratio(numerator: float, denominator: int) -> float | None:
    """Return a quotient; None where it is 0/0."""
    return numerator / denominator if denominator else None
