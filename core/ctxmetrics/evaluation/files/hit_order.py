"""The order of the retrieved items, where fields of the hits or lists beside them say it: ranks, scores, distances.

A name decides what a number means: a rank rises from the first hit on, a score falls, a distance rises. What a reranker says
comes before the score of the search. If the names do not decide, the order of the list stays, and a note says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from ctxmetrics.evaluation.files.hit_numbers import (
    GRADE_NAMES,
    GUESSED_KINDS,
    OBJECTS_WITH_LISTS,
    ORDER_WORDS,
    RANK_KINDS,
    Numbers,
    find_list_kind,
    holds_unknown_fractions,
    is_grade_list,
    is_numbered,
    last_letters,
    may_be_grade_list,
    names_choice,
    read_numbers_beside,
    read_numbers_of_hits,
    read_numbers_of_objects,
    to_number,
)
from ctxmetrics.samples.documents import look_up
from ctxmetrics.samples.field_keys import ORDERED_BY, UNORDERED_BY
from ctxmetrics.samples.systems import normalized_key

# The source of the order: the list as given, ranks, or scores and distances. None: ranks, else scores, else the list.
Order = Literal["given", "rank", "score"]
# The level of each kind of number: numbers of a lower level decide first. Numbers of the last level decide nothing.
_UNDECIDED_LEVEL = 5
_LEVEL_BY_KIND: Mapping[str, int] = {
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
_SCORE_KINDS = frozenset({"rerank", "fused", "score", "distance", "unclear"})
# The highest grade that a person gives.
_MAX_GRADE = 5
# The names of a reranker's answer.
_RERANKER_ANSWER_NAMES = frozenset(map(normalized_key, ORDER_WORDS["answers"]))
# Parts of the names of numbers whose lowest value comes first.
_LOWEST_FIRST_NAME_PARTS = ("dist", "position", "rank", "euclid", "place")


class HitOrder(NamedTuple):
    """The order of the hits of a list.

    Attributes:
        places: The indexes of the items in the list, in the decided order; None: the order of the list.
        decided_by: The name of the numbers that decide.
        unclear: Numbers that may say another order, and why they do not count; empty if there are none.
        scores: The numbers that decide the order, for ties; None if these are no scores.
        size: The number of items.
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
        """How much the numbers say about the order, from 0 to 3. Of two lists whose items belong together, the list with the higher weight decides."""
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
        beside: The values that stand beside the list: lists of numbers, or the answer of a reranker.
        order: The source of the order: see `Order`.
    """
    if order == "given" or not isinstance(hits, (list, tuple)) or len(hits) < 2:  # noqa: PLR2004 - a single hit has no order
        return _AS_LISTED
    if order != "rank":
        answer = _find_reranker_order(beside, hits)
        if answer is not None:
            return answer._replace(size=len(hits))
    is_milvus_reply = "code" in beside and "data" in beside  # see `_MILVUS_HIT_KEYS`
    all_numbers = read_numbers_of_hits(hits, is_milvus_reply=is_milvus_reply)
    if beside:
        all_numbers += [*read_numbers_beside(beside, hits), *read_numbers_of_objects(beside, hits)]
    all_numbers = _check_guesses(all_numbers, order)
    if order is not None:
        kinds = RANK_KINDS if order == "rank" else _SCORE_KINDS
        all_numbers = [_apply_option(numbers) for numbers in all_numbers if numbers.kind in kinds]
        if not all_numbers:
            return HitOrder(unclear=f"no {order} stands with them (--order {order})", is_missing=True)
    if not all_numbers:
        return _AS_LISTED
    return _decide(all_numbers)._replace(size=len(hits))


def choose_order(orders: Iterable[HitOrder]) -> HitOrder:
    """Choose the order of highest weight, for lists whose items belong together, such as texts and their ids."""
    best_order = _AS_LISTED
    for order in orders:
        if order.weight > best_order.weight:
            best_order = order
        elif order.decided_by and order.places != best_order.places:
            return HitOrder(unclear=f"{best_order.decided_by} and {order.decided_by} (they differ)")
    return best_order


def _check_guesses(all_numbers: list[Numbers], order: Order | None) -> list[Numbers]:
    """Drop the numbers of unknown names from which no order can come. An option takes the others only if no name is known."""
    with_known_names = [numbers for numbers in all_numbers if numbers.kind not in GUESSED_KINDS]
    has_guesses = len(with_known_names) < len(all_numbers)
    if not has_guesses or (order is not None and with_known_names):
        return with_known_names
    checked: list[Numbers] = []
    for numbers in all_numbers:
        if numbers.kind not in GUESSED_KINDS:
            checked.append(numbers)
            continue
        may_order = numbers.kind == "guess" or numbers.are_consecutive
        if not numbers.is_complete or not may_order:
            continue
        if order is None:
            checked.append(numbers)
        else:
            kind = "rank" if numbers.kind == "count" else "unclear"
            checked.append(numbers._replace(kind=kind))
    return checked


def _apply_option(numbers: Numbers) -> Numbers:
    """Return numbers as the kind that ``--order`` asks for: unclear ones are scores, or distances if their name says so."""
    if numbers.kind == "unclear":
        kind = "distance" if "dist" in numbers.name.lower() else "score"
        return numbers._replace(kind=kind)
    return numbers._replace(kind="rank") if numbers.kind in RANK_KINDS else numbers


def _decide(all_numbers: Sequence[Numbers]) -> HitOrder:
    """Decide the order by the first level of `_LEVEL_BY_KIND` on which all hits have numbers that agree."""
    levels: dict[int, list[Numbers]] = {}
    for numbers in all_numbers:
        checked = _check_kind(numbers, all_numbers)
        levels.setdefault(_LEVEL_BY_KIND[checked.kind], []).append(checked)
    for level in sorted(levels):
        if level == _UNDECIDED_LEVEL:
            return _describe_doubt(levels[level])
        order = _decide_by(levels[level], all_numbers)
        if order is not None:
            return order
    for numbers in all_numbers:
        # Equal scores say no order, but there are ties.
        if numbers.kind in _SCORE_KINDS and numbers.is_complete:
            return HitOrder(scores=numbers.values)
    return _AS_LISTED


def _decide_by(candidates: Sequence[Numbers], all_numbers: Sequence[Numbers]) -> HitOrder | None:
    """Decide the order by numbers of equal importance (one level of `_LEVEL_BY_KIND`). Return None if they are all equal.

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
            return HitOrder(scores=_get_scores(numbers))
    first = deciding[0]
    if any(numbers.places != first.places for numbers in deciding):
        names = " and ".join(sorted({numbers.name for numbers in deciding}))
        return HitOrder(unclear=f"{names} (they differ)")
    if _is_contradicted(first, all_numbers):
        return HitOrder(unclear=f"{first.name} (the scores say otherwise)")
    return HitOrder(first.places, first.describe(), scores=_get_scores(first))


