"""The warning that the embedded judge answers in a framework without having been asked for by name: one a run."""

from __future__ import annotations

import threading
import warnings
from functools import lru_cache
from typing import TYPE_CHECKING

from ctxmetrics.errors import EmbeddedJudgeWarning
from ctxmetrics.metrics.judged import JudgedMetric

if TYPE_CHECKING:
    from ctxmetrics.metrics.base import Metric
    from ctxmetrics.scores import Score


class RunNotice:
    """One run of a framework, which is warned once.

    Args:
        source: The adapter's package, which the warning names as its place.
        advice: What to write for an LLM instead, such as ``"model="``.
    """

    def __init__(self, source: str, advice: str) -> None:
        self._source, self._advice = source, advice
        self._given = False
        self._lock = threading.Lock()

    def check(self, metric: Metric, score: Score) -> None:
        """Warn if the verdicts of a score are the embedded judge's although the metric names no judge."""
        if self._given or not (isinstance(metric, JudgedMetric) and metric.judge is None and score.verdicts):
            return
        with self._lock:
            if self._given:
                return
            text = (
                f"No judge was given, so ctxmetrics' embedded judge answers: it compares words and understands no "
                f"meaning. For an LLM, give {self._advice}; for the embedded judge without this warning, "
                "judge=LexicalJudge()."
            )
            # Without a registry Python does not suppress it in the next run.
            warnings.warn_explicit(text, EmbeddedJudgeWarning, self._source, 1, module=self._source)
            self._given = True


def notice_of(source: str, advice: str, run: str | None = None) -> RunNotice:
    """Return the notice of a run by its name; for None, of the process: the framework shows no run."""
    with _lock:  # a cache alone may give two threads two notices of one run
        return _notice_of(source, advice, run)


def forget() -> None:
    """Forget all runs of all frameworks, as in a new process."""
    _notice_of.cache_clear()


@lru_cache(maxsize=256)
def _notice_of(source: str, advice: str, _: str | None) -> RunNotice:
    return RunNotice(source, advice)


_lock = threading.Lock()
