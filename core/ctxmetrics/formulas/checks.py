"""Checks of the parameters that a caller gives."""

from __future__ import annotations

from collections.abc import Collection

from ctxmetrics.errors import ParameterError


def check_number(
    what: str,
    value: object,
    least: float | None = None,
    most: float | None = None,
    *,
    whole: bool = False,
    optional: bool = False,
) -> None:
    """Raise unless the value is a number within its bounds.

    Args:
        what: The parameter, for the message.
        value: What was given.
        least: The smallest number that is allowed, or None.
        most: The largest, or None.
        whole: Whether it must be an integer.
        optional: Whether None is allowed.

    Raises:
        ParameterError: It is something else, also true, false or NaN.
    """
    if optional and value is None:
        return
    number = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
    low, high = float("-inf") if least is None else least, float("inf") if most is None else most
    if not number or not low <= value <= high:  # type: ignore[operator]  # a number by now
        bounds = ("" if least is None else f" from {least:g}") + (
            "" if most is None else f" to {most:g}"
        )
        raise ParameterError(
            f"{what}={value!r} must be a {'whole ' if whole else ''}number{bounds}{', or None' if optional else ''}."
        )


def check_choice(what: str, value: object, choices: Collection[str]) -> None:
    """Raise unless the value is one of the choices.

    Raises:
        ParameterError: It is not.
    """
    if value not in choices:
        raise ParameterError(f"{what}={value!r} is unknown. Choose from: {', '.join(choices)}.")
