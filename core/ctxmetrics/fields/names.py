"""The names of the fields of a sample, and of the parameters that say where they stand."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, TypedDict, Union

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
# Fields that hold a list, and those that hold a text.
LISTS = frozenset({*TEXTS_OF, *TEXTS_OF.values(), "reference_facts"})
TEXTS = frozenset({"id", "user_input", "response", "reference"})


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


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a sentence that names the nearest known name, or nothing."""
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.3)
    return f" Did you mean '{near[0]}'?" if near else ""
