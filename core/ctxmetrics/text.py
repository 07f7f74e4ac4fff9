"""Texts: cutting a reference into units, and finding a quote in a context.

Both are deterministic and need no model. Splitting is `sentencex`_ (more than 240 languages); what it leaves
open is decided here and stated: blank pieces and pieces without a letter or digit are no units, list items
that start a line are units of their own, and Thai, which has no sentence mark, is cut at the spaces between
two Thai letters.

.. _sentencex: https://github.com/wikimedia/sentencex
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from ctxmetrics._internal.data_files import read_data, read_words

# Lowest share of a quote that the alignment must find, after normalising, for it to count as found.
FUZZY_BAR = 0.9
# Shorter quotes must be found to the letter (after normalising).
FUZZY_MIN_CHARACTERS = 16
_WIDEN = 20
# In longer contexts only exact and normalised matches are searched: alignment would take seconds.
FUZZY_MAX_CONTEXT = 200_000
# The same for longer quotes.
FUZZY_MAX_QUOTE = 2_000
# Steps of work that the quotes of one reply may take: each about a nanosecond, so a fifth of a second, and up to about
# twice that with texts made to be slow.
MOST_STEPS = 200_000_000
# What it takes to normalise a character, and each character that it becomes: one ligature may become eighteen.
_STEPS_A_CHARACTER, _STEPS_A_PIECE = 600, 250

_LISTS: Mapping[str, Any] = read_data("_internal", "sentences.json")
_SCRIPTS: Mapping[str, re.Pattern[str]] = {
    language: re.compile(f"[{letters}]") for language, letters in _LISTS["scripts"].items()
}
# Every character of `_SCRIPTS`, and some more.
_OTHER_SCRIPT = re.compile(r"[\u0370-\u11ff\u3040-\u9fff\uac00-\ud7af\uf900-\ufaff]")
# A word, also with an apostrophe in it.
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_LIST_ITEM = re.compile(r"\n(?=[ \t]*(?:[-*•‣–]|\(?\d{1,3}[.)])[ \t])")
_LIST_MARK = re.compile(r"(?:[-*•‣–]|\(?\d{1,3}[.)．）])[ \t]+")
# What ends no sentence: a mark of a list, alone or behind the word for an item ("Step 2."); an abbreviation before a number; an ordinal
# behind a German article or preposition, or before a month; a title before a name; a full stop that begins a name (".NET"); a quotation before
# what says who spoke.
_MARK = r"\(?(?:\d{1,3}(?:\.\d{1,3})*[.)．）]|[IVXL]{1,5}\.|[a-zа-я]\))"
_MARK_ALONE = re.compile(rf"(?:(?i:{_LISTS['item_words']})\s+)?{_MARK}")
_NUMBER_ALONE = re.compile(r"\(?(\d{1,3})[.)．）]")
_ANY_MARK = re.compile(r"(?:(?<!\S)|(?<=[。！？]))\(?(\d{1,3})[.)．）](?!\d)")
_MARK_BEHIND = re.compile(r"(?:(?<=[.!?:])\s+|(?<=[。！？])\s*)\(?(\d{1,3})[.)．）]$")
_ABBREVIATION = re.compile(rf"\b(?:{_LISTS['abbreviations']})\.$", re.IGNORECASE)
_ORDINAL = re.compile(rf"\b(?<!I )(?:{_LISTS['articles']})\s+\d{{1,4}}\.$", re.IGNORECASE)
_TITLE = re.compile(rf"(?<![.\w])(?:{_LISTS['titles']})\.$", re.IGNORECASE)
_DAY = re.compile(r"\b\d{1,2}\.$")
# An abbreviation before a word in small letters, whatever the language: a word with stops ("o.a. in"), one without a vowel
# ("tj. autorzy"), and a Roman number ("Friedrich II. regierte").
_VOWELS = "aeiouyäöüàâéèêëíîïóôúùûąęýаеёиоуыэюяіїє"
_CONSONANT = rf"(?![{_VOWELS}{_VOWELS.upper()}])[^\W\d_]"
_SHORTENED = re.compile(
    rf"\b(?:[^\W\d_]\.\s?[^\W\d_]{{1,3}}|[IVXL]{{2,5}}|{_CONSONANT}(?:(?![A-ZА-Я]){_CONSONANT}){{0,3}})\.$"
)
_MONTH_AND_DAY = re.compile(r"\b\d{1,2}\.\s*\d{1,2}\.$")
_MONTH = re.compile(rf"(?:{_LISTS['months']})\b")
_SAYING = re.compile(
    r"[—–-]\s*[^\W\d_]|(と|って|이?라[고는]|하고|[\u4e00-\u9fff]{0,4}[说說问問道答喊](?![：:]))|[^\W\d_]"
)
_DASH_BEFORE_SAYING = re.compile(r"[—–]\s*[^\W\d_]")
# A name that ends with a mark: "Yahoo!の".
_NAME_WITH_MARK, _KANA = re.compile(r"[A-Za-z][!?]$"), re.compile(r"[\u3040-\u309f]")
# Characters of ASCII at which the splitter may begin a sentence in English.
_SENTENCE_END = re.compile(r"[\n!.?)]")
_THAI_SPACE = re.compile(r"(?<=[\u0e00-\u0e7f])[ \u00a0]+(?=[\u0e00-\u0e7f])|\n+")
# Where the splitter fails (sentencex 1.0): a letter, a space of several bytes (no-break space), a full stop.
_BEFORE_STOP, _WIDE_SPACE = re.compile(r"(?<=[^\W\d_])\s+(?=\.)"), re.compile(r"[^\S\n]")
_HALVES = re.compile("[\ud800-\udfff]")
# Characters without which neither of the two patterns above matches: a lone surrogate, or white space
# outside ASCII. They are looked for first, which is ten times faster.
_NOT_FOR_SPLITTER = re.compile(
    "[\ud800-\udfff\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
)
# The most frequent words of languages in Latin script.
_FREQUENT_WORDS = {
    language: frozenset(words)
    for language, words in read_words("_internal", "function_words.json", "words").items()
}
# The most characters that the splitter gets at once.
_BLOCK = 8_000
# Characters of a block within which a sentence has to end: a longer one is cut there.
_LONGEST_SENTENCE = 32_000
_ELLIPSIS = re.compile(r"(?:\[\s*)?(?:\.{3,}|…)(?:\s*\])?")
# Between two characters of one number: two digits; a digit and a fraction, group, part or range behind it (a comma joins up to
# three digits, so that it also separates columns); a digit and its per cent sign; a minus sign, which begins no line, and a digit.
_JOINT, _COMMA = r"[.:/'’⁄\u066b\u066c\-–−]", r"\d{1,3}(?!\d)"
# The pattern of a place inside a number: a text that ends or begins there holds another number (3 in 3.5).
INSIDE_NUMBER: str = (
    rf"(?:(?<=\d)(?=[\d¼-¾⅐-⅞]|{_JOINT}\d|,{_COMMA}|\s?%)"
    rf"|(?<=\d{_JOINT})(?=\d)|(?<=\d,)(?={_COMMA})|(?<=[^\S\n][-–−])(?=\d)|(?<=\d\s)(?=%))"
)
_INSIDE_NUMBER = re.compile(INSIDE_NUMBER)
_NUMBER = re.compile(rf"(?:(?<!\S)-)?\d+(?:(?:{_JOINT}|,)\d+)*")
_DROPPED = frozenset("\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff")
_EQUAL = {
    **dict.fromkeys("‘’‚‛′`´", "'"),
    **dict.fromkeys("“”„‟″«»", '"'),
    **dict.fromkeys("‐‑‒–—―−", "-"),
}


class Span(NamedTuple):
    """A stretch of a text: ``text[start:end]``."""

    start: int
    end: int


@dataclass(slots=True)
class Effort:
    """Bounds the work of finding quotes. It counts steps, not time, so that equal replies get equal verdicts.

    Attributes:
        left: Steps of work that are left.
    """

    left: float = MOST_STEPS
    _normalised: set[str] = field(init=False, default_factory=set)

    def spend(self, steps: float) -> None:
        """Take steps.

        Raises:
            EffortExceededError: So many are not left.
        """
        if steps > self.left:
            raise EffortExceededError
        self.left -= steps

    def normalise(self, context: str) -> tuple[str, list[int]]:
        """Normalise a context, and count the steps for it once, whether it is remembered or not.

        Raises:
            EffortExceededError: So many steps are not left.
        """
        new = context not in self._normalised
        self._normalised.add(context)
        if new:
            self.spend(_STEPS_A_CHARACTER * len(context))
        if len(context) <= FUZZY_MAX_CONTEXT:
            characters, origin = _normalised_context(context)
        else:
            characters, origin = _normalised_long_context(context)
        if new:
            self.spend(_STEPS_A_PIECE * len(origin))
        return characters, origin


class EffortExceededError(Exception):
    """Finding a quote takes more work than is left; whether it is there is not known."""


def has_content(text: str) -> bool:
    """Whether a text holds a letter or a digit."""
    return _LETTER_OR_DIGIT.search(text) is not None


@lru_cache(maxsize=1)
def splitter() -> str:
    """Return the splitter's name and version: another version may cut a text otherwise."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"sentencex {version('sentencex')}"
    except PackageNotFoundError:  # bundled without its metadata
        return "sentencex"


