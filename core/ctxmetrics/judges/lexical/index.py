"""Where each word stands in the contexts, by sentence."""

from __future__ import annotations

import hashlib
import threading
from array import array
from bisect import bisect_left
from collections import OrderedDict
from typing import TYPE_CHECKING

from ctxmetrics.judges.lexical.sentences import sentences
from ctxmetrics.judges.lexical.words import Word, keys, words
from ctxmetrics.verdicts import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from ctxmetrics.judges.base import JudgeRequest

MAX_INDEXED = 1_000_000
"""Contexts of more characters together are indexed for the words of the request only: memory stays in
proportion to the matches, time to the text (50 million characters of prose: about 15 s and 200 MB)."""
_NOWHERE = array("I")


class _Postings(dict[str, "array[int]"]):
    def __missing__(self, key: str) -> array[int]:
        self[key] = found = array("I")
        return found


class Index:
    """Where each word stands in the contexts, by sentence.

    Attributes:
        starts: First character of each sentence, in its context.
        ends: One past its last.
        first: For each context its first sentence; one more entry for the end.
        owners: For each sentence its context.
        lengths: Words a context has.
        postings: For each key the sentences it stands in, once for every time it does.
        weight: About how many bytes all that takes.
    """

    __slots__ = ("ends", "first", "lengths", "owners", "postings", "starts", "weight")

    def __init__(self, contexts: Sequence[str], wanted: AbstractSet[str] | None = None) -> None:
        self.starts: array[int] = array("I")
        self.ends: array[int] = array("I")
        self.first: array[int] = array("I", [0])
        self.owners: array[int] = array("I")
        self.lengths: list[int] = []
        self.postings: _Postings = _Postings()
        for context in contexts:
            self.lengths.append(self._add(context, wanted))
            self.first.append(len(self.starts))
        stored = sum(map(len, self.postings.values()))
        self.weight: int = 12 * len(self.starts) + 4 * stored + 200 * len(self.postings)

    def _add(self, context: str, wanted: AbstractSet[str] | None) -> int:
        postings, owner, length = self.postings, len(self.lengths), 0
        for start, end in sentences(context):
            number = len(self.starts)
            self.starts.append(start)
            self.ends.append(end)
            self.owners.append(owner)
            found = keys(context[start:end])
            length += len(found)
            for key in found if wanted is None else filter(wanted.__contains__, found):
                postings[key].append(number)
        return length

    def sentences(self, key: str, context: int | None = None) -> Sequence[int]:
        """Return the sentences a word stands in, once for every time it does."""
        found = self.postings.get(key, _NOWHERE)
        if context is None or not found:
            return found
        return found[bisect_left(found, self.first[context]) : bisect_left(found, self.first[context + 1])]

    def evidence(self, sentence: int, contexts: Sequence[str], *, whole: bool = True) -> Evidence:
        """Return a sentence as evidence."""
        context = self.owners[sentence]
        start, end = self.starts[sentence], self.ends[sentence]
        return Evidence(context, start, end, contexts[context][start:end], whole)

    def read(self, sentence: int, contexts: Sequence[str]) -> tuple[str, tuple[Word, ...]]:
        """Return a sentence and its words."""
        text = contexts[self.owners[sentence]][self.starts[sentence] : self.ends[sentence]]
        return text, tuple(words(text))


class Memory:
    """The last indexes, by the contexts' digest: the texts themselves are not kept. Safe between threads."""

    def __init__(self, max_weight: int) -> None:
        self._max_weight = max_weight
        self._weight = 0
        self._lock = threading.Lock()
        self._known: OrderedDict[object, Index] = OrderedDict()

    def get(self, key: object, make: Callable[[], Index]) -> Index:
        """Return the index of a key; made now if it is not known."""
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
        """Forget all."""
        with self._lock:
            self._known.clear()
            self._weight = 0


memory: Memory = Memory(max_weight=64_000_000)


def shared_index(request: JudgeRequest) -> Index:
    """Return the index of the request's contexts; one is made for all questions about the same contexts."""
    digest = hashlib.blake2b(digest_size=16)
    for context in request.contexts:
        digest.update(len(context).to_bytes(8, "big"))
        digest.update(context.encode("utf-8", "surrogatepass"))
    if sum(map(len, request.contexts)) <= MAX_INDEXED:
        return memory.get(digest.digest(), lambda: Index(request.contexts))
    wanted = frozenset(word.key for text in (request.answer, *request.units) for word in words(text))
    return memory.get((digest.digest(), wanted), lambda: Index(request.contexts, wanted))
