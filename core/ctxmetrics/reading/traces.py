"""Makes a sample of the spans of a trace: the question, the answer, and what the retrievers found.

A row is a span where it has the id of a trace and a kind. They stand in a list, as OpenTelemetry,
Phoenix and Langfuse write them, or in each other (``child_runs`` of LangSmith, ``observations`` of
Langfuse). Of retrievers in retrievers the outermost counts; several retrievers and rerankers are the
stages of the retrieval. Without a retriever, tools that search are the retrievers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any

from ctxmetrics._internal.data_files import read_words
from ctxmetrics.reading.cells import list_in, object_in, read_cells
from ctxmetrics.reading.conversations import find_conversation, read_messages
from ctxmetrics.reading.documents import as_list, first_of, leaves, look_up
from ctxmetrics.reading.retrievals import (
    RETRIEVERS,
    Retrieval,
    handed_on,
    join_documents,
    retrieval_of,
    retrieval_of_tool,
    to_searches,
    to_stages,
)
from ctxmetrics.reading.rows import rest_of

# Where a span says what it is, what went in, what came out and what was found: in OpenTelemetry's JSON, data frames of
# Phoenix, LangSmith, Langfuse.
_KEYS = read_words("reading", "keys.json", "spans")
# Kinds of the spans of tools, in small letters.
_TOOLS = frozenset({"tool", "execute_tool"})
# A text as JSON, without characters that JSON escapes otherwise.
_QUOTED = re.compile(r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"')
# An attribute of a document, where each one stands by itself, as OpenInference writes them.
_NUMBERED = re.compile(
    r"(?:attributes\.)?(?:retrieval\.documents|reranker\.output_documents)\.(\d+)\.(.+)"
)


def is_trace(row: Any) -> bool:
    """Whether a row is a span of a trace, or holds spans."""
    below = _at(row, "below")
    if isinstance(below, list) and any(_at(span, "kind") is not None for span in below):
        return True
    return bool(_at(row, "trace") and _at(row, "kind"))


def trace_rows(rows: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Return one row a trace, with its place. Where no span is a retriever's, it is the first span of the trace."""
    traces: dict[str, list[tuple[str, Any]]] = {}
    for place, row in rows:
        spans = traces.setdefault(str(_at(row, "trace") or place), [])
        spans += [(place, span) for span in _tree(row)]
    has_retrievers = _have_retrievers(traces)
    if not has_retrievers and not any(find_conversation(spans[0][1]) for spans in traces.values()):
        for name, spans in traces.items():
            traces[name] = [(place, _as_retriever(span)) for place, span in spans]
        has_retrievers = _have_retrievers(traces)
    for spans in traces.values():
        by_name: dict[Any, Any] = {}
        for number, (_, span) in enumerate(spans):
            name = _at(span, "name")
            by_name[number if name is None else str(name)] = span  # without a name it has its number
        roots = [(place, span) for place, span in spans if str(_at(span, "parent")) not in by_name]
        asked = (pair for pair in roots if _text(pair[1], "question"))
        place, root = next(asked, (roots or spans)[0])
        yield place, _trace_row(root, by_name) if has_retrievers else root


def _have_retrievers(traces: Mapping[str, list[tuple[str, Any]]]) -> bool:
    return any(_retrieves(span) for _, span in chain.from_iterable(traces.values()))


def _as_retriever(span: Any) -> Any:
    """Return the span of a tool that searched as that of a retriever, and any other span as it is."""
    if str(_at(span, "kind")).lower() not in _TOOLS:
        return span
    fields = [look_up(span, "name"), _at(span, "question"), _at(span, "answer"), look_up(span, "error")]
    step = retrieval_of_tool(*fields)
    if step is None:
        return span
    values = {"kind": "retriever", "question": step.query, "documents": step.documents}
    return {**span, **{_KEYS[what][0]: value for what, value in values.items()}}


