"""Asks a model within the limits of the run: how many requests at once, how long, how often again.

Where OpenTelemetry is installed, each call is a span with the GenAI attribute names. Spans hold names, counts and error
codes; never a prompt, a reply, an error's text or a key.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from pydantic import BaseModel

from ctxmetrics._internal.secrets import hide_keys, remember_keys_of
from ctxmetrics.errors import BudgetExceededError, JudgeError, ParameterError
from ctxmetrics.models.base import Model, Prompt, Reply, checked_usage
from ctxmetrics.models.prompt_size import Tokenizer
from ctxmetrics.models.runtime.background import in_time
from ctxmetrics.models.runtime.failures import after_sending, classify
from ctxmetrics.models.runtime.run import Run
from ctxmetrics.models.servers import is_local
from ctxmetrics.verdicts import Usage


async def ask(run: Run, model: Model, prompt: Prompt, schema: type[BaseModel]) -> Reply:
    """Send one prompt, again where that may help; the usage counts what failed too.

    Raises:
        JudgeError: The model could not answer; ``lost`` says what was spent.
        BudgetExceededError: ``max_calls`` or ``max_tokens`` is used up.
        RequestError: No request to the model could be built.
    """
    tokens = checked_usage(None, sent=prompt.text, received="").prompt_tokens
    name = hide_keys(model.identity)
    ask_once = partial(_ask_once, run, model, prompt, schema)
    local = "@" in name and is_local(name)
    send: Callable[[], Awaitable[Reply]] = partial(run.send, name, ask_once, tokens, local=local)
    try:
        return await send()
    except JudgeError as problem:
        first = problem
    return await run.send_again(first, send)  # type: ignore[no-any-return]  # it returns what `send` does


async def _ask_once(run: Run, model: Model, prompt: Prompt, schema: type[BaseModel]) -> Reply:
    """Ask the model once, in time; whatever its client raises becomes a `JudgeError`.

    Raises:
        JudgeError: It did not answer.
        ParameterError: What it returned is no reply.
    """
    seconds: Any = getattr(model, "timeout", None)
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool) or not seconds > 0:
        seconds = run.timeout
    tracer, spent = _tracer(), list[Usage]()
    turns: list[None] = []
    with nullcontext() if tracer is None else _traced(tracer, model, prompt, spent):
        try:
            generate = partial(_generate, model, prompt, schema, turns)
            if getattr(model, "times_requests", False):
                reply = await generate()
            else:
                reply = await in_time(seconds, generate)
        except (BudgetExceededError, ParameterError):
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the client of a user's model may raise anything
            remember_keys_of(model)
            problem = classify(error, seconds)
            if isinstance(problem, JudgeError):
                problem = after_sending(problem, error, waited=bool(turns))
        else:
            if not isinstance(reply, Reply):
                raise ParameterError(
                    f"{type(model).__name__}.generate must return a ctxmetrics.Reply, not {type(reply).__name__}."
                )
            usage = checked_usage(reply.usage, sent=prompt.text, received=str(reply.content))
            spent.append(usage)
            # Only a first request is looked at: a server may have cached the text of a later one.
            if usage.prompt_tokens and not (usage.estimated or prompt.attempt or prompt.vote):
                tokenizer = run.tokenizers.setdefault(model.identity, Tokenizer())
                tokenizer.check(prompt, usage, reply.cached_tokens)
            return replace(reply, usage=usage)
        if isinstance(problem, JudgeError):
            spent.append(problem.usage)
        raise problem  # out here, where it does not drag along what it came from


async def _generate(model: Model, prompt: Prompt, schema: type[BaseModel], turns: list[None]) -> Reply:
    """Ask the model, and note the loop's next turn: a client that raises before it has sent nothing over this loop."""
    import asyncio

    turn = asyncio.get_running_loop().call_soon(turns.append, None)
    try:
        return await model.generate(prompt, schema)
    finally:
        turn.cancel()


@contextmanager
def _traced(tracer: Any, model: Model, prompt: Prompt, spent: Sequence[Usage]) -> Iterator[None]:
    """Trace one call; ``spent`` holds what it cost when it ends."""
    from opentelemetry.trace import SpanKind, StatusCode

    provider, separator, rest = hide_keys(model.identity).partition("/")
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
            yield
        except BaseException as error:
            kind = type(error).__name__
            if isinstance(error, JudgeError):
                kind = error.reason_code
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
