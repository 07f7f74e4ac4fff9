"""One OpenTelemetry span a model call, with the GenAI attribute names, where OpenTelemetry is installed.

Spans hold names, counts and error types; never a prompt, a reply or a key.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ctxmetrics.judges.base import Model, Prompt
    from ctxmetrics.scores import Usage


@contextmanager
def model_call(model: Model, prompt: Prompt) -> Iterator[Callable[[Usage], None]]:
    """Trace one call; call what is yielded with its usage."""
    tracer = _tracer()
    if tracer is None:
        yield _nothing
        return
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": getattr(model, "name", None) or model.identity,
        "gen_ai.output.type": "json",
        "ctxmetrics.step": prompt.step,
        "ctxmetrics.prompt": prompt.version,
        "ctxmetrics.attempt": prompt.attempt,
    }
    with tracer.start_as_current_span(
        f"chat {attributes['gen_ai.request.model']}",
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:

        def record(usage: Usage) -> None:
            span.set_attribute("gen_ai.usage.input_tokens", usage.prompt_tokens)
            span.set_attribute("gen_ai.usage.output_tokens", usage.completion_tokens)

        try:
            yield record
        except BaseException as error:
            span.set_attribute("error.type", type(error).__name__)
            raise


def _nothing(usage: Usage) -> None:
    del usage


@lru_cache(maxsize=1)
def _tracer() -> Any:
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace.get_tracer("ctxmetrics")
