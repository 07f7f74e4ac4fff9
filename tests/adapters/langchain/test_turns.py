"""Several searches a question in LangSmith: in what a target returns, in the runs below it, and in the turns of a thread."""

from __future__ import annotations

import uuid
import warnings
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from ctxmetrics import ContextPrecision, ContextRecall, LexicalJudge, Sample
from ctxmetrics.samples.stages import Search
from support.later import later, skip_without

skip_without("langchain_core", "langsmith")

langchain_core = later("langchain_core")
langsmith = later("langsmith")
ours = later("ctxmetrics_langchain")


PAGES = {"where": "The tower stands in Paris.", "when": "The tower was finished in 1889."}
QUESTION, ANSWER = "Where is the tower, and since when?", "In Paris, since 1889."
REFERENCE = "The tower stands in Paris. It was finished in 1889. It is painted brown."
JUDGE = LexicalJudge()
METRICS = [ContextRecall(), ContextPrecision()]
# By hand: the first search has one of three sentences, the second another one.
AFTER = (1 / 3, 2 / 3)


def make_retriever() -> langchain_core.retrievers.BaseRetriever:
    """Make a retriever that finds a page by its name."""

    class Pages(langchain_core.retrievers.BaseRetriever):
        def _get_relevant_documents(
            self, query: str, *, run_manager: Any
        ) -> list[langchain_core.documents.Document]:
            return [langchain_core.documents.Document(PAGES[query], id=query)]

    return Pages()


def call(number: int, query: str) -> list[Any]:
    """The messages of a search."""
    calls = [{"name": "search", "args": {"query": query}, "id": str(number)}]
    found = langchain_core.messages.ToolMessage(PAGES[query], tool_call_id=str(number), name="search")
    return [langchain_core.messages.AIMessage("", tool_calls=calls), found]


def make_messages() -> list[Any]:
    return [
        langchain_core.messages.HumanMessage(QUESTION),
        *call(1, "where"),
        *call(2, "when"),
        langchain_core.messages.AIMessage(ANSWER),
    ]


