"""A `Schema` says where one system keeps the fields of a sample, and reads them.

A record of a tracing framework has sides: its inputs, its outputs, and what was expected. Other records hold the fields
themselves. `Schema.read` reads a framework's record; `ctxmetrics.evaluation.files.row_reading` reads rows of files and tables. Both
look at the same places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ctxmetrics._internal.forks import cached_property
from ctxmetrics._internal.frozen import EMPTY
from ctxmetrics._internal.secrets import safe_text
from ctxmetrics.errors import MissingFieldError, ParameterError, SampleError
from ctxmetrics.samples.conversations import MESSAGE_PATHS, Conversation, find_conversation
from ctxmetrics.samples.documents import (
    ID_KEYS,
    are_messages,
    are_typed_parts,
    as_list,
    check_single_document,
    first_value_at,
    grades_of,
    ids_of,
    is_missing,
    keep_relevant,
    labels_are_spans,
    look_up,
    span_of,
    text_of,
    without_score,
    wrap_in_list,
)
from ctxmetrics.samples.field_keys import FIELDS, OPTIONS, TEXTS_OF
from ctxmetrics.samples.retrievals import (
    Retrieval,
    find_unused_steps,
    join_documents,
    to_searches,
    to_stages,
)

# The maximum number of names that a message lists.
_MAX_NAMES_LISTED = 12
# The maximum number of usual names of one field that a message lists, since a message has 300 characters.
_MAX_USUAL_NAMES_LISTED = 4
# The field that may stand in the place of a required field.
_REPLACEMENTS = {
    "reference": "references",
    **dict.fromkeys(("retrieved_contexts", "retrieved_context_ids"), "stages"),
}
# Fields that the searches of a question fill.
_FILLED_BY_SEARCHES = frozenset({"retrieved_contexts", "retrieved_context_ids", "stages"})


# --- small helpers ----------------------------------------------------------------------------------------------------


def first_keys(paths: Iterable[str]) -> set[str]:
    """Return the first key of each path, with its brackets and without them: of ``hits[].text``, ``hits[]`` and ``hits``."""
    keys = {path.partition(".")[0] for path in paths}
    return keys | {key.partition("[")[0] for key in keys}


def first_value(locations: list[tuple[str, Any]]) -> Any:
    """Return the value at the first of several paths, or None."""
    return locations[0][1] if locations else None


def join_first(names: Iterable[object], most: int = _MAX_NAMES_LISTED, *, mark: str = ", ") -> str:
    """Return the first names with a mark between them, and how many more there are."""
    texts = [str(name)[:60] for name in names]
    first = mark.join(texts[:most])
    return first if len(texts) <= most else f"{first} and {len(texts) - most} more"


# --- where one system keeps the fields --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """Where a field of a sample stands in a record.

    Attributes:
        side: Name of its side; empty if the record holds the field itself.
        keys: The usual keys of the field beside its own name, in the order in which they are looked for. A key with dots is a path.
    """

    side: str
    keys: tuple[str, ...]

    @classmethod
    def of(cls, side: str, *keys: str) -> Place:
        """Build a place. Each key is an argument of its own.

        Raises:
            ParameterError: One argument holds a blank: probably it is several keys.
        """
        for key in keys:
            if " " in key:
                words = ", ".join(f'"{word}"' for word in key.split())
                raise ParameterError(
                    f'Place.of: {key!r} has a blank. Write Place.of("{side}", {words}).'
                )
        return cls(side, tuple(filter(None, keys)))

    def side_of(self, record: Mapping[str, Any]) -> Any:
        """Return the field's side of a record, or None."""
        # Without this check, a column with an empty name would be found.
        return record.get(self.side) if self.side else None


_NOWHERE = Place("", ())


