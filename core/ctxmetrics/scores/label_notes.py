"""Notes about the ids and labels of a run: reference ids that were never retrieved, labels that repeat retrieved texts.

The notes change no number. The ids of spans are not compared: another chunking has other spans.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple
from urllib.parse import unquote

from ctxmetrics.samples.documents import are_span_ids
from ctxmetrics.samples.field_keys import (
    NOT_READ,
    OPTIONS,
    ORDERED_BY,
    RETRIEVED,
    UNORDERED_BY,
    UNUSABLE,
)
from ctxmetrics.samples.sample import DROPPED, Sample
from ctxmetrics.samples.unanswerable import LABEL, phrase_kind
from ctxmetrics.scores.text_notes import TextSigns, count_separators, describe_separators
from ctxmetrics.scores.wording import TEXT, clean, plural

# With fewer samples, only certain facts are described.
_MIN_SAMPLES = 5

# A note is written if more than this share of the reference ids were never retrieved.
_MIN_UNRETRIEVED_SHARE = 0.5

# The note suggests to cut the ids if at least this share of the cut ids matches.
_MIN_MATCHED_SHARE = 0.2
# At least this many cut ids must match, too. The note shows as many examples.
_EXAMPLES_SHOWN = 2

# The references are counted in this many passes, each for a part of the questions, so that the count takes little memory.
_QUESTION_PARTS = 8

# A separator between two parts of an id: the marks in ``docs/a.pdf#2``, the letters before the digits in ``doc12``, or the border
# between digits and letters in ``12b``.
_ID_SEPARATOR_PATTERN = re.compile(r"[\W_]+|^[^\W\d_]+(?=\d)|(?<=\d)(?=[^\W\d_]+$)")
# A whole number, with or without zeros behind a point: 007, 7.0.
_WHOLE_NUMBER_PATTERN = re.compile(r"(\d+)(?:\.0+)?")
# A long number that a spreadsheet has rounded: 1.23457E+11.
_CUT_NUMBER_PATTERN = re.compile(r"\d\.\d{2,}E\+\d{2,}")
# A word of an id: letters and digits.
_WORD_PATTERN = re.compile(r"[^\W_]+")
# A number with an exponent, as spreadsheets write large numbers: 1E+05, 1.2e6.
_EXPONENT_NUMBER_PATTERN = re.compile(r"\d(?:\.\d+)?[eE]\+?\d{1,2}")


def _keep_id(id_: str) -> list[str]:
    """List the one form of an id that is not changed: the id."""
    return [id_]


def _ignore_case(id_: str) -> list[str]:
    """List the one form of an id without upper and lower case: ``Doc-A`` gives ``doc-a``."""
    return [id_.casefold()]


def _strip_blanks(id_: str) -> list[str]:
    """List the one form of an id without blanks around it."""
    return [id_.strip()]


def _list_beginnings(id_: str) -> list[str]:
    """List the beginnings of an id up to each separator, the longest first: ``a/b/c`` gives ``a/b`` and ``a``."""
    matches = _ID_SEPARATOR_PATTERN.finditer(id_)
    beginnings = [id_[: match.start()] for match in matches if match.start() > 0]
    beginnings.reverse()
    return beginnings


def _list_endings(id_: str) -> list[str]:
    """List the endings of an id behind each separator, the longest first: ``a/b/c`` gives ``b/c`` and ``c``."""
    matches = _ID_SEPARATOR_PATTERN.finditer(id_)
    return [id_[match.end() :] for match in matches if match.end() < len(id_)]


def _list_numbers(id_: str) -> list[str]:
    """List the one form of an id that is a whole number: ``007`` and ``7.0`` give ``7``. Another id has none."""
    if _EXPONENT_NUMBER_PATTERN.fullmatch(id_):
        number = float(id_)
        return [str(int(number))] if number.is_integer() else []
    match = _WHOLE_NUMBER_PATTERN.fullmatch(id_)
    return [] if match is None else [match[1].lstrip("0") or "0"]


def _unify_marks(id_: str) -> list[str]:
    """List the one form of an id with one mark between its words: ``./docs/a.pdf`` and ``Docs/a.pdf/`` give ``docs-a-pdf``."""
    words = _WORD_PATTERN.findall(unquote(id_).casefold())
    return ["-".join(words)] if words else []


# A function that lists the forms of an id in which it is compared.
_ListForms = Callable[[str], list[str]]


class _Change(NamedTuple):
    """A change that could make reference ids match retrieved ids.

    Attributes:
        words: The change in words, for the note.
        list_reference_forms: The forms of a reference id after the change.
        list_retrieved_forms: The forms of a retrieved id after the change.
    """

    words: str
    list_reference_forms: _ListForms
    list_retrieved_forms: _ListForms


# Changes that cut nothing from an id: they are suggested for a single id, too.
_LOSSLESS_CHANGES = (
    _Change("in one case", _ignore_case, _ignore_case),
    _Change("as numbers", _list_numbers, _list_numbers),
    _Change("without blanks around them", _strip_blanks, _strip_blanks),
    _Change("with the same marks between their words", _unify_marks, _unify_marks),
)
# Changes that cut an id: they are suggested for many samples, or if each of a few samples has an id that matches then.
_CUTS = (
    _Change("with the end of the reference ids cut", _list_beginnings, _keep_id),
    _Change("with the end of the retrieved ids cut", _keep_id, _list_beginnings),
    _Change("with the beginning of the reference ids cut", _list_endings, _keep_id),
    _Change("with the beginning of the retrieved ids cut", _keep_id, _list_endings),
)


# The kinds of circular labels. Such labels repeat what was retrieved or answered, so that they cannot show an error.
_CONTEXTS_REPEATED = "the reference contexts are the retrieved contexts"
_REFERENCE_RETRIEVED = "the whole reference is one of the retrieved contexts"
_RESPONSE_REPEATED = "the response is the reference"
_CIRCULAR_LABELS = (_CONTEXTS_REPEATED, _REFERENCE_RETRIEVED, _RESPONSE_REPEATED)


def describe_orders(metadata: Iterable[Mapping[str, Any]]) -> list[str]:
    """Describe by which column the retrieved contexts were ordered, from the metadata of samples. Each note is a sentence."""
    counts: Counter[tuple[str, str]] = Counter()
    for sample_metadata in metadata:
        counts.update(_list_order_facts(sample_metadata))
    return [_describe_order(key, name, count) for (key, name), count in counts.items()]


def _list_order_facts(metadata: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List the entries of a sample's metadata about its order, about a list that is not read, and about unusable values.

    Each item is a key of the metadata, such as `ORDERED_BY`, and the column or field that the metadata names under it.
    """
    return [
        (key, str(metadata[key]))
        for key in (ORDERED_BY, UNORDERED_BY, NOT_READ, UNUSABLE)
        if key in metadata
    ]


