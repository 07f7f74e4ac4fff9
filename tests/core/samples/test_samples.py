"""Samples: what is taken, what is refused, and in whose words."""

from __future__ import annotations

import copy
import json
import pickle
import re
from dataclasses import fields as fields_of
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import ContextRecall, Sample, evaluate
from ctxmetrics.errors import AmbiguousFieldError, ParameterError, SampleError, UnknownFieldError
from ctxmetrics.samples.field_keys import FIELDS
from ctxmetrics.samples.sample import Fact
from ctxmetrics.samples.systems import SCHEMAS
from ctxmetrics.text.sentences import split_sentences

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_lists_become_tuples_and_ids_become_strings() -> None:
    sample = Sample(retrieved_contexts=["a", "b"], retrieved_context_ids=[1, "1", 2])
    assert sample.retrieved_contexts == ("a", "b")
    assert sample.retrieved_context_ids == ("1", "1", "2")


@pytest.mark.parametrize("field", ["retrieved_context_ids", "id"])
def test_an_integer_id_of_many_digits_is_named(field: str) -> None:
    value = 10**49_999
    with pytest.raises(SampleError, match="integer of thousands of digits") as caught:
        Sample(**{field: value if field == "id" else [value]})
    assert "Write the id as a string" in str(caught.value)


def test_an_importance_of_many_digits_is_refused() -> None:
    fact = {"text": "It is red.", "importance": 10**49_999}
    with pytest.raises(SampleError, match="a number above 0, not one above 1,000,000,000"):
        Sample(reference_facts=[fact])


@pytest.mark.parametrize(
    ("field", "item"),
    [("retrieved_contexts", "It is red."), ("reference_facts", "It is red."), ("references", "Red.")],
)
def test_a_list_with_too_many_texts_is_named(field: str, item: str) -> None:
    with pytest.raises(SampleError, match=f"'a': field '{field}' holds 50,001 texts; 50,000 is"):
        Sample(id="a", **{field: [item] * 50_001})


def test_an_iterator_of_too_many_texts_is_named() -> None:
    with pytest.raises(SampleError, match="field 'retrieved_contexts' holds 50,001 texts"):
        Sample(retrieved_contexts=("It is red." for _ in range(50_001)))


def test_a_stage_with_too_many_texts_is_named() -> None:
    with pytest.raises(SampleError, match="'stages', 'search': field 'contexts' holds 50,001 texts"):
        Sample(stages={"search": ["It is red."] * 50_001, "rerank": ["It is red."]})


def test_whole_numbers_of_other_libraries_are_ids_too() -> None:
    numpy = pytest.importorskip("numpy")
    assert Sample(retrieved_context_ids=numpy.array([3, 4])).retrieved_context_ids == ("3", "4")
    with pytest.raises(SampleError, match="item 1 must be a string or an integer"):
        Sample(retrieved_context_ids=numpy.array([3.5]))


def test_arrays_in_a_row_are_read_as_lists() -> None:
    pd = pytest.importorskip("pandas")
    row = {
        "question": "Where?",
        "ground_truth": "In Rome. In May.",
        "contexts": pd.array(["In Rome.", "Else."]).to_numpy(),
        "retrieved_contexts": pd.array(["In Rome.", "Else."]).to_numpy(),
        "embedding": pd.array([0.25, 0.5]).to_numpy(),
        "seen": pd.NA,
    }
    series = {**row, "contexts": None, "retrieved_contexts": pd.Series(["In Rome.", "Else."])}
    found, other = evaluate([row, series], [ContextRecall()], progress=False)
    assert found.sample is not None
    assert found.sample.retrieved_contexts == ("In Rome.", "Else.")
    assert found.sample.metadata == {"embedding": [0.25, 0.5], "seen": pd.NA}
    # One of two sentences is there.
    assert (found["context_recall"].value, other["context_recall"].value) == (0.5, 0.5)
    assert Sample(metadata=pd.Series({"a": 1})).metadata == {"a": 1}


def test_what_can_be_read_only_once_is_read_once() -> None:
    texts = ["In Rome.", "Else."]
    row = {"user_input": "Where?", "reference": "In Rome.", "retrieved_contexts": iter(texts)}
    (found,) = evaluate([row], [ContextRecall()], progress=False)
    assert found.sample is not None
    assert found.sample.retrieved_contexts == tuple(texts)
    assert found["context_recall"].value == 1.0


