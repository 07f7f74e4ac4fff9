"""A real model behind an OpenAI-compatible server: which of its replies are complete, and what a sample costs.

    python benchmarks/run.py real_model --base-url URL [--model NAME] [--data FILE] [--samples N] [--others N]
        [--only WAY ..] [--concurrency N] [--timeout SECONDS] [--keep FOLDER]

Asks for context recall and context precision of the samples in eight ways: this library's client with a schema and in
plain text, this library with the model objects of Ragas, DeepEval and LangChain, and Ragas' and DeepEval's own metrics.
``--only decision-context decision-sample`` asks a decision model instead (System One), in both layouts.
A proxy on the loopback records what goes over the wire; figures of replies come from there, not from this library.
``--samples`` bounds the samples of the first way and of these two, ``--others`` those of each other way; ``--keep`` writes all requests
and replies into a folder, one file a way. OPENAI_API_KEY is the key, where the server needs one.

A first reply is *complete* where it is JSON, repeats the code of its request, and has an entry for every id that is asked
for; it is *exact* where it has no other entry. The first request of a judgement is one whose system message and data were not asked before.
A *copied* entry repeats the texts of an entry of the request's example. The table measures shapes. It says nothing about
agreement with people: for that see ``ctxmetrics agree``.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from _shared import docs, judging

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    DecisionAPI,
    DecisionJudge,
    LLMJudge,
    OpenAIModel,
    evaluate,
    forget,
    read_samples,
)
from support.recording import Exchange, RecordingProxy

HANDBOOK = Path(__file__).resolve().parents[2] / "examples" / "handbook.jsonl"
RECALL, PRECISION = "context_recall", "context_precision"
METRICS = (RECALL, PRECISION)
HEAD = (
    "asked by | samples | complete first replies | exact first replies | quotes that stand there | copied entries | "
    "values | requests a sample | tokens a sample, in + out | seconds a sample | no value because"
)
# The most tokens of a reply to a framework's model object: a small model may write without an end.
_REPLY_TOKENS = 1024
_BLOCK = re.compile(r"BEGIN DATA ([0-9a-f]{24})\r?\n(.*?)\r?\ncode: ", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server, and how it is asked."""

    base_url: str
    model: str
    key: str
    concurrency: int
    timeout: float


@dataclass(slots=True)
class Replies:
    """What the first replies to this library's requests hold, read without this library."""

    requests: int = 0
    complete: int = 0
    exact: int = 0
    quotes: int = 0
    quotes_present: int = 0
    copied: int = 0


@dataclass(slots=True)
class Figures:
    """What one way cost and brought, for all its samples together."""

    samples: int
    values: int
    without_reason: int
    requests: int
    tokens_in: int
    tokens_out: int
    seconds: float
    means: dict[str, float | None]
    codes: dict[str, int] = field(default_factory=dict)
    first: Replies | None = None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The value of one metric for one sample, or why there is none."""

    metric: str
    value: float | None
    code: str | None


# --- ways to ask ---


def _openai(server: Endpoint, **options: Any):
    return OpenAIModel(server.model, base_url=server.base_url, api_key=server.key, **options)


def _chat(server: Endpoint):
    return judging.chat_at(
        server.base_url,
        server.model,
        server.key,
        temperature=0,
        timeout=server.timeout,
        max_retries=0,
        max_tokens=_REPLY_TOKENS,
    )


def _ragas_model(server: Endpoint):
    from ragas.llms import LangchainLLMWrapper

    from ctxmetrics_ragas import RagasModel

    return RagasModel(LangchainLLMWrapper(_chat(server)))


def _ragas_factory(server: Endpoint):
    from openai import AsyncOpenAI
    from ragas.llms import llm_factory

    from ctxmetrics_ragas import RagasModel

    client = AsyncOpenAI(
        base_url=server.base_url, api_key=server.key, timeout=server.timeout, max_retries=0
    )
    return RagasModel(llm_factory(server.model, client=client, temperature=0, max_tokens=_REPLY_TOKENS))


def _deepeval_local(server: Endpoint):
    from deepeval.models import LocalModel

    limit = {"max_tokens": _REPLY_TOKENS}
    key = {"base_url": server.base_url, "api_key": server.key}
    return LocalModel(model=server.model, temperature=0, generation_kwargs=limit, **key)


def _deepeval_model(server: Endpoint):
    from ctxmetrics_deepeval import DeepEvalModel

    return DeepEvalModel(_deepeval_local(server))


def _langchain_model(server: Endpoint):
    from ctxmetrics_langchain import ChatModel

    return ChatModel(_chat(server))


MODELS: dict[str, Callable[[Endpoint], Any]] = {
    "schema": _openai,
    "plain text": lambda server: _openai(server, reply_format="text"),
    "Ragas' LangchainLLMWrapper": _ragas_model,
    "Ragas' llm_factory": _ragas_factory,
    "DeepEval's LocalModel": _deepeval_model,
    "LangChain's ChatOpenAI": _langchain_model,
}
"""This library with a model object, by its name in the table; the first is this library's client."""


