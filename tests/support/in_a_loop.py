"""The entries of a framework inside running event loops: ``python -m support.in_a_loop FRAMEWORK ADDRESS LOOP ...``.

It prints a line for each loop: the values of context recall by entry and kind of judge: the embedded one, the library's client, and a model of
the framework. What is expected was computed by hand: one of two sentences is in the contexts. Where a framework starts a
loop itself, it also prints what the framework does with a metric of its own, which needs no judge.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import multiprocessing
import sys
from contextlib import redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ctxmetrics import (
    ContextRecall,
    LexicalJudge,
    LLMJudge,
    OpenAIModel,
    Sample,
    aevaluate,
    evaluate,
)
from ctxmetrics.models.base import Reply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from ctxmetrics import Judge
    from ctxmetrics.models.base import Prompt

    Entry = Callable[[str, str], Awaitable[Sequence[float | None]]]

SAMPLES = [
    Sample(
        id=str(number),
        user_input=f"What is door {number}?",
        response="It is green.",
        reference=f"Door {number} is green. Visitors need a ticket.",
        retrieved_contexts=[f"Door {number} is green.", "The harbour was quiet."],
    )
    for number in range(3)
]
EXPECTED = [0.5, 0.5, 0.5]


def judge_of(kind: str, address: str, own: Callable[[str], Judge]) -> Judge:
    """Make the judge of a kind; ``own`` makes a judge of the framework's own model."""
    if kind == "embedded":
        return LexicalJudge()
    if kind == "client":
        return LLMJudge(OpenAIModel("fake-judge", base_url=address, api_key="sk-fake"))
    return own(address)


class UserModel:
    """A user's model whose client needs a current task, as most do."""

    identity = "test/user-model"

    def __init__(self, address: str) -> None:
        from openai import AsyncOpenAI

        self.client = AsyncOpenAI(base_url=address, api_key="sk-fake")

    async def generate(self, prompt: Prompt, schema: Any) -> Reply:
        async with asyncio.timeout(30):
            answer = await self.client.chat.completions.create(
                model="fake-judge", messages=[{"role": "user", "content": prompt.text}]
            )
        return Reply(content=answer.choices[0].message.content or "")


def user_judge(address: str) -> Judge:
    return LLMJudge(UserModel(address))


def chat(address: str) -> Any:
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    return ChatOpenAI(model="fake-judge", base_url=address, api_key=SecretStr("sk-fake"))


# --- the core ---


async def core_score(kind: str, address: str) -> Sequence[float | None]:
    judge = judge_of(kind, address, user_judge)
    return [ContextRecall(judge=judge).score(sample).value for sample in SAMPLES]


async def core_ascore(kind: str, address: str) -> Sequence[float | None]:
    judge = judge_of(kind, address, user_judge)
    scores = await asyncio.gather(*(ContextRecall(judge=judge).ascore(sample) for sample in SAMPLES))
    return [score.value for score in scores]


async def core_evaluate(kind: str, address: str) -> Sequence[float | None]:
    judge = judge_of(kind, address, user_judge)
    return [row["context_recall"].value for row in evaluate(SAMPLES, [ContextRecall()], judge=judge)]


async def core_aevaluate(kind: str, address: str) -> Sequence[float | None]:
    results = await aevaluate(SAMPLES, [ContextRecall()], judge=judge_of(kind, address, user_judge))
    return [row["context_recall"].value for row in results]


# --- Ragas ---


def ragas_data(kind: str, address: str) -> tuple[Any, list[Any]]:
    from ragas import EvaluationDataset, SingleTurnSample
    from ragas.llms import LangchainLLMWrapper
    from ragas.metrics import ExactMatch

    import ctxmetrics_ragas

    fields = ("user_input", "response", "reference", "retrieved_contexts")
    rows = [{name: sample.to_dict()[name] for name in fields} for sample in SAMPLES]
    if kind == "theirs":
        return EvaluationDataset([SingleTurnSample(**row) for row in rows]), [ExactMatch()]
    judge = judge_of(
        kind,
        address,
        lambda address: LLMJudge(ctxmetrics_ragas.RagasModel(LangchainLLMWrapper(chat(address)))),
    )
    return EvaluationDataset([SingleTurnSample(**row) for row in rows]), [
        ctxmetrics_ragas.ContextRecall(judge=judge)
    ]


async def ragas_evaluate(kind: str, address: str) -> Sequence[float | None]:
    import ragas

    data, metrics = ragas_data(kind, address)
    results: Any = ragas.evaluate(data, metrics=metrics, show_progress=False)
    return list(results[metrics[0].name])


