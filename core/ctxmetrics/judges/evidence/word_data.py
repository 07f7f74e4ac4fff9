"""The word lists, by what they are for and by language."""

from __future__ import annotations

from typing import Any

from ctxmetrics._internal.data_files import read_data

LISTS: dict[str, Any] = read_data("judges.evidence", "words.json")


def base_language(language: str) -> str:
    """Return the language of a tag: ``en`` for ``en-GB``, ``EN_us``."""
    return language.lower().replace("_", "-").partition("-")[0]
