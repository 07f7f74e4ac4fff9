"""Tables that a benchmark writes into a page of the docs, between two marks."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "measured-faults.md"
_PEERS = ("ragas", "deepeval", "instructor", "openai")


def marks(name: str) -> tuple[str, str]:
    """Return what stands before and after a benchmark's table."""
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def table_of(name: str, page: Path = PAGE) -> str:
    """Return a benchmark's table as a page has it."""
    begin, end = marks(name)
    return page.read_text(encoding="utf-8").split(begin)[1].split(end)[0]


def write(name: str, table: str, page: Path = PAGE, peers: Sequence[str] = _PEERS) -> None:
    """Put a table between a benchmark's marks, and what it was run with."""
    begin, end = marks(name)
    head, rest = page.read_text(encoding="utf-8").split(begin)
    seen = ", ".join(f"{peer} {version(peer)}" for peer in peers)
    page.write_text(
        f"{head}{begin}\n{table}\n\nWith {seen}.\n{end}{rest.split(end)[1]}", encoding="utf-8"
    )


def put(page: Path, name: str, text: str) -> None:
    """Put a text between the marks of a name on a page; ``begin`` and ``end`` stand close to the name there."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    head, rest = page.read_text(encoding="utf-8").split(begin)
    page.write_text(f"{head}{begin}\n{text}\n{end}{rest.split(end)[1]}", encoding="utf-8")


def put_inline(page: Path, name: str, text: str) -> None:
    """Put a text between the marks of a name inside a line."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    head, rest = page.read_text(encoding="utf-8").split(begin)
    page.write_text(f"{head}{begin}{text}{end}{rest.split(end)[1]}", encoding="utf-8")
