"""Context recall and context precision as scorers of Inspect, with the numbers of `ctxmetrics`.

    from ctxmetrics_inspect import context_recall

    Task(dataset, solver=.., scorer=context_recall())

``inspect score LOG --scorer ctxmetrics_inspect/context_recall`` scores a log that was made before. Contexts come from the
store, else from the sample's metadata; no model and no key are needed.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isnan
from typing import Any, TypeAlias, Unpack

import ctxmetrics as core
from ctxmetrics import adapting
from ctxmetrics.errors import importing

with importing("inspect-ai", "0.3.270 or newer"):
    import inspect_ai
    from inspect_ai import dataset, solver
    from inspect_ai import log as logs
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr

__all__ = [
    "metric_scorer",
    "results",
]
# The rest is the core's table of metrics. A type checker cannot read it here; the wheel's stub has the names written out.
__all__.extend(adapting.ALL_METRICS)  # noqa: PYI056 # pyright: ignore[reportUnsupportedDunderAll] - made on first use

# A function that makes a scorer from a metric's parameters.
ByParameters: TypeAlias = Callable[..., Scorer]
# Reads a task's state: the contexts are in the store or the sample's metadata, the reference is the
# target.
SCHEMA = replace(
    adapting.SCHEMAS["inspect"],
    package="ctxmetrics_inspect",
    judge_option="judge=",
    hint="and none in the store or the sample's metadata",
)


def metric_scorer(
    metric: core.Metric | str, *, judge: Any = None, telemetry: bool = False, **keys: Any
) -> Scorer:
    """Make a scorer of a metric of the core.

    A score without a value is unscored, and gives the reason code as its reason. A mean does not count such a sample.

    Args:
        metric: The metric, or its name (``"ndcg@10"``).
        judge: For a judged metric that has none: a judge, its name, or a model.
        telemetry: Send each score as an event of OpenTelemetry, too.
        **keys: The keys of the fields in the store and the metadata: see
            `ctxmetrics.adapting.KeyParams`.

    Raises:
        ParameterError: A key is unknown, or ``judge`` is not a judge.
    """
    wrapper = adapting.Wrapper.of(metric, adapting.as_judge(judge), keys, SCHEMA, telemetry=telemetry)

    async def score(state: solver.TaskState, target: Target) -> Score:
        core_score = await wrapper.ascore(_to_record(state, target), strict=False)
        details: Any = {
            "explanation": core_score.reason,
            "metadata": adapting.to_json_details(core_score),
        }
        if core_score.value is None:
            return Score.unscored(reason=core_score.reason_code, **details)
        return Score(value=core_score.value, **details)

    return score


def _to_record(sample: solver.TaskState | logs.EvalSample, target: Target) -> dict[str, Any]:
    """Build the record that `SCHEMA` reads from the state of a task, or from a sample of a log."""
    question = sample.input
    if not isinstance(question, str):  # a conversation: the question is the last message of the user
        texts = [message.text for message in question if message.role == "user"]
        question = texts[-1] if texts else ""
    expected: dict[str, Any] = {"target": target.text}
    if len(target) > 1:  # each of several targets is acceptable
        expected = {"references": [*target]}
    outputs = {**sample.metadata, "answer": sample.output.completion, **dict(sample.store.items())}
    return {
        "inputs": {**sample.metadata, "question": question},
        "outputs": outputs,
        "expected": {**sample.metadata, **expected},
        "messages": sample.messages,
    }


def results(log: logs.EvalLog, **keys: Unpack[adapting.KeyParams]) -> core.Results:
    """Convert a log to results of the core: samples, verdicts, evidence and usage.

    Args:
        log: The log that ``inspect_ai.eval`` returned, or ``read_eval_log`` read.
        **keys: Where the fields stand in the samples: the same keys as those given to the scorers.

    Raises:
        ParameterError: It holds no score of this package.
    """
    rows = []
    scorers = [score.name for score in log.results.scores] if log.results else []
    for sample in log.samples or ():
        record = {"id": str(sample.id), **_to_record(sample, Target(sample.target))}
        scores: dict[str, Any] = {}
        if sample.error is not None:
            message = f"the sample failed: {adapting.safe_text(sample.error.message)}"
            scores.update(dict.fromkeys(scorers, message))
        for name, score in (sample.scores or {}).items():
            scores[name] = (score.metadata or {}).get("score", score.explanation)
        rows.append((record, scores))
    return adapting.build_results(SCHEMA, rows, keys)


def _register_scorer(metric: type[core.Metric]) -> ByParameters:
    """Make the function that builds a metric's scorer from parameters, and register it under the metric's name."""

    def by_parameters(
        *, judge: Any = None, telemetry: bool = False, **params: Unpack[adapting.WrapperParams]
    ) -> Scorer:
        if judge is not None:
            adapting.check_parameters(metric, ["judge"])
        wrapper = adapting.Wrapper.build(metric, params, SCHEMA)
        return metric_scorer(wrapper.metric, judge=judge, telemetry=telemetry, **wrapper.keys)

    by_parameters.__doc__ = metric.__doc__
    return scorer(metrics=[mean(), stderr()], name=metric.base_name)(by_parameters)


# Inspect loads this package and then finds a registered scorer by its name.
_SCORERS = {name: _register_scorer(metric) for name, metric in adapting.ALL_METRICS.items()}
context_recall: ByParameters
context_precision: ByParameters
context_utilization: ByParameters
non_llm_context_recall: ByParameters
non_llm_context_precision: ByParameters
id_based_context_recall: ByParameters
id_based_context_precision: ByParameters


def __getattr__(name: str) -> ByParameters:
    if name not in _SCORERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _SCORERS[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *_SCORERS})


# --- Inspect's way to run a metric, for the conformance suite and ``ctxmetrics parity`` ---

_value_scorer = scorer(metrics=[mean()], name="_value")(metric_scorer)


def _run_eval(metric: core.Metric, samples: Sequence[core.Sample]) -> list[float | None]:
    """Score samples by ``inspect_ai.eval``."""
    rows = []
    for number, sample in enumerate(samples):
        fields = sample.to_dict()
        target = fields.pop("reference", None) or fields.pop("references", None) or ""
        question = sample.user_input or ""
        rows.append(dataset.Sample(id=number, input=question, target=target, metadata=fields))
    task = inspect_ai.Task(rows, solver=[], scorer=_value_scorer(metric))
    # Inspect writes its log to the current folder, and reads the samples from there.
    with adapting.isolated_process({}):
        (log,) = inspect_ai.eval(task, model=None, display="none")
        values: Any = {row.id: row.scores["_value"].value for row in log.samples or () if row.scores}
    return [None if isnan(values[number]) else values[number] for number in range(len(samples))]


RUNNERS = [adapting.Runner("inspect_ai.eval", _run_eval)]
