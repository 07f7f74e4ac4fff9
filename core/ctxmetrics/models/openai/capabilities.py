"""What a server takes, learned from its answers and remembered, one record an endpoint and model.

Some known rules come first (reasoning models); everything else is learned from the server's 400. A refusal comes at
once, so the first requests to a server share one discovery: the others wait for it, but not long.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel

from ctxmetrics.models.server_words import PATTERNS, WORDS

Form = Literal["json_schema", "json_object", "text"]

# How a reply can be asked for, best first.
FORMS: tuple[Form, ...] = ("json_schema", "json_object", "text")
# Seconds to wait while another request finds out: a server that has not refused by then is answering.
_DISCOVERY_SECONDS = 1.0
# Names of models that take no temperature and count tokens as ``max_completion_tokens``.
_REASONING = re.compile(r"(?:^|/)(?:o\d(?![\w])|gpt-[5-9](?![\w.]*-chat))", re.IGNORECASE)
# The parameters of a request that a server may refuse.
_PARAMETERS = ("temperature", "seed", *WORDS["reply_bounds"])


class Capabilities:
    """What one endpoint and model takes.

    Args:
        model: The model's name.

    Attributes:
        refused: Names of parameters that are not sent; ``"system"`` for messages of that role.
        smallest_refused: By form, the size of the smallest schema that was refused in it; 0 if the form itself was refused.
            The refusal of a large schema says nothing about smaller ones.
        bounded: Whether requests may limit the tokens of a reply to those of a complete one. Not for a model that thinks, and
            not after its server refused such a limit.
        settled: Whether the server has accepted a request.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        thinks = _REASONING.search(model) is not None
        self.refused: set[str] = set()
        if thinks:
            self.refused |= {"temperature", "max_tokens"}
        self.bounded: bool = not thinks
        self.smallest_refused: dict[str, int] = {}
        self.settled: bool = False
        self._discovery = asyncio.Lock()

    def to_dict(self) -> dict[str, Any]:
        """Return what was learned, for another process."""
        return {
            "refused": sorted(self.refused),
            "smallest_refused": self.smallest_refused,
            "bounded": self.bounded,
        }

    def restore(self, learned: Mapping[str, Any]) -> None:
        """Add what another process has learned (`to_dict`)."""
        self.refused |= set(learned["refused"])
        self.smallest_refused.update(learned["smallest_refused"])
        if not learned["bounded"]:
            self.bounded = False
        self.settled = True  # so that no request is sent alone first to find this out again

    def form(self, wanted: Form | Literal["auto"], size: int = 0) -> Form:
        """Return how to ask for a reply whose schema has this size, in characters."""
        if wanted != "auto":
            return wanted
        for form in FORMS:
            smallest = self.smallest_refused.get(form)
            if smallest is None or size < smallest:
                return form
        return "text"

    def refuse_form(self, form: str, size: int) -> None:
        """Remember that a form was refused with a schema of this size; 0: with any."""
        if size < self.smallest_refused.get(form, size + 1):
            self.smallest_refused[form] = size
            self._log_refusal(f"{form} of {size} characters or more" if size else form)

    def _log_refusal(self, what: str) -> None:
        """Log once what the server does not take."""
        logging.getLogger("ctxmetrics").info(
            "%s: the server takes no %s; it is not sent any more", self._model, what
        )

    @asynccontextmanager
    async def finding_out(self) -> AsyncIterator[None]:
        """Let the first request go alone, while the others wait for it, but not long.

        The block sets `settled` when the server has accepted a request.
        """
        from anyio import move_on_after

        has_lock = False
        with move_on_after(_DISCOVERY_SECONDS):
            has_lock = await self._discovery.acquire()
        if has_lock and self.settled:  # another request has found out meanwhile
            self._discovery.release()
            has_lock = False
        try:
            yield
        finally:
            if has_lock:
                self._discovery.release()

    def learn(
        self, error: BaseException, sent: Mapping[str, Any], *, size: int, fixed_form: bool
    ) -> bool:
        """Learn from a 400 what not to send again; return whether there is anything to send differently.

        Args:
            error: The refusal; its fields are the server's, and untrusted.
            sent: The body that was refused.
            size: Size of the reply's schema, in characters.
            fixed_form: Whether the caller insists on the form of the reply.
        """
        name = _find_refused(error, sent)
        if name is None:
            return False
        if name in FORMS:
            if not fixed_form:
                self.refuse_form(name, 0 if _refuses_form(error) else size)
            return not fixed_form
        if name not in self.refused:
            self.refused.add(name)
            self._log_refusal(name)
        return True


