"""One OpenTelemetry span a model call, with the GenAI attribute names, where OpenTelemetry is installed.

Spans hold names, counts and error codes; never a prompt, a reply, an error's text or a key.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from ctxmetrics.errors import JudgeError
from ctxmetrics.models.base import Model, Prompt
from ctxmetrics.verdicts import Usage


@contextmanager
def model_call(model: Model, prompt: Prompt) -> Iterator[list[Usage]]:
    """Trace one call; its usage goes into the list that is yielded."""
    spent: list[Usage] = []
    tracer = _tracer()
    if tracer is None:
        yield spent
        return
    from opentelemetry.trace import SpanKind, StatusCode

    provider, separator, rest = model.identity.partition("/")
    name = getattr(model, "name", None)
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": name if isinstance(name, str) else rest or provider,
        "gen_ai.output.type": "json",
        "ctxmetrics.step": prompt.step,
        "ctxmetrics.prompt": prompt.version,
        "ctxmetrics.attempt": prompt.attempt,
        "ctxmetrics.vote": prompt.vote,
    }
    if separator:
        attributes["gen_ai.provider.name"] = provider
    with tracer.start_as_current_span(
        f"chat {attributes['gen_ai.request.model']}",
        kind=SpanKind.CLIENT,
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield spent
        except BaseException as error:
            kind = error.reason_code if isinstance(error, JudgeError) else type(error).__name__
            span.set_attribute("error.type", kind)
            span.set_status(StatusCode.ERROR)
            raise
        finally:
            for usage in spent:
                if usage.prompt_tokens or usage.completion_tokens:
                    span.set_attribute("gen_ai.usage.input_tokens", usage.prompt_tokens)
                    span.set_attribute("gen_ai.usage.output_tokens", usage.completion_tokens)


@lru_cache(maxsize=1)
def _tracer() -> Any:
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace.get_tracer("ctxmetrics")
