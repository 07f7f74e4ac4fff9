"""The known files: public data sets, logs of frameworks, and the answers of vector stores and search engines.

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
from ctxmetrics.samples.cells import list_in
from ctxmetrics.samples.documents import (
    HOLDERS,
    first_value_at,
    ids_of,
    leaves,
    look_up,
    text_of,
    without_score,
)
from ctxmetrics.samples.field_keys import TIES
from ctxmetrics.samples.schema import Place, Schema
from ctxmetrics.samples.systems import SCHEMAS

# Keys of objects that show that an item is a hit; ``_additional`` is Weaviate's in GraphQL.
_HIT_KEYS = (*HOLDERS, "_additional")
# The table of the known formats.
_FORMAT_TABLE: Mapping[str, Any] = read_data("evaluation.files", "formats.json")
# The key of a list in a row whose items are the samples.
_SAMPLES_KEY: str = _FORMAT_TABLE["within"]
# The paths in a hit at which its score or rank may stand.
_SCORE_PATHS: tuple[str, ...] = tuple(_FORMAT_TABLE["ranks"])
# The same paths as a set, for look-ups.
_SCORE_PATH_SET = frozenset(_SCORE_PATHS)
# For paths with two steps: the second steps by the first step.
_SCORE_KEYS_BY_OBJECT: dict[str, set[str]] = {}
for _path in _SCORE_PATHS:
    _object_key, _dot, _score_key = _path.partition(".")
    if _dot:
        _SCORE_KEYS_BY_OBJECT.setdefault(_object_key, set()).add(_score_key)
# The maximum number of objects around the hits in an item of a list.
_MAX_DEPTH = 3
# For stores that return a list of texts and a list of ids: the key of the ids by the key of the texts.
_IDS_KEY_BY_TEXTS_KEY: Mapping[str, str] = _FORMAT_TABLE["beside"]
# Names of keys that hold the results of a search.
SEARCH_RESULT_NAMES = re.compile(
    r"""
      retriev | search | result | hit | match | top_?k
    | doc | passage | chunk | context | source | node
    | record | quote | paragraph | snippet | segment
    | point | row | object
    | ^(?:value|data)$
    """,
    re.IGNORECASE | re.VERBOSE,
)

# Names of keys for items that were not retrieved: expected items and distractors.
NAMES_OF_NOT_RETRIEVED = re.compile(
    r"""
      gold | reference | expected | evidence | relevant | positive
    | answer | alias | ground.?truth | negative | distractor | hard
    | supporting | oracle | ideal | target | label | citation
    | (?:^|[\W_]) (?:gt|pos|neg|true|facts?) (?:[\W_]|$)      # as a word of its own
    """,
    re.IGNORECASE | re.VERBOSE,
)


def _read_format(data: Mapping[str, Any]) -> Schema:
    """Read a format of the table as a schema."""
    return Schema(
        places={field: Place("", tuple(paths)) for field, paths in data["fields"].items()},
        carried=frozenset(data.get("carried", ())),
        unanswerable_ids=data.get("unanswerable_ids", ""),
        marks=tuple(data["marks"]),
        absent_marks=tuple(data.get("without", ())),
        passages_of=data.get("passages_of", ""),
        has_runs=data.get("has_runs", False),
    )


# Each format by its name, and every schema that a file may have.
FORMATS: Mapping[str, Schema] = MappingProxyType(
    {name: _read_format(data) for name, data in _FORMAT_TABLE["formats"].items()}
)
ALL_SCHEMAS: Mapping[str, Schema] = MappingProxyType({**SCHEMAS, **FORMATS})


def has_marks(schema: Schema, row: Mapping[str, Any]) -> bool:
    """Tell whether a row has all marks of a format, and none of those that it never has."""
    if not all(look_up(row, mark) is not None for mark in schema.marks):
        return False
    return all(look_up(row, mark) is None for mark in schema.absent_marks)


def holds_samples(row: Mapping[str, Any]) -> bool:
    """Tell whether a row is replaced by the samples that it holds."""
    return bool(list_in(row.get(_SAMPLES_KEY)))


def expand_rows(rows: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield the rows. A row that holds several samples, such as the turns of a conversation, is replaced by these samples."""
    for row_place, row in rows:
        cell = row.get(_SAMPLES_KEY) if isinstance(row, dict) else None
        samples = None if cell is None else list_in(cell)
        if not samples:
            yield row_place, row
            continue
        shared_fields = {key: value for key, value in row.items() if key != _SAMPLES_KEY}
        for number, sample in enumerate(samples, 1):
            where = row_place if len(samples) == 1 else f"{row_place}, turn {number}"
            if isinstance(sample, dict):
                yield where, {**shared_fields, **sample}
            else:
                yield where, sample


def unwrap_inner_list(value: Any) -> Any:
    """Return the only inner list of a list of lists, or the items of inner lists with one item each. Return anything else as it is.

    A store that can answer several questions at once returns a list for each question.
    """
    if not isinstance(value, list) or not value:
        return value
    if not all(map(_is_inner_list, value)):
        return value
    if len(value) == 1:
        return value[0]
    return [item[0] for item in value] if all(len(item) == 1 for item in value) else value


def _is_inner_list(item: Any) -> bool:
    """Tell whether an item is a list, but no pair of a document and its score."""
    return isinstance(item, list) and without_score(item) is item


