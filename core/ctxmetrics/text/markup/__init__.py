"""Finds markup in a text: HTML, Markdown, LaTeX, marks of wikis, chats and terminals, entities, escapes, notes, page breaks.

Characters that may be ordinary text are no markup: ``a < b``, ``List<String>``, ``*args``, ``snake_case``, ``2 * 3 * 4``, ``x[0]``,
``$5 and $10``, a path with backslashes, and everything in code. Each kind of markup is found in one pass over the text. No pattern
reads the same characters again from another beginning, so that the time grows only in proportion to the text.

``found_markup`` holds a text and its markup. Each of the other modules finds some kinds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ctxmetrics.text.markup.found_markup import Edit, FoundMarkup
from ctxmetrics.text.markup.html import find_highlights, find_tags
from ctxmetrics.text.markup.latex import (
    find_characters,
    find_dashes,
    find_entities,
    find_escapes,
    find_formulas,
    find_tex,
)
from ctxmetrics.text.markup.layout import (
    find_breaks,
    find_colours,
    find_drawn_tables,
    find_jira_text,
    find_line_marks,
    find_numbered_headings,
    find_styled_text,
    find_tables,
    find_task_marks,
)
from ctxmetrics.text.markup.links import (
    find_addresses,
    find_comments,
    find_cross_references,
    find_links,
    find_templates,
    find_textile_links,
)
from ctxmetrics.text.markup.markdown import (
    find_code,
    find_emphasis,
    find_indexes,
    find_wiki_marks,
)

__all__ = ["Edit", "count_marks", "find_markup", "may_hold_markup"]

# Every text with ASCII markup, except for the marks of lines, holds one of these characters or pairs. A pair is only looked for if the
# text has its first character, which is ten times as fast.
_MARKS = ("<", "&", "*", "_", "[", "$", "\\", "|", "~", "^", "`", "\f")
_PAIRS = ("{{", "''", "==", "@@", "--", "((", " /", "(/", '":http', "{color")
# The beginning of a line with a mark: a heading, a quotation, a page number.
_LINE_MARK = re.compile(
    r"\n[ \t]*+(?:[#>=/\d–—{-]|h[1-6]\.|(?i:page|p\.|pg|seite|p[áa]g|стр|strona|sida|side|sayfa)|第)"
)
_CUT_WORDS = (("-", re.compile(r"-[ \t\r]*\n")), ("‐", re.compile(r"‐[ \t\r]*\n")))
_HEADING_NAMES = ("h1.", "h2.", "h3.", "h4.", "h5.", "h6.")
_FIRST_LINE_MARKS = ("#", ">", "=", "/", *_HEADING_NAMES)
_RARE_CHARACTERS = re.compile(
    "[\u00ad\u200e\u200f\u202a-\u202e\u2066-\u2069\u200b\u2060\ufeff\ue000\ue001¹²³⁰⁴-⁹₀-₉【│┃║]"
)


def may_hold_markup(text: str) -> bool:
    """Whether a text holds a character that markup needs. A quick check that is seldom wrong."""
    for mark in _MARKS:
        if mark in text:
            return True
    for pair in _PAIRS:
        if pair[0] in text and pair in text:
            return True
    if text.startswith(_FIRST_LINE_MARKS):
        return True
    if "\n" in text:
        if _LINE_MARK.search(text):
            return True
        for hyphen, cut in _CUT_WORDS:
            if hyphen in text and cut.search(text):
                return True
    return not text.isascii() and _RARE_CHARACTERS.search(text) is not None


def count_marks(text: str) -> int:
    """Count the characters at which markup may begin. The time to read a text is proportional to this count."""
    count = text.count("\n") + sum(text.count(mark) for mark in (*_MARKS, *_PAIRS))
    return count if text.isascii() else count + len(_RARE_CHARACTERS.findall(text))


def find_markup(text: str) -> tuple[Edit, ...]:
    """Find the parts of a text that a reader does not see as they are written. They are in order and do not overlap."""
    markup = FoundMarkup(text)
    present = {mark for mark in _ALL_MARKS if mark in text}
    for find, marks in _KINDS:
        if not present.isdisjoint(marks):
            find(markup)
    if not text.isascii():
        find_characters(markup)
    return markup.list_edits()


# For each kind of markup, the function that finds it, and characters of which every text with it holds at least one. The functions
# run in this order.
_KINDS: Sequence[tuple[Callable[[FoundMarkup], None], Sequence[str]]] = (
    (find_addresses, (">`_",)),
    (find_code, ("`", "~~~")),
    (find_styled_text, ("]#",)),
    (find_jira_text, (*_HEADING_NAMES, "{color:", "{code}", "{noformat}", "{quote}", "{panel}")),
    (find_templates, ("{{",)),
    (find_highlights, ("@@", "<<", "aa-highlight", "ais-highlight", "[hl]", "[/hl]", "\x1b")),
    (find_cross_references, ("<<",)),
    (find_tags, ("<",)),
    (find_tex, ("\\", "$", "``")),
    (find_formulas, ("_",)),
    (find_dashes, ("--",)),
    (find_comments, ("]: ",)),
    (find_textile_links, ('":http',)),
    (find_task_marks, ("[ ] ", "[x] ", "[X] ")),
    (find_links, ("[", "【")),
    (find_indexes, ("~", "^")),
    (find_entities, ("&",)),
    (find_wiki_marks, ("/", "||", "((", ">!")),
    (find_emphasis, ("*", "_", "~~", "''", "==")),
    (find_escapes, ("\\",)),
    (find_line_marks, ("#", ">", "==")),
    (find_numbered_headings, _HEADING_NAMES),
    (find_colours, ("{color:",)),
    (find_tables, ("|",)),
    (find_drawn_tables, ("│", "┃", "║")),
    (find_breaks, ("\n", "\f")),
)
_ALL_MARKS = frozenset(mark for _, marks in _KINDS for mark in marks)
