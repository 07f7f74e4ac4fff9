"""docs/files.md lists the files that are read; ``python tests/docs/test_known_files.py`` writes the table."""

from __future__ import annotations

import logging
import shlex
import sys
import tempfile
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from ctxmetrics import read_samples
from support.known_files import GOLD, ROW, SETS, STORES

PAGE = Path(__file__).parents[2] / "docs" / "files.md"
HEAD = "| file | read as retrieved | read as expected |\n|---|---|---|\n"
_EXPECTED = ("reference", "references", "reference_contexts", "reference_context_ids")


def build_table() -> str:
    """Build the table: where what was retrieved and what is expected stand in each file, or the option that it needs."""
    retrieved: dict[str, dict[str, None]] = {}
    expected: dict[str, dict[str, None]] = {}
    logging.getLogger("ctxmetrics").disabled = True
    with tempfile.TemporaryDirectory() as folder:
        for file in (*STORES, *SETS):
            path = Path(folder) / f"{file.name}.{'jsonl' if file.lines else 'json'}"
            path.write_text(file.text())
            options = [option for option in file.options if option != "--map"]
            columns = dict(option.rpartition("=")[::2] for option in options)
            mapping = read_samples(path, columns=columns).reading.mapping
            place = mapping.get("retrieved_contexts", mapping.get("retrieved_context_ids"))
            line = f"`--map {shlex.quote(options[0])}`" if options else f"`{place}`"
            retrieved.setdefault(file.system, {})[line] = None
            places = [mapping[name] for name in _EXPECTED if name in mapping]
            own = dict.fromkeys(f"`{place}`" for place in places if place not in {*ROW, *GOLD, "gold"})
            expected.setdefault(file.system, {}).update(own)
    logging.getLogger("ctxmetrics").disabled = False
    rows = [
        f"| {name} | {', '.join(retrieved[name])} | {', '.join(expected[name])} |\n"
        for name in retrieved
    ]
    return HEAD + "".join(rows)


def test_the_page_lists_the_files_that_are_read() -> None:
    assert build_table() in PAGE.read_text(encoding="utf-8")


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(HEAD)
    after = rest[rest.index("<!-- known-files:end -->") :]
    PAGE.write_text(before + build_table() + after, encoding="utf-8")
