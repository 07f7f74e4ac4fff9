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
from ctxmetrics.verdicts import Usage, Verdict

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
    pack = get_pack("en")
    state = render_state(pack, _DATA)
    questions = {}
    for unit in _DATA["sentences"]:
        for context in _DATA["contexts"]:
            words = pack.decisions["states"].replace("{context}", context)
            questions[f"{unit}_{context}"] = words.replace("{sentence}", unit)
    first, usage = await _ask(judge, state, questions)
    failed = next((answer for answer in first.values() if answer.probability is None), None)
    if failed is not None:
        verdict = Verdict(id="s1", value=None, code=failed.code, reason=failed.reason)
        return [explain_failure(verdict, run.problem)]
    useful = pack.decisions["useful"].replace("{context}", "c2")
    turned = {f"x{id_}": questions[id_] for id_ in reversed(questions)}
    second, _ = await _ask(judge, state, {"useful": useful, **turned})
    many = {f"q{number}": f"{useful} ({number})" for number in range(max(1, judge.max_questions - 1))}
    third, _ = await _ask(judge, state, many)
    return [
        *_describe(first, second),
        _describe_number(third, judge.max_questions, run.question_limits.get(judge.model.identity)),
        Finding(
            name="usage",
            told=f"{usage.prompt_tokens} tokens{', which the server did not count' * usage.estimated}",
            cause="usage" if usage.estimated else None,
        ),
    ]


async def _ask(
    judge: DecisionJudge, state: str, questions: Mapping[str, str]
) -> tuple[dict[str, Answer], Usage]:
    exchange = Exchange(judge.model, get_pack("en").versions["decision"], state)
    await exchange.ask(questions, judge.max_questions)
    return exchange.answers, exchange.usage


def _describe(first: Mapping[str, Answer], second: Mapping[str, Answer]) -> Iterator[Finding]:
    """Describe the answers to the first two requests."""
    served = next(iter(first.values())).served_model
    by = f" by {served}" if served else ""
    yield Finding(name="answer", told=f"a probability for each question{by}")
    values = {id_: answer.probability or 0.0 for id_, answer in first.items()}
    if values["s1_c1"] > max(values["s1_c2"], values["s2_c1"]):
        yield Finding(
            name="verdicts", told="a sentence that is stated is likelier than one that is not"
        )
    else:
        told = "a sentence that is stated is no likelier than one that is not"
        yield Finding(name="verdicts", told=told, cause="verdict")
    gaps = [answer.gap for answer in (*first.values(), *second.values())]
    for id_, value in values.items():
        again = second[f"x{id_}"].probability
        if again is not None:
            gaps.append(abs(value - again))
    told = f"asked in another order, the answers are up to {max(gaps):.2f} apart"
    yield Finding(name="order", told=told, cause="order" if max(gaps) > STEADY else None)


def _describe_number(answers: Mapping[str, Answer], most: int, limit: int | None) -> Finding:
    """Describe a request with the most questions; ``limit`` is what the server takes, where it refused them."""
    missing = [answer for answer in answers.values() if answer.probability is None]
    if missing:
        return Finding(name="questions", told=missing[0].reason, cause="questions")
    if limit is not None:
        told = f"{limit} in one request: the server refuses more, and they are split"
        return Finding(name="questions", told=told)
    return Finding(name="questions", told=f"{most} in one request")
