"""Faults that show only beside other rows: references one row too high or too low, and one answer for two different questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from ctxmetrics.evaluation.gold.answers import is_answer
from ctxmetrics.evaluation.gold.findings import Finding
from ctxmetrics.evaluation.gold.passages import Passages
from ctxmetrics.evaluation.gold.question import Question
from ctxmetrics.evaluation.gold.values import NUMBER_KINDS, have_contraries
from ctxmetrics.judges.evidence.chunks import Token

# A text fits the question of another row better if it has this much more of the weight of that question's words.
_MIN_LEAD = 0.2
# The minimum number of rows, one after another, whose different texts fit the question of the row beside them better ..
_MIN_SHIFTED_ROWS = 3
# .. and their minimum share of a stretch. The other texts between them fit both questions alike.
_MIN_SHIFTED_SHARE = 0.7
# Two questions are nearly the same if they differ by at most this number of words ..
_MAX_DIFFERENT_WORDS = 1
# .. or of pairs of characters, in a script without blanks: there, one word is several pairs.
_MAX_DIFFERENT_PAIRS = 5


def check_neighbours(questions: Sequence[Question], passages: Passages) -> Iterator[Finding]:
    """Find rows whose reference or gold is that of the next or the previous row, and answers to nearly the same question."""
    columns = {
        "reference": [_find_reference_words(question) for question in questions],
        "gold": [_find_gold_words(question) for question in questions],
    }
    shifted: dict[int, Finding] = {}  # the first finding of each row
    for column, words in columns.items():
        for step, side in ((1, "next"), (-1, "previous")):
            evidence = f"the {column} fits the question of the {side} row"
            for finding in _find_shifted(questions, words, passages, step, evidence):
                shifted.setdefault(finding.number, finding)
    yield from shifted.values()
    yield from _check_similar_questions(questions)


# --- columns that were pasted one row too high or too low ---


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
    contents = [question.find_content(question.text) for question in questions]
    leads: list[float] = []
    for row, row_words in enumerate(words):
        neighbour = row + step
        if not 0 <= neighbour < len(questions):
            leads.append(0.0)
            continue
        # Words of both questions tell nothing apart.
        own_content = contents[row] - contents[neighbour]
        other_content = contents[neighbour] - contents[row]
        other_fit = _measure_fit(other_content, row_words, passages)
        leads.append(other_fit - _measure_fit(own_content, row_words, passages))
    for stretch in _list_stretches(leads):
        # Several questions in a row may be about one passage, which fits some of them better than others.
        different_words = {words[row] for row in stretch}
        if len(different_words) < _MIN_SHIFTED_ROWS:
            continue
        for row in stretch:
            yield questions[row].make_finding(
                "shifted_rows",
                f"{evidence} better than its own, as in {len(stretch)} rows one after another",
            )


def _measure_fit(content: frozenset[str], words: frozenset[str], passages: Passages) -> float:
    """Measure the share of the weight of a question's words that a text has."""
    shared_words = content & words
    if not shared_words:
        return 0.0  # the usual case of the question of another row
    return sum(map(passages.weigh, shared_words)) / sum(map(passages.weigh, content))


def _list_stretches(leads: Sequence[float]) -> Iterator[range]:
    """Yield the stretches of rows of which enough fit the row beside them better, and none fits its own row better.

    Args:
        leads: For each row, by how much it fits the row beside it better than its own. It is negative if it fits its own better.
    """
    better_beside: list[
        int
    ] = []  # the rows that fit the row beside them better, since the last row that fits its own better
    # A row behind the last one ends the last stretch.
    for row, lead in enumerate([*leads, -_MIN_LEAD]):
        if lead >= _MIN_LEAD:
            better_beside.append(row)
        elif lead <= -_MIN_LEAD:
            if len(better_beside) >= _MIN_SHIFTED_ROWS:
                stretch = range(better_beside[0], better_beside[-1] + 1)
                if len(better_beside) >= _MIN_SHIFTED_SHARE * len(stretch):
                    yield stretch
            better_beside = []


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
    """Tell whether the answer of two questions belongs to the other one: it has the word in which that one differs."""
    own_words = _list_words_without(question, other.word_keys)
    other_words = _list_words_without(other, question.word_keys)
    own_keys = frozenset(word.key for word in own_words)
    other_keys = frozenset(word.key for word in other_words)
    is_unspaced = any(word.kind not in {"word", *NUMBER_KINDS} for word in own_words)
    max_words = _MAX_DIFFERENT_PAIRS if is_unspaced else _MAX_DIFFERENT_WORDS
    if not own_keys or not other_keys or max(len(own_keys), len(other_keys)) > max_words:
        return False
    gold_words = frozenset[str]().union(*question.gold_content)
    is_other_answer = any(
        _has_most(words, other_keys) and own_keys.isdisjoint(words)
        for words in (question.reference_content, gold_words)
    )
    if not is_other_answer:
        return False
    # A word that only replaces another one, as "buy" does "purchase", changes no answer.
    are_numbers = all(word.kind in NUMBER_KINDS for word in (*own_words, *other_words))
    return are_numbers or _has_most(gold_words, own_keys) or have_contraries(own_words, other_words)


def _list_words_without(question: Question, keys: frozenset[str]) -> Sequence[Token]:
    """List the words of a question that carry a meaning, without some words."""
    content = question.find_content(question.text) - keys
    return [word for word in question.words if word.key in content]


def _has_most(words: frozenset[str], keys: frozenset[str]) -> bool:
    """Tell whether a text has more than half of some words."""
    return 2 * len(keys & words) > len(keys)
