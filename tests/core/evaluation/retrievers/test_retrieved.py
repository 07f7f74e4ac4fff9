"""What retrievers return, in the forms of stores and frameworks, read as ranked contexts."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from ctxmetrics import Sample
from ctxmetrics.errors import SampleError
from ctxmetrics.evaluation.retrievers.retrieved import build_sample, read_retrieved

A, B = "A text of one.", "B text of two."


@dataclass
class Document:
    page_content: str
    id: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class Point:
    """A hit of Qdrant."""

    id: int
    score: float
    payload: dict[str, Any]


def read(value: Any, k: int = 10, **fields: Any) -> tuple[Any, Any]:
    question = Sample(user_input="q", **(fields or {"reference": "r"}))
    sample = build_sample(question, read_retrieved(value), k)
    return sample.retrieved_contexts, sample.retrieved_context_ids


TEXTS = (A, B)
FORMS: dict[str, tuple[Any, Any]] = {
    "texts": ([A, B], None),
    "a tuple": ((A, B), None),
    "a generator": ((text for text in (A, B)), None),
    "an array": (np.array([A, B]), None),
    "documents of LangChain": ([Document(A, "1"), Document(B, "2")], ("1", "2")),
    "documents with scores": ([(Document(A, "1"), 0.9), (Document(B, "2"), 0.1)], ("1", "2")),
    "texts with scores": ([(A, 0.1), (B, 0.9)], None),
    "texts and scores apart": (([A, B], [0.9, 0.1]), None),
    "mappings": ([{"id": 7, "text": A}, {"id": 8, "text": B}], ("7", "8")),
    "ours": ({"contexts": [A, B], "ids": ["1", "2"]}, ("1", "2")),
    "Haystack's component": ({"documents": [SimpleNamespace(content=A), SimpleNamespace(content=B)]}, None),
    "Haystack's pipeline": ({"ranker": {"documents": [{"content": A}, {"content": B}]}}, None),
    "LlamaIndex' response": (
        SimpleNamespace(source_nodes=[SimpleNamespace(text=A), SimpleNamespace(text=B)]),
        None,
    ),
    "Qdrant": (
        SimpleNamespace(points=[Point(3, 0.9, {"text": A}), Point(4, 0.8, {"text": B})]),
        ("3", "4"),
    ),
    "Chroma": ({"ids": [["1", "2"]], "documents": [[A, B]], "distances": [[0.1, 0.2]]}, ("1", "2")),
    "Elasticsearch": (
        {"hits": {"hits": [{"_id": "1", "_source": {"text": A}}, {"_id": "2", "_source": {"text": B}}]}},
        ("1", "2"),
    ),
    "Pinecone": (
        {"matches": [{"id": "1", "score": 0.5, "metadata": {"text": A}}, {"id": "2", "score": 0.4, "metadata": {"text": B}}]},
        ("1", "2"),
    ),
    "rows of a database": ([("1", A, 0.25), ("2", B, 0.5)], ("1", "2")),
    "a single document": ({"answer": "x", "context": [{"text": A}, {"text": B}]}, None),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_read_in_its_order(form: str) -> None:
    value, ids = FORMS[form]
    assert read(value) == (TEXTS, ids)


def test_ranks_decide_and_scores_do_not() -> None:
    """A reranker leaves the scores of the search in the documents that it reorders."""
    ranked = [{"text": B, "rank": 2}, {"text": A, "rank": 1}]
    assert read(ranked) == (TEXTS, None)
    scored = [{"text": A, "score": 0.1}, {"text": B, "score": 0.9}]
    assert read(scored) == (TEXTS, None)
    assert read(ranked, k=1) == ((A,), None)


def test_first_k_count() -> None:
    assert read([A, B], k=1) == ((A,), None)
    assert read([{"id": 7, "text": A}, {"id": 8, "text": B}], k=1) == ((A,), ("7",))
    assert read({"contexts": [A, B], "ids": [1, 2]}, k=1) == ((A,), ("1",))


def test_numbers_and_scores_of_ids_are_ids() -> None:
    assert read([3, 1]) == (None, ("3", "1"))
    assert read({"d1": 0.2, "d2": 0.9}, reference_context_ids=["d1"]) == (None, ("d2", "d1"))
    assert read(["d1", "d2"], reference_context_ids=["d1"]) == (None, ("d1", "d2"))
    assert read(["d1", "d2"], reference="r", reference_context_ids=["d1"]) == (("d1", "d2"), None)


def test_nothing_retrieved_is_no_error() -> None:
    assert read([])[0] == ()
    assert read({"documents": []})[0] == ()
    assert read([], reference_context_ids=["d1"]) == ((), ())


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (None, "returned nothing: None"),
        ("one text", "returned one text"),
        (7, "without a list"),
        ({"answer": "x"}, "without a list"),
        ({"a": {"documents": [A]}, "b": {"documents": [B]}}, "without a list"),
        ([A, 7.5], "must be a string"),
        ([{"title": "no text"}], "must be a string"),
    ],
)
def test_what_is_no_list_of_contexts_is_an_error(value: Any, says: str) -> None:
    with pytest.raises(SampleError, match=says):
        read(value)


@pytest.mark.parametrize(
    ("value", "scores"),
    [
        ([A, B], None),
        ([(A, 0.5), (B, 0.25)], (0.5, 0.25)),
        ([{"text": A, "score": 1}, {"text": B, "score": 0}], (1.0, 0.0)),
        ([{"text": A, "score": 1}, {"text": B}], None),
        ([{"text": A, "distance": 1}], None),
        ({"d1": 0.2, "d2": 0.9}, (0.9, 0.2)),
        (([A, B], [0.9, 0.1]), (0.9, 0.1)),
        ([], None),
        ([(A, float("nan")), (B, 0.5)], None),
        ([{"text": A, "score": float("inf")}, {"text": B, "score": 0.5}], None),
        ({"d1": Decimal("0.2"), "d2": Decimal("0.9")}, (0.9, 0.2)),
    ],
)
def test_scores_are_kept_where_each_item_has_one(value: Any, scores: Any) -> None:
    assert read_retrieved(value).scores == scores


def test_what_was_retrieved_before_is_left_out() -> None:
    question = Sample(user_input="q", retrieved_contexts=["old"], retrieved_context_ids=["o"])
    sample = build_sample(question, read_retrieved([A]), 10)
    assert (sample.retrieved_contexts, sample.retrieved_context_ids) == ((A,), None)
    staged = Sample(user_input="q", stages={"a": ["old"], "b": ["old"]})
    assert build_sample(staged, read_retrieved([A]), 10).stages is None


def test_an_empty_mapping_is_an_empty_result() -> None:
    assert read({}) == ((), ())


def test_an_id_whose_score_is_nan_has_no_rank() -> None:
    with pytest.raises(SampleError, match="NaN as the score of 'd2'"):
        read_retrieved({"d1": 0.5, "d2": float("nan")})


def test_rows_of_a_database_may_have_decimals() -> None:
    rows = [(7, "A text of one.", Decimal("0.9")), (8, "B text of two.", Decimal("0.4"))]
    assert read(rows) == ((A, B), ("7", "8"))


ROWS = [
    ([(1, A), (2, B)], (A, B), ("1", "2")),
    ([("a", A), ("b", B)], (A, B), ("a", "b")),
    ([(1, "An old title", A + A), (2, "B", B + B)], (A + A, B + B), ("1", "2")),
    ([(1, A, None), (2, B, 0.8)], (A, B), ("1", "2")),
    ([(7, A, 3), (9, B, 3)], (A, B), ("7", "9")),
    ([(1, "Paris", 0.9), (2, B, 0.8)], ("Paris", B), ("1", "2")),
    ([(UUID(int=1), A, Decimal("0.9"))], (A,), (str(UUID(int=1)),)),
]


@pytest.mark.parametrize(("rows", "texts", "ids"), ROWS)
def test_rows_of_a_database_are_read(rows: Any, texts: Any, ids: Any) -> None:
    assert read(rows) == (texts, ids)
    assert read_retrieved(rows).scores is None


def test_texts_of_two_questions_are_no_rows() -> None:
    with pytest.raises(SampleError):
        read([[A, B + B], [A, B + B]])


def test_scores_of_pairs_may_be_decimals() -> None:
    pairs = [(A, Decimal("0.9")), (B, Decimal("0.5"))]
    assert read_retrieved(pairs).scores == (0.9, 0.5)
