"""The embedded judge: no key, no download, no model.

It counts: a unit is supported when enough of its words stand in at most three sentences of the contexts, less a
penalty for numbers and names that stand nowhere; a context is useful when it holds enough of the answer's words.
It is deterministic, takes about as long as reading the text once, and understands nothing: `WARNING` says how well
it agrees with people.
"""

from __future__ import annotations

import hashlib
import re
import threading
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, OrderedDict
from dataclasses import dataclass, fields
from itertools import pairwise
from math import log
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxmetrics._frozen import frozen
from ctxmetrics.errors import ParameterError
from ctxmetrics.judges.base import Judgement
from ctxmetrics.judges.lexical.words import Word, base_language, stop_words, words
from ctxmetrics.text import Span, sentence_spans
from ctxmetrics.verdicts import Evidence, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from ctxmetrics.judges.base import JudgeRequest

WARNING = (
    "Embedded lexical judge: it compares words, numbers and names and understands nothing. Balanced accuracy against "
    "human labels (English): 0.83 on answers copied from their sources (LFQA; kappa with people 0.65, people among "
    "themselves 0.67), 0.71 on dense Wikipedia claims (WiCE; GPT-4 0.79 on 99 of them), 0.60 on expert answers "
    "(ExpertQA), near chance where claims are paraphrased or contradicted. It sees neither negation nor swapped "
    "roles. Good for comparing retrievers and finding gaps; for absolute values check it against labels of your own, "
    "or take an LLM judge and check that one."
)
"""What every score of this judge carries."""

MAX_INDEXED = 1_000_000
"""Contexts of more characters together are indexed for the words of the request only: memory stays in
proportion to the matches, time to the text (50 million characters of prose: about 15 s and 200 MB)."""
MAX_SENTENCE = 1_000
"""A sentence of more characters (a table, a log) is cut at white space: evidence stays readable."""
_MAX_BLOCK = 20_000
_MAX_AT_ONCE = 200_000
_K1, _B = 1.2, 0.75
_TOLERANCE = 1e-9
_LONGEST_LIST = 6
_LONGEST_LITERAL = 50


@dataclass(frozen=True, kw_only=True)
class LexicalJudge:
    """Judges by counting words. English was measured; other languages work, untested against people.

    **Support** of a unit: ``coverage - number_weight * (any number of the unit is in no context) - name_weight *
    share of the unit's names that are in no context >= min_coverage``. Coverage is the share of the unit's content
    words found in the ``max_sentences`` context sentences that together hold most of them (chosen one by one).
    Names are capitalised words of two letters or more that do not begin a sentence. A unit of stop words only is supported where its words
    stand in a context one after the other.

    **Usefulness** of a context: its share is at least ``min_share`` and at least ``min_relative`` times the best
    context's. The share is BM25 of the answer's content words over what BM25 gives the answer itself, with document
    frequencies from the retrieved contexts (`bm25_shares`). Only the answer counts, not the question. An answer of
    stop words only makes those contexts useful in which it stands word for word.

    The verdicts' ``details`` hold what was measured. Units: ``score`` (-1 to 1 with the default weights), ``coverage``, ``missing_words`` (in
    none of the chosen sentences), ``missing_numbers`` and ``missing_names`` (in no context), as the unit spells them;
    ``bigram_share`` (share of neighbouring content words that are neighbours in a chosen sentence: shown, not counted)
    and, for a no, ``nearest`` (the spans of the chosen sentences). Contexts: ``share``, ``relative``, ``matched_words``.

    Attributes:
        max_sentences: Context sentences that may support a unit together.
        min_coverage: The bar for support.
        number_weight: Taken off when any number of the unit is missing from all contexts.
        name_weight: Taken off when all its names are; in proportion when some are.
        min_share: The bar for a useful context.
        min_relative: The bar for a useful context as a share of the best one.

    Raises:
        ParameterError: A parameter is out of range.
    """

    max_sentences: int = 3
    min_coverage: float = 0.625
    number_weight: float = 0.5
    name_weight: float = 0.5
    min_share: float = 0.10
    min_relative: float = 0.4

    def __post_init__(self) -> None:
        if (
            not isinstance(self.max_sentences, int)
            or isinstance(self.max_sentences, bool)
            or self.max_sentences < 1
        ):
            raise ParameterError(
                f"LexicalJudge: max_sentences={self.max_sentences!r} must be a whole number from 1."
            )
        for item in fields(self)[1:]:
            value = getattr(self, item.name)
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not number or not 0 <= value <= 1:
                raise ParameterError(f"LexicalJudge: {item.name}={value!r} must be a number from 0 to 1.")

    @property
    def name(self) -> str:
        """``lexical``, with the parameters that are not the default."""
        given = [
            f"{item.name}={getattr(self, item.name)}"
            for item in fields(self)
            if getattr(self, item.name) != item.default
        ]
        return f"lexical({', '.join(given)})" if given else "lexical"

    @property
    def warnings(self) -> tuple[str, ...]:
        """How well it agrees with people."""
        return (WARNING,)

    async def attribute(self, request: JudgeRequest) -> Judgement:
        """Say for each unit whether the contexts support it."""
        return Judgement(verdicts=await _run(self.support, request))

    async def rate(self, request: JudgeRequest) -> Judgement:
        """Say for each context whether it is useful for giving the answer."""
        return Judgement(verdicts=await _run(self.usefulness, request))

    def support(self, request: JudgeRequest) -> tuple[Verdict, ...]:
        """The verdicts of `attribute`, one a unit."""
        index = shared_index(request)
        return tuple(
            _support(self, id_, Phrase.of(unit, request.language), index, request)
            for id_, unit in zip(request.unit_ids, request.units, strict=True)
        )

    def usefulness(self, request: JudgeRequest) -> tuple[Verdict, ...]:
        """The verdicts of `rate`, one a context."""
        answer = Phrase.of(request.answer, request.language)
        return _usefulness(self, answer, shared_index(request), request)


