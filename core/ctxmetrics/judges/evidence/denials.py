"""Finds words that only one side denies: the unit, or its evidence.

Each check of `DENIAL_CHECKS` takes the unit and the sentences of its evidence, and yields such words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice

from ctxmetrics.judges.evidence.chunks import Token, read_phrase
from ctxmetrics.judges.evidence.compared_text import (
    WORDS_AROUND,
    ComparedText,
    denies_by_characters,
    list_close,
)
from ctxmetrics.judges.evidence.contrasts import Contradiction
from ctxmetrics.judges.evidence.word_forms import (
    LISTS,
    base_language,
    list_denied_stems,
    states_verb,
)
from ctxmetrics.judges.evidence.words import (
    IRREGULAR_FORMS,
    get_word_list,
)

# A denial up to this many words before a word of the unit may deny it.
_DENIAL_WORDS_BEFORE = 4
# The share of the unit's content words that a sentence must hold to deny the unit by a negation of its own.
_MIN_SHARE_TO_DENY = 0.35
# The share for languages in which the denied word cannot be found on the other side.
_MIN_SHARE_WITHOUT_WORD = 0.5
# Languages in which a negation may stand after the verb that it denies.
_NEGATION_FOLLOWS_VERB = frozenset(("da", "de", "fr", "nl", "no", "sv", "tr"))
# Languages whose nouns have another form behind a word such as without.
_INFLECTED_LANGUAGES = frozenset(("bg", "cs", "et", "fi", "hr", "pl", "ru", "sk", "sr", "uk"))
# Languages, besides those without spaces, in which only this is checked: whether one side has a denial and the other has none.
_DENYING_ON_ONE_SIDE = frozenset(
    ("bn", "ca", "el", "et", "fa", "he", "hu", "kn", "ml", "ta", "te", "vi")
)
# The keys of words that begin like a denying prefix, but deny nothing: display does not deny play.
_WORDS_WITH_PREFIX: frozenset[str] = frozenset(
    token.key for word in LISTS["words_with_prefix"] for token in read_phrase(word)
)
# The fewest characters of a word that a prefix denies: "able" in "unable".
_MIN_CHARACTERS_BEHIND_PREFIX = 4


# The unit denies a word that the evidence states.


def _find_denials_of_unit(
    unit: ComparedText, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield the words that the unit denies and the evidence does not."""
    checked_keys = set()
    for position in unit.negations:
        for denied_position in _find_denied(unit, position):
            key = unit.tokens[denied_position].key
            if key in checked_keys:
                continue
            checked_keys.add(key)
            key = _find_verb_form(key, evidence)
            texts_with_word = [text for text in evidence if key in text.keys]
            is_stated = bool(list_close(unit, texts_with_word, _MIN_SHARE_TO_DENY))
            if is_stated and not any(text.denies_somewhere(key) for text in texts_with_word):
                yield Contradiction("negation", unit.spell(position, denied_position), "")


def _find_verb_form(key: str, texts: Sequence[ComparedText]) -> str:
    """Return the key of another form of an irregular English verb, if only that form stands in some texts: pay, paid."""
    forms = IRREGULAR_FORMS.get(key)
    if forms is None or any(key in text.keys for text in texts):
        return key  # the usual case
    return next((form for form in forms if any(form in text.keys for text in texts)), key)


def _find_denied(unit: ComparedText, negation: int) -> Iterator[int]:
    """Yield the positions of the words that a negation of the unit may deny: the next word, in some languages also the one before."""
    if unit.denies_comparative(negation):
        yield negation + 1
        return
    skipped_words = get_word_list("skipped_after_negation", unit.language)
    for position in unit.words_in_scope(negation):
        if unit.tokens[position].folded not in skipped_words:
            yield position
            break
    if base_language(unit.language) in _NEGATION_FOLLOWS_VERB:
        yield from islice(unit.words_in_scope(negation, -1), 1)


# The evidence denies a word that the unit states.


