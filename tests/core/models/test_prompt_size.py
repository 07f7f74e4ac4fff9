"""A prompt that the server cut is no judgement; and replies are bounded by what a complete one can have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ctxmetrics import ContextPrecision, ContextRecall, LLMJudge, OpenAIModel, Sample, evaluate
from ctxmetrics.errors import JudgeError
from ctxmetrics.judges.llm import judge as judges
from ctxmetrics.models import prompt_size
from ctxmetrics.models.base import Prompt
from ctxmetrics.models.openai import capabilities
from ctxmetrics.models.prompt_size import Tokenizer, least_tokens
from ctxmetrics.models.runtime import run
from ctxmetrics.models.runtime.background import run_sync
from ctxmetrics.prompts import get_pack, render, reply_schema
from ctxmetrics.verdicts import Usage
from support import FakeOpenAIServer, Reply, answer_from
from support.chat import InvalidRequestError
from support.later import skip_without

skip_without("openai")

METRICS = [ContextRecall(), ContextPrecision()]
LONG = "The committee published its report on the harbour in spring and the council read it. " * 400


@pytest.fixture(autouse=True)
def _new_process(monkeypatch):
    capabilities._known.clear()
    monkeypatch.setattr(run, "_process_run", run.Run())


def sample(number=0, text=LONG):
    return Sample(
        user_input=f"Which colour has door {number}?",
        reference=f"Door {number} is green.",
        retrieved_contexts=[f"Door {number} is green. {text}"],
    )


def counting(count):
    """A judge's server that counts the tokens of a prompt by a function."""
    answer = answer_from()

    def respond(request):
        return Reply(content=answer(request), usage={"completion_tokens": 9, **count(request.text)})

    return FakeOpenAIServer(respond)


def results_of(server, samples, **options):
    judge = LLMJudge(OpenAIModel("judge", base_url=server.base_url))
    return evaluate(samples, METRICS, judge=judge, progress=False, **options)


# ---- the least tokens of a text ----


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("abcdef" * 10, 10.0),
        ("абвг" * 21, 20.0),
        ("αβγδ" * 21, 20.0),
        ("漢字かな" * 11, 20.0),
        ("שלום" * 7, 8.0),
        ("สวยงาม" * 6, 10.0),
        ("한국어" * 6, 10.0),
        ("1234" * 5, 5.0),
        ("abc 123, " * 4, 2.0 + 3.0),
        ("." * 500 + " -_=|" * 90, 0.0),
        ("", 0.0),
    ],
)
def test_least_tokens(text, tokens):
    assert least_tokens(text) == pytest.approx(tokens)


def test_letters_of_an_indic_script_without_vowel_signs():
    assert least_tokens("नमन" * 16) == pytest.approx(48 / 3.2)


# ---- what the server counted ----


