"""The results of a run: its rows in input order, its figures, and its files and pages."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from ctxmetrics._internal.frozen import EMPTY
from ctxmetrics.errors import ParameterError, importing
from ctxmetrics.evaluation.files.text_files import check_path
from ctxmetrics.evaluation.pages import name_page
from ctxmetrics.evaluation.report.curve import compute_page_curves
from ctxmetrics.evaluation.report.report import Report, rank_scores, render_html, render_notebook
from ctxmetrics.evaluation.report.stage_means import find_staged_metric, summarize_stages
from ctxmetrics.evaluation.report.summary import Summary
from ctxmetrics.evaluation.rows.baseline import shorten_row
from ctxmetrics.evaluation.rows.json_lines import json_line
from ctxmetrics.evaluation.rows.metric_values import REASON_COLUMN_ENDING
from ctxmetrics.evaluation.rows.output_files import write_tables, write_whole
from ctxmetrics.evaluation.rows.provenances import read_start
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.rows.row_lines import to_lines, to_rows
from ctxmetrics.evaluation.rows.rows_file import read_rows
from ctxmetrics.evaluation.rows.sample_groups import read_group
from ctxmetrics.evaluation.rows.sample_record import build_record
from ctxmetrics.evaluation.runs.result_figures import ResultFigures
from ctxmetrics.scores.conventions import get_convention
from ctxmetrics.scores.score import NOT_FINAL, Provenance
from ctxmetrics.scores.telemetry import open_telemetry

if TYPE_CHECKING:
    import pandas as pd

    from ctxmetrics.evaluation.comparison.view import Comparison


class Results(ResultFigures):
    """The rows of a run, in input order.

    Attributes:
        metrics: The metrics' names.
        by_metric: The values of each metric, by its name, and why some are missing.
        usage: Calls and tokens of the whole run, failed requests included, and how many judgements cost nothing.
        stopped: Why the run ended early (Ctrl-C, a deadline, a budget, a judge that is down), or None.
        total: How many samples a run that ended early has in all; None if that is not known, and for other runs.
        batches: The outcome of the batches of a run with ``batch=``.
        controls: The verdicts about control samples; None if the run had none.
        audit: The means by an audit of the gold, after `apply_audit`.
        source: The file that the samples, or these results, were read from, if there is one.
        start: When the run began (``started``), the ``commit`` and ``branch`` that CI names, its ``tags``, and what became of
            its ``gates``; empty if nothing is known.
    """

    def report(self, *, curves: bool = True, by: str | None = None) -> Report:
        """Return the run as it is shown, as plain data: worst samples first. `to_html` makes a page of it.

        Args:
            curves: With recall and precision over k, if metrics count units, and the stages of the retrieval, where
                samples have some.
            by: A key of the metadata, such as ``"metadata.topic"``: with the means of its groups.
        """
        rows = self._rows or ()
        staged = find_staged_metric(rows, self.metrics) if curves else None
        groups: dict[str, Summary] = {}
        if by:
            groups = {name: results.summary() for name, results in self.by(by).items()}
        return Report(
            summary=self.summary(),
            rows=tuple(sorted(rows, key=lambda row: rank_scores(row.scores, row.index))),
            curves=compute_page_curves(self, self.metrics) if curves else EMPTY,
            stages=None if staged is None else summarize_stages(rows, staged),
            groups=groups,
        )

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
        """Make results of the rows that were read from a file. There is at least one."""
        scales = {
            score.metric: get_convention(score.provenance.convention).scale for score in rows[0].scores
        }
        results = cls(scales, keep=True, source=str(path), start=read_start(path))
        for row in rows:
            results.add(row)
        return results

    def to_jsonl(self, path: str | os.PathLike[str], *, keep_texts: bool = False) -> None:
        """Write one JSON line for each sample and metric. If that fails, the old file stays.

        Args:
            path: The file.
            keep_texts: Write all fields of the samples, not the question and hashes only.

        Raises:
            CtxMetricsError: The run wrote its verdicts to a file itself (``out=``) and keeps values only.
            InputFileError: No file can be written at the path, or data of another kind is there.
            OutputFileError: Writing failed.
        """
        self._need_rows("to_jsonl")
        provenances: dict[Provenance, int] = {}
        lines = (to_lines(row, provenances, self.start, keep_texts=keep_texts) for row in self)
        write_whole(path, map(json_line, chain.from_iterable(lines)))

    def to_csv(self, path: str | os.PathLike[str], *, keep_texts: bool = True) -> None:
        """Write a table with one row for each sample, and the verdicts beside it: ``x.csv`` and ``x.verdicts.csv``.

        Each metric has a column of its values, one of how many verdicts are doubtful (``NAME.doubtful``) and, if a value
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
        if check_path(path).suffix.lower() != ending:
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
        """Return the results of each group of samples. Samples with the same value of a metadata key form a group.

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
            title: Heading of the page; None: the name of the file of samples, then that of the page.
            by: A key of the metadata, such as ``"metadata.topic"``: the page also shows the means of its groups.
            gates: Gates of this run: each as it was written, and why it failed or None.

        Raises:
            CtxMetricsError: The run wrote its verdicts to a file itself (``out=``) and keeps values only.
            InputFileError: No file can be written at the path, or data of another kind is there.
            OutputFileError: Writing failed.
        """
        self._need_rows("to_html")
        check_path(path)
        if title is None:
            title = name_page(path, self.source) if self.source else name_page(path)
        page = render_html(self.report(by=by), title=title, gates=gates)
        write_whole(path, (page,))

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
                frame[name + REASON_COLUMN_ENDING] = column.codes
            if column.doubts:
                frame[f"{name}.doubtful"] = list(column.doubtful)
        return frame

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
        """Compare these results with those of another run on the same samples. Differences are ``other`` minus these.

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
