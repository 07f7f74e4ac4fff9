"""The judged metrics' common part: from a sample to a request, from a judgement to checked verdicts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ctxmetrics._redact import remember_keys_of, safe_text
from ctxmetrics._runtime.run import part_of
from ctxmetrics.errors import BudgetExceededError, CannotDecomposeError, JudgeError, ParameterError
from ctxmetrics.judges.base import Claims, DecomposingJudge, Judge, Judgement, JudgeRequest
from ctxmetrics.judges.contract import check_claims, check_judgement, verdict_problem
from ctxmetrics.metrics.base import NAMED, Metric, check_choice, not_judged
from ctxmetrics.text import detect_language, has_content, split_sentences, splitter
from ctxmetrics.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from ctxmetrics.conventions import Unit
    from ctxmetrics.samples import Sample
    from ctxmetrics.scores import Score

Question = Literal["attribute", "rate"]


@dataclass(frozen=True, kw_only=True)
class JudgedMetric(Metric):
    """A metric whose verdicts come from a judge.

    Attributes:
        judge: Who judges; None takes the judge of the run, else the embedded `LexicalJudge`.
        unit: What the reference is cut into; None takes the convention's.
        language: ISO 639 code of the answer; detected from the script where None.
    """

    answer_field: ClassVar[str] = "reference"
    uses: ClassVar[tuple[str, ...]] = ("user_input",)

    judge: Judge | None = None
    unit: Unit | None = field(default=None, metadata=NAMED)
    language: str | None = field(default=None, metadata=NAMED)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.unit is not None:
            check_choice(f"{self.base_name}: unit", self.unit, ("sentence", "claim"))
        if self.language is not None and (not isinstance(self.language, str) or not self.language.isascii()):
            raise ParameterError(
                f"{self.base_name}: language={self.language!r} must be an ISO 639 code such as 'en'."
            )
        if self.judge is not None and not isinstance(self.judge, Judge):
            raise ParameterError(
                f"{self.base_name}: judge={type(self.judge).__name__} is no judge. "
                "Give LexicalJudge(), LLMJudge(model), or an object with name, warnings, attribute and rate."
            )
        if self.judge is not None:
            self.check_judge(self.judge)

    @property
    def counted_unit(self) -> Unit:
        """The unit in force."""
        return self.unit or self.rules.unit

    @property
    def needs_claims(self) -> bool:
        """Whether the reference must be broken into claims."""
        return self.counted_unit == "claim"

    def with_judge(self, judge: Judge) -> JudgedMetric:
        """Return the metric with this judge unless it has one of its own."""
        return self if self.judge is not None else replace(self, judge=judge)

    def check_judge(self, judge: Judge) -> None:
        """Raise if the judge cannot do what the metric asks.

        Raises:
            CannotDecomposeError: Claims are asked of a judge that cannot break a text into them.
        """
        if self.needs_claims and not isinstance(judge, DecomposingJudge):
            raise CannotDecomposeError(
                f"{self.name} counts claims, and {judge.name} cannot break a text into claims. "
                "Give judge=LLMJudge(model), or count sentences with unit='sentence'."
            )

    async def ascore(self, sample: Sample) -> Score:
        """Score one sample. Raises as `score` does."""
        with part_of(self):
            return await self._judged(sample)

    async def _judged(self, sample: Sample) -> Score:
        self.check_sample(sample)
        if (refused := self.check_texts(sample)) is not None:
            return refused
        judge = self.judge or default_judge()
        self.check_judge(judge)
        answer: str = getattr(sample, self.answer_field)
        contexts = self.top(sample.retrieved_contexts)
        cut = "claims" if self.needs_claims else splitter()
        provenance: dict[str, Any] = {"judge": judge.name, "splitter": cut, "warnings": judge.warnings}
        reference = has_content(answer)
        empty = self.empty_side(retrieved=bool(contexts), reference=reference)
        if empty is not None and (empty != "judge" or not contexts):
            return self.build_empty(
                sample, 0.0 if empty == "judge" else empty, reference=reference, **provenance
            )
        language = self.language or detect_language(answer)
        units = await self._units(judge, answer, language)
        if units.code:
            return self.build(
                sample,
                None,
                (Verdict(id=self.answer_field, value=None, text=answer, code=units.code),),
                reason_code="not_judged",
                message=f"the {self.answer_field} could not be broken into claims ({units.code})",
                usage=units.usage,
                **provenance,
            )
        request = JudgeRequest(
            units=units.claims,
            contexts=contexts,
            answer=answer,
            user_input=sample.user_input,
            language=language,
        )
        judgement = await self.ask(judge, request)
        verdicts = self.to_verdicts(judgement.verdicts, request)
        code, message = not_judged(verdicts)
        return self.build(
            sample,
            self.to_value(verdicts) if code is None else None,
            verdicts,
            reason_code=code,
            message=message,
            metadata=_metadata(judgement),
            usage=units.usage + judgement.usage,
            prompt=judgement.prompt,
            **provenance,
        )

    async def _units(self, judge: Judge, answer: str, language: str) -> Claims:
        if not self.needs_claims or not isinstance(judge, DecomposingJudge):
            return Claims(claims=split_sentences(answer, language))
        try:
            found = check_claims(await judge.decompose(answer, language=language))
        except Exception as error:  # noqa: BLE001 - a judge may fail in any way; its sample says so
            return Claims(claims=(), code=failure(error)[0])
        return found if found.claims or found.code else replace(found, code="invalid_reply")

    async def ask(self, judge: Judge, request: JudgeRequest) -> Judgement:
        """Ask the judge this metric's question."""
        raise NotImplementedError

    def to_verdicts(self, verdicts: tuple[Verdict, ...], request: JudgeRequest) -> tuple[Verdict, ...]:
        """Turn the checked verdicts of the question into those the formula counts."""
        del request
        return verdicts

    def to_value(self, verdicts: Sequence[Verdict]) -> float | None:
        """Apply the formula to complete verdicts."""
        raise NotImplementedError


