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
from collections.abc import Collection, Mapping
from typing import Any

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.models.base import Prompt
from ctxmetrics.prompts.packs import Pack, Step

# Tokens that a complete reply may take: as a whole, for a sentence, for each of its quotes, and for a useful context.
_BASE_TOKENS, _SENTENCE_TOKENS, _QUOTE_TOKENS, _USEFUL_TOKENS = 256, 160, 40, 80
# The most that is asked for: a reply that is cut off is asked for in halves.
_MOST_TOKENS = 4096
# Hexadecimal digits of the hash in the marks of the data block, and of the code that the reply repeats.
NONCE, CODE = 24, 8
# What is written as a JSON escape; ``escaped.json`` says what each part is.
_ESCAPED: Mapping[str, str] = read_data("prompts", "escaped.json")
_INVISIBLE = re.compile(f"[{_ESCAPED['invisible']}]")
# Joiners belong in Persian and Indic words and in emoji. Beside ASCII or each other they only hide
# text.
_JOINER = re.compile(
    r"[\u200c\u200d](?=[\0-\x7f\u200c\u200d])|(?<=[\0-\x7f\u200c\u200d])[\u200c\u200d]"
)
# Marks that others act on: tokens of chat templates, tags of images, templates.
_MARKUP = re.compile(
    rf"<(?=[|\uff5c<]|/?(?i:{_ESCAPED['template_words']})>|/?[^\W_]*[_|\uff5c][\w|\uff5c:.-]*>)"
    r"|>(?<=[|\uff5c]>)"  # begins with its character as all of them do: so the search is fast
    r"|\[(?=/?[gs]?[A-Z][A-Z_]{2,}\]|(?i:/?inst|unused\d*)\]|(?i:[A-Z]{3,}:))"
    r"|\{(?=[{%#])"
)


def render(
    pack: Pack,
    step: Step,
    data: Mapping[str, Any],
    *,
    ids: Collection[str] | None = None,
    note: str = "",
    attempt: int = 0,
    vote: int = 0,
) -> Prompt:
    """Build the prompt of one question.

    A question that is asked again has the same system prompt and the same data: a server that keeps what it read
    reads the end only. The line after the data names the ids that need an answer.

    Args:
        pack: The language's texts.
        step: The question.
        data: The fields, JSON-ready. Untrusted, but for the ids.
        ids: The ids that need an answer; None: all of the data.
        note: What was wrong with the reply before, in our own words and ids only.
        attempt: 0 for the first question.
        vote: Number of the vote.
    """
    body = escape(data)
    nonce = hashlib.sha256(body.encode()).hexdigest()[:NONCE]
    code = nonce[:CODE]
    sentences = _ids(data, "sentences", ids) if step in {"attribution", "joint"} else ()
    useful = _ids(data, "contexts", ids) if step in {"usefulness", "joint"} else ()
    keys = [
        pack.keys.replace("{part}", part).replace("{ids}", ", ".join(names))
        for part, names in (("sentences", sentences), ("useful", useful))
        if names
    ]
    user = f"BEGIN DATA {nonce}\n{body}\ncode: {code}\nEND DATA {nonce}"
    if keys:
        user += f"\n{' '.join(keys)}"
    if note:
        user += f"\n\n{note}"
    # More tokens than a complete reply has, with a quote of each context for each sentence; 0: no bound.
    most = 0
    if sentences or useful:
        each = _SENTENCE_TOKENS + len(data.get("contexts", ())) * _QUOTE_TOKENS
        needed = _BASE_TOKENS + len(sentences) * each + len(useful) * _USEFUL_TOKENS
        most = min(_MOST_TOKENS, needed)
    form: Step = "attribution" if not useful else "usefulness" if not sentences else "joint"
    return Prompt(
        step=step if step == "claims" else form,
        version=pack.versions[step],
        system=pack.texts[step],
        user=user,
        attempt=attempt,
        vote=vote,
        data_code=code,
        sentences=sentences,
        useful=useful,
        reply_tokens=most,
    )


def render_state(pack: Pack, data: Mapping[str, Any]) -> str:
    """Build the state that a decision model is asked about: the criteria, and the data in a block of its own."""
    body = escape(data)
    nonce = hashlib.sha256(body.encode()).hexdigest()[:NONCE]
    return f"{pack.decisions['rules']}\nBEGIN DATA {nonce}\n{body}\nEND DATA {nonce}"


def escape(data: object) -> str:
    """Write untrusted data as JSON on one line, in which nothing is invisible, and nothing acts on a server."""
    body = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    if not body.isascii() or "\x7f" in body:  # other texts hold no invisible character
        body = _JOINER.sub(_as_escape, _INVISIBLE.sub(_as_escape, body))
    return _MARKUP.sub(_as_escape, body)


def _ids(data: Mapping[str, Any], name: str, wanted: Collection[str] | None) -> tuple[str, ...]:
    """Return the ids of a list of the data that need an answer."""
    return tuple(item["id"] for item in data[name] if wanted is None or item["id"] in wanted)


def _as_escape(match: re.Match[str]) -> str:
    """Write an invisible character, or the first of a mark that others act on, as a JSON escape."""
    if match.group() > "~":  # the last visible ASCII character
        return json.dumps(match.group())[1:-1]
    return f"\\u{ord(match.group()):04x}"
