"""Where contexts and ids come from: keys, retriever runs, and the shapes that a document has."""

from __future__ import annotations

import pytest

from ctxmetrics import ContextPrecision, IDBasedContextRecall, LexicalJudge
from ctxmetrics.adapting import Wrapper
from ctxmetrics.errors import MissingFieldError, ParameterError, SampleError
from ctxmetrics.samples.sample import Sample
from support.cases import each_case
from support.later import later

langchain_core = later("langchain_core")
ours = later("ctxmetrics_langchain")


def make_documents() -> list[langchain_core.documents.Document]:
    return [
        langchain_core.documents.Document("one", id="d1"),
        langchain_core.documents.Document("two", id="d2"),
    ]


SERVER = [
    {"id": "d1", "metadata": {}, "page_content": "one", "type": "Document"},
    {"id": "d2", "metadata": {}, "page_content": "two", "type": "Document"},
]
TRACEABLE = [
    {"page_content": "one", "type": "Document", "metadata": {}},
    {"page_content": "two", "type": "Document", "metadata": {}},
]
SHAPES = {
    "documents": make_documents,
    "dicts as a server gives them back": SERVER,
    "dicts of a traceable retriever": TRACEABLE,
    "(document, score) tuples": lambda: [(document, 0.5) for document in make_documents()],
    "(document, score) pairs as JSON lists": [[document, 0.5] for document in SERVER],
    "strings": ["one", "two"],
    "other text keys": [{"text": "one"}, {"content": "two"}],
    "documents of JavaScript": [{"pageContent": "one"}, {"document": {"pageContent": "two"}}],
    "parts": [
        {"type": "search_result", "content": [{"type": "text", "text": text}]}
        for text in ("one", "two")
    ],
    "records of Dify": [{"segment": {"content": "one"}}, {"segment": {"content": "two"}}],
    "snippets": [{"title": "a", "snippet": "one"}, {"document": {"snippet": "two"}}],
}


def make_shape(name):
    """Make what a retriever may return; a function makes what LangChain's classes are needed for."""
    shape = SHAPES[name]
    return shape() if callable(shape) else shape


def contexts_of(record, **keys):
    return Sample(
        **ours.documents.SCHEMA.read(record, keys, ("retrieved_contexts",))
    ).retrieved_contexts


def ids_of(record, **keys):
    return Sample(
        **ours.documents.SCHEMA.read(record, keys, ("retrieved_context_ids",))
    ).retrieved_context_ids


def test_documents_of_a_retriever_keep_their_order():
    scored = [
        langchain_core.documents.Document("one", id="d1", metadata={"relevance_score": 0.1}),
        langchain_core.documents.Document("two", id="d2", metadata={"relevance_score": 0.9}),
    ]
    record = {"outputs": {"documents": scored}}
    assert contexts_of(record) == ("one", "two")
    assert ids_of(record) == ("d1", "d2")


@each_case("shape", SHAPES)
@each_case(
    "key",
    [
        "retrieved_contexts",
        "documents",
        "contexts",
        "context",
        "source_documents",
        "retrieved_docs",
        "retrieved_context",
    ],
)
def test_every_shape_under_every_usual_key(shape, key):
    assert contexts_of({"outputs": {"answer": "x", key: make_shape(shape)}}) == ("one", "two")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("key", ["documents", "output"])
def test_every_shape_from_a_retriever_run(shape, key, make_run, case):
    retriever = make_run({key: make_shape(shape)}, run_type="retriever", name="VectorStoreRetriever")
    run = make_run({"answer": "x"}, children=[make_run({}, children=[retriever])])
    assert contexts_of(ours.documents.to_record(run, case.example)) == ("one", "two")


def test_outputs_win_over_retriever_runs(make_run):
    retriever = make_run({"documents": make_documents()}, run_type="retriever")
    run = make_run({"documents": ["reranked"]}, children=[retriever])
    assert contexts_of(ours.documents.to_record(run, None)) == ("reranked",)


def test_a_run_that_is_a_retriever_itself(make_run):
    assert contexts_of(
        ours.documents.to_record(make_run({"output": TRACEABLE}, run_type="retriever"), None)
    ) == (
        "one",
        "two",
    )


def test_a_target_that_returns_a_bare_list(make_run):
    assert contexts_of(ours.documents.to_record(make_run({"output": make_documents()}), None)) == (
        "one",
        "two",
    )