LAYOUTS = {"decision-context": "context", "decision-sample": "sample"}
"""This library with a decision model, by its name in the table."""


def _judge_by_decisions(layout: Any, server: Endpoint) -> Any:
    model = DecisionAPI(server.model, wire="systemone", base_url=server.base_url, api_key=server.key)
    return DecisionJudge(model, layout=layout)


def _score(make: Callable[[Endpoint], Any], samples: list[Any], server: Endpoint) -> list[Outcome]:
    """Ask by this library: one judgement a sample serves both metrics."""
    forget()
    results = evaluate(
        samples,
        [ContextRecall(), ContextPrecision()],
        judge=make(server),
        max_concurrency=server.concurrency,
        timeout=server.timeout,
        progress=False,
    )
    scores = [(name, row[name]) for row in results for name in METRICS]
    return [Outcome(name, score.value, score.reason_code) for name, score in scores]


def _score_by_ragas(samples: list[Any], server: Endpoint) -> list[Outcome]:
    """Ask by Ragas' own two metrics."""
    from ragas import RunConfig
    from ragas.metrics import LLMContextPrecisionWithReference, LLMContextRecall

    given = [
        judging.Case(sample.user_input, sample.reference, sample.retrieved_contexts, 0.0, 0.0)
        for sample in samples
    ]
    timeout = int(server.timeout) * len(samples)
    rows = judging.in_ragas(
        given,
        _chat(server),
        [LLMContextRecall(), LLMContextPrecisionWithReference()],
        run_config=RunConfig(timeout=timeout, max_retries=1, max_workers=server.concurrency),
        raise_exceptions=False,
    )
    return [_outcome(*pair) for row in rows for pair in zip(METRICS, row, strict=True)]


def _score_by_deepeval(samples: list[Any], server: Endpoint) -> list[Outcome]:
    """Ask by DeepEval's own two metrics."""
    from deepeval import evaluate
    from deepeval.evaluate import AsyncConfig, ErrorConfig
    from deepeval.metrics import ContextualPrecisionMetric, ContextualRecallMetric

    model = _deepeval_local(server)
    tests = [
        judging.deepeval_case(sample.user_input, sample.reference, sample.retrieved_contexts)
        for sample in samples
    ]
    options = {"model": model, "include_reason": False}
    results = evaluate(
        tests,
        [ContextualRecallMetric(**options), ContextualPrecisionMetric(**options)],
        async_config=AsyncConfig(max_concurrent=server.concurrency),
        error_config=ErrorConfig(ignore_errors=True),
    )
    names = {"Contextual Recall": RECALL, "Contextual Precision": PRECISION}
    items = [item for result in results.test_results for item in result.metrics_data or ()]
    return [_outcome(names[item.name], item.score) for item in items]


def _outcome(metric: str, value: float | None) -> Outcome:
    """Build the outcome of a framework's own metric: it names no reason."""
    missing = value is None or math.isnan(value)
    return Outcome(metric, None if missing else float(value), None)


