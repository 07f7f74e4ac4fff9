"""A metric's parameters as a JSON file: what it was given, never its judge, a model or a key."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxmetrics.errors import InputFileError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from ctxmetrics.metrics.base import Metric

FORMAT = "1.0"


def write_metric(
    metric: Metric,
    path: str | PathLike[str] | None = None,
    *,
    kind: str,
    name: str | None = None,
    judge: str | None = None,
) -> Path:
    """Write the parameters that differ from the default, and return the file.

    Args:
        metric: The metric.
        path: A file (``.json`` is added where it has no ending) or a folder; None: the current one. In a folder the
            file is called after the metric.
        kind: The class that wraps the metric.
        name: The metric's name, where the wrapper gives it another one.
        judge: How the wrapper calls a judge that it can find again by itself.

    Raises:
        ParameterError: A parameter is a function.
    """
    config = {
        item.name: value
        for item in fields(metric)
        if item.name != "judge" and (value := getattr(metric, item.name)) != item.default
    }
    for parameter, value in config.items():
        if callable(value):
            raise ParameterError(
                f"{metric.name}: {parameter} is a function, which no file can hold. Name a measure."
            )
    file = Path(path or "")
    if file.is_dir():
        file /= f"{name or metric.name}.json"
    elif not file.suffix:
        file = file.with_suffix(".json")
    given = "given" if getattr(metric, "judge", None) is not None else judge
    data = {"format_version": FORMAT, "metric_type": kind, "name": name, "judge": given, "config": config}
    file.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return file


def read_metric(path: str | PathLike[str], *, kind: str, judging: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords with which a saved metric is made again.

    Args:
        path: The file.
        kind: The class that asks.
        judging: The keywords for the judge that the caller gives now.

    Raises:
        InputFileError: The file is not there, holds no metric, or one of another class.
        ParameterError: The metric had been given a judge, and none is given now.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        found, name, judge, config = data["metric_type"], data["name"], data["judge"], dict(data["config"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputFileError(f"{path} is no saved metric ({type(error).__name__}: {error}).") from None
    if found != kind:
        raise InputFileError(f"{path} holds a {found}, not a {kind}. Write {found}.load(..).")
    if judge == "given" and not judging:
        raise ParameterError(
            f"{path}: the metric had a judge of its own, which no file holds. Give it again."
        )
    chosen = dict(judging) if judging or judge is None else {"judge": judge}
    return {**config, **({} if name is None else {"name": name}), **chosen}
