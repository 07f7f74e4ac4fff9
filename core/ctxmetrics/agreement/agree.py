"""How far a judge's verdicts agree with people's labels, and means corrected by these labels.

People label a part of the samples, in `Sample.labels`:

* ``context_useful``: yes or no for each retrieved context, in order; compared with context precision's verdicts;
* ``unit_supported``: yes or no for each sentence of the reference; compared with context recall's verdicts;
* ``reference_supported``: one yes or no; compared with whether the judge finds every sentence supported;
* ``weight``: how many samples this one stands for, where they were not drawn equally often (as `ctxmetrics label --by`
  does); the corrected means use it. A sample without it has the weight 1.

``null`` in a list is no label. The unit of every interval is the sample: verdicts on one sample are no independent draws.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, Unpack

from ctxmetrics._display import visible
from ctxmetrics._frozen import plain
from ctxmetrics._wording import plural
from ctxmetrics.agreement.correction import (
    Bar,
    Correction,
    Ranking,
    SystemFigures,
    bar_of,
    correction_of,
    ranking_of,
)
from ctxmetrics.agreement.figures import (
    FEW,
    Agreement,
    JudgeTable,
    PeopleAgreement,
    agreement_of,
    among_people,
    shown,
    shown_with,
    table_of,
)
from ctxmetrics.agreement.labelling.draw import read_labelled
from ctxmetrics.agreement.labels import (
    KINDS,
    Compared,
    compared,
    labels_of,
    metric_in,
    scores_in,
)
from ctxmetrics.comparison.answers import REFERENCE, Key, people_value, weight_in
from ctxmetrics.comparison.joining import groups_of
from ctxmetrics.conventions import get_convention
from ctxmetrics.errors import MissingFieldError, ParameterError
from ctxmetrics.evaluation.engine import evaluate
from ctxmetrics.evaluation.options import RunOptions
from ctxmetrics.evaluation.results import Results
from ctxmetrics.judges.base import Judge
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.judged import default_judge
from ctxmetrics.report.rows import key_of
from ctxmetrics.report.view import aligned
from ctxmetrics.samples import Sample
from ctxmetrics.scores import Score

# The rows of the table of agreement.
_NAMES = (
    *("shares of yes", "samples", "answers", "people", "judge", "bias"),
    *("sensitivity", "specificity", "balanced accuracy", "kappa"),
)
_CORRECTED = ("mean of", "by the judge", "by people", "corrected")
# A labelled sample: its key, the judge's score, people's score, and its weight.
Labelled: TypeAlias = "tuple[Key, float, float, float]"


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """What a comparison with people's labels found; as a string, tables.

    Attributes:
        judge: The judge's name.
        agreements: One a kind of label.
        corrections: One a metric for which people's labels give scores.
        disputes: Samples on which judge and people differ, most differences first.
        results: The judge's scores.
        compared: The labels beside the verdicts, by kind of label.
        systems: One a metric and system, where systems were asked for.
        rankings: One a metric: whether the judge ranks the systems as people do.
        people: How far several annotators agree, where a labels file has several.
        clusters: How many clusters of samples there are, where clusters were asked for.
        bars: For the embedded judge: a proposed `Bar` for each kind of label about support.
        labelled: By metric, the kind of label and each labelled sample: its key, the judge's score, people's, its weight.
    """

    judge: str
    agreements: tuple[Agreement, ...]
    corrections: tuple[Correction, ...]
    disputes: tuple[Compared, ...]
    results: Results
    compared: Mapping[str, tuple[Compared, ...]] = field(default_factory=dict)
    systems: tuple[SystemFigures, ...] = ()
    rankings: tuple[Ranking, ...] = ()
    people: tuple[PeopleAgreement, ...] = ()
    clusters: int | None = None
    bars: tuple[Bar, ...] = ()
    labelled: Mapping[str, tuple[str, tuple[Labelled, ...]]] = field(default_factory=dict)

    def __str__(self) -> str:
        within = "" if self.clusters is None else f", samples in {plural(self.clusters, 'cluster')}"
        corrected = [
            (
                item.metric,
                f"{shown(item.judge_mean)} of {item.samples}",
                f"{shown(item.people_mean)} of {item.labelled}",
                shown_with(item.mean, item.interval),
            )
            for item in self.corrections
        ]
        by_metric = {
            metric: [item for item in self.systems if item.metric == metric]
            for metric in dict.fromkeys(item.metric for item in self.systems)
        }
        blocks = [
            [f"{self.judge} against people{within}", *self._sentences()],
            aligned(list(zip(_NAMES, *map(_agreement_cells, self.agreements), strict=True))),
            aligned([_CORRECTED, *corrected] if corrected else []),
            *(_system_lines(metric, items) for metric, items in by_metric.items()),
            list(map(str, self.people)),
        ]
        return "\n\n".join("\n".join(lines) for lines in blocks if lines)

    def _sentences(self) -> Iterator[str]:
        """Yield what the figures mean."""
        among = {item.label: item for item in self.people}
        for item in self.agreements:
            yield f"{item.label}: {item.conclusion}"
            if item.label in among and (beside := among[item.label].beside(item)):
                yield f"{item.label}: {beside}"
        yield from (f"{item.metric}: {item.conclusion}" for item in self.corrections)
        yield from (f"{item.metric}: {item.conclusion}" for item in self.rankings)
        yield from (f"{item.label}: {item.conclusion}" for item in self.bars)
        for item in self.agreements:
            if item.samples < FEW:
                yield f"{item.label}: {plural(item.samples, 'sample', 'is', 'are')} too few to say much; label {FEW} or more"
            if item.not_judged:
                yield f"{item.label}: {plural(item.not_judged, 'label')} without a verdict of the judge"

    def beside(self, *others: AgreementReport) -> JudgeTable:
        """Return this judge and others on the same labels: figures side by side, and paired differences to this one.

        Raises:
            ParameterError: The others were compared with other labels.
        """
        reports = (self, *others)
        return table_of(
            [item.judge for item in reports],
            [item.agreements for item in reports],
            [item.compared for item in reports],
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain JSON-ready data."""
        return {
            name: plain(getattr(self, name))
            for name in (
                "judge",
                "agreements",
                "corrections",
                "systems",
                "rankings",
                "people",
                "clusters",
                "bars",
            )
        }


