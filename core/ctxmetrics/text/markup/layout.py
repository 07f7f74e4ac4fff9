"""The layout of lines and pages: headings, quotations, tables, page numbers, and words that are cut at the end of a line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ctxmetrics._internal.patterns import compile_on_use
from ctxmetrics.text.markup.found_markup import LAST_WORD, LISTS, FoundMarkup, match_lines

_HEADS = frozenset(LISTS["joined_heads"])
# A heading of Markdown: # Fees
_HEADING = compile_on_use(r"^[ \t]{0,3}#{1,6}[ \t]+(?=[^\s#])", re.MULTILINE)
# Marks behind a heading, and attributes of Pandoc: {#fees .unnumbered}
_HEADING_END = compile_on_use(
    r"(?<=\S)[ \t]{1,20}(?:#{1,6}|\{[#.][\w -.=\"#]{1,60}+\})[ \t\r]{0,20}$", re.MULTILINE
)
# Headings of Jira and Textile.
_NUMBERED_HEADING = compile_on_use(r"^h[1-6]\.[ \t]+(?=\S)", re.MULTILINE)
# A colour of Jira: {color:red}, {color}
_COLOUR = compile_on_use(r"\{color(:[#\w]{3,20})?\}")
# A heading of a wiki: == Fees ==
_WIKI_HEADING = compile_on_use(
    r"^(={2,6})[ \t]*(?=[^\s=])[^\n=]{1,200}+(={2,6})[ \t\r]*$", re.MULTILINE
)
# A quoted line: > It is free.
_QUOTATION = compile_on_use(r"^[ \t]{0,3}(?:>[ \t]?){1,3}+(?=[^\W\d]|[\"'“‘«(*_\[])", re.MULTILINE)


# Characters at the end of a heading among which its closing marks are looked for.
_MAX_HEADING_END_CHARACTERS = 100


def find_line_marks(markup: FoundMarkup) -> None:
    """Find the marks of headings and quotations at the beginning of lines."""
    text = markup.text
    if ">" in text:
        for match in match_lines(_QUOTATION, text):
            markup.drop(*match.span())
    if "#" in text:
        for match in match_lines(_HEADING, text):
            markup.drop(*match.span())
            line_end = text.find("\n", match.end())
            if line_end < 0:
                line_end = len(text)
            search_start = max(match.end(), line_end - _MAX_HEADING_END_CHARACTERS)
            heading_end = _HEADING_END.search(text, search_start)
            if heading_end and heading_end.end() == line_end:
                markup.drop(*heading_end.span())
    if "==" in text:
        for match in match_lines(_WIKI_HEADING, text):
            markup.drop_pair(match.span(1), match.span(2))


# The box of a task in a list: - [x] Buy milk
_TASK_MARK = compile_on_use(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(\[[ xX]\][ \t]+)(?=\S)", re.MULTILINE)


def find_task_marks(markup: FoundMarkup) -> None:
    """Find the boxes of tasks in lists."""
    for match in match_lines(_TASK_MARK, markup.text):
        markup.drop(*match.span(1))


def find_numbered_headings(markup: FoundMarkup) -> None:
    """Find the marks of headings of Jira and Textile, such as h3."""
    for match in match_lines(_NUMBERED_HEADING, markup.text):
        markup.drop(*match.span())


def find_colours(markup: FoundMarkup) -> None:
    """Find the marks of coloured text of Jira, {color:red} and {color}."""
    for match in _COLOUR.finditer(markup.text):
        markup.drop(*match.span())


# Marks that only Jira has. One stands before a block of text, and one behind it.
_JIRA_BLOCKS = ("{code}", "{noformat}", "{quote}", "{panel}")
# Text of one width in Jira: {{pump --fast}}.
_JIRA_TEXT = compile_on_use(r"(?P<opening>\{\{)(?=[^\s{}])[^{}\n]{1,100}+(?P<closing>\}\})")
# Underlined and struck text in Jira: +fee+ and -30 euros-.
_JIRA_MARKED = compile_on_use(
    r"""
    (?<![^\s(])(?P<opening>[+-])(?=[^\W_])
    [^+\n-]{1,80}(?<=[\w%€$£])
    (?P<closing>(?P=opening))(?=[\s.,;:!?)]|\Z)
    """,
    re.VERBOSE,
)


def find_jira_text(markup: FoundMarkup) -> None:
    """Find marked text of Jira. It is looked for only in texts with other markup that only Jira has."""
    text = markup.text
    has_blocks = any(text.count(mark) > 1 for mark in _JIRA_BLOCKS)
    if not (has_blocks or "{color:" in text or any(match_lines(_NUMBERED_HEADING, text))):
        return
    for match in (*_JIRA_TEXT.finditer(text), *_JIRA_MARKED.finditer(text)):
        if match["opening"] == "-":
            markup.hide(*match.span())
        else:
            markup.drop_pair(match.span("opening"), match.span("closing"))


# Styled text of AsciiDoc: [.underline]#the fee#
_STYLED = compile_on_use(r"(\[\.[A-Za-z][\w.-]{0,40}\]#)[^#\n]{1,200}+(#)(?!\w)")


def find_styled_text(markup: FoundMarkup) -> None:
    """Find the marks of styled text of AsciiDoc; struck text is hidden."""
    for match in _STYLED.finditer(markup.text):
        if "line-through" in match[1]:
            markup.hide(*match.span())
        else:
            markup.drop_pair(match.span(1), match.span(2))


# The line between the head and the body of a table, such as ``|---|:---:|``.
_SEPARATOR_LINE = compile_on_use(
    r"[ \t\r]*+\|?+[ \t\r]*+:?-++:?[ \t\r]*+(?:\|[ \t\r]*+:?-++:?[ \t\r]*+)*+(?:\|[ \t\r]*+)?"
)
# Attributes of a cell in a wiki's table: | style="x" | 20 euros
_CELL_ATTRIBUTES = compile_on_use(
    r"""[|!](?:[ \t]*[\w-]{1,20}="[^"\n|]{0,100}+"){1,8}[ \t]*\|(?!\|)[ \t]*"""
)
# The mark before and behind a table of AsciiDoc.
_TABLE_FENCE = "|==="
# The marks of a table, a row and a row of headings in a wiki.
_WIKI_TABLE_MARK = compile_on_use(r"\{\|[^\n]{0,200}+|\|[}+-][^\n]{0,200}+|![ \t]*")
# The mark between two cells of a wiki's table head: Fee !! Time
_WIKI_HEAD_MARK = compile_on_use(r"[ ]!![ ]")
# Lines that are drawn around the cells of a table, and the bars between them.
_DRAWN_LINE = compile_on_use(r"[ \t]*+[┌┐└┘├┤┬┴┼─━┏┓┗┛┣┫┳┻╋╔╗╚╝╠╣╦╩╬═╞╡╪╭╮╰╯]{3,}+[ \t\r]*+(?=\n|\Z)")
# A bar of a drawn table: │
_DRAWN_BAR = compile_on_use(r"[ \t]*+[│┃║][ \t]*+")
_BLANKS = frozenset(" \t\r")
# The minimum number of bars of a row in a block without a separator line.
_MIN_BARS_IN_ROW = 3


