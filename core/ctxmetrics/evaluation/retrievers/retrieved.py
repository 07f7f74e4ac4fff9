"""What a retriever returned, read as the retrieved contexts of a question."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Integral, Real
from typing import Any
from uuid import UUID

from ctxmetrics.errors import SampleError
from ctxmetrics.evaluation.files.formats import unwrap_inner_list
from ctxmetrics.evaluation.files.hit_order import find_order
from ctxmetrics.samples.documents import as_list, first_value_at, look_up, text_of, without_score
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
    items = unwrap_inner_list([_with_floats(item) for item in items])
    rows = _read_database_rows(items)
    if rows is not None:
        return rows
    # If each item has a rank, the ranks give the order. Scores do not: a reranker often leaves the scores of the search in place.
    order = find_order(items, {}, "rank")
    if order.places is not None:
        items = [items[index] for index in order.places]
    documents = tuple(without_score(item) for item in items)
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
    """Read rows of a database, which are lists or tuples without names: ``(id, text)``, ``(id, title, text, score)``.

    - The texts are the column of strings of which some have several words. Of several such columns it is the longest, if each of
      its cells is the longest of its row and there is a column that is no text; else no column is chosen.
    - The ids are the first column of whole numbers, or of strings without blanks, that are all different, if it stands before the texts or is the
      only one.
    - Scores are not read: a database may return a distance, of which a lower one is better. Return pairs ``(text, score)``.

    Args:
        items: What the retriever returned.

    Returns:
        The texts and ids; None if the items are no rows of one length, or no column of texts can be chosen.
    """
    for item in items:
        is_scored_document = without_score(item) is not item
        if not _is_list(item) or is_scored_document or len(item) != len(items[0]):
            return None
    columns = [*zip(*items, strict=True)]
    text_index = _choose_text_column(columns)
    if text_index is None:
        return None
    id_indexes = [
        index for index, cells in enumerate(columns) if index != text_index and _are_ids(cells)
    ]
    ids: tuple[Any, ...] | None = None
    if id_indexes and (len(id_indexes) == 1 or id_indexes[0] < text_index):
        ids = tuple(str(id_) if isinstance(id_, UUID) else id_ for id_ in columns[id_indexes[0]])
    return Retrieved(columns[text_index], ids)


def _choose_text_column(columns: Sequence[Sequence[Any]]) -> int | None:
    """Choose the column that holds the texts of rows; None if there is none, or several may be meant."""
    prose_indexes: list[int] = []
    for index, cells in enumerate(columns):
        if all(isinstance(cell, str) for cell in cells) and any(" " in cell.strip() for cell in cells):
            prose_indexes.append(index)
    if len(prose_indexes) == 1:
        return prose_indexes[0]
    # Without another column these may be the texts of several questions.
    if not prose_indexes or len(prose_indexes) == len(columns):
        return None
    longest_indexes: set[int] = set()
    for row in zip(*(columns[index] for index in prose_indexes), strict=True):
        lengths = [len(cell) for cell in row]
        longest_indexes.add(prose_indexes[lengths.index(max(lengths))])
    return longest_indexes.pop() if len(longest_indexes) == 1 else None


def _are_ids(cells: Sequence[Any]) -> bool:
    """Tell whether the cells of a column may be ids: whole numbers or strings without blanks, all different."""
    for cell in cells:
        if not isinstance(cell, (str, Integral, UUID)) or isinstance(cell, bool):
            return False
        if isinstance(cell, str) and " " in cell.strip():  # a title
            return False
    return len(set(cells)) == len(cells)


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
    document = without_score(item)
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


def _with_floats(item: Any) -> Any:
    """Return a row or a pair with floats in place of the Decimals of a database; return other items unchanged."""
    if not _is_list(item) or not any(isinstance(cell, Decimal) for cell in item):
        return item
    cells = [float(cell) if isinstance(cell, Decimal) else cell for cell in item]
    return tuple(cells) if isinstance(item, tuple) else cells


def _is_list(value: Any) -> bool:
    """Tell whether a value is a list or a tuple."""
    return isinstance(value, (list, tuple))


def _is_score(value: Any) -> bool:
    """Tell whether a value is a number."""
    return isinstance(value, (Real, Decimal)) and not isinstance(value, bool)
