"""Whether evidence has another name or number in the place of one of the unit, or two of its names in exchanged places.

"It was designed in Graz by two brothers" is denied by "It was designed in Turin by two brothers": the words on both sides are
the same. Of 2,617 true claims that people judged this flags none (`benchmarks/validity/doubts.py`).

"Anna beat Bernd" is denied by "Bernd beat Anna". Two names of a text are a pair if a few words stand between them that give
them different roles: "beat", "is older than", and "to" in "from Bremen to Kassel", but not "and" or "married". Another text
exchanges the pair if it has the same words between the same names in the other order. An exchange is a reason to doubt, and no
more. Of 1,452 true claims that people judged this flags none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise, product
from typing import NamedTuple

from ctxmetrics.judges.evidence.chunks import Token, get_spelling, join_spellings
from ctxmetrics.judges.evidence.contrasts import Contradiction
from ctxmetrics.judges.evidence.word_forms import JOINING_WORDS, LISTS, base_language
from ctxmetrics.judges.evidence.words import find_equal_key, get_word_list, list_keys, tokenize

# The share of the unit's other content words that a sentence has at least if it is about the same.
_MIN_SHARED_WORD_SHARE = 0.5
# The share and the number of these words that it has at least if only the word before the name must be equal.
_MIN_SHARED_WORD_SHARE_BEFORE_END = 0.8
_MIN_SHARED_WORDS_BEFORE_END = 2
# Letters that two forms of one name share.
_STEM_LETTERS = 4
_MIN_NAME_LETTERS = 3
# Languages that write all nouns with a capital letter.
_CAPITAL_NOUNS = frozenset({"de"})
_MAX_WORDS_BETWEEN = 6
_MAX_WORDS_OF_NAME = 4
# The maximum number of words of a phrase that is exchanged with another: carbon dioxide.
_MAX_WORDS_OF_PHRASE = 3
# Words without content of all languages: the language of a text may be guessed wrong.
_STOP_WORDS = frozenset(
    word
    for purpose in ("stop", "articles")
    for language in LISTS[purpose]
    for word in get_word_list(purpose, language)
)
# Letters that the ending of an adjective changes: Spanish "más alta", "más alto".
_FINAL_VOWELS = "aeo"
# What a distance is measured in: metres and inches, and their multiples.
_DISTANCES = frozenset(("m", "in"))
# What a number may be that is no amount.
_KINDS_WITHOUT_AMOUNT = frozenset(("time", "date", "weekday", "month", "zone"))
# What a number without a unit measures: nothing, a number in words or with a scale, a fraction.
_MEASURES_WITHOUT_UNIT = frozenset(("", "number", "fraction"))
# Longer texts have names in many roles.
_MAX_WORDS_OF_STATEMENT = 40


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
        evidence_keys.update(list_keys(words))
    for position in _find_facts(unit_words, evidence_keys, language):
        fact = unit_words[position]
        name_end = _find_end_of_name(unit_words, position)
        other_keys = content_keys - {word.key for word in unit_words[position:name_end]}
        for words in sentences:
            shared_keys = other_keys.intersection(word.key for word in words)
            if not shared_keys or len(shared_keys) < _MIN_SHARED_WORD_SHARE * len(other_keys):
                continue
            is_close = len(shared_keys) >= max(
                _MIN_SHARED_WORDS_BEFORE_END, _MIN_SHARED_WORD_SHARE_BEFORE_END * len(other_keys)
            )
            replacement = _find_in_place(unit_words, position, name_end, words, is_close=is_close)
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
    """Yield the positions of the names and amounts that the evidence lacks.

    A first word is no name, because any first word has a capital letter.
    """
    has_capital_nouns = base_language(language) in _CAPITAL_NOUNS
    for position, word in enumerate(words):
        if word.key in evidence_keys:
            continue
        may_be_name = position > 0 and not has_capital_nouns
        if _is_amount(word) or (may_be_name and _is_name(word)):
            yield position


def _find_end_of_name(words: Sequence[Token], position: int) -> int:
    """Return the position behind the last word of a name, or behind an amount."""
    end = position + 1
    if _is_name(words[position]):
        while end < len(words) and _is_name(words[end]) and not words[end - 1].ends_clause:
            end += 1
    return end


def _find_in_place(
    unit: Sequence[Token], position: int, name_end: int, words: Sequence[Token], *, is_close: bool
) -> Token | None:
    """Find the word of the same kind that stands between the neighbours of a word of the unit; None if there is none.

    Args:
        unit: The words of the unit.
        position: The position of the name or amount in the unit.
        name_end: The position behind it, or behind the last word of a name of several words.
        words: The words of the sentence.
        is_close: Whether the sentence holds nearly all other content words of the unit. Then a name or amount at the end of a clause
            of the unit needs no neighbour behind it: the sentence may go on.
    """
    fact = unit[position]
    # The keys of the word before; none before the first word.
    keys_before = [word.key for word in unit[max(0, position - 1) : position]]
    # The keys of the next word; none behind the last word.
    next_keys = [word.key for word in unit[position + 1 : position + 2]]
    ends_clause = unit[name_end - 1].ends_clause or name_end == len(unit)
    may_go_on = is_close and ends_clause and bool(keys_before)
    for index in range(len(words)):
        if [word.key for word in words[max(0, index - 1) : index]] != keys_before:
            continue
        next_keys_in_sentence = [word.key for word in words[index + 1 : index + 2]]
        if next_keys_in_sentence != next_keys and not may_go_on:
            continue
        candidate = words[index]
        are_numbers = _are_other_amounts(fact, candidate)
        are_names = _is_name(fact) and _is_name(candidate)
        if are_numbers or are_names:
            return candidate
    return None


def _is_amount(word: Token) -> bool:
    """Whether a word is a number, with a unit or letters or without, but no time and no date."""
    return word.kind == "number" and word.measures not in _KINDS_WITHOUT_AMOUNT


def _are_other_amounts(amount: Token, other: Token) -> bool:
    """Whether two words are amounts that certainly differ.

    Miles are not converted to metres. So two units count only behind the same number: 212 °F, 212 °C. A number without a unit may
    be an amount with it: 40, 40 litres.
    """
    if not (_is_amount(amount) and _is_amount(other)) or find_equal_key(amount.key) == other.key:
        return False
    has_same_number = not _list_written_numbers(amount).isdisjoint(_list_written_numbers(other))
    if _is_without_unit(amount) or _is_without_unit(other):
        return not has_same_number
    are_codes = amount.measures.startswith("code") and other.measures.startswith("code")
    return has_same_number or are_codes or amount.measures == other.measures


def _is_without_unit(amount: Token) -> bool:
    """Whether an amount is a plain number, also in words or with a scale: 24, two dozen, 1.5 million."""
    return amount.measures in _MEASURES_WITHOUT_UNIT


def _list_written_numbers(amount: Token) -> frozenset[str]:
    """Return the numbers of an amount without their units, as its parts have them."""
    return frozenset(part for part in (*amount.parts, f"{amount.key}~") if part.endswith("~"))


def _is_name(word: Token) -> bool:
    """Whether a word has a capital first letter and small letters behind it."""
    spelling = word.spelling
    return word.kind == "word" and len(spelling) >= _MIN_NAME_LETTERS and spelling.istitle()


def _is_form_of(word: Token, other: Token) -> bool:
    """Whether two names may be forms of one, such as Porsche and Porsches."""
    return word.kind == "word" and word.folded[:_STEM_LETTERS] == other.folded[:_STEM_LETTERS]


# --- Initials ----------------------------------------------------------------------------------------------------------


def find_initials(words: Sequence[Token]) -> Mapping[tuple[str, str], tuple[str, ...]]:
    """Return the initials between the first and the last name of each person, by the keys of these names.

    >>> from ctxmetrics.judges.evidence.words import tokenize
    >>> find_initials(tokenize("Lee B. Moss met George H. W. Bush."))
    {('lee', 'moss'): ('b',), ('georg', 'bush'): ('h', 'w')}
    """
    initials: dict[tuple[str, str], tuple[str, ...]] = {}
    if 1 not in map(len, map(get_spelling, words)):
        return initials  # the usual case
    first_name = ""
    letters: list[str] = []
    for word in words:
        if len(word.spelling) == 1 and word.spelling.isupper():
            letters.append(word.folded)
            continue
        is_name = _is_name(word)
        if is_name and first_name and letters:
            initials.setdefault((first_name, word.key), tuple(letters))
        first_name = word.key if is_name and not word.ends_clause else ""
        letters = []
    return initials


# A setting of a configuration or an option of a command, with its value: LOG_LEVEL=debug, --level=debug. A mark ends no value.
_SETTING = re.compile(
    r"(?: (?<![\w=<>!.-]) | (?<![^\s`'\"(\[]--) (?<=--) ) ([A-Za-z_][\w.-]{2,40}) = (?![=>]) ([\w/:+-]{0,59}[\w/+])",
    re.VERBOSE,
)


def find_other_setting(unit: str, evidence: Sequence[str]) -> Contradiction | None:
    """Find a setting of the unit to which the evidence gives only another value; None if there is none.

    >>> str(find_other_setting("Set MODE=fast.", ["Set MODE=slow."]))
    "name: 'MODE=fast' against 'MODE=slow'"
    """
    values: dict[str, list[str]] = {}
    for text in evidence:
        for name, value in _SETTING.findall(text):
            values.setdefault(name, []).append(value)
    for name, value in _SETTING.findall(unit):
        if name in values and value not in values[name]:
            return Contradiction("name", f"{name}={value}", f"{name}={values[name][0]}")
    return None


# --- Exchanged words -------------------------------------------------------------------------------------------------


@lru_cache(maxsize=128)
def _get_words(purpose: str, language: str) -> frozenset[str]:
    """Return the words of a list for a language, in small letters. Accents count: Italian "e" is and, "è" is is."""
    return frozenset(LISTS[purpose].get(base_language(language), ()))


class Pair(NamedTuple):
    """Two names with different roles, and the words between them.

    Attributes:
        first: The key of a word of the first name.
        between: The keys of the words between the names, without articles and without the vowels at their ends.
        second: The key of a word of the second name.
    """

    first: str
    between: tuple[str, ...]
    second: str

    def exchange(self) -> Pair:
        """Return the pair with its names in the other order."""
        return Pair(self.second, self.between, self.first)


def find_pairs(words: Sequence[Token], is_content: Sequence[bool], language: str) -> Mapping[Pair, str]:
    """Return the pairs of names of a text that stand near each other, each with the words of the text.

    Args:
        words: The words of the text.
        is_content: Whether each of them is a content word.
        language: ISO 639 code; it chooses the lists. A language without lists has no pairs.

    >>> from ctxmetrics.judges.evidence.words import tokenize
    >>> find_pairs(tokenize("Anna beat Bernd."), [True, True, True], "en")
    {Pair(first='anna', between=('beat',), second='bernd'): 'Anna beat Bernd'}
    """
    pairs: dict[Pair, str] = {}
    if len(words) > _MAX_WORDS_OF_STATEMENT or not _get_words("equal_roles", language):
        return pairs
    than_words = _get_words("comparatives", language)
    than_words_behind = _get_words("comparatives_behind", language)
    spellings = [*map(get_spelling, words)]
    may_be_names = [spelling for spelling in spellings if spelling[:1].isupper() or "'" in spelling]
    compares = not (than_words | than_words_behind).isdisjoint(map(str.lower, spellings))
    if len(may_be_names) <= 1 and not compares:
        return pairs  # the usual case: no word but the first has a capital
    for name, next_name in pairwise(_find_names(words, is_content)):
        if _have_roles(words, is_content, name, next_name, language):
            pairs.update(_build_pairs(words, name, next_name, language))
    for position, word in enumerate(words):
        if word.spelling in than_words_behind:
            pairs.update(_build_pair_before(words, position))
        if word.spelling.lower() not in than_words:
            continue
        compared = _find_compared(words, is_content, position)
        if compared is not None and _have_roles(words, is_content, *compared, language):
            pairs.update(_build_pairs(words, *compared, language))
    return pairs


def _find_names(words: Sequence[Token], is_content: Sequence[bool]) -> Iterator[range]:
    """Yield the positions of each name: content words with a capital that follow each other. The first word may be a name."""
    start = 0
    while start < len(words):
        end = start
        while end < len(words) and is_content[end] and _has_capital(words[end]):
            end += 1
            if words[end - 1].ends_clause:
                break
        if 0 < end - start <= _MAX_WORDS_OF_NAME:
            yield range(start, end)
        start = max(end, start + 1)


def _has_capital(word: Token) -> bool:
    """Whether a word begins with a capital, also behind an elided article: l'Inter."""
    spelling = word.spelling
    if "'" in spelling:
        spelling = spelling.rpartition("'")[2]
    return spelling[:1].isupper()


