"""The rows of a framework's run as `Results`, built from its records and the scores that it saved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from ctxmetrics._internal.frozen import EMPTY
from ctxmetrics.errors import CtxMetricsError, ParameterError
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.rows.score_reading import read_score
from ctxmetrics.evaluation.runs.results import Results
from ctxmetrics.samples.field_keys import OPTIONS, check_key_params
from ctxmetrics.samples.sample import Sample
from ctxmetrics.samples.schema import Schema
from ctxmetrics.samples.stages import describe_stages
from ctxmetrics.scores.conventions import get_convention
from ctxmetrics.scores.score import Score

# The saved scores of a row by the framework's names of the metrics; or pairs, if a name may stand there twice.
SavedScores: TypeAlias = Mapping[str, Any] | Iterable[tuple[str, Any]]


def build_results(
    schema: Schema,
    rows: Iterable[tuple[Mapping[str, Any], SavedScores]],
    keys: Mapping[str, Any] = EMPTY,
) -> Results:
    """Build results of a framework's run.

    Args:
        schema: Reads the records.
        rows: Each row's record, and its saved scores by the framework's names of the metrics, as a mapping or as pairs: the
            `Score`, its dict, or the error of a metric that failed. A metric without a score in any row is not of this library,
            and is left out.
        keys: The keys of the fields in the records: see `KeyParams`.

    Raises:
        ParameterError: A key is unknown; the run has no score of this library; two of its scores are of one metric; or a
            sample lacks the contexts that were judged.
    """
    check_key_params(keys)
    entries: list[_RowEntry] = []
    # The first score of each metric, by the framework's name and the metric's.
    examples: dict[tuple[str, str], Score] = {}
    # The framework's names of metrics that have several scores in one row.
    repeated_names: list[str] = []
    for record, saved_scores in rows:
        entry = _RowEntry(_read_sample(schema, record, keys))
        pairs: Any = saved_scores.items() if isinstance(saved_scores, Mapping) else saved_scores
        for name, saved in pairs:
            score = _read_score(saved, entry.sample)
            if not isinstance(score, Score):
                entry.failures[name] = score
                continue
            if (name, score.metric) in entry.scores:
                repeated_names.append(name)
            entry.scores[name, score.metric] = score
            examples.setdefault((name, score.metric), score)
        entries.append(entry)
    scales = {}
    for score in examples.values():
        scales[score.metric] = get_convention(score.provenance.convention).scale
    if not scales or repeated_names or len(scales) < len(examples):
        names = [name for name, _ in examples] + repeated_names[:1]
        raise ParameterError(
            f"results: the run must have scores of ctxmetrics, of different metrics, not: {', '.join(names) or 'none'}."
        )
    results = Results(scales, keep=True)
    for index, entry in enumerate(entries):
        sample = entry.sample
        row = []
        for name_and_metric, example in examples.items():
            name, _ = name_and_metric
            saved_score = entry.scores.get(name_and_metric) or entry.failures.get(name)
            row.append(_fill_missing(saved_score, example, sample))
        results.add(Row(index, sample, sample.id, tuple(row)))
        for score in row:
            results.usage += replace(score.usage, reused=0)
    return results


@dataclass(frozen=True, slots=True)
class _RowEntry:
    """A sample of a framework's run, with its scores and the failures of metrics.

    Attributes:
        sample: The sample.
        scores: The scores by the framework's name of the metric and the metric's own name.
        failures: Why a metric has no score, by the framework's name of the metric.
    """

    sample: Sample
    scores: dict[tuple[str, str], Score] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)


def _read_sample(schema: Schema, record: Mapping[str, Any], keys: Mapping[str, Any]) -> Sample:
    """Read all fields of a record. If the record cannot be read, read only its id."""
    try:
        return Sample(**schema.read(record, keys, (), OPTIONS))
    except CtxMetricsError:
        return Sample(id=record.get("id"))


def _read_score(saved: Any, sample: Sample) -> Score | str:
    """Read a saved score. If there is none, return the reason."""
    if isinstance(saved, Score):
        return saved
    if not isinstance(saved, Mapping):
        return str(saved or "the framework kept no score")
    stages = {"stage_sizes": describe_stages(sample.stages)} if sample.stages else None
    score = read_score({**saved, "sample": stages})
    if score.context_lengths and len(sample.retrieved_contexts or ()) < len(score.context_lengths):
        raise ParameterError(
            f"results: sample {sample.id!r} lacks the contexts that were judged. Give contexts_key= as the metric had it."
        )
    return score


def _fill_missing(score: Score | str | None, example: Score, sample: Sample) -> Score:
    """Return the score with the sample's id. If there is no score, return a score without a value.

    Args:
        score: The score, or the message that says why there is none.
        example: Another score of the metric.
        sample: The sample.
    """
    if isinstance(score, Score):
        return replace(score, sample_id=sample.id)
    failure = Score(metric=example.metric, value=None, reason_code="metric_error", message=score)
    return replace(failure, provenance=example.provenance, sample_id=sample.id)
