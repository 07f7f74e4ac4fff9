"""How far a judge's verdicts agree with people's labels, and means corrected by these labels.

People label a part of the samples, in `Sample.labels`:

* ``context_useful``: yes or no for each retrieved context, in order; compared with context precision's verdicts;
* ``unit_supported``: yes or no for each sentence of the reference; compared with context recall's verdicts;
* ``reference_supported``: one yes or no; compared with whether the judge finds every sentence supported;
* ``weight``: how many samples this one stands for, if they were not drawn equally often (as `ctxmetrics label --by`
  does); the corrected means use it. A sample without it has the weight 1.

``null`` in a list is no label. The unit of every interval is the sample: verdicts on one sample are no independent draws.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, permutations
from operator import attrgetter
from pathlib import Path
from typing import Any, Unpack

from ctxmetrics._internal.display import replace_invisible
from ctxmetrics._internal.frozen import fields_to_json_data
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
    ComparedSample,
    LabelColumns,
    add_verdicts,
    metric_in,
    read_columns,
)
from ctxmetrics.evaluation.agreement.rank_agreement import RankedScore, Ranking, rank_systems
from ctxmetrics.evaluation.pages import render
from ctxmetrics.evaluation.pages.tables import Cell, Column, Table
from ctxmetrics.evaluation.rows.people_answers import NO, YES, Draw, PeopleAnswers, read_answers
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.rows.sample_groups import find, read_groups
from ctxmetrics.evaluation.rows.sample_record import key_of, texts_key
from ctxmetrics.evaluation.runs.evaluate import evaluate
from ctxmetrics.evaluation.runs.options import RunOptions
from ctxmetrics.evaluation.runs.results import Results
from ctxmetrics.evaluation.runs.sources import list_samples
from ctxmetrics.evaluation.statistics.corrected_means import MIN_LABELS
from ctxmetrics.evaluation.statistics.paired import holm, paired_mean
from ctxmetrics.judges.base import Judge
from ctxmetrics.judges.judge_names import coerce_text
from ctxmetrics.metrics.judging import JudgedMetric, get_default_judge
from ctxmetrics.samples.sample import Sample
from ctxmetrics.scores.conventions import get_convention
from ctxmetrics.scores.wording import plural

# The figures of a report as plain data.
_JSON_FIGURES = (
    "judge",
    "agreements",
    "corrections",
    "systems",
    "rankings",
    "people",
    "clusters",
    "bars",
)
# Keys of the metadata that name the run of a sample.
_RUN_KEYS = ("run_id", "run", "run_tag")


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """The results of a comparison with people's labels. As a string, they are tables.

    Attributes:
        judge: The judge's name.
        agreements: One for each kind of label.
        corrections: One for each metric for which people's labels give scores.
        disputes: Samples on which judge and people differ, most differences first.
        results: The judge's scores.
        compared: The labels beside the verdicts, by kind of label.
        systems: One for each metric and system; empty if the caller named no systems.
        rankings: One for each metric: whether the judge ranks the systems as people do.
        people: How far several annotators agree, if a labels file has several.
        draw: How the samples of a labels file were drawn.
        clusters: The number of clusters of samples; None if the caller named no clusters.
        bars: For the embedded judge a proposed `FittedBar` for each kind of label about support; for judges that give
            probabilities, for each kind of label.
    """

    judge: str
    agreements: tuple[Agreement, ...]
    corrections: tuple[Correction, ...]
    disputes: tuple[ComparedSample, ...]
    results: Results
    compared: Mapping[str, tuple[ComparedSample, ...]] = field(default_factory=dict)
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
        """Yield sentences about the meaning of the figures."""
        people_by_label = {figures.label: figures for figures in self.people}
        for agreement in self.agreements:
            label = agreement.label
            yield f"{label}: {agreement.conclusion}"
            people_agreement = people_by_label.get(label)
            comparison = None if people_agreement is None else people_agreement.beside(agreement)
            if comparison is not None:
                yield f"{label}: {comparison}"
        for correction in self.corrections:
            yield f"{correction.metric}: {correction.conclusion}"
        for ranking in self.rankings:
            yield f"{ranking.metric}: {ranking.conclusion}"
            if ranking.people is not None:
                yield f"{ranking.metric}: two people rank the systems: {ranking.people}"
        for bar in self.bars:
            yield f"{bar.label}: {bar.conclusion}"
        for agreement in self.agreements:
            label = agreement.label
            if agreement.samples < MIN_LABELS:
                yield f"{label}: {plural(agreement.samples, 'sample', 'is', 'are')} too few to say much; label {MIN_LABELS} or more"
            if agreement.not_judged:
                yield f"{label}: {plural(agreement.not_judged, 'label')} without a verdict of the judge"

    def beside(self, *others: AgreementReport) -> JudgeTable:
        """Return this judge and others on the same labels: figures side by side, and paired differences to this one.

        Raises:
            ParameterError: The others were compared with other labels.
        """
        reports = (self, *others)
        first_name, *other_names = _number_names([report.judge for report in reports])
        differences: list[JudgeDifference] = []
        for name, other in zip(other_names, others, strict=True):
            for label, compared in self.compared.items():
                pairs = pair_answers(compared, other.compared.get(label, ()))
                if not pairs:
                    continue
                gains = [gain for gain, _ in pairs]
                clusters = [cluster for _, cluster in pairs]
                mean_gain = paired_mean(gains, clusters)
                difference = JudgeDifference(
                    label=label,
                    judge=name,
                    first=first_name,
                    answers=len(pairs),
                    difference=mean_gain.mean,
                    interval=mean_gain.interval,
                    p=mean_gain.p,
                    p_adjusted=mean_gain.p,  # until all p values are known
                )
                differences.append(difference)
        adjusted = holm([difference.p for difference in differences])
        adjusted_differences = [
            replace(difference, p_adjusted=adjusted_p)
            for difference, adjusted_p in zip(differences, adjusted, strict=True)
        ]
        agreements: dict[str, tuple[Agreement, ...]] = {}
        for label in self.compared:
            agreements_of_reports = chain.from_iterable(report.agreements for report in reports)
            agreements[label] = tuple(item for item in agreements_of_reports if item.label == label)
        return JudgeTable((first_name, *other_names), agreements, tuple(adjusted_differences))

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain JSON-ready data."""
        return fields_to_json_data(self, _JSON_FIGURES)


