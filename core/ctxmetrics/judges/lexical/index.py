"""Where each word stands in the contexts, by sentence."""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from operator import itemgetter

from ctxmetrics._runtime.memo import hashed
from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.evidence.words import tokens
from ctxmetrics.judges.lexical.sentences import sentences
from ctxmetrics.verdicts import Evidence

MAX_INDEXED = 1_000_000
"""Contexts of more characters together are indexed for the words of the request only: memory stays in
proportion to the matches, time to the text."""


# The key of a token: faster than by its name.
_key = itemgetter(0)


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
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        """For each key the sentences it stands in, once for every time it does."""
        for number, context in enumerate(contexts):
            self.lengths.append(
                sum(self._add(context, span, number, wanted) for span in sentences(context))
            )
            self.first.append(len(self.starts))
        stored = 9 * sum(map(len, self._places.values()))
        self.weight: int = 16 * len(self.starts) + stored + 250 * len(self._places)

    def _add(
        self, context: str, span: tuple[int, int], owner: int, wanted: AbstractSet[str] | None
    ) -> int:
        """Read a sentence; return its words."""
        places, sentence, (start, end) = self._places, len(self.starts), span
        self.starts.append(start)
        self.ends.append(end)
        self.owners.append(owner)
        inside = tokens(context[start:end])
        for key in map(_key, inside):
            if wanted is None or key in wanted:
                places[key].append(sentence)
        return len(inside)

    def sentences(self, key: str, context: int | None = None) -> Sequence[int]:
        """Return the sentences a word stands in, once for every time it does."""
        found = self._places.get(key, [])
        if context is None:
            return found
        return found[
            bisect_left(found, self.first[context]) : bisect_left(found, self.first[context + 1])
        ]

    def masks(self, keys: Iterable[str]) -> dict[int, int]:
        """Return what sentences hold of some words: the first word is the lowest bit. Without those that hold none."""
        found: dict[int, int] = {}
        bit = 1
        for key in keys:
            for sentence in self._places.get(key, ()):
                found[sentence] = found.get(sentence, 0) | bit
            bit <<= 1
        return found

    def text(self, sentence: int, contexts: Sequence[str]) -> str:
        """Return a sentence."""
        return contexts[self.owners[sentence]][self.starts[sentence] : self.ends[sentence]]

    def evidence(self, sentence: int, contexts: Sequence[str], *, whole: bool = True) -> Evidence:
        """Return a sentence as evidence."""
        start, end = self.starts[sentence], self.ends[sentence]
        return Evidence(self.owners[sentence], start, end, self.text(sentence, contexts), whole)


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
