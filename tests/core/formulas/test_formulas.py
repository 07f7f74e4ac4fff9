"""Each formula against numbers worked out by hand or printed on a page, and each edge it documents."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from ctxmetrics import formulas
from ctxmetrics.errors import CtxMetricsError, ParameterError
from ctxmetrics.formulas import (
    attribution_precision,
    attribution_recall,
    average_precision,
    characters,
    common_span,
    common_spans,
    covered_spans,
    hit_rate,
    merge_repeats,
    merged_spans,
    ndcg,
    precision_at_k,
    reciprocal_rank,
    redundancy,
    redundant_contexts,
    relevant_spans,
    share,
    smallest_k,
    span_iou,
    span_precision,
    span_recall,
    supported_units,
    unused_contexts,
    useful_contexts,
    weighted_share,
)
from ctxmetrics.formulas.checks import check_number
from support.cases import each_case

T, F = True, False
LOG2_3 = math.log2(3)


# --- share ---


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([T], 1.0),
        ([F], 0.0),
        ([T, F], 0.5),  # Axion's Paris example
        ([T, F, F], 1 / 3),  # Axion's water example
        ([T, T, F], 2 / 3),  # the Russian page: "0.67 (67%)"
        ([T, T, T, T, F], 0.8),  # Aegis' pass mark
        ([F, T], 0.5),
    ],
)
def test_share(verdicts, expected):
    assert share(verdicts) == expected


def test_weighted_share_is_the_weighted_mean():
    assert weighted_share([1, 0.5, 0], [2, 1, 1]) == 2.5 / 4
    assert weighted_share([True, False, True], [1.0, 1.0, 1.0]) == share([True, False, True])
    assert weighted_share([], []) is None
    assert weighted_share([1.0], [0.0]) is None
    wrong = [
        ([1.5], [1]),
        ([-0.1], [1]),
        ([math.nan], [1]),
        ([1], [-1]),
        ([1], [math.inf]),
        ([1], [1, 1]),
    ]
    for parts, weights in wrong:
        with pytest.raises(ParameterError):
            weighted_share(parts, weights)


def test_share_of_nothing_is_undefined():
    assert share([]) is None
    assert share(()) is None


# --- average precision over the retrieved relevant ---


@pytest.mark.parametrize(
    ("relevant", "expected"),
    [
        ([T], 1.0),
        ([F], 0.0),
        ([F, F, F], 0.0),
        ([T, F], 1.0),  # Ragas' page: Eiffel first, Brandenburg second
        ([F, T], 0.5),  # Ragas' page: reversed
        ([F, T, T], (1 / 2 + 2 / 3) / 2),
        ([T, F, T], (1 / 1 + 2 / 3) / 2),
        ([T, T, F, T], (1 / 1 + 2 / 2 + 3 / 4) / 3),
        ([T, F, T, F, T], (1 / 1 + 2 / 3 + 3 / 5) / 3),
        ([T, T, T], 1.0),
        ([F, F, F, T], 1 / 4),
    ],
)
def test_average_precision(relevant, expected):
    assert average_precision(relevant) == expected


def test_average_precision_is_not_the_mean_of_precision_at_k():
    mean_of_precision_at_k = (1 / 1 + 1 / 2) / 2
    assert average_precision([T, F]) == 1.0 != mean_of_precision_at_k


def test_average_precision_equals_exact_fractions_up_to_ten():
    for length in range(1, 11):
        for relevant in product([F, T], repeat=length):
            ranks = [rank for rank, hit in enumerate(relevant, start=1) if hit]
            exact = Fraction(0)
            for hits, rank in enumerate(ranks, start=1):
                exact += Fraction(hits, rank)
            expected = float(exact / len(ranks)) if ranks else 0.0
            assert average_precision(relevant) == pytest.approx(expected, abs=1e-15)


def test_average_precision_adds_plainly_in_rank_order():
    # A list on which a compensated sum (the built-in one since Python 3.12) ends in another bit.
    relevant = [rank in {1, 3, 4, 7, 9, 10} for rank in range(1, 11)]
    terms = [1 / 1, 2 / 3, 3 / 4, 4 / 7, 5 / 9, 6 / 10]
    plain = ((((terms[0] + terms[1]) + terms[2]) + terms[3]) + terms[4]) + terms[5]
    assert plain != math.fsum(terms)
    assert average_precision(relevant) == plain / 6


@pytest.mark.parametrize(
    ("relevant", "printed"),
    [
        ([T, F], 0.9999999999),  # both from Ragas' documentation
        ([F, T], 0.49999999995),
    ],
)
def test_epsilon_gives_the_digits_of_ragas(relevant, printed):
    assert average_precision(relevant, epsilon=1e-10) == printed


def test_epsilon_changes_neither_zero_nor_undefined():
    assert average_precision([F, F], epsilon=1e-10) == 0.0
    assert average_precision([], epsilon=1e-10) is None


def test_epsilon_is_added_to_the_divisor():
    assert average_precision([T, T, F], epsilon=2) == 0.5


@pytest.mark.parametrize("epsilon", [-1e-10, -1, math.nan, math.inf, float("inf"), None, "0"])
def test_a_bad_epsilon_is_refused(epsilon):
    with pytest.raises(ParameterError, match="epsilon"):
        average_precision([T], epsilon=epsilon)


def test_average_precision_of_nothing_is_undefined():
    assert average_precision([]) is None


# --- precision at k, hit rate and reciprocal rank ---


@pytest.mark.parametrize(
    ("k", "expected"), [(1, 1.0), (2, 0.5), (3, 2 / 3), (4, 0.5), (5, 2 / 5), (10, 0.2)]
)
def test_precision_at_k(k, expected):
    assert precision_at_k([T, F, T, F], k) == expected


def test_precision_at_k_of_nothing_and_at_0():
    assert precision_at_k([], 3) == 0.0
    assert precision_at_k([T], 0) is None


@pytest.mark.parametrize(
    ("relevant", "hit", "rank"),
    [
        ([], 0.0, 0.0),
        ([F, F], 0.0, 0.0),
        ([T, F], 1.0, 1.0),
        ([F, T, T], 1.0, 0.5),
        ([F, F, F, T], 1.0, 0.25),
    ],
)
def test_hit_rate_and_reciprocal_rank(relevant, hit, rank):
    assert hit_rate(relevant) == hit
    assert isinstance(hit_rate(relevant), float)
    assert reciprocal_rank(relevant) == rank
    assert isinstance(reciprocal_rank(relevant), float)


# --- nDCG ---


@pytest.mark.parametrize(
    ("gains", "ideal", "k", "expected"),
    [
        ([1], [1], None, 1.0),
        ([0, 1], [1], None, 1 / LOG2_3),
        ([1, 0, 1], [1, 1], None, (1 + 1 / 2) / (1 + 1 / LOG2_3)),
        ([1, 0, 1], [1, 1, 1], None, (1 + 1 / 2) / (1 + 1 / LOG2_3 + 1 / 2)),
        ([1, 0, 1], [1, 1, 1], 2, 1 / (1 + 1 / LOG2_3)),
        ([1, 0, 1], [1, 1, 1], 1, 1.0),
        ([0, 0, 1], [1], 2, 0.0),
        ([2, 3], [2, 3], None, (2 + 3 / LOG2_3) / (3 + 2 / LOG2_3)),
        ([2, 3], [2, 3], 1, 2 / 3),  # the best order of all, then cut
        ([0, 0], [3, 1], None, 0.0),
        ([], [1], None, 0.0),
        ([1], [1, 0, 0], 99, 1.0),
        ([0.5, 0.25], [0.25, 0.5], None, 1.0),
        ([True, False], [True], None, 1.0),
        ([0, 0, 1], [1], None, 0.5),  # a zero in gains needs no partner in ideal
    ],
)
def test_ndcg(gains, ideal, k, expected):
    assert ndcg(gains, ideal, k) == expected


def test_ndcg_of_the_textbook_list():
    # The worked example of Wikipedia's article "Discounted cumulative gain", linear gain: DCG 6.861; the same
    # six documents in the best order have 7.141, the best six of all documents 8.740.
    gains = [3, 2, 3, 0, 1, 2]
    assert ndcg(gains, gains) == pytest.approx(0.961, abs=5e-4)
    ideal = [3, 3, 3, 2, 2, 2, 1, 0]  # two more documents, grades 3 and 2, were never retrieved
    assert ndcg(gains, ideal, k=6) == pytest.approx(0.785, abs=5e-4)


@pytest.mark.parametrize("gains", [[], [0], [0, 0.0]])
def test_ndcg_without_any_relevance_is_undefined(gains):
    assert ndcg(gains, gains) is None
    assert ndcg(gains, []) is None
    assert ndcg(gains, [0]) is None


def test_ndcg_at_zero_is_undefined():
    assert ndcg([1], [1], 0) is None


def test_ndcg_does_not_care_for_the_order_of_the_ideal():
    assert ndcg([1, 0], [1, 2, 3]) == ndcg([1, 0], [3, 2, 1]) == 1 / (3 + 2 / LOG2_3 + 1 / 2)


@pytest.mark.parametrize(
    ("gains", "ideal"),
    [
        ([1, 1], [1]),  # one relevant document listed twice
        ([2], [1]),
        ([0, 2], [1, 1, 1]),
        ([1], []),
        ([2, 2], [3, 1]),
    ],
)
def test_more_relevance_than_the_ideal_is_refused(gains, ideal):
    with pytest.raises(ParameterError, match="more relevance than ideal"):
        ndcg(gains, ideal)


@pytest.mark.parametrize(
    "gains",
    [[-1], [1, -0.5], [math.nan], [math.inf], [-math.inf], [None], ["1"], [10**400], [1, [2]], [1j]],
)
def test_a_bad_gain_is_refused(gains):
    with pytest.raises(ParameterError, match=rf"gains\[{len(gains) - 1}\]"):
        ndcg(gains, [1, 1])
    with pytest.raises(ParameterError, match=rf"ideal\[{len(gains) - 1}\]"):
        ndcg([0], gains)


def test_gains_that_overflow_are_refused():
    with pytest.raises(ParameterError, match="too large to add up"):
        ndcg([1e308] * 3, [1e308] * 3)


def test_large_gains_that_do_not_overflow_are_fine():
    assert ndcg([0, 1e308], [1e308]) == pytest.approx(1 / LOG2_3, rel=1e-15)


def test_ndcg_is_not_rounded_above_1():
    rising = [0.1, 0.10000000000000003, 0.10000000000000003]
    first = rising[0] + rising[1] / LOG2_3 + rising[2] / 2
    second = rising[2] + rising[1] / LOG2_3 + rising[0] / 2
    assert first > second  # in doubles, the rising order wins by a bit
    assert ndcg(rising, rising) == 1.0


def test_ndcg_takes_the_number_types_people_have():
    assert ndcg([np.float32(0), np.int64(1), Fraction(0)], [Fraction(1)]) == 1 / LOG2_3


# --- attribution ---

# Four units, five contexts. Context 0 supports units 0 and 1, context 1 repeats unit 1, context 2 nothing,
# context 3 brings unit 2 and repeats unit 0, context 4 repeats unit 2. Nothing supports unit 3.
MATRIX = [
    [T, F, F, T, F],
    [T, T, F, F, F],
    [F, F, F, T, T],
    [F, F, F, F, F],
]


def test_supported_units_and_recall_at_every_k():
    assert supported_units(MATRIX) == (T, T, T, F)
    assert supported_units(MATRIX, 0) == (F, F, F, F)
    assert supported_units(MATRIX, 1) == supported_units(MATRIX, 3) == (T, T, F, F)
    assert [attribution_recall(MATRIX, k) for k in range(7)] == [0.0, 0.5, 0.5, 0.5, 0.75, 0.75, 0.75]
    assert attribution_recall(MATRIX) == 0.75


def test_useful_and_unused_contexts_and_precision():
    assert useful_contexts(MATRIX) == (T, T, F, T, T)
    assert unused_contexts(MATRIX) == (2,)
    assert attribution_precision(MATRIX) == 0.8
    assert unused_contexts([[F, F], [F, F]]) == (0, 1)
    assert attribution_precision([[F, F], [F, F]]) == 0.0


def test_redundancy():
    assert redundant_contexts(MATRIX) == (1, 4)
    assert redundancy(MATRIX) == 0.5  # two of the four useful ones; context 2 is unused, not redundant
    assert redundancy([[T, T]]) == 0.5
    assert redundancy([[T, F], [F, T]]) == 0.0
    assert redundancy([[T, T, T, F]]) == 2 / 3


@pytest.mark.parametrize("keep", [1.5, 0, -1, True, "0.9", float("nan")])
def test_smallest_k_refuses_what_is_no_share(keep):
    with pytest.raises(ParameterError, match=r"keep=.* must be a share above 0, up to 1"):
        smallest_k([0.4, 0.7], keep)


@pytest.mark.parametrize("recall", [float("nan"), float("inf"), -0.1, "0.5", None])
def test_smallest_k_refuses_what_is_no_recall(recall):
    with pytest.raises(ParameterError, match=r"recall@2 is .*: write a finite number"):
        smallest_k([0.2, recall], 0.95)


def test_smallest_k_of_an_array():
    numpy = pytest.importorskip("numpy")
    assert smallest_k(numpy.array([0.4, 0.7, 0.78, 0.8]), 0.95) == 3
    assert smallest_k(numpy.array([]), 0.95) is None


def test_smallest_k():
    assert smallest_k([0.1, 0.5, 0.94, 0.95, 1.0], 0.95) == 4
    assert smallest_k([0.1, 0.5, 0.94, 0.95, 1.0], 1) == 5
    assert smallest_k([0.3, 0.3, 0.1 + 0.2], 1.0) == 1  # 0.30000000000000004: rounding, not recall
    assert smallest_k([0.0, 0.5], 0.95) == 2  # the first context holds nothing
    assert smallest_k([], 0.95) is None
    assert smallest_k([0.0], 0.95) is None


def test_redundancy_reads_from_the_top():
    narrow_first = [[T, T], [F, T]]
    wide_first = [[T, T], [T, F]]
    assert redundant_contexts(narrow_first) == ()  # the second context brings the second unit
    assert redundant_contexts(wide_first) == (1,)


def test_context_may_be_redundant_through_others_together():
    assert redundant_contexts([[T, F, T], [F, T, T]]) == (2,)


def test_redundancy_without_a_useful_context_is_undefined():
    assert redundancy([[F, F]]) is None
    assert redundancy([]) is None
    assert redundancy([[], []]) is None


def test_a_matrix_without_units_or_without_contexts():
    assert supported_units([]) == ()
    assert attribution_recall([]) is None
    assert useful_contexts([]) == unused_contexts([]) == redundant_contexts([]) == ()
    assert attribution_precision([]) is None
    assert supported_units([[], []]) == (F, F)
    assert attribution_recall([[], []]) == 0.0
    assert useful_contexts([[], []]) == unused_contexts([[], []]) == ()
    assert attribution_precision([[], []]) is None


OVER_A_MATRIX = [
    supported_units,
    attribution_recall,
    useful_contexts,
    attribution_precision,
    redundant_contexts,
    redundancy,
    unused_contexts,
]


@each_case("function", OVER_A_MATRIX)
@each_case(
    ("matrix", "message"),
    [
        ([[T], [T, F]], "matrix[1] has another number of contexts than matrix[0], 2 and not 1: "),
        ([[T, F], [T]], "matrix[1] has another number of contexts than matrix[0], 1 and not 2: "),
        ([[], [T]], "matrix[1] has another number of contexts than matrix[0], 1 and not 0: "),
        (
            [[T, F], [T, F], []],
            "matrix[2] has another number of contexts than matrix[0], 0 and not 2: ",
        ),
        (
            [[T, F], [T], [T, F, F]],
            "matrix[1] has another number of contexts than matrix[0], 1 and not 2: ",
        ),
    ],
)
def test_a_ragged_matrix_is_refused_by_its_first_odd_row(function, matrix, message):
    with pytest.raises(ParameterError, match=re.escape(message)):
        function(matrix)


def test_a_wide_matrix():
    assert attribution_precision([[T, F] * 300, [F, F] * 300]) == 0.5


@pytest.mark.parametrize("function", OVER_A_MATRIX)
def test_a_bad_cell_is_refused_by_its_place(function):
    with pytest.raises(ParameterError, match=r"matrix\[1\]\[0\] is 2: a verdict is True or False"):
        function([[T, F], [2, F]])


# --- what every function refuses ---

OVER_VERDICTS = [
    share,
    average_precision,
    lambda relevant: precision_at_k(relevant, 1),
    hit_rate,
    reciprocal_rank,
]
NO_VERDICTS = [2, -1, None, 0.5, "yes", "1", math.nan, [], {}, [True]]


@each_case("function", OVER_VERDICTS)
@each_case("verdict", NO_VERDICTS)
def test_what_is_no_verdict_is_refused_by_its_place(function, verdict):
    with pytest.raises(ParameterError, match=r"\[2\] is .*: a verdict is True or False"):
        function([T, F, verdict, T])  # beyond k as well: a list is right or it is not


@pytest.mark.parametrize("function", OVER_VERDICTS)
def test_zero_one_and_numpy_booleans_are_verdicts(function):
    expected = function([T, F, T])
    assert function([1, 0, 1]) == expected
    assert function(np.array([True, False, True])) == expected
    assert function((T, F, T)) == expected


@pytest.mark.parametrize("function", OVER_VERDICTS)
def test_verdicts_of_an_iterator_count(function):
    assert function(iter([T, F, T])) == function([T, F, T])


def test_gains_spans_and_matrices_of_iterators_count():
    assert ndcg(iter([0.0, 1.0]), iter([1.0])) == 1 / LOG2_3
    assert weighted_share(iter([1, 0]), iter([3, 1])) == 0.75
    assert redundancy(iter(MATRIX)) == redundancy(MATRIX)
    reference, retrieved = [("a", 0, 10)], [("a", 5, 15), ("a", 5, 15)]
    assert span_recall(iter(reference), iter(retrieved)) == 0.5
    assert span_precision(iter(reference), iter(retrieved)) == 0.25
    assert span_iou(iter(reference), iter(retrieved)) == 0.2
    assert covered_spans(iter(reference), iter(retrieved), 0.5) == (True,)
    assert relevant_spans(iter(retrieved), iter(reference), 0.5) == (True, True)
    assert characters(iter(retrieved)) == 20


@pytest.mark.parametrize(
    ("parts", "weights"), [([None], [1]), (["1"], [1]), ([1, 1], [1e308, 1e308]), ([1], [10**400])]
)
def test_odd_parts_and_weights_are_refused(parts, weights):
    with pytest.raises(ParameterError):
        weighted_share(parts, weights)


def test_spans_of_files_and_tables_are_spans():
    assert span_recall([["a", np.int64(0), np.int64(10)]], [("a", 0, 5)]) == 0.5
    assert merged_spans([["a", 3, 5], ["a", 0, 3]]) == [("a", 0, 5)]


@pytest.mark.parametrize("repeats", [{2: 0}, {0: 1}, {1: 1}, {1: -1}])
def test_a_repeat_of_no_verdict_is_refused(repeats):
    with pytest.raises(ParameterError, match="repeats says that verdict"):
        merge_repeats([False, False], repeats)


def test_precision_at_k_of_numpy_is_a_float():
    assert type(precision_at_k([T], np.int64(4))) is float


def test_options_that_read_alike_are_named_by_the_caller():
    with pytest.raises(TypeError):
        average_precision([T], 1e-10)
    assert average_precision(relevant=[T], epsilon=0.0) == 1.0


OVER_K = [
    lambda k: precision_at_k([T], k),
    lambda k: ndcg([1], [1], k),
    lambda k: supported_units([[T]], k),
    lambda k: attribution_recall([[T]], k),
]


@each_case("function", OVER_K)
@each_case("k", [-1, 1.5, 1.0, True, False, "1", math.nan, [1]])
def test_a_k_that_is_no_whole_number_from_zero_is_refused(function, k):
    with pytest.raises(ParameterError, match=r"^k is .*: write a whole number of at least 0$"):
        function(k)


@pytest.mark.parametrize("function", OVER_K)
def test_k_may_be_any_integer_type_and_any_size(function):
    assert function(np.int64(1)) == function(1)
    function(2**80)


def test_errors_belong_to_the_family_and_have_a_code():
    with pytest.raises(CtxMetricsError) as caught:
        share([2])
    assert caught.value.code == "invalid_parameter"
    assert isinstance(caught.value, ValueError)


# --- spans of sources ---


def a(*pairs):
    return [("a", start, end) for start, end in pairs]


def test_merged_spans():
    assert merged_spans([]) == []
    assert merged_spans([*a((9, 12), (0, 6), (5, 9), (20, 21)), ("b", 5, 9)]) == [
        *a((0, 12), (20, 21)),
        ("b", 5, 9),
    ]
    assert merged_spans(a((0, 10), (2, 3), (9, 10))) == a((0, 10))


def test_common_spans():
    assert common_spans(a((0, 10)), []) == []
    assert common_spans(a((0, 10)), a((10, 20))) == []
    assert common_spans(a((0, 10), (30, 40)), a((5, 35), (38, 50))) == a((5, 10), (30, 35), (38, 40))
    assert common_spans([("a", 0, 10), ("b", 0, 10)], [("b", 5, 20)]) == [("b", 5, 10)]
    assert common_span(("a", 0, 10), ("a", 8, 20)) == ("a", 8, 10)
    assert common_span(("a", 0, 10), ("a", 10, 20)) is None
    assert common_span(("a", 0, 10), ("b", 0, 10)) is None


def test_characters():
    assert characters(a((0, 10), (5, 10))) == 15
    assert characters([]) == 0


@pytest.mark.parametrize(
    ("reference", "retrieved", "recall", "precision", "iou"),
    [
        (a((0, 10)), a((0, 10)), 1.0, 1.0, 1.0),
        (a((0, 10)), a((5, 15)), 0.5, 0.5, 1 / 3),
        (a((0, 10)), a((5, 15), (5, 15)), 0.5, 0.25, 0.2),
        (a((0, 10), (5, 15)), a((0, 20)), 1.0, 0.75, 0.75),
        (a((0, 10)), [("b", 0, 10)], 0.0, 0.0, 0.0),
        (a((0, 10)), [], 0.0, None, 0.0),
        ([], a((0, 10)), None, 0.0, 0.0),
        ([], [], None, None, None),
    ],
)
def test_span_recall_precision_and_iou(reference, retrieved, recall, precision, iou):
    assert span_recall(reference, retrieved) == recall
    assert span_precision(reference, retrieved) == precision
    assert span_iou(reference, retrieved) == iou


def test_covered_and_relevant_spans():
    assert covered_spans(a((0, 10), (10, 20)), a((0, 3), (4, 12)), 0.5) == (T, F)
    assert covered_spans(a((0, 10), (10, 20)), a((0, 10)), 0) == (T, F)
    assert covered_spans(a((0, 10), (10, 20)), a((9, 10)), 0) == (T, F)
    assert covered_spans(a((0, 10)), [], 0) == (F,)
    assert relevant_spans(a((0, 100), (8, 12), (9, 13)), a((0, 10)), 0.5) == (T, T, F)
    assert relevant_spans(a((8, 18)), a((0, 10), (14, 40)), 0.5) == (T,)
    assert relevant_spans([], a((0, 10)), 0.5) == ()


@pytest.mark.parametrize(
    "span",
    [("a", 5, 5), ("a", 6, 5), ("a", -1, 5), ("a", 0, 1.5), ("a", 0), (1, 0, 5), 7, ("a", "0", "5")],
)
def test_spans_that_hold_no_character_are_refused(span):
    for call in (
        lambda: merged_spans([span]),
        lambda: characters([span]),
        lambda: span_recall([span], []),
        lambda: span_precision([], [span]),
        lambda: span_iou([span], []),
        lambda: covered_spans([span], [], 0.5),
        lambda: relevant_spans([], [span], 0.5),
        lambda: common_spans([], [span]),
    ):
        with pytest.raises(ParameterError, match=r"write \(source, start, end\)"):
            call()


@pytest.mark.parametrize(
    ("optional", "wanted"), [(True, "from 1 to 9, or None."), (False, "from 1 to 9.")]
)
def test_the_error_of_a_number_says_whether_none_is_allowed(optional, wanted):
    with pytest.raises(ParameterError) as error:
        check_number("top_k", 0, 1, 9, whole=True, optional=optional)
    assert str(error.value) == f"top_k=0 must be a whole number {wanted}"


@pytest.mark.parametrize("value", [True, "1", None, float("nan")])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(ParameterError, match=r"top_k=.* must be a number from 0\."):
        check_number("top_k", value, 0)


@pytest.mark.parametrize(
    ("verdicts", "repeats", "distinct"),
    [
        ([True, True, False], {1: 0}, [True, False]),
        ([False, True, False, True], {3: 0}, [True, True, False]),
        ([False, False], {1: 0}, [False]),
        ([True, False], {}, [True, False]),
        ([1, 0, 0], {2: 1}, [True, False]),
    ],
)
def test_repeats_count_once_at_their_first_rank(verdicts, repeats, distinct):
    assert merge_repeats(verdicts, repeats) == distinct


def test_merging_checks_verdicts():
    with pytest.raises(ParameterError, match="verdict"):
        merge_repeats([True, None], {1: 0})


def test_every_public_name_is_tested_here_or_by_its_metric():
    rank_metrics = (Path(__file__).parents[1] / "metrics" / "test_ranks.py").read_text(encoding="utf-8")
    in_its_metric = {name for name in formulas.ranks.__all__ if re.search(rf"\b{name}\b", rank_metrics)}
    assert set(formulas.__all__) - {"Span"} <= set(globals()) | in_its_metric
