"""Finds a quote in its context, as a model wrote it.

`match_quote` finds the quote. `take_off_marks` removes the marks that a model wrote around it: the id of the context, quotation
marks, the marks of Markdown, tags. `hides_statement` reads the text that the ellipsis of a quote leaves out, because the two parts of
the quote must belong to the same statement.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.judges.evidence.chunks import Token
from ctxmetrics.judges.evidence.quotes import split_context
from ctxmetrics.judges.evidence.word_forms import LISTS, base_language
from ctxmetrics.judges.evidence.words import get_stem_keys, get_word_list, tokenize
from ctxmetrics.text.character_spans import Span, has_content
from ctxmetrics.text.quote_search import Effort, find_quote
from ctxmetrics.text.visible import see

_SENTENCE_END = re.compile(r"[.!?;。！？।](?=\s|$)")


# --- finding a quote in a context ---------------------------------------------------------------------------------------


class QuoteMatch(NamedTuple):
    """The place of a quote in its context.

    Attributes:
        start: The position of the quote's first character in the context.
        end: The position behind the quote's last character.
        is_broken: Whether an ellipsis in the quote hides a denial or the end of a sentence.
    """

    start: int
    end: int
    is_broken: bool


def match_quote(effort: Effort, language: str, quote: str, context: str) -> QuoteMatch | None:
    """Find a quote in a context.

    A quote that is not found is looked for again without the marks that models write around quotes (`take_off_marks`). The
    match is broken if an ellipsis in the quote hides a word that denies, the end of a sentence, or a statement
    (`hides_statement`).

    Returns:
        None if the quote is not found. Also None if the quote and the text that matches it have different negations: the
        search for a similar text may skip a "not".

    Raises:
        EffortExceededError: The search takes more work than `effort` has left.
    """
    pieces = find_quote(quote, context, effort)
    if not pieces:
        bare_quote = take_off_marks(quote)
        if bare_quote == quote:
            return None
        quote = bare_quote
        pieces = find_quote(quote, context, effort)
    if not pieces:
        return None
    start = pieces[0].start
    end = pieces[-1].end
    for before, after in pairwise(pieces):
        if _hides_something(context, before, after, language):
            return QuoteMatch(start, end, is_broken=True)
    text = see(context).cut(Span(start, end))
    if quote != text:
        quoted_negations = _count_negations(see(quote).text, language)
        if quoted_negations != _count_negations(text, language):
            return None
    return QuoteMatch(start, end, is_broken=False)


def _hides_something(context: str, before: Span, after: Span, language: str) -> bool:
    """Whether the ellipsis between two parts of a quote hides a denial, the end of a sentence, or a statement."""
    view = see(context)
    gap = view.cut(Span(before.end, after.start))
    if not has_content(gap):
        return False  # the dots are the text's own
    if _count_negations(gap, language) or _has_denial(gap, language):
        return True
    if _SENTENCE_END.search(gap) or _ends_sentence(context, before.end, after.start):
        return True
    return hides_statement(view.cut(before), gap, view.cut(after), language)


def _ends_sentence(context: str, start: int, end: int) -> bool:
    """Whether a sentence of a context ends between two positions."""
    sentence_ends = [span.end for span in split_context(context)]
    index = bisect_left(sentence_ends, start)
    return index < len(sentence_ends) and sentence_ends[index] <= end


def _count_negations(text: str, language: str) -> Counter[str]:
    """Count each negation of a text, such as "not", in its language and in English."""
    negations = get_word_list("negations", language) | get_word_list("negations", "en")
    return Counter(word.folded for word in tokenize(text) if word.folded in negations)


def _has_denial(text: str, language: str) -> bool:
    """Whether a text has a word that may deny, such as "refused", in its language or in English."""
    denials = get_stem_keys("denials", language) | get_stem_keys("denials", "en")
    return any(word.key in denials for word in tokenize(text))


# --- what stands around a quote ---


_MARK_CHARACTERS = " \t\r\n\"'`*_~|#=-–—•<>[](){}«»‹›“”„‟‘’‚「」『』\\"
# The number of characters at each end of a quote in which a label is looked for.
_MAX_LABEL_CHARACTERS = 120
# Each turn takes off the marks at both ends and one label: "c2 says: **quote**" needs two turns.
_MAX_TURNS = 5
# A tag at the beginning or the end: <context id=2>, </quote>
_TAG_AT_END = re.compile(r"\A<[^<>]{1,60}>|<[^<>]{1,60}>\Z")


def take_off_marks(quote: str) -> str:
    """Return a quote without the marks and labels that a model wrote around it.

    >>> take_off_marks('Context c2 says: "**washed monthly**" [c2]')
    'washed monthly'
    """
    label_before, label_behind = _labels()
    text = quote
    for _ in range(_MAX_TURNS):
        bare = _TAG_AT_END.sub("", text.strip()).strip(_MARK_CHARACTERS)
        # A label is looked for in the first and the last characters only: a long text costs no time.
        first_part = bare[:_MAX_LABEL_CHARACTERS]
        bare = label_before.sub("", first_part, count=1) + bare[_MAX_LABEL_CHARACTERS:]
        last_part = bare[-_MAX_LABEL_CHARACTERS:]
        bare = bare[:-_MAX_LABEL_CHARACTERS] + label_behind.sub("", last_part, count=1)
        if bare == text:
            break
        text = bare
    return text


@lru_cache(maxsize=1)
def _labels() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a label before a quote, and behind one."""
    words = "|".join(map(re.escape, LISTS["quote_labels"]))
    before = rf"""\A
        (?:(?:{words})\s+){{0,4}}                       # According to context
        (?:
            c\s?\d{{1,4}}\b (?:[.]\d{{1,3}}\b)?           # c2, c2.1
            (?:\s*[,;]\s*(?:(?:{words})\s+)?c?\d{{1,4}}\b){{0,4}}  # , sentence 1
            (?:\s+(?:{words}))?                         # says
            [\s:.,;|/\])}}>"'*_–—-]*
            |
            (?: \d{{1,2}} | L\d{{1,4}} | (?:{words}) (?:\s+\d{{1,2}})? )  # 1. or L12: or Context 2: or Quote:
            \s*["'*_\])]*\s*[:.)]+[\s"'*_]+
        )
    """
    after = rf"""
        \s*
        (?:
            [\s:.,;|/\[({{<"'*_–—-]+
            (?:(?:{words})\s*[:.]?\s+){{0,4}}
            c\s?\d{{1,4}}
            (?:[\s,;&]+(?:(?:{words})\s+)?c?\d{{1,4}}){{0,8}}
            | [\[(]\s*\d{{1,2}}                           # [1
            | [\[(] (?:{words})                            # (source
            | [⁰¹²³⁴-⁹]+
        )
        [\s.,;\])}}>"'*_]*\Z
    """
    flags = re.VERBOSE | re.IGNORECASE
    return re.compile(before, flags), re.compile(after, flags)


