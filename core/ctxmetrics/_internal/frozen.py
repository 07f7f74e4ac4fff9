"""Mappings that cannot be changed, and plain data for JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, NoReturn


def _refuse(*_: object, **__: object) -> NoReturn:
    raise TypeError("This mapping cannot be changed.")


class FrozenDict(dict[str, Any]):
    """A dict that cannot be changed and, unlike a mapping proxy, can be pickled, copied, hashed and be a default."""

    __slots__ = ()

    def __hash__(self) -> int:  # type: ignore[override]  # a dict has none
        return hash(frozenset(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDict, (dict(self),)


_CHANGES = ("__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update")
for _changing in _CHANGES:
    setattr(FrozenDict, _changing, _refuse)

EMPTY = FrozenDict({})
# Types that are plain data already.
_ATOMS = frozenset({str, int, float, bool, type(None)})


class Plain:
    """A dataclass that becomes plain data field by field."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON-ready data."""
        return plain_fields(self, self.__dataclass_fields__)


def plain_fields(item: object, names: Iterable[str]) -> dict[str, Any]:
    """Return some attributes as plain JSON-ready data; most are, and no function is called for those."""
    data: dict[str, Any] = {}
    for name in names:
        value = getattr(item, name)
        data[name] = value if type(value) in _ATOMS else plain(value)
    return data


def plain(value: Any) -> Any:
    """Turn mappings, tuples and objects with ``to_dict`` into JSON-ready data."""
    if type(value) in _ATOMS:
        return value
    if isinstance(value, (list, tuple)):
        return [item if type(item) in _ATOMS else plain(item) for item in value]
    if isinstance(value, Plain):
        return value.to_dict()
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    if hasattr(value, "items"):
        return {str(key): plain(item) for key, item in value.items()}
    return value