def _number_names(names: Sequence[str]) -> list[str]:
    """Number the names that occur more than once: "judge (1)", "judge (2)"."""
    counts = Counter(names)
    numbered_names = []
    for number, name in enumerate(names, 1):
        is_repeated = counts[name] > 1
        numbered_names.append(f"{name} ({number})" if is_repeated else name)
    return numbered_names


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
    """Let a judge judge samples that people labelled in part, and compare its verdicts with the labels.

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
            ``run_id``, ``run`` or ``run_tag``, if all samples have it and a question has several.
        cluster: A key of the samples' metadata, such as ``"metadata.document"``: samples with the same value belong
            together: the intervals count them as one sample.
        convention: The convention by whose formulas the means are computed. Its units are always sentences. With ``results``,
            the convention of the results is taken.
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
        CtxMetricsError: As `ctxmetrics.evaluate` raises.
    """
    _check_arguments(options, judge=judge, results=results, labels=labels, annotator=annotator)
    judge = coerce_text(judge)
    # All files and labels are read and checked before a judge is asked, which may cost money.
    checked = list_samples(samples, "agree")
    people_answers = None
    if labels is not None:
        people_answers = read_answers(Path(labels))
        checked = read_labelled(checked, people_answers, annotator=annotator)
    clusters: Sequence[str | None] = read_groups(checked, cluster, "agree") or [None] * len(checked)
    systems = read_groups(checked, system or _find_runs(checked), "agree") or []
    columns = read_columns(checked, clusters)
    # A judge's ranking of the systems is compared with how far the rankings of people agree.
    columns_of_persons: list[LabelColumns] = []
    if people_answers is not None and systems:
        columns_of_persons = _read_persons(checked, people_answers)

    # The verdicts: of a judge that is asked now, or of a run.
    rows: list[Row | None]
    if results is None:
        judge = judge or get_default_judge()
        run = _judge_samples(checked, columns, judge, convention, options)
        judge_name = judge.name
        rows = list(run)
    else:
        judge_name = ""  # the scores of the run name it
        run = results if isinstance(results, Results) else Results.from_jsonl(results)
        rows = _find_rows(run, checked)
    columns = _add_verdicts(columns, run, rows)
    return _build_report(
        run,
        columns,
        systems,
        people_answers,
        judge=judge_name or _find_judge(columns) or "the run",
        persons=[
            _add_verdicts(columns_of_person, run, rows) for columns_of_person in columns_of_persons
        ],
    )


