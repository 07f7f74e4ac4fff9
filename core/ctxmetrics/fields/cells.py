"""Lists and objects that a file holds as text: as JSON, or as Python or numpy print them (what pandas writes).

Of what Python prints, only literals are read, and LangChain's documents.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate
from typing import Any

from ctxmetrics.errors import SampleError

_STRING = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
# The rest of a numpy array of strings when its strings are removed.
_NUMPY = re.compile(r"\[\s*(S\s+)+S?\s*\]")
# Two strings side by side: Python would join them, whatever the writer meant.
_SIDE_BY_SIDE = re.compile(r"S\s*S")
_DEEPEST = 20
# The deepest JSON that is read: no file of samples is nested as deeply. Some Pythons read any depth,
# and fail later.
_DEEPEST_JSON = 500


def is_list_text(value: object) -> bool:
    """Whether a value is a text that looks like a list."""
    return isinstance(value, str) and value.lstrip().startswith("[") and value.rstrip().endswith("]")


def list_in(value: Any) -> list[Any] | None:
    """Return a list, or the one that a text holds; None for anything else."""
    found = object_in(value.strip()) if is_list_text(value) else value
    found = _printed(found) if is_list_text(found) else found
    return found if isinstance(found, list) else None


def object_in(value: Any) -> Any:
    """Return the object or list that a text holds as JSON, and anything else as it is, also what is nested too deeply.

    Raises:
        SampleError: A key stands twice in one object.
    """
    if not isinstance(value, str) or value[:1].strip() not in ("{", "["):
        return value
    brackets = value.count("[") + value.count("{")
    if brackets > _DEEPEST_JSON and _depth(_STRING.sub("S", value)) > _DEEPEST_JSON:
        return value
    try:
        return json.loads(value, object_pairs_hook=object_of)
    except SampleError:
        raise
    except (ValueError, RecursionError):
        return value


def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON from its keys and values.

    Raises:
        SampleError: A key stands in it twice: one of the values would be lost.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        raise SampleError(
            f"the key {doubled(key for key, _ in pairs)!r} stands twice in one JSON object. Rename one."
        )
    return found


def doubled(names: Iterable[str]) -> str:
    """Return the first name that occurs twice, shortened, or an empty text."""
    return next((name[:80] for name, count in Counter(names).items() if count > 1), "")


def _depth(skeleton: str) -> int:
    """Return how deeply brackets are nested in a text without its strings."""
    steps = ((character in "[({") - (character in "])}") for character in skeleton)
    return max(accumulate(steps, initial=0))


def _printed(text: str) -> Any:
    """Return the list that Python or numpy printed, or None. The text is untrusted: only literals are read."""
    skeleton = _STRING.sub("S", text)
    if _depth(skeleton) > _DEEPEST:
        return None
    try:
        if _NUMPY.fullmatch(skeleton):
            return [ast.literal_eval(string) for string in _STRING.findall(text)]
        if _SIDE_BY_SIDE.search(skeleton):
            return None
        calls = ast.parse(text, mode="eval").body if "Document(" in skeleton else None
        return (
            [_document(call) for call in calls.elts]
            if isinstance(calls, ast.List)
            else ast.literal_eval(text)
        )
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def _document(call: ast.expr) -> dict[str | None, Any]:
    """Return the fields of a document that Python printed: ``Document(metadata={..}, page_content='..')``."""
    if not isinstance(call, ast.Call) or call.args or getattr(call.func, "id", "") != "Document":
        raise ValueError("no document")
    return {given.arg: ast.literal_eval(given.value) for given in call.keywords}
