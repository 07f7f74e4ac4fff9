"""Converts the exceptions of a model's client to errors that say whether and when to ask again, with a reason code."""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ctxmetrics._internal.secrets import safe_text
from ctxmetrics.errors import BudgetExceededError, JudgeError

# Statuses after which a request is sent again.
_RETRY_CODES = frozenset({408, 409, 425, 429})
# Statuses of a server that asks for fewer requests.
_OVERLOADED = frozenset({429, 503, 529})
# The codes of faults in the content of a reply. The connection and the server are not the cause.
CONTENT_CODES = frozenset({"invalid_reply", "refused", "truncated", "wrong_data"})
# Codes of requests that the model cannot read whole. They say nothing about the server.
SIZE_CODES = frozenset({"too_long", "truncated_prompt"})
# The verdict codes of a server that asks for fewer requests at once.
OVERLOAD_CODES = frozenset({"rate_limited", "overloaded"})
# The names and addresses of this machine.
_LOOPBACK = re.compile(r"127\.|localhost$|::1$")
# Messages of asyncio about an object of another event loop.
_ANOTHER_LOOP = re.compile(r"^Event loop is closed$|(bound|attached) to a different (event )?loop$")
# A server that asks to wait longer than this number of seconds is not asked again. Most limits are limits per minute.
LONGEST_RETRY_AFTER = 90.0


class UnsentError(JudgeError):
    """An exception that is not a network error: perhaps the request could not be built.

    Attributes:
        kind: The name of its class.
        where: The file and line that raised the exception.
    """

    def __init__(self, message: str, error: BaseException) -> None:
        super().__init__(message)
        self.kind: str = type(error).__name__
        self.where: str = ""
        frames = traceback.extract_tb(error.__traceback__)
        if frames:
            self.where = f" ({frames[-1].filename}, line {frames[-1].lineno})"


class KeptConnectionError(JudgeError):
    """A client used an old connection of an event loop that has ended. For the next request, the client opens a new connection."""


class UnreadError(JudgeError):
    """A client raised an exception, and the request may have been sent before: perhaps the client could not read the reply."""


def _read_words(use: str) -> tuple[str, ...]:
    """Return the words of servers and clients for one use: "spent", "connection"."""
    # Only a failed request needs this module.
    from ctxmetrics.models.server_words import WORDS

    return WORDS[use]


def mark_unread(problem: JudgeError, error: BaseException, *, waited: bool) -> JudgeError:
    """Replace an `UnsentError` by an `UnreadError` if a request may have been sent.

    Args:
        problem: The failure that `classify` made of the exception.
        error: The exception.
        waited: Whether the client waited for anything before it raised.
    """
    if isinstance(problem, UnsentError) and (waited or _has_response(error)):
        return UnreadError(f"{problem}{problem.where}")
    return problem


def _has_response(error: BaseException) -> bool:
    """Tell whether an exception, or a local variable of a function that it passed through, holds an HTTP response.

    The exceptions that caused it count too.
    """
    for chained_error in _chain(error):
        attributes = tuple(getattr(chained_error, "__dict__", {}).values())
        if any(map(_is_response, attributes)):
            return True
        for frame, _ in traceback.walk_tb(chained_error.__traceback__):
            if any(map(_is_response, tuple(frame.f_locals.values()))):
                return True
    return False


def _is_response(value: object) -> bool:
    """Whether a value looks like an HTTP response."""
    statuses = (read_attribute(value, "status_code"), read_attribute(value, "status"))
    has_status = any(isinstance(status, int) for status in statuses)
    return has_status and read_attribute(value, "headers") is not None


def read_attribute(holder: object, name: str) -> Any:
    """Read an attribute of another library's object; None if there is none, or if reading it raises."""
    with suppress(Exception):
        return getattr(holder, name, None)
    return None


def bad_answer(message: str) -> JudgeError:
    """Build the failure of a server whose answer holds no reply; the request is sent again."""
    return JudgeError(message, reason_code="server_error", retryable=True)


