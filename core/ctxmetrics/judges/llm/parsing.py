"""Reads a model's reply as JSON. A reply is untrusted: a reply that could mean two things is not used."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ctxmetrics._secrets import masked
from ctxmetrics.errors import JudgeError
from ctxmetrics.models.base import Reply

_THOUGHT_END = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_BEGINS_THINKING = re.compile(r"\s*<(?:think|thinking|reasoning)>", re.IGNORECASE)
_THOUGHT_EDGE = re.compile(r"</?(?:think|thinking|reasoning)>", re.IGNORECASE)
_STOP = re.compile(rf"\{{|{_THOUGHT_EDGE.pattern}", re.IGNORECASE)
_FENCE = re.compile(r"```[^\n`]*\n")
_VERDICT = re.compile(r"\b(?:supported|useful)['\"]?\s*:")
_LONGEST_REPLY = 2_000_000
# The most characters for json-repair: on some texts its time grows with their square.
_LONGEST_MENDED = 16_000
_MOST_FAILURES, _MOST_TRIES = 200, 1000
NOT_JSON = "Your last reply was no JSON object of the form shown. Reply with that JSON object and nothing else."


class UnreadableReplyError(JudgeError):
    """A reply without a usable answer; ``note`` is the message to the model about what was wrong."""

    code = "unreadable_reply"

    def __init__(self, note: str, reason_code: str = "invalid_reply") -> None:
        super().__init__(note, reason_code=reason_code)
        self.note = note


class WrongDataError(UnreadableReplyError):
    """A reply that does not repeat the code of its request, and does not show otherwise that it belongs to it.

    Args:
        code: The code that it should have repeated.
    """

    def __init__(self, code: str) -> None:
        super().__init__(
            f"Your last reply was about other data. The code of this data is {code}.",
            "wrong_data",
        )


def parse(reply: Reply, keys: Sequence[str], *, code: str = "") -> Mapping[str, Any]:
    """Return the one JSON object that a reply means.

    Fences, prose around the object and think-blocks are taken off; small errors (trailing commas,
    single quotes) are repaired where the object is complete. A reply that could mean two things, or was
    cut off, is not used: it may quote a text that looks like a reply.

    Args:
        reply: The model's reply.
        keys: The keys the object should have, each with an object; ``claims`` with a list. An object without one of
            them is taken where no other has more: what it lacks is missing.
        code: The code of the request. Some servers put the request before the reply: what follows it is the reply.

    Raises:
        UnreadableReplyError: There is no such object, or more than one.
    """
    data: Any = reply.content
    if isinstance(data, str):
        text = _after_request(data, code)[:_LONGEST_REPLY]
        found, around = _objects(text, keys)
        if found:
            most = max(_count_parts(item, keys) for item in found)
            best = [item for item in found if _count_parts(item, keys) == most]
            # Otherwise the object stands inside another answer, or beside one.
            alone = not re.search(rf"['\"](?:{'|'.join(keys)})['\"]\s*:", around)
            data = best[0] if alone and all(other == best[0] for other in best) else None
        else:
            data = _mended(text, keys)
    elif hasattr(data, "model_dump"):
        data = data.model_dump()
    if not _count_parts(data, keys) or any(
        data.get(key) is not None and not _is_part(data[key], key) for key in keys
    ):
        raise UnreadableReplyError(NOT_JSON)
    return data  # type: ignore[no-any-return]  # a mapping: it has parts under keys


def parse_claims(
    reply: Reply, code: str, *, text: str = "", examples: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the claims of a decomposition, with keys masked: a server may repeat them in a reply.

    Args:
        reply: The model's reply.
        code: The code that it must repeat.
        text: The text that was broken into claims.
        examples: Texts of the prompt's examples, in lower case.

    Raises:
        WrongDataError: It does not, or it holds a text of the examples.
        UnreadableReplyError: There is none, or something else than texts among them.
    """
    data = parse(reply, ("claims",), code=code)
    echo = data.get("code")
    if not isinstance(echo, str) or not echo.strip().startswith(code):
        raise WrongDataError(code)
    found = data["claims"]
    if not found or not all(isinstance(claim, str) and claim.strip() for claim in found):
        raise UnreadableReplyError("Give at least one claim, and each as a string that is not empty.")
    claims = [claim.strip() for claim in found]
    if any(claim.casefold() in examples and claim not in text for claim in claims):
        raise WrongDataError(code)
    return tuple(map(masked, claims))


