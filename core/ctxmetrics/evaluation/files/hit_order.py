"""The order of what was retrieved, where fields of the hits or lists beside them say it: ranks, scores, distances.

A name decides what a number means: a rank rises from the first hit on, a score falls, a distance rises. What a reranker says
comes before the score of the search. Where names do not decide, the order of the list stays, and a note says so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from numbers import Real
from typing import Any, Literal, NamedTuple

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.evaluation.files.formats import unwrap_inner_list
from ctxmetrics.samples.documents import as_list, ids_of, is_missing, look_up, unscored
from ctxmetrics.samples.field_names import normalized_key
from ctxmetrics.samples.schema import ORDERED_BY, UNORDERED_BY

# What decides the order: the list itself, ranks, or scores and distances. None: ranks, else scores, else the list.
Order = Literal["given", "rank", "score"]

_WORDS: Mapping[str, Sequence[str]] = read_data("samples", "keys.json")["order"]
# What a number is, by the letters of its name.
_KINDS_BY_NAME: Mapping[str, str] = {
    normalized_key(name): kind
    for kind in ("rank", "position", "rerank", "fused", "score", "distance", "unclear")
    for name in _WORDS[kind]
}
# Objects of a hit in which these may stand: not those with the stored fields of the document.
_SCORE_HOLDERS = frozenset(_WORDS["holders"])
# What the name of a list beside the hits may begin with, before the name of its numbers: retrieved_scores.
_LIST_NAME_PREFIXES = sorted(map(normalized_key, _WORDS["owners"]), key=len, reverse=True)
# Objects of a row that hold lists of numbers beside the hits.
_OBJECTS_WITH_LISTS = frozenset(_WORDS["beside"])
# Keys by which Dify marks a hit, whose position is a rank also in its metadata.
_RANKED_BY_POSITION = frozenset(_WORDS["marks"])
# Keys of a hit of Milvus, whose distance is a similarity for some indexes.
_MILVUS_HIT_KEYS = frozenset({"entity", "pk"})
# Keys of a context of Vertex AI RAG, whose score is the distance or the similarity, whichever its store has.
_VERTEX_HIT_KEYS = frozenset({"sourceUri", "source_uri"})
# The kinds of numbers that say a rank.
_RANKS = frozenset({"rank", "position", "place"})
# The level of each kind of number: numbers of a lower level decide first. Numbers of the last level decide nothing.
_UNDECIDED_LEVEL = 5
_LEVELS: Mapping[str, int] = {
    "rank": 0,
    "position": 1,
    "rerank": 2,
    "fused": 3,
    "score": 4,
    "distance": 4,
    "unclear": _UNDECIDED_LEVEL,
    "guess": _UNDECIDED_LEVEL,
    "count": _UNDECIDED_LEVEL,
    "other": _UNDECIDED_LEVEL,
}
# Kinds of numbers whose name is not known as a whole.
_GUESSES = frozenset({"guess", "count"})
_SCORES = frozenset({"rerank", "fused", "score", "distance", "unclear"})
# Names of numbers that are a person's grade where they are small and whole.
_GRADES = frozenset(map(normalized_key, _WORDS["grades"]))
# Names of lists of grades of what is expected, and what may stand before them or before the name of one grade.
_GRADE_LISTS = frozenset(map(normalized_key, _WORDS["grade_lists"]))
_OWNERS_OF_GRADES = sorted(map(normalized_key, _WORDS["owners_of_grades"]), key=len, reverse=True)
# The highest grade of a list.
_HIGHEST_OF_LIST = 10
# The highest number that may be a person's grade.
_HIGHEST_GRADE = 5
# What a reranker's answer is called.
_RERANKER_ANSWER_NAMES = frozenset(map(normalized_key, _WORDS["answers"]))
# Words of names that may say an order, although the whole name is not known: ``colbert_score``.
_ORDER_WORDS = frozenset(_WORDS["words"])
# Words of names of numbers that may count the hits, and words that make them places in a source: ``page_number``.
_NUMBER_WORDS = frozenset(_WORDS["numbers"])
_SOURCE_WORDS = frozenset(_WORDS["of_sources"])
# A word of a name: small letters and digits, also with one capital before them, or capitals.
_WORD = re.compile(r"[A-Z]?[a-z]+\d*|[A-Z]+(?![a-z])\d*|\d+")
# The name of a column for one of several passages, and its number: Score 1, rank_2.
_NUMBERED = re.compile(r"(?P<name>.*?[^\W\d_])[\W_]*(?P<number>\d{1,3})\W*", re.DOTALL)
# What stands between numbers in a text.
_BETWEEN = re.compile(r"\s*[;|]\s*|,\s+|,(?=\d*\.)|\s+")
# A number in a text, perhaps with ``#`` before it or ``%`` behind it.
_NUMBER = re.compile(r"\s*\#?([+-]?(?:\d+(?:\.\d*)?|\.\d+|\d+,\d+)(?:[eE][+-]?\d+)?)\s*%?\s*")
# What the names of numbers hold of which the lowest comes first.
_LOWEST_FIRST = ("dist", "position", "rank", "euclid")
# How many objects of a hit may stand in each other.
_DEEPEST = 3
# The ends of the paths of objects that hold scores.
_SCORE_OBJECTS = ("scores.", "score.")


class Numbers(NamedTuple):
    """The numbers of one name, one for each hit.

    Attributes:
        name: The name.
        kind: What they are.
        values: The numbers; None where a hit has none.
        depth: In how many objects of the hit they stand.
        are_numbers: Whether all of them are numbers.
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
    def is_lowest_first(self) -> bool:
        """Whether the lowest number stands for the first hit, as a rank does."""
        return self.kind in ("rank", "position", "place", "distance")

    @property
    def places(self) -> tuple[int, ...]:
        """The places of the hits in the order that the numbers say; equal ones stay as they are."""
        sign = 1 if self.is_lowest_first else -1
        keys = [sign * (value or 0.0) for value in self.values]
        return tuple(sorted(range(len(keys)), key=keys.__getitem__))

    @property
    def agrees_with_list(self) -> bool:
        """Whether the list is in the order that the numbers say."""
        return self.values == sorted(self.values, reverse=not self.is_lowest_first)  # type: ignore[type-var]  # asked of complete numbers only, so no value is None

    @property
    def count_hits(self) -> bool:
        """Whether they are the numbers from 1 to the number of hits, each once."""
        return {*self.values} == {*range(1, len(self.values) + 1)}

    def describe(self) -> str:
        """Describe the order in a few words."""
        return f"{self.name} ({'lowest' if self.is_lowest_first else 'highest'} first)"


