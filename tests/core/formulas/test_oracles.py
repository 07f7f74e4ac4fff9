"""The formulas against the tools that people compare with: ir-measures, ranx, Ragas and DeepEval, all live.

The values that information retrieval and RAG frameworks publish under one name are pinned here side by side, so
that a change on either side is seen.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from itertools import product

import pytest

import ctxmetrics
from ctxmetrics import (
    IDBasedAveragePrecision,
    IDBasedHitRate,
    IDBasedNDCG,
    IDBasedPrecisionAtK,
    IDBasedRecallAtK,
    IDBasedReciprocalRank,
    Sample,
)
from ctxmetrics.formulas import average_precision, precision_at_k, share
from support.peers import ir_measure

# These live in Ragas' old API alone; its warning points to a place that has none of them.
pytestmark = pytest.mark.filterwarnings("ignore:Importing .* from 'ragas.metrics' is deprecated")

T, F = True, False
EVERY_LIST = [list(verdicts) for length in range(1, 9) for verdicts in product([F, T], repeat=length)]


def seeded_rankings(number=2000):
    """Yield (grades in rank order, grades of every relevant document), half of them binary."""
    source = random.Random(20)
    for index in range(number):
        top = 1 if index % 2 else 4
        gains = [source.randint(0, top) for _ in range(source.randint(1, 15))]
        missing = [source.randint(1, top) for _ in range(source.randint(0, 5))]
        if any(gains) or missing:
            yield gains, [grade for grade in gains if grade] + missing


RANKINGS = list(seeded_rankings())


def as_qrels_and_run(rankings):
    """Write rankings as the two tables of information retrieval tools; unique scores, so no ties."""
    qrels, run = {}, {}
    for index, (gains, ideal) in enumerate(rankings):
        query = f"q{index:04}"
        retrieved = {f"d{rank}": grade for rank, grade in enumerate(gains)}
        positive = [grade for grade in gains if grade]
        missing = ideal[len(positive) :]
        qrels[query] = {doc: grade for doc, grade in retrieved.items() if grade}
        qrels[query].update({f"m{number}": grade for number, grade in enumerate(missing)})
        run[query] = {doc: float(len(gains) - rank) for rank, doc in enumerate(retrieved)}
    return qrels, run


OURS = {
    "P@1": IDBasedPrecisionAtK(top_k=1),
    "P@10": IDBasedPrecisionAtK(),
    "R@3": IDBasedRecallAtK(top_k=3),
    "R@20": IDBasedRecallAtK(top_k=20),
    "RR": IDBasedReciprocalRank(),
    "RR@3": IDBasedReciprocalRank(top_k=3),
    "Success@2": IDBasedHitRate(top_k=2),
    "AP": IDBasedAveragePrecision(),
    "AP@3": IDBasedAveragePrecision(top_k=3),
    "nDCG": IDBasedNDCG(),
    "nDCG@4": IDBasedNDCG(top_k=4),
}


def as_sample(grades, run):
    """Write one query's row of both tables as a sample."""
    ranked = sorted(run, key=run.get, reverse=True)
    return Sample(
        retrieved_context_ids=ranked, reference_context_ids=list(grades), labels={"relevance": grades}
    )


# --- ir-measures (trec_eval) ---


@pytest.mark.slow
@pytest.mark.parametrize("name", OURS)
def test_every_measure_of_ir_measures(name):
    measure = ir_measure(name)
    qrels, run = as_qrels_and_run(RANKINGS)
    theirs = {metric.query_id: metric.value for metric in measure.iter_calc(qrels, run)}
    assert len(theirs) == len(RANKINGS)
    for query, value in theirs.items():
        sample = as_sample(qrels[query], run[query])
        assert OURS[name].score(sample).value == pytest.approx(value, rel=1e-12, abs=1e-15), sample


# --- ranx ---

RANX = {
    "precision@1": "P@1",
    "precision@10": "P@10",
    "recall@3": "R@3",
    "recall@20": "R@20",
    "mrr": "RR",
    "mrr@3": "RR@3",
    "hit_rate@2": "Success@2",
    "map": "AP",
    "ndcg": "nDCG",
    "ndcg@4": "nDCG@4",
}


@pytest.mark.slow  # numba compiles each measure on first use
@pytest.mark.filterwarnings("ignore")  # numba's own type warnings
def test_every_measure_of_ranx():
    ranx = pytest.importorskip("ranx", reason="ranx is an oracle of the dev extra")
    qrels, run = as_qrels_and_run(RANKINGS)
    theirs = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), list(RANX), return_mean=False)
    for name, ours in RANX.items():
        for query, value in zip(sorted(qrels), theirs[name], strict=True):
            sample = as_sample(qrels[query], run[query])
            assert OURS[ours].score(sample).value == pytest.approx(value, rel=1e-12, abs=1e-15), (
                name,
                sample,
            )


