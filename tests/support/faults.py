"""Faults that a judge's server commits on demand, as data.

A fault never changes anything at random: whether it hits follows from its seed and either the request's
place in the order of arrival or, when sticky, the request's text.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ctxmetrics.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from support.chat import Reply

TRANSPORT_FAULTS: tuple[str, ...] = (
    "429",
    "429_retry_after",
    "500",
    "503",
    "reset",
    "hang",
    "trickle",
    "cut_body",
    "html",
    "no_content",
)
"""Faults of the server or the connection; the responder's reply does not matter (but in "trickle")."""

HARMLESS = frozenset(
    {
        "trickle",
        "fence",
        "prose",
        "prose_brace",
        "think",
        "single_quotes",
        "string_bools",
        "extra_items",
    }
)
"""Slow, or unusual but clear: judged all the same."""

_REFUSAL = "I'm sorry, but I can't help with that request."
_ID = re.compile(r"[sc][0-9]+")
_PROSE = "The first statement is backed by the second passage; I could not find the others anywhere."


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to fail, and when.

    Attributes:
        kind: One of ``FAULTS``.
        rate: Share of the requests that are hit, 0 to 1.
        sticky: Decide by the request's first user message instead of its index, so that a request that is
            hit is hit again on every retry, also when the client asks again in the same conversation.
        every: Hit only the n-th, 2n-th, ... request.
        seed: Another seed hits other requests at the same rate.
        times: Stop after this many hits; when sticky, after this many hits of the same request.
        param: Seconds of "429_retry_after" and "trickle" (default 1), entries that "missing_items" drops
            from each list or object of entries (default 1).
        contains: Hit only requests whose messages contain this text.

    Raises:
        ParameterError: An unknown kind or a number out of its range.
    """

    kind: str
    rate: float = 1.0
    sticky: bool = False
    every: int | None = None
    seed: int = 0
    times: int | None = None
    param: float | None = None
    contains: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in FAULTS:
            near = difflib.get_close_matches(self.kind, FAULTS, n=1) or FAULTS
            raise ParameterError(
                f"Fault: unknown kind {self.kind!r}; did you mean {near[0]!r}? All: {', '.join(FAULTS)}"
            )
        if not 0 <= self.rate <= 1:
            raise ParameterError(f"Fault: rate is {self.rate!r}; write a share from 0 to 1")
        for name, number in (("every", self.every), ("times", self.times)):
            if number is not None and number < 1:
                raise ParameterError(
                    f"Fault: {name} is {number!r}; write a whole number from 1, or leave it out"
                )
        if self.param is not None and self.param < 0:
            raise ParameterError(f"Fault: param is {self.param!r}; write a number from 0")
        if self.sticky and self.every is not None:
            raise ParameterError(
                "Fault: sticky goes by the text and every by the order; write only one of them"
            )

    @property
    def amount(self) -> float:
        """``param``, or the 1 that stands for it."""
        return 1.0 if self.param is None else self.param

    def selects(self, index: int, text: str, key: str) -> bool:
        """Whether this fault is meant for a request, however often it has hit already.

        Args:
            index: The request's place in the order of arrival, from 0.
            text: All text of its messages.
            key: What makes two requests the same one when sticky.
        """
        if self.contains is not None and self.contains not in text:
            return False
        if self.every is not None and (index + 1) % self.every:
            return False
        drawn_from = f"{self.seed}\x00{self.kind}\x00{key if self.sticky else index}"
        return _share(drawn_from) < self.rate


class FaultPlan:
    """The faults of one server and how often each has hit; the first that hits a request is applied."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self._faults = tuple(faults)
        self._hits: Counter[tuple[int, str]] = Counter()

    def choose(self, index: int, text: str, key: str) -> Fault | None:
        """Pick the fault of a request and count it."""
        for place, fault in enumerate(self._faults):
            counter = (place, key if fault.sticky else "")
            spent = fault.times is not None and self._hits[counter] >= fault.times
            if not spent and fault.selects(index, text, key):
                self._hits[counter] += 1
                return fault
        return None

    def reset(self) -> None:
        """Forget all hits."""
        self._hits.clear()


