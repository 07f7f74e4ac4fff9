"""The library alone, with an OpenTelemetry provider: its own spans."""

import runpy
from pathlib import Path

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter("http://collector.example/v1/traces")))
trace.set_tracer_provider(provider)
runpy.run_path(str(Path(__file__).with_name("core_evaluate.py")))
