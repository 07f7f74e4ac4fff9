"""A Ray dataset in, a Ray dataset with the columns of the metrics out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxmetrics._runtime.quota import Refusal
from ctxmetrics.tables._workers import Limits, asks_a_judge, in_worker, split
from ctxmetrics.tables.batches import BatchScorer

if TYPE_CHECKING:
    import pyarrow as pa


# Rows of a batch: what a worker that dies may cost. With a judge, so many for each request that may be in flight.
_ROWS, _ROWS_A_REQUEST = 8192, 4
# Leases that may be waited for at a time.
_CALLS = 10_000


def columns_of(dataset: Any) -> dict[str, Any]:
    """Return the type of each column; where Ray does not know them, it reads a row to find out."""
    schema = dataset.schema()
    return {} if schema is None else dict(zip(schema.names, schema.types, strict=True))


def score_dataset(dataset: Any, scorer: BatchScorer) -> Any:
    """Score the rows of a Ray dataset, when it is read.

    A pool of actors, up to one a CPU of the cluster, keeps the judge's client, cache and memory from batch to batch.
    One more actor, which takes no CPU, leases the right to send a request to all of them.

    Args:
        dataset: The dataset.
        scorer: The metrics and options; its limits hold for all actors together.
    """
    import ray
    from ray.data import ActorPoolStrategy

    from ctxmetrics._runtime.quota import Quota

    scorer, limits = split(scorer)
    judged, quota = asks_a_judge(scorer), None
    if judged:
        quota = ray.remote(Quota).options(num_cpus=0, max_concurrency=_CALLS).remote(**limits.quota())
    most = max(1, int(ray.cluster_resources().get("CPU", 1)))
    return dataset.map_batches(
        _Worker,
        fn_constructor_args=(scorer, limits, quota),
        batch_size=_ROWS_A_REQUEST * limits.max_concurrency if judged else _ROWS,
        batch_format="pyarrow",
        compute=ActorPoolStrategy(min_size=1, max_size=most),
    )


class _Worker:
    """Scores the batches that an actor of the pool gets."""

    def __init__(self, scorer: BatchScorer, limits: Limits, quota: Any) -> None:
        self._scorer = in_worker(scorer, limits, None if quota is None else _RemoteQuota(quota))

    def __call__(self, batch: pa.Table) -> pa.Table:
        return self._scorer.score(batch)


class _RemoteQuota:
    """The quota of all workers, which is an actor."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    async def enter(self, seconds: float, tokens: int) -> int | Refusal:
        found: int | Refusal = await self._actor.enter.remote(seconds, tokens)
        return found

    def leave(self, lease: int, tokens: int, down: str | None) -> None:
        self._actor.leave.remote(lease, tokens, down)
