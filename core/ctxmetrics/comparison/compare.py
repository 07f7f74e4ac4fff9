"""Is the second run better than the first, what did it lose, and is that more than chance?"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ctxmetrics.comparison.entries import check_comparable, entries_of, joined
from ctxmetrics.comparison.labelled import label_of, labels_in, people_value
from ctxmetrics.comparison.page import page
from ctxmetrics.comparison.paired import corrected_difference, holm, paired_mean
from ctxmetrics.comparison.text import markdown, plain_text
from ctxmetrics.comparison.view import ChangedUnit, Corrected, Difference, Findings, Held, Worse
from ctxmetrics.conventions import get_convention
from ctxmetrics.errors import ParameterError
from ctxmetrics.metrics.named import metric_named

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from ctxmetrics.comparison.entries import Entry, Run
    from ctxmetrics.metrics.base import Metric
    from ctxmetrics.report.view import Row
    from ctxmetrics.scores import Score
    from ctxmetrics.verdicts import Verdict

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

    Raises:
        ParameterError: The runs cannot be compared; the message names what differs, or what is missing.
        InputFileError: A file cannot be read, or holds no results.
    """
    first, second = entries_of(before), entries_of(after)
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
    clusters = None if cluster is None else [_key(one, cluster) for one, _ in pairs]
    differences = _adjusted([_difference(name, pairs, clusters) for name in names])
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
        groups={} if by is None else _grouped(pairs, names, by, clusters),
        lost=tuple(lost),
        won=tuple(won),
        worst=tuple(_worst(pairs, names)),
        notes=tuple(notes),
        clusters=None if clusters is None else len(set(clusters)),
    )


def _key(entry: Entry, path: str) -> str:
    """Return the value of a key of the metadata, nested keys separated by dots.

    Raises:
        ParameterError: The sample has none.
    """
    found: Any = entry.metadata
    for name in path.removeprefix("metadata.").split("."):
        found = found.get(name) if hasattr(found, "get") else None
    if found is None:
        known = ", ".join(f"metadata.{name}" for name in entry.metadata) or "none"
        raise ParameterError(f"compare: sample {entry.name!r} has no {path!r}. Its metadata: {known}.")
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False, default=str)


def _difference(name: str, pairs: Sequence[Pair], clusters: Sequence[str] | None) -> Difference | None:
    """Return the figures of one metric, p values not adjusted yet; None where no sample has a value in both."""
    places, values, values_lost = [], [], 0
    for place, (one, other) in enumerate(pairs):
        left, right = one.scores[name].value, other.scores[name].value
        if left is not None and right is not None:
            places.append(place)
            values.append((left, right))
        values_lost += left is not None and right is None
    if not values:
        return None
    one, other = pairs[places[0]]
    scales = {get_convention(str(entry.scores[name].origin[2])).scale for entry in (one, other)}
    if len(scales) > 1:
        raise ParameterError(f"compare: {name} has different scales in the runs: {sorted(scales)}.")
    differences = [right - left for left, right in values]
    found = paired_mean(differences, None if clusters is None else [clusters[place] for place in places])
    better = sum(item > _EQUAL for item in differences)
    worse = sum(item < -_EQUAL for item in differences)
    return Difference(
        name=name,
        samples=len(values),
        unpaired=len(pairs) - len(values),
        values_lost=values_lost,
        before=math.fsum(left for left, _ in values) / len(values),
        after=math.fsum(right for _, right in values) / len(values),
        difference=found.mean,
        interval=found.interval,
        p=found.p,
        p_adjusted=found.p,
        better=better,
        worse=worse,
        equal=len(values) - better - worse,
        detectable=found.detectable,
        corrected=_corrected(name, [pairs[place] for place in places]),
        scale=scales.pop(),
    )


def _adjusted(differences: Iterable[Difference | None]) -> list[Difference]:
    found = [item for item in differences if item is not None]
    adjusted = holm([item.p for item in found])
    return [replace(item, p_adjusted=p) for item, p in zip(found, adjusted, strict=True)]


def _grouped(
    pairs: Sequence[Pair], names: Sequence[str], by: str, clusters: Sequence[str] | None
) -> dict[str, tuple[Difference, ...]]:
    """Return the figures of each group; p values are adjusted over all groups and metrics."""
    groups: dict[str, list[int]] = {}
    for place, (one, _) in enumerate(pairs):
        groups.setdefault(_key(one, by), []).append(place)
    tests = [
        (group, found)
        for group, places in sorted(groups.items())
        for name in names
        if (
            found := _difference(
                name,
                [pairs[place] for place in places],
                None if clusters is None else [clusters[place] for place in places],
            )
        )
    ]
    adjusted = _adjusted(found for _, found in tests)
    return {
        group: tuple(item for (name, _), item in zip(tests, adjusted, strict=True) if name == group)
        for group in sorted(groups)
    }


