"""The similarity matrix against rapidfuzz asked pair by pair, against Ragas live, and at its edges."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import math
import pickle
import random
import subprocess
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from rapidfuzz import distance, process

from ctxmetrics import NonLLMContextPrecision, NonLLMContextRecall, Sample, score_table
from ctxmetrics.errors import ParameterError
from ctxmetrics.formulas import average_precision, share
from ctxmetrics.metrics.similarity import (
    MEASURES,
    MEMORY,
    Match,
    compare_texts,
    find_best_matches,
)
from ctxmetrics.verdicts import Verdict
from support.cases import each_case

NAMES = list(MEASURES)
ASKED = {
    "levenshtein": distance.Levenshtein,
    "hamming": distance.Hamming,
    "jaro": distance.Jaro,
    "jaro_winkler": distance.JaroWinkler,
}


def pairwise(retrieved, references, measure):
    """Ragas' definition, one pair at a time and without a cutoff."""
    ask = ASKED[measure].normalized_distance
    return tuple(tuple(1 - ask(row, column) for column in references) for row in retrieved)


def matrix_of(retrieved, references, measure="levenshtein", cutoff=0.0):
    """The similarities and the best matches, computed anew."""
    MEMORY.clear()
    best = find_best_matches(retrieved, references, measure, cutoff)
    found = compare_texts(retrieved, references, measure, cutoff)
    rows = tuple(tuple(value if value >= cutoff else None for value in row) for row in found)
    return SimpleNamespace(
        rows=rows, for_references=best.for_references, for_retrieved=best.for_retrieved
    )


@pytest.fixture(autouse=True)
def _nothing_remembered():
    MEMORY.clear()


# --- values ---


def test_published_values():
    # Ragas' documentation of the string variants; the similarities are rapidfuzz's.
    retrieved = ["Paris is the capital of France."]
    references = [
        "Paris is the capital of France.",
        "The Eiffel Tower is one of the most famous landmarks in Paris.",
    ]
    matrix = matrix_of(retrieved, references)
    assert matrix.rows == ((1.0, pytest.approx(0.2258, abs=5e-5)),)
    assert share([best.similarity >= 0.5 for best in matrix.for_references]) == 0.5

    tower = matrix_of(["The Eiffel Tower is located in Paris."], references, cutoff=0.5)
    assert tower.for_retrieved == (Match(1, pytest.approx(0.5484, abs=5e-5)),)


@pytest.mark.parametrize(
    ("measure", "one", "other", "expected"),
    [
        ("levenshtein", "kitten", "sitting", 1 - 3 / 7),
        ("levenshtein", "ab", "ac", 0.5),
        ("levenshtein", "abc", "", 0.0),
        ("hamming", "karolin", "kathrin", 1 - 3 / 7),
        ("hamming", "abc", "abcd", 0.75),  # a missing character counts as a difference
        ("jaro", "MARTHA", "MARHTA", (1 + 1 + 5 / 6) / 3),
        ("jaro", "DIXON", "DICKSONX", (4 / 5 + 4 / 8 + 1) / 3),
        ("jaro_winkler", "MARTHA", "MARHTA", (17 / 18) + 3 * 0.1 * (1 - 17 / 18)),
        ("jaro", "", "a", 0.0),
        ("hamming", "", "a", 0.0),
    ],
)
def test_textbook_values(measure, one, other, expected):
    assert matrix_of([one], [other], measure).rows[0][0] == pytest.approx(expected, abs=1e-15)


@each_case("measure", NAMES)
@each_case("cutoff", [0.0, 0.5, 1.0])
@each_case("text", ["", "a", "Paris", "\ud800", "e\u0301 ☃ 😀", "x" * 30_000])
def test_equal_texts_are_1(measure, cutoff, text):
    matrix = matrix_of([text], [text], measure, cutoff)
    assert matrix.rows == ((1.0,),)
    assert matrix.for_references == matrix.for_retrieved == (Match(0, 1.0),)


