"""What a foreign model object tells about itself: identity, usage, replies that its client gave up on."""

from __future__ import annotations

import gc
import math
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel, PrivateAttr, SecretStr

from ctxmetrics.errors import JudgeError
from ctxmetrics.models.base import check_finished, checked_usage
from ctxmetrics.models.frameworks import (
    describe,
    langchain_reply,
    token_usage,
    unread_reply,
)
from ctxmetrics.verdicts import Usage


class Client:
    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


def _identity(**attributes: Any) -> str:
    return describe("test", [Client(**{"model": "m", **attributes})])


# ---- identity ----


def test_class_name_address_and_parameters_are_told() -> None:
    llm = Client(model="m", client=Client(base_url="http://host:80/v1?key=1"), temperature=0.5)
    assert describe("test", [llm]).startswith("test:Client/m@host:80/v1 #")


@pytest.mark.slow
def test_the_identity_is_the_same_in_every_process() -> None:
    """A cache on disk is found again by it."""
    code = (
        "from types import SimpleNamespace\n"
        "from ctxmetrics.models.frameworks import describe\n"
        "print(describe('test', [SimpleNamespace(model='m', temperature=0.5, stop=['a', 'b'], args={'x': 1, 'y': 2})]))"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1
    assert seen.pop().startswith("test:SimpleNamespace/m #")


@pytest.mark.parametrize(
    "change",
    [
        {"temperature": 0.1},
        {"model": "n"},
        {"system_prompt": "Be strict."},
        {"model_args": {"top_p": 0.1}},
        {"stop": ["a", "b"]},
        {"max_tokens": 5},
        {"_seed": 5},
    ],
)
def test_what_changes_answers_changes_the_identity(change: dict[str, Any]) -> None:
    assert _identity(**change) != _identity()


@pytest.mark.parametrize(
    "change",
    [
        {"api_key": "sk-1"},
        {"openai_api_key": "sk-1"},
        {"token": "hf-1"},
        {"password": "p"},
        {"default_headers": {"authorization": "Bearer x"}},
        {"timeout": 5},
        {"request_timeout": 5},
        {"max_retries": 5},
        {"cache": {}},
        {"verbose": True},
        {"metadata": {"run": 1}},
        {"tags": ["a"]},
        {"lock": object()},
    ],
)
def test_secrets_and_what_changes_no_answer_do_not(change: dict[str, Any]) -> None:
    assert _identity(**change) == _identity()


def test_pydantic_objects_count_what_they_declare() -> None:
    class Declared(BaseModel):
        model: str = "m"
        temperature: float | None = None
        secret: SecretStr = SecretStr("sk-1")
        _worked_out: dict[str, Any] = PrivateAttr(default_factory=dict)

    one, other = Declared(), Declared()
    other.__dict__["_cached"] = {"a": 1}
    other._worked_out["b"] = 2
    assert describe("test", [one]) == describe("test", [other])
    assert describe("test", [Declared(temperature=0.1)]) != describe("test", [one])


def test_what_a_wrapper_sets_on_the_wrapped_is_left_out() -> None:
    def layers(**attributes: Any) -> list[Client]:
        return [Client(own=1), Client(**{"model": "m", **attributes})]

    skip = ("temperature",)
    assert describe("t", layers(temperature=1), skip=skip) == describe(
        "t", layers(temperature=2), skip=skip
    )
    assert describe("t", layers(temperature=1)) != describe("t", layers(temperature=2))
    assert describe("t", layers()).startswith("t:Client>Client/m")


def test_passwords_in_addresses_are_left_out() -> None:
    identity = describe("t", [Client(model="m", base_url="https://me:sk-1@host/v1")])
    assert "@host/v1" in identity
    assert "sk-1" not in identity


def test_nameless_objects_are_distinct_while_they_live() -> None:
    one, other = Client(), Client()
    assert describe("t", [one]) == describe("t", [one])
    assert describe("t", [one]) != describe("t", [other])
    assert describe("t", [one], name="n") == describe("t", [other], name="n")
    seen = {describe("t", [one]), describe("t", [other])}
    for _ in range(50):  # addresses come back; names do not
        fresh = Client()
        identity = describe("t", [fresh])
        assert identity not in seen
        seen.add(identity)
        del fresh
        gc.collect(0)


# ---- usage ----


@pytest.mark.parametrize(
    "counted",
    [
        {"input_tokens": 7, "output_tokens": 3},
        {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
        Client(prompt_tokens=7, completion_tokens=3),
    ],
)
def test_tokens_under_every_name(counted: object) -> None:
    usage = token_usage(counted, calls=2)
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (2, 7, 3)


@pytest.mark.parametrize("counted", [None, {}, object(), {"prompt_tokens": None}])
def test_tokens_that_were_not_counted_are_estimated(counted: object) -> None:
    usage = checked_usage(token_usage(counted), sent="12345678", received="1234")
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens, usage.estimated) == (
        1,
        2,
        1,
        True,
    )


NO_COUNTS = [math.nan, math.inf, "12", "", None, -1, True, 1.5, 10**400, [1], {}]


@pytest.mark.parametrize("wrong", NO_COUNTS, ids=lambda wrong: repr(wrong)[:8])
def test_what_is_no_count_or_cost_is_not_added_up(wrong: object) -> None:
    one = Usage(calls=wrong, prompt_tokens=wrong, completion_tokens=wrong, reused=wrong, cost=wrong)  # type: ignore[arg-type]  # what no count is
    usage = checked_usage(one, sent="12345678", received="1234")
    cost = 1.5 if wrong == 1.5 else None
    assert usage == Usage(calls=1, prompt_tokens=2, completion_tokens=1, cost=cost, estimated=True)


@pytest.mark.parametrize("wrong", [None, "usage", 3, {"calls": 1}, object()])
def test_what_is_no_usage_is_one_call(wrong: object) -> None:
    assert checked_usage(wrong, sent="1234", received="").calls == 1


def test_counts_that_are_right_stay() -> None:
    given = Usage(calls=2, prompt_tokens=7, completion_tokens=0, cost=0.25, reused=1)
    assert checked_usage(given, sent="12345678", received="") == given


def test_zero_tokens_of_a_text_are_not_counted() -> None:
    usage = checked_usage(Usage(calls=1), sent="12345678", received="1234")
    assert usage == Usage(calls=1, prompt_tokens=2, completion_tokens=1, estimated=True)
    usage = checked_usage(Usage(calls=1, prompt_tokens=9), sent="12345678", received="1234")
    assert usage == Usage(calls=1, prompt_tokens=9, completion_tokens=1, estimated=True)


# ---- replies ----


def _completion(**message: Any) -> Any:
    finish = message.pop("finish_reason", "stop")
    choice = SimpleNamespace(
        message=SimpleNamespace(**{"refusal": None, **message}), finish_reason=finish
    )
    return SimpleNamespace(choices=[choice])


def _error(completion: Any, cause: Exception | None = None, **attributes: Any) -> Exception:
    error = ValueError("no good")
    vars(error).update({"last_completion": completion, **attributes})
    error.__cause__ = cause
    return error


def test_a_reply_that_was_given_up_on_comes_back() -> None:
    error = _error(_completion(content="text"), n_attempts=3, total_usage=Client(prompt_tokens=9))
    reply = unread_reply(error)
    assert (reply.content, reply.usage.calls, reply.usage.prompt_tokens) == ("text", 3, 9)


def test_a_reply_by_tool_call_comes_back() -> None:
    calls = [SimpleNamespace(function=SimpleNamespace(arguments=text)) for text in ("one", "two")]
    assert unread_reply(_error(_completion(content=None, tool_calls=calls))).content == "one\ntwo"


@pytest.mark.parametrize("content", ["", None])
def test_an_empty_reply_is_a_reply(content: str | None) -> None:
    assert unread_reply(_error(_completion(content=content))).content == ""


def test_no_reply_raises_what_caused_it() -> None:
    cause = ConnectionError("gone")
    with pytest.raises(ConnectionError, match="gone"):
        unread_reply(_error(None, cause))
    with pytest.raises(ValueError, match="no good"):
        unread_reply(_error(SimpleNamespace(choices=[])))
    with pytest.raises(KeyError):
        unread_reply(KeyError("nothing of the kind"))


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"content": "x", "finish_reason": "length"}, "truncated"),
        ({"content": None, "refusal": "no"}, "refused"),
    ],
)
def test_cut_off_and_refused_are_told(message: dict[str, Any], code: str) -> None:
    with pytest.raises(JudgeError) as caught:
        unread_reply(_error(_completion(**message)))
    assert caught.value.reason_code == code


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS", "max_output_tokens"])
def test_length_limits_under_every_name(reason: str) -> None:
    with pytest.raises(JudgeError):
        check_finished(reason)


