"""What the ellipsis of a quote leaves out: a quote of two parts counts for one statement only."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.judges.evidence.chunks import Token
from ctxmetrics.judges.evidence.word_forms import base_language
from ctxmetrics.judges.evidence.words import get_word_list, tokenize

# For each language: words that join clauses ("and"), words that begin a subject ("the"), and prepositions ("of"). For all
# languages: words that name the kind of a value ("euros", "hours").
_LISTS: Mapping[str, Any] = read_data("judges.evidence", "gaps.json")
_VALUE_KINDS: Mapping[str, str] = {
    word: kind for kind, words in _LISTS["values"].items() for word in words
}
_NUMBER = re.compile(
    r"(?P<sign>[$€£¥₽]\s?)?(?<![\w.,])\d+(?:[.,:]\d+)*\s?(?P<unit>%|[$€£¥₽]|°\s?[CF]?|[^\W\d_]{1,30})?"
)
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_PIECE = re.compile(r"[^\W_]+|[,;]")
_BRACKETS = ((",", ","), ("(", ")"), ("—", "—"), ("–", "–"), ("[", "]"))
# The most words of a subject that stands before its verb, and the most characters of a gap that are read.
_LONGEST_SUBJECT = 5
_LONGEST_READ = 2_000


def hides_statement(before: str, gap: str, after: str, language: str) -> bool:
    """Whether an ellipsis joins two statements.

    What it leaves out holds a value of the kind of one that is quoted (20 euros, of "The fee is ... 50 euros"), ends a row
    of a table, or ends with the subject of what follows ("and the bus", of "The ferry ... leaves at ten").

    Args:
        before: The part of the quote before it.
        gap: What it leaves out.
        after: The part of the quote behind it.
        language: ISO 639 code of the language.
    """
    if len(gap) > _LONGEST_READ or ("\n" in gap and "\t" in gap):
        return True
    quoted = {
        *_value_kinds(before[-_LONGEST_READ:], language),
        *_value_kinds(after[:_LONGEST_READ], language),
    }
    hidden = {*_value_kinds(gap, language)}
    # A number without a unit may be of any kind but a year.
    has_same_kind = bool(hidden & quoted)
    hides_value_of_any_kind = _ANY in hidden and bool(quoted - {_YEAR_KIND})
    hides_value_for_any_kind = _ANY in quoted and bool(hidden - {_YEAR_KIND})
    if has_same_kind or hides_value_of_any_kind or hides_value_for_any_kind:
        return True
    gap = gap.strip()
    if ";" in gap or "；" in gap:
        return True
    is_insertion = any(gap.startswith(first) and gap.endswith(last) for first, last in _BRACKETS)
    if is_insertion:
        return False
    return _holds_subject(gap, after, language) or _holds_clause(before, gap, after, language)


# The kinds of a year, and of a number whose unit is not written.
_YEAR_KIND = "year"
_ANY = ""


def _value_kinds(text: str, language: str) -> Iterator[str]:
    """Yield the kinds of the values in a text: what is counted, a currency, a share, a year, a day, a month."""
    stop = get_word_list("stop", language)
    for match in _NUMBER.finditer(text):
        unit = (match["unit"] or "").strip().casefold()
        if match["sign"] or unit in tuple("$€£¥₽"):
            yield "money"
        elif (not unit or unit in stop) and _YEAR.fullmatch(match[0].split()[0]):
            yield _YEAR_KIND
        elif not unit or unit in stop:
            yield _ANY
        else:
            yield _unit_kind(unit)
    words = tokenize(text)
    for number, word in enumerate(words):
        folded = word.spelling.casefold()
        if folded in _VALUE_KINDS:
            yield _VALUE_KINDS[folded]
        elif word.kind == "number" and word.spelling[0].isalpha():
            following: Sequence[Token] = words[number + 1 : number + 2]
            counted = following[0].folded if following and not word.ends_clause else ""
            yield _ANY if not counted or counted in stop else _unit_kind(counted)


_CURRENCIES = frozenset(
    ("euro", "dollar", "pound", "franc", "rubl", "yen", "eur", "usd", "gbp", "руб", "рубл")
)


def _unit_kind(unit: str) -> str:
    words = tokenize(unit)
    key = words[0].key if words else unit
    return "money" if key in _CURRENCIES else key


def _holds_clause(before: str, gap: str, after: str, language: str) -> bool:
    """Whether a gap holds the rest of one clause and the beginning of another with the same word.

    That is the word before the gap ("Dogs are ... not allowed", of "Dogs are allowed, but cats are not allowed"), or the word behind
    it ("It is free ... on Mondays", of "It is free on Sundays and costs a lot on Mondays"), unless that only begins a subject.
    """
    lists = _LISTS.get(base_language(language))
    if lists is None or base_language(language) == "values":
        return False
    pieces = [piece.casefold() for piece in _PIECE.findall(gap)]
    joint_places = [number for number, piece in enumerate(pieces) if piece in lists["joints"]]
    if not joint_places:
        return False
    if pieces[-1:] == _PIECE.findall(before[-60:].casefold())[-1:]:
        return True
    first = (_PIECE.findall(after[:60].casefold()) or [""])[0]
    return first not in lists["openers"] and first in pieces[: joint_places[-1]]


def _holds_subject(gap: str, after: str, language: str) -> bool:
    """Whether a gap ends with the subject of what follows: a word that joins clauses, and a few words behind it."""
    lists = _LISTS.get(base_language(language))
    if lists is None or base_language(language) == "values":
        return False
    pieces = _PIECE.findall(gap)
    if not pieces or gap[-1:] in (",", ":") or pieces[-1].casefold() in lists["joints"]:
        return False
    first = (_PIECE.findall(after[:60]) or [""])[0].casefold()
    for number in range(len(pieces) - 2, max(-1, len(pieces) - 2 - _LONGEST_SUBJECT), -1):
        joint = pieces[number].casefold()
        opener = pieces[number + 1]
        if joint != "," and joint not in lists["joints"]:
            continue
        is_name = opener[0].isupper() and joint != "," and base_language(language) != "de"
        if not is_name and opener.casefold() not in lists["openers"]:
            continue
        before = {piece.casefold() for piece in pieces[:number]}
        return first not in lists["prepositions"] or first in before
    return False
