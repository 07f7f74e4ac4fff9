"""LLMs of one's own for DeepEval, as people write them: each returns its reply in another way."""

# The base class has no types for what it does when a class is derived from it.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import json
from typing import Any, NamedTuple

from deepeval.models import DeepEvalBaseLLM

from support.answers import answer_from

ANSWER = answer_from()
"""Answers as a judge that compares words would."""


class _Prompt(NamedTuple):
    text: str


class FakeLLM(DeepEvalBaseLLM):
    """Text in, text out; each subclass returns it as some users' classes do."""

    def __init__(self, name: str = "") -> None:
        self.calls: list[str] = []
        self.prompts: list[str] = []
        super().__init__(name or type(self).__name__)

    def load_model(self) -> Any:
        return None

    def get_model_name(self) -> str:
        return str(self.name)

    def reply(self, prompt: str, how: str) -> str:
        self.calls.append(how)
        self.prompts.append(prompt)
        return ANSWER(_Prompt(prompt))

    def generate(self, prompt: str) -> Any:
        return self.reply(prompt, "sync")

    async def a_generate(self, prompt: str) -> Any:
        return self.reply(prompt, "async")


class FencedText(FakeLLM):
    def reply(self, prompt: str, how: str) -> str:
        return f"Here you are:\n```json\n{super().reply(prompt, how)}\n```"


class TextAndCost(FakeLLM):
    def reply(self, prompt: str, how: str) -> Any:
        return super().reply(prompt, how), 0.25


class NeedsSchema(FakeLLM):
    """As DeepEval's guide on custom LLMs writes it."""

    def generate(self, prompt: str, schema: Any) -> Any:  # type: ignore[override]  # as users write it
        return schema.model_validate_json(self.reply(prompt, "sync"))

    async def a_generate(self, prompt: str, schema: Any) -> Any:  # type: ignore[override]  # as users write it
        return schema.model_validate_json(self.reply(prompt, "async"))


class SchemaAndCost(FakeLLM):
    def generate(self, prompt: str, schema: Any = None) -> Any:
        return schema.model_validate_json(self.reply(prompt, "sync")), 0.25

    async def a_generate(self, prompt: str, schema: Any = None) -> Any:
        return schema.model_validate_json(self.reply(prompt, "async")), 0.25


class SyncTakesSchema(FakeLLM):
    """Only one of the two methods does."""

    def generate(self, prompt: str, schema: Any = None) -> Any:
        return self.reply(prompt, "sync")


class Dictionary(FakeLLM):
    def reply(self, prompt: str, how: str) -> Any:
        return json.loads(super().reply(prompt, how))


class SyncOnly(FakeLLM):
    """DeepEval's base class wants both methods: users raise in the one that they do not have."""

    async def a_generate(self, prompt: str) -> Any:
        raise NotImplementedError


class AsyncOnly(FakeLLM):
    """As `SyncOnly`, the other way round."""

    def generate(self, prompt: str) -> Any:
        raise NotImplementedError
