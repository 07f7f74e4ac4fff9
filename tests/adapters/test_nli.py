"""The judge around a cross-encoder, through each framework's real runner: full batches, and no pair twice."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ctxmetrics import ContextPrecision, ContextRecall, NLIJudge, Sample, evaluate
from support import missing

pytestmark = pytest.mark.skipif(
    bool(missing("ragas", "deepeval", "langsmith")), reason="needs ragas, deepeval and langsmith"
)

SIZE, COUNT, UNITS, CONTEXTS = 16, 8, 2, 3
PAIRS = COUNT * (UNITS + 1) * CONTEXTS
"""Each context with each sentence, and with the question and the whole answer."""
SAMPLES = [
    Sample(
        user_input=f"What does item {number} have?",
        reference=" ".join(f"Item {number} has part {part}." for part in range(UNITS)),
        retrieved_contexts=[f"Item {number} has part {part + number % 2}." for part in range(CONTEXTS)],
    )
    for number in range(COUNT)
]
RECALLS = [0.5 if number % 2 else 1.0 for number in range(COUNT)]


class TinyModel:
    def __init__(self):
        self.batches = []

    def predict(self, pairs):
        self.batches.append(list(pairs))
        words = [[set(re.findall(r"\w+", text.casefold())) for text in pair] for pair in pairs]
        missing_words = np.array([len(asked - said) for said, asked in words])
        return (1 / (1 + np.exp(20.0 * missing_words - 3.0))).astype(np.float32)


def run_core(judge):
    found = evaluate(SAMPLES, [ContextRecall(), ContextPrecision()], judge=judge, progress=False)
    return [row["context_recall"].value for row in found]


def run_ragas(judge):
    from ragas import EvaluationDataset, SingleTurnSample
    from ragas import evaluate as run

    from ctxmetrics_ragas import ContextPrecision, ContextRecall

    dataset = EvaluationDataset([SingleTurnSample(**sample.to_dict()) for sample in SAMPLES])
    metrics = [ContextRecall(judge=judge), ContextPrecision(judge=judge)]
    return run(dataset, metrics=metrics, show_progress=False)["context_recall"]


def run_deepeval(judge):
    from deepeval import evaluate as run
    from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
    from deepeval.test_case import LLMTestCase

    from ctxmetrics_deepeval import ContextPrecisionMetric, ContextRecallMetric

    cases = [
        LLMTestCase(
            input=sample.user_input,
            actual_output="",
            expected_output=sample.reference,
            retrieval_context=list(sample.retrieved_contexts),
            name=str(number),
        )
        for number, sample in enumerate(SAMPLES)
    ]
    found = run(
        cases,
        [ContextRecallMetric(judge=judge), ContextPrecisionMetric(judge=judge)],
        cache_config=CacheConfig(write_cache=False),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
        async_config=AsyncConfig(max_concurrent=COUNT),
    )
    rows = {result.name: result.metrics_data[0].score for result in found.test_results}
    return [rows[str(number)] for number in range(COUNT)]


def run_langsmith(judge):
    from uuid import UUID

    from langsmith import evaluate as run
    from langsmith.schemas import Example

    from ctxmetrics_langchain import ContextPrecisionEvaluator, ContextRecallEvaluator
    from ctxmetrics_langchain.runners import _Offline

    examples = [
        Example(
            id=UUID(int=number),
            inputs={"question": sample.user_input, "n": number},
            outputs={"reference": sample.reference},
        )
        for number, sample in enumerate(SAMPLES)
    ]
    rows = run(
        lambda inputs: {"documents": list(SAMPLES[inputs["n"]].retrieved_contexts)},
        examples,
        [ContextRecallEvaluator(judge=judge), ContextPrecisionEvaluator(judge=judge)],
        max_concurrency=COUNT,
        upload_results=False,
        client=_Offline(api_key="none", auto_batch_tracing=False),
    )
    values = {}
    for row in rows:
        results = {item.key: item.score for item in row["evaluation_results"]["results"]}
        values[row["example"].inputs["n"]] = results["context_recall"]
    return [values[number] for number in range(COUNT)]


@pytest.mark.parametrize("run", [run_core, run_ragas, run_deepeval, run_langsmith])
def test_batches_are_full_and_a_second_run_asks_nothing(run):
    model = TinyModel()
    judge = NLIJudge(model.predict, identity="tiny", batch_size=SIZE, wait_seconds=1.0)
    assert run(judge) == RECALLS
    sizes = [len(batch) for batch in model.batches]
    pairs = [pair for batch in model.batches for pair in batch]
    assert len(pairs) == len(set(pairs)) == PAIRS
    assert max(sizes) == SIZE
    # LangSmith asks for a sample's metrics one after the other, so what is left at the end of each may be less.
    assert sizes.count(SIZE) >= PAIRS // SIZE - 1
    assert run(judge) == RECALLS
    assert len(model.batches) == len(sizes)
