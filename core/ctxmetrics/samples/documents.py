"""Reads the texts, ids, spans and relevance grades of documents.

A document is a text, a mapping with its text under a usual key, or an object with an attribute of that name. It may stand in a
pair with its score. All parts of the library read the text with `text_of` and the id with `ids_of`. If the reference ids are spans
(``SOURCE#char=START,END``), spans are the ids of the retrieved documents, too: see `span_of`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from numbers import Integral, Real
from typing import Any

from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.display import to_plain_name
from ctxmetrics.errors import SampleError
from ctxmetrics.samples.cells import is_list_text, list_in, object_in

_KEYS: Mapping[str, Sequence[str]] = read_data("samples", "keys.json")["documents"]
# The keys of a document under which its text is looked for.
TEXT_KEYS = tuple(_KEYS["texts"])
# The keys of a document under which its id is looked for.
ID_KEYS = tuple(_KEYS["ids"])
# The keys under which vector stores and search engines keep the fields of a hit: Qdrant, Elasticsearch, Milvus, Weaviate, Vespa,
# Typesense, Pinecone.
HOLDERS = tuple(_KEYS["holders"])
# All paths at which the text of a document is looked for. OpenInference (Phoenix), LlamaIndex and LangChain's ``dumps`` nest the
# text in several objects.
_TEXT_PATHS = (
    *TEXT_KEYS,
    *_KEYS["text_paths"],
    *(f"{holder}.{key}" for holder in HOLDERS for key in _KEYS["texts_in_holders"]),
)
# The maximum number of characters of a title.
_MAX_TITLE_CHARACTERS = 80
# A text is longer than its title by at least this factor.
_MIN_TEXT_LENGTH_IN_TITLES = 2
_SENTENCE_ENDS = (".", "?", "!", "…", "。", "？", "！", "।")
# Keys without dots of a text that may stand beside its title.
_TEXTS_BESIDE_TITLES = tuple(path for path in _KEYS["text_paths"] if "." not in path)
# OpenAI and Anthropic write a message as a list of parts: the types of the parts that are texts.
_TEXT_PART_TYPES = frozenset(_KEYS["parts"])
# Paths in a document: the position in its source at which it begins, the position at which it ends, and its source. LangChain
# (``add_start_index=True``), LlamaIndex, Haystack, mappings without metadata.
_STARTS = _KEYS["starts"]
_ENDS = _KEYS["ends"]
_SOURCES = _KEYS["sources"]
# The mark between the source and the characters in the id of a span (RFC 5147): "guide.md#char=0,120".
SPAN_MARK = "#char="
# Paths of the grade that says how relevant a document is. A document of grade 0 should not have been retrieved.
_GRADES = _KEYS["grades"]
# Names that may mean a grade, such as "score". They do if each document has a small whole number there.
_WHOLE_GRADES = _KEYS["whole_grades"]
# The grade that a word stands for: 1 for "relevant", 0 for "not relevant". The keys have neither case nor marks.
_GRADES_IN_WORDS: Mapping[str, float] = {
    **{to_plain_name(word): 1.0 for word in _KEYS["relevant"]},
    **{to_plain_name(word): 0.0 for word in _KEYS["irrelevant"]},
}
# The highest grade under a name of `_WHOLE_GRADES`.
_MAX_GRADE = 10
# A whole number as text.
_WHOLE = re.compile(r"\d+(?:\.0+)?")
# The types of messages in LangChain.
_SPEAKERS = _KEYS["speakers"]
# Brackets in a path that choose several items: [] or [gold], but not [0].
_SEVERAL_ITEMS = re.compile(r"\[(?!\d+\])")


def text_of(item: Any) -> Any:
    """Return the text of a document (see the module), or None if it has none."""
    document = without_score(item)
    if isinstance(document, str):
        return document
    if type(document) is dict:  # the usual case
        for key in TEXT_KEYS:
            text = document.get(key)
            if isinstance(text, str):
                is_long = len(text) > _MAX_TITLE_CHARACTERS
                return text if is_long else _text_beside_title(document, key, text)
            if type(text) is list:
                break
    first_value_of_text_key = None
    for path in _TEXT_PATHS:
        value = look_up(document, path)
        if type(value) is list:
            value = join_parts(value) or value
        if isinstance(value, str):
            return value
        if first_value_of_text_key is None and path in TEXT_KEYS:
            first_value_of_text_key = value
    return first_value_of_text_key


def _text_beside_title(document: dict[Any, Any], key: str, text: str) -> str:
    """Return the text of a document whose first text key may hold only a title.

    A title is short and does not end like a sentence. The text stands under another text key. It is much longer than the title,
    or it begins with the title.

    Args:
        document: The document.
        key: The first text key.
        text: Its value, which is returned if it is no title.
    """
    title = text.strip()
    if "\n" in title or title.endswith(_SENTENCE_ENDS):
        return text
    for other_key in (*TEXT_KEYS, *_TEXTS_BESIDE_TITLES):
        value = document.get(other_key) if other_key not in (key, "context") else None
        if not isinstance(value, str):
            continue
        is_beginning = len(value) > len(title) and value.startswith(title)
        if is_beginning or len(value) > _MIN_TEXT_LENGTH_IN_TITLES * len(title):
            return value
    return text


def have_texts(documents: Iterable[dict[Any, Any]]) -> bool:
    """Whether each dict has a text under a usual key. A quick check for the usual case."""
    for document in documents:
        for key in TEXT_KEYS:
            if type(document.get(key)) is str:
                break
        else:
            return False
    return True


def check_single_document(value: Any, field: str, *, is_id: bool = False) -> None:
    """Refuse a text that holds a list where one document or one id is expected: the list would count as one passage or one id.

    Raises:
        SampleError: The text holds a list of texts or documents (as JSON, or as Python prints it), or an object with a list of documents. For
            an id: any list.
    """
    if not isinstance(value, str):
        return
    is_list = is_list_text(value) and (is_id or value.lstrip()[:2] in ('["', "['", "[{"))
    if is_list or _holds_documents(object_in(value)):
        problem = "is a list that is written as a text."
        raise SampleError(problem, "Read it with json.loads first.").inside(field=field)


def _holds_documents(holder: Any) -> bool:
    """Tell whether an object has a list of documents."""
    if not isinstance(holder, dict):
        return False
    for value in holder.values():
        is_list = isinstance(value, list) and bool(value)
        if is_list and set(map(type, value)) == {dict} and have_texts(value):
            return True
    return False


def join_parts(items: Any) -> str | None:
    """Return the text of a message that is written as a list of parts; None for any other list."""
    if not isinstance(items, (list, tuple)) or not items:
        return None
    if not all(_is_part(item) for item in items):
        return None
    texts = [item["text"] for item in items]
    # A part that cites something ends within a sentence.
    is_cut = any(text[-1:].isspace() or text[:1].isspace() for text in texts)
    return ("" if is_cut else "\n").join(texts)


def are_typed_parts(items: Any) -> bool:
    """Whether a value is a list of message parts, each with its type: these are no documents."""
    return join_parts(items) is not None and all("type" in item for item in items)


def _is_part(item: Any) -> bool:
    """Whether an item is a part of a message that is a text."""
    if not isinstance(item, Mapping) or not isinstance(item.get("text"), str):
        return False
    return item.get("type") in _TEXT_PART_TYPES or item.keys() == {"text"}


def ids_of(documents: Any, keys: tuple[str, ...] = ID_KEYS, *, spans: bool = False) -> list[Any] | None:
    """Return the ids of documents; None for a document without an id.

    The result is None if no document has an id, or if a text stands in the place of a document.

    Args:
        documents: The documents.
        keys: The keys under which an id is looked for.
        spans: Whether to return the spans of the documents instead, if each document has one.
    """
    items = []
    if documents:
        items = [
            item if type(item) is dict else without_score(item) for item in wrap_in_list(documents)
        ]
    if spans and items:
        span_ids = [span_of(item) for item in items]
        if all(span_ids):
            return span_ids
    ids: list[Any] = []
    for item in items:
        if isinstance(item, str):  # a text has no id
            return None
        id_ = first_value_at(item, keys)
        if type(id_) is str:  # the usual case
            ids.append(id_)
            continue
        if isinstance(id_, float):
            id_ = whole_number(id_)
        if is_missing(id_):
            ids.append(None)
            continue
        is_id = isinstance(id_, (str, Integral)) and not isinstance(id_, bool)
        if not is_id:
            return None
        ids.append(id_)
    has_id = any(id_ is not None for id_ in ids)
    return ids if has_id else None


def span_of(item: Any) -> str | None:
    """Return the span of a document in its source, as ``SOURCE#char=START,END``; None if the document does not say it.

    Characters count from 0, and the end is excluded. If the document does not say the end, it is the start plus the length of
    its text.
    """
    document = without_score(item)
    if isinstance(document, str):
        return None
    source = first_value_at(document, _SOURCES)
    start = first_value_at(document, _STARTS)
    end = first_value_at(document, _ENDS)
    if end is None and isinstance(start, Integral):
        text = text_of(document)
        if isinstance(text, str):
            end = start + len(text)
    if not isinstance(source, str) or not isinstance(start, Integral) or not isinstance(end, Integral):
        return None
    if not 0 <= int(start) < int(end):
        return None
    return write_span(source, int(start), int(end))


def write_span(source: str, start: int, end: int) -> str:
    """Return the id of a span of a source: characters from 0, the end excluded."""
    return f"{source}{SPAN_MARK}{start},{end}"


def are_span_ids(ids: Any) -> bool:
    """Tell whether ids are the ids of spans."""
    if not isinstance(ids, (list, tuple)):
        return False
    for id_ in ids:  # noqa: SIM110 - a generator takes twice the time, for each sample of a run
        if isinstance(id_, str) and SPAN_MARK in id_:
            return True
    return False


def labels_are_spans(ids: Any, documents: Any, keys: tuple[str, ...] = ID_KEYS) -> bool:
    """Whether labels are spans: ids that are spans, or documents that have a span and no id.

    Args:
        ids: The reference ids; None if there are none.
        documents: The reference documents.
        keys: The keys under which a document's id is looked for.
    """
    if ids is not None:
        return are_span_ids(ids)
    items = documents if isinstance(documents, (list, tuple)) else ()
    return bool(items) and all(span_of(item) and own_id(item, keys) is None for item in items)


def own_id(item: Any, keys: tuple[str, ...] = ID_KEYS) -> Any:
    """Return a document's id, or None. Its source alone is not an id, since other documents have the same source."""
    return first_value_at(without_score(item), tuple(key for key in keys if key != "source"))


