"""What changed between the samples of two runs: the retrieved contexts, the units that are supported, the scores that fell."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from ctxmetrics._internal.frozen import EMPTY, Plain
from ctxmetrics.evaluation.rows.baseline import HASH_PREFIX, text_hash
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.statistics.paired import ROUNDING_ERROR
from ctxmetrics.metrics.catalog import find_metric
from ctxmetrics.scores.wording import TEXT, clean, describe_contradiction
from ctxmetrics.verdicts import Verdict

# The maximum number of remembered samples with a lower value, for each metric.
_MAX_WORSE_SAMPLES = 10
# The maximum number of remembered contradictions of the embedded judge.
_MAX_CONTRADICTIONS = 5


@dataclass(frozen=True, slots=True)
class SupportingContext(Plain):
    """A context that supported a unit.

    Attributes:
        rank: The rank of the context in the run that supported the unit, from 1.
        quote: The words of the context that support the unit.
        hash: The hash of the context; None if it is not known.
        text: The whole context; None if the run did not keep the texts.
        retrieved_by_both: Whether the other run retrieved the context too; None if that is not known.
        unknown: Why ``retrieved_by_both`` is not known; None if it is known:

            - ``"hashes"``: a run kept no hashes;
            - ``"text"``: the other run retrieved another text under the same id;
            - ``"index"``: the runs have different ids.
    """

    rank: int
    quote: str
    hash: str | None
    text: str | None
    retrieved_by_both: bool | None
    unknown: str | None = None


@dataclass(frozen=True, slots=True)
class ChangedUnit(Plain):
    """A unit of a reference that is supported in one run and not in the other.

    Attributes:
        sample_id: The sample's id, or its number.
        id: The unit's id: ``s1``, ``s2`` ..
        text: The unit.
        user_input: The question.
        metrics: The metrics whose values count the unit.
        contexts: The contexts that support it, in the run in which it is supported.
        retrieved: The contexts that the other run retrieved, in rank order; empty if that run did not keep their texts.
    """

    sample_id: str
    id: str
    text: str
    user_input: str | None
    metrics: tuple[str, ...]
    contexts: tuple[SupportingContext, ...]
    retrieved: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FallenSample(Plain):
    """A sample whose score became lower.

    Attributes:
        metric: The metric's name.
        sample_id: The sample's id, or its number.
        user_input: The question.
        before: The value in the first run.
        after: The value in the second run.
        same_contexts: Whether both runs retrieved the same texts in the same order; None if that is not known.
    """

    metric: str
    sample_id: str
    user_input: str | None
    before: float
    after: float
    same_contexts: bool | None


class RunChanges:
    """Collects the changes between two runs. Samples are added in any order and listed in the order of the first run.

    Args:
        metrics: The names of the compared metrics.
    """

    def __init__(self, metrics: Iterable[str]) -> None:
        # Units by the position of their sample in the first run.
        self._lost: dict[int, list[ChangedUnit]] = {}
        self._won: dict[int, list[ChangedUnit]] = {}
        # Notes on contradictions, each with the position of its sample.
        self._contradictions: dict[str, int] = {}
        # For each metric the samples whose value fell most: the difference, the position and the sample.
        self._worst: dict[str, list[tuple[float, int, FallenSample]]] = {name: [] for name in metrics}
        self._recalls = [name for name in self._worst if get_family(name) == "recall"]

    def add(self, position: int, before: Row, after: Row, same_contexts: bool | None) -> None:
        """Add a sample of both runs. ``same_contexts`` is the result of `has_same_contexts` for it."""
        lost = _find_supported_only_in_first(before, after, before.name, self._recalls)
        if lost:
            self._lost[position] = lost
        won = _find_supported_only_in_first(after, before, before.name, self._recalls)
        if won:
            self._won[position] = won
        has_no_texts = _is_without_texts(before) or _is_without_texts(after)
        for name, worst in self._worst.items():
            if not has_no_texts:
                self._compare_contradictions(position, before, after, name)
            first_value = before[name].value
            second_value = after[name].value
            if first_value is None or second_value is None:
                continue
            if second_value < first_value - ROUNDING_ERROR:
                question = _find_question(before, after)
                fallen_sample = FallenSample(
                    name, before.name, question, first_value, second_value, same_contexts
                )
                item = (second_value - first_value, position, fallen_sample)
                insort(worst, item, key=itemgetter(0, 1))
                del worst[_MAX_WORSE_SAMPLES:]

    def _compare_contradictions(self, position: int, before: Row, after: Row, metric: str) -> None:
        """Collect the contradictions that the embedded judge found in one of the runs only.

        Args:
            position: The position of the sample in the first run.
            before: The sample in the first run.
            after: The sample in the second run.
            metric: The metric whose verdicts are read.
        """
        first_contradictions = _read_contradictions(before[metric].verdicts)
        second_contradictions = _read_contradictions(after[metric].verdicts)
        sample = clean(before.name, TEXT)
        for run, texts, texts_of_other_run in (
            ("first", first_contradictions, second_contradictions),
            ("second", second_contradictions, first_contradictions),
        ):
            for id_, text in texts.items():
                if texts_of_other_run.get(id_) != text:
                    note = f"{run} run only, {sample}, {id_}: {text}"
                    self._contradictions.setdefault(note, position)

    def list_units(self, *, one_index: bool) -> Iterator[tuple[ChangedUnit, ...]]:
        """Yield the units that only the first run supports, then the units that only the second run supports.

        Args:
            one_index: Whether both runs are over one index. If not, a context that one run alone retrieved may stand in another
                text of the other run.
        """
        for units_by_position in (self._lost, self._won):
            units: list[ChangedUnit] = []
            for position in sorted(units_by_position):
                units += units_by_position[position]
            if not one_index:
                units = [_forget_other_run(unit) for unit in units]
            yield tuple(units)

    def list_contradictions(self) -> list[str]:
        """Return the first contradictions of the embedded judge that only one of the runs has."""
        notes = self._contradictions
        return sorted(notes, key=notes.__getitem__)[:_MAX_CONTRADICTIONS]

    def list_worst(self, *, one_index: bool) -> Iterator[FallenSample]:
        """Yield for each metric the samples whose score fell most.

        Args:
            one_index: Whether both runs are over one index. If not, metrics of ids are left out: their ids do not correspond.
        """
        for name, worst in self._worst.items():
            if one_index or not get_family(name).startswith("id_"):
                yield from (fallen for *_, fallen in worst)


def has_same_contexts(before: Row, after: Row) -> bool | None:
    """Tell whether both runs asked the same about the same texts, or ids, in the same order. Return None if that is not known."""
    first_record = before.record or EMPTY
    second_record = after.record or EMPTY
    first_retrieved = _get_retrieved(first_record)
    second_retrieved = _get_retrieved(second_record)
    if first_retrieved is None or second_retrieved is None or first_record.get("hash") is None:
        return None
    if first_record["hash"] != second_record.get("hash"):  # another question or reference
        return False
    return first_retrieved == second_retrieved and _get_stages(first_record) == _get_stages(
        second_record
    )


def _get_stages(record: Mapping[str, Any]) -> object:
    """Return the key by which the stages of a record are compared: their hash, or the number of contexts of each."""
    return record.get("stages_key", record.get("stage_sizes"))


def _get_retrieved(record: Mapping[str, Any]) -> Sequence[str] | None:
    """Return what shows which contexts a sample of a run retrieved, in rank order.

    These are the hashes of their texts. If the sample has no texts, these are their ids. If a record has neither, the result is None.
    """
    hashes: Sequence[str] | None = record.get("context_hashes")
    ids: Sequence[str] | None = record.get("retrieved_context_ids")
    # In a record of a baseline, which has a key, empty hashes may also mean that only ids were retrieved.
    may_have_ids = "key" in record or "retrieved_context_ids" in record
    if not hashes and may_have_ids:
        return ids
    return hashes


def compare_verdicts(before: Iterable[Verdict], after: Iterable[Verdict]) -> tuple[int, int]:
    """Count the units and contexts with a verdict in both runs, and how many of these verdicts differ."""
    compared = 0
    different = 0
    after_values = {(verdict.id, text_hash(verdict.text)): verdict.value for verdict in after}
    for verdict in before:
        value = after_values.get((verdict.id, text_hash(verdict.text)))
        if value is not None and verdict.value is not None:
            compared += 1
            if verdict.value is not value:
                different += 1
    return compared, different


def _find_supported_only_in_first(
    row: Row, other: Row, name: str, metrics: Iterable[str]
) -> list[ChangedUnit]:
    """Return the units of a sample that are supported in one run and not in the other. Each is listed once.

    Args:
        row: The sample in the run that supports them.
        other: The sample in the other run.
        name: The sample's name.
        metrics: The metrics that count them.
    """
    # The key of a unit: the key of its text, and its number among the units with this text.
    units: dict[tuple[str, int], ChangedUnit] = {}
    has_no_texts = _is_without_texts(row) or _is_without_texts(other)
    to_key = text_hash if has_no_texts else str
    for metric in metrics:
        other_units = _number_units(other[metric].verdicts, to_key)
        # The other run has a value without verdicts: nothing was retrieved, so nothing is supported.
        nothing_supported = other[metric].value is not None and not other_units
        for key, unit in _number_units(row[metric].verdicts, to_key).items():
            match = other_units.get(key)
            if not unit.value or not unit.weight:
                continue
            is_unsupported = match is not None and match.value is False
            if not nothing_supported and not is_unsupported:
                continue
            if key in units:
                units[key] = replace(units[key], metrics=(*units[key].metrics, metric))
                continue
            text = match.text if match and unit.text.startswith(HASH_PREFIX) else unit.text
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
    """Return the hashes of the retrieved contexts of a row. The result is empty if its run kept none."""
    return (row.record or EMPTY).get("context_hashes") or ()


def _is_without_texts(row: Row) -> bool:
    """Tell whether a row comes from a baseline, which has hashes instead of texts."""
    return any(
        verdict.text.startswith(HASH_PREFIX) for score in row.scores for verdict in score.verdicts[:1]
    )


def _read_contradictions(units: Iterable[Verdict]) -> dict[str, str]:
    """Read the contradictions in the details of verdicts: a description by the id of the unit."""
    contradictions = {}
    for unit in units:
        text = describe_contradiction(unit)
        if text:
            contradictions[unit.id] = f"uncertain: {text}"
    return contradictions


def _number_units(
    units: Iterable[Verdict], to_key: Callable[[str], str]
) -> dict[tuple[str, int], Verdict]:
    """Return verdicts by the key of their text and a number. Verdicts with equal texts are numbered from 1."""
    counts: Counter[str] = Counter()
    units_by_key = {}
    for unit in units:
        key = to_key(unit.text)
        counts[key] += 1
        units_by_key[key, counts[key]] = unit
    return units_by_key


def _find_supporting(unit: Verdict, row: Row, other: Row) -> Iterator[SupportingContext]:
    """Yield the contexts that support a unit, with the first evidence in each."""
    hashes = _get_hashes(row)
    other_hashes = _get_hashes(other)
    ids = row.fields.retrieved_context_ids or ()
    other_ids = set(other.fields.retrieved_context_ids or ())
    texts = row.fields.retrieved_contexts or ()
    first_spans = {span.context: span for span in reversed(unit.evidence)}
    for position, span in first_spans.items():
        hash_ = hashes[position] if position < len(hashes) else None
        in_both: bool | None = None
        # What is not known: the hashes of the other run, or whether its text is another one.
        unknown: str | None = "hashes"
        # If the other run has neither hashes nor ids, it retrieved nothing.
        other_is_known = bool(other_hashes) or not other_ids
        if hash_ is not None and other_is_known:
            in_both = hash_ in other_hashes
            unknown = None
            has_id_in_other = position < len(ids) and ids[position] in other_ids
            if not in_both and has_id_in_other:  # perhaps the same passage, cut in another way
                in_both = None
                unknown = "text"
        yield SupportingContext(
            rank=position + 1,
            quote=span.quote,
            hash=hash_,
            text=texts[position] if position < len(texts) else None,
            retrieved_by_both=in_both,
            unknown=unknown,
        )


def get_family(name: str) -> str:
    """Return the family of a metric by its name. Return an empty text if the library has no such metric."""
    metric = find_metric(name)
    if metric is None:
        return ""
    return metric.family


def _forget_other_run(unit: ChangedUnit) -> ChangedUnit:
    """Mark contexts that one run alone retrieved as unknown in the other run, whose index is another one."""
    contexts = []
    for item in unit.contexts:
        if item.retrieved_by_both is False:
            contexts.append(replace(item, retrieved_by_both=None, unknown="index"))
        else:
            contexts.append(item)
    return replace(unit, contexts=tuple(contexts))
