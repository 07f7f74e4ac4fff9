"""Whether evidence has another name or number in the place of one of the unit.

"It was designed in Graz by two brothers" is denied by "It was designed in Turin by two brothers": the words on both sides are
the same. Of 2,617 true claims that people judged this flags none (`benchmarks/validity/doubts.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ctxmetrics.judges.evidence.chunks import Token
from ctxmetrics.judges.evidence.contradiction import Contradiction
from ctxmetrics.judges.evidence.word_forms import base_language
from ctxmetrics.judges.evidence.words import get_word_list, tokenize

# The share of the unit's other content words that a sentence has at least if it is about the same.
_MIN_SHARED_WORD_SHARE = 0.5
# Letters that two forms of one name share.
_STEM_LETTERS = 4
_MIN_NAME_LETTERS = 3
# Languages that write all nouns with a capital letter.
_CAPITAL_NOUNS = frozenset({"de"})


def find_replaced_word(
    unit: str, evidence: Sequence[str], contexts: Iterable[str], language: str
) -> Contradiction | None:
    """Find a name or number of the unit that a sentence of the evidence replaces by another one; None if there is none.

    Args:
        unit: The unit.
        evidence: The sentences that hold its evidence.
        contexts: All contexts. The name or number counts only if no context has it.
        language: ISO 639 code.

    >>> str(find_replaced_word("It was built in Graz by monks.", ["It was built in Turin by monks."], [], "en"))
    "name: 'Graz' against 'Turin'"
    >>> str(find_replaced_word("The hall has 12 windows.", ["The hall has 14 windows."], [], "en"))
    "number: '12' against '14'"
    """
    unit_words = tokenize(unit)
    unit_keys = {word.key for word in unit_words}
    stop_words = get_word_list("stop", language)
    content_keys = {word.key for word in unit_words if word.folded not in stop_words}
    sentences = [tokenize(text) for text in evidence]
    evidence_keys: set[str] = set()
    for words in sentences:
        evidence_keys.update(word.key for word in words)
    for position in _find_facts(unit_words, evidence_keys, language):
        fact = unit_words[position]
        other_keys = content_keys - {fact.key}
        for words in sentences:
            shared_keys = other_keys.intersection(word.key for word in words)
            if not shared_keys or len(shared_keys) < _MIN_SHARED_WORD_SHARE * len(other_keys):
                continue
            replacement = _find_in_place(unit_words, position, words)
            if replacement is None or replacement.key in unit_keys:
                continue
            if _is_form_of(fact, replacement) or _stands_in_any(fact, contexts):
                continue
            kind = "number" if fact.kind == "number" else "name"
            return Contradiction(kind, fact.spelling, replacement.spelling)
    return None


def _stands_in_any(word: Token, texts: Iterable[str]) -> bool:
    """Whether a text has a word."""
    return any(word.key == other.key for text in texts for other in tokenize(text))


def _find_facts(words: Sequence[Token], evidence_keys: set[str], language: str) -> Iterator[int]:
    """Yield the positions of the names and plain numbers that the evidence lacks.

    The first word is skipped, because any first word has a capital letter.
    """
    has_capital_nouns = base_language(language) in _CAPITAL_NOUNS
    for position, word in enumerate(words[1:], 1):
        if word.key in evidence_keys:
            continue
        if _is_plain_number(word) or (_is_name(word) and not has_capital_nouns):
            yield position


def _find_in_place(unit: Sequence[Token], position: int, words: Sequence[Token]) -> Token | None:
    """Find the word of the same kind that stands between the neighbours of a word of the unit; None if there is none."""
    fact = unit[position]
    key_before = unit[position - 1].key
    # The keys of the next word; none behind the last word.
    next_keys = [word.key for word in unit[position + 1 : position + 2]]
    for index in range(1, len(words)):
        if words[index - 1].key != key_before:
            continue
        if [word.key for word in words[index + 1 : index + 2]] != next_keys:
            continue
        candidate = words[index]
        are_numbers = _is_plain_number(fact) and _is_plain_number(candidate)
        are_names = _is_name(fact) and _is_name(candidate)
        if are_numbers or are_names:
            return candidate
    return None


def _is_plain_number(word: Token) -> bool:
    """Whether a word is a number that measures nothing."""
    return word.kind == "number" and not word.measures


def _is_name(word: Token) -> bool:
    """Whether a word has a capital first letter and small letters behind it."""
    spelling = word.spelling
    return word.kind == "word" and len(spelling) >= _MIN_NAME_LETTERS and spelling.istitle()


def _is_form_of(word: Token, other: Token) -> bool:
    """Whether two names may be forms of one, such as Porsche and Porsches."""
    return word.kind == "word" and word.folded[:_STEM_LETTERS] == other.folded[:_STEM_LETTERS]
