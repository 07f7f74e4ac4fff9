"""Where MLflow keeps the fields of a sample: usual keys of a row's sides, and the documents of RETRIEVER spans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from mlflow.entities import Span, SpanType, Trace
from mlflow.tracing.constant import TraceMetadataKey

from ctxmetrics.fields import SCHEMAS, text_of


def to_record(inputs: Any, outputs: Any, expectations: Any, trace: Trace | None) -> dict[str, Any]:
    """Return a row as a record; a side that is not given is taken from the trace."""
    sides = {"inputs": inputs, "outputs": outputs, "expectations": expectations or None}
    if trace is None:
        return sides
    root = next((span for span in _spans(trace) if span.parent_id is None), None)
    told = {
        "inputs": getattr(root, "inputs", None),
        "outputs": getattr(root, "outputs", None),
        "expectations": {
            item.name: item.expectation.value
            for item in trace.info.assessments or ()
            if item.expectation is not None
        },
    }
    given = {name: side for name, side in sides.items() if side is not None}
    return {**told, **given, "id": trace.info.trace_id, "trace": trace, "run": trace}


def _spans(trace: Any) -> list[Span]:
    return sorted(getattr(trace.data, "spans", None) or (), key=lambda span: span.start_time_ns)


def _retrievals(trace: Trace | None) -> Iterator[tuple[str, Any]]:
    """Yield the documents of the outermost RETRIEVER spans: an inner one found what the outer one chose from."""
    spans = [] if trace is None else _spans(trace)
    by_id = {span.span_id: span for span in spans}
    for span in spans:
        above = by_id.get(span.parent_id or "")
        while above is not None and above.span_type != SpanType.RETRIEVER:
            above = by_id.get(above.parent_id or "")
        if above is None and span.span_type == SpanType.RETRIEVER:
            yield span.name, _documents(span.outputs)


def _documents(outputs: Any) -> Any:
    """Return the documents; some retrievers give a mapping that holds them."""
    if not isinstance(outputs, dict) or isinstance(text_of(outputs), str):
        return outputs
    return next((outputs[key] for key in SCHEMA.places["retrieved_contexts"].keys if key in outputs), outputs)


def _evaluation(record: Mapping[str, Any]) -> str | None:
    """Return the run's id: `mlflow.genai.evaluate` writes it into the trace that it has or makes of each row."""
    trace = record.get("trace")
    return None if trace is None else trace.info.request_metadata.get(TraceMetadataKey.SOURCE_RUN)


# Reads rows of an evaluation data set and their traces.
SCHEMA = replace(
    SCHEMAS["mlflow"],
    retrievals=_retrievals,
    evaluation=_evaluation,
    package="ctxmetrics_mlflow",
    hint="There is no RETRIEVER span in its trace either.",
)
