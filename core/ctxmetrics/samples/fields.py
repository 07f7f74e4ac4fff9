"""The fields of a sample: what may stand in each, and how it is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from numbers import Integral
from typing import Any, TypeVar

from ctxmetrics._internal.frozen import EMPTY, FrozenDict
from ctxmetrics.errors import NotTextError, SampleError
from ctxmetrics.samples.documents import (
    TEXT_KEYS,
    as_list,
    grades_of,
    ids_of,
    is_document,
    is_missing,
    keep_relevant,
    labels_are_spans,
    text_of,
    whole_number,
)
from ctxmetrics.samples.field_keys import FIELDS, TEXTS_OF
from ctxmetrics.samples.pictures import describe_media, find_media
from ctxmetrics.samples.stages import TOGETHER, Search, Stage, to_stages_of_searches
from ctxmetrics.samples.systems import check_keys
from ctxmetrics.text.character_spans import has_content, is_visible

T = TypeVar("T")
_MAX_IMPORTANCE = 1e9
_FACT_KEYS = ("text", "id", "importance")
_SEARCH_KEYS = ("query", "contexts", "ids", "turn")
_TEXT_FIELDS = ("user_input", "response", "reference")
# A judge or a string metric compares the texts of these fields with the retrieved texts.
_READ_AS_TEXT = {"response", "reference", "references", "reference_facts", "reference_contexts"}
# All fields of a sample, without values.
_ABSENT: Mapping[str, Any] = dict.fromkeys(FIELDS)
# How deeply the lists and mappings of a field may be nested.
_MAX_DEPTH = 100
# Types of values that hold no other values.
_FLAT_TYPES = frozenset({str, int, float, bool, type(None)})
_TEXT_TYPE = frozenset({str})
# The maximum number of characters of a text: a longer text is no chunk, but a whole file.
MAX_CHARACTERS = 10_000_000
# The maximum number of texts in one field, and of units in one reference or response. Each unit is compared with each context: a
# corpus of more texts would take too long.
MAX_TEXTS = 50_000
MAX_UNITS = 10_000
# The maximum number of characters of a list whose texts are shared with other samples: shared texts stay in memory.
_MAX_SHARED_CHARACTERS = 10_000


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact that an answer must state, as people wrote it.

    Attributes:
        text: The fact.
        id: The id of the fact, if it has one.
        importance: ``"vital"``, ``"okay"`` or a number above 0, where people said it.
    """

    text: str
    id: str | None = None
    importance: float | str | None = None

    def to_dict(self) -> str | dict[str, Any]:
        """Return the text; with an id or an importance, a mapping."""
        if self.id is None and self.importance is None:
            return self.text
        fields = {name: getattr(self, name) for name in _FACT_KEYS}
        return {name: value for name, value in fields.items() if value is not None}


