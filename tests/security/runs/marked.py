"""What the runs share: texts with a word that tells what left, one a judge, and the judges."""

from __future__ import annotations

import os

WORDS = {"none": "kingfisher", "model": "osprey", "framework": "peregrine"}
"""A word that stands in the texts of the run with no judge of one's own, with `OpenAIModel`, with the framework's model."""


def fields(word: str) -> dict[str, object]:
    """Return one question with what was retrieved, as mappings."""
    return {
        "user_input": f"Where does the {word} nest?",
        "response": f"The {word} nests in a bank.",
        "reference": f"The {word} nests in the bank of a river.",
        "retrieved_contexts": [f"The {word} nests in a tunnel, in the bank of a river."],
    }


def url() -> str:
    """Return the address of the judge's server, on the loopback."""
    return os.environ["JUDGE_URL"]


def own_judge() -> object:
    """Return an LLM judge with this library's own client."""
    from ctxmetrics import LLMJudge, OpenAIModel

    return LLMJudge(OpenAIModel("gpt", base_url=url(), api_key="sk-of-the-test"))


def chat_openai() -> object:
    """Return a chat model of LangChain."""
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model="gpt", base_url=url(), api_key="sk-of-the-test", max_retries=0)


def check(value: object) -> None:
    """Fail a run that scored nothing: nothing would leave it."""
    assert isinstance(value, float), value