@pytest.mark.parametrize("kind", ["array", "iterator"])
def test_ids_of_a_stage_are_ids_in_any_kind_of_list(kind: str) -> None:
    numpy = pytest.importorskip("numpy")
    make: Any = {"array": numpy.array, "iterator": iter}[kind]
    for read in (lambda given: Sample(**given), Sample.from_dict):
        stages = {"search": make(["a", "b"]), "rerank": make(["a"])}
        sample: Any = read({"stages": stages, "reference_context_ids": ["a"]})
        assert sample.stages["search"].ids == ("a", "b")
        assert sample.retrieved_context_ids == ("a",)


@pytest.mark.parametrize("missing", ["nan", "NA", "NaT"])
def test_a_gap_of_a_table_in_a_row_is_named(missing: str) -> None:
    pd = pytest.importorskip("pandas")
    gap = {"nan": float("nan"), "NA": pd.NA, "NaT": pd.NaT}[missing]
    with pytest.raises(SampleError, match="field 'response' must be a string, not"):
        Sample.from_dict({"user_input": "Where?", "response": gap})


def test_an_array_without_items_is_no_list() -> None:
    numpy = pytest.importorskip("numpy")
    with pytest.raises(SampleError, match="must be a list, not one string"):
        Sample(retrieved_contexts=numpy.array("text"))


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
            {"retrieved_context_ids": ["a", 1.5]},
            "'retrieved_context_ids', item 2 must be a string or an integer, not float",
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
def test_a_wrong_type_names_the_sample_the_field_and_the_fix(
    fields: dict[str, Any], message: str
) -> None:
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
    with pytest.raises(ParameterError, match=r"Choose from: auto, ragas, .*deepeval"):
        Sample.from_dict({}, "rags")


def test_two_keys_for_one_field_are_refused_unless_equal() -> None:
    with pytest.raises(SampleError, match="both 'question' and 'input'"):
        Sample.from_dict({"question": "a", "input": "b"}, "langchain")
    assert Sample.from_dict({"question": "a", "input": "a"}, "langchain").user_input == "a"


