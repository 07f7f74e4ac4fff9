"""What the retrievers and rerankers of one record or trace handed on, as stages of a retrieval."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, takewhile
from typing import Any, NamedTuple

from ctxmetrics.samples.cells import object_in
from ctxmetrics.samples.conversations import read_search, to_output
from ctxmetrics.samples.documents import text_of, to_list, unscored

# Kinds of the spans of retrievers, in small letters: MLflow, LangSmith, OpenInference, OpenTelemetry GenAI, Langfuse.
RETRIEVERS = frozenset({"retriever", "retrieval"})
# Kinds of the spans of rerankers.
_RERANKERS = frozenset({"reranker", "rerank"})
# The name of the stage that joins what several steps found.
_JOINED_STAGE = "joined"


class Retrieval(NamedTuple):
    """What one step of a retrieval handed on.

    Attributes:
        name: Its name.
        documents: What it handed on; None where that is not known.
        reranks: Whether it chose from what steps before it found.
        retrieves: Whether its kind says that it is a retriever.
        query: What it was asked for; None where that is not known.
    """

    name: str
    documents: Any
    reranks: bool = False
    retrieves: bool = True
    query: str | None = None


def retrieval_of(kind: Any, name: Any, find: Callable[[], Any], query: Any = None) -> Retrieval | None:
    """Return what a span of a trace handed on; None where it is neither a retriever nor a reranker.

    A reranker is recognised by its kind. A retriever, or a span of another kind from which documents
    came, is a reranker where its name contains ``rerank``.

    Args:
        kind: What the span says it is.
        name: Its name; without one, it is called by its kind.
        find: Returns what came out; called for spans that may be one of them.
        query: What it was asked for.
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
    """Return what the span of a tool found; None where the tool does not search."""
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
        if isinstance(unscored(item), str) or not isinstance(text_of(item), str):
            return False
    return True


def handed_on(steps: Iterable[Retrieval]) -> list[Retrieval]:
    """Return the steps that no later reranker chose from: what they found, joined, is what was retrieved.

    A reranker chose from what was found since the reranker before it; where it hands on a text that is
    not among these, it chose from all before it.

    Args:
        steps: The steps in the order of time.
    """
    remaining: list[Retrieval] = []
    for step in steps:
        if step.reranks:
            # The steps since the reranker before it.
            latest = [*takewhile(lambda earlier: not earlier.reranks, reversed(remaining))]
            chose_from_latest = bool(latest) and _texts_of([step]) <= _texts_of(latest)
            remaining = remaining[: -len(latest)] if chose_from_latest else []
        remaining.append(step)
    return remaining


def to_searches(steps: Iterable[Retrieval]) -> list[dict[str, Any]] | None:
    """Return what retrievers found that were asked different questions; None where they were asked one, or a reranker chose."""
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
        texts.update(str(text_of(item)) for item in to_list(step.documents or ()))
    return texts


def join_documents(steps: Iterable[Retrieval]) -> list[Any]:
    """Return the documents of several steps; repeated ones stay."""
    return [*chain.from_iterable(to_list(step.documents) for step in steps)]


def to_stages(steps: Sequence[Retrieval]) -> dict[str, list[Any]] | None:
    """Return what each step handed on, in order; the last stage is what was retrieved.

    Where a reranker chose from several steps, what they found is a stage before it: none of them dropped what another
    found. Repeated names get a number. A step that does not say what it found is no stage. None for a single stage, and
    where it is not known what was retrieved.
    """
    last_steps = handed_on(steps)
    known = [step for step in steps if step.documents is not None]
    if len(known) == 1 or any(step.documents is None for step in last_steps):
        return None
    stages: dict[str, list[Any]] = {}
    for end, step in enumerate(known):
        before = handed_on(known[:end])
        after = handed_on(known[: end + 1])
        chosen_from = before[len(after) - 1 :]
        _add_stages(stages, chosen_from)
        _add_stage(stages, step)
    _add_stages(stages, last_steps)
    return stages or None


def _add_stages(stages: dict[str, list[Any]], pool: Sequence[Retrieval]) -> None:
    """Add a stage for what several steps found together."""
    if len(pool) > 1:
        _add_stage(stages, Retrieval(_JOINED_STAGE, join_documents(pool)))


def _add_stage(stages: dict[str, list[Any]], step: Retrieval) -> None:
    """Add a step as a stage, under a name that no other stage has."""
    name = step.name
    number = 1
    while name in stages:
        number += 1
        name = f"{step.name} {number}"
    stages[name] = [*to_list(step.documents)]
