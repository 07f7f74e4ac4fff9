"""A text that is searched for contradictions: its words, the words that it denies, and the things that it counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, compress, filterfalse, islice, pairwise
from typing import NamedTuple

from ctxmetrics._internal.forks import cached_property
from ctxmetrics.judges.evidence.chunks import OPPOSITES, Token, get_folded, get_key, join_spellings
from ctxmetrics.judges.evidence.contrasts import PhraseValue, find_numbers, find_values, may_hold_values
from ctxmetrics.judges.evidence.replaced_words import Pair, find_initials, find_pairs
from ctxmetrics.judges.evidence.word_forms import LISTS, base_language, fold
from ctxmetrics.judges.evidence.words import (
    OPEN_NEGATIONS,
    get_negations,
    get_stem_keys,
    get_word_list,
    list_keys,
    may_have_other_language,
    read_number_words,
    tokenize,
)
from ctxmetrics.text.list_marks import skip_list_marks

# The denied word is looked for among this many words after a denial.
_WORDS_IN_SCOPE = 6
# This many words behind a phrase such as "except" name the exception.
_WORDS_OF_EXCEPTION = 4
# Verbs that make an exception only behind a comma: "daily, save on holidays", but "you can save on holidays".
_VERBS_OF_EXCEPTION = frozenset(("save",))
# A denial within this many words before or after a word may deny it.
WORDS_AROUND = 7

# White space before a mark, as in texts that were cut into words: "the fee , once paid". A match begins only at the first blank.
_BLANKS_BEFORE_MARK = re.compile(r"\s(?<!\s\s)\s*(?=[.,;:!?](?:\s|$))")
# Such a mark. It is looked for first, which takes half as long.
_MARK_BEHIND_BLANK = re.compile(r"[.,;:!?](?<=\s.)(?:\s|$)")

# The maximum number of characters of a sentence that is remembered: the words of long texts take much memory.
_MAX_CHARACTERS_REMEMBERED = 1_000
# A comparison sign before a number: "<= 5" means "at most 5".
_SIGN_BEFORE_NUMBER = re.compile(r"(?<!\S)[<>≤≥]=?(?=\s?[\d.])")
# The first characters of pairs that deny, or whole pairs, in scripts without spaces.
_DENYING_CHARACTERS: Mapping[str, tuple[str, ...]] = {
    language: tuple(characters) for language, characters in LISTS["denying_characters"].items()
}
# Pairs that do not deny, or behind which nothing is denied: 不仅 (not only), 少ない (few), かもしれない (maybe).
_HARMLESS_PAIRS = frozenset(LISTS["harmless_pairs"])
# A harmless pair among this many pairs before a denying pair takes its meaning away.
_HARMLESS_PAIRS_BEFORE = 3
# A denying pair of characters may deny this many pairs beside it.
_MAX_PAIRS_DENIED = 4
# A denying word may deny this many words beside it.
_MAX_WORDS_DENIED = 2
# Languages in which the denying word stands behind the verb.
_LANGUAGES_DENYING_BEHIND_VERB = frozenset(("fa", "ja", "ko"))
# Languages in which it may stand before or behind the verb.
_LANGUAGES_DENYING_ON_EITHER_SIDE = frozenset(("bn", "hu", "kn", "ml", "ta", "te"))
# The number of English words without content that a sentence of another language may have: a, be, her.
_COMMON_WORDS = 2
# The pairs of characters that a word shares with its neighbours.
_PAIRS_BESIDE_WORD = 2
# Words that begin a contrast: salt, but no pepper.
_CONTRASTING_WORDS = frozenset(
    ("but", "aber", "sondern", "mais", "pero", "sino", "ma", "mas", "maar", "ale", "men", "dar")
)
_HIRAGANA_ONLY = re.compile(r"[\u3040-\u309f]+")
# Two forms of a word are compared by this many consonants.
_MAX_CONSONANTS_COMPARED = 3
_MIN_CONSONANTS = 2
_VOWELS = frozenset("aeiouyаеиоуыэюяіїєё")
# Finnish "maidolla" is a form of "maito".
_HARD_CONSONANTS = str.maketrans("dgb", "tkp")
# The words of all languages before which a negation denies nothing.
_HARMLESS_IN_ANY_LANGUAGE = frozenset(
    fold(word) for words in LISTS["no_negation_before"].values() for word in words
)
# Words that deny only the verb behind "to": failed to win.
_NEGATIONS_BEFORE_TO = frozenset(LISTS["negations_before_to"])


# "Sugar-free" denies sugar.
_FREE_OF = re.compile(r"(?<![\w-])([^\W\d_]{2,20})-free(?![\w-])")
# "Non-refundable" denies "refundable". "Canon-ball" denies nothing.
_NON_PREFIX = re.compile(r"(?<![\w-])non-(?=\w)")


def _name_sign(match: re.Match[str]) -> str:
    """Return the words of a bound that a comparison sign means."""
    return " at most " if match[0][0] in "<≤" else " at least "


def denies_by_characters(language: str) -> bool:
    """Whether a language without spaces has a list of the characters that deny."""
    return base_language(language) in _DENYING_CHARACTERS


def _keep_consonants(word: str) -> str:
    """Return the first letter and the next consonants of a word, at most three; an empty text if there are fewer than two."""
    consonants = word[:1] + "".join(letter for letter in word[1:] if letter not in _VOWELS)
    if len(consonants) < _MIN_CONSONANTS:
        return ""
    return consonants[:_MAX_CONSONANTS_COMPARED].translate(_HARD_CONSONANTS)


class StatedException(NamedTuple):
    """An exception that a text makes.

    Attributes:
        phrase: The phrase that makes the exception, such as "except".
        words: The words behind the phrase, which name what is excepted.
        is_contrast: Whether the phrase holds a negation, as "but not on". Then it may make no exception, and only set one value
            against another.
    """

    phrase: str
    words: Sequence[Token]
    is_contrast: bool

    def allows_value_of(self, words: Sequence[Token]) -> bool:
        """Tell whether other words name another value of the same kind as the exception: Monday, with "except on Sunday"."""
        kinds = {word.measures for word in self.words if word.measures}
        named_keys = {word.key for word in words if word.measures in kinds}
        if self.is_contrast and not kinds:
            named_keys = {word.key for word in words if word.measures}
        return bool(named_keys) and named_keys.isdisjoint(word.key for word in self.words)


class ComparedText:
    """The words of a text that is checked for contradictions: a unit, or a sentence of its evidence.

    Args:
        text: The text.
        language: ISO 639 code; it chooses the word lists.
        unit: The unit that the text is compared with. None if the text is the unit itself.

    Attributes:
        tokens: The words of the text.
        keys: The keys of its words, and of the words and parts of its quantities.
        is_content: Whether each word is a content word, by its position.
        negations: The positions of the words that deny.
        denies_in_other_language: Whether all its denying words are of another language: then the guess of the language was wrong.
    """

    def __init__(self, text: str, language: str, unit: ComparedText | None = None) -> None:
        text = text[skip_list_marks(text, language) :]
        if "<" in text or ">" in text or "≤" in text or "≥" in text:  # faster than a loop
            text = _SIGN_BEFORE_NUMBER.sub(_name_sign, text)
        if "-free" in text:
            text = _FREE_OF.sub(r"without \1", text)
        if "non-" in text and base_language(language) == "en":
            text = _NON_PREFIX.sub("not ", text)
        if _MARK_BEHIND_BLANK.search(text):
            text = _BLANKS_BEFORE_MARK.sub("", text)
        self.tokens: Sequence[Token] = read_number_words(tokenize(text), language)
        self.keys: frozenset[str] = frozenset(list_keys(self.tokens))
        self.language = language
        self._unit = unit or self
        stop_words = _get_stop_words(language)
        self.is_content: Sequence[bool] = [
            token.kind != "character" and token.folded not in stop_words for token in self.tokens
        ]
        self.negations: Sequence[int] = ()
        denying_words = get_negations(language)
        folded_words = {*map(get_folded, self.tokens)}
        if not OPEN_NEGATIONS.isdisjoint(folded_words) and may_have_other_language(
            folded_words, language, common_words=_COMMON_WORDS
        ):
            denying_words |= OPEN_NEGATIONS
        if not denying_words.isdisjoint(folded_words):
            self.negations = self._find_negations(denying_words)
        self.denies_in_other_language: bool = bool(self.negations) and (
            get_word_list("negations", language).isdisjoint(folded_words)
        )

    def _find_negations(self, denying_words: frozenset[str]) -> list[int]:
        """Find the words that deny. A negation before a word that makes it harmless, such as "not only", does not count."""
        harmless_followers = get_word_list("no_negation_before", self.language)
        negations_of_language = get_word_list("negations", self.language)
        positions = []
        for position, token in enumerate(self.tokens):
            if token.folded not in denying_words:
                continue
            harmless = harmless_followers
            if token.folded not in negations_of_language:
                if self._is_capital_among_small(position):
                    continue  # a name, such as the language Hindi: "hindi" denies in Tagalog
                harmless = _HARMLESS_IN_ANY_LANGUAGE
            next_words = self.tokens[position + 1 : position + 2]
            if token.folded in _NEGATIONS_BEFORE_TO and not (
                next_words and next_words[0].folded == "to"
            ):
                continue
            if not next_words or next_words[0].folded not in harmless:
                positions.append(position)
        return positions

    def _is_capital_among_small(self, position: int) -> bool:
        """Whether a word begins with a capital, and the word before it with a small letter."""
        words = self.tokens[max(0, position - 1) : position + 1]
        first_letters = [word.spelling[0] for word in words]
        return first_letters[0].islower() and first_letters[-1].isupper()

    # The following properties are computed on first use: most texts deny nothing, and most units have no number.

    @cached_property
    def holds_only_numbers(self) -> bool:
        """Whether the text is a list of numbers and nothing else."""
        return len(self.tokens) > 1 and all(token.kind == "number" for token in self.tokens)

    @cached_property
    def measured_tokens(self) -> Sequence[Token]:
        """The words of the text that measure something."""
        return [token for token in self.tokens if token.measures]

    @cached_property
    def may_be_turkish(self) -> bool:
        """Whether the text may be Turkish, which `detect_language` takes for English."""
        if base_language(self.language) == "tr":
            return True
        folded_words = {*map(get_folded, self.tokens)}
        return may_have_other_language(folded_words, self.language, common_words=_COMMON_WORDS)

    @cached_property
    def opposites(self) -> frozenset[str]:
        """The names of the opposites that the text has a word of, such as "several" for the word "multiple"."""
        return frozenset(token.measures for token in self.tokens if token.measures in OPPOSITES)

    @cached_property
    def values(self) -> Sequence[PhraseValue]:
        """The phrases of the text that have a contrary, such as "all seats"."""
        if not may_hold_values(self.tokens):
            return ()  # the usual case
        return find_values(self.tokens, self.is_content, self.negations)

    @cached_property
    def single_positions(self) -> Mapping[str, int]:
        """For each content word and number that occurs only once: its position, by its key, in the order of the text."""
        counts = Counter(token.key for token in self.tokens)
        return {
            token.key: position
            for position, token in enumerate(self.tokens)
            if counts[token.key] == 1 and (self.is_content[position] or token.kind == "count")
        }

    @cached_property
    def lacks_stop_words(self) -> bool:
        """Whether no list of stop words fits the text: its language has none, or the guess "English" is wrong."""
        if base_language(self.language) not in LISTS["stop"]:
            return True
        return may_have_other_language({*map(get_folded, self.tokens)}, self.language)

    @cached_property
    def pairs(self) -> Mapping[Pair, str]:
        """The pairs of names with different roles, each with the words of the text: Anna beat Bernd."""
        return find_pairs(self.tokens, self.is_content, self.language)

    @cached_property
    def initials(self) -> Mapping[tuple[str, str], tuple[str, ...]]:
        """The initials between the first and the last name of each person."""
        return find_initials(self.tokens)

    @cached_property
    def exception(self) -> StatedException | None:
        """The first exception that the text makes: "except on Mondays"; None if it makes none."""
        phrases_by_first_word = _read_exceptions(base_language(self.language))
        for position, token in enumerate(self.tokens):
            begins_clause = position > 0 and self.tokens[position - 1].ends_clause
            if token.folded in _VERBS_OF_EXCEPTION and not begins_clause:
                continue
            for phrase in phrases_by_first_word.get(token.folded, ()):
                end = position + len(phrase)
                words = self.tokens[position:end]
                if tuple(map(get_folded, words)) == phrase:
                    spelling = join_spellings(words)
                    is_contrast = not get_word_list("negations", self.language).isdisjoint(phrase)
                    words_behind = self.tokens[end : end + _WORDS_OF_EXCEPTION]
                    return StatedException(spelling, words_behind, is_contrast)
        return None

    @cached_property
    def values_by_word(self) -> Mapping[tuple[str, str], Mapping[str, PhraseValue]]:
        """The phrases of `values`, and the numbers before a word.

        The key is the group of the value and the word that it is about. Under each key, a value is listed once.
        """
        by_word: dict[tuple[str, str], dict[str, PhraseValue]] = {}
        for value in chain(self.values, find_numbers(self.tokens)):
            for word in value.beside or ("",):
                by_word.setdefault((value.group, word), {}).setdefault(value.value, value)
        return by_word

    def list_values_about_same_words(self, value: PhraseValue) -> list[PhraseValue]:
        """List the phrases of the text that have the group of a phrase of another text, and are about one of the same words."""
        values: list[PhraseValue] = []
        for word in value.beside or ("",):
            values += self.values_by_word.get((value.group, word), {}).values()
        return values

    @cached_property
    def numbers_before(self) -> Mapping[str, Mapping[str, int]]:
        """For the key of each word: the keys of the numbers before the word, each with one position of the number."""
        numbers: dict[str, dict[str, int]] = {}
        for position, (number, noun) in enumerate(pairwise(self.tokens)):
            if number.kind == "number" and not number.ends_clause:
                numbers.setdefault(noun.key, {}).setdefault(number.key, position)
        return numbers

    @cached_property
    def numbers_behind(self) -> Mapping[str, Mapping[str, int]]:
        """For the key of each word: the keys of the plain numbers behind it (port 80), each with one position of the number."""
        numbers: dict[str, dict[str, int]] = {}
        for position, (noun, number) in enumerate(pairwise(self.tokens), 1):
            if number.kind == "number" and not number.measures and not noun.ends_clause:
                numbers.setdefault(noun.key, {}).setdefault(number.key, position)
        return numbers

    def stands_alone(self, position: int) -> bool:
        """Whether a number counts nothing and is not a part of a longer one (seventy - seven)."""
        if self.counts_next_word(position):
            return False
        next_words = self.tokens[position + 1 : position + 2]
        is_followed_by_number = bool(next_words) and next_words[0].kind == "number"
        return self.tokens[position].ends_clause or not is_followed_by_number

    @cached_property
    def counting_numbers(self) -> frozenset[str]:
        """The keys of the numbers that count the word behind them."""
        positions = filter(self.counts_next_word, self.number_positions)
        return frozenset(self.tokens[position].key for position in positions)

    @cached_property
    def uncounted_numbers(self) -> frozenset[str]:
        """The keys of the numbers that count nothing at one of their positions."""
        positions = filterfalse(self.counts_next_word, self.number_positions)
        return frozenset(self.tokens[position].key for position in positions)

    @cached_property
    def number_positions(self) -> Sequence[int]:
        """The positions of the numbers, also of those that measure something."""
        return [position for position, token in enumerate(self.tokens) if token.kind == "number"]

    def counts_next_word(self, position: int) -> bool:
        """Whether a number may count the word behind it."""
        next_position = position + 1
        if next_position == len(self.tokens) or self.tokens[position].ends_clause:
            return False
        return self.tokens[next_position].kind == "word" and self.is_content[next_position]

    def find_key(self, key: str) -> Sequence[int]:
        """Return the positions of the words and quantities that have or hold a key."""
        if key not in self.keys:
            return ()
        return [
            position
            for position, token in enumerate(self.tokens)
            if token.key == key or key in token.parts
        ]

    @cached_property
    def possible_denials(self) -> frozenset[int]:
        """The positions of the words that deny, and of the words that may deny ("lacks", "refused")."""
        may_deny = get_stem_keys("denials", self.language)
        positions = [position for position, token in enumerate(self.tokens) if token.key in may_deny]
        return frozenset((*positions, *self.negations))

    @cached_property
    def denying_positions(self) -> Sequence[int]:
        """The positions of the words that deny; in scripts without spaces, of the pairs of characters that deny."""
        denying_characters = _DENYING_CHARACTERS.get(base_language(self.language))
        if denying_characters is None:
            return self.negations
        positions = []
        for position, token in enumerate(self.tokens):
            if token.kind != "word" and token.folded.startswith(denying_characters):
                near = self.tokens[max(0, position - _HARMLESS_PAIRS_BEFORE) : position + 1]
                if _HARMLESS_PAIRS.isdisjoint([pair.folded for pair in near]):
                    positions.append(position)
        return positions

    def list_denied_keys(self, position: int) -> Sequence[str]:
        """Return the keys of the words that the word at a position denies, unless they stand undenied elsewhere in the text."""
        keys = {self.tokens[denied_position].key for denied_position in self._list_denied(position)}
        denied_positions: set[int] = set()
        for denial in self.denying_positions:
            denied_positions.update(self._list_denied(denial))
        return [key for key in keys if denied_positions.issuperset(self.find_key(key))]

    def _list_denied(self, position: int) -> Sequence[int]:
        """Return the positions of the content words beside a denial, on the side where the language puts the denied word."""
        language = base_language(self.language)
        count = _MAX_PAIRS_DENIED if language in _DENYING_CHARACTERS else _MAX_WORDS_DENIED
        positions: list[int] = []
        # "A but not B" denies nothing of A: in an unknown language a word of the unit must be missing.
        has_whole_unit = self.shared_count == len(self._unit.content_keys)
        denies_on_either_side = language in _LANGUAGES_DENYING_ON_EITHER_SIDE or (
            self.denies_in_other_language and not has_whole_unit
        )
        if denies_on_either_side or language not in _LANGUAGES_DENYING_BEHIND_VERB:
            positions += islice(self.words_in_scope(position), count)
        if denies_on_either_side or language in _LANGUAGES_DENYING_BEHIND_VERB:
            positions += islice(self._words_denied_before(position), count)
        return [denied for denied in positions if denied not in self.denying_positions]

    def _words_denied_before(self, position: int) -> Iterator[int]:
        """Yield the positions of the content words before a denial, up to a word such as "but".

        In Japanese, pairs without a character of Chinese are endings: 有効ではありません denies 有効.
        """
        are_endings_left_out = base_language(self.language) == "ja"
        for position_before in self.words_in_scope(position, -1):
            folded = self.tokens[position_before].folded
            if folded in _CONTRASTING_WORDS:
                return
            if not (are_endings_left_out and _HIRAGANA_ONLY.fullmatch(folded)):
                yield position_before

    def find_other_form(self, word: Token) -> int | None:
        """Return the position of a content word that may be another form of a word; None if there is none."""
        consonants = _keep_consonants(word.folded)
        if word.kind != "word" or not consonants:
            return None
        for position, token in enumerate(self.tokens):
            if token.kind != "word" or not self.is_content[position]:
                continue
            other_consonants = _keep_consonants(token.folded)
            if not other_consonants:
                continue
            if other_consonants.startswith(consonants) or consonants.startswith(other_consonants):
                return position
        return None

    @cached_property
    def content_keys(self) -> frozenset[str]:
        """The keys of the text's content words."""
        return frozenset(map(get_key, compress(self.tokens, self.is_content)))

    @cached_property
    def content_count(self) -> int:
        """The number of different content words, as the base of the share that another text must hold.

        In scripts without spaces, one replaced word also changes the two pairs of characters that it shares with its neighbours.
        These two pairs are not counted.
        """
        count = len(self.content_keys)
        are_pairs = any(token.kind == "characters" for token in self.tokens)
        return max(1, count - _PAIRS_BESIDE_WORD) if are_pairs else count

    @cached_property
    def shared_count(self) -> int:
        """The number of content words of the unit that the text has."""
        return len(self._unit.content_keys & self.keys)

    def words_in_scope(self, position: int, step: int = 1) -> Iterator[int]:
        """Yield the positions of the content words after a word (step 1) or before it (step -1) in its clause."""
        for neighbour in range(position + step, position + step * (_WORDS_IN_SCOPE + 1), step):
            if not 0 <= neighbour < len(self.tokens):
                return
            # The first of the two tokens between which a clause may end.
            boundary = neighbour - 1 if step > 0 else neighbour
            if self.tokens[boundary].ends_clause:
                return
            if self.is_content[neighbour]:
                yield neighbour

    def words_after_insertion(self, negation: int) -> Iterator[int]:
        """Yield the positions of the content words after an insertion behind a negation: "no longer, as they say, thrives"."""
        near = range(negation, min(negation + _WORDS_IN_SCOPE + 2, len(self.tokens)))
        clause_ends = [position for position in near if self.tokens[position].ends_clause]
        has_insertion = len(clause_ends) > 1 and clause_ends[0] <= negation + 1
        if not has_insertion:
            return
        insertion_end = clause_ends[1]
        for position in range(
            insertion_end + 1, min(insertion_end + _WORDS_IN_SCOPE, len(self.tokens))
        ):
            if self.is_content[position]:
                yield position

    def denies_comparative(self, negation: int) -> bool:
        """Whether a negation denies only the comparative after it: no more than, no longer than."""
        word_for_than = LISTS["than"].get(base_language(self.language))
        following_words = self.tokens[negation + 2 : negation + 3]
        return bool(following_words) and following_words[0].folded == word_for_than

    def is_denied(
        self,
        position: int,
        before: int = WORDS_AROUND,
        after: int = WORDS_AROUND,
        *,
        ignored: Collection[int] = (),
    ) -> bool:
        """Whether a denial near a word may deny it. A word such as "refused" does not deny itself.

        Args:
            position: The position of the word.
            before: The number of places before the word at which a denial may deny it.
            after: The number of places after the word at which a denial may deny it.
            ignored: The positions of denials that do not count.
        """
        near_positions = range(position - before, position + after + 1)
        near_denials = self.possible_denials.intersection(near_positions)
        return not near_denials.issubset((position, *ignored))

    def denies_somewhere(self, key: str) -> bool:
        """Whether a word near a place of a key may deny it."""
        return any(self.is_denied(position) for position in self.find_key(key))

    def spell(self, first: int, last: int) -> str:
        """Return the text from one word to another, both included, in either order."""
        start = min(first, last)
        end = max(first, last) + 1
        return join_spellings(self.tokens[start:end])


