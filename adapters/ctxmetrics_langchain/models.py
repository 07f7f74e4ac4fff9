"""Any LangChain chat model as a model of `LLMJudge`, and what ``judge=`` takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables.config import ensure_config
from pydantic import BaseModel

from ctxmetrics import Prompt, Reply, adapting
from ctxmetrics.errors import ParameterError
from ctxmetrics_langchain.tracing import keep_local_runs

# Statuses of a server that does not take the request.
_REFUSAL_STATUSES = (400, 422)
# What a model's call takes over from the run around it.
_PARAMETERS_PASSED_ON = ("callbacks", "tags", "metadata", "run_name")


class ChatModel(adapting.ForeignModel):
    """A chat model of LangChain as a model: ``LLMJudge(ChatModel(chat_model))``.

    The model is asked in the first of three ways that it supports:

    1. For JSON of the reply's schema (``response_format``): a model of OpenAI's form whose server accepts it. The text of
       the reply stays as it came.
    2. For a call of one tool: a model that can call tools. LangChain parses the arguments itself, so a repeated key is not noticed.
    3. For text.

    Callbacks, tags and metadata of the surrounding run reach the model.

    Args:
        chat_model: The model. Those of equal class and parameters share judgements.
        tools: Ask for a tool call (True) or for text (False); None: the first of the above that the model takes.

    Raises:
        ParameterError: It is no chat model.
    """

    def __init__(self, chat_model: BaseChatModel, *, tools: bool | None = None) -> None:
        if not isinstance(chat_model, BaseChatModel):
            raise ParameterError(
                f"ChatModel: {type(chat_model).__name__} is no BaseChatModel. Give the object itself, with nothing "
                "around it."
            )
        self.chat_model: BaseChatModel = chat_model
        if tools is None:
            self.tools: bool = type(chat_model).bind_tools is not BaseChatModel.bind_tools
        else:
            self.tools = tools
        # `tools` is what the caller asked for, and may be None; `self.tools` is what was chosen.
        # These classes send ``response_format`` as OpenAI understands it, and return the text unchanged.
        has_openai_form = adapting.has_class(chat_model, "BaseChatOpenAI")
        self._takes_format = tools is None and has_openai_form
        # How the model is asked is a part of its identity, unless it is the usual way.
        identity = adapting.describe("langchain", [chat_model])
        if not self.tools:
            identity += " text"
        elif tools and has_openai_form:
            identity += " tools"
        super().__init__(chat_model, identity)

    @adapting.reads_failures
    async def generate(self, prompt: Prompt, schema: type[BaseModel]) -> Reply:
        """Ask the chat model, in the loop this runs in.

        Raises:
            JudgeError: It refused, its reply was cut off, or the answer holds several choices. What its client raises
                passes through.
        """
        # LangSmith's runs of this call are not uploaded if the caller keeps them local.
        with keep_local_runs():
            return await self._generate(prompt, schema)

    async def _generate(self, prompt: Prompt, schema: type[BaseModel]) -> Reply:
        """Ask for JSON, for a tool call or for text, and remember if the server refuses JSON."""
        messages = [SystemMessage(prompt.system), HumanMessage(prompt.user)]
        if self._takes_format:
            try:
                return await self._ask(messages, response_format=adapting.response_format(schema))
            except Exception as error:
                if not self.tools or getattr(error, "status_code", None) not in _REFUSAL_STATUSES:
                    raise
        if self.tools:
            reply = await self._call_tool(messages, schema)
        else:
            reply = await self._ask(messages)
        self._takes_format = False  # this request succeeded, so the server had refused the format
        return reply

    async def _ask(self, messages: list[BaseMessage], **options: Any) -> Reply:
        """Ask for text, with further options of the request."""
        config = ensure_config()
        run_parameters: dict[str, Any] = {name: config.get(name) for name in _PARAMETERS_PASSED_ON}
        result = await self.chat_model.agenerate([messages], **run_parameters, **options)
        choice_count = getattr(self.chat_model, "n", None) or 1
        return adapting.langchain_reply(result, expected=choice_count)

    async def _call_tool(self, messages: list[BaseMessage], schema: type[BaseModel]) -> Reply:
        """Bind the schema as a tool: other ways of asking lose a reply that does not fit."""
        bind: Any = self.chat_model.with_structured_output
        options: dict[str, str] = {}
        if "method" in inspect.signature(bind).parameters:
            options["method"] = "function_calling"
        # `with_structured_output` returns a chain: its first step is the model with the tool, its second parses the reply.
        model_with_tool: Any = bind(adapting.any_reply(schema).model_json_schema(), **options).first
        return adapting.message_reply(await model_with_tool.ainvoke(messages))


def named_model(name: str) -> ChatModel:
    """Return what LangChain's ``init_chat_model`` makes of a name, with the parameters that LangChain gives it.

    Args:
        name: ``PROVIDER:MODEL``, such as ``mistralai:mistral-small-latest``.

    Raises:
        ParameterError: The package or key of the provider is missing, or there is no such provider.
    """
    judge_name = f"langchain/{name}"
    if ":" not in name:
        raise ParameterError(
            f"{judge_name}: write langchain/PROVIDER:MODEL, such as langchain/openai:{name}."
        )
    try:
        init_chat_model = _find_init_chat_model()
        chat_model = init_chat_model(name)
    except Exception as error:  # noqa: BLE001 - whatever a provider's package raises: a missing key, an unknown name
        raise ParameterError(
            f"{judge_name}: LangChain cannot make this model: {adapting.safe_text(error)}"
        ) from None
    return ChatModel(chat_model)


def _find_init_chat_model() -> Callable[[str], BaseChatModel]:
    """Find the function ``init_chat_model`` of the package ``langchain``, else of ``langchain-classic``."""
    for package in ("langchain", "langchain_classic"):
        if find_spec(package) is not None:
            return import_module(f"{package}.chat_models").init_chat_model  # type: ignore[no-any-return]  # a module that is imported by name has no types
    raise ImportError("install it with: pip install langchain langchain-PROVIDER")
