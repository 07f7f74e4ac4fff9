"""The groups of a run's samples: the value of a key of their metadata."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ctxmetrics._internal.display import replace_invisible
from ctxmetrics._internal.near_names import suggest
from ctxmetrics.errors import ParameterError
from ctxmetrics.samples.documents import look_up
from ctxmetrics.samples.sample import Sample

_MAX_NAME_CHARACTERS = 80


def find(metadata: Mapping[str, Any], path: str) -> Any:
    """Return the value of a key of the metadata, or of a nested key as a dotted path. Return None if there is none.

    Args:
        metadata: A sample's.
        path: Such as ``"metadata.topic"`` or ``"topic"``.
    """
    return look_up(metadata, path.removeprefix("metadata."))


def read_group(metadata: Mapping[str, Any], path: str, sample: str, command: str) -> str:
    """Return the value of a key of the metadata as text; see `find`.

    Args:
        metadata: A sample's.
        path: The key.
        sample: The sample's name, for the message.
        command: The command that asks for the groups.

    Raises:
        ParameterError: The sample has none, or it cannot be written as text. Or the key is no text.
    """
    if not isinstance(path, str):
        raise ParameterError(
            f"{command}: {path!r} is no key of the metadata. Write one text, such as 'metadata.topic'."
        )
    value = find(metadata, path)
    place = f"{command}: sample {replace_invisible(sample)[:_MAX_NAME_CHARACTERS]!r}"
    if value is None:
        names = [
            f"metadata.{replace_invisible(str(name))[:_MAX_NAME_CHARACTERS]}"
            for name in metadata
            if metadata[name] is not None
        ]
        raise ParameterError(
            f"{place} has no {path!r}.{suggest(path, names)} Its metadata: "
            f"{', '.join(names) or 'none'}."
        )
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError):  # JSON cannot hold a tuple as a key, or a list within itself
        pass
    try:
        return str(value)
    except ValueError:  # Python writes no integer of thousands of digits
        raise ParameterError(f"{place}: {path!r} cannot be written. Write it as a string.") from None


def read_groups(samples: Iterable[Sample], path: str | None, command: str) -> list[str] | None:
    """Return the value of a key of the metadata of each sample, as `read_group`. Return None if there is no key.

    Raises:
        ParameterError: A sample has none.
    """
    if path is None:
        return None
    return [
        read_group(sample.metadata, path, sample.id or str(number), command)
        for number, sample in enumerate(samples, 1)
    ]
