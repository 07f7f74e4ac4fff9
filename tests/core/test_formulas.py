"""Each formula against numbers worked out by hand or printed on a page, and each edge it documents."""

from __future__ import annotations

import math
import re
from dataclasses import FrozenInstanceError
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from ctxmetrics import formulas
from ctxmetrics.errors import CtxMetricsError, ParameterError
from ctxmetrics.formulas import (
    attribution_precision,
    attribution_recall,
    average_precision,
    average_precision_all,
    hit_rate,
    id_hits,
    ndcg,
    precision_at_k,
    recall_at_k,
    reciprocal_rank,
    redundancy,
    redundant_contexts,
    share,
    supported_units,
    unused_contexts,
    useful_contexts,
)

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


def test_average_precision_agrees_with_exact_fractions_on_every_list_up_to_ten():
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


# --- average precision over all relevant ---


@pytest.mark.parametrize(
    ("relevant", "total", "expected"),
    [
        ([F, T], 2, 0.25),
        ([F, T], 1, 0.5),
        ([T, F, T], 2, (1 / 1 + 2 / 3) / 2),
        ([T, F, T], 4, (1 / 1 + 2 / 3) / 4),
        ([F, F], 3, 0.0),
        ([], 3, 0.0),
    ],
)
def test_average_precision_over_all_relevant(relevant, total, expected):
    assert average_precision_all(relevant, total) == expected


def test_average_precision_over_no_relevant_is_undefined():
    assert average_precision_all([], 0) is None
    assert average_precision_all([F], 0) is None


# --- precision, recall, hit and rank at k ---


@pytest.mark.parametrize(
    ("k", "over_k", "over_retrieved"),
    [(1, 1.0, 1.0), (2, 0.5, 0.5), (3, 2 / 3, 2 / 3), (4, 0.5, 0.5), (5, 2 / 5, 0.5), (10, 0.2, 0.5)],
)
def test_precision_at_k(k, over_k, over_retrieved):
    relevant = [T, F, T, F]
    assert precision_at_k(relevant, k, denominator="k") == over_k
    assert precision_at_k(relevant, k, denominator="retrieved") == over_retrieved


def test_precision_at_k_is_undefined_where_it_divides_by_zero():
    assert precision_at_k([T], 0, denominator="k") is None
    assert precision_at_k([T], 0, denominator="retrieved") is None
    assert precision_at_k([], 3, denominator="retrieved") is None
    assert precision_at_k([], 3, denominator="k") == 0.0


@pytest.mark.parametrize("denominator", ["retreived", "", None, 4, ["k"]])
def test_an_unknown_denominator_is_refused(denominator):
    with pytest.raises(ParameterError, match="write 'k' or 'retrieved'"):
        precision_at_k([T], 1, denominator=denominator)


@pytest.mark.parametrize(("k", "expected"), [(0, 0.0), (1, 0.25), (2, 0.25), (3, 0.5), (4, 0.5), (99, 0.5)])
def test_recall_at_k(k, expected):
    assert recall_at_k([T, F, T, F], k, total_relevant=4) == expected


def test_recall_at_k_at_the_edges():
    assert recall_at_k([], 3, total_relevant=2) == 0.0
    assert recall_at_k([F], 3, total_relevant=0) is None
    assert recall_at_k([T], 1, total_relevant=1) == 1.0


@pytest.mark.parametrize(
    ("relevant", "k", "hit", "rank"),
    [
        ([], None, 0.0, 0.0),
        ([], 3, 0.0, 0.0),
        ([T], 0, 0.0, 0.0),
        ([F, F], None, 0.0, 0.0),
        ([T, F], None, 1.0, 1.0),
        ([F, T, T], None, 1.0, 0.5),
        ([F, T], 1, 0.0, 0.0),
        ([F, T], 2, 1.0, 0.5),
        ([F, F, F, T], 4, 1.0, 0.25),
        ([F, F, F, T], 99, 1.0, 0.25),
    ],
)
def test_hit_rate_and_reciprocal_rank(relevant, k, hit, rank):
    assert hit_rate(relevant, k) == hit
    assert isinstance(hit_rate(relevant, k), float)
    assert reciprocal_rank(relevant, k) == rank
    assert isinstance(reciprocal_rank(relevant, k), float)


