"""Makes a sample of the spans of a trace: the question, the answer, and what the retrievers found.

A row is a span where it has the id of a trace and a kind. They stand in a list, as OpenTelemetry,
Phoenix and Langfuse write them, or in each other (``child_runs`` of LangSmith, ``observations`` of
Langfuse). If a retriever contains others, only the outermost counts. Several retrievers and rerankers
are the stages of the retrieval. Without a retriever, tools that search are the retrievers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.evaluation.files.field_locations import without_paths
from ctxmetrics.samples.cells import list_in, object_in, read_cells
from ctxmetrics.samples.conversations import find_conversation, read_messages
from ctxmetrics.samples.documents import as_list, first_value_at, leaves, look_up
from ctxmetrics.samples.retrievals import (
    RETRIEVERS,
    Retrieval,
    find_unused_steps,
    join_documents,
    retrieval_of,
    retrieval_of_tool,
    to_searches,
    to_stages,
)
from ctxmetrics.samples.span_ids import build_span_ids

# The keys of the kind, the input, the output and the documents of a span: in OpenTelemetry's JSON, and in data frames of
# Phoenix, LangSmith and Langfuse.
_SPAN_KEYS: Mapping[str, Sequence[str]] = read_data("samples", "keys.json")["spans"]
# Kinds of the spans of tools, in small letters.
_TOOL_SPAN_KINDS = frozenset({"tool", "execute_tool"})
# Keys of an output that is a state of a program, and no answer.
_KEYS_OF_STATES = frozenset({*_SPAN_KEYS["questions"], "error"})
# A text as JSON, without characters that JSON escapes otherwise.
_JSON_TEXT = re.compile(r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"')
# The key of one attribute of a document, as OpenInference writes it.
_NUMBERED_ATTRIBUTE = re.compile(
    r"(?:attributes\.)?(?:retrieval\.documents|reranker\.output_documents)\.(\d+)\.(.+)"
)


def is_trace(row: Any) -> bool:
    """Tell whether a row is a span of a trace, or holds spans."""
    below = _read_attribute(row, "below")
    if isinstance(below, list) and any(_read_attribute(span, "kind") is not None for span in below):
        return True
    return bool(_read_attribute(row, "trace") and _read_attribute(row, "kind"))


def trace_rows(rows: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Return one row for each trace, with its place in the file. If no span is a retriever's, the row is the first span of the trace."""
    # The spans of each trace, each with its place in the file.
    traces: dict[str, list[tuple[str, Any]]] = {}
    for where, row in rows:
        spans = traces.setdefault(str(_read_attribute(row, "trace") or where), [])
        spans += [(where, span) for span in _list_span_tree(row)]
    has_retrievers = _have_retrievers(traces)
    if not has_retrievers and not _have_conversations(traces):
        for trace_name, spans in traces.items():
            traces[trace_name] = [(where, _tool_to_retriever(span)) for where, span in spans]
        has_retrievers = _have_retrievers(traces)
    for spans in traces.values():
        spans_by_name: dict[Any, Any] = {}
        for number, (_, span) in enumerate(spans):
            span_name = _read_attribute(span, "name")
            key = number if span_name is None else str(span_name)
            spans_by_name[key] = span
        where, root = _find_root(spans, spans_by_name)
        if has_retrievers:
            yield where, _build_trace_row(root, spans_by_name)
        else:
            yield where, root


def _find_root(spans: Sequence[tuple[str, Any]], spans_by_name: Mapping[Any, Any]) -> tuple[str, Any]:
    """Return the first span that has no parent, of several one with a question, and its place."""
    first_root = None
    for where, span in spans:
        if str(_read_attribute(span, "parent")) in spans_by_name:
            continue
        if _read_span_text(span, "question"):
            return where, span
        first_root = first_root or (where, span)
    return first_root or spans[0]


