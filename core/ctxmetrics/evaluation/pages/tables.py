"""A table as data, and how it is written: as text, as Markdown, and on a page (`table.html`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Generic, TypeVar

from ctxmetrics._internal.text_table import align_rows

Item = TypeVar("Item")
# Characters with a meaning in Markdown; an underscore inside a word has none.
_MARKDOWN_CHARACTER = re.compile(r"[\\`*{}\[\]()#|~@]|\b_|_\b|:(?=//)|(?<=www)\.")


@dataclass(frozen=True, slots=True)
class Bar:
    """A share from 0 to 1, which a page draws as a bar.

    Attributes:
        share: The share; None if there is none.
        interval: The ends of the share's interval, which a page draws as a line on the bar.
    """

    share: float | None
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table.

    Attributes:
        text: The text of the cell.
        bar: The bar that a page draws beside the text.
        address: The address of a link in a page.
        kind: The CSS class of the cell on a page: ``yes``, ``no`` or empty.
    """

    text: str
    bar: Bar | None = None
    address: str | None = None
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Column(Generic[Item]):
    """One column of a table, with functions that read an item.

    Attributes:
        title: The title of the column.
        value: A function that returns the value of an item; a value of None is written as ``-``.
        form: The format of the value, such as ``.3f``.
        bar: A function that returns the bar beside the value.
        address: A function that returns the address of the link in the cell.
    """

    title: str
    value: Callable[[Item], Any]
    form: str = ""
    bar: Callable[[Item], Bar] | None = None
    address: Callable[[Item], str | None] | None = None

    def build_cell(self, item: Item) -> Cell:
        """Build the cell of an item."""
        return Cell(
            text=format_value(self.value(item), self.form),
            bar=None if self.bar is None else self.bar(item),
            address=None if self.address is None else self.address(item),
        )


@dataclass(frozen=True, slots=True)
class Table:
    """A table. As a string, it is text with aligned columns.

    Attributes:
        titles: The titles of the columns.
        rows: The rows. The first cell of each is the name of the row.
    """

    titles: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @classmethod
    def build(cls, columns: Sequence[Column[Item]], items: Iterable[Item]) -> Table:
        """Build a table with a row for each item."""
        titles = tuple(column.title for column in columns)
        rows = tuple(tuple(column.build_cell(item) for column in columns) for item in items)
        return cls(titles, rows)

    def with_names(self, title: str, names: Sequence[str]) -> Table:
        """Return the table with a first column that names the runs or groups of its rows."""
        rows = tuple((Cell(name), *row) for name, row in zip(names, self.rows, strict=True))
        return Table((title, *self.titles), rows)

    def list_texts(self) -> list[list[str]]:
        """List the texts of all rows, the titles first."""
        return [[*self.titles], *([cell.text for cell in row] for row in self.rows)]

    def list_lines(self) -> list[str]:
        """List the lines of the table as text, the titles first."""
        return align_rows(self.list_texts())

    def __str__(self) -> str:
        return "\n".join(self.list_lines())

    def markdown(self) -> str:
        """Return the table as Markdown. Its texts are escaped."""
        rule = f"| {' | '.join(['---'] * len(self.titles))} |"
        titles, *rows = map(_join_cells, self.list_texts())
        return "\n".join([titles, rule, *rows])


def _join_cells(texts: Iterable[str]) -> str:
    """Write a row of a table in Markdown."""
    return f"| {' | '.join(map(escape_markdown, texts))} |"


def format_value(value: Any, form: str = "") -> str:
    """Write a value in a format. Write ``-`` for None."""
    return "-" if value is None else format(value, form)


def format_interval(interval: tuple[float, float] | None, form: str) -> str:
    """Write the ends of an interval in a format. Write ``-`` without an interval."""
    if interval is None:
        return "-"
    low, high = interval
    return f"{low:{form}} to {high:{form}}"


def escape_markdown(text: str) -> str:
    """Escape the characters with a meaning in Markdown and HTML. One line stays one line."""
    return _MARKDOWN_CHARACTER.sub(lambda match: f"&#{ord(match[0])};", escape(text, quote=False))
