"""Reads the searches of a conversation: the queries that an agent gave to its tools, and the documents that they returned.

The messages may be of LangChain and LangGraph, OpenAI (chat and responses), Anthropic, Ragas, DeepEval (turns) or Inspect. A
tool may return documents, an artifact, JSON, the content of an MCP tool, or a text.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.samples.cells import object_in
from ctxmetrics.samples.documents import as_list, first_value_at, look_up, text_of

# The keys of messages in all systems, by what they hold: "roles", "outputs", "queries".
_KEYS: Mapping[str, Sequence[str]] = read_data("samples", "keys.json")["messages"]
# The kinds of messages, and of the blocks of a message.
_KINDS = ("users", "assistants", "results", "calls")
# The paths at which a row may hold messages, each behind its first key: ("inputs", "inputs.messages").
MESSAGE_PATHS = [(path.partition(".")[0], path) for path in _KEYS["places"]]
# The name of a tool that searches has one of these parts: search_docs, retriever.
_SEARCH_TOOL_NAME = re.compile(
    r"""
      search | retriev | look.?up | quer | find | fetch
    | knowledge | memor | recall
    | rag\b | docs
    """,
    re.IGNORECASE | re.VERBOSE,
)


class Conversation(NamedTuple):
    """The fields of a sample that a conversation holds.

    Attributes:
        user_input: The last question of the user.
        response: The last text of the assistant.
        searches: The searches in their order. Each has the keys ``query``, ``contexts`` (documents) and ``turn``.
    """

    user_input: str | None
    response: str | None
    searches: list[dict[str, Any]]


def find_conversation(
    record: Mapping[str, Any], retriever: str | Callable[[str], bool] | None = None
) -> tuple[str, Conversation] | None:
    """Return the first conversation in a row with a search, and its path; None without one.

    Args:
        record: The row, or the record of a framework.
        retriever: The name of the tool that searches, or a function that tells by its name whether a tool searches. If None, a
            tool searches if its name says so or if it returns documents.
    """
    for first_key, path in MESSAGE_PATHS:
        if first_key not in record and path not in record:  # the usual case
            continue
        messages = as_list(look_up(record, path))
        if isinstance(messages, (list, tuple)) and any(_role(message) for message in messages):
            conversation = read_messages(messages, retriever)
            if conversation.searches:
                return path, conversation
    return None


def read_messages(
    messages: Iterable[Any], retriever: str | Callable[[str], bool] | None = None
) -> Conversation:
    """Read the searches, the last question and the last answer of messages; see `find_conversation`."""
    question = None
    answer = None
    turn = 0
    calls: list[Any] = []
    searches: list[dict[str, Any]] = []
    for message in messages:
        parts = [*_list_blocks(message)]
        for call, output in _read_outputs(parts, calls):
            tool_name = (
                look_up(output, "name")
                or first_value_at(call, _KEYS["names"])
                or look_up(output, "function")
                or ""
            )
            search = read_search(str(tool_name), call, output, retriever)
            if search is not None:
                query, documents = search
                searches.append(
                    {"query": query or question, "contexts": documents, "turn": max(turn, 1)}
                )
        text = _read_message_text(message)
        role = _role(message)
        if role == "users" and not parts:
            turn += 1
            if text:
                question = text
        elif role == "assistants" and text:
            answer = text
    return Conversation(question, answer, searches)


def read_search(
    name: str, call: Any, output: Any, retriever: str | Callable[[str], bool] | None = None
) -> tuple[str | None, list[Any]] | None:
    """Read the query that a tool got and the documents that it returned; None if the tool does not search.

    Args:
        name: The tool's name.
        call: The message or block that holds the tool's arguments.
        output: The message or block that holds the tool's result (`to_output`).
        retriever: As for `find_conversation`.
    """
    documents = _read_tool_documents(output)
    if documents is None or not _is_search(name, documents, retriever):
        return None
    with_text = [document for document in documents if isinstance(text_of(document), str)]
    if len(with_text) < len(documents):
        _log_left_out(name, len(documents) - len(with_text), len(documents))
    return _read_query(call), with_text


@lru_cache(maxsize=256)  # the messages of a row are read several times
def _log_left_out(name: str, count: int, document_count: int) -> None:
    """Log once that some of the documents that a tool returned have no text."""
    logging.getLogger("ctxmetrics").warning(
        "tool %r: %d of %d documents that it returned have no text and are left out",
        name[:80],
        count,
        document_count,
    )


def to_output(value: Any, error: Any) -> dict[str, Any]:
    """Return the output of a tool's span as a message.

    Args:
        value: The value of the span: a message, the bare output, or an object with a message or an output under ``output``.
        error: The error of the span.
    """
    inner = look_up(value, "output") if isinstance(value, Mapping) else None
    message = _unwrap(value if inner is None else object_in(inner))
    is_bare = isinstance(message, (str, list, tuple))
    if is_bare or first_value_at(message, _KEYS["outputs"]) is None:
        message = {"output": message}
    keys = (*_KEYS["outputs"], *_KEYS["failed"], "status")
    fields = {key: look_up(message, key) for key in keys}
    if error:
        fields["error"] = error
    return fields


def _read_outputs(parts: Iterable[Any], calls: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield each output of a tool with the call that it answers. Calls without an output stay in the list."""
    for part in parts:
        if _role(part) == "results":
            yield _take_call(part, calls), part
        elif look_up(part, "output") is not None:
            yield part, part  # the call holds its output
        else:
            calls.append(part)


