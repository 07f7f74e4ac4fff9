"""Metrics over the records of a framework: what wrappers of tracing frameworks have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ctxmetrics._frozen import FrozenDict
from ctxmetrics._runtime.background import run_sync
from ctxmetrics._runtime.run import part_of
from ctxmetrics._secrets import safe_text
from ctxmetrics.adapting.embedded import notice_of
from ctxmetrics.adapting.params import MetricParams, build_metric
from ctxmetrics.errors import CtxMetricsError, MissingFieldError, NotTextError, ParameterError
from ctxmetrics.fields import KeyParams
from ctxmetrics.metrics.judged import JudgedMetric
from ctxmetrics.samples import Sample
from ctxmetrics.scores import Score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxmetrics.fields import Schema
    from ctxmetrics.judges.base import Judge
    from ctxmetrics.metrics.base import Metric

_TOLD = (
    "metric",
    "reason_code",
    "threshold",
    "passed",
    "band",
    "doubtful",
    "signals",
    "metadata",
    "usage",
    "provenance",
)


class WrapperParams(MetricParams, KeyParams, total=False):
    """What a wrapper of one metric takes beside a judge.

    The metric's parameters, ``threshold`` and ``strict`` among them; ``key``, the wrapper's name for it where that is
    not its own; and where things stand (`KeyParams`).
    """

    key: str
    threshold: float | None
    strict: bool


@dataclass(frozen=True)
class Scorer:
    """Several metrics that score records, judged at the same time.

    Attributes:
        metrics: The metrics by the caller's names for them.
        keys: Where things stand in records: see `KeyParams`.
        schema: Reads the records of one framework.
    """

    metrics: Mapping[str, Metric]
    keys: Mapping[str, Any]
    schema: Schema = field(compare=False, repr=False)

    @classmethod
    def of(
        cls,
        metrics: Sequence[Metric] | Mapping[str, Metric],
        judge: Judge | None,
        keys: Mapping[str, Any],
        schema: Schema,
    ) -> Scorer:
        """Check and put together what a caller gave.

        Args:
            metrics: Metrics of different names, or a mapping from names to metrics.
            judge: For judged metrics that have none.
            keys: Where things stand.
            schema: Reads the records.

        Raises:
            ParameterError: Two metrics have one name, or a key is unknown or of the wrong type.
        """
        named = metrics if isinstance(metrics, Mapping) else {metric.name: metric for metric in metrics}
        if not named or len(named) != len(metrics):
            raise ParameterError(
                "metrics= needs metrics of different names. Give a mapping to name them yourself."
            )
        schema.check(keys)
        judged = {
            name: metric.with_judge(judge)
            if judge is not None and isinstance(metric, JudgedMetric)
            else metric
            for name, metric in named.items()
        }
        return cls(FrozenDict(judged), FrozenDict(keys), schema)

    @classmethod
    def single(
        cls, metric: type[Metric], params: Mapping[str, Any], schema: Schema, **settings: Any
    ) -> Scorer:
        """Put together one metric by its parameters.

        Args:
            metric: Its class.
            params: Its parameters, where things stand, and ``key``: the caller's name for it, else its own.
            schema: Reads the records.
            **settings: Further parameters; those that are None are left to the metric.

        Raises:
            ParameterError: A parameter is unknown or out of range.
        """
        keys = {name: value for name, value in params.items() if name in KeyParams.__optional_keys__}
        rest: Any = {
            name: value for name, value in params.items() if name not in {*KeyParams.__optional_keys__, "key"}
        }
        built = build_metric(metric, rest, also=("key", *KeyParams.__optional_keys__), **settings)
        return cls.of({params.get("key") or built.name: built}, None, keys, schema)

    @property
    def name(self) -> str:
        """The metrics' names."""
        return ", ".join(self.metrics)

    async def ascores(self, record: Mapping[str, Any], strict: bool = True) -> dict[str, Score]:
        """Score a record, one score a name.

        A metric that fails gives a score without a value (``missing_field``, ``metric_error``) and leaves the others
        alone. So does one that finds a picture where it reads text (``not_text``), also where it is the only one.

        Args:
            record: A mapping with sides, or with the fields themselves: see `ctxmetrics.fields`.
            strict: Raise the first failure when all fail.
        """
        import asyncio

        async def score(metric: Metric) -> Score:
            fields = self.schema.read(record, self.keys, metric.requires, metric.uses)
            found = await metric.ascore(Sample(**fields))
            notice.check(metric, found)
            return found

        evaluation = self.schema.evaluation(record) if self.schema.evaluation else None
        notice = notice_of(self.schema.package, self.schema.judge_option, evaluation)
        with part_of(None if evaluation is None else notice):  # it lives as long as the evaluation is known
            outcomes = await asyncio.gather(*map(score, self.metrics.values()), return_exceptions=True)
        failures = [
            outcome
            for outcome in outcomes
            if isinstance(outcome, BaseException) and not isinstance(outcome, NotTextError)
        ]
        if strict and len(failures) == len(outcomes):
            raise failures[0]
        return {
            name: outcome if isinstance(outcome, Score) else _failed(metric, outcome)
            for (name, metric), outcome in zip(self.metrics.items(), outcomes, strict=True)
        }

    def scores(self, record: Mapping[str, Any], strict: bool = True) -> dict[str, Score]:
        """Score a record, anywhere: in a script, a notebook, inside a running loop, in any thread. See `ascores`."""
        return run_sync(self.ascores, record, strict)

    def summaries(self, records: Sequence[Mapping[str, Any]]) -> dict[str, tuple[dict[str, Any], str]]:
        """Score many records and return a name's summary (`MetricSummary.to_dict`) and its table.

        Raises:
            MissingFieldError: No record has a field that a metric needs.
        """
        from ctxmetrics.evaluation.engine import evaluate

        found = {}
        for name, metric in self.metrics.items():
            samples = [self._sample(record, metric) for record in records]
            summary = evaluate(samples, [metric], progress=False).summary()
            found[name] = (summary[metric.name].to_dict(), str(summary))
        return found

    def _sample(self, record: Mapping[str, Any], metric: Metric) -> Sample:
        """Read what is there; a record that cannot be read lacks everything, and its score says so."""
        try:
            # no id: one example may be run several times
            fields = self.schema.read(record, self.keys, (), (*metric.requires, *metric.uses))
            return Sample(**{**fields, "id": None})
        except CtxMetricsError:
            return Sample()


def compact(score: Score) -> dict[str, Any]:
    """Return what a framework may keep beside the number: JSON-ready data, the verdicts by id only."""
    told = score.to_dict()
    return {
        "count": score.count,
        "judge": score.provenance.judge,
        "verdicts": {verdict.id: verdict.value for verdict in score.verdicts},
        **{name: told[name] for name in _TOLD},
    }


def is_failure(score: Score) -> bool:
    """Whether the metric could not be applied: a field is missing, or the metric failed."""
    return score.reason_code in ("missing_field", "metric_error")


def _failed(metric: Metric, error: BaseException) -> Score:
    if isinstance(error, NotTextError):
        return metric.build(Sample(), None, reason_code=error.code, message=str(error))
    code = "missing_field" if isinstance(error, MissingFieldError) else "metric_error"
    message = f"{type(error).__name__}: {safe_text(error)}"
    return metric.build(Sample(), None, reason_code=code, message=message)
