"""Checks whether a judge can use a model, by one tiny request before a run is paid for (three for a decision model)."""

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
from ctxmetrics.evaluation.runs.controls import build_trial_sample
from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.decision import DecisionJudge
from ctxmetrics.judges.decision_exchange import LARGEST_GAP, DecisionExchange
from ctxmetrics.judges.judge_names import coerce_text
from ctxmetrics.judges.llm.judge import LLMJudge
from ctxmetrics.judges.llm.splitting import split_request
from ctxmetrics.judges.probabilities import ProbabilityCell
from ctxmetrics.metrics.judged import ContextRecall
from ctxmetrics.models.coerce import coerce_model
from ctxmetrics.models.runtime.background import run_sync
from ctxmetrics.models.runtime.failures import SIZE_CODES, UnsentError
from ctxmetrics.models.runtime.run import DEFAULT_TIMEOUT, Run, ServerReply, using
from ctxmetrics.prompts import get_pack
from ctxmetrics.scores.wording import TEXT, clean
from ctxmetrics.text.sentences import split_sentences
from ctxmetrics.verdicts import Usage, Verdict

# The texts and questions of the check. ``model_check.json`` explains each part.
_CHECK_TEXTS: Mapping[str, Any] = read_data("evaluation.runs", "model_check.json")
# The name of a fault in the texts, by the code of the verdict.
_TEXT_BY_CODE: Mapping[str, str] = _CHECK_TEXTS["codes"]
# Words of a server, in lower case, that name the fault if its status does not.
_REFUSAL_PATTERNS: Mapping[str, re.Pattern[str]] = {
    "no_completion": re.compile(
        r"no[ ]json[ ]object | no[ ]choices | no[ ]chat[ ]completion | cannot[ ]be[ ]decompressed",
        re.VERBOSE,
    ),
    "form": re.compile(
        r"response_?format | json_schema | json_object | json[ ]mode | structured[ ]output", re.VERBOSE
    ),
    "no_model": re.compile(
        r"""
          \b(?:model|deployment)s?\b.{0,80}
          (?:not[ _]found|not[ ]exist|unknown|invalid(?!_request))
        | (?:unknown|invalid|no[ ]such|a[ ]valid)[ ]model
        | model_not_(?:found|available)
        | not_found_error.*\bmodel\b
        """,
        re.VERBOSE,
    ),
}
# The key of the text for a finding without a cause.
_NO_CAUSE_KEY = "right"
# Causes that come from a reply which cannot be read: the beginning of the reply is shown.
_UNREAD_REPLY_CODES = frozenset({"content_type", "reply_form", "echo", "truncated"})
# The maximum number of characters of this beginning.
_MAX_REPLY_CHARACTERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult(Plain):
    """The result of one check.

    Attributes:
        name: The name of the check:

            - ``"answer"``: the server answers;
            - ``"form"``: the reply can be read;
            - ``"echo"``: the reply repeats the ids of the request;
            - ``"verdicts"``: the verdicts are right;
            - ``"usage"``: the server counts the tokens;
            - ``"order"``: the verdicts do not depend on the order of the questions (decision models only);
            - ``"questions"``: the server takes as many questions as the judge sends (decision models only).
        told: The result in words. It may quote the server: then secrets are masked, and the text is one line and shortened.
        cause: A stable name of the fault, such as ``"key"``; None if there is no fault.
        reply: The first 200 characters of a reply that cannot be read, on one line and with secrets masked. Else None.
    """

    name: str
    told: str
    cause: str | None = None
    reply: str | None = None

    @property
    def fix(self) -> str | None:
        """The advice what to change; None if there is no fault."""
        return str(_CHECK_TEXTS["fixes"][self.cause]) if self.cause else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCheck(Plain):
    """The result of checking a model.

    Attributes:
        model: The identity of the model.
        findings: The results of the checks, in their order. If the server does not answer, there is only one result.
        seconds: The seconds of the last request.
        usage: The cost of all requests.
        with_start: Whether the seconds include the start of a framework's client. A run starts the client only once.
    """

    model: str
    findings: tuple[CheckResult, ...]
    seconds: float
    usage: Usage
    with_start: bool = False

    @property
    def ok(self) -> bool:
        """Whether the model can be used.

        Two findings do not prevent that. A server that counts no tokens: no verdict depends on them. Verdicts that depend on the
        order of the questions: a judge marks them.
        """
        return all(item.cause in (None, "usage", "order") for item in self.findings)

    def __str__(self) -> str:
        lines = [f"{'model':<15} {clean(self.model, TEXT)}"]
        for item in self.findings:
            lines.append(f"{item.cause or 'ok':<15} {item.name}: {item.told}")
            if item.fix:
                lines.append(f"{'':<15} {item.fix}")
            if item.reply is not None:
                lines.append(f"{'':<15} the reply begins: {item.reply}")
        return "\n".join(lines)


