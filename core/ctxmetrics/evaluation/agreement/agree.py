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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby, permutations
from operator import attrgetter
from pathlib import Path
from typing import Any, Unpack

from ctxmetrics._internal.display import visible
from ctxmetrics._internal.frozen import plain_fields
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.agreement.correction import (
    Correction,
    FittedBar,
    SystemFigures,
    correct_mean,
    propose_bar,
)
from ctxmetrics.evaluation.agreement.figures import (
    Agreement,
    JudgeDifference,
    JudgeTable,
    PeopleAgreement,
    among_people,
    count_agreement,
    format_figure,
    format_with_interval,
    pair_answers,
)
from ctxmetrics.evaluation.agreement.labelling.draw import read_labelled
from ctxmetrics.evaluation.agreement.labels import (
    KINDS,
    Compared,
    LabelColumns,
    add_verdicts,
    metric_in,
    read_columns,
)
from ctxmetrics.evaluation.agreement.rank_agreement import RankedScore, Ranking, rank_systems
from ctxmetrics.evaluation.files.sample_file import read_samples
from ctxmetrics.evaluation.pages import render
from ctxmetrics.evaluation.pages.tables import Cell, Column, Table
from ctxmetrics.evaluation.rows.people_answers import NO, YES, Draw, PeopleAnswers, read_answers
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.rows.rows_file import key_of, texts_key
from ctxmetrics.evaluation.rows.sample_groups import find, read_groups
from ctxmetrics.evaluation.runs.engine import evaluate
from ctxmetrics.evaluation.runs.options import RunOptions
from ctxmetrics.evaluation.runs.results import Results
from ctxmetrics.evaluation.statistics.corrected_means import FEWEST
from ctxmetrics.evaluation.statistics.paired import holm, paired_mean
from ctxmetrics.judges.base import Judge
from ctxmetrics.judges.judge_names import coerce_text
from ctxmetrics.metrics.judging import default_judge
from ctxmetrics.samples.sample import Sample
from ctxmetrics.scores.conventions import get_convention
from ctxmetrics.scores.wording import plural