def _check_arguments(
    options: RunOptions,
    *,
    judge: Judge | str | None,
    results: Results | str | os.PathLike[str] | None,
    labels: str | os.PathLike[str] | None,
    annotator: str | None,
) -> None:
    """Raise if two arguments of `agree` exclude each other, or if one is only for `evaluate`.

    Raises:
        ParameterError: Says what to write instead.
    """
    if options.get("out") is not None:
        raise ParameterError("agree: out= is not possible. Write report.results.to_jsonl(path) later.")
    if "metrics" in options:
        raise ParameterError("agree: metrics= is not possible: the labels say what is compared.")
    if results is not None and not isinstance(results, (Results, str, os.PathLike)):
        raise ParameterError(
            "agree: results must be Results or the file of results. Score samples first: evaluate(samples, metrics)."
        )
    if labels is not None and not isinstance(labels, (str, os.PathLike)):
        raise ParameterError("agree: labels must be one file. Write labels='FILE.labels.jsonl'.")
    if results is not None and judge is not None:
        raise ParameterError("agree: give judge= or results=, not both.")
    if annotator is not None and labels is None:
        raise ParameterError("agree: annotator= needs labels=, the file that says who answered what.")


def _find_runs(samples: Sequence[Sample]) -> str | None:
    """Find the key of the metadata that names runs, if all samples have it and a question has several."""
    for key in _RUN_KEYS:
        if any(find(sample.metadata, key) is None for sample in samples):
            continue
        runs_by_question: dict[str | None, set[str]] = {}
        run_names = read_groups(samples, key, "agree") or []
        for sample, run_name in zip(samples, run_names, strict=True):
            runs_by_question.setdefault(sample.user_input, set()).add(run_name)
        # With one run for each question there is nothing to rank.
        if any(len(run_names) > 1 for run_names in runs_by_question.values()):
            return key
    return None


def _read_persons(samples: Sequence[Sample], file: PeopleAnswers) -> list[LabelColumns]:
    """Read the labels of each person of a file separately. The result is empty if only one person said yes or no."""
    annotators = {name for (name, _), answer in file.answers.items() if answer.answer in {YES, NO}}
    if len(annotators) < 2:  # noqa: PLR2004 - two persons can agree
        return []
    labels_by_person = []
    for name in sorted(annotators):
        labelled = read_labelled(samples, file, annotator=name)
        # The labels of persons get no interval, so they need no clusters.
        no_clusters = [None] * len(labelled)
        labels_by_person.append(read_columns(labelled, no_clusters))
    return labels_by_person


def _find_rows(run: Results, samples: Iterable[Sample]) -> list[Row | None]:
    """Find the row of each sample by its id and texts. If the run has no such id, or the sample has none, find it by its texts.

    Some frameworks give samples ids of their own, or none.
    """
    rows_by_key = {texts_key(row): row for row in run}
    ids_of_run = {id_ for id_, _ in rows_by_key if id_ is not None}
    # The row of each hash of texts; None if several rows have these texts.
    rows_by_texts: dict[str, Row | None] = {}
    for (_, texts), row in rows_by_key.items():
        rows_by_texts[texts] = None if texts in rows_by_texts else row
    rows_of_samples: list[Row | None] = []
    for sample in samples:
        id_, texts = key_of(sample)
        row_of_sample = rows_by_key.get((id_, texts))
        if row_of_sample is None and id_ not in ids_of_run:
            row_of_sample = rows_by_texts.get(texts)
        rows_of_samples.append(row_of_sample)
    return rows_of_samples


