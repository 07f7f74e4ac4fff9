"""Is the second run better than the first, what did it lose, and is that more than chance?"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ctxmetrics._internal.display import visible
from ctxmetrics._internal.frozen import EMPTY
from ctxmetrics.conventions import get_convention
from ctxmetrics.errors import ParameterError
from ctxmetrics.metrics import metric_named
from ctxmetrics.presentation.wording import TEXT, clean, describe_contradiction, plural
from ctxmetrics.results.comparison.joining import (
    Pair,
    Run,
    check_comparable,
    group_of,
    joined,
    unknown_models,
)
from ctxmetrics.results.comparison.stages import compared_stages
from ctxmetrics.results.comparison.view import (
    Causes,
    ChangedUnit,
    Comparison,
    Comparisons,
    Corrected,
    Difference,
    Held,
    Worse,
)
from ctxmetrics.results.label_notes import index_notes
from ctxmetrics.results.labels.answers import label_of, labelled_by, labels_in, people_value, weight_in
from ctxmetrics.results.labels.means import (
    EQUAL,
    LEVEL,
    corrected_difference,
    holm,
    paired_mean,
    weighted_mean,
)
from ctxmetrics.results.row import Row
from ctxmetrics.results.rows_file import HASHED, build_record, read_rows, text_hash
from ctxmetrics.verdicts import Verdict

_WORST = 10
_MOST_CONTRADICTIONS = 5


def compare(
    before: Run,
    after: Run,
    *,
    metrics: Sequence[str] = (),
    by: str | None = None,
    cluster: str | None = None,
    accept: Collection[str] = (),
    labels: Sequence[str | os.PathLike[str]] = (),
) -> Comparison:
    """Compare two runs on the same samples: paired differences, and the units that were lost and won.

    Samples are joined by their ids where all have one, else by question and reference. Every difference is ``after``
    minus ``before``; the unit of every figure is the sample.

    Args:
        before: The first run: `Results`, or a file that ``--out`` or `Results.to_jsonl` wrote.
        after: The second run.
        metrics: The primary metrics, which get a verdict and may be gated; a name may leave out parameters where one metric
            has it. None: the first judged one, else the first. All others are secondary: figures without a verdict.
        by: A key of the samples' metadata, such as ``"metadata.topic"``: the figures are also given by its values.
        cluster: A key of the samples' metadata, such as ``"metadata.document"``: samples with the same value hang
            together, and count as one draw.
        accept: What may differ between the runs beside what was retrieved: ``"judge"``, ``"prompt"``,
            ``"convention"``, ``"formula"``, ``"unit"``, ``"question"``.
        labels: Files of people's answers (`ctxmetrics label`), of either run: an answer belongs to the run that retrieved
            the contexts which the person saw. They take the place of the labels that the samples have.

    Returns:
        The comparison; ``print`` shows it as text.

    Raises:
        ParameterError: The runs cannot be compared; the message names what differs, or what is missing. Or the labels of
            a sample have two weights.
        InputFileError: A file cannot be read, holds no results or no answers, or answers are about neither run.
    """
    return compare_all(
        before, {"": after}, metrics=metrics, by=by, cluster=cluster, accept=accept, labels=labels
    ).runs[""]


def compare_all(
    baseline: Run,
    runs: Mapping[str, Run],
    *,
    metrics: Sequence[str] = (),
    by: str | None = None,
    cluster: str | None = None,
    accept: Collection[str] = (),
    labels: Sequence[str | os.PathLike[str]] = (),
) -> Comparisons:
    """Compare several runs with one baseline; p values are adjusted over runs, primary metrics and groups.

    Args:
        baseline: The first run of every comparison.
        runs: The others, by the names under which they are shown.
        metrics: As for `compare`, and so are the others.
        by: A key of the metadata.
        cluster: A key of the metadata.
        accept: What may differ.
        labels: Files of people's answers.

    Raises:
        ParameterError: As `compare` raises.
        InputFileError: As `compare` raises.
    """
    given = [
        list(read_rows(run) if isinstance(run, (str, os.PathLike)) else run)
        for run in (baseline, *runs.values())
    ]
    first, *others = labelled_by(labels, given) if labels else given
    found = [
        _compared(first, other, metrics, accept, by=by, cluster=cluster, by_file=bool(labels))
        for other in others
    ]
    adjusted = _adjusted(item for one in found for item in one.metrics)
    grouped = _adjusted(item for one in found for items in one.groups.values() for item in items)
    return Comparisons(
        {
            name: replace(
                one,
                metrics=tuple(next(adjusted) for _ in one.metrics),
                groups={key: tuple(next(grouped) for _ in items) for key, items in one.groups.items()},
            )
            for name, one in zip(runs, found, strict=True)
        }
    )


def _compared(
    first: Sequence[Row],
    second: Sequence[Row],
    metrics: Sequence[str],
    accept: Collection[str],
    *,
    by: str | None,
    cluster: str | None,
    by_file: bool,
) -> Comparison:
    """Compare two runs; the p values of primary metrics are not adjusted yet."""
    pairs, only_before, only_after = joined(first, second)
    names = [name for name in pairs[0][0] if name in pairs[0][1]]
    if not names:
        raise ParameterError(
            f"compare: the runs have no metric in common: one has {', '.join(pairs[0][0])}, "
            f"the other {', '.join(pairs[0][1])}."
        )
    notes = [f"different, with permission: {item}" for item in check_comparable(pairs, names, accept)]
    if unknown := unknown_models(pairs, names):
        notes.append(f"the model that answered is known in one run only, of {plural(unknown, 'score')}")
    alone = [name for name in {**pairs[0][0], **pairs[0][1]} if name not in names]
    notes += [f"in one run only, not compared: {', '.join(alone)}"] if alone else []
    clusters = None if cluster is None else _groups(pairs, cluster)
    of = partial(_differences, names, primary=_primary(metrics, names, pairs[0][0]), by_file=by_file)
    differences = of(pairs, clusters)
    if not differences:
        raise ParameterError("compare: no sample has a value in both runs.")
    empty = [name for name in names if name not in {item.name for item in differences}]
    notes += [f"no sample has a value in both runs: {', '.join(empty)}"] if empty else []
    about_index, comparable = index_notes(first, second)
    contradictions = dict.fromkeys(_contradictions(pairs, names))
    notes += [*list(contradictions)[:_MOST_CONTRADICTIONS], *about_index]
    families = {name: metric.family for name in names if (metric := metric_named(name)) is not None}
    recalls = [name for name in families if families[name] == "recall"]
    units = partial(_lost, metrics=recalls, one_index=comparable)
    # Ids of another index say nothing about what fell.
    steady = [name for name in names if comparable or not families.get(name, "").startswith("id_")]
    return Comparison(
        samples=len(pairs),
        only_before=tuple(only_before),
        only_after=tuple(only_after),
        metrics=differences,
        groups={} if by is None else _grouped(pairs, by, clusters, of),
        lost=tuple(unit for one, other in pairs for unit in units(one, other, one.name)),
        won=tuple(unit for one, other in pairs for unit in units(other, one, one.name)),
        worst=tuple(_worst(pairs, steady)),
        notes=tuple(notes),
        stages=compared_stages(pairs, names),
        clusters=None if clusters is None else len(set(clusters)),
    )


def _primary(wanted: Sequence[str], names: Sequence[str], row: Row) -> list[str]:
    """Return the metrics that get a verdict.

    Raises:
        ParameterError: The runs have no such metric, or several.
    """
    if not wanted:
        return [next((name for name in names if row[name].provenance.judge), names[0])]
    return [named(names, name, "metric") for name in wanted]


def named(names: Sequence[str], name: str, option: str) -> str:
    """Return the metric of a name, which may leave out the parameters where only one metric has it.

    Raises:
        ParameterError: No metric is named so, or several are.
    """
    items = [item for item in names if item == name] or [
        item for item in names if item.partition("(")[0] == name
    ]
    if len(items) != 1:
        raise ParameterError(
            f"{option} {name!r}: {'several metrics are' if items else 'no metric is'} named so. There are: {', '.join(names)}."
        )
    return items[0]


def _groups(pairs: Iterable[Pair], path: str) -> list[str]:
    return [
        group_of(
            {**getattr(other.sample, "metadata", EMPTY), **getattr(one.sample, "metadata", EMPTY)},
            path,
            one.name,
            "compare",
        )
        for one, other in pairs
    ]


def _difference(
    name: str, pairs: Sequence[Pair], clusters: Sequence[str] | None, *, by_file: bool
) -> Difference | None:
    """Return the figures of one metric, p values not adjusted yet; None where no sample has a value in both."""
    every = [(one[name].value, other[name].value) for one, other in pairs]
    places = [place for place, both in enumerate(every) if None not in both]
    if not places:
        return None
    valued = [pairs[place] for place in places]
    before, after = zip(*[every[place] for place in places], strict=True)
    scales = {get_convention(row[name].provenance.convention).scale for row in valued[0]}
    if len(scales) > 1:
        raise ParameterError(f"compare: {name} has different scales in the runs: {sorted(scales)}.")
    differences = [right - left for left, right in zip(before, after, strict=True)]
    own = None if clusters is None else [clusters[place] for place in places]
    scale = scales.pop()
    found = paired_mean(differences, own, scale=scale)
    better = sum(item > EQUAL for item in differences)
    worse = sum(item < -EQUAL for item in differences)
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
        p_adjusted=None,
        better=better,
        worse=worse,
        equal=len(places) - better - worse,
        detectable=found.detectable,
        corrected=_corrected(name, valued, differences, own, scale=scale, by_file=by_file),
        scale=scale,
        causes=_causes(name, valued, differences),
    )


def _same_contexts(one: Row, other: Row) -> bool | None:
    """Return whether both runs asked the same about the same texts in the same order; None where hashes are missing."""
    records = [build_record(row) or {} for row in (one, other)]
    first, second = (
        (record.get("hash"), record.get("context_hashes"), record.get("stage_sizes"))
        for record in records
    )
    if first[0] is None or first[1] is None or second[1] is None:
        return None
    return bool(first == second)


def _causes(name: str, pairs: Sequence[Pair], differences: Sequence[float]) -> Causes | None:
    """Return whether the contexts or the judge changed; None where no judge answered, or nothing is known."""
    counts: Counter[str] = Counter()
    known = False
    for (one, other), difference in zip(pairs, differences, strict=True):
        same = _same_contexts(one, other)
        if same is None or one[name].provenance.judge is None:
            continue
        known = True
        if abs(difference) > EQUAL:
            counts["same" if same else "other"] += 1
        if same:
            before, after = one[name].verdicts, other[name].verdicts
            its = {(verdict.id, text_hash(verdict.text)): verdict.value for verdict in after}
            for verdict in before:
                value = its.get((verdict.id, text_hash(verdict.text)))
                if value is not None and verdict.value is not None:
                    counts["verdicts"] += 1
                    counts["different"] += verdict.value is not value
    if not known:
        return None
    return Causes(counts["other"], counts["same"], counts["verdicts"], counts["different"])


def _differences(
    names: Iterable[str],
    pairs: Sequence[Pair],
    clusters: Sequence[str] | None,
    *,
    primary: Collection[str],
    by_file: bool,
) -> tuple[Difference, ...]:
    """Return the figures of the metrics that have a value in both runs; see `_difference`."""
    known = [
        item
        for name in names
        if (item := _difference(name, pairs, clusters, by_file=by_file)) is not None
    ]
    return tuple(
        replace(item, p_adjusted=item.basis.p) if item.name in primary else item for item in known
    )


def _adjusted(differences: Iterable[Difference]) -> Iterator[Difference]:
    """Yield the differences, the p values of primary metrics adjusted for how many there are."""
    found = list(differences)
    adjusted = iter(holm([item.p_adjusted for item in found if item.p_adjusted is not None]))
    for item in found:
        yield item if item.p_adjusted is None else replace(item, p_adjusted=next(adjusted))


def _grouped(
    pairs: Sequence[Pair],
    by: str,
    clusters: Sequence[str] | None,
    of: Callable[..., tuple[Difference, ...]],
) -> dict[str, tuple[Difference, ...]]:
    """Return the figures of each group."""
    groups: dict[str, list[int]] = {}
    for place, name in enumerate(_groups(pairs, by)):
        groups.setdefault(name, []).append(place)
    return {
        name: of(
            [pairs[place] for place in places],
            None if clusters is None else [clusters[place] for place in places],
        )
        for name, places in sorted(groups.items())
    }


def _corrected(
    name: str,
    pairs: Sequence[Pair],
    differences: Sequence[float],
    clusters: Sequence[str] | None,
    *,
    scale: float,
    by_file: bool,
) -> Corrected | None:
    """Return the difference corrected by labels; None where fewer than two samples have their own in both runs."""
    metric = metric_named(name, pairs[0][0][name].provenance.convention)
    label = label_of(metric)
    if metric is None or label is None:
        return None
    carried = not by_file and all(
        getattr(one.sample, "labels", EMPTY).get(label)
        == getattr(other.sample, "labels", EMPTY).get(label)
        for one, other in pairs
    )
    if carried and any(differences):  # one set of labels, which is about one run's contexts
        return None
    said = [
        [
            people_value(metric, row[name], labels_in(getattr(row.sample, "labels", EMPTY), label))
            for row in pair
        ]
        for pair in pairs
    ]
    order = sorted(range(len(pairs)), key=lambda place: None in said[place])  # first those with labels
    number = sum(None not in both for both in said)
    groups = order if clusters is None else [clusters[place] for place in order]
    if len(set(groups[:number])) < 2:  # noqa: PLR2004 - a variance needs two
        return None
    people = [(said[place][1] or 0.0) - (said[place][0] or 0.0) for place in order[:number]]
    weights = [_weight(*pairs[place]) for place in order[:number]]
    judge = [differences[place] for place in order]
    found = corrected_difference(
        people,
        judge[:number],
        judge[number:],
        weights=weights,
        clusters=None if clusters is None else groups,
        scale=scale,
    )
    half = found.half(1 - LEVEL)
    return Corrected(
        number,
        weighted_mean(weights, people),
        found.mean,
        (max(found.mean - half, -scale), min(found.mean + half, scale)),
        found.p,
        found.size,
    )


def _weight(one: Row, other: Row) -> float:
    """Return how many samples a pair stands for, where the labelled ones were not drawn equally often.

    Raises:
        ParameterError: It is no number above 0, or the runs' labels were drawn in two ways.
    """
    found = {
        weight_in(getattr(row.sample, "labels", EMPTY), f"sample {visible(row.name)!r}")
        for row in (one, other)
    } - {1.0}
    if len(found) > 1:
        low, high = sorted(found)
        raise ParameterError(
            f"compare: the labels of sample {visible(one.name)!r} have the weights {low:g} and {high:g}. "
            "Draw both files alike: `ctxmetrics label` with the same --n, --seed and --by."
        )
    return found.pop() if found else 1.0


def _lost(
    row: Row, other: Row, name: str, *, metrics: Iterable[str], one_index: bool
) -> list[ChangedUnit]:
    """Return the units of a sample that one run supports and the other does not; each is listed once.

    Args:
        row: The sample in the run that supports them.
        other: The sample in the other run.
        name: The sample's name.
        metrics: The metrics that count them.
        one_index: Whether the runs are over one index: else nothing is said about a context that one run alone retrieved.
    """
    found: dict[tuple[str, int], tuple[Verdict, str, list[str]]] = {}
    key_of = text_hash if _is_bare(row) or _is_bare(other) else str
    for metric in metrics:
        its = _numbered(other[metric].verdicts, key_of)
        # Nothing was retrieved: nothing is supported.
        nothing = other[metric].value is not None and not its
        for key, unit in _numbered(row[metric].verdicts, key_of).items():
            rest = its.get(key)
            if unit.value and unit.weight and (nothing or (rest is not None and rest.value is False)):
                text = rest.text if rest and unit.text.startswith(HASHED) else unit.text
                found.setdefault(key, (unit, text, []))[2].append(metric)
    return [
        ChangedUnit(
            sample_id=name,
            id=unit.id,
            text=text,
            user_input=_question(row, other),
            metrics=tuple(names),
            contexts=tuple(_held(unit, row, other, one_index)),
            retrieved=(other.sample.retrieved_contexts if other.sample else None) or (),
        )
        for unit, text, names in found.values()
    ]


def _question(*rows: Row) -> str | None:
    """Return the question of a sample, of the first run that kept it."""
    return next((row.sample.user_input for row in rows if row.sample and row.sample.user_input), None)


def _is_bare(row: Row) -> bool:
    """Return whether a row is that of a baseline without texts."""
    return any(one.text.startswith(HASHED) for score in row.scores for one in score.verdicts[:1])


def _contradictions(pairs: Iterable[Pair], metrics: Sequence[str]) -> Iterator[str]:
    """Yield the contradictions of the embedded judge that only one of the runs has; of each metric."""
    for rows in pairs:
        for metric in () if any(map(_is_bare, rows)) else metrics:
            first, second = (
                {
                    unit.id: text
                    for unit in row[metric].verdicts
                    if (text := describe_contradiction(unit))
                }
                for row in rows
            )
            for run, own, rest in (("first", first, second), ("second", second, first)):
                for id_, text in own.items():
                    if rest.get(id_) != text:
                        yield f"{run} run only, {clean(rows[0].name, TEXT)}, {id_}: {text}"


def _numbered(units: Iterable[Verdict], key_of: Callable[[str], str]) -> dict[tuple[str, int], Verdict]:
    """Return verdicts by the key of their text; of equal texts, by the first, the second .."""
    seen: Counter[str] = Counter()
    found = {}
    for unit in units:
        seen[key := key_of(unit.text)] += 1
        found[key, seen[key]] = unit
    return found


def _held(unit: Verdict, row: Row, other: Row, one_index: bool) -> Iterable[Held]:
    hashes, others = ((build_record(item) or {}).get("context_hashes") or () for item in (row, other))
    ids, other_ids = (
        (item.sample and item.sample.retrieved_context_ids) or () for item in (row, other)
    )
    texts = (row.sample.retrieved_contexts if row.sample else None) or ()
    for span in {span.context: span for span in reversed(unit.evidence)}.values():
        known = hashes[span.context] if span.context < len(hashes) else None
        both = None if known is None else known in others
        same_id = not {*other_ids}.isdisjoint(ids[span.context : span.context + 1])
        yield Held(
            rank=span.context + 1,
            quote=span.quote,
            hash=known,
            text=texts[span.context] if span.context < len(texts) else None,
            # Of another index, or under the same id, the other run may have it as another text.
            retrieved_by_both=both if both or (one_index and not same_id) else None,
        )


def _worst(pairs: Sequence[Pair], names: Iterable[str]) -> Iterator[Worse]:
    """Yield the samples that fell, of each metric those that fell most."""
    for name in names:
        fallen = [
            Worse(name, one.name, _question(one, other), left, right, _same_contexts(one, other))
            for one, other in pairs
            if (left := one[name].value) is not None
            and (right := other[name].value) is not None
            and right < left - EQUAL
        ]
        yield from sorted(fallen, key=lambda item: item.after - item.before)[:_WORST]