def names_bound(error: BaseException) -> bool:
    """Whether a refusal is about the size of the limit of the reply's tokens."""
    param = getattr(error, "param", None)
    if param in WORDS["reply_bounds"]:
        return PATTERNS["refused"].search(str(error).lower()) is None
    text = str(error).lower()
    too_large = PATTERNS["bound"].search(text) or PATTERNS["with_reply"].search(text)
    return param is None and too_large is not None


def next_form(error: BaseException, sent: Mapping[str, Any]) -> tuple[Form, Form] | tuple[None, None]:
    """Return the form that was sent and the form to try next, after a refusal that was not understood.

    The schema of the reply may be the cause. If the refusal names another parameter, it is not: then both are None.

    Args:
        error: The refusal.
        sent: The body that was refused.
    """
    form = sent.get("response_format")
    param = str(getattr(error, "param", None) or "")
    if not isinstance(form, dict) or param.partition(".")[0] in {"model", "messages", *_PARAMETERS}:
        return None, None
    position = FORMS.index(form["type"])
    return FORMS[position], FORMS[position + 1]


def _refuses_form(error: BaseException) -> bool:
    """Whether a refusal is of the form itself, with any schema."""
    param = str(getattr(error, "param", None) or "").lower()
    return PATTERNS["refused_form"].search(str(error).lower()) is not None and "schema" not in param


def _find_refused(error: BaseException, sent: Mapping[str, Any]) -> str | None:
    """Find what a server refuses of a request: a parameter, the form of the reply, or the role ``system``; None if unclear."""
    param = str(getattr(error, "param", None) or "").lower()
    text = f"{param} {getattr(error, 'code', None) or ''} {error}".lower()
    is_refusal = PATTERNS["refused"].search(text) is not None
    sent_parameters = [name for name in _PARAMETERS if name in sent]
    if is_refusal and param in sent_parameters:
        return param
    form = sent.get("response_format")
    about_form = param.startswith("response_format") or PATTERNS["form"].search(text)
    if isinstance(form, dict) and about_form:
        return str(form["type"])
    for name in sent_parameters:
        if is_refusal and re.search(rf"\b{name}\b", text):
            return name
    about_roles = PATTERNS["role_rules"].search(text)
    if is_refusal and not about_roles:
        about_roles = PATTERNS["role"].search(text)
    if about_roles and sent["messages"][0]["role"] == "system":
        return "system"
    return None


# By process, endpoint and model: a forked child must not wait for a discovery of its parent.
_known: dict[tuple[int, str, str], Capabilities] = {}


def capabilities_of(endpoint: str, model: str) -> Capabilities:
    """Return the record of an endpoint and model. Call it on the background loop only."""
    key = (os.getpid(), endpoint, model)
    return _known.get(key) or _known.setdefault(key, Capabilities(model))


@lru_cache(maxsize=256)
def response_format(model: type[BaseModel]) -> dict[str, Any]:
    """Return the field of a request that asks for JSON of a reply's schema, as `ctxmetrics.prompts` has them: strict."""
    return {
        "type": "json_schema",
        "json_schema": {"name": model.__name__, "strict": True, "schema": model.model_json_schema()},
    }


@lru_cache(maxsize=256)
def schema_size(model: type[BaseModel]) -> int:
    """Return the characters of a reply's schema."""
    return len(json.dumps(response_format(model)["json_schema"]["schema"]))
