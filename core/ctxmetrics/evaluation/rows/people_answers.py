"""What people answered about samples: the lines of a labels file, the labels that they give, and the scores of these.

`ctxmetrics label` writes such a file: a line for the draw, then a line an answer.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeAlias

from ctxmetrics._internal.display import replace_invisible
from ctxmetrics._internal.near_names import suggest_file
from ctxmetrics.errors import InputFileError, ParameterError, SampleError
from ctxmetrics.evaluation.rows.baseline import HASH_PREFIX, KEY_HASH_LENGTH, shorten
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.rows.sample_record import build_record, texts_key
from ctxmetrics.formulas import weighted_share
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.catalog import find_metric
from ctxmetrics.metrics.judged import ContextPrecision, ContextRecall
from ctxmetrics.samples.sample import Sample
from ctxmetrics.scores.score import Score
from ctxmetrics.scores.wording import plural
from ctxmetrics.verdicts import Verdict

# A sample's id, if it has one, and the hash of the texts that a person sees.
QuestionKey: TypeAlias = "tuple[str | None, str]"

# The kinds of labels.
CONTEXTS = "context_useful"
UNITS = "unit_supported"
REFERENCE = "reference_supported"
# The keys of a sample's labels that people gave.
_LABEL_KEYS = (CONTEXTS, UNITS, REFERENCE, "weight", "stratum", "stratum_size")
YES = "yes"
NO = "no"
CANNOT_SAY = "cannot_say"
SKIPPED = "skipped"
ANSWERS = (YES, NO, CANNOT_SAY, SKIPPED)
# The kinds of labels that a person is asked for, in this order.
ASKED_KINDS = (UNITS, CONTEXTS)
# The maximum number of samples that one may stand for; with more, sums of weights may be infinite.
MAX_WEIGHT = 1e12
_FIRST_BYTES = b'{"draw"'
# The name of a sentence or context in a line: s1, c12.
_ITEM = re.compile("[sc][1-9][0-9]{0,5}")


@dataclass(frozen=True, slots=True)
class LabelQuestion:
    """One question about one sample.

    Attributes:
        key: The sample: its id, and the hash of question, reference and retrieved contexts.
        label: ``unit_supported``: is this sentence stated by the contexts? ``context_useful``: is this context useful?
        item: ``s1``, ``s2`` .. for sentences, ``c1``, ``c2`` .. for contexts, as in verdicts.
        text: The sentence; empty for a context.
    """

    key: QuestionKey
    label: str
    item: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class PersonAnswer:
    """The answer of a person to one question.

    Attributes:
        question: The question.
        answer: One of `ANSWERS`.
        annotator: The name of the person who answered.
        weight: The weight of the sample in the draw when the person answered.
        contexts: Which contexts state the sentence, as ``c1``, ``c2`` .., if the person said so.
        verdict_shown: Whether the judge's verdict had been shown before.
        spans: The spans of the contexts that support a yes, as ``SOURCE#char=START,END``. Empty if their ids do not say so.
    """

    question: LabelQuestion
    answer: str
    annotator: str
    weight: float
    contexts: tuple[str, ...] = ()
    verdict_shown: bool = False
    spans: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Drawn:
    """A sample that was drawn.

    Attributes:
        key: The sample's id and the hash of its question, reference and retrieved contexts.
        stratum: The value of the field that the draw is stratified by; None if there is none.
        weight: How many samples of the file this sample stands for: samples of its stratum, divided by the drawn samples of the stratum.
        stratum_size: The number of samples of its stratum; None without strata.
    """

    key: QuestionKey
    stratum: str | None
    weight: float
    stratum_size: int | None = None


@dataclass(frozen=True, slots=True)
class Draw:
    """The samples that were drawn, in the order in which they are asked about.

    Attributes:
        seed: The seed of the random numbers.
        by: The field that it is stratified by, or None.
        samples: The number of samples that could be drawn.
        drawn: The samples that were drawn.
    """

    seed: int
    by: str | None
    samples: int
    drawn: tuple[Drawn, ...]


class PeopleAnswers:
    """The content of a labels file.

    Args:
        path: The file; missing or empty, it has no draw.

    Attributes:
        path: The file.
        draw: The last draw, or None. If the files of several people were joined: all their draws together.
        answers: The last answer of each person to each question.
        size: The number of bytes of its complete lines. A half-written last line of a killed process is no answer.

    Raises:
        InputFileError: The file cannot be read, is no file of labels, has answers about samples that were not drawn, or
            other answers to a question under one name in two files that were put together.
    """

    def __init__(self, path: Path) -> None:
        self.path: Path = path
        self.draw: Draw | None = None
        # The answers, by the name of the person and the question.
        self.answers: dict[tuple[str, LabelQuestion], PersonAnswer] = {}
        self.size: int = 0
        # The answers in the files before the last file, by person and question; and the questions that the last file answers anew.
        self._earlier: dict[tuple[str, LabelQuestion], str] = {}
        self._replaced: list[tuple[str, LabelQuestion]] = []
        try:
            with path.open("rb") as file:
                for number, line in enumerate(file, 1):
                    if line.endswith(b"\n"):
                        self._read(line, number)
                        self.size += len(line)
                    elif self.draw is None and not line.startswith(_FIRST_BYTES):
                        raise self._problem(number)
        except FileNotFoundError:
            pass  # it begins with the first draw
        except OSError as error:
            raise InputFileError(
                f"{path}: cannot be read: {error.strerror}.{suggest_file(path)}"
            ) from None
        self._check_drawn()
        self._check_names()

    def get_drawn(self) -> dict[QuestionKey, Drawn]:
        """Return the samples of the draw by their keys. The result is empty if there is no draw."""
        if self.draw is None:
            return {}
        return {item.key: item for item in self.draw.drawn}

    def _check_drawn(self) -> None:
        """Check that each answer is about a drawn sample. Other answers would not count."""
        drawn_keys = set(self.get_drawn())
        unknown_keys = [question.key for _, question in self.answers if question.key not in drawn_keys]
        if not unknown_keys:
            return
        drawn_ids = {sample_id for sample_id, _ in drawn_keys if sample_id is not None}
        other_texts = 0
        for sample_id, _ in unknown_keys:
            if sample_id in drawn_ids:
                other_texts += 1
        other_ids = len(unknown_keys) - other_texts
        raise InputFileError(
            f"{self.path}: {plural(len(unknown_keys), 'answer', 'is', 'are')} about samples that were not drawn: "
            f"{other_texts} about other texts of a drawn sample, {other_ids} about other ids, the first "
            f"about {_name_sample(unknown_keys[0])!r}. Take these lines out, or give the file as it was written."
        )

    def _check_names(self) -> None:
        """Check that no two people answered under one name. Later answers would replace earlier ones."""
        if not self._replaced:
            return
        count = len(self._replaced)
        name, question = self._replaced[0]
        raise InputFileError(
            f"{self.path}: {plural(count, 'answer', 'replaces', 'replace')} another one under the name {replace_invisible(name)[:80]!r}, "
            f"in files that were put together; the first is about sample {_name_sample(question.key)!r}, "
            f"{question.item}. If two people answered, write a name of its own as 'annotator' in each one's lines; if one "
            "person did, take the earlier lines out."
        )

    def _read(self, line: bytes, number: int) -> None:
        """Read a line of the file: a draw or an answer."""
        try:
            data = json.loads(line)
            if "draw" in data:
                self.draw = self._add_draw(_parse_draw(data), number)
            elif self.draw is not None:
                answer = _parse_answer(data)
                asked_by = (answer.annotator, answer.question)
                earlier = self._earlier.get(asked_by, SKIPPED)
                if SKIPPED not in {earlier, answer.answer} and earlier != answer.answer:
                    self._replaced.append(asked_by)
                self.answers[asked_by] = answer
            else:
                raise self._problem(number)
        except InputFileError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
            raise self._problem(number) from None

    def _add_draw(self, draw: Draw, number: int) -> Draw:
        """Return a further draw with the samples of the earlier draws. It continues an earlier draw, or stands beside it."""
        if self.draw is None:
            return draw
        all_samples = {item.key: item for item in (*self.draw.drawn, *draw.drawn)}
        holds_earlier_samples = len(all_samples) == len(draw.drawn)
        if holds_earlier_samples and len(draw.drawn) > len(self.draw.drawn):
            return draw  # it continues the earlier one
        # The draw of another person's file begins: what was answered so far comes from the files before.
        self._earlier = {key: answer.answer for key, answer in self.answers.items()}
        if holds_earlier_samples:
            return draw
        by_key = draw.by is not None or self.draw.by is not None
        if by_key or draw.samples != self.draw.samples:
            raise InputFileError(
                f"{self.path}, line {number}: the samples of this draw have other weights than those of an earlier one: the "
                "draws are by a key, or of other files. Give each person's file alone, or label with the same --n, --seed and --by."
            )
        # The samples of both draws are one larger random draw, in which each stands for fewer samples.
        weight = draw.samples / len(all_samples)
        drawn = tuple(replace(item, weight=weight) for item in all_samples.values())
        return replace(draw, drawn=drawn)

    def _problem(self, number: int) -> InputFileError:
        """Build the error of a line that is neither."""
        return InputFileError(
            f"{self.path}, line {number}: this is no line of labels. "
            "Give a file that `ctxmetrics label` wrote, or one that does not exist yet."
        )

    def majority(
        self, annotator: str | None = None
    ) -> dict[QuestionKey, dict[LabelQuestion, bool | None]]:
        """Return the answer of the majority to each question. It is None for a tie, or if no labeller said yes or no.

        Args:
            annotator: The person whose answers count; None: the answers of all people count.
        """
        votes: dict[LabelQuestion, Counter[str]] = {}
        for (name, question), answer in self.answers.items():
            if annotator in {None, name}:
                votes.setdefault(question, Counter())[answer.answer] += 1
        majorities: dict[QuestionKey, dict[LabelQuestion, bool | None]] = {}
        for question, counts in votes.items():
            majority = None
            if counts[YES] != counts[NO]:
                majority = counts[YES] > counts[NO]
            majorities.setdefault(question.key, {})[question] = majority
        return majorities


def _parse_draw(data: dict[str, Any]) -> Draw:
    """Parse the line that says how samples were drawn."""
    about = data["draw"]
    drawn_samples = tuple(
        Drawn(
            _parse_key(item),
            item["stratum"],
            float(item["weight"]),
            item.get("stratum_size"),
        )
        for item in data["drawn"]
    )
    for item in drawn_samples:
        is_count = item.stratum_size is None or (
            type(item.stratum_size) is int and item.stratum_size > 0
        )
        if not 0 < item.weight <= MAX_WEIGHT or not is_count:
            raise ValueError
    return Draw(about["seed"], about["by"], about["samples"], drawn_samples)


def _parse_key(data: Mapping[str, Any]) -> QuestionKey:
    """Read the key of the sample that a line is about."""
    sample_id = data["sample_id"]
    texts_hash = data["hash"]
    if not isinstance(sample_id, str | None) or not isinstance(texts_hash, str):
        raise TypeError
    return sample_id, texts_hash


def _parse_answer(data: dict[str, Any]) -> PersonAnswer:
    """Parse a line with the answer of a person."""
    if data["answer"] not in ANSWERS:
        raise ValueError
    if not _ITEM.fullmatch(data["item"]):
        raise ValueError
    question = LabelQuestion(_parse_key(data), data["label"], data["item"], data["text"])
    annotator = str(data["annotator"])
    weight = float(data["weight"])
    contexts = tuple(data["contexts"])
    spans = tuple(data.get("spans", ()))
    verdict_shown = bool(data["verdict_shown"])
    return PersonAnswer(question, data["answer"], annotator, weight, contexts, verdict_shown, spans)


def read_answers(path: Path) -> PeopleAnswers:
    """Read a labels file that somebody has written.

    Raises:
        InputFileError: The file does not exist, or is no file of labels.
    """
    if not path.is_file():
        raise InputFileError(
            f"{path}: there is no such file.{suggest_file(path)} Answers are written by: ctxmetrics label FILE"
        )
    return PeopleAnswers(path)


def labels_by_key(
    file: PeopleAnswers,
    list_questions: Callable[[QuestionKey, Collection[LabelQuestion]], Sequence[LabelQuestion]],
    *,
    annotator: str | None = None,
) -> dict[QuestionKey, dict[str, Any]]:
    """Return the labels of the samples that were drawn, in the order of the draw. The result is empty if nothing was answered.

    Where several people answered a question, the majority counts, and a tie is no label. Where the draw gave samples
    different weights, the labels of a sample hold its ``weight`` as well; after a draw by strata also its ``stratum`` and
    how many samples this has (``stratum_size``). A sample for which nothing was retrieved has an
    empty list of ``context_useful``, as far as the person has come in the draw: nothing is asked about its contexts, and
    left out, the labelled samples would be no random part of the file.

    Args:
        file: The content of the labels file.
        list_questions: Returns every question that can be asked about a sample, given those that were answered.
        annotator: The person whose answers are read; None: all people's.

    Raises:
        InputFileError: The file has no yes or no, or its sentences are not the sentences of the samples.
        ParameterError: The file has no answers of the annotator.
    """
    annotators = dict.fromkeys(name for name, _ in file.answers)
    if annotator is not None and annotator not in annotators:
        annotator_names = ", ".join(map(repr, annotators)) or "none"
        raise ParameterError(
            f"--annotator {annotator!r}: {file.path} has no answers under this name, only of {annotator_names}."
        )
    majorities = file.majority(annotator)
    drawn_by_key = file.get_drawn()
    labels: dict[QuestionKey, dict[str, Any]] = {}
    # The samples for which nothing was retrieved: people get no question about their contexts.
    keys_without_contexts: set[QuestionKey] = set()
    for key in drawn_by_key:
        answers = majorities.get(key, {})
        questions = list_questions(key, answers)
        if not answers.keys() <= set(questions):
            raise InputFileError(
                f"{file.path}: the reference of sample {_name_sample(key)!r} is cut into other sentences now. "
                "Label it again, or install the splitter that the first line names."
            )
        labels[key] = _collect_labels(questions, answers)
        if CONTEXTS not in {question.label for question in questions}:
            keys_without_contexts.add(key)
    if not any(_has_label(answers.values()) for answers in majorities.values()):
        problem = "no question has a yes or a no. Answer some with `ctxmetrics label`."
        if annotator is None and any(answer.answer in {YES, NO} for answer in file.answers.values()):
            problem = "as many people say yes as no to each question. Let one more person answer: ctxmetrics label --annotator NAME."
        raise InputFileError(f"{file.path}: {problem}")
    _add_empty_lists(labels, keys_without_contexts)
    has_weights = len({item.weight for item in drawn_by_key.values()}) > 1
    for key, sample_labels in labels.items():
        item = drawn_by_key[key]
        if sample_labels and has_weights:
            sample_labels["weight"] = item.weight
        if sample_labels and item.stratum_size is not None:
            sample_labels |= {"stratum": item.stratum, "stratum_size": item.stratum_size}
    return labels


def _has_label(values: Iterable[bool | None]) -> bool:
    return any(value is not None for value in values)


def _collect_labels(
    questions: Sequence[LabelQuestion], answers: Mapping[LabelQuestion, bool | None]
) -> dict[str, Any]:
    """Return the labels of a sample by kind. A kind without any yes or no is left out."""
    labels = {}
    for kind in ASKED_KINDS:
        values = [answers.get(question) for question in questions if question.label == kind]
        if _has_label(values):
            labels[kind] = values
    return labels


def with_labels(sample: Sample, labels: Mapping[str, Any]) -> Sample:
    """Return a sample with the labels of a file in place of its own that people gave."""
    others = {name: value for name, value in sample.labels.items() if name not in _LABEL_KEYS}
    return replace(sample, labels={**others, **labels})


def _add_empty_lists(
    labels: dict[QuestionKey, dict[str, Any]], keys_without_contexts: set[QuestionKey]
) -> None:
    """Add an empty list to the samples without contexts that come before the person's last answer in the draw."""
    if not any(CONTEXTS in sample_labels for sample_labels in labels.values()):
        return
    last_position = max(
        position for position, sample_labels in enumerate(labels.values()) if sample_labels
    )
    for key in keys_without_contexts.intersection(list(labels)[: last_position + 1]):
        labels[key][CONTEXTS] = []


