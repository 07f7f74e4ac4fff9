"""The class that is given to clients in place of a reply's schema."""

from __future__ import annotations

import pytest

from ctxmetrics.models.frameworks import any_reply, content_of, validated_texts
from ctxmetrics.prompts import reply_schema

SCHEMA = reply_schema("joint", sentences=["s1", "s2"], useful=["c1"])
ANY = any_reply(SCHEMA)


def test_it_is_sent_as_the_schema_is() -> None:
    assert ANY.__name__ == SCHEMA.__name__
    told = {"title": "JointReply", "description": "The reply."}
    assert ANY.model_json_schema() == {**SCHEMA.model_json_schema(), **told}
    assert any_reply(SCHEMA) is ANY


@pytest.mark.parametrize(
    "text",
    [
        '{"sentences": {}, "sentences": {"s1": 1}}',
        "no idea",
        "[]",
        "null",
        "",
        '{"_text": "x", "model_dump": 1}',
        "[" * 9999,
    ],
)
def test_the_text_is_kept_whatever_it_is(text: str) -> None:
    assert content_of(ANY.model_validate_json(text)) == text
    assert content_of(ANY.model_validate_json(text.encode())) == text


def test_no_value_of_an_object_is_changed() -> None:
    given = {"sentences": {"s1": {"supported": "on", "more": 1}}, "extra": 1}
    assert content_of(ANY(**given)) == given
    assert content_of(ANY.model_validate(given)) == given


def test_anything_else_is_left_as_it_is() -> None:
    assert [content_of(found) for found in ("text", None, {"a": 1})] == ["text", None, {"a": 1}]


def test_texts_are_collected_in_the_block_only() -> None:
    ANY.model_validate_json("before")
    with validated_texts() as texts:
        ANY.model_validate_json("a")
        ANY.model_validate_json("b")
    ANY.model_validate_json("after")
    assert texts == ["a", "b"]
