"""The protocols of models. A language model gives a reply to a prompt and a schema; a decision model answers yes-or-no questions.

Your own model needs one method and an identity; see docs/llm-judges.md and docs/decision-models.md.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

# Before Python 3.12, a check with the Protocol of typing reads the attributes of the object, and some of them raise.
from typing_extensions import Protocol, runtime_checkable

from ctxmetrics._internal.display import replace_invisible
from ctxmetrics._internal.secrets import mask_secrets, safe_text
from ctxmetrics.errors import JudgeError
from ctxmetrics.models.server_words import WORDS
from ctxmetrics.verdicts import CHARACTERS_A_TOKEN, Usage

if TYPE_CHECKING:
    from pydantic import BaseModel

ONE_CALL = Usage(calls=1)
# The fields of what a reply cost, each with the types that it may have.
_COUNT_TYPES: Mapping[str, Any] = {
    "prompt_tokens": (int,),
    "completion_tokens": (int,),
    "calls": (int,),
    "reused": (int,),
    "cost": (int, float),
}
# The largest count that is accepted; NaN is not.
_MAX_TOKEN_COUNT = 1_000_000_000
# The maximum number of characters of a model's name that a server gives.
_MAX_NAME_CHARACTERS = 200
# The types of the parts of a message that hold its text.
_TEXT_TYPES = ("text", "output_text")
# The values of ``finish_reason`` for a reply that was cut off, and for a reply that a filter stopped.
_CUT_OFF = frozenset({"length", "max_tokens", "max_output_tokens"})
_FILTERED = frozenset({"content_filter", "safety", "recitation", "prohibited_content", "blocklist"})


class ReplayingModel(ABC):
    """A model that has some replies already, such as those of a batch. It asks for any other reply, or raises that it is pending."""

    __slots__ = ()

    @abstractmethod
    async def recall(
        self, prompt: Prompt, schema: type[BaseModel], ask: Callable[[], Awaitable[Reply]]
    ) -> Reply:
        """Return the reply to a prompt; ``ask`` sends it within the limits of the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One question to a language model.

    Attributes:
        step: ``"claims"``, ``"attribution"``, ``"usefulness"`` or ``"joint"``.
        version: Name, language and version of the text; part of the provenance and of every cache key.
        system: The fixed part. It is equal for every sample, so that the provider can cache it.
        user: The data, as escaped JSON in a block of its own. In a repeated question, the errors of the last reply follow.
        attempt: 0 for the first question, 1 for its first repetition, and so on.
        vote: The number of the vote, from 0.
        data_code: The code of the data block, which the reply must repeat under ``code``.
        sentences: Ids of the units that need a verdict: the keys of ``sentences`` in the reply.
        useful: Ids of the contexts that need a verdict: the keys of ``useful`` in the reply.
        reply_tokens: An upper bound of the tokens of a complete reply; 0 if no bound is known.
    """

    step: str
    version: str
    system: str
    user: str
    attempt: int = 0
    vote: int = 0
    data_code: str = ""
    sentences: tuple[str, ...] = ()
    useful: tuple[str, ...] = ()
    reply_tokens: int = 0

    @property
    def text(self) -> str:
        """Both parts as one text, for models that take one string."""
        return f"{self.system}\n\n{self.user}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a language model answered.

    Attributes:
        content: Raw text, or an object that the model's client already parsed. Both are untrusted.
        usage: Calls and tokens, as the server counted them. Tokens that are 0 although there is a text are estimated.
        served_model: The model's name as the server gave it, if it did. Untrusted.
        cached_tokens: Tokens of the prompt that were in the server's cache, if the server counts them. Untrusted.
    """

    content: str | Mapping[str, object] | BaseModel
    usage: Usage = ONE_CALL
    served_model: str | None = None
    cached_tokens: int = 0


def count_cached(counts: Mapping[str, object]) -> int:
    """Read how many tokens of a prompt were in the server's cache. Servers and clients use different names for this count."""
    mappings = [counts]
    for details_name in ("prompt_tokens_details", "input_token_details"):
        details = counts.get(details_name)
        if isinstance(details, Mapping):
            mappings.append(details)
    cached_tokens = 0
    for mapping in mappings:
        for name in WORDS["cached_tokens"]:
            count = mapping.get(name)
            if not isinstance(count, int) or isinstance(count, bool):
                continue
            if 0 < count <= _MAX_TOKEN_COUNT:
                cached_tokens += count
    return cached_tokens


