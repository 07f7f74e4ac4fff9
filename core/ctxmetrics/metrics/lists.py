"""Metrics that compare two lists: what was retrieved, and what should have been."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

from ctxmetrics._internal.frozen import EMPTY
from ctxmetrics.metrics.base import Metric
from ctxmetrics.samples.pictures import find_picture, find_placeholder
from ctxmetrics.samples.sample import Sample
from ctxmetrics.scores.score import Score
from ctxmetrics.verdicts import Verdict


@dataclass(frozen=True, kw_only=True)
class ListMetric(Metric):
    """A metric that compares two lists: the retrieved items, and the items that should have been retrieved."""

    # Whether the lists hold texts; no picture may stand among these.
    reads_texts: ClassVar[bool] = False
    # Whether there is a verdict for each item of the reference; else there is one for each retrieved item, in rank order.
    counts_reference: ClassVar[bool] = False
    # Whether `read_lists` reads the grades in a sample's labels. A sample without labels is read as by any other metric of lists.
    reads_grades: ClassVar[bool] = False

    def score(self, sample: Sample) -> Score:
        """Score one sample; see the class. The verdicts are made when they are first read."""
        out_of_scope = self.check_scope(sample)
        if out_of_scope is not None:
            return out_of_scope
        self.check_sample(sample)
        if self.reads_texts:
            score_without_text = self.check_texts(sample)
            if score_without_text is not None:
                return score_without_text
        retrieved, reference = self.read_lists(sample)
        score_of_empty_side = self.score_empty_side(
            sample, retrieved=bool(retrieved), reference=bool(reference)
        )
        if score_of_empty_side is not None:
            return score_of_empty_side
        value, hits = self.compare(retrieved, reference)
        verdicts = _DeferredVerdicts(self, tuple(hits), retrieved, reference)
        metadata, notes = self.describe_lists(sample, retrieved, reference, hits)
        tie_metadata = self.measure_ties(sample, reference)
        if tie_metadata:
            metadata = {**metadata, **tie_metadata}
        return self.make_score(sample, value, verdicts, metadata=metadata, notes=notes)

    def describe_lists(
        self,
        sample: Sample,  # noqa: ARG002 - other metrics read these
        retrieved: Sequence[Any],  # noqa: ARG002 - see sample
        reference: Any,  # noqa: ARG002 - see sample
        hits: Sequence[Any],  # noqa: ARG002 - see sample
    ) -> tuple[Mapping[str, Any], Sequence[str]]:
        """Return metadata of the score, and notes: for example that a repeated item counts once."""
        return EMPTY, ()

    def measure_ties(self, sample: Sample, reference: Any) -> Mapping[str, Any] | None:  # noqa: ARG002 - ids have ties
        """Measure how much the order of equal scores moves the value; None if this order moves nothing."""
        return None

    def can_compare(self, lists: Iterable[Iterable[Any]]) -> bool:
        """Return whether no list holds a picture or a placeholder where the metric reads text; see `check_texts`."""
        if not self.reads_texts:
            return True
        for text in chain.from_iterable(lists):
            if find_picture(text, is_list_item=True) or find_placeholder(text):
                return False
        return True

    def read_lists(self, sample: Sample) -> tuple[Sequence[Any], Iterable[Any]]:
        """Return the two lists: the first k retrieved items, and the reference without empty ids, which expect nothing."""
        retrieved_field, reference_field = self.requires
        retrieved = getattr(sample, retrieved_field)
        reference = getattr(sample, reference_field)
        if not self.reads_texts and "" in reference:
            reference = tuple(filter(None, reference))
        return retrieved[: self.top_k], reference

    @abstractmethod
    def compare(self, retrieved: Sequence[Any], reference: Any) -> tuple[float | None, Sequence[Any]]:
        """Return the value (0 to 1) of two lists that are not empty, and the data of each verdict."""

    def compute_values(
        self,
        pairs: Sequence[tuple[Sequence[Any], Any]],
        shared: dict[Hashable, Any],  # noqa: ARG002 - the metrics over strings read it
    ) -> list[float | None]:
        """Compute the value of each pair of lists, on the scale of the convention. No list is empty or holds a picture.

        Args:
            pairs: The retrieved and the reference list of each sample.
            shared: Results that other metrics have computed for the same pairs.
        """
        values = []
        for retrieved, reference in pairs:
            value, _ = self.compare(retrieved[: self.top_k], reference)
            values.append(self.to_convention_scale(value))
        return values

    @abstractmethod
    def build_verdicts(self, hits: Any, retrieved: Sequence[Any], reference: Any) -> Sequence[Verdict]:
        """Build the verdicts from what `compare` returned beside the value."""

    @property
    def has_plain_verdicts(self) -> bool:
        """Whether each verdict is an id and a hit or no hit, and nothing else."""
        return False


def list_distinct_ids(ids: Iterable[str]) -> list[str]:
    """Drop the repetitions of each id: ``["a", "b", "a"]`` becomes ``["a", "b"]``. An empty id stays: it is no id."""
    keys = dict.fromkeys(ids)
    if "" not in keys:  # the usual case
        return [*keys]
    earlier_ids: set[str] = set()
    distinct: list[str] = []
    for id_ in ids:
        is_empty = not id_
        if is_empty or id_ not in earlier_ids:
            earlier_ids.add(id_)
            distinct.append(id_)
    return distinct


@dataclass(frozen=True, slots=True)
class _DeferredVerdicts:
    """The data from which the verdicts of a score are built when the caller first reads them. It takes a tenth of their memory."""

    metric: ListMetric
    hits: Sequence[Any]
    retrieved: Sequence[Any]
    reference: Any

    def __len__(self) -> int:
        return len(self.hits)

    def __call__(self) -> Sequence[Verdict]:
        return self.metric.build_verdicts(self.hits, self.retrieved, self.reference)

    def to_dicts(self) -> list[dict[str, Any]] | None:
        """Return the verdicts as plain data without building them, if each is an id and a value; else None."""
        if not self.metric.has_plain_verdicts:
            return None
        ids = self.reference if self.metric.counts_reference else self.retrieved
        pairs = zip(list_distinct_ids(ids), self.hits, strict=True)
        return [{"id": id_, "value": hit} for id_, hit in pairs]
