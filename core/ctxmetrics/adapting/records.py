"""Samples out of records that have sides (inputs, outputs, what was expected), as tracing frameworks keep them.

A record is a mapping with its sides, or a flat mapping that holds the fields themselves; its ``id`` names the sample,
its ``error`` says why there is nothing.
Retrieved documents may be strings, mappings with their text under a usual key, objects with an attribute of that
name, or (document, score) pairs of these.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, Union

from ctxmetrics.errors import MissingFieldError, ParameterError, SampleError
from ctxmetrics.redact import safe_text
from ctxmetrics.samples import Sample

if TYPE_CHECKING:
    from collections.abc import Iterable

Key = Union[str, Callable[[Mapping[str, Any]], Any]]  # noqa: UP007 - a runtime alias; `str | Callable[..]` is none on 3.10
"""See `KeyParams`."""

OPTIONS = {
    "user_input": "question_key",
    "response": "answer_key",
    "retrieved_contexts": "contexts_key",
    "retrieved_context_ids": "retrieved_ids_key",
    "reference": "reference_key",
    "reference_contexts": "reference_contexts_key",
    "reference_context_ids": "reference_ids_key",
}
"""Field: the parameter that names its key."""

TEXT_KEYS = ("page_content", "text", "content")
"""Under which of a document's keys its text is looked for."""
_TEXTS_OF = {"retrieved_context_ids": "retrieved_contexts", "reference_context_ids": "reference_contexts"}
_SHOWN_KEYS = 10


