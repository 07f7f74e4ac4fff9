"""What judged metrics share: from a sample to a request, and from a judgement to checked verdicts and a score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, ClassVar

from ctxmetrics._internal.frozen import EMPTY, FrozenDict
from ctxmetrics._internal.secrets import remember_keys_of, safe_text
from ctxmetrics.attribution import Attribution
from ctxmetrics.conventions import Unit
from ctxmetrics.errors import BudgetExceededError, CannotDecomposeError, JudgeError, ParameterError
from ctxmetrics.judges.base import (
    Claims,
    DecomposingJudge,
    Judge,
    Judgement,
    JudgeRequest,
    checked_answer,
    checked_verdict,
)
from ctxmetrics.metrics.base import NAMED, Definition, Metric, named_choice, not_judged
from ctxmetrics.metrics.relevance import rate_by_units
from ctxmetrics.models.coerce import suggest_code
from ctxmetrics.models.runtime.run import part_of
from ctxmetrics.sample_fields import Fact
from ctxmetrics.samples import Sample
from ctxmetrics.scores import Score
from ctxmetrics.stages import Stage, of_last, pool_of, recorded
from ctxmetrics.text import detect_language, has_content, split_sentences, splitter
from ctxmetrics.verdicts import Usage, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """What a metric asks about one sample.

    Attributes:
        request: What the judge is shown: the retrieved contexts that count, and as units the facts, where there are some.
        stages: The stages of the retrieval that are judged.
        facts: The sample's facts, where these are the units.
        weights: How much each fact counts.
        has_units: Whether anything is asked about.
    """

    request: JudgeRequest
    stages: Mapping[str, Stage]
    facts: Sequence[Fact]
    weights: Sequence[float]
    has_units: bool


class _JudgedDefinition(Definition):
    """What the class of a judged metric says about it; see `Definition`."""

    runs_by_default: ClassVar[bool] = True
    answer_field: ClassVar[str] = "reference"
    # Whether its verdicts are about the units: then a score has an attribution.
    counts_units: ClassVar[bool] = False

    requires: tuple[str, ...] = ("reference", "retrieved_contexts")
    uses: tuple[str, ...] = ("user_input", "references", "stages", "searches")

    # The unit that is used; None where the answer is not cut into units (a response is not): then only
    # contexts are rated.
    counted_unit: Unit | None = None
    # Whether the judge is asked which units the contexts support; else, which contexts are useful.
    about_units: bool = False


@dataclass(frozen=True, kw_only=True)
class JudgedMetric(_JudgedDefinition, Metric):
    """A metric whose verdicts come from a judge.

    Attributes:
        judge: Who judges; None takes the judge of the run, else the embedded `LexicalJudge`.
        unit: What the reference is cut into (``"sentence"``, ``"claim"``), or ``"fact"``: the sample's
            ``reference_facts``, uncut, and no reference is needed; None takes the convention's.
        language: ISO 639 code of the answer; detected from the script where None.
    """

    judge: Judge | None = None
    unit: Unit | None = field(default=None, metadata=named_choice(Unit))
    language: str | None = field(default=None, metadata=NAMED)

    def __post_init__(self) -> None:
        super().__post_init__()
        unit = (self.unit or self.rules.unit) if self.answer_field == "reference" else None
        about_units = self.counts_units or getattr(self, "relevance", "useful") != "useful"
        vars(self).update(counted_unit=unit, about_units=about_units)
        if self.counts_units:
            vars(self).update(counts=(unit, "supported"))
        if unit == "fact":  # what this object needs, unlike its class
            requires = ("reference_facts", "retrieved_contexts")
            vars(self).update(requires=requires, uses=(*self.uses, "reference"))
        language = self.language
        if language is not None and (not isinstance(language, str) or not language.isascii()):
            raise ParameterError(
                f"{self.base_name}: language={language!r} must be an ISO 639 code such as 'en'."
            )
        if self.judge is None:
            return
        if not isinstance(self.judge, Judge):
            instead = suggest_code(self.judge) or "LexicalJudge(), or LLMJudge(model) with a model"
            raise ParameterError(
                f"{self.base_name}: judge={type(self.judge).__name__} is no judge. Write judge={instead}."
            )
        if unit == "claim":
            self._check_decomposes(self.judge)

    def _check_decomposes(self, judge: Judge) -> None:
        if not isinstance(judge, DecomposingJudge):
            raise CannotDecomposeError(
                f"{self.name} counts claims, and {judge.name} cannot break a text into claims. "
                "Give judge=LLMJudge(model), or count sentences with unit='sentence'."
            )

    def with_judge(self, judge: Judge) -> JudgedMetric:
        """Return the metric with this judge unless it has one of its own.

        Raises:
            CannotDecomposeError: Claims are asked of a judge that cannot break a text into them.
        """
        return self if self.judge is not None else replace(self, judge=judge)

    def score(self, sample: Sample) -> Score:
        """Score one sample. See `Metric.score`."""
        from ctxmetrics.models.runtime.background import run_at_once, run_sync

        judge = default_judge() if self.judge is None else self.judge
        if getattr(judge, "waits", None) is False:
            return run_at_once(self.ascore, sample)
        return run_sync(self.ascore, sample)

    async def ascore(self, sample: Sample) -> Score:
        """Score one sample. Raises as `score` does."""
        out_of_scope = self.check_scope(sample)
        if out_of_scope is not None:
            return out_of_scope
        self.check_sample(sample)
        if "reference" in self.requires and sample.references is not None:
            return await self._score_best_reference(sample, sample.references or ("",))
        refused = self.check_texts(sample)
        if refused is not None:
            return refused
        judge = self.judge
        if judge is None:
            judge = default_judge()
            if self.counted_unit == "claim":
                self._check_decomposes(judge)
        question = self._build_question(sample)
        provenance = self._build_provenance(judge, question)
        retrieved = bool(question.request.contexts or question.stages)
        if not (retrieved and question.has_units):
            empty = self.empty(sample, retrieved=retrieved, reference=question.has_units, **provenance)
            if empty is not None:
                return empty
        with part_of(self):
            judgement = await self._judge(judge, question.request, question.stages)
        verdicts = judgement.verdicts
        if self.counts_units and question.facts:
            verdicts = tuple(map(self.weighed, verdicts, question.facts, question.weights))
        return self._build_score(sample, replace(judgement, verdicts=verdicts), question, provenance)

    def _build_question(self, sample: Sample) -> _Question:
        """Read from a sample what is asked.

        Raises:
            MissingFieldError: A fact has no importance, and the metric needs it.
        """
        contexts = (sample.retrieved_contexts or ())[: self.top_k]
        stages: Mapping[str, Stage] = EMPTY
        if sample.stages and "stages" in self.uses:
            stages = self.stages_of(sample, contexts)
        answer: str = getattr(sample, self.answer_field) or ""
        facts: Sequence[Fact] = ()
        weights: Sequence[float] = ()
        if self.counted_unit == "fact":
            facts = sample.reference_facts or ()
            weights = self.weights(sample)
            answer = answer or "\n".join(fact.text for fact in facts)
        request = JudgeRequest(
            units=tuple(fact.text for fact in facts),
            contexts=contexts,
            answer=answer,
            user_input=sample.user_input,
            language=self.language or detect_language(answer),
        )
        return _Question(
            request=request,
            stages=stages,
            facts=facts,
            weights=weights,
            has_units=any(weights) if self.counted_unit == "fact" else has_content(answer),
        )

    def _build_provenance(self, judge: Judge, question: _Question) -> dict[str, Any]:
        """Return who judges, and how the answer is cut."""
        cut = {"fact": "facts", "claim": "claims"}.get(self.counted_unit or "") or splitter()
        provenance: dict[str, Any] = {"judge": judge.name, "splitter": cut, "warnings": judge.warnings}
        if question.stages and not _judges_alone(judge):
            provenance["judge"] = f"{judge.name} over stages"
        if self.counts_units:
            provenance["context_lengths"] = tuple(map(len, question.request.contexts))
        return provenance

    def _build_score(
        self, sample: Sample, judgement: Judgement, question: _Question, provenance: Mapping[str, Any]
    ) -> Score:
        """Apply the formula to the verdicts. Where one that counts is missing, there is no value."""
        verdicts = judgement.verdicts
        code, message = None, None
        if any(verdict.value is None for verdict in verdicts):
            code, message = not_judged(verdicts)
        value = None
        if code is None and self.counted_unit == "fact" and self.counts_units:  # they may weigh
            value = Attribution(verdicts, tuple(map(len, question.request.contexts))).recall()
        elif code is None:
            value = self.to_value([verdict.value is True for verdict in verdicts])
        return self.build(
            sample,
            value,
            verdicts,
            reason_code=code,
            message=message,
            metadata={
                "stability": judgement.stability,
                "raw_replies": list(judgement.raw) or None,
                "stray_ids": judgement.stray_ids or None,
            },
            usage=judgement.usage,
            prompt=judgement.prompt,
            served_model=judgement.served_model,
            **provenance,
        )

    async def _score_best_reference(self, sample: Sample, references: Sequence[str]) -> Score:
        """Score a sample with each of its references, and return the score with the highest value; it says whose it is.

        A reference without a letter or digit counts only where all are so. Where one could not be
        judged, there is no value, unless another has the highest possible value.
        """
        scores = [
            await self.ascore(replace(sample, reference=text, references=None)) for text in references
        ]
        counting = [score for score in scores if score.reason_code != "no_reference"] or scores
        best = max(counting, key=lambda score: -1.0 if score.value is None else score.value)
        unjudged = [score for score in counting if score.value is None]
        if unjudged and best.value != self.rules.scale:
            best = unjudged[0]
        number = next(number for number, score in enumerate(scores, 1) if score is best)
        values = [score.value for score in scores]
        return replace(
            best,
            message=best.message or f"the value is that of reference {number} of {len(scores)}",
            metadata=FrozenDict(
                {**best.metadata, "reference_number": number, "reference_values": values}
            ),
            usage=sum((score.usage for score in scores), Usage()),
        )

    def weights(self, sample: Sample) -> list[float]:
        """Return how much each fact counts: 1 each, unless the metric weighs them."""
        return [1.0] * len(sample.reference_facts or ())

    def weighed(self, verdict: Verdict, fact: Fact, weight: float) -> Verdict:
        """Return the verdict about a fact with the fact's id, its weight, and the value of a part of it."""
        details: dict[str, Any] = {}
        if fact.id is not None:
            details["fact_id"] = fact.id
        if weight != 1:
            details["weight"] = weight
        partial = getattr(self, "partial", None)
        if partial:
            details["partial"] = partial
        if not details:
            return verdict
        return replace(verdict, details=FrozenDict({**verdict.details, **details}))

    def stages_of(self, sample: Sample, contexts: tuple[str, ...]) -> Mapping[str, Stage]:
        """Return the stages of a sample that are judged: those with texts, the last one with these contexts.

        Empty where no stage has a context; of a metric that counts contexts, where the last one has none.
        """
        stages = {
            name: stage
            for name, stage in (sample.stages or EMPTY).items()
            if stage.contexts is not None
        }
        name, last = list(stages.items())[-1]
        stages[name] = Stage(contexts, None if last.ids is None else last.ids[: len(contexts)])
        if contexts:
            return stages
        any_context = any(stage.contexts for stage in stages.values())
        return stages if self.counts_units and any_context else EMPTY

    async def _judge(
        self, judge: Judge, request: JudgeRequest, stages: Mapping[str, Stage]
    ) -> Judgement:
        """Cut the answer into units, unless they are facts, and ask; the verdicts are those the formula counts.

        An answer that cannot be broken into claims has one verdict, which is missing.
        """
        claims: Claims | None = None
        if self.counted_unit == "sentence":
            request = replace(request, units=split_sentences(request.answer, request.language))
        elif isinstance(judge, DecomposingJudge) and self.counted_unit == "claim":
            claims = await _decompose(judge, request)
            if claims.code or not claims.claims:
                return self._no_claims(claims, request)
            request = replace(request, units=claims.claims)
        if stages:
            judgement = await self._ask_stages(judge, request, stages)
        else:
            judgement = await self.ask(judge, request)
        if self.about_units and not self.counts_units:
            adding = getattr(self, "relevance", None) == "adds"
            verdicts = rate_by_units(judgement.verdicts, request, adding=adding)
            judgement = replace(judgement, verdicts=verdicts)
        if claims is not None:  # whose prompt cut the units, and whose judged them
            prompts = [prompt for prompt in (claims.prompt, judgement.prompt) if prompt]
            usage = claims.usage + judgement.usage
            judgement = replace(judgement, usage=usage, prompt=", ".join(prompts) or None)
        return judgement

    def _no_claims(self, claims: Claims, request: JudgeRequest) -> Judgement:
        """Return the judgement of an answer that was not broken into claims: the whole is not judged."""
        verdict = Verdict(
            id=self.answer_field,
            value=None,
            text=request.answer,
            code=claims.code or "invalid_reply",
            reason=f"the {self.answer_field} could not be broken into claims",
        )
        return Judgement(verdicts=(verdict,), usage=claims.usage)

    async def _ask_stages(
        self, judge: Judge, request: JudgeRequest, stages: Mapping[str, Stage]
    ) -> Judgement:
        """Ask once about the contexts of all stages, or the embedded judge about each; return what holds of the last one."""
        if not _judges_alone(judge):
            pool, _ = pool_of(stages.values())
            judgement = await self.ask(judge, replace(request, contexts=pool))
            if self.about_units:
                return replace(judgement, verdicts=recorded(stages, (), judgement.verdicts))
            return replace(judgement, verdicts=of_last(stages, judgement.verdicts))
        if not self.about_units:
            return await self.ask(judge, request)
        judgements = []
        for stage in stages.values():
            request_of_stage = replace(request, contexts=stage.contexts or ())
            judgements.append(await self.ask(judge, request_of_stage))
        verdicts = recorded(stages, [judgement.verdicts for judgement in judgements])
        return replace(judgements[-1], verdicts=verdicts)

    async def ask(self, judge: Judge, request: JudgeRequest) -> Judgement:
        """Ask about units or contexts.

        Exactly one verdict for each unit, or context, is returned, in order: no judge can change a
        denominator or a rank.
        """
        answer, ids, texts = judge.rate, request.context_ids, request.contexts
        if self.about_units:
            answer, ids, texts = judge.attribute, request.unit_ids, request.units
        missing = _MISSING
        try:
            judgement = checked_answer(await answer(request), Judgement)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a judge may fail in any way; its sample says so
            remember_keys_of(judge)
            code, reason = failure(error)
            judgement, missing = Judgement(verdicts=()), replace(missing, code=code, reason=reason)
        by_id: dict[str, Verdict] = {}
        for verdict in judgement.verdicts:
            first = by_id.setdefault(verdict.id, verdict)
            if first is not verdict and first.value != verdict.value:
                by_id[verdict.id] = Verdict(id=verdict.id, value=None, code="conflicting_verdicts")
        verdicts = []
        for id_, text in zip(ids, texts, strict=True):
            verdict = replace(by_id.get(id_, missing), id=id_, text=text)
            verdicts.append(checked_verdict(verdict, request.contexts))
        return replace(judgement, verdicts=tuple(verdicts))


