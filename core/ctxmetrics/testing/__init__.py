"""For tests: an assertion that a retrieval is not worse than a baseline, and the golden cases for adapters.

See docs/comparing.md and docs/own-adapter.md.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from ctxmetrics.errors import InputFileError
from ctxmetrics.evaluation.comparison.compare import compare
from ctxmetrics.evaluation.comparison.view import Comparison
from ctxmetrics.evaluation.runs.gates import choose_gated, find_not_worse_problem
from ctxmetrics.evaluation.runs.results import Results
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

__all__ = [
    "Batch", "Case", "assert_not_worse", "batches", "check", "differences", "load_cases", "make_metric",
    "make_sample", "run",
]  # fmt: skip


def assert_not_worse(
    results: Results,
    baseline: Results | str | os.PathLike[str],
    *,
    margin: float | Mapping[str, float] = 0.02,
    cluster: str | None = None,
    accept: Collection[str] = (),
) -> Comparison:
    """Fail unless the results are at most ``margin`` worse than the baseline, with 95 % confidence.

    Equal results pass. Otherwise the interval of the paired difference decides, as with ``compare --not-worse``. With few samples
    the interval is wide, so that a small margin needs many samples.

    Args:
        results: The results of the new system.
        baseline: The results of the old system on the same samples, or a file of `Results.to_baseline` or `Results.to_jsonl`.
        margin: The largest loss of the mean that passes, as a share of a metric's scale. Or a mapping from names of metrics to
            losses on the metric's own scale; then the other metrics are not compared.
        cluster: As for `ctxmetrics.compare`.
        accept: As for `ctxmetrics.compare`.

    Returns:
        The comparison.

    Raises:
        AssertionError: A metric may have fallen by more. The message names the figures and the lost units.
        ParameterError: The runs cannot be compared.
        InputFileError: The baseline does not exist. The message says how to write one.
    """
    if isinstance(baseline, (str, os.PathLike)) and not Path(baseline).exists():
        raise InputFileError(
            f"{baseline}: there is no baseline. Write one with: results.to_baseline({str(baseline)!r})."
        )
    metrics = list(margin) if isinstance(margin, Mapping) else ()
    comparison = compare(baseline, results, metrics=metrics, cluster=cluster, accept=accept)
    if isinstance(margin, Mapping):
        margins = [
            (choose_gated(comparison, name, value, "margin"), value) for name, value in margin.items()
        ]
    else:
        margins = [(item, margin * item.scale) for item in comparison.metrics]
    problems = []
    for item, value in margins:
        problem = find_not_worse_problem(comparison, item, value)
        if problem:
            problems.append(problem)
    if problems:
        raise AssertionError("\n".join([*problems, "", str(comparison)]))
    return comparison
