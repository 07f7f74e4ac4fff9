"""Makes the models of frameworks usable for `LLMJudge`: their identity, their replies and their costs.

No framework is imported here: only the attributes of its objects are read.
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

# Attributes of a model that may hold its name.
_NAME_ATTRIBUTES = ("model_name", "model", "model_id", "deployment_name", "azure_deployment")
# Attributes of a model that may hold its client.
_CLIENT_ATTRIBUTES = ("root_client", "client", "async_client")
# Names of attributes that are not a part of the identity, because they hold a secret or change no answer.
_IGNORED_ATTRIBUTES = re.compile(
    r"key|secret|passw|credential|auth|header|cookie|token$"
    r"|timeout|retr|cache|callback|verbose|client|run_config|^metadata$|^tags$",
    re.IGNORECASE,
)
# The beginning of Instructor's message if the model refuses instead of calling a tool.
_REFUSAL_PREFIX = "Unable to generate a response due to "
# The types of plain values.
_PLAIN_TYPES = (str, int, float, bool, type(None))

# The names that `unique_name` gave to objects, by their ids, while the objects exist.
_unique_names: dict[int, str] = {}
# The texts that a client validates in the current block; see `validated_texts`.
_validated: ContextVar[list[str]] = ContextVar("ctxmetrics_validated")


class ForeignModel:
    """A `Model` that wraps the model of another library.

    Two objects with the same identity are equal. Copies share the wrapped model. The object cannot be pickled.

    Args:
        inner: The other library's model.
        identity: See `Model`.

    Attributes:
        identity: A text that is part of every cache key; see `Model`.
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

    Every attribute of plain data counts as a parameter, unless its name shows that it holds a secret or changes no answer. The
    ``mode`` of a layer's client counts too: Instructor's client asks for JSON in this mode. An object without a model's name gets a
    unique name, so that no other object and no other process shares its judgements.

    Args:
        family: What the identity starts with.
        layers: The model object, then each object that it wraps.
        name: The model's name, if no layer has it.
        skip: Attributes of the wrapped layers that the wrapper sets itself, for the time of a call.
    """
    parameters = [_read_attributes(layers[0], ())]
    parameters += [_read_attributes(layer, skip) for layer in layers[1:]]
    for layer in layers:
        client: Any = getattr(layer, "client", None)
        if hasattr(client, "mode"):
            parameters.append({**_read_attributes(client, ()), "mode": str(client.mode)})
    model_name = name or _find_name(layers) or unique_name(layers[-1])
    address = ""
    for layer in layers:
        address = _find_address(layer)
        if address:
            break
    classes = ">".join(type(layer).__qualname__ for layer in layers)
    parameters_json = json.dumps({"parameters": parameters}, sort_keys=True)
    digest = hashlib.sha256(parameters_json.encode()).hexdigest()
    return f"{family}:{classes}/{model_name}{address} #{digest[:12]}"


def token_usage(counted: object, *, calls: int = 1) -> Usage:
    """Read token counts from a mapping or an object, under the names that clients give them.

    The counts are returned unchecked, and may be anything: a `Run` checks them (`ctxmetrics.models.base.checked_usage`).
    """
    counts: Any = counted if isinstance(counted, dict) else getattr(counted, "__dict__", {})
    prompt_tokens = counts.get("input_tokens")
    if prompt_tokens is None:
        prompt_tokens = counts.get("prompt_tokens")
    completion_tokens = counts.get("output_tokens")
    if completion_tokens is None:
        completion_tokens = counts.get("completion_tokens")
    return Usage(calls=calls, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens)


def only_choice(choices: Sequence[Any], expected: int = 1) -> Any:
    """Return the first choice of an answer.

    Args:
        choices: The choices, or other alternatives.
        expected: The number of choices that the client asked for.

    Raises:
        JudgeError: There is no choice; or there are more than were asked for, and it is not known which one is meant.
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
    """Return the reply in a chat completion of OpenAI's form: the arguments of its tool calls, else its text.

    Args:
        completion: The chat completion.
        usage: The calls and tokens of the completion; None takes its own counts.

    Raises:
        JudgeError: The reply was cut off, the model declined, or there is no choice, or there are several.
    """
    choice = only_choice(completion.choices)
    message = choice.message
    check_finished(choice.finish_reason, getattr(message, "refusal", None))
    counts: Any = getattr(completion, "usage", None)
    if usage is None:
        usage = token_usage(counts)
    cached_tokens = 0
    if hasattr(counts, "model_dump"):  # an object of pydantic
        cached_tokens = count_cached(dict(counts.model_dump()))
    tool_calls = getattr(message, "tool_calls", None) or ()
    arguments = "\n".join(call.function.arguments for call in tool_calls)
    return Reply(
        content=arguments or message.content or "",
        usage=usage,
        served_model=served_name(getattr(completion, "model", None)),
        cached_tokens=cached_tokens,
    )


