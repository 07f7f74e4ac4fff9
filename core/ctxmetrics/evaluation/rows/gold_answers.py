"""The answers of people about an audit of gold: the gold as people correct it, and the scores by this gold."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ctxmetrics._internal.display import replace_invisible
from ctxmetrics.errors import InputFileError
from ctxmetrics.evaluation.files.sample_file import read_samples
from ctxmetrics.evaluation.rows.file_names import key_beside, labels_beside
from ctxmetrics.evaluation.rows.people_answers import CONTEXTS, LabelQuestion, PeopleAnswers
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.rows.sample_record import key_of
from ctxmetrics.metrics.base import Metric
from ctxmetrics.samples.sample import Sample
from ctxmetrics.text.normal_form import normalise

# The fields of a sample that hold gold passages.
_GOLD_FIELDS = frozenset({"reference_context_ids", "reference_contexts"})
# The labels that grade gold ids.
_GRADES_LABEL = "relevance"


@dataclass(frozen=True, slots=True)
class GoldPassage:
    """A passage that should be retrieved.

    Attributes:
        id: The id of the passage; None if the gold has texts only.
        text: The text of the passage as the sample has it, else as the corpus has it; None if it is not known.
        places: The indexes of the passage in a corpus.
    """

    id: str | None
    text: str | None
    places: tuple[int, ...] = ()

    @property
    def key(self) -> str:
        """The key of the passage: its id, else its normalised text."""
        return make_key(self.id, self.text)


def make_key(id_: str | None, text: str | None) -> str:
    """Build the key of a passage: its id, else its normalised text."""
    return normalise(text or "") if id_ is None else id_


@dataclass(frozen=True, slots=True)
class PeopleGold:
    """The gold of a question by people.

    Attributes:
        passages: The passages, each with the text as it was written.
        is_changed: Whether it differs from the gold as it was.
        without_id: The number of useful passages without an id. Gold that names ids cannot hold them.
    """

    passages: tuple[GoldPassage, ...]
    is_changed: bool
    without_id: int

    @property
    def keys(self) -> Sequence[str]:
        """The keys of the passages."""
        return [passage.key for passage in self.passages]

    def replace_gold(self, sample: Sample) -> Sample:
        """Return a sample with this gold. Without a change, return the sample as it is."""
        if not self.is_changed:
            return sample
        data = sample.to_dict()
        if sample.reference_context_ids is None:
            data["reference_contexts"] = [passage.text for passage in self.passages]
            return Sample(**data)
        ids = [passage.id for passage in self.passages]
        data["reference_context_ids"] = ids
        data.pop("reference_contexts", None)  # the texts of the old ids
        grades = sample.labels.get(_GRADES_LABEL)
        if isinstance(grades, Mapping):
            # A grade above 0 says that an id is gold.
            changed = {*ids}.symmetric_difference(sample.reference_context_ids)
            new_grades = {id_: grade for id_, grade in grades.items() if id_ not in changed}
            data["labels"] = {**data["labels"], _GRADES_LABEL: new_grades}
        return Sample(**data)


@dataclass(frozen=True, slots=True)
class GoldAnswers:
    """The answers of people to the questions of an audit.

    Attributes:
        path: The audit.
        random: The names of the questions of the random sample: the ids of their samples, else their numbers.
        verdicts: The passages of each question by the question's name, each with its answer: whether people call it useful. It has
            only questions with an answer about every passage.
        samples: The sample of each question by its name, as people saw it.
    """

    path: Path
    random: frozenset[str]
    verdicts: Mapping[str, Sequence[tuple[GoldPassage, bool]]]
    samples: Mapping[str, Sample]

    def correct_gold(
        self, name: str, gold: Sequence[GoldPassage], *, has_ids: bool
    ) -> PeopleGold | None:
        """Return the gold passages as corrected by people's answers. Return None if a passage of the question has no answer.

        Args:
            name: The name of the question.
            gold: The gold passages of the question before the correction.
            has_ids: Whether the gold names ids; else it has texts.
        """
        if name not in self.verdicts:
            return None
        useful_by_key: dict[str, bool] = {}
        new_passages: dict[str, GoldPassage] = {}
        old_keys = [passage.key for passage in gold]
        without_id = 0
        for labelled, is_useful in self.verdicts[name]:
            passage = labelled if has_ids else GoldPassage(None, labelled.text)
            if has_ids and passage.id is None:
                if is_useful:
                    without_id += 1
                continue
            # One id may stand beside two texts. The id is useful if one of the texts is.
            useful_by_key[passage.key] = is_useful or useful_by_key.get(passage.key, False)
            if is_useful and passage.key not in old_keys:
                new_passages.setdefault(passage.key, passage)
        kept_passages = [passage for passage in gold if useful_by_key.get(passage.key, True)]
        passages = (*kept_passages, *new_passages.values())
        is_changed = [passage.key for passage in passages] != old_keys
        return PeopleGold(passages, is_changed, without_id)

    def correct_row(self, row: Row) -> PeopleGold | None:
        """Return the gold passages of a row's sample as corrected by people's answers.

        Return None if the sample has no gold passages, or if no labeller answered about it.

        Raises:
            InputFileError: The audit asks another question under the same name.
        """
        sample = row.fields
        if row.name not in self.verdicts or not any(sample.has(name) for name in _GOLD_FIELDS):
            return None
        question = self.samples[row.name].user_input
        if sample.user_input is not None and sample.user_input != question:
            raise InputFileError(
                f"{self.path}: the question of sample {replace_invisible(row.name)[:80]!r} is another one in the results. Give the "
                "audit of the samples that were scored."
            )
        has_ids = sample.reference_context_ids is not None
        return self.correct_gold(row.name, [*list_gold(sample)], has_ids=has_ids)


def list_gold(sample: Sample) -> Iterator[GoldPassage]:
    """Yield the gold passages of a sample: by their ids where it has some, else by their texts.

    An empty id names no passage, as in metrics that count ids.
    """
    ids = sample.reference_context_ids
    texts: Sequence[str | None] = sample.reference_contexts or ()
    if ids is None:
        yield from (GoldPassage(None, text) for text in texts)
        return
    if len(texts) != len(ids):
        texts = [None] * len(ids)
    for id_, text in zip(ids, texts, strict=True):
        if id_ or text:
            yield GoldPassage(id_ or None, text)


def counts_gold(metric: Metric | None) -> bool:
    """Tell whether a metric counts gold passages, which an audit is about."""
    return metric is not None and not _GOLD_FIELDS.isdisjoint(metric.requires)


def score_by_people(metric: Metric, row: Row, gold: PeopleGold) -> float | None:
    """Score the sample of a row by people's gold. Return None if there is no value.

    Return None also if the row lacks a field that the metric reads: results hold texts with keep_texts=True only.
    """
    sample = gold.replace_gold(row.fields)
    if not gold.passages or not all(map(sample.has, metric.requires)):
        return None
    return metric.score(sample).value


def read_gold_answers(path: Path, labels: Path | None = None) -> GoldAnswers:
    """Read an audit and the answers of people.

    Args:
        path: The audit, which ``check-gold --audit`` wrote.
        labels: The answers; None: those that `ctxmetrics label` wrote beside it.

    Raises:
        InputFileError: A file cannot be read, or there is no answer.
    """
    labels = labels_beside(path) if labels is None else labels
    random_names = _read_random(path)
    samples_by_name = {sample.id or "": sample for sample in read_samples(path)}
    answers = PeopleAnswers(labels).majority()
    verdicts = {
        name: _join_answers(sample, answers.get(key_of(sample), {}))
        for name, sample in samples_by_name.items()
    }
    complete_verdicts = {name: passages for name, passages in verdicts.items() if passages}
    if not complete_verdicts:
        raise InputFileError(
            f"{labels}: no question of {path} has answers. Label them with `ctxmetrics label`."
        )
    return GoldAnswers(path, random_names, complete_verdicts, samples_by_name)


def _read_random(path: Path) -> frozenset[str]:
    """Read which questions of an audit were drawn at random, from the file beside the audit."""
    key = key_beside(path)
    names: Any = None
    with suppress(OSError, ValueError, KeyError, TypeError):
        names = json.loads(key.read_text(encoding="utf-8"))["random"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputFileError(
            f"{key}: cannot be read. It stands beside the audit that `check-gold --audit` wrote."
        )
    return frozenset(names)


def _join_answers(
    sample: Sample, answers: Mapping[LabelQuestion, bool | None]
) -> list[tuple[GoldPassage, bool]]:
    """Join the passages of a question with the answers of people.

    The result is empty if a passage has no answer, or people do not agree.
    """
    answers_by_item = {
        item.item: is_useful for item, is_useful in answers.items() if item.label == CONTEXTS
    }
    texts = sample.retrieved_contexts or ()
    ids: Sequence[str | None] = sample.retrieved_context_ids or ()
    if len(ids) != len(texts):
        ids = [None] * len(texts)
    passages_with_answers: list[tuple[GoldPassage, bool]] = []
    for number, (id_, text) in enumerate(zip(ids, texts, strict=True), 1):
        is_useful = answers_by_item.get(f"c{number}")
        if is_useful is None:
            return []
        passages_with_answers.append((GoldPassage(id_ or None, text), is_useful))
    return passages_with_answers
