"""What the retrievers and rerankers of one record or trace handed on, as stages of a retrieval."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, count, takewhile
from typing import Any, NamedTuple

from ctxmetrics.reading.documents import text_of, to_list, unscored

# Kinds of spans, in small letters: MLflow, LangSmith, OpenInference, OpenTelemetry GenAI, Langfuse.
RETRIEVERS = frozenset({"retriever", "retrieval"})
_RERANKERS = frozenset({"reranker", "rerank"})
# The name of the stage that joins what several steps found.
_JOINED = "joined"


class Retrieval(NamedTuple):
    """What one step of a retrieval handed on.

    Attributes:
        name: Its name.
        documents: What it handed on; None where that is not known.
        reranks: Whether it chose from what steps before it found.
        retrieves: Whether its kind says that it is a retriever.
    """

    name: str
    documents: Any
    reranks: bool = False
    retrieves: bool = True


def retrieval_of(kind: Any, name: Any, find: Callable[[], Any]) -> Retrieval | None:
    """Return what a span of a trace handed on; None where it is neither a retriever nor a reranker.

    A reranker is recognised by its kind. A retriever, or a span of another kind from which documents
    came, is a reranker where its name contains ``rerank``.

    Args:
        kind: What the span says it is.
        name: Its name; without one, it is called by its kind.
        find: Returns what came out; called for spans that may be one of them.
    """
    kind = str(kind).lower()
    named = "rerank" in str(name).lower().replace("-", "")
    known = kind in RETRIEVERS | _RERANKERS
    documents = find() if known or named else None
    found = documents if isinstance(documents, (list, tuple)) else [""]  # a text alone is no document
    if not known and not all(
        not isinstance(unscored(item), str) and isinstance(text_of(item), str) for item in found
    ):
        return None
    return Retrieval(str(name or kind), documents, named or kind in _RERANKERS, kind in RETRIEVERS)


def handed_on(steps: Iterable[Retrieval]) -> list[Retrieval]:
    """Return the steps that no later reranker chose from: what they found, joined, is what was retrieved.

    A reranker chose from what was found since the reranker before it; where it hands on a text that is
    not among these, it chose from all before it.

    Args:
        steps: The steps in the order of time.
    """
    left: list[Retrieval] = []
    for step in steps:
        if step.reranks:
            since = [*takewhile(lambda before: not before.reranks, reversed(left))]
            texts = {str(text_of(item)) for before in since for item in to_list(before.documents or ())}
            chosen = {str(text_of(item)) for item in to_list(step.documents or ())}
            left = left[: len(left) - len(since)] if since and chosen <= texts else []
        left.append(step)
    return left


def joined(steps: Iterable[Retrieval]) -> list[Any]:
    """Return the documents of several steps; repeated ones stay."""
    return [*chain.from_iterable(to_list(step.documents) for step in steps)]


def stages_of(steps: Sequence[Retrieval]) -> dict[str, list[Any]] | None:
    """Return what each step handed on, in order; the last stage is what was retrieved.

    Where a reranker chose from several steps, what they found is a stage before it: none of them dropped what another
    found. Repeated names get a number. A step that does not say what it found is no stage. None for a single stage, and
    where it is not known what was retrieved.
    """
    left, known = handed_on(steps), [step for step in steps if step.documents is not None]
    if len(known) == 1 or any(step.documents is None for step in left):
        return None
    # What each step chose from: the steps that are left before it and not after it.
    pools = [
        handed_on(known[:end])[len(handed_on(known[: end + 1])) - 1 :] for end in range(len(known))
    ]
    several = [[Retrieval(_JOINED, joined(pool))] if len(pool) > 1 else [] for pool in [*pools, left]]
    told = [
        *chain.from_iterable([*pool, step] for pool, step in zip(several, known, strict=False)),
        *several[-1],
    ]
    stages: dict[str, list[Any]] = {}
    for step in told:
        names = chain([step.name], (f"{step.name} {number}" for number in count(2)))
        stages[next(name for name in names if name not in stages)] = [*to_list(step.documents)]
    return stages or None