# Field names as the systems' own pages and code give them.
WRITTEN: dict[str, dict[str, Any]] = {
    "ragas": {"user_input": "q", "response": "a", "reference": "r", "retrieved_contexts": ["c"]},
    "ragas_v1": {"question": "q", "answer": "a", "ground_truth": "r", "contexts": ["c"]},
    "deepeval": {
        "input": "q",
        "actual_output": "a",
        "expected_output": "r",
        "retrieval_context": ["c"],
    },
    "axion": {"query": "q", "actual_output": "a", "expected_output": "r", "retrieved_content": ["c"]},
    "aegis": {"prompt": "q", "output": "a", "golden_answer": "r", "context": ["c"]},
    "langchain": {
        "question": "q",
        "answer": "a",
        "reference": "r",
        "documents": [{"page_content": "c"}],
    },
    "retrieval_qa": {"query": "q", "result": "a", "reference": "r", "source_documents": ["c"]},
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
    "patronus": {
        "evaluated_model_input": "q",
        "evaluated_model_output": "a",
        "evaluated_model_gold_answer": "r",
        "evaluated_model_retrieved_context": "c",
    },
    "tonic_validate": {
        "question": "q",
        "llm_answer": "a",
        "reference_answer": "r",
        "llm_context_list": ["c"],
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
    "trulens": {
        "query": "q",
        "response": "a",
        "expected_response": "r",
        "retrieved_context_chunks": ["c"],
    },
    "azure": {"query": "q", "response": "a", "ground_truth": "r", "context": "c"},
    "databricks": {
        "request": "q",
        "response": "a",
        "expected_response": "r",
        "retrieved_context": [{"doc_uri": "d", "content": "c"}],
    },
    "mlflow": {
        "inputs": {"question": "q"},
        "outputs": "a",
        "expectations": {"expected_response": "r"},
        "retrieved_contexts": ["c"],
    },
    "promptfoo": {
        "vars": {"query": "q", "context": "c", "ground_truth": "r"},
        "response": {"output": "a", "tokenUsage": {"total": 7}},
    },
    "langsmith": {
        "inputs": {"question": "q"},
        "outputs": {"answer": "a", "documents": [{"page_content": "c"}]},
        "reference": {"answer": "r"},
    },
    "pydantic_evals": {
        "inputs": "q",
        "output": {"answer": "a", "contexts": ["c"]},
        "expected_output": "r",
    },
    "inspect": {
        "inputs": {"question": "q"},
        "outputs": {"answer": "a", "contexts": ["c"]},
        "expected": {"target": "r"},
    },
    "langfuse": {"input": "q", "output": {"answer": "a", "contexts": ["c"]}, "expected_output": "r"},
    "braintrust": {"input": "q", "output": {"answer": "a", "contexts": ["c"]}, "expected": "r"},
    "phoenix": {
        "input": {"question": "q"},
        "output": {"answer": "a", "contexts": ["c"]},
        "reference_output": {"answer": "r"},
    },
    "phoenix_spans": {
        "attributes.input.value": "q",
        "attributes.output.value": "a",
        "attributes.retrieval.documents": [{"document.content": "c"}],
        "attributes.metadata": {"reference": "r"},
    },
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


@pytest.mark.parametrize("field", ["reference_ids", "documents"])
def test_grades_of_a_record_come_along(field: str) -> None:
    labelled = [{"id": "a", "relevance": 2}, {"id": "b", "relevance": 1}, {"id": "c", "relevance": 0}]
    record = {"outputs": {"retrieved_ids": ["b", "a"]}, "reference_outputs": {field: labelled}}
    needed = ("retrieved_context_ids", "reference_context_ids")
    sample = Sample(**SCHEMAS["langchain"].read(record, {}, needed))
    assert sample.reference_context_ids == ("a", "b")
    assert sample.labels == {"relevance": {"a": 2, "b": 1}}


def test_several_reference_answers_are_refused() -> None:
    with pytest.raises(SampleError, match="2 answers"):
        Sample.from_dict({"ground_truth_answers": ["r", "s"]}, "continuous_eval")


def test_a_document_without_text_is_refused() -> None:
    with pytest.raises(
        SampleError,
        match=r"item 1 must be a string, not dict\. A document has its text under",
    ):
        Sample.from_dict({"documents": [{"title": "c"}]}, "langchain")


class Doc:
    """A document as LangChain, Haystack and others make them."""

    def __init__(self, page_content: str, id: str | None = None) -> None:  # noqa: A002 - as theirs
        self.page_content, self.id = page_content, id


DOCUMENTS = [
    (["one", "two"], None),
    ([{"page_content": "one", "id": 1}, {"text": "two", "id": 2}], ("1", "2")),
    ([{"content": "one", "doc_id": "a"}, {"context": "two", "source": "b"}], ("a", "b")),
    ([Doc("one", "a"), Doc("two", "b")], ("a", "b")),
    ([Doc("one", "a"), Doc("two")], ("a", "")),
    ([{"text": "one", "id": None}, {"text": "two", "id": "b"}], ("", "b")),
    ([{"text": "one", "id": None}, {"text": "two", "id": None}], None),
    ([(Doc("one", "a"), 0.9), ({"chunk": "two", "id": "b"}, 0.1)], ("a", "b")),
    ([["one", 0.9], ["two", 0.1]], None),
]


@pytest.mark.parametrize(("documents", "ids"), DOCUMENTS)
def test_a_sample_a_row_and_a_record_read_the_same_documents(
    documents: list[Any], ids: tuple[str, ...] | None
) -> None:
    read = [
        Sample(retrieved_contexts=documents),
        Sample.from_dict({"retrieved_contexts": documents}),
        Sample.from_dict({"outputs": {"documents": documents}}, "langchain"),
        Sample.from_dict({"outputs": {"documents": documents}}, "mlflow"),
        Sample(
            **SCHEMAS["langchain"].read(
                {"outputs": {"documents": documents}}, {}, ["retrieved_contexts"]
            )
        ),
    ]
    assert {(sample.retrieved_contexts, sample.retrieved_context_ids) for sample in read} == {
        (("one", "two"), ids)
    }
    if ids:
        record = {"outputs": {"documents": documents}}
        only_ids = SCHEMAS["langchain"].read(record, {}, ["retrieved_context_ids"])
        assert Sample(**only_ids).retrieved_context_ids == ids


def test_mlflow_documents_are_known_by_uri_in_rows_and_records() -> None:
    record = {"outputs": {"documents": [{"text": "t", "id": "chunk", "metadata": {"doc_uri": "page"}}]}}
    assert Sample.from_dict(record, "mlflow").retrieved_context_ids == ("page",)
    read = SCHEMAS["mlflow"].read(record, {}, ["retrieved_context_ids"])
    assert Sample(**read).retrieved_context_ids == ("page",)


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([["one", "two"]], "item 1 must be a string, not list"),  # a list of lists is no list of pairs
        ([{"page_content": None}], "item 1 must be a string, not dict"),
        (Doc("one"), r"must be a list, not Doc. Write \[document\]"),
        ({"page_content": "one"}, r"must be a list, not dict. Write \[document\]"),
    ],
)
def test_what_is_no_list_of_documents(documents: Any, message: str) -> None:
    with pytest.raises(SampleError, match=message):
        Sample(retrieved_contexts=documents)


