"""String similarity between retrieved and reference contexts, over rapidfuzz.

The definition is Ragas': ``1 - rapidfuzz.<Measure>.normalized_distance(retrieved, reference)``, in 0..1, on the
texts as they are (no normalising of case, white space or Unicode). Two empty texts are equal, hence 1.0.

One `SimilarityMatrix` serves recall (the best retrieved context for each reference) and precision (the best
reference for each retrieved context). With a cutoff, rapidfuzz may stop comparing two texts as soon as they
cannot reach it, which is where most of the time goes; what reaches the cutoff is the same double as without one.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from concurrent.futures import Future
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Literal, TypeAlias

from ctxmetrics.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

__all__ = [
    "MEASURES",
    "Match",
    "Measure",
    "SimilarityMatrix",
    "clear_shared_matrices",
    "passes",
    "shared_matrix",
    "similarity_matrix",
]

# A named measure of rapidfuzz, or a function of (retrieved, reference) that returns a similarity in 0..1.
Measure: TypeAlias = "Literal['levenshtein', 'hamming', 'jaro', 'jaro_winkler'] | Callable[[str, str], float]"

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

# Stands for "below the cutoff": no similarity is negative.
_BELOW = -1.0

# What `shared_matrix` keeps at most, so that a sample's second metric finds what the first one computed even when
# a framework runs metric by metric over many samples.
_MAX_SHARED = 1_024
_MAX_SHARED_CELLS = 500_000


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
class SimilarityMatrix:
    """The similarities of all retrieved contexts with all reference contexts.

    Each distinct text is kept once, whatever number of times it was given.

    Attributes:
        cutoff: Similarities below it are not known; 0.0 where all are.
        best_for_references: For each reference, the most similar retrieved context, or ``None`` when none
            reaches the cutoff. What recall counts.
        best_for_retrieved: For each retrieved context, the most similar reference, or ``None`` when none
            reaches the cutoff. What precision ranks.
    """

    cutoff: float
    best_for_references: tuple[Match | None, ...]
    best_for_retrieved: tuple[Match | None, ...]
    _distinct: tuple[tuple[float, ...], ...] = field(repr=False)
    _row_of: tuple[int, ...] = field(repr=False)
    _column_of: tuple[int, ...] = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of retrieved contexts and number of references."""
        return len(self._row_of), len(self._column_of)

    @property
    def cells(self) -> int:
        """Number of pairs of distinct texts that were compared."""
        return sum(map(len, self._distinct))

    def similarity(self, retrieved: int, reference: int) -> float | None:
        """Similarity of one retrieved context with one reference.

        Args:
            retrieved: Index of the retrieved context.
            reference: Index of the reference.

        Returns:
            The similarity in 0..1, or ``None`` when it is below the cutoff.

        Raises:
            IndexError: There is no such context.
        """
        value = self._distinct[self._row_of[retrieved]][self._column_of[reference]]
        return None if value == _BELOW else value

    def rows(self) -> tuple[tuple[float | None, ...], ...]:
        """All similarities: one row per retrieved context, one column per reference, ``None`` below the cutoff."""
        rows, columns = self.shape
        return tuple(tuple(self.similarity(row, column) for column in range(columns)) for row in range(rows))


def similarity_matrix(
    retrieved: Sequence[str],
    references: Sequence[str],
    measure: Measure = "levenshtein",
    cutoff: float = 0.0,
) -> SimilarityMatrix:
    """Compare every retrieved context with every reference.

    Each pair of distinct texts is compared once. Equal texts are 1.0 without a comparison for a named measure;
    a callable is always asked.

    Args:
        retrieved: The retrieved contexts, in rank order.
        references: The reference contexts.
        measure: ``"levenshtein"``, ``"hamming"``, ``"jaro"``, ``"jaro_winkler"``, or a function of (retrieved,
            reference) that returns a similarity in 0..1.
        cutoff: The smallest similarity of interest, at most 1. Larger is faster: at 0.8, unrelated texts cost a
            sixth (500 characters) to a tenth (2,000) of a full comparison. At 0 or below there is no cutoff.

    Returns:
        The matrix. Without contexts on one side, the other side has no best match.

    Raises:
        ParameterError: One of the two lists is a bare string or holds something else than strings, the measure
            is unknown, a callable returned something else than a number in 0..1, or the cutoff is not a number
            of at most 1.

    Source:
        ``NonLLMStringSimilarity`` of Ragas 0.4.3.

    >>> matrix = similarity_matrix(["The tower is in Paris.", "Berlin"], ["The tower is in Paris!"], cutoff=0.5)
    >>> matrix.best_for_references
    (Match(index=0, similarity=0.9545454545454546),)
    >>> matrix.best_for_retrieved[1], matrix.similarity(1, 0)
    (None, None)
    """
    row_texts, row_of = _distinct(_texts(retrieved, "retrieved"))
    column_texts, column_of = _distinct(_texts(references, "references"))
    lowest = _cutoff(cutoff)
    grid = _grid(row_texts, column_texts, measure, lowest)
    # The columns are also read as rows; without rows there would be none to read.
    columns = list(zip(*grid, strict=True)) or [()] * len(column_texts)
    return SimilarityMatrix(
        cutoff=lowest,
        best_for_references=_best(columns, column_of, row_of),
        best_for_retrieved=_best(grid, row_of, column_of),
        _distinct=tuple(grid),
        _row_of=row_of,
        _column_of=column_of,
    )


