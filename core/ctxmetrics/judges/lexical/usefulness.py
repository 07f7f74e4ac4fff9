"""Which contexts are useful for an answer: BM25 of its words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import log

from ctxmetrics._internal.frozen import FrozenDict
from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.evidence.words import Token, tokens
from ctxmetrics.judges.lexical.index import Index
from ctxmetrics.judges.lexical.phrase import Phrase
from ctxmetrics.judges.lexical.support import TOLERANCE, Rules, fullest
from ctxmetrics.text import INSIDE_NUMBER
from ctxmetrics.verdicts import Evidence, Verdict

_K1, _B = 1.2, 0.75
_LONGEST_LIST = 6


def join_items(items: Sequence[str]) -> str:
    """Join the first items, and say how many more there are."""
    text = ", ".join(items[:_LONGEST_LIST])
    more = len(items) - _LONGEST_LIST
    return f"{text} and {more} more" if more > 0 else text


def usefulness(
    answer: Phrase, index: Index, request: JudgeRequest, rules: Rules
) -> tuple[Verdict, ...]:
    """Return one verdict a context."""
    if not answer.content:
        return _literal_usefulness(answer.text, request)
    shares, masks = bm25_shares(answer, index), index.masks(answer.content)
    best = max(shares, default=0.0) or 1.0
    verdicts = []
    for number, (id_, share) in enumerate(zip(request.context_ids, shares, strict=True)):
        relative = share / best
        # A yes has evidence, whatever the bars.
        near = relative >= rules.min_relative - TOLERANCE
        useful = share >= rules.min_share - TOLERANCE and near and share > 0
        inside = range(index.first[number], index.first[number + 1] if useful else 0)
        keys = [key for key in answer.content if index.sentences(key, number)]
        matched = answer.spelled(keys)
        reason = f"{len(keys)} of {len(answer.content)} words of the answer"
        if keys:
            reason += f": {join_items(matched)}"
        if keys and not useful:
            reason += f" (share {share:.2f}, {relative:.2f} of the best context's)"
        fullest_sentences = fullest(masks, inside, rules.max_sentences)
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


def bm25_shares(answer: Phrase, index: Index) -> list[float]:
    """Return for each context BM25 of the answer's words over what a context that is the answer itself would get.

    BM25 is ``sum(idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean length)))`` with ``idf = ln(1 + (n - df +
    0.5) / (df + 0.5))``; n, df and the lengths come from the contexts themselves. Words that are in no context weigh
    most: a single context as long as the answer needs about a third of its words, a shorter one less. Range 0 to 1.
    """
    n = len(index.lengths)
    mean = sum(index.lengths) / max(1, n) or 1.0
    damping = [_damping(length / mean) for length in index.lengths]
    own, itself = _damping(len(answer.tokens) / mean), Counter(answer.sequence)
    totals, most = [0.0] * n, 0.0
    for key in answer.content:
        counts = Counter(index.owners[sentence] for sentence in index.sentences(key))
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
    words = tokens(text)
    pattern = _pattern(words) if words else re.compile(re.escape(text.strip()) or "(?!)")
    match = pattern.search(context)
    return Evidence(number, *match.span(), match[0]) if match else None


def _pattern(words: Sequence[Token]) -> re.Pattern[str]:
    """Return the pattern of words one after the other.

    No letter or digit stands before the first and after the last, and a number is no part of another ("1" in "0.1").
    """
    spellings = [re.sub("['’]", "['’]", re.escape(word.spelling)) for word in words]
    before = "" if words[0].kind == "character" else r"(?<![^\W_])(?<![^\W_]['’])"
    after = "" if words[-1].kind == "character" else r"(?!['’]?[^\W_])"
    pattern = before + r"[\W_]+".join(spellings) + after
    return re.compile(rf"(?!{INSIDE_NUMBER}){pattern}(?!{INSIDE_NUMBER})", re.IGNORECASE)