def keep_relevant(field: str, items: Iterable[Any]) -> list[Any]:
    """Return the items of a field. In a field of the reference, only items with a grade above 0, or without a grade, are kept."""
    if not field.startswith("reference"):
        return [*items]
    documents = [*items]
    relevant_documents = []
    for document, grade in zip(documents, _read_grades(documents), strict=True):
        if grade is None or grade > 0:
            relevant_documents.append(document)
    return relevant_documents


def grades_of(items: Sequence[Any], ids: Any) -> dict[str, float]:
    """Return the grades of relevant documents or ids, by their ids. Empty if every grade is 1.

    Args:
        items: The documents, or objects with an id and a grade.
        ids: The ids of the documents or objects, in their order.
    """
    if not isinstance(ids, (list, tuple)) or len(ids) != len(items):
        return {}
    if all(type(item) is str for item in items):  # the usual case
        return {}
    grades: dict[str, float] = {}
    for id_, grade in zip(ids, _read_grades(items), strict=True):
        if grade is not None and id_ is not None:
            id_text = str(whole_number(id_))
            grades[id_text] = max(grade, grades.get(id_text, 0.0))
    has_other_grade_than_one = any(grade != 1 for grade in grades.values())
    return grades if has_other_grade_than_one else {}


def _read_grades(items: Sequence[Any]) -> list[float | None]:
    """Read the relevance grade of each item; None for an item without one.

    Some names, such as "score", may mean something else. Their values count as grades if all items have a small whole number there.
    """
    if all(isinstance(item, str) for item in items):  # the usual case
        return [None] * len(items)
    grades = [_read_grade(item, _GRADES) for item in items]
    if any(grade is not None for grade in grades):
        return grades
    for name in _WHOLE_GRADES:
        whole_grades = [_read_grade(item, (name,)) for item in items]
        are_grades = all(
            grade is not None and grade.is_integer() and 0 <= grade <= _MAX_GRADE
            for grade in whole_grades
        )
        if are_grades and any(whole_grades):
            return whole_grades
    return grades


