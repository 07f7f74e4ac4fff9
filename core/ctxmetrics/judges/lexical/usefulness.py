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
from ctxmetrics.judges.evidence.chunks import Token
from ctxmetrics.judges.evidence.words import tokenize
from ctxmetrics.judges.lexical.index import WordIndex
from ctxmetrics.judges.lexical.phrase import ParsedText
from ctxmetrics.judges.lexical.support import TOLERANCE, Rules, choose_fullest
from ctxmetrics.text.character_spans import INSIDE_NUMBER, Span
from ctxmetrics.text.visible import see
from ctxmetrics.verdicts import Evidence, Verdict

# The usual parameters of BM25.
_BM25_K1 = 1.2
_BM25_B = 0.75
# How many words a reason lists.
_MAX_WORDS_LISTED = 6


def join_items(items: Sequence[str]) -> str:
    """Join the first items, and say how many more there are."""
    text = ", ".join(items[:_MAX_WORDS_LISTED])
    more = len(items) - _MAX_WORDS_LISTED
    return f"{text} and {more} more" if more > 0 else text


def judge_usefulness(
    answer: ParsedText, index: WordIndex, request: JudgeRequest, rules: Rules
) -> tuple[Verdict, ...]:
    """Return one verdict for each context."""
    if not answer.content_positions:
        return _judge_literally(answer.text, request)
    shares = bm25_shares(answer, index)
    bits_by_context = index.masks(answer.bits)
    best_share = max(shares, default=0.0)
    verdicts = []
    for context, (id_, share) in enumerate(zip(request.context_ids, shares, strict=True)):
        relative = share / best_share if best_share else 0.0
        is_near_best = relative >= rules.min_relative - TOLERANCE
        # A context without a word of the answer has no evidence, so that it is useless even if both bars are 0.
        is_useful = share >= rules.min_share - TOLERANCE and is_near_best and share > 0
        bits_by_sentence = bits_by_context.get(context, {})
        context_bits = reduce(or_, bits_by_sentence.values(), 0)
        matched_keys = [key for key, bits in answer.bits.items() if context_bits & bits]
        matched_words = answer.spelled(matched_keys)
        reason = f"{len(matched_keys)} of {len(answer.content_positions)} words of the answer"
        if matched_keys:
            reason += f": {join_items(matched_words)}"
        if matched_keys and not is_useful:
            reason += f" (share {share:.2f}, {relative:.2f} of the best context's)"
        sentences = choose_fullest(bits_by_sentence, rules.max_sentences) if is_useful else ()
        details = {"share": share, "relative": relative, "matched_words": matched_words}
        verdicts.append(
            Verdict(
                id=id_,
                value=is_useful,
                text=request.contexts[context],
                reason=reason,
                evidence=tuple(index.evidence(sentence, request.contexts) for sentence in sentences),
                details=FrozenDict(details),
            )
        )
    return tuple(verdicts)


def bm25_shares(answer: ParsedText, index: WordIndex) -> list[float]:
    """Return for each context the BM25 score of the answer's words, divided by the score of the answer itself as a context.

    BM25 is ``sum(idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean length)))`` with ``idf = ln(1 + (n - df +
    0.5) / (df + 0.5))``; n, df and the lengths come from the contexts themselves. Words that are in no context weigh
    most: a single context as long as the answer needs about a third of its words, a shorter one less. Range 0 to 1.
    """
    context_count = len(index.lengths)
    mean_length = sum(index.lengths) / max(1, context_count)
    if not mean_length:
        mean_length = 1.0
    length_terms = [_length_term(length / mean_length) for length in index.lengths]
    # The answer as if it were a context: its length and how often it has each of its words.
    length_term_of_answer = _length_term(len(answer.tokens) / mean_length)
    counts_in_answer = Counter(answer.content_sequence)
    bm25 = [0.0] * context_count
    bm25_of_answer = 0.0
    for key in answer.content_positions:
        counts_by_context: dict[int, int] = {}  # how often each context has the word
        for sentence in index.sentences(key):
            context = index.owners[sentence]
            counts_by_context[context] = counts_by_context.get(context, 0) + 1
        contexts_with_word = len(counts_by_context)
        idf = log(1 + (context_count - contexts_with_word + 0.5) / (contexts_with_word + 0.5))
        count_in_answer = counts_in_answer[key]
        bm25_of_answer += idf * count_in_answer / (count_in_answer + length_term_of_answer)
        for context, count in counts_by_context.items():
            bm25[context] += idf * count / (count + length_terms[context])
    return [min(1.0, value / bm25_of_answer) for value in bm25]


def _length_term(relative_length: float) -> float:
    """Return the term of BM25 by which a longer context needs more occurrences of a word."""
    return _BM25_K1 * (1 - _BM25_B + _BM25_B * relative_length)


def _judge_literally(text: str, request: JudgeRequest) -> tuple[Verdict, ...]:
    """Judge contexts for an answer without content words: a context is useful if the answer stands there word for word."""
    verdicts = []
    for number, id_ in enumerate(request.context_ids):
        context = request.contexts[number]
        span = find_literal(text, context, number)
        is_useful = span is not None
        share = 1.0 if is_useful else 0.0
        reason = "the answer has no content word and does not stand here"
        if is_useful:
            reason = "has the answer word for word"
        verdict = Verdict(
            id=id_,
            value=is_useful,
            text=context,
            reason=reason,
            evidence=() if span is None else (span,),
            details=FrozenDict({"share": share, "relative": share, "matched_words": ()}),
        )
        verdicts.append(verdict)
    return tuple(verdicts)


def find_literal(text: str, context: str, number: int) -> Evidence | None:
    """Find a text's words in a context one after the other, with any marks between them. A text without words is found as it is."""
    view = see(context)
    text = see(text).text
    words = tokenize(text)
    if words:
        pattern = _pattern(words)
    elif text.strip():
        pattern = re.compile(re.escape(text.strip()))
    else:
        return None
    match = pattern.search(view.text)
    if match is None:
        return None
    start, end = view.to_source(Span(*match.span()))
    return Evidence(number, start, end, context[start:end])


def _pattern(words: Sequence[Token]) -> re.Pattern[str]:
    """Build the pattern of words one after the other.

    No letter or digit stands before the first word and after the last word. A number is not found in a longer one ("1" in "0.1").
    """
    spellings = [_spelling_pattern(word) for word in words]
    no_letter_before = "" if words[0].kind == "character" else r"(?<![^\W_])(?<![^\W_]['’])"
    no_letter_after = "" if words[-1].kind == "character" else r"(?!['’]?[^\W_])"
    pattern = no_letter_before + r"[\W_]+".join(spellings) + no_letter_after
    return re.compile(rf"(?!{INSIDE_NUMBER}){pattern}(?!{INSIDE_NUMBER})", re.IGNORECASE)


def _spelling_pattern(word: Token) -> str:
    """Return the pattern of a word: any apostrophe for another, any white space inside a quantity."""
    pieces = map(re.escape, word.spelling.split())
    return r"\s+".join(re.sub("['’]", "['’]", piece) for piece in pieces)
