"""What frameworks' models have in common as models of `LLMJudge`: identity, replies and costs.

No library is imported here: attributes are read by the names that clients give them.
"""

from __future__ import annotations

import hashlib
import json
import re
import weakref
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import replace
from functools import lru_cache, wraps
from typing import Any, NoReturn, TypeVar, cast
from urllib.parse import urlsplit
from uuid import uuid4

from pydantic import BaseModel, create_model

from ctxmetrics._internal.secrets import hide_keys, safe_text
from ctxmetrics.errors import JudgeError, ParameterError
from ctxmetrics.models.base import Reply, check_finished, count_cached, message_text, served_name
from ctxmetrics.models.runtime.failures import bad_answer
from ctxmetrics.models.runtime.run import setting
from ctxmetrics.models.server_words import WORDS
from ctxmetrics.verdicts import Usage

Generate = TypeVar("Generate", bound=Callable[..., Awaitable[Reply]])

_NAMES = ("model_name", "model", "model_id", "deployment_name", "azure_deployment")
_CLIENTS = ("root_client", "client", "async_client")
# Names of attributes that hold a secret, or change no answer.
_NO_PARAMETER = re.compile(
    r"key|secret|passw|credential|auth|header|cookie|token$"
    r"|timeout|retr|cache|callback|verbose|client|run_config|^metadata$|^tags$",
    re.IGNORECASE,
)
# The beginning of a message about a refusal where a tool call was asked for.
_REFUSAL = "Unable to generate a response due to "  # Instructor
_PLAIN = (str, int, float, bool, type(None))

# The names of objects without a name, by their ids, while the objects exist: see `unique_name`.
_unnamed: dict[int, str] = {}
_validated: ContextVar[list[str]] = ContextVar("ctxmetrics_validated")


class ForeignModel:
    """A `Model` around another library's: equal by identity, shared by copies, never pickled.

    Args:
        inner: The other library's model.
        identity: See `Model`.

    Attributes:
        identity: What is part of every cache key; see `Model`.
    """

    def __init__(self, inner: object, identity: str) -> None:
        self._inner = inner
        self.identity: str = identity

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ForeignModel) or type(other) is not type(self):
            return False
        return other.identity == self.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({hide_keys(self.identity)!r})"

    def __deepcopy__(self, memo: dict[int, Any]) -> ForeignModel:
        return self  # clients hold connections and locks

    def __reduce__(self) -> NoReturn:
        raise ParameterError(
            f"{type(self).__name__} holds the client and key of {type(self._inner).__name__}, which must not be "
            "pickled. Build it in the process that uses it, or judge with OpenAIModel."
        )


def describe(
    family: str, layers: Sequence[object], *, name: str | None = None, skip: Collection[str] = ()
) -> str:
    """Build an identity: class, model name, address, and a digest of the parameters.

    Every attribute of plain data counts as a parameter, except those whose name says that they hold a secret or
    change no answer; so does the ``mode`` of a layer's client, which says how it asks (Instructor). An object that names no model gets a name of its own, which lasts as long as the object: two of
    them never share a judgement, nor do two processes.

    Args:
        family: What the identity starts with.
        layers: The model object, then what it wraps.
        name: The model's name, where no layer has it.
        skip: Attributes of the wrapped layers that the wrapper sets itself, for the time of a call.
    """
    parameters = [_parameters(layers[0], ())]
    parameters += [_parameters(layer, skip) for layer in layers[1:]]
    for layer in layers:
        client: Any = getattr(layer, "client", None)
        if hasattr(client, "mode"):
            parameters.append({**_parameters(client, ()), "mode": str(client.mode)})
    model = name or _find_name(layers) or unique_name(layers[-1])
    addresses = filter(None, map(_address, layers))
    kinds = ">".join(type(layer).__qualname__ for layer in layers)
    digest = hashlib.sha256(json.dumps({"parameters": parameters}, sort_keys=True).encode()).hexdigest()
    return f"{family}:{kinds}/{model}{next(addresses, '')} #{digest[:12]}"


def token_usage(counted: object, *, calls: int = 1) -> Usage:
    """Read token counts from a mapping or an object, under the names that clients give them.

    They are as they came, and may be anything: a `Run` checks them (`ctxmetrics.models.base.checked_usage`).
    """
    counts: Any = counted if isinstance(counted, dict) else getattr(counted, "__dict__", {})
    sent, received = counts.get("input_tokens"), counts.get("output_tokens")
    if sent is None:
        sent = counts.get("prompt_tokens")
    if received is None:
        received = counts.get("completion_tokens")
    return Usage(calls=calls, prompt_tokens=sent, completion_tokens=received)


