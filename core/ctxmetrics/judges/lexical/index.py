"""Where each word stands in the contexts, by sentence."""

from __future__ import annotations

import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.evidence.words import read_words_and_keys, split_date, split_times
from ctxmetrics.models.runtime.memo import digest_key
from ctxmetrics.text.character_spans import Span
from ctxmetrics.text.sentences import sentence_spans, split_visible
from ctxmetrics.text.visible import see
from ctxmetrics.verdicts import Evidence

# Contexts of more characters together are indexed for the words of the request only: memory stays in
# proportion to the matches, time to the text.
MAX_INDEXED = 1_000_000
# A sentence of more characters (a table, a log) is cut at white space: evidence stays readable.
MAX_SENTENCE = 1_000


def sentences(text: str) -> Sequence[tuple[int, int]]:
    """Return where each sentence of a text begins and ends; none is longer than `MAX_SENTENCE`."""
    view = see(text)
    spans = split_visible(view.text) if view.is_plain else sentence_spans(text)
    if len(text) <= MAX_SENTENCE:
        return spans
    return [piece for start, end in spans for piece in _pieces(text, start, end)]


def _pieces(text: str, start: int, last: int) -> Iterator[tuple[int, int]]:
    """Cut a sentence that is too long: at a line, a space, or anywhere."""
    while last - start > MAX_SENTENCE:
        middle = start + MAX_SENTENCE // 2
        marks = (text.rfind(mark, middle, start + MAX_SENTENCE) + 1 for mark in "\n ")
        end = next((place for place in marks if place), start + MAX_SENTENCE)
        yield start, start + len(text[start:end].rstrip())
        start = end
    yield start, last


class WordIndex:
    """Where each word stands in the contexts, by sentence.

    Attributes:
        starts: First character of each sentence, in its context.
        ends: One past its last.
        first: For each context its first sentence; one more entry for the end.
        owners: For each sentence its context.
        lengths: Words a context has.
        weight: About how many bytes all that takes.
    """

    __slots__ = ("_keys", "_places", "ends", "first", "lengths", "owners", "starts", "weight")

    def __init__(self, contexts: Sequence[str], wanted: AbstractSet[str] | None = None) -> None:
        self.starts: array[int] = array("I")
        self.ends: array[int] = array("I")
        self.first: array[int] = array("I", [0])
        self.owners: array[int] = array("I")
        self.lengths: list[int] = []
        # For each sentence the keys that it holds, once for every time it does.
        self._keys: list[Sequence[str]] = []
        # For each key that was looked for the sentences it stands in.
        self._places: dict[str, list[int]] = {}
        for number, context in enumerate(contexts):
            words = 0
            view = see(context)
            is_plain = view.is_plain
            for start, end in sentences(context):
                sentence = context[start:end] if is_plain else view.cut(Span(start, end))
                inside, keys = read_words_and_keys(sentence)
                words += len(inside)
                if wanted is not None:
                    keys = [*filter(wanted.__contains__, keys)]
                self._keys.append(keys)
                self.starts.append(start)
                self.ends.append(end)
                self.owners.append(number)
            self.lengths.append(words)
            self.first.append(len(self.starts))
        self.weight: int = 100 * len(self.starts) + 120 * sum(map(len, self._keys))

    def look_for(self, keys: AbstractSet[str]) -> None:
        """Find the sentences of some words: all words of a request together, since each search reads all contexts."""
        unknown = keys - self._places.keys()
        if not unknown:
            return
        places: dict[str, list[int]] = {key: [] for key in unknown}
        for sentence, held in enumerate(self._keys):
            for key in filter(unknown.__contains__, held):
                places[key].append(sentence)
        self._places.update(places)  # another thread that looks for the same keys writes the same

    def _find(self, key: str) -> Sequence[int]:
        if key not in self._places:
            self.look_for({key})
        return self._places[key]

    def sentences(self, key: str) -> Sequence[int]:
        """Return the sentences a word stands in, once for every time it does.

        Of a date also those with its day and no year; of "three times" those with three.
        """
        places = self._find(key)
        if key[4:5] != "-":
            number = split_times(key) if " " in key else ""
            if not number:
                return places  # the usual case
            as_number = self._find(number)
            counted = frozenset(as_number)
            return [*as_number, *(one for one in places if one not in counted)]
        year, forms, excluded = split_date(key)
        if not year:
            return places
        dated = frozenset(self._find(excluded))
        for form in forms:
            places = [*places, *(one for one in self._find(form) if one not in dated)]
        return sorted(places)

    def masks(self, bits: Mapping[str, int]) -> dict[int, dict[int, int]]:
        """Return by context what its sentences hold of some words, by the bits of each word. Without those that hold none."""
        masks: dict[int, int] = {}
        for key, bit in bits.items():
            for sentence in self.sentences(key):
                if sentence in masks:
                    masks[sentence] |= bit
                else:
                    masks[sentence] = bit
        by_context: dict[int, dict[int, int]] = {}
        for sentence in sorted(masks):
            context = self.owners[sentence]
            if context not in by_context:
                by_context[context] = {}
            by_context[context][sentence] = masks[sentence]
        return by_context

    def hold_any(self, sentences: Iterable[int], keys: AbstractSet[str]) -> bool:
        """Whether one of some sentences holds one of some keys."""
        return not all(keys.isdisjoint(self._keys[sentence]) for sentence in sentences)

    def read(self, sentence: int, contexts: Sequence[str]) -> str:
        """Return what is seen of a sentence."""
        span = Span(self.starts[sentence], self.ends[sentence])
        return see(contexts[self.owners[sentence]]).cut(span)

    def evidence(self, sentence: int, contexts: Sequence[str], *, whole: bool = True) -> Evidence:
        """Return a sentence as evidence."""
        owner = self.owners[sentence]
        start = self.starts[sentence]
        end = self.ends[sentence]
        return Evidence(owner, start, end, contexts[owner][start:end], whole)


class Memory:
    """The last indexes, by the contexts' digest: the texts themselves are not kept. Safe between threads."""

    def __init__(self, max_weight: int) -> None:
        self._max_weight = max_weight
        self._weight = 0
        self._lock = threading.Lock()
        self._known: OrderedDict[object, WordIndex] = OrderedDict()

    def get(self, key: object, make: Callable[[], WordIndex]) -> WordIndex:
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


def shared_index(
    request: JudgeRequest, find_keys: Callable[[JudgeRequest], AbstractSet[str]]
) -> WordIndex:
    """Return the index of the request's contexts; one is kept for all questions about the same contexts.

    Args:
        request: The request.
        find_keys: Finds the keys that a request looks for: long contexts are indexed for these only.
    """
    digest = digest_key(request.contexts)
    if sum(map(len, request.contexts)) <= MAX_INDEXED:
        return memory.get(digest, lambda: WordIndex(request.contexts))
    wanted = find_keys(request)
    return memory.get((digest, wanted), lambda: WordIndex(request.contexts, wanted))
