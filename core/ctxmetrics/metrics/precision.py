"""Context precision: how early the useful contexts stand. Judged, by string similarity, by id."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from ctxmetrics.formulas import average_precision, share
from ctxmetrics.metrics.base import NAMED, Metric, check_choice
from ctxmetrics.metrics.judged import JudgedMetric, ask_contexts, ask_units
from ctxmetrics.metrics.strings import StringMetric
from ctxmetrics.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxmetrics.conventions import Family
    from ctxmetrics.judges.base import Judge, Judgement, JudgeRequest
    from ctxmetrics.metrics.similarity import Match, SimilarityMatrix
    from ctxmetrics.samples import Sample
    from ctxmetrics.scores import Score

Formula = Literal["average_precision", "share"]
FORMULAS: tuple[Formula, ...] = ("average_precision", "share")


@dataclass(frozen=True, kw_only=True)
class _Precision(Metric):
    """What the three precisions share: the choice of the formula."""

    formula_name: ClassVar[str] = "average_precision"

    formula: Formula = field(default="average_precision", metadata=NAMED)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(f"{self.base_name}: formula", self.formula, FORMULAS)

    @property
    def formula_label(self) -> str:
        """The formula's name for the provenance."""
        return self.formula

    def value_of(self, relevant: Sequence[bool]) -> float | None:
        """Average precision over the retrieved relevant contexts, or their share."""
        if self.formula == "average_precision":
            return average_precision(relevant, epsilon=self.rules.epsilon)
        return share(relevant)


@dataclass(frozen=True, kw_only=True)
class _RatedPrecision(_Precision, JudgedMetric):
    family: ClassVar[Family] = "precision"
    counts: ClassVar[tuple[str, str]] = ("context", "useful")

    async def ask(self, judge: Judge, request: JudgeRequest) -> Judgement:
        """Ask which contexts are useful."""
        return await ask_contexts(judge, request)

    def to_value(self, verdicts: Sequence[Verdict]) -> float | None:
        """Average precision over the retrieved relevant contexts, or their share."""
        return self.value_of([verdict.value is True for verdict in verdicts])


@dataclass(frozen=True, kw_only=True)
class ContextPrecision(_RatedPrecision):
    """Whether the contexts that help to give the reference stand first.

    Formula: the mean, over the relevant contexts, of precision at their rank (average precision over *retrieved*
    relevant contexts). Range 0 to 1 (0 to 100 under ``aegis``). No relevant context: 0.0. Nothing retrieved: 0.0. A
    reference without a letter or digit: None, ``no_reference``. A context without a verdict: None, ``not_judged``.

    Attributes:
        relevance: ``"useful"``: the judge says whether the context is useful for the answer (Ragas, DeepEval).
            ``"supports"``: it supports at least one unit of the reference (RAGChecker), from the attribution alone.
        formula: ``"average_precision"`` or ``"share"`` (relevant / retrieved, blind to ranks).

    Source: Ragas (LLMContextPrecisionWithReference), DeepEval (ContextualPrecisionMetric), RAGChecker.
    """

    base_name: ClassVar[str] = "context_precision"
    requires: ClassVar[tuple[str, ...]] = ("reference", "retrieved_contexts")

    relevance: Literal["useful", "supports"] = field(default="useful", metadata=NAMED)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(f"{self.base_name}: relevance", self.relevance, ("useful", "supports"))

    async def ask(self, judge: Judge, request: JudgeRequest) -> Judgement:
        """Ask which contexts are useful, or which units they support."""
        return await (ask_units if self.relevance == "supports" else ask_contexts)(judge, request)

    def to_verdicts(self, verdicts: tuple[Verdict, ...], request: JudgeRequest) -> tuple[Verdict, ...]:
        """Turn an attribution into one verdict a context, where relevance means support."""
        return _supporting(verdicts, request) if self.relevance == "supports" else verdicts


@dataclass(frozen=True, kw_only=True)
class ContextUtilization(_RatedPrecision):
    """Context precision with the response in place of the reference: no reference is needed.

    Formula, range and degenerate values as `ContextPrecision`; an empty response is None, ``no_response``.

    Source: Ragas (ContextUtilization, LLMContextPrecisionWithoutReference).
    """

    base_name: ClassVar[str] = "context_utilization"
    requires: ClassVar[tuple[str, ...]] = ("response", "retrieved_contexts")
    answer_field: ClassVar[str] = "response"

    @property
    def needs_claims(self) -> bool:
        """Never: contexts are rated, and nothing else is asked about a response."""
        return False

    async def ask(self, judge: Judge, request: JudgeRequest) -> Judgement:
        """Ask which contexts are useful for the response; its sentences are nobody's question."""
        return await ask_contexts(judge, replace(request, units=()))


