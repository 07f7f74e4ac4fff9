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


def parts_of(
    request: JudgeRequest, step: Step, *, per_context: bool, limit: int, most: int
) -> Iterator[Part]:
    """Cut a request into parts.

    Args:
        request: The request.
        step: What is asked; usefulness shows no units.
        per_context: One context a part.
        limit: Characters of units and contexts in a part; units take half of it at most.
        most: Units, or contexts, in a part.
    """
    alone = step == "usefulness"
    units = [] if alone else [_Piece(index, 0, text) for index, text in enumerate(request.units)]
    batches = list(_batches(units, limit // 2, most)) or [[]]
    longest = max(sum(len(unit.text) for unit in batch) for batch in batches)
    room = max(limit - (len(request.answer) if alone else longest), limit // 2)
    pieces = [
        piece
        for index, text in enumerate(request.contexts)
        for piece in ([_Piece(index, 0, text)] if len(text) <= room else _pieces(index, text, room))
    ]
    shown = list(_batches(pieces, room, 1 if per_context else most))
    for batch, retrieved in product(batches, shown):
        yield _build_part(request, batch, retrieved, rated=step != "attribution")


def halves(part: Part) -> tuple[Part, Part] | None:
    """Cut a part in two: between its contexts, else within its only one, else between its units.

    Each half of a joint question has all units: whether a context is useful is judged against the whole answer.

    Returns:
        The halves; None where nothing is left to cut.
    """
    units = [_Piece(*part.places[id_], text) for id_, text in part.units.items()]
    contexts = [_Piece(*part.places[id_], text) for id_, text in part.contexts.items()]
    build = partial(_build_part, part.request, rated=bool(part.rated))
    if len(contexts) > 1:
        middle = _middle(contexts)
        return build(units, contexts[:middle]), build(units, contexts[middle:])
    if contexts and len(contexts[0].text) > _LEAST:
        rank, start, text = contexts[0]
        first, *rest = _pieces(rank, text, len(text) // 2 + _OVERLAP, start)
        tail = _Piece(rank, rest[0].start, text[rest[0].start - start :])
        return build(units, [first]), build(units, [tail])
    if len(units) > 1 and not part.rated:
        middle = _middle(units)
        return build(units[:middle], contexts), build(units[middle:], contexts)
    return None


def _middle(pieces: Sequence[_Piece]) -> int:
    """Return how many of the texts make the first half of their characters: at least one, and not all."""
    half, size = sum(len(piece.text) for piece in pieces) / 2, 0
    for count, piece in enumerate(pieces[:-1], 1):
        size += len(piece.text)
        if size >= half:
            return count
    return len(pieces) - 1


def _build_part(
    request: JudgeRequest, units: Sequence[_Piece], contexts: Sequence[_Piece], *, rated: bool
) -> Part:
    sentences = {f"s{number}": piece for number, piece in enumerate(units, 1)}
    retrieved = {f"c{number}": piece for number, piece in enumerate(contexts, 1)}
    return Part(
        units={id_: piece.text for id_, piece in sentences.items()},
        contexts={id_: piece.text for id_, piece in retrieved.items()},
        places={id_: (piece.rank, piece.start) for id_, piece in (sentences | retrieved).items()},
        rated=tuple(retrieved) if rated else (),
        request=request,
    )


def _pieces(index: int, text: str, room: int, offset: int = 0) -> Iterator[_Piece]:
    """Cut a long context at white space, each piece beginning a little before the last one ended."""
    start = 0
    while len(text) - start > room:
        end = start + room
        space = max(text.rfind(" ", start + room // 2, end), text.rfind("\n", start + room // 2, end))
        end = space if space > 0 else end
        yield _Piece(index, offset + start, text[start:end])
        start = end - _OVERLAP
    yield _Piece(index, offset + start, text[start:])


def _batches(pieces: Iterable[_Piece], limit: int, most: int) -> Iterator[list[_Piece]]:
    """Group texts in order. Two pieces of one context are never in one group: they would need two ids."""
    batch: list[_Piece] = []
    for piece in pieces:
        size = sum(len(other.text) for other in (*batch, piece))
        if batch and (size > limit or len(batch) == most or batch[-1].rank == piece.rank):
            yield batch
            batch = []
        batch.append(piece)
    if batch:
        yield batch


def merge(
    ids: Sequence[str], texts: Sequence[str], answers: Iterable[tuple[Part, Mapping[str, Verdict]]]
) -> tuple[Verdict, ...]:
    """Put the parts' verdicts together, one an id of the request.

    Yes where any part says yes; else not judged where any part is; else no. The evidence is that of all parts: a part
    that says no may show a context that states a piece of the unit. The flag is the most serious of the parts that say
    the same.

    Args:
        ids: The ids of the request's units, or of its contexts.
        texts: Their texts.
        answers: Every part with its verdicts, by the part's ids.
    """
    given: list[list[Verdict]] = [[] for _ in ids]
    for part, verdicts in answers:
        whole = all(part.places[id_] == (index, 0) for index, id_ in enumerate(part.contexts))
        for id_, verdict in verdicts.items():
            if id_[0] != ids[0][0]:
                continue
            if not whole:  # else the evidence stands in the part where it stands in the request
                spans = [(*part.places[f"c{span.context + 1}"], span) for span in verdict.evidence]
                evidence = tuple(
                    replace(span, context=index, start=first + span.start, end=first + span.end)
                    for index, first, span in spans
                )
                verdict = replace(verdict, evidence=evidence)  # noqa: PLW2901 - the same verdict, in another place
            index = part.places[id_][0]
            if (verdict.id, verdict.text) != (ids[index], texts[index]):
                verdict = replace(verdict, id=ids[index], text=texts[index])  # noqa: PLW2901 - as above
            given[index].append(verdict)
    return tuple(
        found[0] if len(found) == 1 else _merged(found, id_, text)
        for id_, text, found in zip(ids, texts, given, strict=True)
    )


def _merged(found: Sequence[Verdict], id_: str, text: str) -> Verdict:
    """Return the one verdict that the parts' verdicts about an id make."""
    values = [verdict.value for verdict in found]
    value = True if True in values else None if None in values else False
    same = [verdict for verdict in found if verdict.value is value]
    spans = [span for verdict in found for span in verdict.evidence]
    spans.sort(key=attrgetter("whole"))  # at one place, that of a whole context counts
    found_at = {(span.context, span.start, span.end): span for span in spans}
    worst = same[0]
    if value is not None:
        worst = max(same, key=lambda verdict: FLAGS.index(verdict.code))
    evidence = tuple(found_at[place] for place in sorted(found_at))
    return replace(worst, id=id_, text=text, evidence=evidence)
