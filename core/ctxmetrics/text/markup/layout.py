"""The layout of lines and pages: headings, quotations, tables, page numbers, and words that are cut at the end of a line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ctxmetrics.text.markup.markup_reading import LAST_WORD, LISTS, Reading, match_lines

_HEADS = frozenset(LISTS["joined_heads"])
_HEADING = re.compile(r"^[ \t]{0,3}#{1,6}[ \t]+(?=[^\s#])", re.MULTILINE)
# Marks behind a heading, and attributes of Pandoc: {#fees .unnumbered}
_HEADING_END = re.compile(
    r"(?<=\S)[ \t]{1,20}(?:#{1,6}|\{[#.][\w -.=\"#]{1,60}+\})[ \t\r]{0,20}$", re.MULTILINE
)
# Headings of Jira and Textile.
_NUMBERED_HEADING = re.compile(r"^h[1-6]\.[ \t]+(?=\S)", re.MULTILINE)
_COLOUR = re.compile(r"\{color(:[#\w]{3,20})?\}")
_WIKI_HEADING = re.compile(r"^(={2,6})[ \t]*(?=[^\s=])[^\n=]{1,200}+(={2,6})[ \t\r]*$", re.MULTILINE)
_QUOTATION = re.compile(r"^[ \t]{0,3}(?:>[ \t]?){1,3}+(?=[^\W\d]|[\"'“‘«(*_\[])", re.MULTILINE)


_LONGEST_HEADING_END = 100


def find_line_marks(reading: Reading) -> None:
    """Find the marks of headings and quotations at the beginning of lines."""
    text = reading.text
    if ">" in text:
        for match in match_lines(_QUOTATION, text):
            reading.drop(*match.span())
    if "#" in text:
        for match in match_lines(_HEADING, text):
            reading.drop(*match.span())
            stop = text.find("\n", match.end())
            ending = _HEADING_END.search(
                text, max(match.end(), (stop if stop >= 0 else len(text)) - _LONGEST_HEADING_END)
            )
            if ending and ending.end() == (stop if stop >= 0 else len(text)):
                reading.drop(*ending.span())
    if "==" in text:
        for match in match_lines(_WIKI_HEADING, text):
            reading.drop_pair(match.span(1), match.span(2))


def find_numbered_headings(reading: Reading) -> None:
    """Find the marks of headings of Jira and Textile, such as h3."""
    for match in match_lines(_NUMBERED_HEADING, reading.text):
        reading.drop(*match.span())


def find_colours(reading: Reading) -> None:
    """Find the marks of coloured text of Jira, {color:red} and {color}."""
    for match in _COLOUR.finditer(reading.text):
        reading.drop(*match.span())


# The line between the head and the body of a table, such as ``|---|:---:|``.
_SEPARATOR_LINE = re.compile(
    r"[ \t\r]*+\|?+[ \t\r]*+:?-++:?[ \t\r]*+(?:\|[ \t\r]*+:?-++:?[ \t\r]*+)*+(?:\|[ \t\r]*+)?"
)
# Attributes of a cell in a wiki's table: | style="x" | 20 euros; and the marks around a table of AsciiDoc.
_CELL_ATTRIBUTES = re.compile(
    r"""[|!](?:[ \t]*[\w-]{1,20}="[^"\n|]{0,100}+"){1,8}[ \t]*\|(?!\|)[ \t]*"""
)
_TABLE_FENCE = "|==="
# What begins and ends a table, a row and a row of heads in a wiki.
_WIKI_TABLE_MARK = re.compile(r"\{\|[^\n]{0,200}+|\|[}+-][^\n]{0,200}+|![ \t]*")
_WIKI_HEAD_MARK = re.compile(r"[ ]!![ ]")
# Lines that are drawn around the cells of a table, and the bars between them.
_DRAWN_LINE = re.compile(r"[ \t]*+[┌┐└┘├┤┬┴┼─━┏┓┗┛┣┫┳┻╋╔╗╚╝╠╣╦╩╬═╞╡╪╭╮╰╯]{3,}+[ \t\r]*+(?=\n|\Z)")
_DRAWN_BAR = re.compile(r"[ \t]*+[│┃║][ \t]*+")
_BLANKS = frozenset(" \t\r")
# The fewest bars of a row in a block without a separator line.
_FEWEST_BARS = 3


