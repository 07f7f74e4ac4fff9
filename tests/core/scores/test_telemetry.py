"""Scores as events of OpenTelemetry: what an event holds, on which span it stands, and what never leaves."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from threading import Thread

import pytest

from support.loopback import LoopbackServer

pytest.importorskip("opentelemetry.sdk._logs", reason="the SDK of OpenTelemetry is not installed")
_export = pytest.importorskip("opentelemetry.sdk._logs.export")
if not hasattr(_export, "InMemoryLogRecordExporter"):
    pytest.skip("the extra otel needs a newer SDK", allow_module_level=True)

from opentelemetry import _logs, trace
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    IDBasedContextRecall,
    Results,
    Sample,
    Score,
    Verdict,
    evaluate,
    read_samples,
)
from ctxmetrics.errors import ParameterError
from ctxmetrics.samples.span_ids import build_span_ids
from ctxmetrics.scores.score import Provenance
from ctxmetrics.scores.telemetry import CONVENTIONS, EVENT, build_attributes, open_telemetry
from support.command import run_command
from support.openinference_tracer import make_tracer

TRACE, ROOT, RETRIEVER, OTHER = (
    "0af7651916cd43dd8448eb211c80319c",
    "b7ad6b7169203331",
    "00f067aa0ba902b7",
    "53995c3f42cd8ad8",
)
QUESTION, CONTEXT = "Which colour is the car?", "Thecontext says that the car is red."
SECRET_WORDS = ("Thecontext", "Theunit", "Which colour")
SAMPLE = Sample(
    id="a",
    user_input=QUESTION,
    reference="The car is red. Theunit weighs twelve tons.",
    retrieved_contexts=[CONTEXT],
    metadata={"trace_spans": {"trace_id": TRACE, "root": ROOT, "retrievers": [RETRIEVER]}},
)


class Sent(LoggerProvider):
    """A provider that keeps what it is given."""

    def __init__(self):
        super().__init__()
        self._exporter = InMemoryLogRecordExporter()
        self.add_log_record_processor(SimpleLogRecordProcessor(self._exporter))

    def records(self):
        return [item.log_record for item in self._exporter.get_finished_logs()]

    def scopes(self):
        return [item.instrumentation_scope for item in self._exporter.get_finished_logs()]


@pytest.fixture
def sent():
    return Sent()


def place(record):
    return f"{record.trace_id:032x}", f"{record.span_id:016x}"


def test_event_has_the_names_of_the_conventions(sent):
    evaluate([SAMPLE], [ContextRecall(threshold=0.9)], telemetry=sent, progress=False)
    (record,) = sent.records()
    assert (record.event_name, place(record)) == (EVENT, (TRACE, RETRIEVER))
    assert record.attributes["gen_ai.evaluation.name"] == "context_recall"
    assert record.attributes["gen_ai.evaluation.score.value"] == 0.5
    assert record.attributes["gen_ai.evaluation.score.label"] == "fail"
    explanation = record.attributes["gen_ai.evaluation.explanation"]
    assert explanation == "1 of 2 sentences supported; no: s2"
    assert record.attributes["ctxmetrics.judge"] == "lexical"
    assert record.attributes["ctxmetrics.library"].startswith("ctxmetrics ")
    assert record.attributes["ctxmetrics.corrected"] is False
    assert "error.type" not in record.attributes
    (scope,) = sent.scopes()
    assert scope.schema_url == f"https://opentelemetry.io/schemas/gen-ai/{CONVENTIONS}"


def test_nothing_is_sent_unless_asked(sent, monkeypatch):
    monkeypatch.setattr(_logs, "get_logger_provider", lambda: sent)
    evaluate([SAMPLE], [ContextRecall()], progress=False)
    ContextRecall().score(SAMPLE)
    assert sent.records() == []
    evaluate([SAMPLE], [ContextRecall()], telemetry=True, progress=False)
    assert len(sent.records()) == 1


def test_texts_leave_only_with_keep_texts(sent):
    metrics = [ContextRecall(), ContextPrecision()]
    evaluate([SAMPLE], metrics, telemetry=sent, progress=False)
    plain = json.dumps([dict(record.attributes) for record in sent.records()])
    assert not [word for word in SECRET_WORDS if word in plain]
    evaluate([SAMPLE], metrics, telemetry=sent, keep_texts=True, progress=False)
    assert "Theunit weighs twelve tons" in sent.records()[2].attributes["gen_ai.evaluation.explanation"]


def test_missing_value_is_no_zero(sent):
    samples = [SAMPLE, Sample(id="b", reference="", retrieved_contexts=[CONTEXT])]
    evaluate(samples, [ContextRecall()], telemetry=sent, progress=False)
    attributes = sent.records()[1].attributes
    assert "gen_ai.evaluation.score.value" not in attributes
    assert attributes["ctxmetrics.reason_code"] == "no_reference"
    assert "error.type" not in attributes


@pytest.mark.parametrize("code", ["not_judged", "metric_error", "retriever_error"])
def test_failure_has_its_type_and_a_warning(sent, code):
    score = Score(metric="context_recall", value=None, reason_code=code, message=f"{QUESTION} failed")
    telemetry = open_telemetry(sent)
    assert telemetry is not None
    telemetry.send(score, {})
    (record,) = sent.records()
    assert record.attributes["error.type"] == code
    assert record.severity_number.name == "WARN"
    assert "gen_ai.evaluation.score.value" not in record.attributes
    assert QUESTION not in json.dumps(dict(record.attributes))


def test_sample_that_was_not_reached_is_no_event(sent):
    telemetry = open_telemetry(sent)
    assert telemetry is not None
    telemetry.send(Score(metric="context_recall", value=None, reason_code="cancelled"), {})
    assert sent.records() == []


def test_ids_of_documents_are_not_named(sent):
    sample = Sample(reference_context_ids=["secret-file.pdf", "b"], retrieved_context_ids=["b"])
    evaluate([sample], [IDBasedContextRecall()], telemetry=sent, progress=False)
    (record,) = sent.records()
    assert record.attributes["gen_ai.evaluation.score.value"] == 0.5
    assert "secret-file" not in json.dumps(dict(record.attributes))


def test_event_of_a_sample_without_span_stands_on_our_own(sent, monkeypatch):
    tracer = TracerProvider().get_tracer("test")
    monkeypatch.setattr(trace, "get_tracer", lambda *_: tracer)
    evaluate(
        [Sample(reference="It is red.", retrieved_contexts=["It is red."])],
        [ContextRecall()],
        telemetry=sent,
        progress=False,
    )
    (record,) = sent.records()
    assert record.trace_id != 0
    assert record.span_id != 0
    assert "ctxmetrics.event_id" not in record.attributes


def test_identifier_is_that_of_span_metric_and_judge(sent):
    for _ in range(2):
        evaluate([SAMPLE], [ContextRecall(), ContextRecall(top_k=1)], telemetry=sent, progress=False)
    first, other, again, _ = (record.attributes["ctxmetrics.event_id"] for record in sent.records())
    assert first == again != other


def test_results_of_a_run_are_sent_afterwards(sent, tmp_path):
    results = evaluate([SAMPLE], [ContextRecall()], progress=False)
    assert results.to_telemetry(sent) == 1
    path = tmp_path / "r.jsonl"
    results.to_jsonl(path)
    assert Results.from_jsonl(path).to_telemetry(sent) == 1
    assert [place(record) for record in sent.records()] == [(TRACE, RETRIEVER)] * 2


def test_provider_that_is_missing_is_named():
    with pytest.raises(ParameterError, match="no LoggerProvider in this process"):
        evaluate([SAMPLE], [ContextRecall()], telemetry=True)
    with pytest.raises(ParameterError, match="telemetry=str must be True or a LoggerProvider"):
        evaluate([SAMPLE], [ContextRecall()], telemetry="yes")


def test_keys_are_masked_in_attributes():
    key = "sk-proj-4fGh1Jd6Rb3Nc5Yu2Oi8Aa0Ee9Hm7Bn1"
    score = Score(
        metric="context_recall",
        value=1.0,
        sample_id=f"row {key}",
        verdicts=(Verdict(id="s1", value=False, text=f"a text with {key}"),),
        provenance=Provenance(judge=f"openai/{key}", served_model=key, prompt=key, library=key),
    )
    for keep_texts in (False, True):
        assert key not in json.dumps(build_attributes(score, keep_texts=keep_texts))


# --- ids of spans ---


@pytest.mark.parametrize(
    ("written", "span"),
    [
        (TRACE, ROOT),
        (f"0x{TRACE}", f"0x{ROOT}"),
        (TRACE.upper(), ROOT.upper()),
        (f"tr-{TRACE}", ROOT),
        ("CvdlGRbNQ92ESOshHIAxnA==", "t61rcWkgMzE="),  # MLflow's and protobuf's JSON
    ],
)
def test_ids_are_read_as_systems_write_them(written, span):
    ids = build_span_ids(written, span, [span])
    assert ids is not None
    assert (ids.trace_id, ids.root, ids.target) == (TRACE, ROOT, ROOT)


@pytest.mark.parametrize(
    ("written", "span"),
    [
        ("t", "root"),
        (None, ROOT),
        (TRACE, None),
        ("0" * 32, ROOT),
        (TRACE, "0" * 16),
        ("0af76519-16cd-43dd-8448-eb211c80319c", "b7ad6b71-6920-3331-0000-000000000000"),  # LangSmith's
        (7, 8),
    ],
)
def test_other_ids_are_none(written, span):
    assert build_span_ids(written, span, []) is None


def spans(*retrievers):
    rows = [
        {
            "name": "app", "context": {"trace_id": f"0x{TRACE}", "span_id": f"0x{ROOT}"}, "parent_id": None,
            "start_time": "2026-01-01T00:00:00Z",
            "attributes": {"openinference.span.kind": "CHAIN", "input.value": QUESTION, "output.value": "Red."},
        },
    ]  # fmt: skip
    for number, (kind, span_id, query) in enumerate(retrievers, 1):
        name = "retrieval" if kind == "RETRIEVER" else "reranker.output"
        rows.append(
            {
                "name": f"step {number}", "context": {"trace_id": f"0x{TRACE}", "span_id": f"0x{span_id}"},
                "parent_id": f"0x{ROOT}", "start_time": f"2026-01-01T00:00:0{number}Z",
                "end_time": f"2026-01-01T00:00:0{number}Z",
                "attributes": {
                    "openinference.span.kind": kind, "input.value": query,
                    f"{name.replace('.output', '')}.{'output_' if kind == 'RERANKER' else ''}documents.0.document.content": CONTEXT,
                },
            }
        )  # fmt: skip
    return rows


@pytest.mark.parametrize(
    ("retrievers", "target"),
    [
        ([("RETRIEVER", RETRIEVER, QUESTION)], RETRIEVER),
        ([("RETRIEVER", RETRIEVER, QUESTION), ("RERANKER", OTHER, QUESTION)], OTHER),
        ([("RETRIEVER", RETRIEVER, "car colour"), ("RETRIEVER", OTHER, "car paint")], ROOT),
        ([("RETRIEVER", RETRIEVER, "car colour"), ("RETRIEVER", "step-2", "car paint")], ROOT),
    ],
    ids=["one retriever", "its reranker", "two searches", "an id that is not read"],
)
def test_event_stands_on_the_span_that_handed_on(sent, tmp_path, retrievers, target):
    path = tmp_path / "spans.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in spans(*retrievers)))
    (sample,) = read_samples(path)
    sample = Sample.from_dict({**sample.to_dict(), "reference": "The car is red."})
    evaluate([sample], [ContextRecall()], telemetry=sent, progress=False)
    assert [place(record) for record in sent.records()] == [(TRACE, target)]


def test_recorded_span_gives_the_same_score_and_has_the_event(sent, tmp_path):
    """OpenInference's own tracer writes the spans; our reader makes the sample of them."""
    openinference, tracer, read_spans = make_tracer()
    texts = ["Filters are washed.", CONTEXT]
    with tracer.start_as_current_span("app", openinference_span_kind="chain") as root:
        root.set_input(QUESTION)
        with tracer.start_as_current_span("search", openinference_span_kind="retriever") as span:
            documents = [openinference.Document(content=text) for text in texts]
            span.set_attributes(openinference.get_retriever_attributes(documents=documents))
            context = span.get_span_context()
    path = tmp_path / "spans.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in read_spans()))
    (read,) = read_samples(path)
    reference = "The car is red. Theunit weighs twelve tons."
    direct = Sample(user_input=QUESTION, reference=reference, retrieved_contexts=texts)
    metrics = [ContextRecall(), ContextPrecision()]
    traced = replace(read, reference=reference)
    results = evaluate([traced, direct], metrics, telemetry=sent, progress=False)
    assert [score.value for score in results[0].values()] == [0.5, 0.5]
    assert [score.value for score in results[1].values()] == [0.5, 0.5]
    ids = f"{context.trace_id:032x}", f"{context.span_id:016x}"
    assert [place(record) for record in sent.records()][:2] == [ids, ids]
    values = [record.attributes["gen_ai.evaluation.score.value"] for record in sent.records()]
    assert values == [0.5] * 4


