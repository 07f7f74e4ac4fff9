"""Reads a model's reply as JSON. A reply is untrusted: a reply that could mean two things is not used."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from ctxmetrics._internal.secrets import mask_secrets
from ctxmetrics.errors import JudgeError
from ctxmetrics.models.base import Reply

# The marks around the thinking of a model: <think> and </think>, [THINK] and [/THINK], or the channels of a chat template,
# <|channel|>analysis and <|channel|>final.
_THOUGHT_NAMES = "think|thinking|thoughts?|reasoning|analysis|scratchpad|reflection"
_THOUGHT_BEGIN_PATTERN = rf"<(?:{_THOUGHT_NAMES})>|\[THINK\]|<\|channel\|>analysis\b"
_THOUGHT_END_PATTERN = rf"</(?:{_THOUGHT_NAMES})>|\[/THINK\]|<\|channel\|>final\b"
_THOUGHT_END = re.compile(_THOUGHT_END_PATTERN, re.IGNORECASE)
_BEGINS_THINKING = re.compile(rf"\s*(?:{_THOUGHT_BEGIN_PATTERN})", re.IGNORECASE)
_THOUGHT_TAG = re.compile(rf"{_THOUGHT_BEGIN_PATTERN}|{_THOUGHT_END_PATTERN}", re.IGNORECASE)
_BRACE_OR_THOUGHT_TAG = re.compile(rf"\{{|{_THOUGHT_TAG.pattern}", re.IGNORECASE)
_FENCE = re.compile(r"```[^\n`]*\n")
_VERDICT = re.compile(r"\b(?:supported|useful)['\"]?\s*:")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
# The keys of a reply, and the types of their values.
_TYPES_BY_KEY: Mapping[str, tuple[type, ...]] = {
    "sentences": (Mapping,),
    "useful": (Mapping,),
    "claims": (list, tuple),
}
# In JSON: the key of an entry, another string, or a comment.
_KEY_OR_COMMENT = re.compile(
    r"""
      "(?P<id>[sc]\d+)"(?=\s*:\s*\{)
    | "(?:[^"\\]|\\.)*"
    | //(?P<line>[^\n]*) | \#(?P<hash>[^\n]*) | /\*(?P<block>.*?)\*/ | <!--(?P<html>.*?)-->
    """,
    re.VERBOSE | re.DOTALL,
)
_CONTEXT_ID = re.compile(r"c\d+")
# The maximum number of characters of a reply that are read.
_MAX_REPLY_CHARACTERS = 2_000_000
# The maximum number of characters that json-repair gets: on some texts its time grows with the square of their length.
_MAX_REPAIRED_CHARACTERS = 16_000
# The maximum number of braces of a reply at which an object is looked for.
_MAX_ATTEMPTS = 1000
# The maximum number of braces at which no object is found.
_MAX_FAILURES = 200
# How deeply a reply may be nested in other objects, lists and texts.
_MAX_WRAPPING_DEPTH = 5
# The maximum number of values in which the reply is looked for.
_MAX_WRAPPINGS = 200
# Under these keys `parse` keeps what stands beside the object: JSON objects of another form, and text.
OBJECTS_BESIDE = "objects beside the reply"
TEXT_BESIDE = "text beside the reply"
# The key under which `parse` adds the comments of JSON to an entry: the name of a remark, which is compared with the verdict.
_COMMENT_KEY = "comment"
# The note to a model whose reply is no JSON object.
NOT_JSON = "Your last reply was no JSON object of the form shown. Reply with that JSON object and nothing else."


class UnreadableReplyError(JudgeError):
    """A reply without a usable answer. ``note`` is the message to the model about the fault."""

    code = "unreadable_reply"

    def __init__(self, note: str, reason_code: str = "invalid_reply") -> None:
        super().__init__(note, reason_code=reason_code)
        self.note = note


class WrongDataError(UnreadableReplyError):
    """A reply that does not repeat the code of its request. Its quotes do not prove either that it answers this request.

    Args:
        code: The code that the reply should have repeated.
    """

    def __init__(self, code: str) -> None:
        super().__init__(
            f"Your last reply was about other data. The code of this data is {code}.", "wrong_data"
        )


def parse(reply: Reply, keys: Sequence[str], *, code: str = "") -> Mapping[str, Any]:
    """Return the JSON object of a reply.

    - Code fences, prose around the object and think-blocks are removed.
    - Small errors (trailing commas, single quotes) are repaired if the object is complete.
    - A reply with two different objects, or one that was cut off, is not used: it may quote a text that looks like a reply.
    - An object with the right code may stand within another object, as in a tool call.
    - Objects and text beside the object are kept under `OBJECTS_BESIDE` and `TEXT_BESIDE`: they may contradict a verdict.

    Args:
        reply: The model's reply.
        keys: The keys that the object should have: ``sentences`` and ``useful`` with an object, ``claims`` with a list.
            Of several objects, the one with the most of these keys is taken.
        code: The code of the request. Some servers put the request before the reply.

    Raises:
        UnreadableReplyError: There is no such object, or more than one.
    """
    data: Any = reply.content
    if isinstance(data, str):
        if "END DATA" in data:
            data = _after_request(data, code)
        data = _read_text(_without_quotes(data[:_MAX_REPLY_CHARACTERS]), keys, code)
    else:
        data = _lift_useful(_dump(data))
    if not _count_valid_keys(data, keys):
        raise UnreadableReplyError(NOT_JSON)
    for key in keys:
        if data.get(key) is not None and not isinstance(data[key], _TYPES_BY_KEY[key]):
            raise UnreadableReplyError(NOT_JSON)
    # A list that was not asked for need not be one.
    for key in ("sentences", "useful"):
        if key in data and not isinstance(data[key], Mapping):
            data = {name: value for name, value in data.items() if name != key}
    return data  # type: ignore[no-any-return]  # a mapping: it has valid keys


def _dump(content: Any) -> Any:
    """Return the data of a reply that is a Pydantic model; return any other reply unchanged."""
    if not hasattr(content, "model_dump"):
        return content
    try:
        return content.model_dump()
    except Exception:  # noqa: BLE001 - the code of another library
        raise UnreadableReplyError(NOT_JSON) from None


def parse_claims(
    reply: Reply, code: str, *, text: str = "", examples: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the claims of a decomposition. API keys in them are masked, because a server may repeat one in a reply.

    Args:
        reply: The model's reply.
        code: The code that it must repeat.
        text: The text that was broken into claims.
        examples: Texts of the prompt's examples, in lower case.

    Raises:
        WrongDataError: The reply does not repeat the code, or holds a text of the examples.
        UnreadableReplyError: The reply has no claims, or a claim that is not a text or an empty one.
    """
    data = parse(reply, ("claims",), code=code)
    if not repeats_code(data, code):
        raise WrongDataError(code)
    entries = data["claims"]
    if not entries or not all(isinstance(claim, str) and claim.strip() for claim in entries):
        raise UnreadableReplyError("Give at least one claim, and each as a string that is not empty.")
    claims = [claim.strip() for claim in entries]
    if any(claim.casefold() in examples and claim not in text for claim in claims):
        raise WrongDataError(code)
    return tuple(map(mask_secrets, claims))