def read_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return every field of a sample as it is stored."""
    if not _ABSENT.keys() >= fields.keys():
        check_keys(fields, FIELDS)
    for name, value in fields.items():
        check_depth(value, name)
    values = {**_ABSENT, **fields}
    _read_field(values, "id", _read_id)
    for name in _TEXT_FIELDS:
        _read_field(values, name, _check_text)
    # `_read_lists` replaces documents by their texts. Their grades are read below, from this list.
    expected = values["reference_context_ids"] or values["reference_contexts"]
    _read_lists(values)
    for name, read in _READERS_OF_SEVERAL_FIELDS:
        if values[name] is not None:
            try:
                read(values)
            except SampleError as error:
                raise error.inside(field=name) from None
    for name in ("labels", "metadata"):
        values[name] = _read_mapping(values[name], name)
    # A text has no grade.
    is_list = isinstance(expected, (list, tuple))
    may_hold_grades = is_list and not _TEXT_TYPE.issuperset(map(type, expected))
    if may_hold_grades and "relevance" not in values["labels"]:
        items = keep_relevant("reference_context_ids", expected)
        grades = grades_of(items, values["reference_context_ids"])
        if grades:
            values["labels"] = FrozenDict({**values["labels"], "relevance": grades})
    return values


def _read_field(values: dict[str, Any], name: str, read: Callable[[Any], Any]) -> None:
    """Convert the value of a field to the value that is stored. A field without a value stays None."""
    if values[name] is not None:
        try:
            values[name] = read(values[name])
        except SampleError as error:
            raise error.inside(field=name) from None


def _read_mapping(value: Any, name: str) -> Mapping[str, Any]:
    """Read a mapping of labels or metadata."""
    if value is None:
        return EMPTY
    if not hasattr(value, "items"):
        problem = f"must be a mapping, not {_name_type(value)}."
        raise SampleError(problem, wrong_kind=True).inside(field=name)
    plain = {key: _to_plain(item) for key, item in value.items()} if name == "labels" else value
    return FrozenDict(plain) or EMPTY


def _to_plain(value: Any) -> Any:
    """Convert arrays and scalars of numpy to Python's, also in a list."""
    if type(value) in _FLAT_TYPES or type(value) is dict:
        return value
    if isinstance(value, list):
        if _FLAT_TYPES.issuperset(map(type, value)):  # the usual list
            return [*value]
        return [_to_plain(item) for item in value]
    to_list = getattr(value, "tolist", None)
    return to_list() if callable(to_list) else value


def check_depth(value: object, field: str) -> None:
    """Refuse data that is nested too deeply."""
    if type(value) not in _FLAT_TYPES and _is_deep(value):
        raise SampleError("is nested too deeply.", "Write flat data.").inside(field=field)


def _read_lists(values: dict[str, Any]) -> None:
    """Replace the lists of texts, facts and ids by the lists that are stored."""
    reference_ids = values["reference_context_ids"]
    reference_contexts = values["reference_contexts"]

    def are_spans() -> bool:
        """Tell whether the reference ids are spans. Then the ids of retrieved documents are their spans, too."""
        return labels_are_spans(reference_ids, reference_contexts)

    for ids, texts in TEXTS_OF.items():
        if values[ids] is not None or values[texts] is not None:
            _read_documents(values, texts, ids, are_spans=are_spans)
    if values["references"] is None and values["reference_facts"] is None:
        return  # the usual case
    if values["references"] is not None and values["reference"] is not None:
        raise SampleError("'references' stands beside 'reference'.", "Give one of them.")
    for name in ("references", "reference_facts"):
        _read_field(values, name, _check_length)
    _read_field(values, "references", lambda items: _read_each(_to_items(items, "texts"), _check_text))
    _read_field(
        values, "reference_facts", lambda items: _read_each(_to_items(items, "texts"), _read_fact)
    )


def _check_length(items: Any) -> Any:
    """Check that a list is not too long, and return it. An iterator is read to its end and returned as a list."""
    if isinstance(items, Iterator):
        items = [*items]
    text_count = 0
    if isinstance(items, Sized) and not isinstance(items, (str, bytes)):
        with suppress(TypeError):  # an array without dimensions
            text_count = len(items)
    if text_count > MAX_TEXTS:
        problem = f"holds {text_count:,} texts; {MAX_TEXTS:,} is the most."
        raise SampleError(problem, "Give the texts of one question.")
    return items


