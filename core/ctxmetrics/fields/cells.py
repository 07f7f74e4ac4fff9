"""Lists and objects that a file holds as text: as JSON, or as Python or numpy print them (what pandas writes)."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

_STRING = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
# What is left of a numpy array of strings when its strings are taken out.
_NUMPY = re.compile(r"\[\s*(S\s+)+S?\s*\]")
# Two strings side by side: Python would join them, whatever the writer meant.
_SIDE_BY_SIDE = re.compile(r"S\s*S")
_DEEPEST = 20


def is_list_text(value: object) -> bool:
    """Whether a value is a text that looks like a list."""
    return isinstance(value, str) and value.lstrip().startswith("[") and value.rstrip().endswith("]")


def list_in(text: str) -> list[Any] | None:
    """Return the list that a text holds, or None where it holds none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = _printed(text.strip())
    return found if isinstance(found, list) else None


def object_in(value: Any) -> Any:
    """Return the object or list that a text holds as JSON, and anything else as it is."""
    if not isinstance(value, str) or value[:1].strip() not in ("{", "["):
        return value
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return found if isinstance(found, (dict, list)) else value


def _printed(text: str) -> Any:
    """Return the list that Python or numpy printed, or None. The text is untrusted: only literals are read."""
    skeleton = _STRING.sub("S", text)
    depth = deepest = 0
    for character in skeleton:
        depth += (character in "[({") - (character in "])}")
        deepest = max(deepest, depth)
    if deepest > _DEEPEST:
        return None
    try:
        if _NUMPY.fullmatch(skeleton):
            return [ast.literal_eval(string) for string in _STRING.findall(text)]
        return None if _SIDE_BY_SIDE.search(skeleton) else ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