async def _run(
    question: Callable[[JudgeRequest], tuple[Verdict, ...]], request: JudgeRequest
) -> tuple[Verdict, ...]:
    """Answer at once, or in a worker thread where reading the contexts would hold up the event loop."""
    if sum(map(len, request.contexts)) <= _MAX_AT_ONCE:
        return question(request)
    from anyio import to_thread

    return await to_thread.run_sync(question, request)


# --- what is looked for ---------------------------------------------------------------------------------------

_NOUNS_ARE_CAPITALISED = frozenset(("de", "lb"))
_ALSO_NAMES = frozenset(("may", "will"))


@dataclass(frozen=True, slots=True)
class Phrase:
    """A unit or an answer, read.

    Attributes:
        text: The text.
        content: Its content words by key, each where it first stands.
        sequence: The keys of its content words as they follow each other.
        numbers: The keys that are numbers.
        names: The keys that are names.
        length: How many words it has, stop words included.
    """

    text: str
    content: Mapping[str, Word]
    sequence: tuple[str, ...]
    numbers: tuple[str, ...]
    names: tuple[str, ...]
    length: int

    @classmethod
    def of(cls, text: str, language: str) -> Phrase:
        """Read a text; the language chooses the stop words."""
        stop = stop_words(language)
        has_names = not text.isupper() and base_language(language) not in _NOUNS_ARE_CAPITALISED
        beginnings = _beginnings(text) if has_names else frozenset()
        content: dict[str, Word] = {}
        sequence: list[str] = []
        names: dict[str, None] = {}
        length = 0
        for length, word in enumerate(words(text), 1):  # noqa: B007 - wanted after the loop
            capitalised = (
                has_names
                and word.kind == "word"
                and word.start not in beginnings
                and text[word.start].isupper()
            )
            if not _is_content(word, text, stop, capitalised=capitalised):
                continue
            content.setdefault(word.key, word)
            sequence.append(word.key)
            if capitalised and len(word.folded) > 1:  # one letter is an initial or a unit's symbol
                names[word.key] = None
        numbers = tuple(key for key, word in content.items() if word.kind == "number")
        return cls(text, content, tuple(sequence), numbers, tuple(names), length)

    def spelled(self, keys: Iterable[str]) -> tuple[str, ...]:
        """Return the words of these keys as the text writes them; overlapping pairs of characters are joined."""
        found = sorted((self.content[key].start, self.content[key].end) for key in keys)
        spans: list[Span] = []
        for start, end in found:
            if spans and start < spans[-1].end:
                spans[-1] = Span(spans[-1].start, end)
            else:
                spans.append(Span(start, end))
        return tuple(self.text[span.start : span.end] for span in spans)


