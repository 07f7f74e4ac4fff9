"""The one wrapper that makes a metric of the core a DeepEval metric."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, Unpack, cast

from deepeval.errors import DeepEvalError, MissingTestCaseParamsError
from deepeval.evaluate.types import EvaluationResult
from deepeval.metrics import BaseConversationalMetric, BaseMetric
from deepeval.metrics.contextual_precision.schema import ContextualPrecisionVerdict
from deepeval.metrics.utils import construct_verbose_logs, initialize_model
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import ConversationalTestCase, LLMTestCase, SingleTurnParams
from deepeval.test_run import global_test_run_manager
from deepeval.tracing import current_span_context
from deepeval.utils import get_is_running_deepeval
from rich.markup import escape

from ctxmetrics import Judge, Metric, Sample, Score, Usage, adapting
from ctxmetrics.errors import CtxMetricsError, MissingFieldError, ParameterError, SampleError
from ctxmetrics_deepeval.model import DeepEvalModel

if TYPE_CHECKING:
    from ctxmetrics import Results

_AnyTestCase: TypeAlias = LLMTestCase | ConversationalTestCase
_PLACES = adapting.SCHEMAS["deepeval"].places.items()
# The path in a test case of each field of a sample: retrieval_context, metadata.reference_context_ids ..
_PATHS = {name: place.keys[0] for name, place in _PLACES}
_PATHS["reference_facts"] = "metadata.reference_facts"
# The field of a sample for each field of a test case: {"input": "user_input", "expected_output": "reference", ..}.
FIELDS: dict[str, str] = {}
for _name, _place in _PLACES:
    for _key in (_name, *_place.keys):
        if _key in LLMTestCase.model_fields:
            FIELDS[_key] = _name
# The fields of a sample that may stand in the metadata under their own names.
_IN_METADATA = tuple(name for name, place in _PLACES if f"metadata.{name}" in place.keys)
# Further fields that are read from the metadata, if a metric uses them.
_OPTIONAL_METADATA_FIELDS = frozenset({"references", "stages", "searches"})
# All attributes that a measurement sets, each with None. They are set, and cleared, together.
_CLEARED_RESULT: dict[str, Any] = {
    "score": None,
    "reason": None,
    "success": None,
    "result": None,
    "verbose_logs": None,
    "_error": None,
    "_measuring": None,
    "evaluation_cost": None,
    "input_tokens": None,
    "output_tokens": None,
}
# What DeepEval takes for a picture in a text, such as [DEEPEVAL:IMAGE:1f2e]: it also loads a file or an address in the id's place.
_PICTURE_PATTERN = re.compile(r"\[DEEPEVAL:(?:IMAGE|PDF):.*?\]")


# The number of characters of a question that an error shows.
_MAX_INPUT_CHARACTERS = 80
# The pass mark of DeepEval's own metrics.
_DEFAULT_PASS_MARK = 0.5
# Attributes of DeepEval's own metrics that do nothing here, each with what to write instead.
_UNUSED = {
    "evaluation_template": adapting.PROMPT_ADVICE,
    "_get_prompt": adapting.PROMPT_ADVICE,
    **dict.fromkeys(
        [
            "_generate_verdicts",
            "_a_generate_verdicts",
            "_calculate_score",
            "_experimental_system_one_spec",
        ],
        "Override measure and a_measure, or give judge= a judge of your own.",
    ),
    "_generate_reason": "The reason is written from the verdicts.",
    "_a_generate_reason": "The reason is written from the verdicts.",
    "_group_retrieval_contexts": "group='source' groups contexts.",
    "eval_mode": "judge= takes a decision model, which then gives every verdict.",
    "system_one_model": "judge= takes a decision model, which then gives every verdict.",
}


class MissingParamsError(MissingTestCaseParamsError, MissingFieldError):
    """A test case lacks what a metric needs: DeepEval's own error, which its runner knows, and ours."""