# --- the labels of a file beside two runs, and the scores that they give ---


def label_of(metric: Metric | None) -> str | None:
    """Return the name of the labels that give a metric's scores. Return None if people cannot label what it counts."""
    if isinstance(metric, ContextPrecision):
        return CONTEXTS if metric.relevance == "useful" else None
    if not isinstance(metric, ContextRecall):
        return None
    if metric.counted_unit == "claim":  # a judge makes the claims, so each run has its own
        return None
    # A label is yes or no: it cannot say that only a part is stated.
    return None if metric.partial else UNITS


def people_value(
    metric: Metric, score: Score, labels: Sequence[bool | int | None] | None
) -> float | None:
    """Return the score that people's labels give, by the metric's own formula. Return None if a label is missing.

    If nothing was asked, because a side is empty, the value of the convention counts. Labels are about contexts: for a metric that
    counts sources, they give no score.

    Args:
        metric: The metric.
        score: The judge's score. Its verdicts have the weights.
        labels: The labels of people about the same units or contexts, or None.
    """
    verdicts = score.verdicts
    if labels is None or metric.grouped:
        return None
    if not verdicts:
        return score.value
    values = labels if metric.top_k is None else labels[: len(verdicts)]
    if len(values) != len(verdicts):
        return None
    hits = []
    weights = []
    for label, verdict in zip(values, verdicts, strict=True):
        if label is None and verdict.weight != 0:
            return None
        hits.append(bool(label))
        weights.append(verdict.weight)
    if set(weights) == {1.0}:
        return metric.to_convention_scale(metric.to_value(hits))
    return metric.to_convention_scale(weighted_share(hits, weights))


