"""The answers of people about samples, compared with the judge's verdicts on the same things.

A part of the samples have `Sample.labels`; ``null`` in a list is no label. `KINDS` names the labels there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from ctxmetrics._internal.display import replace_invisible
from ctxmetrics.errors import MissingFieldError, ParameterError, SampleError
from ctxmetrics.evaluation.rows.people_answers import (
    CONTEXTS,
    REFERENCE,
    UNITS,
    label_of,
    people_value,
    weight_in,
)
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.runs.results import Results
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.catalog import find_metric
from ctxmetrics.metrics.judged import ContextPrecision, ContextRecall
from ctxmetrics.metrics.judging import JudgedMetric
from ctxmetrics.samples.sample import Sample
from ctxmetrics.scores.score import Score
from ctxmetrics.scores.wording import format_verdict, plural
from ctxmetrics.text.sentences import split_sentences
from ctxmetrics.verdicts import Verdict

# The number of characters of a sample's id that a message shows.
_MAX_NAME_CHARACTERS = 80
# The kinds of labels: the subject of one answer, and the metric with whose verdicts it is compared. A
# reference counts as supported by the judge when each of its sentences is.
KINDS: Mapping[str, tuple[str, type[JudgedMetric]]] = {
    CONTEXTS: ("retrieved context", ContextPrecision),
    UNITS: ("sentence of the reference", ContextRecall),
    REFERENCE: ("reference", ContextRecall),
}


@dataclass(frozen=True, slots=True)
class ComparedSample:
    """The labels of one kind for a sample, and the verdicts on the same sentences or contexts, in the same order.

    Attributes:
        label: The kind of label.
        sample: The sample.
        sample_id: The sample's id, or its number.
        people: The labels of people, None for a question without a label. None instead of all if the sample has no such labels.
        verdicts: The verdicts of the judge.
        score: The judge's score of the sample.
        group: The cluster that the sample belongs to; None: it is in no cluster with others.
        weight: The number of samples that this sample stands for.
        mean: The mean that its values are part of: a metric's, or the share of references that are supported.
        scale: The highest value.
        values: The judge's value in this mean, and the one that people's labels give; None if there is none.
    """

    label: str
    sample: Sample
    sample_id: str
    people: tuple[bool | None, ...] | None
    verdicts: tuple[Verdict, ...] = ()
    score: Score | None = None
    group: str | None = None
    weight: float = 1.0
    mean: str = ""
    scale: float = 1.0
    values: tuple[float | None, float | None] = (None, None)

    @property
    def pairs(self) -> list[tuple[bool, Verdict]]:
        """Pairs of people's label and the judge's verdict, for questions that have both."""
        pairs = []
        for label, verdict in zip(self.people or (), self.verdicts, strict=True):
            if label is not None and verdict.value is not None:
                pairs.append((label, verdict))
        return pairs

    @property
    def disputed(self) -> list[Verdict]:
        """The judge's verdicts that people contradict."""
        return [verdict for people, verdict in self.pairs if verdict.value is not people]

    def __str__(self) -> str:
        disputed = self.disputed
        answers_differ = plural(len(self.pairs), "answer", "differs", "differ")
        lines = [
            f"sample {replace_invisible(self.sample_id)}, {self.label}: {len(disputed)} of {answers_differ}"
        ]
        for verdict in disputed:
            lines.append(format_verdict(verdict))
            lines.append(f"      people say {'no' if verdict.value else 'yes'}")
        return "\n".join(lines)


# The samples by kind of label.
LabelColumns: TypeAlias = dict[str, list[ComparedSample]]


def read_labels(sample: Sample, label: str) -> tuple[bool | None, ...] | None:
    """Return a sample's labels of one kind, or None if it has none.

    Raises:
        SampleError: A label is not yes or no, or there are not as many labels as units or contexts.
    """
    if label not in sample.labels:
        return None
    subject, _ = KINDS[label]
    sample_name = sample.called("A sample")
    values = sample.labels[label]
    if label == UNITS and sample.references is not None:
        raise SampleError(
            f"{sample_name}: labels.{label} cannot be about the sentences of several references. Write one 'reference'."
        )
    if label == REFERENCE:
        values = (values,)
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise SampleError(
            f"{sample_name}: labels.{label} must be a list: true or false for each {subject}."
        )
    if not all(value is None or (isinstance(value, int) and value in (0, 1)) for value in values):
        raise SampleError(
            f"{sample_name}: labels.{label} must say true, false or null, and nothing else."
        )
    count = _count_subjects(sample, label)
    if len(values) != count:
        raise SampleError(
            f"{sample_name}: labels.{label} must have one entry for each {subject}: it has {len(values)} in place of {count}."
        )
    return tuple(None if value is None else bool(value) for value in values)


def _count_subjects(sample: Sample, label: str) -> int:
    """Count the questions that a sample has for labels."""
    if label == UNITS:
        return len(split_sentences(sample.reference or ""))
    if label == CONTEXTS:
        return len(sample.retrieved_contexts or ())
    return 1


