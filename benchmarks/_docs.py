"""Tables that a benchmark writes into a page of the docs, between two marks."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "measured-faults.md"
_PEERS = ("ragas", "deepeval", "instructor", "openai")


def marks(name: str) -> tuple[str, str]:
    """Return what stands before and after a benchmark's table."""
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def table_of(name: str) -> str:
    """Return a benchmark's table as the page has it."""
    begin, end = marks(name)
    return PAGE.read_text(encoding="utf-8").split(begin)[1].split(end)[0]


def write(name: str, table: str) -> None:
    """Put a table between a benchmark's marks, and what it was run with."""
    begin, end = marks(name)
    head, rest = PAGE.read_text(encoding="utf-8").split(begin)
    seen = ", ".join(f"{peer} {version(peer)}" for peer in _PEERS)
    PAGE.write_text(
        f"{head}{begin}\n{table}\n\nWith {seen}.\n{end}{rest.split(end)[1]}", encoding="utf-8"
    )