def _find_compared(
    words: Sequence[Token], is_content: Sequence[bool], than: int
) -> tuple[range, range] | None:
    """Return the positions of the two words that a text compares, which need no capital: "Cats live longer than dogs"."""
    content_before = [position for position in range(than) if is_content[position]]
    content_behind = [position for position in range(than + 1, len(words)) if is_content[position]]
    if not content_before or not content_behind:
        return None
    first = content_before[0]
    second = content_behind[0]
    return range(first, first + 1), range(second, second + 1)


def _build_pair_before(words: Sequence[Token], than: int) -> Mapping[Pair, str]:
    """Build a pair of the two words before a word for "than" that stands behind what it compares with: Hindi "A B से" (than B)."""
    has_neighbours = than > 1 and than + 1 < len(words)
    if not has_neighbours or words[than - 2].ends_clause:
        return {}
    first, second, than_word, adjective = words[than - 2 : than + 2]
    pair = Pair(first.key, (than_word.key, adjective.key), second.key)
    return {pair: f"{first.spelling} {second.spelling}"}


def _have_roles(
    words: Sequence[Token],
    is_content: Sequence[bool],
    name: range,
    next_name: range,
    language: str,
) -> bool:
    """Whether two names stand near each other in one clause, and the words between them give them different roles."""
    between = range(name.stop, next_name.start)
    if not between or len(between) > _MAX_WORDS_BETWEEN:
        return False
    if any(words[position].ends_clause for position in range(name.start, between.stop)):
        return False
    spellings = [words[position].spelling.lower() for position in between]
    if not _get_words("equal_roles", language).isdisjoint(spellings):
        return False
    if any(words[position].measures in _DISTANCES for position in between):  # Lyon is 470 km from Paris
        return False
    has_direction = not _get_words("directions", language).isdisjoint(spellings)
    return has_direction or any(is_content[position] for position in between)


