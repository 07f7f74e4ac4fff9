"""Cutting a text into sentences.

Splitting is `sentencex`_ (more than 240 languages); what it leaves open is decided here and stated: blank pieces and pieces
without a letter or digit are no units, list items that start a line are units of their own, and Thai, which has no sentence
mark, is cut at the spaces between two Thai letters.

.. _sentencex: https://github.com/wikimedia/sentencex
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import accumulate, pairwise

from ctxmetrics._internal.forks import cached_property
from ctxmetrics._internal.patterns import compile_on_use
from ctxmetrics.text.character_spans import Span, has_content
from ctxmetrics.text.languages import detect_language
from ctxmetrics.text.list_marks import (
    ITEM_NUMBER,
    ITEM_WORD,
    KOREAN_LETTERS,
    LISTS,
    any_of,
    begins_with_month,
)
from ctxmetrics.text.visible import see

# A line that begins with a mark of a list; "3. Mai" has none.
_LIST_ITEM = compile_on_use(
    rf"\n(?=[ \t]*(?:[-*•‣–]|\(?\d{{1,3}}[.)])[ \t])(?![ \t]*\d{{1,2}}\.[ \t]+(?:{any_of('months')})\b)"
)
_LIST_MARK = compile_on_use(r"(?:[-*•‣–]|\(?\d{1,3}[.)．）])[ \t]+")
# The patterns below find full stops that end no sentence. They stand behind a list mark, an abbreviation, an ordinal, a part of
# a date or a title, or at the beginning of a name (".NET").
# A list mark, alone or behind the word for an item ("Step 2.").
_MARK_ALONE = compile_on_use(
    rf"""
    (?:[->#*]+\s+)?
    (?:{ITEM_WORD}\.?\s*)?
    \(?(?:
        \d{{1,3}}(?:\.\d{{1,3}})*[.)．）]   # 2. or 2.1) or (2)
        |(?:[IVXL]{{1,5}}|[ivx]{{2,5}})\.   # IV.
        |[a-zа-я]\)                         # a)
        |\d{{1,3}}\([a-z]\)\.               # 2(b).
        |\d{{1,3}}\.?[a-f][.)]              # 1a. or 1.a)
        |[A-Z]\.?\d{{1,3}}(?:\.\d{{1,3}})*\.  # A1. or A.1.
        |[{KOREAN_LETTERS}]\.
    )
    |{ITEM_WORD}\s+(?:{ITEM_NUMBER}|[A-Z])\.  # Step one. or Appendix B.
    |§{{1,2}}\s*\d{{1,4}}[a-z]?\.           # § 12a.
    """,
    re.VERBOSE,
)
_NUMBER_ALONE = compile_on_use(r"\(?(\d{1,3})[.)．）]")
_ANY_MARK = compile_on_use(r"(?:(?<!\S)|(?<=[。！？]))\(?(\d{1,3})[.)．）](?!\d)")
_MARK_BEHIND = compile_on_use(r"(?:(?<=[.!?:])\s+|(?<=[。！？])\s*)\(?(\d{1,3})[.)．）]$")
# The word before a full stop at the end. Greedy, so that it is looked for from the end.
_LAST_WORD = compile_on_use(r".*(?<!\w)([^\W\d_]+)\.", re.DOTALL)
_ABBREVIATIONS = frozenset(LISTS["abbreviations"])
_ORDINAL = compile_on_use(
    rf"""
    \b(?<!I\ )(?:{any_of("articles")})\s+
    (?: \d{{1,4}} | (?-i:[a-zäöüß]{{2,20}}e[mnrs]?)\s+\d{{1,2}} )\.$  # am 12., im frühen 12.
    """,
    re.IGNORECASE | re.VERBOSE,
)
_TITLE = compile_on_use(
    rf"(?<![.\w])(?:{any_of('titles')}|(?-i:{any_of('exact_titles')}))\.$", re.IGNORECASE
)
_ROMAN_DIGITS = frozenset("IVXL")
_ITEM_NUMBERS = frozenset(LISTS["item_numbers"])
_TITLES = frozenset(word.lower() for word in LISTS["titles"] + LISTS["exact_titles"])
# The length of the longest word of these lists, and of the Roman numerals of marks.
_MAX_LETTERS_OF_SHORT_WORD = max(map(len, _TITLES | _ITEM_NUMBERS))
_DAY = compile_on_use(r"\b\d{1,2}\.$")
# An abbreviation in any language. It ends no sentence if a word in small letters follows.
_VOWELS = "aeiouyäöüàâéèêëíîïóôúùûąęýаеёиоуыэюяіїє"
_CONSONANT = rf"(?![{_VOWELS}{_VOWELS.upper()}])[^\W\d_]"
_SHORTENED = compile_on_use(
    rf"""
    \b(?:
        [^\W\d_]\.\s?[^\W\d_]{{1,3}}                                # o.a. in
        |[IVXL]{{2,5}}                                              # Friedrich II. regierte
        |{_CONSONANT}(?:(?![A-ZА-Я]){_CONSONANT}){{0,3}}            # tj. autorzy: no vowel
    )\.$
    """,
    re.VERBOSE,
)
# A number with an abbreviated unit: "1,5 Mio.", "5 tys."
_SHORT_AMOUNT = compile_on_use(r"\d\s?[^\W\d_]{1,4}\.$")
# Signs that may stand before or behind a number.
_SIGNS = frozenset("€$£¥₽₴₺₹₩₪₫฿%‰°±~≈<>≤≥")
# Signs and words of money and measures that stand behind a number.
_UNIT_AHEAD = compile_on_use(r"(?:[€$£¥₽₴₺₹₩₪₫฿%‰°]|(?:zł|Kč|kr|Ft|lei|руб|грн|лв)\b)(?!\s?\d)")
_YEAR = compile_on_use(r"\b\d{4}\.$")
_YEAR_AHEAD = compile_on_use(r"\d{4}\b")
_MONTH_AND_DAY = compile_on_use(r"\b\d{1,2}\.\s*\d{1,2}\.$")
_QUOTATION_ENDS = frozenset('»”"」』')
_DASHES = frozenset("—–")
# The beginning of the words that say who spoke, behind a quotation.
_SAYING = compile_on_use(
    r"""
    [—–-]\s*[^\W\d_]  # "Yes" - said
    |(と|って|이?라[고는]|하고|[\u4e00-\u9fff]{0,4}[说說问問道答喊](?![：:]))  # 「はい」と
    |[^\W\d_]  # "Yes," said
    """,
    re.VERBOSE,
)
_DASH_BEFORE_SAYING = compile_on_use(r"[—–]\s*[^\W\d_]")
# A name that ends with a mark: "Yahoo!の".
_NAME_WITH_MARK = compile_on_use(r"[A-Za-z][!?]$")
_KANA = compile_on_use(r"[\u3040-\u309f]")
# How many characters are read before and behind the place where a sentence may end. To read all of both texts would take time
# that grows with the square of the number of pieces of a sentence.
_TAIL_CHARACTERS = 40
_HEAD_CHARACTERS = 20
# The maximum number of pieces that are put together to one sentence: no bibliography is a sentence.
_MAX_PIECES_JOINED = 10
# Characters of ASCII at which the splitter may begin a sentence in a language of Latin script.
_SENTENCE_END = compile_on_use(r"[\n!.?)]")
_THAI_SPACE = compile_on_use(r"(?<=[\u0e00-\u0e7f])[ \u00a0]+(?=[\u0e00-\u0e7f])|\n+")
# Where the splitter fails (sentencex 1.0): a letter, a space of several bytes (no-break space), a full stop.
_BEFORE_STOP = compile_on_use(r"(?<=[^\W\d_])\s+(?=\.)")
_WIDE_SPACE = compile_on_use(r"[^\S\n]")
_HALVES = compile_on_use("[\ud800-\udfff]")
# Characters without which neither of the two patterns above matches: a lone surrogate, or white space
# outside ASCII. They are looked for first, which is ten times faster.
_NOT_FOR_SPLITTER = compile_on_use(
    "[\ud800-\udfff\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
)
# The maximum number of characters that the splitter gets at once.
_BLOCK_CHARACTERS = 8_000
# This maximum for Chinese and Japanese, whose sentences are short, and for which the splitter is slowest.
_SMALL_BLOCK_CHARACTERS = 500
# This maximum for Chinese and Japanese if a quotation is longer than half of a small block.
_MEDIUM_BLOCK_CHARACTERS = 2_000
_LANGUAGES_WITH_SHORT_SENTENCES = frozenset(("zh", "ja"))
# This maximum for a text with many quotation marks that are never closed.
_QUOTED_BLOCK_CHARACTERS = 1_000
_EAST_ASIAN_QUOTES = (("「", "」"), ("『", "』"), ("“", "”"), ("《", "》"), ("（", "）"))
# The maximum number of unclosed quotation marks in a usual text.
_MAX_UNCLOSED_QUOTES = 20
# A sentence of more characters is cut.
_MAX_SENTENCE_CHARACTERS = 32_000


@lru_cache(maxsize=1)
def splitter() -> str:
    """Return the splitter's name and version: another version may cut a text otherwise."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"sentencex {version('sentencex')}"
    except PackageNotFoundError:  # bundled without its metadata
        return "sentencex"


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
    """Return the spans of the sentences of `split_sentences` in the text.

    The visible text is cut: no sentence ends in an address or a tag, and a sentence may go on behind a page number.
    """
    view = see(text)
    spans = (Span(*ends) for ends in split_visible(view.text, language))
    return tuple(spans) if view.is_plain else tuple(map(view.to_source, spans))


