"""Cutting a request that is too large into parts, and putting the answers together again.

Ids inside a part count from 1, so that a part's question depends on its own texts only: the same context asked
alone is the same question whatever its rank.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ctxmetrics.judges.llm.reply import Part, index_of
from ctxmetrics.verdicts import Evidence, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ctxmetrics.judges.base import JudgeRequest
    from ctxmetrics.judges.llm.encoding import Answer
    from ctxmetrics.prompts import Step

_OVERLAP = 400


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch of one context."""

    index: int
    start: int
    text: str


@dataclass(frozen=True, slots=True)
class Placed:
    """A part, and what its ids stand for in the request."""

    part: Part
    units: tuple[int, ...]
    pieces: tuple[_Piece, ...]

    def verdict(self, verdict: Verdict) -> tuple[int, Verdict]:
        """Return the index of what a verdict is about in the request, and the verdict with spans of the request."""
        position = index_of(verdict.id)
        index = self.units[position] if verdict.id in self.part.units else self.pieces[position].index
        if not verdict.evidence:
            return index, verdict
        return index, replace(verdict, evidence=tuple(self._span(span) for span in verdict.evidence))

    def _span(self, span: Evidence) -> Evidence:
        piece = self.pieces[span.context]
        return Evidence(piece.index, piece.start + span.start, piece.start + span.end, span.quote)


def parts_of(request: JudgeRequest, step: Step, *, per_context: bool, limit: int, most: int) -> list[Placed]:
    """Cut a request into parts.

    Args:
        request: The request.
        step: What is asked; usefulness shows no units.
        per_context: One context a part.
        limit: Characters of units and contexts in a part; units take half of it at most.
        most: Units, or contexts, in a part.
    """
    units = () if step == "usefulness" else request.units
    batches = list(_batches([len(text) for text in units], limit // 2, most)) or [()]
    taken = max(sum(len(units[index]) for index in batch) for batch in batches)
    room = max(limit - (len(request.answer) if step == "usefulness" else taken), limit // 2)
    pieces = [piece for index, text in enumerate(request.contexts) for piece in _pieces(index, text, room)]
    shown = list(_context_batches(pieces, room, 1 if per_context else most))
    return [
        Placed(_part(units, batch, batch_pieces), batch, batch_pieces)
        for batch in batches
        for batch_pieces in shown
    ]


def _batches(sizes: Sequence[int], limit: int, most: int) -> Iterator[tuple[int, ...]]:
    batch: list[int] = []
    size = 0
    for index, length in enumerate(sizes):
        if batch and (size + length > limit or len(batch) == most):
            yield tuple(batch)
            batch, size = [], 0
        batch.append(index)
        size += length
    if batch:
        yield tuple(batch)


def _pieces(index: int, text: str, room: int) -> Iterator[_Piece]:
    """Cut a long context at white space, each piece beginning a little before the last one ended."""
    start = 0
    while len(text) - start > room:
        end = start + room
        space = max(text.rfind(" ", start + room // 2, end), text.rfind("\n", start + room // 2, end))
        end = space if space > 0 else end
        yield _Piece(index, start, text[start:end])
        start = end - _OVERLAP
    yield _Piece(index, start, text[start:])


def _context_batches(pieces: Sequence[_Piece], room: int, most: int) -> Iterator[tuple[_Piece, ...]]:
    """Pack pieces in order; two pieces of one context never meet, since they would need two ids."""
    batch: list[_Piece] = []
    size = 0
    for piece in pieces:
        if batch and (size + len(piece.text) > room or len(batch) == most or batch[-1].index == piece.index):
            yield tuple(batch)
            batch, size = [], 0
        batch.append(piece)
        size += len(piece.text)
    if batch:
        yield tuple(batch)


def _part(units: tuple[str, ...], indices: tuple[int, ...], pieces: tuple[_Piece, ...]) -> Part:
    return Part(
        units={f"s{number}": units[index] for number, index in enumerate(indices, 1)},
        contexts={f"c{number}": piece.text for number, piece in enumerate(pieces, 1)},
    )


def merge(
    ids: Sequence[str], texts: Sequence[str], answers: Sequence[tuple[Placed, Answer]]
) -> tuple[Verdict, ...]:
    """Put the parts' verdicts together, one an id of the request.

    Yes where any part says yes, with the evidence of all; else not judged where any part is; else no.

    Args:
        ids: The ids of the request's units, or of its contexts.
        texts: Their texts.
        answers: Every part with its answer.
    """
    given: list[list[Verdict]] = [[] for _ in ids]
    for placed, answer in answers:
        for verdict in answer.verdicts.values():
            if verdict.id[0] == ids[0][0]:
                index, found = placed.verdict(verdict)
                given[index].append(found)
    return tuple(_merged(id_, text, verdicts) for id_, text, verdicts in zip(ids, texts, given, strict=True))


def _merged(id_: str, text: str, verdicts: list[Verdict]) -> Verdict:
    for value in (True, None, False):
        same = [verdict for verdict in verdicts if verdict.value is value]
        if same:
            spans = {
                (span.context, span.start, span.end, span.quote)
                for verdict in same
                for span in verdict.evidence
            }
            evidence = tuple(Evidence(*span) for span in sorted(spans))
            found = same[0].about(id_, text)
            return found if found.evidence == evidence else replace(found, evidence=evidence)
    return Verdict(id=id_, value=None, text=text, code="missing_id")
