"""Where the fields of a sample stand: in a file's row, in a table's row, in a framework's record.

What a system calls the fields is data: a `Schema`. Its two ways to read, `read_row` and `Schema.read`, look at the same
places. A record may have sides (inputs, outputs, what was expected), as tracing frameworks keep them, or hold the
fields themselves.

A document is a text, a mapping with its text under a usual key, an object with an attribute of that name, or a pair of
one of these and a number (its score). `text_of` and `ids_of` are the one rule for its text and its id. Where the
reference ids are spans (``SOURCE#char=START,END``), the ids of retrieved documents are their spans: see `span_of`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypedDict, Union

from ctxmetrics._secrets import safe_text
from ctxmetrics.errors import (
    AmbiguousFieldError,
    MissingFieldError,
    ParameterError,
    SampleError,
    UnknownFieldError,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

# See `KeyParams`.
Key = Union[str, Callable[[Mapping[str, Any]], Any]]  # noqa: UP007 - a runtime alias; `str | Callable[..]` is none on 3.10

# Each field that metrics look at, and the parameter that names its key.
OPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "user_input": "question_key",
        "response": "answer_key",
        "reference": "reference_key",
        "reference_facts": "facts_key",
        "retrieved_contexts": "contexts_key",
        "reference_contexts": "reference_contexts_key",
        "retrieved_context_ids": "retrieved_ids_key",
        "reference_context_ids": "reference_ids_key",
    }
)
# The names of all fields of a sample.
FIELDS = ("id", *OPTIONS, "labels", "metadata")
# Lists of ids, and the lists of documents that they belong to.
TEXTS_OF: Mapping[str, str] = MappingProxyType(
    {"retrieved_context_ids": "retrieved_contexts", "reference_context_ids": "reference_contexts"}
)
# Where a document's text is looked for, and its id.
TEXT_KEYS = ("page_content", "text", "content", "context", "chunk")
ID_KEYS = ("id", "doc_id", "document_id", "source")
# Where a document says at which character of its source it begins, where it ends, and what its source is: LangChain
# (``add_start_index=True``), LlamaIndex, Haystack, and mappings without metadata.
_STARTS = (
    "metadata.start_index", "start_char_idx", "node.start_char_idx", "meta.split_idx_start", "start_index",
    "split_idx_start",
)  # fmt: skip
_ENDS = ("end_char_idx", "node.end_char_idx")
_SOURCES = (
    "metadata.source", "metadata.file_path", "node.metadata.file_path", "meta.file_path", "meta.source",
    "meta.source_id", "ref_doc_id", "node.ref_doc_id", "source", "file_path", "metadata.file_name",
    "node.metadata.file_name",
)  # fmt: skip
# What stands between the source and the characters in the id of a span: RFC 5147.
SPAN_MARK = "#char="
# Where a label says how relevant a document is: those of grade 0 are not what should have been retrieved.
_GRADES = ("relevance", "query_relevance_label")
# Where facts stand in every schema.
_FACTS = "expected_facts"
_SHOWN_KEYS = 10


class KeyParams(TypedDict, total=False):
    """Where things stand when not in their usual places.

    ``question_key``, ``answer_key``, ``contexts_key``, ``reference_key``, ``facts_key``,
    ``reference_contexts_key``, ``retrieved_ids_key``, ``reference_ids_key``: a key or dotted path in the field's side, a path from the whole
    record (``inputs.contexts``), or a function of the record. ``id_key``: a document's id, as a metadata key or a
    function of the document; else its ``id``. ``retriever``: where several retrievers ran and no key holds what
    they found, those that count: ``"all"`` (the default; joined in the order in which they began), ``"last"``, the
    name of one, or a function of a name.
    """

    question_key: Key
    answer_key: Key
    contexts_key: Key
    reference_key: Key
    facts_key: Key
    reference_contexts_key: Key
    retrieved_ids_key: Key
    reference_ids_key: Key
    id_key: Key | Callable[[Any], Any]
    retriever: str | Callable[[str], bool]


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
        single_string: Whether a row may have one document or text where a list is meant; a record always may.
        carried: Keys of a row that no metric needs; they go into the metadata.
        id_keys: Where a document's id is looked for.
        retrievals: What retrievers found in the record's ``run``, each as its name and its documents, in the order in
            which they began; asked where no key holds what was retrieved.
        hint: Added to the message when nothing retrieved is found.
        evaluation: Names the framework's evaluation that a record is scored in, where the framework shows one.
        package: The adapter's package, which warnings name as their place.
        judge_option: What a user of the adapter writes for an LLM judge.
    """

    places: Mapping[str, Place]
    single_string: bool = False
    carried: frozenset[str] = frozenset()
    id_keys: tuple[str, ...] = ID_KEYS
    retrievals: Callable[[Any], Iterable[tuple[str, Any]]] | None = None
    hint: str = ""
    evaluation: Callable[[Mapping[str, Any]], str | None] | None = None
    package: str = "ctxmetrics"
    judge_option: str = "judge=LLMJudge(model)"

    def check(self, keys: Mapping[str, Any]) -> None:
        """Raise unless the caller's keys are known, and strings or functions.

        Raises:
            ParameterError: Names the key, and the nearest known one.
        """
        for name, key in keys.items():
            if name not in KeyParams.__optional_keys__:
                raise ParameterError(f"Unknown parameter '{name}'.{_near(name, KeyParams.__optional_keys__)}")
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
            uses: Fields that are taken along where they are.

        Returns:
            The arguments of a `Sample`.

        Raises:
            MissingFieldError: A required field is nowhere, or one whose key was named.
            SampleError: A document has no id.
        """
        required, name = tuple(requires), record.get("id")
        who = "The sample" if name is None else f"Sample {name!r}"
        values = {field: self._value(record, keys, field) for field in (*required, *uses)}
        for field, value in values.items():
            if value is None and (field in required or OPTIONS[field] in keys):
                raise MissingFieldError(f"{who} has no {field}: {self._looked(record, keys, field)}")
        return {"id": name, **values}

    def row(self, mapping: Mapping[str, Any], schema: str, where: str | None) -> dict[str, Any]:
        """Read all fields out of a row; see `read_row`."""
        name = self._find(mapping, {}, "id")
        who = (where or "Sample") if name is None else f"Sample {str(name)[:80]!r}"
        check_keys(mapping, self.known_keys, who, schema)
        values = self._all(mapping, who)
        spans = labels_are_spans(
            values.get("reference_context_ids"), values.get("reference_contexts"), self.id_keys
        )
        for ids, texts in TEXTS_OF.items():
            if self.single_string and texts in values:
                if isinstance(values[texts], str) and values[texts].lstrip()[:2] in ('["', "[{"):
                    raise SampleError(
                        f"{who}: field '{texts}' is a list that is written as a text. Read it with json.loads first."
                    )
                values[texts] = listed(values[texts])
            if ids not in values and (found := ids_of(values.get(texts), self.id_keys, spans=spans)):
                values[ids] = found
        if isinstance(reference := values.get("reference"), list):
            if len(reference) != 1:
                raise SampleError(
                    f"{who}: field 'reference' holds {len(reference)} answers. Give one sample an answer."
                )
            values["reference"] = reference[0]
        carried = {key: mapping[key] for key in self.carried if mapping.get(key) is not None}
        if carried := {**carried, **self._others(mapping)}:
            values["metadata"] = {**(values.get("metadata") or {}), **carried}
        return values

    def record(self, fields: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Write a sample's fields (`Sample.to_dict`) as a record with all its sides: what `read` reads."""
        sides: dict[str, dict[str, Any]] = {place.side: {} for place in self.places.values()}
        for name, place in self.places.items():
            if name in fields:
                sides[place.side][name] = fields[name]
        return sides

    @cached_property
    def _keys(self) -> dict[str, tuple[str, ...]]:
        """The keys of each field in its place, its own name first."""
        given = {field: place.keys for field, place in self.places.items()}
        return {field: tuple(dict.fromkeys((field, *given.get(field, ())))) for field in FIELDS}

    @cached_property
    def flat_keys(self) -> dict[str, tuple[str, ...]]:
        """The keys of each field in a mapping without sides: those that no earlier field lists."""
        owners: dict[str, str] = {}
        for field in (*self.places, *FIELDS):
            for key in self._keys[field]:
                owners.setdefault(key, field)
        return {
            field: tuple(key for key in keys if owners[key] == field) for field, keys in self._keys.items()
        }

    def column_of(self, field: str, columns: Collection[str]) -> str | None:
        """Return the column in which a field stands; None where none has it, several have, or one is nested."""
        place, keys = self.places.get(field, _NOWHERE), self.flat_keys[field]
        found = [key for key in keys if key in columns]
        nested = {place.side, *(key.partition(".")[0] for key in keys if "." in key)}
        return found[0] if len(found) == 1 and nested.isdisjoint(columns) else None

    @cached_property
    def known_keys(self) -> frozenset[str]:
        """The keys that a row may have."""
        heads = {key.partition(".")[0] for keys in self.flat_keys.values() for key in keys}
        return frozenset(heads | {place.side for place in self.places.values() if place.side} | self.carried)

    def _spots(self, record: Mapping[str, Any], keys: Mapping[str, Any], field: str) -> list[tuple[str, Any]]:
        """Return where a field stands and what stands there, in the order in which it counts.

        That is under its keys; else what retrievers found; else a list that is all there is on the field's side, which
        holds documents and no text.
        """
        key, place = keys.get(OPTIONS.get(field, "")), self.places.get(field, _NOWHERE)
        if callable(key):
            return [("", key(record))]
        own, flat = (self._keys[field], self.flat_keys[field]) if key is None else ((key,), (key,))
        side = record.get(place.side)
        holder = {"input": side, "output": side} if isinstance(side, str) else side
        output = look_up(side, "output") if hasattr(side, "items") else side
        documents = output if isinstance(output, (list, tuple)) else None
        spots = [
            (f"{place.side}.{path}", look_up(holder, path))
            for path in own
            if key is not None or path != "output" or documents is None
        ]
        spots += [(path, look_up(record, path)) for path in flat]
        found = [spot for spot in spots if spot[1] is not None]
        if found or key is not None or field not in TEXTS_OF.values():
            return found
        retrieved = self._retrieved(record, keys) if field == "retrieved_contexts" else None
        others = documents if retrieved is None else retrieved
        return [] if others is None else [("", others)]

    def _all(self, mapping: Mapping[str, Any], who: str) -> dict[str, Any]:
        """Return every field that stands in a row; what stands there twice must be equal."""
        values: dict[str, Any] = {}
        for field in FIELDS:
            for key, value in self._spots(mapping, {}, field):
                if values.setdefault(field, value) != value:
                    first = self._spots(mapping, {}, field)[0][0]
                    raise SampleError(
                        f"{who}: both '{first}' and '{key}' are given for '{field}'. Keep one of them."
                    )
        return values

    def _others(self, mapping: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return what the sides of a row hold beside the fields, by side."""
        found: dict[str, dict[str, Any]] = {}
        for side in {place.side for place in self.places.values() if place.side}:
            held: Any = mapping.get(side)
            fields = [field for field, place in self.places.items() if place.side == side]
            known = {key.partition(".")[0] for field in fields for key in self._keys[field]}
            items = held.items() if hasattr(held, "items") else ()
            if rest := {key: value for key, value in items if key not in known}:
                found[side] = rest
        return found

    def _value(self, record: Mapping[str, Any], keys: Mapping[str, Any], field: str) -> Any:
        found = self._find(record, keys, field)
        if field in TEXTS_OF:
            given = found is not None  # a given id may stand for itself, the text of a document may not
            if not given:
                found = self._find(record, keys, TEXTS_OF[field])
            if found is None:
                return None
            spans = labels_are_spans(
                self._find(record, keys, "reference_context_ids"),
                self._find(record, keys, "reference_contexts"),
                self.id_keys,
            )
            return [
                item
                if given and isinstance(item, (str, int))
                else self._id(item, keys.get("id_key"), field, number, spans=spans)
                for number, item in enumerate(listed(found), 1)
            ]
        return listed(found) if field in TEXTS_OF.values() and found is not None else found

    def _find(self, record: Mapping[str, Any], keys: Mapping[str, Any], field: str) -> Any:
        return next((value for _, value in self._spots(record, keys, field)), None)

    def _retrieved(self, record: Mapping[str, Any], keys: Mapping[str, Any]) -> list[Any] | None:
        """Join the documents of the retrievers that count."""
        found = list(self.retrievals(record.get("run"))) if self.retrievals else []
        if not found:
            return None
        wanted = keys.get("retriever", "all")
        chosen = {"all": found, "last": found[-1:]}.get(wanted)
        if chosen is None:
            chosen = [item for item in found if (wanted(item[0]) if callable(wanted) else item[0] == wanted)]
        if not chosen:
            raise SampleError(f"retriever={wanted!r} is none of: {', '.join(name for name, _ in found)}.")
        for name, documents in chosen:
            if documents is None:
                raise SampleError(
                    f"The retriever run {name!r} holds no documents: it failed, or hides its outputs."
                )
        return [document for _, documents in chosen for document in listed(documents)]

    def _id(self, item: Any, key: Any, field: str, number: int, *, spans: bool) -> Any:
        document = _unscored(item)
        if callable(key):
            found = key(document)
        elif spans and key is None and (span := span_of(document)):
            found = span
        else:
            found = None if key is None else look_up(look_up(document, "metadata"), key)
            found = _first(document, (key,) if key else self.id_keys) if found is None else found
        found = span_of(document) if found is None and key is None else found
        if found is None:
            raise SampleError(
                f"Field '{field}', item {number}: a {type(document).__name__} has no {key or 'id'}. Say with id_key= "
                f"where ids stand (a metadata key, or a function of the document), or with "
                f"{OPTIONS[field]}= where a list of ids is."
            )
        return found

    def _looked(self, record: Mapping[str, Any], keys: Mapping[str, Any], field: str) -> str:
        place = self.places[field]
        side = record.get(place.side)
        holder = side if isinstance(side, Mapping) else record
        there = ", ".join(str(key)[:40] for key in list(holder)[:_SHOWN_KEYS]) or "nothing"
        tried = keys.get(OPTIONS[field]) or " / ".join(self._keys[field])
        if error := record.get("error"):
            return f"the run failed ({safe_text(error)})."
        hint = f" {self.hint}" if field.startswith("retrieved") and self.hint else ""
        if field == "reference" and self._find(record, keys, "reference_facts"):
            hint = " There are facts: count them with unit='fact'."
        return f"no {tried} in its {place.side if holder is side else 'fields'} (there is: {there}).{hint} Name it with {OPTIONS[field]}=."


def read_row(mapping: Mapping[str, Any], schema: str = "ragas", where: str | None = None) -> dict[str, Any]:
    """Read a row of a file or a table: every field that a system's words name.

    Args:
        mapping: The row.
        schema: Whose words the keys are: one of `SCHEMAS`. Our own names are understood in each.
        where: What error messages call the sample while it has no id, such as ``"line 7"``.

    Returns:
        The arguments of a `Sample`.

    Raises:
        ParameterError: No such schema.
        UnknownFieldError: A key is no field of the schema; the message names the nearest one.
        AmbiguousFieldError: A key means different things in different systems.
        SampleError: Two keys name the same field and differ, or the schema cannot carry what the row holds.
    """
    if schema not in SCHEMAS:
        raise ParameterError(f"schema={schema!r} is unknown. Choose from: {', '.join(SCHEMAS)}.")
    if not hasattr(mapping, "items"):
        raise SampleError(f"{where or 'Sample'} must be a mapping of fields, not {type(mapping).__name__}.")
    return SCHEMAS[schema].row(mapping, schema, where)


def check_keys(keys: Iterable[str], known: Iterable[str], who: str, schema: str) -> None:
    """Refuse keys that no field has.

    Raises:
        AmbiguousFieldError: The key is ``context``, which means the retrieved text in some systems and the ideal
            one in others.
        UnknownFieldError: Any other unknown key.
    """
    known = frozenset(known)
    for key in keys:
        if key in known:
            continue
        if key == "context":
            raise AmbiguousFieldError(
                f"{who}: field 'context' means the retrieved text in some systems and the ideal one in others. "
                "Name the system with schema= (for example 'aegis' or 'deepeval'), "
                "or write 'retrieved_contexts' or 'reference_contexts'."
            )
        if key == "page_content":
            raise UnknownFieldError(
                f"{who}: 'page_content' makes this a document, not a sample. A sample holds its documents in the "
                "list 'retrieved_contexts', beside 'user_input' and 'reference'."
            )
        raise UnknownFieldError(
            f"{who}: unknown field '{str(key)[:80]}' (schema '{schema}').{_near(str(key), known)} "
            "Anything of your own belongs into 'metadata'."
        )


def text_of(item: Any) -> Any:
    """Return the text of a document (see the module), or None where it has none."""
    document = _unscored(item)
    return document if isinstance(document, str) else _first(document, TEXT_KEYS)


def ids_of(documents: Any, keys: tuple[str, ...] = ID_KEYS, *, spans: bool = False) -> list[Any] | None:
    """Return the ids of documents, or None unless each of them has one.

    Args:
        documents: The documents.
        keys: Where an id is looked for.
        spans: Whether their spans are wanted instead, where each of them has one.
    """
    items = [_unscored(item) for item in listed(documents)] if documents else []
    if any(isinstance(item, str) for item in items):  # a text has no id
        return None
    found = [_first(item, keys) for item in items]
    usable = all(isinstance(id_, (str, Integral)) and not isinstance(id_, bool) for id_ in found)
    if spans and items and all(places := [span_of(item) for item in items]):
        return places
    return found if items and usable else None


def span_of(item: Any) -> str | None:
    """Return where a document's text stands in its source, as ``SOURCE#char=START,END``; None where it does not say.

    Characters count from 0, the end is excluded. The end is what the document says, else the start and the length of
    its text.
    """
    document = _unscored(item)
    if isinstance(document, str):
        return None
    source, start, end = (_first(document, keys) for keys in (_SOURCES, _STARTS, _ENDS))
    if end is None and isinstance(start, Integral):
        text = text_of(document)
        end = start + len(text) if isinstance(text, str) else None
    if not isinstance(source, str) or not isinstance(start, Integral) or not isinstance(end, Integral):
        return None
    first, last = int(start), int(end)
    return write_span(source, first, last) if 0 <= first < last else None


def write_span(source: str, start: int, end: int) -> str:
    """Return the id of a span of a source: characters from 0, the end excluded."""
    return f"{source}{SPAN_MARK}{start},{end}"


def in_spans(ids: Any) -> bool:
    """Whether ids say where their texts stand."""
    listed_ids = ids if isinstance(ids, (list, tuple)) else ()
    return any(isinstance(id_, str) and SPAN_MARK in id_ for id_ in listed_ids)


def labels_are_spans(ids: Any, documents: Any, keys: tuple[str, ...] = ID_KEYS) -> bool:
    """Whether labels say where their texts stand: as ids that are spans, or as documents without an id that have spans.

    Args:
        ids: The reference ids; None where there are none.
        documents: The reference documents.
        keys: Where a document's id is looked for.
    """
    if ids is not None:
        return in_spans(ids)
    items = documents if isinstance(documents, (list, tuple)) else ()
    return bool(items) and all(span_of(item) and own_id(item, keys) is None for item in items)


def own_id(item: Any, keys: tuple[str, ...] = ID_KEYS) -> Any:
    """Return a document's id, or None: its source alone is none, since other documents have it too."""
    return _first(_unscored(item), tuple(key for key in keys if key != "source"))


def relevant(items: Iterable[Any]) -> list[Any]:
    """Return what should have been retrieved: all but the documents and ids that a label grades 0 or less."""
    graded = ((item, None if isinstance(item, str) else _first(item, _GRADES)) for item in items)
    return [item for item, grade in graded if not isinstance(grade, Real) or float(grade) > 0]


def look_up(holder: Any, path: str) -> Any:
    """Return what stands at a dotted path of mappings and objects, or None; a key may hold dots itself."""
    if hasattr(holder, "items") and path in holder:
        return holder[path]
    head, _, rest = path.partition(".")
    if hasattr(holder, "items"):
        value = holder.get(head)
    else:
        value = None if isinstance(holder, (str, list, tuple)) else getattr(holder, head, None)
    return look_up(value, rest) if rest else value


def listed(found: Any) -> Any:
    """Return a single document or text as a list of one, and lists as they are."""
    return [found] if is_document(found) or not hasattr(found, "__iter__") else found


def is_document(found: Any) -> bool:
    """Whether something is one document or text and no list of them."""
    return isinstance(found, (str, Mapping)) or any(hasattr(found, key) for key in TEXT_KEYS)


def _first(item: Any, keys: tuple[str, ...]) -> Any:
    return next((value for key in keys if (value := look_up(item, key)) is not None), None)


def _unscored(item: Any) -> Any:
    """Return the document of a (document, score) pair; JSON gives pairs back as lists."""
    pair = isinstance(item, (tuple, list)) and len(item) == 2 and isinstance(item[1], Real)  # noqa: PLR2004 - a pair
    return item[0] if pair else item


def _near(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.3)
    return f" Did you mean '{near[0]}'?" if near else ""


def list_keys(schema: Schema) -> frozenset[str]:
    """Return the schema's keys whose value is a list or an object: in CSV, their cells hold JSON."""
    fields = (*TEXTS_OF, *TEXTS_OF.values(), "reference_facts", "labels", "metadata")
    return frozenset().union(*(schema.flat_keys[field] for field in fields))


def _words(*, single_string: bool = False, carried: str = "", **keys: str) -> Schema:
    return Schema(
        places={field: Place.of("", words) for field, words in {"reference_facts": _FACTS, **keys}.items()},
        single_string=single_string,
        carried=frozenset(carried.split()),
    )


# Every schema by name. ``ragas`` is ours as well.
SCHEMAS: Mapping[str, Schema] = MappingProxyType(
    {
        "ragas": _words(
            user_input="user_input",
            response="response",
            reference="reference",
            retrieved_contexts="retrieved_contexts",
            reference_contexts="reference_contexts",
            retrieved_context_ids="retrieved_context_ids",
            reference_context_ids="reference_context_ids",
            carried="rubrics reference_tool_calls multi_responses persona_name query_style query_length",
        ),
        "ragas_v1": _words(
            user_input="question", response="answer", reference="ground_truth", retrieved_contexts="contexts"
        ),
        "deepeval": _words(
            id="name",
            user_input="input",
            response="actual_output",
            reference="expected_output",
            reference_facts=f"{_FACTS} metadata.reference_facts additional_metadata.reference_facts",
            retrieved_contexts="retrieval_context",
            reference_contexts="context metadata.reference_contexts",
            retrieved_context_ids="metadata.retrieved_context_ids additional_metadata.retrieved_context_ids",
            reference_context_ids="metadata.reference_context_ids additional_metadata.reference_context_ids",
            metadata="additional_metadata",
            carried="tools_called expected_tools comments token_cost completion_time tags flaky source_file "
            "custom_column_key_values multimodal expectations expected_labels",
        ),
        "axion": _words(
            user_input="query",
            response="actual_output",
            reference="expected_output",
            retrieved_contexts="retrieved_content",
            reference_contexts="additional_input.reference_contexts",
            retrieved_context_ids="actual_ranking",
            reference_context_ids="expected_reference",
            carried="additional_input acceptance_criteria additional_output latency document_text",
        ),
        "aegis": _words(
            user_input="prompt input",
            response="output",
            reference="golden_answer",
            retrieved_contexts="context",
            single_string=True,
            carried="threshold",
        ),
        "langchain": Schema(
            places={
                "user_input": Place.of("inputs", "question input query"),
                "response": Place.of("outputs", "answer output result"),
                "retrieved_contexts": Place.of("outputs", "documents contexts context source_documents"),
                "retrieved_context_ids": Place.of("outputs", "retrieved_ids"),
                "reference": Place.of("reference_outputs", "ground_truth answer output"),
                "reference_facts": Place.of("reference_outputs", _FACTS),
                "reference_contexts": Place.of("reference_outputs", "documents contexts context"),
                "reference_context_ids": Place.of("reference_outputs", "reference_ids"),
            },
            single_string=True,
        ),
        "autoevals": _words(
            user_input="input",
            response="output",
            reference="expected",
            retrieved_contexts="context",
            single_string=True,
        ),
        "opik": _words(
            user_input="input", response="output", reference="expected_output", retrieved_contexts="context"
        ),
        "openevals": _words(
            user_input="inputs",
            response="outputs",
            reference="reference_outputs",
            retrieved_contexts="context",
            single_string=True,
        ),
        "ragchecker": _words(
            id="query_id",
            user_input="query",
            response="response",
            reference="gt_answer",
            retrieved_contexts="retrieved_context",
        ),
        "continuous_eval": _words(
            user_input="question",
            response="answer",
            reference="ground_truth_answers",
            retrieved_contexts="retrieved_context",
            reference_contexts="ground_truth_context",
        ),
        "langwatch": _words(
            user_input="input",
            response="output",
            reference="expected_output",
            retrieved_contexts="contexts",
            reference_contexts="expected_contexts",
        ),
        "llamaindex": _words(
            user_input="query",
            response="response",
            reference="reference",
            retrieved_contexts="contexts retrieved_texts",
            reference_contexts="expected_texts",
            retrieved_context_ids="retrieved_ids",
            reference_context_ids="expected_ids",
        ),
        "haystack": _words(
            user_input="question",
            response="answer",
            reference="ground_truth_answer",
            retrieved_contexts="contexts retrieved_documents",
            reference_contexts="ground_truth_documents",
        ),
        "giskard": _words(
            user_input="question",
            response="answer",
            reference="reference_answer",
            retrieved_contexts="documents",
            reference_contexts="reference_context",
            single_string=True,
        ),
        "trulens": _words(
            user_input="query",
            response="response",
            reference="expected_response",
            retrieved_contexts="retrieved_context_chunks context",
            reference_contexts="expected_chunks",
            single_string=True,
        ),
        "azure": _words(
            user_input="query",
            response="response",
            reference="ground_truth",
            retrieved_contexts="context",
            retrieved_context_ids="retrieved_documents",
            reference_context_ids="retrieval_ground_truth",
            single_string=True,
        ),
        "mlflow": Schema(
            places={
                "user_input": Place.of("inputs", "question query input request prompt"),
                "response": Place.of("outputs", "answer output result content"),
                "retrieved_contexts": Place.of(
                    "outputs", "documents contexts context source_documents retrieved_documents"
                ),
                "retrieved_context_ids": Place.of("outputs", "retrieved_ids"),
                "reference": Place.of("expectations", "expected_response ground_truth answer"),
                "reference_facts": Place.of("expectations", _FACTS),
                "reference_contexts": Place.of(
                    "expectations", "expected_retrieved_context documents contexts context"
                ),
                "reference_context_ids": Place.of("expectations", "reference_ids"),
            },
            single_string=True,
            id_keys=("metadata.doc_uri", "doc_uri", *ID_KEYS),
        ),
        "promptfoo": _words(
            user_input="query",
            response="output",
            reference="value",
            retrieved_contexts="context",
            single_string=True,
        ),
    }
)
