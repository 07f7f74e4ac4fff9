"""The labelled samples that come with the library."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from ctxmetrics.attribution import Cell
from ctxmetrics.samples import Sample

INJECTION = "injection"
# Kinds whose unsupported sentences differ from the contexts in one respect.
TRAPS = ("number", "name", "negation", "role")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledSample:
    """A sample and what is right about it.

    Attributes:
        sample: The sample.
        kind: What it tests.
        supported: For each sentence of the reference, whether it is supported.
        cells: For each sentence and context, what the context states of the sentence.
        useful: For each context, whether it is useful; None where people could disagree.
        attacked: The ids whose verdicts an injected text tries to turn.
    """

    sample: Sample
    kind: str
    supported: tuple[bool, ...]
    cells: tuple[tuple[Cell, ...], ...]
    useful: tuple[bool | None, ...]
    attacked: frozenset[str]

    @property
    def truth(self) -> dict[str, bool | None]:
        """What is right, by the ids of sentences and contexts."""
        units = {f"s{number}": value for number, value in enumerate(self.supported, 1)}
        return {**units, **{f"c{number}": value for number, value in enumerate(self.useful, 1)}}


@cache
def labelled_samples() -> tuple[LabelledSample, ...]:
    """Read the samples, in the order of the file."""
    text = files("ctxmetrics.agreement.checking").joinpath("samples.json").read_text(encoding="utf-8")
    return tuple(map(_read, json.loads(text)["samples"]))


def _read(data: Mapping[str, Any]) -> LabelledSample:
    names = ("id", "user_input", "reference", "retrieved_contexts")
    return LabelledSample(
        sample=Sample(**{name: data[name] for name in names}),
        kind=data["kind"],
        supported=tuple(unit["supported"] for unit in data["units"]),
        cells=tuple(_cells(unit, len(data["retrieved_contexts"])) for unit in data["units"]),
        useful=tuple(data["useful"]),
        attacked=frozenset(data.get("attacked", ())),
    )


def _cells(unit: Mapping[str, Any], contexts: int) -> tuple[Cell, ...]:
    whole = {item["context"]: item["whole"] for item in unit["evidence"]}
    return tuple(
        "none" if context not in whole else "whole" if whole[context] else "part"
        for context in range(contexts)
    )
