"""check-judge with the models of frameworks, over their real clients: the honest server agrees with the labels on every path."""

from __future__ import annotations

import pytest

from ctxmetrics import LLMJudge, check_judge
from support import missing
from support.judges import WeakJudge

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(missing("ragas", "deepeval", "langchain_openai")),
        reason="needs ragas, deepeval and langchain-openai",
    ),
    pytest.mark.filterwarnings("ignore:.*LLMWrapper is deprecated:DeprecationWarning"),
]


def chat_openai(base_url):
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(
        model="fake-judge", base_url=base_url, api_key="sk-test-0123456789", max_retries=0
    )


def langchain(base_url):
    from ctxmetrics_langchain import ChatModel

    return ChatModel(chat_openai(base_url))


def ragas(base_url):
    from ragas.llms.base import LangchainLLMWrapper

    from ctxmetrics_ragas import RagasModel

    return RagasModel(LangchainLLMWrapper(chat_openai(base_url)))


def deepeval(base_url):
    from deepeval.models import LocalModel

    from ctxmetrics_deepeval import DeepEvalModel

    return DeepEvalModel(
        LocalModel(model="fake-judge", base_url=base_url, api_key="sk-test-0123456789")
    )


@pytest.mark.parametrize("model", [langchain, ragas, deepeval])
def test_honest_server_agrees_with_labels_through_a_framework(model):
    with WeakJudge().server as server:
        found = check_judge(LLMJudge(model(server.base_url)), repetitions=1, progress=False)
    assert found.units.kappa == found.contexts.kappa == 1.0
    assert (found.obeyed, found.usage.calls) == ((0, 10), 54)