class AnyDeepEvalMetric:
    """A metric of the core as a metric of DeepEval, of test cases or of conversations; use the subclasses.

    A score that cannot be computed is no exception: the metric then has an ``error`` (reason code and
    message), no score, and has failed. An exception would end the run of all other test cases, unless DeepEval is
    told to ignore errors. So an exception is raised only for misuse (wrong parameter, wrong type in a test case) and
    for missing fields, which DeepEval can be told to skip.

    One object may measure many test cases at once: each call returns its own score, and all attributes are
    those of the call that began last. A test case has no score (``not_text``) if the metric reads a text with a
    picture in it. DeepEval passes no metadata to a span of a trace: `update_current_span_ids` gives the ids.

    Args:
        threshold: The pass mark on the score's own scale. ``"convention"``: the convention's, else 0.5. None:
            no pass mark, a score only (DeepEval 4).
        model: A ``DeepEvalBaseLLM`` to judge with, or a model name as DeepEval's own metrics take it.
        judge: A judge of `ctxmetrics`, or its name (``"openai/gpt-4o-mini"``), instead of a model. With neither, the embedded one.
        core: A metric of the core, instead of its parameters.
        strict_mode: Anything below a perfect score counts as 0, and only a perfect score passes.
        include_reason: Whether ``reason`` is filled.
        async_mode: Accepted because DeepEval passes it; both ways give the same.
        verbose_mode: Let DeepEval print ``verbose_logs``, which are filled either way.
        flaky: The metric decides no test case (DeepEval 4).
        telemetry: Send each score as an event of OpenTelemetry, too.
        **params: Parameters of the core metric: ``convention``, ``top_k``, and those of its own.

    Attributes:
        core: The core metric. Two metrics are equal when their class and core are.
        result: The whole `ctxmetrics.Score` of the last measurement.
        score_breakdown: ``count`` (k of n), and the score as a dict: every verdict with its evidence.

    Raises:
        ParameterError: A parameter is unknown, or its value is wrong.
    """

    # `MetricClass` is no base of this class, because it has no __init__. For every copy of a metric, DeepEval reads the signature
    # of __init__ of each base. Without an __init__, that is the one of `object`: to read it takes ten times as long as to score ids.
    core_class: ClassVar[type[Metric]]
    _required_params: ClassVar[Any]
    # DeepEval's own name for the metric, under which its model judges, too.
    framework_name: ClassVar[str | None] = None
    core: Metric
    score: Any
    include_reason: bool
    result: Score | None
    _error: str | None
    _measuring: object
    telemetry: bool
    # The ids of the span that the metric measures.
    _ids: Mapping[str, Sequence[str]] = adapting.FrozenDict({})

    # DeepEval copies a metric for every test case by calling its class with those of the constructor's
    # parameters that are also attributes. `core` is one: all settings travel by reference, and constructing
    # again is harmless.
    def __init__(
        self,
        threshold: float | Literal["convention"] | None = "convention",
        model: DeepEvalBaseLLM | str | None = None,
        *,
        judge: Judge | str | None = None,
        core: Metric | None = None,
        strict_mode: bool = False,
        include_reason: bool = True,
        async_mode: bool = True,
        verbose_mode: bool = False,
        flaky: bool = False,
        telemetry: bool = False,
        **params: Unpack[adapting.MetricParams],
    ) -> None:
        adapting.check_unused(type(self), params)
        gives_two_judges = model is not None and judge is not None
        gives_more_than_core = core is not None and (
            bool(params) or model is not None or judge is not None
        )
        is_other_core = core is not None and not isinstance(core, self.core_class)
        if gives_two_judges or gives_more_than_core or is_other_core:
            raise ParameterError(
                f"Give core= (a {self.core_class.__name__}) alone, or model= or judge=."
            )
        switches = {
            "include_reason": include_reason,
            "async_mode": async_mode,
            "verbose_mode": verbose_mode,
            "flaky": flaky,
            "telemetry": telemetry,
        }
        for name, value in {**switches, "strict_mode": strict_mode}.items():
            adapting.check_switch(f"{type(self).__name__}: {name}", value)
        if core is None:
            core = self._build_core(model, judge, params)
        self.core = core = _set_pass_mark(core, threshold, strict=strict_mode)
        self.threshold: Any = None if threshold is None and not core.strict else core.pass_mark
        vars(self).update(_CLEARED_RESULT, **switches)
        if telemetry:
            self._wrap()  # raises if a package or a provider of events is missing
        self._name_judge()

    def _build_core(
        self,
        model: DeepEvalBaseLLM | str | None,
        judge: Judge | str | None,
        params: adapting.MetricParams,
    ) -> Metric:
        """Build the core metric from the caller's model or judge, of which one is None, and from its parameters."""
        if self.framework_name and model is None and judge is None:
            # DeepEval's default model. If it has no key, the embedded judge answers, with its warning.
            with suppress(DeepEvalError):
                model, _ = initialize_model()
        if model is not None:
            judge = adapting.judge_by_llm(model, DeepEvalModel)
        return adapting.build_metric(
            self.core_class, params, suggestions=_DEEPEVAL_OPTIONS, judge=judge
        )

    def _name_judge(self) -> None:
        """Set the two attributes by which DeepEval's cache compares judges."""
        judge = _TestCaseWrapper(self.core, SCHEMA).judge
        self.evaluation_model: str | None = None
        if judge:
            self.evaluation_model = escape(adapting.label_judge(judge))  # with all options of the judge
        # A score must come from the cache only if our own judge gave it. The key of the cache holds no metadata and no source,
        # which id and string metrics read, and it cannot tell other judges apart. The cache compares `language` with the stored
        # configuration, which has no such field (deepeval/test_run/cache.py, lines 44 and 378): a text here always differs.
        is_own_judge = type(judge).__module__.startswith("ctxmetrics.")
        self.language = None if is_own_judge else "not for the cache"

    def __init_subclass__(
        cls, *, core: type[Metric] | None = None, framework_name: str | None = None, **options: Any
    ) -> None:
        adapting.name_class(cls, core, framework_name)
        super().__init_subclass__(**options)
        if core is not None:
            cls._required_params = [SingleTurnParams(name) for name in _list_case_fields(core.requires)]

    # DeepEval passes keywords of its own, others in each release, and measures again where they are refused.
    def measure(self, test_case: _AnyTestCase, *_: Any, **__: Any) -> float | None:
        """Score a test case, anywhere: in a script, a notebook, inside a running loop, in any thread.

        Raises:
            MissingParamsError: The test case lacks a field.
            SampleError: A field of it has the wrong type.
        """
        measuring = _begin_measuring(self)
        # A test run of DeepEval may last as long as the process.
        with adapting.breaker_scope(self.core):
            return _set_result(self, measuring, self._wrap().score(test_case))

    async def a_measure(self, test_case: _AnyTestCase, *_: Any, **__: Any) -> float | None:
        """Score a test case. Raises as `measure` does."""
        measuring = _begin_measuring(self)
        with adapting.breaker_scope(self.core):
            return _set_result(self, measuring, await self._wrap().ascore(test_case))

    def _wrap(self) -> _TestCaseWrapper:
        """Wrap the core metric, so that it reads test cases."""
        return _TestCaseWrapper(self.core, SCHEMA, ids=self._ids, telemetry=self.telemetry)

    def is_successful(self) -> bool | None:
        """Return whether the last score reaches the threshold; None without a threshold."""
        success: bool | None = None
        if self.threshold is not None:
            success = self.score is not None and self.score >= self.threshold
        self.success: Any = success
        return success

    @property
    def error(self) -> str | None:
        """Why there is no score."""
        return self._error

    @error.setter
    def error(self, text: str | None) -> None:  # pyright: ignore[reportIncompatibleVariableOverride] - as in theirs
        # DeepEval sets None before each test case, also if the metric then measures nothing because another metric hung: the
        # result of the last test case must not be reported for this one. DeepEval sets a text when it gives a test case up:
        # the measurement may still run in a thread, and must not leave its result on a later test case.
        self.__dict__.update(_CLEARED_RESULT, _error=text)

    @property
    def model(self) -> Any:
        """The LLM that judges, or None. Setting it makes it the judge."""
        return adapting.judging_llm(self.core, DeepEvalModel)

    @model.setter
    def model(self, model: Any) -> None:  # pyright: ignore[reportIncompatibleVariableOverride] - an attribute there
        adapting.check_parameters(type(self.core), ["judge"])
        self.core = replace(self.core, judge=adapting.as_judge(model, object, DeepEvalModel))  # type: ignore[call-arg]  # checked above: it has a judge
        self._name_judge()

    @property
    def strict_mode(self) -> bool:
        """Whether only a perfect score counts and passes."""
        return self.core.strict

    @strict_mode.setter
    def strict_mode(self, strict: bool) -> None:  # pyright: ignore[reportIncompatibleVariableOverride] - an attribute there
        self.core = replace(self.core, strict=strict)
        if strict:
            self.threshold = self.core.pass_mark

    @property
    def score_breakdown(self) -> dict[str, Any] | None:
        """K of n, and the whole score: every verdict with its evidence."""
        return None if self.result is None else {"count": self.result.count, **self.result.to_dict()}

    @property
    def verdicts(self) -> list[ContextualPrecisionVerdict] | None:
        """The verdicts in DeepEval's form, without those that were not judged."""
        if self.result is None:
            return None
        verdicts = []
        for verdict in self.result.verdicts:
            if verdict.value is not None:
                reason = f"{verdict.text}: {adapting.explain_verdict(verdict, self.result.language)}"
                fields = {"verdict": "yes" if verdict.value else "no", "reason": escape(reason)}
                # Older versions have a text for what is an enumeration now.
                verdicts.append(ContextualPrecisionVerdict.model_validate(fields))
        return verdicts

    @property
    def __name__(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride] - theirs is one literal
        return adapting.rename(self.core, self.framework_name)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, AnyDeepEvalMetric)
            and type(self) is type(other)
            and self.core == other.core
        )

    def __hash__(self) -> int:
        return hash(self.core)


