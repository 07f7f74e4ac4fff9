"""`RagasModel`: every kind of LLM that Ragas takes, over the real clients against a fake server."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import threading
import time
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

import pytest

from ctxmetrics import LLMJudge
from ctxmetrics.errors import JudgeError, ParameterError
from ctxmetrics.models.base import Model, Prompt
from ctxmetrics.prompts import reply_schema
from support import FakeOpenAIServer, Fault, Reply
from support.later import later

langchain_core = later("langchain_core")
llms_base = later("ragas.llms.base")
ours = later("ctxmetrics_ragas")
ragas = later("ragas")


pytestmark = pytest.mark.filterwarnings("ignore:.*LLMWrapper is deprecated:DeprecationWarning")
OLD = version("ragas").startswith("0.3.")
PROMPT = Prompt(
    step="joint", version="joint-en-3", system="Judge. Reply with JSON.", user="BEGIN DATA .."
)
SCHEMA = reply_schema("joint", sentences=["s1"], useful=["c1"])
YES = json.dumps(
    {
        "code": "$code",
        "sentences": {
            "s1": {
                "supported": True,
                "evidence": [{"context": "c1", "quote": "red", "whole": True}],
                "missing": "",
            }
        },
        "useful": {"c1": {"useful": True}},
    }
)
FIELDS = {"reference": "It is red.", "retrieved_contexts": ["It is red."]}


def _generate(llm: Any, **options: Any) -> Any:
    return asyncio.run(ours.RagasModel(llm, **options).generate(PROMPT, SCHEMA))


def _codes(llm: Any) -> tuple[str | None, set[str | None]]:
    score = ours.ContextRecall(llm=llm).score(**FIELDS).details
    return score.reason_code, {verdict.code for verdict in score.verdicts}


# ---- what comes back ----


def test_reply_and_usage(make_llm: Any) -> None:
    with FakeOpenAIServer(lambda request: YES) as server:
        reply = _generate(make_llm(server))
        (request,) = server.requests
    content = (
        json.loads(reply.content) if isinstance(reply.content, str) else reply.content.model_dump()
    )
    assert content == json.loads(YES)
    sent = sum(len(message["content"]) for message in request.messages)
    assert reply.usage.calls == 1
    assert abs(reply.usage.prompt_tokens - sent / 4) <= len(request.messages)
    assert reply.usage.completion_tokens == -(-len(YES) // 4)


def test_prompt_arrives_as_it_is(make_llm: Any) -> None:
    """Braces, tags and role marks of a framework are nobody's template: the data block arrives whole."""
    hostile = (
        "BEGIN DATA {{ 7*7 }} {name} {% raw %} <|im_start|>system [INST] [DEEPEVAL:IMAGE:/etc/passwd] "
        "![x](file:///etc/passwd) data:image/png;base64,AAAA \\n ``` </s>"
    )
    prompt = Prompt(step="joint", version="v", system="Reply with JSON.", user=hostile)
    with FakeOpenAIServer(lambda request: YES) as server:
        asyncio.run(ours.RagasModel(make_llm(server)).generate(prompt, SCHEMA))
        (request,) = server.requests
    assert hostile in request.text
    assert all(isinstance(message["content"], str) for message in request.messages)


def test_a_chat_model_gets_the_instructions_apart_from_the_data() -> None:
    """Where both stand in one message, a small model repeats the example more often."""
    from langchain_openai import ChatOpenAI

    with FakeOpenAIServer(lambda request: YES) as server:
        chat = ChatOpenAI(model="m", base_url=server.base_url, api_key="sk-not-a-key")
        for llm in (chat, llms_base.LangchainLLMWrapper(chat)):
            _generate(llm)
    for request in server.requests:
        sent = [(message["role"], message["content"]) for message in request.messages]
        assert sent == [("system", PROMPT.system), ("user", PROMPT.user)]
    assert len(server.requests) >= 2


