"""The lists of a row in the order that ranks and scores say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctxmetrics.errors import SampleError
from ctxmetrics.evaluation.files.field_locations import ListContext
from ctxmetrics.evaluation.files.formats import unwrap_inner_list
from ctxmetrics.evaluation.files.hit_order import (
    HitOrder,
    arrange,
    choose_order,
    describe_orders,
    find_order,
)
from ctxmetrics.evaluation.files.list_cells import parse_list
from ctxmetrics.evaluation.files.row_decisions import Reading
from ctxmetrics.samples.documents import as_list
from ctxmetrics.samples.field_keys import RETRIEVED


def arrange_retrieved(
    reading: Reading, values: dict[str, Any], list_contexts: Mapping[str, ListContext]
) -> HitOrder:
    """Put the retrieved texts and ids into the order that ranks or scores of the hits, or lists beside them, say.

    Texts and ids of one length are pairs, and are put in order together.

    Raises:
        SampleError: The ranks or scores that ``order`` asks for are missing.
    """
    if reading.order == "given":
        return HitOrder()
    # The retrieved items of each field.
    items_by_field: dict[str, Any] = {}
    orders: list[HitOrder] = []
    for name in RETRIEVED:
        items = unwrap_inner_list(as_list(values.get(name)))
        if not items or not isinstance(items, (list, tuple)):
            continue
        items_by_field[name] = items
        fields_beside, source = list_contexts.get(name, ({}, None))
        # The objects from which the items were read, if each item has an object. Objects may hold ranks or scores.
        hits = unwrap_inner_list(as_list(source))
        if not isinstance(hits, (list, tuple)) or len(hits) != len(items):
            hits = items
        orders.append(find_order(hits, fields_beside, reading.order))
    order = choose_order(orders)
    if reading.order is not None and order.is_missing:
        raise SampleError(order.unclear, "Leave --order out.").inside(field="retrieved_contexts")
    if order.places is None:
        return order
    for name, items in items_by_field.items():
        if len(items) == order.size:
            values[name] = arrange(items, order.places)
    scores = arrange(order.scores, order.places) if order.scores else None
    return order._replace(scores=scores)


def arrange_stages_and_searches(
    reading: Reading,
    values: dict[str, Any],
    list_contexts: Mapping[str, ListContext],
    retrieved: HitOrder,
) -> dict[str, str]:
    """Sort the documents of stages and searches. Return for the metadata the numbers that decided each order."""
    orders = [retrieved]
    if hasattr(values.get("stages"), "items"):
        values["stages"] = _arrange_stages(reading, values["stages"], orders)
    if "searches" in list_contexts and isinstance(values.get("searches"), list):
        values["searches"] = [_arrange_search(reading, search, orders) for search in values["searches"]]
    return describe_orders(orders)


def _arrange_stages(
    reading: Reading, stages: Mapping[str, Any], orders: list[HitOrder]
) -> dict[str, Any] | None:
    """Sort the documents of each stage. Append each decided order to `orders`.

    A stage without a value is left out; a stage with an empty list stays. Return None if no stage is left.
    """
    # The documents of each stage, sorted.
    sorted_stages: dict[str, Any] = {}
    # The documents of earlier stages, as text: documents cannot be hashed.
    earlier_documents: set[str] = set()
    for name, cell in stages.items():
        documents = as_list(cell)
        if documents in (None, ""):
            continue
        if isinstance(documents, str):
            documents = parse_list(reading, documents, "retrieved_contexts")
        sorted_stages[name] = documents
        if isinstance(documents, list):
            documents_as_text = {*map(repr, documents)}
            # If an earlier stage has all these documents, their scores are from that stage.
            if not documents_as_text <= earlier_documents or not earlier_documents:
                sorted_stages[name] = _arrange_documents(reading, documents, orders)
            earlier_documents |= documents_as_text
    return sorted_stages or None


def _arrange_search(reading: Reading, search: Any, orders: list[HitOrder]) -> Any:
    """Sort the documents of a search. Append the decided order to `orders`."""
    if isinstance(search, list):
        return _arrange_documents(reading, search, orders)
    if not hasattr(search, "items") or search.get("ids") is not None:
        return search
    documents = search.get("contexts")
    if not documents:
        return search
    return {**search, "contexts": _arrange_documents(reading, documents, orders)}


def _arrange_documents(reading: Reading, documents: Any, orders: list[HitOrder]) -> Any:
    """Sort documents by their ranks or scores. Append the decided order to `orders`."""
    order = find_order(documents, {}, "given" if reading.order == "given" else None)
    orders.append(order)
    return documents if order.places is None else arrange(documents, order.places)