def test_a_single_joined_string_is_one_context():
    assert contexts_of({"outputs": {"context": "one\n\ntwo"}}) == ("one\n\ntwo",)


def test_a_single_document_is_no_list_of_its_fields():
    assert contexts_of({"outputs": {"context": make_documents()[0]}}) == ("one",)


def test_nothing_retrieved_is_an_empty_list_and_not_an_error():
    assert contexts_of({"outputs": {"documents": []}}) == ()


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ("all", ("one", "two", "three")),
        ("last", ("three",)),
        ("first", ("one", "two")),
        (lambda name: name.startswith("sec"), ("three",)),
    ],
)
def test_several_retriever_runs(chosen, expected, make_run):
    first = make_run({"documents": make_documents()}, run_type="retriever", name="first")
    second = make_run({"documents": ["three"]}, run_type="retriever", name="second")
    record = ours.documents.to_record(make_run({"answer": "x"}, children=[first, second]), None)
    assert contexts_of(record, retriever=chosen) == expected


def test_a_retriever_inside_a_retriever_is_its_business(make_run):
    inner = make_run({"documents": ["raw", "one"]}, run_type="retriever")
    outer = make_run({"documents": ["one"]}, run_type="retriever", children=[inner])
    assert contexts_of(ours.documents.to_record(make_run({"answer": "x"}, children=[outer]), None)) == (
        "one",
    )


@pytest.mark.parametrize("kind", ["retriever", "chain"])
def test_a_reranker_below_the_run_is_the_last_stage(kind, make_run):
    first = make_run({"documents": make_documents()}, run_type="retriever", name="first")
    second = make_run({"documents": [{"text": "three"}]}, run_type="retriever", name="second")
    rerank = make_run({"output": [{"text": "three"}, {"text": "one"}]}, run_type=kind, name="Rerank")
    record = ours.documents.to_record(make_run({"answer": "x"}, children=[first, second, rerank]), None)
    assert contexts_of(record) == ("three", "one")
    sample = Sample(**ours.documents.SCHEMA.read(record, {}, ("retrieved_contexts",), ("stages",)))
    assert {name: stage.contexts for name, stage in sample.stages.items()} == {
        "first": ("one", "two"),
        "second": ("three",),
        "joined": ("one", "two", "three"),
        "Rerank": ("three", "one"),
    }
    chosen = {"retriever": "first"}
    assert (
        ours.documents.SCHEMA.read(record, chosen, ("retrieved_contexts",), ("stages",))["stages"]
        is None
    )
    record["outputs"]["documents"] = ["one"]  # another step chose these
    assert (
        ours.documents.SCHEMA.read(record, {}, ("retrieved_contexts",), ("stages",))["stages"] is None
    )


def test_stages_in_the_outputs_win(make_run):
    first = make_run({"documents": make_documents()}, run_type="retriever", name="first")
    run = make_run({"stages": {"search": ["one", "two"], "prompt": ["two"]}}, children=[first])
    read = ours.documents.SCHEMA.read(
        ours.documents.to_record(run, None), {}, ("retrieved_contexts",), ("stages",)
    )
    assert read["stages"] == {"search": ["one", "two"], "prompt": ["two"]}


def test_a_name_that_no_retriever_run_has(make_run):
    run = make_run({}, children=[make_run({"documents": ["x"]}, run_type="retriever", name="vectors")])
    with pytest.raises(SampleError, match=r"retriever='vektors' is none of: vectors"):
        contexts_of(ours.documents.to_record(run, None), retriever="vektors")


def test_a_retriever_run_that_failed_is_no_empty_result(make_run):
    run = make_run({}, children=[make_run(None, run_type="retriever", name="vectors")])
    with pytest.raises(SampleError, match="retriever run 'vectors' holds no documents"):
        contexts_of(ours.documents.to_record(run, None))


def test_a_target_that_failed_is_named_as_such(make_run):
    run = make_run(None, error="ValueError: index is gone, api_key=sk-abcdef123456")
    with pytest.raises(
        MissingFieldError,
        match=r"has no retrieved_contexts: the run failed \(ValueError: index is gone",
    ) as caught:
        contexts_of(ours.documents.to_record(run, None))
    assert "sk-abcdef" not in str(caught.value)


