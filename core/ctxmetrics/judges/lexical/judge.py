"""The embedded judge as a judge: parameters, verdicts and their details."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache, partial
from itertools import chain
from typing import Any, ClassVar, get_args

from ctxmetrics._internal.frozen import FrozenDict
from ctxmetrics.formulas.checks import check_choice, check_number
from ctxmetrics.judges.base import Judgement, JudgeRequest, describe_rules
from ctxmetrics.judges.evidence.contradiction import list_contradicting_keys
from ctxmetrics.judges.evidence.reservations import list_reservation_keys
from ctxmetrics.judges.evidence.words import get_negation_keys
from ctxmetrics.judges.lexical.index import WordIndex, shared_index
from ctxmetrics.judges.lexical.phrase import ParsedText
from ctxmetrics.judges.lexical.support import Contradicted, Rules, Support, attribute
from ctxmetrics.judges.lexical.usefulness import find_literal, join_items, judge_usefulness
from ctxmetrics.models.runtime.background import in_thread
from ctxmetrics.verdicts import Evidence, Verdict

# What every score of this judge carries: one line.
LABEL = "Embedded lexical judge: compares words, does not understand them; measured in docs/embedded-judge.md#what-it-is-worth"
# Its version: a hash of its verdicts on the labelled samples of the library; a test computes it again.
VERSION = "lexical-b353b3be67bd"
# Characters of the contexts up to which a request is answered at once, in the event loop.
_MAX_CHARACTERS_AT_ONCE = 200_000


@dataclass(frozen=True, kw_only=True)
class LexicalJudge(Rules):
    """Judges by counting words. English was measured; other languages work, untested against people.

    **Support** of a unit: the best sentences of the contexts hold enough of the unit's content words::

        score = coverage - search_weight * s * log2(n / 8) / m
                - number_weight * (any number of the unit is missing)
                - name_weight * share of the unit's names that are missing  >=  min_coverage

    ``coverage`` is the share of the unit's m content words that stand in s sentences, chosen one by one
    for the most words out of n (at least 8); s is 1 to ``max_sentences``, whichever gives the highest
    score. They are looked for in each context alone, and in the first k contexts together for every k:
    with more sentences to choose from and fewer words to find, more words are found by chance. The
    deduction for a sentence is at most ``1 - min_coverage``: a sentence that holds every word supports
    the unit however long the context is. (A unit of several sentences may rest on as many: they count
    as one.) A number or a name is missing where it stands in none of the contexts that the sentences
    are from. Names are capitalised words of two letters or more that do not begin a sentence. A unit of
    stop words only is supported where its words stand in a context one after the other.

    **Contradiction**: the sentences that support a unit are compared with it for negations, for numbers before the same
    word, and for words that take a statement back (allegedly, until 2019, a condition that the question does not name). A yes
    is contradicted where every choice of sentences that supports the unit contradicts it.

    **Usefulness** of a context: its share is at least ``min_share`` and at least ``min_relative`` times the best
    context's. The share is BM25 of the answer's content words over what BM25 gives the answer itself, with document
    frequencies from the retrieved contexts (`bm25_shares`). Only the answer counts, not the question. An answer of
    stop words only makes those contexts useful in which it stands word for word.

    The ``details`` of a verdict about a unit:

    - ``score``: the score above.
    - ``coverage``: the coverage by the shown sentences.
    - ``missing_words``: the unit's words that none of these sentences holds.
    - ``missing_numbers``, ``missing_names``: those that none of the contexts of these sentences holds.
    - ``contradiction``: its kind and words, or None.
    - ``uncertain``: whether the verdict is a yes that is contradicted. Its code is then ``uncertain``, too.
    - ``smallest_k``: the smallest k for which the first k contexts give a yes, or None.
    - ``nearest``: only of a no, the spans of the nearest sentences.

    A yes has evidence in every context that supports the unit alone (``whole``). If several contexts together support it
    before the first of these, their parts are evidence too. The ``details`` of a verdict about a context: ``share``,
    ``relative``, ``matched_words``.

    Attributes:
        max_sentences: Context sentences that may support a unit together.
        min_coverage: The minimum score of a supported unit.
        search_weight: The deduction for each sentence: this number times log2(n / 8), in words of the unit.
        number_weight: The deduction if any number of the unit is missing.
        name_weight: The deduction if all names of the unit are missing. If some are missing, it is in proportion.
        min_share: The minimum share of a useful context.
        min_relative: The minimum share of a useful context, relative to the best context.
        contradiction: How a contradicted yes is treated: ``"flag"`` keeps it and flags it, ``"no"`` makes it a no.

    Raises:
        ParameterError: A parameter is out of range.
    """

    name: str = field(init=False, repr=False, compare=False)
    """``lexical``, with the parameters that are not the default."""
    warnings: tuple[str, ...] = field(default=(LABEL,), init=False, repr=False, compare=False)
    """What this judge is, and the page with its measured agreement with people."""
    waits: ClassVar[bool] = False
    """The judge waits for nothing, so that a sync call needs no other thread."""
    judges_stages_alone: ClassVar[bool] = True
    """The judge judges each stage of a retrieval alone, which costs nothing; other judges are asked once about all stages."""

    def __post_init__(self) -> None:
        check_number("LexicalJudge: max_sentences", self.max_sentences, 1, whole=True)
        rules = [item for item in fields(self) if item.init]
        for item in rules:
            if isinstance(item.default, float):
                check_number(f"LexicalJudge: {item.name}", getattr(self, item.name), 0, 1)
        check_choice("LexicalJudge: contradiction", self.contradiction, get_args(Contradicted))
        changed = describe_rules(self, [item.name for item in rules])
        object.__setattr__(self, "name", f"lexical{changed}")

    async def attribute(self, request: JudgeRequest) -> Judgement:
        """Say for each unit whether the contexts support it."""
        if _is_short(request):
            return Judgement(verdicts=_call_or_remember(self.support, request), served_model=VERSION)
        verdicts = await in_thread(partial(self.support, request))
        return Judgement(verdicts=verdicts, served_model=VERSION)

    async def rate(self, request: JudgeRequest) -> Judgement:
        """Say for each context whether it is useful for giving the answer."""
        if _is_short(request):
            return Judgement(verdicts=_call_or_remember(self.usefulness, request), served_model=VERSION)
        verdicts = await in_thread(partial(self.usefulness, request))
        return Judgement(verdicts=verdicts, served_model=VERSION)

    def support(self, request: JudgeRequest) -> tuple[Verdict, ...]:
        """The verdicts of `attribute`, one for each unit."""
        index = shared_index(request, find_keys)
        contexts = request.contexts
        units = [ParsedText.of(text, request.language) for text in request.units]
        index.index_sentences_with(frozenset().union(*(unit.find_forms() for unit in units)))
        verdicts = []
        for id_, unit in zip(request.unit_ids, units, strict=True):
            if not unit.content_positions:
                verdicts.append(_literal_verdict(id_, unit.text, contexts))
                continue
            reservation_keys = list_reservation_keys(unit.visible_text, request.language)
            support = attribute(unit, index, self, request, reservation_keys)
            verdicts.append(_build_unit_verdict(id_, unit, support, index, contexts))
        return tuple(verdicts)

    def usefulness(self, request: JudgeRequest) -> tuple[Verdict, ...]:
        """The verdicts of `rate`, one for each context.

        A context that stands several times is judged once: else its words would be frequent, and worth nothing.
        """
        # A dict keeps each key once, at its first place.
        distinct_contexts = tuple(dict.fromkeys(request.contexts))
        distinct_request = replace(request, contexts=distinct_contexts)
        answer = ParsedText.of(request.answer, request.language)
        word_index = shared_index(distinct_request, find_keys)
        word_index.index_sentences_with(answer.find_forms())
        verdicts = judge_usefulness(answer, word_index, distinct_request, self)
        if len(distinct_contexts) == len(request.contexts):
            return verdicts
        by_text = dict(zip(distinct_contexts, verdicts, strict=True))
        copies: list[Verdict] = []
        for index, (id_, text) in enumerate(zip(request.context_ids, request.contexts, strict=True)):
            verdict = by_text[text]
            evidence = tuple(replace(span, context=index) for span in verdict.evidence)
            copies.append(replace(verdict, id=id_, evidence=evidence))
        return tuple(copies)


def find_keys(request: JudgeRequest) -> frozenset[str]:
    """Return the keys to look for in the contexts: the keys of a request's texts, and of words that contradict these texts."""
    texts = (request.answer, *request.units)
    phrases = [ParsedText.of(text, request.language) for text in texts]
    keys = get_negation_keys(request.language)
    for phrase in phrases:
        keys |= phrase.find_forms()
        keys |= list_contradicting_keys(phrase.visible_text, request.language) or frozenset()
        keys |= list_reservation_keys(phrase.visible_text, request.language)
    return keys


