"""The stages of a retrieval: the results of each step, and the verdicts about each step from one judgement of all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Any

from ctxmetrics._internal.frozen import FrozenDict, Plain
from ctxmetrics.verdicts import Verdict

# Two contexts with equal keys are the same context. A key is the id, the text, or both.
_ContextKey = tuple[str | None, str | None]


@dataclass(frozen=True, slots=True)
class Stage(Plain):
    """The results of one step of a retrieval, in rank order.

    Attributes:
        contexts: The texts of the contexts; None if only ids are known.
        ids: The ids of the contexts; None if they have none.
    """

    contexts: tuple[str, ...] | None = None
    ids: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Search(Plain):
    """One of the searches of a question, with its results in rank order.

    Attributes:
        query: The query.
        contexts: The texts of the results; None if only ids are known.
        ids: The ids of the results; None if they have none.
        turn: The turn of the conversation, from 1.
    """

    query: str | None = None
    contexts: tuple[str, ...] | None = None
    ids: tuple[str, ...] | None = None
    turn: int | None = None


# The name of the stage with the results of all searches.
TOGETHER = "all searches"
# The beginning of the name of the stage of one search.
_SEARCH_STAGE_PREFIX = "search "


def to_stages_of_searches(searches: Sequence[Search]) -> dict[str, Stage]:
    """Return the stages of a question with several searches.

    Each search is a stage. The last stage has the contexts of all searches, each once, in the order of first appearance.
    """
    stages = {
        f"{_SEARCH_STAGE_PREFIX}{number}": Stage(search.contexts, search.ids)
        for number, search in enumerate(searches, 1)
    }
    # Each context once, at its first rank: an id and a text.
    distinct_keys = dict.fromkeys(chain.from_iterable(_context_keys([*stages.values()])))
    contexts: tuple[str, ...] | None = tuple(text or "" for _, text in distinct_keys)
    ids: tuple[str, ...] | None = tuple(id_ or "" for id_, _ in distinct_keys)
    if any(stage.contexts is None for stage in stages.values()):
        contexts = None
    if any(stage.ids is None for stage in stages.values()):
        ids = None
    return {**stages, TOGETHER: Stage(contexts, ids)}


def pool_contexts(stages: Iterable[Stage]) -> tuple[tuple[str, ...], list[list[int]]]:
    """Pool the contexts of all stages.

    Returns:
        The pool, which is the distinct contexts in the order of their first appearance; and for each stage the indexes of its
        contexts in the pool.
    """
    pool_index_of: dict[_ContextKey, int] = {}
    pool_indexes_by_stage: list[list[int]] = []
    for keys in _context_keys([*stages]):
        for key in keys:
            pool_index_of.setdefault(key, len(pool_index_of))
        pool_indexes_by_stage.append([pool_index_of[key] for key in keys])
    pool = tuple(text or "" for _, text in pool_index_of)
    return pool, pool_indexes_by_stage


def _context_keys(stages: Sequence[Stage]) -> list[list[_ContextKey]]:
    """Return the key by which each context of each stage is recognised, in rank order.

    If every stage has ids, the key is the id and the text: a text that was rewritten is another context. Else the key is the
    text, or the id if there is no text.
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


