"""Is the second run better than the first, what did it lose, and is that more than chance?"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

from ctxmetrics._internal.display import visible
from ctxmetrics._internal.frozen import EMPTY
from ctxmetrics.conventions import get_convention
from ctxmetrics.errors import ParameterError
from ctxmetrics.metrics import metric_named
from ctxmetrics.metrics.base import Metric
from ctxmetrics.presentation.wording import TEXT, clean, describe_contradiction, plural
from ctxmetrics.results.baseline import HASHED, shorten_record, text_hash
from ctxmetrics.results.comparison.compared_stages import compare_stages
from ctxmetrics.results.comparison.pairing import (
    Pair,
    Run,
    check_comparable,
    count_unknown_models,
    pair_runs,
)
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
from ctxmetrics.results.groups import read_group
from ctxmetrics.results.label_notes import index_notes
from ctxmetrics.results.labels.answers import apply_labels, label_of, labels_in, people_value, weight_in
from ctxmetrics.results.labels.means import (
    EQUAL,
    LEVEL,
    corrected_difference,
    holm,
    paired_mean,
    weighted_mean,
)
from ctxmetrics.results.origin import Origin, find_origin
from ctxmetrics.results.row import Row
from ctxmetrics.results.rows_file import build_record, read_rows
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
    options = _Options(metrics, by, cluster, accept, by_file=bool(labels))
    inputs = [_read_run(run) for run in (baseline, *runs.values())]
    first_origin, *origins = map(find_origin, (baseline, *runs.values()), inputs)
    if labels:
        inputs = apply_labels(labels, inputs)
    if any("key" in (row.record or EMPTY) for run in inputs for row in run[:1]):
        inputs = [[*map(_shorten_hashes, run)] for run in inputs]
    first, *others = inputs
    comparisons = [
        _compare_two(first, second, (first_origin, origin), options)
        for second, origin in zip(others, origins, strict=True)
    ]
    return Comparisons(dict(zip(runs, _adjust(comparisons), strict=True)))


@dataclass(frozen=True, slots=True)
class _Options:
    """The options of `compare_all`; ``by_file``: the labels come from files."""

    metrics: Sequence[str]
    by: str | None
    cluster: str | None
    accept: Collection[str]
    by_file: bool


def _read_run(run: Run) -> list[Row]:
    if isinstance(run, (str, os.PathLike)):
        return list(read_rows(run))
    return list(run)


def _shorten_hashes(row: Row) -> Row:
    """Cut the hashes of a row to those of a baseline, so that both can be compared."""
    return replace(row, record=shorten_record(build_record(row) or EMPTY))


def _compare_two(
    first: Sequence[Row], second: Sequence[Row], origins: tuple[Origin, Origin], options: _Options
) -> Comparison:
    """Compare two runs; the p values of primary metrics are not adjusted yet."""
    pairs, only_before, only_after = pair_runs(first, second)
    names = _find_common_metrics(*pairs[0])
    notes = _describe_origins(pairs, names, options.accept)
    clusters = None if options.cluster is None else _read_groups(pairs, options.cluster)
    test = _PairedTest(names, _choose_primary(options.metrics, names, pairs[0][0]), options.by_file)
    differences = test.compare(pairs, clusters)
    if not differences:
        raise ParameterError("compare: no sample has a value in both runs.")
    empty = set(names) - {item.name for item in differences}
    if empty:
        listed = ", ".join(name for name in names if name in empty)
        notes.append(f"no sample has a value in both runs: {listed}")
    index_sentences, one_index = index_notes(first, second)
    notes += [*_list_contradictions(pairs, names), *index_sentences]
    recalls = [name for name in names if _get_family(name) == "recall"]
    # Ids of another index say nothing about what fell.
    steady = [name for name in names if one_index or not _get_family(name).startswith("id_")]
    lost: list[ChangedUnit] = []
    won: list[ChangedUnit] = []
    for before, after in pairs:
        lost += _find_lost(before, after, before.name, metrics=recalls, one_index=one_index)
        won += _find_lost(after, before, before.name, metrics=recalls, one_index=one_index)
    return Comparison(
        origins=origins,
        samples=len(pairs),
        only_before=tuple(only_before),
        only_after=tuple(only_after),
        metrics=differences,
        groups={} if options.by is None else _compare_groups(test, pairs, options.by, clusters),
        lost=tuple(lost),
        won=tuple(won),
        worst=tuple(_find_worst(pairs, steady)),
        notes=tuple(notes),
        stages=compare_stages(pairs, names, clusters),
        clusters=None if clusters is None else len(set(clusters)),
    )


def _find_common_metrics(before: Row, after: Row) -> list[str]:
    """Return the metrics of both runs.

    Raises:
        ParameterError: There is none.
    """
    names = [name for name in before if name in after]
    if not names:
        raise ParameterError(
            f"compare: the runs have no metric in common: one has {', '.join(before)}, "
            f"the other {', '.join(after)}."
        )
    return names


def _describe_origins(pairs: Sequence[Pair], names: list[str], accept: Collection[str]) -> list[str]:
    """Describe what differs between the runs beside what was retrieved; see `check_comparable`."""
    notes = [f"different, with permission: {item}" for item in check_comparable(pairs, names, accept)]
    unknown = count_unknown_models(pairs, names)
    if unknown:
        notes.append(f"the model that answered is known in one run only, of {plural(unknown, 'score')}")
    before, after = pairs[0]
    alone = [name for name in {**before, **after} if name not in names]
    if alone:
        notes.append(f"in one run only, not compared: {', '.join(alone)}")
    return notes


def _choose_primary(wanted: Sequence[str], names: Sequence[str], row: Row) -> list[str]:
    """Choose the metrics that get a verdict.

    Raises:
        ParameterError: The runs have no such metric, or several.
    """
    if wanted:
        return [choose_metric(names, name, "metric") for name in wanted]
    for name in names:
        if row[name].provenance.judge:
            return [name]
    return [names[0]]


def choose_metric(names: Sequence[str], name: str, option: str) -> str:
    """Choose the metric of a name, which may leave out the parameters if only one metric has it.

    Raises:
        ParameterError: No metric is named so, or several are.
    """
    if name in names:
        return name
    matches = [item for item in names if item.partition("(")[0] == name]
    if len(matches) != 1:
        problem = "several metrics are" if matches else "no metric is"
        raise ParameterError(f"{option} {name!r}: {problem} named so. There are: {', '.join(names)}.")
    return matches[0]


def _get_family(name: str) -> str:
    metric = metric_named(name)
    if metric is None:
        return ""
    return metric.family


def _read_groups(pairs: Iterable[Pair], path: str) -> list[str]:
    """Return the value of a key of the metadata for each sample; the first run's metadata come first."""
    groups = []
    for before, after in pairs:
        metadata = {**after.fields.metadata, **before.fields.metadata}
        groups.append(read_group(metadata, path, before.name, "compare"))
    return groups


