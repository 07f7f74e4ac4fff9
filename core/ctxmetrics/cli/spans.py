"""``ctxmetrics spans``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ctxmetrics.cli._options import Input
from ctxmetrics.cli._terminal import GATE_FAILED, message, print_result
from ctxmetrics.errors import ParameterError


def spans(
    source: Input,
    sources: Annotated[
        Path | None, typer.Option(help="The folder of the texts that were cut into chunks.")
    ] = None,
    chunks: Annotated[
        Path | None,
        typer.Option(
            help="Ids of FILE become spans: documents with id, source and start_index, one JSON object a line."
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(help="What people marked becomes the reference: by `ctxmetrics label`."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The samples with their ids: FILE.jsonl. Without it: stdout.")
    ] = None,
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
    from ctxmetrics.cli._run import samples_of
    from ctxmetrics.evaluation.writer import check_outputs, json_line, write_whole

    if sources is None and chunks is None and labels is None:
        raise ParameterError(
            "spans: give --sources DIR, --chunks FILE or --labels FILE, which say where texts stand."
        )
    check_outputs({"--out": out}, {"FILE": source.file, "--chunks": chunks, "--labels": labels})
    samples, problems = with_known_spans(samples_of(source), chunks, labels)
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
