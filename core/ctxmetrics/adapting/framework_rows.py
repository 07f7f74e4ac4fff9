"""The rows of a framework's run as `Results`: its records, and what it kept beside each number."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ctxmetrics._internal.frozen import EMPTY
from ctxmetrics.conventions import get_convention
from ctxmetrics.errors import CtxMetricsError, ParameterError
from ctxmetrics.reading import OPTIONS, Schema
from ctxmetrics.results.results import Results
from ctxmetrics.results.row import Row
from ctxmetrics.results.rows_file import read_score
from ctxmetrics.samples import Sample
from ctxmetrics.scores import Score
from ctxmetrics.stages import sizes_of

# Begins the last line of a text that a framework keeps beside the number.
_MARK = "ctxmetrics:"


def append_score(text: str, score: Score) -> str:
    """Append a line with the whole score, for a framework that keeps a text alone; in Base64, which no markup can change."""
    return f"{text}\n{_MARK}{b64encode(json.dumps(score.to_dict()).encode()).decode()}"


def find_score(text: str | None) -> dict[str, Any] | None:
    """Return the score that `append_score` wrote; None where there is none."""
    _, mark, line = (text or "").rpartition(_MARK)
    return json.loads(b64decode(line)) if mark else None


def build_results(
    schema: Schema,
    rows: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]],
    keys: Mapping[str, Any] = EMPTY,
) -> Results:
    """Build results of a framework's run.

    Args:
        schema: Reads the records.
        rows: The record of each row; and by the framework's name of each metric what `Score.to_dict` gave, or for a metric
            that failed, why. Metrics of which no row has such a dict are not ours, and are left out.
        keys: Where things stand in the records: see `KeyParams`.

    Raises:
        ParameterError: A key is unknown; the run has no score of ours, two are of one metric, or a sample lacks the contexts
            that were judged.
    """
    schema.check(keys)
    scored = []
    first: dict[str, Score] = {}
    for record, kept in rows:
        sample = _read_sample(schema, record, keys)
        scores = {name: _read_score(value, sample) for name, value in kept.items()}
        first = {name: score for name, score in scores.items() if isinstance(score, Score)} | first
        scored.append((sample, scores))
    scales = {s.metric: get_convention(s.provenance.convention).scale for s in first.values()}
    if not scales or len(scales) < len(first):
        raise ParameterError(
            f"results: the run must have scores of ctxmetrics, of different metrics, not: {', '.join(first) or 'none'}."
        )
    results = Results(scales, keep=True)
    for index, (sample, scores) in enumerate(scored):
        row = [_pick(scores.get(name), example, sample) for name, example in first.items()]
        results.add(Row(index, sample, sample.id, tuple(row)))
        for score in row:
            results.usage += replace(score.usage, reused=0)
    return results


def _read_sample(schema: Schema, record: Mapping[str, Any], keys: Mapping[str, Any]) -> Sample:
    """Read every field of a record that is there; of one that cannot be read, the id."""
    try:
        return Sample(**schema.read(record, keys, (), OPTIONS))
    except CtxMetricsError:
        return Sample(id=record.get("id"))


def _read_score(kept: Any, sample: Sample) -> Score | str:
    """Read what was kept of a score, or why there is none."""
    if not isinstance(kept, Mapping):
        return str(kept or "the framework kept no score")
    stages = {"stage_sizes": sizes_of(sample.stages)} if sample.stages else None
    score = read_score({**kept, "sample": stages})
    if score.context_lengths and len(sample.retrieved_contexts or ()) < len(score.context_lengths):
        raise ParameterError(
            f"results: sample {sample.id!r} lacks the contexts that were judged. Give contexts_key= as the metric had it."
        )
    return score


def _pick(score: Score | str | None, example: Score, sample: Sample) -> Score:
    """Return a row's score; where it is none, one of the same metric without a value."""
    if isinstance(score, Score):
        return replace(score, sample_id=sample.id)
    failure = Score(metric=example.metric, value=None, reason_code="metric_error", message=score)
    return replace(failure, provenance=example.provenance, sample_id=sample.id)
