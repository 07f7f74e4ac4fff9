"""From DeepEval's test case to a sample; which field is which, the core's table of schemas says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepeval.errors import MissingTestCaseParamsError
from deepeval.test_case import LLMTestCase, SingleTurnParams

from ctxmetrics.errors import MissingFieldError, SampleError
from ctxmetrics.samples import Sample
from ctxmetrics.schemas import SCHEMAS

if TYPE_CHECKING:
    from ctxmetrics.metrics.base import Metric

_SCHEMA = SCHEMAS["deepeval"].fields
_KEYS = tuple(key for key in _SCHEMA if key in LLMTestCase.model_fields)
# Where each of our fields lives in a test case: retrieval_context, metadata.reference_context_ids ..
_HOME = {own: key for key, own in reversed([*_SCHEMA.items()])}


class MissingParamsError(MissingTestCaseParamsError, MissingFieldError):
    """A test case lacks what a metric needs: DeepEval's own error, which its runner knows, and ours."""


def required_params(metric: type[Metric]) -> list[SingleTurnParams]:
    """Return what a metric asks of a test case, in DeepEval's words."""
    places = ["input", *(_HOME[name].partition(".")[0] for name in metric.requires)]
    return [SingleTurnParams(place) for place in dict.fromkeys(places)]


def to_sample(test_case: LLMTestCase, metric: Metric) -> Sample:
    """Read a test case.

    Ids come from ``metadata["retrieved_context_ids"]`` and ``metadata["reference_context_ids"]``, else, for what was
    retrieved, from the source of ``RetrievedContextData`` where every item has one. Reference contexts are
    ``context``, else ``metadata["reference_contexts"]``.

    Raises:
        SampleError: It is no ``LLMTestCase``, or a field has the wrong type.
        MissingParamsError: It lacks a field that the metric needs; the message names the test case's fields.
    """
    if not isinstance(test_case, LLMTestCase):
        raise SampleError(f"The test case must be an LLMTestCase, not {type(test_case).__name__}.")
    values: dict[str, Any] = {key: getattr(test_case, key) for key in _KEYS}
    values["reference_contexts"] = (test_case.metadata or {}).get("reference_contexts")
    if isinstance(
        items := values["retrieval_context"], list
    ):  # dumping an item would join its text and source
        values["retrieval_context"] = [vars(item) if hasattr(item, "source") else item for item in items]
    sample = Sample.from_dict(values, schema="deepeval")
    missing = [f"'{_HOME[name]}'" for name in metric.requires if getattr(sample, name) is None]
    if missing:
        raise MissingParamsError(f"{' and '.join(missing)} cannot be None for the '{metric.name}' metric")
    return sample
