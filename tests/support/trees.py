"""Syntax trees of Python code."""

from __future__ import annotations

import ast


def parse(code: str, name: str = "<unknown>") -> ast.Module:
    """Return the tree of some code.

    Python before 3.11.8 raises ``SystemError`` for right code where another thread, or a collection of garbage, parses in the
    middle of it. A process of many tests has such threads: the same code is then parsed again.
    """
    tries = 100
    while True:
        tries -= 1
        try:
            return ast.parse(code, name)
        except SystemError:
            if tries == 0:
                raise
