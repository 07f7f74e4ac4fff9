"""Links, pictures and BBCode, of which the text is seen, and the marks of notes and sources."""

from __future__ import annotations

import re
from bisect import bisect_left

from ctxmetrics._internal.patterns import compile_on_use
from ctxmetrics.text.markup.found_markup import LISTS, LONGEST_NOTE, FoundMarkup, is_word, match_lines

_BBCODE = frozenset(LISTS["bbcode"])
_STRUCK = frozenset(("s", "strike", "del"))
_LABELS = frozenset(LISTS["labels"])
_WIKI_LINK = compile_on_use(r"\[\[(?:[^\[\]|\n]{1,200}+\|)*([^\[\]|\n]{1,300}+)\]\]")
# A link of Org mode: [[https://a.org][the plan]]
_ORG_LINK = compile_on_use(
    r"\[\[(?:(?:https?|file|id|mailto):|[.#/])[^\[\]\n]{1,300}+\]\[([^\[\]\n]{1,300}+)\]\]"
)
# A citation of an assistant: 【4:0†source】
_CITATION = compile_on_use(r"【[^【】\n]{1,40}+】")
_BRACKET = compile_on_use(r"[\[\]]")
# The address of a link of Markdown, with its title: (https://a.org "the plan")
_TARGET = compile_on_use(
    r"""
    \(\s?
    (?:<[^<>\n]{0,2000}+>|[^\s()<>]{0,2000}+(?:\([^\s()]{0,200}+\)[^\s()]{0,2000}+){0,4}+)
    (?:\s{1,3}(?:"[^"\n]{0,300}+"|'[^'\n]{0,300}+'|\([^()\n]{0,300}+\)))?+
    \s?\)
    """,
    re.VERBOSE,
)
# The label of a link whose address stands elsewhere: [1], [plan]
_LABEL = compile_on_use(r"\[([^\[\]\n]{0,60}+)\]")
# The line that has the address of a label: [plan]: https://a.org
_DEFINITION = compile_on_use(r"^[ ]{0,3}\[([^\[\]\n]{1,60}+)\]:", re.MULTILINE)
# What stands behind the text of a link in Jira and in Pandoc: [the plan|https://a.org], [fee]{.underline}
_JIRA_TARGET = compile_on_use(
    r"\|(?:(?:https?|mailto|file):|[#/^])[^\s|\"'(){};]{1,300}+(?:\|smart-[a-z]{3,9})?\Z"
)
# What stands behind the first bracket of a note's mark of reStructuredText: [1]_, [#f1]_, [Smith2020]_
_REST_NOTE = compile_on_use(r"(?:[#*]?[\w.-]{0,30}|\*)\]_(?!\w)")
_ATTRIBUTES = compile_on_use(r"\{[.#][A-Za-z][^{}\n]{0,100}+\}")
# What stands before the text of a link in AsciiDoc: link:fees.adoc[the fees], https://a.org[the plan]
_TARGET_BEFORE = compile_on_use(
    r"""
    (?:
        (?:link|xref|image|icon|mailto)::?(?!//)[^\s()\[\]<>{}=,;"']{1,300}
        |(?:https?|ftp)://[^\s()\[\]<>{}"']{1,300}
    )\Z
    """,
    re.VERBOSE,
)
# A comment of Markdown: [//]: # (A note.)
_COMMENT = compile_on_use(r"\[(?://|comment|_)\]: (?:#|<>) ?[^\n]*")
# The address in a link of MediaWiki: [https://a.org the plan]
_EXTERNAL = compile_on_use(r"(?:https?:)?//\S++[ \t]+(?=\S)")
# A tag of BBCode: [b], [/url], [color=red]
_BBCODE_TAG = compile_on_use(r"\[(/?)([A-Za-z]{1,8}\d?)(?:=[^\[\]\n]{1,300}+)?\]")
# The numbers of notes: 1, 2-4
_NUMBERS = compile_on_use(r"\d{1,3}(?:\s?[,;–-]\s?\d{1,3}){0,19}+")
# The mark of a note in words: ^a, note 3, citation needed
_WORDY_NOTE = compile_on_use(
    r"\^[\w.-]{1,30}|(?:note|nb|notes|fn)\.?\s?\d{1,3}"
    r"|citation needed|clarification needed|better source needed|not in citation given|edit|(?:when|who|which|where)\?",
    re.IGNORECASE,
)
# The name of a source, as systems that answer with sources write it: [doc1], [@smith2019], [12, p. 5].
_SOURCE = compile_on_use(
    r"""
    (?:doc|docs|document|source|sources|context|chunk|passage|citation|quelle|fuente)\.?:?\s?
    \d{1,3}(?:\s?,\s?\d{1,3}){0,9}
    | @[\w:-]{2,40}(?:,\s?pp?\.\s?[\d–-]{1,12})?(?:;\s?@[\w:-]{2,40}(?:,\s?pp?\.\s?[\d–-]{1,12})?){0,9}
    | \d{1,3},\s?pp?\.\s?[\d–-]{1,12}
    """,
    re.IGNORECASE | re.VERBOSE,
)
_ENDS_PLAIN_WORD = compile_on_use(r"(?<![\w.({\[=])[^\W\d_]{3,}\Z")
_LAST_PLAIN_WORD = compile_on_use(r"(?<![\w.({\[=])([^\W\d_]{2,})[,;]? \Z")
_CLOSING_MARKS = tuple(".,;!?\"'”’»%。，、；：！？」』…")


