"""Headers of columns as people write them: in plain words, with numbers, in other languages; ``headers.json`` lists the words."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.evaluation.files.cell_values import find_fault, is_id_number
from ctxmetrics.evaluation.files.formats import NAMES_OF_NOT_RETRIEVED
from ctxmetrics.evaluation.files.graded_ids import GRADED_FIELD, holds_numbers_by_id
from ctxmetrics.samples.cells import is_list_text, list_in
from ctxmetrics.samples.documents import look_up
from ctxmetrics.samples.field_keys import TEXTS, TEXTS_OF
from ctxmetrics.samples.systems import normalized_key

_DATA: Mapping[str, Any] = read_data("evaluation.files", "headers.json")
# Keys of passages that a set offers as candidates, with whether each is gold.
_CANDIDATE_KEYS: Sequence[str] = _DATA["candidates"]
# The header of one of several passages, and its number: Chunk 1, context_2, Passage #3, doc4, Chunk (5), Chunk 1 text.
_NUMBERED_HEADER = re.compile(
    r"(?P<name>.*?[^\W\d_])[\W_]*(?P<number>\d{1,3})(?:[\W_]+(?:text|content))?\W*",
    re.DOTALL | re.IGNORECASE,
)
# A numbered header with the number first: 1. Chunk, 2nd result.
_HEADER_WITH_LEADING_NUMBER = re.compile(
    r"\W*(?P<number>\d{1,3})(?:st|nd|rd|th)?[\W_]+(?P<name>.*[^\W\d_])\W*", re.DOTALL | re.IGNORECASE
)
# A header with a letter instead of a number: Chunk A.
_LETTERED_HEADER = re.compile(r"(?P<name>.*?[^\W\d_])[\W_]+(?P<letter>[A-Z])\W*", re.DOTALL)
# The minimum number of lettered columns that are passages. Two such columns may hold the results of two systems.
_MIN_LETTERED_COLUMNS = 3
# A value that is only a number, and so no id of a passage.
_NUMBER_ONLY = re.compile(r"\W*[\d.,]+\W*")
# Additions to a header that are no part of the name: its number, a star, the number of passages, a language.
_HEADER_ADDITION = re.compile(
    r"""
    ^\s*\d+[.):]\s+                                  # 1. Question
    | [\s(\[]* \b(?:top|k|n)[\s=@-]*\d+ [)\]\s]*$     # Contexts (top 5), Chunks k=3
    # Context(s), Question (EN), Answer [optional]
    | \s*[(\[] (?:s|[a-z]{2}|english|german|french|spanish|optional|required|text|texts|list) [)\]]\s*$
    | [\s*:]+$                                      # Question*, Answer:
    """,
    re.IGNORECASE | re.VERBOSE,
)
# The minimum number of numbered columns that are passages.
_MIN_NUMBERED_COLUMNS = 2
# The maximum number of characters of the header of a numbered column.
_MAX_HEADER_CHARACTERS = 80


# The maximum number of additions to a header. Each pass drops one: a number, a star, the number of passages, a language.
_MAX_ADDITIONS = 3


@lru_cache(maxsize=4096)
def strip_header(header: str) -> str:
    """Return a header without additions: its number, a star, the number of passages, a language (``1. Question (EN)*``)."""
    stripped = header
    for _ in range(_MAX_ADDITIONS):
        stripped = _HEADER_ADDITION.sub("", stripped)
    return stripped


@cache
def foreign_keys() -> Mapping[str, str]:
    """Return the keys of a schema by the letters of their names in other languages."""
    names: dict[str, str] = {}
    for key, words in _DATA["headers"].items():
        names |= {normalized_key(word): key for word in words}
    return names


@cache
def _fields_by_letters() -> Mapping[str, str]:
    """Return the field of each plain header, by the letters of the header."""
    fields: dict[str, str] = {}
    for field, words in _DATA["plain"].items():
        fields |= {normalized_key(word): field for word in words}
    return fields


@cache
def _letters_of_passages() -> frozenset[str]:
    """Return what stands before the number in the header of a passage, by its letters: ``chunk`` of ``Chunk 1``."""
    names = [normalized_key(name) for name in _DATA["passages"]]
    words_before = [normalized_key(word) for word in _DATA["before"]]
    words_after = [normalized_key(word) for word in _DATA["after"]]
    headers = {*names, *words_before}
    for name in names:
        headers.update(word + name for word in words_before)
        headers.update(name + word for word in words_after)
    return frozenset(headers)


def is_passage_header(header: str) -> bool:
    """Tell whether a header without a number is the name of one passage: ``Chunk``, ``Found passage``."""
    return normalized_key(strip_header(header)) in _letters_of_passages()


def find_plain_field(header: str, value: Any) -> str | None:
    """Return the field that a header in plain words means, if a value may be the field's. Return None otherwise."""
    fields = _fields_by_letters()
    field = fields.get(normalized_key(header)) or fields.get(normalized_key(strip_header(header)))
    if field is None or isinstance(value, str):
        return field
    if field == GRADED_FIELD and holds_numbers_by_id(value):
        return field
    if field in TEXTS_OF and is_id_number(value):
        return field
    items = list_in(value)
    if items is not None and any(
        look_up(item, key) is not None for item in items for key in _CANDIDATE_KEYS
    ):
        return None  # candidates of a data set, which no retriever returned
    if field in TEXTS:
        return None if hasattr(value, "items") else field
    return None if find_fault(items, field) else field