def passes(similarity: float | None, min_similarity: float, *, strict: bool = False) -> bool:
    """Whether a similarity is high enough.

    Args:
        similarity: The similarity, or ``None`` for one below a matrix's cutoff, which never passes.
        min_similarity: The similarity asked for.
        strict: ``True`` asks for more than `min_similarity` (Ragas' recall), ``False`` for at least as much
            (Ragas' precision, and all others).

    Returns:
        The verdict.

    >>> passes(0.5, 0.5), passes(0.5, 0.5, strict=True)
    (True, False)
    """
    if similarity is None:
        return False
    return similarity > min_similarity if strict else similarity >= min_similarity


def shared_matrix(
    retrieved: Sequence[str],
    references: Sequence[str],
    measure: Measure = "levenshtein",
    cutoff: float = 0.0,
) -> SimilarityMatrix:
    """Return what `similarity_matrix` returns, from memory where it was asked before.

    Recall and precision on one sample thus compare its texts once, in whatever order a framework runs them, and
    from whatever threads: who comes second waits for the first. The memory is bounded, keeps no text (it is
    keyed by their SHA-256) and forgets the least recently used first. A callable that cannot be hashed is asked
    every time.

    Args:
        retrieved: As for `similarity_matrix`.
        references: As for `similarity_matrix`.
        measure: As for `similarity_matrix`.
        cutoff: As for `similarity_matrix`.

    Returns:
        The matrix.

    Raises:
        ParameterError: As for `similarity_matrix`.
    """
    if not _is_hashable(measure):
        return similarity_matrix(retrieved, references, measure, cutoff)
    key = (
        _fingerprint(_texts(retrieved, "retrieved")),
        _fingerprint(_texts(references, "references")),
        measure,
        _cutoff(cutoff),
    )
    return _shared.get(key, lambda: similarity_matrix(retrieved, references, measure, cutoff))


def clear_shared_matrices() -> None:
    """Forget every matrix that `shared_matrix` remembers."""
    _shared.clear()


# --- computing ------------------------------------------------------------------------------------------------


def _grid(rows: list[str], columns: list[str], measure: Measure, cutoff: float) -> list[tuple[float, ...]]:
    """Compare distinct texts with distinct texts; what is below the cutoff is `_BELOW`."""
    if callable(measure):
        found = [[_asked(measure, row, column) for column in columns] for row in rows]
        return [tuple(value if value >= cutoff else _BELOW for value in values) for values in found]
    if not isinstance(measure, str) or measure not in MEASURES:
        raise ParameterError(
            f"similarity measure {measure!r} is unknown: write one of {', '.join(MEASURES)}, "
            "or a function of (retrieved, reference) that returns a number in 0..1"
        )
    return _rapidfuzz_grid(rows, columns, MEASURES[measure], cutoff)


def _rapidfuzz_grid(
    rows: list[str], columns: list[str], module: str, cutoff: float
) -> list[tuple[float, ...]]:
    """Compare with rapidfuzz, except a text with itself."""
    column_of = {text: column for column, text in enumerate(columns)}
    unequal = iter(_compared([text for text in rows if text not in column_of], columns, module, cutoff))
    grid = []
    for text in rows:
        same = column_of.get(text)
        if same is None:
            grid.append(next(unequal))
        else:
            others = _compared([text], columns[:same] + columns[same + 1 :], module, cutoff)[0]
            grid.append((*others[:same], 1.0, *others[same:]))
    return grid


