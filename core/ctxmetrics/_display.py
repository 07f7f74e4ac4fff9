"""Text from outside, made safe to show: every character is visible."""

from __future__ import annotations

_JOINERS = "\u200c\u200d"


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
