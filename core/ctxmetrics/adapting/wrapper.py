"""The wrapper that runs a metric of the core in a framework. All adapters use it.

An adapter defines where its framework's fields are (a `Schema`, or a `Wrapper` with its own `read`), and the form of the
framework's results. This module does the rest: parameters, judge, reading, scoring, and the report of failures.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from ctxmetrics._internal.frozen import FrozenDict
from ctxmetrics._internal.secrets import safe_text
from ctxmetrics.adapting.framework_run import FrameworkRun, get_framework_run
from ctxmetrics.adapting.parameters import build_metric
from ctxmetrics.errors import (
    MissingFieldError,
    NotTextError,
    SampleError,
)
from ctxmetrics.formulas.checks import check_switch
from ctxmetrics.metrics.base import Metric
from ctxmetrics.models.runtime.run import breaker_scope
from ctxmetrics.samples.documents import look_up
from ctxmetrics.samples.field_keys import (
    MAY_BE_JOINED,
    ORDERED_BY,
    UNORDERED_BY,
    KeyParams,
    check_key_params,
)
from ctxmetrics.samples.sample import Sample
from ctxmetrics.samples.schema import Schema
from ctxmetrics.samples.systems import SCHEMAS, check_keys
from ctxmetrics.scores.score import Score
from ctxmetrics.scores.text_notes import find_doubtful_separator, find_line_of_marks

if TYPE_CHECKING:
    from ctxmetrics.judges.base import Judge
    from ctxmetrics.metrics.judging import JudgedMetric

# The scope of a metric without a judge. It has no state, so that one object is enough.
_NO_SCOPE = nullcontext()
# The parameters that name the keys of fields in a record, such as ``reference_key``. All other parameters are the metric's.
_FIELD_KEY_PARAMETERS = KeyParams.__optional_keys__


@dataclass(frozen=True)
class Wrapper:
    """A metric that scores the records of a framework.

    Attributes:
        metric: The metric.
        schema: Reads the records of one framework, and names its package in warnings.
        keys: The keys of the fields in records: see `KeyParams`.
        telemetry: Whether each score is sent as an event to the process's ``LoggerProvider`` of OpenTelemetry.
    """

    metric: Metric
    schema: Schema = field(compare=False, repr=False)
    keys: Mapping[str, Any] = field(default=FrozenDict({}))
    telemetry: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        check_switch(f"{self.metric.base_name}: telemetry", self.telemetry)
        if self.telemetry:  # raises here, and not at each score, if a package or provider is missing
            self._open_telemetry()

    @classmethod
    def of(
        cls,
        metric: Metric | str,
        judge: Judge | None,
        keys: Mapping[str, Any],
        schema: Schema,
        *,
        telemetry: bool = False,
    ) -> Wrapper:
        """Wrap a metric.

        Args:
            metric: The metric, or its name as ``--metric`` takes it.
            judge: The judge for a judged metric that has none.
            keys: The keys of the fields in records.
            schema: Reads the records.
            telemetry: Whether each score is sent as an event of OpenTelemetry.

        Raises:
            ParameterError: A key is unknown or of the wrong type, the metric's name is unknown, or the process has no
                provider for events.
        """
        check_key_params(keys)
        if isinstance(metric, str):
            from ctxmetrics.metrics.metric_names import read_metric

            metric = read_metric(metric)
        if judge is not None and metric.judged:
            metric = cast("JudgedMetric", metric).with_judge(judge)
        return cls(metric, schema, FrozenDict(keys), telemetry=telemetry)

    @classmethod
    def build(
        cls,
        metric: type[Metric],
        params: Mapping[str, Any],
        schema: Schema,
        *,
        telemetry: bool = False,
        **settings: Any,
    ) -> Wrapper:
        """Make a metric from keywords and wrap it.

        Args:
            metric: The class of the metric.
            params: The parameters of the metric, and the keys of the fields in records.
            schema: Reads the records.
            telemetry: Whether each score is sent as an event of OpenTelemetry.
            **settings: Further parameters. For None, the metric's default is used.

        Raises:
            ParameterError: A parameter is unknown or out of range.
        """
        field_keys: dict[str, Any] = {}
        metric_parameters: dict[str, Any] = {}
        for name, value in params.items():
            if name in _FIELD_KEY_PARAMETERS:
                field_keys[name] = value
            else:
                metric_parameters[name] = value
        built_metric = build_metric(
            metric, metric_parameters, suggestions=_FIELD_KEY_PARAMETERS, **settings
        )
        return cls.of(built_metric, None, field_keys, schema, telemetry=telemetry)

    @property
    def judge(self) -> Judge | None:
        """The metric's own judge, or else the embedded judge; None for a metric without a judge."""
        if not self.metric.judged:
            return None
        from ctxmetrics.metrics.judging import get_default_judge

        return cast("JudgedMetric", self.metric).own_judge or get_default_judge()

    def read(self, record: Any) -> Sample:
        """Read the fields that the metric needs from a record. The record has sides, or the fields themselves.

        Raises:
            MissingFieldError: The record lacks a field.
            SampleError: A field has the wrong type.
        """
        values = self.schema.read(record, self.keys, self.metric.requires, self.metric.uses)
        reference = values.get("reference")
        if isinstance(reference, str) and reference.lstrip().startswith("{"):
            values["reference"] = _read_object_text(reference)
        sample = Sample(**values)
        if not self.metric.needs_single_ranking:
            return sample
        doubts = _describe_doubts(self.schema.find_hits(record, self.keys), sample)
        return Sample(**values, metadata=doubts) if doubts else sample

    async def ascore(self, record: Any, *, strict: bool = True) -> Score:
        """Score a record.

        A picture where the metric reads text gives a score without a value (``not_text``). Any other failure is raised.

        Args:
            record: See `read`.
            strict: False: a failure gives a score without a value, too (``missing_field``, ``metric_error``).
        """
        run = self._find_run(record)
        sample = None
        try:
            with self._breaker_scope(run):
                sample = self.read(record)
                run.check_labels(self.metric, sample)
                score = await self.metric.ascore(sample)
        except Exception as error:  # noqa: BLE001 - it is raised again, or the score says it
            score = self.score_failure(error, strict=strict and not run.may_go_on(error, record))
        self._report(score, sample, run)
        return score

    def score(self, record: Any, *, strict: bool = True) -> Score:
        """Score a record; see `ascore`. It may be called in a script, a notebook, a running loop, and in any thread."""
        run = self._find_run(record)
        sample = None
        try:
            with self._breaker_scope(run):
                sample = self.read(record)
                run.check_labels(self.metric, sample)
                score = self.metric.score(sample)
        except Exception as error:  # noqa: BLE001 - it is raised again, or the score says it
            score = self.score_failure(error, strict=strict and not run.may_go_on(error, record))
        self._report(score, sample, run)
        return score

    def _report(self, score: Score, sample: Sample | None, run: FrameworkRun) -> None:
        """Warn if the embedded judge answered because no judge was given, and send the score if ``telemetry`` is set."""
        if self.metric.judged:
            run.warn_of_embedded_judge(self.metric, self.schema, score)
        if self.telemetry:
            self._open_telemetry().send(score, {} if sample is None else sample.metadata)

    @staticmethod
    def _open_telemetry() -> Any:
        """Open the sender of events; see `ctxmetrics.scores.telemetry.open_telemetry`."""
        from ctxmetrics.scores.telemetry import open_telemetry

        return open_telemetry(telemetry=True)

    def _breaker_scope(self, run: FrameworkRun) -> AbstractContextManager[object]:
        """Make the framework's run the owner of the breakers; see `breaker_scope`."""
        if not self.metric.waits:
            return _NO_SCOPE
        return breaker_scope(run if run.has_name else None)

    def _find_run(self, record: Any) -> FrameworkRun:
        """Find the run of the framework to which a record belongs."""
        name = self.schema.evaluation(record) if self.schema.evaluation else None
        return get_framework_run(self.schema.package, name)

    def score_failure(self, error: BaseException, *, strict: bool = False) -> Score:
        """Return the score of a record that could not be scored: no value, and the failure as its reason.

        Raises:
            BaseException: If ``strict``, the failure itself, unless a picture is its cause.
        """
        if strict and not isinstance(error, NotTextError):
            raise error
        reason_code = "metric_error"
        if isinstance(error, (MissingFieldError, NotTextError)):
            reason_code = error.code
        message = safe_text(error)
        if reason_code != "not_text":
            message = f"{type(error).__name__}: {message}"
        return self.metric.make_score(Sample(), None, reason_code=reason_code, message=message)


