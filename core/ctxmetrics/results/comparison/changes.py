"""What changed between the samples of two runs: the retrieved contexts, the units that are supported, the scores that fell."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from operator import itemgetter
from typing import Any

from ctxmetrics._internal.frozen import EMPTY
from ctxmetrics.metrics import metric_named
from ctxmetrics.presentation.wording import TEXT, clean, describe_contradiction
from ctxmetrics.results.baseline import HASHED, text_hash
from ctxmetrics.results.comparison.view import ChangedUnit, Held, Worse
from ctxmetrics.results.labels.means import EQUAL
from ctxmetrics.results.row import Row
from ctxmetrics.verdicts import Verdict

_WORST = 10
_MOST_CONTRADICTIONS = 5


class Changes:
    """Collects what changed between the samples of two runs, which are added in any order and listed in that of the first run.

    Args:
        metrics: What is compared.
    """

    def __init__(self, metrics: Iterable[str]) -> None:
        # Units by the position of their sample in the first run.
        self._lost: dict[int, list[ChangedUnit]] = {}
        self._won: dict[int, list[ChangedUnit]] = {}
        # The position of the sample of each note.
        self._contradictions: dict[str, int] = {}
        # The difference, the position and the sample.
        self._worst: dict[str, list[tuple[float, int, Worse]]] = {name: [] for name in metrics}
        self._recalls = [name for name in self._worst if get_family(name) == "recall"]

    def add(self, position: int, before: Row, after: Row, same: bool | None) -> None:
        """Add a sample of both runs; ``same`` is what `has_same_contexts` says of it."""
        lost = _find_lost(before, after, before.name, self._recalls)
        won = _find_lost(after, before, before.name, self._recalls)
        for units, all_units in ((lost, self._lost), (won, self._won)):
            if units:
                all_units[position] = units
        bare = _is_bare(before) or _is_bare(after)
        for name, worst in self._worst.items():
            if not bare:
                self._compare_contradictions(position, before, after, name)
            first, second = before[name].value, after[name].value
            if first is not None and second is not None and second < first - EQUAL:
                question = _find_question(before, after)
                fallen = Worse(name, before.name, question, first, second, same)
                insort(worst, (second - first, position, fallen), key=itemgetter(0, 1))
                del worst[_WORST:]

    def _compare_contradictions(self, position: int, before: Row, after: Row, metric: str) -> None:
        first = _read_contradictions(before[metric].verdicts)
        second = _read_contradictions(after[metric].verdicts)
        for run, own, others in (("first", first, second), ("second", second, first)):
            for id_, text in own.items():
                if others.get(id_) != text:
                    note = f"{run} run only, {clean(before.name, TEXT)}, {id_}: {text}"
                    self._contradictions.setdefault(note, position)

    def list_units(self, *, one_index: bool) -> Iterator[tuple[ChangedUnit, ...]]:
        """Yield the units that only the first run supports, then those that only the second does.

        Of another index, the other run may have a context as another text: ``one_index`` tells whether both are over one.
        """
        for units in (self._lost, self._won):
            ordered = chain.from_iterable(units[position] for position in sorted(units))
            yield tuple(ordered if one_index else map(_forget_other_run, ordered))

    def list_contradictions(self) -> list[str]:
        """Return the first contradictions of the embedded judge that only one of the runs has."""
        notes = self._contradictions
        return sorted(notes, key=notes.__getitem__)[:_MOST_CONTRADICTIONS]

    def list_worst(self, *, one_index: bool) -> Iterator[Worse]:
        """Yield the samples that fell, of each metric those that fell most.

        Ids of another index say nothing about what fell: ``one_index`` tells whether both runs are over one.
        """
        for name, worst in self._worst.items():
            if one_index or not get_family(name).startswith("id_"):
                yield from (fallen for *_, fallen in worst)


def has_same_contexts(before: Row, after: Row) -> bool | None:
    """Tell whether both runs asked the same about the same texts, or ids, in the same order; None where that is not known."""
    first, second = before.record or EMPTY, after.record or EMPTY
    retrieved, other_retrieved = map(_get_retrieved, (first, second))
    if retrieved is None or other_retrieved is None or first.get("hash") is None:
        return None
    stages, other_stages = (
        record.get("stages", record.get("stage_sizes")) for record in (first, second)
    )
    same_retrieved = stages == other_stages and retrieved == other_retrieved
    return same_retrieved and first["hash"] == second.get("hash")


def _get_retrieved(record: Mapping[str, Any]) -> Sequence[str] | None:
    """Return the hashes of the retrieved texts, or the ids where there are no texts; None for a baseline of ids."""
    hashes: Sequence[str] | None = record.get("context_hashes")
    if hashes or ("key" not in record and "retrieved_context_ids" not in record):
        return hashes
    return record.get("retrieved_context_ids")


def compare_verdicts(before: Iterable[Verdict], after: Iterable[Verdict]) -> tuple[int, int]:
    """Count the verdicts on the same thing in both runs, and how many of them are different."""
    same = different = 0
    after_values = {(verdict.id, text_hash(verdict.text)): verdict.value for verdict in after}
    for verdict in before:
        value = after_values.get((verdict.id, text_hash(verdict.text)))
        if value is not None and verdict.value is not None:
            same += 1
            different += verdict.value is not value
    return same, different


def _find_lost(row: Row, other: Row, name: str, metrics: Iterable[str]) -> list[ChangedUnit]:
    """Return the units of a sample that one run supports and the other does not; each is listed once.

    Args:
        row: The sample in the run that supports them.
        other: The sample in the other run.
        name: The sample's name.
        metrics: The metrics that count them.
    """
    units: dict[tuple[str, int], ChangedUnit] = {}
    to_key = text_hash if _is_bare(row) or _is_bare(other) else str
    for metric in metrics:
        others = _number_units(other[metric].verdicts, to_key)
        # Nothing was retrieved: nothing is supported.
        unsupported = other[metric].value is not None and not others
        for key, unit in _number_units(row[metric].verdicts, to_key).items():
            match = others.get(key)
            if not unit.value or not unit.weight:
                continue
            if not unsupported and (match is None or match.value is not False):
                continue
            if key in units:
                units[key] = replace(units[key], metrics=(*units[key].metrics, metric))
                continue
            text = match.text if match and unit.text.startswith(HASHED) else unit.text
            units[key] = ChangedUnit(
                sample_id=name,
                id=unit.id,
                text=text,
                user_input=_find_question(row, other),
                metrics=(metric,),
                contexts=tuple(_find_supporting(unit, row, other)),
                retrieved=other.fields.retrieved_contexts or (),
            )
    return list(units.values())


def _find_question(*rows: Row) -> str | None:
    """Return the question of a sample, of the first run that has it."""
    return next((row.fields.user_input for row in rows if row.fields.user_input), None)


def _get_hashes(row: Row) -> Sequence[str]:
    return (row.record or EMPTY).get("context_hashes") or ()


def _is_bare(row: Row) -> bool:
    """Tell whether a row is that of a baseline without texts."""
    return any(
        verdict.text.startswith(HASHED) for score in row.scores for verdict in score.verdicts[:1]
    )


def _read_contradictions(units: Iterable[Verdict]) -> dict[str, str]:
    contradictions = {}
    for unit in units:
        text = describe_contradiction(unit)
        if text:
            contradictions[unit.id] = text
    return contradictions


def _number_units(
    units: Iterable[Verdict], to_key: Callable[[str], str]
) -> dict[tuple[str, int], Verdict]:
    """Return verdicts by the key of their text; equal texts are numbered from 1."""
    counts: Counter[str] = Counter()
    numbered = {}
    for unit in units:
        key = to_key(unit.text)
        counts[key] += 1
        numbered[key, counts[key]] = unit
    return numbered


def _find_supporting(unit: Verdict, row: Row, other: Row) -> Iterator[Held]:
    """Yield the contexts that support a unit, with the first evidence in each."""
    hashes, other_hashes = _get_hashes(row), _get_hashes(other)
    ids = row.fields.retrieved_context_ids or ()
    other_ids = set(other.fields.retrieved_context_ids or ())
    texts = row.fields.retrieved_contexts or ()
    first_spans = {span.context: span for span in reversed(unit.evidence)}
    for position, span in first_spans.items():
        hash_ = hashes[position] if position < len(hashes) else None
        in_both = None
        if hash_ is not None:
            in_both = hash_ in other_hashes
        # Under the same id the other run may have it as another text.
        if not in_both and not other_ids.isdisjoint(ids[position : position + 1]):
            in_both = None
        yield Held(
            rank=position + 1,
            quote=span.quote,
            hash=hash_,
            text=texts[position] if position < len(texts) else None,
            retrieved_by_both=in_both,
        )


def get_family(name: str) -> str:
    """Return the family of the metric of a name; empty where the library has none of it."""
    metric = metric_named(name)
    if metric is None:
        return ""
    return metric.family


def _forget_other_run(unit: ChangedUnit) -> ChangedUnit:
    """Say of a context that one run alone retrieved that the other run is not known."""
    contexts = [
        replace(item, retrieved_by_both=item.retrieved_by_both or None) for item in unit.contexts
    ]
    return replace(unit, contexts=tuple(contexts))