def _after_request(text: str, code: str) -> str:
    """Return the text behind the data block of the request, if a reply repeats this block; else the whole text."""
    if not code:
        return text
    ends = [match.end() for match in re.finditer(rf"END DATA {code}[0-9a-f]{{16}}", text)]
    return text[ends[-1] :] if ends else text


def _without_quotes(text: str) -> str:
    """Decode a text that is a JSON string; return any other text unchanged."""
    if not text.lstrip().startswith('"'):
        return text
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return content if isinstance(content, str) else text


def _read_text(text: str, keys: Sequence[str], code: str) -> Any:
    """Return the object of a text; None if there is none, or if there are two different ones."""
    objects = _find_objects(text, keys, code)
    if not objects.replies:
        return _repair(text, keys)
    text_outside = " ".join(objects.texts)
    replies = _of_this_request([reply for reply, _ in objects.replies], code)
    most_keys = max(_count_valid_keys(reply, keys) for reply in replies)
    candidates = [reply for reply in replies if _count_valid_keys(reply, keys) == most_keys]
    has_key_outside = re.search(rf"['\"](?:{'|'.join(keys)})['\"]\s*:", text_outside) is not None
    if has_key_outside and len(replies) > 1:
        return None  # the text outside is a part of another answer, or another answer
    if has_key_outside:
        return _repair(text, keys, misplaced_brace=True)  # a brace may have closed the object too early
    is_unique = all(reply == candidates[0] for reply in candidates)
    if not is_unique:
        return None
    data = dict(candidates[0])
    objects_beside = [other for other, _ in objects.others]
    objects_beside += [reply for reply in replies if reply not in candidates]
    if objects_beside:
        data[OBJECTS_BESIDE] = objects_beside
    if text_outside.strip():
        data[TEXT_BESIDE] = text_outside.strip()
    return data


