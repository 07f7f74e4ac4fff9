"""``ctxmetrics spans``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ctxmetrics.cli._options import File, SchemaName
from ctxmetrics.cli._status import GATE_FAILED
from ctxmetrics.cli._terminal import message, print_result
from ctxmetrics.fields import SPAN_MARK, TEXTS_OF, write_span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ctxmetrics.locating import Places
    from ctxmetrics.samples import Sample

_SHOWN = 60
_SHOWN_PLACES = 3


def spans(
    file: File,
    sources: Annotated[
        Path, typer.Option("--sources", help="The folder of the texts that were cut into chunks.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="The samples with their ids: FILE.jsonl. Without it: stdout.")
    ] = None,
    schema: SchemaName = None,
    fail_missing: Annotated[
        bool,
        typer.Option("--fail-missing", help="Exit 1 if a context is not found, or stands in several places."),
    ] = False,
) -> None:
    """Find where contexts stand in their sources, and write that as their ids: SOURCE#char=START,END."""
    from ctxmetrics.evaluation.writer import check_outputs, json_line, write_whole
    from ctxmetrics.files import read_samples
    from ctxmetrics.locating import locate, read_sources

    check_outputs({"--out": out}, {"FILE": file})
    samples = list(read_samples(file, schema or "ragas"))
    texts = list(dict.fromkeys(text for sample in samples for _, _, text, _ in _contexts(sample)))
    names: list[str] = []

    def noted() -> Iterator[tuple[str, str]]:
        for name, text in read_sources(sources):
            names.append(name)
            yield name, text

    places = dict(zip(texts, locate(texts, noted()), strict=True))
    located = [_located(sample, number, places, names) for number, sample in enumerate(samples, 1)]
    lines = [json_line(sample.to_dict()) for sample, _, _ in located]
    problems = [problem for _, _, found in located for problem in found]
    if out is None:
        print_result("".join(lines).removesuffix("\n"))
    else:
        write_whole(out, lines)
    for problem in problems:
        message(problem)
    total = sum(count for _, count, _ in located)
    message(f"{total - len(problems)} of {total} contexts found in {len(names)} sources.")
    if problems and fail_missing:
        raise typer.Exit(GATE_FAILED)


def _contexts(sample: Sample) -> Iterator[tuple[str, int, str, str | None]]:
    """Yield the field, the index, the text and the id of each context whose id is no span yet."""
    for ids, field in TEXTS_OF.items():
        texts: Sequence[str] = getattr(sample, field) or ()
        known: Sequence[str | None] = getattr(sample, ids) or ()
        for index, text in enumerate(texts):
            given = known[index] if len(known) == len(texts) else None
            if SPAN_MARK not in (given or ""):
                yield ids, index, text, given


def _located(
    sample: Sample, number: int, places: Mapping[str, Places], names: Sequence[str]
) -> tuple[Sample, int, list[str]]:
    """Return the sample with the ids that were found, how many were looked for, and what was not found."""
    who = f"Sample {number}" if sample.id is None else f"Sample {sample.id!r}"
    found: dict[str, dict[int, str]] = {}
    problems, count = [], 0
    for ids, index, text, given in _contexts(sample):
        count += 1
        spans_ = places[text].within(_named(given, names))
        if len(spans_) == 1:
            found.setdefault(ids, {})[index] = write_span(*spans_[0])
            continue
        where = f"{who}: field '{TEXTS_OF[ids]}', item {index + 1}"
        shown = " ".join(text.split())
        shown = shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…"
        listed = ", ".join(write_span(*span) for span in spans_[:_SHOWN_PLACES])
        more = f" and {len(spans_) - _SHOWN_PLACES} more" if len(spans_) > _SHOWN_PLACES else ""
        problems.append(f'{where}: {f"stands in {listed}{more}" if spans_ else "not found"}: "{shown}"')
    complete: dict[str, Any] = dict(_ids(sample, found))
    return replace(sample, **complete), count, problems


def _ids(sample: Sample, found: Mapping[str, Mapping[int, str]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the lists of ids that are complete: what was found, and what was there already."""
    for ids, spans_ in found.items():
        texts: Sequence[str] = getattr(sample, TEXTS_OF[ids])
        known: Sequence[str] = getattr(sample, ids) or ()
        if len(known) == len(texts):
            yield ids, tuple(spans_.get(index, given) for index, given in enumerate(known))
        elif not known and len(spans_) == len(texts):
            yield ids, tuple(spans_[index] for index in range(len(texts)))


def _named(given: str | None, names: Sequence[str]) -> str | None:
    """Return the source that an id names: its path from the folder, or a longer path that ends in it."""
    if given is None:
        return None
    path = given.replace("\\", "/")
    matching = [name for name in names if path == name or path.endswith(f"/{name}")]
    return max(matching, key=len, default=None)
