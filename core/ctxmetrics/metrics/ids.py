"""Metrics over ids: recall and precision, and the rank metrics of information retrieval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

from ctxmetrics._internal.frozen import EMPTY
from ctxmetrics.errors import SampleError
from ctxmetrics.formulas import average_precision, hit_rate, ndcg, precision_at_k, reciprocal_rank
from ctxmetrics.metrics.base import IN_METRIC_NAME, Formula, in_metric_name
from ctxmetrics.metrics.lists import ListMetric, list_distinct_ids
from ctxmetrics.samples.documents import as_list, whole_number
from ctxmetrics.samples.field_keys import TIES
from ctxmetrics.samples.sample import Sample
from ctxmetrics.samples.schema import join_first
from ctxmetrics.scores.conventions import Family
from ctxmetrics.text.character_spans import is_visible
from ctxmetrics.text.repeats import find_repeats
from ctxmetrics.verdicts import Verdict

__all__ = [
    "IDBasedAveragePrecision",
    "IDBasedCompleteness",
    "IDBasedContextPrecision",
    "IDBasedContextRecall",
    "IDBasedHitRate",
    "IDBasedNDCG",
    "IDBasedPrecisionAtK",
    "IDBasedRecallAtK",
    "IDBasedReciprocalRank",
    "IDMetric",
]

# The highest grade. A larger number is not a grade, but probably an id or a time.
_MAX_GRADE = 1e9
# The words that stand for a missing id when a table was written as text.
_WORDS_FOR_MISSING = frozenset({"nan", "NaN", "None", "null", "<NA>", "NaT", "NULL"})


@dataclass(frozen=True, kw_only=True)
class IDMetric(
    ListMetric,
    requires=("retrieved_context_ids", "reference_context_ids"),
    counted_words=("retrieved id", "relevant"),
):
    """A metric that compares the retrieved ids with the reference ids.

    Ids are compared as strings: ``1`` and ``"1"`` are one id. ``top_k`` cuts the list first. Then a repeated id counts once, at its
    first rank, and the ids below it move up. An empty or missing id keeps its rank and is not relevant. An empty reference id is
    left out.
    """

    family: ClassVar[Family] = "id_recall"

    def compare(
        self, retrieved: Sequence[str], reference: Iterable[str]
    ) -> tuple[float | None, Sequence[bool]]:
        """Return the value of two lists of ids that are not empty, and for each counted id whether it is a hit."""
        # Recall looks for each reference id among the retrieved ids; precision does the opposite.
        counted_ids: Iterable[str] = reference if self.counts_reference else retrieved
        other_ids = {*retrieved} if self.counts_reference else {*reference}
        other_ids.discard("")  # an empty id names nothing: two empty ids are not equal
        hits = [id_ in other_ids for id_ in list_distinct_ids(counted_ids)]
        return self.to_value(hits), hits

    def describe_lists(
        self,
        sample: Sample,
        retrieved: Sequence[str],
        reference: Any,
        hits: Sequence[Any],  # noqa: ARG002 - only the metrics of texts read the hits
    ) -> tuple[Mapping[str, Any], Sequence[str]]:
        """Describe empty ids, repeated ids, and texts that repeat under another id."""
        return EMPTY, describe_ids(sample, retrieved, reference, ranked=not self.counts_reference)

    def measure_ties(self, sample: Sample, reference: Any) -> Mapping[str, Any] | None:
        """Return the lowest and the highest value over all orders of ids that were retrieved with equal scores."""
        ties = sample.metadata.get(TIES)
        if not isinstance(ties, (list, tuple)):
            return None
        grades = reference if isinstance(reference, Mapping) else dict.fromkeys(reference, 1.0)
        retrieved = sample.retrieved_context_ids or ()
        # In the worst order, the relevant ids of each tie stand last; in the best order, they stand first.
        worst_order = _order_ties(retrieved, ties, grades, best_first=False)
        best_order = _order_ties(retrieved, ties, grades, best_first=True)
        lowest, _ = self.compare(worst_order[: self.top_k], reference)
        highest, _ = self.compare(best_order[: self.top_k], reference)
        lowest_value = self.to_convention_scale(lowest)
        highest_value = self.to_convention_scale(highest)
        if lowest_value == highest_value:
            return None
        return {"tie_range": (lowest_value, highest_value)}

    def build_verdicts(
        self, hits: Sequence[bool], retrieved: Sequence[str], reference: Iterable[str]
    ) -> list[Verdict]:
        """Return one verdict for each id that is counted."""
        counted_ids = reference if self.counts_reference else retrieved
        pairs = zip(list_distinct_ids(counted_ids), hits, strict=False)
        return [_build_verdict(id_, hit) for id_, hit in pairs]

    @property
    def has_plain_verdicts(self) -> bool:
        """Whether each verdict is an id and a hit or no hit. A subclass with its own `build_verdicts` may say more."""
        return type(self).build_verdicts is IDMetric.build_verdicts


@dataclass(frozen=True, kw_only=True)
class IDBasedContextRecall(IDMetric, counted_words=("reference id", "retrieved")):
    """The share of the reference ids that were retrieved.

    Formula: |retrieved and reference| / |reference|, as sets. Range 0 to 1. Nothing retrieved: 0.0. No reference ids:
    None, ``no_reference``.

    Source: Ragas (IDBasedContextRecall); recall at k of information retrieval with ``top_k``.
    """

    base_name: ClassVar[str] = "id_based_context_recall"
    runs_by_default: ClassVar[bool] = True
    formula_name = "share"
    counts_reference: ClassVar[bool] = True
    needs_single_ranking: ClassVar[bool] = False
    has_bands: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class IDBasedContextPrecision(IDMetric):
    """How many of the retrieved ids are reference ids, or how early they stand.

    Formula: ``"share"`` |retrieved and reference| / |retrieved|, as sets (the order does not matter);
    ``"average_precision"`` over the ranked ids. Range 0 to 1. Nothing retrieved: 0.0 (``ragas``: None). No reference
    ids: None, ``no_reference`` (``ragas``: 0.0).

    Attributes:
        formula: ``"share"``, or ``"average_precision"`` for the order of the ids.

    Source: Ragas (IDBasedContextPrecision).
    """

    base_name: ClassVar[str] = "id_based_context_precision"
    runs_by_default: ClassVar[bool] = True
    family: ClassVar[Family] = "id_precision"
    formula_name = "share"

    formula: Formula = field(default="share", metadata=in_metric_name(choices=Formula))


@dataclass(frozen=True, kw_only=True)
class IDBasedNDCG(IDMetric):
    """Normalised discounted cumulative gain of the ranked ids, graded if the sample has grades.

    Formula: DCG of the first k / DCG of the best order, with DCG = sum(grade / log2(rank + 1)). A
    reference id has the grade 1, or what ``labels["relevance"]`` says. That is a row of qrels: a
    mapping from ids to grades, above 0 for reference ids; the records of frameworks have none. Range 0
    to 1. Nothing retrieved: 0.0. No reference ids: None, ``no_reference``. Source: Järvelin and
    Kekäläinen 2002; ``ndcg_cut_k`` of trec_eval.
    """

    base_name: ClassVar[str] = "id_based_ndcg"
    reads_grades: ClassVar[bool] = True
    formula_name = "ndcg"

    def read_lists(self, sample: Sample) -> tuple[Sequence[str], Iterable[str]]:
        """Return the retrieved ids, and the grades of the reference ids."""
        retrieved, reference = super().read_lists(sample)
        if retrieved and reference:
            return retrieved, read_grades(sample.labels, reference, sample_name=sample.called())
        return retrieved, reference

    def compare(
        self, retrieved: Sequence[str], reference: Iterable[str]
    ) -> tuple[float | None, Sequence[bool]]:
        """Divide the gain of the grades in rank order by the gain of their best order.

        Reference ids without grades have the grade 1.
        """
        grades = reference if isinstance(reference, Mapping) else dict.fromkeys(reference, 1.0)
        gains = [grades.get(id_, 0.0) for id_ in list_distinct_ids(retrieved)]
        hits = [gain > 0 for gain in gains]
        return ndcg(gains, list(grades.values()), self.top_k), hits


@dataclass(frozen=True, kw_only=True)
class IDBasedAveragePrecision(IDMetric):
    """Average precision over all reference ids, as information retrieval has it: an id that was not retrieved counts.

    Formula: the sum of precision at the rank of each retrieved reference id / all reference ids. Range
    0 to 1. Nothing retrieved: 0.0. No reference ids: None, ``no_reference``. Its mean over samples is
    the MAP. `IDBasedContextPrecision` with ``formula="average_precision"`` divides by the *retrieved*
    reference ids. Source: ``map`` of trec_eval.
    """

    base_name: ClassVar[str] = "id_based_average_precision"
    formula_name = "average_precision_over_all"

    def compare(
        self, retrieved: Sequence[str], reference: Iterable[str]
    ) -> tuple[float | None, Sequence[bool]]:
        """Divide by all reference ids."""
        _, hits = super().compare(retrieved, reference)
        reference_ids = {*reference}
        reference_ids.discard("")
        return average_precision(hits, relevant_in_all=len(reference_ids)), hits


@dataclass(frozen=True, kw_only=True)
class IDBasedReciprocalRank(IDMetric):
    """One over the rank of the first reference id that was retrieved.

    Formula: 1 / rank. Range 0 to 1; 0.0 if no reference id was retrieved. No reference ids: None, ``no_reference``.
    Source: ``recip_rank`` of trec_eval.
    """

    base_name: ClassVar[str] = "id_based_reciprocal_rank"
    formula_name = "reciprocal_rank"

    def to_value(self, hits: Sequence[bool]) -> float:
        """1 / rank of the first relevant id."""
        return reciprocal_rank(hits)


@dataclass(frozen=True, kw_only=True)
class IDBasedHitRate(IDMetric):
    """Whether any retrieved id is a reference id: 1.0 or 0.0.

    Nothing retrieved: 0.0. No reference ids: None, ``no_reference``. Source: ``success_k`` of trec_eval.
    """

    base_name: ClassVar[str] = "id_based_hit_rate"
    needs_single_ranking: ClassVar[bool] = False
    formula_name = "hit_rate"

    def to_value(self, hits: Sequence[bool]) -> float:
        """1.0 if any id is relevant, else 0.0."""
        return hit_rate(hits)


@dataclass(frozen=True, kw_only=True)
class IDBasedPrecisionAtK(IDMetric):
    """The number of reference ids among the first k, divided by k, even if fewer were retrieved.

    Range 0 to 1; k is ``top_k``. Nothing retrieved: 0.0. No reference ids: None, ``no_reference``. Source:
    ``P_k`` of trec_eval.
    """

    base_name: ClassVar[str] = "id_based_precision_at_k"
    formula_name = "precision_at_k"

    top_k: int = field(default=10, metadata=IN_METRIC_NAME)

    def to_value(self, hits: Sequence[bool]) -> float | None:
        """The number of relevant ids among the first k, divided by k."""
        return precision_at_k(hits, self.top_k)


@dataclass(frozen=True, kw_only=True)
class IDBasedRecallAtK(IDBasedContextRecall):
    """Reference ids among the first k / all reference ids.

    Range 0 to 1; k is ``top_k``. Nothing retrieved: 0.0. No reference ids: None, ``no_reference``. Source:
    ``recall_k`` of trec_eval.
    """

    base_name: ClassVar[str] = "id_based_recall_at_k"
    runs_by_default: ClassVar[bool] = False
    has_bands: ClassVar[bool] = False

    top_k: int = field(default=10, metadata=IN_METRIC_NAME)


@dataclass(frozen=True, kw_only=True)
class IDBasedCompleteness(IDBasedContextRecall):
    """Whether every reference id was retrieved: 1.0 or 0.0. The mean is the share of questions whose evidence is complete.

    Nothing retrieved: 0.0. No reference ids: None, ``no_reference``. Source: *all evidence, not any*, as questions over
    several hops need it (recall_all of LongMemEval).
    """

    base_name: ClassVar[str] = "id_based_completeness"
    runs_by_default: ClassVar[bool] = False
    formula_name = "completeness"
    has_bands: ClassVar[bool] = False

    def to_value(self, hits: Sequence[bool]) -> float:
        """1.0 if every reference id is among the retrieved ones, else 0.0."""
        return float(all(hits))


def describe_ids(
    sample: Sample, retrieved: Sequence[str], reference: Iterable[str], *, ranked: bool
) -> list[str]:
    """Describe in sentences the empty ids, the repeated ids, and the ids of equal texts.

    Args:
        sample: The sample.
        retrieved: The retrieved ids that count.
        reference: The reference ids that count.
        ranked: Whether the metric counts the retrieved ids, so that a repeated one matters.
    """
    notes: list[str] = []
    all_reference_ids = sample.reference_context_ids or ()
    distinct_retrieved = {*retrieved}
    texts = (sample.retrieved_contexts or ())[: len(retrieved)]
    has_repeated_id = len(distinct_retrieved) < len(retrieved)
    has_repeated_text = len({*texts}) < len(texts)
    has_empty_id = "" in distinct_retrieved or "" in all_reference_ids
    may_miss_id = not _WORDS_FOR_MISSING.isdisjoint(distinct_retrieved)
    if not (has_repeated_id or has_repeated_text or has_empty_id or may_miss_id):
        return notes  # the usual case
    if "" in all_reference_ids:
        empty_count = all_reference_ids.count("")
        notes.append(
            f"{empty_count} of {len(all_reference_ids)} reference ids are empty and expect nothing"
        )
    if "" in retrieved:
        empty_count = retrieved.count("")
        notes.append(
            f"{empty_count} of {len(retrieved)} retrieved ids are empty: they keep their ranks and are not relevant"
        )
    words_on_both_sides = _WORDS_FOR_MISSING.intersection(retrieved).intersection(reference)
    if words_on_both_sides:
        notes.append(
            f"the id {min(words_on_both_sides)!r} is on both sides; it counts as an id: write null for a missing one"
        )
    if ranked:
        notes += _describe_repeats(retrieved, texts)
    return notes


def _describe_repeats(retrieved: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Describe ids that were retrieved twice, and equal texts with different ids."""
    notes: list[str] = []
    repetitions = len(retrieved) - len(list_distinct_ids(retrieved))
    has_text_for_each_id = len(texts) == len(retrieved)
    if repetitions:
        counts = Counter(filter(None, retrieved))
        repeated_ids = [id_ for id_, count in counts.items() if count > 1]
        first_repeated = join_first(repeated_ids, most=5)
        note = f"{repetitions} of {len(retrieved)} retrieved ids repeat one above ({first_repeated})"
        note += ": a repeated id counts once, at its first rank"
        if has_text_for_each_id:
            distinct_pairs = {*zip(retrieved, texts, strict=True)}
            # With one text for each id, there would be no more pairs than ids.
            if len(distinct_pairs) > len(counts) + retrieved.count(""):
                note += ", also with another text"
        notes.append(note)
    equal_contexts = []
    has_repeated_text = len({*texts}) < len(texts)
    if has_text_for_each_id and has_repeated_text:
        for index, first_index in find_repeats(texts).items():
            if retrieved[index] != retrieved[first_index]:
                equal_contexts.append(f"c{index + 1} = c{first_index + 1}")
    if equal_contexts:
        notes.append(
            f"equal texts have different ids ({join_first(equal_contexts, most=5)}): ids are compared, so each id counts"
        )
    return notes