class SampleWrapper(Wrapper):
    """A metric that scores samples. A record is a `Sample`, or an object with the fields of a sample as attributes."""

    def read(self, record: Any) -> Sample:
        """Return the sample."""
        if isinstance(record, Sample):
            return record
        names = (*self.metric.requires, *self.metric.uses)
        return Sample(**{name: getattr(record, name, None) for name in names})

    @staticmethod
    def build_sample(record: Mapping[str, Any], where: str = "Sample") -> Sample:
        """Build a sample from a mapping of fields. An unknown field is an error, because a person wrote the mapping.

        Raises:
            UnknownFieldError: There is no such field; the message names the nearest one.
            SampleError: A field has the wrong type.
        """
        sample = Sample.from_dict(record, where=where)
        try:
            check_keys(record, SCHEMAS["ragas"].known_keys)
        except SampleError as error:
            raise error.at(where) from None
        return sample


def _read_object_text(text: str) -> str:
    """Return the expected answer in an object that is written as a text, such as ``{"answer": .., "page": 14}``. Return any other text itself."""
    return Sample.from_dict({"reference": text}).reference or text


def _describe_doubts(hits: Any, sample: Sample) -> dict[str, str]:
    """Describe in metadata why a value that depends on ranks may say nothing.

    Ranks or scores of the hits say another order than the list, which a record keeps; or the only context may hold several
    passages.

    Args:
        hits: The retrieved contexts as they stand in the record.
        sample: The sample that was read from it.
    """
    doubts: dict[str, str] = {}
    # Reading the hits loads the readers of files: only numbers can say another order.
    if isinstance(hits, (list, tuple)) and any(map(_has_number, hits)):
        with suppress(SampleError):  # hits without texts
            metadata = Sample.from_dict({"retrieved_contexts": [*hits]}).metadata
            order = metadata.get(ORDERED_BY) or metadata.get(UNORDERED_BY)
            if order:
                doubts[UNORDERED_BY] = order
    contexts = sample.retrieved_contexts or ()
    if len(contexts) == 1:
        separator = find_line_of_marks(contexts[0]) or find_doubtful_separator(contexts[0])[0]
        if separator:
            doubts[MAY_BE_JOINED] = f"separator {separator}"
    return doubts


def _has_number(hit: Any) -> bool:
    """Tell whether a hit has a number beside its text or in its metadata, such as a rank or a score."""
    values: list[Any] = []
    for fields in (hit, look_up(hit, "metadata")):
        if isinstance(fields, Mapping):
            values += fields.values()
        elif isinstance(fields, (list, tuple)):  # a document and its score
            values += fields
    return any(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
