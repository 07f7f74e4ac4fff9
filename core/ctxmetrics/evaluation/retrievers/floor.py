"""The floor beside retrievers: BM25 over their corpus, and what chance would retrieve."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from importlib import import_module
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING, Any

from ctxmetrics.errors import importing
from ctxmetrics.evaluation.retrievers.corpus import Chunk, Corpus
from ctxmetrics.metrics.base import Metric
from ctxmetrics.samples.documents import are_span_ids
from ctxmetrics.samples.sample import Sample
from ctxmetrics.text.languages import detect_language

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# The parameters of BM25.
BM25_K1 = 1.5
BM25_B = 0.75
# Snowball's name of a language.
_STEMMER_BY_LANGUAGE = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "fi": "finnish", "fr": "french", "hu": "hungarian", "it": "italian", "nl": "dutch", "no": "norwegian",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sv": "swedish", "tr": "turkish",
}  # fmt: skip
# The number of texts that decide the language.
_LANGUAGE_SAMPLE_SIZE = 200
# A run of letters and digits.
_WORD = re.compile(r"\w+")
# Letters of scripts without spaces between words, and Korean, whose particles are written together with the word.
_UNSPACED_LETTERS = re.compile(
    r"""
        [\u0e00-\u0eff]               # Thai, Lao
      | [\u1000-\u109f]               # Burmese
      | [\u1780-\u17ff]               # Khmer
      | [\u3040-\u30ff]               # Japanese
      | [\u3400-\u9fff\uf900-\ufaff]  # Chinese characters
      | [\uac00-\ud7af]               # Korean
    """,
    re.VERBOSE,
)


class BM25:
    """Ranks the chunks of a corpus by words: BM25 as Lucene computes it, by the library bm25s.

    Words are runs of letters and digits in small letters, stemmed by Snowball in the language of most texts; in scripts
    without spaces, pairs of adjoining characters. There are no stop words. A chunk that shares no word with the question is
    not retrieved, and of equal scores the chunk that stands first in the corpus is first.

    Args:
        corpus: The corpus.
        k: The maximum number of chunks to retrieve.

    Attributes:
        about: The library and the parameters, for the provenance.

    Raises:
        MissingExtraError: bm25s or PyStemmer is not installed.
    """

    def __init__(self, corpus: Corpus, k: int) -> None:
        with importing("bm25s"):
            import bm25s
        self._chunks = corpus.chunks
        self._k = k
        self._stem, stemmer_name = _build_stemmer(corpus.chunks)
        tokens = [self._tokenize(f"{chunk.title} {chunk.text}") for chunk in corpus.chunks]
        self._corpus_tokens = frozenset(token for text in tokens for token in text)
        self._index = bm25s.BM25(k1=BM25_K1, b=BM25_B, method="lucene", dtype="float64")
        if self._corpus_tokens:
            self._index.index(tokens, show_progress=False)
        self.about: str = (
            f"bm25s {bm25s.__version__}, lucene, k1 {BM25_K1:g}, b {BM25_B:g}, words, pairs of characters without spaces, "
            f"{stemmer_name}, no stop words, {len(corpus.chunks)} chunks, corpus {corpus.digest}"
        )

    def __call__(self, question: str) -> list[dict[str, Any]]:
        """Return the chunks with the highest scores."""
        tokens = [token for token in self._tokenize(question) if token in self._corpus_tokens]
        if not tokens:
            return []
        scores: NDArray[np.float64] = self._index.get_scores(tokens)  # one a chunk
        # Python's sort keeps the order of equal scores.
        by_score = sorted(range(len(scores)), key=lambda index: -scores[index])
        best_indexes = [index for index in by_score[: self._k] if scores[index] > 0]
        return [_to_document(self._chunks[index], float(scores[index])) for index in best_indexes]

    def _tokenize(self, text: str) -> list[str]:
        """Split a text into stemmed words. In scripts without spaces, split it into pairs of characters."""
        tokens: list[str] = []
        for word in _WORD.findall(text.casefold()):
            has_no_spaces = not word.isascii() and _UNSPACED_LETTERS.search(word)
            if not has_no_spaces:
                tokens.append(self._stem(word))
            elif len(word) == 1:
                tokens.append(word)
            else:
                tokens += [letter + next_letter for letter, next_letter in pairwise(word)]
        return tokens


def _to_document(chunk: Chunk, score: float) -> dict[str, Any]:
    """Return a chunk with its score as a document."""
    document: dict[str, Any] = {"text": chunk.text, "score": score}
    if chunk.id is not None:
        document["id"] = chunk.id
    return document


def _build_stemmer(chunks: Iterable[Chunk]) -> tuple[Callable[[str], str], str]:
    """Return the stemmer of the language of most texts, and what the provenance calls it."""
    with importing("PyStemmer", also="Stemmer"):
        library = import_module("Stemmer")  # a compiled module, without types
    texts = [chunk.text for chunk in chunks][:_LANGUAGE_SAMPLE_SIZE]
    counts = Counter(detect_language(text) for text in texts)
    most_frequent_language, _ = counts.most_common(1)[0]
    name = _STEMMER_BY_LANGUAGE.get(most_frequent_language)
    if name is None or name not in library.algorithms():
        return str, "no stemmer"
    stemmer: Any = library.Stemmer(name)
    return stemmer.stemWord, f"stemmer {name} (PyStemmer)"


def random_mean(metric: Metric, questions: Iterable[Sample], corpus: Corpus, k: int) -> float | None:
    """Return the mean that k chunks drawn at random from a corpus would have. Return None if there is no closed form.

    Formula: of a recall by ids, ``k / N`` times the share of the expected ids that the corpus holds; of a precision by ids as
    a share, expected ids in the corpus / N. N is the number of chunks. The highest value of the convention is 1 here.

    Args:
        metric: The metric.
        questions: The questions.
        corpus: The corpus; each chunk has an id.
        k: The number of chunks that are drawn at random.
    """
    chunk_count = len(corpus.chunks)
    if len(corpus.ids) < chunk_count:  # a chunk has no id, or that of another
        return None
    is_recall = metric.base_name == "id_based_context_recall"
    is_plain_precision = (
        metric.base_name == "id_based_context_precision" and metric.formula_name == "share"
    )
    if not (is_recall or is_plain_precision) or metric.grouped or metric.strict:
        return None
    drawn_count = min(k, chunk_count)
    if metric.top_k is not None:
        drawn_count = min(drawn_count, metric.top_k)
    values: list[float] = []
    for question in questions:
        expected_ids = {*(question.reference_context_ids or ())}
        if not expected_ids or are_span_ids(question.reference_context_ids):
            continue
        expected_in_corpus = len(expected_ids & corpus.ids)
        if is_recall:
            values.append(drawn_count / chunk_count * expected_in_corpus / len(expected_ids))
        else:
            values.append(expected_in_corpus / chunk_count)
    if not values:
        return None
    return fmean(values) * metric.convention_data.scale
