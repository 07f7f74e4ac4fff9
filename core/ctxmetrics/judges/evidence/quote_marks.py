"""What models write around a quote: the id of its context, quotation marks, the marks of Markdown, tags."""

from __future__ import annotations

import re
from functools import lru_cache

from ctxmetrics.judges.evidence.word_forms import LISTS

_MARK_CHARACTERS = " \t\r\n\"'`*_~|#=-–—•<>[](){}«»‹›“”„‟‘’‚「」『』\\"
# The number of characters at each end of a quote in which a label is looked for.
_MAX_LABEL_CHARACTERS = 120
# "c2 says: **quote**" has three layers.
_MAX_LAYERS = 5
_TAG_AT_END = re.compile(r"\A<[^<>]{1,60}>|<[^<>]{1,60}>\Z")


def take_off_marks(quote: str) -> str:
    """Return a quote without the marks and labels that a model wrote around it.

    >>> take_off_marks('Context c2 says: "**washed monthly**" [c2]')
    'washed monthly'
    """
    before, after = _labels()
    text = quote
    for _ in range(_MAX_LAYERS):
        bare = _TAG_AT_END.sub("", text.strip()).strip(_MARK_CHARACTERS)
        first_part = bare[:_MAX_LABEL_CHARACTERS]
        bare = before.sub("", first_part, count=1) + bare[_MAX_LABEL_CHARACTERS:]
        last_part = bare[-_MAX_LABEL_CHARACTERS:]
        bare = bare[:-_MAX_LABEL_CHARACTERS] + after.sub("", last_part, count=1)
        if bare == text:
            break
        text = bare
    return text


@lru_cache(maxsize=1)
def _labels() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a label before a quote, and behind one."""
    words = "|".join(map(re.escape, LISTS["quote_labels"]))
    before = rf"""\A
        (?:(?:{words})\s+){{0,4}}                       # According to context
        (?:
            c\s?\d{{1,4}}\b (?:[.]\d{{1,3}}\b)?           # c2, c2.1
            (?:\s*[,;]\s*(?:(?:{words})\s+)?c?\d{{1,4}}\b){{0,4}}  # , sentence 1
            (?:\s+(?:{words}))?                         # says
            [\s:.,;|/\])}}>"'*_–—-]*
            |
            (?: \d{{1,2}} | L\d{{1,4}} | (?:{words}) (?:\s+\d{{1,2}})? )  # 1. or L12: or Context 2: or Quote:
            \s*["'*_\])]*\s*[:.)]+[\s"'*_]+
        )
    """
    after = rf"""
        \s*
        (?:
            [\s:.,;|/\[({{<"'*_–—-]+
            (?:(?:{words})\s*[:.]?\s+){{0,4}}
            c\s?\d{{1,4}}
            (?:[\s,;&]+(?:(?:{words})\s+)?c?\d{{1,4}}){{0,8}}
            | [\[(]\s*\d{{1,2}}                           # [1
            | [⁰¹²³⁴-⁹]+
        )
        [\s.,;\])}}>"'*_]*\Z
    """
    flags = re.VERBOSE | re.IGNORECASE
    return re.compile(before, flags), re.compile(after, flags)
