"""The name that a misspelt name stands for: the one function behind every "Did you mean"."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from pathlib import Path

from ctxmetrics._internal.display import to_letters

# How alike two names are at least, from 0 to 1, where one may be the other misspelt.
_MIN_SIMILARITY = 0.75
# The maximum number of files of a folder that are looked at.
_MAX_FILES_SEARCHED = 10_000


def find_near(name: str, names: Iterable[str]) -> str | None:
    """Find the name that another one is nearest to, case and separators aside; None if none is near."""
    by_letters: dict[str, str] = {}
    for item in names:
        by_letters.setdefault(to_letters(item) or item, item)
    letters = to_letters(name) or name
    matches = difflib.get_close_matches(letters, by_letters, n=1, cutoff=_MIN_SIMILARITY)
    return by_letters[matches[0]] if matches else None


def suggest(name: str, names: Iterable[str]) -> str:
    """Write the sentence that asks whether the nearest name is meant; empty if none is near."""
    near = find_near(name, names)
    return f" Did you mean {near!r}?" if near is not None else ""


def suggest_file(path: str | os.PathLike[str]) -> str:
    """Write the sentence about a file that is not there: the nearest name beside it, else that the path is to be checked."""
    asked = Path(path)
    names: dict[str, str] = {}
    try:
        with os.scandir(asked.parent) as entries:
            for entry, _ in zip(entries, range(_MAX_FILES_SEARCHED), strict=False):
                names.setdefault(Path(entry.name).stem, entry.name)
    except OSError:
        names.clear()
    near = find_near(asked.stem, sorted(names))
    if near is None or asked.exists():
        return " Check the path."
    return f" Did you mean '{asked.with_name(names[near])}'?"