def alter(fault: Fault, reply: Reply) -> Reply:
    """Apply a content fault to the responder's reply.

    A fault that finds nothing to spoil (no entry, no verdict, no id, no JSON) gives the reply unchanged.
    """
    if fault.kind in _REPLY_FAULTS:
        return _REPLY_FAULTS[fault.kind](reply)
    if reply.content is None:
        return reply
    if fault.kind in _TEXT_FAULTS:
        return replace(reply, content=_TEXT_FAULTS[fault.kind](reply.content))
    try:
        value = json.loads(reply.content)
    except ValueError:
        return reply
    spoiled = _JSON_FAULTS[fault.kind](value, fault)
    return reply if spoiled == value else replace(reply, content=_dumps(spoiled))


def _share(text: str) -> float:
    """A number in [0, 1) that follows from the text alone."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


# ---- faults of the text ----


def _think(text: str) -> str:
    """A draft that says the opposite comes first: whoever takes the first JSON object gets it wrong."""
    return f"<think>First guess: {_contradiction(text)}\nNo, that is not right.</think>\n\n{text}"


def _contradiction(text: str) -> str:
    """The reply with every verdict changed to its opposite."""
    try:
        return _dumps(_map_flags(json.loads(text), _opposite))
    except ValueError:
        return '{"draft": true}'


def _single_quotes(text: str) -> str:
    def requote(match: re.Match[str]) -> str:
        inner = match[1].replace('\\"', '"').replace("'", "\\'")
        return f"'{inner}'"

    return re.sub(r'"((?:[^"\\]|\\.)*)"', requote, text)


_TEXT_FAULTS: dict[str, Callable[[str], str]] = {
    "truncated_json": lambda text: text[: len(text) * 3 // 5],
    "fence": lambda text: f"```json\n{text}\n```",
    "prose": lambda text: f"Here is my judgement:\n\n{text}\n\nLet me know if you need anything else.",
    "prose_brace": lambda text: (
        f"I judged the set {{s1, s2}} as follows:\n\n{text}\n\nThe format was {{id, ...}}."
    ),
    "think": _think,
    "single_quotes": _single_quotes,
    "null_json": lambda _: "null",
}

# ---- faults of the whole reply ----

_REPLY_FAULTS: dict[str, Callable[[Reply], Reply]] = {
    "refusal_text": lambda reply: replace(reply, content=_REFUSAL, as_text=True),
    "refusal_field": lambda reply: replace(reply, content=None, refusal=_REFUSAL),
    "empty": lambda reply: replace(reply, content="", as_text=True),
    "null": lambda reply: replace(reply, content=None),
    "prose_only": lambda reply: replace(reply, content=_PROSE, as_text=True),
    "length": lambda reply: replace(
        reply, content=(reply.content or "")[: len(reply.content or "") // 2], finish_reason="length"
    ),
    "no_choices": lambda reply: replace(reply, no_choices=True),
    "two_choices": lambda reply: replace(reply, others=(_contradiction(reply.content or ""),)),
}

# ---- faults of the JSON value ----


def _flag(key: str, value: object) -> bool | None:
    """The verdict a value stands for: a boolean, or 0/1/yes/no where Ragas and DeepEval write verdicts."""
    if isinstance(value, bool):
        return value
    if key in {"verdict", "attributed"}:
        return {"1": True, "yes": True, "0": False, "no": False}.get(str(value).lower())
    return None


def _opposite(flag: bool, value: object) -> object:
    if isinstance(value, str):
        return "no" if flag else "yes"
    return (not flag) if isinstance(value, bool) else int(not flag)


def _map_flags(value: Any, change: Callable[[bool, object], object], key: str = "") -> Any:
    """The value with every verdict in it changed."""
    flag = _flag(key, value)
    if flag is not None:
        return change(flag, value)
    if isinstance(value, dict):
        return {name: _map_flags(item, change, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_map_flags(item, change, key) for item in value]
    return value


class _RepeatedKey(str):
    """A key that an object has already: a dictionary takes it for another one, and JSON text has it twice."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


def _has_ids(value: Any) -> bool:
    """Whether this is an object of entries by their id."""
    return isinstance(value, dict) and bool(value) and all(map(_ID.fullmatch, value))


