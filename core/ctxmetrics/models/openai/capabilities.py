"""What a server takes, learned from its answers and remembered, one record an endpoint and model.

Some known rules come first (reasoning models); everything else is learned from the server's 400. A refusal comes at
once, so the first requests to a server share one discovery: the others wait for it, but not long.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel

Form = Literal["json_schema", "json_object", "text"]

# How a reply can be asked for, best first.
FORMS: tuple[Form, ...] = ("json_schema", "json_object", "text")
# Seconds to wait while another request finds out: a server that has not refused by then is answering.
_SHARE = 1.0
# Names of models that take no temperature and count tokens as ``max_completion_tokens``.
_REASONING = re.compile(r"(?:^|/)(?:o\d(?![\w])|gpt-[5-9](?![\w.]*-chat))", re.IGNORECASE)
_PARAMETERS = ("temperature", "seed", "max_tokens", "max_completion_tokens")
_REFUSED = re.compile(
    r"unsupported|not.{0,20}support|unrecogni[sz]ed|unknown|unexpected|\bextra\b|extra_forbidden"
    r"|not (?:permitted|allowed|available)|forbidden|only \S+ is allowed|only the default|deprecated|cannot be used"
)
_FORM_WORDS = re.compile(
    r"response_?format|json_schema|json_object|json mode|structured output|guided|grammar"
)
_ROLE_WORDS = re.compile(r"role.{0,40}system|system.{0,40}(?:role|message|prompt)|\.role\b")
_ROLE_RULES = re.compile(r"only user,? and assistant roles|roles must alternate")


class Capabilities:
    """What one endpoint and model takes.

    Args:
        model: The model's name.

    Attributes:
        refused: Names of forms and parameters that are not sent; ``"system"`` for messages of that role.
        settled: Whether the server has taken what was sent.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self.refused: set[str] = {"temperature", "max_tokens"} if _REASONING.search(model) else set()
        self.settled = False
        self._discovery = asyncio.Lock()

    def form(self, wanted: Form | Literal["auto"]) -> Form:
        """Return how to ask for the reply."""
        if wanted != "auto":
            return wanted
        return next(form for form in FORMS if form == "text" or form not in self.refused)

    @asynccontextmanager
    async def finding_out(self) -> AsyncIterator[None]:
        """Let the first request go alone, until the server has answered one; the body sets `settled` then."""
        from anyio import move_on_after

        alone = False
        with move_on_after(_SHARE):
            alone = await self._discovery.acquire()
        if alone and self.settled:
            self._discovery.release()
            alone = False
        try:
            yield
        finally:
            if alone:
                self._discovery.release()

    def learn(self, error: BaseException, sent: Mapping[str, Any], *, fixed_form: bool) -> bool:
        """Learn from a 400 what not to send again; return whether there is anything to send differently.

        Args:
            error: The refusal; its fields are the server's, and untrusted.
            sent: The body that was refused.
            fixed_form: Whether the caller insists on the form of the reply.
        """
        name = _lesson(error, sent)
        if name is None or (fixed_form and name in FORMS):
            return False
        if name not in self.refused:
            self.refused.add(name)
            logging.getLogger("ctxmetrics").info(
                "%s: the server takes no %s; it is not sent any more", self._model, name
            )
        return True


def _lesson(error: BaseException, sent: Mapping[str, Any]) -> str | None:
    """Return the name of what a server refuses, if that is what its error says."""
    param = str(getattr(error, "param", None) or "").lower()
    text = f"{param} {getattr(error, 'code', None) or ''} {error}".lower()
    refusing = _REFUSED.search(text) is not None
    names = [name for name in _PARAMETERS if refusing and name in sent]
    if param in names:
        return param
    form = sent.get("response_format")
    if isinstance(form, dict) and (param.startswith("response_format") or _FORM_WORDS.search(text)):
        return str(form["type"])
    if named := next((name for name in names if re.search(rf"\b{name}\b", text)), None):
        return named
    about_roles = (refusing and _ROLE_WORDS.search(text)) or _ROLE_RULES.search(text)
    return "system" if about_roles and sent["messages"][0]["role"] == "system" else None


# By process, endpoint and model: a forked child must not wait for a discovery of its parent.
_known: dict[tuple[int, str, str], Capabilities] = {}


def capabilities_of(endpoint: str, model: str) -> Capabilities:
    """Return the record of an endpoint and model. Call it on the background loop only."""
    key = (os.getpid(), endpoint, model)
    return _known.get(key) or _known.setdefault(key, Capabilities(model))


@lru_cache(maxsize=64)
def response_format(model: type[BaseModel]) -> dict[str, Any]:
    """Return the field of a request that asks for JSON of a reply's schema, as `ctxmetrics.prompts` has them: strict."""
    return {
        "type": "json_schema",
        "json_schema": {
            "name": model.__name__,
            "strict": True,
            "schema": model.model_json_schema(),
        },
    }
