"""Whether a model can be used by a judge: one tiny request shows it before a run is paid for."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ctxmetrics._internal.frozen import Plain
from ctxmetrics._internal.secrets import hide_keys, safe_text
from ctxmetrics.errors import JudgeError
from ctxmetrics.judges.llm.judge import LLMJudge
from ctxmetrics.metrics import ContextRecall
from ctxmetrics.models.base import Model
from ctxmetrics.models.coerce import coerce_model
from ctxmetrics.models.runtime.failures import SIZE_CODES, UnsentError
from ctxmetrics.models.runtime.run import DEFAULT_TIMEOUT, Run, using
from ctxmetrics.presentation.wording import TEXT, clean
from ctxmetrics.samples import Sample
from ctxmetrics.scores import Score
from ctxmetrics.verdicts import Usage, Verdict

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
# What is wrong where no reply came: the first of these statuses and words of the server that fits. 0
# means no status.
_REFUSALS: Sequence[tuple[Collection[int], str, str]] = (
    (range(600), "no json object|no choices|no chat completion|cannot be decompressed", "content_type"),
    (range(300, 400), "", "redirect"),
    (
        range(400, 500),
        "response_?format|json_schema|json_object|json mode|structured output",
        "reply_form",
    ),
    (
        (400, *range(402, 500)),
        (
            r"\b(model|deployment)s?\b.{0,80}(not[ _]found|not exist|unknown|invalid(?!_request))|"
            r"(unknown|invalid|no such|a valid) model|model_not_(found|available)|not_found_error.*\bmodel\b"
        ),
        "model_name",
    ),
    ((401, 403), "", "key"),
    ((402, 429), "", "overload"),
    ((404, 405), "", "path"),
    (range(400, 500), "", "refused_request"),
)
# What is looked at in a reply, and the text about it: where it is right, and by cause.
_LOOKS: Mapping[str, Mapping[str | None, str]] = {
    "form": {None: "it came so", "reply_form": "what came cannot be read"},
    "echo": {
        None: "the reply repeats its request's code",
        "echo": "the code of the request is not in the reply",
    },
    "verdicts": {
        None: "a sentence that is stated has its quote, another has none",
        "quotes": "the quote for a sentence that is stated is not in the text, or proves nothing",
        "verdict": "of two sentences, the one that is stated was not told from the other",
    },
    "usage": {None: "", "usage": ", which the server did not count"},
}
# What to change, by cause.
_FIX = {
    "key": "Give a valid key: the provider's variable (OPENAI_API_KEY), or api_key=.",
    "model_name": "Check the model's name in --judge or model=; the provider's list of models has it.",
    "path": "Check the address in --base-url or base_url=: most servers want it to end in /v1.",
    "redirect": "Give the address that the server redirects to as --base-url or base_url=.",
    "content_type": "Check the address: it answers with something else than a chat completion, such as a web page.",
    "connection": "Check that the server runs, and its address in --base-url or base_url=.",
    "timeout": "Check the server, send fewer requests at once (--max-concurrency or max_concurrency=), or give each more time (--timeout or timeout=).",
    "overload": "Wait, or lower --max-concurrency or max_concurrency=; check the account's limits and balance.",
    "server": "Check the server; its log may say more.",
    "request": "Correct the options of the model object: no request could be built from them.",
    "refused_request": "Correct what the server refuses: an option of the model object, or its form of the reply.",
    "refused": "Choose another model: this one, or a content filter before it, declines.",
    "truncated": "Let replies be longer: max_tokens= of the model, or the server's own limit.",
    "too_long": "Let the server read more (num_ctx, --ctx-size): this request is shorter than those of a run.",
    "truncated_prompt": "Let the server read more (num_ctx): it read a part of this short request only.",
    "reply_form": "Ask in another form (reply_format='json_object' or 'text'), or choose another model.",
    "echo": "Choose another model, or ask in another form: replies must repeat the code that ends the data.",
    "quotes": "Choose another model: a yes must quote the text word for word.",
    "verdict": "Choose another model, and measure it: ctxmetrics check-judge.",
    "order": "Take layout='context', and measure the judge: ctxmetrics agree. Its answers depend on what is asked beside them.",
    "questions": "Give fewer: max_questions= of DecisionJudge.",
    "usage": "Have the server count tokens; until then counts are characters / 4, and so are --max-tokens and costs.",
}
# The cause that belongs to a verdict's code.
_CODES = {
    "timeout": "timeout",
    "connection_error": "connection",
    "server_error": "server",
    "rate_limited": "overload",
    "overloaded": "overload",
    "refused": "refused",
    "truncated": "truncated",
    "too_long": "too_long",
    "truncated_prompt": "truncated_prompt",
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
        return _FIX[self.cause] if self.cause else None


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
    """Send one tiny request to a model on the path that a run takes, and say what works and what does not.

    Nothing is remembered or cached. It says whether a model can be used, not whether it judges well: that
    is what `ctxmetrics.check_judge` and `ctxmetrics.agree` measure.

    Args:
        model: A `Model`, an `LLMJudge`, or a framework's own model object whose adapter is installed.
        timeout: Seconds for the request.
        max_retries: How often it is sent again where it failed.

    Returns:
        What the request showed; ``ok`` says whether the model can be used.

    Raises:
        ParameterError: It is no model, has no key, or needs a package that is not installed.
    """
    judge = model if isinstance(model, LLMJudge) else LLMJudge(coerce_model(model))
    trial = judge.asking(
        judge.model,
        joint=True,
        per_context=False,
        votes=1,
        max_repairs=0,
        reuse=False,
        evidence="flag",
        keep_raw=True,
    )
    began = time.perf_counter()
    with using(Run(timeout=timeout, attempts=max_retries + 1, ends=True)) as run:
        score = ContextRecall(judge=trial).score(_SAMPLE)
    seconds = time.perf_counter() - began
    if score.metadata.get("raw_replies"):
        findings = tuple(_check_reply(score, seconds, judge.model))
    else:
        findings = (explain_failure(score.verdicts[0], run.problem),)
    return ModelCheck(
        model=hide_keys(judge.model.identity), findings=findings, seconds=seconds, usage=run.usage
    )


def explain_failure(verdict: Verdict, problem: JudgeError | None) -> Finding:
    """Say why no reply came: the status decides, then what the server says."""
    cause = _CODES.get(verdict.code or "", "refused_request")
    if isinstance(problem, UnsentError):
        cause = "request"
    elif verdict.code not in SIZE_CODES:
        status, text = getattr(problem, "status", None) or 0, str(problem).lower()
        for statuses, words, refusal in _REFUSALS:
            if status in statuses and re.search(words, text):
                cause = refusal
                break
    return Finding(name="answer", told=verdict.reason or safe_text(problem), cause=cause)


def _check_reply(score: Score, seconds: float, model: Model) -> Iterator[Finding]:
    """Yield the findings about a reply, until something makes the rest meaningless."""
    (stated, unstated), usage, served = score.verdicts, score.usage, score.provenance.served_model
    by = f" by {served}" if served else ""
    yield Finding(name="answer", told=f"in {seconds:.1f} s{by}")
    form = _FORMS.get(getattr(model, "form", ""), "asked for as its client does")
    beginnings = {
        "form": f"{form}; ",
        "usage": f"{usage.prompt_tokens} + {usage.completion_tokens} tokens",
    }
    code, nothing = _CODES.get(stated.code or ""), stated.value is unstated.value is None
    wrong: Mapping[str | None, bool] = {
        "reply_form": code == "reply_form" and nothing,
        "echo": code == "echo",
        "quotes": code == "quotes" or stated.value is None,
        "verdict": stated.value is not True or unstated.value is not False,
        "usage": usage.estimated,
    }
    for name, words in _LOOKS.items():
        causes = [cause for cause in words if wrong.get(cause)]
        cause = causes[0] if causes else None
        yield Finding(name=name, told=beginnings.get(name, "") + words[cause], cause=cause)
        if cause and nothing:
            return
