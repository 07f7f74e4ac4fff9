"""The attribution of a sample: which retrieved contexts state which units of the reference, as a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from ctxmetrics import formulas
from ctxmetrics.verdicts import Verdict

# What a context states of a unit: all of it, a part of it, or nothing.
Cell = Literal["whole", "part", "none"]


@dataclass(frozen=True)
class Attribution:
    """The matrix units x contexts behind a recall, and the numbers that follow from it without another request.

    A unit is *supported at k* when a context that states the whole unit is among the first k, or, where no context
    does, all that state a part of it are; at k = all this is the unit's verdict. From a model's judgement this is a
    lower bound, since two parts may state the same fact. The embedded judge computes each unit's smallest k itself:
    there, supported at k is what judging with only the first k contexts gives.

    A supported unit *rests on* the contexts that state the whole unit, else on those that state its parts.

    ``k`` counts contexts from the top in every method; None takes all.

    Attributes:
        units: The verdicts about the units, in order, with their evidence.
        context_lengths: Characters of each judged context, in rank order.
    """

    units: tuple[Verdict, ...]
    context_lengths: tuple[int, ...]

    @cached_property
    def cells(self) -> tuple[tuple[Cell, ...], ...]:
        """One row a unit, one cell a context; the evidence of an unsupported unit is shown too."""
        return tuple(map(self._cells_of_unit, self.units))

    def _cells_of_unit(self, unit: Verdict) -> tuple[Cell, ...]:
        row: list[Cell] = ["none"] * len(self.context_lengths)
        for span in unit.evidence:
            if 0 <= span.context < len(row) and row[span.context] != "whole":
                row[span.context] = "whole" if span.whole else "part"
        return tuple(row)

    def quotes(self, unit: int, context: int) -> tuple[str, ...]:
        """Return what a context states of a unit, word for word; both are indices from 0."""
        return tuple(span.quote for span in self.units[unit].evidence if span.context == context)

    @cached_property
    def smallest_ks(self) -> tuple[int | None, ...]:
        """For each unit the smallest k at which it is supported; None where it is unsupported or not judged."""
        return tuple(map(self._smallest_k, self.units, self.cells))

    def _smallest_k(self, unit: Verdict, cells: tuple[Cell, ...]) -> int | None:
        if unit.value is not True:
            return None
        known = unit.details.get("smallest_k")
        if isinstance(known, int) and 0 <= known <= len(cells):
            return known
        if "whole" in cells:
            return cells.index("whole") + 1
        if "part" in cells:
            return len(cells) - cells[::-1].index("part")  # the last one
        return len(cells)  # for evidence that names no context, all contexts are needed

    def rests_on(self, k: int | None = None) -> tuple[tuple[int, ...], ...]:
        """Return for each unit the indices of the contexts on which it rests; empty where it is not supported."""
        return tuple(map(_true_places, self.matrix(k)))

    def matrix(self, k: int | None = None) -> tuple[tuple[bool, ...], ...]:
        """Return one row a unit, one cell for each of the first k contexts: whether the unit rests on it."""
        n = len(self.context_lengths)
        k = n if k is None else min(k, n)
        rows = []
        for cells, smallest in zip(self.cells, self.smallest_ks, strict=True):
            first = cells[:k]
            if smallest is None or smallest > k:
                rows.append((False,) * len(first))
            else:
                kind = "whole" if "whole" in first else "part"
                rows.append(tuple(cell == kind for cell in first))
        return tuple(rows)

    @property
    def judged(self) -> bool:
        """Whether every unit has a verdict; without that, nothing can be said about the whole sample."""
        return all(unit.value is not None for unit in self.units if unit.weight)

    def recall(self, k: int | None = None) -> float | None:
        """Return recall@k: units supported at k / units, or their weighted mean where the metric weighs facts.

        Range 0 to 1; it never falls as k grows. None without units, or where one is not judged.

        Source: claim recall of RAGChecker (Ru et al. 2024, arXiv:2408.08067), at each k.
        """
        if not self.judged:
            return None
        values: list[float] = []
        for unit, cells, smallest in zip(self.units, self.cells, self.smallest_ks, strict=True):
            if smallest is not None and (k is None or smallest <= k):
                values.append(1.0)
            elif set(cells[:k]) <= {"none"}:
                values.append(0.0)
            else:  # only a part of it is stated
                values.append(float(unit.details.get("partial", 0.0)))
        return formulas.weighted_share(values, [unit.weight for unit in self.units])

    def precision(self, k: int | None = None, *, formula: str = "average_precision") -> float | None:
        """Return support precision@k: of the first k contexts, those on which some unit supported at k rests.

        Args:
            k: How many contexts from the top count.
            formula: ``"average_precision"`` over their ranks, or ``"share"`` (RAGChecker's context precision).

        Returns:
            The precision, from 0 to 1; None without units or contexts, or where a unit is not judged.
        """
        if not self.judged:
            return None
        if formula == "share":
            return formulas.attribution_precision(self.matrix(k))
        return formulas.average_precision(formulas.useful_contexts(self.matrix(k)))

    @property
    def unused(self) -> tuple[int, ...] | None:
        """Indices of the contexts on which no unit rests; None where a unit is not judged."""
        return formulas.unused_contexts(self.matrix()) if self.judged else None

    @property
    def redundant(self) -> tuple[int, ...] | None:
        """Indices of the contexts that bring nothing new, read from the top; None where a unit is not judged.

        Units rest on them, but each such unit is stated whole by a context above. A context that states a needed part
        is never redundant. Formula: `ctxmetrics.formulas.redundant_contexts`, each part counted as a unit of its own.
        """
        return self.find_repeating() if self.judged else None

    def find_repeating(self) -> tuple[int, ...]:
        """Return the same of the units that are judged, whether or not all are."""
        return formulas.redundant_contexts(self._needs())

    @property
    def redundancy(self) -> float | None:
        """Redundant contexts / contexts on which a unit rests; None without any, or where a unit is not judged."""
        return formulas.redundancy(self._needs()) if self.judged else None

    def _needs(self) -> list[tuple[bool, ...]]:
        """Return the matrix with a row for each part of a unit that rests on parts: all of them are needed."""
        rows: list[tuple[bool, ...]] = []
        for cells, row in zip(self.cells, self.matrix(), strict=True):
            parts = [context for context in _true_places(row) if cells[context] == "part"]
            if not parts:
                rows.append(row)
            for part in parts:
                only_part = [False] * len(row)
                only_part[part] = True
                rows.append(tuple(only_part))
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return the matrix as plain JSON-ready data."""
        return {
            "units": [unit.id for unit in self.units],
            "cells": [list(row) for row in self.cells],
            "smallest_k": list(self.smallest_ks),
            "context_lengths": list(self.context_lengths),
            "unused": self.unused,
            "redundant": self.redundant,
        }

    def __str__(self) -> str:
        header = [f"c{number}" for number in range(1, len(self.context_lengths) + 1)]
        lines = [_line(["", *header])]
        for unit, cells in zip(self.units, self.cells, strict=True):
            lines.append(_line([unit.id, *("-" if cell == "none" else cell for cell in cells)]))
        return "\n".join(lines)


def _true_places(row: Sequence[bool]) -> tuple[int, ...]:
    return tuple(place for place, value in enumerate(row) if value)


def _line(cells: Sequence[str]) -> str:
    return "  ".join(f"{cell:<5}" for cell in cells).rstrip()
