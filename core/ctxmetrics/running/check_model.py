"""Whether a model can be used by a judge: one tiny request shows it before a run is paid for; of a decision model, three."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.frozen import Plain
from ctxmetrics._internal.secrets import hide_keys, safe_text
from ctxmetrics.errors import JudgeError
from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.decision import DecisionJudge
from ctxmetrics.judges.decision_exchange import STEADY, Exchange
from ctxmetrics.judges.llm.judge import LLMJudge
from ctxmetrics.judges.llm.splitting import split_request
from ctxmetrics.judges.probabilities import Cell
from ctxmetrics.metrics import ContextRecall
from ctxmetrics.models.coerce import coerce_model
from ctxmetrics.models.runtime.background import run_sync
from ctxmetrics.models.runtime.failures import SIZE_CODES, UnsentError
from ctxmetrics.models.runtime.run import DEFAULT_TIMEOUT, Run, using
from ctxmetrics.presentation.wording import TEXT, clean
from ctxmetrics.prompts import get_pack
from ctxmetrics.running.controls import trial_sample
from ctxmetrics.text import split_sentences
from ctxmetrics.verdicts import Usage, Verdict

# What is looked at and what is said about it: ``model_check.json`` says what each part is.
_DATA: Mapping[str, Any] = read_data("running", "model_check.json")
_CODES: Mapping[str, str] = _DATA["codes"]
_RIGHT = "right"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Plain):
    """One thing that was looked at.

    Attributes:
        name: ``"answer"``, ``"form"``, ``"echo"``, ``"verdicts"`` or ``"usage"``; of decision models also ``"order"`` and
            ``"questions"``.
        told: The result in words. It may hold words of the server: masked, on one line and cut.
        cause: A stable name of what is wrong, such as ``"key"``; None where nothing is.
    """

    name: str
    told: str
    cause: str | None = None

    @property
    def fix(self) -> str | None:
        """What to change; None where nothing is wrong."""
        return str(_DATA["fixes"][self.cause]) if self.cause else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCheck(Plain):
    """What one request to a model showed.

    Attributes:
        model: Its identity.
        findings: What was looked at, in this order; a failed answer is the only finding.
        seconds: How long the request took.
        usage: What it cost.
    """

    model: str
    findings: tuple[Finding, ...]
    seconds: float
    usage: Usage

    @property
    def ok(self) -> bool:
        """Whether the model can be used. Tokens that are not counted change no verdict, and an order that matters is flagged: they do not matter here."""
        return all(item.cause in (None, "usage", "order") for item in self.findings)

    def __str__(self) -> str:
        lines = [f"{'model':<15} {clean(self.model, TEXT)}"]
        for item in self.findings:
            lines.append(f"{item.cause or 'ok':<15} {item.name}: {item.told}")
            if item.fix:
                lines.append(f"{'':<15} {item.fix}")
        return "\n".join(lines)


def check_model(model: object, *, timeout: float = DEFAULT_TIMEOUT, max_retries: int = 0) -> ModelCheck:
    """Send tiny requests to a model on the path that a run takes, and say what works and what does not.

    One goes to a language model. Of those to a decision model the first asks questions, the second the same in another order
    and company under other ids, the third as many as the judge sends at most. Nothing is remembered or cached. It says
    whether a model can be used, not whether it judges well: that is what `ctxmetrics.check_judge` and `ctxmetrics.agree`
    measure.

    Args:
        model: A `Model`, an `LLMJudge`, a `DecisionJudge`, or a framework's own model object whose adapter is installed.
        timeout: Seconds for each request.
        max_retries: How often each is sent again where it failed.

    Returns:
        What the requests showed; ``ok`` says whether the model can be used.

    Raises:
        ParameterError: It is no model, has no key, or needs a package that is not installed.
    """
    judge = model if isinstance(model, (DecisionJudge, LLMJudge)) else LLMJudge(coerce_model(model))
    began = time.perf_counter()
    with using(Run(timeout=timeout, attempts=max_retries + 1, ends=True)) as run:
        if isinstance(judge, DecisionJudge):
            findings = run_sync(_check_decisions, judge, run)
        else:
            findings = list(_check_reply(judge, run, began))
    return ModelCheck(
        model=hide_keys(judge.model.identity),
        findings=tuple(findings),
        seconds=time.perf_counter() - began,
        usage=run.usage,
    )


def explain_failure(verdict: Verdict, problem: JudgeError | None) -> Finding:
    """Say why no reply came: the status decides, then what the server says."""
    cause = _CODES.get(verdict.code or "", "refused_request")
    if isinstance(problem, UnsentError):
        cause = "request"
    elif verdict.code not in SIZE_CODES:
        status, text = getattr(problem, "status", None) or 0, str(problem).lower()
        for refusal in _DATA["refusals"]:
            fits = any(first <= status <= last for first, last in refusal["statuses"])
            if fits and re.search(refusal["words"], text):
                cause = refusal["cause"]
                break
    return Finding(name="answer", told=verdict.reason or safe_text(problem), cause=cause)


def _check_reply(judge: LLMJudge, run: Run, began: float) -> Iterator[Finding]:
    """Ask a language model once, and yield the findings, until something makes the rest meaningless."""
    trial = judge.asking(judge.model, **_DATA["options"])
    score = ContextRecall(judge=trial).score(trial_sample().sample)
    if not score.metadata.get("raw_replies"):
        yield explain_failure(score.verdicts[0], run.problem)
        return
    (stated, unstated), usage, served = score.verdicts, score.usage, score.provenance.served_model
    by = f" by {served}" if served else ""
    yield Finding(name="answer", told=f"in {time.perf_counter() - began:.1f} s{by}")
    form = _DATA["forms"].get(getattr(judge.model, "form", ""), "asked for as its client does")
    beginnings = {
        "form": f"{form}; ",
        "usage": f"{usage.prompt_tokens} + {usage.completion_tokens} tokens",
    }
    code, nothing = _CODES.get(stated.code or ""), stated.value is unstated.value is None
    wrong = {
        "reply_form": code == "reply_form" and nothing,
        "echo": code == "echo",
        "quotes": code == "quotes" or stated.value is None,
        "verdict": stated.value is not True or unstated.value is not False,
        "usage": usage.estimated,
    }
    for name, words in _DATA["looks"].items():
        cause = next((cause for cause in words if wrong.get(cause)), None)
        yield Finding(name=name, told=beginnings.get(name, "") + words[cause or _RIGHT], cause=cause)
        if cause and nothing:
            return


async def _check_decisions(judge: DecisionJudge, run: Run) -> list[Finding]:
    """Ask a decision model three times, and return the findings."""
    sample, most = trial_sample().sample, judge.max_questions
    request = JudgeRequest(
        units=split_sentences(sample.reference or ""),
        contexts=sample.retrieved_contexts or (),
        answer=sample.reference or "",
    )
    (part,) = split_request(
        request, "joint", per_context=False, limit=judge.max_characters, most=len(request.units)
    )
    state, questions = replace(judge, layout="sample", together=False).write(part)

    async def ask(questions: Mapping[str, str]) -> Exchange:
        exchange = Exchange(judge.model, get_pack("en").versions["decision"], state)
        await exchange.ask(questions, most)
        return exchange

    first = await ask(questions)
    for cell in first.answers.values():
        if cell.failure is not None:
            verdict = Verdict(id="s1", value=None, code=cell.code, reason=cell.failure)
            return [explain_failure(verdict, run.problem)]
    # In another order and company, under other ids.
    second = await ask({f"x{id_}": questions[id_] for id_ in [*reversed(questions)][1:]})
    third = await ask(
        {f"q{number}": f"{questions['c2']} ({number})" for number in range(max(1, most - 1))}
    )
    findings = list(_describe(first.answers, second.answers))
    told, cause = f"{most} in one request", None
    limit = run.question_limits.get(judge.model.identity)
    if limit is not None:
        told = f"{limit} in one request: the server refuses more, and they are split"
    for cell in third.answers.values():
        if cell.failure is not None:
            told, cause = cell.failure, "questions"
    findings.append(Finding(name="questions", told=told, cause=cause))
    told, cause = f"{first.usage.prompt_tokens} tokens", None
    if first.usage.estimated:
        told, cause = f"{told}, which the server did not count", "usage"
    return [*findings, Finding(name="usage", told=told, cause=cause)]


def _describe(first: Mapping[str, Cell], second: Mapping[str, Cell]) -> Iterator[Finding]:
    """Describe the answers to the first two requests."""
    served = first["s1_c1"].served_model
    by = f" by {served}" if served else ""
    yield Finding(name="answer", told=f"a probability for each question{by}")
    values = {id_: cell.probability for id_, cell in first.items()}
    wrong = values["s1_c1"] <= max(values["s1_c2"], values["s2_c1"])
    told = f"a sentence that is stated is {'no ' * wrong}likelier than one that is not"
    yield Finding(name="verdicts", told=told, cause="verdict" if wrong else None)
    gaps = [cell.gap for cell in (*first.values(), *second.values())]
    gaps += [abs(values[id_.removeprefix("x")] - cell.probability) for id_, cell in second.items()]
    told = f"asked in another order, the answers are up to {max(gaps):.2f} apart"
    yield Finding(name="order", told=told, cause="order" if max(gaps) > STEADY else None)