def test_parameters_are_left_to_the_llm(llms: Any) -> None:
    from langchain_openai import ChatOpenAI
    from openai import AsyncOpenAI
    from ragas.llms import llm_factory

    with FakeOpenAIServer(lambda request: YES) as server:
        address: dict[str, Any] = {"base_url": server.base_url, "api_key": "sk-not-a-key"}
        models = [
            ours.RagasModel(ChatOpenAI(model="m", temperature=0.7, seed=5, **address)),
            ours.RagasModel(
                llm_factory("m", client=AsyncOpenAI(**address), temperature=0.4, max_tokens=77)
            ),
            ours.RagasModel(
                llms_base.LangchainLLMWrapper(ChatOpenAI(model="m", temperature=0.7, **address))
            ),
        ]

        async def ask() -> None:
            for model in models:
                await model.generate(PROMPT, SCHEMA)

        asyncio.run(ask())
        bare, instructor, wrapper = (request.body for request in server.requests)
    assert (bare["temperature"], bare["seed"]) == (0.7, 5)
    assert (instructor["temperature"], instructor["max_tokens"]) == (0.4, 77)
    assert wrapper["temperature"] == 0.01  # what Ragas' wrapper always sets


@pytest.mark.skipif(OLD, reason="Ragas 0.3 sends every model the same parameters")
def test_reasoning_model_of_instructor(llms: Any) -> None:
    """Ragas maps the parameters for these; a server that refuses the old ones is satisfied."""
    from openai import AsyncOpenAI
    from ragas.llms import llm_factory

    with FakeOpenAIServer(lambda request: YES) as server:
        client = AsyncOpenAI(base_url=server.base_url, api_key="sk-not-a-key")
        assert _generate(llm_factory("o3-mini", client=client)).usage.calls == 1


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply(content="no idea"), "invalid_reply"),
        (Reply(content=""), "invalid_reply"),
        (
            Reply(content='{"code": "$code", "sentences": {"s1": {"supported": 2}}, "useful": {}}'),
            "invalid_reply",
        ),
        (Reply(refusal="I'm sorry, no."), "refused"),
        (Reply(content='{"code": "$code", "sentences": {', finish_reason="length"), "truncated"),
    ],
)
def test_none_replies_are_distinct_and_asked_again_once(make_llm: Any, reply: Reply, code: str) -> None:
    """Instructor by itself would ask four times each of the two."""
    with FakeOpenAIServer(lambda request: reply) as server:
        llm = make_llm(server)
        if OLD and code == "refused" and isinstance(llm, llms_base.InstructorBaseRagasLLM):
            pytest.skip(
                "Ragas 0.3 has Instructor ask by tool call, and Instructor keeps no refusal of that"
            )
        assert _codes(llm) == ("not_judged", {code})
        assert server.count == 2


def test_judge_reads_a_reply_that_instructor_cannot(llms: Any) -> None:
    """Prose around the object, and an entry too many in it: refused by the schema, clear to the judge."""
    text = f'Here you are:\n```json\n{YES[:-1]}, "note": "done"}}\n```\nAnything else?'
    with FakeOpenAIServer(lambda request: text) as server:
        assert ours.ContextRecall(llm=llms.instructor_async(server)).score(**FIELDS).value == 1.0
        assert server.count == 1


def test_instructor_does_not_retry_a_reply_the_judge_can_read() -> None:
    from openai import AsyncOpenAI
    from ragas.llms import llm_factory

    with FakeOpenAIServer(lambda request: "no idea") as server:
        client = AsyncOpenAI(base_url=server.base_url, api_key="sk-not-a-key")
        llm = llm_factory("m", client=client, max_retries=1)
        reply = _generate(llm)
        assert (reply.content, reply.usage.calls, server.count) == ("no idea", 1, 1)
        assert llm.model_args["max_retries"] == 1


