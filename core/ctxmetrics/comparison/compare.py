"""Is the second run better than the first, what did it lose, and is that more than chance?"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from ctxmetrics._display import visible
from ctxmetrics.comparison.corrected import corrected_difference
from ctxmetrics.comparison.entries import check_comparable, joined, opened
from ctxmetrics.comparison.grouping import group_of
from ctxmetrics.comparison.labelled import label_of, labels_in, people_value, weight_in
from ctxmetrics.comparison.labelled_runs import labelled_by
from ctxmetrics.comparison.page import page
from ctxmetrics.comparison.paired import holm, paired_mean
from ctxmetrics.comparison.text import markdown, plain_text
from ctxmetrics.comparison.view import ChangedUnit, Corrected, Difference, Findings, Held, Worse
from ctxmetrics.conventions import get_convention
from ctxmetrics.errors import ParameterError
from ctxmetrics.metrics.named import metric_named

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterable, Sequence

    from ctxmetrics.comparison.entries import Detail, Entry, Run, Unit
    from ctxmetrics.metrics.base import Metric

    Pair = tuple[Entry, Entry]

# Differences that are smaller count as equal.
_EQUAL = 1e-9
_WORST = 10


class Comparison(Findings):
    """Two runs on the same samples, as `Findings` says; as a string, a table and what was lost and won."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return plain_text(self)

    def markdown(self) -> str:
        """Return the comparison as Markdown."""
        return markdown(self)

    def html(self, *, title: str = "ctxmetrics: comparison of two runs") -> str:
        """Return the comparison as one page that holds no script and loads nothing."""
        return page(self, title)


def compare(
    before: Run,
    after: Run,
    *,
    by: str | None = None,
    cluster: str | None = None,
    allow_different: Collection[str] = (),
    labels: Sequence[str | os.PathLike[str]] = (),
) -> Comparison:
    """Compare two runs on the same samples: paired differences, and the units that were lost and won.

    Samples are joined by their ids where all have one, else by question and reference. Every difference is ``after``
    minus ``before``; the unit of every figure is the sample.

    Args:
        before: The first run: `Results`, or a file that ``--out`` or `Results.to_jsonl` wrote.
        after: The second run.
        by: A key of the samples' metadata, such as ``"metadata.topic"``: the figures are also given by its values.
        cluster: A key of the samples' metadata, such as ``"metadata.document"``: samples with the same value hang
            together, and count as one draw.
        allow_different: What may differ between the runs beside what was retrieved: ``"judge"``, ``"prompt"``,
            ``"convention"``, ``"formula"``, ``"unit"``, ``"question"``.
        labels: Files of people's answers (`ctxmetrics label`), of either run: an answer belongs to the run that retrieved
            the contexts which the person saw. They take the place of the labels that the samples have.

    Raises:
        ParameterError: The runs cannot be compared; the message names what differs, or what is missing. Or the labels of
            a sample have two weights.
        InputFileError: A file cannot be read, holds no results or no answers, or answers are about neither run.
    """
    with opened(before, after) as (first, second):
        entries = labelled_by(labels, first, second) if labels else (first, second)
        return _compared(*entries, by, cluster, allow_different, by_file=bool(labels))


def _compared(
    first: Sequence[Entry],
    second: Sequence[Entry],
    by: str | None,
    cluster: str | None,
    allow_different: Collection[str],
    *,
    by_file: bool,
) -> Comparison:
    pairs, only_before, only_after = joined(first, second)
    names = [name for name in pairs[0][0].scores if name in pairs[0][1].scores]
    if not names:
        raise ParameterError(
            f"compare: the runs have no metric in common: one has {', '.join(pairs[0][0].scores)}, "
            f"the other {', '.join(pairs[0][1].scores)}."
        )
    notes = [
        f"different, with permission: {item}" for item in check_comparable(pairs, names, allow_different)
    ]
    alone = [name for name in {**pairs[0][0].scores, **pairs[0][1].scores} if name not in names]
    notes += [f"in one run only, not compared: {', '.join(alone)}"] if alone else []
    clusters = None if cluster is None else _groups(pairs, cluster)
    differences = _adjusted([_difference(name, pairs, clusters, by_file=by_file) for name in names])
    if not differences:
        raise ParameterError("compare: no sample has a value in both runs.")
    empty = [name for name in names if name not in {item.name for item in differences}]
    notes += [f"no sample has a value in both runs: {', '.join(empty)}"] if empty else []
    lost, won = changed_units(pairs, names)
    return Comparison(
        samples=len(pairs),
        only_before=tuple(only_before),
        only_after=tuple(only_after),
        metrics=tuple(differences),
        groups={} if by is None else _grouped(pairs, names, by, clusters, by_file=by_file),
        lost=tuple(lost),
        won=tuple(won),
        worst=tuple(_worst(pairs, names)),
        notes=tuple(notes),
        clusters=None if clusters is None else len(set(clusters)),
    )