def _of_this_request(replies: list[Any], code: str) -> list[Any]:
    """Leave out the replies with another code, if a reply has the right one.

    A model may repeat the prompt's example before its reply, or invent a next request and answer it.
    """
    if len(replies) == 1 or not any(repeats_code(reply, code) for reply in replies):
        return replies
    return [reply for reply in replies if "code" not in reply or repeats_code(reply, code)]


def _unwrap(data: Any, keys: Sequence[str], code: str) -> Any:
    """Return the reply with the right code within the values or texts of an object; None if there is none, or two different."""
    if not code:
        return None
    replies: list[Any] = []
    values = [(data, 0)]  # each value with its depth
    # The list of values grows while the loop reads it.
    for value, depth in values:
        content = value
        if isinstance(value, str):
            content = read_json(value)
        if isinstance(content, Mapping):
            if _count_valid_keys(content, keys) and repeats_code(content, code):
                replies.append(content)
                continue
            content = list(content.values())
        if isinstance(content, list) and depth < _MAX_WRAPPING_DEPTH:
            values += [(inner, depth + 1) for inner in content[: _MAX_WRAPPINGS - len(values)]]
    if not replies or any(reply != replies[0] for reply in replies):
        return None
    return replies[0]


def read_json(text: str) -> Any:
    """Decode a text that is only a JSON object or list; None for any other text."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return _decoder().decode(text.strip())
    except (ValueError, RecursionError):
        return None


def repeats_code(data: Mapping[str, Any], code: str) -> bool:
    """Whether an object has the code of the request. A code of digits alone may be a number."""
    echo = data.get("code")
    return isinstance(echo, (str, int)) and str(echo).strip().startswith(code)


def _decoder() -> json.JSONDecoder:
    """Return a reader of JSON that refuses doubled keys and constants such as NaN."""
    return json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_refuse_duplicate_keys)


def _with_plain_lists(data: Mapping[str, Any], keys: Sequence[str]) -> Mapping[str, Any]:
    """Return an object whose lists have the names that were asked ("Sentences"), and are no texts of JSON."""
    if all(isinstance(data.get(key), _TYPES_BY_KEY[key]) for key in keys):
        return data  # the usual case
    plain_names = [str(name).strip().casefold() for name in data]
    plain_data: dict[str, Any] = {}
    for name, plain_name, value in zip(data, plain_names, data.values(), strict=True):
        is_list_name = plain_name in keys and plain_names.count(plain_name) == 1
        content = read_json(value) if is_list_name and isinstance(value, str) else value
        plain_data[plain_name if is_list_name else name] = value if content is None else content
    return plain_data


def _lift_useful(data: Any) -> Any:
    """Move the verdicts about contexts out of ``sentences`` if they stand there; else return the reply unchanged."""
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


def _count_valid_keys(data: Any, keys: Sequence[str]) -> int:
    """Count the keys whose value has the right type; 0 for what is not an object."""
    if not isinstance(data, Mapping):
        return 0
    count = 0
    for key in keys:
        if isinstance(data.get(key), _TYPES_BY_KEY[key]):
            count += 1
    return count


@dataclass(slots=True)
class _Objects:
    """The outermost JSON objects of a text, and the text beside them.

    Attributes:
        text: The text.
        keys: The keys that a reply should have.
        code: The code of the request.
        replies: The objects with any of the keys, each with the text that it was read from.
        others: The other objects, each with the text that it was read from.
        texts: The text outside of the replies.
    """

    text: str
    keys: Sequence[str]
    code: str
    replies: list[tuple[Any, str]] = field(default_factory=list)
    others: list[tuple[Any, str]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    _position: int = 0

    def add(self, data: Any, start: int, end: int) -> None:
        """Add an object, or the reply within it, and the text before it."""
        data = _with_plain_lists(data, self.keys)
        if "useful" not in data:
            data = _lift_useful(data)
        source = self.text[start:end]
        reply = data
        if not _count_valid_keys(data, self.keys):
            reply = _unwrap(data, self.keys, self.code)
            self.others.append((data, source))
        if reply is not None:
            self.replies.append((reply, source))
        if reply is not None or any(key in data for key in self.keys):
            self._add_text(start, end)

    def end_thought(self, start: int, end: int, *, is_marked: bool) -> None:
        """Drop the objects of a thought, and also its text if the beginning of the thought is marked."""
        self._add_text(start, end)
        if is_marked:
            self.texts = []
        self.replies = []
        self.others = []

    def end_text(self) -> None:
        """Add the text behind the last reply, and leave out what is the beginning or the end of a reply, sent twice."""
        self._add_text(len(self.text), len(self.text))
        sources = [source for _, source in self.replies]
        self.texts = [text for text in self.texts if not _is_edge(text.strip(), sources)]
        others = self.others
        self.others = []
        for data, source in others:
            is_part_of_reply = source not in sources and any(source in reply for reply in sources)
            if not is_part_of_reply:
                self.others.append((data, source))

    def _add_text(self, start: int, end: int) -> None:
        """Add the text up to a place, and go on behind another one."""
        self.texts.append(self.text[self._position : start])
        self._position = end


def _is_edge(text: str, sources: Sequence[str]) -> bool:
    """Whether a text is the beginning or the end of a source."""
    return any(source.startswith(text) or source.endswith(text) for source in sources)


def _find_objects(text: str, keys: Sequence[str], code: str) -> _Objects:
    """Find the outermost objects in the text after the thinking.

    The marks of thinking are looked for outside of objects only, because strings of an object may quote anything. A text
    before the end of thinking that has no mark of its beginning counts as text outside of the objects.

    Raises:
        UnreadableReplyError: Thinking begins and does not end, so that an object may be a draft.
    """
    decoder = _decoder()
    objects = _Objects(text, keys, code)
    begins_with_thought = _BEGINS_THINKING.match(text) is not None
    is_inside_thought = False
    position = 0
    attempts = 0
    failures = 0
    while True:
        may_read_objects = attempts < _MAX_ATTEMPTS and failures < _MAX_FAILURES
        pattern = _BRACE_OR_THOUGHT_TAG if may_read_objects else _THOUGHT_TAG
        match = pattern.search(text, position)
        if match is None:
            break
        position = match.end()
        if match.group() != "{":
            is_inside_thought = _THOUGHT_END.fullmatch(match.group()) is None
            if not is_inside_thought:
                objects.end_thought(match.start(), position, is_marked=begins_with_thought)
                failures = 0
                begins_with_thought = False
            continue
        attempts += 1
        try:
            data, position = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            failures += 1
            continue
        objects.add(data, match.start(), position)
    if is_inside_thought:
        raise UnreadableReplyError(NOT_JSON)
    objects.end_text()
    return objects


def _refuse_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a JSON object in which a key stands twice."""
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError("a key stands twice: which one counts?")
    return data


