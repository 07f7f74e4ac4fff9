"""The meaning of the value of a field: numbers in the place of texts, printed documents, joined texts."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from numbers import Real
from typing import Any

from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.patterns import compile_on_use
from ctxmetrics.errors import SampleError
from ctxmetrics.evaluation.files.graded_ids import GRADED_FIELD, is_graded_pair
from ctxmetrics.samples.cells import object_in
from ctxmetrics.samples.documents import (
    SPAN_MARK,
    are_messages,
    have_texts,
    ids_of,
    is_missing,
    join_parts,
    look_up,
    text_of,
    whole_number,
)
from ctxmetrics.samples.field_keys import LISTS, TEXTS, TEXTS_OF
from ctxmetrics.samples.pictures import find_media
from ctxmetrics.samples.systems import normalized_key

# By field, the keys under which an object in the place of a text may hold the text.
TEXT_KEYS_OF_FIELDS: Mapping[str, Sequence[str]] = read_data("samples", "keys.json")["inner"]
# Lists of texts, or of documents with a text.
_TEXT_LIST_FIELDS = LISTS - TEXTS_OF.keys()
# How LangChain prints a document.
_PRINTED_DOCUMENT = compile_on_use(
    r"page_content='((?:(?!page_content=).)*)'(?: metadata=\{.*\})?", re.DOTALL
)
# A node as LlamaIndex prints it: long texts are cut off.
_PRINTED_NODE = compile_on_use(r"Node ID: \S+\nText: ")


def is_text(cell: Any, value: Any, name: str, *, has_text_cells: bool = False) -> bool:
    """Tell whether a cell counts as a text, although a list or an object can be read from it.

    Args:
        cell: The cell.
        value: The value that can be read from the cell.
        name: The field.
        has_text_cells: Whether cells of other rows are texts. Then a printed list of single words is a text, too.
    """
    if name not in TEXTS or not isinstance(cell, str) or isinstance(value, str):
        return False
    if name != "reference" or not isinstance(value, list):
        return True
    if not all(isinstance(item, str) for item in value):
        return True
    return has_text_cells and not any(map(_has_words, value))  # a list of references is no text


def find_inner_text(path: str, value: Any, name: str) -> tuple[str, Any]:
    """Find the text of a field in an object, under a usual key, or in a list of parts. Return its path and the text.

    Any other value is returned with its own path.

    Args:
        path: The path of the value.
        value: The value in the place of the text.
        name: The field.
    """
    holder: Any = value
    if isinstance(value, str) and may_hold_text(value):
        holder = object_in(_without_fence(value))
    if hasattr(holder, "items"):
        key = _find_text_key(holder, name)
        if key is None:
            return path, value
        return f"{path}.{key}", holder[key]
    if name == "reference" and isinstance(holder, list):
        answers = _list_answers(holder)
        if answers:
            return path, answers
    text = join_parts(value)
    if text is None and name == "user_input" and are_messages(value):
        text = _find_last_question(value)
    return path, value if text is None else text


# The first characters of a text that may be an object, a list of objects, or either in a fence of Markdown.
_FIRST_CHARACTERS_OF_OBJECTS = frozenset("{[`")
# The fence of Markdown around a block of code.
_FENCE = "```"


def may_hold_text(value: str) -> bool:
    """Tell whether a text in the place of a field may be an object or a list in which the text of the field stands."""
    return value.lstrip()[:1] in _FIRST_CHARACTERS_OF_OBJECTS


def _without_fence(text: str) -> str:
    """Return a text without the fence of Markdown around it, as a model writes JSON. Any other text is returned as it is."""
    stripped = text.strip()
    if not (stripped.startswith(_FENCE) and stripped.endswith(_FENCE)):
        return text
    language, _, content = stripped[len(_FENCE) : -len(_FENCE)].partition("\n")
    return content.strip() if language.strip().lower() in ("", "json") else text


def _find_text_key(holder: Any, name: str) -> str | None:
    """Find the key of an object under which the text of a field stands, whatever its case and separators. Return None if there is none."""
    if not hasattr(holder, "items"):
        return None
    keys_by_letters = {normalized_key(str(key)): key for key in reversed(list(holder))}
    for usual_key in TEXT_KEYS_OF_FIELDS.get(name, ()):
        key = usual_key if usual_key in holder else keys_by_letters.get(normalized_key(usual_key))
        inner = None if key is None else holder.get(key)
        if isinstance(inner, (str, Real)) or (name == "reference" and are_texts(inner)):
            return key
    return _find_only_text(holder) if name == "reference" else None


def _find_only_text(holder: Mapping[Any, Any]) -> Any:
    """Find the key of the only text of an object beside numbers: ``{"Antwort": "..", "Seite": 14}``. Return None for any other object."""
    text_keys = [key for key, value in holder.items() if isinstance(value, str)]
    are_flat = all(value is None or isinstance(value, (str, Real)) for value in holder.values())
    return text_keys[0] if are_flat and len(text_keys) == 1 else None


def _list_answers(items: Sequence[Any]) -> list[str]:
    """List the texts of objects in the place of the reference. The result is empty if an item is anything else."""
    answers: list[str] = []
    for item in items:
        key = _find_text_key(item, "reference")
        text = None if key is None else item[key]
        if not isinstance(text, str):
            return []
        answers.append(text)
    return answers


def _find_last_question(messages: Sequence[Any]) -> str | None:
    """Return the text of the last message of the user. Return None if there is none."""
    for message in reversed(messages):
        if look_up(message, "role") == "user":
            content = look_up(message, "content")
            return content if isinstance(content, str) else join_parts(content)
    return None


# Several ids in one pair of brackets: (d4, d7), {d4,d7}.
_IDS_IN_BRACKETS = compile_on_use(r"\([^()]*[,;|][^()]*\)|\{[^{}]*[,;|][^{}]*\}")


def split_ids(text: str) -> list[str] | None:
    """Split a cell at line breaks, semicolons, bars or commas into ids. Return None if it holds one id.

    At commas it is split only if no piece has a blank, and all pieces, or none of them, end as files do: "Doe, A.pdf" is one
    name with a comma in it.
    """
    stripped = text.strip(" \t\r\n;|,")
    # A list as another programming language writes it: its items may or may not be quoted.
    if _IDS_IN_BRACKETS.fullmatch(stripped):
        return None
    for separator in "\n;|,":
        if separator not in stripped:
            continue
        ids = [piece.strip() for piece in stripped.split(separator)]
        if separator == "," and SPAN_MARK in stripped:  # a span has a comma in itself
            ids = [stripped]
        if separator == "," and not _are_of_one_kind([id_ for id_ in ids if id_]):
            return None
        if stripped.count(SPAN_MARK) > len(ids):
            return None
        return _without_quotes(_without_marks(_split_further(ids)))
    return None


def _split_further(ids: list[str]) -> list[str]:
    """Split ids at commas too, if every piece is a word with a digit: ``d1, d2; d3``. Names have commas, but no digits."""
    if any(SPAN_MARK in id_ or is_grouped(id_) for id_ in ids):
        return ids
    split_cells: list[str] = []
    for id_ in ids:
        split_cells += [part.strip() for part in id_.split(",")]
    for part in split_cells:
        is_word = len(part.split()) == 1
        if not is_word or not any(map(str.isdigit, part)):
            return ids
    return split_cells


# An id after its number in a list, or after the mark of an item: 1. d4, - d4.
_MARKED_ID = compile_on_use(r"(?:(?P<number>\d{1,3})[.)]|[-*•])\s+(?P<id>\S.*)", re.DOTALL)


def _without_marks(ids: list[str]) -> list[str]:
    """Return ids without their places or the marks of a list, if each has its own: ``1. d4`` and ``2. d7``, ``- d4`` and ``- d7``."""
    matches = [_MARKED_ID.fullmatch(id_) for id_ in ids if id_]
    unmarked_ids: list[str] = []
    for number, match in enumerate(matches, 1):
        if match is None or match["number"] not in (None, str(number)):
            return ids
        unmarked_ids.append(match["id"])
    return unmarked_ids if len(unmarked_ids) > 1 else ids


# An id in quotation marks.
_QUOTED_ID = compile_on_use(r"(?P<mark>[\"'`])(?P<id>[^\"'`]+)(?P=mark)")


def _without_quotes(ids: list[str]) -> list[str]:
    """Return ids without the quotation marks around them, if each of several has them."""
    matches = [_QUOTED_ID.fullmatch(id_) for id_ in ids if id_]
    inner_ids = [match["id"].strip() for match in matches if match is not None]
    all_are_quoted = len(inner_ids) == len(matches)
    return inner_ids if all_are_quoted and len(inner_ids) > 1 else ids


# An id with a score after it: d4:0.87.
_ID_WITH_SCORE = compile_on_use(r"[^:=]+[:=]\s*-?\d*\.\d+")


def have_scores(ids: Collection[str]) -> bool:
    """Tell whether each id is followed by a score, with a decimal point."""
    return len(ids) > 1 and all(_ID_WITH_SCORE.fullmatch(id_) for id_ in ids if id_)


# A number whose digits are written in groups of three, or several numbers between commas.
_GROUPED_DIGITS = compile_on_use(r"[1-9]\d{0,2}(?:,\d{3})+")
# A whole number, perhaps with ``.0`` at its end.
_WHOLE_NUMBER = compile_on_use(r"(?P<digits>\d+)(?P<point>\.0)?")


def is_grouped(text: str) -> bool:
    """Tell whether the text of a cell of ids may be one number with its digits in groups, or several ids: ``1,234``."""
    return _GROUPED_DIGITS.fullmatch(text.strip()) is not None


def are_comma_ids(cells: Collection[str]) -> bool | None:
    """Tell whether the comma separates ids in cells such as ``1,234``. Return None if the cells do not show it.

    It does if another cell has commas and is no number in groups, or if a piece (``234``) is the id of another cell. It does
    not if the number (``1234``) is the id of another cell.
    """
    grouped_cells: list[str] = []
    for cell in cells:
        if is_grouped(cell):
            grouped_cells.append(cell)
        elif "," in cell and split_ids(cell):
            return True
    ids = {cell.strip() for cell in cells}
    are_ids = False
    are_numbers = False
    for cell in grouped_cells:
        if not ids.isdisjoint(split_ids(cell) or ()):
            are_ids = True
        if cell.strip().replace(",", "") in ids:
            are_numbers = True
    if are_ids == are_numbers:  # neither is shown, or both are
        return None
    return are_ids


def are_decimals(ids: Collection[str]) -> bool:
    """Tell whether all ids are whole numbers and some end in ``.0``, as pandas writes them where a cell of the column is empty."""
    matches = [_WHOLE_NUMBER.fullmatch(id_) for id_ in ids]
    return all(matches) and any(match["point"] for match in matches if match)


def without_point(id_: str) -> str:
    """Return a whole number that ends in ``.0`` without this end. Return anything else as it is."""
    match = _WHOLE_NUMBER.fullmatch(id_)
    return match["digits"] if match else id_


# Rare separators of ids that have one form. `split_ids` splits at the common ones.
_RARE_SEPARATORS = ("+", "/", " ")
_DIGITS = compile_on_use(r"\d+")
# The form of an id of letters and one number, which is written as 0.
_LETTERS_AND_NUMBER = compile_on_use(r"[^\W\d]+[-_]?0")


def find_rare_separator(cells: Collection[str]) -> str | None:
    """Find the blank, ``/`` or ``+`` between the ids of all cells. Return None if there is none.

    All pieces must have one form: letters with one number. And one piece of a cell with several pieces must be the whole of another
    cell: ``d1 d2 d3`` and ``d2``.
    """
    for separator in _RARE_SEPARATORS:
        forms: set[str] = set()
        single_ids: set[str] = set()
        joined_ids: set[str] = set()
        for cell in cells:
            parts = split_at_rare(cell, separator)
            forms.update(_DIGITS.sub("0", part) for part in parts)
            if len(parts) == 1:
                single_ids.update(parts)
            else:
                joined_ids.update(parts)
        # All ids must look alike ("doc12"), and an id of a joined cell must be the only one of another cell.
        have_one_form = len(forms) == 1 and all(map(_LETTERS_AND_NUMBER.fullmatch, forms))
        if have_one_form and joined_ids & single_ids:
            return separator
    return None


def split_at_rare(text: str, separator: str) -> list[str]:
    """Split the text of a cell at a blank, ``/`` or ``+``, without the blanks around the pieces."""
    return [piece.strip() for piece in text.split(None if separator == " " else separator)]


# The end of the name of a file.
_FILE_ENDING = compile_on_use(r"\.[a-z][a-z0-9]{1,4}\Z", re.IGNORECASE)


def _are_of_one_kind(ids: Sequence[str]) -> bool:
    """Tell whether texts between commas are ids: single words that all have the ending of a file, or that all have none."""
    are_words = all(len(id_.split()) == 1 for id_ in ids)
    return are_words and len({bool(_FILE_ENDING.search(id_)) for id_ in ids}) == 1


def are_texts(value: Any) -> bool:
    """Tell whether a value is a list of texts, as SQuAD has its answers."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)


