"""The shape of the first rows: rows that are single passages, ids where texts are expected, several passages in one text.

Such rows give a number that looks right, from the wrong samples or texts. They are refused with the option that reads them.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple

from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.patterns import compile_on_use
from ctxmetrics.errors import ParameterError, SampleError
from ctxmetrics.evaluation.files.hit_order import Order, arrange, describe_orders, find_order
from ctxmetrics.evaluation.files.several_runs import RetrievalRow, check_setting, read_retrieval
from ctxmetrics.samples.cells import is_list_text, list_in
from ctxmetrics.samples.documents import (
    as_list,
    is_missing,
    look_up,
    text_of,
    whole_number,
    wrap_in_list,
)
from ctxmetrics.samples.field_keys import RETRIEVED
from ctxmetrics.samples.pictures import LONGEST_NAME, is_address_or_name
from ctxmetrics.samples.systems import map_options

# If at least this share of the rows looks like single passages, all rows are single passages.
_MIN_SINGLE_PASSAGE_SHARE = 0.5
# If at least this share of the texts holds several passages, all texts hold several passages.
_MIN_SEVERAL_PASSAGES_SHARE = 0.8
# The minimum number of texts, passages or headers that show something.
_MIN_COUNT = 2
# The lists of the retrieved items, and all lists that the rows of a question become.
LIST_FIELDS = (
    "reference_contexts",
    "reference_context_ids",
    "reference_facts",
    "references",
    *RETRIEVED,
)
# The lists of what is expected.
_EXPECTED_LISTS = frozenset(LIST_FIELDS).difference(RETRIEVED)
# The fields by which rows are compared: the question, what is expected, and what was retrieved. `to_compared_row` takes them.
COMPARED_FIELDS = (
    "user_input",
    "reference",
    "references",
    "reference_facts",
    "reference_contexts",
    "reference_context_ids",
    *RETRIEVED,
)
# Names of passages, and the labels and tags before them.
_PASSAGE_WORDS: Mapping[str, Sequence[str]] = read_data("samples", "keys.json")["passages"]
# The marks that may stand around a name.
_MARKS_AROUND_NAME = "\"'<>[]{}() "
# The marks that stand between several names.
_NAME_SEPARATOR = compile_on_use(r"\s*[,;()]\s*")
# A line break of any system, or its code as two characters.
_LINE_BREAK = r"(?:\r\n?|\n|\\n|[\v\u2028\u2029])"
# The headings that may stand before each of several passages. Key: the text that a user writes for --split. Value: the pattern
# of the heading.
_HEADING_PATTERNS: Mapping[str, str] = {
    "[1]": r"(?:^|(?<=\s))\[(\d+)\][:.]?(?=\s)",  # [1] text, [1]: text
    "(1)": r"(?:^|(?<=\s))\((\d+)\)(?=\s)",
    "(1/2)": r"(?:^|(?<=\s))[(\[](\d+)/\d+[)\]](?=\s)",  # (1/2) text, [1/2] text
    "{1}": r"(?:^|(?<=\s))\{(\d+)\}(?=\s)",
    "【1】": r"【(\d+)】",
    "①": r"^[^\S\n]*([①-⑳❶-❿])",
    "1.": r"^[^\S\n]*(\d+)[.):](?=[^\S\n])",  # 1. text, 1) text, 1: text
}
# The pattern of numbers after a sentence. They may be the steps of one passage, so they split a text only if the user asks.
_NUMBER_WITHIN_LINE = r"|(?<=[.!?。]\s)(\d+)[.)>](?=\s)|^(\d+)>(?=\s)"
# The pattern of a number in brackets at the end of a text, for numbers that follow their passages.
_NUMBER_AT_END = r"|(?<=\s)\[\d+\]\s*\Z"
# A number of a passage, or its id.
_NUMBER_OR_ID = "[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|\\d+"
# A separator that names a passage: ``[Chunk 1]``.
_NAMED_SEPARATOR = compile_on_use(r"\[(.+) 1\]")
# Marks before a name of a passage or before a label.
_MARKS_BEFORE_NAME = r"[ \t\[(【（*\#]*"
# Any name of a passage.
_PASSAGE_NAME = compile_on_use(
    rf"{_MARKS_BEFORE_NAME}({'|'.join(_PASSAGE_WORDS['names'])})(?![^\W\d_])", re.IGNORECASE
)
# A divider of two passages: a line of one repeated mark (``-----``), or a token of a language model's input (``[SEP]``).
_DIVIDING_LINE = compile_on_use(
    r"""
    (?:^|(?<=\s)) (?:-{3,}|={3,}|\*{3,}) (?=\s|$)                  # ---, ===, ***
    | ^[^\S\n]* ([\#~_+—─━═])\1{2,} [^\S\n]*$                       # a line of one mark: ~~~~
    | <\|?\w*(?:sep|eod|eos|end_?of|split|delim)\w*\|?>             # tokens of models: <|endoftext|>
    | \[sep\]                                                       # [SEP]
    | </s>
    | \f                                                            # a page break
    | (?:\\n){2,}                                                   # line breaks, written as their code: \n\n
    | (?<=\S\x20) (?:/{3,}|\#{2,}|~{2,}|@{2,}|§{2,}|;{2,}|>{3,}) (?=\x20\S)  # marks between two words: one /// two
    | (?<=[.!?。]\x20) (?://|[•·¶^~]) (?=\x20\S)                     # a mark between two sentences: One. // Two.
    | [\x1d-\x1f]                                                   # separators of groups, records and units
    | <hr\s*/?>
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
# The marks that a dividing line repeats.
_DIVIDER_MARKS = frozenset("-=*#~_+—─━═")
# Visible codes of separators that cannot be seen.
_VISIBLE_CODES = {
    "\f": "\\f",
    "\t": "\\t",
    "\x1d": "\\x1d",
    "\x1e": "\\x1e",
    "\x1f": "\\x1f",
    "\n": "\\n",
}
# Separators that count only between blanks, since they may be a part of an address or a word.
_SPACED_SEPARATORS = frozenset({"//", "^", "•", "·", "¶"})
# The label or tag before each passage, as prompts have it: Source: guide.md, <document index="1">, also in one tag around all.
_PASSAGE_LABEL = compile_on_use(
    rf"""
    (?:<\w+>\s*)?                                       # a tag around all
    {_MARKS_BEFORE_NAME}
    (
        (?:{"|".join(_PASSAGE_WORDS["labels"])})[ \t]*[:：=]    # Source: guide.md
      | BEGIN[ _]\w+                                     # BEGIN DOCUMENT
      | <(?:{"|".join(_PASSAGE_WORDS["tags"])})\b          # <document index="1">
      | \[(?:{"|".join(_PASSAGE_WORDS["tags"])})\]         # [DOC]
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
# The address of a page.
_ADDRESS = compile_on_use(r"https?://\S+")
# The maximum number of words of the title of a page.
_MAX_TITLE_WORDS = 12
# The mark at the beginning of each item of a list.
_BULLET_MARK = compile_on_use(r"^[^\S\n]*([-*•‣▪◦·–])[^\S\n]+", re.MULTILINE)
# Lines of a table in Markdown.
_MARKDOWN_TABLE = compile_on_use(r"^[^\S\n]*\||\|\s*:?-{2,}|\|\s*$", re.MULTILINE)
# The minimum number of words of a sentence.
_MIN_SENTENCE_WORDS = 3
# A name of a column with at least this number of words is a text.
_MIN_WORDS_OF_TEXT = 8
# If half of the names have at least this number of words, they are texts.
_MIN_WORDS_OF_HALF = 4
# A number, a date, a UUID or an address, which no column is named.
_PLAIN_VALUE = compile_on_use(
    r"""
    [+-]?\d+(?:[.,]\d+)?
    | \d{4}-\d\d-\d\d.*
    | [0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}
    | https?://\S+
    """,
    re.IGNORECASE | re.VERBOSE,
)


class ComparedRow(NamedTuple):
    """The values by which rows are compared.

    Attributes:
        question: The question in small letters, without repeated white space; empty if there is none.
        answers: The expected answers or facts as one text.
        expected: The texts of what should be retrieved; its ids if there are no texts.
        retrieved: The texts of the retrieved items; its ids if there are no texts.
    """

    question: str
    answers: str
    expected: Any
    retrieved: Any


def _find_heading(separator: str) -> re.Pattern[str] | None:
    """Return the form of the headings that a separator stands for, such as ``[Chunk 1]``. Return None for any other separator."""
    named_separator = _NAMED_SEPARATOR.fullmatch(separator)
    heading_pattern = _HEADING_PATTERNS.get(separator)
    if named_separator and named_separator[1].capitalize() in _PASSAGE_WORDS["names"]:
        name = named_separator[1]
        heading_pattern = "|".join(
            (
                # At the beginning of a line: [Chunk 1], **Chunk #2:**, Chunk A:, Chunk IV.
                rf"^{_MARKS_BEFORE_NAME}{name}[ #№\[]*(?:({_NUMBER_OR_ID})\b|([A-Z]|[IVX]+)(?=[\]:.)]))[\]:.)】）：*]*",
                # Within a line.
                rf"(?<=\s)\[{name}[ #№]*(\d+)\]:?",  # [Chunk 1]:
                rf"(?<=\s)\({name}[ #№]*(\d+)\):?",  # (Chunk 1):
                rf"【{name}[ #№]*(\d+)】",
                rf"(?<=\s){name}[ #№]*(\d+)[:：]",  # Chunk 1:
                rf"(?<=[.!?。]\s){name}[ #№]*(\d+)\)",  # Chunk 1), after a sentence
            )
        )
    return compile_on_use(heading_pattern, re.MULTILINE | re.IGNORECASE) if heading_pattern else None


def find_data_header(names: Iterable[str]) -> str | None:
    """Return the first name of a column that looks like data: a number, a date, an id, a list, a sentence. Return None otherwise.

    Where half of the names have several words each, the first of these is one.
    """
    names = [*names]
    long_names = [name for name in names if len(name.split()) >= _MIN_WORDS_OF_HALF]
    if len(long_names) >= _MIN_COUNT and len(long_names) * 2 >= len(names):
        return long_names[0]
    for name in names:
        word_count = len(name.split())
        is_sentence = name.rstrip().endswith(("。", "？", "؟", "।"))
        if word_count >= _MIN_SENTENCE_WORDS and name.rstrip().endswith((".", "?")):
            is_sentence = True
        is_value = _PLAIN_VALUE.fullmatch(name.strip()) is not None or is_list_text(name)
        if is_value or is_sentence or word_count >= _MIN_WORDS_OF_TEXT:
            return name
    return None


def are_no_texts(texts: Sequence[str]) -> bool:
    """Tell whether each text of a run is an address, a file name or an id, or a list of such names."""
    names: list[str] = []
    for text in texts:
        start = text.strip()[:LONGEST_NAME]
        address = _ADDRESS.search(start)
        is_title = len(start.split()) <= _MAX_TITLE_WORDS and not start.endswith((".", "?", "!"))
        if address and is_title:
            start = address[0]
        if is_address_or_name(start):
            names.append(start)
        else:
            names += filter(None, _NAME_SEPARATOR.split(start.strip(_MARKS_AROUND_NAME)))
        if names and not is_address_or_name(names[-1]):  # nearly every text ends the search here
            return False
    has_enough = len(texts) >= _MIN_COUNT and len(names) >= _MIN_COUNT
    return has_enough and all(map(is_address_or_name, names))


def find_separator(text: str) -> str | None:
    """Find the separator between the passages of a text. Return None if the text is one passage."""
    stripped = text.strip()
    separator = _find_numbered_heading(stripped) or _find_mark(stripped)
    if separator is not None:
        return separator
    if len(_parse_text_list(stripped)) >= _MIN_COUNT:
        return "list"
    for mark, pattern in (("|", r"\|+"), ("\\t", r"\t+")):
        passages = re.split(pattern, stripped)
        is_joined = (
            len(passages) >= _MIN_COUNT and min(map(_count_words, passages)) >= _MIN_SENTENCE_WORDS
        )
        if is_joined and not _MARKDOWN_TABLE.search(stripped):
            return mark
    return None


def _find_numbered_heading(text: str) -> str | None:
    """Find the form of the numbered headings with which a text and its passages begin, such as ``[Chunk 1]``. Return None if there is none."""
    name_match = _PASSAGE_NAME.match(text)
    separators = [f"[{name_match[1]} 1]"] if name_match else list(_HEADING_PATTERNS)
    for separator in separators:
        heading = _find_heading(separator)
        if heading is None or not heading.match(text):
            continue
        numbers = [match[match.lastindex or 0] for match in heading.finditer(text)]
        are_distinct = len({*numbers}) == len(numbers)
        if are_distinct and len(numbers) >= _MIN_COUNT:
            return separator
    return None


def _find_mark(text: str) -> str | None:
    """Find the line of marks or the token between passages, or the tag or label before each passage. Return None if there is none."""
    divider = _DIVIDING_LINE.search(text)
    if divider and len(_strip_pieces(text.split(divider[0]))) >= _MIN_COUNT:
        separator = _VISIBLE_CODES.get(divider[0]) or divider[0].strip()
        return separator[:3] if _DIVIDER_MARKS.issuperset(separator) else separator
    opener = _PASSAGE_LABEL.match(text)
    if opener is None or text.count(opener[1]) < _MIN_COUNT:
        return None
    is_tag = opener[1].startswith("<")
    return f"{opener[1]}>" if is_tag else opener[1]


def _parse_text_list(text: str) -> list[str]:
    """Parse a text that holds a list, or lines of JSON, into texts. The result is empty for any other text."""
    items = list_in(text)
    if items is None and text.startswith(("{", '"')):
        items = list_in(f"[{','.join(text.splitlines())}]")
    texts = [text_of(item) for item in items or _split_bullets(text)]
    are_texts = all(isinstance(item_text, str) for item_text in texts)
    return texts if are_texts else []


def _split_bullets(text: str) -> list[str]:
    """Split a list whose lines begin with a mark into its items. The result is empty for another text, or if an item is no sentence."""
    if not _BULLET_MARK.match(text):
        return []
    items = _strip_pieces(_BULLET_MARK.split(text)[2::2])
    return items if all(_count_words(item) >= _MIN_SENTENCE_WORDS for item in items) else []


def _strip_pieces(pieces: Iterable[str]) -> list[str]:
    """Strip white space from the ends of pieces, and drop empty pieces."""
    return [*filter(None, map(str.strip, pieces))]


def find_joining_separator(contexts: Iterable[Sequence[str]]) -> str | None:
    """Find the separator of the passages of a run in which nearly every sample has one context that holds several. Return None otherwise."""
    lists = [texts for texts in contexts if texts]
    single_texts = [texts[0] for texts in lists if len(texts) == 1 and isinstance(texts[0], str)]
    if len(lists) < _MIN_COUNT or len(single_texts) < _MIN_SEVERAL_PASSAGES_SHARE * len(lists):
        return None
    separators = Counter(map(find_separator, single_texts))
    del separators[None]
    if separators.total() < _MIN_SEVERAL_PASSAGES_SHARE * len(single_texts):
        return None
    ((most_frequent, _),) = separators.most_common(1)
    return most_frequent


def find_joined_lists(lists: Iterable[tuple[Sequence[str], Sequence[str]]]) -> dict[str, str]:
    """Return the separator of the passages for each list that has one text in nearly every sample: see `find_joining_separator`.

    Args:
        lists: The retrieved and the expected texts of each sample.
    """
    pairs = [*lists]
    separators = {
        "retrieved_contexts": find_joining_separator(retrieved for retrieved, _ in pairs),
        "reference_contexts": find_joining_separator(expected for _, expected in pairs),
    }
    return {field: separator for field, separator in separators.items() if separator is not None}


def _write_pattern(separator: str) -> str:
    """Write a separator as a pattern: a number stands for any number, a line break for one of any system."""
    literal = separator
    for character, code in _VISIBLE_CODES.items():
        literal = literal.replace(code, character)
    if literal == "\n\n":
        return rf"{_LINE_BREAK}(?:[^\S\n]*{_LINE_BREAK})+"  # a blank line may hold blanks
    return re.sub(r"\d+", r"\\d+", re.escape(literal)).replace("\\\n", _LINE_BREAK)


def split_at(text: str, separator: str) -> list[str]:
    r"""Split a text into its passages.

    Args:
        text: The text.
        separator: The separator between passages, or before each passage. ``\n`` is a line break. A number stands for any number;
            ``list`` is a list that is written as text, also one whose items begin with a mark.
    """
    if separator == "list":
        return _parse_text_list(text.strip()) or [text]
    heading = _find_heading(separator)
    if separator == "1.":
        heading = compile_on_use(_HEADING_PATTERNS[separator] + _NUMBER_WITHIN_LINE, re.MULTILINE)
    if separator == "[1]":
        heading = compile_on_use(_HEADING_PATTERNS[separator] + _NUMBER_AT_END, re.MULTILINE)
    if heading is not None:
        return _strip_pieces(heading.sub("\0", text).split("\0"))
    pattern = _write_pattern(separator)
    name = separator[1:-1]
    if separator == f"<{name}>" and name.lower() in _PASSAGE_WORDS["tags"]:
        # A tag around all is no piece.
        pattern = rf"</?{name}(?:\s[^<>]*)?>(?:\s*</\w+>\s*\Z)?|\A\s*<\w+>\s*(?=<{name}\b)"
    if separator in _SPACED_SEPARATORS:
        pattern = rf"(?<!\S){pattern}(?!\S)"
    if separator == "<br>":
        pattern = r"(?:<br\s*/?>\s*)+"
    if _DIVIDER_MARKS.issuperset(separator):
        line = rf"{pattern}{re.escape(separator[0])}*"
        pattern = rf"(?<!\S){line}(?!\S)|(?<=[.!?。]){line}"  # also directly after a sentence
    return _strip_pieces(re.split(pattern, text, flags=re.MULTILINE))


def to_compared_row(values: Iterable[Any]) -> ComparedRow:
    """Build the record of a row from the values of the fields in `COMPARED_FIELDS`, in their order."""
    question, *answers, expected_texts, expected_ids, retrieved_texts, retrieved_ids = values
    return ComparedRow(
        question="" if is_missing(question) else " ".join(str(question).split()).casefold(),
        answers="".join(str(value) for value in answers if not is_missing(value)),
        expected=expected_ids if expected_texts is None else expected_texts,
        retrieved=retrieved_ids if retrieved_texts is None else retrieved_texts,
    )


def list_texts(items: Any) -> list[Any]:
    """List the texts or ids of a list, or the one text or id. None stands for a document without a text."""
    if isinstance(items, (str, int)) and list_in(items) is None:
        items = [items]
    if isinstance(items, tuple):
        items = [*items]
    plain_items = None if hasattr(items, "__next__") else list_in(as_list(items))
    return [str(item) if isinstance(item, int) else text_of(item) for item in plain_items or ()]


def are_passages(records: Sequence[ComparedRow], *, by_answer: bool) -> bool:
    """Tell whether rows are passages: each row of a question has another retrieved text, or another expected text.

    Args:
        records: The rows.
        by_answer: Whether rows without a question and without an id are compared by their answer. A short answer, such as yes or
            no, is not used: many questions have it.
    """
    # The single texts of one list, in rows that agree in all other fields. The key: the name of the list, and the other fields.
    single_texts: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for record in records:
        is_named_by_answer = by_answer and len(record.answers.split()) >= _MIN_SENTENCE_WORDS
        if not (record.question or is_named_by_answer):
            continue
        if not (record.answers or record.expected):
            continue
        for list_name, items, other_items in (
            ("expected", record.expected, record.retrieved),
            ("retrieved", record.retrieved, record.expected),
        ):
            texts = list_texts(items)
            if len(texts) == 1 and isinstance(texts[0], str):
                key = (list_name, record.question, record.answers, str(other_items))
                single_texts[key].append(texts[0])
    passage_rows: Counter[str] = Counter()
    for (list_name, *_), texts in single_texts.items():
        if len({*texts}) > 1:
            passage_rows[list_name] += len(texts)
    return max(passage_rows.values(), default=0) >= max(1, _MIN_SINGLE_PASSAGE_SHARE * len(records))


def group_rows(
    rows: Iterable[tuple[dict[str, Any], str]],
    key: str,
    columns: Mapping[str, str],
    order: Order | None = None,
    excluded: Collection[str] = (),
) -> Iterator[tuple[dict[str, Any], str]]:
    """Join the rows of each question: their passages are one list, in the order of a rank or score, else of the rows.

    Args:
        rows: The fields of each row, with its place.
        key: A field, or a column or path of the metadata.
        columns: The column of each field.
        order: The source of the order of the passages; see `find_order`.
        excluded: Columns that are no setting of the retrieval.

    Raises:
        ParameterError: A row has no such key.
        SampleError: The rows of a question have different references, or come from several retrievals.
    """
    # The rows of each question, each with its place.
    groups: defaultdict[str, list[tuple[dict[str, Any], str]]] = defaultdict(list)
    fields = {column: field for field, column in columns.items()}
    field = fields.get(key, key)
    group_name: str | None = None  # of the row above
    for values, where in rows:
        value = look_up(values, field)
        if is_gap(value):
            value = look_up(values.get("metadata"), key)
        if is_gap(value) and group_name is not None and _continues_question(values):
            value = group_name  # as in merged cells, the row above has it
        if is_gap(value):
            raise ParameterError(
                f"{where}: --group-by {key}: the row has no value there. Name a field or a column."
            )
        group_name = str(whole_number(value))
        if field == "user_input":
            group_name = " ".join(group_name.split()).casefold()
        groups[group_name].append((values, where))
    try:
        check_setting(_read_retrievals(groups, excluded))
    except SampleError as error:
        first_group = next(iter(groups.values()))
        _, first_place = first_group[0]
        raise error.at(first_place) from None
    reference = columns.get("reference", "reference")
    for group in groups.values():
        _, first_place = group[0]
        rows_of_question = [values for values, _ in group]
        yield _join_rows(rows_of_question, first_place, order, reference), first_place


def is_gap(value: Any) -> bool:
    """Tell whether a cell holds nothing, as in merged cells: its value is missing, a blank text, or a list of these alone."""
    if isinstance(value, list) and value:
        return all(map(is_gap, value))
    return is_missing(value) or (isinstance(value, str) and not value.strip())


def _continues_question(values: Mapping[str, Any]) -> bool:
    """Tell whether a row holds a retrieved item, and neither a question nor what is expected."""
    has_retrieved = any(not is_missing(values.get(name)) for name in RETRIEVED)
    fields_of_question = ("user_input", "reference", *_EXPECTED_LISTS)
    return has_retrieved and all(is_gap(values.get(name)) for name in fields_of_question)


def _read_retrievals(
    groups: Mapping[str, Sequence[tuple[dict[str, Any], str]]], excluded: Collection[str]
) -> Iterator[RetrievalRow | None]:
    """Yield the values by which the settings of each row are compared. The rows of a group have one question."""
    for name, group in groups.items():
        for values, _ in group:
            yield read_retrieval({**values, "user_input": name, "reference": None}, excluded)


def _take_first_values(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return of each field the value of the first row that has one. A blank text is taken only if no row has another value."""
    first_values: dict[str, Any] = dict.fromkeys(RETRIEVED)
    for row in rows:
        for name, value in row.items():
            value_so_far = first_values.get(name)
            if value_so_far is None or (is_gap(value_so_far) and not is_gap(value)):
                first_values[name] = value
    return first_values


def _join_rows(
    rows: list[dict[str, Any]], where: str, order: Order | None, reference_column: str
) -> dict[str, Any]:
    """Join the rows of one question. An error about the reference names ``reference_column``.

    An expected item that stands in several rows is kept once. If the rows differ in the expected items, each row repeats what was
    retrieved: then a retrieved item is kept once too.
    """
    metadata_of_rows = [row.get("metadata") or {} for row in rows]
    row_order = find_order(metadata_of_rows, beside={}, order=order)
    if row_order.places is not None:
        rows = arrange(rows, row_order.places)
    joined_fields = _take_first_values(rows)
    references = {str(row["reference"]) for row in rows if not is_gap(row.get("reference"))}
    if len(references) > 1:
        problem = "differs between the rows of one question."
        facts, answers = map_options(
            [f"{reference_column}=reference_facts", f"{reference_column}=references"]
        )
        fix = f"Parts that are all needed are facts: {facts}. Answers of which one is enough are references: {answers}."
        raise SampleError(problem, fix).inside(field="reference").at(where)
    rows_differ = False  # in the expected items: these fields come first in `LIST_FIELDS`
    for name in LIST_FIELDS:
        is_absent = is_missing if name in RETRIEVED else is_gap  # an empty passage has a rank
        lists = [wrap_in_list(row[name]) for row in rows if not is_absent(row.get(name))]
        if not lists:
            continue
        items = list(chain.from_iterable(lists))
        if name in RETRIEVED:
            joined_fields[name] = items
            continue
        joined_fields[name] = _drop_repeated(items)
        if len(joined_fields[name]) > len(lists[0]):
            rows_differ = True
    if rows_differ:
        _drop_repeated_retrieved(joined_fields)
    order_notes = describe_orders([row_order])
    if order_notes:
        joined_fields["metadata"] = {**(joined_fields.get("metadata") or {}), **order_notes}
    return joined_fields


def _drop_repeated(items: Iterable[Any]) -> list[Any]:
    """Keep each item once, at its first place."""
    return list({repr(item): item for item in items}.values())


def _drop_repeated_retrieved(fields: dict[str, Any]) -> None:
    """Keep each retrieved item once. A text and its id are one item, if there are as many ids as texts."""
    names = [name for name in RETRIEVED if not is_missing(fields.get(name))]
    lists = [fields[name] for name in names]
    if len(lists) == len(RETRIEVED) and len(lists[0]) == len(lists[1]):
        pairs = _drop_repeated(zip(*lists, strict=True))
        lists = [[*items] for items in zip(*pairs, strict=True)]
    else:
        lists = [_drop_repeated(items) for items in lists]
    fields.update(zip(names, lists, strict=False))


def explain_refusal(records: Sequence[ComparedRow], columns: Mapping[str, str]) -> str | None:
    """Explain why rows are refused as samples, with the option that reads them. Return None if nothing is wrong.

    Args:
        records: The compared values of each row.
        columns: The column of each field.
    """
    column = columns.get("retrieved_contexts", "retrieved_contexts")
    texts: list[Any] = []
    for record in records:
        texts += list_texts(record.retrieved)
    has_texts = "retrieved_contexts" in columns and all(isinstance(text, str) for text in texts)
    if has_texts and are_no_texts(texts):
        field = "metadata" if "retrieved_context_ids" in columns else "retrieved_context_ids"
        return (
            f"'{column}' holds addresses, files or ids, such as {texts[0][:60]!r}, and no texts. Write --map "
            f"{shlex.quote(f'{column}={field}')} (in Python columns=)."
        )
    if are_passages(records, by_answer=bool(columns) and "id" not in columns):
        field = "reference"
        repeated = "references"
        if any(record.question for record in records):
            field = "user_input"
            repeated = "questions"
        option = f"--group-by {shlex.quote(columns.get(field, field))}"
        return (
            f"{repeated} repeat with one other retrieved or expected text each, so a row is a passage and no sample. Write "
            f"{option} (in Python group_by=), which makes one sample of each question; the order of "
            f"the rows is the rank.{_describe_interleaved(records)}"
        )
    if columns and are_continued(records):  # samples in Python have no merged cells
        option = f"--group-by {shlex.quote(columns.get('user_input', 'user_input'))}"
        return (
            "rows without a question stand below a question, as in merged cells, so a row is a passage and no sample. Write "
            f"{option} (in Python group_by=), which makes one sample of each question; the order of the rows is the rank."
        )
    return None


def are_continued(records: Sequence[ComparedRow]) -> bool:
    """Tell whether rows with one retrieved text and nothing else follow rows with a question, and are as many as these or more."""
    if not records or not records[0].question:
        return False
    if any(len(list_texts(record.retrieved)) != 1 for record in records):
        return False
    others = [record for record in records if not record.question]
    if any(record.answers or record.expected for record in others):
        return False
    return len(others) >= _MIN_SINGLE_PASSAGE_SHARE * len(records)


def _describe_interleaved(records: Sequence[ComparedRow]) -> str:
    """Say that rows may be several runs, if other questions stand between the rows of a question.

    Return an empty text otherwise.
    """
    questions = [record.question for record in records if record.question]
    changes = sum(1 for question, next_question in pairwise(questions) if question != next_question)
    is_interleaved = changes >= len({*questions})
    return " If the file holds several runs, score them one by one." if is_interleaved else ""


def _count_words(text: str) -> int:
    """Count the words of a text. In a script without spaces, count the characters."""
    return len(text.split()) if text.isascii() else len(text.strip())
