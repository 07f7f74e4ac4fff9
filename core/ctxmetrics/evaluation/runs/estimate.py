"""Estimates the cost of a run before it starts. A model that only counts takes the place of the real one, so nothing is paid."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ctxmetrics._internal.frozen import Plain
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.comparison.difference_sentences import describe_power
from ctxmetrics.evaluation.runs.engine import Evaluation
from ctxmetrics.evaluation.runs.metric_list import check_metrics
from ctxmetrics.evaluation.runs.power import read_values
from ctxmetrics.evaluation.runs.results import Results
from ctxmetrics.evaluation.statistics.power import find_sample_count
from ctxmetrics.judges.base import Judge
from ctxmetrics.judges.decision import DecisionJudge
from ctxmetrics.judges.lexical.judge import LexicalJudge
from ctxmetrics.judges.llm.judge import LLMJudge, copy_memory
from ctxmetrics.judges.nli import NLIJudge
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.judging import JudgedMetric
from ctxmetrics.models.base import Decisions, Prompt, Reply
from ctxmetrics.models.runtime.background import run_sync
from ctxmetrics.models.runtime.cache import Store
from ctxmetrics.models.runtime.limits import MINUTE
from ctxmetrics.samples.sample import Sample
from ctxmetrics.scores.wording import plural
from ctxmetrics.text.sentences import split_sentences
from ctxmetrics.verdicts import CHARACTERS_A_TOKEN, Usage

# The probability that one context supports a unit. At least one of n contexts supports it with the probability
# 1 - 0.65 ** n.
_SUPPORT_PROBABILITY = 0.35
# The number of characters of a positive verdict about a unit, without its quotes.
_YES_CHARACTERS = 92
# The number of quoted characters of a positive verdict, as a share of the unit's length.
_QUOTED_SHARE_OF_UNIT = 1.25
# The number of characters of a negative verdict about a unit, with the missing facts.
_NO_CHARACTERS = 68
# The mean number of characters of a verdict about a context. Few of these verdicts have a quote.
_CONTEXT_VERDICT_CHARACTERS = 36
# The share of a context's length that is quoted if only usefulness is asked. Useless contexts are not quoted.
_QUOTED_SHARE_OF_CONTEXT = 0.09
# The number of characters of a question to a decision model, without its instructions.
_QUESTION_CHARACTERS = 42
# The number of characters of the claims for each character of the text.
_CLAIM_CHARACTERS_PER_CHARACTER = 1.1
# The number of characters of a reply around its claims, or around its verdicts: the brackets, and the code of the request.
_CLAIMS_FRAME_CHARACTERS = 33
_REPLY_FRAME_CHARACTERS = 20
# The number of characters of the key and the brackets of the list of units, and of the list of contexts.
_UNITS_FRAME_CHARACTERS = 16
_CONTEXTS_FRAME_CHARACTERS = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate(Plain):
    """The cost of a run if every reply is right the first time.

    Attributes:
        samples: The number of samples.
        calls: The number of requests. A text is expected to have as many claims as sentences.
        prompt_tokens: Tokens sent: characters / 4, without the schema. Text in scripts other than Latin has more tokens.
        completion_tokens: Tokens received, estimated by the usual length of replies.
        reused: The number of judgements that cost nothing: they are in memory or in the cache, or are asked for twice.
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
        """Return the cost of the tokens, at prices for a million tokens sent and received."""
        return (self.prompt_tokens * price_in + self.completion_tokens * price_out) / 1_000_000

    def seconds(
        self,
        concurrency: int,
        request_seconds: float,
        *,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
    ) -> float:
        """Return how many seconds the run takes.

        With a limit of n requests in a minute, the first n requests do not wait. The next n wait for one minute, and so on.

        Args:
            concurrency: The number of requests in flight.
            request_seconds: The seconds of one request.
            requests_per_minute: The limit of requests per minute; None: no limit.
            tokens_per_minute: The limit of tokens per minute; None: no limit.

        Raises:
            ParameterError: The concurrency is below 1.
        """
        if concurrency < 1:
            raise ParameterError(f"max_concurrency={concurrency} must be at least 1.")
        rounds = math.ceil(self.calls / concurrency)
        seconds = rounds * request_seconds
        # Requests of the first minute do not wait.
        if requests_per_minute and self.calls:
            full_minutes = (self.calls - 1) // requests_per_minute
            seconds = max(seconds, full_minutes * MINUTE)
        if tokens_per_minute and self.total_tokens:
            full_minutes = (self.total_tokens - 1) // tokens_per_minute
            seconds = max(seconds, full_minutes * MINUTE)
        return seconds

    def __str__(self) -> str:
        return (
            f"{plural(self.samples, 'sample')}: {plural(self.calls, 'call')}, "
            f"about {self.prompt_tokens} + {self.completion_tokens} tokens\n"
            f"{plural(self.reused, 'judgement')} reused, free: another metric, memory or cache has them"
        )