def find_tables(markup: FoundMarkup) -> None:
    """Drop the bars between the cells of Markdown's tables, and the line below the head of each table."""
    text = markup.text
    if '="' in text:
        for match in _CELL_ATTRIBUTES.finditer(text):
            is_first = markup.character_before(match.start()) in ("", "\n")
            markup.replace(*match.span(), "" if is_first else "\t")
    is_wiki = "{|" in text and "\n|}" in text
    if is_wiki:
        for match in match_lines(_WIKI_TABLE_MARK, text):
            markup.drop(*match.span())
        for match in _WIKI_HEAD_MARK.finditer(text):
            markup.replace(*match.span(), "\t")
    has_fence = is_wiki or _TABLE_FENCE in text
    line_start = 0
    lines_with_bars: list[tuple[int, int]] = []  # neighbouring lines
    for line in (*text.split("\n"), ""):
        if "|" in line:
            lines_with_bars.append((line_start, line_start + len(line)))
        elif lines_with_bars:
            _read_table(markup, lines_with_bars, has_fence=has_fence)
            lines_with_bars = []
        line_start += len(line) + 1


def find_drawn_tables(markup: FoundMarkup) -> None:
    """Drop the lines that are drawn around the cells of a table."""
    text = markup.text
    lines = [*match_lines(_DRAWN_LINE, text)]
    for match in lines:
        markup.drop(match.start(), min(match.end() + 1, len(text)))
    if not lines:
        return
    for match in _DRAWN_BAR.finditer(text):
        start, end = match.span()
        is_outer = markup.character_before(start) in ("", "\n") or text[end : end + 1] in ("", "\n")
        markup.replace(start, end, "" if is_outer else "\t")


