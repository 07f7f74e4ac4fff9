"""An evaluator as a ``StringEvaluator`` of langchain-classic, which must be installed to import this."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from langchain_core.runnables.config import ensure_config, set_config_context

from ctxmetrics import Score
from ctxmetrics.adapting import Wrapper
from ctxmetrics.errors import importing
from ctxmetrics_langchain.documents import VALUES
from ctxmetrics_langchain.tracing import keep_local_runs

with importing("langchain-classic"):
    from langchain_classic.evaluation import StringEvaluator


class Grade(dict[str, Any]):
    """A result whose items are ``score`` and ``value``; everything else is an attribute.

    langchain-classic loses the score of a result with a ``reasoning`` item, next to langsmith 0.6 or
    newer. ``value`` is ``"passed"`` or ``"failed"`` if there is a pass mark, and the reason where
    there is no score.

    Attributes:
        full: The whole score.
        reasoning: What was missed or useless, and why.
    """

    def __init__(self, score: Score) -> None:
        value = score.reason if score.value is None else VALUES[score.passed]
        super().__init__(score=score.value, value=value)
        self.full: Score = score
        self.reasoning: str = score.reason


class MetricStringEvaluator(StringEvaluator):
    """What `RetrievalEvaluator.as_string_evaluator` returns.

    ``prediction`` is the retrieved documents (``RunEvalConfig(prediction_key=..)`` names them) or a mapping of the
    chain's outputs; ``reference`` a text, or a mapping of the example's outputs; ``input`` the question.

    Args:
        name: The feedback key.
        wrapper: The wrapped core metric.
    """

    def __init__(self, name: str, wrapper: Wrapper) -> None:
        hint = "since a text is the answer: give the documents as prediction="
        self._name = name
        self._wrapper = replace(wrapper, schema=replace(wrapper.schema, hint=hint))

    @property
    def evaluation_name(self) -> str:
        """The feedback key."""
        return self._name

    @property
    def requires_input(self) -> bool:
        """Whether the metric takes the question along."""
        return "user_input" in self._wrapper.metric.uses

    @property
    def requires_reference(self) -> bool:
        """Whether the metric compares with anything of the example."""
        return any(name.startswith("reference") for name in self._wrapper.metric.requires)

    def _check_evaluation_args(self, reference: Any = None, input_: Any = None) -> None:
        """Check nothing here: the metric needs no question, and it names the fields that are missing."""

    def _evaluate_strings(
        self,
        *,
        prediction: Any,
        reference: Any = None,
        input: Any = None,  # noqa: A002 - langchain's name
        callbacks: Any = None,
        **other_values: Any,
    ) -> Grade:
        """Score what langchain-classic passes, with its callbacks in the configuration of the run."""
        record = {
            **other_values,
            "inputs": input,
            "outputs": prediction,
            "reference_outputs": reference,
        }
        with set_config_context(ensure_config({"callbacks": callbacks})) as context:
            return Grade(context.run(self._score, record))

    def _score(self, record: dict[str, Any]) -> Score:
        """Score a record without uploading the runs of a judge."""
        with keep_local_runs():
            return self._wrapper.score(record)