async def ragas_aevaluate(kind: str, address: str) -> Sequence[float | None]:
    from ragas.evaluation import aevaluate as their_aevaluate

    data, metrics = ragas_data(kind, address)
    results: Any = await their_aevaluate(data, metrics=metrics, show_progress=False)
    return list(results["context_recall"])


# --- DeepEval ---


def deepeval_data(kind: str, address: str) -> tuple[list[Any], Any]:
    from deepeval.metrics import BaseMetric
    from deepeval.models import GPTModel
    from deepeval.test_case import LLMTestCase

    from ctxmetrics_deepeval import ContextRecallMetric, DeepEvalModel

    class Constant(BaseMetric):  # type: ignore[no-untyped-call]  # DeepEval's own is untyped
        threshold, async_mode, evaluation_model = 0.0, True, None

        def measure(self, test_case: Any, *_: Any, **__: Any) -> float:
            self.score, self.success, self.reason = 0.0, True, ""
            return self.score

        async def a_measure(self, test_case: Any, *_: Any, **__: Any) -> float:
            return self.measure(test_case)

        def is_successful(self) -> bool:
            return True

    def own(address: str) -> Judge:
        model = GPTModel(model="gpt-4o-mini", base_url=address, api_key="sk-fake")
        return LLMJudge(DeepEvalModel(model))

    cases = [
        LLMTestCase(
            name=sample.id,
            input=sample.user_input or "",
            actual_output=sample.response,
            expected_output=sample.reference,
            retrieval_context=list(sample.retrieved_contexts or ()),
        )
        for sample in SAMPLES
    ]
    if kind == "theirs":
        return cases, Constant()
    return cases, ContextRecallMetric(judge=judge_of(kind, address, own))


async def deepeval_evaluate(kind: str, address: str) -> Sequence[float | None]:
    cases, metric = deepeval_data(kind, address)
    return run_deepeval(cases, metric, run_async=True)


async def deepeval_evaluate_sync(kind: str, address: str) -> Sequence[float | None]:
    cases, metric = deepeval_data(kind, address)
    return run_deepeval(cases, metric, run_async=False)


def run_deepeval(cases: list[Any], metric: Any, *, run_async: bool) -> list[float | None]:
    from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
    from deepeval.evaluate.evaluate import evaluate as their_evaluate

    found: Any = their_evaluate(
        cases,
        [metric],
        async_config=AsyncConfig(run_async=run_async),
        cache_config=CacheConfig(write_cache=False),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
    )
    rows = {result.name: result.metrics_data[0].score for result in found.test_results}
    return [rows[case.name] for case in cases]


async def deepeval_measure(kind: str, address: str) -> Sequence[float | None]:
    cases, metric = deepeval_data(kind, address)
    return [metric.measure(case) for case in cases]


async def deepeval_a_measure(kind: str, address: str) -> Sequence[float | None]:
    cases, metric = deepeval_data(kind, address)
    return list(await asyncio.gather(*(metric.a_measure(case) for case in cases)))


# --- LangSmith ---


def langsmith_data(kind: str, address: str) -> dict[str, Any]:
    import langsmith
    from langsmith.schemas import Example

    from ctxmetrics_langchain import ChatModel, ContextRecallEvaluator

    class Silent(langsmith.Client):
        """Uploads nothing."""

        def create_run(self, *_: Any, **__: Any) -> None:
            pass

        update_run = create_run

    judge = judge_of(kind, address, lambda address: LLMJudge(ChatModel(chat(address))))
    examples = [
        Example(
            id=UUID(int=number),
            inputs={"question": sample.user_input, "n": number},
            outputs={"reference": sample.reference},
        )
        for number, sample in enumerate(SAMPLES)
    ]
    return {
        "data": examples,
        "evaluators": [ContextRecallEvaluator(judge=judge)],
        "upload_results": False,
        "client": Silent(api_url="http://127.0.0.1:9", api_key="none", auto_batch_tracing=False),
    }


async def langsmith_evaluate(kind: str, address: str) -> Sequence[float | None]:
    import langsmith

    rows: Any = langsmith.evaluate(
        lambda inputs: {"contexts": list(SAMPLES[inputs["n"]].retrieved_contexts)},
        **langsmith_data(kind, address),
    )
    return [row["evaluation_results"]["results"][0].score for row in rows]


