"""What a run returns: one row a sample in input order, and a summary with all that is missing or doubtful."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from numbers import Integral
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, overload

from ctxmetrics._internal.frozen import EMPTY
from ctxmetrics.errors import CtxMetricsError, ParameterError, importing
from ctxmetrics.evaluation.batching.batch import BatchReport
from ctxmetrics.evaluation.pages import name_page
from ctxmetrics.evaluation.report.curve import Curve, SmallestK, compute_curve, find_smallest_k
from ctxmetrics.evaluation.report.report import Report, rank_scores, render_html, render_notebook
from ctxmetrics.evaluation.report.run_audit import RunAudit, audit_run
from ctxmetrics.evaluation.report.searches import Searches, has_searches, summarize_searches
from ctxmetrics.evaluation.report.stage_means import Stages, find_staged_metric, summarize_stages
from ctxmetrics.evaluation.report.summary import Controls, Summary
from ctxmetrics.evaluation.rows.baseline import shorten_row
from ctxmetrics.evaluation.rows.gold_answers import read_gold_answers
from ctxmetrics.evaluation.rows.metric_values import REASON, MetricValues
from ctxmetrics.evaluation.rows.provenances import read_start
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.rows.row_writer import json_line, write_tables, write_whole
from ctxmetrics.evaluation.rows.rows_file import build_record, read_rows, to_lines, to_rows
from ctxmetrics.evaluation.rows.sample_groups import read_group
from ctxmetrics.formulas import Span
from ctxmetrics.formulas.checks import check_choice
from ctxmetrics.metrics.base import Formula
from ctxmetrics.metrics.spans import read_span, with_reference_spans
from ctxmetrics.samples.sample import Sample
from ctxmetrics.samples.schema import OPTIONS
from ctxmetrics.scores.conventions import get_convention
from ctxmetrics.scores.label_notes import Labels
from ctxmetrics.scores.score import FAILURES, NOT_FINAL, Provenance, Score
from ctxmetrics.scores.telemetry import open_telemetry
from ctxmetrics.scores.wording import join_counts, plural
from ctxmetrics.verdicts import DOUBTFUL, Usage

if TYPE_CHECKING:
    import pandas as pd

    from ctxmetrics.evaluation.comparison.view import Comparison

# The largest k of the curve on the page.
_LARGEST_K = 20
# Reads all fields of a sample that metrics look at.
_read_options = attrgetter(*OPTIONS)


class Results(Sequence[Row]):
    """The rows of a run, in input order.

    Attributes:
        metrics: The metrics' names.
        by_metric: The values of each metric, by its name, and why some are missing.
        usage: Calls and tokens of the whole run, failed requests included, and how many judgements cost nothing.
        stopped: Why the run ended early (Ctrl-C, a deadline, a budget, a judge that is down), or None.
        total: How many samples a run that ended early has in all; None where that is not known, and for other runs.
        batches: What became of the batches of a run with ``batch=``.
        controls: What the judge made of labelled samples in between, where the run asked for some.
        audit: What an audit of the gold says about the means, after `apply_audit`.
        source: The file that the samples, or these results, were read from, where there is one.
        start: When the run began (``started``), the ``commit`` and ``branch`` that CI names, its ``tags``, and what became of
            its ``gates``; empty where nothing is known.
    """

    def __init__(
        self,
        scales: Mapping[str, float],
        *,
        keep: bool,
        source: str | None = None,
        start: Mapping[str, Any] = EMPTY,
    ) -> None:
        """Begin without a row: ``scales`` are the metrics' highest scores by name; ``keep`` keeps whole rows."""
        self.source: str | None = source
        self.start: Mapping[str, Any] = start
        self.metrics: tuple[str, ...] = tuple(scales)
        self.usage: Usage = Usage()
        self.stopped: str | None = None
        self.total: int | None = None
        self.batches: BatchReport | None = None
        self.controls: Controls | None = None
        self.audit: RunAudit | None = None
        self.by_metric: Mapping[str, MetricValues] = {
            name: MetricValues(name, scale) for name, scale in scales.items()
        }
        self._ids: list[str | None] = []
        self._labels = Labels()
        self._samples = array("q")  # a hash of each row's sample
        self._rows: list[Row] | None = [] if keep else None

    def add(self, row: Row) -> None:
        """Append a row; only the engine calls it."""
        self._ids.append(row.sample_id)
        if row.sample is not None:
            self._labels.add(row.sample, row.record)
        # Samples are told apart by the fields that metrics look at, not by their ids.
        content = (row.record or {}).get("content_hash")
        if content is None and row.sample is not None:
            content = _read_options(row.sample)
        self._samples.append(hash(content or row.index))
        for column, score in zip(self.by_metric.values(), row.scores, strict=True):
            column.add(score)
            if score.usage.reused or score.usage.repeats:
                self.usage += Usage(reused=score.usage.reused, repeats=score.usage.repeats)
        if self._rows is not None:
            self._rows.append(row)

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, str):
            raise ParameterError(
                f"Results: {index!r} is no number of a row. Write results[0][{index!r}], or "
                f"results.summary()[{index!r}]."
            )
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        if self._rows is not None:
            return self._rows[index]
        position = range(len(self))[index]
        identifier = self._ids[position]
        return Row(
            position,
            None,
            identifier,
            tuple(column.score(position, identifier) for column in self.by_metric.values()),
        )

    def worst(self, metric: str, number: int = 10) -> list[Row]:
        """Return the rows with the lowest scores of a metric, the lowest first.

        Rows that failed come first. Rows whose value is undefined for a reason in the sample itself are
        left out.

        Raises:
            ParameterError: The run has no such metric, or the number is no whole number from 0.
        """
        if metric not in self.metrics:
            raise ParameterError(
                f"worst: metric={metric!r} is not in this run: {', '.join(self.metrics)}."
            )
        if not isinstance(number, Integral) or isinstance(number, bool) or number < 0:
            raise ParameterError(f"worst: number={number!r} must be a whole number from 0.")
        failed = []
        scored = []
        for row in self:
            if row[metric].reason_code in NOT_FINAL:
                failed.append(row)
            elif row[metric].value is not None:
                scored.append(row)
        scored.sort(key=lambda row: row[metric].value or 0.0)
        return [*failed, *scored][:number]

    def report(self, *, curves: bool = True, by: str | None = None) -> Report:
        """Return the run as it is shown, as plain data: worst samples first. `to_html` makes a page of it.

        Args:
            curves: With recall and precision over k, where metrics count units, and the stages of the retrieval, where
                samples have some.
            by: A key of the metadata, such as ``"metadata.topic"``: with the means of its groups.
        """
        rows = self._rows or ()
        staged = find_staged_metric(rows, self.metrics) if curves else None
        return Report(
            self.summary(),
            tuple(sorted(rows, key=lambda row: rank_scores(row.scores, row.index))),
            self._curves() if curves else EMPTY,
            None if staged is None else summarize_stages(rows, staged),
            {name: part.summary() for name, part in self.by(by).items()} if by else EMPTY,
        )

    def summary(self) -> Summary:
        """Return mean, interval, pass rate and what is missing, a metric; print it for a table."""
        columns = self.by_metric.values()
        provenances = dict.fromkeys(item for column in columns for item in column.provenances)
        by_words = any((item.judge or "").startswith("lexical") for item in provenances)
        return Summary(
            {column.metric: column.summary(self._samples) for column in columns},
            self.usage,
            self.stopped,
            tuple(provenances),
            self.source,
            self.start.get("started"),
            self.controls,
            (*self._labels.notes(by_words=by_words),),
            len(self) - self._labels.unanswered,
            self.batches.lines if self.batches else (),
            self.audit,
        )

    def apply_audit(
        self, audit: str | os.PathLike[str], labels: str | os.PathLike[str] | None = None
    ) -> RunAudit:
        """Correct the means by an audit of the gold; `summary` and the page show them from then on.

        Only its random part counts: what it says holds for all samples. A score by people's gold is that of the metric itself.

        Args:
            audit: The file that ``check-gold --audit`` (`ctxmetrics.check_gold`) wrote.
            labels: What people said about it; None: the file that `ctxmetrics label` wrote beside it.

        Returns:
            The share of wrong gold, and of each metric that counts gold passages the mean by the audit with a 95 % interval.

        Raises:
            InputFileError: A file cannot be read, or the audit asks other questions under the same names.
            ParameterError: No metric counts gold passages, or fewer than two questions of the random part have answers.
            CtxMetricsError: The run wrote its rows to a file and keeps values only.
        """
        self._need_rows("apply_audit")
        answers = read_gold_answers(Path(audit), None if labels is None else Path(labels))
        self.audit = audit_run(self._rows or (), answers)
        return self.audit

    @property
    def waits_for_batches(self) -> bool:
        """Whether a batch is not answered yet, or still to be submitted."""
        return self.batches is not None and self.batches.is_open

    @property
    def unanswered(self) -> tuple[str, ...]:
        """The metrics that needed a judge, or a function, and got no verdict at all."""
        return tuple(
            name for name, column in self.by_metric.items() if column.failed and not column.answered
        )

    def describe_rest(self) -> str:
        """Describe how far a run came that ended early: ``5 of 30 judged, 25 left``; of a stream, ``5 of ? judged``."""
        failed = 0
        left = 0
        for codes in zip(*(column.codes for column in self.by_metric.values()), strict=True):
            if "cancelled" in codes:
                left += 1
            elif not FAILURES.isdisjoint(codes):
                failed += 1
        parts = [f"{len(self) - failed - left} of {self.total or '?'} judged"]
        if failed:
            parts.append(f"{failed} failed")
        if self.total is not None:
            parts.append(f"{left + max(0, self.total - len(self))} left")
        return ", ".join(parts)

    @property
    def failure(self) -> tuple[str, str] | None:
        """The most frequent code of what failed, and what was said when it happened first; None when nothing failed."""
        for name in (*self.unanswered, *self.by_metric):
            column = self.by_metric[name]
            codes = sorted(column.words, key=lambda code: -column.causes[code])
            if codes:
                return codes[0], column.words[codes[0]]
        return None

    @property
    def trouble(self) -> str | None:
        """One line about what failed and why, or None when nothing did."""
        counts = []
        for name, column in self.by_metric.items():
            if not column.failed:
                continue
            count = f"{name}: {column.failed} of {len(self)}"
            counts.append(f"{count} ({join_counts(column.causes)})" if column.causes else count)
        return f"Samples that could not be scored: {'; '.join(counts)}" if counts else None

    def to_dicts(self, *, keep_texts: bool = False) -> Iterator[dict[str, Any]]:
        """Yield one dict a sample and metric: what `Score.to_dict` makes, and ``sample``."""
        for row in self:
            yield from to_rows(row, keep_texts=keep_texts)

    @classmethod
    def from_jsonl(cls, path: str | os.PathLike[str]) -> Results:
        """Read the results that ``out=``, `to_jsonl` or the command line's ``--out`` wrote.

        A row's ``sample`` has what its lines hold: ``user_input``, ``labels`` and ``metadata``, or all fields of a run
        with ``keep_texts=True``. About 5 KB of memory are needed for each line.

        Raises:
            InputFileError: The file cannot be read, or a line is no result: its number and field are named.
        """
        rows = list(read_rows(path))
        results = cls.from_rows(rows, path)
        for row in rows:
            for score in row.values():
                results.usage += replace(score.usage, reused=0, repeats=0)
        return results

    @classmethod
    def from_rows(cls, rows: Sequence[Row], path: str | os.PathLike[str]) -> Results:
        """Make results of the rows that were read from a file; there is at least one."""
        scales = {
            score.metric: get_convention(score.provenance.convention).scale for score in rows[0].scores
        }
        results = cls(scales, keep=True, source=str(path), start=read_start(path))
        for row in rows:
            results.add(row)
        return results

    def to_jsonl(self, path: str | os.PathLike[str], *, keep_texts: bool = False) -> None:
        """Write one JSON line a sample and metric; with an error, what was there stays.

        Args:
            path: The file.
            keep_texts: Write all fields of the samples, not the question and hashes only.

        Raises:
            CtxMetricsError: The run wrote its verdicts to a file itself (``out=``) and keeps values only.
            InputFileError: The path is no place for a file, or data of another kind is there.
            OutputFileError: Writing failed.
        """
        self._need_rows("to_jsonl")
        provenances: dict[Provenance, int] = {}
        lines = (to_lines(row, provenances, self.start, keep_texts=keep_texts) for row in self)
        write_whole(path, map(json_line, chain.from_iterable(lines)))

    def to_csv(self, path: str | os.PathLike[str], *, keep_texts: bool = True) -> None:
        """Write a table with one row a sample, and the verdicts beside it: ``x.csv`` and ``x.verdicts.csv``.

        Each metric has a column of its values, one of how many verdicts are doubtful (``NAME.doubtful``) and, where a value
        is missing, one that says why (``NAME.reason_code``). A text that a spreadsheet would run as a formula begins with
        an apostrophe. `read_samples` reads the table as samples.

        Args:
            path: The file.
            keep_texts: Write all fields of the samples, not questions and ids only.

        Raises:
            CtxMetricsError: As `to_jsonl` raises.
            ParameterError: The file does not end in ``.csv``.
        """
        self._to_table(path, ".csv", keep_texts=keep_texts)

    def to_excel(self, path: str | os.PathLike[str], *, keep_texts: bool = True) -> None:
        """Write an Excel file with the sheets ``samples`` and ``verdicts``; see `to_csv`.

        Raises:
            CtxMetricsError: As `to_jsonl` raises.
            MissingExtraError: openpyxl is not installed.
            ParameterError: The file does not end in ``.xlsx``.
        """
        self._to_table(path, ".xlsx", keep_texts=keep_texts)

    def to_telemetry(self, telemetry: Any = True, *, keep_texts: bool = False) -> int:
        """Send each score as OpenTelemetry's event ``gen_ai.evaluation.result``.

        The results of a framework's run can be sent, too. pydantic-evals' online evaluation sends such events itself: do not send its scores again.

        Args:
            telemetry: A ``LoggerProvider``; True: the one of this process.
            keep_texts: Whether the events hold texts and quotes.

        Returns:
            How many events were handed to the provider.

        Raises:
            MissingExtraError: OpenTelemetry is not installed.
            ParameterError: There is no provider, or the rows were not kept.
        """
        self._need_rows("to_telemetry")
        events = open_telemetry(telemetry, keep_texts=keep_texts)
        if events is None:
            return 0
        count = 0
        for row in self:
            metadata = (row.record or {}).get("metadata") or row.fields.metadata
            for score in row.scores:
                if score.reason_code != "cancelled":
                    events.send(score, metadata)
                    count += 1
        return count

    def _to_table(self, path: str | os.PathLike[str], ending: str, *, keep_texts: bool) -> None:
        """Write the rows as CSV or Excel."""
        if Path(path).suffix.lower() != ending:
            raise ParameterError(f"{path}: the file must end in {ending}.")
        self._need_rows(f"to_{'csv' if ending == '.csv' else 'excel'}")
        write_tables(path, self, keep_texts=keep_texts)

    def to_baseline(self, path: str | os.PathLike[str]) -> None:
        """Write a baseline to keep in a repository: a short line a sample, without any text, for `ctxmetrics.compare`.

        It holds ids, values, verdicts by position, and hashes of questions, contexts and units; see
        `ctxmetrics.evaluation.rows.baseline`.

        Raises:
            CtxMetricsError: As `to_jsonl` raises.
        """
        self._need_rows("to_baseline")
        provenances: dict[Provenance, int] = {}
        rows = (shorten_row(row, build_record(row) or {}) for row in self)
        lines = (to_lines(row, provenances, self.start) for row in rows)
        write_whole(path, map(json_line, chain.from_iterable(lines)))

    def by(self, key: str) -> dict[str, Results]:
        """Return the results of each group of samples: of those with the same value of a key of the metadata.

        Args:
            key: Such as ``"metadata.topic"``.

        Raises:
            ParameterError: A sample has no such key.
            CtxMetricsError: The run wrote its verdicts to a file itself (``out=``) and keeps values only.
        """
        self._need_rows("by")
        groups: dict[str, list[Row]] = {}
        for row in self:
            name = read_group(row.fields.metadata, key, row.name, "by")
            groups.setdefault(name, []).append(row)
        return {name: self._select(rows) for name, rows in sorted(groups.items())}

    def filter(self, keep: Callable[[Row], bool]) -> Results:
        """Return the results of some rows, such as ``results.filter(lambda row: row["context_recall"].value == 0)``.

        Args:
            keep: Whether a row is among them.

        Raises:
            CtxMetricsError: The run wrote its verdicts to a file itself (``out=``) and keeps values only.
        """
        self._need_rows("filter")
        return self._select(filter(keep, self))

    def failed(self) -> Results:
        """Return the results of the rows with a score that is missing for a reason that may pass, or below a pass mark."""
        return self.filter(
            lambda row: any(
                score.reason_code in NOT_FINAL or score.passed is False for score in row.scores
            )
        )

    def _select(self, rows: Iterable[Row]) -> Results:
        """Build results of some rows."""
        scales = {name: column.scale for name, column in self.by_metric.items()}
        # The gates are about the whole run.
        start = {name: value for name, value in self.start.items() if name != "gates"}
        results = Results(scales, keep=True, source=self.source, start=start)
        for row in rows:
            results.add(row)
        return results

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        by: str | None = None,
        gates: Sequence[tuple[str, str | None]] = (),
    ) -> None:
        """Write one page to read: the means, the curve over k, then every sample, the worst first.

        The page loads nothing. Its one script sorts, filters and searches; the page can be read without it. A page would
        be large with all texts: above 20 MB it keeps those of the worst samples, and says so. With an error, what was
        there stays.

        Args:
            path: The file.
            title: Heading of the page; None: the name of the file of samples and that of the page.
            by: A key of the metadata, such as ``"metadata.topic"``: with the means of its groups.
            gates: Gates of this run: each as it was written, and why it failed or None.

        Raises:
            CtxMetricsError: The run wrote its verdicts to a file itself (``out=``) and keeps values only.
            InputFileError: The path is no place for a file, or data of another kind is there.
            OutputFileError: Writing failed.
        """
        self._need_rows("to_html")
        if title is None:
            title = name_page(path, *filter(None, [self.source]))
        page = render_html(self.report(by=by), title=title, gates=gates)
        write_whole(path, (page,))

    def _curves(self) -> dict[str, tuple[tuple[int, float, float], ...]]:
        """Compute the points of the curve of each metric that counts units."""
        curves = {}
        for name in self.metrics:
            scores = [row[name] for row in self if row[name].value is not None]
            longest = max((len(score.context_lengths or ()) for score in scores), default=0)
            if longest:
                ks = range(1, min(longest, _LARGEST_K) + 1)
                points = compute_curve(name, scores, ks, "average_precision")
                curves[name] = tuple(
                    (point.k, point.recall or 0.0, point.precision or 0.0) for point in points
                )
        return curves

    def _repr_html_(self) -> str:
        return render_notebook(self.report(curves=False))

    def to_pandas(self) -> pd.DataFrame:
        """Return one line a sample: its fields, then a column a metric (missing values are missing).

        Where a metric lacks a value anywhere, a column ``NAME.reason_code`` says why; where it has doubtful verdicts, a
        column ``NAME.doubtful`` says how many.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        with importing("pandas"):
            import pandas as pd
        frame = pd.DataFrame(
            [{"id": row.sample_id} if row.sample is None else row.sample.to_dict() for row in self],
            index=range(len(self)),
        )
        for name, column in self.by_metric.items():
            frame[name] = column.values  # noqa: PD011 - no frame of pandas
            if any(column.codes):
                frame[name + REASON] = column.codes
            if column.doubts:
                frame[f"{name}.doubtful"] = list(column.doubtful)
        return frame

    def stages(self, metric: str | None = None, *, accumulate: bool = False) -> Stages:
        """Return what each stage of the retrieval held, and after which stage each missed unit was lost.

        Of samples with `Sample.stages`: recall, support precision, contexts and tokens of each stage, without a request.
        ``print(results.stages())`` is a table; ``.lost`` names each unit that the last stage does not support, with the
        stage, context and rank that had it last.

        Args:
            metric: A recall of units, or `IDBasedContextRecall`; None takes the first one of the run with stages.
            accumulate: Each stage counts with all before it, as where each hop adds contexts.

        Raises:
            CtxMetricsError: The run wrote its verdicts to a file itself (``out=``) and keeps values only.
            ParameterError: The run has no such metric, or no sample of it has stages.
        """
        self._need_rows("stages")
        return summarize_stages(self, self._find_staged("stages", self, metric), accumulate=accumulate)

    def searches(self, metric: str | None = None) -> Searches:
        """Return what each search of the questions found, what it added, and which units no search found.

        Of samples with `Sample.searches`, without a request. ``print(results.searches())`` is a table; ``.samples`` has the
        searches of each sample, ``.lost`` the units that none found, ``.idle`` the searches that added nothing.

        Args:
            metric: A recall of units, or `IDBasedContextRecall`; None takes the first one of the run with searches.

        Raises:
            CtxMetricsError: The run wrote its verdicts to a file itself (``out=``) and keeps values only.
            ParameterError: The run has no such metric, or no sample of it has searches.
        """
        self._need_rows("searches")
        rows = list(filter(has_searches, self))
        return summarize_searches(rows, self._find_staged("searches", rows, metric))

    def _find_staged(self, what: str, rows: Sequence[Row], metric: str | None) -> str:
        """Return the first metric, or the named one, whose units have stages in some of the rows.

        Raises:
            ParameterError: There is none.
        """
        names = self.metrics if metric is None else (metric,)
        staged = find_staged_metric(rows, [name for name in names if name in self.metrics])
        if staged is None:
            raise ParameterError(
                f"{what}: no sample has units with {what} in {' or '.join(names)}. Give Sample({what}=..), and score a recall of "
                "sentences, claims, facts or ids."
            )
        return staged

    def curve(
        self,
        ks: Iterable[int] = range(1, 21),
        metrics: Sequence[str] | None = None,
        *,
        formula: str = "average_precision",
    ) -> Curve:
        """Return recall and precision of the first k contexts, for each k, from the attributions, without a request.

        Recall@k is units supported at k / units. Support precision@k is the precision of the first k contexts; a context is
        relevant if a unit supported at k rests on it. Both are means over the samples with a value. Of a model's judgement,
        recall below the last k is a lower bound. Of the embedded judge's, it is the value of a metric with ``top_k=k``.

        Args:
            ks: How many contexts from the top count; each at least 1.
            metrics: Names of metrics that count units, such as ``context_recall``; None takes all of the run.
            formula: The formula of the precision: ``"average_precision"`` or ``"share"``.

        Raises:
            CtxMetricsError: None of the metrics counts units, or the run wrote its rows to a file and keeps only values.
            ParameterError: A ``k`` is not a whole number of at least 1, or the formula is unknown.

        Source: claim recall and context precision of RAGChecker (Ru et al. 2024, arXiv:2408.08067), at each k.
        """
        check_choice("curve: formula", formula, get_args(Formula))
        if not isinstance(ks, Iterable):
            raise ParameterError(f"curve: ks={ks!r} must be a list of numbers. Write ks=[{ks!r}].")
        ks = tuple(ks)
        return Curve(
            point
            for name in self._counting_units("curve", metrics)
            for point in compute_curve(name, (row[name] for row in self), ks, formula)
        )

    def smallest_k(self, keep: float = 0.95, metric: str | None = None) -> SmallestK:
        """Return the smallest k that keeps a share of the recall, and its interval.

        Formula: the smallest k with mean recall@k >= keep * mean recall of all contexts (`formulas.smallest_k`). The
        interval holds the middle 95 % of that k over 2,000 draws of as many samples with replacement (fixed seed).

        Args:
            keep: The share, above 0, up to 1.
            metric: Name of the metric that counts units; None where the run has one.

        Raises:
            CtxMetricsError: As `curve`.
            ParameterError: ``keep`` is no such share, or several metrics count units and none is named.

        Source: percentile bootstrap, B. Efron and R. Tibshirani, An Introduction to the Bootstrap (1993), chapter 13.
        """
        name, *others = self._counting_units("smallest_k", None if metric is None else [metric])
        if others:
            raise ParameterError(
                f"smallest_k: several metrics count units: {name}, {', '.join(others)}. Name one."
            )
        return find_smallest_k(name, (row[name] for row in self), keep)

    def reference_spans(self, metric: str = "context_recall") -> list[Sample]:
        """Return the samples with labels over spans: where the verified quotes behind each yes stand in the sources.

        The span of a quote is its place in the context, inside the context's own span: the retrieved
        ids must be of the form ``SOURCE#char=START,END``. Doubtful verdicts give no label. Text that no
        retrieved context stated is in no label: the labels hold only what this run found. Each sample's
        ``metadata["reference_spans"]`` says so, with the judge. A sample without a quote has an empty
        list: its span metrics are None, ``no_reference``.

        Args:
            metric: Name of a judged recall of the run.

        Raises:
            CtxMetricsError: The run wrote its rows to a file and keeps values only.
            ParameterError: There is no such metric, it counts no units, or the rows hold no texts; a context has no span,
                or one of another length than its text.
        """
        self._need_rows("reference_spans")
        if metric not in self.metrics:
            raise ParameterError(
                f"reference_spans: metric={metric!r} is not in this run: {', '.join(self.metrics)}."
            )
        return list(build_span_samples(self, metric))

    def _counting_units(self, what: str, names: Sequence[str] | None) -> list[str]:
        """Return the metrics whose scores have an attribution, as far as they are named."""
        self._need_rows(what)
        counting = [
            name for name in self.metrics if any(row[name].context_lengths is not None for row in self)
        ]
        problem = None if counting else "no metric of this run counts"
        for name in names or ():
            if name not in counting:
                problem = f"{name} counts no"
                break
        if problem is not None:
            raise CtxMetricsError(f"{what}: {problem} units of a reference. Add ContextRecall().")
        return list(counting if names is None else names)

    def compare(
        self,
        other: Results | str | os.PathLike[str],
        *,
        metrics: Sequence[str] = (),
        by: str | None = None,
        cluster: str | None = None,
        accept: Collection[str] = (),
        labels: Sequence[str | os.PathLike[str]] = (),
        audit: str | os.PathLike[str] | None = None,
    ) -> Comparison:
        """Compare these results with those of another run on the same samples; differences are ``other`` minus these.

        Arguments and errors are those of `ctxmetrics.compare`.
        """
        from ctxmetrics.evaluation.comparison.compare import compare

        return compare(
            self,
            other,
            metrics=metrics,
            by=by,
            cluster=cluster,
            accept=accept,
            labels=labels,
            audit=audit,
        )

    def _need_rows(self, what: str) -> None:
        """Raise if the run kept no rows."""
        if self._rows is None:
            raise CtxMetricsError(
                f"{what}: this run wrote its rows to the file given as out=, and keeps values only."
            )

    def __repr__(self) -> str:
        return f"<Results: {plural(len(self), 'sample')}, {', '.join(self.metrics)}>"


def build_span_samples(rows: Iterable[Row], metric: str) -> Iterator[Sample]:
    """Yield each sample with the places of its quotes (``SOURCE#char=START,END``) as reference ids. Arguments and errors: `Results.reference_spans`."""
    for row in rows:
        sample = row.sample
        score = row[metric]
        if sample is None:
            raise ParameterError(
                "reference_spans: the rows hold no samples. Write them with keep_texts=True."
            )
        if score.context_lengths is None and score.value is not None:
            raise ParameterError(
                f"reference_spans: {metric} counts no units. Name a judged recall with metric=."
            )
        yield with_reference_spans(
            sample, list(_locate_quotes(sample, score)), f"quotes of {metric}, {score.provenance.judge}"
        )


def _locate_quotes(sample: Sample, score: Score) -> Iterator[Span]:
    """Yield where the quotes of clear yeses stand in their sources."""
    ids = sample.retrieved_context_ids or ()
    texts = sample.retrieved_contexts or ()
    for verdict in score.verdicts:
        if verdict.value is not True or verdict.code in DOUBTFUL:
            continue
        for quote in verdict.evidence:
            where = f"reference_spans: sample {sample.id!r}, context {quote.context + 1}"
            if len(ids) != len(texts):
                raise ParameterError(
                    f"{where}: it has no id. Give retrieved_context_ids, one a context."
                )
            source, start, end = read_span(ids[quote.context], where)
            if end - start != len(texts[quote.context]):
                raise ParameterError(
                    f"{where}: its text has {len(texts[quote.context])} characters, its span {end - start}. "
                    "Find the spans with: ctxmetrics spans FILE --sources DIR"
                )
            yield source, start + quote.start, start + quote.end