def estimate(
    samples: Iterable[Sample | Mapping[str, Any]] | str | os.PathLike[str],
    metrics: Sequence[Metric | str],
    *,
    judge: Judge | str | None = None,
    cache: str | os.PathLike[str] | Store | None = None,
    controls: int = 0,
) -> Estimate:
    """Count the calls and tokens of an `evaluate` with the same arguments. Nothing is sent, nothing is stored.

    Args:
        samples: As for `evaluate`; an iterator is used up.
        metrics: As for `evaluate`.
        judge: As for `evaluate`: the embedded judge, an `NLIJudge` (which sends nothing), an `LLMJudge`, a
            `ScriptedJudge` or a `DecisionJudge`.
        cache: The cache that the run will use. Judgements in it are free.
        controls: As for `evaluate`. Their calls and tokens are counted, too.

    Returns:
        The numbers of samples, requests and tokens.

    Raises:
        ParameterError: The judge is another one, and its costs are not known. Or `evaluate` raises it.
        MissingFieldError: `evaluate` raises it.
        SampleError: `evaluate` raises it.
    """
    run = Evaluation(
        samples,
        [_give_counting_judge(metric) for metric in check_metrics(metrics, judge)],
        cache=cache,
        stores=False,
        progress=False,
        memo=copy_memory(),
        keep=False,
        controls=controls,
    )
    results = run_sync(run.score_samples)
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
        difference: The true difference of the means.
        part: The noun for a part of a value, such as ``sentence``.
        fewest: The number of samples that give 80 % power if samples lose single parts of their values.
        samples: The number of samples that give 80 % power if samples lose their whole values.
        fewest_changed: The share of samples that change if they lose single parts.
        changed: The share of samples that change if they lose their whole values.
        gain: Whether the difference is a gain. It is a gain if the values are too low for a loss of this size.
    """

    metric: str
    difference: float
    part: str
    fewest: int
    samples: int
    fewest_changed: float
    changed: float
    gain: bool = False

    def __str__(self) -> str:
        lowest, highest = sorted((self.fewest, self.samples))
        power = f"{self.metric}: {describe_power(f'{self.difference:g}')} comparisons of "
        changed_by_parts = f"{100 * self.fewest_changed:.3g} %"
        changed_by_samples = f"{100 * self.changed:.3g} %"
        if lowest == highest:
            return f"{power}{plural(highest, 'sample')}, where {changed_by_samples} of them change"
        verb = "won" if self.gain else "lost"
        return (
            f"{power}{lowest} to {highest} samples: {self.fewest} if single {self.part}s are {verb} "
            f"({changed_by_parts} of the samples change), {self.samples} if whole samples are ({changed_by_samples})"
        )


def samples_for(results: Results, difference: float, *, changed: float | None = None) -> list[Needed]:
    """Compute how many samples show a difference of means: a range, by how much of a sample a change takes.

    A lost sentence takes a part of a value and a lost document all of it, so the same loss of the mean has another spread; see
    `ctxmetrics.evaluation.statistics.power.ChangeModel`. The number is that for which the test of `paired_mean` finds it in 80 % of
    simulated comparisons.

    Args:
        results: A run, of the same metrics.
        difference: The true difference that the comparison must show, on the metrics' scale. It is a loss, or a gain where
            values are too low for such a loss.
        changed: The share of samples whose value changes in either direction, above 0; None: no more than the difference
            needs, all in one direction.

    Raises:
        ParameterError: A metric has fewer than two values, or so few changes cannot make this difference.
    """
    needs = []
    for name in results.metrics:
        run = read_values(results, name)
        if len(run.samples) < 2:  # noqa: PLR2004 - one says nothing about others
            raise ParameterError(
                f"estimate: {name} has {plural(len(run.samples), 'value')}; two or more say how they spread."
            )
        are_in_range = difference > 0 and (changed is None or 0 < changed <= 1)
        model = run.build_model()
        largest_loss = model.find_largest_loss(changed)
        is_gain = difference > largest_loss
        if is_gain:
            model = run.mirror().build_model()  # gains are losses of the mirrored values
        if not are_in_range or difference > model.find_largest_loss(changed):
            condition = (
                "" if changed is None else f" where the share {changed:g} of the samples changes"
            )
            raise ParameterError(
                f"estimate: {name}: a difference of {difference:g} is not possible{condition}: values can fall by "
                f"{largest_loss:.3g} at most. Write --detect and --changed as shares, such as 0.05 and 0.2."
            )
        # A change takes a part of a value, or the whole of it.
        by_parts = model.build(difference, changed, whole=False)
        by_samples = model.build(difference, changed, whole=True)
        needs.append(
            Needed(
                metric=name,
                difference=difference,
                part=run.part_noun,
                fewest=find_sample_count(by_parts, scale=run.scale),
                samples=find_sample_count(by_samples, scale=run.scale),
                fewest_changed=by_parts.changed,
                changed=by_samples.changed,
                gain=is_gain,
            )
        )
    return needs


def _give_counting_judge(metric: Metric) -> Metric:
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
    """A model that answers no to every question. It counts the tokens that a real model would send and receive."""

    identity: str

    async def generate(self, prompt: Prompt, schema: object) -> Reply:  # noqa: ARG002 - `Model.generate` has it
        """Return a typical reply, and count the cost of the request."""
        # The second line of the prompt is the data; the reply of the judge repeats its code.
        _, data_line, _ = prompt.user.split("\n", 2)
        data: dict[str, Any] = json.loads(data_line)
        content, length = _build_typical_reply(prompt.step, data)
        return Reply(
            content={"code": prompt.data_code, **content},
            usage=Usage(
                calls=1,
                prompt_tokens=_count_tokens(len(prompt.system) + len(prompt.user)),
                completion_tokens=_count_tokens(length),
            ),
        )


@dataclass(frozen=True, slots=True)
class _DecisionCounter:
    """A decision model that answers no to every question. It counts the tokens that a real model would read."""

    identity: str

    async def decide(self, state: str, questions: Mapping[str, str]) -> Decisions:
        """Return probabilities of 0, and count the cost of the request."""
        character_count = len(state) + sum(
            _QUESTION_CHARACTERS + len(text) for text in questions.values()
        )
        usage = Usage(calls=1, prompt_tokens=_count_tokens(character_count))
        return Decisions(probabilities=dict.fromkeys(questions, 0.0), usage=usage)


def _build_typical_reply(step: str, data: Mapping[str, Any]) -> tuple[dict[str, Any], float]:
    """Return a complete reply, and the usual length in characters of a reply with evidence."""
    if step == "claims":
        text = data["text"]
        claims = list(split_sentences(text)) or [text]
        claim_characters = _CLAIM_CHARACTERS_PER_CHARACTER * len(text)
        return {"claims": claims}, _CLAIMS_FRAME_CHARACTERS + claim_characters
    reply: dict[str, Any] = {}
    length = float(_REPLY_FRAME_CHARACTERS)
    contexts = data["contexts"]
    if step in ("attribution", "joint"):
        sentences = data["sentences"]
        reply["sentences"] = {sentence["id"]: {"supported": False} for sentence in sentences}
        probability_of_yes = 1 - (1 - _SUPPORT_PROBABILITY) ** len(contexts)
        length += _UNITS_FRAME_CHARACTERS
        for sentence in sentences:
            length_of_yes = _YES_CHARACTERS + _QUOTED_SHARE_OF_UNIT * len(sentence["text"])
            length += probability_of_yes * length_of_yes + (1 - probability_of_yes) * _NO_CHARACTERS
    if step in ("usefulness", "joint"):
        reply["useful"] = {context["id"]: {"useful": False} for context in contexts}
        length += _CONTEXTS_FRAME_CHARACTERS + _CONTEXT_VERDICT_CHARACTERS * len(contexts)
        if step == "usefulness":  # no evidence names a context: every useful one needs a quote
            length += sum(_QUOTED_SHARE_OF_CONTEXT * len(context["text"]) for context in contexts)
    return reply, length


def _count_tokens(characters: float) -> int:
    """Estimate tokens from characters, rounded up."""
    return math.ceil(int(characters) / CHARACTERS_A_TOKEN)
