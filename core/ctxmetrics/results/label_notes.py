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

from ctxmetrics._internal.frozen import EMPTY
from ctxmetrics.presentation.wording import TEXT, clean, plural
from ctxmetrics.reading import OPTIONS, in_spans, phrase_kind
from ctxmetrics.reading.shapes import RETRIEVED
from ctxmetrics.results.row import Row
from ctxmetrics.results.rows_file import build_record
from ctxmetrics.samples import Sample

# Samples below which nothing is said.
_FEW = 5
# The share of the reference ids above which those that were never retrieved are counted.
_NEVER = 0.5
# The share of them that another form must match, to be named; and how many at least, which are shown.
_MATCHED, _SHOWN = 0.2, 2
# Retrieved ids below which two runs' are not compared, and the share that both have below which the index is another one.
_IDS, _SHARED = 20, 0.1
# The share of samples with one context that has blank lines, above which that is noted.
_JOINED = 0.8
_BLANK_LINE = re.compile(r"\r?\n\r?\n")
# What separates the parts of an id, and letters at its beginning or end from a digit; and a whole number in any form.
_BETWEEN, _NUMBER = (
    re.compile(r"[\W_]+|^[^\W\d_]+(?=\d)|(?<=\d)(?=[^\W\d_]+$)"),
    re.compile(r"^0*(\d+)(?:\.0+)?$"),
)


def _heads(id_: str) -> list[str]:
    return [id_[: match.start()] for match in _BETWEEN.finditer(id_) if match.start()][::-1]


def _tails(id_: str) -> list[str]:
    return [id_[match.end() :] for match in _BETWEEN.finditer(id_) if match.end() < len(id_)]


_Forms = Callable[[str], list[str]]
# Changes that could make ids match: in words, the forms of a reference id, and those of a retrieved id.
_WAYS: tuple[tuple[str, _Forms, _Forms], ...] = (
    ("in one case", lambda id_: [id_.casefold()], lambda id_: [id_.casefold()]),
    ("as numbers", _NUMBER.findall, _NUMBER.findall),
    ("with the end of the reference ids cut", _heads, lambda id_: [id_]),
    ("with the end of the retrieved ids cut", lambda id_: [id_], _heads),
    ("with the beginning of the reference ids cut", _tails, lambda id_: [id_]),
    ("with the beginning of the retrieved ids cut", lambda id_: [id_], _tails),
)


# Labels that repeat what was retrieved or answered.
_CIRCLES = (
    "the reference contexts are the retrieved contexts",
    "the whole reference is one of the retrieved contexts",
    "the response is the reference",
)


def _find_circles(sample: Sample) -> Iterator[tuple[str, bool]]:
    """Yield which labels of a sample could repeat a text, and whether they do."""
    contexts = sample.retrieved_contexts
    if sample.reference_contexts and contexts:
        yield _CIRCLES[0], {*sample.reference_contexts} == {*contexts}
    if sample.reference and contexts:
        yield _CIRCLES[1], sample.reference in contexts
    if sample.reference and sample.response:
        yield _CIRCLES[2], sample.response == sample.reference


