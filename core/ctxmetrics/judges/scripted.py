"""A judge that answers from recorded replies: for golden fixtures, tests, and verdicts that people made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pydantic import BaseModel

from ctxmetrics._internal.frozen import FrozenDict
from ctxmetrics._internal.near_names import suggest
from ctxmetrics.errors import JudgeError, ParameterError
from ctxmetrics.judges.llm.judge import LLMJudge
from ctxmetrics.models.base import Prompt, Reply
from ctxmetrics.verdicts import Usage

# Stands in a recorded reply for the code of the request that it answers.
ECHO = "$code"
# The steps for which replies may be recorded.
_RECORDED_STEPS = ("claims", "attribution", "usefulness", "joint")


@dataclass(frozen=True, slots=True)
class ScriptedModel:
    """A model that gives recorded replies, by step and attempt.

    Attempt n takes entry n; the last entry repeats. A question about units or contexts alone takes the joint
    replies where it has none of its own.

    Attributes:
        replies: Replies by step, or a function from the prompt to a reply. A reply is raw text or JSON data.
        identity: A hash of the content, so that equal scripts share what is remembered. A function
            without a name here shares it with copies of this model only.
    """

    replies: Mapping[str, Sequence[Any]] | Callable[[Prompt], Any]
    identity: str = ""

    def __post_init__(self) -> None:
        if callable(self.replies):
            # Not the id() of the function: Python may give it to another function, which would then get
            # these judgements.
            identity = self.identity or f"scripted-function:{uuid4().hex[:12]}"
        else:
            entries = _read_replies(self.replies)
            object.__setattr__(self, "replies", FrozenDict(entries))
            try:
                text = json.dumps(entries, sort_keys=True, ensure_ascii=False)
            except TypeError as error:
                raise ParameterError(
                    f"ScriptedJudge: a reply must be text or JSON data: {error}. Write plain lists, dicts, strings, numbers, "
                    "true and false."
                ) from None
            digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
            identity = self.identity or f"scripted:{digest[:16]}"
        object.__setattr__(self, "identity", identity)

    async def generate(self, prompt: Prompt, schema: type[BaseModel]) -> Reply:  # noqa: ARG002 - a model has it
        """Return the recorded reply; there is no usage to count but the call."""
        if callable(self.replies):
            content = self.replies(prompt)
        else:
            replies = self.replies.get(prompt.step)
            if not replies and prompt.step != "claims":
                replies = self.replies.get("joint")
            if not replies:
                raise JudgeError(
                    f"no reply was recorded for the step {prompt.step!r}", reason_code="judge_error"
                )
            content = replies[min(prompt.attempt, len(replies) - 1)]
        if isinstance(content, (list, tuple)):
            content = json.dumps(content)
        if isinstance(content, str):
            content = content.replace(ECHO, prompt.data_code)
        elif isinstance(content, Mapping) and isinstance(code := content.get("code"), str):
            content = {**content, "code": code.replace(ECHO, prompt.data_code)}
        return Reply(content=content, usage=Usage(calls=1))


def _read_replies(replies: object) -> dict[str, tuple[Any, ...]]:
    """Return the recorded replies of each step that has any.

    Raises:
        ParameterError: The replies are no mapping from a known step to a list of replies.
    """
    if not isinstance(replies, Mapping):
        raise ParameterError(
            f"ScriptedJudge: replies={type(replies).__name__} must be a dict from a step to its replies, or a function. "
            'Write ScriptedJudge({"joint": [REPLY]}).'
        )
    entries: dict[str, tuple[Any, ...]] = {}
    for step, step_replies in replies.items():
        if step not in _RECORDED_STEPS:
            raise ParameterError(
                f"ScriptedJudge: step {step!r} is unknown.{suggest(str(step), _RECORDED_STEPS)} Choose from: "
                f"{', '.join(_RECORDED_STEPS)}."
            )
        if isinstance(step_replies, (str, bytes, Mapping)):
            raise ParameterError(
                f"ScriptedJudge: the replies of the step {step!r} must be a list, one reply an attempt, not "
                f"{type(step_replies).__name__}. Write {{{step!r}: [REPLY]}}."
            )
        if step_replies:
            entries[step] = tuple(step_replies)
    return entries


class ScriptedJudge(LLMJudge):
    """Answers from recorded replies, which go through the same checks as a model's.

    Args:
        replies: Replies by step (``"joint"``, ``"attribution"``, ``"usefulness"``, ``"claims"``), one an attempt,
            the last repeating; or a function from the `Prompt` to a reply. A reply is raw text or JSON data; in it
            ``"$code"`` stands for the code that a reply must repeat.
        name: The name that the provenance shows.
        **options: As for `LLMJudge`.

    Raises:
        ParameterError: A step is unknown, its replies are no list, or a reply is neither text nor JSON data.
    """

    _kind = ""  # the judge's name is the name of the script, or its fingerprint

    def __init__(
        self,
        replies: Mapping[str, Sequence[Any]] | Callable[[Prompt], Any],
        *,
        name: str = "",
        **options: Any,
    ) -> None:
        super().__init__(ScriptedModel(replies, name), **options)

    def __repr__(self) -> str:
        return f"ScriptedJudge({self.name!r})"
