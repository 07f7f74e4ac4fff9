"""What a retriever returned, read as the retrieved contexts of a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

from ctxmetrics.errors import SampleError
from ctxmetrics.evaluation.files.formats import find_store_answers, unwrap_inner_list
from ctxmetrics.evaluation.files.hit_order import find_order
from ctxmetrics.samples.documents import as_list, first_value_at, look_up, text_of, unscored
from ctxmetrics.samples.sample import Sample

# Where an answer has its list of documents, the likeliest first: ours, LangChain, Haystack, Chroma, LlamaIndex, Qdrant,
# Elasticsearch, Pinecone, Weaviate, Azure.
_LISTS = (
    *("retrieved_contexts", "contexts", "documents", "source_documents", "source_nodes", "nodes"),
    *("points", "hits", "matches", "results", "objects", "passages", "docs", "chunks", "context"),
    *("data", "items", "value", "result", "output", "response"),
)
# Where an answer has the ids of its texts, beside them.
_IDS = ("ids", "retrieved_context_ids")
# Where a document has its score; more is better.
_SCORES = (
    *("score", "_score", "similarity", "relevance_score", "@search.score", "certainty"),
    *("metadata.score", "metadata.relevance_score", "_additional.certainty"),
)
# The most levels of an answer in which a list is looked for.
_DEEPEST = 4
# The fields of a question that its retrieval fills.
_FILLED = ("retrieved_contexts", "retrieved_context_ids", "stages", "searches")
# The fields that are compared with texts.
_READ_AS_TEXT = ("reference", "references", "reference_facts", "reference_contexts", "response")


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What a retriever returned for one question.

    Attributes:
        items: Texts, documents or ids in rank order.
        ids: The ids of texts, where they stand beside them.
        scores: How well each item fits, more is better; None where an item has none.
    """

    items: tuple[Any, ...]
    ids: tuple[Any, ...] | None = None
    scores: tuple[float, ...] | None = None


def read_retrieved(value: Any) -> Retrieved:
    """Read what a retriever returned: a list or anything that holds one.

    The order of a list is the rank, unless each item has a rank of its own; of a mapping from ids to scores, the highest score
    stands first.

    Raises:
        SampleError: It holds no list of texts, documents or ids.
    """
    value = as_list(value)
    if value is None or isinstance(value, str):
        kind = "nothing: None" if value is None else "one text"
        raise SampleError(
            f"The retriever returned {kind}. Return a list of texts or documents, an empty one for nothing."
        )
    if isinstance(value, Mapping) and value and all(_is_score(score) for score in value.values()):
        order = sorted(value.items(), key=lambda pair: -float(pair[1]))
        return Retrieved(
            tuple(id_ for id_, _ in order), None, tuple(float(score) for _, score in order)
        )
    if isinstance(value, (list, tuple)):
        return _read_items(value)
    holder, items = _find_list(value, _DEEPEST)
    if items is None:
        raise SampleError(
            f"The retriever returned a {type(value).__name__} without a list of texts or documents. Return the list."
        )
    ids = next(filter(None, (unwrap_inner_list(as_list(look_up(holder, key))) for key in _IDS)), None)
    read = _read_items(items)
    if isinstance(ids, (list, tuple)) and len(ids) == len(read.items):
        return replace(read, ids=tuple(ids))
    return read


def build_sample(question: Sample, retrieved: Retrieved, k: int) -> Sample:
    """Return the sample of a question with the first k of what was retrieved for it.

    A list of strings are texts, unless the question is about ids alone.

    Raises:
        SampleError: An item is neither a text, a document nor an id.
    """
    fields: dict[str, Any] = dict.fromkeys(_FILLED)
    items = retrieved.items[:k]
    only_ids = question.has("reference_context_ids") and not any(map(question.has, _READ_AS_TEXT))
    if all(isinstance(item, Integral) for item in items) or (
        only_ids and all(isinstance(item, (str, Integral)) for item in items)
    ):
        fields["retrieved_context_ids"] = items
        if not items:
            fields["retrieved_contexts"] = ()
    else:
        fields["retrieved_contexts"] = items
        if retrieved.ids is not None:
            fields["retrieved_context_ids"] = retrieved.ids[:k]
    return replace(question, **fields)


def _read_items(items: Sequence[Any]) -> Retrieved:
    """Read a list of texts, documents or ids, of pairs of one and its score, or of rows of a database."""
    if len(items) == 2 and _is_list(items[0]) and _is_list(items[1]):  # noqa: PLR2004 - documents, and their scores
        documents, scores = items
        if len(documents) == len(scores) and all(map(_is_score, scores)):
            return Retrieved(tuple(documents), None, tuple(map(float, scores)))
    if not isinstance(items, list):
        items = [*items]
    items = unwrap_inner_list(items)
    if items and all(_is_list(item) and unscored(item) is item for item in items):
        row = {"results": [[*item] for item in items]}
        columns = {field: path for path, field in find_store_answers(row, 1).items()}
        if "retrieved_contexts" in columns:
            ids = look_up(row, columns.get("retrieved_context_ids", ""))
            texts = look_up(row, columns["retrieved_contexts"])
            return Retrieved(tuple(texts), tuple(ids) if ids else None)
    # A rank in each item decides. Scores do not: who reorders documents often leaves the scores of the search in them.
    order = find_order(items, {}, "rank")
    if order.places is not None:
        items = [items[place] for place in order.places]
    documents = tuple(unscored(item) for item in items)
    scores = [_find_score(item) for item in items]
    known = [score for score in scores if score is not None]
    all_known = len(known) == len(scores) > 0
    return Retrieved(documents, None, tuple(known) if all_known else None)


def _find_list(value: Any, depth: int) -> tuple[Any, Sequence[Any] | None]:
    """Find the list of documents in an answer, and what holds it; None where there is none, or several may be meant."""
    if not depth or isinstance(value, (str, bytes)):
        return value, None
    for key in _LISTS:
        inner = as_list(look_up(value, key))
        if isinstance(inner, (list, tuple)):
            return value, inner
        if inner is not None and not isinstance(inner, (str, bytes, Real)):
            holder, items = _find_list(inner, depth - 1)
            if items is not None:
                return holder, items
    if isinstance(text_of(value), str):
        return value, [value]
    inside = value.values() if isinstance(value, Mapping) else ()
    lists = [_find_list(item, depth - 1) for item in inside if isinstance(item, Mapping)]
    lists = [pair for pair in lists if pair[1] is not None]
    return lists[0] if len(lists) == 1 else (value, None)


def _find_score(item: Any) -> float | None:
    """Find the score of an item: beside it in a pair, or inside it."""
    document = unscored(item)
    if document is not item:
        return float(item[1])
    if isinstance(item, (str, Integral)):
        return None
    score = first_value_at(item, _SCORES)
    return float(score) if _is_score(score) else None


def _is_list(value: Any) -> bool:
    """Whether a value is a list or a tuple."""
    return isinstance(value, (list, tuple))


def _is_score(value: Any) -> bool:
    """Whether a value is a number."""
    return isinstance(value, Real) and not isinstance(value, bool)