def _describe_change(count_text: str, change: _Change, pairs: Sequence[tuple[str, str]]) -> str:
    """Describe a change that would make reference ids match.

    Args:
        count_text: How many reference ids do not match.
        change: The change.
        pairs: The reference ids and retrieved ids that would match.
    """
    examples = [
        f"{clean(reference_id, TEXT)} and {clean(retrieved_id, TEXT)}"
        for reference_id, retrieved_id in pairs[:_EXAMPLES_SHOWN]
    ]
    return f"{count_text}; {change.words} they would match: {', '.join(examples)}"


def _describe_order(key: str, name: str, count: int) -> str:
    """Describe one item of `_list_order_facts`, and in how many samples it is found."""
    text = clean(name, TEXT)
    samples = plural(count, "sample")
    if key == UNUSABLE:
        verb = "has" if count == 1 else "have"
        return f"the value of {text} cannot be used in {samples}, which {verb} none"
    if key == NOT_READ:
        return f"{text} stands beside the lists and is not read, in {samples}"
    if key == ORDERED_BY:
        return f"retrieved in the order of {text}, which the list does not have, in {samples}; --order given (order=) takes the list's"
    return f"the order of the list counts, whatever {text} may say, in {samples}; --order rank or score (order=) takes theirs"


def _is_circular(kind: str, sample: Sample) -> bool | None:
    """Tell whether a sample has a kind of circular label. Return None if it lacks the fields that such a label needs.

    Args:
        kind: One of `_CIRCULAR_LABELS`.
        sample: The sample.
    """
    contexts = sample.retrieved_contexts
    if kind == _CONTEXTS_REPEATED:
        if not sample.reference_contexts or not contexts:
            return None
        return {*sample.reference_contexts} == {*contexts}
    if kind == _REFERENCE_RETRIEVED:
        return sample.reference in contexts if sample.reference and contexts else None
    return sample.response == sample.reference if sample.reference and sample.response else None


