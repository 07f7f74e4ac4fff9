"""The judged metrics as metrics of Ragas: who judges, and how ``evaluate(llm=..)`` gives its LLM."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Never, Self, Unpack

from ragas.llms.base import BaseRagasLLM
from ragas.metrics.base import MetricWithLLM
from ragas.run_config import RunConfig

from ctxmetrics import adapting
from ctxmetrics.errors import ParameterError
from ctxmetrics_ragas.metrics import RagasMetric

if TYPE_CHECKING:
    from ctxmetrics import Judge, Metric
    from ctxmetrics.adapting import CoreParams


class JudgedMetric(RagasMetric):
    """A metric whose verdicts come from a judge.

    Args:
        judge: A judge of `ctxmetrics` or its name (``"openai/gpt-4o-mini"``); ``"framework"``: the LLM of
            ``evaluate(llm=..)``. By default `judged_by`, else the embedded judge, and no LLM is asked for.
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
        metric_class: Any = cls
        if isinstance(judge, str) and judge == "framework":
            metric_class = _build_framework_judged_class(cls.public or cls)
        metric: Self = super().__new__(metric_class)
        vars(metric)["_metric_of_run"] = ContextVar("ctxmetrics_ragas_metric_of_run", default=None)
        return metric

    def __init__(
        self,
        *_: Never,
        judge: Judge | str | None = None,
        llm: Any = None,
        core: Metric | None = None,
        name: str | None = None,
        telemetry: bool = False,
        **params: Unpack[CoreParams],
    ) -> None:
        super().__init__(*_, core=core, name=name, telemetry=telemetry, **params)
        if judge is not None and llm is not None:
            raise ParameterError(f"{type(self).__name__}: give judge= or llm=, not both.")
        if judge is not None and not isinstance(self, MetricWithLLM):
            self.core = replace(self.core, judge=judge)
        if llm is not None:
            self.llm = llm

    def init(self, run_config: RunConfig) -> None:
        """Take a run's workers, timeout and retries for the requests; an LLM that takes more settings gets all of them."""
        super().init(run_config)
        llm = _get_llm(self._metric_with_judge())
        if isinstance(llm, BaseRagasLLM):
            llm.set_run_config(run_config)

    @property
    def llm(self) -> Any:
        """The LLM that judges, or None. Setting it makes it the judge."""
        return _get_llm(self.core)

    @llm.setter
    def llm(self, llm: Any) -> None:
        self.core = self._with_llm(llm)

    def _with_llm(self, llm: Any) -> Any:
        """Return the core metric with an LLM of Ragas as its judge."""
        from ctxmetrics_ragas.model import RagasModel

        return replace(self.core, judge=adapting.judge_by_llm(llm, RagasModel))


class _FrameworkJudgedMetric(JudgedMetric, MetricWithLLM):  # pyright: ignore[reportIncompatibleVariableOverride, reportIncompatibleMethodOverride]  # llm is a property
    """A judged metric that gets its LLM from ``evaluate()``, for the time of the run.

    ``evaluate()`` sets ``llm`` where it is None, calls ``init``, submits ``single_turn_ascore`` for
    every sample, and sets ``llm`` back to None at its end, also while another ``evaluate()`` uses the
    same object. So that LLM belongs to the run: it is kept in the run's context and with what the run
    submits. An LLM that a caller sets stays.
    """

    _metric_of_run: ContextVar[Any]  # the core metric with the LLM of the run

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "llm":
            super().__setattr__(name, value)
            return
        # Both Ragas' evaluation and a caller set `llm`, and Ragas gives its LLM in no other way. The module that sets it
        # tells which of the two it is; tests/adapters/ragas/test_upstream.py fails when Ragas offers a better way.
        is_set_by_ragas = sys._getframe(1).f_globals.get("__name__") == "ragas.evaluation"  # noqa: SLF001 - Python has no other name for it
        if is_set_by_ragas:
            self._metric_of_run.set(None if value is None else self._with_llm(value))
        else:
            self._metric_of_run.set(None)
            super().__setattr__(name, value)

    @property
    def single_turn_ascore(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]  # a method there
        """Score one of Ragas' samples with the LLM of the run that reads this attribute, whatever context calls it later."""
        return self._bind_run(super().single_turn_ascore)

    @property
    def multi_turn_ascore(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]  # a method there
        """Score a conversation in the same way."""
        return self._bind_run(super().multi_turn_ascore)

    def _bind_run(self, score: Callable[..., Awaitable[float]]) -> Callable[..., Awaitable[float]]:
        """Return a method that scores with the LLM of the current run: with the metric that has this LLM as judge."""
        metric_of_run = self._metric_of_run.get()

        async def score_in_run(*arguments: Any, **keywords: Any) -> float:
            # The call may run in another task, in which the variable has no value yet.
            metric = metric_of_run or self._metric_of_run.get()
            self._metric_of_run.set(metric)
            return await score(*arguments, **keywords)

        return score_in_run

    def _metric_with_judge(self) -> Any:
        """Return the core metric with the LLM of the run, else with the one that a caller set."""
        metric = self._metric_of_run.get() or self.core
        if metric.judge is None:
            raise ParameterError(
                f"{self.name} has no LLM yet. Give llm= to {type(self).__name__}(..), or score it in "
                "ragas.evaluate(.., llm=..); judge=LexicalJudge() takes the embedded judge, which needs none."
            )
        return metric


def _get_llm(metric: Metric) -> Any:
    """Return the LLM of Ragas that judges a metric; None if none does."""
    if getattr(metric, "judge", None) is None:
        return None
    from ctxmetrics_ragas.model import RagasModel

    return adapting.judging_llm(metric, RagasModel)


@cache
def _build_framework_judged_class(cls: type[JudgedMetric]) -> type[JudgedMetric]:
    """Build the subclass of a metric's class that gets its LLM from ``evaluate()``, under the same name."""
    attributes = {"__module__": cls.__module__, "__doc__": cls.__doc__, "public": cls}
    return type(cls.__name__, (_FrameworkJudgedMetric, cls), attributes)
