"""An audit of gold by people: a random part and the questions in doubt, labelled blind, and what follows for the means.

`ctxmetrics label` asks about the samples of an audit. They hold the gold passages among others, in random order: the person
sees neither the old gold nor a finding. What only the random part says holds for all questions.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

from ctxmetrics._internal.display import replace_invisible
from ctxmetrics._internal.frozen import Plain
from ctxmetrics.errors import InputFileError, SampleError
from ctxmetrics.evaluation.gold.findings import Finding
from ctxmetrics.evaluation.gold.gold_runs import RESULTS_PER_QUESTION, RunResults
from ctxmetrics.evaluation.gold.judged_gold import Pool
from ctxmetrics.evaluation.gold.question import Question
from ctxmetrics.evaluation.rows.file_names import key_beside
from ctxmetrics.evaluation.rows.gold_answers import (
    GoldAnswers,
    GoldPassage,
    PeopleGold,
    read_gold_answers,
)
from ctxmetrics.evaluation.rows.output_files import write_whole
from ctxmetrics.evaluation.statistics.corrected_means import MIN_AUDITED, audited_mean
from ctxmetrics.evaluation.statistics.intervals import wilson
from ctxmetrics.evaluation.statistics.label_decisions import allow_change
from ctxmetrics.evaluation.statistics.labelled import labelled_difference
from ctxmetrics.evaluation.statistics.paired import paired_mean
from ctxmetrics.samples.sample import Sample
from ctxmetrics.scores.wording import plural


@dataclass(frozen=True, slots=True)
class Audit:
    """The questions that people look at.

    Attributes:
        samples: The samples to label, in random order.
        random: The names of the questions that were drawn at random.
        seed: The seed of the draw.
    """

    samples: tuple[Sample, ...]
    random: frozenset[str]
    seed: int


def check_names(samples: Sequence[Sample]) -> None:
    """Check that an audit can name each question: by its id, else by its number.

    Raises:
        SampleError: A sample has the number of another sample, which has no id, as its id.
    """
    numbers = {str(number): number for number, sample in enumerate(samples, 1) if sample.id is None}
    for number, sample in enumerate(samples, 1):
        if sample.id in numbers:
            raise SampleError(
                f"Sample {number} has the id {sample.id!r}, and sample {numbers[sample.id]} has no id: an audit names both alike. "
                "Give each sample an id, or none."
            )


def draw_audit(pools: Sequence[Pool], findings: Iterable[Finding], n: int, seed: int) -> Audit:
    """Draw n questions at random. Add at most n of the other questions that have a finding.

    Only questions that can be labelled are drawn: their reference is an answer, and they have passages.
    """
    random_source = random.Random(seed)  # noqa: S311 - a random choice that can be repeated
    random_indexes = random_source.sample(range(len(pools)), min(n, len(pools)))
    random_numbers = {pools[index].question.number for index in random_indexes}
    random_names = frozenset(pools[index].question.name for index in random_indexes)
    doubtful_numbers = {finding.number for finding in findings} - random_numbers
    doubtful_indexes = [
        index for index, pool in enumerate(pools) if pool.question.number in doubtful_numbers
    ]
    random_source.shuffle(doubtful_indexes)
    audited_indexes = [*random_indexes, *doubtful_indexes[:n]]
    random_source.shuffle(audited_indexes)
    samples = tuple(_hide_gold(pools[index], random_source) for index in audited_indexes)
    return Audit(samples, random_names, seed)


def _hide_gold(pool: Pool, random_source: random.Random) -> Sample:
    """Show the passages of a pool in random order, without what is gold."""
    order = list(range(len(pool.texts)))
    random_source.shuffle(order)
    question = pool.question
    ids = None
    if question.has_ids:
        ids = [pool.ids[index] or "" for index in order]
    return Sample(
        id=question.name,
        user_input=question.sample.user_input,
        reference=question.reference,
        retrieved_contexts=[pool.texts[index] for index in order],
        retrieved_context_ids=ids,
    )


def _changes_path(path: Path) -> Path:
    """Name the file of the changes beside a file of corrected samples."""
    return path.with_name(path.name + ".changes.jsonl")


def name_outputs(
    audit: str | os.PathLike[str] | None,
    labels: str | os.PathLike[str] | None,
    corrected: str | os.PathLike[str] | None,
) -> dict[str, Path]:
    """Name all files that an audit writes."""
    paths: dict[str, Path] = {}
    if audit is not None and labels is None:
        paths["audit"] = Path(audit)
        paths["audit (its key)"] = key_beside(Path(audit))
    if corrected is not None:
        paths["corrected"] = Path(corrected)
        paths["corrected (its changes)"] = _changes_path(Path(corrected))
    return paths


def name_inputs(
    audit: str | os.PathLike[str] | None, labels: str | os.PathLike[str] | None
) -> dict[str, Path]:
    """Name all files that are read of an audit that is labelled."""
    if audit is None or labels is None:
        return {}
    path = Path(audit)
    return {"audit": path, "audit (its key)": key_beside(path), "labels": Path(labels)}


def write_audit(path: Path, audit: Audit) -> None:
    """Write which questions were drawn at random, and then the samples of an audit: without the first they say nothing.

    Raises:
        OutputFileError: A file cannot be written.
    """
    key = {"random": sorted(audit.random), "seed": audit.seed}
    _write_lines(key_beside(path), [key])
    _write_lines(path, (sample.to_dict() for sample in audit.samples))


def _write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write a file of JSON Lines."""
    write_whole(path, (f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))


