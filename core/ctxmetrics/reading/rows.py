"""Rows of files and tables: which columns hold which fields, and what becomes of the others.

How the rows of a source are read is a `Reading`; `ctxmetrics.reading.recognition` decides it. What no schema knows is
carried along as metadata. A name that is close to a field that no row has is an error: it is more likely misspelt.
"""

from __future__ import annotations

import logging
import re
import shlex
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ctxmetrics.errors import AmbiguousFieldError, ParameterError, SampleError, UnknownFieldError
from ctxmetrics.reading.cells import is_list_text, list_in, object_in, read_cells
from ctxmetrics.reading.documents import (
    as_list,
    ids_of,
    is_missing,
    labels_are_spans,
    look_up,
    own_id,
    relevant,
    text_of,
    to_list,
)
from ctxmetrics.reading.formats import KNOWN, find_ties, unnested
from ctxmetrics.reading.names import (
    check_keys,
    find_misspelt,
    is_ambiguous,
    map_options,
    written_elsewhere,
)
from ctxmetrics.reading.plans import MOST_PLANS, WRITTEN, Plan, build_plan, describe_row
from ctxmetrics.reading.schema import (
    FIELDS,
    LISTS,
    OPTIONS,
    TEXTS,
    TEXTS_OF,
    Schema,
    first_value,
    heads_of,
)
from ctxmetrics.reading.shapes import split_at
from ctxmetrics.reading.unanswerable import LABEL, has_mark, is_column
from ctxmetrics.reading.values import check_pieces, find_fault, is_text, number_as_meant, unprinted

