"""The judged metrics as metrics of Ragas: who judges, and how ``evaluate(llm=..)`` gives its LLM."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar, Literal, Never, Self, Unpack

from ragas.metrics.base import MetricWithLLM

from ctxmetrics import Judge, Metric
from ctxmetrics.adapting import CoreParams, judge_by_llm, judging_llm
from ctxmetrics.errors import ParameterError
from ctxmetrics_ragas.metrics import RagasMetric
from ctxmetrics_ragas.model import RagasModel


class JudgedMetric(RagasMetric):
    """A metric whose verdicts come from a judge.

    Args:
        judge: A judge of `ctxmetrics`; ``"framework"``: the LLM of ``evaluate(llm=..)``. By default `judged_by`, else
            the embedded judge, and no LLM is asked for.
        llm: The LLM to judge with: ``llm_factory(..)``, a ``BaseRagasLLM``, or a LangChain model.
        core: See `RagasMetric`.
        name: See `RagasMetric`.
        **params: See `RagasMetric`.
    """

    # The ``judge=`` of a metric that is given neither a judge nor an LLM.
    judged_by: ClassVar[Literal["framework"] | None] = None

    core: Any

    def __new__(cls, *_: Any, judge: Any = None, llm: Any = None, core: Any = None, **__: Any) -> Self:
        """Make a ``MetricWithLLM`` for ``judge="framework"`` only: any other would be given OpenAI's LLM."""
        if judge is None and llm is None and getattr(core, "judge", None) is None:
            judge = cls.judged_by
        waits = isinstance(judge, str) and judge == "framework"
        kind: Any = _waiting(cls.public or cls) if waits else cls
        metric: Self = super().__new__(kind)
        vars(metric)["_lent"] = ContextVar("ctxmetrics_ragas_lent", default=None)
        return metric

    def __init__(
        self,
        *_: Never,
        judge: Judge | Literal["framework"] | None = None,
        llm: Any = None,
        core: Metric | None = None,
        name: str | None = None,
        **params: Unpack[CoreParams],
    ) -> None:
        super().__init__(*_, core=core, name=name, **params)
        if judge is not None and llm is not None:
            raise ParameterError(f"{type(self).__name__}: give judge= or llm=, not both.")
        if judge is not None and not isinstance(self, MetricWithLLM):
            self.core = replace(self.core, judge=judge)
        if llm is not None:
            self.llm = llm

    @property
    def llm(self) -> Any:
        """The LLM that judges, or None. Setting it makes it the judge."""
        return judging_llm(self.core, RagasModel)

    @llm.setter
    def llm(self, llm: Any) -> None:
        self.core = self._judged_by(llm)

    def _judged_by(self, llm: Any) -> Any:
        return replace(self.core, judge=judge_by_llm(llm, RagasModel))


class _Waiting(JudgedMetric, MetricWithLLM):  # pyright: ignore[reportIncompatibleVariableOverride, reportIncompatibleMethodOverride]  # llm is a property
    """A judged metric that gets its LLM from ``evaluate()``, for the time of the run.

    ``evaluate()`` sets ``llm`` where it is None, calls ``init``, submits ``single_turn_ascore`` for
    every sample, and sets ``llm`` back to None at its end, also while another ``evaluate()`` uses the
    same object. So that LLM belongs to the run: it is kept in the run's context and with what the run
    submits. An LLM that a caller sets stays.
    """

    _lent: ContextVar[Any]  # the core metric with the LLM of the run

    def __setattr__(self, name: str, value: Any) -> None:
        # ragas/evaluation.py sets this attribute and sets it back (lines 180 and 332), as a caller may
        # do: the two are told apart only by the module of the code that sets it.
        lends = name == "llm" and sys._getframe(1).f_globals.get("__name__") == "ragas.evaluation"  # noqa: SLF001 - Python has no other name for it
        if name == "llm":
            self._lent.set(self._judged_by(value) if lends and value is not None else None)
        if not lends:
            super().__setattr__(name, value)

    @property
    def single_turn_ascore(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]  # a method there
        """Score one of Ragas' samples with the LLM of the run that asks for this, in whichever context it is called."""
        return self._with_lent(super().single_turn_ascore)

    @property
    def multi_turn_ascore(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]  # a method there
        """Score a conversation likewise."""
        return self._with_lent(super().multi_turn_ascore)

    def _with_lent(self, score: Callable[..., Awaitable[float]]) -> Callable[..., Awaitable[float]]:
        lent = self._lent.get()

        async def score_with_lent(*values: Any, **named: Any) -> float:
            self._lent.set(lent or self._lent.get())
            return await score(*values, **named)

        return score_with_lent

    def _judging(self) -> Any:
        metric = self._lent.get() or self.core
        if metric.judge is None:
            raise ParameterError(
                f"{self.name} has no LLM yet. Give llm= to {type(self).__name__}(..), or score it in "
                "ragas.evaluate(.., llm=..); judge=LexicalJudge() takes the embedded judge, which needs none."
            )
        return metric


@cache
def _waiting(cls: type[JudgedMetric]) -> type[JudgedMetric]:
    attributes = {"__module__": cls.__module__, "__doc__": cls.__doc__, "public": cls}
    return type(cls.__name__, (_Waiting, cls), attributes)
