"""The evaluator for pydantic-evals: one wrapper around a metric of the core."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, ClassVar, Unpack, get_type_hints

from pydantic_ai.models import Model
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext, EvaluatorSpec
from pydantic_evals.reporting import EvaluationReport

from ctxmetrics import Judge, Metric, Sample, Score, __version__, adapting
from ctxmetrics.errors import CtxMetricsError
from ctxmetrics_pydantic_evals.models import name_of, to_judge

if TYPE_CHECKING:
    from pydantic_evals.reporting import ReportCase

    from ctxmetrics import Results

_KEY_PARAMETERS = (*adapting.OPTIONS.values(), "id_key")
# The types of parameters in code. `Measure`, the type of ``similarity``, is a text here: in a file it is the name of a measure.
_TYPES_IN_CODE = get_type_hints(adapting.WrapperParams, localns={"Measure": str})
# The types of parameters in the file of a data set, where a judge and a key are texts, too.
_TYPES_IN_FILES: Mapping[str, Any] = {
    **_TYPES_IN_CODE,
    **dict.fromkeys((*_KEY_PARAMETERS, "evaluation_name", "judge"), str | None),
}
# The beginning of what Rich takes for a tag, such as [/INST]. Older releases of pydantic-evals print reasons and failures as
# markup, and a chunk with such a text ends the report with an error.
_TAG_BEGINNING_PATTERN = re.compile(r"\[(?=[A-Za-z#/@])")
# An invisible character behind the bracket: then Rich sees no tag.
_WORD_JOINER = "\u2060"


class NoScoreError(CtxMetricsError):
    """A score could not be computed: pydantic-evals lists it among the case's evaluator failures.

    Attributes:
        score: The score, with its reason code.
    """

    code = "no_score"

    def __init__(self, score: Score) -> None:
        super().__init__(_escape_tags(f"{score.reason_code}: {score.message}"))
        self.score = score


class MetricEvaluator(adapting.MetricClass, Evaluator[Any, Any, Any]):
    """One metric of the core by its parameters; use the subclasses.

    Gives a score with its reason; and, if there is a pass mark, an assertion ``<name>_pass``. A score that cannot be
    computed is an evaluator failure with reason code and message: it counts in no average.

    What was retrieved comes from the output, else from the case's metadata or from
    ``set_eval_attribute("retrieved_contexts", ..)`` in the task. Outputs may be mappings, models,
    dataclasses, a text or a list.

    In a file, a judge is written as its model's name. A judge without such a name must be given again
    after loading.

    Args:
        judge: A judge or its name (``"lexical"``, ``"openai/gpt-4o-mini"``), a model of pydantic-ai or its name
            (``"openai:gpt-5.2"``); None: the embedded judge.
        evaluation_name: The name of the score in the report; None takes the metric's name.
        **params: The metric's parameters (``threshold`` is the pass mark on the score's own scale, else the
            convention's; ``strict`` lets only a perfect score pass), and where things stand (`KeyParams`).

    Raises:
        ParameterError: A parameter is unknown or out of range.
    """

    __signature__: ClassVar[Signature]
    judge: Judge | Model | str | None
    evaluation_name: str | None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Make each subclass a dataclass: pydantic-evals asks each class for its own fields, annotations and signature."""
        super().__init_subclass__(**kwargs)
        defaults: dict[str, Any] = {field.name: field.default for field in fields(cls.core_class)}
        for name in (*_KEY_PARAMETERS, "evaluation_name"):
            defaults[name] = None
        # The class then looks as if it had a line `name: type = default` for each parameter.
        for name, default in defaults.items():
            setattr(cls, name, default)
        annotations = {name: _TYPES_IN_FILES[name] for name in defaults}
        setattr(cls, "__annotations__", annotations)  # noqa: B010 - a type checker takes an assignment for a type of the class
        dataclass(init=False, repr=False, unsafe_hash=True)(cls)
        # pydantic_ai/_spec.py, line 299, takes the parameters that a file may hold from the signature.
        parameters = [
            Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type)
            for field in fields(cls)
        ]
        cls.__signature__ = Signature(parameters)

    def __init__(
        self,
        *,
        judge: Judge | Model | str | None = None,
        evaluation_name: str | None = None,
        **params: Unpack[adapting.WrapperParams],
    ) -> None:
        metric_parameters = [name for name in params if name not in _KEY_PARAMETERS]
        suggestions = (*_KEY_PARAMETERS, "evaluation_name")
        adapting.check_parameters(self.core_class, metric_parameters, suggestions=suggestions)
        vars(self).update(params, judge=judge, evaluation_name=evaluation_name)
        if not isinstance(judge, str):  # a judge that is named is built when it is first needed
            self._build_wrapper(to_judge(judge))

    @property
    def metric(self) -> Metric:
        """The core metric."""
        return self._build_wrapper(to_judge(self.judge)).metric

    def _build_wrapper(self, judge: Judge | None) -> adapting.Wrapper:
        """Build the metric from the present attributes, since they may be changed."""
        params: dict[str, Any] = {}
        for field in fields(self.core_class):
            if field.name != "judge":
                params[field.name] = getattr(self, field.name)
        for name in _KEY_PARAMETERS:
            key = getattr(self, name)
            if key is not None:
                params[name] = key
        return adapting.Wrapper.build(self.core_class, params, SCHEMA, judge=judge)

    def get_default_evaluation_name(self) -> str:
        """Return the name of the score in the report."""
        return self.evaluation_name or self._build_wrapper(None).metric.name

    def get_evaluator_version(self) -> str:
        """Return the library's version."""
        return f"ctxmetrics {__version__}"

    def build_serialization_arguments(self) -> dict[str, Any]:
        """Return the parameters that differ from the default; objects are replaced by their names."""
        arguments = super().build_serialization_arguments()
        if "judge" in arguments:
            arguments["judge"] = name_of(arguments["judge"])
        return {name: getattr(value, "__qualname__", value) for name, value in arguments.items()}

    def as_spec(self) -> EvaluatorSpec:
        """Return the evaluator as data. Parameters have names, even if there is only one."""
        arguments = self.build_serialization_arguments() or None
        return EvaluatorSpec(name=self.get_serialization_name(), arguments=arguments)

    async def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> dict[str, EvaluationReason]:
        """Score a case.

        Raises:
            NoScoreError: The score could not be computed.
            MissingFieldError: The case lacks a field; the message says where it was looked for.
            SampleError: A field has the wrong type.
        """
        with adapting.breaker_scope(self):  # each call builds a new metric object
            score = await self._build_wrapper(to_judge(self.judge)).ascore(_to_record(ctx))
        name = self.get_default_evaluation_name()
        _save_score(ctx.attributes, name, score)
        if score.value is None:
            raise NoScoreError(score)
        reason = _escape_tags(score.reason) or None
        results = {name: EvaluationReason(value=score.value, reason=reason)}
        if score.passed is not None:
            results[f"{name}_pass"] = EvaluationReason(value=score.passed)
        return results

    def evaluate_sync(self, ctx: EvaluatorContext[Any, Any, Any]) -> dict[str, EvaluationReason]:
        """Score a case, anywhere: in a script, a notebook, inside a running loop, in any thread."""
        return adapting.run_sync(self.evaluate, ctx)


