"""Samples with the labels that people's answers give, for a comparison with a judge."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ctxmetrics.agreement.labelling.draw import key_of, samples_by_key
from ctxmetrics.agreement.labelling.labels_file import NO, YES, LabelsFile
from ctxmetrics.agreement.labelling.questions import ASKED, questions_of
from ctxmetrics.agreement.labels import KINDS
from ctxmetrics.comparison.labelled import CONTEXTS
from ctxmetrics.errors import InputFileError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from ctxmetrics.agreement.labelling.draw import Drawn, Key
    from ctxmetrics.agreement.labelling.questions import Question
    from ctxmetrics.samples import Sample


def read_labelled(samples: Iterable[Sample], path: Path, *, annotator: str | None = None) -> list[Sample]:
    """Return the samples with the labels of a file, in place of those that they have.

    Where several people answered a question, the majority counts, and a tie is no label. Where the draw gave samples
    different weights, the labels of a sample hold its ``weight`` as well.

    Args:
        samples: All samples of the file that was labelled.
        path: The file of labels.
        annotator: The person whose answers are read; None: all people's.

    Raises:
        InputFileError: The file is no file of labels, has no yes or no, or was made for other samples.
        ParameterError: There is no such annotator.
    """
    given = list(samples)
    file = LabelsFile(path)
    said = _answers(file, annotator)
    known = samples_by_key(given)
    drawn = {one.key: one for one in file.draw.drawn} if file.draw else {}
    weighted = len({one.weight for one in drawn.values()}) > 1
    labels = {key: _labels(path, one, known, said.get(key, {})) for key, one in drawn.items()}
    if not any(labels.values()):
        raise InputFileError(f"{path}: no question has a yes or a no. Answer some with `ctxmetrics label`.")
    _add_empty(labels, known)
    for key, found in labels.items():
        if found and weighted:
            found["weight"] = drawn[key].weight
    return [_with(sample, labels.get(key_of(sample), {})) for sample in given]


def _answers(file: LabelsFile, annotator: str | None) -> dict[Key, dict[Question, bool | None]]:
    """Return what the majority said to the questions about each sample: None for a tie, and without a yes or a no."""
    if annotator is not None and annotator not in file.annotators:
        known = ", ".join(map(repr, file.annotators)) or "none"
        raise ParameterError(
            f"--annotator {annotator!r}: {file.path} has no answers under this name, only of {known}."
        )
    votes: dict[Question, Counter[str]] = {}
    for (name, question), answer in file.answers.items():
        if annotator in {None, name}:
            votes.setdefault(question, Counter())[answer.answer] += 1
    said: dict[Key, dict[Question, bool | None]] = {}
    for question, counts in votes.items():
        winner = None if counts[YES] == counts[NO] else counts[YES] > counts[NO]
        said.setdefault(question.key, {})[question] = winner
    return said


def _labels(
    path: Path,
    one: Drawn,
    known: Mapping[Key, Sample],
    said: Mapping[Question, bool | None],
) -> dict[str, Any]:
    """Return a drawn sample's labels; empty where no question has a yes or a no."""
    name = one.key[0] or one.key[1]
    if one.key not in known:
        changed = one.key[0] is not None and any(key[0] == one.key[0] for key in known)
        what = "has other texts now" if changed else "is not among the samples"
        raise InputFileError(f"{path}: sample {name!r} {what}. Give the file that was labelled.")
    asked = questions_of(one.key, known[one.key])
    if not said.keys() <= set(asked):
        raise InputFileError(
            f"{path}: the reference of sample {name!r} is cut into other sentences now. "
            "Label it again, or install the splitter that the first line names."
        )
    labels: dict[str, Any] = {}
    for kind in ASKED:
        answers = [said.get(question) for question in asked if question.label == kind]
        if any(answer is not None for answer in answers):
            labels[kind] = answers
    return labels


def _add_empty(labels: dict[Key, dict[str, Any]], known: Mapping[Key, Sample]) -> None:
    """Label samples for which nothing was retrieved with an empty list, as far as the person has come in the draw.

    Nothing is asked about their contexts. Left out, the labelled samples would be no random part of the file.
    """
    reached = max(place for place, found in enumerate(labels.values()) if found)
    if any(CONTEXTS in found for found in labels.values()):
        for key in list(labels)[: reached + 1]:
            if not known[key].retrieved_contexts:
                labels[key][CONTEXTS] = []


def _with(sample: Sample, labels: Mapping[str, Any]) -> Sample:
    others = {name: value for name, value in sample.labels.items() if name not in KINDS}
    return replace(sample, labels={**others, **labels})
