"""Finds the name that a misspelt name is nearest to, for all messages with "Did you mean"."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from ctxmetrics._internal.display import to_plain_name

# The minimum similarity of two names, from 0 to 1, of which one may be a misspelling of the other.
_MIN_SIMILARITY = 0.75
# The maximum number of files in a folder whose names are compared.
_MAX_FILES_SEARCHED = 10_000


def find_near(name: str, names: Iterable[str]) -> str | None:
    """Find the name that a misspelt name is nearest to; None if none is near. Case and separators are ignored."""
    names_by_plain_name: dict[str, str] = {}
    for candidate in names:
        names_by_plain_name.setdefault(to_plain_name(candidate) or candidate, candidate)
    plain_name = to_plain_name(name) or name
    matches = difflib.get_close_matches(plain_name, names_by_plain_name, n=1, cutoff=_MIN_SIMILARITY)
    return names_by_plain_name[matches[0]] if matches else None


def suggest(name: str, names: Iterable[str]) -> str:
    """Write a sentence that suggests the nearest name: " Did you mean 'top_k'?"; empty if no name is near."""
    near = find_near(name, names)
    return f" Did you mean {near!r}?" if near is not None else ""


def suggest_file(path: str | os.PathLike[str]) -> str:
    """Write a sentence about a missing file: it suggests the file with the nearest name, or to check the path."""
    missing_file = Path(path)
    file_names: dict[str, str] = {}  # by the name without its ending
    try:
        with os.scandir(missing_file.parent) as entries:
            for entry in islice(entries, _MAX_FILES_SEARCHED):
                file_names.setdefault(Path(entry.name).stem, entry.name)
    except OSError:
        file_names.clear()
    near = find_near(missing_file.stem, sorted(file_names))
    if near is None or missing_file.exists():
        return " Check the path."
    return f" Did you mean '{missing_file.with_name(file_names[near])}'?"
