"""What a retriever returned, read as the retrieved contexts of a question."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

from ctxmetrics.errors import SampleError
from ctxmetrics.evaluation.files.formats import find_store_answers, unwrap_inner_list
from ctxmetrics.evaluation.files.hit_order import find_order
from ctxmetrics.samples.documents import as_list, first_value_at, look_up, text_of, unscored
from ctxmetrics.samples.sample import Sample

# The paths of the list of documents in an answer, the likeliest first: ours, LangChain, Haystack, Chroma, LlamaIndex, Qdrant,
# Elasticsearch, Pinecone, Weaviate, Azure.
_DOCUMENT_LIST_PATHS = (
    "retrieved_contexts",
    "contexts",
    "documents",
    "source_documents",
    "source_nodes",
    "nodes",
    "points",
    "hits",
    "matches",
    "results",
    "objects",
    "passages",
    "docs",
    "chunks",
    "context",
    "data",
    "items",
    "value",
    "result",
    "output",
    "response",
)
# The keys of the list of ids beside the list of texts.
_ID_LIST_KEYS = ("ids", "retrieved_context_ids")
# The paths of the score of a document. A higher score is better.
_SCORE_PATHS = (
    "score",
    "_score",
    "similarity",
    "relevance_score",
    "@search.score",
    "certainty",
    "metadata.score",
    "metadata.relevance_score",
    "_additional.certainty",
)
# The maximum number of levels of an answer in which a list is looked for.
_MAX_DEPTH = 4
# The fields of a question that its retrieval fills.
_FIELDS_OF_RETRIEVAL = ("retrieved_contexts", "retrieved_context_ids", "stages", "searches")
# A metric compares these fields with the retrieved texts: ids alone are not enough for it.
_FIELDS_COMPARED_WITH_TEXTS = (
    "reference",
    "references",
    "reference_facts",
    "reference_contexts",
    "response",
)


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The answer of a retriever to one question.

    Attributes:
        items: Texts, documents or ids in rank order.
        ids: The ids of texts, if they stand beside them.
        scores: The score of each item: a higher score is better; None if some item has no score, or one that is not finite.
    """

    items: tuple[Any, ...]
    ids: tuple[Any, ...] | None = None
    scores: tuple[float, ...] | None = None


def read_retrieved(value: Any) -> Retrieved:
    """Read the answer of a retriever: a list, or an object that holds one.

    The order of a list is the rank, unless each item has a rank of its own; of a mapping from ids to scores, the highest score
    stands first. An empty mapping is an empty result.

    Raises:
        SampleError: The answer holds no list of texts, documents or ids, or a mapping has NaN as a score.
    """
    value = as_list(value)
    if value is None or isinstance(value, str):
        answer = "nothing: None" if value is None else "one text"
        raise SampleError(
            f"The retriever returned {answer}. Return a list of texts or documents, an empty one for nothing."
        )
    if isinstance(value, Mapping) and all(_is_score(score) for score in value.values()):
        for id_, score in value.items():
            if math.isnan(score):
                raise SampleError(
                    f"The retriever returned NaN as the score of {id_!r}, which has no rank. Return a number for each, or a list."
                )
        ranked_ids = sorted(value, key=lambda id_: -float(value[id_]))
        return Retrieved(tuple(ranked_ids), None, _to_scores(value[id_] for id_ in ranked_ids))
    if isinstance(value, (list, tuple)):
        return _read_items(value)
    holder, items = _find_list(value, _MAX_DEPTH)
    if items is None:
        raise SampleError(
            f"The retriever returned a {type(value).__name__} without a list of texts or documents. Return the list."
        )
    ids: Any = None
    for key in _ID_LIST_KEYS:
        ids_at_key = unwrap_inner_list(as_list(look_up(holder, key)))
        if ids_at_key:
            ids = ids_at_key
            break
    retrieved = _read_items(items)
    if isinstance(ids, (list, tuple)) and len(ids) == len(retrieved.items):
        return replace(retrieved, ids=tuple(ids))
    return retrieved