# Notes for writers in wikis: {{citation needed|date=May 2020}}; and a link of reStructuredText: `text <address>`_
_TEMPLATE = compile_on_use(
    r"""
    \{\{[ ]?(?:citation[ ]needed|cn|fact|clarify|clarification[ ]needed|when|who|by[ ]whom|which|where|dubious|vague
    |better[ ]source(?:[ ]needed)?|according[ ]to[ ]whom|update[ ]inline|failed[ ]verification|sfn|page[ ]needed)
    [ ]?(?:\|[^{}\n]{0,200}+)?\}\}
    """,
    re.IGNORECASE | re.VERBOSE,
)
# A note or a source behind a word: old.{{efn|Since 1650.}}
_NOTE_TEMPLATE = compile_on_use(
    r"(?<![\s*#:|])\{\{(?:efn|refn|r|rp|cite[ ][a-z]{3,12}|citation)[ ]?\|[^{}]{0,500}+\}\}",
    re.IGNORECASE,
)
# A reference of AsciiDoc: <<fees,the fee table>>
_CROSS_REFERENCE = compile_on_use(r"(<<[\w#.-]{1,80},\s?)[^\W\d_][^<>\n{}=;()]{1,200}+(>>)")
# A link of reStructuredText: `the plan <https://a.org>`_
_TEXT_WITH_ADDRESS = compile_on_use(r"`[^`<>\n]{1,200}+(<[^`<>\s]{1,300}+>`__?)")
# A link of Textile: "the plan":https://a.org/plan
_TEXTILE_LINK = compile_on_use(r'"(?=[^\s"])[^"\n]{1,200}+(":https?://[^\s"<>]{0,300}[^\s"<>.,;:!?)])')


# A template of a wiki that shows its text: {{nowrap|20 euros}}, {{lang|fr|Gand}}.
_SHOWN_TEMPLATE = compile_on_use(
    r"(\{\{(?:nowrap|nobr|small|big|abbr|lang\|[A-Za-z-]{2,10})\|)[^{}|\n]{1,200}+((?:\|[^{}|\n]{0,200}+)?\}\})",
    re.IGNORECASE,
)
# A template that means a character: {{nbsp}}, {{ndash}}.
_BLANK_TEMPLATE = compile_on_use(r"\{\{(nbsp|ndash|snd|mdash)\}\}", re.IGNORECASE)


def find_templates(markup: FoundMarkup) -> None:
    """Find notes for the writers of a wiki, and templates that only show a text."""
    for match in _SHOWN_TEMPLATE.finditer(markup.text):
        markup.drop_pair(match.span(1), match.span(2))
    for match in _TEMPLATE.finditer(markup.text):
        markup.drop_with_blank(*match.span())
    for match in _NOTE_TEMPLATE.finditer(markup.text):
        markup.drop(*match.span())
    for match in _BLANK_TEMPLATE.finditer(markup.text):
        markup.replace(*match.span(), " " if match[1].casefold() == "nbsp" else "–")