def read_grade_word(text: str) -> float | None:
    """Read a word in the place of a grade, such as ``relevant``; None for any other word."""
    return _GRADES_IN_WORDS.get(to_plain_name(text))


def describe_degrees(words: Iterable[Any]) -> str | None:
    """Describe two different words that are both read as the grade 1, such as "relevant" and "highly relevant".

    Return None if there are no two such words.
    """
    relevant_words: dict[str, str] = {}
    for word in words:
        if isinstance(word, str) and read_grade_word(word) == 1:
            relevant_words.setdefault(to_plain_name(word), word.strip())
    if len(relevant_words) < 2:  # noqa: PLR2004 - one word differs from no other
        return None
    first_word, second_word, *_ = relevant_words.values()
    return f"the degree in {first_word[:40]!r} and {second_word[:40]!r}"


def list_grade_words(items: Iterable[Any]) -> list[Any]:
    """List the value under the name of a grade, in each item that is a document or an object."""
    return [first_value_at(item, _GRADES) for item in items if not isinstance(item, str)]


def _read_grade(item: Any, names: Iterable[str]) -> float | None:
    """Read the grade of an item under the first of some names that it has; None if it is neither a number nor a known word."""
    if isinstance(item, str):
        return None
    grade = first_value_at(item, names)
    if isinstance(grade, str):
        return float(grade) if _WHOLE.fullmatch(grade) else read_grade_word(grade)
    return float(grade) if isinstance(grade, Real) else None


