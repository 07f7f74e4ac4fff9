"""The numbers that stand with the hits of a retrieval: ranks, scores, distances and grades, in the hits or in lists beside them.

A name decides what a number means. A name that is not known as a whole may still say that its numbers are an order, or a count.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from numbers import Real
from typing import Any, NamedTuple

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.evaluation.files.formats import unwrap_inner_list
from ctxmetrics.samples.cells import list_in
from ctxmetrics.samples.documents import ID_KEYS, as_list, ids_of, is_missing, text_of, without_score
from ctxmetrics.samples.systems import normalized_key

ORDER_WORDS: Mapping[str, Sequence[str]] = read_data("samples", "keys.json")["order"]
# The kind of a number, by the letters of its name.
_KINDS_BY_NAME: Mapping[str, str] = {
    normalized_key(name): kind
    for kind in ("rank", "position", "rerank", "fused", "score", "distance", "unclear")
    for name in ORDER_WORDS[kind]
}
# The objects of a hit that may hold such numbers. Objects with the stored fields of the document are not among them.
_SCORE_HOLDERS = frozenset(ORDER_WORDS["holders"])
# Prefixes of the name of a list beside the hits. The name of its numbers follows: retrieved_scores.
_LIST_NAME_PREFIXES = sorted(map(normalized_key, ORDER_WORDS["owners"]), key=len, reverse=True)
# Objects of a row that hold lists of numbers beside the hits.
OBJECTS_WITH_LISTS = frozenset(ORDER_WORDS["beside"])
# A hit with one of these keys is of Dify: its "position" is its rank, even in its metadata.
_DIFY_KEYS = frozenset(ORDER_WORDS["marks"])
# Keys of a hit of Milvus, whose distance is a similarity for some indexes.
_MILVUS_HIT_KEYS = frozenset({"entity", "pk"})
# Keys of a context of Vertex AI RAG, whose score is the distance or the similarity, whichever its store has.
_VERTEX_HIT_KEYS = frozenset({"sourceUri", "source_uri"})
# The kinds of numbers that say a rank.
RANK_KINDS = frozenset({"rank", "position", "place"})
# Kinds of numbers whose name is not known as a whole.
GUESSED_KINDS = frozenset({"guess", "count"})
# Names of numbers that are a person's grade if they are small and whole.
GRADE_NAMES = frozenset(map(normalized_key, ORDER_WORDS["grades"]))
# Names of lists of grades of the expected items, and what may stand before them or before the name of one grade.
_GRADE_LIST_NAMES = frozenset(map(normalized_key, ORDER_WORDS["grade_lists"]))
_GRADE_NAME_PREFIXES = sorted(
    map(normalized_key, ORDER_WORDS["owners_of_grades"]), key=len, reverse=True
)
# Names of lists that hold grades only if no retrieved item can have one.
_GENERAL_GRADE_LIST_NAMES = frozenset(map(normalized_key, ORDER_WORDS["general_grade_lists"]))
# The maximum grade in a list.
_MAX_GRADE_OF_LIST = 10
# Words of names that may say an order, although the whole name is not known: ``colbert_score``.
_ORDER_WORDS = frozenset(ORDER_WORDS["words"])
# Those of them that say a place in the source if the name also has a word of the source: ``page_position``, ``chunk_weight``.
_WORDS_OF_SOURCE_ORDER = frozenset(ORDER_WORDS["words_of_places"])
# Names of one word that may count the hits.
_PLACE_WORDS = frozenset({"index", "idx"})
# Words of names of numbers that may count the hits, and words that make them places in a source: ``page_number``.
_NUMBER_WORDS = frozenset(ORDER_WORDS["numbers"])
_SOURCE_WORDS = frozenset(ORDER_WORDS["of_sources"])
# Words of names of fractions that say nothing about the order: ``price``, ``seconds``.
_PROPERTY_WORDS = frozenset(ORDER_WORDS["properties"])
# Words of names of truth values that say which documents were used, or were not.
_FLAG_WORDS = frozenset(ORDER_WORDS["flags"])
# Words of names of lists that choose from the retrieved items, and what they choose.
_CHOICE_NAMES = frozenset(ORDER_WORDS["choices"])
_CHOSEN_VALUES = frozenset(ORDER_WORDS["chosen"])
# Words of names of lists of places.
_PLACE_LIST_WORDS = frozenset({"permutation", "mask"})
# A word of a name: "bm25", "Score", "BM25", "3".
_NAME_WORD = re.compile(r"[A-Z]?[a-z]+\d*|[A-Z]+(?![a-z])\d*|\d+")
# The name of a column for one of several passages, and its number: Score 1, rank_2.
_NUMBERED_COLUMN = re.compile(r"(?P<name>.*?[^\W\d_])[\W_]*(?P<number>\d{1,3})\W*", re.DOTALL)
# The separators between numbers in a text.
_NUMBER_SEPARATOR = re.compile(r"\s*[;|]\s*|,\s+|,(?=\d*\.)|\s+")
# A number in a text, perhaps with ``#`` before it or ``%`` after it.
_NUMBER_AS_TEXT = re.compile(r"\s*\#?([+-]?(?:\d+(?:\.\d*)?|\.\d+|\d+,\d+)(?:[eE][+-]?\d+)?)\s*%?\s*")
# A rank in a text: 1st, 2nd, 3º, 4ème.
_ORDINAL = re.compile(r"\s*(\d+)(?:st|nd|rd|th|er|e|ère|ème|º|ª|°|\.)\s*")
# The maximum depth of nested objects of a hit.
_MAX_DEPTH = 3
# The ends of the paths of objects that hold scores.
_SCORE_OBJECT_ENDINGS = ("scores.", "score.")


class Numbers(NamedTuple):
    """The numbers of one name, one for each hit.

    Attributes:
        name: The name.
        kind: The kind of the numbers.
        values: The numbers; None if a hit has none.
        depth: The number of objects in the hit inside which the numbers stand.
        are_numbers: Whether all values are numbers.
    """

    name: str
    kind: str
    values: list[float | None]
    depth: int
    are_numbers: bool

    @property
    def is_complete(self) -> bool:
        """Whether every hit has a number."""
        return self.are_numbers and None not in self.values

    @property
    def has_values(self) -> bool:
        """Whether any hit has a number."""
        return any(value is not None for value in self.values)

    @property
    def is_lowest_first(self) -> bool:
        """Whether the lowest number stands for the first hit, as a rank does."""
        return self.kind in ("rank", "position", "place", "distance")

    @property
    def places(self) -> tuple[int, ...]:
        """The places of the hits in the order that the numbers say. Equal numbers keep their order."""
        sign = 1 if self.is_lowest_first else -1
        keys = [sign * (value or 0.0) for value in self.values]
        return tuple(sorted(range(len(keys)), key=keys.__getitem__))

    @property
    def agrees_with_list(self) -> bool:
        """Whether the list is in the order that the numbers say."""
        return self.values == sorted(self.values, reverse=not self.is_lowest_first)  # type: ignore[type-var]  # asked of complete numbers only, so no value is None

    @property
    def are_consecutive(self) -> bool:
        """Whether they are the numbers from 0 or 1 on, as many as there are hits, each once."""
        count = len(self.values)
        return {*self.values} in ({*range(count)}, {*range(1, count + 1)})

    def describe(self) -> str:
        """Describe the order in a few words."""
        return f"{self.name} ({'lowest' if self.is_lowest_first else 'highest'} first)"


def last_letters(name: str) -> str:
    """Return the letters of the last part of a path."""
    return normalized_key(name.rpartition(".")[2])


class _NumberCells(NamedTuple):
    """The values of all hits under one name; see `Numbers`."""

    kind: str
    depth: int
    cells: list[Any]


def read_numbers_of_hits(hits: Sequence[Any], *, is_milvus_reply: bool = False) -> list[Numbers]:
    """Read the numbers in the hits that may say their order, by the names under which they stand.

    Args:
        hits: The hits.
        is_milvus_reply: Whether they are a reply of Milvus, which may call a similarity a distance.
    """
    # The numbers by their name in the hits.
    columns: dict[str, _NumberCells] = {}
    if all(map(_has_no_order_key, hits)):  # nearly always
        only_number = _find_only_number(hits)
        return [] if only_number is None else [only_number]
    for index, hit in enumerate(hits):
        if type(hit) is not str:
            _collect_numbers(hit, index, len(hits), columns)
    all_numbers: list[Numbers] = []
    for name, (kind, depth, cells) in columns.items():
        is_unclear = is_milvus_reply and kind == "distance"
        numbers = _read_numbers(name, "unclear" if is_unclear else kind, cells, depth)
        if numbers is not None:
            all_numbers.append(numbers)
    return all_numbers


def _has_no_order_key(hit: Any) -> bool:
    """Tell whether a hit is a text, or a dict without a key that may say its rank. A quick check of the usual case."""
    if type(hit) is not dict:
        return type(hit) is str
    for key, kind in _find_order_keys(tuple(hit)):
        if kind or key == "scores" or (hit[key] and not _has_no_order_key(hit[key])):
            return False
    return True


def _find_only_number(hits: Sequence[Any]) -> Numbers | None:
    """Find the decimal number of each hit, if a hit has exactly one, under an unknown name such as ``bge_m3``.

    Return None if the first hit has a second decimal number, or if a hit has none under that name.
    """
    if not hits or type(hits[0]) is not dict:
        return None
    names: list[str] = []
    for key, value in hits[0].items():
        if type(value) is float and isinstance(key, str) and not names_source(key):
            names.append(key)
    if len(names) != 1:
        return None
    (name,) = names
    values = [hit.get(name) if type(hit) is dict else None for hit in hits]
    return Numbers(name, "guess", values, 0, are_numbers=True) if are_fractions(values) else None


@lru_cache(maxsize=4096)
def names_source(name: str) -> bool:
    """Tell whether the name of a number has a word of the source or of another property of a document, such as ``price``."""
    words = {word.lower() for word in _NAME_WORD.findall(name)}
    return not words.isdisjoint(_SOURCE_WORDS | _PROPERTY_WORDS)


def are_fractions(values: Any) -> bool:
    """Tell whether a value is a list of finite floats, of which at least one is no whole number."""
    if type(values) is not list or not values or type(values[0]) is not float:  # nearly always
        return False
    are_floats = all(type(value) is float and math.isfinite(value) for value in values)
    return are_floats and not all(value.is_integer() for value in values)


def _read_numbers(name: str, kind: str, cells: list[Any], depth: int = 0) -> Numbers | None:
    """Read the numbers of all hits under one name. Return None if no hit has a value there."""
    if all(type(cell) is float for cell in cells):  # nearly always
        values: list[float | None] = [cell if math.isfinite(cell) else None for cell in cells]
        is_empty = all(value is None for value in values)
        return None if is_empty else Numbers(name, kind, values, depth, are_numbers=True)
    values = [*map(to_number, cells)]
    are_empty = [*map(_lacks, cells)]
    if all(are_empty):
        return None
    are_numbers = all(
        value is not None or is_empty for value, is_empty in zip(values, are_empty, strict=True)
    )
    return Numbers(name, kind, values, depth, are_numbers)


def _collect_numbers(
    hit: Any, hit_index: int, count: int, columns: dict[str, _NumberCells], path: str = ""
) -> None:
    """Add the numbers of a hit, or of an object in it, to the columns of their names.

    Args:
        hit: The hit or the object.
        hit_index: The index of the hit in the list.
        count: The number of hits.
        columns: The columns by their names.
        path: The path of the object in the hit, with a dot at its end; empty for the hit.
    """
    document = hit if type(hit) is dict else without_score(hit)
    if document is not hit:  # a pair of a document and a number
        name = "the number beside a document"
        columns.setdefault(name, _NumberCells("unclear", 0, [None] * count)).cells[hit_index] = hit[1]
    fields = document if hasattr(document, "items") else getattr(document, "__dict__", None)
    if not fields or isinstance(document, str):
        return
    depth = path.count(".")
    for key, kind in _find_order_keys(tuple(fields), is_score=path.endswith(_SCORE_OBJECT_ENDINGS)):
        value = fields[key]
        if kind and not hasattr(value, "items"):
            name = f"{path}{key}"
            if name not in columns:
                columns[name] = _NumberCells(_correct_kind(kind, fields, path), depth, [None] * count)
            columns[name].cells[hit_index] = value
        elif depth < _MAX_DEPTH and value and not isinstance(value, str):
            inner = value[0] if isinstance(value, list) and len(value) == 1 else value
            _collect_numbers(inner, hit_index, count, columns, f"{path}{key}.")


def _correct_kind(kind: str, fields: Iterable[Any], path: str) -> str:
    """Correct the kind of a number by the other fields of its object, and by its path."""
    if kind == "distance" and not _MILVUS_HIT_KEYS.isdisjoint(fields):
        return "unclear"  # with the metrics IP and COSINE, Milvus calls a similarity a distance
    if kind == "score" and not _VERTEX_HIT_KEYS.isdisjoint(fields):
        return "unclear"
    if kind == "position" and path and _DIFY_KEYS.isdisjoint(fields):
        return "place"  # it may be the place in the source
    if kind == "score" and path.endswith("rerank."):
        return "rerank"  # as Weaviate has it
    return kind


@lru_cache(maxsize=4096)
def _find_order_keys(
    keys: tuple[Any, ...], *, is_score: bool = False
) -> tuple[tuple[Any, str | None], ...]:
    """Return the keys of a hit whose numbers may say its rank, each with the kind of its numbers. Keys of objects have no kind.

    Args:
        keys: The keys.
        is_score: Whether the keys belong to an object of scores: ``{"scores": {"rerank": .9}}``.
    """
    # Each key, and the kind of its numbers.
    kinds: list[tuple[Any, str | None]] = []
    for key in keys:
        if isinstance(key, str):
            letters = normalized_key(key)
            kind = _KINDS_BY_NAME.get(letters)
            if kind is None and is_score:
                kind = "score" if letters == "value" else _KINDS_BY_NAME.get(f"{letters}score")
            if kind is None:
                kind = _guess_kind(key)
            if kind is not None or key in _SCORE_HOLDERS:
                kinds.append((key, kind))
    return tuple(kinds)


def _guess_kind(name: str) -> str | None:
    """Guess the kind of numbers with an unknown name, by its words: they may say an order, or count the hits."""
    words = {word.lower() for word in _NAME_WORD.findall(name)}
    if words <= _PLACE_WORDS:
        # Only words of a place, which may be that of the text in its source.
        return "count" if words else None
    order_words = {_to_singular(word) for word in words} & _ORDER_WORDS
    if words & _SOURCE_WORDS:
        says_rank = bool(order_words - _WORDS_OF_SOURCE_ORDER)
        return "guess" if says_rank else None
    if order_words:
        return "guess"
    return "count" if words & _NUMBER_WORDS else None


def _to_singular(word: str) -> str:
    """Return a word of a name without the ending of the plural: ``logit`` of logits, ``probability`` of probabilities."""
    return f"{word.removesuffix('ies')}y" if word.endswith("ies") else word.removesuffix("s")


@lru_cache(maxsize=4096)
def find_list_kind(key: Any) -> str | None:
    """Return the kind of the numbers of a list by its key, such as ``retrieved_scores``. Return None for other keys."""
    if not isinstance(key, str):
        return None
    letters = normalized_key(key)
    shorter_names = [
        letters.removeprefix(prefix) for prefix in _LIST_NAME_PREFIXES if letters.startswith(prefix)
    ]
    for name in [letters, *shorter_names]:
        kind = _KINDS_BY_NAME.get(name) or _KINDS_BY_NAME.get(_to_singular(name))
        if kind is not None:
            return kind
    is_guess = _guess_kind(key) == "guess"  # the key may name a score, but that is not certain
    return "guess" if is_guess else None


def read_numbers_beside(
    beside: Mapping[str, Any], hits: Sequence[Any], path: str = ""
) -> Iterator[Numbers]:
    """Yield the numbers that stand beside a list of hits: lists of equal length, or numbers by the ids of the hits."""
    for key, cell in beside.items():
        if not path and key in OBJECTS_WITH_LISTS and hasattr(cell, "items"):
            yield from read_numbers_beside(cell, hits, f"{key}.")
            continue
        kind = None if is_grade_list(key) else find_list_kind(key)
        if kind is None and holds_unknown_fractions(key, cell):
            kind = "guess"
        if kind is None:
            continue
        items = _list_numbers(_take_out_of_list(cell), hits)
        if items is None:
            continue
        if any(letters in normalized_key(key) for letters in GRADE_NAMES):
            kind = "unclear"  # a grade may come from a judge or a person
        numbers = _read_numbers(f"{path}{key}", kind, items)
        if numbers is not None and numbers.has_values:
            yield numbers
    if not path:  # numbered columns stand in the row itself only
        yield from _read_numbered_columns(beside, hits)


def holds_unknown_fractions(key: Any, cell: Any) -> bool:
    """Tell whether a cell is a list of fractions under an unknown name: it may order a list of as many hits."""
    return (
        are_fractions(cell)
        and isinstance(key, str)
        and not is_grade_list(key)
        and not names_source(key)
    )


def _read_numbered_columns(beside: Mapping[str, Any], hits: Sequence[Any]) -> Iterator[Numbers]:
    """Yield the numbers in columns such as ``score_1`` and ``score_2``, one for each hit."""
    for name, kind, columns in _find_numbered_columns(tuple(beside)):
        cells = [beside[column] for column in columns if not _lacks(beside[column])]
        if len(cells) != len(hits):
            continue
        numbers = _read_numbers(name, kind, cells)
        # Columns of that name may also be the texts or ids themselves.
        if numbers is not None and numbers.has_values:
            yield numbers


def _take_out_of_list(cell: Any) -> Any:
    """Return the list that is the only item of a list; else the cell."""
    cells = as_list(cell)
    if isinstance(cells, list) and len(cells) == 1 and isinstance(cells[0], list):
        return cells[0]
    return unwrap_inner_list(cells)


def read_numbers_of_objects(beside: Mapping[str, Any], hits: Sequence[Any]) -> Iterator[Numbers]:
    """Yield the ranks and scores of objects that stand beside texts or ids, one for each: whether they are theirs is unclear."""
    if any(hasattr(hit, "items") for hit in hits):  # documents have numbers of their own
        return
    for key, cell in beside.items():
        objects = unwrap_inner_list(cell) if holds_numbered_objects(cell) else ()
        if len(objects) != len(hits):
            continue
        for numbers in read_numbers_of_hits(objects):
            if numbers.kind in GUESSED_KINDS or not numbers.is_complete:
                continue
            sign = -1 if numbers.is_lowest_first else 1  # the highest first, as of a score
            values: list[float | None] = [sign * (value or 0.0) for value in numbers.values]
            yield numbers._replace(name=f"{key}[]", kind="unclear", values=values)


def holds_numbered_objects(cell: Any) -> bool:
    """Tell whether a cell is a list of objects with ranks or scores."""
    first_item = cell[0] if isinstance(cell, list) and cell else None
    if isinstance(first_item, list) and len(cell) == 1 and first_item:
        first_item = first_item[0]
    return type(first_item) is dict and any(
        kind is not None for _, kind in _find_order_keys(tuple(first_item))
    )


@lru_cache(maxsize=4096)
def _find_numbered_columns(keys: tuple[Any, ...]) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """Find the columns of single numbers, such as ``Score 1`` and ``Score 2``: their name, its kind, and the columns by their numbers."""
    columns: dict[str, dict[int, str]] = {}
    for key in keys:
        match = _NUMBERED_COLUMN.fullmatch(key) if isinstance(key, str) else None
        if match is not None and find_list_kind(match["name"]) is not None:
            columns.setdefault(match["name"], {})[int(match["number"])] = key
    # The name of the columns, the kind of their numbers, and the columns in the order of their numbers.
    numbered_columns: list[tuple[str, str, tuple[str, ...]]] = []
    for name, columns_by_number in columns.items():
        kind = find_list_kind(name)
        if kind is not None and len(columns_by_number) > 1:
            numbered_columns.append(
                (name, kind, tuple(columns_by_number[number] for number in sorted(columns_by_number)))
            )
    return tuple(numbered_columns)


@lru_cache(maxsize=4096)
def is_grade_list(key: Any) -> bool:
    """Tell whether a key names the grades of the expected items, such as ``relevance_grades`` or ``gold_relevance``."""
    letters = normalized_key(key) if isinstance(key, str) else ""
    if letters in _GRADE_LIST_NAMES:
        return True
    for owner in _GRADE_NAME_PREFIXES:
        name = letters.removeprefix(owner)
        if name != letters and (name in _GRADE_LIST_NAMES or name.removesuffix("s") in GRADE_NAMES):
            return True
    return False


@lru_cache(maxsize=4096)
def may_be_grade_list(key: Any) -> bool:
    """Tell whether a list with this key holds grades of the expected items if it has as many items as these, and as no other list."""
    return isinstance(key, str) and normalized_key(key) in _GENERAL_GRADE_LIST_NAMES


def find_grade_lists(
    beside: Mapping[str, Any], count: int, *, is_of_expected: bool
) -> Iterator[tuple[str, list[float] | None]]:
    """Yield the lists of grades that stand beside the expected items: the name of each, and its grades, which are small whole numbers.

    A list that is not certain has None in place of the grades: it holds other values, or may grade what was retrieved.

    Args:
        beside: The values that stand beside the list of the expected items.
        count: The number of expected items.
        is_of_expected: Whether a list of this size cannot be a list of retrieved items.
    """
    for key, cell in beside.items():
        has_certain_name = is_grade_list(key)
        has_possible_name = count > 1 and normalized_key(str(key)) in GRADE_NAMES
        has_general_name = count > 1 and is_of_expected and may_be_grade_list(key)
        if not (has_certain_name or has_possible_name or has_general_name):
            continue
        items = _NUMBER_SEPARATOR.split(cell.strip()) if isinstance(cell, str) else as_list(cell)
        if not isinstance(items, list) or len(items) != count:
            continue
        is_certain = has_certain_name or is_of_expected
        grades = _read_grades(items)
        if grades is None:
            if is_certain:
                yield key, None
        elif any(grade != 1 for grade in grades):  # grades of 1 alone say nothing
            yield key, grades if is_certain else None


def _read_grades(items: Sequence[Any]) -> list[float] | None:
    """Read items as grades, which are small whole numbers; None if an item is something else."""
    grades: list[float] = []
    for item in items:
        number = to_number(item)
        if number is None or not number.is_integer() or number > _MAX_GRADE_OF_LIST:
            return None
        grades.append(number)
    return grades


def find_unread_grade(items: Sequence[Any]) -> str | None:
    """Find small whole numbers that may be the grades of the expected ids, because their name is unknown and they differ.

    Returns:
        Their name, for a note; None if there are none.
    """
    if not items or not all(type(item) is dict and text_of(item) is None for item in items):
        return None
    for key in items[0]:
        if key in ID_KEYS or names_source(str(key)) or says_order(str(key)):
            continue
        numbers = [item.get(key) for item in items]
        are_numbers = all(type(number) in (int, float) for number in numbers)
        if are_numbers and _read_grades(numbers) is not None and len({*numbers}) > 1:
            return f"{str(key)[:40]!r} of the expected ids"
    return None


@lru_cache(maxsize=4096)
def names_choice(key: Any) -> bool:
    """Tell whether a key names a list that may choose from the retrieved items, or order them: ``selected_ids``, ``permutation``."""
    words = {word.lower() for word in _NAME_WORD.findall(key)} if isinstance(key, str) else set()
    if not words.isdisjoint(_PLACE_LIST_WORDS):
        return True
    return not words.isdisjoint(_CHOICE_NAMES) and not words.isdisjoint(_CHOSEN_VALUES)


def is_choice(cell: Any, items: Any) -> bool:
    """Tell whether a cell chooses from a list, or orders it: as places, as truth values, or as some of the items."""
    choices = list_in(cell)
    if not choices or not isinstance(items, list):
        return False
    kinds = {*map(type, choices)}
    if kinds == {bool}:
        return len(choices) == len(items) and not all(choices)
    if kinds == {int}:
        are_places = (
            min(choices) >= 0 and max(choices) <= len(items) and len({*choices}) == len(choices)
        )
        unchanged_orders = ([*range(len(items))], [*range(1, len(items) + 1)])
        return are_places and choices not in unchanged_orders
    return choices != items and all(item in items for item in choices)


def find_flag(hits: Any) -> str | None:
    """Find the name of a truth value that some of the hits have, and others not: ``selected``, ``used_in_prompt``. Return None if there is none."""
    first_hit = hits[0] if isinstance(hits, list) and hits else None
    if type(first_hit) is not dict:
        return None
    for key, value in first_hit.items():
        if type(value) is bool and isinstance(key, str):
            flags = {hit.get(key) for hit in hits if isinstance(hit, dict)}
            words = {word.lower() for word in _NAME_WORD.findall(key)}
            if flags == {True, False} and not words.isdisjoint(_FLAG_WORDS):
                return key
    return None


def may_hold_grades(columns: Iterable[Any]) -> bool:
    """Tell whether a column has the name of a list of grades."""
    return any(is_grade_list(column) or may_be_grade_list(column) for column in columns)


def _list_numbers(cell: Any, hits: Sequence[Any]) -> list[Any] | None:
    """Return a cell as a list with an item for each hit: a list, numbers in a text, or numbers by the ids of the hits."""
    numbers = cell
    if isinstance(cell, str):
        numbers = _NUMBER_SEPARATOR.split(cell.strip())
        if len(numbers) != len(hits):
            numbers = cell.strip().split(",")
    elif hasattr(cell, "items"):
        numbers = _list_numbers_by_hit(cell, hits)
    return numbers if isinstance(numbers, list) and len(numbers) == len(hits) else None


def _list_numbers_by_hit(numbers: Mapping[str, Any], hits: Sequence[Any]) -> list[Any] | None:
    """Return the numbers of an object whose keys are the ids of the hits, or their places, from 0 or 1 on; None for other keys."""
    are_ids = all(isinstance(hit, str) for hit in hits)
    ids = hits if are_ids else ids_of(hits) or ()
    if ids and all(str(id_) in numbers for id_ in ids):
        return [numbers[str(id_)] for id_ in ids]
    first_place = 0 if "0" in numbers else 1
    places = [str(place) for place in range(first_place, first_place + len(hits))]
    if all(place in numbers for place in places):
        return [numbers[place] for place in places]
    return None


def to_number(value: Any) -> float | None:
    """Return a number, also one that is written as text. Return None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (Real, Decimal)):
        try:
            number = float(value)
        except OverflowError:  # an integer of more than 308 digits
            return None
        return number if math.isfinite(number) else None
    if not isinstance(value, str):
        return None
    match = _NUMBER_AS_TEXT.fullmatch(value) or _ORDINAL.fullmatch(value)
    return float(match[1].replace(",", ".")) if match else None


def _lacks(value: Any) -> bool:
    """Tell whether a hit has nothing under a name."""
    return is_missing(value) or value == ""


def says_order(name: str) -> bool:
    """Tell whether the name of a column means ranks, scores or distances."""
    return _KINDS_BY_NAME.get(normalized_key(name)) is not None


def says_rank(name: str) -> bool:
    """Tell whether the name of a column means ranks."""
    return _KINDS_BY_NAME.get(normalized_key(name)) in RANK_KINDS


@lru_cache(maxsize=4096)
def is_numbered(key: Any) -> bool:
    """Tell whether a key names the number of one passage, such as ``Score 1``."""
    match = _NUMBERED_COLUMN.fullmatch(key) if isinstance(key, str) else None
    return match is not None and find_list_kind(match["name"]) is not None
