"""The phrases of runs and comparisons, in the language of their convention."""

from __future__ import annotations

from collections.abc import Mapping

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.scores import wording

# The phrases that a score alone does not have.
_PHRASES: Mapping[str, Mapping[str, str]] = read_data("evaluation.pages", "phrases.json")


def say(text: str, language: str) -> str:
    """Translate one of the library's own phrases. A phrase without a translation stays English."""
    phrase = _PHRASES.get(language, {}).get(text)
    return wording.say(text, language) if phrase is None else phrase