# As openevals' run_multiturn_simulation returns it.
TRAJECTORY = [
    {"role": "user", "content": QUESTION},
    *(
        message
        for number, query in enumerate(PAGES)
        for message in (
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {
                        "id": str(number),
                        "type": "function",
                        "function": {"name": "search", "arguments": f'{{"query": "{query}"}}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": str(number), "content": PAGES[query]},
        )
    ),
    {"role": "assistant", "content": ANSWER},
]


def ask_retrievers(inputs: Any) -> dict[str, Any]:
    for query in PAGES:
        make_retriever().invoke(query)
    return {"answer": ANSWER}


def ask_tools(inputs: Any) -> dict[str, Any]:
    """As an agent calls tools: the message that comes back has the documents as its artifact."""

    @langchain_core.tools.tool(response_format="content_and_artifact")
    def search(query: str) -> Any:
        """Search the pages."""
        return "one page", [langchain_core.documents.Document(PAGES[query], id=query)]

    @langchain_core.tools.tool
    def calculate(formula: str) -> str:
        """Calculate; it searches nothing."""
        return "2"

    shared = {"type": "tool_call", "id": "1"}
    search.invoke({**shared, "name": "search", "args": {"query": "where"}})
    calculate.invoke({**shared, "name": "calculate", "args": {"formula": "1 + 1"}})
    search.invoke({**shared, "name": "search", "args": {"query": "when"}})
    return {"answer": ANSWER}


def ask_functions(inputs: Any) -> dict[str, Any]:
    @langsmith.traceable(run_type="tool", name="search_docs")
    def search_texts(query: str) -> list[str]:
        return [PAGES[query]]

    for query in PAGES:
        search_texts(query=query)
    return {"answer": ANSWER}


def ask_in_tools(inputs: Any) -> dict[str, Any]:
    """Retrievers below the tools whose messages come back: one search each, not two."""

    @langchain_core.tools.tool("search")
    def search_below(query: str) -> str:
        """Search the pages with a retriever."""
        return make_retriever().invoke(query)[0].page_content

    for query in PAGES:
        search_below.invoke({"query": query})
    return {"messages": make_messages()}


TARGETS = {
    "messages": lambda inputs: {"messages": make_messages()},
    "trajectory": lambda inputs: {"trajectory": TRAJECTORY, "evaluator_results": []},
    "retrievers": ask_retrievers,
    "tools": ask_tools,
    "functions": ask_functions,
    "retrievers in tools": ask_in_tools,
}


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_a_run_with_several_searches_has_the_same_numbers(target: Any, client: Any) -> None:
    example = langsmith.schemas.Example(
        id=uuid.uuid4(), inputs={"question": QUESTION}, outputs={"answer": REFERENCE}
    )
    run = langsmith.evaluate(
        target,
        data=[example],
        evaluators=[ours.RetrievalEvaluator(METRICS, judge=JUDGE)],
        upload_results=False,
        client=client,
    )
    scores = ours.results(run)
    sample = scores[0].sample
    assert sample is not None
    assert sample.searches is not None
    assert [(one.query, one.contexts) for one in sample.searches] == [
        (query, (text,)) for query, text in PAGES.items()
    ]
    assert scores[0]["context_recall"].value == pytest.approx(AFTER[-1])
    assert scores[0]["context_precision"].reason_code == "several_searches"
    (searches,) = scores.searches().samples
    assert searches.recalls_after == pytest.approx(AFTER)
    core = Sample(user_input=QUESTION, reference=REFERENCE, searches=[Search(*one) for one in _pairs()])
    for metric in METRICS:
        assert metric.with_judge(JUDGE).score(core).value == scores[0][metric.name].value


def _pairs() -> list[tuple[str, tuple[str]]]:
    return [(query, (text,)) for query, text in PAGES.items()]


def test_one_search_of_a_tool_is_what_was_retrieved(make_run: Any) -> None:
    below = make_run(
        {"output": PAGES["where"]},
        run_type="tool",
        name="search",
        inputs={"input": "{'query': 'where'}"},
    )
    run = make_run({"answer": ANSWER}, children=[make_run({}, children=[below])], inputs={})
    example = SimpleNamespace(id="e", inputs={"question": QUESTION}, outputs={"answer": REFERENCE})
    precision = ours.RetrievalEvaluator([ContextPrecision(judge=JUDGE)]).evaluate_run(run, example)
    assert precision.score == 1.0


def test_retrievers_with_one_question_or_named_ids_are_joined(make_run: Any) -> None:
    def below(query: str, text: str) -> Any:
        found = {"documents": [langchain_core.documents.Document(text, metadata={"key": text[:3]})]}
        return make_run(found, run_type="retriever", name="pages", inputs={"query": query})

    example = SimpleNamespace(
        id="e",
        inputs={"question": QUESTION},
        outputs={"answer": REFERENCE, "reference_context_ids": ["The"]},
    )
    same = make_run({"answer": "a"}, children=[below("q", text) for text in PAGES.values()])
    assert (
        ours.RetrievalEvaluator([ContextPrecision(judge=JUDGE)]).evaluate_run(same, example).score
        == 1.0
    )
    others = make_run({"answer": "a"}, children=[below(*pair) for pair in PAGES.items()])
    named = ours.RetrievalEvaluator([ContextPrecision(judge=JUDGE)], retriever="all")
    assert named.evaluate_run(others, example).score == 1.0


def test_an_evaluator_of_trajectories_gets_the_messages() -> None:
    """As openevals calls those in ``trajectory_evaluators``: outputs is the list of messages."""
    evaluator = ours.ContextRecallEvaluator(judge=JUDGE).as_function()
    for reference in (REFERENCE, {"answer": REFERENCE}):
        result = evaluator(outputs=TRAJECTORY, reference_outputs=reference)
        assert result["score"] == pytest.approx(AFTER[-1])


def test_the_last_run_of_a_thread_holds_all_turns(client: Any) -> None:
    """A thread of LangGraph: each run's messages are those of all turns so far."""
    turns = [
        [
            langchain_core.messages.HumanMessage("Where is the tower?"),
            *call(1, "where"),
            langchain_core.messages.AIMessage("In Paris."),
        ],
        [
            langchain_core.messages.HumanMessage("Since when?"),
            *call(2, "when"),
            langchain_core.messages.AIMessage(ANSWER),
        ],
    ]
    runs = [
        langsmith.schemas.Run(
            id=uuid.uuid4(),
            name="agent",
            run_type="chain",
            inputs={},
            outputs={"messages": [message.model_dump() for turn in turns[:number] for message in turn]},
            start_time=datetime(2026, 1, number, tzinfo=UTC),
            trace_id=uuid.uuid4(),
        )
        for number in (1, 2)
    ]
    client.list_runs = lambda **query: iter(runs)
    with warnings.catch_warnings():  # langsmith names another method from 0.15 on
        warnings.simplefilter("ignore")
        *_, last = client.read_thread(thread_id="t", project_name="p")
    example = langsmith.schemas.Example(id=uuid.uuid4(), inputs={}, outputs={"answer": REFERENCE})
    evaluator = ours.RetrievalEvaluator([ContextRecall(judge=JUDGE)])
    score = evaluator.evaluate_run(last, example)
    assert score.score == pytest.approx(AFTER[-1])
    row = {"run": last, "example": example, "evaluation_results": {"results": [score]}}
    (searches,) = ours.results([row]).searches().samples
    assert searches.recalls_after == pytest.approx(AFTER)
    sample = ours.results([row])[0].sample
    assert sample is not None
    assert [one.turn for one in sample.searches or ()] == [1, 2]