def read_columns(samples: Sequence[Sample], groups: Sequence[str | None]) -> LabelColumns:
    """Return people's labels on each sample, by the kinds of label that there are. Nothing is judged yet.

    Args:
        samples: The samples.
        groups: The cluster of each sample; None for a sample of no cluster.

    Raises:
        MissingFieldError: No sample has a label.
        SampleError: A label is neither yes nor no, a list of labels has the wrong length, or a weight is no number above 0.
    """
    columns: LabelColumns = {}
    for kind in KINDS:
        if any(kind in sample.labels for sample in samples):
            columns[kind] = []
            for number, (sample, group) in enumerate(zip(samples, groups, strict=True), 1):
                columns[kind].append(_read_compared(kind, sample, number, group))
    if not columns:
        kinds = "; ".join(
            f"'{name}': yes or no for each {subject}" for name, (subject, _) in KINDS.items()
        )
        raise MissingFieldError(
            "No sample has labels to compare with. ctxmetrics label FILE asks you for them. Or write labels={..} with "
            f"{kinds}."
        )
    return columns


def _read_compared(kind: str, sample: Sample, number: int, group: str | None) -> ComparedSample:
    """Read the labels of a sample for the comparison with a judge."""
    labels = read_labels(sample, kind)
    weight = weight_in(sample.labels, sample.called("A sample"))
    return ComparedSample(kind, sample, sample.id or str(number), labels, group=group, weight=weight)


def metric_in(results: Results, label: str) -> Metric:
    """Return the metric of a run that a kind of label is compared with: the one that the labels are about, else another.

    Raises:
        ParameterError: The run has none, or no sample.
    """
    if not results:
        raise ParameterError("agree: the run has no sample. Give a run over the labelled file.")
    _, metric_class = KINDS[label]
    base_name = metric_class.base_name
    matches: list[Metric] = []
    for name, score in results[0].items():
        metric = find_metric(name, score.provenance.convention)
        if metric is not None and metric.base_name == base_name:
            matches.append(metric)
    if not matches:
        raise ParameterError(
            f"agree: {label} labels are compared with {base_name}, which this run does not have: it has "
            f"{', '.join(results.metrics)}. Score it with this metric too."
        )
    for metric in matches:
        unit_noun, _ = metric.counted_words
        if label_of(metric) and metric.top_k is None and unit_noun != "fact":
            return metric
    return matches[0]


def add_verdicts(item: ComparedSample, metric: Metric, row: Row | None) -> ComparedSample:
    """Put the verdicts and the score of the metric beside the labels that they are compared with.

    Args:
        item: The labels.
        metric: The metric.
        row: The sample in the run; None if it is not there: without labels it then has no score.

    Raises:
        ParameterError: A labelled sample is not in the run, or its verdicts are about other texts or units.
    """
    score = Score(metric=metric.name, value=None) if row is None else row[metric.name]
    verdicts = score.verdicts
    values = (score.value, people_value(metric, score, item.people))
    if item.people is not None:
        _check_verdicts(item, score, in_run=row is not None)
    # A score without verdicts has no value, or nothing was retrieved, which supports nothing.
    value_without_verdicts = None if score.value is None else False
    mean = metric.name
    scale = metric.convention_data.scale
    if item.label == REFERENCE:
        mean = REFERENCE
        scale = 1.0
        is_supported = value_without_verdicts
        if verdicts:
            is_supported = _are_all_supported(verdicts)
        verdicts = (Verdict(id=REFERENCE, value=is_supported, text=item.sample.reference or ""),)
        values = (is_supported, item.people[0] if item.people else None)
    elif not verdicts:
        numbers = range(1, len(item.people or ()) + 1)
        verdicts = tuple(Verdict(id=f"s{number}", value=value_without_verdicts) for number in numbers)
    if item.people is None:
        verdicts = ()
    return replace(item, score=score, verdicts=verdicts, values=values, mean=mean, scale=scale)


def _are_all_supported(verdicts: Sequence[Verdict]) -> bool | None:
    """Tell whether every sentence is supported. Return None if that is not known."""
    values = {verdict.value for verdict in verdicts}
    if False in values:
        return False
    return None if None in values else True


def _check_verdicts(item: ComparedSample, score: Score, *, in_run: bool) -> None:
    """Check that a score has a verdict for each label of a sample.

    Raises:
        ParameterError: The sample is not in the run, or the verdicts are about other texts or units.
    """
    name = replace_invisible(item.sample_id)[:_MAX_NAME_CHARACTERS]
    count = len(score.verdicts)
    if not in_run:
        raise ParameterError(
            f"agree: sample {name!r} is not in the run, or has other texts there. Give a run over the labelled file."
        )
    if item.label == CONTEXTS:
        are_same_subjects = count == len(item.sample.retrieved_contexts or ())
        fix = "Score without top_k"
    else:
        references = item.sample.references or (item.sample.reference or "",)
        labelled_units = [split_sentences(reference) for reference in references]
        judged_units = tuple(verdict.text for verdict in score.verdicts)
        are_same_subjects = judged_units in labelled_units
        fix = "Score with unit='sentence', without language=, and with the splitter that cut the labelled sentences"
    if count and not are_same_subjects:
        raise ParameterError(
            f"agree: the {plural(count, 'verdict')} of {score.metric} on sample {name!r} "
            f"{'is' if count == 1 else 'are'} not about what was labelled. {fix}."
        )
