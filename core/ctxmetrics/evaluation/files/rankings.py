"""Rows of the files of information retrieval: runs and qrels in TREC's form, and folders in BEIR's.

A row is a query: of a run its documents in the order of their scores, as trec_eval orders them (scores in single precision,
equal ones by descending id); of qrels the documents with a grade above 0, and their grades.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import isfinite
from numbers import Real
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from ctxmetrics.errors import InputFileError
from ctxmetrics.evaluation.files.formats import group_ties
from ctxmetrics.evaluation.files.graded_ids import is_graded_pair
from ctxmetrics.evaluation.files.hit_order import Order
from ctxmetrics.evaluation.files.json_rows import line_rows
from ctxmetrics.evaluation.files.text_files import open_text
from ctxmetrics.samples.cells import find_doubled
from ctxmetrics.samples.documents import whole_number
from ctxmetrics.samples.field_keys import UNORDERED_BY


class _LineForm(NamedTuple):
    """The form of the lines of a run or of qrels.

    Attributes:
        width: The number of columns.
        query: The index of the column of the query.
        document: The index of the column of the document.
        score: The index of the column of the score, rank or grade.
        is_expected: Whether the documents are the expected ones: qrels.
        rank: The index of the column of the rank, if a score stands beside it.
    """

    width: int
    query: int
    document: int
    score: int
    is_expected: bool
    rank: int | None = None


_TREC_RUN = _LineForm(6, 0, 2, 4, is_expected=False, rank=3)  # q1 Q0 d3 1 9.25 bm25
_QRELS = _LineForm(4, 0, 2, 3, is_expected=True)  # q1 0 d3 1
_BEIR_QRELS = _LineForm(3, 0, 1, 2, is_expected=True)  # q1 d3 1
_SCORED_RUN = _LineForm(4, 0, 1, 3, is_expected=False, rank=2)  # q1 d3 1 9.25, of ColBERT
_SHORT_RUN = _LineForm(3, 0, 1, 2, is_expected=False)  # q1 d3 9.25, or with a rank: q1 d3 1
# The forms by the number of columns: of any file, and of a run beside a file of what is expected.
_FORMS: Mapping[int, _LineForm] = {form.width: form for form in (_TREC_RUN, _QRELS, _BEIR_QRELS)}
_RUN_FORMS: Mapping[int, _LineForm] = {
    form.width: form for form in (_TREC_RUN, _SCORED_RUN, _SHORT_RUN)
}
# What stands in the second column of qrels.
_ITERATIONS = frozenset({"0", "Q0"})
# The maximum number of objects around rankings by query.
_MAX_SPLITS = 3
# What may say another order of a run than its scores.
_RANKS_OF_RUN = "the rank of the run (trec_eval takes the score)"
_RISING_NUMBERS = "the order of the file (its numbers rise, as ranks and distances do)"
# The first line of BEIR's qrels.
_BEIR_HEADER = ["query-id", "corpus-id", "score"]


def is_ranking(file: Path, *, is_run: bool = False) -> bool:
    """Tell by its first line whether a file is a run or qrels, in the format of BEIR or TREC.

    Args:
        file: The file.
        is_run: As for `ranking_rows`. Without it, three columns are no ranking unless they have BEIR's header.
    """
    try:
        with open_text(file) as text:
            cells = text.readline().split()
    except InputFileError:
        if file.exists():  # it holds no text, so it is no ranking
            return False
        raise
    if cells == _BEIR_HEADER:
        return True
    form = _find_line_form(cells, is_run=is_run)
    return form not in (None, _BEIR_QRELS) and _read_finite(cells[form.score]) is not None


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


def ranking_rows(
    file: Path, *, is_run: bool = False, order: Order | None = None
) -> Iterator[tuple[str, Any]]:
    """Return each query of a run or of qrels.

    Args:
        file: The file.
        is_run: Whether a file with three or four columns is a run, since another file holds the expected items.
        order: What puts the documents of a run in order; see `order_run`.

    Raises:
        InputFileError: A line has other columns than the first one, or a document stands twice for a query.
    """
    lines = _read_lines(file, is_run=is_run)
    rankings: Mapping[tuple[str, str], Mapping[str, float]] = lines.numbers
    notes: Mapping[tuple[str, str], str] = {}
    if not lines.form.is_expected:
        may_be_ranks = lines.form == _SHORT_RUN
        rankings, notes = order_run(rankings, order, lines.ranks, may_be_ranks=may_be_ranks)
    queries = {query for query, _ in rankings}
    for (query, tag), scores in rankings.items():
        note = notes.get((query, tag), "")
        for place, row in iterate_queries(
            {query: scores}, are_expected=lines.form.is_expected, note=note
        ):
            if len(queries) < len(rankings):  # several runs
                row["metadata"] = {"tag": tag, **row["metadata"]}
            yield place, row


class _Lines(NamedTuple):
    """The lines of a run or of qrels. The key of a ranking: a query, and the name of the run.

    Attributes:
        form: The form of the lines.
        numbers: By ranking, the grade, score or rank of each document.
        ranks: By ranking, the rank of each document, if it stands beside a score.
    """

    form: _LineForm
    numbers: dict[tuple[str, str], dict[str, float]]
    ranks: dict[tuple[str, str], dict[str, float]]


def _read_lines(file: Path, *, is_run: bool) -> _Lines:
    """Read the lines of a run or of qrels; see `ranking_rows`."""
    lines = _Lines(_TREC_RUN, {}, {})
    form: _LineForm | None = None
    with open_text(file) as text:
        for number, line in enumerate(text, 1):
            cells = line.split()
            if not cells or cells == _BEIR_HEADER:
                continue
            form = form or _find_line_form(cells, is_run=is_run)
            score = None
            if form is not None and len(cells) == form.width:
                score = _read_finite(cells[form.score])
            if form is None or score is None:
                raise InputFileError(
                    f"{file}, line {number}: no line of a TREC run (QUERY Q0 ID RANK SCORE TAG) or of qrels (QUERY 0 ID "
                    "GRADE). All lines have the columns of the first one."
                )
            query = cells[form.query]
            document = cells[form.document]
            tag = cells[-1] if form == _TREC_RUN else ""
            scores = lines.numbers.setdefault((query, tag), {})
            if document in scores:
                raise InputFileError(
                    f"{file}, line {number}: {document[:80]!r} stands twice for the query {query[:80]!r}."
                )
            scores[document] = score
            rank = None if form.rank is None else _read_finite(cells[form.rank])
            if rank is not None:
                lines.ranks.setdefault((query, tag), {})[document] = rank
    return lines if form is None else lines._replace(form=form)


def _find_line_form(cells: Sequence[str], *, is_run: bool) -> _LineForm | None:
    """Find the form of the lines of a file from its first line. Return None if it is no ranking."""
    forms = _RUN_FORMS if is_run else _FORMS
    form = forms.get(len(cells))
    if form == _SCORED_RUN and cells[1] in _ITERATIONS:
        return _QRELS
    return form


# The type of what names a query in a run: its id, or its id and the name of the run.
K = TypeVar("K")


def order_run(
    run: Mapping[K, Mapping[str, float]],
    order: Order | None = None,
    ranks: Mapping[K, Mapping[str, float]] = MappingProxyType({}),
    *,
    may_be_ranks: bool = False,
) -> tuple[dict[K, Mapping[str, float]], dict[K, str]]:
    """Return the numbers of the documents of each query so that the highest is the best, and notes on what may say another order.

    Without an option the numbers are scores, as trec_eval reads them.

    Args:
        run: By query, the number of each document.
        order: ``"given"``: the order of the file counts; ``"rank"``: the lowest rank comes first; ``"score"``: the highest number.
        ranks: By query, the rank of each document, where a rank stands beside the number.
        may_be_ranks: Whether the numbers may be ranks: those of every query count from 0 or 1 on, and do not fall in all queries.
    """
    scores: dict[K, Mapping[str, float]] = dict(run)
    lists = [[*numbers.values()] for numbers in run.values() if len(numbers) > 1]
    if order == "given":
        for key, numbers in run.items():
            scores[key] = {document: -float(place) for place, document in enumerate(numbers)}
        return scores, {}
    if order == "rank" or (order is None and may_be_ranks and _are_ranks(lists)):
        for key, numbers in run.items():
            scores[key] = {document: -number for document, number in ranks.get(key, numbers).items()}
        return scores, {}
    notes: dict[K, str] = {}
    if order is None:
        all_rise = bool(lists) and all(_rises(numbers) for numbers in lists)
        for key, numbers in run.items():
            if len(numbers) > 1 and _contradict(numbers, ranks.get(key, {})):
                notes[key] = _RANKS_OF_RUN
            elif len(numbers) > 1 and all_rise:
                notes[key] = _RISING_NUMBERS
    return scores, notes


def _are_ranks(lists: Sequence[Sequence[float]]) -> bool:
    """Tell whether the numbers of each query are ranks: they count from 0 or 1 on, and do not fall in all queries."""
    for numbers in lists:
        count = len(numbers)
        if sorted(numbers) not in ([*range(count)], [*range(1, count + 1)]):
            return False
    return not all(numbers == sorted(numbers, reverse=True) for numbers in lists)


def _rises(numbers: Sequence[float]) -> bool:
    """Tell whether each number is higher than the one before."""
    return all(number < next_number for number, next_number in pairwise(numbers))


def _contradict(scores: Mapping[str, float], ranks: Mapping[str, float]) -> bool:
    """Tell whether ranks say another order than scores: a later rank has a higher score, or all scores are equal."""
    if len(ranks) < len(scores) or len({*ranks.values()}) < len(ranks):
        return False
    scores_by_rank = [scores[document] for document in sorted(ranks, key=ranks.__getitem__)]
    are_equal = len({*scores_by_rank}) == 1
    return are_equal or any(score < next_score for score, next_score in pairwise(scores_by_rank))


def is_single_id(value: Any) -> bool:
    """Tell whether a value is the id of one document."""
    if isinstance(value, str):
        return len(value.split()) == 1 and value[:1] not in "[{("
    return type(whole_number(value)) is int


def rankings_in(
    data: Any, file: Path, *, are_expected: bool = False, may_be_lists: bool = False
) -> dict[str, dict[str, float]] | None:
    """Return the rankings by query that JSON holds: ``{query: {document: number}}``. Return None for anything else.

    This is the form of BEIR and pytrec_eval. It is also found within the splits of MTEB: ``{"default": {"test": {..}}}``.

    Args:
        data: The content of the file.
        file: The file, for errors.
        are_expected: Whether the documents are the expected ones. Then the ids of a list have the grade 1.
        may_be_lists: Whether the rankings may be lists, best first: ``{query: [document]}`` or ``{query: [[document, score]]}``.

    Raises:
        InputFileError: A document of a query is null, stands twice or has no number.
    """
    for _ in range(_MAX_SPLITS):
        if not isinstance(data, dict):
            return None
        rankings = _read_rankings(data, file, are_expected=are_expected, may_be_lists=may_be_lists)
        if rankings is not None:
            return rankings
        splits = [key for key in data if not key.endswith("_meta")]  # without "mteb_model_meta"
        if len(splits) != 1:
            return None
        data = data[splits[0]]
    return None


def _read_rankings(
    data: Mapping[str, Any], file: Path, *, are_expected: bool, may_be_lists: bool
) -> dict[str, dict[str, float]] | None:
    """Return an object whose values are all rankings, each as numbers by document. Return None for anything else."""
    if not any(data.values()):  # a query of a run may have no document
        return None
    pairs_by_query: dict[str, list[Any]] = {}
    for query, value in data.items():
        pairs: list[Any] | None = None
        if may_be_lists and value is None:
            pairs = [(None, None)]  # `_check_pairs` refuses it
        elif isinstance(value, dict):
            pairs = list(value.items())
        elif may_be_lists and isinstance(value, list):
            pairs = _pair_with_numbers(value, are_expected=are_expected)
        if pairs is None:
            return None
        pairs_by_query[query] = pairs
    numbers = [number for pairs in pairs_by_query.values() for _, number in pairs]
    if all(number is None for number in numbers):
        return None
    if not all(number is None or isinstance(number, Real) for number in numbers):
        return None
    for query, pairs in pairs_by_query.items():
        _check_pairs(query, pairs, file)
    return {query: dict(pairs) for query, pairs in pairs_by_query.items()}


def _check_pairs(query: str, pairs: Sequence[Any], file: Path) -> None:
    """Refuse the documents of a query if one of them is null, has no number, or stands twice."""
    where = f"for the query {query[:80]!r}"
    for document, number in pairs:
        if document is None:
            raise InputFileError(f"{file}: null stands in place of a document {where}. Leave it out.")
        if number is None:
            raise InputFileError(f"{file}: {document[:80]!r} has no number {where}.")
    doubled_id = find_doubled(document for document, _ in pairs)
    if doubled_id:
        raise InputFileError(f"{file}: {doubled_id!r} stands twice {where}.")


def _pair_with_numbers(items: list[Any], *, are_expected: bool) -> list[Any] | None:
    """Return the documents of a list, best first, each with a number. Return None if the items are no ids."""
    if all(map(_is_pair, items)):
        return items
    if not all(item is None or is_single_id(item) for item in items):
        return None
    ids = [None if item is None else str(item) for item in items]
    if are_expected:
        return [(id_, 1.0) for id_ in ids]
    return [(id_, float(len(ids) - place)) for place, id_ in enumerate(ids)]


def _is_pair(item: Any) -> bool:
    """Tell whether an item is a pair of an id and a number, or of an id and a gap."""
    if isinstance(item, list) and item[1:] == [None]:
        return isinstance(item[0], str)
    return is_graded_pair(item)


def run_with_qrels_rows(
    data: Any, file: Path, order: Order | None = None
) -> Iterator[tuple[str, Any]] | None:
    """Yield the queries of an object that holds qrels and a run: ``{"qrels": {..}, "run": {..}}``. Return None for another object.

    All queries of the qrels count. For one that the run lacks, nothing was retrieved.

    Raises:
        InputFileError: As `rankings_in` raises.
    """
    if not isinstance(data, dict):
        return None
    qrels = rankings_in(data.get("qrels"), file, are_expected=True, may_be_lists=True)
    if qrels is None:
        return None
    run = rankings_in(data.get("run"), file, may_be_lists=True)
    if run is None:
        return None
    scores, notes = order_run(run, order)
    return _join_run(qrels, scores, notes)


def _join_run(
    qrels: Mapping[str, Mapping[str, float]],
    run: Mapping[str, Mapping[str, float]],
    notes: Mapping[str, str],
) -> Iterator[tuple[str, Any]]:
    """Yield a row for each query of qrels or of a run, with what may say another order of its documents."""
    for query in dict.fromkeys([*qrels, *run]):
        note = notes.get(query, "")
        place, row = next(iterate_queries({query: run.get(query, {})}, are_expected=False, note=note))
        if query in qrels:
            _, gold = next(iterate_queries({query: qrels[query]}, are_expected=True))
            row |= gold
        yield place, row


def run_rows(
    run: Mapping[str, Mapping[str, float]], order: Order | None = None
) -> Iterator[tuple[str, Any]]:
    """Yield a row for each query of a run, after its place; see `order_run`."""
    scores, notes = order_run(run, order)
    for query, numbers in scores.items():
        yield from iterate_queries({query: numbers}, are_expected=False, note=notes.get(query, ""))


def iterate_queries(
    rankings: Mapping[str, Mapping[str, float]], *, are_expected: bool, note: str = ""
) -> Iterator[tuple[str, Any]]:
    """Yield a row for each query, after its place.

    Args:
        rankings: By query, the grade or score of each document.
        are_expected: Whether the documents are the expected ones. Else they are the retrieved ones.
        note: What may say another order of the retrieved documents; empty if nothing does.
    """
    for query, scores in rankings.items():
        fields: dict[str, Any]
        if are_expected:
            grades = {document: score for document, score in scores.items() if score > 0}
            fields = {"reference_context_ids": [*grades], "labels": {"relevance": grades}}
        else:
            pairs = sorted(zip(array("f", scores.values()), scores, strict=True), reverse=True)
            fields = {"retrieved_context_ids": [document for _, document in pairs]}
            fields["metadata"] = group_ties(pairs)
            if note:
                fields["metadata"][UNORDERED_BY] = note
        yield f"query {query[:80]!r}", {"id": query, **fields}


def _read_finite(text: str) -> float | None:
    """Read a finite number. Return None for any other text."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None