def test_a_prompt_that_was_cut_is_no_verdict_and_is_not_cached(tmp_path):
    with counting(lambda text: {"prompt_tokens": min(2048, len(text) // 4)}) as server:
        results = results_of(server, [sample()], cache=tmp_path)
        score = results[0]["context_recall"]
        assert score.value is None
        assert score.verdicts[0].code == "truncated_prompt"
        assert "2048 tokens" in score.verdicts[0].reason
        assert "num_ctx" in score.verdicts[0].reason
        assert results.stopped is None
    judges.forget()
    with counting(lambda text: {"prompt_tokens": len(text) // 4}) as mended:
        assert results_of(mended, [sample()], cache=tmp_path)[0]["context_recall"].value == 1.0


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 0},
        {"prompt_tokens": None},
        {"prompt_tokens": 500, "prompt_tokens_details": {"cached_tokens": 9000}},
        {"prompt_tokens": 500, "cache_read_input_tokens": 9000},
    ],
)
def test_counts_that_say_nothing(usage):
    with counting(lambda text: usage) as server:
        assert results_of(server, [sample()])[0]["context_recall"].value == 1.0


@pytest.mark.parametrize("text", ["." * 60_000, "----- | " * 7_000, " " * 50_000])
def test_ruled_lines_and_leaders_are_no_false_alarm(text):
    with counting(lambda prompt: {"prompt_tokens": 900}) as server:
        assert results_of(server, [sample(text=text)])[0]["context_recall"].value == 1.0


def test_short_requests_of_a_run_find_a_cut_to_a_half():
    """Half of the tokens of prose are more than the least that any tokenizer gives."""

    def count(text):
        tokens = len(text) // 4
        return {"prompt_tokens": tokens if len(text) < 8000 else int(tokens * 0.55)}

    samples = [*(sample(number, "It is old.") for number in range(8)), sample(8)]
    with counting(count) as server:
        results = results_of(server, samples, max_concurrency=1)
        assert [row["context_recall"].value for row in results] == [1.0] * 8 + [None]
        assert results[8]["context_recall"].verdicts[0].code == "truncated_prompt"


def test_short_latin_requests_say_nothing_about_other_scripts():
    tokenizer = Tokenizer()

    def check(data, counted):
        prompt = Prompt(step="joint", version="1", system="", user=data)
        tokenizer.check(prompt, Usage(calls=1, prompt_tokens=counted), 0)

    for _ in range(8):
        check("word " * 200, 250)
    check("漢字" * 6000, 6000)
    with pytest.raises(JudgeError, match="5000 tokens where the prompt has 5454"):
        check("漢字" * 6000, 5000)


# ---- the bound of a reply ----


def ask(server, model="judge", reply_tokens=300, **options):
    prompt = render(get_pack("en"), "joint", DATA)
    asked = OpenAIModel(model, base_url=server.base_url, **options)
    schema = reply_schema("joint", sentences=prompt.sentences, useful=prompt.useful)
    return run_sync(asked.generate, replace(prompt, reply_tokens=reply_tokens), schema)


DATA = {
    "question": "When?",
    "sentences": [{"id": "s1", "text": "It was built in 1889."}],
    "contexts": [{"id": "c1", "text": "They built it in 1889."}],
}


def test_a_reply_is_bounded_by_what_a_complete_one_can_have():
    with FakeOpenAIServer(answer_from()) as server:
        ask(server)
        ask(server, max_tokens=900)
        ask(server, reply_tokens=0)
        ask(server, "o3-mini")
        bodies = [request.body for request in server.requests]
    assert [body.get("max_tokens") for body in bodies] == [300, 900, None, None]
    assert "max_completion_tokens" not in bodies[3]


def test_a_reply_that_the_bound_cut_is_truncated():
    with FakeOpenAIServer(
        lambda request: Reply(content='{"code": "', finish_reason="length")
    ) as server:
        with pytest.raises(JudgeError) as caught:
            ask(server)
        assert caught.value.reason_code == "truncated"
        assert server.count == 1


@pytest.mark.parametrize("content", ["", "<think>First I look"])
def test_a_model_that_thinks_gets_no_bound(content):
    def respond(request):
        if "max_tokens" in request.body:
            return Reply(content=content, finish_reason="length")
        return answer_from()(request)

    with FakeOpenAIServer(respond) as server:
        assert ask(server).usage.calls == 2
        assert ask(server).usage.calls == 1
        assert "max_tokens" not in server.requests[-1].body


@pytest.mark.parametrize(
    ("message", "param"),
    [
        (
            "max_tokens is too large: 300. This model supports at most 200 completion tokens.",
            "max_tokens",
        ),
        ("`max_tokens` must be less than or equal to `200`", None),
        (
            (
                "This model's maximum context length is 1024 tokens. However, you requested 1124 tokens (824 in the "
                "messages, 300 in the completion). Please reduce the length of the messages or completion."
            ),
            None,
        ),
    ],
)
def test_a_bound_above_the_servers_own_is_left_out(message, param):
    def respond(request):
        if "max_tokens" in request.body:
            raise InvalidRequestError(message, param=param)
        return answer_from()(request)

    with FakeOpenAIServer(respond) as server:
        assert ask(server).usage.calls == 2
        assert ask(server).usage.calls == 1
        assert server.requests[-1].response_format == "json_schema"


@pytest.mark.parametrize(
    "text", ["plain words", "12 345 678", "가나다라 한글", "天気 です", "привет 12", "", "é" * 9]
)
def test_the_bound_is_never_below_the_tokens_of_a_text(text):
    assert prompt_size._upper_bound(text) >= least_tokens(text)