# The figures of a report as plain data.
_FIGURES = ("judge", "agreements", "corrections", "systems", "rankings", "people", "clusters", "bars")
# Keys of the metadata that name the run of a sample.
_RUN_KEYS = ("run_id", "run", "run_tag")


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
        bars: For the embedded judge a proposed `FittedBar` for each kind of label about support; for judges that give
            probabilities, for each kind of label.
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
    bars: tuple[FittedBar, ...] = ()

    def __str__(self) -> str:
        clusters = "" if self.clusters is None else f", samples in {plural(self.clusters, 'cluster')}"
        blocks = [
            [f"{self.judge} against people{clusters}", *self._sentences()],
            _build_agreement_table(self.agreements).list_lines(),
        ]
        if self.corrections:
            blocks.append(Table.build(_CORRECTION_COLUMNS, self.corrections).list_lines())
        for metric, items in groupby(self.systems, key=attrgetter("metric")):
            blocks.append(_build_system_table(metric, list(items)).list_lines())
        blocks.append([str(item) for item in self.people])
        return "\n\n".join("\n".join(lines) for lines in blocks if lines)

    def _repr_html_(self) -> str:
        return render("text.html", text=str(self))

    def _sentences(self) -> Iterator[str]:
        """Yield what the figures mean."""
        people = {item.label: item for item in self.people}
        for item in self.agreements:
            yield f"{item.label}: {item.conclusion}"
            comparison = people[item.label].beside(item) if item.label in people else None
            if comparison:
                yield f"{item.label}: {comparison}"
        for correction in self.corrections:
            yield f"{correction.metric}: {correction.conclusion}"
        for ranking in self.rankings:
            yield f"{ranking.metric}: {ranking.conclusion}"
            if ranking.people is not None:
                yield f"{ranking.metric}: two people rank the systems: {ranking.people}"
        for bar in self.bars:
            yield f"{bar.label}: {bar.conclusion}"
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
        first, *names = _number_names([report.judge for report in reports])
        tests = []
        for name, other in zip(names, others, strict=True):
            for label, compared in self.compared.items():
                pairs = pair_answers(compared, other.compared.get(label, ()))
                if pairs:
                    tests.append((label, name, len(pairs), paired_mean(*zip(*pairs, strict=True))))
        differences = []
        adjusted = holm([mean.p for *_, mean in tests])
        for (label, name, size, mean), p in zip(tests, adjusted, strict=True):
            figures = (mean.mean, mean.interval, mean.p, p)
            differences.append(JudgeDifference(label, name, first, size, *figures))
        agreements: dict[str, tuple[Agreement, ...]] = {}
        for label in self.compared:
            items = chain.from_iterable(report.agreements for report in reports)
            agreements[label] = tuple(item for item in items if item.label == label)
        return JudgeTable((first, *names), agreements, tuple(differences))

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain JSON-ready data."""
        return plain_fields(self, _FIGURES)


def _number_names(names: Sequence[str]) -> list[str]:
    """Add their numbers to names that occur twice or more."""
    counts = Counter(names)
    numbered = []
    for number, name in enumerate(names, 1):
        numbered.append(f"{name} ({number})" if counts[name] > 1 else name)
    return numbered


def agree(
    samples: Iterable[Sample | Mapping[str, Any]] | str | os.PathLike[str],
    *,
    judge: Judge | str | None = None,
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
        samples: The samples, or dicts of their fields, or the path of a file; those without labels are used for the
            corrected means.
        judge: The judge, or its name as ``--judge`` takes it; None: the embedded one.
        results: A run over these samples, or the file that ``--out`` wrote: its verdicts are compared, and no judge is
            asked.
        labels: A file of people's answers (`ctxmetrics label`), in place of the labels that the samples have.
        annotator: The person whose answers of that file are read; None: the majority of all.
        system: A key of the samples' metadata, such as ``"metadata.system"``: the figures are also given for each value,
            and whether the judge ranks the systems as people do, over all questions and question by question. None:
            ``run_id``, ``run`` or ``run_tag``, where all samples have it and a question has several.
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
    if isinstance(samples, (str, os.PathLike)):
        samples = read_samples(samples)
    judge = coerce_text(judge)
    checked = [item if isinstance(item, Sample) else Sample.from_dict(item) for item in samples]
    if labels is None and annotator is not None:
        raise ParameterError("agree: annotator= needs labels=, the file that says who answered what.")
    # All of this is read and checked before anything is paid.
    file = None
    if labels is not None:
        file = read_answers(Path(labels))
        checked = read_labelled(checked, file, annotator=annotator)
    clusters = read_groups(checked, cluster, "agree")
    systems = read_groups(checked, system or _find_runs(checked), "agree")
    columns = read_columns(checked, clusters or [None] * len(checked))
    persons = _read_persons(checked, file) if file is not None and systems else []
    if results is None:
        judging = judge or default_judge()
        run = _judge_samples(checked, columns, judging, convention, options)
        rows: list[Row | None] = list(run)
        name = judging.name
    else:
        run = results if isinstance(results, Results) else Results.from_jsonl(results)
        rows = _find_rows(run, checked)
        name = ""
    columns = _add_verdicts(columns, run, rows)
    persons = [_add_verdicts(columns_of_person, run, rows) for columns_of_person in persons]
    name = name or _find_judge(columns) or "the run"
    return _report(run, columns, systems or (), file, judge=name, persons=persons)


def _find_runs(samples: Sequence[Sample]) -> str | None:
    """Find the key of the metadata that names runs, where all samples have it and a question has several."""
    for key in _RUN_KEYS:
        if all(find(sample.metadata, key) is not None for sample in samples):
            names = read_groups(samples, key, "agree") or []
            runs: dict[str | None, set[str]] = {}
            for sample, name in zip(samples, names, strict=True):
                runs.setdefault(sample.user_input, set()).add(name)
            if any(len(runs_of_question) > 1 for runs_of_question in runs.values()):
                return key
    return None


def _read_persons(samples: Sequence[Sample], file: PeopleAnswers) -> list[LabelColumns]:
    """Read the labels of each person of a file apart; of one alone nothing."""
    answered = {name for (name, _), answer in file.answers.items() if answer.answer in {YES, NO}}
    if len(answered) < 2:  # noqa: PLR2004 - two persons can agree
        return []
    persons = []
    for name in sorted(answered):
        labelled = read_labelled(samples, file, annotator=name)
        persons.append(read_columns(labelled, [None] * len(labelled)))
    return persons


def _find_rows(run: Results, samples: Iterable[Sample]) -> list[Row | None]:
    """Find the row of each sample by its id and texts; where the run has no such id, by the texts alone.

    Some frameworks give samples ids of their own, or none.
    """
    rows = {texts_key(row): row for row in run}
    ids = {id_ for id_, _ in rows}
    by_texts: dict[str, Row | None] = {}
    for (_, texts), row in rows.items():
        by_texts[texts] = None if texts in by_texts else row
    matches = []
    for sample in samples:
        id_, texts = key_of(sample)
        matches.append(rows.get((id_, texts)) if id_ in ids else by_texts.get(texts))
    return matches


def _judge_samples(
    samples: Sequence[Sample], kinds: Iterable[str], judge: Judge, convention: str, options: RunOptions
) -> Results:
    """Let a judge judge samples with the metric of each kind of label."""
    # Each judge makes its own claims: people cannot label them before.
    unit: dict[str, Any] = {} if get_convention(convention).unit == "sentence" else {"unit": "sentence"}
    metrics = dict.fromkeys(KINDS[kind][1](convention=convention, **unit) for kind in kinds)
    return evaluate(samples, list(metrics), judge=judge, **options)


def _add_verdicts(columns: LabelColumns, run: Results, rows: Sequence[Row | None]) -> LabelColumns:
    """Put the verdicts of a run beside the labels of each kind."""
    compared = {}
    for label, items in columns.items():
        metric = metric_in(run, label)
        compared[label] = [
            add_verdicts(item, metric, row) for item, row in zip(items, rows, strict=True)
        ]
    return compared


def _find_judge(columns: LabelColumns) -> str | None:
    """Return the first judge that a score names."""
    for item in chain.from_iterable(columns.values()):
        if item.score and item.score.provenance.judge:
            return item.score.provenance.judge
    return None


def _report(
    results: Results,
    columns: LabelColumns,
    systems: Sequence[str],
    file: PeopleAnswers | None,
    *,
    judge: str,
    persons: Sequence[LabelColumns],
) -> AgreementReport:
    """Build the report of an agreement from compared answers and scores."""
    groups: set[str | None] = set()
    agreements: list[Agreement] = []
    compared: dict[str, tuple[Compared, ...]] = {}
    disputes: list[Compared] = []
    bars: list[FittedBar | None] = []
    for label, items in columns.items():
        groups.update(item.group for item in items)
        agreements.append(count_agreement(label, items))
        compared[label] = tuple(item for item in items if item.people is not None)
        disputes += [item for item in items if item.disputed]
        scores = [item.score for item in items]
        labels = [item.people for item in items]
        bars.append(propose_bar(label, scores, labels))
    disputes.sort(key=lambda item: -len(item.disputed))
    figures: list[SystemFigures] = []
    rankings: list[Ranking | None] = []
    for label, items in columns.items() if systems else ():
        by_system = list(_by_system(items, systems))
        figures += by_system
        pairs = _pair_persons(label, persons, systems)
        rankings.append(rank_systems(by_system, _list_ranked(items, systems), pairs))
    return AgreementReport(
        judge=judge,
        agreements=tuple(agreements),
        corrections=tuple(filter(None, map(_correct, reversed(columns.values())))),
        disputes=tuple(disputes),
        results=results,
        compared=compared,
        systems=tuple(figures),
        rankings=tuple(filter(None, rankings)),
        people=() if file is None else tuple(among_people(file)),
        draw=None if file is None else file.draw,
        clusters=None if None in groups else len(groups),
        bars=tuple(filter(None, bars)),
    )


def _correct(items: Sequence[Compared]) -> Correction | None:
    """Return the mean of samples, corrected by their labels."""
    rows = [(*item.values, item.weight, item.group) for item in items]
    return correct_mean(items[0].mean, rows, scale=items[0].scale)


def _by_system(items: Sequence[Compared], systems: Sequence[str]) -> Iterator[SystemFigures]:
    """Yield the figures of each system whose samples are in the file."""
    members: dict[str, list[Compared]] = {}
    for item, system in zip(items, systems, strict=True):
        members.setdefault(system, []).append(item)
    for system, system_items in sorted(members.items()):
        values = [item.values[0] for item in system_items if item.values[0] is not None]
        yield SystemFigures(
            metric=system_items[0].mean,
            system=system,
            samples=len(values),
            judge_mean=sum(values) / len(values) if values else None,
            agreement=count_agreement(system_items[0].label, system_items),
            correction=_correct(system_items),
        )


def _list_ranked(items: Sequence[Compared], systems: Sequence[str]) -> list[RankedScore]:
    """List the samples that both the judge and people score, with their system and question."""
    scores = []
    for item, system in zip(items, systems, strict=True):
        judge, people = item.values
        if judge is not None and people is not None:
            scores.append(RankedScore(system, item.sample.user_input, judge, people, item.weight))
    return scores


def _pair_persons(
    label: str, persons: Sequence[LabelColumns], systems: Sequence[str]
) -> Iterator[list[RankedScore]]:
    """Yield for each pair of persons the samples that both labelled; each pair twice, since tau-AP depends on who is first."""
    for first, second in permutations([columns[label] for columns in persons if label in columns], 2):
        scores = []
        for item, other, system in zip(first, second, systems, strict=True):
            first_value = item.values[1]
            second_value = other.values[1]
            if first_value is not None and second_value is not None:
                # The second person stands in the place of the judge.
                scores.append(
                    RankedScore(system, item.sample.user_input, second_value, first_value, item.weight)
                )
        yield scores


def _build_system_table(metric: str, items: Sequence[SystemFigures]) -> Table:
    """Build the table of a metric's figures by system; long names are cut, so that a line has 100 characters at most."""
    figures = Table.build(_SYSTEM_COLUMNS, items)
    room = 100 - max(map(len, figures.list_lines())) - 2
    return figures.with_names(metric[:room], [visible(item.system)[:room] for item in items])