def _detect_latin(text: str) -> str:
    """Return the language whose frequent words are the most in a text in Latin script; English where it is not clear."""
    words = set(_WORD.findall(text.lower()))
    counts = {language: len(words & frequent) for language, frequent in _FREQUENT_WORDS.items()}
    second, most = sorted(counts.values())[-2:]
    if most > second and most > counts["en"] + 1:
        return max(counts, key=counts.__getitem__)
    return "en"


def detect_language(text: str) -> str:
    """Guess the ISO 639 code from the script, and of a text in Latin script from its most frequent words.

    Latin script is English unless the words are clearly those of German, French, Spanish, Italian, Portuguese, Dutch or
    Polish. The first 2,000 characters decide, of Latin script the first 500. The code chooses splitting rules, word lists
    and the prompt pack; give ``language=`` where the guess is wrong.

    >>> detect_language("Эйфелева башня"), detect_language("北京是首都。"), detect_language("The tower")
    ('ru', 'zh', 'en')
    >>> detect_language("Der Turm ist nicht hoch."), detect_language("La tour n'est pas dans le parc.")
    ('de', 'fr')
    """
    sample = text[:2000]
    if sample.isascii() or _OTHER_SCRIPT.search(sample) is None:
        return _detect_latin(sample[:500])
    letters = sum(character.isalpha() for character in sample)
    for language, pattern in _SCRIPTS.items():
        count = len(pattern.findall(sample))
        if language == "uk":
            if count and len(_SCRIPTS["ru"].findall(sample)) * 2 > letters:
                return "uk"
        elif (language == "ja" and count * 10 > letters > 0) or count * 2 > letters > 0:
            return language
    return "en"


