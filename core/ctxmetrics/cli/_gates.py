"""Gates: bars that a mean or a pass rate must reach, and the share of doubtful verdicts that is allowed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ctxmetrics._wording import TEXT, clean
from ctxmetrics.cli._ci import Outcome
from ctxmetrics.cli._terminal import message
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.results import Results
from ctxmetrics.metrics.base import Metric
from ctxmetrics.report.view import shown_doubt

# So many failing samples are named.
_MOST_SAMPLES = 10
_GATE = re.compile(r"(.+)=([^=]+)\Z", re.DOTALL)


class Gate(NamedTuple):
    """A bar: the metric's name, what must reach it, and where it stands.

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


def name_and_value(option: str, text: str) -> tuple[str, float]:
    """Read ``NAME=VALUE``.

    Raises:
        ParameterError: It is not of that form.
    """
    match = _GATE.match(text)
    try:
        value = float(match.group(2)) if match else math.nan
    except ValueError:
        value = math.nan
    if match is None or math.isnan(value):
        raise ParameterError(f"{option} {text!r} must be NAME=VALUE, such as context_recall=0.8.")
    return match.group(1).strip(), value


def gates_of(
    metrics: Sequence[Metric], fail_under: Sequence[str] | None, min_pass_rate: Sequence[str] | None
) -> list[Gate]:
    """Read the gates of ``--fail-under`` and ``--min-pass-rate``. Raises as `gate_of` and `rate_gate_of` do."""
    means = [gate_of(text, metrics) for text in fail_under or ()]
    return [*means, *(rate_gate_of(text, metrics) for text in min_pass_rate or ())]


def gate_of(text: str, metrics: Sequence[Metric]) -> Gate:
    """Read ``NAME=VALUE`` of ``--fail-under``.

    Raises:
        ParameterError: It is not of that form, names no metric of the run, or the value is not on the metric's scale.
    """
    name, value = name_and_value("--fail-under", text)
    metric = _metric("--fail-under", text, name, metrics)
    scale = metric.rules.scale
    if not 0 <= value <= scale:
        hint = f" Write {name}={value / 100:g}." if scale == 1 < value <= 100 else ""  # noqa: PLR2004 - a percentage
        raise ParameterError(
            f"--fail-under {text!r}: {metric.name} is a number from 0 to {scale:g}.{hint}"
        )
    if 0 < value <= 1 < scale:
        message(
            f"note: --fail-under {text}: {metric.name} is a number from 0 to {scale:g}; {value:g} is nearly 0 there"
        )
    return Gate(metric.name, value, text=f"--fail-under {text}")


def rate_gate_of(text: str, metrics: Sequence[Metric]) -> Gate:
    """Read ``NAME=SHARE`` of ``--min-pass-rate``.

    Raises:
        ParameterError: As `gate_of` raises; or the value is no share, or the metric has no pass mark.
    """
    name, value = name_and_value("--min-pass-rate", text)
    metric = _metric("--min-pass-rate", text, name, metrics)
    if not 0 <= value <= 1:
        raise ParameterError(
            f"--min-pass-rate {text!r}: a pass rate is a share from 0 to 1, such as 0.9."
        )
    if metric.pass_mark is None:
        raise ParameterError(
            f"--min-pass-rate {text!r}: {metric.name} has no pass mark. "
            f"Give one: --metric '{metric.base_name}(threshold=0.8)'."
        )
    return Gate(metric.name, value, rate=True, text=f"--min-pass-rate {text}")


def _metric(option: str, text: str, name: str, metrics: Sequence[Metric]) -> Metric:
    """Return the metric of a name, which may leave out the parameters where only one metric has it."""
    found = [item for item in metrics if item.name == name] or [
        item for item in metrics if item.base_name == name
    ]
    if len(found) != 1:
        raise ParameterError(
            f"{option} {text!r}: {'several metrics' if found else 'no metric'} of this run "
            f"{'are' if found else 'is'} named {name!r}. It has: {', '.join(item.name for item in metrics)}."
        )
    return found[0]


def outcomes_of(gates: Sequence[Gate], results: Results) -> list[Outcome]:
    """Return what becomes of each gate: the mean or the pass rate is too low, missing, or that of a part only."""
    summary = results.summary()
    found = []
    for gate in gates:
        item = summary[gate.name]
        problem, bar = None, gate.least
        if item.not_judged:
            problem = f"{gate.name} has {item.not_judged} of {item.samples} samples not judged"
        elif item.mean is None:
            problem = f"{gate.name} is without a value, below {gate.least:g}"
        elif gate.rate and item.pass_rate is not None and item.pass_rate < gate.least:
            problem = f"the pass rate of {gate.name} is {item.pass_rate:.4f} ({item.passed} of {item.scored}), below {gate.least:g}"
            bar = item.threshold or 0.0
        elif not gate.rate and item.mean < gate.least:
            problem = f"{gate.name} is {item.mean:.4f}, below {gate.least:g}"
        found.append(
            Outcome(gate.text, problem, tuple(_below(gate.name, bar, results)) if problem else ())
        )
    return found


def _below(name: str, bar: float, results: Results) -> Iterator[str]:
    """Yield the samples without a value or below a bar, lowest first."""
    rows = [row for row in results if (value := row[name].value) is None or value < bar]
    rows.sort(key=lambda row: (row[name].value is None, row[name].value or 0.0))
    for row in rows[:_MOST_SAMPLES]:
        who = f"sample {row.index + 1}" if row.sample_id is None else clean(row.sample_id, TEXT)
        yield f"{who}: {row[name].formatted_value}"
    if len(rows) > _MOST_SAMPLES:
        yield f"and {len(rows) - _MOST_SAMPLES} more"


def doubtful(share: float | None, results: Results) -> list[Outcome]:
    """Return whether more verdicts of a metric are doubtful than are allowed; a ``share`` of None allows all."""
    if share is None:
        return []
    found = [
        f"{item.metric} has {shown_doubt(item, 'en')} verdicts doubtful, more than {share:g}"
        for item in results.summary().values()
        if (item.doubtful_share or 0.0) > share
    ]
    gate = f"--max-doubtful {share:g}"
    return [Outcome(gate, problem) for problem in found] or [Outcome(gate, None)]
