"""A request to Aegis as a file: its samples, and what it asks of a run.

The shape is that of the page on ``ctx_recall``: settings, and ``evaluations``, each with ``metrics``, ``threshold`` and
``data``.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ctxmetrics.errors import InputFileError

METRICS: Mapping[str, str] = MappingProxyType(
    {"ctx_recall": "context_recall", "ctx_rank_prec": "context_precision"}
)
"""Aegis' names of metrics, and ours."""
# The scale of its thresholds.
SCALE = 100.0
_READ = ("evaluations", "metrics", "threshold", "data", "is_blocking")
_UNUSED = ("model_slug", "data_collection_id")


@dataclass(frozen=True, slots=True)
class Payload:
    """What a request holds.

    Attributes:
        rows: The samples' fields in Aegis' words, each with its place in the file.
        metrics: Our names of the metrics it asks for.
        threshold: The pass mark on the scale 0 to 100, or None.
        blocking: Whether a mean below the pass mark is a failure.
        unused: Settings that mean nothing here, with their values.
    """

    rows: tuple[tuple[str, dict[str, Any]], ...]
    metrics: tuple[str, ...]
    threshold: float | None
    blocking: bool
    unused: Mapping[str, Any]


def read_payload(data: Mapping[str, Any], file: Path) -> Payload:
    """Read a request. What an evaluation says itself comes before what is said for all.

    Raises:
        InputFileError: Something is malformed, unknown, or differs between the evaluations; the message says where.
    """
    evaluations = data["evaluations"]
    if not isinstance(evaluations, list) or not evaluations:
        raise InputFileError(
            f'{file}: "evaluations" must be a list of objects with "metrics" and "data".'
        )
    outer = {key: value for key, value in data.items() if key != "evaluations"}
    unused = _unused(data, f"{file}")
    found = []
    rows: list[tuple[str, dict[str, Any]]] = []
    for number, item in enumerate(evaluations, 1):
        where = f"evaluation {number}"
        if not isinstance(item, dict):
            raise InputFileError(f"{file}, {where}: an evaluation must be a JSON object.")
        unused.update(_unused(item, f"{file}, {where}"))
        found.append(_settings({**outer, **item}, f"{file}, {where}"))
        samples = item.get("data")
        if not isinstance(samples, list) or not samples:
            raise InputFileError(f'{file}, {where}: "data" must be a list of samples.')
        rows += [(f"{where}, sample {place}", sample) for place, sample in enumerate(samples, 1)]
    if len(set(found)) > 1:
        raise InputFileError(
            f"{file}: the evaluations differ in metrics, threshold or is_blocking. Write each into a file of its own."
        )
    metrics, threshold, blocking = found[0]
    return Payload(tuple(rows), metrics, threshold, blocking, unused)


def _settings(item: Mapping[str, Any], where: str) -> tuple[tuple[str, ...], float | None, bool]:
    names = item.get("metrics")
    if not isinstance(names, list) or not names:
        raise InputFileError(f'{where}: "metrics" must be a list of names, such as ["ctx_recall"].')
    for name in names:
        if not isinstance(name, str) or name not in METRICS:
            raise InputFileError(
                f"{where}: the metric {str(name)[:80]!r} is not here. Choose from: {', '.join(METRICS)}."
            )
    threshold = item.get("threshold")
    number = isinstance(threshold, (int, float)) and not isinstance(threshold, bool)
    if threshold is not None and not (number and 0 <= threshold <= SCALE):
        raise InputFileError(f'{where}: "threshold" must be a number from 0 to {SCALE:g}.')
    blocking = item.get("is_blocking", False)
    if not isinstance(blocking, bool):
        raise InputFileError(f'{where}: "is_blocking" must be true or false.')
    return tuple(dict.fromkeys(METRICS[name] for name in names)), threshold, blocking


def _unused(item: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the settings that mean nothing here.

    Raises:
        InputFileError: A key looks like one that is read, misspelt.
    """
    unused = {key: value for key, value in item.items() if key not in _READ}
    for key in unused:
        near = difflib.get_close_matches(
            key, [name for name in _READ if name not in item], n=1, cutoff=0.75
        )
        if near and key not in _UNUSED:
            raise InputFileError(f"{where}: unknown field {key[:80]!r}. Did you mean {near[0]!r}?")
    return unused
