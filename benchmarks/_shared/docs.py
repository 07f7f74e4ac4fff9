"""Tables that a benchmark writes into a page of the docs, between two marks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "measured-faults.md"
_PEERS = ("ragas", "deepeval", "instructor", "openai")


def marks(name: str) -> tuple[str, str]:
    """Return what stands before and after a benchmark's table."""
    return f"<!-- {name}:begin -->", f"<!-- {name}:end -->"


def table_of(name: str, page: Path = PAGE) -> str:
    """Return a benchmark's table as a page has it."""
    begin, end = marks(name)
    return page.read_text(encoding="utf-8").split(begin)[1].split(end)[0]


def write(name: str, table: str, page: Path = PAGE, peers: Sequence[str] = _PEERS) -> None:
    """Put a table between a benchmark's marks, and what it was run with."""
    put(page, name, f"{table}\n\n{with_versions(peers)}")


def with_versions(peers: Sequence[str]) -> str:
    """Return the line that says what a table was made with."""
    return f"With {', '.join(f'{peer} {version(peer)}' for peer in peers)}."


def put(page: Path, name: str, text: str, around: str = "\n") -> None:
    """Put a text between the marks of a name on a page; inside a line with nothing around it."""
    begin, end = marks(name)
    head, rest = page.read_text(encoding="utf-8").split(begin)
    shown = f"{begin}{around}{text}{around}{end}"
    page.write_text(head + shown + rest.split(end)[1], encoding="utf-8")


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def figures(head: str, rows: Iterable[Sequence[object]]) -> str:
    """Return figures as a table in Markdown, fractions with three digits; ``head`` has its cells between bars."""
    lines = [f"| {head} |", "|---" * len(head.split(" | ")) + "|"]
    for row in rows:
        cells = [f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
