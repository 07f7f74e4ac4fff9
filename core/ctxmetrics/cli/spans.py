"""``ctxmetrics spans``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ctxmetrics.agreement.span_labels import from_answers, from_chunks, marked, spans_of_chunks
from ctxmetrics.cli._options import Columns, File, SchemaName
from ctxmetrics.cli._run import samples_of
from ctxmetrics.cli._status import GATE_FAILED
from ctxmetrics.cli._terminal import message, print_result
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.writer import check_outputs, json_line, write_whole
from ctxmetrics.fields import SPAN_MARK, TEXTS_OF, write_span
from ctxmetrics.samples import Sample

if TYPE_CHECKING:
    from ctxmetrics.locating import Places

_SHOWN = 60
_SHOWN_PLACES = 3


def spans(
    file: File,
    sources: Annotated[
        Path | None, typer.Option("--sources", help="The folder of the texts that were cut into chunks.")
    ] = None,
    chunks: Annotated[
        Path | None,
        typer.Option(
            "--chunks",
            help="Ids of FILE become spans: documents with id, source and start_index, one JSON object a line.",
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option("--labels", help="What people marked becomes the reference: by `ctxmetrics label`."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The samples with their ids: FILE.jsonl. Without it: stdout."),
    ] = None,
    schema: SchemaName = None,
    columns: Columns = None,
    fail_missing: Annotated[
        bool,
        typer.Option(
            "--fail-missing",
            help="Exit 1 if a context is not found or stands in several places, or an id or answer has no span.",
        ),
    ] = False,
) -> None:
    """Write where contexts stand as their ids, SOURCE#char=START,END: found in sources, or known of chunks and answers."""
    if sources is None and chunks is None and labels is None:
        raise ParameterError(
            "spans: give --sources DIR, --chunks FILE or --labels FILE, which say where texts stand."
        )
    given = {"FILE": file, "--chunks": chunks, "--labels": labels}
    check_outputs({"--out": out}, {name: path for name, path in given.items() if path is not None})
    samples = samples_of(file, schema or "auto", columns)
    problems: list[str] = []
    samples = _known(samples, chunks, labels, problems)
    told = [f"{len(samples)} samples, {len(problems)} ids and answers without a span."]
    if sources is not None:
        samples, told = _found(samples, sources, problems)
    lines = [json_line(sample.to_dict()) for sample in samples]
    if out is None:
        print_result("".join(lines).removesuffix("\n"))
    else:
        write_whole(out, lines)
    for line in (*problems, *told):
        message(line)
    if problems and fail_missing:
        raise typer.Exit(GATE_FAILED)


def _known(
    samples: list[Sample], chunks: Path | None, labels: Path | None, problems: list[str]
) -> list[Sample]:
    """Return the samples with the spans of chunks and of people's answers; what has none is added to the problems."""
    from ctxmetrics.files import read_records

    steps: list[Callable[[list[Sample]], Iterable[tuple[Sample, list[str]]]]] = []
    if chunks is not None:
        steps.append(
            partial(from_chunks, spans=spans_of_chunks(read_records(chunks)), origin=chunks.name)
        )
    if labels is not None:
        steps.append(partial(from_answers, path=labels))
    for step in steps:
        changed = list(step(samples))
        samples = [sample for sample, _ in changed]
        problems += [problem for _, found in changed for problem in found]
    return samples


def _found(
    samples: Sequence[Sample], sources: Path, problems: list[str]
) -> tuple[list[Sample], list[str]]:
    """Return the samples with what is found in the sources, and how much that is; the rest is added to the problems."""
    from ctxmetrics.locating import locate, read_sources

    texts = list(dict.fromkeys(text for sample in samples for _, _, text, _ in _contexts(sample)))
    names: list[str] = []

    def noted() -> Iterator[tuple[str, str]]:
        for name, text in read_sources(sources):
            names.append(name)
            yield name, text

    places = dict(zip(texts, locate(texts, noted()), strict=True))
    located = [_located(sample, number, places, names) for number, sample in enumerate(samples, 1)]
    missing = [problem for _, _, found in located for problem in found]
    problems += missing
    total = sum(count for _, count, _ in located)
    told = f"{total - len(missing)} of {total} contexts found in {len(names)} sources."
    return [sample for sample, _, _ in located], [told]


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
    if "reference_context_ids" in complete:
        complete["metadata"] = marked(sample, "reference_contexts, found in their sources")
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
