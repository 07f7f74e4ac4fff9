"""The layout of plain text: tables, wrapped lines and bars, for a terminal of 80 characters."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from unicodedata import category, east_asian_width

# The maximum number of characters of a line of a table.
WIDTH = 80
# The East Asian widths of characters that take two columns in a terminal.
_WIDE = frozenset({"W", "F"})
# The Unicode categories of characters that take no column.
_WITHOUT_WIDTH = frozenset({"Mn", "Me", "Cf"})
# The characters of a bar.
_BAR_WIDTH = 10


def align_rows(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows of a table as lines of text, each column as wide as its longest cell."""
    widths = [max(map(_measure_width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell + " " * (width - _measure_width(cell)) for cell, width in zip(row, widths, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def _measure_width(text: str) -> int:
    """Measure the width of a text in a terminal: 2 for each Chinese, Japanese or Korean character, 0 for a combining mark."""
    if text.isascii():
        return len(text)
    width = 0
    for character in text:
        if east_asian_width(character) in _WIDE:
            width += 2
        elif category(character) not in _WITHOUT_WIDTH:
            width += 1
    return width


def wrap(text: str, indent: str = "", hanging_indent: str = "  ") -> list[str]:
    """Break a text into lines of at most `WIDTH` characters.

    Args:
        text: The text.
        indent: The text before each line.
        hanging_indent: The additional indent of all lines except the first.
    """
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=" " * len(indent) + hanging_indent,
        break_on_hyphens=False,
    )


def draw_bar(share: float | None) -> str:
    """Draw a share from 0 to 1 as a bar of text; empty without one."""
    if share is None:
        return ""
    filled = round(min(max(share, 0.0), 1.0) * _BAR_WIDTH)
    return "█" * filled + "░" * (_BAR_WIDTH - filled)


def bar_fits(width: int) -> bool:
    """Return whether a bar has room beside lines of this width."""
    return width + 2 + _BAR_WIDTH <= WIDTH