def classify(error: BaseException, seconds: float = 0.0) -> JudgeError | BudgetExceededError:
    """Turn any exception of a model's client into a `JudgeError`.

    The status code decides, if the exception or one of its causes has a status code; else the kind of the exception decides. A
    server that asks to wait longer than `LONGEST_RETRY_AFTER` has refused: it is not asked again.

    Args:
        error: The exception that was raised. It is not changed. Keys in its text are masked.
        seconds: The time that the request was given, for the message; 0 if it is not known.

    Returns:
        A new error. If the exception or one of its causes is a `BudgetExceededError`, or an unchanged object of a class derived
        from `JudgeError`, this object itself is returned.
    """
    # An error of `asyncio.timeout` has no text of its own.
    if seconds and isinstance(error, TimeoutError) and not str(error):
        return JudgeError(f"no answer within {seconds:g} s", reason_code="timeout", retryable=True)
    failure = _find_failure(error)
    if isinstance(failure, BudgetExceededError):
        return failure
    retryable = failure.retryable
    # If a server is overloaded, it helps to ask again later, although the client itself has already asked again.
    if failure.reason_code not in OVERLOAD_CODES and _is_final(error):
        retryable = False
    wait = failure.retry_after
    # A user's model may set the wait to anything, also to NaN.
    if not isinstance(wait, (int, float)) or not wait >= 0:
        wait = None
    message = ""
    if retryable and wait is not None and wait > LONGEST_RETRY_AFTER:
        retryable = False
        message = (
            f"the server asks to wait {min(wait, 1e9):.0f} s, which is longer than {LONGEST_RETRY_AFTER:.0f} s: "
            f"{failure}"
        )
    is_changed = message or retryable != failure.retryable or wait != failure.retry_after
    # An object of a derived class holds more than the attributes that are copied below.
    if type(failure) is not JudgeError and not is_changed:
        return failure
    # A user's model may raise one object several times, and the run writes the cost of each request into its error.
    copied = JudgeError(
        message or str(failure),
        reason_code=failure.reason_code,
        retryable=retryable,
        retry_after=wait,
        status=failure.status,
        usage=failure.usage,
        limit=failure.limit,
    )
    copied.lost = failure.lost
    return copied


def _find_failure(error: BaseException) -> JudgeError | BudgetExceededError:
    """Turn an exception into a failure by its status, its kind or its text, in this order."""
    chain = _chain(error)
    for link in chain:
        if isinstance(link, (JudgeError, BudgetExceededError)):
            return link
    text = safe_text(error)
    message = f"{type(error).__name__}: {text}" if text else type(error).__name__
    for link in chain:
        if _lost_connection(link):
            return JudgeError(
                f"Connection error: {safe_text(link)}", reason_code="connection_error", retryable=True
            )
    for link in chain:
        status = _find_status(link)
        if status is not None:
            return from_status(
                status,
                message,
                retry_after=_find_retry_after(chain),
                code=read_attribute(link, "code"),
                details=_list_details(link),
            )
    codes = list(filter(None, map(_find_code_of_class, chain)))
    if codes:
        return JudgeError(message, reason_code=codes[0], retryable=True)
    # Clients of some providers raise an error without a status.
    details: list[object] = []
    for link in chain:
        details += _list_details(link)
    return _find_overflow(None, text, details, message) or UnsentError(message, error)


def _list_details(error: BaseException) -> list[object]:
    """List the parts of a server's error that a client's exception holds: bodies, codes and the name of a parameter."""
    names = ("body", "response", "details", "code", "type")
    details = [read_attribute(error, name) for name in names]
    return [*details, {"param": read_attribute(error, "param")}]


def mark_kept_connection(problem: JudgeError, error: BaseException) -> JudgeError:
    """Replace a failure by a `KeptConnectionError` if its exception, or one of its causes, is about another event loop.

    Args:
        problem: The failure that `classify` made of the exception.
        error: The exception.
    """
    if not any(map(_names_another_loop, _chain(error))):
        return problem
    return KeptConnectionError(f"{problem}", reason_code="connection_error", retryable=True)


def _names_another_loop(error: BaseException) -> bool:
    """Whether an exception is the one that asyncio raises about an object of another event loop."""
    return isinstance(error, RuntimeError) and _ANOTHER_LOOP.search(str(error)) is not None


def retry_after_too_long(error: JudgeError) -> bool:
    """Whether the server asked to wait longer than `LONGEST_RETRY_AFTER`."""
    return error.retry_after is not None and error.retry_after > LONGEST_RETRY_AFTER


def _chain(error: BaseException) -> list[BaseException]:
    """List an exception, the exceptions that caused it, and the exceptions that a retry library wrapped in it."""
    chain: list[BaseException] = []
    pending: list[Any] = [error]
    while pending and len(chain) < 10:  # noqa: PLR2004 - deeper than any client nests
        link = pending.pop(0)
        if not isinstance(link, BaseException) or link in chain:
            continue
        chain.append(link)
        pending += [link.__cause__, link.__context__]
        pending += link.exceptions if isinstance(link, BaseExceptionGroup) else ()
        last_attempt = read_attribute(link, "last_attempt")
        with suppress(Exception):  # the attempt has no exception, or another library's method raised
            is_error = isinstance(last_attempt, BaseException)
            pending.append(last_attempt if is_error else last_attempt.exception())
    return chain


def _is_final(error: BaseException) -> bool:
    """Tell whether it cannot help to ask again: no server runs on this machine, or the client itself has already asked again."""
    is_this_machine = False
    is_refused = False
    was_retried = False
    for link in _chain(error):
        if isinstance(link, ConnectionRefusedError):
            is_refused = True
        request = read_attribute(link, "request")  # errors of httpx have it
        host = read_attribute(read_attribute(request, "url"), "host")
        if isinstance(host, str) and _LOOPBACK.match(host):
            is_this_machine = True
        if _read_header(request, "x-stainless-retry-count") not in (None, "0"):
            was_retried = True
        attempt = read_attribute(link, "last_attempt")  # errors of tenacity have it
        attempt_number = read_attribute(attempt, "attempt_number")
        if isinstance(attempt_number, int) and attempt_number > 1:
            was_retried = True
    return was_retried or (is_refused and is_this_machine)