def _supporting(units: Sequence[Verdict], request: JudgeRequest) -> tuple[Verdict, ...]:
    """Return for each context whether it supports a unit; unknown while a unit is not judged."""
    supports: dict[int, list[Verdict]] = {}
    for unit in units:
        for index in {span.context for span in unit.evidence} if unit.value else ():
            supports.setdefault(index, []).append(unit)
    missing = [unit for unit in units if unit.value is None]
    verdicts = []
    for index, (id_, text) in enumerate(zip(request.context_ids, request.contexts, strict=True)):
        found = supports.get(index, [])
        spans = tuple(span for unit in found for span in unit.evidence if span.context == index)
        if found:
            reason = f"supports {', '.join(unit.id for unit in found)}"
            verdicts.append(Verdict(id=id_, value=True, text=text, reason=reason, evidence=spans))
        elif missing:
            verdicts.append(
                Verdict(id=id_, value=None, text=text, code=missing[0].code, reason=missing[0].reason)
            )
        else:
            verdicts.append(
                Verdict(id=id_, value=False, text=text, reason="supports no unit of the reference")
            )
    return tuple(verdicts)


@dataclass(frozen=True, kw_only=True)
class NonLLMContextPrecision(_Precision, StringMetric):
    """Whether the retrieved contexts that resemble a reference context stand first.

    Formula: average precision over retrieved contexts whose best similarity to a reference context is at least
    ``min_similarity``. Range 0 to 1. None resembles: 0.0. Nothing retrieved: 0.0. No reference contexts: None,
    ``no_reference``.

    Source: Ragas (NonLLMContextPrecisionWithReference).
    """

    base_name: ClassVar[str] = "non_llm_context_precision"
    family: ClassVar[Family] = "string_precision"
    counts: ClassVar[tuple[str, str]] = ("context", "relevant")

    def best(self, matrix: SimilarityMatrix) -> Sequence[Match | None]:
        """For each retrieved context, the most similar reference context."""
        return matrix.best_for_retrieved

    def to_value(self, verdicts: Sequence[bool]) -> float | None:
        """Average precision over the retrieved relevant contexts, or their share."""
        return self.value_of(verdicts)


@dataclass(frozen=True, kw_only=True)
class IDBasedContextPrecision(_Precision):
    """How many of the retrieved ids are reference ids, or how early they stand.

    Formula: ``"share"`` |retrieved and reference| / |retrieved|, as sets of strings (the order does not matter);
    ``"average_precision"`` over the ranked ids, a repeated id counting at its first rank only. Range 0 to 1. Nothing
    retrieved: 0.0 (``ragas``: None). No reference ids: None, ``no_reference`` (``ragas``: 0.0).

    Source: Ragas (IDBasedContextPrecision).
    """

    base_name: ClassVar[str] = "id_based_context_precision"
    family: ClassVar[Family] = "id_precision"
    counts: ClassVar[tuple[str, str]] = ("retrieved id", "relevant")
    formula_name: ClassVar[str] = "share"
    requires: ClassVar[tuple[str, ...]] = ("retrieved_context_ids", "reference_context_ids")

    formula: Formula = field(default="share", metadata=NAMED)

    def score(self, sample: Sample) -> Score:
        """Score one sample; see the class."""
        self.check_sample(sample)
        retrieved = tuple(dict.fromkeys(self.top(sample.retrieved_context_ids)))
        reference = set(sample.reference_context_ids or ())
        empty = self.empty_side(retrieved=bool(retrieved), reference=bool(reference))
        if empty is not None:
            return self.build_empty(sample, empty, reference=bool(reference))
        verdicts = tuple(Verdict(id=id_, value=id_ in reference, text=id_) for id_ in retrieved)
        return self.build(sample, self.value_of([verdict.value is True for verdict in verdicts]), verdicts)

    async def ascore(self, sample: Sample) -> Score:
        """Score one sample; see the class."""
        return self.score(sample)
