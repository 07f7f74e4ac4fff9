"""Makes untrusted text safe to show: every character becomes visible."""

from __future__ import annotations

import re

_ZERO_WIDTH_JOINERS = "\u200c\u200d"
# Invisible characters that pages may hold: they change nothing outside of their own element.
_HARMLESS_INVISIBLE = "\n\t\u00a0\u00ad\u200e\u200f\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)

# The first character of a command to a CI system: "::error" of GitHub's runner, which skips the spaces before it, or
# "##vso[task]" of Azure's. Group 1 is the spaces.
_COMMAND_PATTERN = re.compile(r"^(\s*)(?::(?=:)|#(?=#(?:vso)?\[))", re.MULTILINE)


def replace_invisible(text: str, keep: str = "") -> str:
    """Replace each character that is not visible by the replacement character.

    These are control characters, characters that hide text or turn its direction, and lone surrogates. Joiners stay: Persian
    and Indic words and emoji need them.

    Args:
        text: A text that is not trusted.
        keep: Further characters that stay.
    """
    if text.isprintable():
        return text
    keep += _ZERO_WIDTH_JOINERS
    characters = []
    for character in text:
        is_kept = character.isprintable() or character in keep
        characters.append(character if is_kept else "\ufffd")
    return "".join(characters)


def replace_invisible_on_page(text: str) -> str:
    """Replace invisible characters in a text for a page. Line ends stay, and the special spaces of ordinary pages."""
    return replace_invisible(text.replace("\r\n", "\n"), keep=_HARMLESS_INVISIBLE)


def without_commands(text: str) -> str:
    """Return a text without commands to a CI system. The first character of a command becomes the replacement character."""
    return _COMMAND_PATTERN.sub("\\1\ufffd", text)


def to_plain_name(name: str) -> str:
    """Return a name without case and separators: ``Context-Recall`` becomes ``contextrecall``."""
    return re.sub(r"[\W_]", "", name.lower())
