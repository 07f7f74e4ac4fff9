"""Code and emphasis: fences and ticks, and the marks around words of Markdown and of wikis."""

from __future__ import annotations

import re
from bisect import bisect_left

from ctxmetrics.text.markup.markup_reading import (
    LISTS,
    LONGEST_NOTE,
    SUPERSCRIPTS,
    Reading,
    is_word,
    match_lines,
)

_FENCE = re.compile(r"^[ \t]{0,3}(```++|~~~++)[^\n`]{0,80}+$\n?", re.MULTILINE)
_TICKS = re.compile(r"`+")
# A role of reStructuredText or MyST before its text: :ref:`fees`, {ref}`fees`, H\ :sub:`2`
_ROLE = re.compile(
    r"(?:(?<=\\)\ |(?<![\w:])):[a-z]{1,12}(?::[a-z]{2,12})?:\Z|\{[a-z]{2,12}(?::[a-z]{2,12})?\}\Z"
)
_LONGEST_ROLE = 30
# The target behind the text of a role: :ref:`the fees <fees>`
_ROLE_TARGET = re.compile(r"\s*+<[^<>`\n]{1,300}+>\Z")
# Of a name with a wave only the last part is seen: :meth:`~pump.Pump.start`
_MODULES_BEFORE_NAME = re.compile(r"~(?:\w{1,40}\.){1,9}")
_POWER = re.compile(r"[+-]?\d{1,3}")
# What makes a link of a text between ticks in reStructuredText: `the plan`_
_LINK_END = re.compile(r"__?(?!\w)")


def find_code(reading: Reading) -> None:
    """Find code between fences and between ticks: the marks are not seen, what they hold stays as it is."""
    opening: re.Match[str] | None = None
    for fence in match_lines(_FENCE, reading.text):
        if opening is None:
            opening = fence
        elif fence[1][0] == opening[1][0] and len(fence[1]) >= len(opening[1]):
            reading.drop_pair(opening.span(), fence.span())
            reading.protect(opening.end(), fence.start())
            opening = None
    # Two ticks open a quotation that two apostrophes close.
    are_quotes = "''" in reading.text
    runs = [
        run
        for run in _TICKS.finditer(reading.text)
        if reading.is_free(*run.span()) and not (are_quotes and run[0] == "``")
    ]
    # For each run the number of the next one of the same length.
    following: list[int] = [-1] * len(runs)
    last: dict[int, int] = {}
    for number in range(len(runs) - 1, -1, -1):
        length = len(runs[number][0])
        following[number] = last.get(length, -1)
        last[length] = number
    number = 0
    while number < len(runs):
        closing = following[number]
        if closing >= 0 and not reading.crosses_blank_line(runs[number].end(), runs[closing].start()):
            _read_ticks(reading, runs[number].span(), runs[closing].span())
            number = closing
        number += 1


def _read_ticks(reading: Reading, opening: tuple[int, int], closing: tuple[int, int]) -> None:
    """Take two runs of ticks, with the role before them; what they hold stays as it is."""
    start, end = opening[1], closing[0]
    role = _ROLE.search(reading.text, max(0, opening[0] - _LONGEST_ROLE), opening[0])
    if role is not None:
        _read_role(reading, role, start, end)
    link_end = _LINK_END.match(reading.text, closing[1]) if opening[1] - opening[0] == 1 else None
    if link_end is not None:
        reading.drop(*link_end.span())
    reading.drop_pair(opening, closing)
    reading.protect(start, end)


def _read_role(reading: Reading, role: re.Match[str], start: int, end: int) -> None:
    """Take a role, what joins it to words, and what is not seen of the text between its ticks, which begins and ends somewhere."""
    text = reading.text
    is_joined = text[role.start()] == " "  # "\\ " joins a role to a word
    reading.drop(role.start() - 1 if is_joined else role.start(), role.end())
    if text.startswith("\\ ", end + 1):
        reading.drop(end + 1, end + 3)
    target = _ROLE_TARGET.search(text, max(start, end - LONGEST_NOTE), end)
    if target is not None:
        reading.drop(*target.span())
    modules = _MODULES_BEFORE_NAME.match(text, start, end)
    if modules is not None:
        reading.drop(*modules.span())
    if role[0].endswith("sup:") and _POWER.fullmatch(text, start, end):
        reading.drop(start, end, text[start:end].translate(SUPERSCRIPTS))


