"""The names of a sample's fields, and the options with which a caller says where a field stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypedDict

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.errors import ParameterError

# The value of an option of `KeyParams`.
FieldKey = str | Callable[[Mapping[str, Any]], Any]

# The next six are keys of a sample's metadata. Under this one: ids that a retriever gave equal scores.
TIES = "tied_ids"
# The column that ordered the retrieved contexts, if it is not the order of their list.
ORDERED_BY = "ordered_by"
# A column by which the retrieved contexts may have to be ordered, if that is unclear.
UNORDERED_BY = "order_unclear"
# What separates the passages that the only retrieved context may hold.
MAY_BE_JOINED = "may_be_joined"
# A list in the record that is not read, although it may change the values.
NOT_READ = "not_read"
# The fields whose values in the record cannot be used, so that the sample has none.
UNUSABLE = "unusable_fields"
# The fields with the texts and the ids of what was retrieved.
RETRIEVED = ("retrieved_contexts", "retrieved_context_ids")
# The option of `KeyParams` for each field: "reference" -> "reference_key".
OPTIONS: Mapping[str, str] = MappingProxyType(read_data("samples", "keys.json")["options"])
# The names of all fields of a sample.
FIELDS = ("id", *OPTIONS, "labels", "metadata")
# For each field of ids, the field with the texts of the same contexts.
TEXTS_OF: Mapping[str, str] = MappingProxyType(
    {"retrieved_context_ids": "retrieved_contexts", "reference_context_ids": "reference_contexts"}
)
# The fields that hold a list.
LISTS = frozenset({*TEXTS_OF, *TEXTS_OF.values(), "reference_facts", "references"})
# The fields that hold a text.
TEXTS = frozenset({"id", "user_input", "response", "reference"})


class KeyParams(TypedDict, total=False):
    """Where the fields of a record stand if they are not in their usual places.

    A record may have several sides, such as ``inputs`` and ``outputs``; each field has its usual side. The value of every
    ``.._key`` but ``id_key`` is one of these:

    - a key, or keys joined by dots, within the field's usual side;
    - a path from the whole record, such as ``inputs.contexts``;
    - a function of the record.

    Attributes:
        question_key: The question.
        answer_key: The answer of the system.
        contexts_key: The retrieved contexts.
        reference_key: The expected answer.
        references_key: Several expected answers.
        facts_key: The facts of the expected answer.
        reference_contexts_key: The expected contexts.
        retrieved_ids_key: The ids of the retrieved contexts.
        reference_ids_key: The ids of the expected contexts.
        stages_key: The stages of the retrieval.
        searches_key: The searches of the question.
        id_key: The id of a document: a key of its metadata, or a function of the document. Default: its ``id``.
        retriever: Which retrievers count, if several ran and no key holds their results: ``"all"`` (their results are joined
            in the order in which the retrievers began), ``"last"``, the name of one, or a function of a name. Default: join
            the results of the retrievers that no reranker used; every retriever is recorded as a stage. In chat
            messages, a name or a function chooses the tools that search.
    """

    question_key: FieldKey
    answer_key: FieldKey
    contexts_key: FieldKey
    reference_key: FieldKey
    references_key: FieldKey
    facts_key: FieldKey
    reference_contexts_key: FieldKey
    retrieved_ids_key: FieldKey
    reference_ids_key: FieldKey
    stages_key: FieldKey
    searches_key: FieldKey
    id_key: FieldKey | Callable[[Any], Any]
    retriever: str | Callable[[str], bool]


def check_key_params(params: Mapping[str, Any]) -> None:
    """Check that the caller's options are known, and that their values are strings or functions.

    Raises:
        ParameterError: An option is unknown, or its value has another type.
    """
    for name, key in params.items():
        if name not in KeyParams.__optional_keys__:
            from ctxmetrics._internal.near_names import suggest

            raise ParameterError(
                f"Unknown parameter '{name}'.{suggest(name, KeyParams.__optional_keys__)}"
            )
        if not isinstance(key, str) and not callable(key):
            raise ParameterError(f"{name}={key!r} must be a string or a function.")
