"""What models have in common that wrap somebody else's client."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NoReturn

from ctxmetrics.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

_unnamed: dict[int, tuple[object, str]] = {}


class ForeignModel:
    """A `Model` around another library's: equal by identity, shared by copies, never pickled.

    Args:
        inner: The other library's model.
        identity: See `Model`.
    """

    def __init__(self, inner: object, identity: str) -> None:
        self._inner = inner
        self._identity = identity

    @property
    def identity(self) -> str:
        """What is part of every cache key; see `Model`."""
        return self._identity

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is type(self) and isinstance(other, ForeignModel) and other.identity == self.identity
        )

    def __hash__(self) -> int:
        return hash(self.identity)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.identity!r})"

    def __deepcopy__(self, memo: dict[int, Any]) -> ForeignModel:
        return self  # clients hold connections and locks

    def __reduce__(self) -> NoReturn:
        raise ParameterError(
            f"{type(self).__name__} holds the client and key of {type(self._inner).__name__}, which must not be "
            "pickled. Build it in the process that uses it, or judge with OpenAIModel."
        )


def check_kind(inner: object, kind: type, wrapper: str) -> None:
    """Raise unless an object is of the class that a wrapper wraps.

    Raises:
        ParameterError: It is not.
    """
    if not isinstance(inner, kind):
        raise ParameterError(
            f"{wrapper}: {type(inner).__name__} is no {kind.__name__}. Give the object itself, with nothing around it."
        )


def fingerprint(parameters: Mapping[str, Any]) -> str:
    """Return a digest of parameters, the same in every process where all of them have a JSON form.

    A pydantic secret counts as nothing. Any other value without a JSON form (an iterator, a client) is equal to itself
    only: two models that hold different ones never share a judgement, in this process or the next.
    """
    import json

    text = json.dumps(parameters, default=_stand_in, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _stand_in(value: object) -> str:
    from uuid import uuid4

    if hasattr(value, "get_secret_value"):
        return ""
    return _unnamed.setdefault(id(value), (value, uuid4().hex))[
        1
    ]  # kept alive, so that its address stays its own
