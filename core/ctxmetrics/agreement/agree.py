"""Judge against people: how far a judge's verdicts agree with labels, and means corrected by these.

People label a part of the samples, in `Sample.labels`:

* ``context_useful``: yes or no for each retrieved context, in order; compared with context precision's verdicts;
* ``unit_supported``: yes or no for each sentence of the reference; compared with context recall's verdicts;
* ``reference_supported``: one yes or no; compared with whether the judge finds every sentence supported;
* ``weight``: how many samples this one stands for, where they were not drawn equally often (as `ctxmetrics label --by`
  does); the corrected means use it. A sample without it has the weight 1.

``null`` in a list is no label. The unit of every interval is the sample: verdicts on one sample are no independent draws.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ctxmetrics.agreement.correction import correction_of
from ctxmetrics.agreement.figures import FEW, agreement_of
from ctxmetrics.agreement.labels import KINDS, REFERENCE, compared, labels_of, weight_of
from ctxmetrics.comparison.labelled import people_value
from ctxmetrics.conventions import get_convention
from ctxmetrics.errors import MissingFieldError, ParameterError
from ctxmetrics.evaluation.engine import evaluate
from ctxmetrics.metrics.judged import default_judge
from ctxmetrics.report.view import aligned
from ctxmetrics.samples import Sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from typing_extensions import Unpack

    from ctxmetrics.agreement.correction import Correction
    from ctxmetrics.agreement.figures import Agreement
    from ctxmetrics.agreement.labels import Compared
    from ctxmetrics.evaluation.options import RunOptions
    from ctxmetrics.evaluation.results import Results
    from ctxmetrics.judges.base import Judge
    from ctxmetrics.metrics.base import Metric
    from ctxmetrics.scores import Score

# The rows of the table of agreement.
_NAMES = (
    *("shares of yes", "samples", "answers", "people", "judge", "bias"),
    *("sensitivity", "specificity", "balanced accuracy", "kappa"),
)


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """What a comparison with people's labels found; as a string, tables.

    Attributes:
        judge: The judge's name.
        agreements: One a kind of label.
        corrections: One a metric for which people's labels give scores.
        disputes: Samples on which judge and people differ, most differences first.
        results: The judge's scores.
    """

    judge: str
    agreements: tuple[Agreement, ...]
    corrections: tuple[Correction, ...]
    disputes: tuple[Compared, ...]
    results: Results

    def __str__(self) -> str:
        lines = [f"{self.judge} against people"]
        lines += [f"{item.label}: {item.conclusion}" for item in self.agreements]
        lines += [f"{item.metric}: {item.conclusion}" for item in self.corrections]
        lines += [
            f"{item.label}: {item.samples} samples are too few to say much; label {FEW} or more"
            for item in self.agreements
            if item.samples < FEW
        ]
        lines += [
            f"{item.label}: {item.not_judged} labels without a verdict of the judge"
            for item in self.agreements
            if item.not_judged
        ]
        columns = [_agreement_cells(item) for item in self.agreements]
        lines += ["", *aligned(list(zip(_NAMES, *columns, strict=True)))]
        if self.corrections:
            means = ("mean of", "by the judge", "by people", "corrected")
            lines += ["", *aligned([means, *map(_correction_cells, self.corrections)])]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain JSON-ready data."""
        return {
            "judge": self.judge,
            "agreements": [item.to_dict() for item in self.agreements],
            "corrections": [asdict(item) for item in self.corrections],
        }


