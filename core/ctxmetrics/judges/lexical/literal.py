"""Finding a text without content words in a context, word for word."""

from __future__ import annotations

import re

from ctxmetrics.judges.evidence.words import tokens
from ctxmetrics.text import Span
from ctxmetrics.verdicts import Evidence


def find_literal(text: str, context: str, number: int) -> Evidence | None:
    """Find a text's words in a context one after the other, whatever stands between them; else the text itself."""
    found = tokens(text)
    if not found:
        start = context.find(text.strip()) if text.strip() else -1
        span = Span(start, start + len(text.strip()))
    else:
        pattern = r"[\W_]+".join(re.sub("['’]", "['’]", re.escape(token.spelling)) for token in found)
        before = "" if found[0].kind == "character" else r"(?<![^\W_])(?<![^\W_]['’])"
        after = "" if found[-1].kind == "character" else r"(?!['’]?[^\W_])"
        match = re.search(before + pattern + after, context, re.IGNORECASE)
        span = Span(*match.span()) if match else Span(-1, -1)
    return None if span.start < 0 else Evidence(number, *span, context[span.start : span.end])
