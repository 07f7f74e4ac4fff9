"""Sends a score as OpenTelemetry's event ``gen_ai.evaluation.result``, on the span that the score is about.

The event is a log record with the ids of a span: of the retriever's span if the sample came from a trace, else of a new span.
The names of attributes are written here, because the constants of OpenTelemetry's package are deprecated. Texts and quotes are
sent only if the caller asks for them; an API key is never sent.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ctxmetrics._internal.secrets import hide_keys
from ctxmetrics.errors import ParameterError, importing
from ctxmetrics.samples.span_ids import SpanIds, read_span_ids
from ctxmetrics.scores.conventions import get_convention
from ctxmetrics.scores.score import FAILURES, Score

# The version of the conventions that define the names below: github.com/open-telemetry/semantic-conventions-genai.
CONVENTIONS = "1.42.0"
# The name of the event of a score.
EVENT = "gen_ai.evaluation.result"
# The address of the conventions' schema.
_SCHEMA_ADDRESS = f"https://opentelemetry.io/schemas/gen-ai/{CONVENTIONS}"
# The name of the library as the source of events.
_EVENT_SOURCE = "ctxmetrics"
# The attribute of each field of the provenance. The conventions have no names for them yet.
_PROVENANCE_ATTRIBUTES: Mapping[str, str] = {
    "judge": "ctxmetrics.judge",
    "served_model": "ctxmetrics.served_model",
    "prompt": "ctxmetrics.prompt",
    "splitter": "ctxmetrics.splitter",
    "formula": "ctxmetrics.formula",
    "convention": "ctxmetrics.convention",
    "library": "ctxmetrics.library",
}
# An id that this library gives to a sentence, fact, claim or context: s1, c12.
_OWN_ID_PATTERN = re.compile(r"[a-z]\d+")
# The maximum number of characters of an explanation.
_MAX_EXPLANATION_CHARACTERS = 4_000
# The maximum number of ids of negative verdicts that an explanation names.
_MAX_IDS_NAMED = 20

# Two events about one span or sample are different if one of these attributes differs.
_IDENTIFYING_ATTRIBUTES = (
    "gen_ai.evaluation.name",
    "ctxmetrics.convention",
    "ctxmetrics.judge",
    "ctxmetrics.prompt",
)

Attribute: TypeAlias = "str | float | bool | int"


def build_attributes(score: Score, *, keep_texts: bool = False) -> dict[str, Attribute]:
    """Build the attributes of a score's event.

    Args:
        score: The score.
        keep_texts: Whether the explanation holds texts and quotes; else counts and ids of sentences and contexts.
    """
    attributes: dict[str, Attribute] = {"gen_ai.evaluation.name": score.metric}
    if score.value is not None:
        attributes["gen_ai.evaluation.score.value"] = float(score.value)
    if score.passed is not None:
        attributes["gen_ai.evaluation.score.label"] = "pass" if score.passed else "fail"
    if score.reason_code in FAILURES:
        attributes["error.type"] = str(score.reason_code)
    elif score.reason_code is not None:
        attributes["ctxmetrics.reason_code"] = score.reason_code
    explanation = score.reason if keep_texts else _describe_without_texts(score)
    if explanation:
        attributes["gen_ai.evaluation.explanation"] = explanation[:_MAX_EXPLANATION_CHARACTERS]
    for field, name in _PROVENANCE_ATTRIBUTES.items():
        value = getattr(score.provenance, field)
        if value:
            attributes[name] = str(value)
    attributes["ctxmetrics.scale"] = float(get_convention(score.provenance.convention).scale)
    attributes["ctxmetrics.corrected"] = False  # labels correct a mean, never the score of a sample
    if score.sample_id is not None:
        attributes["ctxmetrics.sample_id"] = score.sample_id
    if score.doubtful:
        attributes["ctxmetrics.doubtful"] = sum(score.doubtful.values())
    return {
        name: hide_keys(value) if isinstance(value, str) else value
        for name, value in attributes.items()
    }


def _describe_without_texts(score: Score) -> str:
    """Say how many verdicts are positive, and name the ids of the negative ones."""
    count = score.count or ""
    missed = [verdict for verdict in score.verdicts if verdict.value is False and verdict.weight]
    missed_ids = [verdict.id for verdict in missed if _OWN_ID_PATTERN.fullmatch(verdict.id)]
    if not missed_ids:
        return count
    text = f"{count}; no: {', '.join(missed_ids[:_MAX_IDS_NAMED])}"
    not_named = len(missed_ids) - _MAX_IDS_NAMED
    return f"{text} and {not_named} more" if not_named > 0 else text


def identify(attributes: Mapping[str, Attribute], spans: SpanIds | None) -> str | None:
    """Build the identifier of an event. Events of one span, metric, judge and prompt have one identifier.

    So a store can replace an earlier event.

    Returns:
        The identifier; None if neither a span nor the sample has an id.
    """
    sample_id = attributes.get("ctxmetrics.sample_id")
    if spans is not None:
        values: list[Attribute | None] = [spans.trace_id, spans.target]
    elif sample_id is not None:
        values = [sample_id]
    else:
        return None
    values += [attributes.get(name) for name in _IDENTIFYING_ATTRIBUTES]
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Telemetry:
    """Sends scores as events.

    Attributes:
        logger: A logger of OpenTelemetry.
        keep_texts: Whether events hold texts and quotes.
    """

    logger: Any
    keep_texts: bool = False

    def send(self, score: Score, metadata: Mapping[str, Any]) -> None:
        """Send a score. The score of a sample that the run did not reach is not sent.

        Args:
            score: The score.
            metadata: The metadata of the sample. A reader of traces stores the ids of the spans there.
        """
        from opentelemetry import trace
        from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

        if score.reason_code == "cancelled":
            return
        attributes = build_attributes(score, keep_texts=self.keep_texts)
        spans = read_span_ids(metadata)
        identifier = identify(attributes, spans)
        if identifier is not None:
            attributes["ctxmetrics.event_id"] = identifier
        if spans is None:
            tracer = trace.get_tracer(_EVENT_SOURCE)
            with tracer.start_as_current_span(f"evaluate {score.metric}") as span:
                self._emit(trace.set_span_in_context(span), attributes)
            return
        context = SpanContext(
            int(spans.trace_id, 16),
            int(spans.target, 16),
            is_remote=True,
            trace_flags=TraceFlags(TraceFlags.SAMPLED),
        )
        self._emit(trace.set_span_in_context(NonRecordingSpan(context)), attributes)

    def _emit(self, context: Any, attributes: Mapping[str, Attribute]) -> None:
        """Send one event to OpenTelemetry."""
        from opentelemetry._logs import LogRecord, SeverityNumber

        failed = "error.type" in attributes
        now = time.time_ns()
        self.logger.emit(
            LogRecord(
                timestamp=now,
                observed_timestamp=now,
                context=context,
                severity_number=SeverityNumber.WARN if failed else SeverityNumber.INFO,
                attributes=dict(attributes),
                event_name=EVENT,
            )
        )


def open_telemetry(telemetry: Any, *, keep_texts: bool = False) -> Telemetry | None:
    """Open the logger that events are sent to.

    Args:
        telemetry: A ``LoggerProvider`` of OpenTelemetry; True: the one of this process; None or False: nothing is sent.
        keep_texts: Whether events hold texts and quotes.

    Raises:
        MissingExtraError: OpenTelemetry is not installed, or has no log records with a name.
        ParameterError: This process has no provider, so that events would be lost; or ``telemetry`` is no provider.
    """
    if telemetry is None or telemetry is False:
        return None
    with importing("opentelemetry-sdk", "1.39 or newer", also="opentelemetry"):
        from opentelemetry import _logs
        from opentelemetry._logs import LoggerProvider, NoOpLoggerProvider
        from opentelemetry._logs._internal import ProxyLoggerProvider
    if telemetry is True:
        telemetry = _logs.get_logger_provider()
        if isinstance(telemetry, (ProxyLoggerProvider, NoOpLoggerProvider)):
            raise ParameterError(
                "telemetry=True: OpenTelemetry has no LoggerProvider in this process, so that nothing would be sent. Call "
                "opentelemetry._logs.set_logger_provider(..) first, or give telemetry=PROVIDER."
            )
    if not isinstance(telemetry, LoggerProvider):
        raise ParameterError(
            f"telemetry={type(telemetry).__name__} must be True or a LoggerProvider of OpenTelemetry."
        )
    logger = telemetry.get_logger(_EVENT_SOURCE, schema_url=_SCHEMA_ADDRESS)
    return Telemetry(logger, keep_texts=keep_texts)