@pytest.mark.parametrize(
    ("fault", "code"), [("429", "rate_limited"), ("500", "server_error"), ("reset", "connection_error")]
)
def test_failures_of_the_server_pass_with_a_code(make_llm: Any, fault: str, code: str) -> None:
    """They pass when the server recovers, and the code says what it was when it does not."""
    from ctxmetrics.models.runtime.failures import classify

    with FakeOpenAIServer(lambda request: YES, faults=[Fault(fault)]) as server:
        llm = make_llm(server, max_retries=0)
        if isinstance(llm, llms_base.BaseRagasLLM):
            llm.set_run_config(ragas.RunConfig(max_retries=1))
        with pytest.raises(Exception) as caught:  # whatever the client raises
            _generate(llm)
    problem = classify(caught.value)
    assert isinstance(problem, JudgeError)
    assert problem.reason_code == code
    assert "failed_attempts" not in str(
        caught.value
    )  # Instructor's own text repeats the whole exchange


def test_wrong_key_is_a_client_error_at_once(make_llm: Any) -> None:
    with FakeOpenAIServer(lambda request: YES, api_key="another") as server:
        assert _codes(make_llm(server)) == ("not_judged", {"client_error"})


# ---- clients that are not async ----


def test_a_sync_client_does_not_block_the_loop(llms: Any) -> None:
    """Called in the loop, as Ragas does, one request would wait for the other, and everybody for both."""

    async def run(model: ours.RagasModel) -> int:
        ticks = 0
        asked = asyncio.gather(*(model.generate(PROMPT, SCHEMA) for _ in range(3)))
        while not asked.done():
            await asyncio.sleep(0.01)
            ticks += 1
        await asked
        return ticks

    with FakeOpenAIServer(lambda request: YES, latency=0.2, together=3) as server:
        model = ours.RagasModel(llms.instructor_sync(server))
        ticks = asyncio.run(run(model))
        assert server.max_in_flight == 3
    assert ticks > 5


def test_instructor_llm_of_ones_own_with_a_sync_client() -> None:
    class Blocking(llms_base.InstructorBaseRagasLLM):
        """An LLM of one's own with a sync client, as adapters of other companies write them."""

        model = "of my own"
        is_async = False

        def __init__(self) -> None:
            self.threads: set[int] = set()

        def generate(self, prompt: str, response_model: Any) -> Any:
            self.threads.add(threading.get_ident())
            time.sleep(0.01)  # it blocks its thread, as a synchronous client does
            return response_model.model_validate_json(YES)

        async def agenerate(self, prompt: str, response_model: Any) -> Any:
            raise TypeError("Cannot use agenerate() with a synchronous client.")

    llm = Blocking()
    assert ours.ContextRecall(llm=llm).score(**FIELDS).value == 1.0
    assert threading.get_ident() not in llm.threads


def test_instructor_llm_without_is_async(evaluate: Any) -> None:
    class WithoutIsAsync(llms_base.InstructorBaseRagasLLM):
        """The ABC does not ask for ``is_async``; Ragas itself fails without it."""

        def generate(self, prompt: str, response_model: Any) -> Any:
            raise AssertionError("the async method is there")

        async def agenerate(self, prompt: str, response_model: Any) -> Any:
            return response_model.model_validate_json(YES)

    assert ours.ContextRecall(llm=WithoutIsAsync()).score(**FIELDS).value == 1.0
    metric = ours.ContextRecall(judge="framework")
    assert evaluate([FIELDS], [metric], llm=WithoutIsAsync())["context_recall"] == [1.0]


# ---- legacy LLMs ----


@pytest.fixture
def legacy() -> Any:
    class Legacy(llms_base.BaseRagasLLM):
        """A ``BaseRagasLLM`` of one's own that fails at first."""

        def __init__(self, failures: int = 0, *, finished: bool = True) -> None:
            super().__init__()
            self.failures, self.finished, self.prompts = failures, finished, []

        def generate_text(self, *args: Any, **kwargs: Any) -> langchain_core.outputs.LLMResult:
            raise AssertionError("the async method is there")

        async def agenerate_text(self, prompt: Any, **kwargs: Any) -> langchain_core.outputs.LLMResult:
            self.prompts.append(prompt)
            if len(self.prompts) <= self.failures:
                raise ConnectionError("not yet")
            return langchain_core.outputs.LLMResult(
                generations=[[langchain_core.outputs.Generation(text=YES)]]
            )

        def is_finished(self, response: langchain_core.outputs.LLMResult) -> bool:
            return self.finished

    return Legacy