def _get_scores(numbers: Numbers) -> list[float | None] | None:
    """Return numbers that are scores. Return None if they are ranks."""
    return numbers.values if numbers.kind in _SCORE_KINDS else None


def _describe_doubt(doubtful: Iterable[Numbers]) -> HitOrder:
    """Name the first numbers that may say another order than the list's, but whose meaning is not known."""
    for numbers in doubtful:
        is_doubtful = numbers.kind == "unclear" or numbers.kind in GUESSED_KINDS
        if is_doubtful and not _may_agree_with_list(numbers):
            return HitOrder(unclear=f"{numbers.name} (its name does not say whether high is first)")
    return _AS_LISTED


def _check_kind(numbers: Numbers, all_numbers: Sequence[Numbers]) -> Numbers:
    """Correct the kind of numbers whose values do not fit the kind that their name suggests. They become unclear.

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
        lowest = min(values)
        consecutive_numbers = [lowest + step for step in range(len(values))]
        is_unclear = lowest not in (0, 1) or sorted(values) != consecutive_numbers
    elif numbers.kind == "score" and are_whole and len(set(values)) > 1:
        highest_grade = _MAX_GRADE if last_letters(numbers.name) in GRADE_NAMES else 1
        is_unclear = max(values) <= highest_grade
    if not is_unclear:
        return numbers
    has_scores_beside = any(
        other is not numbers and other.kind in _SCORE_KINDS for other in all_numbers
    )
    if numbers.kind in ("position", "place") and has_scores_beside:
        return numbers._replace(kind="other")
    return numbers._replace(kind="unclear")


def _is_contradicted(numbers: Numbers, all_numbers: Iterable[Numbers]) -> bool:
    """Tell whether scores say another order than a position, or than a rank of an object in the hit."""
    if numbers.kind not in RANK_KINDS or (numbers.kind == "rank" and numbers.depth == 0):
        return False
    for other in all_numbers:
        is_score = other.kind in ("rerank", "fused", "score", "distance") and other.is_complete
        says_order = is_score and len({*other.values}) > 1
        if says_order and other.places != numbers.places:
            return True
    return False


def _may_agree_with_list(numbers: Numbers) -> bool:
    """Tell whether the list may be sorted by numbers of unknown direction: falling, or rising if their name means a distance."""
    if not numbers.is_complete:
        return all(value is None for value in numbers.values)
    values: list[Any] = numbers.values
    rises = values == sorted(values)
    falls = values == sorted(values, reverse=True)
    name = numbers.name.lower().replace("rerank", "")  # what a reranker says is no rank
    is_lowest_first = any(part in name for part in _LOWEST_FIRST_NAME_PARTS)
    if numbers.kind == "count":
        return rises
    if numbers.kind == "guess" and is_lowest_first and "score" not in name:
        return rises
    return falls or (rises and is_lowest_first)


def _find_reranker_order(beside: Mapping[str, Any], hits: Sequence[Any]) -> HitOrder | None:
    """Find the answer of a reranker beside its documents, and return its order. Return None if there is none.

    Such an answer holds the places of the documents (``index``) and their scores, but no texts.
    """
    for key, cell in beside.items():
        if normalized_key(str(key)) not in _RERANKER_ANSWER_NAMES:
            continue
        if hasattr(cell, "items"):
            answer = _find_reranker_order(cell, hits)
        elif cell == hits:  # the places refer to another list
            continue
        else:
            answer = _read_reranker_answer(str(key), cell, len(hits))
        if answer is not None:
            return answer
    return None


def _read_reranker_answer(name: str, items: Any, count: int) -> HitOrder | None:
    """Read the order of the documents from a reranker's answer. Documents that it leaves out were not retrieved."""
    if not isinstance(items, list) or not 0 < len(items) <= count:
        return None
    indexes: list[Any] = [item.get("index") if isinstance(item, dict) else None for item in items]
    are_valid = all(type(index) is int and 0 <= index < count for index in indexes)
    if not are_valid or len(set(indexes)) < len(indexes):
        return None
    all_scores = [
        numbers for numbers in read_numbers_of_hits(items) if numbers.kind in ("rerank", "score")
    ]
    if not all_scores or not all_scores[0].is_complete:
        return None
    scores = all_scores[0]
    ordered_indexes = tuple(indexes[place] for place in scores.places)
    score_by_index: list[float | None] = [None] * count
    for index, score in zip(indexes, scores.values, strict=True):
        score_by_index[index] = score
    if ordered_indexes == tuple(range(count)):
        return HitOrder(scores=score_by_index)
    return HitOrder(ordered_indexes, f"{name} (index, {scores.name})", scores=score_by_index)


