"""A metric over samples that people give in Python: one, many, and the metric itself in a file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

from ctxmetrics._runtime.run import current_run
from ctxmetrics.adapting.wrapper import FrameworkRun, Wrapper
from ctxmetrics.errors import InputFileError, ParameterError, SampleError
from ctxmetrics.evaluation.options import RunOptions
from ctxmetrics.evaluation.sources import check_id
from ctxmetrics.fields import SCHEMAS, check_keys
from ctxmetrics.metrics.base import Metric
from ctxmetrics.samples import Sample
from ctxmetrics.scores import Score


class SampleWrapper(Wrapper):
    """A metric that scores samples: ours as they are, and of other objects the attributes that it looks at."""

    def read(self, record: Any) -> Sample:
        """Return the sample."""
        if isinstance(record, Sample):
            return record
        columns = (*self.metric.requires, *self.metric.uses)
        return Sample(**{name: getattr(record, name, None) for name in columns})

    @staticmethod
    def given(record: Mapping[str, Any], where: str = "Sample") -> Sample:
        """Return the sample of a mapping of fields that was written in Python, where an unknown field is an error.

        Raises:
            UnknownFieldError: There is no such field; the message names the nearest one.
            SampleError: A field has the wrong type.
        """
        sample = Sample.from_dict(record, where=where)
        check_keys(record, SCHEMAS["ragas"].known_keys, where, "ragas")
        return sample

    async def ascore_all(
        self, records: Iterable[Mapping[str, Any]], **options: Unpack[RunOptions]
    ) -> list[Score]:
        """Score samples, given by their fields, a bounded number at once; one score a sample, in order.

        A sample that cannot be read gets a score without a value. The embedded judge's warning comes once.

        Args:
            records: The samples.
            **options: As for `ctxmetrics.evaluate`; the timeout is that of the run under way, and no progress is shown.

        Raises:
            CtxMetricsError: Something is wrong with every sample; this is the first one's.
        """
        from ctxmetrics.evaluation.engine import aevaluate

        options.setdefault("progress", False)
        options.setdefault("timeout", current_run().timeout)
        places: dict[str, int] = {}
        found = [self._checked(record, number, places) for number, record in enumerate(records, 1)]
        samples = [item for item in found if isinstance(item, Sample)]
        if found and not samples:
            raise next(item for item in found if isinstance(item, SampleError))
        rows = iter(await aevaluate(samples, [self.metric], **options))
        run, scores = FrameworkRun(), []
        for item in found:
            score = self.failed(item) if isinstance(item, SampleError) else next(rows)[self.metric.name]
            run.warn(self, score)
            scores.append(score)
        return scores

    def _checked(
        self, record: Mapping[str, Any], number: int, places: dict[str, int]
    ) -> Sample | SampleError:
        """Read a sample, or return what is wrong with it: unlike `aevaluate`, a batch refuses none but that one."""
        try:
            sample = self.given(record, f"Sample {number}")
            check_id(sample, number, places)
        except SampleError as error:
            return error
        return sample


def save_metric(
    metric: Metric, path: str | PathLike[str] | None, *, kind: str, name: str, judge: str | None = None
) -> None:
    """Write the parameters of a metric that differ from the default to a JSON file; never a judge, a model or a key.

    Args:
        metric: The metric.
        path: A file (``.json`` is added where it has no ending) or a folder; None: the current one. In a folder the file
            is called after ``name``.
        kind: The class to load it by.
        name: The name of its results.
        judge: What `load_metric` makes of its judge again; None: that one was given, or that there is none.

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
        file /= f"{name}.json"
    elif not file.suffix:
        file = file.with_suffix(".json")
    judge = judge or ("given" if getattr(metric, "judge", None) is not None else None)
    data = {"format_version": "1.0", "metric_type": kind, "name": name, "judge": judge, "config": config}
    file.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def load_metric(path: str | PathLike[str], kind: str, judging: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords of a metric that `save_metric` wrote.

    Args:
        path: The file.
        kind: The class that loads it.
        judging: The judge, by the keyword that the class has for it.

    Raises:
        InputFileError: The file is not there, holds no metric, or one of another class.
        ParameterError: The metric had a judge, and none is given.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        saved, name, judge, config = (data[key] for key in ("metric_type", "name", "judge", "config"))
        params = dict(config)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputFileError(f"{path} is no saved metric ({type(error).__name__}: {error}).") from None
    if saved != kind:
        raise InputFileError(f"{path} holds a {saved}, not a {kind}. Write {saved}.load(..).")
    if judge == "given" and not judging:
        raise ParameterError(
            f"{path}: the metric had a judge of its own, which no file holds. Give it again."
        )
    if judge is not None:
        params |= judging or {"judge": judge}
    return {**params, "name": name}
