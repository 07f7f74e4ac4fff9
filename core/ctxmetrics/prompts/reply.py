"""What the schemas of all replies have in common."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, GetJsonSchemaHandler
from pydantic_core import CoreSchema


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
