"""Cutting a request that is too large into parts, and putting the verdicts together again.

Ids inside a part count from 1, so that a part's question depends on its own texts only: the same context asked
alone is the same question whatever its rank.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from operator import attrgetter
from typing import NamedTuple

from ctxmetrics._internal.frozen import EMPTY
from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.prompts import Step
from ctxmetrics.text import has_content
from ctxmetrics.verdicts import FLAGS, Verdict

# Characters that two neighbouring pieces of a long context share: a quote of this length is whole in
# one of them.
_OVERLAP = 400
# A context of fewer characters is not cut in two: the halves would be little shorter.
_LEAST = 3 * _OVERLAP
# The request of a part that shows nothing: claims are asked for by a text alone.
_NOTHING = JudgeRequest(units=(), contexts=(), answer="")


@dataclass(frozen=True, slots=True)
class Part:
    """What one request shows: units ``s1`` .. and contexts ``c1`` .., counted within the part.

    Attributes:
        units: Texts of the units by id.
        contexts: Texts of the contexts, or of pieces of them, by id.
        places: Where each text stands in the whole request, by id: the index of its unit or context, and the
            position of its first character there.
        rated: Ids of the contexts that need a verdict: all or none.
        request: The whole request.
    """

    units: Mapping[str, str]
    contexts: Mapping[str, str]
    places: Mapping[str, tuple[int, int]] = EMPTY
    rated: tuple[str, ...] = ()
    request: JudgeRequest = _NOTHING


class _Piece(NamedTuple):
    """A unit, a context, or a piece of a context; its rank from 0, and its first character there."""

    rank: int
    start: int
    text: str


def split_request(
    request: JudgeRequest, step: Step, *, per_context: bool, limit: int, most: int
) -> Iterator[Part]:
    """Cut a request into parts. Contexts without a letter or digit are in none.

    Args:
        request: The request.
        step: What is asked; usefulness shows no units.
        per_context: One context a part.
        limit: Characters of units and contexts in a part; units take half of it at most.
        most: Units, or contexts, in a part.
    """
    units: list[_Piece] = []
    if step != "usefulness":
        units = [_Piece(index, 0, text) for index, text in enumerate(request.units)]
    batches = list(_batches(units, limit // 2, most)) or [[]]
    longest = len(request.answer) if step == "usefulness" else 0
    for batch in batches:
        longest = max(longest, sum(len(unit.text) for unit in batch))
    room = max(limit - longest, limit // 2)
    pieces: list[_Piece] = []
    for index, text in enumerate(request.contexts):
        if not has_content(text):
            continue
        if len(text) <= room:
            pieces.append(_Piece(index, 0, text))
        else:
            pieces += _cut(index, text, room)
    groups = list(_batches(pieces, room, 1 if per_context else most))
    for batch, contexts in product(batches, groups):
        yield _build_part(request, batch, contexts, rated=step != "attribution")


def halves(part: Part) -> tuple[Part, Part] | None:
    """Cut a part in two: between its contexts, else within its only one, else between its units.

    Each half of a joint question has all units: whether a context is useful is judged against the whole answer.

    Returns:
        The halves; None where nothing is left to cut.
    """
    units = _to_pieces(part, part.units)
    contexts = _to_pieces(part, part.contexts)
    build = partial(_build_part, part.request, rated=bool(part.rated))
    if len(contexts) > 1:
        middle = _middle(contexts)
        return build(units, contexts[:middle]), build(units, contexts[middle:])
    if contexts and len(contexts[0].text) > _LEAST:
        rank, start, text = contexts[0]
        first, *rest = _cut(rank, text, len(text) // 2 + _OVERLAP, start)
        tail = _Piece(rank, rest[0].start, text[rest[0].start - start :])
        return build(units, [first]), build(units, [tail])
    if len(units) > 1 and not part.rated:
        middle = _middle(units)
        return build(units[:middle], contexts), build(units[middle:], contexts)
    return None


def _to_pieces(part: Part, texts: Mapping[str, str]) -> list[_Piece]:
    return [_Piece(*part.places[id_], text) for id_, text in texts.items()]


def _middle(pieces: Sequence[_Piece]) -> int:
    """Count how many of the texts make the first half of their characters: at least one, and not all."""
    half, size = sum(len(piece.text) for piece in pieces) / 2, 0
    for count, piece in enumerate(pieces[:-1], 1):
        size += len(piece.text)
        if size >= half:
            return count
    return len(pieces) - 1


def _build_part(
    request: JudgeRequest, units: Sequence[_Piece], contexts: Sequence[_Piece], *, rated: bool
) -> Part:
    texts: dict[str, dict[str, str]] = {"s": {}, "c": {}}
    places: dict[str, tuple[int, int]] = {}
    for letter, pieces in (("s", units), ("c", contexts)):
        for number, piece in enumerate(pieces, 1):
            id_ = f"{letter}{number}"
            texts[letter][id_] = piece.text
            places[id_] = piece.rank, piece.start
    return Part(
        units=texts["s"],
        contexts=texts["c"],
        places=places,
        rated=tuple(texts["c"]) if rated else (),
        request=request,
    )


def _cut(index: int, text: str, room: int, offset: int = 0) -> Iterator[_Piece]:
    """Cut a long context at white space, each piece beginning a little before the last one ended."""
    start = 0
    while len(text) - start > room:
        end = start + room
        middle = start + room // 2
        space = max(text.rfind(" ", middle, end), text.rfind("\n", middle, end))
        if space > 0:
            end = space
        yield _Piece(index, offset + start, text[start:end])
        start = end - _OVERLAP
    yield _Piece(index, offset + start, text[start:])


def _batches(pieces: Iterable[_Piece], limit: int, most: int) -> Iterator[list[_Piece]]:
    """Group texts in order. Two pieces of one context are never in one group: they would need two ids."""
    batch: list[_Piece] = []
    size = 0
    for piece in pieces:
        size += len(piece.text)
        if batch and (size > limit or len(batch) == most or batch[-1].rank == piece.rank):
            yield batch
            batch, size = [], len(piece.text)
        batch.append(piece)
    if batch:
        yield batch


def merge(
    ids: Sequence[str], texts: Sequence[str], answers: Iterable[tuple[Part, Mapping[str, Verdict]]]
) -> tuple[Verdict, ...]:
    """Put the parts' verdicts together, one an id of the request. What no part asked about is a no: it is empty.

    Yes where any part says yes; else not judged where any part is; else no. The evidence is that of all parts: a part
    that says no may show a context that states a piece of the unit. The flag is the most serious of the parts that say
    the same.

    Args:
        ids: The ids of the request's units, or of its contexts.
        texts: Their texts.
        answers: Every part with its verdicts, by the part's ids.
    """
    letter = ids[0][0]
    collected: list[list[Verdict]] = [[] for _ in ids]
    for part, verdicts in answers:
        # Otherwise the evidence stands in the part where it stands in the request.
        moved = any(part.places[id_] != (index, 0) for index, id_ in enumerate(part.contexts))
        for part_id, part_verdict in verdicts.items():
            if part_id[0] != letter:
                continue
            index = part.places[part_id][0]
            verdict = _move_evidence(part_verdict, part) if moved else part_verdict
            if (verdict.id, verdict.text) != (ids[index], texts[index]):
                verdict = replace(verdict, id=ids[index], text=texts[index])
            collected[index].append(verdict)
    for index, own in enumerate(collected):
        if not own:
            reason = "the context is empty" if letter == "c" else "no context holds a text"
            own.append(Verdict(id=ids[index], value=False, text=texts[index], reason=reason))
    return tuple(own[0] if len(own) == 1 else _merge_verdicts(own) for own in collected)


def _move_evidence(verdict: Verdict, part: Part) -> Verdict:
    """Return a part's verdict with its evidence where it stands in the whole request."""
    evidence = []
    for span in verdict.evidence:
        index, first = part.places[f"c{span.context + 1}"]
        start, end = first + span.start, first + span.end
        evidence.append(replace(span, context=index, start=start, end=end))
    return replace(verdict, evidence=tuple(evidence))


def _merge_verdicts(verdicts: Sequence[Verdict]) -> Verdict:
    """Merge the parts' verdicts about one id."""
    values = {verdict.value for verdict in verdicts}
    value: bool | None = False
    if True in values:
        value = True
    elif None in values:
        value = None
    same = [verdict for verdict in verdicts if verdict.value is value]
    worst = same[0]
    if value is not None:
        worst = max(same, key=lambda verdict: FLAGS.index(verdict.code))
    spans = [span for verdict in verdicts for span in verdict.evidence]
    spans.sort(key=attrgetter("whole"))  # at one place, that of a whole context counts
    places = {(span.context, span.start, span.end): span for span in spans}
    return replace(worst, evidence=tuple(places[place] for place in sorted(places)))
