"""A server that repeats the key, whole, in part and escaped: none of it is in anything that a run leaves, on any path.

The server is real, and so is each framework's client. What is looked for is found by this file's own decoding.
"""

from __future__ import annotations

import base64
import html
import json
import logging
import os
import pickle
import re
import sqlite3
import subprocess
import sys
import threading
import traceback
import warnings
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler
from itertools import count
from types import SimpleNamespace
from urllib.parse import quote, unquote

import pytest

from support import missing
from support.loopback import LoopbackServer

if names := missing(
    "opentelemetry", "openai", "ragas", "deepeval", "langchain_openai", "mlflow", "pydantic_evals"
):
    pytest.skip(f"not installed: {names}", allow_module_level=True)


from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ctxmetrics import ContextPrecision, ContextRecall, LLMJudge, OpenAIModel, Sample, evaluate
from ctxmetrics.adapting.runners import isolated_process
from ctxmetrics.judges.llm.judge import forget
from ctxmetrics.models import model_requests as asking
from support import answer_from
from support.chat import Reply, completion, parse_chat

KEY = 'Zq8/with+plus==9"amp&x7Kp2vLm0Tt4'
"""Of no provider's form, with every character that URLs, JSON and HTML escape."""
BODY = "4fGh1Jd6Rb3Nc5Yu2Oi8Aa0Ee9Hm7Bn1"
PROVIDERS_KEY = f"sk-proj-{BODY}"
"""What an address or a model's name may hold by mistake: it is a key by its form."""
SHORTEST = 8
FORMS = {
    "whole": KEY,
    "header": f"Authorization: Bearer {KEY}",
    "without its end": KEY[:-5],
    "without its beginning": KEY[5:],
    "in two parts": f"{KEY[:14]}***{KEY[14:]}",
    "for a URL": quote(KEY, safe=""),
    "for a URL, twice": quote(quote(KEY, safe="")),
    "for JSON": json.dumps(KEY),
    "for JSON, twice": json.dumps(json.dumps(KEY)),
    "for JSON, with slashes": KEY.replace("/", "\\/").replace("&", "\\u0026").replace("+", "\\u002B"),
    "for HTML": html.escape(KEY),
    "for HTML, by number": "".join(f"&#{ord(character)};" for character in KEY),
    "in Base64": base64.b64encode(KEY.encode()).decode(),
    "in Base64, after a name": base64.b64encode(f"me:{KEY}".encode()).decode(),
    "cut and escaped": quote(KEY[3:-3], safe=""),
}
COUNT = len(FORMS)
SAMPLES = [
    Sample(
        id=number,
        user_input=f"Which colour is door {number}?",
        response="It is green.",
        reference=f"Door {number} is green. It weighs 40 kilos.",
        retrieved_contexts=["Birds sing.", f"Door {number} is green since 1999."],
    )
    for number in range(2 * COUNT)
]


# MLflow records what the openai client receives by itself, before this library reads it, in this file or as a span of its
# store; docs/security.md says so.
MLFLOW_TRACE = "traces.json"


# ---- what is looked for ----


def finds(text, key=KEY):
    """Every part of a key, of eight characters or more, that a text or any reading of it holds."""
    readings, last = {text}, {text}
    for _ in range(4):
        last = {read(one) for one in last for read in (unquote, html.unescape, _unescaped)} - readings
        readings |= last
    for piece in re.findall(r"[A-Za-z0-9+/_-]{12,}", text):
        for start in range(4):
            part = piece[start:].replace("-", "+").replace("_", "/")
            decoded = base64.b64decode(part[: len(part) // 4 * 4]).decode("latin-1")
            readings.add(decoded)
    parts = [key[at : at + SHORTEST] for at in range(len(key) - SHORTEST + 1)]
    return [part for part in parts if any(part in reading for reading in readings)]


def _unescaped(text):
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match.group(1), 16)), text)
    return re.sub(r"\\(.)", r"\1", text)


