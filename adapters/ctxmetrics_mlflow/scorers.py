"""The scorer for MLflow: one wrapper around a metric of the core."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from operator import itemgetter
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Unpack

import mlflow
from mlflow.entities import AssessmentError, AssessmentSource, Feedback, Span, SpanType, Trace
from mlflow.genai import evaluate
from mlflow.genai.scorers import Scorer
from mlflow.tracing.constant import AssessmentMetadataKey, TraceMetadataKey
from pydantic import PrivateAttr

from ctxmetrics import Judge, Metric, Model, Sample, Score, adapting
from ctxmetrics.errors import ParameterError

if TYPE_CHECKING:
    from ctxmetrics import Results

# A character that the name of a metric in MLflow must not have, such as "@". MLflow refuses the name at the end of a run, after
# all judging is paid.
_FORBIDDEN_CHARACTER_PATTERN = re.compile(r"[^\w.\- ]")


class MetricScorer(Scorer):
    """A metric of the core as a scorer.

    For ``mlflow.genai.evaluate(scorers=[..])``, and by itself: ``scorer(inputs=.., outputs=.., expectations=..)`` or
    ``scorer(trace=trace)``. Contexts come from the outputs, else from the trace's RETRIEVER spans.

    The feedback holds the number, with the reason as rationale; verdicts, judge and pass mark are in its metadata. A
    score that cannot be computed is a feedback without a value, with the reason code as error code: MLflow leaves it
    out of the mean. With a pass mark, ``EvaluationResult.passed`` compares the value with it.

    Args:
        metric: A metric of the core, or its name (``"ndcg@10"``).
        judge: For a judged metric that has none: a judge, its name (``"openai/gpt-4o-mini"``), or a model.
        name: The feedback's name; None: the metric's, in characters that MLflow can log.
        aggregations: As in MLflow's own scorers; None: the mean.
        telemetry: Send each score as an event of OpenTelemetry, too.
        **keys: The keys of the fields in rows and traces: see `KeyParams`.

    Attributes:
        definition: The metric with its parameters, in words: part of MLflow's digest of the scorer.

    Raises:
        ParameterError: A parameter is unknown or of the wrong type, or MLflow could not log the name.
    """

    definition: str = ""
    _wrapper: adapting.Wrapper = PrivateAttr()

    def __init__(
        self,
        metric: Metric | str,
        *,
        judge: Judge | Model | str | None = None,
        name: str | None = None,
        aggregations: list[Any] | None = None,
        telemetry: bool = False,
        **keys: Unpack[adapting.KeyParams],
    ) -> None:
        if name is not None and (_FORBIDDEN_CHARACTER_PATTERN.search(name) or not name.strip()):
            raise ParameterError(
                f"name={name!r}: MLflow logs letters, digits, '_', '-', '.' and spaces only."
            )
        wrapper = adapting.Wrapper.of(
            metric, adapting.as_judge(judge), keys, SCHEMA, telemetry=telemetry
        )
        metric_words = _FORBIDDEN_CHARACTER_PATTERN.sub(" ", wrapper.metric.name).split()
        super().__init__(name=name or " ".join(metric_words), aggregations=aggregations)
        self._wrapper = wrapper
        self.definition = repr(wrapper.metric)

    @property
    def metric(self) -> Metric:
        """The core metric. Two scorers are equal when this, their name and their keys are."""
        return self._wrapper.metric

    @property
    def pass_if(self) -> Callable[[Any], bool] | None:
        """The function by which ``EvaluationResult.passed`` decides whether a value passes; None without a pass mark."""
        pass_mark = self.metric.pass_mark
        return None if pass_mark is None else partial(_reaches, pass_mark)

    def __call__(  # type: ignore[override]  # MLflow reads the signature, and gives only the arguments in it
        self,
        *,
        inputs: Any = None,
        outputs: Any = None,
        expectations: Mapping[str, Any] | None = None,
        trace: Trace | None = None,
    ) -> Feedback:
        """Score a row or a trace, in an evaluation of MLflow or alone. What is wrong with its data becomes the feedback's error."""
        record = to_record(inputs, outputs, expectations, trace)
        score = self._wrapper.score(record, strict=False)  # wrong data has a score without a value
        error = None
        if score.value is None:
            code = str(score.reason_code)
            error = AssessmentError(code, f"{code}: {score.message}")
        source = AssessmentSource(
            source_type="LLM_JUDGE" if score.provenance.prompt else "CODE",
            source_id=score.provenance.judge or score.metric,
        )
        metadata: dict[str, str] = {}
        for key, value in adapting.to_json_details(score).items():
            if value in (None, {}):
                continue
            # MLflow stores texts only.
            is_text = isinstance(value, str)
            metadata[key] = value if is_text else json.dumps(value, ensure_ascii=False)
        return Feedback(
            name=self.name,
            value=score.value,
            error=error,
            rationale=score.reason or None,
            source=source,
            metadata=metadata,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MetricScorer) or type(other) is not type(self):
            return NotImplemented
        return self.name == other.name and self._wrapper == other._wrapper

    def __hash__(self) -> int:
        return hash((self.name, self._wrapper))


