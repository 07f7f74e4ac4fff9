"""Whether a decision model can be used by a judge: three tiny requests show it before a run is paid for."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from ctxmetrics.judges.decision import DecisionJudge
from ctxmetrics.models.decisions import STEADY, Answer, Exchange
from ctxmetrics.models.runtime.background import run_sync
from ctxmetrics.models.runtime.run import DEFAULT_TIMEOUT, Run, using
from ctxmetrics.prompts import get_pack
from ctxmetrics.prompts.render import render_state
from ctxmetrics.running.check_model import Finding, ModelCheck, explain_failure
from ctxmetrics.verdicts import Verdict

_DATA = {
    "question": "Where is the tower?",
    "sentences": {"s1": "The tower stands in Paris.", "s2": "It was painted blue in 1950."},
    "contexts": {"c1": "The tower stands in Paris, on the left bank.", "c2": "Bananas are yellow."},
}


def check_decisions(
    judge: DecisionJudge, *, timeout: float = DEFAULT_TIMEOUT, max_retries: int = 0
) -> ModelCheck:
    """Send tiny requests to a judge's decision model, and say what works and what does not.

    The first asks questions, the second the same in another order and company under other ids, the third as many as
    the judge sends at most. Nothing is remembered or cached.

    Args:
        judge: The judge.
        timeout: Seconds for each request.
        max_retries: How often each is sent again where it failed.

    Returns:
        What the requests showed; ``ok`` says whether the model can be used.
    """
    with using(Run(timeout=timeout, attempts=max_retries + 1, ends=True)) as run:
        began = time.perf_counter()
        findings = run_sync(_look, judge, run)
        seconds = time.perf_counter() - began
    model = judge.model.identity
    return ModelCheck(model=model, findings=tuple(findings), seconds=seconds, usage=run.usage)


async def _look(judge: DecisionJudge, run: Run) -> list[Finding]:
    pack, state = get_pack("en"), render_state(get_pack("en"), _DATA)

    async def ask(questions: Mapping[str, str]) -> Exchange:
        exchange = Exchange(judge.model, pack.versions["decision"], state)
        await exchange.ask(questions, judge.max_questions)
        return exchange

    questions = {}
    for id_ in ("s1_c1", "s1_c2", "s2_c1", "s2_c2"):
        unit, context = id_.split("_")
        words = pack.decisions["states"].replace("{context}", context)
        questions[id_] = words.replace("{sentence}", unit)
    first = await ask(questions)
    for answer in first.answers.values():
        if answer.probability is None:
            verdict = Verdict(id="s1", value=None, code=answer.code, reason=answer.reason)
            return [explain_failure(verdict, run.problem)]
    useful = pack.decisions["useful"].replace("{context}", "c2")
    turned = {f"x{id_}": questions[id_] for id_ in reversed(questions)}
    second = await ask({"useful": useful, **turned})
    most = judge.max_questions
    third = await ask({f"q{number}": f"{useful} ({number})" for number in range(max(1, most - 1))})
    missing = [answer for answer in third.answers.values() if answer.probability is None]
    limit = run.question_limits.get(judge.model.identity)
    number = f"{most} in one request"
    if limit is not None:
        number = f"{limit} in one request: the server refuses more, and they are split"
    counted, estimated = f"{first.usage.prompt_tokens} tokens", first.usage.estimated
    return [
        *_describe(first.answers, second.answers),
        Finding(
            name="questions",
            told=missing[0].reason if missing else number,
            cause="questions" if missing else None,
        ),
        Finding(
            name="usage",
            told=f"{counted}, which the server did not count" if estimated else counted,
            cause="usage" if estimated else None,
        ),
    ]


def _describe(first: Mapping[str, Answer], second: Mapping[str, Answer]) -> Iterator[Finding]:
    """Describe the answers to the first two requests."""
    served = first["s1_c1"].served_model
    yield Finding(
        name="answer", told=f"a probability for each question{f' by {served}' * bool(served)}"
    )
    values = {id_: answer.probability or 0.0 for id_, answer in first.items()}
    wrong = values["s1_c1"] <= max(values["s1_c2"], values["s2_c1"])
    told = f"a sentence that is stated is {'no ' * wrong}likelier than one that is not"
    yield Finding(name="verdicts", told=told, cause="verdict" if wrong else None)
    gaps = [answer.gap for answer in (*first.values(), *second.values())]
    gaps += [abs(value - (second[f"x{id_}"].probability or 0.0)) for id_, value in values.items()]
    told = f"asked in another order, the answers are up to {max(gaps):.2f} apart"
    yield Finding(name="order", told=told, cause="order" if max(gaps) > STEADY else None)