def find_numbered_columns(
    row: Mapping[str, Any], columns: Collection[str], *, has_expected_ids: bool = False
) -> dict[str, str]:
    """Return the columns of single passages, such as ``Chunk 1`` to ``Chunk 4``, in the order of their numbers, with their field.

    Args:
        row: The first rows as one.
        columns: The columns that are a field already.
        has_expected_ids: Whether the rows have expected ids. If so, the single passages may also be ids.
    """
    columns_by_name: dict[str, dict[int, str]] = {}
    for name, columns_by_number in _list_numbered_columns(row, columns).items():
        are_lettered = min(columns_by_number) >= ord("A")
        min_columns = _MIN_LETTERED_COLUMNS if are_lettered else _MIN_NUMBERED_COLUMNS
        if len(columns_by_number) < min_columns:
            continue
        may_be_ids = has_expected_ids and _are_ids(row, columns_by_number)
        if may_be_ids or _are_prose(row, columns_by_number):
            columns_by_name[name] = columns_by_number
    if len(columns_by_name) > 1:  # one of them may be the sources of the passages
        for source_name in _DATA["sources"]:
            columns_by_name.pop(normalized_key(source_name), None)
    if len(columns_by_name) != 1:  # nothing says which of two was retrieved
        return {}
    columns_by_number = next(iter(columns_by_name.values()))
    field = "retrieved_contexts" if _are_prose(row, columns_by_number) else "retrieved_context_ids"
    return {columns_by_number[number]: field for number in sorted(columns_by_number)}


def _list_numbered_columns(
    row: Mapping[str, Any], columns: Collection[str]
) -> dict[str, dict[int, str]]:
    """List the text columns that may be numbered passages: for each name, such as "chunk", its columns by their numbers."""
    columns_by_name: dict[str, dict[int, str]] = {}
    for column, value in row.items():
        if column in columns or not isinstance(value, str) or is_list_text(value):
            continue
        match = _match_numbered_header(column)
        if match is None or NAMES_OF_NOT_RETRIEVED.search(column):
            continue
        groups = match.groupdict()
        number = ord(match["letter"]) if "letter" in groups else int(match["number"])
        name = normalized_key(match["name"])
        if name in _letters_of_passages():
            # Of two columns with one number, the first counts.
            columns_by_name.setdefault(name, {}).setdefault(number, column)
    return columns_by_name


def _match_numbered_header(column: str) -> re.Match[str] | None:
    """Match the name and the number of a header: ``Chunk 1``, ``1st chunk``, ``Chunk A``; None for any other header."""
    if len(column) > _MAX_HEADER_CHARACTERS:
        return None
    for pattern in (_NUMBERED_HEADER, _HEADER_WITH_LEADING_NUMBER, _LETTERED_HEADER):
        match = pattern.fullmatch(column)
        if match is not None:
            return match
    return None


def _are_prose(row: Mapping[str, Any], columns_by_number: Mapping[int, str]) -> bool:
    """Tell whether one of the columns has a text, not an id."""
    return any(" " in row[column] or not row[column].isascii() for column in columns_by_number.values())


def _are_ids(row: Mapping[str, Any], columns_by_number: Mapping[int, str]) -> bool:
    """Tell whether the columns have one word each, which is no number."""
    cells = [row[column] for column in columns_by_number.values()]
    return all(len(cell.split()) == 1 and not _NUMBER_ONLY.fullmatch(cell) for cell in cells)
