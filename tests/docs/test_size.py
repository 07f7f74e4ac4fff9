"""The docs stay short: so many pages and words, whatever stands in them."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
MOST_PAGES, MOST_WORDS = 25, 24_000
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
