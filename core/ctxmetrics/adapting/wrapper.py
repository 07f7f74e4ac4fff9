"""The one wrapper: a metric of the core in a framework.

An adapter says where its framework's fields are (a `Schema`, or a `Wrapper` with a `read` of its own)
and what the framework's results look like; this module has the rest: parameters, judge, reading,
scoring, and how a failure is reported.
"""

from __future__ import annotations

import logging
import re
import threading
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypedDict, Unpack

from ctxmetrics._internal.frozen import FrozenDict
from ctxmetrics._internal.secrets import safe_text
from ctxmetrics._internal.version import __version__
from ctxmetrics.adapting.unused import check_unused
from ctxmetrics.conventions import Grouping, Unit, Weighting
from ctxmetrics.errors import (
    CtxMetricsError,
    EmbeddedJudgeWarning,
    MissingFieldError,
    NotTextError,
    ParameterError,
    RequestError,
    SampleError,
)
from ctxmetrics.judges.base import Judge
from ctxmetrics.judges.decision import DecisionJudge
from ctxmetrics.judges.llm.judge import LLMJudge
from ctxmetrics.metrics.base import Formula, Metric, check_parameters
from ctxmetrics.metrics.judging import JudgedMetric, default_judge
from ctxmetrics.metrics.spans import SpanFormula, SpanUnit
from ctxmetrics.models.base import DecisionModel, Model
from ctxmetrics.models.coerce import suggest_code
from ctxmetrics.models.foreign_decisions import coerce_decisions
from ctxmetrics.models.frameworks import ForeignModel
from ctxmetrics.models.runtime.run import current_run, part_of
from ctxmetrics.reading import SCHEMAS, KeyParams, Schema, check_keys, text_of
from ctxmetrics.reading.pictures import refusal
from ctxmetrics.results.label_notes import Labels
from ctxmetrics.running.engine import aevaluate, evaluate
from ctxmetrics.running.options import RunOptions
from ctxmetrics.running.sources import check_id
from ctxmetrics.samples import Sample
from ctxmetrics.scores import Score

if TYPE_CHECKING:
    from ctxmetrics.metrics.similarity import Measure
    from ctxmetrics.results.summary import Summary

_log = logging.getLogger("ctxmetrics")
_KEYS = KeyParams.__optional_keys__
# What `compact` takes from a score.
_COMPACT = ("metric", "reason_code", "threshold", "passed", "band", "doubtful", "usage")
# After so many samples of a run its labels are checked: a framework does not say when the last one was scored.
_CHECKS = (20, 40, 80, 160)


class MetricParams(TypedDict, total=False):
    """Parameters of the metrics for which no framework has its own name.

    A wrapper that names ``judge``, ``threshold`` and ``strict`` itself, under its framework's names,
    takes these as ``**params: Unpack[MetricParams]``. `build_metric` checks which of them a metric has.
    """

    convention: str
    top_k: int | None
    unit: Unit | SpanUnit | None
    language: str | None
    weighting: Weighting | None
    partial: float
    relevance: Literal["useful", "supports", "adds"]
    formula: Formula | SpanFormula
    group: Grouping | None
    min_similarity: float
    min_cover: float
    similarity: Measure
    explain: bool


class CoreParams(MetricParams, total=False):
    """All parameters of the metrics but the judge, under the core's names."""

    threshold: float | None
    strict: bool


class WrapperParams(CoreParams, KeyParams, total=False):
    """What a wrapper of one metric takes beside a judge: the metric's parameters, and the keys of the fields."""


class MetricClass:
    """A framework's class for one metric of the core, which the class statement names.

    ``class ContextRecallScorer(ParameterScorer, core=ContextRecall)``; a subclass that names none keeps its parent's.

    Attributes:
        core_class: The core metric's class.
        framework_name: The framework's own name for the metric, where it is not the core metric's.
    """

    core_class: ClassVar[type[Metric]]
    framework_name: ClassVar[str | None] = None

    def __init_subclass__(
        cls, *, core: type[Metric] | None = None, framework_name: str | None = None, **options: Any
    ) -> None:
        name_class(cls, core, framework_name)
        super().__init_subclass__(**options)


def name_class(cls: Any, core: type[Metric] | None, framework_name: str | None) -> None:
    """Set what the class statement of a `MetricClass`, or of a class that cannot be one, names.

    Raises:
        UnusedError: The class overrides what is never called.
    """
    check_unused(cls, vars(cls))
    if framework_name is not None:
        cls.framework_name = framework_name
    if core is not None:
        cls.core_class = core


