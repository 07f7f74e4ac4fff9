"""Whether a model can be the judge's, found out with one tiny request, before a run is paid for."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from ctxmetrics._frozen import Plain
from ctxmetrics._runtime.failures import UnsentError, classify
from ctxmetrics._runtime.run import DEFAULT_TIMEOUT, Run, using
from ctxmetrics._secrets import safe_text
from ctxmetrics._wording import TEXT, clean
from ctxmetrics.errors import CtxMetricsError
from ctxmetrics.judges.given import model_of
from ctxmetrics.judges.llm.judge import LLMJudge
from ctxmetrics.metrics import ContextRecall
from ctxmetrics.models.base import Model, Prompt, Reply
from ctxmetrics.samples import Sample
from ctxmetrics.scores import Score
from ctxmetrics.verdicts import Usage

# The first sentence stands in the first text; the second stands nowhere.
_SAMPLE = Sample(
    id="check",
    user_input="Where is the tower?",
    reference="The tower stands in Paris. It was painted blue in 1950.",
    retrieved_contexts=["The tower stands in Paris, on the left bank.", "Bananas are yellow."],
)
_FORMS = {
    "json_schema": "asked for as JSON of a schema (response_format json_schema)",
    "json_object": "asked for in JSON mode (response_format json_object)",
    "text": "asked for as plain text that is JSON",
}
_NAMES_FORM = re.compile(r"response_?format|json_schema|json_object|json mode|structured output")
_NAMES_MODEL = re.compile(
    r"\bmodel\b.{0,80}(not found|not exist|unknown|invalid)|(unknown|invalid|no such) model|model_not_found"
)
_NO_COMPLETION = re.compile(r"no json object|no choices|no chat completion|cannot be decompressed")
# What an HTTP status says by itself.
_STATUSES = {401: "key", 403: "key", 402: "overload", 429: "overload", 404: "path", 405: "path"}
# What to change, by cause.
_FIX = {
    "key": "Give a valid key: the provider's variable (OPENAI_API_KEY), or api_key=.",
    "model_name": "Check the model's name in --judge or model=; the provider's list of models has it.",
    "path": "Check the address in --base-url or base_url=: most servers want it to end in /v1.",
    "redirect": "Give the address that the server redirects to as --base-url or base_url=.",
    "content_type": "Check the address: it answers with something else than a chat completion, such as a web page.",
    "connection": "Check that the server runs, and its address in --base-url or base_url=.",
    "timeout": "Check the server, or give it more time: --timeout or timeout=.",
    "overload": "Wait, or lower --max-concurrency or max_concurrency=; check the account's limits.",
    "server": "Check the server; its log may say more.",
    "request": "Correct the options of the model object: no request could be built from them.",
    "refused_request": "Correct what the server refuses: an option of the model object, or its form of the reply.",
    "refused": "Choose another model: this one, or a content filter before it, declines.",
    "truncated": "Let replies be longer: max_tokens= of the model, or the server's own limit.",
    "reply_form": "Ask in another form (reply_format='json_object' or 'text'), or choose another model.",
    "echo": "Choose another model, or ask in another form: replies must repeat the code that ends the data.",
    "quotes": "Choose another model: a yes must quote the text word for word.",
    "verdict": "Choose another model, and measure it: ctxmetrics check-judge.",
    "usage": "Have the server count tokens; until then counts are characters / 4, and so are --max-tokens and costs.",
}
# The cause that a verdict's code stands for.
_CODES = {
    "timeout": "timeout",
    "connection_error": "connection",
    "server_error": "server",
    "rate_limited": "overload",
    "overloaded": "overload",
    "refused": "refused",
    "truncated": "truncated",
    "invalid_reply": "reply_form",
    "conflicting_verdicts": "reply_form",
    "missing_id": "reply_form",
    "wrong_data": "echo",
    "no_echo": "echo",
    "unverified_evidence": "quotes",
    "weak_evidence": "quotes",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Plain):
    """One thing that was looked at.

    Attributes:
        name: ``"answer"``, ``"form"``, ``"echo"``, ``"verdicts"`` or ``"usage"``.
        told: What was found. It may hold words of the server: masked, on one line and cut.
        cause: A stable name of what is wrong, such as ``"key"``; None where nothing is.
    """

    name: str
    told: str
    cause: str | None = None

    @property
    def fix(self) -> str | None:
        """What to change; None where nothing is wrong."""
        return _FIX[self.cause] if self.cause else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCheck(Plain):
    """What one request to a model showed.

    Attributes:
        model: Its identity.
        findings: What was looked at, in this order; after a failed answer nothing else.
        seconds: How long the request took.
        usage: What it cost.
    """

    model: str
    findings: tuple[Finding, ...]
    seconds: float
    usage: Usage

    @property
    def ok(self) -> bool:
        """Whether the model can be used. Tokens that are not counted change no verdict, so they do not matter here."""
        return all(item.cause in (None, "usage") for item in self.findings)

    def __str__(self) -> str:
        lines = [f"{'model':<15} {clean(self.model, TEXT)}"]
        for item in self.findings:
            lines.append(f"{item.cause or 'ok':<15} {item.name}: {item.told}")
            lines += [f"{'':<15} {item.fix}"] if item.fix else []
        return "\n".join(lines)


class _Watched:
    """A model, and what came of the one request to it."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.identity = model.identity
        self.reply: Reply | None = None
        self.problem: CtxMetricsError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    async def generate(self, prompt: Prompt, schema: type[BaseModel]) -> Reply:
        """Ask the model, and keep what it answers or raises."""
        try:
            self.reply = await self.model.generate(prompt, schema)
        except Exception as error:
            self.problem = classify(error)
            raise
        return self.reply


