"""The metrics by string similarity: one comparison a sample, shared by recall and precision."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from ctxmetrics._internal.frozen import FrozenDict
from ctxmetrics.conventions import Family
from ctxmetrics.formulas.checks import check_choice, check_number
from ctxmetrics.metrics.base import NAMED, ListMetric, TextPrecision
from ctxmetrics.verdicts import Evidence, Verdict

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from ctxmetrics.metrics.similarity import BestMatches, Match, Measure


@dataclass(frozen=True, kw_only=True)
class StringMetric(ListMetric):
    """A metric whose verdicts come from string similarity.

    Attributes:
        min_similarity: The cut on the similarity, 0 to 1 (Ragas calls it ``threshold``).
        similarity: ``"levenshtein"``, ``"hamming"``, ``"jaro"``, ``"jaro_winkler"``, a callable
            ``(retrieved, reference) -> float`` from 0 to 1, or one that takes a list of such pairs.
        explain: Compare without the cut, so that a verdict below it also says which text is most like
            it. It takes six to ten times as long and changes no verdict.
    """

    requires: ClassVar[tuple[str, ...]] = ("retrieved_contexts", "reference_contexts")
    reads_texts: ClassVar[bool] = True

    min_similarity: float = field(default=0.5, metadata=NAMED)
    similarity: Measure = field(default="levenshtein", metadata=NAMED)
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
        """Return the value of two lists of texts, and for each that is counted its best match and whether it is a hit."""
        from ctxmetrics.metrics.similarity import best_matches

        cut = 0.0 if self.explain else self.min_similarity
        found, hits = self._read(best_matches(retrieved, reference, self.similarity, cut))
        return self.to_value(hits), list(zip(found, hits, strict=True))

    def values(
        self, pairs: Iterable[tuple[Sequence[str], Sequence[str]]], shared: dict[Hashable, Any]
    ) -> list[float | None]:
        """Return the values of pairs of lists; metrics that differ in the formula share the comparisons."""
        from ctxmetrics.metrics.similarity import best_matches

        if type(self).compare is not StringMetric.compare:  # a user's own
            return super().values(pairs, shared)
        k, measure, cut = self.top_k, self.similarity, self.min_similarity
        if (k, measure, cut) not in shared:
            shared[k, measure, cut] = [
                best_matches(one[:k], other, measure, cut, best=False) for one, other in pairs
            ]
        return [self.scaled(self.to_value(self._read(found)[1])) for found in shared[k, measure, cut]]

    def _read(self, matches: BestMatches) -> tuple[tuple[Match | None, ...], list[bool]]:
        """Return the match of each text that is counted, and whether it is a hit."""
        cut = self.min_similarity
        found = matches.for_references if self.counts_reference else matches.for_retrieved
        above = self.counts_reference and self.rules.strict_string_recall
        hits = [
            match is not None and (match.similarity > cut if above else match.similarity >= cut)
            for match in found
        ]
        return found, hits

    def verdicts(
        self,
        found: Sequence[tuple[Match | None, bool]],
        retrieved: Sequence[str],
        reference: Sequence[str],
    ) -> list[Verdict]:
        """Return a verdict a text that is counted, with the one that it is most like."""
        counted = reference if self.counts_reference else retrieved
        kind, others = (
            ("r", "retrieved context") if self.counts_reference else ("c", "reference context")
        )
        verdicts = []
        for number, ((match, hit), text) in enumerate(zip(found, counted, strict=True), 1):
            evidence: tuple[Evidence, ...] = ()
            if match is not None and hit:
                at = match.place if self.counts_reference else number - 1
                evidence = (Evidence(at, 0, len(retrieved[at]), retrieved[at]),)
            reason, details = _finding(match, others, self.min_similarity)
            verdicts.append(
                Verdict(
                    id=f"{kind}{number}",
                    value=hit,
                    text=text,
                    reason=reason,
                    evidence=evidence,
                    details=details,
                )
            )
        return verdicts


# Verdicts share the texts about equal matches: no match, or an equal text in this place.
@lru_cache(maxsize=1_024, typed=True)
def _finding(match: Match | None, others: str, cut: float) -> tuple[str, FrozenDict]:
    """Return the reason and the details of a verdict."""
    place, similarity = (None, None) if match is None else (match.place, match.similarity)
    reached = similarity is not None and similarity >= cut
    reason = "" if place is None else f"most like {others} {place + 1}, similarity {similarity:.3f}"
    if not reached:
        reason = f"no {others} reaches a similarity of {cut:g}" + (f"; {reason}" if reason else "")
    details = {
        "best_match": place,
        "similarity": similarity,
        "below_cutoff": not reached,
        "min_similarity": cut,
    }
    return reason, FrozenDict(details)


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
    counts_reference: ClassVar[bool] = True
    banded: ClassVar[bool] = True
    formula_name: ClassVar[str] = "share"


@dataclass(frozen=True, kw_only=True)
class NonLLMContextPrecision(TextPrecision, StringMetric):
    """Whether the retrieved contexts that resemble a reference context stand first.

    Formula: average precision over retrieved contexts whose best similarity to a reference context is at least
    ``min_similarity``. Range 0 to 1. None resembles: 0.0. Nothing retrieved: 0.0. No reference contexts: None,
    ``no_reference``.

    Source: Ragas (NonLLMContextPrecisionWithReference).
    """

    base_name: ClassVar[str] = "non_llm_context_precision"
    family: ClassVar[Family] = "string_precision"
    counts: ClassVar[tuple[str, str]] = ("context", "relevant")
