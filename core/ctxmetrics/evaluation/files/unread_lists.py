"""Lists of passages in the first rows that are read as no field, and may be what was retrieved."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ctxmetrics.evaluation.files.field_locations import (
    find_all_locations,
    get_first_locations,
    without_paths,
)
from ctxmetrics.evaluation.files.formats import NAMES_OF_NOT_RETRIEVED, SEARCH_RESULT_NAMES
from ctxmetrics.evaluation.files.row_decisions import Reading
from ctxmetrics.samples.cells import list_in
from ctxmetrics.samples.documents import are_messages, as_list, join_parts, leaves, look_up, text_of
from ctxmetrics.samples.schema import OPTIONS, TEXTS

# The maximum depth at which lists of texts are searched in a row.
_MAX_DEPTH = 5
# Names of a question.
_QUESTION_NAMES = re.compile(
    "question|quer(?:y|ies)|prompt|input_?record|user_?input|instruction|histor", re.IGNORECASE
)
# Names of lists of the parts of an answer.
_ANSWER_NAMES = re.compile(
    r"(?:response|output|repl(?:y|ies)|completion|message|content|parts|summary|generations?)(?:\[\w*\])?$",
    re.IGNORECASE,
)


def find_unread_passages(reading: Reading, parsed_row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the paths of lists of passages that no field reads and that may be the retrieved contexts."""
    first_locations = get_first_locations(find_all_locations(reading, parsed_row))
    read_paths = set(reading.columns)
    for name in OPTIONS:
        if name in first_locations:
            read_paths.add(first_locations[name][0])
    paths: list[str] = []
    for path, value in leaves(without_paths(parsed_row, read_paths), _MAX_DEPTH):
        if are_passages(value):
            paths.append(path)
        else:
            paths += _find_inner_passages(path, value)
    texts_of_row: set[str] = set()
    for name, (_, value) in first_locations.items():
        if name in TEXTS and isinstance(value, str):
            texts_of_row.add(value)
    return tuple(
        path for path in paths if _may_be_retrieved(path, look_up(parsed_row, path), texts_of_row)
    )


def _find_inner_passages(path: str, value: Any) -> list[str]:
    """Return the paths of passages inside the items of a list.

    The items are objects that are no documents, or lists: the rows of a database.
    """
    items = list_in(value)
    if not items:
        return []
    first_item = items[0]
    if isinstance(first_item, list):
        cells = [(f"[{place}]", cell) for place, cell in enumerate(first_item)]
    elif hasattr(first_item, "items") and not are_messages(items):
        cells = [(f".{key}", cell) for key, cell in leaves(first_item, _MAX_DEPTH)]
    else:
        return []
    paths: list[str] = []
    for key, cell in cells:
        if SEARCH_RESULT_NAMES.search(path) and is_passage(cell):
            paths.append(f"{path}[]{key}")
        elif hasattr(first_item, "items") and are_passages(cell):
            paths.append(f"{path}[]{key}[]")
    return paths


def _may_be_retrieved(path: str, value: Any, texts_of_row: set[str]) -> bool:
    """Tell whether the value at a path may be the retrieved contexts. A question, an answer and expected items are none.

    Args:
        path: The path.
        value: The value.
        texts_of_row: The question, the answers and the reference of the row.
    """
    if NAMES_OF_NOT_RETRIEVED.search(path) or _QUESTION_NAMES.search(path):
        return False
    if _ANSWER_NAMES.search(path) and join_parts(value) is not None:
        return False
    texts = set(map(text_of, as_list(value) or ()))
    return not texts <= texts_of_row


def are_passages(value: Any) -> bool:
    """Tell whether a value is a list of documents, or of texts of several words."""
    items = value if isinstance(value, tuple) else list_in(value) or ()
    return bool(items) and not are_messages(items) and all(is_passage(item) for item in items)


def is_passage(item: Any) -> bool:
    """Tell whether an item has a text of several words, or a text in a script that is not Latin."""
    text = text_of(item)
    return isinstance(text, str) and (" " in text.strip() or not text.isascii())
