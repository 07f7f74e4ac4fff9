"""JSON schemas by the rules that strict structured output asks for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

# Keywords that constrain nothing: strict servers refuse some, and all cost tokens.
_NOTES = frozenset({"title", "description", "default", "examples"})
# Keywords whose value maps names of the caller's to schemas.
_NAMED = frozenset({"properties", "$defs", "definitions"})


def response_format(model: type[BaseModel]) -> dict[str, Any]:
    """Return the field of a request that asks for JSON of a reply's schema."""
    return {
        "type": "json_schema",
        "json_schema": {"name": model.__name__, "strict": True, "schema": strict_schema(model)},
    }


@lru_cache(maxsize=64)
def strict_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Derive the schema of a reply: every object closed, every property required.

    A property with a default may be null instead of left out; a list need not, since it can be empty.
    """
    schema: dict[str, Any] = _strict(model.model_json_schema())
    return schema


def _strict(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        key: {name: _strict(item) for name, item in value.items()} if key in _NAMED else _strict(value)
        for key, value in schema.items()
        if key not in _NOTES
    }
    if isinstance(properties := kept.get("properties"), dict):
        required = schema.get("required", ())
        kept["properties"] = {
            name: item if name in required else _nullable(item) for name, item in properties.items()
        }
        kept["required"] = list(properties)
        kept["additionalProperties"] = False
    return kept


def _nullable(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = schema.get("anyOf", [schema])
    if schema.get("type") == "array" or {"type": "null"} in choices:
        return schema
    return {"anyOf": [*choices, {"type": "null"}]}
