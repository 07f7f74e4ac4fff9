"""What a judge says about gold: references that nothing states, holes, and gold that asks for more than is needed.

Each question is judged once, with its gold passages, what was retrieved for it, and the passages of the corpus that have the
words of its reference. The verdicts of the embedded judge count if they are clear: it compares words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ctxmetrics._internal.forks import cached_property
from ctxmetrics.evaluation.gold.answers import cut_short_answer, is_answer, may_be_refusal
from ctxmetrics.evaluation.gold.contradictions import GoldTexts
from ctxmetrics.evaluation.gold.findings import Finding
from ctxmetrics.evaluation.gold.gold_runs import SimilarRun
from ctxmetrics.evaluation.gold.passages import Passages, read_words, shorten
from ctxmetrics.evaluation.gold.question import Question, find_language
from ctxmetrics.evaluation.gold.values import list_counts
from ctxmetrics.evaluation.rows.gold_answers import GoldPassage, make_key
from ctxmetrics.evaluation.rows.people_answers import CONTEXTS
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.judges.lexical.index import sentences
from ctxmetrics.metrics.judged import ContextPrecision, ContextRecall
from ctxmetrics.metrics.judging import JudgedMetric
from ctxmetrics.samples.sample import Sample
from ctxmetrics.text.normal_form import normalise
from ctxmetrics.text.sentences import split_sentences
from ctxmetrics.verdicts import Verdict

# A character of Chinese or Japanese.
_UNSPACED_CHARACTER = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
# The metrics by which the judge is asked about each question.
JUDGED_METRICS: tuple[JudgedMetric, ...] = (ContextRecall(), ContextPrecision())
_RECALL_METRIC, _PRECISION_METRIC = JUDGED_METRICS
# The maximum number of passages of the corpus that are judged for a sentence of a reference.
_PASSAGES_PER_SENTENCE = 3
# The maximum number of passages of the corpus that are judged for a question.
_PASSAGES_PER_QUESTION = 6
# The maximum number of results of a run that are judged for a question.
_JUDGED_RESULTS_PER_RUN = 10
# The corpus is not searched for a sentence of the reference if the gold has this share of its words.
_MIN_STATED_SHARE = 0.8

# The embedded judge compares words: its verdicts count only if the weighed words of the reference confirm them. The bars are
# shares of the weight of all words, chosen with ``benchmarks/validity/gold.py``.
# No passage states a sentence if the gold and any one other passage together have less than this share of its weight ..
_MAX_UNSTATED_WEIGHT_SHARE = 0.4
# .. and less than this share of its words. Weights alone do not decide: in a short sentence one rare word has most of the weight.
_MAX_UNSTATED_WORD_SHARE = 0.5
# Other forms of its words count as well if the gold has at least this share of its weight: then the gold is about the same subject.
_MIN_GOLD_SHARE_FOR_FORMS = 0.15
# Two words are taken for forms of one word if this number of first letters is equal.
_STEM_LETTERS = 5
# A sentence with a number of the gold is not called unstated if it has at most this number of words.
_MAX_SHORT_SENTENCE_WORDS = 8
# The minimum number of words with a meaning in a sentence that may be called unstated.
_MIN_SENTENCE_WORDS = 3
# A hole is a retrieved passage that answers the question and is not gold. A passage is a hole if it has at least this share of the
# words of the reference, whatever the gold passages have.
_MIN_SHARE_IN_SURE_HOLE = 0.65
# A passage is also a hole if it has at least this share of the words of the reference ..
_MIN_SHARE_IN_HOLE = 0.2
# .. and at least this share of words that no gold passage has.
_MIN_NEW_SHARE_IN_HOLE = 0.15
# A passage is also a hole if two of its sentences have at least this share of the words of a sentence of the reference ..
_MIN_SENTENCE_SHARE_IN_HOLE = 0.6
# The number of sentences of a passage that may state an answer together.
_SENTENCES_TOGETHER = 2
# .. and exceed two sentences of any gold passage by this share.
_MIN_LEAD_OVER_GOLD = 0.05
# A passage is a hole even without the judge's yes, if it is evidence for a sentence of the reference and exceeds any gold passage
# by this share of the sentence's words.
_MIN_LEAD_WITHOUT_VERDICT = 0.5
# A passage is also a hole if it is evidence for the reference, and has at least this share of the words of the question that carry a
# meaning ..
_MIN_QUESTION_SHARE_IN_HOLE = 0.6
# .. or is among so many first results of a run that are not gold.
_FIRST_RESULT_COUNT = 2
# Another passage states a sentence instead of the gold if all gold passages together have less than this share of its words.
_MAX_SHARE_BESIDE_STATING = 0.3
# A gold passage adds nothing if it has less than this share of the reference ..
_MIN_SHARE_IN_GOLD = 0.12
# .. and less than this share that no other gold passage has.
_MIN_NEW_SHARE_IN_GOLD = 0.08


@dataclass(frozen=True, slots=True)
class Pool:
    """The passages that are judged for a question.

    Attributes:
        question: The question.
        texts: The distinct texts of the passages.
        ids: The ids of the passages; None for a passage without an id.
        gold: The indexes of the gold passages.
        retrieved: The indexes of the passages that were retrieved and are not gold.
        first: The indexes of the first retrieved passages of each run.
    """

    question: Question
    texts: tuple[str, ...]
    ids: tuple[str | None, ...]
    gold: tuple[int, ...]
    retrieved: tuple[int, ...]
    first: frozenset[int]

    def name(self, index: int) -> str:
        """Return the id of a passage, else the beginning of its text."""
        return self.ids[index] or shorten(self.texts[index])

    def get_key(self, index: int) -> str:
        """Return the key of a passage, in the form of the keys of the question's gold."""
        id_ = self.ids[index] if self.question.has_ids else None
        return make_key(id_, self.texts[index])

    @property
    def sample(self) -> Sample:
        """The sample that is judged."""
        return Sample(
            id=str(self.question.number),
            user_input=self.question.sample.user_input,
            reference=self.question.reference,
            retrieved_contexts=self.texts,
        )


