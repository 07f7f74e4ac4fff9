"""Texts that are no more than an address, a file, a place, a number or an id."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.text.character_spans import has_content

_WORDS: Mapping[str, Sequence[str]] = read_data("samples", "keys.json")["passages"]
_NAMES = "|".join((*_WORDS["names"], *_WORDS["places"]))
# The endings of the names of documents and data.
_ENDINGS = "pdf|docx?|pptx?|xlsx?|odt|rtf|md|rst|txt|html?|xml|jsonl?|csv|tsv|epub"
# The whole of such a text.
ADDRESS_OR_NAME: re.Pattern[str] = re.compile(
    rf"""
    (?:[a-z][a-z0-9+.-]*:)?//\S+                          # an address
    | (?:[\w.-]*/)+[\w.-]+                                # a path
    | [^\s/]+\.[a-z][a-z0-9]{{1,4}}(?:[\#:?]\S*)?         # a file, perhaps with a place in it
    | [§\#+-]?\s?\d[\d.:/_-]*                             # a number, a date, a section
    | @\w+
    | [a-z]+(?:_[a-z]+)+                                  # words with marks between
    | [a-z]+(?:-[a-z]+){{2,}}
    | [a-z][\w.-]*:[^\s:]+                                # doc:intro
    | !?\[[^\]]*\]\(\S+\)                                 # a link of Markdown
    | (?=[^a-z]*[a-z])(?=\D*\d)                           # one word with a letter and a digit
      [\w:\#=+?&@-]+(?:\.\w[\w:\#=+?&@/-]*)*
    | §\s?\d+\s\w+\.?\s\d+                                # § 12 Abs. 3
    | (?:[^\n.?!]|\.(?!\s)){{1,150}}\.(?:{_ENDINGS})      # a file whose name has blanks
    | (?:{_NAMES})\W{{0,3}}\d+                            # page 7, Chunk #3
    """,
    re.IGNORECASE | re.VERBOSE,
)
# The characters of a text that are looked at: an address may go on.
LONGEST_NAME = 500


def is_no_text(text: str) -> bool:
    """Whether a text is no more than an address, a file, a place, a number or an id, or holds no letter or digit."""
    if not has_content(text):
        return True
    return ADDRESS_OR_NAME.fullmatch(text.strip()[:LONGEST_NAME]) is not None