# --- the answers of people ---


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldChange(Plain):
    """One passage that people made gold, or took out of the gold.

    Attributes:
        sample: The id of the sample; its number as text without one.
        passage: The id of the passage; its text if the gold has no ids.
        change: ``added`` or ``removed``.
    """

    sample: str
    passage: str
    change: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedMean(Plain):
    """The recall of a run by the gold as it is, and by people's gold.

    Attributes:
        run: The name of the run, or of two runs whose difference it is.
        mean: The mean by the gold as it is.
        corrected: The mean for all questions, estimated from the changes that people made in the randomly drawn questions.
        interval: The 95 % interval of ``corrected``. It is wider, since only the random part was audited.
        survives: Whether a difference by the unchanged gold is still there after the audit. None if there is no difference.
    """

    run: str
    mean: float
    corrected: float
    interval: tuple[float, float]
    survives: bool | None = None

    def __str__(self) -> str:
        low, high = self.interval
        text = f"{self.run}: recall@{RESULTS_PER_QUESTION} {self.mean:.3f}, by the audit {self.corrected:.3f} [{low:.3f}, {high:.3f}]"
        if self.survives is None:
            return text
        return f"{text}: the decision {'survives' if self.survives else 'does not survive'} the audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult(Plain):
    """The answers of people about the gold.

    Attributes:
        random: The number of questions of the random part with answers, and the number of them whose gold was overturned.
        doubtful: The same two numbers for the questions in doubt.
        interval: The 95 % interval of the share of wrong gold among all questions that can be labelled, from the random part.
        changes: The changes, in the order of the samples.
        means: The recall of each run, and the differences of runs.
        emptied: The random questions whose gold people removed entirely: without gold there is no recall.
        without_id: The useful passages that have no id and are not in gold that names ids.
    """

    random: tuple[int, int]
    doubtful: tuple[int, int]
    interval: tuple[float, float]
    changes: tuple[GoldChange, ...]
    means: tuple[AuditedMean, ...]
    emptied: int = 0
    without_id: int = 0

    def list_sentences(self) -> list[str]:
        """List the results of the audit."""
        audited, wrong = self.random
        low, high = self.interval
        doubtful, overturned = self.doubtful
        shares = (
            f"audit: the gold of {wrong} of {audited} random questions was overturned, so {low:.3f} to {high:.3f} of the "
            f"questions that can be labelled; and the gold of {overturned} of {doubtful} questions in doubt"
        )
        sentences = [shares]
        if self.emptied:
            sentences.append(
                f"audit: people removed all gold of {plural(self.emptied, 'random question')}: left out of the means"
            )
        if self.without_id:
            sentences.append(
                f"audit: {plural(self.without_id, 'useful passage')} without an id cannot be added to gold that names ids"
            )
        return [*sentences, *map(str, self.means)]


