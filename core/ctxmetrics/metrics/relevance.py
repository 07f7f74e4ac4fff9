"""Rate contexts by the verdicts about units: a context is relevant if a unit rests on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.scores.attribution import Attribution
from ctxmetrics.text.repeats import find_repeats
from ctxmetrics.verdicts import DOUBTFUL, Evidence, Verdict


def rate_by_units(
    units: Sequence[Verdict], request: JudgeRequest, *, only_new: bool
) -> tuple[Verdict, ...]:
    """Rate a context as relevant if a unit rests on it.

    If no unit rests on a context and a unit has no verdict, the context has none either.

    Args:
        units: The verdicts about the units.
        request: The request.
        only_new: Whether a context must also state a unit that no context above it states.
    """
    repeats = find_repeats(request.contexts)
    context_lengths = tuple(map(len, request.contexts))
    attribution = Attribution(tuple(units), context_lengths, repeats)
    contexts_by_unit = attribution.rests_on()
    redundant = attribution.find_repeating() if only_new else ()
    unjudged_unit = next((unit for unit in units if unit.value is None), None)
    verdicts = []
    for index, (id_, text) in enumerate(zip(request.context_ids, request.contexts, strict=True)):
        supported_units: list[Verdict] = []
        for unit, unit_contexts in zip(units, contexts_by_unit, strict=True):
            if index in unit_contexts:
                supported_units.append(unit)
        unit_ids = ", ".join(unit.id for unit in supported_units)
        verdict = Verdict(id=id_, value=False, text=text, reason="supports no unit of the reference")
        if index in redundant:
            verdict = replace(verdict, reason=f"adds nothing: a context above states {unit_ids}")
            supported_units = []
        if supported_units:
            are_all_doubtful = all(unit.code in DOUBTFUL for unit in supported_units)
            verdict = replace(
                verdict,
                value=True,
                reason=f"supports {unit_ids}",
                code=supported_units[0].code if are_all_doubtful else None,
                evidence=_list_evidence(index, supported_units),
            )
        elif unjudged_unit is not None:
            verdict = replace(verdict, value=None, code=unjudged_unit.code, reason=unjudged_unit.reason)
        verdicts.append(verdict)
    return tuple(verdicts)


def _list_evidence(index: int, units: Sequence[Verdict]) -> tuple[Evidence, ...]:
    """Return the evidence of units that stands in one context."""
    evidence: list[Evidence] = []
    for unit in units:
        evidence += [span for span in unit.evidence if span.context == index]
    return tuple(evidence)