def _judge_samples(
    samples: Sequence[Sample], kinds: Iterable[str], judge: Judge, convention: str, options: RunOptions
) -> Results:
    """Let a judge judge samples with the metric of each kind of label."""
    parameters: dict[str, Any] = {"convention": convention}
    if get_convention(convention).unit != "sentence":
        # Each judge makes its own claims, so that people cannot label these before.
        parameters["unit"] = "sentence"
    metrics: list[JudgedMetric] = []
    for kind in kinds:
        _, metric_class = KINDS[kind]
        metric = metric_class(**parameters)
        if metric not in metrics:  # two kinds of label have the same metric
            metrics.append(metric)
    return evaluate(samples, metrics, judge=judge, **options)


def _add_verdicts(columns: LabelColumns, run: Results, rows: Sequence[Row | None]) -> LabelColumns:
    """Put the verdicts of a run beside the labels of each kind."""
    columns_with_verdicts = {}
    for label_kind, samples in columns.items():
        metric = metric_in(run, label_kind)
        columns_with_verdicts[label_kind] = [
            add_verdicts(sample, metric, row) for sample, row in zip(samples, rows, strict=True)
        ]
    return columns_with_verdicts


def _find_judge(columns: LabelColumns) -> str | None:
    """Return the first judge that a score names."""
    for item in chain.from_iterable(columns.values()):
        if item.score and item.score.provenance.judge:
            return item.score.provenance.judge
    return None


