"""The attribution of a sample: which retrieved contexts state which units of the reference, as a matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ctxmetrics import formulas
from ctxmetrics._internal.forks import cached_property
from ctxmetrics.formulas.checks import check_choice
from ctxmetrics.formulas.ranks import check_k
from ctxmetrics.text.repeats import measure_overlaps
from ctxmetrics.verdicts import Verdict

# What a context states of a unit: all of it, a part of it, or nothing.
MatrixCell = Literal["whole", "part", "none"]


@dataclass(frozen=True)
class Attribution:
    """The matrix units x contexts behind a recall, and the numbers that follow from it without another request.

    A supported unit is *supported at k* in one of two cases:

    1. Some context states the whole unit, and such a context is among the first k.
    2. No context states the whole unit, and all contexts that state a part of it are among the first k.

    If k is the number of all contexts, this is the unit's verdict. With verdicts of a language model, the recall at a smaller k may be
    too low: if two parts state the same fact, one of them is enough. The embedded judge computes the smallest k of each unit
    itself, by judging the first k contexts alone.

    A supported unit *rests on* the contexts that state the whole unit. If there are none, it rests on the contexts that state its
    parts.

    If a context has the same text as an earlier one, a unit that rests on one of them rests on both. The later context is redundant
    or unused, and it has no rank of its own in the precision.

    In every method, ``k`` is the number of contexts from the top; None takes all. Any other value raises a `ParameterError`.

    Attributes:
        units: The verdicts about the units, in order, with their evidence.
        context_lengths: The number of characters of each judged context, in rank order.
        repeats: For each context that repeats an earlier one: its index, and the index of the first context with that text.
        texts: The judged contexts; None if they are not known, as in results from a file.
    """

    units: tuple[Verdict, ...]
    context_lengths: tuple[int, ...]
    repeats: Mapping[int, int] = field(default_factory=dict, hash=False)
    texts: tuple[str, ...] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def cells(self) -> tuple[tuple[MatrixCell, ...], ...]:
        """One row for each unit, one cell for each context; the evidence of an unsupported unit is shown too."""
        return tuple(self._build_row(unit) for unit in self.units)

    def _build_row(self, unit: Verdict) -> tuple[MatrixCell, ...]:
        """Build the row of a unit: what each context states of it, such as ``("none", "whole", "part")``."""
        row: list[MatrixCell] = ["none"] * len(self.context_lengths)
        for span in unit.evidence:
            if 0 <= span.context < len(row) and row[span.context] != "whole":
                row[span.context] = "whole" if span.whole else "part"
        return tuple(row)

    def quotes(self, unit: int, context: int) -> tuple[str, ...]:
        """Return the quotes of a context that state a unit. Both arguments are indices from 0."""
        return tuple(span.quote for span in self.units[unit].evidence if span.context == context)

    @cached_property
    def smallest_ks(self) -> tuple[int | None, ...]:
        """The smallest k at which each unit is supported; None for a unit that is unsupported or not judged."""
        units_with_cells = zip(self.units, self.cells, strict=True)
        return tuple(self._find_smallest_k(unit, cells) for unit, cells in units_with_cells)

    def _find_smallest_k(self, unit: Verdict, cells: tuple[MatrixCell, ...]) -> int | None:
        """Return how many contexts from the top are needed to support a unit; None if no number is enough."""
        if unit.value is not True:
            return None
        k_of_judge = unit.details.get("smallest_k")
        if isinstance(k_of_judge, int) and 0 <= k_of_judge <= len(cells):
            return k_of_judge
        if "whole" in cells:
            return cells.index("whole") + 1
        indexes_of_parts = [index for index, cell in enumerate(cells) if cell == "part"]
        if indexes_of_parts:  # all parts are needed, also the last one
            return indexes_of_parts[-1] + 1
        return len(cells)  # for evidence that names no context, all contexts are needed

    def rests_on(self, k: int | None = None) -> tuple[tuple[int, ...], ...]:
        """Return for each unit the indices of the contexts on which the unit rests; empty if the unit is not supported."""
        return tuple(_find_true_indexes(row) for row in self.matrix(k))

    def matrix(self, k: int | None = None) -> tuple[tuple[bool, ...], ...]:
        """Return one row for each unit, one cell for each of the first k contexts: whether the unit rests on it."""
        context_count = len(self.context_lengths)
        k = context_count if k is None else min(check_k(k), context_count)
        rows = []
        for cells, smallest_k in zip(self.cells, self.smallest_ks, strict=True):
            first_cells = cells[:k]
            if smallest_k is None or smallest_k > k:  # the first k contexts do not support the unit
                rows.append((False,) * len(first_cells))
            else:
                supporting_cell = "whole" if "whole" in first_cells else "part"
                rows.append(tuple(cell == supporting_cell for cell in first_cells))
        return tuple(rows)

    @property
    def judged(self) -> bool:
        """Whether every unit has a verdict. If one unit has none, the figures of the sample are None."""
        return all(unit.value is not None for unit in self.units if unit.weight)

    def recall(self, k: int | None = None) -> float | None:
        """Return recall@k: units supported at k / all units. If the metric weighs facts, it is the weighted share.

        Range 0 to 1; it never falls as k grows. None if there is no unit, or a unit has no verdict.

        Source: claim recall of RAGChecker (Ru et al. 2024, arXiv:2408.08067), at each k.
        """
        k = None if k is None else check_k(k)
        if not self.judged:
            return None
        values: list[float] = []
        for unit, cells, smallest_k in zip(self.units, self.cells, self.smallest_ks, strict=True):
            is_supported = smallest_k is not None and (k is None or smallest_k <= k)
            if is_supported:
                values.append(1.0)
            elif all(cell == "none" for cell in cells[:k]):
                values.append(0.0)
            else:  # the context states only a part of the unit
                values.append(float(unit.details.get("partial", 0.0)))
        return formulas.weighted_share(values, [unit.weight for unit in self.units])

    def precision(self, k: int | None = None, *, formula: str = "average_precision") -> float | None:
        """Return support precision@k: how many of the first k contexts support a unit, and how early they stand.

        A context supports a unit here if the unit is supported at k and rests on the context.

        Args:
            k: The number of contexts from the top that count.
            formula: ``"average_precision"`` over their ranks, or ``"share"`` (RAGChecker's context precision).

        Returns:
            The precision, from 0 to 1; None without units or contexts, or where a unit is not judged.
        """
        matrix = self.matrix(k)
        check_choice("formula", formula, ("average_precision", "share"))
        if not self.judged:
            return None
        useful = formulas.useful_contexts(matrix)
        repeats_in_first_k = {
            index: first_index for index, first_index in self.repeats.items() if index < len(useful)
        }
        distinct_useful = formulas.merge_repeats(useful, repeats_in_first_k)
        if formula == "share":
            return formulas.share(distinct_useful)
        return formulas.average_precision(distinct_useful)

    @property
    def unused(self) -> tuple[int, ...] | None:
        """Indices of the contexts on which no unit rests; None if a unit is not judged."""
        return formulas.unused_contexts(self._build_need_matrix()) if self.judged else None

    @property
    def redundant(self) -> tuple[int, ...] | None:
        """Indices of the contexts that state nothing that a context above does not state; None if a unit is not judged.

        Units rest on them, but each such unit is stated whole by a context above. Where several contexts state a unit together, the
        context of each part is needed, unless it repeats a context above. Formula: `ctxmetrics.formulas.redundant_contexts`, each part
        counted as a unit of its own.
        """
        return self.find_repeating() if self.judged else None

    def find_repeating(self) -> tuple[int, ...]:
        """List the redundant contexts by the units that have a verdict; see `redundant`."""
        return formulas.redundant_contexts(self._build_need_matrix())

    @property
    def redundancy(self) -> float | None:
        """Redundant contexts / contexts on which a unit rests; None without any, or where a unit is not judged."""
        return formulas.redundancy(self._build_need_matrix()) if self.judged else None

    @property
    def overlaps(self) -> tuple[float, ...] | None:
        """The share of each context's characters that stand in a context above it; None if the texts are not known.

        1.0 for a repeated context. Formula: `ctxmetrics.text.repeats.measure_overlaps`.
        """
        return self._overlaps

    @cached_property
    def _overlaps(self) -> tuple[float, ...] | None:
        """Measure how much of each context stands in an earlier one; None without texts."""
        if self.texts is None:
            return None
        shares = [*measure_overlaps(self.texts)]
        for index in self.repeats:
            shares[index] = 1.0
        return tuple(shares)

    @property
    def redundancy_with_overlap(self) -> float | None:
        """Redundancy in which a context that overlaps with those above it is partly redundant.

        Formula: the mean, over the contexts on which a unit rests, of 1 for a redundant context and of the overlap for any
        other. Range 0 to 1. It is part of no metric's value. None if no unit rests on a context, a unit is not judged, or the
        texts are not known.
        """
        overlaps = self.overlaps
        redundant = self.redundant
        unused = self.unused
        if overlaps is None or redundant is None or unused is None:
            return None
        redundant_shares: list[float] = []
        for index, overlap in enumerate(overlaps):
            if index in redundant:
                redundant_shares.append(1.0)
            elif index not in unused:
                redundant_shares.append(overlap)
        return sum(redundant_shares) / len(redundant_shares) if redundant_shares else None

    def _build_need_matrix(self) -> list[tuple[bool, ...]]:
        """Return a matrix with one row for each need: the contexts in the row each meet the need alone.

        A unit that a context states as a whole is one need. A unit that rests on parts is one need for each part, because all
        parts are needed. A repeated context meets the same needs as the context that it repeats.
        """
        # For each context: the index of the first context with its text.
        first_indexes = [self.repeats.get(index, index) for index in range(len(self.context_lengths))]
        rows: list[tuple[bool, ...]] = []
        for cells, row in zip(self.cells, self.matrix(), strict=True):
            supporting = _find_true_indexes(row)
            contexts_with_part = {
                first_indexes[index] for index in supporting if cells[index] == "part"
            }
            if contexts_with_part:
                needs = [{context} for context in sorted(contexts_with_part)]
            else:
                needs = [{first_indexes[index] for index in supporting}]
            rows += [tuple(index in need for index in first_indexes) for need in needs]
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return the matrix as data for JSON: texts, numbers, lists and None.

        ``unused``, ``redundant`` and the items of ``smallest_k`` are None where the attributes are. ``overlaps`` is left out if
        the texts are not known.
        """
        data: dict[str, Any] = {
            "units": [unit.id for unit in self.units],
            "cells": [list(row) for row in self.cells],
            "smallest_k": list(self.smallest_ks),
            "context_lengths": list(self.context_lengths),
            "unused": None if self.unused is None else list(self.unused),
            "redundant": None if self.redundant is None else list(self.redundant),
        }
        if self.overlaps is not None:
            data["overlaps"] = list(self.overlaps)
        return data

    def __str__(self) -> str:
        header = [f"c{number}" for number in range(1, len(self.context_lengths) + 1)]
        lines = [_format_line(["", *header])]
        for unit, cells in zip(self.units, self.cells, strict=True):
            texts = ["-" if cell == "none" else cell for cell in cells]
            lines.append(_format_line([unit.id, *texts]))
        return "\n".join(lines)


def _find_true_indexes(row: Sequence[bool]) -> tuple[int, ...]:
    """Return the indexes of the true values: ``[False, True, True]`` gives ``(1, 2)``."""
    return tuple(index for index, value in enumerate(row) if value)


def _format_line(cells: Sequence[str]) -> str:
    """Write a row of the matrix as a line, with columns of five characters: ``s1     whole  -``."""
    padded_cells = [f"{cell:<5}" for cell in cells]
    return "  ".join(padded_cells).rstrip()
