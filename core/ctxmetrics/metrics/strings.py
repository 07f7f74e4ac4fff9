"""The metrics by string similarity. Recall and precision share one comparison for each sample."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from ctxmetrics._internal.frozen import FrozenDict
from ctxmetrics.formulas.checks import check_choice, check_number
from ctxmetrics.metrics.base import IN_METRIC_NAME
from ctxmetrics.metrics.lists import ListMetric
from ctxmetrics.metrics.precision import TextPrecision
from ctxmetrics.scores.conventions import Family
from ctxmetrics.text.repeats import find_repeats
from ctxmetrics.verdicts import Evidence, Verdict

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from ctxmetrics.metrics.similarity import BestMatches, Match, Measure
    from ctxmetrics.samples import Sample


@dataclass(frozen=True, kw_only=True)
class StringMetric(ListMetric, requires=("retrieved_contexts", "reference_contexts")):
    """A metric whose verdicts come from string similarity.

    Attributes:
        min_similarity: The smallest similarity of a match that counts, 0 to 1 (Ragas calls it ``threshold``).
        similarity: ``"levenshtein"``, ``"hamming"``, ``"jaro"``, ``"jaro_winkler"``, a callable
            ``(retrieved, reference) -> float`` from 0 to 1, or one that takes a list of such pairs.
        explain: Whether to compare without this minimum, so that a verdict below it also names the most similar text. This takes
            six to ten times as long and changes no verdict.
    """

    runs_by_default: ClassVar[bool] = True
    reads_texts: ClassVar[bool] = True

    min_similarity: float = field(default=0.5, metadata=IN_METRIC_NAME)
    similarity: Measure = field(default="levenshtein", metadata=IN_METRIC_NAME)
    explain: bool = False

    def __post_init__(self) -> None:
        from ctxmetrics.metrics.similarity import MEASURES

        super().__post_init__()
        check_number(f"{self.base_name}: min_similarity", self.min_similarity, 0, 1)
        if not callable(self.similarity):
            check_choice(f"{self.base_name}: similarity", self.similarity, tuple(MEASURES))

    def compare(
        self, retrieved: Sequence[str], reference: Sequence[str]
    ) -> tuple[float | None, list[tuple[Match | None, bool]]]:
        """Return the value of two lists of texts, and for each counted text its best match and whether this is a hit."""
        from ctxmetrics.metrics.similarity import find_best_matches

        # An explanation names the best match even if it is no hit.
        lowest_shown = 0.0 if self.explain else self.min_similarity
        best = find_best_matches(retrieved, reference, self.similarity, lowest_shown)
        matches = self._choose_matches(best)
        hits = self._find_hits(matches)
        return self.count_hits(hits, retrieved), list(zip(matches, hits, strict=True))

    def count_hits(self, hits: Sequence[bool], retrieved: Sequence[str]) -> float | None:  # noqa: ARG002 - precision reads it
        """Return the value of the hits."""
        return self.to_value(hits)

    def compute_values(
        self, pairs: Sequence[tuple[Sequence[str], Sequence[str]]], shared: dict[Hashable, Any]
    ) -> list[float | None]:
        """Return the values of pairs of lists.

        Args:
            pairs: The retrieved and the reference texts of each sample.
            shared: The matches of all pairs, by the parameters of the comparison. Metrics that differ only in the formula share
                the matches.
        """
        from ctxmetrics.metrics.similarity import find_best_matches

        if type(self).compare is not StringMetric.compare:  # the method of a user's subclass
            return super().compute_values(pairs, shared)
        comparison_key = (self.top_k, self.similarity, self.min_similarity)
        if comparison_key not in shared:
            # Only the hits count here: a match below the cut, which explains a verdict, is not needed (`best=False`).
            shared[comparison_key] = [
                find_best_matches(
                    retrieved[: self.top_k],
                    reference,
                    self.similarity,
                    self.min_similarity,
                    best=False,
                )
                for retrieved, reference in pairs
            ]
        values = []
        for (retrieved, _), matches in zip(pairs, shared[comparison_key], strict=True):
            # A match is the most similar text of the other side; a hit is a match that is similar enough.
            hits = self._find_hits(self._choose_matches(matches))
            value = self.count_hits(hits, retrieved[: self.top_k])
            values.append(self.to_convention_scale(value))
        return values

    def _choose_matches(self, matches: BestMatches) -> tuple[Match | None, ...]:
        """Return the matches of the side that is counted: of the references for recall, of the retrieved texts for precision."""
        return matches.for_references if self.counts_reference else matches.for_retrieved

    def _find_hits(self, matches: Sequence[Match | None]) -> list[bool]:
        """Return for each match whether its similarity is high enough."""
        cut = self.min_similarity
        must_exceed_cut = self.counts_reference and self.convention_data.strict_string_recall
        if must_exceed_cut:
            return [match is not None and match.similarity > cut for match in matches]
        return [match is not None and match.similarity >= cut for match in matches]

    def build_verdicts(
        self,
        hits: Sequence[tuple[Match | None, bool]],
        retrieved: Sequence[str],
        reference: Sequence[str],
    ) -> list[Verdict]:
        """Return one verdict for each counted text, with the text of the other side that it is most like."""
        # A verdict about a retrieved context has the id c1, one about a reference context r1.
        id_letter = "c"
        counted_texts = retrieved
        other_side = "reference context"
        if self.counts_reference:
            id_letter = "r"
            counted_texts = reference
            other_side = "retrieved context"
        verdicts = []
        for index, ((match, is_hit), text) in enumerate(zip(hits, counted_texts, strict=True)):
            evidence: tuple[Evidence, ...] = ()
            if match is not None and is_hit:
                # The evidence of a hit is the whole retrieved context of the pair.
                context_index = match.place if self.counts_reference else index
                quote = retrieved[context_index]
                evidence = (Evidence(context_index, 0, len(quote), quote),)
            reason, details = _explain_verdict(match, other_side, self.min_similarity)
            verdicts.append(
                Verdict(
                    id=f"{id_letter}{index + 1}",
                    value=is_hit,
                    text=text,
                    reason=reason,
                    evidence=evidence,
                    details=details,
                )
            )
        return verdicts


# Many verdicts have the same match: none, or an equal text at the same index. They share its explanation.
@lru_cache(maxsize=1_024, typed=True)
def _explain_verdict(match: Match | None, other_side: str, cut: float) -> tuple[str, FrozenDict]:
    """Return the reason and the details of a verdict.

    Args:
        match: The most similar text of the other side.
        other_side: What a text of the other side is called: ``"reference context"`` or ``"retrieved context"``.
        cut: The smallest similarity of a hit.
    """
    reaches_cut = match is not None and match.similarity >= cut
    reasons = []
    if not reaches_cut:
        reasons.append(f"no {other_side} reaches a similarity of {cut:g}")
    if match is not None:
        reasons.append(f"most like {other_side} {match.place + 1}, similarity {match.similarity:.3f}")
    details = {
        "best_match": None if match is None else match.place,
        "similarity": None if match is None else match.similarity,
        "below_cutoff": not reaches_cut,
        "min_similarity": cut,
    }
    return "; ".join(reasons), FrozenDict(details)


@dataclass(frozen=True, kw_only=True)
class NonLLMContextRecall(StringMetric, counted_words=("reference context", "found")):
    """The share of the reference contexts that some retrieved context resembles.

    Formula: reference contexts whose best similarity reaches ``min_similarity`` / reference contexts (``>=``; under
    ``ragas`` it must be greater). Range 0 to 1. Nothing retrieved: 0.0 (``ragas``: None). No reference contexts:
    None, ``no_reference``.

    Source: Ragas (NonLLMContextRecall).
    """

    base_name: ClassVar[str] = "non_llm_context_recall"
    family: ClassVar[Family] = "string_recall"
    counts_reference: ClassVar[bool] = True
    needs_single_ranking: ClassVar[bool] = False
    has_bands: ClassVar[bool] = True
    formula_name = "share"


@dataclass(frozen=True, kw_only=True)
class NonLLMContextPrecision(TextPrecision, StringMetric, counted_words=("context", "relevant")):
    """Whether the retrieved contexts that resemble a reference context stand first.

    Formula: average precision over retrieved contexts whose best similarity to a reference context is at least
    ``min_similarity``. A context that repeats one above counts once, at its first rank (``ragas``: each counts). Range 0
    to 1. None resembles: 0.0. Nothing retrieved: 0.0. No reference contexts: None, ``no_reference``.

    Source: Ragas (NonLLMContextPrecisionWithReference).
    """

    base_name: ClassVar[str] = "non_llm_context_precision"
    family: ClassVar[Family] = "string_precision"

    def count_hits(self, hits: Sequence[bool], retrieved: Sequence[str]) -> float | None:
        """Return the value of the hits; see `merge`."""
        return self.to_value(self.merge(hits, find_repeats(retrieved)))

    def describe_lists(
        self,
        sample: Sample,
        retrieved: Sequence[str],
        reference: Any,  # noqa: ARG002 - other metrics read it
        hits: Sequence[Any],
    ) -> tuple[Mapping[str, Any], Sequence[str]]:
        """Describe the contexts that repeat others."""
        are_hits = [is_hit for _match, is_hit in hits]
        return self.describe_repeats(sample, find_repeats(retrieved), are_hits)
