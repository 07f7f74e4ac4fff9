"""Verdicts from probabilities: a row of cells for each unit, a bar, and a band of doubt around it.

Pure: probabilities in, verdicts out. Who gives a probability, and for which texts, is the judge's part.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ctxmetrics._internal.frozen import FrozenDict
from ctxmetrics.verdicts import Evidence, Verdict


class ProbabilityCell(NamedTuple):
    """One unit in one context, or in several contexts together.

    Attributes:
        probability: The probability that the context states the unit.
        span: The sentences of the context that were read, or that are nearest to the unit.
        failure: The reason, in words, why there is no probability.
        code: The verdict code of the failure.
        served_model: The model that answered, if its server names it.
        gap: The difference between two answers to the question, if it was asked twice in different requests.
    """

    probability: float = 0.0
    span: Evidence | None = None
    failure: str | None = None
    code: str = "judge_error"
    served_model: str = ""
    gap: float = 0.0


@dataclass(frozen=True, slots=True)
class Bar:
    """The threshold for a positive verdict.

    Attributes:
        minimum: The minimum probability of a positive verdict.
        doubt: A verdict has the code ``near_bar`` if its probability is less than this far from `minimum`. With 0, none has.
    """

    minimum: float
    doubt: float = 0.0

    def is_met(self, probability: float) -> bool:
        """Whether a probability gives a positive verdict."""
        return probability >= self.minimum

    def code(self, probability: float) -> str | None:
        """Return ``near_bar`` for a probability in the band of doubt."""
        return "near_bar" if abs(probability - self.minimum) < self.doubt else None


class UnitProbabilities(NamedTuple):
    """The probabilities that contexts state one unit.

    Attributes:
        cells: The probability of each context alone.
        together: The probability of several contexts together, if the judge asked about them. It counts only if no context
            states the unit alone.
        spans: The sentences of these several contexts.
    """

    cells: tuple[ProbabilityCell, ...]
    together: ProbabilityCell = ProbabilityCell()
    spans: tuple[Evidence, ...] = ()

    def is_unsupported_alone(self, bar: Bar) -> bool:
        """Whether every context was judged, and none states the unit alone."""
        return all(cell.failure is None and not bar.is_met(cell.probability) for cell in self.cells)

    def get_parts(self, bar: Bar) -> tuple[Evidence, ...]:
        """Return the sentences that state the unit together, if no context does alone; else none."""
        is_supported_together = bar.is_met(self.together.probability)
        if self.is_unsupported_alone(bar) and is_supported_together:
            return self.spans
        return ()

    def find_failure(self, bar: Bar) -> ProbabilityCell | None:
        """Return the failure because of which it is unknown whether several contexts together state the unit; else None."""
        if any(cell.failure is None and bar.is_met(cell.probability) for cell in self.cells):
            return None  # one context is enough
        if self.together.failure is None and not bar.is_met(self.together.probability):
            return None  # together they do not state it either
        cell = find_failure_or_likeliest((*self.cells, self.together))
        return cell if cell.failure is not None else None


def to_cell(score: float | str, span: Evidence | None = None) -> ProbabilityCell:
    """Build a cell from a probability, or from the text that says why there is none."""
    return ProbabilityCell(failure=score) if isinstance(score, str) else ProbabilityCell(score, span)


def find_failure_or_likeliest(cells: Iterable[ProbabilityCell]) -> ProbabilityCell:
    """Return a cell with a failure if there is one; else the likeliest cell, the first of equals."""
    return max(
        cells, key=lambda cell: (cell.failure is not None, cell.probability), default=ProbabilityCell()
    )


def judge_units(ids: Sequence[str], rows: Sequence[UnitProbabilities], bar: Bar) -> tuple[Verdict, ...]:
    """Judge which units the contexts support.

    ``details`` of a verdict: ``probability`` (what is compared with the bar) and ``probabilities`` (one for each context).
    """
    return tuple(_judge_unit(id_, row, bar) for id_, row in zip(ids, rows, strict=True))


def judge_contexts(
    ids: Sequence[str], rows: Sequence[UnitProbabilities], bar: Bar
) -> tuple[Verdict, ...]:
    """Judge which contexts are useful.

    A context is useful if it states some unit alone, or if it is one of several contexts that state a unit together. If it is
    unknown whether they do, and the context states no unit alone, it has no verdict. ``details`` of a verdict: ``probability``,
    the highest one of the context.
    """
    # By the index of a context: its sentences that state a unit together with those of other contexts.
    parts: dict[int, Evidence] = {}
    # By the index of a context: the failure because of which it is unknown whether they do.
    failures: dict[int, ProbabilityCell] = {}
    for row in rows:
        parts |= {span.context: span for span in row.get_parts(bar)}
        failure = row.find_failure(bar)
        if failure is not None:
            failures |= {span.context: failure for span in row.spans}
    without_failure = ProbabilityCell()
    verdicts = []
    for index, id_ in enumerate(ids):
        cells = [row.cells[index] for row in rows]
        failure = failures.get(index, without_failure)
        verdicts.append(_judge_context(id_, cells, parts.get(index), failure, bar))
    return tuple(verdicts)


def _judge_unit(id_: str, row: UnitProbabilities, bar: Bar) -> Verdict:
    """Judge one unit by the likeliest context. If no context states it alone, judge it by several contexts together."""
    best_alone = find_failure_or_likeliest(row.cells)
    together = row.together if row.is_unsupported_alone(bar) else ProbabilityCell()
    for cell in (best_alone, together):
        if cell.failure is not None:
            return Verdict(id=id_, value=None, code=cell.code, reason=cell.failure)
    whole_spans = [cell.span for cell in row.cells if cell.span and bar.is_met(cell.probability)]
    parts = row.get_parts(bar)
    probability = max(best_alone.probability, together.probability)
    if parts:
        context_numbers = ", ".join(str(span.context + 1) for span in parts)
        reason = f"probability {together.probability:.3f} in contexts {context_numbers} together"
    else:
        reason = _describe_cell(best_alone, is_met=bool(whole_spans))
    return Verdict(
        id=id_,
        value=bool(whole_spans or parts),
        reason=reason,
        code=bar.code(probability),
        evidence=(*whole_spans, *parts),
        details=FrozenDict(
            probability=probability, probabilities=tuple(cell.probability for cell in row.cells)
        ),
    )


def _describe_cell(cell: ProbabilityCell, *, is_met: bool) -> str:
    """Describe the likeliest context of a unit, and whether its probability meets the bar."""
    if cell.span is None:
        return "no context has a sentence"
    at_best = "" if is_met else " at best,"
    return f"probability {cell.probability:.3f}{at_best} in context {cell.span.context + 1}"


def _judge_context(
    id_: str,
    cells: Sequence[ProbabilityCell],
    part: Evidence | None,
    failure: ProbabilityCell,
    bar: Bar,
) -> Verdict:
    """Judge a context.

    Args:
        id_: The id of the context.
        cells: The probability of the context for each unit.
        part: The sentence of the context that states a unit together with other contexts, or None.
        failure: The failure because of which it is unknown whether several contexts together state a unit. If it is known: a
            cell without a failure.
        bar: The threshold.
    """
    likeliest = find_failure_or_likeliest(cell for cell in cells if cell.failure is None)
    first_failure = find_failure_or_likeliest((*cells, failure))
    span = part
    reason = f"probability {likeliest.probability:.3f}"
    if likeliest.span is not None and bar.is_met(likeliest.probability):
        span = likeliest.span
    elif part is not None:
        # Only together with other contexts does it support a unit.
        reason += " alone, needed with others"
    elif first_failure.failure is not None:
        return Verdict(id=id_, value=None, code=first_failure.code, reason=first_failure.failure)
    return Verdict(
        id=id_,
        value=span is not None,
        reason=reason,
        code=bar.code(likeliest.probability),
        evidence=() if span is None else (span,),
        details=FrozenDict({"probability": likeliest.probability}),
    )
