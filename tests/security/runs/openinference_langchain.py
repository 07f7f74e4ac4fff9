"""The chain of `lcel.py`, with OpenInference's instrumentation and an OTLP exporter."""

import runpy
from pathlib import Path

from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter("http://collector.example/v1/traces")))
trace.set_tracer_provider(provider)
LangChainInstrumentor().instrument()
runpy.run_path(str(Path(__file__).with_name("lcel.py")))