def arrange(items: Any, places: Sequence[int]) -> Any:
    """Return the items of a list at these places. A list without some of these places is returned as it is."""
    if not isinstance(items, (list, tuple)) or len(items) <= max(places):
        return items
    return [items[place] for place in places]


def find_fields_beside(row: Mapping[str, Any], path: str) -> tuple[Mapping[str, Any], Any]:
    """Return the object that holds a list, and the list if its items are hits.

    Args:
        row: The row.
        path: The path of the list; with ``[]`` it goes on into the items of the list.

    Returns:
        The object, whose other fields stand beside the list; and the list for a path such as ``hits[].text``, else None. For
        ``groups[].hits[].text`` it is None, too: the items of ``groups`` are not hits.
    """
    list_path, _, inner_path = path.partition("[]")
    hits = look_up(row, list_path) if inner_path or path.endswith("[]") else None
    holder = row
    parent_path = list_path.rpartition(".")[0]
    if list_path not in row and parent_path:
        parent = look_up(row, parent_path)
        holder = parent if hasattr(parent, "items") else {}
    inner_list = inner_path.removeprefix(".").removesuffix("[]")
    is_list_in_groups = inner_path.endswith("[]") and inner_list.isidentifier()
    if is_list_in_groups and isinstance(hits, list) and len(hits) > 1:
        return {**holder, **_join_numbers_of_groups(hits, inner_list, list_path)}, None
    if "[]" in inner_path:
        return holder, None
    return holder, hits


