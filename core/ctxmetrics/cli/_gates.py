"""Gates: bars that a mean must reach, and the share of doubtful verdicts that is allowed."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from ctxmetrics.cli._terminal import message
from ctxmetrics.errors import ParameterError
from ctxmetrics.report.view import shown_doubt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxmetrics.evaluation.results import Results
    from ctxmetrics.metrics.base import Metric

_GATE = re.compile(r"(.+)=([^=]+)\Z", re.DOTALL)


class Gate(NamedTuple):
    """A bar: the metric's name, and the lowest mean that passes, on the metric's own scale."""

    name: str
    least: float


def gate_of(text: str, metrics: Sequence[Metric]) -> Gate:
    """Read ``NAME=VALUE``; the name may leave out the parameters where only one metric has it.

    Raises:
        ParameterError: It is not of that form, names no metric of the run, or the value is not on the metric's scale.
    """
    match = _GATE.match(text)
    try:
        value = float(match.group(2)) if match else math.nan
    except ValueError:
        value = math.nan
    if match is None or math.isnan(value):
        raise ParameterError(f"--fail-under {text!r} must be NAME=VALUE, such as context_recall=0.8.")
    name = match.group(1).strip()
    found = [item for item in metrics if item.name == name] or [
        item for item in metrics if item.base_name == name
    ]
    if len(found) != 1:
        raise ParameterError(
            f"--fail-under {text!r}: {'several metrics' if found else 'no metric'} of this run "
            f"{'are' if found else 'is'} named {name!r}. It has: {', '.join(item.name for item in metrics)}."
        )
    scale = found[0].rules.scale
    if not 0 <= value <= scale:
        hint = f" Write {name}={value / 100:g}." if scale == 1 < value <= 100 else ""  # noqa: PLR2004 - a percentage
        raise ParameterError(f"--fail-under {text!r}: {found[0].name} is a number from 0 to {scale:g}.{hint}")
    if 0 < value <= 1 < scale:
        message(
            f"note: --fail-under {text}: {found[0].name} is a number from 0 to {scale:g}; {value:g} is nearly 0 there"
        )
    return Gate(found[0].name, value)


def failures(gates: Sequence[Gate], results: Results) -> list[str]:
    """Return why gates fail: the mean is too low, missing, or that of a part only."""
    summary = results.summary()
    found = []
    for name, least in gates:
        item = summary[name]
        if item.not_judged:
            found.append(f"{name} has {item.not_judged} of {item.samples} samples not judged")
        elif item.mean is None:
            found.append(f"{name} is without a value, below {least:g}")
        elif item.mean < least:
            found.append(f"{name} is {item.mean:.4f}, below {least:g}")
    return found


def doubtful(share: float | None, results: Results) -> list[str]:
    """Return for which metrics more verdicts are doubtful than are allowed; a ``share`` of None allows all."""
    return [
        f"{item.metric} has {shown_doubt(item, 'en')} verdicts doubtful, more than {share:g}"
        for item in results.summary().values()
        if share is not None and (item.doubtful_share or 0.0) > share
    ]
