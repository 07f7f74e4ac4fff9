"""String similarity between retrieved and reference contexts, over rapidfuzz.

The definition is that of Ragas: ``1 - rapidfuzz.<Measure>.normalized_distance(retrieved, reference)``, in 0..1, on the
unchanged texts (case, white space and Unicode are not normalised). Two empty texts are equal, so their similarity is 1.0.

The same `BestMatches` is used for recall (the best retrieved context for each reference) and for precision (the best reference for
each retrieved context). With a cutoff, rapidfuzz stops comparing two texts as soon as they cannot reach it, which saves most of the
time. A similarity that reaches the cutoff is exactly the same number as without a cutoff.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

from ctxmetrics.errors import ParameterError
from ctxmetrics.judges.pair_queue import PredictionError, read_scores
from ctxmetrics.models.runtime.memo import Memo, digest_key

if TYPE_CHECKING:
    from collections.abc import Sequence

_Name = Literal["levenshtein", "hamming", "jaro", "jaro_winkler"]
# The name of a measure of rapidfuzz; or a function of (retrieved, reference) that returns a similarity in 0..1; or a function of a
# list of such pairs that returns a similarity for each.
Measure: TypeAlias = _Name | Callable[[str, str], float] | Callable[[list[tuple[str, str]]], Any]
# For each name of a measure, the module of rapidfuzz.distance.
MEASURES = {name: name.title().replace("_", "") for name in get_args(_Name)}

# rapidfuzz compares with a cutoff only to about 1e-8, and so would lose pairs exactly at the cutoff. So rapidfuzz gets a cutoff that
# is lower by this margin, and its similarity is compared with the exact cutoff here.
_CUTOFF_MARGIN = 1e-6
# The minimum number of pairs for which numpy is loaded, to compare all pairs at once. Loading numpy takes as long as 50,000
# comparisons of short texts.
_MIN_PAIRS_FOR_NUMPY = 400


class Match(NamedTuple):
    """The most similar text of the other side.

    Attributes:
        place: The index of that text in its list; the first index if several texts are equally similar.
        similarity: The similarity of the two texts, in 0..1.
    """

    place: int
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BestMatches:
    """The best match of each retrieved context and of each reference.

    Attributes:
        for_references: For each reference, the most similar retrieved context, or ``None`` when none reaches the
            cutoff. What recall counts.
        for_retrieved: For each retrieved context, the most similar reference, or ``None`` when none reaches the
            cutoff. What precision ranks.
    """

    for_references: tuple[Match | None, ...]
    for_retrieved: tuple[Match | None, ...]


# The best matches of the last samples, so that the second metric of a sample need not compute them again, also if a framework runs
# one metric after the other over many samples. No text is kept.
MEMORY: Memo[BestMatches] = Memo(1_024)


def find_best_matches(
    retrieved: Sequence[str],
    references: Sequence[str],
    measure: Measure = "levenshtein",
    cutoff: float = 0.0,
    *,
    best: bool = True,
) -> BestMatches:
    """Find the best matches of both sides. They are remembered, and not computed again for the same lists.

    A text that stands on both sides is its own best match, so it is not compared. A callable is called for every pair; if it cannot
    be hashed, nothing is remembered.

    Args:
        retrieved: The retrieved contexts, in rank order.
        references: The reference contexts.
        measure: ``"levenshtein"``, ``"hamming"``, ``"jaro"``, ``"jaro_winkler"``; or a function of (retrieved,
            reference) that returns a similarity in 0..1; or one that needs a single argument: it gets all pairs at once,
            as a list, and returns a list, array or tensor of similarities in their order (``CrossEncoder.predict``).
        cutoff: The smallest similarity of interest, 0 to 1. A higher cutoff is faster: with 0.8, unrelated texts take a sixth
            (500 characters) to a tenth (2,000) of the time of a full comparison.
        best: Whether to find the best match. If False, a text with any match above the cutoff is not compared further. This is
            faster, and enough to compute a value. Nothing is remembered then.

    Returns:
        The matches. If one side has no contexts, no context of the other side has a match.

    Raises:
        ParameterError: A callable returned something else than a number in 0..1.

    Source:
        ``NonLLMStringSimilarity`` of Ragas 0.4.3.

    >>> matches = best_matches(["The tower is in Paris.", "Berlin"], ["The tower is in Paris!"], cutoff=0.5)
    >>> matches.for_references, matches.for_retrieved[1]
    ((Match(place=0, similarity=0.9545454545454546),), None)
    """
    # If every text stands on both sides, each text is its own best match. Nothing is compared, so nothing is worth remembering.
    # A callable is asked even then.
    has_equal_sides = frozenset(retrieved) == frozenset(references)
    needs_no_comparison = has_equal_sides and not callable(measure)
    can_be_remembered = best and isinstance(measure, Hashable) and not needs_no_comparison
    if not can_be_remembered:
        return _compare(retrieved, references, measure, cutoff, best=best)
    key = (digest_key(retrieved), digest_key(references), measure, cutoff)
    matches = MEMORY.peek(key)
    if matches is None:
        matches = _compare(retrieved, references, measure, cutoff, best=best)
        MEMORY.remember(key, matches)
    return matches


def compare_texts(
    retrieved: Sequence[str], references: Sequence[str], measure: Measure, cutoff: float
) -> list[list[float]]:
    """Compare distinct texts, each pair once.

    Args:
        retrieved: The rows.
        references: The columns.
        measure: The measure.
        cutoff: Similarities below it may be returned as 0.

    Returns:
        Rows x columns.
    """
    if callable(measure):
        return _call_measure(measure, retrieved, references)
    from rapidfuzz import distance

    scorer = getattr(distance, MEASURES[measure]).normalized_distance
    largest_distance = 1.0 - cutoff + _CUTOFF_MARGIN if cutoff > _CUTOFF_MARGIN else None
    # Both ways, with and without numpy, give exactly the same numbers.
    if len(retrieved) * len(references) < _MIN_PAIRS_FOR_NUMPY and "numpy" not in sys.modules:
        return [
            [1.0 - scorer(row, column, score_cutoff=largest_distance) for column in references]
            for row in retrieved
        ]
    import numpy as np
    from rapidfuzz import process

    distances = process.cdist(
        retrieved,
        references,
        scorer=scorer,
        score_cutoff=largest_distance,
        dtype=np.float64,  # the default, float32, moves verdicts near the threshold
    )
    values: list[list[float]] = (1.0 - distances).tolist()
    return values


def _compare(
    retrieved: Sequence[str], references: Sequence[str], measure: Measure, cutoff: float, *, best: bool
) -> BestMatches:
    """Find the best matches of both sides; see `find_best_matches`. Two texts that stand on both sides are not compared."""
    # The first index of each text, by the text.
    retrieved_indexes = _find_first_indexes(retrieved)
    reference_indexes = _find_first_indexes(references)
    # A text on both sides is its own best match. Only a function of the user is called for such a text, too.
    shared_texts: list[str] = []
    if not callable(measure):
        shared_texts = [text for text in retrieved_indexes if text in reference_indexes]
    matches_of_retrieved: dict[str, Match | None] = dict.fromkeys(retrieved_indexes)
    matches_of_references: dict[str, Match | None] = dict.fromkeys(reference_indexes)
    for text in shared_texts:
        matches_of_retrieved[text] = _match_equal_text(reference_indexes[text])
        matches_of_references[text] = _match_equal_text(retrieved_indexes[text])
    unshared_retrieved = [text for text in retrieved_indexes if matches_of_retrieved[text] is None]
    unshared_references = [text for text in reference_indexes if matches_of_references[text] is None]
    has_both_sides = bool(retrieved and references)
    if has_both_sides and (unshared_retrieved or unshared_references):
        # One row for each retrieved text, one column for each reference.
        values = compare_texts(unshared_retrieved, unshared_references, measure, cutoff)
        columns = _transpose(values, len(unshared_references))

        def compare_retrieved(texts: Sequence[str], min_value: float) -> list[list[float]]:
            """Compare retrieved texts with the shared texts: one row for each retrieved text."""
            return compare_texts(texts, shared_texts, measure, min_value)

        def compare_references(texts: Sequence[str], min_value: float) -> list[list[float]]:
            """Compare references with the shared texts: one row for each reference."""
            return _transpose(compare_texts(shared_texts, texts, measure, min_value), len(texts))

        matches_of_retrieved |= _find_best(
            dict(zip(unshared_retrieved, values, strict=True)),
            [reference_indexes[text] for text in (*unshared_references, *shared_texts)],
            compare_retrieved,
            cutoff,
            searches_all=best,
        )
        matches_of_references |= _find_best(
            dict(zip(unshared_references, columns, strict=True)),
            [retrieved_indexes[text] for text in (*unshared_retrieved, *shared_texts)],
            compare_references,
            cutoff,
            searches_all=best,
        )
    return BestMatches(
        for_references=tuple([matches_of_references[text] for text in references]),
        for_retrieved=tuple([matches_of_retrieved[text] for text in retrieved]),
    )


# Most matches of equal texts are the same few.
@lru_cache(maxsize=1_024)
def _match_equal_text(index: int) -> Match:
    """Return the match with an equal text at this index."""
    return Match(index, 1.0)


def _transpose(rows: list[list[float]], column_count: int) -> list[list[float]]:
    """Return the columns of a table of rows. The number of columns is given, because there may be no row."""
    return [[row[index] for row in rows] for index in range(column_count)]


def _find_first_indexes(texts: Sequence[str]) -> dict[str, int]:
    """Find the first index of each text, in order."""
    indexes: dict[str, int] = {}
    for index, text in enumerate(texts):
        indexes.setdefault(text, index)
    return indexes


def _find_best(
    values: dict[str, list[float]],
    column_indexes: Sequence[int],
    compare: Callable[[Sequence[str], float], list[list[float]]],
    cutoff: float,
    *,
    searches_all: bool,
) -> dict[str, Match | None]:
    """Find the best match of each text that stands on one side only: the first text with the highest value.

    Texts that stand on both sides are called shared. If a text has a match among the unshared texts already, it is compared with
    the shared texts only to find a more similar one, which is faster.

    Args:
        values: For each unshared text of one side, its values with the unshared texts of the other side. The values with the
            shared texts are added.
        column_indexes: The indexes of the texts of the other side: the unshared ones, then the shared ones.
        compare: Compares some of the texts with the shared ones. A value below its second argument may be returned as 0.
        cutoff: The smallest value of a match.
        searches_all: Whether a text with a value above the cutoff is compared with the shared texts, too.
    """
    has_shared_texts = any(len(row) < len(column_indexes) for row in values.values())
    if has_shared_texts:
        highest_values = {text: max(row, default=0.0) for text, row in values.items()}
        texts_with_match = [text for text in values if highest_values[text] > cutoff]
        texts_without_match = [text for text in values if highest_values[text] <= cutoff]
        groups = [texts_with_match, texts_without_match] if searches_all else [texts_without_match]
        for group in groups:
            if not group:
                continue
            # A value that is not above the highest value of a text cannot change the text's best match.
            min_value = max(cutoff, min([highest_values[text] for text in group]))
            shared_values = compare(group, min_value)
            for text, values_of_text in zip(group, shared_values, strict=True):
                values[text] += values_of_text
    matches: dict[str, Match | None] = dict.fromkeys(values)
    for text, values_of_text in values.items():
        value = max(values_of_text)
        if value >= cutoff:
            # Without values for the shared texts there are fewer values than indexes; the unshared texts come first.
            best_indexes = [
                index
                for index, other_value in zip(column_indexes, values_of_text, strict=False)
                if other_value == value
            ]
            matches[text] = Match(min(best_indexes), value)
    return matches


def _call_measure(
    measure: Callable[..., Any], rows: Sequence[str], columns: Sequence[str]
) -> list[list[float]]:
    """Call a function once for each pair of texts, or once with all pairs if it takes a single argument."""
    if not _takes_list(measure):
        return [_call_for_row(measure, row, columns) for row in rows]
    pairs = list(product(rows, columns))
    try:
        scores = read_scores(measure(pairs), len(pairs), takes_booleans=True)
    except PredictionError as error:
        raise ParameterError(f"similarity {_name_measure(measure)}: {error}") from None
    values: list[float] = []
    for score in scores:
        if isinstance(score, str):
            raise ParameterError(f"similarity {_name_measure(measure)}: {score}")
        values.append(float(score))
    row_length = len(columns)
    return [values[row * row_length : (row + 1) * row_length] for row in range(len(rows))]


def _call_for_row(
    measure: Callable[[str, str], float], row: str, columns: Sequence[str]
) -> list[float]:
    """Call a function with one retrieved text and each reference.

    Raises:
        ParameterError: The function returns something else than a number in 0..1.
    """
    values: list[float] = []
    for column in columns:
        value = measure(row, column)
        if not isinstance(value, Real) or not 0 <= value <= 1:  # false for NaN too
            raise ParameterError(
                f"similarity {_name_measure(measure)} returned {value!r}: it must return a number in 0..1"
            )
        values.append(float(value))
    return values


def _takes_list(measure: Callable[..., Any]) -> bool:
    """Return whether a function takes one list of pairs; a function without a known signature takes two texts."""
    try:
        parameters = inspect.signature(measure).parameters.values()
    except (TypeError, ValueError):
        return False
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return False
    positional_kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required_parameters = [
        parameter
        for parameter in parameters
        if parameter.kind in positional_kinds and parameter.default is parameter.empty
    ]
    return len(required_parameters) == 1


def _name_measure(measure: Callable[..., Any]) -> str:
    """Name a function that measures similarity, for messages."""
    return getattr(measure, "__qualname__", repr(measure))