def agree(
    samples: Iterable[Sample | Mapping[str, Any]],
    *,
    judge: Judge | None = None,
    convention: str = "default",
    **options: Unpack[RunOptions],
) -> AgreementReport:
    """Let a judge judge samples, of which people labelled a part, and compare.

    Args:
        samples: The samples, or dicts of their fields; those without labels serve the corrected means.
        judge: The judge; None: the embedded one.
        convention: Whose formulas the means have; sentences are the units in any case.
        **options: As for `ctxmetrics.evaluate`, but ``out``.

    Raises:
        ParameterError: ``out`` is given: the verdicts are needed here.
        MissingFieldError: No sample has a label.
        SampleError: A label is no yes or no, a list has not as many as there are things to label, or a weight is no
            number above 0.
        CtxMetricsError: What `ctxmetrics.evaluate` raises.
    """
    if options.get("out") is not None:
        raise ParameterError("agree: out= is not possible. Write report.results.to_jsonl(path) afterwards.")
    given = [item if isinstance(item, Sample) else Sample.from_dict(item) for item in samples]
    labels = [name for name in KINDS if any(name in sample.labels for sample in given)]
    if not labels:
        known = "; ".join(f"'{name}': yes or no for each {thing}" for name, (thing, _) in KINDS.items())
        raise MissingFieldError(f"No sample has labels to compare with. Write labels={{..}} with {known}.")
    said = {name: [labels_of(sample, name) for sample in given] for name in labels}  # before anything is paid
    weights = [weight_of(sample) for sample in given]
    judging = judge or default_judge()
    # Claims are the judge's own: people cannot label them before.
    unit: dict[str, Any] = {} if get_convention(convention).unit == "sentence" else {"unit": "sentence"}
    metrics = {KINDS[name][1]: KINDS[name][1](convention=convention, **unit) for name in labels}
    results = evaluate(given, list(metrics.values()), judge=judging, **options)
    found: dict[str, list[Compared]] = {}
    corrections = []
    for name in labels:
        metric = metrics[KINDS[name][1]]
        scores = [row[metric.name] for row in results]
        triples = list(zip(given, scores, said[name], strict=True))
        found[name] = [
            compared(name, place, *triple) for place, triple in enumerate(triples, 1) if triple[2] is not None
        ]
        corrections.append(_correction(name, metric, triples, weights))
    disputes = [item for items in found.values() for item in items if item.disputed]
    return AgreementReport(
        judge=judging.name,
        agreements=tuple(agreement_of(name, found[name]) for name in labels),
        corrections=tuple(item for item in reversed(corrections) if item is not None),
        disputes=tuple(sorted(disputes, key=lambda item: -len(item.disputed))),
        results=results,
    )


def _correction(
    label: str,
    metric: Metric,
    triples: Sequence[tuple[Sample, Score, tuple[bool | None, ...] | None]],
    weights: Sequence[float],
) -> Correction | None:
    """Return the mean that one kind of label corrects: a metric's, or the share of references that are supported."""
    if label == REFERENCE:
        whole = [compared(label, place, *triple) for place, triple in enumerate(triples, 1)]
        return correction_of(label, [item.values for item in whole], weights)
    values = [
        (score.value, people_value(metric, score.value, len(score.verdicts), labels))
        for _, score, labels in triples
    ]
    return correction_of(metric.name, values, weights, scale=metric.rules.scale)


def _agreement_cells(item: Agreement) -> tuple[str, ...]:
    intervals = item.intervals or {}
    names = ("sensitivity", "specificity", "balanced_accuracy", "kappa")
    return (
        item.label,
        str(item.samples),
        str(item.answers),
        *map(_number, (item.people_rate, item.judge_rate)),
        _with(item.bias, intervals.get("bias"), sign="+"),
        *(_with(getattr(item, name), intervals.get(name)) for name in names),
    )


def _correction_cells(item: Correction) -> tuple[str, ...]:
    return (
        item.metric,
        f"{_number(item.judge_mean)} of {item.samples}",
        f"{_number(item.people_mean)} of {item.labelled}",
        _with(item.mean, item.interval),
    )


def _number(value: float | None, sign: str = "") -> str:
    return "-" if value is None else f"{value:{sign}.3f}"


def _with(value: float | None, interval: tuple[float, float] | None, sign: str = "") -> str:
    ends = "" if interval is None else f" ({_number(interval[0], sign)} to {_number(interval[1], sign)})"
    return _number(value, sign) + ends
