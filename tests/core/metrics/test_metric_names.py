"""Metrics by what people call them: the same on the command line, in Python and in adapters."""

from __future__ import annotations

import pytest

from ctxmetrics import (
    ContextRecall,
    IDBasedAveragePrecision,
    IDBasedHitRate,
    IDBasedNDCG,
    IDBasedPrecisionAtK,
    IDBasedRecallAtK,
    IDBasedReciprocalRank,
)
from ctxmetrics.errors import ParameterError
from ctxmetrics.metrics.catalog import ALL_METRICS
from ctxmetrics.metrics.metric_names import find_near_metrics, list_possible_names, read_metric


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        ("context_recall", ContextRecall()),
        ("ContextRecall", ContextRecall()),
        ("context-recall@5", ContextRecall(top_k=5)),
        ("context_recall(top_k=5)", ContextRecall(top_k=5)),
        ("Context Recall (unit=fact)", ContextRecall(unit="fact")),
        ("ndcg", IDBasedNDCG()),
        ("ndcg@10", IDBasedNDCG(top_k=10)),
        ("nDCG@10", IDBasedNDCG(top_k=10)),
        ("ndcg_cut_10", IDBasedNDCG(top_k=10)),
        ("ndcg@10(threshold=.5)", IDBasedNDCG(top_k=10, threshold=0.5)),
        ("mrr", IDBasedReciprocalRank()),
        ("MRR@10", IDBasedReciprocalRank(top_k=10)),
        ("recip_rank", IDBasedReciprocalRank()),
        ("map", IDBasedAveragePrecision()),
        ("p@5", IDBasedPrecisionAtK(top_k=5)),
        ("P_5", IDBasedPrecisionAtK(top_k=5)),
        ("r@5", IDBasedRecallAtK(top_k=5)),
        ("hit_rate@3", IDBasedHitRate(top_k=3)),
        ("success@3", IDBasedHitRate(top_k=3)),
    ],
)
def test_a_name_with_one_meaning_is_understood(text, metric):
    assert read_metric(text) == metric
    assert list_possible_names(text) == (metric.name,)


@pytest.mark.parametrize(
    ("text", "meanings"),
    [
        ("recall", ("context_recall", "id_based_context_recall")),
        ("Recall@5", ("context_recall(top_k=5)", "id_based_recall_at_k(top_k=5)")),
        ("recall_at_5", ("context_recall(top_k=5)", "id_based_recall_at_k(top_k=5)")),
        ("precision@3", ("context_precision(top_k=3)", "id_based_precision_at_k(top_k=3)")),
    ],
)
def test_a_name_with_two_meanings_is_refused_with_both(text, meanings):
    with pytest.raises(ParameterError) as error:
        read_metric(text)
    for name in meanings:
        assert repr(name) in str(error.value)
        read_metric(name)
    assert list_possible_names(text) == meanings


@pytest.mark.parametrize("text", ["faithfulness", "p", "r", "bleu@4", "mrp", "", "a b c"])
def test_where_no_name_is_near_none_is_suggested(text):
    with pytest.raises(ParameterError, match="is unknown\\. Choose from: context_recall"):
        read_metric(text)
    assert list_possible_names(text) == find_near_metrics(text) == ()


def test_every_name_of_the_catalog_is_read_unchanged():
    for name, kind in ALL_METRICS.items():
        assert type(read_metric(name)) is kind
        assert type(read_metric(kind.__name__)) is kind


def test_k_is_written_once():
    with pytest.raises(ParameterError, match="k stands there twice"):
        read_metric("ndcg@10(top_k=5)")


def test_the_convention_is_that_of_the_text_first():
    assert read_metric("context_recall", "aegis").convention == "aegis"
    assert read_metric("context_recall(convention=deepeval)", "aegis").convention == "deepeval"
