"""The judge around a cross-encoder: pairs of window and unit in, verdicts out."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxmetrics._checks import check_number
from ctxmetrics._frozen import FrozenDict
from ctxmetrics._runtime.cache import sealed, unsealed
from ctxmetrics._runtime.memo import Memo
from ctxmetrics._runtime.run import current_run
from ctxmetrics.errors import ParameterError
from ctxmetrics.judges.base import Judgement, JudgeRequest
from ctxmetrics.judges.nli.batches import Pair, Queue, Score
from ctxmetrics.judges.nli.windows import Window, Windows, joined
from ctxmetrics.text import split_sentences
from ctxmetrics.verdicts import Usage, Verdict

if TYPE_CHECKING:
    from ctxmetrics._runtime.cache import Store

# Scores that a process remembers: about 40 MB.
MEMORY = 200_000
# Contexts that may support a unit together.
_TOGETHER = 3
_COUNTS = ("batch_size", "window", "max_windows", "workers")
# Parameters that change verdicts.
_COUNTED = ("bar", "window", "max_windows")
# Stand in every score's key: raised when other pairs are asked about, or scores are written down in another form.
_VERSION = "nli-1"
_FORM = ("None", "none")


class _Cell(NamedTuple):
    """One context against one unit: the score of its best window, a probability or what went wrong."""

    score: Score = 0.0
    window: Window | None = None

    @property
    def probability(self) -> float:
        return 0.0 if isinstance(self.score, str) else self.score


class _Row(NamedTuple):
    """One unit against all contexts.

    Attributes:
        cells: One a context.
        together: The score of the parts together; None where they were not asked about.
        parts: The windows that support the unit together, where no context does alone.
    """

    cells: tuple[_Cell, ...]
    together: Score | None = None
    parts: tuple[Window, ...] = ()

    @property
    def best(self) -> _Cell:
        return max(self.cells, key=lambda cell: cell.probability, default=_Cell())

    @property
    def failure(self) -> str | None:
        scores = (*(cell.score for cell in self.cells), self.together)
        return next((score for score in scores if isinstance(score, str)), None)


@dataclass(frozen=True)
class NLIJudge:
    """Judges with a cross-encoder: a model that says how sure it is that one text entails another.

    **Support** of a unit by a context: the highest probability of entailment of the unit by the context's windows is at
    least ``bar``. Windows are neighbouring sentences; of a context with more than ``max_windows`` those are asked about
    that hold most of the unit's words. Where no context supports a unit alone, the windows of up to three contexts that
    hold its words together are asked about once more, one after the other as one text; their evidence is not ``whole``.

    **Usefulness** of a context: it supports some unit of the answer, alone or as a part, or it entails the question
    followed by the whole answer.

    Pairs of all samples that are judged at the same time are gathered into batches of ``batch_size``. The scores of
    pairs are remembered for the rest of the process, and kept in the run's cache, under ``identity``: asking again,
    with another ``bar`` too, calls the model for nothing that it has scored.

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
        queue = Queue(self.predict, self.batch_size, self.workers, self.wait_seconds)
        object.__setattr__(self, "_queue", queue)

    @property
    def name(self) -> str:
        """``nli:``, the identity, and the parameters of the verdicts that are not the default."""
        given = [
            f"{item.name}={getattr(self, item.name)}"
            for item in fields(self)
            if item.name in _COUNTED and getattr(self, item.name) != item.default
        ]
        return f"nli:{self.identity}({', '.join(given)})" if given else f"nli:{self.identity}"

    def __deepcopy__(self, memo: dict[int, Any]) -> NLIJudge:
        del memo
        return self  # frameworks copy metrics; the model is not copied

    async def attribute(self, request: JudgeRequest) -> Judgement:
        """Say for each unit whether the contexts support it."""
        rows, usage = await self._judged(request, request.units)
        verdicts = map(self._about_unit, request.unit_ids, rows)
        return Judgement(verdicts=tuple(verdicts), usage=usage)

    async def rate(self, request: JudgeRequest) -> Judgement:
        """Say for each context whether it is useful for giving the answer."""
        units = request.units or split_sentences(request.answer, request.language) or (request.answer,)
        whole = (f"{request.user_input} {request.answer}",) if request.user_input else ()
        rows, usage = await self._judged(request, units, whole)
        parts = {window.context: window for row in rows for window in row.parts}
        verdicts = [
            self._about_context(id_, _Row(tuple(row.cells[context] for row in rows)), parts.get(context))
            for context, id_ in enumerate(request.context_ids)
        ]
        return Judgement(verdicts=tuple(verdicts), usage=usage)

    def _about_unit(self, id_: str, row: _Row) -> Verdict:
        if row.failure is not None:
            return Verdict(id=id_, value=None, code="judge_error", reason=row.failure)
        best, together = row.best, row.together if isinstance(row.together, float) else 0.0
        supporting = [cell.window for cell in row.cells if cell.window and cell.probability >= self.bar]
        evidence = [window.evidence() for window in supporting]
        evidence += [window.evidence(whole=False) for window in row.parts]
        details = {
            "probability": max(best.probability, together),
            "probabilities": tuple(cell.probability for cell in row.cells),
        }
        if best.window is None:
            reason = "no context has a sentence"
        elif row.parts:
            places = ", ".join(str(window.context + 1) for window in row.parts)
            reason = f"probability {together:.3f} in contexts {places} together"
        else:
            at_best = "" if supporting else " at best,"
            reason = f"probability {best.probability:.3f}{at_best} in context {best.window.context + 1}"
        return Verdict(
            id=id_,
            value=bool(evidence),
            reason=reason,
            evidence=tuple(evidence),
            details=FrozenDict(details),
        )

    def _about_context(self, id_: str, row: _Row, part: Window | None) -> Verdict:
        best = row.best
        useful = best.probability >= self.bar and best.window is not None
        if not useful and part is None and row.failure is not None:
            return Verdict(id=id_, value=None, code="judge_error", reason=row.failure)
        shown = best.window if useful else part
        needed = " alone, needed with others" if part and not useful else ""
        return Verdict(
            id=id_,
            value=shown is not None,
            reason=f"probability {best.probability:.3f}{needed}",
            evidence=() if shown is None else (shown.evidence(whole=useful),),
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
        windows = Windows(request, self.window, self.max_windows)
        chosen = [(unit, windows.of(unit)) for unit in (*units, *alone)]
        scores, asked = await self._scores(
            (window.text, unit) for unit, choice in chosen for row in choice for window in row
        )
        rows = [_Row(tuple(_best(unit, row, scores) for row in choice)) for unit, choice in chosen]
        parts = {
            place: joined(chosen[place][1], _TOGETHER)
            for place, row in enumerate(rows[: len(units)])
            if row.failure is None and row.best.probability < self.bar
        }
        texts = {
            place: "\n".join(window.text for window in found) for place, found in parts.items() if found
        }
        more, others = await self._scores((text, units[place]) for place, text in texts.items())
        for place, text in texts.items():
            score = more[text, units[place]]
            supported = not isinstance(score, str) and score >= self.bar
            rows[place] = rows[place]._replace(together=score, parts=parts[place] if supported else ())
        return rows, Usage(reused=int(not asked + others))

    async def _scores(self, pairs: Iterable[Pair]) -> tuple[dict[Pair, Score], int]:
        """Score pairs from memory, the cache, a batch in flight, or by asking; return how many were asked about."""
        run = current_run()
        memory = run.memo or _memory
        keys = {pair: self._key(pair) for pair in pairs}
        if run.cache is not None:
            _recall(keys.values(), memory, run.cache)
        known, coming = self._queue.submit(keys, memory)
        found = await asyncio.gather(*map(asyncio.wrap_future, coming.values()))
        asked = dict(zip(coming, found, strict=True))
        for pair, score in asked.items():
            if run.cache is not None and not isinstance(score, str):
                run.cache.put(keys[pair], sealed(keys[pair], repr(score)))
        return known | asked, len(asked)

    def _key(self, pair: Pair) -> str:
        """Hash everything that may change the score of a pair."""
        texts = (_VERSION, self.identity, *_FORM, *pair)
        written = [text.encode("utf-8", "surrogatepass") for text in texts]
        return hashlib.sha256(
            b"".join(len(text).to_bytes(8, "big") + text for text in written)
        ).hexdigest()


def _best(unit: str, row: Sequence[Window], scores: Mapping[Pair, Score]) -> _Cell:
    """Return the likeliest window of a context, the first of equals; a failure, where one has no score."""
    cells = [_Cell(scores[window.text, unit], window) for window in row]
    failed = [cell for cell in cells if isinstance(cell.score, str)]
    return failed[0] if failed else _Row(tuple(cells)).best


# --- remembering ---

# The scores that this process remembers.
_memory: Memo[float] = Memo(MEMORY, keep=lambda _: True)


def forget_scores() -> None:
    """Forget every score that this process remembers."""
    _memory.clear()


def _recall(keys: Iterable[str], memory: Memo[float], cache: Store) -> None:
    """Remember the scores that the cache holds, except those that were changed there."""
    for key in keys:
        stored = cache.get(key) if memory.peek(key) is None else None
        text = None if stored is None else unsealed(key, stored)
        if text is not None and 0 <= float(text) <= 1:
            memory.remember(key, float(text))