def are_messages(items: Any) -> bool:
    """Whether a value is a list with chat messages, as OpenAI or LangChain write them: these are no documents."""
    return isinstance(items, (list, tuple)) and any(_is_message(item) for item in items)


def _is_message(item: Any) -> bool:
    """Whether an item is a message of a conversation."""
    if not isinstance(item, Mapping):
        return False
    return isinstance(item.get("role"), str) or item.get("type") in _SPEAKERS


def look_up(holder: Any, path: str) -> Any:
    """Return the value at a dotted path of mappings and objects, or None. A key itself may hold dots and brackets.

    - ``hits[].text``: the text of each item of the list ``hits``.
    - ``hits[0].text``: the text of the first item.
    - ``hits[gold].text``: the texts of the items whose ``gold`` is true.
    - ``turns[].hits[].text``: the texts of all lists ``hits``, in one list.

    An object of objects may stand in the place of a list: the inner objects are the items.
    """
    if type(holder) is dict and path.isidentifier():  # a key, as nearly always
        return holder.get(path)
    if hasattr(holder, "items"):
        value = _look_up_key(holder, path)
    else:
        head, _, rest = path.partition(".")
        value = None if isinstance(holder, (str, list, tuple)) else getattr(holder, head, None)
        value = look_up(value, rest) if rest else value
    return _look_up_items(holder, path) if value is None and "[" in path else value