@pytest.mark.parametrize("form", FORMS)
def test_the_search_finds_every_form(form):
    assert finds(f"before {FORMS[form]} after")
    assert not finds(f"before {KEY[:7]} {KEY[-7:]} [key] after")


# ---- the server ----


@contextmanager
def telling():
    """A server that answers one request in four well, and repeats the key in every answer, each time in another form.

    In turn: a reply with the key in its reasons, a refusal in JSON, one as a page, and an error with status 200. The reply
    is first: later ones may never be asked for, where many failures come in a row.
    """
    honest = answer_from(
        supported=lambda unit, _: "green" in unit, useful=lambda text, _: "green" in text
    )
    asked = []
    # Two threads never take one number: a good answer would be left out, and more failures would come in a row.
    numbers = count()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            assert self.headers["authorization"] == f"Bearer {KEY}"
            number = next(numbers)
            asked.append(self.path)
            form = list(FORMS.values())[number // 4 % COUNT]
            model = json.loads(body)["model"]
            message = f"Incorrect API key provided: {form}. No model {model} at {self.path}."
            error = json.dumps({"error": {"message": message, "code": "invalid_api_key", "type": "x"}})
            self.answer(
                *(
                    lambda: (200, self.reply(body, message)),
                    lambda: (401, error),
                    lambda: (403, f"<html><body>{message}</body></html>"),
                    lambda: (200, error),
                )[number % 4]()
            )

        def reply(self, body, message):
            request = parse_chat(body, {})
            answer = json.loads(honest(request))
            for cell in {**answer.get("sentences", {}), **answer.get("useful", {})}.values():
                cell["reason"] = message
            return json.dumps(completion(request, Reply(content=json.dumps(answer))))

        def answer(self, status, text):
            self.send_response(status)
            self.send_header("content-type", "text/html" if text[:1] == "<" else "application/json")
            self.send_header("content-length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    server = LoopbackServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield SimpleNamespace(
            base_url=f"http://127.0.0.1:{server.server_port}/v1",
            model="m",
            make_model=_own_model,
            asked=asked,
        )
    finally:
        server.shutdown()
        server.server_close()


# ---- the paths; each gives what its run leaves ----


def _own_model(server):
    return OpenAIModel(server.model, base_url=server.base_url, api_key=KEY)


def _langchain_model(server):
    from ctxmetrics_langchain import ChatModel

    return ChatModel(_chat_model(server))


def _left(results):
    for row in results:
        for score in row.values():
            yield from (score.to_dict(), repr(score), score.pretty(), score.reason, score.message)
            yield pickle.dumps(score).decode("latin-1")
    yield from (
        repr(results),
        str(results.summary()),
        str(results.stopped),
        results.to_pandas().to_dict(),
        _events(results),
    )


def _events(results):
    """Return the events of a run with all their texts."""
    exporter, provider = InMemoryLogRecordExporter(), LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    assert results.to_telemetry(provider, keep_texts=True) > 0
    return [dict(item.log_record.attributes) for item in exporter.get_finished_logs()]


def _core(server, folder):
    judge = LLMJudge(server.make_model(server), keep_raw=True)
    metrics, cache = [ContextRecall(), ContextPrecision()], folder / "cache"
    results = evaluate(SAMPLES, metrics, judge=judge, cache=cache, progress=False)
    results.to_html(folder / "report.html")
    results.to_jsonl(folder / "rows.jsonl")
    yield from _left(results)
    forget()
    yield from _left(
        evaluate(SAMPLES, metrics, judge=judge, cache=cache, progress=False)
    )  # from the cache, too


def _cli(server, folder):
    rows = [sample.to_dict() for sample in SAMPLES]
    (folder / "in.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    done = subprocess.run(
        f"{sys.executable} -m ctxmetrics score in.jsonl --judge openai/{server.model} --base-url {server.base_url} --out out.jsonl "
        "--report report.html --cache cache".split(),
        cwd=folder,
        env={**os.environ, "OPENAI_API_KEY": KEY},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (folder / "report.html").exists() or done.returncode == 3, done.stderr
    return [done.stdout, done.stderr]


def _ragas_instructor(server):
    from openai import AsyncOpenAI
    from ragas.llms import llm_factory

    return llm_factory(
        server.model, client=AsyncOpenAI(base_url=server.base_url, api_key=KEY, max_retries=0)
    )


def _ragas_langchain(server):
    from ragas.llms import LangchainLLMWrapper

    return LangchainLLMWrapper(_chat_model(server))


def _ragas(llm_of):
    def scored(server, folder):
        from ragas import EvaluationDataset, RunConfig, SingleTurnSample, evaluate

        import ctxmetrics_ragas

        del folder
        fields = [
            {name: value for name, value in sample.to_dict().items() if name != "id"}
            for sample in SAMPLES
        ]
        metrics = [ctxmetrics_ragas.ContextRecall(llm=llm_of(server))]
        config = RunConfig(max_retries=1)
        dataset = EvaluationDataset([SingleTurnSample(**row) for row in fields])
        found = evaluate(dataset, metrics=metrics, show_progress=False, run_config=config)
        yield from (repr(found), found.to_pandas().to_dict(), [repr(trace) for trace in found.traces])
        for result in ctxmetrics_ragas.ContextRecall(llm=llm_of(server)).batch_score(fields):
            yield from (repr(result), result.reason, pickle.dumps(result).decode("latin-1"))

    return scored


def _deepeval(server, folder):
    from deepeval import evaluate
    from deepeval.evaluate.configs import CacheConfig, DisplayConfig, ErrorConfig
    from deepeval.models import LocalModel
    from deepeval.test_case import LLMTestCase

    from ctxmetrics_deepeval import ContextPrecisionMetric, ContextRecallMetric

    del folder
    cases = [
        LLMTestCase(
            input=sample.user_input,
            actual_output=sample.response,
            expected_output=sample.reference,
            retrieval_context=list(sample.retrieved_contexts),
            name=str(sample.id),
        )
        for sample in SAMPLES
    ]
    model = LocalModel(model=server.model, base_url=server.base_url, api_key=KEY)
    metrics = [ContextRecallMetric(model=model), ContextPrecisionMetric(model=model)]
    found = evaluate(
        cases,
        metrics,
        cache_config=CacheConfig(write_cache=False),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
        error_config=ErrorConfig(ignore_errors=True),
    )
    yield from (repr(found), found.model_dump(), pickle.dumps(found).decode("latin-1"))
    metric = ContextRecallMetric(
        model=LocalModel(model=server.model, base_url=server.base_url, api_key=KEY)
    )
    try:
        metric.measure(cases[0], _show_indicator=False)
    except Exception as error:  # noqa: BLE001 - whatever it raises is looked at
        yield "".join(traceback.format_exception(error))
    yield from (repr(metric.reason), repr(metric.error), repr(metric.verbose_logs))


def _chat_model(server):
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model=server.model, base_url=server.base_url, api_key=KEY, max_retries=0)


def _record(sample):
    return {
        "inputs": {"question": sample.user_input},
        "outputs": {"answer": sample.response, "documents": list(sample.retrieved_contexts)},
    }


def _langsmith(server, folder):
    from uuid import UUID

    from langsmith import Client, evaluate, tracing_context
    from langsmith.schemas import Example

    from ctxmetrics_langchain import ContextRecallEvaluator

    class _Offline(Client):
        def __init__(self):
            super().__init__(api_key="none", api_url="http://127.0.0.1:9", auto_batch_tracing=False)

        def create_run(self, *_, **__):
            pass

        update_run = create_run

    del folder
    examples = [
        Example(
            id=UUID(int=int(sample.id)),
            inputs={"question": sample.user_input, "n": int(sample.id)},
            outputs={"reference": sample.reference},
        )
        for sample in SAMPLES
    ]
    with tracing_context(enabled=False), pytest.MonkeyPatch.context() as patch:
        # LangChain traces a judge's calls with a client of its own; what it sends is LangSmith's.
        patch.setattr("langchain_core.tracers.langchain.get_client", _Offline)
        rows = evaluate(
            lambda inputs: _record(SAMPLES[inputs["n"]])["outputs"],
            examples,
            [ContextRecallEvaluator(judge=_chat_model(server))],
            upload_results=False,
            client=_Offline(),
        )
        for row in rows:
            yield [repr(result) for result in row["evaluation_results"]["results"]]


def _lcel(server, folder):
    from langsmith import tracing_context

    from ctxmetrics_langchain import ContextRecallEvaluator

    del folder
    runnable = ContextRecallEvaluator(judge=_chat_model(server)).as_runnable()
    with tracing_context(enabled=False):
        rows = runnable.batch([sample.to_dict() for sample in SAMPLES], return_exceptions=True)
    for row in rows:
        yield from (
            repr(row),
            "".join(traceback.format_exception(row)) if isinstance(row, Exception) else row,
        )


# See MLFLOW_TRACE: MLflow's spans of the clients, and the inputs of a trace that is a client's alone.
_WITHOUT_CLIENTS = """
CREATE TEMP TABLE clients AS SELECT * FROM spans WHERE name IN ('AsyncCompletions', 'ChatOpenAI');
DELETE FROM trace_request_metadata WHERE key = 'mlflow.traceInputs' AND request_id IN
    (SELECT trace_id FROM clients WHERE parent_span_id IS NULL);
DELETE FROM spans WHERE span_id IN (SELECT span_id FROM clients);
"""


def _mlflow(server, folder):
    import mlflow

    from ctxmetrics_mlflow import ContextRecallScorer

    judge = LLMJudge(server.make_model(server))
    rows = [
        {**_record(sample), "expectations": {"expected_response": sample.reference}}
        for sample in SAMPLES
    ]
    before = mlflow.get_tracking_uri()
    settings = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_GENAI_EVAL_MAX_WORKERS": "1"}
    with isolated_process(settings, folder):
        mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
        try:
            found = mlflow.genai.evaluate(data=rows, scorers=[ContextRecallScorer(judge=judge)])
        finally:
            mlflow.set_tracking_uri(before)
    with closing(sqlite3.connect(folder / "mlflow.db")) as database:
        database.executescript(_WITHOUT_CLIENTS)
        database.execute("VACUUM")
    return [repr(found), found.result_df.to_dict(), str(found.metrics)]


def _pydantic_evals(server, folder):
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_evals import Case, Dataset

    from ctxmetrics_pydantic_evals import ContextRecallEvaluator

    del folder
    model = OpenAIChatModel(
        server.model, provider=OpenAIProvider(base_url=server.base_url, api_key=KEY)
    )
    cases = [
        Case(
            name=str(sample.id),
            inputs={"question": sample.user_input},
            expected_output={"answer": sample.reference},
        )
        for sample in SAMPLES
    ]
    outputs = {sample.user_input: _record(sample)["outputs"] for sample in SAMPLES}
    dataset = Dataset(name="doors", cases=cases, evaluators=[ContextRecallEvaluator(judge=model)])
    report = dataset.evaluate_sync(lambda inputs: outputs[inputs["question"]], progress=False)
    yield from (
        repr(report),
        report.render(include_reasons=True),
        pickle.dumps(report.cases[0].scores).decode("latin-1"),
    )


def _inspect(server, folder):
    import inspect_ai
    from inspect_ai.dataset import Sample as Row

    from ctxmetrics_inspect import context_recall, results

    judge = LLMJudge(server.make_model(server))
    rows = [
        Row(
            input=sample.user_input,
            target=sample.reference,
            id=sample.id,
            metadata=_record(sample)["outputs"],
        )
        for sample in SAMPLES
    ]
    task = inspect_ai.Task(rows, solver=[], scorer=context_recall(judge=judge))
    (log,) = inspect_ai.eval(task, model=None, display="none", log_dir=str(folder))
    results(log).to_jsonl(folder / "inspect.jsonl")
    return [repr(log), log.model_dump_json()]


PATHS = {
    "core": _core,
    "command line": _cli,
    "ragas, Instructor": _ragas(_ragas_instructor),
    "ragas, LangChain": _ragas(_ragas_langchain),
    "deepeval": _deepeval,
    "langsmith": _langsmith,
    "lcel": _lcel,
    "mlflow": _mlflow,
    "pydantic-evals": _pydantic_evals,
    "inspect": _inspect,
}


@pytest.fixture
def spans(monkeypatch):
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(asking, "_tracer", lambda: provider.get_tracer("ctxmetrics"))
    return exporter.get_finished_spans


@pytest.fixture
def quiet(monkeypatch, tmp_path):
    warnings.simplefilter("ignore")
    for name in (
        "DO_NOT_TRACK",
        "RAGAS_DO_NOT_TRACK",
        "DEEPEVAL_TELEMETRY_OPT_OUT",
        "MLFLOW_DISABLE_TELEMETRY",
    ):
        monkeypatch.setenv(name, "true")
    monkeypatch.chdir(tmp_path)


QUICK = {"core", "lcel"}


@pytest.mark.parametrize(
    "path", [path if path in QUICK else pytest.param(path, marks=pytest.mark.slow) for path in PATHS]
)
def test_no_output_of_a_run_holds_eight_characters_of_the_key(
    path, tmp_path, spans, caplog, capfd, quiet
):
    caplog.set_level(logging.DEBUG)
    with telling() as server:
        left = [str(thing) for thing in PATHS[path](server, tmp_path)]
    assert (
        len(server.asked) >= 12
    )  # every kind of answer; some runners stop asking after ten failures in a row
    output = capfd.readouterr()
    left += [output.out, output.err, *(span.to_json() for span in spans())]
    left += [
        f"{record.name} {record.getMessage()} {vars(record) if record.name.startswith('ctxmetrics') else record.exc_text}"
        for record in caplog.records
    ]
    files = [file for file in tmp_path.rglob("*") if file.is_file() and file.name != MLFLOW_TRACE]
    left += [file.read_bytes().decode("latin-1") for file in files]
    assert [(found, text[:300]) for text in left if (found := finds(text))] == []
    assert any("[key]" in text for text in left)


@pytest.mark.parametrize(
    "path",
    [
        path if path in QUICK else pytest.param(path, marks=pytest.mark.slow)
        for path in PATHS
        if path != "command line"
    ],
)
def test_no_key_in_an_address_or_a_models_name_is_left(path, tmp_path, spans, caplog, capfd, quiet):
    """This library's own model refuses both; what a framework's client logs and traces by itself is not looked at."""
    caplog.set_level(logging.DEBUG, logger="ctxmetrics")
    with telling() as server:
        server.base_url = server.base_url.replace("/v1", f"/{PROVIDERS_KEY}/v1")
        server.model = f"org/{PROVIDERS_KEY}"
        server.make_model = _langchain_model
        left = [str(thing) for thing in PATHS[path](server, tmp_path)]
    assert any(PROVIDERS_KEY in address for address in server.asked)
    output = capfd.readouterr()
    left += [output.out, output.err, *(span.to_json() for span in spans())]
    left += [str(vars(record)) for record in caplog.records if record.name.startswith("ctxmetrics")]
    files = [file for file in tmp_path.rglob("*") if file.is_file() and file.name != MLFLOW_TRACE]
    left += [file.read_bytes().decode("latin-1") for file in files]
    assert [text[:300] for text in left if finds(text, BODY)] == []
