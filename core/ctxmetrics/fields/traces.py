"""Traces as samples: of the spans of one trace, what was asked, what was answered, and what the retrievers found.

Spans are known by a trace's id and a kind. They stand in a list, as OpenTelemetry, Phoenix and Langfuse write them, or in
each other (``child_runs`` of LangSmith, ``observations`` of Langfuse). Of retrievers in retrievers the outermost counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from ctxmetrics.fields.cells import is_list_text, list_in, object_in
from ctxmetrics.fields.documents import first_of, look_up
from ctxmetrics.fields.recognition import PEEKED
from ctxmetrics.fields.rows import rest_of

# Where a span says what it is: in OpenTelemetry's JSON, data frames of Phoenix, LangSmith, Langfuse.
_TRACE = ("context.trace_id", "trace_id", "traceId")
_SPAN = ("context.span_id", "span_id", "id")
_PARENT = ("parent_id", "parent_run_id", "parentObservationId", "parent_observation_id")
_KIND = (
    "attributes.openinference.span.kind", "span_kind", "attributes.gen_ai.operation.name", "run_type", "type",
)  # fmt: skip
_BEGUN = ("start_time", "startTime")
_RETRIEVERS = frozenset({"retriever", "retrieval"})
_BELOW = ("child_runs", "observations")
# What went in, what came out, and what was found.
_ASKED = ("attributes.gen_ai.retrieval.query.text", "attributes.input.value", "inputs", "input")
_GIVEN = ("attributes.output.value", "outputs", "output")
_FOUND = (
    "attributes.retrieval.documents", "attributes.gen_ai.retrieval.documents", "outputs.documents", "outputs.output",
    "output.documents", "output", "attributes.output.value.documents",
)  # fmt: skip
# In what went in, and in what came out.
_QUESTIONS = ("question", "query", "input", "user_input")
_ANSWERS = ("answer", "result", "response", "output", "content")
_EXPECTED = ("reference", "reference_outputs", "expected_output", "expectedOutput")
# An attribute of a document, where each one stands by itself, as OpenInference writes them.
_NUMBERED = re.compile(r"(?:attributes\.)?retrieval\.documents\.(\d+)\.(.+)")


def trace_rows(rows: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Return one row a trace, where the first rows are spans; else the rows as they are. Each has its place."""
    rows = iter(rows)
    first = list(islice(rows, PEEKED))
    if not any(
        holds_spans(row) or all(first_of(row, keys) for keys in (_TRACE, _KIND)) for _, row in first
    ):
        yield from chain(first, rows)
        return
    traces: dict[str, list[tuple[str, Any]]] = {}
    for place, row in chain(first, rows):
        traces.setdefault(str(first_of(row, _TRACE) or place), []).extend(
            (place, span) for span in _tree(row)
        )
    retrieved = any(_retrieves(span) for spans in traces.values() for _, span in spans)
    yield from map(_of_trace if retrieved else _root_of, traces.values())


def holds_spans(row: Any) -> bool:
    """Whether there are spans in a row."""
    below = first_of(row, _BELOW)
    return isinstance(below, list) and any(first_of(span, _KIND) is not None for span in below)


def _retrieves(span: Any) -> bool:
    return str(first_of(span, _KIND)).lower() in _RETRIEVERS


def _tree(row: Any) -> Iterator[Any]:
    """Yield a span and those below it; of a retriever it alone."""
    yield row
    for child in (first_of(row, _BELOW) or ()) if not _retrieves(row) else ():
        yield from _tree(child)


def _root_of(spans: list[tuple[str, Any]]) -> tuple[str, Any]:
    """Return the span that is below no other, with its place."""
    named = {str(first_of(span, _SPAN)) for _, span in spans}
    return next((one for one in spans if str(first_of(one[1], _PARENT)) not in named), spans[0])


def _of_trace(spans: list[tuple[str, Any]]) -> tuple[str, Any]:
    """Return the row of a trace: its first span, with what its retrievers found; without any, what that span holds."""
    named = {str(first_of(span, _SPAN)): span for _, span in spans}
    above = {name: str(first_of(span, _PARENT)) for name, span in named.items()}
    place, root = _root_of(spans)
    retrievers = [
        span
        for name, span in named.items()
        if _retrieves(span) and not any(_retrieves(named.get(up)) for up in _path(name, above))
    ] or [root]
    retrievers.sort(key=lambda span: str(first_of(span, _BEGUN)))
    found = [_documents(span) for span in retrievers]
    sides = {side: look_up(root, side) for side in ("inputs", "outputs", "input", "output", "metadata")}
    kept = {side: value for side, value in sides.items() if hasattr(value, "items")}
    carried = kept.pop("metadata", {})
    rest = rest_of(root, {*_ASKED, *_GIVEN, *_FOUND, *_BELOW, *_EXPECTED, *sides})
    row = {
        "id": first_of(root, (*_TRACE, *_SPAN)),
        "user_input": _text(root, _ASKED, _QUESTIONS) or _text(retrievers[0], _ASKED, _QUESTIONS),
        "response": None if _retrieves(root) else _text(root, _GIVEN, _ANSWERS),
        "retrieved_contexts": None if None in found else [*chain.from_iterable(filter(None, found))],
        **{key: look_up(root, key) for key in _EXPECTED},
        "metadata": {**rest, **kept, **carried},
    }
    return place, {key: value for key, value in row.items() if value is not None}


def _path(name: str, above: Mapping[str, str]) -> Iterator[str]:
    """Yield the names of the spans above one; a circle of them ends."""
    for _ in above:
        name = above.get(name, "")
        yield name


def _documents(span: Any) -> list[Any] | None:
    """Return what a retriever found: attributes that stand by themselves, or a list; None where it does not say."""
    held = {key: object_in(value) for key, value in span.items()}
    numbered: dict[int, dict[str, Any]] = {}
    for key, value in chain(held.items(), getattr(held.get("attributes"), "items", list)()):
        if match := _NUMBERED.fullmatch(str(key)):
            numbered.setdefault(int(match[1]), {})[match[2]] = value
    lists = (
        list_in(value) if is_list_text(value) else value
        for value in (look_up(held, path) for path in _FOUND)
    )
    in_order = [numbered[number] for number in sorted(numbered)]
    in_lists = [value for value in lists if isinstance(value, list)]
    return in_order or (in_lists[0] if in_lists else None)


def _text(span: Any, paths: tuple[str, ...], keys: tuple[str, ...]) -> str | None:
    """Return the text that went into a span or came out: by itself, or under a usual key."""
    held = object_in(first_of(span, paths))
    text = first_of(held, keys) if hasattr(held, "items") else held
    return text if isinstance(text, str) else None