def _groups(pairs: Iterable[Pair], path: str) -> list[str]:
    return [group_of(one.metadata, path, one.name, "compare") for one, _ in pairs]


def _difference(
    name: str, pairs: Sequence[Pair], clusters: Sequence[str] | None, *, by_file: bool
) -> Difference | None:
    """Return the figures of one metric, p values not adjusted yet; None where no sample has a value in both."""
    every = [(one.scores[name].value, other.scores[name].value) for one, other in pairs]
    places = [place for place, both in enumerate(every) if None not in both]
    if not places:
        return None
    valued = [pairs[place] for place in places]
    before, after = zip(*[every[place] for place in places], strict=True)
    one, other = valued[0]
    scales = {get_convention(str(entry.scores[name].origin[2])).scale for entry in (one, other)}
    if len(scales) > 1:
        raise ParameterError(f"compare: {name} has different scales in the runs: {sorted(scales)}.")
    differences = [right - left for left, right in zip(before, after, strict=True)]
    own = None if clusters is None else [clusters[place] for place in places]
    found = paired_mean(differences, own)
    better = sum(item > _EQUAL for item in differences)
    worse = sum(item < -_EQUAL for item in differences)
    return Difference(
        name=name,
        samples=len(places),
        unpaired=len(pairs) - len(places),
        values_lost=sum(left is not None and right is None for left, right in every),
        before=math.fsum(before) / len(places),
        after=math.fsum(after) / len(places),
        difference=found.mean,
        interval=found.interval,
        p=found.p,
        p_adjusted=found.p,
        better=better,
        worse=worse,
        equal=len(places) - better - worse,
        detectable=found.detectable,
        corrected=_corrected(name, valued, differences, own, by_file=by_file),
        scale=scales.pop(),
    )


def _adjusted(differences: Iterable[Difference | None]) -> list[Difference]:
    found = [item for item in differences if item is not None]
    adjusted = holm([item.p for item in found])
    return [replace(item, p_adjusted=p) for item, p in zip(found, adjusted, strict=True)]


def _grouped(
    pairs: Sequence[Pair], names: Sequence[str], by: str, clusters: Sequence[str] | None, *, by_file: bool
) -> dict[str, tuple[Difference, ...]]:
    """Return the figures of each group; p values are adjusted over all groups and metrics."""
    groups: dict[str, list[int]] = {}
    for place, name in enumerate(_groups(pairs, by)):
        groups.setdefault(name, []).append(place)
    tests = [
        (group, found)
        for group, places in sorted(groups.items())
        for name in names
        if (
            found := _difference(
                name,
                [pairs[place] for place in places],
                None if clusters is None else [clusters[place] for place in places],
                by_file=by_file,
            )
        )
    ]
    adjusted = _adjusted(found for _, found in tests)
    return {
        group: tuple(item for (name, _), item in zip(tests, adjusted, strict=True) if name == group)
        for group in sorted(groups)
    }


def _corrected(
    name: str,
    pairs: Sequence[Pair],
    differences: Sequence[float],
    clusters: Sequence[str] | None,
    *,
    by_file: bool,
) -> Corrected | None:
    """Return the difference corrected by labels; None where fewer than two samples have their own in both runs."""
    metric = metric_named(name, str(pairs[0][0].scores[name].origin[2]))
    label = label_of(metric)
    if metric is None or label is None:
        return None
    carried = not by_file and all(
        one.labels.get(label) == other.labels.get(label) for one, other in pairs
    )
    # One set of labels came with the samples: it is about one run's contexts.
    if carried and any(differences):
        return None
    people: list[float] = []
    weights: list[float] = []
    labelled: list[int] = []
    others: list[int] = []
    for place, (one, other) in enumerate(pairs):
        said = [_by_people(metric, label, entry, name) for entry in (one, other)]
        if None in said:
            others.append(place)
        else:
            labelled.append(place)
            people.append((said[1] or 0.0) - (said[0] or 0.0))
            weights.append(_weight(one, other))
    groups = None if clusters is None else [clusters[place] for place in (*labelled, *others)]
    if len(set(groups[: len(labelled)] if groups else labelled)) < 2:  # noqa: PLR2004 - a variance needs two
        return None
    mean, interval = corrected_difference(
        people,
        [differences[place] for place in labelled],
        [differences[place] for place in others],
        weights=weights,
        clusters=groups,
    )
    by_people = math.fsum(map(math.prod, zip(weights, people, strict=True))) / math.fsum(weights)
    return Corrected(len(people), by_people, mean, interval)


