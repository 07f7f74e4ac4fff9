"""Any LLM that Ragas knows, as a model of `LLMJudge`."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import Generation, LLMResult
from langchain_core.prompt_values import PromptValue
from pydantic import BaseModel
from ragas.exceptions import LLMDidNotFinishException
from ragas.llms.base import BaseRagasLLM, InstructorBaseRagasLLM, InstructorLLM

from ctxmetrics import Prompt, Reply, Usage, adapting
from ctxmetrics.errors import JudgeError, ParameterError
from ctxmetrics_ragas.metrics import CALLBACKS

# Attributes in which Ragas' wrappers keep the LLM that they wrap.
_ATTRIBUTES_OF_WRAPPED_LLM = ("langchain_llm", "llm", "generator")
# Attributes of that LLM that a wrapper sets for the time of a call, to a constant of its own.
_ATTRIBUTES_SET_BY_WRAPPER = ("temperature", "n")


class _JudgePrompt(PromptValue):
    """A prompt as a chat model takes it, with the instructions apart from the data, and as one text for any other."""

    system: str
    user: str
    text: str

    def to_messages(self) -> list[BaseMessage]:
        return [SystemMessage(self.system), HumanMessage(self.user)]

    def to_string(self) -> str:
        return self.text


class RagasModel(adapting.ForeignModel):
    """A Ragas LLM as a model: ``LLMJudge(RagasModel(llm))``.

    Temperature and everything else stays as the LLM has it; a client that is not async is called in a thread.

    Args:
        llm: ``llm_factory(..)`` or another ``InstructorBaseRagasLLM``, a ``BaseRagasLLM`` such as
            ``LangchainLLMWrapper``, or a bare LangChain model.
        name: The model's name, where the LLM object does not have it. An LLM without a name shares
            judgements with no other object and no later process.

    Raises:
        ParameterError: It is none of these.
    """

    def __init__(self, llm: Any, *, name: str | None = None) -> None:
        if not isinstance(llm, (BaseRagasLLM, InstructorBaseRagasLLM, BaseLanguageModel)):
            raise ParameterError(
                f"llm={type(llm).__name__} is no LLM of Ragas. Give llm_factory(..), a BaseRagasLLM or a LangChain "
                "model; a judge of ctxmetrics goes into judge=."
            )
        self.llm: Any = llm
        adapting.mask_logs_of("instructor")  # Instructor logs the answers of servers, as errors
        self._instructor: Any = llm
        if isinstance(llm, InstructorLLM):
            # Instructor asks again about a reply that does not fit. The judge does so too, so
            # Instructor's retries are off.
            self._instructor = copy(llm)
            self._instructor.model_args = {"max_retries": 0, **llm.model_args}
        # The LLM, and the LLMs that it wraps. All their settings identify the model.
        layers = [llm]
        for attribute in _ATTRIBUTES_OF_WRAPPED_LLM:
            wrapped_llm = getattr(llm, attribute, None)
            if wrapped_llm is not None:
                layers.append(wrapped_llm)
        keeps_temperature = getattr(llm, "bypass_temperature", False)
        skip = () if keeps_temperature else _ATTRIBUTES_SET_BY_WRAPPER
        super().__init__(llm, adapting.describe("ragas", layers, name=name, skip=skip))

    @adapting.reads_failures
    async def generate(self, prompt: Prompt, schema: type[BaseModel]) -> Reply:
        """Ask the LLM, in the loop this runs in.

        Raises:
            JudgeError: The LLM declined, or its reply was cut off. What its client raises passes
                through.
        """
        if isinstance(self.llm, InstructorBaseRagasLLM):
            return await self._ask_instructor(prompt.text, schema)
        value = _JudgePrompt(system=prompt.system, user=prompt.user, text=prompt.text)
        return adapting.langchain_reply(await self._ask_langchain(value))

    async def _ask_langchain(self, value: PromptValue) -> Any:
        """Ask a LangChain model, bare or in Ragas' wrapper."""
        if not isinstance(self.llm, BaseRagasLLM):
            return await self.llm.agenerate_prompt([value], callbacks=CALLBACKS.get())
        try:
            return await self.llm.generate(value, callbacks=CALLBACKS.get())
        except LLMDidNotFinishException as error:
            raise JudgeError(str(error), reason_code="truncated") from None
        except self.llm.run_config.exception_types as error:
            problem = adapting.classify(error)
            if isinstance(problem, JudgeError):
                problem.retryable = False  # Ragas has already tried as often as its RunConfig says
            raise problem from None

    async def _ask_instructor(self, text: str, schema: type[BaseModel]) -> Reply:
        """Ask an LLM of Ragas' own kind, which asks through Instructor."""
        arguments: dict[str, Any] = {"prompt": text, "response_model": adapting.any_reply(schema)}
        if getattr(self.llm, "is_async", True):
            answer = await self._instructor.agenerate(**arguments)
        else:
            answer = await adapting.in_thread(partial(self._instructor.generate, **arguments))
        completion = getattr(answer, "_raw_response", None)
        if getattr(completion, "choices", None):
            reply = adapting.completion_reply(completion)
        else:  # another form than OpenAI's
            counts = adapting.token_usage(getattr(completion, "usage", None))
            reply = Reply(content=adapting.content_of(answer), usage=counts)
        reply_text = str(reply.content)
        usage = adapting.checked_usage(reply.usage, sent=text, received=reply_text)
        self._report(text, reply_text, usage)
        return replace(reply, usage=usage)

    def _report(self, text: str, reply: str, usage: Usage) -> None:
        """Report the call to Ragas' callbacks, which count tokens: an Instructor LLM does not call them."""
        counts = {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}
        output = {"token_usage": counts, "model_name": getattr(self.llm, "model", "")}
        result = LLMResult(generations=[[Generation(text=reply)]], llm_output=output)
        callbacks = CALLBACKS.get()
        if hasattr(callbacks, "on_llm_start"):
            for run in callbacks.on_llm_start({"name": self.identity}, [text]):
                run.on_llm_end(result)
