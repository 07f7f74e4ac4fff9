"""The embedded judge as a judge: parameters, verdicts and their details."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, get_args

from ctxmetrics._frozen import FrozenDict
from ctxmetrics.errors import ParameterError
from ctxmetrics.judges.base import Judgement
from ctxmetrics.judges.lexical.attribution import Rule
from ctxmetrics.judges.lexical.index import shared_index
from ctxmetrics.judges.lexical.literal import find_literal
from ctxmetrics.judges.lexical.matrix import Judged, Reader, judged
from ctxmetrics.judges.lexical.phrase import Phrase
from ctxmetrics.judges.lexical.usefulness import listed, usefulness
from ctxmetrics.judges.lexical.words import stop_words
from ctxmetrics.verdicts import Evidence, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ctxmetrics.judges.base import JudgeRequest
    from ctxmetrics.judges.lexical.attribution import Candidate

LABEL = "Embedded lexical judge: compares words, understands nothing; measured in docs/judges.md#what-it-is-worth"
"""What every score of this judge carries: one line."""

_MAX_AT_ONCE = 200_000
_NUMBERS = ("min_coverage", "scatter_weight", "number_weight", "name_weight", "min_share", "min_relative")

Contradicted = Literal["flag", "no"]


@dataclass(frozen=True, kw_only=True)
class LexicalJudge:
    """Judges by counting words. English was measured; other languages work, untested against people.

    **Support** of a unit: ``held - number_weight * (any number of the unit is in no context) - name_weight * share of
    the unit's names that are in no context >= min_coverage``. ``held`` is the share of the unit's content words that
    stand in ``max_sentences`` neighbouring sentences of one context; or in that many sentences from anywhere, chosen
    one by one for the most words, less ``scatter_weight``; whichever is more. (A unit of more sentences than
    ``max_sentences`` may rest on as many.) Names are capitalised words of two letters or more that do not begin a
    sentence. A unit of stop words only is supported where its words stand in a context one after the other.

    **Contradiction**: the sentences that support a unit are compared with it for negations, antonyms, the unit of
    measure or currency of its numbers, numbers, dates and names beside the same neighbours, and exchanged names. A yes
    is contradicted where every context that supports the unit contradicts it.

    **Usefulness** of a context: its share is at least ``min_share`` and at least ``min_relative`` times the best
    context's. The share is BM25 of the answer's content words over what BM25 gives the answer itself, with document
    frequencies from the retrieved contexts (`bm25_shares`). Only the answer counts, not the question. An answer of
    stop words only makes those contexts useful in which it stands word for word.

    The verdicts' ``details`` hold what was measured. Units: ``score`` (what is compared with the bar, -1 to 1 with the
    default weights), ``coverage`` (of the shown sentences), ``missing_words`` (in none of them), ``missing_numbers`` and
    ``missing_names`` (in no context), as the unit spells them; ``bigram_share`` (share of neighbouring content words
    that are neighbours in a shown sentence: not counted); ``contradiction`` (None, or kind and words); ``uncertain``
    (a yes that is contradicted; its code is ``uncertain``), ``smallest_k`` (the smallest k for which judging the first k
    contexts gives a yes, or None) and, for a no, ``nearest`` (the spans of the nearest sentences). A yes has evidence in
    every context that supports the unit alone (``whole``), and in the parts that support it together before the first of
    them. Contexts: ``share``, ``relative``, ``matched_words``.

    Attributes:
        max_sentences: Context sentences that may support a unit together.
        min_coverage: The bar for support.
        scatter_weight: Taken off where the sentences are not neighbours.
        number_weight: Taken off when any number of the unit is missing from all contexts.
        name_weight: Taken off when all its names are; in proportion when some are.
        min_share: The bar for a useful context.
        min_relative: The bar for a useful context as a share of the best one.
        contradiction: What becomes of a contradicted yes: ``"flag"`` leaves it a yes and flags it, ``"no"`` makes it a no.

    Raises:
        ParameterError: A parameter is out of range.
    """

    max_sentences: int = 3
    min_coverage: float = 0.625
    scatter_weight: float = 0.25
    number_weight: float = 0.5
    name_weight: float = 0.5
    min_share: float = 0.08
    min_relative: float = 0.35
    contradiction: Contradicted = "flag"

    def __post_init__(self) -> None:
        if (
            not isinstance(self.max_sentences, int)
            or isinstance(self.max_sentences, bool)
            or self.max_sentences < 1
        ):
            raise ParameterError(
                f"LexicalJudge: max_sentences={self.max_sentences!r} must be a whole number from 1."
            )
        for name in _NUMBERS:
            value = getattr(self, name)
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not number or not 0 <= value <= 1:
                raise ParameterError(f"LexicalJudge: {name}={value!r} must be a number from 0 to 1.")
        if self.contradiction not in get_args(Contradicted):
            raise ParameterError(
                f'LexicalJudge: contradiction={self.contradiction!r} must be "flag" or "no".'
            )

    @property
    def name(self) -> str:
        """``lexical``, with the parameters that are not the default."""
        given = [
            f"{item.name}={getattr(self, item.name)}"
            for item in fields(self)
            if getattr(self, item.name) != item.default
        ]
        return f"lexical({', '.join(given)})" if given else "lexical"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What it is, and where its measured agreement with people is written."""
        return (LABEL,)

    async def attribute(self, request: JudgeRequest) -> Judgement:
        """Say for each unit whether the contexts support it."""
        return Judgement(verdicts=await _run(self.support, request))

    async def rate(self, request: JudgeRequest) -> Judgement:
        """Say for each context whether it is useful for giving the answer."""
        return Judgement(verdicts=await _run(self.usefulness, request))

    def support(self, request: JudgeRequest) -> tuple[Verdict, ...]:
        """The verdicts of `attribute`, one a unit."""
        return tuple(
            _literal_verdict(id_, unit.text, request.contexts)
            if found is None
            else _verdict(id_, unit, found, reader, request.contexts)
            for id_, (unit, found, reader) in zip(request.unit_ids, self._rows(request), strict=True)
        )

    def usefulness(self, request: JudgeRequest) -> tuple[Verdict, ...]:
        """The verdicts of `rate`, one a context."""
        answer = Phrase.of(request.answer, request.language)
        bars = {"min_share": self.min_share, "min_relative": self.min_relative}
        return usefulness(
            answer, shared_index(request), request, **bars, max_sentences=self.max_sentences
        )

    def _rows(self, request: JudgeRequest) -> list[tuple[Phrase, Judged | None, Reader]]:
        """Judge the units; None for one without content words."""
        reader = Reader(shared_index(request), request.contexts, request.language)
        rule = Rule(
            self.max_sentences,
            self.min_coverage,
            self.scatter_weight,
            self.number_weight,
            self.name_weight,
        )
        strict = self.contradiction == "no"
        units = (Phrase.of(unit, request.language) for unit in request.units)
        return [
            (unit, judged(unit, reader, rule, strict=strict) if unit.content else None, reader)
            for unit in units
        ]


