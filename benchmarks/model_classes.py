"""Every model class that users of the frameworks have, each with one real request to a server on the loopback.

    python benchmarks/run.py model_classes [--only TEXT] [--write-docs]

A server that speaks the wire format of the class's provider answers what an honest judge would say. The framework's own
runner scores one sample with recall and precision; both must be the core's, with one request. ``--write-docs`` puts the
table into ``benchmarks/model-classes.md``; ``tests/adapters/test_model_classes.py`` runs every row whose packages are
installed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parent))

import _docs
import _judging as judging

from ctxmetrics import ContextPrecision, ContextRecall, LLMJudge, OpenAIModel, Sample, evaluate
from ctxmetrics.adapting.runners import aside
from ctxmetrics.models.openai.providers import PROVIDERS
from support import answer_from
from support.answers import Question
from support.wire import WireServer

PAGE = HERE.parent / "model-classes.md"
HEAD = "| framework | class | wire format | asked for | result |\n|---|---|---|---|---|"
KEY = "sk-fake-key-of-nobody"
IRON, PARIS = "The tower is made of wrought iron.", "The tower is in Paris, France."
JUDGE = answer_from(
    {
        "It is in Paris.": (True, PARIS, "in Paris"),
        "It was built in 1889.": False,
        "It is made of iron.": (True, IRON, "wrought iron"),
    },
    {PARIS: True, IRON: True, "Bananas are yellow.": False},
)
TRUTH = (2 / 3, (1 / 1 + 2 / 3) / 2)
"""Recall: two of three sentences. Precision: useful are the first and the third context."""


def sample(question: str) -> Sample:
    return Sample(
        user_input=f"Where is the tower, and what is it made of? ({question})",
        response="-",
        reference="It is in Paris. It was built in 1889. It is made of iron.",
        retrieved_contexts=[PARIS, "Bananas are yellow.", IRON],
    )


# --- the framework's runners, each with both metrics: values in this order, or the exception ---


def _no_failure(told: Sequence[str | None]) -> None:
    """Raise what a framework's result says of a value that is not there."""
    if told:
        raise RuntimeError(told[0])


def _core(model: Any, given: Sample) -> list[float | None]:
    judge = LLMJudge(model)
    (row,) = evaluate([given], [ContextRecall(), ContextPrecision()], judge=judge, progress=False)
    return [row["context_recall"].value, row["context_precision"].value]


def _ragas(llm: Any, given: Sample) -> list[float | None]:
    from ragas import EvaluationDataset, SingleTurnSample
    from ragas import evaluate as theirs

    from ctxmetrics_ragas import LLMContextPrecisionWithReference, LLMContextRecall

    dataset = EvaluationDataset([SingleTurnSample(**given.to_dict())])
    metrics = [LLMContextRecall(), LLMContextPrecisionWithReference()]
    found = theirs(dataset, metrics=metrics, llm=llm, show_progress=False, raise_exceptions=True)
    return [found.scores[0][metric.name] for metric in metrics]


def _ragas_collections(llm: Any, given: Sample) -> list[float | None]:
    from ctxmetrics_ragas import ContextPrecision, ContextRecall

    async def both() -> list[float | None]:
        metrics = [ContextRecall(llm=llm), ContextPrecision(llm=llm)]
        found = [await metric.ascore(**given.to_dict()) for metric in metrics]
        _no_failure([one.reason for one in found if one.value is None or math.isnan(one.value)])
        return [one.value for one in found]

    return asyncio.run(both())


def _deepeval(llm: Any, given: Sample, *, sync: bool = False) -> list[float | None]:
    from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
    from deepeval.evaluate.evaluate import evaluate as theirs
    from deepeval.test_case import LLMTestCase

    from ctxmetrics_deepeval import ContextPrecisionMetric, ContextRecallMetric

    case = LLMTestCase(
        input=given.user_input,
        actual_output="-",
        expected_output=given.reference,
        retrieval_context=list(given.retrieved_contexts),
    )
    found = theirs(
        [case],
        [ContextRecallMetric(model=llm), ContextPrecisionMetric(model=llm)],
        async_config=AsyncConfig(run_async=not sync),
        cache_config=CacheConfig(write_cache=False),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
    )
    data = found.test_results[0].metrics_data
    _no_failure([one.error or one.reason for one in data if one.score is None])
    return [one.score for one in data]


