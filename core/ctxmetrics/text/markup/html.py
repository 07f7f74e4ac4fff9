"""Tags of HTML and XML, and what search engines put around the words of a query."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape

from ctxmetrics.text.markup.markup_reading import LAST_WORD, LISTS, LONGEST_NOTE, SUPERSCRIPTS, Reading

_INLINE = frozenset(LISTS["inline"])
_BLOCK = frozenset(LISTS["block"])
_OPTIONAL_END = frozenset(LISTS["optional_end"])
_AREA_UNITS = frozenset(LISTS["area_units"])
_CLOSING_TAG = re.compile(r"</([A-Za-z][\w:.-]{0,40}+)\s*+>")
_TAG = re.compile(
    r"""
    <(?P<end>/)?(?P<name>[A-Za-z][\w:.-]{0,40}+)
    (?P<attributes>(?:[\s/](?:"[^"<]*+"|'[^'<]*+'|[^<>"'])*+)?+)
    >
    """,
    re.VERBOSE,
)
# A name with a value in quotes, or with one that holds no operator of a program.
_ATTRIBUTE = re.compile(r"""\s[\w:@.-]++\s*+=\s*+(?:["']|[\w#%./:-]++(?=[\s/]|$))""")
_ALT = re.compile(r"""\salt\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
# What search engines put around the words of a query.
_HIGHLIGHT = re.compile(
    r"""
    <{2,3}/?em>{2,3} | @@/?[A-Z][A-Z_]{1,20}@@ | __/?aa-highlight__ | \[/?hl\]
    | __/?ais-highlight__
    | \x1b\[[\d;]{0,12}m                               # the colours of a terminal
    """,
    re.VERBOSE,
)
_ADDRESS = re.compile(r"<((?:https?|ftp|mailto):[^\s<>]++)>")
_BREAKS = frozenset(("br", "hr", "wbr"))
# Elements of which nothing is seen.
_HIDDEN = frozenset(("script", "style", "noscript", "template", "ref", "rt", "rp"))
_ANY_TAG = re.compile(r"<[^<>]*+>")
_POWER = re.compile(r"[+−-]?\d{1,3}")
_NOTE_MARK = re.compile(
    r"[(\[]?(?:\d{1,3}(?:\s?[,–-]\s?\d{1,3}){0,9}|[a-z]|[*†‡§]{1,3}|(?:note|nb|n)\s\d{1,3})[)\]]?"
)


def find_highlights(reading: Reading) -> None:
    """Find what search engines put around the words of a query."""
    for match in _HIGHLIGHT.finditer(reading.text):
        reading.drop(*match.span())


def find_tags(reading: Reading) -> None:
    """Find tags of HTML and XML, comments, and what hides its content."""
    text = reading.text
    for match in _ADDRESS.finditer(text):
        reading.drop_pair((match.start(), match.start() + 1), (match.end() - 1, match.end()))
    # Where the last closing tag of each name stands.
    closings = {match[1].lower(): match.start() for match in _CLOSING_TAG.finditer(text)}
    opened: dict[str, list[int]] = {}
    position = text.find("<")
    while position >= 0:
        after = position + 1
        if text.startswith("<!--", position):
            end = reading.find("-->", position)
            if end >= 0:
                after = end + 3
                reading.drop(position, after)
        elif text.startswith(("<!DOCTYPE", "<!doctype", "<?xml"), position):
            end = reading.find(">", position)
            if end >= 0:
                after = end + 1
                reading.drop(position, after)
        else:
            tag = _TAG.match(text, position)
            if tag is not None and reading.is_free(*tag.span()):
                after = _read_tag(reading, tag, closings, opened)
        position = text.find("<", after)


def _read_tag(
    reading: Reading, tag: re.Match[str], closings: Mapping[str, int], opened: dict[str, list[int]]
) -> int:
    """Take a tag, if it is one, and return where to read on.

    Args:
        reading: The text.
        tag: What looks like a tag.
        closings: The names of all closing tags, each with its last place.
        opened: The places of the opening tags that were not closed yet, by name.
    """
    name, (start, end) = tag["name"].lower(), tag.span()
    is_html = name in _INLINE or name in _BLOCK or name in _OPTIONAL_END or name in _BREAKS
    before = opened.get(name)
    if tag["end"]:
        if not is_html and before is None:
            return start + 1
        reading.drop(start, end, _see_tag(reading, start, end, name))
        if before and not _breaks_line(name):
            reading.join(before.pop(), start)
        return end
    is_void = tag["attributes"].endswith("/")
    is_tag = closings.get(name, -1) >= end or (name == "ref" and is_void)
    if not is_tag and not (is_html and _stands_alone(reading, tag, name, is_known=bool(before))):
        return start + 1
    if name in _HIDDEN:
        return _hide_element(reading, tag, is_void=is_void)
    if name == "sup":
        after = _read_superscript(reading, start, end)
        if after:
            return after
    alt = _ALT.search(tag["attributes"]) if name == "img" else None
    seen = unescape(alt[1] or alt[2] or "") if alt else _see_tag(reading, start, end, name)
    reading.drop(start, end, seen)
    if not is_void:
        opened.setdefault(name, []).append(start)
    return end


def _hide_element(reading: Reading, tag: re.Match[str], *, is_void: bool) -> int:
    """Take an element with all that it holds, and return its end."""
    start, end = tag.span()
    closing = -1 if is_void else reading.find(f"</{tag['name']}", end)
    if closing >= 0:
        end = reading.text.find(">", closing) + 1 or len(reading.text)
    reading.drop(start, end)
    return end


def _read_superscript(reading: Reading, start: int, end: int) -> int:
    """Take a raised text whose opening tag is given, if it is a note's mark or a power, and return its end; else 0."""
    text = reading.text
    last = end + LONGEST_NOTE
    closing = text.find("</", end, last)
    while closing >= 0 and not text.startswith("</sup", closing):
        closing = text.find("</", closing + 2, last)
    stop = text.find(">", closing, closing + 20) + 1 if closing >= 0 else 0
    if not stop:
        return 0
    mark = unescape(_ANY_TAG.sub("", text[end:closing])).strip()
    seen = _see_superscript(text[max(0, start - 40) : start], mark)
    if seen is None:
        return 0
    reading.drop(start, stop, seen)
    return stop


def _breaks_line(name: str) -> bool:
    return name in _BLOCK or name in _OPTIONAL_END or name in _BREAKS


def _stands_alone(reading: Reading, tag: re.Match[str], name: str, *, is_known: bool) -> bool:
    """Whether an opening tag of HTML that is not closed is one.

    That is a line break, one with attributes, and of those that need no end one behind another tag or like one before.
    """
    if name in _BREAKS:
        return True
    if tag["attributes"].strip("/ "):
        return _ATTRIBUTE.search(tag["attributes"]) is not None
    if tag["attributes"]:  # <img/>
        return True
    is_first = reading.text[max(0, tag.start() - 40) : tag.start()].strip(" \t")[-1:] in ("", "\n", ">")
    return name in _OPTIONAL_END and (is_first or is_known)


def _see_tag(reading: Reading, start: int, end: int, name: str) -> str:
    """Return what is seen in the place of a tag: nothing, or white space where it ends a line, a cell or a field."""
    if name in ("td", "th"):
        return "\t"
    if name in ("br", "tr"):
        return "\n"
    if name == "wbr":
        return ""
    if _breaks_line(name):
        return "\n\n"
    if name in _INLINE:
        return ""
    # Between fields of XML stand other tags; inside a sentence none.
    after = reading.text[end : end + 1]
    return " " if reading.before(start) in (">", "\n") or after in ("<", "\n") else ""


# Letters that are multiplied: mc.
_FACTORS = re.compile(r"[bcdfghj-np-tv-xz]{1,3}")


def _see_superscript(before: str, mark: str) -> str | None:
    """Return what is seen of a raised text: nothing of a note's mark, a power as a raised number; None: its text."""
    word = LAST_WORD.search(before)
    letters = word[0] if word else ""
    is_symbol = (
        letters in _AREA_UNITS or letters[1:].isupper() or _FACTORS.fullmatch(letters) is not None
    )
    is_plain_word = len(letters) > 1 and not is_symbol
    is_behind_mark = before.rstrip()[-1:] in tuple(".,;:!?)\"'”’»。，、") and before[-1:] != ")"
    is_bracketed = mark[:1] in ("[", "(") and mark[1:2].isalnum()
    if _NOTE_MARK.fullmatch(mark) and (
        is_plain_word or is_behind_mark or is_bracketed or mark in "*†‡§"
    ):
        return ""
    return mark.replace("−", "-").translate(SUPERSCRIPTS) if _POWER.fullmatch(mark) else None
