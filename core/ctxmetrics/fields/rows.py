"""Rows of files and tables: which columns hold which fields, and what becomes of the others.

How the rows of a source are read is a `Reading`; `ctxmetrics.fields.recognition` decides it. What no schema knows is
carried along as metadata. A name that is close to a field that no row has is an error: it is more likely misspelt.
"""

from __future__ import annotations

import json
import logging
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from ctxmetrics.errors import AmbiguousFieldError, ParameterError, SampleError, UnknownFieldError
from ctxmetrics.fields.cells import is_list_text, list_in, object_in
from ctxmetrics.fields.documents import (
    as_list,
    ids_of,
    is_missing,
    labels_are_spans,
    listed,
    look_up,
    relevant,
    text_of,
)
from ctxmetrics.fields.schema import FIELDS, LISTS, OPTIONS, TEXTS, TEXTS_OF, Schema, nearest
from ctxmetrics.fields.shapes import split_at
from ctxmetrics.fields.systems import SCHEMAS

# How LangChain prints a document.
_PRINTED_DOCUMENT = re.compile(r"page_content='(.*)'(?: metadata=\{.*\})?", re.DOTALL)
# How LlamaIndex prints a node: it leaves out the text after a number of characters.
_PRINTED_NODE = re.compile(r"Node ID: \S+\nText: ")
# The beginning of the name of a column that holds a stage; the name of the stage follows.
_STAGE = "retrieved_contexts."
# The length of a name, and in how many letters a name of at least this length may differ from a field's
# and still count as close.
_CLOSE = ((8, 2), (5, 1))


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How the rows of one source are read.

    Attributes:
        name: The name of the schema.
        columns: Which column or path holds which field, where that is not what the schema says. ``metadata`` takes any
            number of columns.
        renamed: Keys that are written otherwise than the schema writes them.
        absent: Fields that no row has; None: those that the row itself lacks.
        single: Fields of which every row has one text in place of a list.
        mapping: Where each field stands in the first rows: its column, or the path in it.
        unread: Columns and paths with lists of texts or documents that are no field.
        written: Whether lists and objects may stand as text, as files have them.
        others: Names in the first rows that no schema knows; a nested one as its path.
        unsure: The fields that two columns may hold: for each the possible ``COLUMN=FIELD``. Then no
            row is read.
        refusal: Why the rows are no samples; then no row is read either.
        texts: Fields of which some of the first rows has a text: another value is that row's fault alone.
        joined: The separator of the passages, where the first rows have several in one text.
        split: What separates the passages of a retrieved text; see `ctxmetrics.fields.shapes.split_at`.
    """

    name: str
    columns: Mapping[str, str] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    absent: frozenset[str] | None = None
    single: frozenset[str] = frozenset()
    mapping: Mapping[str, str] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    written: bool = False
    others: tuple[str, ...] = ()
    unsure: tuple[tuple[str, ...], ...] = ()
    refusal: str | None = None
    joined: str | None = None
    texts: frozenset[str] = frozenset()
    split: str | None = None

    def __post_init__(self) -> None:
        if self.name not in SCHEMAS:
            raise ParameterError(
                f"schema={self.name!r} is unknown. Choose from: auto, {', '.join(SCHEMAS)}."
            )

    @property
    def schema(self) -> Schema:
        """The schema."""
        return SCHEMAS[self.name]

    def row(
        self, mapping: Mapping[str, Any], where: str | None = None
    ) -> tuple[dict[str, Any], list[str]]:
        """Read a row: every field that is there; the rest is metadata.

        Args:
            mapping: The row.
            where: What error messages call the sample while it has no id, such as ``"line 7"``.

        Returns:
            The arguments of a `Sample`, and the names that no schema knows.

        Raises:
            UnknownFieldError: A key is close to a field that no row has; the message names it.
            AmbiguousFieldError: A key means different things in different systems.
            SampleError: Two keys name the same field and differ, or a value cannot be what its field needs.
        """
        if not hasattr(mapping, "items"):
            raise SampleError(
                f"{where or 'Sample'} must be a mapping of fields, not {type(mapping).__name__}."
            )
        raw, opened = self.opened(mapping)
        spots = {name: self.spots(opened, name) for name in FIELDS}
        name = next((value for _, value in spots["id"]), None)
        who = (where or "Sample") if name is None else f"Sample {str(name)[:80]!r}"
        if self.refusal:
            raise SampleError(f"{who}: {self.refusal}")
        self._check_names(raw, opened, spots, who)
        if self.unsure:
            options = " or ".join(f"--map {shlex.quote(option)}" for option in self.unsure[0])
            raise AmbiguousFieldError(
                f"{who}: it is not known what is meant: {options} (in Python columns=). ctxmetrics inspect FILE shows all "
                "columns."
            )
        values = self._values(raw, spots, who)
        self._read_lists(values, who)
        if isinstance(reference := values.get("reference"), list):
            if len(reference) != 1 and "reference" not in self.texts:
                raise SampleError(
                    f"{who}: field 'reference' holds {len(reference)} answers. Give one, or several acceptable ones "
                    "as 'references', such as with --map COLUMN=references. Parts that are all needed are facts: --map "
                    "COLUMN=reference_facts."
                )
            values["reference"] = reference[0] if len(reference) == 1 else reference
        self._drop_others(values, who)
        carried = rest_of(opened, {path for places in spots.values() for path, _ in places})
        for key in ("labels", "metadata") if self.written else ():
            if key in values and not hasattr(values[key], "items"):
                carried[key] = values.pop(key)
        others = self.others_in(carried)
        metadata = values.get("metadata") or {}
        if carried and hasattr(metadata, "items"):  # a `Sample` refuses any other
            values["metadata"] = {**metadata, **carried}
        return values, others

    def column_of(self, name: str, columns: Collection[str]) -> str | None:
        """Return the column in which a field stands; None where none has it, several have, or one is nested."""
        given = [column for column, meant in self.columns.items() if meant == name]
        there = {
            self.renamed.get(column, column): column for column in columns if column not in self.columns
        }
        place, keys = self.schema.places.get(name), self.schema.flat_keys[name]
        nested = {place.side if place else "", *(key.partition(".")[0] for key in keys if "." in key)}
        found = given or [there[key] for key in keys if key in there]
        readable = not (self.unsure or self.refusal or self.split or self.joined)
        plain = found[0] in columns if given else nested.isdisjoint(there)
        return found[0] if len(found) == 1 and plain and readable else None

    def others_in(self, rest: Mapping[str, Any]) -> list[str]:
        """Return the names that no schema knows in what is no field, in the row's order; a nested one as its path."""
        nested = {key for key in rest if key in self.schema.heads and hasattr(rest[key], "items")}
        return [
            name
            for key in rest
            for name in ([f"{key}.{inner}" for inner in rest[key]] if key in nested else [key])
            if name not in self.schema.carried.union(self.columns)
        ]

    def shown(self, path: str) -> str:
        """Return a path as the row has it, from one under the schema's keys."""
        return {new: old for old, new in self.renamed.items()}.get(path, path)

    def opened(self, mapping: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the row under the schema's keys, arrays as lists, and the same with what stands as JSON in a text.

        Columns ``retrieved_contexts.NAME`` become the stages, in their order.

        Raises:
            SampleError: There are stages beside such columns.
        """
        raw: dict[str, Any] = {
            self.renamed.get(key, str(key)): value.tolist() if hasattr(value, "tolist") else value
            for key, value in mapping.items()
        }
        if staged := [key for key in raw if key.startswith(_STAGE) and key not in self.columns]:
            if raw.get("stages") is not None:
                raise SampleError(
                    f"both 'stages' and {staged[0][:80]!r} are given. Keep one of them, such as with --map stages=metadata."
                )
            raw["stages"] = {key.removeprefix(_STAGE): raw.pop(key) for key in staged}
        return raw, {key: object_in(value) for key, value in raw.items()} if self.written else raw

    def spots(self, row: Mapping[str, Any], name: str) -> list[tuple[str, Any]]:
        """Return where a field stands and what stands there.

        An object is no text where there is another; a list on a field's side is what was retrieved, and no text. Several
        columns of one text each that the caller maps to a list are that list, in the order they are mapped in.
        """
        given = [column for column, meant in self.columns.items() if meant == name != "metadata"]
        if given:
            found = {column: value for column in given if (value := look_up(row, column)) is not None}
            items = [
                value for value in found.values() if isinstance(value, str) and not is_list_text(value)
            ]
            joined = name in LISTS and len(given) > 1 and len(items) == len(found)
            return [(column, items if joined else value) for column, value in found.items()]
        taken = tuple(f"{column}." for column in self.columns)
        spots = [
            spot
            for spot in self.schema.spots(row, {}, name)
            if not f"{spot[0]}.".startswith(taken or "\0")
        ]
        if name not in TEXTS:
            return [  # an object that is no document, such as the ``context`` of a trace's span, is no list
                (path, value)
                for path, value in spots
                if name in {path, "stages"} or not hasattr(value, "items") or text_of(value) is not None
            ]
        texts = [
            (path, value)
            for path, value in spots
            if not hasattr(value, "items")
            and not (
                isinstance(value, (list, tuple)) and (name != "reference" or path in self.schema.sides)
            )
        ]
        return texts or [spot for spot in spots if spot[0] not in self.schema.sides]

    def _values(
        self, raw: Mapping[str, Any], spots: Mapping[str, list[tuple[str, Any]]], who: str
    ) -> dict[str, Any]:
        """Return every field of a row; where a field is given twice, both must be equal."""
        values: dict[str, Any] = {}
        for name, places in spots.items():
            for path, found in places:
                written = (
                    name in TEXTS
                    and isinstance(raw.get(path), str)
                    and not (  # a list of references is no text
                        name == "reference"
                        and isinstance(found, list)
                        and all(isinstance(item, str) for item in found)
                    )
                )
                value = raw[path] if written else as_list(found)
                if self.absent is not None and is_missing(value):  # one of several rows
                    continue
                if (
                    self.absent is not None
                    and name in TEXTS - {"id"}
                    and isinstance(value, (bool, Real))
                ):
                    value = json.dumps(value) if isinstance(value, bool) else str(value)
                first = values.setdefault(name, value)
                if first is not value and first != value:  # a gap in a table is not equal to itself
                    raise SampleError(
                        f"{who}: both '{places[0][0]}' and '{path}' are given for '{name}'. Keep one of them, "
                        f"such as with --map {shlex.quote(path)}=metadata; ctxmetrics inspect FILE shows both."
                    )
        return values

    def _drop_others(self, values: dict[str, Any], who: str) -> None:
        """Leave out what is no text where other rows have one, and log it: it costs this sample only."""
        for name in self.texts & values.keys():
            if not isinstance(values[name], str):
                kind = type(values.pop(name)).__name__
                logging.getLogger("ctxmetrics").warning(
                    "%s: field '%s' is a %s, and no text as in other rows: the sample has no %s",
                    who,
                    name,
                    kind,
                    name,
                )

    def _read_lists(self, values: dict[str, Any], who: str) -> None:
        """Turn single texts and texts of lists into lists, and take the ids of documents that have them."""
        for name in LISTS & values.keys():
            if self.written and isinstance(values[name], str):
                values[name] = self._list(values[name], name, who)
        stages: Any = values.get("stages")
        if hasattr(stages, "items"):
            stages = {name: as_list(each) for name, each in stages.items()}
            values["stages"] = {
                name: self._list(each, "retrieved_contexts", who) if isinstance(each, str) else each
                for name, each in stages.items()
                if each not in (None, "")
            } or None
        spans = labels_are_spans(
            values.get("reference_context_ids"), values.get("reference_contexts"), self.schema.id_keys
        )
        for ids, texts in TEXTS_OF.items():
            if self.schema.single_string and texts in values:
                if is_list_text(values[texts]) and values[texts].lstrip()[:2] in ('["', "[{"):
                    raise SampleError(
                        f"{who}: field '{texts}' is a list that is written as a text. Read it with json.loads first."
                    )
                values[texts] = listed(values[texts])
            if isinstance(values.get(texts), (list, tuple)):
                values[texts] = [
                    _unprinted(item, f"{who}: field '{texts}', item {number}")
                    for number, item in enumerate(values[texts], 1)
                ]
            contexts = values.get(texts)
            if self.split and ids == "retrieved_context_ids" and isinstance(contexts, list):
                documents = [text_of(item) for item in contexts]
                values[texts] = [
                    piece
                    for text in documents
                    if text is not None
                    for piece in split_at(text, self.split)
                ]
            if ids not in values and (
                found := ids_of(
                    relevant(ids, listed(values.get(texts))), self.schema.id_keys, spans=spans
                )
            ):
                values[ids] = found

    def _list(self, text: str, name: str, who: str) -> Any:
        """Return the list that a text stands for; a text that is no list stays one, and is refused.

        Texts that a separator joined are split, except where the separator seems to be a part of the
        texts.
        """
        if (found := list_in(text)) is not None:
            return found
        is_list, separator = is_list_text(text), self.schema.separator
        if not is_list and separator and separator in text:
            pieces = text.split(separator)
            for number, piece in enumerate(pieces, 1):
                # A piece is taken for a text where it has three words or a script without spaces, and
                # no space at its ends.
                words = len(piece.split()) > 2 or (not piece.isascii() and len(piece) > 5)  # noqa: PLR2004 - see above
                if name in TEXTS_OF.values() and not (words and piece == piece.strip(" \t")):
                    raise SampleError(
                        f"{who}: field '{name}' is one text with '{separator}' in it. Split there, it has {len(pieces)} "
                        f"pieces, and piece {number} ({piece[:40]!r}) is no text by itself: '{separator}' seems to be a "
                        'part of the texts. Export JSON, which keeps lists: for DeepEval dataset.save_as("json", ..).'
                    )
            return pieces
        if is_list or (name in TEXTS_OF and re.search(r"[,;|\s]", text.strip())):
            raise SampleError(
                f'{who}: field \'{name}\' must be a JSON list in its cell, such as ["first", "second"].'
            )
        return [text] if name in self.single else text

    def _check_names(
        self,
        row: Mapping[str, Any],
        opened: Mapping[str, Any],
        spots: Mapping[str, list[tuple[str, Any]]],
        who: str,
    ) -> None:
        """Refuse names that are close to a field that is absent, and ``context`` where it is not known what it means."""
        known, heads = self.schema.known_keys, self.schema.heads
        mapped = {column.partition(".")[0] for column in self.columns}
        absent = (
            frozenset(name for name in FIELDS if not spots[name])
            if self.absent is None
            else self.absent
        )
        for key in row:
            if key in known | mapped or key.partition(".")[0] in heads:
                continue
            if key == "page_content" or (key == "context" and is_ambiguous(opened[key], absent)):
                check_keys([key], (), who, self.shown)
            if meant := self.misspelt(str(key), absent):
                shown, (name, known_as) = str(key)[:80], meant
                if name in {"response", "reference"} and isinstance(opened[key], list):
                    name = "references"  # a list is no text
                alike = [other for other in row if self.misspelt(str(other), absent) == meant]
                options = (f"--map {shlex.quote(f'{str(other)[:80]}={name}')}" for other in alike)
                raise UnknownFieldError(
                    f"{who}: unknown field '{shown}' (schema '{self.name}'). Did you mean '{known_as}'? Rename it; on the "
                    f"command line write {' '.join(options)}, or --map {shlex.quote(f'{shown}=metadata')} to carry it "
                    "along."
                )

    def misspelt(self, key: str, absent: frozenset[str]) -> tuple[str, str] | None:
        """Return the absent field that a key is close to, and the name of it that is closest."""
        close = [
            (distance, name, meant)
            for meant in OPTIONS
            for name in self.schema.flat_keys[meant]
            if (distance := _distance(key, name)) is not None
            and letters_of(key) != f"{letters_of(name).removesuffix('s')}id"  # such as ``response_id``
        ]
        _, name, meant = min(close, default=(0, "", ""), key=lambda item: item[0])
        return (meant, name) if meant in absent else None


def check_keys(
    keys: Iterable[str], known: Collection[str], who: str, shown: Callable[[str], str] = str
) -> None:
    """Refuse keys that no field has, as `Sample` does.

    Args:
        keys: The keys.
        known: Those that may be there.
        who: What the message calls the sample.
        shown: How the row writes a key.

    Raises:
        AmbiguousFieldError: The key is ``context``.
        UnknownFieldError: Any other unknown key.
    """
    for key in (key for key in keys if key not in known):
        if key == "page_content":
            raise UnknownFieldError(
                f"{who}: 'page_content' makes this a document, not a sample. A sample holds its documents in the "
                "list 'retrieved_contexts', beside 'user_input' and 'reference'."
            )
        if key == "context":
            column = shown(key)
            named = (
                shlex.quote(f"{column}={name}") for name in (*sorted(TEXTS_OF.values()), "metadata")
            )
            raise AmbiguousFieldError(
                f"{who}: field '{column}' means the retrieved text in some systems and the ideal one in others. "
                "Name the system with schema= (for example 'aegis' or 'deepeval'), "
                "or write 'retrieved_contexts' or 'reference_contexts'; on the command line one of: --map "
                f"{', --map '.join(named)}"
            )
        raise UnknownFieldError(
            f"{who}: unknown field '{str(key)[:80]}' (schema 'ragas').{nearest(str(key), known)} "
            "Anything of your own belongs into 'metadata'."
        )


def is_ambiguous(context: Any, absent: Collection[str]) -> bool:
    """Whether what stands under ``context`` may be either of two fields; that of a trace's span is an object."""
    return not hasattr(context, "items") and any(name in absent for name in TEXTS_OF.values())


def _unprinted(item: Any, where: str) -> Any:
    """Return the text of a document that LangChain printed, and anything else as it is.

    Raises:
        SampleError: It is a node that LlamaIndex printed.
    """
    if isinstance(item, str) and _PRINTED_NODE.match(item):
        raise SampleError(
            f"{where} is a node that was printed, and may be cut off. Write node.to_dict() of each."
        )
    printed = _PRINTED_DOCUMENT.fullmatch(item) if isinstance(item, str) else None
    return printed[1] if printed else item


def letters_of(name: str) -> str:
    """Return a name without case and separators."""
    return re.sub(r"[\W_]", "", name.lower())


def _distance(key: str, name: str) -> int | None:
    """Return in how many letters a key differs from a field's name, case, separators and plural aside; None: in many."""
    from rapidfuzz.distance import Levenshtein

    mine, theirs = letters_of(key), letters_of(name)
    if mine.removesuffix("s") == theirs.removesuffix("s"):
        return 0
    most = next((most for length, most in _CLOSE if min(len(mine), len(theirs)) >= length), 0)
    distance = Levenshtein.distance(mine, theirs, score_cutoff=most)
    return distance if distance <= most else None


def rest_of(row: Mapping[str, Any], read: Collection[str]) -> dict[str, Any]:
    """Return the rest of a row without the paths that were read."""
    rest: dict[str, Any] = {}
    for key, value in row.items():
        inner = {path[len(key) + 1 :] for path in read if path.startswith(f"{key}.")}
        left = rest_of(value, inner) if inner and hasattr(value, "items") else None if inner else value
        if key not in read and left is not None and (not inner or left):
            rest[key] = left
    return rest