def _build_report(
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
    labelled: dict[str, tuple[ComparedSample, ...]] = {}
    disputes: list[ComparedSample] = []
    bars: list[FittedBar | None] = []
    for label, compared in columns.items():
        groups.update(item.group for item in compared)
        agreements.append(count_agreement(label, compared))
        labelled[label] = tuple(item for item in compared if item.people is not None)
        disputes += [item for item in compared if item.disputed]
        scores = [item.score for item in compared]
        labels = [item.people for item in compared]
        bars.append(propose_bar(label, scores, labels))
    disputes.sort(key=lambda item: -len(item.disputed))
    system_figures: list[SystemFigures] = []
    rankings: list[Ranking | None] = []
    if systems:
        for label, compared in columns.items():
            figures_of_label = list(_compute_by_system(compared, systems))
            system_figures += figures_of_label
            pairs = _pair_persons(label, persons, systems)
            scores_to_rank = _list_ranked(compared, systems)
            rankings.append(rank_systems(figures_of_label, scores_to_rank, pairs))
    # The means of units come before the means of contexts.
    corrections = [_correct(compared) for compared in reversed(columns.values())]
    return AgreementReport(
        judge=judge,
        agreements=tuple(agreements),
        corrections=tuple(filter(None, corrections)),
        disputes=tuple(disputes),
        results=results,
        compared=labelled,
        systems=tuple(system_figures),
        rankings=tuple(filter(None, rankings)),
        people=() if file is None else tuple(among_people(file)),
        draw=None if file is None else file.draw,
        clusters=None if None in groups else len(groups),
        bars=tuple(filter(None, bars)),
    )


def _correct(items: Sequence[ComparedSample]) -> Correction | None:
    """Return the mean of samples, corrected by their labels."""
    rows = [(*item.values, item.weight, item.group) for item in items]
    return correct_mean(items[0].mean, rows, scale=items[0].scale)


def _compute_by_system(
    items: Sequence[ComparedSample], systems: Sequence[str]
) -> Iterator[SystemFigures]:
    """Yield the figures of each system whose samples are in the file."""
    items_by_system: dict[str, list[ComparedSample]] = {}
    for item, system in zip(items, systems, strict=True):
        items_by_system.setdefault(system, []).append(item)
    for system, system_items in sorted(items_by_system.items()):
        values: list[float] = []
        for item in system_items:
            judge_value, _ = item.values
            if judge_value is not None:
                values.append(judge_value)
        yield SystemFigures(
            metric=system_items[0].mean,
            system=system,
            samples=len(values),
            judge_mean=sum(values) / len(values) if values else None,
            agreement=count_agreement(system_items[0].label, system_items),
            correction=_correct(system_items),
        )


def _list_ranked(items: Sequence[ComparedSample], systems: Sequence[str]) -> list[RankedScore]:
    """List the samples that both the judge and people score, with their system and question."""
    scores = []
    for item, system in zip(items, systems, strict=True):
        judge_value, people_value = item.values
        if judge_value is not None and people_value is not None:
            question = item.sample.user_input
            scores.append(RankedScore(system, question, judge_value, people_value, item.weight))
    return scores


def _pair_persons(
    label: str, persons: Sequence[LabelColumns], systems: Sequence[str]
) -> Iterator[list[RankedScore]]:
    """Yield for each pair of persons the samples that both labelled. Each pair comes twice, since tau-AP depends on the order of the two persons."""
    labels_by_person = [columns[label] for columns in persons if label in columns]
    for first_person, second_person in permutations(labels_by_person, 2):
        scores = []
        for first, second, system in zip(first_person, second_person, systems, strict=True):
            _, first_value = first.values
            _, second_value = second.values
            if first_value is not None and second_value is not None:
                score = RankedScore(
                    system=system,
                    topic=first.sample.user_input,
                    judge=second_value,  # the second person stands in the place of the judge
                    people=first_value,
                    weight=first.weight,
                )
                scores.append(score)
        yield scores


def _build_system_table(metric: str, items: Sequence[SystemFigures]) -> Table:
    """Build the table of a metric's figures by system. Long names are cut, so that a line has 100 characters at most."""
    table = Table.build(_SYSTEM_COLUMNS, items)
    longest_line = max(len(line) for line in table.list_lines())
    name_length = 100 - longest_line - 2  # two spaces stand after a name
    names = [replace_invisible(item.system)[:name_length] for item in items]
    return table.with_names(metric[:name_length], names)


def _format_judge_mean(item: Correction | SystemFigures) -> str:
    """Write the judge's mean, and the number of samples that have a value."""
    return f"{format_figure(item.judge_mean)} of {item.samples}"


def _format_people_mean(item: Correction) -> str:
    """Write people's mean, and the number of labelled samples."""
    return f"{format_figure(item.people_mean)} of {item.labelled}"


def _format_corrected(item: Correction) -> str:
    """Write the corrected mean with its interval."""
    return format_with_interval(item.mean, item.interval)


def _describe_correction(item: SystemFigures, describe: Callable[[Correction], str]) -> str:
    """Describe the correction of a system. Write ``-`` if there is none."""
    return "-" if item.correction is None else describe(item.correction)


# The columns of the table of corrected means.
_CORRECTION_COLUMNS: Sequence[Column[Correction]] = (
    Column("mean of", attrgetter("metric")),
    Column("by the judge", _format_judge_mean),
    Column("by people", _format_people_mean),
    Column("corrected", _format_corrected),
)
# The columns of the table by system, after the names.
_SYSTEM_COLUMNS: Sequence[Column[SystemFigures]] = (
    Column("judge", _format_judge_mean),
    Column("people", lambda item: _describe_correction(item, _format_people_mean)),
    Column("corrected", lambda item: _describe_correction(item, _format_corrected)),
    Column("bias", lambda item: item.agreement.cell("bias", sign="+")),
)
# The rows of the table of agreement: it has a column for each kind of label. The figures of people and of the judge are shares
# of yes.
_AGREEMENT_ROWS: Sequence[Column[Agreement]] = (
    Column("samples", attrgetter("samples")),
    Column("answers", attrgetter("answers")),
    Column("people", attrgetter("people_rate"), ".3f"),
    Column("judge", attrgetter("judge_rate"), ".3f"),
    Column("bias", lambda item: item.cell("bias", sign="+")),
    Column("sensitivity", lambda item: item.cell("sensitivity")),
    Column("specificity", lambda item: item.cell("specificity")),
    Column("balanced accuracy", lambda item: item.cell("balanced_accuracy")),
    Column("kappa", lambda item: item.cell("kappa")),
)


def _build_agreement_table(items: Sequence[Agreement]) -> Table:
    """Build the table of agreement: a row for each figure, a column for each kind of label."""
    rows = tuple(
        (Cell(column.title), *(column.build_cell(item) for item in items)) for column in _AGREEMENT_ROWS
    )
    return Table(("shares of yes", *(item.label for item in items)), rows)