class DeepEvalMetric(AnyDeepEvalMetric, BaseMetric):  # type: ignore[misc]  # properties here, attributes there
    """A metric of test cases; see `AnyDeepEvalMetric`."""


class ConversationalDeepEvalMetric(AnyDeepEvalMetric, BaseConversationalMetric):  # type: ignore[misc]  # properties here, too
    """A metric of conversations; see `AnyDeepEvalMetric`.

    The searches of a ``ConversationalTestCase`` are the outputs of its turns' tools that search, and ``retrieval_context``.
    The reference is ``expected_outcome``.
    """


def update_current_span_ids(
    *,
    retrieved_context_ids: Sequence[str] | None = None,
    reference_context_ids: Sequence[str] | None = None,
) -> None:
    """Give the ids of the current span to its metrics: DeepEval passes only the texts of a span to them.

    Call it beside ``deepeval.tracing.update_current_span``, in a function with ``@observe(metrics=[..])``. The span gets copies
    of the metrics of this package, since one object may stand on many spans. Outside a span nothing happens.

    Args:
        retrieved_context_ids: The ids of what was retrieved.
        reference_context_ids: The ids of what should have been retrieved.
    """
    span = current_span_context.get()  # type: ignore[no-untyped-call]  # DeepEval's function has no types
    fields = {
        "retrieved_context_ids": retrieved_context_ids,
        "reference_context_ids": reference_context_ids,
    }
    ids = {name: list(value) for name, value in fields.items() if value is not None}
    if span is not None and span.metrics:
        span.metrics = [_copy_with_ids(metric, ids) for metric in span.metrics]


