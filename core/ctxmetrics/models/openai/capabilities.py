"""Learns which parameters and reply forms a server accepts, and remembers them for each endpoint and model.

For reasoning models some rules are known. All others are learned from answers with the status 400. A server refuses at once, so
the first request to a server is sent alone, and the other requests wait for its end, but not long.
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

# The forms in which a reply can be requested, the strictest first.
FORMS: tuple[Form, ...] = ("json_schema", "json_object", "text")
# Seconds to wait while another request finds out what the server takes. A server that has not refused by then is answering.
_DISCOVERY_SECONDS = 1.0
# Names of models that accept no temperature, and whose limit of tokens is called ``max_completion_tokens``: o3, gpt-5-mini.
_REASONING = re.compile(r"(?:^|/)(?:o\d(?![\w])|gpt-[5-9](?![\w.]*-chat))", re.IGNORECASE)
# The parameters of a request that a server may refuse.
_PARAMETERS = ("temperature", "seed", *WORDS["reply_bounds"])


class Capabilities:
    """The parameters and reply forms that one endpoint and model accepts.

    Args:
        model: The model's name.

    Attributes:
        refused: Names of parameters that are not sent; ``"system"`` for messages of that role.
        smallest_refused: By reply form, the size in characters of the smallest schema that was refused. 0 if the form was
            refused with any schema. The refusal of a large schema says nothing about smaller ones.
        bounded: Whether requests may limit the number of reply tokens. False for a reasoning model, and after the server
            refused such a limit.
        settled: Whether the server has accepted a request.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        is_reasoning_model = _REASONING.search(model) is not None
        self.refused: set[str] = set()
        if is_reasoning_model:
            self.refused |= {"temperature", "max_tokens"}
        self.bounded: bool = not is_reasoning_model
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
        self.settled = True  # so that no first request is sent alone again

    def form(self, wanted: Form | Literal["auto"], size: int = 0) -> Form:
        """Return the best form of reply that was not refused with a schema of this size.

        Args:
            wanted: The form that the caller requires, or ``"auto"``.
            size: Characters of the schema.
        """
        if wanted != "auto":
            return wanted
        for form in FORMS:
            smallest_refused_size = self.smallest_refused.get(form)
            if smallest_refused_size is None or size < smallest_refused_size:
                return form
        return "text"

    def refuse_form(self, form: str, size: int) -> None:
        """Remember that the server refused a form with a schema of this size; size 0 means with any schema."""
        if size < self.smallest_refused.get(form, size + 1):
            self.smallest_refused[form] = size
            self._log_refusal(f"{form} of {size} characters or more" if size else form)

    def _log_refusal(self, what: str) -> None:
        """Log once what the server does not take."""
        logging.getLogger("ctxmetrics").info(
            "%s: the server takes no %s; it is not sent any more", self._model, what
        )

    @asynccontextmanager
    async def discover(self) -> AsyncIterator[None]:
        """Send the first request alone, while the others wait for its end, but not long.

        The block sets `settled` when the server has accepted a request.
        """
        from anyio import move_on_after

        has_lock = False
        with move_on_after(_DISCOVERY_SECONDS):
            has_lock = await self._discovery.acquire()
        if has_lock and self.settled:  # another request was accepted meanwhile
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
        """Learn from a 400 which part of the request the server refuses; return whether a changed request can be sent.

        Args:
            error: The refusal; its fields are the server's, and untrusted.
            sent: The request's body that the server refused.
            size: Size of the reply's schema, in characters.
            fixed_form: Whether the caller requires this form of the reply.
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


def mentions_token_limit(error: BaseException) -> bool:
    """Whether a refusal says that the limit on reply tokens is too large."""
    parameter = getattr(error, "param", None)
    message = str(error).lower()
    if parameter in WORDS["reply_bounds"]:
        # The parameter itself is refused if the message says so; else only its value.
        return PATTERNS["refused"].search(message) is None
    says_too_large = PATTERNS["bound"].search(message) or PATTERNS["with_reply"].search(message)
    return parameter is None and says_too_large is not None


def next_form(error: BaseException, sent: Mapping[str, Any]) -> tuple[Form, Form] | tuple[None, None]:
    """Choose another form of the reply after a refusal whose text was not understood: its cause may be the schema of the reply.

    Args:
        error: The refusal.
        sent: The request body that was refused.

    Returns:
        The form that was sent, and the next form to try. Both are None if the refusal names another parameter as its cause.
    """
    response_format_sent = sent.get("response_format")
    parameter = str(getattr(error, "param", None) or "").partition(".")[0]
    names_other_parameter = parameter in {"model", "messages", *_PARAMETERS}
    if not isinstance(response_format_sent, dict) or names_other_parameter:
        return None, None
    position = FORMS.index(response_format_sent["type"])
    return FORMS[position], FORMS[position + 1]


def _refuses_form(error: BaseException) -> bool:
    """Whether a server refuses the form of the reply, whatever schema the form holds."""
    parameter = str(getattr(error, "param", None) or "").lower()
    says_form_refused = PATTERNS["refused_form"].search(str(error).lower()) is not None
    return says_form_refused and "schema" not in parameter


def _find_refused(error: BaseException, sent: Mapping[str, Any]) -> str | None:
    """Find the part of a request that a server refuses.

    Returns:
        The name of a parameter, the type of the reply form, ``"system"`` for that role, or None if it is unclear.
    """
    parameter = str(getattr(error, "param", None) or "").lower()
    message = f"{parameter} {getattr(error, 'code', None) or ''} {error}".lower()
    is_refusal = PATTERNS["refused"].search(message) is not None
    sent_parameters = [name for name in _PARAMETERS if name in sent]
    if is_refusal and parameter in sent_parameters:
        return parameter
    form_sent = sent.get("response_format")
    is_about_form = parameter.startswith("response_format") or PATTERNS["form"].search(message)
    if isinstance(form_sent, dict) and is_about_form:
        return str(form_sent["type"])
    for name in sent_parameters:
        if is_refusal and re.search(rf"\b{name}\b", message):
            return name
    is_about_roles = PATTERNS["role_rules"].search(message)
    if is_refusal and not is_about_roles:
        is_about_roles = PATTERNS["role"].search(message)
    if is_about_roles and sent["messages"][0]["role"] == "system":
        return "system"
    return None


# What is known about each server, by process, endpoint and model. A forked child must not wait for a request of its parent.
_known: dict[tuple[int, str, str], Capabilities] = {}


def capabilities_of(endpoint: str, model: str) -> Capabilities:
    """Return the record of an endpoint and model. Call it on the background loop only."""
    key = (os.getpid(), endpoint, model)
    return _known.get(key) or _known.setdefault(key, Capabilities(model))


@lru_cache(maxsize=256)
def response_format(model: type[BaseModel]) -> dict[str, Any]:
    """Return the field of a request that asks for JSON with exactly a reply's schema (`ctxmetrics.prompts`)."""
    return {
        "type": "json_schema",
        "json_schema": {"name": model.__name__, "strict": True, "schema": model.model_json_schema()},
    }


@lru_cache(maxsize=256)
def schema_size(model: type[BaseModel]) -> int:
    """Return the characters of a reply's schema."""
    return len(json.dumps(response_format(model)["json_schema"]["schema"]))