def _langchain(chat_model: Any, given: Sample) -> list[float | None]:
    from langsmith import tracing_context

    from ctxmetrics_langchain import ContextPrecisionEvaluator, ContextRecallEvaluator

    with tracing_context(enabled=False):
        kinds = (ContextRecallEvaluator, ContextPrecisionEvaluator)
        found = [kind(judge=chat_model).as_runnable().invoke(given.to_dict()) for kind in kinds]
    _no_failure([one["comment"] for one in found if one["score"] is None])
    return [one["score"] for one in found]


def _pydantic_evals(model: Any, given: Sample) -> list[float | None]:
    from pydantic_evals import Case, Dataset

    from ctxmetrics_pydantic_evals import ContextPrecisionEvaluator, ContextRecallEvaluator

    judged = [
        kind(judge=model, evaluation_name=kind.__name__)
        for kind in (ContextRecallEvaluator, ContextPrecisionEvaluator)
    ]
    cases = [Case(name="one", inputs=given.user_input, expected_output=given.reference)]
    dataset = Dataset(name="samples", cases=cases, evaluators=judged)
    report = dataset.evaluate_sync(
        lambda _: {"retrieved_contexts": list(given.retrieved_contexts)}, progress=False
    )
    _no_failure([one.error_message for one in report.cases[0].evaluator_failures])
    scores = report.cases[0].scores
    return [scores[one.evaluation_name].value for one in judged]


def _mlflow(model: Any, given: Sample) -> list[float | None]:
    from ctxmetrics_mlflow import ContextPrecisionScorer, ContextRecallScorer

    fields = {
        "inputs": {"user_input": given.user_input},
        "outputs": {"retrieved_contexts": list(given.retrieved_contexts)},
        "expectations": {"reference": given.reference},
    }
    judge = LLMJudge(model)
    return [kind(judge=judge)(**fields).value for kind in (ContextRecallScorer, ContextPrecisionScorer)]


# --- the rows ---


@dataclass(frozen=True)
class Make:
    """A call that makes an object, as data: where the class is, and its arguments, with ``{url}`` in them."""

    where: str
    positional: tuple[Any, ...]
    named: dict[str, Any]

    def __call__(self, url: str) -> Any:
        module, _, name = self.where.partition(":")
        made = import_module(module)
        for part in name.split("."):
            made = getattr(made, part)
        return made(
            *(_filled(item, url) for item in self.positional),
            **{key: _filled(item, url) for key, item in self.named.items()},
        )


def make(where: str, *positional: Any, **named: Any) -> Make:
    return Make(where, positional, named)


def _filled(value: Any, url: str) -> Any:
    if isinstance(value, Make):
        return value(url)
    if isinstance(value, str):
        return value.replace("{url}", url)
    if isinstance(value, dict):
        return {key: _filled(item, url) for key, item in value.items()}
    return [_filled(item, url) for item in value] if isinstance(value, list) else value


@dataclass(frozen=True)
class Row:
    """One model class.

    Attributes:
        framework: Whose class it is.
        name: The class, and how it is made where there are several ways.
        model: Makes it.
        run: The framework's runner.
        needs: The distributions it needs.
        why: Why it does not work, or was not tried.
        error: What is in the error then; None: it was not tried.
        environment: Variables that are set for the time.
        requests: How many requests must reach the server: none for a model that asks nobody.
    """

    framework: str
    name: str
    model: Callable[[str], Any]
    run: Callable[[Any, Sample], list[float | None]]
    needs: tuple[str, ...] = ()
    why: str | None = None
    error: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    requests: int = 1

    @property
    def tried(self) -> bool:
        """Whether it can be tried here."""
        return self.why is None or self.error is not None

    @property
    def missing(self) -> list[str]:
        """The distributions that are not installed."""
        return [name for name in self.needs if not _installed(name)]


def _installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


_OPENAI = {"base_url": "{url}/v1", "api_key": KEY}
_AWS = {
    "region_name": "us-east-1",
    "aws_access_key_id": "AKIAFAKE",
    "aws_secret_access_key": "fake",
}


