"""Lists of passages in the first rows that are read as no field, and may be what was retrieved."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from ctxmetrics.evaluation.files.formats import NAMES_OF_NOT_RETRIEVED, SEARCH_RESULT_NAMES
from ctxmetrics.samples.cells import list_in
from ctxmetrics.samples.documents import are_messages, as_list, join_parts, leaves, look_up, text_of

# The maximum depth at which lists of texts are searched in a row.
MAX_DEPTH = 5
# Names of a question.
QUESTION_NAMES = re.compile(
    "question|quer(?:y|ies)|prompt|input_?record|user_?input|instruction|histor", re.IGNORECASE
)
# Names of lists of messages: what a message holds is no list of passages.
_MESSAGES_NAME = re.compile(r"(?:^|\.)messages$", re.IGNORECASE)
# Names of lists of the parts of an answer.
_ANSWER_NAMES = re.compile(
    r"(?:response|output|repl(?:y|ies)|completion|message|content|parts|summary|generations?)(?:\[\w*\])?$",
    re.IGNORECASE,
)


def find_unread_passages(
    parsed_row: Mapping[str, Any], unread_row: Mapping[str, Any], texts_of_row: Collection[str]
) -> tuple[str, ...]:
    """Return the paths of lists of passages that no field reads and that may be the retrieved contexts.

    Args:
        parsed_row: The first rows as one.
        unread_row: The same without the paths of fields.
        texts_of_row: The question, the answers and the reference of the row.
    """
    paths: list[str] = []
    for path, value in leaves(unread_row, MAX_DEPTH):
        if are_passages(value):
            paths.append(path)
        else:
            paths += _find_inner_passages(path, value)
    return tuple(
        path for path in paths if _may_be_retrieved(path, look_up(parsed_row, path), texts_of_row)
    )


def _find_inner_passages(path: str, value: Any) -> list[str]:
    """Return the paths of passages inside the items of a list.

    The items are objects that are no documents, or lists: the rows of a database.
    """
    items = list_in(value)
    if not items or _MESSAGES_NAME.search(path):
        return []
    first_item = items[0]
    if isinstance(first_item, list):
        cells = [(f"[{place}]", cell) for place, cell in enumerate(first_item)]
    elif hasattr(first_item, "items") and not are_messages(items):
        cells = [(f".{key}", cell) for key, cell in leaves(first_item, MAX_DEPTH)]
    else:
        return []
    paths: list[str] = []
    for key, cell in cells:
        if SEARCH_RESULT_NAMES.search(path) and is_passage(cell):
            paths.append(f"{path}[]{key}")
        elif hasattr(first_item, "items") and are_passages(cell):
            paths.append(f"{path}[]{key}[]")
    return paths


def _may_be_retrieved(path: str, value: Any, texts_of_row: Collection[str]) -> bool:
    """Tell whether the value at a path may be the retrieved contexts. A question, an answer and expected items are none.

    Args:
        path: The path.
        value: The value.
        texts_of_row: The question, the answers and the reference of the row.
    """
    if NAMES_OF_NOT_RETRIEVED.search(path) or QUESTION_NAMES.search(path):
        return False
    if _ANSWER_NAMES.search(path) and join_parts(value) is not None:
        return False
    texts = [text_of(item) for item in as_list(value) or ()]
    return any(text not in texts_of_row for text in texts if isinstance(text, str))


def are_passages(value: Any) -> bool:
    """Tell whether a value is a list of documents, or of texts of several words."""
    items = value if isinstance(value, tuple) else list_in(value) or ()
    return bool(items) and not are_messages(items) and all(is_passage(item) for item in items)


def is_passage(item: Any) -> bool:
    """Tell whether an item has a text of several words, or a text in a script that is not Latin."""
    text = text_of(item)
    return isinstance(text, str) and (" " in text.strip() or not text.isascii())
