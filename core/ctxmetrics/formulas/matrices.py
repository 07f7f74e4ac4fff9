"""Formulas over an attribution, which is a matrix of units x contexts."""

from __future__ import annotations

from collections.abc import Sequence

from ctxmetrics.errors import ParameterError
from ctxmetrics.formulas.ranks import check_not_negative, check_verdicts, divide, share, take_first

_ROUNDING_TOLERANCE = 1e-12


def supported_units(matrix: Sequence[Sequence[bool]], k: int | None = None) -> tuple[bool, ...]:
    """For each unit, whether one of the first `k` contexts supports it.

    Args:
        matrix: One row per unit of the reference, one column per retrieved context in rank order; a cell says
            whether that context supports that unit. A matrix without units has no contexts either.
        k: The number of contexts from the top that count; ``None`` counts all.

    Returns:
        One verdict per unit; all false for ``k=0`` and where nothing was retrieved.

    Raises:
        ParameterError: A cell is not true or false, the rows differ in length, or `k` is not a whole number of
            at least 0.

    >>> supported_units([[True, False], [False, True], [False, False]])
    (True, True, False)
    >>> supported_units([[True, False], [False, True], [False, False]], k=1)
    (True, False, False)
    """
    return tuple(True in take_first(row, k) for row in _check_matrix(matrix))


def attribution_recall(matrix: Sequence[Sequence[bool]], k: int | None = None) -> float | None:
    """Share of the units that one of the first `k` contexts supports: context recall, and recall@k.

    ``supported units / units``, in 0..1; it never falls as `k` grows.

    Args:
        matrix: Units x contexts, as for `supported_units`.
        k: The number of contexts from the top that count; ``None`` counts all.

    Returns:
        The recall; 0.0 for ``k=0`` and where nothing was retrieved; ``None`` without units.

    Raises:
        ParameterError: As for `supported_units`.

    Source:
        Claim recall of RAGChecker (Ru et al. 2024, arXiv:2408.08067).

    >>> attribution_recall([[True, False], [False, True], [False, False], [False, True]])
    0.75
    >>> attribution_recall([[True, False], [False, True], [False, False], [False, True]], k=1)
    0.25
    """
    return share(supported_units(matrix, k))


def useful_contexts(matrix: Sequence[Sequence[bool]]) -> tuple[bool, ...]:
    """For each context, whether it supports at least one unit.

    The verdicts can go into `share` (unranked precision) or `average_precision` (ranked).

    Args:
        matrix: Units x contexts, as for `supported_units`.

    Returns:
        One verdict per context, in rank order; empty without units.

    Raises:
        ParameterError: A cell is not true or false, or the rows differ in length.

    >>> useful_contexts([[True, False, False], [True, True, False]])
    (True, True, False)
    """
    return tuple(True in column for column in zip(*_check_matrix(matrix), strict=True))


def attribution_precision(matrix: Sequence[Sequence[bool]]) -> float | None:
    """Share of the contexts that support at least one unit; the order does not matter.

    ``useful contexts / contexts``, in 0..1.

    Args:
        matrix: Units x contexts, as for `supported_units`.

    Returns:
        The precision; ``None`` without units or without contexts.

    Raises:
        ParameterError: As for `useful_contexts`.

    Source:
        Context precision of RAGChecker (Ru et al. 2024, arXiv:2408.08067).

    >>> attribution_precision([[True, False, False, False], [True, True, False, True]])
    0.75
    """
    return share(useful_contexts(matrix))


