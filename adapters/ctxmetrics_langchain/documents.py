"""Where LangChain and LangSmith keep the fields of a sample: usual keys, and the documents of retriever runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxmetrics.errors import SampleError
from ctxmetrics.records import Key, KeyParams, Place, Reader, listed
from ctxmetrics.redact import safe_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from langsmith.schemas import Example, Run


class RunKeyParams(KeyParams, total=False):
    """`KeyParams`, where the record is inputs, outputs, reference outputs, ``run`` and ``example``; and ``retriever``.

    ``retriever`` says which retriever runs count: ``"all"`` (the default; joined in the order in which they began),
    ``"last"``, the name of one, or a function of a run.
    """

    retriever: Key


def to_record(run: Run, example: Example | None) -> dict[str, Any]:
    """Return a run and its example as a record."""
    inputs, expected = (run.inputs, None) if example is None else (example.inputs, example.outputs)
    sides = {"inputs": inputs, "outputs": run.outputs, "reference_outputs": expected}
    return {**sides, "id": str((example or run).id), "run": run, "example": example}


def _retrieved(record: Mapping[str, Any], keys: Mapping[str, Any]) -> list[Any] | None:
    """Join the documents of the retriever runs that count."""
    run, wanted = record.get("run"), keys.get("retriever", "all")
    runs = list(_retriever_runs(run))
    if not runs and (error := getattr(run, "error", None)):
        raise SampleError(f"The run failed before anything was retrieved: {safe_text(error)}")
    chosen = {"all": runs, "last": runs[-1:]}.get(wanted)
    if chosen is None:
        chosen = [item for item in runs if (wanted(item) if callable(wanted) else item.name == wanted)]
    if runs and not chosen:
        raise SampleError(f"retriever={wanted!r} is none of: {', '.join(str(item.name) for item in runs)}.")
    return [document for item in chosen for document in _documents(item)] if chosen else None


def _retriever_runs(run: Any) -> Iterator[Any]:
    """Yield the outermost retriever runs in the order in which they began."""
    if getattr(run, "run_type", None) == "retriever":
        yield run
    else:
        for child in getattr(run, "child_runs", None) or ():
            yield from _retriever_runs(child)


def _documents(run: Any) -> Any:
    outputs = run.outputs or {}
    if (found := outputs.get("documents", outputs.get("output"))) is None:
        raise SampleError(
            f"The retriever run {run.name!r} holds no documents: it failed, or hides its outputs."
        )
    return listed(found)


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
    documents=_retrieved,
    options=("retriever",),
    hint="There is no retriever run below it either (evaluate_existing loads those with load_nested=True).",
)
"""Reads samples out of runs and examples, or mappings with the same sides, or flat ones."""
