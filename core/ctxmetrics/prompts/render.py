"""Builds a prompt from data. Untrusted text enters a prompt here and nowhere else.

Every field is a JSON string inside a block whose marks carry a SHA-256 of the data, cut to 96 bits. No
text can contain its own hash, so no text can end the block; and equal data gives an equal prompt, so
caches and snapshots stay stable. The hash's first eight digits stand on a line of their own: the reply
repeats them, so that a reply to another request is noticed. Characters that a reader cannot see, and
marks that some servers or clients act on (chat roles, image tags, templates), are written as JSON
escapes: the data means the same, and no server acts on it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from ctxmetrics.models.base import Prompt
from ctxmetrics.prompts.packs import Pack
from ctxmetrics.prompts.texts import FORMS, Step

# Hexadecimal digits of the hash in the marks of the data block, and of the code that the reply repeats.
NONCE, CODE = 24, 8
_INVISIBLE = re.compile(
    "[\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U0001fffe\U0001ffff\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
# Joiners belong in Persian and Indic words and in emoji. Beside ASCII or each other they only hide
# text.
_JOINER = re.compile(
    r"[\u200c\u200d](?=[\0-\x7f\u200c\u200d])|(?<=[\0-\x7f\u200c\u200d])[\u200c\u200d]"
)
# Tokens of chat templates that are plain words; all others have a bar or an underscore in them.
_NAMES = (
    r"assistant|audio|bot|bos|cls|developer|eod|eop|eos|eot|function|human|image|img|inst|mask|model|pad|reasoning|s|sep|sop"
    r"|sys|system|think|thinking|tool|tools|unk|unused\d*|user|video"
)
_MARKUP = re.compile(
    rf"<(?=[|\uff5c<]|/?(?i:{_NAMES})>|/?[^\W_]*[_|\uff5c][\w|\uff5c:.-]*>)"
    r"|>(?<=[|\uff5c]>)"  # begins with its character as all of them do: so the search is fast
    r"|\[(?=/?[gs]?[A-Z][A-Z_]{2,}\]|(?i:/?inst|unused\d*)\]|(?i:[A-Z]{3,}:))"
    r"|\{(?=[{%#])"
)


def render(
    pack: Pack, step: Step, data: Mapping[str, Any], *, note: str = "", attempt: int = 0, vote: int = 0
) -> Prompt:
    """Build the prompt of one question.

    Args:
        pack: The language's texts.
        step: The question.
        data: The fields, JSON-ready. Untrusted.
        note: What was wrong with the reply before, in our own words and ids only.
        attempt: 0 for the first question.
        vote: Number of the vote.
    """
    body = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    if not body.isascii() or "\x7f" in body:  # other texts hold no invisible character
        body = _JOINER.sub(_as_escape, _INVISIBLE.sub(_as_escape, body))
    body = _MARKUP.sub(_as_escape, body)
    nonce = hashlib.sha256(body.encode()).hexdigest()[:NONCE]
    code = nonce[:CODE]
    user = f"BEGIN DATA {nonce}\n{body}\ndata: {code}\nEND DATA {nonce}\n{FORMS[step]}"
    if note:
        user += f"\n\n{note}"
    return Prompt(
        step=step,
        version=pack.versions[step],
        system=pack.texts[step],
        user=user,
        attempt=attempt,
        vote=vote,
        data_code=code,
    )


def _as_escape(match: re.Match[str]) -> str:
    """Write an invisible character, or the first of a mark that others act on, as a JSON escape."""
    if match.group() > "~":  # the last visible ASCII character
        return json.dumps(match.group())[1:-1]
    return f"\\u{ord(match.group()):04x}"
