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
        value: The value that was given.
        least: The smallest number that is allowed, or None.
        most: The largest number that is allowed, or None.
        whole: Whether the value must be an integer.
        optional: Whether None is allowed.

    Raises:
        ParameterError: The value is not such a number. True, false and NaN are refused, too.
    """
    if optional and value is None:
        return
    lowest = float("-inf") if least is None else least
    highest = float("inf") if most is None else most
    kinds = int if whole else (int, float)
    is_number = isinstance(value, kinds) and not isinstance(value, bool)
    if is_number and lowest <= value <= highest:  # type: ignore[operator]  # false for NaN too
        return
    requirement = "a whole number" if whole else "a number"
    if least is not None:
        requirement += f" from {least:g}"
    if most is not None:
        requirement += f" to {most:g}"
    if optional:
        requirement += ", or None"
    raise ParameterError(f"{what}={value!r} must be {requirement}.")


def check_switch(what: str, value: object) -> None:
    """Raise unless the value is True or False: Python takes the text "false" as true.

    Raises:
        ParameterError: It is neither.
    """
    if not isinstance(value, bool):
        raise ParameterError(f"{what}={value!r} must be True or False.")


def check_choice(what: str, value: object, choices: Collection[str]) -> None:
    """Raise unless the value is one of the choices.

    Raises:
        ParameterError: It is not.
    """
    if value not in choices:
        from ctxmetrics._internal.near_names import suggest

        raise ParameterError(
            f"{what}={value!r} is unknown.{suggest(str(value), choices)} Choose from: {', '.join(choices)}."
        )
