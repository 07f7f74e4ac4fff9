"""Notes about the ids and labels of a run: reference ids that were never retrieved, labels that repeat retrieved texts.

These are notes beside a number, never a part of it. Ids that name spans are not compared: spans of two chunkings differ.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any
from urllib.parse import unquote

from ctxmetrics.samples.documents import in_spans
from ctxmetrics.samples.sample import DROPPED, Sample
from ctxmetrics.samples.schema import NOT_READ, OPTIONS, ORDERED_BY, RETRIEVED, UNORDERED_BY
from ctxmetrics.samples.unanswerable import LABEL, phrase_kind
from ctxmetrics.scores.text_notes import TextSigns, count_separators, describe_separators
from ctxmetrics.scores.wording import TEXT, clean, plural

# Samples below which nothing is said.
_MIN_SAMPLES = 5


# A note is written if more than this share of the reference ids were never retrieved.
_MIN_UNRETRIEVED_SHARE = 0.5


# The note suggests a cut of the ids if the cut matches at least this share of them ..
_MIN_MATCHED_SHARE = 0.2
# .. and at least so many of them. The note shows as many examples.
_EXAMPLES_SHOWN = 2


# What separates the parts of an id: marks, or the border between letters and digits at its beginning or end.
_BETWEEN = re.compile(r"[\W_]+|^[^\W\d_]+(?=\d)|(?<=\d)(?=[^\W\d_]+$)")
# A whole number in any form.
_NUMBER = re.compile(r"^0*(\d+)(?:\.0+)?$")
# A number whose last digits a sheet has cut: 1.23457E+11.
_CUT_NUMBER = re.compile(r"\d\.\d{2,}E\+\d{2,}")
# A number as sheets write large ones: 1E+05, 1.2e6.
_WITH_EXPONENT = re.compile(r"\d(?:\.\d+)?[eE]\+?\d{1,2}")


def _cut_ends(id_: str) -> list[str]:
    """Return the beginnings of an id up to each mark, the longest first."""
    beginnings = [id_[: match.start()] for match in _BETWEEN.finditer(id_) if match.start() > 0]
    beginnings.reverse()
    return beginnings


def _cut_beginnings(id_: str) -> list[str]:
    """Return the ends of an id behind each mark."""
    return [id_[match.end() :] for match in _BETWEEN.finditer(id_) if match.end() < len(id_)]


def _list_numbers(id_: str) -> list[str]:
    """Return an id as a whole number without zeros before it; no item for any other id."""
    if _WITH_EXPONENT.fullmatch(id_):
        number = float(id_)
        return [str(int(number))] if number.is_integer() else []
    return _NUMBER.findall(id_)


def _fold_marks(id_: str) -> list[str]:
    """Return the words of an id with one mark between them: ``./docs/a.pdf`` and ``Docs/a.pdf/`` are one."""
    words = re.findall(r"[^\W_]+", unquote(id_).casefold())
    return ["-".join(words)] if words else []


# A function that lists the forms of an id.
_Forms = Callable[[str], list[str]]


# A change that could make ids match: its words, the forms of a reference id, and the forms of a retrieved id.
_Change = tuple[str, _Forms, _Forms]
# The lossless changes cut nothing from an id: they are suggested for a single id, too.
_LOSSLESS_CHANGES: tuple[_Change, ...] = (
    ("in one case", lambda id_: [id_.casefold()], lambda id_: [id_.casefold()]),
    ("as numbers", _list_numbers, _list_numbers),
    ("without blanks around them", lambda id_: [id_.strip()], lambda id_: [id_.strip()]),
    ("with the same marks between their words", _fold_marks, _fold_marks),
)
# The cuts are suggested for many samples, or where one of each of a few samples matches an id of its own.
_CUTS: tuple[_Change, ...] = (
    ("with the end of the reference ids cut", _cut_ends, lambda id_: [id_]),
    ("with the end of the retrieved ids cut", lambda id_: [id_], _cut_ends),
    ("with the beginning of the reference ids cut", _cut_beginnings, lambda id_: [id_]),
    ("with the beginning of the retrieved ids cut", lambda id_: [id_], _cut_beginnings),
)


# Circular labels: they repeat what was retrieved or answered, so that they cannot show an error.
_CIRCULAR_LABELS = (
    "the reference contexts are the retrieved contexts",
    "the whole reference is one of the retrieved contexts",
    "the response is the reference",
)


def describe_orders(metadata: Iterable[Mapping[str, Any]]) -> list[str]:
    """Describe what decided the orders of what was retrieved, or did not, by the metadata of samples, a sentence each."""
    signs: Counter[tuple[str, str]] = Counter()
    for fields in metadata:
        signs.update(_find_signs(fields))
    return [_describe_order(*sign, count) for sign, count in signs.items()]


def _find_signs(metadata: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what a sample's metadata says about its order, and about a list that is not read.

    Each item is a key of the metadata, such as `ORDERED_BY`, and the column or field that the metadata names under it.
    """
    return [
        (key, str(metadata[key])) for key in (ORDERED_BY, UNORDERED_BY, NOT_READ) if key in metadata
    ]