def find_addresses(markup: FoundMarkup) -> None:
    """Find links of reStructuredText. A reader sees their text."""
    for match in _TEXT_WITH_ADDRESS.finditer(markup.text):
        start, end = match.span(1)
        if markup.character_before(start) == " ":
            start -= 1
        markup.drop(match.start(), match.start() + 1)
        markup.drop(start, end)


def find_cross_references(markup: FoundMarkup) -> None:
    """Find references of AsciiDoc. A reader sees their text."""
    for match in _CROSS_REFERENCE.finditer(markup.text):
        if " " in match[0]:
            markup.drop_pair(match.span(1), match.span(2))


def find_comments(markup: FoundMarkup) -> None:
    """Find comments of Markdown."""
    for match in match_lines(_COMMENT, markup.text):
        markup.hide(*match.span())


def find_textile_links(markup: FoundMarkup) -> None:
    """Find links of Textile. A reader sees their text."""
    for match in _TEXTILE_LINK.finditer(markup.text):
        markup.drop_pair((match.start(), match.start() + 1), match.span(1))


def find_links(markup: FoundMarkup) -> None:
    """Find links, pictures, BBCode and the marks of notes. A reader sees the text of a link or a picture."""
    text = markup.text
    for match in _CITATION.finditer(text):
        markup.drop(*match.span())
    if "[/" in text:
        _find_bbcode(markup)
    if "[[" in text:
        _find_wiki_links(markup)
    definitions = _find_definitions(text)
    opening_brackets: list[tuple[int, int]] = []
    read_until = 0
    current_paragraph = 0
    for match in _BRACKET.finditer(text):
        start, end = match.span()
        if match[0] == "[" and markup.character_before(start) == "!":
            start -= 1  # of a picture
        if start < read_until or markup.taken[end - 1]:
            continue
        paragraph = bisect_left(markup.blank_lines, start)
        if paragraph != current_paragraph:
            opening_brackets.clear()
            current_paragraph = paragraph
        if match[0] == "[":
            opening_brackets.append((start, end))
        elif opening_brackets:
            read_until = _read_bracket(markup, opening_brackets.pop(), start, definitions)


def _find_definitions(text: str) -> set[str]:
    """Find the names of the addresses that stand apart from their links: [name]: address."""
    if "]:" not in text:
        return set()
    return {match[1].casefold() for match in match_lines(_DEFINITION, text)}


def _find_wiki_links(markup: FoundMarkup) -> None:
    """Find links of wikis: [[page|text]]."""
    text = markup.text
    for match in _ORG_LINK.finditer(text):
        markup.drop_pair((match.start(), match.start(1)), (match.end(1), match.end()))
    for match in _WIKI_LINK.finditer(text):
        # Code has such brackets, too.
        label = match[1]
        has_page = "|" in match[0]
        is_index = not has_page and is_word(markup.character_before(match.start()))  # table[[rows]]
        is_string = label[0] in "\"'"  # [["name"]]
        is_number = not any(map(str.isalpha, label))  # [[1, 0]]
        is_call = text.startswith("(", match.end())  # [[read]](file)
        if is_index or is_string or is_number or is_call:
            continue
        markup.drop_pair((match.start(), match.start(1)), (match.end(1), match.end()))


def _read_bracket(
    markup: FoundMarkup, opening: tuple[int, int], closing: int, definitions: frozenset[str] | set[str]
) -> int:
    """Take the brackets of a link, or the mark of a note, and return the position up to which the text was read."""
    text = markup.text
    start, content_start = opening
    end = closing + 1
    is_picture = text[start] == "!"
    before = markup.character_before(start)
    content = text[content_start : min(closing, content_start + LONGEST_NOTE)].strip()
    if _read_marked_text(markup, opening, closing, content):
        return end
    is_short = closing - content_start <= LONGEST_NOTE
    has_numbers = is_short and _NUMBERS.fullmatch(content.strip("[]^\\")) is not None
    target = _TARGET.match(text, end)
    if target is not None and _is_link(target, before, content, is_picture=is_picture):
        is_behind_text = bool(before) and not before.isspace()
        is_note = has_numbers and (is_behind_text or content.startswith("["))
        if is_note or content in _LINKS_WITHOUT_TEXT:
            markup.drop(start, target.end())
        else:
            markup.drop_pair(opening, (closing, target.end()))
        return target.end()
    mark_end = _read_wiki_mark(markup, opening, closing)
    if mark_end:
        return mark_end
    label = _LABEL.match(text, end)
    may_have_label = not is_word(before) and before not in (")", "]")
    if label is not None and may_have_label:
        name = (label[1] or content).casefold()
        # "[see Smith][3]": the definition of the number may be in another chunk. "[2][3]" are two marks of notes.
        has_number = label[1].isdigit() and len(content) > 1 and not has_numbers
        is_defined = name in definitions or has_number
        if is_defined and not label[1].startswith("^"):
            markup.drop_pair(opening, (closing, label.end()))
            return label.end()
    # MediaWiki: [https://example.org the text]
    address_limit = min(closing, content_start + _MAX_ADDRESS_CHARACTERS)
    external = _EXTERNAL.match(text, content_start, address_limit)
    may_be_note = len(content) <= _MAX_MARK_CHARACTERS and not is_picture
    if external is not None:
        markup.drop_pair((start, external.end()), (closing, end))
    elif may_be_note and _is_note(markup, start, end, content):
        markup.drop_with_blank(start, end)
    return closing