def check_model(model: object, *, timeout: float = DEFAULT_TIMEOUT, max_retries: int = 0) -> ModelCheck:
    """Check a model with tiny requests, on the path of a run. Report what works and what does not.

    A language model gets one request. A decision model gets three: the first asks some questions, the second asks them in
    another order and under other ids, and the third has as many questions as the judge sends at most. Nothing is remembered or
    cached. The result says whether a model can be used. How well it judges is measured by `ctxmetrics.check_judge` and
    `ctxmetrics.agree`.

    Args:
        model: A `Model`, an `LLMJudge`, a `DecisionJudge`, a framework's own model object whose adapter is installed, or a
            name such as ``"openai/gpt-4o-mini"``.
        timeout: Seconds for each request.
        max_retries: How often a request that failed is sent again.

    Returns:
        The findings; ``ok`` says whether the model can be used.

    Raises:
        ParameterError: ``model`` is no model, has no key, or needs a package that is not installed.
    """
    model = coerce_text(model) if isinstance(model, str) else model
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
        seconds=_measure_seconds(run, began),
        usage=run.usage,
        with_start=run.last_reply is None,
    )


def _measure_seconds(run: Run, began: float) -> float:
    """Return the seconds of the last request if the library's own client sent it. Else return the seconds since the beginning."""
    if run.last_reply is not None:
        return run.last_reply.seconds
    return time.perf_counter() - began


def explain_failure(
    verdict: Verdict, problem: JudgeError | None, reply: ServerReply | None = None
) -> CheckResult:
    """Say why no reply came. The status of the reply decides first, then the words of the server.

    Args:
        verdict: The verdict that is missing.
        problem: The failure.
        reply: The server's last reply, which the client could not read.
    """
    cause = _TEXT_BY_CODE.get(verdict.code or "", "refused_request")
    if isinstance(problem, UnsentError):
        cause = "request"
    elif verdict.code not in SIZE_CODES:
        status = getattr(problem, "status", None) or 0
        text = str(problem).lower()
        for refusal in _CHECK_TEXTS["refusals"]:
            has_status = any(first <= status <= last for first, last in refusal["statuses"])
            pattern_name = refusal.get("words")
            has_words = pattern_name is None or _REFUSAL_PATTERNS[pattern_name].search(text)
            if has_status and has_words:
                cause = refusal["cause"]
                break
    beginning = None
    if reply is not None and cause in _UNREAD_REPLY_CODES and getattr(problem, "status", None) is None:
        beginning = _quote_beginning(reply.text)
    note = verdict.reason or safe_text(problem)
    return CheckResult(name="answer", told=note, cause=cause, reply=beginning)


def _quote_beginning(text: str) -> str:
    """Quote the beginning of a reply, without keys."""
    return safe_text(text)[:_MAX_REPLY_CHARACTERS] or "(nothing)"


def _check_reply(judge: LLMJudge, run: Run, began: float) -> Iterator[CheckResult]:
    """Ask a language model once, and yield the findings. Stop at a fault that makes the other checks meaningless."""
    trial = judge.asking(judge.model, **_CHECK_TEXTS["options"])
    score = ContextRecall(judge=trial).score(build_trial_sample().sample)
    raw = score.metadata.get("raw_replies")
    if not raw:
        yield explain_failure(score.verdicts[0], run.problem, run.last_reply)
        return
    # The trial has a sentence that its context states, and one that it does not state.
    stated_verdict, unstated_verdict = score.verdicts
    usage = score.usage
    served_model = score.provenance.served_model
    by_model = f" by {served_model}" if served_model else ""
    yield CheckResult(name="answer", told=f"in {_measure_seconds(run, began):.2g} s{by_model}")
    reply_format = _CHECK_TEXTS["forms"].get(
        getattr(judge.model, "form", ""), "asked for as its client does"
    )
    beginnings = {
        "form": f"{reply_format}; ",
        "usage": f"{usage.prompt_tokens} + {usage.completion_tokens} tokens",
    }
    code = _TEXT_BY_CODE.get(stated_verdict.code or "")
    nothing_judged = stated_verdict.value is None and unstated_verdict.value is None
    # Whether each cause applies. A check has the first of its causes that applies.
    applies = {
        "reply_form": code == "reply_form" and nothing_judged,
        "echo": code == "echo",
        "quotes": code == "quotes" or stated_verdict.value is None,
        "verdict": stated_verdict.value is not True or unstated_verdict.value is not False,
        "usage": usage.estimated,
    }
    for name, texts in _CHECK_TEXTS["looks"].items():
        cause = next((cause for cause in texts if applies.get(cause)), None)
        beginning = _quote_beginning(raw[-1]) if cause in _UNREAD_REPLY_CODES else None
        note = beginnings.get(name, "") + texts[cause or _NO_CAUSE_KEY]
        yield CheckResult(name=name, told=note, cause=cause, reply=beginning)
        if cause and nothing_judged:
            return