def split_visible(text: str, language: str | None = None) -> Sequence[tuple[int, int]]:
    """Return the start and the end of each sentence, as `sentence_spans` does. A reader must see all of the text."""
    if not has_content(text):
        return ()
    # sentencex takes only whole characters. Each replacement is as long as the original, so all positions stay the same.
    if not text.isascii() and _NOT_FOR_SPLITTER.search(text):
        text = _HALVES.sub("\ufffd", text)
        text = _BEFORE_STOP.sub(lambda match: _WIDE_SPACE.sub(" ", match[0]), text)
    whole = Span(0, len(text))
    if language is None and _is_one_sentence(text, whole):
        return _join_pieces(text, [whole], _ListMarks(text))
    language = language or detect_language(text)
    blocks = _cut(text, whole, _LIST_ITEM) if "\n" in text else [whole]
    marks = _ListMarks(text)
    spans: list[tuple[int, int]] = []
    for block in blocks:
        if language == "th":
            pieces: Iterable[tuple[int, int]] = _cut(text, block, _THAI_SPACE)
        else:
            pieces = _segments(language, text, block)
        spans += _join_pieces(text, pieces, marks)
    return spans


def _join_pieces(
    text: str, pieces: Iterable[tuple[int, int]], marks: _ListMarks
) -> list[tuple[int, int]]:
    """Join the pieces that the splitter cut too early. Return the sentences without white space around them."""
    sentences: list[tuple[int, int]] = []
    pieces_of_last = 0  # how many pieces the last sentence has
    for piece_start, piece_end in pieces:
        if piece_start == piece_end:
            continue
        first_character = text[piece_start]
        begins_with_capital = first_character.isupper() and first_character.isalpha()
        if begins_with_capital and (not sentences or _ends_plainly(text, *sentences[-1])):
            # The usual case: a capital letter behind a sentence that certainly ends.
            sentence_end = piece_end
            while text[sentence_end - 1].isspace():
                sentence_end -= 1
            sentences.append((piece_start, sentence_end))
            pieces_of_last = 1
            continue

        start, end = _strip_piece(text, piece_start, piece_end)
        begins_with_letter = start < end and text[start].isalpha()
        if not begins_with_letter and not has_content(text[start:end]):
            # Marks alone are no sentence, but "€" may end the sentence before it: "It cost 5 mln. €".
            if (
                start < end
                and sentences
                and _ends_with_cut_amount(text, sentences[-1], text[start:end])
            ):
                last_start, _ = sentences[-1]
                sentences[-1] = (last_start, end)
            continue
        if not sentences:
            sentences.append((start, end))
            pieces_of_last = 1
            continue

        # The piece may also begin with a capital behind white space or a list mark.
        begins_sentence = text[start].isupper() and _ends_plainly(text, *sentences[-1])
        if not begins_sentence:
            last = _without_mark(text, Span(*sentences[-1]), marks)
            piece = Span(start, end)
            if pieces_of_last < _MAX_PIECES_JOINED and _continues(text, last, piece, marks):
                sentences[-1] = _join(text, last, piece)
                pieces_of_last += 1
                continue
            sentences[-1] = last
        sentences.append((start, end))
        pieces_of_last = 1
    return sentences


