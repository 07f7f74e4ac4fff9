"""What the workers of a cluster need: a run of their own, limits that hold for all of them, and their batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from ctxmetrics._runtime.quota import Gate, Quota
from ctxmetrics._runtime.run import DEFAULT_CONCURRENCY, DEFAULT_TIMEOUT, Run
from ctxmetrics.errors import ParameterError
from ctxmetrics.judges.lexical.judge import LexicalJudge
from ctxmetrics.judges.nli.judge import NLIJudge
from ctxmetrics.metrics.judged import JudgedMetric
from ctxmetrics.tables.batches import BatchScorer

# Options that belong to one machine: a file, a clock, a display, and processes of its own.
_OF_ONE_PROCESS = ("out", "keep_texts", "deadline", "progress", "workers")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What all workers together may use; the arguments are those of `ctxmetrics.evaluate`."""

    max_concurrency: int = DEFAULT_CONCURRENCY
    timeout: float = DEFAULT_TIMEOUT
    max_calls: int | None = None
    max_tokens: int | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None

    def quota(self) -> dict[str, int | None]:
        """The arguments of the `Quota` that holds for all."""
        limits = asdict(self)
        del limits["timeout"]
        return limits

    def share(self, workers: int) -> Limits:
        """What one of so many workers may use, so that all together stay within the limits."""
        whole = {name: value for name, value in self.quota().items() if value is not None}
        return replace(self, **{name: value // workers for name, value in whole.items()})

    def most_workers(self) -> int:
        """With how many workers a share is at least one of everything."""
        return max(1, min(value for value in self.quota().values() if value is not None))


def split(scorer: BatchScorer) -> tuple[BatchScorer, Limits]:
    """Take the limits out of the options of a scorer.

    Raises:
        ParameterError: An option has no meaning on a cluster.
    """
    options = dict(scorer.options)
    for name in _OF_ONE_PROCESS:
        if options.pop(name, None):
            raise ParameterError(
                f"score_table: {name}= is for one process, and the rows are scored by the workers of a cluster. "
                "Leave it out."
            )
    names = [name for name in Limits.__dataclass_fields__ if name in options]
    limits = Limits(**{name: options.pop(name) for name in names})
    return replace(scorer, options=options), limits


def rows_like(columns: Mapping[str, Any], given: Iterable[str]) -> list[dict[str, Any]]:
    """Return rows with the columns of a table, so that these are recognised although no row was read.

    Args:
        columns: Arrow's type of each column; anything else where it is not known.
        given: Columns or paths that are said to hold a field; a path may lead into a text, which is JSON then.
    """
    row = {name: _value_like(kind) for name, kind in columns.items()}
    rows = [row]
    for path in given:
        head, *inner = path.split(".")
        if inner and row.get(head) == "":
            value: Any = ""
            for name in reversed(inner):
                value = {name: value}
            rows.append({head: value})
    return rows


def _value_like(kind: Any) -> Any:
    """Return an object or a list where the type is one, else a text: no more is looked at."""
    import pyarrow as pa

    if isinstance(kind, pa.StructType):
        return {field.name: _value_like(field.type) for field in kind}
    if isinstance(kind, (pa.ListType, pa.LargeListType, pa.FixedSizeListType)):
        return [_value_like(kind.value_type)]
    return ""


def asks_a_judge(scorer: BatchScorer) -> bool:
    """Whether a metric may send requests: the embedded judge and an `NLIJudge` send none."""
    return any(
        isinstance(metric, JudgedMetric) and not isinstance(metric.judge, (LexicalJudge, NLIJudge))
        for metric in scorer.metrics
    )


def in_worker(scorer: BatchScorer, limits: Limits, quota: Gate | None = None) -> BatchScorer:
    """Return the scorer of one worker: all its batches are one run.

    Args:
        scorer: The scorer.
        limits: What this worker may use.
        quota: Where it asks for leases; None: it keeps to its own limits.
    """
    budget: Mapping[str, Any] = {"max_calls": limits.max_calls, "max_tokens": limits.max_tokens}
    if quota is None and (limits.requests_per_minute or limits.tokens_per_minute):
        rates = limits.requests_per_minute, limits.tokens_per_minute
        quota = Quota(requests_per_minute=rates[0], tokens_per_minute=rates[1])
    elif quota is not None:
        budget = {}
    run = Run(
        max_concurrency=limits.max_concurrency, timeout=limits.timeout, quota=quota, ends=True, **budget
    )
    return replace(scorer, options={**scorer.options, "progress": False, "run": run})