class HitOrder(NamedTuple):
    """The order of the hits of a list.

    Attributes:
        places: Their places in the list, in the order that counts; None: the order of the list.
        decided_by: What says so.
        unclear: What may say otherwise, and why it does not count; empty where nothing does.
        scores: The numbers that put them in order, for ties; None where these are no scores.
        size: How many they are.
        is_missing: Whether an option asks for numbers that no hit has.
    """

    places: tuple[int, ...] | None = None
    decided_by: str = ""
    unclear: str = ""
    scores: list[float | None] | None = None
    size: int = 0
    is_missing: bool = False

    @property
    def weight(self) -> int:
        """How much the numbers say about the order, from 0 to 3; of two lists that are pairs, the higher one counts."""
        if self.decided_by:  # another order than the list's
            return 3
        if self.scores:  # the order of the list
            return 2
        return 1 if self.unclear else 0


_AS_LISTED = HitOrder()


def find_order(hits: Any, beside: Mapping[str, Any], order: Order | None = None) -> HitOrder:
    """Find the order of a list of hits.

    Args:
        hits: Texts, ids, documents, or pairs of a document and a number.
        beside: What stands beside the list: lists of numbers, or what a reranker answered.
        order: What decides.
    """
    if order == "given" or not isinstance(hits, (list, tuple)) or len(hits) < 2:  # noqa: PLR2004 - a single hit has no order
        return _AS_LISTED
    if order != "rank":
        answer = _find_reranker_order(beside, hits)
        if answer is not None:
            return answer._replace(size=len(hits))
    is_milvus_reply = "code" in beside and "data" in beside  # see `_MILVUS_HIT_KEYS`
    all_numbers = _read_numbers_of_hits(hits, is_milvus_reply=is_milvus_reply)
    if beside:
        all_numbers += _read_numbers_beside(beside, hits)
    all_numbers = _check_guesses(all_numbers, order)
    if order is not None:
        kinds = _RANKS if order == "rank" else _SCORES
        all_numbers = [_apply_option(numbers) for numbers in all_numbers if numbers.kind in kinds]
        if not all_numbers:
            return HitOrder(unclear=f"no {order} stands with them (--order {order})", is_missing=True)
    if not all_numbers:
        return _AS_LISTED
    return _decide(all_numbers)._replace(size=len(hits))


