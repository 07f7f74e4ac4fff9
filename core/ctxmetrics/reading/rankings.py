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
from ctxmetrics.reading.formats import line_rows, opened

# Where the query, the document and the number stand, by the count of columns: run, qrels, qrels of BEIR.
_COLUMNS: Mapping[int, tuple[int, int, int]] = {6: (0, 2, 4), 4: (0, 2, 3), 3: (0, 1, 2)}
_RUN = 6
# The first line of BEIR's qrels.
_HEADER = ["query-id", "corpus-id", "score"]


def is_ranking(file: Path) -> bool:
    """Whether a file is a run or qrels by its first line: in BEIR's form, or in TREC's, whatever its name ends in."""
    try:
        with opened(file) as text:
            cells = text.readline().split()
    except InputFileError:
        if file.exists():
            return False
        raise
    return cells == _HEADER or (
        len(cells) in (_RUN, 4) and _number(cells[_COLUMNS[len(cells)][2]]) is not None
    )


def beir_rows(folder: Path) -> Iterator[tuple[str, Any]]:
    """Return each query of a folder in BEIR's form: ``queries.jsonl`` and ``qrels/SPLIT.tsv``.

    Raises:
        InputFileError: It has no qrels, or those of several splits.
    """
    files, asked = sorted((folder / "qrels").glob("*.tsv")), folder / "queries.jsonl"
    if len(files) != 1:
        several = f"qrels of several splits. Name one: {files[-1]}" if files else "no file in qrels/"
        raise InputFileError(f"{folder}: {several}.")
    questions = {
        str(row.get("_id")): row["text"]
        for _, row in (line_rows(asked) if asked.is_file() else ())
        if isinstance(row, dict) and isinstance(row.get("text"), str)
    }
    for place, row in ranking_rows(files[0]):
        yield place, {**row, "user_input": questions.get(row["id"])}


def ranking_rows(file: Path) -> Iterator[tuple[str, Any]]:
    """Return each query of a run or of qrels.

    Raises:
        InputFileError: A line has other columns than the first one, or a document stands twice for a query.
    """
    found: dict[str, dict[str, float]] = {}
    width = 0
    with opened(file) as text:
        for number, line in enumerate(text, 1):
            cells = line.split()
            if not cells or cells == _HEADER:
                continue
            width = width or len(cells)
            places = _COLUMNS.get(width, ()) if len(cells) == width else ()
            query, document, value = [cells[place] for place in places] or ("", "", "")
            if (score := _number(value)) is None:
                raise InputFileError(
                    f"{file}, line {number}: no line of a TREC run (QUERY Q0 ID RANK SCORE TAG) or of qrels (QUERY 0 ID "
                    "GRADE). All lines have the columns of the first one."
                )
            if document in found.setdefault(query, {}):
                raise InputFileError(
                    f"{file}, line {number}: {document[:80]!r} stands twice for the query {query[:80]!r}."
                )
            found[query][document] = score
    yield from rows_of(found, expected=width != _RUN)


def rankings_in(data: Any) -> dict[str, dict[str, float]] | None:
    """Return what ``{query: {document: number}}`` holds, as BEIR and pytrec_eval write it in JSON; None for anything else."""
    each = data.values() if isinstance(data, dict) else ()
    return (
        data
        if any(each)  # a query of a run may have no document
        and all(
            isinstance(scores, dict) and all(isinstance(score, Real) for score in scores.values())
            for scores in each
        )
        else None
    )


def rows_of(
    rankings: Mapping[str, Mapping[str, float]], *, expected: bool
) -> Iterator[tuple[str, Any]]:
    """Return each query with its documents: those that are expected, or those that were retrieved."""
    for query, scores in rankings.items():
        graded = {document: score for document, score in scores.items() if score > 0}
        pairs = sorted(zip(array("f", scores.values()), scores, strict=True), reverse=True)
        retrieved = {"retrieved_context_ids": [document for _, document in pairs]}
        labelled = {"reference_context_ids": [*graded], "labels": {"relevance": graded}}
        yield f"query {query[:80]!r}", {"id": query, **(labelled if expected else retrieved)}


def _number(text: str) -> float | None:
    try:
        return number if isfinite(number := float(text)) else None
    except ValueError:
        return None
