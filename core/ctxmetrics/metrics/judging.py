"""The base class of judged metrics: it builds a request from a sample, and a score from the judge's verdicts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, ClassVar, cast

from ctxmetrics._internal.frozen import EMPTY, FrozenDict
from ctxmetrics._internal.secrets import remember_api_keys, safe_text
from ctxmetrics.errors import (
    BudgetExceededError,
    CannotDecomposeError,
    JudgeError,
    ParameterError,
    SampleError,
)
from ctxmetrics.judges.base import (
    MISSING,
    Claims,
    DecomposingJudge,
    Judge,
    Judgement,
    JudgeRequest,
    checked_answer,
    complete_verdicts,
)
from ctxmetrics.metrics.base import (
    IN_METRIC_NAME,
    Definition,
    Metric,
    explain_missing_verdicts,
    in_metric_name,
)
from ctxmetrics.metrics.precision import name_repeats, rate_by_units
from ctxmetrics.models.runtime.run import breaker_scope
from ctxmetrics.samples.fields import MAX_UNITS, Fact
from ctxmetrics.samples.sample import Sample
from ctxmetrics.samples.stages import Stage, last_stage_verdicts, pool_contexts, with_stage_history
from ctxmetrics.samples.unanswerable import LABEL, phrase_kind
from ctxmetrics.scores.attribution import Attribution
from ctxmetrics.scores.conventions import Unit
from ctxmetrics.scores.score import Score
from ctxmetrics.text.character_spans import has_content
from ctxmetrics.text.languages import detect_language
from ctxmetrics.text.repeats import find_repeats
from ctxmetrics.text.sentences import split_sentences, splitter
from ctxmetrics.verdicts import Usage, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class _MetricQuestion:
    """What a metric asks about one sample.

    Attributes:
        request: The contexts, units and answer that the judge is shown. If the sample's facts count, they are the units.
        stages: The stages of the retrieval that are judged.
        facts: The sample's facts, if the verdicts are about facts; else empty.
        weights: How much each fact counts.
        partial: What a part of a fact is worth.
        has_units: Whether there is a unit to ask about.
    """

    request: JudgeRequest
    stages: Mapping[str, Stage]
    facts: Sequence[Fact]
    weights: Sequence[float]
    partial: float
    has_units: bool

    def add_fact_details(self, verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
        """Add to the verdict about each fact the fact's id, its weight, and what a part of the fact is worth."""
        if not self.facts:
            return verdicts
        detailed_verdicts = []
        for verdict, fact, weight in zip(verdicts, self.facts, self.weights, strict=False):
            fact_details: dict[str, Any] = {}
            if fact.id is not None:
                fact_details["fact_id"] = fact.id
            if weight != 1:
                fact_details["weight"] = weight
            if self.partial:
                fact_details["partial"] = self.partial
            if fact_details:
                details = FrozenDict({**verdict.details, **fact_details})
                detailed_verdicts.append(replace(verdict, details=details))
            else:
                detailed_verdicts.append(verdict)
        return tuple(detailed_verdicts)


class _JudgedDefinition(Definition):
    """What the class of a judged metric says about it; see `Definition`."""

    judged: ClassVar[bool] = True
    runs_by_default: ClassVar[bool] = True
    answer_field: ClassVar[str] = "reference"
    # Whether the metric's verdicts are about the units. If so, a score has an attribution.
    counts_units: ClassVar[bool] = False

    requires: tuple[str, ...] = ("reference", "retrieved_contexts")
    uses: tuple[str, ...] = ("user_input", "references", "stages", "searches")

    # The unit into which the answer is cut. None for a response, which is not cut: there, only contexts are rated.
    counted_unit: Unit | None = None
    # Whether the judge is asked which units the contexts support; else, which contexts are useful.
    about_units: bool = False


