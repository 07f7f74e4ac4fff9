"""Is the second run better than the first, what did it lose, and is that more than chance?"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import TypeAlias

from ctxmetrics._internal.frozen import EMPTY
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.comparison.changed_units import RunChanges, has_same_contexts
from ctxmetrics.evaluation.comparison.compared_stages import ComparedStages, compare_stages
from ctxmetrics.evaluation.comparison.differences import Difference
from ctxmetrics.evaluation.comparison.paired import AuditedPair, PairedColumn, PairedTest
from ctxmetrics.evaluation.comparison.pairing import (
    Comparability,
    MissingIdError,
    RowPair,
    RunRows,
    join_runs,
)
from ctxmetrics.evaluation.comparison.view import Comparison, Comparisons
from ctxmetrics.evaluation.report.stage_means import read_stage_sizes
from ctxmetrics.evaluation.rows.baseline import shorten_record
from ctxmetrics.evaluation.rows.gold_answers import GoldAnswers, read_gold_answers
from ctxmetrics.evaluation.rows.index_notes import IndexSketch, index_notes
from ctxmetrics.evaluation.rows.people_answers import apply_labels
from ctxmetrics.evaluation.rows.provenances import Origin, find_origin
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.rows.rows_file import read_rows
from ctxmetrics.evaluation.rows.sample_groups import read_group
from ctxmetrics.evaluation.rows.sample_record import build_record
from ctxmetrics.evaluation.statistics.paired import holm
from ctxmetrics.metrics.metric_names import find_near_metrics, list_possible_names
from ctxmetrics.scores.score import Provenance

# The note on labels that correct nothing.
_NO_METRIC_CORRECTED = (
    "the labels correct no metric: that takes two samples, of two clusters, with an answer about every sentence or every context in "
    "both runs. Draw from both runs: ctxmetrics label --compare FIRST SECOND"
)


def compare(
    before: RunRows,
    after: RunRows,
    *,
    metrics: Sequence[str] = (),
    by: str | None = None,
    cluster: str | None = None,
    accept: Collection[str] = (),
    labels: Sequence[str | os.PathLike[str]] = (),
    audit: str | os.PathLike[str] | None = None,
) -> Comparison:
    """Compare two runs on the same samples: paired differences, and the units that were lost and won.

    Samples are joined by their ids where all have one, else by question and reference. Every difference is ``after``
    minus ``before``; every figure counts samples.

    Two files are read side by side. A row stays in memory only until the row of the same sample is read from the other file.
    So files whose samples have the same order take little memory. Rows with labels or stages stay in memory.

    Args:
        before: The first run: `Results`, or a file that ``--out`` or `Results.to_jsonl` wrote.
        after: The second run.
        metrics: The primary metrics: they get a verdict, and a gate may check them. A name may leave out parameters if only
            one metric has the name. None: the first judged metric, else the first metric. All other metrics are secondary: they
            have figures, but no verdict.
        by: A key of the samples' metadata, such as ``"metadata.topic"``: the figures are also given by its values.
        cluster: A key of the samples' metadata, such as ``"metadata.document"``: samples with the same value are
            not independent, and count as one draw.
        accept: What may differ between the runs beside the retrieved items: ``"judge"``, ``"prompt"``,
            ``"convention"``, ``"formula"``, ``"unit"``, ``"question"``.
        labels: Files of people's answers (`ctxmetrics label`), of either run: an answer belongs to the run that retrieved
            the contexts which the person saw. They take the place of the labels that the samples have.
        audit: A labelled audit of the gold (`ctxmetrics.check_gold`): its random part corrects the differences of metrics that
            count gold passages, and the comparison says whether the decision survives it. The answers are read from the file
            that `ctxmetrics label` wrote beside it.

    Returns:
        The comparison; ``print`` shows it as text.

    Raises:
        ParameterError: The runs cannot be compared: the message names what differs or what is missing. Or two labels of one
            sample give it different weights.
        InputFileError: A file of a run cannot be read or holds no results. Or a file of labels cannot be read, holds no answers,
            or its answers are about samples of neither run.
    """
    return compare_all(
        before,
        {"": after},
        metrics=metrics,
        by=by,
        cluster=cluster,
        accept=accept,
        labels=labels,
        audit=audit,
    ).runs[""]


def compare_all(
    baseline: RunRows,
    runs: Mapping[str, RunRows],
    *,
    metrics: Sequence[str] = (),
    by: str | None = None,
    cluster: str | None = None,
    accept: Collection[str] = (),
    labels: Sequence[str | os.PathLike[str]] = (),
    audit: str | os.PathLike[str] | None = None,
) -> Comparisons:
    """Compare several runs with one baseline. The p values are adjusted over all runs, primary metrics and groups.

    Args:
        baseline: The first run of every comparison.
        runs: The others, by the names under which they are shown.
        metrics: As for `compare`, and so are the others.
        by: A key of the metadata.
        cluster: A key of the metadata.
        accept: The allowed differences.
        labels: Files of people's answers.
        audit: A labelled audit of the gold.

    Raises:
        ParameterError: As `compare` raises.
        InputFileError: As `compare` raises.
    """
    for name, values in (("metrics", metrics), ("labels", labels)):
        if isinstance(values, (str, os.PathLike)):
            raise ParameterError(
                f"compare: {name} must be a list. Write {name}=[{os.fspath(values)!r}]."
            )
    inputs: Sequence[Iterable[Row]] = [_open_run(run) for run in (baseline, *runs.values())]
    if labels:
        inputs = apply_labels(labels, [list(rows) for rows in inputs])
    options = _Options(
        metrics,
        by,
        cluster,
        accept,
        by_file=bool(labels),
        shorten=any(map(_is_baseline, inputs)),
        audit=None if audit is None else read_gold_answers(Path(audit)),
    )
    first, *others = zip((baseline, *runs.values()), inputs, strict=True)
    comparisons = [_compare_two((first, other), options) for other in others]
    return Comparisons(dict(zip(runs, _adjust(comparisons), strict=True)))


def _is_baseline(rows: Iterable[Row]) -> bool:
    """Tell whether rows come from a baseline, whose hashes are short."""
    first_row = next(iter(rows), None)
    return first_row is not None and "key" in (first_row.record or EMPTY)


@dataclass(frozen=True, slots=True)
class _Options:
    """The options of `compare_all`.

    Attributes:
        by_file: The labels come from files.
        shorten: Whether to shorten the hashes of all rows, because one of the runs is a baseline with short hashes.
        audit: The answers of people about the gold; None if there is no audit.
    """

    metrics: Sequence[str]
    by: str | None
    cluster: str | None
    accept: Collection[str]
    by_file: bool
    shorten: bool
    audit: GoldAnswers | None


@dataclass(frozen=True, slots=True)
class _File:
    """The rows of a file, read anew each time, so that nothing holds them all."""

    path: str | os.PathLike[str]

    def __iter__(self) -> Iterator[Row]:
        return read_rows(self.path)


# A run, and its rows.
_OpenRun: TypeAlias = tuple[RunRows, Iterable[Row]]


def _open_run(run: RunRows) -> Iterable[Row]:
    """Return the rows of a run: a list of `Results`' rows, or an object that reads a file each time.

    Raises:
        ParameterError: The run is neither results nor a file, keeps values only, or its rows have different metrics.
    """
    if not isinstance(run, (str, os.PathLike)):
        rows = list(run) if isinstance(run, Iterable) else [run]
        if any(not isinstance(row, Row) for row in rows):
            raise ParameterError(
                "compare: a run is Results or the file of results. Score samples first: evaluate(samples, metrics)."
            )
        if any(map(_holds_values_only, rows)):
            raise ParameterError(
                "compare: a run with out= keeps values only, not who judged. Give the file that it wrote."
            )
        if len({frozenset(row) for row in rows}) > 1:
            raise ParameterError(
                "compare: the rows of a run have different metrics. Give the rows of one run only."
            )
        return rows
    # A pipe can be read once only.
    return _File(run) if Path(run).is_file() else list(read_rows(run))


def _holds_values_only(row: Row) -> bool:
    """Tell whether a row is of a run that wrote its scores to a file: without the sample and without their origin."""
    has_sample = row.sample is not None or row.record is not None
    return not has_sample and not any(score.provenance.library for score in row.values())


class _RunReader:
    """Reads the rows of a run, and collects the facts about the whole run.

    Args:
        run: The run: a file, or `Results`.
        rows: The rows of the run.
        shorten: Whether to shorten the hashes of the rows as a baseline does.

    Attributes:
        index: The facts about the retrieval index.
        only_here: The names of the samples that the other run does not have.
    """

    def __init__(self, run: RunRows, rows: Iterable[Row], *, shorten: bool) -> None:
        self._run = run
        self._rows = rows
        self._shorten = shorten
        # The provenances of the scores, by their identity: rows share them.
        self._provenances: dict[int, Provenance] = {}
        self._samples = 0
        self.index = IndexSketch()
        self.only_here: list[str] = []

    def read(self) -> Iterator[Row]:
        """Yield the rows, with their records."""
        for row in self._rows:
            record = build_record(row)
            if self._shorten:
                record = shorten_record(record or EMPTY)
            self.index.add(record or EMPTY)
            self._samples += 1
            # Rows of one run share their provenances.
            for score in row.scores:
                self._provenances[id(score.provenance)] = score.provenance
            yield replace(row, record=record)

    def find_origin(self) -> Origin:
        """Find where the results come from; see `ctxmetrics.evaluation.rows.provenances.find_origin`."""
        return find_origin(self._run, self._provenances.values(), self._samples)


class _SharedSamples:
    """The data that a comparison collects about samples of both runs, while they are read.

    Args:
        before: The first of these samples, in the first run.
        after: The same in the second run.
        options: The options of the comparison.

    Attributes:
        positions: The position of each sample in the first run.
        columns: The metrics of both runs.
        metrics_of_one_run: The names of the metrics that only one of the runs has.
        primary: The names of the metrics that get a verdict.
        labelled: The samples that have labels, by their index in ``positions``.
        audited: The samples of the random part of the audit, by the same index, with their gold by people.
        with_stages: The samples that have stages in both runs, by the same index.
        clusters: The cluster of each sample; none without clusters.
        groups: The group of each sample; none without groups.
    """

    def __init__(self, before: Row, after: Row, options: _Options) -> None:
        names = _find_common_metrics(before, after)
        self._options = options
        self.positions: list[int] = []
        self.columns = {name: PairedColumn() for name in names}
        self.metrics_of_one_run = [name for name in {**before, **after} if name not in names]
        self.primary = _choose_primary(options.metrics, names, before)
        self.comparability = Comparability(names, options.accept)
        self.changes = RunChanges(names)
        # Pairs of rows by the position of their sample.
        self.labelled: dict[int, RowPair] = {}
        self.audited: dict[int, AuditedPair] = {}
        self.with_stages: dict[int, RowPair] = {}
        self.clusters: list[str] = []
        self.groups: list[str] = []

    def add(self, position: int, before: Row, after: Row) -> None:
        """Add a sample. ``position`` is its position in the first run."""
        same_contexts = has_same_contexts(before, after)
        self.comparability.add(before, after)
        self.changes.add(position, before, after, same_contexts)
        for name, column in self.columns.items():
            column.add(before[name], after[name], same_contexts)
        index = len(self.positions)
        if before.fields.labels or after.fields.labels:
            self.labelled[index] = (before, after)
        audit = self._options.audit
        if audit is not None and before.name in audit.random:
            gold = audit.correct_row(before)
            if gold is not None:
                self.audited[index] = ((before, after), gold)
        if read_stage_sizes(before) and read_stage_sizes(after):
            self.with_stages[index] = (before, after)
        metadata = {**after.fields.metadata, **before.fields.metadata}
        if self._options.cluster is not None:
            cluster = read_group(metadata, self._options.cluster, before.name, "compare")
            self.clusters.append(cluster)
        if self._options.by is not None:
            self.groups.append(read_group(metadata, self._options.by, before.name, "compare"))
        self.positions.append(position)

    @property
    def order(self) -> list[int]:
        """The indices of the samples, in the order of the first run."""
        return sorted(range(len(self.positions)), key=self.positions.__getitem__)

    def compare_stages(self) -> ComparedStages | None:
        """Compare the stages of the retrieval. Return None if no sample has stages in both runs."""
        indices = [index for index in self.order if index in self.with_stages]
        clusters = None
        if self._options.cluster is not None:
            clusters = [self.clusters[index] for index in indices]
        pairs = [self.with_stages[index] for index in indices]
        return compare_stages(pairs, [*self.columns], clusters)


def _read_both(
    first_reader: _RunReader, second_reader: _RunReader, options: _Options, *, by_id: bool
) -> _SharedSamples:
    """Read two runs side by side; see `join_runs`.

    Raises:
        MissingIdError: A sample has no id.
        ParameterError: No sample is in both runs.
    """
    shared = None
    for position, before, after in join_runs(first_reader.read(), second_reader.read(), by_id=by_id):
        if before is not None and after is not None:
            if shared is None:
                shared = _SharedSamples(before, after, options)
            shared.add(position, before, after)
        elif before is not None:
            first_reader.only_here.append(before.name)
        elif after is not None:
            second_reader.only_here.append(after.name)
    if shared is None:
        identity = "id" if by_id else "question with its reference"
        raise ParameterError(
            f"compare: the runs have no sample in common: no {identity} is in both. Give runs on the same samples."
        )
    return shared


def _compare_two(inputs: Sequence[_OpenRun], options: _Options) -> Comparison:
    """Compare two runs. The p values of primary metrics are not adjusted yet."""
    first_reader, second_reader = (_RunReader(*item, shorten=options.shorten) for item in inputs)
    try:
        shared = _read_both(first_reader, second_reader, options, by_id=True)
    except MissingIdError:
        first_reader, second_reader = (_RunReader(*item, shorten=options.shorten) for item in inputs)
        shared = _read_both(first_reader, second_reader, options, by_id=False)
    notes = shared.comparability.describe()
    if shared.metrics_of_one_run:
        notes.append(f"in one run only, not compared: {', '.join(shared.metrics_of_one_run)}")
    clusters = None if options.cluster is None else shared.clusters
    test = PairedTest(
        shared.columns,
        shared.primary,
        shared.labelled,
        shared.audited,
        clusters,
        by_file=options.by_file,
    )
    order = shared.order
    differences = test.compare(order)
    if not differences:
        raise ParameterError("compare: no sample has a value in both runs.")
    if options.audit is not None:
        _check_audit(options.audit, differences)
    elif options.by_file and all(item.corrected is None for item in differences):
        notes.append(_NO_METRIC_CORRECTED)
    names_with_values = {item.name for item in differences}
    names_without_values = [name for name in shared.columns if name not in names_with_values]
    if names_without_values:
        notes.append(f"no sample has a value in both runs: {', '.join(names_without_values)}")
    index_sentences, one_index = index_notes(first_reader.index, second_reader.index)
    changes = shared.changes
    notes += [*changes.list_contradictions(), *index_sentences]
    lost_units, won_units = changes.list_units(one_index=one_index)
    return Comparison(
        origins=(first_reader.find_origin(), second_reader.find_origin()),
        samples=len(order),
        only_before=tuple(first_reader.only_here),
        only_after=tuple(second_reader.only_here),
        metrics=differences,
        groups={} if options.by is None else _compare_groups(test, order, shared.groups),
        lost=lost_units,
        won=won_units,
        worst=tuple(changes.list_worst(one_index=one_index)),
        notes=tuple(notes),
        stages=shared.compare_stages(),
        clusters=None if clusters is None else len(set(clusters)),
    )


def _check_audit(audit: GoldAnswers, differences: Iterable[Difference]) -> None:
    """Check that an audit of the gold corrects at least one difference."""
    for item in differences:
        if item.corrected is not None and item.corrected.by_audit:
            return
    raise ParameterError(
        f"compare: audit {audit.path} corrects no difference. It needs a metric that counts gold passages or ids, "
        "two questions of its random part with an answer about each passage, and results of both runs with ids, or with "
        "texts (--keep-texts)."
    )


def _find_common_metrics(before: Row, after: Row) -> list[str]:
    """Return the metrics of both runs.

    Raises:
        ParameterError: The runs have no metric in common.
    """
    names = [name for name in before if name in after]
    if not names:
        raise ParameterError(
            f"compare: the runs have no metric in common: one has {', '.join(before)}, "
            f"the other {', '.join(after)}."
        )
    return names


def _choose_primary(requested: Sequence[str], names: Sequence[str], row: Row) -> list[str]:
    """Choose the metrics that get a verdict: the requested ones, else the first judged one, else the first.

    Raises:
        ParameterError: The runs have no such metric, or several.
    """
    if requested:
        return [choose_metric(names, name, "metric") for name in requested]
    for name in names:
        if row[name].provenance.judge:
            return [name]
    return [names[0]]


def choose_metric(names: Sequence[str], name: str, option: str) -> str:
    """Choose the metric with a name.

    The name may be another name of the metric. It may leave out the parameters if only one metric has it.

    Raises:
        ParameterError: No metric is named so, or several are.
    """
    if name in names:
        return name
    matches = [item for item in names if item.partition("(")[0] == name]
    if not matches:
        possible = list_possible_names(name)
        matches = [item for item in names if item in possible]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise ParameterError(
            f"{option} {name!r}: several metrics are named so. There are: {', '.join(matches)}."
        )
    similar = find_near_metrics(name)
    proposals = [repr(item) for item in names if item in similar]
    hint = f" Did you mean {' or '.join(proposals)}?" if proposals else ""
    raise ParameterError(
        f"{option} {name!r}: no metric is named so.{hint} There are: {', '.join(names)}."
    )


def _compare_groups(
    test: PairedTest, order: Iterable[int], groups: Sequence[str]
) -> dict[str, tuple[Difference, ...]]:
    """Return the figures of each group of samples. ``groups`` has the group of each sample."""
    members: dict[str, list[int]] = {}
    for index in order:
        members.setdefault(groups[index], []).append(index)
    return {name: test.compare(indices) for name, indices in sorted(members.items())}


def _adjust(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Adjust the p values over all comparisons. The p values of groups are adjusted over all groups."""
    differences: list[Difference] = []
    group_differences: list[Difference] = []
    for comparison in comparisons:
        differences += comparison.metrics
        group_differences += chain.from_iterable(comparison.groups.values())
    # Both iterators keep the order, so that each comparison takes as many differences as it has.
    adjusted = _adjust_p(differences)
    group_adjusted = _adjust_p(group_differences)
    results = []
    for comparison in comparisons:
        metrics = tuple(islice(adjusted, len(comparison.metrics)))
        groups = {}
        for name, items in comparison.groups.items():
            groups[name] = tuple(islice(group_adjusted, len(items)))
        results.append(replace(comparison, metrics=metrics, groups=groups))
    return results


def _adjust_p(differences: Sequence[Difference]) -> Iterator[Difference]:
    """Yield the differences. The p values of primary metrics are adjusted for the number of these metrics."""
    # Until here, `p_adjusted` of a primary metric is its own p value; a secondary metric has none.
    p_values = [item.p_adjusted for item in differences if item.p_adjusted is not None]
    adjusted = iter(holm(p_values))
    for item in differences:
        if item.p_adjusted is None:
            yield item
        else:
            yield replace(item, p_adjusted=next(adjusted))
