"""The words of other systems for the fields of a sample, as data.

A schema maps the other system's key to ours. A key with dots is a path into nested mappings. Documents may be
strings, mappings with their text under a usual key, or objects with ``page_content`` (LangChain).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ctxmetrics.errors import ParameterError, SampleError
from ctxmetrics.samples import FIELDS, check_keys

if TYPE_CHECKING:
    from collections.abc import Mapping

_TEXT_KEYS = ("text", "page_content", "content", "context", "chunk")
_ID_KEYS = ("id", "doc_id", "document_id", "source")


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """How one system names the fields.

    Attributes:
        fields: Their key (or dotted path) to our field.
        single_string: Whether the source allows one string where a list of contexts is meant.
        carried: Keys of the source that no metric needs; they go into the metadata.
    """

    fields: Mapping[str, str]
    single_string: bool = False
    carried: frozenset[str] = frozenset()


_OWN = {name: name for name in FIELDS}


def _schema(fields: dict[str, str], *, single_string: bool = False, carried: str = "") -> Schema:
    return Schema(
        fields=MappingProxyType({"id": "id", "labels": "labels", "metadata": "metadata", **fields}),
        single_string=single_string,
        carried=frozenset(carried.split()),
    )


SCHEMAS: Mapping[str, Schema] = MappingProxyType(
    {
        "ragas": _schema(
            _OWN, carried="rubrics reference_tool_calls multi_responses persona_name query_style query_length"
        ),
        "ragas_v1": _schema(
            {
                "question": "user_input",
                "answer": "response",
                "contexts": "retrieved_contexts",
                "ground_truth": "reference",
            }
        ),
        "deepeval": _schema(
            {
                "input": "user_input",
                "actual_output": "response",
                "expected_output": "reference",
                "retrieval_context": "retrieved_contexts",
                "context": "reference_contexts",
                "name": "id",
                "metadata.retrieved_context_ids": "retrieved_context_ids",
                "metadata.reference_context_ids": "reference_context_ids",
                "additional_metadata": "metadata",
                "additional_metadata.retrieved_context_ids": "retrieved_context_ids",
                "additional_metadata.reference_context_ids": "reference_context_ids",
            },
            carried="tools_called expected_tools comments token_cost completion_time tags flaky source_file "
            "custom_column_key_values multimodal expectations expected_labels",
        ),
        "axion": _schema(
            {
                "query": "user_input",
                "actual_output": "response",
                "expected_output": "reference",
                "retrieved_content": "retrieved_contexts",
                "actual_ranking": "retrieved_context_ids",
                "expected_reference": "reference_context_ids",
                "additional_input.reference_contexts": "reference_contexts",
            },
            carried="additional_input acceptance_criteria additional_output latency document_text",
        ),
        "aegis": _schema(
            {
                "prompt": "user_input",
                "input": "user_input",
                "output": "response",
                "golden_answer": "reference",
                "context": "retrieved_contexts",
            },
            single_string=True,
            carried="threshold",
        ),
        "langchain": _schema(
            {
                "question": "user_input",
                "input": "user_input",
                "query": "user_input",
                "answer": "response",
                "output": "response",
                "result": "response",
                "documents": "retrieved_contexts",
                "context": "retrieved_contexts",
                "contexts": "retrieved_contexts",
                "source_documents": "retrieved_contexts",
                "reference": "reference",
                "ground_truth": "reference",
                "inputs.question": "user_input",
                "inputs.input": "user_input",
                "outputs.answer": "response",
                "outputs.output": "response",
                "outputs.documents": "retrieved_contexts",
                "outputs.context": "retrieved_contexts",
                "outputs.contexts": "retrieved_contexts",
                "reference_outputs.answer": "reference",
                "reference_outputs.reference": "reference",
                "reference_contexts": "reference_contexts",
                "retrieved_context_ids": "retrieved_context_ids",
                "reference_context_ids": "reference_context_ids",
            },
            single_string=True,
        ),
        "autoevals": _schema(
            {
                "input": "user_input",
                "output": "response",
                "expected": "reference",
                "context": "retrieved_contexts",
            },
            single_string=True,
        ),
        "opik": _schema(
            {
                "input": "user_input",
                "output": "response",
                "expected_output": "reference",
                "context": "retrieved_contexts",
            }
        ),
        "openevals": _schema(
            {
                "inputs": "user_input",
                "outputs": "response",
                "reference_outputs": "reference",
                "context": "retrieved_contexts",
            },
            single_string=True,
        ),
        "ragchecker": _schema(
            {
                "query_id": "id",
                "query": "user_input",
                "gt_answer": "reference",
                "response": "response",
                "retrieved_context": "retrieved_contexts",
            }
        ),
        "continuous_eval": _schema(
            {
                "question": "user_input",
                "answer": "response",
                "ground_truth_answers": "reference",
                "retrieved_context": "retrieved_contexts",
                "ground_truth_context": "reference_contexts",
            }
        ),
        "langwatch": _schema(
            {
                "input": "user_input",
                "output": "response",
                "expected_output": "reference",
                "contexts": "retrieved_contexts",
                "expected_contexts": "reference_contexts",
            }
        ),
        "llamaindex": _schema(
            {
                "query": "user_input",
                "response": "response",
                "reference": "reference",
                "contexts": "retrieved_contexts",
                "retrieved_texts": "retrieved_contexts",
                "expected_texts": "reference_contexts",
                "retrieved_ids": "retrieved_context_ids",
                "expected_ids": "reference_context_ids",
            }
        ),
        "haystack": _schema(
            {
                "question": "user_input",
                "answer": "response",
                "ground_truth_answer": "reference",
                "contexts": "retrieved_contexts",
                "retrieved_documents": "retrieved_contexts",
                "ground_truth_documents": "reference_contexts",
            }
        ),
        "giskard": _schema(
            {
                "question": "user_input",
                "answer": "response",
                "reference_answer": "reference",
                "documents": "retrieved_contexts",
                "reference_context": "reference_contexts",
            },
            single_string=True,
        ),
        "trulens": _schema(
            {
                "query": "user_input",
                "response": "response",
                "expected_response": "reference",
                "retrieved_context_chunks": "retrieved_contexts",
                "context": "retrieved_contexts",
                "expected_chunks": "reference_contexts",
            },
            single_string=True,
        ),
        "azure": _schema(
            {
                "query": "user_input",
                "response": "response",
                "ground_truth": "reference",
                "context": "retrieved_contexts",
                "retrieved_documents": "retrieved_context_ids",
                "retrieval_ground_truth": "reference_context_ids",
            },
            single_string=True,
        ),
        "mlflow": _schema(
            {
                "inputs.question": "user_input",
                "inputs.query": "user_input",
                "outputs": "response",
                "retrieved_contexts": "retrieved_contexts",
                "expectations.expected_response": "reference",
            }
        ),
        "promptfoo": _schema(
            {
                "query": "user_input",
                "output": "response",
                "value": "reference",
                "context": "retrieved_contexts",
            },
            single_string=True,
        ),
    }
)
"""Every schema by name. ``ragas`` is ours as well."""


def translate(mapping: Mapping[str, Any], schema: str, *, where: str | None = None) -> dict[str, Any]:
    """Return the sample's fields under our names.

    Raises:
        ParameterError: No such schema.
        UnknownFieldError: A key is no field of the schema.
        SampleError: Two keys of the mapping name the same field, or a document has no text.
    """
    if schema not in SCHEMAS:
        raise ParameterError(f"schema={schema!r} is unknown. Choose from: {', '.join(SCHEMAS)}.")
    if not hasattr(mapping, "items"):
        raise SampleError(f"{where or 'Sample'} must be a mapping of fields, not {type(mapping).__name__}.")
    rules, paths = SCHEMAS[schema], _paths(schema)
    name = next(
        (mapping[key] for key, own in rules.fields.items() if own == "id" and mapping.get(key) is not None),
        None,
    )
    who = f"Sample {str(name)[:80]!r}" if name is not None else (where or "Sample")
    check_keys(mapping, _keys(schema), who, schema)
    values = _renamed(mapping, paths, who)
    for own in ("retrieved_contexts", "reference_contexts"):
        if own in values:
            values[own] = _texts(values[own], rules, who, own, values)
    for own in ("retrieved_context_ids", "reference_context_ids"):
        if isinstance(values.get(own), (list, tuple)):
            values[own] = [_first(item, _ID_KEYS, item) for item in values[own]]
    if isinstance(values.get("reference"), list):
        values["reference"] = _only(values["reference"], who)
    carried = {key: mapping[key] for key in rules.carried if mapping.get(key) is not None}
    if carried:
        values["metadata"] = {**(values.get("metadata") or {}), **carried}
    if values.get("id") is None and where is not None:
        return _named(values, where)
    return values


@cache
def _paths(schema: str) -> tuple[tuple[str, str], ...]:
    """Return every key or path of a schema with our field; our own names are understood in each."""
    return tuple({**_OWN, **SCHEMAS[schema].fields}.items())


@cache
def _keys(schema: str) -> frozenset[str]:
    """Return the keys that a mapping of a schema may have."""
    rules = SCHEMAS[schema]
    return frozenset(key.partition(".")[0] for key in rules.fields) | rules.carried | frozenset(FIELDS)


def _renamed(mapping: Mapping[str, Any], paths: tuple[tuple[str, str], ...], who: str) -> dict[str, Any]:
    """Return what is given under our names."""
    values: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for key, own in paths:
        value = _look_up(mapping, key) if "." in key else mapping.get(key)
        if value is None:
            continue
        if own in values and values[own] != value:
            raise SampleError(
                f"{who}: both '{origin[own]}' and '{key}' are given for '{own}'. Keep one of them."
            )
        values[own], origin[own] = value, key
    return values


def _look_up(mapping: Mapping[str, Any], path: str) -> Any:
    value: Any = mapping
    for part in path.split("."):
        if not hasattr(value, "items"):
            return None
        value = value.get(part)
    return value


def _texts(value: Any, rules: Schema, who: str, own: str, values: dict[str, Any]) -> Any:
    if isinstance(value, str) and rules.single_string:
        return [value]
    if not isinstance(value, (list, tuple)):
        return value  # Sample says what is wrong with it
    ids = [_first(item, _ID_KEYS, None) for item in value]
    id_field = own.replace("contexts", "context_ids")
    if value and all(identifier is not None for identifier in ids) and id_field not in values:
        values[id_field] = ids
    texts = [_first(item, _TEXT_KEYS, item) for item in value]
    for index, text in enumerate(texts, 1):
        if hasattr(text, "items"):
            raise SampleError(
                f"{who}: field '{own}', item {index} has no text. Give it under one of: {', '.join(_TEXT_KEYS)}."
            )
    return texts


def _first(item: Any, keys: tuple[str, ...], default: Any) -> Any:
    if hasattr(item, "items"):
        return next((item[key] for key in keys if item.get(key) is not None), default)
    if hasattr(item, "page_content"):
        return next((getattr(item, key) for key in keys if getattr(item, key, None) is not None), default)
    return default


def _only(references: list[Any], who: str) -> Any:
    if len(references) != 1:
        raise SampleError(
            f"{who}: field 'reference' holds {len(references)} answers. Give one sample an answer."
        )
    return references[0]


def _named(values: dict[str, Any], where: str) -> dict[str, Any]:
    """Let an error of the fields themselves say where the sample stands, and leave it without an id."""
    from ctxmetrics.samples import Sample

    try:
        Sample(**values)
    except SampleError as error:
        raise type(error)(f"{where}: {str(error).removeprefix('Sample: ')}") from None
    return values


def list_keys(schema: Schema) -> frozenset[str]:
    """Return the schema's keys whose value is a list or an object: in CSV, their cells hold JSON."""
    structured = {
        "retrieved_contexts",
        "reference_contexts",
        "retrieved_context_ids",
        "reference_context_ids",
    }
    fields = {**_OWN, **schema.fields}
    return frozenset(key for key, own in fields.items() if own in structured | {"labels", "metadata"})