def build_metric(
    metric: type[Metric], params: Mapping[str, Any], *, also: Iterable[str] = (), **settings: Any
) -> Metric:
    """Make a metric from keywords.

    Args:
        metric: Its class.
        params: The caller's keywords.
        also: Names the caller's own signature has, to suggest where a keyword is misspelt.
        **settings: Further parameters; those that are None are left to the metric.

    Raises:
        ParameterError: The metric has no such parameter; the message names the nearest one. Or a value is wrong.
    """
    extra = {name: value for name, value in settings.items() if value is not None}
    parameters = {**params, **extra}
    check_parameters(metric, parameters, also=also)
    return metric(**parameters)


def as_judge(
    judge: object, foreign: type = Model, wrap: Callable[[Any], Model] = lambda model: model
) -> Judge | None:
    """Coerce a judge, a model or another library's model to a judge. None stays None.

    Args:
        judge: What a caller gave as ``judge=``.
        foreign: The other library's class.
        wrap: Makes a `Model` of an object of that class.

    Raises:
        ParameterError: It is none of these.
    """
    if judge is None or isinstance(judge, Judge):
        return judge
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
    instead = suggest_code(judge)
    if instead:
        message += f" For this one, write judge={instead}."
    raise ParameterError(message)


def judge_by_llm(llm: Any, wrap: Callable[[Any], Model]) -> Judge | None:
    """Coerce another library's model to a judge; a judge is refused, by ``wrap``, which says where it goes."""
    return as_judge(wrap(llm) if isinstance(llm, Judge) else llm, object, wrap)


def label_judge(judge: Judge) -> str:
    """Return a judge's name with the library's version and a digest of all its options."""
    digest = sha256(repr(judge).encode()).hexdigest()[:8]
    return f"{judge.name}, ctxmetrics {__version__}, {digest}"


def judging_llm(metric: Metric, wrap: type[ForeignModel]) -> Any:
    """Return another library's model that judges a metric, as its user gave it; None where none does."""
    model = getattr(getattr(metric, "judge", None), "model", None)
    return getattr(model, "llm", None) if isinstance(model, wrap) else None


def rename(metric: Metric, framework_name: str | None) -> str:
    """Return a metric's name with its parameters, under the framework's own name for the metric where it has one."""
    return (framework_name or metric.base_name) + metric.name.removeprefix(metric.base_name)