def _refuse_constant(name: str) -> Any:
    """Refuse NaN and infinities, which Python's JSON reader accepts."""
    raise ValueError(f"{name} is no JSON")


def _repair(text: str, keys: Sequence[str], *, misplaced_brace: bool = False) -> Any:
    """Read a text that is one object with small errors in its JSON; None for any other text.

    Args:
        text: The text.
        keys: The keys the object should have.
        misplaced_brace: Accept it only if the error is a brace too few or too many.
    """
    text = _with_plain_quotes(_without_wrapping(text))
    object_start = text.find("{")
    is_one_object = object_start >= 0 and text.endswith("}")  # else it is cut off, or followed by prose
    if not is_one_object or len(text) - object_start > _MAX_REPAIRED_CHARACTERS:
        return None
    is_balanced = text.count("{") == text.count("}")
    unclosed_braces = _count_unclosed_braces(text)
    # One brace too many or too few is a small mistake. If more braces are missing, the reply is cut off behind an entry.
    is_one_brace_off = abs(unclosed_braces) == 1
    is_cut_off = not is_balanced and not is_one_brace_off
    if is_cut_off:
        return None
    text, comments = _take_out_comments(text)
    from json_repair import loads

    try:
        data: Any = loads(text[text.find("{") :])
    except (ValueError, RecursionError, TypeError, IndexError):
        return None
    lifted = _lift_useful(data)
    if misplaced_brace or not is_balanced:
        has_brace_too_many = unclosed_braces == -1 and _count_valid_keys(data, keys) == len(keys)
        # Without the brace that ends the sentences, the verdicts on contexts stand inside them.
        lacks_brace = lifted is not data
        if not lacks_brace and not has_brace_too_many:
            return None
    if not _count_valid_keys(lifted, keys):
        return None
    # If the text has more verdicts than the object, a string ended too early, so that a quoted text became part of the
    # reply; or a key stands twice.
    has_all_verdicts = len(_VERDICT.findall(text)) == _count_verdicts(lifted)
    return _add_comments(lifted, comments) if has_all_verdicts else None


