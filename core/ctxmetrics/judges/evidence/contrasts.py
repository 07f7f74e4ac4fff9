"""Finds phrases with contrary meanings: all and some, before and after, above and below, rose and fell.

The phrases are listed in ``contrasts.json``, in groups of values. Most are contrary only beside the same word: "all seats"
contradicts "some seats", but not "some doors". Two different letters behind the same number or word are contrary, too: section 4(b)
and section 4(c), gate C and gate D.

"At least 20 kg" and "up to 20 kg" hold the same number, and are contrary. The phrases of such bounds are listed in ``bounds.json``. A
phrase counts if it stands before or behind its number, with at most one word between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.judges.evidence.chunks import (
    ROMAN_NUMERALS,
    Token,
    get_folded,
    get_kind,
    get_spelling,
    join_spellings,
    read_phrase,
)

_NUMBER_KINDS = frozenset(("number", "count"))
# The kinds of words that a rule may read as a value: numbers, and characters of a script without spaces.
_KINDS_WITH_VALUES = frozenset(("number", "characters"))
# The maximum number of stop words between a phrase and its word.
_MAX_SKIPPED_WORDS = 3
# A word of two characters is read as this many pairs: its own, and one with each neighbour.
_PAIRS_OF_WORD = 3
# The names of groups whose values are found by a rule. All other groups are in the lists.
BOTH = "both and a number"
_LETTER_GROUP = "letter behind a number"
_LABEL_GROUP = "letter behind a word"
_FIRST_INITIAL_GROUP = "initial before a name"
_LABEL_BEFORE_GROUP = "letter before a word"
_FREQUENCY_GROUP = "frequency"
_DURATION_KINDS = frozenset(("s", "day", "month"))
_EVERY = frozenset(
    ("every", "each", "alle", "les", "cada", "ogni", "elke", "co", "каждые", "кожні", "kazde", "varje")
)
_CHANGE_GROUP = "by or to"
_CHANGE_WORDS: Mapping[str, str] = {
    "by": "by",
    "um": "by",
    "на": "by",
    "to": "to",
    "auf": "to",
    "до": "to",
}
_MEASURES_OF_CHANGE = frozenset(("%", "money"))
_RESULT_GROUP = "result with a word between"
# Words between the two numbers of a result: 7 votes to 3.
_RESULT_JOINTS = frozenset(
    (
        "to",
        "against",
        "versus",
        "gegen",
        "zu",
        "contre",
        "à",
        "a",
        "contra",
        "contro",
        "tegen",
        "против",
    )
)
_NUMERAL_GROUP = "numeral behind a name"
# The name of the group with "must" and "may" in the lists.
_MODAL_GROUP = "must or may"
_NUMERALS: Mapping[str, str] = {"I": "1", "V": "5", "X": "10", **ROMAN_NUMERALS}
_LATIN_NUMERALS = frozenset(("bis", "ter", "quater"))
# These kinds of quantities are no amounts: "until 20:00" is no bound.
_KINDS_WITHOUT_AMOUNT = frozenset(("time", "date", "code", "zone"))
# A negation up to this many words before a phrase denies it: "is not allowed" is not contrary to "is forbidden".
_MAX_WORDS_BEHIND_NEGATION = 3
# Characters of Chinese, Japanese and Korean with contrary meanings. Two words of two characters are contrary if they differ in
# such a character only: 北门 and 南门, 前半 and 後半. Each text lists the spellings of one meaning.
_CONTRARY_CHARACTERS = (
    ("东東동", "西서", "南남", "北북"),
    ("左좌", "右우"),
    ("上상", "下하"),
    ("前전", "后後후"),
    ("内內내", "外외"),
    ("进進入", "出"),
    ("男", "女"),
    ("大", "小"),
    ("高", "低"),
    ("长長", "短"),
    ("早", "晚"),
    ("开開", "关閉闭"),
    ("买買", "卖売賣"),
    ("胜勝", "负敗败負"),
    ("升", "降"),
    ("增", "减減"),
    ("新", "旧舊"),
    ("冷", "热熱"),
    ("公", "私"),
    ("有", "无無"),
    ("生", "死"),
)


# The group and the value of each of these characters, as `PhraseValue` has them.
_VALUES_OF_CHARACTERS: dict[str, tuple[str, str]] = {}
for _meanings in _CONTRARY_CHARACTERS:
    _group = f"character {_meanings[0][0]}"
    for _spellings in _meanings:
        _VALUES_OF_CHARACTERS.update(dict.fromkeys(_spellings, (_group, _spellings[0])))


class Contradiction(NamedTuple):
    """The words of a unit and of its evidence that contradict each other.

    Attributes:
        kind: ``negation``, ``number``, ``name`` or ``reservation``.
        unit: The words of the unit.
        context: The words of the evidence that contradict them. Empty if only the unit has a negation.
    """

    kind: str
    unit: str
    context: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.unit!r}" + (f" against {self.context!r}" if self.context else "")


class PhraseValue(NamedTuple):
    """A phrase of a text that has a contrary, such as "all" or "some".

    Attributes:
        group: The name of the phrase's group. "all", "some" and "none" are values of one group, and contrary to each other.
        value: The name of the phrase's value in the group.
        beside: The keys of the words that the phrase is about; empty if it may be any word.
        spelling: The phrase as the text writes it.
        position: The position of its first word in the text; -1 if a rule found the value.
    """

    group: str
    value: str
    beside: frozenset[str]
    spelling: str
    position: int = -1

    def contradicts(self, other: PhraseValue) -> bool:
        """Whether two phrases about the same word have contrary values of one group."""
        if self.group != other.group or not self.is_beside(other):
            return False
        return _are_contrary(self.group, self.value, other.value)

    def list_positions(self) -> list[int]:
        """Return the positions of the words of the phrase."""
        return [*range(self.position, self.position + len(self.spelling.split()))]

    def is_beside(self, other: PhraseValue) -> bool:
        """Whether two phrases are about the same word."""
        return self.beside == other.beside or not self.beside.isdisjoint(other.beside)


class _ListedPhrase(NamedTuple):
    """A phrase of the lists.

    Attributes:
        words: The words of the phrase without case. Cyrillic words are stems.
        key_index: The index of its longest word. Only texts with this word are searched for the phrase.
        group: The name of its group.
        value: The name of its value in the group.
        place: The place of the word that the phrase is about: ``behind``, ``before``, ``around`` or ``anywhere``. A phrase with the
            place ``last`` counts only at the end of a clause, and is about the word before it: "the heater is off".
    """

    words: tuple[str, ...]
    key_index: int
    group: str
    value: str
    place: str


@lru_cache(maxsize=1)
def _read_groups() -> Mapping[str, Mapping[str, Any]]:
    """Read the groups of phrases, by their names."""
    groups: Mapping[str, Mapping[str, Any]] = read_data("judges.evidence", "contrasts.json")["groups"]
    return groups


def has_converse(group: str) -> bool:
    """Whether the values of a group say the same with exchanged names: Oslo lies north of Rome, Rome lies south of Oslo."""
    return bool(_read_groups().get(group, {}).get("converse"))


@lru_cache(maxsize=1024)
def _are_contrary(group: str, value: str, other: str) -> bool:
    """Tell whether two values of a group are contrary. Values that the group lists as alike, such as "some" and "many", are not."""
    groups = _read_groups()
    alike = groups[group].get("alike", ()) if group in groups else ()
    are_alike = value in alike and other in alike
    return value != other and not are_alike


def _get_forms(words: Sequence[Token]) -> Sequence[str]:
    """Return the form of each word for comparison with the lists: its folded form, or the stem of a Cyrillic word.

    Cyrillic words have too many endings to list.
    """
    forms = [*map(get_folded, words)]
    if "".join(forms).isascii():
        return forms  # the usual case
    return [word.key if "\u0400" <= word.folded[:1] <= "\u052f" else word.folded for word in words]


@lru_cache(maxsize=1)
def _read_phrases() -> Mapping[str, Sequence[_ListedPhrase]]:
    """Read the phrases on first use, by their longest words."""
    phrases: dict[str, list[_ListedPhrase]] = {}
    for name, group in _read_groups().items():
        place = group["beside"]
        for value, spellings in group["values"].items():
            for spelling in spellings:
                if _is_plain(spelling):
                    words = spelling.lower().split()
                else:
                    words = [*_get_forms(read_phrase(spelling))]
                key_index = _find_key_word(words)
                phrase = _ListedPhrase(tuple(words), key_index, name, value, place)
                phrases.setdefault(words[key_index], []).append(phrase)
    return phrases


def _is_plain(spelling: str) -> bool:
    """Whether a phrase has only ASCII letters and blanks. Such words are compared as they are written."""
    return spelling.isascii() and spelling.replace(" ", "").isalpha()


def _find_key_word(words: Sequence[str]) -> int:
    """Return the index of the longest word of a phrase, by which the phrase is looked up."""
    return words.index(max(words, key=len)) if len(words) > 1 else 0


def may_hold_values(words: Sequence[Token]) -> bool:
    """Whether a text may have a phrase with a contrary. A quick check for the usual case."""
    if not _read_phrases().keys().isdisjoint(_get_forms(words)):
        return True
    kinds = {*map(get_kind, words)}
    return not kinds.isdisjoint(_KINDS_WITH_VALUES) or _holds_capital(words)


def _holds_capital(words: Sequence[Token]) -> bool:
    """Whether one of some words is one capital letter."""
    spellings = [*map(get_spelling, words)]
    if 1 not in map(len, spellings):
        return False  # the usual case
    return any(len(spelling) == 1 and spelling.isupper() for spelling in spellings)


def _is_capital(word: Token) -> bool:
    """Whether a word is one capital letter."""
    return len(word.spelling) == 1 and word.spelling.isupper()


def find_values(
    words: Sequence[Token], is_content: Sequence[bool], negations: Sequence[int] = ()
) -> list[PhraseValue]:
    """Find the phrases of a text that have a contrary, such as "up", each with the content words beside it.

    Args:
        words: The words of the text.
        is_content: Whether each of them is a content word.
        negations: The positions of words that deny. A phrase shortly behind a negation is left out.

    >>> from ctxmetrics.judges.evidence.words import tokenize
    >>> [(one.value, *one.beside) for one in find_values(tokenize("All seats fell."), [False, True, True])]
    [('all', 'seat'), ('down',)]
    """
    forms = _get_forms(words)
    values: list[PhraseValue] = []
    values += _find_values_outside_phrases(words, is_content)
    # For each group of phrases, the first position that no phrase covers: "second largest" is not also "largest".
    next_free: dict[str, int] = {}
    for start, phrase in _find_phrases(forms):
        if start < next_free.get(phrase.group, 0):
            continue
        end = start + len(phrase.words)
        next_free[phrase.group] = end
        if any(start - _MAX_WORDS_BEHIND_NEGATION <= position < start for position in negations):
            continue
        if phrase.group == _MODAL_GROUP and end in negations:
            continue  # "must not" says the same as "may not"
        if phrase.place == "last" and end < len(words) and not words[end - 1].ends_clause:
            continue
        beside = _find_beside(words, start, end, phrase.place, is_content)
        if beside or phrase.place == "anywhere":
            spelling = join_spellings(words[start:end])
            values.append(PhraseValue(phrase.group, phrase.value, beside, spelling, start))
    return values


def _find_values_outside_phrases(
    words: Sequence[Token], is_content: Sequence[bool]
) -> list[PhraseValue]:
    """Find the values that rules find. Each rule runs only if the text has one of the rule's words."""
    values: list[PhraseValue] = []
    kinds = {*map(get_kind, words)}
    holds_capital = _holds_capital(words)
    if kinds.isdisjoint(_KINDS_WITH_VALUES) and not holds_capital:
        return values  # the usual case
    folded = {*map(get_folded, words)}
    if "number" in kinds:
        values += _find_letters(words)
    if "characters" in kinds:
        values += _find_characters(words)
    if holds_capital:
        values += _find_labels(words, is_content)
    if not _CHANGE_WORDS.keys().isdisjoint(folded):
        values += _find_changes(words)
    if not _EVERY.isdisjoint(folded):
        values += _find_frequencies(words)
    if not _NUMERALS.keys().isdisjoint(map(get_spelling, words)):
        values += _find_numerals(words)
    if not _RESULT_JOINTS.isdisjoint(folded):
        values += _find_results(words)
    return values