def _have_conversations(traces: Mapping[str, list[tuple[str, Any]]]) -> bool:
    """Tell whether the first span of any trace holds a conversation."""
    for spans in traces.values():
        _, first_span = spans[0]
        if find_conversation(first_span):
            return True
    return False


def _have_retrievers(traces: Mapping[str, list[tuple[str, Any]]]) -> bool:
    """Tell whether any span of the traces is a retriever's."""
    return any(_retrieves(span) for _, span in chain.from_iterable(traces.values()))


def _tool_to_retriever(span: Any) -> Any:
    """Return the span of a tool that searched as the span of a retriever. Return any other span as it is."""
    if str(_read_attribute(span, "kind")).lower() not in _TOOL_SPAN_KINDS:
        return span
    fields = [
        look_up(span, "name"),
        _read_attribute(span, "question"),
        _read_attribute(span, "answer"),
        look_up(span, "error"),
    ]
    step = retrieval_of_tool(*fields)
    if step is None:
        return span
    retriever = dict(span)
    values = {"kind": "retriever", "question": step.query, "documents": step.documents}
    for attribute, value in values.items():
        first_key = _SPAN_KEYS[attribute][0]
        retriever[first_key] = value
    return retriever


def _read_attribute(span: Any, attribute: str) -> Any:
    """Read the kind, input, output and other values of a span, under any of the usual names."""
    value = first_value_at(span, _SPAN_KEYS[attribute])
    # MLflow writes each value as JSON.
    is_json_text = isinstance(value, str) and _JSON_TEXT.fullmatch(value) is not None
    return json.loads(value) if is_json_text else value


def _retrieves(span: Any) -> bool:
    """Tell whether a span is a retriever's."""
    return str(_read_attribute(span, "kind")).lower() in RETRIEVERS


def _list_span_tree(row: Any) -> Iterator[Any]:
    """Yield a span and the spans below it. Spans below a retriever are left out."""
    yield row
    if not _retrieves(row):
        for child in _read_attribute(row, "below") or ():
            yield from _list_span_tree(child)


def _list_ancestors(span: Any, spans_by_name: Mapping[Any, Any]) -> Iterator[Any]:
    """Yield the parent of a span, the parent's parent and so on, then None. It ends even if two spans are each other's parent."""
    for _ in spans_by_name:
        span = spans_by_name.get(str(_read_attribute(span, "parent")))
        yield span


def _build_trace_row(root: Any, spans_by_name: Mapping[Any, Any]) -> dict[str, Any]:
    """Build the row of a trace from its first span and from what its retrievers found. Without a retriever, use only the first span.

    Args:
        root: The first span.
        spans_by_name: All spans by their names.
    """
    retrievers = _find_outermost_retrievers(spans_by_name)
    steps = [step for _, step in retrievers]
    first_retriever = root
    if retrievers:
        first_retriever, _ = retrievers[0]
    else:
        steps.append(Retrieval("", _read_found_documents(root)))
    last_steps = find_unused_steps(steps)
    retrieved = None
    if all(step.documents is not None for step in last_steps):
        retrieved = join_documents(last_steps)
    searches = to_searches(step for _, step in retrievers)
    row = {
        "id": first_value_at(root, (*_SPAN_KEYS["trace"], *_SPAN_KEYS["name"])),
        "user_input": _read_span_text(root, "question") or _read_span_text(first_retriever, "question"),
        "response": None if _retrieves(root) else _read_span_text(root, "answer"),
        "retrieved_contexts": None if searches else retrieved,
        "stages": None if searches else to_stages(steps),
        "searches": searches,
        **{key: look_up(root, key) for key in _SPAN_KEYS["expected"]},
        "metadata": {**_read_metadata(root), **_name_spans(root, retrievers, last_steps)},
    }
    return {key: value for key, value in row.items() if value is not None}


