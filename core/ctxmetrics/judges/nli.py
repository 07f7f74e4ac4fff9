"""Judging with a cross-encoder: a function that says how sure it is that one text entails another.

Windows of neighbouring sentences are compared with a unit, those that hold most of its words; `batches` gathers the pairs
of many samples and calls the function.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import Any, NamedTuple

from ctxmetrics._internal.frozen import FrozenDict
from ctxmetrics.errors import ParameterError
from ctxmetrics.formulas.checks import check_number
from ctxmetrics.judges.base import Judgement, JudgeRequest
from ctxmetrics.judges.batches import Pair, Queue, Score, scores_of_process
from ctxmetrics.judges.evidence.words import tokens
from ctxmetrics.judges.lexical.index import sentences
from ctxmetrics.judges.lexical.phrase import Phrase
from ctxmetrics.models.runtime.memo import hashed
from ctxmetrics.models.runtime.run import current_run
from ctxmetrics.text import split_sentences
from ctxmetrics.verdicts import Evidence, Usage, Verdict

_COUNTS = ("batch_size", "window", "max_windows", "workers")
# Parameters that change verdicts.
_COUNTED = ("bar", "window", "max_windows")
# The first parts of the key of every score in a cache. They change when other pairs are asked about, or
# when scores are stored in another form.
_VERSION, *_FORM = "nli-1", "None", "none"


class Window(NamedTuple):
    """Neighbouring sentences of one context, as evidence, and the words that they hold; beside a unit, those of the unit."""

    span: Evidence
    held: frozenset[str]


class _Cell(NamedTuple):
    """One context against one unit: its likeliest window, or what went wrong."""

    probability: float = 0.0
    span: Evidence | None = None
    failure: str | None = None


class _Row(NamedTuple):
    """One unit against all contexts.

    Attributes:
        cells: One a context.
        together: The score of the parts together, where they were asked about.
        parts: The windows that support the unit together, where no context does alone.
    """

    cells: tuple[_Cell, ...]
    together: _Cell = _Cell()
    parts: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class NLIJudge:
    """Judges with a cross-encoder: a model that says how sure it is that one text entails another.

    **Support** of a unit by a context: the highest probability of entailment of the unit by the context's windows is at
    least ``bar``. Windows are neighbouring sentences; of a context with more than ``max_windows`` those are asked about
    that hold most of the unit's words. Where no context supports a unit alone, the windows of up to three contexts that
    hold its words together are asked about once more, one after the other as one text; their evidence is not ``whole``.

    **Usefulness** of a context: it supports some unit of the answer, alone or as a part, or it entails the question
    followed by the whole answer.

    Pairs of all samples that are judged at the same time are gathered into batches of ``batch_size``.
    The scores of pairs are remembered for the rest of the process, and kept in the run's cache, under
    ``identity``: a second run, also with another ``bar``, does not call the model for pairs that it has
    scored.

    ``predict`` returns a list, a NumPy array or a tensor of numbers from 0 to 1, one a pair and in order, such as those of
    ``CrossEncoder.predict`` of a model with one output. Of a model with several outputs it returns the one of entailment.

    When ``predict`` raises, or returns something else, a batch of several samples is asked again sample by sample; what
    fails then is not judged, ``judge_error``, and the reason says what was returned.

    The verdicts' ``details``: ``probability`` (what is compared with the bar) and, of a unit, ``probabilities`` (one a
    context).

    Attributes:
        predict: Takes a list of (premise, hypothesis), the premise being the retrieved text. A sync function is
            called in a thread, an async one in the library's own event loop.
        identity: Name and version of the model and whatever else changes its scores. Scores are kept under it.
        bar: From what probability on a unit is supported. Choose it by `ctxmetrics.agree`.
        batch_size: Pairs in one call at most.
        window: Sentences of a window.
        max_windows: Windows of one context that are asked about for one unit.
        workers: Calls at the same time at most.
        wait_seconds: How long a batch that is not full waits for the pairs of other samples.
        warnings: Labels that every score carries.

    Raises:
        ParameterError: A parameter is out of range.
    """

    predict: Callable[[list[Pair]], Any] = field(compare=False)
    _: KW_ONLY
    identity: str
    bar: float = 0.5
    batch_size: int = 64
    window: int = 3
    max_windows: int = 3
    workers: int = 1
    wait_seconds: float = 0.01
    warnings: tuple[str, ...] = field(default=(), repr=False)
    _queue: Queue = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not callable(self.predict):
            raise ParameterError(
                f"NLIJudge: predict={type(self.predict).__name__} cannot be called. Give a function from a list of "
                "(premise, hypothesis) to scores, such as CrossEncoder(..).predict."
            )
        if not isinstance(self.identity, str) or not self.identity.strip():
            raise ParameterError(
                f"NLIJudge: identity={self.identity!r} must name the model and its version: scores are kept under it."
            )
        for name in _COUNTS:
            check_number(f"NLIJudge: {name}", getattr(self, name), 1, whole=True)
        check_number("NLIJudge: bar", self.bar, 0, 1)
        check_number("NLIJudge: wait_seconds", self.wait_seconds, 0)
        object.__setattr__(
            self,
            "_queue",
            Queue(self.predict, self.batch_size, self.workers, self.wait_seconds),
        )

    @property
    def name(self) -> str:
        """``nli:``, the identity, and the parameters of the verdicts that are not the default."""
        given = [
            f"{item.name}={getattr(self, item.name)}"
            for item in fields(self)
            if item.name in _COUNTED and getattr(self, item.name) != item.default
        ]
        return f"nli:{self.identity}({', '.join(given)})" if given else f"nli:{self.identity}"

    def __deepcopy__(self, _memo: dict[int, Any]) -> NLIJudge:
        return self  # frameworks copy metrics; the model is not copied

    async def attribute(self, request: JudgeRequest) -> Judgement:
        """Say for each unit whether the contexts support it."""
        rows, usage = await self._judged(request, request.units)
        return Judgement(verdicts=tuple(map(self._about_unit, request.unit_ids, rows)), usage=usage)

    async def rate(self, request: JudgeRequest) -> Judgement:
        """Say for each context whether it is useful for giving the answer."""
        units = request.units or split_sentences(request.answer, request.language) or (request.answer,)
        rows, usage = await self._judged(
            request, units, (f"{request.user_input} {request.answer}",) if request.user_input else ()
        )
        parts = {span.context: span for row in rows for span in row.parts}
        return Judgement(
            verdicts=tuple(
                self._about_context(id_, [row.cells[place] for row in rows], parts.get(place))
                for place, id_ in enumerate(request.context_ids)
            ),
            usage=usage,
        )

    def _about_unit(self, id_: str, row: _Row) -> Verdict:
        best, together = _likeliest(row.cells), row.together.probability
        if (failure := best.failure or row.together.failure) is not None:
            return Verdict(id=id_, value=None, code="judge_error", reason=failure)
        whole = [cell.span for cell in row.cells if cell.span and cell.probability >= self.bar]
        reason = "no context has a sentence"
        if row.parts:
            places = ", ".join(str(span.context + 1) for span in row.parts)
            reason = f"probability {together:.3f} in contexts {places} together"
        elif best.span:
            reason = (
                f"probability {best.probability:.3f}{'' if whole else ' at best,'}"
                f" in context {best.span.context + 1}"
            )
        return Verdict(
            id=id_,
            value=bool(whole or row.parts),
            reason=reason,
            evidence=(*whole, *row.parts),
            details=FrozenDict(
                probability=max(best.probability, together),
                probabilities=tuple(cell.probability for cell in row.cells),
            ),
        )

    def _about_context(self, id_: str, cells: Sequence[_Cell], part: Evidence | None) -> Verdict:
        best, failure = _likeliest(one for one in cells if not one.failure), _likeliest(cells).failure
        useful = best.probability >= self.bar and best.span is not None
        if not useful and part is None and failure is not None:
            return Verdict(id=id_, value=None, code="judge_error", reason=failure)
        shown = best.span if useful else part
        return Verdict(
            id=id_,
            value=shown is not None,
            reason=f"probability {best.probability:.3f}"
            + (" alone, needed with others" if part and not useful else ""),
            evidence=() if shown is None else (shown,),
            details=FrozenDict({"probability": best.probability}),
        )

    async def _judged(
        self, request: JudgeRequest, units: Sequence[str], alone: Sequence[str] = ()
    ) -> tuple[list[_Row], Usage]:
        """Compare units with each context, and where none supports one, with parts of several together.

        Args:
            request: The request.
            units: The units.
            alone: Others, which are compared with each context only.
        """
        chosen = windows(request, (*units, *alone), self.window, self.max_windows)
        scores, asked = await self._scores(
            (one.span.quote, unit) for unit, found in chosen for row in found for one in row
        )
        rows: list[_Row] = []
        parts: dict[int, tuple[Pair, tuple[Evidence, ...]]] = {}
        for place, (unit, found) in enumerate(chosen):
            cells = [
                _likeliest(_cell(scores[one.span.quote, unit], one.span) for one in row)
                for row in found
            ]
            rows.append(_Row(tuple(cells)))
            no = all(one.failure is None and one.probability < self.bar for one in cells)
            if place < len(units) and no and (spans := joined(found)):
                parts[place] = ("\n".join(span.quote for span in spans), unit), spans
        more, others = await self._scores(pair for pair, _ in parts.values())
        for place, (pair, spans) in parts.items():
            together = _cell(more[pair])
            rows[place] = _Row(
                rows[place].cells, together, spans if together.probability >= self.bar else ()
            )
        return rows, Usage(reused=int(not asked + others))

    async def _scores(self, pairs: Iterable[Pair]) -> tuple[Mapping[Pair, Score], int]:
        """Score pairs from memory, the cache, a batch in flight, or by asking; return how many were asked about."""
        run = current_run()
        memory, cache = run.memo or scores_of_process, run.cache
        keys = {pair: hashed((_VERSION, self.identity, *_FORM, *pair)) for pair in pairs}
        for key in keys.values():
            stored = cache.get(key) if cache is not None and memory.peek(key) is None else None
            with suppress(ValueError):  # another version may have kept something else
                if stored is not None and 0 <= float(stored) <= 1:
                    memory.remember(key, float(stored))
        known, coming = self._queue.submit(keys, memory)
        asked = dict(
            zip(coming, await asyncio.gather(*map(asyncio.wrap_future, coming.values())), strict=True)
        )
        for pair, score in asked.items():
            if cache is not None and not isinstance(score, str):
                cache.put(keys[pair], repr(score))
        return known | asked, len(asked)


def _cell(score: Score, span: Evidence | None = None) -> _Cell:
    return _Cell(failure=score) if isinstance(score, str) else _Cell(score, span)


def _likeliest(cells: Iterable[_Cell]) -> _Cell:
    """Return a failure, where there is one; else the likeliest, the first of equals."""
    return max(cells, key=lambda cell: (cell.failure is not None, cell.probability), default=_Cell())


# --- windows ---


def windows(
    request: JudgeRequest, units: Sequence[str], size: int, most: int
) -> list[tuple[str, list[list[Window]]]]:
    """Return for each unit and context the windows that are compared, in order of place.

    Windows of ``size`` sentences follow each other in each context, each beginning with the last sentence of the one
    before, so that two neighbouring sentences stand in one window. Which are compared depends on that context and the
    unit alone.

    Args:
        request: The request with the contexts.
        units: The units.
        size: Sentences of a window.
        most: Windows of one context that are compared with a unit: those that hold most of its words.
    """
    cut = [list(_cut(*item, size)) for item in enumerate(request.contexts)]
    wanted = [frozenset(Phrase.of(unit, request.language).content) for unit in units]
    return [
        (unit, [_fullest(row, words, most) for row in cut])
        for unit, words in zip(units, wanted, strict=True)
    ]


def _fullest(row: Iterable[Window], wanted: frozenset[str], most: int) -> list[Window]:
    """Return the windows of a context that hold most of these words, with the words that they hold, in order of place."""
    windows = [Window(span, words & wanted) for span, words in row]
    fullest = sorted(windows, key=lambda window: -len(window.held))[:most]
    return sorted(fullest, key=lambda window: window.span.start)


def _cut(context: int, text: str, size: int) -> Iterator[Window]:
    """Cut a context into windows; the last one ends with the last sentence."""
    spans = sentences(text)
    words = [{token.key for token in tokens(text[start:end])} for start, end in spans]
    step = max(1, size - 1)
    for first in range(0, max(len(spans) - size + step, min(1, len(spans))), step):
        inside = slice(first, first + size)
        start, end = spans[inside][0][0], spans[inside][-1][1]
        yield Window(Evidence(context, start, end, text[start:end]), frozenset().union(*words[inside]))


def joined(rows: Sequence[Sequence[Window]], most: int = 3) -> tuple[Evidence, ...]:
    """Choose windows of different contexts that hold a unit's words together, in order of rank.

    They are chosen one by one, each the one that adds most words; the earlier one where two add as many. Nothing is
    returned where one context holds all that any hold.
    """
    picks: list[Evidence] = []
    held: frozenset[str] = frozenset()
    left = [window for found in rows for window in found]
    while left and len(picks) < most:
        best = max(left, key=lambda window: len(window.held - held))
        if best.held <= held:
            break
        held |= best.held
        picks.append(replace(best.span, whole=False))
        left = [window for window in left if window.span.context != best.span.context]
    return tuple(sorted(picks, key=lambda span: span.context)) if len(picks) > 1 else ()
