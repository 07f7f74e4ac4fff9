"""For tests: a gate on retrieval, and the golden cases with what puts them through an adapter.

See docs/comparing.md and docs/own-adapter.md.
"""

from ctxmetrics.testing.golden import (
    Batch,
    Case,
    batches,
    check,
    differences,
    load_cases,
    make_metric,
    make_sample,
    run,
)
from ctxmetrics.testing.regression import assert_not_worse

__all__ = [
    "Batch",
    "Case",
    "assert_not_worse",
    "batches",
    "check",
    "differences",
    "load_cases",
    "make_metric",
    "make_sample",
    "run",
]
