"""What the benchmarks with judges share: samples whose true scores are known, a judge that answers the prompts of this
library, of Ragas and of DeepEval from the same truth, and that judge behind a server in a process of its own.

    python benchmarks/_shared/judging.py OPTIONS     serve until stdin is closed; OPTIONS is JSON
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import math
import random
import re
import subprocess
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# The fake server is in tests/support.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

FACT = re.compile(r"Fact \d+-\d+ holds\.")
NOTE = re.compile(r"Note \d+-\d+:")
QUIET = {
    "ANONYMIZED_TELEMETRY": "false",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "DEEPEVAL_UPDATE_WARNING_OPT_IN": "0",
    "DO_NOT_TRACK": "1",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LANGSMITH_TRACING": "false",
    "RAGAS_DO_NOT_TRACK": "true",
}
_FILLER = "The rest of this note talks about the weather, the harvest and the price of bread in the old town. "


# --- samples ---


@dataclass(frozen=True)
class Case:
    """One sample, and what its scores must be."""

    question: str
    reference: str
    contexts: tuple[str, ...]
    recall: float
    precision: float


def cases(count: int, *, sentences: int = 5, k: int = 5, first: int = 0) -> list[Case]:
    """Samples of about 500 characters a context; equal arguments give equal samples."""
    return [_case(number, sentences, k) for number in range(first, first + count)]


def _case(number: int, sentences: int, k: int) -> Case:
    source = random.Random(number)
    facts = [f"Fact {number}-{index} holds." for index in range(sentences)]
    held: list[list[str]] = [[] for _ in range(k)]
    for index, fact in enumerate(facts):
        if index == 0 or source.random() < 0.6:
            held[source.randrange(k)].append(fact)
    contexts = tuple(
        f"Note {number}-{rank}: {_FILLER * 2}{' '.join(found)} {_FILLER * 2}".strip()
        for rank, found in enumerate(held)
    )
    supported, useful = sum(map(len, held)), [bool(found) for found in held]
    question = f"What holds about {number}?"
    return Case(question, " ".join(facts), contexts, supported / sentences, precision_of(useful))


def precision_of(useful: list[bool]) -> float:
    """Average precision of contexts, of which some are useful."""
    hits = [sum(useful[:rank]) / rank for rank, one in enumerate(useful, 1) if one]
    return sum(hits) / len(hits)


def samples_of(given: list[Case]):
    """The cases as this library's samples."""
    from ctxmetrics import Sample

    return [
        Sample(
            id=index,
            user_input=case.question,
            response=case.reference,
            reference=case.reference,
            retrieved_contexts=case.contexts,
        )
        for index, case in enumerate(given)
    ]


# --- the judge ---


def supported(unit: str, contexts) -> bool:
    return any(unit in context for context in contexts)


def useful(context: str, answer: str) -> bool:
    return any(fact in context for fact in FACT.findall(answer))


def respond(request) -> str:
    """Answer a prompt of this library, of Ragas (both APIs) or of DeepEval, honestly."""
    text = request.text
    if "BEGIN DATA" in text:
        from support import answer_from

        return answer_from(supported=supported, useful=useful)(request)
    if inputs := re.findall(r"[Ii]nput: (\{\n.*?\n\})", text, re.DOTALL):
        return _ragas(json.loads(inputs[-1]), text)
    return _deepeval(text)


def _ragas(data: dict, text: str) -> str:
    if "prompt_value" in data:  # "fix the output of this prompt"
        return respond(type("Request", (), {"text": data["prompt_value"]}))
    if "classifications" in text:
        verdicts = [
            {
                "statement": fact,
                "reason": "it is said there",
                "attributed": int(fact in data["context"]),
            }
            for fact in FACT.findall(data["answer"])
        ]
        return json.dumps({"classifications": verdicts})
    return json.dumps(
        {"reason": "it is said there", "verdict": int(useful(data["context"], data["answer"]))}
    )


