"""Which samples of two runs belong together, and whether their scores may be compared."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TypeAlias

from ctxmetrics._internal.display import replace_invisible
from ctxmetrics._internal.near_names import suggest
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.rows.sample_record import question_hash
from ctxmetrics.scores.score import Provenance, Score
from ctxmetrics.scores.wording import plural

RunRows: TypeAlias = "Iterable[Row] | str | os.PathLike[str]"
RowPair: TypeAlias = "tuple[Row, Row]"

# The origin of scores must be equal before they may be compared: each name with its field in a score's provenance.
_ORIGIN_FIELDS = {
    "judge": "judge",
    "prompt": "prompt",
    "convention": "convention",
    "formula": "formula",
    "unit": "splitter",
}
# The differences that the caller may allow `compare` to accept.
FIELDS = (*_ORIGIN_FIELDS, "question")
# The maximum number of differences in a message.
_MAX_DIFFERENCES_SHOWN = 3


def _hash_question(row: Row) -> str | None:
    """Return the hash of a row's question and reference. Return None if nothing is known of its sample."""
    if row.record is not None:
        return row.record.get("hash")
    return None if row.sample is None else question_hash(row.sample)


class MissingIdError(Exception):
    """A sample has no id by which it could be joined."""


def join_runs(
    before: Iterable[Row], after: Iterable[Row], *, by_id: bool
) -> Iterator[tuple[int, Row | None, Row | None]]:
    """Join the samples of two runs while both are read.

    Both runs are read side by side. A row waits in memory until the row of its sample in the other run is read: if both runs
    have the same order, hardly any row waits.

    Args:
        before: The rows of the first run.
        after: The rows of the second run.
        by_id: Join the samples by their ids, else by question and reference.

    Yields:
        For each sample three values: its position in the first run (in the second run if only the second has the sample), its row in
        the first run, and its row in the second run. A row is None if the run lacks the sample.

    Raises:
        MissingIdError: A sample has no id.
        ParameterError: Samples of one run cannot be told apart.
    """
    # The rows that wait for their partner, by key: each with its position in its run.
    waiting_before: dict[str, tuple[int, Row]] = {}
    waiting_after: dict[str, tuple[int, Row]] = {}
    # The names of all rows so far, by key.
    names_before: dict[str, str] = {}
    names_after: dict[str, str] = {}
    for position, (first_row, second_row) in enumerate(zip_longest(before, after)):
        if first_row is not None:
            key = _find_key(first_row, names_before, by_id=by_id)
            if key in waiting_after:
                _, partner = waiting_after.pop(key)
                yield position, first_row, partner
            else:
                waiting_before[key] = (position, first_row)
        if second_row is not None:
            key = _find_key(second_row, names_after, by_id=by_id)
            if key in waiting_before:
                first_position, partner = waiting_before.pop(key)
                yield first_position, partner, second_row
            else:
                waiting_after[key] = (position, second_row)
    for position, row in waiting_before.values():
        yield position, row, None
    for position, row in waiting_after.values():
        yield position, None, row


def _find_key(row: Row, names: dict[str, str], *, by_id: bool) -> str:
    """Return the key by which a row is joined, and add it to ``names``, the names of the rows so far by their keys."""
    key = row.sample_id if by_id else _hash_question(row)
    if key is None and by_id:
        raise MissingIdError
    if key is None:
        raise ParameterError(
            f"compare: sample {replace_invisible(row.name)!r} has no id, and its run kept values only. Give the samples ids, "
            "or the file of --out."
        )
    if key in names:
        identity = "id" if by_id else "question and reference"
        raise ParameterError(
            f"compare: samples {replace_invisible(names[key])!r} and {replace_invisible(row.name)!r} have the same {identity}. "
            "Give each sample an id of its own."
        )
    names[key] = row.name
    return key


@dataclass(frozen=True, slots=True)
class ScoreOrigin:
    """The run and the sample of a value.

    Attributes:
        provenance: The provenance of the value's score.
        judged: Whether the score has verdicts.
    """

    provenance: Provenance
    judged: bool


@dataclass(frozen=True, slots=True)
class OriginDifference:
    """A difference between the origins of two scores.

    Attributes:
        field: One of `FIELDS`.
        before: The value in the first run.
        after: The value in the second run.
    """

    field: str
    before: str | None
    after: str | None


def find_differences(
    before: Collection[ScoreOrigin], after: Collection[ScoreOrigin]
) -> list[OriginDifference]:
    """Find the differences that forbid to compare the scores of two runs. There is none if one side has no value.

    Each origin needs an equal origin in the other run. Judged scores are compared with judged scores.

    Args:
        before: The origins of the first run's scores of one metric.
        after: The origins of the second run's scores of the metric.
    """
    # For each origin of both runs: the differences from each of its counterparts.
    comparisons: list[list[list[OriginDifference]]] = []
    for origin in before:
        counterparts = _find_counterparts(origin, after)
        comparisons.append([_compare_origins(origin, counterpart) for counterpart in counterparts])
    for origin in after:
        counterparts = _find_counterparts(origin, before)
        comparisons.append([_compare_origins(counterpart, origin) for counterpart in counterparts])
    for differences in comparisons:
        if differences and all(differences):
            return min(differences, key=len)
    return []


def _find_counterparts(origin: ScoreOrigin, others: Collection[ScoreOrigin]) -> Collection[ScoreOrigin]:
    """Find the other run's origins that an origin is compared with."""
    alike = [other for other in others if other.judged == origin.judged]
    return alike or others


