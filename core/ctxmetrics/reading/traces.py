"""Makes a sample of the spans of a trace: the question, the answer, and what the retrievers found.

A row is a span where it has the id of a trace and a kind. They stand in a list, as OpenTelemetry,
Phoenix and Langfuse write them, or in each other (``child_runs`` of LangSmith, ``observations`` of
Langfuse). Of retrievers in retrievers the outermost counts; several retrievers and rerankers are the
stages of the retrieval.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from ctxmetrics.reading.cells import list_in, object_in
from ctxmetrics.reading.documents import first_of, leaves, look_up
from ctxmetrics.reading.retrievals import (
    RETRIEVERS,
    Retrieval,
    handed_on,
    joined,
    retrieval_of,
    stages_of,
)
from ctxmetrics.reading.rows import rest_of

# Where a span says what it is, what went in, what came out and what was found: in OpenTelemetry's JSON, data frames of
# Phoenix, LangSmith, Langfuse.
_KEYS: Mapping[str, tuple[str, ...]] = {
    "trace": ("context.trace_id", "trace_id", "traceId"),
    "name": ("context.span_id", "span_id", "id"),
    "parent": ("parent_id", "parent_run_id", "parentObservationId", "parent_observation_id"),
    "kind": (
        "attributes.openinference.span.kind", "span_kind", "attributes.gen_ai.operation.name", "run_type", "type",
    ),
    "begun": ("start_time", "startTime"),
    "ended": ("end_time", "endTime", "start_time", "startTime"),
    "below": ("child_runs", "observations"),
    "asked": ("attributes.gen_ai.retrieval.query.text", "attributes.input.value", "inputs", "input"),
    "given": ("attributes.output.value", "outputs", "output"),
    "found": (
        "attributes.retrieval.documents", "attributes.reranker.output_documents",
        "attributes.gen_ai.retrieval.documents", "outputs.documents", "outputs.output", "output.documents", "output",
        "attributes.output.value.documents",
    ),
}  # fmt: skip
_SIDES = ("inputs", "outputs", "input", "output", "metadata")
# Where the text stands in the input of a span, and in its output.
_QUESTIONS = ("question", "query", "input", "user_input")
_ANSWERS = ("answer", "result", "response", "output", "content")
_EXPECTED = ("reference", "reference_outputs", "expected_output", "expectedOutput")
# An attribute of a document, where each one stands by itself, as OpenInference writes them.
_NUMBERED = re.compile(
    r"(?:attributes\.)?(?:retrieval\.documents|reranker\.output_documents)\.(\d+)\.(.+)"
)


def is_trace(row: Any) -> bool:
    """Whether a row is a span of a trace, or holds spans."""
    below = _at(row, "below")
    return (isinstance(below, list) and any(_at(span, "kind") is not None for span in below)) or all(
        _at(row, what) for what in ("trace", "kind")
    )


def trace_rows(rows: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Return one row a trace, with its place. Where no span is a retriever's, it is the first span of the trace."""
    traces: dict[str, list[tuple[str, Any]]] = {}
    for place, row in rows:
        spans = traces.setdefault(str(_at(row, "trace") or place), [])
        spans += [(place, span) for span in _tree(row)]
    retrieved = any(_retrieves(span) for spans in traces.values() for _, span in spans)
    for spans in traces.values():
        named = {  # a span without a name is found by its number
            number if (name := _at(span, "name")) is None else str(name): span
            for number, (_, span) in enumerate(spans)
        }
        roots = ((place, span) for place, span in spans if str(_at(span, "parent")) not in named)
        place, root = next(roots, spans[0])
        yield place, _of_trace(root, named) if retrieved else root


def _at(span: Any, what: str) -> Any:
    return first_of(span, _KEYS[what])


def _retrieves(span: Any) -> bool:
    return str(_at(span, "kind")).lower() in RETRIEVERS


def _tree(row: Any) -> Iterator[Any]:
    """Yield a span and the spans below it; below a retriever none."""
    yield row
    for child in (_at(row, "below") or ()) if not _retrieves(row) else ():
        yield from _tree(child)


def _above(span: Any, named: Mapping[Any, Any]) -> Iterator[Any]:
    """Yield the spans above one, then None; it also ends where spans name each other as parents."""
    for _ in named:
        span = named.get(str(_at(span, "parent")))
        yield span


def _of_trace(root: Any, named: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the row of a trace: its first span, with what its retrievers found; without any, what that span holds.

    Args:
        root: The first span.
        named: All spans by their names.
    """
    outermost = [
        (span, step)
        for span in named.values()
        if (step := retrieval_of(_at(span, "kind"), look_up(span, "name"), partial(_documents, span)))
        and not any(map(_retrieves, _above(span, named)))
    ]
    outermost.sort(key=lambda pair: str(_at(pair[0], "ended" if pair[1].reranks else "begun")))
    steps = [step for _, step in outermost] or [Retrieval("", _documents(root))]
    left, first = handed_on(steps), outermost[0][0] if outermost else root
    kept = {side: value for side in _SIDES if hasattr(value := look_up(root, side), "items")}
    carried = kept.pop("metadata", {})
    read = {key for what in ("asked", "given", "found", "below") for key in _KEYS[what]}
    row = {
        "id": first_of(root, (*_KEYS["trace"], *_KEYS["name"])),
        "user_input": _text(root, "asked", _QUESTIONS) or _text(first, "asked", _QUESTIONS),
        "response": None if _retrieves(root) else _text(root, "given", _ANSWERS),
        "retrieved_contexts": None if any(step.documents is None for step in left) else joined(left),
        "stages": stages_of(steps),
        **{key: look_up(root, key) for key in _EXPECTED},
        "metadata": {**rest_of(root, {*read, *_EXPECTED, *_SIDES}), **kept, **carried},
    }
    return {key: value for key, value in row.items() if value is not None}


def _documents(span: Any) -> list[Any] | None:
    """Return what a retriever found: attributes that stand by themselves, or a list; None where it does not say."""
    held = {key: object_in(value) for key, value in span.items()}
    numbered: dict[int, dict[str, Any]] = {}
    for path, value in leaves(held, 2):
        if match := _NUMBERED.fullmatch(path):
            numbered.setdefault(int(match[1]), {})[match[2]] = value
    single = [numbered[number] for number in sorted(numbered)]
    lists = (single or None, *(list_in(look_up(held, path)) for path in _KEYS["found"]))
    return next((documents for documents in lists if documents is not None), None)


def _text(span: Any, side: str, keys: tuple[str, ...]) -> str | None:
    """Return the text that went into a span or came out: by itself, or under a usual key."""
    held = object_in(_at(span, side))
    text = first_of(held, keys) if hasattr(held, "items") else held
    return text if isinstance(text, str) else None
