"""Finds the marks of lists and headings at the beginning of a sentence: "Step 1.", "1.1.", "(a)", "II.", "§ 3.".

These marks number the sentences of a document. They are no part of the statement.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.text.character_spans import has_content

LISTS: Mapping[str, list[str]] = read_data("_internal", "sentences.json")


def any_of(purpose: str) -> str:
    """Build the pattern that matches any word of a list: "Step|Article"."""
    return "|".join(re.escape(word) for word in sorted(LISTS[purpose], key=len, reverse=True))


_MONTHS = frozenset(LISTS["months"])
_LETTERS_AND_DIGITS = re.compile(r"\w+")
# A letter must follow: this check is fast, and trying all words takes long.
ITEM_WORD = rf"(?=[^\W\d_])(?i:{any_of('item_words')})"
# A number in words behind the word for an item: "Step one."
ITEM_NUMBER = rf"(?i:{any_of('item_numbers')})"
# The letters that mark the items of a Korean list.
KOREAN_LETTERS = "가나다라마바사아자차카타파하"
_NUMBER = r"\d{1,3}(?:\.\d{1,3})*"
_HAN_NUMBER = "[0-9０-９一二三四五六七八九十百]{1,4}"
# The characters before a mark: a bullet, the sign of a heading, the sign of bold type.
_BEFORE_MARK = r"\s*(?:[-*•‣–#>]+\s+)?[*_]{0,3}"
# The characters behind most marks: the sign of bold type, and white space.
_BEHIND_MARK = r"[*_]{0,3}(?:\s+|$)"
_MARK = re.compile(
    rf"""
    {_BEFORE_MARK}
    (?:
      (?P<bracket>\()?{ITEM_WORD}(?:
        \.?\s*(?:(?:N[or]\.\s*)?{_NUMBER}(?:[a-z]|\([a-z]\))?|[IVXL]{{1,5}}|[A-Z]|{ITEM_NUMBER})\s?[.:)–—-]{_BEHIND_MARK}
        |(?(bracket)(?!))\s*{_HAN_NUMBER}[：、．]      # 步骤1：
      )
      |(?:
        (?i:no|nr)\.\s*{_NUMBER}[.:)]              # No. 3:
        |\(?{_NUMBER}[.)．）]\)?                    # 1. 1) (1) 1.1.
        |\(?\d{{1,3}}\.?[a-f][.)]                  # 1a. 1.a) (1a); "40m." has a unit
        |[A-Z]\.\d{{1,3}}(?:\.\d{{1,3}})*\.?(?=\s+[^\W\d_]{{2}})   # A.1
        |[A-Z]\d{{1,2}}\.                          # A1.
        |\d{{1,3}}(?:[/\]]|\s\|)(?=\s+[^\W\d_])   # 1/ 1] 1 |
        |\#\d{{1,3}}[.:)]                          # #1:
        |\d{{1,3}}(?::|\s[–—-])(?=\s+[^\W\d_])     # 1: 1 -
        |\(?(?:[^\W\d_]|[ivx]{{2,5}}|[IVXL]{{2,5}})\)  # a) (a) iv) (IV)
        |(?:[IVXL]{{2,5}}|[ivx]{{2,5}}|[a-z])\.  # II. ii. a.; "B." is an initial
        |§{{1,2}}\s*\d{{1,4}}[a-z]?(?:\s+(?:Abs|Absatz|Nr)\.?\s*\d{{1,3}})*[.:]
        |\[\d{{1,3}}\]|\{{\d{{1,3}}\}}|<\d{{1,3}}>      # [1] {{1}} <1>
        |[{KOREAN_LETTERS}][.)]                      # 가.
        |제\s*\d{{1,4}}\s*[조장절항][.:]?|\d{{1,3}}\s*단계[.:]
      ){_BEHIND_MARK}
      |[①-⑳]\s*
      |\d{{1,2}}\ufe0f?\u20e3\s*                   # a digit on a key
      |第\s*{_HAN_NUMBER}\s*[步歩条條章节節项項款](?:[：:、，,.．。]|\s)\s*
      |(?:[一二三四五六七八九十]{{1,3}}|\d{{1,2}})、(?![\d一二三四五六七八九十])|[（(][一二三四五六七八九十]{{1,3}}[）)]
      |（\d{{1,3}}）
    )
    """,
    re.VERBOSE,
)
# A quick check: the beginning of every text with a mark, and of few other texts. The pattern of the marks takes ten times as long.
# A text that begins with a word and a word in small letters, such as "The pump", has no mark.
_MAY_BE_MARK = re.compile(
    r"""
    (?![A-Za-z]+[ ][a-z](?![a-z]{0,4}[.:)]))
    (?:
    .{0,24}?[\d§①-⑳]
    |[\W_]*(?:\w{1,5}[.)]|[一二三四五六七八九十]|[^\W\d_]{2,}\s+[^\W\d_]{1,5}\s?[.:)–—-])
    |\w{1,8}[一二三四五六七八九十]
    )
    """,
    re.VERBOSE,
)
# A number of several levels (1.1), or of a paragraph (§ 12), without a mark behind it. A capitalised word must follow.
_BARE_MARK = re.compile(
    rf"""
    {_BEFORE_MARK}
    (?:\d{{1,3}}(?P<levels>(?:\.\d{{1,3}})+)|§{{1,2}}\s*\d{{1,4}}[a-z]?)
    \s+(?=[^\W\d_]{{2}})
    """,
    re.VERBOSE,
)
_WORD = re.compile(r"[^\W\d_]+")
_DAY = re.compile(r"\s*\d{1,2}\.\s+$")
_MAX_MARKS = 3
# In these languages, a number before a capital letter may belong to a noun: "2.5 Liter".
_LANGUAGES_WITH_CAPITALISED_NOUNS = ("de", "lb")


def skip_list_marks(text: str, language: str = "en") -> int:
    """Return the position behind the marks of a list or heading, at which the words of a sentence begin.

    A number that may belong to the next words is no mark: "Article 5 forbids it", "1.1 billion people", "3. Mai". For a text that is
    only a mark, return 0.

    >>> [skip_list_marks(text) for text in ("Step 1. Press it.", "1.1 Press it.", "1.1 billion people.")]
    [8, 4, 0]
    """
    if _MAY_BE_MARK.match(text) is None:
        return 0
    start = 0
    for _ in range(_MAX_MARKS):
        mark = _MARK.match(text, start)
        if mark is not None:
            is_mark = not _is_day(text, mark, language)
        else:
            mark = _BARE_MARK.match(text, start)
            is_mark = mark is not None and _is_heading(text, mark, language)
        if mark is None or not is_mark:
            break
        start = mark.end()
    return start if has_content(text[start:]) else 0


def begins_with_month(text: str, start: int = 0) -> bool:
    """Whether the name of a month begins at a position of a text."""
    word = _LETTERS_AND_DIGITS.match(text, start)
    return word is not None and word.group() in _MONTHS


def _is_day(text: str, mark: re.Match[str], language: str) -> bool:
    """Tell whether a number with a full stop is a day before a month ("3. Mai"), or an ordinal before a word in small letters."""
    if _DAY.fullmatch(mark.group()) is None:
        return False
    if begins_with_month(text, mark.end()):
        return True
    next_character = text[mark.end() : mark.end() + 1]
    return next_character.islower() and language[:2] != "en"


def _is_heading(text: str, mark: re.Match[str], language: str) -> bool:
    """Whether a number without a mark behind it is the number of a heading: a capitalised word follows."""
    match = _WORD.match(text, mark.end())
    if match is None:
        return False
    word = match[0]
    is_capitalised = word[0].isupper() and word[1:].islower()
    if not is_capitalised or word in LISTS["large_numbers"]:
        return False
    has_several_levels = (mark["levels"] or "").count(".") > 1
    return has_several_levels or language[:2] not in _LANGUAGES_WITH_CAPITALISED_NOUNS