def _describe_change(text: str, change: str, pairs: Sequence[tuple[str, str]]) -> str:
    """Describe the change that would make reference ids match, behind a text that counts them."""
    examples = [
        f"{clean(label, TEXT)} and {clean(retrieved, TEXT)}"
        for label, retrieved in pairs[:_EXAMPLES_SHOWN]
    ]
    return f"{text}; {change} they would match: {', '.join(examples)}"


def _describe_order(key: str, name: str, count: int) -> str:
    """Describe what decided the order of retrieved contexts, in how many samples."""
    text = clean(name, TEXT)
    samples = plural(count, "sample")
    if key == NOT_READ:
        return f"{text} stands beside the lists and is not read, in {samples}"
    if key == ORDERED_BY:
        return f"retrieved in the order of {text}, which the list does not have, in {samples}; --order given (order=) takes the list's"
    return f"the order of the list counts, whatever {text} may say, in {samples}; --order rank or score (order=) takes theirs"


def _check_circular_labels(sample: Sample) -> Iterator[tuple[str, bool]]:
    """Yield each kind of circular label that a sample could have, and whether the sample has it."""
    contexts = sample.retrieved_contexts
    if sample.reference_contexts and contexts:
        yield _CIRCULAR_LABELS[0], {*sample.reference_contexts} == {*contexts}
    if sample.reference and contexts:
        yield _CIRCULAR_LABELS[1], sample.reference in contexts
    if sample.reference and sample.response:
        yield _CIRCULAR_LABELS[2], sample.response == sample.reference


