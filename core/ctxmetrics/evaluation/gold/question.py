"""A question with its gold: each gold passage, and where it stands among the passages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.forks import cached_property
from ctxmetrics.evaluation.gold.findings import Finding
from ctxmetrics.evaluation.gold.passages import Passages, read_words
from ctxmetrics.evaluation.rows.gold_answers import GoldPassage, list_gold
from ctxmetrics.judges.evidence.chunks import Token
from ctxmetrics.judges.evidence.words import get_word_list
from ctxmetrics.samples.sample import Sample
from ctxmetrics.text.languages import detect_language


class Question:
    """A sample with its gold.

    Args:
        number: The number of the question's sample, from 1.
        sample: The sample.
        passages: The passages among which its gold is looked for.

    Attributes:
        name: The id of the sample; its number as text without one.
        gold: The gold passages.
    """

    def __init__(self, number: int, sample: Sample, passages: Passages) -> None:
        self.number = number
        self.sample = sample
        self.name: str = str(number) if sample.id is None else sample.id
        self.gold: Sequence[GoldPassage] = tuple(_find_gold(sample, passages))

    @property
    def has_ids(self) -> bool:
        """Whether the gold names ids; else it has texts."""
        return self.sample.reference_context_ids is not None

    @property
    def text(self) -> str:
        """The question."""
        return self.sample.user_input or ""

    @property
    def reference(self) -> str:
        """The reference, or the first of several; empty if there is none."""
        return self.sample.reference or next(iter(self.sample.references or ()), "")

    @cached_property
    def gold_keys(self) -> Sequence[str]:
        """The keys of the gold passages, in the order of the sample: their ids, else hashes of their texts."""
        return [passage.key for passage in self.gold]

    @cached_property
    def gold_places(self) -> frozenset[int]:
        """The indexes of the gold passages among the passages."""
        return frozenset(place for passage in self.gold for place in passage.places)

    @cached_property
    def language(self) -> str:
        """The language of the reference. If it is too short to show it, question and gold decide."""
        both = f"{self.text} {self.reference}"
        gold_texts = [passage.text or "" for passage in self.gold]
        for text in (self.reference, self.text, both, *gold_texts):
            language = find_language(text)
            if language is not None:
                return language
        return detect_language(self.reference)

    def find_content(self, text: str) -> frozenset[str]:
        """Find the keys of the words of a text that carry a meaning in the language of the reference."""
        return find_content(text, self.language)

    @cached_property
    def words(self) -> Sequence[Token]:
        """The words of the question."""
        return read_words(self.text)

    @cached_property
    def word_keys(self) -> frozenset[str]:
        """The keys of the words of the question."""
        return frozenset(word.key for word in self.words)

    @cached_property
    def reference_content(self) -> frozenset[str]:
        """The keys of the words of the reference that carry a meaning."""
        return self.find_content(self.reference)

    @cached_property
    def reference_words(self) -> Sequence[Token]:
        """The words of the reference."""
        return read_words(self.reference)

    @cached_property
    def gold_words(self) -> Sequence[Sequence[Token]]:
        """The words of each gold passage. A passage without a text has none."""
        return [read_words(passage.text or "") for passage in self.gold]

    @cached_property
    def gold_content(self) -> Sequence[frozenset[str]]:
        """The keys of the words of each gold passage. A passage without a text has none."""
        return [frozenset(word.key for word in words) for words in self.gold_words]

    @cached_property
    def gold_by_words(self) -> frozenset[str | frozenset[str]]:
        """The gold passages, each by its words, so that one text under two ids is one passage. Without a text it is its key."""
        pairs = zip(self.gold_keys, self.gold_content, strict=True)
        return frozenset(words or key for key, words in pairs)

    def make_finding(self, code: str, evidence: str, items: Iterable[str] = ()) -> Finding:
        """Make a finding about this question."""
        return Finding(
            code=code,
            number=self.number,
            sample=self.name,
            question=self.text,
            evidence=evidence,
            items=tuple(items),
        )


def find_content(text: str, language: str | None = None) -> frozenset[str]:
    """Find the keys of the words of a text that carry a meaning. Without a language, the text itself shows it."""
    stop = get_word_list("stop", language or detect_language(text))
    return frozenset(token.key for token in read_words(text) if token.folded not in stop)


def find_language(text: str) -> str | None:
    """Find the language of a text. Return None if it is not clear: the text would be English, and has no word that only English has."""
    language = detect_language(text)
    if language != "en":
        return language
    is_english = any(word.folded in _read_english_words() for word in read_words(text))
    return language if is_english else None


@cache
def _read_english_words() -> frozenset[str]:
    """Read the frequent words that English alone has."""
    words = {**read_data("_internal", "function_words.json")["words"]}
    english = words.pop("en")
    return frozenset(english).difference(*words.values())


def _find_gold(sample: Sample, passages: Passages) -> Iterator[GoldPassage]:
    """Yield the gold passages, each with its places. A passage without a text has the text of the corpus."""
    for passage in list_gold(sample):
        text = passage.text
        if passage.id is None:
            place = passages.find_text(text or "")
            places = [] if place is None else [place]
        else:
            places = passages.places_by_id.get(passage.id, [])
        if text is None and places:
            text = passages.chunks[places[0]].text
        yield GoldPassage(passage.id, text, tuple(places))