def checked_usage(usage: object, *, sent: str, received: str) -> Usage:
    """Check the counts of a server or a client, which are untrusted, and return figures that can be added up.

    Args:
        usage: A `Usage` whose fields may hold anything, or another object.
        sent: The text of the prompt. If its tokens were not counted, they are estimated as characters / 4. For a text that
            is not empty, a count of 0 means that the tokens were not counted.
        received: The text of the reply; its tokens are estimated in the same way.
    """
    counts: dict[str, Any] = {}
    for name, types in _COUNT_TYPES.items():
        count: Any = getattr(usage, name, None)
        is_number = isinstance(count, types) and not isinstance(count, bool)
        if is_number and 0 <= count <= _MAX_TOKEN_COUNT:
            counts[name] = count
    is_estimated = getattr(usage, "estimated", False) is True
    for name, text in (("prompt_tokens", sent), ("completion_tokens", received)):
        if name not in counts or (text and not counts[name]):
            counts[name] = ceil(len(text) / CHARACTERS_A_TOKEN)
            is_estimated = True
    if "cost" in counts:
        counts["cost"] = float(counts["cost"])
    return Usage(**{"calls": 1, **counts, "estimated": is_estimated})


def check_finished(finish_reason: object, refusal: object = None, usage: Usage = ONE_CALL) -> None:
    """Check that a reply was not cut off, and that the model did not decline.

    Args:
        finish_reason: The reason that the server gives for the end of the reply. Untrusted.
        refusal: The text with which the model declined, or whether it declined. Untrusted.
        usage: The calls and tokens of the reply.

    Raises:
        JudgeError: A length limit cut the reply off, or the model or a content filter declined.
    """
    reason = str(finish_reason).lower()
    if refusal or reason in _FILTERED:
        text = f": {safe_text(refusal)}" if isinstance(refusal, str) else ""
        raise JudgeError(
            f"the model, or a content filter, refused to answer{text}",
            reason_code="refused",
            usage=usage,
        )
    if reason in _CUT_OFF:
        raise JudgeError("a length limit cut the reply off", reason_code="truncated", usage=usage)


def reply_text(content: object) -> str:
    """Return the content of a reply as text, to measure it and to compare it with other replies.

    Raises:
        JudgeError: The content is an object that has no text: it is nested too deeply, or holds a number of too many digits.
    """
    try:
        return str(content)
    except (ValueError, RecursionError) as error:
        problem = f"the reply cannot be read: {safe_text(error)}"
    raise JudgeError(problem, reason_code="invalid_reply", usage=ONE_CALL)


def message_text(content: object) -> str:
    """Return the text of a message.

    If a message has parts, the parts that are texts or have one of `_TEXT_TYPES` are joined. Some servers give the JSON object of a
    reply in place of its text.
    """
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return json.dumps(content, ensure_ascii=False)
    if not isinstance(content, list):
        return ""
    texts: list[str] = []
    for part in content:
        text = part
        if isinstance(part, dict):
            text = None
            if part.get("type", "text") in _TEXT_TYPES:
                text = part.get("text")
        if isinstance(text, str):
            texts.append(text)
    return "".join(texts)


def served_name(name: object) -> str | None:
    """Clean the name of a model that a server gave: one short line of visible characters; None if the value is no text."""
    if not isinstance(name, str):
        return None
    text = " ".join(mask_secrets(name).split())
    if not text.isprintable():
        text = replace_invisible(text)
    return text[:_MAX_NAME_CHARACTERS] or None


@runtime_checkable
class Model(Protocol):
    """A language model: turns a prompt and a schema into a reply.

    Attributes:
        identity: Provider, model name and the parameters that change its answers. It is part of every cache
            key; it holds no key and no address with a password.
    """

    @property
    def identity(self) -> str:
        """A name that no other model has."""
        ...

    async def generate(self, prompt: Prompt, schema: type[BaseModel]) -> Reply:
        """Answer a prompt with JSON of the schema, as text or as an object.

        Raises:
            JudgeError: The model could not answer; ``retryable`` and ``retry_after`` say whether to ask again.
                Any other exception is treated as a JudgeError. Its status code, if it has one, says whether to ask again.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """What a decision model answered. Untrusted.

    Attributes:
        probabilities: The probability of a yes, by the question's id.
        refused: The ids of the questions that the model declined.
        usage: Calls and tokens, as the server counted them.
        served_model: The model's name as the server gave it, if it did.
    """

    probabilities: Mapping[str, object]
    refused: frozenset[str] = frozenset()
    usage: Usage = ONE_CALL
    served_model: str | None = None


@runtime_checkable
class DecisionModel(Protocol):
    """A model that answers yes-or-no questions about a state with probabilities.

    Attributes:
        identity: The provider, the model's name, and all else that changes the model's answers. The identity is part of every
            cache key; it holds no API key and no address with a password.
    """

    @property
    def identity(self) -> str:
        """A name that no other model has."""
        ...

    async def decide(self, state: str, questions: Mapping[str, str]) -> Decisions:
        """Answer questions about a state.

        Args:
            state: The text that the questions are about.
            questions: The text of each question, by its id. The ids mean nothing to the model.

        Raises:
            JudgeError: The model could not answer; ``retryable`` and ``retry_after`` say whether to ask again.
                Any other exception is treated as a JudgeError. Its status code, if it has one, says whether to ask again.
        """
        ...
