"""What LangSmith's server gets of a judge: nothing if nothing is uploaded, else a run under the evaluator's."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

import pytest

from ctxmetrics import ContextRecall, LexicalJudge, LLMJudge, OpenAIModel, Reply, Sample
from support.departures import Recorder
from support.later import later, skip_without
from support.wire import WireServer

skip_without("langchain_core", "langchain_openai", "langsmith", "cryptography")

langchain_core = later("langchain_core")
langchain_openai = later("langchain_openai")
langsmith = later("langsmith")
ours = later("ctxmetrics_langchain")


SESSION = {
    "id": str(uuid.UUID(int=1)),
    "tenant_id": str(uuid.UUID(int=2)),
    "name": "experiment",
    "start_time": "2026-01-01T00:00:00",
    "reference_dataset_id": str(uuid.UUID(int=3)),
}
DATASET = {
    "id": str(uuid.UUID(int=3)),
    "name": "tower",
    "data_type": "kv",
    "created_at": "2026-01-01T00:00:00",
}


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    replies = {
        r"GET /sessions\?": [SESSION],
        "/sessions": SESSION,
        r"GET /datasets\?": [DATASET],
        "GET /datasets/": DATASET,
    }
    with Recorder(replies) as recorder:
        yield recorder


@pytest.fixture
def client(recorder, monkeypatch) -> langsmith.Client:
    """A client that sends at once, also where LangChain makes its own from the environment."""
    monkeypatch.setenv("LANGSMITH_ENDPOINT", recorder.url)
    monkeypatch.setenv("LANGSMITH_API_KEY", "lsv2_key")
    return langsmith.Client(api_url=recorder.url, api_key="lsv2_key", auto_batch_tracing=False)


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as server:
        yield server


# ---- judges: every class of model ----


class CallsLangChain:
    """A model of one's own that asks a chat model of LangChain."""

    def __init__(self, chat_model: Any) -> None:
        self.chat_model = chat_model
        self.identity = "own"

    async def generate(self, prompt: Any, schema: Any) -> Reply:
        message = await self.chat_model.ainvoke([("system", prompt.system), ("user", prompt.user)])
        return Reply(content=message.content)


def chat_openai(server: WireServer, **options: Any) -> langchain_openai.ChatOpenAI:
    url = f"{server.url}/v1"
    return langchain_openai.ChatOpenAI(model="gpt", base_url=url, api_key="k", max_retries=0, **options)


def ragas_llm(server: WireServer) -> Any:
    from ragas.llms import LangchainLLMWrapper

    from ctxmetrics_ragas import RagasModel

    return LLMJudge(RagasModel(LangchainLLMWrapper(chat_openai(server))))


def deepeval_llm(server: WireServer) -> Any:
    from deepeval.models import DeepEvalBaseLLM

    from ctxmetrics_deepeval import DeepEvalModel

    class Wrapped(DeepEvalBaseLLM):
        def load_model(self) -> Any:
            return chat_openai(server)

        def generate(self, prompt: str) -> str:
            return self.load_model().invoke(prompt).content

        async def a_generate(self, prompt: str) -> str:
            return (await self.load_model().ainvoke(prompt)).content

        def get_model_name(self) -> str:
            return "wrapped"

    return LLMJudge(DeepEvalModel(Wrapped()))


JUDGES: dict[str, Callable[[WireServer], Any]] = {
    "embedded": lambda server: LexicalJudge(),
    "OpenAIModel": lambda server: OpenAIModel(
        "gpt", base_url=f"{server.url}/v1", api_key="sk-key-of-the-test"
    ),
    "chat model": chat_openai,
    "chat model, tool": lambda server: LLMJudge(ours.ChatModel(chat_openai(server), tools=True)),
    "chat model, text": lambda server: LLMJudge(ours.ChatModel(chat_openai(server), tools=False)),
    "own model": lambda server: LLMJudge(CallsLangChain(chat_openai(server))),
}
if find_spec("ragas"):
    JUDGES["Ragas"] = ragas_llm
if find_spec("deepeval"):
    JUDGES["DeepEval"] = deepeval_llm


@pytest.fixture(params=JUDGES)
def judge(request: pytest.FixtureRequest, server: WireServer) -> Any:
    return JUDGES[request.param](server)


# ---- forms of the evaluator ----


def run(
    evaluators: Any, case: Any, client: langsmith.Client, *, upload: bool = False, **options: Any
) -> Any:
    return langsmith.evaluate(
        lambda inputs: case.outputs,
        data=[case.example],
        evaluators=evaluators,
        upload_results=upload,
        client=client,
        **options,
    )


def arun(evaluators: Any, case: Any, client: langsmith.Client, *, upload: bool = False) -> Any:
    async def target(inputs: dict) -> dict:
        return case.outputs

    async def go() -> Any:
        results = await langsmith.aevaluate(
            target,
            data=[case.example],
            evaluators=evaluators,
            upload_results=upload,
            client=client,
        )
        await results.wait()
        return results

    return asyncio.run(go())


