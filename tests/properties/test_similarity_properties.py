"""What must hold of the similarity matrix for any texts whatever."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz import distance

from ctxmetrics.metrics.similarity import (
    MEASURES,
    MEMORY,
    Match,
    compare_texts,
    find_best_matches,
)

ASKED = {name: getattr(distance, module).normalized_distance for name, module in MEASURES.items()}


def matrix_of(retrieved, references, measure="levenshtein", cutoff=0.0):
    """The similarities and the best matches, computed anew."""
    MEMORY.clear()
    best = find_best_matches(retrieved, references, measure, cutoff)
    found = compare_texts(retrieved, references, measure, cutoff)
    rows = tuple(tuple(value if value >= cutoff else None for value in row) for row in found)
    return SimpleNamespace(
        rows=rows, for_references=best.for_references, for_retrieved=best.for_retrieved
    )


anything = st.text(st.characters(exclude_categories=()), max_size=20)  # lone surrogates too
close = st.text(alphabet="abé猫😀 ", max_size=40)
measures = st.sampled_from(list(MEASURES))
lists = st.lists(anything | close, max_size=6)
# Lists that share texts, with many equal similarities.
alike = st.lists(st.text(alphabet="ab", max_size=6), max_size=8)
cutoffs = st.floats(0.0, 1.0) | st.integers(0, 20).map(lambda step: step / 20)


def pairwise(retrieved, references, measure):
    return tuple(tuple(1 - ASKED[measure](row, column) for column in references) for row in retrieved)


@st.composite
def near_threshold(draw):
    """Draw two texts of which one is the other with some characters replaced, and a cutoff at their similarity."""
    text = draw(st.text(alphabet="abé猫😀 ", min_size=1, max_size=200))
    changed = draw(st.sets(st.integers(0, len(text) - 1)))
    other = "".join("z" if index in changed else char for index, char in enumerate(text))
    measure = draw(measures)
    exact = 1 - ASKED[measure](text, other)
    return text, other, measure, exact


@given(near_threshold(), st.sampled_from([-1e-12, -1e-16, 0.0, 1e-16, 1e-12]))
@settings(max_examples=2 * settings().max_examples)
def test_a_cutoff_near_the_similarity_changes_nothing(case, step):
    text, other, measure, exact = case
    cutoff = min(1.0, exact + step)
    found = matrix_of([text], [other], measure, cutoff).rows[0][0]
    assert found == (exact if exact >= max(cutoff, 0.0) else None)


@given(lists, lists, measures, cutoffs)
def test_the_matrix_is_the_pairs_asked_one_by_one(retrieved, references, measure, cutoff):
    exact = pairwise(retrieved, references, measure)
    rows = matrix_of(retrieved, references, measure, cutoff).rows
    assert rows == tuple(tuple(value if value >= cutoff else None for value in row) for row in exact)


@given(lists | alike, lists | alike, measures, cutoffs)
@settings(max_examples=2 * settings().max_examples)
def test_the_best_match_is_the_first_maximum(retrieved, references, measure, cutoff):
    exact = pairwise(retrieved, references, measure)
    matrix = matrix_of(retrieved, references, measure, cutoff)

    def first_maximum(values):
        if not values or max(values) < cutoff:
            return None
        return Match(values.index(max(values)), max(values))

    assert matrix.for_retrieved == tuple(first_maximum(row) for row in exact)
    columns = [[row[column] for row in exact] for column in range(len(references))]
    assert matrix.for_references == tuple(first_maximum(column) for column in columns)


@given(lists, lists, measures, cutoffs)
def test_swapping_the_sides_transposes_the_matrix(retrieved, references, measure, cutoff):
    one = matrix_of(retrieved, references, measure, cutoff)
    other = matrix_of(references, retrieved, measure, cutoff)
    assert one.for_references == other.for_retrieved
    assert one.for_retrieved == other.for_references
    for row in range(len(retrieved)):
        for column in range(len(references)):
            assert one.rows[row][column] == other.rows[column][row]


@given(anything | close, anything | close, measures)
def test_similarities_are_0_to_1_and_1_only_for_equal_texts(one, other, measure):
    value = matrix_of([one], [other], measure).rows[0][0]
    assert 0.0 <= value <= 1.0
    if measure in {"levenshtein", "hamming"}:
        assert (value == 1.0) == (one == other)
    elif one == other:
        assert value == 1.0


@given(lists, lists, measures, cutoffs, st.integers(1, 3))
def test_repeating_texts_repeats_rows_and_columns(retrieved, references, measure, cutoff, times):
    once = matrix_of(retrieved, references, measure, cutoff)
    more = matrix_of(retrieved * times, references * times, measure, cutoff)
    assert more.rows == tuple(row * times for row in once.rows * times)
    assert more.for_references == once.for_references * times
    assert more.for_retrieved == once.for_retrieved * times


@given(lists, lists, measures, cutoffs)
def test_a_remembered_matrix_equals_a_computed_one(retrieved, references, measure, cutoff):
    MEMORY.clear()
    computed = find_best_matches(retrieved, references, measure, cutoff)
    assert find_best_matches(retrieved, references, measure, cutoff) == computed


@given(lists, lists, cutoffs)
def test_a_callable_of_rapidfuzz_gives_the_named_measure(retrieved, references, cutoff):
    def plain(one, other):
        return 1 - ASKED["levenshtein"](one, other)

    assert matrix_of(retrieved, references, plain, cutoff) == matrix_of(
        retrieved, references, "levenshtein", cutoff
    )


@given(st.lists(anything, min_size=1, max_size=4), st.lists(anything, min_size=1, max_size=4))
def test_one_more_retrieved_context_never_lowers_a_best_match(retrieved, references):
    fewer = matrix_of(retrieved[:-1], references).for_references
    more = matrix_of(retrieved, references).for_references
    for before, after in zip(fewer, more, strict=True):
        assert before is None or after.similarity >= before.similarity


def test_lone_surrogates_as_json_may_hold_them():
    assert matrix_of(["\udcff a"], ["\udcff b"]).rows[0][0] == pytest.approx(2 / 3)