# --- the figures of a metric ---


@dataclass(slots=True)
class _Values:
    """The values of one metric, on the samples that have a value in both runs.

    Attributes:
        pairs: These samples.
        before: The values of the first run.
        after: The values of the second run.
        clusters: The cluster of each sample; None without clusters.
        lost: How many samples have a value in the first run only.
    """

    pairs: list[Pair]
    before: list[float]
    after: list[float]
    clusters: list[str] | None
    lost: int = 0

    @property
    def differences(self) -> list[float]:
        return [after - before for before, after in zip(self.before, self.after, strict=True)]


def _read_values(name: str, pairs: Sequence[Pair], clusters: Sequence[str] | None) -> _Values:
    values = _Values([], [], [], None if clusters is None else [])
    for position, pair in enumerate(pairs):
        before, after = pair[0][name].value, pair[1][name].value
        if before is not None and after is None:
            values.lost += 1
        if before is None or after is None:
            continue
        values.pairs.append(pair)
        values.before.append(before)
        values.after.append(after)
        if clusters is not None and values.clusters is not None:
            values.clusters.append(clusters[position])
    return values


@dataclass(frozen=True, slots=True)
class _PairedTest:
    """The metrics that are compared; ``by_file``: the labels come from files."""

    names: Sequence[str]
    primary: Collection[str]
    by_file: bool

    def compare(self, pairs: Sequence[Pair], clusters: Sequence[str] | None) -> tuple[Difference, ...]:
        """Return the figures of the metrics that have a value in both runs, p values not adjusted yet."""
        differences = []
        for name in self.names:
            difference = self._compare_metric(name, pairs, clusters)
            if difference is not None and name in self.primary:
                difference = replace(difference, p_adjusted=difference.basis.p)
            if difference is not None:
                differences.append(difference)
        return tuple(differences)

    def _compare_metric(
        self, name: str, pairs: Sequence[Pair], clusters: Sequence[str] | None
    ) -> Difference | None:
        values = _read_values(name, pairs, clusters)
        size = len(values.pairs)
        if not size:
            return None
        scale = _find_scale(name, values.pairs[0])
        differences = values.differences
        mean = paired_mean(differences, values.clusters, scale=scale)
        better = sum(item > EQUAL for item in differences)
        worse = sum(item < -EQUAL for item in differences)
        return Difference(
            name=name,
            samples=size,
            unpaired=len(pairs) - size,
            values_lost=values.lost,
            before=math.fsum(values.before) / size,
            after=math.fsum(values.after) / size,
            difference=mean.mean,
            interval=mean.interval,
            p=mean.p,
            p_adjusted=None,
            better=better,
            worse=worse,
            equal=size - better - worse,
            detectable=mean.detectable,
            corrected=_correct(name, values, scale=scale, by_file=self.by_file),
            scale=scale,
            causes=_count_causes(name, values),
            passed=_count_passed(name, values),
        )


