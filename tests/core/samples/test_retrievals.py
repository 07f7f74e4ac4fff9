"""Reading samples out of records that have sides, without any framework."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxmetrics.errors import MissingFieldError, ParameterError, SampleError
from ctxmetrics.samples.documents import TEXT_KEYS
from ctxmetrics.samples.field_keys import OPTIONS, KeyParams, check_key_params
from ctxmetrics.samples.retrievals import Retrieval
from ctxmetrics.samples.sample import Sample
from ctxmetrics.samples.schema import Place, Schema

SCHEMA = Schema(
    places={
        "user_input": Place.of("asked", "question"),
        "response": Place.of("said", "answer"),
        "retrieved_contexts": Place.of("said", "documents", "chunks"),
        "retrieved_context_ids": Place.of("said", "ids"),
        "reference": Place.of("expected", "answer"),
        "references": Place.of("expected", "answers"),
        "reference_facts": Place.of("expected", "facts"),
        "reference_contexts": Place.of("expected", "documents"),
        "reference_context_ids": Place.of("expected", "ids"),
        "stages": Place.of("said", "stages"),
        "searches": Place.of("said", "searches"),
    },
    retrievals=lambda run: [Retrieval(*step) for step in run or ()],
    hint="and no tool found any",
)
EVERY = tuple(SCHEMA.places)


def one(record, field, **keys):
    return getattr(Sample(**SCHEMA.read(record, keys, (field,))), field)


def test_every_field_has_an_option():
    assert set(OPTIONS) == set(EVERY)
    assert set(OPTIONS.values()) | {"id_key", "retriever"} == KeyParams.__optional_keys__


def test_sides_tell_equal_keys_apart():
    record = {
        "said": {"answer": "a", "documents": ["d"], "ids": [1]},
        "expected": {"answer": "r", "documents": ["e"], "ids": [2], "facts": ["f"]},
    }
    sample = Sample(
        **SCHEMA.read(
            record,
            {},
            [name for name in EVERY if name not in ("user_input", "references", "stages", "searches")],
        )
    )
    assert (sample.response, sample.reference) == ("a", "r")
    assert (sample.retrieved_contexts, sample.reference_contexts) == (("d",), ("e",))
    assert (sample.retrieved_context_ids, sample.reference_context_ids) == (("1",), ("2",))


def test_own_names_come_before_usual_ones():
    assert one({"said": {"answer": "second", "response": "first"}}, "response") == "first"


def test_none_counts_as_absent():
    assert one({"said": {"documents": None, "chunks": ["d"]}}, "retrieved_contexts") == ("d",)


def test_used_fields_may_be_absent_and_others_are_not_read():
    fields = SCHEMA.read(
        {"said": {"documents": ["d"], "answer": 5}}, {}, ("retrieved_contexts",), ("user_input",)
    )
    assert Sample(**fields) == Sample(retrieved_contexts=["d"])


def test_the_record_s_id_names_the_sample_in_errors():
    assert Sample(**SCHEMA.read({"id": "q7", "said": {"answer": "a"}}, {}, ("response",))).id == "q7"
    with pytest.raises(
        MissingFieldError, match=r"^Sample 'q7' has no reference: no reference / answer in its fields"
    ):
        one({"id": "q7", "said": {"answer": "a"}}, "reference")
    with pytest.raises(MissingFieldError, match=r"^The sample has no reference"):
        one({}, "reference")


def test_the_message_says_where_was_looked_and_what_is_there():
    with pytest.raises(MissingFieldError) as caught:
        one({"said": {"answer": "a", "hits": []}}, "retrieved_contexts")
    assert str(caught.value) == (
        "The sample has no retrieved_contexts: no retrieved_contexts / documents / chunks in its said (there is: answer, hits), "
        "and no tool found any; name it with contexts_key=."
    )


def test_a_long_list_of_keys_is_cut():
    with pytest.raises(MissingFieldError) as caught:
        one({"said": {f"{'k' * 100}{n}": n for n in range(100)}}, "response")
    assert len(str(caught.value)) < 700
    assert f"{'k' * 40} and 88 more)" in str(caught.value)


def test_an_error_of_the_run_is_the_reason_and_holds_no_key():
    with pytest.raises(MissingFieldError, match=r"has no response: the run failed \(boom") as caught:
        one({"said": None, "error": "boom: Bearer abcdefgh12345"}, "response")
    assert "abcdefgh" not in str(caught.value)


@pytest.mark.parametrize("key", TEXT_KEYS)
def test_documents_are_mappings_or_objects_with_a_text(key):
    item = type("Doc", (), {key: "t", "id": 4})()
    assert one({"said": {"documents": [{key: "t"}, item]}}, "retrieved_contexts") == ("t", "t")
    assert one({"said": {"documents": item}}, "retrieved_contexts") == ("t",)
    assert one({"said": {"documents": [item]}}, "retrieved_context_ids") == ("4",)


def test_a_text_that_is_no_string_is_the_sample_s_error():
    with pytest.raises(
        SampleError, match="field 'retrieved_contexts', item 1 must be a string, not int"
    ):
        one({"said": {"documents": [{"text": 5}]}}, "retrieved_contexts")


def test_retrievers_that_found_something_are_asked_last():
    run = [("a", ["1"]), ("b", [{"text": "2", "id": 7}])]
    assert one({"run": run}, "retrieved_contexts") == ("1", "2")
    assert one({"run": run, "said": {"chunks": ["x"]}}, "retrieved_contexts") == ("x",)
    assert one({"run": run}, "retrieved_context_ids", retriever="b") == ("7",)
    with pytest.raises(SampleError, match=r"retriever='c' is none of: a, b"):
        one({"run": run}, "retrieved_contexts", retriever="c")
    with pytest.raises(SampleError, match=r"retriever run 'b' holds no documents"):
        one({"run": [("a", ["1"]), ("b", None)]}, "retrieved_contexts")
    assert one({"run": [("a", ["1"]), ("b", None)]}, "retrieved_contexts", retriever="a") == ("1",)


def test_retrievers_are_never_asked_for_what_was_expected():
    with pytest.raises(MissingFieldError):
        one({"run": [("a", ["1"])]}, "reference_contexts")


def test_a_text_is_no_id_unless_it_is_given_as_one():
    assert one({"said": {"ids": ["text"]}}, "retrieved_context_ids") == ("text",)
    with pytest.raises(SampleError, match="a str has no id"):
        one({"said": {"documents": ["text"]}}, "retrieved_context_ids")


def test_an_id_key_is_looked_for_in_the_metadata_first():
    document = {"text": "t", "id": "outer", "metadata": {"id": "inner", "source": "s"}}
    assert one({"said": {"documents": [document]}}, "retrieved_context_ids") == ("outer",)
    assert one({"said": {"documents": [document]}}, "retrieved_context_ids", id_key="id") == ("inner",)
    assert one({"said": {"documents": [document]}}, "retrieved_context_ids", id_key="source") == ("s",)


def test_paths_do_not_reach_into_strings_and_lists():
    for value in ("text", ["title"]):
        with pytest.raises(MissingFieldError):
            one({"said": {"answer": value}}, "response", answer_key="answer.title")
        with pytest.raises(MissingFieldError):
            one({"said": {"answer": value}}, "response", answer_key="answer.count")


def test_untrusted_text_is_never_taken_for_a_format():
    with pytest.raises(SampleError, match=r"retriever='\{0.__class__\}' is none of: \{x\}"):
        one({"run": [("{x}", [])]}, "retrieved_contexts", retriever="{0.__class__}")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"answerkey": "x"}, "Unknown parameter 'answerkey'. Did you mean 'answer_key'?"),
        ({"zzz": "x"}, "Unknown parameter 'zzz'."),
        ({"id_key": 3}, "id_key=3 must be a string or a function."),
    ],
)
def test_keys_are_checked(keys, message):
    with pytest.raises(ParameterError) as caught:
        check_key_params(keys)
    assert str(caught.value) == message


texts = st.text(max_size=8)
lists = st.lists(texts, max_size=4)
samples = st.builds(
    Sample,
    user_input=st.none() | texts,
    response=st.none() | texts,
    reference=st.none() | texts,
    retrieved_contexts=st.none() | lists,
    reference_contexts=st.none() | lists,
    retrieved_context_ids=st.none() | lists,
    reference_context_ids=st.none() | lists,
)


@settings(max_examples=settings().max_examples // 5)
@given(samples)
def test_a_record_of_a_sample_reads_as_the_sample(sample):
    record = SCHEMA.record(sample.to_dict())
    assert list(record) == ["asked", "said", "expected"]
    there = [name for name in EVERY if getattr(sample, name) is not None]
    assert Sample(**SCHEMA.read(record, {}, there)) == sample
    assert Sample(**SCHEMA.read(sample.to_dict(), {}, there)) == sample


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["text", "id", "metadata", "answer", "documents", "ids"]), inner, max_size=3
        )
    ),
    max_leaves=12,
)


@pytest.mark.slow
@given(
    st.dictionaries(
        st.sampled_from(["asked", "said", "expected", "id", "run", "documents", "ids"]),
        anything,
        max_size=4,
    ),
    st.sampled_from(EVERY),
)
def test_no_record_raises_anything_but_the_documented_errors(record, field):
    record.pop("run", None)
    with contextlib.suppress(MissingFieldError, SampleError):
        Sample(**SCHEMA.read(record, {}, (field,)))


def test_keys_of_a_place_are_written_one_by_one() -> None:
    assert Place.of("inputs", "question", "query") == Place("inputs", ("question", "query"))
    assert Place.of("outputs") == Place("outputs", ())
    with pytest.raises(ParameterError, match=r'Write Place\.of\("inputs", "question", "query"\)'):
        Place.of("inputs", "question query")
