"""What a framework's own metric has and a wrapper does not use: it is refused, so that nothing is silently ignored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Never

from ctxmetrics.errors import ParameterError

# What to write in place of a prompt or template of a framework.
PROMPT_ADVICE = (
    "language= names another language, and a prompt pack other words: "
    "ctxmetrics.prompts.register_pack(Pack(language=.., texts=..))."
)


class UnusedError(ParameterError, AttributeError):
    """An attribute, a method or a parameter of the framework's own metric would do nothing here."""


class Unused(property):
    """An attribute or a method of the framework's own metric that would do nothing here.

    Reading or setting it raises `UnusedError`, so ``hasattr`` is False. `check_unused` refuses it as a parameter and in a
    subclass.
    """


def mark_unused(metric: type, advice: Mapping[str, str]) -> None:
    """Mark attributes and methods of a class as `Unused`; ``advice`` says by the name of each what to write instead."""
    for name, instead in advice.items():
        refuse = partial(_refuse, f"{name} would do nothing here. {instead}")
        setattr(metric, name, Unused(refuse, refuse))


def _refuse(problem: str, metric: object, _: object = None) -> Never:
    """Raise the error of an unused attribute that is read or set."""
    kind = metric if isinstance(metric, type) else type(metric)
    raise UnusedError(f"{kind.__name__}: {problem}")


def check_unused(metric: type, names: Iterable[str]) -> None:
    """Check that none of the names is `Unused` in a class.

    Args:
        metric: The class.
        names: The names that a subclass defines, or the parameters that a caller wrote.

    Raises:
        UnusedError: A name is; the message says what to write instead.
    """
    for name in names:
        for base in metric.__mro__:
            attribute = vars(base).get(name)
            if isinstance(attribute, Unused) and attribute.fget is not None:
                attribute.fget(metric)
