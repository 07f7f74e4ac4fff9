"""What model objects of other libraries tell when one wraps them: who they are, what they said, what it cost.

Nothing here knows a library: attributes are read by the names that clients give them.
"""

from __future__ import annotations

import re
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import uuid4

from ctxmetrics.errors import JudgeError
from ctxmetrics.models.base import Reply, served_name
from ctxmetrics.models.wrapping import fingerprint
from ctxmetrics.verdicts import Usage

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_NAMES = ("model_name", "model", "model_id", "deployment_name", "azure_deployment")
_CLIENTS = ("root_client", "client", "async_client")
_NO_PARAMETER = re.compile(
    r"key|secret|passw|credential|auth|header|cookie|token$"
    r"|timeout|retr|cache|callback|verbose|client|run_config|^metadata$|^tags$",
    re.IGNORECASE,
)
"""Names of attributes that hold a secret, or change no answer."""
_CUT_OFF = frozenset({"length", "max_tokens", "max_output_tokens"})
_NO_COMPLETION = (
    "Unexpected response type from OpenAI-compatible endpoint",  # langchain-openai
    "No choices in OpenAI response",  # Instructor
    "Invalid response from openai",  # pydantic-ai
)
"""How messages begin with which libraries report a body that is no chat completion."""
_PLAIN = (str, int, float, bool, type(None))

_unnamed: dict[int, str] = {}


def describe(
    family: str, layers: Sequence[object], *, name: str | None = None, skip: Collection[str] = ()
) -> str:
    """Return an identity: class, model name, address, and a digest of the parameters.

    Every attribute of plain data counts as a parameter, except those whose name says that they hold a secret or
    change no answer. An object that names no model gets a name of its own, which lasts as long as the object: two of
    them never share a judgement, nor do two processes.

    Args:
        family: What the identity starts with.
        layers: The model object, then what it wraps.
        name: The model's name, where no layer tells it.
        skip: Attributes of the wrapped layers that the wrapper sets itself, for the time of a call.
    """
    parameters = [_parameters(layer, skip if depth else ()) for depth, layer in enumerate(layers)]
    model = name or next((found for layer in layers if (found := _model_name(layer))), None)
    address = next((found for layer in layers if (found := _address(layer))), "")
    kinds = ">".join(type(layer).__qualname__ for layer in layers)
    digest = fingerprint({"parameters": parameters})
    return f"{family}:{kinds}/{model or _unique(layers[-1])}{address} #{digest}"


