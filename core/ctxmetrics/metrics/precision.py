"""The base class of precisions over texts. It counts repeated contexts, and contexts of one source, once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ctxmetrics._internal.frozen import EMPTY
from ctxmetrics.formulas import merge_repeats
from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.metrics.base import Formula, Metric, has_id_for_each_context, in_metric_name
from ctxmetrics.samples.sample import Sample
from ctxmetrics.samples.schema import join_first
from ctxmetrics.scores.attribution import Attribution
from ctxmetrics.scores.conventions import Grouping
from ctxmetrics.text.repeats import find_repeats
from ctxmetrics.verdicts import DOUBTFUL, Evidence, Verdict


@dataclass(frozen=True, kw_only=True)
class TextPrecision(Metric):
    """A precision over texts, with a choice of the formula. Contexts of one source may count as one.

    Attributes:
        group: ``"source"``: contexts of one source count as one context at the rank of the first, which is relevant if one of
            them is. The source of a context is its id; for a span (``SOURCE#char=START,END``), the part before ``#``.
            ``"context"``: each context counts. None takes the convention's choice, if each context has an id.
    """

    formula_name = "average_precision"

    formula: Formula = field(default="average_precision", metadata=in_metric_name(choices=Formula))
    group: Grouping | None = field(default=None, metadata=in_metric_name(choices=Grouping))

    @property
    def merges_repeats(self) -> bool:
        """Whether a context that repeats the text of one above has no rank of its own."""
        return self.convention_data.repeats == "once"

    def merge(self, hits: Sequence[bool], repeats: Mapping[int, int]) -> Sequence[bool]:
        """Count each repeated context once, at its first rank, unless the convention counts all repetitions."""
        if not repeats or not self.merges_repeats:
            return hits
        return merge_repeats(hits, repeats)

    def describe_repeats(
        self, sample: Sample, repeats: Mapping[int, int], hits: Sequence[bool]
    ) -> tuple[Mapping[str, Any], Sequence[str]]:
        """Return as metadata which contexts were merged into which, and the notes about repeats.

        Args:
            sample: The sample.
            repeats: For the index of each repetition, the index of the first context with the same text.
            hits: For each retrieved context, whether it is relevant.
        """
        # Contexts of one source count as one, whatever their texts.
        counts_sources = self.grouped and has_id_for_each_context(sample)
        if not repeats or counts_sources:
            return EMPTY, ()
        first_names = name_repeats(repeats)
        equations = [f"{name} = {first_name}" for name, first_name in first_names.items()]
        first_equations = join_first(equations, most=5)
        note = f"{len(repeats)} of {len(hits)} retrieved contexts repeat one above ({first_equations})"
        if not self.merges_repeats:
            return EMPTY, (f"{note}; {self.repeats_rule}",)
        note += ": a repeated context counts once, at its first rank"
        if any(hits[index] != hits[first_index] for index, first_index in repeats.items()):
            note += "; verdicts about equal texts differ, and one yes is enough"
        return {"repeats": first_names}, (note,)

    @property
    def repeats_rule(self) -> str:
        """The words that say how a repeated context counts if it is not merged."""
        return f"under the convention '{self.convention}' each counts"


def name_repeats(repeats: Mapping[int, int]) -> dict[str, str]:
    """Write repeats with the names of the contexts: ``{2: 0}`` as ``{"c3": "c1"}``."""
    return {f"c{index + 1}": f"c{first_index + 1}" for index, first_index in repeats.items()}


def rate_by_units(
    units: Sequence[Verdict], request: JudgeRequest, *, only_new: bool
) -> tuple[Verdict, ...]:
    """Rate each context as relevant if a unit rests on it.

    A context on which no unit rests gets no verdict if some unit has no verdict: that unit may rest on it.

    Args:
        units: The verdicts about the units.
        request: The request.
        only_new: Whether a context must also state a unit that no context above it states.
    """
    repeats = find_repeats(request.contexts)
    context_lengths = tuple(map(len, request.contexts))
    attribution = Attribution(tuple(units), context_lengths, repeats)
    contexts_by_unit = attribution.rests_on()
    redundant_indexes = attribution.find_repeating() if only_new else ()
    unjudged_unit = next((unit for unit in units if unit.value is None), None)
    verdicts = []
    for index, (id_, text) in enumerate(zip(request.context_ids, request.contexts, strict=True)):
        supported_units: list[Verdict] = []
        for unit, unit_contexts in zip(units, contexts_by_unit, strict=True):
            if index in unit_contexts:
                supported_units.append(unit)
        unit_ids = ", ".join(unit.id for unit in supported_units)
        verdict = Verdict(id=id_, value=False, text=text, reason="supports no unit of the reference")
        if index in redundant_indexes:
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