# Calls a function, `support` or `usefulness` of a judge, with a request, and remembers the last verdicts: metrics that ask the
# same question one after the other, such as recall with several ``top_k``, share them.
_call_or_remember: Any = lru_cache(maxsize=16)(operator.call)


def _is_short(request: JudgeRequest) -> bool:
    """Whether the contexts are read at once: reading longer ones would hold up the event loop, so a worker thread does it."""
    return sum(map(len, request.contexts)) <= _MAX_CHARACTERS_AT_ONCE


def _build_unit_verdict(
    id_: str, unit: ParsedText, support: Support, index: WordIndex, contexts: Sequence[str]
) -> Verdict:
    """Build the verdict about a unit from its support in the contexts."""
    is_supported = support.smallest_k is not None
    shown = support.shown
    details = _measure(unit, support)
    evidence: list[Evidence] = []
    if is_supported:
        evidence = _list_evidence(support, index, contexts)
    else:
        details["nearest"] = tuple(
            {
                "context": index.owners[sentence],
                "start": index.starts[sentence],
                "end": index.ends[sentence],
            }
            for sentence in shown.sentences
        )
    reasons = [f"{shown.word_bits.bit_count()} of {unit.content_word_count} words found"]
    for plural in ("words", "numbers", "names"):
        missing = details[f"missing_{plural}"]
        if missing:
            reasons.append(f"missing {plural}: {join_items(missing)}")
    # The sentences hold enough words of the unit, but all of them say something else: the yes is then called uncertain.
    if support.contradiction:
        reasons.append(f"contradiction ({support.contradiction})")
    return Verdict(
        id=id_,
        value=is_supported,
        text=unit.text,
        reason="; ".join(reasons),
        code="uncertain" if details["uncertain"] else None,
        evidence=tuple(evidence),
        details=FrozenDict(details),
    )


