"""The judged metrics: recall, precision and utilization."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from ctxmetrics.conventions import Family, Weighting
from ctxmetrics.errors import MissingFieldError, ParameterError
from ctxmetrics.formulas.checks import check_number
from ctxmetrics.metrics.base import NAMED, TextPrecision, named_choice, registered
from ctxmetrics.metrics.judging import JudgedMetric
from ctxmetrics.samples import Sample

Relevance = Literal["useful", "supports", "adds"]
# The weights of the words for a fact's importance in a weighted mean.
_WORTH: dict[str | float, float] = {"vital": 1.0, "okay": 0.5}


@registered
@dataclass(frozen=True, kw_only=True)
class ContextRecall(JudgedMetric, counts=("sentence", "supported")):
    """The share of the reference's units that the retrieved contexts support.

    Formula: supported units / units. Range 0 to 1 (0 to 100 under ``aegis``). Nothing retrieved: 0.0. A reference
    without a letter or digit: None, ``no_reference``. A unit without a verdict: None, ``not_judged``.

    Attributes:
        weighting: How facts count (``unit="fact"``), by their ``importance``: ``"vital"`` counts the vital facts alone
            (a number is not vital), ``"importance"`` takes the weighted mean, where ``"vital"`` is worth 1 and ``"okay"``
            0.5. None takes the convention's, else all count alike.
        partial: The value of a fact that is not supported, but of which a part is stated; 0 to 1.

    Source of the weights: the nugget scores of TREC RAG (castorini/nuggetizer, core/metrics.py): strict vital is
    ``weighting="vital"``, strict all is without it, vital and all are the same with ``partial=0.5``.

    Source: Ragas (LLMContextRecall), DeepEval (ContextualRecallMetric), Axion (ContextualRecall), Aegis
    (ctx_recall), RAGChecker (claim recall).
    """

    base_name: ClassVar[str] = "context_recall"
    family: ClassVar[Family] = "recall"
    formula_name = "share"
    banded: ClassVar[bool] = True
    counts_units: ClassVar[bool] = True
    one_ranking: ClassVar[bool] = False

    weighting: Weighting | None = field(default=None, metadata=named_choice(Weighting))
    partial: float = field(default=0.0, metadata=NAMED)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(f"{self.base_name}: partial", self.partial, 0, 1)
        if (self.weighting or self.partial) and self.counted_unit != "fact":
            raise ParameterError(
                f"{self.base_name}: weighting and partial are about facts. Write unit='fact' beside them."
            )

    def weights(self, sample: Sample) -> list[float]:
        """Return how much each fact counts.

        Raises:
            MissingFieldError: A fact has no importance, and the metric needs it.
        """
        weighting = self.weighting or self.rules.weighting
        if weighting is None:
            return super().weights(sample)
        worths = [fact.importance for fact in sample.reference_facts or ()]
        if None in worths:
            raise MissingFieldError(
                f"{sample.called()}: field 'reference_facts', item {worths.index(None) + 1} has no importance, which "
                f"{self.name} needs. Write {{'text': .., 'importance': 'vital'}}, 'okay' or a number above 0."
            )
        if weighting == "vital":
            return [float(worth == "vital") for worth in worths]
        return [float(_WORTH.get(worth, worth)) for worth in worths]  # type: ignore[arg-type]  # none is None


@dataclass(frozen=True, kw_only=True)
class _RatedPrecision(TextPrecision, JudgedMetric, counts=("context", "useful")):
    family: ClassVar[Family] = "precision"


@registered
@dataclass(frozen=True, kw_only=True)
class ContextPrecision(_RatedPrecision):
    """Whether the contexts that help to give the reference stand first.

    Formula: the mean, over the relevant contexts, of precision at their rank (average precision over *retrieved*
    relevant contexts). Range 0 to 1 (0 to 100 under ``aegis``). No relevant context: 0.0. Nothing retrieved: 0.0. A
    reference without a letter or digit: None, ``no_reference``. A context without a verdict: None, ``not_judged``.

    Attributes:
        relevance: ``"useful"``: the judge says whether the context is useful for the answer (Ragas, DeepEval).
            ``"supports"``: some unit of the reference rests on it (RAGChecker), from the attribution alone. ``"adds"``: some
            unit rests on it that no context above it states whole, so that repetition and padding cost (the novelty of
            alpha-nDCG, Clarke et al. 2008).
        formula: ``"average_precision"`` or ``"share"`` (relevant / retrieved; the rank does not count).

    Source: Ragas (LLMContextPrecisionWithReference), DeepEval (ContextualPrecisionMetric), RAGChecker.
    """

    base_name: ClassVar[str] = "context_precision"

    relevance: Relevance = field(default="useful", metadata=named_choice(Relevance))


@registered
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
