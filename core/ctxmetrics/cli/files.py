"""``ctxmetrics inspect`` and ``spans``: what a file holds, and where its contexts stand."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.resources import files
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ctxmetrics.cli._options import CONFIG_NAME, Input
from ctxmetrics.cli._terminal import BAD_INPUT, GATE_FAILED, collected_warnings, message, print_result
from ctxmetrics.errors import CtxMetricsError, InputFileError, ParameterError
from ctxmetrics.presentation.wording import plural

if TYPE_CHECKING:
    from ctxmetrics.metrics import Metric
    from ctxmetrics.reading import RowFile
    from ctxmetrics.samples import Sample

_SHOWN = 60


def inspect(source: Input) -> None:
    """Show what each field of a file is read from, which metrics can run, and which --map option is needed."""
    from ctxmetrics.cli._run import load_samples, open_samples
    from ctxmetrics.metrics import METRICS

    file, mapping = open_samples(source), list(source.columns or ())
    with collected_warnings() as notes:
        while (doubts := _doubts(file)) and sys.stdin.isatty() and sys.stdout.isatty():
            mapping.append(_choose_option(file, doubts[0]))
            file = open_samples(replace(source, columns=mapping))
        print_result("\n".join(_describe_fields(file)))
        if file.references:
            print_result("\n".join(_describe_fields(file.references)))
        notes.clear()  # they say the same
    problem: str = ""
    fitting: list[type[Metric]] = []
    try:
        samples = load_samples(file)
        fitting = [kind for kind in METRICS.values() if _fits(kind, samples)]
        print_result("\n".join(_describe_metrics(file, samples, fitting)))
    except CtxMetricsError as error:
        problem = str(error)
    command = _write_command(source) + "".join(f" --map {shlex.quote(option)}" for option in mapping)
    if not doubts:
        if fitting or mapping:
            print_result(f"score it with: {command}")
    elif file.reading.unsure or len(doubts[0]) == 1:
        options = [option for option in doubts[0] if _can_run(source, [*mapping, option])]
        lines = [f"score it with: {command} --map {shlex.quote(option)}" for option in options]
        others = [option for option in doubts[0] if option not in options]
        lines = [*(f"it may also be: --map {shlex.quote(option)}" for option in others), *lines]
        print_result("\n".join(lines) if options else _ask_columns(file, doubts[0], command))
    else:  # no reading is the likely one
        print_result(
            f"Say which list was retrieved: --map COLUMN=retrieved_contexts ({', '.join(file.reading.unread)})"
        )
    if problem and not doubts:
        message(problem)
        raise typer.Exit(BAD_INPUT)


def init(source: Input, out: Path = Path(CONFIG_NAME)) -> None:
    """Write a configuration file for a file of samples; `ctxmetrics score` alone runs it then."""
    from ctxmetrics.cli._run import choose_convention, load_samples, metrics_fitting, open_samples
    from ctxmetrics.judges.lexical.judge import LexicalJudge
    from ctxmetrics.results.writer import check_outputs, write_whole

    if out.exists():
        raise InputFileError(f"{out} is there already. Change it, or write another: --out FILE.toml.")
    check_outputs({"--out": out}, {"FILE": source.file})
    file = open_samples(source)
    samples = load_samples(file)
    convention = choose_convention(source.schema, None)
    metrics = metrics_fitting(samples, convention, LexicalJudge(), file.reading.unread)
    options = {
        **_list_options(replace(source, file=Path(os.path.relpath(source.file, out.parent)))),
        "metric": [metric.base_name for metric in metrics],
        "judge": "lexical",
        "out": "results.jsonl",
        "report": "report.html",
    }
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in options.items()]
    template = files("ctxmetrics.cli").joinpath("new_config.txt").read_text(encoding="utf-8")
    write_whole(out, [template.format(options="\n".join(lines), metric=metrics[0].base_name)])
    message(f"{out} is written. Next: ctxmetrics score")


def _list_options(source: Input) -> dict[str, Any]:
    """List the options by which a file is read, as a configuration file has them."""
    options: dict[str, Any] = {"file": str(source.file)}
    for name in ("schema", "references", "on", "group_by", "split", "names", "encoding", "header"):
        value = getattr(source, name)
        if value is not None:
            options[name.replace("_", "-")] = value if isinstance(value, bool) else str(value)
    if source.columns:
        options["map"] = list(source.columns)
    return options


def _write_command(source: Input) -> str:
    """Write the command that scores a file with the options by which it was read, without --map."""
    options = _list_options(replace(source, columns=None))
    command = f"ctxmetrics score {shlex.quote(options.pop('file'))}"
    for name, value in options.items():
        if isinstance(value, bool):
            command += f" --{name}" if value else f" --no-{name}"
        else:
            command += f" --{name} {shlex.quote(value)}"
    return command


def _can_run(source: Input, mapping: list[str]) -> bool:
    """Whether some metric can run with these --map options."""
    from ctxmetrics.cli._run import load_samples
    from ctxmetrics.metrics import METRICS

    try:
        samples = load_samples(replace(source, columns=mapping))
    except CtxMetricsError:
        return False
    return any(_fits(kind, samples) for kind in METRICS.values())


def _ask_columns(file: RowFile[Sample], options: Sequence[str], command: str) -> str:
    """Ask which columns hold what no metric can run without; a column may hold what was retrieved."""
    columns = ", ".join(file.reading.others)
    known = "".join(f" --map {shlex.quote(option)}" for option in options[:1])
    return (
        f"Which column holds the expected answer, and which the question? There is: {columns}. Put their names for ANSWER and "
        f"QUESTION: {command}{known} --map ANSWER=reference --map QUESTION=user_input"
    )


def _choose_option(file: RowFile[Sample], options: Sequence[str]) -> str:
    """Ask which --map option is right; with none of them, the first column is carried along."""
    columns = [option.rpartition("=")[0] for option in options]
    for number, (option, column) in enumerate(zip(options, columns, strict=True), 1):
        print_result(f"{number}: {option}  {_format_value(file.first_value(column))}")
    choice: int = typer.prompt("Which one is right? 0: none", type=int)
    if 0 < choice <= len(options):
        return options[choice - 1]
    return f"{columns[0]}=metadata"


def _fits(kind: type[Metric], samples: Sequence[Sample]) -> bool:
    """Whether some sample has all fields that a metric requires."""
    return any(all(map(sample.has, kind.requires)) for sample in samples)


def spans(
    source: Input,
    sources: Path | None = None,
    chunks: Path | None = None,
    labels: Path | None = None,
    out: Path | None = None,
    fail_missing: bool = False,
) -> None:
    """Give contexts ids that say where they stand in their sources: SOURCE#char=START,END."""
    from ctxmetrics.agreement.span_labels import with_found_spans, with_known_spans
    from ctxmetrics.cli._run import load_samples
    from ctxmetrics.results.writer import check_outputs, json_line, write_whole

    if sources is None and chunks is None and labels is None:
        raise ParameterError(
            "spans: give --sources DIR, --chunks FILE or --labels FILE, which say where texts stand."
        )
    check_outputs({"--out": out}, {"FILE": source.file, "--chunks": chunks, "--labels": labels})
    samples, problems = with_known_spans(load_samples(source), chunks, labels)
    total = f"{plural(len(samples), 'sample')}, ids and answers without a span: {len(problems)}."
    if sources is not None:
        samples, missing, total = with_found_spans(samples, sources)
        problems += missing
    lines = [json_line(sample.to_dict()) for sample in samples]
    if out is None:
        print_result("".join(lines).removesuffix("\n"))
    else:
        write_whole(out, lines)
    for line in (*problems, total):
        message(line)
    if problems and fail_missing:
        raise typer.Exit(GATE_FAILED)


