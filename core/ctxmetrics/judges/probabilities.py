"""Verdicts from probabilities: a row of cells for each unit, a bar, and a band of doubt around it.

Pure: probabilities in, verdicts out. Who gives a probability, and for which texts, is the judge's part.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from ctxmetrics._internal.frozen import FrozenDict
from ctxmetrics.verdicts import Evidence, Verdict


class Cell(NamedTuple):
    """One unit in one context, or in several together.

    Attributes:
        probability: How likely the context states the unit.
        span: The sentences of the context that were read, or that are nearest to the unit.
        failure: Why there is no probability.
        code: The verdict code of the failure.
        served_model: The model that answered, where its server names it.
        gap: How far apart its answers were, where the same was asked again in another place or company.
    """

    probability: float = 0.0
    span: Evidence | None = None
    failure: str | None = None
    code: str = "judge_error"
    served_model: str = ""
    gap: float = 0.0


@dataclass(frozen=True, slots=True)
class Bar:
    """The bar for a yes.

    Attributes:
        minimum: A probability of at least this is a yes.
        doubt: A probability that is nearer to the bar has the code ``near_bar``; 0: none has.
    """

    minimum: float
    doubt: float = 0.0

    def is_met(self, probability: float) -> bool:
        """Whether a probability is a yes."""
        return probability >= self.minimum

    def code(self, probability: float) -> str | None:
        """Return ``near_bar`` for a probability in the band of doubt."""
        return "near_bar" if abs(probability - self.minimum) < self.doubt else None


class Row(NamedTuple):
    """One unit and all contexts.

    Attributes:
        cells: One a context.
        together: Several contexts together, where a judge asked about them. It counts where no context states the unit alone.
        spans: The sentences that `together` is about.
    """

    cells: tuple[Cell, ...]
    together: Cell = Cell()
    spans: tuple[Evidence, ...] = ()

    def is_open(self, bar: Bar) -> bool:
        """Whether every context was judged, and none states the unit alone."""
        return all(cell.failure is None and not bar.is_met(cell.probability) for cell in self.cells)

    def parts(self, bar: Bar) -> tuple[Evidence, ...]:
        """Return the sentences that state the unit together, where no context does alone."""
        supported = self.is_open(bar) and bar.is_met(self.together.probability)
        return self.spans if supported else ()

    def find_failure(self, bar: Bar) -> Cell | None:
        """Return the failure for which it is not known whether contexts state the unit together; None where it is known."""
        alone = any(cell.failure is None and bar.is_met(cell.probability) for cell in self.cells)
        together = self.together.failure is not None or bar.is_met(self.together.probability)
        failed = likeliest((*self.cells, self.together))
        return failed if together and not alone and failed.failure is not None else None


def describe_rules(judge: Any, names: Sequence[str]) -> str:
    """Return the parameters of a judge's verdicts that are not the default, in parentheses; empty where all are."""
    changed = []
    for item in fields(judge):
        value = getattr(judge, item.name, None)
        if item.name in names and value != item.default:
            changed.append(f"{item.name}={value}")
    return f"({', '.join(changed)})" if changed else ""


def to_cell(score: float | str, span: Evidence | None = None) -> Cell:
    """Make a cell of a probability, or of the text that says why there is none."""
    return Cell(failure=score) if isinstance(score, str) else Cell(score, span)


def likeliest(cells: Iterable[Cell]) -> Cell:
    """Return a failure, where there is one; else the likeliest cell, the first of equals."""
    return max(cells, key=lambda cell: (cell.failure is not None, cell.probability), default=Cell())


def judge_units(ids: Sequence[str], rows: Sequence[Row], bar: Bar) -> tuple[Verdict, ...]:
    """Judge which units the contexts support.

    ``details`` of a verdict: ``probability`` (what is compared with the bar) and ``probabilities`` (one a context).
    """
    return tuple(_judge_unit(id_, row, bar) for id_, row in zip(ids, rows, strict=True))


def judge_contexts(ids: Sequence[str], rows: Sequence[Row], bar: Bar) -> tuple[Verdict, ...]:
    """Judge which contexts are useful: those that meet the bar in some row, or are a part of what states a unit.

    A context has no verdict where it would be a no, and it is not known whether a unit needs it with others. ``details`` of a
    verdict: ``probability``, the highest of the context.
    """
    parts = {span.context: span for row in rows for span in row.parts(bar)}
    unknown: dict[int, Cell] = {}
    for row in rows:
        failed = row.find_failure(bar)
        if failed is not None:
            unknown |= {span.context: failed for span in row.spans}
    verdicts = []
    for index, id_ in enumerate(ids):
        cells = [row.cells[index] for row in rows]
        missing = unknown.get(index, Cell())
        verdicts.append(_judge_context(id_, cells, parts.get(index), missing, bar))
    return tuple(verdicts)


def _judge_unit(id_: str, row: Row, bar: Bar) -> Verdict:
    best, together = likeliest(row.cells), Cell()
    if row.is_open(bar):
        together = row.together
    for cell in (best, together):
        if cell.failure is not None:
            return Verdict(id=id_, value=None, code=cell.code, reason=cell.failure)
    whole = [cell.span for cell in row.cells if cell.span and bar.is_met(cell.probability)]
    parts = row.parts(bar)
    probability = max(best.probability, together.probability)
    return Verdict(
        id=id_,
        value=bool(whole or parts),
        reason=_explain(best, together, parts, alone=bool(whole)),
        code=bar.code(probability),
        evidence=(*whole, *parts),
        details=FrozenDict(
            probability=probability, probabilities=tuple(cell.probability for cell in row.cells)
        ),
    )


def _explain(best: Cell, together: Cell, parts: Sequence[Evidence], *, alone: bool) -> str:
    """Describe the probability of a unit, and the contexts that it is about."""
    if parts:
        places = ", ".join(str(span.context + 1) for span in parts)
        return f"probability {together.probability:.3f} in contexts {places} together"
    if best.span is None:
        return "no context has a sentence"
    at_best = "" if alone else " at best,"
    return f"probability {best.probability:.3f}{at_best} in context {best.span.context + 1}"


def _judge_context(
    id_: str, cells: Sequence[Cell], part: Evidence | None, missing: Cell, bar: Bar
) -> Verdict:
    """Judge a context by its cells; ``part`` is what a unit needs of it with others, ``missing`` why that is not known."""
    best = likeliest(cell for cell in cells if cell.failure is None)
    worst = likeliest((*cells, missing))
    span, reason = part, f"probability {best.probability:.3f}"
    if best.span is not None and bar.is_met(best.probability):
        span = best.span
    elif part is not None:
        reason += " alone, needed with others"
    elif worst.failure is not None:
        return Verdict(id=id_, value=None, code=worst.code, reason=worst.failure)
    return Verdict(
        id=id_,
        value=span is not None,
        reason=reason,
        code=bar.code(best.probability),
        evidence=() if span is None else (span,),
        details=FrozenDict({"probability": best.probability}),
    )
