"""Ragas' runner without its progress bar and its own deprecation, a fake judge's server, and LLMs of every kind."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from support import FakeOpenAIServer, answer_from
from support.later import skip_without

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

skip_without("ragas")

ROW = {
    "user_input": "Where is the tower, and when was it built?",
    "response": "It is in Paris.",
    "reference": "The tower is in Paris. It was built in 1889.",
    "retrieved_contexts": ["The tower is in Paris, France.", "Bananas are yellow."],
    "reference_contexts": ["The tower is in Paris, France!"],
    "retrieved_context_ids": ["a", 2],
    "reference_context_ids": ["2", "b"],
}
"""One of two sentences supported, by the first of two contexts."""

JUDGE = answer_from(
    {
        "The tower is in Paris.": (True, "The tower is in Paris, France.", "in Paris"),
        "It was built in 1889.": False,
    },
    {"The tower is in Paris, France.": True, "Bananas are yellow.": False},
)


@pytest.fixture
def row() -> dict[str, Any]:
    return dict(ROW)


@pytest.fixture
def evaluate() -> Callable[..., Any]:
    """`ragas.evaluate()` over dicts."""
    from ragas import EvaluationDataset
    from ragas import evaluate as theirs

    def run(rows: list[dict[str, Any]], metrics: list[Any], **options: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return theirs(
                EvaluationDataset.from_list(rows), metrics=metrics, show_progress=False, **options
            )

    return run


@pytest.fixture
def server() -> Iterator[FakeOpenAIServer]:
    with FakeOpenAIServer(JUDGE) as running:
        yield running


def instructor_async(server: FakeOpenAIServer, **options: Any) -> Any:
    from openai import AsyncOpenAI
    from ragas.llms import llm_factory

    return llm_factory(
        "fake-judge", client=AsyncOpenAI(base_url=server.base_url, api_key="sk-not-a-key-1", **options)
    )


def instructor_sync(server: FakeOpenAIServer, **options: Any) -> Any:
    from openai import OpenAI
    from ragas.llms import llm_factory

    return llm_factory(
        "fake-judge", client=OpenAI(base_url=server.base_url, api_key="sk-not-a-key-2", **options)
    )


def instructor_tools(server: FakeOpenAIServer, **options: Any) -> Any:
    """An Instructor client that asks by tool call: it names the tool by the schema's title."""
    import instructor
    from openai import AsyncOpenAI
    from ragas.llms.base import InstructorLLM

    client = AsyncOpenAI(base_url=server.base_url, api_key="sk-not-a-key-4", **options)
    return InstructorLLM(
        instructor.from_openai(client, mode=instructor.Mode.TOOLS),
        model="fake-judge",
        provider="openai",
    )


def langchain(server: FakeOpenAIServer, **options: Any) -> Any:
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model="fake-judge", base_url=server.base_url, api_key="sk-not-a-key-3", **options)  # type: ignore[arg-type]  # a plain key is taken, too


def langchain_wrapper(server: FakeOpenAIServer, **options: Any) -> Any:
    from ragas.llms.base import LangchainLLMWrapper

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return LangchainLLMWrapper(langchain(server, **options))


KINDS = {
    kind.__name__: kind
    for kind in (instructor_async, instructor_sync, instructor_tools, langchain, langchain_wrapper)
}


@pytest.fixture(params=KINDS)
def make_llm(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Every kind of LLM that Ragas takes, over the real clients."""
    return KINDS[request.param]


@pytest.fixture
def llms() -> SimpleNamespace:
    """The same, by name."""
    return SimpleNamespace(**KINDS)


@pytest.fixture
def labels() -> Callable[[Any], str]:
    """What the fake server answers, as a script for a `ScriptedJudge`."""
    return JUDGE


@pytest.fixture
def score_in_a_thread() -> Callable[[Any, dict[str, Any]], float]:
    """Scores a row in a thread of its own, as integrations do."""

    def score(metric: Any, row: dict[str, Any]) -> float:
        from ragas import SingleTurnSample

        with ThreadPoolExecutor(1) as pool:
            return pool.submit(metric.single_turn_score, SingleTurnSample(**row)).result()

    return score
