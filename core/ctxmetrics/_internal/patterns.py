"""Regular expressions that are compiled when they are first used."""

from __future__ import annotations

import re
from typing import Any, cast

_METHODS = ("match", "fullmatch", "search", "finditer", "findall", "split", "sub", "subn")


class _UncompiledPattern:
    """A regular expression that is compiled at the first use of one of its methods.

    Attributes:
        pattern: The regular expression as a text.
    """

    pattern: str

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """Compile the pattern, and copy its methods to this object, so that later calls take no extra time."""
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def compile_on_use(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern that is compiled when it is first used.

    Most runs use few of the patterns of the library. To compile all of them took a tenth of the start of a command.
    """
    return cast("re.Pattern[str]", _UncompiledPattern(pattern, flags))