def _beginnings(text: str) -> frozenset[int]:
    """Return where the first word of each sentence begins."""
    firsts = (next(words(text, *span), None) for span in _sentences(text))
    return frozenset(word.start for word in firsts if word is not None)


def _is_content(word: Word, text: str, stop: AbstractSet[str], *, capitalised: bool) -> bool:
    if word.kind == "character":
        return False
    if word.kind in {"number", "characters"}:
        return True
    if len(word.folded) == 1 and word.folded.isascii():
        return capitalised and word.folded not in stop
    if word.folded not in stop:
        return True
    # US, WHO, IT; May, Will
    shouted = len(word.folded) > 1 and text[word.start : word.end].isupper()
    return capitalised and (shouted or word.folded in _ALSO_NAMES)


# --- the index ------------------------------------------------------------------------------------------------


class Index:
    """Where each word stands in the contexts, by sentence.

    Attributes:
        starts: First character of each sentence, in its context.
        ends: One past its last.
        first: For each context its first sentence; one more entry for the end.
        lengths: Words a context has.
        postings: For each key the sentences it stands in, once for every time it does.
        weight: About how many bytes all that takes.
    """

    __slots__ = ("ends", "first", "lengths", "postings", "starts", "weight")

    def __init__(self, contexts: Sequence[str], wanted: AbstractSet[str] | None = None) -> None:
        self.starts, self.ends, self.first = array("I"), array("I"), array("I", [0])
        self.lengths: list[int] = []
        self.postings: dict[str, array[int]] = {}
        for context in contexts:
            self.lengths.append(sum(self._add(context, span, wanted) for span in _sentences(context)))
            self.first.append(len(self.starts))
        stored = sum(map(len, self.postings.values()))
        self.weight = 8 * len(self.starts) + 4 * stored + 200 * len(self.postings)

    def _add(self, context: str, span: Span, wanted: AbstractSet[str] | None) -> int:
        number, length = len(self.starts), 0
        self.starts.append(span.start)
        self.ends.append(span.end)
        for word in words(context, *span):
            length += 1
            if wanted is None or word.key in wanted:
                found = self.postings.get(word.key)
                if found is None:
                    found = self.postings[word.key] = array("I")
                found.append(number)
        return length

    def sentences(self, key: str, context: int | None = None) -> Sequence[int]:
        """Return the sentences a word stands in, once for every time it does."""
        found = self.postings.get(key, _NOWHERE)
        if context is None or not found:
            return found
        return found[bisect_left(found, self.first[context]) : bisect_left(found, self.first[context + 1])]

    def evidence(self, sentence: int, contexts: Sequence[str]) -> Evidence:
        """Return a sentence as evidence."""
        context = bisect_right(self.first, sentence) - 1
        start, end = self.starts[sentence], self.ends[sentence]
        return Evidence(context, start, end, contexts[context][start:end])


_NOWHERE = array("I")


def _sentences(text: str) -> Iterator[Span]:
    """Yield the sentences of a text of any length, none of them longer than `MAX_SENTENCE`."""
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character: the splitter refuses it
        text = _SURROGATE.sub("\ufffd", text)
    position = 0
    while position < len(text):
        block = _piece(text, position, len(text), _MAX_BLOCK)
        whole = position == 0 and block == len(text)
        for span in sentence_spans(text if whole else text[position:block]):
            start, last = position + span.start, position + span.end
            while start < last:
                end = _piece(text, start, last, MAX_SENTENCE)
                yield Span(start, start + len(text[start:end].rstrip()))
                start = end
        position = block