@dataclass(frozen=True, kw_only=True)
class JudgedMetric(_JudgedDefinition, Metric):
    """A metric whose verdicts come from a judge.

    Attributes:
        judge: The judge, or its name as ``--judge`` takes it (``"openai/gpt-4o-mini"``). None takes the judge of the run, or
            else the embedded `LexicalJudge`.
        unit: The unit into which the reference is cut, ``"sentence"`` or ``"claim"``. With ``"fact"``, the units are the
            sample's ``reference_facts``, and no reference is needed. None takes the convention's unit.
        language: The ISO 639 code of the answer's language. None detects the language from the script.
    """

    judge: Judge | str | None = None
    unit: Unit | None = field(default=None, metadata=in_metric_name(choices=Unit))
    language: str | None = field(default=None, metadata=IN_METRIC_NAME)

    def __post_init__(self) -> None:
        super().__post_init__()
        unit: Unit | None = None
        if self.answer_field == "reference":
            unit = self.unit or self.convention_data.unit
        # A precision with another `relevance` than "useful" follows from the verdicts about the units.
        about_units = self.counts_units or getattr(self, "relevance", "useful") != "useful"
        object.__setattr__(self, "counted_unit", unit)
        object.__setattr__(self, "about_units", about_units)
        if self.counts_units:
            object.__setattr__(self, "counted_words", (unit, "supported"))
        if unit == "fact":  # this object needs other fields than its class says
            object.__setattr__(self, "requires", ("reference_facts", "retrieved_contexts"))
            object.__setattr__(self, "uses", (*self.uses, "reference"))
        language = self.language
        if language is not None and not _is_language_code(language):
            raise ParameterError(
                f"{self.base_name}: language={language!r} must be an ISO 639 code such as 'en'."
            )
        if isinstance(self.judge, str):
            from ctxmetrics.judges.judge_names import read_judge

            object.__setattr__(self, "judge", read_judge(self.judge))
        if self.judge is not None:
            self._check_judge()

    def _check_judge(self) -> None:
        """Check that the metric's own judge is a judge, and that it can break a text into claims if the metric counts claims."""
        if isinstance(self.judge, type):
            name = self.judge.__name__
            raise ParameterError(f"{self.base_name}: judge={name} is a class. Write judge={name}(..).")
        if not isinstance(self.judge, Judge):
            from ctxmetrics.models.coerce import suggest_code  # only this message needs it

            suggested_code = suggest_code(self.judge)
            if not suggested_code:
                suggested_code = "LexicalJudge(), or LLMJudge(model) with a model"
            raise ParameterError(
                f"{self.base_name}: judge={type(self.judge).__name__} is no judge. Write judge={suggested_code}."
            )
        if self.counted_unit == "claim":
            self._check_decomposes(self.judge)

    def _check_decomposes(self, judge: Judge) -> None:
        """Check that a judge can break a text into claims. The metric counts claims."""
        if not isinstance(judge, DecomposingJudge):
            raise CannotDecomposeError(
                f"{self.name} counts claims, and {judge.name} cannot break a text into claims. "
                "Give judge=LLMJudge(model), or count sentences with unit='sentence'."
            )

    @property
    def own_judge(self) -> Judge | None:
        """The metric's own judge; None if the run's judge is asked."""
        return cast("Judge | None", self.judge)  # a judge's name has been replaced by the judge

    def with_judge(self, judge: Judge | str) -> JudgedMetric:
        """Return the metric with this judge. A metric that has a judge already is returned unchanged.

        Raises:
            CannotDecomposeError: The metric counts claims, and the judge cannot break a text into claims.
        """
        return self if self.judge is not None else replace(self, judge=judge)

    def score(self, sample: Sample) -> Score:
        """Score one sample. See `Metric.score`."""
        from ctxmetrics.models.runtime.background import run_at_once, run_sync

        judge = get_default_judge() if self.own_judge is None else self.own_judge
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
            # An empty list of references is scored as an empty reference.
            return await self._score_best_reference(sample, sample.references or ("",))
        score_without_text = self.check_texts(sample)
        if score_without_text is not None:
            return score_without_text
        judge = self.own_judge
        if judge is None:
            judge = get_default_judge()
            if self.counted_unit == "claim":
                self._check_decomposes(judge)
        question = self._build_question(sample)
        provenance = self._build_provenance(judge, question)
        has_contexts = bool(question.request.contexts or question.stages)
        if not has_contexts or not question.has_units:
            score_of_empty_side = self.score_empty_side(
                sample, retrieved=has_contexts, reference=question.has_units, **provenance
            )
            if score_of_empty_side is not None:
                return score_of_empty_side
        with breaker_scope(self):
            judgement = await self._judge(judge, question)
        verdicts = question.add_fact_details(judgement.verdicts)
        return self._build_score(sample, replace(judgement, verdicts=verdicts), question, provenance)

    def _build_question(self, sample: Sample) -> _MetricQuestion:
        """Build the question about a sample.

        Raises:
            MissingFieldError: A fact has no importance, and the metric needs it.
            SampleError: The answer has too many units.
        """
        contexts = (sample.retrieved_contexts or ())[: self.top_k]
        stages: Mapping[str, Stage] = EMPTY
        if sample.stages and "stages" in self.uses:
            stages = self.select_stages(sample, contexts)
        answer: str = getattr(sample, self.answer_field) or ""
        facts: Sequence[Fact] = ()
        weights: Sequence[float] = ()
        if self.counted_unit == "fact":
            facts = sample.reference_facts or ()
            weights = self.read_weights(sample)
            answer = answer or "\n".join(fact.text for fact in facts)
        language = self.language or detect_language(answer)
        has_units = has_content(answer)
        units: tuple[str, ...] = ()
        if self.counted_unit == "sentence":
            units = split_sentences(answer, language)
        elif self.counted_unit == "fact":
            units = tuple(fact.text for fact in facts)
            has_units = any(weight > 0 for weight in weights)
        if len(units) > MAX_UNITS:
            problem = f"holds {len(units):,} {self.counted_unit}s; {MAX_UNITS:,} is the most."
            field_name = "reference_facts" if facts else self.answer_field
            error = SampleError(problem, "Give what answers one question.").inside(field=field_name)
            error.sample = sample.id
            raise error
        request = JudgeRequest(
            units=units,
            contexts=contexts,
            answer=answer,
            user_input=sample.user_input,
            language=language,
        )
        return _MetricQuestion(
            request=request,
            stages=stages,
            facts=facts if self.counts_units else (),
            weights=weights,
            partial=getattr(self, "partial", 0.0),
            has_units=has_units,
        )

    def _build_provenance(self, judge: Judge, question: _MetricQuestion) -> dict[str, Any]:
        """Return the fields of the provenance that depend on the judge and the question."""
        splitter_name = splitter()
        if self.counted_unit == "fact":
            splitter_name = "facts"
        elif self.counted_unit == "claim":
            splitter_name = "claims"
        provenance: dict[str, Any] = {
            "judge": judge.name,
            "splitter": splitter_name,
            "warnings": judge.warnings,
        }
        if question.stages and not _judges_stages_alone(judge):
            provenance["judge"] = f"{judge.name} over stages"
        if self.counts_units:
            provenance["contexts"] = question.request.contexts
        return provenance

    def _build_score(
        self,
        sample: Sample,
        judgement: Judgement,
        question: _MetricQuestion,
        provenance: Mapping[str, Any],
    ) -> Score:
        """Apply the formula to the verdicts; the score has no value if a verdict is missing."""
        verdicts = judgement.verdicts
        repeats = find_repeats(question.request.contexts)
        reason_code = None
        message = None
        if any(verdict.value is None for verdict in verdicts):
            reason_code, message = explain_missing_verdicts(verdicts)
        elif self._may_be_refusal(sample):
            message = _POSSIBLE_REFUSAL_NOTE
        value = None
        if reason_code is None:
            if self.counted_unit == "fact" and self.counts_units:  # facts may have weights
                context_lengths = tuple(map(len, question.request.contexts))
                value = Attribution(verdicts, context_lengths).recall()
            else:
                value = self.count_verdicts(verdicts, repeats)
        details, notes = self.describe_verdicts(sample, verdicts, repeats)
        return self.make_score(
            sample,
            value,
            verdicts,
            reason_code=reason_code,
            message=message,
            notes=() if value is None else notes,
            metadata={
                **details,
                "stability": judgement.stability,
                "raw_replies": list(judgement.raw) or None,
                "stray_ids": judgement.stray_ids or None,
            },
            usage=judgement.usage,
            prompt=judgement.prompt,
            served_model=judgement.served_model,
            **provenance,
        )

    def _may_be_refusal(self, sample: Sample) -> bool:
        """Return whether the reference may say that there is no answer, and no label of the sample decides this."""
        if "reference" not in self.requires or LABEL in sample.labels:
            return False
        return phrase_kind(sample.reference or "") == "unsure"

    def count_verdicts(self, verdicts: Sequence[Verdict], repeats: Mapping[int, int]) -> float | None:  # noqa: ARG002 - precision reads them
        """Apply the formula to complete verdicts."""
        return self.to_value([verdict.value is True for verdict in verdicts])

    def describe_verdicts(
        self,
        sample: Sample,  # noqa: ARG002 - precision reads the sample and the verdicts
        verdicts: Sequence[Verdict],  # noqa: ARG002 - see sample
        repeats: Mapping[int, int],
    ) -> tuple[Mapping[str, Any], Sequence[str]]:
        """Return which contexts repeat others, as metadata, and the notes about what the repeats change."""
        if not repeats:
            return EMPTY, ()
        return {"repeats": name_repeats(repeats)}, ()

    async def _score_best_reference(self, sample: Sample, references: Sequence[str]) -> Score:
        """Score a sample with each of its references, and return the highest score with the number of its reference.

        A reference that is a refusal, or has no letter or digit, is left out, unless all references are like that. If one of the
        other references could not be judged, the score has no value, unless another one has the highest possible value.
        """
        scores = [
            await self.ascore(replace(sample, reference=text, references=None)) for text in references
        ]
        counted_scores = [score for score in scores if score.reason_code not in _NO_FACTS]
        if not counted_scores:
            counted_scores = scores
        best_score = max(counted_scores, key=_get_value_or_minus_one)
        unjudged_scores = [score for score in counted_scores if score.value is None]
        highest_possible_value = self.convention_data.scale
        if unjudged_scores and best_score.value != highest_possible_value:
            best_score = unjudged_scores[0]
        best_number = scores.index(best_score) + 1
        message = best_score.message
        if message is None or message == _POSSIBLE_REFUSAL_NOTE:
            message = f"the value is that of reference {best_number} of {len(scores)}"
        metadata = {
            **best_score.metadata,
            "reference_number": best_number,
            "reference_values": [score.value for score in scores],
        }
        return replace(
            best_score,
            message=message,
            metadata=FrozenDict(metadata),
            usage=sum((score.usage for score in scores), Usage()),
        )

    def read_weights(self, sample: Sample) -> list[float]:
        """Return the weight of each fact of a sample: 1, unless the metric weighs the facts by their importance."""
        return [1.0] * len(sample.reference_facts or ())

    def select_stages(self, sample: Sample, contexts: tuple[str, ...]) -> Mapping[str, Stage]:
        """Return the stages that are judged: those with texts, where ``contexts`` replace the contexts of the last one.

        Empty if no stage has a context. For a metric that counts contexts, also empty if the last stage has none.
        """
        stages = {
            name: stage
            for name, stage in (sample.stages or EMPTY).items()
            if stage.contexts is not None
        }
        last_name = list(stages)[-1]
        ids = stages[last_name].ids
        if ids is not None:
            ids = ids[: len(contexts)]
        stages[last_name] = Stage(contexts, ids)
        if contexts:
            return stages
        some_stage_has_contexts = any(stage.contexts for stage in stages.values())
        if self.counts_units and some_stage_has_contexts:
            return stages
        return EMPTY

    async def _judge(self, judge: Judge, question: _MetricQuestion) -> Judgement:
        """Break the answer into claims if the metric counts claims, and ask the judge for the verdicts.

        For an answer that cannot be broken into claims, one missing verdict is returned.
        """
        request = question.request
        claims: Claims | None = None
        if self.counted_unit == "claim" and isinstance(judge, DecomposingJudge):
            claims = await _decompose(judge, request)
            if claims.code or not claims.claims:
                return self._judge_without_claims(claims, request)
            request = replace(request, units=claims.claims)
        if question.stages:
            judgement = await self._ask_stages(judge, request, question.stages)
        else:
            judgement = await self.ask(judge, request)
        if self.about_units and not self.counts_units:
            only_new = getattr(self, "relevance", None) == "adds"
            verdicts = rate_by_units(judgement.verdicts, request, only_new=only_new)
            judgement = replace(judgement, verdicts=verdicts)
        if claims is not None:
            # Two prompts: the first broke the answer into claims, the second judged them.
            prompts = [prompt for prompt in (claims.prompt, judgement.prompt) if prompt]
            usage = claims.usage + judgement.usage
            judgement = replace(judgement, usage=usage, prompt=", ".join(prompts) or None)
        return judgement

    def _judge_without_claims(self, claims: Claims, request: JudgeRequest) -> Judgement:
        """Build the judgement of an answer that was not broken into claims: one missing verdict."""
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
        """Ask about the contexts of all stages, and return the judgement of the last stage, with the history of its verdicts.

        One request has the contexts of all stages, except for a judge that judges each stage by itself.
        """
        if not _judges_stages_alone(judge):
            pool, _ = pool_contexts(stages.values())
            judgement = await self.ask(judge, replace(request, contexts=pool))
            if self.about_units:
                return replace(judgement, verdicts=with_stage_history(stages, (), judgement.verdicts))
            return replace(judgement, verdicts=last_stage_verdicts(stages, judgement.verdicts))
        if not self.about_units:
            return await self.ask(judge, request)
        judgements = []
        for stage in stages.values():
            request_of_stage = replace(request, contexts=stage.contexts or ())
            judgements.append(await self.ask(judge, request_of_stage))
        verdicts = with_stage_history(stages, [judgement.verdicts for judgement in judgements])
        return replace(judgements[-1], verdicts=verdicts)

    async def ask(self, judge: Judge, request: JudgeRequest) -> Judgement:
        """Ask a judge about units or contexts.

        Exactly one verdict for each unit, or context, is returned, in order: no judge can change a
        denominator or a rank.
        """
        ask = judge.rate
        ids = request.context_ids
        texts = request.contexts
        if self.about_units:
            ask = judge.attribute
            ids = request.unit_ids
            texts = request.units
        verdict_of_missing = MISSING  # stands in for each verdict that the judge does not give
        try:
            judgement = checked_answer(await ask(request), Judgement)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a judge may fail in any way; its sample says so
            remember_api_keys(judge)
            code, reason = describe_failure(error)
            judgement = Judgement(verdicts=())
            verdict_of_missing = replace(MISSING, code=code, reason=reason)
        verdicts = complete_verdicts(
            judgement.verdicts, ids, texts, request.contexts, verdict_of_missing
        )
        return replace(judgement, verdicts=verdicts)