def _count_passed(name: str, values: _Values) -> tuple[int, int] | None:
    """Count the samples that reach the pass mark in each run; None without one."""
    before = [first[name].passed for first, _ in values.pairs]
    after = [second[name].passed for _, second in values.pairs]
    if before[0] is None or after[0] is None:
        return None
    return before.count(True), after.count(True)


def _find_scale(name: str, pair: Pair) -> float:
    """Return the highest value of a metric.

    Raises:
        ParameterError: It differs between the runs.
    """
    before, after = (get_convention(row[name].provenance.convention).scale for row in pair)
    if before != after:
        scales = sorted([before, after])
        raise ParameterError(f"compare: {name} has different scales in the runs: {scales}.")
    return before


def _compare_groups(
    test: _PairedTest, pairs: Sequence[Pair], by: str, clusters: Sequence[str] | None
) -> dict[str, tuple[Difference, ...]]:
    """Return the figures of each group of samples."""
    positions: dict[str, list[int]] = {}
    for position, name in enumerate(_read_groups(pairs, by)):
        positions.setdefault(name, []).append(position)
    groups = {}
    for name, members in sorted(positions.items()):
        member_clusters = None if clusters is None else [clusters[position] for position in members]
        groups[name] = test.compare([pairs[position] for position in members], member_clusters)
    return groups


