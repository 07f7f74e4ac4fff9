"""Several retrievals of one question in one file: a column that differs within a question as a setting does.

Read together, they give a number that describes no retriever. So the file is refused. The user chooses one retrieval, or asks for a
run of each.
"""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.errors import ParameterError, SampleError
from ctxmetrics.evaluation.files.hit_numbers import says_order, says_rank
from ctxmetrics.samples.documents import is_missing, leaves, look_up, text_of, whole_number
from ctxmetrics.samples.field_keys import RETRIEVED
from ctxmetrics.samples.schema import join_first
from ctxmetrics.samples.systems import normalized_key

_SETTING_NAMES: Mapping[str, Sequence[str]] = read_data("samples", "keys.json")["settings"]
# Names of columns for the system that retrieves, or for a run.
_SYSTEM_NAMES = frozenset(map(normalized_key, _SETTING_NAMES["systems"]))
# The maximum number of values of a setting whose name is unknown.
_MAX_VALUES = 20
# The maximum depth of nested objects that hold settings.
_MAX_DEPTH = 3
# The maximum number of values that a message lists.
_MAX_VALUES_SHOWN = 4


class RetrievalRow(NamedTuple):
    """One row: its question, what was retrieved, and the columns that may say by which setting.

    Attributes:
        question: The text or the id of the question.
        items: The retrieved texts or ids.
        ranks: The values of its columns for ranks, if the row is a passage.
        columns: The values of the columns that may name a setting, as text.
    """

    question: str
    items: tuple[Any, ...]
    ranks: tuple[str, ...]
    columns: Mapping[str, str]


def to_retrieval(
    question: Any,
    items: Any,
    columns: Mapping[str, Any],
    excluded: Collection[str] = (),
    *,
    reference: Any = None,
) -> RetrievalRow | None:
    """Build the retrieval of a row. Return None if the row has no question, or nothing was retrieved.

    Args:
        question: The text or id of the question.
        items: The retrieved items.
        columns: The other columns of the row.
        excluded: The columns among them that are no setting.
        reference: The expected answer. The same question with another expected answer is another question.
    """
    if question is None or not isinstance(items, (list, tuple)):
        return None
    possible_settings: dict[str, str] = {}
    for key, value in _flatten(columns).items():
        is_setting = isinstance(value, (str, int, float)) and not is_missing(value)
        if is_setting and key not in excluded and not says_order(key):
            possible_settings[key] = name_value(value)
    retrieved = [_to_text(item) for item in items]
    ranks = [name_value(value) for key, value in columns.items() if says_rank(str(key))]
    name = f"{question} {reference}" if isinstance(reference, str) else str(question)
    return RetrievalRow(
        question=" ".join(name.split()).casefold(),
        items=tuple(retrieved),
        ranks=tuple(ranks),
        columns=possible_settings,
    )


