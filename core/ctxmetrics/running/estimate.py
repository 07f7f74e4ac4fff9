"""What a run will cost. The run itself is done with a model that only counts, so nothing is paid."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import stdev
from typing import Any

from ctxmetrics._internal.frozen import Plain
from ctxmetrics.errors import ParameterError
from ctxmetrics.judges.base import Judge
from ctxmetrics.judges.decision import DecisionJudge
from ctxmetrics.judges.lexical.judge import LexicalJudge
from ctxmetrics.judges.llm.judge import LLMJudge, memory
from ctxmetrics.judges.nli import NLIJudge
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.judging import JudgedMetric
from ctxmetrics.models.base import Decisions, Prompt, Reply
from ctxmetrics.models.runtime.background import run_sync
from ctxmetrics.models.runtime.cache import Store
from ctxmetrics.models.runtime.limits import MINUTE
from ctxmetrics.presentation.wording import plural
from ctxmetrics.results.comparison.view import describe_power
from ctxmetrics.results.labels.means import samples_needed
from ctxmetrics.results.results import Results
from ctxmetrics.running.engine import Evaluation, check_metrics
from ctxmetrics.samples import Sample
from ctxmetrics.text import split_sentences
from ctxmetrics.verdicts import CHARACTERS_A_TOKEN, Usage

# How often one context supports a unit. At least one of n contexts does with the probability 1 - 0.65
# ** n.
_SUPPORT = 0.35
# Characters of a yes about a unit: those of the frame, and the share of the unit's length that is
# quoted.
_YES, _QUOTE = 92, 1.25
# Characters of a no about a unit, with what is missing.
_NO = 68
# Characters of a verdict about a context, a few of them with a quote.
_CONTEXT = 36
# The share of a context's length that is quoted where only usefulness is asked; useless contexts are
# not quoted.
_QUOTED = 0.09
# Characters of a question to a decision model beside its instructions.
_QUESTION = 42
# Characters of claims for each character of the text.
_CLAIM = 1.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate(Plain):
    """What a run will cost if every reply is right the first time.

    Attributes:
        samples: How many there are.
        calls: Requests, the same as the run will send (claims are taken for as many as the text has sentences).
        prompt_tokens: Tokens sent: characters / 4, the schema not counted. Text in other scripts than Latin has more.
        completion_tokens: Tokens received, from how long replies usually are.
        reused: Judgements that cost nothing: in memory, in the cache, or asked for twice.
    """

    samples: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    reused: int

    @property
    def total_tokens(self) -> int:
        """Tokens sent and received."""
        return self.prompt_tokens + self.completion_tokens

    def cost(self, price_in: float, price_out: float) -> float:
        """Return what the tokens cost, at prices for a million tokens sent and received."""
        return (self.prompt_tokens * price_in + self.completion_tokens * price_out) / 1_000_000

    def seconds(
        self,
        concurrency: int,
        request_seconds: float,
        *,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
    ) -> float:
        """Return how long the run takes with so many requests in flight, each of which takes so many seconds.

        Limits by the minute hold from the first minute on: that of n requests makes n requests wait for nothing.

        Raises:
            ParameterError: The concurrency is below 1.
        """
        if concurrency < 1:
            raise ParameterError(f"max_concurrency={concurrency} must be at least 1.")
        seconds = -(-self.calls // concurrency) * request_seconds
        if requests_per_minute and self.calls:
            seconds = max(seconds, (self.calls - 1) // requests_per_minute * MINUTE)
        if tokens_per_minute and self.total_tokens:
            seconds = max(seconds, (self.total_tokens - 1) // tokens_per_minute * MINUTE)
        return seconds

    def __str__(self) -> str:
        return (
            f"{plural(self.samples, 'sample')}: {plural(self.calls, 'call')}, "
            f"about {self.prompt_tokens} + {self.completion_tokens} tokens\n"
            f"{plural(self.reused, 'judgement')} reused, free: another metric, memory or cache has them"
        )


def estimate(
    samples: Iterable[Sample | Mapping[str, Any]],
    metrics: Sequence[Metric],
    *,
    judge: Judge | None = None,
    cache: str | os.PathLike[str] | Store | None = None,
    controls: int = 0,
) -> Estimate:
    """Count the calls and tokens of an `evaluate` with the same arguments. Nothing is sent, nothing is stored.

    Args:
        samples: As for `evaluate`; an iterator is used up.
        metrics: As for `evaluate`.
        judge: As for `evaluate`: the embedded judge, an `NLIJudge` (which sends nothing), an `LLMJudge`, a
            `ScriptedJudge` or a `DecisionJudge`.
        cache: The cache that the run will use; what it holds is free.
        controls: As for `evaluate`; they are counted among the calls and tokens.

    Returns:
        The numbers of samples, requests and tokens.

    Raises:
        ParameterError: Another judge, whose costs are not known; or as `evaluate` raises.
        MissingFieldError: As `evaluate` raises.
        SampleError: As `evaluate` raises.
    """
    run = Evaluation(
        samples,
        [_counting(metric) for metric in check_metrics(metrics, judge)],
        cache=cache,
        stores=False,
        progress=False,
        memo=memory(),
        keep=False,
        controls=controls,
    )
    results = run_sync(run.go)
    return Estimate(
        samples=len(results),
        calls=results.usage.calls,
        prompt_tokens=results.usage.prompt_tokens,
        completion_tokens=results.usage.completion_tokens,
        reused=results.usage.reused,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed(Plain):
    """How many samples show a difference of a metric's mean between two runs.

    Attributes:
        metric: The metric's name.
        difference: The true difference.
        changed: The share of samples whose value is taken to change.
        values: Standard deviation of the values that there are.
        samples: How many samples a comparison needs for 80 % power; None where all values are equal.
    """

    metric: str
    difference: float
    changed: float
    values: float
    samples: int | None

    def __str__(self) -> str:
        if self.samples is None:
            return (
                f"{self.metric}: all values are equal, so their spread says nothing about a difference"
            )
        return (
            f"{self.metric}: {describe_power(f'{self.difference:g}')} comparisons of "
            f"{plural(self.samples, 'sample')}, where "
            f"{100 * self.changed:g} % of them change by as much as two samples differ (standard deviation {self.values:.3f})"
        )


def samples_for(results: Results, difference: float, *, changed: float = 1.0) -> list[Needed]:
    """Compute how many samples show a difference of means, from the spread of a run's values.

    A share c of the samples is taken to change, by ``difference / c`` on the mean, and around that as much as two samples of
    the run differ: the variance of the paired differences is ``2 * c * sd**2 + difference**2 * (1 / c - 1)``; see
    `ctxmetrics.results.labels.means.samples_needed`.

    Args:
        results: A run, of the same metrics.
        difference: The true difference that the comparison must show, on the metrics' scale.
        changed: The share of samples whose value changes, above 0.

    Raises:
        ParameterError: A metric has fewer than two values, or so few changes cannot make this difference.
    """
    needs = []
    for name in results.metrics:
        scores = [row[name].value for row in results]
        values = [value for value in scores if value is not None]
        scale = results.by_metric[name].scale
        if not 0 < changed <= 1 or not 0 < difference <= changed * scale:
            raise ParameterError(
                f"estimate: {name}: a difference of {difference:g} is not possible where the share {changed:g} of the samples "
                f"changes: it must be above 0 and at most {changed * scale:g}. Write --detect and --changed as shares, such as 0.05 and 0.2."
            )
        if len(values) < 2:  # noqa: PLR2004 - one says nothing about the spread
            raise ParameterError(
                f"estimate: {name} has {plural(len(values), 'value')}; two or more say how they spread."
            )
        spread = stdev(values)
        variance = 2 * changed * spread**2 + difference**2 * (1 / changed - 1)
        needed = samples_needed(difference, math.sqrt(variance), changed) if spread else None
        needs.append(
            Needed(metric=name, difference=difference, changed=changed, values=spread, samples=needed)
        )
    return needs


def _counting(metric: Metric) -> Metric:
    """Give the metric a judge that asks the same questions, of a model that only counts."""
    if not isinstance(metric, JudgedMetric) or isinstance(metric.judge, LexicalJudge):
        return metric
    if isinstance(metric.judge, NLIJudge):
        return replace(metric, judge=LexicalJudge())
    if isinstance(metric.judge, DecisionJudge):
        model = _DecisionCounter(metric.judge.model.identity)
        return replace(metric, judge=replace(metric.judge, model=model))
    if not isinstance(metric.judge, LLMJudge):
        raise ParameterError(
            f"estimate: what {type(metric.judge).__name__} costs is not known. It counts for LexicalJudge, NLIJudge, LLMJudge "
            "and DecisionJudge."
        )
    return replace(metric, judge=metric.judge.asking(_Counter(metric.judge.model.identity)))


@dataclass(frozen=True, slots=True)
class _Counter:
    """A model that answers no to everything and counts what a real one would send and receive."""

    identity: str

    async def generate(self, prompt: Prompt, schema: object) -> Reply:  # noqa: ARG002 - `Model.generate` has it
        data: dict[str, Any] = json.loads(prompt.user.split("\n", 2)[1])  # the data block is one line
        content, length = _typical(prompt.step, data)
        return Reply(
            content={"code": prompt.data_code, **content},
            usage=Usage(
                calls=1,
                prompt_tokens=_tokens(len(prompt.system) + len(prompt.user)),
                completion_tokens=_tokens(length),
            ),
        )


@dataclass(frozen=True, slots=True)
class _DecisionCounter:
    """A decision model that answers no to everything and counts what a real one would read."""

    identity: str

    async def decide(self, state: str, questions: Mapping[str, str]) -> Decisions:
        read = len(state) + sum(_QUESTION + len(text) for text in questions.values())
        usage = Usage(calls=1, prompt_tokens=_tokens(read))
        return Decisions(probabilities=dict.fromkeys(questions, 0.0), usage=usage)


def _typical(step: str, data: Mapping[str, Any]) -> tuple[dict[str, Any], float]:
    """Return a complete reply, and the usual length of a reply with evidence."""
    if step == "claims":
        return {"claims": list(split_sentences(data["text"]) or [data["text"]])}, 33 + _CLAIM * len(
            data["text"]
        )
    reply: dict[str, Any] = {}
    length = 20.0
    if step in ("attribution", "joint"):
        reply["sentences"] = {item["id"]: {"supported": False} for item in data["sentences"]}
        supported = 1 - (1 - _SUPPORT) ** len(data["contexts"])
        length += 16
        for item in data["sentences"]:
            length += supported * (_YES + _QUOTE * len(item["text"])) + (1 - supported) * _NO
    if step in ("usefulness", "joint"):
        reply["useful"] = {item["id"]: {"useful": False} for item in data["contexts"]}
        length += 15 + _CONTEXT * len(data["contexts"])
        if step == "usefulness":  # no evidence names a context: every useful one needs a quote
            length += sum(_QUOTED * len(item["text"]) for item in data["contexts"])
    return reply, length


def _tokens(characters: float) -> int:
    return -(-int(characters) // CHARACTERS_A_TOKEN)
