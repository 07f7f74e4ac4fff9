"""The sentences about the metrics of a comparison, and about a unit that was lost or won."""

from __future__ import annotations

from collections.abc import Iterator

from ctxmetrics.evaluation.comparison.changed_units import ChangedUnit, SupportingContext
from ctxmetrics.evaluation.comparison.difference_table import (
    MAX_TEXT_CHARACTERS,
    format_number,
    get_number_format,
)
from ctxmetrics.evaluation.comparison.differences import (
    Causes,
    CorrectedDifference,
    Difference,
    find_direction,
)
from ctxmetrics.evaluation.pages.tables import format_interval
from ctxmetrics.evaluation.statistics.paired import MIN_CHANGED_SAMPLES
from ctxmetrics.scores.wording import clean, format_p, plural

# By `SupportingContext.unknown`: why it is not known whether a run retrieved a context of the other run.
_UNKNOWN_REASONS = {
    "hashes": "may have been retrieved {there}: a run kept no hashes",
    "text": "has the id of another text that was retrieved {there}",
    "index": "may stand in another text that was retrieved {there}: the two runs have different ids",
}


def describe_metric(item: Difference) -> str:
    """Describe the figures of a metric in one sentence."""
    return f"{'; '.join(build_clauses(item))}."


def describe_metric_in_lines(item: Difference) -> str:
    """Return the sentence about a metric with each clause on a separate line."""
    return "\n    ".join(build_clauses(item))


def build_clauses(item: Difference) -> list[str]:
    """Build the clauses of the sentence about a metric."""
    verdict = f"{item.name}: {item.verdict or 'secondary, no verdict'}"
    if item.verdict in {"better", "worse"}:
        verdict += f" by {format_number(abs(item.basis.difference), item)}"
    clauses = [verdict]
    if item.has_few_changes:
        clauses.append(
            f"{plural(item.basis.changed, 'sample')} changed; a run is called better or worse from {MIN_CHANGED_SAMPLES} on"
        )
    if item.verdict == "no difference shown" and item.detectable:
        clauses.append(f"{describe_power(format_number(item.detectable, item))} such comparisons")
    if item.passed is not None:
        before, after = item.passed
        clauses.append(f"pass mark reached by {before} of {item.samples}, then by {after}")
    if item.unpaired:
        clauses.append(f"{plural(item.unpaired, 'sample', 'has', 'have')} no value in one of the runs")
    if item.causes is not None:
        clauses += _describe_causes(item.causes)
    if item.corrected is not None:
        describe = _describe_audited if item.corrected.by_audit else _describe_corrected
        clauses += describe(item, item.corrected)
    return clauses


def _describe_causes(causes: Causes) -> Iterator[str]:
    """Yield how many changes have other contexts, and how often the judge changed and nothing else did."""
    changed = causes.other_contexts + causes.same_contexts
    if changed:
        cause = ": the judge" if causes.same_contexts else ""
        yield (
            f"{causes.other_contexts} of {plural(changed, 'change')} with other contexts, "
            f"{causes.same_contexts} with the same{cause}"
        )
    if causes.different:
        yield (
            f"the judge's instability: {causes.different} of {plural(causes.verdicts, 'verdict')} on equal requests "
            f"{'differs' if causes.different == 1 else 'differ'} ({causes.instability:.3f})"
        )


def describe_power(difference: str) -> str:
    """Describe the power of a test for a difference. The sentence goes on with the kind of comparisons."""
    return f"a true difference of {difference} is found in 4 of 5"


def _describe_corrected(item: Difference, corrected: CorrectedDifference) -> Iterator[str]:
    """Yield the difference corrected by people's labels, who decides, and what the judge's own difference says."""
    yield f"corrected by {describe_labels(item, corrected)}"
    judge = (
        f"the judge alone shows {format_number(item.difference, item, sign='+')} (p {format_p(item.p)})"
    )
    judge_direction = find_direction(item)
    if item.basis is item:
        text = "the judge decides"
        if judge_direction * corrected.difference > 0:
            text += ": the labels do not speak against its direction"
        elif judge_direction:
            text += (
                f": {count_labels(corrected)} show another difference, but are too few to overrule it"
            )
        elif corrected.contradict(item.difference):
            text += f": {judge}, the labels another difference, which they do not tell from 0"
        yield text
    elif judge_direction == find_direction(corrected):
        yield "the labels decide"
    elif judge_direction:
        yield f"the labels decide: {judge}, and they speak against it"
    else:
        yield f"the labels decide: {judge}"


def _describe_audited(item: Difference, corrected: CorrectedDifference) -> Iterator[str]:
    """Yield the difference that an audit of the gold corrects, and whether the decision survives it."""
    yield f"corrected by {describe_labels(item, corrected)}"
    gold = (
        f"the gold alone shows {format_number(item.difference, item, sign='+')} (p {format_p(item.p)})"
    )
    if item.survives:
        yield "the decision survives the audit"
    elif item.survives is False:
        yield f"the decision does not survive the audit: {gold}"
    elif item.basis is corrected:
        yield f"the audit decides: {gold}"


def count_labels(corrected: CorrectedDifference) -> str:
    """Return how many independent labels there are, in words."""
    return plural(int(corrected.size), "label")


def describe_labels(item: Difference, corrected: CorrectedDifference) -> str:
    """Describe how many labels there are, and the corrected difference with its interval."""
    mean = format_number(corrected.difference, item, sign="+")
    interval = "none changed"
    if corrected.interval is not None:
        interval = format_interval(corrected.interval, get_number_format(item, "+"))
    if corrected.by_audit:
        return f"{plural(corrected.labelled, 'audited sample')}: {mean} ({interval})"
    labelled = plural(corrected.labelled, "sample")
    return f"{labelled} with labels in both runs: {mean} ({interval})"


def list_unit_lines(unit: ChangedUnit) -> Iterator[str]:
    """Yield the question of a unit, and the contexts that supported it."""
    if unit.user_input:
        yield f"question: {clean(unit.user_input, MAX_TEXT_CHARACTERS)}"
    for supporting_context in unit.contexts:
        quote = (
            f': "{clean(supporting_context.quote, MAX_TEXT_CHARACTERS)}"'
            if supporting_context.quote
            else ""
        )
        yield f"context {supporting_context.rank} {describe_other_run(supporting_context)}{quote}"


def describe_other_run(context: SupportingContext, there: str = "by the other run") -> str:
    """Say whether the other run retrieved a context, in words that follow its rank."""
    if context.retrieved_by_both:
        return f"was retrieved {there}, too"
    if context.retrieved_by_both is False:
        return f"was not retrieved {there}"
    return _UNKNOWN_REASONS[context.unknown or "hashes"].format(there=there)