def weight_in(labels: Mapping[str, object], who: str) -> float:
    """Return how many samples a labelled sample stands for. It is 1 if its labels do not say.

    Raises:
        SampleError: The weight is no number above 0, or it is too large.
    """
    weight = labels.get("weight", 1)
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight <= MAX_WEIGHT:
        raise SampleError(f"{who}: labels.weight must be a number above 0, at most {MAX_WEIGHT:g}.")
    return float(weight)


def labels_in(labels: Mapping[str, object], name: str) -> Sequence[bool | int | None] | None:
    """Return the labels of one kind. Return None if there are none, or one is neither yes, no nor None."""
    values = labels.get(name)
    if not isinstance(values, Sequence) or isinstance(values, (str, bytes)):
        return None
    return values if all(item is None or item in (0, 1) for item in values) else None


def apply_labels(
    paths: Iterable[str | os.PathLike[str]], runs: Sequence[Sequence[Row]]
) -> list[list[Row]]:
    """Return runs with the labels of files instead of the labels of their samples.

    Args:
        paths: The labels files.
        runs: The runs.

    Raises:
        InputFileError: A file is no labels file, or an answer is about a sample, or contexts, of none of the runs.
    """
    rows: dict[QuestionKey, Row] = {}
    for run in runs:
        for row in run:
            rows.setdefault(texts_key(row), row)
    labels: dict[QuestionKey, dict[str, Any]] = {}
    for path in map(Path, paths):
        list_questions = partial(_list_questions, path, rows)
        for key, labels_of_file in labels_by_key(read_answers(path), list_questions).items():
            earlier = labels.setdefault(key, {})
            _check_same(path, key, earlier, labels_of_file)
            for kind in ASKED_KINDS:
                if kind in earlier and kind in labels_of_file:
                    labels_of_file[kind] = _fill_gaps(labels_of_file[kind], earlier[kind])
            earlier.update(labels_of_file)
    # The rows of a baseline have shorter keys.
    labels |= {_shorten(key): labels_of_sample for key, labels_of_sample in labels.items()}
    return [_replace_labels(run, labels) for run in runs]


