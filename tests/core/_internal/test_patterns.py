"""Patterns that are compiled when they are first used."""

from __future__ import annotations

import copy
import re

import pytest

from ctxmetrics._internal import patterns
from ctxmetrics._internal.patterns import compile_on_use


def test_a_pattern_is_compiled_once_on_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    real_compile = re.compile

    def spy(pattern: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(pattern)
        return real_compile(pattern, flags)

    monkeypatch.setattr(patterns.re, "compile", spy)
    word = compile_on_use("[A-Z]+", re.IGNORECASE)
    assert word.pattern == "[A-Z]+"
    assert compiled == []
    assert word.findall("to be") == ["to", "be"]
    assert word.fullmatch("to be") is None
    assert word.sub("-", "to be") == "- -"
    assert compiled == ["[A-Z]+"]


def test_a_late_pattern_has_the_attributes_of_a_pattern() -> None:
    word = compile_on_use(r"(?P<first>\w)\w*")
    assert (word.groups, dict(word.groupindex)) == (1, {"first": 1})
    with pytest.raises(AttributeError):
        _ = word.no_such_attribute


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_late_pattern_can_be_copied_before_its_use(copied) -> None:
    assert copied(compile_on_use("b+")).search("abbc").group() == "bb"