def list_ways() -> dict[str, Callable[[list[Any], Endpoint], list[Outcome]]]:
    """List the ways to ask, by their names in the table."""
    judges = {name: lambda server, make=make: LLMJudge(make(server)) for name, make in MODELS.items()}
    judges |= {name: partial(_judge_by_decisions, layout) for name, layout in LAYOUTS.items()}
    own = {"Ragas' own metrics": _score_by_ragas, "DeepEval's own metrics": _score_by_deepeval}
    return {**{name: partial(_score, make) for name, make in judges.items()}, **own}


# --- what the replies hold ---


def read_first_replies(exchanges: Iterable[Exchange]) -> Replies | None:
    """Count what the first replies to this library's requests hold; None without such a request.

    A request that was refused counts for nothing: the client sends it again in another form.
    """
    replies = Replies()
    codes: set[str] = set()
    for exchange in exchanges:
        code = exchange.code
        if code is None or code in codes or exchange.status != 200:
            continue
        codes.add(code)
        _count(replies, exchange, code)
    return replies if replies.requests else None


def _count(replies: Replies, exchange: Exchange, code: str) -> None:
    replies.requests += 1
    reply = exchange.read_object()
    if reply is None:
        return
    asked = {(part, id_) for part, ids in exchange.ids.items() for id_ in ids}
    answered = {
        (part, id_) for part, entries in reply.items() if isinstance(entries, dict) for id_ in entries
    }
    code_right = reply.get("code") == code
    replies.complete += code_right and asked <= answered
    replies.exact += code_right and asked == answered
    _count_quotes(replies, reply, exchange)


def _count_quotes(replies: Replies, reply: dict[str, Any], exchange: Exchange) -> None:
    block = _BLOCK.findall(exchange.prompt)
    contexts = {item["id"]: item["text"] for item in json.loads(block[-1][1])["contexts"]}
    example = exchange.prompt.partition("BEGIN DATA")[0]
    for part, id_, entry in _list_entries(reply):
        evidence = entry.get("evidence")
        items = evidence if isinstance(evidence, list) else []
        quotes = [(item.get("context"), item.get("quote")) for item in items if isinstance(item, dict)]
        if part == "useful":
            quotes.append((id_, entry.get("quote")))
        texts = []
        for context, text in quotes:
            if isinstance(text, str) and text:
                texts.append(text)
                replies.quotes_present += _plain(text) in _plain(contexts.get(str(context), ""))
        replies.quotes += len(texts)
        texts += [entry["missing"]] if isinstance(entry.get("missing"), str) else []
        replies.copied += any(
            text and json.dumps(text, ensure_ascii=False) in example for text in texts
        )


def _plain(text: str) -> str:
    """Write a text without differences of case and white space."""
    return " ".join(text.casefold().split())


