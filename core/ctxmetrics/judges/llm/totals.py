"""What a reply says about all units together: how many are supported, or one verdict about all of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from ctxmetrics.judges.llm.own_keys import DEEPEST, LONGEST_SHOWN, REPLY_LISTS
from ctxmetrics.judges.llm.remarks import (
    FRACTION,
    LONGEST_TEXT,
    MOST_KEYS,
    NO_LETTER,
    PERCENT,
    WORDS,
    get_words,
    is_number,
    read_value,
)
from ctxmetrics.prompts import Pack

# How many of the sentences a text calls supported.
_COUNT_IN_TEXT = re.compile(
    r"""
    # "3 of the 7 sentences are supported", "3/7 claims grounded", "only three statements are confirmed"
      \b (?P<count>\w+) (?: \s* (?:of|out\s+of|/) \s* (?:the\s+)? \w+ )? \s+
      (?:sentences|claims|statements) \s+ (?: (?:is|are|were) \s+ )? (?!not\b|part) (?:\w+\s+)?
      (?:supported|grounded|stated|verified|confirmed)\b
    # "4 of 7 fail", "4 of the 7 claims are unsupported"
    | \b (?P<failed>\w+) \s+ (?:of|out\s+of) \s+ (?:the\s+)? \w+ \s+ (?: (?:sentences|claims|statements) \s+ )?
      (?: fail(?:s|ed)?\b | (?:is|are) \s+ (?:unsupported|not\s+supported) )
    # "3 of 7 supported", "recall: 3/7"
    | \b (?P<part>\d+) \s* (?:of|out\s+of|/) \s* (?P<all>\d+) \s+ (?: (?:is|are|were) \s+ )? (?:supported|grounded)\b
    | \b recall \W{1,3} (?P<share>\d+) \s*/\s* (?P<units>\d+)
    # "3 are supported", "3 yes, 4 no", "supported: 3"
    | \b (?P<number>\d+) \s+ (?: (?:are\s+)? supported\b | yes\b (?=\W+ \d+ \s+ no\b) )
    | (?<!un)(?<!not\ ) \b supported \s*:\s* (?P<named>\d+)\b (?!\s*/)
    """,
    re.VERBOSE,
)
# The groups of this pattern that hold the count; "failed" is the count of the unsupported ones.
_COUNT_GROUPS = ("count", "failed", "part", "share", "number", "named")
# A share of the sentences, as in "43% of the sentences are supported".
_PERCENT_IN_TEXT = re.compile(
    r"\b(?P<percent>\d{1,3}(?:\.\d+)?)\s*%\s+of\s+(?:the\s+)?(?:sentences|claims|statements)\s+(?:is|are|were)\s+(?:\w+\s+)?supported"
)
# How much a share of the sentences may differ from a whole number of sentences because the share was rounded.
_ROUNDING_TOLERANCE = 0.051


def count_supported(
    data: Mapping[str, Any], total: int, pack: Pack, depth: int = 0
) -> Iterator[tuple[str, int]]:
    """Read how many units are supported according to keys beside the lists of a reply.

    Args:
        data: The reply, or an object within it.
        total: The number of units that the reply is about.
        pack: The prompt's language.
        depth: How deep in the reply the object stands.

    Yields:
        Each such key, and the number of supported units that it gives.

    >>> from ctxmetrics.prompts import get_pack
    >>> [*count_supported({"supported_count": 3, "score": "3/7"}, 7, get_pack("en"))]
    [('supported_count', 3), ('score', 3)]
    """
    has_total = any(data.get(key) == total for key in ("total", "max", "out_of", "maximum"))
    for key, value in islice(data.items(), MOST_KEYS):
        name = NO_LETTER.sub("", str(key).casefold())
        if isinstance(value, str):
            yield from ((str(key), count) for count in _count_in_text(name, value, total))
        if isinstance(value, Mapping) and key not in REPLY_LISTS and depth < DEEPEST:
            yield from ((str(key), count) for count in _count_by_label(value, total, pack))
            yield from count_supported(value, total, pack, depth + 1)
        counts_unsupported = name in get_words("unsupported_shares")
        is_share = counts_unsupported or name in get_words("shares")
        share = _read_share(value) if is_share else None
        counts_supported = name in get_words("supported_counts")
        is_grade_of_total = has_total and name in get_words("grades")
        value_as_count = value if isinstance(value, int) and not isinstance(value, bool) else None
        if value_as_count is not None and name in get_words("unsupported_counts"):
            yield str(key), total - value_as_count
        elif value_as_count is not None and (counts_supported or is_grade_of_total):
            yield str(key), value_as_count
        elif share is not None:
            count = round(share * total)
            if abs(share * total - count) <= _ROUNDING_TOLERANCE * total:
                yield str(key), total - count if counts_unsupported else count


def _count_by_label(counts: Mapping[str, Any], total: int, pack: Pack) -> Iterator[int]:
    """Read the number of supported units from an object of counts: ``{"supported": 3, "unsupported": 4}``."""
    supported_count = 0
    labels = set()
    for name, count in counts.items():
        label = read_value(str(name), pack)
        if label is None or not isinstance(count, int) or isinstance(count, bool):
            continue
        labels.add(label)
        supported_count += count if label else 0
        total -= count
    if len(labels) == len((True, False)) and total == 0:
        yield supported_count


def _count_in_text(name: str, text: str, total: int) -> Iterator[int]:
    """Read the number of supported units from a grade ("3/7") or a text ("only three sentences are supported")."""
    fraction = FRACTION.fullmatch(text.strip())
    is_grade = name in get_words("grades") or name in get_words("shares")
    if is_grade and fraction is not None and fraction[2] == str(total):
        count_in_fraction = float(fraction[1])
        if count_in_fraction <= total:
            yield round(count_in_fraction)
    for match in _PERCENT_IN_TEXT.finditer(text[:LONGEST_TEXT].casefold()):
        share = float(match["percent"]) / 100
        if abs(share * total - round(share * total)) <= _ROUNDING_TOLERANCE * total:
            yield round(share * total)
    for match in _COUNT_IN_TEXT.finditer(text[:LONGEST_TEXT].casefold()):
        stated_total = match["units"] or match["all"]
        if stated_total not in (None, str(total)):
            continue
        word = next(match[name] for name in _COUNT_GROUPS if match[name])
        count = str(WORDS["counts"].get(word, word))
        if count.isdecimal():
            yield total - int(count) if match["failed"] else int(count)


def _read_share(value: Any) -> float | None:
    """Read a share: .43, or 43 %."""
    share = value
    if isinstance(value, str):
        percent = PERCENT.fullmatch(value.strip())
        share = None if percent is None else float(percent[1]) / 100
    return share if is_number(share) and 0 <= share <= 1 else None


def find_verdict_on_all(data: Mapping[str, Any], verdict: bool, pack: Pack) -> str | None:
    """Return a key beside the lists that contradicts the equal verdicts about all units, with its value; None if there is none.

    Args:
        data: The reply.
        verdict: The verdict that the reply gives about every unit.
        pack: The prompt's language.

    >>> from ctxmetrics.prompts import get_pack
    >>> find_verdict_on_all({"all_supported": False}, True, get_pack("en"))
    'all_supported: False'
    """
    for key, value in data.items():
        name = NO_LETTER.sub("", str(key).casefold())
        opinion = None
        if name in get_words("about_all"):
            opinion = read_value(value, pack)
        elif name in get_words("about_none"):
            says_none = read_value(value, pack)
            opinion = None if says_none is None else not says_none
        if opinion is not None and opinion is not verdict:
            return f"{key}: {value}"[:LONGEST_SHOWN]
    return None