def convert_number(value: Any, name: str) -> Any:
    """Convert a number to the kind of its field: to a text for a text, to an integer for an id.

    A truth value becomes a text, too. A table writes whole numbers with a point if their column has a gap.
    """
    if name in _TEXT_LIST_FIELDS and isinstance(value, (list, tuple)):
        return [convert_number(item, "reference") for item in value]
    if name in TEXTS_OF and isinstance(value, (list, tuple)) and float in map(type, value):
        return [convert_number(item, "id") for item in value]
    if name == "id":
        return whole_number(value)
    if name not in TEXTS:
        return value
    if isinstance(value, bool):
        return json.dumps(value)
    return str(value) if isinstance(value, Real) and not is_missing(value) else value


def is_id_number(value: Any) -> bool:
    """Tell whether a value is a whole number: a single id in the place of a list of ids."""
    return type(whole_number(value)) is int


def find_fault(value: Any, name: str) -> str:
    """Say why a field cannot hold a value. The result is empty if it can.

    A field holds a text, or a list of texts, documents or ids.
    """
    kind = type(value).__name__
    if name in TEXTS:
        return "" if isinstance(value, str) else f"is a {kind}, and no text"
    if not isinstance(value, (list, tuple)):
        return f"is a {kind}, and no list"
    types = set(map(type, value))
    if types <= {str} or (types == {dict} and name not in TEXTS_OF and have_texts(value)):
        return ""  # the usual case
    for number, item in enumerate(value, 1):
        if not _is_usable(item, name):
            return f"has an item {number} that is a {type(item).__name__} without a text or an id"
    return ""


