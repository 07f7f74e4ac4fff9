"""The effect of findings on scores: bounds of recall and precision under holes, and questions that decide between runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

from ctxmetrics._internal.frozen import Plain
from ctxmetrics.evaluation.gold.findings import Finding
from ctxmetrics.evaluation.gold.gold_runs import RESULTS_PER_QUESTION, RunResults
from ctxmetrics.evaluation.gold.passages import Passages
from ctxmetrics.evaluation.gold.question import Question
from ctxmetrics.samples.sample import Sample
from ctxmetrics.scores.wording import plural

# Chance answers a question if `RESULTS_PER_QUESTION` random passages have at least this share of its gold on average.
_MIN_SHARE_BY_CHANCE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class HoleBounds(Plain):
    """The means of a run as the gold is, and if all its holes were gold.

    Gold that lists positives only makes bpref, infAP and condensed lists meaningless: they need passages that were judged
    and are not relevant. ``judged`` says as a plain share how much of what was retrieved is judged.

    Attributes:
        run: The name of the run.
        questions: The questions with gold that can be compared with the results; of one without results, recall and
            precision are 0.
        holes: How many of its first `RESULTS_PER_QUESTION` results are not gold, but judged useful.
        recall: The mean share of the gold in these.
        recall_with_holes: The same if the holes were gold.
        precision: The mean share of these that is gold.
        precision_with_holes: The same if the holes were gold.
        judged: The mean share of these that is gold, or that people called useful or useless; None if nothing was
            retrieved at all.
    """

    run: str
    questions: int
    holes: int
    recall: float
    recall_with_holes: float
    precision: float
    precision_with_holes: float
    judged: float | None

    def __str__(self) -> str:
        judged = "nothing retrieved"
        if self.judged is not None:
            judged = f"share of results that are judged {self.judged:.3f}"
        return (
            f"{self.run}, first {RESULTS_PER_QUESTION} results: {plural(self.holes, 'hole')}; recall {self.recall:.3f} "
            f"({self.recall_with_holes:.3f} if holes were gold); precision {self.precision:.3f} "
            f"({self.precision_with_holes:.3f}); {judged}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Deciding(Plain):
    """How many questions say anything about the runs, by the recall of the first `RESULTS_PER_QUESTION` results.

    Attributes:
        questions: The questions with gold that can be compared with the results of all runs.
        all_right: The number of questions for which every run found all of the gold.
        all_wrong: The number of questions for which no run found any gold.
        by_words: The number of questions for which BM25 over the passages, or chance, finds all of the gold.
        pairs: For each pair of runs, the number of questions for which one found more gold than the other.
    """

    questions: int
    all_right: int
    all_wrong: int
    by_words: int
    pairs: Mapping[str, int]

    def __str__(self) -> str:
        pairs = "".join(f"; {count} tell {pair} apart" for pair, count in self.pairs.items())
        return (
            f"of {self.questions} questions, every run has all of the gold for {self.all_right}, and no run has any for "
            f"{self.all_wrong}; a search by words, or chance, has all of it for {self.by_words}{pairs}"
        )


def measure_holes(
    questions: Sequence[Question],
    runs: Mapping[str, Sequence[Sample | None]],
    run_results: RunResults,
    findings: Iterable[Finding],
) -> Iterator[HoleBounds]:
    """Measure how holes can change the means of each run."""
    holes_by_number: dict[int, set[str]] = {}
    for finding in findings:
        if finding.code == "hole":
            holes_by_number.setdefault(finding.number, set()).update(finding.items)
    for name, samples in runs.items():
        recalls: list[float] = []
        recalls_with_holes: list[float] = []
        precisions: list[float] = []
        precisions_with_holes: list[float] = []
        judged_shares: list[float] = []
        hole_count = 0
        for question, sample, results in zip(questions, samples, run_results[name], strict=True):
            gold = {*question.gold_keys}
            if not gold or sample is None or results is None:
                continue
            first_results = results[:RESULTS_PER_QUESTION]
            size = max(1, len(first_results))
            hits = len(gold.intersection(first_results))
            holes = holes_by_number.get(question.number, set()).intersection(first_results) - gold
            hole_count += len(holes)
            recalls.append(hits / len(gold))
            recalls_with_holes.append((hits + len(holes)) / (len(gold) + len(holes)))
            precisions.append(hits / size)
            precisions_with_holes.append((hits + len(holes)) / size)
            if first_results:
                judged_shares.append(_count_judged(sample, first_results, gold) / size)
        if recalls:
            yield HoleBounds(
                run=name,
                questions=len(recalls),
                holes=hole_count,
                recall=fmean(recalls),
                recall_with_holes=fmean(recalls_with_holes),
                precision=fmean(precisions),
                precision_with_holes=fmean(precisions_with_holes),
                judged=fmean(judged_shares) if judged_shares else None,
            )


def _count_judged(sample: Sample, results: Sequence[str], gold: set[str]) -> int:
    """Count the results that are gold or labelled by people."""
    labels = sample.labels.get("context_useful")
    is_labelled = [False] * len(results)
    if isinstance(labels, Sequence):
        is_labelled = [label is not None for label in labels[: len(results)]]
        is_labelled += [False] * (len(results) - len(is_labelled))
    pairs = zip(results, is_labelled, strict=True)
    return sum(1 for key, labelled in pairs if labelled or key in gold)


def count_deciding(
    questions: Sequence[Question],
    runs: RunResults,
    passages: Passages,
) -> Deciding | None:
    """Count the questions that decide between runs. Return None if no question has gold and results of every run."""
    # For each question the recall of every run.
    recalls_by_question: list[dict[str, float]] = []
    easy_count = 0
    for place, question in enumerate(questions):
        gold = {*question.gold_keys}
        recalls: dict[str, float] = {}
        for name, results_by_question in runs.items():
            results = results_by_question[place]
            if gold and results is not None:
                recalls[name] = len(gold.intersection(results[:RESULTS_PER_QUESTION])) / len(gold)
        if not recalls or len(recalls) < len(runs):
            continue
        recalls_by_question.append(recalls)
        if _is_easy(question, passages):
            easy_count += 1
    if not recalls_by_question:
        return None
    # For each pair of runs: how many questions have different recalls.
    pairs: dict[str, int] = {}
    for first, second in combinations(runs, 2):
        different_recalls = [
            recalls for recalls in recalls_by_question if recalls[first] != recalls[second]
        ]
        pairs[f"{first} and {second}"] = len(different_recalls)
    return Deciding(
        questions=len(recalls_by_question),
        all_right=sum(1 for recalls in recalls_by_question if min(recalls.values()) == 1.0),
        all_wrong=sum(1 for recalls in recalls_by_question if max(recalls.values()) == 0.0),
        by_words=easy_count,
        pairs=pairs,
    )


def _is_easy(question: Question, passages: Passages) -> bool:
    """Tell whether words, or chance, find all of the gold of a question."""
    if len(passages) * _MIN_SHARE_BY_CHANCE <= RESULTS_PER_QUESTION:
        return True
    places = passages.search((word.key for word in question.words), RESULTS_PER_QUESTION)
    return bool(question.gold) and all(
        passage.places and not set(passage.places).isdisjoint(places) for passage in question.gold
    )