def _order_ties(
    ids: Sequence[str], ties: Iterable[Any], grades: Mapping[str, float], *, best_first: bool
) -> list[str]:
    """Reorder the ids of each tie (ids that were retrieved with equal scores): the most relevant first, or last."""
    tie_by_id: dict[str, int] = {}
    for number, tie in enumerate(ties):
        if isinstance(tie, (list, tuple)):
            tie_by_id.update((str(id_), number) for id_ in tie)
    indexes_by_tie: dict[int, list[int]] = {}
    for index, id_ in enumerate(ids):
        if id_ in tie_by_id:
            indexes_by_tie.setdefault(tie_by_id[id_], []).append(index)
    ordered_ids = [*ids]
    # The ids of one tie take the places of that tie in another order. All other ids keep their places.
    for indexes in indexes_by_tie.values():
        ids_by_grade = [ids[index] for index in indexes]
        ids_by_grade.sort(key=lambda id_: grades.get(id_, 0.0), reverse=best_first)
        for index, id_ in zip(indexes, ids_by_grade, strict=True):
            ordered_ids[index] = id_
    return ordered_ids


# Samples with the same id share its verdict, which takes less memory.
@lru_cache(maxsize=1 << 15)
def _build_verdict(id_: str, hit: bool) -> Verdict:
    """Build the verdict about an id."""
    return Verdict(id=id_, value=hit, text=id_)