def read_audit(
    path: Path, labels: Path, questions: Sequence[Question], runs: RunResults
) -> tuple[AuditResult, list[Sample]]:
    """Read the answers of people, and build the samples with the corrected gold.

    Args:
        path: The audit.
        labels: The answers, which ``ctxmetrics label`` wrote.
        questions: All questions.
        runs: The results of each run.

    Raises:
        InputFileError: A file cannot be read, there is no answer, or a question of the audit is none of these or another one.
    """
    answers = read_gold_answers(path, labels)
    unknown = answers.verdicts.keys() - {question.name for question in questions}
    if unknown:
        raise InputFileError(f"{labels}: sample {min(unknown)!r} is not in the file that is checked.")
    golds: dict[int, PeopleGold] = {}  # of all questions with answers
    random_golds: dict[int, Sequence[str]] = {}  # of the questions in the random part
    emptied = 0
    for question in questions:
        gold = answers.correct_gold(question.name, question.gold, has_ids=question.has_ids)
        if gold is None:
            continue
        _check_audited(answers, question)
        golds[question.number] = gold
        if question.name in answers.random:
            random_golds[question.number] = gold.keys
            if question.gold and not gold.keys:
                emptied += 1
    wrong = {number for number, gold in golds.items() if gold.is_changed}
    audited = random_golds.keys()
    doubtful = golds.keys() - audited
    interval = (0.0, 1.0)
    if audited:
        interval = wilson(len(wrong & audited) / len(audited), len(audited))
    result = AuditResult(
        random=(len(audited), len(wrong & audited)),
        doubtful=(len(doubtful), len(wrong & doubtful)),
        interval=interval,
        changes=tuple(_list_changes(questions, golds)),
        means=tuple(_correct_means(questions, runs, random_golds)),
        emptied=emptied,
        without_id=sum(gold.without_id for gold in golds.values()),
    )
    corrected = [
        golds[question.number].replace_gold(question.sample)
        if question.number in golds
        else question.sample
        for question in questions
    ]
    return result, corrected


def _check_audited(answers: GoldAnswers, question: Question) -> None:
    """Check that people answered about a question and its reference as they are.

    Raises:
        InputFileError: The audit has another question or reference under the same name.
    """
    audited = answers.samples[question.name]
    for name, text, audited_text in (
        ("question", question.text, audited.user_input),
        ("reference", question.reference, audited.reference),
    ):
        if text != (audited_text or ""):
            raise InputFileError(
                f"{answers.path}: the {name} of sample {replace_invisible(question.name)[:80]!r} is another one in the samples. "
                "Give the samples of which the audit was drawn, in their order."
            )


def _list_changes(
    questions: Sequence[Question], golds: Mapping[int, PeopleGold]
) -> Iterator[GoldChange]:
    """Yield what people's gold removes from the gold of each question, and what it adds."""
    for number in sorted(golds):
        question = questions[number - 1]
        gold = golds[number]
        keys = frozenset(gold.keys)
        for passage in question.gold:
            if passage.key not in keys:
                yield _make_change(question, passage, "removed")
        for passage in gold.passages:
            if passage.key not in question.gold_keys:
                yield _make_change(question, passage, "added")


def _make_change(question: Question, passage: GoldPassage, change: str) -> GoldChange:
    """Describe the change of one gold passage, which is named by its id or by its text."""
    name = (passage.text or "") if passage.id is None else passage.id
    return GoldChange(sample=question.name, passage=name, change=change)


def write_corrected(path: Path, samples: Iterable[Sample], changes: Iterable[GoldChange]) -> None:
    """Write the samples with the corrected gold, and a line for each change beside them.

    Raises:
        OutputFileError: A file cannot be written.
    """
    _write_lines(path, (sample.to_dict() for sample in samples))
    _write_lines(_changes_path(path), (change.to_dict() for change in changes))


# --- the means ---


@dataclass(frozen=True, slots=True)
class _Recall:
    """The recall of one question by the gold as it is, and by people's gold; None if people did not look."""

    by_gold: float
    by_people: float | None


