"""The core's metrics as metrics of Ragas: one object for ``evaluate()`` and for the collections API."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, MutableMapping
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Never, Self, TypeAlias, Unpack

from ragas.callbacks import RagasTracer
from ragas.dataset_schema import EvaluationResult, MultiTurnSample, SingleTurnSample
from ragas.metrics.base import (
    MetricOutputType,
    MetricType,
    MetricWithLLM,
    MultiTurnMetric,
    SingleTurnMetric,
)
from ragas.metrics.collections.base import BaseMetric
from ragas.metrics.result import MetricResult
from ragas.run_config import RunConfig

from ctxmetrics import Metric, Sample, Score, adapting
from ctxmetrics.errors import MissingFieldError, ParameterError, SampleError

if TYPE_CHECKING:
    from ctxmetrics import Results

_Row: TypeAlias = Sample | SingleTurnSample | MultiTurnSample
_log = logging.getLogger("ctxmetrics_ragas")
# The run of `ragas.evaluate` in which a sample is scored.
_run: ContextVar[adapting.Run | None] = ContextVar("ctxmetrics_ragas_run", default=None)
# Ragas' callbacks for what is being scored: its tracers and token counters.
CALLBACKS: ContextVar[Any] = ContextVar("ctxmetrics_ragas_callbacks", default=None)
# Fields that a sample of Ragas does not have.
_FIELDS_WITHOUT_COLUMN = {"references", "stages", "searches"}
# The fields that are read from the messages of a conversation.
_FIELDS_IN_MESSAGES = {"retrieved_contexts", "response"}
# Attributes of Ragas' own metrics that do nothing here, each with what to write instead.
_UNUSED = {
    **dict.fromkeys(
        [
            "prompt",
            "context_recall_prompt",
            "context_precision_prompt",
            "get_prompts",
            "set_prompts",
            "adapt_prompts",
            "save_prompts",
            "load_prompts",
            "_get_prompts",
            "train",
            "_optimize_instruction",
            "_optimize_demonstration",
        ],
        adapting.PROMPT_ADVICE,
    ),
    **dict.fromkeys(
        ["_ascore", "_compute_score", "_get_row_attributes", "_calculate_average_precision"],
        "Override _single_turn_ascore(self, sample, callbacks), or write a formula of ctxmetrics.",
    ),
    "_distance_measure": "similarity= names the measure.",
    "max_retries": "evaluate(run_config=RunConfig(max_retries=..)) says how often a request is sent.",
}


def _get_traces(callbacks: Any) -> MutableMapping[str, Any]:
    """Return the runs that the tracer of an `evaluate()` recorded, by their ids; empty outside of an `evaluate()`."""
    for handler in reversed(getattr(callbacks, "handlers", ())):
        if isinstance(handler, RagasTracer):
            return handler.traces
    return {}


@dataclass(frozen=True, slots=True)
class _ScoreRun:
    """A score in Ragas' trace of a metric: what Ragas reads of a ``ChainRun``, in a tenth of its memory and time.

    Attributes:
        run_id: The name of the score in the trace.
        parent_run_id: The run of the metric.
        score: The score.
    """

    run_id: str
    parent_run_id: str
    score: Score

    name: ClassVar[str] = "score"
    children: ClassVar[tuple[str, ...]] = ()

    @property
    def inputs(self) -> dict[str, Any]:
        """What was asked: the name of the judge."""
        return {"data": self.score.provenance.judge}

    @property
    def outputs(self) -> dict[str, Any]:
        """The score itself."""
        return {"output": self.score}

    def model_dump(self) -> dict[str, Any]:
        """Return the run as ``RagasTracer.to_jsons`` writes it."""
        return {
            "run_id": self.run_id,
            "parent_run_id": self.parent_run_id,
            "name": self.name,
            "inputs": self.inputs,
            "metadata": {},
            "outputs": {"output": self.score.to_dict()},
            "children": [],
        }


def _record_score(score: Score, callbacks: Any) -> None:
    """Put the score into Ragas' trace of the metric, for `results`: evaluate() keeps numbers only.

    It is the object itself, as the replies in the traces of Ragas' own metrics are: most traces are never read, and plain data
    would take longer than scoring ids. So would LangChain's callbacks; the tracer is written to directly.
    """
    traces = _get_traces(callbacks)
    metric_run = traces.get(str(getattr(callbacks, "parent_run_id", None)))
    if metric_run is None:
        return
    run_id = f"{metric_run.run_id}-score"
    traces[run_id] = _ScoreRun(run_id, metric_run.run_id, score)
    metric_run.children.append(run_id)


# The fields of the last sample of Ragas that was read, and the sample of the core. Ragas' runner gives one sample to each
# metric in turn, and most metrics read the same fields.
_last_read: tuple[dict[str, Any], Sample] = ({}, Sample())


def _read_sample(sample: SingleTurnSample, names: Iterable[str]) -> Sample:
    """Read fields of a sample of Ragas, as far as it has them.

    Raises:
        SampleError: A field has the wrong type.
    """
    global _last_read  # noqa: PLW0603 - one memory for all metrics of the process
    fields_of_sample: dict[str, Any] = {}
    for name in names:
        value = getattr(sample, name, None)
        fields_of_sample[name] = value.copy() if type(value) is list else value
    last_fields, last_sample = _last_read
    if fields_of_sample != last_fields:
        last_sample = Sample(**fields_of_sample)
        _last_read = (fields_of_sample, last_sample)
    return last_sample


def _name_evaluation(_: object) -> str | None:
    """Name the current `evaluate()` by the first run of its tracer; None outside of one."""
    run_ids = iter(_get_traces(CALLBACKS.get()))
    return next(run_ids, None)


def _name_row(sample: Any, callbacks: Any) -> str:
    """Name a row as Ragas does (``row 0``), and by its question: Ragas' samples have no id."""
    traces = _get_traces(callbacks)
    metric_run = traces.get(str(getattr(callbacks, "parent_run_id", None)))
    row_run = traces.get(str(getattr(metric_run, "parent_run_id", None)))
    name = "sample"
    question = getattr(sample, "user_input", None)
    if row_run is not None:
        name = row_run.name
        question = row_run.inputs.get("user_input")
    return f"{name} ({str(question)[:80]!r})"


