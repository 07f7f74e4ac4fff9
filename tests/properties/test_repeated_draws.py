"""Property tests draw the same examples in each run, in any order of the tests: see ``conftest.py``."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pathlib import Path


def draw() -> list[tuple[str, int]]:
    drawn: list[tuple[str, int]] = []

    @given(st.text(), st.integers())
    def note(text: str, number: int) -> None:
        drawn.append((text, number))

    note()
    return drawn


@pytest.mark.skipif(not settings().derandomize, reason="new examples are asked for")
def test_draws_are_the_same_whatever_modules_are_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = draw()
    module = ModuleType("constants")
    module.__file__ = str(tmp_path / "constants.py")
    lines = [f"NAME_{number} = ({number}, 'text {number}')" for number in range(100, 400)]
    (tmp_path / "constants.py").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setitem(sys.modules, "constants", module)
    assert len(before) == settings().max_examples
    assert draw() == before