def find_store_answers(row: Mapping[str, Any], depth: int) -> dict[str, str]:
    """Find the paths in a row at which a store or search engine returned texts or ids, each with its field."""
    fields: dict[str, str] = {}
    for path, value in leaves(row, depth):
        items = unwrap_inner_list(value)
        if not isinstance(items, list) or not items:
            continue
        if all(_is_hit(item, path) for item in items):
            fields[path] = "retrieved_contexts"
        else:
            fields |= _find_inner_hits(items, path)
        fields |= _find_tuple_columns(items, path)
        fields |= texts_beside_ids(row, path)
    return fields


def _find_inner_hits(items: list[Any], path: str) -> dict[str, str]:
    """Find the path of a list of hits within the items of a list, such as the choices of a model. The result is empty if there are several."""
    fields: dict[str, str] = {}
    for item in items:
        if not isinstance(item, dict):
            return {}
        for key, value in leaves(item, _MAX_DEPTH):
            inner = f"{path}[].{key}[]"
            if isinstance(value, list) and value and all(_is_hit(hit, inner) for hit in value):
                if inner in fields:  # several searches
                    return {}
                fields[inner] = "retrieved_contexts"
    return fields


def _find_tuple_columns(items: list[Any], path: str) -> dict[str, str]:
    """Find the texts and ids in rows of a database: tuples with one text, one score, and perhaps an id."""
    if not all(isinstance(item, list) and len(item) == len(items[0]) for item in items):
        return {}
    columns = [*zip(*items, strict=True)]
    text_places: list[int] = []
    score_places: list[int] = []
    id_places: list[int] = []
    for index, column in enumerate(columns):
        if all(map(_is_prose, column)):
            text_places.append(index)
        elif all(type(value) is float for value in column):
            score_places.append(index)
        elif all(map(_is_id, column)) and len({*column}) == len(items):
            id_places.append(index)
    if len(text_places) != 1 or len(score_places) != 1:
        return {}
    fields = {f"{path}[][{text_places[0]}]": "retrieved_contexts"}
    if len(id_places) == 1:
        fields[f"{path}[][{id_places[0]}]"] = "retrieved_context_ids"
    return fields


def _is_prose(value: Any) -> bool:
    """Tell whether a cell of a database's row is a text of several words."""
    return isinstance(value, str) and " " in value.strip()


def _is_id(value: Any) -> bool:
    """Tell whether a cell of a database's row may be an id."""
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def texts_beside_ids(row: Mapping[str, Any], path: str) -> dict[str, str]:
    """Return the fields of a list of texts at a path and of the list of their ids beside it. The result is empty if there is no such pair."""
    holder_path, _, texts_key = path.rpartition(".")
    ids_key = _IDS_KEY_BY_TEXTS_KEY.get(texts_key)
    if ids_key is None:
        return {}
    ids_path = f"{holder_path}.{ids_key}".removeprefix(".")
    texts = look_up(row, path)
    ids = look_up(row, ids_path)
    are_nested = all(isinstance(value, list) and len(value) == 1 for value in (texts, ids))
    if not are_nested or not _is_inner_list(texts[0]):
        return {}
    if len(unwrap_inner_list(texts)) != len(unwrap_inner_list(ids)):
        return {}
    return {path: "retrieved_contexts", ids_path: "retrieved_context_ids"}


def find_ties(items: Any, keys: tuple[str, ...]) -> dict[str, Any]:
    """Return, as metadata, the ids of neighbouring hits with equal scores. The result is empty if there are none."""
    if not isinstance(items, list):
        return {}
    scores: list[Any] = []
    for hit in items:
        score = first_value_at(hit, _SCORE_PATHS) if _may_have_score(hit) else None
        # The check for Real alone would be slow.
        if score is None or not isinstance(score, (float, Real)):
            return {}
        scores.append(score)
    ids = ids_of(items, keys) if len({*scores}) < len(scores) else None
    return group_ties(zip(scores, ids, strict=True)) if ids else {}


def _may_have_score(hit: Any) -> bool:
    """Tell whether a hit may have a score. It is a quick look at dicts."""
    if type(hit) is not dict:
        return hasattr(hit, "items")
    if not _SCORE_PATH_SET.isdisjoint(hit):
        return True
    for head, names in _SCORE_KEYS_BY_OBJECT.items():
        holder = hit.get(head)
        if holder is not None and (type(holder) is not dict or not names.isdisjoint(holder)):
            return True
    return False


def group_ties(ranking: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
    """Return, as metadata, the ids with equal scores from pairs of score and id in the order of the ranks."""
    groups: list[list[str]] = []
    for _, pairs in groupby(ranking, key=itemgetter(0)):
        ids = [str(id_) for _, id_ in pairs]
        if len(ids) > 1:
            groups.append(ids)
    return {TIES: groups} if groups else {}


def _is_hit(item: Any, path: str) -> bool:
    """Tell whether an item of a list is a hit of a search: it has a text, and a score or an object that only hits have."""
    if not isinstance(item, dict) or not isinstance(text_of(item), str):
        return False
    has_hit_object = any(isinstance(item.get(key), dict) for key in _HIT_KEYS)
    has_score = isinstance(first_value_at(item, _SCORE_PATHS), Real)
    if has_hit_object:
        return has_score or "metadata" not in item
    return has_score and bool(SEARCH_RESULT_NAMES.search(path))
