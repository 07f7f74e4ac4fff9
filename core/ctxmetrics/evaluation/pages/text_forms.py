"""How the lines of a comparison look: as text for a terminal, or as Markdown. Its template says what each line is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ctxmetrics.evaluation.pages.tables import Table, escape_markdown

# The kind of a line: a sentence, an item below a title, a detail of an item, or a part of a sentence.
LineKind: TypeAlias = Literal["sentence", "item", "detail", "part"]

_TEXT_LINE_PREFIXES = {"sentence": "", "item": "  ", "detail": "      ", "part": "  "}
_MARKDOWN_LINE_PREFIXES = {"sentence": "- ", "item": "- ", "detail": "  - ", "part": "  - "}


@dataclass(frozen=True, slots=True)
class TextForm:
    """Writes the lines of a template. In Markdown, texts are escaped.

    Attributes:
        is_markdown: Whether the lines are Markdown.
    """

    is_markdown: bool

    @property
    def gap(self) -> str:
        """The text before a list. Markdown needs a blank line there."""
        return "\n" if self.is_markdown else ""

    def escape(self, text: str) -> str:
        """Escape a text in Markdown."""
        return escape_markdown(text) if self.is_markdown else text

    def title(self, text: str, end: str = "") -> str:
        """Write a title. In plain text, ``end`` follows it."""
        return f"**{text}**{self.gap}" if self.is_markdown else f"{text}{end}"

    def table(self, table: Table) -> str:
        """Write a table."""
        return table.markdown() if self.is_markdown else str(table)

    def origin(self, name: str, origin: object) -> str:
        """Write where the first or the second run comes from."""
        if self.is_markdown:
            return f"- {name}: {escape_markdown(str(origin))}"
        return f"{name:<8}{origin}"

    def line(self, kind: LineKind, text: object) -> str:
        """Write a line of a kind."""
        if self.is_markdown:
            return _MARKDOWN_LINE_PREFIXES[kind] + escape_markdown(str(text))
        return f"{_TEXT_LINE_PREFIXES[kind]}{text}"

    def more(self, kind: LineKind, count: int, where: str) -> str:
        """Say how many lines of a kind are left out, and in plain text where they stand."""
        if self.is_markdown:
            return f"{_MARKDOWN_LINE_PREFIXES[kind]}and {count} more"
        return f"{_TEXT_LINE_PREFIXES[kind]}and {count} more: {where}"
