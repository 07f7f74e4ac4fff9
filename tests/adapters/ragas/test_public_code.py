"""Calling forms of public repositories, re-typed with other data: ``public_usages.toml`` lists them."""

from __future__ import annotations

import ast
import asyncio
import inspect
import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import ctxmetrics
from ctxmetrics import ScriptedJudge
from ctxmetrics.adapting import UnusedError
from ctxmetrics.errors import ParameterError
from support import read_question
from support.later import later

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

datasets = later("datasets")
metrics_base = later("ragas.metrics.base")
ours = later("ctxmetrics_ragas")
pandas = later("pandas")
ragas = later("ragas")


Row = dict[str, Any]
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture
def core_value(labels: Any, row: Row) -> Callable[..., float | None]:
    """What `ctxmetrics.evaluate` gives for the row, judged by the same labels."""

    def core_value(kind: str, **changes: Any) -> float | None:
        metric: Any = getattr(ctxmetrics, kind)
        judged = {"judge": ScriptedJudge(labels)} if "judge" in metric.__dataclass_fields__ else {}
        results = ctxmetrics.evaluate([{**row, **changes}], [metric(**judged)], progress=False)
        return results[0][metric.base_name].value

    return core_value


@pytest.fixture
def old_names(row: Row) -> datasets.Dataset:
    """A data set under the names of Ragas' first versions."""
    return datasets.Dataset.from_dict(
        {
            "question": [row["user_input"]],
            "answer": [row["response"]],
            "contexts": [row["retrieved_contexts"]],
            "ground_truth": [row["reference"]],
        }
    )


@pytest.fixture(autouse=True)
def _instances_as_before() -> Iterator[None]:
    """Take an LLM back that a test sets on an instance of the module."""
    cores = [(instance, instance.core) for instance in (ours.context_recall, ours.context_precision)]
    yield
    for instance, core in cores:
        instance.core = core


def test_wrapper_passes_required_columns(server: Any, llms: Any, row: Row, core_value: Any) -> None:
    metric = ours.LLMContextRecall(llm=llms.langchain_wrapper(server))
    assert isinstance(metric, metrics_base.SingleTurnMetric)
    names = metric.required_columns[metrics_base.MetricType.SINGLE_TURN.name]
    sample = ragas.SingleTurnSample(**{name: row[name] for name in names})
    loop = asyncio.new_event_loop()
    value = loop.run_until_complete(metric.single_turn_ascore(sample, callbacks=[]))
    loop.close()
    assert value == core_value("ContextRecall") == 0.5
    question = read_question(server.requests[0].text).data["question"]
    assert question == row["user_input"]


def test_own_progress_bar_and_score_dicts(server: Any, llms: Any, row: Row, core_value: Any) -> None:
    from tqdm import tqdm

    sample = ragas.SingleTurnSample(**{**row, "reference_contexts": [""]})
    metrics = [ours.LLMContextPrecisionWithReference(), ours.LLMContextRecall()]
    with tqdm(total=2, disable=True) as bar:
        result: Any = ragas.evaluate(
            dataset=ragas.EvaluationDataset(samples=[sample]),
            metrics=metrics,
            llm=llms.langchain_wrapper(server),
            run_config=ragas.RunConfig(max_workers=8),
            show_progress=True,
            _pbar=bar,
        )
    assert result.scores == [
        {
            "llm_context_precision_with_reference": core_value("ContextPrecision"),
            "context_recall": core_value("ContextRecall"),
        }
    ]
    (item,) = result.to_pandas().itertuples(index=False)
    assert item.context_recall == result.scores[0]["context_recall"]


@pytest.mark.slow
def test_haystack_generator_judges(server: Any, row: Row, core_value: Any) -> None:
    pytest.importorskip("haystack", reason="Haystack is not installed")
    from haystack.components.generators import OpenAIGenerator
    from haystack.utils import Secret
    from ragas.llms import HaystackLLMWrapper

    generator = OpenAIGenerator(
        Secret.from_token("sk-not-a-key-5"), model="fake-judge", api_base_url=server.base_url
    )
    metrics = [ours.ContextPrecision(judge="framework")]
    assert all(isinstance(metric, metrics_base.Metric) for metric in metrics)
    result: Any = ragas.evaluate(
        ragas.EvaluationDataset([ragas.SingleTurnSample(**row)]),
        metrics=metrics,
        llm=HaystackLLMWrapper(generator),
        embeddings=None,
        show_progress=False,
    )
    assert result["context_precision"] == [core_value("ContextPrecision")]
    assert server.requests


