"""One run of a framework: its warnings, and the checks of its labels."""

from __future__ import annotations

import logging
import warnings
from collections import defaultdict
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ctxmetrics._internal.forks import make_lock
from ctxmetrics.errors import EmbeddedJudgeWarning, RequestError
from ctxmetrics.metrics.base import Metric
from ctxmetrics.samples.sample import Sample
from ctxmetrics.samples.schema import Schema
from ctxmetrics.scores.label_notes import Labels
from ctxmetrics.scores.score import Score

_log = logging.getLogger("ctxmetrics")
# Held so that two threads cannot make two runs of the same name, or warn twice.
_lock = make_lock()
# The labels of a run are checked after these numbers of samples, because a framework does not say which sample is the last.
_SAMPLE_COUNTS_AT_CHECKS = (20, 40, 80, 160)


@dataclass(eq=False, repr=False)
class FrameworkRun:
    """One run of a framework. It is the owner of breakers (`breaker_scope`), and it warns only once.

    Attributes:
        has_name: Whether the run has a name, because the framework shows where it begins and ends.
        warned: Whether the run has warned that the embedded judge answers although no judge was given.
    """

    has_name: bool = False
    warned: bool = False
    _first_record_with_request_error: Any = None
    # For each metric, by its name, the labels so far; None if they are not checked any more.
    _labels: defaultdict[str, Labels | None] = field(default_factory=lambda: defaultdict(Labels))
    # By the fields that metrics read: the first metric that reads them. Other metrics would only check the same labels again.
    _first_metric: dict[tuple[str, ...], str] = field(default_factory=dict)

    def check_labels(self, metric: Metric, sample: Sample) -> None:
        """Log once the notes about the ids and labels in the first samples of a metric."""
        if (
            not self.has_name
            or self._first_metric.setdefault(metric.requires, metric.name) != metric.name
        ):
            return
        labels = self._labels[metric.name]
        if labels is None:
            return
        with _lock:
            labels.add(sample)
            notes: tuple[str, ...] = ()
            if labels.samples in _SAMPLE_COUNTS_AT_CHECKS:
                notes = labels.describe(embedded_judge=False)
            if notes or labels.samples == _SAMPLE_COUNTS_AT_CHECKS[-1]:  # no further check is needed
                self._labels[metric.name] = None
        for note in notes:
            _log.warning("labels so far, %s: %s", metric.name, note)

    def may_go_on(self, error: Exception, record: Any) -> bool:
        """Return whether a run continues although no request about a record could be built.

        The first record with this error may cause it itself, so the run continues. If a second record has the error, too, the
        records are not the cause, and the run ends.
        """
        # Records of several runs without a name cannot be told apart.
        if not (self.has_name and isinstance(error, RequestError)):
            return False
        if self._first_record_with_request_error is None:
            self._first_record_with_request_error = record
        return self._first_record_with_request_error is record

    def warn_of_embedded_judge(self, metric: Metric, schema: Schema, score: Score) -> None:
        """Warn once that the embedded judge gave the verdicts, if the caller of a judged metric gave no judge."""
        has_no_judge = getattr(metric, "judge", None) is None
        is_judged = score.provenance.judge is not None and bool(score.verdicts)
        if self.warned or not has_no_judge or not is_judged:
            return
        with _lock:
            was_warned = self.warned  # another thread may have warned
            self.warned = True
        if was_warned:
            return
        text = (
            f"No judge was given, so ctxmetrics' embedded judge answers: it compares words, not meaning. "
            f"For an LLM, give {schema.judge_option}; for the embedded judge without this warning, "
            "judge=LexicalJudge()."
        )
        # Without a registry Python shows the warning again in the next run.
        warnings.warn_explicit(text, EmbeddedJudgeWarning, schema.package, 1, module=schema.package)


def get_framework_run(package: str, name: str | None) -> FrameworkRun:
    """Return the run of a framework, one object for each package and name.

    Args:
        package: The package of the adapter.
        name: The name of the run; None stands for all records whose run the framework does not show.
    """
    with _lock:
        return _make_run_once(package, name)


@lru_cache(maxsize=256)
def _make_run_once(_package: str, name: str | None) -> FrameworkRun:
    """Make a run, once for each package and name."""
    return FrameworkRun(has_name=name is not None)
