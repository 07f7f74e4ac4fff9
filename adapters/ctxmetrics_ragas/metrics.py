"""The core's metrics as metrics of Ragas: one object for ``evaluate()`` and for the collections API."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Coroutine, Mapping, MutableMapping
from contextvars import ContextVar
from dataclasses import fields, replace
from functools import partial
from os import PathLike
from typing import Any, ClassVar, Never, Self, TypeAlias, Unpack

from ragas.callbacks import ChainRun, RagasTracer
from ragas.dataset_schema import EvaluationResult, MultiTurnSample, SingleTurnSample
from ragas.llms.base import BaseRagasLLM
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

from ctxmetrics import Metric, Results, Sample, Score, adapting
from ctxmetrics.errors import ParameterError, SampleError
from ctxmetrics_ragas.model import CALLBACKS, RagasModel

_Row: TypeAlias = Sample | SingleTurnSample | MultiTurnSample
_log = logging.getLogger("ctxmetrics_ragas")
_run: ContextVar[adapting.Run | None] = ContextVar("ctxmetrics_ragas_run", default=None)
# Fields that a sample of Ragas does not have.
_NO_COLUMN = {"references", "stages", "searches"}
# The fields that the messages of a conversation hold.
_IN_MESSAGES = {"retrieved_contexts", "response"}
# What Ragas' own metrics have beside this, and what to write instead.
_UNUSED = {
    "prompt context_recall_prompt context_precision_prompt get_prompts set_prompts adapt_prompts save_prompts load_prompts "
    "_get_prompts train _optimize_instruction _optimize_demonstration": adapting.PROMPT_ADVICE,
    "_ascore _compute_score _get_row_attributes _calculate_average_precision": (
        "Override _single_turn_ascore(self, sample, callbacks), or write a formula of ctxmetrics."
    ),
    "_distance_measure": "similarity= names the measure.",
    "max_retries": "evaluate(run_config=RunConfig(max_retries=..)) says how often a request is sent.",
}


def _traces(callbacks: Any) -> MutableMapping[str, Any]:
    """Return what the tracer of an `evaluate()` holds, by run; empty outside of one."""
    handlers = getattr(callbacks, "handlers", ())
    tracers = [handler for handler in handlers if isinstance(handler, RagasTracer)]
    return tracers[-1].traces if tracers else {}


def _record_score(score: Score, callbacks: Any) -> None:
    """Add a run to the metric's own in `result.traces`, for `results`: evaluate() keeps numbers only.

    It is written into the tracer, for LangChain's way to it takes longer than scoring ids.
    """
    traces = _traces(callbacks)
    metric = traces.get(str(getattr(callbacks, "parent_run_id", None)))
    if metric is None:
        return
    run = ChainRun(
        run_id=f"{metric.run_id}-score",
        parent_run_id=metric.run_id,
        name="score",
        inputs={"data": score.provenance.judge},
        metadata={},
        outputs={"output": {**score.to_dict(), "reason": score.reason}},
    )
    traces[run.run_id] = run
    metric.children.append(run.run_id)


def _evaluation(_: object) -> str | None:
    """Return a name for the current `evaluate()`: the first run of its tracer. A metric outside of it has none."""
    return next(iter(_traces(CALLBACKS.get())), None)


def _name_row(sample: Any, callbacks: Any) -> str:
    """Name a row as Ragas does (``row 0``), and by its question: Ragas' samples have no id."""
    traces = _traces(callbacks)
    metric = traces.get(str(getattr(callbacks, "parent_run_id", None)))
    row = traces.get(str(getattr(metric, "parent_run_id", None)))
    name, question = "sample", getattr(sample, "user_input", None)
    if row is not None:
        name, question = row.name, row.inputs.get("user_input")
    return f"{name} ({str(question)[:80]!r})"


SCHEMA = replace(
    adapting.SCHEMAS["ragas"],
    package="ctxmetrics_ragas",
    judge_option='llm=, or judge="framework" for the LLM of evaluate(llm=..)',
    evaluation=_evaluation,
)


