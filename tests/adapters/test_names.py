"""Adapters take the names of judges and metrics that the command line takes."""

from __future__ import annotations

import pytest

from ctxmetrics import LexicalJudge, LLMJudge


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test")


def test_ragas_takes_the_name_of_a_judge() -> None:
    pytest.importorskip("ragas")
    from ctxmetrics_ragas import ContextRecall, LLMContextRecall

    assert ContextRecall(judge="lexical").core.judge == LexicalJudge()
    assert isinstance(LLMContextRecall(judge="openai/gpt-4o-mini").core.judge, LLMJudge)


def test_deepeval_takes_the_name_of_a_judge() -> None:
    pytest.importorskip("deepeval")
    from ctxmetrics_deepeval import ContextRecallMetric

    assert ContextRecallMetric(judge="lexical").core == ContextRecallMetric(judge=LexicalJudge()).core
    assert isinstance(ContextRecallMetric(judge="openai/gpt-4o-mini").core.judge, LLMJudge)


def test_langchain_takes_names_of_judges_and_metrics() -> None:
    pytest.importorskip("langsmith")
    from ctxmetrics_langchain import ContextRecallEvaluator, RetrievalEvaluator

    assert ContextRecallEvaluator(judge="lexical").metric.judge == LexicalJudge()
    evaluator = RetrievalEvaluator(["context_recall", "ndcg@10"], judge="openai/gpt-4o-mini")
    assert [*evaluator.wrappers] == ["context_recall", "id_based_ndcg(top_k=10)"]
    assert isinstance(evaluator.wrappers["context_recall"].judge, LLMJudge)
    named = RetrievalEvaluator({"rank": "mrr"})
    assert named.wrappers["rank"].metric.name == "id_based_reciprocal_rank"


@pytest.mark.slow
def test_mlflow_takes_names_of_judges_and_metrics() -> None:
    pytest.importorskip("mlflow")
    from ctxmetrics_mlflow import ContextRecallScorer, MetricScorer

    assert ContextRecallScorer(judge="lexical").definition.count("LexicalJudge") == 1
    assert MetricScorer("ndcg@10").name == "id_based_ndcg top_k 10"


@pytest.mark.slow
def test_inspect_takes_names_of_judges_and_metrics() -> None:
    pytest.importorskip("inspect_ai")
    from ctxmetrics_inspect import context_recall, metric_scorer

    assert callable(context_recall(judge="lexical"))
    assert callable(metric_scorer("ndcg@10", judge="openai/gpt-4o-mini"))


def test_pydantic_evals_takes_names_of_ours_and_of_its_own() -> None:
    pytest.importorskip("pydantic_evals")
    pytest.importorskip("openai")
    from ctxmetrics_pydantic_evals import ContextRecallEvaluator

    def judge_of(name: str) -> object:
        return ContextRecallEvaluator(judge=name).metric.judge  # type: ignore[attr-defined]  # it is judged

    assert judge_of("lexical:min_coverage=.5") == LexicalJudge(min_coverage=0.5)
    ours = judge_of("openai/gpt-4o-mini")
    theirs = judge_of("openai:gpt-4o-mini")
    assert isinstance(ours, LLMJudge)
    assert isinstance(theirs, LLMJudge)
    assert type(ours.model).__name__ == "OpenAIModel"
    assert type(theirs.model).__name__ == "PydanticAIModel"