# --- the gap: what an ellipsis leaves out -------------------------------------------------------------------------------

_GAP_WORDS: Mapping[str, Any] = read_data("judges.evidence", "gaps.json")
# The kind of a value by a word that names the kind: "money" for "euros".
_VALUE_KINDS: Mapping[str, str] = {
    word: kind for kind, words in _GAP_WORDS["values"].items() for word in words
}
# For each language, three lists: ``joints`` are words that join clauses ("and"), ``openers`` words that begin a subject ("the"), and
# ``prepositions`` words such as "of".
_CLAUSE_WORDS: Mapping[str, Mapping[str, Sequence[str]]] = {
    language: lists for language, lists in _GAP_WORDS.items() if language != "values"
}
# A number with its sign or unit: $ 20, 5 %, 12.5 kg
_NUMBER = re.compile(
    r"(?P<sign>[$€£¥₽]\s?)?(?<![\w.,])\d+(?:[.,:]\d+)*\s?(?P<unit>%|[$€£¥₽]|°\s?[CF]?|[^\W\d_]{1,30})?"
)
# A year from 1500 to 2099
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
# A word, a comma or a semicolon
_PIECE = re.compile(r"[^\W_]+|[,;]")
_BRACKETS = ((",", ","), ("(", ")"), ("—", "—"), ("–", "–"), ("[", "]"))
# The maximum number of words of a subject before its verb.
_MAX_SUBJECT_WORDS = 5
# The maximum number of characters of a gap that are read.
_MAX_GAP_CHARACTERS = 2_000
# The number of characters beside a gap in which the nearest word is looked for.
_MAX_NEIGHBOUR_CHARACTERS = 60


def hides_statement(before: str, gap: str, after: str, language: str) -> bool:
    """Whether the ellipsis of a quote joins two different statements.

    The gap is the text that the ellipsis leaves out. The ellipsis joins different statements in one of these cases:

    - The gap holds a value of the same kind as the quote: "20 euros" in "The fee is ... 50 euros".
    - The gap ends a row of a table.
    - The gap ends with the subject of the text behind it: "and the bus" in "The ferry ... leaves at ten".

    Args:
        before: The part of the quote before the ellipsis.
        gap: The text that the ellipsis leaves out.
        after: The part of the quote behind the ellipsis.
        language: ISO 639 code of the language.
    """
    if len(gap) > _MAX_GAP_CHARACTERS or ("\n" in gap and "\t" in gap):
        return True
    quoted_kinds = {
        *_find_value_kinds(before[-_MAX_GAP_CHARACTERS:], language),
        *_find_value_kinds(after[:_MAX_GAP_CHARACTERS], language),
    }
    hidden_kinds = {*_find_value_kinds(gap, language)}
    if _share_kind(quoted_kinds, hidden_kinds):
        return True
    gap = gap.strip()
    if ";" in gap or "；" in gap:
        return True
    is_insertion = any(gap.startswith(first) and gap.endswith(last) for first, last in _BRACKETS)
    if is_insertion:
        return False
    return _holds_subject(gap, after, language) or _holds_clause(before, gap, after, language)