def _strip_piece(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the start and the end of a piece without white space around it and without a list mark before it."""
    stripped_end = end
    if text[end - 1].isspace():
        stripped_end = start + len(text[start:end].rstrip())
    if not text[start].isalpha():
        start = end - len(text[start:end].lstrip())
        if not text[start : start + 1].isalpha():
            start = _skip_mark(text, start, end)
    return start, stripped_end


def _ends_with_cut_amount(text: str, sentence: tuple[int, int], behind: str) -> bool:
    """Whether a sentence ends inside an amount, and the text behind it is the rest of the amount."""
    return _is_cut_amount(_get_tail(text, Span(*sentence)), behind)


class _ListMarks:
    """The marks of lists in a text. All are read at once, when the first is asked for."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _numbers(self) -> frozenset[int]:
        return frozenset(int(match[1]) for match in _ANY_MARK.finditer(self._text))

    def has(self, mark: re.Match[str], tail: str) -> bool:
        """Whether a number with a stop is the mark of a list item.

        The number must be 0 or 1, or the text must also have a mark with the next lower or higher number. No abbreviation may
        stand before the number.
        """
        if _ends_with_abbreviation(tail):
            return False
        number = int(mark[1])
        neighbours = (number - 1, number + 1)
        return number <= 1 or not self._numbers.isdisjoint(neighbours)


def _get_tail(text: str, piece: Span) -> str:
    """Return the end of a piece, or all of a short one."""
    return text[max(piece.start, piece.end - _TAIL_CHARACTERS) : piece.end]


def _ends_with_abbreviation(tail: str) -> bool:
    """Whether a piece ends with an abbreviation that stands before a number."""
    word = _LAST_WORD.fullmatch(tail)
    return word is not None and word[1].lower() in _ABBREVIATIONS


def _ends_plainly(text: str, start: int, end: int) -> bool:
    """Whether a piece before a capital letter certainly ends a sentence.

    The piece must end with ``!``, ``?`` or the like, or with a full stop behind a word that is no title ("Dr.").
    """
    mark = text[end - 1]
    if mark != ".":
        return mark not in ")．）"
    blank = text.rfind(" ", max(start, end - _HEAD_CHARACTERS), end)
    if blank <= 0:
        return False  # the whole piece is one word, such as the mark of a list
    last_word = text[blank + 1 : end - 1]
    if not last_word.isalpha():
        return False
    if len(last_word) > _MAX_LETTERS_OF_SHORT_WORD:
        return True  # a long word is no abbreviation: the usual case
    if last_word.lower() in _TITLES:
        return False
    # Appendix B. Chapter IV. Step one.
    is_numeral = last_word.isupper() and _ROMAN_DIGITS.issuperset(last_word)
    may_end_mark = is_numeral or len(last_word) == 1 or last_word in _ITEM_NUMBERS
    return not may_end_mark


def _skip_mark(text: str, start: int, last: int) -> int:
    """Return the start of a piece behind the list mark that begins its line. "3. Mai" begins with a date, not with a mark."""
    mark = _LIST_MARK.match(text, start, last)
    if mark is None or begins_with_month(text, mark.end()) or not _begins_line(text, start):
        return start
    return mark.end()


def _begins_line(text: str, place: int) -> bool:
    """Whether nothing but blanks stands between a place and the beginning of its line."""
    while place and text[place - 1] in " \t":
        place -= 1
    return not place or text[place - 1] == "\n"


def _join(text: str, before: Span, span: Span) -> Span:
    """Join a piece to the piece before it. A list mark before it is dropped instead."""
    is_mark = _LIST_MARK.fullmatch(f"{_get_tail(text, before)} ")
    if is_mark and not begins_with_month(text, span.start):
        return span
    return Span(before.start, span.end)


def _without_mark(text: str, piece: Span, marks: _ListMarks) -> Span:
    """Return a piece without the list mark of the next item, which the splitter may have left at its end."""
    if text[piece.end - 1] not in ".)．）" or not text[piece.end - 2].isdigit():
        return piece
    tail = _get_tail(text, piece)
    mark = _MARK_BEHIND.search(tail)
    if mark is None or not marks.has(mark, tail[: mark.start()]):
        return piece
    return Span(piece.start, piece.end - len(tail) + mark.start())


def _continues(text: str, before: Span, span: Span, marks: _ListMarks) -> bool:
    """Whether a piece belongs to the sentence of the piece before it: the splitter ended that piece too early."""
    start = span.start
    tail = _get_tail(text, before)
    head = text[start : start + _HEAD_CHARACTERS]
    number = _NUMBER_ALONE.fullmatch(text, *span)
    if number and "\n" not in text[before.end : start] and not marks.has(number, tail):
        return True  # "ст. 10."
    if _is_said(tail, head):
        return True
    if tail[-1] in ".)．）" and len(tail) < _TAIL_CHARACTERS and _MARK_ALONE.fullmatch(tail):
        return True
    if tail[-1] != ".":
        return _KANA.match(head) is not None and _NAME_WITH_MARK.search(tail) is not None
    follows_at_once = start == before.end
    begins_name = follows_at_once and (tail[-2:-1].isspace() or head[0] == "-")
    if begins_name or _is_cut_amount(tail, head):  # ".NET", "J.-C."
        return True
    return _needs_more(tail, head, begins_small=text[before.start].islower())


def _is_cut_amount(tail: str, head: str) -> bool:
    """Whether the splitter cut an amount behind its abbreviation: "5 mln. €", "approx. $5"."""
    if _UNIT_AHEAD.match(head) and _SHORT_AMOUNT.search(tail):
        return True
    return head[0] in _SIGNS and _ends_with_abbreviation(tail)


def _is_said(tail: str, head: str) -> bool:
    """Whether a quotation ends at the end of `tail`, and `head` says who spoke."""
    saying = None
    if tail[-1] in _QUOTATION_ENDS:
        saying = _SAYING.match(head)
    elif head[0] in _DASHES:
        saying = _DASH_BEFORE_SAYING.match(head)
    return saying is not None and (saying[0][-1].islower() or saying.lastindex is not None)


def _needs_more(before: str, after: str, *, begins_small: bool) -> bool:
    """Whether a piece ends with an abbreviation, an ordinal, a title or a day, to which the next word belongs.

    Args:
        before: The end of the piece, with its full stop.
        after: The beginning of the next piece.
        begins_small: Whether the piece begins with a small letter.
    """
    if after[0].isdigit():
        is_date = _YEAR_AHEAD.match(after) and _MONTH_AND_DAY.search(before)  # "12. 5. 2024"
        return is_date is not None or _ends_with_abbreviation(before)
    if not after[0].isalpha():
        return False
    last_word = before.rsplit(maxsplit=1)[-1]
    ends_with_digit = last_word[-2:-1].isdecimal()
    if not ends_with_digit and _TITLE.search(last_word):
        return True
    if after[0].islower():  # "3. maja", "2024. május", "o.a. in"
        is_day_or_year = _DAY.search(last_word) or (
            _YEAR.search(last_word) and begins_with_month(after)
        )
        is_shortened = not begins_small and _SHORTENED.search(before)
        return bool(is_day_or_year or is_shortened)
    if not after[0].isupper():  # "5. 3. 시작"
        return _MONTH_AND_DAY.search(before) is not None
    is_day = _DAY.search(last_word) and begins_with_month(after)
    return ends_with_digit and bool(is_day or _ORDINAL.search(before))


def _is_one_sentence(text: str, stretch: Span) -> bool:
    """Whether a stretch is certainly one sentence in any language of Latin script: it has no mark that may end a sentence."""
    if not text.isascii():
        return False
    end_mark = _SENTENCE_END.search(text, stretch.start, stretch.end)
    return end_mark is None or end_mark.end() == stretch.end


def _segments(language: str, text: str, stretch: Span) -> Iterable[tuple[int, int]]:
    """Return the splitter's pieces of a stretch of a text."""
    if language == "en" and _is_one_sentence(text, stretch):
        return (stretch,)
    # `from sentencex import segment` takes five times as long.
    import sentencex

    segment: Callable[[str, str], Sequence[str]] = sentencex.segment  # pyright: ignore[reportAttributeAccessIssue]  # its wheel has no types
    has_short_sentences = language in _LANGUAGES_WITH_SHORT_SENTENCES
    block_size = _SMALL_BLOCK_CHARACTERS if has_short_sentences else _BLOCK_CHARACTERS
    start, stop = stretch
    if stop - start <= block_size and text.isascii():
        # The usual case: one block, without quotation marks of other scripts.
        block = text[start:stop]
        return _find_pieces(block, segment(language, block), start)
    return _segment_in_blocks(partial(segment, language), text, stretch, block_size)


def _segment_in_blocks(
    segment: Callable[[str], Sequence[str]], text: str, stretch: Span, usual_size: int
) -> Iterator[tuple[int, int]]:
    """Yield the splitter's pieces of a stretch of a text that is given to the splitter in blocks.

    The splitter's time grows with the square of the length of a Chinese text, and with the square of the number of quotation
    marks that are never closed.

    A closing quotation mark or an abbreviation behind a piece may decide where the piece ends. So only the pieces that end in
    the first half of a block are taken, or in its first three fourths if it has open quotation marks. The next block begins
    where the last of these pieces ends.
    """
    start, stop = stretch
    size = usual_size
    is_longer = False  # whether the first sentence of the block is longer than the block before
    while start < stop:
        block = text[start : min(start + size, stop)]
        if size == _SMALL_BLOCK_CHARACTERS and _holds_open_quotation(block, size // 2):
            size = _MEDIUM_BLOCK_CHARACTERS
            block = text[start : min(start + size, stop)]
        trusted_end = size // 2
        if not is_longer and _has_open_quotations(block):
            size = min(usual_size, _QUOTED_BLOCK_CHARACTERS)
            block = block[:size]
            trusted_end = size * 3 // 4
        is_last_block = start + size >= stop
        sentence_end = start
        for piece_start, piece_end in _find_pieces(block, segment(block), start):
            is_trusted = is_last_block or piece_end <= start + trusted_end
            is_first_too_long = sentence_end == start and size >= _MAX_SENTENCE_CHARACTERS
            if not is_trusted and not is_first_too_long:
                break
            yield piece_start, piece_end
            sentence_end = piece_end
        if is_last_block:
            return
        is_longer = sentence_end == start
        start = sentence_end
        size = 2 * size if is_longer else usual_size


def _find_pieces(block: str, pieces: Sequence[str], block_start: int) -> list[tuple[int, int]]:
    """Return the start and the end of each piece that the splitter made of a block. White space alone is no piece.

    Args:
        block: The block.
        pieces: The pieces, in order.
        block_start: The position of the block in the text. The positions of the pieces are those in the text, too.
    """
    if "".join(pieces) == block:
        # Nearly always true: each piece begins where the piece before it ends.
        ends = [*accumulate(map(len, pieces), initial=block_start)]
        all_spans = [*pairwise(ends)]
        if not any(map(str.isspace, pieces)):
            return all_spans
        return [span for span, piece in zip(all_spans, pieces, strict=True) if not piece.isspace()]
    spans: list[tuple[int, int]] = []
    last_end = block_start
    for piece in pieces:
        if piece.isspace():  # sentencex 1.0.22 writes other line breaks than the text has
            continue
        start = block_start + block.index(piece, last_end - block_start)
        last_end = start + len(piece)
        spans.append((start, last_end))
    return spans


def _holds_open_quotation(block: str, middle: int) -> bool:
    """Whether a quotation begins in the first half of a block and does not end in the block."""
    for opening, closing in _EAST_ASIAN_QUOTES:
        start = block.rfind(opening, 0, middle)
        if start >= 0 and closing not in block[start:]:
            return True
    return False


def _has_open_quotations(block: str) -> bool:
    """Whether many quotation marks of a block are never closed."""
    if block.isascii():
        return False
    # In languages with „ both “ and ” close a quotation; in others “ opens it.
    low_marks = block.count("„")
    left_marks = block.count("“")
    right_marks = block.count("”")
    unclosed_curved = left_marks - right_marks
    if low_marks:
        unclosed_curved = low_marks - left_marks - right_marks
    unclosed_angular = abs(block.count("«") - block.count("»"))
    unclosed_corner = block.count("「") - block.count("」") + block.count("『") - block.count("』")
    return max(unclosed_curved, unclosed_angular, unclosed_corner) > _MAX_UNCLOSED_QUOTES


def _cut(text: str, block: Span, boundary: re.Pattern[str]) -> list[Span]:
    """Cut a stretch of a text at each match of a pattern. The matches belong to no piece."""
    spans = []
    position = block.start
    for match in boundary.finditer(text, block.start, block.end):
        spans.append(Span(position, match.start()))
        position = match.end()
    return [*spans, Span(position, block.end)]