def token_usage(counted: object, *, calls: int = 1) -> Usage:
    """Read token counts from a mapping or an object, under the names that clients give them.

    They are as they came, and may be anything: a `Run` checks them (`ctxmetrics.models.base.checked_usage`).
    """
    found: Any = counted if isinstance(counted, dict) else _attributes(counted)
    sent, received = (
        next((count for name in names if (count := found.get(name)) is not None), None)
        for names in (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"))
    )
    return Usage(calls=calls, prompt_tokens=sent, completion_tokens=received)  # type: ignore[arg-type]  # not checked yet


def check_finished(finish_reason: object, refusal: object = None) -> None:
    """Raise where a reply is no answer.

    Raises:
        JudgeError: It was cut off by a length limit, or the model or a content filter declined.
    """
    reason = str(finish_reason).lower()
    if refusal or reason == "content_filter":
        raise JudgeError("the model refused to answer", reason_code="refused")
    if reason in _CUT_OFF:
        raise JudgeError("the reply was cut off by a length limit", reason_code="truncated")


def only_choice(choices: Sequence[Any], asked: int = 1) -> Any:
    """Return the first choice of an answer.

    Args:
        choices: The choices, or other alternatives.
        asked: How many the client asked for.

    Raises:
        JudgeError: There is none; or there are more than were asked for, and it is not known which one is meant.
    """
    if not choices:
        raise JudgeError("the answer holds no choices", reason_code="server_error", retryable=True)
    if len(choices) > asked:
        raise JudgeError(
            f"the answer holds {len(choices)} choices where {asked} was asked for",
            reason_code="invalid_reply",
        )
    return choices[0]


def completion_reply(completion: Any, *, usage: Usage | None = None) -> Reply:
    """Return the reply in an object of OpenAI's form: the arguments of its tool calls, else its text.

    Args:
        completion: The chat completion.
        usage: What it cost, where the caller knows better.

    Raises:
        JudgeError: It was cut off, the model declined, or it holds no choice or several.
    """
    choice = only_choice(completion.choices)
    message = choice.message
    check_finished(choice.finish_reason, getattr(message, "refusal", None))
    calls = getattr(message, "tool_calls", None) or ()
    content = "\n".join(call.function.arguments for call in calls) or message.content
    return Reply(
        content=content or "",
        usage=usage or token_usage(getattr(completion, "usage", None)),
        served_model=served_name(getattr(completion, "model", None)),
    )


def langchain_reply(result: Any, *, asked: int = 1) -> Reply:
    """Return the reply in an ``LLMResult`` of LangChain.

    Args:
        result: The result of one prompt.
        asked: How many choices the LLM asks for.

    Raises:
        JudgeError: It was cut off, the model declined, or it holds no choice or several.
    """
    generation = only_choice(result.generations[0], asked)
    message = getattr(generation, "message", None)
    if message is not None and getattr(message, "usage_metadata", None):
        return message_reply(message)
    usage = token_usage((result.llm_output or {}).get("token_usage"))
    if message is None:
        return Reply(content=generation.text, usage=usage)
    return replace(message_reply(message), usage=usage)


def message_reply(message: Any) -> Reply:
    """Return what a chat message of LangChain says: the arguments of its tool calls, else its text.

    Several calls stand one after the other: where they differ, the judge takes neither.

    Raises:
        JudgeError: It was cut off by a length limit, or the model declined.
    """
    import json

    told = message.response_metadata
    check_finished(
        told.get("finish_reason", told.get("stop_reason")), message.additional_kwargs.get("refusal")
    )
    calls = (*getattr(message, "tool_calls", ()), *getattr(message, "invalid_tool_calls", ()))
    given = [args if isinstance(args := call["args"], str) else json.dumps(args) for call in calls]
    return Reply(
        content="\n".join(given) or _text(message.content),
        usage=token_usage(getattr(message, "usage_metadata", None)),
        served_model=served_name(told.get("model_name", told.get("model"))),
    )


def unread_reply(error: Exception) -> Reply:
    """Return the reply that a client gave up on and that its exception carries, as Instructor's and OpenAI's do.

    Raises:
        JudgeError: The reply was cut off, the model declined, or what came was no answer of the API.
        Exception: The one that was given, or what caused it: it carries no reply.
    """
    kind = type(error).__name__
    completion: Any = getattr(error, "last_completion", None) or getattr(error, "completion", None)
    if getattr(completion, "choices", None):
        counted, calls = getattr(error, "total_usage", None), getattr(error, "n_attempts", 1)
        return completion_reply(
            completion, usage=token_usage(counted or getattr(completion, "usage", None), calls=calls)
        )
    if kind == "ContentFilterFinishReasonError":  # OpenAI's; it carries nothing
        check_finished("content_filter")
    cause = error.__cause__ or error
    if _is_no_answer(cause):
        raise JudgeError(
            "the server's answer is no chat completion", reason_code="server_error", retryable=True
        ) from None
    raise cause


def _is_no_answer(error: BaseException) -> bool:
    """Whether a client tripped over a body that is no chat completion.

    OpenAI's client returns such a body as a string, and what uses it then expects an object with a first choice.
    """
    return (
        isinstance(error, IndexError)
        or (isinstance(error, AttributeError) and isinstance(error.obj, str))
        or str(error).startswith(_NO_COMPLETION)
    )


def _text(content: Any) -> str:
    """Return the text of a message's content: a string, or a list of strings and blocks of which some are text."""
    if isinstance(content, str):
        return content
    texts = (
        block if isinstance(block, str) else block.get("type") == "text" and block.get("text")
        for block in content
    )
    return "".join(filter(None, texts))


def _attributes(layer: object) -> dict[str, Any]:
    return getattr(layer, "__dict__", {})


def _parameters(layer: object, skip: Collection[str]) -> dict[str, Any]:
    declared = getattr(
        type(layer), "model_fields", None
    )  # a pydantic object also keeps what it has worked out
    return {
        name: value
        for name, value in _attributes(layer).items()
        if (declared is None or name in declared)
        and name not in skip
        and not _NO_PARAMETER.search(name)
        and _is_plain(value)
    }


def _is_plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return isinstance(value, _PLAIN)


def _model_name(layer: object) -> str | None:
    values = (getattr(layer, name, None) for name in _NAMES)
    return next((value for value in values if isinstance(value, str) and value), None)


def _address(layer: object) -> str:
    """Return where the requests go, without user names, passwords and queries."""
    client = next((found for name in _CLIENTS if (found := getattr(layer, name, None)) is not None), None)
    for holder in (client, getattr(client, "client", None), layer):
        parts = urlsplit(str(getattr(holder, "base_url", None) or ""))
        if parts.hostname:
            return f"@{parts.netloc.rpartition('@')[2]}{parts.path}"
    return ""


def _unique(model: object) -> str:
    if id(model) not in _unnamed:
        weakref.finalize(model, _unnamed.pop, id(model), None)
        _unnamed[id(model)] = f"unnamed-{uuid4().hex[:12]}"
    return _unnamed[id(model)]


def has_class(value: object, name: str) -> bool:
    """Whether a value is of a class, or of a subclass of one, with this name: its library need not be imported."""
    return any(kind.__name__ == name for kind in type(value).__mro__)
