"""Error texts of other people's servers, made safe to store and show."""

from __future__ import annotations

import re

_LONGEST = 300
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
    text = "".join(character if character.isprintable() else "?" for character in text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