def choose_order(orders: Iterable[HitOrder]) -> HitOrder:
    """Choose the order of highest weight, for lists whose items are pairs, such as texts and their ids."""
    chosen = _AS_LISTED
    for order in orders:
        if order.weight > chosen.weight:
            chosen = order
        elif order.decided_by and order.places != chosen.places:
            return HitOrder(unclear=f"{chosen.decided_by} and {order.decided_by} (they differ)")
    return chosen


def _check_guesses(all_numbers: list[Numbers], order: Order | None) -> list[Numbers]:
    """Drop the numbers of unknown names from which no order can come; an option takes the others only if no name is known."""
    known = [numbers for numbers in all_numbers if numbers.kind not in _GUESSES]
    if len(known) == len(all_numbers) or (order is not None and known):
        return known
    checked: list[Numbers] = []
    for numbers in all_numbers:
        if numbers.kind not in _GUESSES:
            checked.append(numbers)
        elif numbers.is_complete and (numbers.kind == "guess" or numbers.count_hits):
            kind = "rank" if numbers.kind == "count" else "unclear"
            checked.append(numbers if order is None else numbers._replace(kind=kind))
    return checked


def _apply_option(numbers: Numbers) -> Numbers:
    """Return numbers as the kind that ``--order`` asks for: unclear ones are scores, or distances if their name says so."""
    if numbers.kind == "unclear":
        return numbers._replace(kind="distance" if "dist" in numbers.name.lower() else "score")
    return numbers._replace(kind="rank") if numbers.kind in _RANKS else numbers


def _decide(all_numbers: Sequence[Numbers]) -> HitOrder:
    """Decide the order by the first level of `_LEVELS` on which all hits have numbers that agree."""
    levels: dict[int, list[Numbers]] = {}
    for numbers in all_numbers:
        checked = _check_kind(numbers, all_numbers)
        levels.setdefault(_LEVELS[checked.kind], []).append(checked)
    for level in sorted(levels):
        if level == _UNDECIDED_LEVEL:
            return _describe_doubt(levels[level])
        order = _decide_by(levels[level], all_numbers)
        if order is not None:
            return order
    for numbers in all_numbers:
        if (
            numbers.kind in _SCORES and numbers.is_complete
        ):  # equal scores say no order, but there are ties
            return HitOrder(scores=numbers.values)
    return _AS_LISTED