@lru_cache(maxsize=64)  # the metrics of a sample ask for the same reference
def split_sentences(text: str, language: str | None = None) -> tuple[str, ...]:
    """Cut a text into sentences, the units of recall.

    Args:
        text: The reference or response.
        language: ISO 639 code; detected from the script where None.

    Returns:
        The sentences in order, without surrounding white space or list marks. Empty when no piece holds a
        letter or a digit.

    >>> split_sentences("Mr. Fogg came at 3.5 p.m. today. He left!  ***")
    ('Mr. Fogg came at 3.5 p.m. today.', 'He left!')
    """
    return tuple(text[span.start : span.end] for span in sentence_spans(text, language))


def sentence_spans(text: str, language: str | None = None) -> tuple[Span, ...]:
    """Return where the sentences of `split_sentences` stand in the text."""
    if not has_content(text):
        return ()
    # sentencex takes whole characters only; every place stays the same
    if not text.isascii() and _NOT_FOR_SPLITTER.search(text):
        text = _HALVES.sub("\ufffd", text)
        text = _BEFORE_STOP.sub(lambda match: _WIDE_SPACE.sub(" ", match[0]), text)
    language = language or detect_language(text)
    whole = Span(0, len(text))
    blocks = _cut(text, whole, _LIST_ITEM) if "\n" in text else [whole]
    spans: list[Span] = []
    for block in blocks:
        pieces: Iterable[Span] = _segments(language, text, block)
        if language == "th":
            pieces = _cut(text, block, _THAI_SPACE)
        count = len(spans)  # before this block
        for first, last in pieces:
            start = last - len(text[first:last].lstrip())
            end = start + len(text[start:last].rstrip())
            if not text[start:end][:1].isalpha():
                start = _skip_mark(text, start, last)
                if not has_content(text[start:end]):
                    continue
            span = Span(start, end)
            if len(spans) > count:
                spans[-1] = _without_mark(text, spans[-1])
                if _continues(text, spans[-1], span):
                    span = _join(text, spans.pop(), span)
            spans.append(span)
    return tuple(spans)


