"""Asks a model within the limits of the run: the number of simultaneous requests, the time-out, the number of retries.

If OpenTelemetry is installed, each call is a span with the GenAI attribute names. Spans hold names, counts and error
codes; never a prompt, a reply, an error's text or a key.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache, partial
from numbers import Real
from typing import Any

from pydantic import BaseModel

from ctxmetrics._internal.secrets import hide_keys, remember_api_keys
from ctxmetrics.errors import BudgetExceededError, JudgeError, ParameterError
from ctxmetrics.models.base import Model, Prompt, ReplayingModel, Reply, checked_usage, reply_text
from ctxmetrics.models.prompt_size import Tokenizer
from ctxmetrics.models.runtime.background import in_time
from ctxmetrics.models.runtime.failures import classify, mark_kept_connection, mark_unread
from ctxmetrics.models.runtime.run import Run
from ctxmetrics.models.servers import is_local
from ctxmetrics.verdicts import Usage


async def ask(
    run: Run, model: Model, prompt: Prompt, schema: type[BaseModel], *, recalls: bool = True
) -> Reply:
    """Send one prompt, and repeat it if that may help. The usage counts failed requests, too.

    Args:
        run: The run whose limits apply.
        model: The model.
        prompt: The prompt.
        schema: The schema of the reply.
        recalls: Whether a `ReplayingModel` may answer with a reply that it already has. No request is sent then, so limits and the
            breaker do not count it.

    Raises:
        JudgeError: The model could not answer; ``lost`` is the usage of the failed requests.
        BudgetExceededError: ``max_calls`` or ``max_tokens`` is used up.
        RequestError: No request to the model could be built.
    """
    if recalls and isinstance(model, ReplayingModel):
        send_now = partial(ask, run, model, prompt, schema, recalls=False)
        return _check_reply(run, model, prompt, await model.recall(prompt, schema, send_now))
    estimated_tokens = checked_usage(None, sent=prompt.text, received="").prompt_tokens
    name = hide_keys(model.identity)
    ask_once = partial(_ask_once, run, model, prompt, schema)
    has_address = "@" in name
    send: Callable[[], Awaitable[Reply]] = partial(
        run.send, name, ask_once, estimated_tokens, local=has_address and is_local(name)
    )
    try:
        return await send()
    except JudgeError as problem:
        first_problem = problem
    return await run.send_again(first_problem, send)  # type: ignore[no-any-return]  # it returns what `send` does


async def _ask_once(run: Run, model: Model, prompt: Prompt, schema: type[BaseModel]) -> Reply:
    """Ask the model once, with a time-out. Any exception of its client becomes a `JudgeError`.

    Raises:
        JudgeError: The model did not answer.
        BudgetExceededError: ``max_calls`` or ``max_tokens`` is used up.
        ParameterError: The model returned an object that is no `Reply`.
    """
    seconds = _read_seconds(getattr(model, "timeout", None)) or run.timeout
    tracer = _tracer()
    spent = list[Usage]()  # the usage of each request, for the trace
    loop_turns: list[None] = []  # gets an item when the client waits for the first time
    with nullcontext() if tracer is None else _trace_call(tracer, model, prompt, spent):
        try:
            generate = partial(_generate, model, prompt, schema, loop_turns)
            if getattr(model, "times_requests", False):
                reply = await generate()
            else:
                reply = await in_time(seconds, generate)
        except (BudgetExceededError, ParameterError):
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the client of a user's model may raise anything
            remember_api_keys(model)
            problem = classify(error, seconds)
            if isinstance(problem, JudgeError):
                has_waited = bool(loop_turns)
                problem = mark_unread(problem, error, waited=has_waited)
                problem = mark_kept_connection(problem, error)
        else:
            if not isinstance(reply, Reply):
                raise ParameterError(
                    f"{type(model).__name__}.generate must return a ctxmetrics.Reply, not {type(reply).__name__}."
                )
            reply = replace(
                reply,
                usage=checked_usage(reply.usage, sent=prompt.text, received=reply_text(reply.content)),
            )
            spent.append(reply.usage)
            return _check_reply(run, model, prompt, reply)
        if isinstance(problem, JudgeError):
            spent.append(problem.usage)
        raise problem  # outside of the handler, so that the client's exception is not kept in memory


def _read_seconds(timeout: object) -> float | None:
    """Return a time limit in seconds; None if the value is not a number above 0."""
    if not isinstance(timeout, (Real, Decimal)) or isinstance(timeout, bool):
        return None
    seconds = float(timeout)
    return seconds if seconds > 0 else None


def _check_reply(run: Run, model: Model, prompt: Prompt, reply: Reply) -> Reply:
    """Check that the server read the whole prompt, and return the reply.

    Raises:
        JudgeError: It read fewer tokens than the prompt has.
    """
    usage = reply.usage
    # The server may have cached the text of a repeated request, and then counts fewer tokens.
    is_first_request = not prompt.attempt and not prompt.vote
    if usage.prompt_tokens and not usage.estimated and is_first_request:
        tokenizer = run.tokenizers.setdefault(model.identity, Tokenizer())
        tokenizer.check(prompt, usage, reply.cached_tokens)
    return reply


async def _generate(
    model: Model, prompt: Prompt, schema: type[BaseModel], loop_turns: list[None]
) -> Reply:
    """Ask the model, and add an item to ``loop_turns`` when the event loop first gets control back.

    A client that raises before that has not waited for anything, so it has sent nothing over this loop.
    """
    import asyncio

    next_turn = asyncio.get_running_loop().call_soon(loop_turns.append, None)
    try:
        return await model.generate(prompt, schema)
    finally:
        next_turn.cancel()


@contextmanager
def _trace_call(tracer: Any, model: Model, prompt: Prompt, spent: Sequence[Usage]) -> Iterator[None]:
    """Open a span for one call; when the block ends, ``spent`` holds what the call cost."""
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
            error_type = type(error).__name__
            if isinstance(error, JudgeError):
                error_type = error.reason_code
            span.set_attribute("error.type", error_type)
            span.set_status(StatusCode.ERROR)
            raise
        finally:
            for usage in spent:
                if usage.total_tokens and not usage.estimated:
                    span.set_attribute("gen_ai.usage.input_tokens", usage.prompt_tokens)
                    span.set_attribute("gen_ai.usage.output_tokens", usage.completion_tokens)


@lru_cache(maxsize=1)
def _tracer() -> Any:
    """Return OpenTelemetry's tracer of the library; None without OpenTelemetry."""
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace.get_tracer("ctxmetrics")
