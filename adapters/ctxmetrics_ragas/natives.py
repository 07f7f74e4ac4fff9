"""Ragas' own metrics, for ``ctxmetrics explain-difference``: their LLM answers what a judge of ctxmetrics said."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from typing import Any

from langchain_core.outputs import Generation, LLMResult
from ragas import SingleTurnSample
from ragas.llms.base import BaseRagasLLM
from ragas.metrics import (
    DistanceMeasure,
    IDBasedContextPrecision,
    IDBasedContextRecall,
    LLMContextPrecisionWithoutReference,
    LLMContextPrecisionWithReference,
    LLMContextRecall,
    NonLLMContextPrecisionWithReference,
    NonLLMContextRecall,
    NonLLMStringSimilarity,
)

import ctxmetrics as ours
from ctxmetrics._runtime.background import run_sync
from ctxmetrics.adapting import natives
from ctxmetrics.adapting.natives import Answer
from ctxmetrics.adapting.runners import aside
from ctxmetrics.metrics.base import Metric
from ctxmetrics.samples import Sample


class _Answers(BaseRagasLLM):
    """An LLM that gives one reply after the other; asked once more, it repeats the last."""

    def __init__(self, replies: Iterable[Any]) -> None:
        super().__init__()
        self._replies = [json.dumps(reply) for reply in replies]
        self._asked = -1

    def generate_text(self, *_: Any, **__: Any) -> LLMResult:
        """Return the next reply."""
        self._asked = min(self._asked + 1, len(self._replies) - 1)
        return LLMResult(generations=[[Generation(text=self._replies[self._asked])]])

    async def agenerate_text(self, *_: Any, **__: Any) -> LLMResult:
        """Return the next reply."""
        return self.generate_text()

    def is_finished(self, response: LLMResult) -> bool:
        """Return that each reply is whole."""
        del response
        return True


def _word(answer: Answer) -> Any:
    return int(answer) if isinstance(answer, bool) else answer


def _recall(_: Metric, answers: Sequence[Answer]) -> Any:
    said = [_word(answer) for answer in answers if answer is not None]
    lines = [{"statement": "-", "reason": "-", "attributed": word} for word in said]
    return LLMContextRecall(llm=_Answers([{"classifications": lines}]))


def _judge(answers: Sequence[Answer]) -> _Answers:
    """Return an LLM for one context after the other; an answer that is missing cannot be read, also when asked again."""
    read = [*answers, None][: [*answers, None].index(None) + 1]
    return _Answers(
        {"reason": "-", "verdict": _word(answer)} if answer is not None else "" for answer in read
    )


def _string_recall(metric: Metric, _: Sequence[Answer]) -> Any:
    own = NonLLMContextRecall(threshold=vars(metric)["min_similarity"])
    own.distance_measure = DistanceMeasure(vars(metric)["similarity"])
    return own


def _string_precision(metric: Metric, _: Sequence[Answer]) -> Any:
    measure = NonLLMStringSimilarity(distance_measure=DistanceMeasure(vars(metric)["similarity"]))
    return NonLLMContextPrecisionWithReference(
        threshold=vars(metric)["min_similarity"], distance_measure=measure
    )


# Ragas' own metric by the name of ours, and how it is made.
_METRICS: dict[str, tuple[type, Callable[[Metric, Sequence[Answer]], Any]]] = {
    ours.ContextRecall.base_name: (LLMContextRecall, _recall),
    ours.ContextPrecision.base_name: (
        LLMContextPrecisionWithReference,
        lambda _, answers: LLMContextPrecisionWithReference(llm=_judge(answers)),
    ),
    ours.ContextUtilization.base_name: (
        LLMContextPrecisionWithoutReference,
        lambda _, answers: LLMContextPrecisionWithoutReference(llm=_judge(answers)),
    ),
    ours.NonLLMContextRecall.base_name: (NonLLMContextRecall, _string_recall),
    ours.NonLLMContextPrecision.base_name: (NonLLMContextPrecisionWithReference, _string_precision),
    ours.IDBasedContextRecall.base_name: (IDBasedContextRecall, lambda *_: IDBasedContextRecall()),
    ours.IDBasedContextPrecision.base_name: (
        IDBasedContextPrecision,
        lambda *_: IDBasedContextPrecision(),
    ),
}


def _score(metric: Metric, sample: Sample, answers: Sequence[Answer]) -> float | None:
    own = _METRICS[metric.base_name][1](metric, answers)
    texts = ("user_input", "reference", "response")
    fields = {
        name: value for name, value in sample.to_dict().items() if name in SingleTurnSample.model_fields
    }
    fields |= {name: fields.get(name) or "" for name in texts}
    with aside({"RAGAS_DO_NOT_TRACK": "true"}):
        # What evaluate() calls; `single_turn_ascore` counts each call for Ragas' makers as well.
        value = run_sync(own._single_turn_ascore, SingleTurnSample(**fields), None)  # noqa: SLF001 - see above
    return None if math.isnan(value) else float(value)


NATIVE = natives.Native(
    f"ragas {version('ragas')}",
    {name: own.__name__ for name, (own, _) in _METRICS.items()},
    _score,
    (
        natives.OWN_FORMULA,
        natives.BELIEVES,
        natives.DIVIDES_BY_WHAT_CAME,
        natives.ASKS_ABOUT_EMPTY,
        natives.ZERO_PRECISION_WITHOUT_VERDICTS,
        natives.RAGAS_EMPTY_SIDE,
        natives.ABOVE_THE_CUT,
        natives.ADDS_EPSILON,
    ),
)
