"""The stages of a retrieval: what each step handed on, and what one judgement of all of them says of each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from ctxmetrics._internal.frozen import FrozenDict, Plain
from ctxmetrics.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Stage(Plain):
    """What one step of a retrieval handed on, in rank order.

    Attributes:
        contexts: The texts; None where only ids are known.
        ids: Their ids, where they have some.
    """

    contexts: tuple[str, ...] | None = None
    ids: tuple[str, ...] | None = None


def pool_of(stages: Iterable[Stage]) -> tuple[tuple[str, ...], list[list[int]]]:
    """Return the distinct contexts of stages with texts, in the order of their first appearance, and each stage as places there."""
    keys = _keys_of([*stages])
    numbers: dict[tuple[str | None, str | None], int] = {}
    places = [[numbers.setdefault(key, len(numbers)) for key in each] for each in keys]
    return tuple(text or "" for _, text in numbers), places


def _keys_of(stages: Sequence[Stage]) -> list[list[tuple[str | None, str | None]]]:
    """Return the key by which each context of each stage is recognised, in rank order.

    Where every stage has ids, that is id and text: a text that was rewritten is another context. Else it is the text,
    or the id where there is no text.
    """
    named = all(stage.ids is not None for stage in stages)
    return [
        [
            (id_ if named or text is None else None, text)
            for id_, text in zip_longest(stage.ids or (), stage.contexts or ())
        ]
        for stage in stages
    ]


def sizes_of(stages: Mapping[str, Stage]) -> dict[str, dict[str, Any]]:
    """Return what is known of each stage without its texts.

    That is the number of distinct ``contexts``, their ``characters``, the ``ids``, and a ``hash`` of ids and texts.
    """
    held = map(set, _keys_of([*stages.values()]))
    return {
        name: {
            "contexts": len(distinct),
            "characters": sum(len(text or "") for _, text in distinct),
            "ids": None if stage.ids is None else list(stage.ids),
            "hash": hashlib.sha256(json.dumps([stage.ids, stage.contexts]).encode()).hexdigest()[:32],
        }
        for (name, stage), distinct in zip(stages.items(), held, strict=True)
    }


def recorded(
    stages: Mapping[str, Stage],
    alone: Sequence[Sequence[Verdict]] = (),
    pooled: Sequence[Verdict] = (),
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
    texts, places = pool_of(stages.values())
    by_stage = alone or [
        [_within(verdict, place, len(texts)) for verdict in pooled] for place in places
    ]
    found = []
    for unit, verdicts in enumerate(zip(*by_stage, strict=True)):
        told = []
        so_far: bool | None = False
        for number, (name, verdict) in enumerate(zip(stages, verdicts, strict=True)):
            place, ids = places[number], stages[name].ids
            before = [text for each in places[: number + 1] for text in each]
            if pooled:
                so_far = _within(pooled[unit], before, len(texts)).value
            elif so_far is not True:
                so_far = verdict.value
            whole = {span.context for span in verdict.evidence if span.whole}
            contexts = [
                [rank + 1, place[rank], rank in whole, ids[rank] if ids else None]
                for rank in sorted({span.context for span in verdict.evidence})
            ]
            told.append({"name": name, "value": verdict.value, "so_far": so_far, "contexts": contexts})
        details = FrozenDict({**verdicts[-1].details, "stages": told})
        found.append(replace(verdicts[-1], details=details))
    return tuple(found)


def of_last(stages: Mapping[str, Stage], pooled: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Return the verdicts about the contexts of the last stage, of those about each context of the pool."""
    last = [pooled[number] for number in pool_of(stages.values())[1][-1]]
    return tuple(
        replace(
            verdict,
            id=f"c{rank + 1}",
            evidence=tuple(replace(span, context=rank) for span in verdict.evidence),
        )
        for rank, verdict in enumerate(last)
    )


def _within(verdict: Verdict, place: Sequence[int], size: int) -> Verdict:
    """Return what a verdict about a pool says of one stage, whose contexts stand at these places of the pool.

    A yes stays one where the stage has a context that states the whole unit or, where no context of the pool does, all
    that state a part of it; without evidence, where the stage has the whole pool, of this size. A context that stands
    twice in the stage counts at its first rank.
    """
    ranks = {number: rank for rank, number in reversed([*enumerate(place)])}  # the first of each
    kept = [
        replace(span, context=ranks[span.context]) for span in verdict.evidence if span.context in ranks
    ]
    evidence = tuple(sorted(kept, key=lambda span: (span.context, span.start)))
    details = {name: value for name, value in verdict.details.items() if name != "smallest_k"}
    found = replace(verdict, evidence=evidence, details=FrozenDict(details))
    if verdict.value is not True or any(span.whole for span in evidence):
        return found
    needed = {span.context for span in verdict.evidence} or {*range(size)}
    if needed <= ranks.keys() and not any(span.whole for span in verdict.evidence):
        return found
    reason = "the contexts of this stage do not state it; those of another stage do"
    return replace(found, value=False, code=None, reason=reason)
