"""The stages of a retrieval, from the retrievers and rerankers of one record or trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, takewhile
from typing import Any, NamedTuple

from ctxmetrics.samples.cells import object_in
from ctxmetrics.samples.conversations import read_search, to_output
from ctxmetrics.samples.documents import text_of, without_score, wrap_in_list

# Kinds of the spans of retrievers, in small letters: MLflow, LangSmith, OpenInference, OpenTelemetry GenAI, Langfuse.
RETRIEVERS = frozenset({"retriever", "retrieval"})
# Kinds of the spans of rerankers.
_RERANKERS = frozenset({"reranker", "rerank"})
# The name of the stage that joins what several steps found.
_JOINED_STAGE = "joined"


class Retrieval(NamedTuple):
    """One step of a retrieval: a retriever or a reranker.

    Attributes:
        name: The name of the step.
        documents: The documents that it returned; None if they are not known.
        reranks: Whether the step chose from the documents of earlier steps.
        retrieves: Whether its kind says that it is a retriever.
        query: The query that it got; None if it is not known.
    """

    name: str
    documents: Any
    reranks: bool = False
    retrieves: bool = True
    query: str | None = None


def retrieval_of(kind: Any, name: Any, find: Callable[[], Any], query: Any = None) -> Retrieval | None:
    """Return the retrieval step of a span of a trace; None if the span is neither a retriever nor a reranker.

    A reranker is recognised by its kind. A retriever, or a span of another kind that returned documents, is a reranker if its
    name contains ``rerank``.

    Args:
        kind: The kind of the span, as the trace says.
        name: The name of the span. Without a name, the step is named after its kind.
        find: Returns the output of the span. It is called only if the span may be a step.
        query: The query that the span got.
    """
    kind = str(kind).lower()
    is_named_reranker = "rerank" in str(name).lower().replace("-", "")
    is_known = kind in RETRIEVERS | _RERANKERS
    documents = find() if is_known or is_named_reranker else None
    if not is_known and not _are_documents(documents):
        return None
    reranks = is_named_reranker or kind in _RERANKERS
    return Retrieval(str(name or kind), documents, reranks, kind in RETRIEVERS, query)


def retrieval_of_tool(name: Any, inputs: Any, output: Any, error: Any = None) -> Retrieval | None:
    """Return the retrieval step of a tool's span; None if the tool does not search."""
    search = read_search(str(name or ""), {"arguments": inputs}, to_output(object_in(output), error))
    if search is None:
        return None
    query, documents = search
    return Retrieval(str(name), documents, retrieves=False, query=query)


def _are_documents(items: Any) -> bool:
    """Whether something is a list of documents; a text alone is none."""
    if not isinstance(items, (list, tuple)):
        return False
    for item in items:
        if isinstance(without_score(item), str) or not isinstance(text_of(item), str):
            return False
    return True


def find_unused_steps(steps: Iterable[Retrieval]) -> list[Retrieval]:
    """Return the steps whose documents no later reranker used. Their documents together are what was retrieved.

    A reranker uses the documents of the steps since the reranker before it. If it returns a text that none of these steps
    returned, it used the documents of all steps before it.

    Args:
        steps: The steps in the order of time.
    """
    unused_steps: list[Retrieval] = []
    for step in steps:
        if step.reranks:
            since_last_reranker = [
                *takewhile(lambda earlier_step: not earlier_step.reranks, reversed(unused_steps))
            ]
            returns_known_texts = _texts_of([step]) <= _texts_of(since_last_reranker)
            if since_last_reranker and returns_known_texts:
                unused_steps = unused_steps[: -len(since_last_reranker)]
            else:
                unused_steps = []
        unused_steps.append(step)
    return unused_steps


def to_searches(steps: Iterable[Retrieval]) -> list[dict[str, Any]] | None:
    """Return the searches of retrievers that got different queries.

    None if all got one query, if a step is a reranker, or if a query or documents are not known.
    """
    searches: list[dict[str, Any]] = []
    for step in steps:
        if step.query is None or step.reranks or step.documents is None:
            return None
        searches.append({"query": step.query, "contexts": step.documents})
    distinct_queries = {search["query"] for search in searches}
    return searches if len(distinct_queries) > 1 else None


def _texts_of(steps: Iterable[Retrieval]) -> set[str]:
    """Return the texts that some steps of a retrieval found."""
    texts: set[str] = set()
    for step in steps:
        texts.update(str(text_of(item)) for item in wrap_in_list(step.documents or ()))
    return texts


def join_documents(steps: Iterable[Retrieval]) -> list[Any]:
    """Return the documents of several steps in one list, with repetitions."""
    return [*chain.from_iterable(wrap_in_list(step.documents) for step in steps)]


def to_stages(steps: Sequence[Retrieval]) -> dict[str, list[Any]] | None:
    """Return the documents of each step as a stage, in order. The last stage holds what was retrieved.

    - If a reranker used the documents of several steps, these together are one more stage before the reranker.
    - A repeated name gets a number.
    - A step whose documents are not known is no stage.
    - None is returned for a single stage, and if it is not known what was retrieved.
    """
    last_steps = find_unused_steps(steps)
    known_steps = [step for step in steps if step.documents is not None]
    if len(known_steps) == 1 or any(step.documents is None for step in last_steps):
        return None
    stages: dict[str, list[Any]] = {}
    for index, step in enumerate(known_steps):
        unused_before = find_unused_steps(known_steps[:index])
        unused_after = find_unused_steps(known_steps[: index + 1])
        # A reranker uses the documents of earlier steps: these steps are no longer among the unused ones.
        used_steps = unused_before[len(unused_after) - 1 :]
        _add_stages(stages, used_steps)
        _add_stage(stages, step)
    _add_stages(stages, last_steps)
    return stages or None


def _add_stages(stages: dict[str, list[Any]], steps: Sequence[Retrieval]) -> None:
    """Add a stage with the documents of several steps together; nothing for a single step."""
    if len(steps) > 1:
        _add_stage(stages, Retrieval(_JOINED_STAGE, join_documents(steps)))


def _add_stage(stages: dict[str, list[Any]], step: Retrieval) -> None:
    """Add a step as a stage, under a name that no other stage has."""
    name = step.name
    number = 1
    while name in stages:
        number += 1
        name = f"{step.name} {number}"
    stages[name] = [*wrap_in_list(step.documents)]
