"""Which samples of two runs belong together, and whether their scores may be compared."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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


def pair_runs(before: Sequence[Row], after: Sequence[Row]) -> tuple[list[Pair], list[str], list[str]]:
    """Put the samples of two runs together: by id where every sample has one, else by question and reference.

    Returns:
        The pairs, and the names of the samples that are in one run only.

    Raises:
        ParameterError: They cannot be told apart, or no sample is in both.
    """
    by_id = all(row.sample_id is not None for row in (*before, *after))
    first, second = _index_rows(before, by_id=by_id), _index_rows(after, by_id=by_id)
    pairs = [(row, second[key]) for key, row in first.items() if key in second]
    if not pairs:
        identity = "id" if by_id else "question with its reference"
        raise ParameterError(
            f"compare: the runs have no sample in common: no {identity} is in both. Give runs on the same samples."
        )
    only_before = [row.name for key, row in first.items() if key not in second]
    only_after = [row.name for key, row in second.items() if key not in first]
    return pairs, only_before, only_after


def _index_rows(run: Sequence[Row], *, by_id: bool) -> dict[str, Row]:
    """Return the rows of a run by their id, or by question and reference."""
    rows: dict[str, Row] = {}
    for row in run:
        key = row.sample_id if by_id else _hash_question(row)
        if key is None:
            raise ParameterError(
                f"compare: sample {visible(row.name)!r} has no id, and its run kept values only. Give the samples ids, "
                "or the file of --out."
            )
        if key in rows:
            identity = "id" if by_id else "question and reference"
            raise ParameterError(
                f"compare: samples {visible(rows[key].name)!r} and {visible(row.name)!r} have the same {identity}. "
                "Give each sample an id of its own."
            )
        rows[key] = row
    return rows


def check_comparable(
    pairs: Iterable[Pair], metrics: Sequence[str], allowed: Collection[str]
) -> list[str]:
    """Raise where scores that are compared differ in more than what was retrieved.

    Args:
        pairs: The samples of both runs.
        metrics: What is compared.
        allowed: Which of `FIELDS` may differ.

    Returns:
        What differs with permission, in words.

    Raises:
        ParameterError: They differ in what is not allowed; the message names each field and both values.
    """
    unknown = [name for name in allowed if name not in FIELDS]
    if unknown:
        raise ParameterError(
            f"compare: accept {unknown[0]!r} is unknown. Choose from: {', '.join(FIELDS)}."
        )
    different: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for before, after in pairs:
        hashes = _hash_question(before), _hash_question(after)
        if None not in hashes and hashes[0] != hashes[1]:
            different["question"][before.name, after.name] += 1
        for metric in metrics:
            for name, values in _find_differences(before[metric], after[metric]):
                different[name][values] += 1
    texts = {}
    for name in FIELDS:
        if name in different:
            texts[name] = f"{name} ({_describe_differences(name, different[name])})"
    refused = [name for name in texts if name not in allowed]
    if refused:
        option = " ".join(f"--accept {name}" for name in refused)
        raise ParameterError(
            f"compare: the runs differ in {'; '.join(texts[name] for name in refused)}. Their scores do not measure the "
            f"same thing. Score both alike, or write {option} (accept={tuple(refused)!r})."
        )
    return list(texts.values())


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


def count_unknown_models(pairs: Iterable[Pair], metrics: Sequence[str]) -> int:
    """Count the pairs of scores of which the model that answered is known in one run only."""
    count = 0
    for before, after in pairs:
        for name in metrics:
            first, second = before[name], after[name]
            if None in (first.value, second.value) or not first.verdicts or not second.verdicts:
                continue
            count += bool(first.provenance.served_model) != bool(second.provenance.served_model)
    return count


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
