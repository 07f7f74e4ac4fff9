"""``--otel``: events to the collector that the variables of OpenTelemetry name, and how many it did not take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ctxmetrics.errors import importing
from ctxmetrics.evaluation.cli._terminal import print_message
from ctxmetrics.scores.wording import plural

# If this number of events wait, they are sent.
_MAX_WAITING_EVENTS = 1_024


@dataclass(slots=True)
class Delivery:
    """The number of events that were sent to the collector.

    Attributes:
        provider: The provider of a run; None: nothing is sent.
        emitted: The number of events of the run.
        sent: The number of events that the collector took.
    """

    provider: Any = None
    emitted: int = 0
    sent: int = 0

    def report(self) -> None:
        """Say how many events were sent, and how many were not."""
        if self.provider is None:
            return
        print_message(f"telemetry: {plural(self.sent, 'event')} sent")
        if self.lost:
            print_message(
                f"ctxmetrics: {plural(self.lost, 'event')} of --otel cannot be written: the collector at "
                "OTEL_EXPORTER_OTLP_ENDPOINT did not take them. Check it, and run the command again without --resume; "
                "what --cache holds is not asked again."
            )

    @property
    def lost(self) -> int:
        """Events that the collector did not take."""
        return self.emitted - self.sent


@contextmanager
def deliver_events(*, wanted: bool) -> Iterator[Delivery]:
    """Send the events of a run by OTLP over HTTP. At the end of the block, all are sent.

    Raises:
        MissingExtraError: OpenTelemetry's SDK or its exporter is not installed.
    """
    if not wanted:
        yield Delivery()
        return
    with importing("opentelemetry-exporter-otlp-proto-http", also="opentelemetry"):
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk._logs import LoggerProvider
        from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

    delivery = Delivery(LoggerProvider())

    class CountingExporter(OTLPLogExporter):
        """Counts the events that the collector accepts."""

        def export(self, batch: Any) -> Any:
            """Send a batch of events, and count the events that arrived."""
            result = super().export(batch)
            if result.name == "SUCCESS":
                delivery.sent += len(batch)
            return result

    class CountingProcessor(BatchLogRecordProcessor):
        """Counts the events, and sends them before its queue is full: then it would drop them."""

        def on_emit(self, log_record: Any) -> None:
            """Count an event, and send the events so far from time to time."""
            delivery.emitted += 1
            if delivery.emitted % _MAX_WAITING_EVENTS == 0:
                self.force_flush()
            super().on_emit(log_record)

    processor = CountingProcessor(CountingExporter(), max_queue_size=2 * _MAX_WAITING_EVENTS)
    delivery.provider.add_log_record_processor(processor)
    tracer = TracerProvider()
    tracer.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(tracer)  # for our own spans
    try:
        yield delivery
    finally:
        delivery.provider.shutdown()
        tracer.shutdown()
