"""Pictures in the types of each framework, through its real runner: None with a reason, never a score."""

from __future__ import annotations

import base64
import math
import tempfile
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    Metric,
    NonLLMContextPrecision,
    NonLLMContextRecall,
    Sample,
    evaluate,
)
from ctxmetrics.errors import SampleError
from support.later import later, skip_without

if TYPE_CHECKING:
    from pathlib import Path

skip_without("langchain_core", "pydantic_ai", "ragas", "deepeval", "mlflow")

documents = later("langchain_core.documents")
lc_messages = later("langchain_core.messages")
ai_messages = later("pydantic_ai.messages")

REFERENCE = "The tower is in Paris."
PIXEL = base64.b64encode(b"\x89PNG not a real one").decode()
DATA_URI = f"data:image/png;base64,{PIXEL}"
TEXT = {"type": "text", "text": REFERENCE}
BLOCKS = {
    "image_url block": [TEXT, {"type": "image_url", "image_url": {"url": DATA_URI}}],
    "standard image block": [TEXT, {"type": "image", "base64": PIXEL, "mime_type": "image/png"}],
    "image by url": [TEXT, {"type": "image", "url": "https://example.org/a.png"}],
    "audio": [TEXT, {"type": "audio", "base64": PIXEL, "mime_type": "audio/wav"}],
    "file": [TEXT, {"type": "file", "base64": PIXEL, "mime_type": "application/pdf"}],
    "anthropic's own block": [
        TEXT,
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
    ],
}
"""What messages of LangChain hold."""
PARTS = {
    "ImageUrl": {"url": "https://example.org/picture"},
    "AudioUrl": {"url": "https://example.org/a.mp3"},
    "DocumentUrl": {"url": "https://example.org/a.pdf"},
    "BinaryContent": {"data": b"\x89PNG", "media_type": "image/png"},
}
"""Classes of pydantic-ai, with what each is made of."""
TEXTS = {"data URI": DATA_URI, "path": "images/tesla.jpg", "URL": "https://example.org/a.PNG?size=2"}


# ---- LangChain ----


def make_message(name: str) -> Any:
    kind = lc_messages.AIMessage if name == "image by url" else lc_messages.HumanMessage
    return kind(content=BLOCKS[name])


@pytest.mark.parametrize("name", [*BLOCKS, *TEXTS])
@pytest.mark.parametrize("field", ["retrieved_contexts", "reference", "user_input"])
def test_langsmith_evaluate(name: str, field: str) -> None:
    from langsmith import Client, evaluate
    from langsmith.schemas import Example

    from ctxmetrics_langchain import ContextRecallEvaluator

    if field != "retrieved_contexts" and name in ("path", "URL"):
        pytest.skip("a name of a file may be an answer")
    picture = make_message(name) if name in BLOCKS else TEXTS[name]
    block = BLOCKS.get(name, picture)  # LangSmith keeps an example's messages as what they hold
    question = block if field == "user_input" else "Where?"
    answer = block if field == "reference" else REFERENCE
    found = [documents.Document(REFERENCE), picture] if field == "retrieved_contexts" else [REFERENCE]
    rows: Any = evaluate(
        lambda _: {"documents": found},
        [Example(id=uuid.uuid4(), inputs={"question": question}, outputs={"answer": answer})],
        [ContextRecallEvaluator()],
        upload_results=False,
        client=Client(api_key="none", auto_batch_tracing=False),
    )
    ((result,),) = [row["evaluation_results"]["results"] for row in rows]
    assert result.score is None
    assert result.evaluator_info["reason_code"] == "not_text"
    assert field in result.comment


@pytest.mark.parametrize("name", BLOCKS)
def test_lcel(name: str) -> None:
    from ctxmetrics_langchain import ContextRecallEvaluator

    runnable = ContextRecallEvaluator().as_runnable()
    found = runnable.invoke({"documents": [make_message(name)], "reference": REFERENCE})
    assert found["score"] is None
    assert found["comment"].startswith(
        "not_text: Sample: field 'retrieved_contexts', item 1 holds a picture"
    )


def test_a_message_and_a_document_with_text_only_are_scored() -> None:
    from ctxmetrics_langchain import ContextRecallEvaluator

    runnable = ContextRecallEvaluator().as_runnable()
    caption = {
        "type": "image",
        "text": REFERENCE,
        "image_path": "a.png",
    }  # what a parser read in a picture
    kept = documents.Document(REFERENCE, metadata={"type": "image", "image_base64": DATA_URI})
    for document in (
        lc_messages.HumanMessage(REFERENCE),
        lc_messages.HumanMessage([TEXT]),
        caption,
        kept,
        "See a.png. " + REFERENCE,
    ):
        assert runnable.invoke({"documents": [document], "reference": REFERENCE})["score"] == 1.0


# ---- pydantic-evals ----


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("field", ["retrieved_contexts", "reference", "user_input"])
def test_pydantic_evals(name: str, field: str) -> None:
    from pydantic_evals import Case, Dataset

    from ctxmetrics_pydantic_evals import ContextRecallEvaluator

    part = getattr(ai_messages, name)(**PARTS[name])
    asked: Any = {"question": ["What is this?", part]} if field == "user_input" else "Where?"
    expected: Any = [REFERENCE, part] if field == "reference" else REFERENCE
    found = [REFERENCE, part] if field == "retrieved_contexts" else [REFERENCE]
    cases: list[Case[Any, Any, Any]] = [
        Case(name="one", inputs=asked, expected_output={"answer": expected})
    ]
    dataset = Dataset(name="pictures", cases=cases, evaluators=[ContextRecallEvaluator()])
    (case,) = dataset.evaluate_sync(lambda _: {"documents": found}, progress=False).cases
    assert not case.scores
    (failure,) = case.evaluator_failures
    assert "not_text: " in failure.error_message
    assert f"field '{field}'" in failure.error_message


