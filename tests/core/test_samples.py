"""Samples: what is taken, what is refused, and in whose words."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from ctxmetrics import Sample
from ctxmetrics.errors import AmbiguousFieldError, ParameterError, SampleError, UnknownFieldError
from ctxmetrics.schemas import SCHEMAS


def test_lists_become_tuples_and_ids_become_strings() -> None:
    sample = Sample(retrieved_contexts=["a", "b"], retrieved_context_ids=[1, "1", 2])
    assert sample.retrieved_contexts == ("a", "b")
    assert sample.retrieved_context_ids == ("1", "1", "2")


def test_whole_numbers_of_other_libraries_are_ids_too() -> None:
    numpy = pytest.importorskip("numpy")
    assert Sample(retrieved_context_ids=numpy.array([3, 4])).retrieved_context_ids == ("3", "4")
    with pytest.raises(SampleError, match="item 1 must be a string or an integer"):
        Sample(retrieved_context_ids=numpy.array([3.5]))


def test_samples_hash_pickle_and_copy() -> None:
    sample = Sample(id=7, reference="x", metadata={"k": [1]}, labels={"useful": [1, 0]})
    for twin in (pickle.loads(pickle.dumps(sample)), copy.deepcopy(sample), Sample(**sample.to_dict())):  # noqa: S301 - our own bytes
        assert twin == sample
        assert hash(twin) == hash(sample)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"retrieved_contexts": "one text"},
            r"'retrieved_contexts' must be a list, not one string. Write \[text\]",
        ),
        ({"retrieved_contexts": {"a": 1}}, "'retrieved_contexts' must be a list, not dict"),
        ({"retrieved_contexts": ["a", 3]}, "'retrieved_contexts', item 2 must be a string, not int"),
        (
            {"retrieved_context_ids": ["a", None]},
            "'retrieved_context_ids', item 2 must be a string or an integer, not None",
        ),
        ({"retrieved_context_ids": [True]}, "item 1 must be a string or an integer, not bool"),
        ({"retrieved_context_ids": [1.5]}, "item 1 must be a string or an integer, not float"),
        ({"reference": 12}, "'reference' must be a string, not int"),
        ({"reference": "half \ud83d"}, "lone surrogate"),
        (
            {"reference": "x" * 10_000_001},
            "10,000,001 characters long; 10,000,000 is the most. Cut the text into chunks",
        ),
        ({"metadata": ["a"]}, "'metadata' must be a mapping, not list"),
        ({"id": 1.5}, "'id' must be a string or an integer"),
    ],
)
def test_a_wrong_type_names_the_sample_the_field_and_the_fix(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(SampleError, match=message):
        Sample(**fields)
    if "id" not in fields:
        with pytest.raises(SampleError, match="Sample 's1': field"):
            Sample(id="s1", **fields)
        with pytest.raises(SampleError, match="line 7: field"):
            Sample.from_dict(fields, where="line 7")


def test_an_unknown_key_names_the_nearest_known_one() -> None:
    with pytest.raises(
        UnknownFieldError, match=r"unknown field 'retrieved_context'.*Did you mean 'retrieved_contexts'"
    ):
        Sample.from_dict({"retrieved_context": []})


def test_context_alone_is_ambiguous() -> None:
    with pytest.raises(AmbiguousFieldError, match="schema="):
        Sample.from_dict({"context": ["x"]})
    assert Sample.from_dict({"context": ["x"]}, "deepeval").reference_contexts == ("x",)
    assert Sample.from_dict({"context": "x"}, "aegis").retrieved_contexts == ("x",)


def test_an_unknown_schema_lists_the_known_ones() -> None:
    with pytest.raises(ParameterError, match=r"Choose from: ragas, .*deepeval"):
        Sample.from_dict({}, "rags")


def test_two_keys_for_one_field_are_refused_unless_equal() -> None:
    with pytest.raises(SampleError, match="both 'question' and 'input'"):
        Sample.from_dict({"question": "a", "input": "b"}, "langchain")
    assert Sample.from_dict({"question": "a", "input": "a"}, "langchain").user_input == "a"


# Field names as the systems' own pages and code give them.
WRITTEN: dict[str, dict[str, Any]] = {
    "ragas": {"user_input": "q", "response": "a", "reference": "r", "retrieved_contexts": ["c"]},
    "ragas_v1": {"question": "q", "answer": "a", "ground_truth": "r", "contexts": ["c"]},
    "deepeval": {"input": "q", "actual_output": "a", "expected_output": "r", "retrieval_context": ["c"]},
    "axion": {"query": "q", "actual_output": "a", "expected_output": "r", "retrieved_content": ["c"]},
    "aegis": {"prompt": "q", "output": "a", "golden_answer": "r", "context": ["c"]},
    "langchain": {"question": "q", "answer": "a", "reference": "r", "documents": [{"page_content": "c"}]},
    "autoevals": {"input": "q", "output": "a", "expected": "r", "context": "c"},
    "opik": {"input": "q", "output": "a", "expected_output": "r", "context": ["c"]},
    "openevals": {"inputs": "q", "outputs": "a", "reference_outputs": "r", "context": "c"},
    "ragchecker": {
        "query": "q",
        "response": "a",
        "gt_answer": "r",
        "retrieved_context": [{"doc_id": 3, "text": "c"}],
    },
    "continuous_eval": {
        "question": "q",
        "answer": "a",
        "ground_truth_answers": ["r"],
        "retrieved_context": ["c"],
    },
    "langwatch": {"input": "q", "output": "a", "expected_output": "r", "contexts": ["c"]},
    "llamaindex": {"query": "q", "response": "a", "reference": "r", "contexts": ["c"]},
    "haystack": {
        "question": "q",
        "answer": "a",
        "ground_truth_answer": "r",
        "retrieved_documents": [{"content": "c"}],
    },
    "giskard": {"question": "q", "answer": "a", "reference_answer": "r", "documents": ["c"]},
    "trulens": {"query": "q", "response": "a", "expected_response": "r", "retrieved_context_chunks": ["c"]},
    "azure": {"query": "q", "response": "a", "ground_truth": "r", "context": "c"},
    "mlflow": {
        "inputs": {"question": "q"},
        "outputs": "a",
        "expectations": {"expected_response": "r"},
        "retrieved_contexts": ["c"],
    },
    "promptfoo": {"query": "q", "output": "a", "value": "r", "context": "c"},
}


def test_every_schema_has_a_written_example() -> None:
    assert set(WRITTEN) == set(SCHEMAS)


@pytest.mark.parametrize("schema", WRITTEN)
def test_every_schema_reads_its_systems_words(schema: str) -> None:
    sample = Sample.from_dict(WRITTEN[schema], schema)
    assert (sample.user_input, sample.response, sample.reference) == ("q", "a", "r")
    assert sample.retrieved_contexts == ("c",)


def test_ids_come_along_with_documents_and_from_metadata() -> None:
    assert Sample.from_dict(WRITTEN["ragchecker"], "ragchecker").retrieved_context_ids == ("3",)
    fields = {
        "input": "q",
        "metadata": {"retrieved_context_ids": [1], "reference_context_ids": ["2"], "team": "x"},
    }
    sample = Sample.from_dict(fields, "deepeval")
    assert (sample.retrieved_context_ids, sample.reference_context_ids) == (("1",), ("2",))
    ranked = {
        "actual_ranking": [{"id": "a"}, {"id": "b"}],
        "expected_reference": [{"id": "b", "relevance": 1}],
    }
    assert Sample.from_dict(ranked, "axion").retrieved_context_ids == ("a", "b")
    labelled = {
        "retrieved_documents": [{"document_id": "a", "relevance_score": 0.5}],
        "retrieval_ground_truth": [{"document_id": "b", "query_relevance_label": 2}],
    }
    assert Sample.from_dict(labelled, "azure").reference_context_ids == ("b",)


def test_several_reference_answers_are_refused() -> None:
    with pytest.raises(SampleError, match="2 answers"):
        Sample.from_dict({"ground_truth_answers": ["r", "s"]}, "continuous_eval")


def test_a_document_without_text_is_refused() -> None:
    with pytest.raises(SampleError, match="item 1 has no text"):
        Sample.from_dict({"documents": [{"title": "c"}]}, "langchain")