def langchain_reply(result: Any, *, expected: int = 1) -> Reply:
    """Return the reply in an ``LLMResult`` of LangChain.

    Args:
        result: The result of one prompt.
        expected: The number of choices that the LLM asks for.

    Raises:
        JudgeError: The reply was cut off, the model declined, or there is no choice, or there are several.
    """
    generation = only_choice(result.generations[0], expected)
    message = getattr(generation, "message", None)
    reply = Reply(content=generation.text) if message is None else message_reply(message)
    message_has_counts = bool(getattr(message, "usage_metadata", None))
    if message_has_counts:
        return reply
    output = result.llm_output or {}
    return replace(reply, usage=token_usage(output.get("token_usage")))


def message_reply(message: Any) -> Reply:
    """Return the reply in a chat message of LangChain: the arguments of its tool calls, else its text.

    The arguments of several calls follow each other. If they differ, the judge uses none of them.

    Raises:
        JudgeError: A length limit cut the reply off, or the model declined.
    """
    metadata = message.response_metadata
    reason = metadata.get("finish_reason", metadata.get("stop_reason"))
    check_finished(reason, message.additional_kwargs.get("refusal"))
    calls = [*getattr(message, "tool_calls", ()), *getattr(message, "invalid_tool_calls", ())]
    arguments = []
    for call in calls:
        call_arguments = call["args"]
        is_text = isinstance(call_arguments, str)
        arguments.append(call_arguments if is_text else json.dumps(call_arguments))
    counts = getattr(message, "usage_metadata", None)
    return Reply(
        content="\n".join(arguments) or message_text(message.content),
        usage=token_usage(counts),
        served_model=served_name(metadata.get("model_name", metadata.get("model"))),
        cached_tokens=count_cached(counts or {}),
    )


def reads_failures(generate: Generate) -> Generate:
    """Decorate a model's ``generate``: if the client could not read a reply, the reply is returned all the same; see `unread_reply`."""

    @wraps(generate)
    async def generate_or_recover(*args: Any, **options: Any) -> Reply:
        try:
            return await generate(*args, **options)
        except JudgeError:
            raise
        except Exception as error:  # noqa: BLE001 - it is raised again, unless it is about the reply
            return unread_reply(error)

    return cast("Generate", generate_or_recover)


def unread_reply(error: Exception) -> Reply:
    """Return the reply that a client could not read, if the client's exception holds it (Instructor, OpenAI).

    Raises:
        JudgeError: The reply was cut off, the model declined, or the server sent no chat completion.
        Exception: The given exception, or its cause, if neither holds a reply.
    """
    completion: Any = getattr(error, "last_completion", None) or getattr(error, "completion", None)
    if getattr(completion, "choices", None):
        counted = getattr(error, "total_usage", None) or getattr(completion, "usage", None)
        usage = token_usage(counted, calls=getattr(error, "n_attempts", 1))
        return completion_reply(completion, usage=usage)
    if type(error).__name__ == "ContentFilterFinishReasonError":  # OpenAI's exception carries no reply
        check_finished("content_filter")
    cause = error.__cause__ or error
    is_refusal = str(cause).startswith(_REFUSAL_PREFIX)
    check_finished(None, refusal=is_refusal)
    # OpenAI's client returns a body that is no chat completion as a string. The framework then reads ``.choices`` of the string.
    is_text_read_as_object = isinstance(cause, AttributeError) and isinstance(cause.obj, str)
    has_no_choice = isinstance(cause, IndexError)
    if has_no_choice or is_text_read_as_object or str(cause).startswith(WORDS["no_completion"]):
        raise bad_answer("the server's answer is no chat completion") from None
    # pydantic-ai validates OpenAI's completion once more: the request was sent, and the answer is refused.
    if getattr(cause, "title", None) == "ChatCompletion":
        raise JudgeError(f"the client refused the server's answer: {safe_text(cause)}") from None
    raise cause