@pytest.mark.parametrize("measure", NAMES)
def test_texts_are_compared_as_they_are(measure):
    composed, decomposed = "café au lait", unicodedata.normalize("NFD", "café au lait")
    texts = [composed, decomposed, composed.upper(), f" {composed} "]
    matrix = matrix_of(texts, texts, measure)
    assert matrix.rows == pairwise(texts, texts, measure)
    assert all(matrix.rows[0][column] < 1.0 for column in (1, 2, 3))


@pytest.mark.parametrize("measure", NAMES)
def test_long_texts(measure):
    source = random.Random(5)
    long = "".join(source.choices("abcdefgh ", k=21_000))
    texts = [long, long[:-500] + "ü" * 500, long[::-1], ""]
    for cutoff in (0.0, 0.6, 0.9):
        matrix = matrix_of(texts, texts[:2], measure, cutoff)
        exact = pairwise(texts, texts[:2], measure)
        assert matrix.rows == tuple(tuple(v if v >= cutoff else None for v in row) for row in exact)


# --- cutoff ---


@pytest.mark.parametrize("measure", NAMES)
def test_a_similarity_exactly_on_the_cutoff_counts(measure):
    source = random.Random(11)
    on_the_cutoff = 0
    for _ in range(1500):
        text = "".join(source.choices("ab猫😀 ", k=source.randint(2, 90)))
        other = "".join(char if source.random() < 0.7 else "z" for char in text)
        exact = pairwise([text], [other], measure)[0][0]
        if 0 < exact < 1:
            on_the_cutoff += 1
            assert matrix_of([text], [other], measure, exact).rows[0][0] == exact
            above = math.nextafter(exact, 2.0)
            assert matrix_of([text], [other], measure, above).rows[0][0] is None
    assert on_the_cutoff > 1000


