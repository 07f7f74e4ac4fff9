"""Builds a prompt from data. Only this module puts untrusted text into a prompt.

Every field is a JSON string inside a data block. The first and the last line of the block hold the first 96 bits of a SHA-256 of
the data. No text can contain its own hash, so no text can end the block. Equal data gives an equal prompt, so that caches stay
valid. The first eight digits of the hash stand on a line of their own, and the reply repeats them, so that a reply to another
request is noticed. Invisible characters, and marks that some servers or clients execute (chat roles, image tags, templates), are
written as JSON escapes: the data means the same, and no server executes them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from typing import Any

from ctxmetrics.models.base import Prompt
from ctxmetrics.prompts.packs import Pack, Step

# The tokens that a complete reply may take, without its verdicts.
_BASE_TOKENS = 256
# The tokens that a verdict about a sentence may take besides its quotes.
_SENTENCE_TOKENS = 160
# The tokens that a quote may take.
_QUOTE_TOKENS = 40
# The tokens that a verdict about a context may take.
_USEFUL_TOKENS = 80
# The maximum number of tokens that a request asks for. If the reply is cut off, two requests ask for its halves.
_MAX_REPLY_TOKENS = 4096
# The number of hexadecimal digits of the hash in the first and the last line of the data block.
NONCE = 24
# The number of hexadecimal digits of the code that the reply repeats.
CODE = 8
# A character that a reader cannot see, such as the soft hyphen U+00AD. It is written as a JSON escape.
_INVISIBLE_PATTERN = re.compile(
    "["
    "\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufdd0-\ufdef"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U0001fffe\U0001ffff\U000e0000-\U000e0fff\U000f0000-\U0010ffff"
    "]"
)
# A zero-width joiner beside an ASCII character or another joiner. There it can only hide text, since joiners belong between letters of
# Persian and Indic words, and in emoji.
_HIDING_JOINER_PATTERN = re.compile(
    r"[\u200c\u200d](?=[\0-\x7f\u200c\u200d])|(?<=[\0-\x7f\u200c\u200d])[\u200c\u200d]"
)
# Tokens of chat templates that are plain words; all others have a bar or an underscore in them.
_TEMPLATE_WORDS = r"""
      assistant | developer | function | human | model | system | tools? | user
    | think | thinking | reasoning
    | audio | image | img | video
    | bos | bot | cls | eod | eop | eos | eot | inst | mask | pad | s | sep | sop | sys | unk | unused\d*
"""
# The first character of a mark that a server or a template engine may execute: a token of a chat template, an image tag, a
# template. Each alternative begins with one fixed character, so that the search is fast.
_ACTIVE_MARK_PATTERN = re.compile(
    rf"""
    <(?=
        [|\uff5c<]                           # <|im_start|>
      | /?(?i:{_TEMPLATE_WORDS})>            # <system>
      | /?[^\W_]*[_|\uff5c][\w|\uff5c:.-]*>  # <start_of_turn>
    )
    | >(?<=[|\uff5c]>)                       # the end of <|im_start|>
    | \[(?=
        /?[gs]?[A-Z][A-Z_]{{2,}}\]           # [TOOL_CALLS]
      | (?i:/?inst|unused\d*)\]              # [/INST]
      | (?i:[A-Z]{{3,}}:)                    # [IMG:
    )
    | \{{(?=[{{%\#])                         # {{{{ name }}}}
    """,
    re.VERBOSE,
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

    A repeated question has the same system prompt and the same data, so that a server with a prefix cache reads only the end. The
    line after the data names the ids that need an answer.

    Args:
        pack: The language's texts.
        step: The question.
        data: The fields, JSON-ready. Everything except the ids is untrusted.
        ids: The ids that need an answer; None: all ids of the data.
        note: The faults of the last reply, only in the library's own words and ids.
        attempt: 0 for the first question.
        vote: The number of the vote.
    """
    body = escape(data)
    nonce = hashlib.sha256(body.encode()).hexdigest()[:NONCE]
    code = nonce[:CODE]
    # The keys that the reply needs: ids of sentences in its part "sentences", and ids of contexts in its part "useful".
    sentences: tuple[str, ...] = ()
    useful: tuple[str, ...] = ()
    if step in {"attribution", "joint"}:
        sentences = _list_ids(data["sentences"], ids)
    if step in {"usefulness", "joint", "relevance"}:
        useful = _list_ids(data["contexts"], ids)
    key_lines = []
    for part, part_ids in (("sentences", sentences), ("useful", useful)):
        if part_ids:
            key_lines.append(pack.keys.replace("{part}", part).replace("{ids}", ", ".join(part_ids)))
    user = f"BEGIN DATA {nonce}\n{body}\ncode: {code}\nEND DATA {nonce}"
    if key_lines:
        user += f"\n{' '.join(key_lines)}"
    if note:
        user += f"\n\n{note}"
    # The reply has the form of this step. If one part has no ids, the reply has only the other part.
    reply_step: Step = "joint"
    if step == "claims":
        reply_step = "claims"
    elif not useful:
        reply_step = "attribution"
    elif not sentences:
        reply_step = "usefulness"
    return Prompt(
        step=reply_step,
        version=pack.versions[step],
        system=pack.get_text(step),
        user=user,
        attempt=attempt,
        vote=vote,
        data_code=code,
        sentences=sentences,
        useful=useful,
        reply_tokens=_bound_reply(len(sentences), len(useful), len(data.get("contexts", ()))),
    )


def _bound_reply(sentences: int, useful: int, contexts: int) -> int:
    """Return an upper bound of the tokens of a complete reply. 0 means that there is no bound.

    A complete reply may quote each context for each sentence.
    """
    if not sentences and not useful:
        return 0
    tokens_per_sentence = _SENTENCE_TOKENS + contexts * _QUOTE_TOKENS
    tokens = _BASE_TOKENS + sentences * tokens_per_sentence + useful * _USEFUL_TOKENS
    return min(_MAX_REPLY_TOKENS, tokens)


def render_state(pack: Pack, data: Mapping[str, Any]) -> str:
    """Build the state for a decision model: the criteria, and the data in a block of its own."""
    body = escape(data)
    nonce = hashlib.sha256(body.encode()).hexdigest()[:NONCE]
    return f"{pack.decisions['rules']}\nBEGIN DATA {nonce}\n{body}\nEND DATA {nonce}"


def escape(data: object) -> str:
    """Write untrusted data as JSON on one line. Invisible characters, and marks that a server may act on, are escaped."""
    body = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    if not body.isascii() or "\x7f" in body:  # other texts hold no invisible character
        body = _INVISIBLE_PATTERN.sub(_escape_match, body)
        if "\u200c" in body or "\u200d" in body:
            body = _HIDING_JOINER_PATTERN.sub(_escape_match, body)
    return _ACTIVE_MARK_PATTERN.sub(_escape_match, body)


def _list_ids(
    entries: Collection[Mapping[str, str]], wanted_ids: Collection[str] | None
) -> tuple[str, ...]:
    """Return the ids of the sentences or contexts that need an answer. If `wanted_ids` is None, all need one."""
    ids = [entry["id"] for entry in entries]
    if wanted_ids is not None:
        ids = [id_ for id_ in ids if id_ in wanted_ids]
    return tuple(ids)


def _escape_match(match: re.Match[str]) -> str:
    r"""Return the JSON escape of a matched character: ``\u200b`` for an invisible one, ``\u003c`` for the ``<`` of a tag."""
    if match.group() > "~":  # the last visible ASCII character
        return json.dumps(match.group())[1:-1]
    return f"\\u{ord(match.group()):04x}"