def _build_pairs(
    words: Sequence[Token], name: range, next_name: range, language: str
) -> Mapping[Pair, str]:
    """Build a pair of each word of one name and each word of the next: another text may write fewer words of a name."""
    articles = _get_words("articles", language)
    between = words[name.stop : next_name.start]
    keys_between = tuple(
        word.key.rstrip(_FINAL_VOWELS) for word in between if word.spelling.lower() not in articles
    )
    spelling = join_spellings(words[name.start : next_name.stop])
    return {
        Pair(words[first].key, keys_between, words[second].key): spelling
        for first, second in product(name, next_name)
        if words[first].key != words[second].key
    }


def find_swap(
    words: Sequence[Token], other_words: Sequence[Token], language: str
) -> tuple[int, int] | None:
    """Find two phrases that another text, equal in all else, has in exchanged places, so that it says something else.

    Args:
        words: The words of a text.
        other_words: The words of the other text.
        language: ISO 639 code. A language without lists has no result.

    Returns:
        The positions of the first word of one phrase and of the last word of the other in ``words``. None if the texts differ
        otherwise, or the exchange changes nothing: of numbers, of clauses, of adverbs ("Today she sang here"), of both sides of
        "is" ("Paris is the capital"), and of words with the same role ("cats and dogs").

    >>> from ctxmetrics.judges.evidence.words import tokenize
    >>> find_swap(tokenize("The dog bit the man."), tokenize("The man bit the dog."), "en")
    (1, 4)
    """
    equal_role_words = _get_words("equal_roles", language)
    if not equal_role_words or any(word.measures in _DISTANCES for word in words):
        return None  # a distance is the same from both ends
    positions = _list_positions_of_words(words, language)
    keys = [words[position].key for position in positions]
    other_keys = [
        other_words[position].key for position in _list_positions_of_words(other_words, language)
    ]
    exchanged = _find_exchanged_phrases(keys, other_keys)
    if exchanged is None:
        return None
    first_phrase, second_phrase = (
        range(positions[indexes.start], positions[indexes.stop - 1] + 1) for indexes in exchanged
    )
    # Clauses may stand in any order.
    has_clauses = any(word.ends_clause for word in words[first_phrase.start : second_phrase.start])
    if has_clauses or not (
        _is_phrase(words, first_phrase, language) and _is_phrase(words, second_phrase, language)
    ):
        return None
    articles = _get_words("articles", language)
    words_between = [
        word.spelling.lower()
        for word in words[first_phrase.stop : second_phrase.start]
        if word.spelling.lower() not in articles
    ]
    # Words such as "neighbour" give two names the same role wherever they stand: "Nina is Otto's neighbour". Words such as "and" do
    # so only between the phrases.
    equal_roles = {word.spelling.lower() for word in words} & equal_role_words
    if not equal_roles <= JOINING_WORDS or (equal_roles and _are_joined(words_between)):
        return None
    if _may_be_exchanged(words, first_phrase, second_phrase, words_between, language):
        return None
    return first_phrase.start, second_phrase.stop - 1