# The kind of a year.
_YEAR_KIND = "year"
# The kind of a number without a unit.
_ANY_KIND = ""


def _share_kind(kinds: set[str], other_kinds: set[str]) -> bool:
    """Whether two values may be of one kind. A number without a unit may be of any kind but a year."""
    if _ANY_KIND in kinds and not other_kinds <= {_YEAR_KIND}:
        return True
    if _ANY_KIND in other_kinds and not kinds <= {_YEAR_KIND}:
        return True
    return not kinds.isdisjoint(other_kinds)


def _find_value_kinds(text: str, language: str) -> Iterator[str]:
    """Yield the kinds of the values in a text: what is counted, a currency, a share, a year, a day, a month."""
    stop_words = get_word_list("stop", language)
    for match in _NUMBER.finditer(text):
        unit = (match["unit"] or "").strip().casefold()
        if match["sign"] or unit in tuple("$€£¥₽"):
            yield "money"
        elif unit and unit not in stop_words:
            yield _get_kind_of_unit(unit)
        elif _YEAR.fullmatch(match[0].split()[0]):
            yield _YEAR_KIND
        else:
            yield _ANY_KIND
    words = tokenize(text)
    for position, word in enumerate(words):
        spelling = word.spelling.casefold()
        if spelling in _VALUE_KINDS:
            yield _VALUE_KINDS[spelling]
        elif word.kind == "number" and spelling[0].isalpha():  # a number in words
            next_words: Sequence[Token] = words[position + 1 : position + 2]
            unit = next_words[0].folded if next_words and not word.ends_clause else ""
            yield _get_kind_of_unit(unit) if unit and unit not in stop_words else _ANY_KIND


_CURRENCIES = frozenset(
    ("euro", "dollar", "pound", "franc", "rubl", "yen", "eur", "usd", "gbp", "руб", "рубл")
)


def _get_kind_of_unit(unit: str) -> str:
    """Return the kind of a value by its unit: ``money``, or the key of the word that the value counts."""
    words = tokenize(unit)
    key = words[0].key if words else unit
    return "money" if key in _CURRENCIES else key


def _holds_clause(before: str, gap: str, after: str, language: str) -> bool:
    """Whether a gap holds the rest of one clause and the beginning of another, which share a word.

    The shared word stands before the gap: "Dogs are ... not allowed", from "Dogs are allowed, but cats are not allowed". Or it
    stands behind the gap: "It is free ... on Mondays", from "It is free on Sundays and costs a lot on Mondays". A word that only
    begins a subject does not count behind the gap.
    """
    lists = _CLAUSE_WORDS.get(base_language(language))
    if lists is None:
        return False
    pieces = [piece.casefold() for piece in _PIECE.findall(gap)]
    joint_positions = [position for position, piece in enumerate(pieces) if piece in lists["joints"]]
    if not joint_positions:
        return False
    pieces_before = _PIECE.findall(before[-_MAX_NEIGHBOUR_CHARACTERS:].casefold())
    repeats_word_before_gap = pieces_before[-1:] == pieces[-1:]
    if repeats_word_before_gap:
        return True
    first_after_gap = _get_first_piece(after).casefold()
    begins_subject = first_after_gap in lists["openers"]
    return not begins_subject and first_after_gap in pieces[: joint_positions[-1]]


def _holds_subject(gap: str, after: str, language: str) -> bool:
    """Whether a gap ends with the subject of the text behind it: a word that joins clauses, and a few words."""
    lists = _CLAUSE_WORDS.get(base_language(language))
    if lists is None:
        return False
    pieces = _PIECE.findall(gap)
    if not pieces or gap[-1:] in (",", ":") or pieces[-1].casefold() in lists["joints"]:
        return False
    first_after_gap = _get_first_piece(after).casefold()
    # From the end of the gap: the subject begins behind a word or comma that joins clauses.
    last_position = len(pieces) - 2
    for position in range(last_position, max(-1, last_position - _MAX_SUBJECT_WORDS), -1):
        joint = pieces[position].casefold()
        is_comma = joint == ","
        if not is_comma and joint not in lists["joints"]:
            continue
        first_of_subject = pieces[position + 1]
        has_capital = first_of_subject[0].isupper()
        # All nouns of German have a capital; behind a comma, a name may be one of a list.
        is_name = has_capital and not is_comma and base_language(language) != "de"
        if not is_name and first_of_subject.casefold() not in lists["openers"]:
            continue
        # A preposition behind the gap goes on with the clause before the gap, unless that clause has the same one in the gap.
        if first_after_gap not in lists["prepositions"]:
            return True
        return first_after_gap in {piece.casefold() for piece in pieces[:position]}
    return False


def _get_first_piece(text: str) -> str:
    """Return the first word or mark of a text; an empty text if there is none near its beginning."""
    pieces = _PIECE.findall(text[:_MAX_NEIGHBOUR_CHARACTERS])
    return pieces[0] if pieces else ""