def _weight(one: Entry, other: Entry) -> float:
    """Return how many samples a pair stands for, where the labelled ones were not drawn equally often.

    Raises:
        ParameterError: It is no number above 0, or the runs' labels were drawn in two ways.
    """
    found = {weight_in(entry.labels, f"sample {visible(entry.name)!r}") for entry in (one, other)} - {1.0}
    if len(found) > 1:
        low, high = sorted(found)
        raise ParameterError(
            f"compare: the labels of sample {visible(one.name)!r} have the weights {low:g} and {high:g}. "
            "Draw both files alike: `ctxmetrics label` with the same --n, --seed and --by."
        )
    return found.pop() if found else 1.0


def _by_people(metric: Metric, label: str, entry: Entry, name: str) -> float | None:
    brief = entry.scores[name]
    return people_value(metric, brief.value, len(brief.answers), labels_in(entry.labels, label))


def changed_units(
    pairs: Iterable[Pair], names: Sequence[str]
) -> tuple[list[ChangedUnit], list[ChangedUnit]]:
    """Return the units that only the first run supports, and those that only the second does; each is listed once."""
    metrics = {name: metric_named(name) for name in names}
    recalls = [
        name for name, metric in metrics.items() if metric is not None and metric.family == "recall"
    ]
    lost: list[ChangedUnit] = []
    won: list[ChangedUnit] = []
    for one, other in pairs:
        changed = [name for name in recalls if _may_differ(one, other, name)]
        if changed:
            details = one.detail(changed), other.detail(changed)
            lost += _lost(one, other, details, changed)
            won += _lost(other, one, (details[1], details[0]), changed, name=one.name)
    return lost, won


def _may_differ(one: Entry, other: Entry, name: str) -> bool:
    left, right = one.scores[name], other.scores[name]
    return left.answers != right.answers or left.origin != right.origin


def _lost(
    entry: Entry,
    other: Entry,
    details: tuple[Detail, Detail],
    names: Sequence[str],
    *,
    name: str | None = None,
) -> list[ChangedUnit]:
    """Return the units of a sample that one run supports and the other does not; details are first those of the one."""
    found: dict[tuple[str, int], tuple[Unit, list[str]]] = {}
    for metric in names:
        mine, its = (detail.units[metric] for detail in details)
        # Nothing was retrieved: nothing is supported.
        nothing = other.scores[metric].value is not None and not its
        for key, unit in mine.items():
            rest = its.get(key)
            if unit.value and (nothing or (rest is not None and rest.value is False)):
                found.setdefault(key, (unit, []))[1].append(metric)
    return [
        ChangedUnit(
            name or entry.name,
            unit.id,
            unit.text,
            entry.user_input,
            tuple(metrics),
            tuple(_held(unit, *details)),
        )
        for unit, metrics in found.values()
    ]


def _held(unit: Unit, detail: Detail, other: Detail) -> Iterable[Held]:
    hashes, texts = detail.context_hashes, detail.contexts
    for context, quote in {index: (index, quote) for index, quote in reversed(unit.evidence)}.values():
        known = hashes[context] if context < len(hashes) else None
        yield Held(
            rank=context + 1,
            quote=quote,
            hash=known,
            text=texts[context] if context < len(texts) else None,
            retrieved_by_both=None if known is None else known in other.context_hashes,
        )


def _worst(pairs: Iterable[Pair], names: Sequence[str]) -> list[Worse]:
    pairs, found = list(pairs), []
    for name in names:
        fallen = [
            Worse(name, one.name, one.user_input, left, right)
            for one, other in pairs
            if (left := one.scores[name].value) is not None
            and (right := other.scores[name].value) is not None
            and right < left - _EQUAL
        ]
        found += sorted(fallen, key=lambda item: item.after - item.before)[:_WORST]
    return found