@lru_cache(maxsize=32)
def _get_stop_words(language: str) -> frozenset[str]:
    """Return the words of a language that carry no content. Some languages have a list of articles, and no list of other stop words."""
    return get_word_list("stop", language) | get_word_list("articles", language)


@lru_cache(maxsize=32)
def _read_exceptions(language: str) -> Mapping[str, Sequence[tuple[str, ...]]]:
    """Read the phrases of a language that make an exception, by their first word: except, but not on."""
    phrases: dict[str, list[tuple[str, ...]]] = {}
    for text in LISTS["exceptions"].get(language, ()):
        phrase = tuple(map(fold, text.replace("'", " ").split()))
        phrases.setdefault(phrase[0], []).append(phrase)
    return phrases


@lru_cache(maxsize=32)
def list_exception_keys(language: str) -> frozenset[str]:
    """Return the longest word of each phrase that makes an exception: a text without any of them makes none."""
    texts = LISTS["exceptions"].get(base_language(language), ())
    longest_words = [max(tokenize(text), key=lambda word: len(word.folded)) for text in texts]
    return frozenset(map(get_key, longest_words))


@lru_cache(maxsize=64)  # a unit is compared with one candidate after the other, and with other contexts
def read_unit(text: str, language: str) -> ComparedText:
    """Read a unit, once for all the evidence that it is compared with."""
    return ComparedText(text, language)


def read_evidence(texts: Sequence[str], unit: str, language: str) -> Sequence[ComparedText]:
    """Read the sentences that are the evidence for a unit, once for all checks."""
    sentences = []
    for text in texts:
        if len(text) <= _MAX_CHARACTERS_REMEMBERED:
            sentences.append(_read_or_remember(text, unit, language))
        else:
            sentences.append(ComparedText(text, language, read_unit(unit, language)))
    return sentences


def list_close(
    unit: ComparedText,
    evidence: Sequence[ComparedText],
    min_share: float,
    *,
    uncounted_words: int = 0,
) -> list[ComparedText]:
    """List the sentences of the evidence that hold at least a share of the content words of the unit.

    Args:
        unit: The unit.
        evidence: The sentences of its evidence.
        min_share: The minimum share.
        uncounted_words: The number of content words of the unit that do not count: a close sentence may have others in their place.
    """
    least_shared = min_share * (unit.content_count - uncounted_words)
    return [text for text in evidence if text.shared_count >= least_shared]


@lru_cache(maxsize=64)
def _read_or_remember(text: str, unit: str, language: str) -> ComparedText:
    """Read a short sentence that is evidence for a unit."""
    return ComparedText(text, language, read_unit(unit, language))
