"""Gates, and what a CI system reads of them: JUnit XML, and Markdown for the summary of its step.

A gate is a bar that a mean or a pass rate must reach, or the share of doubtful verdicts that is allowed.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from ctxmetrics._internal.display import visible
from ctxmetrics.cli._options import Gates
from ctxmetrics.cli._terminal import message
from ctxmetrics.errors import InputFileError, ParameterError
from ctxmetrics.metrics.base import Metric
from ctxmetrics.presentation.layout import align_rows
from ctxmetrics.presentation.wording import TEXT, clean, plural
from ctxmetrics.reading import Payload
from ctxmetrics.results.means_table import count_doubtful
from ctxmetrics.results.results import Results

if TYPE_CHECKING:
    from ctxmetrics.agreement.card import Card

# GitHub's name of the file whose Markdown it shows with a step.
_SUMMARY = "GITHUB_STEP_SUMMARY"
# The most failing samples that are named.
_MOST_SAMPLES = 10


class Gate(NamedTuple):
    """A gate on a mean or a pass rate: the metric, and the lowest value that passes.

    Attributes:
        name: The metric's name.
        least: The lowest value that passes: of a mean on the metric's own scale, of a pass rate from 0 to 1.
        rate: Whether the gate is on the pass rate.
        text: The gate as it was written.
    """

    name: str
    least: float
    rate: bool = False
    text: str = ""


class Outcome(NamedTuple):
    """What became of a gate.

    Attributes:
        gate: The gate as it was written, such as ``--fail-under context_recall=0.8``.
        problem: Why it failed; None where it passed.
        samples: The samples behind the problem, a line each.
    """

    gate: str
    problem: str | None
    samples: tuple[str, ...] = ()


def name_and_value(option: str, text: str) -> tuple[str, float]:
    """Read ``NAME=VALUE``.

    Raises:
        ParameterError: It is not of that form.
    """
    name, _, written = text.rpartition("=")
    try:
        value = float(written)
    except ValueError:
        value = math.nan
    if not name or math.isnan(value):
        raise ParameterError(f"{option} {text!r} must be NAME=VALUE, such as context_recall=0.8.")
    return name.strip(), value


def gates_of(metrics: Sequence[Metric], given: Gates, payload: Payload | None) -> list[Gate]:
    """Return the gates of ``--fail-under`` and ``--min-pass-rate``, and of a request to Aegis.

    A request may say that a mean below the pass mark is a failure.

    Raises:
        ParameterError: One is no ``NAME=VALUE``, names no metric of the run, has a value outside of its scale, or is a
            pass rate of a metric without a pass mark; or --controls is missing.
    """
    if given.min_controls is not None and not given.controls:
        raise ParameterError("--min-controls needs --controls NUMBER, such as --controls 20.")
    options = {"--fail-under": given.fail_under, "--min-pass-rate": given.min_pass_rate}
    blocking = metrics if payload is not None and payload.blocking else ()
    return [
        *(_gate(option, text, metrics) for option, texts in options.items() for text in texts or ()),
        *(
            Gate(metric.name, metric.pass_mark, text=f"is_blocking {metric.name}")
            for metric in blocking
            if metric.pass_mark is not None
        ),
    ]


def _gate(option: str, text: str, metrics: Sequence[Metric]) -> Gate:
    from ctxmetrics.results.comparison.compare import choose_metric

    name, value = name_and_value(option, text)
    of_run = {metric.name: metric for metric in metrics}
    metric, written = of_run[choose_metric(list(of_run), name, option)], f"{option} {text}"
    rate, scale = option == "--min-pass-rate", metric.rules.scale
    if rate and not 0 <= value <= 1:
        raise ParameterError(f"{option} {text!r}: a pass rate is a share from 0 to 1, such as 0.9.")
    if rate and metric.pass_mark is None:
        raise ParameterError(
            f"{option} {text!r}: {metric.name} has no pass mark. "
            f"Give one: --metric '{metric.base_name}(threshold=0.8)'."
        )
    if not 0 <= value <= scale:
        hint = f" Write {name}={value / 100:g}." if scale == 1 < value <= 100 else ""  # noqa: PLR2004 - a percentage
        raise ParameterError(f"{option} {text!r}: {metric.name} is a number from 0 to {scale:g}.{hint}")
    if not rate and 0 < value <= 1 < scale:
        message(
            f"note: {written}: {metric.name} is a number from 0 to {scale:g}; {value:g} is nearly 0 there"
        )
    return Gate(metric.name, value, rate, written)


def outcomes_of(
    gates: Sequence[Gate], given: Gates, results: Results, uncalibrated: str | None
) -> Iterator[Outcome]:
    """Yield the outcome of each gate. It fails where the mean or pass rate is too low, missing, or of a part of the samples.

    Args:
        gates: The bars.
        given: The options that are gates by themselves.
        results: The run.
        uncalibrated: Why there is no valid calibration card, where there is none.
    """
    summary = results.summary()
    for gate in gates:
        item = summary[gate.name]
        problem, bar = None, gate.least
        if item.not_judged:
            problem = (
                f"{gate.name} has {item.not_judged} of {plural(item.samples, 'sample')} not judged"
            )
        elif item.mean is None:
            problem = f"{gate.name} is without a value, below {gate.least:g}"
        elif gate.rate and item.pass_rate is not None and item.pass_rate < gate.least:
            problem = f"the pass rate of {gate.name} is {item.pass_rate:.4f} ({item.passed} of {item.scored}), below {gate.least:g}"
            bar = item.threshold or 0.0
        elif not gate.rate and item.mean < gate.least:
            problem = f"{gate.name} is {item.mean:.4f}, below {gate.least:g}"
        yield Outcome(gate.text, problem, tuple(_below(gate.name, bar, results)) if problem else ())
    yield from _judge_outcomes(given, results)
    if given.require_calibration:
        yield Outcome("--require-calibration", uncalibrated)


def _below(name: str, bar: float, results: Results) -> Iterator[str]:
    """Yield the samples without a value or below a bar, lowest first."""
    rows = sorted(
        (row for row in results if (value := row[name].value) is None or value < bar),
        key=lambda row: (row[name].value is None, row[name].value or 0.0),
    )
    for row in rows[:_MOST_SAMPLES]:
        yield f"{clean(row.called(), TEXT)}: {row[name].formatted_value}"
    if len(rows) > _MOST_SAMPLES:
        yield f"and {len(rows) - _MOST_SAMPLES} more"


def _judge_outcomes(gates: Gates, results: Results) -> Iterator[Outcome]:
    """Yield what becomes of the gates on the judge: the share of doubtful verdicts, and what was right of the controls."""
    if (most := gates.max_doubtful) is not None:
        found: list[str | None] = [
            f"{item.metric} has {count_doubtful(item, 'en')} doubtful, more than {most:g}"
            for item in results.summary().values()
            if (item.doubtful_share or 0.0) > most
        ]
        yield from (Outcome(f"--max-doubtful {most:g}", problem) for problem in found or [None])
    if (least := gates.min_controls) is not None:
        judged = results.controls
        told = f"{judged.describe()}, below {least:g}" if judged else "no control was judged"
        yield Outcome(f"--min-controls {least:g}", None if judged and judged.share >= least else told)


def card_of(given: Gates, judge: str, metrics: Sequence[Metric]) -> Card | str:
    """Read and check a calibration card before the run, which may change its file; return why there is no valid one.

    Args:
        given: The options.
        judge: The name of the run's judge.
        metrics: The run's metrics.

    Raises:
        InputFileError: The card is refused, and it is no gate.
        ParameterError: --max-age is no number of days, or has no card.
    """
    age = re.fullmatch(r"(\d{1,5})d", given.max_age or "")
    if given.max_age is not None and (age is None or given.calibration is None):
        raise ParameterError(
            "--max-age: write a number of days, such as 90d, beside --calibration CARD."
        )
    if given.calibration is None:
        return "no --calibration CARD is given"
    from ctxmetrics.agreement.card import read_card

    try:
        card = read_card(given.calibration)
        card.check(judge, metrics, None if age is None else int(age[1]))
    except InputFileError as error:
        return _refused(given, error)
    return card


def corrected(given: Gates, card: Card | str, results: Results) -> tuple[str, str | None]:
    """Return a run's means, corrected by a calibration card, as a table, and why there is no valid card, which is a gate.

    Args:
        given: The options.
        card: The card, or why there is none.
        results: The run; one that was stopped is not corrected.

    Raises:
        InputFileError: The card is refused, and it is no gate.
    """
    if isinstance(card, str):
        return "", card
    from ctxmetrics.agreement.figures import format_figure, format_with_interval

    try:
        found = [] if results.stopped else card.corrections(results)
    except InputFileError as error:
        return "", _refused(given, error)
    if not found:
        return "", None
    rows = [
        ("mean of", "by the judge", "corrected", "labelled samples"),
        *(
            (
                item.metric,
                f"{format_figure(item.judge_mean)} of {item.samples}",
                format_with_interval(item.mean, item.interval),
                f"{item.labelled}{'' if there else ', not all in this run'}",
            )
            for item, there in found
        ),
    ]
    origin = f"corrected by {visible(str(given.calibration))} of {card.date:%Y-%m-%d}"
    return "\n".join(["", *align_rows(rows), origin]), None


def _refused(given: Gates, error: InputFileError) -> str:
    problem = f"calibration card {given.calibration} is refused: {error}"
    if given.require_calibration:
        return problem
    raise InputFileError(problem) from None


def tell_ci(outcomes: Sequence[Outcome], suite: str, summary: str, junit: Path | None) -> bool:
    """Print what failed, and tell the CI system.

    Args:
        outcomes: Of all gates.
        suite: The name of the test suite in the JUnit file.
        summary: What the run found, as Markdown.
        junit: The JUnit file, or None.

    Returns:
        Whether a gate failed.

    Raises:
        OutputFileError: The JUnit file cannot be written.
    """
    failed = [item for item in outcomes if item.problem is not None]
    for item in failed:
        message("\n    ".join([f"gate: {item.problem}", *item.samples]))
    if junit is not None:
        from ctxmetrics.results.writer import write_whole

        write_whole(junit, [_junit(outcomes, suite)])
    if place := os.environ.get(_SUMMARY):
        from ctxmetrics.results.comparison.view import escape_markdown

        lines = [
            f"- {'failed' if item.problem else 'passed'}: {escape_markdown(visible(item.problem or item.gate))}"
            for item in outcomes
        ]
        try:
            with Path(place).open("a", encoding="utf-8") as file:
                file.write("\n".join(["### ctxmetrics", "", summary, *lines, "", ""]))
        except OSError as error:  # the run's own result stands
            message(f"note: {_SUMMARY} {place} cannot be written: {error.strerror or error}")
    return bool(failed)


def fenced(text: str) -> str:
    """Return a text as a block of Markdown that shows it as it is."""
    return "\n".join(["```text", text.replace("```", ""), "```"])


def _junit(outcomes: Sequence[Outcome], suite: str) -> str:
    failed = sum(item.problem is not None for item in outcomes)
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<testsuites><testsuite name={quoteattr(suite)} tests="{len(outcomes)}" failures="{failed}" errors="0" skipped="0">',
    ]
    for item in outcomes:
        lines.append(f"<testcase classname={quoteattr(suite)} name={quoteattr(visible(item.gate))}>")
        if item.problem is not None:
            text = escape("\n".join(visible(line) for line in (item.problem, *item.samples)))
            lines.append(f"<failure message={quoteattr(visible(item.problem))}>{text}</failure>")
        lines.append("</testcase>")
    return "\n".join([*lines, "</testsuite></testsuites>", ""])
