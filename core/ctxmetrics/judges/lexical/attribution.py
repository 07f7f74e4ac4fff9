"""Which contexts support a unit: each alone, and the first k together for every k.

Pure: a read unit and an index in, its `Support` out. The words of a unit are bits of a number, so that what a
sentence holds of the unit is one number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ctxmetrics.judges.lexical.index import Index
    from ctxmetrics.judges.lexical.phrase import Phrase

_TOLERANCE = 1e-9


class Rule(NamedTuple):
    """When a unit is supported; the parameters of `LexicalJudge`."""

    max_sentences: int
    min_coverage: float
    scatter_weight: float
    number_weight: float
    name_weight: float


class Pick(NamedTuple):
    """A chosen sentence, and the bits of the words that no earlier pick has."""

    sentence: int
    adds: int


class Candidate(NamedTuple):
    """Sentences that hold words of a unit together.

    Attributes:
        context: The context they belong to; None for sentences of several.
        since: The smallest k at which they support the unit, given the numbers and names of the first k contexts; 0
            where they never do.
        held: Their share of the unit's content words, less `Rule.scatter_weight` where they are no neighbours.
        coverage: Their share of the unit's content words.
        picks: The sentences, the one that adds most first.
    """

    context: int | None
    since: int
    held: float
    coverage: float
    picks: tuple[Pick, ...]


@dataclass(frozen=True, slots=True)
class Support:
    """What the contexts hold of one unit.

    Attributes:
        keys: The unit's content words, in the order of the bits.
        whole: The contexts that alone support the unit.
        parts: Where none does at `smallest_k`: the contexts that support it together there, with the sentences that do.
        smallest_k: The smallest k for which the first k contexts support the unit, None where all of them do not.
            Every larger k supports it too.
        score: What is compared with `Rule.min_coverage` for all contexts together.
        candidates: Where the unit is supported: what supports it in each single context, given the numbers and names
            of all contexts, the fullest first; then sentences of several contexts, where only these support it at
            `smallest_k`. Else what comes nearest, at most one.
        present: The bits of the words that stand in any context.
    """

    keys: tuple[str, ...]
    whole: frozenset[int]
    parts: Mapping[int, tuple[int, ...]]
    smallest_k: int | None
    score: float
    candidates: tuple[Candidate, ...]
    present: int

    def keys_of(self, bits: int) -> tuple[str, ...]:
        """Return the words that some bits stand for."""
        return tuple([key for number, key in enumerate(self.keys) if bits >> number & 1])


def attribute(unit: Phrase, index: Index, rule: Rule) -> Support:
    """Judge a unit against each context alone, and against the first k together for every k.

    Args:
        unit: The unit; it has at least one content word.
        index: The contexts, in rank order.
        rule: The weights and the bar.

    Returns:
        What the contexts hold. ``smallest_k`` is what judging with only the first k contexts gives, for every k.
    """
    row = _Row(unit, index, rule)
    alone: dict[int, Candidate] = {}
    pool: dict[int, int] = {}  # what sentences hold, each kind once, with the first such sentence
    seen, missing, supported = 0, row.missing(0), False
    together: Candidate | None = None
    for context, masks in row.contexts.items() if row.possible(row.present) else ():
        known = len(pool)
        for sentence, mask in masks.items():
            pool.setdefault(mask, sentence)
        own = _union(masks.values())
        seen |= own
        if row.possible(own):
            alone[context] = row.alone(context, masks, own)
        before, missing = missing, row.missing(seen)
        for earlier in (context,) if missing == before else tuple(alone):
            candidate = alone.get(earlier)
            if candidate and not candidate.since and row.enough(candidate.held, missing):
                alone[earlier] = candidate._replace(since=context + 1)
                supported = True
        if not supported and (len(pool) > known or missing != before):
            together = row.together(context, seen, pool)
            supported = together is not None
    found = sorted(
        (candidate for candidate in alone.values() if candidate.since), key=_held, reverse=True
    )
    if together:
        found.append(together)
    smallest_k = min((candidate.since for candidate in found), default=None)
    if not found and row.contexts:
        windows = (
            alone.get(context) or row.window(context, masks) for context, masks in row.contexts.items()
        )
        nearest = max(windows, key=_held)
        if row.scattered_at_most(row.present) > nearest.held:
            nearest = max(nearest, row.scattered(None, _distinct(row.masks)), key=_held)
        found.append(nearest)
    found = [row.picked(candidate) for candidate in found]
    whole = frozenset(row.whole)
    return Support(
        keys=row.keys,
        whole=whole,
        parts=row.parts(found, smallest_k)
        if smallest_k and min(whole, default=smallest_k) >= smallest_k
        else {},
        smallest_k=smallest_k,
        score=max(map(_held, found), default=0.0) - row.missing(row.present),
        candidates=tuple(found),
        present=row.present,
    )


def _held(candidate: Candidate) -> float:
    return candidate.held


class _Row:
    """What the sentences hold of one unit."""

    def __init__(self, unit: Phrase, index: Index, rule: Rule) -> None:
        self._rule, self._owners = rule, index.owners
        self._size = max(rule.max_sentences, unit.sentences)
        """A unit of many sentences may rest on as many."""
        self.keys = tuple(unit.content)
        marked = unit.numbers or unit.names
        bits = {key: 1 << number for number, key in enumerate(self.keys)} if marked else {}
        self._numbers = sum([bits[key] for key in unit.numbers])
        self._names, self._name_count = sum([bits[key] for key in unit.names]), max(1, len(unit.names))
        self.whole: set[int] = set()
        self._windows: dict[int, range] = {}
        self.masks: dict[int, int] = dict(sorted(index.masks(self.keys).items()))
        """What each sentence holds."""
        self.contexts: dict[int, dict[int, int]] = {}
        """The same for each context."""
        context = -1
        for sentence, mask in self.masks.items():
            if self._owners[sentence] != context:
                context = self._owners[sentence]
                self.contexts[context] = {}
            self.contexts[context][sentence] = mask
        self.present: int = _union(self.masks.values())
        """The bits of the words that stand in any context."""
        self._least = self.missing(self.present)

    def missing(self, present: int) -> float:
        """Return what is taken off for the numbers and names that are not among the words present."""
        taken = self._rule.number_weight if self._numbers & ~present else 0.0
        names = self._names & ~present
        return taken + self._rule.name_weight * names.bit_count() / self._name_count if names else taken

    def enough(self, held: float, missing: float) -> bool:
        return held - missing >= self._rule.min_coverage - _TOLERANCE

    def possible(self, present: int) -> bool:
        """Whether sentences with no more than these words may support the unit, given all contexts."""
        return self.enough(present.bit_count() / len(self.keys), self._least)

    def window(self, context: int, masks: Mapping[int, int]) -> Candidate:
        """Return the fullest run of neighbouring sentences of one context, the first of equals."""
        sentences, size = list(masks), self._size
        most, fullest = 0, sentences[0]
        for number, first in enumerate(sentences):
            together = 0
            for sentence in sentences[number : number + size]:
                if sentence >= first + size:
                    break
                together |= masks[sentence]
            if (count := together.bit_count()) > most:
                most, fullest = count, first
        coverage = most / len(self.keys)
        self._windows[context] = range(fullest, fullest + size)
        return Candidate(context, 0, coverage, coverage, ())

    def picked(self, candidate: Candidate) -> Candidate:
        """Return a candidate with its picks, which `window` leaves out: few candidates are ever shown."""
        if candidate.picks or candidate.context is None:
            return candidate
        masks = self.contexts[candidate.context]
        window = self._windows[candidate.context]
        chosen = {sentence: mask for sentence, mask in masks.items() if sentence in window}
        return candidate._replace(picks=_greedy(_distinct(chosen), self._size))

    def scattered(self, context: int | None, pool: Mapping[int, int]) -> Candidate:
        """Return sentences from anywhere, chosen one by one for the most words each adds."""
        picks = _greedy(pool, self._size)
        coverage = sum(pick.adds.bit_count() for pick in picks) / len(self.keys)
        return Candidate(context, 0, coverage - self._rule.scatter_weight, coverage, picks)

    def scattered_at_most(self, present: int) -> float:
        return present.bit_count() / len(self.keys) - self._rule.scatter_weight

    def alone(self, context: int, masks: Mapping[int, int], own: int) -> Candidate:
        """Return what one context holds, and note where it is enough alone."""
        best, missing = self.window(context, masks), self.missing(own)
        if not self.enough(best.held, missing) and self.enough(self.scattered_at_most(own), missing):
            best = max(best, self.scattered(context, _distinct(masks)), key=_held)
        if self.enough(best.held, missing):
            self.whole.add(context)
        return best

    def together(self, context: int, seen: int, pool: Mapping[int, int]) -> Candidate | None:
        """Return sentences of the contexts up to this one, where these are enough; the pool holds their masks."""
        missing = self.missing(seen)
        if not self.enough(self.scattered_at_most(seen), missing):
            return None
        found = self.scattered(None, pool)
        return found._replace(since=context + 1) if self.enough(found.held, missing) else None

    def parts(self, candidates: Iterable[Candidate], smallest_k: int) -> dict[int, tuple[int, ...]]:
        """Return the contexts of the first candidate at k, and of the numbers and names it lacks, with the sentences."""
        candidate = next(one for one in candidates if one.since == smallest_k)
        found = by_context(candidate.picks, self._owners)
        lacking = self._numbers | self._names
        for context in found:
            lacking &= ~_union(self.contexts[context].values())
        for context, masks in self.contexts.items():
            if context < smallest_k and lacking & _union(masks.values()):
                held = {sentence: mask & lacking for sentence, mask in masks.items()}
                found[context] = tuple(pick.sentence for pick in _greedy(_distinct(held), self._size))
                lacking &= ~_union(masks.values())
        return found


def by_context(picks: Iterable[Pick], owners: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Return chosen sentences by the context that they belong to."""
    found: dict[int, tuple[int, ...]] = {}
    for pick in picks:
        context = owners[pick.sentence]
        found[context] = (*found.get(context, ()), pick.sentence)
    return found


def fullest(keys: Iterable[str], index: Index, context: int, limit: int) -> tuple[int, ...]:
    """Return the sentences of one context that hold most of some words, chosen one by one."""
    masks = index.masks(keys, index.first[context], index.first[context + 1])
    return tuple(pick.sentence for pick in _greedy(_distinct(dict(sorted(masks.items()))), limit))


def _union(masks: Iterable[int]) -> int:
    together = 0
    for mask in masks:
        together |= mask
    return together


def _distinct(masks: Mapping[int, int]) -> dict[int, int]:
    """Return each mask once, with the first sentence that has it."""
    first: dict[int, int] = {}
    for sentence, mask in masks.items():
        first.setdefault(mask, sentence)
    return first


def _greedy(pool: Mapping[int, int], limit: int) -> tuple[Pick, ...]:
    """Choose sentences one by one, each the one that adds most; the first in the pool where two add as many."""
    picks: list[Pick] = []
    held = 0
    while len(picks) < limit:
        most, fullest = 0, 0
        for mask in pool:
            if (count := (mask & ~held).bit_count()) > most:
                most, fullest = count, mask
        if not most:
            break
        picks.append(Pick(pool[fullest], fullest & ~held))
        held |= fullest
    return tuple(picks)
