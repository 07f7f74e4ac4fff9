"""What retrievers return for questions without an answer, for which nothing is right, and the effect of a threshold."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean
from typing import ClassVar

from ctxmetrics._internal.frozen import Plain
from ctxmetrics.evaluation.retrievers.pooled_judge import rates_without_answer
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.runs.results import Results
from ctxmetrics.judges.base import Judge, JudgeRequest
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.judged import ContextPrecision
from ctxmetrics.metrics.judging import JudgedMetric
from ctxmetrics.models.runtime.background import run_sync
from ctxmetrics.models.runtime.run import breaker_scope
from ctxmetrics.samples.sample import Sample
from ctxmetrics.scores.conventions import Family, get_convention
from ctxmetrics.scores.score import FAILURES, Score
from ctxmetrics.text.languages import detect_language
from ctxmetrics.verdicts import Verdict

# The share of the recall that a threshold keeps, unless the caller asks for another share.
DEFAULT_KEPT_SHARE = 0.95
# The maximum number of thresholds of a curve.
_MAX_CURVE_POINTS = 60
# A recall that is lower by at most this difference counts as kept, since floats are rounded.
_ROUNDING_ERROR = 1e-12


@dataclass(frozen=True, slots=True)
class ThresholdPoint(Plain):
    """The effect of one threshold.

    Attributes:
        threshold: Contexts with at least this score are kept. If the scores are distances: with at most this distance.
        recall: Mean recall of the questions with an answer, from 0 to 1.
        empty: How many questions without an answer come back empty.
    """

    threshold: float
    recall: float
    empty: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnedNothing(Plain):
    """What one setting returned for the questions without an answer. It is no part of recall or precision.

    Attributes:
        questions: How many questions without an answer there are; calls that failed are left out.
        empty: For how many of them it returned nothing.
        useless: For how many it returned nothing, or nothing that the judge calls useful for answering the question; None
            where no judge was asked.
        unjudged: For how many the judge's verdicts leave this open.
        metric: The recall of the questions with an answer; None if there is none.
        recall: The mean recall, from 0 to 1; None if there is none.
        keep: The share of the recall that `threshold` keeps.
        threshold: The strictest threshold that keeps so much; None if results carry no scores.
        points: Thresholds, each stricter than the one before; empty if results carry no scores.
        lower_is_better: Whether the scores are distances: they rise along the lists.
    """

    questions: int
    empty: int
    useless: int | None
    unjudged: int
    metric: str | None
    recall: float | None
    keep: float
    threshold: ThresholdPoint | None
    points: tuple[ThresholdPoint, ...]
    lower_is_better: bool = False


@dataclass(frozen=True, kw_only=True)
class ContextRelevance(
    Metric,
    requires=("user_input", "retrieved_contexts"),
    counted_words=("context", "useful"),  # the noun for a verdict, and what a yes says
):
    """Asks a judge which contexts answer a question whose answer is not known.

    The metric is internal: only its verdicts are read, and its score never has a value.

    Attributes:
        judge: The judge. It must be able to rate contexts without an answer: see `rates_without_answer`.
    """

    base_name: ClassVar[str] = "context_relevance"
    family: ClassVar[Family] = "precision"
    formula_name = "share"

    judge: Judge

    def score(self, sample: Sample) -> Score:
        """Score one sample. See `Metric.score`."""
        return run_sync(self.ascore, sample)

    async def ascore(self, sample: Sample) -> Score:
        """Ask about the contexts of a question that has no answer. A question with an answer gets no verdicts."""
        contexts = (sample.retrieved_contexts or ())[: self.top_k]
        if not sample.unanswerable or not contexts:
            return self.make_score(sample, None, reason_code="missing_field")
        request = JudgeRequest(
            units=(),
            contexts=contexts,
            answer="",
            user_input=sample.user_input,
            language=detect_language(sample.user_input or ""),
        )
        rating = ContextPrecision(judge=self.judge)
        with breaker_scope(self):
            judgement = await rating.ask(self.judge, request)
        return self.make_score(
            sample, None, judgement.verdicts, reason_code="unanswerable", usage=judgement.usage
        )


def choose_relevance(metrics: Sequence[Metric], questions: Iterable[Sample]) -> ContextRelevance | None:
    """Choose the judge of questions without an answer: the first judge that can judge them.

    Return None if no judge can, or there is no such question.
    """
    if not any(question.unanswerable for question in questions):
        return None
    for metric in metrics:
        judge = metric.own_judge if isinstance(metric, JudgedMetric) else None
        if judge is not None and rates_without_answer(judge):
            return ContextRelevance(judge=judge, top_k=metric.top_k)
    return None


def _split_questions(results: Results, metric: str | None) -> tuple[list[int], list[int]]:
    """Return the indexes of the questions without an answer, and of the questions with an answer whose recall is known."""
    unanswerable: list[int] = []
    answerable: list[int] = []
    for index, row in enumerate(results):
        codes = {score.reason_code for score in row.scores}
        has_failed = not codes.isdisjoint(FAILURES | {"cancelled"})
        if has_failed:
            continue
        if row.fields.unanswerable:
            unanswerable.append(index)
        elif metric is not None and row[metric].value is not None:
            answerable.append(index)
    return unanswerable, answerable


def measure_returned_nothing(
    results: Results,
    scores: Sequence[Sequence[float] | None],
    relevance: Sequence[Score | None],
    metric: str | None,
    keep: float,
) -> ReturnedNothing | None:
    """Measure how often one setting of a retriever returns nothing for the questions without an answer.

    Return None if there is no such question.

    Args:
        results: The results of the setting: a row for each question.
        scores: For each question the scores that the retriever gave its contexts; None if it gave none.
        relevance: For each question the judge's verdicts about its contexts; empty if no judge was asked.
        metric: The name of the recall whose units are looked for above a threshold.
        keep: The share of the recall that a threshold must keep.
    """
    unanswerable, answerable = _split_questions(results, metric)
    if not unanswerable:
        return None
    context_counts = [_count_contexts(results[index]) for index in unanswerable]
    useless_count = None
    unjudged_count = 0
    if relevance:
        are_useless = [_is_useless(results[index], relevance[index]) for index in unanswerable]
        useless_count = are_useless.count(True)
        unjudged_count = are_useless.count(None)
    recalls: list[float] = []
    if metric is not None:
        recalls = [_to_share(results[index][metric]) for index in answerable]
    # A threshold can be drawn only if the retriever gave a score to every context.
    curve: _ThresholdCurve | None = None
    lack_scores = any(
        scores[index] is None and _count_contexts(results[index])
        for index in (*unanswerable, *answerable)
    )
    if metric is not None and recalls and not lack_scores:
        curve = _ThresholdCurve(results, scores, unanswerable, answerable, metric)
    return ReturnedNothing(
        questions=len(unanswerable),
        empty=context_counts.count(0),
        useless=useless_count,
        unjudged=unjudged_count,
        metric=metric,
        recall=fmean(recalls) if recalls else None,
        keep=keep,
        threshold=curve.find_strictest(keep) if curve else None,
        points=curve.list_points() if curve else (),
        lower_is_better=bool(curve and curve.sign < 0),
    )


class _ThresholdCurve:
    """The curve over a threshold: the recall and the empty results of a setting without the contexts below the threshold.

    Args:
        results: The results of the setting.
        scores: For each question, the scores of its contexts.
        unanswerable: The indexes of the questions without an answer.
        answerable: The indexes of the questions with an answer.
        metric: The recall.

    Attributes:
        sign: -1 if the scores are distances, so that a lower score is better; else 1.
    """

    def __init__(
        self,
        results: Results,
        scores: Sequence[Sequence[float] | None],
        unanswerable: Sequence[int],
        answerable: Sequence[int],
        metric: str,
    ) -> None:
        self._results = results
        self._unanswerable = unanswerable
        self._answerable = answerable
        self._metric = metric
        self.sign = -1 if _are_distances(scores) else 1
        # The scores of each question's contexts, by the question's index. A higher score is better.
        self._scores: dict[int, list[float]] = {}
        for index in (*unanswerable, *answerable):
            self._scores[index] = [self.sign * score for score in scores[index] or ()]
        # The most lenient threshold stands first.
        self._thresholds = sorted(set(chain.from_iterable(self._scores.values())))

    def list_points(self) -> tuple[ThresholdPoint, ...]:
        """List a point for each score that occurs. If there are too many scores, list evenly spaced points."""
        thresholds = self._thresholds
        if len(thresholds) > _MAX_CURVE_POINTS:
            step = (len(thresholds) - 1) / (_MAX_CURVE_POINTS - 1)
            thresholds = [thresholds[round(number * step)] for number in range(_MAX_CURVE_POINTS)]
        return tuple(map(self._measure, thresholds))

    def find_strictest(self, keep: float) -> ThresholdPoint | None:
        """Find the strictest threshold that keeps a share of the recall. Return None if there is no score.

        A stricter threshold never has more recall, so that half of them is left out at each step.
        """
        if not self._thresholds:
            return None
        smallest_recall = keep * self._measure(self._thresholds[0]).recall - _ROUNDING_ERROR

        def loses_too_much(threshold: float) -> bool:
            """Tell whether a threshold keeps less recall than asked for."""
            return self._measure(threshold).recall < smallest_recall

        first_too_strict = bisect_left(self._thresholds, True, key=loses_too_much)
        return self._measure(self._thresholds[first_too_strict - 1])

    def _measure(self, threshold: float) -> ThresholdPoint:
        """Measure the recall and the empty results if only the contexts above a threshold are kept."""
        recalls: list[float] = []
        for index in self._answerable:
            kept_ranks = self._find_kept(index, threshold)
            recalls.append(_recall_within(self._results[index], self._metric, kept_ranks))
        empty_count = 0
        for index in self._unanswerable:
            if not self._find_kept(index, threshold):
                empty_count += 1
        return ThresholdPoint(self.sign * threshold, fmean(recalls), empty_count)

    def _find_kept(self, index: int, threshold: float) -> set[int]:
        """Find the contexts that a threshold keeps for a question. Return their ranks, from 0."""
        return {rank for rank, score in enumerate(self._scores[index]) if score >= threshold}


def _are_distances(scores: Sequence[Sequence[float] | None]) -> bool:
    """Tell whether scores are distances: they rise along the lists, so that a higher one is worse."""
    score_lists = [scores_of_question for scores_of_question in scores if scores_of_question]
    some_rise = any(score_list[0] < score_list[-1] for score_list in score_lists)
    some_fall = any(score_list[0] > score_list[-1] for score_list in score_lists)
    return some_rise and not some_fall


def _count_contexts(row: Row) -> int:
    """Count the contexts that were retrieved for the question of a row."""
    return len(row.fields.retrieved_contexts or row.fields.retrieved_context_ids or ())


def _is_useless(row: Row, relevance: Score | None) -> bool | None:
    """Tell whether nothing was retrieved that the judge calls useful. Return None if its verdicts leave that open."""
    if not _count_contexts(row):
        return True
    verdicts = () if relevance is None else relevance.verdicts
    values = {verdict.value for verdict in verdicts}
    if True in values:
        return False
    all_are_no = values == {False}
    return True if all_are_no else None


def _to_share(score: Score) -> float:
    """Return a score on the scale from 0 to 1."""
    return (score.value or 0.0) / get_convention(score.provenance.convention).scale


def _recall_within(row: Row, metric: str, kept_ranks: Collection[int]) -> float:
    """Return the recall of some of the contexts, by the evidence for all contexts. It is 0 if nothing was judged.

    A supported unit stays supported in two cases:

    - a context that states the whole unit is kept;
    - no context states the whole unit, and all contexts that state a part of it are kept.

    An expected id is found if its context is kept.
    """
    verdicts = row[metric].verdicts
    ids = row.fields.retrieved_context_ids or ()
    supported_weight = 0.0
    total_weight = 0.0
    for verdict in verdicts:
        total_weight += verdict.weight
        if verdict.value is True and _is_kept(verdict, ids, kept_ranks):
            supported_weight += verdict.weight
    return supported_weight / total_weight if total_weight else 0.0


def _is_kept(verdict: Verdict, ids: Sequence[str], kept_ranks: Collection[int]) -> bool:
    """Tell whether a verdict stays a yes if only the contexts of some ranks, from 0, are kept."""
    if not verdict.evidence:  # a verdict about an id
        return any(ids[rank] == verdict.id for rank in kept_ranks if rank < len(ids))
    contexts_with_whole = {span.context for span in verdict.evidence if span.whole}
    if contexts_with_whole:
        return any(context in kept_ranks for context in contexts_with_whole)
    return all(span.context in kept_ranks for span in verdict.evidence)
