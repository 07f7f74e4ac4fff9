"""Which samples of a file a person labels, what is asked about them, and the samples with the labels."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ctxmetrics import __version__
from ctxmetrics._internal.frozen import fields_to_json_data
from ctxmetrics.errors import InputFileError, MissingFieldError, OutputFileError, ParameterError
from ctxmetrics.evaluation.rows.json_lines import json_line
from ctxmetrics.evaluation.rows.locked_files import append
from ctxmetrics.evaluation.rows.people_answers import (
    ASKED_KINDS,
    CONTEXTS,
    UNITS,
    Draw,
    Drawn,
    LabelQuestion,
    PeopleAnswers,
    PersonAnswer,
    QuestionKey,
    labels_by_key,
    with_labels,
)
from ctxmetrics.evaluation.rows.sample_groups import find
from ctxmetrics.evaluation.rows.sample_record import key_of
from ctxmetrics.evaluation.runs.sources import check_id
from ctxmetrics.metrics.judged import ContextRecall
from ctxmetrics.samples.sample import Sample
from ctxmetrics.text.character_spans import has_content
from ctxmetrics.text.sentences import sentence_spans, splitter


def samples_by_key(samples: Iterable[Sample]) -> dict[QuestionKey, Sample]:
    """Return the samples that can be labelled: they have a reference and retrieved contexts that are text.

    Samples without an id whose texts are equal are one.

    Raises:
        SampleError: Two samples have one id.
        MissingFieldError: No sample can be labelled.
    """
    numbers_by_id: dict[str, int] = {}
    labellable_samples: dict[QuestionKey, Sample] = {}
    for number, sample in enumerate(samples, 1):
        check_id(sample, number, numbers_by_id)
        if can_be_labelled(sample):
            labellable_samples[key_of(sample)] = sample
    if not labellable_samples:
        raise MissingFieldError(
            "No sample can be labelled: each needs a reference and retrieved_contexts. "
            "Fill the fields, or map them with --schema."
        )
    return labellable_samples


def can_be_labelled(sample: Sample) -> bool:
    """Tell whether a sample has a reference and retrieved contexts that are text."""
    has_both = sample.retrieved_contexts is not None and has_content(sample.reference or "")
    return has_both and ContextRecall().check_texts(sample) is None


def draw(
    samples: Mapping[QuestionKey, Sample],
    n: int,
    *,
    seed: int,
    by: str | None = None,
    earlier: Draw | None = None,
) -> Draw:
    """Draw ``n`` samples at random without replacement, in random order.

    With ``by``, the same number of samples is drawn for each value of the field (a stratum), if it has so many: so rare values are
    labelled too. A mean over the file is then the mean of the samples' scores with their weights.

    Args:
        samples: All samples that can be drawn; see `samples_by_key`.
        n: The number of samples to draw. If there are fewer, all are drawn.
        seed: The seed of the random numbers. The same samples and seed give the same draw.
        by: A key of the metadata, such as ``"metadata.topic"``; None: one stratum.
        earlier: A smaller draw of the same samples, which this one continues.

    Raises:
        ParameterError: ``n`` is below 1, or no sample has the field.
    """
    if n < 1:
        raise ParameterError(f"label: n={n} must be 1 or more.")
    strata: dict[QuestionKey, str | None] = {
        key: _find_stratum(sample, by) for key, sample in samples.items()
    }
    if by is not None and set(strata.values()) == {""}:
        raise ParameterError(
            f"label: no sample has {by!r}. Write a key of the metadata, such as metadata.topic."
        )
    counts = _count_per_stratum(n, Counter(strata.values()))
    earlier_keys = [item.key for item in earlier.drawn] if earlier else []
    drawn_samples = choose_samples(strata, counts, seed=seed, earlier=earlier_keys)
    return Draw(seed, by, len(samples), tuple(drawn_samples))


def to_sortable(key: QuestionKey) -> tuple[str, str]:
    """Convert a key to texts that can be sorted: the id of a sample may be missing."""
    sample_id, texts_hash = key
    return sample_id or "", texts_hash


def choose_samples(
    strata: Mapping[QuestionKey, str | None],
    counts: Counter[str | None],
    *,
    seed: int,
    earlier: Sequence[QuestionKey] = (),
) -> list[Drawn]:
    """Choose samples of each stratum at random, in random order.

    Args:
        strata: The stratum of each sample.
        counts: How many samples of each stratum to choose.
        seed: The seed of the random numbers.
        earlier: The keys of samples that are already chosen.
    """
    chosen_keys = list(dict.fromkeys(earlier))  # each once
    # A later draw does not repeat the order of the draw before it.
    random_source = random.Random(f"{seed}/{len(chosen_keys)}")  # noqa: S311 - a draw that can be repeated
    ordered_keys = sorted(strata, key=to_sortable)
    already_chosen = set(chosen_keys)
    candidates = [key for key in ordered_keys if key not in already_chosen]
    random_source.shuffle(candidates)
    missing_counts = counts - Counter(strata[key] for key in chosen_keys)
    for key in candidates:
        if missing_counts[strata[key]] > 0:
            missing_counts[strata[key]] -= 1
            chosen_keys.append(key)
    stratum_sizes = Counter(strata.values())
    chosen_counts = Counter(strata[key] for key in chosen_keys)
    drawn_samples: list[Drawn] = []
    for key in chosen_keys:
        stratum = strata[key]
        stratum_size = stratum_sizes[stratum]
        weight = stratum_size / chosen_counts[stratum]
        drawn_samples.append(Drawn(key, stratum, weight, None if stratum is None else stratum_size))
    return drawn_samples


def _count_per_stratum(n: int, sizes: Mapping[str | None, int]) -> Counter[str | None]:
    """Return how many samples each stratum gets. In turns, each stratum gets one more sample, until n samples are given out."""
    counts: Counter[str | None] = Counter()
    names = sorted(sizes, key=str)
    remaining = min(n, sum(sizes.values()))
    while remaining:
        for name in names:
            if remaining and counts[name] < sizes[name]:
                counts[name] += 1
                remaining -= 1
    return counts


def _find_stratum(sample: Sample, by: str | None) -> str | None:
    """Return the value of a key of the metadata as text. Return an empty text if there is no such key."""
    if by is None:
        return None
    value = find(sample.metadata, by)
    return "" if value is None else str(value)


# --- questions and answers ---


def list_questions(
    key: QuestionKey, sample: Sample, labels: Collection[str] = ASKED_KINDS
) -> list[LabelQuestion]:
    """List the questions about a sample: each sentence of the reference, as the metric cuts it, then each context."""
    reference = sample.reference or ""
    questions = []
    if UNITS in labels:
        for number, (start, end) in enumerate(sentence_spans(reference), 1):
            questions.append(LabelQuestion(key, UNITS, f"s{number}", reference[start:end]))
    if CONTEXTS in labels:
        count = len(sample.retrieved_contexts or ())
        questions += [LabelQuestion(key, CONTEXTS, f"c{number}") for number in range(1, count + 1)]
    return questions


def read_labelled(
    samples: Iterable[Sample], file: PeopleAnswers, *, annotator: str | None = None
) -> list[Sample]:
    """Return the samples with the labels of a file instead of their own labels.

    Args:
        samples: All samples of the file that was labelled.
        file: The content of the file of labels; see `ctxmetrics.evaluation.rows.people_answers.labels_by_key`.
        annotator: The person whose answers are read; None: all people's.

    Raises:
        InputFileError: The file has no yes or no, or was made for other samples.
        ParameterError: The file has no answers of the annotator.
    """
    all_samples = list(samples)
    by_key = samples_by_key(all_samples)

    def list_answerable(key: QuestionKey, _: Collection[LabelQuestion]) -> list[LabelQuestion]:
        """List the questions about a sample of the file. Raise if the sample is not the one that was labelled."""
        if key not in by_key:
            sample_id, texts_hash = key
            has_id = sample_id is not None and sample_id in {id_ for id_, _ in by_key}
            problem = "has other texts now" if has_id else "is not among the samples"
            raise InputFileError(
                f"{file.path}: sample {sample_id or texts_hash!r} {problem}. Give the file that was labelled."
            )
        return list_questions(key, by_key[key])

    labels = labels_by_key(file, list_answerable, annotator=annotator)
    return [with_labels(sample, labels.get(key_of(sample), {})) for sample in all_samples]


# --- the file of answers ---

_APPEND_FLAGS = os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0)
# The fields of a question in the line of an answer.
_QUESTION_FIELDS = ("label", "item", "text")
# The fields of the answer in the line of an answer.
_ANSWER_FIELDS = ("answer", "contexts", "annotator", "weight", "verdict_shown")


def _create_exclusively(path: Path) -> None:
    """Create an empty file that only its owner can read.

    Raises:
        FileExistsError: The file exists already.
    """
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | _APPEND_FLAGS, 0o600)
    os.close(descriptor)


class LabelsFile(PeopleAnswers):
    """A file of answers to which further answers are appended."""

    def check(self, samples: Collection[QuestionKey]) -> None:
        """Check that each sample of the draw is among the samples.

        Raises:
            ParameterError: A sample of the draw is not among the samples.
        """
        for key in self.get_drawn():
            if key not in samples:
                sample_id, texts_hash = key
                raise ParameterError(
                    f"label: {self.path} was drawn from other samples: {sample_id or texts_hash!r} is not here, or its "
                    "texts have changed. Give the file that it was begun with, or another one with --labels."
                )

    def begin(self, draw: Draw) -> None:
        """Write a draw: the first draw of a new file, or a draw that is larger than the last one.

        Raises:
            InputFileError: No file can be created at the path, or another process has just created it.
            OutputFileError: Writing failed.
        """
        try:
            if not self.size:
                # An empty file is left of a process that was killed before it wrote its draw.
                self.path.unlink(missing_ok=True)
                _create_exclusively(self.path)
        except FileExistsError:
            raise InputFileError(
                f"{self.path}: another process has just begun it. Start again to go on with its draw."
            ) from None
        except OSError as error:
            raise InputFileError(
                f"{self.path}: cannot be written: {error.strerror}. Choose another file with --labels."
            ) from None
        strata = sorted(item.stratum for item in draw.drawn if item.stratum is not None)
        draw_data = {
            "seed": draw.seed,
            "by": draw.by,
            "samples": draw.samples,
            "strata": Counter(strata),
            "splitter": splitter(),
            "library": f"ctxmetrics {__version__}",
        }
        drawn_data: list[dict[str, Any]] = []
        for item in draw.drawn:
            sample_id, texts_hash = item.key
            drawn_data.append(
                {
                    "sample_id": sample_id,
                    "hash": texts_hash,
                    "stratum": item.stratum,
                    "weight": item.weight,
                    "stratum_size": item.stratum_size,
                }
            )
        self._write({"draw": draw_data, "drawn": drawn_data})
        self.draw: Draw | None = draw

    def add(self, answer: PersonAnswer) -> None:
        """Append an answer. It is on the disk when this function returns.

        Raises:
            OutputFileError: Writing failed; the answer is not kept.
        """
        question = answer.question
        sample_id, texts_hash = question.key
        data: dict[str, Any] = {"sample_id": sample_id, "hash": texts_hash}
        data |= fields_to_json_data(question, _QUESTION_FIELDS) | fields_to_json_data(
            answer, _ANSWER_FIELDS
        )
        if answer.spans:
            data["spans"] = list(answer.spans)
        self._write(data)
        self.answers[answer.annotator, question] = answer

    def _write(self, data: dict[str, Any]) -> None:
        """Append one line and wait until it is on the disk. First cut off the rest of a line that another process left half-written."""
        try:
            file = os.open(self.path, _APPEND_FLAGS)
            try:
                # Wait until no other process writes the file. Closing the file releases the lock. Windows and some file systems
                # have no such locks.
                with suppress(ImportError, OSError):
                    import fcntl

                    fcntl.flock(file, fcntl.LOCK_EX)
                # Read what follows the last line that this process knows: lines of another process, or half of a line.
                with self.path.open("rb") as content:
                    content.seek(self.size)
                    content_bytes = content.read()
                end_of_last_line = self.size + content_bytes.rfind(b"\n") + 1
                end_of_file = self.size + len(content_bytes)
                if end_of_last_line < end_of_file:
                    os.ftruncate(file, end_of_last_line)
                self.size: int = end_of_last_line
                append(file, json_line(data), sync=True)
            finally:
                os.close(file)
        except OSError as error:
            raise OutputFileError(f"{self.path} cannot be written: {error.strerror or error}") from None
