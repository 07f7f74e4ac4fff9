"""Reads a model's reply as JSON. A reply is untrusted: a reply that could mean two things is not used."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any

from ctxmetrics._internal.secrets import masked
from ctxmetrics.errors import JudgeError
from ctxmetrics.models.base import Reply

_THOUGHT_END = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_BEGINS_THINKING = re.compile(r"\s*<(?:think|thinking|reasoning)>", re.IGNORECASE)
_THOUGHT_EDGE = re.compile(r"</?(?:think|thinking|reasoning)>", re.IGNORECASE)
_STOP = re.compile(rf"\{{|{_THOUGHT_EDGE.pattern}", re.IGNORECASE)
_FENCE = re.compile(r"```[^\n`]*\n")
_VERDICT = re.compile(r"\b(?:supported|useful)['\"]?\s*:")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
# The parts of replies, and what each is.
_PARTS: Mapping[str, tuple[type, ...]] = {
    "sentences": (Mapping,),
    "useful": (Mapping,),
    "claims": (list, tuple),
}
_CONTEXT_ID = re.compile(r"c\d+")
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
            f"Your last reply was about other data. The code of this data is {code}.", "wrong_data"
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
        if "END DATA" in data:
            data = _after_request(data, code)
        data = _read_text(data[:_LONGEST_REPLY], keys)
    else:
        data = _lift_useful(data.model_dump() if hasattr(data, "model_dump") else data)
    if not _count_parts(data, keys):
        raise UnreadableReplyError(NOT_JSON)
    for key in keys:
        if data.get(key) is not None and not isinstance(data[key], _PARTS[key]):
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
    entries = data["claims"]
    if not entries or not all(isinstance(claim, str) and claim.strip() for claim in entries):
        raise UnreadableReplyError("Give at least one claim, and each as a string that is not empty.")
    claims = [claim.strip() for claim in entries]
    if any(claim.casefold() in examples and claim not in text for claim in claims):
        raise WrongDataError(code)
    return tuple(map(masked, claims))


def _after_request(text: str, code: str) -> str:
    """Return what follows the data block of the request, where the text repeats it."""
    ends = list(re.finditer(rf"END DATA {code}[0-9a-f]{{16}}", text)) if code else []
    return text[ends[-1].end() :] if ends else text


def _read_text(text: str, keys: Sequence[str]) -> Any:
    """Return the object that a text means; None where it could mean two things, or nothing."""
    objects, around = _objects(text, keys)
    if not objects:
        return _mend(text, keys)
    most = max(_count_parts(item, keys) for item in objects)
    best, *others = [item for item in objects if _count_parts(item, keys) == most]
    if not re.search(rf"['\"](?:{'|'.join(keys)})['\"]\s*:", around):
        return best if all(other == best for other in others) else None
    # The object stands inside another answer, or beside one; or it is half of one with a wrong brace.
    return _mend(text, keys, misplaced_brace=True) if len(objects) == 1 else None


def _lift_useful(data: Any) -> Any:
    """Return a reply whose verdicts on contexts stand inside its sentences with both parts side by side."""
    if not isinstance(data, Mapping) or "useful" in data:
        return data
    if not isinstance(data.get("sentences"), Mapping):
        return data
    sentences = dict(data["sentences"])
    useful = sentences.pop("useful", None)
    if not isinstance(useful, Mapping) or not useful:
        return data
    for id_, cell in useful.items():
        if not (isinstance(id_, str) and _CONTEXT_ID.fullmatch(id_) and isinstance(cell, Mapping)):
            return data
    return {**data, "sentences": sentences, "useful": useful}


def _count_parts(data: Any, keys: Sequence[str]) -> int:
    """Count the keys that have what belongs there; 0 for what is no object."""
    if not isinstance(data, Mapping):
        return 0
    return sum(isinstance(data.get(key), _PARTS[key]) for key in keys)


def _objects(text: str, keys: Sequence[str]) -> tuple[list[Any], str]:
    """Return every object with the keys that stands in the text after the thinking, the outermost only; and the rest.

    Where thinking begins and ends is looked for outside of objects only: their strings may quote anything. What stands
    before belongs to the rest, too, unless the text says that it is thinking.

    Raises:
        UnreadableReplyError: Thinking begins and does not end: what stands there may be a draft.
    """
    decoder = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_without_duplicates)
    objects: list[Any] = []
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
                objects, begin, failures, thinking = [], position, 0, False
            continue
        tries -= 1
        try:
            data, position = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            failures += 1
            continue
        if "useful" not in data:
            data = _lift_useful(data)
        if _count_parts(data, keys):
            objects.append(data)
            around.append(text[begin : match.start()])
            begin = position
    if unclosed:
        raise UnreadableReplyError(NOT_JSON)
    return objects, " ".join([*around, text[begin:]])


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError("a key twice: which one counts?")
    return data


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _mend(text: str, keys: Sequence[str], *, misplaced_brace: bool = False) -> Any:
    """Return the object that an almost-JSON text is, if it is nothing else.

    Args:
        text: The text.
        keys: The keys the object should have.
        misplaced_brace: Take it only where a brace between its parts is wrong, and nothing is cut off.
    """
    text = _without_wrapping(text)
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end != len(text) - 1 or end - start > _LONGEST_MENDED:
        return None  # cut off, or followed by prose: not clear where it ends
    balanced = text.count("{") == text.count("}")
    unclosed = _count_unclosed(text)
    if not balanced and abs(unclosed) != 1:
        return None  # cut off after the brace of an entry
    from json_repair import loads

    try:
        data: Any = loads(text[start:])
    except (ValueError, RecursionError, TypeError, IndexError):
        return None
    lifted = _lift_useful(data)
    if misplaced_brace or not balanced:
        # The brace of the sentences is missing, so that the other part lies inside; or one is too many.
        one_too_many = unclosed == -1 and _count_parts(data, keys) == len(keys)
        if lifted is data and not one_too_many:
            return None
    if not _count_parts(lifted, keys):
        return None
    # More verdicts in the text than in the object: a string ended early, and a quoted text became part of the reply; or a
    # key stands twice.
    return lifted if len(_VERDICT.findall(text)) == _count_verdicts(lifted) else None


def _without_wrapping(text: str) -> str:
    """Return a text without its thinking and its fence; nothing where it is not clear where the thinking ends."""
    thoughts = [match.span() for match in islice(_THOUGHT_END.finditer(text), 2)]
    if thoughts:
        start, end = thoughts[0]
        if len(thoughts) > 1 or not (_BEGINS_THINKING.match(text) or "{" not in text[:start]):
            return ""
        text = text[end:]
    fence = _FENCE.search(text)
    if fence and "{" not in text[: fence.start()] and text.rfind("```") > fence.end():
        text = text[fence.end() : text.rfind("```")]
    return text.strip()


def _count_unclosed(text: str) -> int:
    """Count the braces outside of strings that are not closed; negative where more are closed than opened."""
    structure = _STRING.sub("", text)
    return structure.count("{") - structure.count("}")


def _count_verdicts(data: Mapping[str, Any]) -> int:
    """Count the keys of an object that are verdicts or have the name of one."""
    count = int("useful" in data)
    for key in ("sentences", "useful"):
        part = data.get(key)
        for cell in part.values() if isinstance(part, dict) else ():
            count += isinstance(cell, dict) and not cell.keys().isdisjoint(("supported", "useful"))
    return count
