"""The plan of a source: the content of each key of its rows is decided once, then each row is read by its keys.

The careful reader (`ctxmetrics.evaluation.files.row_reading.read_row`) decides anew for each row what its values mean. A plan asks
the careful reader once about each key, and keeps the answer. A value of any other form is read by the careful reader, so that a plan and the careful reader give the
same fields or the same error. A plan also says what the first rows show of their source: why its rows are refused, if they are,
and what its reader must know.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import chain
from types import NoneType
from typing import Any

from ctxmetrics._internal.forks import cached_property
from ctxmetrics.errors import AmbiguousFieldError, SampleError
from ctxmetrics.evaluation.files.cell_values import may_hold_text
from ctxmetrics.evaluation.files.field_locations import (
    PASSAGE_FIELDS,
    STAGE_COLUMN_PREFIX,
    find_all_locations,
    find_list_contexts,
    find_locations,
    list_paths,
    parse_cells,
    without_paths,
)
from ctxmetrics.evaluation.files.hit_numbers import (
    holds_numbered_objects,
    holds_unknown_fractions,
    may_hold_grades,
)
from ctxmetrics.evaluation.files.hit_order import may_hold_order
from ctxmetrics.evaluation.files.list_values import read_lists
from ctxmetrics.evaluation.files.row_decisions import Reading
from ctxmetrics.evaluation.files.row_names import list_unknown_names
from ctxmetrics.evaluation.files.row_reading import drop_unusable, name_sample, read_row
from ctxmetrics.samples.cells import object_in
from ctxmetrics.samples.conversations import MESSAGE_PATHS
from ctxmetrics.samples.documents import HOLDERS
from ctxmetrics.samples.field_keys import FIELDS, LISTS, OPTIONS, RETRIEVED, TEXTS, TEXTS_OF
from ctxmetrics.samples.schema import first_keys, first_value
from ctxmetrics.samples.systems import find_misspelt, map_options
from ctxmetrics.samples.unanswerable import is_answerability_name

# The maximum number of remembered keys.
_MAX_KEYS = 8192
# The maximum number of remembered forms of objects that hold fields.
_MAX_OBJECT_FORMS = 256
# The types of plain data; an array is none.
_PLAIN_TYPES: frozenset[type] = frozenset({str, int, float, bool, list, dict, NoneType})
# One value of each type. The careful reader says which field such a value is under a key. An object with a text may be a
# document.
_EXAMPLE_VALUES: tuple[Any, ...] = ("text", 1, 0.5, True, ["text"], {"text": "text"})
# Fields that are one object.
_OBJECT_FIELDS = frozenset({"labels", "metadata", "stages"})
# The types of the items of a list: texts, which are stored as they are,
_TEXT_TYPES = frozenset({str})
# ids that are numbers, which are stored as they are,
_NUMBER_TYPES = frozenset({int})
# and documents, from which the texts and ids are read.
_DOCUMENT_TYPES = frozenset({dict})
# The fields of texts that were retrieved, or that should have been.
_PASSAGE_TEXTS = frozenset(TEXTS_OF.values())
# The keys of a reply of Milvus, whose distances may be similarities; see `ctxmetrics.evaluation.files.hit_order`.
_MILVUS_REPLY_KEYS = frozenset({"code", "data"})
# How printed documents and nodes, and objects as text, begin.
_PRINTED_BEGINNINGS = ("page_content=", "Node ID:", "{")


@dataclass(frozen=True, slots=True)
class KeyContent:
    """The content of a key of a row.

    Attributes:
        name: The key, as the schema writes it.
        fields: The field that a value is read as, by the type of the value; empty text for a type whose values become metadata. A
            value of any other type needs the careful reader.
        is_unknown: Whether no schema knows the key.
        is_unread: Whether no value of this key holds a field.
        is_holder: Whether an object under this key may hold fields.
        excluded: Another key: the key of the object into which a path leads, or the name for which this key stands. If a row has both
            keys, the careful reader reads the row.
        may_order: Whether a value may decide the order of the retrieved items.
    """

    name: str
    fields: Mapping[type, str] = field(default_factory=dict)
    is_unknown: bool = False
    is_unread: bool = False
    is_holder: bool = False
    excluded: str | None = None
    may_order: bool = False


# A key whose values the careful reader reads, whatever they are.
_READ_CAREFULLY = KeyContent("")


@dataclass(frozen=True, slots=True)
class HeldFields:
    """The fields that an object holds. Its keys and the types of its values decide them.

    Attributes:
        fields: Each field with its key in the object; None: the object itself.
        rest: The keys that become metadata; None: the whole object becomes metadata.
        unknown_names: The paths that no schema knows.
        may_order: Whether one of its keys may say the order of the retrieved items.
    """

    fields: tuple[tuple[str, str | None], ...]
    rest: tuple[str, ...] | None
    unknown_names: tuple[str, ...]
    may_order: bool


class _NeedsCarefulReaderError(Exception):
    """The plan does not know the meaning of a value: the careful reader must read the row."""


@dataclass(slots=True)
class _Fields:
    """The fields of a row, as its keys are looked up.

    Attributes:
        values: The value of each field.
        paths: The path of each field.
        metadata: The keys and values that become metadata.
        unknown_names: The names that no schema knows.
        are_stored_as_is: Whether each value is stored as it is.
        has_order: Whether something beside the fields may say the order of the retrieved items.
    """

    are_stored_as_is: bool
    values: dict[str, Any] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    unknown_names: list[str] = field(default_factory=list)
    has_order: bool = False

    def add(self, name: str, value: Any, path: str) -> None:
        """Add a field.

        Raises:
            _NeedsCarefulReaderError: The field has a value already, or its text may be an object in which the text stands.
        """
        if name in self.values:
            raise _NeedsCarefulReaderError
        if name in TEXTS:
            if type(value) is str and may_hold_text(value):
                raise _NeedsCarefulReaderError
        elif not _is_stored_as_is(name, value):
            self.are_stored_as_is = False
        self.values[name] = value
        self.paths[name] = path

    def carry(self, column: KeyContent, value: Any) -> None:
        """Add a value to the metadata, unless it is None."""
        if value is None:
            return
        if column.name in self.metadata:
            raise _NeedsCarefulReaderError
        self.metadata[column.name] = value
        if column.is_unknown:
            self.unknown_names.append(column.name)


@dataclass(frozen=True)
class Plan:
    """How the rows of one source are read. Plans are equal if the same was decided.

    Attributes:
        reading: The decisions about a row, for the careful reader.
        refusal: Why the rows are no samples; None if they are. With a refusal no row is read.
        unsure: For each field that two columns may hold, the possible ``COLUMN=FIELD``. If there are any, no row is read.
        joined: By list field, the separator of the passages, if the first rows have several passages in one text.
        candidates: Columns and paths that no field is read from, by the field that each may hold.
        columns: The content of each key of the rows so far.
    """

    reading: Reading
    refusal: str | None = None
    unsure: tuple[tuple[str, ...], ...] = ()
    joined: Mapping[str, str] = field(default_factory=dict)
    candidates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    columns: dict[Any, KeyContent] = field(default_factory=dict, repr=False, compare=False)
    _objects: dict[Any, HeldFields | None] = field(default_factory=dict, repr=False, compare=False)

    def apply(
        self, row: Mapping[str, Any], where: str | None = None
    ) -> tuple[dict[str, Any], list[str]]:
        """Read the fields of a row. The rest of the row becomes metadata.

        It has the arguments and the result of `read_row`.

        Raises:
            AmbiguousFieldError: Two columns may hold one field.
            SampleError: The rows are no samples, or `read_row` raises it.
        """
        if self.refusal or self.unsure:
            raise self._explain_refusal(row, where)
        fields = None
        if type(row) is dict and not self.reading.schema.unanswerable_ids:  # these ids say more
            try:
                fields = self._look_up(row, where)
            except (_NeedsCarefulReaderError, SampleError):
                fields = None  # the careful reader raises the error with its place
        return read_row(self.reading, row, where) if fields is None else fields

    def _explain_refusal(self, row: Mapping[str, Any], where: str | None) -> SampleError:
        """Return the error of a row whose source is refused."""
        if self.refusal:
            error = SampleError(self.refusal)
        else:
            options = " or ".join(map_options(self.unsure[0]))
            error = AmbiguousFieldError(
                f"it is not known what is meant: {options} (in Python columns=).", about_columns=True
            )
        name_sample(error, self._find_id(row), where)
        return error

    def _find_id(self, row: Mapping[str, Any]) -> Any:
        """Find the id of a row. Return None if the row has no id, or cannot be read."""
        if not hasattr(row, "items"):
            return None
        try:
            _, parsed_row = parse_cells(self.reading, row)
        except SampleError:
            return None
        return first_value(find_locations(self.reading, parsed_row, "id"))

    def column_of(self, name: str, columns: Collection[str]) -> str | None:
        """Find the column that holds a field. Return None if there is no such column or several, or if a path is nested."""
        reading = self.reading
        needs_rows = self.unsure or self.refusal or reading.split or self.joined
        has_grades = reading.ids_have_grades or may_hold_grades(columns)
        has_other_ids = reading.ids_read_as_floats or has_grades or reading.id_separator is not None
        changes_ids = name in TEXTS_OF and has_other_ids
        if needs_rows or changes_ids:
            return None
        is_ordered = name in RETRIEVED and reading.order != "given"
        if is_ordered and may_hold_order({column: {"score": None} for column in columns}):
            return None
        mapped_columns = reading.mapped_to(name)
        if len(mapped_columns) > 1:
            return None
        if mapped_columns:
            return mapped_columns[0] if mapped_columns[0] in columns else None
        columns_by_key = {
            reading.renamed.get(column, column): column
            for column in columns
            if column not in reading.columns
        }
        keys = reading.schema.flat_keys[name]
        keys_of_objects = first_keys(key for key in keys if "." in key)
        if name in reading.schema.places:
            keys_of_objects.add(reading.schema.places[name].side)
        if not keys_of_objects.isdisjoint(columns_by_key):
            return None
        matches = [columns_by_key[key] for key in keys if key in columns_by_key]
        return matches[0] if len(matches) == 1 else None

    def _look_up(self, row: dict[Any, Any], where: str | None) -> tuple[dict[str, Any], list[str]]:
        """Read a row by its keys.

        Raises:
            _NeedsCarefulReaderError: The careful reader must read the row.
            SampleError: A value cannot be read.
        """
        parses_texts = self.reading.parses_texts
        # Values that are not stored as they are need more steps (`_complete`).
        fields = _Fields(are_stored_as_is=self._keeps_lists)
        for key, cell in row.items():
            column = self.columns.get(key) or self._add_column(key)
            if column.excluded is not None and column.excluded in row:
                raise _NeedsCarefulReaderError  # two keys may hold one field
            value = object_in(cell) if parses_texts and type(cell) is str else cell
            kind = type(value)
            if column.may_order:
                is_order = column.name in _MILVUS_REPLY_KEYS or may_hold_order({column.name: value})
                fields.has_order = fields.has_order or is_order
            name = column.fields.get(kind)
            if name:
                if name in TEXTS and value is not cell:  # the text itself may be meant
                    raise _NeedsCarefulReaderError
                fields.add(name, value, column.name)
            elif name == "" or (column.is_unread and not hasattr(value, "tolist")):
                fields.carry(column, value)
                if kind is list and not fields.has_order:
                    fields.has_order = _may_order_hits(column.name, value)
            elif kind is dict and column.is_holder:
                self._add_held(fields, column.name, value)
            else:
                raise _NeedsCarefulReaderError
        if self.reading.absent is None and OPTIONS.keys().isdisjoint(fields.values):
            raise _NeedsCarefulReaderError
        return self._complete(fields, row, where)

    def _complete(
        self, fields: _Fields, row: dict[Any, Any], where: str | None
    ) -> tuple[dict[str, Any], list[str]]:
        """Return the fields of a row with its lists read and its metadata joined, in the order of the careful reader."""
        values = {name: fields.values[name] for name in FIELDS if name in fields.values}
        metadata = fields.metadata
        are_stored_as_is = fields.are_stored_as_is and not fields.has_order
        if not are_stored_as_is:
            list_contexts = {}
            # Only fields whose order another value may say need the lists and scores beside them.
            if fields.has_order or "searches" in values or _may_order_each_other(values):
                _, parsed_row = parse_cells(self.reading, row)
                locations = {name: [(path, None)] for name, path in fields.paths.items()}
                list_contexts = find_list_contexts(self.reading, parsed_row, locations)
            metadata |= read_lists(self.reading, values, list_contexts)
        if metadata:
            values["metadata"] = {**values.get("metadata", {}), **metadata}
        if not are_stored_as_is:
            drop_unusable(self.reading, values, values.get("id"), where)
        return values, fields.unknown_names

    def _add_held(self, fields: _Fields, name: str, value: dict[Any, Any]) -> None:
        """Add the fields that an object holds."""
        # A decision about an object holds for all objects with the same keys and types.
        form = (name, *value, *map(type, value.values()))
        if form not in self._objects:
            if len(self._objects) >= _MAX_OBJECT_FORMS:
                self._objects.clear()
            self._objects[form] = self._decide_held(name, value)
        decision = self._objects[form]
        if decision is None:
            raise _NeedsCarefulReaderError
        for field_name, inner_key in decision.fields:
            if inner_key is None:
                fields.add(field_name, value, name)
            else:
                fields.add(field_name, value[inner_key], f"{name}.{inner_key}")
        fields.has_order = fields.has_order or decision.may_order
        if not fields.has_order and list in form:
            fields.has_order = any(holds_unknown_fractions(key, item) for key, item in value.items())
        if decision.rest is None:
            fields.metadata[name] = value
        elif decision.rest:
            fields.metadata[name] = {inner_key: value[inner_key] for inner_key in decision.rest}
        fields.unknown_names += decision.unknown_names

    def _add_column(self, key: Any) -> KeyContent:
        """Ask the careful reader for the content of a key, and remember it."""
        if len(self.columns) >= _MAX_KEYS:
            self.columns.clear()
        column = self._decide(key)
        self.columns[key] = column
        return column

    def _decide(self, key: Any) -> KeyContent:
        """Decide the content of a key."""
        if type(key) is not str:
            return _READ_CAREFULLY
        name = self.reading.renamed.get(key, key)
        if self._needs_careful_reader(name):
            return _READ_CAREFULLY
        is_unknown = bool(list_unknown_names(self.reading, {name: None}))
        may_order = name in _MILVUS_REPLY_KEYS or may_hold_order({name: {"score": None}})
        excluded = name if name != key else None
        if first_keys([name]).isdisjoint(self._searched_keys):
            return KeyContent(
                name,
                dict.fromkeys(_PLAIN_TYPES, ""),
                is_unknown=is_unknown,
                is_unread=True,
                excluded=excluded,
                may_order=may_order,
            )
        head, is_path, _ = name.partition(".")
        is_holder = name in self._holders
        fields: dict[type, str] = {NoneType: ""}
        for example in _EXAMPLE_VALUES:
            value_type = type(example)
            if is_holder and value_type in (list, dict):  # what they hold decides
                continue
            field = self._find_only_field(name, example)
            # The list of a path may stand in a text.
            may_be_list = value_type is str and field == "" and self._is_list_of_path(name)
            if field is not None and not may_be_list:
                fields[value_type] = field
        return KeyContent(
            name,
            fields,
            is_unknown,
            is_holder=is_holder,
            excluded=head if is_path else excluded,
            may_order=may_order,
        )

    def _find_only_field(self, name: str, example: Any) -> str | None:
        """Find the field that a value under a key is read as.

        Returns:
            The name of the field. An empty text: it is no field. None: only the careful reader can tell.
        """
        locations = find_all_locations(self.reading, {name: example})
        matches: list[tuple[str, str, Any]] = []
        for field_name, field_locations in locations.items():
            matches += [(field_name, path, value) for path, value in field_locations]
        if not matches:
            return ""
        field_name, path, value = matches[0]
        is_whole_value = path == name and value is example
        if len(matches) == 1 and is_whole_value and _is_readable_type(field_name, type(example)):
            return field_name
        return None

    def _needs_careful_reader(self, name: str) -> bool:
        """Tell whether only the careful reader can read a key, whatever its value is.

        Such are a stage, a mark of answerability, a name that may be misspelt, and a path of several steps.
        """
        reading = self.reading
        if not name or name.startswith("."):
            return True
        is_stage = name.startswith(STAGE_COLUMN_PREFIX) and name not in reading.columns
        if is_stage or is_answerability_name(name):
            return True
        head, *steps = name.split(".")
        if not steps or head not in self._searched_keys:
            return self._may_be_misspelt(name)
        if len(steps) > 1 or head in reading.renamed.values():
            return True
        if any(path.startswith((f"{name}.", f"{name}[")) for path in self._paths):
            return True
        return self._may_be_misspelt(name)

    def _decide_held(self, name: str, value: dict[Any, Any]) -> HeldFields | None:
        """Ask the careful reader for the fields of an object.

        Return None if these fields depend on more than the keys and the types of the values.
        """
        if self._is_list_of_path(name):
            return None
        if any(self._depends_on_content(name, inner, item) for inner, item in value.items()):
            return None
        locations = find_all_locations(self.reading, {name: value})
        fields: list[tuple[str, str | None]] = []
        for field_name, field_locations in locations.items():
            for path, located in field_locations:
                inner = None if path == name else path.removeprefix(f"{name}.")
                if inner is not None and (inner not in value or "." in inner):
                    return None
                item = value if inner is None else value[inner]
                is_only_location = len(field_locations) == 1 and located is item
                if not is_only_location or not _is_readable_type(field_name, type(item)):
                    return None
                fields.append((field_name, inner))
        unread = without_paths({name: value}, list_paths(locations))
        unknown_names = tuple(list_unknown_names(self.reading, unread))
        may_order = may_hold_order({key: {"score": None} for key in value})
        may_order = may_order or not _MILVUS_REPLY_KEYS.isdisjoint(value)
        if unread.get(name) is value:
            return HeldFields(tuple(fields), None, unknown_names, may_order)
        return HeldFields(tuple(fields), tuple(unread.get(name, ())), unknown_names, may_order)

    def _depends_on_content(self, name: str, inner: Any, item: Any) -> bool:
        """Tell whether the type of a value in an object does not decide its field: the content must be read."""
        if type(inner) is not str or not inner or type(item) not in _PLAIN_TYPES:
            return True
        if type(item) is dict and inner in self._holders[name]:
            return True
        if type(item) is str and self._is_list_of_path(f"{name}.{inner}"):
            return True
        return type(item) in (list, dict) and inner in self._inner_holders

    def _is_list_of_path(self, name: str) -> bool:
        """Tell whether a path at which the careful reader looks goes into the items of a list."""
        return any(path.startswith(f"{name}[") for path in self._paths)

    def _may_be_misspelt(self, name: str) -> bool:
        """Tell whether the careful reader may refuse a name that no field has."""
        reading = self.reading
        schema = reading.schema
        if name in schema.known_keys | first_keys(reading.columns):
            return False
        if name.partition(".")[0] in schema.keys_of_several_fields:
            return False
        absent = frozenset(OPTIONS) if reading.absent is None else reading.absent
        return name in ("page_content", "context") or find_misspelt(name, schema, absent) is not None

    @cached_property
    def _keeps_lists(self) -> bool:
        """Whether lists of texts and ids are stored as they are: none is split or sorted, and no id ends in a point and a zero."""
        is_split = self.reading.split is not None or bool(self.reading.schema.joined)
        changes_ids = self.reading.ids_read_as_floats or self.reading.ids_have_grades
        return not is_split and not changes_ids and self.reading.order in (None, "given")

    @cached_property
    def _paths(self) -> frozenset[str]:
        """Every path at which the careful reader looks."""
        schema = self.reading.schema
        paths = {*chain.from_iterable(schema.flat_keys.values()), *self.reading.columns}
        paths.update(path for _, path in MESSAGE_PATHS)
        for name, place in schema.places.items():
            if place.side:
                paths.update(f"{place.side}.{key}" for key in schema.keys_of_fields[name])
        return frozenset(paths)

    @cached_property
    def _searched_keys(self) -> frozenset[str]:
        """The keys of a row at which the careful reader looks, and the empty key: the part before the point of a key such as ``.a``."""
        return frozenset({"", *self.reading.schema.known_keys, *first_keys(self._paths)})

    @cached_property
    def _holders(self) -> dict[str, set[str]]:
        """The keys of objects and lists that may hold fields, each with the keys in it at which fields may stand."""
        holders: dict[str, set[str]] = {side: set() for side in self.reading.schema.sides}
        for head, _ in MESSAGE_PATHS:
            holders.setdefault(head, set())
        for path in self._paths:
            head, *steps = path.replace("[", ".").split(".")
            if steps:
                holders.setdefault(head, set()).add(steps[0])
        return holders

    @cached_property
    def _inner_holders(self) -> set[str]:
        """The keys in an object whose own objects or lists may hold fields, so that their content decides how they are read."""
        holders = {"output", *HOLDERS}
        holders.update(
            key.rpartition(".")[2] for key in self.reading.schema.keys_of_fields["references"]
        )
        for path in self._paths:
            _, *steps = path.replace("[", ".").split(".")
            if len(steps) > 1:
                holders.add(steps[0])
        for _, path in MESSAGE_PATHS:
            holders.update(path.split(".")[1:])
        return holders


def _may_order_hits(name: str, items: list[Any]) -> bool:
    """Tell whether a list that is no field may order the hits: ranked or scored objects, or fractions under an unknown name."""
    return holds_numbered_objects(items) or holds_unknown_fractions(name, items)


def _may_order_each_other(values: Mapping[str, Any]) -> bool:
    """Tell whether a list of ranked or scored objects stands beside another list of passages, which it may order."""
    lists = [values[name] for name in PASSAGE_FIELDS if name in values]
    return len(lists) > 1 and any(map(holds_numbered_objects, lists))


def _is_readable_type(name: str, kind: type) -> bool:
    """Tell whether a plan reads a field from values of a type."""
    if name in TEXTS:
        return kind is str or (name == "id" and kind is int)
    if name in LISTS:
        return kind in (list, str)
    return kind is dict if name in _OBJECT_FIELDS else kind is list


def _is_stored_as_is(name: str, value: Any) -> bool:
    """Tell whether the value of a field is stored as it is.

    Raises:
        _NeedsCarefulReaderError: The careful reader must read the value.
    """
    if name not in LISTS:
        return name not in ("stages", "searches")
    if type(value) is str:
        return False
    kinds = set(map(type, value))
    if kinds <= _TEXT_TYPES:
        if name in _PASSAGE_TEXTS:
            for text in value:
                if text.startswith(_PRINTED_BEGINNINGS):
                    raise _NeedsCarefulReaderError
        return True
    if kinds == _NUMBER_TYPES and name in TEXTS_OF:
        return True
    if kinds != _DOCUMENT_TYPES or name == "references":  # these may be the sources of an answer
        raise _NeedsCarefulReaderError
    return False