def _adjust(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Adjust the p values over all comparisons; those of groups over all groups."""
    differences: list[Difference] = []
    group_differences: list[Difference] = []
    for comparison in comparisons:
        differences += comparison.metrics
        group_differences += chain.from_iterable(comparison.groups.values())
    adjusted, group_adjusted = _adjust_p(differences), _adjust_p(group_differences)
    results = []
    for comparison in comparisons:
        metrics = tuple(islice(adjusted, len(comparison.metrics)))
        groups = {
            name: tuple(islice(group_adjusted, len(items))) for name, items in comparison.groups.items()
        }
        results.append(replace(comparison, metrics=metrics, groups=groups))
    return results


def _adjust_p(differences: Sequence[Difference]) -> Iterator[Difference]:
    """Yield the differences, the p values of primary metrics adjusted for how many there are."""
    adjusted = iter(holm([item.p_adjusted for item in differences if item.p_adjusted is not None]))
    for item in differences:
        if item.p_adjusted is None:
            yield item
        else:
            yield replace(item, p_adjusted=next(adjusted))


# --- what changed: the contexts or the judge ---


def _has_same_contexts(before: Row, after: Row) -> bool | None:
    """Tell whether both runs asked the same about the same texts, or ids, in the same order; None where that is not known."""
    first, second = build_record(before) or {}, build_record(after) or {}
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


def _count_causes(name: str, values: _Values) -> Causes | None:
    """Count changes of the contexts and of the judge; None without a judge or without hashes."""
    counts: Counter[str] = Counter()
    known = False
    for (before, after), difference in zip(values.pairs, values.differences, strict=True):
        same = _has_same_contexts(before, after)
        if same is None or before[name].provenance.judge is None:
            continue
        known = True
        changed = abs(difference) > EQUAL
        if not same:
            counts["other"] += changed
        else:
            counts["same"] += changed
            counts.update(_compare_verdicts(before[name].verdicts, after[name].verdicts))
    if not known:
        return None
    return Causes(counts["other"], counts["same"], counts["verdicts"], counts["different"])


def _compare_verdicts(before: Iterable[Verdict], after: Iterable[Verdict]) -> Counter[str]:
    """Count the verdicts on the same thing in both runs, and how many of them are different."""
    counts: Counter[str] = Counter()
    after_values = {(verdict.id, text_hash(verdict.text)): verdict.value for verdict in after}
    for verdict in before:
        value = after_values.get((verdict.id, text_hash(verdict.text)))
        if value is not None and verdict.value is not None:
            counts["verdicts"] += 1
            counts["different"] += verdict.value is not value
    return counts


# --- the difference corrected by labels ---


def _correct(name: str, values: _Values, *, scale: float, by_file: bool) -> Corrected | None:
    """Return the difference corrected by labels; None if fewer than two samples have their own in both runs."""
    differences = values.differences
    metric = metric_named(name, values.pairs[0][0][name].provenance.convention)
    label = label_of(metric)
    if metric is None or label is None:
        return None
    # One set of labels is about the contexts of one run.
    if not by_file and any(differences) and _shares_labels(values.pairs, label):
        return None
    people: list[float] = []
    labelled: list[int] = []
    unlabelled: list[int] = []
    for position, pair in enumerate(values.pairs):
        before, after = (_read_people_value(row, metric, name, label) for row in pair)
        if before is None or after is None:
            unlabelled.append(position)
        else:
            labelled.append(position)
            people.append(after - before)
    order = [*labelled, *unlabelled]
    clusters = None
    if values.clusters is not None:
        clusters = [values.clusters[position] for position in order]
    if len(set((clusters or order)[: len(labelled)])) < 2:  # noqa: PLR2004 - a variance needs two
        return None
    weights = [_read_weight(*values.pairs[position]) for position in labelled]
    mean = corrected_difference(
        people,
        [differences[position] for position in labelled],
        [differences[position] for position in unlabelled],
        weights=weights,
        clusters=clusters,
        scale=scale,
    )
    half = mean.half(1 - LEVEL)
    return Corrected(
        labelled=len(labelled),
        people=weighted_mean(weights, people),
        difference=mean.mean,
        interval=(max(mean.mean - half, -scale), min(mean.mean + half, scale)),
        p=mean.p,
        size=mean.size,
    )


def _read_people_value(row: Row, metric: Metric, name: str, label: str) -> float | None:
    return people_value(metric, row[name], labels_in(row.fields.labels, label))


def _shares_labels(pairs: Iterable[Pair], label: str) -> bool:
    """Tell whether each sample has the same labels in both runs."""
    return all(
        before.fields.labels.get(label) == after.fields.labels.get(label) for before, after in pairs
    )


def _read_weight(before: Row, after: Row) -> float:
    """Return how many samples a pair stands for; 1 if the samples were drawn equally often.

    Raises:
        ParameterError: It is no number above 0, or the runs' labels were drawn in two ways.
    """
    weights = {
        weight_in(row.fields.labels, f"sample {visible(row.name)!r}") for row in (before, after)
    } - {1.0}
    if len(weights) > 1:
        low, high = sorted(weights)
        raise ParameterError(
            f"compare: the labels of sample {visible(before.name)!r} have the weights {low:g} and {high:g}. "
            "Draw both files alike: `ctxmetrics label` with the same --n, --seed and --by."
        )
    return max(weights, default=1.0)


# --- units and samples that changed ---


def _find_lost(
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
                contexts=tuple(_find_supporting(unit, row, other, one_index)),
                retrieved=other.fields.retrieved_contexts or (),
            )
    return list(units.values())


def _find_question(*rows: Row) -> str | None:
    """Return the question of a sample, of the first run that has it."""
    return next((row.fields.user_input for row in rows if row.fields.user_input), None)


def _get_hashes(row: Row) -> Sequence[str]:
    return (build_record(row) or {}).get("context_hashes") or ()


def _is_bare(row: Row) -> bool:
    """Tell whether a row is that of a baseline without texts."""
    return any(
        verdict.text.startswith(HASHED) for score in row.scores for verdict in score.verdicts[:1]
    )


def _list_contradictions(pairs: Iterable[Pair], metrics: Sequence[str]) -> list[str]:
    """Return the first contradictions of the embedded judge that only one of the runs has."""
    notes: dict[str, None] = {}
    for before, after in pairs:
        if _is_bare(before) or _is_bare(after):
            continue
        for metric in metrics:
            first = _read_contradictions(before[metric].verdicts)
            second = _read_contradictions(after[metric].verdicts)
            for run, own, others in (("first", first, second), ("second", second, first)):
                for id_, text in own.items():
                    if others.get(id_) != text:
                        notes[f"{run} run only, {clean(before.name, TEXT)}, {id_}: {text}"] = None
    return list(notes)[:_MOST_CONTRADICTIONS]


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


def _find_supporting(unit: Verdict, row: Row, other: Row, one_index: bool) -> Iterator[Held]:
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
        # Of another index, or under the same id, the other run may have it as another text.
        if not in_both and (not one_index or not other_ids.isdisjoint(ids[position : position + 1])):
            in_both = None
        yield Held(
            rank=position + 1,
            quote=span.quote,
            hash=hash_,
            text=texts[position] if position < len(texts) else None,
            retrieved_by_both=in_both,
        )


def _find_worst(pairs: Sequence[Pair], names: Iterable[str]) -> Iterator[Worse]:
    """Yield the samples that fell, of each metric those that fell most."""
    for name in names:
        fallen = []
        for before, after in pairs:
            first, second = before[name].value, after[name].value
            if first is None or second is None or second >= first - EQUAL:
                continue
            question, same = _find_question(before, after), _has_same_contexts(before, after)
            fallen.append(Worse(name, before.name, question, first, second, same))
        yield from sorted(fallen, key=lambda item: item.after - item.before)[:_WORST]