class KeyParams(TypedDict, total=False):
    """Where things stand when not in their usual places.

    ``question_key``, ``answer_key``, ``contexts_key``, ``reference_key``, ``reference_contexts_key``,
    ``retrieved_ids_key``, ``reference_ids_key``: a key or dotted path in the field's side, a path from the whole
    record (``inputs.contexts``), or a function of the record. ``id_key``: a document's id, as a metadata key or a
    function of the document; else its ``id``. ``retriever``: where several retrievers ran and no key holds what
    they found, those that count: ``"all"`` (the default; joined in the order in which they began), ``"last"``, the
    name of one, or a function of a name.
    """

    question_key: Key
    answer_key: Key
    contexts_key: Key
    reference_key: Key
    reference_contexts_key: Key
    retrieved_ids_key: Key
    reference_ids_key: Key
    id_key: Key | Callable[[Any], Any]
    retriever: str | Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a field of a sample stands in a record.

    Attributes:
        side: Name of its side.
        keys: Its usual keys there beside its own name, in the order they are looked for.
    """

    side: str
    keys: tuple[str, ...]

    @classmethod
    def of(cls, side: str, keys: str) -> Place:
        """Write the keys as one text."""
        return cls(side, tuple(keys.split()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Reads samples out of the records of one framework.

    Attributes:
        places: Where each field stands. In a flat mapping, a key belongs to the first field that lists it: an
            ``answer`` is the response there, never the reference.
        retrievals: What retrievers found in the record's ``run``, each as its name and its documents, in the order in
            which they began; asked where no key holds what was retrieved.
        hint: Added to the message when nothing retrieved is found.
        evaluation: Names the framework's evaluation that a record is scored in, where the framework shows one.
    """

    places: Mapping[str, Place]
    retrievals: Callable[[Any], Iterable[tuple[str, Any]]] | None = None
    hint: str = ""
    evaluation: Callable[[Mapping[str, Any]], str | None] = lambda _: None

    def check(self, keys: Mapping[str, Any]) -> None:
        """Raise unless the caller's keys are known, and strings or functions.

        Raises:
            ParameterError: Names the key, and the nearest known one.
        """
        for name, key in keys.items():
            if name not in KeyParams.__optional_keys__:
                near = difflib.get_close_matches(name, sorted(KeyParams.__optional_keys__), n=1, cutoff=0.3)
                hint = f" Did you mean '{near[0]}'?" if near else ""
                raise ParameterError(f"Unknown parameter '{name}'.{hint}")
            if not isinstance(key, str) and not callable(key):
                raise ParameterError(f"{name}={key!r} must be a string or a function.")

    def read(
        self,
        record: Mapping[str, Any],
        keys: Mapping[str, Any],
        requires: Iterable[str],
        uses: Iterable[str] = (),
    ) -> Sample:
        """Read the fields that a metric looks at.

        Args:
            record: See the module.
            keys: The caller's; see `KeyParams`.
            requires: Fields that must be there.
            uses: Fields that are taken along where they are.

        Raises:
            MissingFieldError: A required field is nowhere, or one whose key was named.
            SampleError: A document has no text or no id, or a field has the wrong type.
        """
        required, name = tuple(requires), record.get("id")
        values = {field: self._value(record, keys, field) for field in (*required, *uses)}
        for field, value in values.items():
            if value is None and (field in required or OPTIONS[field] in keys):
                who = "The sample" if name is None else f"Sample {name!r}"
                raise MissingFieldError(f"{who} has no {field}: {self._looked(record, keys, field)}")
        return Sample(id=name, **values)

    def record(self, sample: Sample) -> dict[str, dict[str, Any]]:
        """Write a sample as a record with all its sides: what `read` reads."""
        given = sample.to_dict()
        return {
            side: {
                name: given[name]
                for name, place in self.places.items()
                if place.side == side and name in given
            }
            for side in dict.fromkeys(place.side for place in self.places.values())
        }

    def _value(self, record: Mapping[str, Any], keys: Mapping[str, Any], field: str) -> Any:
        found = self._find(record, keys, field)
        if field in _TEXTS_OF:
            given = found is not None  # a given id may stand for itself, the text of a document may not
            if not given:
                found = self._find(record, keys, _TEXTS_OF[field])
            if found is None:
                return None
            return [
                item
                if given and isinstance(item, (str, int))
                else self._id(item, keys.get("id_key"), field, number)
                for number, item in enumerate(listed(found), 1)
            ]
        if field in _TEXTS_OF.values() and found is not None:
            return [_text(item, field, number) for number, item in enumerate(listed(found), 1)]
        return found

    def _find(self, record: Mapping[str, Any], keys: Mapping[str, Any], field: str) -> Any:
        """Return what stands under the field's keys; else other documents; else a bare list of its side."""
        place = self.places[field]
        key = keys.get(OPTIONS[field])
        if callable(key):
            return key(record)
        side = record.get(place.side)
        if isinstance(side, (str, list, tuple)):
            side = {"input": side, "output": side}
        own, flat = (self._keys(field), self._flat(field)) if key is None else ((key,), (key,))
        for holder, path in (*((side, path) for path in own), *((record, path) for path in flat)):
            if (found := look_up(holder, path)) is not None:
                return found
        if key is not None or field not in _TEXTS_OF.values():
            return None
        if field == "retrieved_contexts" and (more := self._retrieved(record, keys)) is not None:
            return more
        bare = look_up(side, "output")
        return bare if isinstance(bare, (list, tuple)) else None

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

    def _keys(self, field: str) -> tuple[str, ...]:
        return (field, *self.places[field].keys)

    def _flat(self, field: str) -> tuple[str, ...]:
        """Return the keys that no earlier field lists."""
        earlier = {
            key for name in list(self.places)[: list(self.places).index(field)] for key in self._keys(name)
        }
        return tuple(key for key in self._keys(field) if key not in earlier)

    def _id(self, item: Any, key: Any, field: str, number: int) -> Any:
        document = _unscored(item)
        if callable(key):
            found = key(document)
        else:
            found = None if key is None else look_up(look_up(document, "metadata"), key)
            found = look_up(document, key or "id") if found is None else found
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
        tried = keys.get(OPTIONS[field]) or " / ".join(self._keys(field))
        if error := record.get("error"):
            return f"the run failed ({safe_text(error)})."
        hint = f" {self.hint}" if field.startswith("retrieved") and self.hint else ""
        return f"no {tried} in its {place.side if holder is side else 'fields'} (there is: {there}).{hint} Name it with {OPTIONS[field]}=."


def look_up(holder: Any, path: str) -> Any:
    """Return what stands at a dotted path of mappings and objects, or None; a key may hold dots itself."""
    if isinstance(holder, Mapping) and path in holder:
        return holder[path]
    head, _, rest = path.partition(".")
    if isinstance(holder, Mapping):
        value = holder.get(head)
    else:
        value = None if isinstance(holder, (str, list, tuple)) else getattr(holder, head, None)
    return look_up(value, rest) if rest else value


def listed(found: Any) -> Any:
    """Return a single document or text as a list of one, and lists as they are."""
    if isinstance(found, (str, Mapping)) or not hasattr(found, "__iter__"):
        return [found]
    return [found] if any(hasattr(found, key) for key in TEXT_KEYS) else found


def _unscored(item: Any) -> Any:
    """Return the document of a (document, score) pair; JSON gives pairs back as lists."""
    return item[0] if isinstance(item, (tuple, list)) and item else item


def _text(item: Any, field: str, number: int) -> Any:
    document = _unscored(item)
    if isinstance(document, str):
        return document
    text = next((text for key in TEXT_KEYS if (text := look_up(document, key)) is not None), None)
    if text is None:
        raise SampleError(
            f"Field '{field}', item {number}: a {type(document).__name__} has no text. Give a string, or a document "
            f"with its text under one of: {', '.join(TEXT_KEYS)}."
        )
    return text