def _list_evidence(support: Support, index: WordIndex, contexts: Sequence[str]) -> list[Evidence]:
    """List the sentences that support a unit: first the shown sentences, then the others in the order of the text."""
    sentences_by_context = {**support.parts, **support.whole}
    ordered_sentences = [
        sentence
        for sentence in support.shown.sentences
        if index.owners[sentence] in sentences_by_context
    ]
    ordered_sentences += sorted(chain.from_iterable(sentences_by_context.values()))
    evidence: list[Evidence] = []
    for sentence in dict.fromkeys(ordered_sentences):  # each sentence once
        states_unit_alone = index.owners[sentence] in support.whole
        evidence.append(index.evidence(sentence, contexts, whole=states_unit_alone))
    return evidence


def _measure(unit: ParsedText, support: Support) -> dict[str, Any]:
    """Measure the support of a unit, and return the details of its verdict."""
    shown = support.shown
    # A number or a name is missing if no context of the shown sentences has it; a word is missing if the sentences themselves do
    # not have it. The words that they have are bits (`Candidate`): a missing word has no bit in common with them.
    missing_numbers = [key for key in unit.numbers if not unit.bits[key] & shown.context_bits]
    missing_names = [key for key in unit.names if not unit.bits[key] & shown.context_bits]
    missing_words = []
    for key, bits in unit.bits.items():
        is_in_sentences = bool(bits & shown.word_bits)
        if not is_in_sentences and key not in missing_numbers:
            missing_words.append(key)
    contradiction = None
    if support.contradiction is not None:
        contradiction = FrozenDict(support.contradiction._asdict())
    return {
        "score": support.score,
        "coverage": shown.word_bits.bit_count() / unit.content_word_count,
        "missing_words": unit.spelled(missing_words),
        "missing_numbers": unit.spelled(missing_numbers),
        "missing_names": unit.spelled(missing_names),
        "contradiction": contradiction,
        "uncertain": support.smallest_k is not None and support.contradiction is not None,
        "smallest_k": support.smallest_k,
    }


def _literal_verdict(id_: str, text: str, contexts: Sequence[str]) -> Verdict:
    """Judge a unit without content words: its words must stand in a context one after the other."""
    spans = [find_literal(text, context, index) for index, context in enumerate(contexts)]
    evidence = [span for span in spans if span is not None]
    is_found = bool(evidence)
    reason = "has no content word and stands in no context word for word"
    if is_found:
        reason = "stands in a context word for word"
    details: Mapping[str, Any] = {
        "score": 1.0 if is_found else 0.0,
        "coverage": 1.0 if is_found else 0.0,
        "missing_words": (),
        "missing_numbers": (),
        "missing_names": (),
        "contradiction": None,
        "uncertain": False,
        "smallest_k": evidence[0].context + 1 if is_found else None,
    }
    return Verdict(
        id=id_,
        value=is_found,
        text=text,
        reason=reason,
        evidence=tuple(evidence),
        details=FrozenDict(details),
    )