def _read_documents(
    values: dict[str, Any], texts: str, ids: str, *, are_spans: Callable[[], bool]
) -> None:
    """Turn a list of documents into their texts, and the list of their ids into strings.

    Without a list of ids, the ids are those in the documents.

    Args:
        values: The fields.
        texts: The name of the field of the documents.
        ids: The name of the field of their ids.
        are_spans: Returns whether the ids of documents are their spans.
    """
    texts_of_field = None
    if values[texts] is not None:
        # The usual case.
        is_short_list = type(values[texts]) is list and len(values[texts]) <= MAX_TEXTS
        if not is_short_list:
            _read_field(values, texts, _check_length)
        texts_of_field = plain_texts(values[texts])
    if texts_of_field is not None:
        values[texts] = texts_of_field
    elif values[texts] is not None:
        _read_field(values, texts, lambda items: _to_items(as_list(items), ids))
        documents = values[texts]  # kept for their ids: the next line replaces them by their texts
        _read_field(values, texts, lambda items: _read_each(items, _read_passage))
        if values[ids] is None:
            values[ids] = ids_of(documents, spans=are_spans())
    plain_ids = plain_texts(values[ids], numbers=True)
    if plain_ids is not None and all(map(str.strip, plain_ids)):  # no id is blank
        values[ids] = plain_ids
    else:
        _read_field(
            values, ids, lambda items: _read_each(_to_items(as_list(items), ids), _read_context_id)
        )


def _read_searches(values: dict[str, Any]) -> None:
    """Turn the searches into `Search` objects, and into stages."""
    if values["stages"] is not None:
        raise SampleError("'searches' stands beside 'stages'.", "Give one of them.")
    items = _to_items(values["searches"], "")  # searches have no list of ids beside them
    searches = _read_each(items, lambda item: _read_search(item, values))
    if not searches:
        raise SampleError("is empty.", "Leave it out.")
    stages = to_stages_of_searches(searches)
    if stages[TOGETHER] == Stage():
        problem = "has neither contexts in each search nor ids in each."
        raise SampleError(problem, "Give each search its contexts, or each its ids.")
    values.update(searches=searches, stages=stages)


def _read_search(item: Any, values: Mapping[str, Any]) -> Search:
    """Read one search: a list of contexts or ids, or a mapping with its query, contexts, ids and turn."""
    query = None
    turn = None
    results = item.to_dict() if isinstance(item, Search) else as_list(item)
    if isinstance(results, Mapping):
        check_keys(results, _SEARCH_KEYS)
        query = results.get("query")
        turn = whole_number(as_list(results.get("turn")))  # a table writes numbers as floats
        results = {name: results.get(name) for name in ("contexts", "ids")}
    if query is not None:
        query = _check_text(query)
    if is_missing(turn):
        turn = None
    elif type(turn) is not int or turn < 1:
        raise SampleError("must be a whole number from 1.").inside(", turn")
    stage = _read_stage(results, values)
    if not (stage.contexts or stage.ids):  # a search that found nothing has empty lists, not None
        stage = Stage((), ())
    return Search(query, stage.contexts, stage.ids, turn)


def _read_stages(values: dict[str, Any]) -> None:
    """Turn the stages into `Stage` objects.

    The last stage fills the retrieved contexts if they are missing, and the retrieved contexts fill the last stage.
    """
    written_stages = values["stages"]
    if not isinstance(written_stages, Mapping) or not written_stages:
        problem = "and is empty" if written_stages == {} else f"not {_name_type(written_stages)}"
        raise SampleError(f"must map the name of each stage to a list, {problem}.")
    stages: dict[str, Stage] = {}
    for number, (key, items) in enumerate(written_stages.items(), 1):
        try:
            name = _check_text(key)
        except SampleError as error:
            raise error.inside(f", the name of stage {number}") from None
        try:
            stages[name] = _read_stage(as_list(items), values)
        except SampleError as error:
            raise error.inside(f", {name[:80]!r}") from None
    _fill_texts(stages, Stage(values["retrieved_contexts"], values["retrieved_context_ids"]))
    last_name = list(stages)[-1]
    last = stages[last_name]
    _join_last(values, "retrieved_contexts", last.contexts, last_name)
    _join_last(values, "retrieved_context_ids", last.ids, last_name)
    stages[last_name] = Stage(values["retrieved_contexts"], values["retrieved_context_ids"])
    for name, stage in stages.items():
        _check_lengths(name, stage)
    values["stages"] = FrozenDict(stages)


