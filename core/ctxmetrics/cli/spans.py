"""``ctxmetrics spans``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ctxmetrics.cli._options import Columns, File, SchemaName
from ctxmetrics.cli._terminal import GATE_FAILED, message, print_result
from ctxmetrics.errors import ParameterError


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
    from ctxmetrics.agreement.span_labels import with_found_spans, with_known_spans
    from ctxmetrics.cli._run import sample_file, samples_of
    from ctxmetrics.evaluation.writer import check_outputs, json_line, write_whole

    if sources is None and chunks is None and labels is None:
        raise ParameterError(
            "spans: give --sources DIR, --chunks FILE or --labels FILE, which say where texts stand."
        )
    given = {"FILE": file, "--chunks": chunks, "--labels": labels}
    check_outputs({"--out": out}, {name: path for name, path in given.items() if path is not None})
    samples = samples_of(sample_file(file, schema, columns))
    samples, problems = with_known_spans(samples, chunks, labels)
    told = f"{len(samples)} samples, {len(problems)} ids and answers without a span."
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