async def _run(
    question: Callable[[JudgeRequest], tuple[Verdict, ...]], request: JudgeRequest
) -> tuple[Verdict, ...]:
    """Answer at once, or in a worker thread where reading the contexts would hold up the event loop."""
    if sum(map(len, request.contexts)) <= _MAX_AT_ONCE:
        return question(request)
    from anyio import to_thread

    return await to_thread.run_sync(question, request)


def _verdict(
    id_: str, unit: Phrase, judgement: Judged, reader: Reader, contexts: Sequence[str]
) -> Verdict:
    smallest_k, whole, sentences, doubt, shown, found = judgement
    supported = smallest_k is not None
    picks = shown.picks if shown else ()
    covered = sum([pick.adds for pick in picks])
    absent = found.keys_of(~found.present) if unit.numbers or unit.names else ()
    numbers, names = ([key for key in kind if key in absent] for kind in (unit.numbers, unit.names))
    uncertain = supported and doubt is not None
    details: dict[str, Any] = {
        "score": found.score,
        "coverage": 0.0 if shown is None else shown.coverage,
        "missing_words": unit.spelled([key for key in found.keys_of(~covered) if key not in numbers]),
        "missing_numbers": unit.spelled(numbers),
        "missing_names": unit.spelled(names),
        "bigram_share": _bigram_share(unit, shown, reader),
        "contradiction": None if doubt is None else FrozenDict(doubt._asdict()),
        "uncertain": uncertain,
        "smallest_k": smallest_k,
    }
    evidence: tuple[Evidence, ...] = ()
    if supported:
        best = {pick.sentence: rank for rank, pick in enumerate(picks)}  # those that are shown come first
        order = sorted(
            (best.get(sentence, len(best)), sentence, context)
            for context, found_there in sentences.items()
            for sentence in found_there
        )
        evidence = tuple(
            reader.index.evidence(sentence, contexts, whole=context in whole)
            for _, sentence, context in order
        )
    else:
        index = reader.index
        details["nearest"] = tuple(
            [
                {
                    "context": index.owners[sentence],
                    "start": index.starts[sentence],
                    "end": index.ends[sentence],
                }
                for sentence, _ in picks
            ]
        )
    parts = [f"{covered.bit_count()} of {len(unit.content)} words found"]
    parts += [
        f"missing {what}: {listed(lost)}" for what in _MISSING if (lost := details[f"missing_{what}"])
    ]
    if doubt is not None:
        parts.append(f"contradiction ({doubt})")
    return Verdict(
        id=id_,
        value=supported,
        text=unit.text,
        reason="; ".join(parts),
        code="uncertain" if uncertain else None,
        evidence=evidence,
        details=FrozenDict(details),
    )


_MISSING = ("words", "numbers", "names")


def _bigram_share(unit: Phrase, shown: Candidate | None, reader: Reader) -> float | None:
    """Share of the unit's pairs of neighbouring content words that are neighbours in a shown sentence too."""
    pairs = set(pairwise(unit.sequence))
    if not pairs:
        return None
    stop, content = stop_words(reader.language), unit.content
    found: set[tuple[str, str]] = set()
    for pick in shown.picks if shown else ():
        keys = [
            token.key
            for token in reader.tokens(pick.sentence)
            if (token.folded not in stop and token.kind != "character") or token.key in content
        ]
        found |= pairs.intersection(pairwise(keys))
    return len(found) / len(pairs)


def _literal_verdict(id_: str, text: str, contexts: Sequence[str]) -> Verdict:
    """Judge a unit without content words: its words must stand in a context one after the other."""
    spans = (find_literal(text, context, number) for number, context in enumerate(contexts))
    evidence = tuple(span for span in spans if span is not None)
    reason = "has no content word and stands in no context word for word"
    details: Mapping[str, Any] = {
        "score": float(bool(evidence)),
        "coverage": float(bool(evidence)),
        "missing_words": (),
        "missing_numbers": (),
        "missing_names": (),
        "bigram_share": None,
        "contradiction": None,
        "uncertain": False,
        "smallest_k": evidence[0].context + 1 if evidence else None,
    }
    return Verdict(
        id=id_,
        value=bool(evidence),
        text=text,
        reason="stands in a context word for word" if evidence else reason,
        evidence=evidence,
        details=FrozenDict(details),
    )
