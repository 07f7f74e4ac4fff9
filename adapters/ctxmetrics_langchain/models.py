"""Any LangChain chat model as a model of `LLMJudge`, and what ``judge=`` takes."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage

from ctxmetrics.adapting.foreign import describe, message_reply
from ctxmetrics.adapting.model import ForeignModel, check_kind, no_answer

if TYPE_CHECKING:
    from pydantic import BaseModel

    from ctxmetrics.judges.base import Prompt, Reply


class ChatModel(ForeignModel):
    """A chat model of LangChain as a model: ``LLMJudge(ChatModel(chat_model))``.

    It is asked for a call of one tool with the reply's schema where it can call tools, else for text. Whatever comes
    back is handed on as it came: the judge checks it. Callbacks, tags and metadata of the surrounding run reach it.

    Args:
        chat_model: The model. Those of equal class and parameters share judgements.
        tools: Whether to ask for a tool call; None: where the model has ``bind_tools``.

    Raises:
        ParameterError: It is no chat model.
    """

    def __init__(self, chat_model: BaseChatModel, *, tools: bool | None = None) -> None:
        check_kind(chat_model, BaseChatModel, "ChatModel")
        self.chat_model = chat_model
        self.tools = type(chat_model).bind_tools is not BaseChatModel.bind_tools if tools is None else tools
        super().__init__(chat_model, describe("langchain", [chat_model]) + ("" if self.tools else " text"))

    async def generate(self, prompt: Prompt, schema: type[BaseModel]) -> Reply:
        """Ask the chat model, in the loop this runs in.

        Raises:
            JudgeError: It refused, or its reply was cut off. What its client raises passes through.
        """
        asked: Any = self._with_tool(schema) if self.tools else self.chat_model
        with no_answer(IndexError):  # LangChain trips over a reply without choices
            message = await asked.ainvoke([SystemMessage(prompt.system), HumanMessage(prompt.user)])
        return message_reply(message)

    def _with_tool(self, schema: type[BaseModel]) -> Any:
        """Bind the schema as a tool: other ways of asking lose a reply that does not fit."""
        bind: Any = self.chat_model.with_structured_output
        named = "method" in inspect.signature(bind).parameters
        return bind(schema, include_raw=True, **({"method": "function_calling"} if named else {})).pick("raw")
