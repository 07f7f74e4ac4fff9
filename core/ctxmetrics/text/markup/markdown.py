"""Code and emphasis: fences and ticks, and the marks around words of Markdown and of wikis."""

from __future__ import annotations

import re
from bisect import bisect_left

from ctxmetrics._internal.patterns import compile_on_use
from ctxmetrics.text.markup.found_markup import (
    LISTS,
    LONGEST_NOTE,
    SUPERSCRIPTS,
    FoundMarkup,
    is_word,
    match_lines,
    match_marks,
)

# The line before or behind code: ```python
_FENCE = compile_on_use(r"^[ \t]{0,3}(```++|~~~++)[^\n`]{0,80}+$\n?", re.MULTILINE)
_TICKS = compile_on_use(r"`+")
# A role before its text.
_ROLE = compile_on_use(
    r"""
    (?:(?<=\\)[ ]|(?<![\w:])):[a-z]{1,12}(?::[a-z]{2,12})?:\Z  # reStructuredText: :ref:`fees`, H\ :sub:`2`
    |\{[a-z]{2,12}(?::[a-z]{2,12})?\}\Z                        # MyST: {ref}`fees`
    """,
    re.VERBOSE,
)
_MAX_ROLE_CHARACTERS = 30
# The target behind the text of a role: :ref:`the fees <fees>`
_ROLE_TARGET = compile_on_use(r"\s*+<[^<>`\n]{1,300}+>\Z")
# Of a name with a wave only the last part is seen: :meth:`~pump.Pump.start`
_MODULES_BEFORE_NAME = compile_on_use(r"~(?:\w{1,40}\.){1,9}")
_POWER = compile_on_use(r"[+-]?\d{1,3}")
# What makes a link of a text between ticks in reStructuredText: `the plan`_
_LINK_END = compile_on_use(r"__?(?!\w)")


def find_code(markup: FoundMarkup) -> None:
    """Find code between fences and between ticks: the marks are not seen, what they hold stays as it is."""
    opening_fence: re.Match[str] | None = None
    for fence in match_lines(_FENCE, markup.text):
        if opening_fence is None:
            opening_fence = fence
        elif fence[1][0] == opening_fence[1][0] and len(fence[1]) >= len(opening_fence[1]):
            markup.drop_pair(opening_fence.span(), fence.span())
            markup.protect(opening_fence.end(), fence.start())
            opening_fence = None
    runs = _list_ticks(markup)
    # For each run of ticks the index of the next one of the same length; -1 for none.
    next_equal_runs: list[int] = [-1] * len(runs)
    next_of_length: dict[int, int] = {}
    for index in range(len(runs) - 1, -1, -1):
        length = len(runs[index][0])
        next_equal_runs[index] = next_of_length.get(length, -1)
        next_of_length[length] = index
    index = 0
    while index < len(runs):
        closing = next_equal_runs[index]
        if closing >= 0 and not markup.crosses_blank_line(runs[index].end(), runs[closing].start()):
            _read_ticks(markup, runs[index].span(), runs[closing].span())
            index = closing
        index += 1


def _list_ticks(markup: FoundMarkup) -> list[re.Match[str]]:
    """List the runs of ticks that may stand around code."""
    # Two ticks open a quotation that two apostrophes close.
    has_quotations = "''" in markup.text
    runs = []
    for run in _TICKS.finditer(markup.text):
        opens_quotation = has_quotations and run[0] == "``"
        if markup.is_free(*run.span()) and not opens_quotation:
            runs.append(run)
    return runs


def _read_ticks(markup: FoundMarkup, opening: tuple[int, int], closing: tuple[int, int]) -> None:
    """Take two runs of ticks, with the role before them; what they hold stays as it is."""
    start = opening[1]
    end = closing[0]
    role = _ROLE.search(markup.text, max(0, opening[0] - _MAX_ROLE_CHARACTERS), opening[0])
    if role is not None:
        _read_role(markup, role, start, end)
    has_one_tick = opening[1] - opening[0] == 1
    link_end = _LINK_END.match(markup.text, closing[1])
    if link_end is not None and has_one_tick:
        markup.drop(*link_end.span())
    markup.drop_pair(opening, closing)
    markup.protect(start, end)


