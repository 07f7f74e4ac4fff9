"""Judges by their names: wherever Python takes a judge, it takes what ``--judge`` takes."""

from __future__ import annotations

import asyncio

import pytest

from ctxmetrics import (
    ContextRecall,
    LexicalJudge,
    LLMJudge,
    OpenAIModel,
    Sample,
    aevaluate,
    agree,
    check_judge,
    estimate,
    evaluate,
)
from ctxmetrics.errors import ParameterError
from ctxmetrics.judges.judge_names import read_judge

SAMPLES = [Sample(reference="It is in Paris.", retrieved_contexts=["It is in Paris."])]


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test")


def test_a_name_is_the_judge_that_it_names():
    assert read_judge("lexical") == LexicalJudge()
    assert read_judge("lexical:min_coverage=.5") == LexicalJudge(min_coverage=0.5)
    judge = read_judge("openai/gpt-4o-mini")
    assert isinstance(judge, LLMJudge)
    assert isinstance(judge.model, OpenAIModel)
    assert judge.model.model == "gpt-4o-mini"


def test_a_metric_takes_the_name_of_its_judge():
    assert ContextRecall(judge="lexical") == ContextRecall(judge=LexicalJudge())
    assert ContextRecall(judge="lexical").score(SAMPLES[0]).value == 1.0
    assert isinstance(ContextRecall(judge="openai/gpt").own_judge, LLMJudge)


def test_evaluate_takes_names_of_metrics_and_judge():
    results = evaluate(SAMPLES, ["context_recall", ContextRecall(top_k=1)], judge="lexical")
    assert list(results.metrics) == ["context_recall", "context_recall(top_k=1)"]
    assert results[0]["context_recall"].provenance.judge == "lexical"


def test_aevaluate_takes_them_too():
    results = asyncio.run(aevaluate(SAMPLES, ["context_recall"], judge="lexical"))
    assert results[0]["context_recall"].value == 1.0


def test_evaluate_takes_the_path_of_a_file(tmp_path):
    file = tmp_path / "s.jsonl"
    file.write_text('{"reference": "In Paris.", "retrieved_contexts": ["In Paris."]}\n')
    for path in (file, str(file)):
        results = evaluate(path, ["context_recall"], judge="lexical")
        assert results[0]["context_recall"].value == 1.0
        assert results.source == str(file)
        assert estimate(path, ["context_recall"], judge="openai/gpt").calls == 1


def test_agree_and_check_judge_take_a_name(tmp_path):
    file = tmp_path / "s.jsonl"
    file.write_text(
        '{"reference": "In Paris.", "retrieved_contexts": ["In Paris."], "labels": {"unit_supported": [true]}}\n'
    )
    assert agree(str(file), judge="lexical").judge == "lexical"
    assert check_judge("lexical", repetitions=1, samples=1).judge == "lexical"


def test_score_table_takes_names():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("narwhals")
    from ctxmetrics import score_table

    table = pandas.DataFrame({"reference": ["In Paris."], "retrieved_contexts": [["In Paris."]]})
    assert list(score_table(table, ["context_recall"], judge="lexical")["context_recall"]) == [1.0]


@pytest.mark.parametrize(
    ("name", "guess"),
    [
        ("lexcal", " Did you mean lexical?"),
        ("gpt-4o", " Did you mean openai/gpt-4o?"),
        ("claude-haiku", " Did you mean anthropic/claude-haiku?"),
        ("opnai/gpt-4o", " Did you mean openai/gpt-4o?"),
        ("openai", " Did you mean openai/MODEL?"),
        ("foo", ""),
        ("foo/bar", ""),
        ("", ""),
    ],
)
def test_an_unknown_judge_is_answered_with_the_nearest(name, guess):
    with pytest.raises(ParameterError) as error:
        ContextRecall(judge=name)
    assert str(error.value).startswith(f"judge {name!r} is unknown.{guess} Write lexical")
