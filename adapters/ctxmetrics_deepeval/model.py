"""Any LLM that DeepEval can judge with, as a model of `LLMJudge`."""

from __future__ import annotations

from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any

from anyio import to_thread
from deepeval.metrics.utils import initialize_model
from deepeval.models import DeepEvalBaseLLM

from ctxmetrics.bridge import on_background_loop
from ctxmetrics.errors import JudgeError, ParameterError
from ctxmetrics.judges.base import Reply
from ctxmetrics.judges.identity import ForeignModel, fingerprint
from ctxmetrics.scores import Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel

    from ctxmetrics.judges.base import Prompt

# What changes the answers of DeepEval's own classes, besides the name.
_SETTINGS = ("temperature", "base_url", "generation_kwargs")
# Exceptions with which a client gives up on a reply that did come.
_UNREADABLE = {"ValidationError": "invalid_reply", "LengthFinishReasonError": "truncated"}
# The placeholder of pictures and PDFs: DeepEval's models put the file or URL it names in its place, whoever wrote it. A
# word joiner breaks it: it shows nothing, and the library drops it when it looks for a quote, so evidence that the model
# copies from such a text is still found in the text as it was retrieved.
_TAG, _BROKEN_TAG = "[DEEPEVAL:", "[\u2060DEEPEVAL:"


class DeepEvalModel(ForeignModel):
    """A ``DeepEvalBaseLLM`` as a model: ``LLMJudge(DeepEvalModel(llm))``.

    The schema is handed over where the LLM says that it uses one, or takes ``schema=`` and is not DeepEval's own: of
    those, what only parses the text itself loses commas inside strings. Replies may be text, an object of the schema,
    a dict, or a pair of one of these and its cost.

    Args:
        llm: The LLM, or a model name as DeepEval's own metrics take it. Two that answer differently need different
            names, for `identity` is part of every cache key.

    Raises:
        ParameterError: It is no ``DeepEvalBaseLLM``.
    """

    def __init__(self, llm: DeepEvalBaseLLM | str) -> None:
        found = initialize_model(llm)[0] if isinstance(llm, str) else llm
        if not isinstance(found, DeepEvalBaseLLM):
            raise ParameterError(
                f"model={type(llm).__name__} is no DeepEvalBaseLLM. Give one, or a judge as judge=."
            )
        settings = fingerprint({name: getattr(found, name, None) for name in _SETTINGS})
        super().__init__(found, f"deepeval:{type(found).__qualname__}/{found.get_model_name()} #{settings}")
        self.llm = found

    async def generate(self, prompt: Prompt, schema: type[BaseModel]) -> Reply:
        """Ask the LLM in the loop this runs in; where that is the library's own, its sync method in a thread.

        Raises:
            JudgeError: The LLM's client could not read its reply.
        """
        try:
            answer = await self._ask(prompt.text.replace(_TAG, _BROKEN_TAG), schema)
        except Exception as error:
            code = "invalid_reply" if "invalid JSON" in str(error) else _UNREADABLE.get(type(error).__name__)
            if code is None:
                raise
            raise JudgeError("Your last reply could not be read.", reason_code=code) from None
        content, cost = answer if isinstance(answer, tuple) else (answer, None)
        money = getattr(cost, "value", cost) if isinstance(cost, (int, float)) else None
        tokens = [getattr(cost, name, None) or 0 for name in ("input_tokens", "output_tokens")]
        usage = Usage(calls=1, prompt_tokens=tokens[0], completion_tokens=tokens[1], cost=money)
        return Reply(content=content or "", usage=usage)

    async def _ask(self, text: str, schema: type[BaseModel]) -> Any:
        """Call the method that fits the loop; the other one where the LLM has only that."""

        def call(method: Callable[..., Any]) -> partial[Any]:
            return partial(method, text, **({"schema": schema} if _wants_schema(self.llm, method) else {}))

        async def in_loop() -> Any:
            return await call(self.llm.a_generate)()

        async def in_thread() -> Any:
            return await to_thread.run_sync(call(self.llm.generate), abandon_on_cancel=True)

        first, second = (in_thread, in_loop) if on_background_loop() else (in_loop, in_thread)
        try:
            return await first()
        except NotImplementedError:
            return await second()


def _wants_schema(llm: DeepEvalBaseLLM, method: Callable[..., Any]) -> bool:
    declared = llm.supports_structured_outputs() or llm.supports_json_mode()
    own = type(llm).__module__.startswith("deepeval.")
    return bool(declared) if own else "schema" in signature(method).parameters
