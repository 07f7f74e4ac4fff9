"""Rows of files and tables: which columns hold which fields, and what becomes of the others.

How the rows of a source are read is a `Reading`; `ctxmetrics.evaluation.files.recognition` decides it. What no schema knows is
carried along as metadata. A name that is close to a field that no row has is an error: it is more likely misspelt.
"""

from __future__ import annotations

import json
import logging
import re
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from ctxmetrics._internal.near_names import suggest
from ctxmetrics.errors import AmbiguousFieldError, ParameterError, SampleError, UnknownFieldError
from ctxmetrics.evaluation.files.cell_values import (
    are_sources,
    check_pieces,
    find_fault,
    have_scores,
    is_grouped,
    is_id_number,
    is_text,
    number_as_meant,
    restore_text,
    split_ids,
    text_within,
    without_point,
)
from ctxmetrics.evaluation.files.formats import ALL_SCHEMAS, find_ties, group_ties, unwrap_inner_list
from ctxmetrics.evaluation.files.hit_order import (
    HitOrder,
    Order,
    arrange,
    choose_order,
    describe_orders,
    find_fields_beside,
    find_grades_beside,
    find_order,
    may_hold_grades,
    may_hold_order,
)
from ctxmetrics.evaluation.files.passage_lists import split_at
from ctxmetrics.formulas.checks import check_choice
from ctxmetrics.samples.cells import is_list_text, list_in, read_cells
from ctxmetrics.samples.documents import (
    as_list,
    grades_of,
    ids_of,
    is_missing,
    labels_are_spans,
    look_up,
    own_id,
    relevant,
    text_of,
    to_list,
    whole_number,
)
from ctxmetrics.samples.field_names import (
    check_keys,
    find_misspelt,
    is_ambiguous,
    map_options,
    written_elsewhere,
)
from ctxmetrics.samples.pictures import in_value
from ctxmetrics.samples.schema import (
    FIELDS,
    LISTS,
    OPTIONS,
    RETRIEVED,
    TEXTS,
    TEXTS_OF,
    Schema,
    first_keys,
    first_value,
)
from ctxmetrics.samples.unanswerable import LABEL, has_mark, is_answerability_name