@dataclass(slots=True)
class Labels:
    """The ids and labels of a run, as far as its notes need them.

    Attributes:
        samples: How many there are.
        retrieved: The retrieved ids of all samples that have reference ids.
        wanted: The reference ids, one tuple a sample.
        unanswered: For how many nothing was retrieved.
        without_answer: How many questions have no answer, and for how many of these something was retrieved.
        yes_or_no: How many references are a yes or a no and nothing else.
        contexts: How many samples have contexts, and how many have one with blank lines in it.
        answers: Of each question with its contexts, both as their hash, the hashes of the references.
        circles: In how many samples a label repeats, and in how many it does not, by what it would repeat.
    """

    samples: int = 0
    unanswered: int = 0
    without_answer: Counter[str] = field(default_factory=Counter)
    yes_or_no: int = 0
    retrieved: set[str] = field(default_factory=set)
    wanted: list[tuple[str, ...]] = field(default_factory=list)
    contexts: Counter[str] = field(default_factory=Counter)
    answers: dict[int, set[int]] = field(default_factory=dict)
    circles: Counter[tuple[str, bool]] = field(default_factory=Counter)

    def add(self, sample: Sample, record: Mapping[str, Any] | None = None) -> None:
        """Add a sample, with what a file of results says about it beside its fields."""
        self.samples += 1
        hashes = (record or {}).get("context_hashes")
        retrieved = sample.retrieved_contexts or sample.retrieved_context_ids or hashes
        unusable = not sample.metadata.keys().isdisjoint(RETRIEVED)
        # A baseline has no field.
        self.unanswered += not (retrieved or unusable) and any(map(sample.has, OPTIONS))
        self.yes_or_no += phrase_kind(sample.reference or "") == "yes_no"
        if sample.unanswerable:
            self.without_answer["all"] += 1
            self.without_answer["retrieved"] += bool(retrieved)
        if sample.retrieved_context_ids:
            self.add_ids(sample.retrieved_context_ids, sample.reference_context_ids)
        texts = sample.retrieved_contexts
        if texts:
            self.contexts["all"] += 1
            self.contexts["blank lines"] += (
                len(texts) == 1 and _BLANK_LINE.search(texts[0].strip()) is not None
            )
            if sample.user_input and sample.reference:
                answers = self.answers.setdefault(hash((sample.user_input, texts)), set())
                answers.add(hash(sample.reference))
        for circle in _find_circles(sample):
            self.circles[circle] += 1

    def add_ids(self, ids: Iterable[str] | None, wanted: Sequence[str] | None) -> None:
        """Add the retrieved and the reference ids of a sample."""
        if ids and wanted and not in_spans(wanted):
            self.retrieved.update(ids)
            self.wanted.append(tuple(wanted))

    def notes(self, *, by_words: bool) -> tuple[str, ...]:
        """Return what a reader of the means must know, a sentence each; ``by_words``: the embedded judge judged."""
        notes = []
        if by_words and self.yes_or_no:
            notes.append(
                f"{plural(self.yes_or_no, 'reference')} of a yes or no alone, which no words of a context can state: write what "
                "it means as a fact (reference_facts, unit=fact), or take an LLM"
            )
        if self.without_answer["all"]:
            questions = plural(self.without_answer["all"], "question")
            nothing = self.without_answer["all"] - self.without_answer["retrieved"]
            notes.append(
                f"{questions} without an answer, not in the means; nothing was retrieved for {nothing}"
            )
        blank = self.contexts["blank lines"]
        if blank >= _JOINED * self.contexts["all"] and blank > 1:
            notes.append(
                f"{blank} of {plural(self.contexts['all'], 'sample')} have one context, with blank lines in it: if it holds "
                "several passages, precision says nothing; write --split '\\n\\n' (in Python split=)"
            )
        several = sum(len(answers) for answers in self.answers.values() if len(answers) > 1)
        if several * 2 > self.samples:
            notes.append(
                f"{several} of {plural(self.samples, 'sample')} have the question and contexts of another one, and another "
                "reference: if it is one of several, write --group-by and --map COLUMN=references; if a fact, =reference_facts"
            )
        notes += self.describe_never_retrieved()
        for what in _CIRCLES:
            count = self.circles[what, True]
            if count >= _FEW and not self.circles[what, False]:
                notes.append(f"{what}, in all {count} samples: such labels prove nothing")
        return tuple(notes)

    def describe_never_retrieved(self) -> list[str]:
        """Describe reference ids that were never retrieved, where these are many, and the change that would make them match."""
        every = dict.fromkeys(chain(*self.wanted))
        never = [id_ for id_ in every if id_ not in self.retrieved]
        if len(self.wanted) < _FEW or len(never) <= _NEVER * len(every):
            return []
        if len(never) == len(every):
            text = f"no reference id was ever retrieved, in {len(self.wanted)} samples"
        else:
            concerned = sum(not self.retrieved.issuperset(ids) for ids in self.wanted)
            text = (
                f"{len(never)} of {len(every)} reference ids were retrieved for no sample; "
                f"{concerned} of {len(self.wanted)} samples have such labels"
            )
        for change, forms_of_label, forms_of_retrieved in _WAYS:
            pairs = self._match(never, forms_of_label, forms_of_retrieved)
            matches = {retrieved for _, retrieved in pairs}
            if len(matches) >= max(_SHOWN, _MATCHED * len(never)):
                examples = [
                    f"{clean(label, TEXT)} and {clean(retrieved, TEXT)}"
                    for label, retrieved in pairs[:_SHOWN]
                ]
                return [f"{text}; {change} they would match: {', '.join(examples)}"]
        return [
            f"{text}; no cut, case or form of a number would match them: are these labels of this index?"
        ]

    def _match(
        self, labels: Iterable[str], forms_of_label: _Forms, forms_of_retrieved: _Forms
    ) -> list[tuple[str, str]]:
        """Pair reference ids with the retrieved ids that have a form in common with them."""
        by_form = {}
        for id_ in sorted(self.retrieved):
            for form in forms_of_retrieved(id_):
                by_form[form] = id_
        pairs = []
        for label in labels:
            pairs += [(label, by_form[form]) for form in forms_of_label(label) if form in by_form]
        return pairs