def _skip_mark(text: str, start: int, last: int) -> int:
    """Return where a piece begins behind the mark of a list, which stands at the beginning of a line."""
    mark = _LIST_MARK.match(text, start, last)
    is_first = not text[text.rfind("\n", 0, start) + 1 : start].strip(" \t")
    return mark.end() if mark and is_first else start


def _join(text: str, before: Span, span: Span) -> Span:
    """Return a piece with the one before it, which is left out where it is the mark of a list."""
    is_mark = _LIST_MARK.fullmatch(f"{text[before.start : before.end]} ")
    if is_mark:
        return span
    return Span(before.start, span.end)


def _without_mark(text: str, piece: Span) -> Span:
    """Return a piece without the mark of the next item of a list, which the splitter left at its end."""
    words = text[piece.start : piece.end]
    mark = _MARK_BEHIND.search(words)
    if mark is None or not _is_in_list(text, words[: mark.start()], mark):
        return piece
    return Span(piece.start, piece.start + mark.start())


def _is_in_list(text: str, before: str, mark: re.Match[str]) -> bool:
    """Whether a number with a stop is the mark of a list: the first, or one beside another, and behind no abbreviation."""
    if _ABBREVIATION.search(before):
        return False
    number = int(mark[1])
    return number <= 1 or not _mark_numbers(text).isdisjoint((number - 1, number + 1))


@lru_cache(maxsize=1)
def _mark_numbers(text: str) -> frozenset[int]:
    """Return the numbers in a text that may be marks of a list."""
    return frozenset(int(match[1]) for match in _ANY_MARK.finditer(text))


def _continues(text: str, before: Span, span: Span) -> bool:
    """Whether a piece continues the one before it, which the splitter ended too early."""
    piece, start = text[before.start : before.end], span.start
    rest = text[start : start + 20]
    number = _NUMBER_ALONE.fullmatch(text, *span)
    if number and "\n" not in text[before.end : start] and not _is_in_list(text, piece, number):
        return True  # "ст. 10."
    # What follows says who spoke.
    saying = (_SAYING if piece[-1] in '»”"」』' else _DASH_BEFORE_SAYING).match(rest)
    is_said = saying is not None and (saying[0][-1].islower() or saying.lastindex is not None)
    if is_said or _MARK_ALONE.fullmatch(piece):
        return True
    if piece[-1] != ".":
        return _KANA.match(rest) is not None and _NAME_WITH_MARK.search(piece) is not None
    if start == before.end and (piece[-2:-1].isspace() or rest[0] == "-"):  # ".NET", "J.-C."
        return True
    if rest[:1].isdigit():
        return _ABBREVIATION.search(piece) is not None
    return _needs_word(piece, rest)


def _needs_word(piece: str, rest: str) -> bool:
    """Whether a piece ends with what stands before a word: an abbreviation, an ordinal, a title, or a day before its month."""
    if not rest[:1].isalpha():
        return False
    if _TITLE.search(piece):
        return True
    if rest[:1].islower():  # "3. maja", "o.a. in"
        return bool(_DAY.search(piece) or (not piece[0].islower() and _SHORTENED.search(piece)))
    if not rest[:1].isupper():  # "5. 3. 시작"
        return _MONTH_AND_DAY.search(piece) is not None
    return bool(_ORDINAL.search(piece) or (_DAY.search(piece) and _MONTH.match(rest)))