def _read_attributes(layer: object, skip: Collection[str]) -> dict[str, Any]:
    """Read the attributes of plain data that may change an answer."""
    # A pydantic object also keeps its computed values.
    declared_fields = getattr(type(layer), "model_fields", None)
    parameters = {}
    for name, value in getattr(layer, "__dict__", {}).items():
        is_computed = declared_fields is not None and name not in declared_fields
        if name in skip or is_computed or _IGNORED_ATTRIBUTES.search(name):
            continue
        if _is_plain_data(value):
            parameters[name] = value
    return parameters


def _find_name(layers: Sequence[object]) -> str | None:
    """Find the model's name in the first layer that has one."""
    for layer in layers:
        for attribute in _NAME_ATTRIBUTES:
            name = getattr(layer, attribute, None)
            if isinstance(name, str) and name:
                return name
    return None


def _is_plain_data(value: object) -> bool:
    """Whether a value is plain data: a text, a number, or lists and mappings of them."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain_data(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return all(_is_plain_data(item) for item in value)
    return isinstance(value, _PLAIN_TYPES)


def _find_address(layer: object) -> str:
    """Find the address of the server, without user names, passwords and queries; empty if it is not known."""
    client = None
    for name in _CLIENT_ATTRIBUTES:
        client = getattr(layer, name, None)
        if client is not None:
            break
    inner_client = getattr(client, "client", None)
    for candidate in (client, inner_client, layer):
        address = getattr(candidate, "base_url", None) or ""
        parts = urlsplit(str(address))
        if parts.hostname:
            _, _, host_and_port = parts.netloc.rpartition("@")  # without user name and password
            return f"@{host_and_port}{parts.path}"
    return ""


def unique_name(model: object) -> str:
    """Return a name that no other object has, in this process or another, as long as the object exists."""
    object_id = id(model)
    if object_id not in _unique_names:
        # Python may give the id of an object that no longer exists to another one.
        weakref.finalize(model, _unique_names.pop, object_id, None)
        _unique_names[object_id] = f"unnamed-{uuid4().hex[:12]}"
    return _unique_names[object_id]


def has_class(value: object, name: str) -> bool:
    """Tell whether the class of a value, or one of its base classes, has this name. The library of the class is not imported."""
    return any(class_.__name__ == name for class_ in type(value).__mro__)


def validated_texts() -> AbstractContextManager[list[str]]:
    """Collect the texts that a client validates inside the ``with`` block. OpenAI's client validates every choice of an answer."""
    return setting(_validated, [])


@lru_cache(maxsize=256)
def any_reply(schema: type[BaseModel]) -> type[BaseModel]:
    """Return a class that a client takes in place of a reply's schema, and that accepts any reply.

    Its name and its JSON schema are those of the schema, with the title and description that clients give to a tool, so that the
    client sends the same request. But the class refuses no reply and converts no value (a pydantic boolean accepts "on" and 1). An
    object that was validated from a text keeps the text. So the judge reads exactly what the model wrote, and a client does not
    ask again because a reply does not fit the schema.

    Args:
        schema: The schema of a reply.
    """

    class AnyReply(BaseModel, extra="allow"):
        _raw: str | None = None

        @classmethod
        def model_json_schema(cls, *args: Any, **options: Any) -> dict[str, Any]:
            json_schema = schema.model_json_schema(*args, **options)
            return {**json_schema, "title": schema.__name__, "description": "The reply."}

        @classmethod
        def model_validate_json(cls, json_data: str | bytes | bytearray, **_: Any) -> AnyReply:
            text = json_data if isinstance(json_data, str) else json_data.decode(errors="replace")
            # Some clients read the fields of the reply. A text that is no JSON object has no fields.
            try:
                data = json.loads(text)
            except (ValueError, RecursionError):
                data = None
            reply = cls.model_validate(data if isinstance(data, dict) else {})
            reply._raw = text  # noqa: SLF001 - an object of this class
            _validated.get([]).append(text)
            return reply

    fields: dict[str, Any] = dict.fromkeys(schema.model_fields, (Any, None))
    return create_model(schema.__name__, __base__=AnyReply, **fields)


def content_of(reply: Any) -> Any:
    """Return the text from which an object of `any_reply` was validated, or its fields; return any other object unchanged."""
    if not hasattr(type(reply), "model_validate_json"):
        return reply
    text = getattr(reply, "_raw", None)
    if text is None:
        return reply.model_dump(exclude_unset=True)
    return text