def _read_table(markup: FoundMarkup, lines: Sequence[tuple[int, int]], *, has_fence: bool) -> None:
    """Drop the marks of a table from a block of neighbouring lines with bars, if the block is a table.

    Args:
        markup: The text, and the markup found so far.
        lines: The lines.
        has_fence: Whether the text has a table of AsciiDoc or a wiki. Then each line that begins with a bar belongs to a table.
    """
    text = markup.text
    separator_lines = {span for span in lines if _is_separator_line(text, span)}
    fenced_lines: set[tuple[int, int]] = set()
    if has_fence:
        fenced_lines = {span for span in lines if text.startswith("|", span[0])}
    bar_counts = {text[start:end].count(" | ") for start, end in lines}
    have_equal_bars = len(lines) > 1 and len(bar_counts) == 1
    is_grid = have_equal_bars and max(bar_counts) >= _MIN_BARS_IN_ROW - 1
    for start, end in lines:
        line = text[start:end].strip()
        if (start, end) in separator_lines:
            markup.drop(start, min(end + 1, len(text)))
            continue
        if line == _TABLE_FENCE:
            markup.drop(start, end)
            continue
        is_fenced = (start, end) in fenced_lines
        if separator_lines or is_grid or is_fenced or _is_row(line, is_alone=len(lines) == 1):
            for bar_start, bar_end in _find_bars(text, start, end):
                is_outer = bar_start == start or bar_end == end
                markup.replace(bar_start, bar_end, "" if is_outer else "\t")


def _is_row(line: str, *, is_alone: bool) -> bool:
    """Whether a line with bars is the row of a table. A single line must have blanks inside of its outer bars."""
    if is_alone and not (line.startswith("| ") and line.endswith(" |")):
        return False
    has_outer_bars = line[0] == "|" and line[-1] == "|"
    return has_outer_bars and line.count("|") >= _MIN_BARS_IN_ROW