def _read_metadata(root: Any) -> dict[str, Any]:
    """Read what the first span has beside the fields of the sample: its other attributes, its sides, and its own metadata."""
    read_paths: set[str] = set()
    for role in ("question", "answer", "documents", "below", "expected", "sides"):
        read_paths.update(_SPAN_KEYS[role])
    sides: dict[str, Any] = {}
    for side in _SPAN_KEYS["sides"]:
        value = look_up(root, side)
        if hasattr(value, "items"):
            sides[side] = value
    metadata = sides.pop("metadata", {})
    return {**without_paths(root, read_paths), **sides, **metadata}


def _name_spans(
    root: Any, retrievers: Sequence[tuple[Any, Retrieval]], last_steps: Sequence[Retrieval]
) -> dict[str, Any]:
    """Return as metadata the trace and the spans in which a sample was answered and its contexts were retrieved."""
    retriever_names: list[Any] = []
    for span, step in retrievers:
        if any(step is last_step for last_step in last_steps):
            retriever_names.append(_read_attribute(span, "name"))
    trace_id = first_value_at(root, _SPAN_KEYS["trace"])
    span_ids = build_span_ids(trace_id, _read_attribute(root, "name"), retriever_names)
    return span_ids.to_metadata() if span_ids else {}


def _find_outermost_retrievers(spans_by_name: Mapping[Any, Any]) -> list[tuple[Any, Retrieval]]:
    """Return the retrievers and rerankers outside of any other retriever, with the documents that they returned, in the order of time."""
    pairs: list[tuple[Any, Retrieval]] = []
    for span in spans_by_name.values():
        find = partial(_read_found_documents, span)
        step = retrieval_of(
            _read_attribute(span, "kind"),
            look_up(span, "name"),
            find,
            _read_span_text(span, "question"),
        )
        if step and not any(map(_retrieves, _list_ancestors(span, spans_by_name))):
            pairs.append((span, step))
    pairs.sort(key=_get_time)
    return pairs


def _get_time(retriever: tuple[Any, Retrieval]) -> str:
    """Return when a retriever began, or a reranker ended, as a text that sorts by time."""
    span, step = retriever
    return str(_read_attribute(span, "ended" if step.reranks else "begun"))


def _read_found_documents(span: Any) -> list[Any] | None:
    """Return the documents that a retriever found: single attributes, or a list. Return None if the span does not have them."""
    parsed_span = read_cells(span)
    documents_by_number: dict[int, dict[str, Any]] = {}
    for path, value in leaves(parsed_span, 2):
        match = _NUMBERED_ATTRIBUTE.fullmatch(path)
        if match:
            documents_by_number.setdefault(int(match[1]), {})[match[2]] = value
    if documents_by_number:
        return [documents_by_number[number] for number in sorted(documents_by_number)]
    for path in _SPAN_KEYS["documents"]:
        documents = list_in(look_up(parsed_span, path))
        if documents is not None:
            return documents
    return None


def _read_span_text(span: Any, side: str) -> str | None:
    """Return the text of the input or output of a span: alone, in messages, or under a usual key.

    An answer that is itself an object of plain values, such as ``{"price": 12}``, is returned as JSON. Return None if there is
    no text.
    """
    value = _read_attribute(span, side)
    data = object_in(value)
    is_answer = side == "answer"
    messages = data if isinstance(data, list) else None
    if hasattr(data, "items"):
        messages = as_list(look_up(data, "messages"))
    if isinstance(messages, list):
        conversation = read_messages(messages)
        return conversation.response if is_answer else conversation.user_input
    if hasattr(data, "items"):
        text = first_value_at(data, _SPAN_KEYS[f"{side}s"])
        if text is None and is_answer and _is_answer_object(data):
            text = value if isinstance(value, str) else json.dumps(data, ensure_ascii=False)
        return text if isinstance(text, str) else None
    return data if isinstance(data, str) else None


def _is_answer_object(data: Any) -> bool:
    """Tell whether an object is an answer, and no state of a program, which holds a question, documents or an error too."""
    if not data or not _KEYS_OF_STATES.isdisjoint(data):
        return False
    return all(value is None or isinstance(value, (str, int, float)) for value in data.values())