def _segments(language: str, text: str, stretch: Span) -> Iterator[Span]:
    """Yield the splitter's pieces of a stretch of a text; a long one is handed over in blocks.

    The splitter's time grows with the square of a text that is not ASCII: a Chinese one, or quotation marks that are never
    closed. Of a block only the pieces that end in its first half are taken, so that what decides about them (a closing
    quotation mark, an abbreviation) is in the block too. The next block begins where they end.
    """
    start, stop = stretch
    ascii_ = text[start:stop].isascii()
    if language == "en" and ascii_:
        end_mark = _SENTENCE_END.search(text, start, stop)
        # This is one sentence; the splitter would take longer.
        if end_mark is None or end_mark.end() == stop:
            yield stretch
            return
    from sentencex import segment  # pyright: ignore[reportAttributeAccessIssue]  # its wheel has no types

    size = stop - start if ascii_ else _BLOCK
    while start < stop:
        block = text[start : min(start + size, stop)]
        last, end = start + size >= stop, 0
        for piece in segment(language, block):
            if piece.isspace():  # sentencex 1.0.22 writes other line breaks than the text has
                continue
            begin = block.index(piece, end)
            after = begin + len(piece)
            if not last and after > size // 2 and (end or size < _LONGEST_SENTENCE):
                break
            yield Span(start + begin, start + after)
            end = after
        if last:
            return
        start, size = start + end, _BLOCK if end else 2 * size  # a sentence longer than a block


def _cut(text: str, block: Span, boundary: re.Pattern[str]) -> list[Span]:
    spans, position = [], block.start
    for match in boundary.finditer(text, block.start, block.end):
        spans.append(Span(position, match.start()))
        position = match.end()
    return [*spans, Span(position, block.end)]


def normalise(text: str) -> str:
    """Return a text without differences that carry no meaning for a quote.

    Compatibility forms are decomposed (NFKD), case folded, quotes and dashes made alike, invisible characters
    dropped, white space collapsed.

    >>> normalise("Cafe\u0301 – “OPEN”") == normalise('Café  -  "open"')
    True
    """
    if text.isascii():
        return " ".join(text.lower().replace("`", "'").split())
    return "".join(_normalised(text)[0]).strip()


def _normalised(text: str) -> tuple[list[str], list[int]]:
    """Return the normalised characters and, for each, the index it comes from."""
    characters: list[str] = []
    origin: list[int] = []
    space = True
    for index, character in enumerate(text):
        if character in _DROPPED or (space and character.isspace()):
            continue
        space = character.isspace()
        for piece in " " if space else _fold(character):
            characters.append(piece)
            origin.append(index)
    return characters, origin


@lru_cache(maxsize=1 << 16)
def _fold(character: str) -> str:
    """Return what a character becomes: one or several."""
    folded = _EQUAL.get(character) or unicodedata.normalize("NFKD", character).casefold()
    return "".join(_EQUAL.get(piece, piece) for piece in folded)


@lru_cache(maxsize=256)
def _normalised_context(context: str) -> tuple[str, list[int]]:
    characters, origin = _normalised(context)
    return "".join(characters), origin


# The same for contexts whose normalised form takes much memory.
_normalised_long_context = lru_cache(maxsize=2)(_normalised_context.__wrapped__)


def find_quote(quote: str, context: str, effort: Effort | None = None) -> tuple[Span, ...]:
    """Find the spans of a context that a quote claims to be copied from.

    Tried in order: the exact text; the normalised text (`normalise`); the best alignment of at least
    `FUZZY_BAR` of the quote, for quotes of `FUZZY_MIN_CHARACTERS` or more and only where every number
    of the quote stands in the found span. A quote with an ellipsis is found when all its parts are, in
    order. A number is found only as a whole: 19 is not found in 1932, 3 not in 3.5.

    Args:
        quote: What the judge says it copied. Untrusted.
        context: The retrieved text.
        effort: Bounds the work; None: as much as for one reply.

    Returns:
        One span a part, in order; empty when the quote is not there or says too little to be evidence (fewer
        than three letters or digits, unless it is a number or written without spaces).

    Raises:
        EffortExceededError: Finding it takes more work than is left.
    """
    effort = effort or Effort()
    effort.spend(1000 + 50 * len(quote))
    spans: list[Span] = []
    position = 0
    for piece in _ELLIPSIS.split(quote):
        if not has_content(piece):
            continue
        part = piece.strip()
        letters = [character for character in part if character.isalnum()]
        # A quote needs three letters, or one digit or letter of a script without spaces (from Thai on).
        if len(letters) <= 2 and not any(one.isdigit() or ord(one) >= 0x0E00 for one in letters):  # noqa: PLR2004 - see above
            return ()
        start = _find(part, context, position, effort)
        if start >= 0:
            span: Span | None = Span(start, start + len(part))
        else:
            span = _find_normalised(part, context, position, effort)
        if span is None:
            return ()
        spans.append(span)
        position = span.end
    return tuple(spans)


