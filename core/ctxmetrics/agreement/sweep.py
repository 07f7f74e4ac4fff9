"""The string variants at every cut: which ``min_similarity`` suits the data, and which agrees with people."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ctxmetrics._frozen import Plain, plain
from ctxmetrics.agreement.figures import Agreement, agreement_of, shown
from ctxmetrics.agreement.labels import compared, labels_of
from ctxmetrics.comparison.labelled import CONTEXTS
from ctxmetrics.evaluation.engine import evaluate
from ctxmetrics.metrics.strings import NonLLMContextPrecision, NonLLMContextRecall
from ctxmetrics.report.view import aligned
from ctxmetrics.samples import Sample

CUTS = tuple(number / 100 for number in range(30, 100, 5))


@dataclass(frozen=True, slots=True)
class Step(Plain):
    """The string variants at one cut.

    Attributes:
        min_similarity: The cut.
        recall: Mean of `NonLLMContextRecall`, or None without a value.
        precision: Mean of `NonLLMContextPrecision`.
        agreement: How far the precision's verdicts agree with ``context_useful`` labels; None without labels.
    """

    min_similarity: float
    recall: float | None
    precision: float | None
    agreement: Agreement | None


@dataclass(frozen=True, slots=True)
class Sweep:
    """The string variants at every cut; as a string, a table.

    Attributes:
        steps: One a cut, lowest first.
        samples: How many samples there are.
        labelled: How many have ``context_useful`` labels.
    """

    steps: tuple[Step, ...]
    samples: int
    labelled: int

    @property
    def best(self) -> Step | None:
        """The step with the highest kappa, the lowest cut of equal ones; None without labels."""
        found, highest = None, -math.inf
        for step in self.steps:
            if step.agreement is not None and (step.agreement.kappa or 0.0) > highest:
                found, highest = step, step.agreement.kappa or 0.0
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain JSON-ready data."""
        best = self.best
        return {
            "samples": self.samples,
            "labelled": self.labelled,
            "steps": plain(self.steps),
            "best": None if best is None else best.min_similarity,
        }

    def __str__(self) -> str:
        header = ["min_similarity", "recall", "precision"]
        header += ["balanced accuracy", "kappa", "bias"] if self.labelled else []
        rows = [header, *(_cells(step)[: len(header)] for step in self.steps)]
        lines = [f"{self.samples} samples, {self.labelled} with {CONTEXTS} labels", "", *aligned(rows)]
        if (best := self.best) is not None and best.agreement is not None:
            lines += [
                "",
                (
                    f"Highest agreement with people's labels: min_similarity={best.min_similarity:g}, "
                    f"kappa {best.agreement.kappa or 0.0:.3f}. Chosen on these samples; check it on others."
                ),
            ]
        return "\n".join(lines)


def sweep(samples: Iterable[Sample], *, convention: str = "default") -> Sweep:
    """Score samples with both string variants at each of `CUTS`.

    Args:
        samples: The samples, with retrieved and reference contexts.
        convention: Whose formulas the means have.

    Raises:
        MissingFieldError: No sample has both fields.
        SampleError: A label is no yes or no, or a list has not as many as there are contexts.
    """
    given = list(samples)
    said = [labels_of(sample, CONTEXTS) for sample in given]
    recalls = [NonLLMContextRecall(convention=convention, min_similarity=cut) for cut in CUTS]
    precisions = [NonLLMContextPrecision(convention=convention, min_similarity=cut) for cut in CUTS]
    results = evaluate(given, [*recalls, *precisions])
    summary = results.summary()
    steps = []
    for cut, recall, precision in zip(CUTS, recalls, precisions, strict=True):
        found = [
            compared(CONTEXTS, number, sample, row[precision.name], people)
            for number, (sample, row, people) in enumerate(zip(given, results, said, strict=True), 1)
            if people is not None and row[precision.name].verdicts
        ]
        agreement = agreement_of(CONTEXTS, found) if found else None
        steps.append(Step(cut, summary[recall.name].mean, summary[precision.name].mean, agreement))
    return Sweep(tuple(steps), len(given), sum(people is not None for people in said))


def _cells(step: Step) -> list[str]:
    found = step.agreement
    figures = [step.recall, step.precision]
    figures += [None] * 3 if found is None else [found.balanced_accuracy, found.kappa, found.bias]
    return [f"{step.min_similarity:.2f}", *map(shown, figures)]
