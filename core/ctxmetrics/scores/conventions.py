"""The conventions of published systems: how each computes its number from verdicts. ``conventions.json`` is the table.

A convention chooses the unit, the scale, the pass mark, the bands and the value of an empty side. It never chooses how
anything is judged. ``ours`` names the fields that the source does not define, so that we chose their values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.frozen import FrozenDict, Plain
from ctxmetrics.formulas.checks import check_choice
from ctxmetrics.verdicts import Verdict

Unit: TypeAlias = Literal["sentence", "claim", "fact"]
Weighting: TypeAlias = Literal["vital", "importance"]
Grouping: TypeAlias = Literal["context", "source"]
Repeats = Literal["once", "each"]
Family = Literal[
    "recall", "precision", "string_recall", "string_precision", "id_recall", "id_precision"
]
# Builds what a system attaches to a recall score, from the value and the verdicts: its own result object, and metadata.
Signals = Callable[[float | None, Sequence[Verdict]], tuple[Any, Mapping[str, Any]]]
# The value of a sample whose retrieved or expected side is empty: a number from 0 to 1, ``"undefined"`` (the value is None), or
# ``"judge"`` (the judge is asked although the side is empty).
EmptySideValue = float | Literal["undefined", "judge"]


@dataclass(frozen=True, slots=True)
class Band:
    """A wording for values from ``edge`` (inclusive) up to the next band."""

    edge: float
    text: str


@dataclass(frozen=True, slots=True)
class EmptySides:
    """The values of samples with an empty side; ``both``: nothing was retrieved, and there is no reference."""

    nothing_retrieved: EmptySideValue
    no_reference: EmptySideValue
    both: EmptySideValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Convention:
    """How one system computes a number from verdicts.

    Attributes:
        name: The name that ``convention=`` takes.
        source: The publication or library that the rules come from.
        unit: The unit that recall counts, unless the metric says otherwise.
        weighting: How facts weigh, unless the metric says otherwise.
        scale: The value of a perfect score.
        threshold: The pass mark on that scale, or None.
        epsilon: Added to the denominator of average precision.
        group: Whether contexts of one source count as one in a precision of texts.
        repeats: How contexts with equal texts count in a precision of texts: ``"once"``, at the first rank, or ``"each"``.
        strict_string_recall: Whether string recall needs *more* than ``min_similarity``.
        bands: Words for the values of a recall, such as "good"; the band with the highest edge comes first. A precision has no
            bands.
        empty: The value of empty sides by metric family.
        signals: A function that returns what the convention attaches to a recall score.
        percent: Whether a value is shown with its percentage.
        language: ISO 639 code of the language in which it is shown.
        ours: The fields that the source does not define, so that we chose their values.
    """

    name: str
    source: str
    empty: Mapping[str, EmptySides]
    unit: Unit = "sentence"
    weighting: Weighting | None = None
    scale: float = 1.0
    threshold: float | None = None
    epsilon: float = 0.0
    group: Grouping = "context"
    repeats: Repeats = "once"
    strict_string_recall: bool = False
    bands: tuple[Band, ...] = ()
    signals: Signals | None = None
    percent: bool = False
    language: str = "en"
    ours: tuple[str, ...] = ()


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


# Earlier pickles of metrics name these two functions.
def axion(value: float | None, verdicts: Sequence[Verdict]) -> tuple[Any, Mapping[str, Any]]:
    """Return the signals of Axion, and no metadata."""
    statements = [Statement(verdict.text, verdict.value) for verdict in verdicts]
    supported_statements = [statement for statement in statements if statement.is_supported]
    signals = ContextualRecallSignals(
        recall_score=value,
        total_gt_statements=len(statements),
        supported_gt_statements=len(supported_statements),
        statement_breakdown=tuple(statements),
    )
    return signals, {}


def aegis(
    value: float | None,  # noqa: ARG001 - one signature for all
    verdicts: Sequence[Verdict],
) -> tuple[Any, Mapping[str, Any]]:
    """Return no signals; as metadata, the reasons of Aegis, in the order of the reference."""
    reasons = tuple(
        f"{verdict.text} - {verdict.reason or 'not supported by the context'}"
        for verdict in verdicts
        if verdict.value is False
    )
    return None, {"unattributed_sentences_reasons": list(reasons)}


# The function by the name that ``conventions.json`` has for it.
_SIGNALS: Mapping[str | None, Signals | None] = {
    None: None,
    "axion": axion,
    "aegis": aegis,
}


def _read_convention(name: str, data: Mapping[str, Any]) -> Convention:
    """Read a convention of ``conventions.json``."""
    usual_values = EmptySides(nothing_retrieved=0.0, no_reference="undefined", both="undefined")
    values_by_family = dict.fromkeys(get_args(Family), usual_values)
    for family, values in data.get("empty", {}).items():
        values_by_family[family] = EmptySides(*values)
    fields: dict[str, Any] = {
        **data,
        "empty": FrozenDict(values_by_family),
        "bands": tuple(Band(*band) for band in data.get("bands", ())),
        "ours": tuple(data.get("ours", ())),
        "signals": _SIGNALS[data.get("signals")],
    }
    return Convention(name=name, **fields)


# Every convention by name.
CONVENTIONS: Mapping[str, Convention] = FrozenDict(
    {
        name: _read_convention(name, data)
        for name, data in read_data("scores", "conventions.json")["conventions"].items()
    }
)


def get_convention(name: str) -> Convention:
    """Return a convention by name.

    Raises:
        ParameterError: No such convention.
    """
    check_choice("convention", name, CONVENTIONS)
    return CONVENTIONS[name]