def are_sources(value: Any) -> bool:
    """Tell whether something is a list of objects without a text: the sources of an answer, and no answers."""
    items = value if isinstance(value, list) else ()
    return bool(items) and all(hasattr(item, "items") and text_of(item) is None for item in items)


def _is_usable(item: Any, name: str) -> bool:
    """Tell whether an item of a list can be a text, a document or an id of its field."""
    if name not in TEXTS_OF:
        return isinstance(text_of(item), str) or bool(find_media(item))
    if is_missing(item):  # an empty item keeps its place
        return True
    is_id = isinstance(whole_number(item), (str, int)) and not isinstance(item, bool)
    if is_id or ids_of([item]) is not None:
        return True
    return name == GRADED_FIELD and is_graded_pair(item)


def _has_words(text: str) -> bool:
    """Tell whether a text has three words, or six characters of a script without spaces."""
    return len(text.split()) > 2 or (not text.isascii() and len(text) > 5)  # noqa: PLR2004 - the two numbers of the docstring, less one


def check_pieces(pieces: list[str], separator: str, name: str) -> None:
    """Refuse to split a text at a separator that seems to be a part of it."""
    for number, piece in enumerate(pieces, 1):
        # A piece is taken for a text where it has words, and no space at its ends.
        if not _has_words(piece) or piece != piece.strip(" \t"):
            raise SampleError(
                f"is one text with '{separator}' in it. Split there, it has {len(pieces)} pieces, and piece {number} "
                f"({piece[:40]!r}) is no text by itself: '{separator}' seems to be a part of the texts.",
                'Export JSON, which keeps lists: for DeepEval dataset.save_as("json", ..).',
            ).inside(field=name)


def restore_text(item: Any, name: str, number: int) -> Any:
    """Return the text of a LangChain document that was printed as a string. Any other item stays as it is.

    Args:
        item: An item of a list of documents.
        name: The field, for the error.
        number: The item's place in the list, from 1, for the error.

    Raises:
        SampleError: The item is a node that LlamaIndex printed, which cuts long texts.
    """
    if not isinstance(item, str):
        return item
    if _PRINTED_NODE.match(item):
        error = SampleError(
            "is a node that was printed, and may be cut off.", "Write node.to_dict() of each."
        )
        raise error.inside(item=number).inside(field=name)
    printed = _PRINTED_DOCUMENT.fullmatch(item)
    return printed[1] if printed else item
