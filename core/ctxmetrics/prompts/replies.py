"""The replies to the prompts: one schema a step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from ctxmetrics.prompts.texts import Step


class ReplyModel(BaseModel, extra="forbid"):
    """A JSON object of a reply.

    Its JSON schema is the same for every request: every key is required, in the order of the fields, and none has a
    default. A model writes from left to right, so the evidence stands before the verdict that follows from it. A reply
    may leave out a key that can be null: that is for the reader of the reply, not for the schema.
    """

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        schema: dict[str, Any] = handler.resolve_ref_schema(handler(core))
        for notes in (schema, *schema["properties"].values()):
            for key in ("title", "description", "default"):
                notes.pop(key, None)
        schema["required"] = list(schema["properties"])
        return schema


class ClaimsReply(ReplyModel):
    """The reply to the decomposition."""

    data: str = ""
    claims: list[str]


class EvidenceReply(ReplyModel):
    """Words copied from one context."""

    context: str
    quote: str
    whole: bool = False


class SentenceReply(ReplyModel):
    """The verdict on one unit."""

    id: str
    evidence: tuple[EvidenceReply, ...] = ()
    missing: str | None = None
    supported: bool


class ContextReply(ReplyModel):
    """The verdict on one context."""

    id: str
    quote: str | None = None
    useful: bool


class AttributionReply(ReplyModel):
    """The reply to the attribution."""

    data: str = ""
    sentences: list[SentenceReply]


class UsefulnessReply(ReplyModel):
    """The reply to the question of usefulness."""

    data: str = ""
    contexts: list[ContextReply]


class JointReply(AttributionReply):
    """The reply to the joint judgement."""

    contexts: list[ContextReply]


# The schema of a step's reply.
SCHEMAS: Mapping[Step, type[BaseModel]] = {
    "claims": ClaimsReply,
    "attribution": AttributionReply,
    "usefulness": UsefulnessReply,
    "joint": JointReply,
}