def _check_lengths(name: str, stage: Stage) -> None:
    """Raise if a stage has contexts and ids, and not one id for each context."""
    if stage.contexts is None or stage.ids is None or len(stage.contexts) == len(stage.ids):
        return
    problem = f"differ, {len(stage.contexts)} and {len(stage.ids)}."
    subject = f", {name[:80]!r}: the numbers of contexts and ids"
    raise SampleError(problem, "Write one id for each context.").inside(subject)


def _fill_texts(stages: dict[str, Stage], retrieved: Stage) -> None:
    """Fill the texts of each stage that has only ids, if other stages have the texts of all these ids."""
    text_by_id: dict[str, str] = {}
    for stage in (retrieved, *stages.values()):
        text_by_id.update(zip(stage.ids or (), stage.contexts or (), strict=False))
    text_by_id.pop("", None)  # an empty id may stand for several texts
    for name, stage in stages.items():
        ids = stage.ids or ()
        if stage.contexts is None and all(id_ in text_by_id for id_ in ids):
            stages[name] = Stage(tuple(text_by_id[id_] for id_ in ids), ids)


def _join_last(
    values: dict[str, Any], field: str, stage_items: tuple[str, ...] | None, stage_name: str
) -> None:
    """Fill a field of the retrieved contexts from the last stage, or check that both are equal.

    Args:
        values: The fields of the sample.
        field: The field: the retrieved contexts, or their ids.
        stage_items: What the last stage has there.
        stage_name: The name of the last stage.

    Raises:
        SampleError: They differ.
    """
    retrieved = values[field]
    if retrieved is None:
        values[field] = stage_items
        return
    if stage_items is None or stage_items == retrieved:
        return
    pairs = zip_longest(stage_items, retrieved)
    number = next(
        number for number, (in_stage, in_field) in enumerate(pairs, 1) if in_stage != in_field
    )
    error = SampleError(
        f"is not what '{field}' holds: they differ at item {number}.",
        f"Leave '{field}' out, or add it as the last stage.",
    )
    raise error.inside(f": the last stage, {stage_name[:80]!r},")


# The value of one of these fields fills other fields, too. They are read in this order, with these functions.
_READERS_OF_SEVERAL_FIELDS = (("searches", _read_searches), ("stages", _read_stages))


def _read_stage(items: Any, values: Mapping[str, Any]) -> Stage:
    """Read the contexts and ids that a stage handed on."""
    if isinstance(items, Stage):
        items = {"contexts": items.contexts, "ids": items.ids}
    is_stage = isinstance(items, Mapping) and items.keys() <= {"contexts", "ids"}
    if not is_stage:  # a list, of ids or of contexts
        name_of_list = "ids" if _holds_ids(items, values) else "contexts"
        items = {name_of_list: items}
    stage = {"contexts": items.get("contexts"), "ids": items.get("ids")}
    for name, value in stage.items():
        check_depth(value, name)
    # A document may have an id and a span in its source. All stages take the spans as ids if the ids of the sample are spans.
    ids_of_sample = values["retrieved_context_ids"]
    if ids_of_sample is None:
        ids_of_sample = values["reference_context_ids"]
    _read_documents(stage, "contexts", "ids", are_spans=lambda: labels_are_spans(ids_of_sample, None))
    if stage["contexts"] is None and stage["ids"] is None:
        raise SampleError("holds neither contexts nor ids.", "Write a list of texts or of ids.")
    return Stage(**stage)


