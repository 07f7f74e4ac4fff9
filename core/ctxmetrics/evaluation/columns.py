"""The values of one metric over a run, compactly: what a run of any length keeps."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ctxmetrics._statistics import mean_interval
from ctxmetrics.metrics.base import Metric
from ctxmetrics.report.view import MetricSummary
from ctxmetrics.samples import Sample
from ctxmetrics.scores import FAILURES, Provenance, Score
from ctxmetrics.verdicts import unjudged

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Ends the name of the column that says why a value is missing.
REASON = ".reason_code"
# A server may call itself by another name in each reply.
_MOST_PROVENANCES = 16


@dataclass(frozen=True, slots=True)
class Values:
    """The values of one metric as arrays: what the columns of a table are made of.

    Attributes:
        values: One a row; NaN where there is none.
        codes: For each row, which of the reasons is why there is none.
        reasons: Reason codes, each once; None is that there is a value.
    """

    values: NDArray[np.float64]
    codes: NDArray[np.int8]
    reasons: tuple[str | None, ...]

    def texts(self) -> list[str | None]:
        """Return the reason code of each row."""
        return [self.reasons[code] for code in self.codes.tolist()]


@dataclass(slots=True)
class Column:
    """The values of one metric, one a row.

    Attributes:
        metric: Its name.
        scale: Its highest score.
        values: NaN where there is none.
        codes: The place of each row's reason code among `names`.
        names: The reason codes that occurred; empty text where there is a value.
        causes: Why verdicts are missing, by verdict code.
        words: What was said when each cause occurred first.
        convention: Name of the convention.
        passed: Rows that reach the pass mark.
        failed: Rows that failed.
        answered: Whether some verdict is a yes or a no.
        verdicts: How many verdicts there are.
        doubts: Doubtful verdicts by their code.
        doubtful: How many each row has.
        threshold: The pass mark.
        provenances: What the scores say about themselves, each once.
        last: The provenance before.
    """

    metric: str
    scale: float = 1.0
    values: array[float] = field(default_factory=lambda: array("d"))
    codes: array[int] = field(default_factory=lambda: array("B"))
    names: dict[str, int] = field(default_factory=dict)
    causes: Counter[str] = field(default_factory=Counter)
    words: dict[str, str] = field(default_factory=dict)
    convention: str = "default"
    passed: int = 0
    failed: int = 0
    answered: bool = False
    verdicts: int = 0
    doubts: Counter[str] = field(default_factory=Counter)
    doubtful: array[int] = field(default_factory=lambda: array("I"))
    threshold: float | None = None
    provenances: dict[Provenance, None] = field(default_factory=dict)
    last: Provenance | None = None

    def add(self, score: Score) -> None:
        """Append a row's score."""
        code = score.reason_code or ""
        if score.provenance != self.last and len(self.provenances) < _MOST_PROVENANCES:
            self.last = score.provenance
            self.provenances[self.last] = None
        self.values.append(math.nan if score.value is None else score.value)
        self.codes.append(self.names.setdefault(code, len(self.names)))
        missing = unjudged(score.verdicts)
        for verdict in missing:
            self.causes[verdict.code or "not judged"] += 1
            self.words.setdefault(verdict.code or "not judged", verdict.reason or "")
        if code == "metric_error":
            self.words.setdefault(code, score.message or "")
        self.answered = self.answered or len(missing) < len(score.verdicts)
        self.verdicts += len(score.verdicts)
        doubts = score.doubtful
        self.doubts.update(doubts)
        self.doubtful.append(sum(doubts.values()))
        self.convention = score.provenance.convention
        self.passed += score.passed is True
        self.failed += code in FAILURES
        self.threshold = score.threshold if score.threshold is not None else self.threshold

    def add_values(
        self,
        metric: Metric,
        values: NDArray[np.float64],
        codes: NDArray[np.int8],
        reasons: Sequence[str | None],
    ) -> None:
        """Append values without verdicts; NaN where there is none, and the code says which of the reasons is why."""
        import numpy as np

        self.provenances[metric.build(Sample(), None).provenance] = None
        self.values.frombytes(values.tobytes())
        names = [self.names.setdefault(reason or "", len(self.names)) for reason in reasons]
        self.codes.frombytes(np.array(names, np.uint8)[codes].tobytes())
        self.doubtful.extend([0] * len(values))
        self.convention, self.threshold = metric.convention, metric.pass_mark
        if self.threshold is not None:
            self.passed += int((values >= self.threshold).sum())
        self.failed += int(np.array([reason in FAILURES for reason in reasons])[codes].sum())

    def as_arrays(self) -> Values:
        """Return the values and reason codes."""
        import numpy as np

        reasons = tuple(name or None for name in self.names)
        return Values(np.array(self.values, np.float64), np.array(self.codes, np.int8), reasons)

    def score(self, index: int, sample_id: str | None) -> Score:
        """Return what is known of a row's score: value and reason code."""
        value = self.values[index]
        return Score(
            metric=self.metric,
            value=None if math.isnan(value) else value,
            reason_code=list(self.names)[self.codes[index]] or None,
            threshold=self.threshold,
            provenance=Provenance(convention=self.convention),
            sample_id=sample_id,
        )

    def summary(self) -> MetricSummary:
        """Return the metric over all rows."""
        known = [value for value in self.values if not math.isnan(value)]
        names, pairs = list(self.names), zip(self.values, self.codes, strict=True)
        missing = Counter(names[code] for value, code in pairs if math.isnan(value))
        return MetricSummary(
            metric=self.metric,
            samples=len(self.values),
            scored=len(known),
            mean=math.fsum(known) / len(known) if known else None,
            interval=mean_interval(known, scale=self.scale),
            missing=dict(missing),
            causes=dict(self.causes),
            verdicts=self.verdicts,
            doubtful=dict(self.doubts),
            passed=None if self.threshold is None else self.passed,
            threshold=self.threshold,
            convention=self.convention,
        )