class Index:
    """What the samples of a run say about the index that they were made over.

    Args:
        rows: The first rows of the run.

    Attributes:
        labels: The retrieved and the reference ids.
        hashes: The hashes of the texts that were retrieved under each id; none where ids and texts are no pairs.
    """

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self.labels: Labels = Labels()
        self.hashes: dict[str, frozenset[str]] = {}
        for row in rows:
            self.add(build_record(row) or EMPTY)

    def add(self, record: Mapping[str, Any]) -> None:
        """Add what a row says about its sample; see `ctxmetrics.results.rows_file.build_record`."""
        ids = record.get("retrieved_context_ids") or ()
        self.labels.add_ids(ids, record.get("reference_context_ids"))
        if in_spans(ids):
            return
        hashes = record.get("context_hashes") or ()
        for place, id_ in enumerate(ids):
            texts = self.hashes.get(id_, frozenset())
            if len(hashes) == len(ids):
                texts |= {hashes[place]}
            self.hashes[id_] = texts


def index_notes(first: Index, second: Index) -> tuple[list[str], bool]:
    """Describe what two runs say about the index they were made over, a sentence each, and whether ids can be compared.

    Ids cannot be compared where hardly any retrieved id is in both runs, or where the labels of one run
    match none of its ids.
    """
    least = min(len(first.hashes), len(second.hashes))
    shared = [id_ for id_ in first.hashes if id_ in second.hashes]
    notes = _describe_own_labels(first.labels, second.labels)
    if least >= _IDS and len(shared) < _SHARED * least:
        notes.append(
            f"another index, or other ids: of {least} retrieved ids {len(shared)} are in both runs; "
            "what id metrics lost may be no loss"
        )
    comparable = not notes
    changed = []
    for id_ in shared:
        before, after = first.hashes[id_], second.hashes[id_]
        if before and after and before.isdisjoint(after):
            changed.append(id_)
    if changed:
        notes.append(
            f"another text under {len(changed)} of {plural(len(shared), 'id')} of both runs: "
            f"{', '.join(clean(id_, TEXT) for id_ in changed[:_SHOWN])}"
        )
    return notes, comparable


def _describe_own_labels(first: Labels, second: Labels) -> list[str]:
    """Return the notes about reference ids that one of two runs has alone; none unless both have such ids."""
    if not (first.wanted and second.wanted):
        return []
    one, other = first.describe_never_retrieved(), second.describe_never_retrieved()
    notes = [f"first run only: {text}" for text in one if text not in other]
    return notes + [f"second run only: {text}" for text in other if text not in one]