# The fields that are lists of passages, or of their ids.
_PASSAGE_FIELDS = frozenset({*TEXTS_OF, *TEXTS_OF.values()})
# Where a field stands in a row, and the value there.
Location = tuple[str, Any]
# What a row has beside a list of hits, and the hits that the list was taken from.
ListContext = tuple[Mapping[str, Any], Any]
# The beginning of the name of a column that holds a stage; the name of the stage follows.
STAGE = "retrieved_contexts."


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How the rows of one source are read.

    Attributes:
        name: The name of the schema.
        columns: Which column or path holds which field, where that is not what the schema says. ``metadata`` takes any
            number of columns.
        renamed: The schema's key for each column whose name is written in another way.
        absent: Fields that none of several rows has. None: a single row is read, and only its own fields count.
        single: List fields for which every row has one text instead of a list.
        mapping: Where each field stands in the first rows: its column, or the path in it.
        unread: Columns and paths with lists of texts or documents that are no field.
        parses_texts: Whether a text may hold a list or an object, as in files.
        unknown_names: Names in the first rows that no schema knows; a nested one as its path.
        unsure: For each field that two columns may hold, the possible ``COLUMN=FIELD``. If there are any, no row is read.
        refusal: Why the rows are no samples; None if they are. With a refusal no row is read.
        usable: Fields for which at least one of the first rows has a usable value. Then an unusable value costs its own sample only.
        literal: Fields for which at least one cell is a text and no list. Then a cell that looks like a list is a text, too.
        joined: By list field, the separator of the passages, if the first rows have several passages in one text.
        split: What separates the passages of a retrieved text, and of the only expected one; see `ctxmetrics.evaluation.files.passage_lists.split_at`.
        order: What decides the order of what was retrieved; see `ctxmetrics.evaluation.files.hit_order`.
        comma_ids: Whether the first rows show that ``1,234`` is two ids, or one; None: neither.
        decimal_ids: Whether ids are whole numbers of which some end in ``.0``: this end is no part of them.
    """

    name: str
    columns: Mapping[str, str] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    absent: frozenset[str] | None = None
    single: frozenset[str] = frozenset()
    mapping: Mapping[str, str] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    parses_texts: bool = False
    unknown_names: tuple[str, ...] = ()
    unsure: tuple[tuple[str, ...], ...] = ()
    refusal: str | None = None
    literal: frozenset[str] = frozenset()
    joined: Mapping[str, str] = field(default_factory=dict)
    usable: frozenset[str] = frozenset()
    split: str | None = None
    order: Order | None = None
    comma_ids: bool | None = None
    decimal_ids: bool = False

    def __post_init__(self) -> None:
        if self.name not in ALL_SCHEMAS:
            raise ParameterError(
                f"schema={self.name!r} is unknown.{suggest(self.name, ALL_SCHEMAS)} Choose from: auto, {', '.join(ALL_SCHEMAS)}."
            )
        if self.order is not None:
            check_choice("order", self.order, get_args(Order))

    @property
    def schema(self) -> Schema:
        """The schema."""
        return ALL_SCHEMAS[self.name]

    def row(self, row: Mapping[str, Any], where: str | None = None) -> tuple[dict[str, Any], list[str]]:
        """Read the fields of a row; the rest of it becomes metadata.

        Args:
            row: The row.
            where: The name of the sample in error messages while it has no id, such as ``"line 7"``.

        Returns:
            The arguments of a `Sample`, and the names that no schema has.

        Raises:
            UnknownFieldError: A key is close to a field that no row has; the message names it.
            AmbiguousFieldError: A key means different things in different systems.
            SampleError: Two keys name the same field and differ, or a value cannot be what its field needs.
        """
        if not hasattr(row, "items"):
            raise SampleError(
                f"{where or 'Sample'} must be a mapping of fields, not {type(row).__name__}."
            )
        raw_row, parsed_row = self.parse_cells(row)
        locations = self.find_all_locations(parsed_row)
        id_ = first_value(locations["id"])
        try:
            values, unknown_names = self._read(raw_row, parsed_row, locations)
        except SampleError as error:
            if id_ is None:
                error.place = where or "Sample"
            else:
                error.sample = str(id_)[:80]
            raise
        self.drop_unusable(values, id_, where)
        return values, unknown_names

    def _read(
        self,
        raw_row: Mapping[str, Any],
        parsed_row: Mapping[str, Any],
        locations: Mapping[str, list[Location]],
    ) -> tuple[dict[str, Any], list[str]]:
        """Read a row whose cells were parsed; see `row`."""
        if self.refusal:
            raise SampleError(self.refusal)
        self._check_names(raw_row, parsed_row, locations)
        has_no_field = not any(locations[name] for name in OPTIONS)
        if self.absent is None and has_no_field:
            self._check_system(raw_row)
        if self.unsure:
            options = " or ".join(map_options(self.unsure[0]))
            raise AmbiguousFieldError(
                f"it is not known what is meant: {options} (in Python columns=). ctxmetrics inspect FILE shows all "
                "columns."
            )
        values = self._read_values(raw_row, locations)
        order_notes = self.read_lists(values, self.find_list_contexts(parsed_row, locations))
        if isinstance(values.get("reference"), list):
            values["reference"] = self._get_single_answer(values["reference"])
        unread = without_paths(parsed_row, list_paths(locations))
        if self.parses_texts:
            for key in ("labels", "metadata"):
                if key in values and not hasattr(values[key], "items"):
                    unread[key] = values.pop(key)
        unknown_names = self.list_unknown_names(unread)
        unread |= order_notes
        labels = values.get("labels") or {}
        has_no_answer = has_mark(unread) or self._has_unanswerable_id(values)
        if has_no_answer and hasattr(labels, "items"):
            values["labels"] = {LABEL: True, **labels}
        metadata = values.get("metadata") or {}
        if unread and hasattr(metadata, "items"):  # a `Sample` refuses metadata that is no object
            values["metadata"] = {**metadata, **unread}
        return values, unknown_names

    def find_list_contexts(
        self, parsed_row: Mapping[str, Any], locations: Mapping[str, list[Location]]
    ) -> dict[str, ListContext]:
        """Find what stands beside each list of what was retrieved; see `find_fields_beside`."""
        list_contexts: dict[str, ListContext] = {}
        for name in (*RETRIEVED, "searches", "reference_context_ids"):
            if not locations.get(name):
                continue
            path = locations[name][0][0]
            if name != "searches" or path in self.schema.flat_keys[name]:
                list_contexts[name] = find_fields_beside(parsed_row, path)
        return list_contexts

    def _has_unanswerable_id(self, values: Mapping[str, Any]) -> bool:
        """Whether the id says that the question has no answer, in a system whose ids do so."""
        ending = self.schema.unanswerable_ids
        return bool(ending) and str(values.get("id")).endswith(ending)

    def _get_single_answer(self, answers: list[Any]) -> Any:
        """Return the one answer of a list of equal ones in the place of the reference.

        Raises:
            SampleError: They differ, and every row has such a list.
        """
        if len({*map(str, answers)}) == 1:
            return answers[0]
        if "reference" in self.usable:
            return answers
        column = self.mapping.get("reference", "COLUMN")
        acceptable, needed = map_options([f"{column}=references", f"{column}=reference_facts"])
        raise SampleError(
            f"holds {len(answers)} answers.",
            f"Give one, or several acceptable ones as 'references', such as with {acceptable}. Parts that are all needed "
            f"are facts: {needed}.",
        ).inside(field="reference")

    def column_of(self, name: str, columns: Collection[str]) -> str | None:
        """Find the column that holds a field; None if there is no such column or several, or if a path is nested."""
        needs_rows = self.unsure or self.refusal or self.split or self.joined
        changes_ids = name in TEXTS_OF and (self.decimal_ids or may_hold_grades(columns))
        if needs_rows or changes_ids:
            return None
        is_ordered = name in RETRIEVED and self.order != "given"
        if is_ordered and may_hold_order({column: {"score": None} for column in columns}):
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
        keys_of_objects = first_keys(key for key in keys if "." in key)
        if name in self.schema.places:
            keys_of_objects.add(self.schema.places[name].side)
        if not keys_of_objects.isdisjoint(columns_by_key):
            return None
        matches = [columns_by_key[key] for key in keys if key in columns_by_key]
        return matches[0] if len(matches) == 1 else None

    def _mapped_to(self, name: str) -> list[str]:
        """Return the columns that the caller maps to a field."""
        return [column for column, field_name in self.columns.items() if field_name == name]

    def list_unknown_names(self, rest: Mapping[str, Any]) -> list[str]:
        """List the names in the rest of a row that no schema has, in the row's order; a nested name as its path."""
        names: list[str] = []
        for key, value in rest.items():
            if key in self.schema.heads and hasattr(value, "items"):
                names.extend(f"{key}.{inner}" for inner in value)
            else:
                names.append(key)
        known = self.schema.carried.union(self.columns)
        return [name for name in names if name not in known and not is_answerability_name(name)]

    def original(self, path: str) -> str:
        """Return a path as the row has it, from one under the schema's keys."""
        for column, key in self.renamed.items():
            if key == path:
                return column
        return path

    def parse_cells(self, row: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return a row under the schema's keys twice: with its cells as they are, and with lists and objects parsed from texts.

        Arrays become lists. The columns ``retrieved_contexts.NAME`` become the stages, in their order.

        Raises:
            SampleError: There are stages beside such columns.
        """
        raw: dict[str, Any] = {}
        for column, value in row.items():
            key = self.renamed.get(column, str(column))
            if hasattr(value, "tolist"):  # an array
                raw[key] = value.tolist()
            else:
                raw[key] = value
        stage_keys = [key for key in raw if key.startswith(STAGE) and key not in self.columns]
        if stage_keys:
            if raw.get("stages") is not None:
                raise SampleError(
                    f"both 'stages' and {stage_keys[0][:80]!r} are given.",
                    "Keep one of them, such as with --map stages=metadata.",
                )
            raw["stages"] = {key.removeprefix(STAGE): raw.pop(key) for key in stage_keys}
        if not self.parses_texts:
            return raw, raw
        return raw, read_cells(raw)

    def find_all_locations(self, row: Mapping[str, Any]) -> dict[str, list[Location]]:
        """List the places of each field with their values; see `find_locations`."""
        return {name: self.find_locations(row, name) for name in FIELDS}

    def find_locations(self, row: Mapping[str, Any], name: str) -> list[Location]:
        """List the places of a field with their values.

        If the caller maps several columns of one text each to a list, these texts are the list, in the order of the
        mapping. An object counts as a text only if there is no other text. A list at the place of the retrieved contexts
        is no text.
        """
        mapped = self._mapped_to(name)
        if mapped and name != "metadata":
            locations = _find_mapped_locations(row, name, mapped)
            if name in TEXTS:
                locations = [text_within(path, value, name) for path, value in locations]
            return locations
        mapped_prefixes = tuple(f"{column}." for column in self.columns)
        locations = []
        for path, value in self.schema.find_locations(row, {}, name):
            if name == "references" and are_sources(value):
                continue
            is_mapped = f"{path}.".startswith(mapped_prefixes)
            if not is_mapped and not self._holds_mapped_path(path, value, name):
                locations.append((path, value))
        if name in TEXTS:
            return self._keep_text_locations(locations, name)
        # An object that is no document, such as the ``context`` of a trace's span, is no list.
        return [
            (path, value)
            for path, value in locations
            if name in {path, "stages"} or not hasattr(value, "items") or text_of(value) is not None
        ]

    def _holds_mapped_path(self, path: str, value: Any, name: str) -> bool:
        """Whether an object, or a list without passages, holds a path that the caller maps to a field."""
        if hasattr(value, "items"):
            return any(column.startswith(f"{path}.") for column in self.columns)
        is_list = isinstance(value, (list, tuple)) and name not in _PASSAGE_FIELDS
        return is_list and any(column.startswith(f"{path}[") for column in self.columns)

    def _keep_text_locations(self, locations: list[Location], name: str) -> list[Location]:
        """Keep the locations that may hold a text; without any, those that are no side of the schema."""
        text_locations: list[Location] = []
        for place, item in locations:
            path = place
            value = item
            if place not in self.schema.sides:
                path, value = text_within(place, item, name)
            may_be_list = name == "reference" and path not in self.schema.sides
            is_list = isinstance(value, (list, tuple))
            if not hasattr(value, "items") and (may_be_list or not is_list):
                text_locations.append((path, value))
        if text_locations:
            return text_locations
        return [(path, value) for path, value in locations if path not in self.schema.sides]

    def _read_values(
        self, raw_row: Mapping[str, Any], locations: Mapping[str, list[Location]]
    ) -> dict[str, Any]:
        """Read the value of every field of a row.

        Raises:
            SampleError: Two columns hold one field, and differ.
        """
        is_one_of_several_rows = self.absent is not None
        values: dict[str, Any] = {}
        for name, field_locations in locations.items():
            for path, parsed_value in field_locations:
                value = as_list(parsed_value)
                if is_text(raw_row.get(path), parsed_value, name, literal=name in self.literal):
                    value = raw_row[path]
                if is_one_of_several_rows and is_missing(value):
                    continue
                if is_one_of_several_rows or name == "id" or name in TEXTS_OF:
                    value = number_as_meant(value, name)
                first = values.setdefault(name, value)
                if first is not value and first != value:  # NaN is not equal to itself
                    raise SampleError(
                        f"both '{field_locations[0][0]}' and '{path}' are given for '{name}'.",
                        f"Keep one of them, such as with --map {shlex.quote(path)}=metadata; ctxmetrics inspect FILE "
                        "shows both.",
                    )
        return values

    def drop_unusable(self, values: dict[str, Any], id_: Any, where: str | None) -> None:
        """Move the unusable values of a row to its metadata, and log them, if other rows have usable ones.

        An unusable value costs its own sample only.
        """
        sample_name = (where or "Sample") if id_ is None else f"Sample {str(id_)[:80]!r}"
        for name in [name for name in values if name in self.usable]:
            fault = find_fault(values[name], name)
            if fault:
                value = values.pop(name)
                metadata = values.get("metadata") or {}
                if hasattr(metadata, "items"):  # a `Sample` refuses metadata that is no object
                    values["metadata"] = {name: value, **metadata}
                logging.getLogger("ctxmetrics").warning(
                    "%s: field '%s' %s, unlike in other rows: the sample has no %s",
                    sample_name,
                    name,
                    fault,
                    name,
                )

    def read_lists(
        self, values: dict[str, Any], list_contexts: Mapping[str, ListContext]
    ) -> dict[str, Any]:
        """Turn single texts and texts of lists into lists, put what was retrieved in order, and take the ids of documents.

        Args:
            values: The fields.
            list_contexts: What stands beside each list of what was retrieved, and the hits that it was taken from; see `find_fields_beside`.

        Returns:
            As metadata: what decided the order, and the ids of what was retrieved with equal scores.
        """
        list_fields = [name for name in values if name in LISTS]
        for name in list_fields:
            cell = values[name]
            if self.parses_texts and name in TEXTS_OF and is_id_number(cell):
                cell = str(whole_number(cell))
            if self.parses_texts and isinstance(cell, str):
                values[name] = self._parse_list(cell, name)
            if self.decimal_ids and name in TEXTS_OF and isinstance(values[name], list):
                values[name] = [
                    without_point(item) if isinstance(item, str) else item for item in values[name]
                ]
        order = self._arrange_retrieved(values, list_contexts)
        order_notes = self._arrange_stages_and_searches(values, list_contexts, order)
        ties = {}
        if not order.scores:
            hits = values.get("retrieved_context_ids") or values.get("retrieved_contexts")
            ties = find_ties(unwrap_inner_list(hits), self.schema.id_keys)
        expected = unwrap_inner_list(
            values.get("reference_context_ids") or values.get("reference_contexts")
        )
        for name in list_fields:
            if name in _PASSAGE_FIELDS:
                values[name] = self._flatten_items(values[name], name)
        self._read_documents(values)
        if self.split is not None and isinstance(values.get("searches"), list):
            values["searches"] = [_split_search(search, self.split) for search in values["searches"]]
        fields_beside, _ = list_contexts.get("reference_context_ids", ({}, None))
        self._add_grades(values, expected, fields_beside)
        ids_in_order = values.get("retrieved_context_ids")
        if order.scores and isinstance(ids_in_order, list) and len(ids_in_order) == len(order.scores):
            ties = group_ties(zip(order.scores, ids_in_order, strict=True))
        return {**ties, **order_notes}

    def _read_documents(self, values: dict[str, Any]) -> None:
        """Make a list of what stands in each field of texts, and take the ids of its documents; their spans if the gold is spans."""
        ids_are_spans = labels_are_spans(
            values.get("reference_context_ids"), values.get("reference_contexts"), self.schema.id_keys
        )
        for id_field, text_field in TEXTS_OF.items():
            if text_field not in values:
                continue
            values[text_field] = self._list_documents(values[text_field], text_field)
            if id_field not in values:
                documents = relevant(id_field, to_list(values[text_field]))
                own_ids = ids_of(documents, self.schema.id_keys, spans=ids_are_spans)
                if own_ids:
                    values[id_field] = own_ids
        retrieved = values.get("retrieved_contexts")
        if isinstance(retrieved, list) and values.get("retrieved_context_ids") is not None:
            # The ids were read: the sample needs only the texts of these documents.
            values["retrieved_contexts"] = [_replace_by_text(document) for document in retrieved]

    def _add_grades(
        self, values: dict[str, Any], expected: Any, fields_beside: Mapping[str, Any]
    ) -> None:
        """Add the grades of what was expected to the labels, as qrels have them: those of its items, or of a list beside it."""
        labels = values.get("labels") or {}
        if not isinstance(expected, list) or not hasattr(labels, "items") or "relevance" in labels:
            return
        items = relevant("reference_context_ids", expected)
        ids = values.get("reference_context_ids")
        grades = grades_of(items, ids)
        if not grades and isinstance(ids, list):
            listed = find_grades_beside(fields_beside, len(ids))
            if listed is not None:
                graded = [
                    {"id": id_, "relevance": grade} for id_, grade in zip(ids, listed, strict=True)
                ]
                items = relevant("reference_context_ids", graded)
                values["reference_context_ids"] = [item["id"] for item in items]
                grades = grades_of(items, values["reference_context_ids"])
        if grades:
            values["labels"] = {**labels, "relevance": grades}

    def _arrange_retrieved(
        self, values: dict[str, Any], list_contexts: Mapping[str, ListContext]
    ) -> HitOrder:
        """Put the retrieved texts and ids into the order that ranks or scores of the hits, or lists beside them, say.

        Texts and ids of one length are pairs, and are put in order together.

        Raises:
            SampleError: The ranks or scores that ``order`` asks for are missing.
        """
        if self.order == "given":
            return HitOrder()
        lists: dict[str, Any] = {}
        orders: list[HitOrder] = []
        for name in RETRIEVED:
            items = unwrap_inner_list(as_list(values.get(name)))
            if not items or not isinstance(items, (list, tuple)):
                continue
            lists[name] = items
            fields_beside, source = list_contexts.get(name, ({}, None))
            hits = unwrap_inner_list(as_list(source))
            if not isinstance(hits, (list, tuple)) or len(hits) != len(items):
                hits = items
            orders.append(find_order(hits, fields_beside, self.order))
        order = choose_order(orders)
        if self.order is not None and order.is_missing:
            raise SampleError(order.unclear, "Leave --order out.").inside(field="retrieved_contexts")
        if order.places is None:
            return order
        for name, items in lists.items():
            if len(items) == order.size:
                values[name] = arrange(items, order.places)
        scores = arrange(order.scores, order.places) if order.scores else None
        return order._replace(scores=scores)

    def _arrange_stages_and_searches(
        self,
        values: dict[str, Any],
        list_contexts: Mapping[str, ListContext],
        retrieved: HitOrder,
    ) -> dict[str, str]:
        """Put the documents of stages and searches in order; return for the metadata what decided each order."""
        orders = [retrieved]
        if hasattr(values.get("stages"), "items"):
            values["stages"] = self._arrange_stages(values["stages"], orders)
        if "searches" in list_contexts and isinstance(values.get("searches"), list):
            values["searches"] = [self._arrange_search(search, orders) for search in values["searches"]]
        return describe_orders(orders)

    def _flatten_items(self, value: Any, name: str) -> Any:
        """Flatten inner lists, and replace objects in a list of ids by their ids.

        Raises:
            SampleError: An inner list has several ids or texts of what was expected: one of them is enough, as AutoRAG
                counts, and each would count here.
        """
        items = unwrap_inner_list(value)
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
            have_no_ids = all(own_id(item, keys) is None for item in items)
            return ids_of(relevant(name, items), keys, spans=have_no_ids) or items
        return items

    def _arrange_stages(
        self, stages: Mapping[str, Any], orders: list[HitOrder]
    ) -> dict[str, Any] | None:
        """Put the documents of each stage in order, without empty stages; append what decided each order to `orders`."""
        lists: dict[str, Any] = {}
        earlier_documents: list[Any] = []
        for name, cell in stages.items():
            items = as_list(cell)
            if isinstance(items, str) and items:
                lists[name] = self._parse_list(items, "retrieved_contexts")
            elif items not in (None, ""):
                lists[name] = items
            documents = lists.get(name)
            if isinstance(documents, list):
                # If an earlier stage has all these documents, their scores are from that stage.
                is_first_stage = not earlier_documents
                if is_first_stage or any(document not in earlier_documents for document in documents):
                    lists[name] = self._arrange_documents(documents, orders)
                earlier_documents += documents
        return lists or None

    def _arrange_search(self, search: Any, orders: list[HitOrder]) -> Any:
        """Put the documents of a search in order; append what decided it to `orders`."""
        if isinstance(search, list):
            return self._arrange_documents(search, orders)
        if not hasattr(search, "items") or search.get("ids") is not None:
            return search
        documents = search.get("contexts")
        if not documents:
            return search
        return {**search, "contexts": self._arrange_documents(documents, orders)}

    def _arrange_documents(self, documents: Any, orders: list[HitOrder]) -> Any:
        """Put documents in the order that their ranks or scores say; append what decided it to `orders`."""
        order = find_order(documents, {}, "given" if self.order == "given" else None)
        orders.append(order)
        return documents if order.places is None else arrange(documents, order.places)

    def _list_documents(self, documents: Any, name: str) -> Any:
        """Return the documents of a row as a list.

        A document that was printed becomes its text. A text that holds several passages is split.
        """
        if self.schema.single_string:
            if is_list_text(documents) and documents.lstrip()[:2] in ('["', "[{"):
                problem = "is a list that is written as a text."
                fix = "Read it with json.loads first."
                raise SampleError(problem, fix).inside(field=name)
            documents = to_list(documents)
        if isinstance(documents, (list, tuple)):
            documents = [
                item if type(item) is dict else restore_text(item, name, number)
                for number, item in enumerate(documents, 1)
            ]
        separator = self.split or self.schema.joined.get(name)
        if separator is None or not isinstance(documents, list):
            return documents
        if name == "retrieved_contexts" or (name == "reference_contexts" and len(documents) == 1):
            return _split_texts(documents, separator)
        return documents

    def _parse_list(self, text: str, name: str) -> Any:
        """Read the list that stands in a text. A text without a list is returned as it is; a `Sample` refuses it.

        A text with the schema's separator is split there.

        Raises:
            SampleError: The separator seems to be a part of the texts, or the text is a list that cannot be read.
        """
        items = list_in(text)
        if items is not None:
            return items
        is_list = is_list_text(text)
        separator = self.schema.separator
        if not is_list and separator and separator in text:
            pieces = text.split(separator)
            if name in TEXTS_OF.values():
                check_pieces(pieces, separator, name)
            return pieces
        ids = self._parse_ids(text, name) if name in TEXTS_OF and not is_list else None
        if ids is not None:
            return ids
        if is_list or (name in TEXTS_OF and re.search(r"[,;|\s]", text.strip())):
            problem = 'must be a JSON list in its cell, such as ["first", "second"].'
            raise SampleError(problem, wrong_kind=True).inside(field=name)
        return [text] if name in self.single else text

    def _parse_ids(self, text: str, name: str) -> list[str] | None:
        """Return the ids of a cell; None where it holds no or one id, and the field has lists.

        Raises:
            SampleError: The text may be one number, or several ids.
        """
        ids = split_ids(text)
        if ids is not None and have_scores(ids):
            raise SampleError(
                f"holds ids with scores, such as {ids[0][:40]!r}.",
                'Write a JSON list: [{"id": "d4", "score": 0.87}, ..].',
            ).inside(field=name)
        if ids is not None and is_grouped(text):  # such as 1,234
            digits = text.replace(",", "").strip()
            if self.comma_ids is None:
                raise SampleError(
                    f"holds {text[:40]!r}, which may be one number or {len(ids)} ids.",
                    f'Write a JSON list: ["{digits[:40]}"] or {json.dumps(ids[:4])}.',
                ).inside(field=name)
            if not self.comma_ids:
                ids = [digits]
        has_separator = re.search(r"[,;|\s]", text.strip()) is not None
        if ids is None and name in self.single and not has_separator:
            ids = [text]
        if ids is not None and self.decimal_ids:
            ids = [without_point(id_) for id_ in ids]
        return ids

    def _check_names(
        self,
        row: Mapping[str, Any],
        parsed_row: Mapping[str, Any],
        locations: Mapping[str, list[Location]],
    ) -> None:
        """Refuse a name that is close to the name of an absent field, and a ``context`` with two possible meanings."""
        known = self.schema.known_keys | first_keys(self.columns)
        absent = self.absent
        if absent is None:
            absent = frozenset(name for name in FIELDS if not locations[name])
        for key in row:
            if key in known or key.partition(".")[0] in self.schema.heads:
                continue
            if key == "page_content" or (key == "context" and is_ambiguous(parsed_row[key], absent)):
                check_keys([key], (), self.original)
            match = find_misspelt(str(key), self.schema, absent)
            if match:
                field_name, close_key = match
                if field_name in {"response", "reference"} and isinstance(parsed_row[key], list):
                    field_name = "references"  # a list is no text
                misspelt_keys = [
                    str(other)[:80]
                    for other in row
                    if find_misspelt(str(other), self.schema, absent) == match
                ]
                raise self._misspelt_error(str(key)[:80], close_key, field_name, misspelt_keys)

    def _check_system(self, row: Mapping[str, Any]) -> None:
        """Refuse a row that has names of another system's fields and no field of its own system."""
        fields_of_other_systems = written_elsewhere(row, self.schema.known_keys)
        if fields_of_other_systems:
            names = ", ".join(
                f"'{key[:80]}' is '{name}'" for key, name in fields_of_other_systems.items()
            )
            raise UnknownFieldError(
                f"no key is a field of the schema '{self.name}', and some are another system's: {names}.",
                "Write schema='auto', the name of the system, or our names.",
            )

    def _misspelt_error(
        self, key: str, close_key: str, field_name: str, misspelt_keys: list[str]
    ) -> UnknownFieldError:
        """Build the error of a misspelt key, with a ``--map`` option for each key that is misspelt in the same way."""
        options = " ".join(map_options(f"{other}={field_name}" for other in misspelt_keys))
        return UnknownFieldError(
            f"unknown field '{key}' (schema '{self.name}').",
            f"Did you mean '{close_key}'? Rename it; on the command line write {options}, or --map "
            f"{shlex.quote(f'{key}=metadata')} to carry it along.",
        )


def _split_texts(documents: list[Any], separator: str) -> list[str]:
    """Split the texts of documents into passages; a document without a text has none."""
    passages: list[str] = []
    for document in documents:
        text = text_of(document)
        if text is not None:
            passages += split_at(text, separator)
    return passages


def _replace_by_text(document: Any) -> Any:
    """Replace a document by its text; a picture, or a document without a text, stays as it is."""
    if type(document) is not dict or in_value(document):
        return document
    text = text_of(document)
    return text if isinstance(text, str) else document


def _split_search(search: Any, separator: str) -> Any:
    """Split the texts of a search into passages; a search with ids stays as it is."""
    if not hasattr(search, "items") or search.get("ids") is not None:
        return search
    documents = search.get("contexts")
    if not documents:
        return search
    return {**search, "contexts": _split_texts(documents, separator)}


def _find_mapped_locations(row: Mapping[str, Any], name: str, columns: list[str]) -> list[Location]:
    """List the places of a field that the caller maps columns to, with their values."""
    locations: list[Location] = []
    texts: list[str] = []
    for column in columns:
        value = look_up(row, column)
        if value is not None:
            locations.append((column, value))
            if isinstance(value, str) and not is_list_text(value):
                texts.append(value)
    if name in LISTS and len(columns) > 1 and len(texts) == len(locations):
        return [(column, texts) for column, _ in locations]
    return locations


def list_paths(locations: Mapping[str, list[Location]]) -> set[str]:
    """List the paths at which fields stand."""
    paths: set[str] = set()
    for field_locations in locations.values():
        paths.update(path for path, _ in field_locations)
    return paths


def without_paths(row: Mapping[str, Any], read: Collection[str]) -> dict[str, Any]:
    """Return a row without the paths that were read, and without None."""
    rest: dict[str, Any] = {}
    for key, value in row.items():
        if key in read or any(path.startswith(f"{key}[") for path in read):
            continue
        inner_paths = {path[len(key) + 1 :] for path in read if path.startswith(f"{key}.")}
        if not inner_paths:
            if value is not None:
                rest[key] = value
        elif hasattr(value, "items"):
            inner_rest = without_paths(value, inner_paths)
            if inner_rest:
                rest[key] = inner_rest
    return rest