def fields_of(case: Any) -> dict[str, Any]:
    return {"question": case.question, "documents": case.documents, "reference": case.reference}


def in_function(form: Callable[[Any, Any], Any]) -> Callable[[Any, Any], list[Any]]:
    """Make an evaluator that is a plain function around one form."""

    def evaluators(judge: Any, case: Any) -> list[Any]:
        def score(inputs: Any, outputs: Any) -> dict[str, Any]:
            return {"key": "context_recall", "score": form(judge, case)}

        return [score]

    return evaluators


def invoke(judge: Any, case: Any) -> Any:
    return ours.ContextRecallEvaluator(judge=judge).as_runnable().invoke(fields_of(case))["score"]


def ainvoke(judge: Any, case: Any) -> Any:
    runnable = ours.ContextRecallEvaluator(judge=judge).as_runnable()
    return asyncio.run(runnable.ainvoke(fields_of(case)))["score"]


def batch(judge: Any, case: Any) -> Any:
    return ours.ContextRecallEvaluator(judge=judge).as_runnable().batch([fields_of(case)])[0]["score"]


def stream(judge: Any, case: Any) -> Any:
    (row,) = ours.ContextRecallEvaluator(judge=judge).as_runnable().stream(fields_of(case))
    return row["score"]


def bound(judge: Any, case: Any) -> Any:
    runnable = ours.ContextRecallEvaluator(judge=judge).as_runnable().with_config(tags=["judge"])
    return runnable.invoke(fields_of(case))["score"]


def string_evaluator(judge: Any, case: Any) -> Any:
    evaluator = ours.ContextRecallEvaluator(judge=judge).as_string_evaluator()
    return evaluator.evaluate_strings(prediction=case.documents, reference=case.reference)["score"]


def plain_arguments(judge: Any, case: Any) -> Any:
    evaluator = ours.ContextRecallEvaluator(judge=judge)
    row = evaluator(outputs=case.documents, reference_outputs={"answer": case.reference})
    return row["score"]


def core_metric(judge: Any, case: Any) -> Any:
    sample = Sample(reference=case.reference, retrieved_contexts=case.contexts)
    return ContextRecall(judge=judge).score(sample).value


FORMS: dict[str, Callable[[Any, Any], list[Any]]] = {
    "evaluator": lambda judge, case: [ours.ContextRecallEvaluator(judge=judge)],
    "as_function": lambda judge, case: [ours.ContextRecallEvaluator(judge=judge).as_function()],
    **{form.__name__: in_function(form) for form in (invoke, ainvoke, batch, stream, bound)},
    "plain_arguments": in_function(plain_arguments),
}
if find_spec("langchain_classic"):
    FORMS["string_evaluator"] = in_function(string_evaluator)


def scores(results: Any) -> list[Any]:
    return [row.score for row in results._results[0]["evaluation_results"]["results"]]


# ---- nothing is uploaded ----


@pytest.mark.parametrize("runner", [run, arun])
def test_no_judge_leaves_without_upload(runner, judge, case, client, recorder) -> None:
    results = runner([ours.ContextRecallEvaluator(judge=judge)], case, client)
    (row,) = results._results[0]["evaluation_results"]["results"]
    assert row.score is not None, row.comment
    assert recorder.requests == []


@pytest.mark.parametrize("runner", [run, arun])
@pytest.mark.parametrize("form", FORMS)
def test_no_form_leaves_without_upload(form, runner, case, server, client, recorder) -> None:
    results = runner(FORMS[form](chat_openai(server), case), case, client)
    assert None not in scores(results)
    assert server.exchanges, "the judge was asked"
    assert recorder.requests == []


def test_core_metric_in_a_function_stays(case, server, client, recorder) -> None:
    judge = LLMJudge(ours.ChatModel(chat_openai(server)))
    results = run(in_function(core_metric)(judge, case), case, client)
    assert None not in scores(results)
    assert recorder.requests == []


def test_summary_evaluator_stays(case, server, client, recorder) -> None:
    summary = ours.ContextRecallEvaluator(judge=chat_openai(server)).as_summary_evaluator()
    results = run([], case, client, summary_evaluators=[summary])
    (row,) = results._summary_results["results"]
    assert row.score is not None
    assert recorder.requests == []


@pytest.mark.parametrize("evaluators", ["evaluator", "plain_arguments"])
def test_text_model_stays(evaluators, case, client, recorder) -> None:
    model = langchain_core.language_models.GenericFakeChatModel(
        messages=iter([langchain_core.messages.AIMessage(json.dumps(case.joint))])
    )
    assert scores(run(FORMS[evaluators](model, case), case, client)) == [0.5]
    assert recorder.requests == []


def test_runnable_in_a_target_stays(case, server, client, recorder) -> None:
    """The target's runs are kept here, and what it calls too."""
    runnable = ours.ContextRecallEvaluator(judge=chat_openai(server)).as_runnable()
    langsmith.evaluate(
        lambda inputs: runnable.invoke(fields_of(case)),
        data=[case.example],
        upload_results=False,
        client=client,
    )
    assert server.exchanges, "the judge was asked"
    assert recorder.requests == []


