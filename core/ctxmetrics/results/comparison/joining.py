"""Which samples belong together, in two runs and in a group of one, and whether their scores may be compared."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from ctxmetrics._internal.display import visible
from ctxmetrics.errors import ParameterError
from ctxmetrics.presentation.wording import plural
from ctxmetrics.reading.documents import look_up
from ctxmetrics.results.row import Row
from ctxmetrics.results.rows_file import question_hash
from ctxmetrics.samples import Sample
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
_SHOWN = 80


def hash_of(row: Row) -> str | None:
    """Return the hash of a row's question and reference; None where nothing is known of its sample."""
    if row.record is not None:
        return row.record.get("hash")
    return None if row.sample is None else question_hash(row.sample)


def joined(before: Sequence[Row], after: Sequence[Row]) -> tuple[list[Pair], list[str], list[str]]:
    """Put the samples of two runs together: by id where every sample has one, else by question and reference.

    Returns:
        The pairs, and the names of the samples that are in one run only.

    Raises:
        ParameterError: They cannot be told apart, or no sample is in both.
    """
    by_id = all(row.sample_id is not None for row in (*before, *after))
    places = [_places(run, by_id=by_id) for run in (before, after)]
    pairs = [(row, places[1][key]) for key, row in places[0].items() if key in places[1]]
    if not pairs:
        raise ParameterError(
            "compare: the runs have no sample in common: no "
            f"{'id' if by_id else 'question with its reference'} is in both. Give runs on the same samples."
        )
    alone = [
        [row.name for key, row in mine.items() if key not in other]
        for mine, other in (places, reversed(places))
    ]
    return pairs, alone[0], alone[1]


def _places(run: Sequence[Row], *, by_id: bool) -> dict[str, Row]:
    found: dict[str, Row] = {}
    for row in run:
        key = row.sample_id if by_id else hash_of(row)
        if key is None:
            raise ParameterError(
                f"compare: sample {visible(row.name)!r} has no id, and its run kept values only. Give the samples ids, "
                "or the file of --out."
            )
        if key in found:
            raise ParameterError(
                f"compare: samples {visible(found[key].name)!r} and {visible(row.name)!r} have the same "
                f"{'id' if by_id else 'question and reference'}. Give each sample an id of its own."
            )
        found[key] = row
    return found


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
    for one, other in pairs:
        hashes = hash_of(one), hash_of(other)
        if None not in hashes and hashes[0] != hashes[1]:
            different["question"][one.name, other.name] += 1
        for metric in metrics:
            for name, values in _differences(one[metric], other[metric]):
                different[name][values] += 1
    words = {name: f"{name} ({_shown(name, different[name])})" for name in FIELDS if name in different}
    refused = [name for name in words if name not in allowed]
    if refused:
        option = " ".join(f"--accept {name}" for name in refused)
        raise ParameterError(
            f"compare: the runs differ in {'; '.join(words[name] for name in refused)}. Their scores do not measure the "
            f"same thing. Score both alike, or write {option} (accept={tuple(refused)!r})."
        )
    return list(words.values())


def _differences(one: Score, other: Score) -> Iterable[tuple[str, tuple[str, str]]]:
    """Yield what differs in the origin of two scores, and both values; nothing where one has no value."""
    if one.provenance == other.provenance or None in (one.value, other.value):
        return
    for name, field in _ORIGIN.items():
        left, right = getattr(one.provenance, field), getattr(other.provenance, field)
        if name == "judge" and left == right and one.verdicts and other.verdicts:
            left, right = (
                _version(one.provenance, other.provenance),
                _version(other.provenance, one.provenance),
            )
        # Without a request there is no prompt.
        if left != right and (name != "prompt" or (one.verdicts and other.verdicts)):
            yield name, (str(left), str(right))


def _version(provenance: Provenance, other: Provenance) -> str | None:
    """Return a judge with its version where that differs: the model that answered, or the mark of its verdicts.

    A judge with neither has the library's version, unless its prompt has a version.
    """
    known = provenance.prompt or (provenance.served_model and other.served_model)
    for field in ("served_model", *(() if known else ("library",))):
        mine, its = getattr(provenance, field), getattr(other, field)
        if provenance.judge and mine and its and mine != its:
            return f"{provenance.judge} ({mine})"
    return provenance.judge


def unknown_models(pairs: Iterable[Pair], metrics: Sequence[str]) -> int:
    """Return of how many pairs of scores the model that answered is known in one run only."""
    return sum(
        bool(one[name].provenance.served_model) != bool(other[name].provenance.served_model)
        for one, other in pairs
        for name in metrics
        if None not in (one[name].value, other[name].value)
        and one[name].verdicts
        and other[name].verdicts
    )


def _shown(name: str, counts: Mapping[tuple[str, str], int]) -> str:
    if name == "question":
        some = [visible(one)[:40] for one, _ in list(counts)[:_LONGEST]]
        return f"question or reference of {plural(len(counts), 'sample')}: {', '.join(some)}" + (
            " .." if len(counts) > _LONGEST else ""
        )
    return ", ".join(
        f"{visible(one)[:80]} and {visible(other)[:80]}, {plural(number, 'score')}"
        for (one, other), number in list(counts.items())[:_LONGEST]
    )


def find(metadata: Mapping[str, Any], path: str) -> Any:
    """Return the value of a key of the metadata, or of a nested key as a dotted path; None where there is none.

    Args:
        metadata: A sample's.
        path: Such as ``"metadata.topic"`` or ``"topic"``.
    """
    return look_up(metadata, path.removeprefix("metadata."))


def group_of(metadata: Mapping[str, Any], path: str, sample: str, command: str) -> str:
    """Return the value of a key of the metadata as text; see `find`.

    Args:
        metadata: A sample's.
        path: The key.
        sample: The sample's name, for the message.
        command: What asks for it.

    Raises:
        ParameterError: The sample has none.
    """
    found = find(metadata, path)
    if found is None:
        known = ", ".join(f"metadata.{visible(str(name))[:_SHOWN]}" for name in metadata) or "none"
        raise ParameterError(
            f"{command}: sample {visible(sample)[:_SHOWN]!r} has no {path!r}. Its metadata: {known}."
        )
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False, default=str)


def groups_of(samples: Iterable[Sample], path: str | None, command: str) -> list[str] | None:
    """Return the value of a key of the metadata of each sample, as `group_of`; None without a key.

    Raises:
        ParameterError: A sample has none.
    """
    if path is None:
        return None
    return [
        group_of(sample.metadata, path, sample.id or str(number), command)
        for number, sample in enumerate(samples, 1)
    ]