def only_choice(choices: Sequence[Any], expected: int = 1) -> Any:
    """Return the first choice of an answer.

    Args:
        choices: The choices, or other alternatives.
        expected: How many the client asked for.

    Raises:
        JudgeError: There is none; or there are more than were asked for, and it is not known which one is meant.
    """
    if not choices:
        raise bad_answer("the answer holds no choices")
    if len(choices) > expected:
        raise JudgeError(
            f"the answer holds {len(choices)} choices where {expected} was asked for",
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
    counted = getattr(completion, "usage", None)
    dump: Any = getattr(counted, "model_dump", None)
    calls = getattr(message, "tool_calls", None) or ()
    arguments = "\n".join(call.function.arguments for call in calls)
    return Reply(
        content=arguments or message.content or "",
        usage=usage or token_usage(counted),
        served_model=served_name(getattr(completion, "model", None)),
        cached_tokens=count_cached(dict(dump())) if dump is not None else 0,
    )


def langchain_reply(result: Any, *, expected: int = 1) -> Reply:
    """Return the reply in an ``LLMResult`` of LangChain.

    Args:
        result: The result of one prompt.
        expected: How many choices the LLM asks for.

    Raises:
        JudgeError: It was cut off, the model declined, or it holds no choice or several.
    """
    generation = only_choice(result.generations[0], expected)
    message = getattr(generation, "message", None)
    reply = Reply(content=generation.text) if message is None else message_reply(message)
    if getattr(message, "usage_metadata", None):
        return reply
    return replace(reply, usage=token_usage((result.llm_output or {}).get("token_usage")))


def message_reply(message: Any) -> Reply:
    """Return what a chat message of LangChain says: the arguments of its tool calls, else its text.

    Several calls stand one after the other: where they differ, the judge takes neither.

    Raises:
        JudgeError: It was cut off by a length limit, or the model declined.
    """
    metadata = message.response_metadata
    reason = metadata.get("finish_reason", metadata.get("stop_reason"))
    check_finished(reason, message.additional_kwargs.get("refusal"))
    arguments = []
    for call in (*getattr(message, "tool_calls", ()), *getattr(message, "invalid_tool_calls", ())):
        args = call["args"]
        arguments.append(args if isinstance(args, str) else json.dumps(args))
    counts = getattr(message, "usage_metadata", None)
    return Reply(
        content="\n".join(arguments) or message_text(message.content),
        usage=token_usage(counts),
        served_model=served_name(metadata.get("model_name", metadata.get("model"))),
        cached_tokens=count_cached(counts or {}),
    )


def reads_failures(generate: Generate) -> Generate:
    """Decorate the ``generate`` of a model: where what it raises is about the reply, see `unread_reply`."""

    @wraps(generate)
    async def reading(*args: Any, **options: Any) -> Reply:
        try:
            return await generate(*args, **options)
        except JudgeError:
            raise
        except Exception as error:  # noqa: BLE001 - it is raised again, unless it is about the reply
            return unread_reply(error)

    return cast("Generate", reading)


def unread_reply(error: Exception) -> Reply:
    """Return the reply that a client gave up on and that its exception carries, as Instructor's and OpenAI's do.

    Raises:
        JudgeError: The reply was cut off, the model declined, or what came was no answer of the API.
        Exception: The one that was given, or what caused it: it carries no reply.
    """
    completion: Any = getattr(error, "last_completion", None) or getattr(error, "completion", None)
    if getattr(completion, "choices", None):
        counted = getattr(error, "total_usage", None) or getattr(completion, "usage", None)
        usage = token_usage(counted, calls=getattr(error, "n_attempts", 1))
        return completion_reply(completion, usage=usage)
    if type(error).__name__ == "ContentFilterFinishReasonError":  # OpenAI's; it carries nothing
        check_finished("content_filter")
    cause = error.__cause__ or error
    check_finished(None, refusal=str(cause).startswith(_REFUSAL))
    # OpenAI's client returns a body that is no chat completion as a string; what uses it expects an object with a choice.
    if (
        isinstance(cause, IndexError)
        or (isinstance(cause, AttributeError) and isinstance(cause.obj, str))
        or str(cause).startswith(WORDS["no_completion"])
    ):
        raise bad_answer("the server's answer is no chat completion") from None
    # pydantic-ai validates OpenAI's completion once more: the request was sent, and the answer is refused.
    if getattr(cause, "title", None) == "ChatCompletion":
        raise JudgeError(f"the client refused the server's answer: {safe_text(cause)}") from None
    raise cause


def _parameters(layer: object, skip: Collection[str]) -> dict[str, Any]:
    """Read the attributes of plain data that may change an answer."""
    # A pydantic object also keeps its computed values.
    declared = getattr(type(layer), "model_fields", None)
    parameters = {}
    for name, value in getattr(layer, "__dict__", {}).items():
        if name in skip or (declared is not None and name not in declared):
            continue
        if not _NO_PARAMETER.search(name) and _is_plain(value):
            parameters[name] = value
    return parameters


def _find_name(layers: Sequence[object]) -> str | None:
    """Find the model's name in the first layer that has one."""
    for layer in layers:
        for attribute in _NAMES:
            name = getattr(layer, attribute, None)
            if isinstance(name, str) and name:
                return name
    return None


def _is_plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return isinstance(value, _PLAIN)


def _address(layer: object) -> str:
    """Return where the requests go, without user names, passwords and queries."""
    client = None
    for name in _CLIENTS:
        client = getattr(layer, name, None)
        if client is not None:
            break
    for holder in (client, getattr(client, "client", None), layer):
        parts = urlsplit(str(getattr(holder, "base_url", None) or ""))
        if parts.hostname:
            return f"@{parts.netloc.rpartition('@')[2]}{parts.path}"
    return ""


def unique_name(thing: object) -> str:
    """Return a name that nothing else has, in this process or another, while the object exists."""
    if id(thing) not in _unnamed:
        weakref.finalize(thing, _unnamed.pop, id(thing), None)
        _unnamed[id(thing)] = f"unnamed-{uuid4().hex[:12]}"
    return _unnamed[id(thing)]


def has_class(value: object, name: str) -> bool:
    """Whether a value is of a class, or of a subclass of one, with this name: its library need not be imported."""
    return any(kind.__name__ == name for kind in type(value).__mro__)


def validated_texts() -> AbstractContextManager[list[str]]:
    """Collect the texts that clients validate in the block: OpenAI's client validates every choice of an answer."""
    return setting(_validated, [])


@lru_cache(maxsize=256)
def any_reply(schema: type[BaseModel]) -> type[BaseModel]:
    """Return a class to give to a client in place of a reply's schema.

    The client sends it as it would send the schema: name and JSON schema are the same, with the title and description
    that clients give to a tool. But it takes any reply, changes no value (a pydantic boolean takes "on" and 1), and
    what was validated from text keeps the text. So the judge reads what the model wrote, and a client never asks again
    on its own about a reply that does not fit.

    Args:
        schema: The schema of a reply.
    """

    class AnyReply(BaseModel, extra="allow"):
        _raw: str | None = None

        @classmethod
        def model_json_schema(cls, *args: Any, **options: Any) -> dict[str, Any]:
            sent = schema.model_json_schema(*args, **options)
            return {**sent, "title": schema.__name__, "description": "The reply."}

        @classmethod
        def model_validate_json(cls, json_data: str | bytes | bytearray, **_: Any) -> AnyReply:
            text = json_data if isinstance(json_data, str) else json_data.decode(errors="replace")
            # Its fields are for code that looks at them; there are none where the text is no JSON object.
            try:
                data = json.loads(text)
            except (ValueError, RecursionError):
                data = None
            reply = cls.model_validate(data if isinstance(data, dict) else {})
            reply._raw = text  # noqa: SLF001 - its own
            _validated.get([]).append(text)
            return reply

    fields: dict[str, Any] = dict.fromkeys(schema.model_fields, (Any, None))
    return create_model(schema.__name__, __base__=AnyReply, **fields)


def content_of(reply: Any) -> Any:
    """Return what an object of `any_reply` was made from: the text, else its fields; anything else as it is."""
    if not hasattr(type(reply), "model_validate_json"):
        return reply
    text = getattr(reply, "_raw", None)
    if text is None:
        return reply.model_dump(exclude_unset=True)
    return text