def build_pools(
    questions: Sequence[Question], passages: Passages, runs: Mapping[str, Sequence[Sample | None]]
) -> Iterator[Pool]:
    """Build the pool of each question that has an answer as reference and at least one passage."""
    for question_index, question in enumerate(questions):
        if not is_answer(question.reference) or may_be_refusal(question):
            continue
        results = [run[question_index] for run in runs.values()]
        pool = _build_pool(question, passages, [sample for sample in results if sample is not None])
        if pool.texts:
            yield pool


def _build_pool(question: Question, passages: Passages, results: Sequence[Sample]) -> Pool:
    """Build the pool of a question: its gold, the first results of each run, and passages found by words of the reference."""
    passages_by_text = _PassagesByText()
    gold: dict[str, None] = {}
    retrieved: dict[str, None] = {}
    first_keys: set[str] = set()
    for passage in question.gold:
        text = passage.text or ""
        key = normalise(text)
        # A text without a letter or digit says nothing. It may also stand in every other passage.
        if any(map(str.isalnum, key)):
            passages_by_text.add(key, passage.id, text)
            gold[key] = None
    useless = _find_useless(question.sample)
    for sample in results:
        ranked: dict[str, None] = {}
        for id_, text in _list_first_results(sample, passages):
            key = normalise(text)
            if not key or key in gold:
                continue
            is_gold = id_ is not None and id_ in question.gold_keys
            holds_gold = any(gold_text in key for gold_text in gold) and not question.has_ids
            if is_gold or holds_gold or key in useless:
                continue
            passages_by_text.add(key, id_, text)
            ranked[key] = None
        retrieved |= ranked
        first_keys.update([*ranked][:_FIRST_RESULT_COUNT])
    for index in _search(question, passages):
        chunk = passages.chunks[index]
        passages_by_text.add(normalise(chunk.text), chunk.id, chunk.text)
    order = {key: number for number, key in enumerate(passages_by_text.texts)}
    return Pool(
        question=question,
        texts=tuple(passages_by_text.texts.values()),
        ids=tuple(passages_by_text.ids.values()),
        gold=tuple(order[key] for key in gold),
        retrieved=tuple(order[key] for key in retrieved),
        first=frozenset(order[key] for key in first_keys),
    )


def _list_first_results(sample: Sample, passages: Passages) -> list[tuple[str | None, str]]:
    """List the id and the text of each of a sample's first results. If it has only ids, the texts are those of the passages."""
    texts = sample.retrieved_contexts or ()
    ids = sample.retrieved_context_ids or ()
    if not texts:
        places = [
            index
            for id_ in ids[:_JUDGED_RESULTS_PER_RUN]
            for index in passages.places_by_id.get(id_, ())[:1]
        ]
        return [(passages.chunks[index].id or None, passages.chunks[index].text) for index in places]
    if len(ids) != len(texts):  # it is not known which text has which id
        return [(None, text) for text in texts[:_JUDGED_RESULTS_PER_RUN]]
    pairs = zip(ids[:_JUDGED_RESULTS_PER_RUN], texts[:_JUDGED_RESULTS_PER_RUN], strict=True)
    return [(id_ or None, text) for id_, text in pairs]


