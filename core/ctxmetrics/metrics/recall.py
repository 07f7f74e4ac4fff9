"""Context recall: how much of what is expected was retrieved. Judged, by string similarity, by id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ctxmetrics.formulas import share
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.judged import JudgedMetric, ask_units
from ctxmetrics.metrics.signals import SIGNALS
from ctxmetrics.metrics.strings import StringMetric
from ctxmetrics.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ctxmetrics.conventions import Family
    from ctxmetrics.judges.base import Judge, Judgement, JudgeRequest
    from ctxmetrics.metrics.similarity import Match, SimilarityMatrix
    from ctxmetrics.samples import Sample
    from ctxmetrics.scores import Score


@dataclass(frozen=True, kw_only=True)
class ContextRecall(JudgedMetric):
    """The share of the reference's units that the retrieved contexts support.

    Formula: supported units / units. Range 0 to 1 (0 to 100 under ``aegis``). Nothing retrieved: 0.0. A reference
    without a letter or digit: None, ``no_reference``. A unit without a verdict: None, ``not_judged``.

    Source: Ragas (LLMContextRecall), DeepEval (ContextualRecallMetric), Axion (ContextualRecall), Aegis
    (ctx_recall), RAGChecker (claim recall).
    """

    base_name: ClassVar[str] = "context_recall"
    family: ClassVar[Family] = "recall"
    formula_name: ClassVar[str] = "share"
    requires: ClassVar[tuple[str, ...]] = ("reference", "retrieved_contexts")
    counts: ClassVar[tuple[str, str]] = ("sentence", "supported")
    banded: ClassVar[bool] = True

    @property
    def counted(self) -> tuple[str, str]:
        """The unit in force, and what a yes means."""
        return self.counted_unit, "supported"

    def signals(self, value: float | None, verdicts: Sequence[Verdict]) -> tuple[object, Mapping[str, Any]]:
        """Return the convention's result object and metadata."""
        return SIGNALS[self.rules.signals](value, verdicts) if self.rules.signals else (None, {})

    async def ask(self, judge: Judge, request: JudgeRequest) -> Judgement:
        """Ask which units the contexts support."""
        return await ask_units(judge, request)

    def to_value(self, verdicts: Sequence[Verdict]) -> float | None:
        """Supported units / units."""
        return share([verdict.value is True for verdict in verdicts])


@dataclass(frozen=True, kw_only=True)
class NonLLMContextRecall(StringMetric):
    """The share of the reference contexts that some retrieved context resembles.

    Formula: reference contexts whose best similarity reaches ``min_similarity`` / reference contexts (``>=``; under
    ``ragas`` it must be greater). Range 0 to 1. Nothing retrieved: 0.0 (``ragas``: None). No reference contexts:
    None, ``no_reference``.

    Source: Ragas (NonLLMContextRecall).
    """

    base_name: ClassVar[str] = "non_llm_context_recall"
    family: ClassVar[Family] = "string_recall"
    counts: ClassVar[tuple[str, str]] = ("reference context", "found")
    banded: ClassVar[bool] = True
    formula_name: ClassVar[str] = "share"

    def best(self, matrix: SimilarityMatrix) -> Sequence[Match | None]:
        """For each reference context, the most similar retrieved one."""
        return matrix.best_for_references

    def to_value(self, verdicts: Sequence[bool]) -> float | None:
        """Resembled reference contexts / reference contexts."""
        return share(verdicts)

    @property
    def needs_more(self) -> bool:
        """Whether a similarity of exactly ``min_similarity`` is too little."""
        return self.rules.strict_string_recall


@dataclass(frozen=True, kw_only=True)
class IDBasedContextRecall(Metric):
    """The share of the reference ids that were retrieved.

    Formula: |retrieved and reference| / |reference|, as sets of strings: ``1`` and ``"1"`` are one id, repeated ids
    count once. Range 0 to 1. Nothing retrieved: 0.0. No reference ids: None, ``no_reference``.

    Source: Ragas (IDBasedContextRecall); recall at k of information retrieval with ``top_k``.
    """

    base_name: ClassVar[str] = "id_based_context_recall"
    family: ClassVar[Family] = "id_recall"
    counts: ClassVar[tuple[str, str]] = ("reference id", "retrieved")
    banded: ClassVar[bool] = True
    formula_name: ClassVar[str] = "share"
    requires: ClassVar[tuple[str, ...]] = ("retrieved_context_ids", "reference_context_ids")

    def score(self, sample: Sample) -> Score:
        """Score one sample; see the class."""
        self.check_sample(sample)
        retrieved = set(self.top(sample.retrieved_context_ids))
        reference = tuple(dict.fromkeys(sample.reference_context_ids or ()))
        empty = self.empty_side(retrieved=bool(retrieved), reference=bool(reference))
        if empty is not None:
            return self.build_empty(sample, empty, reference=bool(reference))
        verdicts = tuple(Verdict(id=id_, value=id_ in retrieved, text=id_) for id_ in reference)
        return self.build(sample, share([verdict.value is True for verdict in verdicts]), verdicts)

    async def ascore(self, sample: Sample) -> Score:
        """Score one sample; see the class."""
        return self.score(sample)