def _reaches(pass_mark: float, value: float) -> bool:
    """Return whether a value reaches a pass mark, as `Score.passed` decides."""
    return Score(metric="", value=value, threshold=pass_mark).passed is True


class ParameterScorer(adapting.MetricClass, MetricScorer):
    """One metric of the core by its parameters; use the subclasses.

    Args:
        judge: A judge, its name, or a model; None: the embedded judge.
        name: See `MetricScorer`.
        aggregations: See `MetricScorer`.
        telemetry: Send each score as an event of OpenTelemetry, too.
        **params: The metric's parameters (``threshold`` is the pass mark on the score's own scale, else the
            convention's; ``strict`` lets only a perfect score pass), and where things stand (`KeyParams`).

    Raises:
        ParameterError: A parameter is unknown or out of range.
    """

    def __init__(
        self,
        *,
        judge: Judge | Model | str | None = None,
        name: str | None = None,
        aggregations: list[Any] | None = None,
        telemetry: bool = False,
        **params: Unpack[adapting.WrapperParams],
    ) -> None:
        core_judge = adapting.as_judge(judge)
        wrapper = adapting.Wrapper.build(self.core_class, params, SCHEMA, judge=core_judge)
        super().__init__(
            wrapper.metric, name=name, aggregations=aggregations, telemetry=telemetry, **wrapper.keys
        )


# --- where MLflow keeps the fields of a sample: a row's sides, and the documents of RETRIEVER spans ---


def to_record(inputs: Any, outputs: Any, expectations: Any, trace: Trace | None) -> dict[str, Any]:
    """Build the record that `SCHEMA` reads from a row. What the row does not have is taken from the trace."""
    row_fields = {"inputs": inputs, "outputs": outputs, "expectations": expectations or None}
    if trace is None:
        return row_fields
    root = next((span for span in _order_spans(trace) if span.parent_id is None), None)
    record: dict[str, Any] = {
        "inputs": getattr(root, "inputs", None),
        "outputs": getattr(root, "outputs", None),
        "expectations": {
            assessment.name: assessment.expectation.value
            for assessment in trace.info.assessments or ()
            if assessment.expectation is not None
        },
    }
    record.update((name, value) for name, value in row_fields.items() if value is not None)
    record.update(id=trace.info.trace_id, trace=trace, run=trace)
    return record


def results(run: Any, **keys: Unpack[adapting.KeyParams]) -> Results:
    """Convert what ``mlflow.genai.evaluate`` returned to results of the core: samples, verdicts, evidence and usage.

    Args:
        run: The result of ``mlflow.genai.evaluate``.
        **keys: The keys that the scorers had.

    Raises:
        ParameterError: It holds no score of this package, or no table: MLflow has no trace of it.
    """
    if run.result_df is None:
        raise ParameterError(
            "results: the run has no table (result_df is None): MLflow has no trace of it. Give predict_fn @mlflow.trace."
        )
    rows = []
    for trace in map(Trace.from_json, run.result_df["trace"]):
        scores: list[tuple[str, Any]] = []  # a name may stand there twice
        for assessment in trace.info.assessments:
            metadata = assessment.metadata or {}
            if metadata.get(AssessmentMetadataKey.SOURCE_RUN_ID) not in (None, run.run_id):
                continue  # an earlier evaluation of the same trace
            score_text = metadata.get("score")
            if score_text is None:  # a score of another package
                scores.append((assessment.name, assessment.rationale))
            else:
                scores.append((assessment.name, json.loads(score_text)))
        rows.append((to_record(None, None, None, trace), scores))
    return adapting.build_results(SCHEMA, rows, keys)


def _order_spans(trace: Any) -> list[Span]:
    """List the spans of a trace in the order in which they began."""
    return sorted(getattr(trace.data, "spans", None) or (), key=lambda span: span.start_time_ns)


