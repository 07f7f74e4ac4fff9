"""What a run takes over of the rows that an earlier one left: those that it would write itself."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import IO, Any

from ctxmetrics._version import __version__
from ctxmetrics.metrics.base import Metric
from ctxmetrics.prompts import is_outdated
from ctxmetrics.report.rows import content_hash, score_of
from ctxmetrics.samples import Sample
from ctxmetrics.scores import NOT_FINAL, Score
from ctxmetrics.verdicts import Usage

_log = logging.getLogger("ctxmetrics")


def read_scores(rows: IO[bytes], sample: Sample, metrics: Sequence[Metric]) -> list[Score] | None:
    """Read a sample's next rows.

    Args:
        rows: The file, one row a line.
        sample: The sample.
        metrics: The metrics of the run, in the order of the rows.

    Returns:
        One score a metric; None unless this run would compute the same.
    """
    content = content_hash(sample)
    scores = []
    for metric in metrics:
        expected: dict[str, Any] = {
            "judge": getattr(getattr(metric, "judge", None), "name", None),
            "formula": metric.formula_name,
            "convention": metric.convention,
            "library": f"ctxmetrics {__version__}",
        }
        line = rows.readline()
        try:
            row: Any = json.loads(line) if line.endswith(b"\n") else {}
            if (
                row["metric"] != metric.name
                or row["sample_id"] != sample.id
                or row["sample"]["content_hash"] != content
                or row["threshold"] != metric.pass_mark
                or row["reason_code"] in NOT_FINAL
                or any(row["provenance"][name] != value for name, value in expected.items())
            ):
                return None
            if is_outdated(prompt := row["provenance"]["prompt"] or ""):
                _log.warning(
                    "The file that is resumed was judged with the prompt %s: that is asked again.", prompt
                )
                return None
            scores.append(replace(score_of(row), usage=Usage()))  # this run pays nothing for it
        except (ValueError, KeyError, TypeError, AttributeError):
            return None
    return scores