def agree(
    samples: Iterable[Sample | Mapping[str, Any]],
    *,
    judge: Judge | None = None,
    results: Results | str | os.PathLike[str] | None = None,
    labels: str | os.PathLike[str] | None = None,
    annotator: str | None = None,
    system: str | None = None,
    cluster: str | None = None,
    convention: str = "default",
    **options: Unpack[RunOptions],
) -> AgreementReport:
    """Let a judge judge samples of which people labelled a part, and compare its verdicts with the labels.

    Args:
        samples: The samples, or dicts of their fields; those without labels are used for the corrected
            means.
        judge: The judge; None: the embedded one.
        results: A run over these samples, or the file that ``--out`` wrote: its verdicts are compared, and no judge is
            asked.
        labels: A file of people's answers (`ctxmetrics label`), in place of the labels that the samples have.
        annotator: The person whose answers of that file are read; None: the majority of all.
        system: A key of the samples' metadata, such as ``"metadata.system"``: the figures are also given for each value,
            and whether the judge ranks the systems as people do.
        cluster: A key of the samples' metadata, such as ``"metadata.document"``: samples with the same value belong
            together, and count as one draw of the intervals.
        convention: Whose formulas the means have; sentences are the units in any case. With ``results``, theirs.
        **options: As for `ctxmetrics.evaluate`, except ``out``.

    Returns:
        The figures of agreement, and the corrected means; ``print`` shows them as tables.

    Raises:
        ParameterError: ``out`` is given: the verdicts are needed here. Or the results are not about these samples, or a
            sample lacks a key of the metadata.
        MissingFieldError: No sample has a label.
        SampleError: A label is no yes or no, a list has not as many as there are things to label, or a weight is no
            number above 0.
        InputFileError: A file cannot be read, or is no file of labels or results.
        CtxMetricsError: What `ctxmetrics.evaluate` raises.
    """
    if options.get("out") is not None:
        raise ParameterError("agree: out= is not possible. Write report.results.to_jsonl(path) later.")
    if "metrics" in options:
        raise ParameterError("agree: metrics= is not possible: the labels say what is compared.")
    if results is not None and judge is not None:
        raise ParameterError("agree: give judge= or results=, not both.")
    given = [item if isinstance(item, Sample) else Sample.from_dict(item) for item in samples]
    if labels is not None:
        given = read_labelled(given, Path(labels), annotator=annotator)
    elif annotator is not None:
        raise ParameterError("agree: annotator= needs labels=, the file that says who answered what.")
    # All of this is checked before anything is paid.
    said, weights = _said(given), [weight_in(one.labels, one.called("A sample")) for one in given]
    groups, systems = groups_of(given, cluster, "agree"), groups_of(given, system, "agree")
    judging = judge or default_judge()
    if results is None:
        found, metrics, scores = _judged(given, list(said), judging, convention, options)
    else:
        found = results if isinstance(results, Results) else Results.from_jsonl(results)
        metrics = {name: metric_in(found, name) for name in said}
        scores = {name: scores_in(found, metrics[name], given, said[name], name) for name in said}
    columns = [
        _Column(name, metrics[name], given, scores[name], said[name], weights, groups) for name in said
    ]
    judges = (score.provenance.judge for score in columns[0].scores)
    name = judging.name if results is None else next(filter(None, judges), "the run")
    return _report(name, found, columns, systems, [] if labels is None else among_people(Path(labels)))


