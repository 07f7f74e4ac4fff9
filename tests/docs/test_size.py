"""The docs stay short: so many pages and words, whatever stands in them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MOST_PAGES, MOST_WORDS = 29, 27_000
MOST_CHARACTERS_OF_CHANGES = 6_000
"""No version is released: the list says what the first one has, not how it came to be."""
_WORD = re.compile(r"\S*\w\S*")
"""Between spaces, with a letter or a digit: the bars and rules of a table are no words. Code and tables count."""
_GENERATED = re.compile(r"<!-- ([\w-]+):begin -->.*?<!-- \1:end -->", re.DOTALL)
"""What a test or benchmark writes; it does not count."""


def test_the_docs_are_short() -> None:
    words = {
        path.relative_to(DOCS).as_posix(): len(
            _WORD.findall(_GENERATED.sub("", path.read_text(encoding="utf-8")))
        )
        for path in sorted(DOCS.rglob("*.md"))
    }
    print(words)
    assert len(words) <= MOST_PAGES
    assert sum(words.values()) <= MOST_WORDS


def test_the_changelog_is_short() -> None:
    characters = len((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert characters <= MOST_CHARACTERS_OF_CHANGES, (
        "write what a user can do, in one short sentence; how it works stands in the docs"
    )
