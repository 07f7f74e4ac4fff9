"""Files of results with changed, lost and doubled parts: they are read or refused, and nothing else happens."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ctxmetrics import ContextPrecision, ContextRecall, Results, Sample, compare, evaluate
from ctxmetrics.errors import CtxMetricsError
from ctxmetrics.evaluation.runs.history import read_history

SAMPLES = [
    Sample(
        id=f"q{number}",
        user_input="Where is it?",
        response="There.",
        reference="Paris is the capital of France. The tower is 330 metres tall.",
        retrieved_contexts=["Berlin is a city.", "Paris is the capital of France."],
        metadata={"topic": "cities"},
    )
    for number in range(2)
]
METRICS = [ContextRecall(threshold=0.5), ContextPrecision()]
VALUES = (None, True, -1, 1.5, 10**30, "", "s1", [], [1], {}, {"a": 1}, "\ud83d", "sha256:")
CHARACTERS = '{}[]",:0\\e-n\u2028'


def list_places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each mapping or list of some data with each of its keys."""
    keys = [*data] if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    for key in keys:
        yield data, key
        yield from list_places(data[key])


def mutate_line(line: str, draw: random.Random) -> str:
    place = draw.randrange(len(line))
    kind = draw.choice(["cut", "character", "value", "key"])
    if kind == "cut":
        return line[:place]
    if kind == "character":
        return line[:place] + draw.choice(CHARACTERS) + line[place + 1 :]
    data = json.loads(line)
    parent, key = draw.choice([*list_places(data)])
    if kind == "value":
        parent[key] = draw.choice(VALUES)
    else:
        del parent[key]
    return json.dumps(data)


def mutate_lines(lines: list[str], draw: random.Random) -> list[str]:
    place = draw.randrange(len(lines))
    kind = draw.choice(["line", "line", "line", "lost", "doubled"])
    if kind == "lost":
        return [*lines[:place], *lines[place + 1 :]]
    if kind == "doubled":
        return [*lines[:place], draw.choice(lines), *lines[place:]]
    return [*lines[:place], mutate_line(lines[place], draw), *lines[place + 1 :]]


@pytest.mark.parametrize("form", ["results", "texts", "baseline"])
@pytest.mark.parametrize("files", [60, pytest.param(500, marks=pytest.mark.slow)])
def test_mutated_files_are_read_or_refused(tmp_path: Path, form: str, files: int) -> None:
    good = tmp_path / "good.jsonl"
    results = evaluate(SAMPLES, METRICS, progress=False)
    if form == "baseline":
        results.to_baseline(good)
    else:
        results.to_jsonl(good, keep_texts=form == "texts")
    lines = good.read_text(encoding="utf-8").splitlines()
    draw = random.Random(7)
    file = tmp_path / "mutated.jsonl"
    messages = []
    for _ in range(files):
        file.write_text("\n".join(mutate_lines(lines, draw)) + "\n", encoding="utf-8")
        for read in (
            Results.from_jsonl,
            lambda path: compare(good, path),
            lambda path: read_history([path]),
        ):
            try:
                read(file)
            except CtxMetricsError as error:
                messages.append(str(error))
    assert len(messages) > files
    assert max(map(len, messages)) < 700


@pytest.mark.parametrize("damaged_id", [0.5, 1, None, {}])
def test_comparison_reads_past_an_id_that_is_no_text(tmp_path, damaged_id):
    """What the retrieval index of the runs was is not said by a damaged line, and is no error of Python."""
    samples = [
        Sample(id=f"q{n}", retrieved_context_ids=[f"a{n}", "b"], reference_context_ids=["c", f"z{n}"])
        for n in range(4)
    ]
    results = evaluate(samples, ["id_based_context_recall"], progress=False)
    intact = tmp_path / "intact.jsonl"
    damaged = tmp_path / "damaged.jsonl"
    results.to_jsonl(intact)
    text = intact.read_text(encoding="utf-8")
    damaged.write_text(text.replace('"a2"', json.dumps(damaged_id), 1), encoding="utf-8")
    assert damaged.read_text(encoding="utf-8") != text
    # Refused or read: no other error.
    with suppress(CtxMetricsError):
        compare(intact, damaged)
