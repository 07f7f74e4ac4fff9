"""LangSmith without LangSmith: a client that sends nothing and keeps what it was told."""

from __future__ import annotations

import uuid
from types import SimpleNamespace
from typing import Any

import pytest

from ctxmetrics import ScriptedJudge
from support.later import later, skip_without

skip_without("langchain_core")

langchain_core = later("langchain_core")
langsmith = later("langsmith")


QUESTION = "Who built the tower, and when?"
REFERENCE = "Gustave Eiffel's company built the tower. It opened in 1889."
CONTEXTS = [
    "Cheese is made from milk.",
    "The tower was built by the company of Gustave Eiffel.",
    "The tower is painted every seven years.",
]
JOINT = {
    "code": "$code",
    "sentences": {
        "s1": {
            "supported": True,
            "evidence": [
                {"context": "c2", "quote": "built by the company of Gustave Eiffel", "whole": True}
            ],
        },
        "s2": {"supported": False, "missing": "no context gives the year"},
    },
    "useful": {
        "c1": {"useful": False},
        "c2": {"useful": True},
        "c3": {"useful": False},
    },
}
"""By hand: recall 1 of 2; the useful context stands second, so average precision is 1/2."""


@pytest.fixture
def client() -> langsmith.Client:
    class OfflineClient(langsmith.Client):
        """Sends nothing. Some versions of `aevaluate(upload_results=False)` upload the target's run with an ordinary client."""

        def __init__(self) -> None:
            super().__init__(api_key="none", api_url="http://127.0.0.1:9", auto_batch_tracing=False)
            self.traced: dict[str, dict[str, Any]] = {}
            self.feedback: list[dict[str, Any]] = []

        def create_run(self, name: str, inputs: dict[str, Any], run_type: str, **kwargs: Any) -> None:
            self.traced[str(kwargs["id"])] = {
                "name": name,
                "inputs": inputs,
                "run_type": run_type,
                **kwargs,
            }

        def update_run(self, run_id: Any, **kwargs: Any) -> None:
            self.traced.setdefault(str(run_id), {}).update(
                {name: value for name, value in kwargs.items() if value is not None}
            )

        def create_feedback(self, run_id: Any, key: str, **kwargs: Any) -> None:
            self.feedback.append({"run_id": run_id, "key": key, **kwargs})

    return OfflineClient()


@pytest.fixture
def case() -> SimpleNamespace:
    """One question with what a retriever found, as everybody's objects."""
    documents = [
        langchain_core.documents.Document(
            text, id=f"d{number}", metadata={"source": f"file{number}.md"}
        )
        for number, text in enumerate(CONTEXTS, 1)
    ]
    expected = {
        "answer": REFERENCE,
        "reference_contexts": [CONTEXTS[1]],
        "reference_context_ids": ["d2", "d9"],
    }
    example = langsmith.schemas.Example(
        id=uuid.uuid4(), inputs={"question": QUESTION}, outputs=expected
    )

    def example_with(**parts: Any) -> langsmith.schemas.Example:
        return langsmith.schemas.Example(
            **{"id": uuid.uuid4(), "inputs": example.inputs, "outputs": example.outputs, **parts}
        )

    return SimpleNamespace(
        example_with=example_with,
        question=QUESTION,
        reference=REFERENCE,
        contexts=CONTEXTS,
        documents=documents,
        example=example,
        outputs={"answer": "Gustave Eiffel's company built it.", "documents": documents},
        judge=ScriptedJudge({"joint": [JOINT]}),
        joint=JOINT,
    )


@pytest.fixture
def make_run() -> Any:
    """Build a run as LangSmith hands it to an evaluator."""

    def build(
        outputs: Any = None,
        *,
        run_type: str = "chain",
        name: str = "target",
        children: Any = (),
        **more: Any,
    ) -> Any:
        return SimpleNamespace(
            **{
                "id": uuid.uuid4(),
                "inputs": {},
                "outputs": outputs,
                "run_type": run_type,
                "name": name,
                "child_runs": list(children),
                "error": None,
                **more,
            }
        )

    return build
