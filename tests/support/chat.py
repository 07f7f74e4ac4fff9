"""The chat-completions side of the fake server: what is asked, what is answered, what OpenAI refuses."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

REASONING_MODELS = ("o1", "o3", "o4", "gpt-5")
"""Model name prefixes that take no ``temperature`` but 1 and no ``max_tokens``."""

CHAT_PATH = "/v1/chat/completions"
_SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "api-key", "x-api-key", "cookie"})


class InvalidRequestError(Exception):
    """The server answers 400; the attributes are the fields of OpenAI's error object."""

    def __init__(self, message: str, *, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChatRequest:
    """One request to ``/v1/chat/completions`` and what became of it.

    Attributes:
        index: Position in the order of arrival since the start or the last ``reset()``, from 0.
        model: The model asked for.
        messages: The messages as sent.
        system: Text of all system and developer messages, joined by a newline.
        user: Text of all user messages, joined by a newline.
        response_format: ``"json_schema"``, ``"json_object"``, ``"text"`` or ``None`` when not sent.
        schema: The JSON schema that came with ``response_format``, if any.
        tools: The tools as sent.
        tool: Name of the function the request insists on, ``None`` when text is a fine answer.
        stream: Whether the answer is wanted as server-sent events.
        body: The whole parsed request body.
        headers: Header names in lower case, without any that can hold a key.
        arrived: ``time.monotonic()`` when the request was complete.
        path: The path that was asked for.
        finished: ``time.monotonic()`` when the server was done with it; ``None`` while it is not.
        fault: Kind of the fault that was applied, ``"max_parallel"``, or ``None``.
        status: HTTP status sent; ``None`` when none was sent (yet).
    """

    index: int
    model: str
    messages: tuple[Mapping[str, Any], ...]
    system: str
    user: str
    response_format: str | None
    schema: Mapping[str, Any] | None
    tools: tuple[Mapping[str, Any], ...]
    tool: str | None
    stream: bool
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    arrived: float
    path: str = CHAT_PATH
    finished: float | None = None
    fault: str | None = None
    status: int | None = None

    @property
    def text(self) -> str:
        """Text of all messages, whoever spoke, joined by a newline."""
        return "\n".join(map(_text_of, self.messages))

    @property
    def opening(self) -> str:
        """Text of the first user message: the same when a client asks again in the same conversation."""
        users = (_text_of(message) for message in self.messages if message.get("role") == "user")
        return next(users, self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the assistant says.

    Attributes:
        content: The text; it becomes the arguments of the tool call when the request insists on one.
        refusal: Text of ``message.refusal``.
        finish_reason: OpenAI's ``finish_reason``.
        as_text: Answer in text even when the request insists on a tool call.
        no_choices: Answer with an empty list of choices.
        others: Content of further choices that nobody asked for; they stand before the one with index 0.
        usage: What stands under ``usage`` instead of the counted tokens; None leaves those.
    """

    content: str | None = None
    refusal: str | None = None
    finish_reason: str = "stop"
    as_text: bool = False
    no_choices: bool = False
    others: tuple[str, ...] = ()
    usage: Mapping[str, Any] | None = None


def parse_chat(payload: bytes, headers: Mapping[str, str], path: str = CHAT_PATH) -> ChatRequest:
    """Read the body of a chat-completions request.

    Raises:
        InvalidRequestError: It is not JSON, or has no model or no messages.
    """
    try:
        body = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise InvalidRequestError("We could not parse the JSON body of your request.") from error
    if not isinstance(body, dict):
        raise InvalidRequestError("The body of your request must be a JSON object.")
    model, messages = body.get("model"), body.get("messages")
    if not isinstance(model, str):
        raise InvalidRequestError("you must provide a model parameter", param="model")
    if not _is_list_of_objects(messages) or not messages:
        raise InvalidRequestError("Missing required parameter: 'messages'.", param="messages")
    tools = body.get("tools") or []
    if not _is_list_of_objects(tools):
        raise InvalidRequestError(
            "Invalid type for 'tools': expected an array of objects.", param="tools"
        )
    wanted = body.get("response_format")
    wanted = {} if wanted is None else wanted
    if not isinstance(wanted, dict) or (wanted and not isinstance(wanted.get("type"), str)):
        raise InvalidRequestError(
            "Missing required parameter: 'response_format.type'.", param="response_format"
        )
    json_schema = wanted.get("json_schema")
    return ChatRequest(
        index=0,
        model=model,
        messages=tuple(messages),
        system="\n".join(_text_of(m) for m in messages if m.get("role") in ("system", "developer")),
        user="\n".join(_text_of(m) for m in messages if m.get("role") == "user"),
        response_format=wanted.get("type"),
        schema=json_schema.get("schema") if isinstance(json_schema, dict) else None,
        tools=tuple(tools),
        tool=_forced_tool(tools, body.get("tool_choice")),
        stream=body.get("stream") is True,
        body=body,
        headers={name: value for name, value in headers.items() if name not in _SECRET_HEADERS},
        arrived=time.monotonic(),
        path=path,
    )


def check_supported(request: ChatRequest, supports: frozenset[str]) -> None:
    """Refuse what the played server or model cannot do.

    Raises:
        InvalidRequestError: Output form not in ``supports``; a parameter a reasoning model does not
            take; JSON mode without the word "json" in the messages; a strict schema that is not one.
    """
    kind = request.response_format
    if kind not in {None, "text"} and kind not in supports:
        raise InvalidRequestError(
            f"Invalid parameter: 'response_format' of type '{kind}' is not supported with this model.",
            param="response_format",
            code="unsupported_value",
        )
    if kind == "json_object" and "json" not in request.text.lower():
        raise InvalidRequestError(
            "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
            param="messages",
        )
    _check_strict_schema(request)
    if request.tools and "tools" not in supports:
        raise InvalidRequestError(
            "Invalid parameter: 'tools' is not supported with this model.",
            param="tools",
            code="unsupported_value",
        )
    if request.model.startswith(REASONING_MODELS):
        _check_reasoning_parameters(request.body)


def _check_strict_schema(request: ChatRequest) -> None:
    """OpenAI's rule for ``"strict": true``: every object closed, every property required."""
    if request.schema is None:
        return
    wanted = request.body["response_format"]["json_schema"]
    if wanted.get("strict") is not True:
        return
    for schema in _objects_in(request.schema):
        properties = schema.get("properties")
        if not isinstance(properties, dict):
            continue
        if schema.get("additionalProperties") is not False:
            problem = "'additionalProperties' is required to be supplied and to be false."
        elif set(schema.get("required", ())) != set(properties):
            problem = "'required' is required to be supplied and to be an array including every key in properties."
        else:
            continue
        raise InvalidRequestError(
            f"Invalid schema for response_format '{wanted.get('name')}': {problem}",
            param="response_format",
        )


def _objects_in(value: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        yield value
    children = (
        value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    )
    for child in children:
        yield from _objects_in(child)


def _check_reasoning_parameters(body: Mapping[str, Any]) -> None:
    if body.get("temperature", 1) not in (1, None):
        hint = "Only the default (1) value is supported."
        param = "temperature"
    elif body.get("max_tokens") is not None:
        hint = "Use 'max_completion_tokens' instead."
        param = "max_tokens"
    else:
        return
    raise InvalidRequestError(
        f"Unsupported parameter: '{param}' is not supported with this model. {hint}",
        param=param,
        code="unsupported_parameter",
    )


def completion(request: ChatRequest, reply: Reply, *, usage: bool) -> dict[str, Any]:
    """Give the body of a ``chat.completion`` object: tokens are counted as characters / 4, rounded up."""
    body: dict[str, Any] = {
        "id": f"chatcmpl-fake-{request.index}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": request.model,
        "choices": [] if reply.no_choices else _choices(request, reply),
    }
    if reply.usage is not None:
        body["usage"] = dict(reply.usage)
    elif usage:
        prompt = math.ceil(sum(len(_text_of(message)) for message in request.messages) / 4)
        answer = math.ceil(len(reply.content or "") / 4)
        body["usage"] = {
            "prompt_tokens": prompt,
            "completion_tokens": answer,
            "total_tokens": prompt + answer,
        }
    return body


def completion_events(body: Mapping[str, Any]) -> bytes:
    """Give a completion as server-sent events: one chunk with everything, then ``[DONE]``."""
    chunk = {
        **body,
        "object": "chat.completion.chunk",
        "choices": [_as_delta(c) for c in body["choices"]],
    }
    return f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()


def error_body(message: str, *, kind: str, param: str | None = None, code: str | None = None) -> bytes:
    """Give an error object in OpenAI's form."""
    return json.dumps(
        {"error": {"message": message, "type": kind, "param": param, "code": code}}
    ).encode()


def _choices(request: ChatRequest, reply: Reply) -> list[dict[str, Any]]:
    wanted = request.body.get("n")
    count = wanted if isinstance(wanted, int) and wanted > 1 else 1
    others = [
        _choice(request, replace(reply, content=content), number)
        for number, content in enumerate(reply.others, start=count)
    ]
    return others + [_choice(request, reply, number) for number in range(count)]


def _choice(request: ChatRequest, reply: Reply, number: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.content, "refusal": reply.refusal}
    finish = reply.finish_reason
    if request.tool is not None and reply.content is not None and not reply.as_text:
        function = {"name": request.tool, "arguments": reply.content}
        message["content"] = None
        message["tool_calls"] = [
            {"id": f"call_fake_{request.index}", "type": "function", "function": function}
        ]
        finish = "tool_calls" if finish == "stop" else finish
    return {"index": number, "message": message, "logprobs": None, "finish_reason": finish}


def _as_delta(choice: Mapping[str, Any]) -> dict[str, Any]:
    delta = dict(choice["message"])
    if "tool_calls" in delta:
        delta["tool_calls"] = [{"index": n, **call} for n, call in enumerate(delta["tool_calls"])]
    return {**{name: value for name, value in choice.items() if name != "message"}, "delta": delta}


def _forced_tool(tools: list[Mapping[str, Any]], choice: object) -> str | None:
    """Name of the function a request insists on (``tool_choice`` names it, or is "required")."""
    names = [
        str(tool["function"].get("name")) for tool in tools if isinstance(tool.get("function"), Mapping)
    ]
    if isinstance(choice, Mapping) and isinstance(choice.get("function"), Mapping):
        return str(choice["function"].get("name"))
    return names[0] if names and choice in ("required", "any") else None


def _text_of(message: Mapping[str, Any]) -> str:
    """Text of a message whose content is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(
        str(part["text"]) for part in parts if isinstance(part, Mapping) and "text" in part
    )


def _is_list_of_objects(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, Mapping) for item in value)
