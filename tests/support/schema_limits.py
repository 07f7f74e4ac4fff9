"""Limits that ten providers set to a JSON schema, and what of it the schema of a reply has.

No provider is called. Limits are those of their pages; a provider that names no number has the keywords that it refuses.
Azure does not say whether it counts a cell once or once an id; it is counted once here, and ``properties, written out`` is the
other count.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from ctxmetrics.prompts.replies import reply_schema

STEPS = ("attribution", "usefulness", "joint", "claims")
_STRICT = {"optional": 0, "open": 0, "prefixItems": 0, "default": 0}
_UNIONS = {"optional": 24, "anyOf": 16, "minItems": 0, "open": 0}
LIMITS: dict[str, dict[str, int]] = {
    "OpenAI": {**_STRICT, "properties, written out": 5_000, "levels": 10, "enum": 1_000},
    "Azure OpenAI": {**_STRICT, "properties": 100, "levels": 5, "minItems": 0, "maxItems": 0},
    "Anthropic": _UNIONS,
    "Bedrock (Claude)": _UNIONS,
    "Gemini": {"additional keywords": 0, "anyOf": 0},
    "Mistral": _STRICT,
    "Groq": _STRICT,
    "Fireworks": {"maxItems": 0, "minItems": 0, "pattern": 0, "oneOf": 0},
    "vLLM (xgrammar)": {"pattern": 0, "oneOf": 0, "bytes, written out": 8_300_000},
    "llama.cpp": {"prefixItems": 0, "maxItems": 0, "maxLength": 0, "remote $ref": 0},
}
_KNOWN = {
    "$defs",
    "$ref",
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "title",
    "description",
}


def expand(node: Any, definitions: Mapping[str, Any]) -> Any:
    """Write out each reference."""
    if isinstance(node, list):
        return [expand(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return expand(definitions[node["$ref"].removeprefix("#/$defs/")], definitions)
    return {key: expand(item, definitions) for key, item in node.items() if key != "$defs"}


def count(node: Any, counts: Counter[str], level: int = 0) -> Counter[str]:
    """Count the keywords of a schema, its properties, and how deep its objects stand in each other."""
    if isinstance(node, list):
        for item in node:
            count(item, counts, level)
    if not isinstance(node, dict):
        return counts
    properties = node.get("properties", {})
    if node.get("type") == "object":
        level += 1
        counts["levels"] = max(counts["levels"], level)
        counts["optional"] += len(set(properties) - set(node.get("required", ())))
        counts["open"] += node.get("additionalProperties") is not False
        counts["properties"] += len(properties)
    for keyword, value in node.items():
        counts[keyword] += keyword not in ("properties", "title")
        counts["additional keywords"] += keyword not in _KNOWN
        counts["remote $ref"] += keyword == "$ref" and not value.startswith("#/$defs/")
        named = keyword in ("properties", "$defs")
        count(list(value.values()) if named else value, counts, level)
    return counts


def measure(sentences: int, contexts: int) -> dict[str, Counter[str]]:
    """Count what is limited in the schema of each step."""
    ids = [f"s{number + 1}" for number in range(sentences)]
    others = [f"c{number + 1}" for number in range(contexts)]
    figures = {}
    for step in STEPS:
        schema = reply_schema(
            step,
            sentences=ids if step != "usefulness" else (),
            useful=others if step != "attribution" else (),
        ).model_json_schema()
        whole = expand(schema, schema.get("$defs", {}))
        counts = count(schema, Counter())
        expanded = count(whole, Counter())
        counts["levels"] = expanded["levels"]
        counts["properties, written out"] = expanded["properties"]
        counts["bytes, written out"] = len(json.dumps(whole))
        figures[step] = counts
    return figures


def list_excesses(figures: Mapping[str, Counter[str]]) -> list[str]:
    """List what is above a provider's limit in the largest of the schemas."""
    over = []
    for provider, limits in LIMITS.items():
        for name, most in limits.items():
            value = max(counts[name] for counts in figures.values())
            if value > most:
                over.append(f"{provider}: {name} {value:,} (at most {most:,})")
    return over
