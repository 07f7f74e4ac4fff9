"""Any LLM that DeepEval can judge with, as a model of `LLMJudge`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import Any

from deepeval.metrics.utils import initialize_model
from deepeval.models import DeepEvalBaseLLM
from pydantic import BaseModel

from ctxmetrics import Prompt, Reply, adapting
from ctxmetrics.errors import JudgeError, ParameterError

# DeepEval's own models that validate a structured reply from its unchanged text. The other models
# change the text first.
_VALIDATE_TEXT = frozenset(
    {"GPTModel", "OpenAIModel", "AzureOpenAIModel", "OllamaModel", "GeminiModel", "GrokModel"}
)


class DeepEvalModel(adapting.ForeignModel):
    """A ``DeepEvalBaseLLM`` as a model: ``LLMJudge(DeepEvalModel(llm))``.

    A schema is handed over to DeepEval's own models where they ask for structured output and validate the reply's
    text, and to any other LLM that takes ``schema=``. DeepEval's other models parse the text themselves, which changes
    commas inside strings and hides repeated keys: they are asked for text. Replies may be text, an object of the
    schema, a dict, or a pair of one of these and its cost.

    Args:
        llm: The LLM, or a model name as DeepEval's own metrics take it. Two that answer differently need
            different names or attributes, because `identity` is part of every cache key.

    Raises:
        ParameterError: It is no ``DeepEvalBaseLLM``.
    """

    def __init__(self, llm: DeepEvalBaseLLM | str) -> None:
        model: object = llm
        if isinstance(llm, str):
            model, _ = initialize_model(llm)
        if not isinstance(model, DeepEvalBaseLLM):
            raise ParameterError(
                f"model={type(llm).__name__} is no DeepEvalBaseLLM. Give one, or judge=."
            )
        super().__init__(model, adapting.describe("deepeval", [model], name=model.get_model_name()))
        self.llm: Any = model

    @adapting.reads_failures
    async def generate(self, prompt: Prompt, schema: type[BaseModel]) -> Reply:
        """Ask the LLM: its async method in a loop of the caller's, its sync one in a thread for a sync call.

        Raises:
            JudgeError: The LLM's client could not read its reply.
        """
        # DeepEval's models load the file or address that a tag such as [DEEPEVAL:IMAGE:1f2e] names, whoever wrote the tag.
        # An invisible word joiner (U+2060) breaks the tag. Quotes of the LLM are still found: their search ignores this character.
        text = prompt.text.replace("[DEEPEVAL:", "[\u2060DEEPEVAL:")
        methods = (self.llm.a_generate, self.llm.generate)
        options = {"schema": adapting.any_reply(schema)} if _wants_schema(self.llm, methods) else {}
        calls = [partial(method, text, **options) for method in methods]
        with adapting.validated_texts() as texts:
            try:
                answer = await adapting.in_loop_or_thread(*calls)
            except Exception as error:
                # An LLM that parses replies in its own way raises this about the reply.
                if adapting.has_class(error, "ValidationError"):
                    raise JudgeError(
                        "Your last reply could not be read.", reason_code="invalid_reply"
                    ) from None
                # deepeval/models/llms/openai_model.py: `calculate_cost` multiplies the token counts, whatever they are,
                # after the reply was read and before it is returned. So this error is about the cost, and the reply is whole.
                if (
                    isinstance(error, (TypeError, OverflowError))
                    and texts
                    and _is_deepevals_own(self.llm)
                ):
                    return Reply(content=adapting.only_choice(texts))
                raise
        if texts and _is_deepevals_own(self.llm):
            # Raises if the reply holds several choices: DeepEval takes the first.
            adapting.only_choice(texts)
        content = answer
        cost = None
        if isinstance(answer, tuple):
            content, cost = answer
        # DeepEval's own cost is a float with the counts of tokens as attributes.
        amount = getattr(cost, "value", cost) if isinstance(cost, (int, float)) else None
        usage = replace(adapting.token_usage(cost), cost=amount)
        return Reply(content=adapting.content_of(content) or "", usage=usage)


def _wants_schema(llm: DeepEvalBaseLLM, methods: Iterable[Callable[..., Any]]) -> bool:
    """Whether an LLM is asked with the schema of the reply; see `DeepEvalModel`."""
    if _is_deepevals_own(llm):
        validates_text = any(adapting.has_class(llm, name) for name in _VALIDATE_TEXT)
        return validates_text and bool(llm.supports_structured_outputs())
    return all("schema" in signature(method).parameters for method in methods)


def _is_deepevals_own(llm: DeepEvalBaseLLM) -> bool:
    """Whether an LLM is of a class of DeepEval."""
    return type(llm).__module__.startswith("deepeval.")
