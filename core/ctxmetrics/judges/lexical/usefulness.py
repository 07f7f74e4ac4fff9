"""Which contexts are useful for an answer: BM25 of its words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import reduce
from math import log
from operator import or_

from ctxmetrics._internal.frozen import FrozenDict
from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.evidence.words import Token, tokens
from ctxmetrics.judges.lexical.index import WordIndex
from ctxmetrics.judges.lexical.phrase import Phrase
from ctxmetrics.judges.lexical.support import TOLERANCE, Rules, fullest
from ctxmetrics.text.character_spans import Span
from ctxmetrics.text.numbers import INSIDE_NUMBER
from ctxmetrics.text.visible import see
from ctxmetrics.verdicts import Evidence, Verdict

_K1 = 1.2
_B = 0.75
_LONGEST_LIST = 6


def join_items(items: Sequence[str]) -> str:
    """Join the first items, and say how many more there are."""
    text = ", ".join(items[:_LONGEST_LIST])
    more = len(items) - _LONGEST_LIST
    return f"{text} and {more} more" if more > 0 else text


def usefulness(
    answer: Phrase, index: WordIndex, request: JudgeRequest, rules: Rules
) -> tuple[Verdict, ...]:
    """Return one verdict a context."""
    if not answer.content:
        return _literal_usefulness(answer.text, request)
    shares = bm25_shares(answer, index)
    masks = index.masks(answer.bits)
    best = max(shares, default=0.0) or 1.0
    verdicts = []
    for number, (id_, share) in enumerate(zip(request.context_ids, shares, strict=True)):
        relative = share / best
        # A yes has evidence, whatever the bars.
        near = relative >= rules.min_relative - TOLERANCE
        useful = share >= rules.min_share - TOLERANCE and near and share > 0
        own = masks.get(number, {})
        present = reduce(or_, own.values(), 0)
        keys = [key for key, bits in answer.bits.items() if present & bits]
        matched = answer.spelled(keys)
        reason = f"{len(keys)} of {len(answer.content)} words of the answer"
        if keys:
            reason += f": {join_items(matched)}"
        if keys and not useful:
            reason += f" (share {share:.2f}, {relative:.2f} of the best context's)"
        fullest_sentences = fullest(own, rules.max_sentences) if useful else ()
        verdicts.append(
            Verdict(
                id=id_,
                value=useful,
                text=request.contexts[number],
                reason=reason,
                evidence=tuple(index.evidence(one, request.contexts) for one in fullest_sentences),
                details=FrozenDict({"share": share, "relative": relative, "matched_words": matched}),
            )
        )
    return tuple(verdicts)


def bm25_shares(answer: Phrase, index: WordIndex) -> list[float]:
    """Return for each context BM25 of the answer's words over what a context that is the answer itself would get.

    BM25 is ``sum(idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean length)))`` with ``idf = ln(1 + (n - df +
    0.5) / (df + 0.5))``; n, df and the lengths come from the contexts themselves. Words that are in no context weigh
    most: a single context as long as the answer needs about a third of its words, a shorter one less. Range 0 to 1.
    """
    n = len(index.lengths)
    mean = sum(index.lengths) / max(1, n) or 1.0
    damping = [_damping(length / mean) for length in index.lengths]
    own = _damping(len(answer.tokens) / mean)
    itself = Counter(answer.sequence)
    owners = index.owners
    totals = [0.0] * n
    most = 0.0
    for key in answer.content:
        counts: dict[int, int] = {}
        for sentence in index.sentences(key):
            owner = owners[sentence]
            counts[owner] = counts.get(owner, 0) + 1
        idf = log(1 + (n - len(counts) + 0.5) / (len(counts) + 0.5))
        most += idf * itself[key] / (itself[key] + own)
        for context, count in counts.items():
            totals[context] += idf * count / (count + damping[context])
    return [min(1.0, total / most) for total in totals]


def _damping(relative_length: float) -> float:
    return _K1 * (1 - _B + _B * relative_length)


def _literal_usefulness(text: str, request: JudgeRequest) -> tuple[Verdict, ...]:
    """Judge contexts for an answer without content words: useful where it stands word for word."""
    verdicts = []
    for number, id_ in enumerate(request.context_ids):
        span = find_literal(text, request.contexts[number], number)
        share = float(span is not None)
        reason = "the answer has no content word and does not stand here"
        if span:
            reason = "has the answer word for word"
        verdicts.append(
            Verdict(
                id=id_,
                value=span is not None,
                text=request.contexts[number],
                reason=reason,
                evidence=() if span is None else (span,),
                details=FrozenDict({"share": share, "relative": share, "matched_words": ()}),
            )
        )
    return tuple(verdicts)


def find_literal(text: str, context: str, number: int) -> Evidence | None:
    """Find a text's words in a context one after the other, whatever stands between them; else the text itself."""
    view = see(context)
    text = see(text).text
    words = tokens(text)
    pattern = _pattern(words) if words else re.compile(re.escape(text.strip()) or "(?!)")
    match = pattern.search(view.text)
    if match is None:
        return None
    start, end = view.to_source(Span(*match.span()))
    return Evidence(number, start, end, context[start:end])


def _pattern(words: Sequence[Token]) -> re.Pattern[str]:
    """Return the pattern of words one after the other.

    No letter or digit stands before the first and after the last, and a number is no part of another ("1" in "0.1").
    """
    spellings = [_spelling_pattern(word) for word in words]
    before = "" if words[0].kind == "character" else r"(?<![^\W_])(?<![^\W_]['’])"
    after = "" if words[-1].kind == "character" else r"(?!['’]?[^\W_])"
    pattern = before + r"[\W_]+".join(spellings) + after
    return re.compile(rf"(?!{INSIDE_NUMBER}){pattern}(?!{INSIDE_NUMBER})", re.IGNORECASE)


def _spelling_pattern(word: Token) -> str:
    """Return the pattern of a word: any apostrophe for another, any white space inside a quantity."""
    pieces = map(re.escape, word.spelling.split())
    return r"\s+".join(re.sub("['’]", "['’]", piece) for piece in pieces)