class _PassagesByText:
    """The passages of a pool, each text once.

    Attributes:
        texts: The text of each passage, by the normalised text.
        ids: The first id of each passage, by the normalised text; None if there is no id.
    """

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.ids: dict[str, str | None] = {}

    def add(self, key: str, id_: str | None, text: str) -> None:
        """Add a passage under its normalised text."""
        self.texts.setdefault(key, text)
        if self.ids.get(key) is None:
            self.ids[key] = id_


def _find_useless(sample: Sample) -> frozenset[str]:
    """Find the contexts that people called useless."""
    labels = sample.labels.get(CONTEXTS)
    texts = sample.retrieved_contexts or ()
    if not isinstance(labels, Sequence) or len(labels) != len(texts):
        return frozenset()
    pairs = zip(texts, labels, strict=True)
    return frozenset(normalise(text) for text, label in pairs if label is not None and not label)


def _search(question: Question, passages: Passages) -> Sequence[int]:
    """Search the passages for the sentences of the reference that the gold passages do not have."""
    indexes: dict[int, None] = {}
    gold_words = frozenset[str]().union(*question.gold_content)
    for sentence in split_sentences(question.reference):
        content = question.find_content(sentence)
        if question.gold and len(content & gold_words) >= _MIN_STATED_SHARE * len(content):
            continue
        for index in passages.search(content, _PASSAGES_PER_SENTENCE):
            indexes[index] = None
    return [*indexes][:_PASSAGES_PER_QUESTION]


# --- findings ---


