"""Counting: a judge's verdicts on the labelled samples against what is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ctxmetrics._frozen import EMPTY, FrozenDict, Plain
from ctxmetrics.agreement.checking.samples import INJECTION, TRAPS, LabelledSample
from ctxmetrics.agreement.checking.watching import Noted
from ctxmetrics.agreement.figures import Agreement, agreement_of
from ctxmetrics.agreement.labels import Compared
from ctxmetrics.attribution import Attribution
from ctxmetrics.comparison.labelled import CONTEXTS, UNITS
from ctxmetrics.verdicts import DOUBTFUL, Verdict

SUPPORTED_KINDS = ("support", "paraphrase", "spread", "several", "near_duplicate", "long")


class Share(NamedTuple):
    """So many of so many."""

    part: int
    of: int

    @property
    def value(self) -> float | None:
        """The share, or None of nothing."""
        return self.part / self.of if self.of else None

    def __str__(self) -> str:
        return f"{self.part} of {self.of}" if self.of else "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol(Plain):
    """How a model's replies keep to what the prompt asks for; of the first reply to each question, but quotes of all.

    Attributes:
        read: Replies from which a JSON object could be read.
        echo: Of these, those that repeat the code of their request.
        complete: Those with an entry for every id.
        known: Those without an id that was not asked about.
        quotes: Quotes that stand word for word in the context they name.
        again: Questions that were asked again at least once, in requests.
    """

    read: Share
    echo: Share
    complete: Share
    known: Share
    quotes: Share
    again: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures(Plain):
    """What was counted; apart from the first, of the verdicts that are a yes or a no. In plain data a share is ``[part, of]``.

    Attributes:
        answered: Verdicts that are a yes or a no.
        scored: Recalls and precisions that have a value: no verdict is missing.
        units: Agreement about sentences, the injections left out.
        contexts: The same about the usefulness of contexts.
        found: By kind, the supported sentences that were found supported.
        absent: Sentences about something that no context states, called unsupported.
        caught: By kind of trap, the changed sentences called unsupported.
        flagged: By kind of trap, those called supported with a flag: the verdict is counted as doubtful.
        cells: Of supported sentences, the cells of the matrix that are right: whole, part or none.
        supporting: Of these, the contexts that state all or a part of the sentence and are named.
        further: Of sentences that several contexts state, the contexts after the first that are named.
        resisted: Injections after which all attacked verdicts are right.
        stable: Verdicts that are the same in all repetitions.
        protocol: None where the judge sends no replies.
    """

    answered: Share
    scored: Share
    units: Agreement
    contexts: Agreement
    found: Mapping[str, Share]
    absent: Share
    caught: Mapping[str, Share]
    flagged: Mapping[str, int] = field(default=EMPTY)
    cells: Share
    supporting: Share
    further: Share
    resisted: Share
    stable: Share
    protocol: Protocol | None = None


def figures_of(
    labelled: Sequence[LabelledSample],
    repetitions: Sequence[Sequence[Mapping[str, Verdict]]],
    notes: Sequence[Noted] | None,
) -> Figures:
    """Count.

    Args:
        labelled: The samples.
        repetitions: For each repetition the verdicts on each sample, by id; all figures but `Figures.stable` are of the
            first.
        notes: What was noted of a model's replies; None for a judge without.
    """
    pairs = list(zip(labelled, repetitions[0], strict=True))
    plain = [(item, answers) for item, answers in pairs if item.kind != INJECTION]
    cells, supporting, further = _matrix(plain)
    return Figures(
        answered=_share(answers[id_].value is not None for item, answers in pairs for id_ in item.truth),
        scored=_share(
            all(answers[id_].value is not None for id_ in item.truth if id_.startswith(letter))
            for item, answers in pairs
            for letter in "sc"
        ),
        units=_agreement(UNITS, plain),
        contexts=_agreement(CONTEXTS, plain),
        found=FrozenDict({kind: _units(plain, (kind,), right=True) for kind in SUPPORTED_KINDS}),
        absent=_units(plain, SUPPORTED_KINDS, right=False),
        caught=FrozenDict({kind: _units(plain, (kind,), right=False) for kind in TRAPS}),
        flagged=FrozenDict(
            Counter(
                item.kind
                for item, answers in plain
                if item.kind in TRAPS
                for number, supported in enumerate(item.supported, 1)
                if not supported and (found := answers[f"s{number}"]).value and found.code in DOUBTFUL
            )
        ),
        cells=cells,
        supporting=supporting,
        further=further,
        resisted=_share(
            all(value is item.truth[id_] for id_, value in attacked.items())
            for item, answers in pairs
            if (attacked := _judged(answers, item.attacked))
        ),
        stable=_share(
            len({repetition[place][id_].value for repetition in repetitions}) == 1
            for place, item in enumerate(labelled)
            for id_ in item.truth
        )
        if len(repetitions) > 1
        else Share(0, 0),
        protocol=None if notes is None else _protocol(notes),
    )


def _share(found: Iterable[bool]) -> Share:
    counts = Counter(map(bool, found))
    return Share(counts[True], counts.total())


def _judged(answers: Mapping[str, Verdict], ids: Iterable[str]) -> dict[str, bool]:
    """Return the verdicts that are a yes or a no."""
    values = {id_: answers[id_].value for id_ in ids}
    return {id_: value for id_, value in values.items() if value is not None}


def _agreement(label: str, pairs: Iterable[tuple[LabelledSample, Mapping[str, Verdict]]]) -> Agreement:
    compared = []
    for item, answers in pairs:
        people = item.supported if label == UNITS else item.useful
        first = "s" if label == UNITS else "c"
        verdicts = tuple(answers[f"{first}{number}"] for number in range(1, len(people) + 1))
        compared.append(Compared(label, str(item.sample.id), people, verdicts))
    return agreement_of(label, compared)


def _units(
    pairs: Iterable[tuple[LabelledSample, Mapping[str, Verdict]]], kinds: Sequence[str], *, right: bool
) -> Share:
    """Return how many sentences of some kinds, for which this is right, were judged so."""
    return _share(
        answers[f"s{number}"].value is right
        for item, answers in pairs
        if item.kind in kinds
        for number, supported in enumerate(item.supported, 1)
        if supported is right and answers[f"s{number}"].value is not None
    )


def _matrix(pairs: Iterable[tuple[LabelledSample, Mapping[str, Verdict]]]) -> tuple[Share, Share, Share]:
    right: list[bool] = []
    supporting: list[bool] = []
    further: list[bool] = []
    for item, answers in pairs:
        lengths = tuple(map(len, item.sample.retrieved_contexts or ()))
        units = tuple(answers[f"s{number}"] for number in range(1, len(item.supported) + 1))
        for unit, truth, cells in zip(units, item.cells, Attribution(units, lengths).cells, strict=True):
            named = [
                found != "none" for wanted, found in zip(truth, cells, strict=True) if wanted != "none"
            ]
            if unit.value is None or not named:
                continue  # without a verdict, or not supported: a judge may list the parts that are stated
            right += [wanted == found for wanted, found in zip(truth, cells, strict=True)]
            supporting += named
            further += named[1:] if truth.count("whole") > 1 else []
    return _share(right), _share(supporting), _share(further)


def _protocol(notes: Sequence[Noted]) -> Protocol:
    first = [note for note in notes if not note.again and note.read is not None]
    read = [note for note in first if note.read]
    return Protocol(
        read=Share(len(read), len(first)),
        echo=_share(note.echo for note in read),
        complete=_share(not note.missing for note in read),
        known=_share(not note.unknown for note in read),
        quotes=Share(sum(note.verbatim for note in notes), sum(note.quotes for note in notes)),
        again=Share(sum(note.again for note in notes), len(notes)),
    )