def test_a_document_in_the_place_of_a_sample() -> None:
    with pytest.raises(
        UnknownFieldError, match=r"^Sample 1: 'page_content' makes this a document, not a sample"
    ):
        evaluate([{"page_content": "one"}], [ContextRecall()], progress=False)


def test_what_no_schema_knows_is_carried_along() -> None:
    row = {
        "user_input": "q",
        "reference": "r",
        "team": "x",
        "date": "today",
        "score": 0.5,
        "metadata": {"k": 1},
    }
    sample = Sample.from_dict(row)
    assert sample.metadata == {"k": 1, "team": "x", "date": "today", "score": 0.5}
    nested = {"inputs": {"question": "q", "tenant": 7}, "outputs": {"answer": "a", "tokens": 3}}
    assert Sample.from_dict(nested, "langchain").metadata == {
        "inputs": {"tenant": 7},
        "outputs": {"tokens": 3},
    }


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("retrieved_context", "retrieved_contexts"),  # plural
        ("Retrieved Contexts", "retrieved_contexts"),  # case and separators
        ("refernce", "reference"),
        ("respons", "response"),
        ("user_imput", "user_input"),
        ("name", None),
        ("date", None),
        ("latency", None),
        ("score", None),
        ("label", None),  # no metric needs labels
    ],
)
def test_name_close_to_an_absent_field_is_an_error(key: str, meant: str | None) -> None:
    if meant is None:
        assert Sample.from_dict({key: "x"}).metadata == {key: "x"}
        return
    with pytest.raises(UnknownFieldError, match=rf"unknown field '{key}'.*Did you mean '{meant}'\?"):
        Sample.from_dict({key: ["x"]})
    value: Any = ["y"] if meant.endswith("s") else "y"
    assert Sample.from_dict({meant: value, key: "x"}).metadata == {key: "x"}


def test_a_schema_is_found_out() -> None:
    for schema, row in WRITTEN.items():
        if schema == "openevals":  # of its words, LangChain's flat ones mean the same
            continue
        sample = Sample.from_dict(row, "auto")
        assert (sample.user_input, sample.response, sample.reference) == ("q", "a", "r"), schema
        assert sample.retrieved_contexts == ("c",), schema
        assert not sample.metadata or schema == "promptfoo", schema
    with pytest.raises(
        AmbiguousFieldError, match="--map context=reference_contexts or --map context=retr"
    ):
        Sample.from_dict({"input": "q", "expected_output": "r", "context": ["c"]}, "auto")


def test_a_list_written_as_a_text_is_no_single_text() -> None:
    with pytest.raises(
        SampleError, match=r"'retrieved_contexts' is a list that is written as a text.*json\.loads"
    ):
        Sample.from_dict({"context": '[{"page_content": "one"}]'}, "aegis")


@pytest.mark.parametrize(
    ("key", "field", "text"),
    [
        ("documents", "retrieved_contexts", '["one", "two"]'),
        ("documents", "retrieved_contexts", '[{"page_content": "one"}]'),
        ("documents", "retrieved_context_ids", '[{"id": "a"}]'),
        ("retrieved_ids", "retrieved_context_ids", '["a", "b"]'),
        ("retrieved_ids", "retrieved_context_ids", "[1, 2]"),
    ],
)
def test_a_list_written_as_a_text_is_refused_in_a_record(key: str, field: str, text: str) -> None:
    record = {"inputs": {"question": "q"}, "outputs": {key: text}}
    with pytest.raises(SampleError, match=rf"'{field}' is a list that is written as a text"):
        SCHEMAS["langchain"].read(record, {}, [field])


