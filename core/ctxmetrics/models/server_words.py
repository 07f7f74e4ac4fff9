"""How servers and their clients say what went wrong: ``server_words.toml`` is the table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.frozen import FrozenDict

_DATA: Mapping[str, Any] = read_data("models", "server_words.toml")
# Codes, names of fields and classes, and beginnings of messages.
WORDS: Mapping[str, tuple[str, ...]] = FrozenDict(
    {name: tuple(words) for name, words in _DATA["words"].items()}
)
# What is searched for in texts in lower case.
PATTERNS: Mapping[str, re.Pattern[str]] = FrozenDict(
    {name: re.compile("|".join(parts)) for name, parts in _DATA["patterns"].items()}
)