def build_sample(question: Sample, retrieved: Retrieved, k: int) -> Sample:
    """Return the sample of a question with the first k items that were retrieved for the question.

    Strings are texts. But if the question has only ids, they are ids.

    Raises:
        SampleError: An item is neither a text, a document nor an id.
    """
    fields: dict[str, Any] = dict.fromkeys(_FIELDS_OF_RETRIEVAL)  # None for each
    items = retrieved.items[:k]
    expects_texts = any(question.has(name) for name in _FIELDS_COMPARED_WITH_TEXTS)
    expects_only_ids = question.has("reference_context_ids") and not expects_texts
    are_numbers = all(isinstance(item, Integral) for item in items)
    may_be_ids = all(isinstance(item, (str, Integral)) for item in items)
    if are_numbers or (expects_only_ids and may_be_ids):
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
    documents_with_scores = _read_two_lists(items)
    if documents_with_scores is not None:
        return documents_with_scores
    if not isinstance(items, list):
        items = [*items]
    items = unwrap_inner_list(items)
    rows = _read_database_rows(items)
    if rows is not None:
        return rows
    # A rank in each item decides. Scores do not: who reorders documents often leaves the scores of the search in them.
    order = find_order(items, {}, "rank")
    if order.places is not None:
        items = [items[index] for index in order.places]
    documents = tuple(unscored(item) for item in items)
    return Retrieved(documents, None, _to_scores(_find_score(item) for item in items))


def _read_two_lists(items: Sequence[Any]) -> Retrieved | None:
    """Read a pair of lists: documents, and their scores. Return None for anything else."""
    is_pair = len(items) == 2 and _is_list(items[0]) and _is_list(items[1])  # noqa: PLR2004 - a pair
    if not is_pair:
        return None
    documents, scores = items
    if len(documents) != len(scores) or not all(_is_score(score) for score in scores):
        return None
    return Retrieved(tuple(documents), None, _to_scores(scores))


def _read_database_rows(items: Sequence[Any]) -> Retrieved | None:
    """Read rows of a database, which are lists or tuples without names. Return None for other items, or if no column is text."""
    for item in items:
        is_scored_document = unscored(item) is not item
        if not _is_list(item) or is_scored_document:
            return None
    if not items:
        return None
    row = {"results": [[_to_float(cell) for cell in item] for item in items]}
    path_by_field = {field: path for path, field in find_store_answers(row, depth=1).items()}
    if "retrieved_contexts" not in path_by_field:
        return None
    ids = look_up(row, path_by_field.get("retrieved_context_ids", ""))
    texts = look_up(row, path_by_field["retrieved_contexts"])
    return Retrieved(tuple(texts), tuple(ids) if ids else None)


def _find_list(value: Any, depth: int) -> tuple[Any, Sequence[Any] | None]:
    """Find the list of documents in an answer, and what holds it. Return None if there is none, or several may be meant."""
    if not depth or isinstance(value, (str, bytes)):
        return value, None
    for key in _DOCUMENT_LIST_PATHS:
        inner = as_list(look_up(value, key))
        if isinstance(inner, (list, tuple)):
            return value, inner
        if inner is not None and not isinstance(inner, (str, bytes, Real)):
            holder, items = _find_list(inner, depth - 1)
            if items is not None:
                return holder, items
    if isinstance(text_of(value), str):
        return value, [value]
    # No usual name leads to a list. Then exactly one of the inner mappings must hold a list.
    inner_mappings: list[Any] = []
    if isinstance(value, Mapping):
        inner_mappings = [inner for inner in value.values() if isinstance(inner, Mapping)]
    matches = [_find_list(inner, depth - 1) for inner in inner_mappings]
    matches = [(holder, items) for holder, items in matches if items is not None]
    return matches[0] if len(matches) == 1 else (value, None)


def _find_score(item: Any) -> float | None:
    """Find the score of an item: beside it in a pair, or inside it."""
    document = unscored(item)
    if document is not item:
        return float(item[1])
    if isinstance(item, (str, Integral)):
        return None
    score = first_value_at(item, _SCORE_PATHS)
    return float(score) if _is_score(score) else None


def _to_scores(scores: Iterable[Any]) -> tuple[float, ...] | None:
    """Return scores as floats. Return None if there is none, or one is missing, NaN or infinite: no threshold can be drawn."""
    floats: list[float] = []
    for score in scores:
        if score is None or not math.isfinite(score):
            return None
        floats.append(float(score))
    return tuple(floats) or None


def _to_float(cell: Any) -> Any:
    """Return a number of a database that has a fraction, such as a Decimal, as a float; return other cells unchanged."""
    return float(cell) if _is_score(cell) and not isinstance(cell, Integral) else cell


def _is_list(value: Any) -> bool:
    """Tell whether a value is a list or a tuple."""
    return isinstance(value, (list, tuple))


def _is_score(value: Any) -> bool:
    """Tell whether a value is a number."""
    return isinstance(value, (Real, Decimal)) and not isinstance(value, bool)
