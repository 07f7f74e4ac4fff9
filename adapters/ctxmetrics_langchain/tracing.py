"""The runs of a judge are not uploaded if LangSmith uploads nothing: LangChain would upload them all the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.runnables.config import ensure_config, var_child_runnable_config
from langchain_core.tracers import LangChainTracer
from langchain_core.tracers.context import tracing_v2_callback_var
from langsmith import get_tracing_context, tracing_context
from langsmith.utils import tracing_is_enabled


class UploadedRunnable(Runnable[dict[str, Any], Any]):
    """A runnable whose runs, with all runs below them, are sent to LangSmith only while its tracing is switched on.

    Args:
        runnable: The runnable to run.
    """

    def __init__(self, runnable: RunnableLambda[dict[str, Any], Any]) -> None:
        self.name: str | None = runnable.name
        self._runnable = runnable

    def invoke(
        self,
        input: dict[str, Any],  # noqa: A002 - the name of the base class
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run it."""
        with keep_local_runs(config) as own_config:
            return self._runnable.invoke(input, own_config, **kwargs)

    async def ainvoke(
        self,
        input: dict[str, Any],  # noqa: A002 - the name of the base class
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run it in this loop."""
        with keep_local_runs(config) as own_config:
            return await self._runnable.ainvoke(input, own_config, **kwargs)


@contextmanager
def keep_local_runs(config: RunnableConfig | None = None) -> Iterator[RunnableConfig | None]:
    """Run a block outside of LangSmith's tracing if LangSmith keeps its runs on this machine.

    With ``upload_results=False`` LangSmith traces (the mode is "local") and sends nothing. LangChain takes every mode
    except False for on, and uploads the runs of its models.

    Args:
        config: The configuration of the run; None: the one around.

    Yields:
        The configuration for what runs inside.
    """
    if isinstance(tracing_is_enabled(), bool):  # on or off for both
        yield config
        return
    local_config = ensure_config(config)
    local_config["callbacks"] = _remove_tracers(local_config.get("callbacks"))
    config_token = var_child_runnable_config.set(local_config)
    tracer_token = tracing_v2_callback_var.set(None)
    try:
        with tracing_context(**{**get_tracing_context(), "enabled": False}):
            yield local_config
    finally:
        tracing_v2_callback_var.reset(tracer_token)
        var_child_runnable_config.reset(config_token)


def _remove_tracers(callbacks: Any) -> Any:
    """Copy callbacks without those that upload to LangSmith: a chain around hands them on."""
    if isinstance(callbacks, BaseCallbackManager):
        manager = callbacks.copy()
        for handler in callbacks.handlers:
            if isinstance(handler, LangChainTracer):
                manager.remove_handler(handler)
        return manager
    return [handler for handler in callbacks or () if not isinstance(handler, LangChainTracer)]
