"""What the lists of a row hold: ids, documents with their texts and ids, and the grades of what was expected."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from ctxmetrics.errors import SampleError
from ctxmetrics.evaluation.files.cell_values import restore_text
from ctxmetrics.evaluation.files.field_locations import PASSAGE_FIELDS, ListContext
from ctxmetrics.evaluation.files.formats import find_ties, group_ties, unwrap_inner_list
from ctxmetrics.evaluation.files.hit_numbers import (
    find_flag,
    find_grade_lists,
    find_unread_grade,
    is_choice,
    names_choice,
)
from ctxmetrics.evaluation.files.hit_order import is_reranked_list
from ctxmetrics.evaluation.files.list_cells import read_list
from ctxmetrics.evaluation.files.list_order import arrange_retrieved, arrange_stages_and_searches
from ctxmetrics.evaluation.files.passage_lists import split_at
from ctxmetrics.evaluation.files.row_decisions import Reading
from ctxmetrics.samples.cells import list_in
from ctxmetrics.samples.documents import (
    check_single_document,
    describe_degrees,
    grades_of,
    ids_of,
    keep_relevant,
    labels_are_spans,
    list_grade_words,
    own_id,
    text_of,
    wrap_in_list,
)
from ctxmetrics.samples.field_keys import LISTS, NOT_READ, RETRIEVED, TEXTS_OF
from ctxmetrics.samples.pictures import find_media


def read_lists(
    reading: Reading, values: dict[str, Any], list_contexts: Mapping[str, ListContext]
) -> dict[str, Any]:
    """Turn single texts and texts of lists into lists, put the retrieved items in order, and take the ids of documents.

    Args:
        reading: How the rows are read.
        values: The fields.
        list_contexts: The values that stand beside each list of the retrieved items, and the hits that the list was taken from; see `find_fields_beside`.

    Returns:
        Metadata: the numbers that decided the order, a list that may say more and is not read, and the ids with equal scores.
    """
    list_fields = [name for name in values if name in LISTS]
    for name in list_fields:
        values[name] = read_list(reading, values[name], name)
    flag = _find_flag(values, list_contexts)
    order = arrange_retrieved(reading, values, list_contexts)
    order_notes = arrange_stages_and_searches(reading, values, list_contexts, order)
    ties = {}
    if not order.scores:
        hits = values.get("retrieved_context_ids") or values.get("retrieved_contexts")
        ties = find_ties(unwrap_inner_list(hits), reading.schema.id_keys)
    expected = unwrap_inner_list(
        values.get("reference_context_ids") or values.get("reference_contexts")
    )
    for name in list_fields:
        if name in PASSAGE_FIELDS:
            values[name] = _flatten_items(reading, values[name], name)
    _read_documents(reading, values)
    if reading.split is not None and isinstance(values.get("searches"), list):
        values["searches"] = [_split_search(search, reading.split) for search in values["searches"]]
    fields_beside, _ = list_contexts.get("reference_context_ids", ({}, None))
    unread = _add_grades(values, expected, fields_beside)
    unread = unread or _find_unread_list(values, list_contexts) or flag
    if unread is not None:
        order_notes[NOT_READ] = unread
    ids_in_order = values.get("retrieved_context_ids")
    if order.scores and isinstance(ids_in_order, list) and len(ids_in_order) == len(order.scores):
        ties = group_ties(zip(order.scores, ids_in_order, strict=True))
    return {**ties, **order_notes}


def _read_documents(reading: Reading, values: dict[str, Any]) -> None:
    """Make a list of the value of each field of texts, and take the ids of its documents. If the gold is spans, take their spans."""
    ids_are_spans = labels_are_spans(
        values.get("reference_context_ids"), values.get("reference_contexts"), reading.schema.id_keys
    )
    for id_field, text_field in TEXTS_OF.items():
        if text_field not in values:
            continue
        values[text_field] = _list_documents(reading, values[text_field], text_field)
        if id_field not in values:
            documents = keep_relevant(id_field, wrap_in_list(values[text_field]))
            own_ids = ids_of(documents, reading.schema.id_keys, spans=ids_are_spans)
            if own_ids:
                values[id_field] = own_ids
    retrieved = values.get("retrieved_contexts")
    if isinstance(retrieved, list) and values.get("retrieved_context_ids") is not None:
        # The ids were read: the sample needs only the texts of these documents.
        values["retrieved_contexts"] = [_replace_by_text(document) for document in retrieved]


def _add_grades(values: dict[str, Any], expected: Any, fields_beside: Mapping[str, Any]) -> str | None:
    """Add the grades of the expected items to the labels, as qrels have grades. They stand in the items, or in a list beside them.

    Returns:
        The name of a list that may hold the grades, but is not certain; None if there is none.
    """
    labels = values.get("labels") or {}
    if not isinstance(expected, list) or not hasattr(labels, "items") or "relevance" in labels:
        return None
    items = keep_relevant("reference_context_ids", expected)
    ids = values.get("reference_context_ids")
    grades = grades_of(items, ids)
    unread = describe_degrees(list_grade_words(items))
    if not grades and unread is None:
        unread = find_unread_grade(items)
    if not grades and isinstance(ids, list):
        sizes = {len(values[name]) for name in RETRIEVED if isinstance(values.get(name), list)}
        grade_lists = find_grade_lists(fields_beside, len(ids), is_of_expected=len(ids) not in sizes)
        for name, own_grades in grade_lists:
            if own_grades is None:
                unread = name
                continue
            pairs = zip(ids, own_grades, strict=True)
            graded = [{"id": id_, "relevance": grade} for id_, grade in pairs]
            items = keep_relevant("reference_context_ids", graded)
            values["reference_context_ids"] = [item["id"] for item in items]
            grades = grades_of(items, values["reference_context_ids"])
            unread = None
            break
    if grades:
        values["labels"] = {**labels, "relevance": grades}
    return unread


def _find_unread_list(
    values: Mapping[str, Any], list_contexts: Mapping[str, ListContext]
) -> str | None:
    """Find an unread list that a reranker returned or chose from the retrieved items. Return its name, or None if there is none."""
    if values.get("stages") or values.get("searches"):
        return None
    for name in RETRIEVED:
        fields_beside, hits = list_contexts.get(name, ({}, None))
        items = values.get(name)
        for key, cell in fields_beside.items():
            if is_reranked_list(key) and cell and list_in(cell) not in (None, items, hits):
                return key
            if names_choice(key) and is_choice(cell, items if hits is None else hits):
                return key
    return None


def _find_flag(values: Mapping[str, Any], list_contexts: Mapping[str, ListContext]) -> str | None:
    """Describe the key of a truth value that says of each document whether it was used. Return None if there is none."""
    for name in RETRIEVED:
        hits = None
        if name in list_contexts:
            _, hits = list_contexts[name]
        if hits is None:
            hits = values.get(name)
        flag = find_flag(unwrap_inner_list(hits))
        if flag is not None:
            return f"{flag} (not true of every document)"
    return None


def _flatten_items(reading: Reading, value: Any, name: str) -> Any:
    """Flatten inner lists, and replace objects in a list of ids by their ids.

    Raises:
        SampleError: An inner list of expected items has several ids or texts. AutoRAG takes them as alternatives, of which one is
            enough. Here each of them would count.
    """
    items = unwrap_inner_list(value)
    if name.startswith("reference") and items is not value and len(items) > len(value):
        raise SampleError(
            f"has an inner list of {len(items)} alternatives, of which one is enough; here each counts.",
            f"If all are needed, write --map {shlex.quote(f'{reading.mapping.get(name, name)}[][]={name}')}.",
        ).inside(field=name)
    if name in TEXTS_OF and isinstance(items, list) and all(hasattr(item, "items") for item in items):
        keys = reading.schema.id_keys
        have_no_ids = all(own_id(item, keys) is None for item in items)
        return ids_of(keep_relevant(name, items), keys, spans=have_no_ids) or items
    return items


def _list_documents(reading: Reading, documents: Any, name: str) -> Any:
    """Return the documents of a row as a list.

    A document that was printed becomes its text. A text that holds several passages is split.
    """
    if reading.schema.single_string:
        check_single_document(documents, name)
        documents = wrap_in_list(documents)
    if isinstance(documents, (list, tuple)):
        documents = [
            item if type(item) is dict else restore_text(item, name, number)
            for number, item in enumerate(documents, 1)
        ]
    separator = reading.split or reading.schema.joined.get(name)
    if separator is None or not isinstance(documents, list):
        return documents
    if name == "retrieved_contexts" or (name == "reference_contexts" and len(documents) == 1):
        return _split_texts(documents, separator)
    return documents


def _split_texts(documents: list[Any], separator: str) -> list[str]:
    """Split the texts of documents into passages. A document without a text gives no passage."""
    passages: list[str] = []
    for document in documents:
        text = text_of(document)
        if text is not None:
            passages += split_at(text, separator)
    return passages


def _replace_by_text(document: Any) -> Any:
    """Replace a document by its text. A picture, or a document without a text, stays as it is."""
    if type(document) is not dict or find_media(document):
        return document
    text = text_of(document)
    return text if isinstance(text, str) else document


def _split_search(search: Any, separator: str) -> Any:
    """Split the texts of a search into passages. A search with ids stays as it is."""
    if not hasattr(search, "items") or search.get("ids") is not None:
        return search
    documents = search.get("contexts")
    if not documents:
        return search
    return {**search, "contexts": _split_texts(documents, separator)}