def _holds_ids(items: Any, values: Mapping[str, Any]) -> bool:
    """Tell whether the list of a stage holds ids: numbers, documents without a text, or strings that cannot be texts."""
    if not isinstance(items, (list, tuple)) or not items:
        return False
    if not all(isinstance(item, str) for item in items):
        if all(map(is_missing, items)):
            return False
        return all(text_of(item) is None for item in items)
    filled_fields = {name for name, value in values.items() if value is not None}
    has_ids = not filled_fields.isdisjoint({"retrieved_context_ids", "reference_context_ids"})
    if "retrieved_contexts" in filled_fields or not has_ids:
        return False
    may_be_texts = not filled_fields.isdisjoint(_READ_AS_TEXT)
    if "retrieved_context_ids" not in filled_fields and may_be_texts:
        raise SampleError(
            "holds strings, which may be texts or ids.",
            'Write {"contexts": [..]} or {"ids": [..]} in place of the list.',
        )
    return True


def _is_deep(value: object) -> bool:
    """Tell whether lists and mappings are nested more than `_MAX_DEPTH` levels deep."""
    if isinstance(value, (list, tuple)) and _FLAT_TYPES.issuperset(map(type, value)):
        return False  # the usual case
    level = [value]
    for _ in range(_MAX_DEPTH):
        # Each object once: a list may hold itself several times.
        below: dict[int, Any] = {}
        for holder in level:
            values: Iterable[Any] = ()
            if isinstance(holder, dict):
                values = holder.values()
            elif isinstance(holder, (list, tuple)):
                values = holder
            for inner in values:
                if type(inner) not in _FLAT_TYPES:
                    below[id(inner)] = inner
        if not below:
            return False
        level = [*below.values()]
    return True


def _name_type(value: object) -> str:
    """Name the type of a value, for messages."""
    return "None" if value is None else type(value).__name__