@pytest.mark.parametrize("measure", NAMES)
def test_verdicts_and_values_do_not_depend_on_the_cutoff(measure):
    source = random.Random(2)
    compared = 0
    for round_number in range(60):
        length = (12, 70, 300)[round_number % 3]
        retrieved, references = [], []
        for _ in range(8):
            text = source.choices("abcé猫😀 ", k=source.randint(0, length))
            changed = [char if source.random() < source.random() else "d" for char in text]
            retrieved.append("".join(text))
            references.append("".join(changed[: source.randint(len(changed) // 2, len(changed))]))
        exact = pairwise(retrieved, references, measure)
        on_a_value = [value for row in exact for value in row if value > 0][:8]
        for cutoff in [step / 20 for step in range(1, 21)] + on_a_value:
            rows = matrix_of(retrieved, references, measure, cutoff).rows
            expected = tuple(tuple(v if v >= cutoff else None for v in row) for row in exact)
            assert rows == expected
            compared += 64
    assert compared > 90_000


def test_rapidfuzz_alone_loses_pairs_on_the_cutoff():
    # Why the similarities are compared with the cutoff here, and rapidfuzz gets a slightly lower one.
    lost = 0
    for numerator in range(1, 60):
        one, other = "a" * 60, "a" * numerator + "b" * (60 - numerator)
        exact = 1 - distance.Levenshtein.normalized_distance(one, other)
        found = 1 - process.cdist(
            [one],
            [other],
            scorer=ASKED["levenshtein"].normalized_distance,
            score_cutoff=1 - exact,
            dtype=np.float64,
        )
        lost += found[0, 0] != exact
        assert matrix_of([one], [other], cutoff=exact).rows[0][0] == exact
    assert lost > 0


@pytest.mark.parametrize("cutoff", [1e-9, 1e-6, 2e-6])
def test_a_tiny_cutoff_drops_only_zero(cutoff):
    assert matrix_of(["abc"], ["xyz", "axx"], cutoff=cutoff).rows == ((None, 1 - 2 / 3),)


def test_below_the_cutoff_there_is_no_best_match():
    matrix = matrix_of(["abcd", "wxyz"], ["abce", "mnop"], cutoff=0.5)
    assert matrix.for_references == (Match(0, 0.75), None)
    assert matrix.for_retrieved == (Match(0, 0.75), None)
    assert matrix.rows == ((0.75, None), (None, None))


# --- best matches, shapes ---


def test_the_best_match_is_the_highest_and_the_first_on_a_tie():
    matrix = matrix_of(["xbc", "abx", "abc", "abc"], ["abc", "zzz"])
    assert matrix.for_references == (Match(2, 1.0), Match(0, 0.0))
    tie = matrix_of(["abx", "abc!"], ["aby", "abz", "aby"])
    assert tie.for_retrieved == (Match(0, 1 - 1 / 3), Match(0, 0.5))
    assert tie.for_references == (Match(0, 1 - 1 / 3),) * 3


def test_rows_are_retrieved_and_columns_are_references():
    matrix = matrix_of(["ab", "cd", "cf"], ["ab", "ce"])
    assert matrix.rows == ((1.0, 0.0), (0.0, 0.5), (0.0, 0.5))
    assert (matrix.rows[1][1], matrix.rows[0][1]) == (0.5, 0.0)
    with pytest.raises(IndexError):
        matrix.rows[3][0]


@pytest.mark.parametrize("measure", [*NAMES, lambda one, other: 0.5])
def test_empty_sides(measure):
    nothing = matrix_of([], [], measure)
    assert (nothing.rows, nothing.for_references, nothing.for_retrieved) == ((), (), ())
    no_references = matrix_of(["a", "b"], [], measure)
    assert no_references.for_retrieved == (None, None)
    assert no_references.for_references == ()
    assert no_references.rows == ((), ())
    nothing_retrieved = matrix_of([], ["a", "b", "a"], measure)
    assert nothing_retrieved.for_references == (None, None, None)
    assert nothing_retrieved.for_retrieved == ()


# --- each distinct pair once, a text never with itself ---


@pytest.fixture
def compared(monkeypatch):
    """Record the pairs that are handed to rapidfuzz."""
    pairs = []
    real = process.cdist

    def recording(rows, columns, **options):
        pairs.extend((row, column) for row in rows for column in columns)
        return real(rows, columns, **options)

    monkeypatch.setattr(process, "cdist", recording)
    return pairs


def test_each_pair_of_distinct_texts_is_compared_once(compared):
    find_best_matches(["a", "b", "a", "a"], ["d", "c", "c", "e"], "levenshtein", 0.0)
    assert sorted(compared) == [(row, column) for row in "ab" for column in "cde"]


def test_texts_on_both_sides_are_not_compared_with_each_other(compared):
    best = find_best_matches(["a", "b", "ax", "a"], ["b", "a", "c"], "levenshtein", 0.5)
    assert sorted(compared) == [("a", "c"), ("ax", "a"), ("ax", "b"), ("ax", "c"), ("b", "c")]
    assert best.for_retrieved == (Match(1, 1.0), Match(0, 1.0), Match(1, 0.5), Match(1, 1.0))
    assert best.for_references == (Match(1, 1.0), Match(0, 1.0), None)
    del compared[:]
    assert find_best_matches(["a", "b"], ["b", "a", "a"], "levenshtein", 0.5).for_references[
        2
    ] == Match(0, 1.0)
    assert not compared


def test_open_text_is_compared_no_further_than_necessary(monkeypatch):
    cutoffs = []
    real = process.cdist

    def recording(rows, columns, **options):
        cutoffs.append((*rows, *columns, options["score_cutoff"]))
        return real(rows, columns, **options)

    monkeypatch.setattr(process, "cdist", recording)
    best = find_best_matches(
        ["abcdefghij", "0123456789"], ["abcdefghiX", "0123456789"], "levenshtein", 0.5
    )
    assert best.for_retrieved == (Match(0, 0.9), Match(1, 1.0))
    assert best.for_references == (Match(0, 0.9), Match(1, 1.0))
    assert cutoffs == [
        ("abcdefghij", "abcdefghiX", pytest.approx(0.5, abs=1e-5)),
        ("abcdefghij", "0123456789", pytest.approx(0.1, abs=1e-5)),
        ("0123456789", "abcdefghiX", pytest.approx(0.1, abs=1e-5)),
    ]


def test_what_is_above_the_cutoff_is_not_compared_any_further(compared):
    found = find_best_matches(["a", "bcd", "x"], ["a", "bce", "y"], "levenshtein", 0.5, best=False)
    assert found.for_retrieved == (Match(0, 1.0), Match(1, 1 - 1 / 3), None)
    assert found.for_references == (Match(0, 1.0), Match(1, 1 - 1 / 3), None)
    assert sorted(compared) == [
        ("a", "y"),
        ("bcd", "bce"),
        ("bcd", "y"),
        ("x", "a"),
        ("x", "bce"),
        ("x", "y"),
    ]


def test_metrics_of_a_table_share_the_comparisons_of_a_row(compared):
    pl = pytest.importorskip("polars")
    table = pl.DataFrame(
        {"retrieved_contexts": [["a b", "c d"]], "reference_contexts": [["a c", "x y"]]}
    )
    metrics = [NonLLMContextRecall(), NonLLMContextPrecision(), NonLLMContextPrecision(formula="share")]
    scored = score_table(table, metrics, progress=False)
    assert sorted(compared) == [("a b", "a c"), ("a b", "x y"), ("c d", "a c"), ("c d", "x y")]
    # "a b" and "a c" share two of three characters; "c d" and "a c" share one.
    assert [scored[metric.name].to_list() for metric in metrics] == [[0.5], [1.0], [0.5]]


def test_metric_with_own_comparison_is_asked_for_tables_too():
    pl = pytest.importorskip("polars")

    class Never(NonLLMContextRecall):
        def compare(self, retrieved, reference):
            return 0.25, []

    texts = {"retrieved_contexts": [["a b"]], "reference_contexts": [["a b"]]}
    assert score_table(pl.DataFrame(texts), [Never()], progress=False)[Never().name].to_list() == [0.25]


# --- callables ---


def test_a_callable_is_asked_once_per_distinct_pair_and_in_order():
    asked = []

    def half(retrieved, reference):
        asked.append((retrieved, reference))
        return 0.5

    best = find_best_matches(["a", "b", "a"], ["a", "c", "c"], half, cutoff=0.25)
    assert asked == [("a", "a"), ("a", "c"), ("b", "a"), ("b", "c")]
    assert best.for_retrieved == (Match(0, 0.5),) * 3


def test_the_cutoff_applies_to_a_callable():
    matrix = matrix_of(["a", "bb"], ["c"], lambda one, _: len(one) / 4, cutoff=0.5)
    assert matrix.rows == ((None,), (0.5,))


@pytest.mark.parametrize(
    "value", [0, 1, True, 0.0, 1.0, Fraction(1, 2), np.float64(0.5), np.float32(0.5)]
)
def test_a_callable_may_return_any_number_in_range(value):
    found = matrix_of(["a"], ["b"], lambda *_: value).rows[0][0]
    assert found == float(value)
    assert type(found) is float


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, math.inf, None, "0.5", [0.5], 1j, -1])
def test_a_callable_that_returns_something_else_is_named(value):
    def my_measure(one, other):
        return value

    with pytest.raises(
        ParameterError, match=r"my_measure returned .*: it must return a number in 0\.\.1"
    ):
        matrix_of(["a"], ["b"], my_measure)


def test_an_exception_of_a_callable_is_its_own():
    def broken(one, other):
        raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            find_best_matches(["a"], ["b"], broken)


# --- the memory ---


def test_recall_and_precision_compute_it_once(compared):
    first = find_best_matches(["abc", "abd"], ["abe"], "levenshtein", 0.5)
    number = len(compared)
    assert number == 2
    assert find_best_matches(("abc", "abd"), ("abe",), "levenshtein", 0.5) is first
    assert len(compared) == number
    assert first.for_references == matrix_of(["abc", "abd"], ["abe"], "levenshtein", 0.5).for_references


def test_everything_that_changes_the_matrix_is_in_its_key():
    calls = [
        (["ab", "c"], ["d"], "levenshtein", 0.5),
        (["a", "bc"], ["d"], "levenshtein", 0.5),
        (["abc"], ["d"], "levenshtein", 0.5),
        (["ab"], ["c", "d"], "levenshtein", 0.5),
        (["c", "ab"], ["d"], "levenshtein", 0.5),
        (["d"], ["ab", "c"], "levenshtein", 0.5),
        (["ab", "c"], ["d"], "jaro", 0.5),
        (["ab", "c"], ["d"], "levenshtein", 0.6),
        (["ab", "c", ""], ["d"], "levenshtein", 0.5),
        (["d", "c"], ["d"], "levenshtein", 0.5),
        (["\ud800", "c"], ["d"], "levenshtein", 0.5),
        (["?", "c"], ["d"], "levenshtein", 0.5),
        (["ab", "c"], ["d"], lambda *_: 0.5, 0.5),
    ]
    matrices = [find_best_matches(*call) for call in calls]
    assert len({id(matrix) for matrix in matrices}) == len(calls)
    for call, matrix in zip(calls, matrices, strict=True):
        assert find_best_matches(*call) is matrix


def test_an_unhashable_callable_is_asked_every_time():
    class Measure:
        __hash__ = None
        asked = 0

        def __call__(self, one, other):
            self.asked += 1
            return 0.5

    measure = Measure()
    for _ in range(2):
        assert find_best_matches(["a"], ["b"], measure).for_retrieved == (Match(0, 0.5),)
    assert measure.asked == 2


def test_a_failure_is_not_remembered():
    values = iter([7.0, 0.5])

    def measure(one, other):
        return next(values)

    with pytest.raises(ParameterError):
        find_best_matches(["a"], ["b"], measure)
    assert find_best_matches(["a"], ["b"], measure).for_retrieved == (Match(0, 0.5),)


def test_many_threads_and_many_keys():
    texts = [f"text {number}" for number in range(30)]

    def work(seed):
        source = random.Random(seed)
        for _ in range(100):
            number = source.randrange(30)
            matrix = find_best_matches([texts[number]], texts[:5], "levenshtein", 0.5)
            (row,) = compare_texts([texts[number]], texts[:5], "levenshtein", 0.5)
            assert matrix.for_retrieved == (Match(row.index(max(row)), max(row)),)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


# --- imports ---


def test_importing_the_module_loads_neither_numpy_nor_rapidfuzz():
    code = "import sys, ctxmetrics.metrics.similarity; print(sorted({'numpy', 'rapidfuzz'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- Ragas, live ---


@pytest.mark.parametrize("measure", NAMES)
def test_ragas_similarity_recall_and_precision(measure):
    pytest.importorskip("ragas", reason="the ragas extra is not installed")
    from ragas import SingleTurnSample
    from ragas.metrics._context_precision import NonLLMContextPrecisionWithReference
    from ragas.metrics._context_recall import NonLLMContextRecall
    from ragas.metrics._string import DistanceMeasure, NonLLMStringSimilarity

    async def ragas(sample, threshold):
        enumerated = DistanceMeasure(measure)
        recall = NonLLMContextRecall(threshold=threshold)
        recall.distance_measure = enumerated
        precision = NonLLMContextPrecisionWithReference(
            distance_measure=NonLLMStringSimilarity(distance_measure=enumerated), threshold=threshold
        )
        return (
            await recall._single_turn_ascore(sample, None),
            await precision._single_turn_ascore(sample, None),
        )

    source = random.Random(17)
    seen = set()
    for _ in range(150):
        texts = ["".join(source.choices("abé ", k=source.randint(0, 6))) for _ in range(8)]
        retrieved, references = texts[: source.randint(1, 5)], texts[-source.randint(1, 5) :]
        threshold = source.choice([0.2, 0.25, 1 / 3, 0.5, 0.6, 2 / 3, 0.75, 0.9, 1.0])
        sample = SingleTurnSample(retrieved_contexts=retrieved, reference_contexts=references)
        recall, precision = asyncio.run(ragas(sample, threshold))
        matrix = matrix_of(retrieved, references, measure, threshold)
        found = [best and best.similarity for best in matrix.for_references]
        relevant = [best and best.similarity for best in matrix.for_retrieved]
        assert share([value is not None and value > threshold for value in found]) == recall
        verdicts = [value is not None for value in relevant]
        # Python 3.12's compensated sum may change Ragas' last bit.
        assert average_precision(verdicts, epsilon=1e-10) == pytest.approx(precision, rel=1e-15)
        seen.add((recall, precision))
    assert len(seen) > 20


# --- verdicts on demand ---


@pytest.mark.parametrize(
    "read",
    [
        lambda score: score,
        copy.copy,
        copy.deepcopy,
        lambda score: pickle.loads(pickle.dumps(score)),  # noqa: S301 - our own
        dataclasses.replace,
    ],
    ids=["itself", "copy", "deepcopy", "pickle", "replace"],
)
def test_verdicts_are_made_once_when_they_are_first_read(read):
    calls = []

    def make():
        calls.append(1)
        return [Verdict(id="r1", value=True)]

    metric = NonLLMContextRecall()
    score = metric.make_score(Sample(), 1.0, make)
    assert (score.value, score.metric) == (1.0, "non_llm_context_recall")
    assert calls == []
    assert read(score).verdicts == (Verdict(id="r1", value=True),)
    assert score.verdicts is score.verdicts
    assert score == metric.make_score(Sample(), 1.0, [Verdict(id="r1", value=True)])
    assert calls == [1]


def test_verdicts_cannot_be_set():
    score = NonLLMContextRecall().make_score(Sample(), 1.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        score.verdicts = ()


# --- what is compared ---


def changed(text, source, count):
    places = set(source.sample(range(len(text)), count))
    return "".join("z" if place in places else char for place, char in enumerate(text))


@pytest.mark.slow  # half a million pairs, one by one
def test_half_a_million_pairs_at_the_cut_follow_the_definition():
    source, pairs = random.Random(17), 0
    while pairs < 500_000:
        measure, length = source.choice(NAMES), source.choice((8, 20, 33, 70))
        text = "".join(source.choices("abcé猫 ", k=length))
        near = [changed(text, source, length // 2 + source.choice((-1, 0, 0, 0, 1))) for _ in range(16)]
        retrieved, references = [*near[:7], *near[10:13]], [*near[3:10], *near[13:]]
        exact = pairwise(retrieved, references, measure)
        on_it = source.choice([value for row in exact for value in row if value < 1] or [0.5])
        cutoff = source.choice((0.5, on_it, math.nextafter(on_it, 0), math.nextafter(on_it, 1)))
        found = find_best_matches(retrieved, references, measure, cutoff)
        deciding = find_best_matches(retrieved, references, measure, cutoff, best=False)
        for lines, matches, enough in (
            (exact, found.for_retrieved, deciding.for_retrieved),
            (list(zip(*exact, strict=True)), found.for_references, deciding.for_references),
        ):
            expected = [Match(line.index(max(line)), max(line)) for line in lines]
            values = [-1.0 if match is None else match.similarity for match in enough]
            assert list(matches) == [best if best.similarity >= cutoff else None for best in expected]
            assert [value >= cutoff for value in values] == [
                best.similarity >= cutoff for best in expected
            ]
            assert [value > cutoff for value in values] == [
                best.similarity > cutoff for best in expected
            ]
        pairs += len(retrieved) * len(references)


def test_explain_compares_all_and_moves_no_verdict():
    sample = Sample(
        retrieved_contexts=["The tower is in Paris.", "abcdefgh"],
        reference_contexts=["The tower is in Paris.", "abcxxxxx", "abcdeXXX"],
    )
    for kind in (NonLLMContextRecall, NonLLMContextPrecision):
        plain, explained = (kind(explain=explain).score(sample) for explain in (False, True))
        assert explained.value == plain.value
        assert [verdict.value for verdict in explained.verdicts] == [
            verdict.value for verdict in plain.verdicts
        ]
    plain, explained = (NonLLMContextRecall(explain=explain).score(sample) for explain in (False, True))
    assert plain.verdicts[1].reason == "no retrieved context reaches a similarity of 0.5"
    assert explained.verdicts[1].reason == (
        "no retrieved context reaches a similarity of 0.5; most like retrieved context 2, similarity 0.375"
    )
    assert explained.verdicts[1].details == {
        "best_match": 1, "similarity": 0.375, "below_cutoff": True, "min_similarity": 0.5,
    }  # fmt: skip
    assert not explained.verdicts[1].evidence


@pytest.mark.parametrize("number", [80, 10**400])
def test_an_integer_off_the_scale_is_shown_as_written(number):
    with pytest.raises(
        ParameterError, match=rf"min_similarity={number} must be a number from 0 to 1\."
    ):
        NonLLMContextRecall(min_similarity=number)