def _find_phrases(forms: Sequence[str]) -> list[tuple[int, _ListedPhrase]]:
    """Return the phrases of a text with their first positions, in order. At one position, the longest phrase comes first."""
    phrases_by_key_word = _read_phrases()
    starts_and_phrases = []
    key_positions = [position for position, form in enumerate(forms) if form in phrases_by_key_word]
    for position in key_positions:
        for phrase in phrases_by_key_word[forms[position]]:
            start = position - phrase.key_index
            is_one_word = len(phrase.words) == 1
            if is_one_word or (
                start >= 0 and tuple(forms[start : start + len(phrase.words)]) == phrase.words
            ):
                starts_and_phrases.append((start, phrase))
    starts_and_phrases.sort(key=lambda pair: (pair[0], -len(pair[1].words)))
    return starts_and_phrases


@lru_cache(maxsize=512)
def _read_keys(group: str) -> Mapping[str, frozenset[str]]:
    """Return for each value of a group the keys (`Token.key`) of the longest words of its phrases."""
    keys: dict[str, set[str]] = {}
    for value, spellings in _read_groups()[group]["values"].items():
        for spelling in spellings:
            if _is_plain(spelling):
                spellings_of_words = spelling.split()
                (key_word,) = read_phrase(spellings_of_words[_find_key_word(spellings_of_words)])
            else:
                words = read_phrase(spelling)
                key_word = words[_find_key_word(_get_forms(words))]
            keys.setdefault(value, set()).add(key_word.key)
    return {value: frozenset(word_keys) for value, word_keys in keys.items()}


