"""Decision models of frameworks as judges: their real classes, with answers of ours."""

from __future__ import annotations

import asyncio
import importlib
from importlib.util import find_spec
from typing import Any

import pytest

from ctxmetrics import ContextRecall, DecisionJudge, LLMJudge, forget
from ctxmetrics.errors import ParameterError
from support import missing
from support.decisions import TOWER, DecisionServer, honest


@pytest.fixture(autouse=True)
def _fresh() -> None:
    forget()


def has(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def langchain_model() -> Any:
    decisions = importlib.import_module("langchain_core.decisions")

    class Ours(decisions.BaseDecisionModel):
        model: str = "ours"

        @property
        def _provider(self) -> str:
            return "ours"

        def _classify(self, state: Any, questions: Any) -> Any:
            answers = {
                id_: {"type": "noul", "noul": honest(state, question.instructions)}
                for id_, question in questions.items()
            }
            usage = {"input_tokens": 7, "output_tokens": 0, "total_tokens": 7}
            body = {"model": "served-1", "answers": answers, "usage": usage}
            return decisions.ClassifierResponse.model_validate(body)

    return Ours()


def pydantic_ai_model() -> Any:
    decision = importlib.import_module("pydantic_ai.models.decision")

    class Ours(decision.DecisionModel):
        @property
        def model_name(self) -> str:
            return "ours"

        @property
        def system(self) -> str:
            return "ours"

        @property
        def base_url(self) -> str | None:
            return None

        async def decide(self, request: Any, model_settings: Any) -> Any:
            answers = {
                id_: decision.NoulAnswer(noul=honest(request.state, question.instructions))
                for id_, question in request.questions.items()
            }
            return decision.DecisionResponse(answers=answers, model_name="served-1")

    Ours.__abstractmethods__ = frozenset()
    return Ours.__new__(Ours)


def deepeval_model() -> Any:
    models = importlib.import_module("deepeval.models")
    schema = importlib.import_module("deepeval.models.system_one.schema")

    class Ours(models.DeepEvalBaseSystemOneModel):
        def load_model(self, *args: Any, **kwargs: Any) -> None:
            return None

        def decide(self, state: Any, questions: Any) -> Any:
            answers = {
                id_: schema.NoulAnswer(probability=honest(state, question.instructions))
                for id_, question in questions.items()
            }
            return schema.SystemOneAnswers(nouls=answers), None

        async def a_decide(self, state: Any, questions: Any) -> Any:
            return self.decide(state, questions)

        def get_model_name(self, *args: Any, **kwargs: Any) -> str:
            return "ours"

    return Ours("ours")


MODELS = {
    "langchain_core.decisions": langchain_model,
    "pydantic_ai.models.decision": pydantic_ai_model,
    "deepeval.models.system_one": deepeval_model,
}


@pytest.mark.parametrize("module", MODELS)
def test_model_of_a_framework(module: str) -> None:
    if not has(module):
        pytest.skip(f"{module} is not in this version")
    judge = DecisionJudge(MODELS[module](), layout="sample")  # type: ignore[arg-type]  # it is coerced
    score = ContextRecall(judge=judge).score(TOWER)
    assert score.value == 0.5
    assert "ours" in judge.name
    if "deepeval" not in module:
        assert score.provenance.served_model == "served-1"
    with pytest.raises(ParameterError, match=r"DecisionJudge\(model\)"):
        ContextRecall(judge=MODELS[module]())


@pytest.mark.skipif(bool(missing("langchain_core")), reason=missing("langchain_core"))
def test_langchain_adapter() -> None:
    if not has("langchain_core.decisions"):
        pytest.skip("an older langchain-core")
    from ctxmetrics_langchain import ContextRecallEvaluator

    evaluator = ContextRecallEvaluator(judge=langchain_model())
    assert isinstance(evaluator.metric.judge, DecisionJudge)


@pytest.mark.skipif(bool(missing("pydantic_evals")), reason=missing("pydantic_evals"))
def test_pydantic_evals_adapter() -> None:
    if not has("pydantic_ai.models.decision"):
        pytest.skip("an older pydantic-ai")
    from ctxmetrics_pydantic_evals.models import to_judge

    assert isinstance(to_judge(pydantic_ai_model()), DecisionJudge)


@pytest.mark.skipif(bool(missing("deepeval")), reason=missing("deepeval"))
class TestDeepEval:
    def test_model_option(self) -> None:
        from ctxmetrics_deepeval import ContextRecallMetric

        if not has("deepeval.models.system_one"):
            pytest.skip("an older DeepEval")
        metric = ContextRecallMetric(model=deepeval_model())
        assert isinstance(metric.core.judge, DecisionJudge)
        assert metric.measure(_test_case()) == 0.5

    @pytest.mark.parametrize("mode", ["", "llm", "hybrid", "system_one"])
    def test_mode_changes_nothing(self, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
        from ctxmetrics_deepeval import ContextPrecisionMetric, ContextRecallMetric

        if mode:
            monkeypatch.setenv("DEEPEVAL_EVAL_MODE", mode)
        with DecisionServer() as server:
            monkeypatch.setenv("TYPESAFE_BASE_URL", server.url)
            values = [
                metric().measure(_test_case())
                for metric in (ContextRecallMetric, ContextPrecisionMetric)
            ]
        assert values == [0.5, 1.0]
        assert not server.requests


@pytest.mark.skipif(bool(missing("ragas")), reason=missing("ragas"))
def test_ragas_adapter() -> None:
    from ctxmetrics_ragas import ContextRecall as OfRagas

    if not has("langchain_core.decisions"):
        pytest.skip("an older langchain-core")
    metric = OfRagas(llm=langchain_model())
    assert isinstance(metric.core.judge, DecisionJudge)


@pytest.mark.skipif(not has("typesafe_sdk"), reason="typesafe-sdk is not installed")
@pytest.mark.parametrize("kind", ["TypeSafeClient", "AsyncTypeSafeClient"])
def test_typesafe_client(kind: str) -> None:
    sdk = importlib.import_module("typesafe_sdk")

    async def score(url: str) -> float | None:
        client = getattr(sdk, kind)(api_key="sk-0123abcd-xyz999", base_url=url)
        judge = DecisionJudge(client, layout="sample")
        return (await ContextRecall(judge=judge).ascore(TOWER)).value

    with DecisionServer() as server:
        assert asyncio.run(score(server.url)) == 0.5


def test_openai_client_says_what_to_write() -> None:
    openai = pytest.importorskip("openai")
    client = openai.AsyncOpenAI(api_key="sk-0123abcd-xyz999")
    with pytest.raises(ParameterError, match=r"DecisionAPI\('MODEL', wire='openai'\)"):
        ContextRecall(judge=client)
    with pytest.raises(ParameterError):
        LLMJudge(client)


def _test_case() -> Any:
    from deepeval.test_case import LLMTestCase

    return LLMTestCase(
        input=TOWER.user_input or "",
        actual_output="In Paris.",
        expected_output=TOWER.reference,
        retrieval_context=list(TOWER.retrieved_contexts or ()),
    )
