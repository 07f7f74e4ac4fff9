"""A call that is written as text, such as ``context_recall(top_k=5)``: the form in which metrics and judges are named."""

from __future__ import annotations

import re
from typing import Any

from ctxmetrics.errors import ParameterError

# A call with its name and its parameters: ndcg@10, context_recall(top_k=5).
_CALL_PATTERN = re.compile(
    r"""
    (?P<name>[\w@.-]+ (?:\ [\w@.-]+)*)     # ndcg@10; a name may have several words: Context Recall
    \s* (?: \( (?P<parameters>.*) \) )?    # (top_k=5, formula=ap)
    \Z
    """,
    re.VERBOSE | re.DOTALL,
)


def parse_call(text: str) -> tuple[str, dict[str, Any]]:
    """Split ``name(parameter=value, ..)`` into the name and the parameters.

    Raises:
        ParameterError: A parameter is not written so.
    """
    match = _CALL_PATTERN.match(text.strip())
    if match is None:
        return text, {}
    parameters: dict[str, Any] = {}
    for parameter_text in (match["parameters"] or "").split(","):
        assignment = parameter_text.strip()
        if not assignment:
            continue
        name, equals, value = assignment.partition("=")
        if not equals:
            raise ParameterError(f"{text!r}: {assignment!r} is no parameter=value, such as top_k=5.")
        parameters[name.strip()] = parse_value(value.strip())
    return match["name"], parameters


def parse_value(text: str) -> Any:
    """Parse a value: a word such as ``true`` or ``none``, a number, else a text, with quotes or without."""
    words: dict[str, Any] = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    try:
        return float(text)
    except ValueError:
        return text.strip("'\"")
