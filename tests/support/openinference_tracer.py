"""OpenInference's own tracer, and what it recorded."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest


def make_tracer() -> tuple[Any, Any, Callable[[], list[Any]]]:
    """Make a tracer that keeps its spans; skip the test where a package is missing.

    Returns:
        The package, the tracer, and a function that returns the finished spans as JSON data.
    """
    openinference = pytest.importorskip("openinference.instrumentation", reason="it is not installed")
    sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="it is not installed")
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = openinference.OITracer(provider.get_tracer("rag"), config=openinference.TraceConfig())
    return (
        openinference,
        tracer,
        lambda: [json.loads(span.to_json()) for span in exporter.get_finished_spans()],
    )