# --- nDCG ---


@pytest.mark.parametrize(
    ("gains", "ideal", "k", "expected"),
    [
        ([1], None, None, 1.0),
        ([0, 1], None, None, 1 / LOG2_3),
        ([1, 0, 1], None, None, (1 + 1 / 2) / (1 + 1 / LOG2_3)),
        ([1, 0, 1], [1, 1, 1], None, (1 + 1 / 2) / (1 + 1 / LOG2_3 + 1 / 2)),
        ([1, 0, 1], [1, 1, 1], 2, 1 / (1 + 1 / LOG2_3)),
        ([1, 0, 1], [1, 1, 1], 1, 1.0),
        ([0, 0, 1], [1], 2, 0.0),
        ([2, 3], [2, 3], None, (2 + 3 / LOG2_3) / (3 + 2 / LOG2_3)),
        ([2, 3], None, 1, 2 / 3),  # the best order of all that was retrieved, then cut
        ([0, 0], [3, 1], None, 0.0),
        ([], [1], None, 0.0),
        ([1], [1, 0, 0], 99, 1.0),
        ([0.5, 0.25], None, None, 1.0),
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
    assert ndcg(gains) == pytest.approx(0.961, abs=5e-4)
    ideal = [3, 3, 3, 2, 2, 2, 1, 0]  # two more documents, grades 3 and 2, were never retrieved
    assert ndcg(gains, ideal, k=6) == pytest.approx(0.785, abs=5e-4)


def test_ndcg_with_exponential_gain():
    assert ndcg([2, 3], gain="exponential") == (3 + 7 / LOG2_3) / (7 + 3 / LOG2_3)
    assert ndcg([0, 1], gain="exponential") == ndcg([0, 1], gain="linear")
    assert ndcg([2, 3], [4, 3], gain="exponential") == (3 + 7 / LOG2_3) / (15 + 7 / LOG2_3)


@pytest.mark.parametrize("gains", [[], [0], [0, 0.0]])
def test_ndcg_without_any_relevance_is_undefined(gains):
    assert ndcg(gains) is None
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
@pytest.mark.parametrize("gain", ["linear", "exponential"])
def test_a_bad_gain_is_refused(gains, gain):
    with pytest.raises(ParameterError, match=rf"gains\[{len(gains) - 1}\]"):
        ndcg(gains, gain=gain)
    with pytest.raises(ParameterError, match=rf"ideal\[{len(gains) - 1}\]"):
        ndcg([0], gains, gain=gain)


@pytest.mark.parametrize(("gains", "gain"), [([1e308] * 3, "linear"), ([1025], "exponential")])
def test_gains_that_overflow_are_refused(gains, gain):
    with pytest.raises(ParameterError, match="too large to add up"):
        ndcg(gains, gain=gain)


def test_large_gains_that_do_not_overflow_are_fine():
    assert ndcg([0, 1023], gain="exponential") == pytest.approx(1 / LOG2_3, rel=1e-15)
    assert ndcg([0, 1e308]) == pytest.approx(1 / LOG2_3, rel=1e-15)


@pytest.mark.parametrize("gain", ["log", "", None, 1, ["linear"]])
def test_an_unknown_gain_function_is_refused(gain):
    with pytest.raises(ParameterError, match="write 'linear' or 'exponential'"):
        ndcg([1], gain=gain)


def test_ndcg_is_not_rounded_above_1():
    rising = [0.1, 0.10000000000000003, 0.10000000000000003]
    first = rising[0] + rising[1] / LOG2_3 + rising[2] / 2
    second = rising[2] + rising[1] / LOG2_3 + rising[0] / 2
    assert first > second  # in doubles, the rising order wins by a bit
    assert ndcg(rising) == 1.0


def test_ndcg_takes_the_number_types_people_have():
    assert ndcg([np.float32(0), np.int64(1), Fraction(0)]) == 1 / LOG2_3


# --- ids ---


def test_id_hits_of_the_ragas_recall_page():
    hits = id_hits(["doc_1", "doc_2", "doc_3"], ["doc_1", "doc_4", "doc_5", "doc_6"])
    assert hits.recall == 0.25
    assert hits.precision == 1 / 3
    assert hits.hits == 1


def test_id_hits_of_the_ragas_precision_page():
    hits = id_hits(["doc_1", "doc_2", "doc_3", "doc_4"], ["doc_1", "doc_4", "doc_5", "doc_6"])
    assert hits.precision == 0.5
    assert hits.recall == 0.5
    assert hits.hits == 2


def test_id_hits_keep_the_order_and_count_a_repeated_id_once():
    hits = id_hits(["b", "a", "b", "a", "c"], ["a", "d", "a"])
    assert hits.retrieved == ("b", "a", "c")
    assert hits.relevant == (F, T, F)
    assert hits.reference == ("a", "d")
    assert hits.found == (T, F)
    assert (hits.recall, hits.precision) == (0.5, 1 / 3)
    assert id_hits(["a", "a", "b"], ["a"]).precision == 0.5  # the page's formula would say 2/3


def test_id_hits_of_empty_lists():
    assert (id_hits([], ["a"]).recall, id_hits([], ["a"]).precision) == (0.0, None)
    assert (id_hits(["a"], []).recall, id_hits(["a"], []).precision) == (None, 0.0)
    assert (id_hits([], []).recall, id_hits([], []).precision) == (None, None)


def test_ids_are_compared_as_they_are_given():
    assert id_hits([1], ["1"]).recall == 0.0
    assert id_hits(["a "], ["a"]).recall == 0.0
    assert id_hits([1], [1]).recall == 1.0


@pytest.mark.parametrize(
    ("retrieved", "reference", "name"), [("ab", ["a"], "retrieved"), (["a"], "ab", "reference")]
)
def test_a_bare_string_of_ids_is_refused(retrieved, reference, name):
    with pytest.raises(ParameterError, match=f"{name} is a bare string"):
        id_hits(retrieved, reference)
    with pytest.raises(ParameterError, match="bare string"):
        id_hits(b"ab", [])


@pytest.mark.parametrize("ids", [None, 5, [["a"]], [{}]])
def test_what_is_no_list_of_ids_is_refused(ids):
    with pytest.raises(ParameterError, match="retrieved is not a list of ids"):
        id_hits(ids, ["a"])
    with pytest.raises(ParameterError, match="reference is not a list of ids"):
        id_hits(["a"], ids)


def test_id_hits_are_a_frozen_value_of_named_fields():
    hits = id_hits(["a"], ["a"])
    assert hits == id_hits(["a", "a"], ["a"])
    assert hash(hits) == hash(id_hits(["a", "a"], ["a"]))
    with pytest.raises(FrozenInstanceError):
        hits.found = (F,)
    assert not hasattr(hits, "__dict__")
    with pytest.raises(TypeError):
        formulas.IdHits(("a",), ("a",), (T,), (T,))


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


def test_redundancy_reads_from_the_top():
    narrow_first = [[T, T], [F, T]]
    wide_first = [[T, T], [T, F]]
    assert redundant_contexts(narrow_first) == ()  # the second context brings the second unit
    assert redundant_contexts(wide_first) == (1,)


def test_a_context_may_be_redundant_through_several_others_together():
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


@pytest.mark.parametrize("function", OVER_A_MATRIX)
@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[T], [T, F]], "matrix[1] has 2 contexts but matrix[0] has 1: "),
        ([[T, F], [T]], "matrix[1] has 1 contexts but matrix[0] has 2: "),
        ([[], [T]], "matrix[1] has 1 contexts but matrix[0] has 0: "),
        ([[T, F], [T, F], []], "matrix[2] has 0 contexts but matrix[0] has 2: "),
        ([[T, F], [T], [T, F, F]], "matrix[1] has 1 contexts but matrix[0] has 2: "),
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
    lambda relevant: average_precision_all(relevant, 9),
    lambda relevant: precision_at_k(relevant, 1, denominator="k"),
    lambda relevant: precision_at_k(relevant, 1, denominator="retrieved"),
    lambda relevant: recall_at_k(relevant, 1, 9),
    hit_rate,
    reciprocal_rank,
]
NO_VERDICTS = [2, -1, None, 0.5, "yes", "1", math.nan, [], {}, [True]]


