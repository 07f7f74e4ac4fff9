"""What must hold of the formulas for any verdicts whatever."""

from __future__ import annotations

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from ctxmetrics import IDBasedContextPrecision, IDBasedContextRecall, Sample
from ctxmetrics.formulas import (
    attribution_precision,
    attribution_recall,
    average_precision,
    hit_rate,
    ndcg,
    precision_at_k,
    reciprocal_rank,
    redundancy,
    redundant_contexts,
    share,
    supported_units,
    unused_contexts,
    useful_contexts,
)

verdicts = st.lists(st.booleans(), min_size=1, max_size=30)
depths = st.integers(min_value=0, max_value=35)
grades = st.lists(st.integers(min_value=0, max_value=5), max_size=15)
ids = st.lists(st.sampled_from("abcdefgh"), max_size=12)


@st.composite
def matrices(draw, min_units=1, min_contexts=1):
    units = draw(st.integers(min_units, 6))
    contexts = draw(st.integers(min_contexts, 6))
    row = st.lists(st.booleans(), min_size=contexts, max_size=contexts)
    return draw(st.lists(row, min_size=units, max_size=units))


@given(verdicts, depths, st.integers(min_value=0, max_value=5))
def test_every_value_lies_in_0_to_1(relevant, k, missing):
    total = sum(relevant) + missing
    values = [
        share(relevant),
        average_precision(relevant),
        average_precision(relevant, epsilon=1e-10),
        precision_at_k(relevant, k),
        hit_rate(relevant),
        reciprocal_rank(relevant),
        ndcg(relevant, [1] * total, k),
    ]
    assert all(value is None or 0.0 <= value <= 1.0 for value in values)


@given(verdicts)
def test_average_precision_is_its_definition_in_exact_arithmetic(relevant):
    terms = [
        Fraction(sum(relevant[:rank]), rank)
        for rank in range(1, len(relevant) + 1)
        if relevant[rank - 1]
    ]
    exact = sum(terms) / len(terms) if terms else Fraction(0)
    assert math.isclose(average_precision(relevant), exact, rel_tol=1e-14, abs_tol=0.0)


@given(verdicts)
def test_average_precision_is_1_only_for_a_perfect_ranking(relevant):
    relevant_first = sorted(relevant, reverse=True) == relevant
    assert (average_precision(relevant) == 1.0) == (relevant_first and any(relevant))


@given(verdicts, st.data())
def test_moving_a_relevant_context_up_never_lowers_a_value(relevant, data):
    rank = data.draw(st.integers(0, len(relevant) - 1))
    k = data.draw(depths)
    up = list(relevant)
    if rank and up[rank] and not up[rank - 1]:
        up[rank - 1], up[rank] = up[rank], up[rank - 1]
        assert average_precision(up) > average_precision(relevant)
    total = sum(relevant)
    assert average_precision(up) >= average_precision(relevant)
    assert reciprocal_rank(up[:k]) >= reciprocal_rank(relevant[:k])
    assert hit_rate(up[:k]) >= hit_rate(relevant[:k])
    if total and k:
        assert precision_at_k(up, k) >= precision_at_k(relevant, k)
        assert ndcg(up, [1] * total, k) >= ndcg(relevant, [1] * total, k)


@given(verdicts)
def test_a_worst_order_is_the_minimum(relevant):
    assert average_precision(sorted(relevant)) <= average_precision(relevant)


@given(verdicts, st.integers(1, 5))
def test_irrelevant_tail_costs_only_the_share(relevant, number):
    longer = relevant + [False] * number
    assert average_precision(longer) == average_precision(relevant)
    assert reciprocal_rank(longer) == reciprocal_rank(relevant)
    assert share(longer) == sum(relevant) / len(longer)


@given(verdicts, st.integers(1, 5))
def test_irrelevant_contexts_in_front_only_cost(relevant, number):
    shifted = [False] * number + relevant
    if any(relevant):
        assert average_precision(shifted) < average_precision(relevant)
        assert reciprocal_rank(shifted) < reciprocal_rank(relevant)


@given(verdicts, st.randoms(use_true_random=False))
def test_the_share_does_not_care_for_the_order(relevant, random):
    shuffled = list(relevant)
    random.shuffle(shuffled)
    assert share(shuffled) == share(relevant)


@given(verdicts, st.integers(1, 4))
def test_share_is_unchanged_by_repeated_verdicts(relevant, times):
    assert share(relevant * times) == share(relevant)


@given(verdicts)
def test_whole_list_depth_is_no_depth(relevant):
    k = len(relevant)
    assert ndcg(relevant, relevant, k) == ndcg(relevant, relevant)
    assert precision_at_k(relevant, k) == share(relevant)


