"""A server that is not there costs one attempt a sample, and retries of a wrapped client and ours do not multiply."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from ctxmetrics import ContextRecall, LLMJudge, OpenAIModel, Sample, evaluate
from ctxmetrics.models.runtime.failures import classify
from support import FakeOpenAIServer, Fault
from support.later import later, skip_without

if TYPE_CHECKING:
    from collections.abc import Callable

skip_without("httpx")

httpx = later("httpx")

SAMPLES = [
    Sample(reference=f"Tower {n} is in Paris.", retrieved_contexts=["The tower is in Paris."])
    for n in range(3)
]


@pytest.fixture
def closed() -> str:
    """The address of a port of this machine on which nothing listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{one.getsockname()[1]}/v1"


def chat_openai(url: str) -> Any:
    pytest.importorskip("langchain_openai")
    from langchain_openai import ChatOpenAI

    from ctxmetrics_langchain import ChatModel

    return ChatModel(ChatOpenAI(model="fake", base_url=url, api_key="sk-not-a-key-6"))  # type: ignore[arg-type]  # a plain key is taken, too


def open_ai(url: str) -> Any:
    return OpenAIModel("fake", base_url=url, api_key="sk-not-a-key-7")


def ragas_llm(url: str) -> Any:
    pytest.importorskip("ragas", reason="the ragas extra is not installed")
    from openai import AsyncOpenAI
    from ragas.llms import llm_factory

    from ctxmetrics_ragas import RagasModel

    return RagasModel(llm_factory("fake", client=AsyncOpenAI(base_url=url, api_key="sk-not-a-key-9")))


def deepeval_llm(url: str) -> Any:
    pytest.importorskip("deepeval", reason="the deepeval extra is not installed")
    from deepeval.models import GPTModel

    from ctxmetrics_deepeval import DeepEvalModel

    return DeepEvalModel(
        GPTModel(
            model="fake",
            base_url=url,
            api_key="sk-not-a-key-10",
            cost_per_input_token=0,
            cost_per_output_token=0,
        )
    )


def pydantic_ai(url: str) -> Any:
    pytest.importorskip("pydantic_evals", reason="the pydantic-evals extra is not installed")
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from ctxmetrics_pydantic_evals import PydanticAIModel

    provider = OpenAIProvider(base_url=url, api_key="sk-not-a-key-11")
    return PydanticAIModel(OpenAIChatModel("fake", provider=provider))


def ask_ragas(model: Any) -> Any:
    return model.llm.agenerate("Say yes.", Said)


def ask_deepeval(model: Any) -> Any:
    return model.llm.a_generate("Say yes.")


def ask_langchain(model: Any) -> Any:
    return model.chat_model.ainvoke("Say yes.")


def ask_pydantic_ai(model: Any) -> Any:
    from pydantic_ai import Agent

    return Agent(model.model).run("Say yes.")


class Said(BaseModel):
    """A reply of one word."""

    word: str


WRAPPED = {
    "ragas": (ragas_llm, ask_ragas),
    "deepeval": (deepeval_llm, ask_deepeval),
    "langchain": (chat_openai, ask_langchain),
    "pydantic-ai": (pydantic_ai, ask_pydantic_ai),
}


@pytest.mark.parametrize(
    "make",
    [open_ai, *(pytest.param(make, marks=pytest.mark.slow) for make, _ in WRAPPED.values())],
)
def test_a_closed_port_is_tried_once_a_sample(make: Callable[[str], Any], closed: str) -> None:
    """MLflow and Inspect have no model of their own: they judge with one of these."""
    results = evaluate(SAMPLES, [ContextRecall(judge=LLMJudge(make(closed)))], progress=False)
    assert results.usage.calls <= len(SAMPLES)
    codes = {verdict.code for row in results for verdict in row["context_recall"].verdicts}
    assert "connection_error" in codes
    assert codes <= {"connection_error", "judge_down"}


@pytest.mark.slow
def test_a_closed_port_in_ragas_is_tried_once_a_sample(closed: str) -> None:
    """Ragas' ``max_retries=10`` made it ten attempts, with longer and longer waits between."""
    pytest.importorskip("ragas", reason="the ragas extra is not installed")
    from openai import AsyncOpenAI
    from ragas import EvaluationDataset
    from ragas import evaluate as theirs
    from ragas.llms import llm_factory

    import ctxmetrics_ragas

    llm = llm_factory("fake", client=AsyncOpenAI(base_url=closed, api_key="sk-not-a-key-8"))
    dataset = EvaluationDataset.from_list([sample.to_dict() for sample in SAMPLES])
    result: Any = theirs(
        dataset, metrics=[ctxmetrics_ragas.LLMContextRecall()], llm=llm, show_progress=False
    )
    results = ctxmetrics_ragas.results(result)
    assert results.usage.calls <= len(SAMPLES)
    assert results.summary()["context_recall"].missing == {"not_judged": 3}


@pytest.mark.slow
@pytest.mark.parametrize("framework", WRAPPED)
def test_retries_of_a_wrapped_client_are_not_multiplied(framework: str) -> None:
    """`ChatOpenAI` asks three times; so did we, which made nine. Each client's own number is counted beside."""
    make, ask = WRAPPED[framework]
    with FakeOpenAIServer(lambda _: "{}", faults=[Fault("500")]) as server:
        with pytest.raises(Exception, match=r"500|fault|[Ee]rror"):
            asyncio.run(ask(make(server.base_url)))
        own = len(server.requests)
    with FakeOpenAIServer(lambda _: "{}", faults=[Fault("500")]) as server:
        judge = LLMJudge(make(server.base_url))
        evaluate(SAMPLES[:1], [ContextRecall(judge=judge)], progress=False)
        assert (len(server.requests), own) == (own, own)


@pytest.mark.parametrize(
    ("host", "retryable"),
    [
        ("127.0.0.1", False),
        ("127.9.8.7", False),
        ("localhost", False),
        ("[::1]", False),
        ("10.0.0.5", True),
        ("judge.example.org", True),
        ("localhost.example.org", True),
    ],
)
def test_only_this_machine_is_not_asked_again(host: str, retryable: bool) -> None:
    error = httpx.ConnectError("refused", request=httpx.Request("POST", f"http://{host}:1/v1"))
    error.__cause__ = ExceptionGroup("all attempts", [ConnectionRefusedError(111, "refused")])
    problem: Any = classify(error)
    assert (problem.reason_code, problem.retryable) == ("connection_error", retryable)


def test_a_connection_lost_on_this_machine_is_tried_again() -> None:
    error = httpx.ReadError("reset", request=httpx.Request("POST", "http://127.0.0.1:1/v1"))
    problem: Any = classify(error)
    assert (problem.reason_code, problem.retryable) == ("connection_error", True)