def _check_text(value: object) -> str:
    """Check that a value is a text that can be stored, and return it."""
    if not isinstance(value, str):
        _check_picture(value)
        raise SampleError(f"must be a string, not {_name_type(value)}.", wrong_kind=True)
    if len(value) > MAX_CHARACTERS:
        problem = f"is {len(value):,} characters long; {MAX_CHARACTERS:,} is the most."
        raise SampleError(problem, "Cut the text into chunks.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        problem = f"holds half a character (a lone surrogate) at position {error.start}."
        raise SampleError(problem, "Decode the text with errors='replace'.") from None
    return str(value)


def _check_picture(value: object) -> None:
    """Raise if a picture stands where a text is read."""
    picture = find_media(value)
    if picture:
        raise NotTextError(describe_media(picture))


def plain_texts(values: Any, *, numbers: bool = False) -> tuple[str, ...] | None:
    """Return a list of plain texts or numbers as it is stored; None for any other list: its items must be checked one by one.

    A plain text is not too long. A plain id is in ASCII, because only another id may consist of invisible characters.

    Args:
        values: The list.
        numbers: Whether the list holds ids, which may be numbers.
    """
    if type(values) not in (list, tuple):
        return None
    item_types = set(map(type, values))
    if numbers and item_types == {int}:
        try:
            return tuple(map(str, values))
        except ValueError:  # an integer of thousands of digits: its message is that of a single one
            return None
    if not item_types <= {str}:
        return None
    character_count = sum(map(len, values))
    if character_count > MAX_CHARACTERS:
        return None
    are_plain = all(map(str.isascii, values)) or (not numbers and _is_encodable("".join(values)))
    is_shared = not numbers and character_count <= _MAX_SHARED_CHARACTERS
    texts = map(_share_text, values) if is_shared else values
    return tuple(texts) if are_plain else None


@lru_cache(maxsize=4096)
def _share_text(text: str) -> str:
    """Return the equal text of an earlier sample, if there is one: a passage that many questions retrieve is stored once."""
    return text


def _is_encodable(text: str) -> bool:
    """Whether a text can be encoded in UTF-8: it holds no surrogate, which is half of a character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _read_each(items: Iterable[Any], read: Callable[[Any], T]) -> tuple[T, ...]:
    """Read each item of a list; an error names the place of its item."""
    values: list[T] = []
    for number, item in enumerate(items, 1):
        try:
            values.append(read(item))
        except SampleError as error:
            raise error.inside(item=number) from None
    return tuple(values)


def _read_context_id(item: object) -> str:
    """Read an id, or the id of a document. A missing or blank id becomes an empty text, so that the others keep their ranks."""
    if is_missing(item):
        return ""
    ids = ids_of([item])
    return _check_id(ids[0] if ids else item)


def _check_id(value: object) -> str:
    """Check that a value is an id, and return it as a text."""
    if isinstance(value, float):
        value = whole_number(value)
    if isinstance(value, bool) or not isinstance(value, (str, Integral)):
        raise SampleError(f"must be a string or an integer, not {_name_type(value)}.", wrong_kind=True)
    try:
        text = _check_text(str(value))
    except ValueError as error:
        if isinstance(error, SampleError):
            raise
        problem = "is an integer of thousands of digits."  # Python writes none of more than 4,300
        raise SampleError(problem, "Write the id as a string.") from None
    return text if is_visible(text) else ""


def _read_id(value: object) -> str | None:
    """Read the id of a sample; None for a blank one."""
    if type(value) is str and value.isascii() and len(value) <= MAX_CHARACTERS:  # the usual case
        return value if value.strip() else None
    return None if is_missing(value) else _check_id(value) or None


def _read_fact(value: object) -> Fact:
    """Read a fact: a text, or a text with an id and an importance."""
    if isinstance(value, Fact):
        return value
    has_fact_keys = isinstance(value, Mapping) and set(value) <= {*_FACT_KEYS}
    fields: Any = value if has_fact_keys else {"text": value}
    text = fields.get("text")
    id_ = fields.get("id")
    importance = fields.get("importance")
    if not isinstance(text, str):
        problem = (
            f'must be a text or {{"text": .., "id": .., "importance": ..}}, not {_name_type(value)}.'
        )
        raise SampleError(problem, wrong_kind=True)
    is_number = type(importance) in (int, float) and 0 < importance <= _MAX_IMPORTANCE
    if not (is_number or importance in (None, "vital", "okay")):
        if isinstance(importance, int) and importance > _MAX_IMPORTANCE:
            value_in_message = f"one above {_MAX_IMPORTANCE:,.0f}"
        else:
            value_in_message = repr(str(importance)[:80])
        problem = f"must be 'vital', 'okay' or a number above 0, not {value_in_message}."
        raise SampleError(problem, wrong_kind=True).inside(": importance")
    if not has_content(text):
        raise SampleError("holds no letter or digit.", "Write the fact, or remove it.")
    if id_ is not None:
        try:
            id_ = _check_id(id_)
        except SampleError as error:
            raise error.inside(", id") from None
    return Fact(_check_text(text), id_, importance)


def _read_passage(value: object) -> str:
    """Read the text of a document, or a text."""
    if not isinstance(value, str):
        _check_picture(value)
    text = text_of(value)
    if not isinstance(text, str):
        kind = _name_type(value if text is None else text)
        fix = f"A document has its text under one of: {', '.join(TEXT_KEYS)}."
        raise SampleError(f"must be a string, not {kind}.", fix, wrong_kind=True)
    return _check_text(text)


def _to_items(values: Any, ids: str) -> list[Any]:
    """Convert the value of a field to a list of items; see `keep_relevant` for the ids.

    Raises:
        SampleError: It is one string, one document, a set or no list at all.
    """
    if isinstance(values, (str, bytes)):
        problem = "must be a list, not one string."
        raise SampleError(problem, "Write [text] for a single one.", wrong_kind=True)
    if is_document(values) or isinstance(values, (set, frozenset)) or not isinstance(values, Iterable):
        problem = f"must be a list, not {_name_type(values)}."
        raise SampleError(problem, "Write [document] for a single one.", wrong_kind=True)
    return keep_relevant(ids, values)