# --- where the two tools differ from each other, and from what the frameworks call precision ---


def both_tools(qrels, run):
    """AP and reciprocal rank of one query by ir-measures and by ranx; an exception's name where one is raised."""
    ir_measures = pytest.importorskip("ir_measures", reason="ir-measures is an oracle of the dev extra")
    ranx = pytest.importorskip("ranx", reason="ranx is an oracle of the dev extra")
    ap, rr = ir_measures.AP, ir_measures.RR
    values = ir_measures.calc_aggregate([ap, rr], qrels, run)
    try:
        found = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), ["map", "mrr"])
    except (AssertionError, ValueError) as error:
        found = type(error).__name__
    else:
        found = (float(found["map"]), float(found["mrr"]))
    return (values[ap], values[rr]), found


@pytest.mark.slow  # numba compiles each measure on first use
@pytest.mark.filterwarnings("ignore")
def test_one_of_two_at_rank_2_is_a_quarter_or_a_half():
    qrels, run = {"q": {"a": 1, "z": 1}}, {"q": {"b": 2.0, "a": 1.0}}
    assert both_tools(qrels, run) == ((0.25, 0.5), (0.25, 0.5))
    assert average_precision([F, T]) == 0.5


@pytest.mark.slow  # numba compiles each measure on first use
@pytest.mark.filterwarnings("ignore")
def test_precision_at_10_of_4_is_a_fifth_or_a_half():
    ir_measures = pytest.importorskip("ir_measures", reason="ir-measures is an oracle of the dev extra")
    ranx = pytest.importorskip("ranx", reason="ranx is an oracle of the dev extra")
    qrels, run = {"q": {"a": 1, "c": 1}}, {"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}}
    at_10 = ir_measures.P @ 10
    assert ir_measures.calc_aggregate([at_10], qrels, run)[at_10] == 0.2
    assert float(ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), "precision@10")) == 0.2
    assert precision_at_k([T, F, T, F], 10) == 0.2
    assert share([T, F, T, F]) == 0.5


@pytest.mark.slow  # numba compiles each measure on first use
@pytest.mark.filterwarnings("ignore")
def test_tools_break_ties_differently_so_order_is_ours():
    # Equal scores: trec_eval puts the larger id first, ranx keeps the order of the run.
    qrels = {"q": {"a": 1, "z": 1}}
    assert both_tools(qrels, {"q": {"a": 1.0, "b": 1.0}}) == ((0.25, 0.5), (0.5, 1.0))
    assert both_tools(qrels, {"q": {"b": 1.0, "a": 1.0}}) == ((0.25, 0.5), (0.25, 0.5))


@pytest.mark.slow  # numba compiles each measure on first use
@pytest.mark.filterwarnings("ignore")
def test_the_tools_score_undefined_cases_where_we_have_none():
    # Nothing relevant at all: both say 0.0, which a mean over queries then takes for a failure.
    assert both_tools({"q": {"a": 0}}, {"q": {"a": 1.0}}) == ((0.0, 0.0), (0.0, 0.0))
    nothing_relevant = Sample(retrieved_context_ids=["a"], reference_context_ids=[])
    assert IDBasedReciprocalRank().score(nothing_relevant).value is None
    # Nothing retrieved: ir-measures says 0.0 and ranx cannot build the table.
    assert both_tools({"q": {"a": 1}}, {"q": {}}) == ((0.0, 0.0), "ValueError")
    nothing_retrieved = Sample(retrieved_context_ids=[], reference_context_ids=["a"])
    assert IDBasedReciprocalRank().score(nothing_retrieved).value == 0.0
    # A query that the run lacks: ir-measures counts 0.0, ranx refuses unless told to.
    assert both_tools({"q": {"a": 1}, "r": {"b": 1}}, {"q": {"a": 1.0}}) == (
        (0.5, 0.5),
        "AssertionError",
    )


# --- Ragas ---

# Since Python 3.12 the built-in sum, which Ragas uses, is compensated and may end in another last bit.
SAME_BITS = sys.version_info < (3, 12)


def same(ours, theirs):
    return ours == theirs if SAME_BITS else ours == pytest.approx(theirs, rel=1e-15)


@pytest.fixture(scope="module")
def ragas_average_precisions():
    """Every copy of the algorithm in Ragas, as functions of a list of 0 and 1."""
    pytest.importorskip("ragas", reason="the ragas extra is not installed")
    from ragas.metrics import LLMContextPrecisionWithReference, NonLLMContextPrecisionWithReference
    from ragas.metrics._context_precision import Verification
    from ragas.metrics.collections import (
        ContextPrecisionWithoutReference,
        ContextPrecisionWithReference,
    )

    judged = LLMContextPrecisionWithReference()
    return {
        "judged": lambda verdicts: judged._calculate_average_precision(
            [Verification(reason="", verdict=verdict) for verdict in verdicts]
        ),
        "strings": NonLLMContextPrecisionWithReference()._calculate_average_precision,
        "collections": lambda v: ContextPrecisionWithReference._calculate_average_precision(None, v),
        "utilization": lambda v: ContextPrecisionWithoutReference._calculate_average_precision(None, v),
    }


