"""The ids of the trace and the spans from which a sample was read."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

# The key of a sample's metadata under which a reader of traces keeps them.
KEY = "trace_spans"
# The bytes of the id of a trace in OpenTelemetry.
_TRACE_BYTES = 16
# The bytes of the id of a span.
_SPAN_BYTES = 8
# An id in hexadecimal digits.
_HEX = re.compile(r"[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class SpanIds:
    """The spans of one sample, as hexadecimal digits.

    Attributes:
        trace_id: The trace.
        root: The id of the trace's first span.
        retrievers: The ids of the retrievers' spans that returned the sample's contexts, in the order of time.
    """

    trace_id: str
    root: str
    retrievers: tuple[str, ...] = ()

    @property
    def target(self) -> str:
        """The span that a score is about: the retriever's span if there is exactly one, else the first span of the trace."""
        return self.retrievers[0] if len(self.retrievers) == 1 else self.root

    def to_metadata(self) -> dict[str, Any]:
        """Return the ids as an entry of a sample's metadata."""
        return {KEY: {"trace_id": self.trace_id, "root": self.root, "retrievers": [*self.retrievers]}}


def build_span_ids(trace: Any, root: Any, retrievers: Iterable[Any]) -> SpanIds | None:
    """Build the ids of a sample's spans.

    Args:
        trace: The id of the trace, as the file has it.
        root: The id of the trace's first span.
        retrievers: The ids of the retrievers whose contexts the sample has.

    Returns:
        The ids; None if the trace or its first span has no id of OpenTelemetry's. If the id of one retriever cannot be read,
        no retriever is named: the others returned only a part of the contexts.
    """
    trace_id = _read_id(trace, _TRACE_BYTES)
    root_id = _read_id(root, _SPAN_BYTES)
    if trace_id is None or root_id is None:
        return None
    retriever_ids: list[str] = []
    for retriever in retrievers:
        retriever_id = _read_id(retriever, _SPAN_BYTES)
        if retriever_id is None:
            return SpanIds(trace_id, root_id)
        retriever_ids.append(retriever_id)
    return SpanIds(trace_id, root_id, tuple(retriever_ids))


def read_span_ids(metadata: Mapping[str, Any]) -> SpanIds | None:
    """Read the ids from a sample's metadata; None if there are none."""
    data = metadata.get(KEY)
    if not isinstance(data, Mapping):
        return None
    retrievers = data.get("retrievers")
    if not isinstance(retrievers, (list, tuple)):
        retrievers = ()
    return build_span_ids(data.get("trace_id"), data.get("root"), retrievers)


def _read_id(value: Any, size: int) -> str | None:
    """Read an id: hexadecimal digits (also behind ``0x`` or MLflow's ``tr-``), or bytes in Base64; None for anything else."""
    if not isinstance(value, str):
        return None
    digits = value.strip().removeprefix("0x").removeprefix("tr-").lower()
    if not (len(digits) == 2 * size and _HEX.fullmatch(digits)):
        try:
            data = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            return None
        if len(data) != size:
            return None
        digits = data.hex()
    return digits if digits.strip("0") else None
