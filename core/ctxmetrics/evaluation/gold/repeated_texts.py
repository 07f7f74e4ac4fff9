"""Questions that are asked twice with different gold, and references that several questions have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice

from ctxmetrics.evaluation.gold.answers import (
    fold_words,
    is_answer,
    read_word_lists,
)
from ctxmetrics.evaluation.gold.findings import Finding
from ctxmetrics.evaluation.gold.passages import read_words, shorten
from ctxmetrics.evaluation.gold.question import Question

# The minimum number of words of a repeated reference. Shorter references are repeated by right: a name may answer many questions.
_MIN_REPEATED_WORDS = 4
# The same in characters, for scripts without spaces between words.
_MIN_REPEATED_CHARACTERS = 20
# A reference is repeated often if at least this number of rows has it, with any gold.
_MIN_REPEATED_ROWS = 3
# One of two questions fits its gold better than the other if their fits differ by more than this.
_MIN_FIT_GAIN = 0.15
# Gold that fits a question less than this says nothing about the other questions.
_MIN_FIT = 0.35
# Two references with a smaller share of common words are different answers.
_MIN_COMMON_SHARE = 0.5


def check_repeated_questions(questions: Sequence[Question]) -> Iterator[Finding]:
    """Find questions that are asked twice with different gold."""
    # The questions by the keys of their words, without polite words.
    groups: dict[tuple[str, ...], list[Question]] = {}
    polite_keys = _read_polite_words()
    for question in questions:
        keys = [word.key for word in question.words]
        question_key = tuple(key for key in keys if key not in polite_keys)
        groups.setdefault(question_key or tuple(keys), []).append(question)
    for words, group in groups.items():
        if not words or not any(_differ(group[0], other) for other in group[1:]):
            continue
        doubtful = _choose_doubtful(group)
        for question in doubtful:
            other_names = _list_others(question, group)
            evidence = f"the same question with other gold: {', '.join(other_names)}"
            yield question.make_finding("repeated_question", evidence, other_names)


@cache
def _read_polite_words() -> frozenset[str]:
    """Read the keys of words that ask for nothing: please, hello, tell me."""
    return frozenset(word.key for text in read_word_lists()["polite"] for word in read_words(text))


def _list_others(question: Question, group: Sequence[Question]) -> Sequence[str]:
    """List the names of the first other questions of a group."""
    other_names = (other.name for other in group if other is not question)
    return [*islice(other_names, _MIN_REPEATED_ROWS)]


def _differ(first: Question, second: Question) -> bool:
    """Tell whether two samples expect different things."""
    if first.gold and second.gold and first.gold_by_words != second.gold_by_words:
        return True
    if not first.reference or not second.reference:
        return False
    # Words that both answers take from the question make no difference: "It weighs 12 kg." and "12 kg" are the same answer,
    # "It weighs 14 kg." is another answer.
    first_words = first.reference_content - first.word_keys
    second_words = second.reference_content - second.word_keys
    if not first_words or not second_words:
        return _measure_common(first.reference_content, second.reference_content) < _MIN_COMMON_SHARE
    if first_words <= second_words or second_words <= first_words:
        return False
    return _measure_common(first_words, second_words) < _MIN_COMMON_SHARE


def _measure_common(words: frozenset[str], others: frozenset[str]) -> float:
    """Measure the share of words that two texts have in common. For two texts without words the share is 1."""
    return len(words & others) / len(words | others) if words or others else 1.0


def _choose_doubtful(group: Sequence[Question]) -> Sequence[Question]:
    """Choose the questions whose gold fits them worse than the gold of another question.

    Choose all if no gold fits better than the others, or none fits well.
    """
    fits = [_measure_fit(question) for question in group]
    if max(fits) < _MIN_FIT:
        return group
    return _choose_lower(group, fits)


def _choose_lower(group: Sequence[Question], shares: Sequence[float]) -> Sequence[Question]:
    """Choose the questions whose share is clearly below the highest share. Choose all if there is none."""
    limit = max(shares) - _MIN_FIT_GAIN
    lower = [question for question, share in zip(group, shares, strict=True) if share < limit]
    return lower or group


def _measure_fit(question: Question) -> float:
    """Measure how well a question fits its gold: the share of its words that the gold has, or the same share of the reference.

    The smaller share counts. Without gold, it is the share of the question's words that the reference has.
    """
    question_words = question.find_content(question.text)
    gold_words = frozenset[str]().union(*question.gold_content)
    if not gold_words:
        return _measure_share(question_words, question.reference_content)
    share_of_question = _measure_share(question_words, gold_words)
    if not question.reference:
        return share_of_question
    return min(share_of_question, _measure_share(question.reference_content, gold_words))


def _measure_share(words: frozenset[str], others: frozenset[str]) -> float:
    """Measure the share of some words that are among others."""
    return len(words & others) / max(1, len(words))


def check_repeated_references(questions: Sequence[Question]) -> Iterator[Finding]:
    """Find a reference that several questions have although their gold differs."""
    groups: dict[str, list[Question]] = {}
    for question in questions:
        groups.setdefault(fold_words(question.reference), []).append(question)
    for text, group in groups.items():
        texts = {fold_words(question.text) for question in group}
        has_few_words = len(text.split()) < _MIN_REPEATED_WORDS
        is_short = has_few_words and len(text) < _MIN_REPEATED_CHARACTERS
        if is_short or len(texts) == 1:
            continue
        if not is_answer(group[0].reference):
            continue  # another finding says so
        has_one_gold = len({question.gold_by_words for question in group}) == 1
        if has_one_gold and (
            len(texts) < _MIN_REPEATED_ROWS or all(question.gold for question in group)
        ):
            continue
        for question in _choose_unstated(group):
            others = _list_others(question, group)
            evidence = f"the reference of {', '.join(others)}, too: {shorten(question.reference)!r}"
            yield question.make_finding("repeated_reference", evidence, others)


def _choose_unstated(group: Sequence[Question]) -> Sequence[Question]:
    """Choose the questions whose gold has fewer words of the reference than the gold of another question. Choose all if all have equally many."""
    shares = []
    for question in group:
        gold_words = frozenset[str]().union(*question.gold_content)
        shares.append(_measure_share(question.reference_content, gold_words))
    return _choose_lower(group, shares)