def _at(span: Any, what: str) -> Any:
    value = first_of(span, _KEYS[what])
    # MLflow writes each value as JSON.
    is_quoted = isinstance(value, str) and _QUOTED.fullmatch(value)
    return json.loads(value) if is_quoted else value


def _retrieves(span: Any) -> bool:
    return str(_at(span, "kind")).lower() in RETRIEVERS


def _tree(row: Any) -> Iterator[Any]:
    """Yield a span and the spans below it; below a retriever none."""
    yield row
    if not _retrieves(row):
        for child in _at(row, "below") or ():
            yield from _tree(child)


def _above(span: Any, by_name: Mapping[Any, Any]) -> Iterator[Any]:
    """Yield the spans above one, then None; it also ends where spans name each other as parents."""
    for _ in by_name:
        span = by_name.get(str(_at(span, "parent")))
        yield span


def _trace_row(root: Any, by_name: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the row of a trace: its first span, with what its retrievers found; without any, what that span holds.

    Args:
        root: The first span.
        by_name: All spans by their names.
    """
    outermost = _outermost(by_name)
    steps = [step for _, step in outermost] or [Retrieval("", _documents(root))]
    left = handed_on(steps)
    first = outermost[0][0] if outermost else root
    retrieved = None
    if all(step.documents is not None for step in left):
        retrieved = join_documents(left)
    sides: dict[str, Any] = {}
    for side in _KEYS["sides"]:
        value = look_up(root, side)
        if hasattr(value, "items"):
            sides[side] = value
    metadata = sides.pop("metadata", {})
    searches = to_searches(step for _, step in outermost)
    read: set[str] = set()
    for role in ("question", "answer", "documents", "below", "expected", "sides"):
        read.update(_KEYS[role])
    row = {
        "id": first_of(root, (*_KEYS["trace"], *_KEYS["name"])),
        "user_input": _text(root, "question") or _text(first, "question"),
        "response": None if _retrieves(root) else _text(root, "answer"),
        "retrieved_contexts": None if searches else retrieved,
        "stages": None if searches else to_stages(steps),
        "searches": searches,
        **{key: look_up(root, key) for key in _KEYS["expected"]},
        "metadata": {**rest_of(root, read), **sides, **metadata},
    }
    return {key: value for key, value in row.items() if value is not None}


def _outermost(by_name: Mapping[Any, Any]) -> list[tuple[Any, Retrieval]]:
    """Return the retrievers and rerankers that are in no retriever, with what they handed on, in the order of time."""
    pairs: list[tuple[Any, Retrieval]] = []
    for span in by_name.values():
        find = partial(_documents, span)
        step = retrieval_of(_at(span, "kind"), look_up(span, "name"), find, _text(span, "question"))
        if step and not any(map(_retrieves, _above(span, by_name))):
            pairs.append((span, step))
    pairs.sort(key=lambda pair: str(_at(pair[0], "ended" if pair[1].reranks else "begun")))
    return pairs


def _documents(span: Any) -> list[Any] | None:
    """Return what a retriever found: attributes that stand by themselves, or a list; None where it does not say."""
    opened = read_cells(span)
    numbered: dict[int, dict[str, Any]] = {}
    for path, value in leaves(opened, 2):
        match = _NUMBERED.fullmatch(path)
        if match:
            numbered.setdefault(int(match[1]), {})[match[2]] = value
    if numbered:
        return [numbered[number] for number in sorted(numbered)]
    for path in _KEYS["documents"]:
        documents = list_in(look_up(opened, path))
        if documents is not None:
            return documents
    return None


def _text(span: Any, side: str) -> str | None:
    """Return the text that went into a span or came out: by itself, or under a usual key."""
    text = object_in(_at(span, side))
    if hasattr(text, "items"):
        messages = as_list(look_up(text, "messages"))
        if isinstance(messages, list):
            conversation = read_messages(messages)
            return conversation.response if side == "answer" else conversation.user_input
        text = first_of(text, _KEYS[f"{side}s"])
    return text if isinstance(text, str) else None