def _find_bars(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the span of each bar between the cells of a line, with the blanks around it."""
    cell_start = start
    bar = text.find("|", start, end)
    while bar >= 0:
        bar_start = bar
        while bar_start > cell_start and text[bar_start - 1] in _BLANKS:
            bar_start -= 1
        bar_end = bar + 1
        while bar_end < end and text[bar_end] == "|":  # a wiki writes two
            bar_end += 1
        while bar_end < end and text[bar_end] in _BLANKS:
            bar_end += 1
        yield bar_start, bar_end
        cell_start = bar_end
        bar = text.find("|", bar_end, end)


def _is_separator_line(text: str, span: tuple[int, int]) -> bool:
    """Whether a line stands between the head and the body of a table."""
    return "-" in text[span[0] : span[1]] and _SEPARATOR_LINE.fullmatch(text, *span) is not None


_PAGE_WORDS = "|".join(map(re.escape, LISTS["page_words"]))
_PAGE_TOTALS = "|".join(map(re.escape, LISTS["page_totals"]))
_PAGE_INITIALS = "".join({re.escape(word[0]) for word in LISTS["page_words"]})
_PAGE_NUMBER = rf"""
    (?=[\d–—=\-\[{{{_PAGE_INITIALS}])  # fails fast: most lines begin with another character
    (?:
        (?P<number>\d{{1,4}}(?:[ \t]?(?:/|of)[ \t]?\d{{1,4}})?)                       # 12, 12 of 40
        |[–—-][ \t]*\d{{1,4}}[ \t]*[–—-]                                              # - 12 -
        |[–—=-]{{2,5}}[ \t]*(?:{_PAGE_WORDS})[ \t]?\d{{1,4}}[ \t]*[–—=-]{{2,5}}       # --- Page 12 ---
        |\d{{1,4}}[ \t]?\|[ \t]?(?:{_PAGE_WORDS})                                     # 12 | Page
        |\{{\d{{1,4}}\}}-{{5,60}}                                                     # a number in braces, and dashes
        |---[ ]end[ ]of[ ]page(?:\.page_number)?=\d{{1,4}}[ ]---                      # --- end of page=12 ---
        |\[[ \t]?(?:{_PAGE_WORDS})[ \t]?\d{{1,4}}[ \t]?\]                             # [Page 12]
        |(?:{_PAGE_WORDS})[ \t]?\d{{1,4}}(?:[ \t]?(?:{_PAGE_TOTALS})[ \t]?\d{{1,4}})?[ \t]?页?  # Page 12 of 40
    )
"""
_PAGE_LINE = compile_on_use(
    rf"\n[ \t]*+ {_PAGE_NUMBER} [ \t\r]*(?=\n)",
    re.VERBOSE | re.IGNORECASE,
)
# A page break in a text with form feeds: there may be no number.
_PAGE_BREAK = compile_on_use(
    rf"[\n\f][ \t]*+ (?:{_PAGE_NUMBER})? [ \t\r]*(?=[\n\f])",
    re.VERBOSE | re.IGNORECASE,
)
# A word that is cut at the end of a line: time-, table
_LINE_END = compile_on_use(r"[-\u00ad‐][ \t\r]*\n[ \t]*(?=[^\W\d_])")
_UNCUT_WORD = compile_on_use(r"(?<![^\W\d_])[^\W\d_]++(?![-\u00ad‐][ \t\r]*\n)")
_SENTENCE_ENDS = tuple(".!?;:…。！？।”\"'»)|")
# The minimum length of a line that is a part of a text, and not an item of a list of values.
_MIN_LONG_LINE_CHARACTERS = 25
# How many characters are read before a page number, and before a hyphen at the end of a line.
_MAX_LINE_CHARACTERS = 200
_MAX_WORD_CHARACTERS = 40


def find_breaks(markup: FoundMarkup) -> None:
    """Find page numbers inside a sentence, and words that are cut at the end of a line."""
    _find_page_numbers(markup)
    _find_cut_words(markup)


def _find_page_numbers(markup: FoundMarkup) -> None:
    """Find page numbers inside a sentence, with the white space around them."""
    text = markup.text
    read_until = 0
    for match in (_PAGE_BREAK if "\f" in text else _PAGE_LINE).finditer(text):
        is_blank = not match[0].strip() and "\f" not in text[match.start() : match.end() + 1]
        if is_blank or match.end() <= read_until:
            continue
        start, end = match.span()
        while start and text[start - 1].isspace():
            start -= 1
        while end < len(text) and text[end].isspace():
            end += 1
        read_until = end
        is_inside_text = start > 0 and end < len(text)
        is_number_alone = match["number"] is not None
        if not is_inside_text or not _continues(text, start, end, is_number_alone=is_number_alone):
            continue
        cuts_word = text[start - 1] in "-‐\u00ad" and text[end].islower()
        if cuts_word:
            markup.drop(start - 1, end)
        else:
            markup.replace(start, end, " ")


def _find_cut_words(markup: FoundMarkup) -> None:
    """Join words that are cut at the end of a line.

    A hyphen stays if the part before it also stands as a word elsewhere in the text.
    """
    text = markup.text
    uncut_words: set[str] | None = None
    for match in _LINE_END.finditer(text):
        start, end = match.span()
        beginning = LAST_WORD.search(text[max(0, start - _MAX_WORD_CHARACTERS) : start])
        if beginning is None or not beginning[0][-1].islower() or not text[end].islower():
            continue
        if uncut_words is None:
            uncut_words = {*_UNCUT_WORD.findall(text.casefold())}
        first_part = beginning[0].casefold()
        has_soft_hyphen = text[start] == "\u00ad"
        may_be_word_alone = first_part in _HEADS or first_part in uncut_words
        if has_soft_hyphen or not may_be_word_alone:
            markup.drop(start, end)


def _continues(text: str, start: int, end: int, *, is_number_alone: bool) -> bool:
    """Whether a sentence continues behind a page number.

    Args:
        text: The text.
        start: The position at which the text before the page number ends.
        end: The position at which the text behind it begins.
        is_number_alone: Whether the line has only a number, which may also be a value.
    """
    before = text[start - 1]
    after = text[end]
    if before in _SENTENCE_ENDS:
        return False
    search_start = max(0, start - _MAX_LINE_CHARACTERS)
    line_start = max(0, text.rfind("\n", search_start, start) + 1, start - _MAX_LINE_CHARACTERS)
    line = text[line_start:start].strip()
    is_long_line = len(line) >= _MIN_LONG_LINE_CHARACTERS
    if after.islower():
        return not is_number_alone or (is_long_line and " " in line)
    if _is_unspaced_letter(before) and _is_unspaced_letter(after):
        return len(line) >= _MIN_LONG_LINE_CHARACTERS // 2
    if is_number_alone or not is_long_line or not after.isalnum():
        return False
    return before.islower() or before == ","


def _is_unspaced_letter(character: str) -> bool:
    """Whether a character is a letter of a script without spaces between words: of Thai and those behind it."""
    return character >= "\u0e00" and character.isalpha()