def check_model(model: object, *, timeout: float = DEFAULT_TIMEOUT) -> ModelCheck:
    """Send one tiny request to a model on the path that a run takes, and say what works and what does not.

    Nothing is repeated, remembered or cached. It says whether a model can be used, not whether it judges well: that
    is what `ctxmetrics.check_judge` and `ctxmetrics.agree` measure.

    Args:
        model: A `Model`, an `LLMJudge`, or a framework's own model object whose adapter is installed.
        timeout: Seconds for the request.

    Raises:
        ParameterError: It is no model, has no key, or needs a package that is not installed.
    """
    judge = model if isinstance(model, LLMJudge) else LLMJudge(model_of(model))
    watched = _Watched(judge.model)
    asked = judge.asking(
        watched, joint=True, per_context=False, votes=1, max_repairs=0, reuse=False, evidence="flag"
    )
    began = time.perf_counter()
    with using(Run(timeout=timeout, attempts=1, ends=True)) as run:
        score = ContextRecall(judge=asked).score(_SAMPLE)
    seconds = time.perf_counter() - began
    return ModelCheck(
        model=judge.model.identity,
        findings=tuple(_findings(score, watched, seconds)),
        seconds=seconds,
        usage=run.usage,
    )


def _findings(score: Score, watched: _Watched, seconds: float) -> Iterator[Finding]:
    """Yield what was found, until something makes the rest meaningless."""
    stated, unstated = score.verdicts
    cause, reply = _CODES.get(stated.code or "", "refused_request"), watched.reply
    if reply is None:
        problem = watched.problem
        told = stated.reason or safe_text(problem)
        yield Finding(name="answer", told=told, cause=_cause(problem, cause))
        return
    yield Finding(
        name="answer",
        told=f"in {seconds:.1f} s" + (f" by {reply.served_model}" if reply.served_model else ""),
    )
    nothing = stated.value is None and unstated.value is None
    unread = nothing and cause == "reply_form"
    how = _FORMS.get(getattr(watched.model, "form", ""), "asked for as its client does")
    came = "what came cannot be read" if unread else "it came so"
    yield Finding(name="form", told=f"{how}; {came}", cause="reply_form" if unread else None)
    if unread:
        return
    if cause == "echo":
        yield Finding(name="echo", told="the code of the request is not in the reply", cause="echo")
    else:
        yield Finding(name="echo", told="the reply repeats its request's code")
    if nothing:
        return
    told, wrong = "a sentence that is stated has its quote, another has none", None
    if cause == "quotes" or stated.value is None:
        told, wrong = (
            "the quote for a sentence that is stated is not in the text, or proves nothing",
            "quotes",
        )
    elif stated.value is False or unstated.value is not False:
        told, wrong = "of two sentences, the one that is stated was not told from the other", "verdict"
    yield Finding(name="verdicts", told=told, cause=wrong)
    usage = score.usage
    told = f"{usage.prompt_tokens} + {usage.completion_tokens} tokens"
    told += ", which the server did not count" if usage.estimated else ""
    yield Finding(name="usage", told=told, cause="usage" if usage.estimated else None)


def _cause(problem: CtxMetricsError | None, otherwise: str) -> str:
    """Return the cause of a request that brought no reply: the status decides, then what the server says."""
    status, text = getattr(problem, "status", None), str(problem).lower()
    if isinstance(problem, UnsentError):
        return "request"
    if _NO_COMPLETION.search(text):
        return "content_type"
    if status is None or status >= 500:  # noqa: PLR2004 - HTTP
        return otherwise
    if status < 400:  # noqa: PLR2004 - HTTP
        return "redirect"
    if _NAMES_FORM.search(text):
        return "reply_form"
    return "model_name" if _NAMES_MODEL.search(text) else _STATUSES.get(status, "refused_request")