@dataclass(frozen=True)
class Wrapper:
    """A metric that scores the records of a framework.

    Attributes:
        metric: The metric.
        schema: Reads the records of one framework, and names its package in warnings.
        keys: The keys of the fields in records: see `KeyParams`.
    """

    metric: Metric
    schema: Schema = field(compare=False, repr=False)
    keys: Mapping[str, Any] = field(default=FrozenDict({}))

    @classmethod
    def of(
        cls, metric: Metric, judge: Judge | None, keys: Mapping[str, Any], schema: Schema
    ) -> Wrapper:
        """Wrap a metric.

        Args:
            metric: The metric.
            judge: For a judged metric that has none.
            keys: Where things stand.
            schema: Reads the records.

        Raises:
            ParameterError: A key is unknown or of the wrong type.
        """
        schema.check(keys)
        if judge is not None and isinstance(metric, JudgedMetric):
            metric = metric.with_judge(judge)
        return cls(metric, schema, FrozenDict(keys))

    @classmethod
    def build(
        cls, metric: type[Metric], params: Mapping[str, Any], schema: Schema, **settings: Any
    ) -> Wrapper:
        """Make a metric from keywords and wrap it.

        Args:
            metric: Its class.
            params: Its parameters, and where things stand.
            schema: Reads the records.
            **settings: Further parameters; those that are None are left to the metric.

        Raises:
            ParameterError: A parameter is unknown or out of range.
        """
        keys: dict[str, Any] = {}
        parameters: dict[str, Any] = {}
        for name, value in params.items():
            (keys if name in _KEYS else parameters)[name] = value
        built = build_metric(metric, parameters, also=_KEYS, **settings)
        return cls.of(built, None, keys, schema)

    @property
    def judge(self) -> Judge | None:
        """Who judges: the metric's own judge, else the embedded one; None for a metric without verdicts of a judge."""
        if not isinstance(self.metric, JudgedMetric):
            return None
        return self.metric.judge or default_judge()

    def read(self, record: Any) -> Sample:
        """Read the fields that the metric needs from a record: a mapping with sides, or with the fields themselves.

        Raises:
            MissingFieldError: The record lacks a field.
            SampleError: A field has the wrong type.
        """
        return Sample(**self.schema.read(record, self.keys, self.metric.requires, self.metric.uses))

    async def ascore(self, record: Any, *, strict: bool = True) -> Score:
        """Score a record.

        A picture where the metric reads text gives a score without a value (``not_text``). Any other failure is raised.

        Args:
            record: See `read`.
            strict: False: a failure gives a score without a value, too (``missing_field``, ``metric_error``).
        """
        run = self._run_of(record)
        try:
            with self._part_of(run):
                sample = self.read(record)
                run.check_labels(self.metric, sample)
                score = await self.metric.ascore(sample)
        except Exception as error:  # noqa: BLE001 - it is raised again, or the score says it
            score = self.failed(error, strict=strict and not run.may_go_on(error, record))
        run.warn_of_embedded_judge(self, score)
        return score

    def score(self, record: Any, *, strict: bool = True) -> Score:
        """Score a record, anywhere: in a script, a notebook, inside a running loop, in any thread. See `ascore`."""
        run = self._run_of(record)
        try:
            with self._part_of(run):
                sample = self.read(record)
                run.check_labels(self.metric, sample)
                score = self.metric.score(sample)
        except Exception as error:  # noqa: BLE001 - it is raised again, or the score says it
            score = self.failed(error, strict=strict and not run.may_go_on(error, record))
        run.warn_of_embedded_judge(self, score)
        return score

    def summary(self, records: Iterable[Any]) -> Summary:
        """Score records and return the means; one that cannot be read counts as one without fields."""
        return evaluate(map(self._lenient, records), [self.metric], progress=False).summary()

    def _lenient(self, record: Any) -> Sample:
        wanted = (*self.metric.requires, *self.metric.uses)
        try:  # one example may be run several times
            return Sample(**{**self.schema.read(record, self.keys, (), wanted), "id": None})
        except CtxMetricsError:
            return Sample()

    def _part_of(self, run: FrameworkRun) -> AbstractContextManager[object]:
        if not self.metric.waits:
            return nullcontext()
        return part_of(run if run.named else None)

    def _run_of(self, record: Any) -> FrameworkRun:
        name = self.schema.evaluation(record) if self.schema.evaluation else None
        with _lock:
            return framework_run(self.schema.package, name)

    def failed(self, error: BaseException, *, strict: bool = False) -> Score:
        """Return the score of a record that could not be scored: no value, and the failure as its reason.

        Raises:
            BaseException: The failure, where ``strict``, unless it is a picture.
        """
        if strict and not isinstance(error, NotTextError):
            raise error
        code = error.code if isinstance(error, (MissingFieldError, NotTextError)) else "metric_error"
        message = safe_text(error)
        if code != "not_text":
            message = f"{type(error).__name__}: {message}"
        return self.metric.build(Sample(), None, reason_code=code, message=message)


@dataclass(eq=False, repr=False)
class FrameworkRun:
    """One run of a framework. Whether a judge is down is known for this run alone, and it warns once.

    Attributes:
        named: Whether the framework shows where the run begins and ends.
        warned: Whether the run has warned that the embedded judge answers although no judge was given.
    """

    named: bool = False
    warned: bool = False
    _unsent: Any = None
    _labels: defaultdict[str, Labels | None] = field(default_factory=lambda: defaultdict(Labels))

    def check_labels(self, metric: Metric, sample: Sample) -> None:
        """Log once what the first samples of a metric say about ids and labels."""
        labels = self._labels[metric.name] if self.named else None
        if labels is None:
            return
        with _lock:
            labels.add(sample)
            notes = labels.notes(by_words=False) if labels.samples in _CHECKS else ()
            if notes or labels.samples == _CHECKS[-1]:  # enough is known
                self._labels[metric.name] = None
        for note in notes:
            _log.warning("labels so far, %s: %s", metric.name, note)

    def may_go_on(self, error: Exception, record: Any) -> bool:
        """Whether the failure is that a request about this record could not be built: only this record may be the cause."""
        if not (self.named and isinstance(error, RequestError)):
            return False
        if self._unsent is None:
            self._unsent = record
        return self._unsent is record

    def warn_of_embedded_judge(self, wrapper: Wrapper, score: Score) -> None:
        """Warn, once, if the verdicts are the embedded judge's although the metric names no judge."""
        metric, schema = wrapper.metric, wrapper.schema
        embedded = isinstance(metric, JudgedMetric) and metric.judge is None
        if self.warned or not embedded or score.provenance.judge is None or not score.verdicts:
            return
        with _lock:
            warned, self.warned = self.warned, True
        if warned:
            return
        text = (
            f"No judge was given, so ctxmetrics' embedded judge answers: it compares words, not meaning. "
            f"For an LLM, give {schema.judge_option}; for the embedded judge without this warning, "
            "judge=LexicalJudge()."
        )
        # Without a registry Python shows the warning again in the next run.
        warnings.warn_explicit(text, EmbeddedJudgeWarning, schema.package, 1, module=schema.package)


