"""The language of a text, guessed from its script and its most frequent words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import filterfalse

from ctxmetrics._internal.data_files import read_data

# The letters that only the script of a language has. The languages are tried in this order.
_SCRIPTS: Mapping[str, re.Pattern[str]] = {
    "ja": re.compile(r"[\u3040-\u30ff]"),
    "zh": re.compile(r"[\u3400-\u9fff\uf900-\ufaff]"),
    "ko": re.compile(r"[\uac00-\ud7af\u1100-\u11ff]"),
    "th": re.compile(r"[\u0e00-\u0e7f]"),
    "uk": re.compile(r"[іїєґІЇЄҐ]"),
    "ru": re.compile(r"[\u0400-\u04ff]"),
    "el": re.compile(r"[\u0370-\u03ff]"),
    "ar": re.compile(r"[\u0600-\u06ff]"),
    "he": re.compile(r"[\u0590-\u05ff]"),
    "hi": re.compile(r"[\u0900-\u097f]"),
}
# Every character of `_SCRIPTS`, and some others.
_OTHER_SCRIPT = re.compile(r"[\u0370-\u11ff\u3040-\u9fff\uac00-\ud7af\uf900-\ufaff]")
# All bytes except those with which these characters begin in UTF-8.
_LATIN_BYTES = bytes(
    byte
    for byte in range(256)
    if not (0xCD <= byte <= 0xE1 or 0xE3 <= byte <= 0xEF)  # noqa: PLR2004 - see above
)
# A word, also with an apostrophe in it.
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
# Replaces each ASCII character of a text in UTF-8 that is not a part of a word by a blank. Other bytes stay.
_ONLY_WORDS = bytes(
    code if code > 127 or chr(code).isalpha() or chr(code) == "'" else ord(" ")  # noqa: PLR2004 - the last of ASCII
    for code in range(256)
)

# The most frequent words of languages in Latin script.
_FREQUENT_WORDS: Mapping[str, frozenset[str]] = {
    language: frozenset(words)
    for language, words in read_data("_internal", "function_words.json")["words"].items()
}
_ENGLISH_WORDS = _FREQUENT_WORDS["en"]
_OTHER_WORDS: frozenset[str] = frozenset().union(
    *(words for language, words in _FREQUENT_WORDS.items() if language != "en")
)
# Words that are only English, or only words of other languages.
_TELLING_WORDS = _ENGLISH_WORDS ^ _OTHER_WORDS
# The beginning of a text that is read first, in characters.
_OPENING_CHARACTERS = 160
# A text is English if it has this many more English words than words of other languages. Words of both are not counted.
_CLEAR_LEAD_IN_WORDS = 3


def _find_words(text: str) -> list[str]:
    """Return the words of a text in small letters.

    A word with other characters beside it, such as "«café»", is returned twice: with these characters, and without them.
    """
    encoded = text.lower().encode(errors="surrogatepass").translate(_ONLY_WORDS)
    text = encoded.decode(errors="surrogatepass")  # three times as fast as the pattern
    if "'" in text:
        text = f" {text} ".replace(" '", " ").replace("' ", " ")
    words = text.split()
    if not text.isascii():
        for word in [*filterfalse(str.isascii, words)]:
            words += _WORD.findall(word)
    return words


def _count_lead_of_english(words: Iterable[str]) -> int:
    """Count the different words that are only English, minus the different words that are only of other languages."""
    telling_words = _TELLING_WORDS.intersection(words)
    return 2 * len(telling_words & _ENGLISH_WORDS) - len(telling_words)


def _detect_latin(text: str) -> str:
    """Return the language of a text in Latin script: that of most of its frequent words. English if no language is clear."""
    # First, words with a punctuation mark beside them are ignored, which is four times as fast. The others show most English texts.
    for beginning in (text[:_OPENING_CHARACTERS], text):
        if _count_lead_of_english(beginning.lower().split()) >= _CLEAR_LEAD_IN_WORDS:
            return "en"  # the usual case
    words = _find_words(text)
    if _count_lead_of_english(words) >= -1:  # then no single language has more words than English
        return "en"
    english_count = len(_ENGLISH_WORDS.intersection(words))
    other_words = _OTHER_WORDS.intersection(words)
    counts = {
        language: len(frequent_words & other_words)
        for language, frequent_words in _FREQUENT_WORDS.items()
    }
    counts["en"] = english_count
    second_count, highest_count = sorted(counts.values())[-2:]
    if highest_count > second_count and highest_count > english_count + 1:
        return max(counts, key=counts.__getitem__)
    return "en"


def _may_be_other_script(text: str) -> bool:
    """Tell whether a text may hold a character of `_OTHER_SCRIPT`: a quick check, thirty times as fast as the pattern."""
    return not text.isascii() and bool(
        text.encode(errors="surrogatepass").translate(None, _LATIN_BYTES)
    )


def detect_language(text: str) -> str:
    """Guess the ISO 639 code of a text from its script. For Latin script, guess it from the most frequent words.

    A text in Latin script is English unless its words are clearly German, French, Spanish, Italian, Portuguese, Dutch or Polish.
    The first 2,000 characters decide; in Latin script, the first 500. The code chooses splitting rules, word lists and the
    prompt pack. Give ``language=`` if the guess is wrong.

    >>> detect_language("Эйфелева башня"), detect_language("北京是首都。"), detect_language("The tower")
    ('ru', 'zh', 'en')
    >>> detect_language("Der Turm ist nicht hoch."), detect_language("La tour n'est pas dans le parc.")
    ('de', 'fr')
    """
    sample = text[:2000]
    if not _may_be_other_script(sample) or _OTHER_SCRIPT.search(sample) is None:
        return _detect_latin(sample[:500])
    counts = Counter(sample)
    distinct_characters = "".join(counts)
    letter_count = sum(count for character, count in counts.items() if character.isalpha())

    def count_letters_of(language: str) -> int:
        """Count the letters that only the script of a language has."""
        return sum(counts[letter] for letter in _SCRIPTS[language].findall(distinct_characters))

    for language in _SCRIPTS:
        count = count_letters_of(language)
        has_enough_letters = count * 2 > letter_count > 0  # more than half
        if language == "uk":
            # Ukrainian has few letters that Russian lacks.
            has_enough_letters = count > 0 and count_letters_of("ru") * 2 > letter_count
        elif language == "ja":
            # Japanese has more Chinese characters than letters of its own: a tenth is enough.
            has_enough_letters = count * 10 > letter_count > 0
        if has_enough_letters:
            return language
    return "en"
