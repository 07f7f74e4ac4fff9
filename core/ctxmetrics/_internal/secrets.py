"""Masks API keys in the texts of servers, clients and models before these are stored or shown.

Every message with such a text is made with `safe_text` or `mask_secrets`. Both know the keys of all models of the process:
`OpenAIModel` adds its key, and `remember_api_keys` finds the keys in the clients of other libraries.
"""

from __future__ import annotations

import logging
import os
import re
import traceback
from base64 import b64encode
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from html import unescape
from itertools import islice
from math import ceil
from types import FunctionType, MethodType, ModuleType

from ctxmetrics._internal.display import replace_invisible
from ctxmetrics._internal.patterns import compile_on_use

# The maximum number of characters of a message.
_MAX_MESSAGE_CHARACTERS = 300
# The maximum number of characters of an error's text that are read.
_MAX_CHARACTERS_READ = 20_000
# A text that is probably a key. Group 1 is the word before the key, which is not masked.
_KEY_PATTERN = compile_on_use(
    r"""
    (
        \b bearer \s+                                                         # Bearer abc123
      | \b basic \s+ (?=[A-Za-z0-9+/]{8})                                     # Basic dXNlcjpw
      | \b api[-_\ ]?key ['"]? \s* [:=] \s* ['"]?                             # "api_key": "abc123
      | \b authorization ['"]? \s* [:=] \s* ['"]? (?: (?:bearer|basic) \s+ )? # Authorization: Bearer abc123
    )
    [^\s'",}]+
    | \b (?:sk|pk|rk|gsk|hf|xai) [-_] [A-Za-z0-9_\-*]{6,}                     # sk-abc123
    """,
    re.IGNORECASE | re.VERBOSE,
)
# A word that can only be a key, also as a part of a model's name: it is long and has a digit, such as sk-proj-4f9a8b7c6d5e4f3a.
# The digit may stand behind a sign that is no part of a key, but not behind a blank, "/" or "@". A masked key has "*".
_LONG_KEY_PATTERN = compile_on_use(
    r"\b (?:sk|pk|rk|gsk|hf|xai) [-_] (?=[^\s/@]*\d) [A-Za-z0-9_\-*]{16,}", re.IGNORECASE | re.VERBOSE
)
# A window is a part of a key with this many characters. Every window of a key is masked in a text.
_WINDOW_LENGTH = 8
# A key that is shorter than a window is masked as a whole word, if it has at least so many characters.
_MIN_KEY_CHARACTERS = 4
# The maximum number of keys that are remembered.
_MAX_KEYS_REMEMBERED = 256
# A character as a URL, JSON, Python or HTML writes it.
_ESCAPE_PATTERN = compile_on_use(
    r"""
    %[0-9A-Fa-f]{2}                                   # %2F in a URL
    | \\u[0-9A-Fa-f]{4}                               # \u002f in JSON
    | \\x[0-9A-Fa-f]{2}                               # \x2f in Python
    | \\[!-/:-@\[-`{-~]                               # \/ in JSON: a backslash before a sign
    | &\#[0-9]{1,7};                                  # &#47; in HTML
    | &\#[xX][0-9A-Fa-f]{1,6};                        # &#x2f; in HTML
    | &(?:amp|lt|gt|quot|apos|sol|plus|equals);       # &sol; in HTML
    """,
    re.VERBOSE,
)
# The maximum number of nested escapes that are read: a JSON error inside a JSON string inside a URL has three.
_MAX_UNESCAPINGS = 3
# The name of an environment variable that holds a key: OPENAI_API_KEY, HF_TOKEN.
_KEY_VARIABLE_PATTERN = compile_on_use(
    r"(?:API_?KEY|ACCESS_?KEY(?:_ID)?|SECRET(?:_KEY)?|TOKEN|PASSWORD)$", re.IGNORECASE
)
# The name of an attribute, entry or header that holds a key: api_key, x-api-key, access_token.
_KEY_ATTRIBUTE_PATTERN = compile_on_use(
    r"""
    api[-_]?key | access[-_]?key | subscription[-_]?key | secret | passw | credential | authorization
    | (?: ^ | auth | access | session | bearer | ad | api | id | security | refresh | hf ) [-_]? token $
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Limits of the search for keys in the objects of other libraries: objects, and entries of one object.
_MAX_OBJECTS_SEARCHED = 3000
_MAX_ENTRIES_SEARCHED = 300
# How often an object is read if another thread changes it meanwhile.
_MAX_READINGS_OF_OBJECT = 3
# Types of objects in which no key is looked for.
_TYPES_WITHOUT_API_KEYS = (int, float, complex, type(None), type, ModuleType, FunctionType)

# The keys of all models of the process, the newest at the end. The key of one model may appear in a message about another model, in
# any thread.
_remembered_keys: dict[str, None] = {}


def safe_text(error: object) -> str:
    """Return one line of text without keys, at most 300 characters.

    Args:
        error: Anything; its text is untrusted.
    """
    if isinstance(error, BaseException):
        remember_api_keys(error)  # an exception may hold the request, whose headers hold the key
    else:
        _remember_environment()
    text = str(error)
    is_cut = len(text) > _MAX_CHARACTERS_READ
    line = " ".join(text[:_MAX_CHARACTERS_READ].split())
    without_keys = _KEY_PATTERN.sub(_mask_match, mask_secrets(line))
    message = replace_invisible(without_keys)
    if is_cut or len(message) > _MAX_MESSAGE_CHARACTERS:
        return f"{message[: _MAX_MESSAGE_CHARACTERS - 1]}…"
    return message


def _mask_match(match: re.Match[str]) -> str:
    """Return a match of `_KEY_PATTERN` without the key: ``Bearer [key]``."""
    word_before_key = match.group(1) or ""
    return f"{word_before_key}[key]"


def looks_like_key(text: str) -> bool:
    """Return whether a text holds a word that begins like a key, or a key that this process knows."""
    _remember_environment()
    return _KEY_PATTERN.search(text) is not None or mask_secrets(text) != text


def is_name_of_key(name: str) -> bool:
    """Return whether an attribute or entry of this name holds a key: ``api_key``."""
    return _KEY_ATTRIBUTE_PATTERN.search(name) is not None


def hide_keys(name: str) -> str:
    """Return the name of a model or judge with ``[key]`` in place of known keys, and of words that can only be keys.

    A short word that begins like a key stays: there are models with such names.
    """
    return mask_secrets(_LONG_KEY_PATTERN.sub("[key]", name))


def mask_secrets(text: str) -> str:
    """Return a text with ``[key]`` in place of every known key, and of every part of a known key.

    A part is eight or more consecutive characters of a key: unchanged, escaped for a URL, JSON or HTML, or in Base64. A key of
    fewer than eight characters is masked as a whole word, if it has a digit: local servers accept words such as ``EMPTY`` and
    ``ollama`` as keys.

    Args:
        text: Untrusted.
    """
    keys = tuple(_remembered_keys)
    if not keys:
        return text
    for key in keys:
        if len(key) < _WINDOW_LENGTH and key in text:
            text = re.sub(rf"(?<!\w){re.escape(key)}(?!\w)", "[key]", text)  # as a whole word
    windows = _cut_into_windows(frozenset(keys))
    return _mask_windows(text, windows) if windows else text


def remember_key(key: str | None) -> None:
    """Mask a key from now on in every message of this process.

    Args:
        key: The key. If more than 256 keys are remembered, the oldest one is forgotten.
    """
    if not key:
        return
    if len(key) < _WINDOW_LENGTH and not _is_short_key(key):
        return
    _remembered_keys.pop(key, None)  # so that the key is added at the end, as the newest
    _remembered_keys[key] = None
    for oldest_key in tuple(_remembered_keys)[:-_MAX_KEYS_REMEMBERED]:
        _remembered_keys.pop(oldest_key, None)


def _is_short_key(word: str) -> bool:
    """Tell whether a short word is a real key, and not a word such as ``EMPTY``, which local servers accept as a key."""
    return len(word) >= _MIN_KEY_CHARACTERS and any(character.isdigit() for character in word)


def remember_api_keys(thing: object) -> None:
    """Find the keys in an object and in the objects that it holds, and mask them from now on.

    Only stored attributes are read; no property is called. The object may be a model with its key, a wrapped client, or an exception
    that holds the headers of a request.

    Args:
        thing: A model, client, judge or exception.
    """
    _remember_environment()
    pending: deque[object] = deque([thing])
    visited: dict[int, object] = {}
    while pending and len(visited) < _MAX_OBJECTS_SEARCHED:
        owner = pending.popleft()
        if id(owner) in visited:
            continue
        # The object is kept alive: the id of a deleted object may become the id of another one.
        visited[id(owner)] = owner
        for name, value in _read_parts(owner):
            # An object of another library may raise anything, even when it is asked for its type.
            with suppress(Exception):
                if isinstance(value, _TYPES_WITHOUT_API_KEYS):
                    continue
                content, is_secret = _unwrap_secret(value)
                if isinstance(content, str):
                    if is_secret or is_name_of_key(name):
                        remember_key(_drop_scheme(content))
                elif not isinstance(content, _TYPES_WITHOUT_API_KEYS):
                    pending.append(content)


def _unwrap_secret(value: object) -> tuple[object, bool]:
    """Return the content of a value, as a string if it is bytes, and whether a type for secrets hid it."""
    get_secret = getattr(value, "get_secret_value", None)  # a method of Pydantic's types for secrets
    is_secret = callable(get_secret)
    content = get_secret() if callable(get_secret) else value
    if isinstance(content, bytes):
        content = content.decode("latin-1")
    return content, is_secret


def _drop_scheme(header: str) -> str:
    """Return the key of ``Bearer KEY``. A text of one word is the key itself."""
    words = header.split(maxsplit=1)
    return words[-1] if words else ""


def mask_logs_of(package: str) -> None:
    """Mask keys in the log records of a package: some packages log the answers of servers.

    Args:
        package: The name of the package. Only loggers that the package has already made are changed.
    """
    for name in tuple(logging.root.manager.loggerDict):
        if name == package or name.startswith(f"{package}."):
            logging.getLogger(name).addFilter(_mask_record)


def _mask_record(record: logging.LogRecord) -> bool:
    """Mask the keys in a log record. Return True, which lets the record be logged."""
    with suppress(
        TypeError, ValueError
    ):  # the arguments do not fit the message; the handler reports this
        message = record.getMessage()
        masked_message = mask_secrets(message)
        if masked_message != message:
            record.msg = masked_message
            record.args = ()  # the message already has the arguments in it
    if record.exc_info and record.exc_info[1] is not None:
        trace = "".join(traceback.format_exception(record.exc_info[1])).rstrip()
        masked_trace = mask_secrets(trace)
        if masked_trace != trace:
            record.exc_info = None  # else the handler would format the exception again, with the key
            record.exc_text = masked_trace
    return True


def _remember_environment() -> None:
    """Remember the keys in environment variables, so that they are masked."""
    for name in tuple(os.environ):
        if _KEY_VARIABLE_PATTERN.search(name):
            # Another thread may delete the variable meanwhile.
            remember_key(os.environ.get(name, "").strip())


@lru_cache(maxsize=8)
def _cut_into_windows(keys: frozenset[str]) -> frozenset[str]:
    """Return all windows of keys, and of the keys in Base64.

    In Base64, a key has three forms: after 0, 1 or 2 other characters (modulo 3). The characters at its edges also depend on the
    characters beside the key, so they are cut off.
    """
    forms = set(keys)
    for key in keys:
        for characters_before in range(3):
            content = b" " * characters_before + key.encode(errors="surrogatepass")
            encoded = b64encode(content).decode().rstrip("=")
            # A character of Base64 holds 6 bits, a character before the key 8 bits. The characters of Base64 that hold bits of
            # another character than the key's are cut off.
            start = ceil(characters_before * 8 / 6)
            standard_form = encoded[start:-1]
            url_form = standard_form.replace("+", "-").replace("/", "_")
            forms |= {standard_form, url_form}
    windows: set[str] = set()
    for form in forms:
        windows.update(
            form[start : start + _WINDOW_LENGTH] for start in range(len(form) - _WINDOW_LENGTH + 1)
        )
    return frozenset(windows)


def _mask_windows(text: str, windows: frozenset[str]) -> str:
    """Mask every part of a text that is one of the windows, before or after its escapes are replaced.

    The escapes are replaced step by step. For each character of the unescaped text, `origins` holds its position in the original
    text, because the original text is masked.
    """
    unescaped = text
    origins: Sequence[int] = range(len(text) + 1)
    masked_spans: list[tuple[int, int]] = []  # start and end in the original text
    for _ in range(_MAX_UNESCAPINGS + 1):
        masked_spans += [
            (origins[start], origins[start + _WINDOW_LENGTH])
            for start in range(len(unescaped) - _WINDOW_LENGTH + 1)
            if unescaped[start : start + _WINDOW_LENGTH] in windows
        ]
        escapes = list(_ESCAPE_PATTERN.finditer(unescaped))
        if not escapes:
            break
        new_origins: list[int] = []
        end = 0
        for escape in escapes:
            # The characters before the escape stay; the escape becomes one character.
            new_origins += [*origins[end : escape.start()], origins[escape.start()]]
            end = escape.end()
        origins = [*new_origins, *origins[end:]]
        unescaped = _ESCAPE_PATTERN.sub(_unescape, unescaped)
    return _mask_spans(text, masked_spans)


def _mask_spans(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Replace each span by ``[key]``; overlapping spans are replaced together."""
    pieces = []
    masked_until = 0
    for start, end in sorted(spans):
        if start >= masked_until:
            pieces += [text[masked_until:start], "[key]"]
        masked_until = max(masked_until, end)
    return "".join([*pieces, text[masked_until:]])


def _unescape(escape: re.Match[str]) -> str:
    """Return the one character that an escape stands for."""
    text = escape.group()
    if text[0] == "&":  # HTML: "&amp;", "&#38;"
        return unescape(text)[:1] or " "
    if text[0] == "%":  # a URL: "%2F"
        return chr(int(text[1:], 16))
    hexadecimal_digits = text[2:]  # JSON or Python: after a backslash and "u" or "x"
    if not hexadecimal_digits:  # a backslash before a sign
        return text[1]
    return chr(int(hexadecimal_digits, 16))


def _read_parts(owner: object) -> tuple[tuple[str, object], ...]:
    """Return the parts of an object; an empty tuple if they cannot be read, because a judgement must not fail here."""
    for _ in range(_MAX_READINGS_OF_OBJECT):
        with suppress(Exception):
            return tuple(_list_parts(owner))
    return ()


def _list_parts(owner: object) -> Iterator[tuple[str, object]]:
    """Yield the name and the value of each part of an object: its entries or attributes; "" for a part without a name."""
    if isinstance(owner, Mapping):
        for key, value in tuple(islice(owner.items(), _MAX_ENTRIES_SEARCHED)):
            yield (key if isinstance(key, str) else ""), value
        return
    if isinstance(owner, (list, tuple, set, frozenset, deque)):
        for value in tuple(islice(owner, _MAX_ENTRIES_SEARCHED)):
            yield "", value
        return
    if isinstance(owner, MethodType):
        yield "", owner.__self__
    if isinstance(owner, BaseException):
        yield "", (owner.__cause__, owner.__context__, owner.args)
    yield from tuple(getattr(owner, "__dict__", {}).items())
    for class_ in type(owner).__mro__:
        slots = vars(class_).get("__slots__", ())
        slot_names = {slots} if isinstance(slots, str) else set(slots)
        for name in slot_names - {"__dict__", "__weakref__"}:
            yield name, getattr(owner, name, None)