class PoolFindings:
    """Finds faults of the gold of a question by the verdicts about its pool.

    Args:
        pool: The pool.
        row: The scores of the pool.
        passages: All passages. They decide how much a word weighs.
        by_words: Whether the verdicts are of the embedded judge, which compares words.
    """

    def __init__(self, pool: Pool, row: Row, passages: Passages, *, by_words: bool) -> None:
        self._pool = pool
        self._question = pool.question
        # The verdicts about the sentences of the reference, and about the usefulness of each passage.
        self._unit_verdicts = row[_RECALL_METRIC.name].verdicts
        self._usefulness_verdicts = row[_PRECISION_METRIC.name].verdicts
        self._passages = passages
        self._compares_words = by_words
        # By the index of a passage, the keys of its words.
        self._words: dict[int, frozenset[str]] = {}
        # By the index of a passage, the keys of the words of each of its sentences.
        self._words_by_place: dict[int, Sequence[frozenset[str]]] = {}

    def __iter__(self) -> Iterator[Finding]:
        yield from self._check_reference()
        yield from self._check_needed()
        yield from self._check_holes()

    def _read_passage(self, index: int) -> frozenset[str]:
        """Read the keys of the words of a passage."""
        words = self._words.get(index)
        if words is None:
            words = frozenset(word.key for word in read_words(self._pool.texts[index]))
            self._words[index] = words
        return words

    def _unite_gold(self, without: int | None = None) -> frozenset[str]:
        """Return the words of all gold passages together, or of all except one."""
        return frozenset[str]().union(
            *(self._read_passage(index) for index in self._pool.gold if index != without)
        )

    def _weigh(self, keys: Iterable[str], whole: Iterable[str]) -> float:
        """Return the share that some words have in the weight of all words of a text."""
        return self._sum_weights(keys) / (self._sum_weights(whole) or 1.0)

    def _sum_weights(self, keys: Iterable[str]) -> float:
        """Return the weight of some words."""
        return sum(map(self._passages.weigh, keys))

    # --- the reference ---

    @cached_property
    def is_in_another_language(self) -> bool:
        """Whether no gold passage has the language of question and reference. Without gold, all passages of the pool count.

        If so, words that a passage shares with the reference cannot show whether the passage states it.
        """
        language = find_language(self._question.reference)
        if not self._compares_words or language is None:
            return False
        if find_language(self._question.text) not in {None, language}:
            return False
        indexes = self._pool.gold or range(len(self._pool.texts))
        return all(find_language(self._pool.texts[index]) not in {None, language} for index in indexes)

    def _check_reference(self) -> Iterator[Finding]:
        """Find sentences of the reference that no passage states, and sentences that the gold contradicts."""
        unstated: list[Verdict] = []
        elsewhere = unit_elsewhere = ""
        gold_texts = [self._pool.texts[index] for index in self._pool.gold]
        gold = GoldTexts(gold_texts, self._question)
        for unit in self._unit_verdicts:
            is_stated = unit.value is True and unit.code != "uncertain"
            contradiction_text = gold.find_contradiction(unit.text, is_stated=is_stated)
            if contradiction_text:
                evidence = (
                    f"the reference says {shorten(unit.text)!r}, {self._name_gold()} otherwise: "
                    f"{contradiction_text}"
                )
                yield self._question.make_finding("contradicts_gold", evidence, (unit.text,))
            elif unit.value is False and self._is_unstated(unit.text):
                unstated.append(unit)
            elif is_stated and not elsewhere:
                elsewhere = self._name_stating(unit)
                unit_elsewhere = unit.text
        if unstated:
            scope = "nothing that was retrieved or is gold"
            if self._passages.is_corpus:
                scope = "no passage of the corpus"
            evidence = f"{scope} states {shorten(unstated[0].text)!r}"
            if unstated[0].reason:
                evidence += f" ({shorten(unstated[0].reason, 120)})"
            yield self._question.make_finding("unstated", evidence, (unit.text for unit in unstated))

        if elsewhere:
            evidence = f"{elsewhere!r} states {shorten(unit_elsewhere)!r}, and no gold passage does"
            yield self._question.make_finding("stated_elsewhere", evidence, (elsewhere,))

    def _name_stating(self, unit: Verdict) -> str:
        """Name the passage that states a unit of which no gold passage has anything. Return an empty text if there is none.

        A passage that was retrieved is a hole, which another finding names.
        """
        indexes = [span.context for span in unit.evidence]
        gold = self._pool.gold
        if not gold or not indexes or not {*gold, *self._pool.retrieved}.isdisjoint(indexes):
            return ""
        if not all(map(self._has_text_of_corpus, self._question.gold)):
            return ""  # another finding says so
        if normalise(self._pool.texts[indexes[0]]) in _find_useless(self._question.sample):
            return ""
        content = self._question.find_content(unit.text)
        if self._compares_words and (
            self.is_in_another_language
            or len(content) < _MIN_SENTENCE_WORDS
            or self._weigh(content & self._unite_gold(), content) >= _MAX_SHARE_BESIDE_STATING
            or self._weigh(content & self._read_passage(indexes[0]), content) < _MIN_SHARE_IN_SURE_HOLE
        ):
            return ""
        return self._pool.name(indexes[0])

    def _has_text_of_corpus(self, passage: GoldPassage) -> bool:
        """Tell whether a gold passage has the text that its passage of the corpus has."""
        if not passage.places:
            return False
        text = self._passages.chunks[passage.places[0]].text
        return normalise(text) == normalise(passage.text or "")

    def _name_gold(self) -> str:
        """Name the gold of the question: by the id of its only passage, or as several passages."""
        ids = [self._pool.ids[index] for index in self._pool.gold]
        if len(ids) > 1:
            return "its gold passages"
        return f"its gold passage {ids[0]!r}" if ids[0] else "its gold passage"

    def _is_unstated(self, text: str) -> bool:
        """Tell whether a sentence that the judge calls unsupported is clearly not stated. A language model's verdict always counts."""
        if not self._compares_words:
            return True
        statement = cut_short_answer(text, self._question)
        content = self._question.find_content(statement)
        if self.is_in_another_language or len(content) < _MIN_SENTENCE_WORDS:
            return False
        equal_counts = self._find_equal_counts(statement)
        # The other words of a short sentence may say the same as words of the gold.
        if equal_counts and len(read_words(statement)) <= _MAX_SHORT_SENTENCE_WORDS:
            return False
        gold = self._unite_gold() | equal_counts
        is_same_subject = self._weigh(content & gold, content) >= _MIN_GOLD_SHARE_FOR_FORMS
        for index in range(len(self._pool.texts)):
            known_words = gold | self._read_passage(index)
            shared_words = content & known_words
            if is_same_subject:
                shared_words |= _find_other_forms(content, known_words)
            has_words = len(shared_words) >= _MAX_UNSTATED_WORD_SHARE * len(content)
            if has_words or self._weigh(shared_words, content) >= _MAX_UNSTATED_WEIGHT_SHARE:
                return False
            if self._measure_characters(statement, index) >= _MAX_UNSTATED_WORD_SHARE:
                return False
        return True

    def _find_equal_counts(self, text: str) -> frozenset[str]:
        """Find the numbers of a text that the gold has, too, perhaps with another unit: "19-year-old" and "Ibe, 19,"."""
        numbers = [word for word in read_words(text) if list_counts([word])]
        if not numbers:
            return frozenset()  # the usual case: the gold is not read
        gold_words = (word for index in self._pool.gold for word in read_words(self._pool.texts[index]))
        gold_counts = list_counts(gold_words)
        return frozenset(
            word.key for word in numbers if not gold_counts.isdisjoint(list_counts([word]))
        )

    def _measure_characters(self, text: str, index: int) -> float:
        """Measure the share of the characters of a text that the gold and a passage have, in a script without blanks.

        Pairs of characters, which are read as words, change with each character between them. For other scripts the share is 0.
        """
        characters = frozenset(_UNSPACED_CHARACTER.findall(text))
        if not characters:
            return 0.0
        indexes = {index, *self._pool.gold}
        found = frozenset().union(*(self._pool.texts[place] for place in indexes))
        return len(characters & found) / len(characters)

    # --- the gold passages ---

    def _check_needed(self) -> Iterator[Finding]:
        """Find gold passages that add nothing to the other gold passages."""
        gold = self._pool.gold
        units = self._unit_verdicts
        if len(gold) == 1 or not units or any(unit.value is None for unit in units):
            return
        names = {index: self._pool.name(index) for index in gold}
        if all(unit.value and len(self._find_stating(unit)) == len(gold) for unit in units):
            if gold:
                evidence = f"each of {', '.join(names.values())} states the whole reference alone"
                yield self._question.make_finding("any_suffices", evidence, names.values())
            return
        if not any(unit.value for unit in units):
            return
        needless = self._needless
        if needless and len(needless) < len(gold):
            evidence = (
                f"{names[needless[0]]!r} adds no sentence of the reference to the other gold passages"
            )
            yield self._question.make_finding(
                "adds_nothing", evidence, [names[index] for index in needless]
            )

    @cached_property
    def _needless(self) -> Sequence[int]:
        """The gold passages that add nothing to the others."""
        return [index for index in self._pool.gold if self._adds_nothing(index)]

    def check_first_results(self, like_run: SimilarRun | None) -> Iterator[Finding]:
        """Find gold that is nearly the first results of a run and has a passage that the answer does not need.

        Args:
            like_run: The run whose first results the gold is; None if there is no such run.
        """
        gold = self._pool.gold
        if like_run is None or len(gold) == 1 or not any(unit.value for unit in self._unit_verdicts):
            return
        needless = self._needless
        if not needless and like_run.is_in_order and self._compares_words:
            needless = [index for index in gold if self._adds_few_words(index)]
        if not needless:
            return
        name = self._pool.name(needless[0])
        evidence = f"{like_run.evidence}, and {name!r} adds no sentence of the reference"
        yield self._question.make_finding("first_results", evidence, (like_run.run, name))

    def _find_stating(self, unit: Verdict) -> frozenset[int]:
        """Find the gold passages that state a unit alone."""
        stating = (span.context for span in unit.evidence if span.whole)
        return frozenset(self._pool.gold).intersection(stating)

    def _adds_nothing(self, index: int) -> bool:
        """Tell whether a gold passage states nothing of the reference that the other gold passages do not state.

        For the embedded judge the condition is stricter: the passage states nothing of the reference and has few of its words.
        """
        for unit in self._unit_verdicts:
            if not any(span.context == index for span in unit.evidence):
                continue
            other_stating = self._find_stating(unit) - {index}
            if self._compares_words or not other_stating:
                return False
        if not self._compares_words:
            return True
        content = self._question.reference_content
        has_few_words = self._weigh(content & self._read_passage(index), content) < _MIN_SHARE_IN_GOLD
        return has_few_words and self._adds_few_words(index)

    def _adds_few_words(self, index: int) -> bool:
        """Tell whether a gold passage has few words of the reference that no other gold passage has."""
        content = self._question.reference_content
        words_of_no_other = (content & self._read_passage(index)) - self._unite_gold(index)
        return self._weigh(words_of_no_other, content) < _MIN_NEW_SHARE_IN_GOLD

    # --- the retrieved passages ---

    def _check_holes(self) -> Iterator[Finding]:
        """Find retrieved passages that the judge calls useful with evidence, and that are not gold."""
        if not self._question.gold:
            return
        for index in self._pool.retrieved:
            quote = self._find_use(index)
            if quote:
                name = self._pool.name(index)
                evidence = f"{name!r} was retrieved, is useful and is not gold: {shorten(quote, 160)!r}"
                yield self._question.make_finding("hole", evidence, (self._pool.get_key(index),))

    def _find_use(self, index: int) -> str:
        """Find the quote that makes a passage useful. Return an empty text if the passage is not useful."""
        verdict = self._usefulness_verdicts[index] if index < len(self._usefulness_verdicts) else None
        is_useful = verdict is not None and verdict.value and verdict.evidence
        if verdict is not None and is_useful and (not self._compares_words or self._has_answer(index)):
            return verdict.evidence[0].quote
        if not self._compares_words:
            return ""
        for unit in self._unit_verdicts:
            quotes = [span.quote for span in unit.evidence if span.context == index]
            if quotes and self._is_nearer_than_gold(index, unit.text, _MIN_LEAD_WITHOUT_VERDICT):
                return quotes[0]
        return ""

    def _has_answer(self, index: int) -> bool:
        """Tell whether a passage has enough words of the reference, or is evidence for the reference and near to the question."""
        content = self._question.reference_content
        shared_words = content & self._read_passage(index)
        share = self._weigh(shared_words, content)
        if share >= _MIN_SHARE_IN_SURE_HOLE:
            return True
        # The passage may repeat the question, and not answer it.
        if shared_words.issubset(self._question.word_keys):
            return False
        new_share = self._weigh(shared_words - self._unite_gold(), content)
        if share >= _MIN_SHARE_IN_HOLE and new_share >= _MIN_NEW_SHARE_IN_HOLE:
            return True
        is_evidence = False
        for unit in self._unit_verdicts:
            if self._is_nearer_than_gold(index, unit.text, _MIN_LEAD_OVER_GOLD):
                return True
            if any(span.context == index for span in unit.evidence):
                is_evidence = True
        question_words = self._question.find_content(self._question.text)
        share_of_question = self._weigh(question_words & self._read_passage(index), question_words)
        is_near = share_of_question >= _MIN_QUESTION_SHARE_IN_HOLE or index in self._pool.first
        return is_evidence and is_near

    def _is_nearer_than_gold(self, index: int, text: str, min_lead: float) -> bool:
        """Tell whether a passage is nearer to a sentence of the reference than every gold passage.

        A passage is near if its two best sentences together have many of the words of that sentence.

        Args:
            index: The index of the passage in the pool.
            text: The sentence of the reference.
            min_lead: The share of the sentence's words by which the passage must exceed each gold passage.
        """
        content = self._question.find_content(text)
        if len(content) < _MIN_SENTENCE_WORDS:
            return False
        share = self._measure_two_sentences(content, index)
        if share < _MIN_SENTENCE_SHARE_IN_HOLE:
            return False
        gold_shares = (self._measure_two_sentences(content, gold) for gold in self._pool.gold)
        return share >= max(gold_shares, default=0.0) + min_lead

    def _measure_two_sentences(self, content: frozenset[str], index: int) -> float:
        """Measure the share of words that two sentences of a passage have together; 0 for a passage without a sentence.

        The first is the sentence with most of the words, the second the one with most of the others.
        """
        missing = content
        for _ in range(_SENTENCES_TOGETHER):
            shared_words = [missing & words for words in self._sentence_words(index)]
            weights = [self._sum_weights(words) for words in shared_words]
            if shared_words:
                nearest = weights.index(max(weights))
                missing -= shared_words[nearest]
        return self._weigh(content - missing, content)

    def _sentence_words(self, index: int) -> Sequence[frozenset[str]]:
        """Return the keys of the words of each sentence of a passage."""
        if index not in self._words_by_place:
            text = self._pool.texts[index]
            self._words_by_place[index] = [
                frozenset(word.key for word in read_words(text[start:end]))
                for start, end in sentences(text)
            ]
        return self._words_by_place[index]


def _find_other_forms(keys: Iterable[str], known_keys: Iterable[str]) -> frozenset[str]:
    """Find the words of which some known words have another form, such as "developer" for "development".

    Args:
        keys: The keys of the words.
        known_keys: The keys of the known words.
    """
    stems = {key[:_STEM_LETTERS] for key in known_keys if len(key) >= _STEM_LETTERS}
    long_keys = (key for key in keys if len(key) > _STEM_LETTERS and key.isalpha())
    return frozenset(key for key in long_keys if key[:_STEM_LETTERS] in stems)
