"""Gold that a retriever made: the gold of a question is equal to the first results of one of the runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from ctxmetrics._internal.frozen import Plain
from ctxmetrics.evaluation.gold.findings import Finding
from ctxmetrics.evaluation.gold.question import Question
from ctxmetrics.evaluation.rows.gold_answers import make_key
from ctxmetrics.samples.sample import Sample
from ctxmetrics.scores.wording import plural

# The number of results of a run that count for a question.
RESULTS_PER_QUESTION = 10
# By the name of a run, for each question: the keys of its results, in the form of `Question.gold_keys`.
RunResults: TypeAlias = Mapping[str, Sequence[Sequence[str] | None]]
# The gold of all questions is in doubt if for at least this share of the questions the gold is the first results of a run.
_MIN_SUSPICIOUS_SHARE = 0.9
# The minimum number of questions that show this.
_MIN_QUESTIONS = 8
# If at least this number of gold passages is in the order of the ranks, that is not by chance.
_MIN_GOLD_IN_RANK_ORDER = 3
# A passage that has less than this share of the words of the reference does not help to answer.
_MIN_USEFUL_SHARE = 0.1
# The minimum number of words of a reference that show this.
_MIN_REFERENCE_WORDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class RunGold(Plain):
    """How often the gold is equal to the first results of a run.

    Attributes:
        run: The name of the run.
        questions: The number of questions with gold and at least as many results as gold passages.
        equal: The number of questions whose gold is exactly the first results.
        most: The maximum number of gold passages of such a question.
    """

    run: str
    questions: int
    equal: int
    most: int

    @property
    def is_made_by_it(self) -> bool:
        """Whether the gold of nearly all questions is exactly the first results of the run."""
        return self.questions >= _MIN_QUESTIONS and self.equal >= _MIN_SUSPICIOUS_SHARE * self.questions

    def __str__(self) -> str:
        text = f"{self.run}: the gold of {self.equal} of {self.questions} questions is exactly its first results"
        if not self.is_made_by_it:
            return text
        if self.most == 1:
            return f"{text}. A perfect retriever looks the same: find out who made the gold"
        return f"{text}: its recall is 1 by construction"


class SimilarRun(NamedTuple):
    """Gold that is the first results of a run, or all of them but one.

    Attributes:
        run: The name of the run.
        evidence: The sentence about it.
        is_in_order: Whether these are at least three passages in the order of the ranks. The file may sort them so, too.
    """

    run: str
    evidence: str
    is_in_order: bool = False


class RunChecks(NamedTuple):
    """The results of comparing the gold with the runs.

    Attributes:
        counts: For each run, how often the gold equals its first results.
        findings: The questions whose gold seems to be copied.
        undecided: For questions without a finding, by the number of the question: the run whose first results are equal or nearly
            equal to the gold.
    """

    counts: list[RunGold]
    findings: list[Finding]
    undecided: Mapping[int, SimilarRun]


def check_runs(questions: Sequence[Question], runs: RunResults) -> RunChecks:
    """Compare the gold with the first results of each run.

    Args:
        questions: The questions.
        runs: The results of each run, as `list_run_results` has them.
    """
    like_run: dict[int, SimilarRun] = {}
    counts: list[RunGold] = []
    findings: dict[int, Finding] = {}
    sorts_gold = _sorts_gold(questions)
    for name, results_by_question in runs.items():
        equal_questions: list[tuple[Question, Sequence[str]]] = []
        usable_count = 0
        for question, results in zip(questions, results_by_question, strict=True):
            gold = {*question.gold_keys}
            if not gold or results is None or len(results) < len(gold):
                continue
            usable_count += 1
            first_results = results[: len(gold)]
            if gold == {*first_results}:
                equal_questions.append((question, first_results))
            elif _is_nearly_first(gold, results):
                count_first = f"{len(gold) - 1} of the {len(gold)} gold passages"
                evidence = (
                    f"{count_first} are among the first {len(gold) + 1} results of the run {name!r}"
                )
                like_run.setdefault(question.number, SimilarRun(name, evidence))
        max_gold = max((len(first_results) for _, first_results in equal_questions), default=0)
        count = RunGold(run=name, questions=usable_count, equal=len(equal_questions), most=max_gold)
        counts.append(count)
        # Gold that is the first results of a run may be good gold. It is a finding only if something else shows a copy.
        for question, first_results in equal_questions:
            is_in_order = _is_in_rank_order(question, first_results)
            first_results_text = describe_first_results(len(first_results), name)
            like_run[question.number] = SimilarRun(name, first_results_text, is_in_order)
            evidence = _find_evidence(
                question,
                first_results,
                name,
                is_made_by_run=count.is_made_by_it,
                file_sorts_gold=sorts_gold,
            )
            if evidence:
                about = (name, *first_results)  # the run and the ids
                finding = question.make_finding("first_results", evidence, about)
                findings.setdefault(question.number, finding)
    undecided = {number: like for number, like in like_run.items() if number not in findings}
    return RunChecks(counts, [*findings.values()], undecided)


def _is_nearly_first(gold: set[str], results: Sequence[str]) -> bool:
    """Tell whether all gold passages except one are among the first results."""
    first_results = results[: len(gold) + 1]
    return (
        len(gold) >= _MIN_GOLD_IN_RANK_ORDER and len(gold.intersection(first_results)) >= len(gold) - 1
    )


def list_run_results(
    questions: Sequence[Question], runs: Mapping[str, Sequence[Sample | None]]
) -> RunResults:
    """List the first results of each run for each question.

    At least `RESULTS_PER_QUESTION` results count. If a question has more gold passages, as many results as gold passages count.

    Args:
        questions: The questions.
        runs: By the name of a run, the sample with its results for each question; None for a question without results.
    """
    return {
        name: [
            _list_results(question, sample) for question, sample in zip(questions, samples, strict=True)
        ]
        for name, samples in runs.items()
    }


def _list_results(question: Question, sample: Sample | None) -> list[str] | None:
    """List the keys of the first results for a question: the ids, else hashes of the texts.

    Return None if the gold cannot be compared with the results: there are no results, or the gold has texts and the results have
    only ids, or the reverse. Return an empty list if the run found nothing for the question.
    """
    if sample is None:
        return None
    ids = sample.retrieved_context_ids
    texts = sample.retrieved_contexts
    max_results = max(RESULTS_PER_QUESTION, len(question.gold))
    if texts == () or (texts is None and ids == ()):
        return [*(ids or ())][:max_results] if question.has_ids else []
    if not question.has_ids:
        return None if texts is None else [make_key(None, text) for text in texts[:max_results]]
    if not ids or not any(ids):
        return None
    if texts is None or len(texts) != len(ids):
        texts = ids
    pairs = zip(ids[:max_results], texts[:max_results], strict=True)
    return [make_key(id_ or None, text) for id_, text in pairs]


def list_run_notes(
    questions: Sequence[Question],
    runs: Mapping[str, Sequence[Sample | None]],
    run_results: RunResults,
) -> Iterator[str]:
    """Yield a note for each run: the number of questions whose gold cannot be compared with the results."""
    for name, samples in runs.items():
        counts = {"ids": 0, "texts": 0}
        for question, sample, results in zip(questions, samples, run_results[name], strict=True):
            if sample is None or not question.gold or results is not None:
                continue
            counts["ids" if question.has_ids else "texts"] += 1
        for key_kind, count in counts.items():
            if count:
                yield (
                    f"{name}: {plural(count, 'question')} not compared: the gold has {key_kind}, and the run has none for them"
                )


def _sorts_gold(questions: Sequence[Question]) -> bool:
    """Tell whether the file sorts the gold of a question by id.

    It does if the gold of at least half of the questions with several gold passages is sorted.
    """
    lists = [[*question.gold_keys] for question in questions]
    long_lists = [keys for keys in lists if len(keys) >= _MIN_GOLD_IN_RANK_ORDER]
    is_sorted = [keys for keys in long_lists if keys == sorted(keys)]
    return 2 * len(is_sorted) >= len(long_lists)


def _find_evidence(
    question: Question,
    first_results: Sequence[str],
    run: str,
    *,
    is_made_by_run: bool,
    file_sorts_gold: bool,
) -> str:
    """Describe why the gold seems to be copied from the run. Return an empty text if the run may have found the right gold.

    Args:
        question: The question.
        first_results: The first results of the run, which are its gold.
        run: The name of the run.
        is_made_by_run: Whether the gold of nearly all questions is the first results of this run.
        file_sorts_gold: Whether the file sorts the gold by id. By chance this may be the order of the ranks.
    """
    count = len(first_results)
    text = describe_first_results(count, run)
    useless = [
        passage.id or "a passage"
        for passage, words in zip(question.gold, question.gold_content, strict=True)
        if _is_unlike_reference(question, words)
    ]
    if 0 < len(useless) < count:  # if all seem useless, the reference uses other words
        return f"{text}, and {useless[0]!r} has next to no word of the reference"
    may_be_chance = file_sorts_gold and [*question.gold_keys] == sorted(question.gold_keys)
    if _is_in_rank_order(question, first_results) and not may_be_chance:
        return f"{text}, in their order"
    return f"{text}, as that of nearly all questions" if is_made_by_run else ""


def _is_in_rank_order(question: Question, first_results: Sequence[str]) -> bool:
    """Tell whether the gold is the first results in their order, and enough of them that this is not by chance."""
    is_same_order = [*question.gold_keys] == [*first_results]
    return is_same_order and len(first_results) >= _MIN_GOLD_IN_RANK_ORDER


def describe_first_results(count: int, run: str) -> str:
    """Describe that the gold is the first ``count`` results of a run."""
    results = "the first result" if count == 1 else f"the first {count} results"
    return f"the gold is {results} of the run {run!r}"


def _is_unlike_reference(question: Question, words: frozenset[str]) -> bool:
    """Tell whether a gold passage has next to no word of the reference."""
    content = question.reference_content
    if not words or len(content) < _MIN_REFERENCE_WORDS:
        return False
    return len(words & content) < _MIN_USEFUL_SHARE * len(content)