def _shorten(key: QuestionKey) -> QuestionKey:
    """Return the key of a sample as its baseline has it."""
    sample_id, texts_hash = key
    return sample_id, shorten(texts_hash, KEY_HASH_LENGTH)


def _name_sample(key: QuestionKey) -> str:
    """Name a sample by its id, else by the hash of its texts."""
    sample_id, texts_hash = key
    return replace_invisible(sample_id or texts_hash)[:80]


def _check_same(
    path: Path, key: QuestionKey, earlier: Mapping[str, Any], labels: Mapping[str, Any]
) -> None:
    """Check that no two files have different labels of the same texts: one would replace the other."""
    for kind in ASKED_KINDS:
        for label_before, label in zip(earlier.get(kind, ()), labels.get(kind, ()), strict=False):
            if None not in (label_before, label) and label_before != label:
                raise InputFileError(
                    f"{path}: {kind} of sample {_name_sample(key)!r} differs from that in an earlier file of "
                    "labels, about the same texts. Put the files of several people together, so that the majority counts; of one "
                    "person, take one of the answers out."
                )


def _fill_gaps(labels: Sequence[bool | None], others: Sequence[bool | None]) -> list[bool | None]:
    """Fill gaps in labels with the labels of another file. Two files may be about different parts of one sample."""
    pairs = zip_longest(labels, others)
    return [other if label is None else label for label, other in pairs]


