"""What a model replied: noted beside the judging, which it does not change."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ctxmetrics.judges.llm.parsing import UnreadableReplyError, parse
from ctxmetrics.models.base import Model, Prompt, Reply

if TYPE_CHECKING:
    from pydantic import BaseModel


_BLOCK = re.compile(r"^BEGIN DATA [0-9a-f]+\n(\{.*\})$", re.MULTILINE)
_LISTS = {
    "joint": ("sentences", "contexts"),
    "attribution": ("sentences",),
    "usefulness": ("contexts",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """One request and what was seen of its reply.

    Attributes:
        again: It was sent because an earlier reply was not enough.
        seconds: Until the reply.
        read: A JSON object could be read from the reply; None where there was no reply.
        echo: It repeats the code of the request.
        missing: Ids that were asked about and have no verdict in it.
        unknown: Ids in it that were not asked about.
        quotes: Quotes in it.
        verbatim: Those that stand word for word in the context they name.
    """

    again: bool
    seconds: float
    read: bool | None = None
    echo: bool = False
    missing: int = 0
    unknown: int = 0
    quotes: int = 0
    verbatim: int = 0


@dataclass(eq=False)
class WatchedModel:
    """A model that notes what it is asked and what it replies; everything else is the model's own.

    Attributes:
        model: The model.
        notes: One a request.
    """

    model: Model
    notes: list[Noted] = field(default_factory=list)

    @property
    def identity(self) -> str:
        """The model's."""
        return self.model.identity

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["model"], name)

    async def generate(self, prompt: Prompt, schema: type[BaseModel]) -> Reply:
        """Ask the model."""
        start = time.perf_counter()
        seen: Mapping[str, Any] = {}
        try:
            reply = await self.model.generate(prompt, schema)
            seen = _seen(prompt, reply) if isinstance(reply, Reply) and prompt.step in _LISTS else {}
            return reply
        finally:
            seconds = time.perf_counter() - start
            self.notes.append(Noted(again=prompt.attempt > 0, seconds=seconds, **seen))


def _seen(prompt: Prompt, reply: Reply) -> dict[str, Any]:
    lists = _LISTS[prompt.step]
    try:
        data = parse(reply, lists)
    except UnreadableReplyError:
        return {"read": False}
    asked = _asked(prompt)
    contexts = {item["id"]: item["text"] for item in asked.get("contexts", ())}
    wanted = {item["id"] for name in lists for item in asked.get(name, ())}
    entries = [entry for name in lists for entry in data.get(name) or () if isinstance(entry, dict)]
    given = {str(entry.get("id")).strip() for entry in entries}
    quotes = list(_quotes(entries))
    return {
        "read": True,
        "echo": str(data.get("data") or "").startswith(prompt.data_code),
        "missing": len(wanted - given),
        "unknown": len(given - wanted),
        "quotes": len(quotes),
        "verbatim": sum(quote in contexts.get(context, "") for context, quote in quotes),
    }


def _asked(prompt: Prompt) -> Mapping[str, Any]:
    found = _BLOCK.search(prompt.user)
    data: Mapping[str, Any] = json.loads(found[1]) if found else {}
    return data


def _quotes(entries: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the quotes of a reply, each with the id of the context it names."""
    for entry in entries:
        evidence = entry.get("evidence")
        items = evidence if isinstance(evidence, list) else []
        if isinstance(entry.get("quote"), str):
            items = [*items, {"context": entry.get("id"), "quote": entry["quote"]}]
        for item in items:
            if isinstance(item, dict) and isinstance(item.get("quote"), str) and item["quote"].strip():
                yield str(item.get("context")).strip(), item["quote"]
