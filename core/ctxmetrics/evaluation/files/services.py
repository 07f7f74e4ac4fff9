"""The replies of services, by what they hold: ``services.json`` is the table.

A row may be the reply, or hold it in a column at any depth. A reply is known by its documents: a list of texts, or of documents
with a text, at one of the paths of a service.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.evaluation.files.formats import NAMES_OF_NOT_RETRIEVED
from ctxmetrics.samples.documents import are_messages, join_parts, look_up, text_of
from ctxmetrics.samples.field_keys import TEXTS

_SERVICES: Mapping[str, Mapping[str, Sequence[str]]] = read_data("evaluation.files", "services.json")[
    "services"
]
_MARKS_KEY = "marks"
# The key of the usual names, which any system may have.
_USUAL_NAMES_KEY = "usual names"
# The path of the messages of a conversation. Each turn has its own documents.
_MESSAGES_PATH = "messages[]"
# The maximum number of objects around a reply.
_MAX_DEPTH = 3


def find_reply(row: Mapping[str, Any]) -> dict[str, str]:
    """Find the reply of a service: the row itself, or an object in it. Return the field of each path in the reply.

    The result is empty if there is no reply.
    """
    for path, holder in _list_reply_holders(row):
        for name, service in _SERVICES.items():
            columns = _read_reply(holder, service)
            if columns and name == _USUAL_NAMES_KEY and _count_replies(row) > 1:
                return {}  # such as of two retrievers
            if columns:
                return {f"{path}{column}": field for column, field in columns.items()}
    return {}


def _count_replies(row: Mapping[str, Any]) -> int:
    """Count the different lists of documents that stand under usual names in the objects of a row."""
    documents: list[Any] = []
    for _, holder in _list_reply_holders(row):
        columns = _read_reply(holder, _SERVICES[_USUAL_NAMES_KEY])
        for column, field in columns.items():
            value = look_up(holder, column)
            if field == "retrieved_contexts" and value not in documents:
                documents.append(value)
    return len(documents)


def _list_reply_holders(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield a row and the objects in it that may be a reply, each after its path, such as ``result.``."""
    for path, holder in _objects(row, _MAX_DEPTH):
        # A path with the word "answer" usually holds nothing that was retrieved. But an answer may be an object that holds its
        # documents.
        path_without_answer = path.replace("answer", "")
        if not NAMES_OF_NOT_RETRIEVED.search(path_without_answer):
            yield path, holder


def _objects(row: Mapping[str, Any], depth: int, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield pairs of a path prefix and an object: first the row itself, then the objects in it, outer ones first, without metadata."""
    yield path, row
    if depth == 0:
        return
    for key, value in row.items():
        if hasattr(value, "items") and key != "metadata":
            yield from _objects(value, depth - 1, f"{path}{key}.")


def _read_reply(holder: Mapping[str, Any], service: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the field of each path in a reply. The result is empty if the object is no reply of the service."""
    columns: dict[str, str] = {}
    if any(look_up(holder, mark) is None for mark in service.get(_MARKS_KEY, ())):
        return columns
    for path in service["retrieved_contexts"]:
        if path.startswith(_MESSAGES_PATH) and _count_questions(holder) > 1:
            continue
        if _is_usable(look_up(holder, path), "retrieved_contexts"):
            columns[path] = "retrieved_contexts"
            break
    if not columns and _MARKS_KEY not in service:
        return columns
    for field in ("retrieved_context_ids", "response", "user_input", "metadata"):
        for path in service.get(field, ()):
            if _is_usable(look_up(holder, path), field):
                columns[path] = field
                break
    return columns


def _count_questions(holder: Mapping[str, Any]) -> int:
    """Count the questions of the user in the messages of a reply."""
    messages = holder.get("messages")
    items = messages if isinstance(messages, list) else ()
    return sum(1 for item in items if look_up(item, "role") == "user")


def _is_usable(value: Any, field: str) -> bool:
    """Tell whether a value of a reply can be the value of a field: a text, metadata, ids or documents."""
    if field in TEXTS:
        return isinstance(value, str) or join_parts(value) is not None
    if field == "metadata":
        return value is not None
    if field == "retrieved_context_ids":
        return isinstance(value, list) and all(isinstance(item, (str, int)) for item in value)
    return _are_documents(value)


def _are_documents(items: Any) -> bool:
    """Tell whether a value is a list of texts or of documents with a text. A list of messages is not."""
    if not isinstance(items, list) or not items or are_messages(items):
        return False
    return all(isinstance(text_of(item), str) for item in items)
