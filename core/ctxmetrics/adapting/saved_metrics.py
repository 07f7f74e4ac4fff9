"""Saves a framework's metric in a file, and loads it. The file holds the parameters as JSON, never a judge, a model or a key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any

from ctxmetrics.errors import InputFileError, ParameterError
from ctxmetrics.metrics.base import Metric


def save_metric(
    metric: Metric, path: str | PathLike[str] | None, kind: str, name: str, judge: str | None
) -> None:
    """Write the parameters that differ from the default, with the framework's names of the class and the metric.

    Args:
        metric: The metric.
        path: A file (without an ending, ``.json`` is added) or a folder; None: the current folder.
        kind: The name of the framework's class.
        name: The framework's name of the metric. In a folder, the file gets this name.
        judge: The value of ``judge=`` for the framework's own judge; None: the metric's judge, if it has one.
    """
    config: dict[str, Any] = {}
    for item in fields(metric):
        value = getattr(metric, item.name)
        if item.name != "judge" and value != item.default:
            config[item.name] = value
    for parameter, value in config.items():
        if callable(value):
            raise ParameterError(
                f"{metric.name}: {parameter} is a function, which no file can hold. Name a measure."
            )
    file = Path(path or "")
    if file.is_dir():
        file /= f"{name}.json"
    elif not file.suffix:
        file = file.with_suffix(".json")
    if getattr(metric, "judge", None) is not None:
        judge = judge or "given"
    data = {
        "format_version": "1.0",
        "metric_type": kind,
        "name": name,
        "judge": judge,
        "config": config,
    }
    file.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def load_params(path: str | PathLike[str], kind: str, judging: Mapping[str, Any]) -> dict[str, Any]:
    """Read a saved metric, and return the keywords for the framework's class.

    Args:
        path: The file.
        kind: The name of the framework's class.
        judging: The keywords of a judge that the caller gives.

    Raises:
        InputFileError: The file does not exist, holds no metric, or holds a metric of another class.
        ParameterError: The metric had a judge of its own, and the caller gives none.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        saved_kind = data["metric_type"]
        name = data["name"]
        judge = data["judge"]
        params = dict(data["config"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputFileError(f"{path} is no saved metric ({type(error).__name__}: {error}).") from None
    if saved_kind != kind:
        raise InputFileError(f"{path} holds a {saved_kind}, not a {kind}. Write {saved_kind}.load(..).")
    if judge == "given" and not judging:
        raise ParameterError(
            f"{path}: the metric had a judge of its own, which no file holds. Give judge= again."
        )
    if judge is not None:
        params |= judging or {"judge": judge}
    return {**params, "name": name}