@dataclass(slots=True)
class ReferenceIds:
    """The reference ids of many samples. Each id is kept once; a sample keeps its number, four bytes.

    Attributes:
        numbers: The number of each id, in the order in which the ids came.
        numbers_of_samples: The numbers of the ids of all samples, one sample after the other.
        ends: For each sample, the end of its numbers in ``numbers_of_samples``.
    """

    numbers: dict[str, int] = field(default_factory=dict)
    numbers_of_samples: array[int] = field(default_factory=lambda: array("I"))
    ends: array[int] = field(default_factory=lambda: array("Q"))

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.ends)

    def add(self, ids: Iterable[str]) -> None:
        """Add the ids of a sample."""
        for id_ in ids:
            self.numbers_of_samples.append(self.numbers.setdefault(id_, len(self.numbers)))
        self.ends.append(len(self.numbers_of_samples))

    def count_samples_with(self, ids: Iterable[str]) -> int:
        """Count the samples that have at least one of the ids."""
        numbers = {self.numbers[id_] for id_ in ids}
        sample_count = 0
        begin = 0
        for end in self.ends:
            if not numbers.isdisjoint(self.numbers_of_samples[begin:end]):
                sample_count += 1
            begin = end
        return sample_count


@dataclass(slots=True)
class QuestionReferences:
    """The questions of many samples and their references, as hashes: sixteen bytes a sample.

    Attributes:
        questions: The hash of the question and the contexts of each sample.
        references: The hash of the reference of each sample.
    """

    questions: array[int] = field(default_factory=lambda: array("q"))
    references: array[int] = field(default_factory=lambda: array("q"))

    def add(self, question_hash: int, reference_hash: int) -> None:
        """Add a sample."""
        self.questions.append(question_hash)
        self.references.append(reference_hash)

    def count_alternatives(self) -> int:
        """Count the different references of the questions that have several."""
        count = 0
        for part in range(_QUESTION_PARTS):
            first_references: dict[int, int] = {}
            alternatives: dict[int, set[int]] = {}
            for question, reference in zip(self.questions, self.references, strict=True):
                if question % _QUESTION_PARTS == part:
                    first = first_references.setdefault(question, reference)
                    if reference != first:
                        alternatives.setdefault(question, {first}).add(reference)
            count += sum(map(len, alternatives.values()))
        return count