@pytest.mark.parametrize("reason", [None, "stop", "end_turn", "tool_calls", 5])
def test_other_ends_are_ends(reason: object) -> None:
    check_finished(reason)


def test_langchain_replies() -> None:
    message = SimpleNamespace(
        content="hi",
        additional_kwargs={},
        response_metadata={"finish_reason": "stop"},
        usage_metadata={"input_tokens": 4, "output_tokens": 2},
    )
    result = SimpleNamespace(
        generations=[[SimpleNamespace(text="hi", message=message)]], llm_output=None
    )
    reply = langchain_reply(result)
    assert (reply.content, reply.usage.total_tokens) == ("hi", 6)
    plain = SimpleNamespace(
        generations=[[SimpleNamespace(text="hi")]], llm_output={"token_usage": {"prompt_tokens": 5}}
    )
    assert langchain_reply(plain).usage.prompt_tokens == 5
    message.additional_kwargs["refusal"] = "no"
    with pytest.raises(JudgeError, match="refused"):
        langchain_reply(result)


def test_several_choices_where_one_was_asked_for_are_no_reply() -> None:
    two = SimpleNamespace(
        generations=[[SimpleNamespace(text="a"), SimpleNamespace(text="b")]], llm_output=None
    )
    with pytest.raises(JudgeError, match="2 choices where 1") as caught:
        langchain_reply(two)
    assert caught.value.reason_code == "invalid_reply"
    assert langchain_reply(two, expected=2).content == "a"
    with pytest.raises(JudgeError, match="no choices"):
        langchain_reply(SimpleNamespace(generations=[[]], llm_output=None))