def _core_rows() -> Iterator[Row]:
    for name, provider in PROVIDERS.items():
        title = f'OpenAIModel.preset("{name}", ..)'
        yield Row("ctxmetrics", title, partial(_preset, name), _core, environment={provider.key: KEY})
    for form in ("json_object", "text"):
        made = make("ctxmetrics:OpenAIModel", "m", reply_format=form, **_OPENAI)
        yield Row("ctxmetrics", f'OpenAIModel(reply_format="{form}")', made, _core)


def _preset(name: str, url: str) -> OpenAIModel:
    """A preset with the path of its own address; its key comes from its variable."""
    address = re.sub(r"\{\w+\}", "-", PROVIDERS[name].base_url or "https://api.openai.com/v1")
    path = address.partition("://")[2] or address
    return OpenAIModel.preset(
        name, "m", base_url=f"{url}{path[path.find('/') :] if '/' in path else ''}"
    )


_WORKS: tuple[Any, Any] = (None, None)
"""Neither a reason nor an error."""


def _factory(
    name: str, client: Make, *needs: str, why: tuple[str, str] = _WORKS, **options: Any
) -> Row:
    made = make("ragas.llms:llm_factory", "m", client=client, **options)
    run = _ragas if why == _WORKS else _ragas_collections  # which says why there is no value
    return Row("Ragas", f"llm_factory({name})", made, run, ("ragas", *needs), *why)


def _instructor_mode(
    mode: str,
    client: Make,
    patch: str,
    provider: str,
    *needs: str,
    why: tuple[str, str] = _WORKS,
    without: Sequence[str] = (),
) -> Row:
    """Ragas' LLM over a client that was patched in a mode of Instructor's."""
    patched = make(f"instructor:{patch}", client, mode=make(f"{__name__}:_mode", mode))
    made = make("ragas.llms.base:InstructorLLM", patched, "m", provider)
    name = f"InstructorLLM({patch}(.., mode={mode}))"
    if without:
        made = make(f"{__name__}:_without", made, *without)
        name += f" without {' and '.join(without)}"
    return Row("Ragas", name, made, _ragas_collections, ("ragas", *needs), *why)


def _litellm(url: str) -> Any:
    import instructor
    import litellm
    from ragas.llms import LiteLLMStructuredLLM

    client = instructor.from_litellm(litellm.acompletion, mode=instructor.Mode.JSON)
    return LiteLLMStructuredLLM(client, "openai/m", "openai", api_base=url, api_key=KEY)


def _without(llm: Any, *parameters: str) -> Any:
    """An LLM of Ragas' that does not send some of the parameters that Ragas sends by itself."""
    for name in parameters:
        del llm.model_args[name]
    return llm


def _mode(name: str) -> Any:
    import instructor

    return instructor.Mode[name]


