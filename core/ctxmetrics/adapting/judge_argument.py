"""Converts the value of ``judge=`` or ``llm=`` to a judge."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any

from ctxmetrics import __version__
from ctxmetrics.errors import ParameterError
from ctxmetrics.judges.base import Judge
from ctxmetrics.judges.decision import DecisionJudge
from ctxmetrics.judges.judge_names import read_judge
from ctxmetrics.judges.llm.judge import LLMJudge
from ctxmetrics.metrics.base import Metric
from ctxmetrics.models.base import DecisionModel, Model
from ctxmetrics.models.coerce import suggest_code
from ctxmetrics.models.foreign_decisions import coerce_decisions
from ctxmetrics.models.frameworks import ForeignModel


def as_judge(
    judge: object, foreign: type = Model, wrap: Callable[[Any], Model] = lambda model: model
) -> Judge | None:
    """Coerce a judge, a model or another library's model to a judge. None stays None.

    Args:
        judge: The value of ``judge=``. A text is the name of a judge, as for ``--judge``.
        foreign: The class of the other library's models. With `object`, any value except a judge is such a model.
        wrap: Makes a `Model` of such a model.

    Raises:
        ParameterError: It is none of these.
    """
    if judge is None or isinstance(judge, Judge):
        return judge
    takes_any_object = foreign is object  # then a text is the name of a model of the framework
    if isinstance(judge, str) and not takes_any_object:
        return read_judge(judge)
    decisions = coerce_decisions(judge)
    if isinstance(decisions, DecisionModel):
        return DecisionJudge(decisions)
    model = wrap(judge) if isinstance(judge, foreign) else judge
    if isinstance(model, Model):
        return LLMJudge(model)
    message = (
        f"judge={type(judge).__name__} is no judge. Give LexicalJudge(), LLMJudge(model), a model, or a "
        f"{foreign.__name__} with nothing around it."
    )
    suggestion = suggest_code(judge)
    if suggestion:
        message += f" For this one, write judge={suggestion}."
    raise ParameterError(message)


def judge_by_llm(llm: Any, wrap: Callable[[Any], Model]) -> Judge | None:
    """Coerce another library's model, given as ``llm=``, to a judge.

    A judge is not accepted: ``wrap`` raises an error that names the right parameter for a judge.
    """
    model = wrap(llm) if isinstance(llm, Judge) else llm
    return as_judge(model, object, wrap)


def label_judge(judge: Judge) -> str:
    """Return a judge's name with the library's version and a digest of all its options."""
    digest = sha256(repr(judge).encode()).hexdigest()[:8]
    return f"{judge.name}, ctxmetrics {__version__}, {digest}"


def judging_llm(metric: Metric, wrap: type[ForeignModel]) -> Any:
    """Return the other library's model that judges a metric, as the user gave it; None if the judge has no such model."""
    judge = getattr(metric, "judge", None)
    model = getattr(judge, "model", None)
    return getattr(model, "llm", None) if isinstance(model, wrap) else None