def test_what_a_label_grades_zero_should_not_have_been_retrieved() -> None:
    labelled = [
        {"document_id": "a", "query_relevance_label": 0},
        {"document_id": "b", "query_relevance_label": 3},
    ]
    assert Sample.from_dict({"retrieval_ground_truth": labelled}, "azure").reference_context_ids == (
        "b",
    )
    graded = {
        "expected_reference": [{"id": "a", "relevance": 1}, {"id": "b", "relevance": 0.0}, {"id": "c"}]
    }
    assert Sample.from_dict(graded, "axion").reference_context_ids == ("a", "c")
    texts = [{"text": "one", "relevance": False}, {"text": "two", "relevance": True}]
    assert Sample(reference_contexts=texts).reference_contexts == ("two",)


@pytest.mark.parametrize(
    ("fields", "schema"),
    [
        (
            {"outputs": "a", "expectations": {"expected_response": "r", "expected_facts": ["f", "g"]}},
            "mlflow",
        ),
        ({"expectations": {"expected_facts": ["f", "g"]}}, "mlflow"),
        ({"reference_outputs": {"answer": "r", "expected_facts": ["f", "g"]}}, "langchain"),
        ({"reference": "r", "reference_facts": ["f", "g"]}, "ragas"),
        ({"expected_output": "r", "expected_facts": ["f", "g"]}, "deepeval"),
        ({"input": "q", "metadata": {"reference_facts": ["f", "g"]}}, "deepeval"),
        ({"golden_answer": "r", "reference_facts": ["f", "g"]}, "aegis"),
    ],
)
def test_facts_are_read_wherever_a_schema_has_them(fields: dict[str, Any], schema: str) -> None:
    sample = Sample.from_dict(fields, schema)
    assert sample.reference_facts == (Fact("f"), Fact("g"))
    assert sample.to_dict()["reference_facts"] == ["f", "g"]


def test_facts_are_texts_or_have_an_id() -> None:
    sample = Sample(
        reference_facts=["Rome is old.", {"text": "It is big.", "id": 7}, Fact("So is Paris.")]
    )
    assert sample.reference_facts == (
        Fact("Rome is old."),
        Fact("It is big.", "7"),
        Fact("So is Paris."),
    )
    written = sample.to_dict()["reference_facts"]
    assert written == ["Rome is old.", {"text": "It is big.", "id": "7"}, "So is Paris."]
    assert Sample.from_dict(json.loads(json.dumps({"reference_facts": written}))) == sample
    assert hash(sample) == hash(Sample(reference_facts=sample.reference_facts))


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ("Rome is old.", "must be a list, not one string"),
        (["a", 7], 'item 2 must be a text or {"text": .., "id": .., "importance": ..}, not int'),
        ([{"text": "a", "vital": True}], "item 1 must be a text or"),
        ([{"id": "1"}], "item 1 must be a text or"),
        ([{"text": "a", "id": 1.5}], "item 1, id must be a string or an integer, not float"),
        (["a", " ! "], "item 2 holds no letter or digit"),
        ({"text": "a"}, "must be a list"),
    ],
)
def test_what_is_no_list_of_facts_is_refused(facts: Any, told: str) -> None:
    with pytest.raises(SampleError, match=re.escape(told)) as error:
        Sample(id="x", reference_facts=facts)
    assert str(error.value).startswith("Sample 'x': field 'reference_facts'")


@pytest.mark.parametrize("schema", SCHEMAS)
def test_nothing_that_a_schema_maps_is_dropped(schema: str) -> None:
    rules = SCHEMAS[schema]
    for field, place in rules.places.items():
        for key in place.keys:
            listed = field.startswith(("retrieved", "reference_", "references", "searches"))
            value: Any = ["marked"] if listed else "marked"
            value = {"k": "marked"} if field == "metadata" else value
            value = {"marked": ["text"]} if field == "stages" else value
            value = [{"query": "marked", "contexts": ["text"]}] if field == "searches" else value
            for part in reversed(f"{place.side}.{key}".strip(".").split(".")):
                value = {part: value}
            assert "marked" in str(Sample.from_dict(value, schema).to_dict()), (field, key)
    for key in rules.carried - {"additional_input"}:
        assert Sample.from_dict({key: "marked"}, schema).metadata == {key: "marked"}
    for side in {place.side for place in rules.places.values()} - {""}:
        row = {side: {"of_my_own": "marked"}, "metadata": {"more": 1}}
        assert Sample.from_dict(row, schema).metadata == {side: {"of_my_own": "marked"}, "more": 1}