# Two threads must not make two runs of one name, nor warn twice.
_lock = threading.Lock()


@lru_cache(maxsize=256)
def framework_run(_package: str, name: str | None) -> FrameworkRun:
    """Return an adapter's run by its name; for None, the run for all records of which the framework shows no run."""
    return FrameworkRun(named=name is not None)


class SampleWrapper(Wrapper):
    """A metric that scores samples: a `Sample` as it is, and another object by the attributes that the metric needs."""

    def read(self, record: Any) -> Sample:
        """Return the sample."""
        if isinstance(record, Sample):
            return record
        names = (*self.metric.requires, *self.metric.uses)
        return Sample(**{name: getattr(record, name, None) for name in names})

    @staticmethod
    def given(record: Mapping[str, Any], where: str = "Sample") -> Sample:
        """Return the sample of a mapping of fields that was written in Python, where an unknown field is an error.

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

    async def ascore_all(
        self, records: Iterable[Mapping[str, Any]], **options: Unpack[RunOptions]
    ) -> list[Score]:
        """Score samples, given by their fields, a bounded number at once; one score a sample, in order.

        A sample that cannot be read gets a score without a value. The embedded judge's warning comes once.

        Args:
            records: The samples.
            **options: As for `ctxmetrics.evaluate`; the timeout is that of the run under way, and no progress is shown.

        Raises:
            CtxMetricsError: Every sample is wrong; this is the error of the first.
        """
        options.setdefault("progress", False)
        options.setdefault("timeout", current_run().timeout)
        places: dict[str, int] = {}
        errors: dict[int, SampleError] = {}
        samples: list[Sample] = []
        for number, record in enumerate(records, 1):
            try:
                sample = self.given(record, f"Sample {number}")
                check_id(sample, number, places)
                samples.append(sample)
            except SampleError as problem:
                errors[number] = problem
        if errors and not samples:
            raise next(iter(errors.values()))
        results = await aevaluate(samples, [self.metric], **options)
        for note in results.summary().notes:
            _log.warning("labels, %s: %s", self.metric.name, note)
        rows, run = iter(results), FrameworkRun()
        scores = []
        for number in range(1, len(samples) + len(errors) + 1):
            error = errors.get(number)
            score = next(rows)[self.metric.name] if error is None else self.failed(error)
            run.warn_of_embedded_judge(self, score)
            scores.append(score)
        return scores


def compact(score: Score) -> dict[str, Any]:
    """Return what a framework keeps beside the number: JSON-ready data; ``score`` is all of it, for `build_results`."""
    fields = score.to_dict()
    return {
        "count": score.count,
        "judge": score.provenance.judge,
        "verdicts": {verdict.id: verdict.value for verdict in score.verdicts},
        **{name: fields[name] for name in _COMPACT},
        "score": fields,
    }


def check_texts(values: Mapping[str, Any], picture: re.Pattern[str]) -> None:
    """Refuse texts in which a framework's placeholder of a picture stands.

    Args:
        values: By the name that they have in the framework: texts, or lists of texts or documents.
        picture: What the placeholder looks like.

    Raises:
        NotTextError: One was found.
    """
    for place, value in values.items():
        is_list = isinstance(value, list)
        for number, item in enumerate(value if is_list else [value], 1):
            text = text_of(item)
            match = picture.search(text) if isinstance(text, str) else None
            if match is not None:
                where = f"field '{place}'" + (f", item {number}" if is_list else "")
                raise NotTextError(f"{where} {refusal(match.group())}")
