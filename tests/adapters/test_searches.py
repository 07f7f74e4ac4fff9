"""Searches where agents and conversations have them: messages written by the real libraries, and their real runners."""

from __future__ import annotations

import asyncio
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from ctxmetrics import ContextRecall, LexicalJudge, Sample, ScriptedJudge, evaluate
from ctxmetrics.evaluation.files.sample_file import read_samples
from ctxmetrics.samples.conversations import read_messages
from ctxmetrics.samples.stages import Search
from support import answer_from
from support.openinference_tracer import make_tracer

PARIS, YEAR = "The tower stands in Paris.", "The tower was finished in 1889."
QUESTION = "Where is the tower, and since when?"
ANSWER = "In Paris, since 1889."
REFERENCE = "The tower stands in Paris. It was finished in 1889. It is painted brown."
EXPECTED = (
    Search("where", (PARIS,), None, 1),
    Search("when", (YEAR,), None, 1),
)
JUDGE = LexicalJudge()
# Several plain words in a page.
PLAIN = re.compile(r"\b[a-z]+(?: [a-z]+){5,}")
# Says yes to a sentence whose words, without its first letter and full stop, stand in a context.
SCRIPTED = ScriptedJudge(
    answer_from(lambda unit, contexts: (any(unit[1:-1] in text for text in contexts), None, unit[1:-1]))
)
# By hand: two of three sentences are in what the searches brought together, the first search has one of them.
RECALL = 2 / 3


def langchain_messages() -> Any:
    messages = pytest.importorskip(
        "langchain_core.messages", reason="the langchain extra is not installed"
    )
    documents = pytest.importorskip("langchain_core.documents")

    def call(number: int, query: str) -> Any:
        calls = [{"name": "search", "args": {"query": query}, "id": str(number)}]
        return messages.AIMessage(content="", tool_calls=calls)

    found = documents.Document(page_content=PARIS)
    return [
        messages.HumanMessage(content=QUESTION),
        call(1, "where"),
        messages.ToolMessage(content="one document", tool_call_id="1", name="search", artifact=[found]),
        call(2, "when"),
        messages.ToolMessage(content=YEAR, tool_call_id="2", name="search"),
        messages.AIMessage(content=ANSWER),
    ]


def langchain_dicts() -> Any:
    messages = langchain_messages()
    from langchain_core.messages import messages_to_dict

    written = messages_to_dict(messages)
    written[2]["data"]["artifact"] = [{"page_content": PARIS}]
    return json.loads(json.dumps(written))


def langchain_dumped() -> Any:
    messages = langchain_messages()
    from langchain_core.load import dumpd

    return json.loads(json.dumps(dumpd(messages)))


def openai_chat() -> list[Any]:
    def call(id_: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": id_,
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }

    calls = [call("a", "search_docs", {"query": "where"}), call("b", "calculate", {"formula": "1 + 1"})]
    return [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "b", "content": "2"},
        {"role": "tool", "tool_call_id": "a", "content": json.dumps({"results": [{"text": PARIS}]})},
        {"role": "assistant", "content": None, "tool_calls": [call("c", "search_docs", {"q": "when"})]},
        {"role": "tool", "tool_call_id": "c", "content": json.dumps([YEAR])},
        {"role": "assistant", "content": ANSWER},
    ]


def openai_objects() -> list[Any]:
    chat = pytest.importorskip("openai.types.chat", reason="the openai extra is not installed")
    return [
        chat.ChatCompletionMessage.model_validate(message)
        if message["role"] == "assistant"
        else message
        for message in openai_chat()
    ]


def openai_responses() -> list[Any]:
    return [
        {"role": "user", "content": [{"type": "input_text", "text": QUESTION}]},
        {"type": "function_call", "call_id": "1", "name": "search", "arguments": '{"query": "where"}'},
        {"type": "function_call_output", "call_id": "1", "output": PARIS},
        {"type": "function_call", "call_id": "2", "name": "search", "arguments": '{"query": "when"}'},
        {"type": "function_call_output", "call_id": "2", "output": YEAR},
        {"role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]},
    ]


def anthropic() -> list[Any]:
    def call(id_: str, query: str) -> dict[str, Any]:
        return {"type": "tool_use", "id": id_, "name": "search", "input": {"query": query}}

    return [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": [{"type": "text", "text": "Wait."}, call("1", "where")]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": PARIS}]},
        {"role": "assistant", "content": [call("2", "when")]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "2", "content": [{"type": "text", "text": YEAR}]}
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]},
    ]