def find_tables(reading: Reading) -> None:
    """Drop the bars between the cells of Markdown's tables, and the line below the head of each table."""
    text = reading.text
    if '="' in text:
        for match in _CELL_ATTRIBUTES.finditer(text):
            is_first = reading.before(match.start()) in ("", "\n")
            reading.drop(*match.span(), "" if is_first else "\t")
    is_wiki = "{|" in text and "\n|}" in text
    if is_wiki:
        for match in match_lines(_WIKI_TABLE_MARK, text):
            reading.drop(*match.span())
        for match in _WIKI_HEAD_MARK.finditer(text):
            reading.drop(*match.span(), "\t")
    has_fence = is_wiki or _TABLE_FENCE in text
    position = 0
    block: list[tuple[int, int]] = []
    for line in (*text.split("\n"), ""):
        if "|" in line:
            block.append((position, position + len(line)))
        elif block:
            _read_table(reading, block, has_fence=has_fence)
            block = []
        position += len(line) + 1


def find_drawn_tables(reading: Reading) -> None:
    """Find the lines that are drawn around the cells of a table."""
    text = reading.text
    lines = [*match_lines(_DRAWN_LINE, text)]
    for match in lines:
        reading.drop(match.start(), min(match.end() + 1, len(text)))
    if not lines:
        return
    for match in _DRAWN_BAR.finditer(text):
        start, end = match.span()
        is_outer = reading.before(start) in ("", "\n") or text[end : end + 1] in ("", "\n")
        reading.drop(start, end, "" if is_outer else "\t")


def _read_table(reading: Reading, lines: Sequence[tuple[int, int]], *, has_fence: bool) -> None:
    """Drop the marks of a table from a block of neighbouring lines with bars, if the block is a table.

    Args:
        reading: The text.
        lines: The lines.
        has_fence: Whether the text has a table of AsciiDoc: there each line that begins with a bar is of a table.
    """
    text = reading.text
    separator_lines = {span for span in lines if _is_separator_line(text, span)}
    fenced_lines: set[tuple[int, int]] = set()
    if has_fence:
        fenced_lines = {span for span in lines if text.startswith("|", span[0])}
    bars = {text[start:end].count(" | ") for start, end in lines}
    is_grid = len(lines) > 1 and len(bars) == 1 and max(bars) >= _FEWEST_BARS - 1
    for start, end in lines:
        line = text[start:end].strip()
        is_row = len(lines) > 1 or (line.startswith("| ") and line.endswith(" |"))
        is_row = is_row and line[0] == line[-1] == "|" and line.count("|") >= _FEWEST_BARS
        if (start, end) in separator_lines:
            reading.drop(start, min(end + 1, len(text)))
        elif line == _TABLE_FENCE:
            reading.drop(start, end)
        elif separator_lines or is_row or is_grid or (start, end) in fenced_lines:
            for first, last in _find_bars(text, start, end):
                reading.drop(first, last, "" if first == start or last == end else "\t")


