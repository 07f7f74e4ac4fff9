"""Gates, and their reports for a CI system: JUnit XML, and Markdown for the summary of a step.

A gate is a bar that a mean or a pass rate must reach, or the share of doubtful verdicts that is allowed.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ctxmetrics._internal.display import replace_invisible
from ctxmetrics.errors import InputFileError, ParameterError
from ctxmetrics.evaluation.cli._options import Gates, split_pair
from ctxmetrics.evaluation.cli._terminal import print_message
from ctxmetrics.evaluation.files.aegis import Payload
from ctxmetrics.evaluation.pages.tables import Column, Table, escape_markdown
from ctxmetrics.evaluation.report.means_table import count_doubtful
from ctxmetrics.evaluation.rows.metric_summary import MetricSummary
from ctxmetrics.evaluation.rows.outcome import Outcome
from ctxmetrics.evaluation.runs.results import Results
from ctxmetrics.metrics.base import Metric
from ctxmetrics.scores.wording import TEXT, clean, plural

if TYPE_CHECKING:
    from ctxmetrics.evaluation.agreement.card import Card
    from ctxmetrics.evaluation.agreement.correction import Correction
    from ctxmetrics.evaluation.report.summary import Controls

# The variable that names the file whose Markdown GitHub shows with a step.
_SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"
# The most failing samples that are named.
_MAX_NAMED_SAMPLES = 10


class Gate(NamedTuple):
    """A gate on a mean or a pass rate: the metric, and the lowest value that passes.

    Attributes:
        name: The metric's name.
        minimum: The lowest value that passes. A mean is on the metric's own scale; a pass rate is a share from 0 to 1.
        is_pass_rate: Whether the gate is on the pass rate. Else it is on the mean.
        text: The gate as the user wrote it.
    """

    name: str
    minimum: float
    is_pass_rate: bool = False
    text: str = ""


def read_name_and_value(option: str, text: str) -> tuple[str, float]:
    """Read ``NAME=VALUE``.

    Raises:
        ParameterError: The text is not ``NAME=VALUE``.
    """
    example = "0.02" if option in ("--max-drop", "--not-worse") else "0.8"
    form = f"NAME=VALUE, such as context_recall={example}"
    name, value = split_pair(option, text, form, read=_read_number, split_at_last=True)
    return name.strip(), value


def _read_number(text: str) -> float:
    """Read the number of a gate. Raise ValueError for NaN."""
    value = float(text)
    if math.isnan(value):
        raise ValueError
    return value


def read_gates(metrics: Sequence[Metric], options: Gates, payload: Payload | None) -> list[Gate]:
    """Read the gates of ``--fail-under`` and ``--min-pass-rate``, and of a request to Aegis.

    A request may say that a mean below the pass mark is a failure.

    Raises:
        ParameterError: A gate is no ``NAME=VALUE``, names no metric of the run, has a value outside of its scale, or is a
            pass rate of a metric without a pass mark; or --controls is missing.
    """
    if options.min_controls is not None and not options.controls:
        raise ParameterError("--min-controls needs --controls NUMBER, such as --controls 20.")
    gates = [_read_gate("--fail-under", text, metrics) for text in options.fail_under or ()]
    gates += [_read_gate("--min-pass-rate", text, metrics) for text in options.min_pass_rate or ()]
    if payload is not None and payload.blocking:
        for metric in metrics:
            if metric.pass_mark is not None:
                gates.append(Gate(metric.name, metric.pass_mark, text=f"is_blocking {metric.name}"))
    return gates


def _read_gate(option: str, text: str, metrics: Sequence[Metric]) -> Gate:
    """Read one gate from the text of its option."""
    from ctxmetrics.evaluation.comparison.compare import choose_metric

    name, value = read_name_and_value(option, text)
    metrics_by_name = {metric.name: metric for metric in metrics}
    metric = metrics_by_name[choose_metric(list(metrics_by_name), name, option)]
    if option == "--min-pass-rate":
        _check_pass_rate(metric, value, f"{option} {text!r}")
        return Gate(metric.name, value, is_pass_rate=True, text=f"{option} {text}")
    scale = metric.convention_data.scale
    if not 0 <= value <= scale:
        is_percentage = scale == 1 and 1 < value <= 100  # noqa: PLR2004 - a percentage
        hint = f" Write {name}={value / 100:g}." if is_percentage else ""
        raise ParameterError(f"{option} {text!r}: {metric.name} is a number from 0 to {scale:g}.{hint}")
    is_share_of_larger_scale = scale > 1 and 0 < value <= 1
    if is_share_of_larger_scale:
        print_message(
            f"note: {option} {text}: {metric.name} is a number from 0 to {scale:g}; {value:g} is nearly 0 there"
        )
    return Gate(metric.name, value, is_pass_rate=False, text=f"{option} {text}")


def _check_pass_rate(metric: Metric, value: float, gate: str) -> None:
    """Check a gate on a pass rate.

    Args:
        metric: The metric.
        value: The lowest pass rate.
        gate: The option as it was written, for messages.

    Raises:
        ParameterError: The value is no share, or the metric has no pass mark.
    """
    if not 0 <= value <= 1:
        raise ParameterError(f"{gate}: a pass rate is a share from 0 to 1, such as 0.9.")
    if metric.pass_mark is None:
        raise ParameterError(
            f"{gate}: {metric.name} has no pass mark. "
            f"Give one: --metric '{metric.base_name}(threshold=0.8)'."
        )


def check_gates(
    gates: Sequence[Gate], options: Gates, results: Results, uncalibrated: str | None
) -> Iterator[Outcome]:
    """Yield the outcome of each gate.

    A gate fails if the mean or pass rate is too low or missing, or if some samples were not judged.

    Args:
        gates: The gates on means and pass rates.
        options: The other options that are gates.
        results: The run.
        uncalibrated: Why there is no valid calibration card; None if there is one.
    """
    summary = results.summary()
    for gate in gates:
        metric_summary = summary[gate.name]
        value = metric_summary.pass_rate if gate.is_pass_rate else metric_summary.mean
        outcome = Outcome(gate.text, metric=gate.name, bar=gate.minimum, value=value)
        problem = _find_problem(gate, metric_summary)
        if problem is None:
            yield outcome
            continue
        minimum = gate.minimum
        has_values = not metric_summary.not_judged and metric_summary.mean is not None
        if gate.is_pass_rate and has_values:  # the samples that do not reach the pass mark
            minimum = metric_summary.threshold or 0.0
        samples = tuple(_list_samples_below(gate.name, minimum, results))
        yield replace(outcome, problem=problem, samples=samples)
    if options.max_doubtful is not None:
        yield from _check_doubtful(options.max_doubtful, results)
    if options.require_calibration:
        yield Outcome("--require-calibration", uncalibrated)


def _find_problem(gate: Gate, summary: MetricSummary) -> str | None:
    """Say why a mean or a pass rate does not pass a gate. Return None if it passes."""
    if summary.not_judged:
        samples = plural(summary.samples, "sample")
        return f"{gate.name} has {summary.not_judged} of {samples} not judged"
    if summary.mean is None:
        return f"{gate.name} is without a value, below {gate.minimum:g}"
    if not gate.is_pass_rate:
        if summary.mean < gate.minimum:
            return f"{gate.name} is {summary.mean:.4f}, below {gate.minimum:g}"
    elif summary.pass_rate is not None and summary.pass_rate < gate.minimum:
        passed = f"{summary.passed} of {summary.scored}"
        return f"the pass rate of {gate.name} is {summary.pass_rate:.4f} ({passed}), below {gate.minimum:g}"
    return None


def _list_samples_below(name: str, minimum: float, results: Results) -> Iterator[str]:
    """Yield the samples with a value below the minimum, lowest first, then the samples without a value."""
    rows_without_value = []
    values_and_rows = []
    for row in results:
        value = row[name].value
        if value is None:
            rows_without_value.append(row)
        elif value < minimum:
            values_and_rows.append((value, row))
    values_and_rows.sort(key=itemgetter(0))
    rows = [row for _, row in values_and_rows] + rows_without_value
    for row in rows[:_MAX_NAMED_SAMPLES]:
        yield f"{clean(row.called(), TEXT)}: {row[name].formatted_value}"
    if len(rows) > _MAX_NAMED_SAMPLES:
        yield f"and {len(rows) - _MAX_NAMED_SAMPLES} more"


def _check_doubtful(largest_share: float, results: Results) -> Iterator[Outcome]:
    """Yield the outcome of the gate on the share of doubtful verdicts: one outcome for each metric that fails."""
    gate = f"--max-doubtful {largest_share:g}"
    has_failed = False
    for summary in results.summary().values():
        share = summary.doubtful_share
        if share is None or share <= largest_share:
            continue
        has_failed = True
        problem = f"{summary.metric} has {count_doubtful(summary, 'en')} doubtful, more than {largest_share:g}"
        yield Outcome(gate, problem, metric=summary.metric, bar=largest_share, value=share)
    if not has_failed:
        yield Outcome(gate, bar=largest_share)


def check_controls(options: Gates, controls: Controls | None) -> Iterator[Outcome]:
    """Yield the outcome of the gate on the judge's verdicts about the controls."""
    smallest_share = options.min_controls
    if smallest_share is None:
        return
    problem: str | None = "no control was judged"
    value = None
    if controls:
        value = controls.lowest
        problem = None
        if value < smallest_share:
            problem = f"{controls.describe()}, below {smallest_share:g}"
    gate = f"--min-controls {smallest_share:g}"
    yield Outcome(gate, problem, bar=smallest_share, value=value)


