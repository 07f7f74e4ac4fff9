"""The warning that the embedded judge answers in a framework without having been asked for by name: one a run."""

from __future__ import annotations

import threading
import warnings
from collections import OrderedDict
from functools import cache
from typing import TYPE_CHECKING

from ctxmetrics.errors import EmbeddedJudgeWarning
from ctxmetrics.metrics.judged import JudgedMetric

if TYPE_CHECKING:
    from ctxmetrics.metrics.base import Metric
    from ctxmetrics.scores import Score

_KNOWN_RUNS = 256


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


class RunNotices:
    """The notices of a framework's runs, found by the run's name.

    Args:
        source: See `RunNotice`.
        advice: See `RunNotice`.
    """

    def __init__(self, source: str, advice: str) -> None:
        self._source, self._advice = source, advice
        self._runs: OrderedDict[str | None, RunNotice] = OrderedDict()
        self._lock = threading.Lock()

    def new(self) -> RunNotice:
        """Return the notice of a run that begins."""
        return RunNotice(self._source, self._advice)

    def of(self, run: str | None) -> RunNotice:
        """Return the notice of a run; for None, of the process: the framework shows no run."""
        with self._lock:
            notice = self._runs.setdefault(run, self.new())
            self._runs.move_to_end(run)
            while len(self._runs) > _KNOWN_RUNS:
                self._runs.popitem(last=False)
            return notice

    def forget(self) -> None:
        """Forget all runs, as in a new process."""
        with self._lock:
            self._runs.clear()


@cache
def notices_of(source: str, advice: str) -> RunNotices:
    """Return the notices of an adapter's runs, made once; see `RunNotice`."""
    notices = RunNotices(source, advice)
    _all.append(notices)
    return notices


_all: list[RunNotices] = []


def forget() -> None:
    """Forget all runs of all frameworks, as in a new process."""
    for notices in _all:
        notices.forget()
