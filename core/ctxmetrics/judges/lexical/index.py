"""Where each word stands in the contexts, by sentence."""

from __future__ import annotations

import hashlib
import threading
from array import array
from bisect import bisect_left
from collections import OrderedDict
from concurrent.futures import Future
from typing import TYPE_CHECKING

from ctxmetrics.judges.lexical.sentences import sentences
from ctxmetrics.judges.lexical.words import Token, tokens, words
from ctxmetrics.verdicts import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from ctxmetrics.judges.base import JudgeRequest

MAX_INDEXED = 1_000_000
"""Contexts of more characters together are indexed for the words of the request only: memory stays in
proportion to the matches, time to the text (50 million characters of prose: about 15 s and 200 MB)."""


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

    __slots__ = (
        "_places",
        "_token_bounds",
        "_tokens",
        "ends",
        "first",
        "lengths",
        "owners",
        "starts",
        "weight",
    )

    def __init__(self, contexts: Sequence[str], wanted: AbstractSet[str] | None = None) -> None:
        self.starts: array[int] = array("I")
        self.ends: array[int] = array("I")
        self.first: array[int] = array("I", [0])
        self.owners: array[int] = array("I")
        self.lengths: list[int] = []
        self._places: dict[str, list[int]] = {}
        """For each key the sentences it stands in, once for every time it does."""
        self._tokens: list[Token] = []
        """All words; empty where only the wanted ones are kept."""
        self._token_bounds: array[int] = array("I", [0])
        """For each sentence its first token; one more entry for the end."""
        for context in contexts:
            self.lengths.append(self._add(context, wanted))
            self.first.append(len(self.starts))
        stored = 9 * sum(map(len, self._places.values())) + 8 * len(self._tokens)
        self.weight: int = 16 * len(self.starts) + stored + 250 * len(self._places)

    def _add(self, context: str, wanted: AbstractSet[str] | None) -> int:
        """Read a context; return its length."""
        places, length, spans = self._places, 0, sentences(context)
        first = len(self.starts)
        self.starts.extend([start for start, _ in spans])
        self.ends.extend([end for _, end in spans])
        self.owners.extend([len(self.lengths)] * len(spans))
        for sentence, (start, end) in enumerate(spans, first):
            inside = tokens(context[start:end])
            length += len(inside)
            if wanted is None:
                self._tokens += inside
                self._token_bounds.append(len(self._tokens))
            else:
                inside = [token for token in inside if token.key in wanted]
            for token in inside:
                key = token.key
                if key in places:
                    places[key].append(sentence)
                else:
                    places[key] = [sentence]
        return length

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def sentences(self, key: str, context: int | None = None) -> Sequence[int]:
        """Return the sentences a word stands in, once for every time it does."""
        found = self._places.get(key, [])
        if context is None:
            return found
        return found[
            bisect_left(found, self.first[context]) : bisect_left(found, self.first[context + 1])
        ]

    def masks(self, keys: Iterable[str], first: int = 0, last: int | None = None) -> dict[int, int]:
        """Return what sentences hold of some words: the first word is the lowest bit. Without those that hold none.

        Args:
            keys: The words.
            first: The first sentence that is looked at.
            last: One past the last; None: all.
        """
        places = self._places
        last = len(self.starts) if last is None else last
        found: dict[int, int] = {}
        bit = 1
        for key in keys:
            for sentence in places.get(key, ()):
                if first <= sentence < last:
                    found[sentence] = found.get(sentence, 0) | bit
            bit <<= 1
        return found

    def evidence(self, sentence: int, contexts: Sequence[str], *, whole: bool = True) -> Evidence:
        """Return a sentence as evidence."""
        context = self.owners[sentence]
        start, end = self.starts[sentence], self.ends[sentence]
        return Evidence(context, start, end, contexts[context][start:end], whole)

    def text(self, sentence: int, contexts: Sequence[str]) -> str:
        """Return a sentence."""
        return contexts[self.owners[sentence]][self.starts[sentence] : self.ends[sentence]]

    def tokens(self, sentence: int, contexts: Sequence[str]) -> list[Token]:
        """Return the words of a sentence."""
        if not self._tokens:
            return tokens(self.text(sentence, contexts))
        return self._tokens[self._token_bounds[sentence] : self._token_bounds[sentence + 1]]


class Memory:
    """The last indexes, by the contexts' digest: the texts themselves are not kept. Safe between threads."""

    def __init__(self, max_weight: int) -> None:
        self._max_weight = max_weight
        self._weight = 0
        self._lock = threading.Lock()
        self._known: OrderedDict[object, Index] = OrderedDict()
        self._making: dict[object, Future[Index]] = {}

    def get(self, key: object, make: Callable[[], Index]) -> Index:
        """Return the index of a key; made now if it is not known, once however many threads ask for it."""
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
                return known
            making = self._making.get(key)
            mine: Future[Index] = Future()
            if making is None:
                self._making[key] = mine
        if making is not None:
            return making.result()
        try:
            index = make()
        except BaseException as error:
            mine.set_exception(error)
            with self._lock:
                del self._making[key]
            raise
        mine.set_result(index)
        with self._lock:
            del self._making[key]
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
    """Return the index of the request's contexts; one is made for all questions about the same contexts."""
    digest = hashlib.blake2b(digest_size=16)
    for context in request.contexts:
        digest.update(len(context).to_bytes(8, "big"))
        digest.update(context.encode("utf-8", "surrogatepass"))
    if sum(map(len, request.contexts)) <= MAX_INDEXED:
        return memory.get(digest.digest(), lambda: Index(request.contexts))
    wanted = frozenset(word.key for text in (request.answer, *request.units) for word in words(text))
    return memory.get((digest.digest(), wanted), lambda: Index(request.contexts, wanted))
