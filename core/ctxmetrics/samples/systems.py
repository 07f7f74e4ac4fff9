"""What each system calls the fields of a sample, and where it keeps them: ``systems.json`` is the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.samples.documents import ID_KEYS
from ctxmetrics.samples.schema import Place, Schema

_DATA: Mapping[str, Any] = read_data("samples", "systems.json")
# The names of the fields in a system whose records have a side for question, answer and what was expected.
_USUAL: Mapping[str, Sequence[str]] = _DATA["usual"]
# The fields that stand in the side of the answer.
_FIELDS_OF_ANSWER = ("response", "retrieved_contexts", "retrieved_context_ids", "stages", "searches")


def _read_schema(data: Mapping[str, Any]) -> Schema:
    """Read a system of the table as a schema."""
    words = {"reference_facts": _USUAL["reference_facts"], **data.get("fields", {})}
    has_sides = "sides" in data
    question_side = ""
    answer_side = ""
    expected_side = ""
    if has_sides:
        question_side, answer_side, expected_side = data["sides"]
        words = {**_USUAL, **words}
    sides = {"user_input": question_side, **dict.fromkeys(_FIELDS_OF_ANSWER, answer_side)}
    return Schema(
        places={
            field: Place(sides.get(field, expected_side), tuple(keys)) for field, keys in words.items()
        },
        single_string=has_sides or data.get("single_string", False),
        separator=data.get("separator"),
        joined={field: f"[{name} 1]" for field, name in data.get("joined", {}).items()},
        carried=frozenset(data.get("carried", ())),
        id_keys=(*data.get("id_keys", ()), *ID_KEYS),
    )


# Every schema by name. ``ragas`` is ours as well.
SCHEMAS: Mapping[str, Schema] = MappingProxyType(
    {name: _read_schema(data) for name, data in _DATA["systems"].items()}
)
