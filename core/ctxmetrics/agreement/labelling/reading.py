"""Samples with the labels that people's answers give, for a comparison with a judge."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

from ctxmetrics.agreement.labelling.draw import key_of, samples_by_key
from ctxmetrics.agreement.labelling.questions import questions_of
from ctxmetrics.agreement.labels import KINDS
from ctxmetrics.comparison.answers import Key, Question, labels_by_key
from ctxmetrics.errors import InputFileError
from ctxmetrics.samples import Sample


def read_labelled(samples: Iterable[Sample], path: Path, *, annotator: str | None = None) -> list[Sample]:
    """Return the samples with the labels of a file, in place of those that they have.

    Args:
        samples: All samples of the file that was labelled.
        path: The file of labels; see `ctxmetrics.comparison.answers.labels_by_key`.
        annotator: The person whose answers are read; None: all people's.

    Raises:
        InputFileError: The file is no file of labels, has no yes or no, or was made for other samples.
        ParameterError: There is no such annotator.
    """
    given = list(samples)
    known = samples_by_key(given)

    def asked(key: Key, _: Collection[Question]) -> list[Question]:
        if key not in known:
            changed = key[0] is not None and any(other[0] == key[0] for other in known)
            what = "has other texts now" if changed else "is not among the samples"
            raise InputFileError(
                f"{path}: sample {key[0] or key[1]!r} {what}. Give the file that was labelled."
            )
        return questions_of(key, known[key])

    labels = labels_by_key(path, asked, annotator=annotator)
    return [replace(sample, labels={**_others(sample), **labels.get(key_of(sample), {})}) for sample in given]


def _others(sample: Sample) -> dict[str, object]:
    return {name: value for name, value in sample.labels.items() if name not in KINDS}
