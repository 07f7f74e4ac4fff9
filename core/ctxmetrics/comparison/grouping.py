"""Groups of samples: those with the same value of a key of their metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ctxmetrics._display import visible
from ctxmetrics.errors import ParameterError

_SHOWN = 80


def find(metadata: Mapping[str, Any], path: str) -> Any:
    """Return the value of a key of the metadata, nested keys separated by dots; None where there is none.

    Args:
        metadata: A sample's.
        path: Such as ``"metadata.topic"`` or ``"topic"``.
    """
    found: Any = metadata
    for name in path.removeprefix("metadata.").split("."):
        found = found.get(name) if hasattr(found, "get") else None
    return found


def group_of(metadata: Mapping[str, Any], path: str, sample: str, command: str) -> str:
    """Return the value of a key of the metadata as text; see `find`.

    Args:
        metadata: A sample's.
        path: The key.
        sample: The sample's name, for the message.
        command: What asks for it.

    Raises:
        ParameterError: The sample has none.
    """
    found = find(metadata, path)
    if found is None:
        known = ", ".join(f"metadata.{visible(str(name))[:_SHOWN]}" for name in metadata) or "none"
        raise ParameterError(
            f"{command}: sample {visible(sample)[:_SHOWN]!r} has no {path!r}. Its metadata: {known}."
        )
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False, default=str)
