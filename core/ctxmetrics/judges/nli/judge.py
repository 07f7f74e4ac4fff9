"""The judge around a cross-encoder: pairs of window and unit in, verdicts out."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from functools import partial
from typing import Any, NamedTuple, get_args
from weakref import WeakKeyDictionary

from ctxmetrics._checks import check_choice, check_number
from ctxmetrics._frozen import FrozenDict
from ctxmetrics._runtime.memo import Memo
from ctxmetrics._runtime.run import current_run
from ctxmetrics._runtime.seals import sealed, unsealed
from ctxmetrics.errors import ParameterError
from ctxmetrics.judges.base import Judgement, JudgeRequest
from ctxmetrics.judges.nli.batches import Batches, Memory, Pair
from ctxmetrics.judges.nli.scores import Activation, Score, read_scores
from ctxmetrics.judges.nli.windows import Window, Windows, joined
from ctxmetrics.text import split_sentences
from ctxmetrics.verdicts import Usage, Verdict

# Raised when other pairs are asked about, or their scores are written down in another form.
VERSION = 1
# Scores that a process remembers: about 40 MB.
MEMORY = 200_000
_COUNTS = ("batch_size", "window", "max_windows", "workers")


class _Cell(NamedTuple):
    """One context against one unit: the probability of its best window, or what went wrong."""

    score: Score
    window: Window | None = None

    @property
    def probability(self) -> float:
        return 0.0 if isinstance(self.score, str) else self.score


class _Row(NamedTuple):
    """One unit against all contexts.

    Attributes:
        cells: One a context.
        together: The probability of the parts together; None where they were not asked about.
        parts: The windows that support the unit together, where no context does alone.
        failure: Why a pair has no probability.
    """

    cells: tuple[_Cell, ...]
    together: Score | None = None
    parts: tuple[Window, ...] = ()

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

    What ``predict`` may return, one entry a pair and in order:

    * numbers from 0 to 1 (a list, a NumPy array, a tensor), such as those of ``CrossEncoder.predict`` of a model with
      one output;
    * rows of numbers: ``entailment`` says which of them counts, from 0, and ``activation`` what makes probabilities of
      logits: ``"softmax"`` over the row, ``"sigmoid"`` for each number;
    * labels with scores, as a ``transformers`` pipeline returns them with ``top_k=None``: ``entailment`` names the label
      (without: ``"entailment"``; case does not matter).

    When ``predict`` raises, or returns something else, a batch of several samples is asked again sample by sample; what
    fails then is not judged, ``judge_error``, and the reason says what was returned.

    The verdicts' ``details``: ``probability`` (what is compared with the bar), ``probabilities`` (one a context; units
    only), ``together`` (of the parts, or None; units only) and, for a no about a unit, ``nearest`` (its likeliest window).

    Attributes:
        predict: Takes a list of (premise, hypothesis), the premise being the retrieved text. A sync function is
            called in a thread, an async one in the library's own event loop.
        identity: Name and version of the model and whatever else changes its scores. Scores are kept under it.
        bar: From what probability on a unit is supported. Choose it by `ctxmetrics.agree`.
        entailment: Which number of a row, from 0, or which label stands for entailment.
        activation: What turns the model's numbers into probabilities: ``"none"``, ``"sigmoid"`` or ``"softmax"``.
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
    entailment: int | str | None = None
    activation: Activation = "none"
    batch_size: int = 64
    window: int = 3
    max_windows: int = 3
    workers: int = 1
    wait_seconds: float = 0.01
    warnings: tuple[str, ...] = field(default=(), repr=False)
    _batches: Batches = field(init=False, repr=False, compare=False)

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
        check_choice("NLIJudge: activation", self.activation, get_args(Activation))
        if isinstance(self.entailment, bool) or not isinstance(self.entailment, (int, str, type(None))):
            raise ParameterError(
                f"NLIJudge: entailment={self.entailment!r} must be a number from 0 or a label."
            )
        read = partial(read_scores, entailment=self.entailment, activation=self.activation)
        batches = Batches(self.predict, read, self.batch_size, self.workers, self.wait_seconds)
        object.__setattr__(self, "_batches", batches)

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
        verdicts = (self._about_unit(id_, row) for id_, row in zip(request.unit_ids, rows, strict=True))
        return Judgement(verdicts=tuple(verdicts), usage=usage)

    async def rate(self, request: JudgeRequest) -> Judgement:
        """Say for each context whether it is useful for giving the answer."""
        units = request.units or split_sentences(request.answer, request.language) or (request.answer,)
        rows, usage = await self._judged(request, units)
        parts = {window.context: window for row in rows for window in row.parts}
        if request.user_input:
            whole = f"{request.user_input} {request.answer}"
            answered, more = await self._judged(request, (whole,), alone=True)
            rows, usage = [*rows, *answered], Usage(reused=usage.reused and more.reused)
        verdicts = []
        for context, id_ in enumerate(request.context_ids):
            cells = [row.cells[context] for row in rows]
            verdicts.append(self._about_context(id_, cells, parts.get(context)))
        return Judgement(verdicts=tuple(verdicts), usage=usage)

    def _about_unit(self, id_: str, row: _Row) -> Verdict:
        best = max(row.cells, key=lambda cell: cell.probability, default=_Cell(0.0))
        whole = [
            cell.window.evidence()
            for cell in row.cells
            if cell.window is not None and cell.probability >= self.bar
        ]
        together = row.together if isinstance(row.together, float) else None
        details: dict[str, Any] = {
            "probability": max(best.probability, together or 0.0),
            "probabilities": tuple(cell.probability for cell in row.cells),
            "together": together,
        }
        if row.failure is not None:
            return Verdict(id=id_, value=None, code="judge_error", reason=row.failure)
        evidence = tuple(whole) or tuple(window.evidence(whole=False) for window in row.parts)
        if whole:
            reason = f"probability {best.probability:.3f} in context {_number(best)}"
        elif evidence:
            places = ", ".join(str(window.context + 1) for window in row.parts)
            reason = f"probability {together:.3f} in contexts {places} together"
        elif best.window is None:
            reason = "no context has a sentence"
        else:
            reason = f"probability {best.probability:.3f} at best, in context {_number(best)}"
            place = best.window
            details["nearest"] = ({"context": place.context, "start": place.start, "end": place.end},)
        return Verdict(
            id=id_, value=bool(evidence), reason=reason, evidence=evidence, details=FrozenDict(details)
        )

    def _about_context(self, id_: str, cells: Sequence[_Cell], part: Window | None) -> Verdict:
        best = max(cells, key=lambda cell: cell.probability)
        useful = best.probability >= self.bar and best.window is not None
        failure = next((cell.score for cell in cells if isinstance(cell.score, str)), None)
        if not useful and part is None and failure is not None:
            return Verdict(id=id_, value=None, code="judge_error", reason=failure)
        shown = best.window if useful else part
        return Verdict(
            id=id_,
            value=shown is not None,
            reason=f"probability {best.probability:.3f}"
            + (" alone, needed with others" if part and not useful else ""),
            evidence=() if shown is None else (shown.evidence(whole=useful),),
            details=FrozenDict({"probability": best.probability}),
        )

    async def _judged(
        self, request: JudgeRequest, units: Sequence[str], *, alone: bool = False
    ) -> tuple[list[_Row], Usage]:
        """Compare each unit with each context and, unless each is judged alone, with parts of several together."""
        windows = Windows(request, self.window, self.max_windows)
        choices = [windows.of(unit) for unit in units]
        pairs = [
            (window.text, unit)
            for unit, rows in zip(units, choices, strict=True)
            for row in rows
            for window in row
        ]
        scores, asked = await self._scores(pairs)
        rows = [
            _Row(tuple(_best(row, unit, scores) for row in choice))
            for unit, choice in zip(units, choices, strict=True)
        ]
        if not alone:
            open_ = {
                place: parts
                for place, row in enumerate(rows)
                if row.failure is None
                and all(cell.probability < self.bar for cell in row.cells)
                and (parts := joined(choices[place], _TOGETHER))
            }
            texts = {place: "\n".join(window.text for window in parts) for place, parts in open_.items()}
            more, others = await self._scores([(text, units[place]) for place, text in texts.items()])
            asked += others
            for place, parts in open_.items():
                score = more[texts[place], units[place]]
                supported = not isinstance(score, str) and score >= self.bar
                rows[place] = rows[place]._replace(together=score, parts=parts if supported else ())
        return rows, Usage(reused=int(not asked))

    async def _scores(self, pairs: Iterable[Pair]) -> tuple[dict[Pair, Score], int]:
        """Score pairs from memory, the cache, a batch in flight, or by asking; return how many were asked about."""
        run = current_run()
        scores = _scores
        if run.memo is not None:
            scores = _scores_of.setdefault(run.memo, Memo(MEMORY, keep=lambda _: True))
        memory = Memory(scores, {pair: self._key(pair) for pair in pairs})
        missing = set()
        for pair, key in memory.keys.items():
            if memory.get(pair) is None:
                stored = run.cache.get(key) if run.cache else None
                known = None if stored is None else _decode(key, stored)
                if known is None:
                    missing.add(pair)
                else:
                    memory.put(pair, known)
        found = await asyncio.wrap_future(self._batches.submit(memory.keys, memory))
        for pair in missing if run.cache else ():
            key = memory.keys[pair]
            if not isinstance(score := found[pair], str) and run.cache:
                run.cache.put(key, sealed(key, repr(score)))
        return found, len(missing)

    def _key(self, pair: Pair) -> str:
        """Hash everything that may change the score of a pair."""
        texts = (f"nli-{VERSION}", self.identity, repr(self.entailment), self.activation, *pair)
        hashed = hashlib.sha256()
        for text in texts:
            encoded = text.encode("utf-8", "surrogatepass")
            hashed.update(len(encoded).to_bytes(8, "big") + encoded)
        return hashed.hexdigest()


_COUNTED = ("bar", "entailment", "activation", "window", "max_windows")
_TOGETHER = 3
"""Contexts that may support a unit together."""


def _best(row: Sequence[Window], unit: str, scores: dict[Pair, Score]) -> _Cell:
    """Return the likeliest window of a context, the first of equals; a failure, where one has no probability."""
    cells = [_Cell(scores[window.text, unit], window) for window in row]
    failed = next((cell for cell in cells if isinstance(cell.score, str)), None)
    return failed or max(cells, key=lambda cell: cell.probability, default=_Cell(0.0))


def _number(cell: _Cell) -> int:
    return 0 if cell.window is None else cell.window.context + 1


# --- remembering ---

# The scores that this process remembers, and those of runs that have a memory of their own.
_scores: Memo[float] = Memo(MEMORY, keep=lambda _: True)
_scores_of: WeakKeyDictionary[Memo[Any], Memo[float]] = WeakKeyDictionary()


def forget_scores() -> None:
    """Forget every score that this process remembers."""
    _scores.clear()


def _decode(key: str, stored: str) -> float | None:
    """Read a stored score; None where the text was changed."""
    text = unsealed(key, stored)
    score = -1.0 if text is None else float(text)
    return score if 0 <= score <= 1 else None
