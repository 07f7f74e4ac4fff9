"""The names of a sample's fields, where one system keeps them, and how they are read: a `Schema` is data.

A record may have sides (inputs, outputs, what was expected), as tracing frameworks keep them, or hold the fields
themselves. `Schema.read` reads a framework's record; rows of files and tables are read in `ctxmetrics.reading.rows`. Both
look at the same places.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import Any, TypedDict

from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.secrets import safe_text
from ctxmetrics.errors import MissingFieldError, ParameterError, SampleError
from ctxmetrics.reading.conversations import PLACES, Conversation, find_conversation
from ctxmetrics.reading.documents import (
    ID_KEYS,
    are_messages,
    as_list,
    first_of,
    labels_are_spans,
    look_up,
    relevant,
    span_of,
    text_of,
    to_list,
    unscored,
)
from ctxmetrics.reading.retrievals import Retrieval, handed_on, join_documents, to_searches, to_stages

# The most names that a message lists.
_MOST_NAMES = 12
# See `KeyParams`.
Key = str | Callable[[Mapping[str, Any]], Any]

# Each field that metrics look at, and the parameter that names its key.
OPTIONS: Mapping[str, str] = MappingProxyType(read_data("reading", "keys.json")["options"])
# Fields that may replace a field that is needed.
_INSTEAD = {
    "reference": "references",
    **dict.fromkeys(("retrieved_contexts", "retrieved_context_ids"), "stages"),
}
# Fields that the searches of a question fill.
_FILLED_BY_SEARCHES = frozenset({"retrieved_contexts", "retrieved_context_ids", "stages"})
# The names of all fields of a sample.
FIELDS = ("id", *OPTIONS, "labels", "metadata")
# Lists of ids, and the lists of documents that they belong to.
TEXTS_OF: Mapping[str, str] = MappingProxyType(
    {"retrieved_context_ids": "retrieved_contexts", "reference_context_ids": "reference_contexts"}
)
# Fields that hold a list, and those that hold a text.
LISTS = frozenset({*TEXTS_OF, *TEXTS_OF.values(), "reference_facts", "references"})
TEXTS = frozenset({"id", "user_input", "response", "reference"})


class KeyParams(TypedDict, total=False):
    """Where the fields stand when they are not in their usual places.

    ``question_key``, ``answer_key``, ``contexts_key``, ``reference_key``, ``references_key``, ``facts_key``,
    ``reference_contexts_key``, ``retrieved_ids_key``, ``reference_ids_key``, ``stages_key``, ``searches_key``: a key or dotted
    path in the field's side, a path from the whole record (``inputs.contexts``), or a function of the record. ``id_key``: a
    document's id, as a metadata key or a function of the document; else its ``id``. ``retriever``: where several retrievers ran
    and no key holds what they found, those that count: ``"all"`` (joined in the order in which they began), ``"last"``, the name
    of one, or a function of a name. Without it, those that no reranker chose from are joined, and all are the stages. In
    messages, a name or a function says which tools search.
    """

    question_key: Key
    answer_key: Key
    contexts_key: Key
    reference_key: Key
    references_key: Key
    facts_key: Key
    reference_contexts_key: Key
    retrieved_ids_key: Key
    reference_ids_key: Key
    stages_key: Key
    searches_key: Key
    id_key: Key | Callable[[Any], Any]
    retriever: str | Callable[[str], bool]


def heads_of(paths: Iterable[str]) -> set[str]:
    """Return the first key of each path; that of ``hits[].text`` is ``hits``, or ``hits[]`` where a key has brackets."""
    heads = {path.partition(".")[0] for path in paths}
    return heads | {head.partition("[")[0] for head in heads}


def first_value(spots: list[tuple[str, Any]]) -> Any:
    """Return what stands at the first of several places, or None."""
    return spots[0][1] if spots else None


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a sentence that names the nearest known name, or nothing."""
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.3)
    return f" Did you mean '{near[0]}'?" if near else ""