async def ask_units(judge: Judge, request: JudgeRequest) -> Judgement:
    """Ask which units the contexts support; exactly one verdict a unit comes back."""
    return await _asked(judge.attribute, request, request.unit_ids, request.units)


async def ask_contexts(judge: Judge, request: JudgeRequest) -> Judgement:
    """Ask which contexts are useful for the answer; exactly one verdict a context comes back."""
    return await _asked(judge.rate, request, request.context_ids, request.contexts)


async def _asked(
    question: Callable[[JudgeRequest], Awaitable[Judgement]],
    request: JudgeRequest,
    ids: tuple[str, ...],
    texts: tuple[str, ...],
) -> Judgement:
    try:
        judgement = check_judgement(await question(request))
    except Exception as error:  # noqa: BLE001 - a judge may fail in any way; its sample says so
        remember_keys_of(question)  # those of the judge
        code, reason = failure(error)
        missing = tuple(
            Verdict(id=id_, value=None, text=text, code=code, reason=reason)
            for id_, text in zip(ids, texts, strict=True)
        )
        return Judgement(verdicts=missing)
    return replace(judgement, verdicts=_exactly(judgement.verdicts, request, ids, texts))


def failure(error: Exception) -> tuple[str, str]:
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


def _exactly(
    verdicts: Sequence[Verdict], request: JudgeRequest, ids: tuple[str, ...], texts: tuple[str, ...]
) -> tuple[Verdict, ...]:
    """Return one verdict an id, in order: no judge can change a denominator or a rank."""
    by_id: dict[str, Verdict] = {}
    for verdict in verdicts:
        if verdict.id in by_id and by_id[verdict.id].value != verdict.value:
            by_id[verdict.id] = Verdict(id=verdict.id, value=None, code="conflicting_verdicts")
        else:
            by_id.setdefault(verdict.id, verdict)
    missing = Verdict(id="", value=None, code="missing_id", reason="the judge gave no verdict")
    return tuple(
        _checked(by_id.get(id_, missing).about(id_, text), request)
        for id_, text in zip(ids, texts, strict=True)
    )


def _checked(verdict: Verdict, request: JudgeRequest) -> Verdict:
    """Return the verdict with spans that really are in the contexts, and a real yes or no."""
    if problem := verdict_problem(verdict):
        return Verdict(id=verdict.id, value=None, text=verdict.text, code="invalid_reply", reason=problem)
    real = tuple(
        span
        for span in verdict.evidence
        if 0 <= span.context < len(request.contexts)
        and request.contexts[span.context][span.start : span.end] == span.quote
    )
    if len(real) == len(verdict.evidence):
        return verdict
    if real or verdict.value is not True:
        return replace(verdict, evidence=real)
    return replace(
        verdict,
        value=False,
        code="unverified_evidence",
        evidence=(),
        reason="its evidence is not in the context",
    )


def _metadata(judgement: Judgement) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    if judgement.stability is not None:
        metadata["stability"] = judgement.stability
    if judgement.raw:
        metadata["raw_replies"] = list(judgement.raw)
    return metadata


_default: list[Judge] = []


def default_judge() -> Judge:
    """Return the embedded judge, made once."""
    if not _default:
        from ctxmetrics.judges.lexical.judge import LexicalJudge

        _default.append(LexicalJudge())
    return _default[0]