@pytest.mark.parametrize("child_runs", [None, []])
def test_no_contexts_anywhere_is_a_clear_error_and_never_zero(child_runs, make_run, case):
    """child_runs is None in runs read back without load_nested, and empty where a thread lost its context."""
    run = make_run({"answer": "x", "sources": []})
    run.child_runs = child_runs
    with pytest.raises(MissingFieldError) as caught:
        ours.ContextRecallEvaluator().evaluate_run(run, case.example)
    text = str(caught.value)
    assert str(case.example.id) in text
    assert "no retrieved_contexts" in text
    assert "answer, sources" in text, "what there is instead"
    assert "load_nested=True" in text
    assert "contexts_key=" in text


def test_a_document_without_text():
    with pytest.raises(
        SampleError,
        match=r"field 'retrieved_contexts', item 2 must be a string, not dict\. A document has its text under",
    ):
        contexts_of({"outputs": {"documents": ["one", {"title": "two"}]}})


# ---- ids ----


def test_ids_are_those_of_the_documents():
    assert ids_of({"outputs": {"documents": make_documents()}}) == ("d1", "d2")
    assert ids_of({"outputs": {"documents": SERVER}}) == ("d1", "d2")
    assert ids_of({"outputs": {"documents": [(make_documents()[0], 0.9)]}}) == ("d1",)


@pytest.mark.parametrize("key", ["retrieved_context_ids", "retrieved_ids"])
def test_ids_given_by_themselves_win(key):
    assert ids_of({"outputs": {"documents": make_documents(), key: [3, "x"]}}) == ("3", "x")


def test_id_key_is_a_metadata_key_or_a_function():
    documents = [
        langchain_core.documents.Document("one", id="d1", metadata={"source": "a.md", "page": {"n": 7}})
    ]
    assert ids_of({"outputs": {"documents": documents}}, id_key="source") == ("a.md",)
    assert ids_of({"outputs": {"documents": documents}}, id_key="page.n") == ("7",)
    assert ids_of({"outputs": {"documents": documents}}, id_key=lambda d: d.metadata["source"][0]) == (
        "a",
    )
    assert ids_of({"outputs": {"documents": [{"text": "x", "doc_id": 5}]}}, id_key="doc_id") == ("5",)


def test_ids_from_retriever_runs(make_run):
    run = make_run({}, children=[make_run({"documents": SERVER}, run_type="retriever")])
    assert ids_of(ours.documents.to_record(run, None)) == ("d1", "d2")


def test_an_id_of_zero_is_an_id():
    assert ids_of({"outputs": {"documents": [{"text": "x", "id": 0}]}}) == ("0",)


@pytest.mark.parametrize(
    ("make", "kind", "key"),
    [
        (
            lambda: [
                langchain_core.documents.Document("one"),
                langchain_core.documents.Document("two"),
            ],
            "item 1: a Document has no id",
            None,
        ),
        (
            lambda: [langchain_core.documents.Document("one", id="d1")],
            "item 1: a Document has no source",
            "source",
        ),
        (
            lambda: [langchain_core.documents.Document("one", id="d1"), "a text"],
            "item 2: a str has no id",
            None,
        ),
    ],
)
def test_missing_ids_raise_clearly(make, kind, key):
    keys = {} if key is None else {"id_key": key}
    with pytest.raises(SampleError, match=rf"Field 'retrieved_context_ids', {kind}.*id_key=") as caught:
        ids_of({"outputs": {"documents": make()}}, **keys)
    assert "retrieved_ids_key=" in str(caught.value)


@pytest.mark.parametrize(("key", "ids"), [(None, ("d0", "")), ("source", ("s", ""))])
def test_a_document_without_an_id_keeps_its_place(key, ids):
    keys = {} if key is None else {"id_key": key}
    documents = [
        langchain_core.documents.Document("x", id="d0", metadata={"source": "s"}),
        langchain_core.documents.Document("one"),
    ]
    assert ids_of({"outputs": {"documents": documents}}, **keys) == ids


def test_int_and_str_ids_are_the_same_on_both_sides(make_run, case):
    """Document(id=3).id is "3" already; a data set holds numbers."""
    run = make_run(
        {
            "documents": [
                langchain_core.documents.Document("one", id=3),
                langchain_core.documents.Document("two", id=4),
            ]
        }
    )
    example = case.example_with(outputs={"reference_context_ids": [3, 5]})
    assert ours.IDBasedContextRecallEvaluator().evaluate_run(run, example).score == 0.5
    assert ours.IDBasedContextPrecisionEvaluator().evaluate_run(run, example).score == 0.5