def _take_out_comments(text: str) -> tuple[str, Mapping[str, str]]:
    """Return JSON without its comments, and the comments by the id of the entry in which they stand; "" for none."""
    comments: dict[str, str] = {}
    if '"' not in text:  # strings in single quotes may hold the marks of comments
        return text, comments
    pieces: list[str] = []
    position = 0
    id_ = ""
    for match in _KEY_OR_COMMENT.finditer(text):
        if match["id"]:
            id_ = match["id"]
        elif not match.group().startswith('"'):
            comment = match["line"] or match["hash"] or match["block"] or match["html"] or ""
            comments[id_] = f"{comments.get(id_, '')} {comment}".strip()
            pieces.append(text[position : match.start()])
            position = match.end()
    return "".join([*pieces, text[position:]]), comments


def _add_comments(data: Mapping[str, Any], comments: Mapping[str, str]) -> Mapping[str, Any]:
    """Return a reply with its comments, each in the entry in which it stood; any other comment is a text beside the reply."""
    if not any(comments.values()):
        return data
    commented = dict(data)
    texts = []
    for id_, comment in comments.items():
        name = "sentences" if id_.startswith("s") else "useful"
        entries = commented.get(name)
        entry = entries.get(id_) if isinstance(entries, Mapping) else None
        if isinstance(entry, Mapping) and _COMMENT_KEY not in entry:
            commented[name] = {**commented[name], id_: {**entry, _COMMENT_KEY: comment}}
        else:
            texts.append(comment)
    return {**commented, TEXT_BESIDE: "\n".join(texts)} if texts else commented


def _with_plain_quotes(text: str) -> str:
    """Write entities (&quot;) and typographic quotes (“) as plain ones, if a text has no plain quote."""
    if '"' in text:
        return text
    return html.unescape(text).replace("“", '"').replace("”", '"')


def _without_wrapping(text: str) -> str:
    """Return a text without its thinking and its fence; an empty text if it is not clear where the thinking ends."""
    thought_ends = [match.span() for match in islice(_THOUGHT_END.finditer(text), 2)]
    if thought_ends:
        if len(thought_ends) > 1:
            return ""
        start, end = thought_ends[0]
        has_object_before = "{" in text[:start]
        if has_object_before and not _BEGINS_THINKING.match(text):
            return ""
        text = text[end:]
    fence = _FENCE.search(text)
    if fence and "{" not in text[: fence.start()] and text.rfind("```") > fence.end():
        text = text[fence.end() : text.rfind("```")]
    return text.strip()


def _count_unclosed_braces(text: str) -> int:
    """Count the braces outside of strings that are not closed; negative if more are closed than opened."""
    structure = _STRING.sub("", text)
    return structure.count("{") - structure.count("}")


def _count_verdicts(data: Mapping[str, Any]) -> int:
    """Count the keys of an object that have the name of a verdict: what `_VERDICT` finds in its text."""
    count = 1 if "useful" in data else 0
    for key in ("sentences", "useful"):
        entries = data.get(key)
        if not isinstance(entries, dict):
            continue
        for entry in entries.values():
            if isinstance(entry, dict) and ("supported" in entry or "useful" in entry):
                count += 1
    return count
