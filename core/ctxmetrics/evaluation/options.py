"""The options of a run: one definition for every function that starts one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from ctxmetrics._runtime.cache import Store
    from ctxmetrics.evaluation.progress import Progress


class RunOptions(TypedDict, total=False):
    """The options of `ctxmetrics.evaluate`, which describes them; their defaults are those of `Evaluation`."""

    max_concurrency: int
    cache: str | os.PathLike[str] | Store | None
    timeout: float
    on_error: Literal["record", "raise"]
    progress: bool | Callable[[Progress], None] | None
    max_calls: int | None
    max_tokens: int | None
    requests_per_minute: int | None
    tokens_per_minute: int | None
    deadline: float | None
    out: str | os.PathLike[str] | None
    keep_texts: bool
    workers: int
