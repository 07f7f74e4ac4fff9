"""The outcome of a gate: a bar for a mean, a pass rate, a share or a difference between two runs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ctxmetrics._internal.frozen import Plain


@dataclass(frozen=True, slots=True)
class Outcome(Plain):
    """The outcome of a gate. A file of results holds all fields except the samples, and ``passed``.

    Attributes:
        gate: The gate as it was written, such as ``--fail-under context_recall=0.8``.
        problem: Why it failed; None if it passed.
        samples: One line for each sample that causes the problem.
        metric: The metric; None for a gate that is about all of a run.
        bar: The lowest value that passes, or the largest share or loss.
        value: The value that is compared with the bar; None if there is no value.
        against: The run that this one was compared with; None if there is none.
        verdict: The verdict of `ctxmetrics.compare` about the metric, such as ``better`` or ``worse``.
    """

    gate: str
    problem: str | None = None
    samples: tuple[str, ...] = ()
    metric: str | None = None
    bar: float | None = None
    value: float | None = None
    against: str | None = None
    verdict: str | None = None

    @property
    def passed(self) -> bool:
        """Whether the gate passed."""
        return self.problem is None

    @property
    def label(self) -> str:
        """The gate, the value that was compared with its bar, and the run that this one was compared with."""
        text = self.gate if self.against is None else f"{self.gate} against {self.against}"
        details: list[str] = []
        if self.value is not None:
            details.append(f"{self.value:.4g}")
        if self.verdict:
            details.append(self.verdict)
        return f"{text} ({', '.join(details)})" if details else text

    def in_setting(self, name: str) -> Outcome:
        """Return the outcome with the name of one of several retrievers."""
        problem = None if self.problem is None else f"{name}: {self.problem}"
        return replace(self, gate=f"{name}: {self.gate}", problem=problem)
