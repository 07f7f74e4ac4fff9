"""Checks of a score that was read: its scale, its verdicts, their spans and its value must agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from ctxmetrics._internal.display import replace_invisible
from ctxmetrics.errors import InputFileError
from ctxmetrics.formulas import average_precision, merge_repeats, share
from ctxmetrics.metrics.catalog import find_metric
from ctxmetrics.scores.conventions import get_convention
from ctxmetrics.scores.score import Provenance, Score, read_repeats
from ctxmetrics.verdicts import Evidence

# The letter of the ids of verdicts, by the kind of their subject.
_ID_LETTERS = {"sentence": "s", "claim": "s", "fact": "s", "context": "c"}
# The value of a score is computed again if its verdicts are of these kinds and it has one of these formulas.
_CHECKED_KINDS = ("sentence", "claim", "context", "retrieved id", "reference id")
_CHECKED_FORMULAS = ("share", "average_precision")
# A value may be above the top of its scale by this share of the scale.
ROUNDING_ERROR = 1e-9
# The maximum number of characters of an id in a message.
_MAX_ID_CHARACTERS = 80


def check_scale(convention: str, value: float | None, threshold: float | None) -> None:
    """Check that value and pass mark of a score are on the scale of its convention."""
    scale = get_convention(convention).scale
    for name, number in (("value", value), ("threshold", threshold)):
        if number is not None and not 0 <= number <= scale * (1 + ROUNDING_ERROR):
            raise InputFileError(f"{name}: {number:.12g} is no number from 0 to {scale:g}.")


def check_reason(metric: str, value: float | None, reason_code: str | None) -> None:
    """Check that a score has either a value or the reason why it has none. A metric of the caller's own may do without."""
    has_both_or_none = (value is None) is (reason_code is None)
    if has_both_or_none and find_metric(metric) is not None:
        problem = "there is none, and no value" if value is None else "it stands beside a value"
        raise InputFileError(f"reason_code: {problem}.")


def check_verdicts(score: Score, record: Mapping[str, Any]) -> None:
    """Check that the verdicts are in order, have the stages of the sample, and that each span is in its context.

    Args:
        score: The score.
        record: The record of the sample in the line.
    """
    _check_stages(score, record)
    counted_noun, _ = score.counted  # such as "sentence"
    letter = _ID_LETTERS.get(counted_noun)
    for index, verdict in enumerate(score.verdicts):
        expected_id = f"{letter}{index + 1}"
        if letter and verdict.id != expected_id:
            shown_id = replace_invisible(verdict.id)[:_MAX_ID_CHARACTERS]
            raise InputFileError(f"verdicts.{index}.id: {shown_id!r} is not {expected_id}.")
        for span in verdict.evidence:
            span_text = f"the span {span.start} to {span.end} of context {span.context}"
            location = f"verdicts.{index}.evidence: {span_text}"
            _check_span(span, location, score.context_lengths, record)


def _check_stages(score: Score, record: Mapping[str, Any]) -> None:
    """Check that all verdicts name the stages of the sample."""
    orders = set()
    names: set[str] = set()
    for verdict in score.verdicts:
        if "stages" in verdict.details:
            order = tuple(stage["name"] for stage in verdict.details["stages"])
            orders.add(order)
            names.update(order)
    stages_of_sample = set(record.get("stage_sizes") or ())
    if len(orders) > 1 or not names <= stages_of_sample:
        raise InputFileError("verdicts.details.stages: the stages are not those of the sample.")