def _copy_with_ids(metric: BaseMetric, ids: Mapping[str, Sequence[str]]) -> BaseMetric:
    """Copy a metric of ours, so that it measures with the ids of one span. Another metric is returned unchanged."""
    if not isinstance(metric, DeepEvalMetric):
        return metric
    metric_of_span = copy(metric)
    vars(metric_of_span)["_ids"] = {**metric._ids, **ids}  # noqa: SLF001 - of this module
    return metric_of_span


adapting.mark_unused(AnyDeepEvalMetric, _UNUSED)
_DEEPEVAL_OPTIONS = ("model", *(AnyDeepEvalMetric.__init__.__kwdefaults__ or ()))
# DeepEval reads the signature twice for every copy (deepeval/metrics/utils/metrics.py, line 61): it is computed once.
vars(AnyDeepEvalMetric)["__init__"].__signature__ = signature(AnyDeepEvalMetric.__init__)


def results(run: EvaluationResult) -> Results:
    """Convert what ``deepeval.evaluate`` returned to results of the core: samples, verdicts, evidence and usage.

    Raises:
        ParameterError: It holds no score of this package.
    """
    rows = []
    for test in sorted(run.test_results, key=lambda test: test.index or 0):
        scores = [  # a name may stand there twice
            (data.name, adapting.find_score(data.verbose_logs) or data.error)
            for data in test.metrics_data or ()
        ]
        # DeepEval writes None for an empty list.
        record = {**vars(test), "id": test.name}
        if not test.conversational:
            record["retrieval_context"] = test.retrieval_context or []
        rows.append((record, scores))
    return adapting.build_results(SCHEMA, rows)


