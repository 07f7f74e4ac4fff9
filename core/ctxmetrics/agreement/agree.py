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
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Unpack

from ctxmetrics._internal.display import visible
from ctxmetrics._internal.frozen import plain
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
    Agreement,
    JudgeDifference,
    JudgeTable,
    PeopleAgreement,
    agreement_of,
    among_people,
    paired_answers,
    shown,
    shown_with,
)
from ctxmetrics.agreement.labelling.draw import read_labelled
from ctxmetrics.agreement.labels import (
    KINDS,
    Compared,
    judged,
    labelled,
    metric_in,
)
from ctxmetrics.conventions import get_convention
from ctxmetrics.errors import ParameterError
from ctxmetrics.judges.base import Judge
from ctxmetrics.metrics.judged import default_judge
from ctxmetrics.presentation.wording import plural
from ctxmetrics.results.comparison.joining import read_groups
from ctxmetrics.results.labels.answers import Answers, Draw, read_answers
from ctxmetrics.results.labels.means import FEWEST, holm, paired_mean
from ctxmetrics.results.results import Results
from ctxmetrics.results.rows_file import key_of, texts_key
from ctxmetrics.results.summary import Row, aligned
from ctxmetrics.running.engine import evaluate
from ctxmetrics.running.options import RunOptions
from ctxmetrics.samples import Sample

# The rows of the table of agreement.
_NAMES = (
    *("shares of yes", "samples", "answers", "people", "judge", "bias"),
    *("sensitivity", "specificity", "balanced accuracy", "kappa"),
)
_CORRECTED = ("mean of", "by the judge", "by people", "corrected")


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
        draw: How the samples of a labels file were drawn.
        clusters: How many clusters of samples there are, where clusters were asked for.
        bars: For the embedded judge: a proposed `Bar` for each kind of label about support.
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
    draw: Draw | None = None
    clusters: int | None = None
    bars: tuple[Bar, ...] = ()

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
        blocks = [
            [f"{self.judge} against people{within}", *self._sentences()],
            aligned(list(zip(_NAMES, *map(_agreement_cells, self.agreements), strict=True))),
            aligned([_CORRECTED, *corrected] if corrected else []),
            *(
                _system_lines(metric, [item for item in self.systems if item.metric == metric])
                for metric in dict.fromkeys(item.metric for item in self.systems)
            ),
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
            if item.samples < FEWEST:
                yield f"{item.label}: {plural(item.samples, 'sample', 'is', 'are')} too few to say much; label {FEWEST} or more"
            if item.not_judged:
                yield f"{item.label}: {plural(item.not_judged, 'label')} without a verdict of the judge"

    def beside(self, *others: AgreementReport) -> JudgeTable:
        """Return this judge and others on the same labels: figures side by side, and paired differences to this one.

        Raises:
            ParameterError: The others were compared with other labels.
        """
        reports = (self, *others)
        often = Counter(report.judge for report in reports)
        names = [
            f"{report.judge} ({place})" if often[report.judge] > 1 else report.judge
            for place, report in enumerate(reports, 1)
        ]
        found = []
        for name, other in zip(names[1:], others, strict=True):
            for label, mine in self.compared.items():
                if pairs := paired_answers(mine, other.compared.get(label, ())):
                    mean = paired_mean(*zip(*pairs, strict=True))
                    found.append((label, name, names[0], len(pairs), mean.mean, mean.interval, mean.p))
        return JudgeTable(
            tuple(names),
            {
                label: tuple(
                    item for report in reports for item in report.agreements if item.label == label
                )
                for label in self.compared
            },
            tuple(
                JudgeDifference(*figures, p_adjusted=p)
                for figures, p in zip(found, holm([p for *_, p in found]), strict=True)
            ),
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
    if labels is None and annotator is not None:
        raise ParameterError("agree: annotator= needs labels=, the file that says who answered what.")
    # All of this is read and checked before anything is paid.
    file = None if labels is None else read_answers(Path(labels))
    if file is not None:
        given = read_labelled(given, file, annotator=annotator)
    groups, systems = read_groups(given, cluster, "agree"), read_groups(given, system, "agree")
    columns = labelled(given, groups or [None] * len(given))
    judging = judge or default_judge()
    if results is None:
        found = _judged(given, columns, judging, convention, options)
        rows: list[Row | None] = list(found)
    else:
        found = results if isinstance(results, Results) else Results.from_jsonl(results)
        known = {texts_key(row): row for row in found}
        rows = [known.get(key_of(sample)) for sample in given]
    for label, items in columns.items():
        metric = metric_in(found, label)
        columns[label] = [judged(item, metric, row) for item, row in zip(items, rows, strict=True)]
    judges = (item.score.provenance.judge for items in columns.values() for item in items if item.score)
    name = judging.name if results is None else next(filter(None, judges), "the run")
    return _report(name, found, columns, systems, file)


def _judged(
    samples: Sequence[Sample], kinds: Iterable[str], judge: Judge, convention: str, options: RunOptions
) -> Results:
    """Let a judge judge samples with the metric of each kind of label."""
    # Each judge makes its own claims: people cannot label them before.
    unit: dict[str, Any] = {} if get_convention(convention).unit == "sentence" else {"unit": "sentence"}
    metrics = dict.fromkeys(KINDS[kind][1](convention=convention, **unit) for kind in kinds)
    return evaluate(samples, list(metrics), judge=judge, **options)


def _report(
    judge: str,
    results: Results,
    columns: dict[str, list[Compared]],
    systems: Sequence[str] | None,
    file: Answers | None,
) -> AgreementReport:
    figures = [list(_by_system(items, systems)) for items in columns.values() if systems]
    corrections = [_correction(items) for items in reversed(columns.values())]
    disputes = (item for items in columns.values() for item in items if item.disputed)
    groups = {item.group for items in columns.values() for item in items}
    bars = [
        bar_of(label, [item.score for item in items], [item.people for item in items])
        for label, items in columns.items()
    ]
    return AgreementReport(
        judge=judge,
        agreements=tuple(agreement_of(name, items) for name, items in columns.items()),
        corrections=tuple(item for item in corrections if item is not None),
        disputes=tuple(sorted(disputes, key=lambda item: -len(item.disputed))),
        results=results,
        compared={
            name: tuple(item for item in items if item.people is not None)
            for name, items in columns.items()
        },
        systems=tuple(chain.from_iterable(figures)),
        rankings=tuple(item for item in map(ranking_of, figures) if item is not None),
        people=() if file is None else tuple(among_people(file)),
        draw=None if file is None else file.draw,
        clusters=None if None in groups else len(groups),
        bars=tuple(bar for bar in bars if bar is not None),
    )


def _correction(items: Sequence[Compared]) -> Correction | None:
    """Return the mean of samples, corrected by their labels."""
    rows = ((*item.values, item.weight, item.group) for item in items)
    return correction_of(items[0].mean, rows, scale=items[0].scale)


def _by_system(items: Sequence[Compared], systems: Sequence[str]) -> Iterator[SystemFigures]:
    for system in sorted(set(systems)):
        own = [item for item, name in zip(items, systems, strict=True) if name == system]
        values = [value for value, _ in (item.values for item in own) if value is not None]
        yield SystemFigures(
            own[0].mean,
            system,
            len(values),
            sum(values) / len(values) if values else None,
            agreement_of(own[0].label, own),
            _correction(own),
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
