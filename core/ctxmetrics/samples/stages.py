"""The stages of a retrieval: what each step handed on, and what one judgement of all of them says of each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Any

from ctxmetrics._internal.frozen import FrozenDict, Plain
from ctxmetrics.verdicts import Verdict

# What a context is recognised by: its id, its text, or both.
_ContextKey = tuple[str | None, str | None]


@dataclass(frozen=True, slots=True)
class Stage(Plain):
    """What one step of a retrieval handed on, in rank order.

    Attributes:
        contexts: The texts; None where only ids are known.
        ids: Their ids, where they have some.
    """

    contexts: tuple[str, ...] | None = None
    ids: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Search(Plain):
    """One of the searches of a question: what was asked, and what it brought, in rank order.

    Attributes:
        query: What was searched for.
        contexts: The texts; None where only ids are known.
        ids: Their ids, where they have some.
        turn: The turn of the conversation, from 1.
    """

    query: str | None = None
    contexts: tuple[str, ...] | None = None
    ids: tuple[str, ...] | None = None
    turn: int | None = None


# The name of the stage that holds what all searches found together.
TOGETHER = "all searches"
# The beginning of the name of the stage of one search.
_SEARCH = "search "


def to_stages_of_searches(searches: Sequence[Search]) -> dict[str, Stage]:
    """Return the stages of a question with several searches: each search, and each of their contexts once, at its first rank."""
    stages = {
        f"{_SEARCH}{number}": Stage(search.contexts, search.ids)
        for number, search in enumerate(searches, 1)
    }
    keys = dict.fromkeys(chain.from_iterable(_context_keys([*stages.values()])))
    contexts: tuple[str, ...] | None = tuple(text or "" for _, text in keys)
    ids: tuple[str, ...] | None = tuple(id_ or "" for id_, _ in keys)
    if any(stage.contexts is None for stage in stages.values()):
        contexts = None
    if any(stage.ids is None for stage in stages.values()):
        ids = None
    return {**stages, TOGETHER: Stage(contexts, ids)}


def pool_contexts(stages: Iterable[Stage]) -> tuple[tuple[str, ...], list[list[int]]]:
    """Return the distinct contexts of stages with texts, in the order of their first appearance, and each stage as places there."""
    numbers: dict[_ContextKey, int] = {}
    places: list[list[int]] = []
    for keys in _context_keys([*stages]):
        for key in keys:
            numbers.setdefault(key, len(numbers))
        places.append([numbers[key] for key in keys])
    return tuple(text or "" for _, text in numbers), places


def _context_keys(stages: Sequence[Stage]) -> list[list[_ContextKey]]:
    """Return the key by which each context of each stage is recognised, in rank order.

    Where every stage has ids, that is id and text: a text that was rewritten is another context. Else it is the text,
    or the id where there is no text.
    """
    all_have_ids = all(stage.ids is not None for stage in stages)
    keys: list[list[_ContextKey]] = []
    for stage in stages:
        pairs = zip_longest(stage.ids or (), stage.contexts or ())
        if all_have_ids:
            keys.append([*pairs])
        else:
            keys.append([(id_ if text is None else None, text) for id_, text in pairs])
    return keys


def sizes_of(stages: Mapping[str, Stage]) -> dict[str, dict[str, Any]]:
    """Return what is known of each stage without its texts.

    That is the number of distinct ``contexts``, their ``characters``, the ``ids``, and a ``hash`` of ids and texts.
    """
    sizes: dict[str, dict[str, Any]] = {}
    keys = _context_keys([*stages.values()])
    for (name, stage), contexts in zip(stages.items(), map(set, keys), strict=True):
        content = json.dumps([stage.ids, stage.contexts])
        sizes[name] = {
            "contexts": len(contexts),
            "characters": sum(len(text or "") for _, text in contexts),
            "ids": None if stage.ids is None else list(stage.ids),
            "hash": hashlib.sha256(content.encode()).hexdigest()[:32],
        }
    return sizes


def with_stage_history(
    stages: Mapping[str, Stage], alone: Sequence[Sequence[Verdict]] = (), pooled: Sequence[Verdict] = ()
) -> tuple[Verdict, ...]:
    """Return the verdicts about the last stage; their details say what each stage held.

    ``details["stages"]`` has a mapping for each stage, in order: ``name``; ``value``, the verdict; ``so_far``, the verdict
    where the stage counts with all before it; ``contexts``, a list for each context that states the unit or a part of it:
    rank from 1, number in the pool from 0, whether it states the whole unit, and the id or None.

    Args:
        stages: The stages that were judged.
        alone: The verdicts about each stage, where each was judged by itself.
        pooled: The verdicts about the pool, where that was judged.
    """
    texts, places = pool_contexts(stages.values())
    by_stage = alone
    if not by_stage:
        by_stage = [_of_stage(pooled, place, len(texts)) for place in places]
    so_far_by_stage = (
        _values_so_far(pooled, places, len(texts)) if pooled else _first_yes_so_far(by_stage)
    )
    last: list[Verdict] = []
    for unit, verdicts in enumerate(zip(*by_stage, strict=True)):
        records: list[dict[str, Any]] = []
        for number, (name, verdict) in enumerate(zip(stages, verdicts, strict=True)):
            so_far = so_far_by_stage[number][unit]
            contexts = _contexts_in(verdict, places[number], stages[name].ids)
            record = {"name": name, "value": verdict.value, "so_far": so_far, "contexts": contexts}
            records.append(record)
        details = FrozenDict({**verdicts[-1].details, "stages": records})
        last.append(replace(verdicts[-1], details=details))
    return tuple(last)


def _values_so_far(
    pooled: Sequence[Verdict], places: Sequence[Sequence[int]], size: int
) -> list[list[bool | None]]:
    """Return for each stage the value of each unit, where the stage counts with all before it."""
    values: list[list[bool | None]] = []
    so_far: list[int] = []
    for place in places:
        so_far += place
        values.append([verdict.value for verdict in _of_stage(pooled, so_far, size)])
    return values


def _first_yes_so_far(by_stage: Sequence[Sequence[Verdict]]) -> list[list[bool | None]]:
    """Return the same where each stage was judged by itself: a yes stays one."""
    values: list[list[bool | None]] = []
    for verdicts in by_stage:
        row = [verdict.value for verdict in verdicts]
        if values:
            pairs = zip(values[-1], row, strict=True)
            row = [True if before is True else value for before, value in pairs]
        values.append(row)
    return values


def _contexts_in(verdict: Verdict, place: Sequence[int], ids: Sequence[str] | None) -> list[list[Any]]:
    """Return a list for each context of a stage that a verdict rests on; see `with_stage_history`."""
    whole = _contexts_of(verdict, whole=True)
    ranks = sorted(_contexts_of(verdict))
    return [[rank + 1, place[rank], rank in whole, ids[rank] if ids else None] for rank in ranks]


def _contexts_of(verdict: Verdict, *, whole: bool = False) -> set[int]:
    """Return the contexts of the evidence, or those that state the whole unit."""
    return {span.context for span in verdict.evidence if span.whole or not whole}


def last_stage_verdicts(stages: Mapping[str, Stage], pooled: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Return the verdicts about the contexts of the last stage, of those about each context of the pool."""
    _, places = pool_contexts(stages.values())
    verdicts: list[Verdict] = []
    for rank, number in enumerate(places[-1]):
        verdict = pooled[number]
        evidence = tuple(replace(span, context=rank) for span in verdict.evidence)
        verdicts.append(replace(verdict, id=f"c{rank + 1}", evidence=evidence))
    return tuple(verdicts)