def _map_entries(value: Any, change: Callable[[list[Any]], list[Any]]) -> Any:
    """The value with its outermost lists, and objects of entries by id, changed; what is within the entries stays.

    Entries of such an object are changed as pairs of id and entry.
    """
    if isinstance(value, list):
        return change(value)
    if _has_ids(value):
        return dict(change(list(value.items())))
    if isinstance(value, dict):
        return {name: _map_entries(item, change) for name, item in value.items()}
    return value


def _map_ids(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, tuple):
        return (change(value[0]), value[1])
    if _has_ids(value):
        return {change(name): item for name, item in value.items()}
    if isinstance(value, dict):
        return {
            name: change(item) if name == "id" and isinstance(item, str) else _map_ids(item, change)
            for name, item in value.items()
        }
    return [_map_ids(item, change) for item in value] if isinstance(value, list) else value


def _repeat_last(items: list[Any], change: Callable[[Any], Any]) -> list[Any]:
    """The entries, and the last one again, changed."""
    if not items:
        return items
    if isinstance(items[-1], tuple):
        name, entry = items[-1]
        return [*items, (_RepeatedKey(name), change(entry))]
    return [*items, change(items[-1])]


def _plus(amount: int) -> Callable[[str], str]:
    """Shift the number at the end of an id: s1 -> s2."""

    def shift(name: str) -> str:
        match = re.search(r"[0-9]+$", name)
        return f"{name[: match.start()]}{int(match[0]) + amount}" if match else f"{name}{amount}"

    return shift


def _drop_last(items: list[Any], amount: int) -> list[Any]:
    return items[: max(0, len(items) - amount)]


def _without_flags(value: Any) -> Any:
    """The value without its verdicts; where it has none, without the last field of each innermost object."""
    if _map_flags(value, _opposite) != value:
        return _map_objects(value, lambda item: {k: v for k, v in item.items() if _flag(k, v) is None})
    return _map_objects(
        value, lambda item: item if _has_objects(item) else dict(list(item.items())[:-1])
    )


def _map_objects(value: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """The value with every object in it changed, the innermost first."""
    if isinstance(value, list):
        return [_map_objects(item, change) for item in value]
    if isinstance(value, dict):
        return change({name: _map_objects(item, change) for name, item in value.items()})
    return value


def _has_objects(value: dict[str, Any]) -> bool:
    items = (
        item for field in value.values() for item in (field if isinstance(field, list) else [field])
    )
    return any(isinstance(item, dict) for item in items)


def _rename_keys(value: Any) -> Any:
    return (
        {f"my_{name}": item for name, item in value.items()}
        if isinstance(value, dict)
        else {"result": value}
    )


_JSON_FAULTS: dict[str, Callable[[Any, Fault], Any]] = {
    "missing_items": lambda value, fault: _map_entries(
        value, lambda items: _drop_last(items, int(fault.amount))
    ),
    "extra_items": lambda value, _: _map_entries(
        value, lambda items: items + _map_ids(items[-1:], _plus(9000))
    ),
    "duplicate_items": lambda value, _: _map_entries(
        value, lambda items: _repeat_last(items, lambda entry: entry)
    ),
    "conflicting_items": lambda value, _: _map_entries(
        value, lambda items: _repeat_last(items, lambda entry: _map_flags(entry, _opposite))
    ),
    "wrong_ids": lambda value, _: _map_ids(value, _plus(1)),
    "empty_lists": lambda value, _: _map_entries(value, lambda _items: []),
    "string_bools": lambda value, _: _map_flags(value, lambda flag, _value: "yes" if flag else "no"),
    "number_bools": lambda value, _: _map_flags(value, lambda flag, _value: 2 if flag else -1),
    "idk": lambda value, _: _map_flags(value, lambda _flag, _value: "idk"),
    "missing_fields": lambda value, _: _without_flags(value),
    "wrong_keys": lambda value, _: _rename_keys(value),
}

CONTENT_FAULTS: tuple[str, ...] = (*_TEXT_FAULTS, *_REPLY_FAULTS, *_JSON_FAULTS)
"""Faults of the reply's text; each works on any JSON reply with entries, verdicts and ids."""

FAULTS: tuple[str, ...] = (*TRANSPORT_FAULTS, *CONTENT_FAULTS)
"""All kinds of faults."""
