"""Where each word stands in the contexts, by sentence."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import repeat

from ctxmetrics._internal.forks import make_lock
from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.evidence.words import (
    DECIMALS,
    find_equal_key,
    read_keys,
    split_date,
)
from ctxmetrics.models.runtime.memo import digest_key
from ctxmetrics.text.character_spans import Span
from ctxmetrics.text.sentences import sentence_spans, split_visible
from ctxmetrics.text.visible import see
from ctxmetrics.verdicts import Evidence

# The maximum number of characters of all contexts whose words are all indexed. Of longer contexts only the words of the request
# are indexed, so that the index takes little memory.
MAX_INDEXED = 1_000_000
# The maximum number of characters of a sentence. A longer one (a table, a log) is cut at white space, so that evidence is short.
MAX_SENTENCE = 1_000


def sentences(text: str) -> Sequence[tuple[int, int]]:
    """Return the start and the end of each sentence of a text; no sentence is longer than `MAX_SENTENCE`."""
    view = see(text)
    spans = split_visible(view.text) if view.is_plain else sentence_spans(text)
    if len(text) <= MAX_SENTENCE:
        return spans
    pieces: list[tuple[int, int]] = []
    for start, end in spans:
        pieces += _cut_long_sentence(text, start, end)
    return pieces


def _cut_long_sentence(text: str, start: int, sentence_end: int) -> Iterator[tuple[int, int]]:
    """Cut a sentence that is too long into pieces of at most `MAX_SENTENCE` characters.

    A piece is cut behind the last line break of its second half, or else behind the last space there, or else at its end.
    """
    while sentence_end - start > MAX_SENTENCE:
        middle = start + MAX_SENTENCE // 2
        longest_end = start + MAX_SENTENCE
        cut = text.rfind("\n", middle, longest_end) + 1
        if not cut:
            cut = text.rfind(" ", middle, longest_end) + 1
        if not cut:
            cut = longest_end
        yield start, start + len(text[start:cut].rstrip())
        start = cut
    yield start, sentence_end


class WordIndex:
    """Where each word stands in the contexts, by sentence.

    Attributes:
        starts: For each sentence, the position of its first character in its context.
        ends: For each sentence, the position behind its last character.
        first: For each context, the index of its first sentence. The last entry is the number of sentences.
        owners: For each sentence, the index of its context.
        lengths: For each context, the number of its words.
        weight: The approximate number of bytes of the index.
    """

    __slots__ = ("_keys", "_sentences_by_key", "ends", "first", "lengths", "owners", "starts", "weight")

    def __init__(self, contexts: Sequence[str], wanted: AbstractSet[str] | None = None) -> None:
        self.starts: array[int] = array("I")
        self.ends: array[int] = array("I")
        self.first: array[int] = array("I", [0])
        self.owners: array[int] = array("I")
        self.lengths: list[int] = []
        # For each sentence, the keys of its words, with repetitions. The garbage collector passes over a tuple of texts, but not
        # over a list.
        self._keys: list[tuple[str, ...]] = []
        # The sentences that hold each key that was looked for, with repetitions.
        self._sentences_by_key: dict[str, list[int]] = {}
        for number, context in enumerate(contexts):
            word_count = 0
            view = see(context)
            is_plain = view.is_plain
            spans = sentences(context)
            for start, end in spans:
                sentence = context[start:end] if is_plain else view.cut(Span(start, end))
                keys, sentence_word_count = read_keys(sentence)
                word_count += sentence_word_count
                if wanted is not None:
                    keys = tuple(key for key in keys if key in wanted)
                self._keys.append(keys)
            self.starts.extend(start for start, _ in spans)
            self.ends.extend(end for _, end in spans)
            self.owners.extend(repeat(number, len(spans)))
            self.lengths.append(word_count)
            self.first.append(len(self.starts))
        self.weight: int = 100 * len(self.starts) + 120 * sum(map(len, self._keys))

    def index_sentences_with(self, keys: AbstractSet[str]) -> None:
        """Find the sentences that hold some keys. Give all keys of a request at once, because each search reads all contexts."""
        new_keys = keys - self._sentences_by_key.keys()
        if not new_keys:
            return
        sentences_by_key: dict[str, list[int]] = {key: [] for key in new_keys}
        for sentence, sentence_keys in enumerate(self._keys):
            for key in filter(new_keys.__contains__, sentence_keys):  # faster than an `if`
                sentences_by_key[key].append(sentence)
        # Another thread that looks for the same keys writes the same sentences.
        self._sentences_by_key.update(sentences_by_key)

    def _find_sentences(self, key: str) -> Sequence[int]:
        """Return the sentences with exactly this key, with repetitions."""
        if key not in self._sentences_by_key:
            self.index_sentences_with({key})
        return self._sentences_by_key[key]

    def sentences(self, key: str) -> Sequence[int]:
        """Return the sentences that hold a word, with repetitions.

        For a date, sentences with its day and no year count, too. For "three times", sentences with "three" count, too.
        """
        exact_sentences = self._find_sentences(key)
        may_be_date = key[4:5] == "-"  # such as "2024-05-01"
        if not may_be_date:
            number = find_equal_key(key) if " " in key else DECIMALS.get(key)
            if not number:
                return exact_sentences  # the usual case
            sentences_with_number = self._find_sentences(number)
            distinct_with_number = frozenset(sentences_with_number)
            other_sentences = [item for item in exact_sentences if item not in distinct_with_number]
            return [*sentences_with_number, *other_sentences]
        year, forms_without_year, excluded_key = split_date(key)
        if not year:
            return exact_sentences
        excluded_sentences = frozenset(self._find_sentences(excluded_key))
        dated_sentences = [*exact_sentences]
        for form in forms_without_year:
            dated_sentences += [
                sentence
                for sentence in self._find_sentences(form)
                if sentence not in excluded_sentences
            ]
        return sorted(dated_sentences)

    def masks(self, bits: Mapping[str, int]) -> dict[int, dict[int, int]]:
        """Return for each context the sentences that hold some words, each with the bits of its words.

        Args:
            bits: The words by their keys, each with the bits that stand for it.

        Returns:
            For each context, a mapping from its sentences to bits. Sentences and contexts without such a word are left out.
        """
        bits_by_sentence: dict[int, int] = {}
        for key, bit in bits.items():
            for sentence in self.sentences(key):
                if sentence in bits_by_sentence:
                    bits_by_sentence[sentence] |= bit
                else:
                    bits_by_sentence[sentence] = bit
        by_context: dict[int, dict[int, int]] = {}
        for sentence in sorted(bits_by_sentence):
            context = self.owners[sentence]
            if context not in by_context:
                by_context[context] = {}
            by_context[context][sentence] = bits_by_sentence[sentence]
        return by_context

    def hold_any(self, sentences: Iterable[int], keys: AbstractSet[str]) -> bool:
        """Whether at least one of some sentences has at least one of some keys."""
        return any(not keys.isdisjoint(self._keys[sentence]) for sentence in sentences)

    def read(self, sentence: int, contexts: Sequence[str]) -> str:
        """Return the visible text of a sentence."""
        span = Span(self.starts[sentence], self.ends[sentence])
        return see(contexts[self.owners[sentence]]).cut(span)

    def evidence(self, sentence: int, contexts: Sequence[str], *, whole: bool = True) -> Evidence:
        """Return a sentence as evidence."""
        owner = self.owners[sentence]
        start = self.starts[sentence]
        end = self.ends[sentence]
        return Evidence(owner, start, end, contexts[owner][start:end], whole)


class IndexMemory:
    """The last indexes, by the digests of their contexts. The texts themselves are not stored. Safe between threads."""

    def __init__(self, max_weight: int) -> None:
        self._max_weight = max_weight
        self._weight = 0
        self._lock = make_lock()
        self._indexes: OrderedDict[object, WordIndex] = OrderedDict()

    def get(self, key: object, make: Callable[[], WordIndex]) -> WordIndex:
        """Return the index of a key. If there is none, build it; several threads that ask for it build it only once."""
        # The lock is held while the index is built: this work lets no other thread run anyway.
        with self._lock:
            index = self._indexes.get(key)
            if index is not None:
                self._indexes.move_to_end(key)
                return index
            index = make()
            if index.weight <= self._max_weight:
                self._indexes[key] = index
                self._weight += index.weight
            while self._weight > self._max_weight:
                _, oldest_index = self._indexes.popitem(last=False)
                self._weight -= oldest_index.weight
            return index

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._indexes.clear()
            self._weight = 0


memory: IndexMemory = IndexMemory(max_weight=64_000_000)


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