def _look_up_items(holder: Any, path: str) -> Any:
    """Look up a path behind ``[]`` in each item of a list, or behind ``[N]`` in one item."""
    path_of_list, _, rest = path.partition("[")
    # The text in the brackets: empty, a number, or a key that an item must have.
    selector, _, rest = rest.partition("]")
    rest = rest.removeprefix(".")
    value = as_list(look_up(holder, path_of_list) if path_of_list else holder)
    if isinstance(value, Mapping) and all(isinstance(item, Mapping) for item in value.values()):
        value = [*value.values()]
    items = list(value) if isinstance(value, tuple) else list_in(value)
    if items is None:
        return None
    if selector.isdecimal():
        item = items[int(selector)] if int(selector) < len(items) else None
        return look_up(item, rest) if rest else item
    if selector:
        items = [item for item in items if look_up(item, selector)]
    values = [look_up(item, rest) for item in items] if rest else items
    no_item_has_path = bool(items) and all(value is None for value in values)
    if no_item_has_path:
        return None
    if not _SEVERAL_ITEMS.search(rest):
        return values
    # The rest of the path leads to a list in each item.
    joined: list[Any] = []
    for inner_list in values:
        joined += inner_list or ()
    return joined


def _look_up_key(holder: Mapping[str, Any], path: str) -> Any:
    """Look up a path whose keys may hold dots."""
    if path in holder:
        return holder[path]
    dot = path.find(".")
    while dot >= 0:
        if path[:dot] in holder:
            value = look_up(holder[path[:dot]], path[dot + 1 :])
            if value is not None:
                return value
        dot = path.find(".", dot + 1)
    return None


def leaves(row: Mapping[str, Any], depth: int, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value in a row with its path. Objects are read down to ``depth`` levels; a deeper object counts as a value."""
    for key, value in row.items():
        if hasattr(value, "items") and depth > 1:
            yield from leaves(value, depth - 1, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def wrap_in_list(value: Any) -> Any:
    """Return a single document or text as a list of one, and lists as they are."""
    return [value] if is_document(value) or not hasattr(value, "__iter__") else value


def as_list(value: Any) -> Any:
    """Convert an array, a tensor or an iterator to a list, and a NumPy number to a number; return other values unchanged."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "__next__"):
        return list(value)
    return value


def whole_number(value: Any) -> Any:
    """Convert a float without a fraction to an integer; return other values unchanged.

    A table writes integer ids as floats if one of them is missing.
    """
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def is_missing(value: Any) -> bool:
    """Tell whether a value stands for a missing value: None, NaN, or pandas' NA and NaT."""
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or type(value).__name__ in {"NAType", "NaTType"}


def is_document(value: Any) -> bool:
    """Whether a value is one document or text, not a list of them."""
    if type(value) is list:  # the usual case
        return False
    return isinstance(value, (str, Mapping)) or any(hasattr(value, key) for key in TEXT_KEYS)


def first_value_at(item: Any, keys: Iterable[str]) -> Any:
    """Return the first value that stands under one of the keys, or None."""
    is_dict = type(item) is dict
    for key, first_step in _with_first_steps(tuple(keys)):
        # Most items have neither key: then the slower lookup is not needed.
        if is_dict and key not in item and first_step not in item:
            continue
        value = look_up(item, key)
        if value is not None:
            return value
    return None


@cache
def _with_first_steps(keys: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return each key or path together with its first step."""
    return [(key, key.partition("[")[0].partition(".")[0]) for key in keys]


def without_score(item: Any) -> Any:
    """Return the document of a pair of document and score; return any other item unchanged. In JSON, a pair is a list."""
    pair = isinstance(item, (tuple, list)) and len(item) == 2 and isinstance(item[1], Real)  # noqa: PLR2004 - a pair
    return item[0] if pair else item
