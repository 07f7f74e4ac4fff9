"""Rows of JSON Lines, and of JSON: a list, one sample, a table by columns, or an export with a list of rows in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ctxmetrics.errors import CtxMetricsError, InputFileError, SampleError
from ctxmetrics.evaluation.files.first_rows import LOOKAHEAD_ROWS
from ctxmetrics.evaluation.files.header_keys import TEXT_NAMES, count_known
from ctxmetrics.evaluation.files.recognition import recognise
from ctxmetrics.evaluation.files.text_files import open_text
from ctxmetrics.samples.cells import find_doubled, object_of
from ctxmetrics.samples.documents import leaves, text_of
from ctxmetrics.samples.field_keys import OPTIONS

# The maximum depth at which a list of rows is searched in an export.
_MAX_DEPTH = 3
# The minimum number of fields that a sample has.
_MIN_FIELDS = 2
# The key of the questions in a row about a conversation.
_QUESTIONS_KEY = "qa"
# The objects of LlamaIndex' EmbeddingQAFinetuneDataset: texts by id, and ids by the id of the question.
_LLAMAINDEX_KEYS = ("queries", "corpus", "relevant_docs")


def line_rows(file: Path, encoding: str | None = None) -> Iterator[tuple[str, Any]]:
    """Yield the content of each line of a file of JSON Lines.

    Raises:
        InputFileError: The file cannot be read, or a line is no JSON.
    """
    with open_text(file, encoding) as text:
        for number, line in enumerate(text, 1):
            if not line.isspace():
                yield f"line {number}", _parse(line, file, f"line {number}")


def read_json(file: Path, encoding: str | None = None) -> Any:
    """Return the content of a JSON file. An empty file holds no samples. JSON Lines are read as a list."""
    with open_text(file, encoding) as text:
        content = text.read()
    if not content.strip():
        return []
    try:
        return _parse(content, file, None)
    except InputFileError:
        first_line, _, other_lines = content.strip().partition("\n")
        if not other_lines or not _is_object(first_line):
            raise
    return [item for _, item in line_rows(file, encoding)]


def _is_object(line: str) -> bool:
    """Tell whether a line is a JSON object."""
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def rows_in(data: Any, file: Path) -> tuple[list[Any], str]:
    """Find the rows in the content of a JSON file: a list, one sample, columns, or a list somewhere in an export.

    Returns:
        The rows, and the path at which they stand; empty if they stand at the top level.

    Raises:
        InputFileError: There are no rows.
    """
    if isinstance(data, list):
        return _open_conversations(data), ""
    rows_and_path = _rows_of_object(data, file) if isinstance(data, dict) else None
    if rows_and_path is None:
        raise InputFileError(
            f"{file}: the top level must be a list of samples. Write [{{..}}, {{..}}]."
        )
    return rows_and_path


def _rows_of_object(data: dict[str, Any], file: Path) -> tuple[list[Any], str] | None:
    """Find the rows in an object, and the path at which they stand; see `rows_in`. Return None if there are none."""
    rows = _table_rows(data, file)
    if rows is None and _count_fields([data]) >= _MIN_FIELDS:
        rows = [data]
    if rows is None:
        rows = _keyed_rows(data)
    if rows is not None:
        return rows, ""
    return _find_inner_table(data) or _find_inner_list(data)


def _find_inner_table(data: dict[str, Any]) -> tuple[list[Any], str] | None:
    """Find a table by columns in an object: Haystack writes ``{"inputs": {"questions": [..], "contexts": [..]}}``."""
    for key, columns in data.items():
        if not isinstance(columns, dict) or count_known(map(str, columns)) < _MIN_FIELDS:
            continue
        lengths = {len(column) if isinstance(column, list) else 0 for column in columns.values()}
        if len(lengths) == 1 and lengths != {0}:
            cells = zip(*columns.values(), strict=True)
            return [dict(zip(columns, row, strict=True)) for row in cells], key
    return None


def _find_inner_list(data: dict[str, Any]) -> tuple[list[Any], str] | None:
    """Find the list of objects in an export whose items have most fields of a sample; of equal ones, the longest."""
    lists = [(path, value) for path, value in leaves(data, _MAX_DEPTH) if _is_list_of_objects(value)]
    if not lists:
        return None

    def count_fields_and_rows(path_and_rows: tuple[str, list[Any]]) -> tuple[int, int]:
        """Count the fields of a sample that a list has, then its rows."""
        _, rows = path_and_rows
        return _count_fields(rows), len(rows)

    path, rows = max(lists, key=count_fields_and_rows)
    are_documents = all(isinstance(text_of(row), str) for row in rows)
    if are_documents and not _count_fields(rows):  # documents are no samples
        return [data], ""
    return rows, path


def _open_conversations(rows: list[Any]) -> list[Any]:
    """Replace rows by the questions in them, if each row holds the questions about one conversation, as in LoCoMo."""
    for row in rows:
        if not isinstance(row, dict) or not _is_list_of_objects(row.get(_QUESTIONS_KEY)):
            return rows
    questions: list[Any] = []
    for number, row in enumerate(rows, 1):
        name = row.get("sample_id", number)
        for question_number, question in enumerate(row[_QUESTIONS_KEY], 1):
            questions.append({"id": f"{name}-{question_number}", **question})
    return questions


def _keyed_rows(data: dict[str, Any]) -> list[Any] | None:
    """Read the rows of an object that is keyed by names: a sample for each key, or LlamaIndex' queries and documents by id.

    Pandas writes a sample for each key with ``orient="index"``.

    None if the object has another form.
    """
    if all(isinstance(data.get(key), dict) for key in _LLAMAINDEX_KEYS):
        rows: list[Any] = []
        for key, question in data["queries"].items():
            ids = _as_ids(data["relevant_docs"].get(key))
            texts = [data["corpus"].get(id_) for id_ in ids]
            row = {"id": key, "user_input": question, "reference_context_ids": ids}
            if texts and all(isinstance(text, str) for text in texts):
                row["reference_contexts"] = texts
            rows.append(row)
        return rows
    if not data or not all(isinstance(value, dict) for value in data.values()):
        return None
    samples = list(data.values())
    common_keys = set.intersection(*map(set, samples))
    if not common_keys & TEXT_NAMES or _count_fields(samples) < _MIN_FIELDS:
        return None
    if all(key.isdecimal() for key in data):  # numbers of rows
        return samples
    return [{"id": key, **sample} for key, sample in data.items()]


def _as_ids(ids: Any) -> list[Any]:
    """Return ids as a list. From an object with grades, take the keys whose grade is above 0."""
    if isinstance(ids, dict):
        return [id_ for id_, grade in ids.items() if grade]
    return ids if isinstance(ids, list) else []


def _is_list_of_objects(value: Any) -> bool:
    """Tell whether a value is a list of objects, and not empty."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _table_rows(data: dict[str, Any], file: Path) -> list[dict[str, Any]] | None:
    """Read the rows of a table that is written by columns, as pandas and Hugging Face do. Return None for another form.

    Raises:
        InputFileError: A row has not as many cells as there are columns, or two columns have one name.
    """
    names: Any = data.get("columns")
    cells: Any = data.get("data")
    are_lists = isinstance(names, list) and isinstance(cells, list)
    if are_lists and all(isinstance(row, list) for row in cells):
        return _split_rows(names, cells, file)
    if not any(key in TEXT_NAMES for key in data) or all(map(_is_list_of_objects, data.values())):
        return None
    columns: list[Any] = []
    for value in data.values():
        column = dict(enumerate(value)) if isinstance(value, list) else value
        if not isinstance(column, dict):
            return None
        columns.append(column)
    for name, column in zip(data, columns, strict=True):
        if column.keys() == columns[0].keys():
            continue
        if not _looks_like_table(dict(zip(data, columns, strict=True))):
            return None
        first_name = next(iter(data))
        raise InputFileError(
            f"{file}: a table by columns with a gap: {first_name[:60]!r} has {len(columns[0])} values, {name[:60]!r} has "
            f"{len(column)}, or their keys differ. Write null for a gap."
        )
    rows: list[dict[str, Any]] = []
    for number in columns[0]:
        row = [column[number] for column in columns]
        rows.append(dict(zip(data, row, strict=True)))
    return rows