def describe_stages(stages: Mapping[str, Stage]) -> dict[str, dict[str, Any]]:
    """Describe each stage without its texts.

    Returns:
        For each stage: ``contexts`` (the number of distinct contexts), ``characters`` (the sum of their lengths), ``ids``, and
        ``hash`` (a hash of ids and texts).
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
    stages: Mapping[str, Stage],
    verdicts_of_stages: Sequence[Sequence[Verdict]] = (),
    pooled: Sequence[Verdict] = (),
) -> tuple[Verdict, ...]:
    """Return the verdicts about the last stage. Their details hold the verdicts about the other stages.

    ``details["stages"]`` has a mapping for each stage, in order:

    - ``name``: the name of the stage.
    - ``value``: the verdict for this stage.
    - ``so_far``: the verdict for the contexts of this stage and all stages before it together.
    - ``contexts``: a list for each context that states the unit or a part of it: its rank from 1, its index in the pool from
      0, whether it states the whole unit, and its id or None.

    Args:
        stages: The stages that were judged.
        verdicts_of_stages: The verdicts about each stage, if each stage was judged by itself.
        pooled: The verdicts about the pool of all contexts, if the pool was judged.
    """
    pool, pool_indexes_by_stage = pool_contexts(stages.values())
    verdicts_by_stage = verdicts_of_stages
    if not verdicts_by_stage:
        verdicts_by_stage = [
            _restrict_to_stage(pooled, pool_indexes, len(pool))
            for pool_indexes in pool_indexes_by_stage
        ]
    if pooled:
        values_so_far_by_stage = _values_so_far(pooled, pool_indexes_by_stage, len(pool))
    else:
        values_so_far_by_stage = _any_yes_so_far(verdicts_by_stage)
    last_verdicts: list[Verdict] = []
    for unit_index, verdicts_on_unit in enumerate(zip(*verdicts_by_stage, strict=True)):
        records: list[dict[str, Any]] = []
        for stage_index, (name, stage) in enumerate(stages.items()):
            verdict = verdicts_on_unit[stage_index]
            pool_indexes = pool_indexes_by_stage[stage_index]
            records.append(
                {
                    "name": name,
                    "value": verdict.value,
                    "so_far": values_so_far_by_stage[stage_index][unit_index],
                    "contexts": _list_contexts_of_stage(verdict, pool_indexes, stage.ids),
                }
            )
        last_verdict = verdicts_on_unit[-1]
        details = FrozenDict({**last_verdict.details, "stages": records})
        last_verdicts.append(replace(last_verdict, details=details))
    return tuple(last_verdicts)


def _values_so_far(
    pooled: Sequence[Verdict], pool_indexes_by_stage: Sequence[Sequence[int]], pool_size: int
) -> list[list[bool | None]]:
    """Return for each stage the value of each unit in the contexts of this stage and all stages before it."""
    values_by_stage: list[list[bool | None]] = []
    indexes_so_far: list[int] = []
    for pool_indexes in pool_indexes_by_stage:
        indexes_so_far += pool_indexes
        verdicts = _restrict_to_stage(pooled, indexes_so_far, pool_size)
        values_by_stage.append([verdict.value for verdict in verdicts])
    return values_by_stage


def _any_yes_so_far(verdicts_by_stage: Sequence[Sequence[Verdict]]) -> list[list[bool | None]]:
    """Return the same as `_values_so_far`, from verdicts about each stage by itself: a yes of one stage stays for all later stages."""
    values_by_stage: list[list[bool | None]] = []
    for verdicts in verdicts_by_stage:
        values = [verdict.value for verdict in verdicts]
        if values_by_stage:
            pairs = zip(values_by_stage[-1], values, strict=True)
            values = [True if earlier_value is True else value for earlier_value, value in pairs]
        values_by_stage.append(values)
    return values_by_stage


def _list_contexts_of_stage(
    verdict: Verdict, pool_indexes: Sequence[int], ids: Sequence[str] | None
) -> list[list[Any]]:
    """List the contexts of a stage on which a verdict rests.

    Args:
        verdict: The verdict about the stage.
        pool_indexes: The index in the pool of each context of the stage.
        ids: The ids of the stage's contexts; None if they have none.

    Returns:
        For each context what ``contexts`` of `with_stage_history` names: rank from 1, index in the pool, whether it states the
        whole unit, and id.
    """
    indexes_with_whole = _find_contexts(verdict, whole=True)
    rows: list[list[Any]] = []
    for index in sorted(_find_contexts(verdict)):
        rank = index + 1
        states_whole = index in indexes_with_whole
        context_id = ids[index] if ids else None
        rows.append([rank, pool_indexes[index], states_whole, context_id])
    return rows


def _find_contexts(verdict: Verdict, *, whole: bool = False) -> set[int]:
    """Return the indexes of the contexts of the evidence; with `whole`, only of contexts that state the whole unit."""
    return {span.context for span in verdict.evidence if span.whole or not whole}


def last_stage_verdicts(stages: Mapping[str, Stage], pooled: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Return the verdicts about the contexts of the last stage, taken from the verdicts about the pool."""
    _, pool_indexes_by_stage = pool_contexts(stages.values())
    verdicts: list[Verdict] = []
    for rank, pool_index in enumerate(pool_indexes_by_stage[-1]):
        verdict = pooled[pool_index]
        evidence = tuple(replace(span, context=rank) for span in verdict.evidence)
        verdicts.append(replace(verdict, id=f"c{rank + 1}", evidence=evidence))
    return tuple(verdicts)


def _restrict_to_stage(
    pooled: Sequence[Verdict], pool_indexes: Sequence[int], pool_size: int
) -> list[Verdict]:
    """Restrict the verdicts about a pool to one stage; see `_restrict_verdict`."""
    return [_restrict_verdict(verdict, pool_indexes, pool_size) for verdict in pooled]


def _restrict_verdict(verdict: Verdict, pool_indexes: Sequence[int], pool_size: int) -> Verdict:
    """Restrict a verdict about a pool to one stage.

    A yes about the pool is a yes about the stage in one of these cases:

    - The stage has a context that states the whole unit.
    - No context of the pool states the whole unit, and the stage has all contexts that state a part of it.
    - The verdict has no evidence, and the stage has all contexts of the pool.

    Args:
        verdict: The verdict about the pool.
        pool_indexes: The indexes of the stage's contexts in the pool. A context that stands twice counts at its first rank.
        pool_size: The number of contexts in the pool.
    """
    rank_of: dict[int, int] = {}  # the rank of a context, by its index in the pool
    for rank, pool_index in enumerate(pool_indexes):
        rank_of.setdefault(pool_index, rank)
    spans_in_stage = [span for span in verdict.evidence if span.context in rank_of]
    spans = [replace(span, context=rank_of[span.context]) for span in spans_in_stage]
    spans.sort(key=lambda span: (span.context, span.start))
    details = {name: value for name, value in verdict.details.items() if name != "smallest_k"}
    in_stage = replace(verdict, evidence=tuple(spans), details=FrozenDict(details))
    if verdict.value is not True or any(span.whole for span in spans):
        return in_stage
    contexts_needed = _find_contexts(verdict)
    if not contexts_needed:  # a yes without evidence may rest on any context
        contexts_needed = {*range(pool_size)}
    another_has_whole = bool(_find_contexts(verdict, whole=True))
    if contexts_needed <= rank_of.keys() and not another_has_whole:
        return in_stage
    reason = "the contexts of this stage do not state it; those of another stage do"
    return replace(in_stage, value=False, code=None, reason=reason)
