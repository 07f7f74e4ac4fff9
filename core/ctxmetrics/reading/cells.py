"""Lists and objects that a file holds as text: as JSON, or as Python or numpy print them (what pandas writes).

Of what Python prints, only literals are read, LangChain's documents, and arrays and scalars of numpy.
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

# One that is not closed is matched to the end, so that a text is gone through once.
_STRING = re.compile(r"""'(?:[^'\\]|\\.)*(?:'|\Z)|"(?:[^"\\]|\\.)*(?:"|\Z)""", re.DOTALL)
# The rest of a numpy array of strings when its strings are removed.
_NUMPY = re.compile(r"\s*\[\s*(S\s+)+(?:S\s*)?\]\s*")
# Two strings side by side: Python would join them, whatever the writer meant.
_SIDE_BY_SIDE = re.compile(r"S\s*S")
_DEEPEST = 20
# The deepest JSON that is read: no file of samples is nested as deeply. Some Pythons read any depth,
# and fail later.
_DEEPEST_JSON = 500
# What may be an object, a list, or a tuple of texts.
_OBJECT = re.compile(r"""\s*(?:\{.*\}|(\[.*\]|\(\s*['"].*['"]\s*(?:,\s*)?\)))\s*""", re.DOTALL)
# What numpy's own values are called where they are printed in a list.
_OF_NUMPY = re.compile(r"array|np\.\w+")


def is_list_text(value: object) -> bool:
    """Whether a value is a text that looks like a list."""
    return isinstance(value, str) and (found := _OBJECT.fullmatch(value)) is not None and bool(found[1])


def list_in(value: Any) -> list[Any] | None:
    """Return a list, or the one that a text holds; None for anything else."""
    found = object_in(value) if is_list_text(value) else value
    return found if isinstance(found, list) else None


def object_in(value: Any) -> Any:
    """Return the object or list that a text holds, and anything else as it is, also what is nested too deeply.

    Raises:
        SampleError: A key stands twice in one object.
    """
    if not isinstance(value, str) or not _OBJECT.fullmatch(value):
        return value
    if (
        value.count("[") + value.count("{") > _DEEPEST_JSON
        and _depth(_STRING.sub("S", value)) > _DEEPEST_JSON
    ):
        return value
    try:
        return json.loads(value, object_pairs_hook=object_of)
    except SampleError:
        raise
    except (ValueError, RecursionError):
        return _printed(value)


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
    return max(
        accumulate(((sign in "[({") - (sign in "])}") for sign in skeleton), initial=0),
    )


def _printed(text: str) -> Any:
    """Return the list or object that Python or numpy printed, else the text, which is untrusted: only literals are read."""
    skeleton = _STRING.sub("S", text)
    if _depth(skeleton) > _DEEPEST or (
        _SIDE_BY_SIDE.search(skeleton) and not _NUMPY.fullmatch(skeleton)
    ):
        return text
    try:
        if _NUMPY.fullmatch(skeleton):
            return [ast.literal_eval(string) for string in _STRING.findall(text)]
        found = ast.literal_eval(_Literals().visit(ast.parse(text.strip(), mode="eval")))
        return json.loads(json.dumps(found)) if isinstance(found, (list, tuple, dict)) else text
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return text


class _Literals(ast.NodeTransformer):
    """Writes what else Python prints in lists as literals: ``Document(page_content='..')``, ``np.str_('..')``, ``nan``."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = ast.unparse(node.func)
        if name == "Document" and not node.args:
            return ast.Dict(
                [ast.Constant(given.arg) for given in node.keywords],
                [given.value for given in node.keywords],
            )
        return node.args[0] if _OF_NUMPY.fullmatch(name) and len(node.args) == 1 else node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant(None) if node.id == "nan" else node
