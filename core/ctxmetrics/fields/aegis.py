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

    rows: tuple[tuple[str, Any], ...]
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
    _check(
        isinstance(evaluations, list) and evaluations,
        f'{file}: "evaluations" must be a list of objects with "metrics" and "data".',
    )
    outer = {key: value for key, value in data.items() if key != "evaluations"}
    unused = _unused(data, f"{file}")
    settings: list[tuple[tuple[str, ...], float | None, bool]] = []
    rows: list[tuple[str, Any]] = []
    for number, item in enumerate(evaluations, 1):
        place = f"evaluation {number}"
        where = f"{file}, {place}"
        _check(isinstance(item, dict), f"{where}: an evaluation must be a JSON object.")
        unused |= _unused(item, where)
        settings.append(_settings({**outer, **item}, where))
        samples = item.get("data")
        _check(isinstance(samples, list) and samples, f'{where}: "data" must be a list of samples.')
        rows += [(f"{place}, sample {index}", sample) for index, sample in enumerate(samples, 1)]
    _check(
        len(set(settings)) == 1,
        f"{file}: the evaluations differ in metrics, threshold or is_blocking. Write each into a file of its own.",
    )
    return Payload(tuple(rows), *settings[0], unused)


def _settings(item: Mapping[str, Any], where: str) -> tuple[tuple[str, ...], float | None, bool]:
    names: Any = item.get("metrics")
    threshold = item.get("threshold")
    blocking = item.get("is_blocking", False)
    _check(
        isinstance(names, list) and names,
        f'{where}: "metrics" must be a list of names, such as ["ctx_recall"].',
    )
    for name in names:
        _check(
            isinstance(name, str) and name in METRICS,
            f"{where}: the metric {str(name)[:80]!r} is not here. Choose from: {', '.join(METRICS)}.",
        )
    number = isinstance(threshold, (int, float)) and not isinstance(threshold, bool)
    _check(
        threshold is None or (number and 0 <= threshold <= SCALE),
        f'{where}: "threshold" must be a number from 0 to {SCALE:g}.',
    )
    _check(isinstance(blocking, bool), f'{where}: "is_blocking" must be true or false.')
    return tuple(dict.fromkeys(METRICS[name] for name in names)), threshold, blocking


def _unused(item: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the settings that mean nothing here.

    Raises:
        InputFileError: A key looks like one that is read, misspelt.
    """
    unused = {key: value for key, value in item.items() if key not in _READ}
    absent = [name for name in _READ if name not in item]
    for key in unused.keys() - set(_UNUSED):
        near = difflib.get_close_matches(key, absent, n=1, cutoff=0.75)
        _check(not near, f"{where}: unknown field {key[:80]!r}. Did you mean {''.join(near)!r}?")
    return unused


def _check(right: object, message: str) -> None:
    """Raise `InputFileError` with a message unless something is right."""
    if not right:
        raise InputFileError(message)
