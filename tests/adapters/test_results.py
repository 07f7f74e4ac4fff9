"""What a framework's run returned, as `Results`: by ``==`` what `evaluate` gives for the same samples."""

from __future__ import annotations

import html
import json
import math
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    IDBasedContextPrecision,
    IDBasedContextRecall,
    LexicalJudge,
    NonLLMContextPrecision,
    Results,
    Sample,
    agree,
    evaluate,
    read_samples,
)
from ctxmetrics.adapting import SCHEMAS, build_results, isolated_process
from ctxmetrics.errors import ParameterError
from ctxmetrics.samples.field_keys import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ctxmetrics import Metric

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook.jsonl"
JUDGE = LexicalJudge()
METRICS: list[Metric] = [
    ContextRecall(judge=JUDGE, threshold=0.8),
    ContextPrecision(judge=JUDGE, top_k=3),
    IDBasedContextRecall(),
    NonLLMContextPrecision(),
]


def ragas(samples: Sequence[Sample], metrics: Sequence[Metric]) -> Results:
    import ragas

    import ctxmetrics_ragas as package

    rows = [
        {name: value for name, value in sample.to_dict().items() if name in OPTIONS}
        for sample in samples
    ]
    wrapped = [getattr(package, type(metric).__name__)(core=metric) for metric in metrics]
    dataset = ragas.EvaluationDataset.from_list(rows)
    return package.results(ragas.evaluate(dataset, metrics=wrapped, show_progress=False))


def deepeval(samples: Sequence[Sample], metrics: Sequence[Metric]) -> Results:
    from deepeval import evaluate
    from deepeval.evaluate.configs import CacheConfig, DisplayConfig, ErrorConfig

    import ctxmetrics_deepeval as package
    from ctxmetrics_deepeval.runners import _to_test_case

    wrapped = [
        getattr(package, f"{type(metric).__name__}Metric")(metric.threshold, core=metric)
        for metric in metrics
    ]
    run = evaluate(
        [_to_test_case(sample, sample.id) for sample in samples],
        wrapped,
        cache_config=CacheConfig(write_cache=False),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
        error_config=ErrorConfig(ignore_errors=True),
    )
    return package.results(run)


def langsmith(samples: Sequence[Sample], metrics: Sequence[Metric]) -> Results:
    from uuid import UUID

    from langsmith import evaluate
    from langsmith.schemas import Example

    import ctxmetrics_langchain as package
    from ctxmetrics_langchain.documents import SCHEMA
    from ctxmetrics_langchain.runners import _Offline

    records: list[Any] = [SCHEMA.record(sample.to_dict()) for sample in samples]
    examples = [
        Example(
            id=UUID(int=n), inputs={**record["inputs"], "n": n}, outputs=record["reference_outputs"]
        )
        for n, record in enumerate(records)
    ]
    run = evaluate(
        lambda inputs: records[inputs["n"]]["outputs"],
        examples,
        [package.RetrievalEvaluator(metrics)],
        upload_results=False,
        client=_Offline(api_key="none", auto_batch_tracing=False),
    )
    return package.results(sorted(run, key=lambda row: row["example"].id))


def mlflow(samples: Sequence[Sample], metrics: Sequence[Metric]) -> Results:
    from mlflow.genai import evaluate

    import ctxmetrics_mlflow as package
    from ctxmetrics_mlflow.scorers import SCHEMA, _log_to_own_store

    rows: list[Any] = [SCHEMA.record(sample.to_dict()) for sample in samples]
    for number, row in enumerate(rows):
        row["inputs"]["number"] = number
    scorers: Any = [package.MetricScorer(metric) for metric in metrics]
    with _log_to_own_store():
        run = evaluate(data=rows, scorers=scorers)
    run.result_df = run.result_df.sort_values(
        "request", key=lambda column: column.map(lambda r: r["number"])
    )
    return package.results(run)