def _find_status(error: BaseException) -> int | None:
    """Find the HTTP status in an exception or its response; None without one."""
    response = read_attribute(error, "response")
    if isinstance(response, dict):
        metadata = response.get("ResponseMetadata")  # botocore
        if isinstance(metadata, dict):
            status = metadata.get("HTTPStatusCode")
            return status if isinstance(status, int) else None
    for holder in (error, response):
        for name in ("status_code", "status", "http_status", "code"):
            value = read_attribute(holder, name)
            if isinstance(value, int) and 100 <= value < 600:  # noqa: PLR2004 - HTTP
                return value
    return None


def from_status(
    status: int,
    message: str,
    *,
    retry_after: float | None = None,
    code: object = None,
    details: Sequence[object] = (),
) -> JudgeError:
    """Build the error for an HTTP status.

    Args:
        status: The status.
        message: A description of the failure, without keys.
        retry_after: The number of seconds that the server asked to wait.
        code: The server's name for the error.
        details: What else the server says: codes and bodies.
    """
    if status >= 400:  # noqa: PLR2004 - HTTP
        overflow = _find_overflow(status, message, details, message)
        if overflow is not None:
            return overflow
    reason = "client_error"
    is_quota_spent = isinstance(code, str) and code in _read_words("spent")
    # A status below 300 means success: then the client could not read the body of the reply.
    is_server_fault = status in _RETRY_CODES or not 300 <= status < 500  # noqa: PLR2004 - HTTP
    if status in _OVERLOADED and not is_quota_spent:
        reason = "rate_limited" if status == 429 else "overloaded"  # noqa: PLR2004 - HTTP
    elif is_server_fault and not is_quota_spent:
        reason = "server_error"
    elif status < 400:  # noqa: PLR2004 - HTTP
        message = f"the server redirects ({status}), and redirects are not followed; give the final address as base_url"
    retryable = reason != "client_error"
    return JudgeError(
        message,
        reason_code=reason,
        retryable=retryable,
        retry_after=retry_after if retryable else None,
        status=status,
    )


def _find_overflow(
    status: int | None, text: str, details: Sequence[object], message: str
) -> JudgeError | None:
    """Build the failure of a request with more tokens than the model takes; None for any other failure."""
    # Most runs have no failure, and do not need this module.
    from ctxmetrics.models.runtime.context_overflow import is_too_long, stated_limit

    if not is_too_long(status, text, details):
        return None
    limit = stated_limit(text, details)
    return JudgeError(message, reason_code="too_long", status=status, limit=limit)


def _find_retry_after(chain: Sequence[BaseException]) -> float | None:
    """Find how many seconds the server asks to wait, in an exception or its causes; None if the server does not say."""
    for link in chain:
        for holder in (read_attribute(link, "response"), link):
            for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
                seconds = _read_seconds(_read_header(holder, name))
                if seconds is not None and seconds >= 0:
                    return seconds * scale
    return None


def _read_header(message: object, name: str) -> object:
    """Read a header of another library's request, response or exception; None if there is none."""
    with suppress(Exception):
        return read_attribute(message, "headers").get(name)
    return None


def _read_seconds(text: object) -> float | None:
    """Read a number of seconds, or the seconds until a date; None for any other text."""
    from email.utils import parsedate_to_datetime

    with suppress(TypeError, ValueError, OverflowError):
        return float(text)  # type: ignore[arg-type]  # anything but a number raises
    with suppress(TypeError, ValueError, OverflowError):
        return parsedate_to_datetime(str(text)).timestamp() - time.time()
    return None


def _lost_connection(error: BaseException) -> bool:
    """Tell whether an exception is aiohttp's error about a failed connection, or about a reply that is no HTTP.

    This is checked before the status and the class, because errors of aiohttp's parser have the status code 400.
    """
    names = {kind.__name__ for kind in type(error).__mro__}
    is_timeout = any("Timeout" in name for name in names)
    return not is_timeout and not names.isdisjoint(_read_words("lost_connection"))


def _find_code_of_class(error: BaseException) -> str | None:
    """Return the reason code for the class of an exception; None for an unknown class."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, TimeoutError) or any("Timeout" in name for name in names):
        return "timeout"
    is_connection_error = not names.isdisjoint(_read_words("connection"))
    if isinstance(error, (ConnectionError, EOFError)) or is_connection_error:
        return "connection_error"
    if _names_another_loop(error):
        return "connection_error"
    if "JSONDecodeError" in names or "APIResponseValidationError" in names:
        return "server_error"
    if any("RateLimit" in name for name in names):
        return "rate_limited"
    return None