@dataclass(frozen=True, kw_only=True, eq=False)
class Schema:
    """Where one system keeps the fields, and how they are read.

    Attributes:
        places: The place of each field. In a mapping without sides, a key belongs to the first field that lists it: an
            ``answer`` is the response there, never the reference.
        single_string: Whether a row may have one document or text in place of a list; a record always
            may.
        separator: The mark between the items of a list that a file holds as one text: "a; b".
        joined: For a list that the system joins into one text, the text before its first passage, such as "[Document 1]"; see
            `ctxmetrics.evaluation.files.passage_lists.split_at`.
        carried: Keys of a row that no metric needs; they become metadata.
        id_keys: The keys under which a document's id is looked for.
        retrievals: Returns the steps of the retrievers and rerankers in the record's ``run``, in the order in which they
            began. It is called if no key holds what was retrieved.
        hint: The part of a message that explains why nothing retrieved was found.
        evaluation: Returns the name of the framework's evaluation in which a record is scored, if the framework shows one.
        package: The adapter's package, which warnings name as their place.
        judge_option: The code that a user of the adapter writes for an LLM judge.
        unanswerable_ids: The ending of the ids of questions without an answer.
        absent_marks: Paths that no row of this system has.
        marks: Paths that each row of this system has; see `ctxmetrics.evaluation.files.formats`.
        passages_of: The column that names the search, if each row is one passage.
        has_runs: Whether the file maps each retrieved id to its score, the highest score first.
    """

    places: Mapping[str, Place]
    single_string: bool = False
    separator: str | None = None
    joined: Mapping[str, str] = EMPTY
    carried: frozenset[str] = frozenset()
    id_keys: tuple[str, ...] = ID_KEYS
    retrievals: Callable[[Any], Iterable[Retrieval]] | None = None
    hint: str = ""
    evaluation: Callable[[Mapping[str, Any]], str | None] | None = None
    package: str = "ctxmetrics"
    judge_option: str = "judge=LLMJudge(model)"
    unanswerable_ids: str = ""
    marks: tuple[str, ...] = ()
    absent_marks: tuple[str, ...] = ()
    passages_of: str = ""
    has_runs: bool = False

    # --- reading a record ---

    def read(
        self,
        record: Mapping[str, Any],
        keys: Mapping[str, Any],
        requires: Iterable[str],
        uses: Iterable[str] = (),
    ) -> dict[str, Any]:
        """Read the fields that a metric needs from a framework's record. If several keys of a field have a value, the first counts.

        Args:
            record: The record; see the module. Its ``id`` names the sample. Its ``error`` says why the framework's run failed.
            keys: The caller's; see `KeyParams`.
            requires: Fields that the record must have.
            uses: Fields that are read if the record has them.

        Returns:
            The arguments of a `Sample`.

        Raises:
            MissingFieldError: The record lacks a required field, or a field whose key the caller named.
            SampleError: No document has an id, or a text stands among documents.
        """
        required = tuple(requires)
        name = record.get("id")
        who = "The sample" if name is None else f"Sample {name!r}"
        values = {field: self._read_value(record, keys, field) for field in required}
        for field in uses:
            try:
                values[field] = self._read_value(record, keys, field)
            except SampleError:  # documents without ids
                values[field] = None
        filled_fields = self._add_searches_or_stages(values, record, keys, required)
        for field, value in values.items():
            if value is not None or field in filled_fields:
                continue
            is_needed = field in required or OPTIONS[field] in keys
            is_replaced = values.get(_REPLACEMENTS.get(field, "")) is not None
            if is_needed and not is_replaced:
                raise MissingFieldError(
                    f"{who} has no {field}: {self._describe_search(record, keys, field)}"
                )
        return {"id": name, **self._read_grades(record, keys, values), **values}

    def find_hits(self, record: Mapping[str, Any], keys: Mapping[str, Any]) -> Any:
        """Return what a record has in the place of the retrieved contexts, as it stands there; None if it has nothing."""
        return self._find(record, keys, "retrieved_contexts")

    def _add_searches_or_stages(
        self,
        values: dict[str, Any],
        record: Mapping[str, Any],
        keys: Mapping[str, Any],
        required: Sequence[str],
    ) -> frozenset[str]:
        """Add the searches of a record, or else its stages, where a metric needs what was retrieved.

        A sample takes what was retrieved from its searches, or from the last of its stages.

        Args:
            values: The values of the fields that were read so far. They are changed.
            record: The record.
            keys: The caller's; see `KeyParams`.
            required: The fields that must be there.

        Returns:
            The fields that need no value of their own, since searches fill them.
        """
        retrieved_fields = [field for field in required if field.startswith("retrieved")]
        searches = values.get("searches")
        if retrieved_fields and not searches:
            searches = self._find(record, keys, "searches")
        if searches:
            values["searches"] = searches
            for field in _FILLED_BY_SEARCHES & values.keys():
                values[field] = None
        elif any(values[field] is None for field in retrieved_fields):
            values["stages"] = self._find(record, keys, "stages")
        return frozenset() if searches is None else _FILLED_BY_SEARCHES

    def _read_grades(
        self, record: Mapping[str, Any], keys: Mapping[str, Any], values: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return labels with the grades of the expected documents or ids; empty if they have no grades."""
        ids = values.get("reference_context_ids")
        if not ids:
            return {}
        expected = self._find(record, keys, "reference_context_ids")
        if expected is None:
            expected = self._find(record, keys, "reference_contexts")
        grades = grades_of(keep_relevant("reference_context_ids", wrap_in_list(expected)), ids)
        return {"labels": {"relevance": grades}} if grades else {}

    def record(self, fields: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Write a sample's fields (`Sample.to_dict`) as a record with sides, which `read` can read."""
        record: dict[str, dict[str, Any]] = {}
        for name, place in self.places.items():
            side = record.setdefault(place.side, {})
            if name in fields:
                side[name] = fields[name]
        return record

    # --- the keys of the schema ---

    @cached_property
    def keys_of_fields(self) -> dict[str, tuple[str, ...]]:
        """The keys of each field in its place, its own name first."""
        return {
            field: tuple(dict.fromkeys((field, *self.places.get(field, _NOWHERE).keys)))
            for field in FIELDS
        }

    @cached_property
    def flat_keys(self) -> dict[str, tuple[str, ...]]:
        """The keys of each field in a mapping without sides. A key belongs only to the first field that lists it."""
        field_by_key: dict[str, str] = {}
        for field in (*self.places, *FIELDS):
            for key in self.keys_of_fields[field]:
                field_by_key.setdefault(key, field)
        flat_keys: dict[str, tuple[str, ...]] = {}
        for field, keys in self.keys_of_fields.items():
            flat_keys[field] = tuple(key for key in keys if field_by_key[key] == field)
        return flat_keys

    @cached_property
    def sides(self) -> frozenset[str]:
        """The names of the sides."""
        return frozenset(place.side for place in self.places.values() if place.side)

    @cached_property
    def keys_of_several_fields(self) -> frozenset[str]:
        """The keys that hold several fields: the sides, and the beginnings of paths."""
        nested = [key for key in self._every_key if "." in key]
        return self.sides | first_keys(nested)

    @cached_property
    def known_keys(self) -> frozenset[str]:
        """The keys that a row may have."""
        return self.sides | self.carried | first_keys(self._every_key)

    @cached_property
    def distinct_keys(self) -> frozenset[str]:
        """The keys by which rows of this system are recognised: all its keys except our own names of the fields."""
        return (self.sides | first_keys(self._every_key)) - {*FIELDS}

    @cached_property
    def holders(self) -> set[str]:
        """The keys of a row under which a field may stand inside another value."""
        nested = first_keys(key for key in self._every_key if not key.isidentifier())
        return nested.union(self.sides, (first_key for first_key, _ in MESSAGE_PATHS))

    @property
    def _every_key(self) -> Iterable[str]:
        """All keys of the schema."""
        return chain.from_iterable(self.flat_keys.values())

    # --- finding a field in a record ---

    def find_locations(
        self, record: Mapping[str, Any], keys: Mapping[str, Any], field: str
    ) -> list[tuple[str, Any]]:
        """Return the paths at which a field stands, each with its value. The path that counts stands first.

        The field is looked for in this order:

        1. under its keys;
        2. in the results of the retrievers of a trace;
        3. in a list of documents that is the only item of the record's inputs or outputs.

        A table may have a column for each path (``inputs.question``).

        Args:
            record: A record or a row.
            keys: The caller's; see `KeyParams`.
            field: One of `FIELDS`.
        """
        locations = self._find_under_keys(record, keys, field)
        if field in Conversation._fields:
            locations = self._find_in_conversation(record, keys, field, locations)
        has_named_key = keys.get(OPTIONS.get(field, "")) is not None
        if locations or has_named_key:
            return locations
        if field in ("stages", "searches"):
            return self._find_in_trace(record, keys, field)
        if field == "retrieved_contexts" and self.retrievals:
            if self._find_under_keys(record, keys, "stages"):
                return []  # the sample takes the contexts of the last stage
            retrieved = _join_retrieved(self.retrievals(record.get("run")), keys)
            if retrieved is not None:
                return [("", retrieved)]
        if field in TEXTS_OF.values():
            return self._find_unnamed_documents(record, field)
        return []

    def _find_in_conversation(
        self,
        record: Mapping[str, Any],
        keys: Mapping[str, Any],
        field: str,
        locations: list[tuple[str, Any]],
    ) -> list[tuple[str, Any]]:
        """Return the location of a field in the messages of a row, if these hold searches and no key holds texts.

        Else return the given locations.
        """
        if keys.get(OPTIONS[field]) is not None or any(_is_text(value) for _, value in locations):
            return locations
        conversation = find_conversation(record, keys.get("retriever"))
        if conversation is None or self._holds_retrieved(record, keys):
            return locations
        path, fields = conversation
        value = getattr(fields, field)
        return [(path, value)] if value else []

    def _holds_retrieved(self, record: Mapping[str, Any], keys: Mapping[str, Any]) -> bool:
        """Whether a key holds retrieved contexts, or the trace has a retriever or a reranker. Spans of tools do not count."""
        steps = self.retrievals(record.get("run")) if self.retrievals else ()
        if any(step.retrieves or step.reranks for step in steps):
            return True
        return any(self._find_under_keys(record, keys, name) for name in _FILLED_BY_SEARCHES)

    def _find_under_keys(
        self, record: Mapping[str, Any], keys: Mapping[str, Any], field: str
    ) -> list[tuple[str, Any]]:
        """Return the paths of a field's keys that a record has, each with its value."""
        key = keys.get(OPTIONS.get(field, ""))
        if callable(key):
            return [("", as_list(key(record)))]
        paths_in_side = self.keys_of_fields[field]
        paths_in_record = self.flat_keys[field]
        if key is not None:
            paths_in_side = (key,)
            paths_in_record = (key,)
        place = self.places.get(field, _NOWHERE)
        if not place.side:
            return _look_up_all(record, paths_in_record)
        side = place.side_of(record)
        holder = {"input": side, "output": side} if isinstance(side, str) else side
        has_documents = isinstance(_output_of(side), (list, tuple))
        locations: list[tuple[str, Any]] = []
        for path in paths_in_side:
            if key is None and path == "output" and has_documents:
                continue
            full_path = f"{place.side}.{path}"
            value = look_up(record, full_path) if side is None else look_up(holder, path)
            if value is not None:
                locations.append((full_path, value))
        return locations + _look_up_all(record, paths_in_record)

    def _find_unnamed_documents(self, record: Mapping[str, Any], field: str) -> list[tuple[str, Any]]:
        """Return the list of documents that is the only content of a field's side."""
        place = self.places.get(field, _NOWHERE)
        side = place.side_of(record)
        output = _output_of(side)
        if not isinstance(output, (list, tuple)) or are_messages(output) or are_typed_parts(output):
            return []
        if output and all(text_of(item) is None for item in output) and ids_of(output) is None:
            return []  # answers, or anything else that is no document
        if output is side:
            return [(place.side, output)]
        return [(f"{place.side}.output", output)]

    # --- reading the value of a field ---

    def _read_value(self, record: Mapping[str, Any], keys: Mapping[str, Any], field: str) -> Any:
        """Read the value of a field from a record; None if the record lacks it."""
        value = self._find(record, keys, field)
        # If a field of ids is absent, the documents in the matching field of texts may hold the ids.
        are_ids = value is not None
        if not are_ids and field in TEXTS_OF:
            value = self._find(record, keys, TEXTS_OF[field])
        if hasattr(value, "__next__"):
            raise SampleError(
                f"Field '{field}' is a {type(value).__name__}, which only the first metric could read. Write list(..)."
            )
        if value is None:
            return None
        if field in TEXTS_OF:
            check_single_document(value, field, is_id=are_ids)
            return self._read_ids(record, keys, field, wrap_in_list(value), are_ids=are_ids)
        if field not in TEXTS_OF.values():
            return value
        check_single_document(value, field)
        return wrap_in_list(value)

    def _read_ids(
        self,
        record: Mapping[str, Any],
        keys: Mapping[str, Any],
        field: str,
        items: Sequence[Any],
        *,
        are_ids: bool,
    ) -> list[Any]:
        """Read the id of each document of a field. A document without an id has None.

        Args:
            record: The record.
            keys: The caller's; see `KeyParams`.
            field: The field of ids.
            items: The documents or ids.
            are_ids: Whether the items stand in the field of ids itself: then a string or a number there is an id. In the
                field of texts it would be a text.

        Raises:
            SampleError: No document has an id, or a text stands among documents.
        """
        spans = labels_are_spans(
            self._find(record, keys, "reference_context_ids"),
            self._find(record, keys, "reference_contexts"),
            self.id_keys,
        )
        id_key = keys.get("id_key")
        items = keep_relevant(field, items)
        ids: list[Any] = []
        for item in items:
            if are_ids and isinstance(item, (str, int)):
                ids.append(item)
                continue
            id_ = self._read_document_id(item, id_key, spans=spans)
            if are_ids and id_ is None and not is_missing(item):
                id_ = item  # no id: the sample refuses the item, and shows it
            ids.append(id_)
        without_id = [index for index, id_ in enumerate(ids) if id_ is None]
        if without_id:
            has_some_id = len(without_id) < len(items)
            _check_without_id(field, items, without_id, id_key, may_lack_ids=are_ids or has_some_id)
        return ids

    def _find(self, record: Mapping[str, Any], keys: Mapping[str, Any], field: str) -> Any:
        """Find the first value of a field in a record."""
        return first_value(self.find_locations(record, keys, field))

    def _find_in_trace(
        self, record: Mapping[str, Any], keys: Mapping[str, Any], field: str
    ) -> list[tuple[str, Any]]:
        """Return the output of each retriever and reranker of a trace.

        Nothing is returned if the caller named the contexts, or if a key of the record holds them.
        Retrievers that were asked different questions are searches; else they are stages.
        """
        has_named_contexts = "retriever" in keys or "contexts_key" in keys
        if not self.retrievals or has_named_contexts:
            return []
        locations = self.find_locations(record, keys, "retrieved_contexts")
        if any(path for path, _ in locations):  # a key holds them; what a trace holds has no path
            return []
        steps = [*self.retrievals(record.get("run"))]
        searches = None if "id_key" in keys else to_searches(steps)
        if field == "searches":
            return [("", searches)] if searches else []
        if searches:
            return []
        stages: dict[str, dict[str, Any]] = {}
        for name, documents in (to_stages(steps) or {}).items():
            contexts = [_text_or_document(document) for document in documents]
            stages[name] = {"contexts": contexts}  # without ids: the sample's may stand elsewhere
        return [("", stages)] if stages else []

    def _read_document_id(self, item: Any, key: Any, *, spans: bool) -> Any:
        """Return the id of a document, or its span if spans serve as ids or it has no id; None if it has neither."""
        document = without_score(item)
        if callable(key):
            return key(document)
        if key is not None:
            return first_value_at(document, (f"metadata.{key}", key))
        id_ = first_value_at(document, self.id_keys)
        span = span_of(document)
        if span and (spans or id_ is None):
            return span
        return id_

    def _describe_search(self, record: Mapping[str, Any], keys: Mapping[str, Any], field: str) -> str:
        """Describe, for an error message, where a field was looked for and which keys are there."""
        place = self.places.get(field, _NOWHERE)
        side = place.side_of(record)
        holder = record
        where = "fields"
        if isinstance(side, Mapping):
            holder = side
            where = place.side
        present_keys = join_first(str(key)[:40] for key in holder)
        usual_names = join_first(self.keys_of_fields[field], _MAX_USUAL_NAMES_LISTED, mark=" / ")
        names = keys.get(OPTIONS[field]) or usual_names
        error = record.get("error")
        if error:
            return f"the run failed ({safe_text(error)})."
        hint = ""
        advice = f"name it with {OPTIONS[field]}="
        if field.startswith("retrieved") and self.hint:
            hint = f", {self.hint}"
        elif field == "reference" and self._find(record, keys, "reference_facts"):
            advice = f"count its facts with unit='fact', or {advice}"
        return f"no {names} in its {where} (there is: {present_keys or 'nothing'}){hint}; {advice}."


# --- values and documents ---------------------------------------------------------------------------------------------


def _look_up_all(record: Mapping[str, Any], paths: Iterable[str]) -> list[tuple[str, Any]]:
    """Return the paths that a record has, each with its value."""
    locations: list[tuple[str, Any]] = []
    for path in paths:
        value = look_up(record, path)
        if value is not None:
            locations.append((path, value))
    return locations


def _check_without_id(
    field: str, items: Sequence[Any], without_id: Sequence[int], key: Any, *, may_lack_ids: bool
) -> None:
    """Check items without an id. A document may lack an id if others have one; a text must not.

    Args:
        field: The field of ids.
        items: The items from which the ids were read.
        without_id: The indexes of the items without an id.
        key: The key of an id that the caller gave, for the message.
        may_lack_ids: Whether a document may lack one: another item has an id, or the items are the ids themselves.

    Raises:
        SampleError: An item must have an id.
    """
    texts_without_id = [index for index in without_id if isinstance(without_score(items[index]), str)]
    if not texts_without_id and may_lack_ids:
        return
    index = texts_without_id[0] if texts_without_id else 0
    type_name = type(without_score(items[index])).__name__
    raise SampleError(
        f"Field '{field}', item {index + 1}: a {type_name} has no {key or 'id'}. Say with id_key= "
        f"where ids stand (a metadata key, or a function of the document), or with "
        f"{OPTIONS[field]}= where a list of ids is."
    )


def _output_of(side: Any) -> Any:
    """Return the output in a side, or the side itself."""
    return look_up(side, "output") if hasattr(side, "items") else side


def _is_text(value: Any) -> bool:
    """Whether a value is a text that is not empty."""
    return isinstance(value, str) and value != ""


def _text_or_document(document: Any) -> Any:
    """Return the text of a document; the document itself if it has no text."""
    text = text_of(document)
    return document if text is None else text


def _join_retrieved(retrievals: Iterable[Retrieval], keys: Mapping[str, Any]) -> list[Any] | None:
    """Join the documents of the retrievers that the caller names; without a name, of those whose results no reranker used."""
    name = keys.get("retriever")
    steps = [step for step in retrievals if name is None or step.retrieves]
    if not steps:
        return None
    if name is None:
        chosen = find_unused_steps(steps)
    elif name == "last":
        chosen = steps[-1:]
    elif name == "all":
        chosen = steps
    elif callable(name):
        chosen = [step for step in steps if name(step.name)]
    else:
        chosen = [step for step in steps if step.name == name]
    if not chosen:
        raise SampleError(f"retriever={name!r} is none of: {', '.join(step.name for step in steps)}.")
    for step in chosen:
        if step.documents is None:
            raise SampleError(
                f"The retriever run {step.name!r} holds no documents: it failed, or hides its outputs."
            )
    return join_documents(chosen)