def results(report: EvaluationReport[Any, Any, Any], **keys: Unpack[adapting.KeyParams]) -> Results:
    """Convert a report to results of the core: samples, verdicts, evidence and usage. Cases whose task failed come last.

    Args:
        report: The report that ``Dataset.evaluate`` returned.
        **keys: The keys that the evaluators had.

    Raises:
        ParameterError: The report holds no score of this package.
    """
    rows = []
    names: set[str] = set()
    for case in report.cases:
        scores = _read_scores(case)
        names.update(name for name, _ in scores)
        rows.append((_to_record(case), scores))
    for failure in report.failures:
        message = f"the task failed: {adapting.safe_text(failure.error_message)}"
        rows.append((_to_record(failure), [(name, message) for name in sorted(names)]))
    return adapting.build_results(SCHEMA, rows, keys)


def _save_score(attributes: dict[str, Any], name: str, score: Score) -> None:
    """Put the whole score into the attributes of its case, for `results`: a report keeps only the number and the reason.

    Several evaluators may have one name. An evaluator that pydantic-evals calls again after a failure replaces its own score.
    """
    scores: list[dict[str, Any]] = attributes.setdefault("ctxmetrics", {}).setdefault(name, [])
    for index, saved in enumerate(scores):
        if saved["value"] is None and saved["metric"] == score.metric:  # an earlier failure
            del scores[index]
            break
    scores.append(score.to_dict())


