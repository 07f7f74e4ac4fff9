"""Columns that no field is read from, and the fields that they may hold: what a message proposes if a metric lacks a field."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ctxmetrics._internal.patterns import compile_on_use
from ctxmetrics.evaluation.files.field_locations import (
    find_all_locations,
    get_first_locations,
    without_paths,
)
from ctxmetrics.evaluation.files.formats import NAMES_OF_NOT_RETRIEVED, SEARCH_RESULT_NAMES
from ctxmetrics.evaluation.files.graded_ids import is_graded_pair
from ctxmetrics.evaluation.files.headers import find_plain_field, is_passage_header
from ctxmetrics.evaluation.files.row_decisions import Reading
from ctxmetrics.evaluation.files.unread_lists import (
    MAX_DEPTH,
    QUESTION_NAMES,
    are_passages,
    find_unread_passages,
    is_passage,
)
from ctxmetrics.samples.cells import list_in
from ctxmetrics.samples.documents import ID_KEYS, are_messages, grades_of, leaves, look_up, whole_number
from ctxmetrics.samples.field_keys import OPTIONS, TEXTS
from ctxmetrics.samples.systems import NAMES_OF_OTHER_ANSWERS, fields_meant, join_options

# The fields that a message proposes columns for, each with the beginning of its sentence.
_SENTENCES: Mapping[str, str] = {
    "user_input": "If the question is there",
    "reference": "If the expected answer is there",
    "references": "If these answers are acceptable",
    "reference_facts": "If these facts are expected",
    "reference_contexts": "If the expected texts are there",
    "reference_context_ids": "If the expected ids are there",
    "retrieved_context_ids": "If the ids of what was retrieved are there",
    "retrieved_contexts": "If that is what was retrieved",
}
# Names that may mean the answer of a system or the expected answer: answer, output.answer.
_EITHER_ANSWER_NAME = compile_on_use(r"(?:^|\.)answers?$", re.IGNORECASE)
# Names of lists of answers: possible_answers, correctAnswer.
_ANSWERS_NAME = compile_on_use(r"answers?$", re.IGNORECASE)
# Names of what a system answered: model_answer, gpt4_answer, output.answer.
_SYSTEM_NAMES = compile_on_use(
    r"model|llm|gpt|claude|gemini|llama|bot|rag|system|assistant|predict|generat|candidate|baseline"
    r"|output|response|result",
    re.IGNORECASE,
)
# Names of lists of expected facts.
_FACTS_NAME = compile_on_use(r"(?:\w+_)?(?:facts|nuggets|claims|key_?points)", re.IGNORECASE)
# Names of lists that hold neither retrieved nor expected items: hard_negatives, citations.
_NEITHER_SIDE_NAMES = compile_on_use(
    r"negative|distractor|(?:^|[\W_])neg(?:[\W_]|$)|hard|alias|citation", re.IGNORECASE
)
# Keys under which an object of the expected side has its answer: gold.text, expected.answer.
_ANSWER_KEYS = frozenset({"answer", "answers", "text", "value", "response", "output", "content"})
# Names of what a system returned: retrieved_links, results, top_docs.
_RESULT_NAMES = compile_on_use(
    r"retriev|result|hit|search|found|top|predict|ranked|(?:^|[\W_])preds?(?:[\W_]|$)", re.IGNORECASE
)
# A key of the ids in a list of objects: doc_uri, chunkId, wikipedia_id.
_ID_KEY = compile_on_use(r"(?:^|_)(?:id|uri|url|uuid|docno|pid)$|(?<=[a-z])(?:Id|ID|Uri|Url)$")
# A part of an id, which a plain word does not have: a digit, or a mark within a name.
_ID_MARK = compile_on_use(r"\d|\w[./_:#-]\w")
# The column at the beginning of a path: "hits" of hits[].text.
_COLUMN_OF_PATH = compile_on_use(r"[^.\[]+")
# The maximum number of characters of an id.
_MAX_ID_CHARACTERS = 300


def find_candidates(reading: Reading, parsed_row: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Find the columns and paths that no field is read from, by the field that each may hold.

    A question, an answer or what is expected is never proposed as what was retrieved. The result is, for example,
    ``{"reference": ("expected.answer",), "retrieved_contexts": ("hits[].body",)}``.
    """
    locations = get_first_locations(find_all_locations(reading, parsed_row))
    read_paths = {*reading.columns}
    read_paths.update(path for name, (path, _) in locations.items() if name in OPTIONS)
    unread_row = without_paths(parsed_row, read_paths)
    candidates = _find_by_name(unread_row)
    texts_of_row = [
        value for name, (_, value) in locations.items() if name in TEXTS and isinstance(value, str)
    ]
    passages = find_unread_passages(parsed_row, unread_row, texts_of_row)
    if passages:
        candidates["retrieved_contexts"] = passages
    answer_path, answer = locations.get("response", ("", None))
    if "reference" not in candidates and _EITHER_ANSWER_NAME.search(answer_path):
        candidates |= find_expected_answer(answer_path, answer)
    candidates |= _divide_id_paths(_find_id_paths(unread_row), locations)
    return {
        field: tuple(_write_as_in_row(reading, path) for path in paths)
        for field, paths in candidates.items()
    }