# Links that lead to another place of the page, or change it.
_LINKS_WITHOUT_TEXT = ("↑", "↩", "^", "edit")
# Characters of an address in brackets, and of the mark of a note.
_MAX_ADDRESS_CHARACTERS = 2_000
_MAX_MARK_CHARACTERS = 60


def _read_wiki_mark(markup: FoundMarkup, opening: tuple[int, int], closing: int) -> int:
    """Take brackets with attributes of Pandoc, a link of Jira, or a note's mark of reStructuredText; return the end, or 0."""
    text = markup.text
    end = closing + 1
    before = markup.character_before(opening[0])
    attributes = _ATTRIBUTES.match(text, end)
    if attributes is not None and not is_word(before):
        markup.drop_pair(opening, (closing, attributes.end()))
        return attributes.end()
    target = _JIRA_TARGET.search(text, opening[1], closing)
    if target is not None and target.start() > opening[1] and not is_word(before):
        markup.drop_pair(opening, (target.start(), end))
        return end
    if before == " " and _REST_NOTE.match(text, opening[1]):
        markup.drop_with_blank(opening[0], end + 1)
        return end + 1
    return 0


def _read_marked_text(
    markup: FoundMarkup, opening: tuple[int, int], closing: int, content: str
) -> bool:
    """Take brackets that have the mark of a note, or the address of a link, right before them; return whether they have."""
    text = markup.text
    opening_start, opening_end = opening
    before = markup.character_before(opening_start)
    is_wordy = content[:1].isalpha() or " " in content
    if not before or before.isspace() or not is_wordy:
        return False
    # AsciiDoc: footnote:[Since May 2020.], kbd:[Ctrl+C], btn:[OK]
    if text.endswith("footnote:", 0, opening_start):
        markup.drop_with_blank(opening_start - len("footnote:"), closing + 1)
        return True
    if text.endswith(("kbd:", "btn:"), 0, opening_start):
        mark_start = opening_start - len("kbd:")
        markup.drop_pair((mark_start, opening_end), (closing, closing + 1))
        return True
    # Pandoc: ^[Since May 2020.]
    caret = opening_start - 1
    if before == "^" and " " in content:
        word_end = _ENDS_WORD.search(text, max(0, caret - _MAX_WORD_END_CHARACTERS), caret)
        if word_end:
            markup.drop(caret, closing + 1)
            return True
    # AsciiDoc: https://example.org[the page]
    link_target = _TARGET_BEFORE.search(text, max(0, opening_start - LONGEST_NOTE), opening_start)
    if (
        link_target is None
        or text.startswith("(", closing + 1)
        or is_word(markup.character_before(link_target.start()))
    ):
        return False
    markup.drop_pair((link_target.start(), opening_end), (closing, closing + 1))
    return True


# The end of a word: "abc", "ab.", or a character from Thai on. Such a character is written as one that is not before Thai, since
# a large range takes milliseconds to compile.
_ENDS_WORD = compile_on_use(r"[^\W\d_]{3}\Z|[^\W\d_]{2}[.,;!?”»)]\Z|[^\0-\u0dff]\Z")
_MAX_WORD_END_CHARACTERS = 4


