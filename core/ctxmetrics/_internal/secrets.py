"""Keys, masked in the texts of servers, clients and models before these are stored or shown.

Every message that is made of such a text goes through `safe_text` or `masked`. Both know the keys of all models of the
process: `OpenAIModel` adds its own, `remember_api_keys_of` finds those that other libraries' clients hold.
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
from itertools import islice, repeat
from types import FunctionType, MethodType, ModuleType

from ctxmetrics._internal.display import visible

# Characters of a message.
_LONGEST = 300
# Characters of an error's text that are looked at.
_LONGEST_READ = 20_000
# Text after a word that announces a key, and text that begins as keys do.
_KEYS = re.compile(
    r"(?i)(\bbearer\s+|\bbasic\s+(?=[A-Za-z0-9+/]{8})|\bapi[-_ ]?key['\"]?\s*[:=]\s*['\"]?"
    r"|\bauthorization['\"]?\s*[:=]\s*['\"]?(?:(?:bearer|basic)\s+)?)[^\s'\",}]+"
    r"|\b(?:sk|pk|rk|gsk|hf|xai)[-_][A-Za-z0-9_\-*]{6,}"
)
_LONG_KEY = re.compile(r"(?i)\b(?:sk|pk|rk|gsk|hf|xai)[-_](?=[^\s/@]*\d)[A-Za-z0-9_\-*]{16,}")
# So many characters of a key in a row are masked.
_RUN = 8
# Characters of a key that is masked as a whole word.
_LEAST = 4
# The most keys that are remembered.
_MOST_KEYS = 256
# A character as a URL, JSON, Python or HTML writes it.
_ESCAPE = re.compile(
    r"%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\\[!-/:-@\[-`{-~]"
    r"|&#[0-9]{1,7};|&#[xX][0-9A-Fa-f]{1,6};|&(?:amp|lt|gt|quot|apos|sol|plus|equals);"
)
# How often a text may be escaped: a JSON error inside a JSON string inside a URL.
_NESTED = 3
# Environment variables that hold a key.
_VARIABLE = re.compile(
    r"(?:API_?KEY|ACCESS_?KEY(?:_ID)?|SECRET(?:_KEY)?|TOKEN|PASSWORD)$", re.IGNORECASE
)
# Attributes, entries and headers that hold a key.
_ATTRIBUTE = re.compile(
    r"api[-_]?key|access[-_]?key|subscription[-_]?key|secret|passw|credential|authorization"
    r"|(?:^|auth|access|session|bearer|ad|api|id|security|refresh|hf)[-_]?token$",
    re.IGNORECASE,
)
_MOST_OBJECTS = 3000
_MOST_ITEMS = 300
# How often an object is read again that changes while it is read.
_READINGS = 3
# Types of objects in which no key is looked for.
_OPAQUE = (int, float, complex, type(None), type, ModuleType, FunctionType)

# The keys of the process, the one remembered last at the end: a key that one model holds may come back in a message to
# another, in any thread.
_known: dict[str, None] = {}


def safe_text(error: object) -> str:
    """Return one line of text without keys, at most 300 characters.

    Args:
        error: Anything; its text is untrusted.
    """
    if isinstance(error, BaseException):
        remember_api_keys_of(error)  # some hold the request, and its headers the key
    else:
        _remember_environment()
    text = str(error)
    cut = len(text) > _LONGEST_READ
    text = masked(" ".join(text[:_LONGEST_READ].split()))
    text = visible(_KEYS.sub(lambda match: f"{match.group(1) or ''}[key]", text))
    return f"{text[: _LONGEST - 1]}…" if cut or len(text) > _LONGEST else text


def looks_like_key(text: str) -> bool:
    """Whether a text holds what begins as keys do, or a key that this process knows."""
    _remember_environment()
    return _KEYS.search(text) is not None or masked(text) != text


def names_key(name: str) -> bool:
    """Whether a name is that of an attribute or entry which holds a key."""
    return _ATTRIBUTE.search(name) is not None


def hide_keys(name: str) -> str:
    """Return the name of a model or judge with ``[key]`` in place of known keys and of what can only be one.

    A short word that begins as keys do stays: there are models with such names.
    """
    return masked(_LONG_KEY.sub("[key]", name))


def masked(text: str) -> str:
    """Return a text with ``[key]`` in place of every known key and of every part of one.

    A part is eight or more characters in a row, as they are, escaped for a URL, JSON or HTML, or in Base64. A key of
    fewer than eight characters is masked as a whole word, where it has a digit: ``EMPTY`` and ``ollama`` are words that
    local servers take for keys.

    Args:
        text: Untrusted.
    """
    keys = tuple(_known)
    for key in keys:
        if len(key) < _RUN and key in text:
            text = re.sub(rf"(?<!\w){re.escape(key)}(?!\w)", "[key]", text)
    windows = _windows(frozenset(keys)) if keys else None
    return _without(text, windows) if windows else text


def remember_key(key: str | None) -> None:
    """Mask a key from now on in every message of this process.

    Args:
        key: The key; of more than 256 the one remembered longest ago is forgotten.
    """
    if not key or (len(key) < _RUN and (len(key) < _LEAST or not any(map(str.isdigit, key)))):
        return
    _known.pop(key, None)
    _known[key] = None
    for oldest in tuple(_known)[:-_MOST_KEYS]:
        _known.pop(oldest, None)


def remember_api_keys_of(thing: object) -> None:
    """Find what an object and the objects it holds call a key, and mask it from now on.

    Attributes are read as they are stored; no property is called. A model shows its own key and those of the client
    that it wraps; a client's exception shows the headers of the request.

    Args:
        thing: A model, client, judge or exception.
    """
    _remember_environment()
    pending: deque[object] = deque([thing])
    visited: dict[int, object] = {}
    while pending and len(visited) < _MOST_OBJECTS:
        item = pending.popleft()
        if id(item) in visited:
            continue
        visited[id(item)] = item  # alive, so that its address stays its own
        for name, value in _parts_now(item):
            with suppress(Exception):  # an object of another library may raise anything
                pending.extend(_look_at(name, value))


def _look_at(name: str, value: object) -> list[object]:
    """Remember a value that is a key; return it where it is an object that may hold one."""
    if isinstance(value, _OPAQUE):
        return []
    reveal = getattr(value, "get_secret_value", None)
    secret = reveal() if callable(reveal) else value
    if isinstance(secret, bytes):
        secret = secret.decode("latin-1")
    if isinstance(secret, _OPAQUE):
        return []
    if not isinstance(secret, str):
        return [secret]
    if callable(reveal) or _ATTRIBUTE.search(name):
        words = secret.split(maxsplit=1)
        remember_key(words[-1] if words else "")  # of "Bearer KEY" the key
    return []


def mask_logs_of(package: str) -> None:
    """Mask keys in what a package logs: some log the answers of servers.

    Args:
        package: Its name; loggers that it has made until now are meant.
    """
    for name in tuple(logging.root.manager.loggerDict):
        if name == package or name.startswith(f"{package}."):
            logging.getLogger(name).addFilter(_masked_record)


def _masked_record(record: logging.LogRecord) -> bool:
    """Mask the keys in a log record; the record is always logged."""
    with suppress(TypeError, ValueError):  # its arguments do not fit; the handler says so
        text = record.getMessage()
        hidden = masked(text)
        if hidden != text:
            record.msg = hidden
            record.args = ()
    if record.exc_info and record.exc_info[1] is not None:
        text = "".join(traceback.format_exception(record.exc_info[1])).rstrip()
        hidden = masked(text)
        if hidden != text:
            record.exc_info = None
            record.exc_text = hidden
    return True


def _remember_environment() -> None:
    """Remember the keys in environment variables, so that they are masked."""
    for name in tuple(os.environ):
        if _VARIABLE.search(name):
            remember_key(os.environ.get(name, "").strip())  # another thread may take it away


@lru_cache(maxsize=8)
def _windows(keys: frozenset[str]) -> frozenset[str]:
    """Return the shortest parts of keys that are masked.

    In Base64 a key looks different after 0, 1 or 2 other characters, and its edges depend on what stands beside it.
    """
    forms = set(keys)
    for key in keys:
        for before in range(3):
            text = b64encode(b" " * before + key.encode(errors="surrogatepass")).decode().rstrip("=")
            inner = text[-(-before * 8 // 6) : -1]
            forms |= {inner, inner.replace("+", "-").replace("/", "_")}
    return frozenset(form[at : at + _RUN] for form in forms for at in range(len(form) - _RUN + 1))


def _without(text: str, windows: frozenset[str]) -> str:
    """Mask every place of a text that is one of the windows, or is when its escapes are read."""
    plain = text
    places: Sequence[int] = range(len(text) + 1)  # where each character of the plain text begins
    hidden: list[tuple[int, int]] = []
    for _ in range(_NESTED + 1):
        hidden += [
            (places[at], places[at + _RUN])
            for at in range(len(plain) - _RUN + 1)
            if plain[at : at + _RUN] in windows
        ]
        escapes = list(_ESCAPE.finditer(plain))
        if not escapes:
            break
        origins: list[int] = []  # where each character of the text with its escapes read came from
        end = 0
        for escape in escapes:
            origins += [*places[end : escape.start()], places[escape.start()]]
            end = escape.end()
        plain = _ESCAPE.sub(_meaning, plain)
        places = [*origins, *places[end:]]
    pieces = []
    end = 0
    for start, stop in sorted(hidden):
        if start >= end:
            pieces += [text[end:start], "[key]"]
        end = max(end, stop)
    return "".join([*pieces, text[end:]])


def _meaning(escape: re.Match[str]) -> str:
    """Return the one character that an escape stands for."""
    text = escape.group()
    if text[0] == "&":
        return unescape(text)[:1] or " "
    digits = text[1:] if text[0] == "%" else text[2:]
    if not digits:
        return text[1]
    return chr(int(digits, 16))


def _parts_now(item: object) -> tuple[tuple[str, object], ...]:
    """Return what an object holds; nothing where it cannot be read, because that must not cost a judgement."""
    for _ in range(_READINGS):
        with suppress(Exception):
            return tuple(_list_attributes(item))
    return ()


def _list_attributes(item: object) -> Iterator[tuple[str, object]]:
    """Yield the name and the value of each part of an object."""
    if isinstance(item, (Mapping, list, tuple, set, frozenset, deque)):
        pairs = item.items() if isinstance(item, Mapping) else zip(repeat(""), item)
        for name, value in tuple(islice(pairs, _MOST_ITEMS)):
            yield (name if isinstance(name, str) else ""), value
        return
    if isinstance(item, MethodType):
        yield "", item.__self__
    if isinstance(item, BaseException):
        yield "", (item.__cause__, item.__context__, item.args)
    yield from tuple(getattr(item, "__dict__", {}).items())
    for kind in type(item).__mro__:
        slots = vars(kind).get("__slots__", ())
        names = {slots} if isinstance(slots, str) else set(slots)
        for name in names - {"__dict__", "__weakref__"}:
            yield name, getattr(item, name, None)
