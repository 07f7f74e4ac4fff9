"""Faults that show only beside other rows: references one row too high or too low, and one answer for two different questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from ctxmetrics.evaluation.gold.findings import Finding
from ctxmetrics.evaluation.gold.passages import Passages
from ctxmetrics.evaluation.gold.question import Question
from ctxmetrics.evaluation.gold.question_texts import is_answer
from ctxmetrics.evaluation.gold.values import NUMBER_KINDS, have_contraries

# A text fits the question of another row better if it has this much more of the weight of that question's words.
_MIN_LEAD = 0.2
# The minimum number of rows, one after another, whose texts fit the question of the row beside them better ..
_MIN_SHIFTED_ROWS = 3
# .. and their minimum share, where a text between them fits both questions alike.
_MIN_SHIFTED_SHARE = 0.7
# The maximum number of words by which two questions differ, of which one has the answer of the other. In a script without blanks
# one word is several pairs of characters.
_MAX_DIFFERENT_WORDS = 1
_MAX_DIFFERENT_PAIRS = 5


def check_neighbours(questions: Sequence[Question], passages: Passages) -> Iterator[Finding]:
    """Find rows whose reference or gold is that of the next or the previous row, and answers to nearly the same question."""
    shifted: dict[int, Finding] = {}
    for find_words, name in ((_find_reference_words, "reference"), (_find_gold_words, "gold")):
        words = [find_words(question) for question in questions]
        for step, side in ((1, "next"), (-1, "previous")):
            for finding in _find_shifted(
                questions, words, passages, step, f"the {name} fits the question of the {side} row"
            ):
                shifted.setdefault(finding.number, finding)
    yield from shifted.values()
    yield from _check_similar_questions(questions)


def _find_reference_words(question: Question) -> frozenset[str]:
    """Return the words of a reference that carry a meaning."""
    return question.reference_content if is_answer(question.reference) else frozenset()


def _find_gold_words(question: Question) -> frozenset[str]:
    """Return the words of all gold passages of a question."""
    return frozenset[str]().union(*question.gold_content)


def _find_shifted(
    questions: Sequence[Question],
    words: Sequence[frozenset[str]],
    passages: Passages,
    step: int,
    evidence: str,
) -> Iterator[Finding]:
    """Find rows, one after another, whose words fit the question of the row beside them better than their own.

    Args:
        questions: The questions in the order of the file.
        words: The words of the reference, or of the gold, of each row.
        passages: The passages. They decide how much a word weighs.
        step: 1 for the next row, -1 for the previous one.
        evidence: What is wrong, for the findings.
    """
    leads: list[float] = []
    contents = [question.find_content(question.text) for question in questions]
    for row, row_words in enumerate(words):
        lead = 0.0
        if 0 <= row + step < len(questions):
            # Words of both questions tell nothing apart.
            own = contents[row] - contents[row + step]
            other = contents[row + step] - contents[row]
            lead = _measure_fit(other, row_words, passages) - _measure_fit(own, row_words, passages)
        leads.append(lead)
    for run in _list_runs(leads):
        for row in run:
            yield questions[row].make_finding(
                "shifted_rows",
                f"{evidence} better than its own, as in {len(run)} rows one after another",
            )


def _measure_fit(content: frozenset[str], words: frozenset[str], passages: Passages) -> float:
    """Measure the share of the weight of a question's words that a text has."""
    shared_words = content & words
    if not shared_words:
        return 0.0  # the usual case of the question of another row
    return sum(map(passages.weigh, shared_words)) / sum(map(passages.weigh, content))


def _list_runs(leads: Sequence[float]) -> Iterator[range]:
    """Yield the stretches of rows of which enough fit the row beside them better, and none fits its own row better."""
    start = 0
    ends = [row for row, lead in enumerate(leads) if lead <= -_MIN_LEAD]
    for end in (*ends, len(leads)):
        shifted = [row for row in range(start, end) if leads[row] >= _MIN_LEAD]
        start = end + 1
        if len(shifted) < _MIN_SHIFTED_ROWS:
            continue
        run = range(shifted[0], shifted[-1] + 1)
        if len(shifted) >= _MIN_SHIFTED_SHARE * len(run):
            yield run


# --- two questions with one answer ---


def _check_similar_questions(questions: Iterable[Question]) -> Iterator[Finding]:
    """Find a question that has gold and reference of another one, from which it differs by one word that changes the answer."""
    groups: dict[tuple[str, frozenset[str]], list[Question]] = {}
    for question in questions:
        if question.gold and is_answer(question.reference):
            groups.setdefault((question.reference, frozenset(question.gold_keys)), []).append(question)
    for group in groups.values():
        for first, second in pairwise(group):
            for question, other in ((first, second), (second, first)):
                if _asks_for_something_else(question, other):
                    evidence = (
                        f"it differs from {other.name} by one word, and has the same gold and reference"
                    )
                    yield question.make_finding("similar_question", evidence, (other.name,))


def _asks_for_something_else(question: Question, other: Question) -> bool:
    """Tell whether the answer of both questions belongs to the other one: it has the word in which that one differs."""
    own_content = question.find_content(question.text) - other.word_keys
    other_content = other.find_content(other.text) - question.word_keys
    own = [word for word in question.words if word.key in own_content]
    others = [word for word in other.words if word.key in other_content]
    own_keys = frozenset(word.key for word in own)
    other_keys = frozenset(word.key for word in others)
    is_unspaced = any(word.kind not in {"word", *NUMBER_KINDS} for word in own)
    most = _MAX_DIFFERENT_PAIRS if is_unspaced else _MAX_DIFFERENT_WORDS
    if not own_keys or not other_keys or max(len(own_keys), len(other_keys)) > most:
        return False
    gold = frozenset[str]().union(*question.gold_content)
    for words in (question.reference_content, gold):
        if _has_most(words, other_keys) and own_keys.isdisjoint(words):
            are_numbers = all(word.kind in NUMBER_KINDS for word in (*own, *others))
            return are_numbers or _has_most(gold, own_keys) or have_contraries(own, others)
    return False


def _has_most(words: frozenset[str], keys: frozenset[str]) -> bool:
    """Tell whether a text has more than half of some words."""
    return 2 * len(keys & words) > len(keys)