def _of_stage(pooled: Sequence[Verdict], place: Sequence[int], size: int) -> list[Verdict]:
    """Return what the verdicts about a pool say of one stage; see `_within`."""
    return [_within(verdict, place, size) for verdict in pooled]


def _within(verdict: Verdict, place: Sequence[int], size: int) -> Verdict:
    """Return what a verdict about a pool says of one stage, whose contexts stand at these places of the pool.

    A yes stays one where the stage has a context that states the whole unit or, where no context of the pool does, all
    that state a part of it; without evidence, where the stage has the whole pool, of this size. A context that stands
    twice in the stage counts at its first rank.
    """
    ranks: dict[int, int] = {}
    for rank, number in enumerate(place):
        ranks.setdefault(number, rank)
    spans = [
        replace(span, context=ranks[span.context]) for span in verdict.evidence if span.context in ranks
    ]
    spans.sort(key=lambda span: (span.context, span.start))
    details = {name: value for name, value in verdict.details.items() if name != "smallest_k"}
    in_stage = replace(verdict, evidence=tuple(spans), details=FrozenDict(details))
    if verdict.value is not True or any(span.whole for span in spans):
        return in_stage
    needed = _contexts_of(verdict) or {*range(size)}
    if needed <= ranks.keys() and not _contexts_of(verdict, whole=True):
        return in_stage
    reason = "the contexts of this stage do not state it; those of another stage do"
    return replace(in_stage, value=False, code=None, reason=reason)
