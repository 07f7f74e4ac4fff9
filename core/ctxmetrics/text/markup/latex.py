"""LaTeX: mathematics between its marks, and commands; the indexes of chemical formulas."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from ctxmetrics.text.markup.characters import PATH
from ctxmetrics.text.markup.markup_reading import LISTS, SUPERSCRIPTS, Reading, is_word, match_marks

_ELEMENTS = frozenset(LISTS["elements"])
_TEX_WRAPPERS = frozenset(LISTS["tex_wrappers"])
_TEX_DROPPED = frozenset(LISTS["tex_dropped"])
_TEX_CHARACTERS: Mapping[str, str] = LISTS["tex_characters"]
_DOLLARS = re.compile(
    r"(?<![\\$\w])(?:\$\$([^$]{1,800}+)\$\$|\$(?!\s)([^$\n]{1,300}+)(?<!\s)\$(?![\w$]))"
    r"|\$(?=[\\^_])([^$\n]{1,300}+)\$(?![\d$])"
)
# What only mathematics holds: a command, a mark of an index or a power, a relation; or one symbol.
_MATHEMATICS = re.compile(r"\\[A-Za-z]|[\^_{}]|\s=\s|(?<=\w)=(?=\w)|[<>≤≥×]")
_SYMBOL = re.compile(
    r"[A-Za-z](?:[+-]\d)?|[A-Za-z]\(\w\)|[\d.,]+(?:\s?[%+*/-]\s?[\d.,]+)?(?:\\%)?|[A-Z][A-Za-z]?\d?[A-Z]?"
)
_TEX = re.compile(r"\\([A-Za-z]{1,30}+)\*?|\\([^A-Za-z\n])|[{}_^~&]")
_TEX_OPTION = re.compile(r"\s?(?:\[[^\[\]{}\n]{0,80}+\])?")
_TEX_GROUP = re.compile(r"\{[^{}]{0,300}+\}")
_TEX_POWER = re.compile(r"\^(?:\{([+-]?\d{1,3})\}|(\d))")
# Commands with parts before the one that is seen, by the number of these.
_UNSEEN_PARTS = {"href": 1, "textcolor": 1, "colorbox": 1, "multicolumn": 2, "multirow": 2}
_STRUCK = frozenset(("sout", "xout", "st"))
# A group in another type: {\\bf fee}
_TYPE = re.compile(r"\{\\(?:bf|it|em|tt|sc|sl|rm|sf)(?:series|shape|family)?[ ]+")
_TABLE = re.compile(
    r"\\begin\{(tabular[x*]?|longtable|array|(?:align|equation|gather|multline|eqnarray)\*?)\}(?:\[\w{0,3}\])?(?:\{(?:[^{}]|\{[^{}]{0,40}\}){0,200}+\}){0,2}+"
)
_SEPARATORS = {"frac": "/", "dfrac": "/", "tfrac": "/", "SI": " "}
_TEX_QUOTES = re.compile(r"``(?=[^`\s])([^`']{1,300}+)''")
_FORMULA = re.compile(r"(?<![\w\\.])(?:[A-Z][a-z]?|\d|[()]|_(?:\d|\{\d{1,3}\})){1,40}+(?![a-z_])")
_INDEX = re.compile(r"_(?:\{(\d{1,3})\}|(?=\d))")
_SHORTEST_COMMAND = 3
_LONGEST_FORMULA = 800


def find_tex(reading: Reading) -> None:
    """Find mathematics between its marks, and commands, also outside it."""
    text = reading.text
    find_accents(reading)
    regions = sorted([*_find_mathematics(reading), *_find_tables(reading)])
    for match in _TEX_QUOTES.finditer(text):
        if reading.is_free(*match.span()):
            reading.drop(match.start(), match.start() + 2, '"')
            reading.drop(match.end() - 2, match.end(), '"')
    if not regions and "\\" not in text:
        return
    _read_commands(reading, regions)


def _read_commands(reading: Reading, regions: Sequence[tuple[int, int]]) -> None:
    """Take commands and their braces; inside mathematics also other braces and signs."""
    groups: list[tuple[int, int, str | None]] = []
    number = skip = 0
    for match in _TEX.finditer(reading.text):
        start, end = match.span()
        while number < len(regions) and regions[number][1] <= start:
            number += 1
        inside = number < len(regions) and regions[number][0] <= start
        if start < skip or reading.taken[start]:
            continue
        if match[1]:
            skip = _read_command(reading, match, groups, inside=inside)
        elif match[0] == "{":
            type_mark = _TYPE.match(reading.text, start)
            if type_mark is not None:
                skip = type_mark.end()
                groups.append((start, skip, ""))
            else:
                groups.append((start, end, "" if inside else None))
        elif match[0] == "}":
            skip = _close_group(reading, start, groups)
        elif inside:
            skip = _read_sign(reading, match, match[2] or "")


def find_formulas(reading: Reading) -> None:
    """Find the marks of an index in chemical formulas: H_2O."""
    text = reading.text
    if not _INDEX.search(text):
        return
    for match in _FORMULA.finditer(text):
        symbols = re.findall("[A-Z][a-z]?", match[0])
        if "_" in match[0] and symbols and _ELEMENTS.issuperset(symbols):
            for index in _INDEX.finditer(text, *match.span()):
                reading.drop(*index.span(), index[1] or "")


def _find_mathematics(reading: Reading) -> list[tuple[int, int]]:
    r"""Find mathematics between ``$``, ``$$``, ``\\(`` and ``\\[``, take the marks, and return what stands between them."""
    text = reading.text
    candidates: list[tuple[int, int, int]] = []
    if "$" in text:
        candidates += [
            (*match.span(), 2 if match[1] else 1) for match in match_marks(_DOLLARS, text, "$")
        ]
    for opening, closing in (("\\(", "\\)"), ("\\[", "\\]")):
        start = text.find(opening)
        while start >= 0:
            end = reading.find(closing, start + 2)
            if end < 0:
                break
            after = start + 2
            if end - start > _LONGEST_FORMULA:
                after = end
            elif not reading.crosses_blank_line(start, end):
                after = end + 2
                candidates.append((start, after, 2))
            start = text.find(opening, after)
    regions = []
    for start, end, size in sorted(candidates):
        content = text[start + size : end - size].strip()
        is_formula = _MATHEMATICS.search(content) or (size == 1 and _SYMBOL.fullmatch(content))
        if is_formula and reading.is_free(start, start + size) and reading.is_free(end - size, end):
            reading.drop_pair((start, start + size), (end - size, end))
            regions.append((start + size, end - size))
    return regions


def _find_tables(reading: Reading) -> list[tuple[int, int]]:
    """Find tables and formulas of several lines, drop the mark of their beginning, and return the places of what stands in them."""
    text = reading.text
    regions: list[tuple[int, int]] = []
    for match in match_marks(_TABLE, text, "\\begin{"):
        end = reading.find(f"\\end{{{match[1]}}}", match.end())
        if end >= 0:
            reading.drop(*match.span())
            regions.append((match.end(), end))
    return regions


_ACCENT = re.compile(
    r"""
    \\(?:
        (?P<mark>['`"^~])(?:\{\\?(?P<braced>[A-Za-z])\}|\\?(?P<bare>[A-Za-z]))
        |(?P<command>[cHvukr=.])(?:\{\\?(?P<letter>[A-Za-z])\}|(?<=[cHvukr])[ ](?P<spaced>[A-Za-z]))
        |(?P<special>ss|aa|AA|ae|AE|oe|OE|o|O|l|L|i|j)(?![A-Za-z])(?:\{\}|[ ](?=[a-z]))?
    )
    """,
    re.VERBOSE,
)
# An accent that is no escaped quotation mark or apostrophe: in braces, within a word, or on the last letter of one.
_CERTAIN_ACCENT = re.compile(
    r"""
    \\['`"^~cHvukr=.]\{\\?[A-Za-z]\} | \{\\['`"^~][A-Za-z]\}
    | (?<=[A-Za-z])\\(?:[`"^~][aeiouyncAEIOUN](?=[A-Za-z])|[`^~][aeiou])
    | (?<=[A-Za-z]{3})\\'[aeiou](?![A-Za-z])
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


def find_accents(reading: Reading) -> None:
    r"""Find letters with accents, ``Erd\H{o}s`` and ``caf\'e``, in a text where one is certainly no escaped quotation mark."""
    text = reading.text
    if "\\" not in text or _CERTAIN_ACCENT.search(text) is None or PATH.search(text):
        return
    for match in match_marks(_ACCENT, text, "\\"):
        start, end = match.span()
        if reading.before(start) == "{" and text.startswith("}", end):
            start -= 1
            end += 1
        special = match["special"]
        if special is not None:
            seen = _SPECIAL_LETTERS[special]
        else:
            letter = match["braced"] or match["bare"] or match["letter"] or match["spaced"]
            accent = _COMBINING[match["mark"] or match["command"]]
            seen = unicodedata.normalize("NFC", letter + accent)
        if len(seen) == 1:
            reading.drop(start, end, seen)


_DASHES = re.compile(r"(?<=\d)--(?=\d)|(?<=\w)---(?=[^\W_])")


def find_dashes(reading: Reading) -> None:
    """Find the dashes of LaTeX between numbers and words: 5--10."""
    for match in _DASHES.finditer(reading.text):
        reading.drop(*match.span(), "–" if match[0] == "--" else "—")


def _read_command(
    reading: Reading,
    match: re.Match[str],
    groups: list[tuple[int, int, str | None]],
    *,
    inside: bool,
) -> int:
    """Take a command of LaTeX, if it is one, and return up to where that was read."""
    text = reading.text
    command = match[1]
    (start, end) = match.span()
    option = _TEX_OPTION.match(text, end)
    brace = option.end() if option else end
    has_group = text.startswith("{", brace)
    if command in _TEX_DROPPED and has_group:
        group = _TEX_GROUP.match(text, brace)
        if group:
            if command in _STRUCK:
                reading.hide(start, group.end())
                return group.end()
            if reading.before(start) == "~":  # a tie before a reference
                start -= 1
            reading.drop(start, group.end())
            return group.end()
    if command in _UNSEEN_PARTS and has_group:
        last = brace
        for _ in range(_UNSEEN_PARTS[command]):
            group = _TEX_GROUP.match(text, last)
            last = group.end() if group else last
        if last > brace and text.startswith("{", last):
            groups.append((start, last + 1, ""))
            return last + 1
    if command in _TEX_WRAPPERS and has_group:
        groups.append((start, brace + 1, _SEPARATORS.get(command, "")))
        return brace + 1
    before = reading.before(start)
    is_alone = not (is_word(before) or before in tuple(":\\/") if before else False)
    is_long = len(command) >= _SHORTEST_COMMAND and not text.startswith("\\", end)
    if command in _TEX_CHARACTERS and (inside or (is_alone and is_long)):
        reading.drop(start, end, _TEX_CHARACTERS[command])
    return end


def _close_group(reading: Reading, place: int, groups: list[tuple[int, int, str | None]]) -> int:
    """Take the braces of a group that ends, and return up to where that was read."""
    if not groups:
        return place
    start, end, separator = groups.pop()
    if separator is None:
        return place
    if start < 0:  # the second part of a fraction, whose opening brace is taken
        reading.drop(place, place + 1)
    elif separator and reading.text.startswith("}{", place):
        reading.drop(start, end)
        reading.drop(place, place + 2, separator)
        groups.append((-1, -1, ""))
        return place + 2
    else:
        reading.drop_pair((start, end), (place, place + 1))
    return place


def _read_sign(reading: Reading, match: re.Match[str], sign: str) -> int:
    """Take a sign inside mathematics, and return up to where that was read."""
    start, end = match.span()
    power = _TEX_POWER.match(reading.text, start)
    if power:
        reading.drop(*power.span(), (power[1] or power[2]).translate(SUPERSCRIPTS))
        return power.end()
    mark = match[0]
    if mark == "^" and reading.text.startswith(("^\\circ", "^{\\circ", "^\\degree"), start):
        reading.drop(start, end)
    elif mark == "~":
        reading.drop(start, end, " ")
    elif mark == "&":
        reading.drop(start, end, "\t")
    elif mark == "_":
        reading.drop(start, end)
    elif sign == "\\":
        reading.drop(start, end, "\n")
    elif sign and sign in ",;:> ":
        reading.drop(start, end, " ")
    elif sign == "!":
        reading.drop(start, end)
    elif sign:
        reading.drop(start, end, sign)
    return end