@pytest.mark.parametrize("function", OVER_VERDICTS)
@pytest.mark.parametrize("verdict", NO_VERDICTS)
def test_what_is_no_verdict_is_refused_by_its_place(function, verdict):
    with pytest.raises(ParameterError, match=r"\[2\] is .*: a verdict is True or False"):
        function([T, F, verdict, T])  # beyond k as well: a list is right or it is not


@pytest.mark.parametrize("function", OVER_VERDICTS)
def test_zero_one_and_numpy_booleans_are_verdicts(function):
    expected = function([T, F, T])
    assert function([1, 0, 1]) == expected
    assert function(np.array([True, False, True])) == expected
    assert function((T, F, T)) == expected


def test_options_that_read_alike_are_named_by_the_caller():
    with pytest.raises(TypeError):
        average_precision([T], 1e-10)
    with pytest.raises(TypeError):
        precision_at_k([T], 1, "k")
    with pytest.raises(TypeError):
        ndcg([1], [1], 1, "linear")
    assert precision_at_k(relevant=[T], k=1, denominator="k") == 1.0
    assert average_precision(relevant=[T], epsilon=0.0) == 1.0
    assert ndcg(gains=[1], ideal=[1], k=1, gain="linear") == 1.0


def test_choices_are_compared_by_what_they_say():
    joined = "".join  # strings at other addresses than the literals
    assert precision_at_k([T], 2, denominator=joined(["retri", "eved"])) == 1.0
    assert ndcg([2, 3], gain=joined(["lin", "ear"])) == ndcg([2, 3], gain="linear")


