"""DeepEval's own metrics, for ``ctxmetrics explain-difference``: their LLM answers what a judge of ctxmetrics said."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from deepeval.metrics import ContextualPrecisionMetric, ContextualRecallMetric
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import LLMTestCase

from ctxmetrics import ContextPrecision, ContextRecall
from ctxmetrics.adapting import natives
from ctxmetrics.adapting.natives import Answer
from ctxmetrics.adapting.runners import aside
from ctxmetrics.metrics.base import Metric
from ctxmetrics.samples import Sample
from ctxmetrics_deepeval.runners import QUIET

# DeepEval counts what runs for its makers and sends that when the process ends.
os.environ.setdefault("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")


class _Answers(DeepEvalBaseLLM):  # type: ignore[no-untyped-call]  # its __init_subclass__ has no types
    """An LLM that gives one list of verdicts; a verdict that is missing is not in it."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        words = [
            answer if isinstance(answer, str) else "yes" if answer else "no"
            for answer in answers
            if answer is not None
        ]
        self._reply = json.dumps({"verdicts": [{"verdict": word, "reason": "-"} for word in words]})
        super().__init__("answers")

    def load_model(self) -> Any:
        """Return itself."""
        return self

    def get_model_name(self) -> str:
        """Return a name."""
        return "answers"

    def generate(self, prompt: str) -> str:
        """Return the verdicts as text."""
        del prompt
        return self._reply

    async def a_generate(self, prompt: str) -> str:
        """Return the verdicts as text."""
        return self.generate(prompt)


# DeepEval's own metric by the name of ours.
_METRICS: dict[str, Any] = {
    ContextRecall.base_name: ContextualRecallMetric,
    ContextPrecision.base_name: ContextualPrecisionMetric,
}


def _score(metric: Metric, sample: Sample, answers: Sequence[Answer]) -> float | None:
    case = LLMTestCase(
        input=sample.user_input or "",
        actual_output="",
        expected_output=sample.reference or "",
        retrieval_context=list(sample.retrieved_contexts or ()),
    )
    with aside(QUIET):
        own = _METRICS[metric.base_name](model=_Answers(answers), include_reason=False, async_mode=False)
        own.measure(case, _show_indicator=False)
    return None if own.score is None else float(own.score)


NATIVE = natives.Native(
    f"deepeval {version('deepeval')}",
    {name: own.__name__ for name, own in _METRICS.items()},
    _score,
    (
        natives.OWN_FORMULA,
        natives.BELIEVES,
        natives.DIVIDES_BY_WHAT_CAME,
        natives.SHIFTS_RANKS,
        natives.ASKS_ABOUT_EMPTY,
        natives.ZERO_WITHOUT_VERDICTS,
        natives.ADDS_NOTHING,
    ),
)