def _said(samples: Sequence[Sample]) -> dict[str, list[tuple[bool | None, ...] | None]]:
    """Return people's labels on each sample, by the kinds of label that there are."""
    kinds = [name for name in KINDS if any(name in sample.labels for sample in samples)]
    if not kinds:
        known = "; ".join(f"'{name}': yes or no for each {thing}" for name, (thing, _) in KINDS.items())
        raise MissingFieldError(
            f"No sample has labels to compare with. Write labels={{..}} with {known}."
        )
    return {name: [labels_of(sample, name) for sample in samples] for name in kinds}


def _judged(
    samples: Sequence[Sample], kinds: Sequence[str], judge: Judge, convention: str, options: RunOptions
) -> tuple[Results, dict[str, Metric], dict[str, list[Score]]]:
    """Let a judge judge samples; return the results, and the metric and the scores of each kind of label."""
    # Each judge makes its own claims: people cannot label them before.
    unit: dict[str, Any] = {} if get_convention(convention).unit == "sentence" else {"unit": "sentence"}
    metrics: dict[str, Metric] = {name: KINDS[name][1](convention=convention, **unit) for name in kinds}
    found = evaluate(samples, list(dict.fromkeys(metrics.values())), judge=judge, **options)
    return (
        found,
        metrics,
        {name: [row[metric.name] for row in found] for name, metric in metrics.items()},
    )


