"""Recognises the refusal of a request that is too long for a model, and reads the limit that the server states.

The codes and fields of the answer are checked first. Only if they do not decide, its text is matched, because each server has
other words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ctxmetrics.models.server_words import PATTERNS, WORDS

# The status of a request that is too large.
_TOO_LARGE_STATUS = 413
# Statuses that are never about the length of a request.
_OTHER_STATUSES = frozenset({401, 402, 403, 404})
# The status of a server that asks for fewer requests.
_OVERLOAD_STATUS = 429
# How deeply the objects of an error may be nested.
_MAX_DEPTH = 4


def is_too_long(status: int | None, text: str, details: Iterable[object] = ()) -> bool:
    """Whether a server's refusal says that the request is too long for the model.

    Args:
        status: The HTTP status, if there is one.
        text: The message.
        details: Codes and bodies that came with it. Untrusted.
    """
    error_objects = list(_list_objects(details))
    has_code = any(
        _error_names(error_object).intersection(WORDS["too_long_codes"])
        for error_object in error_objects
    )
    if status == _TOO_LARGE_STATUS or has_code:
        return True
    is_about_reply = any(
        error_object.get("param") in WORDS["reply_bounds"] for error_object in error_objects
    )
    if status in _OTHER_STATUSES or is_about_reply:
        return False
    pattern_name = "too_long_for_minute" if status == _OVERLOAD_STATUS else "too_long"
    return PATTERNS[pattern_name].search(_simplify_message(text)) is not None


def stated_limit(text: str, details: Iterable[object] = ()) -> int | None:
    """Return the maximum number of tokens of the model, if the server states it; else None."""
    for error_object in _list_objects(details):
        for name in WORDS["limit_fields"]:
            limit = error_object.get(name)
            if isinstance(limit, int) and not isinstance(limit, bool) and limit > 0:
                return limit
    match = PATTERNS["limit"].search(_simplify_message(text))
    if match is None:
        return None
    # Each alternative of the pattern has one group. Only the group of the alternative that matched is not empty.
    digits = next(group for group in match.groups() if group)
    limit_in_text = int(digits[:12])
    return limit_in_text if limit_in_text > 0 else None


def _simplify_message(text: str) -> str:
    """Return a message in lower case, its numbers without commas."""
    return text.lower().replace(",", "")


def _list_objects(details: Iterable[object], depth: int = 0) -> Iterator[Mapping[str, object]]:
    """Yield the objects among details, and those inside them."""
    for detail in details:
        if isinstance(detail, str):
            yield {"code": detail}
        if isinstance(detail, Mapping):
            yield detail
            if depth < _MAX_DEPTH:
                inner_values = [detail.get(name) for name in WORDS["inner_fields"]]
                inner_objects = [value for value in inner_values if isinstance(value, Mapping)]
                yield from _list_objects(inner_objects, depth + 1)


def _error_names(error_object: Mapping[str, object]) -> set[str]:
    """Return the code and the type of a server's error, in lower case."""
    return {str(error_object.get(name)).lower() for name in ("code", "type", "Code", "error_type")}
