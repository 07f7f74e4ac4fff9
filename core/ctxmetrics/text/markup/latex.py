r"""Finds LaTeX (mathematics and commands), the indexes of chemical formulas, and characters that are written in another way.

These are entities (``&amp;``), escapes (``\u00e9``), invisible characters, and raised or lowered digits.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from html import unescape
from typing import NamedTuple

from ctxmetrics._internal.patterns import compile_on_use
from ctxmetrics.text.markup.found_markup import LISTS, SUPERSCRIPTS, FoundMarkup, is_word, match_marks

# --- Characters that are written as others: entities, escapes, rare characters ----------------------------------------

# A character by its name or number: &eacute;, &#233;, &amp;#233;
_ENTITY = compile_on_use(r"&(?:amp;){0,3}(#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31}+);")


def find_entities(markup: FoundMarkup) -> None:
    """Find references to characters, also those that were escaped twice."""
    for match in _ENTITY.finditer(markup.text):
        entity = f"&{match[1]};"
        character = unescape(entity)
        if character != entity:
            # A blank that does not break a line is seen as a blank; a soft hyphen is not seen.
            seen = character.replace("\xa0", " ").replace("\xad", "")
            markup.replace(*match.span(), seen)


_ESCAPE = compile_on_use(
    r"""
    \\(?:
        u([0-9A-Fa-f]{4}(?:\\u[Dd][C-Fc-f][0-9A-Fa-f]{2})?)     # \u00e9
        |((?:r\\)?n|t)                                          # \n
        |([!"\#$%&'()*+,./:;<=>?@\[\]^_`{|}~-])                 # \*
    )
    """,
    re.VERBOSE,
)
# A path (C:\) or a class of a regular expression (\d): in such a text, a backslash begins no escape.
PATH = compile_on_use(r"[A-Za-z]:\\|\\\\\w|\\[dwsDWSbB](?![a-z])")
_JSON_ESCAPE = compile_on_use(
    r'\\n(?:\\n|[\s\d"A-ZА-Я-])|\\"|\\u[0-9A-Fa-f]{4}|[.!?:,]\\n|\\t\d|\\n(?:is|are|was|were|and|or|at|in|on|of|to|the|for|by)\b'
)


def find_escapes(markup: FoundMarkup) -> None:
    """Find escapes of Markdown, LaTeX and JSON. A text with a path or a regular expression has no escapes."""
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
            markup.replace(*match.span(), units.decode("utf-16-be", "replace"))
        elif blank and is_json:
            after = text[match.end() : match.end() + 1]
            if "n" in blank and not ("\n" in text and after.islower() and is_word(before)):
                markup.replace(*match.span(), "\n")
            elif blank == "t" and not after.islower():
                markup.replace(*match.span(), "\t")


# One character, or a run of raised digits. It begins with one class of characters, which is searched for fast.
_RARE_CHARACTER = compile_on_use(
    "[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\u2060\ufeff\ue000\ue001₀-₉¹²³⁰⁴-⁹](?:(?<=[¹²³⁰⁴-⁹])[¹²³⁰⁴-⁹]+)?"
)
_LOWERED_DIGITS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
# What may stand before the raised digit of a note: a word of at least four letters ("river²", but not "km²"), or a punctuation mark
# behind a word of at least two letters ("it.²").
_TEXT_BEFORE_NOTE_PATTERN = compile_on_use(r"[^\W\d_]{4}\Z|[^\W\d_]{2}[.,;!?”»]\Z")


def find_characters(markup: FoundMarkup) -> None:
    """Find characters that are not seen, raised marks of notes behind a word, and lowered digits."""
    text = markup.text
    for match in _RARE_CHARACTER.finditer(text):
        start, end = match.span()
        mark = match[0]
        before = markup.character_before(start)
        after = text[end : end + 1]
        if "₀" <= mark <= "₉":
            markup.replace(start, end, mark.translate(_LOWERED_DIGITS))
        elif mark[0] in "¹²³⁰⁴⁵⁶⁷⁸⁹":
            if not is_word(after) and _TEXT_BEFORE_NOTE_PATTERN.search(text[max(0, start - 4) : start]):
                markup.drop(start, end)
        elif mark != "\u200b" or (is_word(before) and is_word(after)):
            markup.drop(start, end)


# --- LaTeX ------------------------------------------------------------------------------------------------------------


_CHEMICAL_ELEMENTS = frozenset(LISTS["elements"])
_TEX_COMMANDS_WITH_VISIBLE_GROUP = frozenset(LISTS["tex_wrappers"])
_TEX_COMMANDS_WITH_HIDDEN_GROUP = frozenset(LISTS["tex_dropped"])
# The signs of units, and of what stands before them: kilo, per.
_TEX_UNITS: Mapping[str, str] = LISTS["tex_units"]
_TEX_CHARACTERS: Mapping[str, str] = LISTS["tex_characters"]
# A formula between dollar signs. The third form begins with a command or a sign, so that prices are no formulas.
_DOLLARS = compile_on_use(
    r"""
    (?<![\\$\w])
    (?:\$\$([^$]{1,800}+)\$\$                               # $$E = mc^2$$
      |\$(?!\s)([^$\n]{1,300}+)(?<!\s)\$(?![\w$]))         # $x$
    |\$(?=[\\^_])([^$\n]{1,300}+)\$(?![\d$])               # H$_2$O, a$\alpha$b
    """,
    re.VERBOSE,
)
# Only mathematics holds one of these: a command, the mark of an index or a power, a relation.
_MATHEMATICS = compile_on_use(r"\\[A-Za-z]|[\^_{}]|\s=\s|(?<=\w)=(?=\w)|[<>≤≥×]")
_SYMBOL = compile_on_use(
    r"[A-Za-z](?:[+-]\d)?|[A-Za-z]\(\w\)|[\d.,]+(?:\s?[%+*/-]\s?[\d.,]+)?(?:\\%)?|[A-Z][A-Za-z]?\d?[A-Z]?"
)
# A command of TeX, an escaped character, or a sign with a meaning: \frac, \%, {
_TEX = compile_on_use(r"\\([A-Za-z]{1,30}+)\*?|\\([^A-Za-z\n])|[{}_^~&]")
# The options of a command: [12pt], [see][p. 3]
_TEX_OPTION = compile_on_use(r"(?:\s?\[[^\[\]{}\n]{0,80}+\]){1,2}|\s?")
# A group without groups in it: {text}
_TEX_GROUP = compile_on_use(r"\{[^{}]{0,300}+\}")
# The end of a line with the distance to the next line: \\[4pt], \\*[1ex]
_LINE_END_WITH_DISTANCE = compile_on_use(
    r"\\\\\*?\[\s?-?(?:\d+(?:\.\d*)?|\.\d+)?\s?(?:\\[a-z]{1,20}+|pt|em|ex|mm|cm|in|bp|pc|sp|mu)\s?\]"
)
# Where a word may be divided, and where two letters are not joined: Ent\-wick\-lung, shelf\/ful
_INVISIBLE_IN_WORD = compile_on_use(r"(?<=[^\W\d_])\\[-/](?=[^\W\d_])")
# A command of TeX with a group. Only then "\-" and "\/" are TeX's: Markdown and JSON have them, too, for "-" and "/".
_COMMAND_WITH_GROUP = compile_on_use(r"\\[a-z]{2,30}+\*?\{")
# A power: ^{10}, ^2
_TEX_POWER = compile_on_use(r"\^(?:\{([+-]?\d{1,3})\}|(\d))")
# Commands with unseen parts before the visible part, with the number of unseen parts: \href{address}{visible text}
_UNSEEN_PARTS = {"href": 1, "textcolor": 1, "colorbox": 1, "multicolumn": 2, "multirow": 2}
_STRUCK = frozenset(("sout", "xout", "st"))
# A group in another type: {\\bf fee}
_TYPE = compile_on_use(r"\{\\(?:bf|it|em|tt|sc|sl|rm|sf)(?:series|shape|family)?[ ]+")
_TABLE = compile_on_use(
    r"\\begin\{(tabular[x*]?|longtable|array|(?:align|equation|gather|multline|eqnarray)\*?)\}(?:\[\w{0,3}\])?(?:\{(?:[^{}]|\{[^{}]{0,40}\}){0,200}+\}){0,2}+"
)
_SEPARATORS = {"frac": "/", "dfrac": "/", "tfrac": "/", "SI": " "}
# An amount whose unit has a command for each part: \SI{40}{\kilo\metre}
_TEX_AMOUNT = compile_on_use(
    r"\\(?:SI|qty)(?:\[[^\[\]{}\n]{0,80}+\])?\{([^{}\\]{1,40}+)\}\{((?:\\[A-Za-z]{1,20}+\s?){1,8}+)\}"
)
# A quotation of TeX: ``free''
_TEX_QUOTES = compile_on_use(r"``(?=[^`\s])([^`']{1,300}+)''")
# The formula of a substance: H_2O, C_{12}H_{22}O_{11}
_FORMULA = compile_on_use(r"(?<![\w\\.])(?:[A-Z][a-z]?|\d|[()]|_(?:\d|\{\d{1,3}\})){1,40}+(?![a-z_])")
# An index in such a formula: _2, _{12}
_INDEX = compile_on_use(r"_(?:\{(\d{1,3})\}|(?=\d))")
_MIN_COMMAND_LETTERS = 3
# Signs of a number, and the blank that may stand behind one: \pm 5
_SIGNS = frozenset(("pm", "mp"))
_BLANK_BEFORE_DIGIT = compile_on_use(r"[ ](?=\d)")
_MAX_FORMULA_CHARACTERS = 800


def find_tex(markup: FoundMarkup) -> None:
    """Find mathematics between its marks, and commands, also outside it."""
    text = markup.text
    find_accents(markup)
    if "\\" in text:
        _find_line_ends(markup)
    regions = sorted([*_find_mathematics(markup), *_find_tables(markup)])
    for match in _TEX_QUOTES.finditer(text):
        if markup.is_free(*match.span()):
            markup.replace(match.start(), match.start() + 2, '"')
            markup.replace(match.end() - 2, match.end(), '"')
    if not regions and "\\" not in text:
        return
    _find_marks_in_words(markup, regions)
    _find_amounts(markup)
    _read_commands(markup, regions)


def _find_line_ends(markup: FoundMarkup) -> None:
    """Find ends of lines with a distance behind them."""
    for match in match_marks(_LINE_END_WITH_DISTANCE, markup.text, "\\\\"):
        markup.replace(*match.span(), "\n")


def _find_marks_in_words(markup: FoundMarkup, regions: Sequence[tuple[int, int]]) -> None:
    """Find what a reader does not see between two letters, in a text that is certainly TeX, or with mathematics."""
    text = markup.text
    if "\\-" not in text and "\\/" not in text:
        return
    if regions or _COMMAND_WITH_GROUP.search(text):
        for match in _INVISIBLE_IN_WORD.finditer(text):
            markup.drop(*match.span())


def _find_amounts(markup: FoundMarkup) -> None:
    r"""Find amounts whose unit has a command for each part: ``\SI{40}{\kilo\metre}`` is 40 km."""
    for match in match_marks(_TEX_AMOUNT, markup.text, "\\"):
        commands = match[2].replace("\\", " ").split()
        if markup.is_free(*match.span()) and all(command in _TEX_UNITS for command in commands):
            unit = "".join(_TEX_UNITS[command] for command in commands)
            markup.drop(match.start(), match.start(1))
            markup.replace(match.end(1), match.end(), f" {unit}")


class _Group(NamedTuple):
    r"""A group in braces that is open.

    Attributes:
        start: The start of its opening, such as ``\frac{``; -1 if the opening is dropped already.
        end: The end of the opening.
        separator: The visible text between this group and the next one, such as ``/``; None if the braces stay.
    """

    start: int
    end: int
    separator: str | None


def _read_commands(markup: FoundMarkup, regions: Sequence[tuple[int, int]]) -> None:
    """Read commands and their braces; inside mathematics also other braces and signs."""
    open_groups: list[_Group] = []
    region_index = 0
    read_until = 0
    for match in _TEX.finditer(markup.text):
        start, end = match.span()
        while region_index < len(regions) and regions[region_index][1] <= start:
            region_index += 1
        in_mathematics = region_index < len(regions) and regions[region_index][0] <= start
        if start < read_until or markup.taken[start]:
            continue
        if match[1]:
            read_until = _read_command(markup, match, open_groups, in_mathematics=in_mathematics)
        elif match[0] == "{":
            type_mark = _TYPE.match(markup.text, start)
            if type_mark is not None:
                read_until = type_mark.end()
                open_groups.append(_Group(start, read_until, ""))
            else:
                open_groups.append(_Group(start, end, "" if in_mathematics else None))
        elif match[0] == "}":
            read_until = _close_group(markup, start, open_groups)
        elif in_mathematics:
            read_until = _read_sign_or_escape(markup, match)


def find_formulas(markup: FoundMarkup) -> None:
    """Find the marks of an index in chemical formulas: H_2O."""
    text = markup.text
    if not _INDEX.search(text):
        return
    for match in _FORMULA.finditer(text):
        symbols = re.findall("[A-Z][a-z]?", match[0])
        if "_" in match[0] and symbols and _CHEMICAL_ELEMENTS.issuperset(symbols):
            for index in _INDEX.finditer(text, *match.span()):
                start, end = index.span()
                digits = index[1] or ""
                markup.replace(start, end, digits)  # only the digits are seen


def _find_mathematics(markup: FoundMarkup) -> list[tuple[int, int]]:
    r"""Drop the marks of mathematics (``$``, ``$$``, ``\(`` and ``\[``), and return the spans between them."""
    text = markup.text
    regions = []
    for start, end, mark_length in sorted(_list_marked_texts(markup)):
        content_start = start + mark_length
        content_end = end - mark_length
        content = text[content_start:content_end].strip()
        # A single symbol is a formula only between single dollars: $x$.
        is_symbol = mark_length == 1 and _SYMBOL.fullmatch(content)
        is_formula = _MATHEMATICS.search(content) or is_symbol
        if not is_formula:
            continue
        if markup.is_free(start, content_start) and markup.is_free(content_end, end):
            markup.drop_pair((start, content_start), (content_end, end))
            regions.append((content_start, content_end))
    return regions


def _list_marked_texts(markup: FoundMarkup) -> list[tuple[int, int, int]]:
    """List the start and the end of each text that may be a formula, with its marks, and the length of one mark."""
    text = markup.text
    candidates: list[tuple[int, int, int]] = []
    if "$" in text:
        for match in match_marks(_DOLLARS, text, "$"):
            start, end = match.span()
            candidates.append((start, end, 2 if match[1] else 1))
    for opening, closing in (("\\(", "\\)"), ("\\[", "\\]")):
        mark_length = len(opening)
        start = text.find(opening)
        while start >= 0:
            # The second half of an end of a line is no opening mark: \\[4pt].
            if not markup.is_free(start, start + mark_length):
                start = text.find(opening, start + mark_length)
                continue
            closing_start = markup.find_mark(closing, start + mark_length)
            if closing_start < 0:
                break
            read_until = start + mark_length
            if closing_start - start > _MAX_FORMULA_CHARACTERS:
                read_until = closing_start
            elif not markup.crosses_blank_line(start, closing_start):
                read_until = closing_start + mark_length
                candidates.append((start, read_until, mark_length))
            start = text.find(opening, read_until)
    return candidates


def _find_tables(markup: FoundMarkup) -> list[tuple[int, int]]:
    r"""Find tables and formulas of several lines, drop their ``\begin`` marks, and return the spans of their contents."""
    text = markup.text
    regions: list[tuple[int, int]] = []
    for match in match_marks(_TABLE, text, "\\begin{"):
        end = markup.find_mark(f"\\end{{{match[1]}}}", match.end())
        if end >= 0:
            markup.drop(*match.span())
            regions.append((match.end(), end))
    return regions


_ACCENT = compile_on_use(
    r"""
    \\(?:
        # \'{e}, \'e
        (?P<mark>['`"^~])(?:\{\\?(?P<braced>[A-Za-z])\}|\\?(?P<bare>[A-Za-z]))
        # \c{c}, \c c
        |(?P<command>[cHvukr=.])(?:\{\\?(?P<letter>[A-Za-z])\}|(?<=[cHvukr])[ ](?P<spaced>[A-Za-z]))
        # \ss, \o{}
        |(?P<special>ss|aa|AA|ae|AE|oe|OE|o|O|l|L|i|j)(?![A-Za-z])(?:\{\}|[ ](?=[a-z]))?
    )
    """,
    re.VERBOSE,
)
# A mark that is certainly an accent, and not an escaped quotation mark or apostrophe.
_CERTAIN_ACCENT = compile_on_use(
    r"""
    \\['`"^~cHvukr=.]\{\\?[A-Za-z]\}                       # \'{e}
    | \{\\['`"^~][A-Za-z]\}                                # {\'e}
    | (?<=[A-Za-z])\\(?:
        [`"^~][aeiouyncAEIOUN](?=[A-Za-z])                 # Z\"urich
        | [`^~][aeiou]                                     # citt\`a
    )
    | (?<=[A-Za-z]{3})\\'[aeiou](?![A-Za-z])               # caf\'e
    """,
    re.VERBOSE,
)
_COMBINING = {
    "'": "\u0301", "`": "\u0300", '"': "\u0308", "^": "\u0302", "~": "\u0303", "c": "\u0327", "H": "\u030b", "v": "\u030c",
    "u": "\u0306", "k": "\u0328", "r": "\u030a", "=": "\u0304", ".": "\u0307",
}  # fmt: skip
_SPECIAL_LETTERS = {
    "ss": "ß", "aa": "å", "AA": "Å", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "i": "i", "j": "j",
}  # fmt: skip


def find_accents(markup: FoundMarkup) -> None:
    r"""Find letters with accents, ``Erd\H{o}s`` and ``caf\'e``, in a text where one is certainly no escaped quotation mark."""
    text = markup.text
    if "\\" not in text or _CERTAIN_ACCENT.search(text) is None or PATH.search(text):
        return
    for match in match_marks(_ACCENT, text, "\\"):
        start, end = match.span()
        if markup.character_before(start) == "{" and text.startswith("}", end):
            start -= 1
            end += 1
        special = match["special"]
        if special is not None:
            visible_letter = _SPECIAL_LETTERS[special]
        else:
            letter = match["braced"] or match["bare"] or match["letter"] or match["spaced"]
            accent = _COMBINING[match["mark"] or match["command"]]
            visible_letter = unicodedata.normalize("NFC", letter + accent)
        if len(visible_letter) == 1:
            markup.replace(start, end, visible_letter)


# Dashes as TeX writes them: 5--7, word---word
_DASHES = compile_on_use(r"(?<=\d)--(?=\d)|(?<=\w)---(?=[^\W_])")


def find_dashes(markup: FoundMarkup) -> None:
    """Find the dashes of LaTeX between numbers and words: 5--10."""
    for match in _DASHES.finditer(markup.text):
        markup.replace(*match.span(), "–" if match[0] == "--" else "—")


def _read_command(
    markup: FoundMarkup,
    match: re.Match[str],
    open_groups: list[_Group],
    *,
    in_mathematics: bool,
) -> int:
    """Read a command of LaTeX, and return the position up to which the text was read."""
    text = markup.text
    command = match[1]
    start, end = match.span()
    option = _TEX_OPTION.match(text, end)
    brace = option.end() if option else end
    has_group = text.startswith("{", brace)
    if command in _TEX_COMMANDS_WITH_HIDDEN_GROUP and has_group:
        group = _TEX_GROUP.match(text, brace)
        if group:
            _drop_command(markup, command, start, group.end())
            return group.end()
    if command in _UNSEEN_PARTS and has_group:
        visible_part = _skip_groups(text, brace, _UNSEEN_PARTS[command])
        if visible_part > brace and text.startswith("{", visible_part):
            open_groups.append(_Group(start, visible_part + 1, ""))
            return visible_part + 1
    if command in _TEX_COMMANDS_WITH_VISIBLE_GROUP and has_group:
        open_groups.append(_Group(start, brace + 1, _SEPARATORS.get(command, "")))
        return brace + 1
    if command in _TEX_CHARACTERS:
        is_long = len(command) >= _MIN_COMMAND_LETTERS and not text.startswith("\\", end)
        if in_mathematics or (is_long and _stands_alone(markup.character_before(start))):
            if text.startswith("{}", end):
                end += 2
            elif command in _SIGNS and _BLANK_BEFORE_DIGIT.match(text, end):
                end += 1
            markup.replace(start, end, _TEX_CHARACTERS[command])
    return end


def _drop_command(markup: FoundMarkup, command: str, start: int, end: int) -> None:
    """Drop a command with its group: struck text states nothing, a label is not seen."""
    if command in _STRUCK:
        markup.hide(start, end)
        return
    has_tie = markup.character_before(start) == "~"  # before a reference
    markup.drop(start - 1 if has_tie else start, end)


def _skip_groups(text: str, start: int, count: int) -> int:
    """Return the end of the groups in braces that begin at a position: at most ``count`` of them."""
    end = start
    for _ in range(count):
        group = _TEX_GROUP.match(text, end)
        if group:
            end = group.end()
    return end


def _stands_alone(character_before: str) -> bool:
    """Whether a backslash behind a character may begin a command: not inside a word or a path."""
    if not character_before:
        return True
    return not is_word(character_before) and character_before not in tuple(":\\/")


def _close_group(markup: FoundMarkup, place: int, open_groups: list[_Group]) -> int:
    """Drop the braces of a group at its end, and return the position up to which the text was read."""
    if not open_groups:
        return place
    start, end, separator = open_groups.pop()
    if separator is None:
        return place
    if start < 0:  # the second part of a fraction, whose opening brace is taken
        markup.drop(place, place + 1)
    elif separator and markup.text.startswith("}{", place):
        markup.drop(start, end)
        markup.replace(place, place + 2, separator)
        open_groups.append(_Group(-1, -1, ""))
        return place + 2
    else:
        markup.drop_pair((start, end), (place, place + 1))
    return place


# What is seen of an escaped character within mathematics, if it is not the character itself: \\ ends a line, \, is a narrow blank.
_VISIBLE_ESCAPES = {"\\": "\n", **dict.fromkeys(",;:> ", " "), "!": ""}
# What is seen of a sign of mathematics; "^" stays, unless it raises digits or a sign of degrees.
_VISIBLE_SIGNS = {"~": " ", "&": "\t", "_": ""}
_DEGREES = ("^\\circ", "^{\\circ", "^\\degree")


def _read_sign_or_escape(markup: FoundMarkup, match: re.Match[str]) -> int:
    """Replace a sign or an escaped character within mathematics by what is seen of it.

    Args:
        markup: The text, and the markup found so far.
        match: The match of `_TEX`: a sign such as ``&``, or a backslash with the character behind it.

    Returns:
        The position up to which the text was read.
    """
    text = markup.text
    start, end = match.span()
    sign = match[0]
    if sign == "^":
        power = _TEX_POWER.match(text, start)
        if power is not None:
            digits = power[1] or power[2]
            markup.replace(*power.span(), digits.translate(SUPERSCRIPTS))
            return power.end()
        if text.startswith(_DEGREES, start):
            markup.drop(start, end)
        return end
    escaped_character = match[2]
    if escaped_character is not None:
        ends_line = escaped_character == "\\"
        # A star behind the end of a line keeps the next line on the same page.
        if ends_line and text.startswith("*", end):
            end += 1
        markup.replace(start, end, _VISIBLE_ESCAPES.get(escaped_character, escaped_character))
    elif sign in _VISIBLE_SIGNS:
        markup.replace(start, end, _VISIBLE_SIGNS[sign])
    return end