def pydantic_evals(samples: Sequence[Sample], metrics: Sequence[Metric]) -> Results:
    from dataclasses import fields

    from pydantic_evals import Case, Dataset

    import ctxmetrics_pydantic_evals as package
    from ctxmetrics_pydantic_evals.evaluators import SCHEMA

    records: list[Any] = [SCHEMA.record(sample.to_dict()) for sample in samples]
    kinds: Any = {kind.core_class: kind for kind in package.MetricEvaluator.__subclasses__()}
    evaluators = [
        kinds[type(metric)](**{item.name: getattr(metric, item.name) for item in fields(metric)})
        for metric in metrics
    ]
    cases: list[Any] = [
        Case(
            name=sample.id,
            inputs={**record["inputs"], "n": n},
            expected_output=record["expected_output"],
        )
        for n, (sample, record) in enumerate(zip(samples, records, strict=True))
    ]
    dataset: Any = Dataset(name="handbook", cases=cases, evaluators=evaluators)
    report = dataset.evaluate_sync(lambda inputs: records[inputs["n"]]["output"], progress=False)
    return package.results(report)


def inspect(samples: Sequence[Sample], metrics: Sequence[Metric]) -> Results:
    import inspect_ai
    from inspect_ai.dataset import Sample as Row
    from inspect_ai.log import read_eval_log

    import ctxmetrics_inspect as package

    rows = []
    for sample in samples:
        record: Any = package.SCHEMA.record(sample.to_dict())
        metadata = {**record["outputs"], **record["expected"]}
        target = metadata.pop("reference", "")
        rows.append(Row(id=sample.id, input=sample.user_input or "", target=target, metadata=metadata))
    scorers = []
    for metric in metrics:
        judging = {"judge": JUDGE} if hasattr(metric, "judge") else {}
        build = getattr(package, metric.base_name)
        scorers.append(build(**judging, **PARAMS.get(metric.name, {})))
    task = inspect_ai.Task(rows, solver=[], scorer=scorers)
    (log,) = inspect_ai.eval(task, model=None, display="none")
    return package.results(read_eval_log(log.location))  # from the file


PARAMS: Any = {"context_recall": {"threshold": 0.8}, "context_precision(top_k=3)": {"top_k": 3}}
RUNS: dict[str, tuple[str, Callable[[Sequence[Sample], Sequence[Metric]], Results]]] = {
    "ragas": ("ragas", ragas),
    "deepeval": ("deepeval", deepeval),
    "langsmith": ("langchain_core", langsmith),
    "mlflow": ("mlflow", mlflow),
    "pydantic-evals": ("pydantic_evals", pydantic_evals),
    "inspect": ("inspect_ai", inspect),
}


SLOW = ("mlflow", "inspect")
FRAMEWORKS = [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in RUNS]


def run_in(framework: str, samples: Sequence[Sample], metrics: Sequence[Metric]) -> Results:
    """Run core metrics over samples in a framework, and return its run as results."""
    name, function = RUNS[framework]
    pytest.importorskip(name, reason=f"the {framework} extra is not installed")
    with isolated_process({"DO_NOT_TRACK": "true"}), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(samples, metrics)


@pytest.fixture(params=FRAMEWORKS)
def run(request: pytest.FixtureRequest) -> Callable[..., Results]:
    """A framework's run of core metrics over samples, as results."""

    def run(samples: Sequence[Sample], metrics: Sequence[Metric] = METRICS) -> Results:
        return run_in(request.param, samples, metrics)

    return run


def scores_of(results: Results) -> list[dict[str, Any]]:
    """Every score as data, without what the frameworks call the samples."""
    return [
        {
            name: json.loads(json.dumps({**score.to_dict(), "sample_id": None}))
            for name, score in row.items()
        }
        for row in results
    ]