def _find_retrievals(trace: Trace | None) -> Iterator[adapting.Retrieval]:
    """Yield the documents of the RETRIEVER spans and the RERANKER spans, in the order of time.

    A span within another retriever is left out: the outer retriever chose from its documents.
    """
    spans = [] if trace is None else _order_spans(trace)
    spans_by_id = {span.span_id: span for span in spans}
    timed_steps: list[tuple[int, adapting.Retrieval]] = []  # each step with its time in nanoseconds
    for span in spans:
        ancestor = spans_by_id.get(span.parent_id or "")
        while ancestor is not None and ancestor.span_type != SpanType.RETRIEVER:
            ancestor = spans_by_id.get(ancestor.parent_id or "")
        is_within_retriever = ancestor is not None
        step = adapting.retrieval_of(
            span.span_type, span.name, partial(_read_output_documents, span.outputs)
        )
        if step is None or is_within_retriever:
            continue
        # A reranker works on the documents of all retrievers that began before the reranker ends.
        step_time = span.start_time_ns
        if step.reranks and span.end_time_ns:
            step_time = span.end_time_ns
        timed_steps.append((step_time, step))
    for _, step in sorted(timed_steps, key=itemgetter(0)):
        yield step


def _read_output_documents(outputs: Any) -> Any:
    """Return the documents in the outputs of a retriever: the outputs themselves, or a value of a mapping."""
    if not isinstance(outputs, dict) or isinstance(adapting.text_of(outputs), str):
        return outputs
    for key in SCHEMA.places["retrieved_contexts"].keys:
        if key in outputs:
            return outputs[key]
    return outputs


def _name_evaluation(record: Mapping[str, Any]) -> str | None:
    """Return the id of the run of `mlflow.genai.evaluate`, which writes it into the trace of each row."""
    trace = record.get("trace")
    return None if trace is None else trace.info.request_metadata.get(TraceMetadataKey.SOURCE_RUN)


# Reads rows of an evaluation data set and their traces.
SCHEMA = replace(
    adapting.SCHEMAS["mlflow"],
    retrievals=_find_retrievals,
    evaluation=_name_evaluation,
    package="ctxmetrics_mlflow",
    hint="and no RETRIEVER span in its trace",
)


# --- MLflow's way to run a metric, for the conformance suite and ``ctxmetrics parity`` ---

# Environment variables that are set during a run; None: the variable is removed.
_SETTINGS: dict[str, str | None] = {
    "MLFLOW_EXPERIMENT_ID": None,
    "MLFLOW_EXPERIMENT_NAME": None,
    "MLFLOW_RUN_ID": None,
    "MLFLOW_TRACKING_URI": None,
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_GENAI_EVAL_MAX_WORKERS": "1",  # with SQLite, ten workers wait for each other
    "MLFLOW_GENAI_EVAL_PREDICT_RATE_LIMIT": "0",  # ten a second by default
    "MLFLOW_GENAI_EVAL_SCORER_RATE_LIMIT": "0",
}
_MEMORY_FOLDER = "/dev/shm"  # noqa: S108 - only where it is: a store on a disk waits for it at every row


def _evaluate(metrics: Sequence[Metric], samples: Sequence[Sample]) -> list[list[float | None]]:
    """Run all metrics at once: MLflow's store takes most of the time, for each row of each run."""
    rows: list[Any] = [SCHEMA.record(sample.to_dict()) for sample in samples]
    for number, row in enumerate(rows):
        row["inputs"]["number"] = number
    scorers: list[Any] = [
        MetricScorer(metric, name=f"score{number}") for number, metric in enumerate(metrics)
    ]
    with _log_to_own_store():
        result: Any = evaluate(data=rows, scorers=scorers)
    table = result.result_df
    # MLflow's table has the rows in any order.
    table_index_by_number = {row["number"]: index for index, row in enumerate(table["request"])}
    order = [table_index_by_number[number] for number in range(len(rows))]
    value_columns = []
    for scorer in scorers:
        values = table[f"{scorer.name}/value"].iloc[order]
        value_columns.append(
            [None if value is None or math.isnan(value) else value for value in values]
        )
    return value_columns


@cache
def _make_store_folder() -> TemporaryDirectory[str]:
    """Make the folder of MLflow's store, one for the process; in memory where that is possible."""
    has_memory_folder = os.access(_MEMORY_FOLDER, os.W_OK)
    return TemporaryDirectory(dir=_MEMORY_FOLDER if has_memory_folder else None)


@contextmanager
def _log_to_own_store() -> Iterator[None]:
    """Log to a store in a temporary folder: to no tracking server, and not into the working folder."""
    uri = mlflow.get_tracking_uri()
    folder = _make_store_folder().name
    with adapting.isolated_process(_SETTINGS, folder):
        mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
        try:
            yield
        finally:
            mlflow.set_tracking_uri(uri)


RUNNERS = [
    adapting.Runner(
        "mlflow.evaluate", lambda metric, samples: _evaluate([metric], samples)[0], score_all=_evaluate
    )
]