def some_of(names: Iterable[object], most: int = _MOST_NAMES) -> str:
    """Return the first names, and how many more there are."""
    texts = [str(name)[:60] for name in names]
    first = ", ".join(texts[:most])
    return first if len(texts) <= most else f"{first} and {len(texts) - most} more"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a field of a sample stands in a record.

    Attributes:
        side: Name of its side; empty where the record holds the field itself.
        keys: Its usual keys there beside its own name, in the order they are looked for. A key with dots is a path.
    """

    side: str
    keys: tuple[str, ...]

    @classmethod
    def of(cls, side: str, keys: str) -> Place:
        """Write the keys as one text."""
        return cls(side, tuple(keys.split()))


_NOWHERE = Place("", ())


@dataclass(frozen=True, kw_only=True, eq=False)
class Schema:
    """Where one system keeps the fields, and how they are read.

    Attributes:
        places: Where each field stands. In a mapping without sides, a key belongs to the first field that lists it: an
            ``answer`` is the response there, never the reference.
        single_string: Whether a row may have one document or text in place of a list; a record always
            may.
        separator: What stands between the texts of a list that a file has as one text.
        carried: Keys of a row that no metric needs; they become metadata.
        id_keys: Where a document's id is looked for.
        retrievals: What retrievers and rerankers handed on in the record's ``run``, in the order in which they began;
            asked where no key holds what was retrieved.
        hint: A clause of the message when nothing retrieved is found.
        evaluation: Names the framework's evaluation that a record is scored in, where the framework shows one.
        package: The adapter's package, which warnings name as their place.
        judge_option: What a user of the adapter writes for an LLM judge.
        marks: Paths that a row has if it is of this system; see `ctxmetrics.reading.formats`.
    """

    places: Mapping[str, Place]
    single_string: bool = False
    separator: str | None = None
    carried: frozenset[str] = frozenset()
    id_keys: tuple[str, ...] = ID_KEYS
    retrievals: Callable[[Any], Iterable[Retrieval]] | None = None
    hint: str = ""
    evaluation: Callable[[Mapping[str, Any]], str | None] | None = None
    package: str = "ctxmetrics"
    judge_option: str = "judge=LLMJudge(model)"
    marks: tuple[str, ...] = ()

    def check(self, keys: Mapping[str, Any]) -> None:
        """Raise unless the caller's keys are known, and strings or functions.

        Raises:
            ParameterError: Names the key, and the nearest known one.
        """
        for name, key in keys.items():
            if name not in KeyParams.__optional_keys__:
                raise ParameterError(
                    f"Unknown parameter '{name}'.{nearest(name, KeyParams.__optional_keys__)}"
                )
            if not isinstance(key, str) and not callable(key):
                raise ParameterError(f"{name}={key!r} must be a string or a function.")

    def read(
        self,
        record: Mapping[str, Any],
        keys: Mapping[str, Any],
        requires: Iterable[str],
        uses: Iterable[str] = (),
    ) -> dict[str, Any]:
        """Read the fields that a metric looks at out of a framework's record; of several keys the first counts.

        Args:
            record: See the module. Its ``id`` names the sample, its ``error`` says why there is nothing.
            keys: The caller's; see `KeyParams`.
            requires: Fields that must be there.
            uses: Fields that are read where they are there.

        Returns:
            The arguments of a `Sample`.

        Raises:
            MissingFieldError: A required field is nowhere, or one whose key was named.
            SampleError: A document has no id.
        """
        required, name = tuple(requires), record.get("id")
        who = "The sample" if name is None else f"Sample {name!r}"
        values = {field: self._value(record, keys, field) for field in required}
        for field in uses:
            try:
                values[field] = self._value(record, keys, field)
            except SampleError:  # documents without ids
                values[field] = None
        retrieved = [field for field in required if field.startswith("retrieved")]
        searches = values.get("searches")
        if retrieved and not searches:
            searches = self._find(record, keys, "searches")
        if searches:
            values.update(dict.fromkeys(_FILLED_BY_SEARCHES & values.keys()), searches=searches)
        elif any(values[field] is None for field in retrieved):
            values["stages"] = self._find(record, keys, "stages")  # the last of them
        for field, value in values.items():
            filled = searches is not None and field in _FILLED_BY_SEARCHES
            instead = filled or values.get(_INSTEAD.get(field, "")) is not None
            if value is None and not instead and (field in required or OPTIONS[field] in keys):
                raise MissingFieldError(f"{who} has no {field}: {self._looked(record, keys, field)}")
        return {"id": name, **values}

    def record(self, fields: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Write a sample's fields (`Sample.to_dict`) as a record with all its sides: what `read` reads."""
        record: dict[str, dict[str, Any]] = {}
        for name, place in self.places.items():
            side = record.setdefault(place.side, {})
            if name in fields:
                side[name] = fields[name]
        return record

    @cached_property
    def keys_of_fields(self) -> dict[str, tuple[str, ...]]:
        """The keys of each field in its place, its own name first."""
        return {
            field: tuple(dict.fromkeys((field, *self.places.get(field, _NOWHERE).keys)))
            for field in FIELDS
        }

    @cached_property
    def flat_keys(self) -> dict[str, tuple[str, ...]]:
        """The keys of each field in a mapping without sides: those that no earlier field lists."""
        owners: dict[str, str] = {}
        for field in (*self.places, *FIELDS):
            for key in self.keys_of_fields[field]:
                owners.setdefault(key, field)
        flat_keys: dict[str, tuple[str, ...]] = {}
        for field, keys in self.keys_of_fields.items():
            flat_keys[field] = tuple(key for key in keys if owners[key] == field)
        return flat_keys

    @cached_property
    def sides(self) -> frozenset[str]:
        """The names of the sides."""
        return frozenset(place.side for place in self.places.values() if place.side)

    @cached_property
    def heads(self) -> frozenset[str]:
        """The keys that hold several fields: the sides, and the beginnings of paths."""
        nested = [key for key in self._every_key if "." in key]
        return self.sides | heads_of(nested)

    @cached_property
    def known_keys(self) -> frozenset[str]:
        """The keys that a row may have."""
        return self.sides | self.carried | heads_of(self._every_key)

    @cached_property
    def holders(self) -> set[str]:
        """The keys of lists in which a field may stand: whether it does depends on what their items hold."""
        nested = heads_of(key for key in self._every_key if not key.isidentifier())
        return nested.union(self.sides, (head for head, _ in PLACES))

    @property
    def _every_key(self) -> Iterable[str]:
        return chain.from_iterable(self.flat_keys.values())

    def spots(
        self, record: Mapping[str, Any], keys: Mapping[str, Any], field: str
    ) -> list[tuple[str, Any]]:
        """Return where a field stands and what stands there, in the order in which it counts.

        That is under its keys; else what retrievers found; else a list that is all there is on the field's side, which
        holds documents and no text. A table may have a column for each path (``inputs.question``).

        Args:
            record: A record or a row.
            keys: The caller's; see `KeyParams`.
            field: One of `FIELDS`.
        """
        spots = self._spots_under_keys(record, keys, field)
        if field in Conversation._fields:
            spots = self._conversation_spots(record, keys, field, spots)
        if spots or keys.get(OPTIONS.get(field, "")) is not None:
            return spots
        if field in ("stages", "searches"):
            return self._traced(record, keys, field)
        if field == "retrieved_contexts" and self.retrievals:
            if self._spots_under_keys(record, keys, "stages"):  # the last of them
                return []
            retrieved = _retrieved(self.retrievals(record.get("run")), keys)
            if retrieved is not None:
                return [("", retrieved)]
        if field in TEXTS_OF.values():
            return self._unnamed_documents(record, field)
        return []

    def _conversation_spots(
        self,
        record: Mapping[str, Any],
        keys: Mapping[str, Any],
        field: str,
        spots: list[tuple[str, Any]],
    ) -> list[tuple[str, Any]]:
        """Return where a field stands, or what the messages of a row say of it, where they hold searches and no key holds texts."""
        if keys.get(OPTIONS[field]) is not None or any(_is_text(value) for _, value in spots):
            return spots
        conversation = find_conversation(record, keys.get("retriever"))
        if conversation is None or self._holds_retrieved(record, keys):
            return spots
        path, fields = conversation
        value = getattr(fields, field)
        return [(path, value)] if value else []

    def _holds_retrieved(self, record: Mapping[str, Any], keys: Mapping[str, Any]) -> bool:
        """Whether a key holds what was retrieved, or spans of retrievers do."""
        steps = self.retrievals(record.get("run")) if self.retrievals else ()
        if any(step.retrieves or step.reranks for step in steps):  # and not those of tools
            return True
        return any(self._spots_under_keys(record, keys, name) for name in _FILLED_BY_SEARCHES)

    def _spots_under_keys(
        self, record: Mapping[str, Any], keys: Mapping[str, Any], field: str
    ) -> list[tuple[str, Any]]:
        """Return where a field stands under its keys, and what stands there."""
        key = keys.get(OPTIONS.get(field, ""))
        if callable(key):
            return [("", as_list(key(record)))]
        own, flat = self.keys_of_fields[field], self.flat_keys[field]
        if key is not None:
            own = flat = (key,)
        place = self.places.get(field, _NOWHERE)
        side = record.get(place.side)
        holder = {"input": side, "output": side} if isinstance(side, str) else side
        has_documents = isinstance(_output_of(side), (list, tuple))
        spots: list[tuple[str, Any]] = []
        for path in own:
            if key is None and path == "output" and has_documents:
                continue
            full_path = f"{place.side}.{path}"
            value = look_up(record, full_path) if side is None else look_up(holder, path)
            if value is not None:
                spots.append((full_path, value))
        for path in flat:
            value = look_up(record, path)
            if value is not None:
                spots.append((path, value))
        return spots

    def _unnamed_documents(self, record: Mapping[str, Any], field: str) -> list[tuple[str, Any]]:
        """Return the list of documents that is all there is on a field's side."""
        place = self.places.get(field, _NOWHERE)
        side = record.get(place.side)
        output = _output_of(side)
        if not isinstance(output, (list, tuple)) or are_messages(output):
            return []
        if output is side:
            return [(place.side, output)]
        return [(f"{place.side}.output", output)]

    def _value(self, record: Mapping[str, Any], keys: Mapping[str, Any], field: str) -> Any:
        value = self._find(record, keys, field)
        are_ids = value is not None
        if not are_ids and field in TEXTS_OF:
            value = self._find(record, keys, TEXTS_OF[field])
        if hasattr(value, "__next__"):
            raise SampleError(
                f"Field '{field}' is a {type(value).__name__}, which only the first metric could read. Write list(..)."
            )
        if value is None:
            return None
        if field in TEXTS_OF.values():
            return to_list(value)
        if field not in TEXTS_OF:
            return value
        spans = labels_are_spans(
            self._find(record, keys, "reference_context_ids"),
            self._find(record, keys, "reference_contexts"),
            self.id_keys,
        )
        ids: list[Any] = []
        for number, item in enumerate(relevant(field, to_list(value)), 1):
            # An id may stand for itself, the text of a document may not.
            if not are_ids or not isinstance(item, (str, int)):
                item = self._id(item, keys.get("id_key"), field, number, spans=spans)  # noqa: PLW2901 - its id
            ids.append(item)
        return ids

    def _find(self, record: Mapping[str, Any], keys: Mapping[str, Any], field: str) -> Any:
        return first_value(self.spots(record, keys, field))

    def _traced(
        self, record: Mapping[str, Any], keys: Mapping[str, Any], field: str
    ) -> list[tuple[str, Any]]:
        """Return what each retriever and reranker handed on, where that is what was retrieved and nothing is named.

        Retrievers that were asked different questions are searches; else they are stages.
        """
        if not self.retrievals or keys.keys() & {"retriever", "contexts_key"}:
            return []
        if any(place for place, _ in self.spots(record, keys, "retrieved_contexts")):
            return []
        steps = [*self.retrievals(record.get("run"))]
        searches = None if "id_key" in keys else to_searches(steps)
        if field == "searches" or searches:
            return [("", searches)] if searches and field == "searches" else []
        texts: dict[str, dict[str, Any]] = {}
        for name, documents in (to_stages(steps) or {}).items():
            contexts = [_text_or_document(document) for document in documents]
            texts[name] = {"contexts": contexts}  # without ids: the sample's may stand elsewhere
        return [("", texts)] if texts else []

    def _id(self, item: Any, key: Any, field: str, number: int, *, spans: bool) -> Any:
        document = unscored(item)
        id_: Any = None
        if callable(key):
            id_ = key(document)
        elif key is not None:
            id_ = first_of(document, (f"metadata.{key}", key))
        else:
            id_ = first_of(document, self.id_keys)
            span = span_of(document)
            if span and (spans or id_ is None):
                id_ = span
        if id_ is None:
            raise SampleError(
                f"Field '{field}', item {number}: a {type(document).__name__} has no {key or 'id'}. Say with id_key= "
                f"where ids stand (a metadata key, or a function of the document), or with "
                f"{OPTIONS[field]}= where a list of ids is."
            )
        return id_

    def _looked(self, record: Mapping[str, Any], keys: Mapping[str, Any], field: str) -> str:
        place = self.places.get(field, _NOWHERE)
        side = record.get(place.side)
        holder, where = record, "fields"
        if isinstance(side, Mapping):
            holder, where = side, place.side
        there = some_of(str(key)[:40] for key in holder)
        names = keys.get(OPTIONS[field]) or " / ".join(self.keys_of_fields[field])
        error = record.get("error")
        if error:
            return f"the run failed ({safe_text(error)})."
        hint, way = "", f"name it with {OPTIONS[field]}="
        if field.startswith("retrieved") and self.hint:
            hint = f", {self.hint}"
        elif field == "reference" and self._find(record, keys, "reference_facts"):
            way = f"count its facts with unit='fact', or {way}"
        return f"no {names} in its {where} (there is: {there or 'nothing'}){hint}; {way}."


def _output_of(side: Any) -> Any:
    return look_up(side, "output") if hasattr(side, "items") else side


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _text_or_document(document: Any) -> Any:
    text = text_of(document)
    return document if text is None else text


def _retrieved(retrievals: Iterable[Retrieval], keys: Mapping[str, Any]) -> list[Any] | None:
    """Join the documents of the retrievers that count: those that the caller names, else those no reranker chose from."""
    name = keys.get("retriever")
    steps = [step for step in retrievals if name is None or step.retrieves]
    if not steps:
        return None
    if name is None:
        chosen = handed_on(steps)
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