def load_card(options: Gates, judge: str, metrics: Sequence[Metric]) -> Card | str:
    """Read and check a calibration card before the run, which may change its file; return why there is no valid one.

    Args:
        options: The options.
        judge: The name of the run's judge.
        metrics: The run's metrics.

    Raises:
        InputFileError: The card is refused, and it is no gate.
        ParameterError: --max-age is no number of days, or has no card.
    """
    max_days: int | None = None
    if options.max_age is not None:
        match = re.fullmatch(r"(\d{1,5})d", options.max_age)
        if match is None or options.calibration is None:
            raise ParameterError(
                "--max-age: write a number of days, such as 90d, beside --calibration CARD."
            )
        max_days = int(match[1])
    if options.calibration is None:
        return "no --calibration CARD is given"
    from ctxmetrics.evaluation.agreement.card import read_card

    try:
        card = read_card(options.calibration)
        card.check(judge, metrics, max_days)
    except InputFileError as error:
        return _refuse_card(options, error)
    return card


def correct_means(
    options: Gates, card: Card | str, results: Results
) -> tuple[list[tuple[Correction, bool]], str | None]:
    """Correct a run's means by a calibration card.

    Args:
        options: The options.
        card: The card, or why there is none.
        results: The run; one that was stopped is not corrected.

    Returns:
        The corrected means, each with whether all labelled samples are in the run; and why there is no valid card, or None.

    Raises:
        InputFileError: The card is refused, and it is no gate.
    """
    if isinstance(card, str):
        return [], card
    if results.stopped:
        return [], None
    try:
        return card.corrections(results), None
    except InputFileError as error:
        return [], _refuse_card(options, error)