def _write_as_in_row(reading: Reading, path: str) -> str:
    """Write a path with the name of its column in the row, which may differ from the schema's key: ``Hits[].text``."""
    column = _COLUMN_OF_PATH.match(path)
    if column is None:
        return path
    return reading.original(column[0]) + path[column.end() :]


def find_expected_answer(path: str, answer: Any) -> dict[str, tuple[str, ...]]:
    """Find the field of an answer that is the expected one: one text, several acceptable answers, or facts with their spellings.

    Facts are lists of spellings, ``[["three years", "3 years"], ["Otis"]]``. The first spelling of each is the fact.
    """
    items = list_in(answer)
    if not items:
        return {"reference": (path,)} if isinstance(answer, str) else {}
    if all(isinstance(item, str) for item in items):
        return {"references": (path,)}
    if all(isinstance(item, list) and item and isinstance(item[0], str) for item in items):
        return {"reference_facts": (f"{path}[][0]",)}
    return {}


def _find_by_name(unread_row: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Find the paths of texts, and of lists of expected texts, by the field that their name means."""
    paths_by_field: dict[str, tuple[str, ...]] = {}
    for path, value in leaves(unread_row, MAX_DEPTH):
        if not _NEITHER_SIDE_NAMES.search(path):
            for field in _list_possible_fields(path, value):
                paths_by_field[field] = (*paths_by_field.get(field, ()), path)
    return paths_by_field


def _find_id_paths(unread_row: Mapping[str, Any]) -> list[str]:
    """Find the paths of all ids."""
    id_paths = [name for name, value in unread_row.items() if _are_grades_by_id(value)]
    for path, value in leaves(unread_row, MAX_DEPTH):
        if not _NEITHER_SIDE_NAMES.search(path) and not are_messages(list_in(value)):
            id_path = _find_id_path(path, value)
            if id_path is not None:
                id_paths.append(id_path)
    return id_paths


def _list_possible_fields(path: str, value: Any) -> Iterator[str]:
    """Yield the fields, other than ids and lists of retrieved texts, that the value at a path may hold."""
    *_, name = path.split(".")
    means_expected = "reference" in fields_meant(name) or find_plain_field(name, value) == "reference"
    stands_on_expected_side = bool(NAMES_OF_NOT_RETRIEVED.search(path.removesuffix(name)))
    may_be_reference = means_expected or (stands_on_expected_side and name.lower() in _ANSWER_KEYS)
    if _ANSWERS_NAME.search(name) and NAMES_OF_OTHER_ANSWERS.search(path):
        return
    if isinstance(value, str):
        if QUESTION_NAMES.search(name):
            if is_passage(value):
                yield "user_input"
        elif may_be_reference or (_ANSWERS_NAME.search(name) and not _SYSTEM_NAMES.search(path)):
            yield "reference"
        elif is_passage_header(name) and is_passage(value):
            yield "retrieved_contexts"
    elif _FACTS_NAME.fullmatch(name) and are_passages(value):
        yield "reference_facts"
    elif are_passages(value) and NAMES_OF_NOT_RETRIEVED.search(path):
        is_answer = may_be_reference or _ANSWERS_NAME.search(name) is not None
        yield "reference" if is_answer else "reference_contexts"


def _find_id_path(path: str, value: Any) -> str | None:
    """Return the path of the ids in a list, such as ``hits[].doc_id``, or of a single id. Return None if there are none."""
    if isinstance(value, str) and NAMES_OF_NOT_RETRIEVED.search(path):
        ids = re.split(r"[\s,;|]+", value.strip())
        if all(map(_is_id, ids)):
            return path
    items = list_in(value)
    if not items:
        return None
    if all(map(_is_id, items)) or all(map(is_graded_pair, items)):
        return path
    if not all(isinstance(item, Mapping) for item in items):
        return None
    keys = [*ID_KEYS, *(str(key) for key in items[0] if _ID_KEY.search(str(key)))]
    for key in keys:
        ids = [look_up(item, key) for item in items]
        if all(map(_is_id, ids)):
            # The ids alone would lose the grades, and expect what has the grade 0.
            are_graded = not _RESULT_NAMES.search(path) and grades_of(items, ids)
            return path if are_graded else f"{path}[].{key}"
    return None


def _are_grades_by_id(value: Any) -> bool:
    """Tell whether a value is an object of grades by id: ``{"d3": 2, "d9": 0}``. Scores of a run are no whole numbers."""
    if not isinstance(value, dict) or not value or not all(map(_is_id, value)):
        return False
    return all(type(whole_number(grade)) is int for grade in value.values())


def _is_id(value: Any) -> bool:
    """Tell whether a value may be an id: a whole number, or one word with a digit or a mark in it."""
    if isinstance(value, int):
        return not isinstance(value, bool)
    if not isinstance(value, str) or len(value) > _MAX_ID_CHARACTERS or len(value.split()) != 1:
        return False
    return _ID_MARK.search(value) is not None


def _divide_id_paths(
    id_paths: list[str], locations: Mapping[str, tuple[str, Any]]
) -> dict[str, tuple[str, ...]]:
    """Divide the paths of ids: those that may be expected, and those that may have been retrieved.

    A path whose name says neither may be expected only if the retrieved ids stand elsewhere, and the other way round.
    """
    expected = [path for path in id_paths if NAMES_OF_NOT_RETRIEVED.search(path)]
    others = [path for path in id_paths if path not in expected and not QUESTION_NAMES.search(path)]
    retrieved = [path for path in others if _RESULT_NAMES.search(path)]
    unclear = [path for path in others if path not in retrieved]
    if not expected and (retrieved or "retrieved_context_ids" in locations):
        expected = unclear
    if not retrieved:
        retrieved = [path for path in unclear if path not in expected]
        retrieved = [path for path in retrieved if SEARCH_RESULT_NAMES.search(path)] or retrieved
    paths_by_field: dict[str, tuple[str, ...]] = {}
    if expected:
        paths_by_field["reference_context_ids"] = tuple(expected)
    if retrieved:
        paths_by_field["retrieved_context_ids"] = tuple(retrieved)
    return paths_by_field


def describe_candidates(
    candidates: Mapping[str, tuple[str, ...]], missing_fields: Collection[str]
) -> str:
    """Propose an option for each missing field that a column may hold. The result is empty if there is none, else begins with a blank."""
    fields = {*missing_fields}
    if "reference" in fields and "reference" not in candidates:
        fields |= {"references", "reference_facts"}
    text = ""
    for field, sentence in _SENTENCES.items():
        paths = candidates.get(field, ())
        if field not in fields or not paths:
            continue
        if field == "retrieved_contexts":
            text += f" Lists of texts stand in: {', '.join(paths)}."
        text += f" {sentence}: {join_options(f'{path}={field}' for path in paths)}."
    return text