def _replace_labels(run: Iterable[Row], labels: Mapping[QuestionKey, Mapping[str, Any]]) -> list[Row]:
    """Return the rows of a run with the labels of their samples."""
    rows = []
    for row in run:
        sample = row.sample
        if sample is not None:
            sample = with_labels(sample, labels.get(texts_key(row), {}))
        rows.append(replace(row, sample=sample))
    return rows


def _list_questions(
    path: Path, rows: Mapping[QuestionKey, Row], key: QuestionKey, answers: Collection[LabelQuestion]
) -> list[LabelQuestion]:
    """List the questions that can be asked about a sample of a run.

    Args:
        path: The labels file.
        rows: The samples of the runs.
        key: The sample.
        answers: The questions that were answered.
    """
    row = rows.get(key) or rows.get(_shorten(key))
    if row is None:
        raise InputFileError(
            f"{path}: the answers about sample {_name_sample(key)!r} are about texts that neither run "
            "has. Give runs on the samples that were labelled."
        )
    questions = [LabelQuestion(key, UNITS, unit.id, unit.text) for unit in _find_units(row)]
    # The run has no recall or no texts, or nothing was retrieved: its sentences are not known.
    if not questions or questions[0].text.startswith(HASH_PREFIX):
        questions = [question for question in answers if question.label == UNITS]
        questions.sort(key=lambda question: int(question.item[1:]))
    hashes = (build_record(row) or {}).get("context_hashes") or ()
    for number in range(1, len(hashes) + 1):
        questions.append(LabelQuestion(key, CONTEXTS, f"c{number}"))
    return questions


def _find_units(row: Row) -> Sequence[Verdict]:
    """Return the verdicts of the first metric that counts sentences as people label them."""
    for name, score in row.items():
        if label_of(find_metric(name, score.provenance.convention)) == UNITS:
            return score.verdicts
    return ()
