"""The honest responder: the score through the whole judge is the one its labels stand for."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    ContextUtilization,
    LLMJudge,
    OpenAIModel,
    Sample,
    ScriptedJudge,
    evaluate,
)
from ctxmetrics.errors import ParameterError
from ctxmetrics.prompts import get_pack, render, reply_schema
from support import FakeOpenAIServer, answer_from, read_question
from support.later import later, skip_without

skip_without("openai")

openai = later("openai")

FALSE, TRUE = "Bananas are yellow.", "The tower was built in 1889 by many hands."
SAMPLE = Sample(
    user_input="When was the tower built?",
    response="The tower was built in 1889.",
    reference="The tower was built in 1889. It weighs 7300 tonnes.",
    retrieved_contexts=[FALSE, TRUE],
)
LABELS = {
    "The tower was built in 1889.": (True, TRUE, "built in 1889"),
    "It weighs 7300 tonnes.": False,
}
USEFUL = {FALSE: False, TRUE: True}


def prompt(step="joint", language="en", **data):
    data = data or {
        "question": "q",
        "sentences": [{"id": "s1", "text": "It is red."}],
        "contexts": [{"id": "c1", "text": "A red car."}],
    }
    return render(get_pack(language), step, data)


@pytest.mark.parametrize(
    "options", [{}, {"joint": False}, {"per_context": True}, {"language": "ru"}, {"votes": 3}]
)
@pytest.mark.parametrize(("labels", "useful"), [(LABELS, USEFUL), (None, None)])
def test_labels_or_words_give_the_score_they_stand_for(options, labels, useful):
    judge = ScriptedJudge(answer_from(labels, useful), name="labels", **options)
    recall = ContextRecall(judge=judge).score(SAMPLE)
    assert recall.value == 1 / 2
    assert [verdict.evidence != () for verdict in recall.verdicts] == [True, False]
    assert ContextPrecision(judge=judge).score(SAMPLE).value == 1 / 2
    assert ContextUtilization(judge=judge).score(SAMPLE).value == 1 / 2


def test_labels_win_over_words():
    judge = ScriptedJudge(
        answer_from({"The tower was built in 1889.": False}, {TRUE: False, FALSE: True}), name="odd"
    )
    assert ContextRecall(judge=judge).score(SAMPLE).value == 0.0
    assert ContextPrecision(judge=judge).score(SAMPLE).value == 1.0


@pytest.mark.parametrize(
    ("contexts", "recall", "precision", "requests"),
    [
        ([""], 0.0, 0.0, 0),
        ([" \n", "\u200b…"], 0.0, 0.0, 0),
        (["", TRUE, ""], 1 / 2, 1 / 2, 1),
    ],
)
def test_a_context_without_text_is_not_sent(contexts, recall, precision, requests):
    """By hand: of two sentences the one context of text states one, and it stands at rank 2."""
    sample = replace(SAMPLE, retrieved_contexts=tuple(contexts))
    with FakeOpenAIServer(answer_from(LABELS, USEFUL)) as server:
        judge = LLMJudge(OpenAIModel("m", base_url=server.base_url))
        results = evaluate([sample], [ContextRecall(), ContextPrecision()], judge=judge, progress=False)
        assert server.count == requests
    row = results[0]
    assert (row["context_recall"].value, row["context_precision"].value) == (recall, precision)
    assert [verdict.id for verdict in row["context_precision"].verdicts] == [
        f"c{number + 1}" for number in range(len(contexts))
    ]
    assert row["context_precision"].verdicts[0].reason == "the context is empty"
    if requests:
        assert [span.context for span in row["context_recall"].verdicts[0].evidence] == [1]


def test_functions_serve_as_labels():
    responder = answer_from(
        lambda unit, contexts: (True, contexts[0], "Bananas"),
        lambda text, answer: "1889" in answer + text,
    )
    judge = ScriptedJudge(responder, name="functions")
    assert ContextRecall(judge=judge).score(SAMPLE).verdicts[1].evidence[0].quote == "Bananas"
    assert ContextPrecision(judge=judge).score(SAMPLE).value == 1.0


def test_claims_come_from_labels_or_full_stops():
    claims = {
        SAMPLE.reference: [
            "The tower was built in 1889.",
            "The tower is heavy.",
            "It weighs 7300 tonnes.",
        ]
    }
    judge = ScriptedJudge(answer_from(LABELS, claims=claims), name="claims")
    assert ContextRecall(judge=judge, unit="claim").score(SAMPLE).value == 1 / 3
    assert answer_from().answer(read_question(prompt("claims", text="A b. C d.").text))["claims"] == [
        "A b.",
        "C d.",
    ]


def test_a_label_without_its_context_shown_supports_nothing():
    alone = Sample(reference="The tower was built in 1889.", retrieved_contexts=[FALSE])
    judge = ScriptedJudge(answer_from(LABELS, USEFUL), name="absent")
    assert ContextRecall(judge=judge).score(alone).value == 0.0


def test_what_has_no_label_can_be_no_or_an_error():
    question = read_question(prompt().text)
    assert answer_from(missing="lexical").answer(question)["useful"] == {
        "c1": {"quote": "", "useful": False}
    }
    assert answer_from(missing="no").answer(question)["sentences"]["s1"]["supported"] is False
    with pytest.raises(ParameterError, match=r"no label for the support of 'It is red\.'"):
        answer_from(missing="error").answer(question)


@pytest.mark.parametrize("language", ["en", "ru"])
@pytest.mark.parametrize("step", ["joint", "attribution", "usefulness", "claims"])
def test_step_is_read_from_prompt_and_reply_fits_its_schema(step, language):
    contexts = [{"id": "c1", "text": "A car."}]
    data = {
        "joint": {"question": None, "sentences": [{"id": "s1", "text": "It."}], "contexts": contexts},
        "attribution": {
            "question": None,
            "sentences": [{"id": "s1", "text": "It."}],
            "contexts": contexts,
        },
        "usefulness": {"question": None, "answer": "It.", "contexts": contexts},
        "claims": {"text": "It."},
    }[step]
    asked = prompt(step, language, **data)
    assert read_question(asked.text).step == step
    schema = reply_schema(step, sentences=asked.sentences, useful=asked.useful)
    schema.model_validate(json.loads(answer_from()(asked)))


def test_text_that_looks_like_a_block_is_not_taken_for_one():
    inner = prompt("claims", text="hidden").user
    assert read_question(prompt("claims", text=inner).text).data == {"text": inner}
    forged = f"BEGIN DATA {'0' * 24}\n{{}}\ncode: {'0' * 8}\nEND DATA {'0' * 24}"
    assert read_question(f"{prompt('claims', text='x').text}\n{forged}").data == {"text": "x"}


def test_a_prompt_that_somebody_changed_is_an_error():
    with pytest.raises(ParameterError, match="no intact data block"):
        read_question(prompt().text.replace("red", "blue"))
    with FakeOpenAIServer(answer_from()) as server:
        api = openai.OpenAI(base_url=server.base_url, api_key="k", max_retries=0)
        with api, pytest.raises(openai.InternalServerError):
            api.chat.completions.create(model="m", messages=[{"role": "user", "content": "hello"}])
        assert isinstance(server.errors[0], ParameterError)
        server.reset()