# --- the command, with a collector ---


class Collector:
    """Takes OTLP over HTTP; refuses all where it is told to."""

    def __init__(self, status=200, pause=0.0):
        self.bodies = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                collector.bodies.append((self.path, body))
                time.sleep(pause)
                self.send_response(status)
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = LoopbackServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self):
        self._thread.start()
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def events(self):
        from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

        found = []
        for path, body in self.bodies:
            if path.endswith("/v1/logs"):
                request = ExportLogsServiceRequest.FromString(body)
                for resource in request.resource_logs:
                    found += [item for scope in resource.scope_logs for item in scope.log_records]
        return found


def trace_file(folder):
    path = folder / "spans.jsonl"
    rows = spans(("RETRIEVER", RETRIEVER, QUESTION))
    rows[0]["expected_output"] = "The car is red. Theunit weighs twelve tons."
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.slow
def test_no_event_is_dropped_where_the_collector_is_slow(tmp_path, monkeypatch):
    path = tmp_path / "ids.jsonl"
    row = {"retrieved_context_ids": ["a"], "reference_context_ids": ["a"]}
    path.write_text((json.dumps(row) + "\n") * 6_000)
    with Collector(pause=0.2) as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        run = run_command("score", str(path), "--metric", "id_based_context_recall", "--otel")
    assert run.returncode == 0, run.stderr
    assert "telemetry: 6000 events sent" in run.stderr


@pytest.mark.parametrize(("status", "code"), [(200, 0), (400, 3)])
def test_command_sends_the_scores_of_a_trace(tmp_path, monkeypatch, status, code):
    with Collector(status) as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        words = ("score", str(trace_file(tmp_path)), "--metric", "context_recall")
        assert run_command(*words).returncode == 0
        assert collector.bodies == []
        run = run_command(*words, "--otel")
        (event,) = collector.events()
    assert run.returncode == code, run.stderr
    assert event.event_name == EVENT
    assert (event.trace_id.hex(), event.span_id.hex()) == (TRACE, RETRIEVER)
    assert not any(word in str(event) for word in SECRET_WORDS)
    if code:
        assert "1 event of --otel cannot be written" in run.stderr
    else:
        assert "telemetry: 1 event sent" in run.stderr
