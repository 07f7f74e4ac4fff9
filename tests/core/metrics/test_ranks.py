"""The rank metrics over ids at their edges; the oracles are in tests/core/formulas/test_oracles.py."""

from __future__ import annotations

import math
from time import process_time
from typing import Any

import numpy as np
import pytest

from ctxmetrics import (
    IDBasedAveragePrecision,
    IDBasedCompleteness,
    IDBasedHitRate,
    IDBasedNDCG,
    IDBasedPrecisionAtK,
    IDBasedRecallAtK,
    IDBasedReciprocalRank,
    Sample,
    evaluate,
)
from ctxmetrics.errors import ParameterError, SampleError
from ctxmetrics.metrics.catalog import ALL_METRICS, METRICS

RANKED = Sample(retrieved_context_ids=["x", "a", "b", "a"], reference_context_ids=["a", "b", "c"])
RANK_METRICS = [
    IDBasedAveragePrecision,
    IDBasedCompleteness,
    IDBasedHitRate,
    IDBasedNDCG,
    IDBasedPrecisionAtK,
    IDBasedRecallAtK,
    IDBasedReciprocalRank,
]


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (IDBasedAveragePrecision(), (1 / 2 + 2 / 3) / 3),
        (IDBasedAveragePrecision(top_k=2), (1 / 2) / 3),
        (IDBasedReciprocalRank(), 1 / 2),
        (IDBasedReciprocalRank(top_k=1), 0.0),
        (IDBasedHitRate(), 1.0),
        (IDBasedHitRate(top_k=1), 0.0),
        (IDBasedCompleteness(), 0.0),
        (IDBasedPrecisionAtK(), 2 / 10),
        (IDBasedPrecisionAtK(top_k=2), 1 / 2),
        (IDBasedRecallAtK(), 2 / 3),
        (IDBasedRecallAtK(top_k=2), 1 / 3),
        (IDBasedNDCG(), (1 / math.log2(3) + 1 / 2) / (1 + 1 / math.log2(3) + 1 / 2)),
        (IDBasedNDCG(top_k=2), (1 / math.log2(3)) / (1 + 1 / math.log2(3))),
        (IDBasedNDCG(top_k=0), 0.0),
        (IDBasedPrecisionAtK(convention="aegis"), 20.0),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_values_worked_out_by_hand(metric: Any, expected: float) -> None:
    assert metric.score(RANKED).value == expected


@pytest.mark.parametrize("kind", RANK_METRICS)
def test_empty_sides(kind: Any) -> None:
    assert kind().score(Sample(retrieved_context_ids=[], reference_context_ids=["a"])).value == 0.0
    score = kind().score(Sample(retrieved_context_ids=["a"], reference_context_ids=[]))
    assert (score.value, score.reason_code) == (None, "no_reference")


@pytest.mark.parametrize("convention", ["axion", "ru"])
@pytest.mark.parametrize("kind", RANK_METRICS)
def test_wordings_of_a_recall_are_not_said_of_them(kind: Any, convention: str) -> None:
    assert kind(convention=convention).score(RANKED).band is None


def test_they_are_there_by_name_and_not_used_unless_named() -> None:
    assert {kind.base_name for kind in RANK_METRICS} <= ALL_METRICS.keys() - METRICS.keys()


def test_their_words() -> None:
    assert "2 of 3 retrieved ids relevant" in IDBasedReciprocalRank().score(RANKED).pretty()
    assert "2 of 3 reference ids retrieved" in IDBasedRecallAtK().score(RANKED).pretty()


@pytest.mark.parametrize("kind", [IDBasedPrecisionAtK, IDBasedRecallAtK])
def test_at_k_needs_a_k(kind: Any) -> None:
    with pytest.raises(ParameterError, match=r"top_k=None must be a whole number from 0\.$"):
        kind(top_k=None)


# --- grades ---


def graded(relevance: Any) -> Sample:
    return Sample(
        id="q1",
        retrieved_context_ids=["b", "x", "a"],
        reference_context_ids=["a", "b"],
        labels={"relevance": relevance},
    )


@pytest.mark.parametrize(
    ("relevance", "a", "b"),
    [({"a": 3, "b": 1}, 3, 1), ({"a": 3}, 3, 1), ({"a": 0.5, "b": 2, "z": 0}, 0.5, 2), ({}, 1, 1)],
)
def test_ndcg_is_graded(relevance: Any, a: float, b: float) -> None:
    best, second = max(a, b), min(a, b)
    expected = (b + a / 2) / (best + second / math.log2(3))
    assert IDBasedNDCG().score(graded(relevance)).value == pytest.approx(expected, rel=1e-15)


def test_grades_of_a_table_are_numbers_and_ids() -> None:
    sample = Sample(
        retrieved_context_ids=[7.0, 8],
        reference_context_ids=[7.0, 8.0],
        labels={"relevance": {7.0: np.int64(1), 8.0: np.float32(3)}},
    )
    expected = (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))
    assert IDBasedNDCG().score(sample).value == pytest.approx(expected, rel=1e-15)


def test_ties_of_a_long_list_are_read_once() -> None:
    ids = [f"d{number}" for number in range(40_000)]
    ties = [ids[start : start + 2] for start in range(0, len(ids), 2)]
    sample = Sample(
        retrieved_context_ids=ids, reference_context_ids=["d1"], metadata={"tied_ids": ties}
    )
    start = process_time()
    score = IDBasedReciprocalRank().score(sample)
    assert process_time() - start < 5  # 40 seconds if each tie were looked for in the whole list
    assert score.value == 1 / 2
    assert score.metadata["tie_range"] == (1 / 2, 1.0)


@pytest.mark.parametrize(
    "relevance",
    [
        {"a": 0},
        {"z": 1},
        {"a": -1},
        {"a": "3"},
        {"a": True},
        {"a": math.nan},
        {"a": math.inf},
        ["a"],
        3,
    ],
)
def test_grades_that_say_nothing_are_refused(relevance: Any) -> None:
    with pytest.raises(SampleError, match=r"Sample 'q1': labels\['relevance'\]"):
        IDBasedNDCG().score(graded(relevance))
    (row,) = evaluate([graded(relevance)], [IDBasedNDCG()], progress=False)
    assert row["id_based_ndcg"].reason_code == "metric_error"


@pytest.mark.parametrize(("top_k", "value"), [(None, 1.0), (3, 1.0), (2, 0.0), (0, 0.0)])
def test_all_evidence_is_more_than_any(top_k: int | None, value: float) -> None:
    """Of two hops one stands first and one third: any is there at once, both within three."""
    sample = Sample(retrieved_context_ids=["a", "x", "b"], reference_context_ids=["a", "b"])
    assert IDBasedCompleteness(top_k=top_k).score(sample).value == value
    if top_k:
        assert IDBasedHitRate(top_k=top_k).score(sample).value == 1.0


def test_a_number_of_numpy_becomes_one_of_python() -> None:
    numpy = pytest.importorskip("numpy")
    metric = IDBasedHitRate(top_k=numpy.int64(3), threshold=numpy.float32(0.5))
    assert type(metric.top_k) is int
    assert type(metric.threshold) is float
    assert metric.name == IDBasedHitRate(top_k=3).name
