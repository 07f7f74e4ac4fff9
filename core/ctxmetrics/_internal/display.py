"""Text from outside, made safe to show: every character is visible."""

from __future__ import annotations

import re

_ZERO_WIDTH_JOINERS = "\u200c\u200d"
# Characters of ordinary pages that do nothing beyond their own element.
_HARMLESS_INVISIBLE = "\n\t\u00a0\u00ad\u200e\u200f\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)

# What makes a line of a log a command of GitHub's runner, which skips the spaces before it, or of Azure's.
_COMMAND = re.compile(r"^(\s*)(?::(?=:)|#(?=#(?:vso)?\[))", re.MULTILINE)


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
    return "".join(
        character if character.isprintable() or character in keep else "\ufffd" for character in text
    )


def replace_invisible_on_page(text: str) -> str:
    """Return a text for an element of a page: as `replace_invisible`, with line ends and the spaces that ordinary pages have."""
    return replace_invisible(text.replace("\r\n", "\n"), keep=_HARMLESS_INVISIBLE)


def without_commands(text: str) -> str:
    """Return a text that is no command to a CI system: what begins one gets the replacement character."""
    return _COMMAND.sub("\\1\ufffd", text)


def to_letters(name: str) -> str:
    """Return a name without case and separators."""
    return re.sub(r"[\W_]", "", name.lower())