@lru_cache(maxsize=1024)
def find_contrary_keys(group: str, value: str) -> frozenset[str] | None:
    """Return keys: a text without any of them has no contrary value. None if any number or letter may be a contrary value."""
    if group in {BOTH, _FREQUENCY_GROUP} or group not in _read_groups():
        return None
    values = _read_keys(group)
    return frozenset().union(*(values[other] for other in values if _are_contrary(group, other, value)))


def find_numbers(words: Sequence[Token]) -> Iterator[PhraseValue]:
    """Yield the plain numbers before a word as values: "both keys" is contrary to "3 keys"."""
    for position, word in enumerate(words[:-1]):
        is_number = word.kind == "number" or (word.kind == "count" and word.key != "1")
        if is_number and not word.measures and not word.ends_clause:
            value = "both" if word.key == "2" else word.key
            yield PhraseValue(BOTH, value, frozenset((words[position + 1].key,)), word.spelling)


def _find_letters(words: Sequence[Token]) -> Iterator[PhraseValue]:
    """Yield the single letters behind a number, and the Latin words that are used like them."""
    for number, word in pairwise(words):
        if number.kind != "number" or number.ends_clause:
            continue
        is_letter = len(word.folded) == 1 and word.kind == "word"
        if is_letter or word.folded in _LATIN_NUMERALS:
            yield PhraseValue(_LETTER_GROUP, word.folded, frozenset((number.key,)), word.spelling)