def _take_call(output: Any, calls: list[Any]) -> Any:
    """Remove the call that an output answers from the list, and return the call.

    The messages of Ragas have no ids: there, an output answers the first call.
    """
    id_ = first_value_at(output, _KEYS["call_ids"])
    for index, call in enumerate(calls):
        if id_ is None or first_value_at(call, _KEYS["call_ids"]) == id_:
            return calls.pop(index)
    return None


def _role(message: Any) -> str:
    """Return the kind of a message or a block, one of `_KINDS`; an empty text if it has none."""
    role = str(first_value_at(_unwrap(message), _KEYS["roles"])).lower()
    return next((kind for kind in _KINDS if role in _KEYS[kind]), "")


def _unwrap(message: Any) -> Any:
    """Return the fields of a message that LangChain's ``dumps`` or ``messages_to_dict`` wrote."""
    for key in ("kwargs", "data"):
        inner = look_up(message, key) if isinstance(message, Mapping) else None
        if isinstance(inner, Mapping) and "content" in inner:
            return {"type": message.get("type"), **inner}
    return message


def _list_blocks(message: Any) -> Iterator[Any]:
    """Yield the calls and the results that a message holds: the message itself, its blocks, and its tool calls."""
    message = _unwrap(message)
    if _role(message) in ("results", "calls"):
        yield message
        return
    content = as_list(look_up(message, "content"))
    for block in content if isinstance(content, (list, tuple)) else ():
        if _role(block) in ("results", "calls"):
            yield block
    calls = as_list(first_value_at(message, ("tool_calls", "tools_called")))
    yield from calls if isinstance(calls, (list, tuple)) else ()
    # In DeepEval and Azure, a turn holds its passages.
    passages = as_list(first_value_at(message, _KEYS["passages"]))
    if isinstance(passages, str) and passages.strip():
        passages = [passages]
    if isinstance(passages, (list, tuple)) and passages:
        yield {"name": "retrieval", "output": passages}


def _read_message_text(message: Any) -> str:
    """Return the text of a message, or the joined texts of its blocks; empty if it has no text."""
    content = as_list(look_up(_unwrap(message), "content"))
    if isinstance(content, (list, tuple)):
        texts = [look_up(block, "text") for block in content]
        return "\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _is_search(name: str, documents: list[Any], retriever: str | Callable[[str], bool] | None) -> bool:
    """Tell whether a tool searches. If the caller chose no tools, its name or its output decides; see `find_conversation`."""
    if callable(retriever):
        return retriever(name)
    if retriever not in (None, "all", "last"):
        return name == retriever
    are_texts = all(
        isinstance(document, str) or look_up(document, "type") == "text" for document in documents
    )
    are_documents = not are_texts and all(isinstance(text_of(item), str) for item in documents)
    return bool(_SEARCH_TOOL_NAME.search(name)) or are_documents


def _read_query(call: Any) -> str | None:
    """Return the query of a call: the argument with a usual name, or else the only argument that is a text."""
    arguments = object_in(first_value_at(call, _KEYS["arguments"]))
    if isinstance(arguments, str):
        return arguments
    if not isinstance(arguments, Mapping):
        return None
    texts = [value for value in arguments.values() if isinstance(value, str)]
    query = object_in(first_value_at(arguments, _KEYS["queries"]))
    if isinstance(query, Mapping):  # a tool of LangChain gets its arguments as the text of a dict
        return _read_query({"arguments": query})
    if isinstance(query, str):
        return query
    return texts[0] if len(texts) == 1 else None


def _read_tool_documents(output: Any) -> list[Any] | None:
    """Return the documents that a tool returned: an empty list if the tool failed, None if it returned no documents."""
    if look_up(output, "status") == "error" or first_value_at(output, _KEYS["failed"]):
        return []
    for key in _KEYS["outputs"]:
        documents = _documents_in(look_up(output, key))
        if documents is not None:
            return documents
    return None


def _documents_in(value: Any) -> list[Any] | None:
    """Return the documents in the output of a tool: a list, an object with a list, JSON in a text, or a text."""
    value = as_list(object_in(value))
    if isinstance(value, str):
        return [value] if value.strip() else []
    if isinstance(value, (list, tuple)):
        if len(value) == 1 and look_up(value[0], "type") == "text":
            return _documents_in(look_up(value[0], "text"))
        has_documents = any(isinstance(text_of(item), str) for item in value)
        return [*value] if has_documents or not value else None
    if value is None:
        return None
    for key in _KEYS["lists"]:
        inner = look_up(value, key)
        documents = None if isinstance(inner, str) else _documents_in(inner)
        if documents is not None:
            return documents
    return [value] if isinstance(text_of(value), str) else None