def _check_span(
    span: Evidence, location: str, lengths: Sequence[int] | None, record: Mapping[str, Any]
) -> None:
    """Check that a span is as long as its quote, is inside its context, and has the text of its quote.

    Args:
        span: The span.
        location: The field and the span, for the message.
        lengths: The lengths of the contexts; empty or None if they are not known.
        record: The record of the sample in the line.
    """
    if span.end - span.start != len(span.quote):
        raise InputFileError(f"{location} is not as long as its quote.")
    hashes = record.get("context_hashes")
    if not lengths:  # the hashes say how many contexts there are, not how long they are
        lengths = None if hashes is None else [span.end] * len(hashes)
    if lengths is not None:
        is_inside = span.context < len(lengths) and span.end <= lengths[span.context]
        if not is_inside:
            raise InputFileError(f"{location} is not inside the {len(lengths)} contexts.")
    texts = record.get("retrieved_contexts")
    if texts is None:
        return
    if span.context >= len(texts) or texts[span.context][span.start : span.end] != span.quote:
        raise InputFileError(f"{location} is not its quote.")


def check_value(
    metric: str,
    value: float | None,
    verdict_values: Sequence[bool | None],
    provenance: Provenance,
    metadata: Mapping[str, Any],
    *,
    is_baseline: bool,
) -> None:
    """Check that the value of a score is the result of the formula for its verdicts.

    It is not checked if the row lacks a part of the computation: the weights of facts, or which contexts are of one source. A baseline
    does not say either which contexts are counted once.

    Args:
        metric: The name of the metric.
        value: The value; None if there is none.
        verdict_values: The values of the verdicts.
        provenance: The provenance of the score.
        metadata: The metadata of the score.
        is_baseline: Whether the row is one of a baseline.
    """
    if value is None or not verdict_values or "sources" in metadata:
        return
    counted_noun, _ = find_counted_words(metric, provenance.convention)
    if is_baseline and counted_noun == "context":
        return
    repeats: tuple[tuple[int, int], ...] = ()
    if "repeats" in metadata:
        repeats = tuple(read_repeats(metadata["repeats"], len(verdict_values)).items())
    convention = provenance.convention
    hits = tuple(verdict_values)
    expected = _compute_value(metric, convention, provenance.formula, hits, repeats)
    if expected is None:
        return
    if None in hits:
        raise InputFileError("value: a verdict is missing, so there is no value.")
    if abs(value - expected) > get_convention(convention).scale * ROUNDING_ERROR:
        raise InputFileError(f"value: {value!r} is not what the verdicts give, {expected:.6g}.")


@lru_cache(maxsize=512)
def _compute_value(
    metric: str,
    convention_name: str,
    formula: str,
    verdict_values: tuple[bool | None, ...],
    repeats: tuple[tuple[int, int], ...],
) -> float | None:
    """Compute a value from the verdicts. Many lines have the same ones.

    Args:
        metric: The name of the metric.
        convention_name: The name of its convention.
        formula: The name of its formula.
        verdict_values: The values of the verdicts. One that is missing counts as nothing.
        repeats: The repeated contexts, each with the first context of the same text.

    Returns:
        The value; None if other data than the verdicts decide it.
    """
    counted_noun, _ = find_counted_words(metric, convention_name)  # such as "sentence"
    if counted_noun not in _CHECKED_KINDS or formula not in _CHECKED_FORMULAS:
        return None
    hits = [hit for hit in verdict_values if hit is not None]
    if counted_noun == "context" and len(hits) == len(verdict_values):
        hits = merge_repeats(hits, dict(repeats))
    convention = get_convention(convention_name)
    is_strict = _is_strict(metric)
    if formula == "share":
        unscaled_value = share(hits)
    else:
        unscaled_value = average_precision(hits, epsilon=0.0 if is_strict else convention.epsilon)
    expected = convention.scale * (unscaled_value or 0.0)
    if expected < convention.scale and is_strict:
        return 0.0
    return expected


@lru_cache(maxsize=64)
def find_counted_words(metric_name: str, convention: str) -> tuple[str, str]:
    """Return the nouns for the units that a metric counts, and for its hits."""
    metric = find_metric(metric_name, convention)
    return ("verdict", "yes") if metric is None else metric.counted_words


@lru_cache(maxsize=256)
def _is_strict(name: str) -> bool:
    metric = find_metric(name)
    return metric is not None and metric.strict