def _count_judged(item: Correction | SystemFigures) -> str:
    """Write the mean of the judge, and of how many samples it is."""
    return f"{format_figure(item.judge_mean)} of {item.samples}"


def _count_labelled(item: Correction) -> str:
    """Write the mean of people, and of how many samples it is."""
    return f"{format_figure(item.people_mean)} of {item.labelled}"


def _format_corrected(item: Correction) -> str:
    """Write the corrected mean with its interval."""
    return format_with_interval(item.mean, item.interval)


def _describe_correction(item: SystemFigures, describe: Callable[[Correction], str]) -> str:
    """Describe the correction of a system; ``-`` without one."""
    return "-" if item.correction is None else describe(item.correction)


# The columns of the table of corrected means.
_CORRECTION_COLUMNS: Sequence[Column[Correction]] = (
    Column("mean of", attrgetter("metric")),
    Column("by the judge", _count_judged),
    Column("by people", _count_labelled),
    Column("corrected", _format_corrected),
)
# The columns of the table by system, after the names.
_SYSTEM_COLUMNS: Sequence[Column[SystemFigures]] = (
    Column("judge", _count_judged),
    Column("people", lambda item: _describe_correction(item, _count_labelled)),
    Column("corrected", lambda item: _describe_correction(item, _format_corrected)),
    Column("bias", lambda item: item.agreement.cell("bias", "+")),
)
# The rows of the table of agreement: it has a column for each kind of label.
_AGREEMENT_ROWS: Sequence[Column[Agreement]] = (
    Column("samples", attrgetter("samples")),
    Column("answers", attrgetter("answers")),
    Column("people", attrgetter("people_rate"), ".3f"),
    Column("judge", attrgetter("judge_rate"), ".3f"),
    Column("bias", lambda item: item.cell("bias", "+")),
    Column("sensitivity", lambda item: item.cell("sensitivity")),
    Column("specificity", lambda item: item.cell("specificity")),
    Column("balanced accuracy", lambda item: item.cell("balanced_accuracy")),
    Column("kappa", lambda item: item.cell("kappa")),
)


def _build_agreement_table(items: Sequence[Agreement]) -> Table:
    """Build the table of agreement: a row for each figure, a column for each kind of label."""
    rows = tuple(
        (Cell(figure.title), *(figure.build_cell(item) for item in items)) for figure in _AGREEMENT_ROWS
    )
    return Table(("shares of yes", *(item.label for item in items)), rows)
