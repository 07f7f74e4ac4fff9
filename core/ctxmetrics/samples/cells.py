"""Reads lists and objects that a file holds as text: JSON, or what Python or numpy print (pandas writes such files).

Printed Python is read if it holds only literals, documents of LangChain, and arrays and scalars of numpy.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from ctxmetrics._internal.patterns import compile_on_use
from ctxmetrics.errors import SampleError

# A string in quotation marks. A string without an end is matched to the end of the text, so that the text is read once.
_STRING = compile_on_use(r"""'(?:[^'\\]|\\.)*(?:'|\Z)|"(?:[^"\\]|\\.)*(?:"|\Z)""", re.DOTALL)
# A numpy array of strings, with an S in the place of each string: [S S].
_NUMPY_ARRAY = compile_on_use(r"\s*\[\s*(S\s+)+(?:S\s*)?\]\s*")
# Two strings side by side: Python would join them, whatever the writer meant.
_SIDE_BY_SIDE = compile_on_use(r"S\s*S")
# How deep lists and objects in a text may be nested.
_MAX_DEPTH = 20
# The maximum number of attempts to parse one text: see `_parse`.
_MAX_PARSES = 100
# The maximum depth of JSON. No file of samples is nested as deeply. Some versions of Python read any depth and fail later.
_MAX_JSON_DEPTH = 500
# A string in single or double quotation marks, with the blanks around it.
_QUOTED = r"""\s*(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*"""
# A text that may hold a list (group 1) or an object.
_OBJECT = compile_on_use(
    rf"""
    \s*(?:
        (
            \[.*\]                                                # ["a", "b"]
            |\[\s*["'{{].*                                        # ["a", "b        a list that is cut off
            |"\s*\[.*\]\s*"                                       # "[\"a\"]"       JSON in a JSON string
            |[\w.]+\(\[.*\](?:,\s*\w+=\S+)?\)                     # array(['a'], dtype=object)
            |(?:c|list)?\({_QUOTED}(?:,(?:.*['"](?:\s*,)?)?\s*)?\)  # ('a', 'b'); in R c("a", "b")
            |\{{{_QUOTED}(?:,.*)?\}}                              # {{"a","b"}}    an array of PostgreSQL, or a set
            |\[1\](?:\s+"[^"]*"){{2,}}                            # [1] "a" "b"     as R prints it
            |<(?:pyarrow\.|[\w.]+[ ]object\b).*>                  # <pyarrow.lib.ListArray object at 0x7f>
            |shape:[ ]\(\d+,\)\s.*                                # shape: (2,) ..  a series of Polars
            |0\s{{2,}}\S.*\ndtype:[ ]\w+                          # 0   a ..        a series of pandas
        )
        |\{{.*\}}                                                 # {{"a": 1}}
    )\s*
    """,
    re.DOTALL | re.VERBOSE,
)
# An array of PostgreSQL; a set that Python prints has no order.
_ARRAY = compile_on_use(r"""\s*\{(\s*"(?:[^"\\]|\\.)*"\s*(?:,.*)?)\}\s*""", re.DOTALL)
# Names that are printed as a call around one argument: values of numpy, and collections of Python.
_WRAPPERS = compile_on_use(r"(?:numpy\.)?array|np\.\w+|deque|dict_values|dict_keys")


def is_list_text(value: object) -> bool:
    """Whether a value is a text that looks like a list."""
    if not isinstance(value, str):
        return False
    match = _OBJECT.fullmatch(value)
    return match is not None and bool(match[1])


def list_in(value: Any) -> list[Any] | None:
    """Return a value that is a list, or the list that a text holds; None for any other value."""
    if is_list_text(value):
        value = object_in(value)
    return value if isinstance(value, list) else None


def object_in(value: Any) -> Any:
    """Decode a text that holds an object or a list.

    Any other value is returned unchanged. So is a text whose brackets are nested too deeply.

    Raises:
        SampleError: A key stands twice in one object.
    """
    if not isinstance(value, str):
        return value
    # Nearly all lists are in brackets. This check is three times as fast as `_OBJECT`.
    is_in_brackets = value.startswith("[") and value.endswith("]")
    if not is_in_brackets and not _OBJECT.fullmatch(value):
        return value
    may_be_deep = value.count("[") + value.count("{") > _MAX_JSON_DEPTH
    if may_be_deep and _measure_depth(_STRING.sub("S", value)) > _MAX_JSON_DEPTH:
        return value
    array = _ARRAY.fullmatch(value) if "{" in value else None
    try:
        decoded = _decode(f"[{array[1]}]" if array else value)
        # JSON may hold a text of JSON.
        return object_in(decoded) if isinstance(decoded, str) else decoded
    except SampleError:
        raise
    except (ValueError, RecursionError):
        return _read_printed(value)


def read_cells(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with the objects and lists that its texts hold."""
    return {key: object_in(value) for key, value in row.items()}


def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a JSON object from its keys and values; refuse doubled keys, since one value would be lost.

    Raises:
        SampleError: A key stands twice.
    """
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        key = find_doubled(key for key, _ in pairs)
        raise SampleError(f"the key {key!r} stands twice in one JSON object.", "Rename one.")
    return mapping


_decode: Callable[[str], Any] = json.JSONDecoder(object_pairs_hook=object_of).decode


def find_doubled(names: Iterable[str]) -> str:
    """Return the first name that occurs twice, shortened, or an empty text."""
    for name, count in Counter(names).items():
        if count > 1:
            return name[:80]
    return ""


def _measure_depth(skeleton: str) -> int:
    """Return how deeply brackets are nested in a text without its strings."""
    depth = 0
    deepest = 0
    for character in skeleton:
        if character in "[({":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "])}":
            depth -= 1
    return deepest


def _read_printed(text: str) -> Any:
    """Return the list or object that Python or numpy printed; else the text itself.

    The text is untrusted: only literals are read, and nothing in it is called.
    """
    skeleton = _STRING.sub("S", text)  # the text with an S in the place of each string
    is_numpy_array = _NUMPY_ARRAY.fullmatch(skeleton) is not None  # ['a' 'b'], without commas
    # Python joins two strings without a comma between them, so that a list of Python would have too few items.
    would_join_strings = not is_numpy_array and _SIDE_BY_SIDE.search(skeleton)
    if would_join_strings or _measure_depth(skeleton) > _MAX_DEPTH:
        return text
    try:
        if is_numpy_array:
            return [ast.literal_eval(_parse(string)) for string in _STRING.findall(text)]
        tree = _parse(text.strip())
        literal = _ReplaceByLiterals().visit(tree)  # [np.str_('a')] becomes ['a']
        value = ast.literal_eval(literal)
        if not isinstance(value, (list, tuple, dict)):
            return text
        # The way through JSON makes lists of tuples. It fails for sets and bytes.
        return json.loads(json.dumps(value))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return text


def _parse(text: str) -> ast.Expression:
    """Parse one expression.

    Python before 3.11.8 may raise ``SystemError`` for valid text if another thread or the garbage collector parses at the same
    time, because they share a counter. Then the text is parsed again.
    """
    for _ in range(_MAX_PARSES - 1):
        with suppress(SystemError):
            return ast.parse(text, mode="eval")
    return ast.parse(text, mode="eval")


class _ReplaceByLiterals(ast.NodeTransformer):
    """Replaces other printed values by literals: ``Document(page_content='..')``, ``np.str_('..')``, ``nan``."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = ast.unparse(node.func)
        if name == "Document" and not node.args:
            keys: list[ast.expr | None] = [ast.Constant(keyword.arg) for keyword in node.keywords]
            return ast.Dict(keys, [keyword.value for keyword in node.keywords])
        if _WRAPPERS.fullmatch(name) and len(node.args) == 1:
            return node.args[0]
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant(None) if node.id == "nan" else node