def _deepeval(text: str) -> str:
    if "'verdicts' key" not in text:
        return json.dumps({"reason": "The score is what it is because of what is said there."})
    # "Expected Output" or "Expected output", after the examples.
    answer = text[text.rindex("xpected ") :]
    head, _, tail = answer.partition("Retrieval Context")
    facts = FACT.findall(head)
    if "each node in the retrieval context" in text:
        starts = [match.start() for match in NOTE.finditer(tail)]
        nodes = [tail[start:end] for start, end in zip(starts, [*starts[1:], len(tail)], strict=True)]
        flags = [any(fact in node for fact in facts) for node in nodes]
    else:
        flags = [fact in tail for fact in facts]
    verdicts = [{"reason": "it is said there", "verdict": "yes" if flag else "no"} for flag in flags]
    return json.dumps({"verdicts": verdicts})


# --- the server ---


class Server:
    """The fake server in a process of its own, so that its CPU time is nobody else's.

    Args:
        **options: Of `FakeOpenAIServer`; ``faults`` are dicts of `Fault`'s arguments.
    """

    def __init__(self, **options) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.base_url = self._ask({})["base_url"]

    def _ask(self, order: dict) -> dict:
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def reset(self) -> None:
        self._ask({"reset": True})

    def stats(self) -> dict:
        """Requests, refused ones, the most at once, and connections since the last reset."""
        return self._ask({})

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        self._process.wait()


def _serve(options: dict) -> None:
    from support import FakeOpenAIServer, Fault

    faults = [Fault(**fault) for fault in options.pop("faults", ())]
    with FakeOpenAIServer(respond, faults=faults, **options) as server:
        for line in sys.stdin:
            if json.loads(line).get("reset"):
                server.reset()
            requests = server.requests
            stats = {
                "base_url": server.base_url,
                "count": len(requests),
                "refused": sum(request.status == 429 for request in requests),
                "max_in_flight": server.max_in_flight,
                "connections": server.connections,
            }
            print(json.dumps(stats), flush=True)


# --- contenders ---


@contextlib.contextmanager
def silence():
    """Swallow the banners, advice and warnings of a framework."""
    swallowed = io.StringIO()
    with (
        contextlib.redirect_stdout(swallowed),
        contextlib.redirect_stderr(swallowed),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def logged(logger: str | None = None):
    """Collect the warnings that reach a logger: who gives them, and what they say."""
    lines: list[tuple[str, str]] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: lines.append((record.name, record.getMessage()))
    logging.getLogger(logger).addHandler(handler)
    try:
        yield lines
    finally:
        logging.getLogger(logger).removeHandler(handler)


def judge_at(base_url: str, **options):
    from ctxmetrics import LLMJudge, OpenAIModel

    return LLMJudge(OpenAIModel("fake-judge", base_url=base_url, api_key="sk-fake"), **options)


KINDS = ("recall", "precision")
PEERS = {"ragas": "ragas_scores", "collections": "collections_scores", "deepeval": "deepeval_scores"}
"""The functions below that score in a framework, with its own LLM metrics."""
TITLES = {
    "ragas": "Ragas `evaluate`",
    "collections": "Ragas collections",
    "deepeval": "DeepEval `evaluate`",
}


def ragas_scores(
    given: list[Case], base_url: str, kinds: Sequence[str] = KINDS, **run_config
) -> list[tuple[float, ...]]:
    """Scores of `ragas.evaluate`."""
    warnings.simplefilter("ignore")
    from ragas import RunConfig
    from ragas.metrics import LLMContextPrecisionWithReference, LLMContextRecall

    options = {"run_config": RunConfig(**run_config)} if run_config else {}
    metrics = {"recall": LLMContextRecall, "precision": LLMContextPrecisionWithReference}
    chosen = [metrics[kind]() for kind in kinds]
    return in_ragas(given, chat_at(base_url), chosen, raise_exceptions=False, **options)


def in_ragas(given: list[Case], chat, metrics: list, **options) -> list[tuple[float, ...]]:
    """The values of metrics in `ragas.evaluate` with a chat model of LangChain."""
    from ragas import EvaluationDataset, SingleTurnSample, evaluate
    from ragas.llms import LangchainLLMWrapper

    dataset = EvaluationDataset([SingleTurnSample(**fields) for fields in ragas_fields(given)])
    found = evaluate(dataset, metrics, llm=LangchainLLMWrapper(chat), show_progress=False, **options)
    return [tuple(row[metric.name] for metric in metrics) for row in found.scores]


def chat_at(base_url: str, model: str = "fake-judge", api_key: str = "sk-fake", **options):
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model=model, base_url=base_url, api_key=api_key, **options)


