"""Which samples of two runs belong together, and whether their scores may be compared."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TypeAlias

from ctxmetrics._internal.display import visible
from ctxmetrics.errors import ParameterError
from ctxmetrics.presentation.wording import plural
from ctxmetrics.results.row import Row
from ctxmetrics.results.rows_file import question_hash
from ctxmetrics.scores import Provenance, Score

Run: TypeAlias = "Iterable[Row] | str | os.PathLike[str]"
Pair: TypeAlias = "tuple[Row, Row]"

# What must be equal before two scores may be compared, and how it is written in a score's provenance.
_ORIGIN = {
    "judge": "judge",
    "prompt": "prompt",
    "convention": "convention",
    "formula": "formula",
    "unit": "splitter",
}
# What `compare` may be told to accept as different.
FIELDS = (*_ORIGIN, "question")
_LONGEST = 3
_LONGEST_NAME = 80


def _hash_question(row: Row) -> str | None:
    """Return the hash of a row's question and reference; None if nothing is known of its sample."""
    if row.record is not None:
        return row.record.get("hash")
    return None if row.sample is None else question_hash(row.sample)


class MissingIdError(Exception):
    """A sample has no id by which it could be joined."""


def join_runs(
    before: Iterable[Row], after: Iterable[Row], *, by_id: bool
) -> Iterator[tuple[int, Row | None, Row | None]]:
    """Yield the samples of two runs while both are read: the position in its run and the rows, None where a run has none.

    The position is that in the first run, where it has the sample: rows that a caller put together repeat their ``index``.

    Both are read side by side, and a row waits until its other one is read: where the runs have one order, hardly any does.

    Args:
        before: The rows of the first run.
        after: Those of the second.
        by_id: Join them by their ids, else by question and reference.

    Raises:
        MissingIdError: A sample has no id.
        ParameterError: Samples of one run cannot be told apart.
    """
    waiting: tuple[dict[str, tuple[int, Row]], dict[str, tuple[int, Row]]] = {}, {}
    names: tuple[dict[str, str], dict[str, str]] = {}, {}
    for position, rows in enumerate(zip_longest(before, after)):
        for place, row in enumerate(rows):
            if row is None:
                continue
            key = _find_key(row, names[place], by_id=by_id)
            earlier = waiting[1 - place].pop(key, None)
            if earlier is None:
                waiting[place][key] = position, row
            elif place:
                yield *earlier, row
            else:
                yield position, row, earlier[1]
    for position, row in waiting[0].values():
        yield position, row, None
    for position, row in waiting[1].values():
        yield position, None, row


def _find_key(row: Row, names: dict[str, str], *, by_id: bool) -> str:
    """Return what a row is joined by; ``names`` has the names of the rows before it, by their keys, and gets its own."""
    key = row.sample_id if by_id else _hash_question(row)
    if key is None and by_id:
        raise MissingIdError
    if key is None:
        raise ParameterError(
            f"compare: sample {visible(row.name)!r} has no id, and its run kept values only. Give the samples ids, "
            "or the file of --out."
        )
    if key in names:
        identity = "id" if by_id else "question and reference"
        raise ParameterError(
            f"compare: samples {visible(names[key])!r} and {visible(row.name)!r} have the same {identity}. "
            "Give each sample an id of its own."
        )
    names[key] = row.name
    return key


class Comparability:
    """Whether scores may be compared: counts what differs between them beside what was retrieved.

    Args:
        metrics: What is compared.
        allowed: Which of `FIELDS` may differ.

    Raises:
        ParameterError: ``allowed`` names another field.
    """

    def __init__(self, metrics: Sequence[str], allowed: Collection[str]) -> None:
        unknown = [name for name in allowed if name not in FIELDS]
        if unknown:
            raise ParameterError(
                f"compare: accept {unknown[0]!r} is unknown. Choose from: {', '.join(FIELDS)}."
            )
        self._metrics, self._allowed = metrics, allowed
        self._different: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        # Of how many pairs of scores the model that answered is known in one run only.
        self._unknown = 0

    def add(self, before: Row, after: Row) -> None:
        """Add a sample of both runs."""
        hashes = _hash_question(before), _hash_question(after)
        if None not in hashes and hashes[0] != hashes[1]:
            self._different["question"][before.name, after.name] += 1
        for metric in self._metrics:
            first, second = before[metric], after[metric]
            for name, values in _find_differences(first, second):
                self._different[name][values] += 1
            if None in (first.value, second.value) or not first.verdicts or not second.verdicts:
                continue
            self._unknown += bool(first.provenance.served_model) != bool(second.provenance.served_model)

    def describe(self) -> list[str]:
        """Describe what differs with permission, a sentence each.

        Raises:
            ParameterError: They differ in what is not allowed; the message names each field and both values.
        """
        texts = {}
        for name in FIELDS:
            if name in self._different:
                texts[name] = f"{name} ({_describe_differences(name, self._different[name])})"
        refused = [name for name in texts if name not in self._allowed]
        if refused:
            option = " ".join(f"--accept {name}" for name in refused)
            raise ParameterError(
                f"compare: the runs differ in {'; '.join(texts[name] for name in refused)}. Their scores do not measure the "
                f"same thing. Score both alike, or write {option} (accept={tuple(refused)!r})."
            )
        notes = [f"different, with permission: {text}" for text in texts.values()]
        if self._unknown:
            notes.append(
                f"the model that answered is known in one run only, of {plural(self._unknown, 'score')}"
            )
        return notes


def _find_differences(before: Score, after: Score) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield what differs in the origin of two scores, and both values; nothing if one has no value."""
    if before.provenance == after.provenance or None in (before.value, after.value):
        return
    judged = bool(before.verdicts and after.verdicts)
    for name, field in _ORIGIN.items():
        first, second = getattr(before.provenance, field), getattr(after.provenance, field)
        if name == "judge" and first == second and judged:
            first = _add_version(before.provenance, after.provenance)
            second = _add_version(after.provenance, before.provenance)
        # Without a request there is no prompt.
        if first != second and (name != "prompt" or judged):
            yield name, (str(first), str(second))


def _add_version(provenance: Provenance, other: Provenance) -> str | None:
    """Return a judge with its version if that differs: the model that answered, or the mark of its verdicts.

    A judge with neither has the library's version, unless its prompt has a version.
    """
    fields = ["served_model"]
    if not provenance.prompt and not (provenance.served_model and other.served_model):
        fields.append("library")
    for field in fields:
        version, other_version = getattr(provenance, field), getattr(other, field)
        if provenance.judge and version and other_version and version != other_version:
            return f"{provenance.judge} ({version})"
    return provenance.judge


def _describe_differences(name: str, counts: Mapping[tuple[str, str], int]) -> str:
    first = list(counts.items())[:_LONGEST]
    if name == "question":
        names = ", ".join(visible(before)[:40] for (before, _), _ in first)
        more = " .." if len(counts) > _LONGEST else ""
        return f"question or reference of {plural(len(counts), 'sample')}: {names}{more}"
    return ", ".join(
        f"{visible(before)[:80]} and {visible(after)[:80]}, {plural(number, 'score')}"
        for (before, after), number in first
    )