def _doubts(file: RowFile[Sample]) -> Sequence[Sequence[str]]:
    """List what is unsure, each as the options of which one is right; a list of texts may be what was retrieved."""
    from ctxmetrics.reading import TEXTS_OF

    reading = file.reading
    retrieved = {*TEXTS_OF, *TEXTS_OF.values(), "stages", "searches"}
    if reading.unsure or not reading.unread or retrieved & reading.mapping.keys():
        return reading.unsure
    return [[f"{path}=retrieved_contexts" for path in reading.unread]]


def _describe_fields(file: RowFile[Any]) -> Iterator[str]:
    """Yield what each field is read from, with its first value, and what is no field."""
    reading = file.reading
    yield f"{file.path} (schema {reading.name})"
    width = max(map(len, reading.mapping.values()), default=0)
    for name, path in reading.mapping.items():
        value = file.first_value(path)
        if name == "stages" and hasattr(value, "items"):
            value = ", ".join(value)
        columns = ", ".join(column for column, meant in reading.columns.items() if meant == name)
        yield f"  {name:<22} {columns or path:<{width}}  {_format_value(value)}"
    if reading.others:
        yield f"carried along as metadata: {', '.join(reading.others)}"


def _describe_metrics(
    file: RowFile[Sample], samples: Sequence[Sample], fitting: Sequence[type[Metric]]
) -> Iterator[str]:
    """Yield how many samples are distinct, the metrics that can run, and what none of them reads."""
    from ctxmetrics.cli._run import suggest_mapping
    from ctxmetrics.reading import OPTIONS

    contents = set(map(attrgetter(*OPTIONS), samples))
    fields = {"stages", "searches"}
    for kind in fitting:
        fields.update(kind.requires, kind.uses)
    yield f"{plural(len(samples), 'sample')}, {len(contents)} distinct"
    if fitting:
        yield f"metrics that can run: {', '.join(kind.base_name for kind in fitting)}"
    else:
        yield f"no metric can run.{suggest_mapping(samples, file.reading.unread)}"
    unused = [name for name in file.reading.mapping if name in OPTIONS and name not in fields]
    if unused:
        yield f"no metric can use: {', '.join(unused)}"


def _format_value(value: Any) -> str:
    """Format a value in a few words."""
    if isinstance(value, (list, tuple)):
        if not value:
            return "no items"
        return f"{plural(len(value), 'item')}, the first: {_format_value(value[0])}"
    return repr(value)[:_SHOWN]