def format_corrections(
    options: Gates, card: Card | str, corrections: Sequence[tuple[Correction, bool]]
) -> str:
    """Return corrected means as a table, with the card they come from; empty without any."""
    if isinstance(card, str) or not corrections:
        return ""
    from ctxmetrics.evaluation.agreement.figures import format_figure, format_with_interval

    columns: list[Column[_CorrectionRow]] = [
        Column("mean of", lambda row: row.correction.metric),
        Column(
            "by the judge",
            lambda row: f"{format_figure(row.correction.judge_mean)} of {row.correction.samples}",
        ),
        Column(
            "corrected", lambda row: format_with_interval(row.correction.mean, row.correction.interval)
        ),
        Column("labelled samples", _CorrectionRow.count_labelled),
    ]
    table = Table.build(columns, [_CorrectionRow(*pair) for pair in corrections])
    origin = f"corrected by {replace_invisible(str(options.calibration))} of {card.date:%Y-%m-%d}"
    return f"\n{table}\n{origin}"


class _CorrectionRow(NamedTuple):
    """A corrected mean in a table, and whether all labelled samples are in the run."""

    correction: Correction
    is_all_in_run: bool

    def count_labelled(self) -> str:
        """Count the labelled samples, and say if some are not in the run."""
        count = str(self.correction.labelled)
        return count if self.is_all_in_run else f"{count}, not all in this run"


