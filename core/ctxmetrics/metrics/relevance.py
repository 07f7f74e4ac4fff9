"""Whether contexts are relevant by the verdicts about units: a context is where some unit rests on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ctxmetrics.attribution import Attribution
from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.verdicts import DOUBTFUL, Evidence, Verdict


def rate_by_units(
    units: Sequence[Verdict], request: JudgeRequest, *, adding: bool
) -> tuple[Verdict, ...]:
    """Return for each context whether some unit rests on it; unknown while a unit is not judged.

    Args:
        units: The verdicts about the units.
        request: The request.
        adding: Whether a context counts only where it adds something to those above.
    """
    attribution = Attribution(tuple(units), tuple(map(len, request.contexts)))
    rests_on = attribution.rests_on()
    repeating = attribution.find_repeating() if adding else ()
    missing = next((unit for unit in units if unit.value is None), None)
    verdicts = []
    for index, (id_, text) in enumerate(zip(request.context_ids, request.contexts, strict=True)):
        resting = [unit for unit, contexts in zip(units, rests_on, strict=True) if index in contexts]
        verdict = Verdict(id=id_, value=False, text=text, reason="supports no unit of the reference")
        if index in repeating:
            stated = ", ".join(unit.id for unit in resting)
            verdict = replace(verdict, reason=f"adds nothing: a context above states {stated}")
            resting = []
        if resting:
            reason = f"supports {', '.join(unit.id for unit in resting)}"
            doubtful = all(unit.code in DOUBTFUL for unit in resting)
            code = resting[0].code if doubtful else None
            evidence = _evidence_in(index, resting)
            verdict = replace(verdict, value=True, reason=reason, code=code, evidence=evidence)
        elif missing is not None:
            verdict = replace(verdict, value=None, code=missing.code, reason=missing.reason)
        verdicts.append(verdict)
    return tuple(verdicts)


def _evidence_in(index: int, units: Sequence[Verdict]) -> tuple[Evidence, ...]:
    """Return the evidence of units that stands in one context."""
    evidence: list[Evidence] = []
    for unit in units:
        evidence += [span for span in unit.evidence if span.context == index]
    return tuple(evidence)