def _decide_by(candidates: Sequence[Numbers], all_numbers: Sequence[Numbers]) -> HitOrder | None:
    """Decide the order by numbers of equal importance (one level of `_LEVELS`); None if they are all equal.

    Numbers of the hits themselves count before numbers of objects in the hits.
    """
    depth = min(numbers.depth for numbers in candidates)
    complete = [numbers for numbers in candidates if numbers.depth == depth and numbers.is_complete]
    if not complete:
        return HitOrder(unclear=f"{candidates[0].name} (not every document has a number there)")
    deciding = [numbers for numbers in complete if len({*numbers.values}) > 1]
    if not deciding:
        return None
    for numbers in deciding:
        if numbers.agrees_with_list:
            return HitOrder(scores=numbers.values if numbers.kind in _SCORES else None)
    first = deciding[0]
    places = first.places
    if any(numbers.places != places for numbers in deciding[1:]):
        names = " and ".join(sorted({numbers.name for numbers in deciding}))
        return HitOrder(unclear=f"{names} (they differ)")
    if _is_contradicted(first, all_numbers):
        return HitOrder(unclear=f"{first.name} (the scores say otherwise)")
    return HitOrder(places, first.describe(), scores=first.values if first.kind in _SCORES else None)


def _describe_doubt(doubtful: Iterable[Numbers]) -> HitOrder:
    """Name the first numbers that may say another order than the list's, but whose meaning is not known."""
    for numbers in doubtful:
        is_doubtful = numbers.kind == "unclear" or numbers.kind in _GUESSES
        if is_doubtful and not _may_agree_with_list(numbers):
            return HitOrder(unclear=f"{numbers.name} (its name does not say whether high is first)")
    return _AS_LISTED


def _check_kind(numbers: Numbers, all_numbers: Sequence[Numbers]) -> Numbers:
    """Correct the kind of numbers that cannot be what their name says; they are then unclear.

    A rank must be a whole number (PostgreSQL's and SQLite's ``rank`` is a score). Positions must count from 0 or 1: else they
    are places in the source. A score of 0 or 1, or a relevance in small whole numbers, may be a person's grade.
    """
    if not numbers.is_complete:
        return numbers
    values = [value for value in numbers.values if value is not None]
    are_whole = all(value.is_integer() and value >= 0 for value in values)
    is_unclear = numbers.kind == "place"  # in the source, or in the list of results
    if numbers.kind == "rank":
        is_unclear = not are_whole
    elif numbers.kind == "position":
        low = min(values)
        is_unclear = low not in (0, 1) or sorted(values) != [low + step for step in range(len(values))]
    elif numbers.kind == "score" and are_whole and len({*values}) > 1:
        highest = _HIGHEST_GRADE if _letters(numbers.name) in _GRADES else 1
        is_unclear = max(values) <= highest
    if not is_unclear:
        return numbers
    has_others = any(other is not numbers and other.kind in _SCORES for other in all_numbers)
    if numbers.kind in ("position", "place") and has_others:
        return numbers._replace(kind="other")
    return numbers._replace(kind="unclear")


def _letters(name: str) -> str:
    """Return the letters of the last part of a path."""
    return normalized_key(name.rpartition(".")[2])


def _is_contradicted(numbers: Numbers, all_numbers: Iterable[Numbers]) -> bool:
    """Whether scores say another order than a position, or than a rank of an object in the hit."""
    if numbers.kind not in _RANKS or (numbers.kind == "rank" and numbers.depth == 0):
        return False
    for other in all_numbers:
        is_score = other.kind in ("rerank", "fused", "score", "distance") and other.is_complete
        says_order = is_score and len({*other.values}) > 1
        if says_order and other.places != numbers.places:
            return True
    return False


def _may_agree_with_list(numbers: Numbers) -> bool:
    """Whether the list may be sorted by numbers of unknown direction: falling, or rising if their name is that of a distance."""
    if not numbers.is_complete:
        return not any(value is not None for value in numbers.values)
    values: list[Any] = numbers.values
    rises = values == sorted(values)
    is_low = any(word in numbers.name.lower() for word in _LOWEST_FIRST)
    if numbers.kind == "count" or (numbers.kind == "guess" and is_low and "score" not in numbers.name):
        return rises
    return (rises and is_low) or values == sorted(values, reverse=True)


class _NumberCells(NamedTuple):
    """The values of all hits under one name; see `Numbers`."""

    kind: str
    depth: int
    cells: list[Any]


