"""What a framework's own metric has and a wrapper does not use: it is refused, so that nothing is silently ignored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Never

from ctxmetrics.errors import ParameterError


class UnusedError(ParameterError, AttributeError):
    """An attribute, a method or a parameter of the framework's own metric would do nothing here."""


class Unused:
    """An attribute or a method of the framework's own metric that would do nothing here.

    Reading or setting it raises `UnusedError`, so ``hasattr`` is False. `check_unused` refuses it as a parameter and in a
    subclass.

    Args:
        name: Its name.
        instead: What to write instead, as a sentence.
    """

    def __init__(self, name: str, instead: str) -> None:
        self.name = name
        self.instead = instead

    def __get__(self, metric: object, owner: type | None = None) -> Any:
        if metric is None:
            return self
        raise self.error(type(metric))

    def __set__(self, metric: object, value: object) -> Never:
        raise self.error(type(metric))

    def error(self, metric: type) -> UnusedError:
        """Build the error for a class."""
        return UnusedError(f"{metric.__name__}: {self.name} would do nothing here. {self.instead}")


def mark_unused(metric: type, advice: Mapping[str, str]) -> None:
    """Mark attributes and methods of a class as `Unused`: what to write instead, by names with blanks between them."""
    for names, instead in advice.items():
        for name in names.split():
            setattr(metric, name, Unused(name, instead))


def check_unused(metric: type, names: Iterable[str]) -> None:
    """Raise where one of the names is `Unused` in a class: the class's own names, or parameters that a caller wrote.

    Raises:
        UnusedError: One is; the message says what to write instead.
    """
    for name in names:
        for base in metric.__mro__:
            attribute = vars(base).get(name)
            if isinstance(attribute, Unused):
                raise attribute.error(metric)
