"""Requests to Aegis: they hold samples, and settings of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ctxmetrics._internal.near_names import suggest
from ctxmetrics.errors import InputFileError

# Aegis' names of metrics, and ours.
_METRIC_NAMES: Mapping[str, str] = {
    "ctx_recall": "context_recall",
    "ctx_rank_prec": "context_precision",
}
# The scale of its thresholds.
THRESHOLD_SCALE = 100.0
# The settings of a request that are read.
_READ_SETTINGS = ("evaluations", "metrics", "threshold", "data", "is_blocking")


@dataclass(frozen=True, slots=True)
class Payload:
    """The content of a request to Aegis, in the form of its page on ``ctx_recall``.

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
    """Read a request. The settings of an evaluation have priority over the settings for all evaluations.

    Raises:
        InputFileError: A setting is malformed or unknown, or differs between the evaluations. The message names its place.
    """
    evaluations = _read_list(data, "evaluations", 'objects with "metrics" and "data"', f"{file}")
    unused = _find_unused(data, f"{file}")
    all_settings: set[_Settings] = set()
    rows: list[tuple[str, Any]] = []
    for number, item in enumerate(evaluations, 1):
        where = f"{file}, evaluation {number}"
        _require(isinstance(item, dict), f"{where}: an evaluation must be a JSON object.")
        unused |= _find_unused(item, where)
        all_settings.add(_read_settings({**data, **item}, where))
        for index, sample in enumerate(_read_list(item, "data", "samples", where), 1):
            rows.append((f"evaluation {number}, sample {index}", sample))
    _require(
        len(all_settings) == 1,
        f"{file}: the evaluations differ in metrics, threshold or is_blocking. Write each into a file of its own.",
    )
    settings = all_settings.pop()
    return Payload(tuple(rows), settings.metrics, settings.threshold, settings.blocking, unused)


class _Settings(NamedTuple):
    """The settings of an evaluation; see `Payload`."""

    metrics: tuple[str, ...]
    threshold: float | None
    blocking: bool


def _read_settings(item: Mapping[str, Any], where: str) -> _Settings:
    """Read the metrics, the pass mark and ``is_blocking`` of an evaluation."""
    names = _read_list(item, "metrics", 'names, such as ["ctx_recall"]', where)
    threshold = item.get("threshold")
    blocking = item.get("is_blocking", False)
    for name in map(str, names):
        _require(
            name in _METRIC_NAMES,
            f"{where}: the metric {name[:80]!r} is not here. Choose from: {', '.join(_METRIC_NAMES)}.",
        )
    _require(
        threshold is None or (type(threshold) in (int, float) and 0 <= threshold <= THRESHOLD_SCALE),
        f'{where}: "threshold" must be a number from 0 to {THRESHOLD_SCALE:g}.',
    )
    _require(isinstance(blocking, bool), f'{where}: "is_blocking" must be true or false.')
    metrics = dict.fromkeys(_METRIC_NAMES[name] for name in names)  # each once, in order
    return _Settings(tuple(metrics), threshold, blocking)


def _find_unused(item: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Find the settings that mean nothing here.

    Raises:
        InputFileError: A key looks like a misspelt known key.
    """
    unused_settings = {key: value for key, value in item.items() if key not in _READ_SETTINGS}
    absent_names = [name for name in _READ_SETTINGS if name not in item]
    for key in unused_settings:
        hint = suggest(key, absent_names)
        _require(not hint, f"{where}: unknown field {key[:80]!r}.{hint}")
    return unused_settings


def _read_list(item: Mapping[str, Any], key: str, content: str, where: str) -> list[Any]:
    """Read the list under a key. It must not be empty."""
    items: Any = item.get(key)
    _require(isinstance(items, list) and items, f'{where}: "{key}" must be a list of {content}.')
    return list(items)


def _require(condition: object, message: str) -> None:
    """Raise `InputFileError` with a message unless a condition holds."""
    if not condition:
        raise InputFileError(message)