def test_columns_mapped_to_old_names(
    server: Any, llms: Any, old_names: datasets.Dataset, core_value: Any
) -> None:
    named = {
        "user_input": "question",
        "response": "answer",
        "reference": "ground_truth",
        "retrieved_contexts": "contexts",
    }
    metrics = [ours.context_recall, ours.context_precision]
    columns = {
        named[column] for metric in metrics for column in next(iter(metric._required_columns.values()))
    }
    dataset = datasets.Dataset.from_dict({column: old_names[column] for column in columns})
    result: Any = ragas.evaluate(
        dataset, metrics=metrics, llm=llms.langchain(server), show_progress=False
    )
    assert result["context_recall"] == [core_value("ContextRecall")]
    assert result["context_precision"] == [core_value("ContextPrecision")]


def test_table_in_and_statistics_out(
    server: Any, llms: Any, old_names: datasets.Dataset, core_value: Any
) -> None:
    table = pandas.concat([old_names.to_pandas()] * 2)
    frame = ragas.evaluate(
        datasets.Dataset.from_pandas(table[["question", "contexts", "ground_truth"]]),
        metrics=[ours.LLMContextRecall()],
        llm=llms.langchain(server),
        show_progress=False,
    ).to_pandas()
    columns = ["user_input", "retrieved_contexts", "reference", "context_recall"]
    assert frame[columns].shape == (2, 4)
    assert frame["context_recall"].mean() == frame["context_recall"].median() == 0.5
    assert frame["context_recall"][0] == core_value("ContextRecall")


def test_collections_form_without_an_llm(row: Row, core_value: Any) -> None:
    async def compute(retrieved: list[str], references: list[str]) -> float:
        result = await ours.NonLLMContextPrecisionWithReference().ascore(
            retrieved_contexts=retrieved, reference_contexts=references
        )
        return result.value

    value = asyncio.run(compute(row["retrieved_contexts"], row["reference_contexts"]))
    assert value == core_value("NonLLMContextPrecision") == 1.0


def test_scorer_module_for_each_metric(server: Any, llms: Any, row: Row, core_value: Any) -> None:
    def create_scorer(llm: Any) -> ours.ContextRecall:
        return ours.ContextRecall(llm=llm)

    async def score(scorer: Any, question: str, reference: str, contexts: list[str]) -> float:
        result = await scorer.ascore(
            user_input=question, reference=reference, retrieved_contexts=contexts
        )
        return result.value

    scorer = create_scorer(llms.instructor_async(server))
    arguments = row["user_input"], row["reference"], row["retrieved_contexts"]
    assert asyncio.run(score(scorer, *arguments)) == core_value("ContextRecall")


def test_parametrized_sample_against_a_limit(server: Any, llms: Any, row: Row, core_value: Any) -> None:
    metric = ours.LLMContextPrecisionWithoutReference(llm=llms.langchain_wrapper(server))
    sample = ragas.SingleTurnSample(
        user_input=row["user_input"],
        response=row["response"],
        retrieved_contexts=row["retrieved_contexts"],
    )
    score = asyncio.run(metric.single_turn_ascore(sample))
    assert score > 0.7
    assert score == core_value("ContextUtilization")


def test_metrics_initialized_by_their_kind(server: Any, llms: Any, row: Row, core_value: Any) -> None:
    metrics: list[Any] = [ours.LLMContextRecall(), ours.NonLLMContextRecall()]
    for metric in metrics:
        if isinstance(metric, metrics_base.MetricWithLLM):
            metric.llm = llms.langchain_wrapper(server)
        if isinstance(metric, metrics_base.MetricWithEmbeddings):
            metric.embeddings = None
        metric.init(ragas.RunConfig())

    async def score_all() -> dict[str, float]:
        sample = ragas.SingleTurnSample(**row)
        return {metric.name: await metric.single_turn_ascore(sample) for metric in metrics}

    assert asyncio.run(score_all()) == {
        "context_recall": core_value("ContextRecall"),
        "non_llm_context_recall": core_value("NonLLMContextRecall"),
    }