# The sentences and contexts of one sample are compared with each other.
_remembered = lru_cache(maxsize=128)(normalise)


def stands_in(sentence: str, context: str) -> bool:
    """Whether a context holds a sentence as it is, apart from its form (`normalise`) and its last full stop.

    Sentences of fewer than `FUZZY_MIN_CHARACTERS` are not looked for: they say too little.
    """
    needle = _remembered(sentence).rstrip(".!?。！？ ")
    if not FUZZY_MIN_CHARACTERS <= len(needle) <= len(context) * 2:
        return False
    haystack = _remembered(context) if context.isascii() else _normalised_context(context)[0]
    if needle not in haystack:
        return False
    for match in re.finditer(re.escape(needle), haystack):
        if not any(_is_inside(haystack, place) for place in match.span()):
            return True
    return False


def _is_inside(text: str, place: int) -> bool:
    """Whether a place of a text is inside a number, or a word of a script with spaces."""
    pair = text[max(place - 1, 0) : place + 1]
    is_word = len(pair) > 1 and pair.isalnum() and max(pair) < "\u0e00"
    return is_word or _INSIDE_NUMBER.match(text, place) is not None


def _find_normalised(quote: str, context: str, position: int, effort: Effort) -> Span | None:
    """Find a text that does not stand in a context to the letter."""
    effort.spend(_STEPS_A_CHARACTER * len(quote))
    needle = normalise(quote).strip("\"'")
    effort.spend(_STEPS_A_PIECE * len(needle))
    if not needle:
        return None
    haystack, origin = effort.normalise(context)
    first = bisect_left(origin, position) if position else 0
    start = _find(needle, haystack, first, effort)
    end = start + len(needle)
    if start < 0:
        if len(context) > FUZZY_MAX_CONTEXT:
            return None
        aligned = _align(needle, haystack[first:], effort)
        if aligned is None:
            return None
        start, end = aligned.start + first, aligned.end + first
    # The combining marks that belong to the last character are taken in, and outer white space is dropped.
    first, last = origin[start], origin[end - 1] + 1
    while last < len(context) and unicodedata.combining(context[last]):
        last += 1
    first = last - len(context[first:last].lstrip())
    return Span(first, first + len(context[first:last].rstrip()))


def _find(needle: str, haystack: str, position: int, effort: Effort) -> int:
    """Find a text where it does not begin or end inside a number."""
    effort.spend(len(haystack) + 1000)
    start = haystack.find(needle, position)
    while start >= 0:
        end = start + len(needle)
        if not (_INSIDE_NUMBER.match(haystack, start) or _INSIDE_NUMBER.match(haystack, end)):
            break
        effort.spend(len(needle) + 1500)
        start = haystack.find(needle, start + 1)
    return start


def _align(needle: str, haystack: str, effort: Effort) -> Span | None:
    if not FUZZY_MIN_CHARACTERS <= len(needle) <= min(FUZZY_MAX_QUOTE, 2 * len(haystack)):
        return None
    # Every window of the needle's length, also those that overlap an end, compared 64 characters at a time.
    windows = len(haystack) + 2 * len(needle)
    effort.spend(windows * (250 + len(needle) * -(-len(needle) // 64) // 2))
    from rapidfuzz import fuzz

    match = fuzz.partial_ratio_alignment(needle, haystack, score_cutoff=100 * FUZZY_BAR)
    if match is None or match.dest_end - match.dest_start < FUZZY_BAR * len(needle):
        return None
    span = _whole_words(haystack, Span(match.dest_start, match.dest_end))
    numbers = set(_NUMBER.findall(haystack[span.start : span.end]))
    return span if numbers.issuperset(_NUMBER.findall(needle)) else None


def _whole_words(text: str, span: Span) -> Span:
    """Widen a span that starts or ends inside a word; an alignment is as long as the quote, not as the words."""
    start, end = span
    while start > 0 and span.start - start < _WIDEN and _is_inside(text, start):
        start -= 1
    while end < len(text) and end - span.end < _WIDEN and _is_inside(text, end):
        end += 1
    return Span(start, end)