def _find_denials_of_evidence(
    unit: ComparedText, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield the words that the evidence denies and the unit does not."""
    words_after = WORDS_AROUND if base_language(unit.language) in _NEGATION_FOLLOWS_VERB else 0
    for text in list_close(unit, evidence, _MIN_SHARE_TO_DENY):
        checked_keys = set()
        for position in text.negations:
            denied_position = _find_denied_in_evidence(text, position)
            if denied_position is None:
                continue
            key = _find_verb_form(text.tokens[denied_position].key, (unit,))
            if key not in unit.content_keys or key in checked_keys:
                continue
            checked_keys.add(key)
            unit_positions = unit.find_key(key)
            is_denied_in_unit = any(
                unit.is_denied(unit_position, _DENIAL_WORDS_BEFORE, words_after)
                for unit_position in unit_positions
            )
            if is_denied_in_unit:
                continue
            if not _occurs_undenied(key, evidence, text.shared_count):
                first_position = unit_positions[0]
                stated_word = unit.spell(first_position, first_position)
                denied_word = text.spell(position, denied_position)
                yield Contradiction("negation", stated_word, denied_word)


def _find_denied_in_evidence(text: ComparedText, negation: int) -> int | None:
    """Find the position of the word that a negation of the evidence denies."""
    if text.denies_comparative(negation):
        return negation + 1
    skipped_words = get_word_list("skipped_after_negation", text.language)
    for position in chain(text.words_in_scope(negation), text.words_after_insertion(negation)):
        if text.tokens[position].folded not in skipped_words:
            return position
    # Nothing stands behind the negation: "Der Laden öffnet nicht."
    if base_language(text.language) in _NEGATION_FOLLOWS_VERB:
        return next(text.words_in_scope(negation, -1), None)
    return None


def _occurs_undenied(key: str, evidence: Sequence[ComparedText], least_shared: int) -> bool:
    """Whether a word stands undenied in a sentence that shares at least `least_shared` words with the unit."""
    texts = [text for text in evidence if text.shared_count >= least_shared]
    return any(_states_undenied(key, text) for text in texts)


def _states_undenied(key: str, text: ComparedText) -> bool:
    """Whether a word stands at some place of a text with no denial near it."""
    positions = text.find_key(key)
    if not all(text.is_denied(position) for position in positions):
        return True
    # "... and to civilians, although no civilian has received it": what stands before the denial is stated.
    denied_by_negation: dict[int, int] = {}
    for negation in text.negations:
        denied_position = _find_denied_in_evidence(text, negation)
        if denied_position is not None and denied_position in positions:
            denied_by_negation[negation] = denied_position
    if not denied_by_negation:
        return False
    first_negation = min(denied_by_negation)
    denied_positions = frozenset(denied_by_negation.values())
    return any(
        not text.is_denied(position, ignored=denied_by_negation)
        for position in positions
        if position < first_negation and position not in denied_positions
    )


# The denied word has another form on the other side, or cannot be found there.


def _find_inflected_denials(
    unit: ComparedText, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield the words that one side denies and the other side has undenied, in another form: Polish "bez soli", "z solą"."""
    if base_language(unit.language) not in _INFLECTED_LANGUAGES:
        return
    # The denied word is not among the shared words, since its form differs.
    for text in list_close(unit, evidence, _MIN_SHARE_TO_DENY, uncounted_words=1):
        for spelling, other_spelling in _list_inflected_denials(unit, text):
            yield Contradiction("negation", spelling, other_spelling)
        for spelling, other_spelling in _list_inflected_denials(text, unit):
            yield Contradiction("negation", other_spelling, spelling)


def _list_inflected_denials(denying: ComparedText, stating: ComparedText) -> Iterator[tuple[str, str]]:
    """Yield each denial of one text together with an undenied form of the denied word in the other text."""
    for position in denying.negations:
        denied_position = next(denying.words_in_scope(position), None)
        if denied_position is None:
            continue
        denied_word = denying.tokens[denied_position]
        if denied_word.key in stating.keys:
            continue
        form_position = stating.find_other_form(denied_word)
        if form_position is not None and not stating.is_denied(form_position):
            denial = denying.spell(position, denied_position)
            yield denial, stating.spell(form_position, form_position)


def _find_denials_on_one_side(
    unit: ComparedText, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield a denial of one side if the other side denies nothing.

    This is for languages whose verbs change so much that the denied word cannot be found on the other side.
    """
    has_rule = base_language(unit.language) in _DENYING_ON_ONE_SIDE or denies_by_characters(
        unit.language
    )
    if not has_rule and not any(text.denies_in_other_language for text in (unit, *evidence)):
        return  # the usual case
    words_that_may_be_shared = unit.content_count - len(unit.denying_positions)
    least_shared = max(1, int(_MIN_SHARE_WITHOUT_WORD * words_that_may_be_shared))
    texts = [text for text in evidence if text.shared_count >= least_shared]
    if not unit.denying_positions:
        for text in texts:
            for position in text.denying_positions:
                if any(key in unit.keys for key in text.list_denied_keys(position)):
                    yield Contradiction("negation", "", text.spell(position, position))
    elif texts and not any(text.denying_positions for text in texts):
        position = unit.denying_positions[0]
        yield Contradiction("negation", unit.spell(position, position), "")


# The two sides differ by the prefix of a word.


def _find_denying_prefixes(
    unit: ComparedText, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield the words that differ from a word of the unit by a prefix that denies: passable, impassable."""
    all_contraries = list_all_prefixed_contraries(unit.content_keys, unit.language)
    if all(all_contraries.isdisjoint(text.keys) for text in evidence):
        return  # the usual case
    for position, token in enumerate(unit.tokens):
        if token.kind != "word" or not unit.is_content[position]:
            continue
        contraries = _list_prefixed_contraries(token.key, unit.language)
        if not contraries or any(token.key in text.keys for text in evidence):
            continue
        is_denied = unit.is_denied(position, _DENIAL_WORDS_BEFORE, 0)
        for text in list_close(unit, evidence, _MIN_SHARE_TO_DENY):
            for contrary in contraries:
                for contrary_position in text.find_key(contrary):
                    # "Not known" says the same as "unknown".
                    if text.is_denied(contrary_position, _DENIAL_WORDS_BEFORE, 0) == is_denied:
                        spelling = text.tokens[contrary_position].spelling
                        yield Contradiction("negation", token.spelling, spelling)


@lru_cache(maxsize=64)
def list_all_prefixed_contraries(keys: frozenset[str], language: str) -> frozenset[str]:
    """Return the keys of the words that a prefix makes the contrary of one of some words."""
    return frozenset().union(*(_list_prefixed_contraries(key, language) for key in keys))


@lru_cache(maxsize=4096)
def _list_prefixed_contraries(key: str, language: str) -> frozenset[str]:
    """Return the keys of the words that a prefix makes the contrary of a word: "impassabl" for "passabl", and the reverse."""
    contraries: set[str] = set()
    if key in _WORDS_WITH_PREFIX:
        return frozenset()
    for prefix in get_word_list("denying_prefixes", language):
        if len(key) >= _MIN_CHARACTERS_BEHIND_PREFIX:
            contraries.add(prefix + key)
        stem = key.removeprefix(prefix)
        if _MIN_CHARACTERS_BEHIND_PREFIX <= len(stem) < len(key):
            contraries.add(stem)
    return frozenset(contraries - _WORDS_WITH_PREFIX)


# Turkish denies inside the verb, and behind a noun.

# The folded Turkish words for "there is", "there is not", "is not", and the endings of a noun for "is".
_TURKISH_EXISTING = frozenset(("var", "vardır"))
_TURKISH_WORDS_FOR_MISSING = frozenset(("yok", "yoktur"))
_TURKISH_NOT = frozenset(("degil", "degildir"))
_TURKISH_COPULAS = frozenset(("dır", "dir", "dur", "tır", "tir", "tur"))


def _find_turkish_denials(
    unit: ComparedText, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield the words that one side denies and the other side states, in Turkish: girebilir, giremez; temizdir, temiz değil."""
    if not unit.may_be_turkish:
        return  # the usual case
    # The denied word is not among the shared words, since its form differs.
    for text in list_close(unit, evidence, _MIN_SHARE_TO_DENY, uncounted_words=1):
        for denied_word, stated_word in _list_turkish_denials(text, unit):
            if not any(stated_word.key in other.keys for other in evidence):
                yield Contradiction("negation", stated_word.spelling, denied_word)
        for denied_word, stated_word in _list_turkish_denials(unit, text):
            yield Contradiction("negation", denied_word, stated_word.spelling)


def _list_turkish_denials(denying: ComparedText, stating: ComparedText) -> Iterator[tuple[str, Token]]:
    """Yield each word that one text denies, together with the word of the other text that states it."""
    for position, token in enumerate(denying.tokens):
        if token.key in stating.keys:
            continue
        stems = list_denied_stems(token.folded)
        means_missing = token.folded in _TURKISH_WORDS_FOR_MISSING
        noun = ""
        start = position
        if token.folded in _TURKISH_NOT and position > 0:
            start = position - 1
            noun = denying.tokens[start].folded
        if not (stems or means_missing or noun):
            continue  # the usual case
        for other in stating.tokens:
            states_noun = noun and other.folded.removeprefix(noun) in _TURKISH_COPULAS
            states_existence = means_missing and other.folded in _TURKISH_EXISTING
            states_denied_verb = any(states_verb(other.folded, stem) for stem in stems)
            if states_noun or states_existence or states_denied_verb:
                yield denying.spell(start, position), other
                break


# The checks, in the order in which they are made: the first contradiction found is the one that is shown.
DENIAL_CHECKS: Sequence[Callable[[ComparedText, Sequence[ComparedText]], Iterator[Contradiction]]] = (
    _find_denials_of_unit,
    _find_denials_of_evidence,
    _find_inflected_denials,
    _find_denials_on_one_side,
    _find_denying_prefixes,
    _find_turkish_denials,
)
