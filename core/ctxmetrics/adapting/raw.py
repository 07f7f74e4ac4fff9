"""The raw text of a reply, where a client validates it against the schema that it was given."""

from __future__ import annotations

import json
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import BaseModel


_validated: ContextVar[list[str]] = ContextVar("ctxmetrics_validated")


@contextmanager
def validated_texts() -> Iterator[list[str]]:
    """Collect the texts that clients validate in the block: OpenAI's client validates every choice of an answer."""
    texts: list[str] = []
    token = _validated.set(texts)
    try:
        yield texts
    finally:
        _validated.reset(token)


@cache
def any_reply(schema: type[BaseModel]) -> type[BaseModel]:
    """Return a class to give to a client in place of a reply's schema.

    The client sends it as it would send the schema: name and JSON schema are the same. But it takes any reply, changes
    no value (a pydantic boolean takes "on" and 1), and what was validated from text keeps the text. So the judge reads
    what the model wrote, and a client never asks again on its own about a reply that does not fit.

    Args:
        schema: The schema of a reply.
    """
    from pydantic import BaseModel, ConfigDict, PrivateAttr, create_model

    class AnyReply(BaseModel):
        model_config = ConfigDict(extra="allow")

        _text: str | None = PrivateAttr(None)

        @classmethod
        def model_json_schema(cls, *args: Any, **options: Any) -> dict[str, Any]:
            return schema.model_json_schema(*args, **options)

        @classmethod
        def model_validate_json(cls, json_data: str | bytes | bytearray, **_: Any) -> AnyReply:
            text = json_data if isinstance(json_data, str) else json_data.decode(errors="replace")
            found = cls.model_validate(_object_in(text))
            found._text = text  # noqa: SLF001 - its own
            _validated.get([]).append(text)
            return found

    fields: dict[str, Any] = dict.fromkeys(schema.model_fields, (Any, None))
    return create_model(schema.__name__, __base__=AnyReply, **fields)


def content_of(found: Any) -> Any:
    """Return what an object of `any_reply` was made from: the text, else its fields; anything else as it is."""
    if not hasattr(type(found), "model_validate_json"):
        return found
    text = getattr(found, "_text", None)
    return found.model_dump(exclude_unset=True) if text is None else text


def _object_in(text: str) -> Mapping[str, Any]:
    """Return the JSON object that a text is, for code that looks at the fields; empty where it is none."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