def test_metric_inside_another_frameworks_metric(
    server: Any, llms: Any, row: Row, core_value: Any
) -> None:
    case = SimpleNamespace(
        input=row["user_input"],
        expected_output=row["reference"],
        retrieval_context=row["retrieved_contexts"],
    )
    data = {
        "ground_truth": [case.expected_output],
        "contexts": [case.retrieval_context],
        "question": [case.input],
    }
    scores: Any = ragas.evaluate(
        datasets.Dataset.from_dict(data),
        metrics=[ours.context_recall],
        llm=llms.langchain(server),
        show_progress=False,
    )
    assert scores["context_recall"][0] == core_value("ContextRecall")


def test_cells_of_a_file_and_a_missing_reference(
    server: Any, llms: Any, row: Row, core_value: Any
) -> None:
    available = {"context_precision": ours.context_precision, "context_recall": ours.context_recall}
    table = pandas.DataFrame(
        {
            "question": [row["user_input"]] * 2,
            "predicted_answer": [row["response"]] * 2,
            "contexts": [str(row["retrieved_contexts"])] * 2,
            "gold_answer": [row["reference"], None],
        }
    )
    dataset = datasets.Dataset.from_dict(
        {
            "question": table["question"].fillna("").astype(str).tolist(),
            "answer": table["predicted_answer"].fillna("").astype(str).tolist(),
            "contexts": [ast.literal_eval(cell) for cell in table["contexts"]],
            "ground_truth": table["gold_answer"].fillna("").astype(str).tolist(),
        }
    )
    result: Any = ragas.evaluate(
        dataset,
        metrics=[available[name] for name in ("context_precision", "context_recall")],
        llm=llms.langchain(server),
        show_progress=False,
    )
    assert core_value("ContextRecall", reference="") is None
    assert result["context_recall"][0] == core_value("ContextRecall")
    assert math.isnan(result["context_recall"][1])


def test_arguments_chosen_by_the_signature(server: Any, llms: Any, row: Row, core_value: Any) -> None:
    metric = ours.ContextRecall(llm=llms.instructor_sync(server))
    sample = ragas.SingleTurnSample(**row)
    names = inspect.signature(metric.ascore).parameters
    arguments = {name: getattr(sample, name) for name in names if hasattr(sample, name)}
    assert asyncio.run(metric.ascore(**arguments)).value == core_value("ContextRecall")


def test_ids_without_texts(row: Row, core_value: Any) -> None:
    sample = ragas.SingleTurnSample(
        retrieved_context_ids=row["retrieved_context_ids"],
        reference_context_ids=row["reference_context_ids"],
    )
    for kind in ("IDBasedContextRecall", "IDBasedContextPrecision"):
        metric = getattr(ours, kind)()
        assert asyncio.run(metric.single_turn_ascore(sample)) == core_value(kind) == 0.5


def test_string_metric_of_one_sample(row: Row, core_value: Any) -> None:
    metric = ours.NonLLMContextPrecisionWithReference()
    assert metric.single_turn_score(ragas.SingleTurnSample(**row)) == core_value(
        "NonLLMContextPrecision"
    )


def test_prompt_is_given_another_language(server: Any, llms: Any, refusal: str) -> None:
    llm = llms.instructor_async(server)
    metric: Any = ours.ContextRecall(llm=llm)
    with pytest.raises(UnusedError) as read:
        metric.prompt.adapt(target_language="hindi", llm=llm)
    with pytest.raises(UnusedError) as written:
        metric.prompt = "Sind die Sätze belegt?"
    assert str(read.value) == str(written.value) == refusal


def test_threshold_of_the_string_comparison(refusal: str) -> None:
    with pytest.raises(ParameterError) as caught:
        ours.NonLLMContextRecall(threshold=0.9)
    assert str(caught.value) == refusal