def _is_phrase(words: Sequence[Token], phrase: range, language: str) -> bool:
    """Whether words that follow each other have no number, and are one word or content words only: carbon dioxide."""
    if any(words[position].kind == "number" for position in phrase):
        return False
    if len(phrase) == 1:
        return True
    has_stop_words = base_language(language) in LISTS["stop"]
    return has_stop_words and not any(words[position].folded in _STOP_WORDS for position in phrase)


def _are_joined(words_between: Sequence[str]) -> bool:
    """Whether two phrases belong to one series: "salt and pepper", "salt and pepper and oil", but not "absorb salt and release oil".

    Args:
        words_between: The words between the phrases, in small letters and without articles.
    """
    return words_between[0] in JOINING_WORDS and words_between[-1] in JOINING_WORDS


def _may_be_exchanged(
    words: Sequence[Token],
    first_phrase: range,
    second_phrase: range,
    words_between: Sequence[str],
    language: str,
) -> bool:
    """Whether a text says the same with two of its phrases exchanged.

    These are two adverbs, such as "today" and "here", or the two sides of a linking verb, one of which has a definite article:
    "Paris is the capital". Without it they have different roles: "A dog is an animal".
    """
    first_words = {words[phrase.start].spelling.lower() for phrase in (first_phrase, second_phrase)}
    if first_words <= _get_words("adverbs", language):
        return True
    are_linked = _get_words("linking_verbs", language).issuperset(words_between)
    words_before = {
        words[phrase.start - 1].spelling.lower()
        for phrase in (first_phrase, second_phrase)
        if phrase.start > 0
    }
    return are_linked and not words_before.isdisjoint(_get_words("definite_articles", language))