def _read_scores(case: ReportCase[Any, Any, Any]) -> list[tuple[str, Any]]:
    """List the scores of a case with the names of the evaluators, and the messages of evaluators that failed."""
    saved_by_name = case.attributes.get("ctxmetrics", {})
    scores: list[tuple[str, Any]] = []
    for name, saved in saved_by_name.items():
        # A report of an earlier version has one score for each name.
        saved_scores = saved if isinstance(saved, list) else [saved]
        scores.extend((name, score) for score in saved_scores)
    failures = [failure for failure in case.evaluator_failures if failure.name not in saved_by_name]
    scores.extend((failure.name, adapting.safe_text(failure.error_message)) for failure in failures)
    return scores


def _escape_tags(text: str) -> str:
    """Escape the texts that Rich would read as tags; see `_TAG_BEGINNING_PATTERN`."""
    return _TAG_BEGINNING_PATTERN.sub(f"[{_WORD_JOINER}", text)


def _to_record(ctx: Any) -> dict[str, Any]:
    """Return a case as a record: its sides, and beside them the items of its metadata and of the task's attributes."""
    metadata = ctx.metadata
    if not isinstance(metadata, Mapping):
        metadata = getattr(metadata, "__dict__", {})
    return {
        **metadata,
        **getattr(ctx, "attributes", {}),
        "inputs": ctx.inputs,
        "output": getattr(ctx, "output", None),
        "expected_output": ctx.expected_output,
        "id": ctx.name,
        "error": None,
    }


# Reads cases and what a task made of them.
SCHEMA = replace(
    adapting.SCHEMAS["pydantic_evals"],
    package="ctxmetrics_pydantic_evals",
    judge_option="judge= (a model of pydantic-ai, or its name)",
    hint="and none in the case's metadata or the task's attributes",
)


# --- the way of pydantic-evals to run a metric, for the conformance suite and ``ctxmetrics parity`` ---


def _run_evaluate(metric: Metric, samples: Sequence[Sample]) -> list[float | None]:
    """Score samples by ``Dataset.evaluate_sync``."""
    classes: Any = {class_.core_class: class_ for class_ in MetricEvaluator.__subclasses__()}
    params = {field.name: getattr(metric, field.name) for field in fields(metric)}
    records: list[Any] = [SCHEMA.record(sample.to_dict()) for sample in samples]
    cases: list[Case[Any, Any, Any]] = []
    for number, record in enumerate(records):
        inputs = {**record["inputs"], "number": number}
        cases.append(Case(name=str(number), inputs=inputs, expected_output=record["expected_output"]))
    evaluator = classes[type(metric)](**params, evaluation_name="score")
    dataset = Dataset(name="samples", cases=cases, evaluators=[evaluator])
    report = dataset.evaluate_sync(lambda inputs: records[inputs["number"]]["output"], progress=False)
    values: dict[str, float] = {}
    for case in report.cases:
        if "score" in case.scores:
            values[case.name] = case.scores["score"].value
    return [values.get(str(number)) for number in range(len(samples))]


RUNNERS = [adapting.Runner("pydantic_evals.evaluate", _run_evaluate)]
