"""The shape of the first rows: rows that are single passages, ids where texts are expected, several passages in one text.

Such rows give a number that looks right, from the wrong samples or texts. They are refused with the option that reads them.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from ctxmetrics._internal.data_files import read_words
from ctxmetrics.errors import ParameterError, SampleError
from ctxmetrics.reading.cells import is_list_text, list_in
from ctxmetrics.reading.documents import as_list, is_missing, look_up, text_of, to_list

# The share of the rows from which on they are passages, or texts that several passages were joined into.
_MOST_ROWS, _MOST_TEXTS = 0.5, 0.8
# The fewest texts that tell something about a run.
_FEW = 2
# The lists of what was retrieved, and all lists that the rows of a question become.
RETRIEVED = ("retrieved_contexts", "retrieved_context_ids")
LISTED = ("reference_contexts", "reference_context_ids", "reference_facts", "references", *RETRIEVED)
# Where a column with the rank of a passage is.
_RANK = "metadata.rank"
# The question of a row, what is expected of it, and what was retrieved; and what `to_record` makes of them.
COMPARED = ("user_input", "reference", "references", "reference_facts", *LISTED[:2], *RETRIEVED)
Record = tuple[str, str, Any, Any]
# Names of passages, and forms of texts that are none, of headings, of what separates passages, and of cells.
_WORDS = read_words("reading", "keys.json", "passages")
# A text that is no more than an address, a path, a file, a place or an id: a word with a number in it, or several words with
# marks between. What stands around one, and between several.
_NO_TEXT = re.compile(
    rf"{'|'.join(_WORDS['no_texts'])}|(?:{'|'.join(_WORDS['names'] + _WORDS['places'])})\W{{0,3}}\d+",
    re.IGNORECASE,
)
_AROUND, _BETWEEN = "\"'<>[]{}() ", re.compile(r"\s*[,;()]\s*")
# What stands before each of several passages: what to write for --split, and its form. The same with a name of a passage.
_HEADINGS = dict(zip(_WORDS["headings"], _WORDS["forms"], strict=True))
_NAMED = re.compile(r"\[(.+) 1\]")
# Marks before a name or a label, and any name.
_MARKS = r"[ \t\[(【（*#]*"
_NAMES = re.compile(rf"{_MARKS}({'|'.join(_WORDS['names'])})(?![^\W\d_])", re.IGNORECASE)
# Lines of one mark, or tokens as in the input of a model, between passages; and the marks.
_RULE = re.compile("|".join(_WORDS["rules"]), re.IGNORECASE | re.MULTILINE)
_RULE_MARKS = frozenset("-=*#~_+—─━═")
# The label or tag before each passage, as prompts have it: Source: guide.md, <document index="1">, also in one tag around all.
_OPENER = re.compile(
    rf"(?:<\w+>\s*)?{_MARKS}((?:{'|'.join(_WORDS['labels'])})[ \t]*[:：=]|BEGIN[ _]\w+|<(?:{'|'.join(_WORDS['tags'])})\b)",
    re.IGNORECASE,
)
# An address among a few words that are no sentence: the title of a page.
_ADDRESS, _LONGEST_TITLE = re.compile(r"https?://\S+"), 12
# The mark at the beginning of each item of a list.
_BULLET = re.compile(r"^[^\S\n]*([-*•‣▪◦·–])[^\S\n]+", re.MULTILINE)
_TABLE = re.compile(r"^\s*\||\|\s*:?-{2,}|\|\s*$", re.MULTILINE)
_FEWEST_WORDS = 3
# The characters of a text that are looked at: an address may go on.
_LONGEST_NAME = 500
# The words of a name from which on it is a text.
_MOST_WORDS = 8
# A number, a date, a UUID or an address, which no column is named.
_VALUE = re.compile("|".join(_WORDS["values"]), re.IGNORECASE)


def _find_heading(separator: str) -> re.Pattern[str] | None:
    """Return the form of the headings that a separator stands for, such as ``[Chunk 1]``; None for any other separator."""
    named = _NAMED.fullmatch(separator)
    form = _HEADINGS.get(separator)
    if named and named[1].capitalize() in _WORDS["names"]:
        form = rf"^{_MARKS}{named[1]}[ #№\[]*(?:(\d+)\b|([A-Z]|[IVX]+)(?=[\]:.)]))[\]:.)】）：*]*"
    return re.compile(form, re.MULTILINE | re.IGNORECASE) if form else None


def header_in(names: Iterable[str]) -> str | None:
    """Return the first name of a column that looks like data: a number, a date, an id, a list, a sentence; else None."""
    for name in names:
        words = len(name.split())
        sentence = words >= _FEWEST_WORDS and name.rstrip().endswith((".", "?"))
        sentence = sentence or name.rstrip().endswith(("。", "？", "؟", "।"))
        if _VALUE.fullmatch(name.strip()) or is_list_text(name) or sentence or words >= _MOST_WORDS:
            return name
    return None


def are_no_texts(texts: Sequence[str]) -> bool:
    """Whether all texts of a run are addresses, files or ids, or several of them."""
    pieces: list[str] = []
    for text in texts:
        start = text.strip()[:_LONGEST_NAME]
        address = _ADDRESS.search(start)
        if address and len(start.split()) <= _LONGEST_TITLE and not start.endswith((".", "?", "!")):
            start = address[0]
        parts = [start] if _NO_TEXT.fullmatch(start) else _BETWEEN.split(start.strip(_AROUND))
        pieces += filter(None, parts)
        if pieces and not _NO_TEXT.fullmatch(pieces[-1]):  # as nearly always
            return False
    return len(texts) >= _FEW and len(pieces) >= _FEW and all(map(_NO_TEXT.fullmatch, pieces))


def separator_in(text: str) -> str | None:
    """Return the explicit separator at which a text falls apart into several passages; None for one passage."""
    stripped = text.strip()
    separator = _heading_in(stripped) or _mark_in(stripped)
    if separator is not None:
        return separator
    if len(_list_texts(stripped)) >= _FEW:
        return "list"
    pieces = re.split(r"\|+", stripped)
    if len(pieces) < _FEW or _TABLE.search(stripped):
        return None
    return "|" if min(map(_count_words, pieces)) >= _FEWEST_WORDS else None


def _heading_in(text: str) -> str | None:
    """Return the numbered heading with which a text and its passages begin."""
    named = _NAMES.match(text)
    for separator in [f"[{named[1]} 1]"] if named else _HEADINGS:
        heading = _find_heading(separator)
        matches = [*heading.finditer(text)] if heading and heading.match(text) else []
        numbers = [match[match.lastindex or 0] for match in matches]
        if len({*numbers}) == len(numbers) >= _FEW:
            return separator
    return None


def _mark_in(text: str) -> str | None:
    """Return the line of marks or the token between passages, or the tag or label before each."""
    rule = _RULE.search(text)
    if rule and len(_strip_pieces(text.split(rule[0]))) >= _FEW:
        separator = rule[0].strip() or "\\f"
        return separator[:3] if _RULE_MARKS.issuperset(separator) else separator
    opener = _OPENER.match(text)
    if opener is None or text.count(opener[1]) < _FEW:
        return None
    return opener[1] + ">" * opener[1].startswith("<")


def _list_texts(text: str) -> list[str]:
    """Return the texts of a list that is written as text, also of lines of JSON; none where it is something else."""
    if text.startswith(("{", '"')):
        text = f"[{','.join(text.splitlines())}]"
    texts = [text_of(item) for item in list_in(text) or _list_items(text)]
    return texts if all(isinstance(piece, str) for piece in texts) else []


def _list_items(text: str) -> list[str]:
    """Return the items of a list whose lines begin with a mark; none of another text, or where one is no sentence."""
    if not _BULLET.match(text):
        return []
    items = _strip_pieces(_BULLET.split(text)[2::2])
    return items if all(_count_words(item) >= _FEWEST_WORDS for item in items) else []


def _strip_pieces(pieces: Iterable[str]) -> list[str]:
    """Return the pieces that hold more than white space, without it at their ends."""
    return [*filter(None, map(str.strip, pieces))]


def joined_by(contexts: Iterable[Sequence[str]]) -> str | None:
    """Return the separator that joins the passages of a run, where nearly every sample has one context; else None."""
    lists = [texts for texts in contexts if texts]
    single = [texts[0] for texts in lists if len(texts) == 1 and isinstance(texts[0], str)]
    if len(lists) < _FEW or len(single) < _MOST_TEXTS * len(lists):
        return None
    separators = Counter(map(separator_in, single))
    del separators[None]
    if separators.total() < _MOST_TEXTS * len(single):
        return None
    return separators.most_common(1)[0][0]


def split_at(text: str, separator: str) -> list[str]:
    r"""Split a text into its passages.

    Args:
        text: The text.
        separator: What stands between them, or before each. ``\n`` is a line break. A number stands for any number;
            ``list`` is a list that is written as text, also one whose items begin with a mark.
    """
    if separator == "list":
        return _list_texts(text.strip()) or [text]
    heading = _find_heading(separator)
    if heading is not None:
        return _strip_pieces(heading.sub("\0", text).split("\0"))
    written = re.escape(separator.replace("\\n", "\n").replace("\\f", "\f"))
    # A line break may be written as in another system, or as its code.
    pattern = re.sub(r"\d+", r"\\d+", written).replace("\\\n", r"(?:\r?\n|\\n)")
    name = separator[1:-1]
    if separator == f"<{name}>" and name.lower() in _WORDS["tags"]:
        # A tag around all is no piece.
        pattern = rf"</?{name}(?:\s[^<>]*)?>(?:\s*</\w+>\s*\Z)?|\A\s*<\w+>\s*(?=<{name}\b)"
    if _RULE_MARKS.issuperset(separator):
        pattern = rf"(?<!\S){pattern}{re.escape(separator[0])}*(?!\S)"
    return _strip_pieces(re.split(pattern, text, flags=re.MULTILINE))


def to_record(values: Iterable[Any]) -> Record:
    """Return the question in small letters, the expected answers or facts as one text, and what should have been and was retrieved.

    Args:
        values: The values of `COMPARED`.
    """
    question, *expected, gold, gold_ids, texts, ids = values
    words = "".join(str(value) for value in expected if not is_missing(value))
    question = "" if is_missing(question) else " ".join(str(question).split()).casefold()
    return question, words, gold_ids if gold is None else gold, ids if texts is None else texts


def texts_in(items: Any) -> list[Any]:
    """Return the texts or ids of a list or a single one; None for a document without one."""
    if isinstance(items, (str, int)) and list_in(items) is None:
        items = [items]
    if isinstance(items, tuple):
        items = [*items]
    listed = None if hasattr(items, "__next__") else list_in(as_list(items))
    return [str(item) if isinstance(item, int) else text_of(item) for item in listed or ()]


def are_passages(records: Sequence[Record], *, by_answer: bool) -> bool:
    """Whether rows are passages: what was retrieved, or what should have been, is another one in each row of a question.

    Args:
        records: The rows.
        by_answer: Rows without a question are compared by their answer, if they have no ids either; a yes or a no is the answer
            to many.
    """
    passages: defaultdict[tuple[Any, ...], list[str]] = defaultdict(list)
    for question, expected, *lists in records:
        name = question or (by_answer and len(expected.split()) >= _FEWEST_WORDS)
        if not (name and (expected or lists[0])):
            continue
        for number, items in enumerate(lists):
            texts = texts_in(items)
            if len(texts) == 1 and isinstance(texts[0], str):
                passages[number, question, expected, str(lists[1 - number])].append(texts[0])
    repeated: Counter[int] = Counter()
    for (number, *_), texts in passages.items():
        repeated[number] += len(texts) * (len({*texts}) > 1)
    return max(repeated.values(), default=0) >= max(1, _MOST_ROWS * len(records))


def group_rows(
    rows: Iterable[tuple[dict[str, Any], str]], key: str, columns: Mapping[str, str]
) -> Iterator[tuple[dict[str, Any], str]]:
    """Join the rows of each question: their passages are one list, in the order of the rows, or of a column ``rank``.

    Args:
        rows: The fields of each row, with its place.
        key: A field, or a column or path of the metadata.
        columns: The column of each field.

    Raises:
        ParameterError: A row has no such key.
        SampleError: The rows of a question have different references.
    """
    groups: defaultdict[str, list[tuple[dict[str, Any], str]]] = defaultdict(list)
    fields = {column: field for field, column in columns.items()}
    field = fields.get(key, key)
    for values, where in rows:
        name = look_up(values, field)
        if name is None:
            name = look_up(values.get("metadata"), key)
        if name is None:
            raise ParameterError(
                f"{where}: --group-by {key}: the row has no value there. Name a field or a column."
            )
        words = " ".join(str(name).split()).casefold() if field == "user_input" else str(name)
        groups[words].append((values, where))
    for group in groups.values():
        yield _join_rows([values for values, _ in group], group[0][1]), group[0][1]


def _join_rows(rows: list[dict[str, Any]], where: str) -> dict[str, Any]:
    """Join the rows of one question. What is expected stands once; where rows differ in it, what was retrieved does too."""
    if all(str(look_up(row, _RANK)).isdecimal() for row in rows):
        rows = sorted(rows, key=lambda row: int(look_up(row, _RANK)))
    joined: dict[str, Any] = dict.fromkeys(RETRIEVED)
    for row in rows:
        joined = {**row, **{name: value for name, value in joined.items() if value is not None}}
    references = {str(row["reference"]) for row in rows if row.get("reference") is not None}
    if len(references) > 1:
        problem = "differs between the rows of one question."
        fix = "Parts that are all needed are facts: --map COLUMN=reference_facts. Answers of which one is enough are references."
        raise SampleError(problem, fix).inside(field="reference").at(where)
    is_once = False
    for name in LISTED:
        lists = [to_list(row[name]) for row in rows if row.get(name) is not None]
        if not lists:
            continue
        items = [*chain.from_iterable(lists)]
        once = [*{repr(item): item for item in items}.values()]
        if name not in RETRIEVED:
            is_once = is_once or len(once) > len(lists[0])
        joined[name] = once if is_once or name not in RETRIEVED else items
    return joined


def refusal_of(records: Sequence[Record], columns: Mapping[str, str]) -> str | None:
    """Return why rows are refused as samples, with the option that reads them; None where nothing is wrong.

    Args:
        records: What is compared of each row.
        columns: The column of each field.
    """
    column = columns.get("retrieved_contexts", "retrieved_contexts")
    texts = [*chain.from_iterable(texts_in(retrieved) for *_, retrieved in records)]
    has_texts = "retrieved_contexts" in columns and all(isinstance(text, str) for text in texts)
    if has_texts and are_no_texts(texts):
        field = "metadata" if "retrieved_context_ids" in columns else "retrieved_context_ids"
        return (
            f"'{column}' holds addresses, files or ids, such as {texts[0][:60]!r}, and no texts. Write --map "
            f"{shlex.quote(f'{column}={field}')} (in Python columns=)."
        )
    if are_passages(records, by_answer=bool(columns) and "id" not in columns):
        field = "user_input" if any(question for question, *_ in records) else "reference"
        question = columns.get(field, field)
        return (
            f"{'questions' if field == 'user_input' else 'references'} repeat with one other retrieved or expected text each, so a row is a passage and no sample. Write "
            f"--group-by {shlex.quote(question)} (in Python group_by=), which makes one sample of each question; the order of "
            "the rows is the rank."
        )
    return None


def _count_words(text: str) -> int:
    return len(text.split()) if text.isascii() else len(text.strip())
