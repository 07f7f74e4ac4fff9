"""Other people's texts, made safe to store and show."""

from __future__ import annotations

import re

_LONGEST = 300
_JOINERS = "\u200c\u200d"
_KEYS = re.compile(
    r"(?i)(\bbearer\s+|\bapi[-_ ]?key['\"]?\s*[:=]\s*['\"]?|\bauthorization['\"]?\s*[:=]\s*['\"]?)[^\s'\",}]+"
    r"|\b(?:sk|pk|rk|gsk|hf|xai)[-_][A-Za-z0-9_\-*]{6,}"
)


def safe_text(error: object, *secrets: str | None) -> str:
    """Return one line of text without keys, at most 300 characters.

    Args:
        error: Anything; its text is untrusted.
        secrets: Further strings that must not appear.
    """
    text = " ".join(str(error).split())
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[key]")
    text = _KEYS.sub(lambda match: f"{match.group(1) or ''}[key]", text)
    text = visible(text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def visible(text: str, keep: str = "") -> str:
    """Return a text whose every character shows as itself.

    What controls, hides or turns the direction of text, and halves of characters, become the replacement character.
    Joiners stay: Persian and Indic words and emoji need them.

    Args:
        text: Untrusted.
        keep: Further characters that may stay.
    """
    if text.isprintable():
        return text
    keep += _JOINERS
    return "".join(
        character if character.isprintable() or character in keep else "\ufffd" for character in text
    )
