"""What a person is asked about a sample, and samples with the labels that the answers give."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

from ctxmetrics.agreement.labelling.draw import key_of, samples_by_key
from ctxmetrics.agreement.labels import KINDS
from ctxmetrics.comparison.answers import ASKED, Key, Question, labels_by_key
from ctxmetrics.comparison.labelled import CONTEXTS, UNITS
from ctxmetrics.errors import InputFileError
from ctxmetrics.samples import Sample
from ctxmetrics.text import Span, detect_language, sentence_spans


def units_of(sample: Sample) -> tuple[Span, ...]:
    """Return where the sentences stand that the metric counts, in the reference."""
    reference = sample.reference or ""
    return sentence_spans(reference, detect_language(reference))


def questions_of(key: Key, sample: Sample, labels: Collection[str] = ASKED) -> list[Question]:
    """Return the questions about a sample: about each sentence of the reference, as the metric cuts it, then each context."""
    reference = sample.reference or ""
    asked = [
        Question(key, UNITS, f"s{number}", reference[start:end])
        for number, (start, end) in enumerate(units_of(sample), 1)
    ]
    asked += [
        Question(key, CONTEXTS, f"c{number}")
        for number in range(1, len(sample.retrieved_contexts or ()) + 1)
    ]
    return [question for question in asked if question.label in labels]


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
    return [
        replace(sample, labels={**_others(sample), **labels.get(key_of(sample), {})}) for sample in given
    ]


def _others(sample: Sample) -> dict[str, object]:
    return {name: value for name, value in sample.labels.items() if name not in KINDS}