def _corrected(name: str, pairs: Sequence[Pair]) -> Corrected | None:
    """Return the difference corrected by labels; None where fewer than two samples have their own in both runs."""
    metric = metric_named(name, str(pairs[0][0].scores[name].origin[2]))
    label = label_of(metric)
    if metric is None or label is None:
        return None
    both = [(entry.scores[name] for entry in pair) for pair in pairs]
    differences = [(other.value or 0.0) - (one.value or 0.0) for one, other in both]
    carried = all(one.labels.get(label) == other.labels.get(label) for one, other in pairs)
    if carried and any(
        differences
    ):  # one set of labels came with the samples: it is about one run's contexts
        return None
    people, judge, others = [], [], []
    for (one, other), difference in zip(pairs, differences, strict=True):
        said = [_by_people(metric, label, entry, name) for entry in (one, other)]
        if None in said:
            others.append(difference)
        else:
            judge.append(difference)
            people.append((said[1] or 0.0) - (said[0] or 0.0))
    if len(people) < 2:  # noqa: PLR2004 - a variance needs two
        return None
    mean, interval = corrected_difference(people, judge, others)
    return Corrected(len(people), math.fsum(people) / len(people), mean, interval)


def _by_people(metric: Metric, label: str, entry: Entry, name: str) -> float | None:
    brief = entry.scores[name]
    return people_value(metric, brief.value, len(brief.answers), labels_in(entry.labels, label))


def changed_units(pairs: Iterable[Pair], names: Sequence[str]) -> tuple[list[ChangedUnit], list[ChangedUnit]]:
    """Return the units that only the first run supports, and those that only the second does; each is listed once."""
    metrics = {name: metric_named(name) for name in names}
    recalls = [name for name, metric in metrics.items() if metric is not None and metric.family == "recall"]
    lost: list[ChangedUnit] = []
    won: list[ChangedUnit] = []
    for one, other in pairs:
        changed = [name for name in recalls if _may_differ(one, other, name)]
        if changed:
            rows = one.row(), other.row()
            lost += _lost(one, rows, changed)
            won += _lost(one, (rows[1], rows[0]), changed)
    return lost, won


def _may_differ(one: Entry, other: Entry, name: str) -> bool:
    left, right = one.scores[name], other.scores[name]
    return left.answers != right.answers or left.origin != right.origin


def _lost(entry: Entry, rows: tuple[Row, Row], names: Sequence[str]) -> list[ChangedUnit]:
    """Return the units of a sample that the first row supports and the second does not."""
    found: dict[tuple[str, int], tuple[Verdict, list[str]]] = {}
    for name in names:
        mine, its = (_units(row[name]) for row in rows)
        nothing = rows[1][name].value is not None and not its  # nothing was retrieved: nothing is supported
        for key, verdict in mine.items():
            rest = its.get(key)
            if verdict.value and (nothing or (rest is not None and rest.value is False)):
                found.setdefault(key, (verdict, []))[1].append(name)
    return [
        ChangedUnit(
            entry.name,
            verdict.id,
            verdict.text,
            entry.user_input,
            tuple(metrics),
            tuple(_held(verdict, *rows)),
        )
        for verdict, metrics in found.values()
    ]


def _units(score: Score) -> dict[tuple[str, int], Verdict]:
    """Return the verdicts by the text of their unit; of equal texts, by the first, the second .."""
    seen: Counter[str] = Counter()
    found = {}
    for verdict in score.verdicts:
        found[verdict.text, seen[verdict.text]] = verdict
        seen[verdict.text] += 1
    return found


def _held(verdict: Verdict, row: Row, other: Row) -> Iterable[Held]:
    hashes, others = _hashes(row), _hashes(other)
    texts = () if row.sample is None else row.sample.retrieved_contexts or ()
    for span in {span.context: span for span in reversed(verdict.evidence)}.values():
        known = hashes[span.context] if span.context < len(hashes) else None
        yield Held(
            rank=span.context + 1,
            quote=span.quote,
            hash=known,
            text=texts[span.context] if span.context < len(texts) else None,
            retrieved_by_both=None if known is None else known in others,
        )


def _hashes(row: Row) -> Sequence[str]:
    from ctxmetrics.report.rows import record_of

    found = record_of(row)
    return () if found is None else found["context_hashes"]


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