@dataclass(frozen=True)
class _Column:
    """One kind of label of all samples, beside the scores that it is compared with."""

    label: str
    metric: Metric
    samples: Sequence[Sample]
    scores: Sequence[Score]
    said: Sequence[tuple[bool | None, ...] | None]
    weights: Sequence[float]
    groups: Sequence[str] | None

    @property
    def name(self) -> str:
        """The mean that the label corrects: the metric's, or the share of references that are supported."""
        return self.label if self.label == REFERENCE else self.metric.name

    def compared(self, places: Iterable[int]) -> tuple[Compared, ...]:
        """Return the labels of some samples beside the verdicts."""
        return tuple(self._beside(place) for place in places if self.said[place] is not None)

    def correction(self, places: Sequence[int]) -> Correction | None:
        """Return the mean of some samples, corrected by their labels."""
        return correction_of(
            self.name,
            [(*self.values(place), self.weights[place]) for place in places],
            groups=None if self.groups is None else [self.groups[place] for place in places],
            scale=1.0 if self.label == REFERENCE else self.metric.rules.scale,
        )

    @property
    def labelled(self) -> tuple[Labelled, ...]:
        """The labelled samples that the correction rests on."""
        return tuple(
            (key_of(sample), judge, people, self.weights[place])
            for place, sample in enumerate(self.samples)
            for judge, people in (self.values(place),)
            if judge is not None and people is not None
        )

    def _beside(self, place: int) -> Compared:
        return compared(
            self.label,
            place + 1,
            self.samples[place],
            self.scores[place],
            self.said[place],
            group=None if self.groups is None else self.groups[place],
        )

    def values(self, place: int) -> tuple[float | None, float | None]:
        """Return the score by the judge, and the one that people's labels give."""
        if self.label == REFERENCE:
            return self._beside(place).values
        score = self.scores[place]
        return score.value, people_value(self.metric, score, self.said[place])


def _report(
    judge: str,
    results: Results,
    columns: Sequence[_Column],
    systems: Sequence[str] | None,
    people: Sequence[PeopleAgreement],
) -> AgreementReport:
    everyone, groups = range(len(columns[0].samples)), columns[0].groups
    beside = {column.label: column.compared(everyone) for column in columns}
    figures = [] if systems is None else list(_by_system(columns, systems))
    rankings = [
        ranking_of(name, [item for item in figures if item.metric == name])
        for name in dict.fromkeys(item.metric for item in figures)
    ]
    corrections = [column.correction(everyone) for column in reversed(columns)]
    disputes = (item for items in beside.values() for item in items if item.disputed)
    return AgreementReport(
        judge=judge,
        agreements=tuple(agreement_of(name, items) for name, items in beside.items()),
        corrections=tuple(item for item in corrections if item is not None),
        disputes=tuple(sorted(disputes, key=lambda item: -len(item.disputed))),
        results=results,
        compared=beside,
        systems=tuple(figures),
        rankings=tuple(item for item in rankings if item is not None),
        people=tuple(people),
        clusters=None if groups is None else len(set(groups)),
        bars=tuple(
            bar for column in columns if (bar := bar_of(column.label, column.scores, column.said))
        ),
        labelled={
            column.name: (column.label, column.labelled)
            for column in columns
            if column.label != REFERENCE
        },
    )


def _by_system(columns: Iterable[_Column], systems: Sequence[str]) -> Iterator[SystemFigures]:
    for column in columns:
        for system in sorted(set(systems)):
            places = [place for place, name in enumerate(systems) if name == system]
            values = [value for value, _ in map(column.values, places) if value is not None]
            yield SystemFigures(
                column.name,
                system,
                len(values),
                sum(values) / len(values) if values else None,
                agreement_of(column.label, column.compared(places)),
                column.correction(places),
            )


def _system_lines(metric: str, items: Sequence[SystemFigures]) -> list[str]:
    figures = aligned([("judge", "people", "corrected", "bias"), *map(_system_cells, items)])
    room = 100 - max(map(len, figures)) - 2  # characters of a line
    names = [metric, *(visible(item.system) for item in items)]
    return aligned([(name[:room], line) for name, line in zip(names, figures, strict=True)])


def _system_cells(item: SystemFigures) -> tuple[str, ...]:
    known = item.correction
    return (
        f"{shown(item.judge_mean)} of {item.samples}",
        "-" if known is None else f"{shown(known.people_mean)} of {known.labelled}",
        "-" if known is None else shown_with(known.mean, known.interval),
        item.agreement.cell("bias", "+"),
    )


def _agreement_cells(item: Agreement) -> tuple[str, ...]:
    return (
        item.label,
        str(item.samples),
        str(item.answers),
        *map(shown, (item.people_rate, item.judge_rate)),
        item.cell("bias", "+"),
        *map(item.cell, ("sensitivity", "specificity", "balanced_accuracy", "kappa")),
    )