def _begin_measuring(metric: AnyDeepEvalMetric) -> object:
    """Clear the metric, and return a token that identifies the measurement that begins."""
    measuring = object()
    metric.__dict__.update(_CLEARED_RESULT, _measuring=measuring, skipped=False)
    return measuring


def _set_result(metric: AnyDeepEvalMetric, measuring: object, score: Score) -> float | None:
    """Set all attributes of the metric from the score, if the measurement is still the current one."""
    usage = Usage() if score.usage.estimated else score.usage  # estimated tokens are not shown
    # DeepEval also accepts a metric of conversations here, although it declares the other kind.
    logs = construct_verbose_logs(cast("BaseMetric", metric), [escape(score.pretty()), ""])
    state = {
        "score": score.value,
        "reason": escape(score.reason) if metric.include_reason else None,
        "_error": escape(f"{score.reason_code}: {score.message}") if score.value is None else None,
        "evaluation_cost": score.usage.cost,
        "input_tokens": usage.prompt_tokens or None,
        "output_tokens": usage.completion_tokens or None,
        # DeepEval's results keep no other text of a metric.
        "verbose_logs": adapting.append_score(logs, score),
        "result": score,
    }
    if metric._measuring is measuring:  # noqa: SLF001 - not given up, and no later one has begun
        metric.__dict__.update(state)
        metric.is_successful()
    return score.value


def _set_pass_mark(core: Metric, threshold: float | str | None, *, strict: bool) -> Metric:
    """Return a metric with the pass mark and the strictness that the caller gave; see `AnyDeepEvalMetric`."""
    if strict and not core.strict:
        core = replace(core, strict=strict)
    if threshold == "convention":
        convention_has_pass_mark = core.pass_mark is not None
        threshold = None if convention_has_pass_mark else _DEFAULT_PASS_MARK
    if threshold in (None, core.pass_mark):
        return core
    return replace(core, threshold=threshold)  # type: ignore[arg-type]  # "convention" was replaced above


@cache
def _list_case_fields(requires: tuple[str, ...]) -> tuple[str, ...]:
    """List the fields of a test case that hold these fields of a sample; the question is always one."""
    names = ["input"]
    names += [_PATHS[name].partition(".")[0] for name in requires]
    return tuple(dict.fromkeys(names))