def _piece(text: str, start: int, end: int, longest: int) -> int:
    """Return where a piece of at most ``longest`` characters ends: at the end, a line, a space, or anywhere."""
    if end - start <= longest:
        return end
    for mark in ("\n", " "):
        found = text.rfind(mark, start + longest // 2, start + longest)
        if found >= 0:
            return found + 1
    return start + longest


_SURROGATE = re.compile("[\ud800-\udfff]")


class _Memory:
    """The last indexes, by the contexts' digest: the texts themselves are not kept. Safe between threads."""

    def __init__(self, max_weight: int) -> None:
        self._max_weight = max_weight
        self._weight = 0
        self._lock = threading.Lock()
        self._known: OrderedDict[object, Index] = OrderedDict()

    def get(self, key: object, make: Callable[[], Index]) -> Index:
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
                return known
        index = make()  # two threads may make the same one: it costs time, never a wrong answer
        with self._lock:
            if key not in self._known and index.weight <= self._max_weight:
                self._known[key] = index
                self._weight += index.weight
            while self._weight > self._max_weight:
                self._weight -= self._known.popitem(last=False)[1].weight
        return index

    def clear(self) -> None:
        with self._lock:
            self._known.clear()
            self._weight = 0


_memory = _Memory(max_weight=64_000_000)


def shared_index(request: JudgeRequest) -> Index:
    """Return the index of the request's contexts; one is made for all questions about the same contexts."""
    digest = hashlib.blake2b(digest_size=16)
    for context in request.contexts:
        digest.update(len(context).to_bytes(8, "big"))
        digest.update(context.encode("utf-8", "surrogatepass"))
    if sum(map(len, request.contexts)) <= MAX_INDEXED:
        return _memory.get(digest.digest(), lambda: Index(request.contexts))
    wanted = frozenset(word.key for text in (request.answer, *request.units) for word in words(text))
    return _memory.get((digest.digest(), wanted), lambda: Index(request.contexts, wanted))


class _Pick(NamedTuple):
    sentence: int
    adds: tuple[str, ...]
    """The keys that no earlier pick has."""


def _pick(keys: Iterable[str], index: Index, limit: int, context: int | None = None) -> list[_Pick]:
    """Choose sentences one by one, each the one that adds most of the keys; the earlier one where two add as many."""
    where = {key: set(index.sentences(key, context)) for key in keys}
    picks: list[_Pick] = []
    while len(picks) < limit:
        counts: Counter[int] = Counter()
        for sentences in where.values():
            counts.update(sentences)
        if not counts:
            break
        best = max(counts.items(), key=lambda found: (found[1], -found[0]))[0]
        picks.append(_Pick(best, tuple(key for key, sentences in where.items() if best in sentences)))
        where = {key: sentences for key, sentences in where.items() if best not in sentences}
    return picks


# --- support --------------------------------------------------------------------------------------------------


def _support(judge: LexicalJudge, id_: str, unit: Phrase, index: Index, request: JudgeRequest) -> Verdict:
    if not unit.content:
        return _literal_support(id_, unit.text, request.contexts)
    picks = _pick(unit.content, index, judge.max_sentences)
    covered = {key for pick in picks for key in pick.adds}
    coverage = len(covered) / len(unit.content)
    numbers = [key for key in unit.numbers if not index.sentences(key)]
    names = [key for key in unit.names if not index.sentences(key)]
    penalty = judge.number_weight * bool(numbers) + judge.name_weight * len(names) / max(1, len(unit.names))
    score = coverage - penalty
    supported = (
        bool(picks) and score >= judge.min_coverage - _TOLERANCE
    )  # a yes has evidence, whatever the bar
    missing = unit.spelled(key for key in unit.content if key not in covered and key not in numbers)
    details = {
        "score": score,
        "coverage": coverage,
        "missing_words": missing,
        "missing_numbers": unit.spelled(numbers),
        "missing_names": unit.spelled(names),
        "bigram_share": _bigram_share(unit, picks, index, request),
    }
    spans = tuple(index.evidence(pick.sentence, request.contexts) for pick in picks)
    if not supported:
        details["nearest"] = tuple(
            {"context": span.context, "start": span.start, "end": span.end} for span in spans
        )
    return Verdict(
        id=id_,
        value=supported,
        text=unit.text,
        reason=_reason(len(covered), len(unit.content), details),
        evidence=spans if supported else (),
        details=frozen(details),
    )


def _bigram_share(unit: Phrase, picks: Sequence[_Pick], index: Index, request: JudgeRequest) -> float | None:
    """Share of the unit's pairs of neighbouring content words that are neighbours in a chosen sentence too."""
    pairs = set(pairwise(unit.sequence))
    if not pairs:
        return None
    stop = stop_words(request.language)
    found: set[tuple[str, str]] = set()
    for pick in picks:
        span = index.evidence(pick.sentence, request.contexts)
        context = request.contexts[span.context]
        keys = [
            word.key
            for word in words(context, span.start, span.end)
            if word.key in unit.content or (word.kind != "character" and word.folded not in stop)
        ]
        found.update(pairwise(keys))
    return len(pairs & found) / len(pairs)


def _reason(found: int, total: int, details: Mapping[str, Any]) -> str:
    parts = [f"{found} of {total} words found"]
    for what in ("words", "numbers", "names"):
        missing: tuple[str, ...] = details[f"missing_{what}"]
        if missing:
            parts.append(f"missing {what}: {_listed(missing)}")
    return "; ".join(parts)


def _listed(items: Sequence[str]) -> str:
    more = len(items) - _LONGEST_LIST
    return ", ".join(items[:_LONGEST_LIST]) + (f" and {more} more" if more > 0 else "")


def _literal_support(id_: str, text: str, contexts: Sequence[str]) -> Verdict:
    """Judge a unit without content words: its words must stand in a context one after the other."""
    spans = (find_literal(text, context, number) for number, context in enumerate(contexts))
    evidence = next((span for span in spans if span is not None), None)
    return Verdict(
        id=id_,
        value=evidence is not None,
        text=text,
        reason="stands in a context word for word"
        if evidence
        else "has no content word and stands in no context word for word",
        evidence=() if evidence is None else (evidence,),
        details=frozen(
            {
                "score": float(evidence is not None),
                "coverage": float(evidence is not None),
                "missing_words": (),
                "missing_numbers": (),
                "missing_names": (),
                "bigram_share": None,
            }
        ),
    )


def find_literal(text: str, context: str, number: int) -> Evidence | None:
    """Find a text's words in a context one after the other, whatever stands between them; else the text itself."""
    found = list(words(text))
    if not found or len(found) > _LONGEST_LITERAL:
        start = context.find(text.strip()) if text.strip() else -1
        span = Span(start, start + len(text.strip()))
    else:
        spelled = (re.escape(text[word.start : word.end]) for word in found)
        pattern = r"[\W_]+".join(re.sub("['’]", "['’]", word) for word in spelled)
        before = "" if found[0].kind == "character" else r"(?<![^\W_])"
        after = "" if found[-1].kind == "character" else r"(?![^\W_])"
        match = re.search(before + pattern + after, context, re.IGNORECASE)
        span = Span(*match.span()) if match else Span(-1, -1)
    return None if span.start < 0 else Evidence(number, *span, context[span.start : span.end])


# --- usefulness -----------------------------------------------------------------------------------------------


def _usefulness(
    judge: LexicalJudge, answer: Phrase, index: Index, request: JudgeRequest
) -> tuple[Verdict, ...]:
    if not answer.content:
        return _literal_usefulness(answer.text, request)
    shares = bm25_shares(answer, index)
    best = max(shares, default=0.0) or 1.0
    verdicts = []
    for number, (id_, share) in enumerate(zip(request.context_ids, shares, strict=True)):
        relative = share / best
        enough = share >= judge.min_share - _TOLERANCE and relative >= judge.min_relative - _TOLERANCE
        useful = enough and share > 0  # a yes has evidence, whatever the bars
        picks = _pick(answer.content, index, judge.max_sentences, number) if useful else []
        found = [key for key in answer.content if index.sentences(key, number)]
        matched = answer.spelled(found)
        reason = f"{len(found)} of {len(answer.content)} words of the answer" + (
            f": {_listed(matched)}" if found else ""
        )
        if not useful and found:
            reason += f" (share {share:.2f}, {relative:.2f} of the best context's)"
        verdicts.append(
            Verdict(
                id=id_,
                value=useful,
                text=request.contexts[number],
                reason=reason,
                evidence=tuple(index.evidence(pick.sentence, request.contexts) for pick in picks),
                details=frozen({"share": share, "relative": relative, "matched_words": matched}),
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
    own, itself = _damping(answer.length / mean), Counter(answer.sequence)
    totals, most = [0.0] * n, 0.0
    for key in answer.content:
        counts = Counter(bisect_right(index.first, sentence) - 1 for sentence in index.sentences(key))
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
        verdicts.append(
            Verdict(
                id=id_,
                value=span is not None,
                text=request.contexts[number],
                reason="has the answer word for word"
                if span
                else "the answer has no content word and does not stand here",
                evidence=() if span is None else (span,),
                details=frozen(
                    {
                        "share": float(span is not None),
                        "relative": float(span is not None),
                        "matched_words": (),
                    }
                ),
            )
        )
    return tuple(verdicts)