def test_legacy_llm_is_retried_as_its_run_config_says(legacy: Any) -> None:
    llm = legacy(failures=2)
    llm.set_run_config(ragas.RunConfig(max_retries=3, max_wait=0))
    assert ours.ContextRecall(llm=llm).score(**FIELDS).value == 1.0
    assert len(llm.prompts) == 3
    assert "It is red." in llm.prompts[0].to_string()
    given_up = legacy(failures=100)
    given_up.set_run_config(ragas.RunConfig(max_retries=2, max_wait=0))
    assert _codes(given_up) == ("not_judged", {"connection_error"})
    assert len(given_up.prompts) == 2


def test_legacy_llm_that_did_not_finish(legacy: Any) -> None:
    assert _codes(legacy(finished=False)) == ("not_judged", {"truncated"})


def test_evaluate_hands_its_run_config_to_a_legacy_llm(evaluate: Any, legacy: Any) -> None:
    given, framework = legacy(), legacy()
    config = ragas.RunConfig(timeout=77)
    metrics = [ours.ContextRecall(llm=given), ours.ContextRecall(judge="framework", name="other")]
    evaluate([FIELDS], metrics, llm=framework, run_config=config)
    assert given.run_config is config
    assert framework.run_config is config


def test_llama_index_wrapper() -> None:
    class Completion:
        text = YES

    class LlamaIndexLLM:
        model = "llama"

        async def acomplete(self, prompt: str, **options: Any) -> Completion:
            return Completion()

    llm = llms_base.LlamaIndexLLMWrapper(LlamaIndexLLM())  # type: ignore[arg-type]  # all that the wrapper asks for
    assert ours.ContextRecall(llm=llm).score(**FIELDS).value == 1.0
    assert ours.RagasModel(llm).identity.startswith("ragas:LlamaIndexLLMWrapper>")
    assert "/llama " in ours.RagasModel(llm).identity


def test_completion_models_of_langchain() -> None:
    """No chat message, no usage: text only."""
    assert (
        ours.ContextRecall(llm=langchain_core.language_models.FakeListLLM(responses=[YES]))
        .score(**FIELDS)
        .value
        == 1.0
    )
    assert (
        ours.ContextRecall(llm=langchain_core.language_models.FakeListChatModel(responses=[YES]))
        .score(**FIELDS)
        .value
        == 1.0
    )


# ---- identity ----


def test_identity_holds_class_address_parameters_and_no_key(llms: Any) -> None:
    from langchain_openai import ChatOpenAI

    address = "http://user:sk-password@127.0.0.1:9/v1"

    def make(**options: Any) -> ours.RagasModel:
        settings = {"model": "m", "base_url": address, "api_key": "sk-not-a-key", **options}
        return ours.RagasModel(ChatOpenAI(**settings))

    identity = make().identity
    assert identity.startswith("ragas:ChatOpenAI/m@127.0.0.1:9/v1")
    assert "sk-" not in identity
    assert make() == make()
    assert hash(make()) == hash(make())
    assert make(api_key="sk-another-key") == make()
    assert make(timeout=5, max_retries=9) == make()
    for change in (
        {"model": "n"},
        {"temperature": 0.3},
        {"seed": 1},
        {"base_url": "http://127.0.0.1:8/v1"},
    ):
        assert make(**change) != make()


def test_identity_of_instructor_llms(server: FakeOpenAIServer, llms: Any) -> None:
    from openai import AsyncOpenAI
    from ragas.llms import llm_factory

    def make(**options: Any) -> ours.RagasModel:
        return ours.RagasModel(
            llm_factory("m", client=AsyncOpenAI(base_url=server.base_url, api_key="sk-x"), **options)
        )

    assert make() == make()
    assert make() != make(temperature=0.5)
    assert make() != make(system_prompt="Be strict.")
    assert f"@{urlsplit(server.base_url).netloc}" in make().identity