def _correct_means(
    questions: Sequence[Question],
    runs: RunResults,
    golds: Mapping[int, Sequence[str]],
) -> Iterator[AuditedMean]:
    """Yield the mean of each run, and the difference of each two.

    A question whose gold people removed entirely is left out: without gold there is no recall.
    """
    recalls: dict[str, dict[int, _Recall]] = {}
    for name, results in runs.items():
        recalls[name] = _measure_recalls(questions, results, golds)
        by_people: list[float] = []
        by_gold: list[float] = []  # of the same questions
        unaudited: list[float] = []
        for recall in recalls[name].values():
            if recall.by_people is None:
                unaudited.append(recall.by_gold)
            else:
                by_people.append(recall.by_people)
                by_gold.append(recall.by_gold)
        if len(by_people) >= MIN_AUDITED:
            corrected, interval = audited_mean(by_people, by_gold, unaudited)
            mean = fmean([*by_gold, *unaudited])
            yield AuditedMean(run=name, mean=mean, corrected=corrected, interval=interval)
    for first, second in combinations(recalls, 2):
        yield from _correct_difference(f"{second} - {first}", recalls[first], recalls[second])


def _measure_recalls(
    questions: Sequence[Question],
    results_by_question: Sequence[Sequence[str] | None],
    golds: Mapping[int, Sequence[str]],
) -> dict[int, _Recall]:
    """Measure the recall of a run by the number of each question that has one."""
    recalls: dict[int, _Recall] = {}
    for question, results in zip(questions, results_by_question, strict=True):
        if results is None or not question.gold:
            continue
        first_results = results[:RESULTS_PER_QUESTION]
        by_gold = _measure_recall(question.gold_keys, first_results)
        if question.number not in golds:
            recalls[question.number] = _Recall(by_gold, None)
        elif golds[question.number]:
            by_people = _measure_recall(golds[question.number], first_results)
            recalls[question.number] = _Recall(by_gold, by_people)
    return recalls


def _measure_recall(gold: Iterable[str], results: Iterable[str]) -> float:
    """Return the share of the gold that is among the results."""
    expected = {*gold}
    return len(expected.intersection(results)) / len(expected)


def _correct_difference(
    name: str, first: Mapping[int, _Recall], second: Mapping[int, _Recall]
) -> Iterator[AuditedMean]:
    """Yield the difference of two runs corrected by people's gold. Yield nothing if too few questions were audited.

    Args:
        name: The name of the difference.
        first: The recalls of the run that is subtracted, by the numbers of the questions.
        second: The recalls of the other run.
    """
    # The differences of the audited questions, by people's gold and by the gold as it is.
    by_people: list[float] = []
    by_gold: list[float] = []
    # The differences of the other questions, by the gold as it is.
    unaudited: list[float] = []
    for number, first_recall in first.items():
        second_recall = second.get(number)
        if second_recall is None:
            continue
        difference = second_recall.by_gold - first_recall.by_gold
        if first_recall.by_people is None or second_recall.by_people is None:
            unaudited.append(difference)
        else:
            by_people.append(second_recall.by_people - first_recall.by_people)
            by_gold.append(difference)
    if len(by_people) < MIN_AUDITED:
        return
    uncorrected = paired_mean([*by_gold, *unaudited])
    corrected = labelled_difference(by_people, by_gold, unaudited)
    # None: the gold as it is shows no difference.
    survives = None
    if _excludes_zero(uncorrected.interval):
        sign = 1 if uncorrected.mean > 0 else -1
        survives = allow_change(corrected, 0.0, sign)
    yield AuditedMean(
        run=name,
        mean=uncorrected.mean,
        corrected=corrected.difference,
        # Wrong gold is rare, so few questions change: this interval also covers changes that no label shows.
        interval=corrected.decision_interval or (corrected.difference, corrected.difference),
        survives=survives,
    )


def _excludes_zero(interval: tuple[float, float] | None) -> bool:
    """Tell whether an interval lies above or below 0."""
    return interval is not None and (interval[0] > 0 or interval[1] < 0)
