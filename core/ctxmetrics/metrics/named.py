"""From a metric's name, as `Metric.name` writes it, to the metric."""

from __future__ import annotations

import re
from typing import Any

from ctxmetrics.errors import CtxMetricsError, ParameterError
from ctxmetrics.metrics import ALL_METRICS
from ctxmetrics.metrics.base import Metric

_NAME = re.compile(r"(\w+)(?:\((.*)\))?\Z", re.DOTALL)


def metric_named(name: str, convention: str = "default") -> Metric | None:
    """Return the metric of a name; None where the library has none of it, or a parameter is a function."""
    base, given = parsed(name)
    try:
        return ALL_METRICS[base](**{"convention": convention, **given}) if base in ALL_METRICS else None
    except CtxMetricsError:
        return None


def parsed(text: str) -> tuple[str, dict[str, Any]]:
    """Split ``name(parameter=value, ..)`` into the name and the parameters.

    Raises:
        ParameterError: A parameter is not written so.
    """
    match = _NAME.match(text.strip())
    if match is None:
        return text, {}
    given: dict[str, Any] = {}
    for pair in filter(None, (part.strip() for part in (match.group(2) or "").split(","))):
        key, equals, value = pair.partition("=")
        if not equals:
            raise ParameterError(f"metric {text!r}: {pair!r} is no parameter=value.")
        given[key.strip()] = _value(value.strip())
    return match.group(1), given


def _value(text: str) -> Any:
    words: dict[str, Any] = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    try:
        return float(text)
    except ValueError:
        return text.strip("'\"")
