"""What each system calls the fields of a sample, and where it keeps them: ``systems.json`` is the table."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.reading.documents import ID_KEYS
from ctxmetrics.reading.schema import Place, Schema

_DATA: Mapping[str, Any] = read_data("reading", "systems.json")
# The names of the fields in a system whose records have a side for question, answer and what was expected.
_USUAL: Mapping[str, str] = _DATA["usual"]
_ANSWERED = ("response", "retrieved_contexts", "retrieved_context_ids", "stages", "searches")


def _read_schema(data: Mapping[str, Any]) -> Schema:
    words = {"reference_facts": _USUAL["reference_facts"], **data.get("fields", {})}
    has_sides = "sides" in data
    asked = answered = expected = ""
    if has_sides:
        asked, answered, expected = data["sides"].split()
        words = {**_USUAL, **words}
    sides = {"user_input": asked, **dict.fromkeys(_ANSWERED, answered)}
    return Schema(
        places={field: Place.of(sides.get(field, expected), keys) for field, keys in words.items()},
        single_string=has_sides or data.get("single_string", False),
        separator=data.get("separator"),
        carried=frozenset(data.get("carried", "").split()),
        id_keys=(*data.get("id_keys", "").split(), *ID_KEYS),
    )


# Every schema by name. ``ragas`` is ours as well.
SCHEMAS: Mapping[str, Schema] = MappingProxyType(
    {name: _read_schema(data) for name, data in _DATA["systems"].items()}
)
