"""The shape of the first rows: rows that are single passages, ids where texts are expected, several passages in one text.

Such rows give a number that looks right, from the wrong samples or texts. They are refused with the option that reads them.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

from ctxmetrics._internal.data_files import read_words
from ctxmetrics.errors import ParameterError
from ctxmetrics.reading.cells import is_list_text, list_in
from ctxmetrics.reading.documents import as_list, look_up, text_of

# The share of the rows from which on they are passages, or texts that several passages were joined into.
_MOST_ROWS, _MOST_TEXTS = 0.5, 0.8
# The fewest texts that tell something about a run.
_FEW = 2
# The fields that are joined where the rows of a question become one sample.
GROUPED = ("retrieved_contexts", "retrieved_context_ids")
# A text that is no more than an address, a path, a file, or an id: a word with a number in it, or several words with marks between.
_NO_TEXT = re.compile(
    r"(?:[a-z][a-z0-9+.-]*:)?//\S+|(?:[\w.-]*/)+[\w.-]+|[^\s/]+\.[a-z][a-z0-9]{1,4}(?:[#:?]\S*)?|\d+|[a-z]+(?:_[a-z]+)+"
    r"|[a-z]+(?:-[a-z]+){2,}|[\d-]{8,}|(?=[^a-z]*[a-z])(?=\D*\d)[\w:#=+?&@-]+(?:\.\w[\w:#=+?&@/-]*)*",
    re.IGNORECASE | re.ASCII,
)
# What stands before each of several passages, or between them: what to write for --split, and its form.
_HEADINGS: Mapping[str, re.Pattern[str]] = {
    f"[{name} 1]": re.compile(
        rf"^[ \t]*[\[(【（]?{name}[ #№]*(\d+)\b[\]:.)】）：]*", re.IGNORECASE | re.MULTILINE
    )
    for name in read_words("reading", "keys.json", "passages")["names"]
} | {
    "[1]": re.compile(r"(?:^|(?<=\s))\[(\d+)\][:.]?(?=\s)", re.MULTILINE),
    "1.": re.compile(r"^[ \t]*(\d+)[.)](?=[ \t])", re.MULTILINE),
}
_RULE = re.compile(r"(?:^|\s)(?:-{3,}|={3,}|\*{3,}|#{3,})(?=\s|$)")
# The tag before each passage, as prompts have it: <document index="1">.
_TAG = re.compile(r"<(doc|document|context|chunk|passage|source)(?:\s[^<>]*)?>", re.IGNORECASE)
_TABLE = re.compile(r"^\s*\||\|\s*:?-{2,}|\|\s*$", re.MULTILINE)
_FEWEST_WORDS = 3
# The characters of a text that are looked at: an address may go on.
_LONGEST_NAME = 500
# The words of a name from which on it is a text.
_MOST_WORDS = 8
# A number, a date, a UUID or an address, which no column is named.
_VALUE = re.compile(
    r"[+-]?\d+(?:[.,]\d+)?|\d{4}-\d\d-\d\d.*|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|https?://\S+",
    re.IGNORECASE,
)


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
    """Whether all texts of a run are addresses, files or ids."""
    return len(texts) >= _FEW and all(
        _NO_TEXT.fullmatch(text.strip()[:_LONGEST_NAME]) for text in texts
    )


def separator_in(text: str) -> str | None:
    """Return the explicit separator at which a text falls apart into several passages; None for one passage."""
    stripped = text.strip()
    for separator, heading in _HEADINGS.items():
        if heading.match(stripped) is None:
            continue
        numbers = [int(match[1]) for match in heading.finditer(stripped)]
        in_order = all(second == first + 1 for first, second in pairwise(numbers))
        if len(numbers) >= _FEW and in_order:
            return separator
    rule = _RULE.search(stripped)
    if rule and len(_strip_pieces(_RULE.split(stripped))) >= _FEW:
        return rule[0].strip()[:3]
    tag = _TAG.match(stripped)
    if tag and len(_TAG.findall(stripped)) >= _FEW:
        return f"<{tag[1]}>"
    items = list_in(stripped) or ()
    if len(items) >= _FEW and all(isinstance(text_of(item), str) for item in items):
        return "list"
    pieces = re.split(r"\|+", stripped)
    if len(pieces) < _FEW or _TABLE.search(stripped):
        return None
    return "|" if min(map(_count_words, pieces)) >= _FEWEST_WORDS else None


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
            ``list`` is a list that is written as text.
    """
    if separator == "list":
        texts = [(item, text_of(item)) for item in list_in(text) or [text]]
        return [item if piece is None else piece for item, piece in texts]
    if separator in _HEADINGS:
        return _strip_pieces(_HEADINGS[separator].sub("\0", text).split("\0"))
    pattern = re.sub(r"\d+", r"\\d+", re.escape(separator.replace("\\n", "\n")))
    if _TAG.fullmatch(separator):
        pattern = rf"</?{separator[1:-1]}(?:\s[^<>]*)?>"
    if set(separator) <= set("-=*#"):
        pattern = rf"(?<!\S){pattern}{re.escape(separator[0])}*(?!\S)"
    return _strip_pieces(re.split(pattern, text, flags=re.MULTILINE))


