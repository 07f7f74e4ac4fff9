"""People's labels: the scores that they give by the metric's own formula, and labels files beside two runs.

An answer of a labels file is about the run that retrieved the contexts which the person saw.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxmetrics._display import visible
from ctxmetrics.comparison.answers import CONTEXTS, UNITS, Key, Question, labels_by_key
from ctxmetrics.comparison.joining import hash_of
from ctxmetrics.errors import InputFileError, SampleError
from ctxmetrics.metrics import metric_named
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.judged import ContextPrecision, ContextRecall, JudgedMetric
from ctxmetrics.report.rows import record_of, shown_hash
from ctxmetrics.report.view import Row
from ctxmetrics.samples import Sample

if TYPE_CHECKING:
    import os

_KINDS = (UNITS, CONTEXTS, "reference_supported", "weight")


def label_of(metric: Metric | None) -> str | None:
    """Return the name of the labels that give a metric's scores; None where people cannot label what it counts."""
    if not isinstance(metric, JudgedMetric) or metric.counted_unit == "claim":
        return None
    if isinstance(metric, ContextPrecision) and metric.relevance == "useful":
        return CONTEXTS
    return UNITS if isinstance(metric, ContextRecall) else None


def people_value(
    metric: Metric, value: float | None, verdicts: int, labels: Sequence[bool | int | None] | None
) -> float | None:
    """Return the score that people's labels give, by the metric's own formula; None where a label is missing.

    Where nothing was asked, since a side is empty, the convention's value stands.

    Args:
        metric: The metric.
        value: The judge's score.
        verdicts: How many verdicts it rests on.
        labels: What people said about the same things, or None.
    """
    if (
        labels is not None
        and len(labels) != verdicts
        and (metric.top_k is None or len(labels) < verdicts)
    ):
        labels = None if verdicts else labels
    if labels is None or not verdicts:
        return None if labels is None else value
    said = tuple(bool(label) for label in labels[:verdicts] if label is not None)
    return _value(metric, said) if len(said) == verdicts else None


@lru_cache(maxsize=4096)
def _value(metric: Metric, said: tuple[bool, ...]) -> float | None:
    return metric.build(Sample(), metric.to_value(said)).value


def weight_in(labels: Mapping[str, object], who: str) -> float:
    """Return how many samples a labelled one stands for; 1 where its labels do not say.

    Raises:
        SampleError: It is no number above 0.
    """
    given = labels.get("weight", 1)
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 < given < math.inf:
        raise SampleError(f"{who}: labels.weight must be a number above 0.")
    return float(given)


def labels_in(labels: Mapping[str, object], name: str) -> Sequence[bool | int | None] | None:
    """Return the labels of one kind, or None where there are none that say yes or no."""
    given = labels.get(name)
    if not isinstance(given, Sequence) or isinstance(given, (str, bytes)):
        return None
    return given if all(item is None or item in (0, 1) for item in given) else None


def labelled_by(
    paths: Iterable[str | os.PathLike[str]], *runs: Sequence[Row]
) -> tuple[list[Row], list[Row]]:
    """Return two runs with the labels of files, in place of those that their samples have.

    Args:
        paths: The labels files.
        *runs: Both runs.

    Raises:
        InputFileError: A file is no labels file, or an answer is about a sample, or contexts, of neither run.
    """
    places = [_Places(run) for run in runs]
    found: list[dict[int, dict[str, Any]]] = [{} for _ in runs]
    for path in map(Path, paths):

        def asked(key: Key, answers: Collection[Question], path: Path = path) -> Sequence[Question]:
            questions = [place.questions(key, answers) for place in places]
            known = next((item for item in questions if item is not None), None)
            if known is None:
                raise InputFileError(
                    f"{path}: the answers about sample {visible(key[0] or key[1])[:80]!r} are about texts that neither run "
                    "has. Give runs on the samples that were labelled."
                )
            return known

        for key, given in labels_by_key(path, asked).items():
            for place, labels in zip(places, found, strict=True):
                if key in place.of:
                    labels.setdefault(place.of[key], {}).update(given)
    first, second = (
        [_with_labels(row, labels.get(place, {})) for place, row in enumerate(run)]
        for run, labels in zip(runs, found, strict=True)
    )
    return first, second


def _with_labels(row: Row, labels: Mapping[str, Any]) -> Row:
    """Return a row with these labels in place of its own that people gave."""
    if row.sample is None or not (row.sample.labels or labels):
        return row
    others = {name: value for name, value in row.sample.labels.items() if name not in _KINDS}
    return replace(row, sample=replace(row.sample, labels={**others, **labels}))


class _Places:
    """Finds the sample of a run that a person labelled.

    Attributes:
        of: The place of each sample that was found.
    """

    def __init__(self, run: Sequence[Row]) -> None:
        self._run = run
        self._by_id: dict[str | None, list[int]] = defaultdict(list)
        for place, row in enumerate(run):
            self._by_id[row.sample_id].append(place)
        self._recall = next(
            (
                name
                for name, score in (run[0].items() if run else ())
                if label_of(metric_named(name, score.provenance.convention)) == UNITS
            ),
            None,
        )
        self.of: dict[Key, int] = {}

    def questions(self, key: Key, answers: Collection[Question]) -> list[Question] | None:
        """Return what can be asked about a sample; None where the run has none with these texts."""
        for place in self._by_id.get(key[0], ()):
            row = self._run[place]
            hashes = (record_of(row) or {}).get("context_hashes") or ()
            if shown_hash(hash_of(row), hashes) == key[1]:
                self.of[key] = place
                units = [
                    Question(key, UNITS, unit.id, unit.text)
                    for unit in (row[self._recall].verdicts if self._recall else ())
                ]
                # The run has no recall, or nothing was retrieved: its sentences are not known.
                if not units:
                    units = sorted(
                        (question for question in answers if question.label == UNITS),
                        key=lambda question: int(question.item[1:]),
                    )
                numbers = range(1, len(hashes) + 1)
                return [*units, *(Question(key, CONTEXTS, f"c{number}") for number in numbers)]
        return None