def _read_numbers_of_hits(hits: Sequence[Any], *, is_milvus_reply: bool = False) -> list[Numbers]:
    """Read the numbers in the hits that may say their order, by the names under which they stand.

    Args:
        hits: The hits.
        is_milvus_reply: Whether they are a reply of Milvus, which may call a similarity a distance.
    """
    columns: dict[str, _NumberCells] = {}
    if all(map(_has_no_order_key, hits)):  # nearly always
        return []
    for place, hit in enumerate(hits):
        if type(hit) is not str:
            _collect_numbers(hit, place, len(hits), columns)
    all_numbers: list[Numbers] = []
    for name, (kind, depth, cells) in columns.items():
        is_unclear = is_milvus_reply and kind == "distance"
        numbers = _read_numbers(name, "unclear" if is_unclear else kind, cells, depth)
        if numbers is not None:
            all_numbers.append(numbers)
    return all_numbers


def _has_no_order_key(hit: Any) -> bool:
    """Whether a hit is a text, or a dict without a key that may say its rank. A quick check of the usual case."""
    if type(hit) is not dict:
        return type(hit) is str
    for key, kind in _find_order_keys(tuple(hit)):
        if kind or key == "scores" or (hit[key] and not _has_no_order_key(hit[key])):
            return False
    return True


def _read_numbers(name: str, kind: str, cells: list[Any], depth: int = 0) -> Numbers | None:
    """Read the numbers of all hits under one name; None if no hit has a value there."""
    if all(type(cell) is float for cell in cells):  # nearly always
        values: list[float | None] = [cell if math.isfinite(cell) else None for cell in cells]
        is_empty = all(value is None for value in values)
        return None if is_empty else Numbers(name, kind, values, depth, are_numbers=True)
    values = [*map(_to_number, cells)]
    empty = [*map(_lacks, cells)]
    if all(empty):
        return None
    are_numbers = all(
        value is not None or is_empty for value, is_empty in zip(values, empty, strict=True)
    )
    return Numbers(name, kind, values, depth, are_numbers)


def _collect_numbers(
    hit: Any, place: int, count: int, columns: dict[str, _NumberCells], path: str = ""
) -> None:
    """Add the numbers of a hit, or of an object in it, to the columns of their names.

    Args:
        hit: The hit or the object.
        place: The place of the hit in the list.
        count: How many hits there are.
        columns: The columns by their names.
        path: The path of the object in the hit, with a dot at its end; empty for the hit.
    """
    document = hit if type(hit) is dict else unscored(hit)
    if document is not hit:
        name = "the number beside a document"
        columns.setdefault(name, _NumberCells("unclear", 0, [None] * count)).cells[place] = hit[1]
    fields = document if hasattr(document, "items") else getattr(document, "__dict__", None)
    if not fields or isinstance(document, str):
        return
    depth = path.count(".")
    for key, kind in _find_order_keys(tuple(fields), is_score=path.endswith(_SCORE_OBJECTS)):
        value = fields[key]
        if kind and not hasattr(value, "items"):
            name = f"{path}{key}"
            if name not in columns:
                columns[name] = _NumberCells(_correct_kind(kind, fields, path), depth, [None] * count)
            columns[name].cells[place] = value
        elif depth < _DEEPEST and value and not isinstance(value, str):
            inner = value[0] if isinstance(value, list) and len(value) == 1 else value
            _collect_numbers(inner, place, count, columns, f"{path}{key}.")


def _correct_kind(kind: str, fields: Iterable[Any], path: str) -> str:
    """Correct the kind of a number by the other fields of its object, and by its path."""
    if kind == "distance" and not _MILVUS_HIT_KEYS.isdisjoint(fields):
        return "unclear"  # with the metrics IP and COSINE, Milvus calls a similarity a distance
    if kind == "score" and not _VERTEX_HIT_KEYS.isdisjoint(fields):
        return "unclear"
    if kind == "position" and path and _RANKED_BY_POSITION.isdisjoint(fields):
        return "place"  # it may be the place in the source
    if kind == "score" and path.endswith("rerank."):
        return "rerank"  # as Weaviate has it
    return kind