def mcp() -> list[Any]:
    """Results of MCP tools, as `CallToolResult.model_dump()` writes them."""

    def result(text: str) -> dict[str, Any]:
        return {
            "content": [{"type": "text", "text": text}],
            "structuredContent": None,
            "isError": False,
        }

    messages = openai_responses()
    messages[2]["output"] = result(PARIS)
    messages[4]["output"] = {**result(""), "structuredContent": {"result": [{"text": YEAR}]}}
    return messages


def ragas_messages() -> list[Any]:
    messages = pytest.importorskip("ragas.messages", reason="the ragas extra is not installed")

    def call(query: str) -> Any:
        calls = [messages.ToolCall(name="search", args={"query": query})]
        return messages.AIMessage(content="", tool_calls=calls)

    return [
        messages.HumanMessage(content=QUESTION),
        call("where"),
        messages.ToolMessage(content=PARIS),
        call("when"),
        messages.ToolMessage(content=YEAR),
        messages.AIMessage(content=ANSWER),
    ]


def inspect_messages() -> list[Any]:
    model = pytest.importorskip("inspect_ai.model", reason="the inspect extra is not installed")
    tool = pytest.importorskip("inspect_ai.tool")

    def call(id_: str, query: str) -> Any:
        calls = [tool.ToolCall(id=id_, function="search", arguments={"query": query})]
        return model.ChatMessageAssistant(content="", tool_calls=calls)

    return [
        model.ChatMessageUser(content=QUESTION),
        call("1", "where"),
        model.ChatMessageTool(content=PARIS, tool_call_id="1", function="search"),
        call("2", "when"),
        model.ChatMessageTool(content=YEAR, tool_call_id="2", function="search"),
        model.ChatMessageAssistant(content=ANSWER),
    ]


def conversation(name: str = "t") -> Any:
    test_case = pytest.importorskip("deepeval.test_case", reason="the deepeval extra is not installed")

    def turn(query: str, output: str, text: str) -> Any:
        call = test_case.ToolCall(name="search", input_parameters={"query": query}, output=[output])
        return test_case.Turn(role="assistant", content=text, tools_called=[call])

    turns = [
        test_case.Turn(role="user", content=QUESTION),
        turn("where", PARIS, "Wait."),
        turn("when", YEAR, ANSWER),
    ]
    return test_case.ConversationalTestCase(name=name, turns=turns, expected_outcome=REFERENCE)


def openai_response_objects() -> list[Any]:
    responses = pytest.importorskip(
        "openai.types.responses", reason="the openai extra is not installed"
    )
    kinds = {"function_call": responses.ResponseFunctionToolCall}
    messages = [kinds.get(message.get("type"), dict)(**message) for message in openai_responses()[:-1]]
    text = responses.ResponseOutputText(text=ANSWER, type="output_text", annotations=[])
    answer = {
        "id": "m",
        "role": "assistant",
        "status": "completed",
        "type": "message",
        "content": [text],
    }
    return [*messages, responses.ResponseOutputMessage(**answer)]


