"""A row of a run: one sample and its scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from ctxmetrics.evaluation.pages import render
from ctxmetrics.evaluation.pages.phrases import say
from ctxmetrics.evaluation.rows.sample_view import build_sample_view
from ctxmetrics.samples.sample import Sample
from ctxmetrics.scores.score import Score
from ctxmetrics.scores.wording import find_language

# The sample of a row that has none.
_EMPTY_SAMPLE = Sample()


@dataclass(frozen=True, slots=True)
class Row(Mapping[str, Score]):
    """One sample and its scores: ``row.sample``, ``row["context_recall"]``.

    Attributes:
        index: Position of the sample in the input, from 0.
        sample: The sample; None in a run with ``out=``, which keeps values and reason codes only.
        sample_id: The sample's id, if it has one.
        scores: The scores, one a metric.
        record: Of a row that was read from a file: what the file says about the sample, with the hashes of its texts.
    """

    index: int
    sample: Sample | None
    sample_id: str | None
    scores: tuple[Score, ...]
    record: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        """The sample's id, else its number."""
        return self.sample_id or str(self.index + 1)

    @property
    def fields(self) -> Sample:
        """The sample, or a sample without fields if the row has none."""
        return self.sample or _EMPTY_SAMPLE

    def called(self, language: str = "en") -> str:
        """Return the sample's id, else its number in words."""
        return self.sample_id or f"{say('sample', language)} {self.name}"

    def __getitem__(self, metric: str) -> Score:
        for score in self.scores:
            if score.metric == metric:
                return score
        raise KeyError(f"{metric!r}; this run has: {', '.join(self)}")

    def __iter__(self) -> Iterator[str]:
        return (score.metric for score in self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    def _repr_html_(self) -> str:
        language = find_language(score.provenance.convention for score in self.values())
        question = self.fields.user_input
        # The ids of elements differ from those of other rows in the same notebook.
        identity = repr((self.sample_id, question)).encode()
        return render(
            "row.html",
            name=self.called(language),
            question=question,
            view=build_sample_view(self.sample, self),
            prefix=f"r{crc32(identity):x}",
            language=language,
        )
