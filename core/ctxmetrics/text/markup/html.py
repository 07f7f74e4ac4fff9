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
    | \x1b\[[\d;?]{0,20}[A-Za-z]                       # the colours of a terminal, and its links
    | \x1b\][^\x07\x1b\n]{0,2000}+(?:\x07|\x1b\\)
    """,
    re.VERBOSE,
)
_ADDRESS = re.compile(r"<(?:https?|ftp|mailto|tel):[^\s<>|]++>")
# A link of Slack: <https://a.org|the plan>, <#C024BE7LR|harbour>, <!subteam^S1|@crew>.
_LABELLED_ADDRESS = re.compile(
    r"<(?:(?:https?|mailto|tel):[^\s<>|]++|(#|@|!subteam\^)[A-Z0-9]{6,16}|!date\^[^<>|\n]{1,80}+)(?P<bar>\|)[^<>|\n]{1,300}+(?P<end>>)"
)
# Elements of wikis that may hold nothing.
_WIKI_NAMES = frozenset(("ref", "references"))
_BREAKS = frozenset(("br", "hr", "wbr", "lb", "pb"))
# Elements that state nothing.
_PROGRAMS = frozenset(("script", "style"))
_HIDDEN = frozenset((*_PROGRAMS, "del", "strike", "noscript", "template"))
# What marks the beginning of a text for a language model, and is no struck text: "<s> Hello </s>", "<s>[INST]".
_MODEL_TEXT = (" ", "\n", "[INST]")
# A page is shown once its styles are loaded.
_PAGES = frozenset(("html", "body", "main"))
# Elements that are not seen beside the text: notes, readings of characters, the names and states of Confluence, and TeX beside MathML.
_UNSEEN = frozenset(
    ("ref", "rt", "rp", "annotation", "ac:parameter", "ac:task-id", "ac:task-uuid", "ac:task-status")
)
# Attributes of what a reader does not see, or sees struck.
_HIDING_ATTRIBUTE = re.compile(
    r"""
    \shidden(?=[\s/]|$|\s*=\s*["']?(?:hidden|true)?["']?(?:[\s/]|$))
    | \sstyle\s*=\s*(?:"[^"]*|'[^']*)(?:display\s*:\s*none|visibility\s*:\s*hidden|line-through)
    | \sclass\s*=\s*["']?katex-mathml                    # the visible formula stands behind it
    """,
    re.VERBOSE | re.IGNORECASE,
)
# Confluence shows the title of a status.
_SHOWN_PARAMETER = 'ac:name="title"'
# The most elements of one name within each other that are read to find the end of one.
_DEEPEST = 20
_ANY_TAG = re.compile(r"<[^<>]*+>")
_POWER = re.compile(r"[+−-]?\d{1,3}")
_NOTE_MARK = re.compile(
    r"[(\[]?(?:\d{1,3}(?:\s?[,–-]\s?\d{1,3}){0,9}|[a-z](?:,\s?[a-z]){0,4}|[*†‡§]{1,3}|(?:note|nb|n)\s\d{1,3})[)\]]?"
)


def find_highlights(reading: Reading) -> None:
    """Find what search engines put around the words of a query."""
    for match in _HIGHLIGHT.finditer(reading.text):
        reading.drop(*match.span())


def find_tags(reading: Reading) -> None:
    """Find tags of HTML and XML, comments, and what hides its content."""
    text = reading.text
    _find_addresses(reading)
    # Where the last closing tag of each name stands.
    closings = {match[1].lower(): match.start() for match in _CLOSING_TAG.finditer(text)}
    opened: dict[str, list[int]] = {}
    position = text.find("<")
    while position >= 0:
        after = position + 1
        if text.startswith("<!--", position):
            end = reading.find("-->", position)
            if end >= 0 and reading.is_free(position, position + 4) and reading.is_free(end, end + 3):
                after = end + 3
                reading.hide(position, after)
        elif text.startswith("<![CDATA[", position):
            end = reading.find("]]>", position)
            if end >= 0:
                after = position + len("<![CDATA[")
                reading.drop_pair((position, after), (end, end + 3))
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


def _find_addresses(reading: Reading) -> None:
    """Find addresses in angle brackets; of one with a label only the label is seen."""
    for match in _ADDRESS.finditer(reading.text):
        reading.drop_pair((match.start(), match.start() + 1), (match.end() - 1, match.end()))
    if "|" not in reading.text:
        return
    for match in _LABELLED_ADDRESS.finditer(reading.text):
        start = match.start()
        if match[1] == "#":  # the sign of a channel is seen
            reading.drop(start, start + 1)
            start += 2
        reading.drop_pair((start, match.end("bar")), match.span("end"))


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
    name = tag["name"].lower()
    start, end = tag.span()
    is_html = name in _INLINE or name in _BLOCK or name in _OPTIONAL_END or name in _BREAKS
    before = opened.get(name)
    if tag["end"]:
        if not is_html and before is None:
            return start + 1
        seen = _see_tag(reading, start, end, name)
        reading.drop(start, end, seen)
        if before and not seen:
            reading.join(before.pop(), start)
        return end
    is_void = tag["attributes"].endswith("/")
    has_end = closings.get(name, -1) >= end
    is_tag = (
        has_end
        or (is_void and _is_void_xml(tag, name, is_document=bool(closings)))
        or (is_html and _stands_alone(reading, tag, name, is_known=bool(before)))
    )
    if not is_tag:
        return start + 1
    after = _read_unseen_element(reading, tag, name) if has_end and not is_void else 0
    if name == "sup" and not after:
        after = _read_superscript(reading, start, end)
    if after:
        return after
    alt = _ALT.search(tag["attributes"]) if name == "img" else None
    seen = unescape(alt[1] or alt[2] or "") if alt else _see_tag(reading, start, end, name)
    reading.drop(start, end, seen)
    if not is_void:
        opened.setdefault(name, []).append(start)
    return end


def _is_void_xml(tag: re.Match[str], name: str, *, is_document: bool) -> bool:
    """Whether a tag that closes itself is XML: it has a namespace, a name of wikis, or an attribute and stands among other tags."""
    has_namespace = ":" in name[:-1]
    if has_namespace or name in _WIKI_NAMES:
        return True
    return is_document and _ATTRIBUTE.search(tag["attributes"]) is not None


def _read_unseen_element(reading: Reading, tag: re.Match[str], name: str) -> int:
    """Take an element of which nothing is seen, with all that it holds, and return its end; else 0."""
    is_hidden = _is_hidden(reading, tag, name)
    is_unseen = name in _UNSEEN and _SHOWN_PARAMETER not in tag["attributes"]
    if not is_hidden and not is_unseen:
        return 0
    end = _find_closing_tag(reading, tag)
    if is_hidden:
        reading.hide(tag.start(), end)
    else:
        reading.cover(tag.start(), end)
    return end


def _is_hidden(reading: Reading, tag: re.Match[str], name: str) -> bool:
    """Whether an element states nothing: by its name, or by its attributes."""
    if name == "s":  # struck text, or where a text begins for a language model
        is_whole_text = tag.start() == 0 and reading.text.endswith("</s>")
        return not is_whole_text and not reading.text.startswith(_MODEL_TEXT, tag.end())
    if name in _HIDDEN:
        return True
    hiding = _HIDING_ATTRIBUTE.search(tag["attributes"]) if tag["attributes"] else None
    if hiding is None or name in _PAGES:
        return False
    # KaTeX writes each formula twice, and hides the first.
    return "katex-mathml" not in hiding[0] or "katex-html" in reading.text


def _find_closing_tag(reading: Reading, tag: re.Match[str]) -> int:
    """Return where an element ends whose closing tag stands somewhere behind: its own one, or else the next one."""
    name = tag["name"]
    same_name = re.compile(rf"<(/?){re.escape(name)}(?=[\s/>])[^<>]*+>", re.IGNORECASE)
    depth = 1
    first_end = 0
    for match in same_name.finditer(reading.text, tag.end()):
        if not reading.is_free(*match.span()):
            continue
        if match[1]:
            depth -= 1
            first_end = first_end or match.end()
        elif not match[0].endswith("/>") and name.lower() not in _PROGRAMS:
            depth += 1
        if depth == 0:
            return match.end()
        if depth > _DEEPEST and first_end:
            break
    return first_end or tag.end()


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
    if name in ("br", "lb", "tr"):
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
