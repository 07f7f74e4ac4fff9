"""Each notebook runs, and what it shows is what a run gives."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("nbclient", reason="nbclient is not installed")

ROOT = Path(__file__).parents[2]
BOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def outputs(book) -> list[list[str]]:
    """The printed text and the values of each cell."""
    return [
        [output.get("text") or output.data["text/plain"] for output in cell.outputs]
        for cell in book.cells
        if cell.cell_type == "code"
    ]


def test_there_is_a_notebook_for_each_framework():
    assert [book.stem for book in BOOKS] == ["core", "deepeval", "langchain", "ragas"]


@pytest.mark.slow
@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_gives(path, monkeypatch):
    import nbformat

    monkeypatch.setenv("DEEPEVAL_FILE_SYSTEM", "READ_ONLY")
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "benchmarks" / "pictures.py")
    pictures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pictures)
    shown = nbformat.read(path, as_version=4)
    assert any(map(any, outputs(shown)))
    assert outputs(pictures.executed(path)) == outputs(shown)