def ragas_fields(given: list[Case]) -> list[dict]:
    """The cases under the names of Ragas' fields."""
    names = ("user_input", "reference", "retrieved_contexts")
    rows = [(case.question, case.reference, list(case.contexts)) for case in given]
    return [dict(zip(names, row, strict=True)) for row in rows]


def collections_scores(
    given: list[Case], base_url: str, kinds: Sequence[str] = KINDS
) -> list[tuple[float, ...]]:
    """Scores of Ragas' newer metrics, each as one batch."""
    warnings.simplefilter("ignore")
    from openai import AsyncOpenAI
    from ragas.llms import llm_factory
    from ragas.metrics.collections import ContextPrecisionWithReference, ContextRecall

    metrics = {"recall": ContextRecall, "precision": ContextPrecisionWithReference}

    async def main():
        async with AsyncOpenAI(base_url=base_url, api_key="sk-fake") as client:
            llm = llm_factory("fake-judge", client=client)
            return [await metrics[kind](llm=llm).abatch_score(ragas_fields(given)) for kind in kinds]

    return [tuple(one.value for one in row) for row in zip(*asyncio.run(main()), strict=True)]


def deepeval_case(question: str, reference: str, contexts: Sequence[str], **more):
    """A test case of DeepEval's; no metric of contexts reads its output."""
    from deepeval.test_case import LLMTestCase

    fields = {"input": question, "actual_output": "-", "expected_output": reference}
    return LLMTestCase(**fields, retrieval_context=list(contexts), **more)


def deepeval_cases(given: list[Case]) -> list:
    """The cases as DeepEval's, named by their position: results come back in any order."""
    return [
        deepeval_case(case.question, case.reference, case.contexts, name=str(index))
        for index, case in enumerate(given)
    ]


def deepeval_scores(
    given: list[Case], base_url: str, kinds: Sequence[str] = KINDS, **options
) -> list[tuple[float | None, ...]]:
    """Scores of `deepeval.evaluate`, in its default configuration."""
    from deepeval import evaluate
    from deepeval.metrics import ContextualPrecisionMetric, ContextualRecallMetric
    from deepeval.models import GPTModel

    model = GPTModel(model="gpt-4o-mini", base_url=base_url, api_key="sk-fake")
    metrics = {"recall": ContextualRecallMetric, "precision": ContextualPrecisionMetric}
    chosen = [metrics[kind](model=model) for kind in kinds]
    with silence():
        found = evaluate(deepeval_cases(given), chosen, **options)
    return deepeval_values(found, tuple(f"Contextual {kind.title()}" for kind in kinds))


def deepeval_values(found, names: tuple[str, ...]) -> list[tuple[float | None, ...]]:
    """The values of metrics of these names in a result of `deepeval.evaluate`, in the order of `deepeval_cases`."""
    rows = sorted(found.test_results, key=lambda result: int(result.name))
    scores = [{item.name: item.score for item in row.metrics_data} for row in rows]
    return [tuple(row.get(name) for name in names) for row in scores]


def wrong(scores, given: list[Case]) -> int:
    """How many of both scores are numbers, and not the true ones."""
    pairs = [
        (value, truth)
        for row, case in zip(scores, given, strict=True)
        for value, truth in zip(row, (case.recall, case.precision), strict=True)
    ]
    return sum(not _is_missing(value) and abs(value - truth) > 1e-6 for value, truth in pairs)


def missing(scores) -> int:
    return sum(_is_missing(value) for row in scores for value in row)


def _is_missing(value) -> bool:
    return value is None or math.isnan(value)


if __name__ == "__main__":
    _serve(json.loads(sys.argv[1]))
