"""Characters that are written as others: entities, escapes, and rare characters that are not seen or stand for digits."""

from __future__ import annotations

import re
from html import unescape

from ctxmetrics.text.markup.found_markup import FoundMarkup, is_word

_ENTITY = re.compile(r"&(?:amp;){0,3}(#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31}+);")


def find_entities(markup: FoundMarkup) -> None:
    """Find references to characters, also those that were escaped twice."""
    for match in _ENTITY.finditer(markup.text):
        entity = f"&{match[1]};"
        character = unescape(entity)
        if character != entity:
            # A blank that does not break a line is seen as a blank; a soft hyphen is not seen.
            seen = character.replace("\xa0", " ").replace("\xad", "")
            markup.drop(*match.span(), seen)


_ESCAPE = re.compile(
    r"""
    \\(?:
        u([0-9A-Fa-f]{4}(?:\\u[Dd][C-Fc-f][0-9A-Fa-f]{2})?)     # \u00e9
        |((?:r\\)?n|t)                                          # \n
        |([!"\#$%&'()*+,./:;<=>?@\[\]^_`{|}~-])                 # \*
    )
    """,
    re.VERBOSE,
)
# What shows that a backslash begins no escape: a path, or a class of a regular expression.
PATH = re.compile(r"[A-Za-z]:\\|\\\\\w|\\[dwsDWSbB](?![a-z])")
_JSON_ESCAPE = re.compile(
    r'\\n(?:\\n|[\s\d"A-ZА-Я-])|\\"|\\u[0-9A-Fa-f]{4}|[.!?:,]\\n|\\t\d|\\n(?:is|are|was|were|and|or|at|in|on|of|to|the|for|by)\b'
)


def find_escapes(markup: FoundMarkup) -> None:
    """Find escapes of Markdown, LaTeX and JSON; none stands in a text with a path or a regular expression."""
    text = markup.text
    if PATH.search(text):
        return
    is_json = _JSON_ESCAPE.search(text) is not None
    for match in _ESCAPE.finditer(text):
        code, blank, mark = match.groups()
        before = markup.character_before(match.start())
        is_escaped = before == "\\" and match.start() - 1 not in markup.edits
        if is_escaped:
            continue
        if mark:
            markup.drop(match.start(), match.start() + 1)
        elif code:
            units = bytes.fromhex(code.replace("\\u", ""))
            markup.drop(*match.span(), units.decode("utf-16-be", "replace"))
        elif blank and is_json:
            after = text[match.end() : match.end() + 1]
            if "n" in blank and not ("\n" in text and after.islower() and is_word(before)):
                markup.drop(*match.span(), "\n")
            elif blank == "t" and not after.islower():
                markup.drop(*match.span(), "\t")


# One character, or a run of raised digits. It begins with one class of characters, which is searched for fast.
_RARE_CHARACTER = re.compile(
    "[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\u2060\ufeff\ue000\ue001₀-₉¹²³⁰⁴-⁹](?:(?<=[¹²³⁰⁴-⁹])[¹²³⁰⁴-⁹]+)?"
)
_LOWERED_DIGITS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
# What may stand before the raised digit of a note: a word of at least four letters ("river²", but not "km²"), or a punctuation mark
# behind a word of at least two letters ("it.²").
_TEXT_BEFORE_NOTE_PATTERN = re.compile(r"[^\W\d_]{4}\Z|[^\W\d_]{2}[.,;!?”»]\Z")


def find_characters(markup: FoundMarkup) -> None:
    """Find characters that are not seen, raised marks of notes behind a word, and lowered digits."""
    text = markup.text
    for match in _RARE_CHARACTER.finditer(text):
        start, end = match.span()
        mark = match[0]
        before = markup.character_before(start)
        after = text[end : end + 1]
        if "₀" <= mark <= "₉":
            markup.drop(start, end, mark.translate(_LOWERED_DIGITS))
        elif mark[0] in "¹²³⁰⁴⁵⁶⁷⁸⁹":
            if not is_word(after) and _TEXT_BEFORE_NOTE_PATTERN.search(text[max(0, start - 4) : start]):
                markup.drop(start, end)
        elif mark != "\u200b" or (is_word(before) and is_word(after)):
            markup.drop(start, end)