def _refuse_card(options: Gates, error: InputFileError) -> str:
    """Return why a calibration card is refused, if the card is required. Else raise it."""
    problem = f"calibration card {options.calibration} is refused: {error}"
    if options.require_calibration:
        return problem
    raise InputFileError(problem) from None


def write_ci_reports(outcomes: Sequence[Outcome], suite: str, summary: str, junit: Path | None) -> bool:
    """Print the failed gates, and report all gates to the CI system. Return whether a gate failed.

    Args:
        outcomes: The outcomes of all gates.
        suite: The name of the test suite in the JUnit file.
        summary: The results of the run, as Markdown.
        junit: The JUnit file, or None.

    Returns:
        Whether a gate failed.

    Raises:
        OutputFileError: The JUnit file cannot be written.
    """
    failed = [outcome for outcome in outcomes if outcome.problem is not None]
    for outcome in failed:
        print_message("\n    ".join([f"gate: {outcome.problem}", *outcome.samples]))
    if junit is not None:
        from ctxmetrics.evaluation.rows.output_files import write_whole

        write_whole(junit, [_format_junit(outcomes, suite)])
    path = os.environ.get(_SUMMARY_VARIABLE)
    if path:
        _append_summary(path, outcomes, summary)
    return bool(failed)


def _append_summary(path: str, outcomes: Sequence[Outcome], summary: str) -> None:
    """Append the outcomes of the gates, then the summary of the run, to the job summary of GitHub Actions, which is a file."""
    lines = []
    for outcome in outcomes:
        status = "failed" if outcome.problem else "passed"
        text = replace_invisible(outcome.problem or outcome.gate)
        lines.append(f"- {status}: {escape_markdown(text)}")
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write("\n".join(["### ctxmetrics", "", *lines, "", summary, "", ""]))
    except OSError as error:  # the run's own result stands
        print_message(f"note: {_SUMMARY_VARIABLE} {path} cannot be written: {error.strerror or error}")


def fence_text(text: str) -> str:
    """Return a text as a block of Markdown that shows it as it is."""
    return "\n".join(["```text", text.replace("```", ""), "```"])


def _format_junit(outcomes: Sequence[Outcome], suite: str) -> str:
    """Write the outcomes of gates as JUnit XML."""
    from xml.sax.saxutils import escape, quoteattr  # loads clients of the network

    failed = [outcome for outcome in outcomes if outcome.problem is not None]
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<testsuites><testsuite name={quoteattr(suite)} tests="{len(outcomes)}" failures="{len(failed)}" errors="0" skipped="0">',
    ]
    for outcome in outcomes:
        name = replace_invisible(outcome.gate)
        lines.append(f"<testcase classname={quoteattr(suite)} name={quoteattr(name)}>")
        if outcome.problem is not None:
            problem = replace_invisible(outcome.problem)
            samples = [replace_invisible(sample) for sample in outcome.samples]
            text = escape("\n".join([problem, *samples]))
            lines.append(f"<failure message={quoteattr(problem)}>{text}</failure>")
        lines.append("</testcase>")
    return "\n".join([*lines, "</testsuite></testsuites>", ""])