def _find_labels(words: Sequence[Token], is_content: Sequence[bool]) -> Iterator[PhraseValue]:
    """Yield the single capital letters behind a word (gate C, vitamins A, B and D) or before one (the X axis).

    A letter before a word with a capital is an initial: John F. Kennedy. An I is a pronoun or a numeral.
    """
    name = ""  # the key of the word that the next letter belongs to
    is_behind_letter = False
    for position, word in enumerate(words):
        if not _is_capital(word):
            if is_content[position] and len(word.folded) > 1 and not word.ends_clause:
                name = word.key
            elif not is_behind_letter:  # "and" may stand before the last letter of a series
                name = ""
            is_behind_letter = False
            continue
        is_behind_letter = True
        next_words = words[position + 1 : position + 2]
        has_capital_behind = bool(next_words) and next_words[0].spelling[:1].isupper()
        is_initial = has_capital_behind and not _is_capital(next_words[0])
        if is_initial and position == 0:
            beside = frozenset((next_words[0].key,))
            yield PhraseValue(_FIRST_INITIAL_GROUP, word.folded, beside, word.spelling)
        if word.spelling == "I" or is_initial:
            continue
        if name:
            yield PhraseValue(_LABEL_GROUP, word.folded, frozenset((name,)), word.spelling)
        elif next_words and not word.ends_clause and _may_have_label(word, next_words[0], position):
            beside = frozenset((next_words[0].key,))
            yield PhraseValue(_LABEL_BEFORE_GROUP, word.folded, beside, word.spelling)


