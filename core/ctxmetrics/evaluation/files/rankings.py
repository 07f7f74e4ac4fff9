"""Rows of the files of information retrieval: runs and qrels in TREC's form, and folders in BEIR's.

A row is a query: of a run its documents in the order of their scores, as trec_eval orders them (scores in single precision,
equal ones by descending id); of qrels the documents with a grade above 0, and their grades.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import Any

from ctxmetrics.errors import InputFileError
from ctxmetrics.evaluation.files.formats import group_ties
from ctxmetrics.evaluation.files.json_rows import line_rows
from ctxmetrics.evaluation.files.text_files import open_text

# Where the query, the document and the number stand, by the count of columns: run, qrels, qrels of BEIR.
_COLUMNS: Mapping[int, tuple[int, int, int]] = {6: (0, 2, 4), 4: (0, 2, 3), 3: (0, 1, 2)}
# The number of columns of a run.
_RUN = 6
# The number of columns of qrels.
_QRELS = 4
# The place of the score, or the grade, in an entry of `_COLUMNS`.
_SCORE = 2
# The first line of BEIR's qrels.
_HEADER = ["query-id", "corpus-id", "score"]


def is_ranking(file: Path) -> bool:
    """Whether a file is a run or qrels by its first line: in BEIR's form, or in TREC's, whatever its name ends in."""
    try:
        with open_text(file) as text:
            cells = text.readline().split()
    except InputFileError:
        if file.exists():
            return False
        raise
    return cells == _HEADER or (
        len(cells) in (_RUN, _QRELS) and _read_finite(cells[_COLUMNS[len(cells)][_SCORE]]) is not None
    )


def beir_rows(folder: Path) -> Iterator[tuple[str, Any]]:
    """Return each query of a folder in BEIR's form: ``queries.jsonl`` and ``qrels/SPLIT.tsv``.

    Raises:
        InputFileError: It has no qrels, or those of several splits.
    """
    files = sorted((folder / "qrels").glob("*.tsv"))
    if len(files) != 1:
        problem = f"qrels of several splits. Name one: {files[-1]}" if files else "no file in qrels/"
        raise InputFileError(f"{folder}: {problem}.")
    questions = _read_queries(folder / "queries.jsonl")
    for place, row in ranking_rows(files[0]):
        yield place, {**row, "user_input": questions.get(row["id"])}


def _read_queries(file: Path) -> dict[str, str]:
    """Read the texts of the queries by their ids; empty without the file."""
    questions: dict[str, str] = {}
    if file.is_file():
        for _, row in line_rows(file):
            if isinstance(row, dict) and isinstance(row.get("text"), str):
                questions[str(row.get("_id"))] = row["text"]
    return questions


def ranking_rows(file: Path) -> Iterator[tuple[str, Any]]:
    """Return each query of a run or of qrels.

    Raises:
        InputFileError: A line has other columns than the first one, or a document stands twice for a query.
    """
    rankings: dict[tuple[str, str], dict[str, float]] = {}
    width = 0
    with open_text(file) as text:
        for number, line in enumerate(text, 1):
            cells = line.split()
            if not cells or cells == _HEADER:
                continue
            width = width or len(cells)
            places = _COLUMNS.get(width) if len(cells) == width else None
            score = None if places is None else _read_finite(cells[places[2]])
            if places is None or score is None:
                raise InputFileError(
                    f"{file}, line {number}: no line of a TREC run (QUERY Q0 ID RANK SCORE TAG) or of qrels (QUERY 0 ID "
                    "GRADE). All lines have the columns of the first one."
                )
            query = cells[places[0]]
            document = cells[places[1]]
            tag = cells[-1] if width == _RUN else ""
            scores = rankings.setdefault((query, tag), {})
            if document in scores:
                raise InputFileError(
                    f"{file}, line {number}: {document[:80]!r} stands twice for the query {query[:80]!r}."
                )
            scores[document] = score
    queries = {query for query, _ in rankings}
    for (query, tag), scores in rankings.items():
        for place, row in query_rows({query: scores}, expected=width != _RUN):
            if len(queries) < len(rankings):  # several runs
                row["metadata"] = {"tag": tag, **row["metadata"]}
            yield place, row


def rankings_in(data: Any) -> dict[str, dict[str, float]] | None:
    """Return what ``{query: {document: number}}`` holds, as BEIR and pytrec_eval write it in JSON; None for anything else."""
    if not isinstance(data, dict) or not any(data.values()):  # a query of a run may have no document
        return None
    for scores in data.values():
        if not isinstance(scores, dict):
            return None
        if not all(isinstance(score, Real) for score in scores.values()):
            return None
    return data


def query_rows(
    rankings: Mapping[str, Mapping[str, float]], *, expected: bool
) -> Iterator[tuple[str, Any]]:
    """Return each query with its documents: those that are expected, or those that were retrieved."""
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
    """Read a finite number; None for any other text."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None
