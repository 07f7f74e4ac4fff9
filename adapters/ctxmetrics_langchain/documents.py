"""Where LangChain and LangSmith keep the fields of a sample: usual keys, and the documents of retriever runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langsmith.run_helpers import get_tracing_context

from ctxmetrics.adapting.records import Place, Reader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from langsmith.schemas import Example, Run


def to_record(run: Run, example: Example | None) -> dict[str, Any]:
    """Return a run and its example as a record."""
    inputs, expected = (run.inputs, None) if example is None else (example.inputs, example.outputs)
    sides = {"inputs": inputs, "outputs": run.outputs, "reference_outputs": expected}
    return {**sides, "id": str((example or run).id), "run": run, "example": example, "error": run.error}


def _retrievals(run: Any) -> Iterator[tuple[str, Any]]:
    """Yield the documents of the outermost retriever runs."""
    if getattr(run, "run_type", None) == "retriever":
        yield run.name, (run.outputs or {}).get("documents", (run.outputs or {}).get("output"))
    else:
        for child in getattr(run, "child_runs", None) or ():
            yield from _retrievals(child)


READER = Reader(
    places={
        "user_input": Place.of("inputs", "question input query"),
        "response": Place.of("outputs", "answer output result"),
        "retrieved_contexts": Place.of("outputs", "documents contexts context source_documents"),
        "retrieved_context_ids": Place.of("outputs", "retrieved_ids"),
        "reference": Place.of("reference_outputs", "ground_truth answer output"),
        "reference_contexts": Place.of("reference_outputs", "documents contexts context"),
        "reference_context_ids": Place.of("reference_outputs", "reference_ids"),
    },
    retrievals=_retrievals,
    evaluation=lambda _: (get_tracing_context()["metadata"] or {}).get("experiment"),
    hint="There is no retriever run below it either (evaluate_existing loads those with load_nested=True).",
)
"""Reads samples out of runs and examples, or mappings with the same sides, or flat ones."""