def _may_have_label(letter: Token, word: Token, position: int) -> bool:
    """Whether a letter may be a label of the word behind it: the X axis, A社. At the beginning of a text, an A is an article."""
    if word.kind.startswith("character"):
        return True
    is_article = letter.spelling == "A" and position == 0
    return not is_article and word.kind == "word" and len(word.folded) > 2  # noqa: PLR2004 - letters of "is"


def _find_characters(words: Sequence[Token]) -> Iterator[PhraseValue]:
    """Yield each character that has a contrary, with the other character of its pair."""
    for word in words:
        if word.kind != "characters":
            continue
        for position, character in enumerate(word.key[:2]):
            value = _VALUES_OF_CHARACTERS.get(character)
            if value is not None:
                other_character = f"{word.key[:position]}·{word.key[position + 1 :]}"
                yield PhraseValue(*value, frozenset((other_character,)), word.spelling)


def _find_frequencies(words: Sequence[Token]) -> Iterator[PhraseValue]:
    """Yield the durations behind a word such as every: every two years."""
    for every, duration in pairwise(words):
        if duration.measures in _DURATION_KINDS and every.folded in _EVERY:
            yield PhraseValue(_FREQUENCY_GROUP, duration.key, frozenset(), duration.spelling)


def _find_changes(words: Sequence[Token]) -> Iterator[PhraseValue]:
    """Yield the words before the size of a change or its result: fell by 12 %, fell to 12 %."""
    for word, number in pairwise(words):
        value = _CHANGE_WORDS.get(word.folded)
        if value is not None and number.kind == "number" and number.measures in _MEASURES_OF_CHANGE:
            yield PhraseValue(_CHANGE_GROUP, value, frozenset((number.key,)), word.spelling)


def _find_numerals(words: Sequence[Token]) -> Iterator[PhraseValue]:
    """Yield the numerals behind a name: World War I, Louis XIV."""
    for name, numeral in pairwise(words):
        value = _NUMERALS.get(numeral.spelling)
        if value is not None and not name.ends_clause and name.spelling[:1].isupper():
            yield PhraseValue(_NUMERAL_GROUP, value, frozenset((name.key,)), numeral.spelling)


def _find_results(words: Sequence[Token]) -> Iterator[PhraseValue]:
    """Yield the two numbers of a result with the word of the first between them: 7 votes to 3."""
    for position, joint in enumerate(words):
        if joint.folded not in _RESULT_JOINTS or not 1 < position < len(words) - 1:
            continue
        first, word, _, second = words[position - 2 : position + 2]
        is_one_clause = not (first.ends_clause or word.ends_clause or joint.ends_clause)
        has_two_numbers = first.kind in _NUMBER_KINDS and second.kind in _NUMBER_KINDS
        if is_one_clause and word.kind == "word" and has_two_numbers:
            spelling = f"{first.spelling} {word.spelling} {joint.spelling} {second.spelling}"
            yield PhraseValue(
                _RESULT_GROUP, f"{first.key}:{second.key}", frozenset((word.key,)), spelling
            )


def _overlap(first: Token, second: Token) -> bool:
    """Whether two pairs of characters share the one in the middle."""
    is_pair = first.kind == "characters" and second.kind == "characters"
    return is_pair and first.spelling[-1] == second.spelling[0]


def _find_beside(
    words: Sequence[Token], start: int, end: int, place: str, is_content: Sequence[bool]
) -> frozenset[str]:
    """Return the keys of the words that a phrase is about: the nearest content words on the sides that its place names.

    Args:
        words: The words of the text.
        start: The position of the first word of the phrase.
        end: The position behind its last word.
        place: The sides on which the words stand (`_ListedPhrase.place`).
        is_content: Whether each word of the text is a content word.
    """
    positions: list[int | None] = []
    if place in {"behind", "around"} and not words[end - 1].ends_clause:
        shares_character = end < len(words) and _overlap(words[end - 1], words[end])
        first = end + 1 if shares_character else end
        positions.append(_find_content_behind(words, first, is_content))
    if place in {"before", "around", "last"}:
        shares_character = start > 0 and _overlap(words[start - 1], words[start])
        first = start - 2 if shares_character else start - 1
        positions.append(_find_content_before(words, first, is_content))
    return frozenset(words[position].key for position in positions if position is not None)


