"""The formulas: verdicts or gains in, one number out.

Pure functions over the standard library. They know no sample, no judge and no convention: the caller
decides what an undefined value means.

- A *verdict* is ``True`` or ``False``, or what equals them (``0``, ``1``, NumPy's booleans). Anything
  else, such as ``2``, ``-1`` or ``None``, is an error and never counted: a sum over unchecked verdicts
  can give a recall of 1.5.
- Lists of retrieved things are in rank order, best first.
- ``k`` counts from the top. A ``k`` beyond the end is the whole list; ``k=0`` looks at nothing.
- ``None`` is the value of a formula that is 0/0. No function returns NaN.
- Sums run over doubles in rank order, then there is one division, so the same verdicts give the same bits on
  every Python: the built-in ``sum`` rounds differently since 3.12.
"""

from __future__ import annotations

from ctxmetrics.formulas import ranks
from ctxmetrics.formulas.matrices import (
    attribution_precision,
    attribution_recall,
    redundancy,
    redundant_contexts,
    smallest_k,
    supported_units,
    unused_contexts,
    useful_contexts,
)
from ctxmetrics.formulas.ranks import *  # noqa: F403 # pyright: ignore[reportWildcardImportFromLibrary] - all that its `__all__` names
from ctxmetrics.formulas.spans import (
    Span,
    characters,
    common_span,
    common_spans,
    covered_spans,
    merged_spans,
    relevant_spans,
    span_iou,
    span_precision,
    span_recall,
)

__all__ = [
    "Span", "attribution_precision", "attribution_recall", "characters", "common_span", "common_spans", "covered_spans",
    "merged_spans", "redundancy", "redundant_contexts", "relevant_spans", "smallest_k", "span_iou", "span_precision",
    "span_recall", "supported_units", "unused_contexts", "useful_contexts",
]  # fmt: skip
__all__ += ranks.__all__