# Pandoc's lowered and raised text: H~2~O, 5 m^2^, 21^st^
_INDEX = re.compile(
    r"(?<=[A-Za-z)])~(\d{1,3})~|(?<=[\w)])\^([+−-]?\d{1,3}|(?:st|nd|rd|th|er|re|e|o|a))\^(?!\w)"
)


# A blank of LaTeX at which no line ends: 20~euros, Dr.~Hale
_TIE = re.compile(r"(?<=\d)~(?=[A-Za-z]{2})|(?<=[a-z]\.)~(?=[A-Z\d])")


def find_indexes(reading: Reading) -> None:
    """Find ties, and lowered and raised text of Pandoc and AsciiDoc; a raised number is seen as one."""
    for match in _TIE.finditer(reading.text):
        reading.drop(*match.span(), " ")
    for match in _INDEX.finditer(reading.text):
        lowered, raised = match.groups()
        reading.drop(*match.span(), lowered or raised.replace("−", "-").translate(SUPERSCRIPTS))


# Each alternative begins with one character: what is before these characters is passed over at once.
_DELIMITER = re.compile(r"\*\**|__*|~~~*|'''*|===*")
_DELIMITERS = frozenset(("*", "**", "***", "_", "__", "___", "~~", "''", "'''", "'''''", "=="))
# A part of a word: un**believ**able.
_PART_OF_WORD = re.compile(r"\*\*(?<![\d_*]\*\*)([^\W\d_]{2,40}+)\*\*(?![\d_*])")
_DUNDERS = frozenset(LISTS["dunders"])


def find_emphasis(reading: Reading) -> None:
    """Find marks around words: the next one of the same kind closes what one opens, up to a blank line."""
    text = reading.text
    for match in _PART_OF_WORD.finditer(text):
        start, end = match.span()
        if is_word(reading.before(start)) or is_word(text[end : end + 1]):
            reading.drop_pair((start, start + 2), (end - 2, end))
    opened: dict[str, tuple[int, int]] = {}
    current_paragraph = 0
    for match in _DELIMITER.finditer(text):
        start, end = match.span()
        mark = match[0]
        if mark not in _DELIMITERS or reading.taken[start]:
            continue
        paragraph = bisect_left(reading.breaks, start)
        if paragraph != current_paragraph:
            opened.clear()
            current_paragraph = paragraph
        before, after = reading.before(start), text[end : end + 1]
        opening = opened.get(mark)
        if opening is not None and _can_close(before, after) and opening[1] < start:
            del opened[mark]
            is_name = mark == "__" and text[opening[1] : start] in _DUNDERS
            if mark == "~~":
                _read_struck(reading, opening[0], end)
            elif not is_name:
                reading.drop_pair(opening, (start, end))
        elif after and not after.isspace() and after not in tuple(".,;:!?)]}") and not is_word(before):
            opened[mark] = (start, end)


def _read_struck(reading: Reading, start: int, end: int) -> None:
    """Drop struck text between tildes: ~~old~~. Beside a letter, tildes only lengthen a word, in Chinese and Japanese."""
    first = reading.text[start + 2]  # behind the tildes
    is_beside_letter = reading.before(start).isalpha() or reading.text[end : end + 1].isalpha()
    if not is_beside_letter and (first.isalnum() or first in _BEGINS_STRUCK):
        reading.hide(start, end)


# What struck text may begin with, beside letters and digits: other marks, and currencies.
_BEGINS_STRUCK = frozenset("*_[(<`“$€£¥")


def _can_close(before: str, after: str) -> bool:
    """Whether a mark may close: behind a word, and not before another, but for **Note:**text."""
    if before.isspace() or before in tuple("([{"):
        return False
    return not is_word(after) or before in tuple(".:!?)”")