@pytest.mark.slow
def test_results_are_those_of_the_core_on_the_handbook(run: Callable[..., Results]) -> None:
    """Every fourth sample, with all that a row holds; `file_of_rows` compares the scores of all samples."""
    samples = list(read_samples(HANDBOOK))[::4]
    results, core = run(samples), evaluate(samples, METRICS, progress=False)
    for number, (row, expected) in enumerate(zip(scores_of(results), scores_of(core), strict=True)):
        assert row == expected, number
    for row, expected in zip(results, core, strict=True):
        for name in OPTIONS:
            assert getattr(row.sample, name) == getattr(expected.sample, name), name
    assert results.usage == core.usage
    names_differ = {"contradictions": ()}  # they name the sample
    for name, summary in core.summary().items():
        assert replace(results.summary()[name], **names_differ) == replace(summary, **names_differ)


@pytest.fixture(scope="module", params=FRAMEWORKS)
def runs(request: pytest.FixtureRequest) -> tuple[Results, Results]:
    """The handbook in a framework's run, and in the core's, made once for all steps."""
    samples = list(read_samples(HANDBOOK))
    # Without top_k: people labelled every context.
    metrics = [METRICS[0], ContextPrecision(judge=JUDGE), IDBasedContextRecall()]
    return run_in(request.param, samples, metrics), evaluate(samples, metrics, progress=False)


def agree_as_the_core(results: Results, core: Results, _: Path) -> None:
    samples = list(read_samples(HANDBOOK))
    report = agree(samples, results=results)
    answers = {item.label: item.answers for item in report.agreements}
    assert answers == {
        "unit_supported": sum(len(sample.labels.get("unit_supported", ())) for sample in samples),
        "context_useful": sum(len(sample.labels.get("context_useful", ())) for sample in samples),
    }
    assert report.to_dict() == agree(samples, results=core).to_dict()


def agree_from_the_file(results: Results, core: Results, folder: Path) -> None:
    samples = list(read_samples(HANDBOOK))
    results.to_jsonl(folder / "rows.jsonl")
    report = agree(samples, results=folder / "rows.jsonl")
    assert report.to_dict() == agree(samples, results=core).to_dict()


def compare_with_its_file(results: Results, core: Results, folder: Path) -> None:
    results.to_jsonl(folder / "rows.jsonl")
    comparison = results.compare(Results.from_jsonl(folder / "rows.jsonl"))
    assert comparison.samples == len(core)
    assert not comparison.lost + comparison.won + comparison.worst


def curve_of_the_ranks(results: Results, core: Results, _: Path) -> None:
    assert results.curve(ks=[1, 2]) == core.curve(ks=[1, 2])


def file_of_rows(results: Results, core: Results, folder: Path) -> None:
    results.to_jsonl(folder / "rows.jsonl")
    assert scores_of(Results.from_jsonl(folder / "rows.jsonl")) == scores_of(core)


def page_with_every_question(results: Results, _: Results, folder: Path) -> None:
    results.to_html(folder / "page.html")
    page = (folder / "page.html").read_text(encoding="utf-8")
    questions = [html.escape(sample.user_input or "") for sample in read_samples(HANDBOOK)]
    assert [question for question in questions if question not in page] == []


STEPS = [
    agree_as_the_core,
    agree_from_the_file,
    compare_with_its_file,
    curve_of_the_ranks,
    file_of_rows,
    page_with_every_question,
]


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_they_go_on_as_after_evaluate(
    runs: tuple[Results, Results], step: Callable[..., None], tmp_path: Path
) -> None:
    step(*runs, tmp_path)


def test_a_row_that_failed_stays_and_says_why(run: Callable[..., Results]) -> None:
    samples = list(read_samples(HANDBOOK))[:3]
    broken = replace(samples[1], reference=None, reference_context_ids=None)
    results = run([samples[0], broken, samples[2]], [METRICS[0], METRICS[3]])
    assert len(results) == 3
    score = results[1]["context_recall"]
    assert score.value is None
    assert score.reason_code in ("missing_field", "metric_error", "no_reference")
    assert not math.isnan(results[1]["non_llm_context_precision"].value or math.nan)
    assert results.summary()["context_recall"].scored == 2


def test_a_run_without_a_score_of_ours_is_refused() -> None:
    with pytest.raises(ParameterError, match="must have scores of ctxmetrics"):
        build_results(SCHEMAS["ragas"], [({"id": "a"}, {"faithfulness": None, "other": "text"})])


