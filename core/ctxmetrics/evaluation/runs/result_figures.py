"""Figures over the rows of a run: means, curves, stages and searches."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, get_args

from ctxmetrics.errors import CtxMetricsError, ParameterError
from ctxmetrics.evaluation.files.text_files import check_path
from ctxmetrics.evaluation.report.curve import (
    Curve,
    CurvePoint,
    SmallestK,
    compute_curve,
    find_smallest_k,
)
from ctxmetrics.evaluation.report.stage_means import Stages, find_staged_metric, summarize_stages
from ctxmetrics.evaluation.report.summary import Summary
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.runs.result_rows import ResultRows
from ctxmetrics.formulas.checks import check_choice
from ctxmetrics.metrics.base import Formula
from ctxmetrics.samples.sample import Sample

if TYPE_CHECKING:
    from ctxmetrics.evaluation.report.run_audit import RunAudit
    from ctxmetrics.evaluation.report.searches import Searches


class ResultFigures(ResultRows):
    """The rows of a run, and the figures that are computed from them."""

    def summary(self) -> Summary:
        """Return mean, interval, pass rate and missing values of each metric. Printed, the summary is a table."""
        columns = self.by_metric.values()
        provenances = dict.fromkeys(item for column in columns for item in column.provenances)
        judges = [provenance.judge or "" for provenance in provenances]
        is_embedded_judge = any(judge.startswith("lexical") for judge in judges)
        return Summary(
            metrics={column.metric: column.summary(self._samples) for column in columns},
            usage=self.usage,
            stopped=self.stopped,
            provenances=tuple(provenances),
            source=self.source,
            started=self.start.get("started"),
            controls=self.controls,
            notes=tuple(self._labels.describe(embedded_judge=is_embedded_judge)),
            answered=len(self) - self._labels.unanswered,
            batches=self.batches.lines if self.batches else (),
            audit=self.audit,
        )

    def apply_audit(
        self, audit: str | os.PathLike[str], labels: str | os.PathLike[str] | None = None
    ) -> RunAudit:
        """Correct the means by an audit of the gold. `summary` and the page show them from then on.

        Only its random part counts: what it says holds for all samples. A score by people's gold is that of the metric itself.

        Args:
            audit: The file that ``check-gold --audit`` (`ctxmetrics.check_gold`) wrote.
            labels: The answers of people about it; None: the file that `ctxmetrics label` wrote beside it.

        Returns:
            The share of wrong gold, and of each metric that counts gold passages the mean by the audit with a 95 % interval.

        Raises:
            InputFileError: A file cannot be read, or the audit asks other questions under the same names.
            ParameterError: No metric counts gold passages, or fewer than two questions of the random part have answers.
            CtxMetricsError: The run wrote its rows to a file and keeps values only.
        """
        from ctxmetrics.evaluation.report.run_audit import audit_run
        from ctxmetrics.evaluation.rows.gold_answers import read_gold_answers

        self._need_rows("apply_audit")
        answers = read_gold_answers(check_path(audit), None if labels is None else check_path(labels))
        self.audit: RunAudit | None = audit_run(self._rows or (), answers)
        return self.audit

    def stages(self, metric: str | None = None, *, accumulate: bool = False) -> Stages:
        """Return the figures of each stage of the retrieval, and the stage after which each missed unit was lost.

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
        """Return the units that each search found, the units that it added, and the units that no search found.

        Of samples with `Sample.searches`, without a request. ``print(results.searches())`` is a table; ``.samples`` has the
        searches of each sample, ``.lost`` the units that none found, ``.idle`` the searches that added nothing.

        Args:
            metric: A recall of units, or `IDBasedContextRecall`; None takes the first one of the run with searches.

        Raises:
            CtxMetricsError: The run wrote its verdicts to a file itself (``out=``) and keeps values only.
            ParameterError: The run has no such metric, or no sample of it has searches.
        """
        from ctxmetrics.evaluation.report.searches import has_searches, summarize_searches

        self._need_rows("searches")
        rows = list(filter(has_searches, self))
        return summarize_searches(rows, self._find_staged("searches", rows, metric))

    def _find_staged(self, field_name: str, rows: Sequence[Row], metric: str | None) -> str:
        """Return the first metric, or the named one, whose units have stages in some of the rows.

        Raises:
            ParameterError: No metric has such units.
        """
        names = self.metrics if metric is None else (metric,)
        staged = find_staged_metric(rows, [name for name in names if name in self.metrics])
        if staged is None:
            raise ParameterError(
                f"{field_name}: no sample has units with {field_name} in {' or '.join(names)}. Give Sample({field_name}=..), and score a recall of "
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
        points: list[CurvePoint] = []
        for name in self._list_counting_metrics("curve", metrics):
            points += compute_curve(name, (row[name] for row in self), ks, formula)
        return Curve(points)

    def smallest_k(self, keep: float = 0.95, metric: str | None = None) -> SmallestK:
        """Return the smallest k that keeps a share of the recall, and its interval.

        Formula: the smallest k with mean recall@k >= keep * mean recall of all contexts (`formulas.smallest_k`). The
        interval holds the middle 95 % of that k over 2,000 draws of as many samples with replacement (fixed seed).

        Args:
            keep: The share, above 0, up to 1.
            metric: Name of the metric that counts units; None if the run has one.

        Raises:
            CtxMetricsError: As `curve`.
            ParameterError: ``keep`` is no such share, or several metrics count units and none is named.

        Source: percentile bootstrap, B. Efron and R. Tibshirani, An Introduction to the Bootstrap (1993), chapter 13.
        """
        name, *others = self._list_counting_metrics("smallest_k", None if metric is None else [metric])
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
            ParameterError: The metric does not exist, it counts no units, or the rows hold no texts; a context has no span,
                or one of another length than its text.
        """
        from ctxmetrics.evaluation.runs.quote_spans import build_span_samples

        self._need_rows("reference_spans")
        if metric not in self.metrics:
            raise ParameterError(
                f"reference_spans: metric={metric!r} is not in this run: {', '.join(self.metrics)}."
            )
        return list(build_span_samples(self, metric))

    def _list_counting_metrics(self, method: str, names: Sequence[str] | None) -> list[str]:
        """Return the named metrics whose scores have an attribution."""
        self._need_rows(method)
        counting = [
            name for name in self.metrics if any(row[name].context_lengths is not None for row in self)
        ]
        problem = None if counting else "no metric of this run counts"
        for name in names or ():
            if name not in counting:
                problem = f"{name} counts no"
                break
        if problem is not None:
            raise CtxMetricsError(f"{method}: {problem} units of a reference. Add ContextRecall().")
        return list(counting if names is None else names)