def _find_content_behind(words: Sequence[Token], first: int, is_content: Sequence[bool]) -> int | None:
    """Return the position of the nearest content word from a position on, in the same clause; None for none."""
    for position in range(first, min(len(words), first + _MAX_SKIPPED_WORDS + 1)):
        if is_content[position]:
            return position
        if words[position].ends_clause:
            return None
    return None


def _find_content_before(words: Sequence[Token], first: int, is_content: Sequence[bool]) -> int | None:
    """Return the position of the nearest content word from a position backwards, in the same clause; None for none."""
    for position in range(first, max(-1, first - _MAX_SKIPPED_WORDS - 1), -1):
        if words[position].ends_clause:
            return None
        if is_content[position]:
            return position
    return None


class Bound(NamedTuple):
    """A phrase that makes a number a minimum or a maximum: "at least 5".

    Attributes:
        is_least: Whether the number is a minimum; else it is a maximum.
        spelling: The phrase and the number.
    """

    is_least: bool
    spelling: str


class BoundPhrases(NamedTuple):
    """The phrases that make a number a minimum or a maximum.

    Attributes:
        before: For each phrase before a number, by its words: whether it makes the number a minimum.
        behind: The same for the phrases behind the number.
        longest: The number of words of the longest phrase.
        beside: The words that stand beside a number: the last word of each phrase before it, the first word of each phrase behind
            it.
    """

    before: Mapping[str, bool]
    behind: Mapping[str, bool]
    longest: int
    beside: AbstractSet[str]

    def find(self, words: Sequence[Token], position: int) -> Bound | None:
        """Return the bound of the number at a position.

        >>> from ctxmetrics.judges.evidence.words import tokenize
        >>> read_bound_phrases().find(tokenize("It may weigh up to 20 kg."), 5)
        Bound(is_least=False, spelling='up to 20 kg')
        """
        spelling = words[position].spelling
        if spelling[-1] == "+":  # 18+
            return Bound(True, spelling)
        # A phrase ends right before the number, or one word before. In a script without spaces that word has two pairs of
        # characters, and shares one with each neighbour: 至少需要五个人.
        is_behind_pair = position > 0 and words[position - 1].kind == "characters"
        words_between = _PAIRS_OF_WORD if is_behind_pair else 1
        near = words[max(0, position - words_between - 1) : position + 3]
        if self.beside.isdisjoint([word.folded for word in near]):
            return None  # the usual case
        for phrase_end in range(position, position - words_between - 1, -1):
            for size in range(min(self.longest, phrase_end), 0, -1):
                phrase_start = phrase_end - size
                is_least = self.before.get(_join_folded(words[phrase_start:phrase_end]))
                if is_least is not None:
                    return Bound(is_least, join_spellings(words[phrase_start : position + 1]))
        for phrase_start in (position + 1, position + 2):
            for size in range(self.longest, 0, -1):
                phrase_end = phrase_start + size
                is_least = self.behind.get(_join_folded(words[phrase_start:phrase_end]))
                if is_least is not None:
                    return Bound(is_least, join_spellings(words[position:phrase_end]))
        return None


def is_amount(token: Token) -> bool:
    """Whether a word is a number that may have a bound."""
    return token.kind == "number" and token.measures not in _KINDS_WITHOUT_AMOUNT


def _join_folded(words: Sequence[Token]) -> str:
    """Return words without case, one blank between them."""
    return " ".join([word.folded for word in words])


@lru_cache(maxsize=1)
def read_bound_phrases() -> BoundPhrases:
    """Read the phrases on first use, because the patterns of all scripts take some milliseconds."""
    lists = read_data("judges.evidence", "bounds.json")
    before: dict[str, bool] = {}
    behind: dict[str, bool] = {}
    for name in ("least", "most"):
        for phrase in lists[name]:
            before[_join_folded(read_phrase(phrase))] = name == "least"
        for phrase in lists[f"{name}_behind"]:
            behind[_join_folded(read_phrase(phrase))] = name == "least"
    longest = max(phrase.count(" ") for phrase in (*before, *behind)) + 1
    beside = {phrase.rsplit(maxsplit=1)[-1] for phrase in before}
    beside.update(phrase.split(maxsplit=1)[0] for phrase in behind)
    return BoundPhrases(before, behind, longest, beside)