def _ragas_rows() -> Iterator[Row]:
    wait = make("openai:AsyncOpenAI", **_OPENAI)
    sync = make("openai:OpenAI", **_OPENAI)
    claude = {"base_url": "{url}", "api_key": KEY}
    google = make("google.genai:Client", api_key=KEY, http_options={"base_url": "{url}"})
    iterable = (
        "cannot: Instructor takes only a list of schemas in this mode",
        "should be with Iterable",
    )
    messages = (
        "cannot: Ragas calls `client.messages.create`, which this client does not have; use `InstructorLLM`",
        "no attribute 'messages'",
    )
    unknown = (
        "cannot with anthropic 2, which takes no `temperature` and `top_p`: delete both from `llm.model_args`",
        "unexpected keyword argument 'temperature'",
    )
    yield _factory("client=AsyncOpenAI()", wait)
    yield _factory("client=OpenAI()", sync)
    yield _factory(
        "client=AsyncAzureOpenAI()",
        make(
            "openai:AsyncAzureOpenAI",
            azure_endpoint="{url}",
            azure_deployment="m",
            api_key=KEY,
            api_version="2024-10-21",
        ),
    )
    yield _factory(
        'provider="anthropic", client=Anthropic()',
        make("anthropic:Anthropic", **claude),
        "anthropic",
        provider="anthropic",
        why=unknown,
    )
    yield _factory(
        'provider="anthropic", client=AsyncAnthropic()',
        make("anthropic:AsyncAnthropic", **claude),
        "anthropic",
        provider="anthropic",
        why=unknown,
    )
    yield _factory(
        'provider="google", client=genai.Client()', google, "google-genai", provider="google"
    )
    yield _factory(
        'provider="groq", client=Groq()',
        make("groq:Groq", base_url="{url}", api_key=KEY),
        "groq",
        provider="groq",
        why=messages,
    )
    yield _factory(
        'provider="mistral", client=Mistral()',
        make("mistralai.client:Mistral", server_url="{url}", api_key=KEY),
        "mistralai",
        provider="mistral",
        why=messages,
    )
    for mode in (
        "TOOLS",
        "TOOLS_STRICT",
        "JSON",
        "JSON_SCHEMA",
        "MD_JSON",
        "PARALLEL_TOOLS",
        "RESPONSES_TOOLS",
    ):
        why = iterable if "PARALLEL" in mode else _WORKS
        yield _instructor_mode(mode, wait, "from_openai", "openai", why=why)
    anthropic = make("anthropic:AsyncAnthropic", **claude)
    for mode in ("ANTHROPIC_TOOLS", "ANTHROPIC_JSON", "ANTHROPIC_PARALLEL_TOOLS"):
        yield _instructor_mode(
            mode,
            anthropic,
            "from_anthropic",
            "anthropic",
            "anthropic",
            without=("temperature", "top_p"),
            why=iterable if "PARALLEL" in mode else _WORKS,
        )
    for mode in ("GENAI_TOOLS", "GENAI_STRUCTURED_OUTPUTS"):
        yield _instructor_mode(mode, google, "from_genai", "google", "google-genai")
    groq = make("groq:AsyncGroq", base_url="{url}", api_key=KEY)
    for mode in ("TOOLS", "JSON"):
        yield _instructor_mode(mode, groq, "from_groq", "groq", "groq")
    mistral = make("mistralai.client:Mistral", server_url="{url}", api_key=KEY)
    for mode in ("MISTRAL_TOOLS", "MISTRAL_STRUCTURED_OUTPUTS"):
        yield _instructor_mode(mode, mistral, "from_mistral", "mistral", "mistralai")
    bedrock = make("boto3:client", "bedrock-runtime", endpoint_url="{url}", **_AWS)
    for mode in ("BEDROCK_TOOLS", "BEDROCK_JSON"):
        yield _instructor_mode(mode, bedrock, "from_bedrock", "bedrock", "boto3")
    cohere = make("cohere:AsyncClientV2", api_key=KEY, base_url="{url}")
    for mode in ("COHERE_TOOLS", "COHERE_JSON_SCHEMA"):
        yield _instructor_mode(mode, cohere, "from_cohere", "cohere", "cohere", without=("top_p",))
    lite = make(f"{__name__}:_litellm", "{url}/v1")
    name = "LiteLLMStructuredLLM(from_litellm(acompletion))"
    yield Row("Ragas", name, lite, _ragas_collections, ("ragas", "litellm"))
    chat = make("langchain_openai:ChatOpenAI", model="m", **_OPENAI)
    yield Row("Ragas", "ChatOpenAI, as it is", chat, _ragas, ("ragas", "langchain-openai"))
    for name, model, need in (
        ("ChatOpenAI", chat, "langchain-openai"),
        ("ChatAnthropic", _CHAT_MODELS["ChatAnthropic"], "langchain-anthropic"),
    ):
        wrapped = make("ragas.llms:LangchainLLMWrapper", model)
        yield Row("Ragas", f"LangchainLLMWrapper({name}())", wrapped, _ragas, ("ragas", need))
    for name, inner, need in (
        (
            "Ollama",
            make("llama_index.llms.ollama:Ollama", "m", base_url="{url}"),
            "llama-index-llms-ollama",
        ),
    ):
        wrapped = make("ragas.llms:LlamaIndexLLMWrapper", inner)
        yield Row(
            "Ragas", f"LlamaIndexLLMWrapper(llama_index {name}())", wrapped, _ragas, ("ragas", need)
        )
    secret = make("haystack.utils:Secret.from_token", KEY)
    generator = make(
        "haystack.components.generators.openai:OpenAIGenerator",
        api_key=secret,
        model="m",
        api_base_url="{url}/v1",
    )
    yield Row(
        "Ragas",
        "HaystackLLMWrapper(OpenAIGenerator())",
        make("ragas.llms:HaystackLLMWrapper", generator),
        _ragas,
        ("ragas", "haystack-ai"),
    )


