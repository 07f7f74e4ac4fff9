"""Reading what a function returns for a batch of pairs: one probability a pair, in order.

The shapes are those of ``CrossEncoder.predict``, of a ``transformers`` pipeline and of an ONNX session: lists, NumPy
arrays or tensors of numbers, of rows of numbers, or of labels with scores.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Literal, TypeAlias

Activation: TypeAlias = Literal["none", "sigmoid", "softmax"]
Score: TypeAlias = "float | str"
"""A probability, or what is wrong with what was returned for the pair."""

_ROUNDING = 1e-6
_LOGITS = "For logits write activation='sigmoid' (one number a pair) or activation='softmax' (a row of numbers a pair)."


class PredictionError(ValueError):
    """What was returned cannot be matched with the pairs."""


def read_scores(
    returned: object,
    count: int,
    *,
    entailment: int | str | None = None,
    activation: Activation = "none",
) -> list[Score]:
    """Return one probability a pair, in order; for a pair without one, what is wrong.

    Args:
        returned: What the function returned.
        count: How many pairs it was given.
        entailment: Which number of a row, from 0, or which label is the one that counts.
        activation: What turns the function's numbers into probabilities.

    Raises:
        PredictionError: It is no list, or has not one entry a pair.
    """
    items = _items(_plain(returned))
    if items is None:
        raise PredictionError(
            f"predict returned {type(returned).__name__}: it must return one score for each pair, in order."
        )
    if len(items) != count:
        raise PredictionError(
            f"predict returned {len(items)} scores for {count} pairs: it must return one for each, in order."
        )
    return [_probability(item, entailment, activation) for item in items]


def _plain(value: object) -> object:
    """Return an array or a tensor as a list, or as a number."""
    to_list = getattr(value, "tolist", None)  # NumPy, PyTorch
    return to_list() if callable(to_list) else value


def _items(value: object) -> list[object] | None:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        return None
    return list(value)


def _probability(item: object, entailment: int | str | None, activation: Activation) -> Score:
    item = _plain(item)
    if isinstance(item, Mapping):
        return _labelled([item], entailment)
    row = _items(item)
    if row is None:
        return _checked(item, activation)
    if row and all(isinstance(entry, Mapping) for entry in row):
        return _labelled(row, entailment)
    if len(row) == 1:
        return _checked(row[0], activation)
    if not isinstance(entailment, int) or not 0 <= entailment < len(row):
        return (
            f"predict returned a row of {len(row)} numbers for a pair: write entailment=NUMBER, which of them stands "
            "for entailment, counted from 0."
        )
    return _checked(row[entailment], activation, row)


def _labelled(row: Sequence[object], entailment: int | str | None) -> Score:
    wanted = entailment if isinstance(entailment, str) else "entailment"
    given = {str(entry.get("label")): entry.get("score") for entry in row if isinstance(entry, Mapping)}
    for label, score in given.items():
        if label.casefold() == wanted.casefold():
            return _checked(score, "none")
    if len(given) == 1:
        return (
            f"predict returned the label {reprlib.repr(min(given))} alone: let it return all labels (pipeline: top_k=None), and "
            f"write entailment=LABEL if the right one is not {wanted!r}."
        )
    return f"predict returned the labels {reprlib.repr(sorted(given))}: write entailment=LABEL, which of them stands for entailment."


def _checked(value: object, activation: Activation, row: Sequence[object] = ()) -> Score:
    """Return a number as a probability; the softmax of one is taken over its row."""
    if not isinstance(value, Real) or not math.isfinite(value):
        return f"predict returned {reprlib.repr(value)} for a pair: it must be a number from 0 to 1."
    number = float(value)
    if activation == "sigmoid":
        return 1 / (1 + math.exp(-number)) if number >= 0 else math.exp(number) / (1 + math.exp(number))
    if activation == "softmax":
        return _softmax(number, row)
    if not -_ROUNDING <= number <= 1 + _ROUNDING:
        return f"predict returned {number:g} for a pair: it must be a number from 0 to 1. {_LOGITS}"
    return min(max(number, 0.0), 1.0)


def _softmax(number: float, row: Sequence[object]) -> Score:
    if not row:
        return "predict returned one number for a pair, and a softmax needs a row of them: write activation='sigmoid'."
    numbers = [float(item) for item in row if isinstance(item, Real)]
    if len(numbers) != len(row) or not all(map(math.isfinite, numbers)):
        return f"predict returned {reprlib.repr(list(row))} for a pair: all must be finite numbers."
    largest = max(numbers)
    return math.exp(number - largest) / math.fsum(math.exp(other - largest) for other in numbers)