def _find_bars(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the bars between the cells of a line with the blanks around them."""
    position = start
    bar = text.find("|", start, end)
    while bar >= 0:
        first = bar
        while first > position and text[first - 1] in _BLANKS:
            first -= 1
        last = bar + 1
        while last < end and text[last] == "|":  # a wiki writes two
            last += 1
        while last < end and text[last] in _BLANKS:
            last += 1
        yield first, last
        position = last
        bar = text.find("|", last, end)


def _is_separator_line(text: str, span: tuple[int, int]) -> bool:
    return "-" in text[span[0] : span[1]] and _SEPARATOR_LINE.fullmatch(text, *span) is not None


_PAGE_WORDS = "|".join(map(re.escape, LISTS["page_words"]))
_PAGE_TOTALS = "|".join(map(re.escape, LISTS["page_totals"]))
_PAGE_INITIALS = "".join({re.escape(word[0]) for word in LISTS["page_words"]})
_PAGE_NUMBER = rf"""
    (?=[\d–—=\-\[{{{_PAGE_INITIALS}])  # most lines begin with none of them
    (?:
        (?P<number>\d{{1,4}}(?:[ \t]?(?:/|of)[ \t]?\d{{1,4}})?)
        |[–—-][ \t]*\d{{1,4}}[ \t]*[–—-]
        |[–—=-]{{2,5}}[ \t]*(?:{_PAGE_WORDS})[ \t]?\d{{1,4}}[ \t]*[–—=-]{{2,5}}
        |\d{{1,4}}[ \t]?\|[ \t]?(?:{_PAGE_WORDS})
        |\{{\d{{1,4}}\}}-{{5,60}}
        |---[ ]end[ ]of[ ]page(?:\.page_number)?=\d{{1,4}}[ ]---
        |\[[ \t]?(?:{_PAGE_WORDS})[ \t]?\d{{1,4}}[ \t]?\]
        |(?:{_PAGE_WORDS})[ \t]?\d{{1,4}}(?:[ \t]?(?:{_PAGE_TOTALS})[ \t]?\d{{1,4}})?[ \t]?页?
    )
"""
_PAGE_LINE = re.compile(
    rf"\n[ \t]*+ {_PAGE_NUMBER} [ \t\r]*(?=\n)",
    re.VERBOSE | re.IGNORECASE,
)
# Between pages that a form feed parts, there may be no number.
_PAGE_BREAK = re.compile(
    rf"[\n\f][ \t]*+ (?:{_PAGE_NUMBER})? [ \t\r]*(?=[\n\f])",
    re.VERBOSE | re.IGNORECASE,
)
_LINE_END = re.compile(r"[-\u00ad‐][ \t\r]*\n[ \t]*(?=[^\W\d_])")
_UNCUT_WORD = re.compile(r"(?<![^\W\d_])[^\W\d_]++(?![-\u00ad‐][ \t\r]*\n)")
_SENTENCE_ENDS = tuple(".!?;:…。！？।”\"'»)|")
# Characters of a line that is long enough to be a part of a text, not of a list of values.
_LONG_LINE = 25


def find_breaks(reading: Reading) -> None:
    """Find page numbers inside a sentence, and words that are cut at the end of a line."""
    text = reading.text
    position = 0
    for match in (_PAGE_BREAK if "\f" in text else _PAGE_LINE).finditer(text):
        is_blank = not match[0].strip() and "\f" not in text[match.start() : match.end() + 1]
        if is_blank or match.end() <= position:
            continue
        start, end = match.span()
        while start and text[start - 1].isspace():
            start -= 1
        while end < len(text) and text[end].isspace():
            end += 1
        position = end
        if start and end < len(text) and _continues(text, start, end, bare=match["number"] is not None):
            hyphen = text[start - 1] in "-‐\u00ad" and text[end].islower()
            reading.drop(start - hyphen, end, "" if hyphen else " ")
    words: set[str] | None = None
    for match in _LINE_END.finditer(text):
        start, end = match.span()
        word = LAST_WORD.search(text[max(0, start - 40) : start])
        if word is None or not word[0][-1].islower() or not text[end].islower():
            continue
        if words is None:
            words = {*_UNCUT_WORD.findall(text.casefold())}
        first = word[0].casefold()
        if text[start] == "\u00ad" or (first not in _HEADS and first not in words):
            reading.drop(start, end)


def _continues(text: str, start: int, end: int, *, bare: bool) -> bool:
    """Whether a sentence goes on behind the number of a page.

    Args:
        text: The text.
        start: Where the text before ends.
        end: Where the text behind begins.
        bare: The number stands alone in its line: it may be a value.
    """
    before, after = text[start - 1], text[end]
    if before in _SENTENCE_ENDS:
        return False
    line = text[max(0, text.rfind("\n", max(0, start - 200), start) + 1, start - 200) : start].strip()
    if after.islower():
        return not bare or (len(line) >= _LONG_LINE and " " in line)
    if before >= "\u0e00" and before.isalpha() and after >= "\u0e00" and after.isalpha():
        return len(line) >= _LONG_LINE // 2
    return (
        not bare and (before.islower() or before == ",") and len(line) >= _LONG_LINE and after.isalnum()
    )