def _deepeval_rows() -> Iterator[Row]:
    models = "deepeval.models"
    yield _deepeval_row("OpenAIModel", "gpt-4o", **_OPENAI)
    yield _deepeval_row("OpenAIModel", "gpt-3.5-turbo", **_OPENAI)
    yield _deepeval_row("GPTModel", "gpt-4o", **_OPENAI)
    yield _deepeval_row(
        "AzureOpenAIModel",
        "gpt-4o",
        base_url="{url}",
        api_key=KEY,
        deployment_name="m",
        api_version="2024-10-21",
    )
    yield _deepeval_row("LocalModel", "m", **_OPENAI)
    yield _deepeval_row("OllamaModel", "m", "ollama", base_url="{url}")
    yield _deepeval_row(
        "AnthropicModel", "claude-sonnet-4-5", "anthropic", base_url="{url}", api_key=KEY
    )
    yield _deepeval_row(
        "GeminiModel",
        "gemini-2.5-flash",
        "google-genai",
        api_key=KEY,
        http_options={"base_url": "{url}"},
    )
    yield _deepeval_row(
        "AmazonBedrockModel",
        "anthropic.claude-3-haiku-20240307-v1:0",
        "aiobotocore",
        region="us-east-1",
        aws_access_key_id="AKIAFAKE",
        aws_secret_access_key="fake",
        endpoint_url="{url}",
    )
    for name, model in (("DeepSeekModel", "deepseek-chat"), ("KimiModel", "moonshot-v1-8k")):
        made = make(f"{__name__}:_moved", make(f"{models}:{name}", model, api_key=KEY), "{url}/v1")
        yield Row("DeepEval", name, made, _deepeval, ("deepeval",))
    for name in ("OpenRouterModel", "PortkeyModel"):
        more = {"provider": "openai"} if name == "PortkeyModel" else {}
        yield _deepeval_row(name, "m", **_OPENAI, **more)
    for schema in (True, False):
        for sync in (False, True):
            made = make(f"{__name__}:own_deepeval_model", "{url}/v1", schema=schema)
            kind = f"your DeepEvalBaseLLM, {'with' if schema else 'without'} schema="
            run = partial(_deepeval, sync=sync)
            yield Row("DeepEval", f"{kind}, run_async={not sync}", made, run, ("deepeval",))
    lite = make(f"{models}:LiteLLMModel", model="openai/gpt-4o", api_key=KEY)
    needs, address = ("deepeval", "litellm"), {"OPENAI_API_BASE": "{url}/v1"}
    yield Row("DeepEval", "LiteLLMModel", lite, _deepeval, needs, environment=address)
    lite = make(f"{models}:LiteLLMModel", model="openai/gpt-4o", **_OPENAI)
    yield Row("DeepEval", "LiteLLMModel(base_url=..)", lite, _deepeval, needs)
    grpc = "not tried: xai-sdk speaks gRPC, for which there is no server here"
    yield Row("DeepEval", "GrokModel", make(f"{models}:GrokModel"), _deepeval, (), grpc)


def _deepeval_row(name: str, model: str, *needs: str, **options: Any) -> Row:
    made = make(f"deepeval.models:{name}", model=model, **options)
    return Row("DeepEval", f'{name}("{model}")', made, _deepeval, ("deepeval", *needs))


def _moved(model: Any, url: str) -> Any:
    """A model whose class has a fixed address, at another one."""
    model.base_url = url
    return model


