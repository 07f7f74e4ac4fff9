"""A real model judges three samples by the command line, and one of them on every path of a framework.

Each verdict is the model's own, or says why there is none.

The model is small and judges badly. These tests look at shapes and at equality between paths, never at quality.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from ctxmetrics import ContextPrecision, ContextRecall, LLMJudge, Results, evaluate
from support import missing
from support.command import run_command
from support.llama import MODEL
from support.recording import Exchange
from support.short_samples import SAMPLES

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*LLMWrapper is deprecated:DeprecationWarning"),
]

JUDGE = f"llamacpp/{MODEL}"
LIMITS = ("--max-concurrency", "2", "--timeout", "1800")
METRICS = ("context_recall", "context_precision")
SHARED = SAMPLES[:1]
"""What each framework asks about: a sentence and two contexts. The model writes for ten seconds about each sample."""
NO_VERDICT = 3
"""The exit status where a metric has no verdict at all: that is honest, and not rare with a model of this size."""

Values = dict[str, tuple[float | None, float | None]]
"""Recall and precision of each sample, by its id."""


def score_file(data: Path, out: Path, base_url: str) -> Results:
    """Score the samples by the command line."""
    options = ("--judge", JUDGE, "--base-url", base_url, "--out", out, *LIMITS)
    result = run_command("score", data, *options)
    if result.returncode != 0:
        assert result.returncode == NO_VERDICT, result.stderr
        assert "no verdict at all for" in result.stderr
    unfinished = out.with_name(f"{out.name}.part")
    return Results.from_jsonl(unfinished if unfinished.exists() else out)


@pytest.fixture(scope="session")
def run(proxy, data):
    """Score the samples once; return the results and what went over the wire."""
    proxy.reset()
    results = score_file(data, data.with_name("schema.jsonl"), proxy.base_url)
    return results, proxy.reset()


def read_values(results: Results) -> Values:
    return {row.sample.id: tuple(row[name].value for name in METRICS) for row in results}


def list_entries(exchanges: list[Exchange], code: str) -> list[tuple[str, Any, bool]]:
    """List the entries of all replies about the data with this code.

    Returns:
        Of each entry: its id, its content, and whether a text of it stands in the request's example.
    """
    entries: list[tuple[str, Any, bool]] = []
    for exchange in exchanges:
        reply = exchange.read_object() if exchange.code == code else None
        example = exchange.prompt.partition("BEGIN DATA")[0]
        for part in exchange.ids:
            for id_, entry in (reply or {}).get(part, {}).items():
                copied = any(json.dumps(text) in example for text in list_texts(entry))
                entries.append((id_, entry, copied))
    return entries


def list_texts(entry: dict[str, Any]) -> list[str]:
    quotes = [item["quote"] for item in entry.get("evidence", ())]
    texts = [*quotes, entry.get("quote", ""), entry.get("missing", "")]
    return [text for text in texts if text]


def find_code(exchanges: list[Exchange], sample) -> str:
    """Find the code of the first request about a sample."""
    question = json.dumps(sample.user_input)
    codes = [exchange.code for exchange in exchanges if question in exchange.prompt]
    return next(code for code in codes if code is not None)


def check_verdicts(score, contexts, entries) -> None:
    """Check that each verdict rests on an entry of the model's own, or has a reason."""
    for verdict in score.verdicts:
        if verdict.value is None:
            assert verdict.code, verdict
            continue
        own = [entry for id_, entry, copied in entries if id_ == verdict.id and not copied]
        assert own, f"no reply holds an entry of the model's own for {verdict.id}"
        if verdict.value:
            assert any(entry.get("supported") is True or entry.get("useful") is True for entry in own)
            assert verdict.evidence, verdict
        for evidence in verdict.evidence:
            context = contexts[evidence.context]
            assert context[evidence.start : evidence.end] == evidence.quote != ""