@dataclass(slots=True)
class Labels:
    """The ids and labels of a run, as far as its notes need them. Stored results hold the names of its fields.

    Attributes:
        samples: The number of samples.
        retrieved: The retrieved ids of all samples that have reference ids.
        wanted: The reference ids of the same samples.
        first_pairs: The retrieved and the reference ids of the first samples.
        unanswered: The number of samples for which nothing was retrieved.
        without_answer: Under "all", the number of questions without an answer. Under "retrieved", how many of them have retrieved
            contexts.
        yes_or_no: How many references are only a yes or a no.
        marks: How many questions have no answer because the reference is a word such as "None".
        unsure: How many references may be a refusal, and count as statements.
        contexts: The number of samples whose only retrieved context may be several passages. The key is the separator between
            them and its name; see `count_separators`.
        expected: The same for the expected contexts.
        answers: The references of the questions.
        orders: The number of samples by what their metadata says about the order. The key is a pair of `_list_order_facts`.
        dropped: Contexts that were dropped because they were the question itself: the number of "contexts", and of "samples" that
            had one.
        empty: The number of empty ids, under "retrieved" and "reference".
        repeated: Retrieved contexts that repeat one above, by their texts or else their ids: the number of "contexts", and of
            "samples" that have one.
        signs: Signs that the texts of a field are of another kind than the field.
        circles: The number of samples, by a kind of circular label, and by whether the sample's label is circular. After the first
            sample whose label is not circular, the kind is not counted any more.
        last_never: The last result of `describe_never_retrieved`, behind the length of ``wanted`` at that time.
    """

    samples: int = 0
    unanswered: int = 0
    without_answer: Counter[str] = field(default_factory=Counter)
    yes_or_no: int = 0
    marks: int = 0
    unsure: int = 0
    retrieved: set[str] = field(default_factory=set)
    wanted: ReferenceIds = field(default_factory=ReferenceIds)
    first_pairs: list[tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=list)
    contexts: Counter[tuple[str, str]] = field(default_factory=Counter)
    expected: Counter[tuple[str, str]] = field(default_factory=Counter)
    answers: QuestionReferences = field(default_factory=QuestionReferences)
    orders: Counter[tuple[str, str]] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    empty: Counter[str] = field(default_factory=Counter)
    repeated: Counter[str] = field(default_factory=Counter)
    signs: TextSigns = field(default_factory=TextSigns)
    circles: Counter[tuple[str, bool]] = field(default_factory=Counter)
    last_never: tuple[int, list[str]] = (0, [])

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        """Set the values of a pickle. In earlier pickles, ``wanted`` is a list with the ids of each sample, and ``answers`` a dict."""
        _, values = state
        several_answers = values.pop("several_answers", {})
        for name, value in values.items():
            setattr(self, name, value)
        if isinstance(self.answers, dict):
            # For each question, the hash of its only reference, or the hashes of all its references.
            answers: dict[int, int | set[int]] = {**self.answers, **several_answers}
            self.answers = QuestionReferences()
            for question_hash, hashes in answers.items():
                for reference_hash in hashes if isinstance(hashes, set) else (hashes,):
                    self.answers.add(question_hash, reference_hash)
        if isinstance(self.wanted, list):
            ids_of_samples: list[tuple[str, ...]] = self.wanted
            self.wanted = ReferenceIds()
            for ids in ids_of_samples:
                self.wanted.add(ids)

    def add(self, sample: Sample, record: Mapping[str, Any] | None = None) -> None:
        """Add a sample, and its record if it was read from a file of results."""
        self.samples += 1
        hashes = (record or {}).get("context_hashes")
        # A file without texts has their hashes: equal texts have equal hashes.
        retrieved = sample.retrieved_contexts or hashes or sample.retrieved_context_ids
        # A value that cannot be read as a list of texts is kept in the metadata, under the name of its field.
        is_unusable = not sample.metadata.keys().isdisjoint(RETRIEVED)
        has_nothing = not retrieved and not is_unusable
        # The sample of a baseline has none of these fields.
        if has_nothing and any(map(sample.has, OPTIONS)):
            self.unanswered += 1
        references = sample.references or (sample.reference or "",)
        self._count_kinds(sample, references)
        contexts = sample.retrieved_contexts or ()
        self.signs.add(sample.user_input, references, contexts, sample.reference_contexts or ())
        if sample.unanswerable:
            self.without_answer["all"] += 1
            if retrieved:
                self.without_answer["retrieved"] += 1
        if sample.retrieved_context_ids:
            self.add_ids(sample.retrieved_context_ids, sample.reference_context_ids)
        if sample.retrieved_contexts:
            self._count_texts(sample, sample.retrieved_contexts)
        if sample.reference_contexts:
            count_separators(self.expected, sample.reference_contexts)
        if sample.metadata:
            self._count_metadata(sample.metadata)
        self._count_empty("retrieved", sample.retrieved_context_ids or ())
        self._count_empty("reference", sample.reference_context_ids or ())
        if retrieved and len({*retrieved}) < len(retrieved):
            # Empty ids are equal, but their contexts may differ: they are no repeats.
            self._count_repeats([text_or_id for text_or_id in retrieved if text_or_id])
        self._count_circular(sample)

    def _count_empty(self, side: str, ids: Sequence[str]) -> None:
        """Count the empty ids of a sample."""
        if "" in ids:
            self.empty[side] += ids.count("")

    def _count_circular(self, sample: Sample) -> None:
        """Count a sample by its circular labels.

        A kind is described only if all samples have it. So it is not looked for any more after a sample that does not have it.
        """
        for kind in _CIRCULAR_LABELS:
            if not self.circles[kind, False]:
                is_circular = _is_circular(kind, sample)
                if is_circular is not None:
                    self.circles[kind, is_circular] += 1

    def _count_metadata(self, metadata: Mapping[str, Any]) -> None:
        """Count a sample by what its metadata says about the order, and about dropped contexts."""
        facts = _list_order_facts(metadata)
        if facts:
            self.orders.update(facts)
        dropped_count = metadata.get(DROPPED)
        if type(dropped_count) is int and dropped_count > 0:
            self.dropped["samples"] += 1
            self.dropped["contexts"] += dropped_count

    def _count_repeats(self, contexts: Sequence[str]) -> None:
        """Count a sample by its retrieved contexts, given as texts or ids, that repeat one above."""
        repeat_count = len(contexts) - len({*contexts})
        if repeat_count:
            self.repeated["samples"] += 1
            self.repeated["contexts"] += repeat_count

    def _count_texts(self, sample: Sample, texts: Sequence[str]) -> None:
        """Count a sample by the texts that were retrieved."""
        count_separators(self.contexts, texts)
        if sample.user_input and sample.reference:
            self.answers.add(hash((sample.user_input, texts)), hash(sample.reference))

    def _count_kinds(self, sample: Sample, references: tuple[str, ...]) -> None:
        """Count a sample whose reference states no fact, or may state none."""
        if references == ("",):
            return
        kinds = {phrase_kind(text) for text in references}
        if "yes_no" in kinds and sample.references is None:
            self.yes_or_no += 1
        if LABEL in sample.labels:
            return
        if "mark" in kinds and sample.unanswerable:
            self.marks += 1
        if "unsure" in kinds:
            self.unsure += 1

    def add_ids(self, retrieved: Iterable[str] | None, reference: Sequence[str] | None) -> None:
        """Add the retrieved and the reference ids of a sample."""
        if retrieved and reference and not are_span_ids(reference):
            reference_ids = tuple(filter(None, reference))
            self.retrieved.update(retrieved)
            self.wanted.add(reference_ids)
            if len(self.first_pairs) < _MIN_SAMPLES:
                self.first_pairs.append((tuple(retrieved), reference_ids))

    def describe(self, *, embedded_judge: bool) -> tuple[str, ...]:
        """Describe what a reader of the means must know. Each note is a sentence.

        Args:
            embedded_judge: Whether the embedded judge, which compares words, gave the verdicts.
        """
        notes = []
        if embedded_judge and self.yes_or_no:
            notes.append(
                f"{plural(self.yes_or_no, 'reference')} of a yes or no alone, and no context states that in its words: write "
                "the meaning of the answer as a fact (reference_facts, unit=fact), or take an LLM"
            )
        if self.without_answer["all"]:
            questions = plural(self.without_answer["all"], "question")
            nothing_retrieved = self.without_answer["all"] - self.without_answer["retrieved"]
            note = f"{questions} without an answer, not in the means"
            if nothing_retrieved:
                note += f"; nothing was retrieved for {nothing_retrieved}"
            notes.append(note)
        if self.marks:
            notes.append(
                f"{plural(self.marks, 'reference')} of these a word such as 'None' or 'Unknown': if that is the answer, write "
                'the label {"unanswerable": false}'
            )
        if self.unsure:
            notes.append(
                f"{plural(self.unsure, 'reference')} that may say that there is no answer, counted as statements: if the "
                "question has none, mark the row (unanswerable: true)"
            )
        notes += self._describe_retrieved()
        notes += self.signs.describe()
        notes += describe_separators(self.contexts, "context", "precision says nothing")
        notes += describe_separators(self.expected, "expected context", "string metrics say nothing")
        # Samples that repeat the question and the contexts of another sample, with another reference.
        repeat_count = self.answers.count_alternatives()
        if repeat_count * 2 > self.samples:
            notes.append(
                f"{repeat_count} of {plural(self.samples, 'sample')} have the question and contexts of another one, and another "
                "reference: group them (--group-by), and map the column of the reference (--map) to references if one of them "
                "is enough, or to reference_facts if all are needed"
            )
        notes += self.describe_never_retrieved()
        notes += self._describe_cut_numbers()
        for kind in _CIRCULAR_LABELS:
            count = self.circles[kind, True]
            if count >= _MIN_SAMPLES and not self.circles[kind, False]:
                notes.append(f"{kind}, in all {count} samples: such labels prove nothing")
        return tuple(notes)

    def _describe_retrieved(self) -> list[str]:
        """Describe the order, dropped and repeated contexts and empty ids."""
        notes = [_describe_order(key, name, count) for (key, name), count in self.orders.items()]
        dropped_count = self.dropped["contexts"]
        repeat_count = self.repeated["contexts"]
        if dropped_count:
            samples = plural(self.dropped["samples"], "sample")
            contexts = plural(dropped_count, "retrieved context", "was", "were")
            notes.append(f"{contexts} the question itself and dropped (drop_self), in {samples}")
        if repeat_count:
            samples = plural(self.repeated["samples"], "sample")
            notes.append(
                f"repeated contexts: {repeat_count}, in {samples}; notes of the scores say what counts"
            )
        if self.empty["retrieved"]:
            ids = plural(self.empty["retrieved"], "retrieved id", "is", "are")
            notes.append(f"{ids} empty: an empty id keeps its rank and is not relevant")
        if self.empty["reference"]:
            ids = plural(self.empty["reference"], "reference id", "is", "are")
            notes.append(f"{ids} empty: an empty id expects nothing")
        return notes

    def _describe_cut_numbers(self) -> list[str]:
        """Describe ids that are numbers without their last digits, such as ``1.23457E+11``."""
        cut_numbers: set[str] = set()
        for id_ in chain(self.retrieved, self.wanted.numbers):
            if "E+" in id_ and _CUT_NUMBER_PATTERN.fullmatch(id_):
                cut_numbers.add(id_)
        if not cut_numbers:
            return []
        ids_are_numbers = plural(len(cut_numbers), "id", "is a number", "are numbers")
        note = (
            f"{ids_are_numbers} without the last digits, such as {clean(min(cut_numbers), TEXT)}, as sheets "
            "write long ones: different ids may be the same here. Write ids as text"
        )
        return [note]

    def describe_never_retrieved(self) -> list[str]:
        """Describe reference ids that were never retrieved, if they are many, and the change that would make them match.

        A change that keeps the whole id, such as a change of case, is described even if only one id needs it.
        """
        sample_count, notes = self.last_never
        if sample_count != len(self.wanted):  # samples were added after the last call
            notes = self._describe_never()
            self.last_never = (len(self.wanted), notes)
        return notes

    def _describe_never(self) -> list[str]:
        """Describe the reference ids that were never retrieved; see `describe_never_retrieved`."""
        reference_ids = self.wanted.numbers
        never_retrieved = [id_ for id_ in reference_ids if id_ not in self.retrieved]
        if not never_retrieved:
            return []
        count_text = self._describe_count(never_retrieved, len(reference_ids))
        for change in _LOSSLESS_CHANGES:
            pairs = self._pair_ids(never_retrieved, change)
            if pairs:
                return [_describe_change(count_text, change, pairs)]
        are_many = len(never_retrieved) > _MIN_UNRETRIEVED_SHARE * len(reference_ids)
        if not are_many:
            return []
        has_few_samples = len(self.wanted) < _MIN_SAMPLES
        for change in _CUTS:
            pairs = self._pair_ids(never_retrieved, change)
            matched_ids = {retrieved_id for _, retrieved_id in pairs}
            if has_few_samples:
                is_useful = self._matches_each_sample(change)
            else:
                min_matches = max(_EXAMPLES_SHOWN, _MIN_MATCHED_SHARE * len(never_retrieved))
                is_useful = len(matched_ids) >= min_matches
            if is_useful:
                return [_describe_change(count_text, change, pairs)]
        if has_few_samples:
            return []
        return [
            f"{count_text}; no cut, case or form of a number would match them: are these labels of this index?"
        ]

    def _describe_count(self, never_retrieved: Sequence[str], id_count: int) -> str:
        """Say how many of the reference ids were never retrieved."""
        if len(never_retrieved) == id_count:
            return f"no reference id was ever retrieved, in {plural(len(self.wanted), 'sample')}"
        sample_count = self.wanted.count_samples_with(never_retrieved)
        return (
            f"{len(never_retrieved)} of {id_count} reference ids were retrieved for no sample; "
            f"{sample_count} of {len(self.wanted)} samples have such labels"
        )

    def _matches_each_sample(self, change: _Change) -> bool:
        """Return whether a change makes a reference id of each sample match one that was retrieved for the sample.

        False if there are fewer than two samples.
        """
        for retrieved_ids, reference_ids in self.first_pairs:
            retrieved_forms: set[str] = set()
            for retrieved_id in retrieved_ids:
                retrieved_forms.update(change.list_retrieved_forms(retrieved_id))
            reference_forms: set[str] = set()
            for reference_id in reference_ids:
                reference_forms.update(change.list_reference_forms(reference_id))
            if retrieved_forms.isdisjoint(reference_forms):
                return False
        return len(self.first_pairs) >= _EXAMPLES_SHOWN

    def _pair_ids(self, reference_ids: Sequence[str], change: _Change) -> list[tuple[str, str]]:
        """Pair reference ids with the retrieved ids that equal them after a change.

        If several retrieved ids equal one, the last by name is taken.
        """
        reference_forms: set[str] = set()
        for reference_id in reference_ids:
            reference_forms.update(change.list_reference_forms(reference_id))
        if not reference_forms:
            return []
        retrieved_by_form: dict[str, str] = {}
        for retrieved_id in self.retrieved:
            for form in change.list_retrieved_forms(retrieved_id):
                if form in reference_forms:
                    last_by_name = max(retrieved_id, retrieved_by_form.get(form, retrieved_id))
                    retrieved_by_form[form] = last_by_name
        pairs: list[tuple[str, str]] = []
        for reference_id in reference_ids:
            forms = [
                form for form in change.list_reference_forms(reference_id) if form in retrieved_by_form
            ]
            pairs += [(reference_id, retrieved_by_form[form]) for form in forms]
        return pairs
