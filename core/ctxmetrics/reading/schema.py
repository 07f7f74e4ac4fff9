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
from types import MappingProxyType
from typing import Any, TypedDict

from ctxmetrics._internal.secrets import safe_text
from ctxmetrics.errors import MissingFieldError, ParameterError, SampleError
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
from ctxmetrics.reading.retrievals import Retrieval, handed_on, joined, stages_of

# The most names that a message lists.
_MOST_NAMES = 12
# See `KeyParams`.
Key = str | Callable[[Mapping[str, Any]], Any]

# Each field that metrics look at, and the parameter that names its key.
OPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "user_input": "question_key",
        "response": "answer_key",
        "reference": "reference_key",
        "references": "references_key",
        "reference_facts": "facts_key",
        "retrieved_contexts": "contexts_key",
        "reference_contexts": "reference_contexts_key",
        "retrieved_context_ids": "retrieved_ids_key",
        "reference_context_ids": "reference_ids_key",
        "stages": "stages_key",
    }
)
# Fields that may replace a field that is needed.
_INSTEAD = {
    "reference": "references",
    **dict.fromkeys(("retrieved_contexts", "retrieved_context_ids"), "stages"),
}
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
    ``reference_contexts_key``, ``retrieved_ids_key``, ``reference_ids_key``, ``stages_key``: a key or dotted path in the field's side, a path from the whole
    record (``inputs.contexts``), or a function of the record. ``id_key``: a document's id, as a metadata key or a
    function of the document; else its ``id``. ``retriever``: where several retrievers ran and no key holds what
    they found, those that count: ``"all"`` (joined in the order in which they began), ``"last"``, the name of one, or a
    function of a name. Without it, those that no reranker chose from are joined, and all are the stages.
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
    id_key: Key | Callable[[Any], Any]
    retriever: str | Callable[[str], bool]


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a sentence that names the nearest known name, or nothing."""
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.3)
    return f" Did you mean '{near[0]}'?" if near else ""


def some_of(names: Iterable[object], most: int = _MOST_NAMES) -> str:
    """Return the first names, and how many more there are."""
    shown = [str(name)[:60] for name in names]
    more = len(shown) - most
    return ", ".join(shown[:most]) + (f" and {more} more" if more > 0 else "")


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
        hint: Added to the message when nothing retrieved is found.
        evaluation: Names the framework's evaluation that a record is scored in, where the framework shows one.
        package: The adapter's package, which warnings name as their place.
        judge_option: What a user of the adapter writes for an LLM judge.
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
        if any(values[field] is None for field in required if field.startswith("retrieved")):
            values["stages"] = self._find(record, keys, "stages")  # the last of them
        for field, value in values.items():
            instead = values.get(_INSTEAD.get(field, "")) is not None
            if value is None and not instead and (field in required or OPTIONS[field] in keys):
                raise MissingFieldError(f"{who} has no {field}: {self._looked(record, keys, field)}")
        return {"id": name, **values}

    def record(self, fields: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Write a sample's fields (`Sample.to_dict`) as a record with all its sides: what `read` reads."""
        return {
            side: {
                name: fields[name]
                for name, place in self.places.items()
                if place.side == side and name in fields
            }
            for side in dict.fromkeys(place.side for place in self.places.values())
        }

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
        in_order = dict.fromkeys((*self.places, *FIELDS))
        owners = {key: field for field in reversed(in_order) for key in self.keys_of_fields[field]}
        return {
            field: tuple(key for key in keys if owners[key] == field)
            for field, keys in self.keys_of_fields.items()
        }

    @cached_property
    def sides(self) -> frozenset[str]:
        """The names of the sides."""
        return frozenset(place.side for place in self.places.values() if place.side)

    @cached_property
    def heads(self) -> frozenset[str]:
        """The keys that hold several fields: the sides, and the beginnings of paths."""
        return self.sides.union(
            key.partition(".")[0] for keys in self.flat_keys.values() for key in keys if "." in key
        )

    @cached_property
    def known_keys(self) -> frozenset[str]:
        """The keys that a row may have."""
        return self.heads.union(
            self.carried, (key for keys in self.flat_keys.values() for key in keys if "." not in key)
        )

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
        found, unnamed = self._under_keys(record, keys, field)
        if found or keys.get(OPTIONS.get(field, "")) is not None:
            return found
        if field == "stages":
            return self._traced_stages(record, keys)
        if field == "retrieved_contexts" and self.retrievals:
            if self._under_keys(record, keys, "stages")[0]:  # the last of them
                return []
            if (retrieved := _retrieved(self.retrievals(record.get("run")), keys)) is not None:
                return [("", retrieved)]
        return unnamed if field in TEXTS_OF.values() else []

    def _under_keys(
        self, record: Mapping[str, Any], keys: Mapping[str, Any], field: str
    ) -> tuple[list[tuple[str, Any]], list[tuple[str, Any]]]:
        """Return where a field stands under its keys, and the list of documents that is all there is on its side."""
        key, place = keys.get(OPTIONS.get(field, "")), self.places.get(field, _NOWHERE)
        if callable(key):
            return [("", as_list(key(record)))], []
        own, flat = (
            (self.keys_of_fields[field], self.flat_keys[field]) if key is None else ((key,), (key,))
        )
        side = record.get(place.side)
        holder = {"input": side, "output": side} if isinstance(side, str) else side
        output = look_up(side, "output") if hasattr(side, "items") else side
        documents = output if isinstance(output, (list, tuple)) else None
        spots = [
            (
                f"{place.side}.{path}",
                look_up(record, f"{place.side}.{path}") if side is None else look_up(holder, path),
            )
            for path in own
            if key is not None or path != "output" or documents is None
        ]
        spots += [(path, look_up(record, path)) for path in flat]
        found = [spot for spot in spots if spot[1] is not None]
        at = place.side if output is side else f"{place.side}.output"
        return found, [] if documents is None or are_messages(documents) else [(at, documents)]

    def _value(self, record: Mapping[str, Any], keys: Mapping[str, Any], field: str) -> Any:
        given = found = self._find(record, keys, field)
        if given is None and field in TEXTS_OF:
            found = self._find(record, keys, TEXTS_OF[field])
        if hasattr(found, "__next__"):
            raise SampleError(
                f"Field '{field}' is a {type(found).__name__}, which only the first metric could read. Write list(..)."
            )
        if found is None or field in OPTIONS.keys() - {*TEXTS_OF, *TEXTS_OF.values()}:
            return found
        if field in TEXTS_OF.values():
            return to_list(found)
        spans = labels_are_spans(
            self._find(record, keys, "reference_context_ids"),
            self._find(record, keys, "reference_contexts"),
            self.id_keys,
        )
        return [  # a given id may stand for itself, the text of a document may not
            item
            if given is not None and isinstance(item, (str, int))
            else self._id(item, keys.get("id_key"), field, number, spans=spans)
            for number, item in enumerate(relevant(field, to_list(found)), 1)
        ]

    def _find(self, record: Mapping[str, Any], keys: Mapping[str, Any], field: str) -> Any:
        return next((value for _, value in self.spots(record, keys, field)), None)

    def _traced_stages(
        self, record: Mapping[str, Any], keys: Mapping[str, Any]
    ) -> list[tuple[str, Any]]:
        """Return what each retriever and reranker handed on, where that is what was retrieved and nothing is named."""
        places = [place for place, _ in self.spots(record, keys, "retrieved_contexts")]
        if not self.retrievals or any(places) or keys.keys() & {"retriever", "contexts_key"}:
            return []
        texts = {  # without ids: the sample's may stand elsewhere
            name: {"contexts": [item if (text := text_of(item)) is None else text for item in found]}
            for name, found in (stages_of([*self.retrievals(record.get("run"))]) or {}).items()
        }
        return [("", texts)] if texts else []

    def _id(self, item: Any, key: Any, field: str, number: int, *, spans: bool) -> Any:
        document, names = unscored(item), self.id_keys if key is None else (f"metadata.{key}", key)
        span = span_of(document) if key is None else None
        found = key(document) if callable(key) else first_of(document, names)
        if (found := span if found is None or (spans and span) else found) is None:
            raise SampleError(
                f"Field '{field}', item {number}: a {type(document).__name__} has no {key or 'id'}. Say with id_key= "
                f"where ids stand (a metadata key, or a function of the document), or with "
                f"{OPTIONS[field]}= where a list of ids is."
            )
        return found

    def _looked(self, record: Mapping[str, Any], keys: Mapping[str, Any], field: str) -> str:
        place = self.places.get(field, _NOWHERE)
        side = record.get(place.side)
        holder = side if isinstance(side, Mapping) else record
        there = some_of(str(key)[:40] for key in holder) or "nothing"
        tried = keys.get(OPTIONS[field]) or " / ".join(self.keys_of_fields[field])
        if error := record.get("error"):
            return f"the run failed ({safe_text(error)})."
        hint = f" {self.hint}" if field.startswith("retrieved") and self.hint else ""
        if field == "reference" and self._find(record, keys, "reference_facts"):
            hint = " There are facts: count them with unit='fact'."
        return f"no {tried} in its {place.side if holder is side else 'fields'} (there is: {there}).{hint} Name it with {OPTIONS[field]}=."


def _retrieved(found: Iterable[Retrieval], keys: Mapping[str, Any]) -> list[Any] | None:
    """Join the documents of the retrievers that count: those that are asked for, else those no reranker chose from."""
    wanted = keys.get("retriever")
    steps = [step for step in found if wanted is None or step.retrieves]
    if not steps:
        return None
    if wanted is None:
        chosen = handed_on(steps)
    elif wanted == "last":
        chosen = steps[-1:]
    else:
        counts = wanted if callable(wanted) else lambda name: wanted in ("all", name)
        chosen = [step for step in steps if counts(step.name)]
    if not chosen:
        raise SampleError(f"retriever={wanted!r} is none of: {', '.join(step.name for step in steps)}.")
    if hidden := [step.name for step in chosen if step.documents is None]:
        raise SampleError(
            f"The retriever run {hidden[0]!r} holds no documents: it failed, or hides its outputs."
        )
    return joined(chosen)