def test_python_names_the_nearest_field_too() -> None:
    with pytest.raises(
        UnknownFieldError, match=r"^Sample 's1': unknown field 'referense'.*Did you mean 'reference'"
    ):
        Sample(id="s1", referense="x")  # type: ignore[call-arg]  # refused


def test_the_names_of_the_fields_are_those_of_a_sample() -> None:
    assert tuple(item.name for item in fields_of(Sample)) == FIELDS


SAME_ID = [{"id": "a", "reference": "x", "retrieved_contexts": ["x"]}] * 2


def test_doubled_id_is_refused_before_judging() -> None:
    message = "^Samples 1 and 2 have the same id 'a'. Give each sample an id of its own, or none.$"
    with pytest.raises(SampleError, match=message):
        evaluate(SAME_ID, [ContextRecall()], progress=False)
    unnamed = [{**fields, "id": None} for fields in SAME_ID]
    assert len(evaluate(unnamed, [ContextRecall()], progress=False)) == 2


def test_doubled_id_in_a_stream_is_refused_at_the_second() -> None:
    taken: list[int] = []

    def stream() -> Iterator[dict[str, Any]]:
        for number, fields in enumerate([*SAME_ID, *SAME_ID], 1):
            taken.append(number)
            yield fields

    with pytest.raises(SampleError, match=r"^Samples 1 and 2 have the same id 'a'"):
        evaluate(stream(), [ContextRecall()], progress=False)
    assert taken == [1, 2]


def test_half_a_character_does_not_stop_the_splitter() -> None:
    assert split_sentences("Half \ud83d here. More.") == ("Half \ud83d here.", "More.")


def test_what_a_label_grades_0_is_not_expected_on_any_path() -> None:
    documents = [{"id": "a", "text": "x", "relevance": 0}, {"id": "b", "text": "y", "relevance": 1}]
    row = {"reference_contexts": documents}
    for sample in (Sample(**row), Sample.from_dict(row), Sample.from_dict(row, "mlflow")):  # type: ignore[arg-type]
        assert (sample.reference_contexts, sample.reference_context_ids) == (("y",), ("b",))
    fields = SCHEMAS["langchain"].read(
        {"reference_outputs": {"documents": documents}}, {}, ("reference_context_ids",)
    )
    assert fields["reference_context_ids"] == ["b"]


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("ground_truth", "'reference'"),
        ("Ground Truth", "'reference'"),
        ("question", "'user_input'"),
        ("query", "'user_input'"),
        ("expected_output", "'reference'"),
        ("documents", "'retrieved_contexts'"),
        ("chunks", "'retrieved_contexts'"),
        ("retrieval_context", "'retrieved_contexts'"),
        ("answer", "'response'"),
        ("gold", "'reference' or 'reference_contexts'"),
        ("expected_ids", "'reference_context_ids'"),
        ("questoin", "'user_input'"),
    ],
)
def test_an_unknown_name_gets_the_field_that_it_means(name: str, fields: str) -> None:
    with pytest.raises(UnknownFieldError, match=rf"unknown field '{name}'.*Did you mean {fields}\?"):
        Sample(**{name: "x"})


def test_an_unknown_name_of_no_system_gets_no_field() -> None:
    with pytest.raises(UnknownFieldError) as raised:
        Sample(latency_p95=1)
    assert "Did you mean" not in str(raised.value)