def anthropic_objects() -> list[Any]:
    types = pytest.importorskip("anthropic.types", reason="anthropic is not installed")
    shared = {
        "id": "m",
        "model": "m",
        "type": "message",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    return [
        types.Message.model_validate({**shared, **message, "stop_reason": "end_turn"})
        if message["role"] == "assistant"
        else message
        for message in anthropic()
    ]


def langgraph_messages() -> Any:
    pytest.importorskip("langgraph", reason="langgraph is not installed")
    *start, answer = langchain_messages()
    from langgraph.graph import START, MessagesState, StateGraph

    graph = StateGraph(MessagesState)
    graph.add_node("agent", lambda state: {"messages": [*start[1:], answer]})
    graph.add_edge(START, "agent")
    return graph.compile().invoke({"messages": start[:1]})["messages"]


def mlflow_spans() -> list[Any]:
    mlflow = pytest.importorskip("mlflow", reason="the mlflow extra is not installed")
    search = mlflow.trace(lambda query: [{"page_content": {"where": PARIS, "when": YEAR}[query]}], name="search", span_type="TOOL")  # fmt: skip

    @mlflow.trace(span_type="AGENT")
    def agent(question: str) -> str:
        search(query="where")
        search(query="when")
        return ANSWER

    agent(QUESTION)
    mlflow.flush_trace_async_logging()
    return [json.loads(mlflow.get_trace(mlflow.get_last_active_trace_id()).to_json())]


def langsmith_runs() -> list[Any]:
    trees = pytest.importorskip("langsmith.run_trees", reason="the langchain extra is not installed")
    root = trees.RunTree(name="agent", inputs={"question": QUESTION}, ls_client=Mock())
    for query, text in (("where", PARIS), ("when", YEAR)):
        child = root.create_child(name="search", run_type="tool", inputs={"query": query})
        child.end(outputs={"output": [text]})
    root.end(outputs={"answer": ANSWER})
    return [json.loads(run.model_dump_json()) for run in (root, *root.child_runs)]


def openinference_spans() -> list[Any]:
    _, tracer, read_spans = make_tracer()
    with tracer.start_as_current_span("agent", openinference_span_kind="agent") as root:
        root.set_input(QUESTION)
        root.set_output(ANSWER)
        for query, text in (("where", PARIS), ("when", YEAR)):
            with tracer.start_as_current_span("search", openinference_span_kind="tool") as span:
                span.set_input({"query": query})
                span.set_output([{"content": text}])
    return read_spans()


# What each client's own objects make, at least eight of them: messages, or the spans of a trace.
MESSAGES = {
    "LangChain": langchain_messages,
    "LangGraph": langgraph_messages,
    "OpenAI chat": openai_objects,
    "OpenAI responses": openai_response_objects,
    "Anthropic": anthropic_objects,
    "Ragas": ragas_messages,
    "Inspect": inspect_messages,
    "DeepEval": lambda: conversation().turns,
}
SLOW = ["Inspect"]
"""Importing it takes seconds."""
SPANS = {"MLflow": mlflow_spans, "LangSmith": langsmith_runs, "OpenInference": openinference_spans}


@pytest.mark.parametrize(
    "client",
    [
        pytest.param(name, marks=pytest.mark.slow if name in {*SLOW, *SPANS} else ())
        for name in (*MESSAGES, *SPANS)
    ],
)
def test_searches_of_a_real_client_are_read_without_an_option(client: str, tmp_path: Path) -> None:
    if client in MESSAGES:
        one = Sample.from_dict({"messages": MESSAGES[client](), "reference": REFERENCE}, "auto")
    else:
        file = tmp_path / "trace.json"
        file.write_text(json.dumps(SPANS[client]()), encoding="utf-8")
        (one,) = read_samples(file)
    found = [(search.query, search.contexts) for search in one.searches or ()]
    assert (one.user_input, one.response, found) == (
        QUESTION,
        ANSWER,
        [("where", (PARIS,)), ("when", (YEAR,))],
    )


WRITERS = [
    langchain_messages, langchain_dicts, langchain_dumped, openai_chat, openai_objects, openai_responses, anthropic, mcp,
    ragas_messages, pytest.param(inspect_messages, marks=pytest.mark.slow), lambda: conversation().turns,
]  # fmt: skip


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: getattr(write, "__name__", ""))
def test_messages_are_read_without_an_option(write: Any) -> None:
    user_input, response, searches = read_messages(write())
    assert (user_input, response) == (QUESTION, ANSWER)
    assert Sample(searches=searches).searches == EXPECTED


