"""What each known file is: public data sets, logs of frameworks, and the answers of vector stores and search engines.

``formats.json`` is the table. A format is a `Schema` with marks: a row is of this format where it has all of them. An answer of
a store is known by what it looks like, whatever column of a row holds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from numbers import Real
from operator import itemgetter
from types import MappingProxyType
from typing import Any

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.reading.cells import list_in
from ctxmetrics.reading.documents import HOLDERS, first_of, ids_of, leaves, look_up, text_of, unscored
from ctxmetrics.reading.schema import Place, Schema, heads_of
from ctxmetrics.reading.systems import SCHEMAS

# The key of a sample's metadata for the ids that were retrieved with equal scores.
TIES = "tied_ids"
# What else shows that an item is a hit: the results of Weaviate's GraphQL.
_HIT_KEYS = (*HOLDERS, "_additional")
_DATA: Mapping[str, Any] = read_data("reading", "formats.json")
# The list of a row whose items are the samples, where a hit says how well it fits, the names of what holds the results of a
# search, and where a store returns texts and ids side by side.
_WITHIN: str = _DATA["within"]
_RANKS: tuple[str, ...] = tuple(_DATA["ranks"])
# The keys with which the path of a score begins.
_RANK_HEADS = heads_of(_RANKS).union(_RANKS)
SEARCHES = re.compile(_DATA["searches"], re.IGNORECASE)
_BESIDE: Mapping[str, str] = _DATA["beside"]


def _read_format(data: Mapping[str, Any]) -> Schema:
    return Schema(
        places={field: Place.of("", paths) for field, paths in data["fields"].items()},
        carried=frozenset(data.get("carried", "").split()),
        marks=tuple(data["marks"].split()),
    )


# Each format by its name, and every schema that a file may have.
FORMATS: Mapping[str, Schema] = MappingProxyType(
    {name: _read_format(data) for name, data in _DATA["formats"].items()}
)
KNOWN: Mapping[str, Schema] = MappingProxyType({**SCHEMAS, **FORMATS})


def matches(schema: Schema, row: Mapping[str, Any]) -> bool:
    """Whether a row has all marks of a format."""
    return all(look_up(row, mark) is not None for mark in schema.marks)


def within(rows: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield the rows; a row that holds samples is replaced by them."""
    for place, row in rows:
        turns = list_in(row.get(_WITHIN)) if isinstance(row, dict) else None
        if not turns:
            yield place, row
            continue
        others = {key: value for key, value in row.items() if key != _WITHIN}
        for number, turn in enumerate(turns, 1):
            where = place if len(turns) == 1 else f"{place}, turn {number}"
            yield where, {**others, **turn} if isinstance(turn, dict) else turn


def unnested(value: Any) -> Any:
    """Return the only inner list of a list of lists, or the items of inner lists of one; anything else as it is.

    A store answers several questions at once, with a list a question.
    """
    if not isinstance(value, list) or not value or not all(map(_is_inner, value)):
        return value
    if len(value) == 1:
        return value[0]
    return [item[0] for item in value] if all(len(item) == 1 for item in value) else value


def _is_inner(item: Any) -> bool:
    """Whether an item is a list, and no pair of a document and its score."""
    return isinstance(item, list) and unscored(item) is item


def answers_in(row: Mapping[str, Any], depth: int) -> dict[str, str]:
    """Return the paths of answers of a store or search engine in a row, each with its field."""
    fields: dict[str, str] = {}
    for path, value in leaves(row, depth):
        items = unnested(value)
        if not isinstance(items, list) or not items:
            continue
        if all(_is_hit(item, path) for item in items):
            fields[path] = "retrieved_contexts"
        fields |= _columns_of_tuples(items, path)
        fields |= texts_beside_ids(row, path)
    return fields


def _columns_of_tuples(items: list[Any], path: str) -> dict[str, str]:
    """Return the paths of the texts and ids of a database's rows: tuples of a text and its score, perhaps with an id."""
    if not all(isinstance(item, list) and len(item) == len(items[0]) for item in items):
        return {}
    columns = [*zip(*items, strict=True)]
    texts = [place for place, column in enumerate(columns) if all(_is_prose(value) for value in column)]
    scores = [
        place for place, column in enumerate(columns) if all(type(value) is float for value in column)
    ]
    if len(texts) != 1 or len(scores) != 1:
        return {}
    fields = {f"{path}[][{texts[0]}]": "retrieved_contexts"}
    ids = [place for place, column in enumerate(columns) if all(_is_id(value) for value in column)]
    ids = [place for place in ids if place not in texts and len({*columns[place]}) == len(items)]
    if len(ids) == 1:
        fields[f"{path}[][{ids[0]}]"] = "retrieved_context_ids"
    return fields


def _is_prose(value: Any) -> bool:
    return isinstance(value, str) and " " in value.strip()


def _is_id(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def texts_beside_ids(row: Mapping[str, Any], path: str) -> dict[str, str]:
    """Return the paths of texts and of their ids, where a path is that of texts which have ids beside them."""
    holder, _, name = path.rpartition(".")
    beside = _BESIDE.get(name)
    if beside is None:
        return {}
    ids_path = f"{holder}.{beside}".removeprefix(".")
    texts, ids = look_up(row, path), look_up(row, ids_path)
    are_nested = all(isinstance(value, list) and len(value) == 1 for value in (texts, ids))
    if not are_nested or not _is_inner(texts[0]) or len(unnested(texts)) != len(unnested(ids)):
        return {}
    return {path: "retrieved_contexts", ids_path: "retrieved_context_ids"}


def find_ties(items: Any, keys: tuple[str, ...]) -> dict[str, Any]:
    """Return the ids of hits in a row that have equal scores, as metadata; empty without any."""
    scores: list[Any] = []
    for hit in items if isinstance(items, list) else ():
        has_score = hasattr(hit, "items") and not (type(hit) is dict and _RANK_HEADS.isdisjoint(hit))
        score = first_of(hit, _RANKS) if has_score else None
        if not isinstance(score, (float, Real)):  # float first: the check for Real is slow
            return {}
        scores.append(score)
    ids = ids_of(items, keys) if len({*scores}) < len(scores) else None
    return group_ties(zip(scores, ids, strict=True)) if ids else {}


def group_ties(ranking: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
    """Return the same of pairs of score and id, in the order of their ranks: a list of ids for each score."""
    groups: list[list[str]] = []
    for _, pairs in groupby(ranking, key=itemgetter(0)):
        ids = [str(id_) for _, id_ in pairs]
        if len(ids) > 1:
            groups.append(ids)
    return {TIES: groups} if groups else {}


def _is_hit(item: Any, path: str) -> bool:
    """Whether an item of a list is what a search returned: it has a rank and a text."""
    if not isinstance(item, dict) or not isinstance(text_of(item), str):
        return False
    holds = any(isinstance(item.get(key), dict) for key in _HIT_KEYS)
    is_ranked = isinstance(first_of(item, _RANKS), Real)
    if holds:
        return is_ranked or "metadata" not in item
    return is_ranked and bool(SEARCHES.search(path))
