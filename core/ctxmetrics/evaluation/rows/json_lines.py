"""A line of JSON: what results, baselines, labels and retrievals are written as."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from ctxmetrics._internal.patterns import compile_on_use

# What numpy's `tolist` returns for what JSON can hold. A longdouble returns itself, and a mock returns another mock.
_PLAIN_TYPES = (list, str, int, float, bool, type(None))
# Lone surrogates, which UTF-8 cannot hold, become JSON escapes.
ENCODING = ("utf-8", "backslashreplace")
# Characters that JSON allows as they are, and that terminals or readers of lines interpret.
_INVISIBLE = compile_on_use("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")

# The maximum number of digits of an integer that Python reads.
_MAX_DIGITS = 4300
_FIRST_LONG_INTEGER = 10**_MAX_DIGITS
# A longer integer, or a text of as many digits.
_MANY_DIGITS = compile_on_use(rf"\d{{{_MAX_DIGITS + 1}}}")


def json_line(data: Mapping[str, Any]) -> bytes:
    """Write one line of JSON in UTF-8, without blanks between its parts.

    - An object of a user's judge or metric that JSON cannot hold becomes a text. NaN becomes null.
    - An integer that Python cannot read again, of more than 4,300 digits, becomes a text: its digits to the base 16.
    - A lone surrogate (half of a character) becomes a JSON escape.
    - Characters that terminals or readers of lines interpret become JSON escapes, too.
    """
    encode = get_encoder()
    try:
        line = encode(data, inf_nan_mode="null", fallback=_to_plain)
        if len(line) > _MAX_DIGITS and _MANY_DIGITS.search(line.decode()):
            line = encode(_write_long_integers(data), inf_nan_mode="null", fallback=_to_plain)
    except ValueError:  # a lone surrogate, which UTF-8 cannot hold
        line = _encode_slowly(_write_long_integers(data))
    if not line.isascii() or b"\x7f" in line:
        text = line.decode()
        line = _INVISIBLE.sub(lambda match: f"\\u{ord(match.group()):04x}", text).encode()
    return line + b"\n"


def _write_long_integers(value: Any) -> Any:
    """Replace integers that Python cannot read again by texts, in lists and mappings at any depth."""
    if isinstance(value, Mapping):
        return {key: _write_long_integers(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_write_long_integers(item) for item in value]
    is_long = isinstance(value, int) and abs(value) >= _FIRST_LONG_INTEGER
    return hex(value) if is_long else value


@cache
def get_encoder() -> Callable[..., bytes]:
    """Return the function that writes data as JSON. It is loaded with the first line: most imports need none."""
    from pydantic_core import to_json

    return to_json


def _encode_slowly(data: Mapping[str, Any]) -> bytes:
    """Write JSON by the standard library, which takes half a character."""
    separators = (",", ":")
    text = json.dumps(data, ensure_ascii=False, separators=separators, default=_to_plain)
    without_nan = json.loads(text, parse_constant=lambda _: None)
    return json.dumps(without_nan, ensure_ascii=False, separators=separators).encode(*ENCODING)


def _to_plain(value: object) -> object:
    """Convert an object that JSON cannot hold: arrays and scalars of numpy to lists and numbers, others to text."""
    # An object of the user's may fail in any way, and costs no line.
    with suppress(Exception):
        plain_value = value.tolist()  # type: ignore[attr-defined]  # an object without it raises
        if isinstance(plain_value, _PLAIN_TYPES):
            return plain_value
    with suppress(Exception):
        return str(value)
    return f"<{type(value).__name__}>"
