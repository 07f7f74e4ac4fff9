"""Judge against people: how far a judge's verdicts agree with labels, and means corrected by these.

People label a part of the samples, in `Sample.labels`:

* ``context_useful``: yes or no for each retrieved context, in order; compared with context precision's verdicts;
* ``unit_supported``: yes or no for each sentence of the reference; compared with context recall's verdicts;
* ``reference_supported``: one yes or no; compared with whether the judge finds every sentence supported.

``null`` in a list is no label. The unit of every interval is the sample: verdicts on one sample are no independent draws.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from ctxmetrics._display import visible
from ctxmetrics._statistics import corrected_mean
from ctxmetrics._wording import line
from ctxmetrics.errors import MissingFieldError, ParameterError, SampleError
from ctxmetrics.evaluation.engine import evaluate
from ctxmetrics.judges.base import Judgement
from ctxmetrics.metrics.judged import ContextPrecision, ContextRecall, default_judge
from ctxmetrics.samples import Sample
from ctxmetrics.text import detect_language, split_sentences
from ctxmetrics.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Unpack

    from ctxmetrics.evaluation.options import RunOptions
    from ctxmetrics.evaluation.results import Results
    from ctxmetrics.judges.base import Judge, JudgeRequest
    from ctxmetrics.metrics.judged import JudgedMetric
    from ctxmetrics.scores import Score

    Interval: TypeAlias = tuple[float, float] | None

CONTEXTS, UNITS, REFERENCE = "context_useful", "unit_supported", "reference_supported"
_METRICS: dict[str, type[JudgedMetric]] = {
    CONTEXTS: ContextPrecision,
    UNITS: ContextRecall,
    REFERENCE: ContextRecall,
}
"""The labels there are, and the metric whose verdicts each is compared with."""
_THINGS = {CONTEXTS: "retrieved context", UNITS: "sentence of the reference", REFERENCE: "reference"}
FEW = 25
"""With fewer labelled samples, the figures say little."""
_DRAWS, _CHUNK, _SEED = 2000, 100, 0
_ENDS = (2.5, 97.5)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far a judge agrees with people on one kind of label.

    Rates are shares of yes. A figure that is not defined, since people said only yes or only no, is None.

    Attributes:
        label: The label's name.
        samples: Samples with such a label and a verdict of the judge.
        both: Answers where both say yes.
        judge_only: Where only the judge says yes.
        people_only: Where only people do.
        neither: Where both say no.
        not_judged: Labels without a verdict of the judge; they count nowhere else.
        intervals: 95 % intervals of ``bias``, ``balanced_accuracy`` and ``kappa`` (see `intervals_of`).
    """

    label: str
    samples: int
    both: int
    judge_only: int
    people_only: int
    neither: int
    not_judged: int = 0
    intervals: Mapping[str, Interval] | None = None

    @property
    def answers(self) -> int:
        """Labels with a verdict of the judge."""
        return self.both + self.judge_only + self.people_only + self.neither

    @property
    def people_rate(self) -> float | None:
        """How often people say yes."""
        return _share(self.both + self.people_only, self.judge_only + self.neither)

    @property
    def judge_rate(self) -> float | None:
        """How often the judge says yes."""
        return _share(self.both + self.judge_only, self.people_only + self.neither)

    @property
    def bias(self) -> float | None:
        """``judge_rate - people_rate``: above 0 the judge is too lenient."""
        return (self.judge_only - self.people_only) / self.answers if self.answers else None

    @property
    def sensitivity(self) -> float | None:
        """Which share of people's yes the judge finds."""
        return _share(self.both, self.people_only)

    @property
    def specificity(self) -> float | None:
        """Which share of people's no the judge finds."""
        return _share(self.neither, self.judge_only)

    @property
    def balanced_accuracy(self) -> float | None:
        """Mean of sensitivity and specificity: 0.5 is chance, whatever the rates."""
        if self.sensitivity is None or self.specificity is None:
            return None
        return (self.sensitivity + self.specificity) / 2

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa: 1 is full agreement, 0 is chance.

        Formula: ``(p - e) / (1 - e)``, p the share of equal answers, e the share that two independent raters with
        these rates would have. None where e is 1.

        Source: J. Cohen, Educational and Psychological Measurement 20 (1960) 37.
        """
        n = self.answers
        yes = (self.both + self.people_only) * (self.both + self.judge_only)
        no = (self.neither + self.people_only) * (self.neither + self.judge_only)
        by_chance = yes + no  # times n * n
        return (
            (n * (self.both + self.neither) - by_chance) / (n * n - by_chance) if n * n > by_chance else None
        )

    def to_dict(self) -> dict[str, Any]:
        """Return counts, figures and intervals as plain JSON-ready data."""
        counts = ("label", "samples", "answers", "both", "judge_only", "people_only", "neither", "not_judged")
        rates = (
            "people_rate",
            "judge_rate",
            "bias",
            "sensitivity",
            "specificity",
            "balanced_accuracy",
            "kappa",
        )
        return {
            **{name: getattr(self, name) for name in (*counts, *rates)},
            "intervals": {name: found and list(found) for name, found in (self.intervals or {}).items()},
        }


@dataclass(frozen=True, slots=True)
class Correction:
    """A metric's mean, corrected by the samples that people labelled.

    Attributes:
        metric: The metric's name.
        samples: Samples with a score by the judge.
        labelled: Those of them that have one by people, too.
        judge_mean: Mean of the judge's scores over all of them.
        people_mean: Mean of people's scores over the labelled ones.
        mean: The corrected mean; see `ctxmetrics._statistics.corrected_mean`.
        interval: Its 95 % interval.
    """

    metric: str
    samples: int
    labelled: int
    judge_mean: float
    people_mean: float
    mean: float
    interval: tuple[float, float]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON-ready data."""
        return {name: getattr(self, name) for name in self.__slots__} | {"interval": list(self.interval)}