# An ISO 639 code, with or without further parts of a language tag: en, deu, zh-Hant.
_LANGUAGE_CODE_PATTERN = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]+)*")
_POSSIBLE_REFUSAL_NOTE = "the reference may say that there is no answer; it counts as a statement"
# The reason codes of a reference that states no fact.
_NO_FACTS = frozenset({"no_reference", "unanswerable"})


def _is_language_code(language: object) -> bool:
    """Return whether a value has the form of an ISO 639 code, alone (``"de"``) or with a region (``"de-CH"``)."""
    return isinstance(language, str) and _LANGUAGE_CODE_PATTERN.fullmatch(language) is not None


def _get_value_or_minus_one(score: Score) -> float:
    """Return the value of a score; -1, which is below every value, if it has none."""
    return -1.0 if score.value is None else score.value


async def _decompose(judge: DecomposingJudge, request: JudgeRequest) -> Claims:
    """Break the answer into claims, or return the code that says why it could not be."""
    try:
        claims = await judge.decompose(request.answer, language=request.language)
        return checked_answer(claims, Claims)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a judge may fail in any way; its sample says so
        code, _ = describe_failure(error)
        return Claims(claims=(), code=code)


def describe_failure(error: BaseException) -> tuple[str, str]:
    """Return the verdict code of a judge's failure, and a reason that holds no key.

    Raises:
        ParameterError: The failure itself is a `ParameterError`: the caller made a mistake, so that all samples would fail.
    """
    if isinstance(error, ParameterError):
        raise error
    if isinstance(error, BudgetExceededError):
        return error.code, safe_text(error)
    if isinstance(error, JudgeError):
        return error.reason_code, safe_text(error)
    return "judge_error", f"{type(error).__name__}: {safe_text(error)}"


@cache
def get_default_judge() -> Judge:
    """Return the embedded judge, which judges if the user gives no judge. It is made once."""
    from ctxmetrics.judges.lexical.judge import LexicalJudge

    return LexicalJudge()


def _judges_stages_alone(judge: Judge) -> bool:
    """Return whether a judge judges each stage of a retrieval in a request of its own."""
    return getattr(judge, "judges_stages_alone", False) is True