def read_grades(
    labels: Mapping[str, Any], reference: Iterable[str], *, sample_name: str
) -> dict[str, float]:
    """Return the grade of each reference id; 1 if the labels have no grade of the id, or null.

    Args:
        labels: The labels of a sample.
        reference: The reference ids of the sample.
        sample_name: The name of the sample in error messages.

    Raises:
        SampleError: The label is not a mapping, a grade is not a number, or a grade contradicts the reference ids.
    """
    relevance = labels.get("relevance") or {}
    if not isinstance(relevance, Mapping):
        raise SampleError(
            f"{sample_name}: labels['relevance'] must map ids to grades, such as {{'doc1': 3, 'doc2': 1}}."
        )
    grades = dict.fromkeys(reference, 1.0)
    for id_, grade in relevance.items():
        if (
            grade is None
        ):  # a column of Arrow gives each row the ids of all rows, without a value for most of them
            continue
        id_text = str(whole_number(id_))
        if not is_visible(id_text):  # white space is not an id
            continue
        grade = as_list(grade)  # noqa: PLW2901 - a number of NumPy becomes one of Python
        is_number = isinstance(grade, (int, float)) and not isinstance(grade, bool)
        is_in_range = is_number and 0 <= grade <= _MAX_GRADE
        is_reference_id = id_text in grades
        if not is_in_range or (grade > 0) != is_reference_id:
            described_grade = str(grade)[:80]
            if is_number and grade > _MAX_GRADE:
                described_grade = f"above {_MAX_GRADE:,.0f}"
            raise SampleError(
                f"{sample_name}: labels['relevance'] gives {id_text[:80]!r} the grade {described_grade}. "
                "Write a number above 0 for each reference id, and 0 for any other id."
            )
        if grade > 0:
            grades[id_text] = float(grade)
    return grades
