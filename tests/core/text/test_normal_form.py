"""The normal form of a text is that of its characters one by one."""

from __future__ import annotations

import sys

import pytest

from ctxmetrics.text.normal_form import normalise, normalise_with_origin


@pytest.mark.slow
def test_normal_form_is_that_of_each_character() -> None:
    """Each character of Unicode stands beside a letter, a digit and white space."""
    different: list[int] = []
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        text = f"é{character}2{character}  {character} ü"
        characters, _ = normalise_with_origin(text)
        if normalise(text) != "".join(characters).strip():
            different.append(code)
    assert different == []