def own_deepeval_model(url: str, *, schema: bool) -> Any:
    """What DeepEval's page on custom models says to write: with a schema an object of it, else text."""
    from deepeval.models import DeepEvalBaseLLM
    from openai import AsyncOpenAI, OpenAI

    def asked(prompt: str) -> dict[str, Any]:
        return {"model": "m", "messages": [{"role": "user", "content": prompt}]}

    def text_of(found: Any) -> str:
        return found.choices[0].message.content

    class Text(DeepEvalBaseLLM):
        def __init__(self) -> None:
            self.sync = OpenAI(base_url=url, api_key=KEY)
            self.wait = AsyncOpenAI(base_url=url, api_key=KEY)

        def load_model(self) -> Any:
            return self.sync

        def get_model_name(self) -> str:
            return "my model"

        def generate(self, prompt: str) -> str:
            return text_of(self.sync.chat.completions.create(**asked(prompt)))

        async def a_generate(self, prompt: str) -> str:
            return text_of(await self.wait.chat.completions.create(**asked(prompt)))

    class Typed(Text):
        def generate(self, prompt: str, schema: Any) -> Any:
            return schema.model_validate_json(super().generate(prompt))

        async def a_generate(self, prompt: str, schema: Any) -> Any:
            return schema.model_validate_json(await super().a_generate(prompt))

    return Typed() if schema else Text()


_CHAT_MODELS = {
    "ChatOpenAI": make("langchain_openai:ChatOpenAI", model="m", **_OPENAI),
    "ChatOpenAI(use_responses_api=True)": make(
        "langchain_openai:ChatOpenAI", model="m", use_responses_api=True, **_OPENAI
    ),
    "ChatOpenAI(streaming=True)": make(
        "langchain_openai:ChatOpenAI", model="m", streaming=True, **_OPENAI
    ),
    "AzureChatOpenAI": make(
        "langchain_openai:AzureChatOpenAI",
        azure_endpoint="{url}",
        azure_deployment="m",
        api_key=KEY,
        api_version="2024-10-21",
    ),
    "ChatAnthropic": make(
        "langchain_anthropic:ChatAnthropic", model="claude-sonnet-4-5", base_url="{url}", api_key=KEY
    ),
    "ChatGoogleGenerativeAI": make(
        "langchain_google_genai:ChatGoogleGenerativeAI",
        model="gemini-2.5-flash",
        base_url="{url}",
        api_key=KEY,
    ),
    "ChatOllama": make("langchain_ollama:ChatOllama", model="m", base_url="{url}"),
    "ChatBedrockConverse": make(
        "langchain_aws:ChatBedrockConverse",
        model="anthropic.claude-3-haiku-20240307-v1:0",
        client=make("boto3:client", "bedrock-runtime", endpoint_url="{url}", **_AWS),
        bedrock_client=make("boto3:client", "bedrock", endpoint_url="{url}", **_AWS),
    ),
    "ChatBedrock": make(
        "langchain_aws:ChatBedrock",
        model="anthropic.claude-3-haiku-20240307-v1:0",
        client=make("boto3:client", "bedrock-runtime", endpoint_url="{url}", **_AWS),
        bedrock_client=make("boto3:client", "bedrock", endpoint_url="{url}", **_AWS),
    ),
    "ChatMistralAI": make(
        "langchain_mistralai:ChatMistralAI", model="m", endpoint="{url}/v1", api_key=KEY
    ),
    "ChatGroq": make("langchain_groq:ChatGroq", model="m", base_url="{url}", api_key=KEY),
    "ChatCohere": make("langchain_cohere:ChatCohere", model="m", base_url="{url}", cohere_api_key=KEY),
    'init_chat_model("openai:m")': make("langchain.chat_models:init_chat_model", "openai:m", **_OPENAI),
    'init_chat_model("ollama:m")': make(
        "langchain.chat_models:init_chat_model", "ollama:m", base_url="{url}"
    ),
}
_PACKAGES = {
    "langchain_anthropic": "langchain-anthropic",
    "langchain_google_genai": "langchain-google-genai",
}