async def langsmith_aevaluate(kind: str, address: str) -> Sequence[float | None]:
    import langsmith

    async def target(inputs: dict[str, Any]) -> dict[str, Any]:
        return {"contexts": list(SAMPLES[inputs["n"]].retrieved_contexts)}

    rows: Any = await langsmith.aevaluate(target, **langsmith_data(kind, address))
    return [row["evaluation_results"]["results"][0].score async for row in rows]


# --- MLflow ---


async def mlflow_evaluate(kind: str, address: str) -> Sequence[float | None]:
    from ctxmetrics_mlflow.scorers import RUNNERS

    metric = ContextRecall(judge=judge_of(kind, address, user_judge))
    return next(runner for runner in RUNNERS if runner.name == "mlflow.evaluate").score(metric, SAMPLES)


# Ragas' and DeepEval's `evaluate` apply nest_asyncio themselves, so they come last.
ENTRIES: dict[str, Entry] = {
    "core.score": core_score,
    "core.ascore": core_ascore,
    "core.evaluate": core_evaluate,
    "core.aevaluate": core_aevaluate,
    "ragas.aevaluate": ragas_aevaluate,
    "ragas.evaluate": ragas_evaluate,
    "deepeval.measure": deepeval_measure,
    "deepeval.a_measure": deepeval_a_measure,
    "deepeval.evaluate(run_async=False)": deepeval_evaluate_sync,
    "deepeval.evaluate": deepeval_evaluate,
    "langsmith.aevaluate": langsmith_aevaluate,
    "langsmith.evaluate": langsmith_evaluate,
    "mlflow.evaluate": mlflow_evaluate,
}
KINDS = ("embedded", "client", "own")
IMPORTS = {
    "core": ["openai"],
    "ragas": ["ragas.evaluation", "langchain_openai", "ctxmetrics_ragas"],
    "deepeval": ["deepeval.evaluate.evaluate", "deepeval.models", "ctxmetrics_deepeval"],
    "langsmith": ["langsmith", "langchain_openai", "ctxmetrics_langchain"],
    "mlflow": ["mlflow.genai", "ctxmetrics_mlflow.scorers"],
}
"""What the entries of a framework import, and takes seconds."""
WITH_LOOPS = ("ragas.evaluate", "deepeval.evaluate")
"""Entries of frameworks that start a loop themselves."""


async def all_cells(framework: str, address: str) -> dict[str, list[float | None] | str]:
    """Return the values, or the error, by entry and kind of judge."""
    cells = {}
    for entry, score in ENTRIES.items():
        if entry.startswith(f"{framework}."):
            for kind in (*KINDS, "theirs") if entry in WITH_LOOPS else KINDS:
                cells[f"{entry}, {kind}"] = await cell(score, kind, address)
    return cells


async def cell(score: Entry, kind: str, address: str) -> list[float | None] | str:
    try:
        with redirect_stdout(StringIO()):
            return list(await score(kind, address))
    except Exception as error:  # noqa: BLE001 - whatever it is goes into the table
        return f"{type(error).__name__}: {error}"


async def after_nest_asyncio(framework: str, address: str) -> dict[str, list[float | None] | str]:
    """Apply nest_asyncio, and go on in a task that is made after it."""
    importlib.import_module("nest_asyncio").apply()
    return await asyncio.ensure_future(all_cells(framework, address))


def run_in_loop(framework: str, address: str, loop: str) -> None:
    """Print the values of all entries inside a loop of this kind."""
    body = after_nest_asyncio if loop == "nest_asyncio" else all_cells
    make_loop = (
        asyncio.new_event_loop if loop != "uvloop" else importlib.import_module(loop).new_event_loop
    )
    running = make_loop()
    asyncio.set_event_loop(running)
    # Not with asyncio.Runner: on Python 3.14 its end fails after nest_asyncio was applied.
    print(json.dumps(running.run_until_complete(body(framework, address))), flush=True)


def main(framework: str, address: str, *loops: str) -> None:
    """Run each loop in a process of its own, which nest_asyncio patches for good; this one imports for all of them."""
    with redirect_stdout(StringIO()):
        for name in IMPORTS[framework]:
            importlib.import_module(name)
    forks = multiprocessing.get_context("fork")
    for loop in loops:
        process = forks.Process(target=run_in_loop, args=(framework, address, loop))
        process.start()
        process.join()
        if process.exitcode != 0:
            sys.exit(f"the process of {loop} ended with {process.exitcode}")


if __name__ == "__main__":
    main(*sys.argv[1:])
