"""The result objects that published systems attach to a recall score, filled from our verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxmetrics._frozen import Plain
from ctxmetrics.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Statement(Plain):
    """One line of Axion's ``statement_breakdown``; ``is_supported`` is None when not judged."""

    statement_text: str
    is_supported: bool | None


@dataclass(frozen=True, slots=True)
class ContextualRecallSignals(Plain):
    """Axion's ``ContextualRecallResult``, under the names of its page; `to_dict` returns its JSON."""

    recall_score: float | None
    total_gt_statements: int
    supported_gt_statements: int
    statement_breakdown: tuple[Statement, ...]


def axion(value: float | None, verdicts: Sequence[Verdict]) -> tuple[Any, Mapping[str, Any]]:
    """Return Axion's signals; no metadata."""
    return ContextualRecallSignals(
        recall_score=value,
        total_gt_statements=len(verdicts),
        supported_gt_statements=sum(verdict.value is True for verdict in verdicts),
        statement_breakdown=tuple(Statement(verdict.text, verdict.value) for verdict in verdicts),
    ), {}


def aegis(value: float | None, verdicts: Sequence[Verdict]) -> tuple[Any, Mapping[str, Any]]:  # noqa: ARG001 - one signature for all
    """Return no signals; Aegis' list of reasons, in reference order, as metadata."""
    reasons = tuple(
        f"{verdict.text} - {verdict.reason or 'not supported by the context'}"
        for verdict in verdicts
        if verdict.value is False
    )
    return None, {"unattributed_sentences_reasons": list(reasons)}


# Builders by the name a convention gives.
SIGNALS: Mapping[str, Callable[[float | None, Sequence[Verdict]], tuple[Any, Mapping[str, Any]]]] = {
    "axion": axion,
    "aegis": aegis,
}
