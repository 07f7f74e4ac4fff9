"""Every way a judge's server can fail: no score is silently wrong, no run is lost, and what is missing says why."""

from __future__ import annotations

import random
import re

import pytest

from ctxmetrics import ContextPrecision, ContextRecall, LLMJudge, OpenAIModel, Sample, evaluate
from ctxmetrics.judges.llm.judge import forget
from support import FAULTS, FakeOpenAIServer, Fault, answer_from
from support.faults import HARMLESS

FACT = re.compile(r"Fact \d+-\d+ holds\.")
HONEST = answer_from(
    supported=lambda unit, contexts: any(unit in context for context in contexts),
    useful=lambda context, answer: any(fact in context for fact in FACT.findall(answer)),
)


def case(number):
    """A sample of four sentences and three contexts, and its scores."""
    source = random.Random(number)
    facts = [f"Fact {number}-{index} holds." for index in range(4)]
    held = [[], [], []]
    for fact in facts[: source.randint(1, 4)]:
        source.choice(held).append(fact)
    contexts = [f"Note {number}-{rank}. {' '.join(found)}" for rank, found in enumerate(held)]
    hits = [sum(map(bool, held[: rank + 1])) / (rank + 1) for rank in range(3) if held[rank]]
    sample = Sample(id=number, reference=" ".join(facts), retrieved_contexts=contexts)
    return sample, (sum(map(len, held)) / 4, sum(hits) / len(hits))


# One fault each of the transport, of the status and of the content.
QUICK = ("hang", "500", "refusal_text")
CASES = [case(number) for number in range(16)]


def quick(kinds, but=""):
    return [
        kind if kind in QUICK and kind != but else pytest.param(kind, marks=pytest.mark.slow)
        for kind in kinds
    ]


def run(fault):
    forget()
    with FakeOpenAIServer(HONEST, faults=[fault]) as server:
        judge = LLMJudge(OpenAIModel("fake-judge", base_url=server.base_url))
        metrics = [ContextRecall(), ContextPrecision()]
        # Only a request that hangs needs a short timeout; a slow machine needs a long one.
        seconds = 2.0 if fault.kind == "hang" else 60.0
        results = evaluate([sample for sample, _ in CASES], metrics, judge=judge, timeout=seconds)
    scores = [(row["context_recall"], row["context_precision"]) for row in results]
    assert len(scores) == len(CASES)
    for row, (_, truth) in zip(scores, CASES, strict=True):
        for score, expected in zip(row, truth, strict=True):
            assert score.value in (None, pytest.approx(expected))
            assert (score.value is None) == (score.reason_code is not None)
    return sum(score.value is None for row in scores for score in row)


@pytest.mark.slow
@pytest.mark.parametrize("kind", quick(FAULTS))
def test_one_request_in_ten_fails_and_everything_is_judged(kind):
    assert (
        run(Fault(kind, every=10, param=0.1 if kind in {"429_retry_after", "trickle"} else None)) == 0
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in FAULTS if kind != "hang"])
def test_half_the_requests_fail_and_nothing_is_wrong(kind):
    run(Fault(kind, rate=0.5, param=0.1 if kind in {"429_retry_after", "trickle"} else None))


@pytest.mark.slow
@pytest.mark.parametrize("kind", quick(FAULTS, but="hang"))
def test_every_request_fails_and_it_is_said_once(kind, caplog):
    missing = run(Fault(kind, param=0.01 if kind in {"429_retry_after", "trickle"} else None))
    assert missing == (0 if kind in HARMLESS else 2 * len(CASES))
    assert len(caplog.records) == (0 if kind in HARMLESS else 1)