# Lists of passages or of their ids.
_PASSAGES = frozenset({*TEXTS_OF, *TEXTS_OF.values()})
# The beginning of the name of a column that holds a stage; the name of the stage follows.
_STAGE = "retrieved_contexts."


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
        usable: Fields of which some of the first rows has a usable value: an unusable one is that row's fault alone.
        joined: The separator of the passages, where the first rows have several in one text.
        split: What separates the passages of a retrieved text; see `ctxmetrics.reading.shapes.split_at`.
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
    usable: frozenset[str] = frozenset()
    split: str | None = None
    _plans: dict[Any, Plan] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.name not in KNOWN:
            raise ParameterError(
                f"schema={self.name!r} is unknown. Choose from: auto, {', '.join(KNOWN)}."
            )

    @property
    def schema(self) -> Schema:
        """The schema."""
        return KNOWN[self.name]

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
        values_as_read = self._open_lists(mapping)
        is_plain = not (self.split or self.schema.single_string)
        kinds = describe_row(values_as_read, written=self.written) if is_plain else None
        plan = self._plans.get(kinds)
        if plan is not None:
            with suppress(SampleError):  # raised again where the row is read with care
                values, others = self._follow(plan, values_as_read)
                if plan.has_documents:
                    self._drop_unusable(values, values.get("id"), where)
                return values, others
        raw, opened = self.opened(mapping)
        spots = self.every_spot(opened)
        id_ = first_value(spots["id"])
        try:
            values, others = self._read(raw, opened, spots)
        except SampleError as error:
            if id_ is None:
                error.place = where or "Sample"
            else:
                error.sample = str(id_)[:80]
            raise
        self._drop_unusable(values, id_, where)
        if kinds is not None:
            nested = heads_of(column for column in self.columns if not column.isidentifier())
            plan = build_plan(values_as_read, raw, spots, others, self.schema.holders | nested)
            if plan is not None and self._follow(plan, values_as_read) == (values, others):
                if len(self._plans) >= MOST_PLANS:
                    self._plans.clear()
                self._plans[kinds] = plan
        return values, others

    def _follow(self, plan: Plan, row: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """Read a row by its plan; see `row`."""
        values = {name: row[key] for name, key in plan.fields}
        carried = {str(key): row[key] for key in plan.carried}
        if plan.has_documents:
            carried |= self._read_lists(values)
        if carried:
            values["metadata"] = {**values.get("metadata", {}), **carried}
        return values, [*plan.others]

    def _open_lists(self, mapping: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a row with what stands as a list or an object in a text."""
        if not self.written:
            return mapping
        row: dict[str, Any] = {**mapping}
        for key, value in mapping.items():
            if type(value) is str and WRITTEN.match(value):
                with suppress(SampleError):  # raised again where the row is read with care
                    row[key] = object_in(value)
        return row

    def _read(
        self,
        raw: Mapping[str, Any],
        opened: Mapping[str, Any],
        spots: Mapping[str, list[tuple[str, Any]]],
    ) -> tuple[dict[str, Any], list[str]]:
        """Read an opened row; see `row`."""
        if self.refusal:
            raise SampleError(self.refusal)
        self._check_names(raw, opened, spots)
        if self.absent is None and not any(spots[name] for name in OPTIONS):
            self._check_system(raw)
        if self.unsure:
            options = " or ".join(map_options(self.unsure[0]))
            raise AmbiguousFieldError(
                f"it is not known what is meant: {options} (in Python columns=). ctxmetrics inspect FILE shows all "
                "columns."
            )
        values = self._values(raw, spots)
        ties = self._read_lists(values)
        if isinstance(values.get("reference"), list):
            values["reference"] = self._only_answer(values["reference"])
        carried = rest_of(opened, paths_in(spots))
        if self.written:
            for key in ("labels", "metadata"):
                if key in values and not hasattr(values[key], "items"):
                    carried[key] = values.pop(key)
        others = self.others_in(carried)
        carried |= ties
        labels = values.get("labels") or {}
        if has_mark(carried) and hasattr(labels, "items"):
            values["labels"] = {LABEL: True, **labels}
        metadata = values.get("metadata") or {}
        if carried and hasattr(metadata, "items"):  # a `Sample` refuses any other
            values["metadata"] = {**metadata, **carried}
        return values, others

    def _only_answer(self, answers: list[Any]) -> Any:
        if len(answers) == 1:
            return answers[0]
        if "reference" in self.usable:
            return answers
        raise SampleError(
            f"holds {len(answers)} answers.",
            "Give one, or several acceptable ones as 'references', such as with --map COLUMN=references. Parts that "
            "are all needed are facts: --map COLUMN=reference_facts.",
        ).inside(field="reference")

    def column_of(self, name: str, columns: Collection[str]) -> str | None:
        """Return the column in which a field stands; None where none has it, several have, or one is nested."""
        if self.unsure or self.refusal or self.split or self.joined:
            return None
        mapped = self._mapped_to(name)
        if len(mapped) > 1:
            return None
        if mapped:
            return mapped[0] if mapped[0] in columns else None
        columns_by_key = {
            self.renamed.get(column, column): column for column in columns if column not in self.columns
        }
        keys = self.schema.flat_keys[name]
        heads = heads_of(key for key in keys if "." in key)
        if name in self.schema.places:
            heads.add(self.schema.places[name].side)
        if not heads.isdisjoint(columns_by_key):
            return None
        matches = [columns_by_key[key] for key in keys if key in columns_by_key]
        return matches[0] if len(matches) == 1 else None

    def _mapped_to(self, name: str) -> list[str]:
        """Return the columns that the caller maps to a field."""
        return [column for column, field_name in self.columns.items() if field_name == name]

    def others_in(self, rest: Mapping[str, Any]) -> list[str]:
        """Return the names that no schema knows in what is no field, in the row's order; a nested one as its path."""
        names: list[str] = []
        for key, value in rest.items():
            if key in self.schema.heads and hasattr(value, "items"):
                names.extend(f"{key}.{inner}" for inner in value)
            else:
                names.append(key)
        known = self.schema.carried.union(self.columns)
        return [name for name in names if name not in known and not is_column(name)]

    def original(self, path: str) -> str:
        """Return a path as the row has it, from one under the schema's keys."""
        for column, key in self.renamed.items():
            if key == path:
                return column
        return path

    def opened(self, mapping: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the row under the schema's keys, arrays as lists, and the same with what stands as JSON in a text.

        Columns ``retrieved_contexts.NAME`` become the stages, in their order.

        Raises:
            SampleError: There are stages beside such columns.
        """
        raw: dict[str, Any] = {}
        for key, value in mapping.items():
            items = value.tolist() if hasattr(value, "tolist") else value
            raw[self.renamed.get(key, str(key))] = items
        stage_keys = [key for key in raw if key.startswith(_STAGE) and key not in self.columns]
        if stage_keys:
            if raw.get("stages") is not None:
                raise SampleError(
                    f"both 'stages' and {stage_keys[0][:80]!r} are given.",
                    "Keep one of them, such as with --map stages=metadata.",
                )
            raw["stages"] = {key.removeprefix(_STAGE): raw.pop(key) for key in stage_keys}
        if not self.written:
            return raw, raw
        return raw, read_cells(raw)

    def every_spot(self, row: Mapping[str, Any]) -> dict[str, list[tuple[str, Any]]]:
        """Return where each field stands and what stands there; see `spots`."""
        return {name: self.spots(row, name) for name in FIELDS}

    def spots(self, row: Mapping[str, Any], name: str) -> list[tuple[str, Any]]:
        """Return where a field stands and what stands there.

        An object is no text where there is another; a list on a field's side is what was retrieved, and no text. Several
        columns of one text each that the caller maps to a list are that list, in the order they are mapped in.
        """
        mapped = self._mapped_to(name)
        if mapped and name != "metadata":
            return _mapped_spots(row, name, mapped)
        taken = tuple(f"{column}." for column in self.columns)
        spots: list[tuple[str, Any]] = []
        for path, value in self.schema.spots(row, {}, name):
            holds_column = any(column.startswith(f"{path}.") for column in self.columns)
            if not f"{path}.".startswith(taken) and not (holds_column and hasattr(value, "items")):
                spots.append((path, value))
        if name in TEXTS:
            return self._text_spots(spots, name)
        # An object that is no document, such as the ``context`` of a trace's span, is no list.
        return [
            (path, value)
            for path, value in spots
            if name in {path, "stages"} or not hasattr(value, "items") or text_of(value) is not None
        ]

    def _text_spots(self, spots: list[tuple[str, Any]], name: str) -> list[tuple[str, Any]]:
        """Return those spots of a text that may hold it."""
        texts: list[tuple[str, Any]] = []
        for path, value in spots:
            may_be_list = name == "reference" and path not in self.schema.sides
            is_list = isinstance(value, (list, tuple))
            if not hasattr(value, "items") and (may_be_list or not is_list):
                texts.append((path, value))
        return texts or [spot for spot in spots if spot[0] not in self.schema.sides]

    def _values(
        self, raw: Mapping[str, Any], spots: Mapping[str, list[tuple[str, Any]]]
    ) -> dict[str, Any]:
        """Return every field of a row; where a field is given twice, both must be equal."""
        values: dict[str, Any] = {}
        for name, places in spots.items():
            for path, item in places:
                value = raw[path] if is_text(raw.get(path), item, name) else as_list(item)
                if self.absent is not None:  # one of several rows
                    if is_missing(value):
                        continue
                    value = number_as_meant(value, name)
                first = values.setdefault(name, value)
                if first is not value and first != value:  # a gap in a table is not equal to itself
                    raise SampleError(
                        f"both '{places[0][0]}' and '{path}' are given for '{name}'.",
                        f"Keep one of them, such as with --map {shlex.quote(path)}=metadata; ctxmetrics inspect FILE "
                        "shows both.",
                    )
        return values

    def _drop_unusable(self, values: dict[str, Any], id_: Any, where: str | None) -> None:
        """Move to the metadata what is unusable where other rows have a usable value, and log it: it costs this sample only."""
        for name in [name for name in values if name in self.usable]:
            fault = find_fault(values[name], name)
            if fault:
                values["metadata"] = {name: values.pop(name), **(values.get("metadata") or {})}
                logging.getLogger("ctxmetrics").warning(
                    "%s: field '%s' %s, unlike in other rows: the sample has no %s",
                    (where or "Sample") if id_ is None else f"Sample {str(id_)[:80]!r}",
                    name,
                    fault,
                    name,
                )

    def _read_lists(self, values: dict[str, Any]) -> dict[str, Any]:
        """Turn single texts and texts of lists into lists, and take the ids of documents that have them.

        Returns:
            The ids of what was retrieved with equal scores, as metadata.
        """
        hits = values.get("retrieved_context_ids") or values.get("retrieved_contexts")
        ties = find_ties(unnested(hits), self.schema.id_keys)
        for name in [name for name in values if name in LISTS]:
            if self.written and isinstance(values[name], str):
                values[name] = self._list(values[name], name)
            if name in _PASSAGES:
                values[name] = self._plain_items(values[name], name)
        if hasattr(values.get("stages"), "items"):
            values["stages"] = self._stages(values["stages"])
        spans = labels_are_spans(
            values.get("reference_context_ids"), values.get("reference_contexts"), self.schema.id_keys
        )
        for ids, texts in TEXTS_OF.items():
            if texts not in values:
                continue
            values[texts] = self._documents(values[texts], texts)
            if ids not in values:
                documents = relevant(ids, to_list(values[texts]))
                own_ids = ids_of(documents, self.schema.id_keys, spans=spans)
                if own_ids:
                    values[ids] = own_ids
        return ties

    def _plain_items(self, value: Any, name: str) -> Any:
        """Return a list without lists in it, and ids without the objects that hold them.

        Raises:
            SampleError: An inner list has several ids or texts of what was expected: one of them is enough, as AutoRAG
                counts, and each would count here.
        """
        items = unnested(value)
        if name.startswith("reference") and items is not value and len(items) > len(value):
            raise SampleError(
                f"has an inner list of {len(items)} alternatives, of which one is enough; here each counts.",
                f"If all are needed, write --map {shlex.quote(f'{self.mapping.get(name, name)}[][]={name}')}.",
            ).inside(field=name)
        if (
            name in TEXTS_OF
            and isinstance(items, list)
            and all(hasattr(item, "items") for item in items)
        ):
            keys = self.schema.id_keys
            spans = all(own_id(item, keys) is None for item in items)
            return ids_of(relevant(name, items), keys, spans=spans) or items
        return items

    def _stages(self, stages: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the stages with something in them."""
        lists: dict[str, Any] = {}
        for name, cell in stages.items():
            items = as_list(cell)
            if isinstance(items, str) and items:
                lists[name] = self._list(items, "retrieved_contexts")
            elif items not in (None, ""):
                lists[name] = items
        return lists or None

    def _documents(self, documents: Any, name: str) -> Any:
        """Return the documents of a row as a list, texts that were printed or joined as they were."""
        if self.schema.single_string:
            if is_list_text(documents) and documents.lstrip()[:2] in ('["', "[{"):
                problem, fix = "is a list that is written as a text.", "Read it with json.loads first."
                raise SampleError(problem, fix).inside(field=name)
            documents = to_list(documents)
        if isinstance(documents, (list, tuple)):
            documents = [unprinted(item, name, number) for number, item in enumerate(documents, 1)]
        if not self.split or name != "retrieved_contexts" or not isinstance(documents, list):
            return documents
        pieces: list[str] = []
        for document in documents:
            text = text_of(document)
            if text is not None:
                pieces += split_at(text, self.split)
        return pieces

    def _list(self, text: str, name: str) -> Any:
        """Return the list that a text stands for; a text that is no list stays one, and is refused.

        Texts that a separator joined are split, except where the separator seems to be a part of the
        texts.
        """
        items = list_in(text)
        if items is not None:
            return items
        is_list, separator = is_list_text(text), self.schema.separator
        if not is_list and separator and separator in text:
            pieces = text.split(separator)
            if name in TEXTS_OF.values():
                check_pieces(pieces, separator, name)
            return pieces
        if is_list or (name in TEXTS_OF and re.search(r"[,;|\s]", text.strip())):
            problem = 'must be a JSON list in its cell, such as ["first", "second"].'
            raise SampleError(problem, wrong_kind=True).inside(field=name)
        return [text] if name in self.single else text

    def _check_names(
        self,
        row: Mapping[str, Any],
        opened: Mapping[str, Any],
        spots: Mapping[str, list[tuple[str, Any]]],
    ) -> None:
        """Refuse names that are close to a field that is absent, and ``context`` where it is not known what it means."""
        known = self.schema.known_keys | heads_of(self.columns)
        absent = self.absent
        if absent is None:
            absent = frozenset(name for name in FIELDS if not spots[name])
        for key in row:
            if key in known or key.partition(".")[0] in self.schema.heads:
                continue
            if key == "page_content" or (key == "context" and is_ambiguous(opened[key], absent)):
                check_keys([key], (), self.original)
            match = find_misspelt(str(key), self.schema, absent)
            if match:
                field_name, close_key = match
                if field_name in {"response", "reference"} and isinstance(opened[key], list):
                    field_name = "references"  # a list is no text
                alike = [
                    str(other)[:80]
                    for other in row
                    if find_misspelt(str(other), self.schema, absent) == match
                ]
                raise self._misspelt_error(str(key)[:80], close_key, field_name, alike)

    def _check_system(self, row: Mapping[str, Any]) -> None:
        """Refuse a row of which another system's names are all that could be a field."""
        elsewhere = written_elsewhere(row, self.schema.known_keys)
        if elsewhere:
            names = ", ".join(f"'{key[:80]}' is '{name}'" for key, name in elsewhere.items())
            raise UnknownFieldError(
                f"no key is a field of the schema '{self.name}', and some are another system's: {names}.",
                "Write schema='auto', the name of the system, or our names.",
            )

    def _misspelt_error(
        self, key: str, close_key: str, field_name: str, alike: list[str]
    ) -> UnknownFieldError:
        options = " ".join(map_options(f"{other}={field_name}" for other in alike))
        return UnknownFieldError(
            f"unknown field '{key}' (schema '{self.name}').",
            f"Did you mean '{close_key}'? Rename it; on the command line write {options}, or --map "
            f"{shlex.quote(f'{key}=metadata')} to carry it along.",
        )


def _mapped_spots(row: Mapping[str, Any], name: str, columns: list[str]) -> list[tuple[str, Any]]:
    """Return where a field stands that the caller maps columns to."""
    spots: list[tuple[str, Any]] = []
    texts: list[str] = []
    for column in columns:
        value = look_up(row, column)
        if value is not None:
            spots.append((column, value))
            if isinstance(value, str) and not is_list_text(value):
                texts.append(value)
    if name in LISTS and len(columns) > 1 and len(texts) == len(spots):
        return [(column, texts) for column, _ in spots]
    return spots


def paths_in(spots: Mapping[str, list[tuple[str, Any]]]) -> set[str]:
    """Return the paths of the places at which fields stand."""
    paths: set[str] = set()
    for places in spots.values():
        paths.update(path for path, _ in places)
    return paths


def rest_of(row: Mapping[str, Any], read: Collection[str]) -> dict[str, Any]:
    """Return the rest of a row without the paths that were read."""
    rest: dict[str, Any] = {}
    for key, value in row.items():
        if key in read or any(path.startswith(f"{key}[") for path in read):
            continue
        inner = {path[len(key) + 1 :] for path in read if path.startswith(f"{key}.")}
        if not inner:
            if value is not None:
                rest[key] = value
        elif hasattr(value, "items"):
            inner_rest = rest_of(value, inner)
            if inner_rest:
                rest[key] = inner_rest
    return rest
