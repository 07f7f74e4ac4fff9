"""Where LangChain and LangSmith keep the fields of a sample: a run's and an example's sides, and retriever runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from langsmith.run_helpers import get_tracing_context
from langsmith.schemas import Example, Run

from ctxmetrics.adapting import SCHEMAS, Retrieval, retrieval_of, retrieval_of_tool

# The ``value`` of a result with a pass mark, by whether the score passed.
VALUES: dict[bool | None, str | None] = {True: "passed", False: "failed", None: None}


def to_record(run: Run, example: Example | None) -> dict[str, Any]:
    """Build the record that `SCHEMA` reads from a run and its example."""
    return {
        "inputs": run.inputs if example is None else example.inputs,
        "outputs": run.outputs,
        "reference_outputs": None if example is None else example.outputs,
        "id": str((example or run).id),
        "run": run,
        "example": example,
        "error": run.error,
    }


def _find_retrievals(run: Any) -> list[Retrieval]:
    """Return what the outermost retriever runs found; without such a run, what tools that search found."""
    retrievals = [*_read_steps(run, _read_retriever)]
    if not retrievals:
        retrievals = [*_read_steps(run, _read_tool)]
    return retrievals


def _read_steps(run: Any, read_run: Callable[[Any], Retrieval | None]) -> Iterator[Retrieval]:
    """Yield what the outermost runs of one kind found, and what rerankers chose.

    Args:
        run: The run that is searched with all runs below it.
        read_run: Reads one run; None if it is of another kind.
    """
    step = read_run(run)
    is_pure_reranker = step is not None and step.reranks and not step.retrieves
    # The runs that found what a reranker chose from may stand below it.
    if step is None or is_pure_reranker:
        for child in getattr(run, "child_runs", None) or ():
            yield from _read_steps(child, read_run)
    if step is not None:
        yield step


def _read_retriever(run: Any) -> Retrieval | None:
    """Read the run of a retriever, or of a reranker, which LangSmith shows by its name only."""
    outputs = getattr(run, "outputs", None) or {}
    return retrieval_of(
        getattr(run, "run_type", None),
        getattr(run, "name", None),
        lambda: outputs.get("documents", outputs.get("output")),
        (getattr(run, "inputs", None) or {}).get("query"),
    )


def _read_tool(run: Any) -> Retrieval | None:
    """Read the run of a tool that searches."""
    if getattr(run, "run_type", None) != "tool":
        return None
    return retrieval_of_tool(run.name, run.inputs, run.outputs, run.error)


def _name_experiment(_: Any) -> str | None:
    """Name the experiment of LangSmith that runs now; None outside of one."""
    return (get_tracing_context()["metadata"] or {}).get("experiment")


# Reads runs and examples, or mappings with the same sides, or flat ones.
SCHEMA = replace(
    SCHEMAS["langchain"],
    retrievals=_find_retrievals,
    evaluation=_name_experiment,
    package="ctxmetrics_langchain",
    judge_option="judge=chat_model",
    hint="and no retriever run below it (evaluate_existing loads those with load_nested=True)",
)