@pytest.mark.parametrize("key", ["messages", "input", "user_input", "trajectory", "turns"])
def test_a_file_of_messages_is_read_as_searches(tmp_path: Path, key: str) -> None:
    file = tmp_path / "runs.jsonl"
    row = {key: openai_chat(), "reference": REFERENCE, "model": "m"}
    file.write_text(
        "".join(json.dumps({**row, "id": str(n)}) + "\n" for n in range(2)), encoding="utf-8"
    )
    samples = read_samples(file)
    one, _ = samples
    assert (one.user_input, one.response, one.searches) == (QUESTION, ANSWER, EXPECTED)
    assert one.metadata == {"model": "m"}
    assert samples.reading.mapping["searches"] == key


def test_what_was_retrieved_by_name_comes_before_messages() -> None:
    row = {"messages": openai_chat(), "retrieved_contexts": [PARIS], "question": "q"}
    one = Sample.from_dict(row, "auto")
    assert (one.searches, one.retrieved_contexts) == (None, (PARIS,))


@pytest.mark.parametrize(
    ("output", "contexts"),
    [
        ({"content": "Connection refused.", "status": "error"}, ()),
        ({"content": [{"type": "text", "text": "timeout"}], "isError": True}, ()),
        ({"content": ""}, ()),
        ({"content": "[]"}, ()),
        ({"content": json.dumps({"documents": [{"id": "1", "text": PARIS}]})}, (PARIS,)),
    ],
)
def test_a_search_that_brought_nothing_is_one(output: Any, contexts: tuple[str, ...]) -> None:
    messages = [{"role": "user", "content": "q"}, {"role": "tool", "name": "search", **output}]
    (search,) = read_messages(messages).searches
    stored = Sample(searches=[search]).searches
    assert stored is not None
    assert stored[0].contexts == contexts


@pytest.mark.parametrize("calls", [5, "ab", [3, None], {"name": "search"}])
@pytest.mark.parametrize("arguments", [7, [1, 2], None, "[1]", {"a": {"b": 1}}])
def test_messages_of_another_form_bring_no_error(calls: Any, arguments: Any) -> None:
    call = {"id": "1", "name": "search", "args": arguments}
    messages = [
        {"role": "assistant", "tool_calls": calls, "retrieval_context": 7},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": PARIS},
    ]
    (search,) = read_messages(messages).searches
    assert search["contexts"] == [PARIS]


def test_a_question_that_no_agent_answered_counts_as_zero(tmp_path: Path) -> None:
    runs, gold = tmp_path / "runs.jsonl", tmp_path / "gold.jsonl"
    runs.write_text(json.dumps({"id": "a", "messages": openai_chat()}) + "\n", encoding="utf-8")
    rows = [
        {"id": name, "question": question, "reference": REFERENCE}
        for name, question in (("a", QUESTION), ("b", "Why?"))
    ]
    gold.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    samples = read_samples(runs, references=gold)
    results = evaluate(samples, [ContextRecall(judge=JUDGE)], progress=False)
    assert results.by_metric["context_recall"].values == pytest.approx([RECALL, 0.0])


def test_other_tools_are_no_searches_unless_they_are_named() -> None:
    messages = [{"role": "tool", "name": "weather", "content": "It rains."}]
    assert read_messages(messages).searches == []
    named = read_messages(messages, "weather").searches
    assert [search["contexts"] for search in named] == [["It rains."]]
    assert read_messages(messages, lambda name: name == "weather").searches == named


def test_retrievers_of_one_trace_asked_different_questions(tmp_path: Path) -> None:
    def span(name: str, query: str, text: str, at: int, parent: str | None = "r") -> dict[str, Any]:
        kind = "CHAIN" if parent is None else "RETRIEVER"
        return {
            "context": {"trace_id": "t", "span_id": name},
            "parent_id": parent,
            "name": name,
            "start_time": f"2026-11-26T00:00:0{at}",
            "attributes": {
                "openinference.span.kind": kind,
                "input.value": query,
                "retrieval.documents": [{"document.content": text}],
            },
        }

    spans = [span("r", QUESTION, "", 0, None), span("a", "where", PARIS, 1), span("b", "when", YEAR, 2)]
    file = tmp_path / "spans.jsonl"
    file.write_text("".join(json.dumps(item) + "\n" for item in spans), encoding="utf-8")
    (one,) = read_samples(file)
    assert one.searches == (Search("where", (PARIS,)), Search("when", (YEAR,)))
    for item in spans[1:]:
        item["attributes"]["input.value"] = QUESTION
    file.write_text("".join(json.dumps(item) + "\n" for item in spans), encoding="utf-8")
    (one,) = read_samples(file)
    assert one.searches is None  # one question, several retrievers: stages
    assert one.retrieved_contexts == (PARIS, YEAR)


