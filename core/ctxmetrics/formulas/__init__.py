"""The formulas: verdicts or gains in, one number out.

Pure functions over the standard library. They know no sample, no judge and no convention: the caller
decides what an undefined value means.

- A *verdict* is ``True``, ``False``, or an equal value (``0``, ``1``, NumPy's booleans). Any other value, such as ``2``, ``-1`` or
  ``None``, raises an error: a sum over unchecked verdicts could give a recall of 1.5.
- Lists of retrieved items are in rank order, the best first.
- ``k`` is a number of items from the top. If it is longer than the list, the whole list counts; with ``k=0`` no item counts.
- The value of 0/0 is ``None``. No function returns NaN.
- Floating-point numbers are added in rank order, and divided once. So the same verdicts give exactly the same number with every
  version of Python: since 3.12, the built-in ``sum`` rounds differently.
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
