"""The schemas of the replies to the prompts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, GetJsonSchemaHandler, create_model
from pydantic_core import CoreSchema

# The classes of the verdicts on contexts and on sentences. Their names are short because the schema repeats them for each id.
_VERDICT_NAMES = ("C", "S")
# The number of schemas that are kept. A request has its own schema, by its numbers of sentences and contexts.
_SCHEMAS_KEPT = 256


class ReplyModel(BaseModel, extra="forbid"):
    """A JSON object of a reply.

    Its JSON schema requires every key, in the order of the fields, without defaults. A model writes from left to right, so the
    evidence stands before the verdict that follows from it, also if the keys are sorted. The reader of a reply accepts a missing key
    whose value may be empty; the schema does not.
    """

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        schema: dict[str, Any] = handler.resolve_ref_schema(handler(core))
        for part in (schema, *schema["properties"].values()):
            for key in ("title", "description", "default"):
                part.pop(key, None)
        schema["required"] = list(schema["properties"])
        return schema


class KeyedReply(ReplyModel):
    """A reply with a key for each id. Its schema defines the two kinds of verdicts once, and refers to them at each id."""

    @classmethod
    def model_json_schema(cls, *args: Any, **options: Any) -> dict[str, Any]:
        """Return the JSON schema; see `pydantic.BaseModel.model_json_schema`."""
        schema = super().model_json_schema(*args, **options)
        definitions = schema.pop("$defs")
        verdicts = {name: definitions[name] for name in _VERDICT_NAMES if name in definitions}
        return _inline({"$defs": verdicts, **schema}, definitions)  # type: ignore[no-any-return]  # an object stays one


def _inline(node: Any, definitions: dict[str, Any]) -> Any:
    """Put each definition in the place of its reference, except those of the verdicts."""
    if isinstance(node, list):
        return [_inline(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    name = str(node.get("$ref", "")).removeprefix("#/$defs/")
    if name in definitions and name not in _VERDICT_NAMES:
        return _inline(definitions[name], definitions)
    return {key: _inline(item, definitions) for key, item in node.items()}


class Evidence(ReplyModel):
    """Words copied from one context."""

    context: str
    quote: str
    whole: bool = False


class S(ReplyModel):
    """The verdict on one unit."""

    evidence: list[Evidence] = []
    missing: str = ""
    supported: bool


class C(ReplyModel):
    """The verdict on one context."""

    quote: str = ""
    useful: bool


class ClaimsReply(ReplyModel):
    """The reply to the decomposition."""

    code: str = ""
    claims: list[str]


_NAMES = {"attribution": "AttributionReply", "usefulness": "UsefulnessReply", "joint": "JointReply"}


@lru_cache(maxsize=_SCHEMAS_KEPT)
def _build_keyed_reply(
    step: str, sentences: tuple[str, ...], useful: tuple[str, ...]
) -> type[BaseModel]:
    """Build the schema of a reply with a key for each id."""
    # A field of Pydantic is a type with a default. "..." as the default makes the field required.
    parts: dict[str, Any] = {"code": (str, "")}
    if sentences:
        parts["sentences"] = (_build_verdicts("Sentences", S, sentences), ...)
    if useful:
        parts["useful"] = (_build_verdicts("Useful", C, useful), ...)
    return create_model(_NAMES[step], __base__=KeyedReply, __doc__="A reply keyed by ids.", **parts)


@lru_cache(maxsize=_SCHEMAS_KEPT)
def _build_verdicts(name: str, verdict: type[ReplyModel], ids: tuple[str, ...]) -> type[ReplyModel]:
    """Build the schema of the verdicts of one kind. Replies with the same ids of this kind share it."""
    verdicts: dict[str, Any] = dict.fromkeys(ids, (verdict, ...))
    return create_model(name, __base__=ReplyModel, **verdicts)


def reply_schema(
    step: str, *, sentences: Sequence[str] = (), useful: Sequence[str] = ()
) -> type[BaseModel]:
    """Return the class of the reply to one request: each id that is asked about is a required key.

    Args:
        step: The question.
        sentences: Ids of the units that need a verdict.
        useful: Ids of the contexts that need a verdict.

    Examples:
        >>> reply_schema("joint", sentences=["s1"], useful=["c1"]).model_json_schema()["required"]
        ['code', 'sentences', 'useful']
    """
    if step == "claims":
        return ClaimsReply
    return _build_keyed_reply(step, tuple(sentences), tuple(useful))