_MISSING = Verdict(id="", value=None, code="missing_id", reason="the judge gave no verdict")


async def _decompose(judge: DecomposingJudge, request: JudgeRequest) -> Claims:
    """Break the answer into claims, or return the code that says why it could not be."""
    try:
        claims = await judge.decompose(request.answer, language=request.language)
        return checked_answer(claims, Claims)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a judge may fail in any way; its sample says so
        return Claims(claims=(), code=failure(error)[0])


def failure(error: BaseException) -> tuple[str, str]:
    """Return the verdict code of a judge's failure, and a reason that holds no key.

    Raises:
        ParameterError: The failure is misuse, which is no sample's fault.
    """
    if isinstance(error, ParameterError):
        raise error
    if isinstance(error, BudgetExceededError):
        return error.code, safe_text(error)
    if isinstance(error, JudgeError):
        return error.reason_code, safe_text(error)
    return "judge_error", f"{type(error).__name__}: {safe_text(error)}"


@cache
def default_judge() -> Judge:
    """Return the embedded judge, made once."""
    from ctxmetrics.judges.lexical.judge import LexicalJudge

    return LexicalJudge()


def _judges_alone(judge: Judge) -> bool:
    """Whether a judge judges each stage by itself."""
    return getattr(judge, "judges_stages_alone", False) is True