def texts_in(record: tuple[Hashable, Hashable, Any]) -> list[Any]:
    """Return the texts that a row retrieved; None for a document without one."""
    *_, retrieved = record
    items = None if hasattr(retrieved, "__next__") else list_in(as_list(retrieved))
    if items is None:
        items = [retrieved] if isinstance(retrieved, str) else []
    return [text_of(item) for item in items]


def are_passages(records: Iterable[tuple[Hashable, Hashable, Any]]) -> bool:
    """Whether rows are passages: question and reference repeat, with one other text each.

    Args:
        records: Question, reference and what was retrieved, of each row.
    """
    texts: defaultdict[Hashable, list[str]] = defaultdict(list)
    rows = 0
    for question, reference, retrieved in records:
        rows += 1
        contexts = texts_in((question, reference, retrieved))
        if question and reference and len(contexts) == 1 and isinstance(contexts[0], str):
            texts[question, reference].append(contexts[0])
    repeated = sum(len(group) for group in texts.values() if len({*group}) > 1)
    return repeated > 0 and repeated >= _MOST_ROWS * rows


def group_rows(
    rows: Iterable[tuple[dict[str, Any], str]], key: str, columns: Mapping[str, str]
) -> Iterator[tuple[dict[str, Any], str]]:
    """Join the rows of each question: their retrieved texts and ids are one list, in the order of the rows.

    Args:
        rows: The fields of each row, with its place.
        key: A field, or a column or path of the metadata.
        columns: The column of each field.

    Raises:
        ParameterError: A row has no such key.
    """
    groups: dict[str, tuple[dict[str, Any], str]] = {}
    fields = {column: field for field, column in columns.items()}
    for values, where in rows:
        name = look_up(values, fields.get(key, key))
        if name is None:
            name = look_up(values.get("metadata"), key)
        if name is None:
            raise ParameterError(
                f"{where}: --group-by {key}: the row has no value there. Name a field or a column."
            )
        group, _ = groups.setdefault(str(name), ({**values, **dict.fromkeys(GROUPED)}, where))
        for field in GROUPED:
            value = values.get(field)
            if value is not None:
                items = value if isinstance(value, (list, tuple)) else [value]
                group[field] = [*(group[field] or ()), *items]
    yield from groups.values()


def refusal_of(
    records: Sequence[tuple[Hashable, Hashable, Any]], columns: Mapping[str, str]
) -> str | None:
    """Return why rows are refused as samples, with the option that reads them; None where nothing is wrong.

    Args:
        records: As for `are_passages`.
        columns: The column of each field.
    """
    column = columns.get("retrieved_contexts", "retrieved_contexts")
    texts = [*chain.from_iterable(map(texts_in, records))]
    has_texts = "retrieved_contexts" in columns and all(isinstance(text, str) for text in texts)
    if has_texts and are_no_texts(texts):
        field = "metadata" if "retrieved_context_ids" in columns else "retrieved_context_ids"
        return (
            f"'{column}' holds addresses, files or ids, such as {texts[0][:60]!r}, and no texts. Write --map "
            f"{shlex.quote(f'{column}={field}')} (in Python columns=)."
        )
    if are_passages(records):
        question = columns.get("user_input", "user_input")
        return (
            "question and reference repeat with one other retrieved text each, so a row is a passage and no sample. Write "
            f"--group-by {shlex.quote(question)} (in Python group_by=), which makes one sample of each question; the order of "
            "the rows is the rank."
        )
    return None


def _count_words(text: str) -> int:
    return len(text.split()) if text.isascii() else len(text.strip())