# ---- MLflow ----


@pytest.mark.slow  # each makes a store
@pytest.mark.parametrize("name", [*BLOCKS, "data URI", "attachment"])
def test_mlflow_evaluate(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import mlflow
    from mlflow.tracing.attachments import Attachment

    from ctxmetrics_mlflow import ContextRecallScorer

    address = Attachment(content_type="image/png", content_bytes=b"\x89PNG").ref("tr-1")
    picture = BLOCKS.get(name) or {"data URI": DATA_URI, "attachment": address}[name]
    rows = [
        {
            "inputs": {"question": "Where?"},
            "outputs": {"documents": [{"page_content": REFERENCE}, {"content": picture}]},
            "expectations": {"expected_response": REFERENCE},
        }
    ]
    monkeypatch.chdir(tmp_path)  # where MLflow puts attachments
    before = mlflow.get_tracking_uri()
    with tempfile.TemporaryDirectory() as folder:
        mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
        try:
            found: Any = mlflow.genai.evaluate(data=rows, scorers=[ContextRecallScorer()])
        finally:
            mlflow.set_tracking_uri(before)
    ((feedback,),) = [
        [item for item in assessments if item["assessment_name"] == "context_recall"]
        for assessments in found.result_df["assessments"]
    ]
    assert feedback["feedback"]["value"] is None
    assert feedback["feedback"]["error"]["error_code"] == "not_text"


# ---- Ragas ----


@pytest.mark.parametrize("name", TEXTS)
def test_ragas_evaluate(name: str) -> None:
    """What Ragas' multimodal metrics take: a context that is a path, a URL or an encoded picture."""
    from ragas import EvaluationDataset, SingleTurnSample
    from ragas import evaluate as theirs

    from ctxmetrics_ragas import ContextRecall as Recall
    from ctxmetrics_ragas import IDBasedContextRecall
    from ctxmetrics_ragas import NonLLMContextRecall as StringRecall

    contexts = [REFERENCE, TEXTS[name]]
    samples = [
        SingleTurnSample(
            user_input="Where?",
            reference=REFERENCE,
            retrieved_contexts=found,
            reference_contexts=found,
            retrieved_context_ids=["a"],
            reference_context_ids=["a"],
        )
        for found in (contexts, [REFERENCE])
    ]
    result: Any = theirs(
        EvaluationDataset(samples),
        metrics=[Recall(), StringRecall(), IDBasedContextRecall()],
        show_progress=False,
    )
    pictured, plain = result.scores
    assert math.isnan(pictured["context_recall"])
    assert math.isnan(pictured["non_llm_context_recall"])
    assert pictured["id_based_context_recall"] == 1.0
    assert set(plain.values()) == {1.0}
    told = result.traces[0]["context_recall"]["score"]["output"]
    assert told.reason_code == "not_text"


# ---- the core, which all of them go through ----


@pytest.mark.parametrize("text", [*TEXTS.values(), f"A tower: [DEEPEVAL:IMAGE:{'0af3' * 8}]"])
def test_the_core_scores_no_placeholder(text: str) -> None:
    pictured = Sample(
        reference=REFERENCE, retrieved_contexts=[REFERENCE, text], reference_contexts=[REFERENCE]
    )
    plain = Sample(reference=REFERENCE, retrieved_contexts=[REFERENCE], reference_contexts=[REFERENCE])
    results = evaluate([pictured, plain], [ContextRecall(), NonLLMContextRecall()], progress=False)
    for name in ("context_recall", "non_llm_context_recall"):
        first, second = (row[name] for row in results)
        assert (first.value, first.reason_code, first.verdicts) == (None, "not_text", ())
        assert "field 'retrieved_contexts', item 2 holds a picture" in first.message
        assert second.value == 1.0
    assert ContextRecall(top_k=1).score(pictured).value == 1.0  # the picture is not looked at


@pytest.mark.parametrize(
    "metric",
    [
        ContextPrecision(group="source"),
        ContextPrecision(convention="deepeval"),
        NonLLMContextPrecision(group="source"),
        NonLLMContextPrecision(convention="deepeval"),
    ],
    ids=lambda metric: metric.name,
)
def test_picture_file_name_is_an_id_where_sources_count(metric: Metric) -> None:
    sample = Sample(
        reference=REFERENCE,
        reference_contexts=[REFERENCE],
        retrieved_contexts=[REFERENCE, "It is made of iron."],
        retrieved_context_ids=["slides/tower.png", "iron.pdf"],
    )
    score = metric.score(sample)
    assert (score.value, score.reason_code, score.metadata["sources"]) == (1.0, None, 2)


@pytest.mark.parametrize("name", [*PARTS, "file", "bytes"])
def test_a_sample_takes_no_picture_object(name: str) -> None:
    picture: Any = b"\x89PNG"
    if name in PARTS:
        picture = getattr(ai_messages, name)(**PARTS[name])
    elif name in BLOCKS:
        picture = make_message(name)
    with pytest.raises(SampleError, match="item 1 holds a picture"):
        Sample(retrieved_contexts=[picture])


@pytest.mark.parametrize(
    "text",
    [
        "[DEEPEVAL:IMAGE:/etc/passwd]",
        "data: image/png, a table",
        "The file logo.png",
        "logo.png is it.",
    ],
)
def test_a_text_about_pictures_is_a_text(text: str) -> None:
    assert (
        ContextRecall().score(Sample(reference=text, retrieved_contexts=[f"{text} It is so."])).value
        == 1.0
    )
