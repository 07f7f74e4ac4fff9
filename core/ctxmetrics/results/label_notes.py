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

from ctxmetrics.presentation.wording import TEXT, clean, plural
from ctxmetrics.reading import OPTIONS, in_spans
from ctxmetrics.results.row import Row
from ctxmetrics.results.rows_file import record_of
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
# What separates the parts of an id, and letters at its beginning or end from a digit; and a whole number in any form.
_BETWEEN, _NUMBER = (
    re.compile(r"[\W_]+|^[^\W\d_]+(?=\d)|(?<=\d)(?=[^\W\d_]+$)"),
    re.compile(r"^0*(\d+)(?:\.0+)?$"),
)


def _heads(id_: str) -> list[str]:
    return [id_[: found.start()] for found in _BETWEEN.finditer(id_) if found.start()][::-1]


def _tails(id_: str) -> list[str]:
    return [id_[found.end() :] for found in _BETWEEN.finditer(id_) if found.end() < len(id_)]


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
# Labels that repeat what was retrieved or answered: a text, and a function that says whether a sample
# has them (None without such a label).
_CIRCLES: Mapping[str, Callable[[Sample], bool | None]] = {
    "the reference contexts are the retrieved contexts": lambda sample: (
        {*sample.reference_contexts} == {*sample.retrieved_contexts}
        if sample.reference_contexts and sample.retrieved_contexts
        else None
    ),
    "the whole reference is one of the retrieved contexts": lambda sample: (
        sample.reference in sample.retrieved_contexts
        if sample.reference and sample.retrieved_contexts
        else None
    ),
    "the response is the reference": lambda sample: (
        sample.response == sample.reference if sample.reference and sample.response else None
    ),
}


@dataclass(slots=True)
class Labels:
    """The ids and labels of a run, as far as its notes need them.

    Attributes:
        samples: How many there are.
        retrieved: The retrieved ids of all samples that have reference ids.
        wanted: The reference ids, one tuple a sample.
        unanswered: For how many nothing was retrieved.
        contexts: How many samples have contexts, and how many have one with blank lines in it.
        circles: In how many samples a label repeats, and in how many it does not, by what it would repeat.
    """

    samples: int = 0
    unanswered: int = 0
    retrieved: set[str] = field(default_factory=set)
    wanted: list[tuple[str, ...]] = field(default_factory=list)
    contexts: Counter[str] = field(default_factory=Counter)
    circles: Counter[tuple[str, bool | None]] = field(default_factory=Counter)

    def add(self, sample: Sample, record: Mapping[str, Any] | None = None) -> None:
        """Add a sample, with what a file of results says about it beside its fields."""
        self.samples += 1
        hashes = (record or {}).get("context_hashes")
        retrieved = sample.retrieved_contexts or sample.retrieved_context_ids or hashes
        self.unanswered += not retrieved and any(map(sample.has, OPTIONS))  # a baseline has no field
        found, wanted = sample.retrieved_context_ids, sample.reference_context_ids
        if found and wanted and not in_spans(wanted):
            self.retrieved.update(found)
            self.wanted.append(wanted)
        if texts := sample.retrieved_contexts:
            blank = len(texts) == 1 and "\n\n" in texts[0].strip()
            self.contexts.update(("all", "blank lines") if blank else ("all",))
        self.circles.update((what, repeats(sample)) for what, repeats in _CIRCLES.items())

    def notes(self) -> tuple[str, ...]:
        """Return what a reader of the means must know, a sentence each."""
        blank = self.contexts["blank lines"]
        joined = (
            f"{blank} of {plural(self.contexts['all'], 'sample')} have one context, with blank lines in it: if it holds several "
            "passages, precision says nothing; write --split '\\n\\n' (in Python split=)"
        )
        return (
            *([joined] if blank >= _JOINED * self.contexts["all"] and blank > 1 else ()),
            *self.never(),
            *(
                f"{what}, in all {self.circles[what, True]} samples: such labels prove nothing"
                for what in _CIRCLES
                if self.circles[what, True] >= _FEW and not self.circles[what, False]
            ),
        )

    def never(self) -> Iterator[str]:
        """Yield a note where many reference ids were never retrieved, with the change that would make them match."""
        every = dict.fromkeys(chain(*self.wanted))
        never = [id_ for id_ in every if id_ not in self.retrieved]
        if len(self.wanted) < _FEW or len(never) <= _NEVER * len(every):
            return
        concerned = sum(not self.retrieved.issuperset(ids) for ids in self.wanted)
        text = (
            f"no reference id was ever retrieved, in {len(self.wanted)} samples"
            if len(never) == len(every)
            else f"{len(never)} of {len(every)} reference ids were retrieved for no sample; "
            f"{concerned} of {len(self.wanted)} samples have such labels"
        )
        for how, of_label, of_found in _WAYS:
            known = {form: id_ for id_ in sorted(self.retrieved) for form in of_found(id_)}
            pairs = [(id_, known[form]) for id_ in never for form in of_label(id_) if form in known]
            if len({found for _, found in pairs}) >= max(_SHOWN, _MATCHED * len(never)):
                shown = [
                    f"{clean(one, TEXT)} and {clean(other, TEXT)}" for one, other in pairs[:_SHOWN]
                ]
                yield f"{text}; {how} they would match: {', '.join(shown)}"
                return
        yield f"{text}; no cut, case or form of a number would match them: are these labels of this index?"


def index_notes(first: Sequence[Row], second: Sequence[Row]) -> tuple[list[str], bool]:
    """Return what two runs say about the index they were made over, a sentence each, and whether ids can be compared.

    Ids cannot be compared where hardly any retrieved id is in both runs, or where the labels of one run
    match none of its ids.
    """
    one, other = _texts_of(first), _texts_of(second)
    least, shared = min(len(one), len(other)), [id_ for id_ in one if id_ in other]
    labels = Labels(), Labels()
    for run, rows in zip(labels, (first, second), strict=True):
        for row in rows:
            run.add(row.sample or Sample())
    said = [{*run.never()} if all(one.wanted for one in labels) else set() for run in labels]
    runs = (("first", said[0] - said[1]), ("second", said[1] - said[0]))
    notes = [f"{run} run only: {text}" for run, texts in runs for text in texts]
    if least >= _IDS and len(shared) < _SHARED * least:
        notes.append(
            f"another index, or other ids: of {least} retrieved ids {len(shared)} are in both runs; "
            "what id metrics lost may be no loss"
        )
    comparable = not notes
    changed = [id_ for id_ in shared if one[id_] and other[id_] and one[id_].isdisjoint(other[id_])]
    if changed:
        notes.append(
            f"another text under {len(changed)} of {plural(len(shared), 'id')} of both runs: "
            f"{', '.join(clean(id_, TEXT) for id_ in changed[:_SHOWN])}"
        )
    return notes, comparable


def _texts_of(rows: Iterable[Row]) -> dict[str, set[str]]:
    """Return the hashes of the texts that were retrieved under each id; none where ids and texts are no pairs."""
    found: dict[str, set[str]] = {}
    for row in rows:
        ids = (row.sample and row.sample.retrieved_context_ids) or ()
        hashes = (record_of(row) or {}).get("context_hashes") or ()
        for place, id_ in enumerate(() if in_spans(ids) else ids):
            found.setdefault(id_, set()).update(
                hashes[place : place + 1] if len(hashes) == len(ids) else ()
            )
    return found
