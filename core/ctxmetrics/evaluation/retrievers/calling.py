"""How a retriever is called: a function, a coroutine function, or an object of a framework, with a question."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, TypeAlias

from ctxmetrics.errors import ParameterError
from ctxmetrics.models.runtime.background import in_loop_or_thread, in_thread
from ctxmetrics.samples.documents import as_list

# A function that returns the answer of the retriever to a question.
Call: TypeAlias = Callable[[str], Coroutine[Any, Any, Any]]

# The methods of retrievers, sync and async: LangChain's runnables, LlamaIndex's retrievers.
_RETRIEVER_METHODS = (("invoke", "ainvoke"), ("retrieve", "aretrieve"))
# The inputs of Haystack's components that take a question.
_QUESTION_INPUTS = ("query", "text", "question")


def build_call(retriever: object, name: str) -> Call:
    """Return a coroutine function that asks a retriever.

    A sync function or method is called in a worker thread. If an object has a sync and an async method, the library's own
    loop calls the sync method, and a loop of the caller calls the async method.

    Args:
        retriever: A function or coroutine function of a question, or an object with ``invoke`` or ``ainvoke`` (LangChain),
            ``retrieve`` or ``aretrieve`` (LlamaIndex), or ``run`` (a component or a pipeline of Haystack).
        name: The name of the retriever in messages.

    Raises:
        ParameterError: The object is no retriever that can be called.
    """
    if isinstance(retriever, type):
        raise ParameterError(
            f"compare_retrievers: {name!r} is the class {retriever.__name__}. Give an object of it."
        )
    for sync_name, async_name in _RETRIEVER_METHODS:
        sync_method: Any = getattr(retriever, sync_name, None)
        async_method: Any = getattr(retriever, async_name, None)
        has_sync = callable(sync_method)
        has_async = callable(async_method)
        if has_sync and has_async:
            return partial(_call_either, sync_method, async_method)
        if has_sync:
            return partial(_call_function, sync_method)
        if has_async:
            return partial(_call_function, async_method)
    run = getattr(retriever, "run", None)
    if callable(run):
        build = _pipeline_inputs if hasattr(retriever, "inputs") else _component_inputs
        build_inputs = partial(build, retriever, name)
        build_inputs("")  # raises before anything is asked
        return partial(_call_in_thread, run, build_inputs)
    if callable(retriever):
        return partial(_call_function, retriever)
    hint = " Give its as_retriever()." if hasattr(retriever, "as_retriever") else ""
    raise ParameterError(
        f"compare_retrievers: {name!r} is of the type {type(retriever).__name__}, which cannot be asked a question.{hint} A retriever is "
        "a function of a question, or an object with invoke, retrieve or run."
    )


async def _call_either(
    sync_method: Callable[..., Any], async_method: Callable[..., Any], question: str
) -> Any:
    """Call the sync or the async method, as the running loop needs."""
    return await in_loop_or_thread(partial(async_method, question), partial(sync_method, question))


async def _call_function(function: Callable[..., Any], question: str) -> Any:
    """Call a coroutine function in the loop, any other function in a thread."""
    call = getattr(function, "__call__", None)  # noqa: B004 - the method of an object, not whether there is one
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call):
        return await _await_result(await function(question))
    return await _await_result(await in_thread(partial(_call_to_end, function, question)))


def _call_to_end(function: Callable[..., Any], question: str) -> Any:
    """Call a function. If it returns a generator, read it to its end: its work belongs to the call and its time limit."""
    return as_list(function(question))


async def _call_in_thread(
    run: Callable[..., Any], build_inputs: Callable[[str], Mapping[str, Any]], question: str
) -> Any:
    """Call the ``run`` of a component or a pipeline in a thread."""
    return await _await_result(await in_thread(partial(run, **build_inputs(question))))


async def _await_result(value: Any) -> Any:
    """Await what a function returned, if that is a coroutine or an async iterator."""
    if inspect.isawaitable(value):
        return await value
    if hasattr(value, "__aiter__"):
        return [item async for item in value]
    return value


def _component_inputs(retriever: Any, name: str, question: str) -> Mapping[str, Any]:
    """Return the arguments of a component's ``run``: the question, by the name that it has there.

    Raises:
        ParameterError: No parameter takes a question, or another one is needed.
    """
    parameters = inspect.signature(retriever.run).parameters
    required = []
    for parameter_name, parameter in parameters.items():
        is_variable = parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        if parameter.default is parameter.empty and not is_variable:
            required.append(parameter_name)
    question_name = next((candidate for candidate in _QUESTION_INPUTS if candidate in parameters), None)
    other_required = [other for other in required if other != question_name]
    if question_name is None or other_required:
        parameter_names = other_required or required or [*parameters] or ["nothing"]
        raise ParameterError(
            f"compare_retrievers: run of {name!r} takes {', '.join(parameter_names)}, not a question alone. Give a pipeline that begins "
            "with the question, or a function."
        )
    return {question_name: question}


def _pipeline_inputs(retriever: Any, name: str, question: str) -> Mapping[str, Any]:
    """Return the input of a pipeline: the question for each of its components that waits for one.

    Raises:
        ParameterError: No component waits for a question, or one waits for something else.
    """
    data: dict[str, dict[str, str]] = {}
    for component, inputs in retriever.inputs().items():
        mandatory = [input_name for input_name, info in inputs.items() if info.get("is_mandatory")]
        question_name = next((candidate for candidate in _QUESTION_INPUTS if candidate in inputs), None)
        other_mandatory = [other for other in mandatory if other != question_name]
        if other_mandatory:
            raise ParameterError(
                f"compare_retrievers: component {component!r} of {name!r} waits for {', '.join(other_mandatory)}. Give a function that "
                "fills it."
            )
        # An optional input "text" need not be the question.
        is_optional_text = question_name == "text" and "text" not in mandatory
        if question_name is not None and not is_optional_text:
            data[component] = {question_name: question}
    if not data:
        raise ParameterError(
            f"compare_retrievers: no component of {name!r} waits for {' or '.join(_QUESTION_INPUTS)}. Give a function."
        )
    return {"data": data}