OVER_K = [
    lambda k: precision_at_k([T], k, denominator="k"),
    lambda k: precision_at_k([T], k, denominator="retrieved"),
    lambda k: recall_at_k([T], k, 1),
    lambda k: hit_rate([T], k),
    lambda k: reciprocal_rank([T], k),
    lambda k: ndcg([1], [1], k),
    lambda k: supported_units([[T]], k),
    lambda k: attribution_recall([[T]], k),
]


@pytest.mark.parametrize("function", OVER_K)
@pytest.mark.parametrize("k", [-1, 1.5, 1.0, True, False, "1", math.nan, [1]])
def test_a_k_that_is_no_whole_number_from_zero_is_refused(function, k):
    with pytest.raises(ParameterError, match=r"^k is .*: write a whole number of at least 0$"):
        function(k)


@pytest.mark.parametrize("function", OVER_K)
def test_k_may_be_any_integer_type_and_any_size(function):
    assert function(np.int64(1)) == function(1)
    function(2**80)


@pytest.mark.parametrize("total", [-1, 1.5, True, None, "3"])
def test_a_total_that_is_no_whole_number_is_refused(total):
    with pytest.raises(ParameterError, match="total_relevant is"):
        average_precision_all([F], total)
    with pytest.raises(ParameterError, match="total_relevant is"):
        recall_at_k([F], 1, total)


@pytest.mark.parametrize("total", [0, 1])
def test_a_total_below_the_hits_is_refused(total):
    with pytest.raises(ParameterError, match=f"total_relevant is {total} but 2 of the retrieved"):
        average_precision_all([T, F, T], total)
    with pytest.raises(ParameterError, match=f"total_relevant is {total} but 2 of the retrieved"):
        recall_at_k([T, F, T], 1, total)  # also where the second hit lies beyond k
    assert average_precision_all([T, F, T], 2) is not None


def test_errors_belong_to_the_family_and_have_a_code():
    with pytest.raises(CtxMetricsError) as caught:
        share([2])
    assert caught.value.code == "invalid_parameter"
    assert isinstance(caught.value, ValueError)


def test_every_public_name_exists_and_is_tested_here():
    assert set(formulas.__all__) - set(globals()) == {"IdHits"}
    assert isinstance(id_hits([], []), formulas.IdHits)
