"""``ctxmetrics inspect`` and ``spans``: what a file holds, and where its contexts stand."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ctxmetrics._wording import plural
from ctxmetrics.cli._options import Input
from ctxmetrics.cli._terminal import BAD_INPUT, GATE_FAILED, collected_warnings, message, print_result
from ctxmetrics.errors import CtxMetricsError, ParameterError

if TYPE_CHECKING:
    from ctxmetrics.fields import RowFile
    from ctxmetrics.metrics import Metric
    from ctxmetrics.samples import Sample

_SHOWN = 60


def inspect(source: Input) -> None:
    """Show what each field of a file is read from, which metrics can run, and which --map option is needed."""
    from ctxmetrics.cli._run import sample_file, samples_of
    from ctxmetrics.metrics import METRICS

    file, given = sample_file(source), [*(source.columns or ())]
    with collected_warnings() as notes:
        while (doubts := _doubts(file)) and sys.stdin.isatty() and sys.stdout.isatty():
            columns = [option.rpartition("=")[0] for option in doubts[0]]
            for number, (option, column) in enumerate(zip(doubts[0], columns, strict=True), 1):
                print_result(f"{number}: {option}  {_shown(file.first_value(column))}")
            number = typer.prompt("Which one is right? 0: none", type=int)
            options = [f"{columns[0]}=metadata", *doubts[0]]  # the first column is carried along
            given.append(options[number if 0 < number < len(options) else 0])
            file = sample_file(replace(source, columns=given))
        for one in filter(None, (file, file.references)):
            print_result("\n".join(_lines(one)))
        notes.clear()  # they say the same
    problem, fitting = "", []
    try:
        samples = samples_of(file)
        fitting = [
            kind
            for kind in METRICS.values()
            if any(all(map(one.has, kind.requires)) for one in samples)
        ]
        print_result("\n".join(_metrics(file, samples, fitting)))
    except CtxMetricsError as error:
        problem = str(error)
    both = "" if source.references is None else f" --references {shlex.quote(str(source.references))}"
    commands: Sequence[str] = doubts[0] if doubts else [""] * bool(fitting or given)
    if doubts and not file.reading.unsure and len(commands) > 1:
        commands = []  # no reading is the likely one
        print_result(
            f"Say which list was retrieved: --map COLUMN=retrieved_contexts ({', '.join(file.reading.unread)})"
        )
    for option in commands:
        line = "".join(f" --map {shlex.quote(one)}" for one in filter(None, (*given, option)))
        print_result(f"score it with: ctxmetrics score {shlex.quote(str(source.file))}{both}{line}")
    if problem and not doubts:
        message(problem)
        raise typer.Exit(BAD_INPUT)


def spans(
    source: Input,
    sources: Annotated[
        Path | None, typer.Option(help="The folder of the texts that were cut into chunks.")
    ] = None,
    chunks: Annotated[
        Path | None,
        typer.Option(
            help="Documents with id, source and start_index, one JSON object a line. Their ids in FILE become spans."
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(help="Answers of `ctxmetrics label`: their spans become the reference ids."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the samples with ids: FILE.jsonl. Without it: stdout."),
    ] = None,
    fail_missing: Annotated[
        bool,
        typer.Option(
            "--fail-missing",
            help="Exit 1 if a context is not found or stands in several places, or an id or answer has no span.",
        ),
    ] = False,
) -> None:
    """Give contexts ids that say where they stand in their sources: SOURCE#char=START,END."""
    from ctxmetrics.agreement.span_labels import with_found_spans, with_known_spans
    from ctxmetrics.cli._run import samples_of
    from ctxmetrics.evaluation.writer import check_outputs, json_line, write_whole

    if sources is None and chunks is None and labels is None:
        raise ParameterError(
            "spans: give --sources DIR, --chunks FILE or --labels FILE, which say where texts stand."
        )
    check_outputs({"--out": out}, {"FILE": source.file, "--chunks": chunks, "--labels": labels})
    samples, problems = with_known_spans(samples_of(source), chunks, labels)
    told = f"{plural(len(samples), 'sample')}, ids and answers without a span: {len(problems)}."
    if sources is not None:
        samples, missing, told = with_found_spans(samples, sources)
        problems += missing
    lines = [json_line(sample.to_dict()) for sample in samples]
    if out is None:
        print_result("".join(lines).removesuffix("\n"))
    else:
        write_whole(out, lines)
    for line in (*problems, told):
        message(line)
    if problems and fail_missing:
        raise typer.Exit(GATE_FAILED)


def _doubts(file: RowFile[Sample]) -> Sequence[Sequence[str]]:
    """Return what is unsure, each as the options of which one is right; a list of texts may be what was retrieved."""
    from ctxmetrics.fields import TEXTS_OF

    reading = file.reading
    retrieved = {*TEXTS_OF, *TEXTS_OF.values(), "stages"}
    if reading.unsure or not reading.unread or retrieved & reading.mapping.keys():
        return reading.unsure
    return [[f"{path}=retrieved_contexts" for path in reading.unread]]


def _lines(file: RowFile[Any]) -> Iterator[str]:
    """Yield what each field is read from, with its first value, and what is no field."""
    reading = file.reading
    yield f"{file.path} (schema {reading.name})"
    width = max(map(len, reading.mapping.values()), default=0)
    for name, path in reading.mapping.items():
        value = file.first_value(path)
        if name == "stages" and hasattr(value, "items"):
            value = ", ".join(value)
        columns = ", ".join(column for column, meant in reading.columns.items() if meant == name)
        yield f"  {name:<22} {columns or path:<{width}}  {_shown(value)}"
    if reading.others:
        yield f"carried along as metadata: {', '.join(reading.others)}"


def _metrics(
    file: RowFile[Sample], samples: Sequence[Sample], fitting: Sequence[type[Metric]]
) -> Iterator[str]:
    """Yield how many samples are distinct, the metrics that can run, and what none of them reads."""
    from ctxmetrics.cli._run import to_map
    from ctxmetrics.fields import OPTIONS

    contents = {tuple(getattr(sample, name) for name in OPTIONS) for sample in samples}
    read = {"stages", *(name for kind in fitting for name in (*kind.requires, *kind.uses))}
    yield f"{plural(len(samples), 'sample')}, {len(contents)} distinct"
    yield (
        f"metrics that can run: {', '.join(kind.base_name for kind in fitting)}"
        if fitting
        else (f"no metric can run.{to_map(samples, file.reading.unread)}")
    )
    if unused := [name for name in file.reading.mapping if name in OPTIONS and name not in read]:
        yield f"no metric can use: {', '.join(unused)}"


def _shown(value: Any) -> str:
    """Return a value in a few words."""
    if isinstance(value, (list, tuple)):
        return f"{plural(len(value), 'item')}, the first: {_shown(value[0])}" if value else "no items"
    return repr(value)[:_SHOWN]
