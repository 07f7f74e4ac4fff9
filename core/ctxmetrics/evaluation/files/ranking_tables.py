"""Tables that have one document in each row: runs with ranks or scores, and what is expected, with or without grades.

The rows of a query become one row, as of a TREC run or of qrels.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.errors import InputFileError
from ctxmetrics.evaluation.files.first_rows import LOOKAHEAD_ROWS
from ctxmetrics.evaluation.files.hit_numbers import find_list_kind, says_rank, to_number
from ctxmetrics.evaluation.files.rankings import is_single_id, iterate_queries
from ctxmetrics.evaluation.files.several_runs import explain_setting, may_hold_setting, name_value
from ctxmetrics.samples.documents import (
    describe_degrees,
    is_missing,
    read_grade_word,
    whole_number,
)
from ctxmetrics.samples.field_keys import NOT_READ
from ctxmetrics.samples.systems import normalized_key

# The names of the query, the document and its grade.
_TABLE_NAMES: Mapping[str, Sequence[str]] = read_data("evaluation.files", "formats.json")["tables"]
# Names of the id of a query, by their letters.
QUERY_IDS = frozenset(map(normalized_key, _TABLE_NAMES["query_ids"]))
_QUERY_NAMES = QUERY_IDS | set(map(normalized_key, _TABLE_NAMES["queries"]))
_DOCUMENT_NAMES = frozenset(map(normalized_key, _TABLE_NAMES["documents"]))
_GRADE_NAMES = frozenset(map(normalized_key, _TABLE_NAMES["grades"]))
# The document in TREC's words.
_TREC_DOCUMENT_NAME = "docno"
# Names of grades that may also be about the query.
_GENERAL_GRADE_NAMES = frozenset({"label", "rating", "score", "bewertung"})
# Kinds of numbers by which the documents of a run are put in order.
_LOWEST_FIRST_KINDS = frozenset({"rank", "position", "distance"})
_HIGHEST_FIRST_KINDS = frozenset({"rerank", "fused", "score"})
# A part of the name of a column that may hold grades: esci_label.
_LABEL_NAME = re.compile(r"grade|label|relev|judge?ment|rating|gain|qrel", re.IGNORECASE)
# The highest grade of a table.
_MAX_GRADE = 10
# What to do about a table that holds several runs, and no column that names them.
_ADVICE_TO_NAME_RUNS = (
    " If the file holds several runs, add a column 'system' that names the run of each row, and write --by system or --only "
    "system=NAME; or score a file of each run."
)


class _TableColumns(NamedTuple):
    """The names of the columns of a table.

    Attributes:
        query: The column of the query or of its id.
        document: The column of the document's id.
        number: The column of the document's grade, rank or score. None: each document is expected, and none has a grade.
        others: The columns that have no usual name of these.
    """

    query: str
    document: str
    number: str | None
    others: tuple[str, ...]

    def read_number(self, row: Mapping[str, Any]) -> float | None:
        """Read the grade, rank or score of the document of a row."""
        return 1.0 if self.number is None else _read_number(row.get(self.number))


class _Query:
    """The rows of one query.

    Args:
        place: The place of its first row.
        row: Its first row.
    """

    def __init__(self, place: str, row: Mapping[str, Any]) -> None:
        self.place = place
        # The cells that all its rows share.
        self.shared_cells = dict(row)
        # The grade, rank or score of each document.
        self.numbers: dict[str, float] = {}
        # How many times its rows begin: more than once if rows of other queries stand between them.
        self.block_count = 0
        # Whether the rows of each block are in the order of their scores, the highest first.
        self.blocks_are_sorted = True
        # Whether a block begins with a higher score than the block before ends with.
        self.begins_again = False
        self._distinct_numbers: set[float] = set()
        self._number_before = math.inf

    def add(self, document: str, number: float, row: Mapping[str, Any], *, begins_block: bool) -> None:
        """Add a document. ``begins_block`` says that the row before is of another query."""
        is_higher = number > self._number_before
        if begins_block:
            self.block_count += 1
            self.begins_again = self.begins_again or is_higher
        elif is_higher:
            self.blocks_are_sorted = False
        self._number_before = number
        self.numbers[document] = number
        self._distinct_numbers.add(number)
        for key in [key for key, value in self.shared_cells.items() if row.get(key) != value]:
            del self.shared_cells[key]

    def has_number(self, number: float) -> bool:
        """Tell whether a document has a number."""
        return number in self._distinct_numbers


class _DocumentTable:
    """Collects the documents of each query of a table.

    Args:
        columns: The columns of the table.
        file: The file of the rows, for errors.
        are_expected: Whether the documents are the expected ones.
    """

    def __init__(self, columns: _TableColumns, file: Path, *, are_expected: bool) -> None:
        self._columns = columns
        self._file = file
        self._expected = are_expected
        self._has_ranks = not are_expected and says_rank(str(columns.number))
        self._queries: dict[str, _Query] = {}
        # The different words in the place of grades.
        self._grade_words: dict[Any, None] = {}
        # The query of the row before, and the number of its document.
        self._query_before: str | None = None
        self._number_before: float | None = None

    def add(self, place: str, row: Mapping[str, Any]) -> None:
        """Add the document of a row.

        Raises:
            InputFileError: The row has no query, document or number, or its document has another number in an earlier row, or
                ranks begin again, or the row has a grade and the rows before have none.
        """
        columns = self._columns
        where = f"{self._file}, {place}"
        for column in (columns.query, columns.document):
            if _is_gap(row.get(column)):
                raise InputFileError(
                    f"{where}: {column!r} holds no value. Write one, or leave the row out."
                )
        if columns.number is None:
            for column in _find_number_columns(list(row), are_expected=True):
                if not _is_gap(row[column]):
                    raise InputFileError(
                        f"{where}: {column!r} holds a value, and no row before has one. Write a grade in each row."
                    )
        name = str(whole_number(row[columns.query]))
        document = str(whole_number(row[columns.document]))
        number = columns.read_number(row)
        cell = row.get(str(columns.number))
        if self._expected and isinstance(cell, str):
            self._grade_words[cell] = None
        if number is None:
            text = "" if _is_gap(cell) else f": {cell!r}"
            raise InputFileError(
                f"{where}: {columns.number!r} holds no number{text}. Write one, or leave the row out."
            )
        query = self._queries.setdefault(name, _Query(place, row))
        advice = "" if self._expected else _ADVICE_TO_NAME_RUNS
        number_before = query.numbers.get(document)
        if number_before not in (None, number):
            raise InputFileError(
                f"{where}: {document[:80]!r} has two values of {columns.number!r} for the query {name[:80]!r}.{advice}"
            )
        # Documents with one rank stand side by side, unless a second run begins.
        begins_block = self._query_before != name
        stands_beside_equal = not begins_block and self._number_before == number
        is_second_rank = query.has_number(number) and not stands_beside_equal
        if self._has_ranks and number_before is None and is_second_rank:
            raise InputFileError(
                f"{where}: {columns.number!r} begins again for the query {name[:80]!r}.{advice}"
            )
        query.add(document, number, row, begins_block=begins_block)
        self._query_before = name
        self._number_before = number

    def _holds_second_run(self) -> bool:
        """Tell whether a second run stands below the first one: all queries begin again, in the order of their scores."""
        queries = self._queries.values()
        has_equal_block_counts = len({query.block_count for query in queries}) == 1
        row_count = sum(len(query.numbers) for query in queries)
        block_count = sum(query.block_count for query in queries)
        # In a table by rank, each block is one row: the best document of every query, then every second one.
        has_longer_blocks = row_count > block_count
        if not has_equal_block_counts or block_count <= len(queries) or not has_longer_blocks:
            return False
        are_sorted = all(query.blocks_are_sorted for query in queries)
        return are_sorted and any(query.begins_again for query in queries)

    def list_queries(self) -> Iterator[tuple[str, Any]]:
        """Yield the place of each query, and a row for it.

        Raises:
            InputFileError: The rows are of several runs.
        """
        columns = self._columns
        is_lowest_first = find_list_kind(str(columns.number)) in _LOWEST_FIRST_KINDS
        if not (self._expected or is_lowest_first) and self._holds_second_run():
            raise InputFileError(
                f"{self._file}: all queries begin again with a higher {columns.number!r}.{_ADVICE_TO_NAME_RUNS}"
            )
        degrees = describe_degrees(self._grade_words)
        read_columns = {columns.document, columns.number}
        is_text = normalized_key(columns.query) not in QUERY_IDS
        if not is_text:
            read_columns.add(columns.query)
        for name, query in self._queries.items():
            numbers = query.numbers
            if is_lowest_first and not self._expected:  # the highest number is the best below
                numbers = {document: -number for document, number in numbers.items()}
            rows_of_query = iterate_queries({name: numbers}, are_expected=self._expected)
            _, fields = next(rows_of_query)  # a query has one row, with its place
            if is_text:
                del fields["id"]
            other_cells = {
                key: value for key, value in query.shared_cells.items() if key not in read_columns
            }
            if degrees is not None:
                fields["metadata"] = {NOT_READ: degrees}
            yield query.place, {**other_cells, **fields}


def join_documents_of_queries(
    rows: Iterable[tuple[str, Any]], file: Path, *, are_expected: bool, several: bool = False
) -> Iterator[tuple[str, Any]]:
    """Yield a row for each query of a table that has one document in each row. The rows of other sources stay as they are.

    Args:
        rows: The rows with their places.
        file: The file of the rows, for errors.
        are_expected: Whether the documents are the expected ones. Else they were retrieved and have ranks or scores.
        several: Whether the rows may be of several runs, which a column names. Then they stay as they are.

    Raises:
        InputFileError: A document of a query has two grades or none that can be read, or the rows are of several runs.
    """
    stream = iter(rows)
    placed_rows = list(islice(stream, LOOKAHEAD_ROWS))
    first_rows = [row for _, row in placed_rows]
    columns = _find_table_columns(first_rows, are_expected=are_expected)
    if columns is not None and not are_expected:
        changing_columns = _list_changing_columns(first_rows, columns.others)
        for name, values in changing_columns.items():
            if may_hold_setting([name]) and not several:
                raise InputFileError(f"{file}: {explain_setting(name, values)}")
        if changing_columns:  # they may hold texts: then this is no table of a ranking
            columns = None
    if columns is not None and columns.number is None:
        for name in columns.others:
            if _LABEL_NAME.search(name):
                labels = [row[name] for row in first_rows if not _is_gap(row.get(name))]
                raise InputFileError(
                    f"{file}: {name!r} may say how relevant each {columns.document!r} is, and holds no number, such as "
                    f"{str(labels[0])[:40]!r}. Write grades in a column 'relevance' (0: not relevant), or leave it out."
                )
    all_rows = chain(placed_rows, stream)
    if columns is None:
        yield from all_rows
        return
    table = _DocumentTable(columns, file, are_expected=are_expected)
    for place, row in all_rows:
        table.add(place, row)
    yield from table.list_queries()


def _find_table_columns(rows: Sequence[Any], *, are_expected: bool) -> _TableColumns | None:
    """Find the columns of a table with one document in each row. Return None if the rows are no such table."""
    if not rows or not all(isinstance(row, dict) for row in rows):
        return None
    cell_counts: Counter[str] = Counter()
    for row in rows:
        cell_counts.update(str(name) for name, cell in row.items() if not _is_gap(cell))
    complete_names = [name for name, count in cell_counts.items() if count == len(rows)]
    names = list(cell_counts)
    # A column with a gap counts if no other has its meaning. Then the row with the gap is an error.
    queries = _prefer_complete(
        [name for name in names if normalized_key(name) in _QUERY_NAMES], complete_names
    )
    documents = _prefer_complete(
        [name for name in names if normalized_key(name) in _DOCUMENT_NAMES], complete_names
    )
    numbers = _prefer_complete(_find_number_columns(names, are_expected=are_expected), complete_names)
    has_numbers = bool(numbers) or are_expected
    if not queries or not documents or not has_numbers:
        return None
    known_names = {*queries, *documents, *numbers}
    other_names = names if are_expected else complete_names
    columns = _TableColumns(
        query=_prefer(queries, QUERY_IDS),
        # PyTerrier has a number of the document (docid) beside its id (docno).
        document=_prefer(documents, {_TREC_DOCUMENT_NAME}),
        number=numbers[0] if numbers else None,
        others=tuple(name for name in other_names if name not in known_names),
    )
    return columns if _may_be_table(columns, rows, are_expected=are_expected) else None


def _prefer_complete(columns: list[str], complete_names: Collection[str]) -> list[str]:
    """Return the columns that have a value in every row. If there are none, return all of them."""
    return [name for name in columns if name in complete_names] or columns


def _is_gap(cell: Any) -> bool:
    """Tell whether a cell holds no value."""
    return is_missing(cell) or (isinstance(cell, str) and not cell.strip())


def _find_number_columns(names: Sequence[str], *, are_expected: bool) -> list[str]:
    """Find the columns of the number beside a document: of its grade if it is expected, else of its rank or score, ranks first."""
    if are_expected:
        return [name for name in names if normalized_key(name) in _GRADE_NAMES]
    kinds = _LOWEST_FIRST_KINDS | _HIGHEST_FIRST_KINDS
    numbers = [name for name in names if find_list_kind(name) in kinds]
    return sorted(numbers, key=says_rank, reverse=True)


def _prefer(names: Sequence[str], preferred_keys: Collection[str]) -> str:
    """Return the first name whose normalized key is preferred; else the first name."""
    for name in names:
        if normalized_key(name) in preferred_keys:
            return name
    return names[0]


def _may_be_table(columns: _TableColumns, rows: Sequence[Any], *, are_expected: bool) -> bool:
    """Tell whether the cells of the columns are ids and numbers, as of a table with one document in each row."""
    ids = [row.get(columns.document) for row in rows]
    if not all(is_single_id(id_) for id_ in ids if not _is_gap(id_)):
        return False
    cells = [row.get(name) for row in rows for name in (columns.query, columns.document)]
    if columns.number is None and any(map(_is_gap, cells)):
        return False  # there may be questions for which no document is expected
    # One number is enough: then a row without one is an error.
    numbers = [columns.read_number(row) for row in rows]
    values = [number for number in numbers if number is not None]
    if not values:
        return False
    if not are_expected:
        return True
    if not all(value.is_integer() and value <= _MAX_GRADE for value in values):
        return False
    # A rating or a label in single rows may be about the question, not about the document.
    is_about_documents = normalized_key(str(columns.number)) not in _GENERAL_GRADE_NAMES
    has_repeated_query = len({str(row.get(columns.query)) for row in rows}) < len(rows)
    return is_about_documents or has_repeated_query


def _list_changing_columns(rows: Sequence[Any], names: Iterable[str]) -> dict[str, list[str]]:
    """List the columns that differ between rows, each with its values in the order of the rows."""
    changing_columns: dict[str, list[str]] = {}
    for name in names:
        values = list(dict.fromkeys(name_value(row[name]) for row in rows))
        if len(values) > 1:
            changing_columns[name] = values
    return changing_columns


def _read_number(value: Any) -> float | None:
    """Read a grade, rank or score: a number, or a word such as ``relevant``. Return None for anything else."""
    if isinstance(value, bool):
        return float(value)
    number = to_number(value)
    return read_grade_word(value) if number is None and isinstance(value, str) else number