def _list_entries(reply: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    rows = []
    for part, entries in reply.items():
        if isinstance(entries, dict):
            rows += [(part, id_, entry) for id_, entry in entries.items() if isinstance(entry, dict)]
    return rows


# --- the run ---


def measure(name: str, samples: list[Any], server: Endpoint) -> tuple[Figures, list[Exchange]]:
    """Ask in one way, and collect its figures and what went over the wire."""
    outcomes: list[Outcome] = []
    fault = ""
    with RecordingProxy(server.base_url) as proxy:
        address = replace(server, base_url=proxy.base_url)
        begin = time.monotonic()
        with judging.silence():
            try:
                outcomes = list_ways()[name](samples, address)
            except Exception as error:
                fault = f"{type(error).__name__}: {error}"[:300]
        seconds = time.monotonic() - begin
        exchanges = proxy.reset()
    missing = [outcome for outcome in outcomes if outcome.value is None]
    codes = Counter(outcome.code for outcome in outcomes if outcome.code is not None)
    figures = Figures(
        samples=len(samples),
        values=len(outcomes) - len(missing),
        without_reason=sum(outcome.code is None for outcome in missing),
        requests=len(exchanges),
        tokens_in=sum(exchange.tokens[0] for exchange in exchanges),
        tokens_out=sum(exchange.tokens[1] for exchange in exchanges),
        seconds=round(seconds, 1),
        means={metric: _mean(outcomes, metric) for metric in METRICS},
        codes=dict(codes),
        first=read_first_replies(exchanges),
        fault=fault,
    )
    return figures, exchanges


def _mean(outcomes: list[Outcome], metric: str) -> float | None:
    values = [
        outcome.value for outcome in outcomes if outcome.metric == metric and outcome.value is not None
    ]
    return round(sum(values) / len(values), 3) if values else None


def format_table(figures: dict[str, Figures]) -> str:
    """Format the table in Markdown."""
    rows = []
    for name, item in figures.items():
        first = item.first
        cells = [
            name,
            str(item.samples),
            f"{first.complete} of {first.requests}" if first else "-",
            f"{first.exact} of {first.requests}" if first else "-",
            f"{first.quotes_present} of {first.quotes}" if first else "-",
            str(first.copied) if first else "-",
            f"{item.values} of {2 * item.samples}",
            f"{item.requests / item.samples:.2f}",
            f"{item.tokens_in / item.samples:,.0f} + {item.tokens_out / item.samples:,.0f}",
            f"{item.seconds / item.samples:.1f}",
            item.fault or _format_codes(item),
        ]
        rows.append(cells)
    return docs.figures(HEAD, rows)


def _format_codes(item: Figures) -> str:
    reasons = [f"{code} {count}" for code, count in sorted(item.codes.items())]
    if item.without_reason:
        reasons.append(f"no reason named {item.without_reason}")
    return ", ".join(reasons) or "-"


def _keep(folder: Path, name: str, exchanges: list[Exchange]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(asdict(exchange), ensure_ascii=False) for exchange in exchanges]
    path = folder / f"{re.sub('[^a-z]+', '-', name.lower())}.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(argv: list[str]) -> dict[str, object]:
    parser = argparse.ArgumentParser(prog="real_model")
    parser.add_argument("--base-url", required=True, help="such as http://127.0.0.1:8080/v1")
    parser.add_argument("--model", default="local", help="the model's name for the server")
    parser.add_argument("--data", type=Path, default=HANDBOOK, help="samples, one a line")
    parser.add_argument("--samples", type=int, help="the most samples of the first way")
    parser.add_argument("--others", type=int, help="the most samples of each other way")
    parser.add_argument(
        "--only",
        nargs="*",
        choices=list(list_ways()),
        help="ways; by default all that ask a chat model",
    )
    parser.add_argument("--concurrency", type=int, default=2, help="the most requests in flight")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one request")
    parser.add_argument("--keep", type=Path, help="write requests and replies into this folder")
    options = parser.parse_args(argv)
    os.environ.update(judging.QUIET, DEEPEVAL_FILE_SYSTEM="READ_ONLY")
    # DeepEval's own limit for one task, in seconds, is shorter than a slow server needs.
    os.environ["DEEPEVAL_PER_TASK_TIMEOUT_SECONDS_OVERRIDE"] = str(options.timeout * 10)
    warnings.simplefilter("ignore")
    server = Endpoint(
        options.base_url.rstrip("/"),
        options.model,
        os.environ.get("OPENAI_API_KEY") or "none",
        options.concurrency,
        options.timeout,
    )
    samples = list(read_samples(options.data))
    first = next(iter(MODELS))
    figures: dict[str, Figures] = {}
    for name in options.only or [way for way in list_ways() if way not in LAYOUTS]:
        most = options.samples if name in {first, *LAYOUTS} else options.others
        figures[name], exchanges = measure(name, samples[:most], server)
        print(f"{name}: {figures[name].seconds:.0f} s", file=sys.stderr, flush=True)
        if options.keep is not None:
            _keep(options.keep, name, exchanges)
    print(f"model: {options.model}\n", format_table(figures), sep="\n")
    return {
        "benchmark": "real_model",
        "model": options.model,
        "ways": {name: asdict(item) for name, item in figures.items()},
    }
