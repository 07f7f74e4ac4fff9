"""The string metrics' common part: one similarity matrix a sample, shared by recall and precision."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from ctxmetrics._frozen import frozen
from ctxmetrics.metrics.base import NAMED, Metric, check_choice, check_number
from ctxmetrics.verdicts import Evidence, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxmetrics.metrics.similarity import Match, Measure, SimilarityMatrix
    from ctxmetrics.samples import Sample
    from ctxmetrics.scores import Score


@dataclass(frozen=True, kw_only=True)
class StringMetric(Metric):
    """A metric whose verdicts come from string similarity.

    Attributes:
        min_similarity: The cut on the similarity, 0 to 1 (Ragas calls it ``threshold``).
        similarity: ``"levenshtein"``, ``"hamming"``, ``"jaro"``, ``"jaro_winkler"``, or a callable
            ``(retrieved, reference) -> float`` from 0 to 1.
    """

    requires: ClassVar[tuple[str, ...]] = ("retrieved_contexts", "reference_contexts")
    min_similarity: float = field(default=0.5, metadata=NAMED)
    similarity: Measure = field(default="levenshtein", metadata=NAMED)

    def __post_init__(self) -> None:
        from ctxmetrics.metrics.similarity import MEASURES

        super().__post_init__()
        check_number(f"{self.base_name}: min_similarity", self.min_similarity, 1.0)
        if not callable(self.similarity):
            check_choice(f"{self.base_name}: similarity", self.similarity, tuple(MEASURES))

    @property
    def needs_more(self) -> bool:
        """Whether a similarity of exactly ``min_similarity`` is too little."""
        return False

    def score(self, sample: Sample) -> Score:
        """Score one sample; see the class."""
        from ctxmetrics.metrics.similarity import passes, shared_matrix

        self.check_sample(sample)
        if (refused := self.check_texts(sample)) is not None:
            return refused
        retrieved, reference = self.top(sample.retrieved_contexts), tuple(sample.reference_contexts or ())
        empty = self.empty_side(retrieved=bool(retrieved), reference=bool(reference))
        if empty is not None:
            return self.build_empty(sample, empty, reference=bool(reference))
        matrix = shared_matrix(retrieved, reference, self.similarity, self.min_similarity)
        verdicts = []
        for number, match in enumerate(self.best(matrix), 1):
            hit = match is not None and passes(match.similarity, self.min_similarity, strict=self.needs_more)
            verdicts.append(self._verdict(number, hit, match, retrieved, reference))
        return self.build(sample, self.to_value([verdict.value is True for verdict in verdicts]), verdicts)

    async def ascore(self, sample: Sample) -> Score:
        """Score one sample; see the class."""
        return self.score(sample)

    def _verdict(
        self,
        number: int,
        hit: bool,
        match: Match | None,
        retrieved: tuple[str, ...],
        reference: tuple[str, ...],
    ) -> Verdict:
        recall = self.family == "string_recall"
        text, others = (reference, "retrieved context") if recall else (retrieved, "reference context")
        if match is None:
            reason = f"no {others} reaches a similarity of {self.min_similarity:g}"
        else:
            reason = f"most like {others} {match.index + 1}, similarity {match.similarity:.3f}"
        evidence: tuple[Evidence, ...] = ()
        if hit and match is not None:
            found = match.index if recall else number - 1
            evidence = (Evidence(found, 0, len(retrieved[found]), retrieved[found]),)
        return Verdict(
            id=f"{'r' if recall else 'c'}{number}",
            value=hit,
            text=text[number - 1],
            reason=reason,
            evidence=evidence,
            details=frozen(
                {
                    "best_match": match.index if match else None,
                    "similarity": match.similarity if match else None,
                    "below_cutoff": match is None,
                    "min_similarity": self.min_similarity,
                }
            ),
        )

    def best(self, matrix: SimilarityMatrix) -> Sequence[Match | None]:
        """Return the best match and its similarity for each item that is counted."""
        raise NotImplementedError

    def to_value(self, verdicts: Sequence[bool]) -> float | None:
        """Apply the formula."""
        raise NotImplementedError
