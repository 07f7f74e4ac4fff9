"""Requests that are too long for a model: how servers say so, and the limit that they state.

Fields decide first, the text last: servers name the fault in a code or a field, and word it each in its own way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

# What servers call the fault in ``code`` or ``type``.
_CODES = frozenset(
    {
        "context_length_exceeded",  # OpenAI, Azure, Groq, OpenRouter
        "exceed_context_size_error",  # llama.cpp
        "request_too_large",  # Anthropic
        "string_above_max_length",  # OpenAI
        "3051",  # Mistral
        "max_tokens_exceeded",  # TypeSafe
    }
)
# Fields with the model's limit.
_LIMIT_FIELDS = ("n_ctx", "max_context_length", "context_length")
_TOO_LARGE = 413
# Statuses whose texts are about something else, whatever they name.
_OTHER_STATUSES = frozenset({401, 402, 403, 404})
_OVERLOAD = 429
_TOO_LARGE_FOR_MINUTE = re.compile(r"request too large|tokens must be reduced")
_TEXT = re.compile(
    r"(?:exceed|beyond|longer than|larger than|too large|maximum|only|not enough).{0,60}context.?(?:length|size|window|limit)"
    r"|context.?(?:length|size|window|limit).{0,60}(?:exceed|maximum|too (?:small|long|large)|is \d|of only \d|\(\d)"
    r"|maximum (?:prompt|model|input) length|exceed\w* (?:the )?(?:model'?s? )?token limit"
    r"|(?:prompt|input|request|message)s? (?:is|are|was) too (?:long|large)|too many (?:input )?tokens"
    r"|input token(?:s|s? count)\b.{0,40}exceed|input tokens .{0,40}cannot exceed|maximum number of (?:input )?tokens"
    r"|too many questions|questions\b.{0,80}(?:at most|maximum|exceed|limit)|(?:at most|maximum|limit).{0,40}\bquestions"
    r"|reduce the length|must have less than \d+ tokens|`inputs` tokens \+|range of input length"
)
# Where a text states the limit.
_STATED = re.compile(
    r"(?:context|prompt|model|input) length (?:is|of)(?: only)? (\d+)|context length \((\d+)|> ?(\d+) maximum"
    r"|allowed \((\d+)|with (\d+) maximum|limit of (\d+)|limit: ?(\d+)|less than (\d+) tokens|max input tokens: (\d+)"
    r"|cannot exceed (?:the total tokens limit )?(\d+)|must be <= (\d+)|length should be \[\d+ (\d+)|limit (\d+) requested"
)
# Fields of an error in which others stand.
_INNER = ("error", "Error", "detail", "body", "metadata")
_DEEPEST = 4


def is_too_long(status: int | None, text: str, details: Iterable[object] = ()) -> bool:
    """Whether a server's refusal says that the request is too long for the model.

    Args:
        status: The HTTP status, where there is one.
        text: The message.
        details: Codes and bodies that came with it. Untrusted.
    """
    fields = list(_fields(details))
    if status == _TOO_LARGE or any(_CODES & _names(field) for field in fields):
        return True
    if status in _OTHER_STATUSES or any(_is_about_reply(field) for field in fields):
        return False
    pattern = _TOO_LARGE_FOR_MINUTE if status == _OVERLOAD else _TEXT
    return pattern.search(_plain(text)) is not None


def stated_limit(text: str, details: Iterable[object] = ()) -> int | None:
    """Return the most tokens that the model takes, where the server states it."""
    for field in _fields(details):
        for name in _LIMIT_FIELDS:
            limit = field.get(name)
            if isinstance(limit, int) and not isinstance(limit, bool) and limit > 0:
                return limit
    match = _STATED.search(_plain(text))
    if match is None:
        return None
    return int(next(filter(None, match.groups()))[:12]) or None


def _plain(text: str) -> str:
    """Return a message in lower case, its numbers without commas."""
    return text.lower().replace(",", "")


def _fields(details: Iterable[object], depth: int = 0) -> Iterator[Mapping[str, object]]:
    """Yield the objects among details, and those inside them."""
    for detail in details:
        if isinstance(detail, str):
            yield {"code": detail}
        if isinstance(detail, Mapping):
            yield detail
            if depth < _DEEPEST:
                yield from _fields(
                    [detail.get(name) for name in _INNER if isinstance(detail.get(name), Mapping)],
                    depth + 1,
                )


def _names(field: Mapping[str, object]) -> set[str]:
    return {str(field.get(name)).lower() for name in ("code", "type", "Code", "error_type")}


def _is_about_reply(field: Mapping[str, object]) -> bool:
    """Whether the refused parameter is the length of the reply."""
    return field.get("param") in ("max_tokens", "max_completion_tokens")