def test_ragas_multi_turn_samples_have_the_same_numbers() -> None:
    ragas = pytest.importorskip("ragas", reason="the ragas extra is not installed")
    from ragas.dataset_schema import MultiTurnSample

    from ctxmetrics_ragas import ContextPrecision, results
    from ctxmetrics_ragas import ContextRecall as RagasRecall

    turns = MultiTurnSample(user_input=ragas_messages(), reference=REFERENCE)
    metrics = [RagasRecall(judge=JUDGE), ContextPrecision(judge=JUDGE)]
    run = ragas.evaluate(ragas.EvaluationDataset([turns, turns]), metrics=metrics, show_progress=False)
    assert run["context_recall"] == pytest.approx([RECALL] * 2)
    assert all(map(math.isnan, run["context_precision"]))
    assert [sample.recalls_after for sample in results(run).searches().samples] == [
        pytest.approx((1 / 3, RECALL))
    ] * 2
    assert results(run)[0]["context_precision"].reason_code == "several_searches"
    assert metrics[0].multi_turn_score(turns) == pytest.approx(RECALL)
    assert asyncio.run(metrics[0].multi_turn_ascore(turns)) == pytest.approx(RECALL)


@pytest.mark.parametrize("asynchronous", [True, False])
def test_deepeval_conversations_have_the_same_numbers(asynchronous: bool) -> None:
    deepeval = pytest.importorskip("deepeval", reason="the deepeval extra is not installed")
    from deepeval.evaluate import AsyncConfig, DisplayConfig

    from ctxmetrics_deepeval import (
        ConversationalContextPrecisionMetric,
        ConversationalContextRecallMetric,
        results,
    )

    run = deepeval.evaluate(
        [conversation("a"), conversation("b")],
        [
            ConversationalContextRecallMetric(judge=JUDGE, threshold=0.6),
            ConversationalContextPrecisionMetric(judge=JUDGE),
        ],
        async_config=AsyncConfig(run_async=asynchronous),
        display_config=DisplayConfig(print_results=False, show_indicator=False),
    )
    for test in run.test_results:
        recall, precision = test.metrics_data
        assert (recall.score, recall.success) == (pytest.approx(RECALL), True)
        assert (precision.score, precision.success) == (None, False)
        assert precision.error.startswith("several_searches: ")
    assert results(run).searches().searches[1].recall_after == pytest.approx(RECALL)
    assert results(run)[0].sample.searches == EXPECTED


def test_langsmith_evaluates_the_messages_of_an_agent() -> None:
    langsmith = pytest.importorskip("langsmith", reason="the langchain extra is not installed")
    from ctxmetrics_langchain import ContextPrecisionEvaluator, ContextRecallEvaluator

    run = SimpleNamespace(
        id="r", outputs={"messages": langchain_messages()}, inputs={"question": QUESTION}, error=None,
        run_type="chain", name="agent", child_runs=[],
    )  # fmt: skip
    example = SimpleNamespace(id="e", inputs=run.inputs, outputs={"answer": REFERENCE})
    assert langsmith
    recall = ContextRecallEvaluator(judge=JUDGE).evaluate_run(run, example)
    precision = ContextPrecisionEvaluator(judge=JUDGE).evaluate_run(run, example)
    assert recall.score == pytest.approx(RECALL)
    assert precision.score is None
    assert "several_searches" in str(precision.comment)


