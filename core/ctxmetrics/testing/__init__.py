"""The golden cases, and what puts them through an adapter: see docs/own-adapter.md."""

from ctxmetrics.testing.conformance import Batch, batches, differences
from ctxmetrics.testing.golden import Case, check, load_cases, make_metric, make_sample, run

__all__ = [
    "Batch",
    "Case",
    "batches",
    "check",
    "differences",
    "load_cases",
    "make_metric",
    "make_sample",
    "run",
]
