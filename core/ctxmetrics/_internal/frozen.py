"""Mappings that cannot be changed, plain data for JSON, and annotations for pydantic, which is not loaded here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NoReturn


def _refuse(*_: object, **__: object) -> NoReturn:
    """Refuse to change a frozen mapping."""
    raise TypeError("This mapping cannot be changed.")


class FrozenDict(dict[str, Any]):
    """A dict that cannot be changed. Unlike a mapping proxy, it can be pickled, copied, hashed and used as a default."""

    __slots__ = ()

    def __hash__(self) -> int:  # type: ignore[override]  # a dict has none
        return hash(frozenset(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDict, (dict(self),)


_MUTATING_METHODS = (
    "__setitem__",
    "__delitem__",
    "__ior__",
    "clear",
    "pop",
    "popitem",
    "setdefault",
    "update",
)
for _method_name in _MUTATING_METHODS:
    setattr(FrozenDict, _method_name, _refuse)

EMPTY = FrozenDict({})


def freeze(data: dict[str, Any]) -> FrozenDict:
    """Return a mapping that cannot be changed; its lists become tuples, which take less memory."""
    if not data:
        return EMPTY
    for name, value in data.items():
        if type(value) is list:
            data[name] = tuple(value)
    return FrozenDict(data)


class Frozen:
    """Tells pydantic, in the annotation of a mapping, to `freeze` the mapping: ``Annotated[Mapping[str, int], Frozen()]``.

    This module does not load pydantic.
    """

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Return pydantic's schema: check the mapping, then freeze it."""
        return {
            "type": "function-after",
            "function": {"type": "no-info", "function": freeze},
            "schema": handler(source),
        }


class Bounds:
    """Tells pydantic, in the annotation of a number, which limits to check: ``Annotated[int, Bounds(ge=0)]``.

    Args:
        limits: The limits, under pydantic's names.
    """

    def __init__(self, **limits: float) -> None:
        self._limits = limits

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Return pydantic's schema: check the number and its limits."""
        return {**handler(source), **self._limits}


# The types of JSON data that holds no other data.
_SCALAR_TYPES = frozenset({str, int, float, bool, type(None)})


class Plain:
    """A dataclass with a `to_dict` that turns each field into JSON-ready data."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON-ready data."""
        return fields_to_json_data(self, self.__dataclass_fields__)


def fields_to_json_data(item: object, names: Iterable[str]) -> dict[str, Any]:
    """Return some attributes of an object as JSON-ready data."""
    data: dict[str, Any] = {}
    for name in names:
        value = getattr(item, name)
        # Most values are scalars. Calling no function for them saves time.
        data[name] = value if type(value) in _SCALAR_TYPES else to_json_data(value)
    return data


def to_json_data(value: Any) -> Any:
    """Turn mappings, tuples and objects with ``to_dict`` into JSON-ready data."""
    if type(value) in _SCALAR_TYPES:
        return value
    if isinstance(value, (list, tuple)):
        return [item if type(item) in _SCALAR_TYPES else to_json_data(item) for item in value]
    if isinstance(value, Plain):
        return value.to_dict()
    if hasattr(value, "to_dict"):
        return to_json_data(value.to_dict())
    if hasattr(value, "items"):
        return {str(key): to_json_data(item) for key, item in value.items()}
    return value