def _flatten(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns, with each object replaced by its paths: an object such as ``config.top_k`` may hold settings."""
    if not any(hasattr(value, "items") for value in columns.values()):  # the usual case
        return {str(key): value for key, value in columns.items()}
    return dict(leaves(columns, _MAX_DEPTH))


def _to_text(item: Any) -> str:
    """Return the text of a document, and anything else as a text: an id may be a number with a point."""
    if isinstance(item, float):
        return str(whole_number(item))
    text = text_of(item)
    return str(item if text is None else text)


def read_retrieval(values: Mapping[str, Any], excluded: Collection[str] = ()) -> RetrievalRow | None:
    """Build the retrieval from the fields of a row: see `to_retrieval`."""
    question = values.get("user_input")
    items = next((values[name] for name in RETRIEVED if values.get(name)), None)
    name = values.get("id") if question is None else question
    metadata = values.get("metadata") or {}
    return to_retrieval(name, items, metadata, excluded, reference=values.get("reference"))


def may_hold_setting(columns: Iterable[str]) -> bool:
    """Tell whether a column has a usual name of a retriever or of a run."""
    return any(map(_is_system, columns))


@lru_cache(maxsize=4096)
def _is_system(name: str) -> bool:
    """Tell whether a name, or the last step of a path, is a usual name of a retriever or of a run."""
    last_step = str(name).rpartition(".")[2]  # the keys of metadata may be numbers
    return normalized_key(last_step) in _SYSTEM_NAMES


def name_value(value: Any) -> str:
    """Write the value of a setting as text: ``bm25``, and 5 for 5.0."""
    return str(whole_number(value))


def name_wanted(value: Any) -> str | None:
    """Return the name of a value that rows must have, or None for a missing value."""
    return None if is_missing(value) else name_value(value)


def find_setting(rows: Iterable[RetrievalRow]) -> tuple[str, list[str]] | None:
    """Find the column that says which retrieval a row is of, if a question has several. Return None if there is none.

    A column with a usual name is one if rows of one question have different values there, and different retrieved items. Any other
    column is one if each question has the same few values of it, and a passage was retrieved under several of them.

    Returns:
        The column, and its values in the order of the rows.
    """
    rows_by_question: defaultdict[str, list[RetrievalRow]] = defaultdict(list)
    for row in rows:
        rows_by_question[row.question].append(row)
    repeated_questions = [group for group in rows_by_question.values() if len(group) > 1]
    names: dict[str, None] = {}  # of the columns, in their order
    for row in chain.from_iterable(repeated_questions):
        names |= dict.fromkeys(row.columns)
    # Columns with a usual name come first.
    for name in sorted(names, key=lambda name: not _is_system(name)):
        groups = [_group_by_value(question_rows, name) for question_rows in repeated_questions]
        if not any(map(_has_different_lists, groups)):
            continue
        counts = Counter(chain.from_iterable(groups))
        has_repeated_value = len(groups) == 1 or max(counts.values()) > 1
        is_named_setting = _is_system(name) and has_repeated_value
        if is_named_setting or _looks_like_setting(groups):
            return name, [*counts]
    return None


# The rows of one question, by their value in a column.
_Group = dict[str, list[RetrievalRow]]


def _group_by_value(group: Sequence[RetrievalRow], name: str) -> _Group:
    """Group the rows of a question by their values of a column."""
    rows: _Group = {}
    for row in group:
        if name in row.columns:
            rows.setdefault(row.columns[name], []).append(row)
    return rows


def _has_different_lists(group: _Group) -> bool:
    """Tell whether different values of a column have different lists of retrieved items."""
    lists = set()
    for rows in group.values():
        lists.add(tuple(chain.from_iterable(row.items for row in rows)))
    return len(lists) > 1


def _looks_like_setting(groups: Sequence[_Group]) -> bool:
    """Tell whether a column looks like a setting: it has the same values for all questions, as if each retriever got each question.

    A passage or a rank must also repeat under some different values, and never under the same value of one question.
    """
    value_sets = {frozenset(group) for group in groups}
    if len(groups) < 2 or len(value_sets) > 1:  # noqa: PLR2004 - one question proves nothing
        return False
    if not 1 < len(groups[0]) <= _MAX_VALUES:
        return False
    is_repeated = False
    for group in groups:
        # For each item or rank, the number of values that have it.
        value_counts: Counter[Any] = Counter()
        for rows in group.values():
            items = list(chain.from_iterable(row.items for row in rows))
            ranks = [("rank", *row.ranks) for row in rows if row.ranks]
            if len(set(items)) < len(items) or len(set(ranks)) < len(ranks):
                return False
            value_counts.update([*items, *ranks])
        if max(value_counts.values(), default=0) > 1:
            is_repeated = True
    return is_repeated


def explain_setting(column: str, values: Sequence[str]) -> str:
    """Say why rows are refused that are several retrievals of a question, and which option reads such rows."""
    only = shlex.quote(f"{column}={values[0]}")
    return (
        f"a question has several retrievals: {column!r} differs between its rows ({join_first(values, _MAX_VALUES_SHOWN)}). Write --only {only} "
        f"for one of them (in Python only={{{column!r}: {values[0]!r}}}, or keep its rows), or --by "
        f"{shlex.quote(column)} (by=) for each as a run of its own; --map {shlex.quote(f'{column}=metadata')} if it is no setting."
    )


class SettingCheck:
    """Remembers the retrievals of a stream of rows, and finds a question with a second retrieval of another setting.

    Args:
        excluded: Columns that are no setting.
    """

    def __init__(self, excluded: Collection[str] = ()) -> None:
        self._excluded = excluded
        # The first retrieval of each question, by the hash of the question.
        self._first: dict[int, RetrievalRow] = {}
        self._counts: Counter[tuple[str, str]] = Counter()

    def check(self, values: Mapping[str, Any]) -> None:
        """Check the fields of a row.

        Raises:
            SampleError: A column whose name is usually that of a system, such as ``model``, has another value than in an
                earlier row of the question.
        """
        metadata = values.get("metadata")
        if not metadata:
            return
        system_columns = {key: value for key, value in _flatten(metadata).items() if _is_system(key)}
        row = None
        if system_columns:
            row = read_retrieval({**values, "metadata": system_columns}, self._excluded)
        if row is not None and row.columns:
            # Later, lists of items are only compared with each other. Their hash is enough, and takes less memory.
            row = row._replace(items=(hash(row.items),), ranks=())
            self._counts.update(row.columns.items())
            before = self._first.setdefault(hash(row.question), row)
            # A value that only one row has, such as the id of a call, is no setting.
            shared = {
                name: text for name, text in before.columns.items() if self._counts[name, text] > 1
            }
            check_setting([before._replace(columns=shared), row])


class RepeatedQuestions:
    """Counts the questions with several retrievals in a stream of rows, if no column names the system of a retrieval."""

    def __init__(self) -> None:
        # The hash of the first retrieval of each question, with the expected items.
        self._first: dict[int, int] = {}
        self._repeated: set[int] = set()

    def add(self, values: Mapping[str, Any]) -> None:
        """Add the fields of a row."""
        question = values.get("user_input")
        items = next((values[name] for name in RETRIEVED if values.get(name)), None)
        if question is None or not isinstance(items, list):
            return
        key = hash((str(question), str(values.get("reference"))))
        retrieval = hash(tuple(map(str, items)))
        if self._first.setdefault(key, retrieval) != retrieval:
            self._repeated.add(key)

    def describe(self) -> str:
        """Describe the questions with several retrievals, if they are most. Return an empty text otherwise."""
        count = len(self._repeated)
        if 2 * count <= len(self._first):
            return ""
        return (
            f"{count} of {len(self._first)} questions stand in several rows with other retrieved items, and each row is a sample: if the file "
            "holds several runs, score them one by one"
        )


def check_setting(rows: Iterable[RetrievalRow | None]) -> None:
    """Check that rows are not several retrievals of one question.

    Raises:
        SampleError: The rows are several retrievals. The message names the column.
    """
    setting = find_setting(row for row in rows if row is not None)
    if setting is not None:
        raise SampleError(explain_setting(*setting))


def keep_rows(
    rows: Iterable[tuple[str, Any]], only: Mapping[str, str | None]
) -> Iterator[tuple[str, Any]]:
    """Yield the rows that have all of these values.

    Args:
        rows: The rows, each with its place.
        only: The value of each column, as `name_wanted` names it. None: only rows without a value in this column.

    Raises:
        ParameterError: No row has all of them.
    """
    # The values of each column, in the order of the rows.
    values_by_column: dict[str, dict[str, None]] = {column: {} for column in only}
    has_matches = False
    for where, row in rows:
        values: dict[str, str | None] = {}
        for column in only:
            values[column] = name_wanted(find_value(row, column))
        for column, name in values.items():
            if name is not None:
                values_by_column[column][name] = None
        if values == only:
            has_matches = True
            yield where, row
    if not has_matches:
        options = "; ".join(
            f"{column}: {join_first(names) or 'no value'}" for column, names in values_by_column.items()
        )
        text = " and ".join(f"{column}={value}" for column, value in only.items())
        raise ParameterError(f"only={text}: no row has it. There is {options}.")


def find_value(row: Any, column: str) -> Any:
    """Return the value of a column of a row, or of its metadata."""
    value = look_up(row, column)
    return look_up(look_up(row, "metadata"), column) if value is None else value
