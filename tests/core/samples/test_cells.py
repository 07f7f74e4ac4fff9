"""Lists and objects that Python printed into one text."""

from __future__ import annotations

import ast
import csv
import gc
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import read_samples

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


python_parse = ast.parse


def parse_deeper(frames: int) -> None:
    if frames:
        parse_deeper(frames - 1)
    else:
        python_parse("1")


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Let other code parse in the middle of the first parse: a collection of garbage does here, as another thread may."""
    texts: list[str] = []
    before = gc.get_threshold()

    def parse(text: str, *others: Any, **options: Any) -> ast.AST:
        texts.append(text)
        gc.set_threshold(1)
        try:
            return python_parse(text, *others, **options)
        finally:
            gc.set_threshold(*before)

    def parse_too(phase: str, _: object) -> None:
        if phase == "start" and len(texts) == 1:
            parse_deeper(20)

    monkeypatch.setattr(ast, "parse", parse)
    gc.callbacks.append(parse_too)
    yield texts
    gc.callbacks.remove(parse_too)


def test_list_is_read_while_others_parse(tries: list[str], tmp_path: Path) -> None:
    contexts = [f"Paris has {number} parks." for number in range(300)]
    path = tmp_path / "samples.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(
            [["reference", "retrieved_contexts"], ["Paris has parks.", str(contexts)]]
        )
    (sample,) = read_samples(path)
    assert tries
    assert list(sample.retrieved_contexts or ()) == contexts