def test_every_number_rests_on_replies_of_the_model(run):
    results, exchanges = run
    rows = list(results)
    assert len(rows) == len(SAMPLES)
    for sample, row in zip(SAMPLES, rows, strict=True):
        entries = list_entries(exchanges, find_code(exchanges, sample))
        for name in METRICS:
            score = row[name]
            assert (score.value is None) == (score.reason_code is not None), score
            check_verdicts(score, sample.retrieved_contexts, entries)


def test_first_replies_hold_every_id_under_a_schema(run):
    _, exchanges = run
    codes: set[str | None] = set()
    for exchange in exchanges:
        if exchange.code in codes:
            continue
        codes.add(exchange.code)
        assert exchange.form == "json_schema"
        reply = exchange.read_object()
        if reply is None:  # the reply was cut off
            continue
        assert list(reply) == ["code", *exchange.ids]
        assert {part: list(reply[part]) for part in exchange.ids} == exchange.ids
    assert len(codes) == len(SAMPLES)


def test_compare_finds_no_difference_between_equal_runs(run, proxy, data):
    results, _ = run
    again = score_file(data, data.with_name("again.jsonl"), proxy.base_url)
    assert read_values(again) == read_values(results)
    first, second = data.with_name("first.jsonl"), data.with_name("second.jsonl")
    results.to_jsonl(first)
    again.to_jsonl(second)
    compared = run_command("compare", first, second)
    assert "Traceback" not in compared.stderr
    if any(value is not None for values in read_values(results).values() for value in values):
        assert compared.returncode == 0, compared.stderr
    else:
        assert compared.stdout or compared.stderr, "compare says nothing about runs without a value"


def test_doctor_says_whether_the_model_answers_as_a_judge_must(proxy):
    result = run_command("doctor", "--judge", JUDGE, "--base-url", proxy.base_url, "--timeout", "300")
    assert "Traceback" not in result.stderr
    assert MODEL in result.stdout
    assert result.returncode in (0, 2), result.stdout


def test_check_judge_takes_a_limit_of_samples(proxy):
    result = run_command(
        "check-judge",
        JUDGE,
        "--base-url",
        proxy.base_url,
        "--samples",
        "1",
        "--repetitions",
        "1",
        *LIMITS,
    )
    assert "1 sample, judged once" in result.stderr
    if result.returncode == 0:
        assert "on 1 labelled sample" in result.stdout
    else:
        assert "no verdict at all" in result.stderr


# --- the frameworks' own model objects ---


def chat(base_url: str):
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(
        model=MODEL,
        base_url=base_url,
        api_key="none",
        temperature=0,
        timeout=300,
        max_retries=0,
    )


def score_in_core(model) -> Values:
    """Ask by a framework's model object, outside of the framework's runner."""
    results = evaluate(
        SHARED,
        [ContextRecall(), ContextPrecision()],
        judge=LLMJudge(model),
        max_concurrency=2,
        timeout=300,
        progress=False,
    )
    return read_values(results)


@pytest.mark.skipif(bool(missing("langsmith", "langchain_openai")), reason="needs langchain")
def test_langsmith_gives_the_numbers_of_the_command_line(run, proxy):
    from langsmith import Client
    from langsmith import evaluate as evaluate_examples
    from langsmith.schemas import Example

    from ctxmetrics_langchain import ContextPrecisionEvaluator, ContextRecallEvaluator

    class Silent(Client):
        """Uploads nothing."""

        def create_run(self, *args: Any, **kwargs: Any) -> None:
            pass

        update_run = create_run

    judge = chat(proxy.base_url)
    examples = [
        Example(
            id=UUID(int=number),
            inputs={"question": sample.user_input, "number": number},
            outputs={"reference": sample.reference},
        )
        for number, sample in enumerate(SHARED)
    ]
    proxy.reset()
    rows = evaluate_examples(
        lambda inputs: {"contexts": list(SHARED[inputs["number"]].retrieved_contexts)},
        examples,
        [ContextRecallEvaluator(judge=judge), ContextPrecisionEvaluator(judge=judge)],
        upload_results=False,
        client=Silent(api_url="http://127.0.0.1:9", api_key="none", auto_batch_tracing=False),
    )
    values: Values = {}
    for row in rows:
        scores = {item.key: item.score for item in row["evaluation_results"]["results"]}
        sample = SHARED[row["example"].inputs["number"]]
        values[str(sample.id)] = tuple(scores[name] for name in METRICS)
    assert proxy.reset(), "the model was not asked"
    in_core = read_values(run[0])
    assert values == {str(sample.id): in_core[sample.id] for sample in SHARED}