@dataclass(frozen=True, slots=True)
class Dispute:
    """A sample on which judge and people differ.

    Attributes:
        sample_id: The sample's id, or its number.
        label: Which label.
        answers: How many answers were compared.
        verdicts: The judge's verdicts that people contradict.
    """

    sample_id: str
    label: str
    answers: int
    verdicts: tuple[Verdict, ...]

    def __str__(self) -> str:
        head = (
            f"sample {visible(self.sample_id)}, {self.label}: {len(self.verdicts)} of {self.answers} differ"
        )
        return "\n".join(
            (
                head,
                *(
                    f"{line(item)}\n      people say {'no' if item.value else 'yes'}"
                    for item in self.verdicts
                ),
            )
        )


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """What a comparison with people's labels found; as a string, tables.

    Attributes:
        judge: The judge's name.
        agreements: One a kind of label.
        corrections: One a metric for which people's labels give scores.
        disputes: Where they differ, most differences first.
        results: The judge's scores.
    """

    judge: str
    agreements: tuple[Agreement, ...]
    corrections: tuple[Correction, ...]
    disputes: tuple[Dispute, ...]
    results: Results

    def __str__(self) -> str:
        rates = ("label", "samples", "answers", "people", "judge", "bias", "sensitivity", "specificity")
        tables = [[(*rates, "balanced accuracy", "kappa"), *map(_agreement_cells, self.agreements)]]
        if self.corrections:
            means = ("mean of", "by the judge", "by people", "corrected")
            tables.append([means, *map(_correction_cells, self.corrections)])
        lines = [f"{self.judge} against people: shares of yes, 95 % intervals"]
        for table in tables:
            lines += ["", *_aligned(table)]
        lines += [
            f"{item.label}: {item.not_judged} labels without a verdict of the judge"
            for item in self.agreements
            if item.not_judged
        ]
        lines += [
            f"{item.label}: {item.samples} samples are too few to say much; label {FEW} or more"
            for item in self.agreements
            if item.samples < FEW
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain JSON-ready data."""
        return {
            "judge": self.judge,
            "agreements": [item.to_dict() for item in self.agreements],
            "corrections": [item.to_dict() for item in self.corrections],
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
        SampleError: A label is no yes or no, or a list has not as many as there are things to label.

        And what `ctxmetrics.evaluate` raises.
    """
    if options.get("out") is not None:
        raise ParameterError("agree: out= is not possible. Write report.results.to_jsonl(path) afterwards.")
    given = [item if isinstance(item, Sample) else Sample.from_dict(item) for item in samples]
    labels = [name for name in _METRICS if any(name in sample.labels for sample in given)]
    if not labels:
        known = "; ".join(f"'{name}': yes or no for each {_THINGS[name]}" for name in _METRICS)
        raise MissingFieldError(f"No sample has labels to compare with. Write labels={{..}} with {known}.")
    said = {name: [_labels(sample, name) for sample in given] for name in labels}  # before anything is paid
    judging = judge or default_judge()
    kinds = dict.fromkeys(_METRICS[name] for name in labels)
    metrics = {kind: _in_sentences(kind(convention=convention)) for kind in kinds}
    results = evaluate(given, list(metrics.values()), judge=judging, **options)
    compared = [
        _compare(label, row.index, given[row.index], people, row[metrics[_METRICS[label]].name])
        for label in labels
        for row in results
        if (people := said[label][row.index]) is not None
    ]
    return AgreementReport(
        judge=judging.name,
        agreements=tuple(
            _agreement(name, [item for item in compared if item.label == name]) for name in labels
        ),
        corrections=tuple(
            found
            for label in (UNITS, CONTEXTS)
            if label in labels
            and (found := _correction(metrics[_METRICS[label]], given, said[label], results)) is not None
        ),
        disputes=_disputes(compared),
        results=results,
    )


def _in_sentences(metric: JudgedMetric) -> JudgedMetric:
    """Return the metric with sentences as units: claims are the judge's own, and nobody can label them before."""
    return replace(metric, unit="sentence") if metric.needs_claims else metric


@dataclass(frozen=True, slots=True)
class _Compared:
    """One sample's labels of one kind, and the verdicts on the same things, in the same order."""

    label: str
    sample_id: str
    people: tuple[bool | None, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def pairs(self) -> list[tuple[bool, Verdict]]:
        """What people say, and the judge's verdict, where there are both."""
        both = zip(self.people, self.verdicts, strict=True)
        return [(people, item) for people, item in both if people is not None and item.value is not None]


def _labels(sample: Sample, label: str) -> tuple[bool | None, ...] | None:
    """Return a sample's labels of one kind, or None where it has none.

    Raises:
        SampleError: They are no yes or no, or not as many as there are things to label.
    """
    if label not in sample.labels:
        return None
    given = sample.labels[label]
    values = (given,) if label == REFERENCE else given
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise SampleError(
            f"{_who(sample)}: labels.{label} must be a list: true or false for each {_THINGS[label]}."
        )
    if not all(value is None or (isinstance(value, (bool, int)) and value in (0, 1)) for value in values):
        raise SampleError(f"{_who(sample)}: labels.{label} must say true, false or null, and nothing else.")
    if len(values) != (count := _count(sample, label)):
        raise SampleError(
            f"{_who(sample)}: labels.{label} has {len(values)} entries for {count} things to label. "
            f"Write one for each {_THINGS[label]}."
        )
    return tuple(None if value is None else bool(value) for value in values)


def _count(sample: Sample, label: str) -> int:
    """How many things there are to label."""
    if label == CONTEXTS:
        return len(sample.retrieved_contexts or ())
    reference = sample.reference or ""
    return 1 if label == REFERENCE else len(split_sentences(reference, detect_language(reference)))


def _who(sample: Sample) -> str:
    return "A sample" if sample.id is None else f"Sample {visible(sample.id)[:80]!r}"


def _compare(
    label: str, index: int, sample: Sample, people: tuple[bool | None, ...], score: Score
) -> _Compared:
    verdicts = score.verdicts
    if not verdicts:  # nothing was retrieved, which supports nothing; or there is no score
        value = None if score.value is None else False
        verdicts = tuple(Verdict(id=f"s{number}", value=value) for number, _ in enumerate(people, 1))
    if label == REFERENCE:
        verdicts = (_whole(verdicts, sample),)
    return _Compared(label, sample.id or str(index + 1), people, verdicts)


def _whole(verdicts: Sequence[Verdict], sample: Sample) -> Verdict:
    """Return the verdict on a whole reference: no where any sentence has a no, yes where all have a yes."""
    values = {verdict.value for verdict in verdicts}
    value = False if False in values else None if None in values else True
    return Verdict(id=REFERENCE, value=value, text=sample.reference or "")


def _agreement(label: str, compared: Sequence[_Compared]) -> Agreement:
    tables = [_table(item.pairs) for item in compared if item.pairs]
    both, judge_only, people_only, neither = (
        sum(column) for column in zip((0, 0, 0, 0), *tables, strict=True)
    )
    return Agreement(
        label=label,
        samples=len(tables),
        both=both,
        judge_only=judge_only,
        people_only=people_only,
        neither=neither,
        not_judged=sum(
            sum(people is not None for people in item.people) - len(item.pairs) for item in compared
        ),
        intervals=intervals_of(tables),
    )


def _table(pairs: Sequence[tuple[bool, Verdict]]) -> tuple[int, int, int, int]:
    """Count: both yes, judge only, people only, neither."""
    answers = [(people, verdict.value) for people, verdict in pairs]
    return (
        answers.count((True, True)),
        answers.count((False, True)),
        answers.count((True, False)),
        answers.count((False, False)),
    )


def intervals_of(tables: Sequence[tuple[int, int, int, int]]) -> dict[str, Interval]:
    """95 % intervals of ``bias``, ``balanced_accuracy`` and ``kappa``: percentiles of a bootstrap over samples.

    Args:
        tables: One a sample: how many answers are yes of both, of the judge only, of people only, of neither.

    Returns:
        The ends, or None below two samples and for what is not defined in every draw.

    Source: B. Efron, Annals of Statistics 7 (1979) 1; samples are drawn whole, since their answers hang together.
    """
    import numpy as np

    names = ("bias", "balanced_accuracy", "kappa")
    if len(tables) < 2:  # noqa: PLR2004 - one sample says nothing about the spread
        return dict.fromkeys(names)
    counts = np.array(tables, dtype=float)
    random = np.random.default_rng(_SEED)
    even = np.full(len(counts), 1 / len(counts))
    drawn = np.vstack(
        [random.multinomial(len(counts), even, size=_CHUNK) @ counts for _ in range(_DRAWS // _CHUNK)]
    )
    figures = [Agreement("", 0, *map(round, draw)) for draw in drawn.tolist()]
    found: dict[str, Interval] = {}
    for name in names:
        values = [getattr(figure, name) for figure in figures]
        found[name] = None
        if None not in values:
            low, high = np.percentile(values, _ENDS).tolist()
            found[name] = (low, high)
    return found


@dataclass(frozen=True, slots=True)
class _People:
    """A judge that says what people said about one sample."""

    values: tuple[bool | None, ...]
    name: str = "people"
    warnings: tuple[str, ...] = ()

    async def attribute(self, request: JudgeRequest) -> Judgement:
        return self._say(request.unit_ids)

    async def rate(self, request: JudgeRequest) -> Judgement:
        return self._say(request.context_ids)

    def _say(self, ids: Sequence[str]) -> Judgement:
        said = zip(ids, self.values, strict=True)
        return Judgement(verdicts=tuple(Verdict(id=id_, value=value) for id_, value in said))


def _correction(
    metric: JudgedMetric,
    samples: Sequence[Sample],
    said: Sequence[tuple[bool | None, ...] | None],
    results: Results,
) -> Correction | None:
    """Return the metric's corrected mean, or None where people's labels give fewer than two scores."""
    by_people: list[float] = []
    by_judge: list[float] = []
    others: list[float] = []
    for row in results:
        value, labels = row[metric.name].value, said[row.index]
        if value is None:
            continue
        judge = None if labels is None else _People(labels)
        people = None if judge is None else replace(metric, judge=judge).score(samples[row.index]).value
        if people is None:
            others.append(value)
        else:
            by_people.append(people)
            by_judge.append(value)
    if len(by_people) < 2:  # noqa: PLR2004 - a variance needs two
        return None
    mean, interval = corrected_mean(by_people, by_judge, others, scale=metric.rules.scale)
    every = [*by_judge, *others]
    return Correction(
        metric=metric.name,
        samples=len(every),
        labelled=len(by_people),
        judge_mean=math.fsum(every) / len(every),
        people_mean=math.fsum(by_people) / len(by_people),
        mean=mean,
        interval=interval,
    )


def _disputes(compared: Sequence[_Compared]) -> tuple[Dispute, ...]:
    found = []
    for item in compared:
        wrong = tuple(verdict for people, verdict in item.pairs if verdict.value is not people)
        if wrong:
            found.append(Dispute(item.sample_id, item.label, len(item.pairs), wrong))
    return tuple(sorted(found, key=lambda dispute: -len(dispute.verdicts)))


def _share(part: int, rest: int) -> float | None:
    return part / (part + rest) if part + rest else None


def _agreement_cells(item: Agreement) -> tuple[str, ...]:
    intervals = item.intervals or {}
    rates = (item.people_rate, item.judge_rate)
    return (
        item.label,
        str(item.samples),
        str(item.answers),
        *map(_number, rates),
        _with(item.bias, intervals.get("bias"), sign="+"),
        *map(_number, (item.sensitivity, item.specificity)),
        _with(item.balanced_accuracy, intervals.get("balanced_accuracy")),
        _with(item.kappa, intervals.get("kappa")),
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


def _with(value: float | None, interval: Interval, sign: str = "") -> str:
    ends = "" if interval is None else f" ({_number(interval[0], sign)} to {_number(interval[1], sign)})"
    return _number(value, sign) + ends


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
