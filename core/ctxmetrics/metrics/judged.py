"""The judged metrics: recall, precision and utilization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from ctxmetrics.errors import MissingFieldError, ParameterError
from ctxmetrics.formulas.checks import check_number
from ctxmetrics.metrics.base import IN_METRIC_NAME, in_metric_name
from ctxmetrics.metrics.judging import JudgedMetric
from ctxmetrics.metrics.precision import TextPrecision
from ctxmetrics.samples.sample import Sample
from ctxmetrics.scores.conventions import Family, Weighting
from ctxmetrics.verdicts import Verdict

Relevance = Literal["useful", "supports", "adds"]
# The weight of a fact by the word for its importance.
_WEIGHTS: dict[str | float, float] = {"vital": 1.0, "okay": 0.5}


@dataclass(frozen=True, kw_only=True)
class ContextRecall(JudgedMetric, counted_words=("sentence", "supported")):
    """The share of the reference's units that the retrieved contexts support.

    Formula: supported units / units. Range 0 to 1 (0 to 100 under ``aegis``). Nothing retrieved: 0.0. A reference
    without a letter or digit: None, ``no_reference``. A unit without a verdict: None, ``not_judged``.

    Attributes:
        weighting: How facts count (``unit="fact"``), by their ``importance``. ``"vital"``: only vital facts count (a number is
            not vital). ``"importance"``: the weighted mean, with 1 for ``"vital"`` and 0.5 for ``"okay"``. None takes the
            convention's weighting; if it has none, all facts count equally.
        partial: The value of a fact that is only partly stated, from 0 to 1.

    Source of the weights: the nugget scores of TREC RAG (castorini/nuggetizer, core/metrics.py): strict vital is
    ``weighting="vital"``, strict all is without it, vital and all are the same with ``partial=0.5``.

    Source: Ragas (LLMContextRecall), DeepEval (ContextualRecallMetric), Axion (ContextualRecall), Aegis
    (ctx_recall), RAGChecker (claim recall).
    """

    base_name: ClassVar[str] = "context_recall"
    family: ClassVar[Family] = "recall"
    formula_name = "share"
    has_bands: ClassVar[bool] = True
    counts_units: ClassVar[bool] = True
    needs_single_ranking: ClassVar[bool] = False

    weighting: Weighting | None = field(default=None, metadata=in_metric_name(choices=Weighting))
    partial: float = field(default=0.0, metadata=IN_METRIC_NAME)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(f"{self.base_name}: partial", self.partial, 0, 1)
        if (self.weighting or self.partial) and self.counted_unit != "fact":
            raise ParameterError(
                f"{self.base_name}: weighting and partial are about facts. Write unit='fact' beside them."
            )

    def read_weights(self, sample: Sample) -> list[float]:
        """Return the weight of each fact of a sample, by its importance.

        With the weighting "vital", only vital facts count. Else "vital" weighs 1, "okay" a half, and a number weighs itself.
        Without a weighting, the weights are those of the base class.

        Raises:
            MissingFieldError: A fact has no importance, and the metric needs it.
        """
        weighting = self.weighting or self.convention_data.weighting
        if weighting is None:
            return super().read_weights(sample)
        importances = [fact.importance for fact in sample.reference_facts or ()]
        if None in importances:
            number = importances.index(None) + 1
            raise MissingFieldError(
                f"{sample.called()}: field 'reference_facts', item {number} has no importance, which "
                f"{self.name} needs. Write {{'text': .., 'importance': 'vital'}}, 'okay' or a number above 0."
            )
        if weighting == "vital":
            return [1.0 if importance == "vital" else 0.0 for importance in importances]
        # An importance that is not a word is a number. No importance is None here.
        return [float(_WEIGHTS.get(importance, importance)) for importance in importances]  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class _RatedPrecision(TextPrecision, JudgedMetric, counted_words=("context", "useful")):
    """What context precision and context utilization share: verdicts about contexts, and repeated contexts."""

    family: ClassVar[Family] = "precision"

    def count_verdicts(self, verdicts: Sequence[Verdict], repeats: Mapping[int, int]) -> float | None:
        """Apply the formula to complete verdicts; repeated contexts count as `merge` says."""
        hits = [verdict.value is True for verdict in verdicts]
        return self.to_value(self.merge(hits, repeats))

    def describe_verdicts(
        self, sample: Sample, verdicts: Sequence[Verdict], repeats: Mapping[int, int]
    ) -> tuple[Mapping[str, Any], Sequence[str]]:
        """Describe the contexts that repeat others; see `describe_repeats`."""
        hits = [verdict.value is True for verdict in verdicts]
        return self.describe_repeats(sample, repeats, hits)


@dataclass(frozen=True, kw_only=True)
class ContextPrecision(_RatedPrecision):
    """Whether the contexts that help to give the reference stand first.

    Formula: the mean, over the relevant contexts, of precision at their rank (average precision over *retrieved*
    relevant contexts). A context that repeats one above counts once, at its first rank (``ragas`` and ``deepeval``: each
    counts). Range 0 to 1 (0 to 100 under ``aegis``). No relevant context: 0.0. Nothing retrieved: 0.0. A reference
    without a letter or digit: None, ``no_reference``. A context without a verdict: None, ``not_judged``.

    Attributes:
        relevance: ``"useful"``: the judge says whether the context is useful for the answer (Ragas, DeepEval).
            ``"supports"``: the context supports a unit of the reference (RAGChecker); only the attribution is asked for.
            ``"adds"``: the context supports a unit that no context above it states completely, so that repetition and padding
            lower the value (the novelty of alpha-nDCG, Clarke et al. 2008). A context that repeats one above it keeps its rank
            and is not relevant.
        formula: ``"average_precision"`` or ``"share"`` (relevant / retrieved; the rank does not count).

    Source: Ragas (LLMContextPrecisionWithReference), DeepEval (ContextualPrecisionMetric), RAGChecker.
    """

    base_name: ClassVar[str] = "context_precision"

    relevance: Relevance = field(default="useful", metadata=in_metric_name(choices=Relevance))

    @property
    def merges_repeats(self) -> bool:
        """Whether a repeated context has no rank of its own. With ``relevance="adds"`` it keeps its rank and is not relevant."""
        return self.relevance != "adds" and super().merges_repeats

    @property
    def repeats_rule(self) -> str:
        """The words that say how a repeated context counts if it is not merged."""
        return "it adds nothing" if self.relevance == "adds" else super().repeats_rule


@dataclass(frozen=True, kw_only=True)
class ContextUtilization(
    _RatedPrecision, requires=("response", "retrieved_contexts"), uses=("user_input",)
):
    """Context precision with the response in place of the reference: no reference is needed.

    Formula, range and degenerate values as `ContextPrecision`; an empty response is None, ``no_response``.

    Source: Ragas (ContextUtilization, LLMContextPrecisionWithoutReference).
    """

    base_name: ClassVar[str] = "context_utilization"
    answer_field: ClassVar[str] = "response"