def test_reference_ids_from_reference_documents(make_run, case):
    example = case.example_with(outputs={"documents": SERVER})
    run = make_run({"documents": make_documents()[:1]})
    assert ours.IDBasedContextRecallEvaluator().evaluate_run(run, example).score == 0.5


# ---- keys ----


@pytest.mark.parametrize("key", ["user_input", "question", "input", "query"])
def test_usual_names_of_the_question(key):
    assert (
        Sample(**ours.documents.SCHEMA.read({"inputs": {key: "q"}}, {}, ("user_input",))).user_input
        == "q"
    )


@pytest.mark.parametrize("key", ["response", "answer", "output", "result"])
def test_usual_names_of_the_answer(key):
    assert (
        Sample(**ours.documents.SCHEMA.read({"outputs": {key: "a"}}, {}, ("response",))).response == "a"
    )


@pytest.mark.parametrize("key", ["reference", "answer", "output", "ground_truth"])
def test_usual_names_of_the_reference(key):
    assert (
        Sample(
            **ours.documents.SCHEMA.read({"reference_outputs": {key: "r"}}, {}, ("reference",))
        ).reference
        == "r"
    )


def test_every_key_can_be_named(make_run, case):
    run = make_run(
        {"gen": {"text": "Eiffel built it."}, "hits": ["Eiffel built it."], "hit_ids": ["a"]}
    )
    example = case.example_with(
        inputs={"q": "who?"},
        outputs={"gold": "Eiffel built it.", "gold_docs": ["Eiffel built it."], "gold_ids": ["a"]},
    )
    keys = {
        "question_key": "q",
        "answer_key": "gen.text",
        "contexts_key": "hits",
        "reference_key": lambda record: record["example"].outputs["gold"],
        "reference_contexts_key": "gold_docs",
        "retrieved_ids_key": "hit_ids",
        "reference_ids_key": "reference_outputs.gold_ids",
    }
    fields = (
        "user_input",
        "response",
        "retrieved_contexts",
        "reference",
        "reference_contexts",
        "retrieved_context_ids",
        "reference_context_ids",
    )
    sample = Sample(**ours.documents.SCHEMA.read(ours.documents.to_record(run, example), keys, fields))
    assert [getattr(sample, name) for name in fields] == [
        "who?", "Eiffel built it.", ("Eiffel built it.",), "Eiffel built it.", ("Eiffel built it.",), ("a",), ("a",),
    ]  # fmt: skip
    for evaluator in (
        ours.ContextRecallEvaluator,
        ours.ContextUtilizationEvaluator,
        ours.NonLLMContextRecallEvaluator,
        ours.IDBasedContextRecallEvaluator,
    ):
        assert evaluator(**keys).evaluate_run(run, example).score == 1.0


def test_contexts_that_the_data_set_holds():
    assert contexts_of(
        {"inputs": {"contexts": ["one"]}, "outputs": {"answer": "x"}}, contexts_key="inputs.contexts"
    ) == ("one",)


def test_a_key_that_holds_a_dot():
    assert contexts_of({"outputs": {"rag.docs": ["one"]}}, contexts_key="rag.docs") == ("one",)


def test_outputs_that_are_an_object():
    class State:
        docs = ("one",)

    assert contexts_of({"outputs": {"output": State()}}, contexts_key="output.docs") == ("one",)


def test_absent_named_key_raises_also_if_optional(make_run, case):
    run = make_run(case.outputs)
    with pytest.raises(
        MissingFieldError, match=r"no user_input: no frage in its inputs \(there is: question\)"
    ):
        ours.ContextRecallEvaluator(question_key="frage").evaluate_run(run, case.example)


def test_a_named_key_does_not_fall_back_to_the_usual_ones(case):
    with pytest.raises(MissingFieldError, match="no hits in its outputs"):
        contexts_of({"outputs": case.outputs}, contexts_key="hits")


def test_in_a_flat_mapping_the_answer_is_never_the_reference():
    record = {"question": "q", "answer": "a", "documents": ["one"]}
    assert Sample(**ours.documents.SCHEMA.read(record, {}, ("response",))).response == "a"
    with pytest.raises(MissingFieldError, match="no reference"):
        ours.documents.SCHEMA.read(record, {}, ("reference",))