def _after_request(text: str, code: str) -> str:
    """Return what follows the data block of the request, where the text repeats it."""
    ends = list(re.finditer(rf"END DATA {code}[0-9a-f]{{16}}", text)) if code else []
    return text[ends[-1].end() :] if ends else text


def _is_part(value: Any, key: str) -> bool:
    return isinstance(value, (list, tuple) if key == "claims" else Mapping)


def _count_parts(data: Any, keys: Sequence[str]) -> int:
    """Count the keys that have what belongs there; 0 for what is no object."""
    if not isinstance(data, Mapping):
        return 0
    return sum(_is_part(data.get(key), key) for key in keys)


def _objects(text: str, keys: Sequence[str]) -> tuple[list[Any], str]:
    """Return every object with the keys that stands in the text after the thinking, the outermost only; and the rest.

    Where thinking begins and ends is looked for outside of objects only: their strings may quote anything. What stands
    before belongs to the rest, too, unless the text says that it is thinking.

    Raises:
        UnreadableReplyError: Thinking begins and does not end: what stands there may be a draft.
    """
    decoder = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_without_duplicates)
    found: list[Any] = []
    around: list[str] = []
    thinking = _BEGINS_THINKING.match(text) is not None
    position = begin = failures = 0
    unclosed = False
    tries = _MOST_TRIES
    while match := (_STOP if tries and failures < _MOST_FAILURES else _THOUGHT_EDGE).search(
        text, position
    ):
        position = match.end()
        if match.group() != "{":
            unclosed = "/" not in match.group()
            if not unclosed:
                around = [] if thinking else [*around, text[begin : match.start()]]
                found, begin, failures, thinking = [], position, 0, False
            continue
        tries -= 1
        try:
            data, position = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            failures += 1
            continue
        if _count_parts(data, keys):
            found.append(data)
            around.append(text[begin : match.start()])
            begin = position
    if unclosed:
        raise UnreadableReplyError(NOT_JSON)
    return found, " ".join([*around, text[begin:]])


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError("a key twice: which one counts?")
    return data


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _mended(text: str, keys: Sequence[str]) -> Any:
    """Return the object that an almost-JSON text is, if it is nothing else."""
    thoughts = [match.span() for _, match in zip(range(2), _THOUGHT_END.finditer(text), strict=False)]
    if thoughts:
        start, end = thoughts[0]
        if len(thoughts) > 1 or not (_BEGINS_THINKING.match(text) or "{" not in text[:start]):
            return None
        text = text[end:]
    fence = _FENCE.search(text)
    if fence and "{" not in text[: fence.start()] and text.rfind("```") > fence.end():
        text = text[fence.end() : text.rfind("```")]
    text = text.strip()
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end != len(text) - 1 or end - start > _LONGEST_MENDED:
        return None  # cut off, or followed by prose: not clear where it ends
    if text.count("{") != text.count("}"):
        return None  # cut off after the brace of an entry
    from json_repair import loads

    try:
        data: Any = loads(text[start:])
    except (ValueError, RecursionError, TypeError, IndexError):
        return None
    if not _count_parts(data, keys):
        return None
    parts = [data[key] for key in keys if isinstance(data.get(key), dict)]
    verdicts = sum(_holds_verdict(cell) for part in parts for cell in part.values())
    verdicts += "useful" in data
    # More verdicts in the text than in the object: a string ended early, and a quoted text became part of the reply.
    return data if len(_VERDICT.findall(text)) == verdicts else None


def _holds_verdict(cell: Any) -> bool:
    return isinstance(cell, dict) and not cell.keys().isdisjoint(("supported", "useful"))