@lru_cache(maxsize=4096)
def _find_order_keys(
    keys: tuple[Any, ...], *, is_score: bool = False
) -> tuple[tuple[Any, str | None], ...]:
    """Return the keys of a hit whose numbers may say its rank, each with its kind, and those of objects, without one.

    Args:
        keys: The keys.
        is_score: Whether they are those of an object of scores: ``{"scores": {"rerank": .9}}``.
    """
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
    """Guess what the numbers of an unknown name are, by its words: a number that may say an order, or that counts the hits."""
    words = {word.lower() for word in _WORD.findall(name)}
    if words & _SOURCE_WORDS:
        return None
    if words & _ORDER_WORDS:
        return "guess"
    return "count" if words & _NUMBER_WORDS else None


@lru_cache(maxsize=4096)
def _find_list_kind(key: Any) -> str | None:
    """Return what the numbers of a list are by its key, such as ``retrieved_scores``; None for anything else."""
    if not isinstance(key, str):
        return None
    letters = normalized_key(key)
    for name in (
        letters,
        *(letters.removeprefix(owner) for owner in _LIST_NAME_PREFIXES if letters.startswith(owner)),
    ):
        singular = f"{name.removesuffix('ies')}y" if name.endswith("ies") else name.removesuffix("s")
        kind = _KINDS_BY_NAME.get(name) or _KINDS_BY_NAME.get(singular)
        if kind is not None:
            return kind
    return "guess" if _guess_kind(key) == "guess" else None


def _read_numbers_beside(
    beside: Mapping[str, Any], hits: Sequence[Any], path: str = ""
) -> Iterator[Numbers]:
    """Yield the numbers that stand beside a list of hits: lists of equal length, or numbers by the ids of the hits."""
    for key, cell in beside.items():
        if not path and key in _OBJECTS_WITH_LISTS and hasattr(cell, "items"):
            yield from _read_numbers_beside(cell, hits, f"{key}.")
            continue
        kind = None if _is_grade_list(key) else _find_list_kind(key)
        if kind is None:
            continue
        cells = as_list(cell)
        is_inner = isinstance(cells, list) and len(cells) == 1 and isinstance(cells[0], list)
        items = _list_numbers(cells[0] if is_inner else unwrap_inner_list(cells), hits)
        if items is None:
            continue
        if any(letters in normalized_key(key) for letters in _GRADES):
            kind = "unclear"  # a judge or a person may have said it
        numbers = _read_numbers(f"{path}{key}", kind, items)
        if numbers is not None and any(value is not None for value in numbers.values):
            yield numbers
    for name, kind, columns in () if path else _find_numbered_columns(tuple(beside)):
        cells = [beside[column] for column in columns if not _lacks(beside[column])]
        if len(cells) == len(hits):
            numbers = _read_numbers(name, kind, cells)
            if numbers is not None:
                yield numbers


@lru_cache(maxsize=4096)
def _find_numbered_columns(keys: tuple[Any, ...]) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """Find the columns of single numbers, such as ``Score 1`` and ``Score 2``: their name, its kind, and the columns by their numbers."""
    columns: dict[str, dict[int, str]] = {}
    for key in keys:
        match = _NUMBERED.fullmatch(key) if isinstance(key, str) else None
        if match is not None and _find_list_kind(match["name"]) is not None:
            columns.setdefault(match["name"], {})[int(match["number"])] = key
    found: list[tuple[str, str, tuple[str, ...]]] = []
    for name, numbered in columns.items():
        kind = _find_list_kind(name)
        if kind is not None and len(numbered) > 1:
            found.append((name, kind, tuple(numbered[number] for number in sorted(numbered))))
    return tuple(found)


