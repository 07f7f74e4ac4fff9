"""String similarity between retrieved and reference contexts, over rapidfuzz.

The definition is Ragas': ``1 - rapidfuzz.<Measure>.normalized_distance(retrieved, reference)``, in 0..1, on the
texts as they are (no normalising of case, white space or Unicode). Two empty texts are equal, hence 1.0.

One `BestMatches` serves recall (the best retrieved context for each reference) and precision (the best reference for
each retrieved context). With a cutoff, rapidfuzz may stop comparing two texts as soon as they cannot reach it, which
is where most of the time goes; what reaches the cutoff is the same double as without one.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ctxmetrics._runtime.memo import Memo
from ctxmetrics.errors import ParameterError
from ctxmetrics.judges.nli.scores import PredictionError, read_scores

if TYPE_CHECKING:
    from collections.abc import Sequence

# A named measure of rapidfuzz; or a function of (retrieved, reference) that returns a similarity in 0..1; or a function of
# one list of such pairs that returns as many.
Measure: TypeAlias = (
    Literal["levenshtein", "hamming", "jaro", "jaro_winkler"]
    | Callable[[str, str], float]
    | Callable[[list[tuple[str, str]]], Any]
)

# Name -> the module of rapidfuzz.distance.
MEASURES = {
    "levenshtein": "Levenshtein",
    "hamming": "Hamming",
    "jaro": "Jaro",
    "jaro_winkler": "JaroWinkler",
}

# rapidfuzz's own test against a cutoff is off by some 1e-8, which loses pairs that lie on it. So it is given a
# cutoff this much lower, and the similarity it returns is compared here.
_MARGIN = 1e-6


@dataclass(frozen=True, slots=True)
class Match:
    """The most similar text of the other side.

    Attributes:
        index: Its position in the list that was given; the first one where several are equally similar.
        similarity: How similar it is, in 0..1.
    """

    index: int
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BestMatches:
    """What each context of one side is most similar to.

    Attributes:
        for_references: For each reference, the most similar retrieved context, or ``None`` when none reaches the
            cutoff. What recall counts.
        for_retrieved: For each retrieved context, the most similar reference, or ``None`` when none reaches the
            cutoff. What precision ranks.
    """

    for_references: tuple[Match | None, ...]
    for_retrieved: tuple[Match | None, ...]


# The best matches of the last samples: a sample's second metric finds what the first one computed, also when a
# framework runs metric by metric over many samples. No text is kept.
_MEMORY: Memo[BestMatches] = Memo(1_024, keep=lambda _: True)


def best_matches(
    retrieved: Sequence[str],
    references: Sequence[str],
    measure: Measure = "levenshtein",
    cutoff: float = 0.0,
) -> BestMatches:
    """Find the best matches of both sides, in memory where they were asked for before.

    A callable that cannot be hashed is asked every time.

    Args:
        retrieved: The retrieved contexts, in rank order.
        references: The reference contexts.
        measure: ``"levenshtein"``, ``"hamming"``, ``"jaro"``, ``"jaro_winkler"``; or a function of (retrieved,
            reference) that returns a similarity in 0..1; or one that needs a single argument: it gets all pairs at once,
            as a list, and returns a list, array or tensor of similarities in their order (``CrossEncoder.predict``).
        cutoff: The smallest similarity of interest, 0 to 1. Larger is faster: at 0.8, unrelated texts cost a sixth
            (500 characters) to a tenth (2,000) of a full comparison.

    Returns:
        The matches. Without contexts on one side, the other side has none.

    Raises:
        ParameterError: A callable returned something else than a number in 0..1.

    Source:
        ``NonLLMStringSimilarity`` of Ragas 0.4.3.

    >>> found = best_matches(["The tower is in Paris.", "Berlin"], ["The tower is in Paris!"], cutoff=0.5)
    >>> found.for_references, found.for_retrieved[1]
    ((Match(index=0, similarity=0.9545454545454546),), None)
    """
    texts = hashlib.sha256(repr((tuple(retrieved), tuple(references))).encode()).digest()
    key = (texts, measure, cutoff)
    found = _MEMORY.peek(key) if isinstance(measure, Hashable) else None
    if found is None:
        rows = similarities(retrieved, references, measure, cutoff)
        # Without rows there are no columns to read.
        columns = list(zip(*rows, strict=True)) or [()] * len(references)
        found = BestMatches(for_references=tuple(map(_best, columns)), for_retrieved=tuple(map(_best, rows)))
        if isinstance(measure, Hashable):
            _MEMORY.remember(key, found)
    return found


def similarities(
    retrieved: Sequence[str], references: Sequence[str], measure: Measure, cutoff: float
) -> list[tuple[float | None, ...]]:
    """Compare every retrieved context with every reference, each pair of distinct texts once.

    Args:
        retrieved: As for `best_matches`, like the others.
        references: The columns.
        measure: The measure.
        cutoff: The cutoff.

    Returns:
        One row a retrieved context, one column a reference; None below the cutoff.
    """
    rows, columns = list(dict.fromkeys(retrieved)), list(dict.fromkeys(references))
    values = (
        _asked(measure, rows, columns)
        if callable(measure)
        else _compared(rows, columns, MEASURES[measure], cutoff)
    )
    known = {
        row: {column: value if value >= cutoff else None for column, value in zip(columns, line, strict=True)}
        for row, line in zip(rows, values, strict=True)
    }
    return [tuple(known[text][other] for other in references) for text in retrieved]


def clear_memory() -> None:
    """Forget every match that `best_matches` remembers."""
    _MEMORY.clear()


def _best(line: tuple[float | None, ...]) -> Match | None:
    highest = max((value for value in line if value is not None), default=None)
    return None if highest is None else Match(line.index(highest), highest)


def _compared(rows: list[str], columns: list[str], module: str, cutoff: float) -> list[list[float]]:
    if not rows or not columns:
        return [[] for _ in rows]
    import numpy as np
    from rapidfuzz import distance, process

    distances = process.cdist(
        rows,
        columns,
        scorer=getattr(distance, module).normalized_distance,
        score_cutoff=1.0 - cutoff + _MARGIN if cutoff > _MARGIN else None,
        dtype=np.float64,  # the default, float32, moves verdicts near the threshold
    )
    found: list[list[float]] = (1.0 - distances).tolist()
    return found


def _asked(measure: Callable[..., Any], rows: list[str], columns: list[str]) -> list[list[float]]:
    """Ask a function about each pair, or about all at once if it needs a single argument."""
    if not _takes_all(measure):
        return [[_checked(measure, row, column) for column in columns] for row in rows]
    pairs = [(row, column) for row in rows for column in columns]
    try:
        scores = read_scores(measure(pairs), len(pairs)) if pairs else []
    except PredictionError as error:
        raise ParameterError(f"similarity {_name(measure)}: {error}") from None
    if problem := next((score for score in scores if isinstance(score, str)), None):
        raise ParameterError(f"similarity {_name(measure)}: {problem}")
    values = iter(map(float, scores))
    return [[next(values) for _ in columns] for _ in rows]


def _takes_all(measure: Callable[..., Any]) -> bool:
    """Whether a function needs a single argument; one whose signature is not known takes a pair."""
    try:
        parameters = inspect.signature(measure).parameters.values()
    except (TypeError, ValueError):
        return False
    if any(item.kind is item.VAR_POSITIONAL for item in parameters):
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(item.kind in positional and item.default is item.empty for item in parameters) == 1


def _name(measure: Callable[..., Any]) -> str:
    return getattr(measure, "__qualname__", repr(measure))


def _checked(measure: Callable[[str, str], float], retrieved: str, reference: str) -> float:
    value = measure(retrieved, reference)
    if not isinstance(value, Real) or not 0 <= value <= 1:  # false for NaN too
        raise ParameterError(
            f"similarity {_name(measure)} returned {value!r}: it must return a number in 0..1"
        )
    return float(value)
