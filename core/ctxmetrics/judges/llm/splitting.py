"""Cutting a request that is too large into parts, and putting the verdicts together again.

Ids inside a part count from 1, so that a part's question depends on its own texts only: the same context asked
alone is the same question whatever its rank.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from operator import attrgetter
from sys import intern
from typing import NamedTuple

from ctxmetrics._internal.frozen import EMPTY
from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.prompts import Step
from ctxmetrics.text.character_spans import has_content
from ctxmetrics.verdicts import FLAGS, Verdict

# The number of characters that two neighbouring pieces of a long context share. A quote of this length is whole in one of them.
_OVERLAP_CHARACTERS = 400
# The minimum number of characters of a context that is cut in two: the halves of a shorter one would be little shorter.
_MIN_CUT_CHARACTERS = 3 * _OVERLAP_CHARACTERS
# How models spell the ids: s1, [s1], s01, Sentence 1, sentence_1, sentence[1], 1. What stands around them was cut off.
_NAMES_OF_IDS = {
    "s": "s|sentences?|units?|claims?|statements?|no",
    "c": "c|ctx|contexts?|passages?|documents?|docs?|chunks?|no",
}
_SPELLINGS: Mapping[str, re.Pattern[str]] = {
    letter: re.compile(rf"(?:{names})?[\s_.#:\-\[(]*0*(\d{{1,6}})(?:\s+of\s+\d+)?")
    for letter, names in _NAMES_OF_IDS.items()
}
_AROUND_ID = " \t\r\n[](){}<>\"'`*.:#|-–—"
# Drops invisible characters, and replaces the Cyrillic letters that look like s and c.
_TO_PLAIN_ID = str.maketrans(
    {"\u0455": "s", "\u0441": "c", **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff")}
)
# The request of a part without units and contexts: a question about claims shows a text only.
_EMPTY_REQUEST = JudgeRequest(units=(), contexts=(), answer="")


@dataclass(frozen=True, slots=True)
class RequestPart:
    """The units and contexts that one request shows, without a prompt. Their ids count within the part: ``s1`` .., ``c1`` ..

    Attributes:
        units: The texts of the units, by id.
        contexts: The texts of the contexts, or of pieces of contexts, by id.
        places: For each id, the place of its text in the whole request: the index of the unit or context, and the position of
            the text's first character there.
        rated: The ids of the contexts that need a verdict: all or none.
        request: The whole request.
    """

    units: Mapping[str, str]
    contexts: Mapping[str, str]
    places: Mapping[str, tuple[int, int]] = EMPTY
    rated: tuple[str, ...] = ()
    request: JudgeRequest = _EMPTY_REQUEST


def read_id(name: object, letter: str) -> str:
    """Return the id that a name in a reply means. A name that means no id is returned as it is.

    Args:
        name: The name, or a number.
        letter: ``s`` for a unit, ``c`` for a context.

    >>> [read_id(name, "s") for name in ("s1", "[S2]", "Sentence 3", 4, "[s05]", "the first")]
    ['s1', 's2', 's3', 's4', 's5', 'the first']
    """
    text = str(name).strip()
    if text.isascii() and text[:1] == letter and text[1:].isdecimal() and text[1] != "0":
        return text  # the usual case
    plain_text = unicodedata.normalize("NFKC", text).casefold().translate(_TO_PLAIN_ID)
    match = _SPELLINGS[letter].fullmatch(plain_text.strip(_AROUND_ID))
    return f"{letter}{match[1]}" if match else text


class _Piece(NamedTuple):
    """A unit, a context, or a piece of a context.

    Attributes:
        text_index: The index of the unit or context in the request.
        start: The position of the piece's first character in the unit or context.
        text: The text of the piece.
    """

    text_index: int
    start: int
    text: str


def split_request(
    request: JudgeRequest, step: Step, *, per_context: bool, limit: int, most_ids: int
) -> Iterator[RequestPart]:
    """Cut a request into parts. Contexts without a letter or digit are left out.

    Args:
        request: The request.
        step: The question. A question about usefulness shows the answer in place of its units.
        per_context: Whether each part has only one context.
        limit: The maximum number of characters in a part. Units take at most half of it.
        most_ids: The maximum number of units, and of contexts, in a part.
    """
    units: list[_Piece] = []
    if step != "usefulness":
        units = [_Piece(index, 0, text) for index, text in enumerate(request.units)]
    half_limit = limit // 2
    unit_groups = list(_group_pieces(units, half_limit, most_ids)) or [[]]
    unit_characters = len(request.answer) if step == "usefulness" else 0
    for unit_group in unit_groups:
        unit_characters = max(unit_characters, sum(len(unit.text) for unit in unit_group))
    contexts_limit = max(limit - unit_characters, half_limit)
    pieces: list[_Piece] = []
    for index, text in enumerate(request.contexts):
        if not has_content(text):
            continue
        if len(text) <= contexts_limit:
            pieces.append(_Piece(index, 0, text))
        else:
            pieces += _cut_at_space(index, text, contexts_limit)
    context_groups = list(_group_pieces(pieces, contexts_limit, 1 if per_context else most_ids))
    for unit_group, context_group in product(unit_groups, context_groups):
        yield _build_part(request, unit_group, context_group, rated=step != "attribution")


def halves(request_part: RequestPart) -> tuple[RequestPart, RequestPart] | None:
    """Cut a part in two halves.

    A part with several contexts is cut between them. A single context is cut itself if it is long enough. Else the part is
    cut between its units, but not if its contexts are rated: each is judged against the whole answer.

    Returns:
        The halves; None if the part cannot be cut.
    """
    units = _to_pieces(request_part, request_part.units)
    contexts = _to_pieces(request_part, request_part.contexts)
    build = partial(_build_part, request_part.request, rated=bool(request_part.rated))
    if len(contexts) > 1:
        middle = _find_middle(contexts)
        return build(units, contexts[:middle]), build(units, contexts[middle:])
    if contexts and len(contexts[0].text) > _MIN_CUT_CHARACTERS:
        index, start, text = contexts[0]
        limit = len(text) // 2 + _OVERLAP_CHARACTERS
        first_piece, second_piece, *_ = _cut_at_space(index, text, limit, start)
        # The second half reaches to the end of the text, also if this is cut into more than two pieces.
        second_half = _Piece(index, second_piece.start, text[second_piece.start - start :])
        return build(units, [first_piece]), build(units, [second_half])
    if len(units) > 1 and not request_part.rated:
        middle = _find_middle(units)
        return build(units[:middle], contexts), build(units[middle:], contexts)
    return None


def _to_pieces(request_part: RequestPart, texts: Mapping[str, str]) -> list[_Piece]:
    """Return the texts of a part as pieces of the whole request."""
    return [_Piece(*request_part.places[id_], text) for id_, text in texts.items()]


def _find_middle(pieces: Sequence[_Piece]) -> int:
    """Return how many of the first pieces hold half of all characters: at least one, and never all pieces."""
    half_of_characters = sum(len(piece.text) for piece in pieces) / 2
    character_count = 0
    for count, piece in enumerate(pieces[:-1], 1):
        character_count += len(piece.text)
        if character_count >= half_of_characters:
            return count
    return len(pieces) - 1


def _build_part(
    request: JudgeRequest, units: Sequence[_Piece], contexts: Sequence[_Piece], *, rated: bool
) -> RequestPart:
    """Build a part of pieces, whose ids count from 1 within the part."""
    texts: dict[str, dict[str, str]] = {"s": {}, "c": {}}  # s: units, c: contexts
    places: dict[str, tuple[int, int]] = {}  # see `RequestPart.places`
    for letter, pieces in (("s", units), ("c", contexts)):
        for number, piece in enumerate(pieces, 1):
            id_ = intern(f"{letter}{number}")  # the ids of a request, so that its verdicts keep them
            texts[letter][id_] = piece.text
            places[id_] = piece.text_index, piece.start
    return RequestPart(
        units=texts["s"],
        contexts=texts["c"],
        places=places,
        rated=tuple(texts["c"]) if rated else (),
        request=request,
    )


def _cut_at_space(index: int, text: str, limit: int, offset: int = 0) -> Iterator[_Piece]:
    """Cut a long context at white space. Each piece begins a little before the end of the piece before it."""
    start = 0
    while len(text) - start > limit:
        end = start + limit
        middle = start + limit // 2
        break_position = max(text.rfind(" ", middle, end), text.rfind("\n", middle, end))
        if break_position > 0:
            end = break_position
        yield _Piece(index, offset + start, text[start:end])
        start = end - _OVERLAP_CHARACTERS
    yield _Piece(index, offset + start, text[start:])


def _group_pieces(pieces: Iterable[_Piece], limit: int, most_pieces: int) -> Iterator[list[_Piece]]:
    """Group pieces in order. Two pieces of one context are never in one group: they would need two ids.

    Args:
        pieces: The pieces.
        limit: The maximum number of characters in a group of several pieces.
        most_pieces: The maximum number of pieces in a group.
    """
    group: list[_Piece] = []
    characters = 0
    for piece in pieces:
        characters += len(piece.text)
        is_full = characters > limit or len(group) == most_pieces
        if group and (is_full or group[-1].text_index == piece.text_index):
            yield group
            group = []
            characters = len(piece.text)
        group.append(piece)
    if group:
        yield group


def merge(
    ids: Sequence[str],
    texts: Sequence[str],
    answers: Iterable[tuple[RequestPart, Mapping[str, Verdict]]],
) -> tuple[Verdict, ...]:
    """Merge the verdicts of all parts: one for each id of the request.

    - The verdict is yes if any part says yes. If none does, it is missing if it is missing in any part. Else it is no.
    - A text that no part asked about is empty. Its verdict is no.
    - The evidence of all parts is kept, because a part that says no may show a context that states a piece of the unit.
    - Of the parts with the same verdict, the most serious flag is kept.

    Args:
        ids: The ids of the request's units, or of its contexts.
        texts: The texts of these units or contexts.
        answers: Every part with its verdicts, by the part's ids.
    """
    letter = ids[0][0]  # s for units, c for contexts
    # For each id of the request, the verdicts of all parts that were asked about it.
    verdicts_by_index: list[list[Verdict]] = [[] for _ in ids]
    for request_part, verdicts in answers:
        # Whether a context of the part is another one, or begins later, in the request.
        has_moved = any(
            request_part.places[id_] != (index, 0) for index, id_ in enumerate(request_part.contexts)
        )
        for part_id, part_verdict in verdicts.items():
            if part_id[0] != letter:
                continue
            index, _ = request_part.places[part_id]
            verdict = _move_evidence(part_verdict, request_part) if has_moved else part_verdict
            if (verdict.id, verdict.text) != (ids[index], texts[index]):
                verdict = replace(verdict, id=ids[index], text=texts[index])
            verdicts_by_index[index].append(verdict)
    for index, id_verdicts in enumerate(verdicts_by_index):
        if not id_verdicts:
            reason = "the context is empty" if letter == "c" else "no context holds a text"
            id_verdicts.append(Verdict(id=ids[index], value=False, text=texts[index], reason=reason))
    return tuple(
        id_verdicts[0] if len(id_verdicts) == 1 else _merge_verdicts(id_verdicts)
        for id_verdicts in verdicts_by_index
    )


def _move_evidence(verdict: Verdict, request_part: RequestPart) -> Verdict:
    """Return the verdict with the positions of its evidence in the request instead of the part."""
    evidence = []
    for span in verdict.evidence:
        context_index, text_start = request_part.places[f"c{span.context + 1}"]
        start = text_start + span.start
        end = text_start + span.end
        evidence.append(replace(span, context=context_index, start=start, end=end))
    return replace(verdict, evidence=tuple(evidence))


def _merge_verdicts(verdicts: Sequence[Verdict]) -> Verdict:
    """Merge the parts' verdicts about one id."""
    values = {verdict.value for verdict in verdicts}
    value: bool | None = False
    if True in values:
        value = True
    elif None in values:
        value = None
    agreeing_verdicts = [verdict for verdict in verdicts if verdict.value is value]
    worst = agreeing_verdicts[0]
    if value is not None:
        worst = max(agreeing_verdicts, key=lambda verdict: FLAGS.index(verdict.code))
    spans = [span for verdict in verdicts for span in verdict.evidence]
    spans.sort(key=attrgetter("whole"))  # of equal spans, the last one is kept: one that is whole
    by_position = {(span.context, span.start, span.end): span for span in spans}
    return replace(worst, evidence=tuple(by_position[key] for key in sorted(by_position)))