@lru_cache(maxsize=4096)
def _is_grade_list(key: Any) -> bool:
    """Whether a key is that of the grades of what is expected, such as ``relevance_grades`` or ``gold_relevance``."""
    letters = normalized_key(key) if isinstance(key, str) else ""
    if letters in _GRADE_LISTS:
        return True
    for owner in _OWNERS_OF_GRADES:
        name = letters.removeprefix(owner)
        if name != letters and (name in _GRADE_LISTS or name.removesuffix("s") in _GRADES):
            return True
    return False


def find_grades_beside(beside: Mapping[str, Any], count: int) -> list[float] | None:
    """Find the list of the grades of what is expected, which stands beside it: small whole numbers; None without one.

    Args:
        beside: What stands beside the list of what is expected.
        count: How many items it has.
    """
    for key, cell in beside.items():
        if not _is_grade_list(key):
            continue
        items = _BETWEEN.split(cell.strip()) if isinstance(cell, str) else as_list(cell)
        if not isinstance(items, list) or len(items) != count:
            continue
        grades = [number for number in map(_to_number, items) if number is not None]
        are_grades = all(grade.is_integer() and grade <= _HIGHEST_OF_LIST for grade in grades)
        if len(grades) == count and are_grades:
            return grades
    return None


def may_hold_grades(columns: Iterable[Any]) -> bool:
    """Whether a column has the name of a list of grades."""
    return any(map(_is_grade_list, columns))


def _list_numbers(cell: Any, hits: Sequence[Any]) -> list[Any] | None:
    """Return a cell as a list with an item for each hit: a list, numbers in a text, or numbers by the ids of the hits."""
    if isinstance(cell, str):
        numbers = _BETWEEN.split(cell.strip())
        cell = numbers if len(numbers) == len(hits) else cell.strip().split(",")
    if hasattr(cell, "items"):
        ids = hits if all(isinstance(hit, str) for hit in hits) else ids_of(hits) or ()
        names = [str(id_) for id_ in ids]
        cell = [cell[name] for name in names] if names and cell.keys() >= {*names} else None
    return cell if isinstance(cell, list) and len(cell) == len(hits) else None


def _find_reranker_order(beside: Mapping[str, Any], hits: Sequence[Any]) -> HitOrder | None:
    """Find the answer of a reranker beside its documents, and return its order; None without one.

    Such an answer holds the places of the documents (``index``) and their scores, but no texts.
    """
    for key, cell in beside.items():
        if normalized_key(str(key)) not in _RERANKER_ANSWER_NAMES:
            continue
        if hasattr(cell, "items"):
            answer = _find_reranker_order(cell, hits)
        elif cell == hits:  # the places in it are those of another list
            continue
        else:
            answer = _read_reranker_answer(str(key), cell, len(hits))
        if answer is not None:
            return answer
    return None


def _read_reranker_answer(name: str, items: Any, count: int) -> HitOrder | None:
    """Read the order of the documents from a reranker's answer; documents that it leaves out were not retrieved."""
    if not isinstance(items, list) or not 0 < len(items) <= count:
        return None
    places: list[Any] = [item.get("index") if isinstance(item, dict) else None for item in items]
    are_places = all(type(place) is int and 0 <= place < count for place in places)
    if not are_places or len({*places}) < len(places):
        return None
    scores = [
        numbers for numbers in _read_numbers_of_hits(items) if numbers.kind in ("rerank", "score")
    ]
    if not scores or not scores[0].is_complete:
        return None
    ordered = tuple(places[place] for place in scores[0].places)
    values: list[float | None] = [None] * count
    for place, value in zip(places, scores[0].values, strict=True):
        values[place] = value
    if ordered == tuple(range(count)):
        return HitOrder(scores=values)
    return HitOrder(ordered, f"{name} (index, {scores[0].name})", scores=values)


