"""Finds tags of HTML and XML, and the marks that search engines put around the words of a query."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape
from typing import NamedTuple

from ctxmetrics._internal.patterns import compile_on_use
from ctxmetrics.text.markup.found_markup import (
    LAST_WORD,
    LISTS,
    LONGEST_NOTE,
    SUPERSCRIPTS,
    FoundMarkup,
)

_INLINE = frozenset(LISTS["inline"])
_BLOCK = frozenset(LISTS["block"])
_OPTIONAL_END = frozenset(LISTS["optional_end"])
_AREA_UNITS = frozenset(LISTS["area_units"])
# A closing tag: </p>
_CLOSING_TAG = compile_on_use(r"</([A-Za-z][\w:.-]{0,40}+)\s*+>")
# A tag: <p>, </p>, <a href="https://a.org">
_TAG = compile_on_use(
    r"""
    <(?P<end>/)?(?P<name>[A-Za-z][\w:.-]{0,40}+)
    (?P<attributes>(?:[\s/](?:"[^"<]*+"|'[^'<]*+'|[^<>"'])*+)?+)
    >
    """,
    re.VERBOSE,
)
# An attribute with a value in quotes, or with a value without quotes that is not a part of a program.
_ATTRIBUTE = compile_on_use(r"""\s[\w:@.-]++\s*+=\s*+(?:["']|[\w#%./:-]++(?=[\s/]|$))""")
# An attribute with its value, in quotes or without them: alt="The bridge", alt=Bridge
_NAME_AND_VALUE = compile_on_use(
    r"""(?P<name>[^\s"'=]++)\s*+=\s*+(?:"(?P<quoted>[^"]*+)"|'(?P<apostrophes>[^']*+)'|(?P<bare>[^\s"']++))"""
)
# An address without quotes at the end of a tag: the slash at its end does not close the tag, as in <a href=/news/>.
_ENDS_WITH_ADDRESS = compile_on_use(r"""=\s*+(?:[a-z]++:|\.{1,2}+)?/[^\s"']*+$""", re.IGNORECASE)
# The marks that search engines put around the words of a query, and the marks of a terminal.
_HIGHLIGHT = compile_on_use(
    r"""
    <{2,3}/?em>{2,3}                                   # <<em>>
    | @@/?[A-Z][A-Z_]{1,20}@@                          # @@HL@@
    | __/?aa-highlight__
    | \[/?hl\]
    | __/?ais-highlight__
    | \x1b\[[\d;?]{0,20}[A-Za-z]                       # a colour of a terminal
    | \x1b\][^\x07\x1b\n]{0,2000}+(?:\x07|\x1b\\)      # a link of a terminal
    """,
    re.VERBOSE,
)
# An address in the form of a tag: <https://a.org>
_ADDRESS = compile_on_use(r"<(?:https?|ftp|mailto|tel):[^\s<>|]++>")
# A link of Slack: <https://a.org|the plan>, <#C024BE7LR|harbour>, <!subteam^S1|@crew>.
_LABELLED_ADDRESS = compile_on_use(
    r"<(?:(?:https?|mailto|tel):[^\s<>|]++|(#|@|!subteam\^)[A-Z0-9]{6,16}|!date\^[^<>|\n]{1,80}+)(?P<bar>\|)[^<>|\n]{1,300}+(?P<end>>)"
)
# Elements of wikis that may hold nothing.
_WIKI_NAMES = frozenset(("ref", "references"))
_BREAKS = frozenset(("br", "hr", "wbr", "lb", "pb"))
# Elements that state nothing.
_PROGRAMS = frozenset(("script", "style"))
_HIDDEN = frozenset((*_PROGRAMS, "del", "strike", "noscript", "template"))
# If one of these follows "<s>", it is the start token of a language model, and no tag of struck text: "<s> Hello </s>", "<s>[INST]".
_MODEL_TEXT_BEGINNINGS = (" ", "\n", "[INST]")
# Elements of a whole page. Their hiding attributes do not count: the page is shown once its styles are loaded.
_PAGE_ELEMENTS = frozenset(("html", "body", "main"))
# Elements that are not a part of the visible text: notes, readings of characters, names and states of Confluence, and TeX.
_UNSEEN = frozenset(
    ("ref", "rt", "rp", "annotation", "ac:parameter", "ac:task-id", "ac:task-uuid", "ac:task-status")
)
# Attributes of an element that a reader does not see, or sees struck.
_HIDING_ATTRIBUTE = compile_on_use(
    r"""
    \shidden(?=[\s/]|$|\s*=\s*["']?(?:hidden|true)?["']?(?:[\s/]|$))
    | \sstyle\s*=\s*(?:"[^"]*|'[^']*|[^\s"']*)(?:display\s*:\s*none|visibility\s*:\s*hidden|line-through)
    | \sclass\s*=\s*["']?katex-mathml                    # the visible formula stands behind it
    """,
    re.VERBOSE | re.IGNORECASE,
)
# The attribute of a status in Confluence, whose title is shown.
_SHOWN_PARAMETER = 'ac:name="title"'
# How many characters are read before a tag.
_CHARACTERS_BEFORE = 40
_MAX_CLOSING_TAG_CHARACTERS = 20
# How deeply elements of one name may be nested. The end of a deeper one is not looked for.
_MAX_DEPTH = 20
_ANY_TAG = compile_on_use(r"<[^<>]*+>")
# A raised number: 2, -3
_POWER = compile_on_use(r"[+−-]?\d{1,3}")
# The raised mark of a note: 1, [2], a, *, note 3
_NOTE_MARK = compile_on_use(
    r"[(\[]?(?:\d{1,3}(?:\s?[,–-]\s?\d{1,3}){0,9}|[a-z](?:,\s?[a-z]){0,4}|[*†‡§]{1,3}|(?:note|nb|n)\s\d{1,3})[)\]]?"
)


def find_highlights(markup: FoundMarkup) -> None:
    """Drop the marks that search engines put around the words of a query."""
    for match in _HIGHLIGHT.finditer(markup.text):
        markup.drop(*match.span())


def find_tags(markup: FoundMarkup) -> None:
    """Find tags of HTML and XML, comments, and elements whose content is hidden."""
    text = markup.text
    _find_addresses(markup)
    tags = _Tags({match[1].lower(): match.start() for match in _CLOSING_TAG.finditer(text)}, {})
    position = text.find("<")
    while position >= 0:
        read_until = _read_special_tag(markup, position)
        if not read_until:
            tag = _TAG.match(text, position)
            if tag is not None and markup.is_free(*tag.span()):
                read_until = _read_tag(markup, tag, tags)
        position = text.find("<", read_until or position + 1)


def _read_special_tag(markup: FoundMarkup, start: int) -> int:
    """Read a comment, a CDATA section or a declaration.

    Returns:
        The position up to which the text was read; 0 if there is none of them.
    """
    text = markup.text
    if text.startswith("<!--", start):
        end = markup.find_mark("-->", start)
        if end >= 0 and markup.is_free(start, start + 4) and markup.is_free(end, end + 3):
            markup.hide(start, end + 3)
            return end + 3
    elif text.startswith("<![CDATA[", start):
        end = markup.find_mark("]]>", start)
        if end >= 0:
            content_start = start + len("<![CDATA[")
            markup.drop_pair((start, content_start), (end, end + 3))
            return content_start
    elif text.startswith(("<!DOCTYPE", "<!doctype", "<?xml"), start):
        end = markup.find_mark(">", start)
        if end >= 0:
            markup.drop(start, end + 1)
            return end + 1
    return 0


def _find_addresses(markup: FoundMarkup) -> None:
    """Drop the brackets around addresses. If an address has a label, only the label stays."""
    for match in _ADDRESS.finditer(markup.text):
        markup.drop_pair((match.start(), match.start() + 1), (match.end() - 1, match.end()))
    if "|" not in markup.text:
        return
    for match in _LABELLED_ADDRESS.finditer(markup.text):
        start = match.start()
        if match[1] == "#":  # the sign of a channel is seen
            markup.drop(start, start + 1)
            start += 2
        markup.drop_pair((start, match.end("bar")), match.span("end"))


class _Tags(NamedTuple):
    """The tags of a text.

    Attributes:
        last_closing: The last position of a closing tag, by the tag's name.
        opened: The positions of the opening tags that are not closed yet, by the tag's name.
    """

    last_closing: Mapping[str, int]
    opened: dict[str, list[int]]


def _read_tag(markup: FoundMarkup, tag: re.Match[str], tags: _Tags) -> int:
    """Drop a tag, with its content if a reader does not see that.

    Args:
        markup: The text, and the markup found so far.
        tag: The match of what looks like a tag.
        tags: The other tags of the text.

    Returns:
        The position up to which the text was read: one character behind the start if it is no tag.
    """
    name = tag["name"].lower()
    start, end = tag.span()
    if tag["end"]:
        return _read_closing_tag(markup, tag, name, tags)
    closes_itself = _closes_itself(tag["attributes"])
    is_closed_later = tags.last_closing.get(name, -1) >= end
    # Text such as "a <b and c> d" looks like a tag.
    is_tag = is_closed_later
    if not is_tag and closes_itself:
        is_tag = _is_void_xml(tag, name, is_document=bool(tags.last_closing))
    if not is_tag and _is_html(name):
        is_tag = _stands_alone(markup, tag, name, is_known=bool(tags.opened.get(name)))
    if not is_tag:
        return start + 1
    element_end = 0
    if is_closed_later and not closes_itself:
        element_end = _read_unseen_element(markup, tag, name)
    if name == "sup" and not element_end:
        element_end = _read_superscript(markup, start, end)
    if element_end:
        return element_end
    visible_text = _see_tag(markup, start, end, name)
    if name == "img":  # a reader may see the text in its place
        visible_text = _read_alternative_text(tag["attributes"])
    markup.replace(start, end, visible_text)
    if not closes_itself:
        tags.opened.setdefault(name, []).append(start)
    return end


def _closes_itself(attributes: str) -> bool:
    """Whether a tag with these attributes needs no closing tag: ``<br/>``."""
    return attributes.endswith("/") and _ENDS_WITH_ADDRESS.search(attributes) is None


def _read_alternative_text(attributes: str) -> str:
    """Return the text in place of a picture (``alt``) from the attributes of its tag; empty if there is none."""
    for attribute in _NAME_AND_VALUE.finditer(attributes):
        if attribute["name"].lower() == "alt":
            bare = (attribute["bare"] or "").rstrip("/")
            return unescape(attribute["quoted"] or attribute["apostrophes"] or bare)
    return ""


def _read_closing_tag(markup: FoundMarkup, tag: re.Match[str], name: str, tags: _Tags) -> int:
    """Drop a closing tag, if it is one, and return the position up to which the text was read."""
    start, end = tag.span()
    opening_tags = tags.opened.get(name)
    if opening_tags is None and not _is_html(name):
        return start + 1
    visible_text = _see_tag(markup, start, end, name)
    markup.replace(start, end, visible_text)
    if opening_tags and not visible_text:
        markup.pair(opening_tags.pop(), start)
    return end


def _is_html(name: str) -> bool:
    """Whether an element of HTML has a name."""
    return name in _INLINE or _breaks_line(name)


def _is_void_xml(tag: re.Match[str], name: str, *, is_document: bool) -> bool:
    """Whether a tag that closes itself is XML.

    It is if it has a namespace or a name that wikis use, or if it has an attribute and the text has closing tags.
    """
    has_namespace = ":" in name[:-1]
    if has_namespace or name in _WIKI_NAMES:
        return True
    return is_document and _ATTRIBUTE.search(tag["attributes"]) is not None


def _read_unseen_element(markup: FoundMarkup, tag: re.Match[str], name: str) -> int:
    """Drop an element that a reader does not see, with its content. Return its end; 0 if a reader sees it."""
    is_hidden = _is_hidden(markup, tag, name)
    is_unseen = name in _UNSEEN and _SHOWN_PARAMETER not in tag["attributes"]
    if not is_hidden and not is_unseen:
        return 0
    end = _find_closing_tag(markup, tag)
    if is_hidden:
        markup.hide(tag.start(), end)
    else:
        markup.cover(tag.start(), end)
    return end


def _is_hidden(markup: FoundMarkup, tag: re.Match[str], name: str) -> bool:
    """Whether the name or the attributes of an element say that it states nothing."""
    if name == "s":  # struck text, or where a text begins for a language model
        is_whole_text = tag.start() == 0 and markup.text.endswith("</s>")
        return not is_whole_text and not markup.text.startswith(_MODEL_TEXT_BEGINNINGS, tag.end())
    if name in _HIDDEN:
        return True
    hiding = _HIDING_ATTRIBUTE.search(tag["attributes"]) if tag["attributes"] else None
    if hiding is None or name in _PAGE_ELEMENTS:
        return False
    # KaTeX writes each formula twice, and hides the first.
    return "katex-mathml" not in hiding[0] or "katex-html" in markup.text


def _find_closing_tag(markup: FoundMarkup, tag: re.Match[str]) -> int:
    """Return the end of an element: behind its own closing tag, or else behind the next closing tag of its name."""
    name = tag["name"]
    same_name = compile_on_use(rf"<(/?){re.escape(name)}(?=[\s/>])[^<>]*+>", re.IGNORECASE)
    depth = 1
    first_end = 0
    for match in same_name.finditer(markup.text, tag.end()):
        if not markup.is_free(*match.span()):
            continue
        if match[1]:
            depth -= 1
            first_end = first_end or match.end()
        elif not _closes_itself(match[0][:-1]) and name.lower() not in _PROGRAMS:
            depth += 1
        if depth == 0:
            return match.end()
        if depth > _MAX_DEPTH and first_end:
            break
    return first_end or tag.end()


def _read_superscript(markup: FoundMarkup, start: int, end: int) -> int:
    """Replace raised text that is the mark of a note or a power, and return its end; 0 if it is neither.

    Args:
        markup: The text, and the markup found so far.
        start: The position of the opening tag.
        end: The position behind the opening tag.
    """
    text = markup.text
    limit = end + LONGEST_NOTE
    closing = text.find("</", end, limit)
    while closing >= 0 and not text.startswith("</sup", closing):
        closing = text.find("</", closing + 2, limit)
    if closing < 0:
        return 0
    element_end = text.find(">", closing, closing + _MAX_CLOSING_TAG_CHARACTERS) + 1
    if not element_end:
        return 0
    raised_text = unescape(_ANY_TAG.sub("", text[end:closing])).strip()
    text_before = text[max(0, start - _CHARACTERS_BEFORE) : start]
    visible_text = _see_superscript(text_before, raised_text)
    if visible_text is None:
        return 0
    markup.replace(start, element_end, visible_text)
    return element_end


def _breaks_line(name: str) -> bool:
    """Whether an element of HTML of this name begins or ends a line."""
    return name in _BLOCK or name in _OPTIONAL_END or name in _BREAKS


def _stands_alone(markup: FoundMarkup, tag: re.Match[str], name: str, *, is_known: bool) -> bool:
    """Whether text that looks like an opening tag of HTML without a closing tag is a tag.

    It counts as a tag in each of these cases:

    - It is a line break.
    - It has attributes, or a slash: ``<img/>``.
    - Its element needs no end, and it begins a line, follows another tag, or ``is_known``: a tag of its name stands before it.
    """
    if name in _BREAKS:
        return True
    if tag["attributes"].strip("/ "):
        return _ATTRIBUTE.search(tag["attributes"]) is not None
    if tag["attributes"]:  # <img/>
        return True
    if name not in _OPTIONAL_END:
        return False
    text_before = markup.text[max(0, tag.start() - _CHARACTERS_BEFORE) : tag.start()].strip(" \t")
    begins_line = text_before[-1:] in ("", "\n", ">")
    return begins_line or is_known


def _see_tag(markup: FoundMarkup, start: int, end: int, name: str) -> str:
    """Return the text that is seen in the place of a tag: white space if the tag ends a line, a cell or a field; else nothing."""
    if name in ("td", "th"):
        return "\t"
    if name in ("br", "lb", "tr"):
        return "\n"
    if name == "wbr":
        return ""
    if _breaks_line(name):
        return "\n\n"
    if name in _INLINE:
        return ""
    # A tag beside another tag is a field of XML; a tag inside a sentence is not.
    follows_tag = markup.character_before(start) in (">", "\n")
    is_before_tag = markup.text[end : end + 1] in ("<", "\n")
    return " " if follows_tag or is_before_tag else ""


# Letters that are factors of a product, such as mc in mc².
_FACTORS = compile_on_use(r"[bcdfghj-np-tv-xz]{1,3}")


def _see_superscript(text_before: str, raised_text: str) -> str | None:
    """Return the visible form of a raised text: empty for the mark of a note, a raised number for a power, None for other text."""
    if _NOTE_MARK.fullmatch(raised_text):
        is_bracketed = raised_text[:1] in ("[", "(") and raised_text[1:2].isalnum()
        if is_bracketed or raised_text in "*†‡§" or _may_have_note(text_before):
            return ""
    if _POWER.fullmatch(raised_text):
        return raised_text.replace("−", "-").translate(SUPERSCRIPTS)
    return None


def _may_have_note(text_before: str) -> bool:
    """Whether a raised number behind a text is the mark of a note, not a power.

    It is behind a punctuation mark, or behind a word that is neither a unit of length nor a symbol of a formula.
    """
    if text_before.rstrip()[-1:] in tuple(".,;:!?)\"'”’»。，、") and text_before[-1:] != ")":
        return True
    word = LAST_WORD.search(text_before)
    letters = word[0] if word else ""
    is_symbol = letters in _AREA_UNITS or letters[1:].isupper() or _FACTORS.fullmatch(letters)
    return len(letters) > 1 and not is_symbol