def _join_numbers_of_groups(groups: Sequence[Any], list_name: str, path: str) -> dict[str, list[Any]]:
    """Join the numbers that stand beside a list of each group, such as scores or ranks.

    It is unclear whether numbers of different groups can be compared.

    Args:
        groups: Groups of hits, such as files, each with the passages that were found in it.
        list_name: The key of the list in each group.
        path: The path of the groups.

    Returns:
        The numbers of the first key with a number for each item of each group; empty if there is none.
    """
    has_keys = hasattr(groups[0], "items")  # a dict, or a mapping of another library
    keys = groups[0] if has_keys else ()
    for key in keys:
        joined_numbers: list[Any] = []
        for group in groups:
            items = look_up(group, list_name)
            group_numbers = look_up(group, key)
            if not isinstance(items, list) or not isinstance(group_numbers, list):
                break
            if len(items) != len(group_numbers):
                break
            joined_numbers += group_numbers
        else:
            if joined_numbers and all(to_number(number) is not None for number in joined_numbers):
                return {f"score in {path}": joined_numbers}
    return {}


def describe_orders(orders: Iterable[HitOrder]) -> dict[str, str]:
    """Return, for the metadata of a sample, the numbers that decided the order of its lists, and those that may say another order.

    Of several lists, the first one with something to say counts.
    """
    notes: dict[str, str] = {}
    for order in orders:
        if order.decided_by:
            notes.setdefault(ORDERED_BY, order.decided_by)
        if order.unclear:
            notes.setdefault(UNORDERED_BY, order.unclear)
    return notes


@lru_cache(maxsize=4096)
def is_reranked_list(key: Any) -> bool:
    """Tell whether a key names what a reranker returned, such as ``reranked_contexts`` or ``contexts_after_rerank``."""
    if not isinstance(key, str):
        return False
    letters = normalized_key(key)
    if letters.startswith("reranked"):
        return True
    is_rerank = "rerank" in letters and letters not in _RERANKER_ANSWER_NAMES
    return is_rerank and find_list_kind(key) is None


def may_hold_order(row: Mapping[str, Any]) -> bool:
    """Tell whether a row may have lists of numbers, of grades, or a reranker's answer, by the names of its columns."""
    for key, value in row.items():
        if find_list_kind(key) is not None or normalized_key(str(key)) in _RERANKER_ANSWER_NAMES:
            return True
        if is_grade_list(key) or may_be_grade_list(key) or is_numbered(key) or is_reranked_list(key):
            return True
        if key in OBJECTS_WITH_LISTS and hasattr(value, "items") and any(map(find_list_kind, value)):
            return True
        if names_choice(key) and not isinstance(value, (int, float)):
            return True
        if holds_unknown_fractions(key, value):
            return True
    return False