@pytest.mark.slow
def test_inspect_scores_the_messages_of_a_state(tmp_path: Path) -> None:
    messages = inspect_messages()
    import inspect_ai
    from inspect_ai.dataset import Sample as Row

    import ctxmetrics_inspect as package

    scorers = [package.context_recall(judge=JUDGE), package.context_precision(judge=JUDGE)]
    row = Row(input=messages, target=REFERENCE, id="t")
    task = inspect_ai.Task([row], solver=[], scorer=scorers)
    (log,) = inspect_ai.eval(task, model=None, display="none", log_dir=str(tmp_path))
    (sample,) = log.samples
    assert sample.scores["context_recall"].value == pytest.approx(RECALL)
    assert package.results(log)[0]["context_precision"].reason_code == "several_searches"
    assert package.results(log).searches().samples[0].recalls_after == pytest.approx((1 / 3, RECALL))


class TestAgent:
    """A LangGraph agent with a scripted model and a BM25 tool over the pages of the docs."""

    @staticmethod
    def run(queries: list[str]) -> list[Any]:
        pytest.importorskip("langgraph", reason="langgraph is not installed")
        bm25 = pytest.importorskip("rank_bm25", reason="rank_bm25 is not installed")
        from langchain.agents import create_agent
        from langchain_core.documents import Document
        from langchain_core.language_models import GenericFakeChatModel
        from langchain_core.messages import AIMessage
        from langchain_core.tools import tool

        docs = Path(__file__).parents[2] / "docs"
        sections = [
            section.strip()
            for page in ("metrics.md", "judges.md", "running.md")
            for section in (docs / page).read_text(encoding="utf-8").split("\n## ")
        ]
        index = bm25.BM25Okapi([section.lower().split() for section in sections])

        @tool(response_format="content_and_artifact")
        def search(query: str) -> Any:
            """Search the docs."""
            best = index.get_top_n(query.lower().split(), sections, n=2)
            return "\n\n".join(best), [Document(page_content=text) for text in best]

        calls = [
            AIMessage(
                content="", tool_calls=[{"name": "search", "args": {"query": query}, "id": query}]
            )
            for query in queries
        ]
        model = type("Model", (GenericFakeChatModel,), {"bind_tools": lambda self, *_, **__: self})(
            messages=iter([*calls, AIMessage(content=ANSWER)])
        )
        return create_agent(model, [search]).invoke({"messages": [("user", QUESTION)]})["messages"]

    @pytest.mark.parametrize("judge", [JUDGE, SCRIPTED], ids=["embedded", "scripted"])
    def test_its_searches_are_those_judged_alone(self, judge: Any) -> None:
        queries = ["reciprocal rank of ids", "embedded judge words", "resume a run"]
        messages = self.run(queries)
        searches = read_messages(messages).searches
        first, _, last = (
            "\n".join(document.page_content for document in search["contexts"]) for search in searches
        )
        # A sentence of the first search, one of the last, and one that is nowhere.
        lasting = [
            text for text in PLAIN.findall(last) if not text.endswith(" no")
        ]  # "no." is "number"
        words = [PLAIN.findall(first)[0], lasting[-1], "bananas are yellow and sweet"]
        units = [f"{text.capitalize()}." for text in words]
        one = Sample.from_dict({"messages": messages, "reference": " ".join(units)}, "auto")
        assert one.searches is not None
        assert [search.query for search in one.searches] == queries
        assert [len(search.contexts or ()) for search in one.searches] == [2, 2, 2]
        results = evaluate([one], [ContextRecall(judge=judge)], progress=False)
        score = results[0]["context_recall"]
        assert results.usage.calls == (judge is SCRIPTED)
        for number, search in enumerate(one.searches):
            verdicts = [verdict.details["stages"][number]["value"] for verdict in score.verdicts]
            alone = ContextRecall(judge=judge).score(
                replace(one, searches=None, stages=None, retrieved_contexts=search.contexts)
            )
            assert verdicts == [verdict.value for verdict in alone.verdicts]
            if judge is SCRIPTED:
                assert verdicts == [
                    any(text[1:] in context for context in search.contexts or ()) for text in words
                ]