def _to_number(value: Any) -> float | None:
    """Return a number, also one that is written as text; None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (Real, Decimal)):
        try:
            number = float(value)
        except OverflowError:  # an integer of more than 308 digits
            return None
        return number if math.isfinite(number) else None
    match = _NUMBER.fullmatch(value) if isinstance(value, str) else None
    return float(match[1].replace(",", ".")) if match else None


def _lacks(value: Any) -> bool:
    """Whether a hit has nothing under a name."""
    return is_missing(value) or value == ""


def arrange(items: Any, places: Sequence[int]) -> Any:
    """Return the items of a list at these places; a list that holds not all of them as it is."""
    if not isinstance(items, (list, tuple)) or len(items) <= max(places):
        return items
    return [items[place] for place in places]


def find_fields_beside(row: Mapping[str, Any], path: str) -> tuple[Mapping[str, Any], Any]:
    """Return the object that holds a list of hits, and the hits.

    Args:
        row: The row.
        path: The path of the list; with ``[]`` it goes on into the items of the list.

    Returns:
        The fields beside the list, and the list if the path goes on into its items, else None.
    """
    list_path, _, inner_path = path.partition("[]")
    hits = look_up(row, list_path) if inner_path or path.endswith("[]") else None
    holder = row
    parent_path = list_path.rpartition(".")[0]
    if list_path not in row and parent_path:
        parent = look_up(row, parent_path)
        holder = parent if hasattr(parent, "items") else {}
    inner_list = inner_path.removeprefix(".").removesuffix("[]")
    if (
        inner_path.endswith("[]")
        and inner_list.isidentifier()
        and isinstance(hits, list)
        and len(hits) > 1
    ):
        return {**holder, **_join_numbers_of_groups(hits, inner_list, list_path)}, hits
    return holder, hits


def _join_numbers_of_groups(groups: Sequence[Any], name: str, path: str) -> dict[str, list[Any]]:
    """Join the numbers beside a list of each group, such as the passages of a file: what they mean is unclear between groups."""
    joined: dict[str, list[Any]] = {}
    first = groups[0] if hasattr(groups[0], "items") else {}
    for key in first:
        cells = [(look_up(group, name), look_up(group, key)) for group in groups]
        are_pairs = all(
            isinstance(items, list) and isinstance(numbers, list) and len(items) == len(numbers)
            for items, numbers in cells
        )
        numbers = [number for _, cell in cells if are_pairs for number in cell]
        if numbers and all(_to_number(number) is not None for number in numbers):
            joined.setdefault(f"score in {path}", numbers)
    return joined


def describe_orders(orders: Iterable[HitOrder]) -> dict[str, str]:
    """Return, for the metadata of a sample, what decided the order of its lists, and what may say another order.

    Of several lists, the first one with something to say counts.
    """
    notes: dict[str, str] = {}
    for order in orders:
        if order.decided_by:
            notes.setdefault(ORDERED_BY, order.decided_by)
        if order.unclear:
            notes.setdefault(UNORDERED_BY, order.unclear)
    return notes


def says_order(name: str) -> bool:
    """Whether the name of a column is that of ranks, scores or distances."""
    return _KINDS_BY_NAME.get(normalized_key(name)) is not None


def says_rank(name: str) -> bool:
    """Whether the name of a column is that of ranks."""
    return _KINDS_BY_NAME.get(normalized_key(name)) in _RANKS


def _is_numbered(key: Any) -> bool:
    """Whether a key is that of the number of one passage, such as ``Score 1``."""
    match = _NUMBERED.fullmatch(key) if isinstance(key, str) else None
    return match is not None and _find_list_kind(match["name"]) is not None


def may_hold_order(row: Mapping[str, Any]) -> bool:
    """Whether a row may have lists of numbers, of grades, or a reranker's answer, by the names of its columns."""
    for key, value in row.items():
        if _find_list_kind(key) is not None or normalized_key(str(key)) in _RERANKER_ANSWER_NAMES:
            return True
        if _is_grade_list(key) or _is_numbered(key):
            return True
        if key in _OBJECTS_WITH_LISTS and hasattr(value, "items") and any(map(_find_list_kind, value)):
            return True
    return False