def _compared(rows: list[str], columns: list[str], module: str, cutoff: float) -> list[tuple[float, ...]]:
    if not rows or not columns:
        return [() for _ in rows]
    import numpy as np
    from rapidfuzz import distance, process

    distances = process.cdist(
        rows,
        columns,
        scorer=getattr(distance, module).normalized_distance,
        score_cutoff=1.0 - cutoff + _MARGIN if cutoff > _MARGIN else None,
        dtype=np.float64,  # the default, float32, moves verdicts near the threshold
    )
    similarities = 1.0 - distances
    similarities[similarities < cutoff] = _BELOW
    return [tuple(values) for values in similarities.tolist()]


def _asked(measure: Callable[[str, str], float], retrieved: str, reference: str) -> float:
    value = measure(retrieved, reference)
    if not isinstance(value, Real) or not 0 <= value <= 1:  # false for NaN too
        name = getattr(measure, "__qualname__", repr(measure))
        raise ParameterError(f"similarity {name} returned {value!r}: it must return a number in 0..1")
    return float(value)


def _best(
    lines: Sequence[tuple[float, ...]], line_of: tuple[int, ...], across_of: tuple[int, ...]
) -> tuple[Match | None, ...]:
    """Find the most similar text of the other side for every text of this one.

    Distinct texts are numbered as they first appear, so the first of equally similar ones is the first given.
    """
    first_given = {number: position for position, number in reversed(list(enumerate(across_of)))}
    best: list[Match | None] = []
    for line in lines:
        highest = max(line, default=_BELOW)
        found = highest != _BELOW
        best.append(Match(first_given[line.index(highest)], highest) if found else None)
    return tuple(best[number] for number in line_of)


def _distinct(texts: Sequence[str]) -> tuple[list[str], tuple[int, ...]]:
    """Number the distinct texts as they first appear, and give each text its number."""
    numbers: dict[str, int] = {}
    number_of = tuple(numbers.setdefault(text, len(numbers)) for text in texts)
    return list(numbers), number_of


# --- remembering ----------------------------------------------------------------------------------------------


class _Memory:
    """A bounded memory of matrices in which one computation serves all threads that ask for it meanwhile."""

    def __init__(self, max_matrices: int, max_cells: int) -> None:
        self._max_matrices = max_matrices
        self._max_cells = max_cells
        self._cells = 0
        self._lock = threading.Lock()
        self._done: OrderedDict[Hashable, SimilarityMatrix] = OrderedDict()
        self._running: dict[Hashable, Future[SimilarityMatrix]] = {}

    def get(self, key: Hashable, compute: Callable[[], SimilarityMatrix]) -> SimilarityMatrix:
        own: Future[SimilarityMatrix] = Future()
        with self._lock:
            known = self._done.get(key)
            if known is not None:
                self._done.move_to_end(key)
                return known
            running = self._running.setdefault(key, own)
        if running is not own:
            return running.result()
        try:
            matrix = compute()
        except BaseException as error:
            with self._lock:
                del self._running[key]
            own.set_exception(error)
            raise
        with self._lock:
            del self._running[key]
            self._remember(key, matrix)
        own.set_result(matrix)
        return matrix

    def clear(self) -> None:
        with self._lock:
            self._done.clear()
            self._cells = 0

    def _remember(self, key: Hashable, matrix: SimilarityMatrix) -> None:
        if matrix.cells > self._max_cells:
            return
        self._done[key] = matrix
        self._cells += matrix.cells
        while self._cells > self._max_cells or len(self._done) > self._max_matrices:
            _, forgotten = self._done.popitem(last=False)
            self._cells -= forgotten.cells


_shared = _Memory(_MAX_SHARED, _MAX_SHARED_CELLS)


def _fingerprint(texts: Sequence[str]) -> bytes:
    digest = hashlib.sha256()
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.digest()


def _is_hashable(measure: Measure) -> bool:
    try:
        hash(measure)
    except TypeError:
        return False
    return True


# --- checks ---------------------------------------------------------------------------------------------------


def _texts(texts: Iterable[str], name: str) -> list[str]:
    if isinstance(texts, str):
        raise ParameterError(f"{name} is a bare string: write a list of strings")
    checked = list(texts)
    for index, text in enumerate(checked):
        if not isinstance(text, str):
            raise ParameterError(f"{name}[{index}] is a {type(text).__name__}: write a string")
    return checked


def _cutoff(cutoff: float) -> float:
    if not isinstance(cutoff, Real) or isinstance(cutoff, bool) or not cutoff <= 1:  # false for NaN too
        raise ParameterError(
            f"cutoff is {cutoff!r}: write a number of at most 1; at 0 or below there is none"
        )
    return max(0.0, float(cutoff))