def _is_link(target: re.Match[str], before: str, content: str, *, is_picture: bool) -> bool:
    """Whether brackets and a target in parentheses behind them are a link, not an index and a call."""
    address = target[0][1:-1].strip()
    if is_picture or address.startswith(("#", "<")) or ":" in address or "/" in address:
        return True
    if is_word(before) or before in (")", "]"):
        return False
    letters = [character for character in content if character.isalpha()]
    return len(letters) > 1 and address != ""


# Further brackets behind the first.
_CHAIN = compile_on_use(r"(?:\[[\w,–-]{1,20}\]){0,9}")
# What is behind a note's mark, and shows that it is none: an assignment, a call, a part of a name or a pattern.
_BEHIND_INDEX = compile_on_use(r"[({=+*?]|\s=\s|\.[^\W\d]|(?=[\0-\u0dff])\w")
_TEXT_IN_PARENTHESES = compile_on_use(r"\([^()]*\s[^()]*\)\Z|\s\([^()]*\)\Z")


def _is_note(markup: FoundMarkup, start: int, end: int, content: str) -> bool:
    """Whether brackets are the mark of a note or a source: behind a word or a mark, not an index of a program."""
    text = markup.text
    before = text[max(0, start - 40) : start]
    if not before.strip(" \t") or before.endswith("\n"):
        return False
    further_brackets = _CHAIN.match(text, end)
    brackets_end = further_brackets.end() if further_brackets else end
    if _BEHIND_INDEX.match(text, brackets_end):
        return False
    if _WORDY_NOTE.fullmatch(content):
        return content[0] != "^" or not before[-1].isspace()
    if _SOURCE.fullmatch(content):
        return before[-1].isspace() or before[-1] in _CLOSING_MARKS or before[-1] >= "\u0e00"
    if _NUMBERS.fullmatch(content) and not content.startswith("0"):
        return _is_numbered_note(markup, start, before)
    is_letter = len(content) == 1 and "a" <= content <= "z"
    is_index = content in _INDEX_LETTERS and brackets_end > end  # rows[i][j]
    is_right_behind_word = before[-1].isascii() and before[-1] not in " )]"
    return is_letter and not is_index and is_right_behind_word and _ends_text(before)


# Letters that are more often an index of a program than the mark of a note.
_INDEX_LETTERS = frozenset("ijkmnxy")


def _is_numbered_note(markup: FoundMarkup, start: int, before: str) -> bool:
    """Whether brackets with numbers are the mark of a note: behind text, or behind another mark, whose joint is dropped: [1]–[3]."""
    last = start - len(before) + len(before.rstrip(" ,;")) - 1
    if markup.text[last] in "[]" and not markup.taken[last]:  # a list of lists: [[1, 2], [3, 4]]
        return False
    follows_mark = bool(markup.taken[start - 1])
    is_joined_to_mark = before[-1] in "–-," and bool(markup.taken[start - 2])
    if not follows_mark and not is_joined_to_mark:
        return _ends_text(before, may_follow_space=True)
    if before[-1] != "]":
        markup.drop(start - 1, start)
    return True


def _ends_text(before: str, *, may_follow_space: bool = False) -> bool:
    """Whether the characters before brackets are text to which a note may belong.

    Args:
        before: The characters before the brackets.
        may_follow_space: The brackets hold numbers: they may stand behind a space.
    """
    last = before[-1]
    if last in _CLOSING_MARKS or (last >= "\u0e00" and last.isalpha()):
        return True
    if last == ")":
        return _TEXT_IN_PARENTHESES.search(before) is not None
    if last == " ":
        word = _LAST_PLAIN_WORD.search(before)
        is_cited = word is not None and word[1].casefold() not in _LABELS
        return may_follow_space and (is_cited or before[-2:-1] in _CLOSING_MARKS)
    return _ENDS_PLAIN_WORD.search(before) is not None


def _find_bbcode(markup: FoundMarkup) -> None:
    """Find tags in brackets whose closing tag stands in the text too."""
    opened: dict[str, list[tuple[int, int]]] = {}
    for match in _BBCODE_TAG.finditer(markup.text):
        name = match[2].lower()
        if name not in _BBCODE:
            continue
        if not match[1]:
            opened.setdefault(name, []).append(match.span())
        elif opened.get(name):
            opening = opened[name].pop()
            if name in _STRUCK:
                markup.hide(opening[0], match.end())
            else:
                markup.drop_pair(opening, match.span())