def _looks_like_table(columns: Mapping[str, Mapping[Any, Any]]) -> bool:
    """Tell whether columns of unequal length are a table all the same: rows have numbers, and a column of texts holds a text."""
    for column in columns.values():
        if not all(isinstance(key, int) or key.isdecimal() for key in column):
            return False
    text_column = next(column for name, column in columns.items() if name in TEXT_NAMES)
    return any(isinstance(text, str) for text in text_column.values())


def _split_rows(names: list[Any], cells: list[list[Any]], file: Path) -> list[dict[str, Any]]:
    """Build a row with column names from each list of cells."""
    doubled_name = find_doubled(map(str, names))
    if doubled_name:
        raise InputFileError(f"{file}: two columns are named {doubled_name!r}. Rename one.")
    rows: list[dict[str, Any]] = []
    for number, row in enumerate(cells, 1):
        if len(row) != len(names):
            raise InputFileError(
                f"{file}, sample {number}: the row has not as many cells as 'columns'. Write null for a gap."
            )
        rows.append(dict(zip(map(str, names), row, strict=True)))
    return rows


def _count_fields(rows: list[Any]) -> int:
    """Count the fields of a sample that the rows have."""
    try:
        absent_fields = recognise(rows[:LOOKAHEAD_ROWS]).reading.absent
    except CtxMetricsError:  # the readers of the rows name what is wrong with one
        return _MIN_FIELDS
    return 0 if absent_fields is None else len(OPTIONS.keys() - absent_fields)


def _parse(text: str, file: Path, where: str | None) -> Any:
    """Parse JSON. An error names the file and the line."""
    try:
        return _decoder().decode(text)
    except RecursionError:
        problem = "nested too deeply. Write a flat object."
    except SampleError as error:
        raise InputFileError(f"{file}, {where or 'the file'}: {error}") from None
    except json.JSONDecodeError as error:
        where = where or f"line {error.lineno}"
        problem = f"not valid JSON: {error.msg} (column {error.colno})."
    except ValueError:  # Python reads none of more than 4,300 digits
        problem = "holds an integer of thousands of digits. Write an id as a string."
    raise InputFileError(f"{file}, {where or 'the file'}: {problem}")


@cache
def _decoder() -> json.JSONDecoder:
    """Return the decoder of all lines: `json.loads` would make one a line."""
    return json.JSONDecoder(parse_constant=_read_gap, object_pairs_hook=object_of)


def _read_gap(name: str) -> None:
    """Read NaN and infinities as None: they are no JSON, and pandas writes them for a gap."""