def test_a_flat_mapping_with_every_field():
    record = {"id": 7, "user_input": "q", "response": "a", "retrieved_contexts": ["one"], "reference": "r",
              "reference_contexts": ["two"], "retrieved_context_ids": ["d1"], "reference_context_ids": ["d2"]}  # fmt: skip
    sample = Sample(**ours.documents.SCHEMA.read(record, {}, [name for name in record if name != "id"]))
    assert sample.to_dict() == {**record, "id": "7"}


def test_expected_documents_are_never_what_was_retrieved():
    with pytest.raises(MissingFieldError, match="no retrieved_contexts"):
        contexts_of({"outputs": {"answer": "x"}, "reference_outputs": {"documents": ["one"]}})


# ---- misuse ----


@pytest.mark.parametrize(
    "make",
    [
        lambda keys: ours.ContextRecallEvaluator(**keys),
        lambda keys: ours.RetrievalEvaluator([IDBasedContextRecall()], **keys),
    ],
)
@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"context_key": "x"}, "'context_key'.*[Dd]id you mean 'contexts_key'"),
        ({"contexts_key": 3}, "contexts_key=3 must be a string or a function"),
        ({"retriever": ["a"]}, r"retriever=\['a'\] must be a string or a function"),
    ],
)
def test_wrong_keys_raise_at_once(make, keys, message):
    with pytest.raises(ParameterError, match=message):
        make(keys)


def test_a_text_where_a_list_of_documents_is_meant():
    with pytest.raises(SampleError, match="item 1 must be a string, not float"):
        contexts_of({"outputs": {"documents": 0.5}})


def test_documents_without_an_id_have_no_source_and_each_counts() -> None:
    record = {
        "inputs": {"question": "q"},
        "outputs": {
            "documents": [
                langchain_core.documents.Document("Shop 1 is closed."),
                langchain_core.documents.Document("The bag is red."),
            ]
        },
        "reference_outputs": {"answer": "The bag is red."},
    }
    wrapper = Wrapper.of(
        ContextPrecision(judge=LexicalJudge(), convention="deepeval"), None, {}, ours.documents.SCHEMA
    )
    assert wrapper.score(record).value == 0.5
    for document in record["outputs"]["documents"]:
        document.id = "a"
    assert wrapper.score(record).value == 1.0


@pytest.mark.parametrize(
    "key",
    [
        "reference",
        "ground_truth",
        "reference_answer",
        "expected_answer",
        "expected",
        "expected_output",
        "answer",
    ],
)
def test_a_reference_under_every_usual_key(key):
    record = {"outputs": {"answer": "given"}, "reference_outputs": {key: "expected"}}
    assert ours.documents.SCHEMA.read(record, {}, ("reference",))["reference"] == "expected"


@pytest.mark.parametrize("form", [lambda message: message, lambda message: message.model_dump()])
def test_artifacts_of_tool_messages_are_contexts(form, make_run, case):
    """An agent's tool that searches (``response_format="content_and_artifact"``) has no retriever run."""
    messages = [
        langchain_core.messages.HumanMessage("Where?"),
        langchain_core.messages.AIMessage("", tool_calls=[{"name": "search", "args": {}, "id": "1"}]),
        langchain_core.messages.ToolMessage(
            "one, two", tool_call_id="1", name="search", artifact=make_documents()
        ),
        langchain_core.messages.ToolMessage(
            "a text alone", tool_call_id="2", name="weather", artifact=None
        ),
        langchain_core.messages.AIMessage("There."),
    ]
    run = make_run({"messages": [form(message) for message in messages]})
    assert contexts_of(ours.documents.to_record(run, case.example)) == ("one", "two")
    assert ids_of(ours.documents.to_record(run, case.example)) == ("d1", "d2")


def test_retriever_runs_count_before_artifacts(make_run, case):
    messages = [
        langchain_core.messages.ToolMessage(
            "x", tool_call_id="1", name="search", artifact=[langchain_core.documents.Document("other")]
        )
    ]
    child = make_run({"documents": make_documents()}, run_type="retriever")
    run = make_run({"messages": messages}, child_runs=[child])
    assert contexts_of(ours.documents.to_record(run, case.example)) == ("one", "two")