@given(ids, ids, ids)
def test_id_metrics_are_set_arithmetic(retrieved, reference, more):
    once = Sample(retrieved_context_ids=retrieved, reference_context_ids=reference)
    again = Sample(retrieved_context_ids=retrieved[::-1] * 2, reference_context_ids=reference * 2)
    recall, precision = IDBasedContextRecall(), IDBasedContextPrecision()
    both = len(set(retrieved) & set(reference))
    if reference:
        assert recall.score(once).value == recall.score(again).value == both / len(set(reference))
        longer = Sample(retrieved_context_ids=retrieved + more, reference_context_ids=reference)
        assert recall.score(longer).value >= recall.score(once).value
    if reference and retrieved:
        assert precision.score(once).value == precision.score(again).value == both / len(set(retrieved))


@given(grades, grades)
def test_ndcg_is_1_for_the_best_order_and_at_most_1_for_any(gains, missing):
    ideal = gains + missing
    value = ndcg(gains, ideal)
    best = ndcg(sorted(ideal, reverse=True), ideal)
    if any(ideal):
        assert best == 1.0
        assert 0.0 <= value <= 1.0
    else:
        assert value is best is None


@given(st.lists(st.floats(0, 1e300), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_ndcg_never_exceeds_1_by_rounding(gains, random):
    shuffled = list(gains)
    random.shuffle(shuffled)
    value = ndcg(shuffled, gains)
    assert value is None or value <= 1.0


@given(matrices())
def test_matrix_values_lie_in_their_ranges(matrix):
    assert 0.0 <= attribution_recall(matrix) <= 1.0
    assert 0.0 <= attribution_precision(matrix) <= 1.0
    value = redundancy(matrix)
    assert value is None if not any(useful_contexts(matrix)) else 0.0 <= value < 1.0


@given(matrices())
def test_recall_over_the_matrix_never_falls_as_k_grows(matrix):
    curve = [attribution_recall(matrix, k) for k in range(len(matrix[0]) + 2)]
    assert curve == sorted(curve)
    assert curve[0] == 0.0
    assert curve[-1] == attribution_recall(matrix)
    assert curve[1] == share([row[0] for row in matrix])


@given(matrices(), st.randoms(use_true_random=False))
def test_order_of_contexts_changes_neither_number(matrix, random):
    order = list(range(len(matrix[0])))
    random.shuffle(order)
    shuffled = [[row[context] for context in order] for row in matrix]
    assert attribution_recall(shuffled) == attribution_recall(matrix)
    assert attribution_precision(shuffled) == attribution_precision(matrix)
    assert sorted(order[context] for context in unused_contexts(shuffled)) == list(
        unused_contexts(matrix)
    )


@given(matrices(), st.randoms(use_true_random=False))
def test_the_order_of_units_changes_nothing_about_contexts(matrix, random):
    shuffled = list(matrix)
    random.shuffle(shuffled)
    assert useful_contexts(shuffled) == useful_contexts(matrix)
    assert redundant_contexts(shuffled) == redundant_contexts(matrix)
    assert attribution_recall(shuffled) == attribution_recall(matrix)


@given(matrices())
def test_dropping_redundant_and_unused_contexts_loses_no_unit(matrix):
    dropped = set(redundant_contexts(matrix)) | set(unused_contexts(matrix))
    kept = [[cell for context, cell in enumerate(row) if context not in dropped] for row in matrix]
    assert supported_units(kept) == supported_units(matrix)
    assert redundant_contexts(kept) == ()
    assert unused_contexts(kept) == ()


@given(matrices())
def test_dropping_a_necessary_context_loses_a_unit_at_its_rank(matrix):
    for context, useful in enumerate(useful_contexts(matrix)):
        gained = supported_units(matrix, context + 1) != supported_units(matrix, context)
        assert gained == (useful and context not in redundant_contexts(matrix))


@given(matrices())
def test_copy_of_useful_context_is_redundant_of_unused_unused(matrix):
    width = len(matrix[0])
    for context, useful in enumerate(useful_contexts(matrix)):
        longer = [[*row, row[context]] for row in matrix]
        assert (width in redundant_contexts(longer)) == useful
        assert (width in unused_contexts(longer)) == (not useful)
        assert redundant_contexts([row[:width] for row in longer]) == redundant_contexts(matrix)


@given(matrices())
def test_every_context_is_useful_or_unused(matrix):
    useful = {context for context, verdict in enumerate(useful_contexts(matrix)) if verdict}
    assert useful | set(unused_contexts(matrix)) == set(range(len(matrix[0])))
    assert not useful & set(unused_contexts(matrix))
    assert set(redundant_contexts(matrix)) <= useful
