"""Spans of model calls: names and counts, never contents."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("opentelemetry.sdk", reason="the SDK of OpenTelemetry is not installed")

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from ctxmetrics import ContextPrecision, ContextRecall, LLMJudge, OpenAIModel, Sample, ScriptedJudge
from ctxmetrics.models import model_requests as asking
from ctxmetrics.models.runtime import run
from support import FakeOpenAIServer, Fault, answer_from

SAMPLE = Sample(
    user_input="Wherewithal question?",
    reference="Theunit is greenish.",
    retrieved_contexts=["Thecontext: Theunit is greenish."],
)
CONTENTS = (
    "Wherewithal",
    "Theunit",
    "greenish",
    "Thecontext",
    "You check",
    "nonce",
    "sk-telemetry-key",
)


@pytest.fixture
def spans(monkeypatch):
    monkeypatch.setattr(run, "_process_run", run.Run())
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(asking, "_tracer", lambda: provider.get_tracer("ctxmetrics"))
    return exporter.get_finished_spans


def judged(server, **options):
    return LLMJudge(
        OpenAIModel("gpt-test", base_url=server.base_url, api_key="sk-telemetry-key"), **options
    )


def test_one_span_a_call_with_the_genai_names(spans):
    with FakeOpenAIServer(answer_from()) as server:
        assert ContextRecall(judge=judged(server)).score(SAMPLE).value == 1.0
        usage = ContextPrecision(judge=judged(server)).score(SAMPLE).usage
        asked = server.requests[0]
    assert usage.reused == 1  # no second request, no second span
    (span,) = spans()
    assert (span.name, span.kind) == ("chat gpt-test", SpanKind.CLIENT)
    tokens = -(-sum(len(message["content"]) for message in asked.messages) // 4)
    answer = -(-len(answer_from()(asked)) // 4)
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-test",
        "gen_ai.output.type": "json",
        "gen_ai.usage.input_tokens": tokens,
        "gen_ai.usage.output_tokens": answer,
        "ctxmetrics.step": "joint",
        "ctxmetrics.prompt": "joint-en-3",
        "ctxmetrics.attempt": 0,
        "ctxmetrics.vote": 0,
    }
    assert span.status.status_code is StatusCode.UNSET


@pytest.mark.parametrize(
    ("fault", "code", "tokens"),
    [("500", "server_error", False), ("hang", "timeout", False), ("length", "truncated", True)],
)
def test_a_failed_call_says_its_code_and_nothing_more(spans, fault, code, tokens):
    with FakeOpenAIServer(answer_from(), faults=[Fault(fault, times=1)]) as server:
        model = OpenAIModel("gpt-test", base_url=server.base_url, timeout=5 if fault == "hang" else 60)
        assert ContextRecall(judge=LLMJudge(model)).score(SAMPLE).value == 1.0
    first, second, *_ = spans()
    assert first.attributes["error.type"] == code
    assert first.status.status_code is StatusCode.ERROR
    assert first.status.description is None
    assert ("gen_ai.usage.input_tokens" in first.attributes) is tokens
    assert "error.type" not in second.attributes


def test_no_span_holds_contents_or_the_key(spans):
    with FakeOpenAIServer(
        answer_from(), faults=[Fault("refusal_field", every=2), Fault("500", every=3)]
    ) as server:
        ContextRecall(judge=judged(server, votes=5)).score(SAMPLE)
    assert len(spans()) >= 5
    assert {span.attributes["ctxmetrics.vote"] for span in spans()} == {0, 1, 2, 3, 4}
    for span in spans():
        assert not span.events
        text = span.to_json()
        assert not [word for word in CONTENTS if word in text]


def test_any_model_is_traced_by_its_identity(spans):
    judge = ScriptedJudge(answer_from(), name="somebody/script")
    ContextRecall(judge=judge).score(SAMPLE)
    (span,) = spans()
    assert span.name == "chat script"
    assert span.attributes["gen_ai.provider.name"] == "somebody"
    assert "gen_ai.usage.input_tokens" not in span.attributes  # nobody counted


def test_spans_are_children_of_the_callers(spans):
    tracer = asking._tracer()
    with FakeOpenAIServer(answer_from()) as server, tracer.start_as_current_span("mine") as mine:
        ContextRecall(judge=judged(server)).score(SAMPLE)
    (span,) = [span for span in spans() if span.name.startswith("chat")]
    assert span.parent.span_id == mine.get_span_context().span_id


def test_without_opentelemetry_nothing_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    asking._tracer.cache_clear()
    try:
        assert asking._tracer() is None
        assert (
            ContextRecall(judge=ScriptedJudge(answer_from(), name="quiet")).score(SAMPLE).value == 1.0
        )
    finally:
        asking._tracer.cache_clear()