@pytest.mark.parametrize("copy", ["judged", "strings", "collections", "utilization"])
def test_epsilon_gives_ragas_bit_for_bit(ragas_average_precisions, copy):
    source = random.Random(7)
    long = [[source.random() < 0.4 for _ in range(source.randint(9, 60))] for _ in range(300)]
    for verdicts in EVERY_LIST + long:
        theirs = ragas_average_precisions[copy]([int(verdict) for verdict in verdicts])
        assert same(average_precision(verdicts, epsilon=1e-10), theirs), verdicts


def test_ragas_recall_is_the_share():
    pytest.importorskip("ragas", reason="the ragas extra is not installed")
    from ragas.metrics import LLMContextRecall
    from ragas.metrics._context_recall import ContextRecallClassification

    metric = LLMContextRecall()
    for verdicts in EVERY_LIST:
        judged = [
            ContextRecallClassification(statement="", reason="", attributed=int(verdict))
            for verdict in verdicts
        ]
        assert share(verdicts) == metric._compute_score(judged)


def test_ragas_id_metrics_are_the_set_formulas():
    pytest.importorskip("ragas", reason="the ragas extra is not installed")
    from ragas import SingleTurnSample
    from ragas.metrics import IDBasedContextPrecision, IDBasedContextRecall

    async def theirs(metric, sample):
        return await metric._single_turn_ascore(sample, None)

    source = random.Random(3)
    for _ in range(200):
        retrieved = source.choices("abcdef", k=source.randint(0, 6))
        reference = source.choices("abcdef", k=source.randint(0, 6))
        sample = SingleTurnSample(retrieved_context_ids=retrieved, reference_context_ids=reference)
        own = Sample(retrieved_context_ids=retrieved, reference_context_ids=reference)
        for ours, metric in (
            (ctxmetrics.IDBasedContextRecall(convention="ragas"), IDBasedContextRecall()),
            (ctxmetrics.IDBasedContextPrecision(convention="ragas"), IDBasedContextPrecision()),
        ):
            value = asyncio.run(theirs(metric, sample))
            expected = None if value != value else value  # noqa: PLR0124 - NaN is their undefined
            assert ours.score(own).value == expected


# --- DeepEval ---


@pytest.fixture(scope="module")
def deepeval_scores():
    """Run DeepEval's two metrics with a model that gives the verdicts it is told."""
    os.environ.setdefault("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")
    pytest.importorskip("deepeval", reason="the deepeval extra is not installed")
    from deepeval.metrics import ContextualPrecisionMetric, ContextualRecallMetric
    from deepeval.models import DeepEvalBaseLLM
    from deepeval.test_case import LLMTestCase

    class Told(DeepEvalBaseLLM):
        verdicts: list[bool] = []  # noqa: RUF012 - set anew for every measurement

        def load_model(self):
            return self

        def get_model_name(self):
            return "told"

        def generate(self, prompt, schema):
            return schema(
                verdicts=[
                    {"verdict": "yes" if verdict else "no", "reason": "", "expected_output": ""}
                    for verdict in self.verdicts
                ]
            )

        async def a_generate(self, prompt, schema):
            return self.generate(prompt, schema)

    model = Told()
    options = {"model": model, "include_reason": False, "async_mode": False}
    metrics = ContextualRecallMetric(**options), ContextualPrecisionMetric(**options)

    def scores(verdicts):
        model.verdicts = verdicts
        case = LLMTestCase(
            input="question",
            actual_output="answer",
            expected_output="answer",
            retrieval_context=[f"context {number}" for number in range(len(verdicts))],
        )
        return tuple(metric.measure(case, _show_indicator=False) for metric in metrics)

    return scores


@pytest.mark.slow
def test_deepeval_recall_is_share_and_precision_is_average(deepeval_scores):
    for verdicts in EVERY_LIST:
        assert deepeval_scores(verdicts) == (share(verdicts), average_precision(verdicts)), verdicts


def test_the_last_ten_billionth_between_ragas_and_deepeval(deepeval_scores, ragas_average_precisions):
    perfect = [T, T, T]
    assert deepeval_scores(perfect)[1] == 1.0 == average_precision(perfect)
    assert ragas_average_precisions["judged"]([1, 1, 1]) == 0.9999999999666667
    assert average_precision(perfect, epsilon=1e-10) == 0.9999999999666667


def test_what_the_frameworks_accept_as_a_verdict_is_refused_here(ragas_average_precisions):
    assert ragas_average_precisions["collections"]([2, 0, 0]) == 1.9999999999
    with pytest.raises(ValueError, match="a verdict is True or False"):
        average_precision([2, 0, 0])