def test_tracers_of_a_chain_around_are_left_out(case, server, client, recorder) -> None:
    """Only those that upload: another callback still sees the judge's run."""
    runs: list[str] = []

    class Watch(langchain_core.tracers.LangChainTracer.__mro__[1]):  # type: ignore[misc]  # BaseTracer: what every tracer is
        def _persist_run(self, run: Any) -> None:
            runs.append(run.run_type)

        def on_chat_model_start(self, *args: Any, **options: Any) -> Any:
            runs.append("chat")
            return super().on_chat_model_start(*args, **options)

    evaluator = ours.ContextRecallEvaluator(judge=chat_openai(server))
    tracer = langchain_core.tracers.LangChainTracer(client=client)
    for callbacks in ([tracer, Watch()], langchain_core.callbacks.CallbackManager([tracer, Watch()])):
        runs.clear()
        with langsmith.tracing_context(enabled="local"):
            evaluator.as_runnable().invoke(fields_of(case), {"callbacks": callbacks})
        assert "chain" in runs
        assert recorder.requests == []


def test_tracing_v2_enabled_around_stays(case, server, client, recorder) -> None:
    with langchain_core.tracers.context.tracing_v2_enabled(client=client):
        run([ours.ContextRecallEvaluator(judge=chat_openai(server))], case, client)
    assert not [request for request in recorder.requests if request.holds("Eiffel")]


def test_switched_off_by_the_environment(case, server, client, recorder, monkeypatch) -> None:
    monkeypatch.setenv("LANGSMITH_TRACING", "false")
    invoke(chat_openai(server), case)
    plain_arguments(chat_openai(server), case)
    assert recorder.requests == []


def test_evaluators_untraced_by_option(case, server, client, recorder) -> None:
    evaluators = [ours.ContextRecallEvaluator(judge=chat_openai(server))]
    run(evaluators, case, client, upload=True, disable_evaluator_tracing=True)
    assert recorder.requests, "the target's run was uploaded"
    assert not [request for request in recorder.requests if request.holds("END DATA")]


# ---- runs are uploaded ----


def uploaded_runs(recorder: Recorder) -> dict[str, dict[str, Any]]:
    """Return the uploaded runs by name."""
    runs: dict[str, dict[str, Any]] = {}
    for request in recorder.requests:
        if request.line.startswith("POST /runs"):
            data = json.loads(request.body)
            runs[data["name"]] = data
    return runs


@pytest.mark.parametrize("runner", [run, arun])
def test_uploaded_judge_stands_under_its_evaluator(runner, case, server, client, recorder) -> None:
    results = runner(
        [ours.ContextRecallEvaluator(judge=chat_openai(server))], case, client, upload=True
    )
    runs = uploaded_runs(recorder)
    assert runs["ChatOpenAI"]["parent_run_id"] == runs["context_recall"]["id"]
    assert runs["context_recall"]["id"] == str(
        results._results[0]["evaluation_results"]["results"][0].source_run_id
    )


def test_uploaded_runnable_is_traced(case, server, client, recorder, monkeypatch) -> None:
    with langsmith.tracing_context(enabled=True, client=client):
        invoke(chat_openai(server), case)
    runs = uploaded_runs(recorder)
    assert runs["ChatOpenAI"]["parent_run_id"] == runs["context_recall"]["id"]


# ---- what LangSmith says about uploads: these fail if it says it in another way ----


@pytest.mark.parametrize("runner", [run, arun])
@pytest.mark.parametrize(("upload", "mode"), [(False, "local"), (True, True)])
def test_langsmith_names_the_mode_of_uploads(upload, mode, runner, case, client, recorder) -> None:
    modes: list[Any] = []

    def watch(inputs: Any, outputs: Any) -> dict[str, Any]:
        modes.append(langsmith.utils.tracing_is_enabled())
        return {"key": "k", "score": 1}

    runner([watch], case, client, upload=upload)
    assert modes == [mode]


@pytest.mark.parametrize(("upload", "mode"), [(False, False), (True, True)])
def test_judge_sees_no_tracing_without_upload(upload, mode, case, client, recorder) -> None:
    contexts: list[Any] = []

    class Watch(LexicalJudge):
        async def attribute(self, request: Any) -> Any:
            contexts.append(langsmith.get_tracing_context())
            return await super().attribute(request)

    run([ours.ContextRecallEvaluator(judge=Watch())], case, client, upload=upload)
    (context,) = contexts
    assert context["enabled"] == mode
    assert context["metadata"]["experiment"]


def test_langchain_takes_local_for_on(case, server, client, recorder) -> None:
    """Why the evaluator steps in: without this upstream, `keep_local_runs` may go."""
    with langsmith.tracing_context(enabled="local", client=client), suppress(Exception):
        chat_openai(server).invoke("hello", config={"tags": ["plain"]})
    assert [request for request in recorder.requests if request.holds("hello")]