@pytest.mark.skipif(bool(missing("ragas", "langchain_openai")), reason="needs ragas")
def test_ragas_gives_the_numbers_of_its_model_in_the_core(proxy):
    from ragas import EvaluationDataset, RunConfig, SingleTurnSample
    from ragas import evaluate as evaluate_dataset
    from ragas.llms import LangchainLLMWrapper

    from ctxmetrics_ragas import ContextPrecision as Precision
    from ctxmetrics_ragas import ContextRecall as Recall
    from ctxmetrics_ragas import RagasModel

    llm = LangchainLLMWrapper(chat(proxy.base_url))
    rows = [
        SingleTurnSample(
            user_input=sample.user_input,
            reference=sample.reference,
            retrieved_contexts=list(sample.retrieved_contexts),
        )
        for sample in SHARED
    ]
    proxy.reset()
    results = evaluate_dataset(
        EvaluationDataset(rows),
        [Recall(judge="framework"), Precision(judge="framework")],
        llm=llm,
        run_config=RunConfig(timeout=3600, max_workers=2),
        show_progress=False,
    )
    assert proxy.reset(), "the model was not asked"
    values = {
        str(sample.id): tuple(_without_nan(row[name]) for name in METRICS)
        for sample, row in zip(SHARED, results.scores, strict=True)
    }
    assert values == score_in_core(RagasModel(llm))


def _without_nan(value: float) -> float | None:
    """Return None for Ragas' NaN: a metric without a value."""
    return value if value == value else None  # noqa: PLR0124 - NaN is not equal to itself


@pytest.mark.skipif(bool(missing("deepeval")), reason="needs deepeval")
def test_deepeval_gives_the_numbers_of_its_model_in_the_core(proxy, monkeypatch):
    # A case that takes longer is left out of the results; on a busy machine the model needs minutes.
    monkeypatch.setenv("DEEPEVAL_PER_TASK_TIMEOUT_SECONDS_OVERRIDE", "3600")
    monkeypatch.setenv("DEEPEVAL_PER_ATTEMPT_TIMEOUT_SECONDS_OVERRIDE", "1800")
    from deepeval import evaluate as evaluate_cases
    from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig, ErrorConfig
    from deepeval.models import LocalModel
    from deepeval.test_case import LLMTestCase

    from ctxmetrics_deepeval import ContextPrecisionMetric, ContextRecallMetric, DeepEvalModel

    model = LocalModel(
        model=MODEL,
        base_url=proxy.base_url,
        api_key="none",
        temperature=0,
    )
    cases = [
        LLMTestCase(
            name=str(sample.id),
            input=sample.user_input,
            actual_output="-",
            expected_output=sample.reference,
            retrieval_context=list(sample.retrieved_contexts),
        )
        for sample in SHARED
    ]
    proxy.reset()
    results = evaluate_cases(
        cases,
        [ContextRecallMetric(model=model), ContextPrecisionMetric(model=model)],
        async_config=AsyncConfig(max_concurrent=2),
        cache_config=CacheConfig(write_cache=False),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
        error_config=ErrorConfig(ignore_errors=True),
    )
    assert proxy.reset(), "the model was not asked"
    values: Values = {}
    for result in results.test_results:
        items = {item.name: item for item in result.metrics_data}
        for item in items.values():
            assert item.score is not None or item.error, item.name
        values[result.name] = tuple(items[name].score for name in METRICS)
    assert values == score_in_core(DeepEvalModel(model))
