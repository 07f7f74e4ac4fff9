"""Mappings that cannot be changed, and plain data for JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class FrozenDict(Mapping[str, Any]):
    """A mapping that cannot be changed and, unlike a mapping proxy, can be pickled, copied and be a default."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Any]) -> None:
        self._items = dict(items)

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items))

    def __repr__(self) -> str:
        return repr(self._items)

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDict, (self._items,)


EMPTY = FrozenDict({})


def plain(value: Any) -> Any:
    """Turn mappings, tuples and objects with ``to_dict`` into JSON-ready data."""
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    if hasattr(value, "items"):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def frozen(mapping: Mapping[str, Any]) -> FrozenDict:
    """Return a read-only copy of a mapping."""
    return FrozenDict(mapping) if mapping else EMPTY