@dataclass(frozen=True)
class _TestCaseWrapper(adapting.Wrapper):
    """A metric that scores test cases.

    Attributes:
        ids: Ids that stand in place of those in the metadata, by field.
    """

    ids: Mapping[str, Sequence[str]] = adapting.FrozenDict({})

    def read(self, record: _AnyTestCase) -> Sample:
        """Read a test case.

        Ids come from ``metadata["retrieved_context_ids"]`` and ``metadata["reference_context_ids"]``, else, for
        what was retrieved, from the source of ``RetrievedContextData`` where every item has one. Reference
        contexts are ``context``, else ``metadata["reference_contexts"]``. Stages are ``metadata["stages"]``. Several references are ``metadata["references"]``. Facts are ``metadata["reference_facts"]``, else
        ``metadata["expected_facts"]``.

        Raises:
            NotTextError: A text that the metric reads holds a picture.
            SampleError: It is no ``LLMTestCase``, or a field has the wrong type.
            MissingParamsError: It lacks a field that the metric needs; the message names the test case's fields.
        """
        if isinstance(record, ConversationalTestCase):
            return self._read_conversation(record)
        if not isinstance(record, LLMTestCase):
            raise SampleError(f"The test case must be an LLMTestCase, not {type(record).__name__}.")
        metadata = {**(record.metadata or {}), **self.ids}
        case_values = self._read_case_values(record, metadata)
        fields = self._read_metadata_fields(record, metadata)
        for case_field, value in case_values.items():
            name = FIELDS.get(case_field, case_field)
            if value is not None and fields.setdefault(name, value) != value:
                sample_name = "Sample" if record.name is None else f"Sample {record.name!r}"
                raise SampleError(
                    f"{sample_name}: both 'reference_contexts' and 'context' are given for '{name}'. Keep one of them."
                )
        sample = Sample(**fields)
        self._check_complete(sample, record)
        return sample

    def _read_conversation(self, record: ConversationalTestCase) -> Sample:
        """Read a conversation. Raises as `read` does."""
        try:
            fields = {**record.model_dump(), "id": record.name}
            sample = adapting.Wrapper(self.metric, SCHEMA).read(fields)
        except MissingFieldError as error:
            raise MissingParamsError(str(error)) from None
        adapting.check_texts({"retrieval_context": sample.retrieved_contexts}, _PICTURE_PATTERN)
        return sample

    def _read_case_values(self, record: LLMTestCase, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Read the values that the metric needs from the fields of a test case other than its metadata.

        Raises:
            NotTextError: A text that the metric reads holds a picture.
        """
        case_fields = _list_case_fields(self.metric.requires)
        values = {name: getattr(record, name) for name in case_fields if name != "metadata"}
        if "context" in values:
            values["reference_contexts"] = metadata.get("reference_contexts")
        if metadata.get("retrieved_context_ids") is None:  # the documents may have ids
            values["retrieval_context"] = record.retrieval_context
        # Documents that are read for their ids alone may hold pictures.
        used_fields = {*self.metric.requires, *self.metric.uses}
        texts = {name: text for name, text in values.items() if FIELDS.get(name, name) in used_fields}
        adapting.check_texts(texts, _PICTURE_PATTERN)
        return values

    def _read_metadata_fields(self, record: LLMTestCase, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Read the fields of a sample that a test case has only in its metadata, and its name."""
        uses = self.metric.uses
        optional_fields = _OPTIONAL_METADATA_FIELDS.intersection(uses)
        fields: dict[str, Any] = {name: metadata.get(name) for name in optional_fields}
        fields["id"] = record.name
        fields["reference_facts"] = metadata.get("reference_facts", metadata.get("expected_facts"))
        if "metadata" in _list_case_fields(self.metric.requires):
            fields |= {name: metadata[name] for name in _IN_METADATA if metadata.get(name) is not None}
        if "retrieved_context_ids" in uses:  # contexts of one source count as one
            fields["retrieved_context_ids"] = _list_sources(record) or metadata.get(
                "retrieved_context_ids"
            )
        return fields

    def _check_complete(self, sample: Sample, record: LLMTestCase) -> None:
        """Check that a sample has all fields that the metric requires.

        Raises:
            MissingParamsError: A field is missing; the message has DeepEval's name of it.
        """
        requires = self.metric.requires
        missing_names = [f"'{_PATHS[name]}'" for name in requires if not sample.has(name)]
        if missing_names:
            has_facts = sample.reference_facts and "reference" in requires
            fix = ". Count its facts with unit='fact'" if has_facts else ""
            test_case = record.name or record.input[:_MAX_INPUT_CHARACTERS]
            raise MissingParamsError(
                f"{' and '.join(missing_names)} cannot be None for the '{self.metric.name}' metric{fix} (test case {test_case!r})"
            )

    def score_failure(self, error: BaseException, *, strict: bool = False) -> Score:
        """Return the score of a failure; with ``strict``, raise the failure if it is one of the library's own errors.

        Other errors are never raised: after a TypeError, DeepEval would measure again without its guards.
        """
        return super().score_failure(error, strict=strict and isinstance(error, CtxMetricsError))


def _list_sources(record: LLMTestCase) -> list[str] | None:
    """List the sources of the retrieved items as their ids; None if no item has a source.

    An item without a source is a source of its own.
    """
    sources = [getattr(item, "source", None) for item in record.retrieval_context or ()]
    if not any(sources):
        return None
    return [f"item {number}" if source is None else source for number, source in enumerate(sources, 1)]


def _name_test_run(_: object) -> str | None:
    """Name DeepEval's current run of ``evaluate()``; None outside of one, and under ``deepeval test run``."""
    if get_is_running_deepeval():
        return None
    run = global_test_run_manager.test_run
    return None if run is None else adapting.unique_name(run)


SCHEMA = replace(
    adapting.SCHEMAS["deepeval"],
    package="ctxmetrics_deepeval",
    judge_option="model=",
    evaluation=_name_test_run,
)
