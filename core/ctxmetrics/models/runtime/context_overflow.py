"""Requests that are too long for a model: how servers say so, and the limit that they state.

Fields decide first, the text last: servers name the fault in a code or a field, and word it each in its own way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ctxmetrics.models.server_words import PATTERNS, WORDS

# The status of a request that is too large.
_TOO_LARGE = 413
# Statuses whose texts are about something else, whatever they name.
_OTHER_STATUSES = frozenset({401, 402, 403, 404})
# The status of a server that asks for fewer requests.
_OVERLOAD = 429
# How deep fields of an error may stand in others.
_DEEPEST = 4


def is_too_long(status: int | None, text: str, details: Iterable[object] = ()) -> bool:
    """Whether a server's refusal says that the request is too long for the model.

    Args:
        status: The HTTP status, where there is one.
        text: The message.
        details: Codes and bodies that came with it. Untrusted.
    """
    fields = list(_fields(details))
    names_it = any(_error_names(field).intersection(WORDS["too_long_codes"]) for field in fields)
    if status == _TOO_LARGE or names_it:
        return True
    about_reply = any(field.get("param") in WORDS["reply_bounds"] for field in fields)
    if status in _OTHER_STATUSES or about_reply:
        return False
    name = "too_long_for_minute" if status == _OVERLOAD else "too_long"
    return PATTERNS[name].search(_simplify_message(text)) is not None


def stated_limit(text: str, details: Iterable[object] = ()) -> int | None:
    """Return the most tokens that the model takes, where the server states it."""
    for field in _fields(details):
        for name in WORDS["limit_fields"]:
            limit = field.get(name)
            if isinstance(limit, int) and not isinstance(limit, bool) and limit > 0:
                return limit
    match = PATTERNS["limit"].search(_simplify_message(text))
    if match is None:
        return None
    return int(next(filter(None, match.groups()))[:12]) or None


def _simplify_message(text: str) -> str:
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
                inner = [detail.get(name) for name in WORDS["inner_fields"]]
                objects = [item for item in inner if isinstance(item, Mapping)]
                yield from _fields(objects, depth + 1)


def _error_names(field: Mapping[str, object]) -> set[str]:
    """Return the codes and types under which a server's error names itself."""
    return {str(field.get(name)).lower() for name in ("code", "type", "Code", "error_type")}