def redundant_contexts(matrix: Sequence[Sequence[bool]]) -> tuple[int, ...]:
    """Indices of the contexts that support units, but only units that an earlier context already supports.

    Read from the top, these contexts add nothing new. All of them can be dropped together, and each unit is still supported. More
    contexts at the end do not change which contexts are redundant. (If each context were checked alone, both of two equal contexts
    would be redundant, although one of them is needed.)

    Args:
        matrix: Units x contexts, as for `supported_units`.

    Returns:
        Indices from 0, in rank order.

    Raises:
        ParameterError: As for `useful_contexts`.

    >>> redundant_contexts([[True, True, False], [False, False, False]])
    (1,)
    """
    units_supported_above: set[int] = set()
    redundant: list[int] = []
    columns = zip(*_check_matrix(matrix), strict=True)
    for context, column in enumerate(columns):
        units = {unit for unit, is_supported in enumerate(column) if is_supported}
        if units and units <= units_supported_above:
            redundant.append(context)
        units_supported_above |= units
    return tuple(redundant)


def redundancy(matrix: Sequence[Sequence[bool]]) -> float | None:
    """Share of the useful contexts that add nothing new, read from the top.

    ``redundant contexts / useful contexts``. Range: from 0 to below 1, because the first useful context always adds something
    new. The value depends on the order: a context is not redundant if it supports a unit that no context above it supports.
    Contexts that support no unit do not count; they lower the precision instead.

    Args:
        matrix: Units x contexts, as for `supported_units`.

    Returns:
        The redundancy; ``None`` when no context supports any unit.

    Raises:
        ParameterError: As for `useful_contexts`.

    Source:
        Defined here; see `redundant_contexts` for the reasons.

    >>> redundancy([[True, True, False, False], [False, False, True, True]])
    0.5
    >>> redundancy([[True, False], [False, True]])
    0.0
    """
    rows = _check_matrix(matrix)
    return divide(len(redundant_contexts(rows)), useful_contexts(rows).count(True))


def unused_contexts(matrix: Sequence[Sequence[bool]]) -> tuple[int, ...]:
    """Indices of the contexts that support no unit.

    Args:
        matrix: Units x contexts, as for `supported_units`.

    Returns:
        Indices from 0, in rank order; empty without units.

    Raises:
        ParameterError: As for `useful_contexts`.

    >>> unused_contexts([[True, False, False], [True, True, False]])
    (2,)
    """
    are_useful = useful_contexts(matrix)
    return tuple(context for context, is_useful in enumerate(are_useful) if not is_useful)


def smallest_k(recalls: Sequence[float], keep: float) -> int | None:
    """The smallest k whose recall is at least a share of the recall with all contexts.

    ``min(k : recall@k >= keep * recall@n)``. If the contexts below rank k are dropped, at least this share of the recall is kept.

    Args:
        recalls: recall@1, recall@2 .. recall@n: of one sample, or means over samples.
        keep: The share, above 0, up to 1.

    Returns:
        k, from 1; ``None`` where nothing is retrieved, or the recall is 0.

    Raises:
        ParameterError: `keep` is no such share, or a recall is no finite number of at least 0.

    Source:
        Defined here.

    >>> smallest_k([0.4, 0.7, 0.78, 0.8], 0.95)
    3
    >>> print(smallest_k([0.0, 0.0], 0.95))
    None
    """
    if isinstance(keep, bool) or not isinstance(keep, (int, float)) or not 0 < keep <= 1:
        raise ParameterError(
            f"smallest_k: keep={keep!r} must be a share above 0, up to 1, such as 0.95."
        )
    values = [check_not_negative(recall, f"recall@{k}") for k, recall in enumerate(recalls, start=1)]
    if not values or not values[-1]:
        return None
    # The recalls may be sums of floating-point numbers, which are rounded.
    min_recall = keep * values[-1] - _ROUNDING_TOLERANCE
    return next(k for k, recall in enumerate(values, start=1) if recall >= min_recall)


def _check_matrix(matrix: Sequence[Sequence[bool]]) -> list[list[bool]]:
    """Check that every cell is a verdict, and that all rows have as many contexts as the first one."""
    rows = [check_verdicts(row, f"matrix[{unit}]") for unit, row in enumerate(matrix)]
    for unit, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ParameterError(
                f"matrix[{unit}] has another number of contexts than matrix[0], {len(row)} and not {len(rows[0])}: "
                "write one verdict per context for every unit"
            )
    return rows