def _langchain_rows() -> Iterator[Row]:
    for name, made in _CHAT_MODELS.items():
        need = made.where.partition(":")[0].partition(".")[0].replace("_", "-")
        also = ("langchain-ollama",) if "ollama:" in name else ()
        yield Row("LangChain", name, made, _langchain, (need, *also))

    chat = _CHAT_MODELS["ChatOpenAI"]
    refused = ("refused: give the model with nothing around it", "with nothing around it")
    retry = make(f"{__name__}:_called", chat, "with_retry")
    yield Row(
        "LangChain", "ChatOpenAI().with_retry()", retry, _langchain, ("langchain-openai",), *refused
    )
    fallback = make(f"{__name__}:_called", chat, "with_fallbacks", [chat])
    yield Row(
        "LangChain",
        "ChatOpenAI().with_fallbacks([..])",
        fallback,
        _langchain,
        ("langchain-openai",),
        *refused,
    )
    fake = make(
        "langchain_core.language_models.fake_chat_models:FakeListChatModel", responses=[_recorded()]
    )
    yield Row("LangChain", "FakeListChatModel", fake, _langchain, ("langchain-core",), requests=0)


def _called(thing: Any, method: str, *arguments: Any) -> Any:
    return getattr(thing, method)(*arguments)


def _recorded() -> str:
    """A right reply that was written before it was asked for: it repeats no code, but its quotes are found."""
    given = sample("-")
    units = [f"{text.strip('. ')}." for text in given.reference.split(". ")]
    data = {
        "sentences": [{"id": f"s{n}", "text": text} for n, text in enumerate(units, 1)],
        "contexts": [
            {"id": f"c{n}", "text": text} for n, text in enumerate(given.retrieved_contexts, 1)
        ],
    }
    return json.dumps(JUDGE.answer(Question("joint", data, "")))


def _pydantic_ai_rows() -> Iterator[Row]:
    def one(
        name: str, module: str, provider: str, *needs: str, model: str = "m", **options: Any
    ) -> Row:
        given = make(f"pydantic_ai.providers.{provider}", **options)
        made = make(f"pydantic_ai.models.{module}:{name}", model, provider=given)
        return Row("pydantic-ai", name, made, _pydantic_evals, ("pydantic-evals", *needs))

    here = {"base_url": "{url}", "api_key": KEY}
    yield one("OpenAIChatModel", "openai", "openai:OpenAIProvider", **_OPENAI)
    yield one("OpenAIResponsesModel", "openai", "openai:OpenAIProvider", **_OPENAI)
    yield one(
        "AnthropicModel",
        "anthropic",
        "anthropic:AnthropicProvider",
        "anthropic",
        model="claude-sonnet-4-5",
        **here,
    )
    yield one(
        "GoogleModel",
        "google",
        "google:GoogleProvider",
        "google-genai",
        model="gemini-2.5-flash",
        **here,
    )
    yield one(
        "BedrockConverseModel",
        "bedrock",
        "bedrock:BedrockProvider",
        "boto3",
        model="anthropic.claude-3-haiku-20240307-v1:0",
        base_url="{url}",
        **_AWS,
    )
    yield one("MistralModel", "mistral", "mistral:MistralProvider", "mistralai", **here)
    yield one("GroqModel", "groq", "groq:GroqProvider", "groq", **here)
    yield one("OllamaModel", "ollama", "ollama:OllamaProvider", **_OPENAI)
    yield one(
        "OpenRouterModel",
        "openrouter",
        "openrouter:OpenRouterProvider",
        model="a/m",
        openai_client=make("openai:AsyncOpenAI", **_OPENAI),
    )
    yield one(
        "CohereModel",
        "cohere",
        "cohere:CohereProvider",
        "cohere",
        cohere_client=make("cohere:AsyncClientV2", api_key=KEY, base_url="{url}"),
    )
    function = make("pydantic_ai.models.function:FunctionModel", _pydantic_function)
    yield Row(
        "pydantic-ai", "FunctionModel", function, _pydantic_evals, ("pydantic-evals",), requests=0
    )
    chat = make(
        "pydantic_ai.models.openai:OpenAIChatModel",
        "m",
        provider=make("pydantic_ai.providers.openai:OpenAIProvider", **_OPENAI),
    )
    both = make("pydantic_ai.models.fallback:FallbackModel", chat, function)
    yield Row(
        "pydantic-ai",
        "FallbackModel(OpenAIChatModel(), FunctionModel())",
        both,
        _pydantic_evals,
        ("pydantic-evals",),
    )