def _read_role(markup: FoundMarkup, role: re.Match[str], start: int, end: int) -> None:
    """Take a role, what joins it to words, and what is not seen of the text between its ticks, which begins and ends somewhere."""
    text = markup.text
    is_joined = text[role.start()] == " "  # "\\ " joins a role to a word
    markup.drop(role.start() - 1 if is_joined else role.start(), role.end())
    if text.startswith("\\ ", end + 1):
        markup.drop(end + 1, end + 3)
    target = _ROLE_TARGET.search(text, max(start, end - LONGEST_NOTE), end)
    if target is not None:
        markup.drop(*target.span())
    modules = _MODULES_BEFORE_NAME.match(text, start, end)
    if modules is not None:
        markup.drop(*modules.span())
    if role[0].endswith("sup:") and _POWER.fullmatch(text, start, end):
        markup.replace(start, end, text[start:end].translate(SUPERSCRIPTS))


# Subscripts and superscripts of Pandoc: H~2~O, 5 m^2^, 21^st^
_SUBSCRIPT_OR_SUPERSCRIPT = compile_on_use(
    r"(?<=[A-Za-z)])~(\d{1,3})~|(?<=[\w)])\^([+−-]?\d{1,3}|(?:st|nd|rd|th|er|re|e|o|a))\^(?!\w)"
)


# The non-breaking space of LaTeX: 20~euros, Dr.~Hale
_TIE = compile_on_use(r"(?<=\d)~(?=[A-Za-z]{2})|(?<=[a-z]\.)~(?=[A-Z\d])")


# Struck-through text of chats, where the new value follows the old one: ~30~ *20 euros*. Other text between tildes may be code
# of Org mode.
_STRUCK_BY_ONE = compile_on_use(
    r"""
    (?<![^\s(\["'“])
    ~(?=[^\s~/])[^~\n\d]{0,40}\d[^~\n]{0,60}(?<=[^\s~])~
    (?=[ ][*_]{0,2}[$€£]?\d)
    """,
    re.VERBOSE,
)


def find_indexes(markup: FoundMarkup) -> None:
    """Find ties, struck text of chats, and lowered and raised text of Pandoc and AsciiDoc; a raised number is seen as one."""
    if "~" in markup.text:
        for match in match_marks(_STRUCK_BY_ONE, markup.text, "~"):
            if markup.is_free(*match.span()):
                markup.hide(*match.span())
                markup.protect(*match.span())
    for match in _TIE.finditer(markup.text):
        markup.replace(*match.span(), " ")
    for match in _SUBSCRIPT_OR_SUPERSCRIPT.finditer(markup.text):
        lowered, raised = match.groups()
        markup.replace(*match.span(), lowered or raised.replace("−", "-").translate(SUPERSCRIPTS))


# Each alternative begins with a fixed character, so that the search skips fast to the next of these characters.
_DELIMITER = compile_on_use(r"\*\**|__*|~~~*|'''*|===*")
_DELIMITERS = frozenset(("*", "**", "***", "_", "__", "___", "~~", "''", "'''", "'''''", "=="))
# A part of a word: un**believ**able.
_PART_OF_WORD = compile_on_use(r"\*\*(?<![\d_*]\*\*)([^\W\d_]{2,40}+)\*\*(?![\d_*])")
_DUNDERS = frozenset(LISTS["dunders"])


def find_emphasis(markup: FoundMarkup) -> None:
    """Find marks around words: the next one of the same kind closes what one opens, up to a blank line."""
    text = markup.text
    for match in _PART_OF_WORD.finditer(text):
        start, end = match.span()
        if is_word(markup.character_before(start)) or is_word(text[end : end + 1]):
            markup.drop_pair((start, start + 2), (end - 2, end))
    # The marks that are not closed yet.
    opened: dict[str, tuple[int, int]] = {}
    current_paragraph = 0
    for match in _DELIMITER.finditer(text):
        start, end = match.span()
        mark = match[0]
        if mark not in _DELIMITERS or markup.taken[start]:
            continue
        paragraph = bisect_left(markup.blank_lines, start)
        if paragraph != current_paragraph:
            opened.clear()
            current_paragraph = paragraph
        before = markup.character_before(start)
        after = text[end : end + 1]
        opening = opened.get(mark)
        if opening is not None and opening[1] < start and _can_close(before, after):
            del opened[mark]
            is_name = mark == "__" and text[opening[1] : start] in _DUNDERS
            if mark == "~~":
                _read_struck(markup, opening[0], end)
            elif not is_name:
                markup.drop_pair(opening, (start, end))
        elif _can_open(before, after):
            opened[mark] = (start, end)


