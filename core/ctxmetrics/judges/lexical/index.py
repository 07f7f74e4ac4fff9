"""Where each word stands in the contexts, by sentence."""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from operator import itemgetter

from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.evidence.words import tokens
from ctxmetrics.models.runtime.memo import hashed
from ctxmetrics.text import Span, sentence_spans
from ctxmetrics.verdicts import Evidence

# Contexts of more characters together are indexed for the words of the request only: memory stays in
# proportion to the matches, time to the text.
MAX_INDEXED = 1_000_000
# A sentence of more characters (a table, a log) is cut at white space: evidence stays readable.
MAX_SENTENCE = 1_000
# The key of a token: faster than by its name.
_key = itemgetter(0)


def sentences(text: str) -> Sequence[Span]:
    """Return the sentences of a text, none of them longer than `MAX_SENTENCE`."""
    spans = sentence_spans(text)
    if len(text) <= MAX_SENTENCE:
        return spans
    return [piece for span in spans for piece in _pieces(text, span)]


def _pieces(text: str, span: Span) -> Iterator[Span]:
    """Cut a sentence that is too long: at a line, a space, or anywhere."""
    start, last = span
    while last - start > MAX_SENTENCE:
        middle = start + MAX_SENTENCE // 2
        marks = (text.rfind(mark, middle, start + MAX_SENTENCE) + 1 for mark in "\n ")
        end = next((place for place in marks if place), start + MAX_SENTENCE)
        yield Span(start, start + len(text[start:end].rstrip()))
        start = end
    yield Span(start, last)


class Index:
    """Where each word stands in the contexts, by sentence.

    Attributes:
        starts: First character of each sentence, in its context.
        ends: One past its last.
        first: For each context its first sentence; one more entry for the end.
        owners: For each sentence its context.
        lengths: Words a context has.
        weight: About how many bytes all that takes.
    """

    __slots__ = ("_places", "ends", "first", "lengths", "owners", "starts", "weight")

    def __init__(self, contexts: Sequence[str], wanted: AbstractSet[str] | None = None) -> None:
        self.starts: array[int] = array("I")
        self.ends: array[int] = array("I")
        self.first: array[int] = array("I", [0])
        self.owners: array[int] = array("I")
        self.lengths: list[int] = []
        # For each key the sentences it stands in, once for every time it does.
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for number, context in enumerate(contexts):
            words = 0
            for start, end in sentences(context):
                inside = tokens(context[start:end])
                words += len(inside)
                for key in map(_key, inside):
                    if wanted is None or key in wanted:
                        self._places[key].append(len(self.starts))
                self.starts.append(start)
                self.ends.append(end)
                self.owners.append(number)
            self.lengths.append(words)
            self.first.append(len(self.starts))
        places = sum(map(len, self._places.values()))
        self.weight: int = 16 * len(self.starts) + 9 * places + 250 * len(self._places)

    def sentences(self, key: str, context: int | None = None) -> Sequence[int]:
        """Return the sentences a word stands in, once for every time it does."""
        places = self._places.get(key, [])
        if context is None:
            return places
        start = bisect_left(places, self.first[context])
        end = bisect_left(places, self.first[context + 1])
        return places[start:end]

    def masks(self, keys: Iterable[str]) -> dict[int, int]:
        """Return what sentences hold of some words: the first word is the lowest bit. Without those that hold none."""
        masks: dict[int, int] = {}
        bit = 1
        for key in keys:
            for sentence in self._places.get(key, ()):
                masks[sentence] = masks.get(sentence, 0) | bit
            bit <<= 1
        return masks

    def evidence(self, sentence: int, contexts: Sequence[str], *, whole: bool = True) -> Evidence:
        """Return a sentence as evidence."""
        owner, start, end = self.owners[sentence], self.starts[sentence], self.ends[sentence]
        return Evidence(owner, start, end, contexts[owner][start:end], whole)


class Memory:
    """The last indexes, by the contexts' digest: the texts themselves are not kept. Safe between threads."""

    def __init__(self, max_weight: int) -> None:
        self._max_weight = max_weight
        self._weight = 0
        self._lock = threading.Lock()
        self._known: OrderedDict[object, Index] = OrderedDict()

    def get(self, key: object, make: Callable[[], Index]) -> Index:
        """Return the index of a key; made now if it is not known, once however many threads ask for it."""
        with self._lock:  # also while it is made: reading holds the interpreter anyway
            index = self._known.get(key)
            if index is not None:
                self._known.move_to_end(key)
                return index
            index = make()
            if index.weight <= self._max_weight:
                self._known[key] = index
                self._weight += index.weight
            while self._weight > self._max_weight:
                self._weight -= self._known.popitem(last=False)[1].weight
            return index

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._known.clear()
            self._weight = 0


memory: Memory = Memory(max_weight=64_000_000)


def shared_index(request: JudgeRequest) -> Index:
    """Return the index of the request's contexts; one is kept for all questions about the same contexts."""
    key = hashed(request.contexts)
    if sum(map(len, request.contexts)) <= MAX_INDEXED:
        return memory.get(key, lambda: Index(request.contexts))
    wanted = frozenset(token.key for text in (request.answer, *request.units) for token in tokens(text))
    return memory.get((key, wanted), lambda: Index(request.contexts, wanted))
