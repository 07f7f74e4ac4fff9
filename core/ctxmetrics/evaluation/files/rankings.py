"""Rows of the files of information retrieval: runs and qrels in TREC's form, and folders in BEIR's.

A row is a query: of a run its documents in the order of their scores, as trec_eval orders them (scores in single precision,
equal ones by descending id); of qrels the documents with a grade above 0, and their grades.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.errors import InputFileError
from ctxmetrics.evaluation.files.first_rows import LOOKAHEAD_ROWS
from ctxmetrics.evaluation.files.formats import group_ties
from ctxmetrics.evaluation.files.hit_numbers import find_list_kind, says_rank, to_number
from ctxmetrics.evaluation.files.json_rows import line_rows
from ctxmetrics.evaluation.files.text_files import open_text
from ctxmetrics.samples.documents import is_missing, read_grade_word, whole_number
from ctxmetrics.samples.field_names import normalized_key

# The indexes of the columns of the query, the document and the score, by the number of columns: of a run (6), of qrels (4), of
# qrels of BEIR (3).
_COLUMN_INDEXES: Mapping[int, tuple[int, int, int]] = {6: (0, 2, 4), 4: (0, 2, 3), 3: (0, 1, 2)}
# The number of columns of a run.
_RUN_COLUMN_COUNT = 6
# The number of columns of qrels.
_QRELS_COLUMN_COUNT = 4
# The number of columns of qrels in BEIR's form, in which some write runs too.
_BEIR_COLUMN_COUNT = 3
# The names of the query, the document and its grade in a table that has one document in each row.
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
# The highest grade of a table.
_MAX_GRADE = 10
# The place of the score, or the grade, in an entry of `_COLUMN_INDEXES`.
_SCORE_INDEX = 2
# The first line of BEIR's qrels.
_BEIR_HEADER = ["query-id", "corpus-id", "score"]


def is_ranking(file: Path) -> bool:
    """Tell by its first line whether a file is a run or qrels, in the format of BEIR or TREC."""
    try:
        with open_text(file) as text:
            cells = text.readline().split()
    except InputFileError:
        if file.exists():  # it holds no text, so it is no ranking
            return False
        raise
    if cells == _BEIR_HEADER:
        return True
    if len(cells) not in (_RUN_COLUMN_COUNT, _QRELS_COLUMN_COUNT):
        return False
    score_column = _COLUMN_INDEXES[len(cells)][_SCORE_INDEX]
    return _read_finite(cells[score_column]) is not None


def beir_rows(folder: Path) -> Iterator[tuple[str, Any]]:
    """Return each query of a folder in BEIR's form: ``queries.jsonl`` and ``qrels/SPLIT.tsv``.

    Raises:
        InputFileError: The folder has no qrels, or qrels of several splits.
    """
    files = sorted((folder / "qrels").glob("*.tsv"))
    if len(files) != 1:
        problem = f"qrels of several splits. Name one: {files[-1]}" if files else "no file in qrels/"
        raise InputFileError(f"{folder}: {problem}.")
    questions = _read_queries(folder / "queries.jsonl")
    for place, row in ranking_rows(files[0]):
        yield place, {**row, "user_input": questions.get(row["id"])}


def _read_queries(file: Path) -> dict[str, str]:
    """Read the texts of the queries by their ids. The result is empty if there is no such file."""
    questions: dict[str, str] = {}
    if file.is_file():
        for _, row in line_rows(file):
            if isinstance(row, dict) and isinstance(row.get("text"), str):
                questions[str(row.get("_id"))] = row["text"]
    return questions


def ranking_rows(file: Path, *, is_run: bool = False) -> Iterator[tuple[str, Any]]:
    """Return each query of a run or of qrels.

    Args:
        file: The file.
        is_run: Whether a file in BEIR's form is a run, since another file holds the expected items.

    Raises:
        InputFileError: A line has other columns than the first one, or a document stands twice for a query.
    """
    # The key of a ranking: a query, and the name of the run. Its value: the number of each document.
    rankings: dict[tuple[str, str], dict[str, float]] = {}
    width = 0
    with open_text(file) as text:
        for number, line in enumerate(text, 1):
            cells = line.split()
            if not cells or cells == _BEIR_HEADER:
                continue
            width = width or len(cells)
            places = _COLUMN_INDEXES.get(width) if len(cells) == width else None
            score = None if places is None else _read_finite(cells[places[2]])
            if places is None or score is None:
                raise InputFileError(
                    f"{file}, line {number}: no line of a TREC run (QUERY Q0 ID RANK SCORE TAG) or of qrels (QUERY 0 ID "
                    "GRADE). All lines have the columns of the first one."
                )
            query = cells[places[0]]
            document = cells[places[1]]
            tag = cells[-1] if width == _RUN_COLUMN_COUNT else ""
            scores = rankings.setdefault((query, tag), {})
            if document in scores:
                raise InputFileError(
                    f"{file}, line {number}: {document[:80]!r} stands twice for the query {query[:80]!r}."
                )
            scores[document] = score
    queries = {query for query, _ in rankings}
    for (query, tag), scores in rankings.items():
        expected = width == _QRELS_COLUMN_COUNT or (width == _BEIR_COLUMN_COUNT and not is_run)
        for place, row in iterate_queries({query: scores}, expected=expected):
            if len(queries) < len(rankings):  # several runs
                row["metadata"] = {"tag": tag, **row["metadata"]}
            yield place, row


class _TableColumns(NamedTuple):
    """The names of the columns of a table that has one document in each row.

    Attributes:
        query: The column of the query or of its id.
        document: The column of the document's id.
        score: The column of the document's grade, rank or score.
    """

    query: str
    document: str
    score: str


def join_documents_of_queries(
    rows: Iterable[tuple[str, Any]], file: Path, *, expected: bool
) -> Iterator[tuple[str, Any]]:
    """Yield a row for each query of a table that has one document in each row. The rows of other sources stay as they are.

    Args:
        rows: The rows with their places.
        file: The file of the rows, for errors.
        expected: Whether the documents are the expected ones and have grades. Else they were retrieved and have ranks or scores.

    Raises:
        InputFileError: A document of a query has two grades.
    """
    stream = iter(rows)
    first_rows = list(islice(stream, LOOKAHEAD_ROWS))
    columns = _find_table_columns([row for _, row in first_rows], expected=expected)
    if columns is None:
        yield from chain(first_rows, stream)
        return
    # For each query, the number of each document.
    numbers_of_queries: dict[str, dict[str, float]] = {}
    # For each query, its place in the file and the cells that all its rows share.
    queries: dict[str, tuple[str, dict[str, Any]]] = {}
    for place, row in chain(first_rows, stream):
        query = str(whole_number(row[columns.query]))
        document = str(whole_number(row[columns.document]))
        number = _read_number(row[columns.score])
        if number is None:
            raise InputFileError(
                f"{file}, {place}: {columns.score!r} holds no number: {row[columns.score]!r}."
            )
        numbers = numbers_of_queries.setdefault(query, {})
        if numbers.setdefault(document, number) != number:
            raise InputFileError(
                f"{file}, {place}: {document[:80]!r} has two values of {columns.score!r} for the query {query[:80]!r}."
            )
        _, shared_cells = queries.setdefault(query, (place, dict(row)))
        for key in [key for key, value in shared_cells.items() if row.get(key) != value]:
            del shared_cells[key]
    for query, (place, shared_cells) in queries.items():
        numbers = numbers_of_queries[query]
        if not expected and find_list_kind(columns.score) in _LOWEST_FIRST_KINDS:
            numbers = {document: -number for document, number in numbers.items()}
        _, fields = next(iterate_queries({query: numbers}, expected=expected))
        is_text = normalized_key(columns.query) not in QUERY_IDS
        read_columns = columns[1:] if is_text else columns
        other_cells = {key: value for key, value in shared_cells.items() if key not in read_columns}
        if is_text:
            del fields["id"]
        yield place, {**other_cells, **fields}


def _find_table_columns(rows: Sequence[Any], *, expected: bool) -> _TableColumns | None:
    """Find the columns of a table with one document in each row. Return None if the rows are no such table."""
    if not rows or not all(isinstance(row, dict) for row in rows):
        return None
    names = [str(name) for name in rows[0] if all(not is_missing(row.get(name)) for row in rows)]
    queries = [name for name in names if normalized_key(name) in _QUERY_NAMES]
    documents = [name for name in names if normalized_key(name) in _DOCUMENT_NAMES]
    # PyTerrier has a number of the document (docid) beside its id (docno): the id stands first.
    documents.sort(key=lambda name: normalized_key(name) != _TREC_DOCUMENT_NAME)
    if expected:
        numbers = [name for name in names if normalized_key(name) in _GRADE_NAMES]
    else:
        numbers = [
            name
            for name in names
            if find_list_kind(name) in {*_LOWEST_FIRST_KINDS, *_HIGHEST_FIRST_KINDS}
        ]
        numbers.sort(key=says_rank, reverse=True)
    if not (queries and documents and numbers):
        return None
    queries.sort(key=lambda name: normalized_key(name) in QUERY_IDS, reverse=True)
    columns = _TableColumns(queries[0], documents[0], numbers[0])
    are_ids = all(_is_single_id(row[columns.document]) for row in rows)
    values = [_read_number(row[columns.score]) for row in rows]
    are_numbers = all(value is not None for value in values)
    if not (are_ids and are_numbers):
        return None
    if expected:
        grades = [value for value in values if value is not None]
        are_grades = all(value.is_integer() and value <= _MAX_GRADE for value in grades)
        # A rating or a label in single rows may be about the question, not about the document.
        is_about_documents = normalized_key(columns.score) not in _GENERAL_GRADE_NAMES
        has_repeated_query = len({str(row[columns.query]) for row in rows}) < len(rows)
        return columns if are_grades and (is_about_documents or has_repeated_query) else None
    other_columns = set(names) - {*queries, *documents, *numbers}
    # Other columns may hold texts, or name one of several runs.
    are_constant = all(row[name] == rows[0][name] for name in other_columns for row in rows)
    return columns if are_constant else None


def _is_single_id(value: Any) -> bool:
    """Tell whether a value is the id of one document."""
    if isinstance(value, str):
        return len(value.split()) == 1 and value[:1] not in "[{("
    return type(whole_number(value)) is int


def _read_number(value: Any) -> float | None:
    """Read a grade, rank or score: a number, or a word such as ``relevant``. Return None for anything else."""
    if isinstance(value, bool):
        return float(value)
    number = to_number(value)
    return read_grade_word(value) if number is None and isinstance(value, str) else number


def rankings_in(data: Any) -> dict[str, dict[str, float]] | None:
    """Return the data if it has the form ``{query: {document: number}}`` of BEIR and pytrec_eval. Return None for anything else."""
    if not isinstance(data, dict) or not any(data.values()):  # a query of a run may have no document
        return None
    for scores in data.values():
        if not isinstance(scores, dict):
            return None
        if not all(isinstance(score, Real) for score in scores.values()):
            return None
    return data


def iterate_queries(
    rankings: Mapping[str, Mapping[str, float]], *, expected: bool
) -> Iterator[tuple[str, Any]]:
    """Yield a row for each query, after its place.

    Args:
        rankings: By query, the grade or score of each document.
        expected: Whether the documents are the expected ones. Else they are the retrieved ones.
    """
    for query, scores in rankings.items():
        fields: dict[str, Any]
        if expected:
            grades = {document: score for document, score in scores.items() if score > 0}
            fields = {"reference_context_ids": [*grades], "labels": {"relevance": grades}}
        else:
            pairs = sorted(zip(array("f", scores.values()), scores, strict=True), reverse=True)
            fields = {"retrieved_context_ids": [document for _, document in pairs]}
            fields["metadata"] = group_ties(pairs)
        yield f"query {query[:80]!r}", {"id": query, **fields}


def _read_finite(text: str) -> float | None:
    """Read a finite number. Return None for any other text."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None
