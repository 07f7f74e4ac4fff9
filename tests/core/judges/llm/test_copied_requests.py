"""A request given back as its own reply is never a verdict: weak models copy what they read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest

from ctxmetrics import ContextPrecision, ContextRecall, Sample, ScriptedJudge
from ctxmetrics.models.base import Prompt
from ctxmetrics.prompts import get_pack

SAMPLE = Sample(
    user_input="How long is the pump guaranteed?",
    reference="The pump is guaranteed for three years. Registration is free.",
    retrieved_contexts=["Filters are washed monthly.", "The pump stands in the cellar."],
)
LANGUAGES = ("en", "ru")
CELL = {"evidence": [], "missing": "", "supported": False}


def json_parts(text: str) -> list[str]:
    """Return each text in a request that a decoder reads as a JSON object, and each from a brace to the end."""
    decoder = json.JSONDecoder()
    parts = [text]
    for match in re.finditer(r"\{", text):
        parts.append(text[match.start() :])
        try:
            _, end = decoder.raw_decode(text, match.start())
        except ValueError:
            continue
        parts.append(text[match.start() : end])
    return parts


def with_code(text: str, prompt: Prompt) -> str:
    """Return the text with the code of the request in place of each other code, as a model that echoes it writes."""
    return re.sub(r"\b[0-9a-f]{8}\b", prompt.data_code, text)


def collect_prompts(language: str, first_reply: object) -> list[Prompt]:
    """Return every prompt that both metrics, each form and each repair send."""
    prompts: list[Prompt] = []

    def answer(prompt: Prompt) -> object:
        prompts.append(prompt)
        return first_reply if prompt.attempt == 0 else {"code": "$code"}

    for joint, metric in product((True, False), (ContextRecall, ContextPrecision)):
        judge = ScriptedJudge(answer, joint=joint, language=language)
        metric(judge=judge).score(SAMPLE)
    ContextRecall(judge=ScriptedJudge(answer, language=language), unit="claim").score(SAMPLE)
    return prompts


FIRST_REPLIES = {
    "nothing": {"code": "$code"},
    "no JSON": "I cannot say.",
    "another code": {"code": "00000000", "sentences": {"s1": CELL}},
    "one sentence": {"code": "$code", "sentences": {"s1": CELL}},
    "no quote": {"code": "$code", "sentences": {"s1": {**CELL, "supported": True}}},
    "two verdicts": {"code": "$code", "sentences": {"s1": {"supported": "maybe"}}},
    "contexts alone": {"code": "$code", "useful": {"c1": {"quote": "", "useful": False}}},
}


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_part_of_a_request_is_a_verdict(language: str) -> None:
    prompts: dict[str, Prompt] = {}
    for first_reply in FIRST_REPLIES.values():
        sent = collect_prompts(language, first_reply)
        assert {prompt.step for prompt in sent} >= {"joint", "attribution", "usefulness", "claims"}
        # The first requests are those of the other replies, but for their codes.
        prompts |= {prompt.text.replace(prompt.data_code, ""): prompt for prompt in sent}
    for prompt in prompts.values():
        for part in json_parts(prompt.text):
            if '"supported":true' in part and part.startswith("{"):
                continue  # the example: see the next test
            for reply in (part, with_code(part, prompt)):
                assert judged(prompt, reply, language) == [], (prompt.step, reply[:200])


def copy_example(language: str, step: str) -> Callable[[Prompt], str]:
    """Return a model that replies with the example of a prompt, under the right code."""
    text = get_pack(language).texts[step]
    example = text[text.rindex('{"code":"5e01c7d2"') :]
    return lambda prompt: example.replace("5e01c7d2", prompt.data_code)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("step", ["attribution", "joint"])
def test_example_with_the_right_code_supports_nothing(language: str, step: str) -> None:
    answer = copy_example(language, step)
    score = ContextRecall(judge=ScriptedJudge(answer, joint=step == "joint", language=language)).score(
        SAMPLE
    )
    assert score.value is None
    assert {verdict.code for verdict in score.verdicts} == {"wrong_data"}
    assert all(verdict.reason for verdict in score.verdicts)


@pytest.mark.parametrize("language", LANGUAGES)
def test_contexts_rated_beside_a_copied_sentence_are_not_judged(language: str) -> None:
    """The example rates its contexts without a word of its own: the copied sentence shows whose reply it is."""
    answer = copy_example(language, "joint")
    score = ContextPrecision(judge=ScriptedJudge(answer, language=language)).score(SAMPLE)
    assert [(verdict.value, verdict.code) for verdict in score.verdicts] == [(None, "wrong_data")] * 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_claims_of_the_example_are_no_claims(language: str) -> None:
    answer = copy_example(language, "claims")
    score = ContextRecall(judge=ScriptedJudge(answer, language=language), unit="claim").score(SAMPLE)
    assert score.value is None
    assert [verdict.code for verdict in score.verdicts] == ["wrong_data"]


@pytest.mark.parametrize("placeholder", ["...", "…", " . . . "])
def test_placeholder_decides_nothing(placeholder: str) -> None:
    reply = {
        "code": "$code",
        "sentences": {
            "s1": {**CELL, "missing": placeholder},
            "s2": {**CELL, "evidence": [{"context": "c1", "quote": placeholder, "whole": True}]},
        },
        "useful": {"c1": {"quote": placeholder, "useful": False}, "c2": {"quote": "", "useful": False}},
    }
    recall = ContextRecall(judge=ScriptedJudge({"joint": [reply]})).score(SAMPLE)
    assert [verdict.code for verdict in recall.verdicts] == ["wrong_data", "wrong_data"]
    precision = ContextPrecision(judge=ScriptedJudge({"joint": [reply]})).score(SAMPLE)
    assert [verdict.value for verdict in precision.verdicts] == [None, False]


def test_words_of_the_example_count_where_the_data_has_them() -> None:
    sample = replace(
        SAMPLE, retrieved_contexts=["We guarantee the pump for 36 months; register it online."]
    )
    evidence = [{"context": "c1", "quote": "guarantee the pump for 36 months", "whole": True}]
    reply = {
        "code": "$code",
        "sentences": {
            "s1": {**CELL, "evidence": evidence, "supported": True},
            "s2": {**CELL, "missing": "is free"},
        },
    }
    score = ContextRecall(judge=ScriptedJudge({"attribution": [reply]}, joint=False)).score(sample)
    assert [verdict.value for verdict in score.verdicts] == [True, False]


def judged(prompt: Prompt, reply: str, language: str) -> list[object]:
    """Return the verdicts that a judge takes from one reply to each request."""
    joint = prompt.step == "joint"
    judge = ScriptedJudge(lambda _: reply, joint=joint, language=language, reuse=False)
    if prompt.step == "claims":
        score = ContextRecall(judge=judge, unit="claim").score(SAMPLE)
    elif prompt.step == "usefulness":
        score = ContextPrecision(judge=judge).score(SAMPLE)
    else:
        score = ContextRecall(judge=judge).score(SAMPLE)
    return [verdict for verdict in score.verdicts if verdict.value is not None]