def test_contexts_under_another_key_are_asked_for() -> None:
    (row,) = evaluate(
        [Sample(id="a", reference="The pump is red.", retrieved_contexts=["The pump is red."])],
        [ContextRecall(judge=JUDGE)],
        progress=False,
    )
    with pytest.raises(ParameterError, match=r"sample 'a' lacks the contexts .* contexts_key="):
        build_results(
            SCHEMAS["ragas"], [({"id": "a"}, {"context_recall": row["context_recall"].to_dict()})]
        )


def test_two_scores_of_one_name_and_two_metrics_are_kept() -> None:
    sample = Sample(id="a", retrieved_context_ids=["x", "y"], reference_context_ids=["x"])
    scores = [IDBasedContextRecall().score(sample), IDBasedContextPrecision().score(sample)]
    results = build_results(SCHEMAS["ragas"], [({"id": "a"}, [("found", score) for score in scores])])
    assert [score.value for score in results[0].scores] == [1.0, 0.5]


def test_two_scores_of_one_metric_are_refused() -> None:
    sample = Sample(id="a", retrieved_context_ids=["x", "y"], reference_context_ids=["x"])
    scores = [IDBasedContextRecall(threshold=mark).score(sample) for mark in (0.5, 1)]
    with pytest.raises(ParameterError, match="of different metrics, not: found, found"):
        build_results(SCHEMAS["ragas"], [({"id": "a"}, [("found", score) for score in scores])])


def test_evaluators_of_one_name_keep_their_scores() -> None:
    from pydantic_evals import Case, Dataset

    import ctxmetrics_pydantic_evals as package

    def retrieve(question: str) -> dict[str, Any]:
        if question == "broken":
            raise RuntimeError("no index")
        return {"retrieved_context_ids": ["x", "y"]}

    expected = {"reference_context_ids": ["x"]}
    cases = [
        Case(name=name, inputs=name, expected_output=expected) for name in ("whole", "broken", "lost")
    ]
    cases[2].expected_output = {}
    evaluators = [
        package.IDBasedContextRecallEvaluator(evaluation_name="found"),
        package.IDBasedContextPrecisionEvaluator(evaluation_name="found"),
    ]
    dataset: Any = Dataset(name="samples", cases=cases, evaluators=evaluators)
    results = package.results(dataset.evaluate_sync(retrieve, progress=False))
    assert {score.metric: score.value for score in results[0].scores} == {
        "id_based_context_recall": 1.0,
        "id_based_context_precision": 0.5,
    }
    rows = {row.sample.id: row for row in results}
    for score in rows["broken"].scores:
        assert (score.value, score.message) == (None, "the task failed: RuntimeError: no index")
    for score in rows["lost"].scores:
        assert "has no reference_context_ids" in str(score.message)


def test_deepeval_metrics_of_one_name_are_refused() -> None:
    from deepeval.evaluate.types import EvaluationResult, TestResult
    from deepeval.tracing.api import MetricData

    import ctxmetrics_deepeval as package

    test_case = _make_test_case()
    data = []
    for threshold in (0.5, 1.0):
        metric = package.IDBasedContextRecallMetric(threshold=threshold)
        metric.measure(test_case)
        data.append(
            MetricData(
                name=metric.__name__, threshold=threshold, success=True, verboseLogs=metric.verbose_logs
            )
        )
    test = TestResult(
        name="a", success=True, metrics_data=data, conversational=False, input="q", index=0
    )
    run = EvaluationResult(test_results=[test], confident_link=None, test_run_id=None)
    with pytest.raises(ParameterError, match="of different metrics"):
        package.results(run)


def _make_test_case() -> Any:
    """Make a test case with ids."""
    from deepeval.test_case import LLMTestCase

    ids = {"retrieved_context_ids": ["x", "y"], "reference_context_ids": ["x"]}
    return LLMTestCase(input="q", actual_output="a", metadata=ids)