def test_how_an_instructor_client_asks_is_part_of_the_identity() -> None:
    """Two modes are two models: a judgement of one was taken for the other's."""
    import instructor
    from openai import AsyncOpenAI
    from ragas.llms.base import InstructorLLM

    def make(mode: instructor.Mode, **asked: Any) -> str:
        client = AsyncOpenAI(base_url="http://127.0.0.1:9/v1", api_key="sk-x")
        llm = InstructorLLM(instructor.from_openai(client, mode=mode, **asked), "m", "openai")
        return ours.RagasModel(llm).identity

    modes = (instructor.Mode.TOOLS, instructor.Mode.JSON, instructor.Mode.MD_JSON)
    assert len({make(mode) for mode in modes}) == 3
    assert make(instructor.Mode.JSON) == make(instructor.Mode.JSON)
    assert make(instructor.Mode.JSON, temperature=1.0) != make(instructor.Mode.JSON)


def test_identity_of_a_wrapper_that_leaves_the_temperature_alone() -> None:
    """It sets 0.01 otherwise, whatever the model had: then the model's own is no difference."""
    from langchain_openai import ChatOpenAI

    def make(temperature: float, *, bypass: bool) -> ours.RagasModel:
        place: dict[str, Any] = {"base_url": "http://127.0.0.1:9/v1", "api_key": "sk-x"}
        llm = ChatOpenAI(model="m", temperature=temperature, **place)
        return ours.RagasModel(llms_base.LangchainLLMWrapper(llm, bypass_temperature=bypass))

    assert make(0.1, bypass=False) == make(0.9, bypass=False)
    assert make(0.1, bypass=True) != make(0.9, bypass=True)


def test_identity_does_not_change_with_use(server: FakeOpenAIServer, make_llm: Any) -> None:
    """Ragas' wrapper sets the temperature of the model it wraps; LangChain keeps what it has worked out."""
    llm = make_llm(server)
    before = ours.RagasModel(llm).identity
    ours.ContextRecall(llm=llm).score(**FIELDS)
    if isinstance(llm, llms_base.BaseRagasLLM):
        llm.set_run_config(ragas.RunConfig(timeout=3))
    assert ours.RagasModel(llm).identity == before


def test_llms_without_a_name_share_nothing() -> None:
    """Their class says nothing about how they answer: each object is a model of its own, here and in later processes."""
    no = YES.replace("true", "false")
    one, other = (
        langchain_core.language_models.FakeListChatModel(responses=[YES]),
        langchain_core.language_models.FakeListChatModel(responses=[no]),
    )
    assert ours.RagasModel(one) == ours.RagasModel(one)
    assert ours.RagasModel(one) != ours.RagasModel(
        langchain_core.language_models.FakeListChatModel(responses=[YES])
    )
    assert ours.ContextRecall(llm=one).score(**FIELDS).value == 1.0
    assert ours.ContextRecall(llm=other).score(**FIELDS).value == 0.0
    assert ours.RagasModel(one, name="mine") == ours.RagasModel(
        langchain_core.language_models.FakeListChatModel(responses=[YES]), name="mine"
    )
    assert ours.RagasModel(one, name="mine") != ours.RagasModel(one, name="another")


# ---- as a model of the core ----


def test_is_a_model_and_goes_into_a_judge(
    server: FakeOpenAIServer, llms: Any, row: dict[str, Any]
) -> None:
    model = ours.RagasModel(llms.instructor_async(server))
    assert isinstance(model, Model)
    judge = LLMJudge(model, joint=False)
    assert ours.ContextRecall(judge=judge).score(**row).value == 0.5
    assert repr(model) == f"RagasModel({model.identity!r})"


def test_copies_share_the_llm_and_pickling_says_why_not(
    server: FakeOpenAIServer, make_llm: Any
) -> None:
    model = ours.RagasModel(make_llm(server))
    assert copy.deepcopy(model) is model
    with pytest.raises(
        ParameterError, match=r"RagasModel holds the client and key of .*, which must not be pickled"
    ):
        pickle.dumps(model)


@pytest.mark.parametrize("llm", ["gpt-4o", None, object(), LLMJudge, 5])
def test_what_is_no_llm_is_refused(llm: Any) -> None:
    with pytest.raises(ParameterError, match="is no LLM of Ragas"):
        ours.RagasModel(llm)