SCHEMA = replace(
    adapting.SCHEMAS["ragas"],
    package="ctxmetrics_ragas",
    judge_option='llm=, or judge="framework" for the LLM of evaluate(llm=..)',
    evaluation=_name_evaluation,
)


class ContextResult(MetricResult):
    """Ragas' result with the whole score behind it; unlike its base it can be copied and pickled.

    Attributes:
        value: The number; NaN if there is none, and ``reason`` says why.
        reason: What was missed or useless and why, in a few lines.
        details: The `ctxmetrics.Score`: every verdict with its evidence, ``pretty()``, what it cost.
    """

    def __init__(self, score: Score) -> None:
        super().__init__(_to_ragas_number(score), score.reason)
        self.details = score

    def __reduce__(self) -> tuple[Any, ...]:
        return ContextResult, (self.details,)


class RagasMetric(adapting.MetricClass, SingleTurnMetric, MultiTurnMetric, BaseMetric):
    """A core metric as a metric of Ragas; use its subclasses.

    Works in ``ragas.evaluate()`` and ``aevaluate()``, by ``single_turn_ascore`` and ``single_turn_score``, and as a
    metric of the collections API by ``ascore``, ``score``, ``abatch_score`` and ``batch_score``; all of them inside
    a running loop, too. Of a conversation (``MultiTurnSample``) the searches are read from its calls of tools. Equal and
    hashed as the core metric it holds. Parameters cannot be changed afterwards.

    Args:
        core: A metric of the core, instead of its parameters.
        name: The key of the results: by default the core metric's name with the parameters that change the number. Of
            two metrics with one name Ragas keeps the last.
        telemetry: Send each score as an event of OpenTelemetry, too.
        **params: Parameters of the core metric, such as ``convention``, ``top_k`` and ``threshold`` (the pass mark).

    Attributes:
        core: The core metric.

    Raises:
        ParameterError: A parameter is unknown, was given by position, or its value is wrong.
    """

    # Parameters of Ragas' own metric, each with the parameter to write instead.
    renamed: ClassVar[Mapping[str, str]] = {}
    # The public class that users call, if this class is a private subclass of it; pickles name it.
    public: ClassVar[Any] = None

    core: Metric
    # The wrapper of a metric that never waits; None if the metric may get a judge later.
    _fixed_wrapper: adapting.SampleWrapper | None = None
    output_type: MetricOutputType | None = MetricOutputType.CONTINUOUS

    def __init_subclass__(cls, **class_options: Any) -> None:
        """Set the attributes that the class statement gives: ``renamed=`` and ``judged_by=``.

        Raises:
            UnusedError: The class overrides what is never called.
        """
        for name in class_options.keys() & {"renamed", "judged_by"}:
            setattr(cls, name, class_options.pop(name))
        super().__init_subclass__(**class_options)
        advice = {
            ragas_name: f"The framework's {ragas_name}= is {our_name} here."
            for ragas_name, our_name in cls.renamed.items()
        }
        adapting.mark_unused(cls, advice)

    def __init__(
        self,
        *positional: Never,
        core: Metric | None = None,
        name: str | None = None,
        telemetry: bool = False,
        **params: Unpack[adapting.CoreParams],
    ) -> None:
        if positional or params.keys() & self.renamed.keys():
            raise ParameterError(f"{type(self).__name__}: {self._describe_parameters()}")
        adapting.check_unused(type(self), params)
        if core is None:
            own_parameters = type(self).__init__.__kwdefaults__ or ()
            core = adapting.build_metric(self.core_class, params, suggestions=own_parameters)
        elif not isinstance(core, self.core_class) or params:
            raise ParameterError(
                f"{type(self).__name__}: core= must be a {self.core_class.__name__}, and brings all its parameters."
            )
        self.core = core
        self._telemetry = telemetry
        if not core.waits:  # no run gives it another judge
            self._fixed_wrapper = adapting.SampleWrapper(core, SCHEMA, telemetry=telemetry)
        if telemetry:
            self._wrap()  # raises if a package or a provider of events is missing
        self.name: str = name or adapting.rename(core, self.framework_name)
        self.allowed_values: Any = (0.0, core.convention_data.scale)
        single_turn_columns = {*core.requires}
        if "user_input" in core.uses:
            # As in Ragas' own metrics, the question is a column, because code passes these columns on. A sample may lack it.
            single_turn_columns.add("user_input")
        self._required_columns = {
            MetricType.SINGLE_TURN: single_turn_columns,
            MetricType.MULTI_TURN: {"user_input", *core.requires} - _FIELDS_IN_MESSAGES,
        }

    def get_required_columns(self, with_optional: bool = False) -> dict[str, set[str]]:
        """Return the columns that a data set must have, or the columns that the metric reads."""
        columns = {*self.core.requires}
        if with_optional:
            columns |= {*self.core.uses} - _FIELDS_WITHOUT_COLUMN
        return {
            MetricType.SINGLE_TURN.name: columns,
            MetricType.MULTI_TURN.name: self._required_columns[MetricType.MULTI_TURN],
        }

    @property  # type: ignore[misc]  # Ragas allows to set it; here this is refused
    def required_columns(self) -> dict[str, set[str]]:  # pyright: ignore[reportIncompatibleMethodOverride] - the same
        """The columns that code passes on; Ragas' own check accepts a data set without questions, too."""
        # Ragas' check and Ragas' runners read this same attribute, and need different columns: so the answer depends on
        # the module that reads it. A test in tests/adapters/ragas/test_upstream.py fails when Ragas offers a better way.
        if sys._getframe(1).f_globals.get("__name__") == "ragas.validation":  # noqa: SLF001 - Python has no other name for it
            return self.get_required_columns()
        return {metric_type.name: columns for metric_type, columns in self._required_columns.items()}

    def __setattr__(self, name: str, value: Any) -> None:
        parameters = {field.name for field in fields(self.core_class)}
        if name in parameters or name in self.renamed or name == "required_columns":
            raise ParameterError(
                f"{type(self).__name__}: {name} is fixed, make another metric; {self._describe_parameters()}"
            )
        super().__setattr__(name, value)

    def _describe_parameters(self) -> str:
        """Describe how the parameters of Ragas' own metric are written here."""
        clauses = [
            f"the framework's {ragas_name}= is {our_name} here"
            for ragas_name, our_name in self.renamed.items()
        ]
        return f"{'; '.join(clauses) or 'give parameters by name'}."

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, RagasMetric)
            and type(other) is type(self)
            and (other.core, other.name) == (self.core, self.name)
        )

    def __hash__(self) -> int:
        return hash(self.core)

    def __reduce__(self) -> tuple[Any, ...]:
        arguments: dict[str, Any] = {"core": self.core, "name": self.name, "telemetry": self._telemetry}
        if isinstance(self, MetricWithLLM):
            arguments["judge"] = "framework"
        return partial(self.public or type(self), **arguments), ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {self.core!r}>"

    def save(self, path: str | PathLike[str] | None = None) -> None:
        """Write the parameters that differ from the default to a JSON file; never a judge, a model or a key.

        Args:
            path: A file (``.json`` is added where it has no ending) or a folder; None: the current one. In a folder
                the file is called after the metric.

        Raises:
            ParameterError: A parameter is a function.
        """
        judge = "framework" if isinstance(self, MetricWithLLM) else None
        adapting.save_metric(self.core, path, type(self).__name__, self.name, judge)

    @classmethod
    def load(cls, path: str | PathLike[str], **judging: Any) -> Self:
        """Make a saved metric again; one that had been given a judge needs it again, by the same keyword.

        Raises:
            InputFileError: The file is not there, holds no metric, or one of another class.
            ParameterError: The metric had a judge, and none is given.
        """
        return cls(**adapting.load_params(path, cls.__name__, judging))

    def init(self, run_config: RunConfig) -> None:
        """Take a run's workers, timeout and retries for the requests."""
        workers = run_config.max_workers if run_config.max_workers > 0 else sys.maxsize
        attempts = run_config.max_retries  # as in Ragas, the first try is one of the "retries"
        timeout = run_config.timeout
        _run.set(adapting.Run(max_concurrency=workers, timeout=timeout, attempts=attempts))

    def _only_required_columns_single_turn(self, sample: SingleTurnSample) -> Any:
        """Read a sample of Ragas as a `Sample`. Ragas' runner records it, and passes it to `_single_turn_ascore`."""
        try:
            return _read_sample(sample, (*self.core.requires, *self.core.uses))
        except SampleError:  # `_single_turn_ascore` reads the sample again and raises, so that the metric's trace shows it
            return super()._only_required_columns_single_turn(sample)

    async def _single_turn_ascore(self, sample: _Row, callbacks: Any) -> float:
        """Score a sample for Ragas' runner; log why there is no value, and keep the whole score in Ragas' trace."""
        try:
            score = await self._score(sample, callbacks)
        except (SampleError, MissingFieldError) as error:
            raise error.at(_name_row(sample, callbacks)) from None
        if score.value is None:
            name = _name_row(sample, callbacks)
            _log.warning("%s, %s: %s: %s", self.name, name, score.reason_code, score.message)
        _record_score(score, callbacks)
        return _to_ragas_number(score)

    async def single_turn_ascore(
        self,
        sample: SingleTurnSample,
        callbacks: Any = None,
        timeout: float | None = None,  # noqa: ASYNC109 - Ragas calls it so, and passes it on
    ) -> float:
        """Score one of Ragas' samples; a metric that never waits is not timed, which would take a task of its own."""
        return await self._with_time_limit(super().single_turn_ascore, sample, callbacks, timeout)

    def _with_time_limit(
        self,
        score: Callable[..., Coroutine[Any, Any, float]],
        sample: Any,
        callbacks: Any,
        seconds: Any,
    ) -> Awaitable[float]:
        """Call one of Ragas' methods with a time limit, if the metric waits for anything."""
        call = partial(score, sample, callbacks, seconds if self.core.waits else None)
        # Ragas' time limit needs a current task. Since Python 3.14, asyncio knows none if nest_asyncio was applied.
        if asyncio.current_task():
            return call()
        return adapting.on_background(call)

    def _only_required_columns_multi_turn(self, sample: MultiTurnSample) -> Any:
        """Return a conversation as a `Sample` with its searches."""
        return adapting.Wrapper(self.core, SCHEMA).read(sample.model_dump())

    async def _multi_turn_ascore(self, sample: Sample | MultiTurnSample, callbacks: Any) -> float:
        """Score a conversation for Ragas' runner."""
        return await self._single_turn_ascore(sample, callbacks)

    async def multi_turn_ascore(
        self,
        sample: MultiTurnSample,
        callbacks: Any = None,
        timeout: float | None = None,  # noqa: ASYNC109 - Ragas calls it so, and passes it on
    ) -> float:
        """Score a conversation; see `single_turn_ascore`."""
        return await self._with_time_limit(super().multi_turn_ascore, sample, callbacks, timeout)

    def multi_turn_score(self, sample: MultiTurnSample, callbacks: Any = None) -> float:
        """Score a conversation, anywhere; no running loop is patched."""
        return adapting.run_sync(self.multi_turn_ascore, sample, callbacks)

    def single_turn_score(self, sample: SingleTurnSample, callbacks: Any = None) -> float:
        """Score one of Ragas' samples, anywhere; no running loop is patched."""
        return adapting.run_sync(self.single_turn_ascore, sample, callbacks)

    async def ascore(
        self,
        *,
        id: Any = None,  # noqa: A002 - the field's name
        user_input: Any = None,
        response: Any = None,
        reference: Any = None,
        references: Any = None,
        reference_facts: Any = None,
        retrieved_contexts: Any = None,
        reference_contexts: Any = None,
        retrieved_context_ids: Any = None,
        reference_context_ids: Any = None,
        stages: Any = None,
        searches: Any = None,
        labels: Any = None,
        metadata: Any = None,
        **others: Any,
    ) -> ContextResult:
        """Score one sample, given by its fields. Integrations read in this signature which fields they may pass.

        Returns:
            A result of Ragas, whose ``details`` are the score.

        Raises:
            MissingFieldError: A field that the metric needs is not there.
            UnknownFieldError: There is no field of this name; the message names the nearest one.
            SampleError: A field has the wrong type.
        """
        sample_fields = dict(locals())  # the parameters by their names
        del sample_fields["self"], sample_fields["others"]
        sample = adapting.SampleWrapper.build_sample({**sample_fields, **others})
        return ContextResult(await self._score(sample))

    async def abatch_score(
        self, inputs: list[dict[str, Any]], **options: Unpack[adapting.RunOptions]
    ) -> list[MetricResult]:
        """Score samples, given by their fields, a bounded number at once; one result for each sample, in order.

        A sample that cannot be scored has NaN and the reason as its result.

        Args:
            inputs: The samples.
            **options: Options of `ctxmetrics.evaluate`, such as ``max_concurrency=16``.

        Raises:
            CtxMetricsError: Every sample is wrong; this is the error of the first.
        """
        with adapting.using(_run.get() or adapting.current_run()):
            wrapper = self._wrap()
            scores = await adapting.score_all(wrapper, inputs, **options)
        return [ContextResult(score) for score in scores]

    score: ClassVar[Callable[..., ContextResult]] = adapting.sync_form(ascore)
    batch_score: ClassVar[Callable[..., list[MetricResult]]] = adapting.sync_form(abatch_score)

    async def _score(self, sample: _Row, callbacks: Any = None) -> Score:
        """Score a sample within the limits of Ragas' run."""
        wrapper = self._wrap()
        token = CALLBACKS.set(callbacks)
        try:
            if not wrapper.metric.waits:
                return wrapper.score(sample)
            with adapting.using(_run.get() or adapting.current_run()):
                return await wrapper.ascore(sample)
        finally:  # the context variable would keep the callbacks in memory
            CALLBACKS.reset(token)

    def _wrap(self) -> adapting.SampleWrapper:
        """Wrap the core metric that scores now."""
        if self._fixed_wrapper is not None:
            return self._fixed_wrapper
        return adapting.SampleWrapper(self._metric_with_judge(), SCHEMA, telemetry=self._telemetry)

    def _metric_with_judge(self) -> Metric:
        """Return the core metric; a subclass returns it with the LLM of the run."""
        return self.core


adapting.mark_unused(RagasMetric, _UNUSED)


def results(result: EvaluationResult) -> Results:
    """Convert what ``ragas.evaluate()`` returned to results of the core: samples, verdicts, evidence and usage.

    Raises:
        ParameterError: It holds no score of this package.
    """
    rows = []
    for sample, values, trace in zip(result.dataset, result.scores, result.traces, strict=True):
        scores = {name: trace.get(name, {}).get("score", {}).get("output") for name in values}
        rows.append((sample.to_dict(), scores))
    return adapting.build_results(SCHEMA, rows)


def _to_ragas_number(score: Score) -> float:
    """Return the value as Ragas wants it: NaN if there is none."""
    return float("nan") if score.value is None else score.value
