"""A metric's parameters as a JSON file: what it was given, never its judge, a model or a key."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxmetrics.errors import InputFileError, ParameterError

if TYPE_CHECKING:
    from os import PathLike

    from ctxmetrics.metrics.base import Metric

FORMAT = "1.0"


def write_metric(
    metric: Metric, path: str | PathLike[str] | None = None, *, kind: str, **labels: str | None
) -> Path:
    """Write the parameters that differ from the default, and return the file.

    Args:
        metric: The metric.
        path: A file (``.json`` is added where it has no ending) or a folder; None: the current one. In a folder the
            file is named after the metric.
        kind: The class that `read_metric` will be asked for.
        **labels: Anything more to write down.

    Raises:
        ParameterError: A parameter is a function.
    """
    given = {item.name: getattr(metric, item.name) for item in fields(metric) if item.name != "judge"}
    config = {item.name: given[item.name] for item in fields(metric) if given.get(item.name) != item.default}
    config.pop("judge", None)
    for name, value in config.items():
        if callable(value):
            raise ParameterError(
                f"{metric.name}: {name} is a function, which no file can hold. Name a measure."
            )
    file = Path(path or "")
    if file.is_dir():
        file /= f"{metric.name}.json"
    elif not file.suffix:
        file = file.with_suffix(".json")
    data = {"format_version": FORMAT, "metric_type": kind, "config": config, **labels}
    file.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return file


def read_metric(path: str | PathLike[str], *, kind: str) -> dict[str, Any]:
    """Read a file of `write_metric`.

    Returns:
        Its ``config`` and its labels by name.

    Raises:
        InputFileError: The file is not there, is none of these files, or holds another kind of metric.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        found, config = data["metric_type"], dict(data["config"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputFileError(f"{path} is no saved metric ({type(error).__name__}: {error}).") from None
    if found != kind:
        raise InputFileError(f"{path} holds a {found}, not a {kind}. Write {found}.load(..).")
    return {**data, "config": config}