def _compare_origins(before: ScoreOrigin, after: ScoreOrigin) -> list[OriginDifference]:
    """List the differences between two origins."""
    differences: list[OriginDifference] = []
    judged = before.judged and after.judged
    for name, field in _ORIGIN_FIELDS.items():
        first_value = getattr(before.provenance, field)
        second_value = getattr(after.provenance, field)
        if name == "judge" and first_value == second_value and judged:
            first_value = _name_judge_with_version(before.provenance, after.provenance)
            second_value = _name_judge_with_version(after.provenance, before.provenance)
        is_compared = judged or name != "prompt"  # without a request there is no prompt
        if first_value != second_value and is_compared:
            differences.append(OriginDifference(name, first_value, second_value))
    return differences


class Comparability:
    """Decides whether scores may be compared: it counts the differences of their origins.

    Args:
        metrics: The names of the compared metrics.
        allowed: Which of `FIELDS` may differ.

    Raises:
        ParameterError: ``allowed`` names another field.
    """

    def __init__(self, metrics: Sequence[str], allowed: Collection[str]) -> None:
        if isinstance(allowed, str):
            raise ParameterError(f"compare: accept must be a list. Write accept=[{allowed!r}].")
        unknown = [name for name in allowed if name not in FIELDS]
        if unknown:
            raise ParameterError(
                f"compare: accept {unknown[0]!r} is unknown.{suggest(unknown[0], FIELDS)} Choose from: {', '.join(FIELDS)}."
            )
        self._metrics = metrics
        self._allowed = allowed
        # For each field: how many scores or samples have which pair of values, in the first and in the second run.
        self._value_pairs: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        # The number of pairs of scores whose answering model is known in one run only.
        self._unknown_model_count = 0

    def add(self, before: Row, after: Row) -> None:
        """Add a sample of both runs."""
        first_hash = _hash_question(before)
        second_hash = _hash_question(after)
        if first_hash is not None and second_hash is not None and first_hash != second_hash:
            self._value_pairs["question"][before.name, after.name] += 1
        for metric in self._metrics:
            first_score = before[metric]
            second_score = after[metric]
            for item in _find_score_differences(first_score, second_score):
                self._value_pairs[item.field][str(item.before), str(item.after)] += 1
            if (
                None in (first_score.value, second_score.value)
                or not first_score.verdicts
                or not second_score.verdicts
            ):
                continue
            if bool(first_score.provenance.served_model) != bool(second_score.provenance.served_model):
                self._unknown_model_count += 1

    def describe(self) -> list[str]:
        """Describe the allowed differences, one sentence for each.

        Raises:
            ParameterError: There is a difference that is not allowed. The message names each field and both values.
        """
        texts = {}
        for name in FIELDS:
            if name in self._value_pairs:
                texts[name] = f"{name} ({_describe_differences(name, self._value_pairs[name])})"
        refused = [name for name in texts if name not in self._allowed]
        if refused:
            option = " ".join(f"--accept {name}" for name in refused)
            raise ParameterError(
                f"compare: the runs differ in {'; '.join(texts[name] for name in refused)}. Their scores do not measure the "
                f"same thing. Score both alike, or write {option} (accept={tuple(refused)!r})."
            )
        notes = [f"different, with permission: {text}" for text in texts.values()]
        if self._unknown_model_count:
            notes.append(
                f"the model that answered is known in one run only, of {plural(self._unknown_model_count, 'score')}"
            )
        return notes


def _find_score_differences(before: Score, after: Score) -> list[OriginDifference]:
    """Find the differences in the origins of two scores. There is none if one score has no value."""
    if before.provenance == after.provenance or None in (before.value, after.value):
        return []
    return _compare_origins(
        ScoreOrigin(before.provenance, bool(before.verdicts)),
        ScoreOrigin(after.provenance, bool(after.verdicts)),
    )


def _name_judge_with_version(provenance: Provenance, other: Provenance) -> str | None:
    """Return the name of a score's judge, with its version if the versions of two scores differ.

    The version is:

    - the model that answered; for the embedded judge, the fingerprint of its verdicts;
    - if a score names no such model, the version of the library. A judge with a prompt lacks it: the prompt has its own version.

    Args:
        provenance: The provenance of the score.
        other: The provenance of the score in the other run.
    """
    fields = ["served_model"]
    if not provenance.prompt and not (provenance.served_model and other.served_model):
        fields.append("library")
    for field in fields:
        version = getattr(provenance, field)
        other_version = getattr(other, field)
        if provenance.judge and version and other_version and version != other_version:
            return f"{provenance.judge} ({version})"
    return provenance.judge


def _describe_differences(name: str, counts: Mapping[tuple[str, str], int]) -> str:
    """Describe the differences in a field: the first pairs of values, and how many scores or samples have each pair."""
    shown = list(counts.items())[:_MAX_DIFFERENCES_SHOWN]
    if name == "question":
        names = ", ".join(replace_invisible(before)[:40] for (before, _), _ in shown)
        ending = " .." if len(counts) > _MAX_DIFFERENCES_SHOWN else ""
        return f"question or reference of {plural(len(counts), 'sample')}: {names}{ending}"
    return ", ".join(
        f"{replace_invisible(before)[:80]} and {replace_invisible(after)[:80]}, {plural(number, 'score')}"
        for (before, after), number in shown
    )