def _pydantic_function(messages: list[Any], info: Any) -> Any:
    from pydantic_ai.messages import ModelResponse, ToolCallPart

    text = "\n".join(str(part.content) for message in messages for part in message.parts)
    return ModelResponse([ToolCallPart(info.output_tools[0].name, JUDGE(SimpleNamespace(text=text)))])


def _mlflow_rows() -> Iterator[Row]:
    made = make("ctxmetrics:OpenAIModel", "m", **_OPENAI)
    yield Row("MLflow", "OpenAIModel (MLflow hands scorers no model)", made, _mlflow, ("mlflow",))


def rows() -> list[Row]:
    """All rows, by framework."""
    parts = (_core_rows, _ragas_rows, _deepeval_rows, _langchain_rows, _pydantic_ai_rows, _mlflow_rows)
    return [row for part in parts for row in part()]


# --- trying a row ---


@dataclass(frozen=True)
class Found:
    """What came of a row.

    Attributes:
        values: Recall and precision.
        requests: How many requests there were.
        format: The wire format of the requests.
        form: In which form the reply was asked for.
        problem: The exception, or why the server refused.
    """

    values: tuple[float | None, ...]
    requests: int
    format: str
    form: str
    problem: str | None = None


def works(row: Row, found: Found) -> bool:
    """Whether a row gave the true values with one request."""
    return found.values == TRUTH and found.requests == row.requests and not found.problem


@contextmanager
def served(row: Row) -> Iterator[WireServer]:
    """Serve a row's class: the variables of its environment are set, and its warnings are not shown."""
    with (
        WireServer(JUDGE) as server,
        aside({**judging.QUIET, **_filled(dict(row.environment), server.url)}),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield server


def attempt(row: Row) -> Found:
    """Score one sample with a row's model."""
    values: tuple[float | None, ...] = ()
    problem = None
    with served(row) as server:
        try:
            values = tuple(row.run(row.model(server.url), sample(row.name)))
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        seen = server.exchanges
    refused = next((one.problem for one in seen if one.problem), None)
    last = seen[-1] if seen else None
    return Found(
        values,
        len(seen),
        (last and last.format) or "-",
        last.form if last else "-",
        problem or refused,
    )


def result(row: Row, found: Found) -> str:
    """Return what the table says came of a row."""
    if works(row, found):
        return "works"
    told = found.problem or f"{found.values} after {found.requests} requests"
    if row.why and row.error and re.search(row.error, told) and not any(map(_is_number, found.values)):
        return row.why
    return f"fails: {told}"


def _is_number(value: float | None) -> bool:
    return value is not None and not math.isnan(value)


def line(row: Row, found: Found | None) -> str:
    """Return a row of the table; without a finding that of a class that was not tried."""
    format_, form, came = "-", "-", row.why
    if found is not None:
        format_, form, came = found.format, found.form, result(row, found)
    return f"| {row.framework} | `{row.name}` | {format_} | {form} | {came} |"


def run(argv: list[str]) -> dict[str, object]:
    parser = argparse.ArgumentParser(prog="model_classes")
    parser.add_argument("--only", default="", help="rows with this text in framework or class")
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args(argv)
    chosen = [row for row in rows() if options.only in f"{row.framework} {row.name}"]
    if absent := {name for row in chosen for name in row.missing}:
        raise SystemExit(f"not installed: {', '.join(sorted(absent))}; pip install -e '.[dev]'")
    lines = []
    for row in chosen:
        lines.append(line(row, attempt(row) if row.tried else None))
        print(lines[-1], flush=True)
    if options.write_docs:
        peers = sorted({name for row in rows() for name in row.needs})
        _docs.write("model_classes", "\n".join([HEAD, *lines]), page=PAGE, peers=peers)
    ends = Counter(one.rpartition("| ")[2].partition(":")[0].strip(" |") for one in lines)
    return {
        "benchmark": "model_classes",
        "rows": len(lines),
        "works": ends["works"],
        "fails": ends["fails"],
    }