# Marks of two characters around words of a wiki or a chat, with a blank or a bracket before them.
_BEFORE_MARK = r"(?<![^\s(\[\"'“*_])(?<!;[ ])"
# DokuWiki: //the old harbour//. An address, a path and a comment have no such pair.
_SLANTED = compile_on_use(
    rf"{_BEFORE_MARK}//(?P<text>[^\W_](?:[^/\n;={{}}]{{0,200}}[^\s/;={{}}])?)//(?![\w/])"
)
# Org mode: /the old harbour/, with two words of letters at least, because /harbour/ may be a path. One word has a small letter.
_SLANTED_BY_ONE = compile_on_use(
    rf"""
    {_BEFORE_MARK}/(?=[^/\n]{{0,100}}(?<![^\W\d_])[^\W\d_A-ZÀ-Þ])
    (?P<text>[^\W\d_]{{1,30}}(?:,?[ ][^\W\d_]{{1,30}}){{1,9}}[.!?]?)
    /(?![\w/])
    """,
    re.VERBOSE,
)
# Discord: ||the butler||. The two lines of a norm hold a sign, those of code stand beside quotation marks, and those of Jira begin a line.
_SPOILER = compile_on_use(
    r"""
    (?<=[\s(\"“])(?<!['"][ ])\|\|(?=[^|\n]{0,200}[^\W\d_]{3})
    (?P<text>[^\W_](?:[^|\n<>=&;{}+*]{0,200}[^\s|<>=&;{}+*])?)
    \|\|(?![\w|])(?![ ]['"])
    """,
    re.VERBOSE,
)
# Reddit: >!the butler!<
_HIDDEN_BY_READER = compile_on_use(r"(?<![\w>])>!(?P<text>(?=[^\s!])[^\n<>]{1,300}(?<=[^\s!]))!<(?!\w)")
# DokuWiki: a footnote, perhaps joined to the word before it: 20 euros((Since May.)). It begins with a capital and has two words.
_DOUBLE_BRACKETS = compile_on_use(
    r"\(\((?<=[\w.,;:!? ]\(\()(?=[A-ZÀ-ÞА-Я][^\W\d_]*[ ])[^()\n=+*/<>&|{}\[\];]{4,400}\)\)"
)


def find_wiki_marks(markup: FoundMarkup) -> None:
    """Find the marks of DokuWiki, Org mode and Discord around words; a footnote of DokuWiki is not seen."""
    text = markup.text
    if "||" in text and not _begins_line_with_table(text):
        _drop_marks_around(markup, _SPOILER, "||")
    if "//" in text:
        _drop_marks_around(markup, _SLANTED, "//")
    if "/" in text:
        _drop_marks_around(markup, _SLANTED_BY_ONE, "/")
    if ">!" in text:
        _drop_marks_around(markup, _HIDDEN_BY_READER, ">!")
    if "((" in text:
        for match in match_marks(_DOUBLE_BRACKETS, text, "(("):
            if markup.is_free(*match.span()):
                markup.hide(*match.span())


def _begins_line_with_table(text: str) -> bool:
    """Whether a line begins as a table of Jira: ||Name||Fee||."""
    return text.startswith("||") or "\n||" in text


def _drop_marks_around(markup: FoundMarkup, pattern: re.Pattern[str], mark: str) -> None:
    """Drop a mark before and behind the text of each match of a pattern."""
    for match in match_marks(pattern, markup.text, mark):
        start, end = match.span()
        if markup.is_free(start, match.start("text")) and markup.is_free(match.end("text"), end):
            markup.drop_pair((start, match.start("text")), (match.end("text"), end))


def _read_struck(markup: FoundMarkup, start: int, end: int) -> None:
    """Drop struck text between tildes: ~~old~~. Beside a letter, tildes only lengthen a word, in Chinese and Japanese."""
    first_character = markup.text[start + 2]  # behind the tildes
    if markup.character_before(start).isalpha() or markup.text[end : end + 1].isalpha():
        return
    if first_character.isalnum() or first_character in _BEGINS_STRUCK:
        markup.hide(start, end)


# What struck text may begin with, beside letters and digits: other marks, and currencies.
_BEGINS_STRUCK = frozenset("*_[(<`“$€£¥")


def _can_open(before: str, after: str) -> bool:
    """Whether a mark may open: before a word or another mark than one that ends something, and not inside a word."""
    if not after or after.isspace() or after in tuple(".,;:!?)]}"):
        return False
    return not is_word(before)


def _can_close(before: str, after: str) -> bool:
    """Whether a mark may close: behind a word, and not before another, but for **Note:**text."""
    if before.isspace() or before in tuple("([{"):
        return False
    return not is_word(after) or before in tuple(".:!?)”")