async def _check_decisions(judge: DecisionJudge, run: Run) -> list[CheckResult]:
    """Ask a decision model three times, and return the findings."""
    sample = build_trial_sample().sample
    most_questions = judge.max_questions
    request = JudgeRequest(
        units=split_sentences(sample.reference or ""),
        contexts=sample.retrieved_contexts or (),
        answer=sample.reference or "",
    )
    (request_part,) = split_request(
        request, "joint", per_context=False, limit=judge.max_characters, most_ids=len(request.units)
    )
    judge_state, questions = replace(judge, layout="sample", together=False).write(request_part)

    async def ask(questions: Mapping[str, str]) -> DecisionExchange:
        """Ask questions about the state in an exchange of its own."""
        exchange = DecisionExchange(judge.model, get_pack("en").versions["decision"], judge_state)
        await exchange.ask(questions, most_questions)
        return exchange

    first_exchange = await ask(questions)
    for cell in first_exchange.answers.values():
        if cell.failure is not None:
            verdict = Verdict(id="s1", value=None, code=cell.code, reason=cell.failure)
            return [explain_failure(verdict, run.problem, run.last_reply)]
    # The same questions without the last one, in reversed order and under other ids.
    question_ids = [*questions][:-1]
    reordered_exchange = await ask({f"x{id_}": questions[id_] for id_ in reversed(question_ids)})
    # As many questions as the judge sends at most: copies of one, with a number each.
    longest_exchange = await ask(
        {f"q{number}": f"{questions['c2']} ({number})" for number in range(max(1, most_questions - 1))}
    )
    findings = list(_describe_answers(first_exchange.answers, reordered_exchange.answers))
    note = f"{most_questions} in one request"
    cause = None
    limit = run.question_limits.get(judge.model.identity)
    if limit is not None:
        note = f"{limit} in one request: the server refuses more, and they are split"
    for cell in longest_exchange.answers.values():
        if cell.failure is not None:
            note = cell.failure
            cause = "questions"
    findings.append(CheckResult(name="questions", told=note, cause=cause))
    note = f"{first_exchange.usage.prompt_tokens} tokens"
    cause = None
    if first_exchange.usage.estimated:
        note = f"{note}, which the server did not count"
        cause = "usage"
    return [*findings, CheckResult(name="usage", told=note, cause=cause)]


def _describe_answers(
    first: Mapping[str, ProbabilityCell], reordered: Mapping[str, ProbabilityCell]
) -> Iterator[CheckResult]:
    """Describe the answers to the first request and to the one with the questions in another order."""
    served_model = first["s1_c1"].served_model
    by_model = f" by {served_model}" if served_model else ""
    yield CheckResult(name="answer", told=f"a probability for each question{by_model}")
    values = {id_: cell.probability for id_, cell in first.items()}
    is_wrong = values["s1_c1"] <= max(values["s1_c2"], values["s2_c1"])
    likelier = "no likelier" if is_wrong else "likelier"
    note = f"a sentence that is stated is {likelier} than one that is not"
    yield CheckResult(name="verdicts", told=note, cause="verdict" if is_wrong else None)
    gaps = [cell.gap for cell in (*first.values(), *reordered.values())]
    gaps += [abs(values[id_.removeprefix("x")] - cell.probability) for id_, cell in reordered.items()]
    note = f"asked in another order, the answers are up to {max(gaps):.2f} apart"
    yield CheckResult(name="order", told=note, cause="order" if max(gaps) > LARGEST_GAP else None)
