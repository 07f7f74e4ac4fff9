"""The prompts as they are sent, to the letter: a change here must raise the pack's version."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ctxmetrics import LLMJudge
from ctxmetrics.errors import ParameterError
from ctxmetrics.judges.llm.encoding import ExchangeOutcome
from ctxmetrics.judges.llm.exchange import PromptedPart
from ctxmetrics.judges.llm.splitting import RequestPart
from ctxmetrics.judges.scripted import ScriptedModel
from ctxmetrics.models.runtime.background import run_sync
from ctxmetrics.prompts import Pack, get_pack, register_pack, render, reply_schema
from ctxmetrics.prompts.packs import _packs
from support.schema_limits import LIMITS, list_excesses, measure

SNAPSHOTS = Path(__file__).parent / "snapshots"
STEPS = ("claims", "attribution", "usefulness", "joint", "relevance")
DATA = {
    "question": "Wie lange?",
    "sentences": [{"id": "s1", "text": 'A "quoted" <|im_end|> text.\nSecond line.'}],
    "contexts": [{"id": "c1", "text": "Grüße 你好\u202e"}],
}


@pytest.mark.parametrize("language", ["en", "ru"])
@pytest.mark.parametrize("step", STEPS)
def test_rendered_prompt(step: str, language: str) -> None:
    data = {"text": "Sie läuft drei Jahre."} if step == "claims" else DATA
    prompt = render(get_pack(language), step, data)
    assert prompt.text == (SNAPSHOTS / f"{prompt.version}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("step", STEPS)
def test_the_example_reply_of_each_prompt_fits_its_own_schema(step: str) -> None:
    for language in ("en", "ru"):
        text = get_pack(language).texts[step]
        reply = json.loads(text[text.rindex("\n{") :])
        sentences = ["s1", "s2"] if step in {"joint", "attribution"} else []
        useful = ["c1", "c2"] if step in {"joint", "usefulness", "relevance"} else []
        form = "usefulness" if step == "relevance" else step
        schema = reply_schema(form, sentences=sentences, useful=useful)
        assert schema.model_validate(reply).model_dump(mode="json") == reply


def test_fixed_part_is_first_and_equal_for_every_sample() -> None:
    first, second = (
        render(get_pack("en"), "joint", {**DATA, "question": question}) for question in ("a", "b")
    )
    assert first.system == second.system
    assert first.text.startswith(first.system)
    assert first.user != second.user


def test_equal_data_gives_equal_prompts_and_other_data_a_nonce() -> None:
    assert render(get_pack("en"), "joint", DATA) == render(get_pack("en"), "joint", dict(DATA))
    nonces = {render(get_pack("en"), "joint", {**DATA, "question": q}).user.split()[2] for q in "abc"}
    assert len(nonces) == 3


def test_a_language_without_a_pack_is_asked_in_english() -> None:
    assert get_pack("tlh") is get_pack("en")
    assert get_pack("ru-RU") is get_pack("ru")


def test_packs_can_be_registered_and_must_be_whole() -> None:
    texts = dict(get_pack("en").texts)
    try:
        register_pack(Pack(language="xx", texts=texts, version=3, yes=frozenset({"oui"})))
        assert get_pack("xx").versions["joint"] == "joint-xx-3"
        assert {"oui", "yes", "true"} <= get_pack("xx").yes
    finally:
        _packs.pop("xx")
    del texts["relevance"]
    try:
        register_pack(Pack(language="xx", texts=texts, version=3))
        assert render(get_pack("xx"), "relevance", DATA).system == get_pack("en").texts["relevance"]
        assert get_pack("xx").versions["relevance"] == get_pack("en").versions["relevance"]
    finally:
        _packs.pop("xx")
    with pytest.raises(ParameterError, match="joint"):
        register_pack(Pack(language="xx", texts={**texts, "joint": ""}))


@pytest.mark.parametrize("step", STEPS)
def test_each_prompt_has_its_own_version_in_cache_keys(step: str) -> None:
    code = f"""
import sys
from ctxmetrics.prompts import packs
packs_of = [packs.get_pack(language) for language in ("en", "ru")]
for pack in packs_of:
    packs.register_pack(packs.Pack(language=pack.language, texts=pack.texts, version={{**packs.VERSIONS, "{step}": 7}}))
print(*(packs.get_pack(language).versions[step] for language in ("en", "ru") for step in sys.argv[1:]))
"""
    command = [sys.executable, "-c", code, *STEPS]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert found == [
        f"{name}-{language}-{7 if name == step else get_pack('en').versions[name].rpartition('-')[2]}"
        for language in ("en", "ru")
        for name in STEPS
    ]
    judge, pack, asked = LLMJudge(ScriptedModel({})), get_pack("en"), []

    async def ask(exchange: object) -> ExchangeOutcome:
        asked.append(exchange)
        return ExchangeOutcome(claims=("a",))

    prompt = render(pack, step, DATA)
    for one in (prompt, prompt, replace(prompt, version=f"{step}-en-7")):
        question = PromptedPart(RequestPart({}, {}), one)
        run_sync(judge._remembered, question, pack, ask)
    assert len(asked) == 2


def test_a_pack_with_a_version_for_some_prompts_only_is_refused() -> None:
    with pytest.raises(ParameterError, match="no version for: claims, usefulness"):
        register_pack(
            Pack(language="xx", texts=get_pack("en").texts, version={"joint": 2, "attribution": 1})
        )


def test_schemas_are_within_what_ten_providers_accept():
    """Joint: 3 + 12 + 20 keys, and written out once an id 12 x (3 + 3 of a piece of evidence) + 20 x 2."""
    figures = measure(sentences=12, contexts=20)
    assert len(LIMITS) == 10
    assert list_excesses(figures) == []
    assert figures["joint"]["properties, written out"] == 147
    larger = measure(sentences=12, contexts=80)
    assert list_excesses(larger) == ["Azure OpenAI: properties 103 (at most 100)"]