class ContextResult(MetricResult):
    """Ragas' result with the whole score behind it; unlike its base it can be copied and pickled.

    Attributes:
        value: The number; NaN where there is none, and ``reason`` says why.
        reason: What was missed or useless and why, in a few lines.
        details: The `ctxmetrics.Score`: every verdict with its evidence, ``pretty()``, what it cost.
    """

    def __init__(self, score: Score) -> None:
        super().__init__(_number(score), score.reason)
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
        **params: Parameters of the core metric, such as ``convention``, ``top_k`` and ``threshold`` (the pass mark).

    Attributes:
        core: The core metric.

    Raises:
        ParameterError: A parameter is unknown, was given by position, or its value is wrong.
    """

    # Parameters of Ragas' own metric, and what to write instead.
    renamed: ClassVar[Mapping[str, str]] = {}
    # The class that makes the object, where that is not its own class.
    public: ClassVar[Any] = None

    core: Metric
    output_type: MetricOutputType | None = MetricOutputType.CONTINUOUS

    def __init_subclass__(cls, **own: Any) -> None:
        """Take the attributes that the class statement names.

        Raises:
            UnusedError: The class overrides what is never called.
        """
        for name in own.keys() & {"renamed", "judged_by"}:
            setattr(cls, name, own.pop(name))
        super().__init_subclass__(**own)
        advice = {old: f"The framework's {old}= is {new} here." for old, new in cls.renamed.items()}
        adapting.mark_unused(cls, advice)

    def __init__(
        self,
        *positional: Never,
        core: Metric | None = None,
        name: str | None = None,
        **params: Unpack[adapting.CoreParams],
    ) -> None:
        if positional or params.keys() & self.renamed.keys():
            raise ParameterError(f"{type(self).__name__}: {self._advice()}")
        adapting.check_unused(type(self), params)
        if core is None:
            also = type(self).__init__.__kwdefaults__ or ()
            core = adapting.build_metric(self.core_class, params, also=also)
        elif not isinstance(core, self.core_class) or params:
            raise ParameterError(
                f"{type(self).__name__}: core= must be a {self.core_class.__name__}, and brings all its parameters."
            )
        self.core = core
        self.name: str = name or adapting.rename(core, self.framework_name)
        self.allowed_values: Any = (0.0, core.rules.scale)
        # As in Ragas' own metrics: code looks these names up in its rows. A question may still be absent.
        self._required_columns = {
            MetricType.SINGLE_TURN: {*core.requires, *({"user_input"} & {*core.uses})},
            MetricType.MULTI_TURN: {"user_input", *core.requires} - _IN_MESSAGES,
        }

    def get_required_columns(self, with_optional: bool = False) -> dict[str, set[str]]:
        """Return the columns that a data set must have, or those that the metric reads."""
        optional = {*self.core.uses} - _NO_COLUMN if with_optional else set()
        return {
            MetricType.SINGLE_TURN.name: {*self.core.requires} | optional,
            MetricType.MULTI_TURN.name: self._required_columns[MetricType.MULTI_TURN],
        }

    @property  # type: ignore[misc]  # it can be set there, and is refused here
    def required_columns(self) -> dict[str, set[str]]:  # pyright: ignore[reportIncompatibleMethodOverride] - the same
        """The columns that code passes on; Ragas' own check accepts a data set without questions, too."""
        if sys._getframe(1).f_globals.get("__name__") == "ragas.validation":  # noqa: SLF001 - Python has no other name for it
            return self.get_required_columns()
        return {kind.name: columns for kind, columns in self._required_columns.items()}

    def __setattr__(self, name: str, value: Any) -> None:
        fixed = {"required_columns", *self.renamed, *(item.name for item in fields(self.core_class))}
        if name in fixed:
            raise ParameterError(
                f"{type(self).__name__}: {name} is fixed; make another metric. {self._advice()}"
            )
        super().__setattr__(name, value)

    def _advice(self) -> str:
        advice = "; ".join(f"the framework's {old}= is {new} here" for old, new in self.renamed.items())
        return f"{advice or 'give parameters by name'}."

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, RagasMetric)
            and type(other) is type(self)
            and (other.core, other.name) == (self.core, self.name)
        )

    def __hash__(self) -> int:
        return hash(self.core)

    def __reduce__(self) -> tuple[Any, ...]:
        judging: Any = {"judge": "framework"} if isinstance(self, MetricWithLLM) else {}
        return partial(self.public or type(self), core=self.core, name=self.name, **judging), ()

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
        """Take a run's workers, timeout and retries for the requests; an LLM that takes more gets all of it."""
        workers = run_config.max_workers if run_config.max_workers > 0 else sys.maxsize
        attempts = run_config.max_retries  # as in Ragas, the first try is one of the "retries"
        timeout = run_config.timeout
        _run.set(adapting.Run(max_concurrency=workers, timeout=timeout, attempts=attempts))
        llm = adapting.judging_llm(self._judging(), RagasModel)
        if isinstance(llm, BaseRagasLLM):
            llm.set_run_config(run_config)

    def _only_required_columns_single_turn(self, sample: SingleTurnSample) -> Any:
        """Return the sample as a `Sample`, read once: Ragas' runner records it, and passes it to `_single_turn_ascore`."""
        try:
            return adapting.SampleWrapper(self.core, SCHEMA).read(sample)
        except SampleError:  # a failure of the metric, and of its trace, when it is read again there
            return super()._only_required_columns_single_turn(sample)

    async def _single_turn_ascore(self, sample: _Row, callbacks: Any) -> float:
        try:
            score = await self._score(sample, callbacks)
        except SampleError as error:
            raise error.at(_name_row(sample, callbacks)) from None
        if score.value is None:
            name = _name_row(sample, callbacks)
            _log.warning("%s, %s: %s: %s", self.name, name, score.reason_code, score.message)
        _record_score(score, callbacks)
        return _number(score)

    async def single_turn_ascore(
        self,
        sample: SingleTurnSample,
        callbacks: Any = None,
        timeout: float | None = None,  # noqa: ASYNC109 - Ragas calls it so, and passes it on
    ) -> float:
        """Score one of Ragas' samples; a metric that never waits is not timed, which would take a task of its own."""
        return await self._with_time_limit(super().single_turn_ascore, sample, callbacks, timeout)

    async def _with_time_limit(
        self,
        score: Callable[..., Coroutine[Any, Any, float]],
        sample: Any,
        callbacks: Any,
        seconds: Any,
    ) -> float:
        limited = partial(score, sample, callbacks, seconds if self.core.waits else None)
        # Ragas' time limit needs a current task: asyncio knows none where nest_asyncio was applied, since Python 3.14.
        return await (limited() if asyncio.current_task() else adapting.on_background(limited))

    def _only_required_columns_multi_turn(self, sample: MultiTurnSample) -> Any:
        """Return a conversation as a `Sample` with its searches."""
        return adapting.Wrapper(self.core, SCHEMA).read(sample.model_dump())

    async def _multi_turn_ascore(self, sample: Sample | MultiTurnSample, callbacks: Any) -> float:
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
        """Score one sample, given by its fields: integrations read off the parameters what to pass.

        Raises:
            MissingFieldError: A field that the metric needs is not there.
            UnknownFieldError: There is no such field; the message names the nearest one.
            SampleError: A field has the wrong type.
        """
        sample = dict(locals()) | others
        del sample["self"], sample["others"]
        return ContextResult(await self._score(adapting.SampleWrapper.given(sample)))

    async def abatch_score(
        self, inputs: list[dict[str, Any]], **options: Unpack[adapting.RunOptions]
    ) -> list[MetricResult]:
        """Score samples, given by their fields, a bounded number at once; one result a sample, in order.

        A sample that cannot be scored has NaN and the reason as its result.

        Args:
            inputs: The samples.
            **options: Options of `ctxmetrics.evaluate`, such as ``max_concurrency=16``.

        Raises:
            CtxMetricsError: Every sample is wrong; this is the error of the first.
        """
        with adapting.using(_run.get() or adapting.current_run()):
            scores = await adapting.SampleWrapper(self._judging(), SCHEMA).ascore_all(inputs, **options)
        return [ContextResult(score) for score in scores]

    score: ClassVar[Callable[..., ContextResult]] = adapting.sync_form(ascore)
    batch_score: ClassVar[Callable[..., list[MetricResult]]] = adapting.sync_form(abatch_score)

    async def _score(self, sample: _Row, callbacks: Any = None) -> Score:
        wrapper = adapting.SampleWrapper(self._judging(), SCHEMA)
        before = CALLBACKS.set(callbacks)
        try:
            if not wrapper.metric.waits:
                return wrapper.score(sample)
            with adapting.using(_run.get() or adapting.current_run()):
                return await wrapper.ascore(sample)
        finally:  # a context variable would keep them in memory
            CALLBACKS.reset(before)

    def _judging(self) -> Metric:
        return self.core


adapting.mark_unused(RagasMetric, _UNUSED)


def results(result: EvaluationResult) -> Results:
    """Return what ``ragas.evaluate()`` returned as results of the core: samples, verdicts, evidence and usage.

    Raises:
        ParameterError: It holds no score of this package.
    """
    rows = []
    for sample, values, trace in zip(result.dataset, result.scores, result.traces, strict=True):
        scores = {name: trace.get(name, {}).get("score", {}).get("output") for name in values}
        rows.append((sample.to_dict(), scores))
    return adapting.build_results(SCHEMA, rows)


def _number(score: Score) -> float:
    """Return the value as Ragas wants it: NaN where there is none."""
    return float("nan") if score.value is None else score.value
