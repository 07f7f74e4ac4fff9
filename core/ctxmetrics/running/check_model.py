"""Whether a model can be used by a judge: one tiny request shows it before a run is paid for."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ctxmetrics._internal.data_files import read_data
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
        for refusal in _DATA["refusals"]:
            fits = any(first <= status <= last for first, last in refusal["statuses"])
            if fits and re.search(refusal["words"], text):
                cause = refusal["cause"]
                break
    return Finding(name="answer", told=verdict.reason or safe_text(problem), cause=cause)


def _check_reply(score: Score, seconds: float, model: Model) -> Iterator[Finding]:
    """Yield the findings about a reply, until something makes the rest meaningless."""
    (stated, unstated), usage, served = score.verdicts, score.usage, score.provenance.served_model
    by = f" by {served}" if served else ""
    yield Finding(name="answer", told=f"in {seconds:.1f} s{by}")
    form = _DATA["forms"].get(getattr(model, "form", ""), "asked for as its client does")
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