@dataclass(slots=True)
class Labels:
    """The ids and labels of a run, as far as its notes need them. Stored results hold the names of its fields.

    Attributes:
        samples: The number of samples.
        retrieved: The retrieved ids of all samples that have reference ids.
        wanted: The reference ids, one tuple a sample.
        first_pairs: The retrieved and the reference ids of the first samples.
        unanswered: The number of samples for which nothing was retrieved.
        without_answer: Under "all", the number of questions without an answer; under "retrieved", the number of these for which
            something was retrieved.
        yes_or_no: How many references are a yes or a no and nothing else.
        marks: How many questions have no answer because the reference is a word such as "None".
        unsure: How many references may be a refusal, and count as statements.
        contexts: The number of samples whose only retrieved context may be several passages. The key is the separator between
            them and its name; see `count_separators`.
        expected: The same for the expected contexts.
        answers: The hashes of the references of one question. The key is the hash of the question and its contexts.
        orders: The number of samples by what their metadata says about the order. The key is a pair of `_find_signs`.
        dropped: Contexts that were dropped because they were the question itself: the number of "contexts", and of "samples" that
            had one.
        empty: The number of empty ids, under "retrieved" and "reference".
        repeated: Retrieved contexts that repeat one above, by their texts or else their ids: the number of "contexts", and of
            "samples" that have one.
        signs: Signs that a text is not what its field says.
        circles: The number of samples. The key is a kind of circular label, and whether the sample's label is circular.
        last_never: The notes that `describe_never_retrieved` returned last, after the length that `wanted` had then.
    """

    samples: int = 0
    unanswered: int = 0
    without_answer: Counter[str] = field(default_factory=Counter)
    yes_or_no: int = 0
    marks: int = 0
    unsure: int = 0
    retrieved: set[str] = field(default_factory=set)
    wanted: list[tuple[str, ...]] = field(default_factory=list)
    first_pairs: list[tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=list)
    contexts: Counter[tuple[str, str]] = field(default_factory=Counter)
    expected: Counter[tuple[str, str]] = field(default_factory=Counter)
    answers: dict[int, set[int]] = field(default_factory=dict)
    orders: Counter[tuple[str, str]] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    empty: Counter[str] = field(default_factory=Counter)
    repeated: Counter[str] = field(default_factory=Counter)
    signs: TextSigns = field(default_factory=TextSigns)
    circles: Counter[tuple[str, bool]] = field(default_factory=Counter)
    last_never: tuple[int, list[str]] = (0, [])

    def add(self, sample: Sample, record: Mapping[str, Any] | None = None) -> None:
        """Add a sample, with what a file of results says about it beside its fields."""
        self.samples += 1
        hashes = (record or {}).get("context_hashes")
        retrieved = sample.retrieved_contexts or sample.retrieved_context_ids or hashes
        # What was retrieved cannot be read as a list of texts: it stands in the metadata.
        is_unusable = not sample.metadata.keys().isdisjoint(RETRIEVED)
        has_nothing = not retrieved and not is_unusable
        # The sample of a baseline has none of these fields.
        if has_nothing and any(map(sample.has, OPTIONS)):
            self.unanswered += 1
        self._count_kinds(sample)
        references = sample.references or (sample.reference or "",)
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
            self._count_repeats([item for item in retrieved if item])
        for kind_and_result in _check_circular_labels(sample):
            self.circles[kind_and_result] += 1

    def _count_empty(self, side: str, ids: Sequence[str]) -> None:
        """Count the empty ids of a sample."""
        if "" in ids:
            self.empty[side] += ids.count("")

    def _count_metadata(self, metadata: Mapping[str, Any]) -> None:
        """Count a sample by what its metadata says about the order, and about dropped contexts."""
        self.orders.update(_find_signs(metadata))
        dropped_count = metadata.get(DROPPED)
        if type(dropped_count) is int and dropped_count > 0:
            self.dropped["samples"] += 1
            self.dropped["contexts"] += dropped_count

    def _count_repeats(self, items: Sequence[str]) -> None:
        """Count a sample by its retrieved contexts, given as texts or ids, that repeat one above."""
        repeat_count = len(items) - len({*items})
        if repeat_count:
            self.repeated["samples"] += 1
            self.repeated["contexts"] += repeat_count

    def _count_texts(self, sample: Sample, texts: Sequence[str]) -> None:
        """Count a sample by the texts that were retrieved."""
        count_separators(self.contexts, texts)
        if sample.user_input and sample.reference:
            question_hash = hash((sample.user_input, texts))
            self.answers.setdefault(question_hash, set()).add(hash(sample.reference))

    def _count_kinds(self, sample: Sample) -> None:
        """Count a sample whose reference names no fact, or may name none."""
        references = sample.references or (sample.reference or "",)
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

    def add_ids(self, ids: Iterable[str] | None, wanted: Sequence[str] | None) -> None:
        """Add the retrieved and the reference ids of a sample."""
        if ids and wanted and not in_spans(wanted):
            self.retrieved.update(ids)
            self.wanted.append(tuple(filter(None, wanted)))
            if len(self.first_pairs) < _MIN_SAMPLES:
                self.first_pairs.append((tuple(ids), self.wanted[-1]))

    def notes(self, *, by_words: bool) -> tuple[str, ...]:
        """Return what a reader of the means must know, a sentence each; ``by_words``: the judge was the embedded one."""
        notes = []
        if by_words and self.yes_or_no:
            notes.append(
                f"{plural(self.yes_or_no, 'reference')} of a yes or no alone, which no words of a context can state: write what "
                "it means as a fact (reference_facts, unit=fact), or take an LLM"
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
        repeat_count = sum(len(hashes) for hashes in self.answers.values() if len(hashes) > 1)
        if repeat_count * 2 > self.samples:
            notes.append(
                f"{repeat_count} of {plural(self.samples, 'sample')} have the question and contexts of another one, and another "
                "reference: group them (--group-by), and map the column of the reference (--map) to references if one of them "
                "is enough, or to reference_facts if all are needed"
            )
        notes += self.describe_never_retrieved()
        cut_ids = sorted(
            {
                id_
                for id_ in chain(self.retrieved, *self.wanted)
                if "E+" in id_ and _CUT_NUMBER.fullmatch(id_)
            }
        )
        if cut_ids:
            notes.append(
                f"{plural(len(cut_ids), 'id', 'is a number', 'are numbers')} without the last digits, such as {clean(cut_ids[0], TEXT)}, as sheets "
                "write long ones: different ids may be the same here. Write ids as text"
            )
        for kind in _CIRCULAR_LABELS:
            count = self.circles[kind, True]
            if count >= _MIN_SAMPLES and not self.circles[kind, False]:
                notes.append(f"{kind}, in all {count} samples: such labels prove nothing")
        return tuple(notes)

    def _describe_retrieved(self) -> list[str]:
        """Describe the order, dropped and repeated contexts and empty ids."""
        notes = [_describe_order(*sign, count) for sign, count in self.orders.items()]
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

    def describe_never_retrieved(self) -> list[str]:
        """Describe reference ids that were never retrieved, if they are many, and the change that would make them match.

        A change that keeps the whole id, such as of upper and lower case, is described even if only one id needs it.
        """
        sample_count, notes = self.last_never
        if sample_count != len(self.wanted):  # samples were added after the last call
            notes = self._describe_never()
            self.last_never = (len(self.wanted), notes)
        return notes

    def _describe_never(self) -> list[str]:
        """Describe the reference ids that were never retrieved; see `describe_never_retrieved`."""
        reference_ids = dict.fromkeys(chain(*self.wanted))
        never_retrieved = [id_ for id_ in reference_ids if id_ not in self.retrieved]
        if not never_retrieved:
            return []
        has_few_samples = len(self.wanted) < _MIN_SAMPLES
        are_many = len(never_retrieved) > _MIN_UNRETRIEVED_SHARE * len(reference_ids)
        text = self._count_never_retrieved(never_retrieved, len(reference_ids))
        for change, forms_of_label, forms_of_retrieved in _LOSSLESS_CHANGES:
            pairs = self._pair_by_forms(never_retrieved, forms_of_label, forms_of_retrieved)
            if pairs:
                return [_describe_change(text, change, pairs)]
        if not are_many:
            return []
        for change, forms_of_label, forms_of_retrieved in _CUTS:
            pairs = self._pair_by_forms(never_retrieved, forms_of_label, forms_of_retrieved)
            matched_ids = {retrieved_id for _, retrieved_id in pairs}
            if has_few_samples:
                is_useful = self._matches_in_few(forms_of_label, forms_of_retrieved)
            else:
                min_matches = max(_EXAMPLES_SHOWN, _MIN_MATCHED_SHARE * len(never_retrieved))
                is_useful = len(matched_ids) >= min_matches
            if is_useful:
                return [_describe_change(text, change, pairs)]
        if has_few_samples:
            return []
        return [
            f"{text}; no cut, case or form of a number would match them: are these labels of this index?"
        ]

    def _count_never_retrieved(self, never_retrieved: Sequence[str], id_count: int) -> str:
        """Say how many of the reference ids were never retrieved."""
        if len(never_retrieved) == id_count:
            return f"no reference id was ever retrieved, in {plural(len(self.wanted), 'sample')}"
        sample_count = sum(not self.retrieved.issuperset(ids) for ids in self.wanted)
        return (
            f"{len(never_retrieved)} of {id_count} reference ids were retrieved for no sample; "
            f"{sample_count} of {len(self.wanted)} samples have such labels"
        )

    def _matches_in_few(self, forms_of_label: _Forms, forms_of_retrieved: _Forms) -> bool:
        """Whether a cut matches a reference id of each sample with one that was retrieved for it, in two samples or more."""
        for ids, wanted in self.first_pairs:
            forms = {form for id_ in ids for form in forms_of_retrieved(id_)}
            if all(forms.isdisjoint(forms_of_label(label)) for label in wanted):
                return False
        return len(self.first_pairs) >= _EXAMPLES_SHOWN

    def _pair_by_forms(
        self, labels: Sequence[str], forms_of_label: _Forms, forms_of_retrieved: _Forms
    ) -> list[tuple[str, str]]:
        """Pair reference ids with the retrieved ids that have a form in common with them: of several, the last by name."""
        label_forms = {form for label in labels for form in forms_of_label(label)}
        retrieved_by_form: dict[str, str] = {}
        for id_ in self.retrieved:
            for form in forms_of_retrieved(id_):
                if form in label_forms:
                    retrieved_by_form[form] = max(id_, retrieved_by_form.get(form, id_))
        pairs: list[tuple[str, str]] = []
        for label in labels:
            forms = [form for form in forms_of_label(label) if form in retrieved_by_form]
            pairs += [(label, retrieved_by_form[form]) for form in forms]
        return pairs
