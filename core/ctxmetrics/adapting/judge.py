"""What a caller of an adapter may give as its judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxmetrics.errors import ParameterError
from ctxmetrics.judges.base import Judge
from ctxmetrics.judges.llm.judge import LLMJudge
from ctxmetrics.models.base import Model

if TYPE_CHECKING:
    from collections.abc import Callable


def as_judge(given: object, foreign: type, wrap: Callable[[Any], Model]) -> Judge | None:
    """Return the judge that a judge, a model, or another library's model stands for; None for None.

    Args:
        given: What a caller gave as ``judge=``.
        foreign: The other library's class.
        wrap: Makes a `Model` of an object of that class.

    Raises:
        ParameterError: It is none of these.
    """
    if given is None or isinstance(given, Judge):
        return given
    model = wrap(given) if isinstance(given, foreign) else given
    if not isinstance(model, Model):
        raise ParameterError(
            f"judge={type(given).__name__} is no judge. Give LexicalJudge(), LLMJudge(model), a model, or a "
            f"{foreign.__name__} with nothing around it."
        )
    return LLMJudge(model)