@pytest.mark.parametrize(
    "row",
    [
        {"question": "q", "ground_truth": "g", "contexts": ["c"]},
        {"input": "q", "expected_output": "e", "retrieval_context": ["c"]},
        {"query": "q", "gold_answer": "e", "chunks": ["c"], "id": 3},
    ],
    ids=["ragas_v1", "deepeval", "nobody's"],
)
def test_a_row_in_the_names_of_another_system_is_no_sample(row: dict[str, Any]) -> None:
    """All of it would be metadata, and each metric would miss its fields."""
    with pytest.raises(UnknownFieldError, match=r"another system's: .* is 'user_input'.*schema='auto'"):
        Sample.from_dict(row)
    assert Sample.from_dict({**row, "user_input": "q"}).user_input == "q"


@pytest.mark.parametrize("kind", ["float", "int64", "float64"])
def test_a_turn_of_a_table_is_a_whole_number(kind: str) -> None:
    numpy = pytest.importorskip("numpy")
    turn = 2.0 if kind == "float" else getattr(numpy, kind)(2)
    first = {"query": "a", "contexts": ["It is red."], "turn": turn}
    second = {"query": "b", "contexts": ["It is blue."], "turn": float("nan")}
    searches = Sample(searches=[first, second]).searches
    assert [search.turn for search in searches or ()] == [2, None]


@pytest.mark.parametrize("turn", [1.5, 0, True, "1"])
def test_a_turn_that_is_no_whole_number_is_refused(turn: Any) -> None:
    with pytest.raises(SampleError, match="turn must be a whole number from 1"):
        Sample(searches=[{"contexts": ["It is red."], "turn": turn}])


@pytest.mark.parametrize("key", ["content", "tool_calls", "retrieval_context", "messages"])
def test_messages_of_a_table_may_hold_arrays(key: str) -> None:
    numpy = pytest.importorskip("numpy")

    def to_array(items: list[Any]) -> Any:
        """Return a list as pandas reads it from a Parquet file."""
        array = numpy.empty(len(items), dtype=object)
        array[:] = items
        return array

    call = {"id": "1", "name": "search", "args": {"query": "cat"}}
    answer = {"role": "assistant", "content": "It purrs.", "retrieval_context": ["Cats eat fish."]}
    row = {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "What does a cat do?"}]},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "content": [{"page_content": "Cats purr."}]},
            answer,
        ]
    }
    expected = Sample.from_dict(row, "auto")
    assert expected.user_input == "What does a cat do?"
    assert [search.contexts for search in expected.searches or ()] == [
        ("Cats purr.",),
        ("Cats eat fish.",),
    ]
    if key == "messages":
        row["messages"] = to_array(row["messages"])
    for message in row["messages"]:
        if isinstance(message.get(key), list):
            message[key] = to_array(message[key])
    assert Sample.from_dict(row, "auto") == expected


@pytest.mark.parametrize(
    ("output", "tool"),
    [
        ([{"page_content": "Dogs bark."}, {"page_content": None, "id": "3"}], "search_3"),
        ([{"page_content": "Dogs bark."}, {"id": "5"}], "search_5"),
        ([{"type": "text", "text": "Dogs bark."}, {"type": "image_url", "image_url": {}}], "search_7"),
    ],
)
@pytest.mark.parametrize("as_json", [True, False])
def test_a_search_keeps_the_documents_that_have_texts(
    output: list[Any], tool: str, as_json: bool, caplog: pytest.LogCaptureFixture
) -> None:
    name = f"{tool}_{as_json}"
    messages = [
        {"role": "user", "content": "What do dogs and cats do?"},
        {"role": "tool", "name": name, "content": json.dumps(output) if as_json else output},
        {"role": "tool", "name": "search", "content": json.dumps([{"page_content": "Cats purr."}])},
    ]
    sample = Sample.from_dict({"messages": messages}, "auto")
    contexts = [search.contexts for search in sample.searches or ()]
    assert contexts == [("Dogs bark.",), ("Cats purr.",)]
    left_out = f"tool '{name}': 1 of 2 documents that it returned have no text and are left out"
    assert [text for text in caplog.messages if "left out" in text] == [left_out]


def test_the_parts_of_another_tool_are_no_search() -> None:
    output = [{"type": "text", "text": "It rains."}, {"type": "image_url", "image_url": {}}]
    messages = [
        {"role": "tool", "name": "weather", "content": output},
        {"role": "tool", "name": "search", "content": [{"page_content": "Cats purr."}]},
    ]
    sample = Sample.from_dict({"messages": messages}, "auto")
    assert [search.contexts for search in sample.searches or ()] == [("Cats purr.",)]
