"""Lists and objects that Python printed into one text."""

from __future__ import annotations

import ast
import csv
import gc
from typing import TYPE_CHECKING

import pytest

from ctxmetrics import read_samples

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def parse_deeper(frames: int) -> None:
    if frames:
        parse_deeper(frames - 1)
    else:
        ast.parse("1")


@pytest.fixture
def others_parse() -> Iterator[list[str]]:
    """Let other code parse in the middle of a parse: each collection of garbage does, as another thread may."""
    parsed: list[str] = []

    def parse(phase: str, _: object) -> None:
        if phase == "start" and len(parsed) < 60:
            parsed.append(phase)
            parse_deeper(20)

    before = gc.get_threshold()
    gc.callbacks.append(parse)
    gc.set_threshold(1)
    yield parsed
    gc.set_threshold(*before)
    gc.callbacks.remove(parse)


def test_list_is_read_while_others_parse(others_parse: list[str], tmp_path: Path) -> None:
    contexts = [f"Paris has {number} parks." for number in range(300)]
    path = tmp_path / "samples.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(
            [["reference", "retrieved_contexts"], ["Paris has parks.", str(contexts)]]
        )
    (sample,) = read_samples(path)
    assert others_parse
    assert [context.text for context in sample.retrieved_contexts or ()] == contexts
