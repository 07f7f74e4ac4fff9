"""Reads the answers of servers and gateways that speak OpenAI's chat completions. An answer is untrusted."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ctxmetrics._internal.secrets import safe_text
from ctxmetrics.errors import JudgeError
from ctxmetrics.models.base import (
    Prompt,
    Reply,
    check_finished,
    checked_usage,
    count_cached,
    message_text,
    served_name,
)
from ctxmetrics.models.openai.client import read_body
from ctxmetrics.models.runtime.failures import bad_answer, from_status
from ctxmetrics.models.server_words import WORDS
from ctxmetrics.verdicts import Usage

# The counts of tokens that every server gives.
_PLAIN_COUNTS = frozenset({"prompt_tokens", "completion_tokens", "total_tokens"})
# The status of an HTTP failure: 404, 500.
_HTTP_FAILURE = re.compile(r"[45]\d\d", re.ASCII)
# The status of a server that asks for fewer requests.
_STATUS_RATE_LIMITED = 429
# The keys under which an answer may hold an error in place of choices.
_KEYS_OF_ERRORS = ("error", "errors", "detail", "message")
# The message about an answer without choices and without an error.
_NO_CHOICES = "the server's answer holds no choices"


def read_answer(text: str, prompt: Prompt) -> Reply:
    """Read the body of an answer with status 200.

    Args:
        text: The body. Untrusted.
        prompt: The prompt that was sent, to estimate tokens that the server did not count.

    Raises:
        JudgeError: The body is no chat completion (retryable: the server may have sent it by mistake), or it is a refusal, or
            it is cut off.
    """
    is_stream = text.lstrip().startswith("data:")
    answer = _read_stream(text) if is_stream else read_body(text)
    choices = answer.get("choices")
    token_counts = answer.get("usage")
    served_model = served_name(answer.get("model"))
    choice_count = 0
    first_choice = None
    if isinstance(choices, list) and choices:
        choice_count = len(choices)
        first_choice = choices[0]
    failure = None
    if not isinstance(first_choice, dict):
        failure = _build_failure(answer)
    # An exception keeps the local variables of this function. The exceptions below must not keep the whole answer in memory.
    del answer, choices
    if failure is not None or not isinstance(first_choice, dict):
        raise failure or bad_answer(_NO_CHOICES)
    message = first_choice.get("message")
    if not isinstance(message, dict):
        message = {}
    content = _read_arguments(message) or message_text(message.get("content"))
    if not isinstance(token_counts, dict):
        token_counts = {}
    count_names = ("prompt_tokens", "completion_tokens", "cost")
    untrusted_counts: Any = {name: token_counts.get(name) for name in count_names}
    untrusted_usage = Usage(calls=1, **untrusted_counts)
    usage = checked_usage(untrusted_usage, sent=prompt.text, received=content)
    if choice_count > 1:
        raise JudgeError(
            f"the server answered with {choice_count} choices where one was asked for",
            reason_code="invalid_reply",
            usage=usage,
        )
    check_finished(first_choice.get("finish_reason"), message.get("refusal"), usage)
    has_other_counts = bool(token_counts.keys() - _PLAIN_COUNTS)
    cached_tokens = count_cached(token_counts) if has_other_counts else 0
    return Reply(content=content, usage=usage, served_model=served_model, cached_tokens=cached_tokens)


def _read_arguments(message: Mapping[str, Any]) -> str:
    """Return the arguments of a message's tool calls: some gateways turn the schema of a reply into a tool.

    The arguments of several calls follow each other. If they differ, the judge uses none of them.
    """
    calls = message.get("tool_calls") or [{"function": message.get("function_call")}]
    arguments = []
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            arguments.append(message_text(function.get("arguments")))
    return "\n".join(arguments)


def _read_stream(text: str) -> dict[str, Any]:
    """Join the chunks of a stream to one answer: some gateways stream although no stream was asked for.

    Raises:
        JudgeError: A chunk is no JSON object, or the stream has no end.
    """
    answer: dict[str, Any] = {}
    texts_by_index: dict[str, list[str]] = {}
    finish_reason = None
    for line in text.split("\n"):
        data = line.strip().removeprefix("data:").strip()
        if not line.startswith("data:") or data == "[DONE]":
            continue
        chunk = read_body(data)
        answer |= {name: value for name, value in chunk.items() if value and name != "choices"}
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            delta = choice.get("delta") if isinstance(choice, dict) else None
            if isinstance(delta, dict):
                texts = texts_by_index.setdefault(str(choice.get("index")), [])
                texts.append(message_text(delta.get("content")))
                finish_reason = choice.get("finish_reason") or finish_reason
    if texts_by_index and finish_reason is None:
        raise bad_answer("the server streamed its answer, and the stream has no end")
    answer["choices"] = [
        {"message": {"content": "".join(texts)}, "finish_reason": finish_reason}
        for texts in texts_by_index.values()
    ]
    return answer


def _build_failure(answer: Mapping[str, Any]) -> JudgeError:
    """Build the failure of an answer with status 200 that holds no choices. Some gateways answer so with an error."""
    error = next((answer[name] for name in _KEYS_OF_ERRORS if answer.get(name)), None)
    if isinstance(error, list):
        error = error[0]
    if error is None:
        return bad_answer(_NO_CHOICES)
    details = error if isinstance(error, dict) else {"code": answer.get("code"), "message": error}
    code = details.get("code")
    message = details.get("message") or code or error
    text = f"the server answered with an error: {safe_text(message)}"
    if code in WORDS["spent"]:
        return from_status(_STATUS_RATE_LIMITED, text, code=code, details=[details])
    if _HTTP_FAILURE.fullmatch(str(code)):
        return from_status(int(str(code)), text, details=[details])
    return bad_answer(text)


def was_limit_too_low(text: str) -> bool:
    """Tell whether the limit of tokens was too low: the model used all of them for its thoughts, or wrote no text.

    Args:
        text: The body of the answer. Untrusted.
    """
    if '"length"' not in text:  # the reply did not reach the limit: most answers need not be parsed
        return False
    try:
        first_choice = json.loads(text)["choices"][0]
        message = first_choice["message"]
        content = message_text(message.get("content")).strip()
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return False
    reached_limit = first_choice.get("finish_reason") == "length"
    has_thoughts = bool(message.get("reasoning_content") or message.get("reasoning"))
    return reached_limit and (has_thoughts or not content or content.startswith("<think"))