def _find_exchanged_phrases(
    keys: Sequence[str], other_keys: Sequence[str]
) -> tuple[range, range] | None:
    """Find two phrases of keys that another list, equal in all else, has in exchanged places.

    Neighbours do not count: "tall old man" and "old tall man" say the same.

    Returns:
        The indexes of the two phrases; None if the lists do not differ in this way.
    """
    if len(keys) != len(other_keys):
        return None
    differing_indexes = [index for index, key in enumerate(keys) if key != other_keys[index]]
    if not differing_indexes:
        return None
    start = differing_indexes[0]
    end = differing_indexes[-1] + 1
    differing_keys = keys[start:end]
    for first_size, last_size in product(range(1, _MAX_WORDS_OF_PHRASE + 1), repeat=2):
        if first_size + last_size >= len(differing_keys):
            continue  # no word is left between the two groups
        first_phrase = differing_keys[:first_size]
        last_phrase = differing_keys[-last_size:]
        between = differing_keys[first_size:-last_size]
        if [*last_phrase, *between, *first_phrase] == other_keys[start:end]:
            return range(start, start + first_size), range(end - last_size, end)
    return None


def _list_positions_of_words(words: Sequence[Token], language: str) -> list[int]:
    """List the positions of all words but articles, of which two texts may have different ones."""
    articles = _get_words("articles", language)
    return [position for position, word in enumerate(words) if word.spelling.lower() not in articles]


def exchanges_endings(words: Sequence[Token], other_words: Sequence[Token], language: str) -> bool:
    """Whether two texts of the same letters have other words: names that are exchanged, with the endings of their places.

    This is for languages that write a role at the end of a word, or no blanks: Ahmet Mehmet'i yendi, Mehmet Ahmet'i yendi.
    Texts that only have their words in another order say the same.
    """
    if len(words) != len(other_words):
        return False
    has_clauses = any(word.ends_clause for word in words[:-1])  # they may stand in any order
    letters = _join_letters(words)
    if has_clauses or sorted(letters) != sorted(_join_letters(other_words)):
        return False
    has_same_words = sorted(word.folded for word in words) == sorted(
        word.folded for word in other_words
    )
    if has_same_words or _sort_spellings(words) == _sort_spellings(other_words):
        return False
    equal_role_words = _get_words("equal_roles", language)
    if any(word.spelling.lower() in equal_role_words for word in words):
        return False
    return not any(mark in letters for mark in equal_role_words if mark > _LAST_LATIN)


# Letters behind this one belong to scripts whose joining words may be a part of a longer word.
_LAST_LATIN = "\u1100"


def _sort_spellings(words: Sequence[Token]) -> list[str]:
    """Return the spellings of some words in small letters, sorted. A quantity of several words is split."""
    return sorted(" ".join(word.spelling for word in words).lower().split())


def _join_letters(words: Sequence[Token]) -> str:
    """Join the letters of some words. Of overlapping pairs of characters each character counts once."""
    pieces: list[str] = []
    for position, word in enumerate(words):
        next_words = words[position + 1 : position + 2]
        overlaps = (
            word.kind == "characters"
            and not word.ends_clause
            and bool(next_words)
            and next_words[0].kind == "characters"
            and next_words[0].key[0] == word.key[-1]
        )
        pieces.append(word.key[:-1] if overlaps else word.folded)
    return "".join(pieces)
